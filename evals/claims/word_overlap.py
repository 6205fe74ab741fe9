"""Measures of claims against people's, beside plain word overlap: whether taking texts apart is worth it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...orchestration.claim_counts import BACKWARD, MEASURES
from ...orchestration.reading.claim_card import ClaimCard
from ..metrics.overlap import WORD
from ..ratings.clusters import cluster_numbers
from ..statistics.bootstrap import Bootstrap, Coefficient, Statistic
from ..statistics.correlation import pearson_statistic
from ..statistics.estimate import Estimate
from ..statistics.matrix import FloatArray, Matrix

LEAST = 4
"""Cases below which no correlation is given."""


@dataclass(frozen=True, slots=True)
class OverlapComparison:
    """How a measure of claims follows people's scores, and how plain word overlap does."""

    measure: str
    claims: Estimate
    """Pearson's r of the measure with the mean of people's scores."""
    words: Estimate
    """The same of the share of words that the two texts have in common."""
    difference: Estimate

    @property
    def sentence(self) -> str:
        """What may be said of the difference."""
        if not self.claims.defined:
            return f"{self.measure}: {self.claims.note}."
        mine = f"r {self.claims.value:.3f} ({self.claims.low:.2f} to {self.claims.high:.2f}) with people, n = {self.claims.n}"
        if not self.difference.defined:
            return f"{self.measure}: claims have {mine}; word overlap cannot be set beside it ({self.words.note})."
        words = f"word overlap {self.words.value:.3f} ({self.words.low:.2f} to {self.words.high:.2f})"
        gap = f"difference {self.difference.value:+.3f} ({self.difference.low:+.2f} to {self.difference.high:+.2f})"
        told = (
            "claims follow people better"
            if self.difference.low > 0
            else "word overlap follows people better"
            if self.difference.high < 0
            else "word overlap is as good as far as these cases tell"
        )
        return f"{self.measure}: claims have {mine}, {words}, {gap}: {told}."


def overlap_comparisons(
    cards: Sequence[ClaimCard], groups: Mapping[str, object], bootstrap: Bootstrap
) -> list[OverlapComparison]:
    """Each measure that people scored under its name, in the cards' own ratings."""
    rated = {rating.attribute for card in cards for rating in card.people}
    return [_comparison(name, cards, groups, bootstrap) for name in MEASURES if name in rated]


def shared_words(card: ClaimCard, measure: str) -> float:
    """The words that both texts have, as a share of the text that the measure is of (of both, for F1); NaN without texts."""
    if len(card.texts) < 2:
        return np.nan
    first, second = (Counter(WORD.findall(text.text.casefold())) for text in card.texts)
    common = (first & second).total()
    if measure == "f1":
        size = (first.total() + second.total()) / 2
    else:
        size = (second if measure in BACKWARD else first).total()
    overlap = common / size if size else np.nan
    return 1 - overlap if measure == "contradiction" else overlap


def _comparison(
    name: str, cards: Sequence[ClaimCard], groups: Mapping[str, object], bootstrap: Bootstrap
) -> OverlapComparison:
    rows = []
    for card in cards:
        value = card.findings.measure(name).value
        said = [r.value for r in card.people if r.attribute == name and isinstance(r.value, int | float)]
        if isinstance(value, int | float) and said:
            rows.append((card.case, float(value), shared_words(card, name), float(np.mean(said))))
    table = pd.DataFrame(rows, columns=["case", "claims", "words", "people"])
    values = table[["claims", "words", "people"]].to_numpy(float)
    cluster = cluster_numbers(table["case"].astype(object), groups)

    def estimate(columns: Sequence[int], coefficient: Coefficient, method: str) -> Estimate:
        known = ~np.isnan(values[:, list(columns)]).any(axis=1)
        if known.sum() < LEAST:
            known[:] = False
        _, drawn = np.unique(cluster[known], return_inverse=True)
        cases = tuple(table["case"][known])
        grid = Matrix(values[known], cases, ("claims", "words", "people"), drawn.astype(np.int64))
        why = f"fewer than {LEAST} cases have both, or one of them never varies"
        return bootstrap.estimate(coefficient, grid, method=method, otherwise=why)

    return OverlapComparison(
        name,
        estimate((0, 2), _with_people(0), "Pearson's r"),
        estimate((1, 2), _with_people(1), "Pearson's r"),
        estimate((0, 1, 2), _advantage, "difference of Pearson's r"),
    )


def _with_people(column: int) -> Coefficient:
    return lambda values: pearson_statistic(values[:, column], values[:, 2])


def _advantage(values: FloatArray) -> Statistic:
    claims, words = _with_people(0)(values), _with_people(1)(values)
    return lambda weights: claims(weights) - words(weights)
