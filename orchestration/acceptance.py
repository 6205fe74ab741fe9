"""How sure a deliberation looks, whether its verdict may stand unseen by a certified rule, and for which jury that rule was certified."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..agents.gateway import adapter_hashes
from ..agents.prompting import PROMPTS
from ..personas.jury import Jury
from ..personas.options import AcceptanceRule, JudgedBy
from ..rubrics.errors import VenireError
from ..rubrics.rubric import Rubric
from ..rubrics.scale import NOT_APPLICABLE, Scale
from .protocols import protocol
from .record.manifest import fingerprint
from .transcript import Standing, Transcript

WEIGHTS = {"support": 0.4, "closeness": 0.2, "steadiness": 0.2, "evidence": 0.1, "turnout": 0.1}
"""What each signal counts. Fixed beforehand: weights learned on the labels would void what is certified with these."""
PLACES = 9
"""Of a confidence, so that sums in another order are the same."""
_ADDRESS = {"base_url", "api_key_env", "timeout", "context"}
"""What a seat may change without becoming another juror."""
_ELSEWHERE = {"name", "description", "seats", "orchestrator", "escalate_to", "rule"}


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


def _stands_first(transcript: Transcript, attribute: str, held: Standing) -> bool:
    """Whether the juror's first vote on the attribute is the one that stands."""
    for entry in transcript.ballots:
        if entry.speaker == held.juror:
            for vote in entry.ballot.votes:
                if vote.attribute == attribute and vote.value != NOT_APPLICABLE:
                    return bool(vote.value == held.vote.value)
    return True


def confidence(signals: Mapping[str, float]) -> float:
    """The weighted mean of the signals that are known; 0 without any."""
    weight = math.fsum(WEIGHTS[name] for name in signals)
    total = math.fsum(WEIGHTS[name] * value for name, value in signals.items())
    return round(total / weight, PLACES) if weight else 0.0


def escalation_reason(rule: AcceptanceRule, attribute: str, status: str, sure: float) -> str:
    """Why a verdict goes to people by the rule; nothing where it may stand unseen."""
    if status != "reached":
        return f"{status.replace('_', ' ')}: always goes to people"
    known = rule.attributes.get(attribute)
    if known is None or known.threshold is None:
        return "on this attribute, no verdict could be guaranteed at the error rate that was asked for"
    if sure < known.threshold:
        return f"confidence {sure:.3f} is below {known.threshold:.3f}"
    return ""


def judged_by(jury: Jury, rubric: Rubric, manifest: Mapping[str, Any] | None = None) -> JudgedBy:
    """Hashes of everything that decides a jury's answers; prompts and adapters as in the manifest, where it sat before."""
    adapters = (
        adapter_hashes(jury, presided=protocol(jury.protocol).orchestrator)
        if manifest is None
        else manifest.get("adapters", {})
    )
    return JudgedBy(
        rubric=fingerprint(rubric.model_dump(mode="json")),
        seats={
            seat.name: fingerprint(seat.model_dump(mode="json", exclude={"name", *_ADDRESS}))
            for seat in jury.seats
        },
        orchestrator=fingerprint(jury.orchestrator.model_dump(mode="json", exclude=_ADDRESS)),
        rest=fingerprint(jury.model_dump(mode="json", exclude=_ELSEWHERE)),
        prompts=PROMPTS.hash if manifest is None else str(manifest.get("prompts", "")),
        adapters=fingerprint(dict(adapters)) if adapters else "",
    )


def refuse_other_jury(rule: AcceptanceRule, now: JudgedBy, *, presided: bool) -> None:
    """An error where the rule was certified for another jury or rubric; who presides matters only where somebody does."""
    then = rule.judged_by
    seats = sorted(then.seats.keys() | now.seats.keys())
    changed = [f"seat {name}" for name in seats if then.seats.get(name) != now.seats.get(name)]
    for part, name in (
        ("rubric", "the rubric"),
        ("orchestrator", "the orchestrator"),
        ("rest", "the protocol, its options or the counting rule"),
        ("prompts", "the prompts"),
        ("adapters", "an adapter"),
    ):
        if getattr(then, part) != getattr(now, part) and (part != "orchestrator" or presided):
            changed.append(name)
    if changed:
        raise VenireError(
            f"the acceptance rule was certified for another jury: {', '.join(changed)} changed since then",
            remedy="certify this jury with labelled cases: venire certify RUN --human RATINGS --save FILE",
        )
