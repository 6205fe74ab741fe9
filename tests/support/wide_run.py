"""A run with something of everything, and people's ratings of it: what a figure may go wrong by is in it.

Forty cases of three systems in groups of unequal size. Three arms: a jury that deliberates, a panel, a single judge heard twice. Attributes
of every level, one reversed, one that may not apply, composites. Jurors are biased, noisy, follow majorities, quote what stands in the source
and what does not; some leave their scale, some say nothing that can be read. One of three people rated half of the cases only.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from openai_server import Call, ProviderServer, filled
from rich.console import Console

from venire import Rubric
from venire.orchestration.run_session import RunSession, run_session
from venire.personas.jury import load_jury
from venire.rubrics.case import load_cases

CASES = 40
RUBRIC: dict[str, Any] = {
    "name": "wide",
    "version": 1,
    "scales": {
        "agree5": {"level": "ordinal", "anchors": {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}},
        "yes": {"level": "binary", "anchors": {0: "no", 1: "yes"}},
        "kind": {"level": "nominal", "anchors": {"plain": "a", "odd": "b", "empty": "c"}},
    },
    "attributes": [
        {"name": "accurate", "question": "Is it right?", "scale": "agree5"},
        {"name": "thorough", "question": "Is it whole?", "scale": "agree5"},
        {"name": "risk", "question": "Is it dangerous?", "scale": "agree5", "better": "low", "reverse_as": "safety"},
        {"name": "usable", "question": "Can it be used?", "scale": "yes"},
        {"name": "tone", "question": "Of which kind is it?", "scale": "kind"},
        {"name": "plan", "question": "Is the plan right?", "scale": "agree5", "may_not_apply": True},
    ],
    "composites": {"overall": {"accurate": 0.5, "thorough": 0.2, "safety": 0.3}},
}  # fmt: skip
SEATS = {"high": 0.7, "low": -0.8, "middle": 0.0}
"""Jurors of the bench, and by how much they mark up."""
JURIES: tuple[dict[str, Any], ...] = (
    {"name": "bench", "protocol": "orchestrated", "limits": {"max_rounds": 3, "max_turns": 8}, "seats": [*SEATS], "orchestrator": "boss"},
    {"name": "panel", "protocol": "panel", "count": "mean", "quorum": 2, "seats": ["high", "low", "middle", "other"]},
    {"name": "single", "protocol": "single", "options": {"repeats": 2}, "seats": ["judge"]},
)  # fmt: skip
_SCORED = {"accurate": 1.0, "thorough": 0.7, "risk": -0.9, "plan": 0.5}
"""How an attribute's score goes with a text's quality."""


def chance(*parts: Any) -> float:
    """A number from 0 to 1 that depends on `parts` alone."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / 2**56


def case_rows() -> list[dict[str, Any]]:
    """Case 0 stands by itself, the next two in a group, then three, then four, then one again."""
    groups = [f"g{number}" for number in range(CASES) for _ in range(number % 4 + 1)]
    return [
        {
            "id": f"c{number}",
            "source": [f"Note {number}: fever of 38.{number % 10} and a cough.", "Seen again on Friday: well."],
            "output": f"Summary {number}. " + "Fever, then well. " * (1 + number % 4),
            "group": groups[number],
            "system": "xyz"[number % 3],
            "length": "long" if number % 4 > 1 else "short",
        }
        for number in range(CASES)
    ]  # fmt: skip


def quality(number: int) -> float:
    """How good the text of a case is, from -2 to 2; its group and its system are part of it."""
    group = case_rows()[number]["group"]
    return (
        2.4 * (chance("text", number) - 0.5) + 1.2 * (chance("group", group) - 0.5) + 0.3 * (number % 3 - 1)
    )


def _score(attribute: str, number: int, bias: float, noise: float, *who: Any) -> Any:
    value = quality(number) + bias + noise * 2 * (chance(attribute, number, *who) - 0.5)
    if attribute == "usable":
        return int(value > -0.2)
    if attribute == "tone":
        return ["empty", "odd", "plain"][min(2, max(0, round(value + 1)))]
    if attribute == "plan" and number % 5 == 0 and chance("plan", number, *who) < 0.8:
        return "not_applicable"
    return min(5, max(1, round(3.2 + _SCORED[attribute] * value)))


def people_rows() -> list[dict[str, Any]]:
    """Ratings in long form; ana is mild, ben harsh, and cy rated every second case."""
    return [
        {"case": f"c{number}", "rater": rater, "attribute": attribute, "value": value}
        for number in range(CASES)
        for rater, bias in (("ana", 0.3), ("ben", -0.3), ("cy", 0.0))
        if rater != "cy" or number % 2
        for attribute in (*_SCORED, "usable", "tone")
        if (value := _score(attribute, number, bias, 0.8, rater)) != "not_applicable"
        and chance("gap", number, rater, attribute) > 0.04
    ]


def answer(call: Call) -> Any:
    """What a juror or the orchestrator says; everything follows from the case, the model and what it is shown."""
    found = re.search(r"Summary (\d+)\.", call.prompt)
    number = int(found.group(1)) if found else 0
    if call.schema is None or "rationale" in call.schema["properties"]:
        return "A plan."
    first = next(iter(call.schema["properties"].values()))["properties"]
    if call.model == "boss":
        return filled(call.schema, lambda name: _score(name, number, 0.0, 0.4, "boss"))
    draw = chance("failure", call.model, number, "moved_by" in first)
    if draw < 0.03:
        return "I would rather not say."
    quotes = {
        0: [f"fever of 38.{number % 10}"],
        1: ["a rash on both arms"],
    }.get(int(chance("quote", call.model, number) * 4), [])
    return filled(
        call.schema,
        lambda name: 9 if draw > 0.96 and name == "accurate" else _vote(call, name, number),
        rationale="The note has it so. " * (1 + number % 3),
        evidence=quotes,
        moved_by="the quote of another juror",
    )


def _vote(call: Call, name: str, number: int) -> Any:
    """A juror's own score, or at times the middle of those it is shown; a single judge's depends on the repeat as well."""
    again = call.body.get("seed", 0)
    own = _score(name, number, SEATS.get(call.model, 0.2), 1.1, call.model, again)
    # The rubric has a part of that name too.
    parts = re.findall(rf"\n## {name}\n(.*?)(?=\n## |\n# |$)", call.prompt, re.DOTALL)
    scores = [int(score) for part in parts for score in re.findall(r" gave (\d)", part)]
    if not scores or not isinstance(own, int) or chance("moves", call.model, name, number) < 0.4:
        return own
    return round(sum(scores) / len(scores))


def write_wide_files(folder: Path, url: str) -> list[Path]:
    """Cases, rubric, people's ratings and the juries' files, whose paths come back."""
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in case_rows()))
    (folder / "rubric.yaml").write_text(json.dumps(RUBRIC))
    lines = ["case,rater,attribute,value", *(",".join(map(str, row.values())) for row in people_rows())]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    files = []
    for jury in JURIES:
        # A repeat's seed is that of the seat and its number.
        seats = [{"name": seat, "model": f"server/{seat}", "base_url": url, **({"seed": 0} if seat == "judge" else {})} for seat in jury["seats"]]  # fmt: skip
        boss = {"orchestrator": {"model": "server/boss", "base_url": url}} if "orchestrator" in jury else {}
        files.append(folder / f"{jury['name']}.yaml")
        files[-1].write_text(json.dumps({**jury, "seats": seats, **boss}))
    return files


def shared_wide_run(folder: Path) -> Path:
    """The folder with the run, made by whichever of several workers comes first; whoever writes into the run takes a copy."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            _judge(folder)
            (folder / "made").touch()
    return folder


def _judge(folder: Path) -> None:
    with ProviderServer(answer) as server:
        session = RunSession(
            juries=[load_jury(file) for file in write_wide_files(folder, server.url)],
            cases=list(load_cases(folder / "cases.jsonl")),
            rubric=Rubric.model_validate(RUBRIC),
            folder=folder / "run",
            in_flight=1,
        )
        run_session(session, Console(quiet=True), quiet=True)
