"""What a study's tables need and its data lack, said before anything is spent."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from .design import Design


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
                f"panels: {raters} {'person' if raters == 1 else 'people'} rated, and an arm needs two or more to sit among",
                remedy="give every person a name of their own under rater, or leave panels out of tables",
            )
        )
    systems = {case.system for case in cases if case.system is not None}
    for table in ("ranking", "self_preference"):
        if table in wanted and len(systems) < 2:
            errors.append(
                VenireError(
                    f"{table}: the cases name {len(systems)} system(s) under `system`, and it takes two",
                    remedy=f"say who produced each output, or leave {table} out of tables",
                )
            )
    if design.label is not None:
        errors += [
            VenireError(f"label: the rubric does not ask {name!r}", remedy=nearest(name, rubric.names))
            for name in design.label.attributes
            if name not in rubric.names
        ]
    return errors


def _missing_columns(design: Design, cases: Sequence[Case]) -> list[VenireError]:
    given = sorted({name for case in cases for name in case.metadata})
    found = [
        VenireError(
            f"no case has {name!r}, which predictors, strata or label name",
            remedy=nearest(name, given)
            if given
            else f"add it to the cases: as a column, or under metadata: {{{name}: ...}}",
        )
        for name in design.columns
        if name not in given
    ]
    return found + [
        VenireError(f"strata: no case has a {name}", remedy=f"give the cases a {name}, or leave it out")
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
            f"tables: {table} needs the key {key}", remedy=f"write {example}, or leave {table} out of tables"
        )
        for table, (key, given, example) in needs.items()
        if table in wanted and not given
    ]
