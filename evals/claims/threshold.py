"""The cut-off that turns a score into yes or no: chosen inside folds, with its optimism shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rubrics.errors import VenireError
from ..ratings.folds import folds
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate
from ..statistics.matrix import FloatArray, IntArray
from ..statistics.roc import roc_auc, roc_curve
from ..statistics.yes_no import YesNoMetric, yes_no_estimates, yes_no_values

BoolArray = npt.NDArray[np.bool_]
Aim = Literal["kappa", "f1", "youden", "costs"]
AIMS: tuple[Aim, ...] = get_args(Aim)
FOLDS = 10
_SCORE, _TRUTH = "score", "people"


class Costs(NamedTuple):
    """What a wrong yes and a wrong no cost."""

    false_positive: float
    false_negative: float


@dataclass(frozen=True, slots=True)
class ThresholdArm:
    """One way to decide, and how its answers stand against people's."""

    name: str
    """`chosen in folds`, `chosen on all cases`, or `fixed at X`."""
    thresholds: tuple[float, ...]
    """The cut-off of each fold that has one, or the one of all."""
    metrics: Mapping[YesNoMetric, Estimate]
    counts: tuple[int, int, int, int]
    """True positives, false positives, false negatives, true negatives."""
    cost: float | None
    """Mean cost of a case, where costs are given."""


@dataclass(frozen=True, slots=True)
class ThresholdReport:
    """A cut-off, what it is worth on cases it was not chosen on, and how much better it looked on its own."""

    score: str
    aim: Aim
    threshold: float
    """Chosen on all cases: the one to use."""
    out_of_fold: ThresholdArm
    in_sample: ThresholdArm
    fixed: ThresholdArm
    auc: Estimate
    roc: pd.DataFrame
    """Columns `threshold`, `false_positive_rate`, `true_positive_rate`."""
    cases: int
    groups: int
    positives: int
    folds: int
    notes: tuple[str, ...] = ()

    @property
    def arms(self) -> tuple[ThresholdArm, ...]:
        return self.out_of_fold, self.in_sample, self.fixed

    @property
    def optimism(self) -> dict[YesNoMetric, float]:
        """How much better each metric looks on the cases that the cut-off was chosen on."""
        inside, outside = self.in_sample.metrics, self.out_of_fold.metrics
        return {name: inside[name].value - outside[name].value for name in inside}


def threshold_report(
    scores: FloatArray,
    truth: BoolArray,
    cluster: IntArray,
    *,
    score: str = _SCORE,
    aim: Aim = "kappa",
    costs: Costs | None = None,
    fixed: float = 0.8,
    number: int = FOLDS,
    draws: Draws | None = None,
    notes: tuple[str, ...] = (),
) -> ThresholdReport:
    """The cut-off that serves `aim` best, chosen on all cases, and what choosing one is worth on cases left out.

    In each fold a cut-off is chosen on the others and applied to it; groups of cases stay whole. A case is yes where its
    score is at or above the cut-off. Cut-offs lie halfway between neighbouring scores; of several that are equally good
    the middle one is taken.

    Raises:
        VenireError: There are fewer than four groups of cases, or people give one answer throughout.
    """
    drawn = draws or Draws()
    groups = len(np.unique(cluster))
    if groups < 4:
        raise VenireError(
            f"{groups} cases (or groups of cases) with a score and people's answer are too few to choose a threshold",
            remedy="give four or more",
        )
    if truth.all() or not truth.any():
        raise VenireError(
            f"people say {'yes' if truth.all() else 'no'} of every case", remedy="give cases of both kinds"
        )
    aim = "costs" if costs is not None else aim
    best = best_threshold(scores, truth, aim, costs)
    parts = folds(cluster, number, drawn.rng())
    answers, answered = np.zeros(len(scores), dtype=bool), np.zeros(len(scores), dtype=bool)
    chosen: list[float] = []
    for part in parts:
        cut = best_threshold(scores[part.chosen_on], truth[part.chosen_on], aim, costs)
        if not np.isnan(cut):
            answers[part.held_out], answered[part.held_out] = scores[part.held_out] >= cut, True
            chosen.append(cut)
    if unanswered := int((~answered).sum()):
        notes = (
            *notes,
            f"{unanswered} of {len(scores)} cases have no answer out of fold: without them people give one answer "
            f"throughout, so no cut-off has a {aim}",
        )

    def arm(
        name: str, thresholds: tuple[float, ...], yes: BoolArray, on: BoolArray | None = None
    ) -> ThresholdArm:
        on = np.ones(len(yes), dtype=bool) if on is None else on
        counts = _counts(yes[on], truth[on])
        spent = None if costs is None else (costs[0] * counts[1] + costs[1] * counts[2]) / sum(counts)
        metrics = yes_no_estimates(yes[on], truth[on], cluster[on], drawn.bootstrap())
        return ThresholdArm(name, thresholds, metrics, counts, spent)

    table = _pairs(scores, truth, cluster)
    raters = (_SCORE, _TRUTH)
    return ThresholdReport(
        score=score,
        aim=aim,
        threshold=best,
        out_of_fold=arm("chosen in folds", tuple(chosen), answers, answered),
        in_sample=arm("chosen on all cases", (best,), scores >= best),
        fixed=arm(f"fixed at {fixed:g}", (fixed,), scores >= fixed - 1e-9),
        auc=roc_auc(table, raters=raters, bootstrap=drawn.bootstrap(by="cluster", kind="bca")),
        roc=roc_curve(table, raters=raters),
        cases=len(scores),
        groups=groups,
        positives=int(truth.sum()),
        folds=len(parts),
        notes=notes,
    )


def best_threshold(scores: FloatArray, truth: BoolArray, aim: Aim, costs: Costs | None = None) -> float:
    """The cut-off that serves `aim` best on these cases; of several, the middle one; NaN where none has a value of it."""
    values = np.unique(scores)
    cuts = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [np.nextafter(values[-1], np.inf)]])
    yes = scores[None, :] >= cuts[:, None]
    tp, fp = (yes & truth).sum(axis=1), (yes & ~truth).sum(axis=1)
    fn, tn = truth.sum() - tp, (~truth).sum() - fp
    metrics = yes_no_values(tp, fp, fn, tn)
    if aim == "costs":
        assert costs is not None
        worth = -(costs.false_positive * fp + costs.false_negative * fn).astype(float)
    elif aim == "youden":
        worth = metrics["sensitivity"] + metrics["specificity"] - 1
    else:
        worth = metrics[aim]
    if np.isnan(worth).all():
        return np.nan
    equal = np.flatnonzero(worth >= np.nanmax(worth) - 1e-12)
    return float(cuts[equal[len(equal) // 2]])


def _counts(yes: BoolArray, truth: BoolArray) -> tuple[int, int, int, int]:
    return (
        int((yes & truth).sum()),
        int((yes & ~truth).sum()),
        int((~yes & truth).sum()),
        int((~yes & ~truth).sum()),
    )


def _pairs(scores: FloatArray, truth: BoolArray, cluster: IntArray) -> pd.DataFrame:
    """Scores and people's answers as two raters, for the ROC."""
    cases = np.arange(len(scores))
    parts = [
        pd.DataFrame({"case": cases, "rater": rater, "value": values, "cluster": cluster})
        for rater, values in ((_SCORE, scores), (_TRUTH, truth.astype(float)))
    ]
    return pd.concat(parts, ignore_index=True)
