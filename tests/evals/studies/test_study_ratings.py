"""`venire study` on cases without a group, with groups, and where two people split on a binary attribute."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from openai_server import ProviderServer
from study_files import run_quietly, server_models, steady_ballot, study_file

from venire.cli import app
from venire.evals.studies.findings import RunFindings, findings_at
from venire.evals.studies.study import load_study

CASES = [f"c{number}" for number in range(12)]
GROUPS = {case: f"patient-{number // 2}" for number, case in enumerate(CASES)}
RUBRIC = """
name: short
version: 1
scales:
  agree5: {level: ordinal, anchors: {1: Not at all, 2: Slightly, 3: Somewhat, 4: Mostly, 5: Completely}}
  yes_no: {level: binary, anchors: {0: 'No', 1: 'Yes'}}
attributes:
  - {name: accurate, question: "Is every statement supported?", scale: agree5}
  - {name: safe, question: "Is it safe to act on?", scale: yes_no}
"""
SPLIT = ("c3", "c8")
"""The cases on whose safety the two people split."""
NO_MAJORITY = (
    "people have no majority on 'safe' of 2 cases: not used, because there is no reference to compare with"
)


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer(steady_ballot) as started:
        yield started


def written_study(
    folder: Path, *, url: str | None, groups: bool = False, splits: bool = False, **keys: Any
) -> Path:
    """A study of two arms that ask the server at `url`; without one, of three recorded jurors."""
    (folder / "rubric.yaml").write_text(RUBRIC)
    truth = {case: (number % 5 + 1, number % 2) for number, case in enumerate(CASES)}
    ratings = [
        row
        for case, (accurate, safe) in truth.items()
        for person in ("ana", "ben")
        for row in (
            (case, person, "accurate", accurate),
            (case, person, "safe", 1 - safe if splits and case in SPLIT and person == "ben" else safe),
        )
    ]
    write_csv(folder / "people.csv", ("case", "rater", "attribute", "value"), ratings)
    whole: dict[str, Any] = {"name": "small", "rubric": "rubric.yaml", "ratings": "people.csv", **keys}
    if url is None:
        judged = [
            (case, juror, name, value, GROUPS[case] if groups else "")
            for case, (accurate, safe) in truth.items()
            for juror, off in (("good", 0), ("fair", int(case[1:]) % 3 == 0), ("poor", int(case[1:]) % 2))
            for name, value in (("accurate", max(1, accurate - off)), ("safe", abs(safe - off)))
        ]
        write_csv(folder / "judgements.csv", ("case", "juror", "attribute", "value", "group"), judged)
        whole["judgements"] = "judgements.csv"
    else:
        lines = [
            {"id": case, "output": f"The note on {case}.", **({"group": GROUPS[case]} if groups else {})}
            for case in CASES
        ]
        (folder / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        models = server_models(url, "a")
        grid = {"personas": {"pair": ["high-scoring", "low-scoring"]}, "models": models}
        whole |= {"cases": "cases.jsonl", "grid": grid}
    (folder / "study.yaml").write_text(json.dumps(whole))
    return folder / "study.yaml"


def write_csv(path: Path, heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([heads, *rows])


def printed(*command: object) -> dict[str, Any]:
    """The JSON document that a command prints."""
    ended = CliRunner().invoke(app, [str(each) for each in command], catch_exceptions=False)
    assert ended.exit_code == 0, ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


def studied(path: Path) -> dict[str, Any]:
    """What `venire study` prints, with the table of its arms under one name for either kind of study."""
    document = printed("study", path, "--resamples", 50, "--quiet", "--json")
    return {**document, "arms": document.get("arms") or document["tables"]["frontier"]}


@pytest.fixture(params=["recorded", "asked"])
def url(request: pytest.FixtureRequest, server: ProviderServer) -> str | None:
    return server.url if request.param == "asked" else None


def test_without_groups_every_case_is_resampled_alone(tmp_path: Path, url: str | None) -> None:
    found = studied(written_study(tmp_path, url=url, split={"test": 0}))

    assert {row["n"] for row in found["arms"]} == {2 * len(CASES)}
    assert f"jackknife over {len(CASES)} cases or groups" in " ".join(found["methods"])
    assert not any("no majority" in note for note in found["notes"])


def test_groups_are_held_out_and_resampled_whole(tmp_path: Path, url: str | None) -> None:
    found = studied(
        written_study(tmp_path, url=url, groups=True, split={"groups": ["patient-1", "patient-4"]})
    )
    methods = " ".join(found["methods"])

    assert {row["n"] for row in found["arms"]} == {2 * 2 * 2}
    assert "One test set of 2 cases or groups was held out" in methods
    assert f"jackknife over {len(set(GROUPS.values()))} cases or groups" in methods
    if url is not None:
        assert found["test"] == ["c2", "c3", "c8", "c9"]


def test_a_split_on_a_binary_attribute_is_left_out_counted_and_said(tmp_path: Path, url: str | None) -> None:
    found = studied(written_study(tmp_path, url=url, splits=True, split={"test": 0}))

    assert {row["n"] for row in found["arms"]} == {2 * len(CASES) - len(SPLIT)}
    assert found["notes"].count(NO_MAJORITY) == 1
    assert "If two or more values tie for the most ratings, there is no majority" in " ".join(
        found["methods"]
    )


def test_compare_leaves_out_the_same_and_says_the_same(tmp_path: Path, server: ProviderServer) -> None:
    path = written_study(tmp_path, url=server.url, splits=True, split={"test": 0})
    studied(path)
    people = tmp_path / "people.csv"
    document = printed("compare", tmp_path / "study-run", "--human", people, "--resamples", 20, "--json")

    assert NO_MAJORITY in document["notes"]
    assert document["arms"]["pair"]["safe"]["exact"]["n"] == len(CASES) - len(SPLIT)


def test_a_study_names_its_reference(tmp_path: Path) -> None:
    path = written_study(tmp_path, url=None, reference="mean")
    found = studied(path)

    assert load_study(path)[0].reference == "mean"
    assert "The people's value, which answers are compared with, is the mean of the people" in " ".join(
        found["methods"]
    )


def test_where_a_scale_has_costs_a_study_gives_the_mean_reward_beside_constants_and_people(
    tmp_path: Path,
) -> None:
    truth = [0, 0, 1, 0, 2, 0, 0, 1, 0, 0, 2, 0]
    cases = [{"id": f"u{n}", "output": f"heard {n}", "reference": f"said {n}"} for n in range(len(truth))]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    votes = [f"u{n},j,impact,{value}" for n, value in enumerate(truth)]
    (tmp_path / "judges.csv").write_text("\n".join(["case,juror,attribute,value", *votes]))
    people = [f"u{n},{who},impact,{value}" for n, value in enumerate(truth) for who in "ab"]
    (tmp_path / "people.csv").write_text("\n".join(["case,rater,attribute,value", *people]))
    seat = {"name": "judge", "model": "recorded/judges.csv#j"}
    path = study_file(
        tmp_path, cases="cases.jsonl", rubric="asr-impact", ratings="people.csv",
        arms=[{"name": "judge", "jury": {"name": "judge", "protocol": "single", "seats": [seat]}}],
    )  # fmt: skip
    run_quietly(path)
    findings = findings_at(path, resamples=60)
    assert isinstance(findings, RunFindings)
    (section,) = findings.sections
    scores = section.tables["scores"]
    rewards = scores[scores["metric"] == "reward"].set_index("rater")
    assert section.name == "classes"
    assert list(rewards["kind"]) == ["single judge", "person", "person", *["constant"] * 3, "ceiling"]
    assert rewards.loc["judge", "value"] == rewards.loc["always right", "value"]
