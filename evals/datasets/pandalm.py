"""PandaLM's test set (Wang et al. 2024): 999 pairs of answers, three people, two judges."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pandas as pd

from ...rubrics.case import Case
from ...rubrics.errors import InvalidFile
from .recording import Recording, both_texts, choice

JUDGES = {"gpt-3.5": ("gpt35", "gpt35_reason"), "pandalm-7b": ("pandalm7b", "pandalm_reason")}
PEOPLE = ("annotator1", "annotator2", "annotator3")


def pandalm(folder: str | Path, *, unreadable: Literal["abstain", "tie"] = "abstain") -> Recording:
    """The pairs, grouped by instruction: answers to one instruction are drawn together.

    Args:
        folder: Where `testset_v1_with_judges.csv` is.
        unreadable: What GPT-3.5's 25 unreadable answers are. The published accuracy counts them as ties.
    """
    file = Path(folder) / "testset_v1_with_judges.csv"
    if not file.is_file():
        raise InvalidFile(f"{file}: no such file", remedy="name the folder that holds PandaLM's test set")
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    group = pd.Series(table.groupby(["instruction", "input"], sort=False).ngroup().astype(str))
    words = {"0": 0, "Tie": 0, "1": 1, "2": 2} | ({"garbage": 0} if unreadable == "tie" else {})
    judged = [
        pd.DataFrame(
            {
                "case": table["idx"],
                "juror": name,
                "attribute": "better",
                "value": table[answer].map(words),
                "rationale": table[reason],
                "group": group,
            }
        )
        for name, (answer, reason) in JUDGES.items()
    ]
    rated = table.melt(id_vars="idx", value_vars=list(PEOPLE), var_name="rater", value_name="value")
    return Recording(
        name="pandalm",
        rubric=choice("pandalm", {0: "neither", 1: "the first text", 2: "the second text"}, binary=False),
        cases=tuple(
            Case(
                id=row["idx"],
                question="\n\n".join(filter(None, (row["instruction"], row["input"]))),
                output=both_texts(row["response1"], row["response2"]),
                group=where,
            )
            for row, where in zip(table.to_dict("records"), group, strict=True)
        ),
        judgements=pd.concat(judged, ignore_index=True),
        people=rated.rename(columns={"idx": "case"}).assign(
            attribute="better", value=pd.to_numeric(rated["value"])
        )[["case", "rater", "attribute", "value"]],
    )
