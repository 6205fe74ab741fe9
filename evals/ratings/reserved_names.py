"""`overall` in tables means all attributes together: an attribute or composite that a rubric calls so goes by another name there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from ...rubrics.rubric import Rubric
from .evidence import Evidence
from .sheet import OVERALL

ATTRIBUTE = f"{OVERALL}-attribute"


def composite_label(name: str) -> str:
    """What a composite is called in tables."""
    return f"{OVERALL}-composite" if name == OVERALL else name


def attribute_label(name: str) -> str:
    """What an attribute is called in tables."""
    return ATTRIBUTE if name == OVERALL else name


def without_reserved_names(evidence: Evidence) -> Evidence:
    """The evidence with an attribute called `overall` renamed throughout; unchanged where there is none."""
    if OVERALL not in evidence.questions:
        return evidence

    def with_label(table: pd.DataFrame) -> pd.DataFrame:
        if "attribute" not in table:
            return table
        return table.assign(attribute=table["attribute"].replace(OVERALL, ATTRIBUTE))

    return replace(
        evidence,
        arms=with_label(evidence.arms),
        people=with_label(evidence.people),
        questions={attribute_label(name): asked for name, asked in evidence.questions.items()},
        ballots=with_label(evidence.ballots),
        moments=with_label(evidence.moments),
        rounds=with_label(evidence.rounds),
        rubrics={arm: _renamed_rubric(rubric) for arm, rubric in evidence.rubrics.items()},
        rescored=with_label(evidence.rescored),
        abstentions=with_label(evidence.abstentions),
        notes=(
            *evidence.notes,
            f"the attribute {OVERALL!r} stands as {ATTRIBUTE!r}: {OVERALL!r} is all attributes together",
        ),
    )


def _renamed_rubric(rubric: Rubric) -> Rubric:
    document = rubric.model_dump()
    for attribute in document["attributes"]:
        attribute["name"] = attribute_label(attribute["name"])
        if "asked_if" in attribute:
            attribute["asked_if"] = _with_labels(attribute["asked_if"])
    document["composites"] = {name: _with_labels(parts) for name, parts in document["composites"].items()}
    return Rubric.model_validate(document)


def _with_labels(by_name: dict[str, Any]) -> dict[str, Any]:
    return {attribute_label(name): value for name, value in by_name.items()}
