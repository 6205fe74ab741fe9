"""The gold filter: is the reference itself a reasonable answer? Scores with and without those that are not, and the ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table

from ...orchestration.deliberate import models_asked, recount
from ...orchestration.reading.export import learned_count
from ...orchestration.record import Store
from ...orchestration.record.store import run_exists
from ...orchestration.run_session import RunSession, run_session
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric, load_rubric
from ..report.section import estimate_json
from ..report.terminal import estimate_words
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate, undefined
from .board import board
from .score_table import ScoreTable
from .suite import LoadedSuite, SuitePart, arm_name
from .suite_results import SuiteResults
from .suite_run import SuiteRun, SuiteSession, question_id
from .suite_tables import four_decimals, plain_number, simple_table

GOLD = "gold"
"""The record of what judges said of references, within a suite's run."""
METHOD = "mean score of cases with a reasonable reference minus the mean score of the other cases; a case has the mean score of its systems; cases are resampled within each of the two groups"


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
    references = []
    for case in part.cases:
        prompt = part.prompts.get(case.id, "")
        if case.target is not None and str(case.target).strip():
            references.append(
                Case(
                    id=question_id(part, case.id), output=str(case.target), source=(prompt,) if prompt else ()
                )
            )
    return references


def run_gold(
    suite: LoadedSuite, session: SuiteSession, jury: Jury, rubric: Rubric, scenarios: Sequence[str]
) -> SuiteRun:
    """Have the judges hear every reference of the scenarios named; what is recorded is not asked again."""
    heard = skipped = 0
    limit: str | None = None
    filled_jury = jury.fill(model=session.model, base_url=session.base_url)
    models_asked(filled_jury)
    for part in gold_parts(suite, scenarios):
        cases = gold_cases(part)
        if limit is not None or not cases:
            continue
        arm = filled_jury.model_copy(update={"name": arm_name(part.name, jury.name)})
        result = run_session(
            RunSession(
                cases=cases,
                rubric=rubric,
                juries=[arm],
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
        heard, skipped, limit = heard + result.heard, skipped + result.skipped, result.limit
    return SuiteRun(session.folder, heard, skipped, limit, (), dict(suite.skipped))


def gold_rubric(name: str) -> tuple[Rubric, str]:
    """The rubric that references are judged by, and its attribute, which must be yes or no."""
    rubric = load_rubric(name)
    attribute = rubric.names[0]
    if len(rubric.names) != 1 or rubric.scale_of(attribute).level != "binary":
        raise VenireError(
            f"{rubric.name}: references are judged by a rubric with one yes-or-no question",
            remedy="write a rubric with one attribute on a binary scale, or use gold-answer",
        )
    return rubric, attribute


def gold_parts(suite: LoadedSuite, scenarios: Sequence[str]) -> list[SuitePart]:
    """The parts named, or all."""
    part_by_name = {part.name: part for part in suite.parts}
    for name in scenarios:
        if name not in part_by_name:
            raise VenireError(
                f"the suite has no scenario {name!r}", remedy=f"name one of {', '.join(part_by_name)}"
            )
    return [part_by_name[name] for name in scenarios] if scenarios else list(part_by_name.values())


def recorded_gold(folder: Path, part: SuitePart, jury: str, attribute: str) -> dict[str, bool]:
    """What the judges found of each reference; those that they are hung on are not in it."""
    if not run_exists(folder / GOLD):
        return {}
    store = Store.read(folder / GOLD)
    try:
        arm = next((arm for arm in store.arms() if arm.name == arm_name(part.name, jury)), None)
        if arm is None:
            return {}
        current_outputs = {reference.id: reference.output for reference in gold_cases(part)}
        ids = {question_id(part, case.id): case.id for case in part.cases}
        learned, verdicts = learned_count(store, arm), dict[str, bool]()
        for transcript in store.transcripts(arm):
            stored_case = store.case(transcript.case)
            if stored_case is None or current_outputs.get(transcript.case) != stored_case.output:
                continue
            outcome = recount(transcript, arm.rubric, arm.jury, learned=learned).outcomes[attribute]
            # An even bench that is split has a mean in the middle: it found nothing either way. Weights that were learned
            # put it there but for rounding.
            if (
                outcome.status == "reached"
                and outcome.value is not None
                and not math.isclose(float(outcome.value), 0.5)
            ):
                verdicts[ids[transcript.case]] = float(outcome.value) > 0.5
        return verdicts
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
    scenarios, reasonable_cases, notes = [], dict[str, pd.DataFrame](), list[str]()
    for name, reasonable in verdicts.items():
        cases = results.table.cases.get(name)
        if cases is None or cases.empty:
            notes.append(
                f"{name}: there are no scores for single cases, so cases with and without a reasonable reference cannot be compared"
            )
            continue
        column = results.table.columns[name]
        scenarios.append(_scenario_gold(name, cases.map(column.share), reasonable, draws))
        reasonable_cases[name] = cases[[reasonable.get(str(case), False) for case in cases.index]]
        if reasonable_cases[name].empty:
            notes.append(
                f"{name}: no reference is reasonable, so the scenario has no score if cases without a reasonable reference are left out"
            )
    means = results.table.means.copy()
    for name, cases in reasonable_cases.items():
        means[name] = cases.mean() if len(cases) else math.nan
    filtered = ScoreTable(
        means,
        results.table.columns,
        {**results.table.cases, **{n: c for n, c in reasonable_cases.items() if len(c)}},
    )
    filtered_board = board(filtered, ties=results.board.ties, draws=Draws(draws.seed, 1))
    return GoldFilter(
        tuple(scenarios),
        tuple((standing.system, standing.win_rate) for standing in results.board.standings),
        tuple((standing.system, standing.win_rate) for standing in filtered_board.standings),
        tuple(notes),
    )


def gold_tables(gold: GoldFilter) -> list[Table]:
    """References by scenario with the means of either side; the ranking before and after."""
    table = simple_table(
        "scenario",
        "reasonable",
        "not reasonable",
        "undecided",
        "mean if reasonable",
        "mean if not",
        "difference",
    )
    for scenario in gold.scenarios:
        table.add_row(
            scenario.scenario, str(scenario.reasonable), str(scenario.unreasonable), str(scenario.undecided), four_decimals(scenario.kept_mean),
            four_decimals(scenario.other_mean), estimate_words(scenario.difference),
        )  # fmt: skip
    ranking = simple_table("every case", "win rate", "reasonable references", "win rate ")
    for (system, rate), (filtered_system, filtered_rate) in zip(gold.before, gold.after, strict=True):
        ranking.add_row(system, four_decimals(rate), filtered_system, four_decimals(filtered_rate))
    return [table, ranking]


def gold_sentences(gold: GoldFilter) -> list[str]:
    movers = gold.moved
    sentences = [
        f"The ranking changes if cases whose reference is not reasonable are left out: the rank of {', '.join(movers)} changes."
        if movers
        else "The ranking is the same with and without the cases whose reference is not reasonable."
    ]
    sentences += [
        f"{scenario.scenario}: {scenario.difference.note}: the difference is undefined."
        for scenario in gold.scenarios
        if not scenario.difference.defined
    ]
    return [*sentences, *gold.notes]


def gold_json(gold: GoldFilter) -> dict[str, Any]:
    return {
        "scenarios": {
            scenario.scenario: {
                "reasonable": scenario.reasonable,
                "unreasonable": scenario.unreasonable,
                "undecided": scenario.undecided,
                "mean_reasonable": plain_number(scenario.kept_mean),
                "mean_unreasonable": plain_number(scenario.other_mean),
                "difference": estimate_json(scenario.difference),
                "systems": {
                    name: {"reasonable": plain_number(yes), "unreasonable": plain_number(no)}
                    for name, (yes, no) in scenario.systems.items()
                },
            }
            for scenario in gold.scenarios
        },
        "ranking": {
            "all": [{"system": name, "win_rate": plain_number(rate)} for name, rate in gold.before],
            "reasonable": [{"system": name, "win_rate": plain_number(rate)} for name, rate in gold.after],
            "moved": gold.moved,
        },
        "notes": list(gold.notes),
    }


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


def _difference(good: np.ndarray, poor: np.ndarray, draws: Draws) -> Estimate:
    n = len(good) + len(poor)
    if not len(good) or not len(poor):
        empty = "reasonable" if not len(good) else "unreasonable"
        return undefined(f"no reference is {empty}", method=METHOD, n=n)
    value = float(good.mean() - poor.mean())
    if len(good) < 2 or len(poor) < 2:
        return Estimate(
            value,
            math.nan,
            math.nan,
            n,
            METHOD,
            note="no interval: only one case has a reasonable reference, or only one has an unreasonable reference",
        )
    rng = draws.rng()
    means = [rng.choice(side, (max(draws.resamples, 40), len(side))).mean(axis=1) for side in (good, poor)]
    differences = means[0] - means[1]
    low, high = np.quantile(differences, [0.025, 0.975])
    return Estimate(value, min(float(low), value), max(float(high), value), n, METHOD)
