"""Likeness of a text to its reference, as baselines that a judge has to beat."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ...rubrics.errors import MissingExtra
from ..metrics.metric import Progress, registered_metrics

ROUGE_L = "text overlap (ROUGE-L)"


def text_baselines(
    pairs: Sequence[tuple[str, str]], *, progress: Progress | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Every registered metric of each output beside its reference, a column for each, and what is left out.

    Args:
        progress: Told how many tokens were read, of how many, by a metric that takes its time.
    """
    measured, notes = pd.DataFrame(index=range(len(pairs))), []
    for metric in registered_metrics():
        try:
            found = pd.DataFrame(metric.measure(pairs, progress), dtype=float)
        except MissingExtra as absent:
            notes.append(f"text overlap by {metric.title} is left out: {absent.problem} ({absent.remedy})")
        else:
            measured = measured.join(found.add_prefix("text overlap (").add_suffix(")"))
    return measured, notes
