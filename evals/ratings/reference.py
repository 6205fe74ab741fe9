"""What everything is held against: one value for each attribute of each case, from the people who rated it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from ...rubrics.errors import VenireError
from ...rubrics.scale import NOT_APPLICABLE, Scale
from ..statistics.matrix import FloatArray, InvalidRatings
from .question import Question

Rule = Literal["mean", "median", "majority"]
RULES: tuple[Rule, ...] = get_args(Rule)
KEYS = ["case", "attribute"]


@dataclass(frozen=True, slots=True)
class Reference:
    """People's value for each question they rated, as far as they have one."""

    table: pd.DataFrame
    """Columns `case`, `attribute`, `value`: a number, or a word where the scale has words."""
    undecided: Mapping[str, int]
    """By attribute, on how many cases two values or more are given most often, so that there is no majority."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out for want of a majority: how many cases, of which attribute."""
        return tuple(
            f"people have no majority on {name!r} of {count} case{'' if count == 1 else 's'}: not used, because there is no reference to compare with"
            for name, count in self.undecided.items()
        )


def reference(
    people: pd.DataFrame,
    questions: Mapping[str, Question],
    *,
    rule: Rule | None = None,
    without: Collection[str] = (),
) -> Reference:
    """The value people give each attribute of each case: the median of numbers, the majority of words and of two values.

    Args:
        people: Columns `case`, `attribute`, `value` and, for `without`, `rater`; one row a rating. Attributes that
            are not in `questions` are left out.
        rule: In place of the median for ordinal and interval scales; nominal and binary ones have the majority by any rule.
        without: Raters who are left out.

    Raises:
        InvalidRatings: A column is missing, or a value is not on its scale.
    """
    require_columns(people, (*KEYS, "value"), "the people's ratings")
    ratings = people.astype({"case": str, "attribute": str})
    ratings = ratings[ratings["attribute"].isin(list(questions))]
    if without:
        ratings = ratings[~ratings["rater"].isin(list(without))]
    ratings = ratings.assign(value=codes(ratings, questions)).dropna(subset=["value"])
    place = ratings.groupby(KEYS, sort=False).cumcount()
    wide = ratings.assign(place=place).pivot(index=KEYS, columns="place", values="value")
    attributes = wide.index.get_level_values("attribute")
    values = pd.Series(reference_values(wide.to_numpy(float), attributes, questions, rule), wide.index)
    split = attributes[values.isna().to_numpy(bool)]
    table = values.rename("value").dropna().reset_index()
    return Reference(
        _in_words(table, questions),
        {name: int((split == name).sum()) for name in questions if (split == name).any()},
    )


def reference_values(
    values: FloatArray, attributes: Iterable[str], questions: Mapping[str, Question], rule: Rule | None
) -> FloatArray:
    """One value for each row of ratings as numbers (one column a rater); NaN where nobody rated, or without a majority.

    Args:
        attributes: Of each row, which decides by the scale whether `rule` or the majority counts.
    """
    names = list(attributes)
    rules = {name: scale_rule(questions[name].scale, rule) for name in dict.fromkeys(names)}
    by_row = np.array([rules[name] for name in names], dtype=object)
    is_rated = ~np.isnan(values).all(axis=1)
    references = np.full(len(values), np.nan)
    for row_rule in dict.fromkeys(rules.values()):
        rule_rows = is_rated & (by_row == row_rule)
        references[rule_rows] = _summary(values[rule_rows], row_rule)
    return references


def scale_rule(scale: Scale, rule: Rule | None) -> Rule:
    """What counts on this scale: the majority of words and of two values, else `rule`, else the median."""
    if rule is not None and rule not in RULES:
        raise VenireError(
            f"{rule!r} is not a way to combine people's ratings into a reference",
            remedy=f"use one of {', '.join(RULES)}",
        )
    if scale.level == "binary" or not scale.ordered:
        return "majority"
    return rule or "median"


def rule_words(rule: Rule | None) -> str:
    """How the reference is made, for a methods paragraph."""
    words_by_rule = {
        "mean": "mean of the people",
        "majority": "value that most people gave",
        "median": "median of the people",
    }
    median_of_people = words_by_rule[rule or "median"]
    return (
        f"{median_of_people} who rated the same attribute of the same case; on nominal and binary scales it is the value "
        "that most of them gave. If two or more values tie for the most ratings, there is no majority, and the question is left out"
    )


def codes(table: pd.DataFrame, questions: Mapping[str, Question]) -> pd.Series:
    """The table's values as numbers, words as their place in the alphabet; NaN where none was given or none applies.

    Raises:
        InvalidRatings: A value is not on its attribute's scale.
    """
    numbers = pd.Series(np.nan, table.index)
    for name in dict.fromkeys(table["attribute"]):
        of_name = (table["attribute"] == name).to_numpy(bool)
        numbers[of_name] = _codes(table["value"][of_name], questions[name].scale, name).to_numpy(float)
    return numbers


def _codes(values: pd.Series, scale: Scale, attribute: str) -> pd.Series:
    blank = values.isna() | values.astype(str).isin(["", NOT_APPLICABLE])
    if scale.numeric:
        numbers = pd.to_numeric(values.where(~blank), errors="coerce")
        low, high = map(float, (min(scale.values), max(scale.values)) if scale.values else scale.ends)
        strange = ~blank & ~numbers.between(low, high)
        legal = f"use a number from {low:g} to {high:g}"
    else:
        order = sorted(map(str, scale.values))
        numbers = values.astype(str).where(~blank).map({word: float(at) for at, word in enumerate(order)})
        strange = ~blank & numbers.isna()
        legal = f"use one of {order}"
    if strange.any():
        raise InvalidRatings(
            f"{values[strange].iloc[0]!r} is not a value on the scale of {attribute!r}",
            remedy=f"{legal}; leave the value blank if there is no answer",
        )
    return numbers.astype(float)


def _in_words(table: pd.DataFrame, questions: Mapping[str, Question]) -> pd.DataFrame:
    """The table with codes of words turned back into the words."""
    words = {
        name: sorted(map(str, question.scale.values))
        for name, question in questions.items()
        if not question.scale.numeric
    }
    if not set(table["attribute"]) & set(words):
        return table
    values = [
        words[name][int(value)] if name in words else value
        for name, value in zip(table["attribute"], table["value"], strict=True)
    ]
    return table.assign(value=pd.Series(values, table.index, object))


def require_columns(table: pd.DataFrame, columns: Iterable[str], what: str) -> None:
    """Raises `InvalidRatings` where a column is missing."""
    lost = [name for name in columns if name not in table]
    if lost:
        raise InvalidRatings(
            f"these columns are missing in {what}: {', '.join(map(repr, lost))}",
            remedy=f"give the columns {','.join(columns)}",
        )


def _summary(values: FloatArray, rule: Rule) -> FloatArray:
    """By row: the mean, the median, or the value given most often (NaN where two are)."""
    if rule == "mean":
        return np.asarray(np.nanmean(values, axis=1))
    if rule == "median":
        return np.asarray(np.nanmedian(values, axis=1))
    options = np.unique(values[~np.isnan(values)])
    if not len(options):
        return np.full(len(values), np.nan)
    votes = np.column_stack([(values == option).sum(axis=1) for option in options])
    top_votes = votes.max(axis=1)
    is_single = (votes == top_votes[:, None]).sum(axis=1) == 1
    return np.where(is_single & (top_votes > 0), options[votes.argmax(axis=1)], np.nan)
