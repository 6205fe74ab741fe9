"""The analyses, on deliberations in which the moment to be found was planted."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from planted_run import (
    FEVER,
    JURORS,
    ORDERLY,
    RASH,
    RUBRIC,
    SCRIPTS,
    SOUND,
    ballot_line,
    planted_case,
    planted_run,
    scripted_jury,
)
from written_transcripts import IN_NO_TEXT, abstained, cast, transcript_of

from venire import Jury, Store, Verdict, deliberate_sync
from venire.agents.cost import Receipt
from venire.agents.orchestrator import Finding
from venire.orchestration.reading.analysis import (
    Census,
    Flag,
    InstantAgreement,
    conformity,
    contradictions,
    convergence,
    distinct_flags,
    flags,
    flags_across_arms,
    influence,
    instant_agreements,
    interest,
    moves,
    overrulings,
    turning_points,
    unsupported_quotes,
)
from venire.orchestration.reading.export import verdicts
from venire.orchestration.reading.scores import ScoreCounts, _ArmTotals, histogram
from venire.orchestration.transcript import CLERK, STRUCK, Decided, Said, Stop
from venire.orchestration.verdict import verdict as count_verdict


def heard(folder: Path, name: str, **fields: object) -> Verdict:
    """What the planted script `name` leads to."""
    return deliberate_sync(planted_case(name), RUBRIC, scripted_jury(folder, name, SCRIPTS[name], **fields))


def kinds(verdict: Verdict) -> set[str]:
    return {flag.kind for flag in flags(verdict, RUBRIC)}


def test_an_undisturbed_deliberation_flags_nothing(tmp_path: Path) -> None:
    assert flags(heard(tmp_path, "calm"), RUBRIC) == ()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("premature", "premature-consensus"),
        ("persuaded", "moved-towards"),
        ("fabricated", "unsupported-evidence"),
        ("conformed", "conformity"),
        ("overruled", "overruled"),
    ],
)
def test_each_planted_moment_is_flagged_and_nothing_else(tmp_path: Path, name: str, kind: str) -> None:
    assert kinds(heard(tmp_path, name)) == {kind}


def test_persuasion_names_who_moved_whom_and_what_for(tmp_path: Path) -> None:
    transcript = heard(tmp_path, "persuaded").transcript

    drawn = influence(transcript)

    assert [(d.source, d.move.juror, d.move.before, d.move.after) for d in drawn] == [
        ("low", "high", 5, 2),
        ("low", "middle", 5, 2),
    ]
    assert all(d.grounds == (RASH,) and d.credit == 1 for d in drawn)
    assert conformity(transcript) == ()


def test_two_who_moved_one_another_share_nothing_with_those_who_stood_still(tmp_path: Path) -> None:
    transcript = heard(tmp_path, "conformed").transcript

    assert [(m.juror, m.before, m.after, m.round) for m in moves(transcript)] == [("low", 2, 4, 2)]
    assert [(d.source, d.credit) for d in influence(transcript)] == [("high", 0.5), ("middle", 0.5)]


def test_giving_way_with_evidence_is_not_conformity(tmp_path: Path) -> None:
    script = {
        "seats": {
            "high": [{"accurate": SOUND, "organized": ORDERLY}],
            "low": [
                {"accurate": ballot_line(2, "Out of place.", RASH), "organized": ORDERLY},
                {
                    "accurate": ballot_line(
                        4, "The fever is right.", FEVER, moved_by="the fever stands in the note"
                    )
                },
            ],
            "middle": [{"accurate": SOUND, "organized": ORDERLY}],
        }
    }
    verdict = deliberate_sync(planted_case("x"), RUBRIC, scripted_jury(tmp_path, "x", script))

    assert kinds(verdict) == {"moved-towards"}


@pytest.mark.parametrize("score", [1, 5])
def test_both_ends_of_the_scale_count_as_extreme(tmp_path: Path, score: int) -> None:
    script = {"seats": {name: [{"accurate": score, "organized": ORDERLY}] for name in JURORS}}
    verdict = deliberate_sync(planted_case("x"), RUBRIC, scripted_jury(tmp_path, "x", script))

    (agreement,) = instant_agreements(verdict.transcript, RUBRIC)
    assert (agreement.attribute, agreement.value, agreement.test) == ("accurate", score, "unchallenged")


def test_a_challenge_that_shows_nothing_leaves_the_agreement_untested(tmp_path: Path) -> None:
    verdict = heard(tmp_path, "premature", challenge=True)

    (agreement,) = instant_agreements(verdict.transcript, RUBRIC)
    assert agreement.test == "empty challenge"
    assert kinds(verdict) == {"premature-consensus"}


def test_an_agreement_that_a_challenge_overturns_was_not_premature(tmp_path: Path) -> None:
    five = ballot_line(5, "In order.")
    three = ballot_line(3, "The rash is out of place.", RASH, moved_by=RASH)
    seats = {name: [{"accurate": SOUND, "organized": five}, {"organized": three}] for name in JURORS}
    verdict = deliberate_sync(
        planted_case("x"), RUBRIC, scripted_jury(tmp_path, "x", {"seats": seats}, challenge=True)
    )

    (agreement,) = instant_agreements(verdict.transcript, RUBRIC)
    assert agreement.test == "overturned"
    assert "premature-consensus" not in kinds(verdict)


def test_a_move_under_orders_is_nobodys_influence(tmp_path: Path) -> None:
    five = ballot_line(5, "In order.")
    three = ballot_line(3, "If I must argue against it: the rash.", RASH, moved_by="I was asked to")
    seats = {name: [{"accurate": SOUND, "organized": five}] for name in JURORS}
    seats["middle"].append({"organized": three})
    verdict = deliberate_sync(
        planted_case("x"), RUBRIC, scripted_jury(tmp_path, "x", {"seats": seats}, challenge=True)
    )

    ordered = [move for move in moves(verdict.transcript) if move.under_orders]
    assert [move.juror for move in ordered] == ["middle"]
    assert not any(d.move in ordered for d in influence(verdict.transcript))


def test_repeats_of_one_judge_are_no_jury_and_no_change_of_mind(tmp_path: Path) -> None:
    script = {"seats": {"judge": [{"accurate": 5, "organized": 5}]}}
    sitting = scripted_jury(tmp_path, "x", script, protocol="single", seats=("judge",), repeats=3)
    verdict = deliberate_sync(planted_case("x"), RUBRIC, sitting)

    assert instant_agreements(verdict.transcript, RUBRIC) == ()
    assert moves(verdict.transcript) == ()
    assert flags(verdict, RUBRIC) == ()


def test_convergence_and_turning_point(tmp_path: Path) -> None:
    transcript = heard(tmp_path, "persuaded").transcript

    assert [(p.round, p.spread, p.agreement) for p in convergence(transcript)["accurate"]] == [
        (1, 3, pytest.approx(2 / 3)),
        (2, 0, 1),
    ]
    (turn,) = turning_points(transcript)
    assert (turn.attribute, turn.before, turn.after, turn.settled) == ("accurate", 5, 2, True)


def test_a_fabricated_quote_is_told_with_its_words(tmp_path: Path) -> None:
    (quote,) = unsupported_quotes(heard(tmp_path, "fabricated").transcript)

    assert (quote.juror, quote.attribute, quote.stands) == ("low", "accurate", True)
    assert quote.quote == "patient denies any allergy to penicillin"


def test_a_fabricated_quote_of_a_repeat_or_of_a_seat_struck_off_stands_no_more() -> None:
    false = {"never said": IN_NO_TEXT}
    transcript = transcript_of(
        [cast(name, {"x": 2}, purpose="repeat", quotes=false) for name in ("judge", "judge#2")],
        [cast("low", {"x": 1}, quotes=false)],
        [Said(round=2, who=CLERK, about=STRUCK, text="low")],
        seats=("judge", "low"),
    )

    told = [(quote.juror, quote.stands) for quote in unsupported_quotes(transcript)]
    assert told == [("judge", True), ("judge#2", False), ("low", False)]


def test_a_decision_against_the_majority(tmp_path: Path) -> None:
    (over,) = overrulings(heard(tmp_path, "overruled"))

    assert over.decided == 2
    assert over.jurors == ("high", "middle")
    assert over.against_majority


def test_another_arm_contradicts_what_was_agreed_at_once(tmp_path: Path) -> None:
    store = Store.read(planted_run(tmp_path, {"premature": SCRIPTS["premature"]}))
    found = {arm.name: verdict for arm, verdict in verdicts(store)}
    store.release()

    told = flags_across_arms(found["stances"], RUBRIC, [found["single"]])

    assert [flag.kind for flag in told] == ["contradicted", "premature-consensus"]
    assert told[0].text == "all 3 jurors gave 5 in their first vote; single gave 3"
    assert flags_across_arms(found["single"], RUBRIC, [found["stances"]]) == ()


def test_two_jurors_are_both_and_another_arms_mean_has_two_decimals() -> None:
    agreed = InstantAgreement("accurate", 5, ("a", "b"), ("1/a", "1/b"), "unchallenged", 0, 0)

    (told,) = contradictions([agreed], "mean", {"accurate": 5 / 3})

    assert told.text == "both jurors gave 5 in their first vote; mean gave 1.67"


def test_a_census_adds_up_over_the_run(tmp_path: Path) -> None:
    store = Store.read(planted_run(tmp_path))
    census = Census()
    for arm, verdict in verdicts(store, arm="stances"):
        census.add(verdict, arm.rubric, arm.jury, flags(verdict, arm.rubric))
    store.release()

    assert census.number("cases") == len(SCRIPTS)
    assert [share.name for share in census.splits()] == ["accurate", "organized"]
    assert census.persuaders()[0].name == "low"
    assert census.persuaders()[0].value == 2
    conformers = {share.name: (share.value, share.n) for share in census.conformers()}
    assert conformers["low"] == (pytest.approx(1 / 3), 3)
    assert census.leanings("juror")[-1].name == "low"
    assert dict(census.counts("flagged"))["premature-consensus"] == 1


def test_leanings_are_turned_where_low_is_better(tmp_path: Path) -> None:
    accurate = RUBRIC.by_name["accurate"].model_copy(update={"better": "low"})
    turned = RUBRIC.model_copy(update={"attributes": (accurate, RUBRIC.by_name["organized"])})
    turned = type(RUBRIC).model_validate(turned.model_dump())
    scores = {"high": 5, "low": 1, "middle": 3}
    script = {"seats": {name: [{"accurate": score, "organized": 3}] for name, score in scores.items()}}
    sitting = scripted_jury(tmp_path, "x", script, protocol="panel")
    verdict = deliberate_sync(planted_case("x"), turned, sitting)
    census = Census()
    census.add(verdict, turned, sitting, ())

    assert [share.name for share in census.leanings("juror")] == ["low", "middle", "high"]


def test_a_census_of_one_deliberation_counted_by_hand() -> None:
    """`a` comes down to `c`, having read it; `b` is told to argue high, which is nobody's mind changed; `d` gives nothing."""
    first = [
        cast("a", {"accurate": 5, "organized": 4}),
        cast("b", {"accurate": 1}),
        cast("c", {"accurate": 3}),
    ]
    later = [
        cast("a", {"accurate": 3}, round=2, purpose="revision", saw=("1/b", "1/c")),
        cast("b", {"accurate": 5}, round=2, purpose="challenge", saw=("1/a",)),
    ]
    transcript = transcript_of([*first, abstained("d", "accurate")], later).with_stop(Stop(reason="rounds"))
    jury = Jury.model_validate(
        {"name": "j", "seats": [{"name": name, "model": f"m{name}"} for name in "abcd"], "quorum": 2}
    )
    census = Census()
    census.add(count_verdict(transcript, RUBRIC, jury, count="median"), RUBRIC, jury, ())

    leanings = {share.name: share.value for share in census.leanings("juror")}
    assert leanings == pytest.approx({"a": 0.75, "b": -0.75, "c": 0.0})
    assert {share.name: share.value for share in census.leanings("model")} == pytest.approx(
        {"ma": 0.75, "mb": -0.75, "mc": 0.0}
    )
    assert census.counts("moved") == [("a", 1)]
    assert [(share.name, share.value) for share in census.splits()] == [("accurate", 1.0)]
    assert [(number, share.value) for number, share in census.curve("accurate")] == [(1, 1.0), (2, 0.5)]
    # One vote is neither apart nor together.
    assert census.curve("organized") == []
    assert [(flow.mover, flow.credit) for flow in census.flows()] == [("a", 0.5), ("a", 0.5)]
    assert census.total("spent", "abstentions") == 1 and census.total("spent", "rounds") == 2
    twice = Census()
    twice.merge(census)
    twice.merge(census)
    assert twice.counts("moved") == [("a", 2)] and twice.splits() == [census.splits()[0]._replace(n=2)]


def test_versions_and_leanings_are_the_models_that_answered() -> None:
    """Where an alternate answers for a seat, its version is not the seat's model's, and its leaning is its own."""
    own, alternate = Receipt(versions=("v1",)), Receipt(versions=("w9",), by="mz")
    votes = [
        cast("a", {"accurate": 5}, spent=own),
        cast("b", {"accurate": 1}, spent=alternate),
        cast("b#2", {"accurate": 1}, purpose="repeat", spent=own),
    ]
    transcript = transcript_of(votes, seats=("a", "b")).with_stop(Stop(reason="complete"))
    jury = Jury.model_validate(
        {"name": "j", "seats": [{"name": name, "model": f"m{name}"} for name in "ab"], "quorum": 2}
    )
    census = Census()
    census.add(count_verdict(transcript, RUBRIC, jury, count="median"), RUBRIC, jury, ())

    assert {key[1:] for key in census.sums if key[0] == "version"} == {("a", "v1"), ("b", "v1")}
    assert [(share.name, share.n) for share in census.leanings("model")] == [("ma", 1), ("mb", 1), ("mz", 1)]
    assert {share.name for share in census.leanings("persona")} == {"none"}
    assert census.total("spent", "calls") == 0 and census.number("unpriced") == 0


OURS, NEW, OTHER = {"ours": "source"}, {"new": "source"}, {"other": "source"}


@pytest.mark.parametrize(
    ("challenge", "answer", "test"),
    [
        (None, None, "unchallenged"),
        ((5, {}), (5, OTHER), "empty challenge"),
        ((5, {"made up": None}), (5, OTHER), "empty challenge"),
        ((5, OURS), (5, OTHER), "empty challenge"),
        ((5, NEW), (5, {}), "brushed aside"),
        ((5, NEW), (5, OURS), "brushed aside"),
        # Repeating the words that were shown against it is no new evidence for it.
        ((5, NEW), (5, NEW), "brushed aside"),
        ((5, NEW), (5, {"made up": None}), "brushed aside"),
        ((5, NEW), (5, OTHER), "held"),
        ((5, NEW), (4, OTHER), "overturned"),
        ((4, NEW), (5, OTHER), "overturned"),
    ],
)
def test_what_became_of_an_agreement_goes_by_evidence_that_was_new(
    challenge: tuple[int, dict[str, str | None]] | None,
    answer: tuple[int, dict[str, str | None]] | None,
    test: str,
) -> None:
    steps = [[cast("a", {"organized": 5}, quotes=OURS), cast("b", {"organized": 5}, quotes={"lost": None})]]
    if challenge and answer:
        steps += [
            [cast("b", {"organized": challenge[0]}, round=2, purpose="challenge", quotes=challenge[1])],
            [cast("a", {"organized": answer[0]}, round=2, purpose="revision", quotes=answer[1])],
        ]
    (found,) = instant_agreements(transcript_of(*steps), RUBRIC)

    assert (found.test, found.value, found.jurors, found.entries) == (test, 5, ("a", "b"), ("1/a", "1/b"))
    assert (found.quoted, found.misquoted) == (1, 1)
    assert found.premature is (test in ("unchallenged", "empty challenge", "brushed aside"))


@pytest.mark.parametrize(
    "votes", [{"a": 4, "b": 4}, {"a": 5}, {"a": 5, "b": 4}, {"a": 5, "b": "not_applicable"}]
)
def test_no_instant_agreement_in_the_middle_alone_or_apart(votes: dict[str, object]) -> None:
    entries = [cast(name, {"organized": value}) for name, value in votes.items()]  # type: ignore[dict-item]

    assert instant_agreements(transcript_of(entries), RUBRIC) == ()


def test_one_heavy_flag_comes_before_any_number_of_lighter_ones() -> None:
    assert interest([3]) > interest([2] * 500) > interest([2]) > interest([1] * 500) > interest([]) == 0
    assert interest([3, 1]) > interest([3])


@pytest.mark.parametrize(("other", "told"), [(4, 1), (4.1, 0), (5, 0), (3, 1)])
def test_another_arm_contradicts_from_a_whole_step_on(other: float, told: int) -> None:
    agreed = InstantAgreement("accurate", 5, ("a", "b"), ("1/a", "1/b"), "unchallenged", 0, 0)

    assert len(contradictions([agreed], "mean", {"accurate": other})) == told
    assert contradictions([agreed._replace(test="overturned")], "mean", {"accurate": other}) == ()
    assert contradictions([agreed], "mean", {"organized": other}) == ()


@pytest.mark.parametrize(
    ("votes", "majority", "against"),
    [((2, 4), False, "a"), ((2, 2, 4), True, "ab"), ((2, 3, 4), False, "ab"), ((2, 2, 4, 4), False, "ab")],
)
def test_more_than_half_of_the_votes_for_one_score_are_a_majority(
    votes: tuple[int, ...], majority: bool, against: str
) -> None:
    seats = "abcd"[: len(votes)]
    cast_votes = [cast(name, {"accurate": value}) for name, value in zip(seats, votes, strict=True)]
    finding = Finding(attribute="accurate", value=4, rationale="r", weighed=(seats[0],))
    transcript = transcript_of(cast_votes, [Decided(round=1, findings=(finding,))]).with_stop(
        Stop(reason="rounds")
    )
    jury = Jury.model_validate(
        {
            "name": "j",
            "protocol": "orchestrated",
            "quorum": 2,
            "seats": [{"name": name, "model": "m"} for name in seats],
        }
    )
    (found,) = overrulings(count_verdict(transcript, RUBRIC, jury, count="decision"))

    assert (found.jurors, found.against_majority) == (tuple(against), majority)
    assert found.unheard == tuple(against[1:])


def test_a_mean_is_of_the_scores_that_were_reached_and_of_nothing_else() -> None:
    jury = Jury.model_validate(
        {"name": "j", "quorum": 2, "seats": [{"name": name, "model": "m"} for name in "ab"]}
    )
    counts = ScoreCounts()
    for system, votes in (
        ("x", {"a": 4, "b": 4}),
        ("x", {"a": 1}),
        ("y", {"a": 1, "b": 1}),
        (None, {"b": 3}),
    ):
        cast_votes = [cast(name, {"accurate": value}) for name, value in votes.items()]
        silent = [abstained(name, *RUBRIC.names) for name in "ab" if name not in votes]
        told = transcript_of([*cast_votes, *silent], seats=("a", "b")).with_stop(Stop(reason="complete"))
        counts.add("j", system, count_verdict(told, RUBRIC, jury, count="median"))
    arm = SimpleNamespace(name="j", rubric=RUBRIC)
    every, x, y = (
        next(found for found in counts.summaries(arm, system=system) if found.attribute == "accurate")  # type: ignore[arg-type]
        for system in (None, "x", "y")
    )

    assert (every.n, every.mean, every.hung, every.abstained) == (2, 2.5, 2, 2)
    assert (x.n, x.mean, x.hung, x.abstained) == (1, 4.0, 1, 1) and (y.n, y.mean, y.hung) == (1, 1.0, 0)
    assert dict(every.counts) == {1: 1, 2: 0, 3: 0, 4: 1, 5: 0} and counts.systems() == ["x", "y"]


def test_an_arms_totals_have_as_accepted_or_for_people_only_what_a_rule_told_so() -> None:
    jury = Jury.model_validate({"name": "j", "seats": [{"name": name, "model": "m"} for name in "abc"]})
    told = transcript_of(
        [
            cast("a", {"accurate": 4}, spent=Receipt(by="other")),
            cast("b", {"accurate": 4}),
            abstained("c", "accurate"),
        ]
    )
    found = count_verdict(told.with_stop(Stop(reason="complete")), RUBRIC, jury, count="median")
    totals = _ArmTotals()
    for reason in (None, None, None, "", "", "not sure enough"):
        outcome = found["accurate"].model_copy(update={"escalated": reason})
        totals.add(found.model_copy(update={"outcomes": {"accurate": outcome}}))

    assert (totals.cases, totals.unseen, totals.to_people, totals.abstentions) == (6, 2, 1, 6)
    assert totals.outcomes == {"reached": 6} and totals.stops == {"complete": 6}
    assert totals.alternates == {("a", "other"): 6}


@pytest.mark.parametrize(
    ("counts", "bars"),
    [((), ""), ((0, 0), "  "), ((1, 0, 8), "▁ █"), ((4, 8), "▄█"), ((1, 1000), "▁█"), ((3,), "█")],
)
def test_a_histogram_is_as_high_as_its_counts_and_blank_only_where_there_is_none(
    counts: tuple[int, ...], bars: str
) -> None:
    assert histogram([(value, times) for value, times in enumerate(counts)]) == bars


def test_a_preference_has_no_mean_and_what_does_not_apply_is_no_score() -> None:
    sums = {("j", "", "accurate", what): pair for what, pair in {
        "4": (2, 0.0), "2.5": (1, 0.0), "reached": (3, 10.5), "not_applicable": (4, 0.0), "hung": (5, 0.0), "abstained": (6, 0.0)}.items()}  # fmt: skip
    counts = ScoreCounts(sums | {("k", "", "accurate", "reached"): (9, 9.0)})  # type: ignore[arg-type]
    (found,) = counts.summaries(SimpleNamespace(name="j", rubric=RUBRIC))  # type: ignore[arg-type]

    assert (found.n, found.mean, found.not_applicable, found.hung, found.abstained) == (3, 3.5, 4, 5, 6)
    assert found.counts == ((1, 0), (2, 0), (2.5, 1), (3, 0), (4, 2), (5, 0)), (
        "a score between two steps stands there"
    )
    (pair,) = counts.summaries(SimpleNamespace(name="j", rubric=RUBRIC.as_pairs()))  # type: ignore[arg-type]
    assert pair.mean is None


def test_a_flag_that_recurs_is_told_once_with_its_rounds() -> None:
    def flag(
        round: int, weight: int, kind: str = "unsupported-evidence", text: str = "low quoted air"
    ) -> Flag:
        return Flag(kind, weight, "accurate", ("low",), (f"{round}/low",), round, text)  # type: ignore[arg-type]

    found = [flag(1, 2), flag(2, 2), flag(4, 3), flag(2, 2, text="low quoted ice"), flag(1, 3, "premature-consensus", "all agreed")]  # fmt: skip

    told = distinct_flags(found, rounds=4)

    assert [(each.weight, each.text) for each in told] == [
        (3, "low quoted air (rounds 1, 2 and 4)"), (3, "all agreed"), (2, "low quoted ice (round 2)"),
    ]  # fmt: skip
    assert told[0].entries == ("1/low", "2/low", "4/low")
    assert [each.text for each in distinct_flags(found[:1], rounds=1)] == ["low quoted air"]
