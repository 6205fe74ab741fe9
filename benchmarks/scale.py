"""Runs at scale: how near to the latency bound, how many at once, and whether a long run stays as it began."""

from __future__ import annotations

import argparse
import math
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from provider import Provider
from work import RUBRIC, SEATS, Took, case_file, cases, done

from venire import Case, Jury, load_rubric
from venire.orchestration.bench import Court
from venire.orchestration.deliberate import hear
from venire.orchestration.record import Store
from venire.orchestration.record.manifest import arm_fingerprint, arm_manifest, case_fingerprint
from venire.orchestration.worked_examples import ScoredCases

WALL = {"cases": 200, "latency": 0.5, "in_flight": 64}
PANEL = {"road": "server", "protocol": "panel", "max_rounds": 2}


def wall(protocol: str, most: float) -> Callable[[argparse.Namespace], dict[str, Any]]:
    """The wall time of 200 cases against what latency alone takes: every call waits for one of 64 places."""

    def run(_: argparse.Namespace) -> dict[str, Any]:
        latency, in_flight = WALL["latency"], int(WALL["in_flight"])
        with Provider(latency=latency) as server:
            took = done(
                "venire_run",
                server.url,
                int(WALL["cases"]),
                in_flight=in_flight,
                **{**PANEL, "protocol": protocol},
            )
            stats = server.stats()
        bound = math.ceil(stats["calls"] / in_flight) * latency
        return {
            "target": f"at most {most:g} of the latency bound",
            "measured": f"{took.wall / bound:.3f} ({took.wall:.2f} s, {stats['calls']} calls, bound {bound:g} s)",
            "met": took.wall <= most * bound and stats["connections"] <= in_flight,
            "connections": stats["connections"],
        }

    return run


def one_deliberation(_: argparse.Namespace) -> dict[str, Any]:
    """One deliberation of one round at 50 ms, from the brief to the committed transcript, connections open."""
    import asyncio

    with Provider(latency=0.05) as server, tempfile.TemporaryDirectory() as folder:
        seconds = asyncio.run(_timed(server.url, Path(folder)))
    later = statistics.median(seconds[1:])
    return {
        "target": "under 60 ms",
        "measured": f"median {1000 * later:.1f} ms (the first, which connects: {1000 * seconds[0]:.1f} ms)",
        "met": later < 0.06,
    }


async def _timed(url: str, folder: Path) -> list[float]:
    rubric = load_rubric(RUBRIC)
    jury = Jury.model_validate(
        {
            "name": "bench",
            "protocol": "panel",
            "seats": [{"name": seat, "model": f"server/{seat}", "base_url": url} for seat in SEATS],
        }
    )
    store = Store.create(folder / "run")
    court = Court(calls=store)
    made = arm_manifest(rubric, jury, seed=0, scored=ScoredCases(), prices={})
    arm = await store.add_arm("bench", arm_fingerprint(made), made)
    seconds = []
    for position, row in enumerate(cases(21)):
        case = Case.from_row(row)
        started = time.perf_counter()
        transcript = await hear(case, rubric, jury, court)
        await store.add(arm, case, case_fingerprint(case), transcript, position=position)
        seconds.append(time.perf_counter() - started)
    await court.close()
    await store.close()
    return seconds


def a_second(_: argparse.Namespace) -> dict[str, Any]:
    """How many one-round deliberations a second at 50 ms."""
    number = 1500
    with Provider(latency=0.05) as server:
        took = done("venire_run", server.url, number, in_flight=128, **PANEL)
    rate = number / took.wall
    return {"target": "at least 250 a second", "measured": f"{rate:.0f} a second", "met": rate >= 250}


def a_thousand(_: argparse.Namespace) -> dict[str, Any]:
    """1,000 deliberations begun at the same time, 64 calls in flight: all end in a verdict."""
    with Provider(latency=0.05) as server, tempfile.TemporaryDirectory() as kept:
        took, ballots = _kept(server.url, 1000, Path(kept), at_once=1000)
        stats = server.stats()
    fine = ballots == 3000 and stats["calls"] == 3000 and stats["connections"] <= 64
    return {
        "target": "none fails; never more than 64 connections",
        "measured": f"{ballots} ballots of 3000 in {took.wall:.1f} s, {stats['connections']} connections",
        "met": fine,
    }


def long_run(options: argparse.Namespace) -> dict[str, Any]:
    """Memory and speed of a long run against a short one, without latency."""
    with tempfile.TemporaryDirectory() as kept:
        with Provider() as server:
            short, _ = _kept(server.url, 1000, Path(kept) / "short")
        with Provider() as server:
            long, _ = _kept(server.url, options.long, Path(kept) / "long")
        first, last = _pace(Path(kept) / "long" / "run" / "record.sqlite")
    grown = long.peak - short.peak
    return {
        "target": "at most 60 MB above 1,000 cases; calls a second at the end at least 0.9 of the start",
        "measured": f"{long.peak:.0f} MB against {short.peak:.0f} MB (+{grown:.0f}); "
        f"{last:.0f} calls a second at the end, {first:.0f} at the start ({last / first:.2f})",
        "met": grown <= 60 and last >= 0.9 * first,
        "cases": options.long,
    }


def _kept(url: str, number: int, folder: Path, *, at_once: int = 64) -> tuple[Took, int]:
    """A run whose record stays in `folder`, and how many transcripts' ballots it holds."""
    folder.mkdir(parents=True, exist_ok=True)
    took = done(
        "venire_run",
        url,
        number,
        at_once=at_once,
        folder=str(folder),
        case_file=str(case_file(folder, number)),
        **PANEL,
    )
    with sqlite3.connect(folder / "run" / "record.sqlite") as record:
        contents = record.execute("SELECT content FROM transcripts")
        return took, sum(content.count('"kind":"ballot"') for (content,) in contents)


def _pace(record: Path) -> tuple[float, float]:
    """Calls a second in the second and in the last tenth of a run; the first holds its start."""
    with sqlite3.connect(record) as connection:
        made = [at for (at,) in connection.execute("SELECT made_at FROM calls ORDER BY made_at")]
    tenth = len(made) // 10
    return tenth / (made[2 * tenth] - made[tenth]), tenth / (made[-1] - made[-1 - tenth])


SCALE: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "panel, 200 cases, 500 ms, 64 in flight": wall("panel", 1.06),
    "orchestrated, one revision round, 200 cases, 500 ms, 64 in flight": wall("orchestrated", 1.15),
    "one deliberation of one round at 50 ms": one_deliberation,
    "one-round deliberations at 50 ms": a_second,
    "1,000 deliberations at once": a_thousand,
    "a long run without latency": long_run,
}
