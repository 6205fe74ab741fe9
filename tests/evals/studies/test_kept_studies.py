"""Figures of whole results of this room, kept: what recorded jurors and arms are worth, a study from its plan to its report, a search, a grid's plan."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from kept_figures import check_kept
from openai_server import Call, ProviderServer, filled
from study_files import run_quietly

from venire import Jury
from venire.evals.comparison.objectives import OBJECTIVES, objective
from venire.evals.ratings.question import Question
from venire.evals.ratings.reference import reference
from venire.evals.studies.candidates import Composition
from venire.evals.studies.choices import Goal
from venire.evals.studies.deliberated_arms import weigh
from venire.evals.studies.findings import Findings, findings_at
from venire.evals.studies.judgements import arm_credits
from venire.evals.studies.plan import Plan, plan_study
from venire.evals.studies.plan_cost import most_calls
from venire.evals.studies.recorded_jurors import analyse
from venire.evals.studies.registration import plan_fields
from venire.evals.studies.search import arm_scores, beaten_by, pareto_front
from venire.evals.studies.study_plan import plan_json
from venire.evals.studies.study_record import recorded_trials
from venire.evals.studies.study_report import write_study_report
from venire.rubrics.scale import Scale

KEPT = Path(__file__).parent / "kept"
FIVE = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}})
SPAN = Scale.model_validate({"level": "interval", "minimum": 0, "maximum": 10})
TWO = Scale.model_validate({"level": "binary", "anchors": {0: "no", 1: "yes"}})
KIND = Scale.model_validate({"level": "nominal", "anchors": {"plain": "a", "odd": "b", "empty": "c"}})
QUESTIONS = {"good": Question(FIVE, "high"), "risk": Question(SPAN, "low"), "usable": Question(TWO, "high"), "tone": Question(KIND, "high")}  # fmt: skip


def chance(*parts: Any) -> float:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=7).digest(), "big") / 2**56


def answer(attribute: str, case: int, noise: float, who: str, bias: float = 0.0) -> Any:
    """What somebody says of a case; the truth is that without noise and bias."""
    value = 4 * chance("truth", attribute, case) + noise * (chance(attribute, case, who) - 0.5) + bias
    if attribute == "usable":
        return int(value > 1.8)
    if attribute == "tone":
        return ["plain", "odd", "empty"][min(2, max(0, int(value / 1.4)))]
    return min(10, max(0, round(2.4 * value))) if attribute == "risk" else min(5, max(1, round(value) + 1))


def group_of(case: int) -> str | None:
    """Cases stand alone, by two and by three."""
    return None if case % 7 == 0 else f"g{(case - case // 7) // (2 + case % 2)}"


def part_of(cases: int) -> list[str]:
    """About two fifths of the cases, by whole groups."""
    return [f"c{case}" for case in range(cases) if chance("test", group_of(case) or case) < 0.4]


def people(cases: int) -> pd.DataFrame:
    rows = [
        (f"c{case}", rater, attribute, answer(attribute, case, 1.6, rater))
        for case in range(cases) for attribute in QUESTIONS for rater in ("ana", "ben", "cy")
        if (rater != "cy" or case % 2) and chance("gap", case, attribute, rater) > 0.05
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])


JURORS = {"one": (1.5, 0.0), "two": (2.0, 0.4), "three": (2.5, -0.4), "four": (5.0, 0.0), "five": (4.0, 1.0)}
PRICES = {"one": 0.05, "two": 0.01, "three": 0.01, "four": 0.001}
"""A case of the fifth juror costs what nobody knows."""


def judgements(cases: int, *, repeats: int = 1) -> pd.DataFrame:
    rows = [
        (f"c{case}", juror, attribute, answer(attribute, case, noise, f"{juror}{repeat}", bias), repeat, ("given", "swapped")[case % 2 if juror == "two" else 0],
         PRICES.get(juror, np.nan), len(juror) * 0.5, group_of(case))
        for case in range(cases) for juror, (noise, bias) in JURORS.items() for attribute in QUESTIONS for repeat in range(1, 1 + repeats)
        if chance("silent", case, juror, attribute) > 0.06
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["case", "juror", "attribute", "value", "repeat", "order", "cost", "seconds", "group"])  # fmt: skip


def composition(found: Composition) -> dict[str, Any]:
    return {
        "advice": found.advice,
        "recommended": found.recommended,
        "tables": dict(found.tables),
        "unit": found.unit,
        "measure": found.measure,
        "methods": found.methods,
        "notes": found.notes,
        "apart": found.chosen_apart,
        "pays": found.pays,
    }


def test_juries_of_recorded_jurors() -> None:
    """By mean credit and by what a study may choose by; counted in each way; each case held out in turn, and a test set."""
    judged, rated = judgements(36), people(36)
    ordered = {name: QUESTIONS[name] for name in ("good", "risk")}
    two = {"usable": QUESTIONS["usable"]}
    test = part_of(36)
    goals = {name: Goal(objective(name)) for name in ("icc3k", "spearman")}
    results = {
        "credit": analyse(judged, rated, questions=QUESTIONS, rounds=2, resamples=50),
        "mean": analyse(judged, rated, questions=ordered, counting="mean", test=test, largest=3, reference="mean", seed=3, resamples=50),
        "mode": analyse(judged[judged["juror"] != "five"], rated, questions=two, counting="mode", rounds=1, orders=40, resamples=50),
        "goal": analyse(judged, rated, questions=ordered, rounds=1, goal=goals["icc3k"], resamples=50),
        "pooled": analyse(judged, rated, questions=ordered, rounds=1, goal=replace(goals["spearman"], choosing="pooled", margin=0.1), resamples=50),
    }  # fmt: skip
    check_kept(KEPT / "recorded_jurors.json", {name: composition(found) for name, found in results.items()})


def test_many_jurors_and_two_orders() -> None:
    """Twelve jurors, beyond what is tried or shared out exactly, and the same pair judged in both orders."""
    rng = np.random.default_rng(1)
    n, truth = 30, rng.integers(0, 2, 30)
    rows = [
        (f"c{case}", f"j{juror:02}", "usable", int(truth[case] if rng.random() < 0.55 + 0.03 * juror else 1 - truth[case]), order, repeat, 0.01 * (juror % 3 + 1))
        for case in range(n) for juror in range(12) for repeat, order in enumerate(("given", "swapped")[: 1 + juror % 2], 1) if rng.random() > 0.05
    ]  # fmt: skip
    judged = pd.DataFrame(rows, columns=["case", "juror", "attribute", "value", "order", "repeat", "cost"])
    rated = pd.DataFrame({"case": [f"c{case}" for case in range(n)], "rater": "ana", "attribute": "usable", "value": truth})  # fmt: skip
    found = analyse(judged, rated, questions={"usable": QUESTIONS["usable"]}, largest=5, rounds=1, orders=30, seed=2, resamples=50)  # fmt: skip
    check_kept(KEPT / "many_jurors.json", composition(found))


def arms_table(cases: int) -> pd.DataFrame:
    """Credits of three juries and three judges, of unequal price, one unknown; one judge answers less."""
    judged = judgements(cases).rename(columns={"juror": "rater"})
    judged = judged[~((judged["rater"] == "four") & (judged["case"].str.slice(1).astype(int) % 3 == 0))]
    kinds = {"one": "jury", "two": "jury", "three": "single judge", "four": "single judge", "five": "jury"}
    costs = pd.DataFrame({"arm": list(kinds), "cost": [0.05, 0.02, 0.01, 0.01, np.nan], "seconds": [9.0, 4.0, 2.0, 0.0, 7.0]})  # fmt: skip
    return arm_credits(
        judged[["case", "rater", "attribute", "value"]],
        reference(people(cases), QUESTIONS),
        questions=QUESTIONS,
        kinds=kinds,
        costs=costs,
        groups={f"c{case}": group for case in range(cases) if (group := group_of(case)) is not None},
    )


def test_arms_that_deliberated() -> None:
    table = arms_table(36)
    test = part_of(36)
    plain = table.drop(columns=["value", "truth", "cost", "seconds", "answered"])
    results = {
        "credit": weigh(table, questions=QUESTIONS, unit="dollars", resamples=50),
        "plain": weigh(plain, test=test, seed=4, resamples=50),
        "cheap": weigh(table[table["arm"].isin(["two", "three", "four"])], rounds=1, folds=4, questions=QUESTIONS, goal=Goal(OBJECTIVES["credit"], margin=0.02), resamples=50),
        "goal": weigh(table, questions=QUESTIONS, test=test, goal=Goal(OBJECTIVES["mae"]), resamples=50),
        "pooled": weigh(table, questions=QUESTIONS, goal=Goal(OBJECTIVES["icc3k"], choosing="pooled"), reference="mean", resamples=50),
        "judges": weigh(table[table["kind"] == "single judge"], questions=QUESTIONS, resamples=50),
    }  # fmt: skip
    scales = {name: question.scale for name, question in QUESTIONS.items()}
    scores = arm_scores(table)
    check_kept(
        KEPT / "arms.json",
        {
            "credits": table,
            **{name: composition(found) for name, found in results.items()},
            "scores": {name: asdict(score) for name, score in scores.items()},
            "scales": sorted(scales),
            "beaten": {name: beaten_by(score, {other: each for other, each in scores.items() if other != name}, ["agreement"]) for name, score in scores.items()},
            "fronts": [pareto_front({name: score for name, score in scores.items() if name != "five"}, wanted) for wanted in (["agreement"], ["agreement", "cost"], ["agreement", "cost", "latency"])],
        },
    )  # fmt: skip


RUBRIC = {
    "name": "wide", "version": 1,
    "scales": {"agree5": {"level": "ordinal", "anchors": {n: "abcde"[n - 1] for n in range(1, 6)}}, "yes": {"level": "binary", "anchors": {0: "no", 1: "yes"}}},
    "attributes": [{"name": "good", "question": "Is it good?", "scale": "agree5"}, {"name": "usable", "question": "Can it be used?", "scale": "yes"}],
}  # fmt: skip
VOICES = {"m": 0.0, "n": 0.7}


def juror(call: Call) -> Any:
    """A juror's ballot by model and persona; later rounds and repeats are others; some cannot be read."""
    assert call.schema is not None
    case = int(re.findall(r"Summary (\d+)\.", call.prompt)[0])
    persona = next((name for name in ("high-scoring", "low-scoring", "skeptic") if name in call.prompt), "")
    who = f"{call.model}{hashlib.sha256(call.prompt.partition('# Your seat')[2][:200].encode()).hexdigest()[:4]}{persona}{'moved_by' in json.dumps(call.schema)}"  # fmt: skip
    if persona == "low-scoring" and chance("mute", who, case) < 0.08:
        return "Nothing."
    noise, bias = {"m": (2.0, 0.0), "n": (3.5, 0.5)}.get(call.model, (1.0, 0.0))
    return filled(call.schema, lambda name: answer(name, case, noise, who, bias), evidence=["a fever"], moved_by="the fever")  # fmt: skip


def write_study(folder: Path, url: str, cases: int, **keys: Any) -> Path:
    rows = [{"id": f"c{case}", "source": f"Note {case}: a fever.", "output": f"Summary {case}. " + "Well. " * (case % 4), "group": group_of(case), "system": "xy"[case % 2], "ward": "abc"[case % 3]} for case in range(cases)]  # fmt: skip
    (folder / "cases.jsonl").write_text("".join(json.dumps({key: value for key, value in row.items() if value is not None}) + "\n" for row in rows))  # fmt: skip
    rated = people(cases)
    rated[rated["attribute"].isin(["good", "usable"])].to_csv(folder / "people.csv", index=False)
    (folder / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    (folder / "prices.yaml").write_text(yaml.safe_dump({"server/m": {"prompt": 1, "completion": 4}, "server/boss": {"prompt": 2, "completion": 8}}))  # fmt: skip
    models = {name: {"model": f"server/{name}", "base_url": url, "max_tokens": 300} for name in VOICES}
    personas = {"pair": ["high-scoring", "low-scoring"], "three": ["high-scoring", "low-scoring", "skeptic"]}
    document = {"name": "kept", "cases": "cases.jsonl", "rubric": "rubric.yaml", "ratings": "people.csv", "prices": "prices.yaml", "grid": {"personas": personas, "models": models}, **keys}  # fmt: skip
    (folder / "study.yaml").write_text(yaml.safe_dump(document))
    return folder / "study.yaml"


def shown_findings(found: Findings, folder: Path) -> dict[str, Any]:
    report = write_study_report(found, folder)
    sections = [{"name": each.name, "said": each.sentences, "tables": dict(each.tables), "notes": each.notes} for each in report.sections]  # fmt: skip
    own = [{"name": each.name, "said": each.sentences, "tables": dict(each.tables), "notes": each.notes} for each in found.sections]  # fmt: skip
    first = {"said": report.first.sentences, "tables": dict(report.first.tables)}
    return {"document": report.document, "sections": sections, "own": own, "first": first, "scores": report.scores}  # fmt: skip


OTHERWISE = r"seconds|/url|hash|/made|venire|/at\b|digest|judges|study/path|/run\b|/file\b|document/registration|latency"
OF_CLOCKS = rf"{OTHERWISE}|saved|/said|costs/sentences|deliberation/sentences"
"""What says how long calls took."""


def test_a_study_from_its_plan_to_its_report(tmp_path: Path) -> None:
    """Two panels on two models, their seats alone, a deliberation held twice, an arm on test cases alone; a stratified test part."""
    with ProviderServer(juror) as server:
        boss = {"model": "server/boss", "base_url": server.url}
        bench = {"name": "bench", "protocol": "delphi", "limits": {"max_rounds": 2}, "seats": [{"name": seat, "persona": persona, "model": f"server/{model}", "base_url": server.url} for seat, persona, model in (("a", "high-scoring", "m"), ("b", "skeptic", "n"))], "orchestrator": boss}  # fmt: skip
        judge = {"name": "judge", "protocol": "single", "seats": [{"name": "j", "model": "server/n", "base_url": server.url}]}  # fmt: skip
        path = write_study(
            tmp_path, server.url, 14,
            grid={"personas": {"three": ["high-scoring", "low-scoring", "skeptic"]}, "models": {name: {"model": f"server/{name}", "base_url": server.url} for name in VOICES}},
            arms=[{"jury": bench, "repeats": 2}, {"jury": judge, "repeats": 2, "on": "test"}, {"jury": {**bench, "name": "few"}, "on": 3}],
            split={"test": 0.4, "stratify": "system"}, seeds={"run": 1, "split": 2, "search": 3, "statistics": 4},
            tables=["corpus", "costs"], people={"minutes": 6, "wage": 50}, predictors=["ward"],
            objective="icc3k", margin=0.08,
        )  # fmt: skip
        plan = plan_study(path)
        assert isinstance(plan, Plan)
        run = run_quietly(path, in_flight=1)
    fields = plan_fields(plan)
    check_kept(
        KEPT / "study.json",
        {
            "plan": plan_json(plan),
            "split": asdict(plan.split),
            "registered": sorted(fields),
            "run": {"heard": run.heard, "skipped": run.skipped, "limit": run.limit},
            **shown_findings(findings_at(path, resamples=40), tmp_path / "report"),
        },
        without=OF_CLOCKS,
    )


def test_a_search(tmp_path: Path) -> None:
    with ProviderServer(juror) as server:
        path = write_study(tmp_path, server.url, 16, search={"trials": 5, "max_seats": 3, "at_once": 1, "chosen": 2}, split={"test": 0.25}, seeds=5)  # fmt: skip
        plan = plan_study(path)
        run = run_quietly(path, in_flight=1)
    found = findings_at(path, resamples=40)
    check_kept(
        KEPT / "search.json",
        {"plan": plan_json(plan), "trials": list(recorded_trials(run.folder)), **shown_findings(found, tmp_path / "report")},
        without=OF_CLOCKS,
    )  # fmt: skip


def test_a_study_of_recorded_judgements(tmp_path: Path) -> None:
    path = write_study(tmp_path, "http://127.0.0.1:9/v1", 30)
    judged = judgements(30, repeats=2)
    judged[judged["attribute"].isin(["good", "usable"])].to_csv(tmp_path / "judged.csv", index=False)
    document = yaml.safe_load(path.read_text())
    document = {key: value for key, value in document.items() if key in ("name", "rubric", "ratings")} | {"judgements": {"file": "judged.csv", "largest": 3}, "split": {"test": 0.5}, "attributes": ["good"], "seeds": 1}  # fmt: skip
    path.write_text(yaml.safe_dump(document))
    found = findings_at(path, resamples=40)
    check_kept(KEPT / "recorded_study.json", shown_findings(found, tmp_path / "report"), without=OTHERWISE)


def test_plans_of_grids(tmp_path: Path) -> None:
    """Every axis of a grid, further tasks, a budget; what each arm costs at the least and at the most."""
    url = "http://127.0.0.1:9/v1"
    wide = write_study(tmp_path, url, 12, split={"test": 0.3}, budget={"max_calls": 90_000})
    document = yaml.safe_load(wide.read_text())
    document["grid"] |= {"protocol": ["panel", "orchestrated", "delphi", "debate"], "limits": {"max_rounds": [2, 3], "max_turns": [None, 7]}, "count": ["mean", "median"], "orchestrator": {"model": "server/boss", "base_url": url}, "repeats": [1, 2], "temperature": [None, 0.5]}  # fmt: skip
    document["grid"]["personas"] = {"pair": ["high-scoring", "skeptic"]}
    document["grid"]["models"] = {"m": document["grid"]["models"]["m"]}
    document["tasks"] = {"again": {"cases": "cases.jsonl", "rubric": "rubric.yaml", "ratings": "people.csv"}}
    wide.write_text(yaml.safe_dump(document))
    plan = plan_study(wide)
    assert isinstance(plan, Plan)
    seats = [{"name": name, "model": "server/m", "base_url": url} for name in "abc"]
    ways = [{"protocol": way, "limits": limits} for way in ("panel", "orchestrated", "moderated", "debate", "delphi", "escalate", "magentic-one") for limits in ({"max_rounds": 2}, {"max_rounds": 4, "max_turns": 8}, {"max_turns": 6, "max_replans": 2})]  # fmt: skip
    juries = [Jury.model_validate({"name": "j", "seats": seats, "orchestrator": {"model": "server/boss", "base_url": url}, **way}) for way in ways]  # fmt: skip
    check_kept(
        KEPT / "plans.json",
        {
            "plan": plan_json(plan),
            "arms": [{"name": arm.name, "kind": arm.kind, "axes": dict(arm.axes), "hears": len(arm.hears(plan.cases, plan.split))} for arm in plan.arms],
            "calls": {f"{jury.protocol} {jury.limits.model_dump(exclude_none=True)}": [most_calls(jury, attributes) for attributes in (1, 5)] for jury in juries},
        },
        without=OTHERWISE,
    )  # fmt: skip
