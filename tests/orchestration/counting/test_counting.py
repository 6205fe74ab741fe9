"""Counting rules: each on votes worked out by hand, over a finished run, and whatever the order of the jurors."""

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
from venire.orchestration.counting import Tally, counting_rule
from venire.orchestration.counting.weighted import reliability
from venire.orchestration.reading.terminal import export_run
from venire.orchestration.run_session import RunSession, run_session
from venire.rubrics.scale import Scale, Value

FIVE = Scale(level="ordinal", anchors={n: str(n) for n in range(1, 6)})
TWO = Scale(level="binary", anchors={0: "no", 1: "yes"})
WORDS = Scale(level="nominal", anchors={"red": "r", "green": "g", "blue": "b"})
RULES = ("mean", "median", "mode", "trimmed", "weighted", "dawid-skene", "decision", "escalated")


def jury(**fields: object) -> Jury:
    return Jury.model_validate({"name": "j", "seats": [{"name": name} for name in "abcde"], **fields})


def tally(
    votes: Mapping[str, Value] | list[Value],
    scale: Scale = FIVE,
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
    return Tally(case=case, attribute="q", scale=scale, cast=cast, finding=decided, jury=sits or jury())


def value(rule: str, counted: Tally) -> Value | None:
    return counting_rule(rule).over([counted])(counted).value


@pytest.mark.parametrize(
    ("rule", "votes", "expected"),
    [
        ("mean", [4, 5, 5], 14 / 3),
        ("mean", [4, 4], 4),
        ("median", [1, 5, 4], 4),
        ("median", [1, 4, 5, 5], 4.5),
        ("mode", [2, 2, 5], 2),
        ("mode", [1, 2, 5], 2),
        ("mode", [1, 1, 5, 5], 1),
        ("mode", [2, 4, 4, 2, 5], 4),
        ("trimmed", [1, 4, 5, 5], 4.5),
        ("trimmed", [1, 5], 3),
        ("decision", [4, 4], 4),
        ("decision", [4, 5], None),
        ("escalated", [4, 5], 4.5),
        ("escalated", [3, 5], None),
        ("mean", [4, "not_applicable", 5], 4.5),
    ],
)
def test_the_rule_counts_as_it_says(rule: str, votes: list[Value], expected: Value | None) -> None:
    assert value(rule, tally(votes)) == expected


def test_words_are_counted_by_mode_and_a_tie_of_two_values_is_hung() -> None:
    assert counting_rule("mean").over([])(tally(["red", "blue", "red"], WORDS))[:2] == ("red", "mode")
    assert value("mode", tally(["red", "blue"], WORDS)) == "blue"
    assert value("median", tally([0, 1], TWO)) is None
    assert value("median", tally([0, 1, 1], TWO)) == 1


def test_the_orchestrators_decision_stands_over_the_votes_under_its_own_rule_only() -> None:
    decided = tally([1, 5], finding=2)
    assert value("decision", decided) == 2
    assert value("escalated", decided) == 2
    assert value("mean", decided) == 3


def test_fewer_votes_than_the_quorum_say_that_it_applies() -> None:
    few = tally([4, 5, "not_applicable"], sits=jury(quorum=3))
    for rule in ("mean", "median", "mode", "trimmed", "weighted", "dawid-skene"):
        counted = counting_rule(rule).over([few])(few)
        assert counted.value is None and "quorum" in counted.why


def test_given_weights_are_used_as_they_are() -> None:
    sits = jury(weights={"a": 3, "b": 1})
    assert value("weighted", tally({"a": 5, "b": 1}, sits=sits)) == 4
    assert value("weighted", tally({"a": "red", "b": "blue", "c": "blue"}, WORDS, sits=sits)) == "red"
    assert value("weighted", tally({"a": 5, "b": 1}, sits=jury(weights={"a": 0, "b": 0}))) is None


def test_estimated_weights_are_agreement_with_the_others() -> None:
    run = [tally({"a": 4, "b": 4, "c": 1}, case="1"), tally({"a": 2, "b": 2, "c": 5}, case="2")]
    # a against the mean of b and c: |4 - 2.5| / 4 and |2 - 3.5| / 4; c against a and b: 3 / 4 twice.
    assert reliability(run) == {"a": 0.625, "b": 0.625, "c": 0.25}
    assert counting_rule("weighted").over(run)(run[0]).value == pytest.approx((0.625 * 8 + 0.25) / 1.5)


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


def test_dawid_skene_says_no_to_a_scale_without_separate_answers() -> None:
    anything = Scale(level="interval", minimum=0, maximum=100)
    with pytest.raises(VenireError, match="separate answers"):
        value("dawid-skene", tally([3.5, 4.0], anything))


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


@pytest.fixture
def run(tmp_path: Path, rubric: Rubric) -> Path:
    """A panel's finished run over six cases."""
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
