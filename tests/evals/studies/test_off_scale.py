"""The same recorded answers through `venire run` and `venire study`: one that is off its scale is an abstention in both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from command_line import venire

from venire.evals import load_judgements
from venire.evals.ratings.question import off_scale
from venire.rubrics.scale import Scale

CASES = [f"c{number}" for number in range(24)]
RUBRIC = {
    "name": "notes",
    "version": 1,
    "scales": {
        "five": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
        "kind": {"level": "nominal", "anchors": {"note": "", "letter": ""}},
    },
    "attributes": [
        {"name": "clear", "question": "Is it clear?", "scale": "five"},
        {"name": "kind", "question": "What is it?", "scale": "kind"},
    ],
}
ILLEGAL: dict[tuple[str, str, str], Any] = {
    ("c1", "one", "clear"): 4.5,
    ("c2", "one", "clear"): 9,
    ("c3", "two", "clear"): True,
    ("c4", "two", "kind"): "poem",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recorded jurors, four of whose answers are off their scale, and a person."""
    path = tmp_path_factory.mktemp("illegal")
    (path / "cases.jsonl").write_text(
        "".join(json.dumps({"id": case, "output": f"Note {case}."}) + "\n" for case in CASES)
    )
    (path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    rows = [
        {"case": case, "juror": juror, "attribute": attribute, "value": value}
        for number, case in enumerate(CASES)
        for shift, juror in enumerate(("one", "two"))
        for attribute, value in _answers(number, shift).items()
    ]
    for row in rows:
        row["value"] = ILLEGAL.get((row["case"], row["juror"], row["attribute"]), row["value"])
    (path / "judgements.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    people = [
        f"{case},Ana,{attribute},{value}"
        for number, case in enumerate(CASES)
        for attribute, value in _answers(number, 0).items()
    ]
    (path / "people.csv").write_text("case,rater,attribute,value\n" + "\n".join(people) + "\n")
    seats = [{"name": name, "model": f"recorded/judgements.jsonl#{name}"} for name in ("one", "two")]
    (path / "jury.yaml").write_text(yaml.safe_dump({"name": "pair", "protocol": "panel", "seats": seats}))
    study = {
        "name": "recorded",
        "rubric": "rubric.yaml",
        "ratings": "people.csv",
        "judgements": {"file": "judgements.jsonl"},
    }
    (path / "study.yaml").write_text(yaml.safe_dump(study))
    return path


def _answers(number: int, shift: int) -> dict[str, Any]:
    return {"clear": 1 + (number + shift * (number % 3 == 0)) % 5, "kind": ("note", "letter")[number % 2]}


def test_a_run_abstains_on_what_is_off_the_scale_and_keeps_the_rest(folder: Path) -> None:
    ran = venire(
        "run",
        "cases.jsonl",
        "--rubric",
        "rubric.yaml",
        "--jury",
        "jury.yaml",
        "-o",
        "out",
        "--json",
        cwd=folder,
    )
    assert ran.returncode == 0, ran.stderr
    cases = json.loads(ran.stdout)["cases"]

    assert {
        (heard["case"], row["juror"], row["attribute"]) for heard in cases for row in heard["abstentions"]
    } == set(ILLEGAL)
    assert sum(len(heard["ballots"]) for heard in cases) == len(CASES) * 4 - len(ILLEGAL)


def test_a_study_tells_and_leaves_out_the_same(folder: Path) -> None:
    ran = venire("study", "report", "study.yaml", "-o", "report", "--resamples", 20, "--json", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    (told,) = [note for note in document["notes"] if "count as abstentions" in note]

    assert told.startswith("4 judgements count as abstentions: ")
    assert "one's 4.5 for 'clear' of case 'c1' is not on its scale" in told
    assert "and 1 more" in told


@pytest.mark.parametrize(
    ("scale", "illegal"),
    [
        ({"level": "interval", "minimum": 0, "maximum": 1}, ["1.5", "many"]),
        ({"level": "binary", "anchors": {0: "no", 1: "yes"}}, ["0.5", "1.5", "many"]),
        ({"level": "ordinal", "anchors": {0: "a", 1: "b", 2: "c"}}, ["0.5", "1.5", "many"]),
    ],
)
def test_what_is_off_a_scale(scale: dict[str, Any], illegal: list[str]) -> None:
    values = pd.Series(["0", "1", "0.5", "1.5", "many", "", None, "not_applicable"], dtype=object)

    assert values[off_scale(values, Scale.model_validate(scale))].tolist() == illegal


def test_a_truth_value_is_no_number(tmp_path: Path) -> None:
    row = {"case": "a", "juror": "one", "attribute": "clear", "value": True}
    (tmp_path / "judgements.jsonl").write_text(json.dumps(row) + "\n")

    assert load_judgements(tmp_path / "judgements.jsonl")["value"].tolist() == ["true"]


@pytest.mark.parametrize("kind", ["arms", "recorded"])
def test_a_study_names_the_ratings_that_match_no_case(folder: Path, kind: str) -> None:
    people = (folder / "people.csv").read_text()
    (folder / "more.csv").write_text(people + "zzz,Ana,clear,3\nyyy,Ana,kind,note\n")
    study = yaml.safe_load((folder / "study.yaml").read_text()) | {"name": kind, "ratings": "more.csv"}
    if kind == "arms":
        del study["judgements"]
        study |= {"cases": "cases.jsonl", "arms": [{"jury": "jury.yaml", "name": "pair"}]}
    (folder / f"{kind}.yaml").write_text(yaml.safe_dump(study))

    ended = venire("study", f"{kind}.yaml", "--json", "--quiet", "--resamples", 40, cwd=folder)

    assert ended.returncode == 0, ended.stderr
    assert "2 ratings left out, because no case has this id: zzz, yyy" in ended.stdout
