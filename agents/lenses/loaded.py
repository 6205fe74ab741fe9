"""Loaded: words that reduce a person to a condition, a habit or a suspicion."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .words import GAP, LensReading, count_of, first_quotes, merit_after

LOADED_WORDS = (
    r"(?:drug|opio?id|heroin|cocaine|substance|alcohol|ex) (?:addict|abuser|user)s?",
    r"(?:drug|substance|alcohol|opio?id) abuse",
    r"addicts?",
    r"abusers?",
    r"junk(?:ie|y|ies)",
    r"druggies?",
    r"alcoholics?(?! (?:liver|hepatitis|cirrhosis|ketoacidosis|fatty|steatohepatitis))",
    r"drunk(?:ard)?s?",
    r"drug seek(?:ing|er|ers)",
    r"pill seek(?:ing|er|ers)",
    r"attention seek(?:ing|er)",
    r"frequent (?:flyer|flier|attender)s?",
    r"bed blockers?",
    r"sicklers?",
    r"(?:dirty|clean) urines?",
    r"urine (?:was|is|were|tested|came back) (?:dirty|clean)",
    r"non(?: )?complian(?:t|ce)",
    r"malinger(?:er|ers|ing|ed)?",
    r"(?:schizophrenic|psychotic|borderline|epileptic|diabetic|asthmatic)s",
    r"(?:an?|this|known) (?:schizophrenic|epileptic|diabetic|asthmatic)(?= (?:who|with|and|is|was)\b|[.,;])",
    r"crazy|lunatic|insane|psycho",
    r"morbidly obese|fat (?:man|woman|patient|lady)",
    r"illegals?|illegal (?:alien|immigrant)s?",
    r"retarded|cripple[ds]?|wheelchair bound",
    r"committed suicide|failed suicide",
)
"""Labels to avoid, a space standing for space or hyphen. Our own selection and wording, on lines drawn by the
United States' National Institute on Drug Abuse ('Words Matter') and Goddu et al. (2018, J Gen Intern Med)."""

_ANY = re.compile(r"\b(?:" + "|".join(LOADED_WORDS).replace(" ", GAP) + r")\b", re.IGNORECASE)


def loaded_words(source: Sequence[str], output: str) -> LensReading | None:
    """How free the output is of listed labels.

    The notes are not read: that they used a label first does not make it a good one to pass on.
    """
    if not output.strip():
        return None
    found = [match.group() for match in _ANY.finditer(output)]
    return LensReading(
        merit=merit_after(len(found)),
        rationale=f"The output has {count_of(len(found), 'word or phrase', 'words or phrases')} "
        "from a list of labels known to carry stigma.",
        quotes=first_quotes(found),
    )
