"""Counting rules where an orchestrator decides, over a whole run, and over one that is finished."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from venire import Jury, Rubric, VenireError
from venire.agents.orchestrator import Finding
from venire.orchestration.counting import Rule, Tally, counting_rule
from venire.orchestration.counting.averages import by
from venire.orchestration.deliberate import blind_rule
from venire.orchestration.reading.terminal import export_run
from venire.orchestration.run_session import RunSession, run_session
from venire.rubrics.scale import Scale, Value

FIVE = Scale(level="ordinal", anchors={n: str(n) for n in range(1, 6)})
RULES = ("mean", "median", "mode", "trimmed", "weighted", "dawid-skene", "decision", "escalated")


def jury(**fields: object) -> Jury:
    return Jury.model_validate({"name": "j", "seats": [{"name": name} for name in "abcde"], **fields})


def tally(
    votes: Mapping[str, Value] | list[Value],
    *,
    case: str = "c",
    finding: Value | None = None,
    sits: Jury | None = None,
) -> Tally:
    cast = votes if isinstance(votes, Mapping) else dict(zip("abcdefgh", votes, strict=False))
    decided = (
        None
        if finding is None
        else Finding(attribute="q", value=finding, rationale="Because.", weighed=("a",))
    )
    return Tally(case=case, attribute="q", scale=FIVE, cast=cast, finding=decided, jury=sits or jury())


def value(rule: str, counted: Tally) -> Value | None:
    return counting_rule(rule).over([counted])(counted).value


@pytest.mark.parametrize(
    ("rule", "votes", "expected"),
    [
        ("decision", [4, 4], 4),
        ("decision", [4, 5], None),
        ("escalated", [4, 5], 4.5),
        ("escalated", [3, 5], None),
    ],
)
def test_the_rule_counts_as_it_says(rule: str, votes: list[Value], expected: Value | None) -> None:
    assert value(rule, tally(votes)) == expected


@pytest.mark.parametrize(
    ("votes", "apart", "expected"),
    [
        ({"a": 3, "a#2": 5}, {"repeat_range": 2}, 4),
        ({"a": 3, "a#2": 5}, {"repeat_range": 1, "panel_spread": 3}, None),
        ({"a": 3, "a#2": 3, "b": 5}, {"repeat_range": 2}, None),
        ({"a": 3, "a#2": 3, "b": 5}, {"panel_spread": 2}, 3),
    ],
)
def test_the_judges_repeats_are_held_to_their_range_and_a_panel_to_its_spread(
    votes: dict[str, Value], apart: dict[str, float], expected: Value | None
) -> None:
    sits = jury(protocol="escalate", escalation=apart)
    assert value("escalated", tally(votes, sits=sits)) == expected


def test_the_orchestrators_decision_stands_over_the_votes_under_its_own_rule_only() -> None:
    decided = tally([1, 5], finding=2)
    assert value("decision", decided) == 2
    assert value("escalated", decided) == 2
    assert value("mean", decided) == 3


def test_dawid_skene_recovers_a_planted_truth_that_the_majority_misses() -> None:
    rng = random.Random(7)
    truth = {f"c{n:03}": rng.choice([1, 2, 3, 4, 5]) for n in range(150)}

    def vote(right: int, skill: float) -> int:
        return right if rng.random() < skill else rng.choice([v for v in (1, 2, 3, 4, 5) if v != right])

    run = [
        # Two who know, and three who mostly guess, each with a favourite of its own.
        tally(
            {"a": vote(t, 0.95), "b": vote(t, 0.9)}
            | {
                name: vote(t, 0.3) if rng.random() < 0.6 else top
                for name, top in (("c", 5), ("d", 5), ("e", 4))
            },
            case=case,
        )
        for case, t in truth.items()
    ]
    right: dict[str, float] = {}
    for rule in ("mode", "dawid-skene"):
        count = counting_rule(rule).over(run)
        right[rule] = sum(count(t).value == truth[t.case] for t in run) / len(run)
    assert right["dawid-skene"] > 0.93 > 0.85 > right["mode"]


@settings(deadline=None, max_examples=60)
@given(
    cases=st.lists(
        st.dictionaries(
            st.sampled_from("abcde"), st.sampled_from([1, 2, 3, 4, 5, "not_applicable"]), min_size=1
        ),
        min_size=1,
        max_size=6,
    ),
    seed=st.integers(0, 99),
)
def test_counting_does_not_depend_on_the_order_of_jurors_or_cases(
    cases: list[dict[str, Value]], seed: int
) -> None:
    rng = random.Random(seed)

    def shuffled(votes: dict[str, Value]) -> dict[str, Value]:
        return dict(rng.sample(list(votes.items()), len(votes)))

    run = [tally(votes, case=str(n)) for n, votes in enumerate(cases)]
    other = [tally(shuffled(votes), case=str(n)) for n, votes in enumerate(cases)]
    for rule in RULES:
        count, again = counting_rule(rule).over(run), counting_rule(rule).over(rng.sample(other, len(other)))
        assert [count(t) for t in run] == [again(t) for t in other]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A panel's finished run over six cases, which is only read."""
    tmp_path = tmp_path_factory.mktemp("panel")
    asked = [{"name": name, "question": "?", "scale": "five"} for name in ("accurate", "thorough")]
    rubric = Rubric(name="tiny", version=1, scales={"five": FIVE}, attributes=asked)
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps({"id": f"c{n}", "output": f"Text {n}."}) + "\n" for n in range(6)))
    seats = [{"name": name, "model": "scripted", "seed": n} for n, name in enumerate("abc")]
    sits = Jury.model_validate({"name": "j", "protocol": "panel", "seats": seats})
    folder = tmp_path / "run"
    run_session(RunSession(cases, rubric, [sits], folder), Console(file=io.StringIO()), quiet=True)
    return folder


@pytest.mark.parametrize("rule", RULES)
def test_a_finished_run_is_recounted_by_any_rule(run: Path, rule: str) -> None:
    out = io.StringIO()
    assert export_run(run, "csv", None, out, rule) == 6
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert len(rows) == 12
    allowed = {"decision": {"consensus", "none"}, "escalated": {"median", "none"}}.get(rule, {rule})
    assert {row["method"] for row in rows} <= allowed


def test_an_unknown_rule_names_the_nearest(run: Path) -> None:
    with pytest.raises(VenireError, match="no counting rule named 'medain'") as error:
        export_run(run, "csv", None, io.StringIO(), "medain")
    assert "median" in error.value.remedy


def test_majority_is_another_word_for_mode(run: Path) -> None:
    out = io.StringIO()
    export_run(run, "csv", None, out, "majority")
    assert {row["method"] for row in csv.DictReader(io.StringIO(out.getvalue()))} == {"mode"}
    assert Jury.model_validate({"name": "two", "count": "majority", "seats": [{"name": "a"}]}).count == "mode"


@pytest.mark.parametrize("rule", [*RULES, "claims"])
def test_blind_ballots_are_counted_by_the_jurys_rule_where_it_needs_votes_alone(rule: str) -> None:
    by_votes = rule in ("mean", "median", "mode", "trimmed")

    assert blind_rule(jury(count=rule)) == (rule if by_votes else "median")


def test_a_rule_that_a_package_adds_counts_blind_ballots_too() -> None:
    assert Rule("the lowest vote", by("lowest", min)).plain
    assert not Rule("learned", fit=lambda run: by("lowest", min)).plain
