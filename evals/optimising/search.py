"""What a search works with and leaves behind: the judge, the cases it may read, and every wording it tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from ...orchestration.verdict import Verdict
from ...rubrics.case import Case
from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray
from ..statistics.sign_flips import flip_p
from .hearing import Courtroom
from .rewards import Rewards
from .wording import Judge

LEVEL = 0.025
"""The chance at which words that are no better are returned, over all that were held against the first ones."""
ENTRY = 0.1
"""The one-sided p on a minibatch below which new words go on to the validation cases."""


@dataclass
class WordingTrial:
    """One wording that was tried, and what became of it."""

    number: int
    label: str
    """What was changed: a target's name, or the name of a candidate."""
    parent: int | None
    state: Literal["first", "refused", "rejected", "accepted"]
    """`refused` by the guard or for want of an answer, and never used; `rejected`: no gain beyond chance; `accepted` for validation."""
    why: str = ""
    text: str = ""
    """The new text; empty where it was refused, for it may hold words of a case."""
    minibatch: Mapping[str, float | None] = field(default_factory=dict)
    """How many cases, the mean reward before and after, and the p of no gain."""
    validation: float | None = None
    """The mean reward on the validation cases, where it was scored on them."""
    calls: int = 0
    """The calls that the search had used by then."""

    def json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Scene:
    """The judge, who hears it, what its verdicts earn, and the cases a search may read: never the test cases."""

    judge: Judge
    room: Courtroom
    rewards: Rewards
    train: Sequence[Case]
    validation: Sequence[Case]
    cluster: Mapping[str, int]
    """By case, the number of its group."""
    draws: Draws
    may_go_on: Callable[[], bool]
    """Whether the budget has room for one more proposal, its validation, and the test."""
    tell: Callable[[str], None]

    def gain_p(self, first: Sequence[Verdict], second: Sequence[Verdict]) -> float:
        """The one-sided p of the second wording's reward being no higher than the first's, whole groups flipped."""
        gains = self.reward_array(second) - self.reward_array(first)
        known = ~np.isnan(gains)
        groups = np.array([self.cluster[verdict.case] for verdict in first])[known]
        _, at = np.unique(groups, return_inverse=True)
        return flip_p(np.bincount(at, gains[known]).astype(float), self.draws) if known.any() else 1.0

    def reward_array(self, verdicts: Sequence[Verdict]) -> FloatArray:
        return np.array([self.rewards.of_case(verdict) for verdict in verdicts], dtype=float)

    def mean_reward(self, verdicts: Sequence[Verdict]) -> float | None:
        """The mean over the cases that have a reward; None where none has."""
        rewards = self.reward_array(verdicts)
        known = rewards[~np.isnan(rewards)]
        return float(known.mean()) if len(known) else None

    def leaves_more_open(self, first: Sequence[Verdict], second: Sequence[Verdict]) -> int:
        """How many more questions go unanswered under the second wording, where nothing is set for those."""
        if self.rewards.reward.costs is not None or self.rewards.reward.abstention is not None:
            return 0
        before, after = (sum(map(self.rewards.open_questions, part)) for part in (first, second))
        return max(0, after - before)


@dataclass(frozen=True)
class Validated:
    """A judge that was heard on the validation cases."""

    trial: WordingTrial
    judge: Judge
    verdicts: Sequence[Verdict]


@dataclass
class SearchResult:
    """Every trial, and those that reached the validation cases, the first words first."""

    trials: list[WordingTrial] = field(default_factory=list)
    validated: list[Validated] = field(default_factory=list)


class Best(NamedTuple):
    """The wording to hold against the first on the test cases, and whether the validation cases speak for it."""

    validated: Validated
    shown: bool
    why: str


def best_of(scene: Scene, found: SearchResult) -> Best:
    """The best of the other wordings on the validation cases, the first where no other came so far.

    It is shown to be better only where its gain there is more than chance among all that were held against the first.
    """
    first, *others = found.validated
    if not others:
        return Best(first, False, "no other words came as far as the validation cases")
    best = max(others, key=lambda each: _or_least(scene.mean_reward(each.verdicts)))
    if more := scene.leaves_more_open(first.verdicts, best.verdicts):
        return Best(best, False, f"it leaves {more} more questions unanswered on the validation cases")
    p = min(1.0, scene.gain_p(first.verdicts, best.verdicts) * len(others))
    told = f"p {p:.2g}, corrected for {len(others)}"
    if p < LEVEL:
        return Best(best, True, f"the best mean reward on the validation cases ({told})")
    return Best(best, False, f"no gain on the validation cases beyond chance ({told})")


def _or_least(reward: float | None) -> float:
    return -np.inf if reward is None else reward


def validation_front(scene: Scene, found: SearchResult) -> list[int]:
    """The numbers of the trials that no other is as good as on every validation case and better on one."""
    rows = np.array([scene.reward_array(each.verdicts) for each in found.validated])
    rows = np.where(np.isnan(rows), -np.inf, rows)
    beaten = [
        any((other >= row).all() and (other > row).any() for at, other in enumerate(rows) if at != mine)
        for mine, row in enumerate(rows)
    ]
    return [each.trial.number for each, worse in zip(found.validated, beaten, strict=True) if not worse]
