"""Runs `venire ...` in a process of its own, as a user would, without paying each time for what every command imports."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from multiprocessing import get_context
from multiprocessing.forkserver import ensure_running
from pathlib import Path

_FORKSERVER = get_context("forkserver")
# Each command is forked from a process that has imported this. What may be imported when is tested in processes of its own.
_FORKSERVER.set_forkserver_preload(["warm_start"])


def venire(*arguments: object, cwd: Path, minilm: bool = False) -> subprocess.CompletedProcess[str]:
    """`venire` with these arguments, run to its end.

    Args:
        minilm: With the extra of that name, which takes seconds of every comparison; else as if it were not installed.
    """
    command = ["venire", *map(str, arguments)]
    _start_server()
    with tempfile.TemporaryDirectory() as folder:
        printed = [Path(folder, name) for name in ("stdout", "stderr")]
        process = _FORKSERVER.Process(
            target=_run, args=(command, str(cwd), dict(os.environ), printed, minilm)
        )
        process.start()
        process.join()
        stdout, stderr = (path.read_text(encoding="utf-8") for path in printed)
    assert process.exitcode is not None
    return subprocess.CompletedProcess(command, process.exitcode, stdout, stderr)


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
    command: list[str], cwd: str, environment: dict[str, str], printed: list[Path], with_minilm: bool
) -> None:
    for stream, path in zip((1, 2), printed, strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
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
