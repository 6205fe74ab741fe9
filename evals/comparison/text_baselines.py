"""Likeness of a text to its reference, as baselines that a judge has to beat."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ...rubrics.errors import MissingExtra
from ..metrics.metric import Progress, chosen_metrics, registered_metrics
from ..metrics.normalisation import Normalisation

ROUGE_L = "text overlap (ROUGE-L)"


def text_baselines(
    pairs: Sequence[tuple[str, str]],
    *,
    progress: Progress | None = None,
    more: Sequence[str] = (),
    normal: Normalisation | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Every registered baseline of each output beside its reference, a column for each, and what is left out.

    An error rate is turned (one minus the rate), so that high is good in every column.

    Args:
        progress: Told how many tokens were read, of how many, by a metric that takes its time.
        more: Names of further metrics, which both texts are normalised for.
        normal: How; without it they are taken as they are.
    """
    measured, notes = pd.DataFrame(index=range(len(pairs))), []
    for metric in registered_metrics():
        if metric.baseline:
            try:
                found = pd.DataFrame(metric.measure(pairs, progress), dtype=float)
            except MissingExtra as absent:
                notes.append(
                    f"text overlap by {metric.title} is left out: {absent.problem} ({absent.remedy})"
                )
            else:
                measured = measured.join(found.add_prefix("text overlap (").add_suffix(")"))
    for metric in chosen_metrics(more) if more else ():
        given = [(normal(output), normal(reference)) for output, reference in pairs] if normal else pairs
        try:
            columns = metric.measure(given, progress)
        except MissingExtra as absent:
            notes.append(f"the metric {metric.name} is left out: {absent.problem} ({absent.remedy})")
            continue
        values = pd.Series(
            columns[metric.value] if metric.value else next(iter(columns.values())), dtype=float
        )
        if metric.direction == "low":
            measured[f"metric (1 - {metric.name})"] = 1 - values
        else:
            measured[f"metric ({metric.name})"] = values
    return measured, notes
