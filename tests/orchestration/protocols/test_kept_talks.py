"""Every protocol on a jury that disputes, moves, abstains, leaves its scale, stalls and runs into limits: the whole of it as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claim_server import asked_ids
from kept_figures import check_kept
from magentic_scripts import ledger
from openai_server import Call, Fault, Refusal
from talk_traces import CASE, FOUR, ON_TOP, RICH, SPLIT, TOGETHER, checked, hold, scripted, spoken, talk

from venire import Rubric, load_rubric
from venire.agents.gateway import Unrecorded
from venire.agents.model import Reply, Request

KEPT = Path(__file__).parent / "kept"
TALKS: dict[str, dict[str, Callable[[], dict[str, Any]]]] = {
    "single": {
        "repeats": lambda: talk(
            scripted({"a": [{"accurate": 2}, {"accurate": 5}, {"usable": 9}, {"usable": 9}]}), ["a", "b"], protocol="single", repeats=3
        ),
        "cut short": lambda: talk(scripted({"a": {}}), ["a"], protocol="single", repeats=4, limits={"max_turns": 2}),
        "tokens": lambda: talk(scripted({"a": {}}), ["a"], protocol="single", repeats=3, limits={"max_tokens": 5000}),
        "a later hearing": lambda: talk(scripted({"a": {}}), ["a"], protocol="single", repeats=2, hearing=3),
    },
    "panel": {
        "quorum": lambda: talk(scripted(SPLIT), [*FOUR, {"name": "e", "confederate": True}], protocol="panel", quorum=4),
        "repeats": lambda: talk(scripted(SPLIT), ["a", "b"], protocol="panel", repeats=2, limits={"max_turns": 3}, quorum=3),
        "alternates and settings": lambda: talk(
            scripted({"a": Refusal(), "a2": "No ballot.", "a3": {"accurate": 1}, "b": {}}),
            [{"name": "a", "alternates": ["server/a2", "server/a3"]}, {"name": "b", "temperature": 0.3, "top_p": 0.9, "seed": 5, "max_tokens": 1500, "params": {"reasoning_effort": "low"}}],
            protocol="panel",
            count="trimmed",
        ),
        "budget": lambda: talk(scripted(TOGETHER), ["a", "b", "c"], protocol="panel", limits={"max_tokens": 7000}),
    },
    "orchestrated": {
        "moves": lambda: talk(scripted(SPLIT), FOUR, limits={"max_rounds": 4, "max_stalls": 2}, stance="zq-stance"),
        "tolerance": lambda: talk(scripted(SPLIT), FOUR, tolerance=1, quorum=3, limits={"max_rounds": 2}),
        "silent": lambda: talk(scripted({**SPLIT, "boss": "Not now."}), FOUR, limits={"max_rounds": 2}),
        "refused at the end": lambda: talk(scripted({**SPLIT, "boss": [{}, Refusal()]}), FOUR, limits={"max_rounds": 2}),
        "half a decision": lambda: talk(scripted({**SPLIT, "boss": [{}, {"accurate": 9}]}), FOUR, limits={"max_rounds": 2}),
        "replans": lambda: talk(
            scripted({"a": {"accurate": 5}, "b": {"accurate": 1}, "boss": {}}), ["a", "b"], limits={"max_rounds": None, "max_seconds": 100, "max_replans": 2}
        ),
        "stalls": lambda: talk(scripted({"a": {"accurate": 5}, "b": {"accurate": 1}}), ["a", "b"], limits={"max_rounds": 9, "max_stalls": 2}),
        "turns": lambda: talk(scripted(SPLIT), FOUR, limits={"max_turns": 6, "max_rounds": 9}),
        "too few turns": lambda: talk(scripted(SPLIT), FOUR, limits={"max_turns": 2}, quorum=3),
        "tokens": lambda: talk(scripted(SPLIT), FOUR, limits={"max_tokens": 30_000, "max_rounds": 9}),
        "stable": lambda: talk(scripted(SPLIT), ["b", "d"], limits={"max_rounds": 9, "max_stalls": 5}, stop={"stable_rounds": 1}),
        "alike": lambda: talk(scripted(SPLIT), ["b", "d"], limits={"max_rounds": 9, "max_stalls": 5}, stop={"ks": 0.2}),
        "challenged": lambda: talk(
            scripted({"a": {**ON_TOP, "thorough": 4}, "b": [ON_TOP, {"accurate": 3, "risk": 1}, {"accurate": 3, "risk": 1}], "c": [ON_TOP, {**ON_TOP, "accurate": 4}]}),
            ["a", "b", "c"], limits={"max_rounds": 3},
        ),
        "unchallenged": lambda: talk(scripted({"a": ON_TOP, "b": ON_TOP}), ["a", "b"], challenge=False),
        "no turn left to challenge": lambda: talk(scripted({"a": ON_TOP, "b": ON_TOP}), ["a", "b"], limits={"max_turns": 2}),
        "a confederate": lambda: talk(scripted(SPLIT), ["a", {"name": "b", "confederate": True}, "d"], limits={"max_rounds": 2}),
    },
    "moderated": {
        "declared": lambda: talk(
            scripted(
                {**SPLIT, "boss": [{"accurate": {"finding": "consensus"}, "thorough": {"answering": "a", "to": ["a", "b"]}, "risk": {"finding": "consensus"}}, {}, {}]}
            ),
            FOUR, protocol="moderated", limits={"max_rounds": 3},
        ),
        "silent": lambda: talk(scripted({**SPLIT, "boss": "Hm."}), FOUR, protocol="moderated", limits={"max_rounds": 2}),
        "agreed": lambda: talk(scripted({**TOGETHER, "boss": {"accurate": {"finding": "consensus"}}}), ["a", "b"], protocol="moderated"),
        "challenged": lambda: talk(scripted({"a": ON_TOP, "b": ON_TOP}), ["a", "b"], protocol="moderated"),
        "no turn left to challenge": lambda: talk(scripted({"a": ON_TOP, "b": ON_TOP}), ["a", "b"], protocol="moderated", limits={"max_turns": 2}),
        "one vote": lambda: talk(scripted({"a": {}, "b": "Words."}), ["a", "b"], protocol="moderated"),
    },
    "debate": {
        "named": lambda: talk(scripted(SPLIT), FOUR, protocol="debate", debate={"high": "c", "low": "a"}, limits={"max_rounds": 3}),
        "agreed": lambda: talk(scripted({**TOGETHER, "d": {"accurate": 1}}), FOUR, protocol="debate"),
        "agreed before a quorum": lambda: talk(scripted(TOGETHER), FOUR, protocol="debate", quorum=3),
        "within tolerance": lambda: talk(
            scripted({"a": {"accurate": 5, "thorough": 4}, "b": {"accurate": 1, "thorough": 3}}), ["a", "b"], protocol="debate", tolerance=1, limits={"max_rounds": 2}
        ),
        "turns": lambda: talk(scripted(SPLIT), FOUR, protocol="debate", limits={"max_turns": 5, "max_rounds": 9}),
        "one turn": lambda: talk(scripted(SPLIT), FOUR, protocol="debate", limits={"max_turns": 1}, quorum=2),
    },
    "delphi": {
        "rounds": lambda: talk(scripted(SPLIT), FOUR, protocol="delphi", limits={"max_rounds": 3, "max_stalls": 3}),
        "turns": lambda: talk(scripted(SPLIT), FOUR, protocol="delphi", limits={"max_turns": 6}),
    },
    "escalate": {
        "sure": lambda: talk(scripted({"a": {}}), FOUR, protocol="escalate"),
        "unsure": lambda: talk(
            scripted({"a": [{"accurate": {"score": 4, "confidence": "low"}, "thorough": 4}, {"thorough": 5}], "b": {"thorough": 4}, "c": {"thorough": 4}, "d": {"thorough": 4}}),
            FOUR, protocol="escalate", escalation={"repeats": 3},
        ),
        "split": lambda: talk(scripted({**SPLIT, "a": [{"thorough": 5}, {"thorough": 1}, {"thorough": 5, "accurate": 2}]}), FOUR, protocol="escalate", limits={"max_rounds": 2}),
        "one answer of two": lambda: talk(scripted({"a": [{}, "Words.", "Words.", {}]}), FOUR, protocol="escalate"),
        "split in its only round": lambda: talk(
            scripted({**SPLIT, "a": [{"accurate": {"score": 4, "confidence": "low"}, "thorough": 5}]}), FOUR, protocol="escalate", limits={"max_rounds": 1}
        ),
        "an agreement that does not go up": lambda: talk(
            scripted({"a": {"accurate": {"score": 5, "confidence": "low"}, "thorough": {"score": 5, "confidence": "low"}}, "b": {"accurate": 5, "thorough": 1}, "c": {"accurate": 5}}),
            ["a", "b", "c"], protocol="escalate", limits={"max_rounds": 2},
        ),
        "a wide panel": lambda: talk(
            scripted({**SPLIT, "a": [{"thorough": 5}, {"thorough": 4}, {"thorough": 5}]}), FOUR, protocol="escalate", escalation={"repeat_range": 0.5, "panel_spread": 3, "confidence": "high"}
        ),
        "cut short": lambda: talk(scripted(SPLIT), FOUR, protocol="escalate", limits={"max_turns": 3}),
    },
}  # fmt: skip


YES_OR_NO = Rubric.model_validate(
    {**RICH.model_dump(), "attributes": [RICH.by_name["usable"]], "composites": {}}
)


def claims_talk(seats: Any = ("v", "w", "x"), **fields: Any) -> dict[str, Any]:
    answer = fields.pop("answer", checked)
    options = {"of": "output", "against": "source", **fields.pop("options", {})}
    everyone = [{"name": "e", "extracts": True}, *({"name": name} for name in seats)]
    return talk(answer, everyone, protocol="decompose-verify", claims=options, rubric=load_rubric("claims"), **fields)  # fmt: skip


def silent_output(call: Call) -> Any:
    """As `checked`, of an output that claims nothing."""
    return {"claims": []} if "zq-output" in call.prompt and not asked_ids(call) else checked(call)


TALKS["decompose-verify"] = {
    "one way": lambda: claims_talk(),
    "both ways": lambda: claims_talk(options={"both_ways": True, "batch": 2, "central_weight": 3, "share": "all"}),
    "with evidence": lambda: claims_talk(options={"require_evidence": True, "batch": 9}, quorum=2),
    "turns": lambda: claims_talk(limits={"max_turns": 1}, quorum=2),
    "no claim of the text": lambda: claims_talk(answer=silent_output, options={"both_ways": True}),
    "two values": lambda: talk(
        checked, [{"name": "e", "extracts": True}, {"name": "v"}], protocol="decompose-verify",
        claims={"against": "source", "threshold": 0.5}, rubric=YES_OR_NO,
    ),
}  # fmt: skip


TALKS["answer"] = {
    "words": lambda: talk(scripted({"a": "zq-words"}), ["a"], protocol="answer"),
    "refused": lambda: talk(scripted({"a": Refusal()}), ["a"], protocol="answer"),
    "no money": lambda: talk(scripted({"a": Fault(400)}), ["a"], protocol="answer"),
    "tokens": lambda: talk(scripted({"a": "Words."}), ["a"], protocol="answer", limits={"max_tokens": 10}),
}


def presiding(*ledgers: tuple[Any, ...], final: Any = None, repair: Any = None) -> Callable[[Call], Any]:
    """An orchestrator of a group chat: who speaks, whether it is satisfied, whether there is progress; then its final answer."""
    asked = iter(range(1000))

    def answer(call: Call) -> Any:
        properties = (call.schema or {}).get("properties", {})
        if "next_speaker" in properties:
            given = ledgers[min(next(asked), len(ledgers) - 1)]
            if isinstance(given, str):
                return given
            speaker, satisfied, progress, *loop = given
            return ledger(speaker, satisfied=satisfied, progress=progress, loop=bool(loop))
        if properties:
            return repair or spoken(call, {"accurate": 1})
        if call.body["messages"][-1]["content"].startswith("The discussion is over"):
            return final or "No answer."
        return f"zq-boss-{call.number}"

    return answer


def group_talk(protocol: str, boss: Callable[[Call], Any], *seats: str, **fields: Any) -> dict[str, Any]:
    return talk(scripted({**SPLIT, "boss": boss}), seats, protocol=protocol, **fields)


for _name in ("magentic-one", "magentic"):
    TALKS[_name] = {
        "satisfied": lambda name=_name: group_talk(
            name, presiding(("a", False, True), ("b", False, True), ("a", False, True), ("c", True, True)), "a", "b", "c",
        ),
        "plans anew": lambda name=_name: group_talk(
            name, presiding(("a", False, True), "nobody", ("b", False, False), ("b", False, False), ("a", False, False), ("a", False, False)), "a", "b",
            limits={"max_rounds": 4, "max_stalls": 2, "max_replans": 1},
        ),
        "stalls": lambda name=_name: group_talk(
            name, presiding(("a", False, True, True), ("d", False, False), ("a", False, True), ("d", False, False), ("a", False, False)), "a", "d",
            limits={"max_rounds": 9, "max_stalls": 3},
        ),
        "stalled at once": lambda name=_name: group_talk(name, presiding(("a", False, False)), "a", "d", limits={"max_rounds": 9, "max_stalls": 1, "max_replans": 1}),
    }  # fmt: skip


@pytest.mark.parametrize("protocol", TALKS)
def test_a_talk_is_what_it_was(protocol: str) -> None:
    if protocol.startswith("magentic"):
        pytest.importorskip({"magentic": "agent_framework", "magentic-one": "autogen_agentchat"}[protocol])
    check_kept(KEPT / f"{protocol}.json", {name: make() for name, make in TALKS[protocol].items()})


def test_claims_of_a_file_are_checked_as_those_of_a_seat(tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    rows = [
        {"case": "c1", "text": "zq-claim-fever", "quote": "fever on Monday", "central": True},
        {"case": "c1", "text": "zq-claim-well", "id": "c2", "start": 3, "end": 9},
        {"case": "c1", "of": "source", "text": "zq-claim-back", "id": "s1", "quote": "well on Friday"},
        {"case": "another", "text": "zq-claim-other"},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    both = {"file": str(file), "against": "source", "both_ways": True}
    one = {"file": str(file), "against": "source"}
    seats, rubric = ["v", "w"], load_rubric("claims")
    check_kept(
        KEPT / "claims-of-a-file.json",
        {
            "both ways": talk(checked, seats, protocol="decompose-verify", claims=both, rubric=rubric),
            "one way": talk(checked, seats, protocol="decompose-verify", claims=one, rubric=rubric),
            "another case": talk(checked, seats, protocol="decompose-verify", claims=one, rubric=rubric, case=CASE.model_copy(update={"id": "c9"})),
        },
    )  # fmt: skip


class Timed(Unrecorded):
    """No record, but of how long each call took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        self.seconds[key] = reply.seconds


@pytest.mark.parametrize(("batch", "most"), [(1, max), (3, sum)])
def test_a_verifiers_seconds_are_those_of_its_longest_call_and_a_repairs_are_added(
    batch: int, most: Callable[[Any], float]
) -> None:
    timed = Timed()
    claims = {"against": "source", "batch": batch}
    seats = [{"name": "e", "extracts": True}, "x"]
    verdict = hold(checked, seats, protocol="decompose-verify", claims=claims, rubric=load_rubric("claims"), calls=timed).verdict  # fmt: skip

    (checks,) = [entry for entry in verdict.transcript.entries if entry.kind == "checks"]
    took = [timed.seconds[key] for key in checks.spent.calls]
    # The third claim's answer is sent back once: its two calls follow each other.
    parts = [took[0], took[1], took[2] + took[3]] if batch == 1 else took
    assert checks.spent.seconds == pytest.approx(most(parts))
    slowest = [max(e.spent.seconds for e in verdict.transcript.entries if e.step == step) for step in (1, 2)]
    assert verdict.transcript.cost.seconds == pytest.approx(sum(slowest))
