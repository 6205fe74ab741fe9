"""The ballot that a text with known faults deserves: reasons that name the fault, quotes that stand in the case, scores."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from venire.agents.lenses.words import stems
from venire.evals.training.passages import Truth, numbers_in, passages
from venire.evals.training.planting import BEST, Fault, PlantedText
from venire.rubrics.ballot import Vote, find_quote
from venire.rubrics.case import Exhibit
from venire.rubrics.rubric import Attribute, Rubric
from venire.rubrics.scale import Value

EXCERPT = 56
"""Characters of a quote inside a reason: two of them and the words around them fit into a small model's answer."""

_ASPECTS = {
    "stigmatizing": r"stigma|blam|belittl|label|judgemental|respectful",
    "succinct": r"succinct|concis|brief|could be cut|\bcut\b|wordy|repetit|redundan|bloat",
    "organized": r"organi[sz]|\border\b|ordered|structure|sequence|in its place",
    "thorough": r"thorough|complete(?!ly)|coverage|missing|omi(?:t|ssion)|left out|everything|included",
    "accurate": r"accura|faithful|factual|correct|support|true|borne out|hallucinat|invented|agree with",
}
_WORD = re.compile(r"\S+")
_EDGES = " \t\n\"'.,;:()"


def aspect_of(attribute: Attribute) -> str | None:
    """Which kind of planted fault the attribute asks about, by its name, else its question; None for another matter."""
    for words in (attribute.name, attribute.question):
        for aspect, pattern in _ASPECTS.items():
            if re.search(pattern, words, re.IGNORECASE):
                return aspect
    return None


@dataclass(frozen=True)
class RightVotes:
    """The right votes on one planted text under one rubric."""

    clean: str
    """The text before anything was planted in it."""
    planted: PlantedText
    truth: Truth
    rubric: Rubric
    exhibits: tuple[Exhibit, ...]

    def vote(self, attribute: str, *, lean: int = 0, sees: bool = True) -> Vote | None:
        """The vote on `attribute`; None where it asks about something that is never planted.

        `lean` is how many levels a severe reader goes below the right score, or a generous one above it, once there is a
        fault. A reader who does not see (`sees` false) misses every fault.
        """
        aspect = aspect_of(self.rubric.by_name[attribute])
        if aspect is None:
            return None
        faults = [f for f in self.planted.faults if f.attribute == aspect] if sees else []
        points = sum(f.points for f in faults)
        if faults:
            points = max(1, points + lean)
        reason, quotes = self._reason(aspect, faults, points)
        return Vote(
            attribute=attribute,
            value=score_for(self.rubric, attribute, points),
            rationale=reason,
            evidence=tuple(find_quote(quote, self.exhibits) for quote in quotes),
        )

    def _reason(self, aspect: str, faults: Sequence[Fault], points: int) -> tuple[str, list[str]]:
        match aspect:
            case "accurate":
                return self._accuracy(faults, points)
            case "thorough":
                return self._thoroughness(faults, points)
        if not faults:
            return _NOTHING[aspect], []
        fault = faults[0]
        shown = _misplaced_sentence(fault) if aspect == "organized" else _first_sentence(fault.after)
        quote = excerpt(shown, stems(shown))
        return _FOUND[aspect].format(quote=quote) + _EXTENTS[aspect][min(points, 4)], [quote]

    def _accuracy(self, faults: Sequence[Fault], points: int) -> tuple[str, list[str]]:
        if not faults:
            return "Right: every statement agrees with the source.", []
        fault = faults[0]
        more = (
            " There is more."
            if len(faults) > 1
            else " A grave error."
            if points > 2
            else " A small error."
            if points < 2
            else ""
        )
        if fault.kind == "fabrication":
            mine = excerpt(fault.after, stems(fault.after))
            return f"Invented: '{mine}' stands nowhere in the source.{more}", [mine]
        output = self.planted.output
        sentence = next((p for p in passages(output) if p.start <= fault.start < p.end), None)
        start, end = (sentence.start, max(sentence.end, fault.end)) if sentence else (fault.start, fault.end)
        mine = excerpt(
            output[start:end], _words_of(fault.after), around=(fault.start - start, fault.end - start)
        )
        near = (
            output[max(start, fault.start - 40) : fault.start]
            + fault.before
            + output[fault.end : min(end, fault.end + 40)]
        )
        passage = self.truth.nearest_passage(near, above_all=fault.before)
        if passage is None:
            return f"Wrong: '{mine}' is not what the source says.{more}", [mine]
        theirs = excerpt(passage, [*_words_of(near), *3 * _words_of(fault.before)])
        return f"Wrong: '{mine}'; the source says '{theirs}'.{more}", [mine, theirs]

    def _thoroughness(self, faults: Sequence[Fault], points: int) -> tuple[str, list[str]]:
        if not faults:
            return "Complete: nothing of use is missing.", []
        lost = [p.text for f in faults for p in passages(f.before)] or [faults[0].before]
        gone = max(lost, key=self.truth.support)
        theirs = excerpt(self.truth.nearest_passage(gone) or gone, _words_of(gone))
        return f"Missing: '{theirs}'.{_EXTENTS['thorough'][min(points, 4)]}", [theirs] if self._stands(
            theirs
        ) else []

    def _stands(self, quote: str) -> bool:
        return find_quote(quote, self.exhibits).found


_NOTHING = {
    "succinct": "Brief: nothing could be cut without loss.",
    "organized": "In order: every item is in its place.",
    "stigmatizing": "Neutral: no wording blames or labels.",
}
_FOUND = {
    "succinct": "Wordy: '{quote}' could be cut.",
    "organized": "Out of order: '{quote}' is not in its place.",
    "stigmatizing": "Loaded: '{quote}' blames, labels or belittles.",
}
_EXTENTS = {
    "thorough": (
        "",
        " Only background is missing.",
        " One thing that matters.",
        " Much is missing.",
        " Most is missing.",
    ),
    "succinct": ("", "", " More could go.", " A third could go.", " Half could go."),
    "organized": (
        "",
        "",
        " Nor is another item.",
        " Most is out of place.",
        " There is no order to be seen.",
    ),
    "stigmatizing": ("",) * 5,
}
"""What is added to a reason, by how many points the text loses."""


def score_for(rubric: Rubric, attribute: str, points: int) -> Value:
    """The score on the attribute's own scale for a text that has lost `points` of 4; with any lost it is never the best."""
    scale = rubric.scale_of(attribute)
    kept = max(0.0, 1 - points / (BEST - 1))
    better_low = rubric.by_name[attribute].better == "low"
    if not scale.anchors:
        low, high = (float(end) for end in scale.ends)
        share = 1 - kept if better_low else kept
        return round(low + share * (high - low), 1)
    levels = list(scale.values)[::-1] if better_low else list(scale.values)
    top = len(levels) - 1
    index = math.floor(kept * top + 0.5)
    return levels[min(index, top - 1) if points else top]


def excerpt(
    text: str, wanted: Sequence[str], *, around: tuple[int, int] | None = None, limit: int = EXCERPT
) -> str:
    """At most `limit` characters of `text`, whole words, with as many of the wanted words as there can be.

    With `around`, the stretch that it names is in it, as far as it fits.
    """
    if len(text.strip(_EDGES)) <= limit:
        return text.strip(_EDGES)
    words = list(_WORD.finditer(text))
    if not words:
        return text.strip(_EDGES)[:limit]
    weights: Mapping[str, int] = {word: wanted.count(word) for word in wanted}
    worth = [sum(weights.get(w, 0) for w in _words_of(word.group())) for word in words]
    best, most = (0, 0), -1.0
    for i, first in enumerate(words):
        total = 0.0
        for j in range(i, len(words)):
            if words[j].end() - first.start() > limit:
                break
            total += worth[j]
            inside = around is None or (
                first.start() <= around[0] and words[j].end() >= min(around[1], around[0] + limit // 2)
            )
            score = total + (1000 if inside else 0) + (j - i) * 0.01
            if score > most:
                best, most = (i, j), score
    return text[words[best[0]].start() : words[best[1]].end()].strip(_EDGES)


def _words_of(text: str) -> list[str]:
    return [*stems(text), *numbers_in(text)]


def _first_sentence(text: str) -> str:
    found = passages(text)
    return found[0].text if found else text


def _misplaced_sentence(fault: Fault) -> str:
    """The first sentence of the rearranged text that does not stand where it stood."""
    before, after = ([p.text for p in passages(text)] for text in (fault.before, fault.after))
    return next(
        (new for old, new in zip(before, after, strict=False) if old != new),
        after[0] if after else fault.after,
    )
