"""Win rates of systems: how often each beats the others, scenario by scenario."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..statistics.matrix import FloatArray

TieRule = Literal["half", "strict", "wins"]
TIE_SHARE = {"half": 0.5, "strict": 0.0, "wins": 1.0}
"""What a tie counts for either side."""


def scenario_win_rates(scores: FloatArray, ties: TieRule) -> FloatArray:
    """The share of the other systems that each beats, on each scenario: an array like `scores`.

    Args:
        scores: Systems by scenarios in the last two axes, higher is better, NaN where there is none.

    NaN where a system has no score or is the only one that has.

    References:
        Liang et al. (2023), "Holistic Evaluation of Language Models", section 5.3.
    """
    beats = pairwise_wins(scores, ties)
    present = ~np.isnan(scores)
    rivals = present.sum(axis=-2, keepdims=True) - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(present & (rivals > 0), np.nansum(beats, axis=-2) / rivals, np.nan)


def pairwise_wins(scores: FloatArray, ties: TieRule) -> FloatArray:
    """1 where the first system beats the second, 0 where it loses: axes system, rival, scenario; NaN where one has no score."""
    mine, theirs = scores[..., :, None, :], scores[..., None, :, :]
    wins = (mine > theirs) + TIE_SHARE[ties] * (mine == theirs)
    wins = np.where(np.isnan(mine) | np.isnan(theirs), np.nan, wins)
    same = np.eye(scores.shape[-2], dtype=bool)
    wins[..., same, :] = np.nan
    return wins
