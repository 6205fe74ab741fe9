"""What suites read: taxonomies, surveys, listings, published files, outputs, prompts, prices, HELM's folders, people's ratings."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import venire
from shared_data import shared_file

from venire import VenireError
from venire.agents.cost import Price
from venire.evals.statistics.draws import Draws
from venire.evals.suites.board import board
from venire.evals.suites.clinicians import COMBINED, JURY, PEOPLE, agreement_with_people
from venire.evals.suites.gold import gold_filter, gold_json
from venire.evals.suites.helm_runs import load_helm, statistic_mean
from venire.evals.suites.outputs import RecordedOutput, load_recorded
from venire.evals.suites.scenario import (
    LIBRARY,
    PromptTemplate,
    Scenario,
    column_text,
    load_scenario,
    load_scenario_cases,
)
from venire.evals.suites.score_table import ScenarioColumn, ScoreTable
from venire.evals.suites.scored_systems import scored_scenario
from venire.evals.suites.suite import arm_name, load_suite
from venire.evals.suites.suite_cost import (
    dominated_by,
    load_price_list,
    load_token_costs,
    token_cost,
    total_cost,
)
from venire.evals.suites.suite_report import suite_json
from venire.evals.suites.suite_results import suite_results
from venire.evals.suites.taxonomy import load_listings, load_survey, load_taxonomy, taxonomy_coverage


def test_the_taxonomy_has_five_categories_and_22_subcategories() -> None:
    found = load_taxonomy("medhelm")
    assert [len(each.subcategories) for each in found.categories] == [4, 4, 5, 5, 4]
    assert all(sub.tasks and sub.definition for each in found.categories for sub in each.subcategories)


def test_the_listings_are_the_papers_35() -> None:
    listed = load_listings()
    taxonomy = load_taxonomy("medhelm")
    access = taxonomy_coverage(taxonomy, listed.values())
    assert (access.scenarios, dict(access.access)) == (35, {"public": 14, "gated": 7, "private": 14})
    counts = [sum(each.task == category.id for each in listed.values()) for category in taxonomy.categories]
    assert counts == [10, 6, 8, 6, 5]


def test_a_survey_gives_shares_with_wilsons_interval(tmp_path: Path) -> None:
    rows = ["person,node,parent"]
    rows += [f"p{number},planning-treatments,{'clinical-decision-support' if number < 28 else 'Administration and Workflow'}" for number in range(29)]  # fmt: skip
    (tmp_path / "survey.csv").write_text("\n".join(rows) + "\n")
    found = load_survey(tmp_path / "survey.csv", load_taxonomy("medhelm"))
    (node,) = found.nodes
    assert (node.share.value, node.share.n, dict(node.elsewhere)) == (
        pytest.approx(28 / 29),
        29,
        {"administration": 1},
    )
    assert (node.share.low, node.share.high) == (
        pytest.approx(0.8282, abs=1e-3),
        pytest.approx(0.9939, abs=1e-3),
    )
    assert len(found.unasked) == 21
    (tmp_path / "survey.csv").write_text("person,node,parent\na,planning-treatmens,administration\n")
    with pytest.raises(VenireError, match="planning-treatmens"):
        load_survey(tmp_path / "survey.csv", load_taxonomy("medhelm"))


@pytest.mark.parametrize(
    ("name", "cases", "constant"),
    [("pubmedqa", 500, 0.552), ("medec", 597, 0.521), ("aci-bench", 40, None), ("mts-dialog", 200, None), ("medagents-medqa", 100, None)],
)  # fmt: skip
def test_published_files_are_read_and_have_their_baselines(
    name: str, cases: int, constant: float | None
) -> None:
    data = shared_file("pubmedqa/ori_pqal.json").parents[1]
    scenario = load_scenario(name, data=data)
    found = load_scenario_cases(scenario)
    assert len(found) == cases
    assert scenario.template is not None
    scenario.template.check_columns(found[0].columns, target="target")
    assert str(found[0].target) not in ("", "None")
    if constant is not None:
        assert scored_scenario(scenario, found, {}).baselines["constant"] == pytest.approx(constant, abs=5e-4)


def test_every_scenario_that_venire_brings_has_its_place_and_its_prompt() -> None:
    taxonomy = load_taxonomy("medhelm")
    names = sorted(path.stem for path in LIBRARY.glob("*.yaml"))
    assert len(names) == 11
    for name in names:
        scenario = load_scenario(name)
        assert scenario.task in taxonomy.places and "/" in str(scenario.task)
        assert scenario.template is not None and scenario.template.columns
        assert scenario.source is not None and scenario.source.commit


def test_a_file_that_is_not_the_published_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pubmedqa").mkdir()
    (tmp_path / "pubmedqa" / "ori_pqal.json").write_text("{}")
    with pytest.raises(VenireError, match="not the file that pubmedqa was made for"):
        load_scenario_cases(load_scenario("pubmedqa", data=tmp_path))


def test_a_target_may_be_nought_or_false_and_is_missing_only_where_nothing_stands(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "target": 0},
        {"id": "b", "target": False},
        {"id": "c", "target": []},
        {"id": "d", "target": " "},
        {"id": "e"},
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps({"input": "x", **row}) + "\n" for row in rows))
    scenario = Scenario.model_validate(
        {"name": "s", "cases": str(tmp_path / "cases.jsonl"), "score": "exact"}
    )
    targets = {case.id: case.target for case in load_scenario_cases(scenario)}
    assert targets == {"a": 0, "b": False, "c": [], "d": None, "e": None}


def test_a_prompt_shows_named_columns_alone() -> None:
    prompt = PromptTemplate(Path("ask.md"), 'Return {"answer": ...}\n{question}\n{options}')
    columns = {"question": "Which {target}?", "options": {"A": "one", "B": "two"}, "target": "B"}
    assert prompt.render(columns, case="1") == 'Return {"answer": ...}\nWhich {target}?\nA. one\nB. two'
    with pytest.raises(VenireError, match="no column 'options'"):
        prompt.check_columns({"question": "x"}, target=None)
    with pytest.raises(VenireError, match="which is the right answer"):
        PromptTemplate(Path("ask.md"), "{target}").check_columns(columns, target="target")
    with pytest.raises(VenireError, match="names no column"):
        PromptTemplate(Path("ask.md"), "Well?").check_columns(columns, target=None)
    shown = {
        (): "",
        ("one", "two"): "A. one\nB. two",
        ("one\nmore", "two"): "one\nmore\n\ntwo",
        (1, 2): "1\n\n2",
    }
    assert {value: column_text(value) for value in shown} == shown and column_text(["x"] * 27).startswith(
        "x\n\nx"
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"systems": [{"name": "a"}]}, "either a model or outputs"),
        ({"systems": [{"outputs": "out.jsonl"}, {"outputs": "none.jsonl"}]}, "no such file"),
        ({"scenarios": ["pubmedqua"]}, "did you mean 'pubmedqa'"),
        ({"scenarios": ["s.yaml", "s.yaml"]}, "two scenarios are named 's'"),
        ({"taxonomy": "medhlm"}, "did you mean 'medhelm'"),
        ({"judge": 3}, "unknown key 'judge'"),
        ({"scenarios": [{"scenario": "s.yaml", "score": "exactly"}]}, "did you mean 'exact'"),
    ],
)
def test_a_wrong_suite_says_what_to_mend(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "1", "target": "a"}\n')
    (tmp_path / "s.yaml").write_text("cases: cases.jsonl\nscore: exact\n")
    (tmp_path / "out.jsonl").write_text('{"case": "1", "system": "x", "output": "a"}\n')
    whole = {"scenarios": ["s.yaml"], "systems": [{"outputs": "out.jsonl"}], **change}
    (tmp_path / "suite.yaml").write_text(json.dumps(whole))
    with pytest.raises(VenireError, match=re.escape(told)):
        load_suite(tmp_path / "suite.yaml")


def test_recorded_outputs_are_found_by_their_own_column_names(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "1", "target": "a"}\n{"id": "2", "target": "b"}\n')
    (tmp_path / "s.yaml").write_text("cases: cases.jsonl\nscore: exact\n")
    (tmp_path / "theirs.csv").write_text("key,text\n1,a\n9,b\n")
    system = {"name": "GPT 4/x", "outputs": "theirs.csv", "columns": {"case": "key", "output": "text"}}
    (tmp_path / "suite.yaml").write_text(json.dumps({"scenarios": ["s.yaml"], "systems": [system]}))
    loaded = load_suite(tmp_path / "suite.yaml")
    assert loaded.parts[0].recorded["GPT 4/x"]["1"].text == "a"
    assert any("match no case" in note for note in loaded.notes)
    found = suite_json(suite_results(loaded, tmp_path / "run", draws=Draws(0, 40)))
    assert found["scenarios"]["s"]["scores"]["GPT 4/x"]["score"] == 1.0
    assert found["scenarios"]["s"]["missing"] == 1 and found["systems"]["GPT 4/x"]["usd"] is None


def test_names_of_arms_differ_where_names_of_people_do() -> None:
    assert arm_name("pubmedqa", "small") == "pubmedqa--small"
    assert len({arm_name("s", name) for name in ("GPT-4", "gpt-4", "gpt 4", "日本")}) == 4


def test_costs_are_exact_to_the_cent_and_unknown_prices_stay_unknown(tmp_path: Path) -> None:
    price = Price(prompt=3.0, completion=15.0)
    assert token_cost(245_958_343, 1_000_000, price).usd == pytest.approx(752.875029, abs=1e-6)
    assert token_cost(10, None, price).usd is None and token_cost(10, 10, None).usd is None
    (tmp_path / "prices.csv").write_text("model,prompt,completion\na,2.5,10\njudge,1,1\n")
    (tmp_path / "tokens.csv").write_text(
        "system,kind,model,prompt_tokens,completion_tokens,max_tokens,calls\n"
        'a,generation,,"1,000,000",500000,2000,1000\na,jury,judge,3000000,0,,\nb,,,7,7,,\n'
    )
    found = load_token_costs(tmp_path / "tokens.csv", load_price_list(tmp_path / "prices.csv"))
    assert (found["a"].generation.usd, found["a"].jury.usd, found["a"].total.usd) == (7.5, 3.0, 10.5)
    assert found["a"].generation.upper_usd == 22.5 and found["b"].total.usd is None
    worth = {"a": 0.5, "b": 0.9, "c": 0.5, "d": 0.4}
    assert dominated_by({"a": 1.0, "b": None, "c": 2.0, "d": 0.5}, worth) == {"c": "a"}
    assert found["a"].total.calls == 1001 and found["a"].total.tokens == 4_500_000
    total = total_cost([found["a"], found["a"]])
    assert (total.generation.usd, total.jury.usd, total.total.usd) == (15.0, 6.0, 21.0)
    assert total_cost(found.values()).total.usd is None


def test_rows_of_one_system_add_up_and_no_call_is_none(tmp_path: Path) -> None:
    (tmp_path / "tokens.csv").write_text(
        "system,prompt_tokens,completion_tokens,max_tokens,calls\na,10,20,5,0\na,100,200,5,2\na,1,2,5,\n"
    )
    found = load_token_costs(tmp_path / "tokens.csv", {"a": Price(prompt=1e6, completion=1e6)})["a"]

    cost = found.generation
    # Of three rows without a call, with two, and with one as where none is said.
    assert (cost.calls, cost.prompt, cost.completion, cost.usd, cost.upper_usd) == (
        3,
        111,
        222,
        333,
        111 + 15,
    )
    assert found.jury.calls == 0


@pytest.mark.parametrize(
    ("costs", "worth", "by"),
    [
        ({"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 0.5}, {}),
        ({"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 0.6}, {"a": "b"}),
        ({"a": 2.0, "b": 1.0}, {"a": 0.6, "b": 0.5}, {}),
        ({"a": 3.0, "b": 1.0, "c": 2.0}, {"a": 0.5, "b": 0.6, "c": 0.7}, {"a": "c"}),
        ({"a": 3.0, "b": 1.0, "c": 2.0}, {"a": 0.5, "b": 0.7, "c": 0.7}, {"a": "b", "c": "b"}),
        ({"a": 3.0, "b": 1.0}, {"a": math.nan, "b": 0.6}, {}),
    ],
)  # fmt: skip
def test_a_system_is_dominated_by_the_best_that_is_no_dearer_and_no_worse(costs: dict[str, float], worth: dict[str, float], by: dict[str, str]) -> None:  # fmt: skip
    assert dominated_by(costs, worth) == by


def test_scores_are_compared_where_references_are_reasonable_and_where_they_are_not() -> None:
    """Six cases of a scenario whose lower scores are better: three references are reasonable, two are not, one is undecided."""
    scores = pd.DataFrame(
        {"a": [0.0, 0.2, 0.4, 0.8, 1.0, 1.0], "b": [0.2, 0.4, 0.6, 0.2, 0.0, 0.0]}, index=[f"c{n}" for n in range(6)]
    )  # fmt: skip
    other = pd.DataFrame({"a": [0.9], "b": [0.1]})
    columns = {"s": ScenarioColumn("s", direction="lower"), "o": ScenarioColumn("o")}
    table = ScoreTable(pd.DataFrame({"s": scores.mean(), "o": other.mean()}), columns, {"s": scores})
    results = SimpleNamespace(table=table, board=board(table))
    found = gold_filter(results, {"s": {"c0": True, "c1": True, "c2": True, "c3": False, "c4": False}, "o": {"x": True}}, draws=Draws(0, 400))  # type: ignore[arg-type]  # fmt: skip
    (gold,) = found.scenarios

    assert (gold.reasonable, gold.unreasonable, gold.undecided) == (3, 2, 1)
    assert (gold.kept_mean, gold.other_mean) == (pytest.approx(1 - 0.3), pytest.approx(1 - 0.5))
    assert gold.systems == {"a": pytest.approx((0.8, 0.1)), "b": pytest.approx((0.6, 0.9))}
    assert gold.difference.value == pytest.approx(0.2) and gold.difference.n == 5
    # By case the means are 0.9, 0.7, 0.5 and 0.5, 0.5: all that varies is the first side.
    assert (gold.difference.low, gold.difference.high) == pytest.approx((0.0, 0.4), abs=0.07)
    # With every case b is better on s, and so it is with the undecided one; where references are reasonable a is.
    assert dict(found.before) == {"a": 0.5, "b": 0.5} and found.after == (("a", 1.0), ("b", 0.0))
    assert "o: there are no scores for single cases" in found.notes[0]
    document = gold_json(found)
    told = document["scenarios"]["s"]
    assert (told["mean_reasonable"], told["mean_unreasonable"], told["difference"]["value"]) == (gold.kept_mean, gold.other_mean, gold.difference.value)  # fmt: skip
    assert told["systems"]["b"] == {"reasonable": gold.systems["b"][0], "unreasonable": gold.systems["b"][1]}
    assert document["ranking"]["reasonable"][0] == {"system": "a", "win_rate": 1.0}


@pytest.mark.parametrize(("reasonable", "note"), [({"c0": True}, "no reference is unreasonable"), ({"c0": False}, "no reference is reasonable"), ({"c0": True, "c1": False}, "no interval")])  # fmt: skip
def test_without_two_cases_on_either_side_there_is_no_interval(
    reasonable: dict[str, bool], note: str
) -> None:
    scores = pd.DataFrame({"a": [0.0, 1.0]}, index=["c0", "c1"])
    table = ScoreTable(pd.DataFrame({"s": scores.mean()}), {"s": ScenarioColumn("s")}, {"s": scores})
    (gold,) = gold_filter(SimpleNamespace(table=table, board=board(table)), {"s": reasonable}).scenarios  # type: ignore[arg-type]  # fmt: skip
    assert note in gold.difference.note and math.isnan(gold.difference.low)
    assert gold.difference.defined == (len(reasonable) == 2)


def test_a_scenario_without_a_reasonable_reference_has_no_part_in_the_second_ranking() -> None:
    cases = {"s": pd.DataFrame({"a": [0.0], "b": [1.0]}, index=["c0"]), "o": pd.DataFrame({"a": [0.9], "b": [0.1]}, index=["x"])}  # fmt: skip
    means = pd.DataFrame({name: scores.mean() for name, scores in cases.items()})
    table = ScoreTable(means, {name: ScenarioColumn(name) for name in cases}, cases)
    results: Any = SimpleNamespace(table=table, board=board(table))
    found = gold_filter(results, {"s": {"c0": False}, "o": {"x": True}}, draws=Draws(0, 10))

    assert dict(found.before) == {"a": 0.5, "b": 0.5} and found.after == (("a", 1.0), ("b", 0.0))
    assert "s: no reference is reasonable" in found.notes[0]


def test_decimal_commas_make_no_count_of_tokens_tenfold(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("model;prompt;completion\na;2,5;10\n")
    (tmp_path / "tokens.csv").write_text("system;prompt_tokens;completion_tokens\na;1250,5;0\n")

    prices = load_price_list(tmp_path / "prices.csv")
    assert prices["a"] == Price(prompt=2.5, completion=10)
    with pytest.raises(VenireError, match=r"tokens\.csv:2: '1250,5' is not a number of prompt_tokens"):
        load_token_costs(tmp_path / "tokens.csv", prices)
    for written in ("NaN", "inf", "-1", "1.5", "many"):
        (tmp_path / "tokens.csv").write_text(f"system,prompt_tokens,completion_tokens\na,5,{written}\n")
        with pytest.raises(VenireError, match=f":2: '{written}' is not a number of completion_tokens"):
            load_token_costs(tmp_path / "tokens.csv", prices)


def test_helms_folders_are_read_without_helm() -> None:
    folder = shared_file("eval_logs/NOTE.md").parent / "helm"
    found = load_helm(folder)
    scores = {
        run.system: (run.metric, round(run.mean, 4), len(run.scores), run.max_tokens) for run in found.runs
    }
    assert scores == {
        "eleutherai/pythia-1b-v0": ("exact_match", 0.3, 10, 1),
        "openai/gpt2": ("exact_match", 0.1111, 9, 1),
    }
    assert found.runs[0].outputs and found.runs[0].prompt_tokens == 6314
    assert any("they are not of the split test" in note for note in found.notes)


@pytest.mark.parametrize(
    ("scenario", "metrics", "shown"),
    [
        ("narrative_qa", {"exact_match", "f1_score"}, "f1_score"),
        ("med_qa", {"exact_match", "quasi_exact_match"}, "quasi_exact_match"),
        ("mmlu", {"quasi_exact_match", "exact_match", "f1_score"}, "exact_match"),
        ("med_qa", {"med_qa_accuracy", "quasi_exact_match"}, "med_qa_accuracy"),
        ("narrative_qa", {"exact_match", "num_bytes"}, "exact_match"),
    ],
)
def test_a_run_is_scored_by_its_jury_then_by_its_scenarios_own_metric_then_by_the_usual_ones(
    tmp_path: Path, scenario: str, metrics: set[str], shown: str
) -> None:
    helm_run(tmp_path, "a", {"id1": [1.0]}, *sorted(metrics), scenario=scenario)

    (run,) = load_helm(tmp_path).runs
    assert run.metric == shown


def helm_run(
    folder: Path, model: str, values: dict[str, list[float]], *metrics: str, scenario: str = "aci_bench"
) -> None:
    run = folder / f"{scenario}:model={model}"
    run.mkdir(parents=True)
    (run / "run_spec.json").write_text(
        json.dumps({"name": f"{scenario}:model={model}", "adapter_spec": {"model": model}})
    )

    def stats(value: float, **further: Any) -> list[dict[str, Any]]:
        return [
            {"name": {"name": metric, "split": "test", **further}, "count": 1, "sum": value, "mean": value}
            for metric in metrics or ("aci_bench_accuracy",)
        ]

    entries = [
        {"instance_id": case, "train_trial_index": trial, "stats": [*stats(value), *stats(0.0, perturbation={"name": "typos"})]}
        for case, trials in values.items()
        for trial, value in enumerate(trials)
    ]  # fmt: skip
    entries.append({"instance_id": "id1", "perturbation": {"name": "typos"}, "stats": stats(1.0)})
    (run / "per_instance_stats.json").write_text(json.dumps(entries))


def test_a_jurys_helm_scores_have_their_scale_and_trials_are_averaged(tmp_path: Path) -> None:
    helm_run(tmp_path / "runs", "a", {"id1": [4.0, 5.0], "id2": [3.0]})
    helm_run(tmp_path / "runs", "b", {"id1": [2.0], "id2": [3.0]})
    done = venire("suite", "import-helm", "runs", "-o", "out", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["scenarios"]["aci_bench"]["scores"] == {"a": 3.75, "b": 2.5}
    assert found["systems"]["a"]["macro"] == pytest.approx((3.75 - 1) / 4)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "scores.csv",
        "columns.csv",
        "tokens.csv",
        "outputs.jsonl",
    }
    with pytest.raises(VenireError, match=r"no file run_spec\.json"):
        load_helm(tmp_path / "out")


def rated_answers(sets: int, noise: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(5)
    answers, ratings = [], []
    for number in range(sets):
        for case in range(24):
            quality = rng.normal()
            name = f"set{number}/{case}@x"
            answers.append({"case": name, "set": f"set{number}", "group": f"set{number}/{case}", "jury": quality, "output": "word " * (1 + case % 5), "reference": "word"})  # fmt: skip
            for rater, harsh in (("ann", 1.0), ("bea", -2.0)):
                ratings += [{"case": name, "rater": rater, "attribute": axis, "value": harsh + 3 * quality + noise * rng.normal()} for axis in ("one", "two")]  # fmt: skip
    return pd.DataFrame(answers), pd.DataFrame(ratings)


def test_a_jury_that_ranks_as_people_do_has_an_icc_of_one_whatever_their_scales() -> None:
    answers, ratings = rated_answers(2, 0.0)
    found = agreement_with_people(answers, ratings)
    by = {(row.set, row.measure): row.estimate for row in found.rows}
    assert {name for name, _ in by} == {"set0", "set1", COMBINED}
    assert by["set0", JURY].value == pytest.approx(1.0) and by["set0", PEOPLE].value == pytest.approx(1.0)
    assert by[COMBINED, "ROUGE-L"].value < 0.9
    bare = answers.assign(reference=answers["reference"].where(answers["set"] == "set1"))
    few = {(row.set, row.measure): row.estimate for row in agreement_with_people(bare, ratings).rows}
    assert not few["set0", "ROUGE-L"].defined, "without a reference there is nothing to overlap with"
    assert few["set0", JURY].n == 24 and few[COMBINED, "ROUGE-L"].n == few["set1", "ROUGE-L"].n == 24
    assert few["set1", "ROUGE-L"].value == by["set1", "ROUGE-L"].value
    with pytest.raises(VenireError, match="none of the ratings belongs to an answer"):
        agreement_with_people(answers, ratings.assign(case="other"))


@pytest.mark.parametrize(
    ("stat", "mean"),
    [
        ({"count": 2, "sum": 3}, 1.5),
        ({"count": 4, "mean": 0.5}, 0.5),
        ({"count": 2}, None),
        ({"count": 2, "sum": "three"}, None),
        ({"count": 0, "sum": 0}, None),
    ],
)
def test_a_helm_statistic_without_a_number_is_none_and_not_zero(
    stat: dict[str, object], mean: float | None
) -> None:
    assert statistic_mean(stat) == mean


def test_recorded_outputs_are_sorted_by_scenario_system_and_case(tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("scenario,case,system,answer,prompt_tokens,completion_tokens\na,1,x,Yes.,10,2\n,2,x,No.,,\nother,1,x,Lost.,1,1\na,1,y,,7,0\n")  # fmt: skip
    two.write_text("case,output\n1,Maybe.\n")
    files: Any = [("", [one], "b", {"output": "answer"}), ("z", [two], "b", {})]
    found, notes = load_recorded(tmp_path / "s.yaml", files, ["a", "b"])

    assert found["a"]["x"]["1"] == RecordedOutput("Yes.", 10, 2) and found["b"]["x"]["2"] == RecordedOutput(
        "No."
    )
    assert found["a"]["y"]["1"] == RecordedOutput("", 7, 0) and found["b"]["z"]["1"].text == "Maybe."
    assert {name: sorted(systems) for name, systems in found.items()} == {"a": ["x", "y"], "b": ["x", "z"]}
    assert notes == ["one.csv: 1 output left out, because the suite does not have the named scenario"]
    alone, _ = load_recorded(tmp_path / "s.yaml", [("z", [two], None, {})], ["a"])
    assert list(alone) == ["a"], "a suite of one scenario needs no name for it"
    for scenario, text, problem in (
        (None, "case,output\n1,x\n", "which scenario the output belongs to"),
        ("a", "case,output\n1,x\n1,y\n", "two outputs for case '1' of 'a'"),
        ("a", "case,output\n,x\n", "'case' is missing"),
        ("a", "case,output,prompt_tokens\n1,x,1.5\n", "not a number of tokens"),
        ("a", "case,output,prompt_tokens\n1,x,NaN\n", "not a number of tokens"),
        ("a", "case,output,completion_tokens\n1,x,inf\n", "not a number of tokens"),
        ("a", "case,output,completion_tokens\n1,x,-2\n", "not a number of tokens"),
    ):
        two.write_text(text)
        with pytest.raises(VenireError, match=problem):
            load_recorded(tmp_path / "s.yaml", [("z", [two], scenario, {})], ["a", "b"])
    with pytest.raises(VenireError, match="no column 'outputs'"):
        load_recorded(tmp_path / "s.yaml", [("z", [two], "a", {"outputs": "answer"})], ["a"])
