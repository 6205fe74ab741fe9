"""A private PostgreSQL cluster for the tests: made in a directory of its own, on loopback, ended with it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

PASSWORD = "canary-password-7731"


def binaries() -> Path | None:
    """Where initdb and pg_ctl are, if they are."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


def owner() -> str | None:
    """Whom the server runs as: root may not run it."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


class Cluster:
    """A server with one database, reached by password over TCP, running while the `with` block does."""

    def __init__(self) -> None:
        found = binaries()
        assert found is not None
        self._binaries = found
        self.folder = Path(tempfile.mkdtemp(prefix="venire-pg-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def url(self, run: str) -> str:
        return f"postgresql://venire:{PASSWORD}@127.0.0.1:{self.port}/postgres?run={run}"

    def local_url(self, run: str) -> str:
        """The address by way of the server's socket file."""
        return f"postgresql://venire:{PASSWORD}@:{self.port}/postgres?host={self.folder}&run={run}"

    def __enter__(self) -> Cluster:
        secret = self.folder / "secret"
        secret.write_text(PASSWORD)
        if name := owner():
            for path in (self.folder, secret):
                shutil.chown(path, name)
        data = self.folder / "data"
        self._run(
            "initdb", "-D", data, "-U", "venire", "-A", "scram-sha-256", "--pwfile", secret, "--no-sync"
        )
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder)

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c fsync=off"
        log = self.folder / "log"
        self._run("pg_ctl", "-D", self.folder / "data", "-l", log, "-o", options, "-w", "start")

    def stop(self, mode: str) -> None:
        self._run("pg_ctl", "-D", self.folder / "data", "-m", mode, "-w", "stop")

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def _run(self, program: str, *arguments: object) -> None:
        # Output to a file: a server that inherits a pipe would keep it open.
        with (self.folder / f"{program}.out").open("w") as out:
            ended = subprocess.run(
                [str(self._binaries / program), *map(str, arguments)],
                user=owner(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False,
            )  # fmt: skip
        assert ended.returncode == 0, (self.folder / f"{program}.out").read_text()
