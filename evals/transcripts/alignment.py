"""Alignments: which utterances that were said belong to which segments that were heard; their files, and their cases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ...orchestration.record.private_files import write_atomically
from ...rubrics.errors import InvalidFile
from ...rubrics.files import read_json
from .talk import Talk, Utterance

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Letters of scripts without spaces between words; each counts as a word."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)*")

TURNS_BEFORE = 3
"""Turns of the talk that a case shows before what was said."""
NOTHING = "(nothing was heard)"
"""The output of an utterance that was missed: a jury must read something. `missed` tells metrics that it is empty."""
_ALIGNMENT_FILES = (
    "name a file that venire align wrote, or a released one with golden_indices and asr_indices"
)

MatchKind = Literal["exact", "fuzzy", "multi_fragment"]


def spoken_words(text: str) -> list[str]:
    """The words of a text, without case, punctuation and the apostrophe."""
    return [word.replace("'", "").replace("’", "") for word in _WORD.findall(text.casefold())]


def similarity(first: str, second: str) -> float:
    """From 0 to 1: half the ratio of matching characters, .3 of Jaccard's share of common words, .2 of the ratio of lengths.

    References:
        Ellis, Joselowitz et al. (2025), "WER is Unaware", section 3.1.2.
    """
    first_words, second_words = spoken_words(first), spoken_words(second)
    if not first_words or not second_words:
        return 0.0
    first_text, second_text = " ".join(first_words), " ".join(second_words)
    ratio = SequenceMatcher(None, first_text, second_text, autojunk=False).ratio()
    jaccard = len(set(first_words) & set(second_words)) / len(set(first_words) | set(second_words))
    return (
        0.5 * ratio
        + 0.3 * jaccard
        + 0.2 * min(len(first_text), len(second_text)) / max(len(first_text), len(second_text))
    )


class AlignedGroup(BaseModel):
    """Consecutive utterances that were said, and the segments that were heard of them, both by their places."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    said: tuple[int, ...]
    heard: tuple[int, ...]


class RefinementChange(BaseModel):
    """One change that a rule made to a proposal."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    rule: str
    said: tuple[int, ...]
    heard: tuple[int, ...]
    note: str


class AlignerAbstention(BaseModel):
    """Why an aligner gave no alignment. Nothing is called missed or unused on its account."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: str
    detail: str


class Alignment(BaseModel):
    """Two segmentations of one talk and the groups that link them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    """Of the consultation."""
    said: tuple[Utterance, ...]
    heard: tuple[Utterance, ...]
    groups: tuple[AlignedGroup, ...] = ()
    turns: tuple[Utterance, ...] = ()
    """Everybody's turns, of which `said` are some, as context."""
    places: tuple[int, ...] = ()
    """Of each of `said`, its place among `turns`."""
    aligner: str = ""
    log: tuple[RefinementChange, ...] = ()
    abstention: AlignerAbstention | None = None

    @property
    def missed(self) -> tuple[int, ...]:
        """What was said and not heard."""
        return () if self.abstention else _others(len(self.said), (g.said for g in self.groups))

    @property
    def unused(self) -> tuple[int, ...]:
        """What was heard and not said."""
        return () if self.abstention else _others(len(self.heard), (g.heard for g in self.groups))

    def said_text(self, group: AlignedGroup) -> str:
        return _joined_text(self.said, group.said)

    def heard_text(self, group: AlignedGroup) -> str:
        return _joined_text(self.heard, group.heard)

    def group_similarity(self, group: AlignedGroup) -> float:
        return similarity(self.said_text(group), self.heard_text(group))

    def match_kind(self, group: AlignedGroup) -> MatchKind:
        if len(group.said) > 1 or len(group.heard) > 1:
            return "multi_fragment"
        is_exact = spoken_words(self.said_text(group)) == spoken_words(self.heard_text(group))
        return "exact" if is_exact else "fuzzy"

    def to_json(self) -> dict[str, Any]:
        """The alignment as a document: the groups with their texts, and everything that `model_validate` needs."""
        document = self.model_dump(mode="json", exclude={"groups", "said", "heard", "turns"})
        return {
            **document,
            "groups": [self._group_json(group) for group in self.groups],
            "missed": list(self.missed),
            "unused": list(self.unused),
            **{
                side: [
                    utterance.model_dump(mode="json", exclude_defaults=True) | {"text": utterance.text}
                    for utterance in getattr(self, side)
                ]
                for side in ("said", "heard", "turns")
            },
        }

    def _group_json(self, group: AlignedGroup) -> dict[str, Any]:
        segments = [self.heard[place] for place in group.heard]
        return {
            "said": list(group.said),
            "heard": list(group.heard),
            "kind": self.match_kind(group),
            "similarity": round(self.group_similarity(group), 6),
            "said_text": self.said_text(group),
            "heard_text": self.heard_text(group),
            "start": min((segment.start for segment in segments if segment.start is not None), default=None),
            "end": max((segment.end for segment in segments if segment.end is not None), default=None),
            "time": _mean_of_known(middle_time(segment) for segment in segments),
            "confidence": _mean_of_known(segment.confidence for segment in segments),
        }


def empty_alignment(said: Talk, heard: Talk, speaker: str | None = None) -> Alignment:
    """The two talks before anything links them; of what was said, one speaker's utterances.

    Args:
        speaker: Without it, the one that the file's format means; everybody where it means nobody.
    """
    places = said.places(speaker or said.speaker)
    of_heard = heard.places(speaker) or tuple(range(len(heard.utterances)))
    return Alignment(
        name=said.name,
        said=tuple(said.utterances[place] for place in places),
        heard=tuple(heard.utterances[place] for place in of_heard),
        turns=said.utterances,
        places=places,
    )


def middle_time(utterance: Utterance) -> float | None:
    """The middle of an utterance in seconds, or the one end that is known."""
    return _mean_of_known((utterance.start, utterance.end))


def write_alignment(path: Path, alignment: Alignment) -> None:
    write_atomically(path, json.dumps(alignment.to_json(), ensure_ascii=False, indent=1) + "\n")


def read_alignment(path: Path) -> Alignment:
    """An alignment that `write_alignment` wrote, with both talks."""
    remedy = "name a file that venire align wrote"
    document = read_json(path)
    if not isinstance(document, dict) or "groups" not in document:
        raise InvalidFile(f"{path}: this file holds no alignment", remedy=remedy)
    try:
        return Alignment.model_validate(document)
    except ValidationError as error:
        detail = error.errors()[0]
        place = ".".join(map(str, detail["loc"]))
        raise InvalidFile(f"{path}: {place}: {detail['msg']}", remedy=remedy) from None


def read_groups(path: Path) -> tuple[AlignedGroup, ...]:
    """The groups of an alignment in a file, ours or a released one."""
    document = read_json(path)
    if isinstance(document, dict) and "groups" in document:
        rows, names = document["groups"], ("said", "heard")
    elif isinstance(document, dict) and "alignments" in document:
        rows, names = document["alignments"], ("golden_indices", "asr_indices")
    else:
        raise InvalidFile(f"{path}: this file holds no alignment", remedy=_ALIGNMENT_FILES)
    if not isinstance(rows, list):
        raise InvalidFile(f"{path}: the groups are not a list", remedy=_ALIGNMENT_FILES)
    groups = [_group(row, names, f"{path}: group {number}") for number, row in enumerate(rows)]
    return tuple(group for group in groups if group.said and group.heard)


def _group(row: Any, names: Sequence[str], place: str) -> AlignedGroup:
    sides = [row.get(name) if isinstance(row, dict) else None for name in names]
    places = [[side] if isinstance(side, int) else side for side in sides]
    for side in places:
        if not isinstance(side, list) or not all(
            isinstance(p, int) and not isinstance(p, bool) and p >= 0 for p in side
        ):
            raise InvalidFile(
                f"{place}: {' and '.join(names)} must both be lists of positions", remedy=_ALIGNMENT_FILES
            )
    return AlignedGroup(said=tuple(places[0] or ()), heard=tuple(places[1] or ()))


def alignment_cases(alignment: Alignment, *, differing: bool = False) -> list[dict[str, Any]]:
    """One row a group, and one for each missed utterance, in the order in which they were said.

    An alignment that its aligner abstained from has no cases.

    Args:
        differing: Leave out what was heard word for word.
    """
    if alignment.abstention is not None:
        return []
    rows: list[tuple[tuple[int, ...], dict[str, Any]]] = []
    for group in alignment.groups:
        said_text, heard_text = alignment.said_text(group), alignment.heard_text(group)
        is_exact = spoken_words(said_text) == spoken_words(heard_text)
        if not (differing and is_exact):
            rows.append((group.said, _case(alignment, group.said, said_text, heard_text)))
    for place in alignment.missed:
        rows.append(((place,), _case(alignment, (place,), alignment.said[place].text, "")))
    return [row for _, row in sorted(rows, key=lambda row: row[0])]


def _case(alignment: Alignment, places: tuple[int, ...], text: str, heard: str) -> dict[str, Any]:
    start = alignment.places[places[0]] if alignment.places else places[0]
    turns = alignment.turns or alignment.said
    context = "\n".join(
        f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
        for turn in turns[max(0, start - TURNS_BEFORE) : start]
    )
    return {
        "id": f"{alignment.name}-{'+'.join(map(str, places))}",
        "reference": text,
        "output": heard or NOTHING,
        **({"source": context} if context else {}),
        "group": alignment.name,
        "missed": not heard,
    }


def _mean_of_known(numbers: Iterable[float | None]) -> float | None:
    present = [number for number in numbers if number is not None]
    return fmean(present) if present else None


def _joined_text(utterances: Sequence[Utterance], places: Iterable[int]) -> str:
    return " ".join(filter(None, (utterances[place].text.strip() for place in places)))


def _others(count: int, place_groups: Iterable[Iterable[int]]) -> tuple[int, ...]:
    grouped = {place for places in place_groups for place in places}
    return tuple(place for place in range(count) if place not in grouped)
