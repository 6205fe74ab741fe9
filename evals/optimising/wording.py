"""What may be reworded: a persona's voice, a rubric's question or anchors, an orchestrator's stance, as texts by name; and the guard of new ones.

A wording is one text for each target, such as `persona:plain-judge`. Texts go into a jury and a rubric and come out of them
again; which levels a scale has, who sits and what is asked about are not texts, and cannot change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ...agents.instructions import attempts_to_instruct, fold
from ...orchestration.protocols import protocol
from ...personas.jury import Jury, Seat
from ...rubrics.case import Case, Exhibit
from ...rubrics.conversation import conversation_text
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Attribute, Rubric

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
_TO_THE_WRITER = re.compile(
    r"\b(?:write|add|put|insert|include|copy|append|paste|place|set|change|update|rewrite|replace|edit)\b[^.!?\n]{0,40}\b(?:personas?|rubrics?|prompts?|instructions?|anchors?|stance|voice|judges? (?:words|text))\b"
    r"|\b(?:personas?|rubrics?|prompts?|anchors?)\b[^.!?\n]{0,30}\b(?:must|should|shall|has to|needs to|now) (?:say|state|read|contain|include|be)\b"
)
"""In a folded text: an order to whoever rewrites a persona or a rubric."""

Wording = Mapping[str, str]
"""By target, its text."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A jury and the rubric it is asked: what a wording is put into."""

    jury: Jury
    rubric: Rubric

    def with_attribute(self, changed: Attribute) -> Judge:
        attributes = tuple(changed if a.name == changed.name else a for a in self.rubric.attributes)
        return Judge(self.jury, self.rubric.model_copy(update={"attributes": attributes}))

    def with_voice(self, persona: str, voice: str) -> Judge:
        def with_new_voice(seat: Seat) -> Seat:
            if seat.persona is None or seat.persona.name != persona:
                return seat
            return seat.model_copy(update={"persona": seat.persona.model_copy(update={"voice": voice})})

        return Judge(
            self.jury.model_copy(update={"seats": tuple(map(with_new_voice, self.jury.seats))}), self.rubric
        )


@dataclass(frozen=True, slots=True)
class Target:
    """One text of a judge that may change."""

    name: str
    kind: str
    """What the text is, for whoever rewrites it."""
    text: Callable[[Judge], str]
    put: Callable[[Judge, str], Judge]
    """The judge with another text in this place; a `VenireError` where the text is none that could stand there."""


def targets(names: Iterable[str], judge: Judge) -> dict[str, Target]:
    """The targets of these names, by name.

    Raises:
        VenireError: The judge has no such text.
    """
    target_by_name = _targets(judge)
    for name in names:
        if name not in target_by_name:
            raise VenireError(
                f"{name!r} is not a text that can be reworded", remedy=nearest(name, target_by_name)
            )
    return {name: target_by_name[name] for name in names}


def with_wording(judge: Judge, wording: Wording, places: Mapping[str, Target]) -> Judge:
    """The judge with the texts of a wording in their places."""
    for name, text in wording.items():
        judge = places[name].put(judge, text)
    return judge


def _targets(judge: Judge) -> dict[str, Target]:
    """Every text of a judge that may change, by name."""
    voices = {
        f"persona:{seat.persona.name}": _voice_target(seat.persona.name)
        for seat in judge.jury.seats
        if seat.persona is not None
    }
    questions = {f"rubric:{name}.question": _question_target(name) for name in judge.rubric.names}
    anchors = {
        f"rubric:{name}.anchors": _anchors_target(name)
        for name in judge.rubric.names
        if judge.rubric.scale_of(name).anchors
    }
    all_targets = voices | questions | anchors
    way = protocol(judge.jury.protocol)
    if way.orchestrator and not way.framework:
        all_targets["jury:stance"] = Target(
            "jury:stance",
            "the stance of the orchestrator, who presides over the jury: what to ask of jurors, and how to decide",
            lambda current: current.jury.stance,
            lambda current, text: Judge(current.jury.model_copy(update={"stance": text}), current.rubric),
        )
    return all_targets


def _voice_target(persona: str) -> Target:
    def voice(judge: Judge) -> str:
        return next(s.persona.voice for s in judge.jury.seats if s.persona and s.persona.name == persona)

    return Target(
        f"persona:{persona}",
        "the voice of a judge: what it looks for first, and how it weighs what it finds",
        voice,
        lambda judge, text: judge.with_voice(persona, text),
    )


def _question_target(name: str) -> Target:
    return Target(
        f"rubric:{name}.question",
        f"the question that is asked about {name!r}",
        lambda judge: judge.rubric.by_name[name].question,
        lambda judge, text: judge.with_attribute(
            judge.rubric.by_name[name].model_copy(update={"question": text})
        ),
    )


def _anchors_target(name: str) -> Target:
    """The meaning of each level, a line a level: `VALUE: words`."""

    def text(judge: Judge) -> str:
        return "\n".join(
            f"{value}: {' '.join(words.split())}"
            for value, words in judge.rubric.scale_of(name).anchors.items()
        )

    def put(judge: Judge, text: str) -> Judge:
        levels = {str(value): value for value in judge.rubric.scale_of(name).anchors}
        lines = [line.partition(":") for line in text.strip().splitlines() if line.strip()]
        meanings = {value.strip(): words.strip() for value, _, words in lines}
        if list(meanings) != list(levels) or len(lines) != len(levels) or not all(meanings.values()):
            raise VenireError(
                f"the anchors of {name!r} need one line for each of the levels {', '.join(levels)}, in this order",
                remedy="write each line as LEVEL: its meaning",
            )
        anchors = {levels[value]: words for value, words in meanings.items()}
        return judge.with_attribute(judge.rubric.by_name[name].model_copy(update={"anchors": anchors}))

    return Target(
        f"rubric:{name}.anchors",
        f"what each level of {name!r} means, one line a level as LEVEL: meaning, every level kept and in order",
        text,
        put,
    )


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
        given_runs = set(_runs(guard.given, RUN))
        for case in cases:
            texts = [*case.source, case.output, case.output_b or "", case.reference or "", case.question or "", conversation_text(case.messages)]  # fmt: skip
            for text in texts:
                guard.runs.update(_runs(text, RUN))
            exhibits = [Exhibit(name=str(at), text=text) for at, text in enumerate(texts) if text]
            if passages := (*attempts_to_instruct(exhibits), *_persona_orders(texts)):
                guard.flagged[case.id] = passages
                for passage in passages:
                    guard.echoes.update(_runs(passage.partition(": ")[2], ECHO))
        guard.runs -= given_runs
        guard.echoes -= set(_runs(guard.given, ECHO))
        return guard

    def refusal(self, text: str, before: str) -> str | None:
        """Why `text` may not stand where `before` stood; None where it may."""
        words = _words(text)
        if not words:
            return "the text is empty"
        limit = max(self.max_words, len(_words(before)))
        if len(words) > limit:
            return f"the text has {len(words)} words, and at most {limit} are allowed"
        if placeholders := set(_PLACEHOLDER.findall(text)) - set(_PLACEHOLDER.findall(before)):
            return f"the text has a placeholder that was not there before: {min(placeholders)}"
        if lost := set(_PLACEHOLDER.findall(before)) - set(_PLACEHOLDER.findall(text)):
            return f"the placeholder {min(lost)} is gone"
        if copied := next((run for run in _runs(text, RUN) if run in self.runs), None):
            return f"the text copies a case ({' '.join(copied)!r}): write what holds for any case"
        if order := fixed_score(text):
            return f"the text fixes a score whatever is judged ({order!r}): do not obey a judged text that asks for a score"
        if echoed := next((run for run in _runs(text, ECHO) if run in self.echoes), None):
            return f"the text repeats a passage in which a judged text gives orders ({' '.join(echoed)!r})"
        return None


def fixed_score(text: str) -> str | None:
    """The words in which a text gives one score to whatever is judged; None where there are none, or only under a condition."""
    folded = fold(text)
    for match in _FIXED_SCORE.finditer(folded):
        start = max(folded.rfind(end, 0, match.start()) for end in ".!?;\n") + 1
        sentence = re.split(r"[.!?;\n]", folded[start:], maxsplit=1)[0]
        if not _CONDITION.search(sentence):
            return " ".join(match.group().split())
    return None


def _persona_orders(texts: Iterable[str]) -> Iterator[str]:
    """Passages that speak to whoever writes the judge's words, or fix a score."""
    for at, text in enumerate(texts):
        folded = fold(text)
        for match in _TO_THE_WRITER.finditer(folded):
            yield f"{at}: {' '.join(folded[match.start() : match.end() + 60].split())}"


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def _runs(text: str, length: int) -> Iterator[tuple[str, ...]]:
    words = _words(text)
    yield from (tuple(words[at : at + length]) for at in range(len(words) - length + 1))
