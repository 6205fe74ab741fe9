"""One deliberation in the terminal: round by round, what each juror gave and why, and how it ended; or as plain lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from textwrap import TextWrapper
from types import MappingProxyType

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...personas.jury import ModelSettings
from ...rubrics.ballot import Vote, find_span
from ...rubrics.case import Case, Exhibit
from ...rubrics.errors import count_words, safe
from ...rubrics.scale import Value, preferred_side, value_words
from ..deliberate import asked_seats
from ..protocols.magentic_chat import ledger_words
from ..record import Arm
from ..transcript import (
    Abstained,
    Cast,
    Checked,
    Controlled,
    Decided,
    Entry,
    Extracted,
    Ledger,
    Said,
    Transcript,
)
from ..verdict import Outcome, Verdict
from .analysis import Flag, distinct_flags

WEIGHTS = {1: "cyan", 2: "yellow", 3: "bold red", 4: "bold white on red"}
"""The style of a flag, by weight."""


SeatVersions = Mapping[str, Collection[str]]
"""By seat, its model as the provider stated it."""


def models_of(arm: Arm, versions: SeatVersions = MappingProxyType({})) -> list[str]:
    """The models of the seats that an arm asks, each once, with the versions that its provider stated and its temperature."""
    return list(_seats_by_model(arm, versions))


def judges_words(arm: Arm, versions: SeatVersions) -> str:
    """Each model with its version, its temperature and seats, and the hash of the prompts."""
    seats_by_model = _seats_by_model(arm, versions)
    models = "; ".join(f"{model} ({', '.join(seats)})" for model, seats in seats_by_model.items())
    return f"{models} · {prompts_words([arm])}"


def prompts_words(arms: Iterable[Arm]) -> str:
    """The hashes of the prompts that arms were asked with."""
    hashes = dict.fromkeys(str(arm.manifest.get("prompts", "unknown"))[:12] for arm in arms)
    return f"prompts {', '.join(hashes)}"


def _seats_by_model(arm: Arm, versions: SeatVersions) -> dict[str, list[str]]:
    seats: dict[tuple[str, str], list[str]] = {}
    for name, settings in asked_seats(arm.jury).items():
        key = (_without_folders(settings.model), _temperature_words(settings))
        seats.setdefault(key, []).append(name)
    return {
        f"{model}{_version_words({each for name in names for each in versions.get(name, ())})}{temperature}": names
        for (model, temperature), names in seats.items()
    }


def _temperature_words(settings: ModelSettings) -> str:
    """The temperature that a model is asked at; "not set" leaves it to the provider. Nothing of seats that are no language model."""
    kind = str(settings.model).partition("/")[0]
    if settings.temperature is not None:
        return f", temperature {settings.temperature:g}"
    if kind in ("lens", "recorded", "scripted", "person"):
        return ""
    return ", temperature 0" if kind == "local" else ", temperature not set"


def versions_of(transcript: Transcript) -> dict[str, set[str]]:
    """By seat, the versions of its own model that were stated in a deliberation."""
    versions: dict[str, set[str]] = {}
    for entry in transcript.entries:
        if entry.spent.versions and not entry.spent.by:
            # A judge's repeats are named judge#2, judge#3.
            versions.setdefault(entry.speaker.partition("#")[0], set()).update(entry.spent.versions)
    return versions


def _version_words(versions: Collection[str]) -> str:
    """In brackets, how the provider states a model; how many, where it stated several."""
    if not versions:
        return ""
    number = f"{len(versions)} versions: " if len(versions) > 1 else ""
    return f" ({number}{' and '.join(sorted(versions))})"


def _without_folders(model: str | None) -> str:
    """A model that is a file by the file's name: where it lies is nobody's business who reads the page."""
    kind, _, path = str(model).partition("/")
    return (
        f"{kind}/{path.rpartition('/')[2]}"
        if kind in ("scripted", "recorded", "local") and path
        else str(model)
    )


def judges_line(arm: Arm, transcript: Transcript) -> str:
    """Who judged in a deliberation."""
    return f"judged by {judges_words(arm, versions_of(transcript))}"


def show(
    verdict: Verdict,
    console: Console,
    found: Sequence[Flag] = (),
    exhibits: Sequence[Exhibit] = (),
    pair: Case | None = None,
) -> None:
    """Print the whole deliberation, and before it what was `found` to deserve a look.

    `exhibits` come first, what was quoted lit. Of a `pair`, both outputs stand side by side, and the systems behind them are named.
    """
    if exhibits:
        console.print(_texts(verdict, exhibits, compared=pair is not None))
    for part in _parts(verdict, found, pair):
        console.print(part)
    if pair is not None:
        system_a, system_b = map(safe, pair.sides)
        console.print(Text(f"output A is by {system_a}, output B is by {system_b}", "dim"))


def _texts(verdict: Verdict, exhibits: Sequence[Exhibit], *, compared: bool) -> Group:
    """What the jury read, quotes lit where they stand; of a pair, the two outputs beside each other."""
    quotes = {
        (quote.exhibit, quote.text)
        for cast in verdict.transcript.ballots
        for vote in cast.ballot.votes
        for quote in vote.evidence
    }

    def lit(exhibit: Exhibit) -> Text:
        text = Text(safe(exhibit.text) if exhibit.text.strip() else "(empty)")
        for where, quote in quotes:
            if where == exhibit.name and (span := find_span(safe(quote), text.plain)) is not None:
                text.stylize("bold green", *span)
        return text

    if not compared:
        titled = [Text.assemble((f"{exhibit.name}\n", "dim"), lit(exhibit)) for exhibit in exhibits]
        return Group(*titled, Text(""))
    *sources, a, b = exhibits
    table = Table(expand=True, header_style="bold")
    for exhibit in (a, b):
        table.add_column(exhibit.name, ratio=1, overflow="fold")
    table.add_row(lit(a), lit(b))
    told = [Text.assemble((f"{source.name}: ", "dim"), lit(source)) for source in sources]
    same = [Text("the two outputs are the same text", "yellow")] if a.text == b.text else []
    return Group(*told, table, *same, Text(""))


def deliberation_text(verdict: Verdict, width: int) -> str:
    """The whole deliberation as `show` prints it, without colours."""
    return "\n".join(line for part in _parts(verdict, ()) for line in plain_lines(part, width))


def _parts(verdict: Verdict, found: Sequence[Flag], judged: Case | None = None) -> Iterator[RenderableType]:
    transcript = verdict.transcript
    yield Text.assemble(
        ("case ", "dim"), (safe(verdict.case), "bold"), ("  jury ", "dim"), (verdict.arm, "bold"),
        ("  protocol ", "dim"), (transcript.protocol, "bold"),
    )  # fmt: skip
    yield from map(_flag, distinct_flags(found, transcript.rounds))
    yield from map(EntryRenderer().render, transcript.entries)
    yield Text("")
    yield Text.assemble(("stopped: ", "dim"), (safe(str(verdict.stop)), "bold"))
    yield outcome_table(verdict, judged)
    for name, outcome in verdict.outcomes.items():
        yield from _reasons(name, outcome, pair=transcript.compares)
    cost = transcript.cost
    yield Text(
        f"{count_words(transcript.rounds, 'round')}, {count_words(transcript.turns, 'turn')}, {count_words(cost.calls, 'call')}, "
        f"{count_words(transcript.steps, 'serial step')}, {cost.usage.prompt}+{cost.usage.completion} tokens, {cost.price}, {cost.seconds:.1f} s",
        "dim",
    )


def _flag(flag: Flag) -> Text:
    where = f" {flag.attribute}" if flag.attribute else ""
    return Text.assemble(
        ("! ", WEIGHTS[flag.weight]),
        (flag.kind, WEIGHTS[flag.weight]),
        (where, "bold"),
        f": {safe(flag.text)}",
    )


class EntryRenderer:
    """Renders entries in order; remembers each juror's last vote, to mark changes."""

    def __init__(self) -> None:
        self._round = 0
        self._held: dict[tuple[str, str], Value] = {}

    def render(self, entry: Entry) -> RenderableType:
        parts: list[RenderableType] = []
        if entry.round != self._round:
            self._round = entry.round
            parts.append(Text(f"\nround {entry.round}", "bold underline"))
        parts.extend(self._entry(entry))
        return Group(*parts)

    def _entry(self, entry: Entry) -> Iterator[RenderableType]:
        match entry:
            case Cast():
                purpose = {"challenge": " argues against the agreement", "revision": " answers"}.get(
                    entry.purpose, ""
                )
                order = f" (output {entry.first} first)" if entry.first in ("A", "B") else ""
                order = " (in both orders)" if entry.first == "both" else order
                yield Text.assemble(
                    (f"{entry.speaker}", "bold cyan"), (purpose, "cyan"), (order, "dim"), _alternate(entry)
                )
                yield Padding(self._votes(entry), (0, 0, 0, 2))
                for part in entry.ballot.abstained:
                    yield Text.assemble(
                        f"  {part.attribute} ",
                        ("abstains ", "bold red"),
                        (f"{part.reason}: {safe(part.detail)}", "red"),
                    )
                if entry.ballot.silent_on:
                    yield Text(f"  no opinion on {', '.join(entry.ballot.silent_on)}", "dim")
            case Abstained():
                abstention = entry.abstention
                yield Text.assemble(
                    (f"{entry.speaker} ", "bold cyan"),
                    ("abstains ", "bold red"),
                    (f"{abstention.reason}: {safe(abstention.detail)}", "red"),
                )
            case Ledger():
                again = " (asks new questions)" if entry.replan else ""
                yield Text.assemble(
                    ("orchestrator", "bold magenta"),
                    (f" names what is disputed{again}", "magenta"),
                    _alternate(entry),
                )
                if entry.note:
                    yield Text(f"  {safe(entry.note)}", "red")
                if entry.declared:
                    yield Text(f"  declares consensus on {', '.join(entry.declared)}", "green")
                for dispute in entry.disputes:
                    to = ", ".join(dispute.to)
                    yield Padding(Text(f"{dispute.attribute}: {safe(dispute.dispute)}"), (0, 0, 0, 2))
                    yield Padding(Text(f"to {to}: {safe(dispute.question)}", "italic"), (0, 0, 0, 4))
            case Decided():
                yield Text.assemble(("\norchestrator decides", "bold magenta"), _alternate(entry))
                for finding in entry.findings:
                    weighed = ", ".join(finding.weighed) or "no ballot"
                    yield Text.assemble(
                        f"  {finding.attribute}: ",
                        (value_words(finding.value, pair=entry.first is not None), "bold"),
                        (f"  (weighed {weighed})", "dim"),
                    )
                    yield Padding(Text(safe(finding.rationale)), (0, 0, 0, 4))
            case Extracted() | Checked() | Controlled():
                yield Text.assemble((f"{entry.speaker} ", "bold cyan"), (entry.summary, "cyan"))
            case Said():
                text = ledger_words(entry.text) if entry.about == "ledger" else entry.text
                yield Text.assemble(
                    (f"{entry.who} ", "bold magenta"), (f"{entry.about}: ", "magenta"), safe(text)
                )

    def _votes(self, entry: Cast) -> Table:
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for vote in entry.ballot.votes:
            key = (entry.speaker, vote.attribute)
            before = self._held.get(key)
            self._held[key] = vote.value
            moved = before is not None and before != vote.value
            now = value_words(vote.value, pair=entry.first is not None)
            was = f"{value_words(before, pair=entry.first is not None)} -> " if moved else ""
            table.add_row(
                vote.attribute, Text(f"{was}{now}", "bold yellow" if moved else "bold"), _words(vote)
            )
        return table


def _alternate(entry: Entry) -> tuple[str, str]:
    """Who answered in place of the seat's own model, if anybody."""
    return (f" (answered by its alternate {safe(entry.spent.by)})", "yellow") if entry.spent.by else ("", "")


def _words(vote: Vote) -> Text:
    words = Text(safe(vote.rationale))
    for quote in vote.evidence:
        where = f"[{quote.exhibit}]" if quote.found else "[not found in any text of the case]"
        words.append(
            f"\n\N{LEFT DOUBLE QUOTATION MARK}{safe(quote.text)}\N{RIGHT DOUBLE QUOTATION MARK} ", "italic"
        )
        words.append(where, "green" if quote.found else "red")
    if vote.moved_by:
        words.append(f"\nmoved by: {safe(vote.moved_by)}", "yellow")
    return words


def outcome_table(verdict: Verdict, pair: Case | None = None) -> Table:
    """The verdict, a row an attribute; of a pair, with the system that is preferred."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("attribute", "verdict", "support", "spread", "by"):
        table.add_column(column, no_wrap=True)
    for name, outcome in verdict.outcomes.items():
        style = {"reached": "bold green", "hung": "bold red"}.get(outcome.status, "bold")
        value = value_words(outcome.value, pair=verdict.transcript.compares)
        if pair is not None and outcome.value is not None and (side := preferred_side(outcome.value)):
            value += f" ({safe(pair.preferred_system(side))})"
        table.add_row(
            name,
            Text(value if outcome.status == "reached" else outcome.status, style),
            "" if outcome.support is None else f"{outcome.support:.0%} of {outcome.votes}",
            "" if outcome.spread is None else f"{outcome.spread:g}",
            outcome.method,
        )
    for name, score in verdict.derived.items():
        table.add_row(Text(name, "italic"), Text(f"{score:g}", "green"), "", "", "derived")
    return table


def _reasons(name: str, outcome: Outcome, *, pair: bool) -> Iterator[Text]:
    if outcome.status == "hung":
        yield Text(f"{name} is hung: {safe(outcome.why)}", "red")
    for dissent in outcome.dissent:
        if outcome.status == "reached" and outcome.method in ("decision", "consensus", "median", "mode"):
            gave = value_words(dissent.value, pair=pair)
            yield Text(f"{name}, dissent: {dissent.juror} gave {gave}. {safe(dissent.reason)}", "yellow")


def plain_lines(part: RenderableType, width: int) -> Iterator[str]:
    """The lines of a text, a table without a frame, or what holds some of them; words that do not fit go to the next line."""
    match part:
        case Group():
            for each in part.renderables:
                yield from plain_lines(each, width)
        case Padding():
            for line in plain_lines(part.renderable, width - part.left):
                yield f"{' ' * part.left}{line}".rstrip()
        case Table():
            yield from _table_lines(part, width)
        case _:
            text = part.plain if isinstance(part, Text) else str(part)
            for line in text.split("\n"):
                yield from _fitting_lines(line, width)


def _table_lines(table: Table, width: int) -> Iterator[str]:
    """Its rows, columns as wide as their longest cell; the last column has what is left."""
    _, gap, _, _ = table.padding
    columns = [
        ([str(column.header)] if table.show_header else [])
        + [cell.plain if isinstance(cell, Text) else str(cell) for cell in column.cells]
        for column in table.columns
    ]
    *first, last = columns
    places = [max(map(len, column), default=0) + gap for column in first]
    left = sum(places)
    for *cells, words in zip(*first, last, strict=True):
        head = "".join(cell.ljust(place) for cell, place in zip(cells, places, strict=True))
        lines = [line for part in words.split("\n") for line in _fitting_lines(part, width - left - gap)]
        yield f"{head}{lines[0]}".rstrip()
        yield from (f"{' ' * left}{line}".rstrip() for line in lines[1:])


def _fitting_lines(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line.rstrip()]
    wrapper = TextWrapper(max(width, 1), break_on_hyphens=False, replace_whitespace=False, expand_tabs=False)
    return wrapper.wrap(line) or [""]
