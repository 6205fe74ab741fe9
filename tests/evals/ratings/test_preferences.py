"""The long table of a run of pairs: every preference once, with whose, of which systems, on which case of which group."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from written_transcripts import cast, transcript_of, written_run

from venire import Case, Jury, Stop, Store, load_rubric
from venire.agents.orchestrator import Finding
from venire.evals.ratings.preferences import (
    _votes_on,
    load_preferences,
    pair_votes,
    people_in_numbers,
    under_labels,
)
from venire.orchestration.record import Arm
from venire.orchestration.transcript import Decided
from venire.orchestration.verdict import verdict
from venire.rubrics.ballot import Vote
from venire.rubrics.errors import InvalidFile
from venire.rubrics.ratings import Rating

PREFERENCE = load_rubric("preference")


def test_every_preference_of_a_run_of_pairs_by_hand(tmp_path: Path) -> None:
    """Of four pairs two are of one patient, one has twice the same text, and one is hung; votes are -1 for output A, 1 for B.

    Which text of a row is output A is drawn by the case's id: of c1 and c2 it is the second.
    """
    rows = [
        {"id": "c1", "group": "p", "question": "Q?", "system_a": "x", "system_b": "y", "output_a": "longer", "output_b": "long"},
        {"id": "c2", "group": "p", "question": "Q?", "system_a": "y", "system_b": "x", "output_a": "same", "output_b": "same"},
        {"id": "c3", "question": "R?", "system_a": "x", "system_b": "y", "output_a": "one", "output_b": "eleven"},
        {"id": "c4", "question": "R?", "system_a": "x", "system_b": "y", "output_a": "one", "output_b": "two"},
    ]  # fmt: skip
    given = {"c1": (-1, -1), "c2": (1, 0), "c3": (1, 1), "c4": (None, None)}
    votes = {case: {seat: {} if value is None else {"preference": value} for seat, value in zip(("ann", "ben"), pair, strict=True)} for case, pair in given.items()}  # fmt: skip
    run = written_run(
        tmp_path / "run", load_rubric("preference"), [Case.from_row(row) for row in rows], {"jury": votes}
    )
    store = Store.read(run)
    table, heard = pair_votes(store)
    store.release()

    assert heard == {("jury", "preference"): 4}
    assert set(zip(table["arm"], table["attribute"], table["stage"], strict=True)) == {
        ("jury", "preference", "final")
    }
    seats = table[table["who"] != "verdict"]
    assert [*zip(seats["case"], seats["who"], seats["outcome"], strict=True)] == [
        ("c1", "ann", 1), ("c1", "ben", 1), ("c2", "ann", -1), ("c2", "ben", 0), ("c3", "ann", -1), ("c3", "ben", -1),
    ]  # fmt: skip
    verdicts = table[table["who"] == "verdict"].set_index("case")
    assert (
        verdicts.loc[["c1", "c3"], "outcome"].to_dict() == {"c1": 1, "c3": -1} and "c4" not in verdicts.index
    )
    by_case = table.drop_duplicates("case").set_index("case")
    assert by_case["cluster"].to_dict() == {"c1": "p", "c2": "p", "c3": "c3"}
    assert by_case["question"].to_dict() == {"c1": "p", "c2": "p", "c3": "R?"}
    assert by_case[["a", "b"]].to_numpy().tolist() == [["y", "x"], ["x", "y"], ["x", "y"]]
    assert by_case["length"].to_dict() == {"c1": -2, "c2": 0, "c3": -3}
    assert by_case["same"].to_dict() == {"c1": False, "c2": True, "c3": False}


def seated(seats: str, **settings: object) -> Arm:
    jury = Jury.model_validate({"name": "j", "protocol": "delphi", "count": "median", "quorum": 1, "seats": [{"name": seat, "model": "scripted/none"} for seat in seats], **settings})  # fmt: skip
    return Arm(1, "j", PREFERENCE, jury, {})


def test_what_was_said_blind_and_what_stood_at_the_end_are_rows_of_their_own() -> None:
    """`a` saw A first and gives A, then B; `b` saw B first and gives B; `c` finds that neither applies.

    Blind, the median of -1 and 1 is the tie; in the end both give B, whose number here is -1.
    """
    arm = seated("abc")
    first = {"a": "A", "b": "B", "c": "A"}
    given = {"a": -1, "b": 1, "c": "not_applicable"}
    blind = [cast(seat, {"preference": value}).model_copy(update={"first": first[seat]}) for seat, value in given.items()]  # fmt: skip
    again = [cast("a", {"preference": 1}, round=2, purpose="revision").model_copy(update={"first": "A"})]
    heard = verdict(transcript_of(blind, again).with_stop(Stop(reason="complete")), PREFERENCE, arm.jury, count="median")  # fmt: skip
    case = Case.from_row({"id": "c3", "group": "p", "question": "Q?", "output_a": "four", "output_b": "sixsix", "system_a": "x", "system_b": "y"})  # fmt: skip

    rows = [*_votes_on(arm, heard, case, worded=True)]
    assert [(*row[2:4], row[9], row[10], row[13]) for row in rows] == [
        ("verdict", "blind", 0, 0, False), ("a", "blind", 1, 1, False), ("b", "blind", -1, -1, False),
        ("verdict", "final", -1, 0, False), ("a", "final", -1, 1, False), ("b", "final", -1, -1, False),
    ]  # fmt: skip
    assert {row[:2] + row[4:9] + row[11:13] for row in rows} == {("j", "preference", "c3", "p", "p", "x", "y", -2.0, False)}  # fmt: skip
    redacted = next(_votes_on(arm, heard, case, worded=False))
    assert redacted[5:7] == ("p", "p") and math.isnan(float(str(redacted[11])))
    alone = case.model_copy(update={"group": None})
    assert [next(_votes_on(arm, heard, alone, worded=worded))[5:7] for worded in (True, False)] == [("c3", "Q?"), ("c3", "")]  # fmt: skip


def test_a_decision_was_shown_what_the_orchestrator_saw_and_its_repeats_are_one_seats() -> None:
    """The one judge of a panel asked twice, in both orders each time; first it contradicts itself, then it does not."""
    arm = seated("a", protocol="panel", repeats=2)
    asked = []
    for name, orders in (("a", (-1, 1)), ("a#2", (1, 1))):
        ballot = cast(name, {"preference": 0 if name == "a" else 1})
        vote = Vote(attribute="preference", value=ballot.ballot.votes[0].value, rationale="r", orders=orders)
        asked.append(
            ballot.model_copy(update={"ballot": ballot.ballot.model_copy(update={"votes": (vote,)})})
        )
    heard = verdict(transcript_of(asked, seats=("a",)).with_stop(Stop(reason="complete")), PREFERENCE, arm.jury, count="median")  # fmt: skip
    case = Case.from_row({"id": "c3", "output_a": "one", "output_b": "two"})
    rows = [row for row in _votes_on(arm, heard, case, worded=True) if row[2] != "verdict"]
    assert [(*row[2:4], row[9], row[10], row[13]) for row in rows] == [
        ("a", "final", 1, 1, True), ("a", "final", -1, -1, False), ("a", "final", -1, 1, False), ("a", "final", -1, -1, False),
    ]  # fmt: skip

    panel = seated("ab")
    votes = [cast(seat, {"preference": value}).model_copy(update={"first": "A"}) for seat, value in (("a", 1), ("b", 1))]  # fmt: skip
    final = Decided(
        round=2, first="B", findings=(Finding(attribute="preference", value=1, rationale="r", weighed=()),)
    )
    told = verdict(transcript_of(votes, [final], seats=("a", "b")).with_stop(Stop(reason="complete")), PREFERENCE, panel.jury, count="decision")  # fmt: skip
    shown = {row[3]: (row[9], row[10]) for row in _votes_on(panel, told, case, worded=True) if row[2] == "verdict"}  # fmt: skip
    assert shown == {"blind": (-1, 1), "final": (-1, -1)}


def test_a_file_without_names_of_cases_numbers_them_and_a_judge_of_turns_has_a_case_each(tmp_path: Path) -> None:  # fmt: skip
    file = tmp_path / "p.csv"
    file.write_text("first,second,preference\nx,y,1\nx,y,2\n")
    assert load_preferences(file)[0]["case"].tolist() == ["line 2", "line 3"]
    file.write_text("question_id,turn,model_1,model_2,preference,output_1\n8,1,x,y,1,long\n8,2,x,y,1,long\n")
    turns, _ = load_preferences(file)
    assert turns["case"].tolist() == ["8, turn 1", "8, turn 2"] and turns["length"].isna().all()


def test_a_preference_from_1_to_2_is_a_share_and_no_other_number_is_one(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text("first,second,preference\nx,y,1\nx,y,1.25\nx,y,2\nx,y,Tie\nx,y,second\nx,y,x\nx,y,error\n")  # fmt: skip
    table, lost = load_preferences(file)
    assert (table["share"].tolist(), lost) == ([1.0, 0.75, 0.0, 0.5, 0.0, 1.0], 1)
    for cell in ("0.5", "2.5", "maybe"):
        file.write_text(f"first,second,preference\nx,y,{cell}\n")
        with pytest.raises(InvalidFile, match="is not a preference"):
            load_preferences(file)


def test_people_of_a_run_are_read_in_numbers_only_where_outputs_were_compared(tmp_path: Path) -> None:
    """Of two cases one is swapped: the row's first output is below 0 as people say it, above as jurors are told it."""
    cases = [Case.from_row({"id": name, "output_a": "one", "output_b": "two", "system_a": "x", "system_b": "y"}) for name in ("c3", "c2")]  # fmt: skip
    votes = {case.id: {"ann": {"preference": -1}} for case in cases}
    store = Store.read(written_run(tmp_path / "run", PREFERENCE, cases, {"jury": votes}))
    given = [("c3", "preference", "x"), ("c2", "preference", "B"), ("c2", "preference", "tie"), ("c3", "tone", "x"), ("c9", "preference", "x")]  # fmt: skip
    human = pd.DataFrame(given, columns=["case", "attribute", "value"], index=[5, 4, 3, 2, 1])
    human.attrs["blank"] = 3
    plain = people_in_numbers(human, store)
    labelled = under_labels([Rating(*row[:1], "ann", *row[1:]) for row in given], store)
    store.release()

    assert plain["value"].tolist() == [-1, 1, 0, "x", "x"] and plain.attrs == {"blank": 3}
    assert [rating.value for rating in labelled] == [-1, -1, 0, "x", "x"]
