"""The brief: one case under one rubric, as it is put before every seat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..rubrics.case import Case
from ..rubrics.quotes import Exhibit
from ..rubrics.rubric import Rubric
from .instructions import attempts_to_instruct
from .model import CachedText, Subject
from .prompting import fence, nonce, rubric_text, words


@dataclass(frozen=True, slots=True)
class Brief:
    """The rubric and the case in words, the same for every seat and round, so that it opens every prompt."""

    case: str
    rubric: Rubric
    exhibits: tuple[Exhibit, ...]
    nonce: str
    text: CachedText
    flags: tuple[str, ...]
    """Passages in which the case seems to instruct the jury."""

    def subject(
        self,
        seat: str,
        asked: tuple[str, ...],
        *,
        round: int,
        kind: Literal["ballot", "ledger", "decision"] = "ballot",
    ) -> Subject:
        return Subject(self.case, seat, self.rubric, self.exhibits, asked, round, kind)


def brief(case: Case, rubric: Rubric) -> Brief:
    exhibits = rubric.exhibits(case)
    code = nonce(exhibit.text for exhibit in exhibits)
    text = (
        words(
            "brief",
            rubric=rubric.name,
            description=rubric.description,
            attributes=rubric_text(rubric),
            nonce=code,
            exhibits="\n\n".join(fence("exhibit", e.name, e.text, code) for e in exhibits),
        )
        + "\n\n"
    )
    return Brief(
        case=case.id,
        rubric=rubric,
        exhibits=exhibits,
        nonce=code,
        text=CachedText(text),
        flags=attempts_to_instruct(exhibits),
    )
