"""Claims and checks in files: `claims.jsonl` and `checks.csv`, as they are exported and read back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .claim import CLAIM_VERDICTS, Claim, ClaimVerdict, claim_verdict
from .csv_cells import from_csv_cell
from .errors import InvalidFile
from .files import near_column
from .rows import read_rows

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
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        changed = 0
    return _load_claims(path, changed)


@lru_cache(maxsize=8)
def _load_claims(path: Path, changed: int) -> Mapping[str, tuple[Claim, ...]]:
    found: dict[str, dict[str, Claim]] = {}
    for line, row in read_rows(path, required=("case", "text")):
        at = f"{path}:{line}"
        case, text = _word(row, "case", at), _word(row, "text", at)
        claims = found.setdefault(case, {})
        of = str(row.get("of") or "output")
        name = str(row.get("id") or f"{'c' if of == 'output' else of[:1]}{len(claims) + 1}")
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
    if not found:
        raise InvalidFile(f"{path}: no claims in it", remedy=f"write one claim a line, with {CLAIM_COLUMNS}")
    return {case: tuple(claims.values()) for case, claims in found.items()}


def claims_of_no_case(path: Path, cases: Collection[str]) -> str:
    """A sentence that counts and names the claims of cases that are not among `cases`; empty where there are none.

    Raises:
        InvalidFile: Every claim in the file is one.
    """
    claims = load_claims(path)
    strangers = {case: len(mine) for case, mine in claims.items() if case not in cases}
    if not strangers:
        return ""
    many, named = sum(strangers.values()), list(strangers)
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    note = (
        f"{many} claim{'' if many == 1 else 's'} of no case here, left out: {', '.join(named[:_NAMED])}{more}"
    )
    if len(strangers) == len(claims):
        raise InvalidFile(
            f"{path}: none of its claims is of a case here: {note}",
            remedy="write under 'case' the ids that the cases have",
        )
    return f"{path.name}: {note}"


def read_check_rows(path: Path) -> Iterator[CheckRow]:
    """Each line of a table of checks."""
    seen: set[tuple[str, str, str]] = set()
    for line, row in read_rows(path, required=("case", "claim", "juror", "verdict")):
        at = f"{path}:{line}"
        case, claim, juror = (_word(row, name, at) for name in ("case", "claim", "juror"))
        if (case, claim, juror) in seen:
            raise InvalidFile(
                f"{at}: {juror} checked {claim} of case {case!r} twice", remedy="keep one line of the two"
            )
        seen.add((case, claim, juror))
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
        raise InvalidFile(f"{at}: {name!r} is missing", remedy=f"{near_column(name, row)}fill it in")
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
            f"{at}: {name} is {value!r}", remedy="write the place in characters, or leave it out"
        )
    return place


def _truth(value: Any, at: str) -> bool:
    word = str(value or "").strip().casefold()
    if word not in (*_YES, *_NO):
        raise InvalidFile(f"{at}: central is {value!r}", remedy="write true or false")
    return word in _YES
