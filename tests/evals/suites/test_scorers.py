"""Scorers: what is right, what is wrong, and what cannot be read, which is neither."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from shared_data import shared_file
from written_transcripts import cast, transcript_of

from venire import Jury, Rubric, Stop, VenireError
from venire.evals.metrics.metric import Metric
from venire.evals.suites.scenario import load_scenario
from venire.evals.suites.scored_systems import mean_score
from venire.evals.suites.scorer import (
    AnswerForm,
    CaseScore,
    GradedAnswer,
    Seating,
    scorer,
    scorer_names,
)
from venire.evals.suites.scorers import text_metric
from venire.evals.suites.scorers.choice import read_choice
from venire.evals.suites.scorers.judged import mean_rating
from venire.evals.suites.scorers.number_range import read_number
from venire.orchestration.verdict import verdict


def scored(
    by: str,
    output: str,
    target: Any,
    *,
    form: AnswerForm | None = None,
    columns: Any = None,
    **options: Any,
) -> CaseScore:
    found = scorer(by)
    answer = GradedAnswer("one", output, target, columns or {})
    (score,) = found.score([answer], form or AnswerForm(), found.options(**options))
    return score


def test_they_are_found_by_entry_point() -> None:
    assert set(scorer_names()) >= {
        "choice",
        "claims",
        "exact",
        "jury",
        "metric",
        "multilabel",
        "overlap",
        "range",
        "sql",
    }
    with pytest.raises(VenireError, match="no scorer named 'exakt'"):
        scorer("exakt")


@pytest.mark.parametrize(
    ("output", "status", "value"),
    [
        ("Aspirin", "scored", 1.0),
        (" **aspirin.** ", "scored", 1.0),
        ("<think>ibuprofen?</think>aspirin", "scored", 1.0),
        ("ibuprofen", "scored", 0.0),
        (" ", "unparsed", None),
    ],
)
def test_exact(output: str, status: str, value: float | None) -> None:
    found = scored("exact", output, ["aspirin", "ASA"])

    assert (found.status, found.value) == (status, value)
    assert scored("exact", output, None).status == "undefined"


LETTERS = {"A": "Fever", "B": "Cough", "C": "No, never", "D": "No"}


@pytest.mark.parametrize(
    ("output", "label"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("B.", "B"),
        ("**B. Cough**", "B"),
        ("'B'", "B"),
        ("Cough", "B"),
        ("cough, since it lasts", "B"),
        ("Answer: (B) Cough", "B"),
        ("It may be A, but the answer is B.", "B"),
        ("The final answer is: B\nThe answer is B", "B"),
        ("No, never.", "C"),
        ("no", "D"),
        ("B: Cough\n\nIs there anything else?", "B"),
        ("<think>A? The answer is A.</think>\nB", "B"),
        ("A patient with a cough", None),
        ("a, since it lasts", None),
        ("[d] or so", None),
        ("The answer is A. No: the answer is B.", None),
        ("A or B", None),
        ("E", None),
        ("", None),
        ("I cannot say", None),
    ],
)
def test_a_choice_is_read_by_letter_or_text_or_not_at_all(output: str, label: str | None) -> None:
    assert read_choice(output, LETTERS) == label


def test_a_choice_that_cannot_be_read_is_no_class() -> None:
    form = AnswerForm(kind="choice", of=("yes", "no", "maybe"))

    assert scored("choice", "Yes, it is.", "yes", form=form).value == 1.0
    assert scored("choice", "maybe", "yes", form=form).value == 0.0
    assert scored("choice", "It depends.", "yes", form=form).status == "unparsed"
    assert scored("choice", "yes", "perhaps", form=form).status == "undefined"
    assert scored("choice", "cough", "B", columns={"options": LETTERS}).value == 1.0
    assert scored("choice", "B", "cough", columns={"options": ["Fever", "Cough"]}).value == 1.0


@pytest.mark.parametrize(
    ("output", "number"),
    [
        ("7.5", 7.5),
        ("The result is 7.5 mg/dL.", 7.5),
        ("1,234.5", 1234.5),
        ("-3e-2", -0.03),
        ("0,250 mg", None),
        ("From 140 and 4.2 the answer is 33.3", 33.3),
        ("7.5 or 8", None),
        ("none", None),
        ("", None),
    ],
)
def test_a_number_is_read_where_one_is_meant(output: str, number: float | None) -> None:
    assert read_number(output) == number


@pytest.mark.parametrize(
    ("target", "options", "value"),
    [
        ([7, 8], {}, 1.0),
        ({"low": 7.5, "high": 9}, {}, 1.0),
        ([8, 9], {}, 0.0),
        (7.5, {}, 1.0),
        ("7.6", {}, 0.0),
        (7.6, {"tolerance": 0.1}, 1.0),
        (8, {"relative": 0.1}, 1.0),
    ],
)
def test_range(target: Any, options: dict[str, float], value: float) -> None:
    assert scored("range", "7.5", target, **options).value == value
    assert scored("range", "7.5", "seven").status == "undefined"
    assert scored("range", "75", "7,5").status == "undefined"


@pytest.mark.parametrize(
    ("output", "target", "options", "value"),
    [
        ("-9.5", -10, {"relative": 0.05}, 1.0),
        ("-9.4", -10, {"relative": 0.05}, 0.0),
        ("-10.5", -10, {"relative": 0.05}, 1.0),
        ("10.5", 10, {"relative": 0.05, "tolerance": 0.2}, 1.0),
        ("10.3", 10, {"relative": 0.01, "tolerance": 0.3}, 1.0),
        ("5", [5, 7], {}, 1.0),
        ("7", {"low": 5, "high": 7}, {"tolerance": 9}, 1.0),
        ("7.1", [5, 7], {"tolerance": 9}, 0.0),
        ("0", 0, {"relative": 0.5}, 1.0),
        ("0.1", 0, {"relative": 0.5}, 0.0),
    ],
)
def test_a_tolerance_is_a_share_of_the_targets_size_and_a_range_has_its_ends(
    output: str, target: Any, options: dict[str, float], value: float
) -> None:
    assert scored("range", output, target, **options).value == value


def test_micro_f1_is_over_all_cases() -> None:
    found = scorer("multilabel")
    answers = [
        GradedAnswer("one", "I10, E11.9", ["I10", "J45"]),
        GradedAnswer("two", '["i10"]', "I10"),
        GradedAnswer("three", "none", []),
        GradedAnswer("four", "", "I10; J45"),
    ]
    scores = found.score(answers, AnswerForm(), found.options())

    assert [each.status for each in scores] == ["scored", "scored", "scored", "unparsed"]
    # Two labels shared; five given or wanted too many: 2 x 2 over 4 + 2 + 0 + 2.
    assert mean_score(scores).value == pytest.approx(2 * 2 / 8)
    assert (
        scored("multilabel", "Codes: I10 and E11.9", ["I10", "E11.9"], pattern=r"[A-Z]\d\d(\.\d+)?").value
        == 1.0
    )


def test_a_metric_by_name() -> None:
    assert scored("overlap", "the cat sat", "the cat sat").value == 1.0
    assert scored("metric", "a dog", "the cat sat", name="rouge-l").value == 0.0
    assert scored("metric", "", "the cat", name="rouge-l").status == "unparsed"
    with pytest.raises(VenireError, match="no metric named"):
        scored("metric", "x", "y", name="rouge-m")


def test_a_metric_of_several_values_scores_by_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(pairs: Any, say: Any) -> dict[str, list[float]]:
        assert pairs == [("x", "y")], "the output, then its reference"
        return {"first": [0.1], "own": [0.7]}

    metric = Metric("two", "Two", measured, 1, value="own")
    monkeypatch.setattr(text_metric, "plugged_in", lambda *arguments: metric)
    values = [scored("metric", "x", "y", name="two", **options).value for options in ({}, {"value": "first"})]
    assert values == [0.7, 0.1]


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection as made:
        made.execute("CREATE TABLE visits (patient TEXT, age INTEGER, note TEXT)")
        made.executemany(
            "INSERT INTO visits VALUES (?, ?, ?)", [("a", 30, None), ("b", 40, "well"), ("c", None, None)]
        )
    return path


@pytest.mark.parametrize(
    ("query", "target", "value"),
    [
        ("SELECT patient FROM visits", "SELECT patient FROM visits ORDER BY patient DESC", 1.0),
        ("```sql\nSELECT patient FROM visits;\n```", "SELECT patient FROM visits", 1.0),
        ("SELECT avg(age) FROM visits", "SELECT 35", 1.0),
        ("SELECT note FROM visits WHERE age = 30", "SELECT NULL", 1.0),
        ("SELECT note FROM visits WHERE age = 30", "SELECT ''", 0.0),
        ("SELECT note FROM visits WHERE age = 30", "SELECT 0", 0.0),
        ("SELECT patient FROM visits WHERE age > 90", "SELECT patient FROM visits WHERE age > 80", 1.0),
        ("SELECT patient FROM visits WHERE age > 90", "SELECT patient FROM visits", 0.0),
        ("SELECT NULL", "SELECT patient FROM visits WHERE age > 80", 0.0),
        ("SELECT age FROM visits WHERE patient = 'a' UNION ALL SELECT 30", "SELECT 30", 0.0),
        (
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION SELECT x + 1 FROM n WHERE x < 3) SELECT max(x) FROM n",
            "SELECT 3",
            1.0,
        ),
    ],
)
def test_a_query_is_right_by_what_it_returns(clinic: Path, query: str, target: str, value: float) -> None:
    assert scored("sql", query, target, database=str(clinic)).value == value


def test_order_counts_where_it_is_asked_for(clinic: Path) -> None:
    pair = ("SELECT patient FROM visits ORDER BY 1 DESC", "SELECT patient FROM visits ORDER BY 1")

    assert scored("sql", *pair, database=str(clinic), ordered=True).value == 0.0


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE visits",
        "DELETE FROM visits",
        "SELECT 1; DROP TABLE visits",
        "ATTACH DATABASE '/tmp/other.sqlite' AS other",
        "PRAGMA writable_schema = 1",
        "CREATE TEMP TABLE t AS SELECT 1",
        "SELECT load_extension('x')",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
        "SELECT zeroblob(900000000)",
        "VACUUM INTO '/tmp/copy.sqlite'",
        "REINDEX",
        "-- There is no such patient.",
        "not a query",
        "",
    ],
)
def test_what_does_more_than_read_or_never_ends_is_refused(clinic: Path, query: str) -> None:
    before = clinic.read_bytes()
    found = scored("sql", query, "SELECT 1", database=str(clinic), seconds=0.3)

    assert (found.status, found.value) == ("unparsed", None)
    assert found.why
    assert clinic.read_bytes() == before


def test_a_target_that_cannot_be_run_is_the_scenarios_fault(clinic: Path) -> None:
    with pytest.raises(VenireError, match="the query in its target cannot be run"):
        scored("sql", "SELECT 1", "SELECT nothing FROM nowhere", database=str(clinic))
    with pytest.raises(VenireError, match="no such database"):
        scored("sql", "SELECT 1", "SELECT 1", database="nowhere.sqlite")


SCENARIO = """task: medical-research/conducting-literature-research
access: public
source: {repo: pubmedqa/pubmedqa, commit: 1cbae8e9, path: data/ori_pqal.json, licence: MIT}
cases: cases.jsonl
answer: {kind: choice, of: ["yes", "no", "maybe"], max_tokens: 1}
score: choice
scale: [0, 1]
"""


def write_scenario(
    folder: Path, cases: list[dict[str, Any]], outputs: list[dict[str, Any]], scenario: str = SCENARIO
) -> None:
    (folder / "research.yaml").write_text(scenario)
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in outputs))


def test_recorded_outputs_are_scored_with_baselines_beside(tmp_path: Path) -> None:
    cases = [{"id": str(n), "target": "yes" if n < 6 else "no"} for n in range(10)]
    given = [
        {"case": str(n), "system": "careful", "output": "Yes." if n < 5 else "It depends."} for n in range(10)
    ]
    given += [{"case": str(n), "system": "short", "output": "no"} for n in range(8)]
    given += [{"case": "99", "system": "short", "output": "no"}]
    given += [{"case": "1", "system": "short", "output": "no", "scenario": "another"}]
    write_scenario(tmp_path, cases, given)

    ended = venire(
        "suite", "score", "research.yaml", "outputs.jsonl", "-o", "scores.csv", "--json", cwd=tmp_path
    )
    found = json.loads(ended.stdout)
    assert found["baseline"] == {"constant": 0.6, "random": pytest.approx(1 / 3), "answer": "yes"}
    careful, short = found["systems"]["careful"], found["systems"]["short"]
    assert (careful["score"]["value"], careful["parsed"], careful["unparsed"]) == (0.5, 1.0, 5)
    assert (short["score"]["value"], short["missing"]) == (0.25, 2)
    assert (found["unknown_cases"], found["other_scenarios"]) == (["99"], 1)

    shown = venire("suite", "score", "research.yaml", "outputs.jsonl", cwd=tmp_path).stdout
    assert "count as wrong: 5 answers" in shown and "answers 'yes' to every case" in shown
    board = json.loads(venire("suite", "table", "scores.csv", "--json", cwd=tmp_path).stdout)
    assert board["systems"]["careful"]["macro"] == 0.5


@pytest.mark.parametrize(
    ("change", "problem", "line"),
    [
        (("score: choice", "score: choise"), "no scorer named 'choise'", ":6:"),
        (("score: choice", "scores: choice"), "unknown key 'scores'", ":6:"),
        (("score: choice", "score: {sql: {databse: x}}"), "unknown key 'databse'", ":6:"),
        (("score: choice", "score: {sql: {}}"), "missing", ":6:"),
        (("score: choice", "score: choice 5"), "takes no option", ":6:"),
        (("scale: [0, 1]", "scale: [1, 0]"), "the first number must be the lower one", ":7:"),
        (("access: public", "access: secret"), "access", ":2:"),
    ],
)
def test_a_wrong_scenario_is_refused_with_its_line(
    tmp_path: Path, change: tuple[str, str], problem: str, line: str
) -> None:
    write_scenario(tmp_path, [{"id": "1", "target": "yes"}], [], SCENARIO.replace(*change))
    with pytest.raises(VenireError) as error:
        load_scenario(tmp_path / "research.yaml")

    assert problem in str(error.value) and line in str(error.value)


def test_the_constant_answer_to_pubmedqa(tmp_path: Path) -> None:
    truth = json.loads(shared_file("pubmedqa/test_ground_truth.json").read_text())
    cases = [{"id": name, "target": answer} for name, answer in truth.items()]
    write_scenario(tmp_path, cases, [{"case": cases[0]["id"], "system": "a", "output": "yes"}])
    ended = venire("suite", "score", "research.yaml", "outputs.jsonl", "--json", cwd=tmp_path)

    assert json.loads(ended.stdout)["baseline"]["constant"] == pytest.approx(0.552)


def test_a_jurys_mean_rating_weighs_every_rating_and_turns_what_is_better_low() -> None:
    """Of 5, 4 and 3 the share is 3/4, three times; of a risk of 1 and 1 it is 1, twice: the third found that it does not apply."""
    five = {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}}
    asked = [{"name": "accurate", "question": "?", "scale": "five"}, {"name": "risk", "question": "?", "scale": "five", "better": "low", "may_not_apply": True}]  # fmt: skip
    rubric = Rubric.model_validate({"name": "r", "version": 1, "scales": {"five": five}, "attributes": asked})

    def rated(count: str, *ballots: Any, quorum: int = 2) -> CaseScore:
        jury = Jury.model_validate({"name": "j", "protocol": "panel", "count": count, "quorum": quorum, "seats": [{"name": name} for name in "abc"]})  # fmt: skip
        heard = transcript_of(ballots, seats=("a", "b", "c")).with_stop(Stop(reason="complete"))
        return mean_rating(verdict(heard, rubric, jury, count=count), Seating(jury, rubric, None, None), (1.0, 5.0))  # fmt: skip

    ballots = [cast("a", {"accurate": 5, "risk": 1}), cast("b", {"accurate": 4, "risk": "not_applicable"}), cast("c", {"accurate": 3, "risk": 1})]  # fmt: skip
    by_mean, by_median = rated("mean", *ballots), rated("median", *ballots)
    assert by_mean.value == pytest.approx(1 + 4 * (3 * 0.75 + 2 * 1) / 5) and (by_mean.ratings, by_mean.lost) == (6, 0)  # fmt: skip
    assert by_median.value == pytest.approx(1 + 4 * (0.75 + 1) / 2)
    lost = rated("mean", *ballots[:2], quorum=1)
    assert lost.value == pytest.approx(1 + 4 * (2 * 0.875 + 1) / 3) and (lost.ratings, lost.lost) == (4, 2)
    hung = rated("mean", ballots[0], quorum=2)
    assert (hung.status, hung.value) == ("hung", None) and hung.lost == 4
    in_part = rated("mean", cast("a", {"accurate": 5, "risk": 1}), cast("b", {"accurate": 4}, abstained=("risk",)))  # fmt: skip
    assert (in_part.status, in_part.value, in_part.ratings) == ("hung", None, 3) and "risk" in in_part.why
