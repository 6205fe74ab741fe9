"""Estimates of a run, held against scipy's and statsmodels' figures where every case has a label, and counted by hand where not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from written_transcripts import Votes, written_run

from venire import Case, Rubric, Store, VenireError
from venire.evals.inference.estimates import (
    ALONE,
    RunEstimate,
    RunEstimates,
    _Asked,
    _of_quantile,
    _of_systems,
    _strata_ways,
    estimates_answer,
    estimates_json,
    jury_mean,
    run_estimates,
)
from venire.evals.inference.labelling import Labelling
from venire.evals.inference.prediction_powered import Rectified, rectified_mean, rectified_quantile
from venire.evals.statistics.estimate import Estimate

RUBRIC = Rubric.model_validate(
    {
        "name": "mine",
        "version": 1,
        "scales": {
            "five": {"level": "ordinal", "anchors": {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}},
            "two": {"level": "binary", "anchors": {0: "no", 1: "yes"}},
            "kind": {"level": "nominal", "anchors": {"red": "r", "blue": "b", "green": "g"}},
        },
        "attributes": [
            {"name": "clear", "question": "Is it clear?", "scale": "five"},
            {"name": "safe", "question": "Is it safe?", "scale": "two"},
            {"name": "colour", "question": "Which?", "scale": "kind"},
        ],
    }
)
N = 40
HUNG = (38, 39)
PLACE = np.arange(N)
TRUTH = {
    "clear": 1 + (PLACE * 7 + PLACE // 5) % 5,
    "safe": (PLACE % 3 > 0).astype(int),
    "colour": np.array(["red", "blue", "green"])[(PLACE * PLACE + PLACE // 3) % 3],
}
JURY = {
    "clear": np.clip(TRUTH["clear"] + (PLACE % 4 == 0) - (PLACE % 7 == 0), 1, 5),
    "safe": np.where(PLACE % 5 == 0, 1 - TRUTH["safe"], TRUTH["safe"]),
    "colour": np.where(PLACE % 6 == 0, "blue", TRUTH["colour"]),
}
RIVAL = {
    "clear": np.clip(TRUTH["clear"] + (PLACE % 3 == 0), 1, 5),
    "safe": np.where(PLACE % 4 == 0, 1 - TRUTH["safe"], TRUTH["safe"]),
    "colour": np.where(PLACE % 4 == 0, "red", TRUTH["colour"]),
}
WORDS = 3 + PLACE % 7
CASES = [
    Case(
        id=f"c{n}",
        output="word " * WORDS[n],
        system="AB"[n % 2],
        group=f"g{n // 2}",
        metadata={"age": str(20 + n * n % 11) if n % 8 else "old", "half": n % 4 // 2},
    )
    for n in range(N)
]
AGE = np.array([np.nan if n % 8 == 0 else 20.0 + n * n % 11 for n in range(N)])


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def panel(values: dict[str, np.ndarray], *, hung: tuple[int, ...] = ()) -> Votes:
    """Two jurors of one mind; nobody votes on the cases that are hung."""
    return {
        f"c{n}": {
            juror: {} if n in hung else {name: plain(given[n]) for name, given in values.items()}
            for juror in ("x", "y")
        }
        for n in range(N)
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arms = {"jury": panel(JURY, hung=HUNG), "rival": panel(RIVAL, hung=(0,))}
    return written_run(tmp_path_factory.mktemp("estimates") / "run", RUBRIC, CASES, arms)


def people(*names: str, cases: np.ndarray | range = PLACE) -> pd.DataFrame:
    return pd.DataFrame(
        [(f"c{n}", "ana", name, plain(TRUTH[name][n])) for name in names for n in cases],
        columns=["case", "rater", "attribute", "value"],
    ).astype({"value": object})


def only(found: RunEstimates) -> RunEstimate:
    (estimate,) = found.estimates
    return estimate


def by_pairs(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, 2)


def test_where_every_case_has_a_label_the_mean_is_that_of_the_labels_and_its_error_that_of_groups(
    run: Path,
) -> None:
    found = only(run_estimates(run, people("clear")))
    y = TRUTH["clear"]
    # The error of a mean over clusters of two, as survey packages have it.
    sums = by_pairs(y - y.mean()).sum(axis=1)
    error = math.sqrt(20 / 19 * (sums**2).sum()) / N

    assert (found.attribute, found.of, found.cases, found.design) == ("clear", "mean", N, "random")
    assert found.found.estimate.value == found.found.labels_alone.value == pytest.approx(y.mean())
    assert found.found.labels_alone.n == N
    assert found.found.labels_alone.se == pytest.approx(error * math.sqrt(N / (N - 1)))
    assert 1 < found.found.estimate.low < y.mean() < found.found.estimate.high < 5
    assert found.sentence.endswith("every case has a label, so the jury adds nothing.")


def test_the_jury_alone_is_the_mean_of_its_verdicts_as_they_are(run: Path) -> None:
    found = only(run_estimates(run, people("clear"))).jury_alone
    scores = JURY["clear"][: HUNG[0]]

    assert (found.value, found.n, found.method) == (pytest.approx(scores.mean()), 38, ALONE)
    assert found.low < found.value < found.high
    loose = jury_mean(scores.astype(float), Labelling.random(np.zeros(38, dtype=bool)))
    low, high = stats.t.interval(0.95, 37, scores.mean(), stats.sem(scores))
    assert (loose.value, loose.se) == pytest.approx((scores.mean(), stats.sem(scores)))
    # Few large influences leave fewer degrees of freedom than there are cases.
    assert loose.low <= low + 1e-9 and loose.high >= high - 1e-9
    assert loose.confidence == 0.95 and loose.note == ""
    # Cases that are written down twice, in one group with themselves, are no more cases than they were.
    twice = Labelling.random(np.zeros(76, dtype=bool), np.repeat(np.arange(38), 2))
    doubled = jury_mean(np.repeat(scores.astype(float), 2), twice)
    assert (doubled.value, doubled.se) == pytest.approx((loose.value, loose.se), rel=0.01)
    for given, n in (([3.0, np.nan, np.nan], 1), ([np.nan] * 3, 0), ([3.0, 4, 5, 2], 4)):
        none = jury_mean(np.array(given), Labelling.random(np.zeros(len(given), dtype=bool)))
        assert not none.defined and (none.n, none.method) == (n, ALONE) and f"({n}): 5 are" in none.note
    assert jury_mean(
        np.array([3.0, 4.0, 4, 5, 3, np.nan]), Labelling.random(np.zeros(6, dtype=bool))
    ).value == pytest.approx(3.8)


LABELLED = PLACE[PLACE % 2 == 1][:15]


def tables(name: str, cases: np.ndarray) -> tuple[np.ndarray, np.ndarray, Labelling]:
    """Labels and scores as numbers, and which groups they are in, by hand."""
    labels = np.where(np.isin(PLACE, cases), TRUTH[name], np.nan)
    scores = np.where(np.isin(PLACE, HUNG), np.nan, JURY[name])
    return labels, scores, Labelling.random(np.isin(PLACE, cases), PLACE // 2)


def test_hung_cases_are_part_of_the_estimate_only_where_one_of_them_has_a_label(run: Path) -> None:
    labels, scores, labelling = tables("clear", LABELLED)
    judged = PLACE < 38
    without = run_estimates(run, people("clear", cases=LABELLED))
    few = Labelling.random(labelling.labelled[judged], labelling.cluster[judged])
    wanted = rectified_mean(labels[judged], scores[judged], few, ends=(1.0, 5.0))

    assert only(without).cases == 38 and only(without).found == wanted
    assert [note for note in without.notes if "2 verdicts" in note and "the other 38 cases" in note]
    assert [note for note in without.notes if "assumed to be drawn at random" in note]

    labelled = np.append(LABELLED, 39)
    labels, scores, labelling = tables("clear", labelled)
    with_one = run_estimates(run, people("clear", cases=labelled))
    assert only(with_one).cases == N
    assert only(with_one).found == rectified_mean(labels, scores, labelling, ends=(1.0, 5.0))
    assert [
        note
        for note in with_one.notes
        if "2 verdicts" in note and "the jury adds no information about these cases" in note
    ]
    assert not [note for note in run_estimates(run, people("clear"), arm="jury", attribute="clear").notes if "none of" in note]  # fmt: skip


def test_of_two_values_the_share_of_the_higher_and_of_words_each_ones_share(run: Path) -> None:
    found = run_estimates(run, people("safe", "colour", cases=range(38)))

    assert [(each.attribute, each.of) for each in found.estimates] == [
        ("safe", "share of 1"),
        ("colour", "share of blue"),
        ("colour", "share of green"),
        ("colour", "share of red"),
    ]
    for each, truth, jury in (
        (found.estimates[0], TRUTH["safe"][:38] == 1, JURY["safe"][:38] == 1),
        *((each, TRUTH["colour"][:38] == each.of.split()[-1], JURY["colour"][:38] == each.of.split()[-1]) for each in found.estimates[1:]),
    ):  # fmt: skip
        assert each.found.estimate.value == pytest.approx(truth.mean())
        assert each.jury_alone.value == pytest.approx(jury.mean())
        assert 0 <= each.found.estimate.low < truth.mean() < each.found.estimate.high <= 1
    few = only(run_estimates(run, people("safe", cases=LABELLED)))
    labels, scores, labelling = tables("safe", LABELLED)
    judged = PLACE < 38
    assert few.found == rectified_mean(
        labels[judged],
        scores[judged],
        Labelling.random(labelling.labelled[judged], labelling.cluster[judged]),
        ends=(0.0, 1.0),
    )
    # A case without a verdict is neither of a word nor not of it.
    labelled = np.append(LABELLED, 39)
    blue = run_estimates(run, people("colour", cases=labelled)).estimates[0]
    labels = np.where(np.isin(PLACE, labelled), TRUTH["colour"] == "blue", np.nan)
    scores = np.where(np.isin(PLACE, HUNG), np.nan, JURY["colour"] == "blue")
    wanted = rectified_mean(labels, scores, Labelling.random(np.isin(PLACE, labelled), PLACE // 2), ends=(0.0, 1.0))  # fmt: skip
    assert (blue.of, blue.found, blue.jury_alone.n) == ("share of blue", wanted, 38)


def test_each_attribute_is_estimated_from_the_raters_by_the_rule_that_is_asked_for(run: Path) -> None:
    """Three raters, one of whom always says 1: the median is the other two's, the mean is not."""
    alike = people("clear")
    three = pd.concat([alike, alike.assign(rater="ben"), alike.assign(rater="eve", value=1)])
    for rule, wanted in ((None, TRUTH["clear"]), ("median", TRUTH["clear"]), ("mean", (2 * TRUTH["clear"] + 1) / 3)):  # fmt: skip
        found = run_estimates(run, three, reference=rule)  # type: ignore[arg-type]
        assert only(found).found.estimate.value == pytest.approx(wanted.mean()) and found.arm == "jury"
    both = people("clear", "safe", cases=LABELLED)
    assert only(run_estimates(run, both, attribute="safe")).attribute == "safe"
    for asked in ({}, {"quantiles": (0.5,)}, {"against": "rival"}):
        found = run_estimates(run, both, **asked)  # type: ignore[arg-type]
        assert [each.attribute for each in found.estimates] == ["clear", "safe"]
        assert {note[:6] for note in found.notes if "2 verdicts" in note} == {"clear:", "safe: "}


def test_quantiles_and_slopes_stand_in_place_of_means(run: Path) -> None:
    asked = {"attribute": "clear", "quantiles": (0.25, 0.5, 0.39), "slopes": ("output_length", "age", "half")}
    found = run_estimates(run, people("clear"), **asked).estimates  # type: ignore[arg-type]
    assert [each.of for each in found] == ["quantile 0.25", "quantile 0.5", "quantile 0.39", "slope on output_length", "slope on age", "slope on half"]  # fmt: skip
    scores = JURY["clear"][:38]
    labels, all_scores, labelling = tables("clear", PLACE)
    for each, share in zip(found[:3], (0.25, 0.5, 0.39), strict=True):
        assert each.found.estimate.value == np.quantile(TRUTH["clear"], share, method="inverted_cdf")
        assert each.found == rectified_quantile(labels, all_scores, labelling, share)
        assert each.jury_alone.value == np.quantile(scores, share, method="inverted_cdf")
        assert (each.jury_alone.n, each.jury_alone.method) == (38, ALONE)
    for each, x in zip(found[3:], (WORDS.astype(float), AGE, PLACE % 4 // 2), strict=True):
        rated = ~np.isnan(x) & (PLACE < 38)
        people_fit = sm.OLS(TRUTH["clear"][rated], sm.add_constant(x[rated])).fit()
        jury_fit = sm.OLS(JURY["clear"][rated], sm.add_constant(x[rated])).fit()
        assert each.found.labels_alone.value == pytest.approx(people_fit.params[1])
        assert each.jury_alone.value == pytest.approx(jury_fit.params[1])
        assert each.found.labels_alone.n == each.jury_alone.n == rated.sum()
        assert each.jury_alone.method == ALONE
    assert all(math.isnan(each.jury_alone.low) and math.isnan(each.jury_alone.high) for each in found)
    silent = _of_quantile(_Asked("clear", "mean", labels, np.full(N, np.nan), labelling), 0.5)
    assert math.isnan(silent.jury_alone.value) and silent.found.estimate.defined


def test_a_slope_needs_labels_drawn_at_random_and_a_number_that_varies(run: Path) -> None:
    for column in ("height", "system"):
        with pytest.raises(VenireError, match=f"'{column}' is not a number in any case"):
            run_estimates(run, people("clear"), slopes=(column,))
    draw = pd.DataFrame({"case": [f"c{n}" for n in LABELLED], "probability": np.linspace(0.2, 0.8, 15), "stratum": "all", "design": "active", "arm": "jury", "attribute": "clear"})  # fmt: skip
    with pytest.raises(VenireError, match="drawn by the design active"):
        run_estimates(run, people("clear"), slopes=("age",), draw=draw)
    found = run_estimates(run, people("clear"), draw=draw)
    assert only(found).design == "active" and only(found).found.labels_alone.n == 15
    assert any("25 labelled cases are left out" in note for note in found.notes)


def test_a_stratified_draw_is_weighed_by_how_the_deliberation_it_was_made_by_went(
    run: Path, tmp_path: Path
) -> None:
    """On `clear` the first 20 cases are split; on `safe`, and in the other arm, nobody is."""
    split = {
        case: {"x": {"clear": 2, "safe": 1}, "y": {"clear": 4 if int(case[1:]) < 20 else 2, "safe": 1}}
        for case in (each.id for each in CASES)
    }
    whole = {case: {"x": {"clear": 3, "safe": 1}, "y": {"clear": 3, "safe": 1}} for case in split}
    two = Rubric.model_validate({**RUBRIC.model_dump(mode="json"), "attributes": RUBRIC.model_dump(mode="json")["attributes"][:2]})  # fmt: skip
    other = written_run(tmp_path / "run", two, CASES, {"first": split, "second": whole})
    drawn = [*range(12), *range(20, 26)]
    chance = [12 / 20] * 12 + [6 / 20] * 6
    draw = pd.DataFrame({"case": [f"c{n}" for n in drawn], "probability": chance, "stratum": "", "design": "stratified", "arm": "first", "attribute": "clear"})  # fmt: skip
    strata_means = [TRUTH["safe"][drawn[:12]].mean(), TRUTH["safe"][drawn[12:]].mean()]

    found = run_estimates(other, people("safe"), arm="first", attribute="safe", draw=draw)
    elsewhere = run_estimates(other, people("safe"), arm="second", attribute="safe", draw=draw)
    for each in (only(found), only(elsewhere)):
        assert each.design == "stratified"
        assert each.found.labels_alone.value == pytest.approx(np.mean(strata_means))
    unnamed = run_estimates(other, people("safe"), arm="second", attribute="safe", draw=draw.assign(arm=""))
    assert only(unnamed).design == "stratified"
    here = run_estimates(
        other, people("clear"), arm="first", attribute="clear", draw=draw.assign(arm="", attribute="")
    )
    assert only(here).design == "stratified"
    assert only(here).found.labels_alone.value == pytest.approx(np.mean([TRUTH["clear"][drawn[:12]].mean(), TRUTH["clear"][drawn[12:]].mean()]))  # fmt: skip
    # There nobody was split, so that cases of one stratum were drawn with unequal chances.
    own = run_estimates(other, people("safe"), arm="second", attribute="safe", draw=draw.assign(attribute=""))
    assert only(own).design == "active"


def test_one_systems_mean_less_anothers_pairs_the_cases_of_a_group(run: Path) -> None:
    found = only(run_estimates(run, people("clear"), systems=("A", "B")))
    gaps = by_pairs(TRUTH["clear"])[:, 0] - by_pairs(TRUTH["clear"])[:, 1]
    scores = np.where(PLACE < 38, JURY["clear"], np.nan)

    assert (found.of, found.cases) == ("A minus B", N)
    assert found.found.estimate.value == pytest.approx(gaps.mean())
    assert found.found.estimate.se == pytest.approx(stats.sem(gaps), rel=0.03)
    assert found.jury_alone.value == pytest.approx(np.nanmean(scores[::2]) - np.nanmean(scores[1::2]))
    assert (found.jury_alone.n, found.jury_alone.method) == (N, ALONE)
    assert math.isnan(found.jury_alone.low) and math.isnan(found.jury_alone.high)
    turned = only(run_estimates(run, people("clear"), systems=("B", "A")))
    assert turned.found.estimate.value == pytest.approx(-gaps.mean())
    shares = run_estimates(run, people("colour", cases=range(38)), systems=("A", "B")).estimates
    assert [each.of for each in shares] == [
        f"share of {word}, A minus B" for word in ("blue", "green", "red")
    ]
    with pytest.raises(VenireError, match="no case was written by the system 'C'") as refused:
        run_estimates(run, people("clear"), systems=("A", "C"))
    assert refused.value.remedy.endswith("A, B")
    with pytest.raises(VenireError) as refused:
        _of_systems(None, pd.DataFrame({"system": [None]}), ("A", "C"))  # type: ignore[arg-type]
    assert "`system`" in refused.value.remedy


@pytest.fixture(scope="module")
def numbered_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with other numbers for the two values and the three kinds, a third system, and no verdict on what B wrote."""
    scales = {**RUBRIC.model_dump(mode="json")["scales"], "two": {"level": "binary", "anchors": {1: "no", 2: "yes"}}, "kind": {"level": "nominal", "anchors": {2: "b", 9: "g", 10: "r"}}}  # fmt: skip
    rubric = Rubric.model_validate({**RUBRIC.model_dump(mode="json"), "scales": scales})
    cases = [case.model_copy(update={"group": None, "system": case.system if n < 30 else "C"}) for n, case in enumerate(CASES)]  # fmt: skip
    votes = panel({**JURY, "safe": 1 + JURY["safe"], "colour": numbered(JURY["colour"])}, hung=tuple(range(1, N, 2)))  # fmt: skip
    return written_run(tmp_path_factory.mktemp("numbered") / "run", rubric, cases, {"jury": votes})


def numbered(words: np.ndarray) -> np.ndarray:
    return np.array([{"blue": 2, "green": 9, "red": 10}[word] for word in words])


def test_a_system_without_a_verdict_has_no_jury_alone(numbered_run: Path) -> None:
    found = only(run_estimates(numbered_run, people("clear"), systems=("A", "B")))

    assert math.isnan(found.jury_alone.value) and found.cases == 30
    assert found.found.estimate.value == pytest.approx(
        TRUTH["clear"][:30:2].mean() - TRUTH["clear"][1:30:2].mean()
    )


def test_shares_of_numbers_that_stand_for_words_are_of_those_numbers(numbered_run: Path) -> None:
    given = people("safe", "colour")
    given["value"] = [1 + value if name == "safe" else numbered(np.array([value]))[0] for name, value in zip(given["attribute"], given["value"], strict=True)]  # fmt: skip
    found = run_estimates(numbered_run, given).estimates
    shares = [("share of 2", TRUTH["safe"] == 1, JURY["safe"] == 1), *((f"share of {number}", TRUTH["colour"] == word, JURY["colour"] == word) for word, number in (("blue", 2), ("green", 9), ("red", 10)))]  # fmt: skip

    assert [each.of for each in found] == [of for of, _, _ in shares]
    for each, (_, truth, jury) in zip(found, shares, strict=True):
        assert each.found.estimate.value == pytest.approx(truth.mean())
        assert each.jury_alone.value == pytest.approx(jury[::2].mean())


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("clear", lambda said, truth: np.abs(said.astype(float) - truth.astype(float))),
        ("safe", lambda said, truth: said != truth),
        ("colour", lambda said, truth: said != truth),
    ],
)
def test_how_much_further_from_people_one_arm_is_than_another(
    run: Path, name: str, error: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> None:
    both = PLACE[1:38]
    gap = error(JURY[name], TRUTH[name])[both].astype(float) - error(RIVAL[name], TRUTH[name])[both]
    found = only(run_estimates(run, people(name), against="rival"))

    assert found.of == "error of jury minus rival" and (found.cases, found.design) == (37, "random")
    assert found.found.estimate.value == pytest.approx(gap.mean())
    assert found.found.labels_alone.n == 37
    assert not found.jury_alone.defined and (found.jury_alone.n, found.jury_alone.method) == (37, ALONE)
    assert "unknown" in found.jury_alone.note
    turned = only(run_estimates(run, people(name), arm="rival", against="jury"))
    assert turned.found.estimate.value == pytest.approx(-gap.mean())

    # Where both say the same no label is needed: of 15 labels, those on differing verdicts are what counts.
    few = only(run_estimates(run, people(name, cases=LABELLED), against="rival"))
    differ = np.where(np.isin(PLACE, both), (JURY[name] != RIVAL[name]).astype(float), np.nan)
    labels = np.full(N, np.nan)
    labels[both] = gap
    labelled = np.isin(PLACE, LABELLED)
    judged = PLACE < 38
    wanted = rectified_mean(
        np.where(labelled, labels, np.nan)[judged],
        differ[judged],
        Labelling.random(labelled[judged], (PLACE // 2)[judged]),
        clip=(-math.inf, math.inf),
    )
    assert few.found.estimate.value == pytest.approx(wanted.estimate.value)
    assert few.found.power == pytest.approx(wanted.power)


def test_a_store_that_was_opened_before_stays_open(run: Path) -> None:
    store = Store.read(run)
    try:
        found = run_estimates(store, people("clear"), attribute="clear")
        assert only(found).cases == N and len(store.case_ids()) == N
    finally:
        store.release()


def made(value: float, *, n: int = 20, se: float = 0.1, alone: float = 0.2, cases: int = 100) -> RunEstimate:
    estimate = Estimate(value, value - 0.2, value + 0.2, n, "m", se=se)
    labels = Estimate(value + 0.25, value, value + 0.5, n, "labels alone", se=alone)
    return RunEstimate("clear", "mean", Rectified(estimate, labels, 0.5), Estimate(2.5, 2.4, 2.6, 100, ALONE), cases, "random")  # fmt: skip


def test_a_sentence_says_what_the_jury_is_worth_in_labels() -> None:
    assert made(3.0).sentence.startswith("clear, mean: 3.000 (2.800 to 3.200): ")
    assert made(3.0).sentence.endswith("20 labels and the jury's scores are as precise as 80 labels alone.")
    assert made(3.0, alone=0.1).sentence.endswith("the jury's scores add nothing to the 20 labels.")
    assert made(3.0, alone=0.1 * math.sqrt(1.02)).sentence.endswith("as precise as 20 labels alone.")
    assert made(3.0, n=100).sentence.endswith("every case has a label, so the jury adds nothing.")
    assert made(3.0, se=0.0).sentence.endswith("from 20 labels and the jury.")
    none = Estimate(math.nan, math.nan, math.nan, 3, "m", note="too few")
    assert (
        replace(made(3.0), found=Rectified(none, none, math.nan)).sentence
        == "clear, mean: no estimate can be made: too few."
    )


def test_the_document_and_the_table_have_the_same_numbers() -> None:
    none = Estimate(math.nan, math.nan, math.nan, 3, "m", note="too few")
    found = RunEstimates("jury", (made(3.0), replace(made(2.0), found=Rectified(none, none, math.nan))), ("a note",))  # fmt: skip
    document = estimates_json("here", found)

    assert (document["run"], document["arm"], document["notes"]) == ("here", "jury", ["a note"])
    assert document["sentences"] == [each.sentence for each in found.estimates]
    first, second = document["estimates"]
    assert (first["attribute"], first["of"], first["labels"], first["cases"], first["design"]) == ("clear", "mean", 20, 100, "random")  # fmt: skip
    assert (first["estimate"]["value"], first["estimate"]["low"], first["estimate"]["high"]) == (
        3.0,
        2.8,
        3.2,
    )
    assert first["labels_alone"]["high"] == 3.5 and first["jury_alone"]["value"] == 2.5
    assert first["power"] == 0.5 and first["worth_in_labels"] == pytest.approx(80)
    assert (
        second["power"] is None and second["worth_in_labels"] is None and second["estimate"]["value"] is None
    )

    section = estimates_answer(found)
    rows = section.tables[""].to_dict("records")
    assert (section.name, section.sentences, section.notes) == ("estimate", tuple(document["sentences"]), ("a note",))  # fmt: skip
    assert section.title
    assert list(rows[0]) == ["attribute", "estimate", "labels and jury", "labels alone", "jury alone", "labels", "equivalent labels"]  # fmt: skip
    assert (rows[0]["attribute"], rows[0]["estimate"]) == ("clear", "mean")
    shown = [rows[0][name] for name in ("labels and jury", "labels alone", "jury alone")]
    assert [words.split()[0] for words in shown] == ["3.00", "3.25", "2.50"]
    assert (rows[0]["labels"], rows[0]["equivalent labels"]) == (20, "80")
    assert rows[1]["equivalent labels"] == ""


@pytest.mark.parametrize(
    ("arm", "attribute", "made_by"),
    [(None, None, "mine/x"), ("other", "", "mine/x"), ("other", "y", "other/y"), ("", "y", "only/y")],
)
def test_strata_are_those_of_the_arm_and_attribute_that_the_draw_was_made_by(
    arm: str | None, attribute: str | None, made_by: str
) -> None:
    labels = SimpleNamespace(
        arm=lambda name: SimpleNamespace(name=name or "only"),
        of=lambda arm, attribute: pd.DataFrame({"case": ["c"], "way": [f"{arm}/{attribute}"]}),
    )
    draw = None if arm is None else pd.DataFrame({"case": ["c"], "arm": [arm], "attribute": [attribute]})

    assert _strata_ways(labels, SimpleNamespace(name="mine"), "x", draw).to_dict() == {"c": made_by}  # type: ignore[arg-type]
