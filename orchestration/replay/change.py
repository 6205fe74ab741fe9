"""What a replay changes about a recorded jury, in words and as the jury that sits in its place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pydantic import ValidationError

from ...agents.orchestrator import NAME
from ...personas.jury import Jury, Seat
from ...personas.options import CHECKED, Debaters
from ...personas.persona import load_persona
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ..protocols import protocol
from ..protocols.debate import advocates


class SeatChange(NamedTuple):
    """Another persona, or another model, in a seat."""

    seat: str
    what: Literal["persona", "model"]
    name: str

    @classmethod
    def parse(cls, text: str) -> SeatChange:
        """The change that `SEAT=persona:NAME` or `SEAT=model:MODEL` asks for."""
        seat, equals, rest = text.partition("=")
        what, colon, name = rest.partition(":")
        if not (equals and colon and name) or what not in ("persona", "model"):
            raise VenireError(
                f"{text!r} is not a change of a seat", remedy="write SEAT=persona:NAME or SEAT=model:MODEL"
            )
        return cls(seat, "persona" if what == "persona" else "model", name)


@dataclass(frozen=True, slots=True)
class Change:
    """What is different in a replay. Nothing, unless it is said."""

    without: tuple[str, ...] = ()
    """Seats that are struck: they have no vote, and nobody reads them."""
    leaving: tuple[str, ...] = ()
    """Seats that leave when `from_round` begins: what they voted stands and is read."""
    seats: tuple[SeatChange, ...] = ()
    limits: Mapping[str, float | None] = field(default_factory=dict)
    orchestrator: str | None = None
    """The model that presides."""
    base_url: str | None = None
    """The address of the models named here."""
    advocates: tuple[str, str] | None = None
    """Of a debate: who argues high, and who low."""
    from_round: int = 1
    """Keep everything before this round as recorded."""

    def __str__(self) -> str:
        """The change in a few words."""
        parts = [f"without {name}" for name in self.without]
        parts += [f"{name} leaving" for name in self.leaving]
        parts += [f"{each.seat} with {each.what} {each.name}" for each in self.seats]
        parts += [
            f"{name} {'none' if value is None else format(value, 'g')}" for name, value in self.limits.items()
        ]
        if self.orchestrator is not None:
            parts.append(f"orchestrator {self.orchestrator}")
        if self.advocates is not None:
            parts.append("advocates {} and {}".format(*self.advocates))
        if self.from_round > 1 and parts:
            parts.append(f"from round {self.from_round}")
        return ", ".join(parts) or "nothing changed"

    @property
    def options(self) -> str:
        """The options of `venire replay` that ask for it."""
        parts = [f"--without {name}" for name in self.without]
        parts += [f"--leaving {name}" for name in self.leaving]
        parts += [f"--seat {each.seat}={each.what}:{each.name}" for each in self.seats]
        parts += [
            f"--limits {name}={'none' if v is None else format(v, 'g')}" for name, v in self.limits.items()
        ]
        parts += [f"--orchestrator {self.orchestrator}"] if self.orchestrator is not None else []
        parts += ["--advocates {} {}".format(*self.advocates)] if self.advocates is not None else []
        parts += [f"--from-round {self.from_round}"] if self.from_round > 1 else []
        return " ".join(parts)

    @property
    def changed_seats(self) -> frozenset[str]:
        """Those that answer as somebody else, the orchestrator's included."""
        presiding = [NAME] if self.orchestrator is not None else []
        return frozenset([*(each.seat for each in self.seats), *presiding])

    def arm_name(self, arm: str) -> str:
        """The name of a parent's arm as it sits in the replay: its own where nothing is changed."""
        if self == Change():
            return arm
        return f"{arm}-{re.sub(r'[^a-z0-9_]+', '-', str(self).lower()).strip('-')}"

    def concerns(self, jury: Jury) -> bool:
        """Whether every seat that is named sits on the jury, and somebody presides where another is to."""
        named = {*self.without, *self.leaving, *(each.seat for each in self.seats), *(self.advocates or ())}
        presided = self.orchestrator is None or protocol(jury.protocol).orchestrator
        return named <= set(jury.seat_names) and presided


def parse_limits(written: Sequence[str]) -> dict[str, float | None]:
    """The limits in `max_rounds=1`, several of them in one text with commas between; `none` takes a limit away."""
    limits: dict[str, float | None] = {}
    for part in (part for text in written for part in text.split(",")):
        name, _, value = part.strip().partition("=")
        try:
            number = None if value == "none" else float(value)
        except ValueError:
            raise VenireError(
                f"{part!r} is not a limit", remedy="write a limit as NAME=VALUE, for example max_rounds=1"
            ) from None
        limits[name] = int(number) if number is not None and number.is_integer() else number
    return limits


def changed_jury(jury: Jury, change: Change) -> Jury:
    """The jury as it sits in the replay, made anew and checked as one that a user wrote.

    Seats keep the repeat numbers under which they answered, so that seats alike are not taken for each other.

    Raises:
        VenireError: No such jury can sit, or it would be another deliberation and not the same one changed.
    """
    _refuse_impossible(jury, change)
    if change == Change():
        return jury
    fields = jury.model_dump(mode="json")
    fields["name"] = change.arm_name(jury.name)
    fields["seats"] = [
        _changed_seat(seat, change).model_dump(mode="json")
        for seat in jury.seats
        if seat.name not in change.without
    ]
    fields["weights"] = {name: weight for name, weight in jury.weights.items() if name not in change.without}
    fields["limits"] = {**fields["limits"], **change.limits}
    if change.orchestrator is not None:
        presiding = {
            "model": change.orchestrator,
            "base_url": _address(change.orchestrator, jury.orchestrator.base_url, change),
        }
        fields["orchestrator"] = {**fields["orchestrator"], **presiding}
    if jury.protocol == "debate":
        high, low = change.advocates or _by_side(jury)
        fields["debate"] = Debaters(high=high, low=low).model_dump()
    try:
        return _with_pinned_repeats(jury, Jury.model_validate(fields, context=CHECKED), change)
    except ValidationError as error:
        problem, _, remedy = error.errors()[0]["msg"].removeprefix("Value error, ").partition("\n")
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise VenireError(
            f"{jury.name}, {change}: {where}: {problem}" if where else f"{jury.name}, {change}: {problem}",
            remedy=remedy or "choose another change",
        ) from None


def _refuse_impossible(jury: Jury, change: Change) -> None:
    gone = {*change.without, *change.leaving}
    for name in {*gone, *(each.seat for each in change.seats), *(change.advocates or ())}:
        if name not in jury.seat_names:
            raise VenireError(
                f"the jury {jury.name} has no seat {name!r}", remedy=nearest(name, jury.seat_names)
            )
    if not set(jury.seat_names) - gone:
        raise VenireError(f"{jury.name}, {change}: no juror would be left", remedy="keep at least one juror")
    if change.leaving and change.from_round < 2:
        raise VenireError(
            f"{change.leaving[0]} cannot leave the jury before its first vote",
            remedy="give the round in which it leaves (--from-round 2), or remove it from the start with --without",
        )
    if change.from_round > 1 and change.limits:
        raise VenireError(
            "a limit applies to the whole deliberation, so it cannot be changed from a later round on",
            remedy="leave out --from-round, or change something else",
        )
    if change.from_round > 1 and jury.protocol.startswith("magentic"):
        raise VenireError(
            f"the orchestrator of {jury.protocol} keeps one long conversation, so a deliberation can only be replayed as a whole",
            remedy="leave out --from-round",
        )
    if change.advocates is not None and jury.protocol != "debate":
        raise VenireError(
            f"--advocates is for debates, but the protocol of {jury.name} is {jury.protocol}",
            remedy="leave out --advocates",
        )
    lost = gone & set(_by_side(jury)) if jury.protocol == "debate" else set()
    if lost and (change.advocates is None or gone & set(change.advocates) or change.from_round > 1):
        raise VenireError(
            f"{', '.join(sorted(lost))} argues in the debate and cannot be removed without a replacement",
            remedy="name two remaining jurors who argue from the start: --advocates HIGH LOW",
        )


def _by_side(jury: Jury) -> tuple[str, str]:
    seats = {side: name for name, side in advocates(jury).items()}
    return seats["high"], seats["low"]


def _changed_seat(seat: Seat, change: Change) -> Seat:
    for each in change.seats:
        if each.seat != seat.name:
            continue
        if each.what == "persona":
            seat = seat.model_copy(update={"persona": load_persona(each.name)})
        else:
            address = _address(each.name, seat.base_url, change)
            seat = seat.model_copy(update={"model": each.name, "base_url": address})
    return seat


def _address(model: str, before: str | None, change: Change) -> str | None:
    """Where a newly named model is: at the address given, else a server's model where the one before it was."""
    if change.base_url is not None:
        return change.base_url
    return before if model.startswith("server/") else None


def _with_pinned_repeats(before: Jury, after: Jury, change: Change) -> Jury:
    """The jury with every seat at the repeat numbers it had; a changed seat at ones that no seat like it has."""
    starts = dict(zip(before.seat_names, before.first_repeats, strict=True))
    changed = {each.seat for each in change.seats}
    taken: dict[str, set[int]] = {}
    for seat in after.seats:
        if seat.name not in changed:
            taken.setdefault(_kind(seat), set()).add(starts[seat.name])
    step = max(after.repeats, after.escalation.repeats)
    for seat in after.seats:
        if seat.name in changed:
            used = taken.setdefault(_kind(seat), set())
            starts[seat.name] = max(used) + step if used else 0
            used.add(starts[seat.name])
    if [starts[name] for name in after.seat_names] == list(after.first_repeats):
        return after
    pinned = [seat.model_copy(update={"first_repeat": starts[seat.name]}) for seat in after.seats]
    return Jury.model_validate(
        {**after.model_dump(mode="json"), "seats": [seat.model_dump(mode="json") for seat in pinned]},
        context=CHECKED,
    )


def _kind(seat: Seat) -> str:
    return seat.model_dump_json(exclude={"name", "first_repeat", "order"})
