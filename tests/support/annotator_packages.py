"""Label Studio's and Argilla's own packages, in an environment of their own: they read what venire wrote."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT

ANNOTATORS = Path(os.environ.get("VENIRE_ANNOTATORS", ROOT / ".venvs" / "annotators"))
PROGRAM = ROOT / "tests" / "evals" / "exchange" / "in_annotators.py"


def needs_annotators(package: str) -> pytest.MarkDecorator:
    """Skips a test where the annotation tool's package is not installed."""
    there = any(ANNOTATORS.glob(f"lib/python*/site-packages/{package}"))
    return pytest.mark.skipif(not there, reason=f"{package} is not in {ANNOTATORS}: make annotators")


def checked_by_package(tool: str, folder: Path) -> Any:
    """What the tool's own package says of the files in the folder."""
    done = subprocess.run(
        [str(ANNOTATORS / "bin" / "python"), "-W", "ignore", str(PROGRAM), tool],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])
