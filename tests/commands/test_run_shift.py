"""`venire compare RUN --against EARLIER`: a changed jury blocks it, anchors lift the block."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import venire
from recorded_run import hear, recorded_run


def test_a_swapped_model_blocks_and_anchors_give_the_shift(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path, 30)
    same = venire("compare", "run", "--against", "run", cwd=folder)
    assert same.returncode == 0 and "the same jury in both runs" in same.stdout, same.stderr

    jury = (folder / "jury.yaml").read_text()
    (folder / "jury.yaml").write_text(jury.replace("#j2", "#j1"))
    lines = (folder / "cases.jsonl").read_text().splitlines(keepends=True)
    reworded = json.dumps(json.loads(lines[0]) | {"output": "Other words."}) + "\n"
    (folder / "cases.jsonl").write_text("".join([reworded, *lines[1:]]))
    hear(folder, "swapped")
    shift = venire("compare", "swapped", "--against", "run", "--json", cwd=folder)
    document = json.loads(shift.stdout)
    assert document["anchors"] == 29, "a case with other words is no anchor"
    assert any("j2" in change for change in document["changes"])
    found = document["shifts"]["accurate"]
    assert found["low"] <= found["value"] <= found["high"]

    (folder / "cases.jsonl").write_text("".join(lines[:3]))
    hear(folder, "few")
    blocked = venire("compare", "few", "--against", "run", cwd=folder)
    assert blocked.returncode == 2 and not blocked.stdout
    assert "not the same jury" in blocked.stderr and "5 or more of the same cases" in blocked.stderr
    neither = venire("compare", "run", cwd=folder)
    assert neither.returncode == 2 and "--human" in neither.stderr
