"""People's ratings, held against the cases and the rubric before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from ..ratings.question import rubric_questions
from ..ratings.rating_check import check_ratings
from .study import Study


def rubric_errors(study: Study, rubric: Rubric) -> list[VenireError]:
    """An error for each attribute of the study that the rubric does not ask, and for an objective that it has no numbers for."""
    errors = [
        VenireError(
            f"the rubric {rubric.name!r} does not ask {name!r}",
            remedy=nearest(name, rubric.names),
        )
        for name in study.attributes
        if name not in rubric.names
    ]
    asked = [name for name in study.attributes or rubric.names if name in rubric.names]
    if study.objective == "costs" and all(rubric.scale_of(name).costs is None for name in asked):
        errors.append(
            VenireError(
                f"objective: costs needs a cost for every two values, and no scale of {rubric.name!r} has any",
                remedy="write costs: under a scale of the rubric, or choose another objective",
            )
        )
    return errors


def rating_gaps(
    ratings: pd.DataFrame, cases: Sequence[Case], rubric: Rubric, attributes: Sequence[str]
) -> tuple[list[VenireError], list[str]]:
    """What people left unrated of `attributes`: errors for a case or an attribute with nothing, a note for single scores."""
    errors: list[VenireError] = []
    ids = [case.id for case in cases]
    try:
        kept, check = check_ratings(ratings, rubric_questions(rubric), cases=ids)
    except VenireError as error:
        return [error], []
    rated = {(str(case), str(name)) for case, name in zip(kept["case"], kept["attribute"], strict=True)}
    bare = [case for case in ids if not any((case, name) in rated for name in attributes)]
    if bare:
        errors.append(
            VenireError(
                f"nobody rated {len(bare)} of the {len(ids)} cases: {_some(bare)}",
                remedy="rate them, or leave them out of the cases",
            )
        )
    unasked = [name for name in attributes if not any((case, name) in rated for case in ids)]
    if unasked:
        errors.append(
            VenireError(
                f"nobody rated {_some(unasked)} of any case",
                remedy="rate it, or name under attributes those that arms are to be scored on",
            )
        )
    single = sum(
        (case, name) not in rated
        for case in ids
        if case not in bare
        for name in attributes
        if name not in unasked
    )
    missing = (
        [f"{single} scores of cases that people rated otherwise are missing, and will not count"]
        if single
        else []
    )
    return errors, [*check.notes, *missing]


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
