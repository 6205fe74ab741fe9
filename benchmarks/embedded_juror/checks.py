"""Examples of the verification of claims, in the messages that verifiers are sent, with what the planted truth makes right.

Two directions: the claims of a note against its dialogue, and the claims of one text against another of the same case, which says some of
them in other words, leaves some out and gets some wrong.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

from deliberations import PERSONAS, Example
from mixups import mixed_up
from retelling import retold
from talks import Fact
from variation import reworded

from venire import Case
from venire.agents.brief import brief
from venire.agents.claims import Direction, NamedText, verify_claims
from venire.agents.lenses.claims import clauses
from venire.agents.lenses.words import stems
from venire.evals.training.captured_prompts import juror_prompt
from venire.evals.training.passages import Truth, numbers_in, passages
from venire.evals.training.planting import Fault, PlantedText, plant
from venire.evals.training.right_ballots import excerpt
from venire.rubrics.claim import CLAIM_VERDICTS, Claim, ClaimVerdict
from venire.rubrics.rubric import load_rubric

SUPPORTED, NOT_SUPPORTED, NOT_ADDRESSED = CLAIM_VERDICTS
RUBRIC = load_rubric("claims")
MOST_CLAIMS = 6
"""In one call."""
_SAID_ELSEWHERE, _SAID, _UNSAID = 0.5, 0.8, 0.2
_MIXUPS = 0.35
_BORNE_OUT = 0.3


@dataclass(frozen=True)
class Known:
    """A statement of the text under check, what the other text says of it, and the words there that decide it."""

    start: int
    end: int
    verdict: ClaimVerdict
    quote: str


@dataclass(frozen=True)
class Pair:
    """Two texts of a case by their names, and what the second says of the statements of the first."""

    case: Case
    of: str
    against: str
    known: tuple[Known, ...]


def verification(pair: Pair, rng: random.Random) -> Example | None:
    """One call that asks about some of the statements; None where nothing is known of any."""
    put = brief(pair.case, RUBRIC)
    direction = Direction(put, NamedText.of(put, pair.of), NamedText.of(put, pair.against))
    text = direction.of.text
    count = 1 if rng.random() < 0.5 else rng.randint(2, MOST_CLAIMS)
    chosen = _mixed(pair.known, min(count, len(pair.known)), rng)
    if not chosen:
        return None
    first = rng.randint(1, max(1, 14 - len(chosen)))
    letter = "c" if pair.of == "output" else pair.of[0]
    claims, checks = [], []
    for number, known in enumerate(chosen, first):
        words = text[known.start : known.end]
        claim = Claim(id=f"{letter}{number}", of=pair.of, text=words, quote=words, start=known.start, end=known.end)  # fmt: skip
        claims.append(claim)
        checks.append({"claim": claim.id, "reason": _reason(known), "evidence": known.quote, "verdict": known.verdict})  # fmt: skip
    persona = rng.choice((None, None, *PERSONAS.values()))
    prompt = juror_prompt(
        rng.choice(("seat", "first", "second", "local")),
        persona,
        lambda juror: verify_claims(juror, direction, claims, require_evidence=False),
    )
    return Example("verification", prompt, {"checks": checks})


def _mixed(known: tuple[Known, ...], count: int, rng: random.Random) -> list[Known]:
    """Some of them in the text's order, the rarer verdicts as likely as the commonest."""
    by: dict[str, list[Known]] = {}
    for each in known:
        by.setdefault(each.verdict, []).append(each)
    for group in by.values():
        rng.shuffle(group)
    chosen: list[Known] = []
    while len(chosen) < count:
        verdict = rng.choice(sorted(by))
        chosen.append(by[verdict].pop())
        if not by[verdict]:
            del by[verdict]
    return sorted(chosen, key=lambda each: each.start)


def _reason(known: Known) -> str:
    if known.verdict == NOT_ADDRESSED:
        return "Nothing is said of it."
    said = f"'{known.quote}'" if known.quote else "The text"
    return f"{said} says so." if known.verdict == SUPPORTED else f"{said} says otherwise."


def against_source(case: Case, truth: Truth, foreign: list[str], rng: random.Random) -> Pair:
    """The statements of a note with faults in it, against its source."""
    planted = PlantedText(output=case.output)
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
        planted = _changed(planted, truth, foreign, rng) or planted
    shown = case.model_copy(update={"output": planted.output})
    return Pair(shown, "output", "source", tuple(_known_of(planted, truth, rng)))


def _changed(
    planted: PlantedText, truth: Truth, foreign: list[str], rng: random.Random
) -> PlantedText | None:
    """`planted` with one more fault of accuracy in a place of its own; None where none is found."""
    if rng.random() < _MIXUPS:
        return mixed_up(planted, truth, rng)
    kind = rng.choice(("number", "negation", "term", "fabrication"))
    more = plant(planted.output, truth, [kind], rng, foreign=foreign)
    if more is None or any(_touch(fault, old) for fault in more.faults for old in planted.faults):
        return None
    (new,) = more.faults
    shift = len(new.after) - len(new.before)
    moved = [
        f.model_copy(update={"start": f.start + shift, "end": f.end + shift}) if f.start >= new.start else f
        for f in planted.faults
    ]
    return PlantedText(output=more.output, faults=(*moved, new))


def _touch(one: Fault, other: Fault) -> bool:
    return one.start <= other.end and other.start <= one.end


def _known_of(planted: PlantedText, truth: Truth, rng: random.Random) -> list[Known]:
    text = planted.output
    sentences = passages(text)
    units = clauses(text) if rng.random() < 0.7 else [(p.start, p.end) for p in sentences]
    found = []
    for start, end in units:
        if not stems(text[start:end]):
            continue
        faults = [f for f in planted.faults if f.start < end and start < f.end]
        within = next((p for p in sentences if p.start <= start < p.end), None)
        beside = [
            f
            for f in planted.faults
            if f.kind != "fabrication" and within and f.start < within.end and within.start < f.end
        ]
        if faults and faults[0].kind == "fabrication":
            # The inserted sentence begins with the space before it; what else is in the unit is another statement.
            if len(faults) == 1 and start >= faults[0].start and end <= faults[0].end + 1:
                found.append(Known(start, end, NOT_ADDRESSED, ""))
        elif faults:
            fault = faults[0]
            near = text[start : fault.start] + fault.before + text[fault.end : end]
            quote = _quote(truth, near, fault.before)
            if quote:
                found.append(Known(start, end, NOT_SUPPORTED, quote))
        elif not beside:
            words = text[start:end]
            if truth.support(words) >= _BORNE_OUT or rng.random() < 0.4:
                context = text[within.start : within.end] if within else words
                quote = _quote(truth, words, words) or _quote(truth, context, words)
                found.append(Known(start, end, SUPPORTED, quote))
    return found


def _quote(truth: Truth, words: str, above_all: str) -> str:
    passage = truth.nearest_passage(words, above_all=above_all)
    wanted = [*stems(words), *numbers_in(words), *3 * [*stems(above_all), *numbers_in(above_all)]]
    return excerpt(passage, wanted) if passage else ""


def two_texts(case: Case, foreign: list[str], rng: random.Random) -> Pair | None:
    """The statements of a note and another text of its kind: some said in other words, some left out, some wrong."""
    whole = [p.text for p in passages(case.output) if stems(p.text)]
    if not whole:
        return None
    truth = Truth((case.output,))
    keep = rng.choice((0.3, 0.5, 0.7, 0.9))
    other: list[tuple[int, str]] = []
    wrong: dict[int, tuple[str, str]] = {}
    for number, sentence in enumerate(whole):
        if rng.random() > keep:
            continue
        told = sentence
        changed = _changed(PlantedText(output=sentence), truth, [], rng) if rng.random() < 0.5 else None
        if changed and changed.faults[0].kind != "fabrication":
            told = changed.output
            wrong[number] = (changed.faults[0].before, changed.faults[0].after)
        other.append((number, told if number in wrong else reworded(told, rng)))
    if rng.random() < 0.25:
        rng.shuffle(other)
    extra = [s for s in rng.sample(foreign, min(6, len(foreign))) if 4 <= len(s.split()) <= 30 and truth.support(s) < 0.3]  # fmt: skip
    if extra and (rng.random() < 0.3 or not other):
        other.insert(rng.randint(0, len(other)), (-1, extra[0]))
    if not other:
        return None
    parts = [text if text[-1] in ".!?;:" else f"{text}." for _, text in other]
    second = " ".join(parts)
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + len(part) + 1)
    places = {number: (a, b - 1) for (number, _), (a, b) in zip(other, pairwise(ends), strict=True)}
    shown = case.model_copy(update={"reference": case.output, "output": second, "source": ()})
    if rng.random() < 0.65:
        return Pair(shown, "reference", "output", tuple(_told(case.output, second, places, wrong)))
    return Pair(shown, "output", "reference", tuple(_found_in(case.output, second, places, wrong, whole)))


def _told(
    first: str, second: str, places: dict[int, tuple[int, int]], wrong: dict[int, tuple[str, str]]
) -> list[Known]:
    """What the second text says of the statements of the first."""
    there = Truth((second,))
    units = clauses(first)
    found, number = [], -1
    for sentence in passages(first):
        if not stems(sentence.text):
            continue
        number += 1
        mine = [(a, b) for a, b in units if sentence.start <= a and b <= sentence.end + 1] or [
            (sentence.start, sentence.end)
        ]
        for start, end in mine:
            words = first[start:end]
            if not stems(words):
                continue
            if number not in places:
                if there.support(words) < _SAID_ELSEWHERE:
                    found.append(Known(start, end, NOT_ADDRESSED, ""))
                continue
            told = second[places[number][0] : places[number][1]]
            quote = excerpt(told, [*stems(words), *numbers_in(words)])
            if number not in wrong:
                found.append(Known(start, end, SUPPORTED, quote))
            elif wrong[number][0].strip() in words:
                after = wrong[number][1]
                at = told.find(after)
                around = (at, at + len(after)) if after and at >= 0 else None
                found.append(Known(start, end, NOT_SUPPORTED, excerpt(told, [*stems(words)], around=around)))
    return found


def _found_in(
    first: str,
    second: str,
    places: dict[int, tuple[int, int]],
    wrong: dict[int, tuple[str, str]],
    whole: list[str],
) -> list[Known]:
    """What the first text says of the statements of the second."""
    units = clauses(second)
    found = []
    for number, (a, b) in places.items():
        for start, end in [(s, e) for s, e in units if a <= s and e <= b + 1] or [(a, b)]:
            words = second[start:end]
            if not stems(words):
                continue
            if number < 0:
                found.append(Known(start, end, NOT_ADDRESSED, ""))
                continue
            quote = excerpt(whole[number], [*stems(words), *numbers_in(words)])
            if number not in wrong:
                found.append(Known(start, end, SUPPORTED, quote))
            elif wrong[number][1].strip() in words:
                before = wrong[number][0]
                at = whole[number].find(before)
                around = (at, at + len(before)) if before and at >= 0 else None
                found.append(
                    Known(start, end, NOT_SUPPORTED, excerpt(whole[number], [*stems(words)], around=around))
                )
    return found


def told_by_the_patient(case: Case, truth: Truth, rng: random.Random) -> Pair | None:
    """The statements of a note against what its patient said, told in the third person: those that share nearly all of their words with it, or hardly any."""
    text = retold(case, truth, rng)
    if text is None:
        return None
    there, known = Truth((text.output,)), []
    for start, end in clauses(case.output):
        words = case.output[start:end]
        share, passage = there.support(words), there.nearest_passage(words)
        if share < _UNSAID:
            known.append(Known(start, end, NOT_ADDRESSED, ""))
        elif passage and Truth((passage,)).support(words) >= _SAID:
            known.append(Known(start, end, SUPPORTED, excerpt(passage, [*stems(words), *numbers_in(words)])))
    shown = case.model_copy(update={"reference": case.output, "output": text.output, "source": ()})
    return Pair(shown, "reference", "output", tuple(known))


def facts_in_other_words(facts: list[Fact], rng: random.Random) -> Pair | None:
    """Invented facts in two wordings: what one note says against another, which has only some of them."""
    kept = [fact for fact in facts if rng.random() < 0.7]
    parts = [fact.rewritten for fact in kept]
    if not parts:
        return None
    second, first = " ".join(parts), " ".join(fact.written for fact in facts)
    known, at = [], 0
    wrongly = {}
    for fact in kept:
        if fact.slips and rng.random() < 0.3:
            slip = rng.choice(fact.slips)
            low = fact.rewritten.lower()
            if low.count(slip.right.lower()) == 1 and slip.wrong.lower() not in second.lower():
                start = low.index(slip.right.lower())
                told = fact.rewritten[:start] + slip.wrong + fact.rewritten[start + len(slip.right) :]
                wrongly[fact.written] = told[:1].upper() + told[1:]
    second = " ".join(wrongly.get(fact.written, fact.rewritten) for fact in kept)
    there = Truth((second,))
    for fact in facts:
        span = (at, at + len(fact.written))
        at = span[1] + 1
        if fact in kept:
            told = wrongly.get(fact.written, fact.rewritten)
            verdict = NOT_SUPPORTED if fact.written in wrongly else SUPPORTED
            known.append(Known(*span, verdict, excerpt(told, [*stems(fact.written)])))
        elif there.support(fact.written) < _SAID_ELSEWHERE:
            known.append(Known(*span, NOT_ADDRESSED, ""))
    case = Case(id="talk", output=second, reference=first)
    return Pair(case, "reference", "output", tuple(known))
