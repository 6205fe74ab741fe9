"""Tables and documents as JSON."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from venire.evals.report.section import (
    Section,
    TableText,
    answer_json,
    document_text,
    estimate_cells,
    estimate_json,
    estimate_phrase,
    records,
    section_json,
)
from venire.evals.statistics.estimate import Estimate, undefined


def test_a_sentence_has_the_interval_or_why_there_is_none() -> None:
    known = Estimate(0.5, 0.25, 0.75, 40, "kappa")
    refused = Estimate(
        0.5,
        np.nan,
        np.nan,
        40,
        "kappa",
        note="no interval: raters depart from their most common value on the same case in only 3 of 40 cases",
    )
    bare = Estimate(0.5, np.nan, np.nan, 40, "kappa", note="approximate")

    assert estimate_phrase(known) == "0.500 (0.25 to 0.75)"
    assert (
        estimate_phrase(refused)
        == "0.500 (no interval: raters depart from their most common value on the same case in only 3 of 40 cases)"
    )
    assert estimate_phrase(bare, "+.2f") == "+0.50 (no interval)"
    assert estimate_phrase(undefined("no case", method="kappa")) == "undefined (no case)"


def test_a_document_is_written_a_row_a_line() -> None:
    table = pd.DataFrame(
        {"n": [1, 2], "value": [0.5, np.nan], "of": pd.Series([np.int64(3), "x"], dtype=object)}
    )
    document = {"tables": {"one": records(table), "none": []}, "notes": ["a", "b"], "empty": {}}

    text = document_text(document)

    assert document["tables"]["one"][1] == {"n": 2, "value": None, "of": "x"}
    assert '   {"n": 1, "value": 0.5, "of": 3},\n' in text
    assert json.loads(text) == document


def test_what_is_not_known_is_null_and_a_column_that_says_nothing_has_no_head() -> None:
    bare = Estimate(0.5, np.nan, np.inf, 40, "kappa", note="approximate")
    assert estimate_json(bare) == {"value": 0.5, "low": None, "high": None, "n": 40, "method": "kappa", "few": "", "note": "approximate"}  # fmt: skip
    assert list(estimate_cells(bare)) == ["value", "low", "high", "n", "method", "note"]
    assert answer_json("run", "j", "rows", ({"a": 1},), ("S.",), ()) == {"run": "run", "arm": "j", "rows": [{"a": 1}], "sentences": ["S."], "notes": []}  # fmt: skip

    table = pd.DataFrame({"arm": ["a", "b"], "kind": ["", "none"], "n": [0, 1], "blank": ["", ""]})
    text = TableText("T", "C", {"n": "N", "kind": "Kind", "arm": "Arm", "blank": "Blank"})
    assert text.used_heads(records(table)) == {"n": "N", "arm": "Arm"}
    assert text.used_heads([]) == text.heads
    part = Section("s", "Title", ("One.",), {"t": table[["arm", "n"]]}, notes=("Note.",), lead="Lead.")
    assert section_json(part) == {"title": "Title", "sentences": ["One."], "tables": {"t": [{"arm": "a", "n": 0}, {"arm": "b", "n": 1}]}, "notes": ["Note."]}  # fmt: skip
