"""One attribute's deliberation as lanes: a lane a juror, a column a round, ballots as dots on the scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from ..evals.report.drawing import clip
from ..evals.report.markup import Html, element
from ..orchestration.reading.analysis import conformity, influence, instant_agreements
from ..orchestration.reading.analysis.movement import UNDER_ORDERS, Step, paths
from ..orchestration.verdict import Verdict
from ..rubrics.errors import count_words
from ..rubrics.rubric import Rubric
from .scales import ScalePositions, score_words

_GUTTER = 126
_COLUMN = 84
_VERDICT = 66
_LANE = 62
_TOP = 30
_INSET = 13
_DOT = 7.5
_ZOOM = 1.25


def vote_id(entry: str, attribute: str, prefix: str = "") -> str:
    """The id that a vote's reasons have in a page."""
    safe = "".join(c if c.isalnum() or c == "-" else f"_{ord(c):x}_" for c in f"{entry}--{attribute}")
    return f"{prefix}v-{safe}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a vote is drawn."""

    juror: str
    step: Step
    x: float
    y: float


class Lanes:
    """Draws the lanes of one deliberation; what all its attributes share is worked out once."""

    def __init__(self, verdict: Verdict, rubric: Rubric, *, prefix: str = "") -> None:
        self._verdict = verdict
        self._rubric = rubric
        self._prefix = prefix
        self._paths = paths(verdict.transcript)
        drawn = influence(verdict.transcript)
        self._drawn = {(d.move.entry, d.move.attribute, d.seen) for d in drawn}
        self._conformed = {(d.move.entry, d.move.attribute) for d in conformity(verdict.transcript, drawn)}
        self._instant = {
            a.attribute: a for a in instant_agreements(verdict.transcript, rubric) if a.test != "overturned"
        }

    def drawing(self, attribute: str) -> Html:
        """The figure. Each dot is a link to the vote's reasons, so that it can be reached without a mouse."""
        by_juror = self._paths.get(attribute, {})
        rounds = max((step.round for steps in by_juror.values() for step in steps), default=1)
        width = _GUTTER + rounds * _COLUMN + _VERDICT
        height = _TOP + max(1, len(by_juror)) * _LANE + 8
        places = self._places(attribute, by_juror)
        outcome = self._verdict.outcomes.get(attribute)
        told = (
            "no verdict"
            if outcome is None or outcome.value is None
            else f"verdict {score_words(outcome.value, pair=self._rubric.compares)}"
        )
        parts: list[Html] = [
            self._grid(attribute, by_juror, rounds, width),
            *self._at_once(attribute, len(by_juror)),
            *self._sight_lines(attribute, places),
            *self._changes(attribute, places),
            *(self._dot(attribute, place) for place in places.values()),
            self._final(attribute, by_juror, rounds),
        ]
        return element(
            "svg",
            {
                "class": "lanes",
                "viewBox": f"0 0 {width} {height}",
                "width": round(width * _ZOOM),
                "height": round(height * _ZOOM),
                "role": "group",
                "aria-label": f"{attribute}: {len(by_juror)} jurors over {rounds} rounds, {told}",
            },
            parts,
        )

    def _places(self, attribute: str, by_juror: Mapping[str, tuple[Step, ...]]) -> dict[str, Place]:
        axis = ScalePositions.of(self._rubric, attribute)
        found: dict[str, Place] = {}
        for lane, (juror, steps) in enumerate(by_juror.items()):
            for step in steps:
                # A juror may speak twice in a round; what it says later stands further right.
                earlier = [s for s in steps if s.round == step.round and s.at < step.at]
                x = _GUTTER + (step.round - 0.5) * _COLUMN + 16 * len(earlier)
                found[step.entry] = Place(juror, step, x, _height(lane, axis.at(step.vote.value)))
        return found

    def _grid(
        self, attribute: str, by_juror: Mapping[str, tuple[Step, ...]], rounds: int, width: int
    ) -> Html:
        axis = ScalePositions.of(self._rubric, attribute)
        end = _GUTTER + rounds * _COLUMN
        parts: list[Html] = [
            _text(_GUTTER + (number - 0.5) * _COLUMN, 16, f"round {number}", "column")
            for number in range(1, rounds + 1)
        ]
        parts.append(_text(end + _VERDICT / 2, 16, "verdict", "column"))
        for lane, juror in enumerate(by_juror):
            top = _TOP + lane * _LANE
            parts.append(
                element(
                    "rect",
                    {"class": "lane", "x": _GUTTER - 22, "y": top + 2, "width": end - _GUTTER + 22, "height": _LANE - 4, "rx": 6},
                )
            )  # fmt: skip
            parts.append(_text(_GUTTER - 32, top + _LANE / 2 + 4, clip(juror, 12), "juror"))
            for value, place in axis.ticks:
                y = _height(lane, place)
                parts.append(_line("tick", _GUTTER - 4, y, end - 6, y))
                words = score_words(value, pair=self._rubric.compares)
                # A longer word has no room here, and stands in the dots.
                if len(words) <= 3 and (place in (0.0, 1.0) or (self._rubric.compares and value == 0)):
                    parts.append(_text(_GUTTER - 12, y + 3.5, words, "scale"))
        parts.append(_line("edge", end + 4, _TOP, end + 4, _TOP + len(by_juror) * _LANE))
        return element("g", {"aria-hidden": "true"}, parts)

    def _at_once(self, attribute: str, lanes: int) -> list[Html]:
        agreement = self._instant.get(attribute)
        if agreement is None:
            return []
        x = _GUTTER + 0.5 * _COLUMN
        band = {
            "class": "at-once",
            "x": x - 18,
            "y": _TOP - 2,
            "width": 36,
            "height": lanes * _LANE + 4,
            "rx": 18,
        }
        told = f"All gave {score_words(agreement.value, pair=self._rubric.compares)} in their first vote: {agreement.test}"
        return [element("rect", band, element("title", None, told))]

    def _sight_lines(self, attribute: str, places: Mapping[str, Place]) -> list[Html]:
        lines: list[Html] = []
        for place in places.values():
            for entry in place.step.saw:
                seen = places.get(entry)
                if seen is None or seen.juror == place.juror:
                    continue
                drawn = (place.step.entry, attribute, entry) in self._drawn
                middle = (seen.x + place.x) / 2
                lines.append(
                    element(
                        "path",
                        {
                            "class": "seen drawn" if drawn else "seen",
                            "d": f"M{seen.x:.1f} {seen.y:.1f} C{middle:.1f} {seen.y:.1f} {middle:.1f} {place.y:.1f} {place.x:.1f} {place.y:.1f}",
                            "data-to": vote_id(place.step.entry, attribute, self._prefix),
                        },
                        element(
                            "title", None, f"{place.juror} had read {seen.juror}" + (", and moved that way" if drawn else "")
                        ),
                    )
                )  # fmt: skip
        return lines

    def _changes(self, attribute: str, places: Mapping[str, Place]) -> list[Html]:
        lines: list[Html] = []
        by_juror: dict[str, list[Place]] = {}
        for place in places.values():
            by_juror.setdefault(place.juror, []).append(place)
        for walked in by_juror.values():
            for before, after in pairwise(walked):
                moved = before.step.vote.value != after.step.vote.value
                conformed = (after.step.entry, attribute) in self._conformed
                kind = "change conformed" if conformed else "change moved" if moved else "change"
                lines.append(_line(kind, before.x, before.y, after.x, after.y))
        return lines

    def _dot(self, attribute: str, place: Place) -> Html:
        vote = place.step.vote
        found = sum(quote.found for quote in vote.evidence)
        missing = len(vote.evidence) - found
        kind = "dot" + (" bare" if not found else "") + (" false" if missing else "")
        kind += " against" if place.step.purpose in UNDER_ORDERS else ""
        quotes = f", {count_words(found, 'quote')} found" + (
            f", {missing} not in the case" if missing else ""
        )
        name = f"{place.juror}, round {place.step.round}, {attribute} {score_words(vote.value, pair=self._rubric.compares)}{quotes}"
        written = clip(score_words(vote.value, pair=self._rubric.compares), 14)
        shape = (
            _pill("halo", place, _DOT + 4, written),
            _pill("body", place, _DOT, written),
            _text(
                place.x,
                place.y + (3 if len(written) > 2 else 3.5),
                written,
                "value long" if len(written) > 2 else "value",
            ),
        )
        target = vote_id(place.step.entry, attribute, self._prefix)
        return element(
            "a", {"href": f"#{target}", "class": kind, "data-vote": target}, element("title", None, name), shape
        )  # fmt: skip

    def _final(self, attribute: str, by_juror: Mapping[str, tuple[Step, ...]], rounds: int) -> Html:
        outcome = self._verdict.outcomes.get(attribute)
        x = _GUTTER + rounds * _COLUMN + _VERDICT / 2 + 2
        y = _TOP + max(1, len(by_juror)) * _LANE / 2
        if outcome is None:
            return element("g")
        reached = outcome.value is not None
        word = (
            score_words(outcome.value, pair=self._rubric.compares)
            if reached
            else {"hung": "hung", "not_applicable": "n/a"}.get(outcome.status, "–")
        )
        return element(
            "g",
            {"class": f"verdict {outcome.status}"},
            _text(x, y + 4, clip(word, 11), "final long" if len(word) > 4 else "final"),
            _text(x, y + 22, clip(outcome.method, 13), "method") if reached else None,
        )


def _height(lane: int, place: float) -> float:
    span = _LANE - 2 * _INSET
    return round(_TOP + lane * _LANE + _INSET + (1 - place) * span, 1)


def _pill(kind: str, place: Place, radius: float, words: str) -> Html:
    """A dot; as wide as its words where they are longer than two letters."""
    if len(words) <= 2:
        return element("circle", {"class": kind, "cx": place.x, "cy": place.y, "r": radius})
    half = radius + max(0, 2.4 * len(words) - 4)
    return element(
        "rect",
        {"class": kind, "x": round(place.x - half, 1), "y": place.y - radius, "width": round(2 * half, 1), "height": 2 * radius, "rx": radius},
    )  # fmt: skip


def _text(x: float, y: float, words: str, kind: str) -> Html:
    return element("text", {"class": kind, "x": round(x, 1), "y": round(y, 1)}, words)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Html:
    return element("line", {"class": kind, "x1": x1, "y1": y1, "x2": x2, "y2": y2})
