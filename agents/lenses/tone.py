"""Tone: phrasing that doubts, blames or disapproves of a patient."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .words import GAP, LensReading, first_quotes, merit_after

JUDGEMENTS = {
    "doubt": (
        r"(?:claim|allege|insist)(?:s|ed|ing)?(?: that)?",
        r"(?:supposed|alleged|purported)(?:ly)?",
        r"admit(?:s|ted)?(?: to| that)",
        r"exaggerat(?:es|ed|ing)",
        r"poor historian",
    ),
    "disapproval": (
        r"refus(?:es|ed|ing|al)",
        r"fail(?:s|ed) to (?:attend|comply|take|follow|engage|turn)",
        r"non(?: )?(?:complian(?:t|ce)|adheren(?:t|ce))",
        r"(?:un|non(?: )?)co(?: )?operative",
        r"(?:bad|poor) (?:choices|lifestyle|habits?)",
    ),
    "blame": (
        r"(?:an|the|no|any|his|her|their) excuses?",
        r"(?:his|her|their) own (?:fault|doing)",
        r"self inflicted",
        r"brought (?:it|this) on (?:himself|herself|themselves)",
        r"(?:does not|did not|doesn.t|didn.t) care",
    ),
    "difficulty": (
        r"demand(?:s|ed|ing)(?! (?:ischa?emia|pacing|oxygen))",
        r"complain(?:s|ed|ing) (?:about|again|constantly|bitterly|loudly)",
        r"(?:difficult|manipulative|hysterical|entitled|needy) (?:patient|man|woman|mother|father|family)",
        r"manipulative|hysterical|belligerent",
        r"(?:yet|once) again (?:back|attend|present|came|in)\w*",
    ),
}
"""Judgemental phrasing by kind, a space standing for space or hyphen. The kinds follow Park et al. (2021,
JAMA Network Open) and Sun et al. (2022, Health Affairs); the phrases are our own. 'Denies' is left out: notes
use it for a plain negative."""

_ANY = {
    kind: re.compile(r"\b(?:" + "|".join(phrases).replace(" ", GAP) + r")\b", re.IGNORECASE)
    for kind, phrases in JUDGEMENTS.items()
}


def tone(source: Sequence[str], output: str) -> LensReading | None:
    """How free the output is of phrases that judge the patient; the notes are not read."""
    if not output.strip():
        return None
    found = {kind: [match.group() for match in phrases.finditer(output)] for kind, phrases in _ANY.items()}
    counted = [f"{len(hits)} of {kind}" for kind, hits in found.items() if hits]
    return LensReading(
        merit=merit_after(sum(map(len, found.values()))),
        rationale=f"Phrases that judge the patient, by kind: {', '.join(counted) or 'none found'}.",
        quotes=first_quotes(hit for hits in found.values() for hit in hits),
    )
