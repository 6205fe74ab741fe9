"""A replay beside its parent: which words stand beside which, what differs first, and which run it is a replay of."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from written_transcripts import abstained, cast, transcript_of, written_run

from venire import Case, Rubric, Store
from venire.agents.orchestrator import Dispute, Finding
from venire.orchestration.reading import side_by_side
from venire.orchestration.reading.side_by_side import (
    PARENT,
    AlignedRow,
    SideBySide,
    beside_parent,
    controlled_run,
    lineage,
    lineage_fact,
    replay_view,
    summary_table,
)
from venire.orchestration.transcript import Decided, Ledger
from venire.orchestration.verdict import Outcome


def test_a_row_differs_by_its_score_or_its_words() -> None:
    def row(before: str | None, after: str | None, same: bool) -> AlignedRow:
        return AlignedRow(1, "a", "x", before, after, same)

    assert not row("4", "4", True).differs
    assert row("4", "4", False).differs and row("4", "5", True).differs and row(None, "5", False).differs
    assert str(row("4", "4", False)) == "round 1, a, x: 4 for other reasons"
    assert str(row(None, "5", False)) == "round 1, a, x: nothing became 5"


def test_what_was_said_is_aligned_by_round_then_questions_challenges_votes_and_decisions() -> None:
    def told(value: int) -> Any:
        transcript = transcript_of(
            [cast("a", {"x": 5}), cast("b", {"x": 5})],
            [cast("b", {"x": value}, round=2, purpose="challenge")],
            [cast("a", {"x": value}, round=2, purpose="revision"), abstained("b", "x", round=2)],
        )
        return SimpleNamespace(transcript=transcript, outcomes={}, case="c", arm="j")

    rows = SideBySide("j", "change", told(5), told(4)).rows()

    assert [(row.round, row.who, row.before, row.after) for row in rows] == [
        (1, "a", "5", "5"), (1, "b", "5", "5"), (2, "b", "5", "4"), (2, "a", "5", "4"),
        (2, "b", "abstained: unavailable", "abstained: unavailable"),
    ]  # fmt: skip


def test_of_several_controls_beside_a_run_those_written_last_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("run", "old", "new", "other")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "record.sqlite").write_text("")
        os.utime(tmp_path / name / "record.sqlite", (1000 + number, 1000 + number))
    parents = {"old": "run", "new": "run", "other": "old"}
    monkeypatch.setattr(side_by_side, "controlled_run", lambda run: tmp_path / parents[run.name] if run.name in parents else None)  # fmt: skip

    assert side_by_side.controls_beside(tmp_path / "run") == tmp_path / "new"
    assert side_by_side.controls_beside(tmp_path / "new") is None
    assert side_by_side.controls_beside("postgresql://h/d") is None


def outcome(value: Any, status: str = "reached") -> Outcome:
    return Outcome(status=status, value=value, method="m", votes=2, support=None, spread=None)  # type: ignore[arg-type]


def heard(first: Any, question: str, decided: Any, outcomes: dict[str, Outcome], **of: Any) -> Any:
    """Two jurors, a question to both, and a decision on `x`; `b` says nothing of it in the second round."""
    transcript = transcript_of(
        [cast("a", {"x": first, "y": 1}), cast("b", {"x": 2, "y": 1})],
        [Ledger(round=2, disputes=(Dispute(attribute="x", dispute="d", question=question, to=("a", "b")),), author="code")],
        [Decided(round=2, findings=(Finding(attribute="x", value=decided, rationale="r", weighed=()),))],
    )  # fmt: skip
    return SimpleNamespace(transcript=transcript, outcomes=outcomes, case="c", arm="j", **of)


def test_of_a_replay_what_differs_is_told_first_and_only_verdicts_that_both_have_can_change() -> None:
    before = heard(4, "why?", 3, {"x": outcome(3), "y": outcome(1), "gone": outcome(5), "h": outcome(None, "hung")})  # fmt: skip
    after = heard(4, "how?", 2.0, {"new": outcome(5), "y": outcome(1), "x": outcome(2.0), "h": outcome(4)})
    pair = SideBySide("parent", "without c", before, after)

    assert [(row.round, row.who, row.attribute, row.before, row.after, row.same_words) for row in pair.differences()] == [
        (2, "orchestrator", "x", "asks a, b", "asks a, b", False), (2, "orchestrator", "x", "decides 3", "decides 2", True),
    ]  # fmt: skip
    assert len(pair.rows()) == 6
    more = [cast("a", {"x": 1}, round=3, purpose="revision")]
    longer = SimpleNamespace(**{**vars(after), "transcript": after.transcript.add(more)})
    for one, two, told_of in ((before, longer, (None, "1")), (longer, before, ("1", None))):
        last = SideBySide("parent", "longer", one, two).rows()[-1]
        assert (last.round, last.who, last.before, last.after) == (3, "a", *told_of) and last.differs
    assert pair.changed_outcomes() == {"x": ("3", "2"), "h": ("hung", "4")}
    told = pair.to_json()
    assert (told["parent_arm"], told["change"]) == ("parent", "without c")
    assert told["changed"] == {"x": {"before": "3", "after": "2"}, "h": {"before": "hung", "after": "4"}}
    assert told["first_difference"] == told["differences"][0] and len(told["differences"]) == 2
    assert told["first_difference"]["before"] == told["first_difference"]["after"] == "asks a, b"
    assert {name: each["value"] for name, each in told["verdict_before"].items()} == {"x": 3, "y": 1, "gone": 5, "h": None}  # fmt: skip
    same = SideBySide("parent", "nothing", before, before)
    assert same.to_json()["first_difference"] is None and same.changed_outcomes() == {}

    out = io.StringIO()
    console = Console(file=out, width=200)
    console.print(replay_view(pair))
    console.print(summary_table([pair, same]))
    words = " ".join(out.getvalue().split())
    assert words.count("round 2, orchestrator, x: asks a, b for other reasons") == 2
    assert words.index("x: asks a, b for other reasons") < words.index("x: 3 would have been 2")  # fmt: skip
    assert "asks a, b asks a, b (other words)" in words and "decides 3 decides 2 " in words
    assert "x 3 -> 2, h hung -> 4" in words and "c parent nothing the same none" in words


def test_preferences_are_told_by_the_side_they_are_for() -> None:
    def told(value: int) -> Any:
        transcript = transcript_of([cast("a", {"x": value})])
        pairs = transcript.model_copy(update={"entries": tuple(e.model_copy(update={"first": "A"}) for e in transcript.entries)})  # fmt: skip
        assert pairs.compares
        return SimpleNamespace(transcript=pairs, outcomes={"x": outcome(value)}, case="c", arm="j")

    pair = SideBySide("j", "change", told(-1), told(0))
    assert [(row.before, row.after) for row in pair.rows()] == [("A", "tie")]
    assert pair.changed_outcomes() == {"x": ("A", "tie")}


def test_a_replay_stands_beside_the_same_case_of_its_parents_arm(tmp_path: Path, rubric: Rubric) -> None:
    cases = [Case(id=name, output="It is so.") for name in ("c1", "c2")]

    def votes(*scores: int) -> dict[str, Any]:
        return {case.id: {"a": dict.fromkeys(rubric.names, score)} for case, score in zip(cases, scores, strict=True)}  # fmt: skip

    parent = written_run(tmp_path / "parent", rubric, cases, {"other": votes(1, 2), "mine": votes(3, 4)})
    child = Store.create(written_run(tmp_path / "child", rubric, cases, {"mine-again": votes(5, 5)}))
    child.add_fact(PARENT, json.dumps({"run": os.path.relpath(parent, tmp_path / "child")}))
    child.add_fact(*lineage_fact("mine-again", "mine", "without b", "--without b"))
    try:
        known, (verdict,) = (
            lineage(child, "mine-again"),
            [v for _, v in side_by_side.verdicts(child, case="c2")],
        )
        pair = beside_parent(child, verdict)
        assert known is not None and known[1:] == ("mine", "without b", "--without b")
        assert Path(known.run).resolve() == parent and lineage(child, "mine") is None  # type: ignore[arg-type]
        assert pair is not None and (pair.arm, pair.change, pair.before.case) == ("mine", "without b", "c2")
        assert pair.before["accurate"].value == 4 and pair.after is verdict
        assert side_by_side.replay_json(child, verdict)["replay"]["change"] == "without b"
        assert controlled_run(tmp_path / "child") is None
        child.add_fact("controls mine-again", "{}")
        asked_again = controlled_run(tmp_path / "child")
        assert asked_again is not None and Path(asked_again).resolve() == parent  # type: ignore[arg-type]
        (tmp_path / "parent/record.sqlite").unlink()
        assert beside_parent(child, verdict) is None and side_by_side.replay_json(child, verdict) == {}
    finally:
        child.release()
