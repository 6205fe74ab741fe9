"""The work that is timed: cases, the questions that follow from them, and a script that does them in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from venire import Case, load_rubric
from venire.agents.prompting import brief, form_of, words
from venire.personas.persona import load_persona
from venire.rubrics.ballot import ballot_schema, ballot_shape

HERE = Path(__file__).parent
DEMO = HERE.parent / "evals" / "demo" / "cases.jsonl"
RUBRIC = "pdsqi-9"
SEATS = ("high", "low", "middle")
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "*",
    "PYTHONWARNINGS": "ignore",
    "VENIRE_BENCHMARK_KEY": "none",
}
"""Nobody is told anything, and nothing is fetched."""


class Broke(Exception):
    """A script ended badly; says with what."""


@dataclass(frozen=True, slots=True)
class Took:
    """What a script took for its calls, with and without the start of its process."""

    calls: int
    cpu: float
    """Seconds of CPU for the calls alone."""
    wall: float
    whole: float
    """Seconds of CPU from the first instruction to the last, imports included."""
    peak: float
    """Megabytes of memory at the most."""

    @property
    def each(self) -> float:
        """CPU milliseconds a call."""
        return 1000 * self.cpu / self.calls

    @property
    def each_with_start(self) -> float:
        return 1000 * self.whole / self.calls


def cases(number: int) -> list[dict[str, Any]]:
    """So many cases: the demonstration's, over and over, each with an output of its own."""
    rows = [json.loads(line) for line in DEMO.read_text().splitlines()]
    return [
        {**rows[n % len(rows)], "id": f"case-{n}", "output": f"Summary {n}. {rows[n % len(rows)]['output']}"}
        for n in range(number)
    ]


def case_file(folder: Path, number: int) -> Path:
    path = folder / f"cases-{number}.jsonl"
    if not path.exists():
        path.write_text("".join(json.dumps(case) + "\n" for case in cases(number)))
    return path


def done(
    script: str,
    url: str,
    number: int,
    *,
    python: Path | str = sys.executable,
    in_flight: int = 64,
    calls: int | None = None,
    **more: Any,
) -> Took:
    """What `script` of the peers' folder took for so many cases; `more` is put into its job."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        job = folder / "job.json"
        common = {"url": url, "in_flight": in_flight, "seats": SEATS, "folder": made, "at_once": None}
        # Who reads the case file itself needs no questions, and must not be charged for reading them.
        asked = {} if "protocol" in more else _questions(number)
        own = {"rubric": RUBRIC, "case_file": str(case_file(folder, number))}
        counted = {"calls": calls or 3 * number}
        job.write_text(json.dumps({**common, **own, **asked, **counted, **more}))
        return _run([str(python), str(HERE / "peers" / f"{script}.py"), str(job)])


def _questions(number: int) -> dict[str, Any]:
    rubric = load_rubric(RUBRIC)
    form, names = form_of(ballot_shape(rubric)), ", ".join(rubric.names)
    stances = {seat: load_persona(f"{seat}-scoring").voice for seat in SEATS}
    return {
        "system": words("juror"),
        "tails": {
            seat: words("ballot", stance=stances[seat], examples="", asked=names, form=form) for seat in SEATS
        },
        "schema": ballot_schema(rubric),
        "attributes": {name: rubric.scale_of(name).values for name in rubric.names},
        "cases": [
            {"id": row["id"], "output": row["output"], "brief": brief(Case.from_row(row), rubric).text}
            for row in cases(number)
        ],
    }


def _run(command: list[str]) -> Took:
    environment = {**os.environ, **QUIET}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        lines = [line for line in out.read().splitlines() if line.startswith('{"calls"')]
        if process.returncode or not lines:
            told = [line for line in err.read().splitlines() if line.strip()]
            raise Broke(told[-1][:300] if told else f"exit status {process.returncode}")
    told = json.loads(lines[-1])
    return Took(told["calls"], told["cpu"], told["wall"], used.ru_utime + used.ru_stime, told["peak"])
