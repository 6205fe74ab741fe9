"""Figures of whole results of this room, kept: a suite with every kind of scorer, its plan, its references, people beside its jury; boards and costs of tables."""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from kept_figures import check_kept
from openai_server import Call, Fault, ProviderServer
from rich.console import Console

from venire import load_jury
from venire.evals.metrics import minilm
from venire.evals.report.section import records
from venire.evals.statistics.draws import Draws
from venire.evals.suites.board import _resampled_rates, board, rank_intervals
from venire.evals.suites.clinicians import agreement_with_people, people_json
from venire.evals.suites.gold import (
    gold_filter,
    gold_json,
    gold_rubric,
    gold_sentences,
    recorded_gold,
    run_gold,
)
from venire.evals.suites.helm_runs import helm_tables, load_helm
from venire.evals.suites.score_table import load_scores
from venire.evals.suites.suite import load_suite
from venire.evals.suites.suite_cost import dominated_by, load_price_list, load_token_costs, total_cost
from venire.evals.suites.suite_plan import (
    check_json,
    coverage_json,
    coverage_sentences,
    duration_words,
    plan_sentences,
    plan_suite,
    suite_plan_json,
)
from venire.evals.suites.suite_report import (
    board_frame,
    case_rows,
    case_table,
    cost_table,
    people_frame,
    scenario_table,
    suite_figures,
    suite_json,
    suite_sentences,
    table_shares,
)
from venire.evals.suites.suite_results import SuiteResults, suite_results
from venire.evals.suites.suite_run import SuiteSession, run_suite
from venire.evals.suites.suite_tables import (
    board_json,
    board_page,
    board_sentences,
    cost_sentences,
    differences_table,
    scored_json,
)
from venire.evals.suites.taxonomy import load_survey, load_taxonomy, taxonomy_coverage

KEPT = Path(__file__).parent / "kept"
SIZE = 8


def chance(*parts: Any) -> float:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=7).digest(), "big") / 2**56


def write(folder: Path, name: str, content: Any) -> None:
    (folder / name).write_text(
        content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
    )


def write_rows(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


SCENARIOS: dict[str, dict[str, Any]] = {
    "parity": {"answer": {"kind": "choice", "of": ["yes", "no", "maybe"], "max_tokens": 4}, "score": "choice", "task": "medical-research/conducting-literature-research"},
    "dose": {"answer": {"max_tokens": 9}, "score": {"range": {"relative": 0.1}}, "task": "clinical-decision-support"},
    "codes": {"answer": {"max_tokens": 12}, "score": "multilabel", "task": "administration"},
    "notes": {"answer": {"max_tokens": 30}, "score": {"jury": "three.yaml", "rubric": "rating.yaml", "quorum": 2}, "group": "ward", "task": "clinical-decision-support"},
    "pairs": {"answer": {"max_tokens": 30}, "score": {"jury": "three.yaml", "rubric": "rating.yaml", "against": "base"}},
}  # fmt: skip
TARGETS: dict[str, list[Any]] = {
    "parity": ["yes", "no", "yes", "yes", "maybe", "no", "yes", None],
    "dose": [10, [5, 15], {"low": 1, "high": 2}, 40, 20, 20, 10, None],
    "codes": ["a, b", "b", "a, c, d", "none", "c", "a, b, c, d", "d", "b, c"],
    "notes": ["well"] * SIZE,
    "pairs": ["well"] * SIZE,
}


def answer(call: Call) -> Any:
    """What a system answers, or a juror gives; everything follows from the model and the question."""
    scenario, number = re.findall(r"Question of (\w+) (\d+)\.", call.prompt)[0]
    who = (call.model, scenario, number)
    if call.schema is not None:
        found = re.findall(r"(one|two|base|clever|lazy) writes", call.prompt)
        who = (*who, *found)
        if chance("mute", *who) < 0.12:
            return "no ballot"
        ends = [schema["properties"]["score"].get("enum", [0, 1]) for schema in call.schema["properties"].values()]  # fmt: skip
        return json.dumps({name: {"rationale": "r", "evidence": [], "score": values[int(chance(name, *who) * len(values))]} for name, values in zip(call.schema["properties"], ends, strict=True)})  # fmt: skip
    if call.model == "lazy" and chance("down", *who) < 0.15:
        return Fault(status=400)
    target = TARGETS[scenario][int(number)]
    if chance("mad", *who) < 0.2:
        return "I could not say."
    wrong = {"parity": "no", "dose": "12", "codes": "a, d"}.get(scenario, "")
    if scenario in ("notes", "pairs"):
        return f"{call.model} writes of {number}."
    return wrong if call.model == "lazy" or target is None or chance("wrong", *who) < 0.3 else str(target if scenario != "dose" or isinstance(target, int) else 1.5)  # fmt: skip


def write_suite(folder: Path, url: str) -> None:
    for name, fields in SCENARIOS.items():
        write_rows(folder, f"{name}.jsonl", [{"id": f"{n}", "question": f"Question of {name} {n}.", "target": TARGETS[name][n], "ward": f"w{n // 3}"} for n in range(SIZE)])  # fmt: skip
        write(folder, f"{name}.yaml", {"cases": f"{name}.jsonl", "prompt": "ask.md", **fields})
    write(folder, "ask.md", "{question} Be brief.")
    write(folder, "private.yaml", {"access": "private", "task": "medical-research"})
    five = {"level": "ordinal", "anchors": {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}}
    attributes = [{"name": "good", "question": "Is it good?", "scale": "five"}, {"name": "risky", "question": "Is it risky?", "scale": "five", "better": "low"}]  # fmt: skip
    write(folder, "rating.yaml", {"name": "rating", "version": 1, "scales": {"five": five}, "attributes": attributes})  # fmt: skip
    seats = [{"name": seat, "model": f"server/{seat}", "base_url": url, "max_tokens": 50} for seat in "abc"]
    write(folder, "three.yaml", {"name": "three", "protocol": "panel", "quorum": 2, "count": "mean", "seats": seats})  # fmt: skip
    recorded = [
        {"scenario": name, "case": f"{n}", "system": system, "output": _recorded(name, n, system), "prompt_tokens": 20 + n, "completion_tokens": None if (system, n) == ("two", 3) else 5 * n}
        for name in SCENARIOS for n in range(SIZE) for system in ("one", "two", "base") if (system, n % 4) != ("two", 1)
    ]  # fmt: skip
    write_rows(folder, "outputs.jsonl", [*recorded, {"scenario": "other", "case": "1", "system": "one", "output": "x"}])  # fmt: skip
    write(folder, "prices.yaml", {"server/clever": {"prompt": 100, "completion": 900}, "server/a": {"prompt": 10, "completion": 20}, "server/b": {"prompt": 1, "completion": 2}, "server/c": {"prompt": 0, "completion": 0}, "base": {"prompt": 900, "completion": 900}, "one": {"prompt": 7, "completion": 70}, "two": {"prompt": 1, "completion": 1}})  # fmt: skip
    models = [{"name": name, "model": f"server/{name}", "base_url": url} for name in ("clever", "lazy")]
    scenarios: list[Any] = ["parity.yaml", {"scenario": "dose.yaml", "sample": 7}, "codes.yaml", {"scenario": "notes.yaml", "judged": 4}, "pairs.yaml", "private.yaml", "ent-referral"]  # fmt: skip
    write(folder, "suite.yaml", {"scenarios": scenarios, "systems": [*models, {"outputs": "outputs.jsonl"}], "prices": "prices.yaml", "judged": 5, "seed": 3})  # fmt: skip


def _recorded(scenario: str, number: int, system: str) -> str:
    target = TARGETS[scenario][number]
    if scenario in ("notes", "pairs"):
        return f"{system} writes of {number}."
    if chance("recorded", scenario, number, system) < {"one": 0.2, "two": 0.5, "base": 0.7}[system]:
        return {"parity": "no", "dose": "41", "codes": "b, e"}[scenario]
    return str(target) if isinstance(target, str | int) else "yes" if scenario == "parity" else "9"


def session(folder: Path) -> SuiteSession:
    return SuiteSession(folder / "run", Console(file=io.StringIO()), quiet=True, in_flight=1)


def gold(folder: Path, results: SuiteResults, jury: str) -> dict[str, Any]:
    loaded, (rubric, attribute) = results.suite, gold_rubric("gold-answer")
    run_gold(loaded, session(folder), load_jury(folder / f"{jury}.yaml"), rubric, ("parity", "dose", "codes"))
    verdicts = {part.name: recorded_gold(folder / "run", part, jury, attribute) for part in loaded.parts[:3]}
    found = gold_filter(results, {**verdicts, "none": {}}, draws=Draws(0, 60))
    return {**gold_json(found), "said": gold_sentences(found), "verdicts": verdicts}


def without_minilm(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if its extra were not installed, whether or not an earlier test has loaded the model."""
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    minilm.minilm.cache_clear()


def test_a_suite_with_every_kind_of_scorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_minilm(monkeypatch)
    with ProviderServer(answer) as server:
        write_suite(tmp_path, server.url)
        suite = load_suite(tmp_path / "suite.yaml")
        before = plan_suite(suite, session(tmp_path))
        done = run_suite(suite, session(tmp_path))
        results = suite_results(suite, tmp_path / "run", draws=Draws(1, 60))
        strict = suite_results(suite, tmp_path / "run", ties="strict", draws=Draws(1, 60))
        references = gold(tmp_path, results, "three")
    ratings = pd.DataFrame(
        [
            (case, person, attribute, 1 + int(5 * chance(case, person, attribute)))
            for case in [*results.judged["case"], "notes/99@one"]
            for person in ("ana", "ben", "cy")
            for attribute in ("good", "risky")
            if chance("asked", case, person) < 0.7 or person == "ana"
        ],
        columns=["case", "rater", "attribute", "value"],
    )
    people = agreement_with_people(results.judged, ratings)
    check_kept(
        KEPT / "suite.json",
        {
            "check": check_json(suite),
            "plan": {**suite_plan_json(before), "said": plan_sentences(before)},
            "left": suite_plan_json(plan_suite(suite, session(tmp_path))),
            "run": done.json(),
            "report": suite_json(results),
            "said": suite_sentences(results),
            "strict": board_json("suite", strict.board),
            "cases": case_table(results),
            "rows": list(case_rows(results)),
            "scenarios": scenario_table(results),
            "costs": cost_table(results),
            "board": board_frame(results.board.standings),
            "differences": differences_table(results.board),
            "shares": table_shares(results.table),
            "figures": sorted(suite_figures(results)),
            "judged": results.judged,
            "baselines": results.baselines,
            "scored": [scored_json(each) for each in results.scored],
            "gold": references,
            "people": {**people_json(people), "rows": people_frame(people)},
        },
        without=r"/file\b|/run/run|plan/run|left/run|report/run|report/judges|judges|/seconds\b",
    )


def test_people_beside_a_jury(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sets of answers by three systems; four people of whom one gives one score to all, and one rates few; answers without a reference or a score."""
    without_minilm(monkeypatch)
    answers = pd.DataFrame(
        [
            (f"{name}/{case}@{system}", name, f"{name}/{case}", np.nan if (case + len(system)) % 9 == 0 else 1 + 4 * chance("jury", name, case, system) * 0.6 + 1.5 * chance("text", name, f"{case}", system),
             f"The cough is {'better' if chance(name, case, system) < 0.5 else 'worse'} and the fever {'gone' if chance('f', name, case, system) < 0.6 else 'high'}.", None if case % 6 == 5 else "The cough is better and the fever gone.")
            for name in ("notes", "talks") for case in range(14) for system in ("x", "yy", "zzz")
        ],
        columns=["case", "set", "group", "jury", "output", "reference"],
    )  # fmt: skip
    ratings = pd.DataFrame(
        [
            (case, person, attribute, 3 if person == "dee" else 1 + round(4 * (0.6 * chance("text", *re.split("[/@]", case)) + 0.4 * chance(case, person, attribute)), 1))
            for case in [*answers["case"], "other/1@x"] for person in ("ana", "ben", "cy", "dee") for attribute in ("good", "safe", "brief")
            if chance("asked", case, person) < {"ana": 1, "ben": 0.8, "cy": 0.3, "dee": 0.5}[person]
        ],
        columns=["case", "rater", "attribute", "value"],
    )  # fmt: skip
    check_kept(KEPT / "people.json", people_json(agreement_with_people(answers, ratings)))


def test_boards_and_costs_of_tables(tmp_path: Path) -> None:
    """Five systems on seven scenarios: cases known and not, a scale of its own, lower is better, no direction, one off its scale, cells missing, ties."""
    rng = np.random.default_rng(4)
    skill = dict(zip("vwxyz", (0.9, 0.7, 0.65, 0.4, 0.4), strict=True))
    rows = []
    for scenario, cases in {"a": 30, "b": 12, "c": 1, "d": 9, "e": 20, "f": 6}.items():
        for system, level in skill.items():
            if (system, scenario) == ("y", "d"):
                continue
            for case in range(cases):
                score = float(rng.random() < level) if scenario in "ab" else round(float(rng.beta(4 * level, 4 * (1 - level))), 1)  # fmt: skip
                score = 1 + 4 * score if scenario == "d" else 1 - score if scenario == "e" else score
                if rng.random() > 0.06:
                    rows.append({"system": system, "scenario": scenario, "case": "" if cases == 1 else f"{case}", "score": score})  # fmt: skip
    rows += [{"system": system, "scenario": name, "case": "", "score": value} for name, values in (("off", (12, 30, 7, 7, 9)), ("size", (1, 2, 3, 4, 5))) for system, value in zip(skill, values, strict=True)]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "long.csv", index=False)
    (tmp_path / "columns.csv").write_text("scenario,category,direction,low,high\na,asked,,,\nb,asked,higher,0,1\nd,rated,higher,1,5\ne,rated,lower,,\nsize,,none,,\n")  # fmt: skip
    (tmp_path / "wide.csv").write_text("Rank,Model,one,two,three,words,Mean\n1,v,78.4%,0.61 ± 0.02,0.5,good,0.6\n2,w,70%,-,0.5,bad,0.5\n3,x,\"0,5\",0.3,0.5,,0.4\n")  # fmt: skip
    (tmp_path / "tokens.csv").write_text("system,prompt_tokens,completion_tokens,kind,model,max_tokens,calls\nv,1000,200,generation,big,100,4\nv,500,50,jury,small,20,5\nw,900,,generation,big,10,\nx,10,10,generation,small,50,2\nx,30,5,jury,small,,\nlone,1,1,,small,9,1\n")  # fmt: skip
    (tmp_path / "prices.csv").write_text("model,prompt,completion\nbig,30,60\nsmall,1,2\n")
    costs = load_token_costs(tmp_path / "tokens.csv", load_price_list(tmp_path / "prices.csv"))
    numbers: dict[str, Any] = {}
    for name, file, columns in (("long", "long.csv", "columns.csv"), ("plain", "long.csv", None), ("wide", "wide.csv", None)):  # fmt: skip
        table = load_scores(tmp_path / file, tmp_path / columns if columns else None)
        for ties in ("half", "wins"):
            found = board(table, ties=ties, draws=Draws(2, 80))  # type: ignore[arg-type]
            page = board_page(found, name, tuple(board_sentences(found)))
            numbers[f"{name}, {ties}"] = {
                **board_json("file", found, costs if name == "long" else None),
                "said": page.sentences,
                "tables": {key: records(value) for key, value in page.tables.items()},
                "costs": cost_sentences(found, costs),
            }
    whole = pd.DataFrame(rows)
    whole[whole["scenario"].isin(["a", "b", "d", "e", "f"])].to_csv(tmp_path / "whole.csv", index=False)
    (tmp_path / "known.csv").write_text("scenario,direction,low,high\nd,higher,1,5\ne,lower,,\n")
    known = board(load_scores(tmp_path / "whole.csv", tmp_path / "known.csv"), draws=Draws(2, 80))
    numbers |= {
        "whole": {**board_json("file", known), "said": board_sentences(known)},
        "default": board_json("file", board(load_scores(tmp_path / "wide.csv"))),
        "costs": {name: {**cost.json(), "tokens": cost.total.tokens, "usd": cost.total.usd, "upper": cost.total.upper_usd} for name, cost in costs.items()},
        "total": total_cost(cost for name, cost in costs.items() if name != "w").json(),
        "dominated": dominated_by({"a": 1.0, "b": 2.0, "c": 2.0, "d": None, "e": 0.5, "f": 2.0}, {"a": 0.5, "b": 0.5, "c": 0.9, "d": 0.1, "e": 0.5, "f": float("nan")}),
        "times": [duration_words(seconds) for seconds in (12.4, 89.6, 91, 5399, 5401)],
    }  # fmt: skip
    check_kept(KEPT / "boards.json", numbers)


def test_resamples_of_boards() -> None:
    """As many as were asked for, of scenarios alone and of cases within them; ranks of systems that lie well apart and of some that do not."""
    rng = np.random.default_rng(7)
    scores = np.clip(np.linspace(0.9, 0.2, 6)[:, None] + rng.normal(0, 0.08, (6, 9)), 0, 1).round(2)
    scores[4, 2] = np.nan
    cases = [None if number % 3 == 0 else np.clip(column + rng.normal(0, 0.3, (20 + number, 6)), 0, 1) for number, column in enumerate(scores.T)]  # fmt: skip
    results = {}
    for name, known in (("alone", [None] * 9), ("cases", cases)):
        rates = _resampled_rates(scores, known, "half", Draws(3, 60))
        results[name] = {"shape": rates.shape, "rates": rates.tolist(), "ranks": [rank_intervals(scores, known, "strict", Draws(3, 60), confidence=level) for level in (0.8, 0.95)]}  # fmt: skip
    results["few"] = [
        rank_intervals(scores[:, :size], [None] * size, "half", Draws(3, 60)) for size in (4, 5)
    ]  # type: ignore[assignment]
    check_kept(KEPT / "resamples.json", results)


def test_surveys_and_coverage(tmp_path: Path) -> None:
    taxonomy = load_taxonomy("medhelm")
    nodes = [(category.id, sub.id) for category in taxonomy.categories for sub in category.subcategories][:9]
    parents = [category.id for category in taxonomy.categories]
    lines = [
        f"p{person},{node},{parent if chance('agrees', person, node) < 0.7 else parents[int(chance(person, node) * len(parents))]}"
        for person in range(7) for at, (parent, node) in enumerate(nodes) if (person + at) % 5
    ]  # fmt: skip
    (tmp_path / "survey.csv").write_text("\n".join(["person,node,parent", *lines, "p9,x,"]) + "\n")
    survey = load_survey(tmp_path / "survey.csv", taxonomy)
    with ProviderServer(answer) as server:
        write_suite(tmp_path, server.url)
    coverage = taxonomy_coverage(taxonomy, load_suite(tmp_path / "suite.yaml").listed.values())
    check_kept(KEPT / "taxonomy.json", {**coverage_json(coverage, survey), "said": coverage_sentences(coverage)})  # fmt: skip


def test_runs_of_helm(tmp_path: Path) -> None:
    """Trials, perturbed instances, another split, a run with its mean alone, a jury's scores from 1 to 5, a second run of one system."""

    def stat(name: str, value: float, split: str = "test", **more: Any) -> dict[str, Any]:
        return {"name": {"name": name, "split": split, **more}, "count": 2, "sum": 2 * value}

    specs = [("mmlu:subject=law,model=big", "big", 0.9), ("mmlu:subject=law,model=small", "small", 0.4), ("aci:model=big", "big", 0.7), ("mmlu:subject=law,model=big", "big", 0.1), ("qa:model=small", "small", 0.5)]  # fmt: skip
    for number, (name, model, level) in enumerate(specs):
        folder = tmp_path / f"run{number}"
        folder.mkdir()
        metric = "aci_accuracy" if name.startswith("aci") else "exact_match"
        scale = (lambda value: 1 + 4 * value) if name.startswith("aci") else (lambda value: value)
        (folder / "run_spec.json").write_text(json.dumps({"name": name, "adapter_spec": {"model": model, "max_tokens": 10 + number}}))  # fmt: skip
        entries = [
            {"instance_id": f"i{case}", "train_trial_index": trial, "perturbation": {"name": "typo"} if case == 5 else None,
             "stats": [stat(metric, scale(float(chance(name, case, trial) < level)), "valid" if case == 4 else "test"), stat("rouge_l", 0.3), stat("num_prompt_tokens", 7 + case), *([stat("num_output_tokens", 3)] if case or number else [])]}
            for case in range(6) for trial in range(1 + number % 2)
        ]  # fmt: skip
        if not name.startswith("qa"):
            (folder / "per_instance_stats.json").write_text(json.dumps(entries))
        (folder / "stats.json").write_text(json.dumps([stat(metric, scale(level)), stat(metric, 0.01, sub_split="x")]))  # fmt: skip
        state = [{"instance": {"id": f"i{case}", "input": {"text": "Which?"}, "references": [{"output": {"text": "the law"}, "tags": ["correct"]}, {"output": {"text": "none"}}]}, "output_mapping": {"A": "the law", "B": "none"}, "result": {"completions": [{"text": " A"}]}} for case in range(3)]  # fmt: skip
        (folder / "scenario_state.json").write_text(json.dumps({"request_states": state}))
    found = load_helm(tmp_path)
    rouge = load_helm(tmp_path / "run1", ["none", "rouge_l"])
    check_kept(
        KEPT / "helm.json",
        {
            "runs": [{**asdict(run), "folder": run.folder.name} for run in (*found.runs, *rouge.runs)],
            "notes": found.notes,
            **helm_tables(found),
        },
    )
