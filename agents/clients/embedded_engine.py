"""The embedded model as an engine of `local`: requests to prompts, schemas to forms, answers to replies."""

from __future__ import annotations

import threading
import time

from ..embedded.form import UnknownForm, form_of_schema
from ..embedded.language_model import LanguageModel
from ..embedded.sampling import Sampler
from ..embedded.tokenizer import ChatMessage
from ..model import ModelFailure, Reply, Request, Usage
from .local_engine import LocalEngine, check_awaited, most_tokens, sampling_of, tighten, worker_threads


class EmbeddedEngine(LocalEngine):
    """The embedded base with an adapter or none."""

    name = "the embedded model"
    _model: LanguageModel | None = None

    def answer(self, request: Request, gone: threading.Event, started: float) -> Reply:
        schema = None if request.schema is None else tighten(request.schema)
        try:
            form = None if schema is None else form_of_schema(schema)
        except UnknownForm as unknown:
            raise ModelFailure(
                "unavailable", f"the embedded model cannot be held to this form: {unknown}"
            ) from None
        model = self._loaded_model()
        prompt = model.tokens([ChatMessage(message.role, message.content) for message in request.messages])
        most = most_tokens(request, schema, len(prompt), model.context)
        chosen = sampling_of(request, taught=self.adapter is not None)
        sampler = Sampler(
            temperature=chosen.temperature,
            top_p=1.0 if chosen.top_p is None else chosen.top_p,
            seed=chosen.seed,
            repeat_penalty=chosen.repeat_penalty,
        )
        answer = model.answer(
            prompt,
            form,
            sampler,
            most=most,
            check=lambda: check_awaited(gone),
        )
        return Reply(
            text=answer.text,
            usage=Usage(prompt=len(prompt), completion=answer.written, cached=answer.cached),
            usd=0.0,
            seconds=time.perf_counter() - started,
            finish="length" if answer.is_cut else "stop",
        )

    def unload(self) -> None:
        self._model = None

    def _loaded_model(self) -> LanguageModel:
        if self._model is None:
            adapter = None if self.adapter is None else self.adapter.path
            self._model = LanguageModel(self.path, adapter, context=self._context, threads=worker_threads())
        return self._model
