"""Conditions: each on its own, composed, and as a jury file chooses them."""

from __future__ import annotations

import math

import pytest
from scipy.stats import ks_2samp
from written_transcripts import IN_NO_TEXT, IN_THE_SOURCE, abstained, cast, transcript_of

from venire import Jury, Limits, Rubric, Stop, Transcript
from venire.agents.budget import Budget, Meter
from venire.agents.model import Reply, Usage
from venire.orchestration import stopping
from venire.orchestration.stopping import all_of, any_of, ks_distance, stalls, unmoved_rounds
from venire.orchestration.transcript import Cast, Ledger, Standing
from venire.rubrics.ballot import Vote


def heard(*rounds: dict[str, object], quotes: dict[int, str] | None = None) -> Transcript:
    """Rounds of votes on `accurate`; `quotes` by round are cited by everyone in it, and stand in the source."""
    return transcript_of(
        *(
            [
                cast(
                    name,
                    {"accurate": value},  # type: ignore[dict-item]
                    round=number,
                    purpose="blind" if number == 1 else "revision",
                    quotes={quotes[number]: IN_THE_SOURCE} if quotes and number in quotes else None,
                )
                for name, value in votes.items()
            ]
            for number, votes in enumerate(rounds, 1)
        )
    )


def standing(*values: float | str) -> dict[str, Standing]:
    return {
        str(n): Standing("e", str(n), Vote(attribute="accurate", value=value, rationale="r"))
        for n, value in enumerate(values)
    }


def yes(reason: str) -> stopping.Condition:
    return lambda _: Stop(reason=reason)  # type: ignore[arg-type]


def no(_: Transcript) -> Stop | None:
    return None


def test_any_is_the_first_and_all_is_every_one() -> None:
    empty = heard()
    assert any_of()(empty) is None
    assert all_of()(empty) is None
    assert any_of(no, yes("stall"), yes("turns"))(empty) == Stop(reason="stall")
    assert all_of(yes("stall"), no)(empty) is None
    assert all_of(yes("stall"), yes("turns"))(empty) == Stop(reason="stall", detail="turns")


def test_agreement_is_unanimous_or_within_tolerance(rubric: Rubric) -> None:
    near, same, one = heard({"a": 4, "b": 5}), heard({"a": 4, "b": 4}), heard({"a": 4})
    assert stopping.unanimous(rubric, quorum=1)(near) is None
    assert stopping.consensus_reached(rubric, tolerance=1, quorum=1)(near) == Stop(reason="consensus")
    assert stopping.unanimous(rubric, quorum=1)(same) == Stop(reason="consensus")
    nothing = stopping.unanimous(rubric, quorum=2)(one)
    assert nothing is not None and nothing.reason == "complete"


def test_turns_rounds_and_stalls_name_their_limit() -> None:
    still = heard({"a": 4, "b": 5}, {"a": 4, "b": 5}, {"a": 4, "b": 5})
    assert stopping.turns(7)(still) is None
    assert stopping.turns(6)(still) == Stop(reason="turns", limit="max_turns", value=6)
    assert stopping.rounds(3)(still) == Stop(reason="rounds", limit="max_rounds", value=3)
    assert stopping.stall_limit(2)(still) == Stop(reason="stall", limit="max_stalls", value=2)
    assert stopping.stall_limit(3)(still) is None
    assert stopping.replan_limit(0, 2)(still) == Stop(reason="stall", limit="max_stalls", value=2)
    assert stopping.replan_limit(1, 2)(still) is None is stopping.replan_limit(None, 2)(still)
    assert stopping.replan_limit(1, 0)(still) == Stop(reason="stall", limit="max_stalls", value=0)


def test_new_evidence_is_movement_but_not_a_changed_vote() -> None:
    argued = heard({"a": 4, "b": 5}, {"a": 4, "b": 5}, quotes={2: "new words"})
    assert (stalls(argued), unmoved_rounds(argued)) == (0, 1)
    assert stopping.stable(1)(argued) == Stop(reason="stable", limit="stable_rounds", value=1)
    assert stopping.stable(2)(argued) is None


def again(*entries: Cast) -> Transcript:
    """A first round in which `a` and `b` vote 4 and 5 and cite one quote, and a second with these ballots."""
    first = [
        cast("a", {"accurate": 4, "thorough": 3}, quotes={"Fever": IN_THE_SOURCE}),
        cast("b", {"accurate": 5, "thorough": 3}),
    ]
    return transcript_of(first, entries)


@pytest.mark.parametrize(
    ("attribute", "quotes", "new"),
    [
        ("accurate", {"a rash": IN_THE_SOURCE}, True),
        ("accurate", {"a rash": IN_NO_TEXT}, False),
        ("accurate", {"FEVER": IN_THE_SOURCE}, False),
        ("accurate", {"\u201cFe\u2060ver\u201d,\n": IN_THE_SOURCE}, False),
        ("accurate", {"made up": IN_NO_TEXT, "a rash": IN_THE_SOURCE}, True),
        ("accurate", {}, False),
    ],
)
def test_new_evidence_is_a_quote_that_stands_in_a_text_and_that_nobody_had_cited(
    attribute: str, quotes: dict[str, str | None], new: bool
) -> None:
    # Cited by the other juror: whoever said it first, it is not new.
    second = cast("b", {attribute: 5}, round=2, purpose="revision", quotes=quotes)

    assert stopping.moved(again(second), 2) is new
    assert stalls(again(second)) == (not new)
    assert unmoved_rounds(again(second)) == 1


def test_what_was_cited_for_another_attribute_is_new_for_this_one() -> None:
    first = [
        cast("a", {"accurate": 4}, quotes={"Fever": IN_THE_SOURCE}),
        cast("b", {"thorough": 3}, quotes={"rash": IN_THE_SOURCE}),
    ]
    for quote, new in (("Fever", False), ("rash", True)):
        second = [cast("a", {"accurate": 4}, round=2, purpose="revision", quotes={quote: IN_THE_SOURCE})]
        assert stopping.moved(transcript_of(first, second), 2) is new


def test_a_first_vote_and_a_changed_one_are_movement() -> None:
    for juror, value, changed in (("a", 4, False), ("a", 3, True), ("c", 4, True)):
        transcript = again(cast(juror, {"accurate": value}, round=2, purpose="revision"))
        assert stopping.moved(transcript, 2) is changed
        assert unmoved_rounds(transcript) == (not changed)


def test_only_the_rounds_since_the_last_movement_are_stalls() -> None:
    still, moved = {"a": 4, "b": 5}, {"a": 5, "b": 5}
    assert stalls(heard(still)) == unmoved_rounds(heard(still)) == 0
    assert stalls(heard(still, still, moved, moved)) == 1
    assert stalls(heard(still, moved, moved, moved)) == 2
    assert unmoved_rounds(heard(still, still, moved, moved, moved)) == 2


def test_jurors_who_change_places_leave_the_distribution_as_it_was(rubric: Rubric) -> None:
    swapped = heard({"a": 2, "b": 4}, {"a": 4, "b": 2})
    stop = stopping.distribution_stable(rubric, 0.1)(swapped)
    assert stop is not None and (stop.reason, stop.limit) == ("stable", "ks")
    assert stopping.distribution_stable(rubric, 0.1)(heard({"a": 2, "b": 4}, {"a": 4, "b": 4})) is None
    assert stopping.distribution_stable(rubric, 0.1)(heard({"a": 2, "b": 4})) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((1, 2, 3), (1, 2, 3)),
        ((1, 2, 3), (3, 3, 3)),
        ((5, 5), (1, 1, 1)),
        ((1, 4), (2, 3)),
        ((1, 2), (3, 4)),
        ((1, 1, 5), (2, 3, 4)),
        ((2, 10), (9, 9)),
    ],
)
def test_the_statistic_is_scipys(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    ours = ks_distance(standing(*before), standing(*after))
    assert math.isclose(ours, float(ks_2samp(before, after).statistic))


def test_between_words_the_statistic_is_total_variation() -> None:
    assert ks_distance(standing("yes", "no"), standing("no", "yes")) == 0
    assert ks_distance(standing("yes", "yes"), standing("no", "yes")) == 0.5
    assert ks_distance(standing("yes"), standing()) == 1


def test_hard_limits_are_told_apart() -> None:
    meter = Meter(Limits(max_tokens=10, max_usd=1.0), Budget())
    assert stopping.hard_limits(meter)(heard()) is None
    meter.add(Reply(text="", usage=Usage(prompt=10), usd=0.1), replayed=False)
    assert stopping.tokens(meter)(heard()) == Stop(reason="budget", limit="max_tokens", value=10)
    assert stopping.dollars(meter)(heard()) is None
    assert stopping.seconds(meter)(heard()) is None
    assert stopping.hard_limits(meter)(heard()) == stopping.tokens(meter)(heard())
    times = Meter(Limits(max_seconds=10, max_usd=0.1), Budget())
    times._started -= 11
    assert (
        stopping.seconds(times)(heard())
        == stopping.hard_limits(times)(heard())
        == Stop(reason="time", limit="max_seconds", value=10)
    )
    paid = Meter(Limits(max_usd=0.1), Budget())
    paid.add(Reply(text="", usage=Usage(prompt=1), usd=0.1), replayed=False)
    assert (
        stopping.dollars(paid)(heard())
        == stopping.hard_limits(paid)(heard())
        == Stop(reason="budget", limit="max_usd", value=0.1)
    )


def jury(**fields: object) -> Jury:
    limits = {"max_rounds": 9, "max_turns": None, "max_stalls": None, "max_replans": 0, **fields}
    stop = {name: limits.pop(name) for name in ("stable_rounds", "ks") if name in limits}
    return Jury.model_validate(
        {"name": "j", "seats": [{"name": "a"}, {"name": "b"}], "limits": limits, "stop": stop}
    )


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({}, None),
        ({"max_turns": 6}, "max_turns"),
        ({"max_turns": 7}, None),
        ({"max_rounds": 3}, "max_rounds"),
        ({"max_rounds": 3, "max_turns": 6}, "max_turns"),
        ({"max_stalls": 2}, "max_stalls"),
        ({"max_stalls": 3}, None),
        ({"stable_rounds": 2}, "stable_rounds"),
        ({"ks": 0.1}, "ks"),
        ({"max_stalls": 2, "stable_rounds": 2, "ks": 0.1}, "max_stalls"),
    ],
)
def test_a_jury_files_limits_in_their_order(
    rubric: Rubric, fields: dict[str, float], limit: str | None
) -> None:
    still = heard({"a": 4, "b": 5}, {"a": 4, "b": 5}, {"a": 4, "b": 5})
    for replans in (False, True):
        stop = stopping.limits_of(jury(**fields), rubric, replans=replans)(still)
        assert (stop and stop.limit) == limit
        assert stop is None or limit is None or stop.value == fields[limit]


def test_whoever_presides_may_put_questions_anew_so_often(rubric: Rubric) -> None:
    still = heard({"a": 4, "b": 5}, {"a": 4, "b": 5})
    anew = still.add([Ledger(round=3, disputes=(), author="code", replan=True)])
    again = heard({"a": 4, "b": 5}, {"a": 4, "b": 5}, {"a": 4, "b": 5}).add(
        [Ledger(round=3, disputes=(), author="code", replan=True)]
    )
    limited = jury(max_stalls=1, max_replans=1)
    assert [stopping.replans(each) for each in (still, anew, again)] == [0, 1, 1]
    assert [stopping.stalls(each) for each in (still, anew, again)] == [1, 0, 1]
    assert stopping.replan_due(still, limited) and not stopping.replan_due(anew, limited)
    presided = stopping.limits_of(limited, rubric, replans=True)
    assert presided(still) is None and presided(anew) is None
    assert presided(again) == Stop(reason="replans", limit="max_replans", value=1)
    assert stopping.limits_of(limited, rubric)(still) == Stop(reason="stall", limit="max_stalls", value=1)


def test_all_of_them_say_so_in_the_detail_of_the_first() -> None:
    def with_detail(_: Transcript) -> Stop:
        return Stop(reason="stall", detail="one")

    empty = heard()
    assert all_of(with_detail, yes("turns"), yes("rounds"))(empty) == Stop(
        reason="stall", detail="one; turns; rounds"
    )
    assert all_of(yes("stall"))(empty) == Stop(reason="stall")
    assert all_of(no, yes("stall"))(empty) is None
    seen: list[Transcript] = []
    all_of(lambda transcript: seen.append(transcript))(empty)  # type: ignore[func-returns-value]
    assert seen == [empty]


def test_what_kept_a_quorum_from_voting_is_said(rubric: Rubric) -> None:
    both = {"accurate": 4, "thorough": 3}
    short = abstained("b", "accurate", "thorough", reason="limit")
    down = abstained("b", "accurate", "thorough")

    def stop(*entries: object, quorum: int = 2, **fields: object) -> Stop | None:
        return stopping.consensus_reached(rubric, tolerance=0, quorum=quorum, **fields)(
            transcript_of(entries)
        )  # type: ignore[arg-type]

    assert stop(cast("a", both), short) == Stop(reason="complete", detail=stopping.NO_QUORUM)
    assert stop(cast("a", both), short, max_turns=1) == Stop(reason="turns", limit="max_turns", value=1, detail=stopping.NO_QUORUM)  # fmt: skip
    assert stop(cast("a", both), down, max_turns=1) == Stop(reason="complete", detail=stopping.NO_QUORUM)
    some = (cast("a", both), cast("c", {"accurate": 4}), short)
    assert stop(*some, max_turns=2) == Stop(
        reason="turns", limit="max_turns", value=2, detail=stopping.SOME_QUORUM
    )
    assert stop(*some) == Stop(reason="consensus")
    assert stop(cast("a", both), cast("c", both), short, max_turns=2) == Stop(reason="consensus")
    assert stop(*some, max_turns=2, among=["accurate"]) == Stop(reason="consensus")


def test_agreement_may_be_asked_of_some_attributes(rubric: Rubric) -> None:
    split = transcript_of(
        [cast("a", {"accurate": 4, "thorough": 1}), cast("b", {"accurate": 4, "thorough": 5})]
    )
    asked = {"tolerance": 0, "quorum": 2}
    assert stopping.disputed_attributes(split, rubric, tolerance=0, quorum=2) == ("thorough",)
    assert stopping.disputed_attributes(split, rubric, tolerance=4, quorum=2) == ()
    assert stopping.disputed_attributes(split, rubric, tolerance=0, quorum=3) == ()
    assert stopping.disputed_attributes(split, rubric, tolerance=0, quorum=1, among=["accurate"]) == ()
    assert stopping.consensus_reached(rubric, **asked)(split) is None  # type: ignore[arg-type]
    assert stopping.consensus_reached(rubric, among=["accurate"], **asked)(split) == Stop(reason="consensus")  # type: ignore[arg-type]
    alone = transcript_of([cast("a", {"accurate": 4})])
    assert stopping.disputed_attributes(alone, rubric, tolerance=0, quorum=1) == ()


def test_words_are_settled_by_being_the_same() -> None:
    assert stopping.settled(["yes", "yes"], 0) and not stopping.settled(["yes", "no"], 9)
    assert stopping.settled([], 0) and stopping.settled([3, 4], 1) and not stopping.settled([3, 5], 1)
    assert (stopping.spread([2, 5, 3]), stopping.spread([]), stopping.spread([1, "x"])) == (3, None, None)


@pytest.mark.parametrize(
    ("votes", "extreme"),
    [((5, 5), True), ((1, 1), True), ((5, 5, 5), True), ((4, 4), False), ((5,), False), ((5, 4), False), ((1, 5), False)],
)  # fmt: skip
def test_an_end_of_the_scale_that_all_give_at_once_is_extreme(
    rubric: Rubric, votes: tuple[int, ...], extreme: bool
) -> None:
    given = transcript_of([cast(f"j{n}", {"thorough": value}) for n, value in enumerate(votes)])
    assert stopping.instant_extremes(given, rubric) == ("thorough",) * extreme


def test_where_values_are_two_or_have_no_order_nothing_is_extreme() -> None:
    scales = {
        "two": {"level": "ordinal", "anchors": {0: "no", 1: "yes"}},
        "three": {"level": "ordinal", "anchors": {0: "no", 1: "so", 2: "yes"}},
        "words": {"level": "nominal", "anchors": {"a": "", "b": "", "c": ""}},
    }
    asked = [{"name": name, "question": "?", "scale": name} for name in scales]
    rubric = Rubric.model_validate({"name": "r", "version": 1, "scales": scales, "attributes": asked})
    votes = {"two": 1, "three": 2, "words": "a"}
    assert stopping.instant_extremes(transcript_of([cast("x", votes), cast("y", votes)]), rubric) == (
        "three",
    )  # type: ignore[arg-type]


def test_the_distribution_is_that_of_the_attribute_on_which_it_moved_most(rubric: Rubric) -> None:
    first = [cast("a", {"accurate": 2, "thorough": 2}), cast("b", {"accurate": 2, "thorough": 2})]
    second = [cast("a", {"accurate": 2, "thorough": 4}, round=2, purpose="revision")]
    stop = stopping.distribution_stable(rubric, 0.6)(transcript_of(first, second))
    assert stop == Stop(reason="stable", limit="ks", value=0.6, detail="statistic 0.500")
    assert stopping.distribution_stable(rubric, 0.5)(transcript_of(first, second)) is None
    # An attribute that nobody had voted on before is wholly another.
    late = [cast("a", {"thorough": 4}, round=2, purpose="revision")]
    assert (
        stopping.distribution_stable(rubric, 0.9)(transcript_of([cast("a", {"accurate": 2})], late)) is None
    )
    silent = transcript_of([abstained("a", "accurate")], [abstained("a", "accurate", round=2)])
    assert stopping.distribution_stable(rubric, 0.9)(silent) == Stop(reason="stable", limit="ks", value=0.9, detail="statistic 0.000")  # fmt: skip


def test_nothing_before_and_after_is_alike_and_words_and_numbers_are_told_apart() -> None:
    assert ks_distance(standing(), standing()) == 0.0 and ks_distance(standing(), standing(3)) == 1.0
    assert ks_distance(standing(1, "x"), standing("x", "x")) == 0.5


def test_a_vote_on_what_was_not_asked_before_is_movement_and_an_old_quote_is_none() -> None:
    first = [cast("a", {"accurate": 4}, quotes={"Fever": IN_THE_SOURCE})]
    new = transcript_of(first, [cast("a", {"thorough": 4}, round=2, purpose="revision")])
    assert stopping.moved(new, 2) and unmoved_rounds(new) == 0
    old = transcript_of(
        first, [cast("a", {"accurate": 4}, round=2, purpose="revision", quotes={"Fever": IN_THE_SOURCE})]
    )
    assert stopping.moved(old, 2) is False and stalls(old) == 1
    back = heard({"a": 4, "b": 5}, {"a": 5, "b": 5}, {"a": 4, "b": 5})
    assert stopping.moved(back, 2) and stopping.moved(back, 3) and stalls(back) == 0


@pytest.mark.parametrize(("renewed", "quiet"), [((), 4), ((3,), 3), ((3, 5), 1), ((5, 3), 1), ((6,), 0)])
def test_rounds_stall_since_questions_were_last_put_anew(renewed: tuple[int, ...], quiet: int) -> None:
    told = heard(*[{"a": 1, "b": 5}] * 5)
    asked = [Ledger(round=number, disputes=(), author="code", replan=True) for number in renewed]

    assert stalls(told.add([*asked, Ledger(round=5, disputes=(), author="code")])) == quiet


@pytest.mark.parametrize(("most", "rounds", "due"), [(0, 1, False), (0, 2, True), (2, 2, False), (2, 3, True), (None, 9, False)])  # fmt: skip
def test_questions_are_put_anew_after_a_stalled_round_at_the_earliest(
    most: int | None, rounds: int, due: bool
) -> None:
    jury = Jury.model_validate({"name": "j", "limits": {"max_rounds": 9, "max_stalls": most}, "seats": [{"name": "a"}, {"name": "b"}]})  # fmt: skip

    assert stopping.replan_due(heard(*[{"a": 1, "b": 5}] * rounds), jury) is due
