"""How sure a deliberation looks, and whether its verdict may stand unseen by a certified rule."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..personas.acceptance import AcceptanceRule
from ..rubrics.scale import NOT_APPLICABLE, Scale
from .transcript import Standing, Transcript

WEIGHTS = {"support": 0.4, "closeness": 0.2, "steadiness": 0.2, "evidence": 0.1, "turnout": 0.1}
"""What each signal counts. Fixed beforehand: weights learned on the labels would void what is certified with these."""
PLACES = 9
"""Of a confidence, so that sums in another order are the same."""


def signals(
    transcript: Transcript,
    attribute: str,
    scale: Scale,
    *,
    support: float | None,
    spread: float | None,
    seats: int,
) -> dict[str, float]:
    """What a deliberation shows of how sure a verdict is, each from 0 to 1; what is not known is left out.

    `support`: the share of votes for the value. `closeness`: 1 less the votes' spread as a part of the scale.
    `steadiness`: the share of jurors whose first vote stands. `evidence`: the share of quotes that stand in the case.
    `turnout`: the share of seats that voted.
    """
    standing = transcript.standing().get(attribute, {})
    found: dict[str, float] = {}
    if support is not None:
        found["support"] = support
    if spread is not None and scale.ordered:
        low, high = (float(end) for end in scale.ends)
        found["closeness"] = 1 - spread / (high - low)
    if standing:
        found["steadiness"] = sum(_stands_first(transcript, attribute, held) for held in standing.values())
        found["steadiness"] /= len(standing)
    quotes = [quote.found for held in standing.values() for quote in held.vote.evidence]
    if quotes:
        found["evidence"] = sum(quotes) / len(quotes)
    found["turnout"] = min(1.0, len(standing) / seats)
    return found


def confidence(signals: Mapping[str, float]) -> float:
    """The weighted mean of the signals that are known; 0 without any."""
    weight = math.fsum(WEIGHTS[name] for name in signals)
    total = math.fsum(WEIGHTS[name] * value for name, value in signals.items())
    return round(total / weight, PLACES) if weight else 0.0


def escalation_reason(rule: AcceptanceRule, attribute: str, status: str, sure: float) -> str:
    """Why a verdict goes to people by the rule; nothing where it may stand unseen."""
    if status != "reached":
        return f"{status.replace('_', ' ')}: never accepted unseen"
    known = rule.attributes.get(attribute)
    if known is None or known.threshold is None:
        return "nothing was certified for this attribute"
    if sure < known.threshold:
        return f"confidence {sure:.3f} is below {known.threshold:.3f}"
    return ""


def _stands_first(transcript: Transcript, attribute: str, held: Standing) -> bool:
    """Whether the juror's first vote on the attribute is the one that stands."""
    for entry in transcript.ballots:
        if entry.speaker == held.juror:
            for vote in entry.ballot.votes:
                if vote.attribute == attribute and vote.value != NOT_APPLICABLE:
                    return bool(vote.value == held.vote.value)
    return True
