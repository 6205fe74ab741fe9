"""Byte-level BPE with the vocabulary and merges of a GGUF file, cut into words the way SmolLM was taught (`smollm` in llama.cpp)."""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

_CONTROL = 3
"""The type of tokens that stand for no text."""
_WORD = re.compile(r"[0-9]|'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[^\sA-Za-z0-9]+|\s+(?![^\s0-9])|\s+", re.ASCII)
"""A digit alone; else as GPT-2 has it, on a text in which ASCII stands for all of Unicode."""
_SPACES = frozenset("\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {chr(c) for c in range(0x2000, 0x200B)}


class ChatMessage(NamedTuple):
    """One message of a conversation, as the template takes it."""

    role: str
    content: str


class Tokenizer:
    """Texts to tokens and back."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        pre = metadata["tokenizer.ggml.pre"]
        if pre != "smollm":
            raise ValueError(f"a tokenizer of the kind {pre!r} is not known here")
        names = metadata["tokenizer.ggml.tokens"]
        kinds = metadata["tokenizer.ggml.token_type"]
        self._ids = {name: token for token, name in enumerate(names)}
        self._ranks = {
            tuple(merge.split(" ", 1)): rank for rank, merge in enumerate(metadata["tokenizer.ggml.merges"])
        }
        self.control = frozenset(token for token, kind in enumerate(kinds) if kind == _CONTROL)
        """Tokens that stand for no text; where text is free, any of them ends it."""
        self.bytes_of = [
            b"" if token in self.control else bytes(_BYTES[character] for character in name)
            for token, name in enumerate(names)
        ]
        """What each token stands for: whole characters, or some bytes of one."""
        self._word = lru_cache(maxsize=65536)(self._merge)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text. Words that look like control tokens are text like any other."""
        tokens: list[int] = []
        for word in _words(text):
            tokens += self._word(word)
        return tokens

    def decode(self, tokens: Iterable[int]) -> bytes:
        return b"".join(self.bytes_of[token] for token in tokens)

    def encode_chat(self, messages: Iterable[ChatMessage]) -> list[int]:
        """A conversation up to where the assistant is to speak: ChatML, with the model's own system message where there is none."""
        said = list(messages)
        if not said or said[0].role != "system":
            said.insert(0, _NO_SYSTEM)
        start, end = self._ids["<|im_start|>"], self._ids["<|im_end|>"]
        tokens: list[int] = []
        for role, content in said:
            tokens += [start, *self.encode(f"{role}\n{content}"), end, *self.encode("\n")]
        return [*tokens, start, *self.encode("assistant\n")]

    def _merge(self, word: str) -> tuple[int, ...]:
        """The tokens of one word: the earliest learned merge first, the leftmost of equals."""
        parts = [_CHARACTERS[byte] for byte in word.encode("utf-8", "surrogatepass")]
        following = [*range(1, len(parts)), -1]
        preceding = list(range(-1, len(parts) - 1))
        queue: list[tuple[int, int, str, str]] = []

        def consider(left: int) -> None:
            right = following[left]
            if (rank := self._ranks.get((parts[left], parts[right]))) is not None:
                heapq.heappush(queue, (rank, left, parts[left], parts[right]))

        for left in range(len(parts) - 1):
            consider(left)
        while queue:
            _, left, one, other = heapq.heappop(queue)
            right = following[left]
            if parts[left] != one or right < 0 or parts[right] != other:
                continue
            parts[left], parts[right] = one + other, ""
            following[left] = following[right]
            if following[left] >= 0:
                preceding[following[left]] = left
                consider(left)
            if preceding[left] >= 0:
                consider(preceding[left])
        # A few bytes that no text has are in no token.
        return tuple(self._ids[part] for part in parts if part in self._ids)


_NO_SYSTEM = ChatMessage("system", "You are a helpful AI assistant named SmolLM, trained by Hugging Face")


def _words(text: str) -> Iterable[str]:
    """The pieces within which bytes are merged."""
    alike = text if text.isascii() else "".join(map(_ascii_alike, text))
    return (text[found.start() : found.end()] for found in _WORD.finditer(alike))


@lru_cache(maxsize=4096)
def _ascii_alike(character: str) -> str:
    """An ASCII character of the same kind: a letter, a digit, a space, or none of these."""
    if character.isascii():
        return character
    if character in _SPACES:
        return "\t"
    kind = unicodedata.category(character)[0]
    return {"L": "a", "N": "0"}.get(kind, "!")


def _byte_characters() -> dict[int, str]:
    """GPT-2's printable character for each byte, in which vocabularies are written."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + n) for n, byte in enumerate(others)}


_CHARACTERS = _byte_characters()
_BYTES = {character: byte for byte, character in _CHARACTERS.items()}
