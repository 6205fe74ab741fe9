"""Examples of every prompt that a seat is sent, with the answer that the planted truth makes right."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from right_ballots import RightVotes, aspect_of, excerpt, score_for

from venire import Case, Rubric
from venire.agents.juror import OrchestratorQuestion
from venire.agents.lenses.words import stems
from venire.agents.prompting import Brief, Statement, brief
from venire.evals.training.examples import CapturedPrompt, juror_prompt, orchestrator_prompt
from venire.evals.training.passages import Truth, passages
from venire.evals.training.planting import PlantedText
from venire.personas.jury import Seat
from venire.personas.persona import Persona, load_persona
from venire.rubrics.ballot import Vote, find_quote

PERSONAS: dict[str, Persona] = {
    name: load_persona(name)
    for name in (
        "high-scoring", "low-scoring", "middle-scoring", "plain-judge", "skeptic", "perfectionist", "multitasker",
        "collaborative", "ward-nurse", "clinical-pharmacist", "patient-advocate",
    )
}  # fmt: skip
LEANS = {"low-scoring": 1, "perfectionist": 1, "high-scoring": -1}
"""How many levels a persona goes below (or above) the right score once there is a fault."""
SEATS = {"high": "high-scoring", "low": "low-scoring", "middle": "middle-scoring"}
NAMES = ("high", "low", "middle")
WHYS = ("max_rounds", "stall: max_stalls", "max_turns")

UNTAUGHT: Mapping[str, tuple[str, Any]] = {
    "cited": ("No citation stands beside any statement.", 1),
    "useful": ("What it contains bears on the reader's task.", 5),
    "comprehensible": ("Every sentence can be understood at first reading.", 5),
    "synthesized": ("Facts are gathered, and few are related to each other.", 3),
}
"""Attributes of pdsqi-9 for which nothing is planted: every text gets the same answer, and the docs say so."""


@dataclass(frozen=True)
class Example:
    """One call and its right answer."""

    kind: str
    prompt: CapturedPrompt
    answer: dict[str, Any]
    at: Situation | None = None

    def row(self) -> dict[str, Any]:
        system, user = (message.content for message in self.prompt.messages)
        self.prompt.shape.model_validate(self.answer)
        return {
            "kind": self.kind,
            "system": system,
            "user": user,
            "answer": json.dumps(self.answer, ensure_ascii=False),
            "marks": self.at.marks(user) if self.at else [],
        }


@dataclass(frozen=True)
class Situation:
    """A planted text under a rubric, ready to be asked about."""

    right: RightVotes
    brief: Brief
    all_known: bool = True
    """Whether what has no fault of accuracy marked in it is surely right."""

    @classmethod
    def of(
        cls, case: Case, planted: PlantedText, truth: Truth, rubric: Rubric, *, all_known: bool = True
    ) -> Situation:
        shown = case.model_copy(update={"output": planted.output})
        put = brief(shown, rubric)
        return cls(RightVotes(case.output, planted, truth, rubric, put.exhibits), put, all_known)

    def marks(self, user: str) -> list[tuple[int, int, int]]:
        """Places of the judged text in the message: from where to where a sentence is known to be wrong (1) or nothing is (0)."""
        text = self.right.planted.output
        start = user.find(text, max(0, user.find('[[exhibit "output" begins')))
        if start < 0:
            return []
        marks = [(start, start + len(text), 0)] if self.all_known else []
        sentences = passages(text)
        for fault in self.right.planted.faults:
            if fault.attribute == "accurate":
                ends = [p.end for p in sentences if p.start <= fault.start < p.end]
                marks.append((start + fault.start, start + max(fault.end, *ends, fault.end), 1))
        return marks

    def vote(self, attribute: str, rng: random.Random, persona: str | None, *, sees: bool = True) -> Vote:
        vote = self.right.vote(attribute, lean=LEANS.get(persona or "", 0), sees=sees)
        if vote is None:
            reason, value = UNTAUGHT[attribute]
            return Vote(attribute=attribute, value=value, rationale=reason)
        return vote

    def false_alarm(self, attribute: str, rng: random.Random) -> Vote:
        """The vote of a juror who finds fault with a statement that the source bears out."""
        right = self.right
        doubted = rng.choice([p.text for p in passages(right.planted.output)] or [right.planted.output])
        quote = excerpt(doubted, stems(doubted))
        aspect = aspect_of(right.rubric.by_name[attribute])
        doubt = {
            "accurate": f"Wrong: '{quote}' is not what the source says.",
            "thorough": "Missing: more should be said.",
        }
        return Vote(
            attribute=attribute,
            value=score_for(right.rubric, attribute, rng.choice((1, 2, 3))),
            rationale=doubt.get(aspect or "", f"'{quote}' could be better."),
            evidence=(find_quote(quote, right.exhibits),),
        )

    @property
    def faulty(self) -> set[str]:
        return {
            name
            for name in self.right.rubric.names
            if (vote := self.right.vote(name)) and vote.value != score_for(self.right.rubric, name, 0)
        }


def ballot(at: Situation, asked: Sequence[str], persona: str | None, rng: random.Random) -> Example:
    """A first ballot."""
    votes = [at.vote(name, rng, persona) for name in asked]
    confidence = rng.random() < 0.03
    prompt = juror_prompt(
        "seat",
        PERSONAS[persona] if persona else None,
        lambda juror: juror.cast(at.brief, asked, confidence=confidence),
    )
    answer = {v.attribute: filled(v, confidence="high" if confidence else None) for v in votes}
    return Example("ballot", prompt, answer, at)


def revision(at: Situation, attribute: str, rng: random.Random) -> Example:
    """A juror who has read the others: it moves where they show what it missed, and keeps what is right."""
    name = rng.choice(NAMES)
    saw_it = rng.random() < 0.5
    own = at.vote(attribute, rng, SEATS[name], sees=saw_it)
    others = {
        other: at.vote(attribute, rng, SEATS[other], sees=not saw_it or rng.random() < 0.5)
        for other in NAMES
        if other != name
    }
    faulty = attribute in at.faulty
    if not faulty and rng.random() < 0.5:
        # Somebody raises an alarm over a statement that the source bears out.
        alarmed = rng.choice((name, *others))
        alarm = at.false_alarm(attribute, rng)
        if alarmed == name:
            own = alarm
        else:
            others[alarmed] = alarm
    right = at.vote(attribute, rng, None if saw_it and faulty else SEATS[name])
    if faulty and saw_it:
        # A severe or generous reader comes to the level that the middle one shows, else holds to its own.
        target = right if others.get("middle", own).value == right.value and name != "middle" else own
    else:
        target = right
    moved = target.value != own.value
    mover = next((o for o in others if others[o].value == target.value), next(iter(others)))
    moved_by = f"{mover}: {target.rationale}"[:158] if moved else ""
    question = f"{_difference({name: own, **others})} {_question(at, attribute, target, faulty)}"
    prompt = juror_prompt(
        name,
        PERSONAS[SEATS[name]],
        lambda juror: juror.revise(
            at.brief, [attribute], round=2, own={attribute: own}, heard=[Statement("e", o, v) for o, v in others.items()],
            questions=[OrchestratorQuestion(attribute, question)],
        ),
    )  # fmt: skip
    return Example(
        "revision",
        prompt,
        {
            attribute: filled(
                target if moved else target.model_copy(update={"value": own.value}), moved_by=moved_by
            )
        },
        at,
    )


def challenge(at: Situation, attribute: str, rng: random.Random) -> Example:
    """A second look at a score that everyone gave at once."""
    name = rng.choice(NAMES)
    agreed = at.vote(attribute, rng, SEATS[name], sees=False)
    target = at.vote(attribute, rng, SEATS[name])
    moved = target.value != agreed.value
    prompt = juror_prompt(
        name,
        PERSONAS[SEATS[name]],
        lambda juror: juror.challenge(at.brief, [attribute], round=2, own={attribute: agreed}, saw=()),
    )
    return Example(
        "challenge", prompt, {attribute: filled(target, moved_by=target.rationale[:158] if moved else "")}, at
    )


def ledger(at: Situation, attributes: Sequence[str], rng: random.Random) -> Example:
    """What is disputed, and a question that the exhibits can answer."""
    votes = {a: _split_votes(at, a, rng) for a in attributes}
    answer = {}
    for a in attributes:
        right = at.vote(a, rng, None)
        wrong = [name for name, vote in votes[a].items() if vote.value != right.value] or list(NAMES)
        over = f" They differ over '{right.evidence[0].text}'." if right.evidence else ""
        answer[a] = {
            "dispute": _difference(votes[a]) + over,
            "question": _question(at, a, right, a in at.faulty),
            "to": wrong,
        }
    heard = [Statement("e", name, vote) for a in attributes for name, vote in votes[a].items()]
    prompt = orchestrator_prompt(
        _seats(),
        lambda mind: mind.name_disputes(at.brief, attributes, heard, round=1, replan=rng.random() < 0.15),
    )
    return Example("ledger", prompt, answer, at)


def decision(at: Situation, attributes: Sequence[str], rng: random.Random) -> Example:
    """The orchestrator's own score for what the jury left open."""
    votes = {a: _split_votes(at, a, rng) for a in attributes}
    answer = {}
    for a in attributes:
        right = at.vote(a, rng, None)
        near = sorted(votes[a], key=lambda name: abs(float(votes[a][name].value) - float(right.value)))
        answer[a] = {
            "weighed": list(votes[a]),
            "rationale": f"{near[0]} is right. {right.rationale}"[:158],
            "score": right.value,
        }
    heard = [Statement("e", name, vote) for a in attributes for name, vote in votes[a].items()]
    prompt = orchestrator_prompt(
        _seats(), lambda mind: mind.decide(at.brief, attributes, heard, round=2, why=rng.choice(WHYS))
    )
    return Example("decision", prompt, answer, at)


def _split_votes(at: Situation, attribute: str, rng: random.Random) -> dict[str, Vote]:
    votes = {name: at.vote(attribute, rng, SEATS[name], sees=rng.random() < 0.6) for name in NAMES}
    if attribute not in at.faulty:
        votes[rng.choice(NAMES)] = at.false_alarm(attribute, rng)
    elif len({vote.value for vote in votes.values()}) == 1:
        votes["high"] = at.vote(attribute, rng, None, sees=False)
    return votes


def _difference(votes: Mapping[str, Vote]) -> str:
    return ", ".join(f"{name} gives {vote.value}" for name, vote in votes.items()) + "."


def _question(at: Situation, attribute: str, right: Vote, faulty: bool) -> str:
    quote = right.evidence[0].text if right.evidence else ""
    if not quote:
        return "Which words of the output bear the score out?"
    return f"What do the exhibits say about '{quote}'?"


def filled(vote: Vote, *, moved_by: str | None = None, confidence: str | None = None) -> dict[str, Any]:
    """The vote as it stands in an answer."""
    answer: dict[str, Any] = {
        "rationale": vote.rationale[:160],
        "evidence": [quote.text for quote in vote.evidence],
    }
    if moved_by is not None:
        answer["moved_by"] = moved_by
    if confidence is not None:
        answer["confidence"] = confidence
    return {**answer, "score": vote.value}


def _seats() -> tuple[Seat, ...]:
    return tuple(Seat(name=name, persona=PERSONAS[persona]) for name, persona in SEATS.items())
