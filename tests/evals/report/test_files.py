"""The files of a report: what a spreadsheet would run as a formula is text."""

from __future__ import annotations

import pandas as pd

from venire.evals.report.files import csv_text


def test_tables_are_harmless_and_their_numbers_numbers() -> None:
    table = pd.DataFrame({"case": ["=1+1", "b"], "gap": [-0.5, 1.0], "mixed": [-2, "@x"], "-name": [1, 2]})

    assert csv_text(table).splitlines() == ["case,gap,mixed,'-name", "'=1+1,-0.5,-2,1", "b,1.0,'@x,2"]
