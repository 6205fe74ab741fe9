"""Instability, conformity or persuasion: what recorded moves come to under controls.

With F the recorded moves over all exposures, and A, B, C the moves that the same jurors make when asked again alone, with the
scores, and with the reasons of the others (means over draws):

    instability = A / F
    conformity  = ((B - A) + (F - C)) / 2 / F
    persuasion  = ((C - A) + (F - B)) / 2 / F

The last two are the Shapley values of scores and reasons: what each adds, averaged over which comes first. The three add up to
one and are not clipped: a share below 0 or above 1 says that chance, or an order of effects, is at work.

References:
    Shapley (1953), "A value for n-person games", Contributions to the Theory of Games II:307-317.
    Miller (1974), "The jackknife: a review", Biometrika 61:1-15, for intervals that leave out one case at a time.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from rich.console import Console

from ...orchestration.reading.analysis import Flag
from ...orchestration.reading.side_by_side import parent_run
from ...orchestration.record import Location, Store, without_password
from ...orchestration.replay.controls import CONDITIONS, Exposure, exposures, run_controls
from ...orchestration.replay.replay import ReplaySession
from ...orchestration.transcript import Controlled
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.scale import Value
from ..ratings.people import load_ratings
from ..ratings.question import rubric_questions
from ..ratings.reference import reference
from ..report.section import estimate_json
from ..report.terminal import estimate_words, plain_table
from ..statistics.estimate import Estimate, undefined
from ..statistics.jackknife import RAW, SHARE, Spread, jackknife_spread

LABELLED_FROM = 10
"""Draws from which on a single move is given a word."""
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
Kind = Literal["instability", "conformity", "persuasion"]
KINDS: tuple[Kind, ...] = ("instability", "conformity", "persuasion")
Direction = Literal["any", "right to wrong", "wrong to right"]


class Controls(NamedTuple):
    """One juror's revision of one score, and what it gave when it was asked again."""

    case: str
    arm: str
    juror: str
    attribute: str
    round: int
    entry: str
    before: Value
    after: Value
    """As recorded, having read everything."""
    draws: Mapping[str, tuple[Value, ...]]
    """By condition, the scores of the draws that were answered."""
    truth: Value | None = None

    @property
    def moved(self) -> bool:
        return self.after != self.before

    @property
    def complete(self) -> bool:
        """Whether every condition has an answer."""
        return all(self.draws.get(condition) for condition in CONDITIONS)

    def moves(self, condition: str, event: Event | None = None) -> float:
        """How often it moved under a condition, as a share of the draws; NaN where nothing was answered."""
        values = self.draws.get(condition, ())
        happens = event or _any_move
        return sum(happens(self, value) for value in values) / len(values) if values else np.nan

    def times(self, condition: str) -> tuple[int, int]:
        """How many draws of a condition moved, and how many there are."""
        values = self.draws.get(condition, ())
        return sum(value != self.before for value in values), len(values)

    def dots(self, condition: str) -> str:
        """The draws of a condition as dots, those that moved first and filled."""
        moved, draws = self.times(condition)
        return "\N{BLACK CIRCLE}" * moved + "\N{WHITE CIRCLE}" * (draws - moved)

    def __str__(self) -> str:
        """How often it moved when asked again, and from ten draws on, what kind of move that makes it."""
        shown = zip(CONDITIONS, ("times alone", "with the scores", "with the reasons"), strict=True)
        times = ((*self.times(condition), words) for condition, words in shown)
        again = ", ".join("{} of {} {}".format(*each) for each in times)
        return f"when asked again, the juror changed its score {again}{self.label and f': {self.label}'}"

    @property
    def label(self) -> str:
        """The kind that most of this one move is, from ten draws on; empty below that, or where no kind is."""
        if not self.moved or not self.complete or min(len(self.draws[c]) for c in CONDITIONS) < LABELLED_FROM:
            return ""
        alone, scores, reasons = (self.moves(condition) for condition in CONDITIONS)
        shares = dict(zip(KINDS, _shares(1.0, alone, scores, reasons), strict=True))
        kind = max(shares, key=lambda name: shares[name])
        return f"{kind} ({shares[kind]:.0%})" if shares[kind] > 0.5 else "mixed"


Event = Callable[[Controls, Value], bool]


def _any_move(row: Controls, value: Value) -> bool:
    return value != row.before


def _right_to_wrong(row: Controls, value: Value) -> bool:
    return is_right(row.before, row.truth) and not is_right(value, row.truth)


def _wrong_to_right(row: Controls, value: Value) -> bool:
    return not is_right(row.before, row.truth) and is_right(value, row.truth)


def is_right(value: Value, truth: Value | None) -> bool:
    """Whether a score is people's, or where theirs lies between two, next to it."""
    if isinstance(value, str) or isinstance(truth, str) or truth is None:
        return value == truth
    return abs(value - truth) <= 0.5


EVENTS: Mapping[Direction, Event] = {
    "any": _any_move,
    "right to wrong": _right_to_wrong,
    "wrong to right": _wrong_to_right,
}


def _shares(recorded: Any, alone: Any, scores: Any, reasons: Any) -> tuple[Any, Any, Any]:
    return (
        alone / recorded,
        ((scores - alone) + (recorded - reasons)) / 2 / recorded,
        ((reasons - alone) + (recorded - scores)) / 2 / recorded,
    )


@dataclass(frozen=True, slots=True)
class Decomposition:
    """What the moves of one group of jurors come to."""

    of: str
    exposures: int
    moves: int
    shares: Mapping[Kind, Estimate]

    def to_json(self) -> dict[str, Any]:
        shares: dict[str, Any] = {kind: estimate_json(estimate) for kind, estimate in self.shares.items()}
        return {"of": self.of, "exposures": self.exposures, "moves": self.moves} | shares


def decomposition(rows: Iterable[Controls], of: str = "all", direction: Direction = "any") -> Decomposition:
    """The shares of instability, conformity and persuasion in the recorded moves, with intervals over cases.

    Exposures for which a condition has no answer are left out of all four sums.
    """
    event = EVENTS[direction]
    used = [row for row in rows if row.complete and (direction == "any" or row.truth is not None)]
    sums: dict[str, np.ndarray] = {}
    for row in used:
        counts = [float(event(row, row.after)), *(row.moves(condition, event) for condition in CONDITIONS)]
        sums[row.case] = sums.get(row.case, np.zeros(4)) + np.array(counts)
    moved = sum(event(row, row.after) for row in used)
    if not moved:
        empty = undefined("no juror moved", method="controls", n=len(sums))
        return Decomposition(of, len(used), 0, dict.fromkeys(KINDS, empty))
    by_case = np.array(list(sums.values()))
    total = by_case.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values, left_out = _shares(*total), _shares(*(total - by_case).T)
    return Decomposition(
        of,
        len(used),
        moved,
        {
            kind: _estimate(float(v), np.asarray(o))
            for kind, v, o in zip(KINDS, values, left_out, strict=True)
        },
    )


def _estimate(value: float, left_out: np.ndarray, method: str = "share of recorded moves") -> Estimate:
    """The value with the jackknife's interval; where every case says none, or all, Wilson's at the number of cases."""
    cases = len(left_out)
    bare = Estimate(value, np.nan, np.nan, cases, method)
    if cases < 2:
        return replace(bare, note="no interval: there is only one case or group")
    spread = jackknife_spread(value, left_out, RAW)
    if isinstance(spread, str) and value in (0.0, 1.0):
        spread = Spread(SHARE, value, 0.0, cases - 1, cases)
    if isinstance(spread, str):
        return replace(bare, note=f"no interval: {spread}")
    low, high = spread.bounds()
    return replace(bare, low=low, high=high, se=spread.se, method=f"{method}; jackknife of {cases} cases")


class Source(NamedTuple):
    """What one juror's being read did to the others: whether it was necessary, and whether it was sufficient."""

    name: str
    exposures: int
    necessary: Estimate
    """The share of the moves after reading it that are not made without it."""
    sufficient: Estimate
    """The share of them that are made with it alone, above those made alone."""


def sources(rows: Iterable[Controls]) -> list[Source]:
    """Who did it: for each juror that was left out and shown alone, the most necessary first."""
    used = [row for row in rows if row.complete]
    names = dict.fromkeys(c.partition(" ")[2] for row in used for c in row.draws if c.startswith("without "))
    found: list[Source] = []
    for name in names:
        sums: dict[str, np.ndarray] = {}
        read = [row for row in used if row.draws.get(f"without {name}") and row.draws.get(f"only {name}")]
        for row in read:
            counts = (
                float(row.moved),
                row.moves(f"without {name}"),
                row.moves(f"only {name}"),
                row.moves("alone"),
            )
            sums[row.case] = sums.get(row.case, np.zeros(4)) + np.array(counts)
        by_case = np.array(list(sums.values()))
        total = by_case.sum(axis=0)
        if not total[0]:
            none = undefined(
                "no share: no juror changed its score after reading this juror's message",
                method="controls",
                n=len(sums),
            )
            found.append(Source(name, len(read), none, none))
            continue
        rest = total - by_case
        with np.errstate(divide="ignore", invalid="ignore"):
            needed, enough = (rest[:, 0] - rest[:, 1]) / rest[:, 0], (rest[:, 2] - rest[:, 3]) / rest[:, 0]
        found.append(
            Source(
                name,
                len(read),
                _estimate(float((total[0] - total[1]) / total[0]), needed, "necessary"),
                _estimate(float((total[2] - total[3]) / total[0]), enough, "sufficient"),
            )
        )
    return sorted(found, key=lambda source: -np.nan_to_num(source.necessary.value, nan=-np.inf))


class ControlsReport(NamedTuple):
    """The controls of a run: every exposure, and the shares by arm, seat and direction."""

    run: str
    rows: tuple[Controls, ...]
    groups: tuple[Decomposition, ...]
    sources: tuple[Source, ...]
    given_away: float
    """The share of the reasons shown that say their own score; NaN where none was shown."""
    left_out: int
    """Exposures with a condition that nobody answered."""

    def share_rows(self) -> list[dict[str, str]]:
        """The shares of each group in words, a row each."""
        return [
            {"moves of": group.of, "exposures": str(group.exposures), "moved": str(group.moves)}
            | {kind: estimate_words(group.shares[kind], percent=True) for kind in KINDS}
            for group in self.groups
        ]

    def source_rows(self) -> list[dict[str, str]]:
        """What each juror's being read did, in words, a row each."""
        return [
            {
                "juror read": each.name,
                "exposures": str(each.exposures),
                "necessary": estimate_words(each.necessary, percent=True),
                "sufficient": estimate_words(each.sufficient, percent=True),
            }
            for each in self.sources
        ]

    @property
    def notes(self) -> list[str]:
        """Why a share is not known, how far reasons could be told from scores, and what was left out."""
        told = list(dict.fromkeys(e.note for g in self.groups for e in g.shares.values() if e.note))
        if self.given_away > 0:
            told.append(
                f"{self.given_away:.0%} of the reasons shown state the juror's score; in these, conformity and persuasion cannot be separated"
            )
        if self.left_out:
            told.append(f"left out, because one of the conditions has no answer: {self.left_out} exposures")
        return told

    def to_json(self, case: str | None = None) -> dict[str, Any]:
        """The report as plain values, with every revision, or those of one case."""
        return {
            "run": self.run,
            "exposures": len(self.rows),
            "left_out": self.left_out,
            "reasons_that_give_away_their_score": None if np.isnan(self.given_away) else self.given_away,
            "groups": [group.to_json() for group in self.groups],
            "sources": [
                {
                    "seat": each.name,
                    "exposures": each.exposures,
                    "necessary": estimate_json(each.necessary),
                    "sufficient": estimate_json(each.sufficient),
                }
                for each in self.sources
            ],
            "revisions": [
                {
                    **{n: v for n, v in row._asdict().items() if n != "draws"},
                    "draws": {condition: list(values) for condition, values in row.draws.items()},
                    "label": row.label,
                }
                for row in self.rows
                if case in (None, row.case)
            ],
        }


def controls_report(run: Location, truth: Mapping[tuple[str, str], Value] | None = None) -> ControlsReport:
    """What the controls in a child show; `truth` by case and attribute tells right moves from wrong ones."""
    rows, given_away = _rows(run, truth or {})
    return ControlsReport(
        without_password(run) if isinstance(run, str) else str(run),
        tuple(rows),
        tuple(_groups(rows, with_truth=bool(truth))),
        tuple(sources(rows)),
        given_away,
        sum(not row.complete for row in rows),
    )


def people_truth(run: Location, ratings: Path) -> dict[tuple[str, str], Value]:
    """People's value for each case and attribute of a run: the median of numbers, the majority of words."""
    store = Store.read(run)
    try:
        rubric = store.arms()[0].rubric
    finally:
        store.release()
    table = reference(load_ratings(ratings), rubric_questions(rubric)).table
    values: list[Value] = table["value"].tolist()
    return dict(
        zip(zip(table["case"].astype(str), table["attribute"].astype(str), strict=True), values, strict=True)
    )


def _groups(rows: Sequence[Controls], *, with_truth: bool) -> list[Decomposition]:
    found: list[Decomposition] = []
    for arm in dict.fromkeys(row.arm for row in rows):
        sat = [row for row in rows if row.arm == arm]
        found.append(decomposition(sat, arm))
        directions: tuple[Direction, ...] = ("right to wrong", "wrong to right")
        found += [decomposition(sat, f"{arm}, {d}", d) for d in directions if with_truth]
        seats = dict.fromkeys(row.juror for row in sat)
        found += [
            decomposition([row for row in sat if row.juror == seat], f"{arm}, {seat}") for seat in seats
        ]
    return found


def controlled_moves(run: Location, case: str) -> dict[tuple[str, str, str], Controls]:
    """The controls of one case in a child, by arm, entry and attribute of the parent."""
    return {(row.arm, row.entry, row.attribute): row for row in _rows(run, {}, case)[0]}


def with_controls(
    arm: str, flags: Iterable[Flag], moves: Mapping[tuple[str, str, str], Controls]
) -> tuple[Flag, ...]:
    """The flags of a deliberation; those about a move that was controlled say what came of it."""

    def reword(flag: Flag) -> Flag:
        row = moves.get((arm, flag.entries[0], flag.attribute)) if flag.entries else None
        moved = row is not None and flag.kind in ("moved-towards", "conformity")
        return flag._replace(text=f"{flag.text}; {row}") if moved else flag

    return tuple(map(reword, flags))


def _rows(
    run: Location, truth: Mapping[tuple[str, str], Value], case: str | None = None
) -> tuple[list[Controls], float]:
    """The exposures of the parent with the draws of the child, and the share of reasons shown that say their score."""
    child = Store.read(run)
    try:
        place = parent_run(child)
        facts = {arm.name: child.fact(f"controls {arm.name}") for arm in child.arms()}
        if place is None or not any(facts.values()):
            raise VenireError(
                f"{child.name}: this run has no control runs",
                remedy="make control runs: venire replay RUN --controls -o CHILD",
            )
        parent = Store.read(place)
        try:
            return _rows_of(child, parent, facts, truth, case)
        finally:
            parent.release()
    finally:
        child.release()


def _rows_of(
    child: Store,
    parent: Store,
    facts: Mapping[str, str | None],
    truth: Mapping[tuple[str, str], Value],
    case: str | None,
) -> tuple[list[Controls], float]:
    """As `_rows`; of an arm that was controlled twice, the most draws."""
    latest: dict[str, tuple[int, str]] = {}
    for name, fact in facts.items():
        if fact is not None:
            told = json.loads(fact)
            latest[told["arm"]] = max(latest.get(told["arm"], (0, "")), (told["draws"], name))
    rows: list[Controls] = []
    given: list[bool] = []
    for arm in parent.arms():
        if arm.name not in latest:
            continue
        controls = next(each for each in child.arms() if each.name == latest[arm.name][1])
        for answers in child.transcripts(controls, case):
            heard = next(parent.transcripts(arm, answers.case))
            draws: dict[tuple[str, str], dict[str, list[Value]]] = {}
            for entry in answers.entries:
                if isinstance(entry, Controlled):
                    for vote in entry.votes:
                        by_condition = draws.setdefault((entry.of, vote.attribute), {})
                        by_condition.setdefault(entry.condition, []).append(vote.value)
            for exposure in exposures(heard, arm.jury):
                given += [gives_away_score(h.vote.rationale, h.vote.value) for h in exposure.heard]
                rows += _exposure_rows(arm.name, answers.case, exposure, draws, truth)
    return rows, float(np.mean(given)) if given else np.nan


def _exposure_rows(
    arm: str,
    case: str,
    exposure: Exposure,
    draws: Mapping[tuple[str, str], Mapping[str, list[Value]]],
    truth: Mapping[tuple[str, str], Value],
) -> list[Controls]:
    entry = exposure.entry
    after = {vote.attribute: vote.value for vote in entry.ballot.votes}
    return [
        Controls(
            case,
            arm,
            entry.speaker,
            name,
            entry.round,
            entry.id,
            vote.value,
            after[name],
            {condition: tuple(values) for condition, values in draws.get((entry.id, name), {}).items()},
            truth.get((case, name)),
        )
        for name, vote in exposure.own.items()
        if name in after
    ]


def gives_away_score(reason: str, value: Value) -> bool:
    """Whether a reason says its own score: the number, in figures or up to ten in letters, or the word."""
    forms = [str(value) if isinstance(value, str) else f"{value:g}"]
    if not isinstance(value, str) and float(value).is_integer() and 0 <= value < len(_NUMBERS):
        forms.append(_NUMBERS[int(value)])
    return any(re.search(rf"(?<![\w.]){re.escape(form)}(?!\w|\.\d)", reason, re.IGNORECASE) for form in forms)


def controls(
    run: Location,
    *,
    draws: int = 3,
    who: bool = False,
    arm: str | None = None,
    cases: Sequence[str] = (),
    output: Location | None = None,
) -> ControlsReport:
    """Ask every revision of a recorded run again, and say what its moves come to; the answers are kept in `output`, if named."""
    if output is None:
        with tempfile.TemporaryDirectory() as folder:
            return controls(run, draws=draws, who=who, arm=arm, cases=cases, output=Path(folder) / "controls")
    session = ReplaySession(run=run, folder=output, arm=arm, cases=cases)
    run_controls(session, draws, Console(quiet=True), quiet=True, who=who)
    return controls_report(output)


def show_revisions(report: ControlsReport, case: str, console: Console) -> None:
    """Print each revision of a case: how often it moved under each control, and from ten draws on, what kind it is."""
    rows = [row for row in report.rows if row.case == case]
    if not rows:
        cases = list(dict.fromkeys(row.case for row in report.rows))
        raise VenireError(f"{report.run}: no juror revised a vote on {case!r}", remedy=nearest(case, cases))
    table = plain_table("round", "juror", "attribute", "recorded", *rows[0].draws, "kind")
    for row in rows:
        recorded = f"{row.before} to {row.after}" if row.moved else f"kept {row.before}"
        table.add_row(
            str(row.round), row.juror, row.attribute, recorded, *map(row.dots, rows[0].draws), row.label
        )
    console.print(table)
    console.print(
        "Each dot is one time that the juror was asked again. The dot is filled if the juror changed its score. A change is classified only if there are ten draws or more.",
        soft_wrap=True,
    )


def show_controls(report: ControlsReport, console: Console) -> None:
    """Print the shares by arm and seat, who did it, and how far the reasons could be told from the scores."""
    for rows in filter(None, (report.share_rows(), report.source_rows())):
        table = plain_table(*rows[0])
        for row in rows:
            table.add_row(*row.values())
        console.print(table)
    for note in report.notes:
        console.print(note, soft_wrap=True)
