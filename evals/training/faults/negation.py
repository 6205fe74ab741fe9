"""A finding turned into its opposite: what was denied is reported, what was present is absent."""

from __future__ import annotations

import random
import re

from ..passages import passages
from .fault import Edit, Material

_TURNS = (
    (r"\b(denies|denied)(?: having| any)?\b", {"denies": "reports", "denied": "reported"}),
    (r"\b(has|had|have|with|shows|showed|took|takes|takes|is|are|was|were) no\b(?! longer)", r"\1"),
    (r"\bwithout\b", "with"),
    (r"\b(negative)(?= for\b|\.)", "positive"),
    (r"\b(Negative)(?= for\b|\.)", "Positive"),
    (r"\b(positive)(?= for\b)", "negative"),
    (r"\b(Positive)(?= for\b)", "Negative"),
    (r"\b(is|was|were|are|does|did|has|had|have|will|can|could|should|would) not (?!only|yet|sure)", r"\1 "),
    (r"\b(is|was|were|are) (?=(?:allergic|taking|given|started|seen|admitted|able|tender|present|noted|found|treated|discharged|smoking|married|working|sexually|currently|well|pregnant|diagnosed|followed|on)\b)", r"\1 not "),
    (r"\b[Nn]o (?=known|history|family|prior|previous|significant|evidence|signs?|recent|other)", {"No ": "A ", "no ": "a "}),
    (r"(?:(?<=\. )|(?<=\A))No (?=[a-z]+(?: [a-z]+)?[.,])", "Some "),
    (r"\b(reports|complains of|reported|complained of|endorses|admits to)\b(?! that| no| to| her| his)", {
        "reports": "denies", "complains of": "denies", "reported": "denied", "complained of": "denied", "endorses": "denies",
        "admits to": "denies"}),
    (r"\b(has|had) (?=an? (?:history|allergy|fever|cough|rash|headache|pain|fall|stroke|surgery|family|mild|severe))", r"\1 not had "),
    (r"\b(smokes|drinks|works|exercises|lives|uses|takes|needs|wants)\b(?= (?!no\b))", {
        "smokes": "does not smoke", "drinks": "does not drink", "works": "does not work", "exercises": "does not exercise",
        "lives": "does not live", "uses": "does not use", "takes": "does not take", "needs": "does not need", "wants": "does not want"}),
    (r"\bnormal\b", "abnormal"),
    (r"\babnormal\b", "normal"),
    (r"\bunremarkable\b", "abnormal"),
    (r"\bNoncontributory\b", "Significant"),
    (r"\bnoncontributory\b", "significant"),
    (r"\b(resolved|improved|improving|better)\b", {"resolved": "worsened", "improved": "worsened", "improving": "worsening", "better": "worse"}),
    (r"\b(worsened|worsening|worse)\b", {"worsened": "improved", "worsening": "improving", "worse": "better"}),
    (r"\b(never)\b(?= (?:smoked|had|been|used|drank|married))", "often"),
    (r"\b[Nn]one\b(?=\.)", {"None": "Several", "none": "several"}),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), after) for pattern, after in _TURNS)
_SUPPORT = 0.3


def find_negation(material: Material, rng: random.Random) -> Edit | None:
    places = [(match, after) for pattern, after in _PATTERNS for match in pattern.finditer(material.text)]
    rng.shuffle(places)
    for match, after in places:
        sentence = _sentence_at(material.text, match.start())
        if len(sentence.split()) > 1 and material.truth.support(sentence) < _SUPPORT:
            continue
        if isinstance(after, dict):
            written = after[match.group(1) if match.re.groups and match.group(1) in after else match.group()]
        else:
            written = match.expand(after)
        return Edit(match.start(), match.end(), written, 3)
    return None


def _sentence_at(text: str, place: int) -> str:
    return next((p.text for p in passages(text) if p.start <= place < p.end), text)
