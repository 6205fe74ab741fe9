"""Whether a rule of acceptance was certified for this jury: its bound says nothing of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..agents.clients.adapters import adapter_hashes
from ..agents.prompting import PROMPTS
from ..personas.acceptance import AcceptanceRule, JudgedBy
from ..personas.jury import Jury
from ..rubrics.errors import VenireError
from ..rubrics.rubric import Rubric
from .protocols import protocol
from .record.manifest import fingerprint

_ADDRESS = {"base_url", "api_key_env", "timeout", "context"}
"""What a seat may change without becoming another juror."""
_ELSEWHERE = {"name", "description", "seats", "orchestrator", "escalate_to", "rule"}


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
            f"the rule was certified for another jury: {', '.join(changed)} changed since",
            remedy="certify this jury on labelled cases of its own: venire certify RUN --human RATINGS --save FILE",
        )
