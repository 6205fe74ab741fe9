"""A run as tables: what each arm and juror gave each attribute of each case, what that cost, why it stopped, its flags."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar, NamedTuple, Protocol

import pandas as pd

from ...agents.cost import CostUnit
from ...orchestration.deliberate import blind_count, blind_rule, deliberates
from ...orchestration.reading.analysis import (
    Flag,
    InstantAgreement,
    contradictions,
    flags,
    instant_agreements,
)
from ...orchestration.reading.export import verdicts
from ...orchestration.reading.show import judges_words, versions_of
from ...orchestration.record import Arm, Store
from ...orchestration.verdict import Verdict
from ...rubrics.ballot import Abstention
from ...rubrics.scale import NOT_APPLICABLE, Value

VALUES = ("case", "rater", "attribute", "value")
_COSTS = ("cases", "calls", "tokens", "usd", "seconds", "abstentions", "hung", "not_applicable")
KINDS = (
    *("hung", "overruled", "unsupported-evidence", "contradicted", "premature-consensus"),
    *("instruction", "abstention"),
)
"""The flags that bear on whether a person should look."""
COLUMNS = ["arm", "case", "kind", "attribute", "text"]


class Collector(Protocol):
    """Takes from each deliberation what one table needs of it, and keeps no transcript."""

    def add(self, arm: Arm, verdict: Verdict) -> None: ...

    def table(self) -> pd.DataFrame: ...


def arm_tables(
    store: Store,
    *collectors: Collector,
    totals: Sequence[Collector] = (),
    cases: Collection[str] | None = None,
) -> list[pd.DataFrame]:
    """The table of each collector, then of each of `totals`. Every deliberation is read once, and counted once, for all of them.

    `cases` are the only ones that go into tables; `totals`, which keep sums, are always of all. Preferences are between the
    outputs of a pair as the cases' file names them: below 0 for `output_a`.
    """
    for arm, verdict in verdicts(store, written=True):
        wanted = collectors if cases is None or verdict.case in cases else ()
        for collector in (*wanted, *totals):
            collector.add(arm, verdict)
    return [collector.table() for collector in (*collectors, *totals)]


class Rows:
    """The rows of a table, held by column, equal words once: a run has millions of them."""

    columns: ClassVar[Sequence[str]]

    def __init__(self) -> None:
        self._columns: dict[str, list[object]] = {name: [] for name in self.columns}
        self._words: dict[str, str] = {}

    def append(self, *row: object) -> None:
        for column, cell in zip(self._columns.values(), row, strict=True):
            column.append(self._words.setdefault(cell, cell) if isinstance(cell, str) else cell)

    def table(self) -> pd.DataFrame:
        return pd.DataFrame(self._columns)


class ArmRatings(Rows):
    """One row for each outcome that was reached, the arm's name as the rater. What is hung has no row."""

    columns = VALUES

    def add(self, arm: Arm, verdict: Verdict) -> None:
        for name, outcome in verdict.outcomes.items():
            if outcome.status == "reached":
                self.append(verdict.case, arm.name, name, outcome.value)


class ArmAbstentions(Rows):
    """One row for each outcome that is hung, the arm's name as the rater: `case`, `rater`, `attribute`, `why`, and whether a
    model could not be reached (`unreached`)."""

    columns = (*VALUES[:3], "why", "unreached")

    def add(self, arm: Arm, verdict: Verdict) -> None:
        unreached = verdict.transcript.unreached
        for name, outcome in verdict.outcomes.items():
            if outcome.status == "hung":
                self.append(verdict.case, arm.name, name, outcome.why, unreached)


class JurorRatings(Rows):
    """One row for each vote that stands when an arm is counted: a judge's repeats are jurors of their own.

    Columns: `arm`, `case`, `juror`, `seat` (whose vote or repeat it is), `model`, `attribute`, `value`.
    """

    columns = ("arm", "case", "juror", "seat", "model", "attribute", "value")

    def add(self, arm: Arm, verdict: Verdict) -> None:
        models = {seat.name: seat.model or "" for seat in arm.jury.seats}
        alternates = {entry.id: entry.spent.by for entry in verdict.transcript.ballots if entry.spent.by}
        for attribute, votes in verdict.transcript.standing().items():
            for juror, ballot in votes.items():
                if ballot.vote.value == NOT_APPLICABLE:
                    continue
                seat = juror if juror in models else juror.rsplit("#", 1)[0]
                model = alternates.get(ballot.entry) or models.get(seat, "")
                voter = (arm.name, verdict.case, juror, seat, model)
                self.append(*voter, attribute, ballot.vote.value)


class RoundVotes(Rows):
    """One row for each vote of a jury of two seats or more, round by round: `arm`, `case`, `juror`, `attribute`, `round`, `value`.

    An abstention is a row with a blank value; what a seat found not applicable, or was not asked, has none.
    """

    columns = ("arm", "case", "juror", "attribute", "round", "value")

    def add(self, arm: Arm, verdict: Verdict) -> None:
        if len(arm.jury.seats) < 2:
            return
        for entry in verdict.transcript.ballots:
            for vote in entry.ballot.votes if entry.speaker in verdict.transcript.seats else ():
                if vote.value != NOT_APPLICABLE:
                    self.append(
                        arm.name, verdict.case, entry.speaker, vote.attribute, entry.round, vote.value
                    )
        for failure in verdict.transcript.abstentions:
            if failure.speaker in verdict.transcript.seats:
                for attribute in _abstained_from(failure.abstention):
                    self.append(arm.name, verdict.case, failure.speaker, attribute, failure.round, None)

    def table(self) -> pd.DataFrame:
        votes = super().table()
        # A juror who spoke twice in one round stands where it last gave a value.
        votes = votes.assign(voted=votes["value"].notna()).sort_values("voted", kind="stable")
        last_votes = votes.drop_duplicates(["arm", "case", "juror", "attribute", "round"], keep="last")
        return last_votes.drop(columns="voted").sort_index(ignore_index=True)


UNITS: tuple[CostUnit, ...] = ("calls", "tokens", "usd")
COSTS = (*UNITS, "seconds")


class BlindCounts(Rows):
    """What each deliberating arm found, beside the count of its own blind first ballots: one row a question.

    Columns: `arm`, `case`, `attribute`, `final`, `blind` (no value where that verdict is hung or does not apply), `rule` (of the
    blind count; blank where nobody voted blind), and what the case took with and without deliberation: `calls` and `blind_calls`,
    likewise `tokens`, `usd` and `seconds`.
    """

    columns = (
        "arm",
        "case",
        "attribute",
        "final",
        "blind",
        "rule",
        *COSTS,
        *(f"blind_{name}" for name in COSTS),
    )

    def add(self, arm: Arm, verdict: Verdict) -> None:
        if not deliberates(arm.jury):
            return
        blind = blind_count(verdict.transcript, arm.rubric, arm.jury)
        cost_in_all, blind_cost = verdict.transcript.cost, blind.transcript.cost if blind else None
        spent = [
            amount
            for cost in (cost_in_all, blind_cost)
            for amount in ((*map(cost.amount, UNITS), cost.seconds) if cost else [math.nan] * len(COSTS))
        ]
        rule = blind_rule(arm.jury) if blind else ""
        for name, outcome in verdict.outcomes.items():
            first = blind[name].value if blind else None
            self.append(arm.name, verdict.case, name, outcome.value, first, rule, *spent)


class VoteChanges(Rows):
    """One row for each seat of a deliberating arm that voted blind on a question: `arm`, `case`, `juror`, `attribute`, `first`, `last`."""

    columns = ("arm", "case", "juror", "attribute", "first", "last")

    def add(self, arm: Arm, verdict: Verdict) -> None:
        if not deliberates(arm.jury):
            return
        standing = verdict.transcript.standing()
        for attribute, votes in verdict.transcript.blind().standing().items():
            for juror, cast in votes.items():
                ballot = standing.get(attribute, {}).get(juror)
                values = (cast.vote.value, ballot.vote.value) if ballot else (NOT_APPLICABLE,)
                if NOT_APPLICABLE not in values:
                    self.append(arm.name, verdict.case, juror, attribute, *values)


def _abstained_from(abstention: Abstention) -> tuple[str, ...]:
    return abstention.asked if abstention.attribute is None else (abstention.attribute,)


class ArmCosts:
    """One row for each arm: cases, calls, tokens, dollars (NaN where a price is unknown), seconds, failures."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, float]] = {}

    def add(self, arm: Arm, verdict: Verdict) -> None:
        transcript = verdict.transcript
        row = self._rows.setdefault(arm.name, dict.fromkeys(_COSTS, 0))
        row["cases"] += 1
        cost = transcript.cost
        row["calls"] += cost.calls
        row["tokens"] += cost.tokens
        row["usd"] += cost.amount("usd")
        row["seconds"] += cost.seconds
        row["abstentions"] += len(transcript.abstentions)
        for outcome in verdict.outcomes.values():
            if outcome.status != "reached":
                row[outcome.status] += 1

    def table(self) -> pd.DataFrame:
        rows = [{"arm": arm, **row} for arm, row in self._rows.items()]
        costs = pd.DataFrame(rows, columns=["arm", *_COSTS])
        return costs.assign(
            usd_per_case=costs["usd"] / costs["cases"], seconds_per_case=costs["seconds"] / costs["cases"]
        )


class ArmStops:
    """How often each arm stopped for which reason: `arm`, `reason`, `limit`, `cases`."""

    def __init__(self) -> None:
        self._cases: Counter[tuple[str, str, str]] = Counter()

    def add(self, arm: Arm, verdict: Verdict) -> None:
        self._cases[arm.name, verdict.stop.reason, verdict.stop.limit or ""] += 1

    def table(self) -> pd.DataFrame:
        rows = [(*stop, number) for stop, number in self._cases.items()]
        return pd.DataFrame(rows, columns=["arm", "reason", "limit", "cases"])


class ArmJudges:
    """Which models each arm asked, with the versions that their providers stated, temperatures and prompts: `arm`, `models`."""

    def __init__(self) -> None:
        self._arms: dict[str, Arm] = {}
        self._versions: dict[str, dict[str, set[str]]] = {}

    def add(self, arm: Arm, verdict: Verdict) -> None:
        self._arms[arm.name] = arm
        stated = self._versions.setdefault(arm.name, {})
        for seat, versions in versions_of(verdict.transcript).items():
            stated.setdefault(seat, set()).update(versions)

    def table(self) -> pd.DataFrame:
        rows = [(name, judges_words(arm, self._versions[name])) for name, arm in self._arms.items()]
        return pd.DataFrame(rows, columns=["arm", "models"])


class _Read(NamedTuple):
    """What one deliberation shows by itself, and the agreements that other arms may contradict."""

    arm: str
    case: str
    flags: tuple[Flag, ...]
    agreements: tuple[InstantAgreement, ...]


ReachedScores = dict[str, dict[str, dict[str, Value]]]
"""By case and arm, what each attribute was given."""


def reached_scores(verdict: Verdict) -> dict[str, Value]:
    """What each attribute was given, as far as it was decided."""
    return {
        name: outcome.value
        for name, outcome in verdict.outcomes.items()
        if outcome.status == "reached" and outcome.value is not None
    }


class ArmMoments:
    """One row for each flag of each deliberation: `arm`, `case`, `kind`, `attribute`, `text`."""

    def __init__(self, others: ReachedScores | None = None) -> None:
        """`others` has the scores of arms that are not added themselves, and may contradict those that are."""
        self._read: list[_Read] = []
        self._reached: ReachedScores = {} if others is None else others

    def add(self, arm: Arm, verdict: Verdict) -> None:
        self._reached.setdefault(verdict.case, {})[arm.name] = reached_scores(verdict)
        verdict_flags = tuple(flag for flag in flags(verdict, arm.rubric) if flag.kind in KINDS)
        agreements = instant_agreements(verdict.transcript, arm.rubric)
        self._read.append(_Read(arm.name, verdict.case, verdict_flags, agreements))

    def table(self) -> pd.DataFrame:
        rows = [
            (read.arm, read.case, flag.kind, flag.attribute, flag.text)
            for read in self._read
            for flag in (*read.flags, *self._contradictions(read))
        ]
        return pd.DataFrame(rows, columns=COLUMNS)

    def _contradictions(self, read: _Read) -> list[Flag]:
        return [
            flag
            for other_arm, values in self._reached[read.case].items()
            if other_arm != read.arm
            for flag in contradictions(read.agreements, other_arm, values)
        ]


def to_frame(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """One row an attribute of a verdict, and one a derived score; what was not reached has no value, never a number."""
    return pd.DataFrame([row for verdict in verdicts for row in verdict.rows()])
