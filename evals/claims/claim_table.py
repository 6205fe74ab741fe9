"""The claims of a run or of a file in figures: shares a case, their means, and how the claims came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...orchestration.claim_counts import SHARE_NAMES, ClaimShares, claim_shares
from ...orchestration.reading.claim_card import ClaimCard
from ...personas.options import ShareName
from ...rubrics.claim import CLAIM_VERDICTS, Claim, ClaimVerdict
from ..ratings.clusters import cluster_numbers
from ..statistics.bootstrap import Bootstrap, OfSums
from ..statistics.estimate import Estimate
from ..statistics.matrix import FloatArray, Matrix
from .labelled import LabelledClaims


@dataclass(frozen=True, slots=True)
class ClaimFigures:
    """What the claims of many cases amount to."""

    cases: int
    """With a claim that has a verdict."""
    hung: int
    """Without one, or without a text to check against: they are in no mean."""
    claims: int
    verdicts: Mapping[str, int]
    """How many claims came out how; `undecided` are those without a verdict."""
    shares: Mapping[ShareName, Estimate]
    """Means over cases; a case for which a share is undefined is not in its mean."""
    measures: Mapping[str, Estimate]
    """The same of precision, recall, F1 and contradiction, as far as they were measured."""

    @property
    def claims_per_case(self) -> float | None:
        """Claims of a case that has any."""
        return self.claims / self.cases if self.cases else None


def run_figures(
    cards: Sequence[ClaimCard], groups: Mapping[str, object], bootstrap: Bootstrap
) -> ClaimFigures:
    """The figures of one arm's cards; groups of cases are resampled whole."""
    back = any(card.findings.against is not None for card in cards)
    measured = ("precision", "contradiction", "recall", "f1") if back else ("precision", "contradiction")
    return _figures(
        [card.case for card in cards],
        [card.findings.of for card in cards],
        Counter(outcome.verdict for card in cards for outcome in card.claims),
        {name: [_number(card.findings.measure(name).value) for card in cards] for name in measured},
        groups,
        bootstrap,
    )


def labelled_figures(labelled: LabelledClaims, bootstrap: Bootstrap) -> ClaimFigures:
    """The figures of labelled claims, by the labels of the first person in the file."""
    first = next((check.juror for check in labelled.checks), "")
    verdicts = {(c.case, c.claim): c.verdict for c in labelled.checks if c.juror == first}
    claims: dict[str, list[tuple[Claim, ClaimVerdict | None]]] = {}
    for row in labelled.claims:
        claims.setdefault(row.case, []).append((row.claim, verdicts.get((row.case, row.claim.id))))
    return _figures(
        list(claims),
        [claim_shares(found) for found in claims.values()],
        Counter(verdict for found in claims.values() for _, verdict in found),
        {},
        {},
        bootstrap,
    )


def _figures(
    names: Sequence[str],
    shares: Sequence[ClaimShares],
    verdicts: Mapping[ClaimVerdict | None, int],
    values: Mapping[str, Sequence[float]],
    groups: Mapping[str, object],
    bootstrap: Bootstrap,
) -> ClaimFigures:
    cluster = cluster_numbers(pd.Series(names, dtype=object), groups)

    def mean(found: Iterable[float]) -> Estimate:
        values = np.array(list(found), dtype=float)
        known = ~np.isnan(values)
        _, drawn = np.unique(cluster[known], return_inverse=True)
        grid = Matrix(
            values[known][:, None], tuple(range(int(known.sum()))), ("share",), drawn.astype(np.int64)
        )
        return bootstrap.estimate(_mean, grid, method="mean over cases", otherwise="no case has it")

    counted = [each for each in shares if each.enough]
    return ClaimFigures(
        cases=len(counted),
        hung=len(shares) - len(counted),
        claims=sum(each.claims for each in counted),
        verdicts={word or "undecided": verdicts.get(word, 0) for word in (*CLAIM_VERDICTS, None)},
        shares={
            name: mean(_number(each.share(name)) if each.enough else np.nan for each in shares)
            for name in SHARE_NAMES
        },
        measures={name: mean(found) for name, found in values.items()},
    )


def _mean(values: FloatArray) -> OfSums:
    sums = np.column_stack([values[:, 0], np.ones(len(values))])
    return OfSums(sums, lambda totals: totals[:, 0] / np.maximum(totals[:, 1], 1))


def _number(value: object) -> float:
    """A measure as a number; NaN, which no mean takes in, where it is undefined or does not apply."""
    return float(value) if isinstance(value, int | float) else np.nan
