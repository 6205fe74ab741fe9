"""What the tools of evaluation share: ids that no other item has, and scores that are numbers."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from ...rubrics.ratings import Rating
from .import_format import ToolRecords


def free_id(name: str, taken: Collection[str]) -> str:
    """`name`, or `name#2` and so on where it is taken."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}#{number}"
    return found


def score_number(value: Any) -> float | None:
    """A score as a number, true as 1 and false as 0; None where there is none, or it is not finite."""
    if not isinstance(value, bool | int | float):
        return None
    return float(value) if math.isfinite(value) else None


def add_score(
    records: ToolRecords, case: str, rater: str, attribute: str, value: Any, rationale: Any = None
) -> None:
    """Add a tool's own score as a rating; one that is no number is counted: skipped where there is none, else unreadable."""
    number = score_number(value)
    words = str(rationale) if rationale else None
    if number is not None:
        records.ratings.append(Rating(case, rater, attribute, number, rationale=words))
    elif isinstance(value, str) and value.strip():
        records.ratings.append(Rating(case, rater, attribute, value.strip(), rationale=words))
    elif value is None or isinstance(value, float | str):
        records.skip("no score was given", f"{case}: {attribute}")
    else:
        records.lose("rating", "no single value", f"{case}: {attribute}")
