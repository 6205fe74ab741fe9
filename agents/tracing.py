"""Spans of deliberations and model calls, by OpenTelemetry's GenAI conventions: numbers and names, never words.

No span holds a prompt, an answer, a case's text or id, a key, or the message of an exception.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..rubrics.errors import MissingExtra, VenireError
from .model import FormatRefused, ModelFailure, Reply, Request, TransientFailure

_SETTINGS = ("temperature", "top_p", "max_tokens", "seed")


class Tracing:
    """Makes the spans of one run, on a tracer provider of OpenTelemetry's."""

    def __init__(self, provider: Any, *, close: Callable[[], None] | None = None) -> None:
        self._api: Any = import_module("opentelemetry.trace")
        self._close = close
        self._tracer = provider.get_tracer("venire")

    @contextmanager
    def call(self, request: Request) -> Iterator[Callable[[Reply], None]]:
        """The span of one model call; what it yields adds the reply's numbers to the span."""
        kind = self._api.SpanKind.CLIENT
        with self._span(f"chat {request.model}", kind, _request_attributes(request)) as span:

            def add(reply: Reply) -> None:
                span.set_attribute("gen_ai.usage.input_tokens", reply.usage.prompt)
                span.set_attribute("gen_ai.usage.output_tokens", reply.usage.completion)
                span.set_attribute("gen_ai.response.finish_reasons", [reply.finish])

            yield add

    @contextmanager
    def deliberation(self, case: str, arm: str, protocol: str, *, salt: bytes) -> Iterator[None]:
        """The span that a deliberation's calls belong to; the case is known by a hash of its id, keyed by `salt`.

        Ids are often counted numbers: without a salt, whoever counts along finds them from their hashes.
        """
        hidden = hashlib.blake2b(case.encode("utf-8", "surrogatepass"), key=salt, digest_size=8).hexdigest()
        known = {"venire.case": hidden, "venire.arm": arm, "venire.protocol": protocol}
        with self._span("deliberate", self._api.SpanKind.INTERNAL, known):
            yield

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
        raise MissingExtra("spans need OpenTelemetry", remedy="pip install 'venire[otel]'")
    try:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8")
    except OSError as error:
        raise VenireError(f"{path}: {error.strerror}", remedy="name a file that can be written") from None
    sdk: Any = import_module("opentelemetry.sdk.trace")
    export: Any = import_module("opentelemetry.sdk.trace.export")
    exporter = export.ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\n")
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.BatchSpanProcessor(exporter))

    def close() -> None:
        provider.shutdown()
        file.close()

    return Tracing(provider, close=close)


def _request_attributes(request: Request) -> dict[str, Any]:
    settings = {
        f"gen_ai.request.{name}": request.settings[name] for name in _SETTINGS if name in request.settings
    }
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": request.model.partition("/")[0],
        "gen_ai.request.model": request.model,
        **settings,
    }


def _kind_of(error: BaseException) -> str:
    if isinstance(error, FormatRefused):
        return "format_refused"
    if isinstance(error, TransientFailure) and error.busy:
        return "rate_limited"
    if isinstance(error, ModelFailure):
        return error.reason
    return "timeout" if isinstance(error, TimeoutError) else type(error).__name__
