"""The arms of a study: those that its file lists, and how a jury is built of given fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ...orchestration.counting import counting_rule
from ...orchestration.protocols import protocol
from ...personas.jury import Jury, load_jury
from ...personas.options import CHECKED
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import Written
from ..selection.deliberated_arms import JURY, SINGLE
from .schema import ArmEntry, Calibration
from .study import Study


@dataclass(frozen=True, slots=True)
class StudyArm:
    """A jury in a study, and what sets it apart from the others."""

    jury: Jury
    calibration: Calibration = "none"
    axes: Mapping[str, str] = field(default_factory=dict)

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


def listed_arms(study: Study, written: Written) -> Iterator[StudyArm | VenireError]:
    """The arms of the file's `arms`, one by one, or why one cannot be built."""
    for number in range(len(study.arms)):
        part = written.part("arms", number)
        try:
            yield _listed_arm(study, part.fit(ArmEntry), part)
        except VenireError as error:
            yield error


def _listed_arm(study: Study, entry: ArmEntry, part: Written) -> StudyArm:
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
    jury = jury.fill(model=entry.model or study.model, base_url=entry.base_url or study.base_url)
    return StudyArm(jury, entry.calibration)


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
