"""Replays with each kind of change: the jury that sits, the plan, what was asked anew, and what became of the deliberations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kept_figures import check_kept
from openai_server import Call
from rich.console import Console
from talk_traces import CASE, RICH, CountingServer, entry_trace, jury_on, spoken

from venire import Jury, Store, VenireError
from venire.orchestration.reading.export import verdicts
from venire.orchestration.reading.side_by_side import beside_parent
from venire.orchestration.replay.change import Change, SeatChange, changed_jury, parse_limits
from venire.orchestration.replay.replay import ReplaySession, plan_replay, run_replay
from venire.orchestration.run_session import RunSession, run_session

KEPT = Path(__file__).parent / "kept"
CASES = [CASE.model_copy(update={"id": f"c{n}", "output": f"zq-output-{n}: fever."}) for n in range(2)]
SEATS = ("a", "b", "c")
SCORES = {"a": (5, 4), "b": (2, 2), "c": (3, 5), "n": (1, 1)}


def persistent(call: Call) -> Any:
    """Every model keeps its scores, except that b comes one nearer on a second case once it has read the others."""
    found = re.search(r"zq-output-(\d)", call.prompt)
    number = int(found.group(1)) if found else 0
    accurate, thorough = SCORES.get(call.model, (3, 3))
    first = next(iter((call.schema or {"properties": {}})["properties"].values()), {}).get("properties", {})
    moves = call.model == "b" and number == 1 and "moved_by" in first
    return spoken(call, {"accurate": accurate + moves, "thorough": thorough})


CHANGES: dict[str, Change] = {
    "nothing": Change(),
    "without": Change(without=("b",)),
    "leaving": Change(leaving=("c",), from_round=2),
    "without from two": Change(without=("a",), from_round=2),
    "another persona": Change(seats=(SeatChange("a", "persona", "low-scoring"),)),
    "another model": Change(seats=(SeatChange("c", "model", "server/n"),)),
    "another model from two": Change(seats=(SeatChange("c", "model", "server/n"),), from_round=2),
    "one round": Change(limits={"max_rounds": 1}),
    "more stalls": Change(limits={"max_stalls": 3, "max_rounds": 4}),
    "another chair": Change(orchestrator="server/n"),
}


def test_a_replay_with_each_kind_of_change_is_what_it_was(tmp_path: Path) -> None:
    made: dict[str, Any] = {}
    quiet = Console(quiet=True)
    with CountingServer(persistent) as server:
        jury = jury_on(server.url, SEATS, limits={"max_rounds": 3, "max_stalls": 1}, weights={"a": 2, "b": 1})
        session = RunSession(cases=CASES, rubric=RICH, juries=[jury], folder=tmp_path / "run", in_flight=1)
        run_session(session, quiet, quiet=True)
        for name, change in CHANGES.items():
            replay = ReplaySession(
                run=tmp_path / "run", folder=tmp_path / name, changes=(change,), in_flight=1
            )
            plan = plan_replay(replay)
            before = len(server.calls)
            run_replay(replay, quiet, quiet=True)
            made[name] = {
                "plan": plan.to_json(),
                "new calls": len(server.calls) - before,
                "asked": ",".join(call.model for call in server.calls[before:]),
                "options": change.options.replace(" ", "_"),
                **heard(tmp_path / name),
            }
            # The scores are those of before, the words are not: a mark has the number of its request.
            assert plan.new_in_other_words == made[name]["new calls"] or change.changed_seats, name
    check_kept(KEPT / "replays.json", made)


def heard(folder: Path) -> dict[str, Any]:
    store = Store.read(folder)
    found: dict[str, Any] = {}
    for arm, verdict in verdicts(store):
        pair = beside_parent(store, verdict)
        assert pair is not None
        found[verdict.case] = {
            "arm": arm.name,
            "entries": {e.id: re.sub(r";\d+_calls[^;]*", "", entry_trace(e)) for e in verdict.transcript.entries},
            "stop": str(verdict.stop).replace(" ", "_"),
            "outcomes": {n: [o.status, o.value, o.votes, o.method] for n, o in verdict.outcomes.items()},
            "rows": len(pair.rows()),
            "differences": len(pair.differences()),
            "changed": {name: "->".join(both).replace(" ", "_") for name, both in pair.changed_outcomes().items()},
        }  # fmt: skip
    store.release()
    return found


WHOLE = Jury.model_validate(
    {
        "name": "whole",
        "protocol": "debate",
        "limits": {"max_rounds": 4, "max_turns": 20, "max_stalls": 2, "max_usd": 1.5},
        "quorum": 2,
        "weights": {"a": 2, "d": 0.5},
        "debate": {"high": "a", "low": "b"},
        "seats": [
            {"name": "a", "model": "server/m", "base_url": "http://one/v1", "temperature": 0.5},
            {"name": "b", "model": "server/m", "base_url": "http://one/v1", "temperature": 0.5},
            {"name": "c", "model": "openai/m", "persona": "low-scoring"},
            {"name": "d", "model": "server/n", "base_url": "http://two/v1", "temperature": 0.5},
        ],
        "orchestrator": {"model": "server/boss", "base_url": "http://one/v1", "seed": 3},
    }
)
TABLE: dict[str, Change] = {
    "nothing": Change(),
    "without": Change(without=("d",)),
    "without an advocate": Change(without=("a",)),
    "an advocate replaced": Change(without=("a",), advocates=("c", "b")),
    "sides changed": Change(advocates=("b", "a")),
    "a stranger": Change(without=("z",)),
    "a strange advocate": Change(advocates=("a", "z")),
    "nobody left": Change(without=("a", "b", "c", "d")),
    "too few": Change(without=("c", "d"), limits={"max_rounds": None, "max_turns": None}),
    "leaving at once": Change(leaving=("c",)),
    "leaving later": Change(leaving=("c",), from_round=2),
    "limits": Change(limits=parse_limits(["max_rounds=2,max_usd=0.25", "max_turns=none"])),
    "limits later": Change(limits={"max_rounds": 2}, from_round=2),
    "a server's model": Change(seats=(SeatChange.parse("b=model:server/n"),)),
    "the same as another": Change(seats=(SeatChange.parse("d=model:server/m"),), base_url="http://one/v1"),
    "a hosted model": Change(seats=(SeatChange.parse("b=model:openai/n"),)),
    "two changes of a seat": Change(seats=(SeatChange.parse("b=model:openai/n"), SeatChange.parse("b=persona:high-scoring"))),
    "a chair": Change(orchestrator="server/n"),
    "a hosted chair": Change(orchestrator="openai/n"),
    "a chair elsewhere": Change(orchestrator="openai/n", base_url="http://three/v1"),
}  # fmt: skip


def test_the_jury_of_each_change_is_what_it_was() -> None:
    made: dict[str, Any] = {}
    for name, change in TABLE.items():
        told = {
            "words": str(change).replace(" ", "_"),
            "options": change.options.replace(" ", "_"),
            "concerns": change.concerns(WHOLE),
        }
        try:
            jury = changed_jury(WHOLE, change)
            told |= {
                "jury": jury.model_dump(
                    mode="json", exclude={"seats": {"__all__": {"persona": {"voice", "attends_to"}}}}
                ),
                "repeats": list(jury.first_repeats),
            }
        except VenireError as error:
            told["refused"] = ",".join(
                re.findall(r"\b(?:[a-z]|without|--[\w-]+|whole)\b(?! )", error.problem)
            )
        made[name] = told
    check_kept(KEPT / "changes.json", made)  # fmt: skip
