"""`venire estimate` and `venire triage --for estimate` from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import venire
from recorded_run import recorded_run, some_labels

from venire.evals.inference.labelling import load_draw


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = recorded_run(tmp_path_factory.mktemp("estimate"), 300, hung=6, group=2)
    some_labels(there, 100)
    return there


def test_the_truth_lies_within_and_the_jury_is_worth_labels(folder: Path) -> None:
    done = venire("estimate", "run", "--human", "some.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    truth = pd.read_csv(folder / "labels.csv").groupby("attribute")["value"].mean()

    for each in document["estimates"]:
        found, alone = each["estimate"], each["labels_alone"]
        assert found["low"] <= truth[each["attribute"]] <= found["high"]
        assert found["high"] - found["low"] < alone["high"] - alone["low"]
        assert each["worth_in_labels"] > 150 and each["labels"] == 100 and each["design"] == "random"
    assert "labels and the jury's scores are as precise as" in document["sentences"][0]
    assert any("hung" in note for note in document["notes"]) and any(
        "at random" in note for note in document["notes"]
    )


def test_where_every_case_is_labelled_nothing_is_left_to_add(folder: Path) -> None:
    for options in ((), ("--systems", "A,B")):
        done = venire("estimate", "run", "--human", "labels.csv", *options, "--json", cwd=folder)
        document = json.loads(done.stdout)

        assert all("every case has a label, so the jury adds nothing" in each for each in document["sentences"])  # fmt: skip
        assert {each["labels"] for each in document["estimates"]} == {300}


def test_a_draw_is_kept_and_used(folder: Path) -> None:
    for design in ("stratified", "active"):
        drawn = venire("triage", "run", "--for", "estimate", "-n", 90, "--design", design, "-o", f"{design}.csv", cwd=folder)  # fmt: skip
        assert drawn.returncode == 0, drawn.stderr
        table = pd.read_csv(folder / f"{design}.csv")
        assert len(table) == 90 and table["probability"].between(0, 1, inclusive="right").all()
        done = venire(
            "estimate", "run", "--human", "labels.csv", "--draw", f"{design}.csv", "--json", cwd=folder
        )
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert {each["design"] for each in document["estimates"]} == {design}
        assert all(each["labels"] == 90 for each in document["estimates"])
        assert (
            "210 labelled cases are left out, because they are not in the file of drawn cases (--draw)"
            in " ".join(document["notes"])
        )


def test_a_draw_that_a_spreadsheet_saved_with_decimal_commas_is_read(tmp_path: Path) -> None:
    (tmp_path / "draw.csv").write_text("case;probability\na;0,125\nb;1\n")

    assert load_draw(tmp_path / "draw.csv")["probability"].tolist() == [0.125, 1.0]


def test_quantiles_slopes_and_differences(folder: Path) -> None:
    more = venire("estimate", "run", "--human", "some.csv", "--attribute", "clear", "--quantile", 0.5, "--slope", "output_length", cwd=folder)  # fmt: skip
    assert more.returncode == 0 and "clear, quantile 0.5: 3.000" in more.stdout, more.stderr
    assert "slope on output_length" in more.stdout
    both = venire("estimate", "run", "--human", "some.csv", "--systems", "A,B", "--json", cwd=folder)
    assert json.loads(both.stdout)["estimates"][0]["of"] == "A minus B"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--systems", "A"), "two systems"),
        (("--systems", "A,C"), "no case was written by the system 'C'"),
        (("--slope", "age"), "'age' is not a number in any case"),
        (("--arm", "nobody"), "no arm named 'nobody'"),
        (("--against", "nobody"), "no arm named 'nobody'"),
        (("--draw", "labels.csv"), "probability"),
    ],
)
def test_mistakes_are_two_lines(folder: Path, options: tuple[str, ...], says: str) -> None:
    done = venire("estimate", "run", "--human", "some.csv", *options, cwd=folder)

    assert done.returncode == 2 and says in done.stderr and len(done.stderr.strip().splitlines()) == 2
