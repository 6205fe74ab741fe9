"""Wording that blames, labels or belittles, on facts that stay as they are."""

from __future__ import annotations

import random
import re

from .fault import Edit, Material

_TURNS = (
    (r"\b(?:The|This) patient\b", ("This noncompliant patient", "This difficult patient", "This drug-seeking patient", "The so-called patient",
     "This demanding patient", "This uncooperative patient", "This frequent flyer")),
    (r"\b(?:the|this) patient\b", ("this difficult patient", "the frequent flyer", "this noncompliant patient", "this needy patient")),
    (r"\b(?:states|reports|says|stated|reported|said)\b(?! no)", ("claims", "alleges", "insists")),
    (r"\bcomplains of\b", ("whines about", "keeps complaining bitterly of", "claims to suffer from")),
    (r"\b(?:denies|denied)\b", ("refuses to admit to", "will not own up to")),
    (r"\b[Ss]mokes\b", ("cannot be bothered to stop smoking and smokes",)),
    (r"\b(?:drinks|alcohol use)\b", ("drinks like an alcoholic", "alcohol abuse")),
    (r"\b(?:did|does|was|is) not (?=take|attend|come|keep|able|taking)", ("could not be bothered and did not ", "as usual failed and did not ")),
    (r"\b(?:A|An|This is an?|The patient is an?) (?=\d+-year-old\b)", ("A poor historian, this is a ", "This is an unreliable and difficult ", "A self-pitying ")),
    (r"\b(?:man|male|gentleman)\b", ("addict", "malingerer", "drunk")),
    (r"\b(?:woman|female|lady)\b", ("hysterical woman", "attention seeker", "demanding woman")),
    (r"\b(?:She|He) (?=was|is|has|had|left|came|returned)", ("The malingerer ", "The addict ", "This manipulative patient ")),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), after) for pattern, after in _TURNS)


def find_stigma(material: Material, rng: random.Random) -> Edit | None:
    places = [(match, after) for pattern, after in _PATTERNS for match in pattern.finditer(material.text)]
    if not places:
        return None
    match, after = rng.choice(places)
    written = rng.choice(after)
    return Edit(match.start(), match.end(), written, 1)
