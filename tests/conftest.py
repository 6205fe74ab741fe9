"""What most tests start from: a small rubric and a case."""

from __future__ import annotations

import pytest

from venire import Case, Rubric


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
