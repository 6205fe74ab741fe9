"""Conditions: each on its own, composed, and as a jury file chooses them."""

from __future__ import annotations

import math

import pytest
from openai_server import ProviderServer, filled, jury_of
from scipy.stats import ks_2samp
from server_juries import jury_at
from written_transcripts import IN_NO_TEXT, IN_THE_SOURCE, cast, transcript_of

from venire import Case, Limits, Rubric, Stop, Transcript, deliberate_sync
from venire.agents.budget import Budget, Meter
from venire.agents.model import Reply, Usage
from venire.orchestration import stopping
from venire.orchestration.stopping import all_of, any_of, ks_distance, stalls, unmoved_rounds
from venire.orchestration.transcript import Cast, Standing
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
    assert stopping.replan_limit(0)(still) == Stop(reason="replans", limit="max_replans", value=0)
    assert stopping.replan_limit(1)(still) is None


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
    [((1, 2, 3), (1, 2, 3)), ((1, 2, 3), (3, 3, 3)), ((5, 5), (1, 1, 1)), ((1, 4), (2, 3))],
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


@pytest.mark.parametrize("name", ["orchestrated", "moderated", "delphi", "debate"])
@pytest.mark.parametrize(("stop", "limit"), [({"stable_rounds": 2}, "stable_rounds"), ({"ks": 0.1}, "ks")])
def test_a_jury_file_may_stop_early(
    rubric: Rubric, case: Case, name: str, stop: dict[str, float], limit: str
) -> None:
    limits = Limits(max_rounds=9, max_stalls=None, max_replans=None)
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": 3})) as server:
        jury = jury_at(server.url, "a", "b", protocol=name, limits=limits, stop=stop)
        verdict = deliberate_sync(case, rubric, jury)

    assert (verdict.stop.reason, verdict.stop.limit) == ("stable", limit)
    assert verdict.transcript.rounds == (3 if limit == "stable_rounds" else 2)


def test_a_deliberation_that_nothing_is_sure_to_end_is_refused() -> None:
    with pytest.raises(ValueError, match="set max_rounds, max_turns or max_seconds"):
        Limits(max_rounds=None, max_stalls=3)


@pytest.mark.parametrize("name", ["orchestrated", "moderated", "delphi", "debate", "escalate"])
def test_tokens_are_passed_by_no_more_than_the_calls_in_flight(rubric: Rubric, case: Case, name: str) -> None:
    def changes(call: object) -> object:
        number = call.number  # type: ignore[attr-defined]
        return filled(call.schema, lambda _: 5 - number % 2, moved_by="it")  # type: ignore[attr-defined]

    limits = Limits(max_rounds=50, max_stalls=None, max_replans=None, max_tokens=6000)
    with ProviderServer(jury_of({"a": changes, "b": 2, "c": 1, "boss": 3})) as server:
        verdict = deliberate_sync(
            case, rubric, jury_at(server.url, "a", "b", "c", protocol=name, limits=limits)
        )

    assert (verdict.stop.reason, verdict.stop.limit) == ("budget", "max_tokens")
    sizes = [len(call.prompt) // 4 + 200 for call in server.calls]
    assert verdict.transcript.cost.usage.total < 6000 + sum(sorted(sizes)[-3:])
