"""Overlap in meaning with a reference, by MiniLM's vectors: two more baselines that a judge has to beat."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .embeddings import Embedded, Vectors, embed

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


def likeness(pairs: Sequence[tuple[str, str]]) -> list[Likeness]:
    """Each output beside its reference; an output without a word is like nothing.

    Tokens are compared by the last layer's vectors, all with the same weight; the marks for the start and the end
    of a text match no word. Long texts are read in windows, as `embed` says.

    Raises:
        MissingExtra: The weights, or a package that reads them, are not installed.

    References:
        Zhang et al. (2020), "BERTScore", ICLR; Reimers and Gurevych (2019), "Sentence-BERT", EMNLP.
    """
    found = []
    for start in range(0, len(pairs), TOGETHER):
        part = pairs[start : start + TOGETHER]
        embedded = embed([text for pair in part for text in pair])
        found += [_likeness(*both) for both in zip(embedded[::2], embedded[1::2], strict=True)]
    return found


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
