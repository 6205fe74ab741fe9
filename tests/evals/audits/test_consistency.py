"""Internal consistency: correlations are scipy's, a planted halo is found, and no halo is not."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from audit_worlds import LIKERT, WIDE, evidence, ratings, votes
from scipy.stats import spearmanr

from venire.evals.audits.consistency import PEOPLE, _sentence, consistency_section, correlations, halo
from venire.evals.ratings.question import Question
from venire.evals.ratings.score_tables import Marks, lay_marks
from venire.evals.report.html import svg

NAMES = ("accurate", "clear", "brief")
ASKED = dict.fromkeys(NAMES, WIDE)


def table(rater: str, scores: np.ndarray) -> list[pd.DataFrame]:
    return [ratings(rater, scores[:, column], name) for column, name in enumerate(NAMES)]


def world(strength: float, *, n: int = 80, seed: int = 0) -> Marks:
    """Cases whose attributes share a little; the arm adds one impression to all of them."""
    rng = np.random.default_rng(seed)
    truth = 0.6 * rng.normal(0, 1, (n, 1)) + rng.normal(0, 1, (n, 3))
    arm = truth + strength * rng.normal(0, 1, (n, 1)) + rng.normal(0, 0.4, (n, 3))
    people = truth + rng.normal(0, 0.4, (n, 3))
    return lay_marks(evidence(ASKED, arms=table("jury", arm), people=table("Ana", people)))


def test_the_correlations_are_scipys() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(1, 6, (50, 3)).astype(float)
    scores[::7, 1] = math.nan
    found = correlations(lay_marks(evidence(ASKED, arms=table("jury", scores)))).to_dict("records")

    for row in found:
        pair = scores[:, [NAMES.index(row["first"]), NAMES.index(row["second"])]]
        pair = pair[~np.isnan(pair).any(axis=1)]
        assert row["n"] == len(pair)
        assert row["spearman"] == pytest.approx(spearmanr(pair[:, 0], pair[:, 1]).statistic)


def test_a_risk_is_turned_before_it_is_correlated() -> None:
    asked = {"accurate": LIKERT, "risk": Question(LIKERT.scale, "low")}
    up, down = [1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0]
    marks = lay_marks(evidence(asked, arms=[ratings("jury", up, "accurate"), ratings("jury", down, "risk")]))

    assert correlations(marks)["spearman"].tolist() == [1.0]


def test_a_halo_is_found_and_none_is_not() -> None:
    planted = halo(world(1.5)).set_index("evaluator").loc["jury"]
    assert planted["difference"] > 0.2 and planted["p_holm"] < 0.01 and planted["low"] > 0

    claims = sum(halo(world(0.0, seed=s))["p"][0] < 0.05 for s in range(16))
    assert claims <= 3


def test_a_person_is_held_against_the_others_and_the_distance_is_of_the_correlations() -> None:
    rng = np.random.default_rng(8)
    given = {name: rng.integers(1, 6, (30, 3)).astype(float) for name in ("jury", "Ana", "Ben")}
    given["jury"][:4] = math.nan
    world = evidence(ASKED, arms=table("jury", given["jury"]), people=[*table("Ana", given["Ana"]), *table("Ben", given["Ben"])])  # fmt: skip
    found = halo(lay_marks(world)).set_index("evaluator")

    def rhos(scores: np.ndarray, known: np.ndarray) -> np.ndarray:
        pairs = [scores[~np.isnan(known[:, [i, j]]).any(axis=1)][:, [i, j]] for i, j in ((0, 1), (0, 2), (1, 2))]  # fmt: skip
        return np.array([spearmanr(pair[:, 0], pair[:, 1]).statistic for pair in pairs])

    for name, others in (("jury", (given["Ana"] + given["Ben"]) / 2), ("Ana", given["Ben"]), ("Ben", given["Ana"])):  # fmt: skip
        own, theirs = rhos(given[name], given[name]), rhos(others, given[name])
        row = found.loc[name]
        assert (row["mean"], row["people"]) == pytest.approx((own.mean(), theirs.mean()))
        assert row["apart"] == pytest.approx(np.sqrt(((own - theirs) ** 2).mean()))
        assert row["people_answers"] == (2 if name == "jury" else 1) and row["answers"] == 1
    assert "not tested: " in found.loc["jury", "note"] and np.isnan(found.loc["jury", "p"])
    assert np.isfinite(found.loc["Ana", "p"])


def test_peoples_reference_is_of_as_many_answers_as_most_of_their_scores() -> None:
    """Ben rated one case in four: the others are Ana's alone, as each of the arm's scores is one answer."""
    rng = np.random.default_rng(8)
    ana, ben = rng.normal(0, 1, (2, 40, 3))
    ben[np.arange(40) % 4 > 0] = math.nan
    arm = ana + 1.5 * rng.normal(0, 1, (40, 1))
    marks = lay_marks(evidence(ASKED, arms=table("jury", arm), people=[*table("Ana", ana), *table("Ben", ben)]))  # fmt: skip
    row = halo(marks).set_index("evaluator").loc["jury"]

    assert (row["answers"], row["people_answers"]) == (1, 1) and row["p"] < 0.05


def test_jurors_are_named_where_their_p_is_small_after_correction(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {
        "kind": "juror",
        "mean": 0.6,
        "people": 0.3,
        "difference": 0.3,
        "low": 0.1,
        "high": 0.5,
        "note": "",
    }
    found = pd.DataFrame([{**row, "evaluator": "sure", "p": 0.001, "p_holm": 0.002}, {**row, "evaluator": "chance", "p": 0.04, "p_holm": 0.08}])  # fmt: skip
    monkeypatch.setattr("venire.evals.audits.consistency.halo", lambda marks: found)

    (told,) = consistency_section(world(0.0, n=9)).sentences
    assert told.startswith("Attributes correlate more in sure's scores")


def test_the_summary_is_the_mean_of_the_table() -> None:
    marks = world(0.5)
    found = correlations(marks).groupby("evaluator")["spearman"].mean()
    row = halo(marks).iloc[0]

    assert row["mean"] == pytest.approx(found["jury"]) and row["people"] == pytest.approx(found[PEOPLE])
    assert row["difference"] == pytest.approx(found["jury"] - found[PEOPLE])


def test_each_juror_has_its_matrix_and_the_section_draws_them() -> None:
    marks = world(1.5)
    rng = np.random.default_rng(1)
    cast = [
        votes("jury", seat, rng.normal(0, 1, 80), attribute=name) for seat in ("one", "two") for name in NAMES
    ]
    both = lay_marks(evidence(ASKED, arms=table("jury", rng.normal(0, 1, (80, 3))), ballots=cast))
    assert {"jury: one", "jury: two"} <= set(correlations(both)["evaluator"])

    section = consistency_section(marks)
    assert "which is what a halo effect looks like" in section.sentences[0]
    assert svg(*section.figures.values()).count("people&#x27;s reference") == 1


def test_an_attribute_that_people_never_rated_and_a_juror_with_one_score() -> None:
    rng = np.random.default_rng(2)
    scores = rng.integers(1, 6, (20, 3)).astype(float)
    flat = [votes("jury", "flat", np.full(20, 3.0), attribute=name) for name in NAMES]
    other = [votes("jury", "other", scores[:, k], attribute=name) for k, name in enumerate(NAMES)]
    marks = lay_marks(
        evidence(ASKED, arms=table("jury", scores), people=table("Ana", scores)[:2], ballots=[*flat, *other])
    )
    section = consistency_section(marks)

    assert "attributes not compared, because no person rated them: brief" in section.notes
    silent = section.tables["correlations"].set_index("evaluator").loc["jury: flat"]
    assert (
        silent["spearman"].isna().all() and silent["note"].str.contains("the same value for every case").all()
    )
    assert section.tables["halo"].set_index("evaluator").loc["jury: flat", "note"]


def test_only_cases_that_both_scored_are_counted() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(3, 1, (40, 3))
    part = np.where(np.arange(40)[:, None] < 15, scores + rng.normal(0, 1, (40, 3)), np.nan)
    marks = lay_marks(evidence(ASKED, arms=table("jury", part), people=table("Ana", scores)))

    assert halo(marks).set_index("evaluator").loc["jury", "n"] == 15


def test_one_attribute_and_nobody_to_compare_with_are_said() -> None:
    alone = lay_marks(evidence({"safe": LIKERT}, arms=[ratings("jury", [1.0, 2.0, 3.0])]))
    assert "needs two" in consistency_section(alone).sentences[0]
    only = world(1.0, n=9)
    found = halo(only).set_index("evaluator")
    assert found.loc["Ana", "note"] == "no other person rated these cases" and found.loc["Ana", "n"] == 0
    unrated = lay_marks(evidence(ASKED, arms=table("jury", np.random.default_rng(0).normal(0, 1, (9, 3)))))
    assert "no person rated the cases" in consistency_section(unrated).sentences[0]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, "correlate more in jury's scores than in people's, which is what a halo effect looks like"),
        ({"difference": -0.3}, "correlate less in jury's scores than in people's"),
        ({"mean": 0.3, "people": 0.0}, "correlate more in jury's scores than in people's, which is what a halo"),
        ({"mean": 0.05, "people": -0.2}, "correlate slightly more in jury's scores than in people's, but too weakly"),
        ({"p_holm": 0.05}, "not shown to correlate more or less in jury's scores"),
        ({"p_holm": math.nan}, "not shown to correlate more or less in jury's scores"),
        ({"difference": math.nan}, "internal consistency cannot be compared with people's (few)"),
    ],
)  # fmt: skip
def test_what_is_said_of_an_evaluator_follows_from_its_difference_and_p(changed: dict[str, float], told: str) -> None:  # fmt: skip
    row = {"evaluator": "jury", "mean": 0.6, "people": 0.3, "difference": 0.3, "low": 0.1, "high": 0.5, "p_holm": 0.01, "note": "few"} | changed  # fmt: skip
    sentence = _sentence(row)

    assert told in sentence
    if not math.isnan(row["difference"]):
        assert f"mean rho {row['mean']:.2f} between attributes, against {row['people']:.2f} in people's" in sentence  # fmt: skip
        assert ("Holm-corrected" in sentence) == (not math.isnan(row["p_holm"]))
