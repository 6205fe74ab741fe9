"""Prices: what the user says of a model holds, cached tokens have their own, and unknown is never 0."""

from __future__ import annotations

import json
import math
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from command_line import venire
from openai_server import ProviderServer, jury_of
from run_files import write_run

from venire.agents.budget import Budget
from venire.agents.cost import Cost, Price, Receipt, load_prices
from venire.agents.model import Reply, Request, Usage
from venire.agents.model_client import ModelClient
from venire.agents.providers import RateLimitedClient
from venire.rubrics.errors import InvalidFile, VenireError


def test_prompt_completion_and_cached_tokens_each_have_their_price() -> None:
    price = Price(prompt=2.0, completion=8.0, cached=0.5)

    # (1000 - 600) * 2 + 600 * 0.5 + 100 * 8 = 1900 millionths
    assert price.usd(Usage(prompt=1000, completion=100, cached=600)) == pytest.approx(0.0019)


def test_cached_tokens_cost_as_much_as_others_unless_it_is_said() -> None:
    assert Price(prompt=1.0, completion=0.0).usd(Usage(prompt=1000, cached=600)) == pytest.approx(0.001)


@pytest.mark.parametrize(("cached", "most"), [(None, 0.0028), (0.5, 0.0028), (2.0, 0.0028), (5.0, 0.0058)])
def test_the_most_that_a_call_may_cost_takes_every_token_at_its_dearest(
    cached: float | None, most: float
) -> None:
    price = Price(prompt=2.0, completion=8.0, cached=cached)

    assert price.most_usd(1000, 100) == pytest.approx(most)
    half = price.in_batches
    assert half.most_usd(1000, 100) == pytest.approx(most / 2) and (half.cached is None) is (cached is None)


@pytest.mark.parametrize("batched", [False, True])
def test_what_the_user_says_of_a_price_comes_before_what_the_client_lists_and_a_batch_is_half(
    batched: bool,
) -> None:
    said, listed = Price(prompt=4.0, completion=8.0), Price(prompt=2.0, completion=2.0)

    class Listing(ModelClient):
        def list_price(self, model: str) -> Price | None:
            return None if model == "unknown" else listed

        async def complete(self, request: Request) -> Reply:
            raise NotImplementedError

    client = Listing()
    client.batched = batched
    limited = RateLimitedClient(client, 1, prices={"mine": said})

    expected = (said.in_batches, listed.in_batches) if batched else (said, listed)
    assert (limited.price("mine"), limited.price("theirs"), limited.price("unknown")) == (*expected, None)


def receipt(usd: float | None, seconds: float, *calls: str, **fields: Any) -> Receipt:
    return Receipt(calls=calls, prompt=7, completion=5, cached=3, usd=usd, seconds=seconds, estimated=1, implausible=1, **fields)  # fmt: skip


def test_receipts_add_up_one_after_the_other_or_side_by_side_and_unknown_stays_unknown() -> None:
    one, two = (
        receipt(0.5, 2.0, "k1", by="a", versions=("v",)),
        receipt(0.25, 3.0, "k2", "k3", by="b", versions=("v", "w")),
    )
    beside, then = one.beside(two), one.then(two)

    assert (beside.seconds, then.seconds, then.by) == (3.0, 5.0, "b")
    for both in (beside, then):
        assert (both.usd, both.calls, both.versions) == (0.75, ("k1", "k2", "k3"), ("v", "w"))
        assert (both.prompt, both.completion, both.cached, both.estimated, both.implausible) == (
            14,
            10,
            6,
            2,
            2,
        )
    for unknown in (receipt(None, 1.0, "k4").beside(one), one.beside(receipt(None, 1.0, "k4"))):
        assert unknown.usd is None and unknown.cost.usd is None
    reply = Reply("x", Usage(1, 2, 1), usd=0.5, seconds=4.0, estimated="implausible", version="w")
    more = one.plus("k9", reply)
    assert (more.usd, more.seconds, more.calls, more.versions) == (1.0, 6.0, ("k1", "k9"), ("v", "w"))
    assert (more.prompt, more.completion, more.cached, more.estimated, more.implausible) == (8, 7, 4, 2, 2)
    assert one.plus("k9", Reply("x")).usd is None and Receipt().cost.usd == 0.0
    total = Cost.total([one, two, receipt(None, 1.0, "k4")])
    assert (total.calls, total.priced, total.known_usd, total.usd, total.tokens) == (4, 3, 0.75, None, 36)
    assert (total.usage, total.seconds, total.estimated) == (Usage(21, 15, 9), 6.0, 3)
    assert Cost.of(reply) + Cost.of(Reply("y", Usage(3, 4, 2))) == Cost(2, Usage(4, 6, 3), 1, 0.5, 4.0, 1)
    assert math.isnan(total.amount("usd")) and (total.amount("tokens"), total.amount("calls")) == (36, 4)


def test_a_cost_is_told_as_far_as_it_is_known() -> None:
    usage = Usage(10, 5, 4)
    known, partly, unknown = Cost(2, usage, 2, 1.5, 3.0), Cost(3, usage, 1, 0.0, 3.0, 1), Cost(1, usage)

    assert (known.price, known.amount("usd"), known.usd) == ("$1.5000", 1.5, 1.5)
    assert partly.price == "price partly unknown, $0.0000 known" and partly.usd is None
    assert unknown.price == "price unknown" and Cost().price == "$0.0000"
    assert Cost.of(Reply("x", usage, usd=0.0)).priced == 1
    assert partly.to_json() == {
        "calls": 3,
        "tokens": {"prompt": 10, "completion": 5, "cached": 4},
        "estimated_calls": 1,
        "usd": None,
        "seconds": 3.0,
    }
    assert (
        Cost.total([Receipt(calls=("a", "b"), estimated=2), Receipt(calls=("c",), estimated=1)]).estimated
        == 3
    )
    named = [Reply("x", version=version) for version in ("v", "", "v", "w")]
    assert reduce(lambda spent, reply: spent.plus("k", reply), named, Receipt()).versions == ("v", "w")
    missing = Receipt().plus("k", Reply("x", usage, usd=0.5, estimated="missing"))
    assert (missing.estimated, missing.implausible) == (1, 0)
    assert Price(prompt=2, completion=4, cached=1).in_batches == Price(prompt=1, completion=2, cached=0.5)
    assert Price(prompt=2, completion=4).in_batches.cached is None


def test_a_free_model_is_free_but_uncounted_tokens_are_not() -> None:
    free = Price(prompt=0.0, completion=0.0)

    assert free.usd(Usage(prompt=10, completion=1)) == 0.0
    assert Price(prompt=1.0, completion=1.0).usd(Usage()) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("server/a: {prompt: -1, completion: 1}", "prompt"),
        ("server/a: {prompt: 1}", "completion"),
        ("server/a: {promt: 1, completion: 1}", "promt"),
        ("server/a: 3", "server/a"),
        ("[1]", "must have keys"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "prices.yaml").write_text(text)

    with pytest.raises(InvalidFile, match=problem) as raised:
        load_prices(tmp_path / "prices.yaml")
    assert "prices.yaml:1" in raised.value.problem


@pytest.mark.parametrize(
    ("prices", "problem"),
    [
        ({"server/a": {"prompt": -1, "completion": 1}}, "server/a: prompt: "),
        ({"server/a": {"prompt": 1}}, "server/a: completion: "),
        ({"server/a": 3}, "server/a: "),
    ],
)
def test_prices_in_python_are_a_mapping_and_a_mistake_in_it_is_named(
    prices: dict[str, Any], problem: str
) -> None:
    with pytest.raises(VenireError, match=problem):
        load_prices(prices)
    right = {"server/a": {"prompt": 1, "completion": 2}, "server/b": Price(prompt=1, completion=2)}
    assert set(load_prices(right).values()) == {right["server/b"]}


def test_the_file_in_the_documents_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs/budgets.md").read_text(encoding="utf-8")
    (tmp_path / "prices.yaml").write_text(page.partition("```yaml\n")[2].partition("```")[0])

    assert load_prices(tmp_path / "prices.yaml")["server/llama-3.3-70b"].cached == 0.30


def test_a_run_is_priced_where_every_price_is_known_and_its_budget_in_dollars_holds(tmp_path: Path) -> None:
    prices = {f"server/{name}": {"prompt": 1000, "completion": 1000} for name in "abc"}
    with ProviderServer(jury_of({"a": 3, "b": 3, "c": 3, "boss": 3})) as server:
        command = write_run(tmp_path, server.url, protocol="panel")
        (tmp_path / "prices.yaml").write_text(json.dumps(prices))
        stopped = venire(
            *command, "--prices", "prices.yaml", "--max-usd", "1", "--in-flight", 1, cwd=tmp_path
        )
        ended = venire(*command, "--prices", "prices.yaml", "--json", cwd=tmp_path)
        del prices["server/c"]
        (tmp_path / "prices.yaml").write_text(json.dumps(prices))
        partly = venire(*command[:-1], "other", "--prices", "prices.yaml", "--json", cwd=tmp_path)

    assert stopped.returncode == 3
    assert "max_usd" in stopped.stderr
    for case in json.loads(ended.stdout)["cases"]:
        assert case["usd"] == pytest.approx((case["tokens"]["prompt"] + case["tokens"]["completion"]) / 1000)
    assert {case["usd"] for case in json.loads(partly.stdout)["cases"]} == {None}


def test_a_limit_in_dollars_on_a_model_without_a_price_is_refused_before_any_call(tmp_path: Path) -> None:
    with ProviderServer(jury_of({"a": 3, "b": 3, "c": 3})) as server:
        ended = venire(*write_run(tmp_path, server.url, protocol="panel"), "--max-usd", "1", cwd=tmp_path)

        assert not server.calls
    assert ended.returncode == 2
    assert "max_usd cannot be applied: the price of server/a is not known" in ended.stderr
    assert not (tmp_path / "out").exists()


def test_a_price_that_turns_out_unknown_ends_the_spending_and_is_no_zero() -> None:
    budget = Budget(max_usd=1.0)
    budget.add(Cost.of(Reply(text="", usd=None)))

    with pytest.raises(VenireError, match="is not known"):
        budget.check()
