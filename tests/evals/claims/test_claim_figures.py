"""A run's claims in figures: means over cases, verifiers beside each other, and word overlap, counted by hand on cards that are made up."""

from __future__ import annotations

import numpy as np
import pytest
from krippendorff import alpha as krippendorff
from scipy import stats

from venire.evals.claims.figures import (
    OverlapComparison,
    figures_json,
    figures_line,
    figures_table,
    labelled_figures,
    labelled_json,
    overlap_comparisons,
    overlap_json,
    recounted_options,
    run_figures,
    shared_words,
    verifier_figures,
    verifiers_json,
    verifiers_table,
)
from venire.evals.claims.labelled import LabelledClaims
from venire.evals.statistics.estimate import Estimate, undefined
from venire.orchestration.counting.claims import ClaimFindings, ClaimOutcome, claim_shares
from venire.orchestration.reading.claim_card import ClaimCard
from venire.personas.options import ClaimOptions
from venire.rubrics.case import Exhibit
from venire.rubrics.claim import Check, Claim
from venire.rubrics.ratings import Rating

WORD = {"S": "supported", "N": "not_supported", "A": "not_addressed", "-": None}
JURORS = ("x", "y", "z")


def outcome(number: int, votes: str, of: str = "output") -> ClaimOutcome:
    """A claim with a verdict of each verifier by its letter; the claim's own is that of more than half of them."""
    claim = Claim(id=f"{of}{number}", of=of, text=f"claim {number}")
    given = [WORD[letter] for letter in votes]
    known = [verdict for verdict in given if verdict]
    winner = next((v for v in dict.fromkeys(known) if 2 * known.count(v) > len(known)), None)
    checks = {
        juror: Check.model_validate({"claim": claim.id, "verdict": verdict, **({} if verdict else {"abstained": "unparsable"})})
        for juror, verdict in zip(JURORS, given, strict=True)
    }  # fmt: skip
    return ClaimOutcome(claim, winner, checks)  # type: ignore[arg-type]


def card(case: str, claims: list[str], back: list[str] | None = None, *, texts: tuple[str, str] = ("", ""), people: dict[str, float] | None = None) -> ClaimCard:  # fmt: skip
    own = tuple(outcome(n, votes) for n, votes in enumerate(claims))
    other = tuple(outcome(n, votes, "reference") for n, votes in enumerate(back or []))
    options = ClaimOptions(both_ways=back is not None)
    shares = [claim_shares([(o.claim, o.verdict) for o in some]) for some in (own, other)]
    findings = ClaimFindings(shares[0], None if back is None else shares[1], options)
    ratings = tuple(Rating(case, "ana", name, value) for name, value in (people or {}).items())
    exhibits = tuple(Exhibit(name=name, text=text) for name, text in zip(("output", "reference"), texts, strict=True))  # fmt: skip
    return ClaimCard(case, "arm", "", exhibits, options, findings, own, other, ratings)


CARDS = [
    card("a", ["SSS", "SSN", "NNN"], ["SSS", "NNA"]),
    card("b", ["SSS", "AAS"], ["SSS"]),
    card("c", ["NNS", "NAN", "SSS", "SSS"], ["AAA", "SSS", "SSS", "NNN"]),
    card("d", ["SNA", "-S-", "SNA"], ["SSS"]),
]
"""Of `d` one claim of three has a verdict: too few for a share."""


def test_means_are_over_cases_and_a_hung_case_is_in_none() -> None:
    found = run_figures(CARDS, {})

    assert (found.cases, found.hung, found.claims) == (3, 1, 3 + 2 + 4)
    assert found.claims_per_case == 3
    assert found.verdicts == {"supported": 2 + 1 + 2 + 1, "not_supported": 1 + 2, "not_addressed": 1, "undecided": 2}  # fmt: skip
    for name, by_case in {
        "addressed": [2 / 3, 1.0, 0.5],
        "all": [2 / 3, 0.5, 0.5],
        "uncontradicted": [2 / 3, 1.0, 0.5],
    }.items():
        assert found.shares[name].value == pytest.approx(np.mean(by_case))  # type: ignore[index]
        assert found.shares[name].n == 3  # type: ignore[index]
    precision, recall = [2 / 3, 0.5, 0.5], [0.5, 1.0, 0.5]
    f1 = [2 * p * r / (p + r) for p, r in zip(precision, recall, strict=True)]
    for name, values in {"precision": precision, "contradiction": [1 / 3, 0, 0.5], "f1": f1}.items():
        assert found.measures[name].value == pytest.approx(np.mean(values))
    assert list(found.measures) == ["precision", "contradiction", "recall", "f1"]
    one_way = run_figures([card("a", ["SSS"]), card("b", ["NNN"])], {})
    assert list(one_way.measures) == ["precision", "contradiction"] and one_way.shares["all"].value == 0.5
    none = run_figures([card("a", ["SNA"])], {})
    assert (none.cases, none.hung, none.claims_per_case) == (0, 1, None) and not none.shares["all"].defined


def test_groups_of_cases_are_left_out_whole() -> None:
    many = [card(str(n), ["SSS"] * (n % 4 + 1) + ["NNN"]) for n in range(12)]
    loose, grouped = run_figures(many, {}), run_figures(many, {str(n): n % 6 for n in range(12)})

    assert loose.shares["all"].value == grouped.shares["all"].value
    assert "12 cases" in loose.shares["all"].method and "6 groups" in grouped.shares["all"].method
    several = [card(str(n), ["SSS"] * (n % 4 + 1) + ["SNN", "NNS"]) for n in range(24)]
    for groups, left_out in (({}, "24 groups"), ({str(n): n % 12 for n in range(24)}, "12 groups")):
        verifiers, alpha = verifier_figures(several, groups)
        assert alpha is not None and left_out in alpha.method, "a case has several claims"
        assert all(left_out in each.agreement.method for each in verifiers)


def test_a_verifier_is_held_against_the_others_and_not_against_itself() -> None:
    verifiers, alpha = verifier_figures(CARDS, {})
    codes = {word: float(n) for n, word in enumerate(WORD.values()) if word}
    coded = np.array(
        [
            [codes.get(o.checks[juror].verdict or "", np.nan) for juror in JURORS]
            for each in CARDS
            for o in (*each.claims, *each.back)
        ]
    )

    assert [each.verifier for each in verifiers] == list(JURORS)
    for number, each in enumerate(verifiers):
        mine, others = coded[:, number], np.delete(coded, number, axis=1)
        shared = ~np.isnan(mine) & ~np.isnan(others).all(axis=1)
        same = np.where(np.isnan(others), np.nan, others == mine[:, None])
        assert each.claims == (~np.isnan(mine)).sum()
        assert each.agreement.n == shared.sum()
        assert each.agreement.value == pytest.approx(np.nanmean(same[shared], axis=1).mean())
        assert each.alpha_without.value == pytest.approx(krippendorff(others.T, level_of_measurement="nominal"))  # fmt: skip
    assert alpha is not None
    assert alpha.value == pytest.approx(krippendorff(coded.T, level_of_measurement="nominal"))
    assert verifier_figures([card("a", ["S--", "N--"])], {}) == ([], None)
    two, _ = verifier_figures([card(str(n), ["SS-", "NS-"]) for n in range(6)], {})
    assert [(each.claims, each.agreement.value, each.alpha_without.defined) for each in two] == [(12, 0.5, False)] * 2  # fmt: skip


def test_words_in_common_are_a_share_of_the_text_that_the_measure_is_of() -> None:
    """The output has seven words, the reference four; three of them are in both, `the` twice in either."""
    texts = card("a", ["SSS"], texts=("The cat and the dog sat down.", "the cat, the cow"))

    assert shared_words(texts, "precision") == pytest.approx(3 / 7)
    assert shared_words(texts, "recall") == pytest.approx(3 / 4)
    assert shared_words(texts, "f1") == pytest.approx(3 / 5.5)
    assert shared_words(texts, "contradiction") == pytest.approx(4 / 7)
    assert np.isnan(shared_words(card("a", ["SSS"]), "precision"))


def test_claims_and_words_are_correlated_with_the_mean_of_people() -> None:
    rng = np.random.default_rng(0)
    cards, values, overlaps, people = [], [], [], []
    for n in range(14):
        supported = int(rng.integers(0, 5))
        common = int(rng.integers(1, 5))
        score = supported + float(rng.normal(0, 1))
        made = card(str(n), ["SSS"] * supported + ["NNN"] * (5 - supported), texts=("w " * common + "q " * (6 - common), "w w w w z"), people={"precision": score})  # fmt: skip
        extra = (Rating(str(n), "ben", "precision", score + 1), Rating(str(n), "cy", "precision", "fine"))
        cards.append(ClaimCard(made.case, made.arm, "", made.texts, made.options, made.findings, made.claims, made.back, (*made.people, *extra)))  # fmt: skip
        values.append(supported / 5)
        overlaps.append(common / 6)
        people.append(score + 0.5)
    (found,) = overlap_comparisons(cards, {})

    assert found.measure == "precision" and found.claims.n == 14
    assert found.claims.value == pytest.approx(stats.pearsonr(values, people).statistic)
    assert found.words.value == pytest.approx(stats.pearsonr(overlaps, people).statistic)
    assert found.difference.value == pytest.approx(found.claims.value - found.words.value)
    left_out = [stats.pearsonr(np.delete(values, n), np.delete(people, n)).statistic - stats.pearsonr(np.delete(overlaps, n), np.delete(people, n)).statistic for n in range(14)]  # fmt: skip
    error = np.sqrt(13 / 14 * ((left_out - np.mean(left_out)) ** 2).sum())
    assert found.difference.se == pytest.approx(error)
    assert ("scores from claims agree better with people" in found.sentence) == (found.difference.low > 0)
    (grouped,) = overlap_comparisons(cards, {str(n): n // 2 for n in range(14)})
    assert all("7 groups" in each.method for each in (grouped.claims, grouped.words, grouped.difference))
    document = overlap_json(found)
    assert [document[name]["value"] for name in ("claims", "word_overlap", "difference")] == [found.claims.value, found.words.value, found.difference.value]  # fmt: skip
    (few,) = overlap_comparisons(cards[:3], {})
    assert not few.claims.defined and "fewer than 4 cases" in few.claims.note


def test_line_table_and_document_have_the_figures() -> None:
    found = run_figures(CARDS, {})
    document, table = figures_json(found, "addressed"), figures_table(found, "addressed")
    estimates = {**found.shares, **found.measures}

    assert figures_line(found) == "3 cases, 9 claims, 3.0 per case: 6 supported (50.0%), 3 not supported (25.0%), 1 not addressed (8.3%), 2 undecided (16.7%); 1 hung cases are not in the means"  # fmt: skip
    assert (document["cases"], document["hung"], document["claims"], document["share"]) == (
        3,
        1,
        9,
        "addressed",
    )
    assert {**document["shares"], **document["measures"]}.keys() == estimates.keys()
    names, _, means, intervals, cases, marks = ([str(cell) for cell in column.cells] for column in table.columns)  # fmt: skip
    assert names == list(estimates) and [name for name, mark in zip(names, marks, strict=True) if mark] == ["addressed"]  # fmt: skip
    for name, mean, interval, n in zip(names, means, intervals, cases, strict=True):
        told = {**document["shares"], **document["measures"]}[name]
        assert (told["value"], told["n"]) == (
            estimates[name].value,
            int(n),
        ) and mean == f"{told['value']:.3f}"
        assert interval == ("" if told["low"] is None else f"{told['low']:.3f} to {told['high']:.3f}")
    verifiers, alpha = verifier_figures(CARDS, {})
    told = verifiers_json(verifiers, alpha)
    assert alpha is not None and told["alpha"]["value"] == alpha.value
    assert {name: (each["claims"], each["agreement"]["value"], each["alpha_without"]["value"]) for name, each in told["verifiers"].items()} == {each.verifier: (each.claims, each.agreement.value, each.alpha_without.value) for each in verifiers}  # fmt: skip
    shown = verifiers_table(verifiers)
    assert [cell.split()[0] for cell in shown.columns[2].cells] == [f"{each.agreement.value:.2f}" for each in verifiers]  # fmt: skip


def test_what_is_counted_otherwise_changes_and_what_is_not_named_stays() -> None:
    jury = ClaimOptions(share="all", threshold=0.7, central_weight=2.0)

    assert recounted_options(jury) == jury
    assert recounted_options(jury, threshold=0.0) == jury.model_copy(update={"threshold": 0.0})
    other = recounted_options(jury, share="addressed", central_weight=3.0)
    assert (other.share, other.threshold, other.central_weight) == ("addressed", 0.7, 3.0)


def test_claims_are_said_to_agree_better_only_where_the_whole_interval_says_so() -> None:
    rho = Estimate(0.5, 0.2, 0.7, 20, "r")

    def said(low: float, high: float) -> str:
        gap = Estimate((low + high) / 2, low, high, 20, "r")
        return OverlapComparison("recall", rho, rho, gap).sentence.rpartition(": ")[2]

    assert said(0.1, 0.3) == "scores from claims agree better with people."
    assert said(-0.3, -0.1) == "word overlap agrees better with people."
    assert {said(-0.1, 0.3), said(-0.3, 0.1)} == {"neither is shown to agree better with people."}
    none = undefined("no texts", method="r")
    assert "word overlap cannot be compared with scores from claims (no texts)" in OverlapComparison("recall", rho, none, none).sentence  # fmt: skip
    assert OverlapComparison("recall", none, rho, none).sentence == "recall: no texts."


def test_labelled_claims_are_counted_by_the_first_person_and_unlabelled_ones_are_undecided() -> None:
    """Ana labels three of four claims and calls two supported; Ben calls every one not supported."""
    labelled = LabelledClaims()
    for case, claim, verdict in (("a", "c1", "supported"), ("a", "c2", "supported"), ("b", "c1", "not_supported"), ("b", "c2", None)):  # fmt: skip
        labelled.add(case, Claim(id=claim, of="output", text=claim), verdict, "ana")  # type: ignore[arg-type]
        labelled.add_check(case, claim, "not_supported", "ben")
    found = labelled_figures(labelled)

    assert found.verdicts == {"supported": 2, "not_supported": 1, "not_addressed": 0, "undecided": 1}
    assert (labelled.unlabelled, found.cases, found.shares["all"].value) == (1, 2, 0.5)
    assert not found.measures and labelled_json(labelled, found)["unlabelled"] == 1
