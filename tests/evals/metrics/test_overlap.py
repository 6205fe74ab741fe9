"""Error rates and overlap: the paper's table, numbers by hand, other programs, odd texts, and the missing extra."""

from __future__ import annotations

import importlib.util
import json
import math
import random
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import sentence_bleu
from rouge_score.rouge_scorer import RougeScorer

from venire import Rubric, VenireError
from venire.cli import main
from venire.evals.metrics import metric as metric_module
from venire.evals.metrics.measuring import (
    MeasuredMetric,
    PeopleLabels,
    TextPair,
    measure,
    people_labels,
    read_pairs,
    risk_table,
    track,
)
from venire.evals.metrics.metric import chosen_metrics
from venire.evals.metrics.normalisation import load_normalisation
from venire.evals.metrics.overlap import corpus_errors, rouge_l
from venire.rubrics.errors import MissingExtra

TWO = [
    TextPair(
        "A",
        "Not throat, but I can , yeah, I can I can definitely feel something in the lips, yeah.",
        "not so but i can i yeah i can i can definitely feel something in the lips yeah",
    ),
    TextPair("B", "Uh, no, no, been feeling fine actually.", "no no it's sitting fine actually"),
]
PUBLISHED = {
    "wer": (0.1176, 0.3333), "cer": (0.0875, 0.2500), "mer": (0.1111, 0.3333), "wil": (0.1634, 0.5556),
    "bleu1": (0.8889, 0.6667), "bleu2": (0.8245, 0.5164), "bleu3": (0.7760, 0), "bleu4": (0.7277, 0),
    "rouge1": (0.9143, 0.6667), "rouge2": (0.7879, 0.4000), "rougeL": (0.9143, 0.6667),
    "chrf": (0.8387, 0.5767), "chrf++": (0.8459, 0.5659), "minilm": (0.7402, 0.5003),
    "meteor": (0.9214, 0.6250),
}  # fmt: skip
WORDS = (
    *("pain", "no", "the", "my", "b12", "21st", "1,000", "naïve", "痛み", "שלום"),
    *("café", "2.5", "-3", "(hi)", "don't", "a", "I", "ok", "...", "İstanbul"),
)
PACKAGED = [name for name in PUBLISHED if name not in ("minilm", "meteor")]


def values(name: str, pairs: list[tuple[str, str]]) -> list[float]:
    """A metric's value of each output and reference, as they are."""
    (metric,) = chosen_metrics([name])
    return list(next(iter(metric.measure(pairs, None).values())))


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_papers_two_examples(name: str) -> None:
    try:
        (measured,) = measure(TWO, chosen_metrics([name]), normal=load_normalisation("asr-en"))
    except MissingExtra as missing:
        pytest.skip(missing.problem)
    assert [measured.values[case] for case in "AB"] == pytest.approx(PUBLISHED[name], abs=5e-5)


def test_error_rates_by_hand() -> None:
    # b replaced and e added, three words kept; c replaced and d dropped, two kept.
    pair = [("a x c  d\te", "a b c d"), ("a b z", "a b c d")]

    assert values("wer", pair) == [pytest.approx(2 / 4), pytest.approx(2 / 4)]
    assert values("mer", pair) == [pytest.approx(2 / 5), pytest.approx(2 / 4)]
    assert values("wil", pair) == [pytest.approx(1 - 3 / 4 * 3 / 5), pytest.approx(1 - 2 / 4 * 2 / 3)]
    assert values("cer", [("a  b", "a b"), ("ab", "a b")]) == [0, pytest.approx(1 / 3)]


@pytest.mark.parametrize("name", PACKAGED)
def test_a_text_without_words_has_no_value_as_a_reference_and_the_worst_as_an_output(name: str) -> None:
    nothing, blank, silent, spaces = values(name, [("words", ""), ("", " \n"), ("", "words"), (" ", "words")])

    assert math.isnan(nothing) and math.isnan(blank)
    assert silent == spaces == (1 if name in ("wer", "cer", "mer", "wil") else 0)


def ragged_pair(rng: random.Random) -> tuple[str, str]:
    said = rng.choices(WORDS, k=rng.randint(1, 14))
    heard = list(said) if rng.random() < 0.5 else rng.choices(WORDS, k=rng.randint(0, 14))
    for _ in range(rng.randint(0, 4)):
        place = rng.randint(0, len(heard))
        heard[place : place + rng.randint(0, 1)] = rng.choices(WORDS, k=rng.randint(0, 1))
    return " ".join(heard), rng.choice([" ", "  ", "\n"]).join(said)


def test_ragged_pairs_agree_with_nltks_bleu_and_rouge_scores_own_subsequence() -> None:
    rng = random.Random(22)
    pairs = [ragged_pair(rng) for _ in range(300)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (1, 2, 3, 4):
            nltk = [sentence_bleu([said.split()], heard.split(), [1 / n] * n) for heard, said in pairs]
            assert values(f"bleu{n}", pairs) == pytest.approx(nltk, abs=1e-9)
    rouge = RougeScorer(["rougeL"])
    longest = [rouge.score(said, heard)["rougeL"].fmeasure for heard, said in pairs]
    assert values("rougeL", pairs) == pytest.approx(longest, abs=1e-9)


def test_texts_of_thousands_of_words() -> None:
    said = [str(n % 97) for n in range(5000)]
    pair = [(" ".join(word for n, word in enumerate(said) if n % 10), " ".join(said))]

    assert values("wer", pair) == [pytest.approx(0.1)]
    assert values("rougeL", pair) == [pytest.approx(2 * 4500 / 9500)]


@pytest.mark.parametrize(
    ("output", "reference", "rouge"),
    [
        ("the cat sat on the mat", "the cat sat on the mat", 1.0),
        ("the cat is on the mat", "The cat sat on the mat.", 10 / 12),
        ("mat the on", "on the mat", 2 / 6),
        ("", "something", 0.0),
        ("nothing shared", "entirely other words", 0.0),
        ("words", "", math.nan),
        ("words", " . ", math.nan),
    ],
)
def test_the_baseline_by_hand(output: str, reference: str, rouge: float) -> None:
    assert rouge_l(output, reference) == pytest.approx(rouge, nan_ok=True)


@settings(max_examples=300, deadline=None)
@given(st.text("ab c", max_size=80), st.text("ab c", min_size=1, max_size=80))
def test_the_baseline_equals_the_textbook_table(output: str, reference: str) -> None:
    heard, said = output.split(), reference.split()
    table = np.zeros((len(heard) + 1, len(said) + 1), dtype=int)
    for i, word in enumerate(heard):
        for j, wanted in enumerate(said):
            table[i + 1, j + 1] = table[i, j] + 1 if word == wanted else max(table[i, j + 1], table[i + 1, j])
    expected = 2 * table[-1, -1] / (len(heard) + len(said)) if said else math.nan

    assert rouge_l(output, reference) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", [*PACKAGED, "meteor"])
def test_without_the_extra_there_are_two_lines(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    absent = ("jiwer", "sacrebleu", "rouge_score", "nltk")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        metric_module, "find_spec", lambda package: None if package in absent else find_spec(package)
    )
    cases = tmp_path / "cases.csv"
    cases.write_text("id,reference,output\na,one two,one\n")
    monkeypatch.setattr("sys.argv", ["venire", "metrics", str(cases), "--metric", name])

    with pytest.raises(SystemExit) as left:
        main()
    lines = capfd.readouterr().err.strip().splitlines()
    assert left.value.code == 2 and len(lines) == 2
    assert " needs " in lines[0] and "pip install 'venire[metrics]'" in lines[1]


@pytest.mark.parametrize(("severe", "none"), [(2.0, 0.0), (0.0, 2.0)])
@pytest.mark.parametrize(("direction", "sign"), [("low", 1), ("high", -1)])
def test_a_metric_follows_people_where_severe_cases_have_its_worse_values(direction: str, sign: int, severe: float, none: float) -> None:  # fmt: skip
    """Two of ten cases are severe, and have the worst two values; whichever end people's scale and the metric's are bad at."""
    pairs = [TextPair(str(n), "r", "o") for n in range(10)]
    values = {str(n): sign * (10.0 - n) for n in range(10)}
    people = {str(n): severe if n < 2 else 1.0 if n < 5 else none for n in range(10)}
    metric = MeasuredMetric("m", "M", "edit", direction, (0.0, 1.0), values)  # type: ignore[arg-type]
    (found,) = track([metric], pairs, PeopleLabels("harm", people, severe, none, False))

    assert found.tracking.auc.value == found.tracking.auc_none.value == 1.0
    assert found.tracking.delta.value == pytest.approx(sign * (9.5 - 3.0))
    assert np.sign(found.tracking.kendall.value) == sign and found.expected == ("+" if sign > 0 else "-")
    assert not found.has_wrong_sign(found.tracking.delta.value) and found.has_wrong_sign(-found.tracking.delta.value)  # fmt: skip


def test_the_errors_of_a_corpus_are_those_of_its_texts_together() -> None:
    """One word of three is another, one is missing, one is too many; a case without a reference is in none of them."""
    found = corpus_errors([("a x c", "a b c"), ("a", "a b"), ("a b c", "a  b"), ("words", " ")])

    assert found is not None and (found.substitutions, found.deletions, found.insertions) == (1, 1, 1)
    assert (found.hits, found.words, found.cases) == (5, 7, 3) and found.rate == pytest.approx(3 / 7)
    assert corpus_errors([("words", "")]) is None


def test_a_missed_output_is_empty_and_the_bad_end_is_the_rubrics(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    rows = [{"id": "a", "reference": "One two.", "output": "(nothing was heard)", "missed": True, "group": "g"}, {"id": "b", "reference": "One two.", "output": "One.", "missed": False}, {"id": "c", "reference": None, "output": "x"}]  # fmt: skip
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [(pair.case, pair.reference, pair.output, pair.group) for pair in read_pairs(file)] == [("a", "One two.", "", "g"), ("b", "One two.", "One.", None), ("c", "", "x", None)]  # fmt: skip

    five = {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}}
    given = pd.DataFrame([("a", rater, name, value) for rater, value in (("p", 1.0), ("q", 2.0), ("r", 5.0)) for name in ("good", "harm")], columns=["case", "rater", "attribute", "value"])  # fmt: skip
    for name, better, ends in (("good", "high", (1.0, 5.0, "low")), ("harm", "low", (5.0, 1.0, "high"))):
        rubric = Rubric.model_validate({"name": "r", "version": 1, "scales": {"five": five}, "attributes": [{"name": each, "question": "?", "scale": "five", "better": better if each == name else "high"} for each in ("good", "harm")]})  # fmt: skip
        labels = people_labels(given, attribute=name, rubric=rubric)
        assert (labels.severe, labels.none, labels.worse) == ends and labels.values == {"a": 2.0}
        assert people_labels(given, attribute=name, rubric=rubric, rule="mean").values == {
            "a": pytest.approx(8 / 3)
        }
    assumed = people_labels(given[given["attribute"] == "good"])
    assert (assumed.severe, assumed.none, assumed.assumed) == (5.0, 1.0, True)
    with pytest.raises(VenireError, match="people rated 2 attributes"):
        people_labels(given)


def test_a_metric_is_aligned_with_risk_where_the_worse_case_has_the_worse_value() -> None:
    def metric(direction: str, worse: float, better: float) -> MeasuredMetric:
        return MeasuredMetric("m", "M", "f", direction, (0.0, 1.0), {"w": worse, "b": better})  # type: ignore[arg-type]

    given = [metric("low", 0.9, 0.1), metric("low", 0.1, 0.9), metric("high", 0.1, 0.9), metric("high", 0.9, 0.1), metric("high", 0.5, 0.5), metric("high", math.nan, 0.5)]  # fmt: skip
    assert risk_table(given, "w", "b")["aligned"].tolist() == ["yes", "no", "yes", "no", "tie", "undefined"]
