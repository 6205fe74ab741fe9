"""A search: Optuna asks for juries, the selection cases answer, and what was chosen is scored once on the test cases.

Every draw comes from the seed and every score from the record. So a search that was stopped is continued by asking
again from the start: what was answered before costs nothing, and leads to the same next question.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isnan

import numpy as np
import optuna
import pandas as pd
from optuna.samplers import TPESampler
from optuna.study import StudyDirection
from optuna.trial import TrialState
from scipy.stats import t as student

from ...orchestration.record import Store
from ...orchestration.record.private_files import write_atomically
from ...orchestration.runner import RunResult
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ..comparison.objectives import AnswerScale, Objective, scored_votes
from ..ratings.folds import clusters, groups_in
from .arms import StudyArm
from .candidates import SINGLE, pareto
from .grid import SearchSpace
from .judgements import credit_table
from .plan import Plan
from .schema import Search
from .study_files import TRIALS
from .study_record import StudySession, hear_juries, recorded_trials, write_record

CONFIDENCE = 0.95
"""One-sided, and shared out among all the arms that it is held against: how sure it must be that one is better."""
FEWEST = 3
"""Cases (or groups of cases) without which nothing is given up."""


@dataclass(frozen=True, slots=True)
class Score:
    """What an arm earned and took on some cases."""

    agreement: float
    cost: float
    latency: float
    by_cluster: Mapping[str, float]
    """Its mean credit on each case, or on each group of cases; or the pseudo-values of its objective."""

    @property
    def objectives(self) -> dict[str, float]:
        return {"agreement": self.agreement, "cost": self.cost, "latency": self.latency}


def arm_scores(
    credits: pd.DataFrame, wanted: Objective | None = None, scales: Mapping[str, AnswerScale] | None = None
) -> dict[str, Score]:
    """Each arm's score on the cases of `credits`: by mean credit, or by the objective that the study chooses by, high being good."""
    table = credits.dropna(subset=["credit"])
    table = table.assign(cluster=clusters(table["case"], groups_in(table)))
    if wanted is not None and scales:
        return _by_objective(table, wanted, scales)
    scores = {}
    for arm, rows in table.groupby("arm", sort=False):
        scores[str(arm)] = Score(
            agreement=float(rows["credit"].mean()),
            cost=float(rows["cost"].iloc[0]),
            latency=float(rows["seconds"].iloc[0]),
            by_cluster={
                str(name): float(mean) for name, mean in rows.groupby("cluster")["credit"].mean().items()
            },
        )
    return scores


def _by_objective(
    table: pd.DataFrame, wanted: Objective, scales: Mapping[str, AnswerScale]
) -> dict[str, Score]:
    """Scores by an objective. By cluster stand the jackknife's pseudo-values, whose mean is the score less its bias and whose paired
    differences can be tested as those of means are."""
    fitting = {name: scale for name, scale in scales.items() if wanted.fits(scale)}
    asked = table[table["attribute"].isin(list(fitting))]
    scores = {}
    for arm, rows in asked.groupby("arm", sort=False):
        number, names = pd.factorize(rows["cluster"])
        votes = scored_votes(
            rows[["value"]].to_numpy(float),
            rows["truth"].to_numpy(float),
            rows["attribute"].tolist(),
            number,
            fitting,
        )
        said = votes.votes.T
        value = float(votes.scores(said, wanted)[0])
        kept = (number[None, :] != np.arange(len(names))[:, None]).astype(float)
        left_out = votes.scores(np.repeat(said, len(names), axis=0), wanted, kept)
        pseudo = len(names) * value - (len(names) - 1) * left_out
        if not np.isnan(value):
            by_cluster = {
                str(name): float(each) for name, each in zip(names, pseudo, strict=True) if not np.isnan(each)
            }
            scores[str(arm)] = Score(
                value, float(rows["cost"].iloc[0]), float(rows["seconds"].iloc[0]), by_cluster
            )
    return scores


def beaten_by(mine: Score, others: Mapping[str, Score], objectives: Sequence[str]) -> str | None:
    """The arm that agrees demonstrably better on the same cases and is no worse in the other objectives; None if none."""
    rest = [objective for objective in objectives if objective != "agreement"]
    rivals = {
        name: other
        for name, other in others.items()
        if all(other.objectives[each] <= mine.objectives[each] for each in rest)
    }
    return next((name for name, other in rivals.items() if _better(other, mine, len(rivals))), None)


def _better(one: Score, two: Score, tests: int) -> bool:
    """Student's t on the paired differences, case by case or group by group."""
    shared = [name for name in two.by_cluster if name in one.by_cluster]
    if len(shared) < FEWEST:
        return False
    gaps = np.array([one.by_cluster[name] - two.by_cluster[name] for name in shared])
    error = float(gaps.std(ddof=1)) / len(gaps) ** 0.5
    return bool(gaps.mean() - student.ppf(1 - (1 - CONFIDENCE) / tests, len(gaps) - 1) * error > 0)


def pareto_front(arms: Mapping[str, Score], objectives: Sequence[str]) -> list[str]:
    """The arms that no other equals in every objective and beats in one, the best agreement first."""
    rest = [objective for objective in objectives if objective != "agreement"]
    columns = {each: np.array([score.objectives[each] for score in arms.values()]) for each in rest}
    on_front = pareto(np.array([score.agreement for score in arms.values()]), *columns.values())
    kept = [name for name, on in zip(arms, on_front, strict=True) if on]
    return sorted(kept, key=lambda name: -arms[name].agreement)


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
                    f"trials {min(numbers)} to {max(numbers)}: judging {len(cases)} cases with {len(entered)} juries"
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
                trial.state, trial.note = (
                    "failed",
                    "none of the jury's verdicts can be compared with people's ratings",
                )
                continue
            trial.values = self.values(scores[name])
            if len(cases) == len(self.selection):
                trial.state = "complete"
                self.scored[name] = scores[name]
            elif better := beaten_by(scores[name], others, self.search.objectives):
                trial.state = "pruned"
                trial.note = f"the jury {better} agrees better with people on these {len(cases)} cases, and is no worse by the search's other objectives"
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
