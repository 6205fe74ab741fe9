"""A decompose-verify run at scale: how near to the latency bound, and whether memory stays flat.

    python benchmarks/claims.py --cases 2000 --claims 25 --verifiers 3

Every call waits for one of the places in flight, so latency alone takes calls / places times the latency.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from provider import Provider


def write(folder: Path, url: str, cases: int, claims: int, verifiers: int) -> None:
    """Case and jury files; an output has as many sentences as it makes claims."""
    with (folder / "cases.jsonl").open("w") as handle:
        for number in range(cases):
            output = " ".join(f"Finding {place} of case {number} is stable." for place in range(claims))
            row = {"id": f"case-{number}", "output": output, "reference": f"Case {number} is stable. " * 20}
            handle.write(json.dumps(row) + "\n")
    seats = [{"name": "extractor", "extracts": True}, *({"name": f"v{n}"} for n in range(verifiers))]
    jury = {
        "name": "claims",
        "protocol": "decompose-verify",
        "seats": [{**seat, "model": f"server/{seat['name']}", "base_url": url} for seat in seats],
    }
    (folder / "jury.yaml").write_text(json.dumps(jury))


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name, default in (("cases", 2000), ("claims", 25), ("verifiers", 3), ("in-flight", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--latency", type=float, default=0.5)
    asked = parser.parse_args()
    calls = asked.cases * (1 + asked.claims * asked.verifiers)
    bound = calls / asked.in_flight * asked.latency
    with Provider(latency=asked.latency) as server, tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, server.url, asked.cases, asked.claims, asked.verifiers)
        files = ["cases.jsonl", "--rubric", "claims", "--jury", "jury.yaml", "-o", "run", "--quiet"]
        command = [sys.executable, "-m", "venire.cli", "run", *files, "--in-flight", str(asked.in_flight)]
        started = time.perf_counter()
        running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        seen: list[float] = []

        def watch() -> None:
            while running.poll() is None:
                try:
                    seen.append(resident(running.pid))
                except OSError:
                    return
                time.sleep(0.5)

        watcher = threading.Thread(target=watch)
        watcher.start()
        running.wait()
        took = time.perf_counter() - started
        watcher.join()
        sent = server.stats()["calls"]
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
    quarter = max(1, len(seen) // 4)
    print(f"calls {sent} of {calls} expected; exit status {running.returncode}")
    print(f"pace {took / bound:.3f} of the latency bound ({took:.1f} s, bound {bound:.1f} s)")
    print(f"memory after a quarter {max(seen[:quarter]):.0f} MB, at the end {max(seen[-quarter:]):.0f} MB")
    print(f"processor {cpu.ru_utime + cpu.ru_stime:.1f} s, provider included")


if __name__ == "__main__":
    main()
