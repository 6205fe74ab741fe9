"""Runs in batches: the same verdicts at half the price, whatever the provider does, and nothing paid for twice."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from batch_server import BatchServer
from command_line import venire
from comparable_runs import steady_answer, verdicts, write_long_run
from openai_server import ProviderServer

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
        arguments = [sys.executable, "-m", "venire.cli", *batched(command)]
        for kills in (1, 2):
            going = subprocess.Popen(
                arguments, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while len(provider.batches) < kills and going.poll() is None:
                time.sleep(0.005)
            time.sleep(0.05 * kills)
            going.kill()
            going.wait()
        ended = venire(*batched(command), cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert len(verdicts(ended.stdout)) == CASES
    assert set(provider.answered.values()) == {1}
