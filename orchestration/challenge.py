"""The challenge: one juror argues against a score at the end of the scale that everyone gave at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..agents.brief import Brief
from ..agents.juror import OrchestratorQuestion
from ..rubrics.scale import Value
from .bench import Bench
from .transcript import Cast, Entry, Standing, Transcript, entry_of


@dataclass(frozen=True, slots=True)
class Effect:
    """What the challenge of one attribute changed."""

    attribute: str
    challenger: str
    agreed: Value
    answered: Value | None
    """The challenger's own score after the challenge; None if it abstained."""
    moved: Mapping[str, Value]
    """Who holds another score than the agreed one at the end of that round, and which."""


def challengers(
    transcript: Transcript, challenged: Sequence[str], bench: Bench
) -> dict[str, tuple[str, ...]]:
    """Who argues against each agreement: the juror whose other votes lie furthest from the agreed end.

    Among equals the last seat, so that the choice does not depend on chance. No more than have a turn left.
    """
    standing = transcript.standing()

    def harshness(name: str, attribute: str, agreed: float) -> float:
        others = [
            float(held[name].vote.value)
            for other, held in standing.items()
            if other != attribute and name in held and not isinstance(held[name].vote.value, str)
        ]
        return abs(sum(others) / len(others) - agreed) if others else 0.0

    chosen: dict[str, list[str]] = defaultdict(list)
    order = list(bench.jurors)
    for attribute in challenged:
        votes = standing[attribute]
        agreed = float(next(iter(votes.values())).vote.value)
        name = max(votes, key=lambda juror: (harshness(juror, attribute, agreed), order.index(juror)))
        chosen[name].append(attribute)
    allowed = list(chosen.items())[: bench.turns_left(transcript)]
    return {name: tuple(attributes) for name, attributes in allowed}


def challenge_turns(
    transcript: Transcript, brief: Brief, bench: Bench, chosen: Mapping[str, tuple[str, ...]], number: int
) -> list[Coroutine[Any, Any, Entry]]:
    """The challengers' turns, to be taken at the same time."""
    standing = transcript.standing()

    async def challenge(name: str, attributes: tuple[str, ...]) -> Entry:
        own = {a: standing[a][name].vote for a in attributes}
        saw = tuple(dict.fromkeys(held.entry for a in attributes for held in standing[a].values()))
        turn = await bench.jurors[name].challenge(brief, attributes, round=number, own=own, saw=saw)
        return entry_of(turn, "challenge")

    return [challenge(name, attributes) for name, attributes in chosen.items()]


def challenge_questions(
    standing: Mapping[str, Mapping[str, Standing]],
    chosen: Mapping[str, tuple[str, ...]],
    jurors: Sequence[str],
) -> dict[str, list[OrchestratorQuestion]]:
    """What everyone else is asked after the challenge."""
    return {
        name: [
            OrchestratorQuestion(
                a, f"{challenger} was asked to argue against the score everyone gave. Does it hold?"
            )
            for challenger, attributes in chosen.items()
            if challenger != name
            for a in attributes
            if name in standing.get(a, {})
        ]
        for name in jurors
    }


def challenge_effect(transcript: Transcript) -> tuple[Effect, ...]:
    """What each challenge on record changed, by the end of the round it was made in."""
    effects: list[Effect] = []
    for entry in transcript.heard:
        if entry.purpose != "challenge":
            continue
        before = transcript.standing(before_round=entry.round)
        after = transcript.standing(before_round=entry.round + 1)
        spoken = entry.ballot.votes if isinstance(entry, Cast) else ()
        asked = entry.ballot.asked if isinstance(entry, Cast) else entry.abstention.asked
        for attribute in asked:
            agreed = next(iter(before[attribute].values())).vote.value
            effects.append(
                Effect(
                    attribute=attribute,
                    challenger=entry.speaker,
                    agreed=agreed,
                    answered=next((vote.value for vote in spoken if vote.attribute == attribute), None),
                    moved={n: h.vote.value for n, h in after[attribute].items() if h.vote.value != agreed},
                )
            )
    return tuple(effects)


def effects_text(effects: Sequence[Effect]) -> str:
    """The effects as text, one line each."""
    lines: list[str] = []
    for effect in effects:
        moved = ", ".join(f"{name} to {value}" for name, value in effect.moved.items())
        lines.append(
            f"{effect.attribute}: everyone gave {effect.agreed}; {effect.challenger} argued against it; "
            + (f"moved: {moved}" if moved else "nobody moved")
        )
    return "\n".join(lines)
