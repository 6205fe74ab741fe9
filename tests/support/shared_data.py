"""Files of the shared data, which lie beside the repository and are not part of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkout import ROOT

SHARED = ROOT.parent / "shared" / "data"


def shared_file(name: str) -> Path:
    """A file of the shared data, or a reason to skip."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"the shared data are not beside the repository: {name}")
    return path
