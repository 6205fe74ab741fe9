"""A grid: every combination of persona groups, models, protocols, limits and counting rules, and each seat alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from ...orchestration.protocols import protocol
from ...personas.persona import Persona
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.yaml_files import Written
from .axes import Axes, label_of, limits_of_use, persona_name
from .study_arms import StudyArm, build_jury

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
    for way in axes.protocols:
        for group, (model, dealt), limits, count, tolerance, quorum, calibration, (asked, further) in product(
            axes.groups, axes.models.items(), limits_of_use(axes.limits, way), axes.counts, axes.tolerances,
            axes.quorums, axes.calibrations, _ways_of_asking(axes, way),
        ):  # fmt: skip
            labels = {
                "personas": group,
                "model": model if len(axes.models) > 1 else "",
                "protocol": way if len(axes.protocols) > 1 else "",
                "limits": limits_label(limits, limits_of_use(axes.limits, way)),
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
                        f"{where}: the arm {name!r} cannot be built: single asks one seat, and {group!r} has "
                        f"{len(axes.groups[group])}",
                        remedy="leave single out of the protocols: singles: true has each seat judge alone",
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
                yield StudyArm(jury, calibration, {key: words for key, words in labels.items() if words})
            except VenireError as error:
                yield error
    if axes.singles:
        yield from _singles(axes, beside, where)


def _ways_of_asking(axes: Axes, way: str) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Every combination of orchestrator, repeats, examples, temperature and parameters that a protocol uses, with the part of
    an arm's name that tells it from the others."""
    known = protocol(way).options.model_fields
    presided = axes.orchestrators if protocol(way).orchestrator else axes.orchestrators[:1]
    repeats = axes.repeats if "repeats" in known else (1,)
    shots = axes.shots if "shots" in known else (None,)
    for (chair, boss), times, (number, examples), temperature, (place, params) in product(
        enumerate(presided, 1), repeats, enumerate(shots), axes.temperatures, enumerate(axes.params)
    ):
        asked = {"orchestrator": boss, "temperature": temperature, "params": params}
        asked |= {"repeats": times} if times > 1 else {}
        asked |= {"shots": examples} if examples else {}
        yield (
            asked,
            {
                "orchestrator": f"chair{chair}" if len(presided) > 1 else "",
                "repeats": f"x{times}" if len(repeats) > 1 else "",
                "shots": _shots_label(examples, number) if len(shots) > 1 else "",
                "temperature": f"t{temperature}".replace(".", "_") if len(axes.temperatures) > 1 else "",
                "params": f"params{place + 1}" if len(axes.params) > 1 else "",
            },
        )


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
