"""Notes as a summariser writes them: what the patient said, in the third person, some of it, now and then cut off."""

from __future__ import annotations

import random
import re

from venire import Case
from venire.agents.lenses.words import stems
from venire.evals.training.faults import points_for
from venire.evals.training.passages import Truth, passages
from venire.evals.training.planting import Fault, PlantedText

_SAID = re.compile(r"^\s*(?:Patient|Pt|P)\s*[:-]\s*(.+)$", re.MULTILINE)
_FILLERS = re.compile(r"\b(?:um|uh|well|oh|yeah|yes|no|okay|ok|so|like|hi|hello|hey|sure|doctor|you know|i mean|i think|actually|honestly)\b,? *", re.IGNORECASE)  # fmt: skip
_WORDS = {
    "i'm": "{s} is", "i am": "{s} is", "i've": "{s} has", "i have": "{s} has", "i was": "{s} was", "i had": "{s} had", "i'd": "{s} would",
    "i'll": "{s} will", "i don't": "{s} does not", "i do": "{s} does", "i": "{s}", "my": "{p}", "me": "{o}", "mine": "{p}", "myself": "{o}self",
    "we": "they", "our": "their", "us": "them", "don't": "does not", "can't": "cannot", "didn't": "did not", "haven't": "has not", "it's": "it is",
}  # fmt: skip
_FIRST_PERSON = re.compile(
    r"\b(?:" + "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True)) + r")\b", re.IGNORECASE
)
_PRONOUNS = (
    {"s": "she", "p": "her", "o": "her"},
    {"s": "he", "p": "his", "o": "him"},
    {"s": "the patient", "p": "the patient's", "o": "the patient"},
)
_FEWEST_WORDS = 5
_COVERED = 0.6


def retold(case: Case, truth: Truth, rng: random.Random) -> PlantedText | None:
    """Some of the patient's sentences as a note, with what the clinician's note has beyond them as an omission; None where too little was said."""
    pronouns = rng.choice(_PRONOUNS)
    said = [
        p.text
        for line in _SAID.findall("\n".join(case.source))
        for p in passages(line)
        if not p.text.endswith("?")
    ]
    sentences = [s for text in said if len((s := _third_person(text, pronouns)).split()) >= _FEWEST_WORDS]
    if not sentences:
        return None
    count = rng.randint(1, min(len(sentences), 6))
    chosen = sorted(rng.sample(range(len(sentences)), count))
    text = " ".join(sentences[i] for i in chosen)
    if rng.random() < 0.25:
        words = text.split()
        text = " ".join(words[: rng.randint(max(4, len(words) // 2), len(words))])
    known = set(stems(text))
    lost = [
        p.text
        for p in passages(case.output)
        if (words := set(stems(p.text))) and len(words & known) / len(words) < _COVERED
    ]
    if not lost:
        return PlantedText(output=text)
    gone = Fault(
        kind="omission", attribute="thorough", points=points_for(case.output, text), start=0, end=0, before=" ".join(lost), after=""
    )  # fmt: skip
    return PlantedText(output=text, faults=(gone,))


def _third_person(sentence: str, pronouns: dict[str, str]) -> str:
    plain = _FILLERS.sub("", sentence).strip(" ,.")
    told = _FIRST_PERSON.sub(lambda m: _WORDS[m.group().lower()].format(**pronouns), plain)
    return f"{told[:1].upper()}{told[1:]}." if told else ""
