"""Published tables, and long form from short."""

from collections.abc import Iterable, Sequence

import pandas as pd

SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
"""Shrout and Fleiss (1979), table 2: six targets by four judges."""

KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
"""Krippendorff (2011): four observers by twelve units."""


def long_table(cases: Iterable[Sequence[object]]) -> pd.DataFrame:
    """A long table from one row per case and one column per rater."""
    return pd.DataFrame(
        [(f"c{i}", f"r{j}", value) for i, row in enumerate(cases) for j, value in enumerate(row)],
        columns=["case", "rater", "value"],
    )


def by_rater(raters: Sequence[Sequence[object]]) -> pd.DataFrame:
    """A long table from one row per rater."""
    return long_table(zip(*raters, strict=True))


def two_by_two(both: int, first: int, second: int, neither: int) -> pd.DataFrame:
    """Two raters' yes and no from the cells of their table."""
    return long_table([(1, 1)] * both + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * neither)


def from_counts(counts: Sequence[Sequence[int]]) -> pd.DataFrame:
    """A long table from how many raters put each case in each category."""
    return long_table([[c for c, times in enumerate(row) for _ in range(times)] for row in counts])
