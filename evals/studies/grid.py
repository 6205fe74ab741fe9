"""The grid: its axes with their names looked up, every combination of them as an arm, and the space that a search composes juries from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...orchestration.counting import counting_rule
from ...orchestration.protocols import protocol
from ...personas.jury import Seat
from ...personas.options import Limits
from ...personas.persona import Persona
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.yaml_files import Written
from .arms import StudyArm, build_jury
from .schema import Calibration, LimitAxes
from .study import Study

_DEFAULTS = Limits().model_dump()
NOBODY = "none"
"""A seat without a stance."""
_ROUNDS = ("max_rounds", "max_stalls", "max_replans")
_ALL_SPEAK = ("orchestrated", "moderated", "delphi", "debate")
"""Protocols in which a seat has a turn a round at the most, and one to challenge in."""


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


def limits_of_use(
    limits: Sequence[Mapping[str, float | None]], way: str, seats: int
) -> list[Mapping[str, float | None]]:
    """One of each set of limits under which a jury of so many seats does the same, without those that can never act."""
    most = protocol(way).most
    one_step = most is not None and most(3, 3)[1] == 1
    found: dict[tuple[tuple[str, float | None], ...], Mapping[str, float | None]] = {}
    for each in limits:
        useless = set(_ROUNDS) if one_step else set()
        acting = {**_DEFAULTS, **each}
        if not protocol(way).replans or not acting["max_stalls"]:
            useless.add("max_replans")
        kept = {name: value for name, value in each.items() if name not in useless}
        acting |= dict.fromkeys(useless, None)
        found.setdefault(tuple(_acting_limits(acting, way, seats, one_step).items()), kept)
    return list(found.values())


def _acting_limits(
    limits: Mapping[str, float | None], way: str, seats: int, one_step: bool
) -> dict[str, float | None]:
    """The limits with null for each that others always come before: a deliberation is the same wherever these are."""
    found = dict(limits)
    rounds, turns = found["max_rounds"], found["max_turns"]
    if one_step or rounds is None or way not in _ALL_SPEAK:
        return found
    if turns is not None and turns >= seats * (rounds + 1):
        found["max_turns"] = None
    stalls = found["max_stalls"]
    if stalls is not None and stalls >= rounds - 1 and (stalls or rounds == 1):
        found["max_stalls"] = found["max_replans"] = None
    elif stalls and found["max_replans"]:
        # Every new plan takes so many rounds that moved nobody before it, and one after it.
        found["max_replans"] = min(found["max_replans"], max(0, rounds - 2) // stalls)
    return found


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
    """The settings, with the study's model where they name none, and its address for that and for a `server/` that has none."""
    model = settings.get("model")
    if model and not model.startswith("server/"):
        return dict(settings)
    further = {
        "model": model or study.model,
        "base_url": settings.get("base_url") or study.base_url,
    }
    return {**settings, **{key: value for key, value in further.items() if value is not None}}


def _limits(axes: LimitAxes) -> Iterator[dict[str, float | None]]:
    given = {name: values for name, values in axes if values is not None}
    for chosen in product(*given.values()):
        yield dict(zip(given, chosen, strict=True))


_LETTERS = {
    "max_rounds": "r",
    "max_turns": "t",
    "max_stalls": "s",
    "max_replans": "p",
    "max_tokens": "tokens",
    "max_usd": "usd",
    "max_seconds": "sec",
}


def grid_arms(axes: Axes, written: Written) -> Iterator[StudyArm | VenireError]:
    """Every combination as an arm, then every seat of them alone; or why one cannot be built."""
    where = f"{written.path}:{written.line('grid')}"
    beside = written.path.parent
    for way, group in product(axes.protocols, axes.groups):
        used = limits_of_use(axes.limits, way, len(axes.groups[group]))
        for (model, dealt), limits, count, tolerance, quorum, calibration, (asked, further) in product(
            axes.models.items(), used, axes.counts, axes.tolerances,
            axes.quorums, axes.calibrations, _ways_of_asking(axes, way),
        ):  # fmt: skip
            labels = {
                "personas": group,
                "model": model if len(axes.models) > 1 else "",
                "protocol": way if len(axes.protocols) > 1 else "",
                "limits": limits_label(limits, used),
                "count": (count or "") if len(axes.counts) > 1 else "",
                "tolerance": f"tol{tolerance:g}".replace(".", "_") if len(axes.tolerances) > 1 else "",
                "quorum": f"q{quorum}" if len(axes.quorums) > 1 else "",
                "calibration": calibration if len(axes.calibrations) > 1 else "",
                **further,
            }
            name = "-".join(filter(None, labels.values()))
            try:
                if way == "single" and len(axes.groups[group]) > 1:
                    raise InvalidFile(
                        f"{where}: the arm {name!r} cannot be built: the protocol single has one seat, but {group!r} has "
                        f"{len(axes.groups[group])}",
                        remedy="remove single from the protocols, or write singles: true to have each seat judge alone",
                    )
                fields = {"limits": limits} if limits else {}
                fields |= {key: asked[key] for key in ("repeats", "shots") if key in asked}
                settings = [_settings(each, asked) for each in dealt]
                jury = build_jury(
                    {
                        "name": name,
                        "protocol": way,
                        "count": count,
                        "tolerance": tolerance,
                        "quorum": quorum,
                        "seats": seats_of(axes.groups[group], settings),
                        **fields,
                        "orchestrator": asked["orchestrator"] or settings[0],
                    },
                    beside,
                    where,
                )  # fmt: skip
                arm = StudyArm(jury, calibration, {key: words for key, words in labels.items() if words})
                yield from replace(arm, hearings=asked.get("hearings", 1)).every_hearing()
            except VenireError as error:
                yield error
    if axes.singles:
        yield from _singles(axes, beside, where)


def _ways_of_asking(axes: Axes, way: str) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Every combination of orchestrator, repeats, examples, temperature and parameters that a protocol uses, with the part of
    an arm's name that tells it from the others."""
    known = protocol(way).options.model_fields
    presided = axes.orchestrators if protocol(way).orchestrator else axes.orchestrators[:1]
    repeats = axes.repeats
    shots = axes.shots if "shots" in known else (None,)
    for (chair, boss), times, (number, examples), temperature, (place, params) in product(
        enumerate(presided, 1), repeats, enumerate(shots), axes.temperatures, enumerate(axes.params)
    ):
        asked = {"orchestrator": boss, "temperature": temperature, "params": params}
        asked |= {"repeats" if "repeats" in known else "hearings": times} if times > 1 else {}
        asked |= {"shots": examples} if examples else {}
        yield (
            asked,
            {
                "orchestrator": f"chair{chair}" if len(presided) > 1 else "",
                "repeats": f"x{times}" if len(repeats) > 1 else "",
                "shots": _shots_label(examples, number) if len(shots) > 1 else "",
                "temperature": _temperature_label(temperature) if len(axes.temperatures) > 1 else "",
                "params": f"params{place + 1}" if len(axes.params) > 1 else "",
            },
        )


def _temperature_label(temperature: float | None) -> str:
    return "tnone" if temperature is None else f"t{temperature}".replace(".", "_")


def _shots_label(examples: Mapping[str, Any] | None, number: int) -> str:
    if examples is None:
        return "zero-shot"
    count = examples.get("k", examples.get("n", len(examples.get("ids", ()))))
    return f"{count}-shot-{number}"


def _settings(model: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """A seat's model settings with the temperature and the parameters that the grid tries."""
    further = {} if asked["temperature"] is None else {"temperature": asked["temperature"]}
    params = {**model.get("params", {}), **asked["params"]}
    return {**model, **further, **({"params": params} if params else {})}


def _singles(axes: Axes, beside: object, where: str) -> Iterator[StudyArm]:
    """Each seat that the grid's juries have, alone, uncalibrated and calibrated as they are."""
    seen: set[tuple[str, str]] = set()
    for group, (model, dealt) in product(axes.groups.values(), axes.models.items()):
        for number, persona in enumerate(group):
            settings = dealt[number % len(dealt)]
            label = model if len(dealt) == 1 else label_of(settings, axes)
            who = (persona_name(persona), label)
            if who in seen:
                continue
            seen.add(who)
            for calibration in axes.calibrations:
                parts = ["single", who[0], label if len(axes.models) > 1 or len(dealt) > 1 else ""]
                parts.append(calibration if len(axes.calibrations) > 1 else "")
                jury = build_jury(
                    {
                        "name": "-".join(filter(None, parts)),
                        "protocol": "single",
                        "seats": seats_of((persona,), (settings,)),
                        "orchestrator": dict(settings),
                    },
                    beside,
                    where,
                )
                yield StudyArm(jury, calibration, {"personas": who[0], "model": label, "protocol": "single"})


def seats_of(
    personas: Sequence[Persona | None], dealt: Sequence[Mapping[str, Any]]
) -> list[dict[str, object]]:
    """A seat for each persona, named for it, the models dealt in turn."""
    seats: list[dict[str, object]] = []
    names: list[str] = []
    for number, persona in enumerate(personas):
        name = persona_name(persona)
        names.append(name)
        again = names.count(name)
        unique = name if again == 1 else f"{name}-{again}"
        seats.append({"name": unique, "persona": persona, **dealt[number % len(dealt)]})
    return seats


def limits_label(limits: Mapping[str, float | None], among: Sequence[Mapping[str, float | None]]) -> str:
    """The limits that differ among the arms, in short."""
    differing = [name for name in limits if len({each[name] for each in among}) > 1]
    return "-".join(
        f"{_LETTERS[name]}{'none' if limits[name] is None else f'{limits[name]:g}'.replace('.', '_')}"
        for name in differing
    )


Choose = Callable[[str, Sequence[str]], str]
"""Given what is chosen and from what, the choice."""
_IN_ORDER = ("debate", "escalate", "magentic", "magentic-one")
"""Protocols in which it matters who sits where; in others a jury is the same whoever is named first."""


class SearchSpace:
    """The juries that can be composed of a grid's personas and models."""

    def __init__(self, axes: Axes, max_seats: int, path: Path) -> None:
        self._axes = axes
        self._path = path
        # Where each seat is an arm alone already, it need not be tried again.
        fewest = 2 if axes.singles and max_seats > 1 else 1
        self._sizes = [str(size) for size in range(fewest, max_seats + 1)]
        self.pool: dict[str, tuple[Persona | None, Mapping[str, Any]]] = {
            f"{persona_name(persona)}@{label_of(settings, axes)}": (persona, settings)
            for persona, dealt in product(axes.personas.values(), axes.models.values())
            for settings in dealt
        }
        self.protocols = [way for way in axes.protocols if way != "single"] or ["panel"]

    def compose(self, name: str, choose: Choose) -> StudyArm:
        """The jury that `choose` chooses; one seat alone is a single judge.

        Raises:
            VenireError: There can be no such jury.
        """
        axes = self._axes
        size = int(choose("seats", self._sizes))
        seated = [choose(f"seat {number + 1}", list(self.pool)) for number in range(size)]
        if size == 1:
            fields: dict[str, Any] = {"protocol": "single"}
            way = "single"
        else:
            way = self._one("protocol", self.protocols, choose)
            limits = limits_of_use(axes.limits, way, size)
            given = limits[
                int(choose("limits", [str(at) for at in range(len(limits))])) if len(limits) > 1 else 0
            ]
            fields = {
                "protocol": way,
                "count": self._one("count", axes.counts, choose),
                "tolerance": self._one("tolerance", axes.tolerances, choose),
                "quorum": min(size, self._one("quorum", axes.quorums, choose)),
                **({"limits": given} if given else {}),
            }
        if way not in _IN_ORDER:
            seated.sort()
        members = [self.pool[label] for label in seated]
        seats = [
            # Named for the place too: one persona may sit on several models.
            {**seat, **({"name": f"{seat['name']}-{number + 1}"} if size > 1 else {})}
            for number, member in enumerate(members)
            for seat in seats_of(member[:1], member[1:])
        ]
        jury = build_jury(
            {
                "name": name,
                "description": ", ".join(seated),
                "seats": seats,
                "orchestrator": members[0][1] if size == 1 else axes.orchestrators[0] or members[0][1],
                **fields,
            },
            self._path.parent,
            str(self._path),
        )
        return StudyArm(jury, "none", {"seats": ", ".join(seated), "protocol": way})

    def largest(self, way: str) -> StudyArm:
        """A jury of as many seats as may be, for an estimate of the most that a trial takes."""
        labels = list(self.pool)

        def choose(what: str, among: Sequence[str]) -> str:
            if what == "seats" or what == "limits":
                return among[-1]
            if what.startswith("seat "):
                return labels[int(what.split()[1]) % len(labels)]
            return way if what == "protocol" and way in among else among[0]

        return self.compose("largest", choose)

    @staticmethod
    def _one(what: str, among: Sequence[Any], choose: Choose) -> Any:
        if len(among) == 1:
            return among[0]
        names = [str(each) for each in among]
        return among[names.index(choose(what, names))]
