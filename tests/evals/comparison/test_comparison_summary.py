"""The first page of a comparison's report: the question, the answer, one figure, the cost, how sure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from venire.evals.comparison.comparison import charged_unit, compare_evidence
from venire.evals.comparison.comparison_report import comparison_figures, comparison_page
from venire.evals.comparison.comparison_summary import comparison_first_page, comparison_summary
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.question import Question
from venire.rubrics.scale import Scale

SCALE = Scale.model_validate({"level": "ordinal", "anchors": dict.fromkeys(range(1, 6), "")})
COSTS = {
    "calls": 1,
    "tokens": 1,
    "seconds": 60.0,
    "seconds_per_case": 1.5,
    "abstentions": 0,
    "not_applicable": 0,
}


def evidence(
    cases: int, noise: dict[str, float], *, people: int = 3, hung: int = 0, mean: float = 3.0
) -> Evidence:
    rng = np.random.default_rng(5)
    quality = rng.normal(0, 1.2, cases)
    rows = []
    for name, off in {**noise, **{f"person {number}": 0.5 for number in range(people)}}.items():
        value = np.clip(np.rint(mean + quality + off * rng.normal(size=cases)), 1, 5)
        ids = [f"c{number}" for number in range(cases)]
        rows.append(pd.DataFrame({"case": ids, "rater": name, "attribute": "accurate", "value": value}))
    table = pd.concat(rows, ignore_index=True)
    person = table["rater"].str.startswith("person")
    costs = pd.DataFrame(
        [{"arm": arm, "cases": cases, "usd": np.nan if arm == "judge" else 0.4, "usd_per_case": 0.01, "hung": hung, **COSTS} for arm in noise]
    )  # fmt: skip
    about = pd.DataFrame(
        {"case": rows[0]["case"], "group": None, "system": None, "source_length": 9, "output_length": 9}
    )
    kinds = {name: "single judge" if name == "judge" else "jury" for name in noise}
    stops = pd.DataFrame(columns=["arm", "reason", "limit", "cases"])
    return Evidence(
        table[~person], table[person], {"accurate": Question(SCALE, "high")}, about, costs, stops, kinds
    )


def test_the_answer_names_the_nearest_arm_and_says_that_it_is_no_chance():
    comparison = compare_evidence(evidence(60, {"jury": 0.1, "judge": 2.0}), resamples=199)
    found = comparison_summary(comparison)
    off = {arm: each[OVERALL]["mae"].value for arm, each in comparison.agreement.items()}
    people = [value for arm, value in off.items() if comparison.kinds[arm] == "person"]

    assert f"it is {off['jury']:.2f} points away" in found.answer and f"judge is {off['judge']:.2f} points" in found.answer  # fmt: skip
    assert f"People are {min(people):.2f} to {max(people):.2f} points away" in found.answer
    assert f"best score is {off[comparison.floor]:.2f} points" in found.answer
    assert "at most 60 scores of each arm" in found.certainty
    (first,) = comparison_first_page(comparison, "rest").tables.values()
    rows = first.set_index("arm")
    for arm in ("jury", "judge", "person 0", comparison.floor):
        assert rows["mean abs error"][arm].startswith(f"{off[arm]:.2f}")
    assert rows["ICC(3,k)"]["jury"].startswith(f"{comparison.agreement['jury'][OVERALL]['icc3k'].value:.2f}")
    assert rows["seconds"].to_dict() == {"jury": "1.5", "judge": "1.5"} | {arm: "" for arm in rows.index if arm not in ("jury", "judge")}  # fmt: skip
    assert rows["tokens per case"]["jury"] == f"{1 / 60:.4g}"
    assert found.question.startswith("Which comes closest to the scores that 3 people gave")
    assert found.answer.startswith("jury comes closest: on average it is 0.")
    assert (
        "judge is 1." in found.answer
        and "the difference from jury is statistically significant" in found.answer
    )
    assert "People are 0." in found.answer
    assert "judge: at an unknown price" in found.cost and "jury: $0.0100 per case" in found.cost
    assert found.figure is not None


def test_a_constant_that_is_nearer_than_every_arm_is_said_to_be_so():
    ceiling = evidence(60, {"jury": 4.0, "judge": 5.0}, mean=5.5)
    found = comparison_summary(compare_evidence(ceiling, resamples=199))

    assert "comes closest" in found.answer
    assert "Giving every case the best score comes nearer: 0." in found.answer


def test_arms_alike_are_said_to_be_so_and_few_cases_to_be_few():
    alike = comparison_summary(
        compare_evidence(evidence(40, {"jury": 0.6, "judge": 0.6}, hung=3), resamples=199)
    )
    few = comparison_summary(compare_evidence(evidence(5, {"jury": 0.1, "judge": 2.0}), resamples=199))

    assert "not statistically significant" in alike.answer
    assert "which are not counted here: 6." in alike.certainty
    assert "it is unknown whether it differs from jury (no interval: 5 cases" in few.answer
    assert "too few cases or groups to compare any two arms" in few.certainty


@pytest.mark.parametrize("people", [1, 3])
def test_one_arm_and_one_person_make_a_page_too(people: int):
    found = compare_evidence(evidence(20, {"jury": 0.4}, people=people), resamples=50)
    page = comparison_page(found, comparison_figures(found))

    assert comparison_summary(found).question.startswith("How close does a jury of language models come")
    headings = page.partition("<main")[2]
    assert (
        headings.index('id="summary"')
        < headings.index("Appendix: the details")
        < headings.index("What can be said")
    )
    assert page.count('<details class="chapter">') <= 6


@pytest.mark.parametrize(
    ("usd", "tokens", "unit"),
    [([0.1, 0.0], [5, 5], "usd"), ([0.1, np.nan], [5, 0], "tokens"), ([0.0, 0.0], [0, 7], "tokens"), ([0.0, 0.0], [0, 0], "calls"), ([np.nan, 1.0], [np.nan, 7], "calls")],
)  # fmt: skip
def test_costs_are_in_dollars_only_where_every_price_is_known(
    usd: list[float], tokens: list[float], unit: str
):
    assert charged_unit(pd.DataFrame({"usd": usd, "tokens": tokens, "calls": [3, 4]})) == unit
