"""An arm beside a second panel of people: on cases that both scored, which comes nearer to the first panel?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..calibration.changes import FLAT, GATES, MEASURES, grid, nearness, one_side, side
from ..calibration.labelled_scores import composites
from ..ratings.evidence import Evidence
from ..ratings.pooling import OVERALL, pooling
from ..ratings.reference import reference
from ..report.section import Section
from ..statistics.contrast import paired_difference
from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray
from ..statistics.weighted import Coefficient, OfSums, Statistic, over_clusters
from .audit import Audit

Sign = Callable[[FloatArray], FloatArray]
BETTER: Mapping[str, Sign] = {
    "offset": lambda value: -np.abs(value),
    "rmse": lambda value: -value,
    "spearman": lambda value: value,
    "kappa_quadratic": lambda value: value,
}
"""Each measure turned so that more is nearer to the first panel."""
WORDS = {
    "offset": "offset",
    "rmse": "RMSE",
    "spearman": "Spearman's rho",
    "kappa_quadratic": "quadratic kappa",
}
COLUMNS = [
    "arm",
    "side",
    "attribute",
    "measure",
    "of_arm",
    "of_panel",
    "advantage",
    "low",
    "high",
    "p",
    "win_rate",
    "n",
    "note",
]


def rescore_section(evidence: Evidence, scores: Mapping[str, pd.DataFrame], draws: Draws) -> Section | None:
    """Each arm against the second panel, before and after calibration; None where no second panel was named.

    Args:
        scores: By arm, `case`, `cluster`, `attribute`, `before`, `after`, `people`; composites are rows too.
    """
    if evidence.rescored.empty:
        return None
    names = sorted(set(evidence.rescored["rater"]))
    title = "Comparison with a second panel of people"
    parts = [against_panel(evidence, arm, rows, draws) for arm, rows in scores.items()]
    wins = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    silent = [arm for arm, part in zip(scores, parts, strict=True) if part.empty]
    notes = [
        f"{arm} is not compared: no case was scored by {arm}, people and the second panel" for arm in silent
    ]
    if wins.empty:
        sentence = f"The second panel ({', '.join(names)}) shares no scored case with an arm and the first panel, so nothing is compared."
        return Section("rescore", title, (sentence,), notes=tuple(notes))
    return Section(
        name="rescore",
        title=title,
        sentences=tuple(_sentence(str(arm), rows) for arm, rows in wins.groupby("arm", sort=False)),
        tables={"wins": wins},
        methods=(
            f"The second panel is {', '.join(names)}. Their scores are combined like those of the first panel, and are not part of the reference. "
            "The arm and the second panel are each compared with the first panel, on the cases that all three scored. The win rate is the share of "
            f"{draws.resamples} resamples of cases or groups in which the arm comes nearer; ties count half. The advantage is the difference between "
            "the arm's measure and the second panel's. A positive advantage means that the arm is nearer to the first panel. Calibrated scores are out of fold.",
        ),
        notes=tuple(notes),
    )


def against_panel(evidence: Evidence, arm: str, scores: pd.DataFrame, draws: Draws) -> pd.DataFrame:
    """One row for each side, attribute and measure: the arm's, the panel's, the advantage and the win rate."""
    rows: list[dict[str, object]] = []
    scored = _with_panel(evidence, arm, scores)
    for attribute, part_scores in _parts(evidence, scored):
        for stage in ("before", "after"):
            usable = part_scores.dropna(subset=[stage, "panel", "people"])
            for measure in MEASURES if len(usable) else ():
                start = {"arm": arm, "side": stage, "attribute": attribute, "measure": measure}
                rows.append({**start, **_duel(usable, stage, measure, draws)})
    return pd.DataFrame(rows, columns=COLUMNS)


def _with_panel(evidence: Evidence, arm: str, scores: pd.DataFrame) -> pd.DataFrame:
    """The scores with the second panel's reference beside them, of attributes and of composites."""
    asked = {name: question for name, question in evidence.questions.items() if question.scale.ordered}
    panel = reference(evidence.rescored, asked, rule=evidence.rule).table.rename(columns={"value": "panel"})
    wide = panel.assign(
        cluster="", fold=0, before=panel["panel"], after=panel["panel"], people=panel["panel"]
    )
    derived = composites(wide.drop(columns="panel"), evidence.rubrics.get(arm)).rename(
        columns={"people": "panel"}
    )
    columns = ["case", "attribute", "panel"]
    return scores.merge(pd.concat([panel[columns], derived[columns]]), on=["case", "attribute"])


def _parts(evidence: Evidence, scored: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """All attributes that share the commonest scale, then each attribute and composite."""
    if scored.empty:
        return []
    pooled = pooling(evidence.questions, set(scored["attribute"]))
    overall = [(OVERALL, pooled.rows(scored, ("before", "after", "people", "panel")))]
    return [*overall, *((str(name), rows) for name, rows in scored.groupby("attribute", sort=False))]


def _duel(scores: pd.DataFrame, column: str, measure: str, draws: Draws) -> dict[str, object]:
    rows, orient = grid(scores, (column, "panel")), BETTER[measure]

    def of(number: int) -> Coefficient:
        return lambda values: side(MEASURES[measure], values, number)

    def advantage(values: FloatArray) -> Statistic:
        arm, panel = of(0)(values), of(1)(values)
        return lambda weights: orient(arm(weights)) - orient(panel(weights))

    jury, people = (one_side(rows.values, number) for number in (0, 1))
    gap, p = paired_difference(
        _nearness(measure), jury, people, rows.cluster, method=measure, otherwise=FLAT, gate=GATES[measure]
    )
    statistic, frequency = over_clusters(advantage, rows)
    advantages = draws.bootstrap().draws(statistic, frequency)
    usable = advantages[~np.isnan(advantages)]
    wins = np.where(np.abs(usable) < 1e-12, 0.5, usable > 0)
    ones = frequency[None, :].astype(float)
    of_arm, of_panel = (float(over_clusters(of(number), rows)[0](ones)[0]) for number in (0, 1))
    return {
        "of_arm": of_arm,
        "of_panel": of_panel,
        "advantage": gap.value,
        "low": gap.low,
        "high": gap.high,
        "p": p,
        "win_rate": float(wins.mean()) if len(wins) and gap.defined else np.nan,
        "n": len(scores),
        "note": gap.note,
    }


def _nearness(measure: str) -> Coefficient:
    """The measure, turned so that more is nearer, of rows of score, label, attribute and fold."""

    def coefficient(rows: FloatArray) -> Statistic:
        inner, orient = nearness(MEASURES[measure], rows), BETTER[measure]
        if isinstance(inner, OfSums):
            return OfSums(inner.sums, lambda total: orient(inner.value(total)))
        return lambda weights: orient(inner(weights))

    return coefficient


def _sentence(arm: str, wins: pd.DataFrame) -> str:
    overall = wins[wins["attribute"] == OVERALL]
    rows = {(str(row["side"]), str(row["measure"])): row for row in overall.to_dict("records")}
    cases = int(overall["n"].max())
    parts = []
    for stage, words in (("before", "not calibrated"), ("after", "calibrated")):
        rates = [_win(rows[stage, measure], measure) for measure in MEASURES if (stage, measure) in rows]
        if rates:
            parts.append(f"{words}, {', '.join(rates)}")
    return (
        f"On the {cases} scores that {arm} and the second panel both gave, {arm} is nearer to the first panel than the second panel is in this share of bootstrap "
        f"resamples: {'; '.join(parts)}."
    )


def _win(row: Mapping[Hashable, Any], measure: str) -> str:
    if pd.isna(row["win_rate"]):
        return f"{WORDS[measure]} undefined"
    clear = " (clearly nearer)" if row["low"] > 0 else " (clearly further away)" if row["high"] < 0 else ""
    return f"{WORDS[measure]} {row['win_rate']:.0%}{clear}"


RESCORING = Audit("rescore", lambda inputs, draws: rescore_section(inputs.evidence, inputs.scores, draws), 20)
