"""How the inspector bears a large run: start, first page, filtered pages, memory.

    python benchmarks/inspector.py RUN

RUN should hold 10,000 cases or more; one is made without a model by `venire run CASES --rubric pdsqi-9 --jury JURY -o RUN`
with a jury whose seats have `model: scripted`. Seconds are counted from the command; times of pages are those of the client, on
loopback.
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
REPEATS = 5


def main() -> None:
    """Serve the run from a process of its own, ask it for pages, and print what that took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    run = parser.parse_args().run
    for left in run.glob("inspector.sqlite*"):
        left.unlink()
    command = [sys.executable, "-m", "venire.cli", "inspect", str(run), "--no-open"]
    started = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1]
        up = time.monotonic()
        print(f"up after {up - started:.2f} s; first page {asked(url):.3f} s; {memory(server.pid)}")
        for told, count, wanted in (("scores", "scored", FIRST), ("flags and reasons", "read", PAGES)):
            while (live := json.loads(urllib.request.urlopen(f"{url}live").read()))[count] < live["last"]:
                time.sleep(0.2)
            print(f"{told} of {live['last']:,} deliberations after {time.monotonic() - started:.1f} s")
            for page in wanted:
                print(f"{max(asked(url + page) for _ in range(REPEATS)) * 1000:6.0f} ms  /{page}")
        print(memory(server.pid))
        server.terminate()


def asked(url: str) -> float:
    start = time.monotonic()
    urllib.request.urlopen(url).read()
    return time.monotonic() - start


def memory(process: int) -> str:
    status = Path(f"/proc/{process}/status").read_text()
    most = re.search(r"VmHWM:\s+(\d+)", status)
    return f"at most {int(most.group(1)) / 1024:.0f} MB" if most else "memory unknown"


if __name__ == "__main__":
    main()
