"""Guesses at what an answer goes on with. They cost little to check: a block of tokens takes not much longer to read than one.

An answer quotes its case, the quotes in a reason come again as evidence, and what was taught has set phrases. So what followed the last few words
where they stood before is likely to follow again. Guesses change how soon an answer is there and nothing in it: one is kept where it is what would
have been chosen. They depend on the request, and on nothing that was asked before it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from .form import Form
from .tokenizer import Tokenizer

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
