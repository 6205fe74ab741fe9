"""A model in this process and the one thread that works it: what the engines of local models share, bounded JSON schemas among it, under which a small model's answer must end."""

from __future__ import annotations

import json
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from ...rubrics.errors import VenireError
from ..model import ModelFailure, Reply, Request
from .adapters import Adapter

_THREADS = 4
_SPEECH = 512
"""Tokens of an answer that has no schema."""


class SeatSampling(NamedTuple):
    """The seat's own settings over defaults that give the same text every time."""

    temperature: float
    top_p: float | None
    seed: int
    repeat_penalty: float


class LocalEngine(ABC):
    """A loaded model, which no two requests ever use at once. It is loaded at the first."""

    name: ClassVar[str]
    """What failures are said to be of."""

    def __init__(self, path: Path, adapter: Adapter | None, context: int) -> None:
        self.path = path
        self.adapter = adapter
        self.borrowers = 0
        self._context = context
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="venire-local")

    def ask(self, request: Request, gone: threading.Event) -> Future[Reply]:
        """The answer, in its turn. Setting `gone` ends the work at the next token."""
        return self._worker.submit(self._reply, request, gone)

    def free(self) -> Future[None]:
        """Unload the model once the work in hand is done."""
        done = self._worker.submit(self.unload)
        self._worker.shutdown(wait=False)
        return done

    @abstractmethod
    def answer(self, request: Request, gone: threading.Event, started: float) -> Reply:
        """The reply to a request; any error is a failure of the model."""

    @abstractmethod
    def unload(self) -> None: ...

    def _reply(self, request: Request, gone: threading.Event) -> Reply:
        started = time.perf_counter()
        check_awaited(gone)
        try:
            return self.answer(request, gone, started)
        except VenireError as error:
            raise ModelFailure("unavailable", error.problem) from None
        except (RuntimeError, ValueError, OSError, LookupError, MemoryError) as error:
            said = " ".join(str(error).split())[:300] or type(error).__name__
            raise ModelFailure("unavailable", f"{self.name}: {said}") from None


def check_awaited(gone: threading.Event) -> None:
    """Raise where nobody waits for the answer any more."""
    if gone.is_set():
        raise ModelFailure("unavailable", "this answer is no longer needed")


def most_tokens(request: Request, schema: dict[str, Any] | None, prompt: int, context: int) -> int:
    """The tokens that an answer may have; a `ModelFailure` where the prompt leaves no room for one."""
    wanted = _SPEECH if schema is None else longest_answer(schema)
    if prompt + wanted // 3 >= context:
        raise ModelFailure("unavailable", f"prompt of {prompt} tokens does not fit the context of {context}")
    # A token can be a single byte, and a character up to four of them.
    most = int(request.settings.get("max_tokens", wanted if schema is None else 4 * wanted))
    return min(most, context - prompt)


def sampling_of(request: Request, *, taught: bool) -> SeatSampling:
    """How the tokens of an answer are chosen.

    A bare small model goes round in circles unless repeats are penalised; one that was taught has to repeat what it quotes.
    """
    asked = request.settings
    return SeatSampling(
        float(asked.get("temperature", 0)),
        asked.get("top_p"),
        int(asked.get("seed", 0)) + request.repeat,
        1.0 if taught else 1.1,
    )


def worker_threads() -> int:
    """The threads that a model may work in: a few of those that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_THREADS, cores)


TEXT = 160
QUOTE = 80
QUOTES = 2
FORMS = 12


def tighten(
    schema: Mapping[str, Any],
    *,
    text: int = TEXT,
    quote: int = QUOTE,
    quotes: int = QUOTES,
    forms: int = FORMS,
) -> dict[str, Any]:
    """The schema with bounds under which a small model's answer must end; it admits nothing that `schema` does not.

    Words get at most `text` characters, lists of words at most `quotes` entries of `quote` characters, lists of forms (claims,
    checks of claims) at most `forms` entries; a list of choices, as many entries as there are choices.
    """

    def limit(node: Any, longest: int) -> Any:
        if not isinstance(node, Mapping):
            return node
        bounded = dict(node)
        for key in ("anyOf", "oneOf", "allOf"):
            if key in node:
                bounded[key] = [limit(choice, longest) for choice in node[key]]
        if node.get("type") == "string" and not _choices(node):
            bounded["maxLength"] = _upper_bound(node, "minLength", "maxLength", longest)
        elif node.get("type") == "array":
            entry = node.get("items", {})
            most = len(_choices(entry)) or (forms if "properties" in entry else quotes)
            bounded["items"] = limit(entry, quote)
            bounded["maxItems"] = _upper_bound(node, "minItems", "maxItems", most)
        elif "properties" in node:
            bounded["properties"] = {name: limit(part, text) for name, part in node["properties"].items()}
        return bounded

    return limit(schema, text)


def _upper_bound(node: Mapping[str, Any], least: str, most: str, limit: int) -> int:
    return max(int(node.get(least, 0)), min(limit, int(node.get(most, limit))))


def _choices(node: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(node.get("enum", ())) or ((node["const"],) if "const" in node else ())


def longest_answer(node: Mapping[str, Any]) -> int:
    """The most characters that an answer to a tighten schema can have, give or take its punctuation."""
    if chosen := _choices(node):
        return max(len(json.dumps(choice)) for choice in chosen)
    if options := [*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())]:
        return max(longest_answer(option) for option in options)
    match node.get("type"):
        case "object":
            return sum(
                len(name) + 8 + longest_answer(part) for name, part in node.get("properties", {}).items()
            )
        case "array":
            return int(node["maxItems"]) * (4 + longest_answer(node["items"]))
        case "string":
            return int(node["maxLength"])
        case _:
            return 24


def has_open_number(node: Any) -> bool:
    """Whether a number without a list of choices is asked for: nothing but a penalty on repeats ends its decimals."""
    if isinstance(node, Mapping):
        is_open = node.get("type") == "number" and not _choices(node)
        return is_open or any(map(has_open_number, node.values()))
    return isinstance(node, list) and any(map(has_open_number, node))
