"""What one juror call costs, here and elsewhere, and how the whole behaves at scale: everything in one run, as ratios.

    python benchmarks/speed.py [--cases 2000] [--peer-cases 100] [--only NAME ...] [--no-scale] [--out FOLDER]

Everyone does the same work against the same kind of local server: three jurors read each case under PDSQI-9 and fill in
a ballot, with the checks and the log that each library makes by itself. Each peer has a virtual environment of its own
under --cache; one that does not install is left out, with the reason. CPU time is what counts: it is that of the
client's process alone. Writes results.json and results.md to --out and prints the tables.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from machine import machine
from provider import Provider
from scale import SCALE
from tables import page
from venvs import NotInstalled, python_of
from work import RUBRIC, Broke, Took, done

from venire import load_rubric

WHY = "The notes bear this out, and nothing in them speaks against it."


def plain(**parts: Any) -> str:
    """A filled-in form, for those who ask in words and not with a schema."""
    rubric = load_rubric(RUBRIC)
    found = {
        name: {"rationale": WHY, **parts, "score": rubric.scale_of(name).values[0]} for name in rubric.names
    }
    return json.dumps(found)


BALLOT = plain(evidence=[])
FINAL = plain()
GRADE = f"{FINAL}\nGRADE: C"
REASON = json.dumps({"score": 8, "reason": WHY})

Measure = Callable[[argparse.Namespace], Took]


def ours(road: str = "server", protocol: str = "panel") -> Measure:
    """venire itself: on the fast door or through LiteLLM, or the magentic-one arm, whose cases are ten calls each."""

    def measure(options: argparse.Namespace) -> Took:
        magentic = protocol == "magentic-one"
        if magentic and find_spec("autogen_agentchat") is None:
            raise NotInstalled("pip install 'venire[autogen]'")
        number = options.cases if road == "server" and not magentic else options.peer_cases
        calls = 10 * number if magentic else 3 * number
        more = {"road": road, "protocol": protocol, "max_rounds": 3}
        with Provider(plain=FINAL if magentic else BALLOT) as server:
            took = done("venire_run", server.url, number, calls=calls, **more)
            sent = server.stats()["calls"]
        if sent != calls:
            raise Broke(f"{sent} calls were sent instead of {calls}")
        return took

    return measure


def peer(script: str, venv: str | None = None, plain: str = FINAL) -> Measure:
    """A peer's script, in its own environment; without one, in this."""

    def measure(options: argparse.Namespace) -> Took:
        python = python_of(venv, options.cache) if venv else sys.executable
        calls = 3 * options.cases if script == "floor" else None
        with Provider(plain=plain) as server:
            return done(script, server.url, options.peer_cases, python=python, calls=calls)

    return measure


MEASURES: dict[str, Measure] = {
    "raw aiohttp": peer("floor"),
    "venire, fast door": ours(),
    "bare litellm.acompletion": peer("bare_litellm"),
    "venire, through LiteLLM": ours(road="openai"),
    "venire, magentic-one arm": ours(protocol="magentic-one"),
    "AutoGen agents": peer("autogen_agents", "autogen"),
    "AutoGen Magentic-One": peer("autogen_magentic", "autogen"),
    "Inspect multi-model grader": peer("inspect_grader", "inspect", GRADE),
    "Verdict": peer("verdict_panel", "verdict"),
    "DeepEval GEval": peer("deepeval_geval", "deepeval", REASON),
}


def repeated(measure: Measure, options: argparse.Namespace) -> dict[str, Any]:
    """The median of several runs, or why there is none."""
    try:
        runs = [measure(options) for _ in range(options.repeats)]
    except (NotInstalled, Broke) as error:
        return {"skipped": f"{type(error).__name__}: {error}"}
    return {
        "calls": runs[0].calls,
        "cpu_ms": statistics.median(run.each for run in runs),
        "cpu_ms_with_start": statistics.median(run.each_with_start for run in runs),
        "wall_s": statistics.median(run.wall for run in runs),
        "peak_mb": max(run.peak for run in runs),
        "all_cpu_ms": [run.each for run in runs],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=2000, help="for the fast door and the floor")
    parser.add_argument("--peer-cases", type=int, default=100, help="for everyone else")
    parser.add_argument("--long", type=int, default=20_000, help="cases of the long run")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the median counts")
    parser.add_argument("--only", nargs="*", default=[], help="words in the names of what is to be measured")
    parser.add_argument("--no-scale", action="store_true", help="leave out the runs at scale")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "venire-benchmarks")
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    found: dict[str, Any] = {"machine": machine(), "calls": {}, "scale": {}}
    chosen = [name for name in MEASURES if not options.only or any(word in name for word in options.only)]
    for name in chosen:
        print(f"measuring {name}", file=sys.stderr)
        found["calls"][name] = repeated(MEASURES[name], options)
    for name, run in {} if options.no_scale else SCALE.items():
        if not options.only or any(word in name for word in options.only):
            print(f"measuring {name}", file=sys.stderr)
            found["scale"][name] = run(options)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(json.dumps(found, indent=1) + "\n")
    (options.out / "results.md").write_text(page(found))
    print(page(found))


if __name__ == "__main__":
    main()
