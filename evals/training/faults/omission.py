"""Something the source says, and the text said, taken out."""

from __future__ import annotations

import random
import re

from ....agents.lenses.words import stems
from ..passages import Passage, passages
from .fault import Edit, Material

_SUPPORT = 0.3
_ITEM = re.compile(r",\s+(?:and\s+)?[^,.;]{3,60}(?=[,.;]|\Z)")
_LEAST_LEFT = 3
_TRIED = 12


def find_omission(material: Material, rng: random.Random) -> Edit | None:
    text = material.text
    there = passages(text)
    runs = _runs(there)
    rng.shuffle(runs)
    run = next((run for run in runs[:_TRIED] if _is_lost(material, run)), None)
    if run is not None:
        start, end = run[0].start, run[-1].end
        # The white space after what goes, or before it at the end of the text.
        end += len(text[end:]) - len(text[end:].lstrip())
        if end == len(text):
            start = len(text[:start].rstrip())
        return Edit(start, end, "", points_for(text, text[:start] + text[end:]))
    items = [
        match
        for match in _ITEM.finditer(text)
        if stems(match.group())
        and material.truth.support(match.group()) >= _SUPPORT
        and not set(stems(match.group())) <= set(stems(text[: match.start()] + text[match.end() :]))
    ]
    if not items:
        return None
    item = rng.choice(items)
    return Edit(item.start(), item.end(), "", points_for(text, text[: item.start()] + text[item.end() :]))


def points_for(whole: str, left: str) -> int:
    """How grave it is that only `left` remains of `whole`: by the share of its content words that is gone."""
    before, after = stems(whole), set(stems(left))
    gone = sum(word not in after for word in before) / max(1, len(before))
    return 1 if gone < 0.12 else 2 if gone < 0.3 else 3 if gone < 0.6 else 4


def _runs(there: list[Passage]) -> list[list[Passage]]:
    """Stretches of sentences, up to all but one of them."""
    longest = max(1, len(there) - 1)
    return (
        [there[i : i + n] for n in range(1, longest + 1) for i in range(len(there) - n + 1)]
        if len(there) > 1
        else []
    )


def _is_lost(material: Material, run: list[Passage]) -> bool:
    gone = " ".join(p.text for p in run)
    left = material.text[: run[0].start] + material.text[run[-1].end :]
    words = set(stems(gone))
    return (
        len(words) > 1
        and len(stems(left)) >= _LEAST_LEFT
        and material.truth.support(gone) >= _SUPPORT
        and len(words & set(stems(left))) / len(words) < 0.7
    )
