"""Tables and documents as JSON."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from venire.evals.report.section import document_text, records


def test_a_document_is_written_a_row_a_line() -> None:
    table = pd.DataFrame(
        {"n": [1, 2], "value": [0.5, np.nan], "of": pd.Series([np.int64(3), "x"], dtype=object)}
    )
    document = {"tables": {"one": records(table), "none": []}, "notes": ["a", "b"], "empty": {}}

    text = document_text(document)

    assert document["tables"]["one"][1] == {"n": 2, "value": None, "of": "x"}
    assert '   {"n": 1, "value": 0.5, "of": 3},\n' in text
    assert json.loads(text) == document
