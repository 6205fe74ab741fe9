"""Notes that small summarisers wrote of dialogues they had not seen (`summarise.py`), and what is surely right or wrong in them.

A machine errs otherwise than a planted fault: an age that nobody gave, a finding too many in a list, the other sex, "denies" before what the patient has.
The clinician's note and the dialogue tell by their words: a number or a word that usually stands in a dialogue and stands in neither is
invented; a clause that the clinician's note bears out is right. Where they do not tell surely, the note is left aside.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from venire import Case
from venire.agents.lenses.claims import KINSHIP, check_claim, clauses
from venire.agents.lenses.words import stems
from venire.evals.training.passages import numbers_in, passages
from venire.evals.training.planting import Fault, PlantedText

SOURCED = 0.6
"""A word counts as one that dialogues give where they do so for this share of the clinicians' notes that use it."""
INVENTED = 1 / 3
"""Share of a sentence's words that must stand nowhere before the sentence is invented."""
WHOLE, LITTLE = 0.8, 0.5
"""Shares of the clinician's clauses that a note has when nothing is missing, and when something surely is."""

_SEXES = {
    "she": re.compile(r"\b(?:she|her|hers|female|woman|lady|girl|miss|ma'?am|mrs)\b", re.IGNORECASE),
    "he": re.compile(r"\b(?:he|his|him|male|man|gentleman|boy|sir|mister|mr)\b", re.IGNORECASE),
}
_OPENING_SEX = re.compile(
    r"^(?:(?P<she>She|Her)|(?P<he>He|His))\b|\b(?:(?P<female>female|woman)|(?P<male>male|man|gentleman))\b"
)
_RELATIVE = re.compile(
    r"\b(?:mother|father|brother|sister|son|daughter|wife|husband|aunt|uncle|parents?|grand\w+|mom|dad|cousin|siblings?|family)\b",
    re.IGNORECASE,
)
_SHORTEST, _FEWEST_STRANGE, _FEWEST_CLAUSES, _MOST_REPEATS = 3, 2, 3, 2
"""Letters of a word that can tell; such words of an invented sentence; clauses of a note by which coverage can be told; times that a sentence may come."""


class MachineNote(NamedTuple):
    """A machine's note with what is wrong in it, where that is sure."""

    case: Case
    """The dialogue, and the clinician's note as the clean text."""
    planted: PlantedText
    accuracy_known: bool
    coverage_known: bool


class NoteReader:
    """Tells what is wrong in machines' notes, by what clinicians' notes usually take from their dialogues."""

    def __init__(self, cases: Sequence[Case]) -> None:
        used, sourced = Counter[str](), Counter[str]()
        for case in cases:
            said = _roots("\n".join(case.source))
            for root in _roots(case.output):
                used[root] += 1
                sourced[root] += root in said
        self._unsourced = {root for root, count in used.items() if sourced[root] < SOURCED * count}

    def read(self, case: Case, text: str, *, cut: bool) -> MachineNote | None:
        """The note with its sure faults; None where nothing is sure. A `cut` note ends in mid-sentence."""
        said = "\n".join(case.source)
        known, numbers = _roots(said) | _roots(case.output), numbers_in(said) | numbers_in(case.output)
        sentences = passages(text)
        faults: list[Fault] = []
        doubtful = False
        for place, sentence in enumerate(sentences):
            unfinished = cut and place == len(sentences) - 1
            fault = _wrong_sex(sentence.text, said, sentence.start) or self._invention(
                sentence.text, sentence.start, known, numbers, unfinished
            )
            fault = fault or _turned(sentence.text, sentence.start, case.output)
            if fault:
                faults.append(fault)
            elif not self._borne_out(sentence.text, case.output, known, unfinished):
                doubtful = True
        share = len(faults) / max(1, len(sentences))
        points = 4 if share > 0.6 else 3 if share > INVENTED else 2
        faults = [
            fault.model_copy(update={"points": points if not i else 0}) for i, fault in enumerate(faults)
        ]
        missing, coverage_known = _missing(case.output, text)
        accuracy_known = bool(sentences) and (bool(faults) or not doubtful)
        if not accuracy_known and not coverage_known:
            return None
        planted = PlantedText(output=text, faults=(*(faults if accuracy_known else ()), *missing))
        return MachineNote(case, planted, accuracy_known, coverage_known)

    def _invention(
        self, sentence: str, start: int, known: frozenset[str], numbers: frozenset[str], unfinished: bool
    ) -> Fault | None:
        roots = _roots(sentence)
        for number in re.finditer(r"\d+(?:\.\d+)?", sentence):
            if not numbers_in(number.group()) <= numbers and not (
                unfinished and number.end() >= len(sentence)
            ):
                return _fault("number", start + number.start(), number.group())
        strange = {
            root
            for root in roots - known - self._unsourced
            if not root[0].isdigit() and len(root) >= _SHORTEST
        }
        if unfinished and (last := stems(sentence)[-1:]):
            strange -= {last[0][:KINSHIP]}
        if len(strange) >= max(_FEWEST_STRANGE, INVENTED * len(roots)):
            return _fault("fabrication", start, sentence)
        return None

    def _borne_out(self, sentence: str, note: str, known: frozenset[str], unfinished: bool) -> bool:
        parts = [sentence[a:b] for a, b in clauses(sentence)]
        if unfinished:
            parts = parts[:-1]
        return all(
            _roots(part) <= known | self._unsourced and check_claim(part, note).verdict == "supported"
            for part in parts
        )


def machine_notes(path: Path, cases: Sequence[Case], reader: NoteReader | None = None) -> list[MachineNote]:
    """What can be told of the notes in a file of `summarise.py` about the dialogues of `cases`, by the habits of those unless a `reader` knows others."""
    by_id = {case.id: case for case in cases}
    reader, found, seen = reader or NoteReader(cases), list[MachineNote](), set[tuple[str, str]]()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            case, text = by_id.get(row["case"]), row["text"]
            repeats = Counter(p.text for p in passages(text)).most_common(1)
            if case is None or (case.id, text) in seen or not repeats or repeats[0][1] > _MOST_REPEATS:
                continue
            seen.add((case.id, text))
            if note := reader.read(case, text, cut=not row["ended"]):
                found.append(note)
    return found


def _roots(text: str) -> frozenset[str]:
    return frozenset(root if root[0].isdigit() else root[:KINSHIP] for root in stems(text))


def _fault(kind: str, start: int, after: str, before: str = "") -> Fault:
    return Fault(
        kind=kind,
        attribute="accurate",
        points=0,
        start=start,
        end=start + len(after),
        before=before,
        after=after,
    )


def _wrong_sex(sentence: str, said: str, start: int) -> Fault | None:
    """The other sex than the one by which the dialogue calls the patient throughout."""
    counts = {sex: len(pattern.findall(said)) for sex, pattern in _SEXES.items()}
    right = next((sex for sex in counts if counts[sex] and not counts["he" if sex == "she" else "she"]), None)
    found = _OPENING_SEX.search(sentence)
    if right is None or found is None or _RELATIVE.search(sentence) or _RELATIVE.search(said):
        return None
    written = "she" if found.lastgroup in ("she", "female") else "he"
    if written == right:
        return None
    return _fault("term", start + found.start(), found.group(), before=right)


def _turned(sentence: str, start: int, note: str) -> Fault | None:
    """A finding that the clinician's note has the other way round."""
    for a, b in clauses(sentence):
        check = check_claim(sentence[a:b], note)
        if check.verdict == "not_supported" and check.reason.endswith("is negated."):
            shared, wanted = map(int, re.findall(r"\d+", check.reason)[:2])
            if shared >= 2 and shared >= 0.7 * wanted:
                return _fault("negation", start + a, sentence[a:b])
    return None


def _missing(note: str, text: str) -> tuple[tuple[Fault, ...], bool]:
    """What the clinician's note has and the text has not, and whether it is sure that this is nothing or something."""
    parts = [note[a:b] for a, b in clauses(note)]
    gone = [part for part in parts if check_claim(part, text).verdict != "supported"]
    share = 1 - len(gone) / len(parts) if parts else 1.0
    if share >= WHOLE:
        return (), True
    if share > LITTLE or len(parts) < _FEWEST_CLAUSES:
        return (), False
    points = 4 if share < 0.15 else 3 if share < 0.35 else 2
    fault = Fault(
        kind="omission", attribute="thorough", points=points, start=len(text), end=len(text), before=". ".join(gone), after=""
    )  # fmt: skip
    return (fault,), True
