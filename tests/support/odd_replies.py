"""Odd replies: ballots, mutated by a seeded generator in the ways that models, servers and attackers do."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

Mutation = Callable[[random.Random, str], str]

_WORDS = (
    "I cannot",
    "<think>",
    "</think>",
    "```json",
    "```",
    "The text says:",
    "Sorry,",
    "{",
    "}",
    '"',
    "\\",
    "\0",
)
_VALUES = (
    "NaN",
    "-Infinity",
    "1e999",
    "9" * 5000,
    "null",
    "true",
    "[]",
    "{}",
    '"\\ud800"',
    "5.0",
    "-0",
    "0x5",
    "",
)


def ballot(score: int = 4, names: tuple[str, ...] = ("accurate", "thorough")) -> str:
    """A ballot on the small rubric of the tests."""
    return json.dumps({name: {"rationale": "It holds.", "evidence": [], "score": score} for name in names})


def _cut(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _splice(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_WORDS) * rng.choice((1, 1, 2, 50)) + text[at:]


def _drop(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.randrange(1, 20) :]


def _value(rng: random.Random, text: str) -> str:
    return text.replace('"score": 4', f'"score": {rng.choice(_VALUES)}', 1)


def _twice(rng: random.Random, text: str) -> str:
    return text + rng.choice(("", "\n", " or ", ",")) + ballot(rng.randrange(1, 6))


def _duplicate(rng: random.Random, text: str) -> str:
    return text.replace('"score": 4', f'"score": {rng.randrange(1, 6)}, "score": 4', 1)


def _around(rng: random.Random, text: str) -> str:
    return f"{rng.choice(_WORDS)} {text} {rng.choice(_WORDS)}"


def _repeat(rng: random.Random, text: str) -> str:
    piece = text[(at := rng.randrange(len(text) + 1)) : at + rng.randrange(1, 30)]
    return text[:at] + piece * rng.choice((2, 10, 500)) + text[at:]


def _nest(rng: random.Random, text: str) -> str:
    depth = rng.choice((2, 100, 5000))
    opening = rng.choice(('{"k":', "[", '[{"a":['))
    return opening * depth + text


def _character(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + chr(rng.choice((0, 9, 0x200B, 0xD800, 0xFEFF, 0x1F600, 0xE0041, 0x202E))) + text[at:]


def _noise(rng: random.Random, text: str) -> str:
    return rng.randbytes(rng.randrange(400)).decode("latin-1")


MUTATIONS: tuple[Mutation, ...] = (
    *(_cut, _splice, _drop, _value, _twice, _duplicate, _around, _repeat, _nest, _character, _noise),
)


def odd_reply(rng: random.Random) -> str:
    """A ballot after one to four mutations; now and then one that is left whole."""
    return mutated(rng, ballot())


def mutated(rng: random.Random, text: str) -> str:
    """The text after up to four mutations."""
    for _ in range(rng.randrange(5)):
        text = rng.choice(MUTATIONS)(rng, text)
    return text
