"""Two people who split on a binary attribute: every command leaves the question out, counts it and says so."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import venire

from venire.evals import load_ratings
from venire.evals.comparison.comparison import compare
from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.score_tables import CONSTANT

CASES = 24
SPLIT = {"c3", "c7", "c11"}
NOTE = "people have no majority on 'safe' of 3 cases"
RUBRIC = {
    "name": "notes",
    "version": 1,
    "scales": {
        "yes": {"level": "binary", "anchors": {0: "no", 1: "yes"}},
        "five": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
    },
    "attributes": [
        {"name": "safe", "question": "Is it safe?", "scale": "yes"},
        {"name": "clear", "question": "Is it clear?", "scale": "five"},
        {"name": "risk", "question": "How risky is it?", "scale": "five", "better": "low"},
    ],
}


def answers(number: int, shift: int) -> dict[str, int]:
    """What somebody gives the case; `shift` tells one from another."""
    mark = 1 + (number + shift) % 5
    return {"safe": int((number + shift) % 3 > 0), "clear": mark, "risk": 1 + (3 * number + shift) % 5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two recorded jurors and the ratings of two people, who split on `safe` of three cases."""
    path = tmp_path_factory.mktemp("split")
    names = [f"c{number}" for number in range(CASES)]
    (path / "cases.jsonl").write_text(
        "".join(json.dumps({"id": c, "output": f"Note {c}."}) + "\n" for c in names)
    )
    (path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    votes = [
        f"{case},{juror},{attribute},{value}"
        for number, case in enumerate(names)
        for shift, juror in enumerate(("one", "two"))
        for attribute, value in answers(number, shift).items()
    ]
    (path / "judgements.csv").write_text("case,juror,attribute,value\n" + "\n".join(votes) + "\n")
    given = [
        f"{case},{person},{attribute},{1 - value if attribute == 'safe' and case in SPLIT and person == 'Ben' else value}"
        for number, case in enumerate(names)
        for person in ("Ana", "Ben")
        for attribute, value in answers(number, 0).items()
    ]
    (path / "people.csv").write_text("case,rater,attribute,value\n" + "\n".join(given) + "\n")
    seats = [{"name": name, "model": f"recorded/judgements.csv#{name}"} for name in ("one", "two")]
    jury = {"name": "pair", "protocol": "panel", "count": "mean", "seats": seats}
    (path / "jury.yaml").write_text(yaml.safe_dump(jury))
    study = {
        "name": "seats",
        "rubric": "rubric.yaml",
        "ratings": "people.csv",
        "judgements": {"file": "judgements.csv"},
    }
    (path / "study.yaml").write_text(yaml.safe_dump(study))
    made = venire(
        "run",
        "cases.jsonl",
        "--rubric",
        "rubric.yaml",
        "--jury",
        "jury.yaml",
        "-o",
        "run",
        "--json",
        cwd=path,
    )
    assert made.returncode == 0, made.stderr
    return path


COMMANDS: dict[str, tuple[object, ...]] = {
    "compare": ("compare", "run", "--human", "people.csv"),
    "calibrate": ("calibrate", "run", "--human", "people.csv"),
    "triage": ("triage", "run", "--human", "people.csv"),
    "agreement": ("agreement", "people.csv", "--rubric", "rubric.yaml"),
    "study": ("study", "report", "study.yaml"),
}


PAGES = {
    "compare": ("-o", "compared/report.html"),
    "calibrate": ("--report", "calibrated.html"),
    "agreement": ("-o", "agreed.html"),
}


@cache
def document(command: str, folder: Path, *options: object) -> dict[str, Any]:
    ended = venire(*COMMANDS[command], "--resamples", 20, "--json", *options, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_the_question_is_left_out_counted_and_said(command: str, folder: Path) -> None:
    """In the terminal, in JSON, and on the page of whatever command writes one."""
    whole = ("--full",) if command in ("compare", "study") else ()
    option, page = PAGES.get(command, ("", ""))
    written = (option, page.removesuffix("/report.html")) if option else ()
    shown = venire(*COMMANDS[command], *whole, *written, "--resamples", 20, cwd=folder)
    found = document(command, folder)
    notes = (found["review"] or found)["notes"] if command == "triage" else found["notes"]

    assert NOTE in " ".join(shown.stdout.split()), shown.stderr
    assert any(NOTE in note for note in notes)
    if page:
        assert NOTE.replace("'", "&#x27;") in (folder / page).read_text(encoding="utf-8")


def test_compare_and_calibrate_count_the_same_questions(folder: Path) -> None:
    compared = document("compare", folder)["arms"]["pair"]["safe"]
    calibrated = document("calibrate", folder)["changes"]
    (rmse,) = [
        row
        for row in calibrated
        if (row["evaluator"], row["attribute"], row["measure"]) == ("pair", "safe", "rmse")
    ]

    assert compared["exact"]["n"] == rmse["n"] == CASES - len(SPLIT)


def test_the_reference_that_is_asked_for_is_said(folder: Path) -> None:
    asked = {("--reference", "mean"): "mean of", ("--reference", "majority"): "value that most people gave", (): "median of"}  # fmt: skip
    for option, words in asked.items():
        assert any(words in sentence for sentence in document("compare", folder, *option)["methods"])
    refused = venire(*COMMANDS["compare"], "--reference", "mode", cwd=folder)
    assert refused.returncode == 2


def test_the_constant_best_score_tells_nothing_where_a_risk_is_pooled(folder: Path) -> None:
    found = compare(folder / "run", load_ratings(folder / "people.csv"), resamples=20)

    assert found.agreement[CONSTANT][OVERALL]["icc3k"].value == pytest.approx(0, abs=1e-12)
    assert (
        found.agreement[CONSTANT]["risk"]["offset"].value
        < 0
        < found.agreement[CONSTANT][OVERALL]["offset"].value
    )
    assert any("scores of risk reversed so that high is good" in sentence for sentence in found.methods)
