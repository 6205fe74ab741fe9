"""The triage of a run, and how good it is where labels exist: errors found against cases reviewed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...orchestration.reading.export import verdicts
from ...orchestration.record import Arm, Store
from ...rubrics.errors import VenireError, safe
from ..ratings.evidence import Evidence, gather
from ..ratings.question import rubric_questions
from ..ratings.reference import Rule
from ..ratings.run_tables import ArmMoments, ArmRatings, JurorRatings, ReachedScores, reached_scores
from ..ratings.score_tables import Marks, lay_marks
from ..report.drawing import INK, Figure, below, beside, clip, legend, series_colour
from ..report.html import items, page, paragraph, section, section_part, table
from ..report.panel import DASHED, Axis, Panel, number_axis
from ..report.section import Section, records, section_json
from ..statistics.correlation import spearman_statistic
from ..statistics.estimate import Estimate
from ..statistics.jackknife import FISHER, Jackknife
from ..statistics.matrix import FloatArray, Matrix
from ..statistics.proportion import wilson
from ..statistics.significance import LEVEL, interval_phrase, p_words
from ..statistics.weighted import Statistic
from .audit import HAIR, Audit, Severity
from .triage import RULE, SIGNALS, Docket, case_signals, ranked_cases, triage

CURVE = ["arm", "reviewed", "found"]
AREAS = ["arm", "order", "area", "low", "high", "p", "best", "errors", "n", "note"]
LEVELS = ["arm", "score", "from", "to", "n", "errors", "probability", "low", "high"]
TRIAGED = "triage"
POINTS = 101
FEW = 7
"""Up to so many distinct scores, each has its own probability; more are cut into five groups of equal size."""
SIDE = 260
_AT_ONCE = 1000
"""Deliberations whose votes are in memory together."""
TITLE = "Triage: which cases a person should see first"


def errors(marks: Marks, arm: str, severity: Severity) -> pd.Series:
    """By case, whether the arm is off people's reference by the margin or more, either way, on any attribute; NaN where
    nothing was scored by both."""
    distance = (marks.table[arm] - marks.reference()).abs()
    wrong = (distance >= severity.margin - HAIR).astype(float).where(distance.notna())
    return wrong.groupby(level="case", sort=False).max()


def gains(docket: Docket, wrong: pd.Series) -> pd.DataFrame:
    """The share of errors found once so many of the cases were reviewed in the docket's order; ties are shared out."""
    keys, error = _order_and_error(docket, wrong)
    if not error.sum():
        return pd.DataFrame(columns=CURVE)
    reviewed, found_share = found_curve(keys, error)
    at = np.linspace(0, 1, min(POINTS, len(keys) + 1))
    return pd.DataFrame({"arm": docket.arm, "reviewed": at, "found": np.interp(at, reviewed, found_share)})


def areas(docket: Docket, wrong: pd.Series, marks: Marks) -> pd.DataFrame:
    """The area under that curve, 0.5 in random order, with `p` of its being 0.5; of the triage and of each signal alone.

    `best` is the area when every error comes first. Intervals leave out cases or their groups, the order held.
    """
    rows = []
    table = docket.cases.set_index("case")
    cluster, _ = pd.factorize(marks.clusters.reindex(_known_cases(docket, wrong)))
    for order in (TRIAGED, *SIGNALS):
        keys, error = _order_and_error(docket, wrong, None if order == TRIAGED else table[order])
        grid = Matrix(np.column_stack([keys, error]), tuple(range(len(keys))), (), cluster.astype(np.int64))
        reason = "the arm's verdict is wrong on no case, or on every case"
        estimate = Jackknife().estimate(
            area_statistic, grid, method="area under the curve of wrong verdicts found", otherwise=reason
        )
        ceiling = 1 - error.mean() / 2 if len(error) else np.nan
        numbers = (*area_and_bounds(estimate), estimate.p, ceiling, int(error.sum()), len(error))
        rows.append((docket.arm, order, *numbers, estimate.note))
    return pd.DataFrame(rows, columns=AREAS)


def area_and_bounds(above_chance: Estimate) -> tuple[float, float, float]:
    """The area and its bounds, which lie between 0 and 1, from how far it is above 0.5."""
    low, high = np.clip([above_chance.low, above_chance.high], -0.5, 0.5) + 0.5
    return above_chance.value + 0.5, float(low), float(high)


def by_score(marks: Marks, arm: str, wrong: pd.Series) -> pd.DataFrame:
    """The probability of an error at each level of the case's mean mark (0 bad, 1 good), with Wilson's interval."""
    mark, error = _levels(marks, arm, wrong)
    if len(mark) < 2:
        return pd.DataFrame(columns=LEVELS)
    distinct = np.unique(mark)
    edges = distinct if len(distinct) <= FEW else np.unique(np.quantile(mark, np.linspace(0, 1, 6)[:-1]))
    group = np.searchsorted(edges, mark, side="right") - 1
    rows = []
    for number in np.unique(group):
        in_group = group == number
        n, k = int(in_group.sum()), int(error[in_group].sum())
        ends = (float(mark[in_group].min()), float(mark[in_group].max()))
        rows.append((arm, float(mark[in_group].mean()), *ends, n, k, k / n, *wilson(k / n, n, 0.95)))
    return pd.DataFrame(rows, columns=LEVELS)


def score_and_error(marks: Marks, arm: str, wrong: pd.Series) -> Estimate:
    """Spearman's rho between a case's mean mark and an error: below 0 where low scores are where people disagree."""
    mark, error = _levels(marks, arm, wrong)
    cases = _mean_marks(marks, arm, wrong).index
    cluster, _ = pd.factorize(marks.clusters.reindex(cases))
    grid = Matrix(np.column_stack([mark, error]), tuple(cases), (), cluster.astype(np.int64))
    return Jackknife().estimate(
        lambda values: spearman_statistic(values[:, 0], values[:, 1]) if len(values) else _nothing,
        grid,
        method="Spearman's rho",
        otherwise="the verdict is wrong on every case or on none, or all scores are the same",
        transform=FISHER,
    )


def _nothing(weights: FloatArray) -> FloatArray:
    return np.full(len(weights), np.nan)


def _mean_marks(marks: Marks, arm: str, wrong: pd.Series) -> pd.Series:
    mean = marks.table[arm].groupby(level="case", sort=False).mean()
    return mean[mean.notna() & wrong.reindex(mean.index).notna()]


def _levels(marks: Marks, arm: str, wrong: pd.Series) -> tuple[FloatArray, FloatArray]:
    """Each case's mean mark, to a thousandth, and whether it is an error."""
    mean = _mean_marks(marks, arm, wrong)
    return np.round(mean.to_numpy(float), 3), wrong.reindex(mean.index).to_numpy(float)


def _known_cases(docket: Docket, wrong: pd.Series) -> list[str]:
    labelled = set(wrong.dropna().index)
    return [case for case in docket.cases["case"] if case in labelled]


def _order_and_error(
    docket: Docket, wrong: pd.Series, by: pd.Series | None = None
) -> tuple[FloatArray, FloatArray]:
    """What the cases are ordered by, high first, and whether each is an error."""
    cases = _known_cases(docket, wrong)
    table = docket.cases.set_index("case").reindex(cases)
    keys = -table["place"] if by is None else by.reindex(cases).fillna(0.0)
    return keys.to_numpy(float), wrong.reindex(cases).to_numpy(float)


def found_curve(keys: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The share of cases reviewed, highest key first and ties together, and the share of errors found by then."""
    _, block = np.unique(-keys, return_inverse=True)
    cases, wrong = np.bincount(block), np.bincount(block, weights=error)
    zero = np.zeros(1)
    return np.append(zero, cases.cumsum() / cases.sum()), np.append(zero, wrong.cumsum() / wrong.sum())


def area_statistic(values: FloatArray) -> Statistic:
    """The area above that of random order, as a function of the weights of cases."""
    order = np.argsort(-values[:, 0], kind="stable")
    keys, error = values[order, 0], values[order, 1]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, dtype=int)

    def area(weights: FloatArray) -> FloatArray:
        if not len(starts):
            return np.full(len(weights), np.nan)
        sorted_weights = weights[:, order]
        cases = np.add.reduceat(sorted_weights, starts, axis=1)
        wrong = np.add.reduceat(sorted_weights * error, starts, axis=1)
        earlier = wrong.cumsum(axis=1) - wrong / 2
        total, n = wrong.sum(axis=1), cases.sum(axis=1)
        bottom = total * n
        mixed = (bottom > 0) & (total < n)
        area = np.divide(
            (cases * earlier).sum(axis=1), bottom, out=np.full(len(weights), np.nan), where=mixed
        )
        return area - 0.5

    return area


def triage_figure(found: pd.DataFrame, levels: pd.DataFrame) -> Figure:
    """Two panels, arms by colour."""
    arms = list(dict.fromkeys(found["arm"]))
    shares = number_axis(0.0, 1.0, lines=True)
    order = Panel(
        number_axis(0.0, 1.0, title="share of cases reviewed"), shares, SIDE, SIDE, title="Errors found"
    )
    scores = Axis(-0.08, 1.08, shares.ticks, "mean score (0 is the bad end, 1 the good end)")
    chance = Panel(scores, shares, SIDE, SIDE, title="Probability of an error")
    order.line([(0, 0), (1, 1)], INK, width=1, dashes=DASHED)
    for number, arm in enumerate(arms):
        arm_levels, colour = levels[levels["arm"] == arm], series_colour(number)
        reviewed = found[found["arm"] == arm]
        order.curve(zip(reviewed["reviewed"], reviewed["found"], strict=True), number)
        shift = (number - (len(arms) - 1) / 2) * 4
        chance.curve(
            zip(arm_levels["score"], arm_levels["probability"], strict=True), number, width=1, shift=shift
        )
        for row in arm_levels.to_dict("records"):
            chance.whisker_upright(
                row["score"], row["probability"], row["low"], row["high"], colour, shift=shift
            )
    panels = beside([order.picture(), chance.picture()])
    return Figure("Triage", [below([panels, legend([clip(arm) for arm in arms], lines=True)])])


def triage_section(evidence: Evidence, marks: Marks, severity: Severity) -> Section:
    """How much sooner a person who follows the triage meets the errors, arm by arm."""
    wrong_by_arm = {arm: errors(marks, arm, severity) for arm in marks.arms}
    dockets = (triage(evidence, marks, arm, severity, wrong=wrong) for arm, wrong in wrong_by_arm.items())
    return review(dockets, wrong_by_arm, marks, severity)


def review(
    dockets: Iterable[Docket], wrong_by_arm: Mapping[str, pd.Series], marks: Marks, severity: Severity
) -> Section:
    """The dockets of some arms held against people's labels; of the cases, only the labelled ones are listed."""
    sentences: list[str] = []
    parts: dict[str, list[pd.DataFrame]] = {"areas": [], "by_score": [], "curve": [], "cases": []}
    for docket in dockets:
        arm, wrong = docket.arm, wrong_by_arm[docket.arm]
        arm_areas = areas(docket, wrong, marks)
        labelled = docket.cases[docket.cases["case"].isin(_known_cases(docket, wrong))]
        parts["areas"].append(arm_areas)
        parts["by_score"].append(by_score(marks, arm, wrong))
        parts["curve"].append(gains(docket, wrong))
        parts["cases"].append(labelled.assign(reasons=["; ".join(words) for words in labelled["reasons"]]))
        sentences.append(_area_sentence(arm_areas[arm_areas["order"] == TRIAGED].iloc[0].to_dict()))
        rho = score_and_error(marks, arm, wrong)
        if rho.defined and not math.isnan(rho.p):
            sentences.append(_score_sentence(arm, rho))
    tables = {name: pd.concat(tables_of_name, ignore_index=True) for name, tables_of_name in parts.items()}
    caption = (
        "Left: the share of wrong verdicts found, against the share of cases reviewed in the order of triage (dashed: random order). "
        "Right: the probability of a wrong verdict by the case's mean score, from bad to good, with Wilson intervals."
    )
    figures = {caption: triage_figure(tables["curve"], tables["by_score"])} if len(tables["curve"]) else {}
    methods = (
        f"Triage: {RULE} A verdict is wrong if it differs from people's reference by {severity.margin:.0%} of the scale or more, in either direction, "
        f"on any attribute. The area under the curve of wrong verdicts found against cases reviewed is 0.5 in random order. Its "
        "interval is a jackknife over cases or groups, with the order of triage held fixed.",
    )
    return Section("triage", TITLE, tuple(sentences), tables, figures, methods, marks.notes)


def _area_sentence(row: dict[Any, Any]) -> str:
    if math.isnan(row["area"]):
        return f"{row['arm']}: triage cannot be tested ({row['note']}; the verdict is wrong in {row['errors']} of {row['n']} cases)."
    size = (
        f"the area under the curve of wrong verdicts found against cases reviewed is {row['area']:.2f} ({interval_phrase(row['low'], row['high'])}; 0.50 in random order, at best "
        f"{row['best']:.2f}; the verdict is wrong in {row['errors']} of {row['n']} cases, {p_words(row['p'])})"
    )
    if not row["p"] < LEVEL:
        return f"Reviewing {row['arm']}'s cases in the order of triage is not shown to find wrong verdicts sooner than random order: {size}."
    sooner_or_later = "sooner" if row["area"] > 0.5 else "later"
    return f"Reviewing {row['arm']}'s cases in the order of triage finds wrong verdicts {sooner_or_later} than random order: {size}."


def _score_sentence(arm: str, rho: Estimate) -> str:
    size = f"rho {rho.value:+.2f}, {interval_phrase(rho.low, rho.high, '+.2f')}, {p_words(rho.p)}"
    if not rho.p < LEVEL:
        return f"How often people disagree with {arm} is not shown to depend on how high {arm} scores a case ({size})."
    return f"People disagree with {arm} more often on cases that it scores {'low' if rho.value < 0 else 'high'} ({size})."


TRIAGE = Audit(
    "triage", lambda inputs, draws: triage_section(inputs.evidence, inputs.marks, inputs.severity), 40
)


def run_triage(
    run: Store | Path | str,
    human: pd.DataFrame | None = None,
    *,
    arm: str | None = None,
    severity: Severity | None = None,
    reference: Rule | None = None,
) -> tuple[Docket, Section | None]:
    """The triage of one arm of a run, its first jury unless named; with ratings, also how good it is."""
    store = run if isinstance(run, Store) else Store.read(run)
    severity = severity or Severity()
    try:
        arms = {each.name: each for each in store.arms()}
        juries = [each.name for each in arms.values() if not each.jury.single_judge]
        arm_name = arm or next(iter(juries or arms), None)
        if arm_name is None or arm_name not in arms:
            problem = f"the run has no arm {arm_name!r}" if arm_name else "the run has no arm"
            raise VenireError(
                problem, remedy=f"choose one of {', '.join(arms)}" if arms else "run a jury first"
            )
        evidence = None if human is None else gather(store, human, rule=reference, rated_only=True)
        signals = _streamed_signals(store, arms, arm_name, severity)
    finally:
        if store is not run:
            store.release()
    if evidence is None:
        return ranked_cases(signals, arm_name, pd.Series(dtype=object)), None
    marks = lay_marks(evidence)
    wrong = errors(marks, arm_name, severity)
    if wrong.notna().sum() == 0:
        raise VenireError(
            f"the ratings and {arm_name} have no case and attribute in common",
            remedy="check that the ratings use the run's case ids and the rubric's attribute names",
        )
    docket = ranked_cases(signals, arm_name, marks.clusters, wrong)
    told = review([docket], {arm_name: wrong}, marks, severity)
    return docket, replace(told, notes=tuple(dict.fromkeys((*evidence.notes, *told.notes))))


def _streamed_signals(store: Store, arms: Mapping[str, Arm], arm: str, severity: Severity) -> pd.DataFrame:
    """The signals of every case of `arm`. Votes and flags are held for `_AT_ONCE` deliberations at a time; of other arms, the scores."""
    reached: ReachedScores = {}
    for other in arms:
        for _, verdict in verdicts(store, arm=other, written=True) if other != arm else ():
            reached.setdefault(verdict.case, {})[other] = reached_scores(verdict)
    parts: list[pd.DataFrame] = []
    deliberations = verdicts(store, arm=arm, written=True)
    for first in deliberations:
        collectors = ArmRatings(), JurorRatings(), ArmMoments(reached)
        for deliberation in chain([first], islice(deliberations, _AT_ONCE - 1)):
            for collector in collectors:
                collector.add(*deliberation)
        ratings, ballots, moments = (collector.table() for collector in collectors)
        evidence = Evidence(
            arms=ratings,
            people=pd.DataFrame(columns=["case", "rater", "attribute", "value"]),
            questions=rubric_questions(*(each.rubric for each in arms.values())),
            cases=pd.DataFrame(columns=["case", "group", "system"]),
            costs=pd.DataFrame(),
            stops=pd.DataFrame(),
            kinds={arm: "jury"},
            ballots=ballots,
            moments=moments,
        )
        parts.append(case_signals(evidence, lay_marks(evidence), arm, severity))
    return pd.concat(parts) if parts else pd.DataFrame(columns=[*SIGNALS, "undecided", "reasons"])


def docket_answer(docket: Docket, told: Section | None, most: int) -> Section:
    """The first cases, a reason a line; where people rated, how good the order is."""
    first_rows = docket.first(most)
    rows = [
        (
            row["place"],
            safe(str(row["case"])),
            "no verdict" if row["undecided"] else f"{row['priority']:.2f}",
            "\n".join(safe(words) for words in row["reasons"]),
        )
        for row in first_rows.to_dict("records")
    ]
    name = f"{docket.arm}: {len(first_rows)} of {len(docket.cases)} cases, most urgent first"
    tables = {name: pd.DataFrame(rows, columns=["", "case", "priority", "why"])}
    sentences, notes = (told.sentences, told.notes) if told else ((), ())
    return Section("triage", TITLE, sentences, tables, notes=notes)


def docket_json(run: str, docket: Docket, told: Section | None, most: int | None) -> dict[str, Any]:
    """The cases in order with their signals and reasons; under `review`, how good the order is, where people rated."""
    cases = []
    for row in records(docket.first(most)):
        fields = {name: row[name] for name in ("case", "place", "priority", "undecided")}
        signals = {name: row[name] for name in SIGNALS}
        cases.append({**fields, "signals": signals, "reasons": list(row["reasons"])})
    review = section_json(told) if told else None
    return {"run": run, "arm": docket.arm, "rule": RULE, "signals": SIGNALS, "cases": cases, "review": review}


PAGE = 1000
"""Cases on a page, unless more are asked for."""


def triage_page(docket: Docket, told: Section | None, most: int | None = None) -> str:
    """The whole page: how good the order is, where people rated, then the first cases in it."""
    heads = {"place": "place", "case": "case", "priority": "priority", "undecided": "no verdict"}
    heads |= {name: name.replace("_", " ") for name in SIGNALS} | {"why": "why"}
    first_rows = docket.first(most or PAGE)
    listed = first_rows.assign(why=["; ".join(words) for words in first_rows["reasons"]])
    shown = (
        len(listed) if len(listed) == len(docket.cases) else f"the first {len(listed)} of {len(docket.cases)}"
    )
    body = [
        section_part(told) if told else None,
        section(
            "Cases, most urgent first",
            paragraph(RULE),
            items([f"{name.replace('_', ' ')}: {words}" for name, words in SIGNALS.items()], "notes"),
            table("cases", listed, heads),
        ),
    ]
    return page("Which cases a person should see first", f"{docket.arm}, {shown} cases", body)
