"""A run as other programs read it: one JSON shape for a case, one CSV row for a vote or an outcome."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from ...personas.jury import CountingRule
from ...rubrics.ballot import Vote
from ...rubrics.errors import VenireError
from ..counting import Count, counting_rule
from ..deliberate import recount, rule_of
from ..record import Arm, Store
from ..verdict import Outcome, Verdict, tallies


def verdicts(
    store: Store, *, arm: str | None = None, case: str | None = None, count: CountingRule | None = None
) -> Iterator[tuple[Arm, Verdict]]:
    """Each finished case of a run with its verdict, recounted; `count` overrides the jury's own rule."""
    for found in store.arms():
        if arm is None or found.name == arm:
            count_by = learned_count(store, found, count)
            for transcript in store.transcripts(found, case):
                yield found, recount(transcript, found.rubric, found.jury, count, count_by)


def learned_count(store: Store, arm: Arm, count: CountingRule | None = None) -> Count | None:
    """The counting function that a rule which learns fits to all the arm's cases; None for other rules."""
    rule = counting_rule(rule_of(arm.jury, count))
    if rule.fit is None:
        return None
    return rule.fit([t for heard in store.transcripts(arm) for t in tallies(heard, arm.rubric, arm.jury)])


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
        "flags": list(transcript.flags),
        "verdict": {name: _outcome_json(outcome) for name, outcome in verdict.outcomes.items()},
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
            }
            for entry in transcript.ballots
            for vote in entry.ballot.votes
        ],
        "abstentions": [
            {
                "round": entry.round,
                "juror": entry.speaker,
                "reason": entry.abstention.reason,
                "detail": entry.abstention.detail,
                "purpose": entry.purpose,
            }
            for entry in transcript.abstentions
        ],
    }


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    return outcome.model_dump(mode="json")


def _all_found(vote: Vote) -> bool | None:
    """Whether every quote stands in an exhibit; None where nothing was quoted."""
    return all(quote.found for quote in vote.evidence) if vote.evidence else None


def write_json(store: Store, out: TextIO, *, case: str | None = None, arm: str | None = None) -> None:
    """The whole run as one document, written case by case so that memory stays flat."""
    out.write(f'{{"run": {json.dumps(store.name)}, "cases": [')
    for number, (_, verdict) in enumerate(verdicts(store, case=case, arm=arm)):
        out.write((", " if number else "") + json.dumps(case_json(verdict)))
    out.write("]}\n")


def export(
    store: Store,
    to: str,
    out: Path | None,
    stdout: TextIO,
    count: CountingRule | None = None,
    *,
    case: str | None = None,
    arm: str | None = None,
) -> int:
    """Write the run in the format `to`, or only one case or arm of it; how many deliberations that were."""
    if to not in _WRITERS:
        raise VenireError(f"no export format {to!r}", remedy=f"choose one of {', '.join(FORMATS)}")
    found = (verdict for _, verdict in verdicts(store, count=count, case=case, arm=arm))
    if out is None:
        return _WRITERS[to](found, stdout)
    with out.open("w", encoding="utf-8", newline="") as handle:
        return _WRITERS[to](found, handle)


def _jsonl(found: Iterable[Verdict], out: TextIO) -> int:
    number = 0
    for verdict in found:
        out.write(json.dumps(case_json(verdict)) + "\n")
        number += 1
    return number


def _drawn(form: str) -> Writer:
    """A writer of one graph that holds every deliberation. The graph's library is loaded when one is drawn."""

    def write(found: Iterable[Verdict], out: TextIO) -> int:
        from . import graph

        drawn = list(found)
        out.write(getattr(graph, form)(graph.run_graph(drawn)))
        return len(drawn)

    return write


_COLUMNS = (
    "case",
    "arm",
    "protocol",
    "attribute",
    "status",
    "value",
    "support",
    "spread",
    "votes",
    "method",
    "stop",
)


def _csv(found: Iterable[Verdict], out: TextIO) -> int:
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    number = 0
    for verdict in found:
        number += 1
        start = [verdict.case, verdict.arm, verdict.transcript.protocol]
        for name, o in verdict.outcomes.items():
            shares = [_cell(o.value), _cell(o.support), _cell(o.spread)]
            writer.writerow([*start, name, o.status, *shares, o.votes, o.method, verdict.stop.reason])
        for name, value in verdict.derived.items():
            writer.writerow([*start, name, "derived", value, "", "", "", "derived", verdict.stop.reason])
    return number


def _cell(value: Any) -> Any:
    return "" if value is None else value


Writer = Callable[[Iterable[Verdict], TextIO], int]
_WRITERS: dict[str, Writer] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "graphml": _drawn("graphml"),
    "json": _drawn("node_link"),
    "dot": _drawn("dot"),
}
FORMATS = (*_WRITERS, "html")
"""What a run can be written as; the page is made where pages are made, in the inspector."""
