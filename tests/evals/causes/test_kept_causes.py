"""Figures of whole results of this room, kept: controls of moves, what presence does, and pressure by dose."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from kept_figures import check_kept
from mixed_rubric import RUBRIC
from openai_server import Call, ProviderServer, filled
from rich.console import Console
from written_transcripts import cast, transcript_of

from venire import Jury, Stop, pressure
from venire.evals.causes.controls import Controls, ControlsReport, _groups, decomposition, sources
from venire.evals.causes.presence import presences
from venire.evals.causes.pressure import load_pressure_file, pressure_report, show_pressure
from venire.orchestration.reading.side_by_side import SideBySide
from venire.orchestration.replay.controls import CONDITIONS
from venire.orchestration.verdict import verdict

KEPT = Path(__file__).parent / "kept"


def exposures() -> list[Controls]:
    """Two arms, three jurors, nine cases heard unequally often; draws missing here and there; truths between two scores and none."""
    rng = np.random.default_rng(3)
    rows = []
    for number in range(70):
        before, after = (int(value) for value in rng.integers(1, 6, 2))
        draws: dict[str, tuple[Any, ...]] = {
            condition: tuple(int(value) for value in rng.choice([before, after, 5], int(rng.integers(1, 13)), p=[p, 0.9 - p, 0.1]))
            for condition, p in zip(CONDITIONS, (0.7, 0.4, 0.3), strict=True)
        }  # fmt: skip
        if number % 11 == 0:
            draws[CONDITIONS[number % 3]] = ()
        for name in "xy"[: 1 + number % 2]:
            draws |= {f"{way} {name}": tuple(int(value) for value in rng.choice([before, after], 2)) for way in ("without", "only")}  # fmt: skip
        truth = (None, 2, 2.5, 4)[number % 4]
        after = before if rng.random() < 0.3 else after
        rows.append(Controls(f"c{int(9 * rng.random() ** 2)}", "ab"[number % 3 == 0], "pqr"[number % 3], "accurate", 2, f"2/{number}", before, after, draws, truth))  # fmt: skip
    return rows


def test_controls_of_moves() -> None:
    rows = exposures()
    report = ControlsReport("run", tuple(rows), tuple(_groups(rows, with_truth=True)), tuple(sources(rows)), 0.3, 7)  # fmt: skip
    check_kept(
        KEPT / "controls.json",
        {
            **report.to_json(),
            "of one case": report.to_json("c1")["revisions"],
            "shares": report.share_rows(),
            "by source": report.source_rows(),
            "notes": report.notes,
            "plain": [group.to_json() for group in _groups(rows, with_truth=False)],
            "whole": decomposition(rows).to_json(),
            "one case": decomposition([row for row in rows if row.case == "c1"]).to_json(),
            "said": [f"{row}" for row in rows],
            "dots": [row.dots(condition) for row in rows for condition in CONDITIONS],
            "complete": [row.complete for row in rows],
        },
    )


def test_what_the_presence_of_jurors_does() -> None:
    """Two arms of three jurors, one of whom is struck; verdicts in words and hung ones; moves after reading one or two."""
    rng = np.random.default_rng(5)
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "count": "mean", "quorum": 2, "seats": [{"name": name, "model": "scripted/none"} for name in "xyz"]})  # fmt: skip
    pairs = []
    for number in range(16):
        gone = "xz"[number % 3 == 0]
        votes = {juror: {"accurate": int(rng.integers(1, 6)), "tone": str(rng.choice(["plain", "odd"]))} for juror in "xyz"}  # fmt: skip
        first = [cast(juror, values) for juror, values in votes.items() if number % 7 or juror == "y"]
        moves = [cast("y", {"accurate": votes["x"]["accurate"]}, round=2, purpose="revision", saw=("1/x", "1/z")[: 1 + number % 2])] if number % 2 else []  # fmt: skip
        heard = transcript_of(first, moves, seats=tuple("xyz")).with_stop(Stop(reason="complete"))
        others = [entry for entry in first if entry.speaker != gone]
        left = tuple(juror for juror in "xyz" if juror != gone)
        without = transcript_of(others, seats=left).with_stop(Stop(reason="complete"))
        fewer = jury.model_copy(update={"seats": tuple(seat for seat in jury.seats if seat.name in left)})
        pairs.append(SideBySide("ab"[number % 5 == 0], "x", verdict(heard, RUBRIC, jury, count="mean"), verdict(without, RUBRIC, fewer, count="mean")))  # fmt: skip
    check_kept(KEPT / "presence.json", [each.to_json() for each in presences(pairs)])


def swayed(call: Call) -> Any:
    """Jurors who are off by a step on some cases, and go where more than one other stands, with a reason of their own kind."""
    case = int(re.search(r"Summary (\d+)\.", call.prompt).group(1))  # type: ignore[union-attr]
    own = 1 + (case * 7 + len(call.model) * 3) % 4 if call.model != "boss" else 2
    argued = [int(score) for score in re.findall(r"gave (\d):\n[^\n]*\nThe source says", call.prompt)]
    moved = len(argued) > (case + len(call.model)) % 3
    return filled(call.schema, lambda _: argued[0] if moved else own, moved_by="the source")  # type: ignore[arg-type]


def test_pressure_by_dose(tmp_path: Path) -> None:
    """Truth is the middle of two people, at times between two scores; a case that nobody rated, and one that has no source."""
    cases = [{"id": f"c{n}", "source": f"Note {n}: fever. A cough. Slept well." if n % 4 else "", "output": f"Summary {n}. He is well."} for n in range(8)]  # fmt: skip
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    rubric = {"name": "mine", "version": 1, "scales": {"five": {"level": "ordinal", "anchors": {n: "abcde"[n - 1] for n in range(1, 6)}}}, "attributes": [{"name": name, "question": f"Is it {name}?", "scale": "five"} for name in ("accurate", "thorough")]}  # fmt: skip
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(rubric))
    lines = [f"c{n},{rater},accurate,{2 + (n + (rater == 'ben' and n % 3 == 0)) % 4}" for n in range(7) for rater in ("ana", "ben")]  # fmt: skip
    (tmp_path / "labels.csv").write_text("\n".join(["case,rater,attribute,value", *lines]) + "\n")
    with ProviderServer(swayed) as server:
        seats = [
            {"name": name, "model": f"server/{name}", "base_url": server.url} for name in ("a", "bb", "ccc")
        ]
        jury = {"name": "bench", "seats": seats, "orchestrator": {"model": "server/boss", "base_url": server.url}, "limits": {"max_rounds": 2}}  # fmt: skip
        (tmp_path / "jury.yaml").write_text(json.dumps(jury))
        study = {"cases": "cases.jsonl", "rubric": "rubric.yaml", "jury": "jury.yaml", "truth": "labels.csv", "attribute": "accurate", "protocols": ["delphi", "orchestrated"], "confederates": [0, 1, 3], "reasons": ["good"], "signed": ["expert"], "most_lost": 0.6, "least_gained": 0.1}  # fmt: skip
        (tmp_path / "study.yaml").write_text(json.dumps(study))
        report = pressure(tmp_path / "study.yaml", tmp_path / "run")
        file = load_pressure_file(tmp_path / "study.yaml")
    console = Console(file=io.StringIO(), width=200)
    show_pressure(file, report, console)
    check_kept(
        KEPT / "pressure.json",
        {
            **report.to_json(),
            "strict": pressure_report(file.model_copy(update={"most_lost": 0.0}), tmp_path / "run").cheapest,
            "shown": console.file.getvalue(),  # type: ignore[attr-defined]
            "confederates": [line.split(",") for line in (tmp_path / "run-confederates.csv").read_text().splitlines()],
        },
    )  # fmt: skip
