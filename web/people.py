"""People's ratings beside a run's scores: by case, and where they are furthest apart."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..orchestration.record import Location, Store
from ..rubrics.ratings import Rating
from .deliberation_reader import Recounter
from .figures import kept_figure
from .index_writer import read_to, transaction
from .search import PAGE, CaseSearch, Finder

if TYPE_CHECKING:
    from ..evals.report.section import Section

Numbers = Mapping[str, float | str]
"""By rater, what each gave."""


class Difference(NamedTuple):
    """An arm's score and the median of people's, of one attribute of one case."""

    case: str
    arm: str
    attribute: str
    score: float
    people: float

    @property
    def apart(self) -> float:
        """How far the arm stands above people."""
        return self.score - self.people


class People:
    """The last ratings of every person, by case and attribute; `notes` say which could not be used."""

    def __init__(self, ratings: Iterable[Rating], notes: Sequence[str] = ()) -> None:
        self.notes = notes
        ratings = list(ratings)
        self.digest = hashlib.sha256(repr(ratings).encode("utf-8", "surrogatepass")).hexdigest()
        """Names these ratings in the index."""
        self._medians: dict[str, dict[str, float]] = {}
        self._by_case: dict[str, dict[tuple[str, str], Rating]] = {}
        for rating in ratings:
            mine, key = self._by_case.setdefault(rating.case, {}), (rating.attribute, rating.rater)
            before = mine.get(key)
            if rating.value is None or (before and (rating.round or 0) < (before.round or 0)):
                continue
            mine[key] = rating

    @property
    def cases(self) -> list[str]:
        """The cases that somebody rated."""
        return [case for case, given in self._by_case.items() if given]

    def ratings_of(self, case: str) -> tuple[Rating, ...]:
        """What each person said of each attribute of the case, with the reason where one was given."""
        return tuple(self._by_case.get(case, {}).values())

    def of(self, case: str) -> Mapping[str, Numbers]:
        """By attribute, what each person gave the case."""
        found: dict[str, dict[str, float | str]] = {}
        for rating in self.ratings_of(case):
            if rating.value is not None:
                found.setdefault(rating.attribute, {})[rating.rater] = rating.value
        return found

    def median(self, case: str, attribute: str) -> float | None:
        """The median of the people's numbers; None where nobody gave one."""
        if case not in self._medians:
            numbers: dict[str, list[float]] = {}
            for rating in self.ratings_of(case):
                if isinstance(rating.value, int | float):
                    numbers.setdefault(rating.attribute, []).append(rating.value)
            self._medians[case] = {name: statistics.median(given) for name, given in numbers.items()}
        return self._medians[case].get(attribute)

    def differences(self, scores: Iterable[tuple[str, str, str, float]]) -> list[Difference]:
        """Every score that people rated too, the furthest from their median first."""
        found = []
        for case, arm, attribute, score in scores:
            middle = self.median(case, attribute)
            if middle is not None:
                found.append(Difference(case, arm, attribute, score, middle))
        return sorted(found, key=lambda each: (-abs(each.apart), each.case, each.arm, each.attribute))


def people_of_run(run: Location, ratings: Sequence[Rating]) -> People:
    """People's ratings as far as they are of the run's cases and on its scales.

    Raises:
        InvalidRatings: More than half of the ratings of what was asked cannot be used.
    """
    # The table loads pandas, which the inspector does without where nobody rated.
    from ..evals.ratings.evidence import is_unfinished
    from ..evals.ratings.people import check_ratings, ratings_table
    from ..evals.ratings.preferences import under_labels
    from ..evals.ratings.question import rubric_questions

    store = Store.read(run)
    try:
        ratings = under_labels(ratings, store)
        questions = rubric_questions(*(arm.rubric for arm in store.arms()))
        cases, unfinished = store.case_ids(), is_unfinished(store)
    finally:
        store.release()
    asked = ratings_table(rating for rating in ratings if rating.attribute in questions)
    kept, check = check_ratings(asked, questions, cases=cases, more_to_come=unfinished)
    usable = set(zip(kept["case"], kept["rater"], kept["attribute"], strict=True))
    # A run in progress may still hear the cases that it does not know yet.
    known = {rating.case for rating in ratings} if unfinished else set(cases)
    others = dict.fromkeys(rating.attribute for rating in ratings if rating.attribute not in questions)
    unknown = (
        [
            f"the juries were not asked about these attributes, which are shown only on the pages of cases: {', '.join(others)}"
        ]
        if others
        else []
    )
    return People(
        [
            rating
            for rating in ratings
            if (rating.case, rating.rater, rating.attribute) in usable
            or (rating.attribute in others and rating.case in known)
            or (unfinished and rating.case not in cases)
        ],
        (*check.notes, *unknown),
    )


def jury_worth(run: Location, people: People) -> tuple[Section | None, Section | None]:
    """The sections on effective votes and on what deliberation did that `compare` has, of the deliberations on rated cases; None where
    there is nothing to tell.

    Opens the record anew, so that it can be called from another thread.
    """
    # Statistics load pandas and scipy, which few pages need.
    from ..evals.audits.independence import independence_section
    from ..evals.comparison.deliberation import deliberation_section
    from ..evals.comparison.objectives import MARGIN, OBJECTIVES
    from ..evals.ratings.people import check_ratings, ratings_table
    from ..evals.ratings.question import rubric_questions
    from ..evals.ratings.reference import reference
    from ..evals.ratings.run_tables import BlindCounts, RoundVotes, VoteChanges

    store = Store.read(run)
    try:
        arms, recounter = store.arms(), Recounter(store)
        collectors = rounds, blind, changes = RoundVotes(), BlindCounts(), VoteChanges()
        groups = {case: found.group for case in people.cases if (found := store.case(case)) and found.group}
        for arm in arms:
            if len(arm.jury.seats) < 2:
                continue
            for case in people.cases:
                for transcript in store.transcripts(arm, case):
                    verdict = recounter.verdict(arm, transcript)
                    for collector in collectors:
                        collector.add(arm, verdict)
    finally:
        store.release()
    questions = rubric_questions(*(arm.rubric for arm in arms))
    ratings = [rating for case in people.cases for rating in people.ratings_of(case)]
    asked = [rating for rating in ratings if rating.attribute in questions]
    if not asked:
        return None, None
    rated, _ = check_ratings(ratings_table(asked), questions)
    truth = reference(rated, questions).table
    return independence_section(rounds.table(), truth, questions), deliberation_section(
        blind.table(),
        changes.table(),
        truth,
        questions,
        groups,
        objective=OBJECTIVES["credit"],
        margin=MARGIN,
        unit="calls",
    )


class PeopleStatistics(NamedTuple):
    """What has been computed of people's ratings so far."""

    scored: int
    """The last deliberation whose differences are known; 0 where none are."""
    told_of: int
    """The last deliberation that the statistics are of; 0 while they are computed for the first time."""
    worth: dict[str, Any] | None
    """The section on effective votes."""
    effects: list[str]
    """What deliberation did, in sentences."""


ORDERS: Mapping[str, tuple[str, bool, str]] = {
    "case": ("case", False, "case_id"),
    "arm": ("arm", False, "arm_name"),
    "attribute": ("attribute", False, "attribute"),
    "verdict": ("verdict", True, "score"),
    "people": ("people's median", True, "people"),
    "apart": ("difference", True, "abs(score - people)"),
}
"""By name: the column's head, whether the largest come first, and what is sorted by."""


class KeptDifferences:
    """Reads from the index what was computed of one set of ratings."""

    def __init__(self, connection: sqlite3.Connection, ratings: str) -> None:
        self._connection, self._ratings = connection, ratings

    def statistics(self) -> PeopleStatistics:
        kept = kept_figure(self._connection, self._ratings)
        return PeopleStatistics(kept.scored, kept.told_of, **(kept.content or {"worth": None, "effects": []}))

    def largest(self, most: int) -> tuple[list[Difference], int]:
        """The largest differences, and how many there are in all."""
        rows = "SELECT case_id, arm_name, attribute, score, people FROM differences WHERE ratings = ? ORDER BY place LIMIT ?"
        count = "SELECT coalesce(max(place), 0) FROM differences WHERE ratings = ?"
        (total,) = self._connection.execute(count, (self._ratings,)).fetchone()
        return [Difference(*row) for row in self._connection.execute(rows, (self._ratings, most))], total

    def find(self, search: CaseSearch) -> tuple[list[Difference], dict[tuple[str, float, float], int]]:
        """One page of the differences of an arm and attribute, and how many there are by arm, people's median and score."""
        where, values = "ratings = ?", [self._ratings]
        for column, wanted in (("arm_name", search.arm), ("attribute", search.attribute)):
            if wanted:
                where, values = f"{where} AND {column} = ?", [*values, wanted]
        _, down, column = ORDERS[search.sort]
        order = (
            "place"
            if search.sort == "apart" and not search.up
            else f"{column} {'DESC' if down != bool(search.up) else 'ASC'}, place"
        )
        rows = self._connection.execute(
            f"SELECT case_id, arm_name, attribute, score, people FROM differences WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?",
            (*values, PAGE, (search.page - 1) * PAGE),
        )
        counts = self._connection.execute(
            f"SELECT arm_name, people, score, count(*) FROM differences WHERE {where} GROUP BY 1, 2, 3",
            values,
        )
        return [Difference(*row) for row in rows], {
            (arm, median, score): n for arm, median, score, n in counts
        }


def keep_differences(run: Location, connection: sqlite3.Connection, people: People) -> None:
    """Compute the differences and then the statistics of all that the index has scores of, and write them into it."""
    scored, store = read_to(connection).scored, Store.read(run)
    try:
        scores = Finder(connection, [arm.id for arm in store.arms()]).scores(people.cases)
    finally:
        store.release()
    found = people.differences(scores)
    with transaction(connection):
        connection.execute("DELETE FROM differences WHERE ratings = ?", (people.digest,))
        connection.executemany(
            "INSERT INTO differences VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((people.digest, place, *each) for place, each in enumerate(found, start=1)),
        )
        connection.execute(
            "INSERT INTO figures (name, scored) VALUES (?, ?) ON CONFLICT DO UPDATE SET scored = excluded.scored",
            (people.digest, scored),
        )
    from ..evals.report.section import section_json

    worth, effects = jury_worth(run, people)
    kept = {
        "worth": None if worth is None else section_json(worth),
        "effects": [] if effects is None else effects.sentences,
    }
    connection.execute(
        "UPDATE figures SET told_of = ?, content = ? WHERE name = ?",
        (scored, json.dumps(kept), people.digest),
    )
