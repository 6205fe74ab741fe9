"""An answer as it is written: what a threshold does to the reasons in it. A scripted transformer speaks; tokens are the embedded model's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gguf_files import write_gguf

from venire.agents.clients import weights
from venire.agents.embedded import language_model
from venire.agents.embedded.form import form_of_schema
from venire.agents.embedded.language_model import LanguageModel
from venire.agents.embedded.sampling import KEY, Sampler
from venire.agents.embedded.tokenizer import ChatMessage

pytestmark = pytest.mark.skipif(weights.weights_path() is None, reason="needs the embedded weights")

THRESHOLDS = [
    {
        "fine": "Right",
        "faults": ["Wrong", "Invented"],
        "odds": 2.0,
        # Not read: in the header of the shipped adapter they stand beside the others.
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
    monkeypatch: pytest.MonkeyPatch, folder: Path, reason: str, odds: float, header: dict[str, Any] | None = None
) -> dict[str, Any]:  # fmt: skip
    """What is answered by a model that has these odds of finding fault."""
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
    written = model.answer(prompt, form_of_schema(FORM), Sampler(), most=400, check=lambda: None)
    assert not written.is_cut
    return json.loads(written.text)


@pytest.mark.parametrize(
    ("odds", "reason", "score"),
    [
        (-4.0, "Right: every statement agrees.", 5),
        (1.5, "Right: every statement agrees.", 5),
        (3.0, f"{WRONG} A grave error.", 2),
        (8.0, f"{WRONG} A grave error.", 2),
    ],
)
def test_the_first_word_follows_the_odds_and_the_rest_is_the_models_own(
    monkeypatch, tmp_path, odds, reason, score
):
    answered = answer(monkeypatch, tmp_path, f"{WRONG} A grave error.", odds)
    assert answered == {"rationale": reason, "evidence": ["5 mg"], "score": score}


def test_without_thresholds_the_likeliest_word_stands(monkeypatch, tmp_path):
    assert answer(monkeypatch, tmp_path, f"{WRONG} A grave error.", 0.5, header={})["score"] == 2
