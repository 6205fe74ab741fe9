"""What a deliberation costs in calls, serial steps and prompt tokens, counted by the server, protocol by protocol.

    python benchmarks/serial_steps.py

Three jurors who never agree, two rounds, the same cases for every protocol. A step is a stretch in which the server has
anything in flight: calls made at the same time are one step.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

from openai_server import Call, ProviderServer, filled  # noqa: E402
from rich.console import Console  # noqa: E402

from venire import Jury, load_rubric  # noqa: E402
from venire.orchestration.run_session import RunSession, run_session  # noqa: E402

SEATS = ("high", "low", "middle")
ROUNDS = 2
CASES = 6
PROTOCOLS = ("single", "panel", "orchestrated", "moderated", "debate", "delphi", "escalate", "magentic-one")


def answers() -> Callable[[Call], Any]:
    """Jurors who hold on to their scores; an orchestrator who hears everyone twice and then decides."""
    scores = dict(zip(SEATS, (5, 2, 3), strict=True))
    ledgers = iter(range(10**9))

    def answer(call: Call) -> Any:
        if call.model in scores:
            return filled(
                call.schema or {},
                lambda name: 0 if name == "stigmatizing" else scores[call.model],
                moved_by="",
            )
        asked = (call.schema or {}).get("properties", {})
        if "next_speaker" in asked:
            number = next(ledgers) % (len(SEATS) * ROUNDS + 1)
            done = number == len(SEATS) * ROUNDS
            return _ledger(SEATS[number % len(SEATS)], done)
        if not asked:
            final = {
                name: {"rationale": "Weighed.", "score": 3} for name in load_rubric("clinical-note").names
            }
            final["stigmatizing"]["score"] = 0
            return json.dumps(final)
        return filled(call.schema or {}, lambda name: 0 if name == "stigmatizing" else 3)

    return answer


def _ledger(speaker: str, satisfied: bool) -> dict[str, Any]:
    said = {
        "is_request_satisfied": satisfied,
        "is_in_loop": False,
        "is_progress_being_made": True,
        "next_speaker": speaker,
        "instruction_or_question": "Give your ballot.",
    }
    return {key: {"reason": "So.", "answer": value} for key, value in said.items()}


class CountingServer(ProviderServer):
    """Counts the stretches in which anything was in flight."""

    steps = 0

    async def _complete(self, request: Any) -> Any:
        self.steps += self.in_flight == 0
        return await super()._complete(request)


def measured(protocol: str, folder: Path) -> dict[str, float]:
    cases = folder / "cases.jsonl"
    cases.write_text("".join((ROOT / "evals/demo/cases.jsonl").read_text().splitlines(keepends=True)[:CASES]))
    with CountingServer(answers(), latency=0.03) as server:
        seats = [
            {"name": n, "model": f"server/{n}", "base_url": server.url, "persona": f"{n}-scoring"}
            for n in SEATS
        ]
        jury = Jury.model_validate(
            {
                "name": f"bench-{protocol}",
                "protocol": protocol,
                "limits": {"max_rounds": ROUNDS + (protocol == "magentic-one"), "max_stalls": ROUNDS},
                "seats": seats,
                "orchestrator": {"model": "server/boss", "base_url": server.url},
            }
        )
        session = RunSession(cases, load_rubric("clinical-note"), [jury], folder / protocol, at_once=1)
        run_session(session, Console(stderr=True), quiet=True)
        tokens = sum(len(call.prompt) // 4 for call in server.calls)
        return {
            "calls": len(server.calls) / CASES,
            "steps": server.steps / CASES,
            "prompt tokens": tokens / CASES,
        }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {protocol: measured(protocol, Path(folder)) for protocol in PROTOCOLS}
    print(f"{'protocol':<14}{'calls':>8}{'steps':>8}{'prompt tokens':>15}")
    for protocol, row in found.items():
        print(f"{protocol:<14}{row['calls']:>8.1f}{row['steps']:>8.1f}{row['prompt tokens']:>15.0f}")
    ours, published = found["orchestrated"], found["magentic-one"]
    print(
        f"\norchestrated / magentic-one: steps {ours['steps'] / published['steps']:.2f} (at most 0.33), "
        f"prompt tokens {ours['prompt tokens'] / published['prompt tokens']:.2f} (below 1)"
    )


if __name__ == "__main__":
    main()
