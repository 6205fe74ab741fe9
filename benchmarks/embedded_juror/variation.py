"""Other cases made of a clean one, so that no note can be known by heart: what is changed is changed in note and source alike.

Numbers, terms of a kind and the patient's sex change on both sides; the note's turns of phrase and the speakers' labels
change on their own, since they carry no fact.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from talks import spelt

from venire import Case
from venire.evals.training.faults import TERM, other_number, terms_like
from venire.evals.training.passages import numbers_in

_FIGURE = re.compile(
    r"(?<![\w.,/-])\d{1,2}(?![\w/.,]|-\d)|(?<![\w.,/-])\d{1,2}(?=-(?:year|month|week|day)s?\b)|(?<![\w.,/-])\d{1,2}(?=[.,](?!\d))"
)

_SEXES = {
    "he": "she", "his": "her", "him": "her", "himself": "herself", "man": "woman", "male": "female", "gentleman": "lady", "boy": "girl",
    "mr": "ms", "sir": "ma'am", "men": "women", "males": "females",
}  # fmt: skip
_OTHER_SEX = {
    **_SEXES,
    **{other: one for one, other in _SEXES.items()},
    "mrs": "mr",
    "miss": "mr",
    "her": "his",
}
_SEXED = re.compile(r"\b(?:" + "|".join(sorted(_OTHER_SEX, key=len, reverse=True)) + r")\b", re.IGNORECASE)
_OBJECT = re.compile(
    r"\s*(?:[.,;:?!]|$|(?:to|for|with|and|in|on|at|from|as|that|when|if|about|by|a|an|the)\b)"
)
_OF_ONE_SEX = re.compile(
    r"pregnan|prostat|uter|hyster|ovar|menstr|menopaus|gravida|para\b|vagin|testic|scrot|penis|erectile|breast|mammogram|pap\b|"
    r"\bperiods?\b|contracept|cervi|vasectom|obstet|gyn|deliver|husband|wife|labor\b|fetal|birth",
    re.IGNORECASE,
)

REWORDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\b(?:The|This) patient is an? (?=\d)", ("This is a ", "The patient is a ", "Patient is a ", "We saw a ")),
    (r"\bThe patient\b", ("This patient", "Patient", "The patient")),
    (r"\b(\d+)-year-old\b", (r"\1 year old", r"\1-year-old", r"\1 y.o.")),
    (r"\bdenies (?=any )", ("does not report ", "denies having ", "denies ")),
    (r"\bdenies (?!any|having)(?=[a-z])", ("reports no ", "denies any ", "has no ", "denies ")),
    (r"\bcomplains of\b", ("reports", "presents with", "describes", "complains of")),
    (r"\breports (?!that|no|to)", ("describes ", "mentions ", "reports ")),
    (r"\bstates that\b", ("says that", "reports that", "tells us that", "states that")),
    (r"\bstated that\b", ("said that", "reported that", "stated that")),
    (r"\bpresents (?=with|for)", ("comes in ", "was seen ", "presents ")),
    (r"\bapproximately\b", ("about", "roughly", "around", "some")),
    (r"\babout (?=\d)", ("approximately ", "around ", "about ")),
    (r"\bprior to\b", ("before", "prior to")),
    (r"\bsecondary to\b", ("due to", "because of", "from")),
    (r"\bdue to\b", ("because of", "secondary to", "due to")),
    (r"\bcurrently\b", ("at present", "now", "currently")),
    (r"\bphysician\b", ("doctor", "physician")),
    (r"\bmedications\b", ("medicines", "drugs", "medications")),
    (r"\bhypertension\b", ("high blood pressure", "hypertension")),
    (r"\bhigh blood pressure\b", ("hypertension", "high blood pressure")),
    (r"\bdiabetes mellitus\b", ("diabetes", "diabetes mellitus")),
    (r"\bmyocardial infarction\b", ("heart attack", "MI", "myocardial infarction")),
    (r"\bheart attack\b", ("myocardial infarction", "heart attack")),
    (r"\bshortness of breath\b", ("dyspnea", "breathlessness", "shortness of breath")),
    (r"\bfollowup\b", ("follow-up", "followup", "follow up")),
    (r"\bfollow-up\b", ("followup", "follow-up")),
    (r"\bhistory of\b", ("past history of", "history of")),
    (r"\bis status post\b", ("has had", "is status post")),
    (r"\bunremarkable\b", ("normal", "without findings", "unremarkable")),
    (r"\bsurgeries\b", ("operations", "surgeries")),
    (r"\bchildren\b", ("kids", "children")),
    (r"\bhas been\b", ("has been", "had been")),
    (r"\bsignificant for\b", ("notable for", "positive for", "significant for")),
    (r"\bNoncontributory\.", ("Not contributory.", "Non-contributory.", "Noncontributory.")),
    (r"\bNone\.", ("None reported.", "Nil.", "None known.", "None.")),
    (r"\bNo known drug allergies\.", ("NKDA.", "No drug allergies.", "No known allergies to drugs.")),
    (r"\bShe (?=is|has|was|had|does|did)", ("The patient ", "She ")),
    (r"\bHe (?=is|has|was|had|does|did)", ("The patient ", "He ")),
    (r"\bHowever, ", ("But ", "However, ", "")),
    (r"\bAlso, ", ("In addition, ", "Also, ", "")),
    (r"\bDr\. ", ("Doctor ", "Dr. ")),
    (r"\bpast medical history\b", ("medical history", "PMH", "past medical history")),
    (r"\bone\b(?= (?:day|week|month|year))", ("1", "one")),
    (r"\btwo\b(?= (?:day|week|month|year|time))", ("2", "two")),
    (r"\bthree\b(?= (?:day|week|month|year|time))", ("3", "three")),
    (r"\bfour\b(?= (?:day|week|month|year|time))", ("4", "four")),
    (r"\b2(?= (?:day|week|month|year|time))", ("two", "2")),
    (r"\b3(?= (?:day|week|month|year|time))", ("three", "3")),
    (r"\b4(?= (?:day|week|month|year|time))", ("four", "4")),
)  # fmt: skip
"""Turns of phrase that say the same; the commonest of clinicians' notes."""
_REWORDINGS = tuple((re.compile(pattern), others) for pattern, others in REWORDINGS)
_LABELS = (("Doctor:", "Patient:"), ("Clinician:", "Patient:"), ("Dr:", "Pt:"), ("D:", "P:"), ("Physician:", "Patient:"), ("Doctor -", "Patient -"))  # fmt: skip


def varied(case: Case, rng: random.Random) -> Case:
    """A case as true as `case`, with other particulars in note and source and other turns of phrase in the note."""
    note, source = case.output, "\n".join(case.source)
    if rng.random() < 0.5:
        note, source = _other_sex(note, source)
    for change in (_other_numbers, _other_terms):
        if rng.random() < 0.75:
            note, source = change(note, source, rng)
    if rng.random() < 0.8:
        note = reworded(note, rng)
    if rng.random() < 0.3:
        labels = rng.choice(_LABELS)
        source = source.replace("Doctor:", labels[0]).replace("Patient:", labels[1])
    return case.model_copy(update={"output": note, "source": (source,)})


def _other_numbers(note: str, source: str, rng: random.Random) -> tuple[str, str]:
    for figure in sorted({m.group() for m in _FIGURE.finditer(note)}):
        number = int(figure)
        words_for_it = spelt(number)
        known = re.compile(
            rf"(?<![\w.,/-])(?:{figure}|{words_for_it.replace(' ', '[ -]')})(?![\w/]|[.,]\d)", re.IGNORECASE
        )
        if number < 2 or not known.search(source) or rng.random() < 0.3:
            continue
        taken = numbers_in(note) | numbers_in(source)
        other = other_number(figure, taken, rng)
        if other is None or not 1 < int(other) < 100:
            continue
        words = spelt(int(other))
        source = known.sub(_replacing(other, words), source)
        note = re.sub(rf"(?<![\w.,/-]){figure}(?!\w|/|[.,]\d|-\d)", other, note)
        note = re.sub(
            rf"\b{words_for_it.replace(' ', '[ -]')}\b", _replacing(other, words), note, flags=re.IGNORECASE
        )
    return note, source


def _other_terms(note: str, source: str, rng: random.Random) -> tuple[str, str]:
    terms = sorted({m.group().lower() for m in TERM.finditer(note)})
    rng.shuffle(terms)
    for term in terms[:3]:
        whole = re.compile(rf"\b{re.escape(term)}\b", re.IGNORECASE)
        others = [
            o
            for o in terms_like(term)
            if not re.search(rf"\b{re.escape(o)}", f"{note} {source}", re.IGNORECASE)
        ]
        if term in _OTHER_SEX or not whole.search(source) or not others:
            continue
        other = rng.choice(others)
        note, source = (whole.sub(_replacing(other, other), text) for text in (note, source))
    return note, source


def _other_sex(note: str, source: str) -> tuple[str, str]:
    if _OF_ONE_SEX.search(note + source):
        return note, source

    def turned(match: re.Match[str]) -> str:
        word = match.group().lower()
        other = _OTHER_SEX[word]
        if word == "her" and _OBJECT.match(match.string, match.end()):
            other = "him"
        return _like(match.group(), other)

    return _SEXED.sub(turned, note), _SEXED.sub(turned, source)


def reworded(note: str, rng: random.Random) -> str:
    """The note in other turns of phrase."""
    chance = rng.choice((0.3, 0.6, 0.9))
    for pattern, others in _REWORDINGS:
        note = pattern.sub(_chooser(others, chance, rng), note)
    return note[:1].upper() + note[1:]


def _chooser(others: tuple[str, ...], chance: float, rng: random.Random) -> Callable[[re.Match[str]], str]:
    def chosen(match: re.Match[str]) -> str:
        return match.expand(rng.choice(others)) if rng.random() < chance else match.group()

    return chosen


def _replacing(figure: str, words: str) -> Callable[[re.Match[str]], str]:
    return lambda match: figure if match.group().isdigit() else _like(match.group(), words)


def _like(old: str, new: str) -> str:
    """`new` with the capitals of `old`."""
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
