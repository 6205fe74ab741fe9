"""A server on loopback that takes what Langfuse's SDK sends, and gives the scores back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LangfuseServer(ThreadingHTTPServer):
    """Takes scores (`POST /api/public/scores`, in batches) and spans (OTLP), as Langfuse does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scores: list[dict[str, Any]] = []
        self.paths: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: LangfuseServer

    def do_GET(self) -> None:
        owner = {"id": "o", "name": "owner"}
        self._answer({"data": [{"id": "p", "name": "project", "organization": owner, "metadata": {}}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.add(self.path)
        sent = json.loads(body) if self.path == "/api/public/scores" else []
        self.server.scores += sent
        self._answer({"message": "Accepted"} if sent else {})

    def _answer(self, document: dict[str, Any]) -> None:
        words = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is told to anybody."""


@contextmanager
def langfuse_server() -> Iterator[LangfuseServer]:
    server = LangfuseServer()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
