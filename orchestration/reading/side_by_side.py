"""A replay beside its parent: both deliberations aligned by round and seat, the first difference first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...rubrics.errors import VenireError, safe
from ...rubrics.scale import value_words
from ..record import Location, Store
from ..record.database import is_address
from ..transcript import Abstained, Cast, Decided, Ledger
from ..verdict import Outcome, Verdict
from .export import verdicts

PARENT = "parent"
"""The fact of a run under which it names the run that it replays."""


class Lineage(NamedTuple):
    """What an arm of a replay was made of."""

    run: Location
    arm: str
    """The parent's."""
    change: str
    options: str
    """The options of `venire replay` that ask for the change."""


def lineage_fact(arm: str, parent_arm: str, change: str, options: str) -> tuple[str, str]:
    """The name and value of the fact that says what an arm replays."""
    return f"replay {arm}", json.dumps({"arm": parent_arm, "change": change, "options": options})


def lineage(store: Store, arm: str) -> Lineage | None:
    """What the arm of this name replays; None where the run is no replay."""
    run, known = parent_run(store), store.fact(f"replay {arm}")
    return None if run is None or known is None else Lineage(run, **json.loads(known))


def parent_run(store: Store) -> Location | None:
    """The run of which this one is a replay, or holds the controls; None where it names none."""
    known = store.fact(PARENT)
    if known is None:
        return None
    name: str = json.loads(known)["run"]
    return name if is_address(name) or is_address(store.name) else Path(store.name) / name


def controlled_run(run: Location) -> Location | None:
    """The run whose revisions this one asked again; None where it holds no controls."""
    store = Store.read(run)
    try:
        parent = parent_run(store)
        return parent if parent and any(store.fact(f"controls {arm.name}") for arm in store.arms()) else None
    finally:
        store.release()


def controls_beside(run: Location) -> Path | None:
    """The controls of a run that lie in the same directory as it does; of several, those that were written last."""
    if is_address(run):
        return None
    own = Path(run).resolve()
    records = sorted(own.parent.glob("*/record.sqlite"), key=lambda record: -record.stat().st_mtime)
    for folder in (record.parent for record in records if record.parent != own):
        try:
            parent = controlled_run(folder)
        except VenireError:
            continue
        if parent is not None and not is_address(parent) and Path(parent).resolve() == own:
            return folder
    return None


class AlignedRow(NamedTuple):
    """What one seat gave for one attribute in one round, in the parent and in the replay."""

    round: int
    who: str
    attribute: str
    before: str | None
    """None where it said nothing there."""
    after: str | None
    same_words: bool

    @property
    def differs(self) -> bool:
        return self.before != self.after or not self.same_words

    def __str__(self) -> str:
        where = f"round {self.round}, {self.who}, {self.attribute}"
        if self.before == self.after:
            return f"{where}: {self.before} for other reasons"
        return f"{where}: {self.before or 'nothing'} became {self.after or 'nothing'}"


class SideBySide(NamedTuple):
    """One deliberation and its replay."""

    arm: str
    change: str
    before: Verdict
    after: Verdict

    def rows(self) -> list[AlignedRow]:
        """Everything that either jury said, round by round and seat by seat."""
        before, after = _statements(self.before), _statements(self.after)
        keys = sorted({**before, **after}, key=lambda key: key[:2])
        return [
            AlignedRow(
                key[0],
                key[2],
                key[3],
                before[key].score if key in before else None,
                after[key].score if key in after else None,
                before[key].words == after[key].words if key in before and key in after else False,
            )
            for key in keys
        ]

    def differences(self) -> list[AlignedRow]:
        return [row for row in self.rows() if row.differs]

    def changed_outcomes(self) -> dict[str, tuple[str, str]]:
        """The attributes whose verdict is another one: what it was, and what it is."""
        pair = self.before.transcript.compares
        found = {
            name: (_outcome_text(outcome, pair=pair), _outcome_text(self.after.outcomes[name], pair=pair))
            for name, outcome in self.before.outcomes.items()
            if name in self.after.outcomes
        }
        return {name: (was, now) for name, (was, now) in found.items() if was != now}

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain values."""
        differences = self.differences()
        return {
            "parent_arm": self.arm,
            "change": self.change,
            "verdict_before": {n: o.model_dump(mode="json") for n, o in self.before.outcomes.items()},
            "changed": {name: {"before": b, "after": a} for name, (b, a) in self.changed_outcomes().items()},
            "first_difference": differences[0]._asdict() if differences else None,
            "differences": [row._asdict() for row in differences],
        }


class _Statement(NamedTuple):
    score: str
    words: str


_Key = tuple[int, int, str, str]
"""Round, place within it (questions, votes, decisions), who, and the attribute."""


def _statements(verdict: Verdict) -> dict[_Key, _Statement]:
    found: dict[_Key, _Statement] = {}
    pair = verdict.transcript.compares
    for entry in verdict.transcript.entries:
        match entry:
            case Ledger():
                for dispute in entry.disputes:
                    to = f"asks {', '.join(dispute.to)}"
                    found[entry.round, 0, "orchestrator", dispute.attribute] = _Statement(
                        to, dispute.question
                    )
            case Cast():
                place = 1 if entry.purpose == "challenge" else 2
                for vote in entry.ballot.votes:
                    said = _Statement(value_words(vote.value, pair=pair), vote.rationale)
                    found[entry.round, place, entry.speaker, vote.attribute] = said
            case Abstained():
                for attribute in entry.abstention.asked:
                    said = _Statement(f"abstained: {entry.abstention.reason}", "")
                    found[entry.round, 2, entry.speaker, attribute] = said
            case Decided():
                for finding in entry.findings:
                    said = _Statement(f"decides {value_words(finding.value, pair=pair)}", finding.rationale)
                    found[entry.round, 3, "orchestrator", finding.attribute] = said
            case _:
                continue
    return found


def _outcome_text(outcome: Outcome, *, pair: bool) -> str:
    """A verdict in a table."""
    if outcome.status != "reached" or outcome.value is None:
        return outcome.status
    return value_words(outcome.value, pair=pair)


def beside_parent(store: Store, verdict: Verdict) -> SideBySide | None:
    """The verdict beside the one that it replays; None where there is none, or its run is gone."""
    known = lineage(store, verdict.arm)
    if known is None:
        return None
    try:
        parent = Store.read(known.run)
    except VenireError:
        return None
    try:
        before = next((v for _, v in verdicts(parent, arm=known.arm, case=verdict.case)), None)
    finally:
        parent.release()
    return None if before is None else SideBySide(known.arm, known.change, before, verdict)


def replay_json(store: Store, verdict: Verdict) -> dict[str, Any]:
    """What `show --json` adds to a deliberation that replays another."""
    pair = beside_parent(store, verdict)
    return {} if pair is None else {"replay": pair.to_json()}


def replay_view(pair: SideBySide) -> RenderableType:
    """The comparison for a terminal: the first difference, what became of each verdict, then every row."""
    return Group(*_parts(pair))


def _parts(pair: SideBySide) -> Iterator[RenderableType]:
    yield Text.assemble(
        ("replay ", "dim"),
        (pair.change, "bold"),
        ("  of arm ", "dim"),
        pair.arm,
        ("  case ", "dim"),
        safe(pair.after.case),
    )
    rows = pair.rows()
    first = next((row for row in rows if row.differs), None)
    if first is None:
        yield Text("nothing differs", "green")
        return
    yield Text.assemble(("first difference: ", "dim"), (safe(str(first)), "bold yellow"))
    changed = pair.changed_outcomes()
    for name, (before, after) in changed.items():
        yield Text.assemble(
            ("verdict ", "dim"), f"{name}: ", (before, "bold"), " would have been ", (after, "bold yellow")
        )
    if not changed:
        yield Text("every verdict of the replay is the same as in the original deliberation", "green")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("round", "seat", "attribute", "parent", "replay"):
        table.add_column(column, overflow="fold")
    for row in rows:
        after = row.after or ""
        if row.before == row.after and not row.same_words:
            after += " (other words)"
        table.add_row(
            str(row.round),
            row.who,
            row.attribute,
            row.before or "",
            Text(after, "yellow" if row.differs else "dim"),
        )
    yield table


def summary_table(pairs: Sequence[SideBySide]) -> RenderableType:
    """A row for each deliberation: what became of its verdicts, and where it first differed."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("case", "arm", "change", "verdicts", "first difference"):
        table.add_column(column, overflow="fold")
    for pair in pairs:
        differences = pair.differences()
        changed = ", ".join(
            f"{name} {before} -> {after}" for name, (before, after) in pair.changed_outcomes().items()
        )
        table.add_row(
            safe(pair.after.case),
            pair.arm,
            pair.change,
            Text(changed or "the same", "bold yellow" if changed else "dim"),
            safe(str(differences[0])) if differences else "none",
        )
    return table
