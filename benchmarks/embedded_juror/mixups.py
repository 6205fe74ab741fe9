"""Mix-ups: a statement with a value that the source gives to something else, as summarisers make them.

What `evals/training/faults` plants stands nowhere in the source, and a juror can find it by looking for the word alone. This cannot.
"""

from __future__ import annotations

import random
import re

from venire.agents.lenses.words import stems
from venire.evals.training.faults.term import TERM, terms_like
from venire.evals.training.passages import Truth, numbers_in, passages
from venire.evals.training.planting import Fault, PlantedText

_FIGURE = re.compile(r"(?<![\w.,/-])\d+(?:\.\d+)?(?![\w/]|[.,]\d)")


def mixed_up(text: PlantedText, truth: Truth, rng: random.Random) -> PlantedText | None:
    """`text` with a number or term in the place of another that the source has too; None where there is no such pair."""
    places = [*_FIGURE.finditer(text.output), *TERM.finditer(text.output)]
    rng.shuffle(places)
    for place in places:
        before = place.group()
        if any(fault.start < place.end() and place.start() < fault.end for fault in text.faults):
            continue
        after = _number(before, truth, rng) if before[0].isdigit() else _term(before, truth, rng)
        if after is None or not _made_false(text.output, place, after, truth):
            continue
        if before[0].isupper():
            after = after[0].upper() + after[1:]
        fault = Fault(
            kind="number" if before[0].isdigit() else "term", attribute="accurate", points=3,
            start=place.start(), end=place.start() + len(after), before=before, after=after,
        )  # fmt: skip
        shift = len(after) - len(before)
        moved = [
            f.model_copy(update={"start": f.start + shift, "end": f.end + shift})
            if f.start >= place.end()
            else f
            for f in text.faults
        ]
        output = text.output[: place.start()] + after + text.output[place.end() :]
        return PlantedText(output=output, faults=(*moved, fault))
    return None


def _number(before: str, truth: Truth, rng: random.Random) -> str | None:
    others = [n for n in truth.numbers if n not in numbers_in(before) and len(n) == len(before) and n > "1"]
    return rng.choice(sorted(others)) if numbers_in(before) <= truth.numbers and others else None


def _term(before: str, truth: Truth, rng: random.Random) -> str | None:
    others = [term for term in terms_like(before) if set(stems(term)) <= truth.vocabulary and stems(term)]
    return rng.choice(others) if set(stems(before)) <= truth.vocabulary and others else None


def _made_false(text: str, place: re.Match[str], after: str, truth: Truth) -> bool:
    """Whether the passage that bears the statement out has the right value and not the wrong one."""
    sentence = next((p for p in passages(text) if p.start <= place.start() < p.end), None)
    if sentence is None:
        return False
    passage = truth.nearest_passage(sentence.text, above_all=place.group())
    wrong = set(stems(after)) | numbers_in(after)
    if passage is None or wrong & (set(stems(passage)) | numbers_in(passage)):
        return False
    right = set(stems(place.group())) | numbers_in(place.group())
    return bool(right & (set(stems(passage)) | numbers_in(passage))) and not wrong & set(stems(sentence.text))
