"""The arms of a study: those that its file lists, how a jury is built of given fields, and the cases that each hears."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
from pydantic import ValidationError

from ...orchestration.counting import counting_rule
from ...orchestration.protocols import protocol
from ...personas.jury import Jury, load_jury, model_beside
from ...personas.options import CHECKED, Shots, unused_option
from ...rubrics.case import Case
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import nearest
from ...rubrics.yaml_files import Written
from ..ratings.folds import clusters
from ..statistics.contrast import LEAST_CLUSTERS
from .candidates import JURY, SINGLE
from .schema import ArmEntry, Calibration, HeardOn, Split, StudyShots
from .study import Study

FEWEST = 4
"""Cases, or groups of cases, without which no report can be made."""


@dataclass(frozen=True, slots=True)
class CaseSplit:
    """Case ids. `selection` is in an order drawn by the seed, so that any first part of it is a fair sample."""

    selection: tuple[str, ...]
    test: tuple[str, ...]
    scored: int
    """How many cases or groups arms are scored on: the test cases', or all where each is held out in turn."""

    @property
    def notes(self) -> tuple[str, ...]:
        """That no interval can be given, where arms are scored on too few cases or groups."""
        if self.scored >= LEAST_CLUSTERS:
            return ()
        where = "of the test part" if self.test else "of the study"
        return (
            f"The {self.scored} cases or groups {where} are too few to compare arms: no interval, p or recommendation is given below "
            f"{LEAST_CLUSTERS}. Give cases of more groups, or hold out more cases. All cases of one group count as one; a case without `group` counts by itself.",
        )


def study_split(cases: Sequence[Case], split: Split, *, seed: int) -> CaseSplit:
    """`split_cases` of cases that know their groups and columns."""
    given = [{"system": case.system, **case.metadata} for case in cases]
    for column in split.stratify:
        if not any(column in fields for fields in given):
            known = sorted({name for fields in given for name in fields})
            raise VenireError(f"stratify: no case has {column!r}", remedy=nearest(column, known))
    values = {
        case.id: tuple(str(fields.get(column)) for column in split.stratify)
        for case, fields in zip(cases, given, strict=True)
    }
    groups = {case.id: case.group for case in cases if case.group is not None}
    return split_cases([case.id for case in cases], groups, split, seed=seed, strata=values)


def split_cases(
    cases: Sequence[str],
    groups: Mapping[str, str],
    split: Split,
    *,
    seed: int,
    strata: Mapping[str, tuple[str, ...]] | None = None,
) -> CaseSplit:
    """The cases in two parts; those of one group are never parted.

    Args:
        cases: Case ids.
        groups: By case id its group; one without a group is not in it.
        strata: By case id the values of which each part is to have its share.

    Raises:
        VenireError: The split names what is not there, parts a group, or leaves nothing to choose on.
    """
    cluster = dict(zip(cases, clusters(pd.Series(list(cases), dtype=object), groups), strict=True))
    number = len(set(cluster.values()))
    if number < FEWEST:
        raise VenireError(
            f"too few cases (or groups of cases), {number}: some are needed to choose arms on, and others to score them on",
            remedy=f"give {FEWEST} or more to run the study, and {LEAST_CLUSTERS} or more in the part that arms are scored on if you want intervals; cases of one group count as one",
        )
    test = _test_cases(cluster, groups, split, seed, strata or {})
    torn = {cluster[case] for case in cases if case in test} & {
        cluster[case] for case in cases if case not in test
    }
    if torn:
        raise VenireError(
            f"cases of the group {min(torn).removeprefix('group ')!r} are in both parts of the split",
            remedy="keep each group in one part: name groups instead of cases",
        )
    selection = [case for case in cases if case not in test]
    random.Random(seed).shuffle(selection)
    if not selection:
        raise VenireError(
            "the split puts every case into the test part, so none is left to choose arms on",
            remedy="make the test part smaller",
        )
    scored = {cluster[case] for case in (test or cases)}
    return CaseSplit(tuple(selection), tuple(case for case in cases if case in test), len(scored))


def _test_cases(
    cluster: Mapping[str, str],
    groups: Mapping[str, str],
    split: Split,
    seed: int,
    strata: Mapping[str, tuple[str, ...]],
) -> Collection[str]:
    """The cases that the split names; or, for a share, whole clusters drawn by the seed, systematically within strata."""
    if split.groups:
        _refuse_unknown("group", split.groups, groups.values())
        return frozenset(case for case in cluster if groups.get(case) in split.groups)
    if isinstance(split.test, tuple):
        _refuse_unknown("case", split.test, cluster)
        return frozenset(split.test)
    members: dict[str, list[str]] = {}
    for case, name in cluster.items():
        members.setdefault(name, []).append(case)
    order = sorted(members)
    random.Random(seed).shuffle(order)
    wanted, drawn = float(round((split.test or 0.0) * len(cluster))), list[str]()
    if split.stratify:
        order.sort(key=lambda name: sorted({strata[case] for case in members[name]}))
    met = 0
    for name in order:
        met += len(members[name])
        if split.stratify:
            wanted = (split.test or 0.0) * met
        # A group goes in where that brings the part nearer to the size that was asked for.
        if abs(len(drawn) + len(members[name]) - wanted) < abs(len(drawn) - wanted):
            drawn += members[name]
    return frozenset(drawn)


def _refuse_unknown(what: str, named: Sequence[str], known: Collection[str]) -> None:
    """Raises `VenireError` where the split names a group or case that is not there."""
    unknown = [name for name in named if name not in known]
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise VenireError(
            f"the split names the {what} {unknown[0]!r}{more}, which the cases do not have",
            remedy=nearest(unknown[0], sorted(set(known))),
        )


@dataclass(frozen=True, slots=True)
class StudyArm:
    """A jury in a study, and what sets it apart from the others."""

    jury: Jury
    calibration: Calibration = "none"
    axes: Mapping[str, str] = field(default_factory=dict)
    on: HeardOn = "all"
    """The cases it hears: all, the test cases, or so many of these (of all, where none is held out)."""
    hearings: int = 1
    """How often its whole deliberation is held; the second and later are arms of the record of their own."""

    def every_hearing(self) -> list[StudyArm]:
        """The arm, and its repeats of the whole deliberation."""
        later = [replace(self, jury=self.jury.heard_again(number)) for number in range(2, self.hearings + 1)]
        return [self, *later]

    def hears(self, cases: Sequence[Case], split: CaseSplit | None) -> list[Case]:
        """The cases that it is to hear, of those of the study."""
        if self.on == "all" or split is None:
            return list(cases)
        held_out = set(split.test or split.selection)
        tested = [case for case in cases if case.id in held_out]
        return tested if self.on == "test" else tested[: self.on]

    @property
    def name(self) -> str:
        return self.jury.name

    @property
    def kind(self) -> str:
        return SINGLE if self.jury.single_judge else JURY

    @property
    def asks(self) -> str:
        """What decides its questions: arms that are alike in this make the same calls."""
        return self.jury.model_copy(
            update={"name": "arm", "description": "", "count": None, "weights": {}}
        ).model_dump_json()

    @property
    def identity(self) -> tuple[object, ...]:
        """What decides its scores: arms that are alike in this are one."""
        return self.asks, self.jury.count, tuple(self.jury.weights.items()), self.calibration, self.hearings


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An optional arm that cannot be built, and why."""

    note: str


def listed_arms(
    study: Study, written: Written, split: CaseSplit | None
) -> Iterator[StudyArm | LeftOut | VenireError]:
    """The arms of the file's `arms`, one by one, or why one cannot be built or is left out."""
    for number in range(len(study.arms)):
        part = written.part("arms", number)
        try:
            entry = part.fit(ArmEntry)
            adapter = entry.adapter and part.path.parent / entry.adapter
            if entry.optional and adapter is not None and not adapter.exists():
                name = entry.name or entry.jury
                yield LeftOut(f"the arm {name} is left out: there is no adapter {adapter}")
            else:
                yield from _listed_arm(study, entry, part, split).every_hearing()
        except VenireError as error:
            yield error


def _listed_arm(study: Study, entry: ArmEntry, part: Written, split: CaseSplit | None) -> StudyArm:
    if isinstance(entry.jury, str):
        named = entry.jury.endswith((".yaml", ".yml"))
        try:
            jury = load_jury(part.path.parent / entry.jury if named else entry.jury)
        except VenireError as error:
            problem = error.problem if named else f"{part.path}:{part.line('jury')}: {error.problem}"
            raise InvalidFile(problem, remedy=error.remedy) from None
    else:
        jury = part.part("jury").fit(Jury)
    given = {"name": entry.name, "protocol": entry.protocol, "count": entry.count}
    changes = {key: value for key, value in given.items() if value is not None}
    if changes:
        jury = jury.under(entry.protocol or jury.protocol)
        jury = build_jury(
            {**dict(jury), **changes}, part.path.parent, f"{part.path}:{part.line()}", context=CHECKED
        )
    model = entry.model or study.model
    jury = jury.fill(
        model=model and model_beside(model, part.path.parent), base_url=entry.base_url or study.base_url
    )
    if entry.adapter is not None:
        jury = _with_adapter(jury, str(part.path.parent / entry.adapter))
    if entry.shots is not None:
        jury = _with_shots(jury, study, entry.shots, part, split)
    if entry.on != "all" and study.search is not None:
        raise InvalidFile(
            f"{part.path}:{part.line('on')}: `on` has no effect in a search, because every arm judges the selection cases",
            remedy="remove `on`, or run the search in another study",
        )
    if entry.on == "test" and split is not None and not split.test:
        raise InvalidFile(
            f"{part.path}:{part.line('on')}: {jury.name} judges only test cases, but the split has none",
            remedy="hold out a part of the cases with split: {test: 0.2}, or remove `on`",
        )
    if entry.repeats and not unused_option("repeats", jury.protocol):
        return StudyArm(jury.model_copy(update={"repeats": entry.repeats}), entry.calibration, on=entry.on)
    if (entry.repeats or 1) > 1 and entry.calibration != "none":
        raise InvalidFile(
            f"{part.path}:{part.line('repeats')}: repeats of a deliberation are counted together, so they cannot be calibrated separately",
            remedy="remove calibration or repeats",
        )
    return StudyArm(jury, entry.calibration, on=entry.on, hearings=entry.repeats or 1)


def _with_adapter(jury: Jury, adapter: str) -> Jury:
    """The jury with the adapter at every seat that the embedded runtime answers for."""
    seats = tuple(
        seat.model_copy(update={"adapter": adapter})
        if (seat.model or "").partition("/")[0] == "local"
        else seat
        for seat in jury.seats
    )
    return jury.model_copy(update={"seats": seats})


def _with_shots(jury: Jury, study: Study, wanted: StudyShots, part: Written, split: CaseSplit | None) -> Jury:
    """The jury, shown examples out of the cases that arms are chosen on."""
    if why := unused_option("shots", jury.protocol):
        problem, _, remedy = why.partition("\n")
        raise InvalidFile(f"{part.path}:{part.line('shots')}: {problem}", remedy=remedy)
    assert study.cases is not None and study.ratings is not None
    beside = part.path.parent
    shots = Shots(
        n=wanted.k,
        cases=beside / study.cases,
        ratings=beside / study.ratings,
        seed=wanted.seed,
        among=tuple(sorted(split.selection)) if split else (),
        without=tuple(sorted(study.people.rescore)),
    )
    return jury.model_copy(update={"shots": shots})


def build_jury(
    fields: Mapping[str, Any], beside: object, where: str, *, context: Mapping[str, Any] | None = None
) -> Jury:
    """The jury that `fields` describe; an error at `where` if there can be none."""
    try:
        jury = Jury.model_validate(dict(fields), context={"beside": beside, **(context or {})})
        protocol(jury.protocol)
        if jury.count is not None:
            counting_rule(jury.count)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        problem, _, remedy = first["msg"].removeprefix("Value error, ").partition("\n")
        raise InvalidFile(
            f"{where}: the arm {fields.get('name')!r} cannot be built: {at + ': ' if at else ''}{problem}",
            remedy=remedy.strip() or f"correct {at or 'it'}",
        ) from None
    except VenireError as error:
        raise InvalidFile(
            f"{where}: the arm {fields.get('name')!r} cannot be built: {error.problem}", remedy=error.remedy
        ) from None
    return jury


def duplicate_names(arms: Sequence[StudyArm], written: Written) -> list[VenireError]:
    """An error for each name that more than one arm has."""
    names = [arm.name for arm in arms]
    return [
        InvalidFile(
            f"{written.path}:{written.line('arms')}: {names.count(name)} arms are named {name!r}",
            remedy="give one of them another name",
        )
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
