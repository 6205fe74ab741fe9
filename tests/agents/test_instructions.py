"""What speeds up the search for instructions finds the same as the plain search."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from venire.agents.instructions import PATTERNS, SCORE_REQUESTS, Pattern, fold, fold_spaced, known_words

CORPUS = Path(__file__).parents[2] / "benchmarks" / "hostile_texts.yaml"


def texts() -> list[str]:
    found: list[str] = []
    parts = [yaml.safe_load(CORPUS.read_text(encoding="utf-8"))]
    for part in parts:
        if isinstance(part, str):
            found.append(fold(part))
        elif isinstance(part, dict | list):
            parts.extend(part.values() if isinstance(part, dict) else part)
    return found


@pytest.mark.parametrize("pattern", [*PATTERNS, *SCORE_REQUESTS], ids=lambda pattern: pattern.hints[0])
def test_an_alternative_that_is_left_out_would_have_found_nothing(pattern: Pattern) -> None:
    every = re.compile("|".join(each.expression for each in pattern.alternatives), re.MULTILINE)
    for text in texts():
        words = known_words(text)
        wanted = [] if words.isdisjoint(pattern.hints) else [match.span() for match in every.finditer(text)]
        assert [match.span() for match in pattern.find(text, words)] == wanted


def test_words_are_known_alike_in_short_and_long_texts() -> None:
    for text in texts()[::10]:
        assert known_words(text) == known_words(text + "\n" * 30_000)


@pytest.mark.parametrize(
    ("text", "closed_up"),
    [
        ("please i g n o r e this", "ignore"),
        ("please i.g.n.o.r.e this", "ignore"),
        ("i_g_n_o_r_e", "ignore"),
        ("i g n o r é now", "ignoré"),
        ("a 5 b", ""),
        ("grade 4 / 5 in a b c d", ""),
        ("", ""),
    ],
)
def test_words_that_were_spaced_out_are_closed_up(text: str, closed_up: str) -> None:
    assert fold_spaced(text) == closed_up
