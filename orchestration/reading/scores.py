"""The scores of a run by arm, system and attribute, and the report of them that `venire run` ends with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from shlex import quote
from typing import NamedTuple, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...agents.cost import Cost
from ...rubrics.errors import count_words, safe
from ...rubrics.rubric import Rubric
from ...rubrics.scale import Value
from ..record import Arm, Location, Store
from ..transcript import Abstained, Cast
from ..verdict import Verdict
from .export import sealed_note, verdicts, write_json
from .status import unreached_lines, unreached_models

REACHED, HUNG, NOT_APPLICABLE, ABSTAINED = "reached", "hung", "not_applicable", "abstained"
Key = tuple[str, str, str, str]
"""Arm, system, attribute, and what is counted: a score as JSON, or one of the words above."""
MOST_SYSTEMS = 12
"""Arms times systems up to which scores are printed by system too; beyond that the inspector shows them."""
BARS = " ▁▂▃▄▅▆▇█"


def report(folder: Location, console: Console | None, out: TextIO, *, unreached: bool = True) -> None:
    """What became of a run, arm by arm; as JSON, case by case, where there is no console.

    `unreached`: whether the models that could not be reached are named.
    """
    store = Store.read(folder)
    try:
        if console is None:
            write_json(store, out)
            return
        totals: dict[str, _ArmTotals] = {}
        counts, case = ScoreCounts(), None
        for arm, verdict in verdicts(store):
            totals.setdefault(arm.name, _ArmTotals()).add(verdict)
            judged = store.case(verdict.case)
            counts.add(arm.name, judged.system if judged else None, verdict)
            case = case or verdict.case
        console.print(_score_table(counts, [arm for arm in store.arms() if arm.name in totals]))
        console.print(_arm_table(totals))
        for name, total in totals.items():
            if total.unseen + total.to_people:
                console.print(
                    f"{safe(name)}: verdicts that the jury's rule accepts without review: {total.unseen}; "
                    f"verdicts that people must review: {total.to_people}",
                    soft_wrap=True,
                )
            for (seat, model), answers in total.alternates.most_common():
                sentence = f"{safe(name)}: the alternate model {safe(model)} gave {answers} of {safe(seat)}'s answers, in place of the seat's own model"
                console.print(sentence, soft_wrap=True)
        if note := sealed_note(store):
            console.print(note, soft_wrap=True)
        spent = store.cost()
        console.print(
            Text(
                f"in the record: {count_words(spent.calls, 'call')}, {count_words(spent.tokens, 'token')}, {spent.price}",
                "dim",
            )
        )
        for line in unreached_lines(unreached_models(store) if unreached else []):
            console.print(line, soft_wrap=True)
        if any(arm.rubric.compares for arm in store.arms()):
            console.print(
                Text(f"to see which system is preferred, run: venire winrate {quote(store.name)}", "dim")
            )
        if case is not None:
            console.print(
                Text(
                    f"to read one deliberation, run: venire show {quote(store.name)} {quote(safe(case))}",
                    "dim",
                )
            )
    finally:
        store.release()


def _score_table(counts: ScoreCounts, arms: Sequence[Arm]) -> Table:
    """Every attribute's distribution over its scale, mean, hung and abstained, by arm; then by system, where there are several.

    Of pairs, whose labels are drawn by lot, there is no mean, and no system that a preference is of.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("attribute", max_width=24, overflow="ellipsis", no_wrap=True)
    table.add_column("mean", justify="right")
    table.add_column("scores", no_wrap=True)
    for column in ("n", "hung", "n/a", "abstained"):
        table.add_column(column, justify="right")
    systems = counts.systems()
    apart = systems if len(systems) > 1 and len(systems) * len(arms) <= MOST_SYSTEMS else []
    for arm in arms:
        for system in (None, *(() if arm.rubric.compares else apart)):
            title = safe(arm.name) if system is None else f"  {safe(system)}"
            table.add_row(Text(title, "bold" if system is None else "italic"))
            for found in counts.summaries(arm, system=system):
                table.add_row(
                    safe(found.attribute),
                    "" if found.mean is None else f"{found.mean:.2f}",
                    histogram(found.counts),
                    str(found.n),
                    *(str(number or "") for number in (found.hung, found.not_applicable, found.abstained)),
                )
    return table


def _arm_table(totals: dict[str, _ArmTotals]) -> Table:
    # Narrow enough for 80 columns: names and reasons go on below, everything else stays on its line.
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("arm", overflow="fold")
    for column in ("cases", "reached", "hung", "n/a", "abstained"):
        table.add_column(column, no_wrap=True)
    table.add_column("stopped by", overflow="fold")
    for column in ("calls", "tokens", "cost"):
        table.add_column(column, no_wrap=True)
    for name, arm in totals.items():
        stops = ", ".join(f"{reason} {number}" for reason, number in arm.stops.most_common())
        price = "unknown" if arm.cost.usd is None else f"${arm.cost.usd:.4f}"
        outcomes = [str(arm.outcomes[status]) for status in ("reached", "hung", "not_applicable")]
        table.add_row(
            name,
            str(arm.cases),
            *outcomes,
            str(arm.abstentions),
            stops,
            str(arm.cost.calls),
            str(arm.cost.tokens),
            price,
        )
    return table


@dataclass(slots=True)
class _ArmTotals:
    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    abstentions: int = 0
    unseen: int = 0
    to_people: int = 0
    alternates: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By seat and alternate model, how many answers it gave."""
    cost: Cost = field(default_factory=Cost)

    def add(self, verdict: Verdict) -> None:
        transcript = verdict.transcript
        self.cases += 1
        self.outcomes.update(outcome.status for outcome in verdict.outcomes.values())
        self.stops[verdict.stop.reason] += 1
        self.abstentions += len(transcript.abstentions)
        for outcome in verdict.outcomes.values():
            self.unseen += outcome.escalated == ""
            self.to_people += bool(outcome.escalated)
        self.alternates.update(
            (entry.speaker, entry.spent.by) for entry in transcript.entries if entry.spent.by
        )
        self.cost += transcript.cost


class ScoreSummary(NamedTuple):
    """What one arm gave one attribute (or composite) of one system's outputs, or of all."""

    arm: str
    system: str
    """Empty for all systems together."""
    attribute: str
    counts: tuple[tuple[Value, int], ...]
    """Every value of the scale with how often it was given; nothing for a composite."""
    n: int
    mean: float | None
    hung: int
    not_applicable: int
    abstained: int
    """Ballots, or parts of them, that were not cast."""


class ScoreCounts:
    """Sums over deliberations; they can be stored and added to."""

    def __init__(self, sums: Mapping[Key, tuple[int, float]] | None = None) -> None:
        self.sums: dict[Key, tuple[int, float]] = dict(sums or {})

    def add(self, arm: str, system: str | None, verdict: Verdict) -> None:
        for attribute, what, times, total in score_sums(verdict):
            key = (arm, system or "", attribute, what)
            before = self.sums.get(key, (0, 0.0))
            self.sums[key] = (before[0] + times, before[1] + total)

    def systems(self) -> list[str]:
        """The systems that are named, in order."""
        return sorted({system for _, system, _, _ in self.sums if system})

    def summaries(self, arm: Arm, *, system: str | None = None) -> list[ScoreSummary]:
        """The arm's attributes in the rubric's order, then what is derived from them; of one system, or of all."""
        rubric = arm.rubric
        names = [*rubric.names, *rubric.reversed_names, *rubric.composites]
        mine: dict[tuple[str, str], tuple[int, float]] = {}
        for (name, of, attribute, what), (times, total) in self.sums.items():
            if name == arm.name and system in (None, of):
                before = mine.get((attribute, what), (0, 0.0))
                mine[attribute, what] = (before[0] + times, before[1] + total)
        met = {attribute for attribute, _ in mine}
        return [_summary(arm.name, system or "", name, rubric, mine) for name in names if name in met]


def score_sums(verdict: Verdict) -> Iterator[tuple[str, str, int, float]]:
    """Attribute, what is counted, how often and its sum, for one deliberation."""
    for attribute, outcome in verdict.outcomes.items():
        if outcome.value is None or outcome.status != "reached":
            yield attribute, outcome.status, 1, 0.0
            continue
        yield attribute, as_json(outcome.value), 1, 0.0
        yield attribute, REACHED, 1, 0.0 if isinstance(outcome.value, str) else float(outcome.value)
    for name, value in verdict.derived.items():
        yield name, REACHED, 1, value
    for entry in verdict.transcript.entries:
        match entry:
            case Abstained():
                yield from ((attribute, ABSTAINED, 1, 0.0) for attribute in verdict.outcomes)
            case Cast():
                yield from ((part.attribute, ABSTAINED, 1, 0.0) for part in entry.ballot.abstained)


@lru_cache(maxsize=4096, typed=True)
def as_json(value: Value) -> str:
    """A score as JSON; there are few, and they are asked for often."""
    return json.dumps(value)


def histogram(counts: Sequence[tuple[Value, int]]) -> str:
    """The counts as bars of eight heights, one a value; what was never given is blank."""
    most = max((times for _, times in counts), default=0)
    return "".join(BARS[-(-8 * times // most)] if most else " " for _, times in counts)


def _summary(
    arm: str, system: str, name: str, rubric: Rubric, mine: Mapping[tuple[str, str], tuple[int, float]]
) -> ScoreSummary:
    def times(what: str) -> int:
        return mine.get((name, what), (0, 0.0))[0]

    asked = rubric.by_name.get(name)
    counts: tuple[tuple[Value, int], ...] = ()
    numeric = True
    if asked is not None:
        scale = rubric.scale_of(name)
        numeric = scale.numeric
        given = {json.loads(what): count for (attribute, what), (count, _) in mine.items()
                 if attribute == name and what not in (REACHED, HUNG, NOT_APPLICABLE, ABSTAINED)}  # fmt: skip
        values = list(scale.values) or sorted(given, key=str)
        between = [value for value in given if value not in values]
        shown = sorted([*values, *between], key=float) if numeric and between else values
        counts = tuple((value, given.get(value, 0)) for value in shown)
    n, total = mine.get((name, REACHED), (0, 0.0))
    mean = total / n if n and numeric and not rubric.compares else None
    return ScoreSummary(
        arm, system, name, counts, n, mean, times(HUNG), times(NOT_APPLICABLE), times(ABSTAINED)
    )
