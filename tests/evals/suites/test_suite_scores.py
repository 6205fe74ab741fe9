"""What a suite's systems score: means on the scenario's scale, counted by hand, with baselines and what is missing beside them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venire import VenireError
from venire.agents.cost import Price
from venire.evals.statistics.proportion import wilson
from venire.evals.suites.board import board
from venire.evals.suites.scenario import Scenario, ScenarioCase
from venire.evals.suites.score_table import load_scores
from venire.evals.suites.scored_systems import (
    METHOD,
    Outputs,
    load_outputs,
    mean_score,
    score_outputs,
    scored_scenario,
)
from venire.evals.suites.scorer import CaseScore, Scorer
from venire.evals.suites.suite import System
from venire.evals.suites.suite_cost import SystemCost, TokenCost
from venire.evals.suites.suite_plan import _most_calls
from venire.evals.suites.suite_report import (
    _failures,
    cost_table,
    suite_terminal,
    system_costs_figure,
    table_shares,
)
from venire.evals.suites.suite_results import _generation_cost, _Judgements, _macro_baselines, _score_table
from venire.evals.suites.suite_run import SystemAnswer, judged_id
from venire.evals.suites.suite_tables import scored_json, scored_table, write_scores
from venire.personas.jury import Jury, ModelSettings
from venire.rubrics.rubric import load_rubric


def scenario(**fields: Any) -> Scenario:
    asked = {"name": "mine", "score": "choice", "answer": {"kind": "choice", "of": ["yes", "no", "maybe"]}}
    return Scenario.model_validate({**asked, **fields})


def cases(*targets: Any, columns: Sequence[Mapping[str, Any]] = ()) -> list[ScenarioCase]:
    own = [*columns, *({} for _ in range(len(targets) - len(columns)))]
    return [ScenarioCase(id=str(n), target=target, columns=dict(row)) for n, (target, row) in enumerate(zip(targets, own, strict=True))]  # fmt: skip


def outputs(**by_system: Sequence[str]) -> Outputs:
    return Outputs({name: {str(n): text for n, text in enumerate(texts)} for name, texts in by_system.items()}, (), 0)  # fmt: skip


def test_the_interval_of_a_mean_score_has_the_standard_error_of_a_weighted_mean() -> None:
    values, weights = np.array([0.0, 1.0, 1.0, 0.5, 1.0, 0.25]), np.array([1.0, 1.0, 2.0, 1.0, 3.0, 1.0])
    scores = [CaseScore("scored", 1 + 4 * v, w) for v, w in zip(values, weights, strict=True)]
    for used, shown in ((weights, scores), (np.ones(6), [replace(score, weight=1.0) for score in scores])):
        mean = np.average(values, weights=used)
        error = np.sqrt(6 / 5 * ((used / used.sum() * (values - mean)) ** 2).sum())
        low, high = wilson(float(mean), float(mean * (1 - mean) / error**2), 0.95)
        found = mean_score([*shown, CaseScore("failed"), CaseScore("hung")], (1.0, 5.0))
        assert (found.value, found.low, found.high) == pytest.approx(
            (1 + 4 * mean, 1 + 4 * low, 1 + 4 * high)
        )
        assert (found.n, found.method) == (6, METHOD)


# Wilson's interval of 8 of 10, 0 of 10 and 10 of 10, as statsmodels' proportion_confint(method="wilson") has them.
WILSON = {
    8: (0.490162471536642, 0.943317848545625),
    0: (0.0, 0.277532799862889),
    10: (0.722467200137111, 1.0),
}


@pytest.mark.parametrize("right", WILSON)
def test_of_right_and_wrong_answers_the_interval_is_wilsons(right: int) -> None:
    found = mean_score([CaseScore("scored", float(n < right)) for n in range(10)])
    low, high = WILSON[right]
    # A sample's variance of so many ones is larger than the share's by n over n - 1.
    size = 10 if right in (0, 10) else 9
    assert (found.value, found.n) == (right / 10, 10)
    assert (found.low, found.high) == pytest.approx(wilson(right / 10, size, 0.95))
    assert wilson(right / 10, 10, 0.95) == pytest.approx((low, high))


def test_an_unparsed_answer_earns_the_lowest_and_what_is_no_number_does_not_count() -> None:
    scores = [CaseScore("scored", 5.0), CaseScore("unparsed"), CaseScore("scored", 3.0), CaseScore("scored", 5.0, 0.0)]  # fmt: skip
    for silent in ("failed", "hung", "undefined", "unjudged"):
        found = mean_score([*scores, CaseScore(silent)], (1.0, 5.0))  # type: ignore[arg-type]
        assert (found.value, found.n) == (pytest.approx(3.0), 3)
    one = mean_score([CaseScore("scored", 4.0)], (1.0, 5.0))
    assert one.value == 4.0 and one.n == 1 and math.isnan(one.low) and math.isnan(one.high) and one.note
    two = mean_score([CaseScore("scored", 4.0), CaseScore("scored", 4.0)], (1.0, 5.0))
    assert two.low < 4.0 < two.high
    assert (two.low, two.high) == pytest.approx([1 + 4 * end for end in wilson(0.75, 2, 0.95)])


@pytest.mark.parametrize(
    ("status", "why"),
    [("failed", "received"), ("hung", "hung"), ("unjudged", "judged"), ("undefined", "target")],
)
def test_without_a_score_the_commonest_reason_is_said(status: str, why: str) -> None:
    found = mean_score([CaseScore(status), CaseScore(status), CaseScore("failed")])  # type: ignore[arg-type]

    assert math.isnan(found.value) and found.n == 0 and why in found.note and found.method == METHOD
    assert mean_score([]).note == "no answer"


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.floats(-5, 5), st.floats(0.5, 9))
def test_a_mean_moves_with_its_scale(values: list[float], low: float, length: float) -> None:
    plain = mean_score([CaseScore("scored", value) for value in values])
    moved = mean_score([CaseScore("scored", low + length * value) for value in values], (low, low + length))

    assert [moved.value, moved.low, moved.high] == pytest.approx(
        [low + length * end for end in (plain.value, plain.low, plain.high)], abs=1e-6
    )
    assert low - 1e-9 <= moved.low <= moved.value + 1e-9 <= moved.high + 2e-9 <= low + length + 3e-9


def test_every_system_is_scored_best_first_with_baselines_beside() -> None:
    asked = cases(*["yes"] * 6, *["no"] * 3, None)
    given_outputs = outputs(
        empty=[], short=["no"] * 8, careful=["yes"] * 5 + ["It depends."] * 5, silent=["It depends."]
    )
    found = score_outputs(scenario(), asked, given_outputs)

    assert [(each.system, each.score.n, each.missing) for each in found.systems] == [("careful", 9, 0), ("short", 8, 2), ("silent", 1, 9), ("empty", 0, 10)]  # fmt: skip
    careful, short, silent, empty = found.systems
    assert careful.score.value == pytest.approx(5 / 9) and careful.parsed == 1.0
    assert short.score.value == short.parsed == 0.25
    assert (silent.score.value, silent.score.method, empty.score.note) == (0.0, METHOD, "no answer")
    assert math.isnan(silent.parsed) and math.isnan(empty.parsed) and math.isnan(empty.score.value)
    assert (careful.count("unparsed"), careful.count("undefined"), found.count("unparsed")) == (4, 1, 5)
    assert (found.cases, found.constant, found.outputs) == (10, "yes", given_outputs)
    # Of nine cases with a target six say yes, three no, none maybe.
    assert found.baselines == {"constant": pytest.approx(6 / 9), "random": pytest.approx(1 / 3)}


def test_what_could_be_read_has_its_weighted_mean() -> None:
    scores = {"0": CaseScore("scored", 1.0, 3.0), "1": CaseScore("scored", 0.0, 1.0), "2": CaseScore("unparsed", weight=4.0)}  # fmt: skip
    (found,) = scored_scenario(scenario(), cases("yes", "no", "no"), {"a": scores}).systems

    assert found.parsed == 0.75 and found.score.value == 3 / 8 and found.missing == 0


def test_a_systems_mean_is_on_the_scenarios_scale() -> None:
    scores = {"0": CaseScore("scored", 5.0), "1": CaseScore("unparsed"), "2": CaseScore("scored", 3.0)}
    found = scored_scenario(scenario(scale=[1, 5]), cases("yes", "no", "no"), {"a": scores})

    assert found.systems[0].score.value == pytest.approx(3.0) and found.systems[0].score.low >= 1
    assert found.systems[0].parsed == 4.0 and found.scenario.ends == (1.0, 5.0)
    silent = scored_scenario(scenario(score="exact", answer={"kind": "text"}), cases(None, None), {})
    unlabelled = scored_scenario(scenario(score="multilabel", answer={"kind": "text"}), cases([], []), {})
    for nothing in (silent, unlabelled):
        assert nothing.constant == "" and all(math.isnan(value) for value in nothing.baselines.values())


@pytest.mark.parametrize(
    ("score", "targets", "constant", "earns"),
    [
        ("range", [[1, 3], [1, 3], [5, 6]], "2.0", 2 / 3),
        ("range", [{"low": 0, "high": 1}, {"low": 0, "high": 2}, {"low": 9, "high": 10}], "0.5", 2 / 3),
        ("exact", ["a", "b", "a", "c"], "a", 0.5),
        ("multilabel", [["x", "y"], ["x", "y"], []], "x, y", 0.8),
        ("multilabel", [[], [], ["x"]], "x", 0.5),
        ("exact", ["7", "7", 8], "7", 2 / 3),
    ],
)
def test_the_best_constant_is_among_the_commonest_targets_as_a_system_would_write_them(
    score: str, targets: list[Any], constant: str, earns: float
) -> None:
    asked = cases(*targets)
    found = scored_scenario(scenario(score=score, answer={"kind": "text"}), asked, {})

    assert found.constant == constant
    assert found.baselines["constant"] == pytest.approx(earns)
    assert found.baselines["random"] <= found.baselines["constant"]


def test_five_targets_are_tried_and_a_random_one_is_their_mean() -> None:
    targets = [word for number, word in enumerate("fedcba") for _ in range(number + 1)]
    found = scored_scenario(scenario(score="exact", answer={"kind": "text"}), cases(*targets), {})

    assert found.constant == "a" and found.baselines["constant"] == pytest.approx(6 / 21)
    assert found.baselines["random"] == pytest.approx(np.mean([6, 5, 4, 3, 2]) / 21)


def test_a_case_without_a_target_offers_no_constant() -> None:
    found = scored_scenario(scenario(score="exact", answer={"kind": "text"}), cases("a", None, None, "b"), {})

    assert found.constant == "a" and found.baselines == {"constant": 0.5, "random": 0.5}


def test_choices_of_the_cases_own_are_all_tried() -> None:
    own = [{"options": {"A": "one", "B": "two"}}, {"options": {"A": "one", "C": "three"}}, {"options": {"A": "one", "C": "three"}}]  # fmt: skip
    asked = cases("B", "C", "C", columns=own)
    found = scored_scenario(scenario(answer={"kind": "choice"}), asked, {})

    assert found.constant == "C" and found.baselines["constant"] == pytest.approx(2 / 3)


def test_a_jurys_scenario_has_no_baseline_and_its_own_baseline_system_no_interval() -> None:
    judged = scenario(
        score={"jury": "lens-jury", "rubric": "medhelm", "against": "b"}, answer={"kind": "text"}
    )
    scores = {str(n): CaseScore("scored", 0.5) for n in range(4)}
    won = {str(n): CaseScore("scored", float(n % 2)) for n in range(4)}
    found = scored_scenario(judged, cases(*["x"] * 4), {"a": won, "b": scores})

    assert all(math.isnan(value) for value in found.baselines.values()) and found.constant == ""
    assert set(found.baselines) == {"constant", "random"}
    a, b = sorted(found.systems, key=lambda each: each.system)
    assert not math.isnan(a.score.low) and a.score.note == ""
    assert b.score.value == 0.5 and math.isnan(b.score.low) and math.isnan(b.score.high) and "half by definition" in b.score.note  # fmt: skip
    with pytest.raises(VenireError, match="is scored by a jury") as refused:
        score_outputs(judged, cases("x"), outputs(a=["x"]))
    assert refused.value.remedy


def test_a_scenario_without_any_target_is_refused() -> None:
    with pytest.raises(VenireError, match="no case has a target") as refused:
        score_outputs(scenario(), cases(None, None), outputs(a=["yes"]))
    assert refused.value.remedy


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_a_scorer_that_has_no_value_is_told_so_and_never_counted_as_zero(
    monkeypatch: pytest.MonkeyPatch, value: float | None
) -> None:
    hollow = Scorer("hollow", "", lambda answers, form, options: [CaseScore("scored", value)] * len(answers))
    monkeypatch.setattr("venire.evals.suites.scenario.scorer", lambda name: hollow)
    with pytest.raises(VenireError, match="the scorer hollow gives case 0 the status scored and the value"):
        score_outputs(scenario(), cases("yes"), outputs(a=["yes"]))


def write(folder: Path, *rows: Mapping[str, Any]) -> Path:
    path = folder / "outputs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_outputs_are_read_by_system_and_case_and_what_belongs_elsewhere_is_counted(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"case": " 0 ", "system": " a ", "output": "yes"},
        {"case": 1, "system": "a", "output": ""},
        {"case": "0", "system": "b", "output": 7, "scenario": "mine"},
        *({"case": "0", "system": "a", "output": "no", "scenario": "another"} for _ in range(2)),
        {"case": "9", "system": "a", "output": "no", "scenario": ""},
        {"case": "9", "system": "b", "output": "no", "scenario": None},
    )
    found = load_outputs(path, scenario(), cases("yes", "no"))

    assert found == Outputs({"a": {"0": "yes", "1": ""}, "b": {"0": "7"}}, ("9",), 2)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"case": "0", "system": "a", "output": "x"}, {"case": "0", "system": "a", "output": "y"}], ":2: 'a' has two outputs for case '0'"),
        ([{"case": "0", "system": "a", "output": "x"}, {"case": None, "system": "a", "output": "y"}], ":2: the value is missing in the column 'case'"),
        ([{"case": "0", "system": "a", "output": "x"}, {"case": "1", "system": None, "output": "y"}], ":2: the value is missing in the column 'system'"),
        ([{"case": "0", "system": "a", "output": "x"}, {"case": "1", "system": "a", "output": None}], ":2: the value is missing in the column 'output'"),
        ([{"case": "0", "system": "a", "output": "x"}, *({"case": n, "system": "a", "output": "y"} for n in "89")], "2 outputs match none of its cases, such as '8'"),
        ([{"case": "0", "system": "a", "output": "x", "scenario": "another"}], "1 outputs belong to other scenarios"),
    ],
)  # fmt: skip
def test_outputs_that_cannot_be_meant_are_refused(
    tmp_path: Path, rows: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(VenireError) as error:
        load_outputs(write(tmp_path, *rows), scenario(), cases("yes", "no"))

    assert problem in str(error.value) and error.value.remedy


def test_half_of_the_outputs_may_be_of_no_case(tmp_path: Path) -> None:
    path = write(tmp_path, *({"case": n, "system": "a", "output": "y"} for n in "08"))

    assert load_outputs(path, scenario(), cases("yes")).unknown == ("8",)


def test_scored_answers_are_written_told_and_read_back_as_the_same_scores(tmp_path: Path) -> None:
    scores = {
        "a": {"0": CaseScore("scored", 5.0, answer="yes"), "1": CaseScore("unparsed", why="unclear"), "2": CaseScore("hung"), "3": CaseScore("scored", 2.0)},
        "b": {"0": CaseScore("scored", 3.0), "1": CaseScore("failed")},
    }  # fmt: skip
    found = scored_scenario(scenario(scale=[1, 5]), cases("yes", "no", "no", "no"), scores)
    document = scored_json(found)
    write_scores(found, tmp_path / "scores.csv")
    read = load_scores(tmp_path / "scores.csv")

    assert read.cases["mine"]["a"].dropna().to_dict() == {"0": 5.0, "1": 1.0, "3": 2.0}
    assert read.cases["mine"]["b"].dropna().to_dict() == {"0": 3.0}
    a, b = (document["systems"][name] for name in "ab")
    assert (
        a["score"]["value"] == pytest.approx(8 / 3) == read.means.loc["a", "mine"]
        and b["score"]["value"] == 3
    )
    assert (a["parsed"], a["unparsed"], a["missing"], b["missing"]) == (3.5, 1, 0, 2)
    assert [a["cases"][case]["score"] for case in "0123"] == [5.0, 1.0, None, 2.0] and a["cases"]["1"]["why"] == "unclear"  # fmt: skip
    shown = {row[0]: row[1:] for row in zip(*(column.cells for column in scored_table(found).columns), strict=True)}  # fmt: skip
    assert shown["a"][1:] == ("3.5000", "3", "1", "0", "0") and shown["a"][0].startswith("2.67")
    assert shown["(constant)"][0] == f"{document['baseline']['constant']:.4f}"


def test_a_suites_table_has_each_systems_mean_and_the_cases_that_count() -> None:
    """A system that was not asked has no score, and cases that weigh unequally are not told one by one."""
    one = scored_scenario(scenario(name="one"), cases("yes", "no"), {"a": {"0": CaseScore("scored", 1.0), "1": CaseScore("unparsed")}, "b": {"0": CaseScore("hung"), "1": CaseScore("scored", 1.0)}})  # fmt: skip
    two = scored_scenario(scenario(name="two", scale=[1, 5]), cases("yes", "no"), {"a": {"0": CaseScore("scored", 2.0, 3.0), "1": CaseScore("scored", 4.0)}})  # fmt: skip
    suite = SimpleNamespace(
        systems=["b", "never", "a"], taxonomy=SimpleNamespace(category_name=lambda task: "notes")
    )
    found = _score_table(suite, [one, two])  # type: ignore[arg-type]

    assert found.means.index.tolist() == ["b", "a"]
    assert found.means["one"].to_dict() == {"b": 1.0, "a": 0.5}
    assert math.isnan(found.means.loc["b", "two"]) and found.means.loc["a", "two"] == 2.5
    assert list(found.cases) == ["one"] and found.cases["one"]["a"].to_dict() == {"0": 1.0, "1": 0.0}
    assert found.cases["one"]["b"].dropna().to_dict() == {"1": 1.0}
    column = found.columns["two"]
    assert (column.category, column.direction, column.low, column.high) == ("notes", "higher", 1.0, 5.0)


def test_a_suites_report_has_shares_of_each_scale_and_only_the_statuses_that_came_up(tmp_path: Path) -> None:
    one = scored_scenario(scenario(name="one"), cases("yes", "no"), {"a": {"0": CaseScore("scored", 1.0), "1": CaseScore("unparsed")}, "b": {"0": CaseScore("hung"), "1": CaseScore("failed")}})  # fmt: skip
    two = scored_scenario(scenario(name="further", scale=[1, 5]), cases("yes", "yes"), {name: {"0": CaseScore("scored", 2.0, lost=2)} for name in "ab"})  # fmt: skip
    (tmp_path / "scores.csv").write_text("system,one,two,size\na,0.5,2,9\nb,,4,7\n")
    (tmp_path / "columns.csv").write_text(
        "scenario,direction,low,high\none,lower,,\ntwo,higher,1,5\nsize,none,,\n"
    )
    scores = load_scores(tmp_path / "scores.csv", tmp_path / "columns.csv")
    costs = {"a": SystemCost(TokenCost(1, 900, 100, 40.0, 50.0), TokenCost(usd=0.004, upper_usd=0.0)), "b": SystemCost(TokenCost(usd=10.0), TokenCost(prompt=None, usd=None))}  # fmt: skip
    found: Any = SimpleNamespace(scored=(one, two), table=scores, board=board(scores), costs=costs, dominated={"b": "a"})  # fmt: skip

    shares = table_shares(scores)
    assert [*shares.columns] == ["one", "two"] and shares.loc["a"].to_dict() == {"one": 0.5, "two": 0.25}
    assert math.isnan(shares.loc["b", "one"]) and shares.loc["b", "two"] == 0.75
    assert all(each.endswith(": 1 (one 1).") for each in _failures(found)[:3])
    assert len(_failures(found)) == 4 and _failures(found)[-1].startswith("4 ratings by jurors failed")
    tables = suite_terminal(found)
    first, second = ([str(column.header) for column in each.columns] for each in tables[-3:-1])
    assert first[1:] == ["score", "interval", "n", "unparsed", "failed", "hung"] and second[1:] == ["score", "interval", "n", "lost"]  # fmt: skip
    rows = [*zip(*(column.cells for column in tables[-1].columns), strict=True)]
    assert rows == [("a", "$40.00", "$50.00", "$0.004000", "$0.00", "$40.00"), ("b", "$10.00", "$0.00", "unknown", "$0.00", "unknown")]  # fmt: skip
    table = cost_table(found).set_index("system")
    assert (table.loc["a", "total_tokens"], table.loc["b", "jury_tokens"], table.loc["b", "dominated"]) == ("1,000", "unknown", "a")  # fmt: skip


def test_systems_stand_at_their_dollars_in_the_picture_and_the_front_goes_from_cheap_to_dear() -> None:
    def drawn(*usd: float) -> list[tuple[str, float, float, bool]]:
        rates = [0.4, 0.8, 0.3]
        table = pd.DataFrame({"system": [*"abc"], "usd": usd, "win_rate": rates, "dominated": [False, False, True]})  # fmt: skip
        (picture,) = system_costs_figure(table).blocks
        shapes = picture.shapes[0].children  # type: ignore[union-attr]
        circles = [each.attributes for each in shapes if each.tag == "circle"]  # type: ignore[union-attr]
        lines = [each.attributes["points"] for each in shapes if each.tag == "polyline" and each.attributes["stroke-dasharray"]]  # type: ignore[union-attr]  # fmt: skip
        (front,) = ([float(pair.split(",")[0]) for pair in line.split()] for line in lines)
        assert front == sorted(front)
        return [(name, float(each["cx"]), float(each["cy"]), each["fill"] == "none") for name, each in zip("abc", circles, strict=True)]  # fmt: skip

    (_, a, a_up, _), (_, b, b_up, _), (_, c, c_up, hollow) = drawn(40.0, 10.0, 20.0)
    assert 0 < b < c < a < 500 and a == pytest.approx(4 * b, abs=0.2) and c == pytest.approx(2 * b, abs=0.2)
    assert b_up < a_up < c_up and hollow
    assert [x for _, x, _, _ in drawn(0.0, 0.0, 0.0)] == [0.0] * 3


def test_the_baselines_of_a_suite_are_means_of_shares_of_each_scale() -> None:
    def of(ends: tuple[float, float], constant: float) -> Any:
        return SimpleNamespace(scenario=SimpleNamespace(ends=ends), baselines={"constant": constant, "random": math.nan})  # fmt: skip

    found = _macro_baselines([of((0.0, 1.0), 0.5), of((1.0, 5.0), 4.0), of((0.0, 1.0), math.nan)])
    assert found["constant"] == (0.5 + 0.75) / 2 and math.isnan(found["random"])


def test_a_system_pays_for_the_judging_of_its_own_answers_whatever_others_are_called() -> None:
    part = SimpleNamespace(name="mine", cases=[SimpleNamespace(id="1"), SimpleNamespace(id="2")])
    found = _Judgements.__new__(_Judgements)
    found._part = part  # type: ignore[assignment]
    found._arm = SimpleNamespace(jury=SimpleNamespace(seats=[], orchestrator=ModelSettings(model="server/m")))  # type: ignore[assignment]
    spent = SimpleNamespace(calls=("k",), prompt=10, completion=1, usd=0.5)
    heard = SimpleNamespace(entries=[SimpleNamespace(speaker="s", spent=spent)])
    systems = ("gpt-4", "my-gpt-4", "b", "a@b")
    found._heard = {judged_id(part, case, system): (heard, None) for case in "12" for system in systems}  # type: ignore[arg-type, misc]

    costs = [found.cost(system, SimpleNamespace(of=lambda settings: None)) for system in (*systems, "none")]  # type: ignore[arg-type]
    assert [(cost.calls, cost.usd) for cost in costs] == [(2, 1.0)] * 4 + [(0, 0)]


def test_what_answers_cost_is_what_was_paid_or_their_tokens_at_the_price() -> None:
    part = SimpleNamespace(name="mine", scenario=scenario(answer={"kind": "choice", "of": ["yes"], "max_tokens": 100}))  # fmt: skip
    answers = {"0": SystemAnswer("x", prompt_tokens=1000, completion_tokens=10, usd=0.5, calls=1), "1": SystemAnswer("y", prompt_tokens=2000, completion_tokens=20, usd=0.25, calls=2), "2": SystemAnswer("", "timeout")}  # fmt: skip
    price = Price(prompt=3.0, completion=15.0)
    recorded = SimpleNamespace(asked=[], prices={"file": price})
    known = {case: answers[case] for case in ("0", "1")}
    found = _generation_cost(recorded, part, "file", known, None)  # type: ignore[arg-type]
    assert found.usd == pytest.approx((3000 * 3 + 30 * 15) / 1e6) and found.upper_usd == pytest.approx((3000 * 3 + 200 * 15) / 1e6)  # fmt: skip
    assert (found.calls, found.prompt, found.completion) == (2, 3000, 30)
    assert _generation_cost(recorded, part, "file", answers, None).usd is None, (
        "of one answer no tokens are known"
    )  # type: ignore[arg-type]
    assert _generation_cost(recorded, part, "other", known, None).usd is None  # type: ignore[arg-type]
    model = System(model="server/m", base_url="http://127.0.0.1:9/v1")
    asked = SimpleNamespace(asked=[model], prices={})
    paid = _generation_cost(asked, part, model.title, answers, SimpleNamespace(of=lambda seat: price))  # type: ignore[arg-type]
    assert (paid.calls, paid.usd, paid.prompt) == (2, 0.75, 3000), "an answer without a call cost nothing"
    assert paid.upper_usd == found.upper_usd


@pytest.mark.parametrize(
    ("rubric", "protocol", "order", "fields", "calls"),
    [
        ("medhelm", "single", "balanced", {"repeats": 3}, 3),
        ("medhelm", "panel", "balanced", {"repeats": 3}, 6),
        ("medhelm", "delphi", "balanced", {"limits": {"max_rounds": 4}}, 8),
        ("preference", "single", "both", {"repeats": 3}, 6),
        ("preference", "panel", "both", {}, 4),
        ("preference", "panel", "balanced", {}, 2),
        ("preference", "delphi", "both", {"limits": {"max_rounds": 4}}, 16),
        ("claims", "decompose-verify", "balanced", {}, 2 * 3),
    ],
)
def test_the_most_calls_of_an_answer_count_every_repeat_and_both_orders(
    rubric: str, protocol: str, order: str, fields: dict[str, Any], calls: int
) -> None:
    seats = [{"name": name, "order": order} for name in ("a", "b")[: 1 if protocol == "single" else 2]]
    jury = Jury.model_validate({"name": "j", "protocol": protocol, "seats": seats, **fields})
    assert _most_calls(jury, load_rubric(rubric)) == calls
