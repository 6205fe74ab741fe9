"""Likeness of a text to its reference, as baselines that a judge has to beat."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ...rubrics.errors import MissingExtra
from ..metrics.metric import Progress, metric

BASELINES = ("rouge-l", "minilm")


def text_baselines(
    pairs: Sequence[tuple[str, str]], *, progress: Progress | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """ROUGE-L (`overlap`), MiniLM's `token_f1` and `cosine` of each output beside its reference, and what is left out.

    Args:
        progress: Told how many tokens MiniLM has read, of how many.
    """
    measured, notes = pd.DataFrame(index=range(len(pairs))), []
    for each in map(metric, BASELINES):
        try:
            found = pd.DataFrame(each.measure(pairs, progress), dtype=float)
        except MissingExtra as absent:
            notes.append(f"text overlap by {each.title} is left out: {absent.problem} ({absent.remedy})")
        else:
            measured = measured.join(found)
    return measured, notes
