"""Every protocol on a jury that disputes, moves, abstains, leaves its scale, stalls and runs into limits: the whole of it as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claim_server import asked_ids
from kept_figures import check_kept
from magentic_scripts import ledger
from openai_server import Call, Refusal
from talk_traces import FOUR, ON_TOP, RICH, SPLIT, TOGETHER, checked, scripted, spoken, talk

from venire import Rubric, load_rubric

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


def presiding(*ledgers: tuple[Any, ...], final: Any = None, repair: Any = None) -> Callable[[Call], Any]:
    """An orchestrator of a group chat: who speaks, whether it is satisfied, whether there is progress; then its final answer."""
    asked = iter(range(1000))

    def answer(call: Call) -> Any:
        properties = (call.schema or {}).get("properties", {})
        if "next_speaker" in properties:
            given = ledgers[min(next(asked), len(ledgers) - 1)]
            if isinstance(given, str):
                return given
            speaker, satisfied, progress = given
            return ledger(speaker, satisfied=satisfied, progress=progress)
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
        "turns": lambda name=_name: group_talk(name, presiding(("d", False, True)), "a", "d", limits={"max_turns": 2, "max_rounds": 9}),
    }  # fmt: skip


@pytest.mark.parametrize("protocol", TALKS)
def test_a_talk_is_what_it_was(protocol: str) -> None:
    if protocol.startswith("magentic"):
        pytest.importorskip({"magentic": "agent_framework", "magentic-one": "autogen_agentchat"}[protocol])
    check_kept(KEPT / f"{protocol}.json", {name: make() for name, make in TALKS[protocol].items()})
