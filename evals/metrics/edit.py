"""EditStep distances between what was said and what was heard: WER, CER, MER, WIL, and the alignment behind them.

Two bits a cell are kept, a whole row of the table in one integer, so that texts of ten thousand words take seconds and no package.
Where several alignments are as short, the one is taken that rapidfuzz takes, and with it jiwer: MER and WIL depend on it.

References:
    Hyyro (2003), "A bit-vector algorithm for computing Levenshtein and Damerau edit distances".
    Morris, Maier and Green (2004), "From WER and RIL to MER and WIL".
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Literal, NamedTuple

from .metric import Metric

Operation = Literal["equal", "substitute", "delete", "insert"]


class EditStep(NamedTuple):
    """One step from the reference to the output: a place in each, and what happens there."""

    operation: Operation
    reference: int
    output: int


class EditCounts(NamedTuple):
    """How often each operation occurs."""

    hits: int
    substitutions: int
    deletions: int
    insertions: int

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions


def edit_steps(reference: Sequence[Hashable], output: Sequence[Hashable]) -> list[EditStep]:
    """The steps that turn `reference` into `output`, in order, those that change nothing among them."""
    start = _common(reference, output)
    end = _common(reference[start:][::-1], output[start:][::-1])
    before = [EditStep("equal", place, place) for place in range(start)]
    last, final = len(reference) - end, len(output) - end
    middle = _steps(reference[start:last], output[start:final])
    moved = [EditStep(step, i + start, j + start) for step, i, j in middle]
    return [*before, *moved, *(EditStep("equal", last + place, final + place) for place in range(end))]


def edit_counts(reference: Sequence[Hashable], output: Sequence[Hashable]) -> EditCounts:
    """The operations of `edit_steps`, counted."""
    counts = dict.fromkeys(("equal", "substitute", "delete", "insert"), 0)
    for step in edit_steps(reference, output):
        counts[step.operation] += 1
    return EditCounts(*counts.values())


def _common(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """How many items two sequences have in common at the start."""
    same = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        same += 1
    return same


def _steps(reference: Sequence[Hashable], output: Sequence[Hashable]) -> list[EditStep]:
    rows = list(_rows(reference, output))
    i, j = len(reference), len(output)
    found: list[EditStep] = []
    while i and j:
        more, _ = rows[j - 1]
        if more >> (i - 1) & 1:
            i -= 1
            found.append(EditStep("delete", i, j))
            continue
        j -= 1
        if j and rows[j - 1][1] >> (i - 1) & 1:
            found.append(EditStep("insert", i, j))
            continue
        i -= 1
        found.append(EditStep("equal" if reference[i] == output[j] else "substitute", i, j))
    found += [EditStep("delete", place, 0) for place in range(i - 1, -1, -1)]
    found += [EditStep("insert", 0, place) for place in range(j - 1, -1, -1)]
    return found[::-1]


def _rows(reference: Sequence[Hashable], output: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """For each item of the output, the places of the reference at which the distance grows by one, and falls by one."""
    places: dict[Hashable, int] = {}
    for place, item in enumerate(reference):
        places[item] = places.get(item, 0) | 1 << place
    full = (1 << len(reference)) - 1
    more, less = full, 0
    for item in output:
        here = places.get(item, 0)
        same = (((here & more) + more) ^ more) | here | less
        up, down = less | ~(same | more) & full, same & more
        up, down = (up << 1 | 1) & full, down << 1 & full
        more, less = down | ~(same | up) & full, up & same
        yield more, less


def wer(output: str, reference: str) -> float:
    """Word error rate: errors for each word of the reference; above 1 where much was added. NaN without a reference."""
    words = reference.split()
    return edit_counts(words, output.split()).errors / len(words) if words else math.nan


def cer(output: str, reference: str) -> float:
    """Character error rate, a space counted as a character."""
    said, heard = " ".join(reference.split()), " ".join(output.split())
    return edit_counts(said, heard).errors / len(said) if said else math.nan


def mer(output: str, reference: str) -> float:
    """Match error rate: the share of alignment steps that are errors."""
    words = reference.split()
    found = edit_counts(words, output.split())
    return found.errors / (found.hits + found.errors) if words else math.nan


def wil(output: str, reference: str) -> float:
    """Word information lost: one minus the product of the shares of either text that is in the other."""
    words, heard = reference.split(), output.split()
    if not words:
        return math.nan
    hits = edit_counts(words, heard).hits
    return 1 - hits / len(words) * (hits / len(heard)) if heard else 1.0


def _edit_metric(name: str, title: str, place: int, most: float) -> Metric:
    rate = {"wer": wer, "cer": cer, "mer": mer, "wil": wil}[name]
    return Metric(
        name,
        title,
        lambda pairs, progress: {title: [rate(*pair) for pair in pairs]},
        place,
        family="edit",
        direction="low",
        bounds=(0.0, most),
        baseline=False,
    )


WER = _edit_metric("wer", "WER", 10, math.inf)
CER = _edit_metric("cer", "CER", 11, math.inf)
MER = _edit_metric("mer", "MER", 12, 1.0)
WIL = _edit_metric("wil", "WIL", 13, 1.0)
