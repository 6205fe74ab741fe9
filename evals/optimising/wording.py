"""What may be reworded: a persona's voice, a rubric's question or anchors, an orchestrator's stance, as texts by name.

A wording is one text for each target, such as `persona:plain-judge`. Texts go into a jury and a rubric and come out of them
again; which levels a scale has, who sits and what is asked about are not texts, and cannot change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ...orchestration.protocols import protocol
from ...personas.jury import Jury, Seat
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Attribute, Rubric

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
    known = _targets(judge)
    for name in names:
        if name not in known:
            raise VenireError(f"{name!r} is nothing that can be reworded here", remedy=nearest(name, known))
    return {name: known[name] for name in names}


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
    found = voices | questions | anchors
    if protocol(judge.jury.protocol).orchestrator and judge.jury.protocol != "magentic-one":
        found["jury:stance"] = Target(
            "jury:stance",
            "the stance of the orchestrator, who presides over the jury: what to ask of jurors, and how to decide",
            lambda held: held.jury.stance,
            lambda held, text: Judge(held.jury.model_copy(update={"stance": text}), held.rubric),
        )
    return found


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
        given = {value.strip(): words.strip() for value, _, words in lines}
        if list(given) != list(levels) or len(lines) != len(levels) or not all(given.values()):
            raise VenireError(
                f"the anchors of {name!r} need one line for each of the levels {', '.join(levels)}, in this order",
                remedy="write each line as LEVEL: its meaning",
            )
        anchors = {levels[value]: words for value, words in given.items()}
        return judge.with_attribute(judge.rubric.by_name[name].model_copy(update={"anchors": anchors}))

    return Target(
        f"rubric:{name}.anchors",
        f"what each level of {name!r} means, one line a level as LEVEL: meaning, every level kept and in order",
        text,
        put,
    )
