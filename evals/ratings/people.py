"""Human ratings as one long table."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ...rubrics.ratings import Rating, read_ratings
from ..statistics.matrix import InvalidRatings

BLANK = "blank"
"""The key of `DataFrame.attrs` under which blank values are counted."""


def load_ratings(path: str | Path, *, wide: bool = False) -> pd.DataFrame:
    """The ratings in `path`: columns `case`, `rater`, `attribute`, `value` and, where given, `round`, `rationale`.

    `value` holds numbers for an attribute whose every value is one, otherwise text. Ratings without a value
    are left out and counted in `attrs["blank"]`.

    Raises:
        InvalidFile: Whatever is wrong with the file, with the line where it is wrong.
    """
    return ratings_table(read_ratings(Path(path), wide=wide))


def ratings_table(given: Iterable[Rating]) -> pd.DataFrame:
    """The ratings as the table that `load_ratings` gives."""
    ratings = list(given)
    kept = [rating for rating in ratings if rating.value is not None]
    table = pd.DataFrame(
        {
            name: [getattr(rating, name) for rating in kept]
            for name in ("case", "rater", "attribute", "value")
        },
        dtype=object,
    )
    words = {rating.attribute for rating in kept if isinstance(rating.value, str)}
    if words:
        table["value"] = [_word(r.value) if r.attribute in words else r.value for r in kept]
    else:
        table["value"] = table["value"].astype(float)
    for name in ("round", "rationale"):
        column = [getattr(rating, name) for rating in kept]
        if any(value is not None for value in column):
            table[name] = pd.Series(column, dtype=object)
    table.attrs[BLANK] = len(ratings) - len(kept)
    return table


def last_round(ratings: pd.DataFrame) -> pd.DataFrame:
    """Each rater's final word: of several rounds, only the last in which an attribute was rated."""
    absent = [name for name in ("case", "rater", "attribute", "value") if name not in ratings.columns]
    if absent:
        raise InvalidRatings(
            f"the ratings have no column {absent[0]!r}",
            remedy="give the columns case, rater, attribute, value",
        )
    given = ratings[ratings["value"].notna()]
    if "round" not in given.columns:
        return given
    number = pd.to_numeric(given["round"], errors="coerce").fillna(0)
    latest = number.groupby([given["case"], given["rater"], given["attribute"]]).transform("max")
    return given[number == latest]


def _word(value: float | str | None) -> str:
    return value if isinstance(value, str) else f"{value:g}"
