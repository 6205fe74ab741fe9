"""Sections in the terminal: which columns a table keeps, and to how many places its numbers are."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
from rich.console import Console

from venire.evals.report.section import Section
from venire.evals.report.terminal import ROWS, show_section


def shown(frame: pd.DataFrame) -> str:
    page = StringIO()
    show_section(Section("part", "Part", (), {"table": frame}), Console(file=page, width=100))
    return page.getvalue()


def test_a_name_that_changes_below_the_rows_shown_is_told() -> None:
    many = ["jury"] * ROWS + ["judge"] * 2

    told = shown(pd.DataFrame({"arm": many, "kind": "arm", "value": np.linspace(0.1, 0.9, len(many))}))

    assert "jury" in told and "kind" not in told
    assert "2 more rows" in told


def test_intervals_chances_and_whole_numbers_are_printed_as_they_can_be_told_apart() -> None:
    told = shown(
        pd.DataFrame(
            {"arm": ["a", "b"], "change": [-0.006, 0.2], "low": [-0.009, 0.1], "high": [-0.002, 0.3],
             "wilcoxon_p": [1e-12, 1e-12], "cases": [108.0, 3.0], "low_only": [0.5, np.nan]}
        )
    )  # fmt: skip

    assert "-0.009 to -0.002" in told and "0.100 to 0.300" in told
    assert told.count("<0.001") == 2
    assert "108 " in told and " 3 " in told and "3.000" not in told
