"""Overlap in meaning with a reference, by MiniLM's vectors: two more baselines that a judge has to beat."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .embeddings import Embedded, Vectors, embed, tokens_of
from .metric import Metric, Progress

TOKEN_F1, COSINE = "MiniLM token F1", "MiniLM cosine"
TOGETHER = 64
"""Pairs whose vectors are held at a time."""
BLOCK = 1024
"""Tokens of one text set against all of the other's at a time."""


class Likeness(NamedTuple):
    """How alike two texts are; NaN where there is no reference."""

    token_f1: float
    """Each token beside the most similar of the other text: the F1 of what is found of each in the other."""
    cosine: float
    """Of the two texts' vectors."""


def likeness(
    pairs: Sequence[tuple[str, str]], *, progress: Callable[[int, int], None] | None = None
) -> list[Likeness]:
    """Each output beside its reference; an output without a word is like nothing.

    Tokens are compared by the last layer's vectors, all with the same weight; the marks for the start and the end
    of a text match no word. Long texts are read in windows, as `embed` says.

    Args:
        progress: Told as the work goes on how many tokens were read, of how many.

    Raises:
        MissingExtra: The weights, or a package that reads them, are not installed.

    References:
        Zhang et al. (2020), "BERTScore", ICLR; Reimers and Gurevych (2019), "Sentence-BERT", EMNLP.
    """
    # Outputs of several systems share a reference: side by side, it is read once.
    order = sorted(range(len(pairs)), key=lambda number: pairs[number][1])
    parts = [order[start : start + TOGETHER] for start in range(0, len(order), TOGETHER)]
    texts = [[text for number in part for text in pairs[number]] for part in parts]
    total, read = sum(map(tokens_of, texts)) if progress else 0, 0

    def count(tokens: int) -> None:
        nonlocal read
        read += tokens
        if progress:
            progress(read, total)

    count(0)
    found: dict[int, Likeness] = {}
    for part, its in zip(parts, texts, strict=True):
        embedded = embed(its, progress=count)
        both = zip(embedded[::2], embedded[1::2], strict=True)
        found |= {number: _likeness(*sides) for number, sides in zip(part, both, strict=True)}
    return [found[number] for number in range(len(pairs))]


def _likeness(output: Embedded | None, reference: Embedded | None) -> Likeness:
    if reference is None:
        return Likeness(math.nan, math.nan)
    if output is None:
        return Likeness(0.0, 0.0)
    return Likeness(_f1(output.tokens, reference.tokens), float(output.sentence @ reference.sentence))


def _f1(given: Vectors, wanted: Vectors) -> float:
    found, best = [], np.full(len(wanted), -1, dtype=np.float32)
    for start in range(0, len(given), BLOCK):
        alike = given[start : start + BLOCK] @ wanted.T
        found.append(alike.max(axis=1))
        np.maximum(best, alike.max(axis=0), out=best)
    precision, recall = float(np.concatenate(found).mean()), float(best.mean())
    return 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0


def _minilm(pairs: Sequence[tuple[str, str]], progress: Progress | None) -> dict[str, list[float]]:
    found = likeness(pairs, progress=progress)
    return {
        TOKEN_F1: [each.token_f1 for each in found],
        COSINE: [each.cosine for each in found],
    }


NEEDS = "MiniLM's weights"
MINILM = Metric(
    "minilm", "MiniLM", _minilm, 30, family="meaning", bounds=(-1.0, 1.0), needs=NEEDS, value=COSINE
)
MINILM_F1 = Metric(
    "minilm-f1", TOKEN_F1, _minilm, 31, family="meaning", needs=NEEDS, value=TOKEN_F1, baseline=False
)
