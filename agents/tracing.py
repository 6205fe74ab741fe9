"""Spans of deliberations and model calls, events of verdicts and votes: numbers and names, never words.

Names are those of OpenTelemetry's semantic conventions for GenAI, version 1.44.0; what these do not name begins with `venire.`.
Nothing holds a prompt, an answer, a case's text or id, a key, or the message of an exception.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..rubrics.errors import MissingExtra, VenireError
from ..rubrics.plugins import registered_plugins
from .model import FormatRefused, ModelFailure, Reply, Request, TransientFailure
from .model_client import GROUP

_SETTINGS = ("temperature", "top_p", "max_tokens", "seed")
RESULT = "gen_ai.evaluation.result"
BALLOT = "venire.ballot"
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""LiteLLM's names of providers that the conventions spell otherwise."""


class DeliberationSpan:
    """The open span of one deliberation, to which its numbers and events are added."""

    def __init__(self, span: Any, logger: Any, known: dict[str, Any]) -> None:
        self._span = span
        self._logger = logger
        self._known = known

    def add(self, numbers: dict[str, Any]) -> None:
        """Set these attributes; those that are None are left out."""
        self._span.set_attributes({name: value for name, value in numbers.items() if value is not None})

    def emit(self, event: str, attributes: dict[str, Any], *, of: str | None = None) -> None:
        """An event below the span, or with a W3C traceparent `of` below that span: what was judged."""
        logs: Any = import_module("opentelemetry._logs")
        shown = {name: value for name, value in attributes.items() if value is not None}
        record = logs.LogRecord(
            timestamp=time.time_ns(),
            event_name=event,
            attributes={**self._known, **shown},
            severity_number=logs.SeverityNumber.INFO,
            **({} if of is None else {"context": _context_of(of)}),
        )
        self._logger.emit(record)


class Tracing:
    """Makes the spans and events of one run, on a tracer provider and a logger provider of OpenTelemetry's."""

    def __init__(self, provider: Any, *, logs: Any = None, close: Callable[[], None] | None = None) -> None:
        self._api: Any = import_module("opentelemetry.trace")
        self._close = close
        self._tracer = provider.get_tracer("venire")
        self._logger = (logs or import_module("opentelemetry._logs").get_logger_provider()).get_logger(
            "venire"
        )

    @contextmanager
    def call(self, request: Request) -> Iterator[Callable[[Reply], None]]:
        """The span of one model call; what it yields adds the reply's numbers to the span."""
        kind, attributes = self._api.SpanKind.CLIENT, _request_attributes(request)
        with self._span(f"chat {attributes['gen_ai.request.model']}", kind, attributes) as span:

            def add(reply: Reply) -> None:
                span.set_attribute("gen_ai.usage.input_tokens", reply.usage.prompt)
                span.set_attribute("gen_ai.usage.output_tokens", reply.usage.completion)
                span.set_attribute("gen_ai.response.finish_reasons", [reply.finish])

            yield add

    @contextmanager
    def deliberation(self, case: str, arm: str, protocol: str, *, salt: bytes) -> Iterator[DeliberationSpan]:
        """The span that a deliberation's calls belong to; the case is known by a hash of its id, keyed by `salt`.

        Ids are often counted numbers: without a salt, whoever counts along finds them from their hashes.
        """
        hidden = hashlib.blake2b(case.encode("utf-8", "surrogatepass"), key=salt, digest_size=8).hexdigest()
        known = {"venire.case": hidden, "venire.arm": arm, "venire.protocol": protocol}
        with self._span("deliberate", self._api.SpanKind.INTERNAL, known) as span:
            yield DeliberationSpan(span, self._logger, known)

    def close(self) -> None:
        """Write out what is held back, where that is not someone else's business."""
        if self._close is not None:
            self._close()

    @contextmanager
    def _span(self, name: str, kind: Any, attributes: dict[str, Any]) -> Iterator[Any]:
        with self._tracer.start_as_current_span(
            name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", _kind_of(error))
                span.set_status(self._api.StatusCode.ERROR)
                raise


def current_tracing() -> Tracing | None:
    """Tracing on the tracer provider that this process has configured; None where there is none."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    provider = api.get_tracer_provider()
    # Before it is given one, the API answers with a stand-in that cannot write anything out.
    return Tracing(provider) if hasattr(provider, "force_flush") else None


def tracing_to(path: Path) -> Tracing:
    """Spans written to a file, a JSON object a line."""
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise MissingExtra(
            "--trace needs OpenTelemetry, which is not installed", remedy="pip install 'venire[otel]'"
        )
    try:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8")
    except OSError as error:
        raise VenireError(
            f"{path}: the trace cannot be written: {error.strerror}", remedy="name another file for --trace"
        ) from None
    sdk: Any = import_module("opentelemetry.sdk.trace")
    export: Any = import_module("opentelemetry.sdk.trace.export")
    exporter = export.ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\n")
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.BatchSpanProcessor(exporter))
    log_sdk: Any = import_module("opentelemetry.sdk._logs")
    log_export: Any = import_module("opentelemetry.sdk._logs.export")
    logs = log_sdk.LoggerProvider()
    to_file = log_export.ConsoleLogRecordExporter(
        out=file, formatter=lambda record: record.to_json(indent=None) + "\n"
    )
    logs.add_log_record_processor(log_export.BatchLogRecordProcessor(to_file))

    def close() -> None:
        provider.shutdown()
        logs.shutdown()
        file.close()

    return Tracing(provider, logs=logs, close=close)


def _request_attributes(request: Request) -> dict[str, Any]:
    settings = {
        f"gen_ai.request.{name}": request.settings[name] for name in _SETTINGS if name in request.settings
    }
    address = urlsplit(request.settings["base_url"]).hostname if "base_url" in request.settings else None
    return {
        "gen_ai.operation.name": "chat",
        **provider_and_model(request.model),
        **({"server.address": address} if address else {}),
        **settings,
    }


@lru_cache(maxsize=256)
def provider_and_model(model: str) -> dict[str, str]:
    """The provider behind a model string and what it calls the model; of a server or a model of our own, the client's name."""
    prefix, slash, name = model.partition("/")
    provider, called = prefix, name or model
    if prefix not in registered_plugins(GROUP) or prefix == "litellm":
        # Imported late: it reads LiteLLM's list of models.
        from .clients.litellm_providers import provider_of

        provider, called = provider_of(model, given_address=True)
        provider = _PROVIDERS.get(provider, provider) or (prefix if slash else "unknown")
    return {"gen_ai.provider.name": provider, "gen_ai.request.model": called}


def _context_of(traceparent: str) -> Any:
    """The context of a span elsewhere; that of the current one where the words are no traceparent."""
    propagation: Any = import_module("opentelemetry.trace.propagation.tracecontext")
    return propagation.TraceContextTextMapPropagator().extract(
        {"traceparent": traceparent}, context=import_module("opentelemetry.context").get_current()
    )


def _kind_of(error: BaseException) -> str:
    if isinstance(error, FormatRefused):
        return "format_refused"
    if isinstance(error, TransientFailure) and error.busy:
        return "rate_limited"
    if isinstance(error, ModelFailure):
        return error.reason
    return "timeout" if isinstance(error, TimeoutError) else type(error).__name__
