"""Lenses: deterministic points of view on a text. None of them is a language model, and each says so.

They make tests and the first minute meaningful, and are the floor that a jury of language models must beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, TypeVar

from .coverage import coverage
from .length import length
from .loaded import loaded_words
from .numbers import numbers
from .order import order
from .plan import plan
from .repetition import repetition
from .sequence import sequence
from .support import support
from .tone import tone
from .words import LensReading, Reads

__all__ = ["LENSES", "MOST_RELEVANT", "SINGLE", "Lens", "LensReading", "place", "reading_for"]

Value = TypeVar("Value")

ACCURATE = frozenset({"accurate", "accuracy", "factual_accuracy"})
THOROUGH = frozenset({"thorough", "completeness", "complete"})
SUCCINCT = frozenset({"succinct", "conciseness", "concise"})
ORGANIZED = frozenset({"organized", "organised", "structure"})
STIGMATIZING = frozenset({"stigmatizing", "stigmatising"})


@dataclass(frozen=True, slots=True)
class Lens:
    """One point of view: how it reads, which attributes it has an opinion on, and what it is."""

    name: str
    reads: Reads
    speaks_to: frozenset[str]
    claims: str


def _lens(reads: Reads, name: str, speaks_to: frozenset[str], counts: str) -> Lens:
    return Lens(name, reads, speaks_to, f"Counts {counts}; a deterministic lens, not a language model.")


LENSES: dict[str, Lens] = {
    lens.name: lens
    for lens in (
        _lens(coverage, "coverage", THOROUGH, "statements of the notes whose words the output carries"),
        _lens(plan, "plan", THOROUGH, "decisions and next steps of the notes that the output carries"),
        _lens(support, "support", ACCURATE, "stretches of the output that share no word with the notes"),
        _lens(numbers, "numbers", ACCURATE, "numbers of the output that the notes do not give"),
        _lens(length, "length", SUCCINCT, "content words of the output against those of the notes"),
        _lens(repetition, "repetition", SUCCINCT, "clauses that say again what the output has said"),
        _lens(order, "order", ORGANIZED, "dates of the output that run backwards"),
        _lens(sequence, "sequence", ORGANIZED, "sentences that take the notes out of their order"),
        _lens(loaded_words, "loaded", STIGMATIZING, "listed labels that carry stigma"),
        _lens(tone, "tone", STIGMATIZING, "phrases that doubt, blame or disapprove of the patient"),
    )
}

SINGLE = "single"
"""The lens single judge: one seat that answers each attribute through the most relevant lens."""

MOST_RELEVANT: dict[str, str] = {
    attribute: lens
    for lens, attributes in (
        ("support", ACCURATE),
        ("coverage", THOROUGH),
        ("length", SUCCINCT),
        ("order", ORGANIZED),
        ("loaded", STIGMATIZING),
    )
    for attribute in attributes
}
"""Chosen for closeness to the attribute's question, before any agreement was measured."""


def reading_for(lens_name: str, attribute: str, source: Sequence[str], output: str) -> LensReading | None:
    """What the named lens (or `single`) reads for `attribute`; None where it has no opinion.

    Raises:
        KeyError: No lens has that name.
    """
    if lens_name == SINGLE:
        lens_name = MOST_RELEVANT.get(attribute, "")
        return LENSES[lens_name].reads(source, output) if lens_name else None
    lens = LENSES[lens_name]
    return lens.reads(source, output) if attribute in lens.speaks_to else None


def place(merit: float, values: Sequence[Value], better: Literal["high", "low"] = "high") -> Value:
    """The one of `values`, ordered from low to high, on which `merit` falls; merit 1 is the better end.

    The nearest of evenly spaced values. A merit halfway between two goes to the worse one, so that on a
    two-valued scale one fault is enough.
    """
    if not values:
        raise ValueError("there are no values to place a merit on")
    steps = max(0, ceil(merit * (len(values) - 1) - 0.5))
    return values[steps] if better == "high" else values[len(values) - 1 - steps]
