"""Runs `venire ...` in a process of its own, as a user would, without paying each time for what every command imports."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import current_process, get_context, reduction
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import IO, Any

_FORKSERVER = get_context("forkserver")
# Each command is forked from a process that has imported this. What may be imported when is tested in processes of its own.
_FORKSERVER.set_forkserver_preload(["warm_start"])


def venire(*arguments: object, cwd: Path, minilm: bool = False) -> subprocess.CompletedProcess[str]:
    """`venire` with these arguments, run to its end.

    Args:
        minilm: With the extra of that name, which takes seconds of every comparison; else as if it were not installed.
    """
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
    ):
        started = Started(*arguments, cwd=cwd, stdout=out.fileno(), stderr=err.fileno(), minilm=minilm)
        started.wait()
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(started.args, started.wait(), out.read(), err.read())


class Started:
    """`venire` with these arguments, at work, with what tests use of `subprocess.Popen`; it ends with the tests at the latest."""

    def __init__(
        self,
        *arguments: object,
        cwd: Path,
        stdout: int = subprocess.DEVNULL,
        stderr: int = subprocess.DEVNULL,
        minilm: bool = False,
        **environment: str,
    ) -> None:
        self.args = ["venire", *map(str, arguments)]
        _start_server()
        self._read: list[IO[str] | None] = []
        ends = [self._end(stream) for stream in (stdout, stderr)]
        self.stdout, self.stderr = self._read
        known = {**os.environ, **environment}
        self._process = _FORKSERVER.Process(
            target=_run,
            args=(self.args, str(cwd), known, [_Descriptor(end) for end in ends], minilm),
            daemon=True,
        )
        self._process.start()
        for end, asked in zip(ends, (stdout, stderr), strict=True):
            if end != asked:
                os.close(end)

    def _end(self, stream: int) -> int:
        """Where the command writes to; of a pipe, the end that is read is kept."""
        if stream != subprocess.PIPE:
            self._read.append(None)
            return os.open(os.devnull, os.O_WRONLY) if stream == subprocess.DEVNULL else stream
        read, write = os.pipe()
        self._read.append(os.fdopen(read, encoding="utf-8"))
        return write

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self._process.exitcode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What is left of what it says, once it has ended; it is ended where it takes longer."""
        pipes = [pipe for pipe in (self.stdout, self.stderr) if pipe is not None and not pipe.closed]
        with ThreadPoolExecutor(2) as readers:
            said = {pipe: readers.submit(pipe.read) for pipe in pipes}
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        for pipe in pipes:
            pipe.close()
        out, err = (said[pipe].result() if pipe in said else "" for pipe in (self.stdout, self.stderr))
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


class _Descriptor:
    """A file descriptor that a forked process gets a copy of."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> Any:
        return _detached, (reduction.DupFd(self.number),)


def _detached(copy: Any) -> int:
    return int(copy.detach())


def _start_server() -> None:
    """Has the process begun that commands are forked from, with the path of this one."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        ensure_running()
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _run(
    command: list[str], cwd: str, environment: dict[str, str], streams: list[int], with_minilm: bool
) -> None:
    # What ends with the tests may all the same have processes of its own.
    current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    for number, stream in enumerate(streams, 1):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = command
    sys.path[0:1] = [cwd, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    from venire.cli import main
    from venire.evals.metrics import minilm
    from venire.rubrics.plugins import plugins_by_group

    if "PYTHONPATH" in environment or any(Path(cwd).glob("*.dist-info")):
        plugins_by_group.cache_clear()
    if not with_minilm:
        minilm.find_spec = lambda name: None  # type: ignore[assignment]
    try:
        main()
    finally:
        sys.stdout.flush()
        atexit._run_exitfuncs()
