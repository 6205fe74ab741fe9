"""Systems ranked by an arm and by people: the same order, and how sure is either?"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...rubrics.errors import count_words
from ..ratings.evidence import Evidence, composite_label
from ..ratings.pooling import pooling
from ..report.drawing import COLOURS, Figure, below, caption, clip, legend
from ..report.panel import Axis, Panel, Tick, level, name_axis
from ..report.section import Section
from ..statistics.draws import Bootstrap, Draws
from ..statistics.estimate import Estimate, undefined
from ..statistics.matrix import FloatArray, Matrix
from ..statistics.weighted import Coefficient, Statistic, over_clusters
from .audit import Audit

FEW = 5
"""With fewer cases than this a system has a rank and no interval: resampling two or three cases knows nothing."""
SIDES = ("before", "after", "people")
ROW = 34
SIDE_WORDS = {"people": "people", "before": "arm", "after": "arm, calibrated"}
MEAN = "mean of attributes"


def ranks_figure(ranks: pd.DataFrame) -> Figure:
    """A block for each arm and composite, best on the left; a hollow point has too few cases for an interval."""
    panels, heads = [], []
    for (arm, by), block in ranks.groupby(["arm", "by"], sort=False):
        people = block[block["side"] == "people"].sort_values(["rank", "system"])
        systems = list(people["system"])
        ticks = tuple(Tick(rank, str(rank)) for rank in range(1, len(systems) + 1))
        x = Axis(0.6, len(systems) + 0.4, ticks, "rank (1 is best)", lines=True)
        names = [
            Tick(0, f"{clip(str(system))}  n = {n}", "plain")
            for system, n in zip(systems, people["n"], strict=True)
        ]
        panel = Panel(x, name_axis(names), max(420, 44 * len(systems)), len(systems) * ROW)
        sides = [side for side in SIDE_WORDS if side in set(block["side"])]
        for number, side in enumerate(sides):
            for row in block[block["side"] == side].to_dict("records"):
                _add_rank(panel, systems.index(row["system"]), row, COLOURS[number], (number - 1) * 8)
        panels.append(panel)
        heads.append(
            [
                caption(f"{clip(str(arm), 40)}: by {by}", bold=True),
                legend([SIDE_WORDS[side] for side in sides]),
            ]
        )
    blocks = [below([*head, picture]) for head, picture in zip(heads, level(panels), strict=True)]
    return Figure("Ranks of systems", blocks)


def _add_rank(panel: Panel, place: int, row: dict[Hashable, Any], colour: str, shift: float) -> None:
    rank, low, high = (row["rank"], row["low"], row["high"])
    if math.isnan(low):
        panel.point(rank, place, colour, radius=3.5, hollow=True, shift=(0, shift))
    else:
        panel.whisker_across(place, rank, low, high, colour, shift=shift)


def ranking_section(evidence: Evidence, scores: Mapping[str, pd.DataFrame], draws: Draws) -> Section | None:
    """Each arm's ranking of the systems that produced the outputs; None where fewer than two are named.

    Args:
        scores: By arm, `case`, `cluster`, `attribute`, `before`, `after`, `people`; composites are rows too.
    """
    systems = evidence.cases.dropna(subset=["system"]).drop_duplicates("case").set_index("case")["system"]
    if systems.nunique() < 2:
        return None
    ranks, taus, notes = [], [], []
    for arm, arm_scores in scores.items():
        for by, table in _qualities(evidence, arm, arm_scores).items():
            scored = table.assign(system=table["case"].map(systems)).dropna(
                subset=["system", "before", "people"]
            )
            if scored["system"].nunique() < 2:
                notes.append(
                    f"{arm} is not ranked by {by!r}: fewer than two systems were scored by both {arm} and people"
                )
                continue
            ranks_of_arm = ranking(scored, seed=draws.seed, resamples=draws.resamples)
            ranks.append(ranks_of_arm.assign(arm=arm, by=by))
            taus.append(
                rank_agreement(scored, seed=draws.seed, resamples=draws.resamples).assign(arm=arm, by=by)
            )
    if not ranks:
        sentence = "Systems are not ranked: no two systems were scored by both an arm and people."
        return Section("ranking", "Ranking of systems", (sentence,), notes=tuple(notes))
    all_ranks, agreed = (pd.concat(tables, ignore_index=True) for tables in (ranks, taus))
    thin = all_ranks[all_ranks["n"] < FEW]
    if len(thin):
        names = ", ".join(dict.fromkeys(thin["system"]))
        notes.append(f"systems ranked without an interval, because they have fewer than {FEW} cases: {names}")
    keys = ["arm", "by"]
    return Section(
        name="ranking",
        title="Ranking of systems",
        sentences=tuple(_sentences(all_ranks, agreed)),
        tables={
            "ranks": all_ranks[[*keys, *(c for c in all_ranks if c not in keys)]],
            "agreement": agreed[[*keys, *(c for c in agreed if c not in keys)]],
        },
        figures={
            "Rank of each system according to people, and according to the arm before and after calibration. Intervals hold the middle 95% of a system's ranks over bootstrap resamples of cases. "
            "A hollow dot marks a system with too few cases for an interval.": ranks_figure(all_ranks)
        },
        methods=(
            "Systems are ranked on the cases that both the arm and people scored, by the mean of each composite score of the rubric. Without a composite, the "
            "attributes that share a scale are averaged, reversed where needed so that high is good. Tied systems share the middle rank. "
            f"Rank intervals hold the middle 95% of a system's ranks over {draws.resamples} resamples of cases or groups. A system that is absent from a resample keeps its mean score. "
            "Kendall's tau-b compares the arm's and people's means of the systems, with percentile intervals. Calibrated scores are out of fold.",
        ),
        notes=tuple(dict.fromkeys(notes)),
    )


def _qualities(evidence: Evidence, arm: str, scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What systems are ranked by: each composite, or the mean of the attributes that share a scale, high being good."""
    rubric = evidence.rubrics.get(arm)
    composites = map(composite_label, rubric.composites if rubric else ())
    names = [name for name in composites if name in set(scores["attribute"])]
    if names:
        return {name: scores[scores["attribute"] == name] for name in names}
    pooled = pooling(evidence.questions, set(scores["attribute"]), good_is_high=True)
    attributes = pooled.names
    if not attributes:
        return {}
    rows = pooled.rows(scores, SIDES)
    is_complete = rows.groupby("case")["attribute"].transform("nunique") == len(attributes)
    means = rows[is_complete].groupby(["case", "cluster"], sort=False)[list(SIDES)].mean().reset_index()
    return {MEAN if len(attributes) > 1 else attributes[0]: means}


def _sentences(all_ranks: pd.DataFrame, agreed: pd.DataFrame) -> list[str]:
    sentences = []
    for (arm, by), rows in agreed.groupby(["arm", "by"], sort=False):
        row_by_side = {str(row["side"]): row for row in rows.to_dict("records")}
        arm_ranks = all_ranks[(all_ranks["arm"] == arm) & (all_ranks["by"] == by)]
        people = arm_ranks[arm_ranks["side"] == "people"]
        sure = int((people["high"] - people["low"] <= 1).sum())
        as_is, calibrated_row = row_by_side["before"], row_by_side["after"]
        if pd.isna(as_is["tau"]):
            sentences.append(
                f"{arm} ranks {as_is['systems']} systems by {by}; Kendall's tau with people's ranking is not available ({as_is['note']})."
            )
            continue
        calibrated = (
            "" if pd.isna(calibrated_row["tau"]) else f", or {_tau_words(calibrated_row)} after calibration"
        )
        tied = int(arm_ranks[arm_ranks["side"] == "before"]["tied"].sum())
        sentences.append(
            f"{arm} ranks {as_is['systems']} systems by {by} with a Kendall's tau of {_tau_words(as_is)} with people's ranking"
            f"{calibrated}. {_top(arm_ranks, str(arm))} In people's ranking, {sure} of {len(people)} ranks are certain to within one place (by their 95% intervals)"
            + (f"; {arm} ties {tied} of the systems." if tied else ".")
            + (" With so few systems, tau can take only a few values." if as_is["systems"] < 5 else "")
        )
    return sentences


def _tau_words(row: Mapping[Hashable, Any]) -> str:
    between = "" if pd.isna(row["low"]) else f" ({row['low']:.2f} to {row['high']:.2f})"
    return f"{row['tau']:.2f}{between}"


def _top(arm_ranks: pd.DataFrame, arm: str) -> str:
    leaders = {
        side: [
            system if n >= FEW else f"{system} ({n} case{'s' if n > 1 else ''})"
            for system, n in ranks[ranks["rank"] == ranks["rank"].min()][["system", "n"]].itertuples(
                index=False
            )
        ]
        for side, ranks in arm_ranks.groupby("side")
    }
    if leaders["before"] == leaders["people"]:
        return f"People and {arm} both put {' and '.join(leaders['people'])} first."
    return f"People put {' and '.join(leaders['people'])} first; {arm} puts {' and '.join(leaders['before'])} first."


def ranking(scores: pd.DataFrame, *, seed: int, resamples: int) -> pd.DataFrame:
    """One row for each side and system: `mean`, `rank` (1 is best, ties share the middle), `low`, `high`, `n`, `tied`.

    Args:
        scores: One row a case: `cluster`, `system`, `before`, `after`, `people`.
    """
    sides = [side for side in SIDES if scores[side].notna().all()]
    grid, names = _grid(scores, sides)
    size = scores.groupby("system").size().reindex(names).to_numpy(int)
    rows = []
    for number, side in enumerate(sides):
        boot = Bootstrap(np.random.default_rng(seed), resamples)
        statistic, frequency = over_clusters(_means(len(names), number), grid)
        mean = statistic(frequency[None, :].astype(float))
        rank = _ranks(mean)[0]
        drawn_ranks = _ranks(boot.draws(statistic, frequency))
        # Cases of one group are never drawn apart.
        ends = (
            np.quantile(drawn_ranks, [0.025, 0.975], axis=0, method="nearest")
            if len(drawn_ranks)
            else np.full((2, len(names)), np.nan)
        )
        low, high = ends
        sure = (size >= FEW) & (len(drawn_ranks) > 0)
        for place, system in enumerate(names):
            rows.append(
                {
                    "side": side,
                    "system": system,
                    "mean": float(mean[0, place]),
                    "rank": float(rank[place]),
                    "low": float(low[place]) if sure[place] else np.nan,
                    "high": float(high[place]) if sure[place] else np.nan,
                    "n": int(size[place]),
                    "tied": bool((np.abs(mean[0] - mean[0, place]) < 1e-9).sum() > 1),
                    "note": ""
                    if sure[place]
                    else f"{count_words(int(size[place]), 'case')}{'' if len(drawn_ranks) else ' of one group'}: too few cases for an interval of the rank",
                }
            )
    return pd.DataFrame(rows)


def rank_agreement(scores: pd.DataFrame, *, seed: int, resamples: int) -> pd.DataFrame:
    """Kendall's tau-b with people's ranking before calibration, after it, and the change: `side`, `tau`, `low`, `high`, `p`, `systems`."""
    sides = [side for side in SIDES if scores[side].notna().all()]
    grid, names = _grid(scores, sides)
    people = len(sides) - 1
    measures: dict[str, Coefficient] = {
        side: _tau(len(names), number, people) for number, side in enumerate(sides[:-1])
    }
    if len(measures) == 2:
        measures["change"] = _apart(_tau(len(names), 1, people), _tau(len(names), 0, people))
    rows = []
    for side in ("before", "after", "change"):
        boot = Bootstrap(np.random.default_rng(seed), resamples)
        estimate: Estimate = undefined(
            "the arm has no calibrated scores, so they cannot be ranked", method="Kendall's tau-b"
        )
        if side in measures:
            estimate = boot.estimate(
                measures[side],
                grid,
                method="Kendall's tau-b",
                otherwise="tau is undefined: all systems are tied in the arm's or in people's ranking",
            )
        rows.append(
            {
                "side": side,
                "tau": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "p": estimate.p,
                "systems": len(names),
                "n": len(grid.cases),
                "note": estimate.note,
            }
        )
    return pd.DataFrame(rows)


def _grid(scores: pd.DataFrame, sides: list[str]) -> tuple[Matrix, list[str]]:
    code, names = pd.factorize(scores["system"], sort=True)
    cluster, _ = pd.factorize(scores["cluster"])
    values = np.column_stack([scores[sides].to_numpy(float), code, np.zeros(len(code))])
    return Matrix(values, tuple(range(len(scores))), (*sides, "system", ""), cluster.astype(np.int64)), list(
        map(str, names)
    )


def _means(systems: int, side: int) -> Coefficient:
    """The mean of each system, a column each; where a resample lacks one, its mean over all cases."""

    def coefficient(values: FloatArray) -> Statistic:
        member = np.eye(systems)[values[:, -2].astype(int)]
        system_scores = member * values[:, [side]]
        overall = system_scores.sum(axis=0) / member.sum(axis=0)

        def means(weights: FloatArray) -> FloatArray:
            count = weights @ member
            return np.where(count > 0, (weights @ system_scores) / np.maximum(count, 1), overall)

        return means

    return coefficient


def _tau(systems: int, side: int, people: int) -> Coefficient:
    def coefficient(values: FloatArray) -> Statistic:
        side_means, people_means = (_means(systems, number)(values) for number in (side, people))
        return lambda weights: _tau_b(side_means(weights), people_means(weights))

    return coefficient


def _apart(minuend: Coefficient, subtrahend: Coefficient) -> Coefficient:
    def coefficient(values: FloatArray) -> Statistic:
        left, right = minuend(values), subtrahend(values)
        return lambda weights: left(weights) - right(weights)

    return coefficient


def _order(means: FloatArray) -> FloatArray:
    """Of each two columns in each row, whether the first is higher (1), lower (-1) or tied but for rounding (0)."""
    gap = means[:, :, None] - means[:, None, :]
    return np.where(np.abs(gap) < 1e-9, 0.0, np.sign(gap))


def _ranks(means: FloatArray) -> FloatArray:
    """The highest is 1; ties share the middle of their ranks."""
    order = _order(means)
    return 1 + (order < 0).sum(axis=2) + ((order == 0).sum(axis=2) - 1) / 2


def _tau_b(side_means: FloatArray, people_means: FloatArray) -> FloatArray:
    side_order, people_order = _order(side_means), _order(people_means)
    top = (side_order * people_order).sum(axis=(1, 2))
    bottom = np.sqrt(np.abs(side_order).sum(axis=(1, 2)) * np.abs(people_order).sum(axis=(1, 2)))
    return np.divide(top, bottom, out=np.full(len(side_means), np.nan), where=bottom > 0)


RANKING = Audit("ranking", lambda inputs, draws: ranking_section(inputs.evidence, inputs.scores, draws), 10)
