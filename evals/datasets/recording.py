"""Judgements that somebody else collected, as venire reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ..ratings.question import Question, rubric_questions

GIVEN, SWAPPED = "given", "swapped"
"""The values of a column `order`; the answers are those of the given order in both."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Cases, what was asked of them, what jurors answered and what people did."""

    name: str
    rubric: Rubric
    cases: tuple[Case, ...]
    judgements: pd.DataFrame
    """`case`, `juror`, `attribute`, `value` (blank where nothing could be read), and as far as known `repeat`, `order`, `rationale`, `group`."""
    people: pd.DataFrame
    """`case`, `rater`, `attribute`, `value`."""

    @property
    def questions(self) -> Mapping[str, Question]:
        """By attribute, as `analyse` takes them."""
        return rubric_questions(self.rubric)

    def write(self, folder: Path) -> None:
        """`cases.jsonl`, `rubric.yaml`, `judgements.csv` and `people.csv`: what `venire run` and a study read.

        In a jury file the juror NAME is the seat `{model: "recorded/judgements.csv#NAME"}`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(case.model_dump(mode="json", exclude_defaults=True)) for case in self.cases]
        (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        rubric = self.rubric.model_dump(exclude_defaults=True)
        (folder / "rubric.yaml").write_text(yaml.safe_dump(rubric, sort_keys=False), encoding="utf-8")
        self.judgements.to_csv(folder / "judgements.csv", index=False)
        self.people.to_csv(folder / "people.csv", index=False)


def choice(name: str, anchors: Mapping[int, str], *, binary: bool) -> Rubric:
    """The rubric of a choice between two texts: one attribute, `better`."""
    return Rubric.model_validate(
        {
            "name": name,
            "version": 1,
            "scales": {"choice": {"level": "binary" if binary else "nominal", "anchors": dict(anchors)}},
            "attributes": [
                {
                    "name": "better",
                    "question": "Which text answers the instruction better?",
                    "scale": "choice",
                }
            ],
        }
    )


def both_texts(first: str, second: str) -> str:
    """Two texts as the one that is judged."""
    return f"Text 1:\n{first}\n\nText 2:\n{second}"
