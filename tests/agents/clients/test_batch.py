"""Runs in batches: the same verdicts at half the price, whatever the provider does, and nothing paid for twice."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from batch_server import BatchServer
from command_line import Started, venire
from comparable_runs import steady_answer, verdicts, write_long_run
from openai_server import Call, ProviderServer

from venire.agents.clients.batch import (
    AnthropicBatches,
    BatchClient,
    BatchSettings,
    OpenAIBatches,
)
from venire.agents.clients.server import ServerClient
from venire.agents.model import Message, Reply, Request, Sampling
from venire.rubrics.ballot import Schema
from venire.rubrics.errors import VenireError

CASES = 20
PRICES = {
    f"{provider}/{name}": {"prompt": 1.0, "completion": 2.0}
    for provider in ("server", "anthropic")
    for name in ("a", "b", "c", "boss")
}


def batched(command: list[object], *more: str) -> list[str]:
    return [*map(str, command), "--batch", "--poll", "0.05", "--prices", "prices.json", "--json", *more]


def ask_anthropic(folder: Path, provider: BatchServer) -> None:
    """Have the jury's models asked by Anthropic's protocol."""
    pytest.importorskip("litellm", reason="anthropic/ models need LiteLLM")
    jury = json.loads((folder / "jury.yaml").read_text())
    for seat in (*jury["seats"], jury["orchestrator"]):
        name = seat["model"].partition("/")[2]
        seat |= {"model": f"anthropic/{name}", "base_url": provider.root, "api_key_env": "HOME"}
    (folder / "jury.yaml").write_text(json.dumps(jury))


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_deliberation_in_batches_ends_as_one_without_at_half_the_price(
    tmp_path: Path, protocol: str
) -> None:
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    with ProviderServer(steady_answer) as server:
        command = write_long_run(tmp_path, server.url, "plain", CASES)
        plain = venire(*command, "--json", "--prices", "prices.json", cwd=tmp_path)
        sent = len(server.calls)
    faults = {"expiring": (1, 4), "cancelled": (2,), "broken": 7, "pages": protocol == "anthropic"}
    with BatchServer(steady_answer, **faults) as provider:
        command = write_long_run(tmp_path, provider.url, "batches", CASES)
        if protocol == "anthropic":
            ask_anthropic(tmp_path, provider)
        ended = venire(*batched(command), cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert verdicts(ended.stdout) == verdicts(plain.stdout)
    assert len(provider.calls) == sent
    assert set(provider.answered.values()) == {1}
    assert len(provider.batches) < sent / 2, "several requests to a batch"
    whole, half = (sum(case["usd"] for case in json.loads(run.stdout)["cases"]) for run in (plain, ended))
    assert half == pytest.approx(whole / 2)


@pytest.mark.parametrize(("protocol", "unread"), [("openai", 1), ("anthropic", 2)])
def test_a_result_that_cannot_be_read_costs_no_other_of_its_batch(
    tmp_path: Path, protocol: str, unread: int
) -> None:
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    with BatchServer(steady_answer, garbled=True) as provider:
        command = write_long_run(tmp_path, provider.url, "garbled", CASES)
        if protocol == "anthropic":
            ask_anthropic(tmp_path, provider)
        ended = venire(*batched(command), cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert len(verdicts(ended.stdout)) == CASES
    asked_again = [times for times in provider.answered.values() if times > 1]
    assert asked_again == [2] * unread, "those without a readable answer, and no other"


def test_a_run_that_is_killed_picks_up_what_is_out(tmp_path: Path) -> None:
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    with BatchServer(steady_answer, delay=0.4) as provider:
        command = write_long_run(tmp_path, provider.url, "killed", CASES)
        for kills in (1, 2):
            going = Started(*batched(command), cwd=tmp_path)
            while len(provider.batches) < kills and going.poll() is None:
                time.sleep(0.005)
            time.sleep(0.05 * kills)
            going.kill()
            going.wait()
        ended = venire(*batched(command), cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert len(verdicts(ended.stdout)) == CASES
    assert set(provider.answered.values()) == {1}


class Notes:
    """A run's notes, each with how many batches had been ordered by then; if `killed`, the first session ends with one."""

    def __init__(self, provider: BatchServer, *, killed: bool = False) -> None:
        self._provider = provider
        self.kept: dict[str, str] = {}
        self.ordered: list[int] = []
        self.killed = killed

    async def note(self, name: str, value: str) -> None:
        self.kept[name] = value
        self.ordered.append(len(self._provider.batches))
        if self.killed:
            self.killed = False
            raise VenireError("killed", remedy="run it again")

    def facts(self, prefix: str) -> Mapping[str, str]:
        return {name: value for name, value in self.kept.items() if name.startswith(prefix)}


def session(
    server: BatchServer, protocol: str, notes: Notes, *rounds: list[str]
) -> list[Reply | BaseException]:
    """What one session's client is answered, each of the `rounds` of words asked when the one before was answered."""

    async def ask() -> list[Reply | BaseException]:
        batches = {
            "openai": OpenAIBatches(server.url, {}, 0.01),
            "anthropic": AnthropicBatches(server.root, {}, 0.01),
        }
        settings = BatchSettings(gather=0.01, poll=0.01, say=lambda line: None)
        settings.notes = notes
        client = BatchClient(ServerClient(server.url, None), batches[protocol], settings)
        answers: list[Reply | BaseException] = []
        try:
            for words in rounds:
                asked = (client.complete(asking(each)) for each in words)
                answers += await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await client.close()
        return answers

    def asking(words: str) -> Request:
        return Request(
            "server/a", (Message("user", words),), Schema({"type": "object"}), Sampling({}), 0, 60.0
        )

    return asyncio.run(ask())


def said(answers: list[Reply | BaseException]) -> list[str]:
    return [json.loads(each.text)["said"] for each in answers if isinstance(each, Reply)]


def echo(call: Call) -> str:
    return json.dumps({"said": call.prompt.strip()})


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_batch_is_written_down_before_it_is_ordered_and_is_ordered_once(protocol: str) -> None:
    """So that a run that is killed in between has a note without a batch, which is made then, and no batch without a note."""
    with BatchServer(echo, delay=0.0) as server:
        notes = Notes(server, killed=True)
        killed, second, third = (session(server, protocol, notes, ["one", "two"]) for _ in range(3))

    assert [type(each) for each in killed] == [VenireError] * 2
    assert notes.ordered == [0, 0] and len(server.batches) == 1
    assert said(second) == said(third) == ["one", "two"] and list(server.answered.values()) == [1, 1]


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_an_order_that_was_carried_out_although_its_answer_says_otherwise_is_not_given_again(
    protocol: str,
) -> None:
    rounds = [["one"], ["two", "three"], ["four"]]
    with BatchServer(echo, delay=0.0, broken=2) as server:
        answers = session(server, protocol, Notes(server), *rounds)

    assert server.lost > 0
    assert len(server.batches) == len(rounds)
    assert said(answers) == ["one", "two", "three", "four"]
