"""The inspector on a thread of its own, and plain HTTP to ask it with."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from venire.evals.transcripts.alignment import Alignment
from venire.web.folder import FolderInspector, runs_in
from venire.web.loopback import HOST, serve_inspector
from venire.web.people import People
from venire.web.server import Inspector


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()


class InspectorServer:
    """Serves a run, or a folder of runs, while the `with` block runs; everything of a run is in the index before the first request."""

    def __init__(
        self,
        run: Path,
        *,
        caught_up: bool = True,
        people: People | None = None,
        talks: Sequence[Alignment] = (),
        controls: Path | None = None,
    ) -> None:
        self.inspector: Inspector | FolderInspector
        if runs_in(run):
            self.inspector = FolderInspector(run)
        else:
            self.inspector = Inspector(run, people=people, talks=talks, controls=controls)
            if caught_up:
                self.inspector.catch_up()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.url = ""

    def __enter__(self) -> InspectorServer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(10)
        self.inspector.close()

    def _run(self) -> None:
        def ready(url: str) -> None:
            self.url = url
            self._ready.set()

        async def held() -> None:
            self._task = asyncio.create_task(serve_inspector(self.inspector, 0, ready))
            await asyncio.gather(self._task, return_exceptions=True)

        self._loop.run_until_complete(held())
        self._loop.close()

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    def ask(self, path: str = "", *, method: str = "GET", token: bool = True, **headers: str) -> Answer:
        """One request, its path as it is: nothing is tidied away on the road."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=10)
        try:
            root = f"/{self.inspector.token}/" if token else "/"
            connection.putrequest(method, root + path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            return Answer(connection.getresponse())
        finally:
            connection.close()
