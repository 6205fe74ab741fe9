"""The files of a report: what a spreadsheet would run as a formula is text."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from venire.evals.report.drawing import Figure, Picture, circle
from venire.evals.report.files import csv_text, section_markdown, write_folder
from venire.evals.report.section import Section


def test_tables_are_harmless_and_their_numbers_numbers() -> None:
    table = pd.DataFrame({"case": ["=1+1", "b"], "gap": [-0.5, 1.0], "mixed": [-2, "@x"], "-name": [1, 2]})

    assert csv_text(table).splitlines() == ["case,gap,mixed,'-name", "'=1+1,-0.5,-2,1", "b,1.0,'@x,2"]


def test_a_comment_has_the_answer_the_first_rows_and_the_doubts_and_nothing_in_it_acts() -> None:
    """Of 41 rows 40 are shown; a column that is blank throughout is left out."""
    frame = pd.DataFrame({"arm": ["@all <b>|x|", *["`y`"] * 40], "none": None, "value": [0.5, *[None] * 40]})
    told = section_markdown(Section("first", "Which *one*?", ("Use\n[x](y) & z.",), {"": frame}, notes=("Doubt_ful.",)))  # fmt: skip
    lines = told.splitlines()

    assert lines[:3] == ["### Which \\*one\\*?", "", "- Use \\[x\\](y) &amp; z."]
    assert lines[4:7] == ["| arm | value |", "| --- | --- |", "| &#64;all &lt;b&gt;\\|x\\| | 0.5 |"]
    assert lines.count("| \\`y\\` |  |") == 39 and lines[-3:] == ["This table has 1 more rows in the full report.", "", "<sub>Doubt\\_ful.</sub>"]  # fmt: skip
    assert "more rows" not in section_markdown(Section("first", "Q", (), {"": frame.iloc[1:]}))


def test_a_report_is_a_page_a_document_tables_and_figures_and_a_first_page_where_there_is_one(
    tmp_path: Path,
) -> None:
    figures = {"curve": Figure("Curve", [Picture(20, 20, [circle(5, 5, 2, "red")])])}
    tables = {"first_rows": pd.DataFrame({"case": ["=1"]})}
    page = write_folder(tmp_path / "r", "<p>", {"n": [1]}, tables, figures, name="study", first=Section("f", "Q", ("A.",)))  # fmt: skip

    files = {str(path.relative_to(tmp_path / "r")): path.read_text() for path in (tmp_path / "r").rglob("*.*")}  # fmt: skip
    assert set(files) == {"report.html", "study.json", "report.md", "tables/first_rows.csv", "figures/curve.svg"}  # fmt: skip
    assert page == tmp_path / "r" / "report.html" and files["report.html"] == "<p>"
    assert json.loads(files["study.json"]) == {"n": [1]} and files["tables/first_rows.csv"] == "case\n'=1\n"
    assert files["figures/curve.svg"].count("<circle") == 1 and files["report.md"] == "### Q\n\n- A.\n"
    write_folder(tmp_path / "s", "<p>", {}, {}, {})
    assert not (tmp_path / "s" / "report.md").exists() and (tmp_path / "s" / "report.json").exists()
