"""Deliberations as documents: written as they were held, and read only where every entry can have been said as it stands."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from written_transcripts import cast, transcript_of, written_run

from venire import Case, Rubric, Store, VenireError, load_rubric
from venire.orchestration.reading.terminal import export_run
from venire.orchestration.reading.transcript_format import SavedDeliberation, read_transcripts, save_run
from venire.orchestration.transcript import Stop
from venire.rubrics.errors import InvalidFile


def documents(tmp_path: Path, rubric: Rubric, run: Path | None = None) -> list[dict[str, Any]]:
    """Two arms on two cases, one of them with a second round; each as its line says it, or those of another run."""
    votes = {name: {"ana": dict.fromkeys(rubric.names, 4), "ben": {"accurate": 2}} for name in ("c1", "c2")}
    cases = [Case(id=name, output=f"Text of {name}.", metadata={"ward": 7}) for name in votes]
    revised = {"mine": {"c2": {"ana": {"accurate": 3}}}}
    made = run or written_run(
        tmp_path / "run", rubric, cases, {"mine": votes, "other": votes}, revised=revised
    )
    export_run(made, "transcript", None, out := io.StringIO(), None)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def write(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "t.jsonl"


def test_a_run_that_was_written_and_read_is_the_run_it_was(tmp_path: Path, rubric: Rubric) -> None:
    lines = documents(tmp_path, rubric)
    saved = read_transcripts(write(tmp_path, *lines))
    save_run(saved, tmp_path / "again")

    assert [(each.transcript.arm, each.judged.id, each.judged.metadata) for each in saved] == [(arm, case, {"ward": 7}) for arm in ("mine", "other") for case in ("c1", "c2")]  # fmt: skip
    assert documents(tmp_path, rubric, tmp_path / "again") == lines
    store = Store.read(tmp_path / "again")
    try:
        assert [(arm.name, len([*store.transcripts(arm)])) for arm in store.arms()] == [
            ("mine", 2),
            ("other", 2),
        ]
        assert store.arms()[0].rubric == rubric and {t.stop.reason for t in store.transcripts(store.arms()[0]) if t.stop} == {"complete"}  # fmt: skip
    finally:
        store.release()
    with pytest.raises(VenireError, match="there is already a run here"):
        save_run(saved, tmp_path / "again")
    with pytest.raises(VenireError, match="mine judged the case 'c1' twice"):
        save_run([saved[0], saved[1], saved[0]], tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_a_talk_that_names_no_rubric_jury_or_end_is_a_hung_one_of_its_speakers(tmp_path: Path) -> None:
    transcript = transcript_of(seats=("ana", "ben")).model_copy(update={"arm": "chat"})
    told = {"format": "venire-transcript", "version": 1, "case": {"id": "c", "output": "Text."}, "transcript": transcript.model_dump(mode="json")}  # fmt: skip
    ended = transcript.model_copy(update={"case": "d"}).with_stop(Stop(reason="rounds"))
    whole = {**told, "case": {"id": "d", "output": "Text."}, "transcript": ended.model_dump(mode="json")}
    saved = read_transcripts(write(tmp_path, told, whole))
    save_run(saved, tmp_path / "run")

    store = Store.read(tmp_path / "run")
    try:
        (arm,) = store.arms()
        assert (arm.name, arm.jury.seat_names, arm.rubric.names) == ("chat", ("ana", "ben"), ("conclusion",))
        stops = [transcript.stop for transcript in store.transcripts(arm)]
        assert [(stop.reason, "does not say why" in stop.detail) for stop in stops if stop] == [("complete", True), ("rounds", False)]  # fmt: skip
    finally:
        store.release()


def test_a_pair_is_written_as_its_file_has_it_whichever_output_was_shown_as_a(tmp_path: Path) -> None:
    rows = [{"id": f"p{n}", "output_a": "North.", "output_b": "South."} for n in range(1, 5)]
    cases = [Case.from_row(row) for row in rows]
    assert {case.swapped for case in cases} == {False, True}
    rubric = load_rubric("preference")
    votes = {case.id: {"ana": {"preference": -1}} for case in cases}
    lines = documents(tmp_path, rubric, written_run(tmp_path / "run", rubric, cases, {"mine": votes}))

    assert [
        {name: line["case"].get(name) for name in row} for line, row in zip(lines, rows, strict=True)
    ] == rows
    assert [saved.judged for saved in read_transcripts(write(tmp_path, *lines))] == cases


def first(line: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = line["transcript"]["entries"][0]
    return entry


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda line: line.update(format="other"), "not a transcript in the format"),
        (lambda line: line.update(version=2), "version 2, but this venire reads version 1"),
        (lambda line: line.update(extra=1), "extra: "),
        (lambda line: line["case"].update(id="c9"), "names the case 'c1', but the case beside it has the id 'c9'"),
        (lambda line: first(line).update(id=""), "an entry has no id"),
        (lambda line: first(line).update(id="1/ben"), "two entries have the id '1/ben'"),
        (lambda line: first(line)["ballot"].update(saw=["1/ben"]), "saw '1/ben', but no entry before it has that id"),
        (lambda line: first(line)["ballot"]["votes"][0].update(value=9), "gives accurate the value 9, which is not on its scale"),
        (lambda line: first(line)["ballot"]["votes"][0].update(attribute="tone"), "votes on 'tone', which is not an attribute"),
    ],
)  # fmt: skip
def test_what_cannot_have_been_said_so_is_refused_with_its_line(
    tmp_path: Path, rubric: Rubric, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    good, bad = documents(tmp_path, rubric)[0], documents(tmp_path, rubric, tmp_path / "run")[0]
    change(bad)
    with pytest.raises(InvalidFile) as refused:
        read_transcripts(write(tmp_path, good, bad))
    assert refused.value.problem.startswith(f"{tmp_path / 't.jsonl'}:2") and words in refused.value.problem
    assert refused.value.remedy


def test_what_was_seen_after_it_was_said_is_read(rubric: Rubric, tmp_path: Path) -> None:
    heard = transcript_of(
        [cast("ana", {"accurate": 4})], [cast("ben", {"accurate": 2}, round=2, saw=("1/ana",))]
    )
    saved = SavedDeliberation(format="venire-transcript", version=1, case={"id": "c", "output": "Text."}, transcript=heard, rubric=rubric)  # fmt: skip
    (read,) = read_transcripts(write(tmp_path, saved.model_dump(mode="json")))
    assert read.transcript.ballots[1].ballot.saw == ("1/ana",)
