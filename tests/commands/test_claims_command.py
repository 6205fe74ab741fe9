"""`venire claims` and `venire threshold` from the outside: files, recounts, round trips, mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from inspector_server import InspectorServer

from venire.rubrics.ratings import Rating
from venire.web.people import People

JURY = """
name: words
protocol: decompose-verify
claims: {both_ways: true}
seats:
  - {name: extractor, extracts: true, model: lens/claims}
  - {name: lens, model: lens/claims}
"""
CASES = [
    (
        "a",
        "Start a statin. Repeat the lipids in 6 weeks.",
        "Start a statin. Repeat lipids in 8 weeks. Stop smoking.",
    ),
    ("b", "No treatment is needed.", "No treatment is needed. Watch the liver."),
    ("c", "Give iron. Refer to surgery.", "Give iron."),
    ("d", "Increase the dose now.", "Check the thyroid first."),
    ("e", "Check the thyroid first.", "Check the thyroid first."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("claims")
    rows = [
        {"id": name, "output": output, "reference": reference, "question": "What now?"}
        for name, output, reference in CASES
    ]
    (there / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (there / "jury.yaml").write_text(JURY)
    (there / "human.csv").write_text(
        "case,rater,attribute,value\n"
        + "".join(f"{name},ana,concordant,{int(name in 'be')}\n" for name, *_ in CASES)
    )
    done = venire("run", "cases.jsonl", "--rubric", "claims", "--jury", "jury.yaml", "-o", "run", cwd=there)
    assert done.returncode == 0, done.stderr
    return there


VERIFIERS = """
name: three
protocol: decompose-verify
seats:
  - {name: extractor, extracts: true, model: lens/claims}
  - {name: one, model: lens/claims}
  - {name: two, model: lens/claims}
  - {name: odd, model: scripted}
"""


def test_the_verifier_that_differs_is_told_from_those_that_agree(folder: Path) -> None:
    (folder / "three.yaml").write_text(VERIFIERS)
    done = venire(
        "run", "cases.jsonl", "--rubric", "claims", "--jury", "three.yaml", "-o", "three", cwd=folder
    )
    assert done.returncode == 0, done.stderr

    (arm,) = claims_json(folder, "three")["arms"]

    one, two, odd = (arm["verifiers"][name] for name in ("one", "two", "odd"))
    assert one["agreement"]["value"] == two["agreement"]["value"] > odd["agreement"]["value"]
    assert odd["alpha_without"]["value"] == 1.0 > arm["alpha"]["value"]
    checks = [
        {name: each["verdict"] for name, each in claim["checks"].items()}
        for case in arm["of_cases"]
        for claim in case["claims"]
    ]
    same = [sum(found[name] == found["odd"] for name in ("one", "two")) / 2 for found in checks]
    assert odd["agreement"]["value"] == pytest.approx(sum(same) / len(same))
    shown = venire("claims", "three", cwd=folder).stdout
    assert "agreement with the others" in shown and "alpha without this verifier" in shown


def claims_json(folder: Path, *arguments: object) -> dict[str, Any]:
    done = venire("claims", *arguments, "--json", "--resamples", 50, cwd=folder)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_every_share_is_there_and_the_one_in_use_is_named(folder: Path) -> None:
    (arm,) = claims_json(folder, "run")["arms"]

    assert arm["share"] == "addressed" and set(arm["shares"]) == {"addressed", "all", "uncontradicted"}
    by_case = {each["case"]: each for each in arm["of_cases"]}
    assert by_case["a"]["shares"]["addressed"] == 0.5
    assert by_case["a"]["omissions"] and by_case["e"]["omissions"] == []
    assert (
        by_case["d"]["measures"]["support"] is None and "does not address" in by_case["d"]["why"]["support"]
    )
    assert (by_case["b"]["concordant"], by_case["a"]["concordant"], by_case["d"]["concordant"]) == (
        True,
        False,
        None,
    )


def test_another_share_threshold_or_weight_is_a_recount(folder: Path) -> None:
    (arm,) = claims_json(folder, "run", "a", "--share", "uncontradicted", "--threshold", 0.5)["arms"]

    assert (arm["share"], arm["of_cases"][0]["concordant"]) == ("uncontradicted", True)


def test_exported_claims_and_checks_give_the_same_run_again(folder: Path) -> None:
    assert venire("claims", "run", "-o", "files", cwd=folder).returncode == 0
    (folder / "again.yaml").write_text(
        "name: words\nprotocol: decompose-verify\nclaims: {both_ways: true, file: files/claims.jsonl}\n"
        "seats: [{name: lens, model: 'recorded/files/checks.csv#lens'}]\n"
    )
    done = venire(
        "run", "cases.jsonl", "--rubric", "claims", "--jury", "again.yaml", "-o", "again", cwd=folder
    )
    assert done.returncode == 0, done.stderr

    assert claims_json(folder, "again")["arms"] == claims_json(folder, "run")["arms"]
    shown = json.loads(venire("show", "again", "a", "--json", cwd=folder).stdout)["cases"][0]
    assert shown["steps"] == 1 and shown["claims"][0]["checks"]["lens"]["verdict"] == "supported"


def test_the_card_shows_question_texts_claims_omissions_and_people(folder: Path) -> None:
    shown = venire("show", "run", "a", "--human", "human.csv", cwd=folder).stdout

    for part in (
        "What now?",
        "claims of the output",
        "omissions",
        "Stop smoking.",
        "ana says concordant",
        "<- used",
    ):
        assert part in shown


def test_the_inspectors_card_has_what_people_said_and_why(folder: Path) -> None:
    said = [
        Rating("a", "ana", "concordant", 0.0, rationale="The interval <b>differs</b>."),
        Rating("a", "ben", "concordant", 1.0),
        Rating("b", "ben", "concordant", 1.0),
    ]
    with InspectorServer(folder / "run", people=People(said)) as server:
        page = server.ask("case?id=a").text
        other = server.ask("case?id=c").text

    card = page[page.index("What people said") :]
    assert "<b>ana</b> concordant 0" in card and "The interval &lt;b&gt;differs" in card
    assert card.count("</b> concordant") == 2
    # A question that only people were asked has a row beside the arms' scores.
    assert '<th scope="row">concordant</th>' in page
    assert "What people said" not in other


def test_the_graph_has_the_claims_and_their_checks(folder: Path) -> None:
    graph = json.loads(venire("export", "run", "--to", "json", "--case", "a", cwd=folder).stdout)

    assert {"claim", "ballot", "case"} <= {node["kind"] for node in graph["nodes"]}
    assert {"extracted", "checked", "cited-evidence"} <= {edge["kind"] for edge in graph["edges"]}


def test_the_threshold_is_reported_inside_and_out_of_fold(folder: Path) -> None:
    done = venire(
        "threshold", "run", "--human", "human.csv", "--score", "all", "--json", "--resamples", 50, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)

    assert {"out_of_fold", "in_sample", "fixed", "optimism", "auc", "roc"} <= set(document)
    assert (document["cases"], document["positives"], document["fixed"]["name"]) == (5, 2, "fixed at 0.8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("claims", "run", "z"), "no case 'z'"),
        (("claims", "run", "--arm", "other"), "no arm named 'other'"),
        (("claims", "nowhere"), "nowhere"),
        (("claims", "import", "human.csv"), "'text' is missing"),
        (("threshold", "run", "--human", "human.csv", "--score", "suport"), "no score named 'suport'"),
        (("threshold", "run", "--human", "human.csv", "--score", "f1", "--costs", "1"), "needs two numbers"),
    ],
)
def test_a_mistake_is_two_lines_and_exit_status_2(
    folder: Path, arguments: tuple[object, ...], message: str
) -> None:
    done = venire(*arguments, cwd=folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 2
