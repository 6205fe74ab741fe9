"""The record that `venire demo` replays. What the demo says is read in test_packaging.py, from the wheel."""

from __future__ import annotations

import json
from pathlib import Path

from checkout import ROOT
from command_line import venire

from venire import Store, Transcript


def test_the_record_that_comes_along_is_what_the_example_says(tmp_path: Path) -> None:
    folder = ROOT / "examples" / "wrong-dose"
    venire(
        *("run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", tmp_path / "run"),
        cwd=folder,
    )
    store = Store.read(tmp_path / "run")
    (arm,) = store.arms()
    (said,) = store.transcripts(arm)
    store.release()
    kept = json.loads((ROOT / "evals" / "demo" / "wrong-dose.json").read_text(encoding="utf-8"))

    def words(transcript: Transcript) -> list[object]:
        return [entry.model_dump(exclude={"spent"}) for entry in transcript.entries]

    assert words(Transcript.model_validate(kept["transcript"])) == words(said)
    assert kept["rubric"] == json.loads(json.dumps(arm.manifest["rubric"]))
