"""Tables and documents as JSON."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from venire.evals.report.section import document_text, estimate_phrase, records
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
