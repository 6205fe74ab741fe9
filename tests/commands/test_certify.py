"""`venire certify` from the outside: accepted, refused, saved, applied, and used by a jury file."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import venire
from recorded_run import hear, recorded_run, some_labels, write_jury


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = recorded_run(tmp_path_factory.mktemp("certify"), 300, hung=4)
    some_labels(there, 200, "labels200.csv")
    some_labels(there, 20, "labels20.csv")
    return there


def test_what_is_accepted_is_right_as_often_as_promised(folder: Path) -> None:
    done = venire("certify", "run", "--human", "labels200.csv", "--risk", 0.1, "--within", 1, "--save", "rule.json", "--json", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)

    truth = pd.read_csv(folder / "labels.csv").set_index(["case", "attribute"])["value"]
    accepted = [row for row in document["verdicts"] if row["accepted"]]
    wrong = [abs(row["value"] - truth[row["case"], row["attribute"]]) > 1 for row in accepted]
    assert len(accepted) == document["accepted"] > 100 and sum(wrong) <= 0.1 * len(wrong)
    assert (
        document["attributes"]["clear"]["delta"] == 0.025
        and "wrong verdicts among those accepted" in document["guarantee"]
    )
    clear, mine = document["attributes"]["clear"], [row for row in accepted if row["attribute"] == "clear"]
    (counts,) = [
        line for line in document["sentences"] if line.startswith(f"clear: {clear['labels']} of the ")
    ]
    assert (
        f"clear: {clear['labels']} of the {clear['labelled']} labelled verdicts that were reached" in counts
    )
    assert (
        f"{clear['errors']} of these verdicts are wrong." in counts
        and f" Of the 300 verdicts of this run, {len(mine)} are accepted" in counts
    )
    assert f"{sum(row['labelled'] for row in mine)} of the accepted verdicts have a label" in counts
    assert {row["status"] for row in document["verdicts"] if row["case"] == "c0"} == {"hung"}
    assert not any(row["accepted"] for row in document["verdicts"] if row["status"] == "hung")


def test_labels_of_the_surest_cases_are_no_random_draw_and_that_stands_beside_the_guarantee(
    folder: Path,
) -> None:
    everything = json.loads(
        venire("certify", "run", "--human", "labels200.csv", "--within", 1, "--json", cwd=folder).stdout
    )
    sure = sorted(
        (row for row in everything["verdicts"] if row["attribute"] == "clear"),
        key=lambda row: -(row["confidence"] or 0),
    )
    labels = pd.read_csv(folder / "labels.csv")
    labels[labels["case"].isin([row["case"] for row in sure[:100]])].to_csv(folder / "sure.csv", index=False)
    found = json.loads(
        venire("certify", "run", "--human", "sure.csv", "--within", 1, "--json", cwd=folder).stdout
    )

    assert not any(shift["found"] for shift in everything["shift"].values())
    assert everything["labels_drawn"].startswith("It is assumed that the labelled cases were drawn at random")
    assert (
        found["shift"]["clear"]["found"]
        and "the guarantee is not shown for the unlabelled cases" in found["guarantee"]
    )


def test_the_draw_that_triage_kept_is_used(folder: Path) -> None:
    drawn = venire("triage", "run", "--for", "estimate", "-n", 120, "--design", "active", "-o", "draw.csv", cwd=folder)  # fmt: skip
    assert drawn.returncode == 0, drawn.stderr
    done = venire("certify", "run", "--human", "labels.csv", "--draw", "draw.csv", "--within", 1, "--json", cwd=folder)  # fmt: skip
    found = json.loads(done.stdout)

    assert "drawn with unequal probabilities" in found["labels_drawn"]
    assert found["attributes"]["clear"]["labelled"] < 120
    assert (
        "180 labelled cases are left out, because they are not in the file of drawn cases (--draw)"
        in found["notes"]
    )


def test_too_few_labels_are_refused_with_the_number_needed(folder: Path) -> None:
    done = venire(
        "certify", "run", "--human", "labels20.csv", "--risk", 0.05, "--attribute", "clear", cwd=folder
    )

    assert done.returncode == 2 and not done.stdout
    assert "too few" in done.stderr and "at least 59 cases" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 2


def test_a_saved_rule_is_used_by_a_jury_and_refused_by_another(folder: Path) -> None:
    if not (folder / "rule.json").exists():
        venire("certify", "run", "--human", "labels200.csv", "--within", 1, "--save", "rule.json", cwd=folder)
    write_jury(folder, more="escalate_to: people\nrule: rule.json\n")
    assert "verdicts that the jury's rule accepts without review" in hear(folder, "again")
    shown = json.loads(venire("show", "again", "c0", "--json", cwd=folder).stdout)
    assert "always goes to people" in shown["cases"][0]["verdict"]["accurate"]["escalated"]
    applied = venire("certify", "again", "--apply", "rule.json", "--json", cwd=folder)
    assert applied.returncode == 0, applied.stderr
    assert json.loads(applied.stdout)["shift"]["accurate"]["found"] is False

    write_jury(folder, 2, more="escalate_to: people\nrule: rule.json\n")
    other = venire(
        "run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "other", cwd=folder
    )
    assert other.returncode == 2 and "another jury: seat j2" in other.stderr
    write_jury(folder, more="escalate_to: people\n")
    without = venire("juries", "check", "jury.yaml", cwd=folder)
    assert without.returncode == 2 and "certify --save" in without.stderr
    write_jury(folder)


def test_it_says_what_is_missing(folder: Path) -> None:
    neither = venire("certify", "run", cwd=folder)
    assert neither.returncode == 2 and "--human" in neither.stderr
    strange = venire("certify", "run", "--apply", "cases.jsonl", cwd=folder)
    assert strange.returncode == 2 and len(strange.stderr.strip().splitlines()) == 2
    unknown = venire("certify", "run", "--human", "labels200.csv", "--attribute", "clean", cwd=folder)
    assert unknown.returncode == 2 and "clear" in unknown.stderr
