"""Sections in the terminal: which columns a table keeps, and to how many places its numbers are."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from venire.evals.report.section import Section
from venire.evals.report.terminal import (
    FIRST_PAGE,
    ROWS,
    interval_words,
    show_answer,
    show_first_page,
    show_section,
)


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


def test_an_end_that_rounds_to_zero_has_no_sign() -> None:
    told = shown(pd.DataFrame({"arm": ["a", "b"], "low": [-0.004, -0.5], "high": [0.9, -0.001]}))

    assert "0.00 to 0.90" in told and "-0.50 to 0.00" in told and "-0.00" not in told


@pytest.mark.parametrize("rows", [3, 80])
def test_a_first_page_ends_before_it_is_too_long_and_says_how_many_rows_are_left_out(rows: int) -> None:
    page = StringIO()
    frame = pd.DataFrame({"arm": [f"arm-{number}" for number in range(rows)], "error": "0.1"})
    section = Section("first", "Question?", ("Answer.",), {"table": frame}, notes=("Doubt.",), lead="The rest.")  # fmt: skip
    show_first_page(section, Console(file=page, width=100))
    told = page.getvalue()

    left_out = rows - told.count("arm-")
    assert len(told.splitlines()) == (10 if rows == 3 else FIRST_PAGE - 1)
    assert left_out == (0 if rows == 3 else rows - 36)
    assert (f"{left_out} more rows with --full" in told) == ("more rows" in told) == (rows == 80)


def test_a_column_of_which_some_numbers_are_whole_keeps_its_places() -> None:
    told = shown(pd.DataFrame({"arm": ["a", "b", "c"], "icc": [1.0, 0.62, np.nan], "gap": [2.0, np.nan, -1.0]}))  # fmt: skip

    a, b, c = ([*line.split()] for line in told.splitlines() if line.strip()[:2] in ("a ", "b ", "c "))
    assert [float(cell) for cell in a[1:] + b[1:] + c[1:]] == [1, 2, 0.62, -1]
    assert "." in a[1] and a[2] == "2" and c[1] == "-1"


COMPARED = pd.DataFrame(
    {
        "arm": ["bench", "single", "always the best score"],
        "kind": ["jury", "single judge", "floor"],
        "mean abs error": ["0.33 [0.31, 0.36]", "0.42 [0.39, 0.46]", "1.83 [1.72, 1.95]"],
        "ICC(3,k)": ["0.87 [0.83, 0.89]", "0.84 [0.81, 0.87]", "0.00"],
        "deliberation, by mean credit": ["+0.05 [+0.03, +0.07] helped", "", ""],
        "tokens per case": ["11,082", "1,819", ""],
        "seconds": ["0.12", "0.035", ""],
    }
)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_first_page_folds_its_table_between_words_and_drops_no_column(width: int) -> None:
    page = StringIO()
    show_first_page(Section("first", "Question?", ("Answer.",), {"table": COMPARED}), Console(file=page, width=width))  # fmt: skip
    told = page.getvalue()

    cells = [*COMPARED.columns, *(cell for column in COMPARED for cell in COMPARED[column])]
    assert {word for cell in cells for word in cell.split()} <= set(told.split())
    assert max(map(len, told.splitlines())) <= width
    assert told.count("single") == (1 if width > 60 else 2) * 2, "what does not fit stands in a table below, under the same names"  # fmt: skip


def test_one_row_keeps_its_names_and_as_many_rows_as_there_is_room_for_leave_none_out() -> None:
    told = shown(pd.DataFrame({"arm": ["jury"], "value": [0.25], "none": [None]}))
    assert "jury" in told and "none" not in told
    full = shown(pd.DataFrame({"arm": [f"arm-{n}" for n in range(ROWS)], "value": 0.5}))
    assert full.count("arm-") == ROWS and "more rows" not in full
    gap = shown(pd.DataFrame({"arm": ["a", "b"], "kind": ["jury", None], "score_low": [0.1, np.nan], "score_high": [0.2, 0.4]}))  # fmt: skip
    assert gap.count("interval") == 1 and "0.10 to 0.20" in gap and "0.40" not in gap and "kind" in gap


def test_an_answer_is_its_tables_as_they_are_and_then_its_sentences_and_notes() -> None:
    page = StringIO()
    tables = {"": pd.DataFrame({"who": ["[b]a", "b"], "n": ["1", "1"]}), "Second": pd.DataFrame({"x": ["same"]})}  # fmt: skip
    show_answer(Section("a", "Unseen", ("Said.",), tables, notes=("Noted.",)), Console(file=page, width=60))
    lines = [line.strip() for line in page.getvalue().splitlines() if line.strip()]

    assert [line.split() for line in lines[:3]] == [["who", "n"], ["[b]a", "1"], ["b", "1"]]
    assert lines[3:] == ["Second", "x", "same", "- Said.", "note: Noted."]


def test_an_estimate_in_words_has_its_bounds_as_far_as_they_are_known() -> None:
    assert interval_words(0.5, 0.25, 0.75) == "0.50 [0.25, 0.75]"
    assert interval_words(0.5, 0.25, 0.75, percent=True) == "50% [25%, 75%]"
    assert interval_words(-0.001, np.nan, np.nan) == "0.00" and interval_words(0.1234, 0, 1, places=3) == "0.123 [0.000, 1.000]"  # fmt: skip
    assert interval_words(np.nan, np.nan, np.nan) == "undefined"
