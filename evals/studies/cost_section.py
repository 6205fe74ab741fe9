"""Time and cost of a case: what each arm took, beside what a person takes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from ..figures.section import Section
from .design import PeopleSettings

COLUMNS = ["judge", "repeats", "cases", "seconds", "usd", "seconds_per_answer", "usd_per_answer", "saved"]
PERSON = "a person"


def cost_section(costs: pd.DataFrame, repeats: Mapping[str, int], people: PeopleSettings) -> Section:
    """One row a judge, a person first: seconds and dollars of a case and of one answer, and the share of a person's time saved.

    Args:
        costs: One row an arm: `arm`, `cases`, `usd_per_case`, `seconds_per_case`.
        repeats: By arm, how often each of its seats is asked.
    """
    theirs = math.nan if people.minutes is None else 60 * people.minutes
    paid = math.nan if people.minutes is None or people.wage is None else people.minutes / 60 * people.wage
    rows = [(PERSON, 1, math.nan, theirs, paid, theirs, paid, math.nan)]
    for row in costs.to_dict("records"):
        times = repeats.get(str(row["arm"]), 1)
        # Answers that were written down beforehand take no time: what they took is not known.
        seconds, usd = float(row["seconds_per_case"]) or math.nan, float(row["usd_per_case"])
        rows.append(
            (str(row["arm"]), times, float(row["cases"]), seconds, usd, seconds / times, usd / times, 1 - seconds / theirs)
        )  # fmt: skip
    missing = [key for key in ("minutes", "wage") if getattr(people, key) is None]
    notes = (
        (f"what a person takes is not known: the study file says no {' and no '.join(missing)} under people",)
        if missing
        else ()
    )
    return Section(
        "costs",
        "Time and cost of a case",
        tuple(_sentences(rows, missing)),
        {"table": pd.DataFrame(rows, columns=COLUMNS)},
        methods=(
            "Seconds and dollars are what an arm's calls took alone, added up over its seats, rounds and repeats; asked at the same time they take "
            "less by the clock. A price that nobody knows is blank. Training is not in it.",
        ),
        notes=notes,
    )


def _sentences(
    rows: list[tuple[str, int, float, float, float, float, float, float]], missing: list[str]
) -> list[str]:
    if missing:
        return [f"{len(rows) - 1} arms, with no person to hold them against: the notes say what is missing."]
    _, _, _, theirs, paid, *_ = rows[0]
    return [
        f"{name} takes {_amount(seconds, '{:.3g} s', 'an unknown time')} and {_amount(usd, '${:.4g}', 'an unknown price')} a case where a person takes {theirs:.3g} s and ${paid:.2f}."
        for name, _, _, seconds, usd, *_ in rows[1:]
    ]


def _amount(value: float, form: str, unknown: str) -> str:
    return unknown if math.isnan(value) else form.format(value)
