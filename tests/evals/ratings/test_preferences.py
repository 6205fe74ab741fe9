"""The long table of a run of pairs: every preference once, with whose, of which systems, on which case of which group."""

from __future__ import annotations

from pathlib import Path

from written_transcripts import written_run

from venire import Case, Store, load_rubric
from venire.evals.ratings.preferences import pair_votes


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
