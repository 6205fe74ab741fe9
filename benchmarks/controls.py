"""How often the intervals of controls hold what was planted: jurors of known make, run and controlled end to end.

    python benchmarks/controls.py [--seeds 100] [--protocols delphi orchestrated ...] [--cases 60] [--draws 3] [--server]

Each seed is a run of 60 cases; fewer cases and draws are the first of them. Answers come from this process in place of a
server's client, or with --server over HTTP. What a mixed juror's shares are is taken from all seeds together.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))

from known_jurors import WITNESS, KnownJurors, known_run  # noqa: E402
from openai_server import ProviderServer  # noqa: E402

from venire import controls  # noqa: E402
from venire.agents.clients.server import ServerClient  # noqa: E402
from venire.agents.model import Reply, Request, Usage  # noqa: E402
from venire.evals.causes.controls import KINDS, Controls, decomposition  # noqa: E402

SEATS = ("unstable", "conforming", "persuadable", "mixed", WITNESS)
PLANTED = {"unstable": (1.0, 0.0, 0.0), "conforming": (0.0, 1.0, 0.0), "persuadable": (0.0, 0.0, 1.0)}
PROTOCOLS = ("delphi", "orchestrated", "moderated", "escalate", "magentic-one")


def revisions(seed: int, protocol: str, cases: int, draws: int, *, server: bool) -> list[Controls]:
    """Every revision of one run, controlled."""
    jurors = KnownJurors(seed)
    with ProviderServer(jurors) as provider, tempfile.TemporaryDirectory() as folder:
        if server:
            run = known_run(Path(folder), provider.url, protocol, SEATS, cases=cases)
            return list(controls(run, draws=draws).rows)
        with answering(jurors):
            run = known_run(Path(folder), provider.url, protocol, SEATS, cases=cases)
            return list(controls(run, draws=draws).rows)


@contextmanager
def answering(jurors: KnownJurors) -> Iterator[None]:
    """Has the client of servers answer for itself, so that no time goes into sockets."""

    async def complete(client: ServerClient, request: Request) -> Reply:
        prompt = "\n".join(message.content for message in request.messages)
        answer = jurors.answer(request.model.partition("/")[2], prompt, request.schema)
        return Reply(text=answer if isinstance(answer, str) else json.dumps(answer), usage=Usage(10, 10))

    real, ServerClient.complete = ServerClient.complete, complete  # type: ignore[method-assign]
    try:
        yield
    finally:
        ServerClient.complete = real  # type: ignore[method-assign]


def first_of(rows: Sequence[Controls], seat: str, cases: int, draws: int) -> list[Controls]:
    return [
        row._replace(draws={condition: values[:draws] for condition, values in row.draws.items()})
        for row in rows
        if row.juror == seat and int(row.case[1:]) < cases
    ]


def held(runs: Sequence[Sequence[Controls]], seat: str, cases: int, draws: int) -> list[str]:
    """For each kind, how many intervals hold what was planted, of how many that are defined."""
    pooled = [
        row._replace(case=f"{n} {row.case}") for n, run in enumerate(runs) for row in run if row.juror == seat
    ]
    truth = PLANTED.get(seat) or tuple(decomposition(pooled).shares[kind].value for kind in KINDS)
    counts = []
    for kind, planted in zip(KINDS, truth, strict=True):
        shares = [decomposition(first_of(run, seat, cases, draws)).shares[kind] for run in runs]
        bounded = [share for share in shares if share.low == share.low]
        inside = sum(share.low - 1e-9 <= planted <= share.high + 1e-9 for share in bounded)
        counts.append(f"{kind} {planted:.2f}: {inside} of {len(bounded)}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--protocols", nargs="+", default=PROTOCOLS)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--server", action="store_true")
    chosen = parser.parse_args()
    for protocol in chosen.protocols:
        runs = [
            revisions(seed, protocol, chosen.cases, chosen.draws, server=chosen.server)
            for seed in range(chosen.seeds)
        ]
        for cases in sorted({8, 20, chosen.cases}):
            for draws in sorted({1, min(3, chosen.draws), chosen.draws}):
                for seat in SEATS[:-1]:
                    print(
                        protocol,
                        cases,
                        "cases",
                        draws,
                        "draws",
                        seat,
                        *held(runs, seat, cases, draws),
                        sep="  ",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
