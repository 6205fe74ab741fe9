"""What a recorded judgement cost: nothing without a column of costs, unknown where its cell is blank; and decimal commas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import venire

RUBRIC = (
    "name: r\nversion: 1\nscales: {five: {level: ordinal, anchors: {1: a, 2: b, 3: c, 4: d, 5: e}}}\n"
    "attributes: [{name: clear, question: q, scale: five}, {name: whole, question: q, scale: five}]\n"
)
JURY = "name: j\nprotocol: panel\nquorum: 1\nseats: [{name: one, model: 'recorded/judgements.csv#one'}]\n"


@pytest.mark.parametrize(
    ("column", "first", "second", "usd"),
    [
        ("cost", "0.02", "0.03", 0.05),
        ("cost", "0.02", "", None),
        ("cost", "", "", None),
        ("other", "", "", 0.0),
    ],
)
def test_a_blank_cost_is_unknown_and_not_nothing(
    tmp_path: Path, column: str, first: str, second: str, usd: float | None
) -> None:
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    (tmp_path / "jury.yaml").write_text(JURY)
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "output": "words"}\n')
    (tmp_path / "judgements.csv").write_text(
        f"case,juror,attribute,value,{column}\na,one,clear,4,{first}\na,one,whole,5,{second}\n"
    )

    done = venire("run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "run", "--json", cwd=tmp_path)  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cases"][0]["usd"] == usd


def test_decimal_commas_are_votes_and_costs(tmp_path: Path) -> None:
    steps = ", ".join(f"{step / 2}: '{step}'" for step in range(2, 11))
    (tmp_path / "rubric.yaml").write_text(RUBRIC.replace("1: a, 2: b, 3: c, 4: d, 5: e", steps))
    (tmp_path / "jury.yaml").write_text(JURY)
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "output": "words"}\n')
    (tmp_path / "judgements.csv").write_text(
        "case;juror;attribute;value;cost\na;one;clear;4,5;0,02\na;one;whole;3;0,03\n"
    )

    done = venire("run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "run", "--json", cwd=tmp_path)  # fmt: skip

    assert done.returncode == 0, done.stderr
    (case,) = json.loads(done.stdout)["cases"]
    assert [case["verdict"][name]["value"] for name in ("clear", "whole")] == [4.5, 3]
    assert case["usd"] == pytest.approx(0.05)
