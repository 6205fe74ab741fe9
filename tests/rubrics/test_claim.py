"""Claims and checks as files hold them."""

from __future__ import annotations

from pathlib import Path

import pytest

from venire.rubrics.claim import load_claims, read_check_rows
from venire.rubrics.errors import InvalidFile


@pytest.mark.parametrize(
    ("line", "problem", "remedy"),
    [
        ("c1,Fever.,early,9,", ":2: start is 'early'", "write start as a number of characters"),
        ("c1,Fever.,3,-1,", ":2: end is '-1'", "write end as a number of characters"),
        ("c1,Fever.,3,9,perhaps", "'central' is 'perhaps'", "write true or false"),
        ("c1,,3,9,yes", ":2: 'text' is missing", "give every row a value for text"),
    ],
)
def test_a_wrong_claim_is_refused_by_its_line_and_field(
    tmp_path: Path, line: str, problem: str, remedy: str
) -> None:
    (tmp_path / "claims.csv").write_text(f"case,text,start,end,central\n{line}\n")
    with pytest.raises(InvalidFile) as refused:
        load_claims(tmp_path / "claims.csv")
    assert problem in str(refused.value) and remedy in (refused.value.remedy or "")


def test_a_check_with_an_unknown_verdict_is_refused(tmp_path: Path) -> None:
    (tmp_path / "checks.csv").write_text(
        "case,claim,juror,verdict\nc1,c1-1,ana,supported\nc1,c1-2,ana,maybe\n"
    )
    with pytest.raises(InvalidFile, match=r":3: .*'maybe' is unknown"):
        list(read_check_rows(tmp_path / "checks.csv"))
