"""Runs `venire ...` in a process of its own, as a user would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def venire(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`venire` with these arguments, run to its end."""
    return subprocess.run(
        [sys.executable, "-m", "venire.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )
