"""Guesses at an answer: what stood before is guessed again, what cannot be is not, and no guess changes a word."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tiny_llama import write_tiny_llama

from venire.agents.clients import weights
from venire.agents.embedded.form import Form, form_of_schema
from venire.agents.embedded.gguf_file import GGUFFile
from venire.agents.embedded.language_model import Drafts, LanguageModel
from venire.agents.embedded.sampling import Sampler
from venire.agents.embedded.tokenizer import Tokenizer

pytestmark = pytest.mark.skipif(
    weights.weights_path() is None, reason="needs the embedded weights' vocabulary"
)

CASE = "Monday: fever of 38.4. Amoxicillin 500 mg three times a day was started. No allergies. "
FORM = {
    "type": "object",
    "properties": {
        "rationale": {"type": "string", "maxLength": 60},
        "evidence": {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 2},
        "score": {"enum": [1, 2, 3]},
    },
    "required": ["rationale", "evidence", "score"],
}


@pytest.fixture(scope="module")
def words() -> dict[str, Any]:
    base = weights.weights_path()
    assert base is not None
    return GGUFFile(base).metadata


@pytest.fixture(scope="module")
def tokenizer(words: dict[str, Any]) -> Tokenizer:
    return Tokenizer(words)


def guessed(tokenizer: Tokenizer, written: str, form: Form | None = None, count: int = 7) -> str:
    prompt = tokenizer.encode(CASE)
    form = form and form.after(written.encode())
    tokens = Drafts(tokenizer, prompt).guess([*prompt, *tokenizer.encode(written)], form, count)
    assert len(tokens) <= count
    return tokenizer.decode(tokens).decode()


def test_what_followed_in_the_case_is_guessed_to_follow_again(tokenizer: Tokenizer) -> None:
    assert " 500 mg three times a day".startswith(guessed(tokenizer, "They gave Amoxicillin"))
    assert guessed(tokenizer, "They gave Amoxicillin", count=2) == " 5"
    assert guessed(tokenizer, "Something else") == ""


def test_more_that_is_alike_counts_for_more_and_then_what_came_last(tokenizer: Tokenizer) -> None:
    said = "See a red ball and a blue ball. The red"

    assert guessed(tokenizer, said, count=1) == " ball"
    assert guessed(tokenizer, f"{said} hat. The red", count=1) == " hat"
    assert guessed(tokenizer, f"{said} hat. See a red", count=1) == " ball"


def test_a_word_is_known_again_without_the_space_before_it(tokenizer: Tokenizer) -> None:
    assert guessed(tokenizer, "They write 'No", count=2) == " allergies."


def test_a_guess_fits_the_form_and_goes_on_with_what_the_form_makes_certain(tokenizer: Tokenizer) -> None:
    form = form_of_schema(FORM)

    assert guessed(tokenizer, '{"rationale": "It is. A small', form) == ' error.", "evidence": [], "'
    assert guessed(tokenizer, '{"rationale": "No", "evidence": [], "', form, 2) == 'score":'
    assert (
        guessed(tokenizer, '"Amoxicillin', form_of_schema({"enum": ["Amoxicillin.", "Amoxicillin!"]})) == ""
    )


def test_the_quotes_of_a_reason_are_guessed_to_be_its_evidence(tokenizer: Tokenizer) -> None:
    form, reason = form_of_schema(FORM), '{"rationale": "Wrong: \'a day\'; not \'a week\'.", "evidence":'

    assert guessed(tokenizer, reason, form, 9) == ' ["a day", "a week"], "'
    assert guessed(tokenizer, f'{reason} ["a day", "a', form, 3) == ' week"], "'
    assert guessed(tokenizer, '{"rationale": "Right.", "evidence":', form, 3) == ' [], "score'


def unlucky(tokens: Sequence[int], form: Form | None, count: int) -> list[int]:
    return [random.Random(len(tokens)).randrange(49000) for _ in range(count)]


@pytest.mark.parametrize(
    ("guess", "settings"),
    [
        (unlucky, {}),
        (unlucky, {"temperature": 0.8, "seed": 4}),
        (lambda tokens, form, count: [], {"repeat_penalty": 1.1}),
    ],
)
def test_no_guess_changes_a_word(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: dict[str, Any],
    settings: dict[str, Any],
    guess: Callable[..., list[int]],
) -> None:
    path = write_tiny_llama(tmp_path / "tiny.gguf", words, len(words["tokenizer.ggml.tokens"]))

    def answer(schema: Any) -> str:
        model = LanguageModel(path, None, context=1024, threads=2)
        prompt = model.encode(CASE * 2)
        form = schema and form_of_schema(schema)
        return model.answer(prompt, form, Sampler(**settings), most=60, check=lambda: None).text

    with_guesses = [answer(FORM), answer(None)]
    monkeypatch.setattr(Drafts, "guess", lambda self, *asked: guess(*asked))

    assert [answer(FORM), answer(None)] == with_guesses
