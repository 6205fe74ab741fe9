"""Claims and checks: one atomic statement of a text, and what one verifier found of it in another text."""

from __future__ import annotations

import re
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from .ballot import AbstentionReason
from .quotes import Quote

ClaimVerdict = Literal["supported", "not_supported", "not_addressed"]
CLAIM_VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)
"""`not_supported`: the text says otherwise. `not_addressed`: it says nothing of the matter."""

_GAPS = re.compile(r"[\W_]+")
_BY_LETTERS: dict[str, ClaimVerdict] = {word.replace("_", ""): word for word in CLAIM_VERDICTS}


class Claim(BaseModel):
    """One statement that can be checked on its own, and the place in the text that it was taken from."""

    model_config = ConfigDict(frozen=True)

    id: str
    """Of its own within the case: `c1`, `c2` ... of the output, `r1` ... of the reference, `s1` ... of the source."""
    of: str = "output"
    """The text that makes the claim."""
    text: str
    quote: str = ""
    """The words of the text that make it."""
    start: int | None = None
    """Where the quote begins, in characters of the text; None where it does not stand in it."""
    end: int | None = None
    central: bool = False
    """Whether the text turns on it."""


class Check(BaseModel):
    """What one verifier says of one claim: a verdict, or why there is none."""

    model_config = ConfigDict(frozen=True)

    claim: str
    verdict: ClaimVerdict | None
    """None for an abstention, which is never counted as any of the three."""
    evidence: tuple[Quote, ...] = ()
    rationale: str = ""
    abstained: AbstentionReason | None = None
    detail: str = ""
    """Why it abstained, in words."""

    @property
    def misquotes(self) -> bool:
        """Whether it rests on words that stand nowhere in the text it was checked against."""
        return any(not quote.found for quote in self.evidence)


def claim_verdict(word: str) -> ClaimVerdict | None:
    """The verdict that a word stands for, in any case and spacing; None for every other word."""
    return _BY_LETTERS.get(_GAPS.sub("", word).casefold())
