"""Whether a cluster helps: the same run in one process, and on two Ray nodes of one core each, with the record in PostgreSQL.

    python benchmarks/cluster.py [--cases 300] [--embedded 2]

Each node is a raylet of its own with its own worker processes, and has room for one worker. `server/` and LiteLLM seats ask `provider.py` on loopback;
the embedded seat computes in the worker. The start of workers is no part of the seconds: they are counted from the first call to the last.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

from machine import machine  # noqa: E402
from postgres_cluster import Cluster  # noqa: E402
from provider import Provider  # noqa: E402
from ray_nodes import Nodes  # noqa: E402
from work import QUIET, RUBRIC, SEATS, case_file  # noqa: E402

from venire.orchestration.record.store import open_database  # noqa: E402

SHORT = {
    "name": "short",
    "version": 1,
    "scales": {"five": {"level": "ordinal", "anchors": {n: f"{n} of 5" for n in range(1, 6)}}},
    "attributes": [{"name": "accurate", "question": "Is every statement in the notes?", "scale": "five"}],
}
"""One question, so that an embedded ballot takes seconds."""


class Took(NamedTuple):
    calls: int
    seconds: float
    """From the first call's start to the last one's answer."""
    whole: float
    """From the command's start to its end, the start of workers included."""
    busy: float
    """Processor seconds of the whole machine meanwhile: provider, database and nodes too."""
    own: float
    """Processor seconds of the process that holds the record and the limits."""


def hear(jury: Path, cases: Path, rubric: str, record: str, *more: str) -> Took:
    """What one run took, with its record in PostgreSQL."""
    command = [sys.executable, "-m", "venire.cli", "run", cases.name, "--rubric", rubric, "--jury", jury.name]
    began, busy = time.perf_counter(), _busy()
    run = subprocess.Popen(
        [*command, "-o", record, "--in-flight", "64", "--quiet", *more],
        cwd=cases.parent, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        raise SystemExit(f"exit status {run.returncode}: {' '.join(run.args)}")  # type: ignore[arg-type]
    whole, busy = time.perf_counter() - began, _busy() - busy
    database = open_database(record, write=False)
    ((calls, seconds),) = database.rows("SELECT count(*), max(made_at) - min(made_at - seconds) FROM calls")
    database.close()
    return Took(calls, seconds, whole, busy, used.ru_utime + used.ru_stime)


def _busy() -> float:
    """Processor seconds that this machine has worked since it started."""
    user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def jury_file(folder: Path, road: str, url: str) -> Path:
    """Three jurors by this road; one where it is the embedded model."""
    names = SEATS[:1] if road == "local" else SEATS
    where = {} if road == "local" else {"base_url": url, "api_key_env": "VENIRE_BENCHMARK_KEY"}
    seats = [
        {
            "name": seat,
            "persona": f"{seat}-scoring",
            "model": "local" if road == "local" else f"{road}/{seat}",
            **where,
        }
        for seat in names
    ]
    path = folder / f"{road}.json"
    path.write_text(json.dumps({"name": "bench", "protocol": "panel", "quorum": 1, "seats": seats}))
    return path


def short_cases(folder: Path, number: int) -> Path:
    """Cases of a few words: a core takes a minute to read a long one."""
    path = folder / "short.jsonl"
    rows = [
        {"id": f"s{n}", "source": f"Pulse {60 + n}.", "output": f"The pulse was {60 + n}."}
        for n in range(number)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=300, help="for server/ and LiteLLM seats")
    parser.add_argument("--embedded", type=int, default=2, help="cases for the embedded seat")
    asked = parser.parse_args()
    # Workers have the environment of their node.
    os.environ.update(QUIET)
    print(machine(), flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="cluster-", dir="/tmp") as made,
        Provider(latency=0.2) as server,
        Cluster() as postgres,
    ):
        folder = Path(made)
        (folder / "short.yaml").write_text(yaml.safe_dump(SHORT))
        work = {road: (case_file(folder, asked.cases), RUBRIC) for road in ("server", "openai")}
        work["local"] = (short_cases(folder, asked.embedded), "short.yaml")
        juries = {road: jury_file(folder, road, server.url) for road in work}
        print("seats    nodes  calls  seconds  calls/s  whole run  machine busy  coordinator", flush=True)
        for number in (0, 2):
            with Nodes() if number else ExitStack() as nodes:
                for road, (cases, rubric) in work.items():
                    more = (
                        ["--executor", "ray", "--ray-address", nodes.address]
                        if isinstance(nodes, Nodes)
                        else []
                    )
                    took = hear(juries[road], cases, rubric, postgres.url(f"{road}_{number}"), *more)
                    print(
                        f"{road:<8} {number:>5}  {took.calls:>5}  {took.seconds:>7.1f}  {took.calls / took.seconds:>7.1f}"
                        f"  {took.whole:>9.1f}  {took.busy:>12.1f}  {took.own:>11.1f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
