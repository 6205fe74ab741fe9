"""Severe errors: planted rates, a null, jurors who fail together, published counts, and what cannot be told."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from audit_worlds import LIKERT, clinicians_evidence, evidence, pandalm_evidence, ratings, votes
from scipy.integrate import quad
from scipy.stats import beta, binomtest, fisher_exact, hypergeom
from statsmodels.stats.multitest import multipletests

from venire import VenireError
from venire.evals.audits.audit import Severity
from venire.evals.audits.severe import (
    _chance_of_overlap,
    failing_juries,
    failing_pairs,
    lower_rates,
    severe_rates,
    severe_section,
)
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.question import Question
from venire.evals.ratings.score_tables import lay_marks
from venire.evals.statistics.draws import Draws
from venire.evals.statistics.proportion import chance_lower, credible, paired_p
from venire.rubrics.scale import Scale

SAFE = {"safe": LIKERT}


def row(table: pd.DataFrame, attribute: str = OVERALL, **wanted: str) -> pd.Series:
    kept = table[table["attribute"] == attribute] if "attribute" in table else table
    for column, value in wanted.items():
        kept = kept[kept[column] == value]
    (only,) = kept.index
    return kept.loc[only]


def missing(rates: dict[str, float], n: int, rng: np.random.Generator) -> Evidence:
    """People call the first half harmful; each arm calls some of it safe."""
    people = np.repeat([1.0, 4.0], n)
    arms = [
        ratings(name, np.where((people == 1) & (rng.random(2 * n) >= rate), 2.0, 4.0))
        for name, rate in rates.items()
    ]
    return evidence(SAFE, arms=arms, people=[ratings("Ana", people)])


def test_counts_by_hand() -> None:
    """People: 1, 2, 2, 3, 5. Harmful are the first three; two points better is a severe error, one is not."""
    world = evidence(
        SAFE,
        arms=[ratings("jury", [3.0, 3.0, 4.0, 5.0, 5.0])],
        people=[ratings("Ana", [1.0, 2.0, 2.0, 3.0, 5.0])],
    )
    found = row(severe_rates(lay_marks(world), Severity()), evaluator="jury")

    assert (found["harmful"], found["severe"]) == (3, 2)
    assert (found["low"], found["high"]) == pytest.approx(beta.ppf([0.025, 0.975], 3, 2))


def test_a_low_score_is_the_good_one_where_the_rubric_says_so() -> None:
    risk = {"safe": Question(LIKERT.scale, "low")}
    world = evidence(risk, arms=[ratings("jury", [3.0, 4.0, 1.0])], people=[ratings("Ana", [5.0, 5.0, 4.0])])
    found = row(severe_rates(lay_marks(world), Severity()), evaluator="jury")

    assert (found["harmful"], found["severe"]) == (3, 2)
    assert (
        Severity().limits(risk["safe"])
        == "a reference of 4 or above is harmful, and a score 2 points or more better is a severe error"
    )


def test_a_case_counts_once_whatever_its_attributes() -> None:
    two = {"safe": LIKERT, "clear": LIKERT}
    arms = [ratings("jury", [5.0, 5.0]), ratings("jury", [5.0, 1.0], "clear")]
    people = [ratings("Ana", [1.0, 1.0]), ratings("Ana", [1.0, 1.0], "clear")]
    rates = severe_rates(lay_marks(evidence(two, arms=arms, people=people)), Severity())

    assert (row(rates, evaluator="jury")["harmful"], row(rates, evaluator="jury")["severe"]) == (2, 2)
    assert row(rates, "clear", evaluator="jury")["severe"] == 1


def test_a_question_that_is_named_decides_alone_whether_a_case_has_a_severe_error() -> None:
    """On `safe` the jury errs in one case of two that are harmful; on `clear` in another, and that one is harmful alone."""
    two = {"safe": LIKERT, "clear": LIKERT}
    arms = [ratings("jury", [5.0, 1.0, 5.0]), ratings("jury", [1.0, 1.0, 5.0], "clear")]
    people = [ratings("Ana", [1.0, 1.0, 5.0]), ratings("Ana", [1.0, 5.0, 1.0], "clear")]
    marks = lay_marks(evidence(two, arms=arms, people=people))
    for attribute, harmful, severe in (("safe", 2, 1), ("clear", 2, 1), (None, 3, 2)):
        found = row(severe_rates(marks, Severity(attribute=attribute)), evaluator="jury")
        assert (found["harmful"], found["severe"]) == (harmful, severe), attribute
    told = severe_section(marks, Severity(attribute="safe"), Draws(0, 20)).sentences
    assert told[0].startswith("Of 2 cases that people call harmful on safe, jury called 1 safe: a rate of 0.50")  # fmt: skip


@pytest.mark.parametrize(("arm", "words"), [("careful", "fewer"), ("careless", "more")])
def test_people_from_whom_an_arm_is_told_apart_are_named(arm: str, words: str) -> None:
    """Of 60 harmful cases Ana and Ben each miss six, and not the same; Cy calls all of them harmful."""
    miss = {"Ana": range(6), "Ben": range(6, 12), "Cy": ()}
    people = [ratings(name, [4.0 if n in missed else 1.0 for n in range(60)]) for name, missed in miss.items()]  # fmt: skip
    scores = np.full(60, 1.0) if arm == "careful" else np.where(np.arange(60) < 30, 4.0, 1.0)
    told = severe_section(lay_marks(evidence(SAFE, arms=[ratings(arm, scores)], people=people)), Severity(), Draws(0, 20)).sentences  # fmt: skip

    against = [sentence for sentence in told if sentence.startswith(f"{arm} makes")]
    apart = "Ana, Ben" if arm == "careful" else "Ana, Ben, Cy"
    assert len(against) == 1 and f"{arm} makes {words} severe errors than {apart}, with probability" in against[0]  # fmt: skip


def test_planted_rates_are_recovered_and_told_apart() -> None:
    marks = lay_marks(missing({"careful": 0.1, "careless": 0.3}, 400, np.random.default_rng(1)))
    rates, lower = severe_rates(marks, Severity()), lower_rates(marks, Severity())

    for name, rate in (("careful", 0.1), ("careless", 0.3)):
        found = row(rates, evaluator=name)
        assert found["low"] < rate < found["high"] and found["harmful"] == 400
    assert row(lower, first="careful", second="careless")["chance_lower"] > 0.999
    told = severe_section(marks, Severity(), Draws(0, 50)).sentences
    assert any(words.startswith("careful makes fewer severe errors than careless") for words in told)
    turned = lay_marks(missing({"careless": 0.3, "careful": 0.1}, 400, np.random.default_rng(1)))
    told = severe_section(turned, Severity(), Draws(0, 50)).sentences
    assert any(words.startswith("careless makes more severe errors than careful, with probability 1.00") for words in told)  # fmt: skip


def test_equal_rates_are_rarely_told_apart() -> None:
    settled = 0
    for seed in range(40):
        marks = lay_marks(missing({"one": 0.15, "other": 0.15}, 80, np.random.default_rng(seed)))
        settled += not 0.025 < row(lower_rates(marks, Severity()), first="one")["chance_lower"] < 0.975

    assert settled <= 6


@pytest.mark.parametrize(
    ("first", "second"), [((0, 5), (3, 5)), ((7, 48), (10, 48)), ((40, 400), (90, 380)), ((2, 9), (2, 9))]
)
def test_the_posterior_probability_is_the_integral(first: tuple[int, int], second: tuple[int, int]) -> None:
    one, two = (beta(1 + k, 1 + n - k) for k, n in (first, second))
    integral, _ = quad(lambda x: two.pdf(x) * one.cdf(x), 0, 1, points=[first[0] / first[1]], limit=200)

    assert chance_lower(first, second) == pytest.approx(integral, abs=1e-7)
    assert credible(*first) == pytest.approx(one.ppf([0.025, 0.975]))


def test_mcnemar_is_the_exact_binomial_test() -> None:
    for alone, other in ((6, 9), (0, 4), (12, 3), (0, 0)):
        wanted = binomtest(alone, alone + other).pvalue if alone + other else 1.0
        assert paired_p(alone, other) == pytest.approx(wanted)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_most_jurors_are_more_than_half_and_pairs_fail_together_where_both_do(size: int) -> None:
    rng = np.random.default_rng(size)
    failed = rng.random((30, size)) < 0.45
    scores = np.where(failed, 4.0, 2.0)
    cast = [votes("jury", f"j{number}", scores[:, number]) for number in range(size)]
    marks = lay_marks(
        evidence(
            SAFE,
            arms=[ratings("jury", scores.mean(axis=1))],
            people=[ratings("Ana", np.ones(30))],
            ballots=cast,
        )
    )
    (found,) = failing_juries(marks, Severity(), Draws(0, 40)).to_dict("records")
    assert (found["harmful"], found["any"]) == (30, sum(any(each) for each in failed))
    assert found["most"] == sum(sum(each) > size / 2 for each in failed)

    pairs = failing_pairs(marks, Severity())
    assert len(pairs) == size * (size - 1) / 2
    for pair in pairs.to_dict("records"):
        one, two = (failed[:, int(pair[name].rpartition("j")[2])] for name in ("first", "second"))
        assert pair["both"] == (one & two).sum()
        assert pair["expected"] == pytest.approx(one.sum() * two.sum() / 30)
        assert pair["p"] == pytest.approx(hypergeom(30, one.sum(), two.sum()).sf((one & two).sum() - 1))


@pytest.mark.parametrize(("together", "most", "p"), [(True, 12, 1 / 201), (False, 0, 1.0)])
def test_the_data_are_one_of_the_deals_that_they_are_held_against(
    together: bool, most: int, p: float
) -> None:
    """Three jurors fail on the same twelve cases of two hundred, or each on twelve of its own."""
    scores = np.full((200, 3), 2.0)
    for juror in range(3):
        scores[np.arange(12) + (0 if together else 12 * juror), juror] = 4.0
    cast = [votes("jury", f"j{number}", scores[:, number]) for number in range(3)]
    world = evidence(SAFE, arms=[ratings("jury", scores.mean(axis=1))], people=[ratings("Ana", np.ones(200))], ballots=cast)  # fmt: skip
    (found,) = failing_juries(lay_marks(world), Severity(), Draws(0, 200)).to_dict("records")

    assert (found["most"], found["p"]) == (most, pytest.approx(p))
    assert found["low"] <= found["expected"] <= found["high"]


def test_a_case_that_one_juror_left_open_is_not_counted_for_the_jury() -> None:
    cast = [
        votes("jury", name, scores)
        for name, scores in (("one", [4.0, 4.0, 2.0]), ("two", [math.nan, 2.0, 2.0]))
    ]
    world = evidence(SAFE, arms=[ratings("jury", [4.0, 3.0, 2.0])], people=[ratings("Ana", np.ones(3))], ballots=[each.dropna() for each in cast])  # fmt: skip
    (found,) = failing_juries(lay_marks(world), Severity(), Draws(0, 20)).to_dict("records")

    assert (found["harmful"], found["any"], found["most"]) == (2, 1, 0)


def test_two_arms_are_told_apart_by_the_cases_on_which_one_alone_fails() -> None:
    one, two = np.array([4.0] * 9 + [2.0] * 11), np.array([2.0] * 2 + [4.0] * 8 + [2.0] * 10)
    world = evidence(
        SAFE, arms=[ratings("one", one), ratings("two", two)], people=[ratings("Ana", np.ones(20))]
    )
    found = row(lower_rates(lay_marks(world), Severity()), first="one", second="two")

    assert (found["severe_first"], found["severe_second"]) == (9, 8)
    assert (found["only_first"], found["only_second"]) == (2, 1)
    assert found["p"] == pytest.approx(binomtest(2, 3).pvalue)


def test_rates_are_corrected_overall_and_by_attribute_apart_and_pairs_of_jurors_arm_by_arm() -> None:
    rng = np.random.default_rng(3)
    asked = {"safe": LIKERT, "true": LIKERT}
    missed = {"one": 0.1, "two": 0.35, "three": 0.5}
    arms = [ratings(arm, np.where(rng.random(40) < rate, 4.0, 2.0), name) for arm, rate in missed.items() for name in asked]  # fmt: skip
    common = rng.random((40, 1)) < 0.3
    cast = [
        votes(arm, f"j{number}", np.where(wrong, 4.0, 2.0))
        for arm in ("one", "two")
        for number, wrong in enumerate(
            ((rng.random((40, 3)) < 0.25) | (common & (rng.random((40, 3)) < 0.6))).T
        )
    ]
    people = [ratings("Ana", np.ones(40), name) for name in asked]
    marks = lay_marks(evidence(asked, arms=arms, people=people, ballots=cast))
    lower, pairs = lower_rates(marks, Severity()), failing_pairs(marks, Severity())
    lower = lower[lower["p"].notna()]
    parts = [mine for _, mine in (*lower.groupby(lower["attribute"] == OVERALL), *pairs.groupby("arm"))]

    assert len(parts) == 4
    for family in parts:
        assert family["p_holm"].tolist() == pytest.approx(multipletests(family["p"], method="holm")[1])
        assert (family["p"] < family["p_holm"]).any()


def jurors(shared: float, n: int, rng: np.random.Generator) -> Evidence:
    """Three jurors who each miss about a fifth; the more is `shared`, the more on the same cases."""
    latent = math.sqrt(shared) * rng.normal(0, 1, (n, 1)) + math.sqrt(1 - shared) * rng.normal(0, 1, (n, 3))
    scores = np.where(latent > 0.84, 4.0, 2.0)
    cast = [votes("jury", f"j{number}", scores[:, number]) for number in range(3)]
    return evidence(
        SAFE, arms=[ratings("jury", scores.mean(axis=1))], people=[ratings("Ana", np.ones(n))], ballots=cast
    )


def test_jurors_who_fail_together_are_found_and_others_are_not() -> None:
    together = lay_marks(jurors(0.8, 120, np.random.default_rng(2)))
    (found,) = failing_juries(together, Severity(), Draws(0, 400)).to_dict("records")
    assert found["p"] < 0.01 and found["most"] > 2 * found["expected"]
    pairs = failing_pairs(together, Severity())
    assert len(pairs) == 3 and (pairs["p_holm"] < 0.05).all() and (pairs["both"] > pairs["expected"]).all()

    claims = [
        failing_juries(lay_marks(jurors(0.0, 80, np.random.default_rng(seed))), Severity(), Draws(0, 200))["p"][0]
        for seed in range(25)
    ]  # fmt: skip
    assert sum(p < 0.05 for p in claims) <= 4


def test_the_pairs_p_is_fishers() -> None:
    marks = lay_marks(jurors(0.5, 60, np.random.default_rng(5)))
    found = failing_pairs(marks, Severity()).iloc[0]
    one, two = (marks.table[found[name]].to_numpy() > 0.5 for name in ("first", "second"))
    cells = [[(one & two).sum(), (one & ~two).sum()], [(~one & two).sum(), (~one & ~two).sum()]]

    assert found["p"] == pytest.approx(fisher_exact(cells, alternative="greater").pvalue)
    assert found["phi"] == pytest.approx(np.corrcoef(one, two)[0, 1])


def test_a_person_is_held_against_the_others() -> None:
    people = {"Ana": [1.0, 1.0], "Ben": [1.0, 1.0], "Chidi": [4.0, 1.0]}
    world = evidence(
        SAFE,
        arms=[ratings("jury", [5.0, 5.0])],
        people=[ratings(name, given) for name, given in people.items()],
    )
    rates = severe_rates(lay_marks(world), Severity())

    assert [row(rates, evaluator=name)["severe"] for name in people] == [0, 0, 1]
    assert row(rates, evaluator="Ana")["harmful"] == 1, "without Ana, the median of 1 and 4 is no harm"


def test_a_second_panel_is_an_evaluator_of_its_own() -> None:
    world = evidence(
        SAFE,
        arms=[ratings("jury", [1.0, 5.0, 1.0])],
        people=[ratings("Ana", [1.0, 1.0, 1.0])],
        rescored=ratings("again", [4.0, 4.0, 1.0]),
    )
    marks = lay_marks(world)
    rates = severe_rates(marks, Severity())

    assert row(rates, evaluator="re-score panel")["severe"] == 2
    assert row(rates, evaluator="jury")["severe"] == 1 and marks.people == ("Ana",)


@pytest.mark.parametrize(
    ("arms", "people", "told"),
    [
        ([3.0, 4.0], [4.0, 5.0], "According to people, none of the judged cases is harmful"),
        ([1.0, 1.0], [1.0, 1.0], "Of 2 cases that people call harmful, jury called 0 safe"),
        ([math.nan, math.nan], [1.0, 1.0], "According to people, none of the judged cases is harmful"),
    ],
)
def test_what_cannot_be_told_is_said(arms: list[float], people: list[float], told: str) -> None:
    world = evidence(SAFE, arms=[ratings("jury", arms)], people=[ratings("Ana", people)])
    section = severe_section(lay_marks(world), Severity(), Draws(0, 20))

    assert any(words.startswith(told) for words in section.sentences)


def test_a_juror_with_one_score_and_words_without_order_are_no_failure() -> None:
    colour = Question(Scale.model_validate({"level": "nominal", "anchors": {"red": "", "blue": ""}}), "high")
    world = evidence(
        {"safe": LIKERT, "colour": colour},
        arms=[ratings("jury", [3.0, 3.0, 3.0])],
        people=[ratings("Ana", [1.0, 2.0, 1.0])],
        ballots=[votes("jury", "steady", [3.0, 3.0, 3.0]), votes("jury", "other", [1.0, 5.0, 3.0])],
    )
    marks = lay_marks(world)

    assert "colour" in marks.notes[0]
    pair = failing_pairs(marks, Severity()).iloc[0]
    assert math.isnan(pair["p"]) or pair["harmful"] == 3
    assert severe_section(marks, Severity(), Draws(0, 20)).sentences


@pytest.mark.parametrize("limits", [(-0.1, 0.5), (1.0, 0.5), (0.25, 0.0), (0.25, 1.5)])
def test_limits_that_are_no_shares_are_refused(limits: tuple[float, float]) -> None:
    with pytest.raises(VenireError, match="not a share of the scale"):
        Severity(*limits)


def test_clinicians_and_the_adjudicated_label() -> None:
    """Of 48 utterances adjudicated as significant, a called 7 less than that and b 10; they did not miss the same."""
    marks = lay_marks(clinicians_evidence())
    rates = severe_rates(marks, Severity())

    assert [(row(rates, evaluator=name)["severe"], row(rates, evaluator=name)["harmful"]) for name in ("clinician a", "clinician b", "layman")] == [
        (7, 48), (10, 48), (6, 48),
    ]  # fmt: skip
    pair = failing_pairs(marks, Severity()).iloc[0]
    assert pair["both"] == 1 and pair["p"] > 0.5


def test_pandalm_judges_fail_together() -> None:
    """422 pairs in which annotators prefer the first answer, as published; a severe error is a full reversal."""
    marks = lay_marks(pandalm_evidence())
    severity = Severity(margin=1.0)
    rates = severe_rates(marks, severity)

    assert [(row(rates, evaluator=name)["severe"], row(rates, evaluator=name)["harmful"]) for name in ("gpt35", "pandalm7b", "both")] == [
        (71, 422), (84, 422), (31, 422),
    ]  # fmt: skip
    (found,) = failing_juries(marks, severity, Draws(0, 500)).to_dict("records")
    assert (
        found["most"] == 31
        and found["expected"] == pytest.approx(71 * 84 / 422, abs=0.5)
        and found["p"] < 0.01
    )


@pytest.mark.parametrize(
    ("both", "n", "k", "m"), [(0, 10, 4, 5), (3, 10, 4, 5), (4, 5, 4, 5), (30, 400, 90, 100)]
)
def test_the_chance_of_common_failures_is_hypergeometric(both, n, k, m) -> None:
    assert _chance_of_overlap(both, n, k, m) == pytest.approx(hypergeom.sf(both - 1, n, k, m), abs=1e-12)
