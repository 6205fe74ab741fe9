"""The axes of a grid with their names looked up: personas, models, protocols, limits and counting rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from pydantic import ValidationError

from ...orchestration.counting import counting_rule
from ...orchestration.protocols import protocol
from ...personas.jury import Seat
from ...personas.persona import Persona
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.yaml_files import Written
from .schema import Calibration, LimitAxes
from .study import Study

NOBODY = "none"
"""A seat without a stance."""
_ROUNDS = ("max_rounds", "max_stalls", "max_replans")


@dataclass(frozen=True, slots=True)
class Axes:
    """The values of each axis; what does not exist is not among them."""

    groups: Mapping[str, tuple[Persona | None, ...]]
    models: Mapping[str, tuple[Mapping[str, Any], ...]]
    protocols: tuple[str, ...]
    limits: tuple[Mapping[str, float | None], ...]
    counts: tuple[str | None, ...]
    tolerances: tuple[float, ...]
    quorums: tuple[int, ...]
    calibrations: tuple[Calibration, ...]
    orchestrators: tuple[Mapping[str, Any] | None, ...]
    singles: bool
    repeats: tuple[int, ...] = (1,)
    shots: tuple[Mapping[str, Any] | None, ...] = (None,)
    temperatures: tuple[float | None, ...] = (None,)
    params: tuple[Mapping[str, Any], ...] = ({},)

    @property
    def personas(self) -> dict[str, Persona | None]:
        """Everyone in any group, by name."""
        return {persona_name(each): each for group in self.groups.values() for each in group}


def axes_of(study: Study, written: Written) -> tuple[Axes, list[VenireError]]:
    """The grid's axes, and an error for each name on them that does not exist, however many arms it is in."""
    assert study.grid is not None
    grid, part = study.grid, written.part("grid")
    errors: list[VenireError] = []
    groups = {}
    for name, members in grid.personas.items():
        seated = [_persona(member, part, name, number, errors) for number, member in enumerate(members)]
        if all(isinstance(each, Persona | None) for each in seated):
            groups[name] = tuple(each for each in seated if isinstance(each, Persona | None))
    protocols = [name for name in grid.protocol if _known(protocol, name, part, "protocol", errors)]
    counts = [name for name in grid.count or () if _known(counting_rule, name, part, "count", errors)]
    settings = {
        name: tuple(_with_model(model.model_dump(exclude_none=True), study) for model in dealt)
        for name, dealt in grid.models.items()
    }
    return (
        Axes(
            groups=groups,
            models=settings,
            protocols=tuple(protocols),
            limits=tuple(_limits(grid.limits)),
            counts=tuple(counts) if grid.count else (None,),
            tolerances=tuple(value or 0.0 for value in grid.tolerance),
            quorums=grid.quorum,
            calibrations=grid.calibration,
            orchestrators=(None,)
            if grid.orchestrator is None
            else tuple(_with_model(each.model_dump(exclude_none=True), study) for each in grid.orchestrator),
            singles=grid.singles,
            repeats=grid.repeats,
            shots=grid.shots,
            temperatures=grid.temperature,
            params=grid.params,
        ),
        errors,
    )


def persona_name(persona: Persona | None) -> str:
    """Its name; `none` for a seat without a persona."""
    return NOBODY if persona is None else persona.name


def label_of(settings: Mapping[str, Any], axes: Axes) -> str:
    """A model's label: the name that the grid gives it alone, or that of the list it is dealt in, and its place there."""
    named = [
        (name, dealt.index(settings) + 1, len(dealt))
        for name, dealt in axes.models.items()
        if settings in dealt
    ]
    alone = [name for name, _, size in named if size == 1]
    return alone[0] if alone else f"{named[0][0]}-{named[0][1]}"


def limits_of_use(limits: Sequence[Mapping[str, float | None]], way: str) -> list[Mapping[str, float | None]]:
    """The limits that a protocol uses: one of a single step has no rounds to limit."""
    most = protocol(way).most
    if most is None or most(3, 3)[1] > 1:
        return list(limits)
    kept = [{name: value for name, value in each.items() if name not in _ROUNDS} for each in limits]
    return [each for number, each in enumerate(kept) if each not in kept[:number]]


def _persona(
    member: Any, part: Written, group: str, number: int, errors: list[VenireError]
) -> Persona | VenireError | None:
    if member in (None, NOBODY):
        return None
    try:
        return Seat.model_validate(
            {"name": "seat", "persona": member}, context={"beside": part.path.parent}
        ).persona
    except ValidationError as error:
        problem, _, remedy = error.errors()[0]["msg"].removeprefix("Value error, ").partition("\n")
        line = part.line("personas", group, number)
        errors.append(InvalidFile(f"{part.path}:{line}: {problem}", remedy=remedy or f"correct {member!r}"))
        return errors[-1]


def _known(
    look_up: Callable[[str], object], name: str, part: Written, key: str, errors: list[VenireError]
) -> bool:
    try:
        look_up(name)
        return True
    except VenireError as error:
        errors.append(InvalidFile(f"{part.path}:{part.line(key)}: {error.problem}", remedy=error.remedy))
        return False


def _with_model(settings: Mapping[str, Any], study: Study) -> dict[str, Any]:
    """The settings, with the study's model where they name none."""
    if settings.get("model"):
        return dict(settings)
    further = {"model": study.model or "local", "base_url": settings.get("base_url") or study.base_url}
    return {**settings, **{key: value for key, value in further.items() if value is not None}}


def _limits(axes: LimitAxes) -> Iterator[dict[str, float | None]]:
    given = {name: values for name, values in axes if values is not None}
    for chosen in product(*given.values()):
        yield dict(zip(given, chosen, strict=True))
