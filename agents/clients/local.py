"""`local`, `local/base` and `local/PATH.gguf`: a model in this very process, with no key and no network.

`local` is the embedded base with the adapter that is shipped, which taught it to fill in ballots; `local/base` the bare one. Both run in an
engine of our own (`agents/embedded/`); a file of one's own in llama.cpp. A seat's `adapter` goes on any of them.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from ...personas.jury import ModelSettings
from ...rubrics.errors import MissingExtra, VenireError
from ..cost import FREE, Price
from ..embedded.gguf_file import GGUFFile, impossible_header
from ..embedded.merged_weights import MergedWeights
from ..embedded.sampling import read_thresholds
from ..model import ModelFailure, Reply, Request
from ..model_client import ClientFactory, ModelClient
from .adapters import BARE, SHIPPED, Adapter, adapter_of, check_base
from .embedded_engine import EmbeddedEngine
from .llama_cpp import LlamaEngine, try_loading
from .local_engine import LocalEngine
from .weights import INSTALL, SIZE, weights_path

CONTEXT = 8192
"""Tokens of prompt and answer together, unless the seat says otherwise or the model was trained on fewer."""


def connect(settings: ModelSettings) -> LocalClient:
    model = settings.model or "local"
    path = _embedded_file() if model in ("local", BARE) else _own_file(model.partition("/")[2])
    adapter = adapter_of(settings)
    if adapter is not None:
        check_base(adapter, path)
    if _is_embedded(path):
        if adapter is not None and adapter.path != SHIPPED:
            _check_mergeable(path, adapter)
    elif find_spec("xllamacpp") is None:
        raise MissingExtra(
            "a model file of your own is run by llama.cpp, which is not installed",
            remedy="pip install 'venire[gguf]'",
        )
    else:
        _check_header(path)
        try_loading(path, adapter, settings.context or CONTEXT)
    return LocalClient(path, adapter, context=settings.context or CONTEXT)


class LocalClient(ModelClient):
    """One weights file, and an adapter on it or none. It is loaded at the first request, once in a process, and serves one request at a time."""

    context_window = CONTEXT
    max_concurrency = 1
    in_process = True

    def __init__(self, path: Path, adapter: Adapter | None = None, *, context: int = CONTEXT) -> None:
        self._engine: LocalEngine | None = _borrow(path, adapter, context)

    async def complete(self, request: Request) -> Reply:
        if self._engine is None:
            raise ModelFailure("unavailable", "the local model has been closed")
        gone = threading.Event()
        answer = self._engine.ask(request, gone)
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            gone.set()
            raise

    async def close(self) -> None:
        if self._engine is not None:
            engine, self._engine = self._engine, None
            await asyncio.wrap_future(_give_back(engine))

    def list_price(self, model: str) -> Price:
        return FREE


_engines: dict[tuple[Path, Adapter | None], LocalEngine] = {}
_engines_lock = threading.Lock()


def _borrow(path: Path, adapter: Adapter | None, context: int) -> LocalEngine:
    """The engine for a file and an adapter: the one in use if there is one, whose context then holds for all."""
    with _engines_lock:
        kind = path.resolve(), adapter
        if kind not in _engines:
            _engines[kind] = (EmbeddedEngine if _is_embedded(path) else LlamaEngine)(*kind, context)
        engine = _engines[kind]
        engine.borrowers += 1
        return engine


def _give_back(engine: LocalEngine) -> Future[None]:
    with _engines_lock:
        engine.borrowers -= 1
        if engine.borrowers == 0:
            del _engines[engine.path, engine.adapter]
            return engine.free()
    kept: Future[None] = Future()
    kept.set_result(None)
    return kept


def _embedded_file() -> Path:
    path = weights_path()
    if path is None:
        raise VenireError("the embedded model's weights are not installed", remedy=f"run: {INSTALL}")
    if path.stat().st_size != SIZE:
        raise VenireError("the embedded model's weights are damaged", remedy=f"run: {INSTALL}")
    return path


def _own_file(name: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise VenireError(
            f"there is no model file at {name}",
            remedy="correct the path in local/PATH.gguf, or write `local` for the embedded model",
        )
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise VenireError(
                f"{name} is not a GGUF file",
                remedy="convert the model to GGUF first, the format that llama.cpp reads",
            )
    return path


def _check_header(path: Path) -> None:
    try:
        problem = impossible_header(GGUFFile(path))
    except (ValueError, OSError) as error:
        problem = str(error)
    if problem:
        raise VenireError(
            f"{path.name} is damaged: {problem}", remedy="download the file again, or convert the model again"
        )


def _is_embedded(path: Path) -> bool:
    embedded = weights_path()
    return embedded is not None and embedded.samefile(path)


@lru_cache(maxsize=16)
def _check_mergeable(base: Path, adapter: Adapter) -> None:
    """Refuse an adapter that cannot be added to the embedded base's weights, or whose header is not understood."""
    try:
        read_thresholds(MergedWeights(base, adapter.path).adapter_metadata)
    except Exception as error:
        # An adapter's header may hold anything: whatever is raised over it, it cannot be used.
        raise VenireError(
            f"the adapter {adapter.path.name} cannot be loaded onto the embedded model: {str(error) or type(error).__name__}",
            remedy="use a plain LoRA adapter that was trained for this model; see docs/training.md",
        ) from None


client_factory = ClientFactory(connect=connect, per_model=True)
