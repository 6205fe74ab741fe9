"""What the index keeps of deliberations, worked out from the record alone: plain values, which any process can make."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from ..orchestration.reading.analysis import Census, Flag, InstantAgreement, Kind, flags, instant_agreements
from ..orchestration.reading.analysis.census import Key
from ..orchestration.reading.scores import as_json, score_sums
from ..orchestration.record import Arm, FinishedDeliberation, Store
from ..orchestration.transcript import Abstained, Cast, Decided, Ledger
from ..orchestration.verdict import Verdict
from ..rubrics.case import Case
from ..rubrics.scale import Value
from .deliberation_reader import Recounter


class FlagGroup(NamedTuple):
    """All flags of one kind: the weightiest in words, and what can be counted and searched of the others."""

    kind: Kind
    weight: int
    attribute: str
    text: str
    attributes: str
    """Those that any of them is about, each between two spaces."""
    weights: str
    """One digit for each."""


def flag_groups(found: Iterable[Flag]) -> tuple[FlagGroup, ...]:
    """The flags, the weightiest first, as one group a kind."""
    by_kind: dict[Kind, list[Flag]] = {}
    for flag in found:
        by_kind.setdefault(flag.kind, []).append(flag)
    return tuple(
        FlagGroup(
            kind,
            alike[0].weight,
            alike[0].attribute,
            alike[0].text,
            between_spaces(flag.attribute for flag in alike),
            "".join(str(flag.weight) for flag in alike),
        )
        for kind, alike in by_kind.items()
    )


def merge_groups(groups: Iterable[FlagGroup]) -> tuple[FlagGroup, ...]:
    """The same flags with one group a kind; of several groups of a kind, the words of the weightiest."""
    merged: dict[Kind, FlagGroup] = {}
    for group in groups:
        other = merged.get(group.kind)
        if other is not None:
            attributes = between_spaces([*other.attributes.split(), *group.attributes.split()])
            top = max(other, group, key=lambda each: each.weight)
            group = top._replace(attributes=attributes, weights=other.weights + group.weights)
        merged[group.kind] = group
    return tuple(merged.values())


def between_spaces(names: Iterable[str]) -> str:
    """The names, none twice, each between two spaces, so that one of them can be searched for in the text."""
    return " ".join(["", *dict.fromkeys(filter(None, names)), ""])


DERIVED = "derived"
"""The method of a composite or a reversed score."""
SCORE, CAUSE = "score", "cause"
"""Topics of sums: scores by system and attribute, and why attributes are hung."""
_MOST_WORDS = 20_000
"""Characters of a deliberation's reasons that can be searched."""


Sums = dict[Key, tuple[int, float]]


class ScoreRow(NamedTuple):
    """One attribute or derived score."""

    attribute: str
    status: str
    value: str | None
    """As JSON."""
    method: str
    number: float | None
    """What a column is sorted by; None for words."""


class DeliberationRow(NamedTuple):
    """A deliberation's row in the index, as far as its scores tell it."""

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


class ScoredDeliberation(NamedTuple):
    """What the index keeps of a deliberation at first."""

    row: DeliberationRow
    scores: tuple[ScoreRow, ...]


class FlaggedDeliberation(NamedTuple):
    """What it keeps later, which takes a closer look."""

    number: int
    arm: int
    arm_name: str
    case: str
    reasons: str
    flags: tuple[FlagGroup, ...]
    """Those that the deliberation has by itself; what another arm makes of the case may add to them."""
    agreements: tuple[InstantAgreement, ...]


class ScoreBatch(NamedTuple):
    """The scores of the deliberations after one number up to another."""

    after: int
    read_to: int
    summaries: list[ScoredDeliberation]
    sums: dict[int, Sums]
    """What they add to the sums of each arm."""


class FlagBatch(NamedTuple):
    """The flags and reasons of the deliberations after one number up to another."""

    after: int
    read_to: int
    summaries: list[FlaggedDeliberation]
    sums: dict[int, Sums]


class Summariser:
    """Reads deliberations of a run and summarises them; those of arms that a newer one replaced are left out."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recounter = Recounter(store)

    def scores(self, after: int, last: int, most: int) -> ScoreBatch:
        """The scores of the next `most` deliberations with numbers above `after` and not above `last`."""
        fresh = self._store.finished_deliberations(after=after, most=most, last=last)
        batch = ScoreBatch(after, _read_to(fresh, last, most), [], {})
        for finished, arm, verdict in self._verdicts(fresh):
            case = self._store.case(finished.case, finished.fingerprint)
            row = _row(finished.number, arm, verdict, case)
            batch.summaries.append(ScoredDeliberation(row, _scores(verdict)))
            _add_scores(batch.sums.setdefault(arm.id, {}), verdict, _system(case))
        return batch

    def flags(self, after: int, last: int, most: int) -> FlagBatch:
        """The flags and reasons of the same deliberations."""
        fresh = self._store.finished_deliberations(after=after, most=most, last=last)
        batch = FlagBatch(after, _read_to(fresh, last, most), [], {})
        for finished, arm, verdict in self._verdicts(fresh):
            agreements = instant_agreements(verdict.transcript, arm.rubric)
            found = flags(verdict, arm.rubric, agreements)
            batch.summaries.append(
                FlaggedDeliberation(
                    finished.number,
                    arm.id,
                    arm.name,
                    finished.case,
                    _reasons(verdict),
                    flag_groups(found),
                    agreements,
                )
            )
            sums = batch.sums.setdefault(arm.id, {})
            Census(sums).add_movement(verdict, arm.rubric, arm.jury, found)
        return batch

    def _verdicts(
        self, fresh: list[FinishedDeliberation]
    ) -> Iterator[tuple[FinishedDeliberation, Arm, Verdict]]:
        arms = {arm.id: arm for arm in self._store.arms()} if fresh else {}
        for each in fresh:
            if (arm := arms.get(each.arm)) is not None:
                yield each, arm, self._recounter.verdict(arm, each.transcript)


def _read_to(fresh: list[FinishedDeliberation], last: int, most: int) -> int:
    return fresh[-1].number if len(fresh) == most else last


def _row(number: int, arm: Arm, verdict: Verdict, case: Case | None) -> DeliberationRow:
    """The row of deliberation `number`; redacted runs have no case."""
    transcript, cost = verdict.transcript, verdict.transcript.cost
    outcomes = verdict.outcomes.values()
    spreads = [o.spread for o in outcomes if o.spread is not None]
    hung = [o.why for o in outcomes if o.status == "hung"]
    about = [case.group, case.system, case.question] if case else []
    return DeliberationRow(
        number=number,
        arm=arm.id,
        arm_name=arm.name,
        case=verdict.case,
        title=" ".join(((case.question if case.output_b is not None else None) or case.output)[:400].split())[
            :160
        ]
        if case
        else "",
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
        system=_system(case),
        cause=hung[0][:400] if hung else "",
    )


def _system(case: Case | None) -> str:
    return (case.system if case else None) or ""


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


def _add_scores(sums: Sums, verdict: Verdict, system: str) -> None:
    """Add one deliberation's scores, end and cost to its arm's sums."""
    Census(sums).add_outcomes(verdict)
    for attribute, what, times, total in score_sums(verdict):
        add_sum(sums, (SCORE, _about(system, attribute), what), times, total)
    for cause in {outcome.why for outcome in verdict.outcomes.values() if outcome.status == "hung"}:
        add_sum(sums, (CAUSE, cause if len(cause) <= 200 else f"{cause[:199]}…", ""), 1, 0.0)


@lru_cache(maxsize=4096)
def _about(system: str, attribute: str) -> str:
    """What a sum of scores is about, as JSON."""
    return json.dumps([system, attribute])


def add_sum(sums: Sums, key: Key, times: int, total: float) -> None:
    """Add to one of the sums."""
    before = sums.get(key, (0, 0.0))
    sums[key] = (before[0] + times, before[1] + total)
