"""The advice in words: what to use, what the evidence cannot tell, what to try next; and the methods behind it as sentences for a paper."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...rubrics.errors import count_words
from ..ratings.folds import Fold, held_rows
from ..ratings.reference import Rule, rule_words
from ..report.drawing import amount
from ..statistics.contrast import LEAST_CLUSTERS
from ..statistics.draws import Draws
from ..statistics.matrix import IntArray
from ..statistics.significance import LEVEL, shown_sign, signed_number
from .candidates import DIFFERENCE
from .choices import Choices
from .juror_pool import PRICED, VOTES, Pool
from .juror_tables import Shares
from .jury_search import EVERY, INNER
from .paired_means import ALIKE, EFFECTS

Row = Mapping[Hashable, Any]
TOGETHER = 0.3
"""From this mean correlation of errors on, jurors are said to err together."""
STEADY = 0.9
"""Below this consistency over the two orders, the order is said to matter."""


class AdviceTables(NamedTuple):
    """The tables that advice is drawn from: every sentence is made of their rows."""

    answers: pd.DataFrame
    frontier: pd.DataFrame
    noise: pd.DataFrame
    power: pd.DataFrame
    unit: str
    growth: pd.DataFrame
    independence: pd.DataFrame
    jurors: pd.DataFrame
    position: pd.DataFrame
    recommended: str = ""
    """The arm to use, as `recommended_arm` finds it."""
    measure: str = "mean credit"
    """What arms are compared by."""
    choices: Choices | None = None
    """Where a study chooses for each attribute, or seats by weights: what to use is said by these, and not by the frontier."""
    over_constant: float = math.nan
    """The lower end of what the best jury has over one answer to everything, where that is known."""


def testable(noise: pd.DataFrame) -> bool:
    """Whether there are cases or groups enough to tell any arm from the best."""
    return bool(noise["p"].notna().any())


def recommended_arm(
    frontier: pd.DataFrame, noise: pd.DataFrame, answers: pd.DataFrame, better: float = 1.0
) -> str:
    """The cheapest arm within noise of the best; where nothing can be tested, the one that scored best.

    Where juries are shown to be better than single judges, or these better than juries, it is one of the better kind.
    """
    ordered = frontier.sort_values("score", ascending=better < 0, kind="stable")
    if not testable(noise):
        return str(ordered["arm"].iloc[0])
    kinds = frontier.set_index("arm")["kind"]
    worse = {1.0: "single judge", -1.0: "jury"}.get(_jury_sign(answers), "")
    within = noise[noise["within"].astype(bool) & (noise["arm"].map(kinds) != worse)]
    rest = noise[noise["arm"].map(kinds) != worse]
    return str(
        (within if len(within) else (rest if len(rest) else noise).sort_values("value"))["arm"].iloc[0]
    )


def _jury_sign(answers: pd.DataFrame) -> float:
    """1 where juries are shown to be better than single judges, -1 where they are shown to be worse, 0 otherwise."""
    found = answers[answers["what"] == DIFFERENCE]
    return 0.0 if found.empty else np.nan_to_num(shown_sign(found["value"].iloc[0], found["p"].iloc[0]))


def advice(tables: AdviceTables) -> tuple[str, ...]:
    """Sentences: first what to use, last what to try."""
    use = tables.choices.sentences() if tables.choices else (_use(tables), _whether_juries_pay(tables))
    return tuple(filter(None, [*use, *_limits(tables), *_next(tables)]))


def _use(tables: AdviceTables) -> str:
    name = tables.recommended
    arm = _row(tables.frontier, "arm", name)
    if not testable(tables.noise):
        return f"No arm can be recommended yet: {name} scored best ({arm['score']:.3f}), but {tables.noise['note'].iloc[0]}."
    gap = _row(tables.noise, "arm", name)
    who = f"{name} ({arm['jurors']})" if arm["jurors"] else name
    within = tables.noise["within"].astype(bool)
    told, cheaper = int(within.sum()), tables.noise["cost"] < arm["cost"]
    among = f"the cheapest of {told} arms that are" if told > 1 else "the only arm that is"
    passed = int((~within & cheaper).sum())
    gain = (
        "the best arm, chosen on other cases, is no better on any case than the best arm at this price"
        if gap["note"] == ALIKE
        else f"in agreement with people, the best arm's gain over the best arm at this price, both chosen on other cases, is {_signed_interval(gap)}"
    )
    worse = (
        f"; {count_words(passed, 'cheaper arm')} {'is' if passed == 1 else 'are'} shown to be worse"
        if passed
        else ""
    )
    if int((within & cheaper).sum()):
        worse += "; cheaper arms belong to a kind (jury or single judge) that is shown to be worse"
    unpaid = (
        "no jury is shown to be worth using, and this arm is "
        if arm["kind"] == "jury" and not juries_pay(tables)
        else "it is "
    )
    measured = (
        "Agreement with people" if tables.measure == "mean credit" else f"Its {tables.measure} with people"
    )
    return (
        f"Use {who}, at {price_words(arm['cost'], tables.unit)}: {unpaid}{among} not shown to be worse than the best{worse}. {measured} is "
        f"{_with(arm['score'], arm['low'], arm['high'])}; {gain}."
    )  # fmt: skip


def price_words(cost: float, unit: str) -> str:
    """What a case costs, for a sentence: "one model call per case"."""
    if unit == PRICED:
        return f"a cost of {amount(cost)} per case"
    return f"one {unit.replace('s per case', ' per case')}" if cost == 1 else f"{amount(cost)} {unit}"


def _whether_juries_pay(tables: AdviceTables) -> str:
    found = tables.answers[tables.answers["what"] == DIFFERENCE]
    kinds = set(tables.frontier["kind"])
    if found.empty:
        lacking = "single judge" if "single judge" not in kinds else "jury"
        return f"It is not shown whether a jury is worth using: there is no {lacking} among the arms."
    row = found.to_dict("records")[0]
    size = f"{_signed_interval(row)}, on {row['n']} held-out questions"
    if math.isnan(row["p"]):
        return (
            f"It is not shown whether a jury is worth using: {row['note'] or 'the difference is undefined'}."
        )
    if row["p"] >= LEVEL:
        return (
            "No jury is shown to be better than the best single judge: in agreement with people, the best jury's gain over the best single judge, both chosen on "
            f"other cases, is {size}" + ("." if math.isnan(row["high"]) else f"; a gain of more than {max(row['high'], 0):.3f} is unlikely.")
        )  # fmt: skip
    if row["value"] > 0 and not juries_pay(tables):
        return (
            f"No jury is shown to be worth using: the best jury agrees better with people than the best single judge, both chosen on other cases, by {size}, but is not shown to agree better "
            "than one constant answer."
        )  # fmt: skip
    if row["value"] > 0:
        return f"A jury is worth using: the best jury agrees better with people than the best single judge, both chosen on other cases, by {size}."
    return f"No jury is worth using: the best single judge agrees better with people than the best jury, both chosen on other cases; the jury's gain over the judge is {size}."


def _limits(tables: AdviceTables) -> list[str]:
    said = []
    for row in tables.power.head(1).to_dict("records"):
        if math.isnan(row["detectable"]) or not testable(tables.noise):
            continue
        said.append(
            f"With {row['n']} cases (or groups of cases) a true difference in score between {row['first']} and {row['second']} below {row['detectable']:.3f} is missed in more than "
            f"one study in five; to detect a difference of 0.02, {row['cases_for_0.02']:.0f} cases are needed."
        )  # fmt: skip
    if tables.unit == VOTES:
        said.append(
            "Not every juror's price is known, so cost is counted in votes. If all prices were known, another arm might be the cheapest."
        )
    for row in tables.answers[tables.answers["what"].str.startswith("optimism of the jury")].to_dict(
        "records"
    ):
        if row["value"] > 0.005:
            said.append(
                f"Scored on the cases it was chosen on, the best jury would look {row['value']:.3f} better than it is."
            )
    return said


def _next(tables: AdviceTables) -> list[str]:
    said = []
    everyone = tables.independence.head(1).to_dict("records")
    if everyone and everyone[0]["correlation"] >= TOGETHER:
        row = everyone[0]
        said.append(
            f"Try jurors of another kind before more of the same: jurors' errors correlate by {row['correlation']:.2f} on average, so {row['jurors']} jurors "
            f"are worth {row['effective']:.1f} independent jurors (Kish)."
        )  # fmt: skip
    chosen = tables.growth[tables.growth["how"] == "chosen"] if len(tables.growth) else tables.growth
    if (
        len(chosen) > 2
        and int(np.argmax(chosen["score"])) == len(chosen) - 1
        and tables.choices is None
        and juries_pay(tables)
    ):
        said.append(
            f"Try larger juries: the largest size that was tried, {chosen['size'].max()} jurors, agreed best with people."
        )
    if len(tables.jurors) and tables.choices is None:
        seated = _row(tables.frontier, "arm", tables.recommended)["jurors"].split(" + ")
        harmful = tables.jurors[(tables.jurors["shapley_high"] < 0) & ~tables.jurors["juror"].isin([*seated, tables.recommended])]  # fmt: skip
        if len(harmful):
            named = ", ".join(harmful.sort_values("shapley")["juror"].head(5))
            more = f" and {len(harmful) - 5} more" if len(harmful) > 5 else ""
            said.append(
                f"Leave out {named}{more}: on average over all juries, they lower the jury's agreement with people."
            )
    if len(tables.position):
        shaky = tables.position[tables.position["consistent"] < STEADY]
        if len(shaky):
            said.append(
                f"Ask about each pair in both orders: {len(shaky)} of {len(tables.position)} jurors answer more than one pair in ten "
                "differently when the order of its two texts is swapped."
            )
    if not said and not testable(tables.noise):
        said.append("Next, add cases of more groups (patients, sites), or more cases if they have no groups.")
    elif not said:
        said.append("Try more cases next, if a difference between arms that is too small for this study to detect would matter. Otherwise there is nothing more to try.")  # fmt: skip
    return said


def juries_pay(tables: AdviceTables) -> bool:
    """Whether a jury is shown to be better than the best single judge, and, where that is known, than one constant answer."""
    return _jury_sign(tables.answers) > 0 and not tables.over_constant <= 0


def _row(table: pd.DataFrame, column: str, value: str) -> Row:
    row: Row = table[table[column] == value].to_dict("records")[0]
    return row


def _with(value: float, low: float, high: float) -> str:
    return f"{value:.3f}" + ("" if math.isnan(low) else f" (95% interval {low:.3f} to {high:.3f})")


def _signed_interval(row: Row) -> str:
    ends = "" if math.isnan(row["low"]) else f" (95% interval {signed_number(row['low'], 3)} to {signed_number(row['high'], 3)})"  # fmt: skip
    return f"{signed_number(row['value'], 3)}{ends}"


_CREDIT = (
    "Agreement is the mean credit of an answer. On nominal and binary scales, the answer that people gave earns 1; another answer or no answer earns 0. On scales "
    "of numbers, the credit is 1 minus the answer's distance from the people's value, divided by the width of the scale (percent agreement with linear weights). "
    "On these scales of numbers, questions without an answer are left out."
)  # fmt: skip


def pool_methods(
    pool: Pool, parts: Sequence[Fold], counting: str, shares: Shares, *, largest: int, tested: bool, rule: Rule | None, draws: Draws,
    usual: tuple[float, float],
) -> tuple[str, ...]:  # fmt: skip
    """The methods of juries made of recorded jurors."""
    sampled = (
        f"sampled over {shares.orders} random orders in which jurors join a jury, half of them the reverse of the other half; the standard error is that of this sampling"
        if shares.orders
        else "computed over every possible jury"
    )
    return (
        f"{len(pool.jurors)} jurors answered {len(pool.truth)} questions on {pool.questions['case'].nunique()} cases. A jury's votes were counted by {counting}, as in a panel with "
        "a quorum of one (a single vote is enough). On a binary scale a tied vote gives no answer, which counts as wrong. An abstention is not a vote.",
        _credit_words(rule),
        f"For each size up to {largest}, the jury that agrees best with people was searched for. All juries of a size were tried if there are at most {EVERY}; otherwise the search was by forward "
        "selection of jurors, with exchanges of single jurors. " + _split_words(parts, pool.cluster, tested)
        + f" Within the cases that juries are chosen on, {INNER} inner folds choose the size of the jury; the single judge is chosen on the same cases. The naive figure is the agreement of the best "
        "jury on the cases it was chosen on. Costs are those of the jury chosen on all cases; seconds are those of its slowest member.",
        f"A juror's share is its Shapley value: what it adds to a jury's mean credit on average, {sampled}. A jury without jurors is taken to give the best constant answer to each attribute.",
        "Errors are wrong or missing answers on nominal and binary scales, and signed distances from the people's value on other scales. The effective number of jurors is "
        "n / (1 + (n - 1) r), where r is the mean correlation of errors. Participation is the squared sum of the eigenvalues of the matrix of these correlations, "
        "divided by the sum of the squared eigenvalues.",
        _interval_words(pool.cluster, draws),
        _power_words(usual),
    )  # fmt: skip


def arm_methods(
    shape: tuple[int, int], parts: Sequence[Fold], cluster: IntArray, tested: bool, rule: Rule | None, draws: Draws, usual: tuple[float, float],
    objective: str | None = None,
) -> tuple[str, ...]:  # fmt: skip
    """The methods of arms that deliberated; `objective` is what they are compared by, if not mean credit."""
    measured = _credit_words(rule) if objective is None else f"Arms are compared by their {objective} with people, averaged over attributes. {_reference_words(rule)}"  # fmt: skip
    questions, arms = shape
    return (
        f"{arms} arms answered {questions} questions.",
        measured,
        "The best arm, the best jury and the best single judge were each chosen on some cases and scored on other cases. "
        + _split_words(parts, cluster, tested),
        _interval_words(cluster, draws),
        _power_words(usual),
    )


def _split_words(parts: Sequence[Fold], cluster: IntArray, tested: bool) -> str:
    held = len(np.unique(cluster[held_rows(parts)]))
    if tested:
        return f"One test set of {held} cases or groups was held out."
    rounds = sum(len(fold.held_out) for fold in parts) // len(cluster)
    again = (
        f", {rounds} times in different folds; the credit of the case is the mean over these {rounds} times"
        if rounds > 1
        else ""
    )
    return f"Each case was held out in one of {len(parts) // rounds} folds that keep cases of one group together{again}."


def _credit_words(rule: Rule | None) -> str:
    return f"{_CREDIT} {_reference_words(rule)}"


def _reference_words(rule: Rule | None) -> str:
    return f"The people's value, which answers are compared with, is the {rule_words(rule)}."


def _interval_words(cluster: IntArray, draws: Draws) -> str:
    return (
        f"Intervals are 95%, by the jackknife over {len(np.unique(cluster))} cases or groups with Student's t (shares on the logit scale). Differences between arms are paired; the interval and the p value of a difference come from the "
        f"same t statistic. Below {LEAST_CLUSTERS} cases or groups no interval is given. Intervals of an arm chosen in folds are widened, because "
        f"folds share cases (Nadeau and Bengio 2003). Folds are drawn with seed {draws.seed}."
    )  # fmt: skip


def _power_words(usual: tuple[float, float]) -> str:
    effects = " and ".join(map(str, EFFECTS))
    mean = (
        ""
        if np.isnan(usual[0])
        else f" Only one pair of arms has scores that differ; between these two arms, a difference of {usual[0]:.3f} can be detected."
        if np.isnan(usual[1])
        else f" Over all pairs of arms that differ at all, a difference of {usual[0]:.3f} can be detected on average (SD {usual[1]:.3f})."
    )
    return (
        "A detectable difference is one that a two-sided test at the 5% level finds with 80% power. It is (1.96 + 0.84) s / sqrt(n), where s is the standard deviation of the paired difference by case "
        f"(Bedi et al. 2025, Appendix E). The table also gives how many cases are needed to detect differences of {effects}.{mean}"
    )  # fmt: skip
