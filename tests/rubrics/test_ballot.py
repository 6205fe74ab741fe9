"""Ballots: where a quote stands, what is legal, and what a filled ballot says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from venire import Rubric
from venire.rubrics import ballot as ballot_module
from venire.rubrics.ballot import (
    Ballot,
    ballot_schema,
    ballot_shape,
    find_quote,
    find_span,
    fold_quote,
    has_words,
    unchecked_shape,
    votes_from,
)
from venire.rubrics.case import Exhibit
from venire.rubrics.errors import WORD_JOINER

NOTE = "Seen on Monday with fever\n  of 38.4.\tStarted “Amoxicillin”, 500 mg."
EXHIBITS = (Exhibit(name="output", text="No fever."), Exhibit(name="source", text=NOTE))


@pytest.mark.parametrize(
    "quote",
    [
        "fever of 38.4",
        "FEVER  of\n38.4",
        "fever\u00a0of 38.4",
        "“fever of 38.4.”",
        "'Started “Amoxicillin”",
        "… 500 mg …",
        " Seen on Monday ",
    ],
)
def test_white_space_case_and_the_marks_around_a_quote_do_not_matter(quote: str) -> None:
    assert find_quote(quote, EXHIBITS).exhibit == "source"
    assert find_quote(quote, EXHIBITS).text == quote


@pytest.mark.parametrize("quote", ["feverof 38.4", "fever of 39", "no cough", "...", " ", "“”"])
def test_other_words_fewer_spaces_and_no_words_stand_nowhere(quote: str) -> None:
    found = find_quote(quote, EXHIBITS)

    assert found.exhibit is None and not found.found


def test_a_quote_belongs_to_the_first_exhibit_that_it_stands_in() -> None:
    assert find_quote("fever", EXHIBITS).exhibit == "output"
    assert find_quote("fever", EXHIBITS[::-1]).exhibit == "source"
    assert find_quote("fever", ()).exhibit is None


def test_the_span_of_a_quote_is_the_texts_own_words() -> None:
    start, end = find_span("“FEVER of 38.4”", NOTE) or (0, 0)
    assert NOTE[start:end] == "fever\n  of 38.4"
    assert find_span("Monday", "Monday, and Monday") == (0, 6)
    assert find_span("a.c", "abc") is None
    assert find_span("...", NOTE) is None and find_span("cough", NOTE) is None


@given(st.lists(st.from_regex(r"[a-zA-Z0-9]{1,5}", fullmatch=True), min_size=1, max_size=8), st.data())
def test_any_run_of_words_is_found_however_it_is_spaced_and_cased(
    words: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    gaps = st.sampled_from([" ", "  ", "\n", "\t ", "\u00a0"])
    text = "".join(word + data.draw(gaps) for word in words)
    quote = data.draw(gaps).join(words[first : last + 1]).swapcase()

    assert find_quote(quote, (Exhibit(name="source", text=text),)).found
    assert find_span(quote, text) is not None


RUBRIC = Rubric.model_validate(
    {
        "name": "r",
        "version": 1,
        "scales": {
            "five": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
            "metres": {"level": "interval", "minimum": 0, "maximum": 10},
        },
        "attributes": [
            {"name": "accurate", "question": "?", "scale": "five"},
            {"name": "risk", "question": "?", "scale": "five", "may_not_apply": True},
            {"name": "height", "question": "?", "scale": "metres"},
            {"name": "depth", "question": "?", "scale": "metres", "may_not_apply": True},
        ],
    }
)


@pytest.fixture(autouse=True)
def _shapes_made_anew() -> Iterator[None]:
    """What a shape is made of is read only while it is made."""
    ballot_module._shape_for.cache_clear()
    ballot_module._shape.cache_clear()
    yield


def answer(score: object, **more: object) -> dict[str, object]:
    return {"rationale": "since", "evidence": ["fever"], "score": score, **more}


def is_legal(attribute: str, **fields: object) -> bool:
    shape = ballot_shape(RUBRIC, [attribute])
    try:
        shape.model_validate({attribute: fields})
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("attribute", "legal", "illegal"),
    [
        ("accurate", [1, 5], [0, 6, 2.5, "3", True, None, "not_applicable"]),
        ("risk", [1, 5, "not_applicable"], [0, 6, "n/a", False]),
        ("height", [0, 10, 2.5, 3], [-0.1, 10.1, True, "not_applicable"]),
        ("depth", [0, 10, 2.5, "not_applicable"], [-1, 11, "deep", True]),
    ],
)
def test_a_score_is_legal_on_its_scale_and_nowhere_else(
    attribute: str, legal: list[object], illegal: list[object]
) -> None:
    assert [is_legal(attribute, **answer(score)) for score in legal] == [True] * len(legal)
    assert [is_legal(attribute, **answer(score)) for score in illegal] == [False] * len(illegal)
    with pytest.raises(ValidationError, match="a score is not true or false"):
        ballot_shape(RUBRIC, [attribute]).model_validate({attribute: answer(True)})


def test_every_part_of_an_answer_is_needed_and_nothing_else_is_allowed() -> None:
    whole = answer(3)
    assert is_legal("accurate", **whole)
    for part in whole:
        assert not is_legal("accurate", **{key: value for key, value in whole.items() if key != part})
    assert not is_legal("accurate", **answer(3, moved_by="x"))
    assert not is_legal("accurate", **{**whole, "rationale": ""})


def parts_asked(**options: bool) -> list[str]:
    return list(ballot_schema(RUBRIC, ["accurate"], **options)["properties"]["accurate"]["properties"])


def test_the_reasons_come_before_the_score_and_a_revision_says_what_moved_it() -> None:
    assert parts_asked() == ["rationale", "evidence", "score"]
    assert parts_asked(revision=True) == ["rationale", "evidence", "moved_by", "score"]
    assert parts_asked(confidence=True) == ["rationale", "evidence", "confidence", "score"]


def test_a_schema_has_every_attribute_or_those_named_and_bounds_for_the_decoder_alone() -> None:
    assert list(ballot_schema(RUBRIC)["properties"]) == list(RUBRIC.names)
    schema = ballot_schema(RUBRIC, ["risk"])
    vote = schema["properties"]["risk"]
    assert list(schema["properties"]) == ["risk"] == schema["required"]
    assert vote["required"] == ["rationale", "evidence", "score"] and vote["additionalProperties"] is False
    assert vote["properties"]["rationale"] == {"maxLength": 4000, "minLength": 1, "type": "string"}
    evidence = {"type": "array", "maxItems": 8, "items": {"type": "string", "maxLength": 1000}}
    assert vote["properties"]["evidence"] == evidence
    assert vote["properties"]["score"]["enum"] == [1, 2, 3, 4, 5, "not_applicable"]
    assert is_legal("risk", **answer(3, rationale="x" * 5000, evidence=["y" * 2000] * 9))


def test_votes_say_what_was_filled_in_with_each_quote_looked_up() -> None:
    shape = ballot_shape(RUBRIC, ["accurate", "risk"], revision=True, confidence=True)
    quotes = ["fever of 38.4", "no such words", "...", "--"]
    filled: dict[str, Any] = {
        "accurate": {"rationale": "since", "evidence": quotes, "moved_by": "them", "confidence": "low", "score": 2},
        "risk": {"rationale": "and", "evidence": [], "moved_by": "", "confidence": "high", "score": "not_applicable"},
    }  # fmt: skip
    first, second = votes_from(shape.model_validate(filled), EXHIBITS)

    assert (first.attribute, first.value, first.rationale, first.moved_by, first.confidence) == ("accurate", 2, "since", "them", "low")  # fmt: skip
    assert [(quote.text, quote.exhibit) for quote in first.evidence] == [
        ("fever of 38.4", "source"),
        ("no such words", None),
    ]
    assert (second.attribute, second.value, second.evidence) == ("risk", "not_applicable", ())
    (plain,) = votes_from(ballot_shape(RUBRIC, ["accurate"]).model_validate({"accurate": answer(4)}), ())
    assert (plain.moved_by, plain.confidence) == ("", None)


def test_words_are_letters_or_digits() -> None:
    assert has_words("- 3 -") and has_words("é") and not has_words("... -- !") and not has_words("")


def test_an_unchecked_shape_takes_anything_for_the_same_fields() -> None:
    loose = unchecked_shape(ballot_shape(RUBRIC, ["accurate"]))
    assert vars(loose.model_validate({})) == {"accurate": None}
    with pytest.raises(ValidationError):
        loose.model_validate({"other": 1})


def test_what_a_ballot_neither_votes_nor_abstains_on_it_is_silent_on() -> None:
    ballot = Ballot.model_validate(
        {
            "juror": "a",
            "round": 2,
            "asked": ("x", "y", "z"),
            "saw": ("1/b",),
            "votes": [{"attribute": "x", "value": 1, "rationale": "r"}],
            "abstained": [{"attribute": "y", "reason": "out_of_scale", "detail": "9"}],
        }
    )
    assert ballot.silent_on == ("z",)
    (gone,) = ballot.abstentions
    assert (gone.juror, gone.round, gone.reason, gone.detail, gone.asked, gone.saw, gone.attribute) == (
        "a", 2, "out_of_scale", "9", ("y",), ("1/b",), "y",
    )  # fmt: skip


def test_a_quote_of_a_text_whose_markers_were_broken_still_stands_in_it() -> None:
    exhibits = [Exhibit(name="source", text="He wrote <|end|> there.")]
    broken = f"wrote <{WORD_JOINER}|end|>"

    assert find_quote(broken, exhibits).exhibit == "source"
    assert fold_quote(broken) == fold_quote(broken.replace(WORD_JOINER, ""))
    assert find_span(broken, exhibits[0].text) == (3, 16)


@pytest.mark.parametrize("name", ["register", "copy", "json", "schema", "construct"])
def test_an_attribute_may_be_named_as_a_method_of_every_model(rubric: Rubric, name: str) -> None:
    attribute = {"name": name, "question": "?", "scale": "agree5"}
    named = Rubric.model_validate({**rubric.model_dump(), "attributes": [attribute]})
    shape = ballot_shape(named)
    filled = shape.model_validate({name: {"rationale": "R", "evidence": [], "score": 3}})

    assert [vote.value for vote in votes_from(filled, ())] == [3]
    assert list(unchecked_shape(shape).model_fields) == [name]
