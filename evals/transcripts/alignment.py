"""Alignments: which utterances that were said belong to which segments that were heard."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from statistics import fmean
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from .utterance import Talk, Utterance

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Letters of scripts without spaces between words; each counts as a word."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)*")

MatchKind = Literal["exact", "fuzzy", "multi_fragment"]


def spoken_words(text: str) -> list[str]:
    """The words of a text, without case, punctuation and the apostrophe."""
    return [word.replace("'", "").replace("’", "") for word in _WORD.findall(text.casefold())]


def similarity(first: str, second: str) -> float:
    """From 0 to 1: half the ratio of matching characters, .3 of Jaccard's share of common words, .2 of the ratio of lengths.

    References:
        Ellis, Joselowitz et al. (2025), "WER is Unaware", section 3.1.2.
    """
    one, other = spoken_words(first), spoken_words(second)
    if not one or not other:
        return 0.0
    left, right = " ".join(one), " ".join(other)
    ratio = SequenceMatcher(None, left, right, autojunk=False).ratio()
    jaccard = len(set(one) & set(other)) / len(set(one) | set(other))
    return 0.5 * ratio + 0.3 * jaccard + 0.2 * min(len(left), len(right)) / max(len(left), len(right))


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
        same = spoken_words(self.said_text(group)) == spoken_words(self.heard_text(group))
        return "exact" if same else "fuzzy"

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
                    each.model_dump(mode="json", exclude_defaults=True) | {"text": each.text}
                    for each in getattr(self, side)
                ]
                for side in ("said", "heard", "turns")
            },
        }

    def _group_json(self, group: AlignedGroup) -> dict[str, Any]:
        parts = [self.heard[place] for place in group.heard]
        return {
            "said": list(group.said),
            "heard": list(group.heard),
            "kind": self.match_kind(group),
            "similarity": round(self.group_similarity(group), 6),
            "said_text": self.said_text(group),
            "heard_text": self.heard_text(group),
            "start": min((each.start for each in parts if each.start is not None), default=None),
            "end": max((each.end for each in parts if each.end is not None), default=None),
            "time": _mean_of_known(middle_time(each) for each in parts),
            "confidence": _mean_of_known(each.confidence for each in parts),
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


def _mean_of_known(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return fmean(known) if known else None


def _joined_text(utterances: Sequence[Utterance], places: Iterable[int]) -> str:
    return " ".join(filter(None, (utterances[place].text.strip() for place in places)))


def _others(count: int, used: Iterable[Iterable[int]]) -> tuple[int, ...]:
    taken = {place for places in used for place in places}
    return tuple(place for place in range(count) if place not in taken)
