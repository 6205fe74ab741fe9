"""A search: Optuna asks for juries, the selection cases answer, and what was chosen is scored once on the test cases.

Every draw comes from the seed and every score from the record. So a search that was stopped is continued by asking
again from the start: what was answered before costs nothing, and leads to the same next question.
"""

from __future__ import annotations

from collections.abc import Sequence

import optuna
from optuna.samplers import TPESampler
from optuna.study import StudyDirection
from optuna.trial import TrialState

from ...orchestration.runner import RunResult
from ...rubrics.errors import VenireError
from .plan import Plan
from .schema import Search
from .search_space import SearchSpace
from .study_arms import StudyArm
from .study_session import StudySession
from .trials import Entered, Stopped, Trial, Trials


def run_search(plan: Plan, session: StudySession) -> RunResult:
    """Try as many juries as the study says on the selection cases, then the chosen ones on the test cases."""
    assert plan.axes is not None
    trials = Trials(plan, session)
    space = SearchSpace(plan.axes, trials.search.max_seats, plan.path)
    study = _optuna_study(trials.search, plan.study.seeds.search)
    try:
        trials.hear_fixed()
        while (left := trials.search.trials - len(trials.trials)) > 0:
            _batch(study, space, trials, min(left, trials.search.at_once))
        finalists = trials.finalists()
        if trials.test and finalists:
            trials.hear_arms(finalists, trials.test)
    except Stopped as stopped:
        return stopped.ended
    return trials.ended


def _optuna_study(search: Search, seed: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    directions = [
        StudyDirection.MAXIMIZE if each == "agreement" else StudyDirection.MINIMIZE
        for each in search.objectives
    ]
    sampler = TPESampler(seed=seed, n_startup_trials=min(10, max(2, search.trials // 3)))
    return optuna.create_study(sampler=sampler, directions=directions)


def _batch(study: optuna.Study, space: SearchSpace, trials: Trials, size: int) -> None:
    """Ask for some juries, hear them together, tell Optuna what each is worth."""
    asked = [study.ask() for _ in range(size)]
    batch = [Trial(one.number, f"trial-{one.number:03d}") for one in asked]
    entered: Entered = {}
    for one, trial in zip(asked, batch, strict=True):
        arm = _new_arm(space, one, trial, trials)
        if arm is not None:
            entered[arm.name] = (trial, arm)
    trials.hear_trials(entered)
    for one, trial in zip(asked, batch, strict=True):
        if trial.state == "repeated" and trial.arm in trials.scored:
            trial.cases, trial.values = len(trials.selection), trials.values(trials.scored[trial.arm])
        values = [trial.values[each] for each in trials.search.objectives if each in trial.values]
        if trial.state in ("complete", "repeated") and len(values) == len(trials.search.objectives):
            study.tell(one, values)
        else:
            study.tell(one, state=TrialState.FAIL if trial.state == "failed" else TrialState.PRUNED)
    trials.trials += batch
    trials.write()


def _new_arm(space: SearchSpace, one: optuna.Trial, trial: Trial, trials: Trials) -> StudyArm | None:
    """The jury that Optuna chooses; None where there can be none, or where it was tried before."""

    def choose(what: str, among: Sequence[str]) -> str:
        # Limits are counted anew for every protocol: theirs are told apart by how many there are.
        name = f"{what} of {len(among)}" if what == "limits" else what
        trial.params[what] = str(one.suggest_categorical(name, list(among)))
        return trial.params[what]

    try:
        arm = space.compose(trial.arm, choose)
    except VenireError as error:
        trial.state, trial.note = "failed", error.problem
        return None
    trial.seats, trial.protocol = arm.axes["seats"], arm.jury.protocol
    known = trials.arms.setdefault(arm.identity, arm)
    if known is arm:
        return arm
    trial.arm, trial.state, trial.note = known.name, "repeated", f"the same jury as {known.name}"
    return None
