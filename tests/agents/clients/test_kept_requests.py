"""What leaves for a provider and what is made of what comes back, by every client over HTTP: all settings, all kinds of answers, as they were."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kept_figures import check_kept
from openai_server import Call, Fault, ProviderServer

from venire import Rubric
from venire.agents.clients.batch import OpenAIBatches, _message_body
from venire.agents.gateway import sampling
from venire.agents.model import Message, ModelFailure, Reply, Request, TransientFailure
from venire.agents.model_client import ModelClient, factory_for
from venire.personas.jury import ModelSettings
from venire.rubrics.ballot import ballot_shape, inline

KEPT = Path(__file__).parent / "kept"
KEY = "VENIRE_TEST_KEY"
MESSAGES = (
    Message("system", "You judge."),
    Message("user", "What of it?", "The case: äöü.\n"),
    Message("assistant", "{}"),
    Message("user", "Again."),
)
SEATS: dict[str, dict[str, Any]] = {
    "plain": {},
    "all": {"temperature": 0.3, "top_p": 0.9, "max_tokens": 500, "seed": 11, "params": {"reasoning_effort": "low", "stop": ["END"]}, "timeout": 7.5, "context": 9000},
    "zero": {"temperature": 0, "seed": 0},
}  # fmt: skip
STATUSES: dict[str, Any] = {
    "wrong": Fault(400, body='{"error": {"message": "no such parameter"}}'),
    "too long": Fault(400, body='{"error": {"message": "context length exceeded"}}'),
    "blocked": Fault(400, body='{"error": {"message": "blocked", "code": "content_filter"}}'),
    "no key": Fault(401),
    "no money": Fault(402),
    "forbidden": Fault(403),
    "moderated": Fault(403, body='{"error": {"message": "flagged by moderation"}}'),
    "absent": Fault(404),
    "request timeout": Fault(408),
    "conflict": Fault(409),
    "unprocessable": Fault(422, body='{"error": {"message": "field"}}'),
    "too early": Fault(425),
    "busy": Fault(429),
    "busy for long": Fault(429, headers={"Retry-After": "7"}),
    "broken": Fault(500),
    "broken for long": Fault(500, headers={"Retry-After": "7"}),
    "overloaded": Fault(503),
    "overloaded for long": Fault(503, headers={"Retry-After": "3.5"}),
    "no JSON": Fault(200, body="<html>"),
    "no choices": Fault(200, body='{"id": "x", "choices": [], "model": "m", "object": "chat.completion", "created": 1}'),
    "an error": Fault(200, body='{"error": {"message": "upstream"}}'),
    "cut off": Fault(drop=True),
}  # fmt: skip


def completion(message: dict[str, Any], finish: str = "stop", **more: Any) -> Fault:
    usage = {
        "prompt_tokens": 70,
        "completion_tokens": 9,
        "total_tokens": 79,
        "prompt_tokens_details": {"cached_tokens": 30},
    }
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m-2026",
        "choices": [choice],
        "usage": usage,
    }
    return Fault(200, {"Content-Type": "application/json"}, json.dumps({**body, **more}))  # fmt: skip


ANSWERS: dict[str, Any] = {
    "words": completion({"content": "Yes."}),
    "cut": completion({"content": "Ye"}, "length"),
    "filtered": completion({"content": ""}, "content_filter"),
    "refused": completion({"content": None, "refusal": "No."}),
    "stamped": completion({"content": "Yes."}, system_fingerprint="fp_1"),
    "uncounted": completion({"content": "Yes."}, usage=None),
    "absurd": completion({"content": "Yes."}, usage={"prompt_tokens": "many", "completion_tokens": 2.0, "total_tokens": 2}),
    "nothing": completion({"content": None}),
}  # fmt: skip


def server_model(url: str, folder: Path, **seat: Any) -> ModelSettings:
    return ModelSettings(model="server/m", base_url=url, **seat)


def litellm_model(url: str, folder: Path, **seat: Any) -> ModelSettings:
    return ModelSettings(model="openai/m", base_url=url, **{"api_key_env": KEY, **seat})


def autogen_model(url: str, folder: Path, **seat: Any) -> ModelSettings:
    info = {"vision": False, "function_calling": False, "json_output": True, "family": "unknown", "structured_output": False}  # fmt: skip
    config = {"model": "m", "base_url": url, "api_key": "of-the-file-123", "model_info": info}
    file = folder / "client.yaml"
    file.write_text(yaml.safe_dump({"provider": "autogen_ext.models.openai.OpenAIChatCompletionClient", "config": config}))  # fmt: skip
    return ModelSettings(model=f"autogen/{file}", **seat)


CLIENTS: dict[str, Callable[..., ModelSettings]] = {
    "server": server_model,
    "litellm": litellm_model,
    "autogen": autogen_model,
}


def question(settings: ModelSettings, *, form: bool = True, repeat: int = 0) -> Request:
    rubric = Rubric.model_validate(
        {
            "name": "tiny",
            "version": 1,
            "scales": {"yes": {"level": "binary", "anchors": {0: "no", 1: "yes"}}},
            "attributes": [{"name": "usable", "question": "Is it?", "scale": "yes", "may_not_apply": True}],
        }
    )
    schema = inline(ballot_shape(rubric, revision=True)) if form else None
    return Request(settings.model or "", MESSAGES, schema, sampling(settings), repeat, settings.timeout)


def sent(call: Call) -> dict[str, Any]:
    """A request as the server saw it, in words that are not taken for sentences."""
    body = {name: json.dumps(value, sort_keys=True).replace(" ", "_") for name, value in call.body.items()}
    headers = {name.lower(): value for name, value in call.headers.items()}
    shown = ("authorization", "content-type", "accept-encoding", "x-stainless-retry-count")
    return {**body, **{name: str(headers.get(name)).replace(" ", "_") for name in shown}}


def received(made: Reply | ModelFailure) -> list[Any]:
    if isinstance(made, Reply):
        usage = made.usage
        return [made.text, usage.prompt, usage.completion, usage.cached, made.usd, made.finish, made.version.replace(" ", "_")]  # fmt: skip
    told = [type(made).__name__, made.reason, made.received is not None]
    return [*told, made.retry_after, made.busy] if isinstance(made, TransientFailure) else told


async def ask(client: ModelClient, request: Request) -> Reply | ModelFailure:
    try:
        return await client.complete(request)
    except ModelFailure as failure:
        return failure


# LiteLLM silences what pydantic says of its types when it is imported; pytest undoes that for every test.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_sends_and_reads_what_it_did(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "autogen":
        pytest.importorskip("autogen_ext.models.openai")
    monkeypatch.setenv(KEY, "of-the-variable-456")
    answers: dict[str, Any] = {"now": ANSWERS["words"]}
    kept: dict[str, Any] = {}

    async def talk(server: ProviderServer) -> None:
        for seat, fields in SEATS.items():
            for label, fields_now, kind in (
                ("form", fields, {}),
                ("repeat", fields, {"repeat": 3}),
                ("words", fields, {"form": False}),
                ("key", {**fields, "api_key_env": KEY}, {}),
            ):
                settings = CLIENTS[name](server.url, tmp_path, **fields_now)
                client = factory_for(settings.model or "").connect(settings)
                await ask(client, question(settings, **kind))
                kept[f"{seat} {label}"] = sent(server.calls[-1])
                await client.close()
        settings = CLIENTS[name](server.url, tmp_path)
        client = factory_for(settings.model or "").connect(settings)
        for kind, told in (STATUSES | ANSWERS).items():
            answers["now"], before = told, len(server.calls)
            made = received(await ask(client, question(settings)))
            kept[f"told {kind}"] = [*made, len(server.calls) - before]
        # A server that does not know the form of the answer is asked for less, from then on.
        answers["now"] = Fault(400, body='{"error": {"message": "response_format is not supported"}}')
        first = len(server.calls)
        for _ in range(4):
            kept.setdefault("without a form", []).append(",".join(map(str, received(await ask(client, question(settings))))))  # fmt: skip
        kept["forms"] = [str((call.body.get("response_format") or {}).get("type")) for call in server.calls[first:]]  # fmt: skip
        await client.close()

    with ProviderServer(lambda _: answers["now"]) as server:
        asyncio.run(talk(server))
    check_kept(KEPT / f"{name}.json", kept)


def test_batches_hold_the_requests_that_they_did(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    for seat, fields in SEATS.items():
        for form in (True, False):
            settings = ModelSettings(model="anthropic/m", base_url="http://127.0.0.1:1", **fields)
            body = _message_body(question(settings, form=form, repeat=2))
            kept[f"{seat} {form}"] = {name: json.dumps(value, sort_keys=True).replace(" ", "_") for name, value in body.items()}  # fmt: skip
    batches = OpenAIBatches("http://127.0.0.1:1", {}, 1.0)
    for status in (200, 400, 401, 404, 429, 500, None):
        told = json.loads(ANSWERS["words"].body) if status == 200 else {"error": {"message": "planted"}}
        kept[f"status {status}"] = _read(batches, {"status_code": status, "body": told})
    check_kept(KEPT / "batch.json", kept)


def _read(batches: OpenAIBatches, result: Any) -> list[Any]:
    try:
        return received(batches.reply(result, 1.0))
    except ModelFailure as failure:
        return received(failure)
