"""`autogen/...`: what AutoGen runs, as a seat.

`autogen/FILE` is a model client, by the component configuration in a YAML or JSON file; `autogen/MODULE:FUNCTION` an
agent or a team, made anew for every question.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ...personas.jury import ModelSettings
from ...rubrics.errors import MissingExtra, VenireError
from ...rubrics.yaml_files import load_yaml
from ..model import AccessRefused, Message, ModelFailure, Reply, Request, TransientFailure, Usage
from ..model_client import ClientFactory, ModelClient
from ..tokens import reported_usage
from .httpx_replies import cap_transport, capped_reply
from .keys import (
    environment_secrets,
    key_from,
    names_secret,
    redact_secrets,
    refuse_in_address,
    secret_forms,
    sent_secrets,
)
from .server import BUSY, NO_ACCESS, retry_after, says_busy, says_filtered
from .silence import silence_warnings

SUFFIXES = (".json", ".yaml", ".yml")


class Component(BaseModel):
    """An AutoGen component, as its `dump_component` writes it."""

    model_config = ConfigDict(extra="forbid")

    provider: str
    """The class, for example `autogen_ext.models.openai.OpenAIChatCompletionClient`."""
    config: dict[str, Any]
    component_type: Literal["model"] | None = None
    version: int | None = None
    component_version: int | None = None
    description: str | None = None
    label: str | None = None


def connect_model_client(path: Path, settings: ModelSettings) -> ComponentClient:
    """The model client that `path` describes, at the seat's address and with its key where the seat names them."""
    component, key = load_yaml(path, Component), key_from(settings)
    seat = {"base_url": settings.base_url, "api_key": key}
    component.config = {
        # The gateway retries, and must be told of every failure.
        "max_retries": 0,
        **component.config,
        **{name: value for name, value in seat.items() if value is not None},
    }
    refuse_in_address(settings.model_copy(update={"base_url": component.config.get("base_url")}), "query")
    secrets = _secrets(component.config)
    return ComponentClient(_load(path, component, secrets), secrets)


def _secrets(config: Mapping[str, Any]) -> tuple[str, ...]:
    """What the client may send that is secret: from its settings, their address, and the environment."""
    address = config.get("base_url")
    return (
        *secret_forms(_secret_values(config)),
        *sent_secrets(address if isinstance(address, str) else None, None),
        *environment_secrets(),
    )


def _secret_values(config: Mapping[str, Any]) -> Iterator[str]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _secret_values(value)
        elif isinstance(value, str) and names_secret(name):
            # The scheme of a header is no secret, and a server may leave it out.
            yield value.rpartition(" ")[2]


def _load(path: Path, component: Component, secrets: tuple[str, ...]) -> Any:
    try:
        from autogen_core.models import ChatCompletionClient
    except ModuleNotFoundError:
        raise MissingExtra("autogen/ models need AutoGen", remedy="pip install 'venire[autogen]'") from None
    cap_transport()
    silence_warnings()
    try:
        return ChatCompletionClient.load_component(component.model_dump(exclude_none=True))
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{path}: {component.provider} needs the module {error.name!r}",
            remedy="pip install 'venire[autogen]', with the extra of autogen-ext that this client needs",
        ) from None
    except ValidationError as error:
        # Pydantic would repeat what it was given, which may be a key.
        wrongs = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise VenireError(
            f"{path}: mistakes in config: {wrongs}",
            remedy=f"correct them by the documentation of {component.provider}",
        ) from None
    except Exception as error:
        # The class is somebody else's: whatever it raises, there is no client.
        why = redact_secrets(f"{type(error).__name__}: {error}", secrets)[:300]
        raise VenireError(
            f"{path}: the client {component.provider} cannot be created: {why}",
            remedy="write provider and config as the client's dump_component() prints them",
        ) from None


class ComponentClient(ModelClient):
    """An AutoGen model client, asked for JSON where it says that it can give it."""

    reports_cost = False

    def __init__(self, client: Any, secrets: tuple[str, ...]) -> None:
        self._client = client
        self.secrets = secrets

    async def complete(self, request: Request) -> Reply:
        from .autogen_gateway import silence_logs

        options = {name: value for name, value in request.settings.items() if name != "base_url"}
        if "seed" in options:
            options["seed"] += request.repeat
        as_json = request.schema is not None and self._client.model_info["json_output"]
        started = time.perf_counter()
        with silence_logs(), capped_reply(request):
            try:
                result: Any = await self._client.create(
                    [_to_autogen(message) for message in request.messages],
                    json_output=True if as_json else None,
                    extra_create_args=options,
                )
            except Exception as error:
                # Every client has exceptions of its own library: what they share is a status, or a cause.
                raise self._failure(error) from None
            if not isinstance(result.content, str):
                raise ModelFailure("unparsable", "the model called a tool instead of answering")
        return Reply(
            text=result.content,
            usage=reported_usage(result.usage.prompt_tokens, result.usage.completion_tokens),
            usd=None,
            seconds=time.perf_counter() - started,
            finish=_FINISH.get(result.finish_reason, "stop"),
        )

    async def close(self) -> None:
        await self._client.close()

    def _failure(self, error: Exception) -> ModelFailure:
        text = redact_secrets(" ".join(str(error).split()), self.secrets)
        detail = f"{type(error).__name__}: {text}"[:300]
        status = getattr(error, "status_code", None)
        if status is None:
            return (
                TransientFailure(detail) if _connection_failed(error) else ModelFailure("unavailable", detail)
            )
        if status in BUSY or status >= 500:
            response = getattr(error, "response", None)
            wait = retry_after(getattr(response, "headers", {}).get("retry-after"))
            return TransientFailure(detail, retry_after=wait, busy=says_busy(status, wait))
        if says_filtered(status, text):
            return ModelFailure("refused", detail)
        return AccessRefused(detail) if status in NO_ACCESS else ModelFailure("unavailable", detail)


_FINISH: dict[str, Literal["refusal", "length"]] = {"content_filter": "refusal", "length": "length"}


def _to_autogen(message: Message) -> Any:
    from autogen_core.models import AssistantMessage, SystemMessage, UserMessage

    match message.role:
        case "system":
            return SystemMessage(content=message.content)
        case "user":
            return UserMessage(content=message.content, source="user")
        case "assistant":
            return AssistantMessage(content=message.content, source="assistant")


def _connection_failed(error: BaseException) -> bool:
    """Whether the request got lost on the way, rather than being wrong in itself."""
    import httpx

    return any(isinstance(cause, OSError | httpx.TransportError) for cause in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def connect(settings: ModelSettings) -> ModelClient:
    where = (settings.model or "").partition("/")[2]
    if where.endswith(SUFFIXES):
        return connect_model_client(Path(where), settings)
    return AgentClient(
        where,
        agent_function(
            settings,
            "autogen_agentchat",
            MissingExtra("autogen/ models need AutoGen", remedy="pip install 'venire[autogen]'"),
            remedy="write the model as autogen/MODULE:FUNCTION, or as autogen/FILE.yaml for a model client",
        ),
    )


def agent_function(
    settings: ModelSettings, package: str, missing: MissingExtra, remedy: str
) -> Callable[[], Any]:
    """The function that `PREFIX/MODULE:FUNCTION` names, whose agent needs `package`."""
    where = (settings.model or "").partition("/")[2]
    module, _, name = where.partition(":")
    if not module or not name:
        raise VenireError(f"the model {settings.model!r} does not say which agent to use", remedy=remedy)
    if find_spec(package) is None:
        raise missing
    try:
        make = getattr(import_module(module), name, None)
    except ModuleNotFoundError as error:
        raise VenireError(
            f"no module named {error.name!r}", remedy="install it, or put its folder on PYTHONPATH"
        ) from None
    if not callable(make):
        found = "is not a function" if make is not None else "was not found"
        raise VenireError(
            f"{where}: {name!r} {found}",
            remedy="name a function without arguments that returns a new agent each time, because "
            "an agent remembers what it was asked before",
        )
    return make


class AgentClient(ModelClient):
    """What `make` returns, asked once and let go. Its model, prompts and tools are its own."""

    reports_cost = False

    def __init__(self, where: str, make: Callable[[], Any]) -> None:
        self._where = where
        self._make = make

    async def complete(self, request: Request) -> Reply:
        started = time.perf_counter()
        try:
            agent = self._make()
            if inspect.isawaitable(agent):
                agent = await agent
            try:
                text, usage = await self.run_agent(agent, request.messages)
            finally:
                if close := getattr(agent, "close", None):
                    await close()
        except Exception as error:
            # An agent is somebody else's program: whatever it raises, this juror gave no answer.
            told = f"{self._where}: {type(error).__name__}: {error}"
            raise ModelFailure("unavailable", told[:300]) from None
        if text is None:
            raise ModelFailure("unparsable", f"{self._where} said nothing")
        return Reply(text=text, usage=usage, usd=None, seconds=time.perf_counter() - started)

    async def run_agent(self, agent: Any, messages: Sequence[Message]) -> tuple[str | None, Usage]:
        """The agent's last words, None if there are none, and the tokens of all."""
        from autogen_agentchat.messages import TextMessage

        from .autogen_gateway import silence_logs

        task = [TextMessage(content=m.content, source=m.role) for m in messages]
        with silence_logs():
            result = await agent.run(task=task, output_task_messages=False)
        usage = Usage()
        for message in result.messages:
            if spent := message.models_usage:
                usage += reported_usage(spent.prompt_tokens, spent.completion_tokens)
        return (result.messages[-1].to_text() if result.messages else None), usage


client_factory = ClientFactory(connect=connect, per_model=True)
