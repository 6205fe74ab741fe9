"""Scales: half a step of one, and cost matrices: what they say, and what is wrong with one in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from venire import Jury, Rubric
from venire.orchestration.record.manifest import arm_fingerprint, arm_manifest
from venire.orchestration.worked_examples import ScoredCases
from venire.rubrics import InvalidFile, load_rubric
from venire.rubrics.scale import Scale, preferred_side

IMPACT = load_rubric("asr-impact")
FILE = """\
name: graded
version: 1
scales:
  grade:
    level: ordinal
    anchors: {0: none, 1: some}
    costs:
      0: {0: 1, 1: -1}
      1: {0: -3, 1: 2}
      abstention: -2
attributes:
  - {name: grade, question: How much?, scale: grade}
"""


@pytest.mark.parametrize(
    ("scale", "half"),
    [
        ({"level": "ordinal", "anchors": {1: "a", 2: "b", 5: "c"}}, 0.5),
        ({"level": "ordinal", "anchors": {0: "a", 10: "b", 14: "c"}}, 2.0),
        ({"level": "binary", "anchors": {0: "no", 1: "yes"}}, 0.5),
        ({"level": "interval", "minimum": 0, "maximum": 100}, 0.0),
        ({"level": "nominal", "anchors": {"red": "r", "blue": "b"}}, 0.0),
    ],
)
def test_half_a_step_is_half_of_the_shortest(scale: dict[str, Any], half: float) -> None:
    assert Scale.model_validate(scale).half_step == half


def test_a_mean_prefers_a_side_only_beyond_half_a_level() -> None:
    assert [preferred_side(value) for value in (-2, -0.51, -0.5, 0, 0.5, 0.51, 1)] == [-1, -1, 0, 0, 0, 1, 1]


def test_the_papers_matrix_ships_with_its_rubric() -> None:
    costs = IMPACT.scale_of("impact").costs
    assert costs is not None

    assert [[costs.reward(true, given) for given in (0, 1, 2)] for true in (0, 1, 2)] == [
        [1.2, 0.3, -1.0],
        [0.3, 1.5, 0.5],
        [-1.2, 0.4, 1.5],
    ]
    assert costs.reward(2, None) == -2.0


def test_a_rubric_with_costs_comes_back_from_json_as_it_was() -> None:
    assert Rubric.model_validate_json(IMPACT.model_dump_json()) == IMPACT
    assert Rubric.model_validate(IMPACT.model_dump()) == IMPACT


def test_costs_make_no_other_arm_of_a_jury(tmp_path: Path) -> None:
    plain = json.loads(IMPACT.model_dump_json())
    del plain["scales"]["impact3"]["costs"]
    jury = Jury.model_validate({"name": "one", "protocol": "single", "seats": [{"name": "a", "model": "m"}]})
    prints = {
        arm_fingerprint(arm_manifest(rubric, jury, seed=0, scored=ScoredCases(), prices={}))
        for rubric in (IMPACT, Rubric.model_validate(plain))
    }
    assert len(prints) == 1


@pytest.mark.parametrize("size", [2, 3, 5])
def test_costs_of_any_size_and_of_words(size: int) -> None:
    words = [f"level {n}" for n in range(size)]
    for level, values in (("ordinal", list(range(size))), ("nominal", words)):
        costs: dict[Any, Any] = {t: {g: -float(t != g) for g in values} for t in values}
        rubric = Rubric.model_validate(
            {
                "name": "sized",
                "version": 1,
                "scales": {
                    "s": {
                        "level": level,
                        "anchors": {v: str(v) for v in values},
                        "costs": {**costs, "abstention": -5},
                    }
                },
                "attributes": [{"name": "a", "question": "What?", "scale": "s"}],
            }
        )
        matrix = rubric.scale_of("a").costs
        assert matrix is not None
        assert matrix.reward(values[0], values[-1]) == -1
        assert matrix.reward(values[1], values[1]) == 0


@pytest.mark.parametrize(
    ("written", "instead", "problem"),
    [
        ("      1: {0: -3, 1: 2}\n", "", r":7: .*the row of 1 is missing"),
        ("{0: -3, 1: 2}", "{0: -3}", r":9: .*in the row of 1, the answer 1 is missing"),
        ("1: 2}", "2: 2}", r":9: .*2 is not a value of the scale\n  -> choose one of these: 0, 1"),
        ("      1: {0: -3", "      one: {0: -3", r":9: .*'one' is not a value of the scale"),
        ("abstention: -2", "abstension: -2", r":10: .*unknown key 'abstension'\n  -> did you mean 'abstention'"),
        ("      abstention: -2\n", "", r":7: .*an abstention is missing\n  -> add abstention: NUMBER"),
        ("{0: -3, 1: 2}", "[-3, 2]", r":9: .*the row of 1 is not a mapping"),
        ("-3, 1: 2", "low, 1: 2", r":9: .*'low' is not a number"),
        ("-3, 1: 2", ".nan, 1: 2", r":9: .*nan is not a number"),
        ("-3, 1: 2", "true, 1: 2", r":9: .*True is not a number"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(tmp_path: Path, written: str, instead: str, problem: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(FILE.replace(written, instead))
    with pytest.raises(InvalidFile, match=rf"r\.yaml{problem}"):
        load_rubric(path)


def test_a_continuous_scale_has_no_costs(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    continuous = FILE.replace("level: ordinal", "level: interval").replace(
        "anchors: {0: none, 1: some}", "minimum: 0\n    maximum: 1"
    )
    path.write_text(continuous)
    with pytest.raises(InvalidFile, match="only a scale with anchors can have costs"):
        load_rubric(path)
