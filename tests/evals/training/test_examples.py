"""Training examples from reviewers: the prompts are those that a run sends, the counts are said, the seed decides."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from openai_server import ProviderServer

from venire import Case, deliberate_sync
from venire.evals.training.examples import examples_from, more_lenient
from venire.evals.training.settings import load_train_file
from venire.personas.jury import Jury
from venire.rubrics.rubric import Rubric, load_rubric

RUBRIC = """
name: notes
version: 1
scales:
  five: {level: ordinal, anchors: {1: worst, 2: poor, 3: fair, 4: good, 5: best}}
  present: {level: binary, anchors: {0: absent, 1: present}}
attributes:
  - {name: accurate, question: Is it right?, scale: five}
  - {name: risk, question: Could it harm?, scale: five, better: low}
  - {name: stigma, question: Does it blame?, scale: present, better: low}
"""
REVIEWERS = [f"r{number}" for number in range(7)]
CASES = [
    Case(id=f"c{n}", source=f"Notes of case {n}: fever {37 + n / 10}.", output=f"Fever of {37 + n / 10}.")
    for n in range(12)
]


def write_set(folder: Path, *, skipped: tuple[tuple[str, str], ...] = (), best: str | None = None) -> Path:
    """Seven reviewers and twelve cases; without the ballots that are `skipped`, and with the case `best` at the kind end of every scale."""
    (folder / "rubric.yaml").write_text(RUBRIC)
    (folder / "cases.jsonl").write_text("".join(c.model_dump_json(exclude_none=True) + "\n" for c in CASES))
    with (folder / "ratings.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("case", "rater", "attribute", "value", "rationale"))
        for number, case in enumerate(CASES):
            for place, reviewer in enumerate(REVIEWERS):
                if (case.id, reviewer) in skipped:
                    continue
                scores = {
                    "accurate": 1 + (number + place) % 4,
                    "risk": 2 + (number * place) % 4,
                    "stigma": place % 2,
                }
                if case.id == best:
                    scores = {"accurate": 5, "risk": 1, "stigma": 0}
                writer.writerows(
                    (case.id, reviewer, name, value, f"because {value}") for name, value in scores.items()
                )
    path = folder / "train.yaml"
    path.write_text(
        "name: mine\ncases: cases.jsonl\nratings: ratings.csv\nrubric: rubric.yaml\npersona: plain-judge\nseed: 7\n"
    )
    return path


def test_a_row_a_reviewer_and_case_and_equal_counts_after_up_sampling(tmp_path: Path) -> None:
    whole = examples_from(load_train_file(write_set(tmp_path)))
    assert len(whole.sft) == 84 == len(whole.upsampled)

    few = tuple((case.id, "r3") for case in CASES[:5])
    found = examples_from(load_train_file(write_set(tmp_path, skipped=few)))
    assert len(found.sft) == 79
    assert Counter(row["reviewer"] for row in found.upsampled) == dict.fromkeys(REVIEWERS, 12)


def test_prompts_are_byte_for_byte_what_a_run_sends_to_a_server(tmp_path: Path) -> None:
    file = load_train_file(write_set(tmp_path))
    rubric = load_rubric(tmp_path / "rubric.yaml")
    row = examples_from(file).sft[0]
    answer = row["messages"][-1]["content"]
    with ProviderServer(lambda call: answer) as server:
        seat: dict[str, Any] = {
            "name": "judge",
            "persona": "plain-judge",
            "model": "server/x",
            "base_url": server.url,
        }
        jury = Jury.model_validate(
            {
                "name": "one",
                "protocol": "single",
                "seats": [seat],
                "orchestrator": {"model": "server/x", "base_url": server.url},
            }
        )
        deliberate_sync(CASES[0], rubric, jury)
        sent = [call.body["messages"] for call in server.calls]

    assert row["messages"][:-1] in sent


def test_pairs_are_the_median_against_one_level_more_lenient(tmp_path: Path) -> None:
    found = examples_from(load_train_file(write_set(tmp_path)))

    pair = found.preferences[1]
    chosen, rejected = (json.loads(pair[side][0]["content"]) for side in ("chosen", "rejected"))
    assert rejected["accurate"]["score"] == min(5, chosen["accurate"]["score"] + 1)
    assert rejected["risk"]["score"] == max(1, chosen["risk"]["score"] - 1)
    assert rejected["stigma"]["score"] == 1 - chosen["stigma"]["score"]


def test_leniency_is_capped_turned_and_flipped(tmp_path: Path) -> None:
    write_set(tmp_path)
    rubric = load_rubric(tmp_path / "rubric.yaml")

    assert more_lenient(rubric, {"accurate": 5, "risk": 1, "stigma": 1}) == {
        "accurate": 5,
        "risk": 1,
        "stigma": 0,
    }
    assert more_lenient(rubric, {"accurate": 2, "risk": 4, "stigma": 0}) == {"accurate": 3, "risk": 3, "stigma": 1}  # fmt: skip
    any_number = Rubric.model_validate({"name": "n", "version": 1, "scales": {"s": {"level": "interval", "minimum": 0, "maximum": 10}}, "attributes": [{"name": "up", "question": "?", "scale": "s"}, {"name": "down", "question": "?", "scale": "s", "better": "low"}]})  # fmt: skip
    assert more_lenient(any_number, {"up": 9.5, "down": 0.5}) == {"up": 10.0, "down": 0.0}
    assert more_lenient(any_number, {"up": 2.5, "down": 7.5}) == {"up": 3.5, "down": 6.5}


def test_pairs_that_come_out_equal_are_dropped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    path = write_set(tmp_path, best="c4")
    # Without the binary attribute, which always flips, a case at the kind end of every scale has no pair.
    (tmp_path / "rubric.yaml").write_text(RUBRIC[: RUBRIC.index("  - {name: stigma")])

    found = examples_from(load_train_file(path))

    assert found.summary()["dropped"]["pairs that came out equal"] == 1
    assert len(found.preferences) == 11
    assert found.summary()["dropped"]["ratings of other attributes"] == 84


def test_a_preference_is_trained_on_under_the_labels_of_its_prompt_and_none_is_more_lenient(tmp_path: Path) -> None:  # fmt: skip
    """Both reviewers prefer the row's `output_a` in every case, which jurors know as output A or as output B."""
    rows = [{"id": f"c{n}", "output_a": "Left.", "output_b": "Right."} for n in range(8)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rated = [f"c{n},{rater},preference,-1" for n in range(8) for rater in "xy"]
    (tmp_path / "ratings.csv").write_text("\n".join(["case,rater,attribute,value", *rated]))
    (tmp_path / "train.yaml").write_text(
        "name: mine\ncases: cases.jsonl\nratings: ratings.csv\nrubric: preference\n"
    )
    found = examples_from(load_train_file(tmp_path / "train.yaml"))

    swapped = {row["id"]: Case.from_row(row).swapped for row in rows}
    assert len(found.sft) == 16 and {True, False} == set(swapped.values())
    for row in found.sft:
        answer, prompt = json.loads(row["messages"][-1]["content"]), row["messages"][-2]["content"]
        assert answer["preference"]["score"] == (1 if swapped[row["case"]] else -1)
        label = re.search(r'"output (.)" begins \w+\]\]\nLeft\.', prompt)
        assert label is not None and label[1] == "AB"[swapped[row["case"]]]
    assert found.preferences == [] and found.dropped == {"pairs of ballots that compare two outputs": 8}


def test_what_is_left_out_is_counted_and_the_last_round_counts(tmp_path: Path) -> None:
    """Of c0: Ana changes her mind, Ben is whole, Cy leaves one blank, Di is off the scale, Ed rates another question."""
    path = write_set(tmp_path)
    (tmp_path / "rubric.yaml").write_text(RUBRIC.replace("scales:\n", "scales:\n  kind: {level: nominal, anchors: {plain: a, odd: b, rude: c}}\n") + "  - {name: tone, question: Of which kind?, scale: kind}\n")  # fmt: skip
    whole = {"risk": 2, "stigma": 0, "tone": "plain"}
    rows = [
        *(("c0", "Ana", name, value, 2, "second thoughts") for name, value in {**whole, "accurate": 4, "tone": "odd"}.items()),
        *(("c0", "Ana", name, value, 1, "at first") for name, value in {**whole, "accurate": 1}.items()),
        *(("c0", "Ben", name, value, 1, "") for name, value in {**whole, "accurate": 3}.items()),
        *(("c0", "Cy", name, value, 1, "") for name, value in {**whole, "accurate": ""}.items()),
        *(("c0", "Di", name, value, 1, "") for name, value in {**whole, "accurate": 9}.items()),
        ("c0", "Ed", "brief", 3, 1, ""),
        *(("zz", rater, name, value, 1, "") for rater in ("Ana", "Ben") for name, value in {**whole, "accurate": 3}.items()),
        *(("c1", rater, name, value, 1, "") for rater, tone in (("Ana", "rude"), ("Ben", "plain"), ("Di", "plain")) for name, value in {**whole, "accurate": 2, "tone": tone}.items()),
    ]  # fmt: skip
    with (tmp_path / "ratings.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("case", "rater", "attribute", "value", "round", "rationale"), *rows])
    found = examples_from(load_train_file(path))

    assert found.dropped == {"ratings of other attributes": 1, "blank ratings": 1, "ballots that are not whole": 1, "ballots with a value off the scale": 1, "ratings of unknown cases": 2}  # fmt: skip
    assert [(row["case"], row["reviewer"]) for row in found.sft] == [("c0", "Ana"), ("c0", "Ben"), ("c1", "Ana"), ("c1", "Ben"), ("c1", "Di")]  # fmt: skip
    ana, ben = (json.loads(row["messages"][-1]["content"]) for row in found.sft[:2])
    assert (ana["accurate"], ana["tone"]["score"]) == ({"rationale": "second thoughts", "evidence": [], "score": 4}, "odd")  # fmt: skip
    assert ben["accurate"] == {"rationale": "The reviewer gave no reason.", "evidence": [], "score": 3}
    # The lower of two in the middle, and of words the commonest; nobody's reasons.
    first, second = (json.loads(pair["chosen"][0]["content"]) for pair in found.preferences)
    assert (first["accurate"]["score"], second["tone"]["score"]) == (3, "plain")
    assert {part["rationale"] for part in first.values()} == {"The reviewer gave no reason."}
    assert found.preferences[0]["prompt"] == found.sft[0]["messages"][:-1]
    # Everyone has as many rows as Ana and Ben, and each own row at least once.
    any_number = RUBRIC.replace("level: ordinal, anchors: {1: worst, 2: poor, 3: fair, 4: good, 5: best}", "level: interval, minimum: 1, maximum: 5")  # fmt: skip
    (tmp_path / "rubric.yaml").write_text(any_number)
    of_numbers = examples_from(load_train_file(path))
    assert of_numbers.dropped["ballots with a value off the scale"] == 1 and len(of_numbers.sft) == 5
    rows_of = Counter(row["reviewer"] for row in found.upsampled)
    assert rows_of == {"Ana": 2, "Ben": 2, "Di": 2} and all(row in found.upsampled for row in found.sft)
    assert found.summary()["reviewers"]["Di"] == {"rows": 1, "upsampled": 2}


def test_the_command_writes_the_same_bytes_for_the_same_seed(tmp_path: Path) -> None:
    path = write_set(tmp_path, skipped=(("c0", "r0"),))
    for name in ("one", "two"):
        done = venire("train", path, "-o", tmp_path / name, "--examples-only", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["sft"] == 83

    for name in ("sft.jsonl", "sft-upsampled.jsonl", "dpo.jsonl", "summary.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("ratings.csv", "absent.csv"), "absent.csv"),
        (("seed: 7", "sead: 7"), "sead"),
        (("rubric: rubric.yaml", "rubric: pdsqi-9"), "rated every attribute"),
    ],
)
def test_a_bad_file_is_two_lines_and_exit_status_2(
    tmp_path: Path, change: tuple[str, str], problem: str
) -> None:
    path = write_set(tmp_path)
    path.write_text(path.read_text().replace(*change))

    done = venire("train", path, "-o", tmp_path / "out", "--examples-only", cwd=tmp_path)

    assert done.returncode == 2 and problem in done.stderr and len(done.stderr.strip().splitlines()) == 2
    assert not (tmp_path / "out").exists()
