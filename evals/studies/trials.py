"""The trials of a search: juries heard on some of the selection cases first, then on more, pruned where another is better."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import isnan

from ...orchestration.record import Store
from ...orchestration.record.atomic_write import write_atomically
from ...orchestration.runner import RunResult
from ...rubrics.case import Case
from ..selection.deliberated_arms import SINGLE
from ..selection.objectives import AnswerScale
from .credit_table import credit_table
from .plan import Plan
from .pruning import Score, arm_scores, beaten_by, pareto_front
from .study_arms import StudyArm
from .study_files import TRIALS
from .study_record import recorded_trials, write_record
from .study_session import StudySession, hear_juries


@dataclass
class Trial:
    """One jury that was tried, and what became of it."""

    number: int
    arm: str
    params: dict[str, str] = field(default_factory=dict)
    state: str = "running"
    """complete, pruned (`note` says by whom it was beaten), repeated (the arm had been tried) or failed."""
    seats: str = ""
    protocol: str = ""
    cases: int = 0
    """Of the selection, that it was scored on."""
    values: dict[str, float] = field(default_factory=dict)
    """By objective; one that is not known is not in it."""
    note: str = ""


Entered = dict[str, tuple[Trial, StudyArm]]
"""The trials that are still to be heard further, by arm."""


class Stopped(Exception):
    """The budget ended the search."""

    def __init__(self, ended: RunResult) -> None:
        super().__init__(ended.limit)
        self.ended = ended


class Trials:
    """The trials so far; an arm is scored once it has heard all the selection cases."""

    def __init__(self, plan: Plan, session: StudySession) -> None:
        assert plan.study.search is not None
        self._plan, self._session, self.search = plan, session, plan.study.search
        by_id = {case.id: case for case in plan.cases}
        self.selection = [by_id[name] for name in plan.split.selection]
        self.test = [by_id[name] for name in plan.split.test]
        self.arms = {arm.identity: arm for arm in plan.arms}
        self.scored: dict[str, Score] = {}
        self.trials: list[Trial] = []
        self._before = list(recorded_trials(session.folder))
        self.ended = RunResult(0, 0, None)

    def hear_fixed(self) -> None:
        """Have the arms that the study has anyway hear all selection cases: what trials are held against."""
        if self._plan.arms:
            self.hear_arms(self._plan.arms, self.selection)
            self.scored |= self._scores([arm.name for arm in self._plan.arms], self.selection)

    def hear_trials(self, entered: Entered) -> None:
        """Have the trials hear more and more cases together, until they have heard all or are pruned."""
        for cases in self._steps():
            if entered:
                numbers = [trial.number for trial, _ in entered.values()]
                self._say(
                    f"trials {min(numbers)} to {max(numbers)}: {len(entered)} juries on {len(cases)} cases"
                )
                self.hear_arms([arm for _, arm in entered.values()], cases)
                entered = self._remaining(entered, cases)

    def values(self, score: Score) -> dict[str, float]:
        """A score by each objective of the search, as far as it is known."""
        known = score.objectives
        return {each: known[each] for each in self.search.objectives if not isnan(known[each])}

    def finalists(self) -> list[StudyArm]:
        """Who goes on to the test cases: the arms on the front, the best first; the best single judge; the best jury."""
        named = {arm.name: arm for arm in self.arms.values()}
        best = pareto_front(self.scored, self.search.objectives)[: self.search.chosen]
        singles = {name: score for name, score in self.scored.items() if named[name].kind == SINGLE}
        juries = {name: score for name, score in self.scored.items() if name not in singles}
        # Whatever is on the front, the best of either kind is held against the best of the other.
        further = [*pareto_front(singles, ("agreement",))[:1], *pareto_front(juries, ("agreement",))[:1]]
        listed = [arm.name for arm in self._plan.arms if arm.kind != SINGLE]
        return [named[name] for name in dict.fromkeys([*best, *further, *listed])]

    def hear_arms(self, arms: Sequence[StudyArm], cases: Sequence[Case]) -> None:
        """Have `arms` hear `cases`; raises `Stopped` where the budget ends it."""
        ended = hear_juries(self._plan, self._session, [arm.jury for arm in arms], cases)
        self.ended = RunResult(
            self.ended.heard + ended.heard, self.ended.skipped + ended.skipped, ended.limit
        )
        if ended.limit is not None:
            raise Stopped(self.ended)

    def write(self) -> None:
        """Write every trial; those of an earlier session that are not reached yet stay."""
        lines = [*map(asdict, self.trials), *self._before[len(self.trials) :]]
        text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
        write_atomically(self._session.folder / TRIALS, text)
        known = [arm for arm in self.arms.values() if arm.name in self.scored]
        write_record(self._plan, self._session.folder, known)

    def _steps(self) -> list[list[Case]]:
        """The selection cases, first a few and then twice as many, in an order that the seed drew."""
        whole = len(self.selection)
        size = max(1, round(self.search.first * whole)) if self.search.prune else whole
        steps = []
        while size < whole:
            steps.append(self.selection[:size])
            size *= 2
        return [*steps, self.selection]

    def _remaining(self, entered: Entered, cases: list[Case]) -> Entered:
        """The trials to hear further: not those that heard all, which are scored, nor those shown to be worse."""
        scores = self._scores([*entered, *self.scored], cases)
        others = {name: scores[name] for name in self.scored if name in scores}
        left: Entered = {}
        for name, (trial, arm) in entered.items():
            trial.cases = len(cases)
            if name not in scores:
                trial.state, trial.note = "failed", "none of its verdicts can be held against people's"
                continue
            trial.values = self.values(scores[name])
            if len(cases) == len(self.selection):
                trial.state = "complete"
                self.scored[name] = scores[name]
            elif better := beaten_by(scores[name], others, self.search.objectives):
                trial.state = "pruned"
                trial.note = f"{better} agrees better on these {len(cases)} cases, and is no worse otherwise"
            else:
                left[name] = (trial, arm)
        return left

    def _scores(self, names: Sequence[str], cases: Sequence[Case]) -> dict[str, Score]:
        store = Store.read(self._session.folder)
        try:
            table, _ = credit_table(
                store,
                dict.fromkeys(names, "none"),
                [case.id for case in cases],
                self._plan.ratings,
                attributes=self._plan.study.attributes or self._plan.rubric.names,
                rule=self._plan.study.reference,
                unit=self._plan.unit,
                seed=self._plan.study.seeds.statistics,
            )
        finally:
            store.release()
        goal, rubric = self._plan.study.goal, self._plan.rubric
        scales = {name: AnswerScale.of(rubric.scale_of(name)) for name in rubric.names}
        return arm_scores(table, None if goal is None else goal.objective, scales)

    def _say(self, line: str) -> None:
        if not self._session.quiet:
            self._session.console.print(line, highlight=False, markup=False)
