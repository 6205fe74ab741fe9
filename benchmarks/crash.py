"""A run that is killed again and again: the verdicts stay the same, and nothing committed is paid for twice.

    python benchmarks/crash.py --cases 300 --kills 20

A run of its own process is ended by SIGKILL at random moments and continued each time, then held against a run
that nobody disturbed. The server counts what it is sent.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provider import Provider, question

RUBRIC = """
name: crash
version: 1
scales:
  agree5: {level: ordinal, anchors: {1: not at all, 2: little, 3: partly, 4: mostly, 5: wholly}}
attributes:
  - {name: accurate, question: "Is it supported by the source?", scale: agree5}
  - {name: thorough, question: "Is anything missing?", scale: agree5}
"""


@dataclass
class Outcome:
    """What came of it."""

    same: bool = False
    """Whether the verdicts are those of the undisturbed run."""
    sent: int = 0
    committed: int = 0
    sent_again: int = 0
    """Questions that were sent again after their answer was committed."""
    lost: int = 0
    """Calls that were committed before a kill and not there after it."""
    moments: list[float] = field(default_factory=list)
    """After how many seconds of its sitting each kill struck."""


def write(folder: Path, url: str, cases: int, protocol: str) -> None:
    """Case, rubric and jury files."""
    rows = [
        {"id": f"case-{n}", "source": f"Note {n}: fever of 38.{n % 10}.", "output": f"Summary {n}."}
        for n in range(cases)
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "rubric.yaml").write_text(RUBRIC)
    seats = [{"name": name, "model": f"server/{name}", "base_url": url} for name in "abc"]
    jury = {
        "name": "bench",
        "protocol": protocol,
        "seats": seats,
        "orchestrator": {"model": "server/boss", "base_url": url},
    }
    (folder / "jury.yaml").write_text(json.dumps(jury))


def command(run: str, *options: str) -> list[str]:
    files = ["cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml"]
    return [sys.executable, "-m", "venire.cli", "run", *files, "-o", run, "--quiet", *options]


def verdicts(folder: Path, run: str) -> list[Any]:
    """Each case's verdict, as the finished run has it."""
    ended = subprocess.run(command(run, "--json"), cwd=folder, capture_output=True, text=True, check=True)
    return [(case["case"], case["verdict"], case["stop"]) for case in json.loads(ended.stdout)["cases"]]


def committed(path: Path) -> set[str]:
    """The questions whose answers the record holds, by the server's hash of them."""
    if not path.exists():
        return set()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            return set()
        texts = {name: json.loads(text) for name, text in connection.execute("SELECT hash, text FROM texts")}
        texts[""] = ""
        requests = [json.loads(request) for (request,) in connection.execute("SELECT request FROM calls")]
    return {
        question(
            asked["model"].partition("/")[2], [texts[part[1]] + texts[part[2]] for part in asked["parts"]]
        )
        for asked in requests
    }


def crash(folder: Path, *, cases: int, kills: int, seed: int, protocol: str, latency: float) -> Outcome:
    """Kill the run `kills` times at random moments, continue it, and compare it with an undisturbed one."""
    rng, outcome = random.Random(seed), Outcome()
    record = folder / "disturbed" / "record.sqlite"
    with Provider(latency=latency) as calm_provider:
        write(folder, calm_provider.url, cases, protocol)
        started = time.monotonic()
        calm = verdicts(folder, "calm")
        whole = time.monotonic() - started
        calls = calm_provider.stats()["calls"]
    with Provider(latency=latency, remember=True) as provider:
        write(folder, provider.url, cases, protocol)
        held: set[str] = set()
        while len(outcome.moments) < kills:
            before = provider.asked()
            process = subprocess.Popen(command("disturbed"), cwd=folder, stdout=subprocess.DEVNULL)
            # What is left to do shrinks with every kill, and with it the time in which one can strike.
            share = (1 - len(held) / calls) / (kills - len(outcome.moments))
            moment = rng.uniform(0.3, 0.9 + whole * share)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moment)
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGKILL)
            process.wait()
            outcome.moments.append(round(moment, 2))
            after = committed(record)
            outcome.lost += len(held - after)
            outcome.sent_again += _sent_again(held, before, provider.asked())
            held = after
        before = provider.asked()
        outcome.same = verdicts(folder, "disturbed") == calm
        outcome.sent_again += _sent_again(held, before, provider.asked())
        outcome.committed = len(committed(record))
        outcome.sent = provider.stats()["calls"]
    return outcome


def _sent_again(held: set[str], before: dict[str, int], after: dict[str, int]) -> int:
    return sum(after.get(name, 0) - before.get(name, 0) for name in held)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--protocol", default="orchestrated")
    parser.add_argument("--latency", type=float, default=0.02)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        found = crash(
            Path(made),
            cases=given.cases,
            kills=given.kills,
            seed=given.seed,
            protocol=given.protocol,
            latency=given.latency,
        )
    print(f"{len(found.moments)} kills, after {found.moments} s")
    print(f"verdicts the same as undisturbed: {found.same}")
    print(
        f"calls sent {found.sent}, committed {found.committed}, lost after they were committed {found.lost}"
    )
    print(f"sent again although committed: {found.sent_again}")
    sys.exit(0 if found.same and not found.lost and not found.sent_again else 1)
