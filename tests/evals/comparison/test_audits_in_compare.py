"""The audits in `venire compare`: every part says something, in the terminal, in JSON, on the page and on disk."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from audit_worlds import LIKERT, evidence, ratings, votes
from command_line import venire
from planted_run import planted_run
from report_numbers import PageNumbers

from venire.evals.audits.audit import AuditInput, run_audits
from venire.evals.audits.triage import triage
from venire.evals.comparison.comparison import Comparison, compare_evidence
from venire.evals.comparison.comparison_report import comparison_json, write_report
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.question import Question
from venire.evals.ratings.score_tables import lay_marks
from venire.evals.statistics.draws import Draws
from venire.rubrics.scale import Scale

AUDITS = ["severe", "triage", "consistency", "stability", "self_preference"]
NAMES = ("accurate", "safe")


def likert(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 1, 5)


def world(n: int = 30) -> Evidence:
    """A jury of three providers and a judge asked three times, over outputs of three systems, with two people."""
    rng = np.random.default_rng(8)
    systems = np.array(["gpt-4o", "claude-opus", "llama-3"])[rng.integers(0, 3, n)]
    quality = rng.normal(3, 1.2, n)
    arms, people, ballots = [], [], []
    for name in NAMES:
        for person in ("Ana", "Ben"):
            people.append(ratings(person, likert(quality + rng.normal(0, 0.6, n)), name))
        seats = [likert(quality + rng.normal(0, 0.8, n)) for _ in range(3)]
        for model, scores in zip(("openai/o3", "anthropic/claude", "google/gemini"), seats, strict=True):
            ballots.append(votes("jury", model.split("/")[1], scores, model=model, attribute=name))
        repeats = [likert(quality + rng.normal(0, 0.7, n)) for _ in range(3)]
        for number, scores in enumerate(repeats, 1):
            ballots.append(
                votes("single", "judge", scores, model="openai/gpt-4o", attribute=name, repeat=number)
            )
        arms += [
            ratings("jury", np.mean(seats, axis=0), name),
            ratings("single", np.median(repeats, axis=0), name),
        ]
    return evidence(
        dict.fromkeys(NAMES, LIKERT), arms=arms, people=people, ballots=ballots, systems=list(systems)
    )


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare_evidence(world(), resamples=60)


def test_every_audit_is_there_and_says_something(found: Comparison) -> None:
    names = [part.name for part in found.sections]

    assert names[-5:] == AUDITS and len(names) == len(set(names))
    for part in found.sections[-5:]:
        assert part.sentences and all(words.endswith(".") for words in part.sentences)
        assert part.figures and part.methods and set(part.methods) <= set(found.methods)
        assert not any("nan" in words.split() for words in part.sentences)


def test_json_page_and_files_hold_the_same(found: Comparison, tmp_path: Path) -> None:
    told = json.loads(json.dumps(comparison_json(found), allow_nan=False))["sections"]
    page = PageNumbers()
    text = write_report(found, tmp_path).read_text(encoding="utf-8")
    page.feed(text)

    for part in found.sections:
        assert told[part.name]["sentences"] == list(part.sentences)
        assert all(words in unescape(text) for words in (part.title, *part.sentences))
        for name, table in part.tables.items():
            assert len(told[part.name]["tables"][name]) == len(table)
            written = pd.read_csv(tmp_path / "tables" / f"{part.name}_{name}.csv")
            assert list(written.columns) == list(table.columns) and len(written) == len(table)
    rates = [row["rate"] for row in told["severe"]["tables"]["rates"]][:20]
    assert [row.get("rate") for row in page.tables["severe-rates"][1:]] == rates
    for name in AUDITS:
        assert ElementTree.parse(tmp_path / "figures" / f"{name}.svg").getroot().tag.endswith("svg")


def test_the_same_seed_gives_the_same_sections(found: Comparison) -> None:
    again = compare_evidence(world(), resamples=60)

    assert comparison_json(again)["sections"] == comparison_json(found)["sections"]


def test_an_attribute_people_never_rated_and_an_arm_without_overlap_are_no_crash() -> None:
    full = world()
    people = full.people[full.people["attribute"] == "safe"]
    late = ratings("late", np.full(3, 4.0), "safe").assign(case=["x1", "x2", "x3"])
    odd = evidence(
        dict.fromkeys(NAMES, LIKERT), arms=[full.arms, late], people=[people], ballots=[full.ballots]
    )
    parts = {part.name: part for part in compare_evidence(odd, resamples=40).sections}

    assert any(
        "this evaluator judged no case that people call harmful" in words and words.startswith("late: ")
        for words in parts["severe"].sentences
    )
    assert any(words.startswith("late: triage cannot be tested") for words in parts["triage"].sentences)
    assert "attributes not compared, because no person rated them: accurate" in parts["consistency"].notes


def test_words_without_an_order_are_said_to_tell_nothing() -> None:
    kind = Question(Scale.model_validate({"level": "nominal", "anchors": {"red": "", "blue": ""}}), "high")
    words = np.array(["red", "blue", "red"], dtype=object)
    world_of_words = evidence(
        {"colour": kind},
        arms=[ratings("jury", words, "colour")],
        people=[ratings("Ana", words, "colour")],
        ballots=[votes("jury", "a", words, attribute="colour")],
        moments=[("jury", "c1", "overruled", "colour", "decided red against a")],
    )
    parts = run_audits(AuditInput(world_of_words), Draws(0, 20))

    assert [part.name for part in parts] == ["classes", *AUDITS] and all(part.sentences for part in parts)
    docket = triage(world_of_words, lay_marks(world_of_words), "jury").cases
    assert docket["case"][0] == "c1" and docket["reasons"][0] == ("colour: decided red against a",)


def test_two_labelled_cases_are_too_few_and_no_crash() -> None:
    few = world(2)
    for part in compare_evidence(few, resamples=20).sections:
        assert part.sentences


def test_the_command_takes_limits_and_families(tmp_path: Path) -> None:
    run = planted_run(tmp_path)
    cases = ("calm", "premature", "persuaded", "fabricated", "conformed", "overruled")
    rows = [f"{case},Ana,accurate,{1 + n % 5}" for n, case in enumerate(cases)]
    (tmp_path / "people.csv").write_text("case,rater,attribute,value\n" + "\n".join(rows) + "\n")
    (tmp_path / "families.yaml").write_text("scripted/*: house\nmodel-x: house\n")
    ended = venire(
        "compare", run, "--human", "people.csv", "--families", "families.yaml", "--harmful", 0.5, "--margin", 0.25,
        "--resamples", 40, "--json", cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)["sections"]

    assert {row["family"] for row in told["self_preference"]["tables"]["providers"]} == {"house"}
    (rate,) = [
        row for row in told["severe"]["tables"]["rates"] if (row["evaluator"], row["attribute"]) == ("stances", "overall")
    ]  # fmt: skip
    assert (rate["harmful"], rate["severe"]) == (4, 3)
