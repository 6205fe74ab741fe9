"""Transcripts: whose vote stands, who had a turn, what it cost, and who could not be reached."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_transcripts import abstained, cast, transcript_of

from venire import Stop, Transcript
from venire.agents.cost import Receipt
from venire.orchestration.transcript import (
    CLERK,
    STRUCK,
    Checked,
    Decided,
    Extracted,
    Ledger,
    Said,
)
from venire.rubrics.ballot import AbstentionReason
from venire.rubrics.claim import Check, Claim


def values(transcript: Transcript, **options: Any) -> dict[str, dict[str, Any]]:
    """The standing votes by attribute and juror."""
    standing = transcript.standing(**options)
    return {name: {juror: held.vote.value for juror, held in by.items()} for name, by in standing.items()}


def note(who: str, about: str, text: str, round: int = 2, **fields: Any) -> Said:
    return Said(round=round, who=who, about=about, text=text, **fields)


def test_the_last_vote_of_each_juror_stands_with_the_entry_it_was_cast_in() -> None:
    transcript = transcript_of(
        [cast("a", {"x": 1, "y": 2}), cast("b", {"x": 3})],
        [cast("a", {"x": 4}, round=2), abstained("b", "x", round=2)],
    )

    assert values(transcript) == {"x": {"a": 4, "b": 3}, "y": {"a": 2}}
    assert values(transcript, before_round=2) == {"x": {"a": 1, "b": 3}, "y": {"a": 2}}
    assert values(transcript, before_round=1) == {}
    held = transcript.standing()["x"]
    assert [(h.entry, h.juror) for h in held.values()] == [("2/a", "a"), ("1/b", "b")]


def test_repeats_stand_until_somebody_else_votes_on_the_attribute() -> None:
    repeats = [cast(name, {"x": n, "y": n}, purpose="repeat") for n, name in enumerate(("j", "j#2", "j#3"))]
    alone = transcript_of(repeats, seats=("j", "k"))
    joined = transcript_of(repeats, [cast("k", {"x": 5})], seats=("j", "k"))

    assert values(alone) == {"x": {"j": 0, "j#2": 1, "j#3": 2}, "y": {"j": 0, "j#2": 1, "j#3": 2}}
    assert values(joined) == {"x": {"j": 0, "k": 5}, "y": {"j": 0, "j#2": 1, "j#3": 2}}


def test_only_the_clerk_strikes_a_seat_and_only_what_it_had_voted() -> None:
    votes = [cast("a", {"x": 1}), cast("b", {"x": 2})]
    struck = transcript_of(votes, [note(CLERK, STRUCK, "a")])

    assert values(struck) == {"x": {"b": 2}}
    assert values(struck, before_round=2) == {"x": {"a": 1, "b": 2}}
    assert values(transcript_of(votes, [note("a", STRUCK, "b")])) == {"x": {"a": 1, "b": 2}}
    assert values(transcript_of(votes, [note(CLERK, "note", "a")])) == {"x": {"a": 1, "b": 2}}
    assert values(transcript_of(votes, [note(CLERK, STRUCK, "a")], [cast("a", {"x": 5}, round=2)])) == {
        "x": {"a": 5, "b": 2}
    }


@pytest.mark.parametrize(
    ("reason", "turns", "unreached"),
    [
        ("refused", 1, False),
        ("timeout", 1, True),
        ("unavailable", 1, True),
        ("unparsable", 1, False),
        ("limit", 0, False),
        ("not_called", 0, False),
    ],
)
def test_whoever_was_asked_had_a_turn_and_only_some_reasons_tell_of_the_way(
    reason: AbstentionReason, turns: int, unreached: bool
) -> None:
    transcript = transcript_of([cast("a", {"x": 1}), abstained("b", "x", reason=reason)])

    assert (transcript.turns, transcript.unreached) == (1 + turns, unreached)
    silence = note("orchestrator", "silence", "", failed=reason)
    assert transcript_of([cast("a", {"x": 1})], [silence]).unreached is unreached
    assert not transcript_of([cast("a", {"x": 1}, abstained=("y",))]).unreached


def test_rounds_are_the_jurors_and_steps_everybodys_but_the_clerks() -> None:
    transcript = transcript_of(
        [cast("a", {"x": 1})],
        [Ledger(round=2, disputes=(), author="code")],
        [note(CLERK, "note", "", round=9)],
        [cast("a", {"x": 1}, round=2)],
        [Decided(round=5, findings=())],
    )

    assert (transcript.rounds, transcript.steps, transcript.turns) == (2, 4, 2)
    assert transcript_of().rounds == transcript_of().steps == 0
    assert not transcript.compares
    first = transcript.entries[0].model_copy(update={"first": "A"})
    assert transcript.model_copy(update={"entries": (first,)}).compares


def test_an_entry_is_known_by_its_step_and_speaker_and_a_second_one_by_its_number() -> None:
    twice = transcript_of([cast("a", {}), cast("b", {}), cast("a", {})], [cast("a", {})])

    assert [(entry.id, entry.step) for entry in twice.entries] == [
        ("1/a", 1), ("1/b", 1), ("1/a/2", 1), ("2/a", 2),
    ]  # fmt: skip
    assert twice.add([]) is twice
    ended = twice.with_stop(Stop.at("max_turns", 3, "why"))
    assert (ended.stop, str(ended.stop), twice.stop) == (
        Stop(reason="turns", limit="max_turns", value=3, detail="why"), "turns (max_turns=3): why", None,
    )  # fmt: skip


def spent(seconds: float, *calls: str, usd: float | None = 0.0) -> Receipt:
    return Receipt(calls=calls, prompt=3, completion=2, cached=1, usd=usd, seconds=seconds, estimated=1)


def test_what_was_made_at_the_same_time_takes_as_long_as_the_slowest_and_costs_all_of_it() -> None:
    steps = [
        [cast("a", {}, spent=spent(1, "k1", "k2", usd=0.5)), cast("b", {}, spent=spent(3, "k3", usd=0.25))],
        [cast("a", {}, spent=spent(2, "k4")), cast("b", {}, spent=spent(0.5, "k5"))],
    ]
    cost = transcript_of(*steps).cost

    assert (cost.seconds, cost.calls, cost.usd, cost.estimated) == (5, 5, 0.75, 4)
    assert (cost.usage.prompt, cost.usage.completion, cost.usage.cached, cost.tokens) == (12, 8, 4, 20)
    unknown = transcript_of(*steps, [cast("a", {}, spent=spent(1, "k6", usd=None))]).cost
    assert (unknown.usd, unknown.known_usd, unknown.calls, unknown.priced) == (None, 0.75, 6, 5)


def test_the_blind_part_is_what_nobody_had_seen_anything_before() -> None:
    transcript = transcript_of(
        [cast("a", {"x": 1}), cast("b", {"x": 2}, saw=("1/a",)), abstained("c", "x")],
        [cast("d", {"x": 1}, purpose="repeat"), cast("e", {"x": 1}, purpose="vote")],
        [cast("a", {"x": 3}, round=2)],
    )
    blind = transcript.blind()

    assert [entry.speaker for entry in blind.entries] == ["a", "c", "d"]
    assert blind.stop == Stop(reason="complete") and blind.seats == transcript.seats


def test_every_abstention_is_told_with_the_entry_that_it_is_part_of() -> None:
    claims = (Claim(id="c1", text="t"), Claim(id="c2", text="u"))
    some = (
        Check(claim="c1", verdict="supported"),
        Check(claim="c2", verdict=None, abstained="refused", detail="no"),
    )
    none = tuple(Check(claim=claim.id, verdict=None, abstained="timeout", detail="late") for claim in claims)
    transcript = transcript_of(
        [cast("a", {"x": 1}, abstained=("y", "z")), abstained("b", "x", reason="refused")],
        [
            Extracted(round=1, who="e", of="output", claims=claims),
            Extracted(round=1, who="f", of="source", claims=(), failed="too_long", detail="long"),
        ],
        [
            Checked(round=1, juror="v", of="output", against="source", checks=some),
            Checked(round=1, juror="w", of="output", against="source", checks=none),
        ],
    )
    told = [(e.id, e.abstention.juror, e.abstention.reason, e.abstention.attribute, e.purpose) for e in transcript.abstentions]  # fmt: skip

    assert told == [
        ("1/a", "a", "out_of_scale", "y", "blind"),
        ("1/a", "a", "out_of_scale", "z", "blind"),
        ("1/b", "b", "refused", None, "blind"),
        ("2/f", "f", "too_long", None, "extraction"),
        # w gave no verdict at all: it abstains as a whole, in an entry of its own.
        ("3/v", "v", "refused", None, "verification"),
    ]
    assert [e.speaker for e in transcript.heard] == ["a", "b"]
    assert (transcript.entries[4].summary, transcript.entries[3].summary) == (  # type: ignore[union-attr]
        "checks 2 claims of the output against the source: 1 supported, 1 without a verdict",
        "could not list the claims of the source (too_long)",
    )


ballots = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.dictionaries(st.sampled_from("xy"), st.integers(1, 5)), st.booleans()
    ),
    max_size=12,
)


@given(ballots)
def test_what_stands_is_what_a_reader_going_backwards_finds_first(
    made: list[tuple[str, dict[str, Any], bool]],
) -> None:
    steps = [[abstained(juror, "x") if gone else cast(juror, votes)] for juror, votes, gone in made]
    expected: dict[str, dict[str, int]] = {}
    for juror, votes, gone in reversed(made):
        for attribute, value in ({} if gone else votes).items():
            expected.setdefault(attribute, {}).setdefault(juror, value)

    assert values(transcript_of(*steps)) == expected
