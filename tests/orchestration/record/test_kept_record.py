"""What a record holds of a run and what it withholds: manifests, readings and redacted forms, field by field."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kept_figures import check_kept
from rich.console import Console
from talk_traces import CASE, FOUR, RICH, SPLIT, CountingServer, checked, hold, jury_on, scripted

from venire import Case, Jury, Rubric, Store, Transcript, load_rubric
from venire.orchestration.record.manifest import (
    arm_fingerprint,
    arm_manifest,
    case_changes,
    case_fingerprint,
    manifest_changes,
)
from venire.orchestration.record.redaction import redacted_case, redacted_transcript
from venire.orchestration.run_session import RunSession, run_session
from venire.orchestration.worked_examples import ScoredCases
from venire.personas.jury import ModelSettings
from venire.rubrics.conversation import SpokenMessage

KEPT = Path(__file__).parent / "kept"
MARK = re.compile(r"\[withheld [0-9a-f]+\]")


def plain(value: Any) -> Any:
    """As JSON without spaces in words; every mark is `#`, and calls go by how many they are."""
    if isinstance(value, dict):
        return {name: len(part) if name == "calls" else plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return MARK.sub("#", value).replace(" ", "_") if isinstance(value, str) else value


def test_a_redacted_talk_keeps_and_withholds_what_it_did() -> None:
    talks = {
        "split": hold(scripted(SPLIT), FOUR, limits={"max_rounds": 3, "max_stalls": 2}),
        "escalated": hold(scripted({**SPLIT, "a": [{"thorough": 5}, {"thorough": 1}]}), FOUR, protocol="escalate", limits={"max_turns": 4}),
        "silent": hold(scripted({**SPLIT, "boss": "Not now."}), FOUR, protocol="moderated", limits={"max_rounds": 2}),
        "claims": hold(checked, [{"name": "e", "extracts": True}, "v", "x"], protocol="decompose-verify", claims={"against": "source"}, rubric=load_rubric("claims")),
    }  # fmt: skip
    made = {name: redacted_transcript(each.verdict.transcript, CASE) for name, each in talks.items()}
    for name, redacted in made.items():
        told = redacted.model_dump_json()
        assert "zq-" not in told, name
        assert "fever" not in told, name
        assert Transcript.model_validate_json(told) == redacted
    check_kept(KEPT / "redacted.json", plain({name: each.model_dump(mode="json") for name, each in made.items()}))  # fmt: skip


def test_a_redacted_case_keeps_and_withholds_what_it_did() -> None:
    cases = {
        "whole": CASE,
        "pair": Case.from_row({"id": "p", "output_a": "zq-a", "output_b": "zq-b", "system_a": "x", "system_b": "y", "question": "zq"}),
        "conversation": Case.from_row({"id": "m", "group": "g", "messages": [{"role": "user", "content": "zq"}]}),
        "bare": Case(id="b", output="zq"),
    }  # fmt: skip
    made = {name: redacted_case(case) for name, case in cases.items()}
    assert not [
        name for name, case in made.items() if "zq" in case.model_dump_json(exclude={"group", "system"})
    ]
    check_kept(KEPT / "cases.json", plain({name: case.model_dump(mode="json") for name, case in made.items()}))  # fmt: skip


JURY = Jury.model_validate(
    {
        "name": "j",
        "seats": [
            {"name": "a", "model": "server/a", "base_url": "http://user:secret@h/v1", "persona": "low-scoring", "temperature": 0.5, "params": {"effort": 1}, "alternates": ["server/b"], "max_reply": 10},
            {"name": "b", "model": "openai/b"},
        ],
        "orchestrator": {"model": "server/o", "base_url": "http://h/v1", "params": {"effort": 2}},
    }
)  # fmt: skip


def seat(**update: Any) -> Callable[[Jury], Jury]:
    return lambda jury: jury.model_copy(update={"seats": (jury.seats[0].model_copy(update=update), jury.seats[1])})  # fmt: skip


JURIES: dict[str, Callable[[Jury], Jury]] = {
    "nothing": lambda jury: jury,
    "warmer": seat(temperature=1.0),
    "no temperature": seat(temperature=None),
    "no parameters": seat(params={}),
    "no alternates": seat(alternates=()),
    "the usual cap": seat(max_reply=2_000_000),
    "no persona": seat(persona=None),
    "another address": seat(base_url="http://i/v1"),
    "more patience": seat(timeout=5.0),
    "a chair without parameters": lambda jury: jury.model_copy(update={"orchestrator": ModelSettings(model="server/o", base_url="http://h/v1")}),
    "turned round": lambda jury: jury.model_copy(update={"seats": jury.seats[::-1]}),
    "one seat": lambda jury: jury.model_copy(update={"seats": jury.seats[:1]}),
    "more rounds": lambda jury: jury.model_copy(update={"limits": jury.limits.model_copy(update={"max_rounds": 9})}),
    "another rule": lambda jury: jury.model_copy(update={"count": "mean"}),
    "a stance": lambda jury: jury.model_copy(update={"stance": "Firm."}),
    "a later hearing": lambda jury: jury.heard_again(2),
    "another protocol": lambda jury: jury.under("decompose-verify"),
}  # fmt: skip


def manifest(jury: Jury, rubric: Rubric = RICH, seed: int = 0) -> dict[str, Any]:
    return arm_manifest(rubric, jury, seed=seed, scored=ScoredCases(), prices={})


def test_a_manifest_tells_every_change_of_a_jury_and_another_jury_from_the_same() -> None:
    before = manifest(JURY)
    made: dict[str, Any] = {
        "manifest": {name: value for name, value in before.items() if name not in ("venire", "made_with", "prompts", "rubric")},
        "parts": ",".join(before),
    }  # fmt: skip
    for name, change in JURIES.items():
        now = manifest(change(JURY))
        told = manifest_changes(before, now)
        made[name] = [re.sub(r"\s+", "_", line) for line in told]
        assert (arm_fingerprint(now) == arm_fingerprint(before)) == (not told), name
    made["another seed"] = [
        line.replace(" ", "_") for line in manifest_changes(before, manifest(JURY, seed=4))
    ]
    made["another rubric"] = [line.replace(" ", "_") for line in manifest_changes(before, manifest(JURY, load_rubric("claims")))]  # fmt: skip
    assert "secret" not in str(before)
    check_kept(KEPT / "manifest.json", made, without=r"voice|attends_to|rubric_hash")


def test_a_case_is_another_where_jurors_could_read_something_else() -> None:
    messages = (SpokenMessage(role="user", content="Hi"),)
    changes: dict[str, Any] = {
        "source": ("other",), "output": "other", "reference": "other", "question": "other", "audience": "other", "messages": messages,
        "group": "other", "system": "other", "metadata": {"a": 1},
    }  # fmt: skip
    made = {}
    for name, value in changes.items():
        now = CASE.model_copy(update={name: value})
        made[name] = [
            case_fingerprint(now) == case_fingerprint(CASE),
            case_changes(CASE, now).replace(" ", "_"),
        ]
    check_kept(KEPT / "fingerprints.json", made)


@pytest.mark.parametrize("redact", [False, True])
def test_what_is_read_of_a_run_is_what_was_written(tmp_path: Path, redact: bool) -> None:
    cases = [CASE.model_copy(update={"id": f"c{number}"}) for number in range(2)]
    with CountingServer(scripted(SPLIT)) as server:
        juries = [
            jury_on(server.url, ("a", "b"), limits={"max_rounds": 2}),
            jury_on(server.url, ("a", "d"), protocol="panel", repeats=2).model_copy(update={"name": "twice"}),
        ]
        session = RunSession(
            juries=juries, cases=cases, rubric=RICH, folder=tmp_path / "run", in_flight=1, redact=redact
        )
        run_session(session, Console(quiet=True), quiet=True)  # fmt: skip
    store = Store.read(tmp_path / "run")
    arms = store.arms()
    keys = [key for arm in arms for t in store.transcripts(arm) for entry in t.entries for key in entry.spent.calls]  # fmt: skip
    calls = store.recorded_calls(keys)
    cost = store.cost()
    case = store.case("c1")
    assert case is not None
    made = {
        "arms": [arm.name for arm in arms],
        "calls": len(keys),
        "with words": len(calls),
        "models": ",".join(sorted(call.model for call in calls.values())),
        "roles": ",".join(sorted("/".join(role for role, _ in call.messages) for call in calls.values())),
        "tokens": sorted([call.usage.prompt, call.usage.completion, call.usage.cached] for call in calls.values()),
        "cost": [cost.calls, cost.usage.prompt, cost.usage.completion, cost.usage.cached, cost.priced, cost.estimated],
        "progress": [[p.arm, p.done, p.cases, p.recent] for p in store.arm_progress(since=0.0)],
        "later": [[p.arm, p.done, p.recent] for p in store.arm_progress(since=1e12)],
        "numbers": [store.first_numbers(), *(store.first_numbers(arm) for arm in arms), store.last_finished()],
        "finished": [[f.number, f.arm, f.case, len(f.transcript.entries)] for f in store.finished_deliberations(after=1, most=2)],
        "cases": store.case_ids(),
        "case": plain(case.model_dump(mode="json")),
        "writing": store.writing(),
    }  # fmt: skip
    store.release()
    check_kept(KEPT / f"run-{'redacted' if redact else 'plain'}.json", made)
