"""A run's verdicts, recounted; the JSON shape that `run --json` and `show --json` print; and where export formats are found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from ...agents.desk import cases_asked
from ...personas.jury import CountingRule
from ...rubrics.ballot import Vote
from ...rubrics.claim import Check
from ...rubrics.plugins import plugged_in
from ...rubrics.rubric import Rubric
from ...rubrics.scale import preferred_side
from ..counting import Count
from ..counting.claims import ClaimOutcome
from ..deliberate import learned_from, recount
from ..record import Arm, Store
from ..record.database import is_address
from ..transcript import Decided, Ledger, Transcript
from ..verdict import Verdict, as_written
from .status import unreached_models

if TYPE_CHECKING:
    from ...rubrics.ratings import Rating

GROUP = "venire.exports"


def verdicts(
    store: Store,
    *,
    arm: str | None = None,
    case: str | None = None,
    count: CountingRule | None = None,
    written: bool = False,
) -> Iterator[tuple[Arm, Verdict]]:
    """Each finished case of a run with its verdict, recounted, but for sealed ones; `count` overrides the jury's own rule.

    `written`: whether preferences are between the outputs as the cases' file names them, to be held against people's.
    """
    sealed = sealed_cases(store)
    for found in store.arms():
        if arm is None or found.name == arm:
            count_by = learned_count(store, found, count)
            for transcript in store.transcripts(found, case):
                if transcript.case in sealed:
                    continue
                counted = recount(transcript, found.rubric, found.jury, count, count_by)
                if written and found.rubric.compares and (judged := store.case(counted.case)) is not None:
                    counted = as_written(counted, judged)
                yield found, counted


def sealed_cases(store: Store) -> dict[str, int]:
    """The cases on which a person who holds a seat has yet to vote blind, each with the number of its first deliberation.

    Nobody is shown a vote on them, another jury's neither.
    """
    if is_address(store.name):
        return {}
    asked, going = cases_asked(Path(store.name)), store.writing()
    sealed: dict[str, int] = {}
    for arm in store.arms() if asked or going else ():
        for person in ((seat.model or "").partition("/")[2] for seat in arm.jury.seats if seat.is_person):
            mine, heard, cases = asked.get(person, {}), store.first_numbers(arm), store.first_numbers()
            # While the run goes on, she will be asked about the others too, were she not asked about any yet.
            wanted = cases.keys() if going else cases.keys() & mine.keys()
            sealed |= {case: cases[case] for case in wanted - heard.keys() if not mine.get(case)}
    return sealed


def sealed_note(store: Store) -> str:
    """A sentence on the sealed cases of a run; empty where there are none."""
    number = len(sealed_cases(store))
    if not number:
        return ""
    cases = f"{number} case{' is' if number == 1 else 's are'}"
    return f"{cases} left out, because votes stay hidden until every person on the jury has cast a first, blind vote"


def learned_count(store: Store, arm: Arm, count: CountingRule | None = None) -> Count | None:
    """The counting function that a rule which learns fits to all the arm's cases; None for other rules."""
    return learned_from(store.transcripts(arm), arm.rubric, arm.jury, count)


def case_json(verdict: Verdict) -> dict[str, Any]:
    """One deliberation in the shape that `run --json` and `show --json` promise."""
    transcript = verdict.transcript
    return {
        "case": verdict.case,
        "arm": verdict.arm,
        "protocol": transcript.protocol,
        "stop": verdict.stop.model_dump(),
        "rounds": transcript.rounds,
        "turns": transcript.turns,
        "steps": transcript.steps,
        **transcript.cost.to_json(),
        "flags": [
            *transcript.flags,
            *(["usage-implausible"] if any(entry.spent.implausible for entry in transcript.entries) else ()),
        ],
        "verdict": {name: outcome.model_dump(mode="json") for name, outcome in verdict.outcomes.items()},
        "derived": dict(verdict.derived),
        "ballots": [
            {
                "round": entry.round,
                "juror": entry.speaker,
                "attribute": vote.attribute,
                "value": vote.value,
                "evidence_found": _all_found(vote),
                "evidence": [{**quote.model_dump(), "found": quote.found} for quote in vote.evidence],
                "rationale": vote.rationale,
                "moved_by": vote.moved_by,
                "purpose": entry.purpose,
                "entry": entry.id,
                "saw": list(entry.ballot.saw),
                "alternate": entry.spent.by or None,
            }
            for entry in transcript.ballots
            for vote in entry.ballot.votes
        ],
        "abstentions": [
            {
                "round": entry.round,
                "juror": entry.speaker,
                "attribute": entry.abstention.attribute,
                "reason": entry.abstention.reason,
                "detail": entry.abstention.detail,
                "purpose": entry.purpose,
            }
            for entry in transcript.abstentions
        ],
        "ledgers": [_ledger_json(entry) for entry in transcript.entries if isinstance(entry, Ledger)],
        "decisions": [
            _decision_json(entry, transcript) for entry in transcript.entries if isinstance(entry, Decided)
        ],
        **({"claims": [claim_json(claim) for claim in verdict.claims]} if verdict.claims else {}),
    }


def _ledger_json(ledger: Ledger) -> dict[str, Any]:
    return {
        "round": ledger.round,
        "entry": ledger.id,
        "author": ledger.author,
        "disputes": [dispute.model_dump(mode="json") for dispute in ledger.disputes],
        "declared": list(ledger.declared),
        "replan": ledger.replan,
        "note": ledger.note,
        "saw": list(ledger.saw),
        "alternate": ledger.spent.by or None,
    }


def _decision_json(decision: Decided, transcript: Transcript) -> dict[str, Any]:
    standing = transcript.standing()
    return {
        "round": decision.round,
        "entry": decision.id,
        "saw": list(decision.saw),
        "alternate": decision.spent.by or None,
        "findings": [
            finding.model_dump(mode="json")
            | {
                "weighed_entries": [
                    held.entry
                    for juror, held in standing.get(finding.attribute, {}).items()
                    if juror in finding.weighed
                ]
            }
            for finding in decision.findings
        ],
    }


def _all_found(vote: Vote) -> bool | None:
    """Whether every quote stands in an exhibit; None where nothing was quoted."""
    return all(quote.found for quote in vote.evidence) if vote.evidence else None


def systems_json(store: Store, rubric: Rubric, verdict: Verdict) -> dict[str, Any]:
    """Of a pair: the systems behind output A and output B, and by attribute the one that is preferred, or `tie`; else nothing."""
    judged = store.case(verdict.case) if rubric.compares else None
    if judged is None:
        return {}
    values = {name: outcome.value for name, outcome in verdict.outcomes.items() if outcome.value is not None}
    preferred = {name: judged.preferred_system(preferred_side(value)) for name, value in values.items()}
    return {"systems": dict(zip(("A", "B"), judged.sides, strict=True)), "preferred": preferred}


def claim_json(outcome: ClaimOutcome) -> dict[str, Any]:
    """A claim, the verdict on it, and each verifier's check."""
    return {
        **outcome.claim.model_dump(),
        "verdict": outcome.verdict,
        "why": outcome.why,
        "dissent": list(outcome.dissent),
        "checks": {juror: _check_json(check) for juror, check in outcome.checks.items()},
    }


def _check_json(check: Check) -> dict[str, Any]:
    return {
        "verdict": check.verdict,
        "evidence": [{**quote.model_dump(), "found": quote.found} for quote in check.evidence],
        "reason": check.rationale,
        "abstained": check.abstained,
        "detail": check.detail,
    }


def write_json(
    store: Store,
    out: TextIO,
    *,
    case: str | None = None,
    arm: str | None = None,
    more: Callable[[Verdict], Mapping[str, Any]] = lambda _: {},
) -> None:
    """The whole run as one document, written case by case so that memory stays flat; `more` adds keys to a case."""
    out.write(f'{{"run": {json.dumps(store.name)}, "cases": [')
    for number, (of, verdict) in enumerate(verdicts(store, case=case, arm=arm)):
        pair = systems_json(store, of.rubric, verdict)
        out.write((", " if number else "") + json.dumps({**case_json(verdict), **pair, **more(verdict)}))
    spent = {name: value for name, value in store.cost().to_json().items() if name != "seconds"}
    unreached = [model.json() for model in unreached_models(store)]
    sealed = sorted(sealed_cases(store))
    ends = {"spent": spent, "unreached": unreached, **({"sealed": sealed} if sealed else {})}
    out.write(f"], {json.dumps(ends)[1:]}\n")


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """The deliberations to export: a whole run, or one case or arm of it."""

    store: Store
    case: str | None = None
    arm: str | None = None
    count: CountingRule | None = None
    """The counting rule to use in place of the jury's own."""
    picked: Mapping[str, Sequence[str]] | None = None
    """Only these cases, in this order, each with the reasons for which it was picked."""
    ratings: Sequence[Rating] = field(default=())
    """What people said of the cases, for formats that have a place for it."""
    prompts: bool = True
    """Whether a page shows the messages as they were sent and the replies as they came."""

    def arms(self) -> list[Arm]:
        """The arms whose deliberations are exported."""
        return [arm for arm in self.store.arms() if self.arm in (None, arm.name)]

    def verdicts(self) -> Iterator[Verdict]:
        """Their verdicts, recounted, one at a time so that memory stays flat; only those picked are sorted in memory."""
        found = (v for _, v in verdicts(self.store, arm=self.arm, case=self.case, count=self.count))
        if self.picked is None:
            yield from found
            return
        place = {case: number for number, case in enumerate(self.picked)}
        yield from sorted((v for v in found if v.case in place), key=lambda v: place[v.case])


class ExportFormat(Protocol):
    """Writes deliberations as text."""

    def __call__(self, run: ExportedRun, out: TextIO) -> int:
        """Write `run` to `out`; return how many deliberations were written."""
        ...


def export_format(name: str) -> ExportFormat:
    """The format registered under `name`; an error that names the nearest one when there is none."""
    found: ExportFormat = plugged_in(GROUP, name, "export format")
    return found
