"""What was said outside the ballots: ledgers, challenges, abstentions, notes; and how the deliberation moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from ...agents.model import FailedTry
from ...evals.report.html import svg
from ...evals.report.markup import Html, element, fragment, shorten
from ...orchestration.protocols.magentic_chat import ledger_words
from ...orchestration.reading.analysis import convergence, influence, turning_points
from ...orchestration.reading.analysis.census import Flow
from ...orchestration.record import Arm, UnfinishedDeliberation
from ...orchestration.record.reader import RecordedCall
from ...orchestration.transcript import (
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
from ...orchestration.verdict import Verdict
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ...rubrics.scale import Value, value_words
from ..charts import flows_figure, spread_figure
from ..scales import ScalePositions, score_words
from ..search import CaseSearch
from .frame import arm_words, heading, quiet
from .texts import marked_texts
from .votes import REASON


def proceedings(verdict: Verdict, calls: Mapping[str, RecordedCall] | None = None) -> Html:
    """The deliberation in order, a line for each thing that was said, under each the `calls` behind it, word for word."""
    end = element("li", {"class": "stop"}, element("b", None, "stopped"), " ", str(verdict.stop))
    return element("ol", {"class": "proceedings"}, spoken_lines(verdict.transcript, calls or {}), end)


def spoken_lines(
    transcript: Transcript, calls: Mapping[str, RecordedCall] = MappingProxyType({})
) -> list[Html]:
    """Everything said so far, a list item each."""
    return [
        element("li", {"class": entry.kind}, _line(entry), _every_word(entry, calls))
        for entry in transcript.entries
    ]


def _every_word(entry: Entry, calls: Mapping[str, RecordedCall]) -> Html:
    """The messages as they were sent and the replies as they came, folded; a try that failed comes before its repair.

    Tries that brought no reply at all are named after them.
    """
    tries = [calls[key] for key in entry.spent.calls if key in calls]
    return fragment(
        *(
            _call_words(call, f"try {n} of {len(tries)}: " if len(tries) > 1 else "")
            for n, call in enumerate(tries, 1)
        ),
        _failed_tries(entry.spent.failures),
    )


def _failed_tries(failures: Sequence[FailedTry]) -> Html | None:
    """The tries that brought no reply, folded: when each was sent, how it failed, how long it took."""
    if not failures:
        return None
    number = f"{len(failures)} {'try' if len(failures) == 1 else 'tries'} without a reply"
    rows = [
        f"{datetime.fromtimestamp(each.at, UTC):%Y-%m-%d %H:%M:%S} UTC · {each.reason}: {each.detail} · {each.seconds:.2f} s"
        for each in failures
    ]
    return element(
        "details",
        {"class": "every-word"},
        element("summary", None, number),
        element("ul", None, [element("li", None, row) for row in rows]),
    )


def _call_words(call: RecordedCall, which: str) -> Html:
    price = "price unknown" if call.usd is None else f"${call.usd:.4f}"
    cached = f", {call.usage.cached:,} cached" if call.usage.cached else ""
    facts = f"{call.usage.prompt:,} tokens in{cached}, {call.usage.completion:,} out · {call.seconds:.2f} s · {price}"
    stated = f" ({call.version})" if call.version else ""
    ended = "" if call.finish == "stop" else f" · ended: {call.finish}"
    parts = [*call.messages, ("reply", call.reply)]
    return element(
        "details",
        {"class": "every-word"},
        element("summary", None, f"{which}every word", quiet(f" {call.model}{stated} · {facts}{ended}")),
        quiet(f"settings {call.settings}") if call.settings != "{}" else None,
        [
            element(
                "div",
                {"class": f"message {role}"},
                element("b", None, role),
                " ",
                element("button", {"type": "button", "class": "copy", "data-copy-next": True}, "copy"),
                element("pre", {"dir": "auto"}, text),
            )
            for role, text in parts
        ],
    )


def movement(verdict: Verdict, rubric: Rubric) -> Html:
    """Who moved towards whom, how the votes came together, and where the jury turned."""
    transcript = verdict.transcript
    drawn: dict[tuple[str, str], float] = {}
    for one in influence(transcript):
        key = (one.source, one.move.juror)
        drawn[key] = drawn.get(key, 0.0) + one.credit
    found = [Flow(source, mover, credit) for (source, mover), credit in drawn.items()]
    curves = []
    for attribute, points in convergence(transcript).items():
        if attribute not in rubric.by_name:
            continue
        axis = ScalePositions.of(rubric, attribute)
        places = [[axis.at(value) for value in point.values.values()] for point in points]
        apart = [
            (point.round, max(at) - min(at)) for point, at in zip(points, places, strict=True) if len(at) > 1
        ]
        if len(apart) > 1:
            curves.append(
                element(
                    "figure",
                    None,
                    svg(spread_figure(apart, f"Spread of {attribute}"), {"class": "plot"}),
                    element("figcaption", None, attribute),
                )
            )
    pair = rubric.compares
    turns = [
        element("li", None, element("b", None, t.attribute), f" in round {t.round}: {_turning_words(t.before, t.after, t.settled, pair=pair)}, by "
                + ", ".join(f"{m.juror} ({score_words(m.before, pair=pair)} → {score_words(m.after, pair=pair)})" for m in t.moves))
        for t in turning_points(transcript)
    ]  # fmt: skip
    if not found and not curves and not turns:
        return element("p", {"class": "quiet"}, "Nobody moved.")
    return fragment(
        element("div", {"class": "plots"}, svg(flows_figure(transcript.seats, found, "Who moved towards whom"), {"class": "plot flows"}) if found else None,
                element("div", {"class": "curves"}, curves)),
        element("h3", None, "Turning points") if turns else None,
        element("ul", {"class": "turns"}, turns) if turns else None,
    )  # fmt: skip


def _turning_words(before: Value | None, after: Value | None, settled: bool, *, pair: bool) -> str:
    if before == after:
        return "the jury agreed"
    was, now = (value_words(value, pair=pair) for value in (before, after))
    middle = (
        f"the median went from {was} to {now}"
        if isinstance(after, float)
        else f"the commonest vote went from {was} to {now}"
    )
    return f"{middle} and the jury agreed" if settled else middle


def _line(entry: Entry) -> Html:
    who = element("b", None, entry.speaker)
    alternate = f", answered by its alternate {entry.spent.by}" if entry.spent.by else ""
    when = quiet(f"round {entry.round}{alternate}")
    pair = entry.first is not None
    match entry:
        case Cast():
            scores = ", ".join(
                f"{vote.attribute} {score_words(vote.value, pair=pair)}" for vote in entry.ballot.votes
            )
            verb = {"challenge": "argues against the agreement:", "revision": "answers:"}.get(
                entry.purpose, "votes:"
            )
            abstained = [f"; abstains on {part.attribute} ({part.reason})" for part in entry.ballot.abstained]
            return fragment(who, " ", when, f" {verb} {scores}", *abstained)
        case Abstained():
            told = entry.abstention
            return fragment(who, " ", when, f" abstains ({told.reason}): ", shorten(told.detail, 400))
        case Ledger():
            author = (
                " (the orchestrator named no point in dispute, so a fixed rule chose the questions)"
                if entry.author == "code"
                else ""
            )
            asked = [
                element("li", {"dir": "auto"}, element("b", None, d.attribute), " ", shorten(d.dispute, REASON), " ",
                        element("em", None, shorten(d.question, REASON)), quiet(" to ", ", ".join(d.to)))
                for d in entry.disputes
            ]  # fmt: skip
            again = " asks new questions" if entry.replan else " names what is disputed"
            return fragment(
                who, " ", when, again, author, element("ul", None, asked), shorten(entry.note, 400)
            )
        case Decided():
            found = [
                element("li", {"dir": "auto"}, element("b", None, f.attribute, " ", score_words(f.value, pair=pair)), " ",
                        shorten(f.rationale, REASON), quiet(" weighed ", ", ".join(f.weighed) or "no ballot"))
                for f in entry.findings
            ]  # fmt: skip
            return fragment(who, " ", when, " decides", element("ul", None, found))
        case Said():
            text = ledger_words(entry.text) if entry.about == "ledger" else entry.text
            return fragment(who, " ", when, f" {entry.about}: ", shorten(text, REASON))
        case Extracted() | Checked() | Controlled():
            return fragment(who, " ", when, " ", entry.summary)


def progress_section(going: Sequence[UnfinishedDeliberation], arms: Sequence[Arm]) -> Html:
    """What is being deliberated now, with the way to each; empty where nothing is, but there to be renewed."""
    names = {arm.id: arm.name for arm in arms}
    items = [
        element(
            "li",
            None,
            element("a", {"class": "case open", "href": CaseSearch().address("case", id=each.case, in_arm=names[each.arm])}, shorten(each.case, 60)),
            quiet(" ", names[each.arm], " · ", _how_far(each.transcript)),
        )
        for each in going
        if each.arm in names
    ]  # fmt: skip
    shown = (heading("In progress"), element("ul", {"class": "progress"}, items)) if items else ()
    return element("section", {"data-live": "progress"}, *shown)


def progress_view(going: UnfinishedDeliberation, arm: Arm, case: Case | None) -> Html:
    """One deliberation as far as it has come: the votes that stand, and everything said, in order."""
    transcript = going.transcript
    return fragment(
        element(
            "div",
            {"class": "head"},
            element("h1", None, shorten(going.case, 120)),
            element("p", {"class": "quiet"}, arm_words(arm.name, transcript.protocol), " · in progress"),
        ),
        element(
            "div",
            {"data-live": "deliberation"},
            element("p", {"role": "status", "class": "progress-told"}, _how_far(transcript)),
            heading("Current votes"),
            _standing(transcript, arm.rubric),
            heading("Everything that happened, in order"),
            element("ol", {"class": "proceedings"}, spoken_lines(transcript)),
        ),
        element("aside", {"aria-label": "The case's texts"}, marked_texts(case, arm.rubric, {})) if case else None,
    )  # fmt: skip


def _how_far(transcript: Transcript) -> str:
    last = transcript.entries[-1].speaker if transcript.entries else ""
    spoke = f"; {last} spoke last" if last else ""
    turns = transcript.turns
    return f"round {max(1, transcript.rounds)}, {turns} juror turn{'' if turns == 1 else 's'}{spoke}"


def _standing(transcript: Transcript, rubric: Rubric) -> Html:
    """Each juror's last vote on each attribute."""
    standing = transcript.standing()

    def cells(name: str) -> list[Html]:
        votes = standing.get(name, {})
        held = [votes.get(seat) for seat in transcript.seats]
        return [
            element("td", None, "" if each is None else score_words(each.vote.value, pair=rubric.compares))
            for each in held
        ]

    head = [element("th", {"scope": "col"}, words) for words in ("attribute", *transcript.seats)]
    rows = [element("tr", None, element("th", {"scope": "row"}, name), cells(name)) for name in rubric.names]
    return element(
        "div",
        {"class": "wide", "tabindex": "0", "role": "region", "aria-label": "Current votes"},
        element(
            "table",
            None,
            element("thead", None, element("tr", None, head)),
            element("tbody", None, rows),
        ),
    )
