"""A planted run whose cases have systems and groups, one of them hung, with people's ratings of some."""

from __future__ import annotations

from pathlib import Path

from planted_run import JURORS, ORDERLY, SCRIPTS, ballot_line, planted_case, planted_run

from venire.rubrics.ratings import Rating
from venire.web.people import People

OFF_SCALE = {"accurate": ballot_line(9, "Beyond praise."), "organized": ORDERLY}
SILENT = {"seats": {name: [OFF_SCALE] for name in JURORS}}
RATED_SCRIPTS = {**SCRIPTS, "silent": SILENT}


def rated_run(folder: Path) -> Path:
    """Two arms over seven cases of three systems and two groups; of `silent`, `accurate` is hung in the arm `stances`."""
    cases = {
        name: planted_case(name).model_copy(
            update={"system": f"model-{'xyz'[number % 3]}", "group": f"ward {number % 2}"}
        )
        for number, name in enumerate(RATED_SCRIPTS)
    }
    return planted_run(folder, RATED_SCRIPTS, cases)


def rated_people() -> People:
    """Ana and Ben rated every case; only of `fabricated` do they think ill."""
    return People(
        Rating(
            name, rater, attribute, float(1 if name == "fabricated" and attribute == "accurate" else value)
        )
        for name in RATED_SCRIPTS
        for rater, value in (("ana", 4), ("ben", 5))
        for attribute in ("accurate", "organized")
    )
