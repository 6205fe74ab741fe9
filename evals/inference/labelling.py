"""Which cases have labels and how these were drawn; which to draw next, and the file that keeps the draw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.rows import cell_number, from_csv_cell, read_rows
from ..statistics.matrix import FloatArray, IntArray
from .labelled_verdicts import WAYS

BoolArray = npt.NDArray[np.bool_]
DrawDesign = Literal["random", "stratified", "active"]
COLUMNS = ("case", "probability", "stratum", "design", "arm", "attribute")
DOUBT = {"unanimous at once": 1.0, "converged": 1.5, "split": 2.0, "hung": 2.0, "not applicable": 1.0}
"""How much more often a stratum is drawn from than in proportion to its cases."""
FLOOR = 0.5
"""Of the mean probability, the part that every case has, however sure its verdict: it keeps weights from growing large."""


@dataclass(frozen=True, slots=True)
class Labelling:
    """Which cases have labels, and how these were drawn."""

    labelled: BoolArray
    weight: FloatArray
    """The inverse of each case's probability of being labelled, up to a factor."""
    stratum: IntArray
    """Labels were drawn at random within each; one stratum where there are none."""
    cluster: IntArray
    """Cases of one cluster are not independent."""

    @classmethod
    def random(cls, labelled: BoolArray, cluster: IntArray | None = None) -> Labelling:
        """Labels drawn at random from all cases."""
        size = len(labelled)
        clusters = np.arange(size) if cluster is None else cluster
        return cls(labelled, np.ones(size), np.zeros(size, dtype=np.int64), clusters)

    @property
    def design(self) -> str:
        """`random`, `stratified` (one probability in each stratum) or `active`."""
        weights, strata = self.weight[self.labelled], self.stratum[self.labelled]
        for name in np.unique(strata):
            stratum_weights = weights[strata == name]
            if np.ptp(stratum_weights) > 1e-9 * stratum_weights.max():
                return "active"
        return "stratified" if len(np.unique(self.stratum)) > 1 else "random"


def draw_labels(
    verdicts: pd.DataFrame, number: int, design: DrawDesign, rng: np.random.Generator
) -> pd.DataFrame:
    """`number` cases to label, each with the probability at which it was drawn.

    `random`: all alike. `stratified`: at random within the ways that a deliberation went, more often where it was split or
    hung. `active`: more often the less sure the verdict looks.

    Args:
        verdicts: Of one arm on one attribute: `case`, `arm`, `attribute`, `way`, `confidence` (NaN: none).

    Raises:
        VenireError: There are fewer cases than that.
    """
    size = len(verdicts)
    if number > size:
        raise VenireError(
            f"{number} cases cannot be drawn, because the run has only {size}",
            remedy=f"ask for {size} or fewer with -n",
        )
    ways = verdicts["way"].to_numpy(object)
    probability = np.full(size, number / size)
    if design == "stratified":
        counts = _allocation(ways, number)
        chance = {name: count / (ways == name).sum() for name, count in counts.items()}
        probability = np.array([chance.get(name, 0.0) for name in ways])
        places = np.concatenate([rng.choice(np.flatnonzero(ways == name), count, replace=False) for name, count in counts.items()])  # fmt: skip
    elif design == "active":
        doubt = 1 - np.nan_to_num(verdicts["confidence"].to_numpy(float), nan=0.0)
        probability = _inclusion(doubt, number)
        places = _systematic(probability, rng)
    else:
        places = rng.choice(size, number, replace=False)
    rows = verdicts.iloc[np.sort(places)][["case", "arm", "attribute"]]
    return rows.assign(
        probability=probability[np.sort(places)],
        stratum=ways[np.sort(places)] if design == "stratified" else "all",
        design=design,
    )[list(COLUMNS)].reset_index(drop=True)


def load_draw(path: Path) -> pd.DataFrame:
    """The draw in a file that `venire triage --for estimate -o` wrote.

    Raises:
        InvalidFile: A column is missing, a probability is none, or a case stands twice.
    """
    rows = []
    for line, row in read_rows(path, required=("case", "probability")):
        chance = cell_number(row["probability"], f"{path}:{line}")
        if chance is None or not 0 < chance <= 1:
            raise InvalidFile(
                f"{path}:{line}: {row['probability']!r} is not a probability",
                remedy="leave the column as `venire triage --for estimate` wrote it",
            )
        blanks = ("all", "active", "", "")
        cells = [str(row.get(name) or blank) for name, blank in zip(COLUMNS[2:], blanks, strict=True)]
        rows.append((str(from_csv_cell(row["case"])), chance, *cells))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    if table.empty or table["case"].duplicated().any():
        problem = (
            "the file lists no case"
            if table.empty
            else f"case {table['case'][table['case'].duplicated()].iloc[0]!r} is listed twice"
        )
        raise InvalidFile(
            f"{path}: {problem}", remedy="give the file that `venire triage --for estimate -o` wrote"
        )
    return table


def labelling_of(
    table: pd.DataFrame, draw: pd.DataFrame | None, ways: pd.Series
) -> tuple[Labelling, tuple[str, ...]]:
    """How the labels of these verdicts were drawn: by the draw that was kept, otherwise taken as at random; and what to know.

    Args:
        ways: By case, how the deliberation went that a stratified draw was made by.

    Raises:
        VenireError: No drawn case has a label.
    """
    labelled: BoolArray = table["reference"].notna().to_numpy(bool)
    cluster = table["cluster"].to_numpy()
    if draw is None:
        return Labelling.random(labelled, cluster), (
            "the labelled cases are assumed to be drawn at random, because no file of drawn cases was given (--draw)",
        )
    draw_by_case = draw.set_index("case")
    is_drawn = table["case"].isin(draw_by_case.index).to_numpy(bool)
    notes = []
    if extra := int((labelled & ~is_drawn).sum()):
        notes.append(
            f"{extra} labelled cases are left out, because they are not in the file of drawn cases (--draw)"
        )
    if silent := int((is_drawn & ~labelled).sum()):
        notes.append(f"{silent} drawn cases have no label; their labels are assumed to be missing at random")
    if not (labelled & is_drawn).any():
        raise VenireError(
            "none of the cases in the file of --draw has a label",
            remedy="have people label these cases, or leave out --draw",
        )
    chance = draw_by_case["probability"].reindex(table["case"]).to_numpy(float)
    stratum = np.zeros(len(table), dtype=np.int64)
    if (draw["design"] == "stratified").all():
        went = ways.reindex(table["case"])
        stratum = pd.Categorical(went, categories=list(WAYS)).codes.astype(np.int64)
    weight = np.where(np.isnan(chance), 1.0, 1 / chance)
    return Labelling(labelled & is_drawn, weight, stratum, cluster), tuple(notes)


def even_draw(draw: pd.DataFrame, population: int, rng: np.random.Generator) -> tuple[frozenset[str], str]:
    """The drawn cases to use where every case must have had the same chance, and what to say of it.

    Cases that were drawn with a higher probability are kept with the inverse of it (thinning), so that the ones kept are a
    draw at equal chances. `population` is the number of cases that were drawn from.
    """
    chance = draw["probability"].to_numpy(float)
    floor = float(chance.min())
    if (draw["design"] == "active").any():
        # No case has less than this part of the mean probability; the least likely one may not have been drawn.
        floor = min(floor, FLOOR * len(draw) / population)
    if chance.max() <= floor * (1 + 1e-9):
        return frozenset(
            draw["case"]
        ), "The labelled cases were drawn at random, according to the file of drawn cases (--draw)."
    is_kept = rng.random(len(draw)) * chance < floor
    return frozenset(draw["case"][is_kept]), (
        f"The labelled cases were drawn with unequal probabilities, according to the file of drawn cases (--draw): {int(is_kept.sum())} of {len(draw)} drawn cases are used. A "
        "case with a higher probability of being drawn is used less often, so that every case had the same chance of being used."
    )


def _allocation(ways: np.ndarray, number: int) -> dict[str, int]:
    """How many to draw from each stratum: two at least where it has them, none beyond what it has."""
    sizes = {name: int((ways == name).sum()) for name in WAYS if (ways == name).any()}
    want = {name: size * DOUBT[name] for name, size in sizes.items()}
    counts = {name: min(size, 2) for name, size in sizes.items()}
    while sum(counts.values()) > number:
        counts[max(counts, key=lambda name: counts[name])] -= 1
    while sum(counts.values()) < number:
        open_ones = [name for name in counts if counts[name] < sizes[name]]
        counts[max(open_ones, key=lambda name: want[name] / (counts[name] + 1))] += 1
    return {name: count for name, count in counts.items() if count}


def _inclusion(doubt: FloatArray, number: int) -> FloatArray:
    """Probabilities that sum to `number`, in proportion to doubt above a floor, none above 1."""
    mean = doubt.mean() if doubt.mean() > 0 else 1.0
    weights = FLOOR * mean + (1 - FLOOR) * doubt
    chances = np.minimum(1.0, weights * number / weights.sum())
    while chances.sum() < number - 1e-9:
        free = chances < 1
        chances[free] = np.minimum(1.0, chances[free] * (number - (~free).sum()) / chances[free].sum())
    return chances


def _systematic(probability: FloatArray, rng: np.random.Generator) -> np.ndarray:
    """As many rows as the probabilities sum to, each with its own: equal steps along their sum, in an order drawn anew.

    References:
        Madow (1949), Annals of Mathematical Statistics 20:333-354.
    """
    order = rng.permutation(len(probability))
    reached = np.cumsum(probability[order])
    number = round(float(reached[-1]))
    return order[np.searchsorted(reached, rng.random() + np.arange(number)).clip(max=len(order) - 1)]
