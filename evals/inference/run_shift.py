"""Two runs of a jury beside each other: refused where the jury changed, unless anchor cases say by how much its scores did."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ...orchestration.record import Arm, Store
from ...orchestration.record.changes import manifest_changes
from ...orchestration.record.manifest import case_fingerprint
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ..statistics.estimate import Estimate
from .labelled_verdicts import LabelledVerdicts, labelled_verdicts
from .labelling import Labelling
from .prediction_powered import FEWEST, rectified_mean

_WITHOUT = ("made_with", "prices", "venire", "seed")


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
            return (f"{self.arm} is the same jury in both runs: their scores may be compared as they are.",)
        told = [
            f"{self.arm} is not the same jury in both runs ({'; '.join(self.changes)}): scores are compared by {self.anchors} anchor cases."
        ]
        for name, found in self.shifts.items():
            told.append(
                f"{name}: the change moved scores by {found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f}) on the same cases."
                if found.defined
                else f"{name}: the shift is not known: {found.note}."
            )
        return tuple(told)


def run_shift(now: Path | str, before: Path | str, *, arm: str | None = None) -> RunShift:
    """An arm of the run `now` beside the arm of the same name in the run `before`.

    Raises:
        VenireError: The jury changed (model, persona, prompt, rubric, adapter, protocol) and fewer than five cases with the
            same text were judged by both.
    """
    first, second = Store.read(before), Store.read(now)
    try:
        then, later = labelled_verdicts(first, None), labelled_verdicts(second, None)
        old, new = _same_arm(then, later, arm)
        shared = _anchors(first, second, then.table, later.table, old, new)
    finally:
        first.release()
        second.release()
    changes = tuple(
        manifest_changes(
            *(
                {part: value for part, value in each.manifest.items() if part not in _WITHOUT}
                for each in (old, new)
            )
        )
    )
    if changes and len(shared) < FEWEST:
        raise VenireError(
            f"{new.name} is not the same jury in both runs: {'; '.join(changes)}; {len(shared)} cases were judged by both",
            remedy=f"run both juries on the same {FEWEST} cases or more (anchors), so that the shift can be measured, or rerun the earlier cases",
        )
    names = [name for name in new.rubric.names if name in old.rubric.names]
    shifts = {name: _shift(then, later, old, new, name, shared) for name in names}
    return RunShift(
        new.name, changes, len(shared), shifts, _means(then, later, old, new, names, shifts, bool(changes))
    )


def _same_arm(then: LabelledVerdicts, later: LabelledVerdicts, arm: str | None) -> tuple[Arm, Arm]:
    new = later.arm(arm)
    old = next((each for each in then.arms if each.name == new.name), None)
    if old is None:
        known = [each.name for each in then.arms]
        raise VenireError(f"the earlier run has no arm {new.name!r}", remedy=nearest(new.name, known))
    return old, new


def _anchors(
    first: Store, second: Store, then: pd.DataFrame, later: pd.DataFrame, old: Arm, new: Arm
) -> list[str]:
    """The cases that both judged, with the same text where the text was kept."""
    both = set(then.loc[then["arm"] == old.name, "case"]) & set(later.loc[later["arm"] == new.name, "case"])
    if first.redacted or second.redacted:
        return sorted(both)
    found = []
    for name in sorted(both):
        one, other = first.case(name), second.case(name)
        if one is not None and other is not None and case_fingerprint(one) == case_fingerprint(other):
            found.append(name)
    return found


def _shift(
    then: LabelledVerdicts, later: LabelledVerdicts, old: Arm, new: Arm, name: str, shared: list[str]
) -> Estimate:
    mine = later.of(new.name, name).set_index("case").reindex(shared)
    before = then.of(old.name, name).set_index("case")["score"].reindex(shared).to_numpy(float)
    after = mine["score"].to_numpy(float)
    known = ~np.isnan(before) & ~np.isnan(after)
    ordered = later.questions[name].scale.ordered
    gap = np.where(known, after - before if ordered else (after != before).astype(float), np.nan)
    cluster = pd.factorize(mine["cluster"])[0]
    made = rectified_mean(gap, np.zeros(len(gap)), Labelling.random(known, cluster), power=0.0).labels_alone
    return Estimate(made.value, made.low, made.high, made.n, "mean difference on anchor cases; t interval", made.confidence, made.note, se=made.se)  # fmt: skip


def _means(
    then: LabelledVerdicts,
    later: LabelledVerdicts,
    old: Arm,
    new: Arm,
    names: list[str],
    shifts: dict[str, Estimate],
    changed: bool,
) -> pd.DataFrame:
    rows = []
    for name in names:
        if not later.questions[name].scale.ordered:
            continue
        before = float(then.of(old.name, name)["score"].mean())
        after = float(later.of(new.name, name)["score"].mean())
        off = shifts[name].value if changed else 0.0
        rows.append(
            (name, before, after, after - before, after - before - off if not math.isnan(off) else math.nan)
        )
    return pd.DataFrame(rows, columns=["attribute", "before", "now", "difference", "corrected"])
