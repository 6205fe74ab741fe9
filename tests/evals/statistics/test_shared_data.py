"""Real labels, and the figures that go with them."""

import json

import numpy as np
import pandas as pd
import pytest
from shared_data import shared_file

from venire.evals.statistics.alpha import krippendorff_alpha
from venire.evals.statistics.chance import cohen_kappa, fleiss_kappa, percent_agreement
from venire.evals.statistics.classification import ClassAnswers, class_scores, yes_no_estimates
from venire.evals.statistics.correlation import kendall, spearman


def melted(frame: pd.DataFrame, **columns: str) -> pd.DataFrame:
    """Columns of a wide frame as raters."""
    renamed = frame.rename(columns={column: rater for rater, column in columns.items()})
    return renamed.assign(case=range(len(frame))).melt("case", list(columns), var_name="rater")


def class_answers(table: pd.DataFrame, said: str, truth: str) -> ClassAnswers:
    """Two raters' values, 0 to 2, on the cases of the table."""
    wide = table.pivot(index="case", columns="rater", values="value").astype(int)
    return ClassAnswers(wide[said].to_numpy(), wide[truth].to_numpy(), np.arange(len(wide)))


def same_answer(table: pd.DataFrame, first: str, second: str) -> float:
    return percent_agreement(table[table["rater"].isin([first, second])]).value


@pytest.fixture(scope="module")
def clinicians() -> pd.DataFrame:
    frame = pd.read_csv(shared_file("wer-is-unaware/primock_data_final_outcomes.csv"))
    return melted(frame, a="clinician_a", b="clinician_b", final="final_outcome", wer="old_wer")


def test_clinician_a_against_b(clinicians):
    both = clinicians[clinicians["rater"].isin(["a", "b"])]
    kappa = {w: cohen_kappa(both, weighting=w).value for w in ("identity", "linear", "quadratic")}
    alpha = [krippendorff_alpha(both, level=x).value for x in ("nominal", "ordinal", "interval")]

    assert same_answer(both, "a", "b") == 138 / 175
    assert [round(x, 4) for x in kappa.values()] == [0.5719, 0.6738, 0.7442]
    assert [round(x, 4) for x in alpha] == [0.5664, 0.7062, 0.7429]
    counts = class_answers(both, "b", "a").counts(3)[:, :3]
    assert counts.tolist() == [[103, 2, 1], [18, 3, 6], [8, 2, 32]]


def test_binary_kappa_of_clinicians():
    frame = pd.read_csv(shared_file("wer-is-unaware/primock_data_final_outcomes.csv"))
    table = melted(frame, a="clinician_a_combined", b="clinician_b_combined")

    assert round(cohen_kappa(table).value, 4) == 0.6316


@pytest.mark.parametrize(("rater", "value"), [("a", 0.8423), ("b", 0.7260)])
def test_clinicians_against_the_adjudicated_label(clinicians, rater, value):
    assert round(cohen_kappa(clinicians, raters=(rater, "final")).value, 4) == value


def test_word_error_rate_says_little_of_clinical_harm(clinicians):
    pair = ("wer", "final")

    assert round(spearman(clinicians, raters=pair).value, 3) == 0.151
    assert round(kendall(clinicians, raters=pair).value, 3) == 0.122


@pytest.fixture(scope="module")
def pandalm() -> pd.DataFrame:
    frame = pd.read_csv(shared_file("pandalm/testset_v1_with_judges.csv"))
    for judge in ("gpt35", "pandalm7b"):
        frame[judge] = pd.to_numeric(frame[judge], errors="coerce").fillna(0)
    annotators = frame[["annotator1", "annotator2", "annotator3"]]
    frame["majority"] = annotators.mode(axis=1)[0].where(annotators.nunique(axis=1) < 3, frame["annotator1"])
    columns = {"x": "annotator1", "y": "annotator2", "z": "annotator3", "gpt": "gpt35", "panda": "pandalm7b"}
    return melted(frame, **columns, majority="majority")


def test_pandalm_annotators(pandalm):
    pairs = [("x", "y"), ("x", "z"), ("y", "z")]
    kappas = sorted(round(cohen_kappa(pandalm, raters=pair).value, 4) for pair in pairs)

    assert kappas == [0.8520, 0.8617, 0.8789]
    assert round(fleiss_kappa(pandalm[pandalm["rater"].isin(["x", "y", "z"])]).value, 4) == 0.8642


@pytest.mark.parametrize(
    ("judge", "published"),
    [("panda", [0.6677, 0.5738, 0.5750, 0.5743]), ("gpt", [0.7107, 0.5879, 0.5736, 0.5755])],
)
def test_pandalm_judges(pandalm, judge, published):
    answers = class_answers(pandalm, judge, "majority")
    scores = class_scores(answers, 3)
    by_class = [
        yes_no_estimates(
            answers.said == each, answers.truth == each, answers.cluster, ("precision", "recall")
        )
        for each in range(3)
    ]
    macro = [np.mean([found[metric].value for found in by_class]) for metric in ("precision", "recall")]

    found = (scores["accuracy"].value, *macro, scores["f1_macro"].value)
    assert [round(x, 4) for x in found] == published


def test_llmbar_accuracy_and_positional_agreement_of_the_evaluators():
    judgements = pd.read_csv(shared_file("llmbar/judgements.csv"), low_memory=False)
    published = json.loads(shared_file("llmbar/published_statistics.json").read_text())
    keys = ["dataset", "model", "strategy"]
    groups = dict(list(judgements.groupby(keys)))
    wrong = []
    assert len(published) == 499
    # Every fourth, of each dataset some: as many ways to compute the same two shares.
    for figures in published[::4]:
        part = groups[tuple(figures[key] for key in keys)]
        # A blank is an answer here: an unparsed verdict is wrong, and two blanks agree.
        raters = {name: part[name].fillna(0) for name in ("label", "winner_noswap", "winner_swap")}
        table = melted(pd.DataFrame(raters), gold="label", first="winner_noswap", second="winner_swap")
        accuracy = np.mean([same_answer(table, side, "gold") for side in ("first", "second")])
        equal = same_answer(table, "first", "second")
        told = float(figures["correct_average"].rstrip("%")) / 100, _share(figures["equal"])
        if (accuracy, equal) != pytest.approx(told, abs=1e-12):
            wrong.append(figures)

    assert not wrong


def _share(text: str) -> float:
    """`10 / 54 = 18.5%` as a number."""
    top, bottom = text.partition("=")[0].split("/")
    return int(top) / int(bottom)
