"""What a run's juries are worth in independent votes, from the cases that people rated."""

from __future__ import annotations

from ..evals.audits.independence_section import independence_section
from ..evals.figures.section import Section
from ..evals.ratings.people import ratings_table
from ..evals.ratings.question import rubric_questions
from ..evals.ratings.rating_check import check_ratings
from ..evals.ratings.reference import reference
from ..evals.ratings.run_tables import RoundVotes
from ..orchestration.record import Location, Store
from .deliberation_reader import Recounter
from .people import People


def jury_worth(run: Location, people: People) -> Section | None:
    """The section on effective votes that `compare` has, of the deliberations on rated cases; None where there is nothing to tell.

    Opens the record anew, so that it can be called from another thread.
    """
    store = Store.read(run)
    try:
        arms, collector, recounter = store.arms(), RoundVotes(), Recounter(store)
        for arm in arms:
            if len(arm.jury.seats) < 2:
                continue
            for case in people.cases:
                for transcript in store.transcripts(arm, case):
                    collector.add(arm, recounter.verdict(arm, transcript))
    finally:
        store.release()
    questions = rubric_questions(*(arm.rubric for arm in arms))
    given = ratings_table(rating for case in people.cases for rating in people.ratings_of(case))
    rated, _ = check_ratings(given, questions)
    return independence_section(collector.table(), reference(rated, questions).table, questions)
