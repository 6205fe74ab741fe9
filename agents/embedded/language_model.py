"""The embedded language model: messages in, an answer in the asked form out.

The same request gets the same text, whatever was asked before it: see `transformer` on how a prompt is read, `prompt_cache` on what of it is
used again, `sampling` on the choice of tokens and the first words of reasons, `drafting` on guesses at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .drafting import Drafts, certain_tokens
from .form import Form
from .merged_weights import Array, MergedWeights
from .prompt_cache import KeptPrompts
from .sampling import Reasons, Sampler, read_thresholds
from .tokenizer import ChatMessage, Tokenizer
from .transformer import BLOCK, Cache, Check, Transformer, one_blas_thread

_KEPT = 4
"""Prompts kept for reuse: the orchestrator's opens with other words than the jurors', and each juror's goes on with what was asked before."""


class WrittenAnswer(NamedTuple):
    """What was written, and how many tokens that took."""

    text: str
    written: int
    """Tokens of the answer, those included that the form left no choice about."""
    cached: int
    """Tokens of the prompt that had been read before."""
    is_cut: bool
    """Whether it reached its limit before its end."""


class LanguageModel:
    """A base and an adapter, loaded. One thread at a time may ask it."""

    def __init__(self, base: Path, adapter: Path | None, *, context: int, threads: int) -> None:
        weights = MergedWeights(base, adapter)
        with one_blas_thread():
            self._transformer = Transformer(weights, threads=threads)
        self._tokenizer = Tokenizer(weights.metadata)
        self._thresholds = read_thresholds(weights.adapter_metadata)
        self.context = min(context, self._transformer.sizes.context)
        """Tokens of prompt and answer together."""
        self._kept = KeptPrompts(self._transformer.new_cache, slots=_KEPT, room=2 * self.context)

    def tokens(self, messages: Sequence[ChatMessage]) -> list[int]:
        """The prompt that a conversation makes."""
        return self._tokenizer.encode_chat(messages)

    def answer(
        self,
        prompt: Sequence[int],
        form: Form | None,
        sampler: Sampler,
        *,
        most: int,
        check: Check,
    ) -> WrittenAnswer:
        """The answer to a prompt, of `most` tokens at the most; in free words where there is no form.

        `check` is called between pieces of work and may raise to end it.
        """
        reasons = Reasons(self._thresholds, self._tokenizer.encode)
        writing = _Writing(self._tokenizer, form, reasons, sampler, prompt, most)
        with one_blas_thread():
            logits, cache, ready = self._read(writing.tokens, check)
            answer = _AnswerReader(self._transformer, cache, Drafts(self._tokenizer, prompt))
            while new := writing.go_on(logits):
                check()
                logits = answer.logits_after(writing, len(writing.tokens) - len(new))
        return WrittenAnswer(writing.text.decode("utf-8", "ignore"), writing.written, ready, writing.is_cut)

    def log_probabilities(self, prompt: Sequence[int], check: Check = lambda: None) -> Array:
        """How likely each token is to come next after a prompt, whatever the form: natural logarithms, by token."""
        with one_blas_thread():
            logits, _, _ = self._read(prompt, check)
        logits = logits.astype(np.float64) - logits.max()
        return logits - np.log(np.exp(logits).sum())

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        return self._tokenizer.encode(text)

    def _read(self, prompt: Sequence[int], check: Check) -> tuple[Array, Cache, int]:
        """The logits of what may follow a prompt, the cache it now fills, and how many of its tokens had been read before."""
        cache, ready = self._kept.take(prompt)
        logits = self._transformer.read(prompt[ready:], cache, ready, check)
        self._kept.hold(tuple(prompt))
        return logits, cache, ready


class _AnswerReader:
    """Reads an answer as it is written, and guesses at what follows along with it."""

    def __init__(self, transformer: Transformer, cache: Cache, drafts: Drafts) -> None:
        self._transformer = transformer
        self._cache = cache
        self._drafts = drafts
        self._start = 0
        self._block: list[int] = []
        """The tokens that were read last, some of them guesses, and how many came before them."""
        self._logits: Array = np.empty(0)
        """Of what may follow each of these."""

    def logits_after(self, writing: _Writing, known: int) -> Array:
        """The logits of what may follow all that is written, of which the first `known` tokens were read, or guessed, before."""
        tokens = writing.tokens
        if known < self._start or tokens[self._start :] != self._block[: len(tokens) - self._start]:
            self._read(tokens, known, writing.form)
        return self._logits[len(tokens) - self._start - 1]

    def _read(self, tokens: list[int], known: int, form: Form | None) -> None:
        while len(tokens) - known > BLOCK:
            self._transformer.read_block(tokens[known : known + BLOCK], self._cache, known)
            known += BLOCK
        guesses = self._drafts.guess(tokens, form, BLOCK - (len(tokens) - known))
        self._start, self._block = known, [*tokens[known:], *guesses]
        self._logits = self._transformer.read_block(self._block, self._cache, known)


class _Writing:
    """An answer as it comes to be. What the form leaves no choice about is written at once, from the beginning on."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        form: Form | None,
        reasons: Reasons,
        sampler: Sampler,
        prompt: Sequence[int],
        most: int,
    ) -> None:
        self._tokenizer = tokenizer
        self.form = form
        self._reasons = reasons
        self._sampler = sampler
        self._most = most
        self.tokens = list(prompt)
        """The prompt and all that was written."""
        self.written = 0
        self.text = b""
        self._is_over = False
        self.is_cut = False
        self._write_certain()

    def go_on(self, logits: Array) -> list[int]:
        """The tokens that are written next: one that is chosen, and those that the form then leaves no choice about; none at the end."""
        if self._is_over:
            return []
        before = len(self.tokens)
        token = self._sampler.choose(
            self._reasons.weighed_logits(logits, self.text), self.tokens, self._is_allowed
        )
        if token is None:
            raise RuntimeError("no token fits the form")
        if token in self._tokenizer.control:
            self._is_over = True
        else:
            self._write([token])
            self._write_certain()
        return [] if self._is_over else self.tokens[before:]

    def _write_certain(self) -> None:
        """Write what the form leaves no choice about."""
        if self.form is not None and not self._is_over:
            self._write(certain_tokens(self._tokenizer, self.form))

    def _write(self, tokens: list[int]) -> None:
        tokens = tokens[: self._most - self.written]
        added = self._tokenizer.decode(tokens)
        self.tokens += tokens
        self.written += len(tokens)
        self.text += added
        if self.form is not None:
            self.form = self.form.after(added)
            assert self.form is not None, "what is written fits the form"
            self._is_over = self.form.is_over
        self.is_cut = not self._is_over and self.written >= self._most
        self._is_over = self._is_over or self.is_cut

    def _is_allowed(self, token: int) -> bool:
        if token in self._tokenizer.control:
            return self.form is None or self.form.may_end
        return self.form is None or self.form.after(self._tokenizer.bytes_of[token]) is not None
