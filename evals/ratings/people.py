"""People's ratings as one long table, held against the cases and the questions: what is used, what is left out and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...rubrics.ratings import Rating, read_ratings
from ...rubrics.scale import NOT_APPLICABLE, Scale
from ..statistics.matrix import InvalidRatings
from .question import Question

BLANK = "blank"
"""The key of `DataFrame.attrs` under which blank values are counted."""
_NAMED = 5
"""How many cases, attributes or values a note names."""
_LEADING_NUMBER = r"['+\-\u2212]?[.,]?\d"


def load_ratings(path: str | Path) -> pd.DataFrame:
    """The ratings in `path`: columns `case`, `rater`, `attribute`, `value` and, where given, `round`, `rationale`.

    `value` holds numbers for an attribute whose every value is one, otherwise text. Ratings without a value
    are left out and counted in `attrs["blank"]`.

    Raises:
        InvalidFile: Whatever is wrong with the file, with the line where it is wrong.
    """
    return ratings_table(read_ratings(Path(path)))


def ratings_table(given: Iterable[Rating]) -> pd.DataFrame:
    """The ratings as the table that `load_ratings` gives."""
    ratings = list(given)
    rated = [rating for rating in ratings if rating.value is not None]
    table = pd.DataFrame(
        {
            name: [getattr(rating, name) for rating in rated]
            for name in ("case", "rater", "attribute", "value")
        },
        dtype=object,
    )
    words = {rating.attribute for rating in rated if isinstance(rating.value, str)}
    if words:
        table["value"] = [_word(r.value) if r.attribute in words else r.value for r in rated]
    else:
        table["value"] = table["value"].astype(float)
    for name in ("round", "rationale"):
        column = [getattr(rating, name) for rating in rated]
        if any(value is not None for value in column):
            table[name] = pd.Series(column, dtype=object)
    table.attrs[BLANK] = len(ratings) - len(rated)
    return table


def last_round(ratings: pd.DataFrame) -> pd.DataFrame:
    """Each rater's final word: of several rounds, only the last in which an attribute was rated."""
    absent = [name for name in ("case", "rater", "attribute", "value") if name not in ratings.columns]
    if absent:
        raise InvalidRatings(
            f"the ratings have no column {absent[0]!r}",
            remedy="give the columns case, rater, attribute, value",
        )
    rated = ratings[ratings["value"].notna()]
    if "round" not in rated.columns:
        return rated
    number = pd.to_numeric(rated["round"], errors="coerce").fillna(0)
    latest = number.groupby([rated["case"], rated["rater"], rated["attribute"]]).transform("max")
    return rated[number == latest]


def _word(value: float | str | None) -> str:
    return value if isinstance(value, str) else f"{value:g}"


@dataclass(frozen=True, slots=True)
class RatingCheck:
    """How many ratings were given, and what became of those that are not used."""

    given: int
    """Each rater's last word on an attribute of a case; blank ones and earlier rounds are not among them."""
    kept: int
    no_case: Mapping[str, int]
    """By case id that none of the cases has: how many ratings."""
    unknown_attributes: Mapping[str, int]
    """By attribute that no one was asked about: how many ratings."""
    off_scale: Mapping[str, tuple[str, ...]]
    """By attribute: the values that are not on its scale, one for each rating."""
    in_words: Mapping[str, tuple[str, ...]]
    """By attribute with a scale of numbers: the values that are no number, one for each rating."""
    unrated: tuple[str, ...]
    """The cases of which nobody rated anything that was asked."""
    blank: int
    """Ratings without a value, or marked as not applicable."""
    earlier: int
    """Ratings of an earlier round, which a later one of the same rater replaces."""

    @property
    def lost(self) -> int:
        return self.given - self.kept

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for everything that is left out; none where nothing is."""
        sentences = []
        if self.no_case:
            count = sum(self.no_case.values())
            sentences.append(
                f"{_ratings(count)} left out, because no case has this id: {_some(self.no_case)}"
            )
        if self.unknown_attributes:
            names = [f"{name!r} ({count})" for name, count in self.unknown_attributes.items()]
            sentences.append(
                f"attributes left out, because people rated them but the juries were not asked about them: {_some(names)}"
            )
        for fault, values in (("not on its scale", self.off_scale), ("not a number", self.in_words)):
            sentences += [_values_note(name, fault, strays) for name, strays in values.items()]
        if self.unrated:
            sentences.append(f"{_cases(len(self.unrated))} without a rating: {_some(self.unrated)}")
        return tuple(sentences)

    def to_json(self) -> dict[str, Any]:
        return {
            "given": self.given,
            "kept": self.kept,
            "no_case": dict(self.no_case),
            "unknown_attributes": dict(self.unknown_attributes),
            "off_scale": {name: list(values) for name, values in self.off_scale.items()},
            "in_words": {name: list(values) for name, values in self.in_words.items()},
            "unrated_cases": list(self.unrated),
            "blank": self.blank,
            "earlier_rounds": self.earlier,
        }


def check_ratings(
    human: pd.DataFrame,
    questions: Mapping[str, Question],
    *,
    taken: Collection[str] = (),
    cases: Collection[str] | None = None,
    more_to_come: bool = False,
) -> tuple[pd.DataFrame, RatingCheck]:
    """The people's last words on what was asked, and what was left out of them.

    Args:
        taken: Names that arms have: a person of that name is told apart.
        cases: The ids of the cases; without them, ratings of any case are kept.
        more_to_come: Whether more cases are still to be heard: ratings of no case then may be of those, and are not lost.

    Raises:
        InvalidRatings: More than half of the ratings cannot be used, or a person rated a case twice in one round.
    """
    final = last_round(human).astype({"case": str, "rater": str, "attribute": str})
    earlier = int(human["value"].notna().sum()) - len(final)
    inapplicable = final["value"].astype(str).isin(["", NOT_APPLICABLE])
    final = final[~inapplicable].copy()
    final["rater"] = [f"{name} (person)" if name in taken else name for name in final["rater"]]
    case_ids = set(final["case"]) if cases is None else set(cases)
    has_case, is_asked = final["case"].isin(case_ids), final["attribute"].isin(list(questions))
    usable = final[has_case & is_asked]
    _refuse_duplicates(usable)
    parts, off_scale, in_words = [], {}, {}
    for name, part in usable.groupby("attribute", sort=False):
        legal, strange, words = _legal(part, questions[str(name)].scale)
        parts.append(legal)
        if strange:
            off_scale[str(name)] = strange
        if words:
            in_words[str(name)] = words
    usable_rows = pd.concat(parts, ignore_index=True) if parts else usable
    usable_rows = usable_rows[["case", "rater", "attribute", "value"]]
    rated_cases = set(usable_rows["case"])
    check = RatingCheck(
        given=len(final),
        kept=len(usable_rows),
        no_case=_counts(final.loc[~has_case, "case"]),
        unknown_attributes=_counts(final.loc[has_case & ~is_asked, "attribute"]),
        off_scale=off_scale,
        in_words=in_words,
        unrated=() if cases is None else tuple(case for case in cases if case not in rated_cases),
        blank=int(human.attrs.get(BLANK, 0) + human["value"].isna().sum() + inapplicable.sum()),
        earlier=earlier,
    )
    lost = check.lost - (sum(check.no_case.values()) if more_to_come else 0)
    if 2 * lost > check.given:
        raise InvalidRatings(
            f"{check.lost} of the {check.given} ratings cannot be used: {'; '.join(check.notes)}",
            remedy="correct the ids, attributes and values of the ratings, or remove those of other cases",
        )
    return usable_rows, check


def usable_ratings(
    ratings: pd.DataFrame, questions: Mapping[str, Question] | None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A ratings table without the values that are not on the scales of `questions`, and what was left out.

    Attributes that are not among them stay: their scale is guessed from their values, and that is said. A few words among
    their numbers make no scale of words: they are left out.
    """
    blank = int(ratings.attrs.get(BLANK, 0))
    notes = [f"{_ratings(blank)} without a value left out"] if blank else []
    if questions is None:
        usable, stray = without_stray_words(ratings)
        return usable, (*notes, *stray, *_numbers_in_words(usable))
    is_known = ratings["attribute"].astype(str).isin(list(questions))
    guessed = sorted(set(ratings.loc[~is_known, "attribute"].astype(str)))
    if guessed:
        notes.append(
            f"the scale of attributes that are not in the rubric is guessed from their values: {_some(guessed)}"
        )
    usable, check = check_ratings(ratings[is_known], questions)
    guessed_rows, stray = without_stray_words(last_round(ratings[~is_known]))
    notes += [*check.notes, *stray, *_numbers_in_words(guessed_rows)]
    return pd.concat([usable, guessed_rows], ignore_index=True), tuple(notes)


def without_stray_words(ratings: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The ratings without the words among an attribute's numbers, where most of its values are numbers; and what was left out."""
    words = ratings["value"].notna() & pd.to_numeric(ratings["value"], errors="coerce").isna()
    share = words.groupby(ratings["attribute"].astype(str)).transform("mean")
    stray = words & (share < 0.5)
    notes = tuple(
        _values_note(str(name), "not a number", tuple(map(str, part["value"])))
        for name, part in ratings[stray].groupby("attribute", sort=False)
    )
    return ratings[~stray], notes


def _numbers_in_words(ratings: pd.DataFrame) -> Iterator[str]:
    """A note for each attribute that is read as words though most of these begin with a number."""
    words = ratings[ratings["value"].notna() & pd.to_numeric(ratings["value"], errors="coerce").isna()]
    for name, part in words.groupby("attribute", sort=False):
        numbered = part["value"].astype(str).str.match(_LEADING_NUMBER)
        if 2 * numbered.sum() > len(part):
            example = part.loc[numbered, "value"].iloc[0]
            yield (
                f"values of {str(name)!r} such as {str(example)!r} were read as words: "
                "write only the number if they are numbers"
            )


def _refuse_duplicates(ratings: pd.DataFrame) -> None:
    twice = ratings.duplicated(["case", "rater", "attribute"])
    if twice.any():
        row = ratings[twice].iloc[0]
        raise InvalidRatings(
            f"rater {row['rater']!r} rated {row['attribute']!r} of case {row['case']!r} more than once",
            remedy="keep one rating for each case, rater and attribute, or distinguish them in a column `round`",
        )


def _legal(part: pd.DataFrame, scale: Scale) -> tuple[pd.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """The ratings that lie on the scale, as its values; the values that do not; and the words among numbers."""
    if not scale.numeric:
        words = part.assign(value=part["value"].astype(str))
        legal = words["value"].isin([str(value) for value in scale.values])
        return words[legal], tuple(words.loc[~legal, "value"]), ()
    numbers = pd.to_numeric(part["value"], errors="coerce")
    low, high = (float(end) for end in scale.ends)
    word = numbers.isna()
    strange = ~word & ~numbers.between(low, high)
    sound = part.assign(value=numbers)[~word & ~strange]
    return sound, tuple(f"{value:g}" for value in numbers[strange]), tuple(map(str, part.loc[word, "value"]))


def _values_note(name: str, fault: str, strays: tuple[str, ...]) -> str:
    be = "is" if len(strays) == 1 else "are"
    return f"{_ratings(len(strays))} of {name!r} {be} {fault}, left out: {_some(dict.fromkeys(strays))}"


def _counts(names: pd.Series) -> dict[str, int]:
    return {str(name): int(count) for name, count in names.value_counts().items()}


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    and_more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + and_more


def _ratings(count: int) -> str:
    return f"{count} rating{'' if count == 1 else 's'}"


def _cases(count: int) -> str:
    return f"{count} case{'' if count == 1 else 's'}"
