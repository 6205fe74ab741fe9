"""`venire metrics`: shape, missing texts, scores by others, and metrics against people."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import jiwer
import numpy as np
import pandas as pd
import pytest
from command_line import venire
from mixed_rubric import RUBRIC
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from venire.evals.metrics.measuring import (
    MeasuredMetric,
    PeopleLabels,
    TextPair,
    differing_pairs,
    measure,
    people_labels,
    read_pairs,
    read_scores,
    risk_table,
    track,
)
from venire.evals.metrics.metric import Metric, chosen_metrics
from venire.evals.metrics.metric_tables import (
    MetricReport,
    _bar,
    metrics_json,
    metrics_table,
    risk_terminal_table,
    tracking_table,
    write_metrics,
)
from venire.evals.metrics.normalisation import load_normalisation
from venire.evals.statistics.roc import severity_tracking
from venire.rubrics import InvalidFile, VenireError
from venire.rubrics.errors import MissingExtra

NAMES = "wer cer mer wil bleu1 bleu2 bleu3 bleu4 rouge1 rouge2 rougeL chrf chrf++ meteor minilm minilm-f1"


def write_cases(folder: Path) -> Path:
    rows = [
        {"id": "same", "reference": "no pain at all", "output": "no pain at all", "group": "g1"},
        {"id": "lost", "reference": "I am allergic", "output": None, "group": "g1"},
        {"id": "more", "reference": "yes", "output": "yes no no no no", "group": "g2"},
        {"id": "none", "reference": "", "output": "words", "group": "g2"},
        {"id": "um", "reference": "Um.", "output": "um", "group": "g3"},
        {"id": "cjk", "reference": "痛みはない", "output": "痛みはない"},
    ]
    path = folder / "cases.jsonl"
    path.write_text(
        "\ufeff" + "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in rows), encoding="utf-8"
    )
    return path


def test_an_alignment_is_measured_in_one_command_and_what_is_the_same_may_be_left_out(tmp_path: Path) -> None:
    said = ["No pain at all.", "I take five tablets.", "Never."]
    heard = ["no pain at all", "I take nine tablets"]
    for name, texts in (("said", said), ("heard", heard)):
        lines = [json.dumps({"text": text}) + "\n" for text in texts]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    assert venire("align", "said.jsonl", "heard.jsonl", "-o", "a.json", "--cases", "c.jsonl", cwd=tmp_path).returncode == 0  # fmt: skip

    whole, differing, cases = (
        json.loads(venire("metrics", *arguments, "--metric", "wer", "--normal", "asr-en", "--json", cwd=tmp_path).stdout)
        for arguments in (["a.json"], ["a.json", "--differing"], ["c.jsonl"])
    )  # fmt: skip

    assert whole["metrics"] == cases["metrics"]
    assert sorted(whole["metrics"]["wer"]["cases"].values()) == [0, 0.25, 1]
    assert sorted(differing["metrics"]["wer"]["cases"].values()) == [0.25, 1]
    assert any(
        "because they equal their reference word for word: 1" in line for line in differing["sentences"]
    )


def test_the_document_has_its_shape(tmp_path: Path) -> None:
    write_cases(tmp_path)
    (tmp_path / "r.csv").write_text(
        "case,rater,attribute,value\nsame,a,impact,0\nlost,a,impact,2\nmore,a,impact,1\ncjk,a,impact,0\n"
    )
    (tmp_path / "s.csv").write_text("case,metric,value\nsame,nli,0.9\nlost,nli,0.1\nnowhere,nli,1\n")
    made = venire(
        "metrics", "cases.jsonl", "--human", "r.csv", "--rubric", "asr-impact", "--normal", "asr-en",
        "--scores", "s.csv", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    found = document["metrics"]

    assert list(found) == [*NAMES.split(), "nli"]
    assert document["normal"][:2] == ["numbers-en-gb", "lower"]
    assert found["wer"]["cases"] == {"same": 0, "lost": 1, "more": 4, "none": None, "um": None, "cjk": 0}
    heard = {"no pain at all": "no pain at all", "i am allergic": "", "yes": "yes no no no no", "痛みはない": "痛みはない"}  # fmt: skip
    theirs = jiwer.process_words(list(heard), list(heard.values()))
    assert document["corpus"] == {
        "wer": theirs.wer,
        "substitutions": theirs.substitutions,
        "deletions": theirs.deletions,
        "insertions": theirs.insertions,
        "hits": theirs.hits,
        "words": 9,
        "cases": 4,
    }
    assert "3 deletions and 4 insertions in 9 reference words of 4 cases" in " ".join(document["sentences"])
    assert found["wer"]["notes"] == {
        "none": "the reference is empty",
        "um": "the reference text is empty after normalisation",
    }
    assert "a-z" in found["rouge1"]["notes"]["cjk"]
    assert {metric["direction"] for metric in found.values() if metric["family"] == "edit"} == {"low"}
    assert found["wer"]["delta"]["value"] == pytest.approx(1.0)
    assert found["wer"]["delta"]["expected"] == "+" and not found["wer"]["delta"]["wrong_sign"]
    assert found["nli"]["family"] == "given" and found["nli"]["cases"]["more"] is None
    assert any("nowhere" in sentence for sentence in document["sentences"])


def test_the_page_is_written_and_the_terminal_says_what_was_done(tmp_path: Path) -> None:
    write_cases(tmp_path)
    (tmp_path / "r.csv").write_text(
        "case,rater,attribute,value\nsame,a,x,0\nlost,a,x,2\nmore,a,x,2\ncjk,a,x,0\n"
    )
    made = venire("metrics", "cases.jsonl", "--human", "r.csv", "--family", "edit", "-o", "out", cwd=tmp_path)
    assert made.returncode == 0, made.stderr

    said = " ".join(made.stdout.split())
    assert "Texts were normalised by plain: spaces" in said and "1 of 6 outputs are missing" in said
    assert "assumed to be the worst value, because no rubric says" in said
    assert {path.name for path in (tmp_path / "out").rglob("*.*")} >= {"report.html", "metrics.json", "values.csv", "deltas.svg"}  # fmt: skip


def test_statistics_against_people_are_those_of_other_programs() -> None:
    rng = np.random.default_rng(3)
    severity = rng.integers(0, 3, 90).astype(float)
    score = np.round(rng.normal(severity / 4, 1), 1)
    found = severity_tracking(score, severity, np.arange(90) // 3, severe=2, none=0, low_is_good=True)

    assert found.delta.value == pytest.approx(score[severity == 2].mean() - score[severity == 0].mean())
    assert found.kendall.value == pytest.approx(kendalltau(score, severity).statistic)
    assert found.auc.value == pytest.approx(roc_auc_score(severity == 2, score))
    ends = severity != 1
    assert found.auc_none.value == pytest.approx(roc_auc_score(severity[ends] == 2, score[ends]))
    assert "30 groups" in found.kendall.method
    assert found.delta.low < found.delta.value < found.delta.high


@pytest.mark.parametrize("worse", ["high", "low"])
def test_how_a_metric_follows_people_is_known_from_groups_and_whichever_end_is_worse(worse: str) -> None:
    rng = np.random.default_rng(4)
    severity, score = rng.integers(0, 3, 60).astype(float), rng.random(60)
    names, group = [f"c{n}" for n in range(60)], np.arange(60) // 4
    pairs = [TextPair(name, "a", "a", f"g{of}") for name, of in zip(names, group, strict=True)]
    metric = MeasuredMetric("m", "M", "given", "high", (0.0, 1.0), dict(zip(names, score, strict=True)))
    given = severity if worse == "high" else 2 - severity
    ends = (2.0, 0.0) if worse == "high" else (0.0, 2.0)
    labels = PeopleLabels("harm", dict(zip(names, given, strict=True)), *ends, False)

    (found,) = track([metric], pairs, labels)
    wanted = severity_tracking(score, severity, group, severe=2, none=0, low_is_good=False)
    assert found.tracking == wanted and "15 groups" in wanted.kendall.method


def test_without_a_severe_case_there_is_a_note_and_no_number() -> None:
    nothing = severity_tracking(np.ones(5), np.zeros(5), np.arange(5), severe=2, none=0, low_is_good=False)
    assert not any(each.defined for each in nothing) and all(each.note for each in nothing)


def test_two_cases_side_by_side(tmp_path: Path) -> None:
    pairs = read_pairs(write_cases(tmp_path))
    found = measure(pairs, chosen_metrics(["wer", "chrf"]), normal=load_normalisation("plain"))

    assert risk_table(found, "lost", "same")["aligned"].tolist() == ["yes", "yes"]
    assert risk_table(found, "same", "lost")["aligned"].tolist() == ["no", "no"]
    assert risk_table(found, "none", "same")["aligned"].tolist() == ["undefined", "undefined"]
    with pytest.raises(VenireError, match="no case 'some'"):
        risk_table(found, "some", "same")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a,wer,1", "venire itself computes a metric"),
        ("a,m,high", "'high' is not a number"),
        ("a,m,inf", "the value is infinite"),
        ('a,m,"1,250"', "'1,250' is ambiguous: its comma could be a decimal comma"),
        ("a,m,1\na,m,1", "given twice"),
    ],
)
def test_scores_that_cannot_be_read(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"case,metric,value\n{line}\n")
    with pytest.raises(InvalidFile, match=problem):
        read_scores(path, ["a"], ["wer"])


def test_mistakes_are_two_lines(tmp_path: Path) -> None:
    write_cases(tmp_path)
    for options, problem in (
        (("--metric", "wre"), "no metric named 'wre'"),
        (("--normal", "asr"), "no normalisation named 'asr'"),
        (("--human", "nowhere.csv"), "no such file"),
    ):
        made = venire("metrics", "cases.jsonl", *options, cwd=tmp_path)
        assert made.returncode == 2 and problem in made.stderr, made.stderr
        assert len(made.stderr.strip().splitlines()) == 2


def test_a_metric_that_cannot_be_measured_here_is_two_lines_unless_others_can(tmp_path: Path) -> None:
    def absent(pairs: object, progress: object) -> dict[str, list[float]]:
        raise MissingExtra("it needs a dictionary", remedy="get one")

    pairs, normal = read_pairs(write_cases(tmp_path)), load_normalisation("plain")
    missing = Metric("guess", "Guess", absent, 1)
    with pytest.raises(MissingExtra, match="dictionary"):
        measure(pairs, [missing], normal=normal)
    found = measure(pairs, [missing, *chosen_metrics(["wer"], [])], normal=normal)
    assert "it needs a dictionary (get one)" in found[0].notes.values() and found[1].values["same"] == 0


def test_terminal_document_table_and_bars_say_the_same_of_a_metric() -> None:
    """A rate that follows people and a score that points the wrong way; one case has no value of the score."""
    pairs = [TextPair(f"c{n}", "a b", "a" if n else "", f"g{n // 2}") for n in range(20)]
    rate = MeasuredMetric(
        "rate", "Rate", "edit", "low", (0.0, math.inf), {f"c{n}": 20.0 - n for n in range(20)}
    )
    score = MeasuredMetric("score", "Score", "given", "high", (0.0, 1.0), {f"c{n}": math.nan if n == 19 else 1 - n / 20 for n in range(20)}, {"c19": "no score"})  # fmt: skip
    labels = PeopleLabels("harm", {f"c{n}": 2.0 if n < 6 else 1.0 if n < 9 else 0.0 for n in range(18)}, 2.0, 0.0, False)  # fmt: skip
    tracked = track([rate, score], pairs, labels)
    report = MetricReport(pairs, [rate, score], load_normalisation("plain"), labels, tracked)
    document, table = metrics_json(report), tracking_table(report)
    severe, harmless = 20 - 2.5, 20 - 13.0

    found = document["metrics"]
    assert (found["rate"]["bounds"], found["score"]["cases"]["c19"], found["score"]["notes"]) == ([0.0, None], None, {"c19": "no score"})  # fmt: skip
    assert found["rate"]["delta"]["value"] == pytest.approx(severe - harmless) == -found["rate"]["delta"]["as_quality"]  # fmt: skip
    assert (
        found["score"]["delta"]["as_quality"] == found["score"]["delta"]["value"] == pytest.approx(10.5 / 20)
    )
    assert [found[name][part]["wrong_sign"] for name in found for part in ("delta", "kendall", "auc")] == [False] * 3 + [True] * 3  # fmt: skip
    for row in table.to_dict("records"):
        told = found[row["metric"]][row["statistic"]]
        assert [told[part] for part in ("value", "low", "high", "n")] == [None if math.isnan(row[part]) else row[part] for part in ("value", "low", "high", "n")]  # fmt: skip
        assert row["wrong_sign"] == (row["metric"] == "score")
    for metric, bar in zip(tracked, map(_bar, tracked), strict=True):
        turn, delta = -1 if metric is tracked[0] else 1, metric.tracking.delta
        assert (bar.delta.value, {bar.delta.low, bar.delta.high}) == (turn * delta.value, {turn * delta.low, turn * delta.high})  # fmt: skip
        assert bar.delta.low < bar.delta.value < bar.delta.high
    terminal = metrics_table(report)
    assert [cell.endswith("!") for cell in terminal.columns[2].cells] == [False, True]
    assert [cell.split()[0] for cell in terminal.columns[2].cells] == ["10.50", "0.52"]
    alone = metrics_table(replace(report, tracked=()))
    assert [list(column.cells) for column in alone.columns[2:]] == [["edit", "given"], ["20", "19"], ["10.500", f"{np.mean([1 - n / 20 for n in range(19)]):.3f}"]]  # fmt: skip
    assert not tracked[0].has_wrong_sign(0.0) and not tracked[1].has_wrong_sign(0.0)
    said = " ".join(report.sentences())
    assert "1 of 20 outputs are missing" in said and "harm in 18 of the 20 cases" in said
    assert "severe (6 cases)" in said and "harmless (9 cases)" in said and "over 10 groups" in said
    assert said.endswith("people see harm): Score.") and "corpus" not in document


def test_a_metric_that_tells_nothing_points_no_way_and_the_page_has_both_cases_and_all_values(
    tmp_path: Path,
) -> None:
    pairs = [TextPair(f"c{n}", "a b", "a", None) for n in range(60)]
    flat = MeasuredMetric("flat", "Flat", "given", "high", (0.0, 1.0), {f"c{n}": 0.5 for n in range(60)})
    labels = PeopleLabels("harm", {f"c{n}": float(n % 2) for n in range(60)}, 1.0, 0.0, False)
    tracked = track([flat], pairs, labels)
    risk = risk_table([flat], "c1", "c0")
    report = MetricReport(pairs, [flat], load_normalisation("plain"), labels, tracked, risk)
    table = tracking_table(report).set_index("statistic")

    assert table.loc["auc", "value"] == 0.5 and not table["wrong_sign"].any() and risk["aligned"].tolist() == ["tie"]  # fmt: skip
    assert metrics_json(report)["pair"] == risk.to_dict("records")
    cells = [list(column.cells) for column in risk_terminal_table(risk.assign(worse=0.25, better=math.nan), "c1", "c0").columns]  # fmt: skip
    assert cells == [["flat"], ["high"], ["0.2500"], ["–"], ["tie"]]
    page = write_metrics(report, tmp_path).read_text()
    assert len(pd.read_csv(tmp_path / "tables/values.csv")) == 60 and "first 50 of 60 cases" in page
    assert pd.read_csv(tmp_path / "tables/pair.csv")["aligned"].tolist() == ["tie"] and "Two cases" in page
    write_metrics(replace(report, risk=None, tracked=()), tmp_path / "plain")
    assert [file.name for file in (tmp_path / "plain/tables").iterdir()] == ["values.csv"]


def test_scores_of_others_keep_their_family_and_direction_and_a_blank_is_no_number(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("case,metric,value,family,direction\na,risk,0.5,model,low\nb,risk,,model,low\nz,risk,1,,\na,plain,2,,\n")  # fmt: skip
    (risk, plain), notes = read_scores(file, ["a", "b"])

    assert (risk.family, risk.direction, plain.family, plain.direction) == ("model", "low", "given", "high")
    assert risk.values["a"] == 0.5 and math.isnan(risk.values["b"]) and list(risk.notes) == ["b"]
    assert plain.values["a"] == 2.0 and math.isnan(plain.values["b"]) and "1, such as 'z'" in notes[0]


def test_where_a_text_has_no_words_a_note_says_which(tmp_path: Path) -> None:
    (found,) = measure(read_pairs(write_cases(tmp_path)), chosen_metrics(["wer"]), normal=load_normalisation("asr-en"))  # fmt: skip
    assert found.notes == {"none": "the reference is empty", "um": "the reference text is empty after normalisation"}  # fmt: skip
    assert [found.values[case] for case in ("same", "lost", "more")] == [0, 1, 4]


def test_the_worst_of_a_rubric_is_its_bad_end_and_without_one_the_highest_value_that_was_given() -> None:
    """Two people on `risk`, whose bad end is high, and on `accurate`, whose bad end is low; one rating is off each scale."""
    given = {"risk": [[1, 2], [4, 5], [9]], "accurate": [[1, 4], [2, 2], ["so"]]}
    rows = [(f"c{n}", f"p{who}", name, value) for name, cases in given.items() for n, each in enumerate(cases) for who, value in enumerate(each)]  # fmt: skip
    people = pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])
    found = people_labels(people, attribute="risk", rubric=RUBRIC, cases=["c0", "c1", "c2"])
    assert (found.values, found.severe, found.none, found.worse, found.assumed) == ({"c0": 1.5, "c1": 4.5}, 5, 1, "high", False)  # fmt: skip
    found = people_labels(people, attribute="accurate", rubric=RUBRIC)
    assert (found.values, found.severe, found.none, found.worse, found.assumed) == ({"c0": 2.5, "c1": 2.0}, 1, 5, "low", False)  # fmt: skip
    assert any("'accurate'" in note for note in found.notes)
    alone = people_labels(people[people["attribute"] == "accurate"], cases=["c0", "c1", "c2"])
    assert (alone.attribute, alone.values, alone.severe, alone.none, alone.assumed) == ("accurate", {"c0": 2.5, "c1": 2.0}, 4, 1, True)  # fmt: skip
    assert people_labels(people, attribute="risk", rule="mean", rubric=RUBRIC, cases=["c1", "c0", "c2"]).values["c1"] == 4.5  # fmt: skip
    with pytest.raises(VenireError, match="people rated 2 attributes"):
        people_labels(people)


def test_equal_values_are_a_tie_and_an_error_rate_is_worse_where_it_is_higher() -> None:
    metrics = [MeasuredMetric(name, name, "edit", direction, (0.0, 1.0), {"a": 0.5, "b": other}) for name, direction, other in (("rate", "low", 0.2), ("score", "high", 0.2), ("same", "high", 0.5))]  # type: ignore[arg-type]  # fmt: skip
    assert risk_table(metrics, "a", "b")["aligned"].tolist() == ["yes", "no", "tie"]
    assert risk_table(metrics, "b", "a")[["worse", "better"]].to_numpy().tolist() == [[0.2, 0.5], [0.2, 0.5], [0.5, 0.5]]  # fmt: skip


def test_what_was_missed_is_an_empty_output_and_what_is_normally_the_same_does_not_differ(tmp_path: Path) -> None:  # fmt: skip
    (tmp_path / "c.csv").write_text("id,reference,output,missed,group\n1,Yes.,yes,,g\n2,no,[nothing],True,\n3,no,nope,False,\n")  # fmt: skip
    pairs = read_pairs(tmp_path / "c.csv")
    assert [(pair.case, pair.output, pair.group) for pair in pairs] == [("1", "yes", "g"), ("2", "", None), ("3", "nope", None)]  # fmt: skip
    assert [pair.case for pair in differing_pairs(pairs, load_normalisation("asr-en"))] == ["2", "3"]
