"""The embedded model's tokenizer, built by `tokenizers` from the vocabulary and merges of a GGUF file, and the prompt that a conversation makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import tokenizers
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

_CONTROL = 3
"""The type of tokens that stand for no text."""


class ChatMessage(NamedTuple):
    """One message of a conversation, as the template takes it."""

    role: str
    content: str


_NO_SYSTEM = ChatMessage("system", "You are a helpful AI assistant named SmolLM, trained by Hugging Face")


class Tokenizer:
    """Texts to tokens and back: byte-level BPE, cut into words the way SmolLM was taught (`smollm` in llama.cpp)."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        pre = metadata["tokenizer.ggml.pre"]
        if pre != "smollm":
            raise ValueError(f"a tokenizer of the kind {pre!r} is not known here")
        names = metadata["tokenizer.ggml.tokens"]
        kinds = metadata["tokenizer.ggml.token_type"]
        self._ids = {name: token for token, name in enumerate(names)}
        merges = [tuple(merge.split(" ", 1)) for merge in metadata["tokenizer.ggml.merges"]]
        self._bpe = tokenizers.Tokenizer(BPE(vocab=self._ids, merges=merges))
        self._bpe.pre_tokenizer = Sequence(
            [Digits(individual_digits=True), ByteLevel(add_prefix_space=False, use_regex=True)]
        )
        self.control = frozenset(token for token, kind in enumerate(kinds) if kind == _CONTROL)
        """Tokens that stand for no text; where text is free, any of them ends it."""
        byte_of = _bytes_of_characters()
        self.bytes_of = [
            b"" if token in self.control else bytes(byte_of[character] for character in name)
            for token, name in enumerate(names)
        ]
        """What each token stands for: whole characters, or some bytes of one."""

    def encode(self, text: str) -> list[int]:
        """The tokens of a text. Words that look like control tokens are text like any other."""
        whole = text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self._bpe.encode(whole, add_special_tokens=False).ids

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


def _bytes_of_characters() -> dict[str, int]:
    """The byte that each of GPT-2's printable characters stands for, in which vocabularies are written."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(others)}
