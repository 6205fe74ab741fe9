"""An answer as it is written: what a threshold does to the reasons in it. A scripted transformer speaks; tokens are the embedded model's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gguf_files import write_gguf

from venire.agents.clients import weights
from venire.agents.clients.embedded_engine import EmbeddedEngine
from venire.agents.embedded import language_model
from venire.agents.embedded.fault_threshold import KEY
from venire.agents.embedded.language_model import LanguageModel, WrittenAnswer
from venire.agents.embedded.sampling import Sampler
from venire.agents.embedded.schema_form import form_of_schema
from venire.agents.embedded.tokenizer import ChatMessage
from venire.agents.model import Message, Request, Sampling, Schema

pytestmark = pytest.mark.skipif(weights.weights_path() is None, reason="needs the embedded weights")

THRESHOLDS = [
    {
        "fine": "Right",
        "faults": ["Wrong", "Invented"],
        "odds": 2.0,
        "endings": [" A small error.", "", " A grave error."],
        "milder_below": [7.0, 5.0],
    }
]
LONGEST = 100
FORM = {
    "type": "object",
    "properties": {
        "rationale": {"type": "string", "maxLength": LONGEST},
        "evidence": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "score": {"enum": [1, 2, 3, 4, 5]},
    },
    "required": ["rationale", "evidence", "score"],
}
WRONG = "Wrong: '5 mg'; the source says '10 mg'."


def juror(reason: str) -> Callable[[str], str]:
    """A model that would find fault with these words, and whose score follows from the reason that stands."""
    scores = {"small": 4, "grave": 2, "agrees": 5}

    def intended(text: str) -> str:
        """The whole answer that the text so far is on its way to."""
        if text.startswith('{"rationale": "Right'):
            said = "Right: every statement agrees."
        else:
            said = json.loads(text.partition(", ")[0] + "}")["rationale"] if '", "' in text else reason
        score = next((value for word, value in scores.items() if word in said), 3)
        return json.dumps({"rationale": said, "evidence": ["5 mg"], "score": score})

    return intended


def answer(
    monkeypatch: pytest.MonkeyPatch, folder: Path, reason: str, odds: float, header: dict[str, Any] | None = None, *, softens: bool = True
) -> tuple[dict[str, Any], list[list[int]]]:  # fmt: skip
    """What is answered by a model that has these odds of finding fault, and the tokens that were read one after another."""
    base = weights.weights_path()
    assert base is not None
    adapter = write_gguf(
        folder / "adapter.gguf",
        {"general.type": "adapter", "adapter.type": "lora", **(header if header is not None else {KEY: json.dumps(THRESHOLDS)})},
        {},
    )  # fmt: skip
    intended, cached = juror(reason), list[int]()

    class Scripted:
        def __init__(self, merged: Any, *, threads: int) -> None:
            self.sizes = SimpleNamespace(context=2048)

        def new_cache(self) -> Any:
            return SimpleNamespace(room=0)

        def read(self, tokens: Sequence[int], cache: Any, past: int, check: Any) -> Any:
            return self.read_block(tokens, cache, past)[-1]

        def read_block(self, tokens: Sequence[int], cache: Any, past: int) -> Any:
            assert past <= len(cached), "nothing between what was read and what is read now is left out"
            cached[past:] = tokens
            return [self.logits(cached[len(prompt) : at + 1]) for at in range(past, len(cached))]

        def logits(self, answer: Sequence[int]) -> Any:
            text = model._tokenizer.decode(answer).decode()
            logits = np.full(len(model._tokenizer.bytes_of), -30.0, np.float32)
            if text == '{"rationale": "':
                logits[model.encode("Right")[0]], logits[model.encode("Wrong")[0]] = 0, odds
            elif following := model.encode(intended(text)[len(text) :]):
                logits[following[0]] = 0
            return logits

    monkeypatch.setattr(language_model, "Transformer", Scripted)
    model = LanguageModel(base, adapter, context=2048, threads=1)
    prompt = model.tokens([ChatMessage("user", "Is it right?")])
    written = model.answer(
        prompt, form_of_schema(FORM), Sampler(), most=400, check=lambda: None, softens=softens
    )
    assert not written.is_cut
    read = cached[len(prompt) :]
    while not written.text.encode().startswith(model._tokenizer.decode(read)):
        # What was guessed last.
        read.pop()
    return json.loads(written.text), read


@pytest.mark.parametrize(
    ("odds", "reason", "score"),
    [
        (-4.0, "Right: every statement agrees.", 5),
        (1.5, "Right: every statement agrees.", 5),
        (3.0, f"{WRONG} A small error.", 4),
        (6.0, WRONG, 3),
        (8.0, f"{WRONG} A grave error.", 2),
    ],
)
def test_reason_and_score_follow_the_odds(monkeypatch, tmp_path, odds, reason, score):
    answered, _ = answer(monkeypatch, tmp_path, f"{WRONG} A grave error.", odds)
    assert answered == {"rationale": reason, "evidence": ["5 mg"], "score": score}


@pytest.mark.parametrize("odds", [3.0, 6.0])
def test_what_is_put_in_place_is_read_as_it_would_have_been_written(monkeypatch, tmp_path, odds):
    answered, read = answer(monkeypatch, tmp_path, f"{WRONG} A grave error.", odds)
    _, plain = answer(monkeypatch, tmp_path, answered["rationale"], 9.0)
    assert read == plain


def test_an_ending_that_would_be_too_long_is_not_put(monkeypatch, tmp_path):
    long = f"Wrong: '{'5 mg ' * 15}'; none."
    assert len(long) <= LONGEST < len(long) + len(" A small error.")
    answered, _ = answer(monkeypatch, tmp_path, long, 3.0)
    assert answered["rationale"] == long


def test_without_thresholds_the_likeliest_word_stands(monkeypatch, tmp_path):
    answered, _ = answer(monkeypatch, tmp_path, f"{WRONG} A grave error.", 0.5, header={})
    assert answered["score"] == 2


@pytest.mark.parametrize(("odds", "score"), [(1.5, 5), (3.0, 2)])
def test_a_juror_that_is_asked_again_keeps_its_words_but_needs_the_odds(monkeypatch, tmp_path, odds, score):
    answered, _ = answer(monkeypatch, tmp_path, f"{WRONG} A grave error.", odds, softens=False)
    assert answered["score"] == score


def _vote(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


@pytest.mark.parametrize(
    ("temperature", "vote", "softened"),
    [
        (0.0, _vote("rationale", "score"), True),
        (0.7, _vote("rationale", "score"), False),
        (0.0, _vote("rationale", "moved_by", "score"), False),
    ],
)
def test_doubt_shows_in_milder_words_where_nothing_else_shows_it(monkeypatch, temperature, vote, softened):
    asked: dict[str, Any] = {}

    class Asked:
        context = 2048

        def tokens(self, messages: Any) -> list[int]:
            return [1]

        def answer(self, *prompt: Any, **options: Any) -> WrittenAnswer:
            asked.update(options)
            return WrittenAnswer("{}", 1, 0, False)

    base = weights.weights_path()
    assert base is not None
    engine = EmbeddedEngine(base, None, context=2048)
    monkeypatch.setattr(engine, "_model", Asked())
    schema = {"type": "object", "properties": {"accurate": vote}, "required": ["accurate"]}
    request = Request(
        "local", (Message("user", "?"),), Schema(schema), Sampling(temperature=temperature), 0, 60
    )
    engine.answer(request, threading.Event(), 0.0)
    assert asked["softens"] is softened
