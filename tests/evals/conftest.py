"""What the tests of several rooms of `evals` start from: a run of the demonstration's cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkout import ROOT
from command_line import venire


@pytest.fixture(scope="session")
def lens_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demonstration's cases, heard by the lenses as a jury and as a single judge; for reading only."""
    folder = tmp_path_factory.mktemp("lenses") / "run"
    made = venire(
        "run", ROOT / "evals/demo/cases.jsonl", "--rubric", "clinical-note", "--jury", "lens-jury",
        "--jury", "lens-single", "-o", folder, "--quiet", cwd=folder.parent,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder
