"""LLMBar (Zeng et al. 2024): which of two outputs follows the instruction, by up to 65 evaluators, in both orders."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from ...rubrics.case import Case
from ...rubrics.errors import InvalidFile
from .recording import GIVEN, SWAPPED, Recording, both_texts, choice

COLUMNS = ("dataset", "item", "label", "model", "strategy", "winner_noswap", "winner_swap")


def llmbar(folder: str | Path, *, subset: str | None = "LLMBar") -> Recording:
    """The items whose data set is `subset` or begins with it, or all of them: LLMBar has 419, judged by 65 evaluators.

    A juror is a model with a way to ask it, as in `GPT-4/Vanilla`. `repeat` 0 has the outputs as given, 1 exchanged;
    answers are always those of the given order. What the authors could not read is blank: an abstention. Their
    accuracy, the mean over both orders of answers that equal the label, counts it as a miss, and so does `analyse`.

    Args:
        folder: Where `judgements.csv` and, for the texts of the cases, `items.json` are.
    """
    file = Path(folder) / "judgements.csv"
    if not file.is_file():
        raise InvalidFile(
            f"{file}: no such file", remedy="name the folder that holds LLMBar's judgements.csv"
        )
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    lost = [name for name in COLUMNS if name not in table]
    if lost:
        raise InvalidFile(f"{file}: no column {lost[0]!r}", remedy=f"it needs {','.join(COLUMNS)}")
    if subset is not None:
        table = table[(table["dataset"] == subset) | table["dataset"].str.startswith(f"{subset}/")]
    if table.empty:
        raise InvalidFile(
            f"{file}: no data set {subset!r}", remedy="name one that stands in the column dataset"
        )
    case = table["dataset"] + "/" + table["item"]
    orders = [
        pd.DataFrame(
            {
                "case": case,
                "juror": table["model"] + "/" + table["strategy"],
                "attribute": "better",
                "value": pd.to_numeric(table[column]),
                "repeat": repeat,
                "order": order,
            }
        )
        for repeat, (order, column) in enumerate({GIVEN: "winner_noswap", SWAPPED: "winner_swap"}.items())
    ]
    labels = pd.DataFrame({"case": case, "value": pd.to_numeric(table["label"])}).drop_duplicates()
    return Recording(
        name="llmbar",
        rubric=choice("llmbar", {1: "the first text", 2: "the second text"}, binary=True),
        cases=_cases(Path(folder) / "items.json", set(case)),
        judgements=pd.concat(orders, ignore_index=True),
        people=labels.assign(rater="label", attribute="better")[["case", "rater", "attribute", "value"]],
    )


def _cases(file: Path, wanted: set[str]) -> tuple[Case, ...]:
    """The texts, where they are there: compositions need none."""
    if not file.is_file():
        return ()
    items = json.loads(file.read_text(encoding="utf-8"))
    return tuple(
        Case(
            id=f"{item['dataset']}/{item['item']}",
            question=item["input"],
            output=both_texts(item["output_1"], item["output_2"]),
        )
        for item in items
        if f"{item['dataset']}/{item['item']}" in wanted
    )
