"""AutoGen's own OpenAI client on a seat, by its component configuration, against a local server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from doc_blocks import blocks
from openai_server import Fault, ProviderServer, jury_of

from venire import Case, Jury, ModelUnreachable, Rubric, VenireError, deliberate_sync, load_jury
from venire.agents import pacing
from venire.agents.budget import Budget
from venire.agents.cost import Price
from venire.agents.providers import Providers
from venire.orchestration.bench import Court
from venire.orchestration.deliberate import hear, ready

pytest.importorskip("autogen_ext.models.openai", reason="AutoGen's model clients need venire[autogen]")

OPENAI = "autogen_ext.models.openai.OpenAIChatCompletionClient"
INFO = {
    "vision": False,
    "function_calling": False,
    "json_output": True,
    "structured_output": False,
    "family": "unknown",
}
KEY = "sk-canary-0123456789"
BALLOT = json.dumps(
    {name: {"rationale": "Seen.", "evidence": [], "score": 4} for name in ("accurate", "thorough")}
)
"""As the client asks for JSON and sends no schema, the server is told what to answer."""


@pytest.fixture
def component(tmp_path: Path) -> Any:
    """Writes a component file for AutoGen's OpenAI client and gives the model string that names it."""

    def write(url: str, *, name: str = "client.json", **config: Any) -> str:
        whole = {"model": "a", "base_url": url, "api_key": KEY, "model_info": INFO, **config}
        (tmp_path / name).write_text(
            json.dumps({"provider": OPENAI, "component_type": "model", "config": whole})
        )
        return f"autogen/{tmp_path / name}"

    return write


def seated(model: str, **seat: Any) -> Jury:
    limits = seat.pop("limits", {})
    seats = [{"name": "a", "model": model, **seat}]
    return Jury.model_validate({"name": "j", "protocol": "panel", "seats": seats, "limits": limits})


def test_an_autogen_model_client_fills_a_ballot(rubric: Rubric, case: Case, component: Any) -> None:
    with ProviderServer(jury_of({"a": BALLOT})) as server:
        model = component(server.url)
        verdict = deliberate_sync(case, rubric, seated(model, temperature=0.5, seed=7))

    (call,) = server.calls
    (ballot,) = verdict.transcript.ballots
    assert verdict["accurate"].value == 4
    assert (ballot.spent.prompt, ballot.spent.usd) == (len(call.prompt) // 4, None)
    assert [message["role"] for message in call.body["messages"]] == ["system", "user"]
    assert (call.body["temperature"], call.body["seed"]) == (0.5, 7)
    assert call.body["response_format"] == {"type": "json_object"}


def test_the_seat_says_where_and_with_which_key(
    rubric: Rubric, case: Case, component: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARD_KEY", "sk-of-the-seat")
    with ProviderServer(jury_of({"a": BALLOT})) as server:
        model = component("http://127.0.0.1:9/v1")
        deliberate_sync(case, rubric, seated(model, base_url=server.url, api_key_env="WARD_KEY"))

    assert server.calls[0].headers["Authorization"] == "Bearer sk-of-the-seat"


@pytest.mark.parametrize("fault", [Fault(429, {"Retry-After": "0.01"}), Fault(500), Fault(drop=True)])
def test_the_gateway_retries_and_the_client_does_not(
    rubric: Rubric, case: Case, component: Any, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "LONGEST_BACKOFF", 0.05)
    with ProviderServer(jury_of({"a": [fault, BALLOT]})) as server:
        verdict = deliberate_sync(case, rubric, seated(component(server.url)))
    assert (verdict["accurate"].value, len(server.calls)) == (4, 2)

    with (
        ProviderServer(jury_of({"a": [Fault(500)] * 9})) as server,
        pytest.raises(ModelUnreachable, match="code: 500"),
    ):
        deliberate_sync(case, rubric, seated(component(server.url)))
    assert len(server.calls) == pacing.MOST_FAILURES


def test_a_refusal_is_an_abstention(rubric: Rubric, case: Case, component: Any) -> None:
    refused = Fault(400, body='{"error": {"message": "content_filter"}}')
    with ProviderServer(jury_of({"a": [refused] * 9})) as server:
        verdict = deliberate_sync(case, rubric, seated(component(server.url)))

    (abstained,) = verdict.transcript.abstentions
    assert (abstained.abstention.reason, len(server.calls)) == ("refused", 1)


@pytest.mark.parametrize(
    ("fault", "why", "calls"),
    [
        (Fault(401, body=json.dumps({"error": {"message": f"wrong key {KEY}"}})), "401", 1),
        (Fault(hang=True), "no answer within", pacing.TIMEOUTS),
    ],
)
def test_a_model_that_cannot_be_reached_says_why_and_never_the_key(
    rubric: Rubric, case: Case, component: Any, fault: Fault, why: str, calls: int
) -> None:
    with ProviderServer(jury_of({"a": [fault] * 9})) as server:
        with pytest.raises(ModelUnreachable, match=why) as caught:
            deliberate_sync(case, rubric, seated(component(server.url), timeout=0.5))
        assert len(server.calls) == calls

    assert KEY not in str(caught.value)


def test_a_refused_key_ends_a_run_as_with_any_client(rubric: Rubric, case: Case, component: Any) -> None:
    async def heard(url: str) -> None:
        court, jury = Court(), seated(component(url))
        try:
            ready(jury, court, rubric)
            await hear(case, rubric, jury, court)
        finally:
            await court.close()

    with ProviderServer(jury_of({"a": Fault(401)})) as server, pytest.raises(ModelUnreachable):
        asyncio.run(heard(server.url))


def test_an_answer_that_does_not_fit_is_sent_back_once(rubric: Rubric, case: Case, component: Any) -> None:
    with ProviderServer(jury_of({"a": ["a solid four", BALLOT]})) as server:
        verdict = deliberate_sync(case, rubric, seated(component(server.url)))

    assert verdict["accurate"].value == 4
    assert [message["role"] for message in server.calls[1].body["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]


def test_its_tokens_count_against_the_budget_at_the_users_price(
    rubric: Rubric, case: Case, component: Any
) -> None:
    async def spend(jury: Jury, court: Court) -> None:
        ready(jury, court, rubric)
        await hear(case, rubric, jury, court)
        await court.close()

    with ProviderServer(jury_of({"a": BALLOT})) as server:
        model = component(server.url)
        with pytest.raises(VenireError, match=r"the price of autogen/.* is not known"):
            deliberate_sync(case, rubric, seated(model, limits={"max_usd": 1.0}))
        assert not server.calls
        budget = Budget()
        prices = {model: Price(prompt=1.0, completion=0.0)}
        jury = seated(model, limits={"max_usd": 1.0})
        asyncio.run(spend(jury, Court(budget=budget, providers=Providers(prices=prices))))

    assert budget.spent.usd == pytest.approx(budget.spent.usage.prompt / 1e6)
    assert budget.spent.usage.prompt > 100


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("provider: autogen_ext.models.openai.OpenAIChatCompletionClient", "config: the key is missing"),
        ("provider: x.Y\nconfig: {}\nmodel: z", "unknown key 'model'"),
        ("provider: no_such_package.Client\nconfig: {}", "needs the module 'no_such_package'"),
        ("provider: autogen_ext.models.openai.Nobody\nconfig: {}", "Nobody cannot be created"),
        (
            f"provider: {OPENAI}\nconfig: {{model: gpt-4o, api_key: {KEY}, timeout: soon}}",
            "config: timeout: ",
        ),
        (f"provider: {OPENAI}\nconfig: {{model: unheard-of, api_key: {KEY}}}", "model_info is required"),
        ("provider: autogen_agentchat.agents.AssistantAgent\nconfig: {}", "config: name: "),
    ],
)
def test_a_component_that_cannot_be_used_is_said_before_any_call(
    tmp_path: Path, rubric: Rubric, case: Case, text: str, problem: str
) -> None:
    (tmp_path / "client.yaml").write_text(text)

    with pytest.raises(VenireError) as caught:
        deliberate_sync(case, rubric, seated(f"autogen/{tmp_path / 'client.yaml'}"))

    assert problem in str(caught.value) and KEY not in str(caught.value)


@pytest.mark.filterwarnings(
    "ignore:Resolved model mismatch"
)  # OpenAI names the dated model, this server does not
def test_the_pages_jury_runs(
    tmp_path: Path, rubric: Rubric, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("nano.yaml", "nano-jury.yaml"):
        (text,) = (text for _, text in blocks("docs/autogen.md") if text.startswith(f"# {name}"))
        Path(name).write_text(text)
    shown = yaml.safe_load(Path("nano.yaml").read_text())["config"]["model"]
    with ProviderServer(jury_of({shown: BALLOT})) as server:
        jury = load_jury("nano-jury.yaml")
        seats = tuple(seat.model_copy(update={"base_url": server.url}) for seat in jury.seats)
        verdict = deliberate_sync(case, rubric, jury.model_copy(update={"seats": seats}))

    assert verdict["accurate"].value == 4
    assert sorted(call.body["temperature"] for call in server.calls) == [0, 0.7]
