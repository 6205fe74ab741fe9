"""What most tests start from: a small rubric and a case."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches import ROOT
from test_files import venire

from venire import Case, Rubric

SLOW = (
    "test_packaging",
    "test_ray",
    "test_crash",
    "test_compare",
    "test_calibrate",
    "test_inspect",
    "test_mlflow",
)
"""Files to begin with: with several workers, a slow one that is begun last is waited for by all."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem not in SLOW)


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


@pytest.fixture
def rubric() -> Rubric:
    return Rubric.model_validate(
        {
            "name": "tiny",
            "version": 1,
            "scales": {
                "agree5": {
                    "level": "ordinal",
                    "anchors": {1: "not at all", 2: "little", 3: "partly", 4: "mostly", 5: "wholly"},
                }
            },
            "attributes": [
                {"name": "accurate", "question": "Is it supported by the source?", "scale": "agree5"},
                {"name": "thorough", "question": "Is anything missing?", "scale": "agree5"},
            ],
        }
    )


@pytest.fixture
def case() -> Case:
    return Case(
        id="c1",
        source=("Seen on Monday with fever of 38.4. Started amoxicillin.", "Wednesday: fever gone."),
        output="Fever of 38.4 on Monday, treated with amoxicillin, resolved by Wednesday.",
    )
