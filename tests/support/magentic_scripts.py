"""Orchestrators for `magentic-one` and `magentic` that say what a test wrote for them, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from openai_server import Call, Fault, Refusal
from server_juries import jury_at

from venire import Case, Rubric, Verdict, deliberate_sync

FINAL = {
    "accurate": {"rationale": "A's quote holds.", "score": 4},
    "thorough": {"rationale": "Gap.", "score": 2},
}
WORDS = f"I have weighed it all.\n```json\n{json.dumps(FINAL)}\n```"
DOWN = Fault(status=500, headers={"Retry-After": "0"})


def ledger(
    speaker: str = "a", *, satisfied: object = False, progress: object = True, loop: object = False
) -> dict[str, Any]:
    """A progress ledger as Magentic-One's orchestrator answers it."""
    answers = {
        "is_request_satisfied": satisfied,
        "is_in_loop": loop,
        "is_progress_being_made": progress,
        "next_speaker": speaker,
        "instruction_or_question": f"Tell us, {speaker}.",
    }
    return {key: {"reason": "Because.", "answer": answer} for key, answer in answers.items()}


def in_turn(*names: str, rounds: int | None = None) -> Callable[[int], Any]:
    """Ledgers that call on everyone in turn, and are satisfied after so many rounds."""

    def nth(number: int) -> Any:
        done = rounds is not None and number >= rounds * len(names)
        return ledger(names[number % len(names)], satisfied=done)

    return nth


def boss(ledgers: Callable[[int], Any], *, final: Any = WORDS, repair: Any = FINAL) -> Callable[[Call], Any]:
    """An orchestrator: `ledgers` by number, then the final answer; words wherever a plan is asked for."""
    asked = iter(range(10_000))

    def answer(call: Call) -> Any:
        properties = (call.schema or {}).get("properties", {})
        if "next_speaker" in properties:
            return ledgers(next(asked))
        if properties:
            return repair
        if call.body["messages"][-1]["content"].startswith("The discussion is over"):
            return final
        return "PLANNING-WORDS"

    return answer


UNUSABLE: dict[str, Callable[[], Callable[[Call], Any]]] = {
    "unknown juror": lambda: boss(lambda _: ledger("nobody")),
    "missing key": lambda: boss(lambda _: {k: v for k, v in ledger().items() if k != "next_speaker"}),
    "False": lambda: boss(lambda _: ledger(satisfied="False")),
    "two blocks": lambda: boss(lambda _: f"{json.dumps(ledger('a'))} {json.dumps(ledger('b'))}"),
    "words": lambda: boss(lambda _: "Let us hear a."),
    "down": lambda: lambda _: DOWN,
    "refuses": lambda: lambda _: Refusal(),
}
"""Orchestrators whom nobody can follow."""
ENDLESS: dict[str, Callable[[], Callable[[Call], Any]]] = {
    "always stalled": lambda: boss(lambda _: ledger(progress=False)),
    "never satisfied": lambda: boss(in_turn("a", "b", "c")),
}
"""Orchestrators whom only a limit stops."""


def deliberate_magentic(case: Case, rubric: Rubric, url: str, *names: str, **fields: Any) -> Verdict:
    """The verdict of `magentic-one`, or of another `protocol`, on a local server's jurors."""
    return deliberate_sync(case, rubric, jury_at(url, *names, **{"protocol": "magentic-one", **fields}))


def speakers(verdict: Verdict) -> list[str]:
    """The order of things: who voted, and what the orchestrator's words were about."""
    return [getattr(entry, "about", entry.speaker) for entry in verdict.transcript.entries]
