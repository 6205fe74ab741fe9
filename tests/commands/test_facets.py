"""`venire dstudy`, `venire facets`, `count: fair` and the sections on juries in `venire compare`, from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import venire
from recorded_run import recorded_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded_run(tmp_path_factory.mktemp("facets"), 80, hung=2)


def test_a_run_and_a_table_of_ratings_have_severities(folder: Path) -> None:
    done = venire("facets", "run", "--human", "labels.csv", "--json", "-o", "map.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    severity = {row["rater"]: row["severity"] for row in document["tables"]["raters"]}
    assert set(severity) == {"j0", "j1", "j2", "ana"} and severity["j1"] < severity["j0"] < severity["j2"]
    assert "<svg" in (folder / "map.html").read_text()
    votes = pd.read_csv(folder / "judgements.csv").rename(columns={"juror": "rater"})
    votes.to_csv(folder / "votes.csv", index=False)
    table = venire("facets", "votes.csv", "--model", "partial-credit", cwd=folder)
    assert table.returncode == 0 and "the harshest" in table.stdout, table.stderr
    votes[(votes["rater"] == "j0") == votes["case"].isin(["c5", "c6", "c7"])].to_csv(
        folder / "apart.csv", index=False
    )
    apart = venire("facets", "apart.csv", cwd=folder)
    assert apart.returncode == 2 and "2 sets that have no case in common" in apart.stderr


def test_a_dstudy_and_a_fair_count(folder: Path) -> None:
    done = venire("dstudy", "run", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    study = json.loads(done.stdout)["studies"][0]
    assert study["stage"] == "final" and study["components"]["case"] > study["components"]["juror"]
    fair = venire("export", "run", "--to", "csv", "--count", "fair", cwd=folder)
    assert fair.returncode == 0 and "fair" in fair.stdout, fair.stderr


def test_compare_says_what_the_jury_is_worth_in_votes(folder: Path) -> None:
    done = venire("compare", "run", "--human", "labels.csv", "--json", "--resamples", 20, cwd=folder)
    assert done.returncode == 0, done.stderr
    section = json.loads(done.stdout)["sections"]["independence"]
    assert "3 jurors are worth" in section["sentences"][0]
    assert {row["round"] for row in section["tables"]["rounds"]} == {1}
