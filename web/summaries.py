"""What the index keeps of one deliberation, worked out from the record alone: plain values, which any process can make."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

from ..orchestration.reading.analysis import Census, Flag, InstantAgreement, flags, instant_agreements
from ..orchestration.reading.analysis.census import Key
from ..orchestration.reading.scores import as_json, score_sums
from ..orchestration.record import Arm, FinishedDeliberation, Store
from ..orchestration.transcript import Abstained, Cast, Decided, Ledger
from ..orchestration.verdict import Verdict
from ..rubrics.case import Case
from ..rubrics.scale import Value
from .deliberation_reader import Recounter

DERIVED = "derived"
"""The method of a composite or a reversed score."""
SCORE, CAUSE = "score", "cause"
"""Topics of sums: scores by system and attribute, and why attributes are hung."""
_MOST_WORDS = 20_000
"""Characters of a deliberation's reasons that can be searched."""


class ScoreRow(NamedTuple):
    """One attribute or derived score."""

    attribute: str
    status: str
    value: str | None
    """As JSON."""
    method: str
    number: float | None
    """What a column is sorted by; None for words."""


class DeliberationSummary(NamedTuple):
    """One deliberation as the index keeps it."""

    number: int
    arm: int
    arm_name: str
    case: str
    title: str
    about: str
    stop: str
    rounds: int
    turns: int
    tokens: int
    usd: float | None
    seconds: float
    spread: float | None
    hung: int
    group: str
    system: str
    cause: str
    reasons: str
    scores: tuple[ScoreRow, ...]
    reached: dict[str, Value]
    flags: tuple[Flag, ...]
    """Those that the deliberation has by itself; what another arm makes of the case may add to them."""
    agreements: tuple[InstantAgreement, ...]
    sums: dict[Key, tuple[int, float]]
    """What it adds to its arm's sums."""


class Batch(NamedTuple):
    """The summaries of the deliberations after one number up to another."""

    after: int
    read_to: int
    summaries: tuple[DeliberationSummary, ...]


class Summariser:
    """Reads deliberations of a run and summarises them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recounter = Recounter(store)

    def batch(self, *, after: int, most: int) -> Batch:
        """The next `most` deliberations finished after number `after`, but for those of arms that a newer one replaced."""
        fresh = self._store.finished_deliberations(after=after, most=most)
        return Batch(after, fresh[-1].number if fresh else after, self._summaries(fresh))

    def batch_between(self, after: int, last: int) -> Batch:
        """The deliberations whose numbers are above `after` and not above `last`."""
        fresh = self._store.finished_deliberations(after=after, most=last - after, last=last)
        return Batch(after, last, self._summaries(fresh))

    def _summaries(self, fresh: list[FinishedDeliberation]) -> tuple[DeliberationSummary, ...]:
        arms = {arm.id: arm for arm in self._store.arms()} if fresh else {}
        return tuple(self._summary(arms[each.arm], each) for each in fresh if each.arm in arms)

    def _summary(self, arm: Arm, finished: FinishedDeliberation) -> DeliberationSummary:
        verdict = self._recounter.verdict(arm, finished.transcript)
        return deliberation_summary(finished.number, arm, verdict, self._store.case(finished.case))


def deliberation_summary(number: int, arm: Arm, verdict: Verdict, case: Case | None) -> DeliberationSummary:
    """The summary of deliberation `number`; redacted runs have no case."""
    transcript, cost = verdict.transcript, verdict.transcript.cost
    agreements = instant_agreements(transcript, arm.rubric)
    found = flags(verdict, arm.rubric, agreements)
    outcomes = verdict.outcomes.values()
    spreads = [o.spread for o in outcomes if o.spread is not None]
    hung = [o.why for o in outcomes if o.status == "hung"]
    about = [case.group, case.system, case.question] if case else []
    system = (case.system if case else None) or ""
    return DeliberationSummary(
        number=number,
        arm=arm.id,
        arm_name=arm.name,
        case=verdict.case,
        title=" ".join(case.output[:400].split())[:160] if case else "",
        about=" ".join(part[:80] for part in about if part),
        stop=verdict.stop.reason,
        rounds=transcript.rounds,
        turns=transcript.turns,
        tokens=cost.tokens,
        usd=cost.usd,
        seconds=cost.seconds,
        spread=max(spreads, default=None),
        hung=len(hung),
        group=(case.group if case else None) or "",
        system=system,
        cause=hung[0][:400] if hung else "",
        reasons=_reasons(verdict),
        scores=_scores(verdict),
        reached={name: o.value for name, o in verdict.outcomes.items() if o.value is not None},
        flags=found,
        agreements=agreements,
        sums=_sums(verdict, arm, found, system, hung),
    )


def _scores(verdict: Verdict) -> tuple[ScoreRow, ...]:
    given = (
        ScoreRow(name, o.status, None if o.value is None else as_json(o.value), o.method, _number(o.value))
        for name, o in verdict.outcomes.items()
    )
    derived = (
        ScoreRow(name, "reached", as_json(value), DERIVED, value) for name, value in verdict.derived.items()
    )
    return (*given, *derived)


def _number(value: Value | None) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)


def _reasons(verdict: Verdict) -> str:
    """Every reason that was given, to be searched by word: jurors', the orchestrator's questions and decisions."""
    found: list[str] = []
    for entry in verdict.transcript.entries:
        match entry:
            case Cast():
                found += [vote.rationale for vote in entry.ballot.votes]
            case Ledger():
                found += [f"{dispute.dispute} {dispute.question}" for dispute in entry.disputes]
            case Decided():
                found += [finding.rationale for finding in entry.findings]
            case Abstained():
                found.append(entry.abstention.detail)
            case _:
                continue
    return "\n".join(found)[:_MOST_WORDS]


def _sums(
    verdict: Verdict, arm: Arm, found: tuple[Flag, ...], system: str, hung: list[str]
) -> dict[Key, tuple[int, float]]:
    census = Census()
    census.add(verdict, arm.rubric, arm.jury, found)
    sums = census.sums
    for attribute, what, times, total in score_sums(verdict):
        add_sum(sums, (SCORE, _about(system, attribute), what), times, total)
    for cause in set(hung):
        add_sum(sums, (CAUSE, cause[:200], ""), 1, 0.0)
    return sums


@lru_cache(maxsize=4096)
def _about(system: str, attribute: str) -> str:
    """What a sum of scores is about, as JSON."""
    return json.dumps([system, attribute])


def add_sum(sums: dict[Key, tuple[int, float]], key: Key, times: int, total: float) -> None:
    """Add to one of the sums."""
    before = sums.get(key, (0, 0.0))
    sums[key] = (before[0] + times, before[1] + total)
