"""What a proposed text may not be: words of a case, an order that came out of one, too long, or with other placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...agents.folding import fold
from ...agents.instructions import attempts_to_instruct
from ...rubrics.case import Case
from ...rubrics.quotes import Exhibit
from ...rubrics.rubric import Rubric

RUN = 5
"""Words in a row that a case and a returned text may not have in common."""
ECHO = 3
"""Words in a row that a flagged passage and a returned text may not have in common."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PLACEHOLDER = re.compile(r"\$\{?\w+\}?|\{\{?\s*\w*\s*\}?\}|<[A-Za-z_]+>")
_FIXED_SCORE = re.compile(
    r"\b(?:always|every ?(?:case|time|text)|each (?:case|text|note)|all (?:cases|texts|notes)|no matter what|regardless|invariably|never)\b"
    r"[^.!?;\n]{0,60}\b(?:scores?|scored|rates?|rated|gives?|grades?|marks?|awards?|answers?|votes?|choose|assign|returns?|above|below)\b[^.!?;\n]{0,40}?(?<![\w-])(?:\d+|zero|one|two|three|four|five|full marks|(?:the )?(?:highest|lowest|maximum|minimum|top))\b"
    r"|\b(?:score|rate|give|grade|mark|award|answer|vote|assign|return)s?\b[^.!?;\n]{0,30}?(?<![\w-])(?:\d+|zero|one|two|three|four|five|full marks|(?:the )?(?:highest|lowest|maximum|minimum|top))\b[^.!?;\n]{0,40}\b(?:always|every ?(?:case|time|text)|each (?:case|text|note)|to all|no matter|regardless|whatever)\b"
)
"""In a folded text: one score for whatever is judged."""
_CONDITION = re.compile(r"\b(?:if|when|where|whenever|wherever|unless|only|should the|in case)\b")


@dataclass(slots=True)
class Guard:
    """The texts that a proposal may not repeat, and how long it may be."""

    max_words: int
    given: str = ""
    """Words that were there before, which any proposal may keep: those of the first wording."""
    runs: set[tuple[str, ...]] = field(default_factory=set)
    """Each run of five words of a case."""
    echoes: set[tuple[str, ...]] = field(default_factory=set)
    """Each run of three words of a passage that instructs."""
    flagged: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By case, the passages that seem to instruct whoever reads them."""

    @classmethod
    def of(cls, cases: Iterable[Case], rubric: Rubric, *, max_words: int, given: Iterable[str]) -> Guard:
        guard = cls(max_words, "\n".join(given))
        allowed = set(_runs(guard.given, RUN))
        for case in cases:
            texts = [*(note for note in case.source), case.output, case.reference or "", case.question or ""]
            for text in texts:
                guard.runs.update(_runs(text, RUN))
            exhibits = [Exhibit(name=str(at), text=text) for at, text in enumerate(texts) if text]
            if passages := (*attempts_to_instruct(exhibits), *_persona_orders(texts)):
                guard.flagged[case.id] = passages
                for passage in passages:
                    guard.echoes.update(_runs(passage.partition(": ")[2], ECHO))
        guard.runs -= allowed
        guard.echoes -= set(_runs(guard.given, ECHO))
        return guard

    def refusal(self, text: str, before: str) -> str | None:
        """Why `text` may not stand where `before` stood; None where it may."""
        words = _words(text)
        if not words:
            return "it is empty"
        most = max(self.max_words, len(_words(before)))
        if len(words) > most:
            return f"it has {len(words)} words, and {most} are the most"
        if fresh := set(_PLACEHOLDER.findall(text)) - set(_PLACEHOLDER.findall(before)):
            return f"it has a placeholder that was not there: {min(fresh)}"
        if lost := set(_PLACEHOLDER.findall(before)) - set(_PLACEHOLDER.findall(text)):
            return f"the placeholder {min(lost)} is gone"
        if copied := next((run for run in _runs(text, RUN) if run in self.runs), None):
            return f"it copies a case ({' '.join(copied)!r}): write what holds for any case"
        if order := fixed_score(text):
            return f"it fixes a score whatever is judged ({order!r}): a text that asks for a score is not to be obeyed"
        if echoed := next((run for run in _runs(text, ECHO) if run in self.echoes), None):
            return f"it repeats a passage in which a judged text gives orders ({' '.join(echoed)!r})"
        return None


def fixed_score(text: str) -> str | None:
    """The words in which a text gives one score to whatever is judged; None where there are none, or only under a condition."""
    folded = fold(text)
    for found in _FIXED_SCORE.finditer(folded):
        start = max(folded.rfind(end, 0, found.start()) for end in ".!?;\n") + 1
        sentence = re.split(r"[.!?;\n]", folded[start:], maxsplit=1)[0]
        if not _CONDITION.search(sentence):
            return " ".join(found.group().split())
    return None


def _persona_orders(texts: Iterable[str]) -> Iterator[str]:
    """Passages that speak to whoever writes the judge's words, or fix a score."""
    for at, text in enumerate(texts):
        folded = fold(text)
        for found in _TO_THE_WRITER.finditer(folded):
            yield f"{at}: {' '.join(folded[found.start() : found.end() + 60].split())}"


_TO_THE_WRITER = re.compile(
    r"\b(?:write|add|put|insert|include|copy|append|paste|place|set|change|update|rewrite|replace|edit)\b[^.!?\n]{0,40}\b(?:personas?|rubrics?|prompts?|instructions?|anchors?|stance|voice|judges? (?:words|text))\b"
    r"|\b(?:personas?|rubrics?|prompts?|anchors?)\b[^.!?\n]{0,30}\b(?:must|should|shall|has to|needs to|now) (?:say|state|read|contain|include|be)\b"
)
"""In a folded text: an order to whoever rewrites a persona or a rubric."""


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def _runs(text: str, length: int) -> Iterator[tuple[str, ...]]:
    words = _words(text)
    yield from (tuple(words[at : at + length]) for at in range(len(words) - length + 1))
