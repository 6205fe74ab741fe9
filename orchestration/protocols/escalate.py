"""`escalate`: one judge; the panel where it is unsure; deliberation where the panel is split. By stated rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...agents.prompting import Brief
from ...personas.jury import Jury
from ...personas.options import Escalation
from ...rubrics.rubric import Rubric
from ..bench import Bench
from ..stopping import cut_short, disputed_attributes, hard_limits, settled, spread, values_of
from ..transcript import Standing, Stop, Transcript
from . import Protocol
from .orchestrated import OrchestratedOptions, deliberation

_LEVELS = ("low", "medium", "high")


class EscalateOptions(OrchestratedOptions):
    """When a case goes up, and how it is deliberated there."""

    escalation: Escalation = Escalation()
    """When one judge is not enough."""


async def run(brief: Brief, bench: Bench) -> Transcript:
    """Each attribute goes up only as far as it has to; what was sure below stays decided there."""
    repeats = _rules(bench.jury).repeats
    transcript = await bench.repeats(bench.new_transcript(brief), brief, repeats, confidence=True)
    unsure = unsure_of(transcript, brief.rubric, bench.jury)
    transcript = bench.clerks_note(
        transcript, "escalation", _escalation_note("the panel", unsure, brief.rubric.names)
    )
    split: Mapping[str, str] = {}
    if unsure and not bench.meter.reached:
        transcript = await _panel(transcript, brief, bench, tuple(unsure))
        split = split_on(transcript, tuple(unsure), bench.jury)
        transcript = bench.clerks_note(
            transcript, "escalation", _escalation_note("deliberation", split, tuple(unsure))
        )
    if split and not bench.meter.reached:
        transcript = await deliberation(transcript, brief, bench, tuple(split))
    else:
        transcript = transcript.with_stop(
            hard_limits(bench.meter)(transcript) or _without_deliberation(transcript, bench)
        )
    return bench.clerks_note(transcript, "savings", str(savings(transcript, brief.rubric, bench.jury)))


def _rules(jury: Jury) -> Escalation:
    return jury.options_as(EscalateOptions).escalation


def _without_deliberation(transcript: Transcript, bench: Bench) -> Stop:
    repeats = sum(1 for entry in transcript.heard if entry.purpose == "repeat")
    if cut_short(transcript) or repeats < _rules(bench.jury).repeats:
        return bench.stop_at("max_turns")
    return Stop(reason="complete")


async def _panel(transcript: Transcript, brief: Brief, bench: Bench, asked: Sequence[str]) -> Transcript:
    """The blind ballots of all seats. The judge's own first ballot was blind, and serves if it has one."""
    judge = next(iter(bench.jurors))
    standing = transcript.standing()
    answered = all(judge in standing.get(name, {}) for name in asked)
    seats = [name for name in bench.jurors if not (answered and name == judge)]
    return await bench.blind_round(transcript, brief, asked=asked, seats=seats)


def unsure_of(transcript: Transcript, rubric: Rubric, jury: Jury) -> dict[str, str]:
    """Each attribute that the judge is not sure of, with the rule that sends it to the panel."""
    rules, standing = _rules(jury), transcript.standing()
    found = {name: _doubt(standing.get(name, {}), jury) for name in rubric.names}
    for name, doubt in found.items():
        if not doubt and len(standing[name]) < rules.repeats:
            found[name] = f"the single judge gave {len(standing[name])} of {rules.repeats} answers"
    return {name: doubt for name, doubt in found.items() if doubt}


def _doubt(held: Mapping[str, Standing], jury: Jury) -> str:
    rules, values = _rules(jury), values_of(held)
    if len(values) < jury.quorum or not values:
        return f"too few jurors voted: {len(values)} of the {jury.quorum} that are needed"
    if not settled(values, rules.repeat_range):
        return f"the single judge's answers ({', '.join(map(str, values))}) differ by more than the repeat_range of {rules.repeat_range:g}"
    said = [h.vote.confidence for h in held.values() if h.vote.confidence]
    lowest = min(said, key=_LEVELS.index, default="low")
    if _LEVELS.index(lowest) < _LEVELS.index(rules.confidence):
        return f"the single judge's confidence is {lowest}, and {rules.confidence} is required"
    return ""


def split_on(transcript: Transcript, asked: Sequence[str], jury: Jury) -> dict[str, str]:
    """Each attribute that the panel is split on, with the rule that sends it to deliberation."""
    standing, most = transcript.standing(), _rules(jury).panel_spread
    found: dict[str, str] = {}
    for name in asked:
        values = values_of(standing.get(name, {}))
        if len(values) >= max(2, jury.quorum) and not settled(values, most):
            apart = spread(values)
            found[name] = (
                f"the panel's votes differ: {', '.join(map(str, values))}"
                if apart is None
                else f"the panel's votes differ by {apart:g}, which is more than the panel_spread of {most:g}"
            )
    return found


@dataclass(frozen=True, slots=True)
class Savings:
    """The calls made, against the fewest that `orchestrated` from the start could have made on the same case."""

    made: int
    straight_at_least: int

    def __str__(self) -> str:
        saved = max(0, self.straight_at_least - self.made)
        least = self.straight_at_least
        return (
            f"{self.made} calls were made; the protocol orchestrated would have made at least {least}, which saved at least {saved}"
            if saved
            else f"{self.made} calls were made; the protocol orchestrated would have made at least {least}, so no saving is shown"
        )


def savings(transcript: Transcript, rubric: Rubric, jury: Jury) -> Savings:
    """What not going straight to `orchestrated` saved, as a lower bound.

    From the start it asks every seat once: N calls. Where the panel sat, its votes are known, so that any dispute
    among its first votes adds a ledger and an answer, or where no second round is allowed a decision.
    """
    first = transcript.model_copy(
        update={"entries": tuple(e for e in transcript.heard if e.round == 1 and e.purpose != "challenge")}
    )
    needed = len(jury.seats)
    if any(entry.purpose == "blind" for entry in first.heard) and disputed_attributes(
        first, rubric, tolerance=jury.tolerance, quorum=jury.quorum
    ):
        needed += 1 if jury.limits.max_rounds == 1 else 2
    return Savings(transcript.cost.calls, needed)


def _escalation_note(where: str, sent: Mapping[str, str], asked: Sequence[str]) -> str:
    kept = [name for name in asked if name not in sent]
    lines = [f"{name} goes to {where}: {rule}" for name, rule in sent.items()]
    if kept:
        lines.append(f"decided without {where}: {', '.join(kept)}")
    return "\n".join(lines)


escalate = Protocol(
    run=run,
    options=EscalateOptions,
    count="escalated",
    orchestrator=True,
    replans=True,
    summary="one judge decides; if it is unsure, a panel votes; if the panel is split, the jury deliberates",
    speaks="The first juror votes k times; if it is unsure, every juror votes; if they are split, they speak as in the protocol orchestrated.",
    sees="The judge and the panel see only the case; in the deliberation, jurors see what they see in the protocol orchestrated.",
    ends="The deliberation is complete when nothing is unsure or split; otherwise it ends as the protocol orchestrated does.",
    calls="k calls if the judge is sure; k + N - 1 calls if the panel of N jurors is not split; otherwise at most k + RN + R - 1 calls in R rounds",
    steps="1 step, 2 steps, or at most 2R + 1 steps for R rounds",
    drawing="""
1  the first seat    votes k times, at the same time, and says how sure it is
   code              same answers, sure enough? decided; the rest goes up
2  the other seats   vote, blind, at the same time, on what went up
   code              within panel_spread? decided; the rest goes up
3  as orchestrated   from its second round on, on what went up
   code              the rule for each step up, and the calls saved, go on record
""",
    most=lambda n, r: (2 + r * n + r - 1, 2 * r + 1),
)
