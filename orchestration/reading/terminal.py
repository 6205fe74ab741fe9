"""Reading a run back: one case, a summary, an export. Never a model call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...agents.cost import Cost
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.ratings import Rating
from ...rubrics.safe_text import safe
from ..counting import counting_rule
from ..record import Arm, Location, Store
from ..record.private_files import open_private
from ..verdict import Verdict
from .analysis import flags_across_arms
from .claim_card import claim_card
from .export import verdicts, write_json
from .export_format import ExportedRun, export_format
from .safe_console import SafeStream
from .scores import ScoreCounts, histogram
from .show import show
from .show_claims import people_lines, show_card
from .summary import summarise
from .unreached import unreached_lines, unreached_models

MOST_SYSTEMS = 12
"""Arms times systems up to which scores are printed by system too; beyond that the inspector shows them."""


def show_case(
    folder: Location,
    case: str,
    arm: str | None,
    console: Console | None,
    out: TextIO,
    people: Iterable[Rating] = (),
) -> None:
    """Every arm's deliberation on one case; as JSON where there is no console.

    Where claims were checked, their card comes first. What `people` said of the case stands in it, or at the end.
    """
    said = tuple(people)
    store = Store.read(folder)
    try:
        _known_arm(store, arm)
        if console is None:
            write_json(store, out, case=case, arm=arm)
            return
        every = list(verdicts(store, case=case))
        found = [(of, verdict) for of, verdict in every if arm in (None, of.name)]
        if not found:
            raise VenireError(f"{store.name}: no case {case!r} in it", remedy=nearest(case, store.case_ids()))
        if store.redacted:
            console.print("this run was made with --redact: words were not kept, only marks of them")
        for number, (of, verdict) in enumerate(found):
            if number:
                console.rule()
            others = [other for _, other in every if other is not verdict]
            if of.jury.protocol == "decompose-verify":
                texts = None if store.redacted else store.case(case)
                show_card(claim_card(verdict, of.jury, of.rubric, texts, people=said), console)
                console.print()
            show(verdict, console, flags_across_arms(verdict, of.rubric, others))
            if of.jury.protocol != "decompose-verify":
                for line in people_lines(rating for rating in said if rating.case == case):
                    console.print(line)
    finally:
        store.release()


def show_summary(folder: Location, console: Console) -> None:
    """What the run as a whole shows: flags, who persuades, who conforms, what splits juries."""
    store = Store.read(folder)
    try:
        summarise(store, console)
    finally:
        store.release()


def export_run(
    folder: Location,
    to: str,
    output: Path | None,
    out: TextIO,
    count: str | None,
    case: str | None = None,
    arm: str | None = None,
    picked: Mapping[str, Sequence[str]] | None = None,
    ratings: Sequence[Rating] = (),
) -> int:
    """Write the run in the format `to`, or one case or arm of it, recounted by `count` if one is named.

    `picked` names the only cases to write, with the reasons for each; formats for annotators show them, and people's `ratings`.
    """
    write = export_format(to)
    if count is not None:
        counting_rule(count)
    store = Store.read(folder)
    try:
        _known_arm(store, arm)
        if case is not None and store.case(case) is None:
            raise VenireError(f"{store.name}: no case {case!r} in it", remedy=nearest(case, store.case_ids()))
        run = ExportedRun(store, case=case, arm=arm, count=count, picked=picked, ratings=ratings)
        if output is None:
            return write(run, cast(TextIO, SafeStream(out)) if out.isatty() else out)
        with open_private(output) as handle:
            return write(run, handle)
    finally:
        store.release()


@dataclass(slots=True)
class _ArmTotals:
    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    abstentions: int = 0
    unseen: int = 0
    to_people: int = 0
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
        self.cost += transcript.cost


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
        console.print(_scores(counts, [arm for arm in store.arms() if arm.name in totals]))
        console.print(_summary(totals))
        for name, total in totals.items():
            if total.unseen + total.to_people:
                console.print(
                    f"{safe(name)}: {total.unseen} verdicts may stand unseen by the jury's rule, "
                    f"{total.to_people} go to people",
                    soft_wrap=True,
                )
        spent = store.cost()
        console.print(
            Text(f"in the record: {spent.calls} calls, {spent.tokens} tokens, {spent.price}", "dim")
        )
        for line in unreached_lines(unreached_models(store) if unreached else []):
            console.print(line, soft_wrap=True)
        if case is not None:
            console.print(Text(f"read one: venire show {store.name} {safe(case)}", "dim"))
    finally:
        store.release()


def _scores(counts: ScoreCounts, arms: Sequence[Arm]) -> Table:
    """Every attribute's distribution over its scale, mean, hung and abstained, by arm; then by system, where there are several."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("attribute", max_width=24, overflow="ellipsis", no_wrap=True)
    table.add_column("mean", justify="right")
    table.add_column("scores", no_wrap=True)
    for column in ("n", "hung", "n/a", "abstained"):
        table.add_column(column, justify="right")
    systems = counts.systems()
    apart = systems if len(systems) > 1 and len(systems) * len(arms) <= MOST_SYSTEMS else []
    for arm in arms:
        for system in (None, *apart):
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


def _summary(totals: dict[str, _ArmTotals]) -> Table:
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


def _known_arm(store: Store, arm: str | None) -> None:
    names = [found.name for found in store.arms()]
    if arm is not None and arm not in names:
        raise VenireError(f"no arm named {arm!r} in this run", remedy=nearest(arm, names))
