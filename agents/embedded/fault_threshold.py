"""How sure a taught model must be before a reason finds fault, and surer still before it does so in strong words.

A small model decides with the first word of a reason (Right, or Wrong): the score follows from it. How likely it holds the one word and the other
tells faulty texts from clean ones better than the word that it writes, so the odds at which it may find fault are a matter of choice. An adapter
names the words and the odds, found on texts that played no part in teaching; reason and score are then written on from there, and agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .merged_weights import Array

KEY = "venire.fault_thresholds"
"""The entry of an adapter's header: a list of thresholds, in JSON."""

_LEAST_SHARE = 0.5
"""Of the likelihood that the words of a threshold must hold together: else the reason is about another matter."""
_CLOSED = re.compile(rb'((?:[^"\\]|\\.)*)"', re.DOTALL)
"""The inside of a JSON string that has come to its end."""


class FaultThreshold(BaseModel):
    """The words with which a reason on one matter begins and ends, and the odds that it takes to find fault."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    after: str = '"rationale": "'
    """Where a reason begins."""
    fine: str
    """The first word where nothing is wrong."""
    faults: tuple[str, ...]
    """The first words where something is."""
    odds: float = Field(gt=0)
    """How much likelier a fault must be than none, as a natural logarithm. It can only be made harder to find fault."""
    endings: tuple[str, ...] = ()
    """What a reason that finds fault may end in, the mildest first; an empty one is none of the others."""
    milder_below: tuple[float, ...] = ()
    """Odds, each of which takes a reason that has less one ending down."""


def read_thresholds(header: Mapping[str, Any]) -> tuple[FaultThreshold, ...]:
    """The thresholds that an adapter's header names; none where it names none.

    Raises:
        ValueError: The entry is not what it should be.
    """
    try:
        return tuple(FaultThreshold.model_validate(entry) for entry in json.loads(header.get(KEY, "[]")))
    except (TypeError, ValidationError, json.JSONDecodeError):
        raise ValueError(f"the adapter's {KEY} cannot be read") from None


class Reasons:
    """The reasons of one answer, as they are written."""

    def __init__(self, thresholds: Sequence[FaultThreshold], encode: Callable[[str], list[int]]) -> None:
        self._words = [
            (threshold, encode(threshold.fine)[0], sorted({encode(word)[0] for word in threshold.faults}))
            for threshold in thresholds
        ]
        self._open: tuple[FaultThreshold, float, int] | None = None
        """The threshold of the reason that is being written, the odds of its first word, and where it began."""

    def weighed_logits(self, logits: Array, text: bytes) -> Array:
        """The logits of what may follow `text`; where a reason begins, those of its first words moved by their threshold."""
        for threshold, fine, faults in self._words:
            if not text.endswith(threshold.after.encode()):
                continue
            found = np.logaddexp.reduce(logits[faults])
            everything = np.logaddexp.reduce(logits)
            if np.logaddexp(found, logits[fine]) - everything > np.log(_LEAST_SHARE):
                odds = float(found - logits[fine])
                self._open = threshold, odds, len(text)
                if odds < threshold.odds:
                    logits = logits.copy()
                    logits[faults] -= threshold.odds
                return logits
        return logits

    def milder_text(self, text: bytes) -> bytes | None:
        """The answer so far with a milder ending to the reason that has just been closed, where its odds ask for one."""
        if self._open is None:
            return None
        threshold, odds, start = self._open
        closed = _CLOSED.match(text, start)
        if closed is None:
            return None
        self._open = None
        reason = closed[1].decode("utf-8", "replace")
        steps = sum(odds < least for least in threshold.milder_below)
        ending = next((end for end in threshold.endings if end and reason.endswith(end)), "")
        if not steps or ending not in threshold.endings or not reason.startswith(threshold.faults):
            return None
        milder = threshold.endings[max(0, threshold.endings.index(ending) - steps)]
        return (
            None
            if milder == ending
            else text[:start] + (reason.removesuffix(ending) + milder).encode() + b'"'
        )
