"""A desk's server as users start it, in a process of its own that can be killed."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from command_line import Started


class DeskProcess:
    """`venire rate` or `venire sit` with these arguments; its links by name."""

    started: ClassVar[list[DeskProcess]] = []
    """Those that a test may have left running."""

    def __init__(self, *arguments: object, people: int, folder: Path) -> None:
        self.process = Started(*arguments, cwd=folder, stderr=subprocess.PIPE)
        self.started.append(self)
        self.links: dict[str, str] = {}
        assert self.process.stderr is not None
        lines = []
        while len(self.links) < people:
            line = self.process.stderr.readline()
            lines.append(line)
            assert line, "".join(lines)
            if found := re.match(r"(\S+)\s+(http\S+)", line):
                self.links[found[1]] = found[2]
        self.port = urlsplit(next(iter(self.links.values()))).port

    def stop(self) -> str:
        """End it as Ctrl-C does, and return what it said."""
        self.process.terminate()
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        assert self.process.wait(20) == 0, said
        self.process.stderr.close()
        return said

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def ask(
        self, path: str, *, method: str = "GET", body: object = None, **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        """One request, its path as it is; a `_` in a header's name stands for `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port or 0, timeout=10)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers)
            sent = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            for name, value in ({"Content_Length": str(len(sent))} | headers).items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders(sent or None)
            reply = connection.getresponse()
            return reply.status, reply.read().decode(), {k.lower(): v for k, v in reply.getheaders()}
        finally:
            connection.close()
