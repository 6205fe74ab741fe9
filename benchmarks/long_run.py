"""A run of 100,000 cases without latency: memory, the record's size, what resuming and looking at it take.

    python benchmarks/long_run.py [--cases 100000] [--folder FOLDER]

Three jurors of a panel read each case under PDSQI-9 (`work.py`); the model is `provider.py` on loopback. The run goes through the
command line, then the same command again, which finds nothing left to hear; then the inspector is opened on it and asked for its first page.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

from provider import Provider
from work import RUBRIC, SEATS, case_file

VENIRE = (sys.executable, "-m", "venire.cli")


class Ran(NamedTuple):
    seconds: float
    cpu: float
    peak: float
    """Megabytes of memory at the most."""


def ran(command: list[str], folder: Path) -> Ran:
    """What a command took that ends well."""
    started, peak = time.perf_counter(), 0.0
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    # Not `wait4`'s peak, which begins with the memory of the process that started this one.
    while (status := os.wait4(process.pid, os.WNOHANG))[0] == 0:
        peak = max(peak, megabytes(process.pid))
        time.sleep(0.2)
    process.returncode = os.waitstatus_to_exitcode(status[1])
    if process.returncode:
        raise SystemExit(f"exit status {process.returncode}: {' '.join(command)}")
    return Ran(time.perf_counter() - started, status[2].ru_utime + status[2].ru_stime, peak)


def megabytes(process: int) -> float:
    """The memory that a process has held at the most."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def first_page(run: Path) -> tuple[float, float, float]:
    """Seconds until the inspector answers, seconds of its first page, and its megabytes then."""
    command = [*VENIRE, "inspect", str(run), "--no-open"]
    started = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1]
        up = time.perf_counter()
        urllib.request.urlopen(url).read()
        seen = time.perf_counter()
        peak = megabytes(server.pid)
        server.terminate()
    return up - started, seen - up, peak


def rows(record: Path) -> dict[str, int]:
    """How many rows each table of a record has."""
    with sqlite3.connect(record) as connection:
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


def measure(folder: Path, cases: int) -> None:
    file = case_file(folder, cases)
    with Provider() as server:
        jury = {
            "name": "bench",
            "protocol": "panel",
            "seats": [
                {
                    "name": seat,
                    "persona": f"{seat}-scoring",
                    "model": f"server/{seat}",
                    "base_url": server.url,
                }
                for seat in SEATS
            ],
        }
        (folder / "jury.yaml").write_text(json.dumps(jury))
        command = [*VENIRE, "run", file.name, "--rubric", RUBRIC, "--jury", "jury.yaml", "-o", "run"]
        command += ["--in-flight", "64", "--quiet"]
        first = ran(command, folder)
        sent = server.stats()["calls"]
        print(
            f"{cases:,} cases, {sent:,} calls: {first.seconds:.0f} s, {first.cpu:.0f} s of processor time, at most {first.peak:.0f} MB"
        )
        again = ran(command, folder)
        print(
            f"the same command again: {again.seconds:.1f} s, {again.cpu:.1f} s of processor time, {server.stats()['calls'] - sent} calls, at most {again.peak:.0f} MB"
        )
    record = folder / "run" / "record.sqlite"
    size = record.stat().st_size
    print(
        f"record: {size / 1e9:.2f} GB, {size / cases:,.0f} bytes a case; the cases themselves {file.stat().st_size / cases:,.0f}"
    )
    print("rows: " + ", ".join(f"{name} {number:,}" for name, number in rows(record).items()))
    up, page, peak = first_page(folder / "run")
    print(f"inspector: answers after {up:.2f} s, first page {page:.3f} s, at most {peak:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where the run stays; default: a temporary folder")
    asked = parser.parse_args()
    if asked.folder is not None:
        asked.folder.mkdir(parents=True, exist_ok=True)
        measure(asked.folder.resolve(), asked.cases)
        return
    with tempfile.TemporaryDirectory() as made:
        measure(Path(made), asked.cases)


if __name__ == "__main__":
    main()
