"""A report's page: where a section stands, what a cell says and what is folded."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from venire.evals.report.drawing import Figure, Picture
from venire.evals.report.html import (
    MOST,
    POLICY,
    page,
    report_page,
    section,
    section_figures,
    section_part,
    table,
)
from venire.evals.report.section import Section, TableText
from venire.evals.statistics.estimate import Estimate

DRAWN = Figure("Drawn", [Picture(10, 10, []), Picture(10, 10, [])])


def test_a_cell_has_its_number_as_it_is_read_and_exactly_and_rows_of_few_cases_are_marked() -> None:
    frame = pd.DataFrame(
        {
            "who": ["a_b/c", "<x>"], "p": [0.0004, np.nan], "value": [0.12345, np.inf], "n": [7, 8], "is": [True, False],
            "kappa": [Estimate(0.5, 0.25, 0.75, 9, "m"), Estimate(0.5, np.nan, np.nan, 9, "m")], "few": ["", "3 cases"],
        }
    )  # fmt: skip
    made = str(table("t", frame, {"who": "Who", "p": "p", "value": "Value", "n": "n", "is": "Is", "kappa": "Kappa"}))  # fmt: skip
    first, second = re.findall(r"<tr(.*?)</tr>", made.partition("<tbody>")[2])

    assert [*re.findall(r'<th scope="col">(.*?)</th>', made)] == ["Who", "p", "Value", "n", "Is", "Kappa"]
    assert "a_<wbr>b/<wbr>c" in first and "&lt;x&gt;" in second
    assert '<data value="0.0004">&lt;0.001</data>' in first and '<data value="0.12345">0.123</data>' in first
    assert '<data value="7">7</data>' in first and ">True<" in first
    assert '<data value="0.5">0.50</data><span class="between">[<data value="0.25">0.25</data>, <data value="0.75">0.75</data>]</span>' in first  # fmt: skip
    assert second.startswith(' class="few"') and not first.startswith(" class") and "between" not in second
    assert ">–<" in second and ">∞<" in second and "nan" not in second


def test_a_section_shows_its_first_rows_and_says_where_the_others_are() -> None:
    long = pd.DataFrame({"the_case": [f"c{n}" for n in range(MOST + 1)]})
    flags = pd.DataFrame({"arm": ["a"], "pays": [True], "none": [""], "hidden": [1]})
    text = TableText("Titled", "What it shows.", {"pays": "Pays", "none": "None", "arm": "Arm"}, ("Below.",))
    part = Section("part", "A part: one", ("Said.",), {"long": long, "empty": long[:0], "told": flags}, {"Caption.": DRAWN}, notes=("Not done.",), lead="Lead.", texts={"told": text})  # fmt: skip
    made = str(section_part(part))

    assert made.startswith('<section id="a-part-one"><h2>A part: one</h2><ul class="said"><li>Said.</li></ul><p class="soft">Lead.</p><figure>')  # fmt: skip
    assert made.count("<svg") == 2 and "<figcaption>Caption.</figcaption>" in made
    assert "c19" in made and "c20" not in made and ">the case<" in made
    assert f"first {MOST} of {MOST + 1} rows; all rows are in tables/part_long.csv" in made
    assert "empty" not in made and "hidden" not in made and ">None<" not in made
    assert made.index(">Pays<") < made.index(">Arm<") and ">yes<" in made and "<h3>Titled</h3>" in made
    assert made.endswith('<ul class="notes"><li>Below.</li></ul><ul class="notes"><li>Not done.</li></ul></section>')  # fmt: skip
    assert "<details>" not in made
    folded = section_part(Section("p", "P", (), {"t": long}, texts={"t": TableText("", "", {"the_case": "Case"})}))  # fmt: skip
    assert f"<details><summary>All {MOST + 1} rows</summary>" in folded and "c20" in folded
    assert "rows; all rows are in" not in section_part(Section("p", "P", (), {"t": long[:-1]}))


def test_sections_stand_in_the_chapter_that_names_them_and_others_in_the_last() -> None:
    parts = [Section(name, name.title(), (f"{name}.",)) for name in ("one", "two", "other")]
    made = report_page("T <b>", "under", [section("First", "x")], {"A": {"two"}, "B": set(), "C": {"one"}}, parts, ["m", "m"], [])  # fmt: skip
    chapters = re.findall(r'<details class="chapter"><summary>(.*?)</summary>(.*?)</details>', made, re.S)

    assert [(name, re.findall("<h2>(.*?)</h2>", body)) for name, body in chapters] == [("A", ["Two"]), ("C", ["One", "Other"]), ("Methods and notes", ["Methods", "Notes"])]  # fmt: skip
    assert chapters[-1][1].count("<p>m</p>") == 1 and "<p>None.</p>" in chapters[-1][1]
    links = re.findall(r'<a href="#(.*?)">', made)
    assert links == ["top", "first", "two", "one", "other", "methods", "notes"]
    assert "<title>T &lt;b&gt;</title>" in made and POLICY.replace("'", "&#x27;") in made
    assert "<nav" not in page("T", "u", [section("One"), section("Two")])


def test_a_sections_figures_are_numbered_from_the_second_on() -> None:
    parts = (Section("a", "A", (), figures={"x": DRAWN, "y": DRAWN}), Section("b", "B", (), figures={"z": DRAWN}))  # fmt: skip
    assert list(section_figures(parts)) == ["a", "a-2", "b"]
