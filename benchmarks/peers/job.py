"""The job that every peer is given, read from a file, and how it says what the job took.

The file holds the address of the server, how many calls may be in flight, the questions (for each case the words of
the system role, and of the user's for every juror) and the legal scores of every attribute. A peer's script imports
what it needs, then does the job between two looks at the clock, and prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

Item = TypeVar("Item")

JOB: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
URL: str = JOB["url"]
IN_FLIGHT: int = JOB["in_flight"]
SEATS: list[str] = JOB["seats"]
FOLDER = Path(JOB["folder"])
"""Where logs go; it is removed afterwards."""
os.chdir(FOLDER)


def questions() -> Iterator[tuple[str, str, str]]:
    """Seat, system words and user's words of every juror call."""
    for case in JOB["cases"]:
        for seat in SEATS:
            yield seat, JOB["system"], case["brief"] + JOB["tails"][seat]


def ballot(*, evidence: bool = True) -> Any:
    """The pydantic class of a ballot."""
    from pydantic import create_model

    fields: dict[str, Any] = {}
    for name, legal in JOB["attributes"].items():
        parts: dict[str, Any] = {"rationale": (str, ...)}
        if evidence:
            parts["evidence"] = (list[str], ...)
        parts["score"] = (Literal[tuple(legal)], ...)
        fields[name] = (create_model(f"Vote_{name}", **parts), ...)
    return create_model("Ballot", **fields)


@contextmanager
def clocked(calls: int) -> Iterator[None]:
    """Print the CPU and wall time that the block takes, all threads together."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    took = {
        "calls": calls,
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "peak": _peak(),
    }
    print(json.dumps(took), flush=True)


def _peak() -> float:
    """Megabytes of memory at the most; not `getrusage`'s, which begins with those of the process that started this one."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


async def at_once(do: Callable[[Item], Awaitable[object]], items: Iterable[Item], most: int) -> None:
    """`do` every item, so many at a time."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await do(item)

    await asyncio.gather(*(worker() for _ in range(most)))
