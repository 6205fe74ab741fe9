"""What a judgement cost: receipts added up; of a recorded one nothing without a column of costs, unknown where its cell is blank."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import venire
from hypothesis import given
from hypothesis import strategies as st

from venire.agents.cost import Cost, Receipt
from venire.agents.model import FailedTry, Reply, Usage

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


whole = st.integers(0, 50)
replies = st.builds(
    Reply,
    text=st.just("t"),
    usage=st.builds(Usage, whole, whole, whole),
    usd=st.none() | st.integers(0, 9).map(lambda cents: cents / 4),
    seconds=whole.map(float),
    estimated=st.sampled_from(["", "missing", "implausible"]),
    version=st.sampled_from(["", "v1", "v2"]),
)


def receipt_of(calls: list[Reply], by: str = "") -> Receipt:
    spent = Receipt(by=by)
    for number, reply in enumerate(calls):
        spent = spent.plus(f"{by}{number}", reply)
    return spent.model_copy(update={"by": by})


@given(st.lists(replies, min_size=1, max_size=3), st.lists(replies, min_size=1, max_size=3))
def test_a_receipt_holds_every_call_and_only_its_seconds_depend_on_what_ran_side_by_side(
    first: list[Reply], second: list[Reply]
) -> None:
    early, late, every = receipt_of(first, "a"), receipt_of(second, "b"), [*first, *second]
    for both, seconds in (
        (early.then(late), sum(reply.seconds for reply in every)),
        (early.beside(late), max(sum(r.seconds for r in part) for part in (first, second))),
    ):
        prices = [reply.usd for reply in every]
        assert both.usd == (None if None in prices else sum(prices))  # type: ignore[arg-type]
        assert both.seconds == seconds
        assert both.calls == (*early.calls, *late.calls) and len(both.calls) == len(every)
        assert (both.prompt, both.completion, both.cached) == tuple(
            sum(getattr(reply.usage, name) for reply in every) for name in ("prompt", "completion", "cached")
        )
        assert both.estimated == sum(bool(reply.estimated) for reply in every)
        assert both.implausible == sum(reply.estimated == "implausible" for reply in every)
        assert both.versions == tuple(dict.fromkeys(reply.version for reply in every if reply.version))
    assert early.then(late).by == "b"

    cost = Cost.total([early, late])
    known = [spent for spent in (early, late) if spent.usd is not None]
    assert (cost.calls, cost.seconds) == (len(every), early.seconds + late.seconds)
    assert cost.known_usd == sum(spent.usd for spent in known)  # type: ignore[misc]
    assert cost.priced == sum(len(spent.calls) for spent in known)
    assert (cost.usd is None) == (len(known) < 2)
    assert cost == early.cost + late.cost


def test_the_tries_that_failed_stay_on_the_receipt_whatever_it_is_added_to() -> None:
    lost = FailedTry(reason="timeout", detail="slow", at=1.0, seconds=2.0)
    tried = Receipt().plus("k", Reply("t", failures=(lost,)))
    for both in (
        tried.then(Receipt()),
        Receipt().then(tried),
        tried.beside(Receipt()),
        Receipt().with_failures([lost]),
    ):
        assert both.failures == (lost,)
