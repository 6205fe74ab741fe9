"""What a study's ratings, rubric and tables lack, said before anything is spent."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from ...rubrics.case import Case
from ...rubrics.errors import VenireError, count_words
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from ..ratings.people import check_ratings
from ..ratings.question import rubric_questions
from .schema import Design
from .study import Study


def rubric_errors(study: Study, rubric: Rubric) -> list[VenireError]:
    """An error for each attribute of the study that the rubric does not ask, and for an objective that it has no numbers for."""
    errors = [
        VenireError(
            f"the rubric {rubric.name!r} has no attribute {name!r}",
            remedy=nearest(name, rubric.names),
        )
        for name in study.attributes
        if name not in rubric.names
    ]
    asked = [name for name in study.attributes or rubric.names if name in rubric.names]
    if study.objective == "costs" and all(rubric.scale_of(name).costs is None for name in asked):
        errors.append(
            VenireError(
                f"objective: costs needs a rubric with costs, but no scale of {rubric.name!r} has costs",
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
                f"{len(bare)} of the {len(ids)} cases have no rating: {_some(bare)}",
                remedy="have people rate them, or leave them out of the cases",
            )
        )
    unasked = [name for name in attributes if not any((case, name) in rated for case in ids)]
    if unasked:
        errors.append(
            VenireError(
                f"no case has a rating of {_some(unasked)}",
                remedy="have people rate it, or leave it out of the list under attributes",
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
        [
            f"{count_words(single, 'rating')} by people {'is' if single == 1 else 'are'} missing on cases that people rated for other attributes; the unrated attributes of these cases are left out"
        ]
        if single
        else []
    )
    return errors, [*check.notes, *missing]


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def design_errors(
    design: Design, cases: Sequence[Case], people: pd.DataFrame, rubric: Rubric
) -> list[VenireError]:
    """An error for each table that the data cannot fill."""
    wanted = set(design.tables)
    errors = [*_missing_columns(design, cases), *_missing_keys(design, wanted)]
    raters = people["rater"].astype(str).nunique()
    if "panels" in wanted and raters < 2:
        errors.append(
            VenireError(
                f"panels: {raters} {'person' if raters == 1 else 'people'} rated; to compare an arm as a rater, two or more people are needed",
                remedy="give every person a different name under rater, or remove panels from tables",
            )
        )
    systems = {case.system for case in cases if case.system is not None}
    for table in ("ranking", "self_preference"):
        if table in wanted and len(systems) < 2:
            errors.append(
                VenireError(
                    f"{table}: the cases name {count_words(len(systems), 'system')} in the column `system`, but two are needed",
                    remedy=f"write in `system` which system produced each output, or remove {table} from tables",
                )
            )
    severe = design.severity.attribute
    named = {
        "label": design.label.attributes if design.label else (),
        "severity": (severe,) if severe else (),
    }
    return errors + [
        VenireError(f"{key}: the rubric has no attribute {name!r}", remedy=nearest(name, rubric.names))
        for key, names in named.items()
        for name in names
        if name not in rubric.names
    ]


def _missing_columns(design: Design, cases: Sequence[Case]) -> list[VenireError]:
    given = sorted({name for case in cases for name in case.metadata})
    found = [
        VenireError(
            f"no case has {name!r}, which is named under predictors, strata or label",
            remedy=nearest(name, given)
            if given
            else f"add it to the cases: as a column, or under metadata: {{{name}: ...}}",
        )
        for name in design.columns
        if name not in given
    ]
    return found + [
        VenireError(
            f"strata: no case has a {name}", remedy=f"give the cases a {name}, or remove {name} from strata"
        )
        for name in design.strata
        if name in ("system", "group") and all(getattr(case, name) is None for case in cases)
    ]


def _missing_keys(design: Design, wanted: Collection[str]) -> list[VenireError]:
    """An error for each table whose own key the file does not have."""
    needs = {
        "strata": ("strata", bool(design.strata), "strata: [system, specialty]"),
        "detection": ("label", design.label is not None, "label: {column: panel_disagrees, pool: ward_case}"),
        "rescore": ("people: rescore", bool(design.people.rescore), "people: {rescore: [RATER]}"),
        "tasks": (
            "tasks",
            bool(design.tasks),
            "tasks: {probsum: {cases: ..., rubric: probsum, ratings: ...}}",
        ),
    }
    return [
        VenireError(
            f"tables: {table} needs the key {key}", remedy=f"write {example}, or remove {table} from tables"
        )
        for table, (key, given, example) in needs.items()
        if table in wanted and not given
    ]
