"""Reading a run back in the terminal: one case, a summary, an export. Never a model call."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...rubrics.errors import VenireError, safe
from ...rubrics.files import nearest
from ...rubrics.ratings import Rating
from ..counting import counting_rule
from ..deliberate import recount
from ..record import Arm, Location, Store
from ..record.private_files import replaced_whole
from ..verdict import Verdict
from .analysis import Census, Flag, flags_across_arms, instant_agreements, interest
from .analysis.census import Share
from .claim_card import claim_card, people_lines, show_card
from .console import SafeStream
from .export import (
    ExportedRun,
    export_format,
    learned_count,
    sealed_cases,
    sealed_note,
    verdicts,
    write_json,
)
from .show import WEIGHTS, judges_line, show
from .side_by_side import beside_parent, replay_json, replay_view

_LOOKS = 10
Rewording = Callable[[Verdict, tuple[Flag, ...]], tuple[Flag, ...]]
"""The flags of a deliberation in other words."""


def _as_found(_: Verdict, found: tuple[Flag, ...]) -> tuple[Flag, ...]:
    return found


def show_case(
    folder: Location,
    case: str,
    arm: str | None,
    console: Console | None,
    out: TextIO,
    people: Iterable[Rating] = (),
    reword: Rewording | None = None,
) -> None:
    """Every arm's deliberation on one case; as JSON where there is no console.

    Where claims were checked, their card comes first. What `people` said of the case stands in it, or at the end.
    `reword` says of the flags what is known beyond the deliberation.
    """
    said = tuple(people)
    reword = reword or _as_found
    store = Store.read(folder)
    try:
        _known_arm(store, arm)
        case = _known_case(store, case)
        _refuse_sealed(store, case)
        if console is None:
            write_json(store, out, case=case, arm=arm, more=partial(replay_json, store))
            return
        every = list(verdicts(store, case=case))
        found = [(of, verdict) for of, verdict in every if arm in (None, of.name)]
        if not found:
            raise VenireError(
                f"{store.name}: no case {case!r} in this run", remedy=nearest(case, store.case_ids())
            )
        if store.redacted:
            console.print(
                "this run was made with --redact: placeholders were stored instead of the texts of cases and jurors"
            )
        for number, (of, verdict) in enumerate(found):
            if number:
                console.rule()
            if (pair := beside_parent(store, verdict)) is not None:
                console.print(replay_view(pair))
                console.print()
            others = [other for _, other in every if other is not verdict]
            if of.jury.protocol == "decompose-verify":
                texts = None if store.redacted else store.case(case)
                show_card(claim_card(verdict, of.jury, of.rubric, texts, people=said), console)
                console.print()
            console.print(
                safe(judges_line(of, verdict.transcript)), style="dim", highlight=False, markup=False
            )
            judged = store.case(case) if of.rubric.compares or not store.redacted else None
            shown = judged is not None and (of.rubric.compares or judged.messages)
            show(
                verdict,
                console,
                reword(verdict, flags_across_arms(verdict, of.rubric, others)),
                of.rubric.exhibits(judged) if judged and shown else (),
                judged if of.rubric.compares else None,
            )
            if of.jury.protocol != "decompose-verify":
                for line in people_lines(rating for rating in said if rating.case == case):
                    console.print(line)
    finally:
        store.release()


def show_summary(folder: Location, console: Console, reword: Rewording | None = None) -> None:
    """What the run as a whole shows: flags, who moved towards whom, who conforms, what splits juries."""
    store = Store.read(folder)
    try:
        summarise(store, console, reword or _as_found)
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
    prompts: bool = True,
) -> int:
    """Write the run in the format `to`, or one case or arm of it, recounted by `count` if one is named.

    `picked` names the only cases to write, with the reasons for each; formats for annotators show them, and people's `ratings`.
    `prompts`: whether a page has what models were sent and replied.
    """
    write = export_format(to)
    if count is not None:
        counting_rule(count)
    store = Store.read(folder)
    try:
        _known_arm(store, arm)
        if case is not None and store.case(case) is None:
            raise VenireError(
                f"{store.name}: no case {case!r} in this run", remedy=nearest(case, store.case_ids())
            )
        _refuse_sealed(store, case)
        run = ExportedRun(
            store, case=case, arm=arm, count=count, picked=picked, ratings=ratings, prompts=prompts
        )
        if output is None:
            return write(run, cast(TextIO, SafeStream(out)) if out.isatty() else out)
        with replaced_whole(output) as handle:
            return write(run, handle)
    finally:
        store.release()


def _known_case(store: Store, case: str) -> str:
    """The id as the run has it: `DS-7` is `DS-007` where no case is named `DS-7` and one alone fits."""
    if store.case(case) is not None:
        return case

    def plain_id(name: str) -> str:
        return re.sub(r"(?<!\d)0+(?=\d)", "", name).casefold()

    fits = [name for name in store.case_ids() if plain_id(name) == plain_id(case)]
    return fits[0] if len(fits) == 1 else case


def _refuse_sealed(store: Store, case: str | None) -> None:
    if case in sealed_cases(store):
        raise VenireError(
            f"{case}: a person on the jury has not cast the first, blind vote yet; until then, votes are hidden",
            remedy=f"to see who has not voted, run: venire status {quote(store.name)}",
        )


def _known_arm(store: Store, arm: str | None) -> None:
    names = [found.name for found in store.arms()]
    if arm is not None and arm not in names:
        raise VenireError(f"no arm named {arm!r} in this run", remedy=nearest(arm, names))


def summarise(store: Store, console: Console, reword: Rewording = _as_found) -> None:
    """Print what the run as a whole shows. Reads every deliberation once for each arm."""
    looks: list[tuple[float, int, Verdict, tuple[Flag, ...]]] = []
    number, arms, sealed = 0, store.arms(), sealed_cases(store)
    learned = {arm.id: learned_count(store, arm) for arm in arms}

    def verdicts_of(arm: Arm, case: str | None = None) -> Iterator[Verdict]:
        for transcript in store.transcripts(arm, case):
            if transcript.case in sealed:
                continue
            yield recount(transcript, arm.rubric, arm.jury, learned=learned[arm.id])

    for arm in arms:
        census = Census()
        for verdict in verdicts_of(arm):
            at_once = instant_agreements(verdict.transcript, arm.rubric)
            rest = [other for other in arms if other.id != arm.id] if at_once else []
            others = [found for other in rest for found in verdicts_of(other, verdict.case)]
            found = flags_across_arms(verdict, arm.rubric, others)
            census.add(verdict, arm.rubric, arm.jury, found)
            number += 1
            heapq.heappush(looks, (interest(flag.weight for flag in found), -number, verdict, found))
            if len(looks) > _LOOKS:
                heapq.heappop(looks)
        console.print(_arm(arm.name, census))
    console.print(_look_first(sorted(looks, key=lambda look: look[:2], reverse=True), reword))
    if note := sealed_note(store):
        console.print(note, soft_wrap=True)


def _arm(name: str, census: Census) -> RenderableType:
    stops = ", ".join(f"{reason} {times}" for reason, times in census.counts("stop"))
    kinds = ", ".join(f"{kind} {times}" for kind, times in census.counts("flagged")) or "none"
    parts: list[RenderableType] = [
        Text.assemble(("\narm ", "dim"), (name, "bold"), (f"  {census.number('cases')} cases", "dim")),
        Text.assemble(("stopped by  ", "dim"), stops),
        Text.assemble(("flagged     ", "dim"), kinds),
    ]
    for title, shares, form in (
        (
            "attributes on which jurors differ (spread of first votes, as a share of the scale)",
            census.splits(),
            ".2f",
        ),
        (
            "how harsh (-) or lenient (+) each juror is, compared with the other jurors",
            census.leanings("juror"),
            "+.2f",
        ),
        ("the same, by persona", census.leanings("persona"), "+.2f"),
        ("the same, by model", census.leanings("model"), "+.2f"),
        (
            "how often other jurors moved towards this juror's score after reading its vote",
            census.persuaders(),
            ".1f",
        ),
        (
            "how often each juror moved to the majority without new evidence (share of the times it was outnumbered)",
            census.conformers(),
            ".0%",
        ),
    ):
        # One persona or one model has nobody to be held against.
        if len(shares) > 1 or (shares and not title.startswith("the same")):
            parts.append(Text(f"  {title}", "dim"))
            parts.append(_shares(shares, form))
    return Group(*parts)


def _shares(shares: Sequence[Share], form: str) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for share in shares:
        value = "" if share.value is None else format(share.value, form)
        table.add_row("   ", Text(safe(share.name)), Text(value, "bold"), Text(f"n {share.n}", "dim"))
    return table


def _look_first(
    looks: Sequence[tuple[float, int, Verdict, tuple[Flag, ...]]], reword: Rewording
) -> RenderableType:
    flagged_ones = [(verdict, reword(verdict, found)) for _, _, verdict, found in looks if found]
    if not flagged_ones:
        return Text("\nNo deliberation was flagged.", "green")
    table = Table(
        box=None, padding=(0, 2, 0, 0), header_style="dim", title="\nread these first", title_justify="left"
    )
    for column in ("case", "arm", "flag", "why"):
        table.add_column(column, overflow="fold")
    for verdict, found in flagged_ones:
        top = found[0]
        style = WEIGHTS[top.weight]
        why = f"{top.attribute}: {safe(top.text)}" if top.attribute else safe(top.text)
        table.add_row(Text(safe(verdict.case)), verdict.arm, Text(top.kind, style), Text(why))
    return table
