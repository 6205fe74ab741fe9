"""The scorer in Inspect itself: scores, unscored samples and the deliberation, as its own log gives them back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from openai_server import ProviderServer
from plugin_hosts import CANARY, EXAMPLES, HOSTS, assert_never_mixed, local_jurors, needs, run_in_hosts

pytestmark = needs("inspect_ai")

ATTRIBUTES = {"accurate": 4.0, "thorough": 5.0, "overall": 4.4}
NONE_LOST = {"hung": 0.0, "abstentions": 0.0}
REACHED = ATTRIBUTES | NONE_LOST
PROGRAM = Path(__file__).parent / "in_inspect.py"


def found_in_inspect(folder: Path, *asked: object) -> Any:
    ended = run_in_hosts("python", PROGRAM, *asked, cwd=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def inspect(*command: object, cwd: Path) -> None:
    # What Inspect's mock model counts tokens with would be fetched; LiteLLM brings a copy.
    (tokenizers,) = HOSTS.glob("lib/python*/site-packages/litellm/litellm_core_utils/tokenizers")
    ended = run_in_hosts(
        "inspect", *command, "--display", "none", cwd=cwd, TIKTOKEN_CACHE_DIR=str(tokenizers)
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inspect")


def test_the_example_leaves_scores_and_the_deliberation_in_inspects_log(folder: Path) -> None:
    with local_jurors() as server:
        jurors = ["model=server/juror", f"base_url={server.url}"]
        inspect(
            "eval", "summaries.py", "--model", "mockllm/model", "--epochs", "2", "--log-dir", folder / "logs",
            "-T", "juror=server/juror", "-T", f"base_url={server.url}", cwd=EXAMPLES / "inspect",
        )  # fmt: skip
        (log,) = (folder / "logs").glob("*.eval")
        first, asked = shutil.copy(log, folder / "first.eval"), len(server.calls)
        options = [f"rubric={EXAMPLES / 'rubric.yaml'}", f"jury={EXAMPLES / 'jury.yaml'}", *jurors]
        given = [part for option in options for part in ("-S", option)]
        scored = ["score", log, "--scorer", "venire/jury", *given, "--action", "overwrite", "--overwrite"]
        inspect(*scored, cwd=folder)
        found, again = found_in_inspect(folder, "read", first, log)

    hung = dict.fromkeys(ATTRIBUTES) | {"hung": 2.0, "abstentions": 2.0}
    assert found["scores"] == [
        ["visit-1", 1, REACHED], ["visit-1", 2, REACHED], ["visit-2", 1, hung], ["visit-2", 2, hung],
    ]  # fmt: skip
    assert found["results"] == {
        "accurate": [1, 1, 4.0],
        "thorough": [1, 1, 5.0],
        "overall": [1, 1, 4.4],
        "hung": [2, 0, 1.0],
        "abstentions": [2, 0, 1.0],
    }
    assert "accurate   4        100% of 3" in found["explanation"]
    hanging = found["deliberation"]["visit-2"]
    assert hanging["verdict"]["accurate"]["status"] == "hung"
    assert {told["juror"] for told in hanging["abstentions"]} == {"low", "middle"}
    # Three jurors, two epochs; an answer that cannot be read is sent back once.
    assert asked == 2 * (3 + 3 + 2)
    assert len(server.calls) == 2 * asked
    assert again["scores"] == found["scores"]


def test_what_a_sample_may_be_and_where_its_jurors_come_from(folder: Path) -> None:
    with local_jurors() as server:
        found = found_in_inspect(folder, "others", folder / "more", server.url)
        seen = {name: _prompts(server, f"A {name} reference.") for name in ("hidden", "shown")}

    assert found["blank"] == [None, REACHED]
    assert found["words"] == [{"tone=plain": 1.0, "tone=odd": 0.0} | NONE_LOST]
    assert sorted(found["both"]["arms"]) == ["one-reader", "three-readers"]
    assert found["both"]["scores"].pop("jury3") == REACHED
    juries = dict(zip(("low", "high", "silent"), ("jury", "jury1", "jury2"), strict=True))
    for read in (found["both"]["scores"], found["both"]["means"]):
        assert_never_mixed({
            f"{name}.{attribute}": read[jury][attribute] if jury in read else read[f"{jury}.{attribute}"]
            for name, jury in juries.items() for attribute in ATTRIBUTES
        })  # fmt: skip
    assert found["inspects_own"] == [REACHED]
    assert found["own_events"] == ["planted/writer", *["planted/juror"] * 3]
    assert found["loops"] == 1
    assert seen["hidden"] and CANARY not in seen["hidden"]
    assert CANARY in seen["shown"]


def _prompts(server: ProviderServer, judged: str) -> str:
    return "\n".join(call.prompt for call in server.calls if judged in call.prompt)
