"""Two aligners: the lexical one, without a model, in one pass over both talks; and a model, asked once through the gateway.

In the lexical one, a dynamic programme chooses groups of consecutive utterances and segments. A group earns two points for each word that both sides have
in the same order and pays for every word, for every further piece it joins, and for standing away from its time; what is
left out pays a little too. Texts without a word in common are never a group. So a fragment joins the utterance whose words it has, and a stray one stays alone.
"""

from __future__ import annotations

import asyncio
import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from pydantic import BaseModel

from ...agents.budget import LimitReached, Meter
from ...agents.gateway import FillFailed, ModelGateway, Prompt
from ...agents.prompting import Prompts, fence, form_of
from ...agents.providers import Preflight
from ...orchestration.bench import Court
from ...orchestration.record import Store
from ...orchestration.record.store import run_exists
from ...personas.jury import ModelSettings
from ...personas.options import Limits
from ...rubrics.ballot import STRICT
from ...rubrics.errors import ModelUnreachable
from .alignment import AlignedGroup, AlignerAbstention, Alignment, middle_time, spoken_words
from .talk import Utterance

WORD_COST = 0.45
"""For each word of a group, on either side: a word in common earns 2, and so pays for itself and its twin."""
SKIP_COST = 0.6
"""For an utterance or segment in no group."""
JOIN_COST = 0.35
"""For each piece beyond the first on either side."""
PAIR_GAIN = 0.6
"""For a group as such: a short answer is likelier misheard in part than both lost and invented."""
TIME_COST, TIME_CAP, TIME_SLACK = 0.5, 4.0, 1.5
"""A second that a segment lies outside its utterances' time, beyond the slack; at most the cap."""
STEADY = 5.0
"""Seconds within which half of the matches must agree on the offset of the two clocks for times to count."""
SHAPES = {1: 6, 2: 4, 3: 2}
"""How many segments may join how many utterances."""
FILLERS = frozenset(["um", "uh", "erm", "er", "mm", "mmm", "hmm", "hm", "mhm", "ah", "eh"])
SMALL = 900
"""Pairs of utterance and segment up to which every pair is looked at; beyond, those near a path of rare words."""
REACH = 12
"""How far from that path."""
CLOSE = 0.7
"""The share of letters in common, in order, from which two words count as the same word misheard."""

Window = Callable[[int], range]
"""From an utterance to the segments that it may be near."""
Gains = dict[tuple[int, int], list[tuple[int, int, float]]]
"""By where a group starts: its two sizes, and what it earns by its words."""


def lexical_alignment(alignment: Alignment) -> Alignment:
    """The alignment with the best groups by words and, where both talks have times and their clocks agree, by time."""
    said_words = [_content(utterance.text) for utterance in alignment.said]
    heard_words = [_content(utterance.text) for utterance in alignment.heard]
    gains = _gains(said_words, heard_words, _window(said_words, heard_words))
    groups = _best_groups(len(said_words), len(heard_words), gains)
    offset = _clock_offset(alignment, groups, said_words)
    if offset is not None:
        groups = _best_groups(len(said_words), len(heard_words), _gains_less_time(alignment, gains, offset))
    return alignment.model_copy(update={"groups": groups, "aligner": "lexical"})


def _content(text: str) -> list[str]:
    """The words that a text is known by: without fillers, unless it has nothing else."""
    words = ["okay" if word == "ok" else word for word in spoken_words(text)]
    return [word for word in words if word not in FILLERS] or words


def _window(said_words: Sequence[Sequence[str]], heard_words: Sequence[Sequence[str]]) -> Window:
    """All segments in a talk of usual length; in a long one those about a path through runs of words found once on each side."""
    if len(said_words) * len(heard_words) <= SMALL:
        return lambda place: range(len(heard_words))
    anchors = _rising(sorted(_anchors(said_words, heard_words)))
    ends = [(-1, -1), *anchors, (len(said_words), len(heard_words))]
    starts = [place for place, _ in ends]

    def near(place: int) -> range:
        anchor = min(bisect_left(starts, place), len(ends) - 1)
        (previous, low), (next_anchor, high) = ends[max(anchor - 1, 0)], ends[anchor]
        along = (place - previous) / max(next_anchor - previous, 1)
        middle = round(low + along * (high - low))
        # Between two anchors far apart the path is a guess, and the reach grows with the gap.
        reach = REACH + min(3 * REACH, (high - low) // 4)
        return range(max(0, middle - reach), min(len(heard_words), middle + reach + 1))

    return near


def _anchors(said: Sequence[Sequence[str]], heard: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    places: list[dict[tuple[str, ...], int | None]] = []
    for side in (said, heard):
        place_by_run: dict[tuple[str, ...], int | None] = {}
        for place, words in enumerate(side):
            for three in zip(words, words[1:], words[2:], strict=False):
                place_by_run[three] = None if three in place_by_run else place
        places.append(place_by_run)
    for run, said_at in places[0].items():
        heard_at = places[1].get(run)
        if said_at is not None and heard_at is not None:
            yield said_at, heard_at


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs that rises on both sides."""
    tails: list[int] = []
    ends: list[int] = []
    predecessors: list[int] = []
    for number, (_, heard_at) in enumerate(pairs):
        at = bisect_left(tails, heard_at)
        tails[at : at + 1] = [heard_at]
        ends[at : at + 1] = [number]
        predecessors.append(ends[at - 1] if at else -1)
    longest: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        longest.append(pairs[number])
        number = predecessors[number]
    return longest[::-1]


def _gains(said_text: Sequence[Sequence[str]], heard_text: Sequence[Sequence[str]], window: Window) -> Gains:
    """What each possible group earns by its words."""
    same_words = _SameWords(word for words in heard_text for word in words)
    gains: Gains = {}
    for place in range(len(said_text)):
        for size, segment_limit in SHAPES.items():
            if place + size > len(said_text):
                continue
            words = [word for part in said_text[place : place + size] for word in part]
            places = same_words.places(words)
            mask = (1 << len(words)) - 1
            for start in window(place):
                row, length = mask, 0
                # A first segment that shares no word is better left alone than joined.
                stray = heard_text[start] and places.keys().isdisjoint(heard_text[start])
                longest = min(1 if stray else segment_limit, len(heard_text) - start)
                for count in range(1, longest + 1):
                    for word in heard_text[start + count - 1]:
                        hit = row & places.get(word, 0)
                        row = (row + hit | row - hit) & mask
                    length += len(heard_text[start + count - 1])
                    common = len(words) - row.bit_count()
                    if not common:
                        continue
                    gain = 2 * common - WORD_COST * (len(words) + length) - JOIN_COST * (size + count - 2)
                    gains.setdefault((place, start), []).append((size, count, gain + PAIR_GAIN))
    return gains


class _SameWords:
    """Which words of what was heard may stand for a word that was said: the same, or close to it in letters."""

    def __init__(self, heard: Iterator[str]) -> None:
        self._by_start: dict[str, list[str]] = {}
        self._by_end: dict[str, list[str]] = {}
        self._close: dict[str, frozenset[str]] = {}
        for word in dict.fromkeys(heard):
            self._by_start.setdefault(word[:1], []).append(word)
            self._by_end.setdefault(word[-2:], []).append(word)

    def places(self, words: Sequence[str]) -> dict[str, int]:
        """By word that was heard, the places of `words` that it may stand for, as bits."""
        bits: dict[str, int] = {}
        for place, word in enumerate(words):
            for close_word in self._close_to(word):
                bits[close_word] = bits.get(close_word, 0) | 1 << place
        return bits

    def _close_to(self, word: str) -> frozenset[str]:
        if word not in self._close:
            candidates = {*self._by_start.get(word[:1], ()), *self._by_end.get(word[-2:], ())}
            self._close[word] = frozenset(
                candidate for candidate in candidates if candidate == word or _is_close(word, candidate)
            )
        return self._close[word]


def _is_close(word: str, candidate: str) -> bool:
    shorter, longer = sorted((len(word), len(candidate)))
    if shorter < 3 or 2 * shorter < CLOSE * (shorter + longer):
        return False
    mask = (1 << len(word)) - 1
    row = mask
    for letter in candidate:
        hit = row & sum(1 << place for place, character in enumerate(word) if character == letter)
        row = (row + hit | row - hit) & mask
    return 2 * (len(word) - row.bit_count()) >= CLOSE * (len(word) + len(candidate))


def _best_groups(said_count: int, heard_count: int, gains: Gains) -> tuple[AlignedGroup, ...]:
    """The groups of the dearest path from the start of both talks to their end.

    Only places that a group starts at or ends at are visited: between them utterances and segments are skipped, at a
    cost that depends on how many, and so is found by a running best.
    """
    by_said: dict[int, list[tuple[int, list[tuple[int, int, float]]]]] = {}
    for (place, start), options in gains.items():
        by_said.setdefault(place, []).append((start, options))
    running = _RunningBest(heard_count + 1)
    paths: list[tuple[int, int, int, int, int]] = []
    """What came before, then where the group starts and how long it is on either side."""
    arriving: dict[int, list[tuple[int, float, int]]] = {}
    running.offer(0, 0.0, -1)
    for place in range(said_count + 1):
        for end, value, path in arriving.pop(place, ()):
            running.offer(end, value, path)
        for start, options in by_said.get(place, ()):
            value, path = running.at(start)
            for size, count, gain in options:
                # Skips are paid for by position, so that a path's worth is the same wherever it is compared.
                total = value + gain + SKIP_COST * (size + count)
                paths.append((path, place, size, start, count))
                arriving.setdefault(place + size, []).append((start + count, total, len(paths) - 1))
    _, path = running.at(heard_count)
    groups: list[AlignedGroup] = []
    while path >= 0:
        path, place, size, start, count = paths[path]
        said_places, heard_places = range(place, place + size), range(start, start + count)
        groups.append(AlignedGroup(said=tuple(said_places), heard=tuple(heard_places)))
    return tuple(groups[::-1])


class _RunningBest:
    """The best value offered at or before a place (a Fenwick tree of maxima)."""

    def __init__(self, size: int) -> None:
        self._nodes: list[tuple[float, int]] = [(float("-inf"), -1)] * (size + 1)

    def offer(self, place: int, value: float, path: int) -> None:
        at = place + 1
        while at < len(self._nodes):
            if value > self._nodes[at][0]:
                self._nodes[at] = (value, path)
            at += at & -at

    def at(self, place: int) -> tuple[float, int]:
        best, at = (float("-inf"), -1), place + 1
        while at:
            if self._nodes[at][0] > best[0]:
                best = self._nodes[at]
            at -= at & -at
        return best


def _clock_offset(
    alignment: Alignment, groups: Sequence[AlignedGroup], said_words: Sequence[Sequence[str]]
) -> float | None:
    """By how many seconds the clock of what was heard is ahead; None where times are missing or do not agree."""
    differences = [
        heard_start - said_start
        for group in groups
        if sum(len(said_words[place]) for place in group.said) > 2
        and (said_start := alignment.said[group.said[0]].start) is not None
        and (heard_start := alignment.heard[group.heard[0]].start) is not None
    ]
    if len(differences) < 3:
        return None
    middle = median(differences)
    return middle if median(abs(difference - middle) for difference in differences) <= STEADY else None


def _gains_less_time(alignment: Alignment, gains: Gains, offset: float) -> Gains:
    """The gains less what it costs segments to lie outside the time of their utterances."""
    return {
        (place, start): [
            (size, count, gain - _time_cost(alignment, (place, size), (start, count), offset))
            for size, count, gain in options
        ]
        for (place, start), options in gains.items()
    }


def _time_cost(alignment: Alignment, said: tuple[int, int], heard: tuple[int, int], offset: float) -> float:
    parts = alignment.said[said[0] : sum(said)]
    starts = [part.start for part in parts if part.start is not None]
    ends = [part.end if part.end is not None else part.start for part in parts]
    known_ends = [end for end in ends if end is not None]
    if not starts or not known_ends:
        return 0.0
    low, high, cost = min(starts) + offset - TIME_SLACK, max(known_ends) + offset + TIME_SLACK, 0.0
    for segment in alignment.heard[heard[0] : sum(heard)]:
        middle = middle_time(segment)
        if middle is not None:
            cost += min(TIME_CAP, TIME_COST * max(0.0, low - middle, middle - high))
    return cost


PROMPTS = Prompts(Path(__file__).parent / "prompts")


class _GroupAnswer(BaseModel):
    model_config = STRICT

    said: list[int]
    heard: list[int]


class AlignmentAnswer(BaseModel):
    """The form that an aligner fills in."""

    model_config = STRICT

    groups: list[_GroupAnswer]


async def model_alignment(alignment: Alignment, settings: ModelSettings, court: Court) -> Alignment:
    """The alignment with the groups that the model gives; an abstention where it gives none that can be used.

    An answer with a place that does not exist or appears twice, or out of order, is sent back once.
    """
    name = settings.model or "local"
    gateway = ModelGateway(
        court.providers.get(settings),
        settings,
        calls=court.calls,
        meter=Meter(Limits(), court.budget),
        rng=court.rng,
    )
    try:
        reply = await gateway.fill(
            _prompt(alignment), AlignmentAnswer, check=lambda answer: _problem(answer, alignment)
        )
    except FillFailed as failed:
        abstention = AlignerAbstention(reason=failed.failure.reason, detail=failed.failure.detail)
    except LimitReached as reached:
        abstention = AlignerAbstention(reason="limit", detail=f"{reached.limit} is reached")
    except ModelUnreachable as lost:
        abstention = AlignerAbstention(reason="unavailable", detail=lost.problem)
    else:
        groups = tuple(AlignedGroup(said=tuple(g.said), heard=tuple(g.heard)) for g in reply.value.groups)
        return alignment.model_copy(update={"groups": groups, "aligner": name})
    return alignment.model_copy(update={"groups": (), "aligner": name, "abstention": abstention})


def _prompt(alignment: Alignment) -> Prompt:
    said, heard = _numbered_lines(alignment.said), _numbered_lines(alignment.heard)
    code = hashlib.sha256(f"{said}\0{heard}".encode()).hexdigest()[:8]
    texts = "\n\n".join((fence("transcript", "said", said, code), fence("transcript", "heard", heard, code)))
    task = PROMPTS.words("task", form=form_of(AlignmentAnswer))
    return Prompt(PROMPTS.words("align"), texts, f"\n\n{task}", nonce=code)


def _numbered_lines(utterances: Sequence[Utterance]) -> str:
    lines = []
    for place, utterance in enumerate(utterances):
        when = f" [{utterance.start:.1f} s]" if utterance.start is not None else ""
        lines.append(f"{place}{when}: {' '.join(utterance.text.split())}")
    return "\n".join(lines)


def _problem(answer: AlignmentAnswer, alignment: Alignment) -> str | None:
    """What is wrong with an answer; None for one that can be used."""
    for side, count in (("said", len(alignment.said)), ("heard", len(alignment.heard))):
        last_place = -1
        for group in answer.groups:
            places: list[int] = getattr(group, side)
            if not places:
                return f"a group without a number under {side!r}"
            for earlier, place in zip([None, *places[:-1]], places, strict=True):
                if not 0 <= place < count:
                    return f"{side} has no number {place}: they run from 0 to {count - 1}"
                if place <= last_place:
                    return f"{side} {place} appears twice, or out of order"
                if earlier is not None and place != earlier + 1:
                    return f"{side} {earlier} and {place} are in one group, but not consecutive"
                last_place = place
    return None


def ask_model(alignment: Alignment, model: str, base_url: str | None, record: Path | None) -> Alignment:
    """`model_alignment` by a model string; with `record`, its calls are kept there and answered from there.

    Raises:
        ModelUnreachable: The model cannot be reached, and there is no record yet that may hold its answer.
    """
    settings = ModelSettings(model=model, base_url=base_url, temperature=0)

    async def ask() -> Alignment:
        try:
            await Preflight().check([settings])
        except ModelUnreachable:
            if record is None or not run_exists(record):
                raise
        store = Store.create(record) if record else None
        court = Court(calls=store)
        try:
            return await model_alignment(alignment, settings, court)
        finally:
            await court.close()
            if store is not None:
                await store.close()

    return asyncio.run(ask())
