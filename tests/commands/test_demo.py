"""`venire demo` at 80 columns: a replayed deliberation, one table, two sentences, one command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from checkout import ROOT
from command_line import venire

from venire import Store, Transcript


def test_the_demo_fits_80_columns_and_breaks_no_word(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "venire.cli", "demo", "--quick", "-o", "kept"],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [line.rstrip() for line in shown.splitlines()]

    assert max(map(len, lines)) <= 80
    for row in ("reader-jury ", "single-reader ", "lens-jury ", "always the best score "):
        assert any(line.startswith(row) for line in lines)
    said = " ".join(shown.split())
    assert "accurate 5 -> 2 The dose is wrong, and acting on it would under-treat." in said
    assert "their answers were recorded in advance" in said
    assert "reader-jury is not shown to differ from single-reader: difference in mean absolute error" in said
    assert (
        "reader-jury is not shown to differ from always the best score: difference in mean absolute error"
        in said
    )
    assert said.index("A deliberation") < said.index("A study") < said.index("venire inspect kept/study")
    store = Store.read(tmp_path / "kept" / "study")
    assert store.arms()
    store.release()


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
