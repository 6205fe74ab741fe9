"""The gold filter: is the reference itself a reasonable answer? Scores with and without those that are not, and the ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ...orchestration.deliberate import recount
from ...orchestration.record import Store
from ...orchestration.record.opening import run_exists
from ...orchestration.run_session import RunSession, run_session
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric, load_rubric
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate, undefined
from .answering import question_id
from .board import board
from .score_table import ScoreTable
from .suite import LoadedSuite, SuitePart, arm_name
from .suite_results import SuiteResults
from .suite_run import SuiteRun, SuiteSession

GOLD = "gold"
"""The record of what judges said of references, within a suite's run."""
METHOD = "mean of cases with a reasonable reference minus the others', each case the mean of its systems; cases resampled within either group"


@dataclass(frozen=True, slots=True)
class ScenarioGold:
    """What became of one scenario's references, and what scores are on either side."""

    scenario: str
    reasonable: int
    unreasonable: int
    undecided: int
    """References on which the judges are hung, or that nobody judged."""
    kept_mean: float
    """Mean score, over systems and cases, where the reference is reasonable; NaN without such cases."""
    other_mean: float
    difference: Estimate
    systems: Mapping[str, tuple[float, float]]
    """Each system's mean on either side."""


@dataclass(frozen=True, slots=True)
class GoldFilter:
    """All scenarios, and the ranking with every case and with those alone whose reference is reasonable."""

    scenarios: tuple[ScenarioGold, ...]
    before: tuple[tuple[str, float], ...]
    """Systems by win rate, every case counted."""
    after: tuple[tuple[str, float], ...]
    notes: tuple[str, ...]

    @property
    def moved(self) -> list[str]:
        """The systems whose place differs."""
        places = {name: number for number, (name, _) in enumerate(self.before)}
        return [name for number, (name, _) in enumerate(self.after) if places.get(name) != number]


def gold_cases(part: SuitePart) -> list[Case]:
    """The references of a scenario as texts under judgement, with the prompt as their source."""
    found = []
    for case in part.cases:
        prompt = part.prompts.get(case.id, "")
        if case.target is not None and str(case.target).strip():
            found.append(
                Case(
                    id=question_id(part, case.id), output=str(case.target), source=(prompt,) if prompt else ()
                )
            )
    return found


def run_gold(
    suite: LoadedSuite, session: SuiteSession, jury: Jury, rubric: Rubric, scenarios: Sequence[str]
) -> SuiteRun:
    """Have the judges hear every reference of the scenarios named; what is recorded is not asked again."""
    heard = skipped = 0
    limit: str | None = None
    filled = jury.fill(model=session.model, base_url=session.base_url)
    for part in gold_parts(suite, scenarios):
        cases = gold_cases(part)
        if limit is not None or not cases:
            continue
        named = filled.model_copy(update={"name": arm_name(part.name, jury.name)})
        ended = run_session(
            RunSession(
                cases=cases,
                rubric=rubric,
                juries=[named],
                folder=session.folder / GOLD,
                in_flight=session.in_flight,
                rpm=session.rpm,
                tpm=session.tpm,
                prices=suite.prices,
                seed=suite.suite.seed,
                retry=session.retry,
                preflight=session.preflight,
            ),
            session.console,
            quiet=session.quiet,
        )
        heard, skipped, limit = heard + ended.heard, skipped + ended.skipped, ended.limit
    return SuiteRun(session.folder, heard, skipped, limit, (), dict(suite.skipped))


def gold_rubric(name: str) -> tuple[Rubric, str]:
    """The rubric that references are judged by, and its attribute, which must be yes or no."""
    rubric = load_rubric(name)
    attribute = rubric.names[0]
    if len(rubric.names) != 1 or rubric.scale_of(attribute).level != "binary":
        raise VenireError(
            f"{rubric.name}: references are judged by one question with yes or no",
            remedy="write a rubric with one attribute on a binary scale, or use gold-answer",
        )
    return rubric, attribute


def gold_parts(suite: LoadedSuite, scenarios: Sequence[str]) -> list[SuitePart]:
    """The parts named, or all."""
    known = {part.name: part for part in suite.parts}
    for name in scenarios:
        if name not in known:
            raise VenireError(f"the suite runs no scenario {name!r}", remedy=f"it runs {', '.join(known)}")
    return [known[name] for name in scenarios] if scenarios else list(known.values())


def recorded_gold(folder: Path, part: SuitePart, jury: str, attribute: str) -> dict[str, bool]:
    """What the judges found of each reference; those that they are hung on are not in it."""
    if not run_exists(folder / GOLD):
        return {}
    store = Store.read(folder / GOLD)
    try:
        arm = next((arm for arm in store.arms() if arm.name == arm_name(part.name, jury)), None)
        if arm is None:
            return {}
        now = {each.id: each.output for each in gold_cases(part)}
        ids = {question_id(part, case.id): case.id for case in part.cases}
        found: dict[str, bool] = {}
        for transcript in store.transcripts(arm):
            stored = store.case(transcript.case)
            if stored is None or now.get(transcript.case) != stored.output:
                continue
            outcome = recount(transcript, arm.rubric, arm.jury).outcomes[attribute]
            # An even bench that is split has a mean in the middle: it found nothing either way.
            if outcome.status == "reached" and outcome.value not in (0.5, None):
                found[ids[transcript.case]] = float(outcome.value) > 0.5
        return found
    finally:
        store.release()


def gold_filter(
    results: SuiteResults, verdicts: Mapping[str, Mapping[str, bool]], *, draws: Draws | None = None
) -> GoldFilter:
    """Means of both groups by scenario, and the ranking with and without unreasonable references.

    Args:
        verdicts: By scenario and case, whether the reference is reasonable.
    """
    draws = draws or Draws()
    scenarios, kept, notes = [], dict[str, pd.DataFrame](), list[str]()
    for name, reasonable in verdicts.items():
        cases = results.table.cases.get(name)
        if cases is None or cases.empty:
            notes.append(f"{name}: its scores are not known case by case")
            continue
        column = results.table.columns[name]
        scenarios.append(_scenario_gold(name, cases.map(column.share), reasonable, draws))
        kept[name] = cases[[reasonable.get(str(case), False) for case in cases.index]]
        if kept[name].empty:
            notes.append(f"{name}: no reference is reasonable: without them the scenario has no score")
    means = results.table.means.copy()
    for name, cases in kept.items():
        means[name] = cases.mean() if len(cases) else math.nan
    filtered = ScoreTable(
        means, results.table.columns, {**results.table.cases, **{n: c for n, c in kept.items() if len(c)}}
    )
    after = board(filtered, ties=results.board.ties, draws=Draws(draws.seed, 1))
    return GoldFilter(
        tuple(scenarios),
        tuple((each.system, each.win_rate) for each in results.board.standings),
        tuple((each.system, each.win_rate) for each in after.standings),
        tuple(notes),
    )


def _scenario_gold(
    name: str, shares: pd.DataFrame, reasonable: Mapping[str, bool], draws: Draws
) -> ScenarioGold:
    decided = [case for case in shares.index if str(case) in reasonable]
    yes = shares.loc[[case for case in decided if reasonable[str(case)]]]
    no = shares.loc[[case for case in decided if not reasonable[str(case)]]]
    by_case = [side.mean(axis=1).dropna().to_numpy(float) for side in (yes, no)]
    return ScenarioGold(
        name,
        len(yes),
        len(no),
        len(shares) - len(decided),
        float(by_case[0].mean()) if len(by_case[0]) else math.nan,
        float(by_case[1].mean()) if len(by_case[1]) else math.nan,
        _difference(by_case[0], by_case[1], draws),
        {str(system): (float(yes[system].mean()), float(no[system].mean())) for system in shares.columns},
    )


def _difference(first: np.ndarray, second: np.ndarray, draws: Draws) -> Estimate:
    n = len(first) + len(second)
    if not len(first) or not len(second):
        empty = "reasonable" if not len(first) else "unreasonable"
        return undefined(f"no reference is {empty}", method=METHOD, n=n)
    value = float(first.mean() - second.mean())
    if len(first) < 2 or len(second) < 2:
        return Estimate(value, math.nan, math.nan, n, METHOD, note="no interval: one case in a group")
    rng = draws.rng()
    drawn = [rng.choice(side, (max(draws.resamples, 40), len(side))).mean(axis=1) for side in (first, second)]
    apart = drawn[0] - drawn[1]
    low, high = np.quantile(apart, [0.025, 0.975])
    return Estimate(value, min(float(low), value), max(float(high), value), n, METHOD)
