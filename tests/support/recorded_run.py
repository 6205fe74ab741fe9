"""A run of recorded jurors over simulated cases, with people's labels of all of them, so that statements can be held against the truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from command_line import venire

RUBRIC = """name: mine
version: 1
scales:
  agree5: {level: ordinal, anchors: {1: a, 2: b, 3: c, 4: d, 5: e}}
attributes:
  - {name: accurate, question: Is it?, scale: agree5}
  - {name: clear, question: Is it clear?, scale: agree5}
"""
SEVERITY = (0.0, 0.5, -0.5, 0.2, -0.2)


def five_points(values: np.ndarray) -> np.ndarray:
    """Latent values on a scale of 1 to 5."""
    return np.digitize(values, [-1.5, -0.5, 0.3, 1.0]) + 1


def recorded_run(
    folder: Path,
    cases: int = 120,
    jurors: int = 3,
    *,
    hung: int = 0,
    group: int = 0,
    seed: int = 0,
    noise: float = 0.4,
) -> Path:
    """`run` in the folder, beside `cases.jsonl`, `rubric.yaml`, `jury.yaml`, `judgements.csv` and people's `labels.csv`.

    The first `hung` cases have no vote at all; cases stand in groups of `group`.
    """
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 1, cases)
    rows = [
        (f"c{number}", f"j{juror}", attribute, int(value))
        for attribute in ("accurate", "clear")
        for juror in range(jurors)
        for number, value in enumerate(
            five_points(quality + SEVERITY[juror] * 0.4 + rng.normal(0, noise, cases))
        )
        if number >= hung
    ]
    pd.DataFrame(rows, columns=["case", "juror", "attribute", "value"]).to_csv(
        folder / "judgements.csv", index=False
    )
    lines = [
        {
            "id": f"c{number}",
            "output": "word " * (3 + number % 7),
            "system": "AB"[number % 2],
            **({"group": f"g{number // group}"} if group else {}),
        }
        for number in range(cases)
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "rubric.yaml").write_text(RUBRIC)
    write_jury(folder, jurors)
    people = pd.DataFrame({"case": [f"c{number}" for number in range(cases)], "rater": "ana"})
    for attribute in ("accurate", "clear"):
        people[attribute] = five_points(quality + rng.normal(0, 0.1, cases))
    people.melt(id_vars=["case", "rater"], var_name="attribute").to_csv(folder / "labels.csv", index=False)
    hear(folder, "run")
    return folder


def write_jury(folder: Path, jurors: int = 3, more: str = "") -> None:
    """`jury.yaml`: a panel of recorded jurors, with further lines."""
    seats = "".join(
        f'  - {{name: j{juror}, model: "recorded/judgements.csv#j{juror}"}}\n' for juror in range(jurors)
    )
    (folder / "jury.yaml").write_text(f"name: mine\nprotocol: panel\ncount: median\n{more}seats:\n{seats}")


def hear(folder: Path, run: str) -> str:
    """`venire run` on the folder's files; what it printed."""
    done = venire(
        "run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", run, "--quiet", cwd=folder
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def some_labels(folder: Path, number: int, name: str = "some.csv", *, seed: int = 1) -> Path:
    """People's labels of so many cases, drawn at random."""
    labels = pd.read_csv(folder / "labels.csv")
    drawn = np.random.default_rng(seed).choice(labels["case"].unique(), number, replace=False)
    labels[labels["case"].isin(drawn)].to_csv(folder / name, index=False)
    return folder / name
