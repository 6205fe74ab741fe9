"""The votes on one attribute: the lanes, and each juror's reasons behind its dot."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...agents.orchestrator import Dispute
from ...evals.report.markup import Html, element, fragment, shorten
from ...orchestration.reading.analysis import Flag
from ...orchestration.reading.analysis.movement import Step, influence, paths
from ...orchestration.record.database import is_address
from ...orchestration.replay.controls import CONDITIONS
from ...orchestration.transcript import Ledger, Transcript
from ...orchestration.verdict import Outcome, Verdict
from ...rubrics.rubric import Rubric
from ...rubrics.scale import Value
from ..lanes import Lanes, vote_id
from ..scales import score_words
from .frame import badge, quiet

if TYPE_CHECKING:
    from ...evals.causes.controls import Controls

REASON = 6_000
QUOTE = 1_200


def attribute_section(
    verdict: Verdict,
    rubric: Rubric,
    lanes: Lanes,
    attribute: str,
    found: Sequence[Flag],
    *,
    prefix: str = "",
    revisions: Revisions | None = None,
) -> Html:
    """One attribute: its verdict in a line, its lanes, everyone's last reasons in view, earlier ones to unfold."""
    outcome = verdict.outcomes[attribute]
    own = [flag for flag in found if flag.attribute == attribute]
    return element(
        "section",
        {"class": "attribute" + (" flagged" if own else ""), "id": f"{prefix}a-{attribute}"},
        element(
            "details",
            {"open": True},
            element(
                "summary",
                None,
                element("h3", None, attribute),
                element(
                    "span",
                    {"class": f"outcome {outcome.status}"},
                    verdict_words(outcome, pair=rubric.compares),
                ),
                quiet(how(outcome)),
                [badge(kind, weight) for kind, weight in _kinds(own)],
            ),
            element("p", {"class": "question"}, rubric.by_name[attribute].question),
            [element("p", {"class": f"why w{flag.weight}"}, flag.text) for flag in own],
            votes(verdict, lanes, attribute, prefix=prefix, revisions=revisions),
        ),
    )


class Revisions:
    """What is known of a deliberation's revisions beyond the record: their controls, and the commands that ask on."""

    def __init__(
        self,
        verdict: Verdict,
        run: str | None,
        controls: Mapping[tuple[str, str, str], Controls] | None = None,
    ) -> None:
        """`run` is None where it cannot be replayed; `controls` are by arm, entry and attribute."""
        self._verdict = verdict
        self._run = run
        self._controls = controls or {}
        self._towards = {(d.move.entry, d.move.attribute): d.source for d in influence(verdict.transcript)}

    def view(self, juror: str, step: Step, attribute: str) -> Html | None:
        """The controls of one revision as a row of dots for each condition, then the commands; None of any other vote."""
        if step.purpose != "revision":
            return None
        controls = self._controls.get((self._verdict.arm, step.entry, attribute))
        if controls is None and self._run is None:
            return None
        towards = self._towards.get((step.entry, attribute))
        commands = [] if controls else [self._command("controls", "--controls", "--draws", "10")]
        if towards or not commands:
            struck = towards or juror
            commands.append(self._command(f"without-{struck}", "--without", struck))
        return element(
            "div",
            {"class": "revision"},
            None if controls is None else _dots(controls),
            element(
                "details",
                None,
                element("summary", {"class": "quiet"}, "commands that ask this juror again"),
                commands,
            )
            if self._run
            else None,
        )

    def _command(self, child: str, *options: str) -> Html:
        """A command of `venire replay`, with a button that copies it; the child lies beside the run."""
        run, arm = self._run or "", self._verdict.arm
        kept = child if is_address(run) else f"{run}-{child}"
        words = shlex.join(["venire", "replay", run, self._verdict.case, "--arm", arm, *options, "-o", kept])
        button = element("button", {"type": "button", "data-copy": words}, "copy")
        return element("p", {"class": "command"}, element("code", None, words), " ", button)


def _dots(controls: Controls) -> Html:
    """How often a revision moved when it was asked again, and its kind where there are draws enough; who did it, folded."""
    who = sorted(condition for condition in controls.draws if " " in condition)
    folded = element("details", None, element("summary", {"class": "quiet"}, "which juror caused the move"), _rows_of_dots(controls, who)) if who else None  # fmt: skip
    return fragment(
        quiet("how often the juror changed its score when it was asked again"),
        element("b", {"class": "kind"}, f" · {controls.label}") if controls.label else None,
        _rows_of_dots(controls, CONDITIONS),
        folded,
    )


def _rows_of_dots(controls: Controls, conditions: Sequence[str]) -> Html:
    def row(condition: str) -> Html:
        dots = element("span", {"class": "draws", "aria-hidden": "true"}, controls.dots(condition))
        times = quiet("{} of {}".format(*controls.times(condition)))
        return element("div", None, element("dt", None, condition), element("dd", None, dots, times))

    return element("dl", {"class": "asked-again"}, [row(condition) for condition in conditions])


def votes(
    verdict: Verdict, lanes: Lanes, attribute: str, *, prefix: str = "", revisions: Revisions | None = None
) -> Html:
    """The lanes, then what was said of the attribute in its order: votes, each juror's last in view, and the orchestrator's questions."""
    return fragment(
        element("div", {"class": "figure", "tabindex": "0", "role": "region", "aria-label": f"Votes of {verdict.arm} on {attribute}"}, lanes.drawing(attribute)),
        element("div", {"class": "votes"}, _speech(verdict, attribute, prefix, revisions)),
        _decision(verdict.outcomes[attribute], pair=verdict.transcript.compares),
    )  # fmt: skip


def verdict_words(outcome: Outcome, *, pair: bool) -> str:
    if outcome.status == "reached":
        return score_words(outcome.value, pair=pair)
    return {"hung": "hung", "not_applicable": "n/a"}[outcome.status]


def how(outcome: Outcome) -> str:
    """The counting method of an outcome, and how many votes agree; why, where the jury is hung."""
    if outcome.status == "hung":
        return outcome.why
    behind = (
        ""
        if outcome.support is None
        else f", {round(outcome.support * outcome.votes)} of {outcome.votes} agree"
    )
    return f"by {outcome.method}{behind}"


def _kinds(found: Sequence[Flag]) -> list[tuple[str, int]]:
    kinds: dict[str, int] = {}
    for flag in found:
        kinds[flag.kind] = max(flag.weight, kinds.get(flag.kind, 0))
    return list(kinds.items())


def _speech(verdict: Verdict, attribute: str, prefix: str, revisions: Revisions | None) -> list[Html]:
    """Votes and the orchestrator's questions on the attribute, in the order in which they were spoken."""
    order = {entry.id: number for number, entry in enumerate(verdict.transcript.entries)}
    said: list[tuple[int, Html]] = []
    pair = verdict.transcript.compares
    for juror, walked in paths(verdict.transcript).get(attribute, {}).items():
        for number, step in enumerate(walked):
            before = walked[number - 1].vote.value if number else None
            last = step is walked[-1]
            more = revisions.view(juror, step, attribute) if revisions else None
            purpose = _purpose(verdict.transcript, step)
            said.append(
                (order[step.entry], _vote(juror, step, before, attribute, prefix, last, more, pair, purpose))
            )
    for entry in verdict.transcript.entries:
        if isinstance(entry, Ledger):
            said += [(order[entry.id], _question(entry, asked)) for asked in entry.disputes if asked.attribute == attribute]  # fmt: skip
    return [spoken for _, spoken in sorted(said, key=lambda each: each[0])]


def _question(entry: Ledger, asked: Dispute) -> Html:
    """What the orchestrator found disputed, and whom it asked what."""
    return element(
        "div",
        {"class": "asked"},
        element("span", {"class": "who"}, entry.speaker),
        quiet(f" round {entry.round}, to {', '.join(asked.to)}"),
        element("p", {"class": "dispute", "dir": "auto"}, shorten(asked.dispute, REASON)),
        element("p", {"class": "reason", "dir": "auto"}, shorten(asked.question, REASON)) if asked.question else None,
    )  # fmt: skip


def _purpose(transcript: Transcript, step: Step) -> str:
    """What a vote is beside an opinion: one of a judge's several hearings, or said under orders."""
    hearings = [entry.id for entry in transcript.heard if entry.purpose == "repeat"]
    if step.purpose == "repeat" and len(hearings) > 1:
        return f"hearing {hearings.index(step.entry) + 1} of {len(hearings)}"
    return {
        "challenge": "told to argue against the score that all jurors gave",
        "argument": "argues a side",
    }.get(step.purpose, "")


def _vote(
    juror: str,
    step: Step,
    before: Value | None,
    attribute: str,
    prefix: str,
    opened: bool,
    more: Html | None,
    pair: bool,
    purpose: str,
) -> Html:
    vote = step.vote
    moved = before is not None and before != vote.value
    was = f"{score_words(before, pair=pair)} → " if moved else ""
    score = f"{was}{score_words(vote.value, pair=pair)}"
    missing = sum(not quote.found for quote in vote.evidence)
    sure = f"confidence {vote.confidence}" if vote.confidence else ""
    return element(
        "details",
        {"class": "vote", "id": vote_id(step.entry, attribute, prefix), "open": opened},
        element(
            "summary",
            None,
            element("span", {"class": "who"}, juror),
            quiet(f"round {step.round}"),
            element("span", {"class": "score moved" if moved else "score"}, score),
            quiet(", ".join(filter(None, (purpose, sure)))),
            badge("unsupported-evidence", 3) if missing else None,
        ),
        element("p", {"class": "reason", "dir": "auto"}, shorten(vote.rationale, REASON)),
        [_quote(quote.text, quote.exhibit) for quote in vote.evidence],
        element("p", {"class": "moved-by", "dir": "auto"}, "Moved by: ", shorten(vote.moved_by, REASON)) if vote.moved_by and moved else None,
        quiet("quotes nothing") if not vote.evidence else None,
        more,
    )  # fmt: skip


def _quote(text: str, exhibit: str | None) -> Html:
    return element(
        "figure",
        {"class": "quote" if exhibit else "quote missing"},
        element("blockquote", {"dir": "auto"}, shorten(text, QUOTE)),
        element("figcaption", None, exhibit or "this quote is not in any text of the case"),
    )


def _decision(outcome: Outcome, *, pair: bool) -> Html:
    if outcome.method != "decision" or not outcome.why:
        return fragment()
    against = [f"{dissent.juror} ({score_words(dissent.value, pair=pair)})" for dissent in outcome.dissent]
    return element(
        "div",
        {"class": "decision"},
        element("h4", None, "The orchestrator decides ", score_words(outcome.value, pair=pair)),
        element("p", {"class": "reason", "dir": "auto"}, shorten(outcome.why, REASON)),
        quiet("against ", ", ".join(against)) if against else None,
    )
