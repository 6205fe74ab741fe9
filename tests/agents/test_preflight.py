"""Models are asked for free whether they can be reached, before anything is paid for."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from aiohttp import web
from openai_server import Call, Fault, ProviderServer, jury_of

from venire import Case, Jury, ModelUnreachable, Rubric, VenireError, deliberate_sync
from venire.agents.clients import litellm_providers
from venire.agents.providers import Preflight
from venire.personas.jury import ModelSettings

ANSWERS = jury_of({"a": 3, "b": 3})
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, "AZURE_CLIENT_ID", "OPENAI_BASE_URL", "OPENAI_API_BASE", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)


def ask(*models: ModelSettings) -> bool:
    """Whether it is known for sure that these can be reached."""
    preflight = Preflight()
    asyncio.run(preflight.check(models))
    return preflight.is_sure_of(models)


def refusal(*models: ModelSettings) -> VenireError:
    began = time.monotonic()
    with pytest.raises(VenireError) as caught:
        ask(*models)
    assert time.monotonic() - began < 30
    return caught.value


def at(url: str, model: str = "server/a", **fields: str) -> ModelSettings:
    return ModelSettings.model_validate({"model": model, "base_url": url, **fields})


def closed_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


@pytest.mark.parametrize("model", ["server/a", "openai/a", "hosted_vllm/a"])
def test_a_listed_model_is_sure_and_nothing_is_paid(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-mine")
    with ProviderServer(ANSWERS, models=["a", "b"]) as server:
        assert ask(at(server.url, model))
    assert server.calls == []


@pytest.mark.parametrize("model", ["server/gone", "openai/gone", "hosted_vllm/gone"])
def test_a_model_that_the_server_does_not_have(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-mine")
    with ProviderServer(ANSWERS, models=["a", "b"]) as server:
        error = refusal(at(server.url, model), at(server.url, "server/a"))
        assert error.problem == f"{server.url} has no model 'gone'"
    assert error.remedy == "choose one of a, b"
    assert server.calls == []


@pytest.mark.parametrize("listed", [[], ["*"], ["openai/*"]])
def test_a_list_without_names_proves_nothing(listed: list[str]) -> None:
    with ProviderServer(ANSWERS, models=listed) as server:
        assert not ask(at(server.url))


@pytest.mark.parametrize("listed", ["A", "a:latest", "models/a", "owner/a"])
def test_a_name_is_found_as_servers_write_it(listed: str) -> None:
    with ProviderServer(ANSWERS, models=[listed]) as server:
        assert ask(at(server.url))


def test_a_server_that_answers_to_any_name_is_believed() -> None:
    with ProviderServer(lambda call: "yes", models=["weights.gguf"], strict=False) as server:
        assert ask(at(server.url, "server/any-name"))


@pytest.mark.parametrize("model", ["server/a", "openai/a"])
def test_a_refused_key_names_its_variable_and_never_the_key(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-not-the-right-one")
    with ProviderServer(ANSWERS, models=["a"], key="right") as server:
        error = refusal(at(server.url, model, api_key_env="MY_KEY"))
    assert "refuses the key in MY_KEY" in error.problem and "401" in error.problem
    assert "sk-not" not in str(error)
    assert server.calls == []


@pytest.mark.parametrize("model", ["server/a", "openai/a"])
@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("", "MY_KEY is not set"),
        (" ", "MY_KEY is not set"),
        ("sk-canary\n", "the key in MY_KEY holds a line break"),
        ("“sk-canary”", "another character that no key has"),
    ],
)
def test_a_key_that_cannot_be_sent(model: str, key: str, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", key)
    error = refusal(at("http://127.0.0.1:9/v1", model, api_key_env="MY_KEY"))
    assert named in error.problem
    assert "canary" not in str(error)


@pytest.mark.parametrize(
    ("model", "package", "remedy"),
    [
        ("vertex_ai/gemini-pro", "google.auth", "pip install google-auth"),
        ("bedrock/anthropic.claude-3-sonnet", "boto3", "pip install boto3"),
        ("sagemaker/mine", "boto3", "pip install boto3"),
    ],
)
def test_a_package_that_litellm_would_miss(
    model: str, package: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = litellm_providers.find_spec
    monkeypatch.setattr(
        litellm_providers, "find_spec", lambda name: None if name in (package, "google") else found(name)
    )
    error = refusal(ModelSettings(model=model))
    assert error.problem == f"LiteLLM needs the package {package} for {model!r}"
    assert error.remedy.startswith(remedy)


def test_a_key_of_watsonx_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATSONX_API_KEY", raising=False)
    assert "WATSONX_API_KEY is not set" in refusal(ModelSettings(model="watsonx/ibm/granite")).problem


@pytest.mark.parametrize("model", ["server/a", "openai/a"])
def test_an_address_that_there_cannot_be(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-mine")
    error = refusal(at("http://127.0.0.1:99999/v1", model))
    assert "http://HOST:PORT/v1" in error.remedy


@pytest.mark.parametrize("model", ["server/a", "openai/a"])
def test_https_at_a_server_that_speaks_http(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-mine")
    with ProviderServer(ANSWERS, models=["a"]) as server:
        error = refusal(at(server.url.replace("http:", "https:"), model))
    assert "cannot be reached" in error.problem


@pytest.mark.parametrize("model", ["server/a", "openai/a"])
def test_a_web_page_is_no_model_server(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-mine")

    class WebSite(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", "6")
            self.end_headers()
            self.wfile.write(b"<html>")

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            return None

    with HTTPServer(("127.0.0.1", 0), WebSite) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        error = refusal(at(f"http://127.0.0.1:{site.server_port}/v1", model))
        site.shutdown()
    assert "returns a web page" in error.problem


def test_a_list_that_repeats_the_key_is_not_quoted_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-canary-0123456789")
    with ProviderServer(ANSWERS, models=["a-sk-canary-0123456789", "x" * 5000]) as server:
        error = refusal(at(server.url, "server/gone", api_key_env="MY_KEY"))
    assert "canary" not in str(error)
    assert len(str(error)) < 500


def test_a_server_that_wants_a_key_where_none_is_named() -> None:
    with ProviderServer(ANSWERS, models=["a"], key="right") as server:
        error = refusal(at(server.url))
    assert "requires a key" in error.problem
    assert "api_key_env" in error.remedy


@pytest.mark.parametrize(
    ("model", "refused"), [("ollama/a", False), ("ollama_chat/a", False), ("hosted_vllm/a", True)]
)
def test_ollama_is_not_refused_for_lacking_a_path_that_litellm_does_not_ask(
    model: str, refused: bool
) -> None:
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    seat = ModelSettings(model=model, base_url=f"http://127.0.0.1:{server.server_port}")
    try:
        if refused:
            assert "cannot be used" in refusal(seat).problem
        else:
            assert not ask(seat)
    finally:
        server.shutdown()
        server.server_close()


def test_a_server_without_a_list_proves_nothing() -> None:
    with ProviderServer(ANSWERS) as server:
        assert not ask(at(server.url))
    assert server.calls == []


@pytest.mark.parametrize(
    ("status", "said", "told"),
    [
        (401, "invalid key", "refuses the key in OPENAI_API_KEY"),
        (404, "The model `a` does not exist", "has no model 'a'"),
        (400, "unknown model: a", "has no model 'a'"),
        (404, "not found", "'openai/a' cannot be used at"),
        (400, "messages: too short", ""),
        (500, "no idea", ""),
    ],
)
def test_litellm_is_not_loaded_to_hear_that_a_server_without_a_list_says_no(
    status: int, said: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789")
    asked: list[Call] = []

    def refuse(call: Call) -> Fault:
        asked.append(call)
        return Fault(status, body=json.dumps({"error": {"message": said}}))

    with ProviderServer(refuse) as server:
        if told:
            assert told in refusal(at(server.url, "openai/a")).problem
        else:
            assert not ask(at(server.url, "openai/a"))
    assert [call.body["messages"] for call in asked] == [[]]


@pytest.mark.parametrize("model", ["server/a", "hosted_vllm/a"])
def test_a_closed_port_names_the_address(model: str) -> None:
    url = closed_port()
    error = refusal(at(url, model))
    assert url in error.problem and "connection refused" in error.problem


def test_an_unknown_host_and_a_password_in_the_address() -> None:
    error = refusal(at("http://me:secret-word@nowhere.invalid/v1"))
    assert "http://nowhere.invalid/v1" in error.problem
    assert "secret-word" not in str(error)


def test_an_address_without_v1_is_told_the_right_one() -> None:
    with ProviderServer(ANSWERS, models=["a"]) as server:
        error = refusal(at(server.url.removesuffix("/v1")))
    assert f"use the address {server.url}" in error.remedy


def test_an_address_with_the_whole_path_is_told_the_right_one() -> None:
    with ProviderServer(ANSWERS, models=["a"]) as server:
        error = refusal(at(f"{server.url}/chat/completions"))
    assert f"use the address {server.url} " in error.remedy


def test_a_server_that_opens_its_port_a_moment_later_is_waited_for() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    opened: list[socket.socket] = []

    def open_later() -> None:
        time.sleep(0.6)
        opened.append(socket.create_server(("127.0.0.1", port)))

    thread = threading.Thread(target=open_later)
    thread.start()
    assert not ask(at(f"http://127.0.0.1:{port}/v1"))
    thread.join()
    opened[0].close()


class Starting(ProviderServer):
    """Says at first that it is still starting."""

    asked = 0

    async def _list_models(self, request: web.Request) -> web.Response:
        self.asked += 1
        return web.Response(status=503) if self.asked == 1 else await super()._list_models(request)


def test_a_server_that_is_still_starting_is_asked_again() -> None:
    with Starting(ANSWERS, models=["a"]) as server:
        assert ask(at(server.url)) is True
        assert (server.asked, server.calls) == (2, [])


def test_a_server_that_is_slow_to_list_proves_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        assert not ask(at(f"http://127.0.0.1:{silent.getsockname()[1]}/v1"))
        assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
        ("gpt-4o-mini", "OPENAI_API_KEY"),
        ("anthropic/claude-haiku", "ANTHROPIC_API_KEY"),
        ("azure/my-deployment", "AZURE_API_KEY"),
    ],
)
def test_a_key_that_is_not_set_is_named(model: str, variable: str) -> None:
    error = refusal(ModelSettings(model=model))
    assert f"{variable} is not set" in error.problem
    assert model in error.problem
    assert f"export {variable}" in error.remedy


def test_a_variable_that_a_seat_names_is_missed_by_that_name() -> None:
    assert "NO_SUCH_KEY is not set" in refusal(at("http://127.0.0.1:9/v1", api_key_env="NO_SUCH_KEY")).problem


@pytest.mark.parametrize("model", ["oppenai/gpt-4o-mini", "gpt5x"])
def test_a_provider_that_nobody_knows(model: str) -> None:
    error = refusal(ModelSettings(model=model))
    assert "provider that LiteLLM knows" in error.problem
    assert "PROVIDER/NAME" in error.remedy


def test_every_problem_is_counted_and_each_model_is_asked_once() -> None:
    error = refusal(ModelSettings(model="oppenai/x"), ModelSettings(model="antropic/y"))
    assert "(and 1 more problems like this)" in error.problem

    asked: list[Call] = []
    with ProviderServer(lambda call: asked.append(call) or "yes", models=["x"], strict=False) as server:
        preflight = Preflight()
        for _ in range(2):
            asyncio.run(preflight.check([at(server.url, "server/odd")] * 3))
    assert len(asked) == 1


def test_models_in_this_process_are_not_asked() -> None:
    assert ask(ModelSettings(model="lens/length"), ModelSettings(model="local"))


def test_deliberate_raises_before_a_seat_is_paid_and_when_none_could_be_reached(
    rubric: Rubric, case: Case
) -> None:
    def jury(url: str, *models: str) -> Jury:
        seats = [{"name": m, "model": f"server/{m}", "base_url": url} for m in models]
        return Jury.model_validate({"name": "bench", "protocol": "panel", "seats": seats})

    with ProviderServer(ANSWERS, models=["a"]) as server:
        with pytest.raises(ModelUnreachable, match="has no model 'gone'"):
            deliberate_sync(case, rubric, jury(server.url, "a", "gone"))
        assert server.calls == []
    refused = jury_of({"a": Fault(status=403), "b": Fault(status=403), "c": 3})
    with ProviderServer(refused) as server:
        with pytest.raises(ModelUnreachable, match="no seat of 'bench' could be reached: a: HTTP 403"):
            deliberate_sync(case, rubric, jury(server.url, "a", "b"))
        hung = deliberate_sync(case, rubric, jury(server.url, "a", "b", "c").model_copy(update={"quorum": 2}))
    outcome = hung["accurate"]
    assert outcome.status == "hung"
    assert "a unavailable: HTTP 403" in outcome.why and "b unavailable" in outcome.why
