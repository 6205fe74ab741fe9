"""A comparison on one page, for a reader who wants the answer: the question, the answer, one figure, the cost, how sure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from ...rubrics.errors import count_words
from ..ratings.pooling import OVERALL
from ..ratings.score_tables import CONSTANT, TIE
from ..report.charts import forest_figure
from ..report.drawing import Figure, amount
from ..report.section import Section
from ..report.terminal import estimate_words
from ..statistics.estimate import Estimate
from ..statistics.significance import LEVEL
from .comparison import Comparison, charged_unit
from .deliberation import NAME as DELIBERATION
from .deliberation import effect_cells, effects_in_short
from .objectives import OBJECTIVES

OFF = "absolute error"
"""The measure of the answer: how far off an arm is, in points of the scale."""


class Summary(NamedTuple):
    """The first page in words."""

    question: str
    answer: str
    cost: str
    certainty: str
    figure: Figure | None
    caption: str


def comparison_summary(comparison: Comparison) -> Summary:
    """What a reader without statistics needs, from the comparison's own tables."""
    drawn, caption = _figure(comparison)
    return Summary(
        _question(comparison), _answer(comparison), _cost(comparison), _certainty(comparison), drawn, caption
    )


def _question(comparison: Comparison) -> str:
    juries, judges, people = (
        [arm for arm, kind in comparison.kinds.items() if kind == wanted]
        for wanted in ("jury", "single judge", "person")
    )
    arms = " or ".join(
        filter(
            None,
            (
                _number(len(juries), "jury of language models", "juries of language models"),
                _number(len(judges), "single model judge", "single model judges"),
            ),
        )
    )
    who = f"{len(people)} people" if people else "a person"
    return f"How close does {arms} come to the scores that {who} gave the same cases?" if len(juries) + len(judges) == 1 else (
        f"Which comes closest to the scores that {who} gave the same cases: {arms}?"
    )  # fmt: skip


def comparison_first_page(comparison: Comparison, rest: str) -> Section:
    """The question, the answer in three sentences, one row an arm, what is uncertain, and where the rest is."""
    effects = effect_cells(section := deliberation_of(comparison))
    costs: dict[str, Any] = {str(row["arm"]): row for row in comparison.costs.to_dict("records")}
    unit = charged_unit(comparison.costs) if len(comparison.costs) else "calls"
    rows = []
    for arm, attributes in comparison.agreement.items():
        if comparison.kinds[arm] == "text overlap":
            continue
        spent = costs.get(arm)
        rows.append(
            {
                "arm": arm,
                "kind": comparison.kinds[arm],
                "mean abs error": estimate_words(attributes[OVERALL]["mae"]) if attributes[OVERALL]["mae"].defined else "",
                "ICC(3,k)": estimate_words(attributes[OVERALL]["icc3k"]) if attributes[OVERALL]["icc3k"].defined else "",
                f"deliberation, by {OBJECTIVES['credit'].words}": effects.get(arm, ""),
                f"{unit} per case": "" if spent is None else amount(spent[unit] / spent["cases"]),
                "seconds": "" if spent is None else amount(spent["seconds_per_case"], 2),
            }
        )  # fmt: skip
    said = _answer_sentences(comparison)
    answer = [" ".join(said[:2]), said[-1], effects_in_short(section)] if len(said) > 1 else [*said, effects_in_short(section)]  # fmt: skip
    return Section(
        "summary",
        _question(comparison),
        tuple(dict.fromkeys(answer)),
        {"arms": pd.DataFrame(rows)},
        notes=(_certainty(comparison),),
        lead=rest,
    )


def deliberation_of(comparison: Comparison) -> Section | None:
    """The comparison's section on deliberation, where an arm deliberates."""
    return next((part for part in comparison.sections if part.name == DELIBERATION), None)


def _answer(comparison: Comparison) -> str:
    return " ".join([*_answer_sentences(comparison), *([effects_in_short(part)] if (part := deliberation_of(comparison)) else [])])  # fmt: skip


def _answer_sentences(comparison: Comparison) -> list[str]:
    arms = _distances(comparison)
    if not arms:
        return ["This cannot be answered: no arm and person both gave the same question a numeric score."]
    best = min(arms, key=lambda arm: arms[arm].value)
    distance = arms[best].value
    said = [f"{best} comes closest: on average it is {distance:.2f} points away from people."]
    other = next((arm for arm in sorted(arms, key=lambda arm: arms[arm].value) if comparison.kinds[arm] != comparison.kinds[best]), None)  # fmt: skip
    if other is not None:
        said.append(_against(comparison, best, other, arms[other]))
    people = [comparison.agreement[arm][OVERALL]["mae"] for arm, kind in comparison.kinds.items() if kind == "person"]  # fmt: skip
    known = [each.value for each in people if each.defined]
    if known:
        low, high = min(known), max(known)
        span = f"{low:.2f}" if round(low, 2) == round(high, 2) else f"{low:.2f} to {high:.2f}"
        said.append(f"People are {span} points away from one another on average.")
    floor = comparison.floor
    constant = comparison.agreement[floor][OVERALL]["mae"]
    nearer = constant.defined and constant.value < arms[best].value
    said.append(_against(comparison, best, floor, constant, nearer=nearer))
    return said


_FLOORS = {CONSTANT: "Giving every case the best score", TIE: "Calling every pair a tie"}


def _against(comparison: Comparison, best: str, other: str, scored: Estimate, *, nearer: bool = False) -> str:
    """Whether the best arm is told from another, in the words of the interval and the corrected p."""
    name = _FLOORS.get(other, other)
    away = "comes nearer:" if nearer else "is"
    distance = (
        f"{name} {away} {scored.value:.2f} points away from people"
        if scored.defined
        else f"the distance of {name} from people is unknown"
    )
    row = _contrast(comparison.differences, best, other)
    if row is None or math.isnan(row["p"]):
        why = f" ({row['note']})" if row is not None and row["note"] else ""
        return f"{distance}; it is unknown whether it differs from {best}{why}."
    if math.isnan(row["low"]) and row["p"] == 1:
        return f"{distance}; it is the same as {best} on every case."
    if row["p_holm"] < LEVEL:
        return f"{distance}; the difference from {best} is statistically significant at 5%."
    return f"{distance}; the difference from {best} is not statistically significant at 5%."


def _cost(comparison: Comparison) -> str:
    if comparison.costs.empty:
        return "The run has no record of its cost."
    said = []
    for row in comparison.costs.to_dict("records"):
        price = "at an unknown price" if math.isnan(row["usd"]) else f"${row['usd_per_case']:.4f} per case"
        said.append(f"{row['arm']}: {price}, {amount(row['seconds_per_case'], 2)} seconds per case")
    return "; ".join(said) + "."


def _certainty(comparison: Comparison) -> str:
    off = [found[OVERALL]["mae"].n for arm, found in comparison.agreement.items() if comparison.kinds[arm] in ("jury", "single judge")]  # fmt: skip
    overall = comparison.differences[
        (comparison.differences["attribute"] == OVERALL) & (comparison.differences["measure"] == OFF)
    ]
    tests, most = int(overall["p"].notna().sum()), max(off, default=0)
    said = [f"The comparison with people rests on at most {most} scores of each arm."]
    said.append(
        f"Intervals show where the true distance lies with 95% confidence, if these cases are typical of other cases. The p values are corrected for the number of comparisons of arms ({tests}), "
        "so that at most one such report in twenty claims a difference by mistake."
        if tests
        else "There are too few cases or groups to compare any two arms: score more cases before you choose an arm."
    )  # fmt: skip
    hung = int(comparison.costs["hung"].sum()) if "hung" in comparison.costs and len(comparison.costs) else 0
    if hung:
        said.append(
            f"Questions without a verdict because the jury was hung, which are not counted here: {hung}."
        )
    if comparison.notes:
        said.append(
            f"The notes at the end say what was left out ({count_words(len(comparison.notes), 'note')})."
        )
    return " ".join(said)


def _figure(comparison: Comparison) -> tuple[Figure | None, str]:
    found = {
        arm: {"distance": attributes[OVERALL]["mae"]}
        for arm, attributes in comparison.agreement.items()
        if comparison.kinds[arm] != "text overlap"
    }
    if not any(each["distance"].defined for each in found.values()):
        return None, ""
    caption = (
        "Mean distance from people's scores in points of the scale, with 95% intervals; further left is closer. Each person is compared "
        f"with the other people. '{comparison.floor}' is a baseline that does not read the cases."
    )  # fmt: skip
    return forest_figure(found, "points away from people", highest=None), caption


def _distances(comparison: Comparison) -> dict[str, Estimate]:
    """By arm of the run, its mean absolute error overall, where it has one."""
    found = {
        arm: comparison.agreement[arm][OVERALL]["mae"]
        for arm, kind in comparison.kinds.items()
        if kind in ("jury", "single judge")
    }
    return {arm: each for arm, each in found.items() if each.defined}


def _contrast(differences: pd.DataFrame, first: str, second: str) -> Mapping[Any, Any] | None:
    pair = differences["first"].isin([first, second]) & differences["second"].isin([first, second])
    rows = differences[pair & (differences["attribute"] == OVERALL) & (differences["measure"] == OFF)]
    records: list[dict[Any, Any]] = rows.to_dict("records")
    return records[0] if records else None


def _number(count: int, one: str, many: str) -> str:
    return "" if not count else f"a {one}" if count == 1 else f"one of {count} {many}"
