"""How the inspector bears a large run: start, first page, filtered pages, memory.

    python benchmarks/inspector.py RUN [--human RATINGS]

RUN should hold 10,000 cases or more; one is made without a model by `venire run CASES --rubric pdsqi-9 --jury JURY -o RUN`
with a jury whose seats have `model: scripted`. Seconds are counted from the command; times of pages are the server's processor time, all
its threads together, and in brackets those of the client, on loopback.
"""

import argparse
import json
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

FIRST = (
    "",
    "cases",
    "cases?sort=score.accurate",
    "cases?system=A",
    "cases?attribute=accurate&value=4",
    "cases?stop=rounds",
)
"""Asked for as soon as the scores are there, while flags are looked for."""
PAGES = (
    "",
    "cases",
    "cases?flag=premature-consensus",
    "cases?q=777",
    "cases?flag=moved-towards&sort=seconds",
    "cases?sort=tokens&page=150",
    "cases?stop=rounds&flag=overruled",
)
RATED = ("people", "people?sort=verdict", "people?sort=case&page=100")
REPEATS = 5


def main() -> None:
    """Serve the run from a process of its own, ask it for pages, and print what that took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--human", type=Path)
    run, human = vars(parser.parse_args()).values()
    for left in run.glob("inspector.sqlite*"):
        left.unlink()
    command = [sys.executable, "-m", "venire.cli", "inspect", str(run), "--no-open"]
    command += ["--human", str(human)] if human else []
    started = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = next(line for line in server.stderr if "http://" in line).split()[-1]
        up, (used, waited) = time.monotonic(), asked(url, server.pid)
        print(f"up after {up - started:.2f} s; first page {used:.0f} ms ({waited:.0f}); {memory(server.pid)}")
        rated = RATED if human else ()
        for told, count, wanted in (
            ("scores", "scored", FIRST),
            ("flags and reasons", "read", (*PAGES, *rated)),
        ):
            while (live := json.loads(urllib.request.urlopen(f"{url}live").read()))[count] < live["last"]:
                time.sleep(0.2)
            print(f"{told} of {live['last']:,} deliberations after {time.monotonic() - started:.1f} s")
            for page in wanted:
                used, waited = max(asked(url + page, server.pid) for _ in range(REPEATS))
                print(f"{used:6.0f} ms ({waited:.0f})  /{page}")
        print(memory(server.pid))
        server.terminate()


def asked(url: str, process: int) -> tuple[float, float]:
    """Milliseconds of the process's own time that one page took, and of the client's."""
    before, start = processor_time(process), time.monotonic()
    urllib.request.urlopen(url).read()
    return processor_time(process) - before, 1000 * (time.monotonic() - start)


def processor_time(process: int) -> float:
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6


def memory(process: int) -> str:
    status = Path(f"/proc/{process}/status").read_text()
    most = re.search(r"VmHWM:\s+(\d+)", status)
    return f"at most {int(most.group(1)) / 1024:.0f} MB" if most else "memory unknown"


if __name__ == "__main__":
    main()
