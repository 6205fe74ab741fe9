"""A run as tables, from deliberations written by hand: what stands, what hung, who abstained, what changed; and parts of the evidence."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from audit_worlds import LIKERT, evidence, ratings, votes
from mixed_rubric import RUBRIC
from written_transcripts import abstained, cast, transcript_of, written_run

from venire import Case, Jury, Stop, Store, Verdict
from venire.agents.cost import Receipt
from venire.evals.ratings.evidence import _numbers_as_numbers, _seated_people, two_panels
from venire.evals.ratings.run_tables import (
    ArmAbstentions,
    ArmCosts,
    ArmJudges,
    ArmMoments,
    ArmRatings,
    ArmStops,
    BlindCounts,
    Collector,
    JurorRatings,
    RoundVotes,
    VoteChanges,
    arm_tables,
    reached_scores,
)
from venire.evals.ratings.score_tables import lay_marks, lay_out
from venire.evals.statistics.matrix import InvalidRatings
from venire.orchestration.record import Arm
from venire.orchestration.verdict import verdict


def arm(protocol: str = "delphi", name: str = "j", seats: str = "abc", person: str = "") -> Arm:
    jury = Jury.model_validate({"name": name, "protocol": protocol, "count": "median", "quorum": min(2, len(seats)), "seats": [{"name": seat, "model": f"{'person' if seat == person else 'scripted'}/{seat}"} for seat in seats]})  # fmt: skip
    return Arm(1, name, RUBRIC, jury, {})


def heard(of: Arm) -> Verdict:
    """`a` gives 2 and then 5, `b` 3 and keeps it, `c` abstains in both rounds; on risk only `b` votes, on plan nobody has one that applies."""
    spent = Receipt(calls=("k",), prompt=100, completion=10, usd=0.5, seconds=2.0)
    steps = (
        [
            cast("a", {"accurate": 2, "tone": "plain", "plan": "not_applicable"}, abstained=("risk",), spent=spent),
            cast("b", {"accurate": 3, "risk": 4, "tone": "plain", "plan": "not_applicable"}, spent=spent),
            abstained("c", *RUBRIC.names),
        ],
        [cast("a", {"accurate": 5}, round=2, purpose="revision", saw=("1/b",), spent=spent), abstained("c", "accurate", round=2)],
    )  # fmt: skip
    transcript = transcript_of(*steps).with_stop(Stop(reason="rounds", limit="max_rounds"))
    return verdict(transcript, of.rubric, of.jury, count="median")


def table(collector: Collector, of: Arm | None = None) -> pd.DataFrame:
    sat = of or arm()
    collector.add(sat, heard(sat))
    return collector.table()


def test_reached_hung_and_not_applicable_stand_apart() -> None:
    reached = table(ArmRatings())
    assert reached.set_index("attribute")["value"].to_dict() == {"accurate": 4.0, "tone": "plain"}
    assert set(reached["rater"]) == {"j"} and set(reached["case"]) == {"c"}
    hung = table(ArmAbstentions())
    assert hung["attribute"].tolist() == ["risk"] and "1 of the 2" in hung["why"][0] and hung["unreached"][0]


def test_votes_that_stand_have_their_seat_and_model() -> None:
    cast_votes = table(JurorRatings())
    found = {(row.juror, row.attribute): row.value for row in cast_votes.itertuples()}
    assert found == {("a", "accurate"): 5, ("b", "accurate"): 3, ("b", "risk"): 4, ("a", "tone"): "plain", ("b", "tone"): "plain"}  # fmt: skip
    assert cast_votes.set_index("juror")["model"].to_dict() == {"a": "scripted/a", "b": "scripted/b"}

    repeated = arm("single", seats="a")
    steps = [cast("a", {"accurate": 1}), cast("a#2", {"accurate": 3})]
    collector = JurorRatings()
    collector.add(repeated, verdict(transcript_of(steps).with_stop(Stop(reason="complete")), RUBRIC, repeated.jury, count="median"))  # fmt: skip
    assert collector.table()[["juror", "seat", "value"]].to_numpy().tolist() == [["a", "a", 1], ["a#2", "a", 3]]  # fmt: skip


def test_votes_round_by_round_with_abstentions_as_blanks() -> None:
    rounds = table(RoundVotes())
    accurate = rounds[rounds["attribute"] == "accurate"]
    found = {(row.juror, row.round): row.value for row in accurate.itertuples()}
    assert found == {("a", 1): 2, ("b", 1): 3, ("c", 1): None, ("a", 2): 5, ("c", 2): None}
    assert "plan" not in set(rounds.loc[rounds["value"].notna(), "attribute"])
    assert table(RoundVotes(), arm("single", seats="a")).empty, "one seat is no jury"


def test_blind_counts_stand_beside_the_final_ones_with_what_each_took() -> None:
    counts = table(BlindCounts()).set_index("attribute")
    assert counts.loc["accurate", ["final", "blind"]].tolist() == [4.0, 2.5]
    assert counts.loc["risk", ["final", "blind"]].isna().all()
    row = counts.loc["accurate"]
    assert (row["calls"], row["tokens"], row["usd"], row["seconds"]) == (3, 330, 1.5, 4.0), (
        "the two of a step at once"
    )
    assert (row["blind_calls"], row["blind_tokens"], row["blind_usd"], row["blind_seconds"]) == (2, 220, 1.0, 2.0)  # fmt: skip
    assert table(BlindCounts(), arm("panel")).empty and table(VoteChanges(), arm("panel")).empty
    changes = table(VoteChanges())
    moved = {(row.juror, row.attribute): (row.first, row.last) for row in changes.itertuples(name="Row")}
    assert moved == {("a", "accurate"): (2, 5), ("b", "accurate"): (3, 3), ("b", "risk"): (4, 4), ("a", "tone"): ("plain", "plain"), ("b", "tone"): ("plain", "plain")}  # fmt: skip


def test_costs_and_stops_are_summed_by_arm() -> None:
    costs, stops = ArmCosts(), ArmStops()
    for sat in (arm(), arm(), arm(name="k")):
        costs.add(sat, heard(sat))
        stops.add(sat, heard(sat))
    row = costs.table().set_index("arm").loc["j"]
    assert (row["cases"], row["calls"], row["tokens"], row["usd"], row["usd_per_case"]) == (
        2,
        6,
        660,
        3.0,
        1.5,
    )
    assert (row["hung"], row["not_applicable"], row["seconds_per_case"]) == (2, 2, 4.0)
    assert row["abstentions"] == 2 * len(heard(arm()).transcript.abstentions)
    assert stops.table().to_numpy().tolist() == [["j", "rounds", "max_rounds", 2], ["k", "rounds", "max_rounds", 1]]  # fmt: skip


def test_the_last_vote_of_a_round_stands_even_where_its_seat_then_failed() -> None:
    """`a` votes twice and then fails in round 1; the orchestrator's words and repeats that are no seat's have no row."""
    twice = [cast("a", {"accurate": 2}), cast("a", {"accurate": 4}), abstained("a", "accurate"), cast("z", {"accurate": 1})]  # fmt: skip
    transcript = transcript_of(*([entry] for entry in twice), seats=("a", "b")).with_stop(Stop(reason="complete"))  # fmt: skip
    rounds = RoundVotes()
    rounds.add(arm(), verdict(transcript, RUBRIC, arm().jury, count="median"))
    assert rounds.table().to_numpy().tolist() == [["j", "c", "a", "accurate", 1, 4]]


def test_where_nobody_voted_blind_there_is_no_blind_count_and_no_cost_of_one() -> None:
    sat = arm(seats="ab")
    steps = [abstained("a", *RUBRIC.names), abstained("b", *RUBRIC.names)], [cast("a", {"accurate": 5}, round=2, purpose="revision"), cast("b", {"accurate": 5}, round=2, purpose="revision")]  # fmt: skip
    late = verdict(transcript_of(*steps).with_stop(Stop(reason="complete")), RUBRIC, sat.jury, count="median")
    counts, changes = BlindCounts(), VoteChanges()
    for collector in (counts, changes):
        collector.add(sat, late)
    (row,) = counts.table().query("attribute == 'accurate'").to_dict("records")
    assert (row["arm"], row["case"], row["final"], row["rule"], row["calls"]) == ("j", "c", 5, "", 0)
    assert row["blind"] is None and math.isnan(row["blind_calls"]) and math.isnan(row["blind_seconds"])
    assert changes.table().empty
    changed = table(VoteChanges())
    assert set(zip(changed["arm"], changed["case"], strict=True)) == {("j", "c")}


def test_an_alternate_that_answered_is_the_model_of_the_vote_and_no_version_of_the_seats() -> None:
    sat = arm("panel", seats="ab")
    steps = [cast("a", {"accurate": 1}, spent=Receipt(by="other/alternate", versions=("v9",))), cast("b", {"accurate": 2}, spent=Receipt(versions=("v1",)))]  # fmt: skip
    again = [cast("a", {"accurate": 1}, spent=Receipt(versions=("v2",))), cast("b", {"accurate": 2}, spent=Receipt(versions=("v3",)))]  # fmt: skip
    cast_votes, judges = JurorRatings(), ArmJudges()
    for step in (steps, again):
        heard_now = verdict(transcript_of(step).with_stop(Stop(reason="complete")), RUBRIC, sat.jury, count="median")  # fmt: skip
        cast_votes.add(sat, heard_now)
        judges.add(sat, heard_now)
    assert cast_votes.table()["model"].tolist() == ["other/alternate", "scripted/b", "scripted/a", "scripted/b"]  # fmt: skip
    assert judges._versions == {"j": {"a": {"v2"}, "b": {"v1", "v3"}}}


def test_what_one_arm_agreed_on_at_once_is_contradicted_by_another_a_step_away_and_never_by_itself() -> None:
    def agreed(value: int, sat: Arm, risk: int = 2) -> Verdict:
        given = {"accurate": value, "risk": risk}
        steps = [cast("a", given), cast("b", given)]
        return verdict(transcript_of(steps).with_stop(Stop(reason="complete")), RUBRIC, sat.jury, count="median")  # fmt: skip

    one, other = arm("panel", seats="ab"), arm("panel", name="k", seats="ab")
    moments = ArmMoments({"c": {"old": {"accurate": 3}}, "elsewhere": {"old": {"accurate": 1}}})
    moments.add(one, agreed(5, one))
    moments.add(other, agreed(5, other))
    assert reached_scores(agreed(5, one)) == {"accurate": 5, "risk": 2}
    found = moments.table()
    told = found[found["kind"] == "contradicted"]
    assert told[["arm", "case", "attribute"]].to_numpy().tolist() == [["j", "c", "accurate"], ["k", "c", "accurate"]]  # fmt: skip
    assert all("; old gave 3" in text for text in told["text"])
    apart = ArmMoments()
    for sat, value in ((one, 5), (other, 4)):
        apart.add(sat, agreed(value, sat))
    told = apart.table().query("kind == 'contradicted'")
    assert told["arm"].tolist() == ["j"] and "; k gave 4" in told["text"].item()


def test_of_some_cases_there_are_tables_and_of_all_there_are_totals(tmp_path: Path) -> None:
    cases = [Case(id=name, output="x") for name in ("c1", "c2", "c3")]
    votes = {case.id: {"a": {"accurate": 2}} for case in cases}
    store = Store.read(written_run(tmp_path / "run", RUBRIC, cases, {"j": votes}, spent=Receipt(calls=("k",), usd=None)))  # fmt: skip
    rated, costs = arm_tables(store, ArmRatings(), totals=[ArmCosts()], cases={"c1", "c3"})
    everything = arm_tables(store, ArmRatings())[0]
    store.release()
    assert rated["case"].tolist() == ["c1", "c3"] and everything["case"].tolist() == ["c1", "c2", "c3"]
    row = costs.iloc[0]
    assert (row["cases"], row["calls"], row["hung"]) == (3, 3, 9) and math.isnan(row["usd"])


def test_parts_of_the_evidence_are_of_the_cases_and_arms_that_are_named() -> None:
    world = evidence({"safe": LIKERT}, arms=[ratings("j", [1.0, 2.0, 3.0]), ratings("k", [4.0, 4.0, 4.0])], people=[ratings("Ana", [1.0, 1.0, 5.0, 5.0])], ballots=[votes("j", "a", [1.0, 2.0, 3.0]), votes("k", "a", [4.0, 4.0, 4.0])], moments=[("j", "c0", "hung", "safe", "x"), ("k", "c2", "hung", "safe", "y")])  # fmt: skip
    few = world.of_cases(["c0", "c2"])
    assert set(few.arms["case"]) == set(few.people["case"]) == set(few.ballots["case"]) == {"c0", "c2"}
    assert few.cases["case"].tolist() == ["c0", "c2"] and len(few.moments) == 2
    one = world.of_arms(["k"])
    assert set(one.arms["rater"]) == set(one.ballots["arm"]) == {"k"} == set(one.kinds)
    assert one.moments["case"].tolist() == ["c2"] and len(one.people) == 4
    # The reference is of the cases that an arm scored.
    assert world.reference().table["case"].tolist() == ["c0", "c1", "c2"]
    assert world.reference(without=["Ana"]).table.empty


def test_a_second_panel_is_parted_by_name_and_leaves_somebody() -> None:
    human = pd.concat([ratings("Ana", [1.0]), ratings("Ben", [2.0]), ratings("Cy", [3.0])])
    first, second = two_panels(human, ["Cy"])
    assert (first["rater"].tolist(), second["rater"].tolist()) == (["Ana", "Ben"], ["Cy"])
    assert len(two_panels(human, [])[1]) == 0
    with pytest.raises(InvalidRatings, match="names 'Di', but no rater has this name"):
        two_panels(human, ["Di"])
    with pytest.raises(InvalidRatings, match="nobody is left"):
        two_panels(human, ["Ana", "Ben", "Cy"])


@pytest.mark.parametrize(("protocol", "accurate"), [("delphi", 2), ("panel", 5)])
def test_a_seated_person_is_a_rater_by_the_votes_cast_before_the_others_were_read(
    protocol: str, accurate: int
) -> None:
    """In a deliberation `a` gave 2 and revised it to 5; a panel's one vote is blind as it stands. In `k` the seat `a` is a model's."""
    sat = arm(protocol, person="a")
    ballots, changes = table(JurorRatings(), sat), table(VoteChanges(), sat)
    other = {"arm": "k", "value": 9, "first": 9}
    ballots, changes = (pd.concat([each.assign(**{name: other[name] for name in other if name in each}), each]) for each in (ballots, changes))  # fmt: skip
    raters, notes = _seated_people([arm(name="k"), sat], ballots, changes, ["ben"])

    found = {(row.rater, row.attribute): row.value for row in raters.itertuples()}
    assert found == {("a, blind", "accurate"): accurate, ("a, blind", "tone"): "plain"}
    assert len(notes) == 1 and "not the revised ones" in notes[0]


def test_a_person_is_held_against_what_the_others_say() -> None:
    """On the sheet and among marks: the median of all, and of the two who are left without each."""
    people = [ratings("Ana", [1.0, 5.0]), ratings("Ben", [2.0, 4.0]), ratings("Cy", [5.0, 2.0])]
    world = evidence({"safe": LIKERT}, arms=[ratings("j", [3.0, 3.0])], people=people)
    sheet, marks = lay_out(world), lay_marks(world)
    wanted = {None: [2, 4], "Ana": [3.5, 3], "Ben": [3, 3.5], "Cy": [1.5, 4.5]}

    for person, values in wanted.items():
        assert sheet.reference("safe", without=person).tolist() == values
        of_marks = marks.reference(without=[person] if person else [])
        assert (1 + 4 * of_marks).tolist() == pytest.approx(values)


def test_metadata_is_numbers_where_all_of_it_is() -> None:
    cases = pd.DataFrame({"case": ["a", "b", "c"], "age": ["40", 7, " "], "ward": ["3", "x", None]}, dtype=object)  # fmt: skip
    found = _numbers_as_numbers(cases, ["age", "ward"])
    assert found["age"].tolist()[:2] == [40.0, 7.0] and math.isnan(found["age"][2])
    assert found["ward"].tolist()[:2] == ["3", "x"] and pd.isna(found["ward"][2])
