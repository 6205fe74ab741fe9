"""The arms of a study: those that its file lists, and how a jury is built of given fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ...orchestration.counting import counting_rule
from ...orchestration.protocols import protocol
from ...personas.jury import Jury, load_jury, model_beside
from ...personas.options import CHECKED, Shots, unused_option
from ...rubrics.case import Case
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.yaml_files import Written
from ..selection.deliberated_arms import JURY, SINGLE
from .case_split import CaseSplit
from .schema import ArmEntry, Calibration, HeardOn, StudyShots
from .study import Study


@dataclass(frozen=True, slots=True)
class StudyArm:
    """A jury in a study, and what sets it apart from the others."""

    jury: Jury
    calibration: Calibration = "none"
    axes: Mapping[str, str] = field(default_factory=dict)
    on: HeardOn = "all"
    """The cases it hears: all, the test cases, or so many of these (of all, where none is held out)."""

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
        return self.asks, self.jury.count, tuple(self.jury.weights.items()), self.calibration


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
                yield _listed_arm(study, entry, part, split)
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
            f"{part.path}:{part.line('on')}: a search has every arm hear the cases it selects on",
            remedy="leave on out, or search in another study",
        )
    if entry.on == "test" and split is not None and not split.test:
        raise InvalidFile(
            f"{part.path}:{part.line('on')}: {jury.name} hears test cases alone, and the split has none",
            remedy="hold out a part of the cases: split: {test: 0.2}; or leave on out",
        )
    return StudyArm(jury, entry.calibration, on=entry.on)


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
        wide=study.wide,
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
