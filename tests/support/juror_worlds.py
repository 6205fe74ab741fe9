"""Jurors whose quality is known, because it was planted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from venire.evals.ratings.question import Question
from venire.rubrics.scale import Scale

TWO = Scale.model_validate({"level": "binary", "anchors": {0: "no", 1: "yes"}})
LIKERT = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}})
ONE_TO_FIVE = Scale.model_validate({"level": "interval", "minimum": 1, "maximum": 5})
WORDS = Scale.model_validate({"level": "nominal", "anchors": {"red": "", "green": "", "blue": ""}})
YES_OR_NO = {"sound": Question(TWO, "high")}

GOOD = ("good-1", "good-2", "good-3")
COPIES = ("copy-1", "copy-2", "copy-3", "copy-4", "copy-5")
ADVERSE = ("adverse-1", "adverse-2")


def judgement_tables(
    votes: Mapping[str, np.ndarray], truth: np.ndarray, *, attribute: str = "sound", cost: Mapping[str, float] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """Judgements and people's ratings."""
    cases = [f"c{number}" for number in range(len(truth))]
    judged = [
        pd.DataFrame({"case": cases, "juror": name, "attribute": attribute, "value": values})
        for name, values in votes.items()
    ]
    table = pd.concat(judged, ignore_index=True)
    if cost is not None:
        table["cost"] = table["juror"].map(dict(cost))
    return table, pd.DataFrame({"case": cases, "attribute": attribute, "value": truth})


def noisy_view(truth: np.ndarray, right: float, rng: np.random.Generator) -> np.ndarray:
    """The truth of two values as somebody sees it who is right so often."""
    return np.where(rng.random(len(truth)) < right, truth, 1 - truth)


def planted_votes(rng: np.random.Generator, n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three good independent jurors, five who copy one poor answer with few slips, two who are mostly wrong."""
    truth = rng.integers(0, 2, n)
    original = noisy_view(truth, 0.72, rng)
    votes = {name: noisy_view(truth, 0.85, rng) for name in GOOD}
    votes |= {name: noisy_view(original, 0.96, rng) for name in COPIES}
    votes |= {name: noisy_view(truth, 0.3, rng) for name in ADVERSE}
    return votes, truth


def clueless_votes(
    rng: np.random.Generator, n: int, jurors: int = 8
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Jurors who know nothing, so that no jury of them does."""
    truth = rng.integers(0, 2, n)
    return {f"juror-{number}": rng.integers(0, 2, n) for number in range(jurors)}, truth
