"""A run of recorded jurors with people's labels, from which tasks for annotators are made."""

from pathlib import Path

import pytest
from recorded_run import recorded_run


@pytest.fixture(scope="session")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `run` (12 cases, one of them without a verdict), `rubric.yaml`, and one rater's `labels.csv`."""
    return recorded_run(tmp_path_factory.mktemp("heard"), cases=12, hung=1)
