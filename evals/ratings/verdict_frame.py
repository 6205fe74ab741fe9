"""Verdicts as one table."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from ...orchestration.verdict import Verdict


def to_frame(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """One row an attribute of a verdict, and one a derived score; what was not reached has no value, never a number."""
    return pd.DataFrame([row for verdict in verdicts for row in verdict.rows()])
