"""Ballots: where a quote stands, what is legal, and what a filled ballot says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venire.rubrics.ballot import find_quote, find_span
from venire.rubrics.case import Exhibit

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
