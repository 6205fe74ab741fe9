"""The files of a small run: cases, a rubric, a jury; and the command that runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RUBRIC = """name: mine
version: 1
scales:
  agree: {level: ordinal, anchors: {1: no, 2: partly, 3: yes}}
attributes:
  - name: accurate
    question: Is it true?
    scale: agree
"""
JURY = """name: mine
protocol: panel
seats:
  - {name: a, persona: high-scoring}
  - {name: b}
"""
CASES = [
    {
        "id": f"case-{number}",
        "source": f"Note {number}: fever.",
        "output": f"Summary {number}.",
        "label": "CANARY-META",
    }
    for number in range(4)
]


def write_run(folder: Path, url: str = "", *, timeout: float = 120, **jury: Any) -> list[object]:
    """Case, rubric and jury files, and the command that runs them."""
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    (folder / "rubric.yaml").write_text(RUBRIC)
    seats = [
        {"name": n, "model": f"server/{n}", "base_url": url, "timeout": timeout} for n in ("a", "b", "c")
    ]
    fields = {
        "name": "bench",
        "seats": seats,
        "orchestrator": {"model": "server/boss", "base_url": url},
        **jury,
    }
    (folder / "jury.yaml").write_text(json.dumps(fields))
    return ["run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "out"]
