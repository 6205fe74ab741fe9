"""The example runs as its page says, without a key, and shows what the page says."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

from checkout import ROOT
from command_line import venire
from doc_blocks import blocks

FOLDER = "examples/said-and-heard"


def test_the_example_runs_from_top_to_bottom(tmp_path: Path) -> None:
    shutil.copytree(ROOT / FOLDER, tmp_path / "here")
    printed = ""
    for kind, text in blocks(f"{FOLDER}/README.md"):
        commands = [line for line in text.splitlines() if kind == "sh" and line.startswith("venire ")]
        for command in commands:
            ended = venire(*shlex.split(command)[1:], cwd=tmp_path / "here")
            assert ended.returncode == 0, ended.stderr
            printed += ended.stdout

    cases = [json.loads(row) for row in (tmp_path / "here/cases.jsonl").read_text().splitlines()]
    assert [case["id"] for case in cases] == ["call-0", "call-1", "call-3", "call-4"]
    assert [case["missed"] for case in cases] == [False, False, False, True]
    said = " ".join(printed.split())
    assert "wer low 0.0714 0.1429 no" in said
    assert "mean reward" in said and "metric (1 -" in said
    assert (tmp_path / "here/talk.html").exists()
