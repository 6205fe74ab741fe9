"""The corpus: what the cases of either part of a study are like, and whether the split parted them evenly."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from ..figures.section import Section
from ..statistics.significance import LEVEL, p_words
from ..statistics.two_samples import chi_square_p, median_and_quartiles, welch_p

COLUMNS = ["what", "level", "development", "test", "p"]
WORDS = {"source_length": "length of notes (words)", "output_length": "length of output (words)"}
METHODS = (
    "The parts are compared by Pearson's chi-square for categories and Welch's t test for numbers, one value a case; cases of one "
    "group are counted as if independent."
)


def corpus_section(cases: pd.DataFrame, columns: Sequence[str], test: Collection[str]) -> Section:
    """Counts, categories and lengths of the development and the test cases, with a test of the split for each.

    Args:
        cases: One row a case: `case`, `group`, `system`, the lengths, and `columns`.
        columns: Further columns to describe.
    """
    held = cases["case"].isin(list(test)).to_numpy(bool)
    parts = {"development": cases[~held], "test": cases[held]}
    rows: list[dict[str, object]] = [
        _row("cases", "", {name: f"{len(part)}" for name, part in parts.items()})
    ]
    if cases["group"].notna().any():
        rows.append(_row("groups", "", {name: f"{part['group'].nunique()}" for name, part in parts.items()}))
    tests: dict[str, float] = {}
    for column in dict.fromkeys(("system", *columns, "source_length", "output_length")):
        if cases[column].notna().any():
            described, tests[column] = _column_rows(column, parts)
            rows += described
    uneven = {name: p for name, p in tests.items() if p < LEVEL}
    if not test:
        told = "No case is held out: there is no split to test."
    elif uneven:
        named = ", ".join(f"{WORDS.get(name, name)} ({p_words(p)})" for name, p in uneven.items())
        told = f"The parts differ in {named}, not corrected for {len(tests)} tests."
    else:
        told = f"The parts are not shown to differ in any of {len(tests)} characteristics."
    return Section(
        "corpus", "The corpus, and its split", (told,), {"table": pd.DataFrame(rows, columns=COLUMNS)},
        methods=(METHODS,) if test else (),
    )  # fmt: skip


def _column_rows(column: str, parts: Mapping[str, pd.DataFrame]) -> tuple[list[dict[str, object]], float]:
    """The rows of one column and the p of its test: the median and quartiles of numbers, counts and shares of words."""
    values = [part[column].dropna() for part in parts.values()]
    if all(pd.api.types.is_numeric_dtype(part[column].dtype) for part in parts.values()):
        numbers = [each.to_numpy(float) for each in values]
        p = welch_p(*numbers)
        told = {
            name: "{:.4g} ({:.4g}, {:.4g})".format(*median_and_quartiles(each)) if len(each) else ""
            for name, each in zip(parts, numbers, strict=True)
        }
        return [_row(f"{WORDS.get(column, column)}, median (quartiles)", "", told, p)], p
    levels = sorted(set(map(str, pd.concat(values))))
    counts = np.array(
        [[(each.astype(str) == level).sum() for each in values] for level in levels], dtype=float
    )
    p = chi_square_p(counts)
    rows = [
        _row(
            f"{column}, n (%)" if number == 0 else "",
            level,
            {
                name: f"{counts[number, at]:.0f} ({counts[number, at] / max(1, len(part)):.1%})"
                for at, (name, part) in enumerate(parts.items())
            },
            p if number == 0 else float("nan"),
        )
        for number, level in enumerate(levels)
    ]
    return rows, p


def _row(what: str, level: str, told: Mapping[str, str], p: float = float("nan")) -> dict[str, object]:
    return {"what": what, "level": level, **told, "p": p}
