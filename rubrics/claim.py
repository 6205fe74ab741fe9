"""Claims and checks: one atomic statement of a text, what one verifier found of it in another text, and the files of both (`claims.jsonl`, `checks.csv`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict

from .ballot import AbstentionReason, Quote
from .errors import InvalidFile
from .files import modified_at, near_column
from .rows import from_csv_cell, read_rows

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


CLAIM_COLUMNS = ("case", "id", "of", "text", "quote", "start", "end", "central")
CHECK_COLUMNS = ("case", "claim", "juror", "verdict", "evidence", "reason")
_NAMED = 5
"""How many cases a note names."""
_YES, _NO = ("true", "1", "yes"), ("false", "0", "no", "", "none")


class CheckRow(NamedTuple):
    """One verifier's verdict on one claim, as a line of `checks.csv` has it; without a verdict it abstained."""

    case: str
    claim: str
    juror: str
    verdict: ClaimVerdict | None
    evidence: str
    reason: str


def load_claims(path: Path) -> Mapping[str, tuple[Claim, ...]]:
    """The claims in a .jsonl or .csv file, by case. A file that has not changed is read once."""
    return _load_claims(path, modified_at(path))


@lru_cache(maxsize=8)
def _load_claims(path: Path, written: int) -> Mapping[str, tuple[Claim, ...]]:
    claims_by_case: dict[str, dict[str, Claim]] = {}
    for line, row in read_rows(path, required=("case", "text")):
        at = f"{path}:{line}"
        case, text = _word(row, "case", at), _word(row, "text", at)
        claims = claims_by_case.setdefault(case, {})
        of = str(row.get("of") or "output")
        given = row.get("id")
        name = f"{'c' if of == 'output' else of[:1]}{len(claims) + 1}" if given in (None, "") else str(given)
        if name in claims:
            raise InvalidFile(
                f"{at}: case {case!r} has two claims with the id {name!r}",
                remedy="give every claim of a case an id of its own",
            )
        claims[name] = Claim(
            id=name,
            of=of,
            text=text,
            quote=str(row.get("quote") or ""),
            start=_place(row.get("start"), at, "start"),
            end=_place(row.get("end"), at, "end"),
            central=_truth(row.get("central"), at),
        )
    if not claims_by_case:
        raise InvalidFile(
            f"{path}: no claims were found", remedy=f"write one claim per line, with {CLAIM_COLUMNS}"
        )
    return {case: tuple(claims.values()) for case, claims in claims_by_case.items()}


def claims_of_no_case(path: Path, cases: Collection[str]) -> str:
    """A sentence that counts and names the claims of cases that are not among `cases`; empty where there are none.

    Raises:
        InvalidFile: Every claim in the file is one.
    """
    claims = load_claims(path)
    strangers = {case: len(case_claims) for case, case_claims in claims.items() if case not in cases}
    if not strangers:
        return ""
    count, ids = sum(strangers.values()), list(strangers)
    and_more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    note = f"claims left out, because no case here has the id that they name: {count} (ids: {', '.join(ids[:_NAMED])}{and_more})"
    if len(strangers) == len(claims):
        raise InvalidFile(
            f"{path}: none of the claims belongs to one of the cases: {note}",
            remedy="in the column 'case', write the ids of the cases",
        )
    return f"{path.name}: {note}"


def read_check_rows(path: Path) -> Iterator[CheckRow]:
    """Each line of a table of checks."""
    keys: set[tuple[str, str, str]] = set()
    for line, row in read_rows(path, required=("case", "claim", "juror", "verdict")):
        at = f"{path}:{line}"
        case, claim, juror = (_word(row, name, at) for name in ("case", "claim", "juror"))
        if (case, claim, juror) in keys:
            raise InvalidFile(
                f"{at}: {juror} checked the claim {claim} of case {case!r} twice",
                remedy="keep one of the two lines",
            )
        keys.add((case, claim, juror))
        word = str(row.get("verdict") or "").strip()
        verdict = claim_verdict(word)
        if word and verdict is None:
            raise InvalidFile(
                f"{at}: the verdict {word!r} is unknown",
                remedy=f"write one of {', '.join(CLAIM_VERDICTS)}, or nothing for an abstention",
            )
        evidence, reason = (str(from_csv_cell(row.get(name) or "")) for name in ("evidence", "reason"))
        yield CheckRow(case, claim, juror, verdict, evidence, reason)


def _word(row: Mapping[str, Any], name: str, at: str) -> str:
    value = row.get(name)
    if value is None or not str(value).strip():
        raise InvalidFile(
            f"{at}: {name!r} is missing", remedy=f"{near_column(name, row)}give every row a value for {name}"
        )
    return str(from_csv_cell(str(value).strip()))


def _place(value: Any, at: str, name: str) -> int | None:
    if value in (None, ""):
        return None
    try:
        place = int(str(value))
    except ValueError:
        place = -1
    if place < 0:
        raise InvalidFile(
            f"{at}: {name} is {value!r}, which is not a position",
            remedy=f"write {name} as a number of characters from the start of the text, or leave it blank",
        )
    return place


def _truth(value: Any, at: str) -> bool:
    word = str(value or "").strip().casefold()
    if word not in (*_YES, *_NO):
        raise InvalidFile(
            f"{at}: 'central' is {value!r}, which is neither true nor false", remedy="write true or false"
        )
    return word in _YES
