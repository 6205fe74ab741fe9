"""Verdicts recounted from transcripts written by hand: what is reached, hung or not applicable, with whom and against whom."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_transcripts import abstained, cast, transcript_of

from venire import Case, Jury, Rubric, Stop, Transcript, VenireError, Verdict
from venire.agents.orchestrator import Finding
from venire.orchestration.acceptance import (
    confidence,
    escalation_reason,
    judged_by,
    refuse_other_jury,
    signals,
)
from venire.orchestration.counting.rule import Counted, Tally
from venire.orchestration.transcript import AnyEntry, Checked, Controlled, Decided, Extracted, Said
from venire.orchestration.verdict import Outcome, as_written, outcome_signals, tallies, verdict
from venire.personas.options import AcceptanceRule, Limits
from venire.rubrics.claim import Check, Claim
from venire.rubrics.scale import NOT_APPLICABLE, Value

RUBRIC = Rubric.model_validate(
    {
        "name": "r",
        "version": 1,
        "scales": {
            "five": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
            "colour": {"level": "nominal", "anchors": {"red": "", "green": "", "blue": ""}},
        },
        "attributes": [
            {"name": "accurate", "question": "?", "scale": "five"},
            {"name": "risk", "question": "?", "scale": "five", "reverse_as": "safety", "better": "low", "may_not_apply": True},
            {"name": "colour", "question": "?", "scale": "colour"},
        ],
        "composites": {"overall": {"accurate": 0.75, "safety": 0.25}},
    }
)  # fmt: skip


def bench(*names: str, **fields: object) -> Jury:
    seats = [{"name": name, "model": "scripted"} for name in names or ("a", "b", "c")]
    return Jury.model_validate({"name": "j", "seats": seats, "quorum": 2, **fields})


def counted(*steps: list[AnyEntry], count: str = "mean", jury: Jury | None = None) -> Verdict:
    transcript = transcript_of(*steps).with_stop(Stop(reason="complete"))
    return verdict(transcript, RUBRIC, jury or bench(), count=count)  # type: ignore[arg-type]


def voted(votes: Mapping[str, Value], attribute: str = "accurate", **fields: object) -> Verdict:
    return counted([cast(name, {attribute: value}) for name, value in votes.items()], jury=bench(**fields))  # type: ignore[arg-type]


def test_a_value_comes_with_its_support_its_spread_and_who_dissents() -> None:
    found = counted([cast("a", {"accurate": 2}, rationale="too short"), cast("b", {"accurate": 4}), cast("c", {"accurate": 4})], count="median")["accurate"]  # fmt: skip

    assert (found.status, found.value, found.method, found.votes, found.spread) == (
        "reached",
        4,
        "median",
        3,
        2,
    )
    assert found.support == pytest.approx(2 / 3)
    assert [(each.juror, each.value, each.reason) for each in found.dissent] == [("a", 2, "too short")]
    assert found.escalated is None and "escalated" not in found.model_dump()


def test_a_rule_that_learns_has_the_case_itself_to_learn_from_unless_it_is_given_what_it_learned() -> None:
    steps = [cast("a", {"accurate": 4}), cast("b", {"accurate": 4}), cast("c", {"accurate": 2})]
    assert counted(steps, count="dawid-skene")["accurate"].value == 4

    def lowest(tally: Tally) -> Counted:
        return Counted(min(tally.cast.values()), "lowest")

    transcript = transcript_of(steps).with_stop(Stop(reason="complete"))
    found = verdict(transcript, RUBRIC, bench(), count="dawid-skene", learned=lowest)["accurate"]
    assert (found.value, found.method) == (2, "lowest")


@pytest.mark.parametrize(("tolerance", "supporters"), [(0, 2), (1, 3), (2, 3)])
def test_who_is_within_the_tolerance_or_half_a_step_supports_it(tolerance: float, supporters: int) -> None:
    found = voted({"a": 3, "b": 4, "c": 4}, tolerance=tolerance)["accurate"]

    assert found.value == pytest.approx(11 / 3)
    assert found.support == pytest.approx(supporters / 3) and len(found.dissent) == 3 - supporters


def test_half_a_step_away_is_support_and_more_is_dissent() -> None:
    assert voted({"a": 3, "b": 4})["accurate"].support == 1
    assert voted({"a": 3, "b": 3, "c": 5})["accurate"].support == 0


def test_below_a_quorum_it_is_hung_and_says_who_is_missing_and_why() -> None:
    found = counted(
        [cast("a", {"accurate": 4}), abstained("b", "accurate"), abstained("c", "accurate")],
        [cast("c", {"risk": 2}, round=2, abstained=("accurate",)), abstained("b", "risk", round=2, reason="refused")],
    )["accurate"]  # fmt: skip

    assert (found.status, found.value, found.support, found.method, found.votes) == (
        "hung",
        None,
        None,
        "none",
        1,
    )
    assert found.why == (
        "too few jurors voted: 1 of the 2 that are needed (b unavailable: down; c out_of_scale: 9 is not on it)"
    )
    assert [each.juror for each in found.dissent] == ["a"] and found.spread == 0


def test_with_a_quorum_of_one_nobody_voted() -> None:
    assert counted([cast("a", {"risk": 1})], jury=bench(quorum=1))["accurate"].why == "no juror voted"
    assert counted([cast("a", {"risk": 1})], jury=bench(quorum=1))["risk"].value == 1


def test_a_long_reason_is_cut() -> None:
    gone = abstained("b", "accurate")
    long = gone.model_copy(
        update={"abstention": gone.abstention.model_copy(update={"detail": "word \n" * 100})}
    )
    why = counted([cast("a", {"accurate": 4}), long])["accurate"].why
    assert why.endswith(f"(b unavailable: {('word ' * 30)[:120]})")


@pytest.mark.parametrize(
    ("votes", "status", "value"),
    [
        ({"a": NOT_APPLICABLE, "b": NOT_APPLICABLE, "c": 3}, "not_applicable", None),
        ({"a": NOT_APPLICABLE, "b": 2, "c": 4}, "reached", 3),
        ({"a": NOT_APPLICABLE, "b": NOT_APPLICABLE, "c": 2, "d": 4}, "reached", 3),
        ({"a": NOT_APPLICABLE, "b": 4}, "hung", None),
    ],
)
def test_it_does_not_apply_where_more_than_half_say_so(
    votes: dict[str, Value], status: str, value: float | None
) -> None:
    found = voted(votes, "risk")["risk"]

    assert (found.status, found.value, found.votes) == (status, value, len(votes))
    if status == "not_applicable":
        assert (found.method, found.support, found.why) == ("majority", pytest.approx(2 / 3), "")
        assert [each.juror for each in found.dissent] == ["c"] and found.spread == 0


def test_words_have_no_spread_and_dissent_by_being_another_word() -> None:
    found = voted({"a": "red", "b": "red", "c": "blue"}, "colour")["colour"]

    assert (found.value, found.spread, found.support) == ("red", None, pytest.approx(2 / 3))
    assert [each.juror for each in found.dissent] == ["c"]


def test_the_last_vote_of_each_juror_counts() -> None:
    found = counted(
        [cast("a", {"accurate": 1}), cast("b", {"accurate": 5})],
        [cast("a", {"accurate": 4}, round=2, purpose="revision")],
    )["accurate"]
    assert (found.value, found.votes) == (4.5, 2)


def test_a_confederates_votes_are_read_and_never_counted() -> None:
    seats = [{"name": name, "model": "scripted", "confederate": name == "b"} for name in "abc"]
    jury = Jury.model_validate({"name": "j", "seats": seats, "quorum": 2})
    votes: list[AnyEntry] = [cast("a", {"accurate": 2}), cast("b", {"accurate": 5}), cast("c", {"accurate": 3})]  # fmt: skip
    found = counted(votes, jury=jury)["accurate"]

    assert (found.value, found.votes, found.spread, found.support) == (2.5, 2, 1, 1.0)
    assert found.dissent == ()
    # With one vote that counts there is no quorum of two.
    assert counted(votes[:2], jury=jury)["accurate"].status == "hung"
    assert set(tallies(transcript_of(votes), RUBRIC, jury)[0].cast) == {"a", "c"}
    again: list[AnyEntry] = [*votes, cast("a#2", {"accurate": 2}, purpose="repeat"), cast("b#2", {"accurate": 5}, purpose="repeat")]  # fmt: skip
    assert set(tallies(transcript_of(again), RUBRIC, jury)[0].cast) == {"a", "c", "a#2"}


def test_a_swapped_pair_is_told_as_its_row_has_it_in_every_part() -> None:
    finding = Finding(attribute="accurate", value=2, rationale="since", weighed=("a",))
    control = Controlled(round=2, juror="a", of="1/a", condition="alone", draw=0, votes=cast("a", {"accurate": 3}).ballot.votes)  # fmt: skip
    made = counted(
        [
            cast("a", {"accurate": 1, "colour": "red"}),
            cast("b", {"accurate": 5, "colour": "red"}),
            abstained("c", "accurate"),
        ],
        [Decided(round=1, findings=(finding,)), control],
        count="decision",
    )
    made = made.model_copy(update={"derived": {"overall": 0.25}})
    case = Case.from_row({"id": "c", "output_a": "one", "output_b": "two"})
    straight, swapped = (case.model_copy(update={"swapped": flag}) for flag in (False, True))
    told = as_written(made, swapped)

    assert as_written(made, straight) is made
    assert (told["accurate"].value, told["colour"].value, told["risk"].value) == (-2, "red", None)
    assert [each.value for each in told["accurate"].dissent] == [-1, -5]
    assert [[vote.value for vote in entry.ballot.votes] for entry in told.transcript.ballots] == [
        [-1, "red"],
        [-5, "red"],
    ]
    _, _, gone, decided, controlled = told.transcript.entries
    assert gone == made.transcript.entries[2]
    assert isinstance(decided, Decided) and [f.value for f in decided.findings] == [-2]
    assert isinstance(controlled, Controlled) and [v.value for v in controlled.votes] == [-3]
    assert told.derived == {"overall": -0.25} and as_written(told, swapped) == made


def test_of_two_preferences_as_common_neither_stands() -> None:
    transcript = transcript_of([cast("a", {"accurate": -1}), cast("b", {"accurate": 1})])
    found = verdict(transcript.with_stop(Stop(reason="complete")), RUBRIC.as_pairs(), bench(), count="mode")
    assert (found["accurate"].value, found["accurate"].method) == (0, "mode")


def test_the_orchestrators_decision_stands_under_its_rule_and_its_reasons_are_kept() -> None:
    decided = Decided(
        round=1, findings=(Finding(attribute="accurate", value=5, rationale="It is all there.", weighed=("1/c",)),)
    )  # fmt: skip
    found = counted([cast("a", {"accurate": 1}), cast("b", {"accurate": 2}), cast("c", {"accurate": 5})], [decided], count="decision")  # fmt: skip

    assert (found["accurate"].value, found["accurate"].method) == (5, "decision")
    assert "It is all there." in found["accurate"].why
    assert [each.juror for each in found["accurate"].dissent] == ["a", "b"]


def test_an_orchestrator_that_failed_leaves_the_median_of_the_votes_and_says_which_failure_was_last() -> None:
    votes = [cast("a", {"accurate": 1}), cast("b", {"accurate": 2}), cast("c", {"accurate": 5})]

    def after(*said: Said) -> Outcome:
        return counted(votes, list(said), count="decision")["accurate"]

    refused, outage, late, unread = (
        Said(round=1, who="orchestrator", about="silence", text="-", failed=why)
        for why in ("refused", "unavailable", "limit", None)
    )
    assert (after(refused).value, after(refused).method) == (2, "median")
    assert after(refused).why == "the orchestrator did not decide (refused), so the votes were counted"
    assert (
        "(unavailable)" in after(refused, outage).why and "(unavailable)" in after(refused, outage, late).why
    )
    assert "(unparsable)" in after(unread).why
    for hung in (after(), after(late), after(refused.model_copy(update={"about": "plan"}))):
        assert (hung.value, hung.why) == (
            None,
            "the jurors did not agree, and the orchestrator did not decide",
        )


def test_an_attribute_that_was_not_asked_names_the_near_one() -> None:
    with pytest.raises(KeyError, match=r"'acurate' was not asked: .*accurate"):
        voted({"a": 1, "b": 1})["acurate"]


def test_reversed_scores_and_composites_follow_from_what_was_reached() -> None:
    found = counted([cast(name, {"accurate": 4, "risk": 2, "colour": "red"}) for name in "ab"])

    assert found.derived == {"safety": 4, "overall": 4.0}
    assert counted([cast(name, {"accurate": 4}) for name in "ab"]).derived == {}
    assert (found.case, found.arm, found.stop.reason) == ("c", "j", "complete")


def test_rows_have_each_attribute_and_derived_score_once_and_no_number_for_what_is_hung() -> None:
    found = counted([cast(name, {"accurate": 4, "risk": 2}) for name in "ab"])
    rows = {row["attribute"]: row for row in found.rows()}

    assert list(rows) == ["accurate", "risk", "colour", "safety", "overall"]
    assert {**rows["accurate"], "why": ""} == {
        "case": "c", "arm": "j", "attribute": "accurate", "status": "reached", "value": 4, "support": 1.0, "spread": 0.0,
        "votes": 2, "method": "mean", "why": "", "stop": "complete",
    }  # fmt: skip
    assert (rows["colour"]["status"], rows["colour"]["value"]) == ("hung", None)
    assert rows["safety"] == {
        "case": "c", "arm": "j", "attribute": "safety", "status": "derived", "value": 4, "support": None, "spread": None,
        "votes": None, "method": "derived", "why": None, "stop": "complete",
    }  # fmt: skip
    assert found.to_frame()["attribute"].tolist() == list(rows)


def test_on_a_screen_each_attribute_has_a_line_that_fits() -> None:
    found = counted(
        [cast("a", {"accurate": 1}), cast("b", {"accurate": 5}), cast("c", {"accurate": 5})], count="median"
    )
    lines = str(found).splitlines()

    assert lines[:2] == ["c by j: complete", "  accurate: 5 by median, support 67%; dissent: a 1"]
    assert lines[2].startswith("  risk: hung (") and len(lines) == 4
    assert repr(found) == str(found)
    page = found._repr_html_()
    assert "<td>accurate</td><td>5</td><td>median</td><td>67%</td><td>a 1: r</td>" in page
    assert "<td>risk</td><td>hung</td><td>none</td><td></td>" in page


def test_a_verdict_too_tall_or_too_wide_is_cut_and_says_so() -> None:
    one = voted({"a": 4, "b": 4})
    tall = one.model_copy(update={"outcomes": {f"x{n}": one["accurate"] for n in range(30)}, "derived": {}})
    lines = str(tall).splitlines()
    assert len(lines) == 20 and lines[-1] == "  and 12 more lines: see to_frame()"
    exact = one.model_copy(update={"outcomes": {f"x{n}": one["accurate"] for n in range(19)}, "derived": {}})
    assert len(str(exact).splitlines()) == 20 and "more" not in str(exact)
    wide = one.model_copy(update={"case": "w" * 100})
    first = str(wide).splitlines()[0]
    assert len(first) == 78 and first.endswith("w...")
    full = one.model_copy(update={"case": "w" * (78 - len(" by j: complete"))})
    assert str(full).splitlines()[0].endswith("by j: complete")


def test_names_that_are_markup_stay_words_in_a_notebook() -> None:
    page = voted({"<b>": 1, "b": 5})._repr_html_()
    assert "<b>" not in page and "&lt;b&gt; 1: r" in page


def rule_of(**thresholds: float | None) -> dict[str, object]:
    found = {"labels": 60, "errors": 0, "bound": 0.05}
    return {
        "risk": 0.1,
        "delta": 0.1,
        "arm": "j",
        "judged_by": {"rubric": "", "seats": {}, "orchestrator": "", "rest": "", "prompts": ""},
        "attributes": {name: {"threshold": threshold, **found} for name, threshold in thresholds.items()},
    }


def test_what_may_not_stand_unseen_is_told_by_the_jurys_rule() -> None:
    rule = rule_of(accurate=0.95, risk=None)
    entries: list[AnyEntry] = [cast(name, {"accurate": 4, "risk": 2}) for name in "ab"]
    found = counted(entries, jury=bench("a", "b", rule=rule, escalate_to="people"))

    assert found["accurate"].escalated == found["accurate"].model_dump()["escalated"] == ""
    assert found["risk"].escalated and found["colour"].escalated
    assert "; to people: " in str(found) and found["risk"].model_dump()["escalated"]


@pytest.mark.parametrize(
    ("status", "sure", "stands"),
    [("reached", 0.75, True), ("reached", 0.7499, False), ("reached", 1.0, True), ("hung", 1.0, False), ("not_applicable", 1.0, False)],
)  # fmt: skip
def test_a_verdict_as_sure_as_the_certified_threshold_stands_and_one_below_it_does_not(
    status: str, sure: float, stands: bool
) -> None:
    rule = AcceptanceRule.model_validate(rule_of(accurate=0.75, risk=None))

    assert (escalation_reason(rule, "accurate", status, sure) == "") is stands
    assert escalation_reason(rule, "risk", status, sure) and escalation_reason(rule, "colour", status, sure)


def test_signals_are_shares_of_votes_quotes_and_seats_and_confidence_their_weighted_mean() -> None:
    first = [
        cast("a", {"accurate": 2}),
        cast("b", {"accurate": 4}),
        cast("c", {"accurate": 4}),
        abstained("d", "accurate"),
    ]
    quoted = cast("a", {"accurate": 4}, round=2, purpose="revision", quotes={"x": "source", "y": None, "z": None, "w": None})  # fmt: skip
    transcript = transcript_of(first, [quoted])
    found = signals(transcript, "accurate", RUBRIC.scale_of("accurate"), support=2 / 3, spread=1, seats=4)

    assert found == pytest.approx(
        {"support": 2 / 3, "closeness": 0.75, "steadiness": 2 / 3, "evidence": 0.25, "turnout": 0.75}
    )
    assert confidence(found) == pytest.approx(
        0.4 * 2 / 3 + 0.2 * 0.75 + 0.2 * 2 / 3 + 0.1 * 0.25 + 0.1 * 0.75
    )
    assert confidence({"support": 0.5, "turnout": 1.0}) == pytest.approx((0.4 * 0.5 + 0.1) / 0.5)
    assert confidence({}) == 0
    words = signals(transcript, "colour", RUBRIC.scale_of("colour"), support=None, spread=1, seats=4)
    assert words == {"turnout": 0.0}


def test_whose_first_vote_stands_goes_by_the_attribute_and_not_by_one_that_did_not_apply() -> None:
    first = [cast("a", {"accurate": 2, "risk": NOT_APPLICABLE}), cast("b", {"accurate": 4, "risk": 5})]
    later = [cast("a", {"risk": 3}, round=2), cast("b", {"risk": 1}, round=2)]
    transcript = transcript_of(first, later)

    def steadiness(attribute: str) -> float:
        found = signals(transcript, attribute, RUBRIC.scale_of(attribute), support=1, spread=0, seats=2)
        return found["steadiness"]

    assert (steadiness("accurate"), steadiness("risk")) == (1.0, 0.5)


SEAT = {"name": "a", "model": "server/m", "temperature": 0.5, "seed": 1}


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"model": "server/n"}, True),
        ({"temperature": 0.6}, True),
        ({"top_p": 0.5}, True),
        ({"max_tokens": 9}, True),
        ({"seed": 2}, True),
        ({"params": {"reasoning_effort": "low"}}, True),
        ({"persona": "high-scoring"}, True),
        ({"alternates": ["server/o"]}, True),
        ({"base_url": "http://127.0.0.1:9/v1"}, False),
        ({"api_key_env": "KEY"}, False),
        ({"timeout": 7}, False),
        ({"context": 999}, False),
    ],
)
def test_a_seat_is_another_juror_by_what_it_answers_with_and_not_by_where_it_stands(
    change: dict[str, object], differs: bool
) -> None:
    def jury(**fields: object) -> Jury:
        return Jury.model_validate({"name": "j", "seats": [{**SEAT, **fields}], "orchestrator": {"model": "server/m"}})  # fmt: skip

    then, now = judged_by(jury(), RUBRIC), judged_by(jury(**change), RUBRIC)
    rule = AcceptanceRule.model_validate({"risk": 0.1, "delta": 0.1, "arm": "j", "judged_by": then, "attributes": {}})  # fmt: skip
    assert (then.seats != now.seats) is differs
    assert then.model_copy(update={"seats": {}}) == now.model_copy(update={"seats": {}})
    if differs:
        with pytest.raises(VenireError, match="seat a changed since"):
            refuse_other_jury(rule, now, presided=True)
    else:
        refuse_other_jury(rule, now, presided=True)


def test_a_rule_is_refused_for_another_rubric_protocol_or_orchestrator_where_one_presides() -> None:
    jury = bench("a", orchestrator={"model": "server/m"}, quorum=1)
    then = judged_by(jury, RUBRIC)
    rule = AcceptanceRule.model_validate({"risk": 0.1, "delta": 0.1, "arm": "j", "judged_by": then, "attributes": {}})  # fmt: skip

    def refused(now: Jury, rubric: Rubric = RUBRIC, *, presided: bool = True) -> str:
        try:
            refuse_other_jury(rule, judged_by(now, rubric), presided=presided)
        except VenireError as error:
            return error.problem.partition(": ")[2]
        return ""

    assert refused(jury) == refused(jury.model_copy(update={"name": "k", "description": "x"})) == ""
    assert "the protocol" in refused(jury.under("delphi"))
    for part, other in (("limits", Limits(max_turns=2)), ("quorum", 2), ("tolerance", 0.5), ("repeats", 3)):
        assert "its options or the counting rule" in refused(jury.model_copy(update={part: other})), part
    two = bench("a", "b", quorum=1, orchestrator={"model": "server/m"})
    for presided in (True, False):
        newer = RUBRIC.model_copy(update={"version": 2})
        assert refused(jury, newer, presided=presided) == "the rubric changed since then"
        for change in ({"tolerance": 1.0}, {"count": "mean"}, {"quorum": 2}, {"repeats": 2}):
            assert "the protocol, its" in refused(jury.model_copy(update=change), presided=presided)
        assert refused(two, presided=presided) == "seat b changed since then"
        for part, words in (("prompts", "the prompts"), ("adapters", "an adapter")):
            with pytest.raises(VenireError, match=f"jury: {words} changed since"):
                refuse_other_jury(rule, then.model_copy(update={part: "x"}), presided=presided)
        with pytest.raises(VenireError, match="jury: seat b changed since"):
            refuse_other_jury(rule.model_copy(update={"judged_by": judged_by(two, RUBRIC)}), then, presided=presided)  # fmt: skip
    other = bench("a", orchestrator={"model": "server/n"}, quorum=1)
    assert refused(other) == "the orchestrator changed since then" and refused(other, presided=False) == ""
    assert then.prompts and judged_by(jury, RUBRIC, {"prompts": "old"}).prompts == "old"
    assert judged_by(jury, RUBRIC, {"adapters": {"a": "hash"}}).adapters != then.adapters == ""


def test_the_signals_of_repeats_count_each_as_a_seat() -> None:
    made = voted({"a": 4, "b": 4})
    transcript, scale = made.transcript, RUBRIC.scale_of("accurate")
    alone = outcome_signals(made["accurate"], transcript, "accurate", scale, bench("a", "b"))
    thrice = outcome_signals(made["accurate"], transcript, "accurate", scale, bench("a", "b", protocol="panel", repeats=3))  # fmt: skip
    assert (alone["turnout"], thrice["turnout"]) == (1.0, pytest.approx(2 / 6))
    # Who spoke though it has no seat is no more than all of them.
    assert signals(transcript, "accurate", scale, support=1, spread=0, seats=1)["turnout"] == 1


votes = st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 5), min_size=2)


@given(votes, st.sampled_from(["mean", "median", "mode", "trimmed", "weighted"]), st.randoms())
def test_a_verdict_does_not_change_with_the_order_of_ballots(
    given_votes: dict[str, int], count: str, order: object
) -> None:
    entries = [cast(name, {"accurate": value}) for name, value in given_votes.items()]
    shuffled = list(entries)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    jury = bench(*sorted(given_votes))
    before, after = (counted(each, count=count, jury=jury)["accurate"] for each in (entries, shuffled))

    same = ("status", "value", "support", "spread", "votes", "method", "why")
    assert [getattr(before, name) for name in same] == [getattr(after, name) for name in same]
    assert {each.juror for each in before.dissent} == {each.juror for each in after.dissent}


@given(votes)
def test_an_abstention_never_changes_a_mean(given_votes: dict[str, int]) -> None:
    entries: list[AnyEntry] = [cast(name, {"accurate": value}) for name, value in given_votes.items()]
    jury = bench(*given_votes, "z")
    whole = counted(entries, jury=jury)["accurate"]

    for gone in (abstained("z", "accurate"), cast("z", {}, abstained=("accurate",))):
        found = counted([*entries, gone], jury=jury)["accurate"]
        assert found == whole
        assert found.value == pytest.approx(sum(given_votes.values()) / len(given_votes))


@given(votes)
def test_recounting_a_stored_transcript_equals_counting(given_votes: dict[str, int]) -> None:
    made = voted(given_votes)
    stored = Transcript.model_validate_json(made.transcript.model_dump_json())

    assert verdict(stored, RUBRIC, bench(), count="mean") == made


def test_a_question_that_hangs_on_another_answer_does_not_apply_to_who_answered_otherwise() -> None:
    asked = {
        "name": "r",
        "version": 1,
        "scales": {"five": RUBRIC.scales["five"]},
        "attributes": [
            {"name": "first", "question": "?", "scale": "five"},
            {"name": "then", "question": "?", "scale": "five", "asked_if": {"first": 5}},
        ],
    }
    rubric = Rubric.model_validate(asked)

    def then(**firsts: int) -> tuple[str, Value | None]:
        entries: list[AnyEntry] = [cast(name, {"first": value, "then": 3}) for name, value in firsts.items()]
        entries.append(cast("z", {"then": 4}))
        transcript = transcript_of(entries).with_stop(Stop(reason="complete"))
        (_, tally) = tallies(transcript, rubric, bench(*firsts, "z"))
        assert (tally.case, tally.attribute, tally.jury) == ("c", "then", bench(*firsts, "z"))
        assert tally.cast == {name: 3 if value == 5 else NOT_APPLICABLE for name, value in firsts.items()} | {
            "z": 4
        }
        found = verdict(transcript, rubric, bench(*firsts, "z"), count="mean")["then"]
        return found.status, found.value

    # Whoever gave no answer to the first question is asked the second all the same.
    unasked = tallies(transcript_of([cast("z", {"then": 4})]), rubric, bench("y", "z"))
    assert [tally.cast for tally in unasked] == [{}, {"z": 4}]
    assert then(a=5, b=5) == ("reached", pytest.approx(10 / 3))
    assert then(a=5, b=1) == ("reached", 3.5)
    assert then(a=1, b=1) == ("not_applicable", None)


def test_a_decision_that_it_does_not_apply_is_no_number() -> None:
    finding = Finding(attribute="risk", value=NOT_APPLICABLE, rationale="Nothing was done.", weighed=())
    votes = [cast("a", {"risk": 1}), cast("b", {"risk": 5}), cast("c", {"risk": NOT_APPLICABLE})]
    found = counted(votes, [Decided(round=1, findings=(finding,))], count="decision")["risk"]

    assert (found.status, found.value, found.method, found.votes) == ("not_applicable", None, "decision", 3)
    assert found.support == pytest.approx(1 / 3) and found.spread == 4
    assert [each.juror for each in found.dissent] == ["a", "b"] and "Nothing was done." in found.why


def test_claims_are_counted_into_the_verdict_and_listed_with_it() -> None:
    rubric = Rubric.model_validate(
        {
            "name": "r",
            "version": 1,
            "scales": {"share": {"level": "interval", "minimum": 0, "maximum": 1}},
            "attributes": [
                {"name": name, "question": "?", "scale": "share"} for name in ("support", "precision")
            ],
            "reference": "shown",
        }
    )
    claims = tuple(Claim(id=f"c{n}", text="t") for n in range(2))
    checks = tuple(Check(claim=claim.id, verdict=said) for claim, said in zip(claims, ("supported", "not_addressed"), strict=True))  # type: ignore[arg-type]  # fmt: skip

    def found(*verifiers: str) -> Verdict:
        made = transcript_of(
            [Extracted(round=1, who="x", of="output", claims=claims)],
            [
                Checked(round=1, juror=name, of="output", against="reference", checks=checks)
                for name in verifiers
            ],
            [cast(name, {"support": 0.5, "precision": 0.5}) for name in ("a", "b")],
        ).model_copy(update={"protocol": "decompose-verify", "stop": Stop(reason="complete")})
        return verdict(made, rubric, bench("a", "b"), count="claims")

    both = found("a", "b")
    assert (both["support"].value, both["precision"].value, both["support"].method) == (1.0, 0.5, "claims")
    assert [each.verdict for each in both.claims] == ["supported", "not_addressed"]
    # One verifier is no quorum of two.
    assert [each.verdict for each in found("a").claims] == [None, None] and found("a")[
        "support"
    ].status == "hung"
    assert voted({"a": 1, "b": 1}).claims == ()
    # Without a claim nobody could vote, and the reason is the claims', not the jurors'.
    none = transcript_of([Extracted(round=1, who="x", of="output", claims=())])
    none = none.model_copy(update={"protocol": "decompose-verify", "stop": Stop(reason="complete")})
    assert (
        verdict(none, rubric, bench("a", "b"), count="claims")["support"].why
        == "the output makes no claim that can be checked"
    )


def test_the_page_of_a_notebook_has_a_head_a_caption_and_a_row_for_each_score() -> None:
    page = counted([cast(name, {"accurate": 4, "risk": 2}) for name in "ab"])._repr_html_()
    columns = "".join(f"<th>{name}</th>" for name in ("attribute", "value", "method", "support", "dissent"))

    assert page.startswith(
        f"<table><caption>c by j: complete</caption><thead><tr>{columns}</tr></thead><tbody><tr>"
    )
    assert "<tr><td>accurate</td><td>4</td><td>mean</td><td>100%</td><td></td></tr><tr><td>risk</td>" in page
    assert page.endswith("<tr><td>safety</td><td>4</td><td>derived</td><td></td><td></td></tr><tr><td>overall</td><td>4</td><td>derived</td><td></td><td></td></tr></tbody></table>")  # fmt: skip


def test_what_all_agree_on_has_a_line_without_dissent() -> None:
    found = counted([cast(name, {"accurate": 4}) for name in "ab"])
    assert str(found).splitlines()[1] == "  accurate: 4 by mean, support 100%"
    assert found["accurate"].why == ""
    bare = found["accurate"].model_copy(update={"support": None, "dissent": ()})
    quiet = found["colour"].model_copy(update={"why": ""})
    lines = str(found.model_copy(update={"outcomes": {"x": bare, "y": quiet}})).splitlines()
    assert lines[1:3] == ["  x: 4 by mean", "  y: hung"]


def test_signals_go_by_the_outcomes_support_and_by_how_many_could_have_voted() -> None:
    made = voted({"a": 2, "b": 4})
    transcript, scale = made.transcript, RUBRIC.scale_of("accurate")

    def of(outcome: object = made["accurate"], **jury: object) -> dict[str, float]:
        return outcome_signals(outcome, transcript, "accurate", scale, bench("a", "b", **jury))  # type: ignore[arg-type]

    assert of() == of(repeats=3) == of(protocol="delphi") and of()["turnout"] == 1
    assert of(protocol="single", repeats=3) == of(protocol="panel", repeats=3) != of()
    assert of(made["accurate"].model_copy(update={"support": 1.0})) != of()
    assert of(made["accurate"].model_copy(update={"spread": 0.0})) != of()
