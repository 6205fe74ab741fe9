"""Jurors of known make: what moves each of them is planted, so that controls can be held against it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openai_server import Call, filled
from rich.console import Console

from venire import Case, Jury, Rubric
from venire.orchestration.run_session import RunSession, run_session

RUBRIC = Rubric.model_validate(
    {
        "name": "mine",
        "version": 1,
        "scales": {"agree": {"level": "ordinal", "anchors": {1: "no", 2: "partly", 3: "yes"}}},
        "attributes": [{"name": "accurate", "question": "Is it true?", "scale": "agree"}],
    }
)
UNSTABLE = 0.4
"""How often an unstable juror changes its score, whatever it is shown."""
CHANCES = (0.2, 0.5, 0.5)
"""Of a mixed one: how often it moves by itself, for a majority, and for a quote."""
WITNESS = "witness"
"""A confederate that quotes the source of every second case, and never moves."""


class KnownJurors:
    """Answers by the model's name, up to a hyphen: unstable, conforming, persuadable, mixed, restless, or the witness.

    The same question asked again is another draw; everything follows from the seed.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._times: Counter[tuple[str, str]] = Counter()
        self.calls = 0

    def __call__(self, call: Call) -> Any:
        return self.answer(call.model, call.prompt, call.schema)

    def answer(self, model: str, prompt: str, schema: Any) -> Any:
        """What the model says to a prompt: a first ballot, a revision, or what an orchestrator is asked."""
        self.calls += 1
        found = re.search(r"Summary (\d+)\.", prompt)
        case = found.group(1) if found else ""
        if model == "boss":
            return self._preside(case, prompt, schema)
        mine = re.search(r"your own\" begins [^\n]*\n- accurate: (\d)", prompt)
        if mine is None:
            quotes = [f"Note {case}: fever."] if model == WITNESS and int(case) % 2 == 0 else []
            return filled(schema, lambda _: 1 + int(3 * self._chance("first", model, case)), evidence=quotes)
        own = int(mine.group(1))
        shown = prompt.partition("# The deliberation so far")[2].partition("Your own answers")[0]
        self._times[model, prompt] += 1
        score = own % 3 + 1 if self._moves(model, prompt, own, shown) else own
        return filled(schema, lambda _: score, moved_by="a quote", evidence=[])

    def _moves(self, model: str, prompt: str, own: int, shown: str) -> bool:
        scores = [int(value) for value in re.findall(r" gave (\d)", shown)]
        outnumbered = 2 * sum(score != own for score in scores) > len(scores) > 0
        quoted = "quotes" in shown
        drawn = [self._chance(n, model, prompt, self._times[model, prompt]) for n in range(3)]
        by_itself, for_most, for_a_quote = (x < chance for x, chance in zip(drawn, CHANCES, strict=True))
        return {
            "restless": True,
            "unstable": drawn[0] < UNSTABLE,
            "conforming": outnumbered,
            "persuadable": quoted,
            "mixed": by_itself or (outnumbered and for_most) or (quoted and for_a_quote),
            WITNESS: False,
        }[model.partition("-")[0]]

    def _preside(self, case: str, prompt: str, schema: Any) -> Any:
        if schema is None:
            over = "The discussion is over" in prompt
            return json.dumps({"accurate": {"rationale": "Weighed.", "score": 2}}) if over else "A plan."
        if "next_speaker" not in schema["properties"]:
            return filled(schema, lambda _: 2)
        seats = schema["properties"]["next_speaker"]["properties"]["answer"]["enum"]
        self._times["boss", case] += 1
        turn = self._times["boss", case] - 1
        answers = {
            "is_request_satisfied": turn >= 2 * len(seats),
            "is_in_loop": False,
            "is_progress_being_made": True,
            "next_speaker": seats[turn % len(seats)],
            "instruction_or_question": "Tell us.",
        }
        return {name: {"reason": "Because.", "answer": answer} for name, answer in answers.items()}

    def _chance(self, *parts: Any) -> float:
        digest = hashlib.blake2b(repr((self._seed, *parts)).encode(), digest_size=7).digest()
        return int.from_bytes(digest, "big") / 2**56


def known_run(
    folder: Path, url: str, protocol: str, seats: Sequence[str], *, cases: int = 12, **seat: Any
) -> Path:
    """A run of jurors of known make at a server, each heard in two rounds at the most."""
    jury = Jury.model_validate(
        {
            "name": "bench",
            "protocol": protocol,
            "limits": {"max_rounds": 2},
            "challenge": False,
            "seats": [
                {
                    "name": name,
                    "model": f"server/{name}",
                    "base_url": url,
                    "confederate": name == WITNESS,
                    **seat,
                }
                for name in seats
            ],
            "orchestrator": {"model": "server/boss", "base_url": url},
        }
    )
    texts = [
        Case(id=f"c{number}", source=(f"Note {number}: fever.",), output=f"Summary {number}.")
        for number in range(cases)
    ]
    run = folder / "run"
    session = RunSession(cases=texts, rubric=RUBRIC, juries=[jury], folder=run)
    run_session(session, Console(quiet=True), quiet=True)
    return run
