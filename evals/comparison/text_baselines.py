"""Likeness of a text to its reference, as baselines that a judge has to beat."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from ...rubrics.errors import MissingExtra
from ..metrics.meaning import Likeness, likeness
from ..metrics.overlap import rouge_l


def text_baselines(
    pairs: Sequence[tuple[str, str]], *, progress: Callable[[int, int], None] | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """ROUGE-L (`overlap`), MiniLM's `token_f1` and `cosine` of each output beside its reference, and what is left out.

    Args:
        progress: Told how many tokens MiniLM has read, of how many.
    """
    measured = pd.DataFrame({"overlap": [rouge_l(*pair) for pair in pairs]}, dtype=float)
    try:
        alike = pd.DataFrame(likeness(pairs, progress=progress), columns=Likeness._fields, dtype=float)
    except MissingExtra as absent:
        return measured, [f"text overlap by MiniLM is left out: {absent.problem} ({absent.remedy})"]
    return measured.join(alike), []
