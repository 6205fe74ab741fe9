"""The language model as a whole, at a ten-thousandth of its size but with its own tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from first_tokens import first_tokens
from tiny_llama import write_tiny_llama

from venire.agents.clients import weights
from venire.agents.embedded.form import form_of_schema
from venire.agents.embedded.gguf_file import GGUFFile
from venire.agents.embedded.language_model import LanguageModel, WrittenAnswer
from venire.agents.embedded.sampling import Sampler
from venire.agents.embedded.tokenizer import ChatMessage
from venire.agents.embedded.transformer import CHUNK

pytestmark = pytest.mark.skipif(
    weights.weights_path() is None, reason="needs the embedded weights' vocabulary"
)

NOTES = "Monday: fever of 38.4, amoxicillin 500 mg three times a day started, no allergies. " * 12


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = weights.weights_path()
    assert base is not None
    words = GGUFFile(base).metadata
    return write_tiny_llama(
        tmp_path_factory.mktemp("model") / "tiny.gguf", words, len(words["tokenizer.ggml.tokens"])
    )


@pytest.fixture(scope="module")
def model(path: Path) -> LanguageModel:
    return LanguageModel(path, None, context=1024, threads=2)


def answer(
    model: LanguageModel, prompt: list[int], schema: Any = None, most: int = 400, **settings: Any
) -> WrittenAnswer:
    form = None if schema is None else form_of_schema(schema)
    return model.answer(prompt, form, Sampler(**settings), most=most, check=lambda: None)


def test_its_likelihoods_are_those_of_llama_cpp(path: Path, model: LanguageModel) -> None:
    pytest.importorskip("xllamacpp")
    prompts = ["The patient was given", "Blood pressure: 120/80.\n", "She denies any pain. " * 30]

    for prompt, likely in zip(prompts, first_tokens(path, None, prompts), strict=True):
        found = model.log_probabilities(model.encode(prompt))
        assert np.exp(found).sum() == pytest.approx(1)
        assert {token: found[token] for token in likely} == pytest.approx(likely, abs=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_fits_its_form_however_unlikely_its_tokens_are(model: LanguageModel, seed: int) -> None:
    schema = {
        "type": "object",
        "properties": {
            "why": {"type": "string", "minLength": 1, "maxLength": 20},
            "quotes": {"type": "array", "items": {"type": "string", "maxLength": 6}, "maxItems": 2},
            "sure": {"enum": ["low", "loud", "\u00e9t\u00e9", "\u00e8"]},
            "share": {"type": "number", "minimum": 0.5, "maximum": 12.25},
            "apply": {"type": "boolean"},
        },
        "required": ["why", "quotes", "sure", "share", "apply"],
    }
    settings = {"temperature": 5.0, "seed": seed} if seed else {}

    written = answer(model, model.encode(NOTES[:300]), schema, **settings)
    filled = json.loads(written.text)

    assert not written.is_cut
    assert list(filled) == schema["required"]
    assert 1 <= len(filled["why"]) <= 20
    assert filled["sure"] in schema["properties"]["sure"]["enum"]  # type: ignore[index]
    assert 0.5 <= filled["share"] <= 12.25
    assert json.dumps(filled, ensure_ascii=False) == written.text or "\\" in written.text


def test_what_leaves_no_choice_is_counted_and_needs_none(model: LanguageModel) -> None:
    schema = {"type": "object", "properties": {"only": {"const": "this"}}, "required": ["only"]}

    written = answer(model, model.encode("Well?"), schema)

    assert written.text == '{"only": "this"}'
    assert written.written == len(model.encode(written.text))


def test_an_answer_that_reaches_its_limit_is_cut(model: LanguageModel) -> None:
    schema = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}

    for most in (1, 2, 7):
        written = answer(model, model.encode("Well?"), schema, most=most)
        assert (written.written, written.is_cut) == (most, True)
    assert answer(model, model.encode("Well?"), most=5).written <= 5


def test_only_the_prompt_is_read_in_a_shape_that_can_be_used_again(path: Path) -> None:
    model = LanguageModel(path, None, context=1024, threads=2)
    prompt = model.encode(NOTES)[: 2 * CHUNK + 3]
    written = answer(model, prompt, most=3 * CHUNK, temperature=3.0, seed=1)
    longer = [*prompt, *model.encode(written.text), *model.encode("And now?")]
    assert written.written > CHUNK

    again = answer(model, longer, most=30)
    fresh = answer(LanguageModel(path, None, context=1024, threads=1), longer, most=30)

    assert (again.cached, fresh.cached) == (2 * CHUNK, 0)
    assert again.text == fresh.text


def test_four_prompts_are_kept_and_the_one_used_last_stays(path: Path) -> None:
    model = LanguageModel(path, None, context=1024, threads=2)
    prompts = [model.encode(f"{name} {NOTES[:400]}") for name in ("Ana", "Ben", "Cy", "Di", "Eva")]

    order = (0, 1, 2, 3, 0, 4, 0, 2, 3, 4, 1)
    cached = [answer(model, prompts[number], most=1).cached > 0 for number in order]

    assert cached == [False] * 4 + [True, False] + [True] * 4 + [False]


def test_a_prompt_that_goes_on_otherwise_leaves_the_first_as_it_was(path: Path) -> None:
    model = LanguageModel(path, None, context=1024, threads=2)
    shared = model.encode(NOTES)[: 2 * CHUNK]
    one, other = ([*shared, *model.encode(f"{name} {NOTES}")[: 2 * CHUNK]] for name in ("Ana", "Ben"))
    first = answer(model, one, most=20)

    written = [answer(model, prompt, most=20) for prompt in (other, one, other)]

    assert [again.cached // CHUNK for again in written] == [2, 3, 3]
    assert written[1].text == first.text
    assert written[2].text == written[0].text


def test_no_more_is_kept_than_there_is_room_for(path: Path) -> None:
    model = LanguageModel(path, None, context=400, threads=2)
    prompts = [model.encode(f"{name} {NOTES}")[:300] for name in ("Ana", "Ben", "Cy")]

    cached = [answer(model, prompts[number], most=1).cached > 0 for number in (0, 0, 1, 2, 0)]

    assert cached == [False, True, False, False, False]


def test_no_more_context_than_the_model_was_made_for(path: Path) -> None:
    assert LanguageModel(path, None, context=4096, threads=1).context == 1024
    assert LanguageModel(path, None, context=100, threads=1).context == 100


def test_a_conversation_becomes_a_prompt(model: LanguageModel) -> None:
    assert len(model.tokens([ChatMessage("user", "Well?")])) > len(model.encode("Well?"))
