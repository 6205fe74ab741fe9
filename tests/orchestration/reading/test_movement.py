"""Who moved, towards whom and on what grounds, on transcripts written by hand."""

from __future__ import annotations

import pytest
from written_transcripts import IN_NO_TEXT, IN_THE_SOURCE, cast, transcript_of

from venire import Transcript
from venire.orchestration.reading.analysis.movement import (
    chances,
    conformity,
    convergence,
    distance,
    influence,
    majority,
    moves,
    of_latest,
    turning_points,
)
from venire.orchestration.transcript import Purpose

X = "accurate"


@pytest.mark.parametrize(
    ("purpose", "moved", "ordered"),
    [
        ("blind", False, False),
        ("repeat", False, False),
        ("revision", True, False),
        ("vote", True, False),
        ("challenge", True, True),
        ("argument", True, True),
    ],
)
def test_a_changed_mind_is_another_score_from_one_who_knew_its_first(
    purpose: Purpose, moved: bool, ordered: bool
) -> None:
    """A repeat is asked as if nothing had been asked before, and whoever is told which way to argue is moved by nobody."""
    transcript = transcript_of(
        [cast("a", {X: 2}), cast("b", {X: 4})],
        [cast("a", {X: 4}, round=2, purpose=purpose, saw=("1/b",))],
    )

    assert [(move.before, move.after) for move in moves(transcript)] == [(2, 4)] * moved
    assert [move.under_orders for move in moves(transcript)] == [ordered] * moved
    assert len(influence(transcript)) == (moved and not ordered)


def test_a_move_says_which_ballots_it_lies_between_and_what_was_seen() -> None:
    transcript = transcript_of(
        [cast("a", {X: 2, "thorough": 3})],
        [cast("a", {X: 2, "thorough": 4}, round=2, purpose="revision", saw=("1/a",))],
        [cast("a", {X: 5}, round=3, purpose="revision")],
    )

    assert [move[:9] for move in moves(transcript)] == [
        ("a", "thorough", 3, 4, 2, 2, "2/a", "1/a", ("1/a",)),
        ("a", X, 2, 5, 3, 3, "3/a", "2/a", ()),
    ]


def revised(**fields: object) -> Transcript:
    """`a` goes from 1 to 4, having read `b` at 4, `c` at 5 and `d` at 1."""
    seen = {"saw": ("1/b", "1/c", "1/d"), **fields}
    first = [cast(name, {X: value}, quotes={f"quote of {name}": IN_THE_SOURCE}) for name, value in {"a": 1, "b": 4, "c": 5, "d": 1}.items()]  # fmt: skip
    return transcript_of(first, [cast("a", {X: 4}, round=2, purpose="revision", **seen)])  # type: ignore[arg-type]


def test_those_whom_a_move_brought_nearer_share_it_and_nobody_else_has_a_part() -> None:
    assert [(drawn.source, drawn.seen, drawn.credit) for drawn in influence(revised())] == [
        ("b", "1/b", 0.5),
        ("c", "1/c", 0.5),
    ]
    assert [drawn.source for drawn in influence(revised(saw=("1/c",)))] == ["c"]
    # From 1 to 4 comes no nearer to who stands in the middle.
    middle = transcript_of(
        [cast("a", {X: 1}), cast("b", {X: 2.5})],
        [cast("a", {X: 4}, round=2, purpose="revision", saw=("1/b",))],
    )
    assert influence(middle) == ()
    assert influence(revised(saw=("1/d",))) == () == influence(revised(saw=()))


@pytest.mark.parametrize(
    ("fields", "grounds"),
    [
        ({}, ()),
        ({"quotes": {"a fact": IN_THE_SOURCE, "no fact": IN_NO_TEXT}}, ("a fact",)),
        ({"quotes": {"Quote of A": IN_THE_SOURCE}}, ()),
        ({"rationale": "since the Quote of  B says so"}, ("quote of b",)),
        ({"moved_by": "quote of c"}, ("quote of c",)),
        ({"quotes": {"quote of b": IN_THE_SOURCE}, "moved_by": "quote of b"}, ("quote of b",)),
    ],
)
def test_the_grounds_are_quotes_that_stand_in_the_case_and_were_new_to_the_mover(
    fields: dict[str, object], grounds: tuple[str, ...]
) -> None:
    found = influence(revised(**fields))

    assert len(found) == 2
    assert [tuple(text.casefold() for text in drawn.grounds) for drawn in found] == [grounds] * 2


def joined(*before: int, grounds: bool = False) -> Transcript:
    """`a` goes from 2 to 4 among others who voted so, having read them all."""
    others = [cast(f"j{number}", {X: value}) for number, value in enumerate(before)]
    quotes = {"a fact": IN_THE_SOURCE} if grounds else None
    saw = tuple(f"1/{entry.speaker}" for entry in others)
    return transcript_of(
        [cast("a", {X: 2}), *others], [cast("a", {X: 4}, round=2, purpose="revision", saw=saw, quotes=quotes)]
    )


def test_to_conform_is_to_join_more_than_half_without_new_evidence() -> None:
    assert [drawn.source for drawn in conformity(joined(4, 4))] == ["j0"]
    assert conformity(joined(4)) == ()
    assert conformity(joined(4, 4, 2)) == ()
    assert conformity(joined(5, 5)) == ()
    assert conformity(joined(4, 4, grounds=True)) == ()
    assert conformity(joined(4, 4), among=()) == ()
    twice = transcript_of(
        [cast(name, {X: value}) for name, value in {"a": 1, "b": 4, "c": 4, "d": 4, "e": 2}.items()],
        [cast(name, {X: 4}, round=2, purpose="revision", saw=("1/b",)) for name in ("a", "e")],
    )
    assert [drawn.move.juror for drawn in conformity(twice)] == ["a", "e"]


def test_an_analysis_is_made_once_for_the_deliberation_it_was_last_asked_of() -> None:
    asked: list[Transcript] = []
    analysis = of_latest(lambda transcript: asked.append(transcript) or len(asked))  # type: ignore[func-returns-value]
    one, other = revised(), revised()

    assert [analysis(each) for each in (one, one, other, other, one)] == [1, 1, 2, 2, 3]


def test_a_chance_to_conform_is_a_revision_against_a_majority() -> None:
    first = [cast("a", {X: 2}), cast("b", {X: 4}), cast("c", {X: 4})]
    second = [cast(name, {X: 4}, round=2, purpose="revision") for name in ("a", "b")]
    challenged = [cast("a", {X: 4}, round=2, purpose="challenge")]

    assert chances(transcript_of(first, second)) == {"a": 1}
    assert chances(transcript_of(first, challenged)) == {}
    assert chances(transcript_of(first[:2], second)) == {}
    again = [cast("a", {X: 2}, round=2, purpose="revision")]
    assert chances(transcript_of(first, again, second)) == {"a": 2}
    # Who has not voted before has nothing to give up.
    late = [cast("d", {X: 2}, round=2, purpose="revision")]
    assert chances(transcript_of(first, late)) == {}


def test_a_majority_is_more_than_half() -> None:
    assert majority([1, 1, 2]) == 1 and majority([1, 2]) is None and majority([]) is None
    assert majority(["yes", "no", "no"]) == "no"


def test_words_are_apart_or_not_and_numbers_by_how_much() -> None:
    assert (distance(1, 4), distance(4, 1)) == (3, 3)
    assert (distance("yes", "no"), distance("yes", "yes"), distance("yes", 1)) == (1, 0, 1)


def test_rounds_in_which_nobody_was_asked_repeat_what_stood() -> None:
    transcript = transcript_of(
        [cast("a", {X: 2}), cast("b", {X: 4, "thorough": 3})],
        [cast("b", {"thorough": 5}, round=2, purpose="revision")],
        [cast("a", {X: 4}, round=3, purpose="revision")],
    )
    points = convergence(transcript)[X]

    assert [(p.round, dict(p.values), p.spread, p.agreement) for p in points] == [
        (1, {"a": 2, "b": 4}, 2, 0.5),
        (2, {"a": 2, "b": 4}, 2, 0.5),
        (3, {"a": 4, "b": 4}, 0, 1.0),
    ]
    assert [p.agreement for p in convergence(transcript)["thorough"]] == [1, 1, 1]


def test_a_turning_point_moves_the_middle_or_settles_the_jury() -> None:
    def after(*values: int) -> list[tuple[object, ...]]:
        first = [cast(name, {X: value}) for name, value in zip("abc", (2, 4, 5), strict=True)]
        second = [
            cast(name, {X: value}, round=2, purpose="revision")
            for name, value in zip("abc", values, strict=True)
        ]
        return [
            (turn.round, turn.step, turn.before, turn.after, turn.settled, len(turn.moves))
            for turn in turning_points(transcript_of(first, second))
        ]

    assert after(2, 4, 5) == after(1, 4, 5) == after(4, 4, 5) == []
    assert after(2, 3, 5) == [(2, 2, 4, 3, False, 1)]
    assert after(4, 4, 4) == [(2, 2, 4, 4, True, 2)]
    assert after(5, 5, 5) == [(2, 2, 4, 5, True, 2)]
    nearly = [cast("a", {X: 4}), cast("b", {X: 4}), cast("c", {X: 5})]
    moved = [cast("c", {X: 4}, round=2, purpose="revision")]
    back = [cast(name, {X: 5}, round=3, purpose="revision") for name in "abc"]
    # Each step is told by what stood after it, not after the next.
    assert [turn[1:6] for turn in turning_points(transcript_of(nearly, moved, back))] == [
        (2, 2, 4, 4, True),
        (3, 3, 4, 5, False),
    ]


def test_among_words_the_commonest_answer_is_the_middle() -> None:
    first = [cast(name, {X: value}) for name, value in {"a": "no", "b": "no", "c": "yes"}.items()]
    second = [cast(name, {X: "yes"}, round=2, purpose="revision") for name in "ab"]
    (turn,) = turning_points(transcript_of(first, second))

    assert (turn.before, turn.after, turn.settled) == ("no", "yes", True)
