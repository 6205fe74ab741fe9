"""The embedded language model: messages in, an answer in the asked form out.

The same request gets the same text, whatever was asked before it: see `transformer` on how a prompt is read, `prompt_cache` on what of it is
used again, `sampling` on the choice of tokens and the first words of reasons.

What an answer goes on with is guessed, since a block of tokens takes not much longer to read than one. An answer quotes its case, the quotes in a
reason come again as evidence, and what was taught has set phrases: what followed the last few words where they stood before is likely to follow
again. Guesses change how soon an answer is there and nothing in it: one is kept where it is what would have been chosen. They depend on the
request, and on nothing that was asked before it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

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


_PHRASES = (
    ". They differ over '",
    'Silent: nothing is said of it.", "evidence": ""',
    "Otherwise: '",
    "Said: '",
    " \"What do the exhibits say about '",
    ' {"rationale": "Neutral: no wording blames or labels.", "evidence": []',
    ' {"rationale": "In order: every item is in its place.", "evidence": []',
    ' {"rationale": "Brief: nothing could be cut without loss.", "evidence": []',
    ' {"rationale": "Complete: nothing of use is missing.", "evidence": []',
    ' {"rationale": "Right: every statement agrees with the source.", "evidence": []',
    ' {"rationale": "Invented: \'',
    ' {"rationale": "Wrong: \'',
    ' {"rationale": "Missing: \'',
    "' stands nowhere in the source.",
    "' is not what the source says.",
    "'; the source says '",
    '\'. Only background is missing.", "',
    '\'. Most is missing.", "',
    '\'. Much is missing.", "',
    '\'. One thing that matters.", "',
    '\'. There is more.", "',
    '\'. A small error.", "',
    '\'. A grave error.", "',
)
"""What the taught model often writes and a prompt seldom has, in the words of `benchmarks/embedded_juror/right_ballots.py` and, of claims, of `benchmarks/embedded_juror/checks.py`; of equals, the last is guessed."""
_BLANK = b"..."
"""What a form has in a prompt where words are to be written."""
_LONGEST = 8
"""Tokens that are compared to find the place that is most like the end of the answer."""
_TRIED = 4
"""Guesses at one token that are held against the form."""
_EVIDENCE = re.compile(rb'"rationale": "(?P<reason>(?:[^"\\]|\\.)*)", "evidence":(?P<begun>[^\]]*)\Z')
_QUOTE = re.compile(r"(?<!\w)'(.+?)'(?!\w)")


class Drafts:
    """What stood before in one request: set phrases, the prompt, and the answer as far as it has come."""

    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._phrases = [*map(tokenizer.encode, _PHRASES), list(prompt)]
        self._words = [self._words_of(tokens) for tokens in self._phrases]
        self._places: defaultdict[bytes, list[tuple[int, int]]] = defaultdict(list)
        """Where each word stands: in which phrase, and at what place in it."""
        for number, words in enumerate(self._words):
            for at, word in enumerate(words[:-1]):
                self._places[word].append((number, at))

    def guess(self, tokens: Sequence[int], form: Form | None, count: int) -> list[int]:
        """Up to so many tokens that may follow `tokens`, which begin with the prompt; they fit the form."""
        answer = list(tokens[len(self._phrases[-1]) :])
        written = len(answer)
        while len(answer) < written + count:
            for guessed in self._guesses(answer, form):
                following = form and form.after(self._tokenizer.decode(guessed))
                if form is None or following is not None:
                    answer, form = answer + guessed, following
                    break
            else:
                break
        return answer[written : written + count]

    def _guesses(self, answer: list[int], form: Form | None) -> Iterator[list[int]]:
        """What may come next, the likeliest first."""
        if form is not None and (certain := certain_tokens(self._tokenizer, form)):
            yield certain
        elif evidence := self._quoted_again(answer):
            yield evidence
        else:
            yield from self._after_alike(answer)

    def _quoted_again(self, answer: Sequence[int]) -> list[int]:
        """Inside a list of evidence: the rest of what it is, if it has the quotes of the reason before it."""
        if (found := _EVIDENCE.search(self._tokenizer.decode(answer))) is None:
            return []
        quotes = _QUOTE.findall(found["reason"].decode("utf-8", "ignore"))
        listed = '", "'.join(quotes)
        rest = self._tokenizer.encode(f' ["{listed}"], "' if quotes else ' [], "')
        begun = found["begun"]
        while begun and rest and begun.startswith(first := self._tokenizer.bytes_of[rest[0]]):
            begun, rest = begun[len(first) :], rest[1:]
        return [] if begun else rest

    def _after_alike(self, answer: list[int]) -> list[list[int]]:
        """What followed where most of the last words stood before: the last such place first, the answer's own after all others."""
        prompt = self._phrases[-1]
        end = [*prompt[max(0, len(prompt) - _LONGEST) :], *answer]
        last = self._words_of(end)
        found: dict[int, tuple[int, int]] = {}
        for order, (tokens, words, at) in enumerate(self._places_of(last[-1], end, last)):
            following = tokens[at + 1]
            if _BLANK not in words[at + 1]:
                found[following] = max(found.get(following, (0, 0)), (_alike(words, at, last), order))
        likeliest = sorted(found, key=found.__getitem__, reverse=True)
        return [[token] for token in likeliest[:_TRIED]]

    def _places_of(
        self, word: bytes, answer: list[int], words: list[bytes]
    ) -> Iterator[tuple[list[int], list[bytes], int]]:
        for number, at in self._places[word]:
            yield self._phrases[number], self._words[number], at
        for at, other in enumerate(words[:-1]):
            if other == word:
                yield answer, words, at

    def _words_of(self, tokens: Sequence[int]) -> list[bytes]:
        """Tokens without the space before them, which differs where a quote begins."""
        return [self._tokenizer.bytes_of[token].strip() or b" " for token in tokens]


def certain_tokens(tokenizer: Tokenizer, form: Form) -> list[int]:
    """The tokens of what a form leaves no choice about."""
    certain = form.only_text
    # Part of a character, where choices begin with the same byte, is left to be chosen.
    tokens = tokenizer.encode(certain.decode("utf-8", "ignore"))
    following = form.after(certain)
    # So is the last token, which may go on beyond what is certain.
    return tokens if following is not None and following.is_over else tokens[:-1]


def _alike(words: Sequence[bytes], at: int, last: Sequence[bytes]) -> int:
    """How many words up to this place are the last ones."""
    most = min(_LONGEST, at + 1, len(last))
    return next((n for n in range(1, most) if words[at - n] != last[-1 - n]), most)
