"""What most tests start from: a small rubric, a case, a jury on a local server."""

from __future__ import annotations

from pathlib import Path

import pytest

from venire import Case, Jury, Limits, Rubric, Seat

ROOT = Path(__file__).parent.parent


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


def seats(*names: str, url: str, **settings: object) -> tuple[Seat, ...]:
    """One seat for each name, on a model of the same name at `url`."""
    return tuple(
        Seat.model_validate({"name": name, "model": f"server/{name}", "base_url": url, **settings})
        for name in names
    )


def jury_at(url: str, *names: str, limits: Limits | None = None, **fields: object) -> Jury:
    """A jury whose seats are models of a local server, the orchestrator's `boss`."""
    return Jury.model_validate(
        {
            "name": "bench",
            "seats": [
                {"name": name, "model": f"server/{name}", "base_url": url, "timeout": 5} for name in names
            ],
            "orchestrator": {"model": "server/boss", "base_url": url, "timeout": 5},
            **({"limits": limits.model_dump()} if limits else {}),
            **fields,
        }
    )
