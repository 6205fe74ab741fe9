"""What has shifted: new cases against those that were labelled, and one run of a jury against a later one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...orchestration.record import Arm, Store
from ...orchestration.record.manifest import case_fingerprint, manifest_changes
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ..report.section import estimate_phrase
from ..statistics.estimate import Estimate, undefined
from ..statistics.matrix import FloatArray, IntArray
from ..statistics.significance import LEVEL, p_words
from .labelled_verdicts import LabelledVerdicts, labelled_verdicts
from .labelling import BoolArray, Labelling
from .prediction_powered import FEWEST, rectified_mean

Values = npt.NDArray[np.floating] | npt.NDArray[np.str_]
PERMUTATIONS = 999
ANCHORED = "mean difference on anchor cases; t interval"
_WITHOUT = ("made_with", "prices", "venire", "seed")


@dataclass(frozen=True, slots=True)
class Shift:
    """The signal that differs most between old cases and new ones, and how often chance alone makes one differ so much."""

    signal: str
    distance: float
    """Kolmogorov and Smirnov's, the largest difference between the two shares at or below a value; of words, half the sum of
    differences between shares."""
    p: float
    note: str = ""

    @property
    def found(self) -> bool:
        return self.p < LEVEL

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if self.note:
            return f"Whether the unlabelled cases differ from the labelled ones could not be tested: {self.note}."
        if self.found:
            return (
                f"The unlabelled cases differ from the labelled ones ({self.signal}: distance {self.distance:.2f}, {p_words(self.p)}). So the "
                "labelled cases are not a random draw, and the certificate may not hold. Label some of the unlabelled cases, drawn at random."
            )
        return (
            f"No difference was seen between the labelled and the unlabelled cases ({p_words(self.p)}). The test compares scores, confidence, signals of the "
            "deliberation and systems, and sees no other difference."
        )


def shift_test(
    old: Mapping[str, Values],
    new: Mapping[str, Values],
    old_cluster: IntArray,
    new_cluster: IntArray,
    rng: np.random.Generator,
) -> Shift:
    """The signal whose two distributions differ the most surprisingly, with a p for the least of all p by exchanging clusters.

    Args:
        old: By signal, one number a case, NaN where it is not known, which counts as a value of its own; or one word a
            case, whose distance is half the sum of differences between shares.

    References:
        Westfall and Young (1993), "Resampling-Based Multiple Testing", section 2.3.
    """
    from scipy.stats import rankdata

    names = [name for name in old if name in new]
    if not len(old_cluster) or not len(new_cluster) or not names:
        return Shift(
            "", np.nan, np.nan, "there are no unlabelled cases" if len(old_cluster) else "nothing is labelled"
        )
    cluster = np.concatenate([old_cluster, new_cluster + old_cluster.max() + 1])
    code = np.unique(cluster, return_inverse=True)[1]
    is_old = np.zeros(int(code.max()) + 1, dtype=bool)
    is_old[code[: len(old_cluster)]] = True
    exchanges = np.stack([is_old, *(rng.permuted(np.tile(is_old, (PERMUTATIONS, 1)), axis=1))])
    distances = np.stack(
        [_distances(np.concatenate([old[name], new[name]]), code, exchanges) for name in names], axis=1
    )
    # By signal, the share of draws that lie as far apart as each draw does: signals of any kind are then alike.
    single_p = 1 - (rankdata(np.round(distances, 12), method="min", axis=0) - 1) / len(distances)
    least = single_p.min(axis=1)
    at = int(np.lexsort((-distances[0], single_p[0]))[0])
    return Shift(names[at], float(distances[0, at]), float((least <= least[0] + 1e-12).mean()))


def _distances(values: Values, code: IntArray, exchanges: BoolArray) -> FloatArray:
    """Of each draw of which clusters are old, the distance between the distributions of the old and the new."""
    words = values.dtype.kind not in "fi"
    level = np.unique(values if words else _below_where_unknown(values.astype(float)), return_inverse=True)[1]
    order = np.argsort(level, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(level[order])), len(order) - 1)
    old_counts = np.cumsum(exchanges[:, code[order]], axis=1, dtype=np.int32)[:, ends]
    new_counts = ends + 1 - old_counts
    gaps = old_counts / old_counts[:, -1:] - new_counts / new_counts[:, -1:]
    if words:
        return np.asarray(np.abs(np.diff(gaps, axis=1, prepend=0.0)).sum(axis=1) / 2)
    return np.asarray(np.abs(gaps).max(axis=1))


def _below_where_unknown(values: FloatArray) -> FloatArray:
    """The values with those not known below all others."""
    return np.where(np.isnan(values), np.nanmin(values, initial=0.0) - 1, values)


@dataclass(frozen=True, slots=True)
class RunShift:
    """What changed about an arm between two runs, and by how much its scores did on cases that both judged."""

    arm: str
    changes: tuple[str, ...]
    anchors: int
    """Cases with the same text that both runs judged."""
    shifts: dict[str, Estimate]
    """By attribute: the later score less the earlier one on the same case; of words, the share that changed."""
    means: pd.DataFrame
    """`attribute`, `before`, `now` (mean scores of all cases), `difference`, `corrected` (less the shift)."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What may be compared, and the shift with its interval."""
        if not self.changes:
            return (
                f"{self.arm} is the same jury in both runs, so the scores of the two runs may be compared as they are.",
            )
        sentences = [
            f"{self.arm} is not the same jury in both runs ({'; '.join(self.changes)}): scores are compared on {self.anchors} anchor cases, which are in both runs."
        ]
        for name, shift in self.shifts.items():
            sentences.append(
                f"{name}: the change of the jury moved scores by {estimate_phrase(shift, '+.3f', '+.3f')} on the same cases."
                if shift.defined
                else f"{name}: how far the change of the jury moved scores is unknown: {shift.note}."
            )
        return tuple(sentences)


def run_shift(now: Path | str, before: Path | str, *, arm: str | None = None) -> RunShift:
    """An arm of the run `now` beside the arm of the same name in the run `before`.

    Raises:
        VenireError: The jury changed (model, persona, prompt, rubric, adapter, protocol) and fewer than five cases with the
            same text were judged by both.
    """
    old_store, new_store = Store.read(before), Store.read(now)
    try:
        old_set, new_set = labelled_verdicts(old_store, None), labelled_verdicts(new_store, None)
        old, new = _same_arm(old_set, new_set, arm)
        both = _anchors(old_store, new_store, old_set.table, new_set.table, old, new)
    finally:
        old_store.release()
        new_store.release()
    changes = tuple(
        manifest_changes(
            *({part: value for part, value in a.manifest.items() if part not in _WITHOUT} for a in (old, new))
        )
    )
    if changes and len(both) < FEWEST:
        raise VenireError(
            f"{new.name} is not the same jury in both runs: {'; '.join(changes)}. Only {len(both)} cases were judged in both runs",
            remedy=f"judge {FEWEST} or more of the same cases in both runs, so that the effect of the change can be measured",
        )
    names = [name for name in new.rubric.names if name in old.rubric.names]
    shifts = {name: _shift(old_set, new_set, old, new, name, both) for name in names}
    return RunShift(
        new.name, changes, len(both), shifts, _means(old_set, new_set, old, new, names, shifts, bool(changes))
    )


def _same_arm(old_set: LabelledVerdicts, new_set: LabelledVerdicts, arm: str | None) -> tuple[Arm, Arm]:
    new = new_set.arm(arm)
    old = next((a for a in old_set.arms if a.name == new.name), None)
    if old is None:
        names = [a.name for a in old_set.arms]
        raise VenireError(f"the earlier run has no arm {new.name!r}", remedy=nearest(new.name, names))
    return old, new


def _anchors(
    old_store: Store, new_store: Store, early: pd.DataFrame, late: pd.DataFrame, old: Arm, new: Arm
) -> list[str]:
    """The cases that both judged, with the same text where the text was kept."""
    shared = set(early.loc[early["arm"] == old.name, "case"]) & set(late.loc[late["arm"] == new.name, "case"])
    if old_store.redacted or new_store.redacted:
        return sorted(shared)
    anchors = []
    for name in sorted(shared):
        was, is_now = old_store.case(name), new_store.case(name)
        if was is not None and is_now is not None and case_fingerprint(was) == case_fingerprint(is_now):
            anchors.append(name)
    return anchors


def _shift(
    early: LabelledVerdicts, late: LabelledVerdicts, old: Arm, new: Arm, name: str, anchors: list[str]
) -> Estimate:
    new_rows = late.of(new.name, name).set_index("case").reindex(anchors)
    before = early.of(old.name, name).set_index("case")["score"].reindex(anchors).to_numpy(float)
    after = new_rows["score"].to_numpy(float)
    valid = ~np.isnan(before) & ~np.isnan(after)
    ordered = late.questions[name].scale.ordered
    gap = np.where(valid, after - before if ordered else (after != before).astype(float), np.nan)
    cluster = pd.factorize(new_rows["cluster"])[0]
    groups = len(np.unique(cluster[valid]))
    if groups < FEWEST:
        return undefined(
            f"too few anchor cases or groups have a verdict in both runs ({groups}): {FEWEST} are needed",
            method=ANCHORED,
            n=int(valid.sum()),
        )
    mean = rectified_mean(gap, np.zeros(len(gap)), Labelling.random(valid, cluster), power=0.0).labels_alone
    return Estimate(mean.value, mean.low, mean.high, mean.n, ANCHORED, mean.confidence, mean.note, se=mean.se)


def _means(
    old_set: LabelledVerdicts,
    new_set: LabelledVerdicts,
    old: Arm,
    new: Arm,
    names: list[str],
    shifts: dict[str, Estimate],
    changed: bool,
) -> pd.DataFrame:
    rows = []
    for name in names:
        if not new_set.questions[name].scale.ordered:
            continue
        was = float(old_set.of(old.name, name)["score"].mean())
        now = float(new_set.of(new.name, name)["score"].mean())
        moved = shifts[name].value if changed else 0.0
        rows.append((name, was, now, now - was, now - was - moved if not math.isnan(moved) else math.nan))
    return pd.DataFrame(rows, columns=["attribute", "before", "now", "difference", "corrected"])
