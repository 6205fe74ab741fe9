"""Redaction over every field that a transcript can have, taken from its schema: a new field cannot be forgotten."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from canary_run import KEY, OUTPUT, SOURCE, canary_answer, leaks, write_canary_run
from openai_server import Call, Fault, ProviderServer, Refusal
from rich.console import Console
from server_juries import AskNobody

from venire import Case, ModelUnreachable, load_jury, load_rubric
from venire.agents import pacing
from venire.orchestration.reading.scores import report
from venire.orchestration.record.redaction import redacted_transcript
from venire.orchestration.run_session import RunSession, run_session
from venire.orchestration.transcript import Transcript

SCHEMA = Transcript.model_json_schema()
NAMES = {
    "id", "case", "arm", "protocol", "seats", "juror", "attribute", "value", "asked", "saw", "limit", "declared",
    "who", "about", "to", "answering", "weighed", "exhibit", "of", "against", "claim", "orders", "versions",
}  # fmt: skip
"""The fields of free text that hold names of seats, attributes, entries, kinds and models, and no word of a case."""


def filled(node: dict[str, Any], field: str, pick: int) -> Any:
    """A value of this part of the schema: every field set, every text with a canary, the `pick`th of every choice."""
    if "$ref" in node:
        return filled(SCHEMA["$defs"][node["$ref"].rpartition("/")[2]], field, pick)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return node["enum"][pick % len(node["enum"])]
    if "oneOf" in node:
        return filled(node["oneOf"][pick % len(node["oneOf"])], field, pick)
    if "anyOf" in node:
        choices = [choice for choice in node["anyOf"] if choice.get("type") != "null"]
        return filled(choices[pick % len(choices)], field, pick)
    if node.get("type") == "array":
        if "oneOf" in node.get("items", {}):
            return [filled(each, field, pick) for each in node["items"]["oneOf"]]
        return [filled(node.get("items") or node["prefixItems"][0], field, pick)]
    if node.get("type") == "object":
        if "properties" not in node:
            return {"name": filled(node["additionalProperties"], field, pick)}
        return {name: filled(part, name, pick) for name, part in node["properties"].items()}
    if field == "flags" and pick % 2:
        return f"output: CANARY-flags {pick}"
    if node.get("type") == "string":
        return f"name {field}" if field in NAMES else f"CANARY-{field} {pick}"
    return True if node.get("type") == "boolean" else 1


@pytest.mark.parametrize("pick", range(12))
def test_every_text_of_every_entry_is_withheld_and_every_choice_is_kept(pick: int) -> None:
    whole = Transcript.model_validate(filled(SCHEMA, "", pick))
    case = Case(id="c", output="CANARY-output", source="CANARY-source")

    kept = redacted_transcript(whole, case)

    assert len({entry.kind for entry in kept.entries}) == len(
        SCHEMA["properties"]["entries"]["items"]["oneOf"]
    )
    found = [
        line for line in json.dumps(kept.model_dump(mode="json"), indent=0).splitlines() if "CANARY" in line
    ]
    # What this program says itself of a limit is kept: `redaction._own_words` says where.
    assert [line for line in found if not line.startswith('"detail"')] == []
    assert [entry.failed for entry in kept.entries] == [entry.failed for entry in whole.entries]


ECHO = "sorry: {prompt} {key}"
FAULTS: dict[str, Any] = {
    **{f"status {code}": Fault(status=code, body=ECHO) for code in (400, 401, 404, 422, 429, 500, 503)},
    "redirect": Fault(
        status=302, headers={"Location": f"http://elsewhere/{OUTPUT.replace(' ', '-')}"}, body=ECHO
    ),
    "dropped": Fault(drop=True),
    "hanging": Fault(hang=True),
    "not a completion": Fault(status=200, body=f'{{"said": "{SOURCE}"}}'),
    "not JSON": Fault(status=200, body=ECHO),
    "prose": f"I think that {SOURCE} is fine",
    "cut off": f'{{"accurate": {{"rationale": "{SOURCE}',
    "empty": "",
    "refusal": Refusal(f"I cannot judge {SOURCE}"),
}


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("faulty", ["b", "boss"])
def test_no_word_is_kept_whatever_a_juror_or_the_orchestrator_fails_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, faulty: str
) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    monkeypatch.setattr(pacing, "MOST_FAILURES", 1)
    monkeypatch.setattr(pacing, "WAITS", 0)
    monkeypatch.setattr(pacing, "TIMEOUTS", 1)

    def answer(call: Call) -> Any:
        if call.model != faulty:
            return canary_answer(call)
        fault = FAULTS[kind]
        if isinstance(fault, Fault) and fault.body == ECHO:
            said = ECHO.format(prompt=call.prompt, key=call.headers.get("Authorization"))
            return Fault(status=fault.status, headers=fault.headers, body=said)
        return fault

    console = Console(file=io.StringIO())
    with ProviderServer(answer) as server:
        write_canary_run(tmp_path, server.url, cases=1)
        jury = load_jury(str(tmp_path / "jury.yaml"))
        # Nobody else is hurried, however busy the machine is.
        seats = [
            seat.model_copy(update={"timeout": 0.5}) if seat.name == faulty else seat for seat in jury.seats
        ]
        boss = jury.orchestrator.model_copy(update={"timeout": 0.5 if faulty == "boss" else 60})
        session = RunSession(
            cases=tmp_path / "cases.jsonl",
            rubric=load_rubric(str(tmp_path / "rubric.yaml")),
            juries=[jury.model_copy(update={"seats": tuple(seats), "orchestrator": boss})],
            folder=tmp_path / "out",
            redact=True,
            preflight=AskNobody(),
        )
        # Access refused before any answer ends the run: what it holds by then has no word of the case either.
        with suppress(ModelUnreachable):
            run_session(session, console, quiet=True)

    told = io.StringIO()
    report(tmp_path / "out", None, told)
    assert len(json.loads(told.getvalue())["cases"]) == (kind not in ("status 401", "status 404"))
    assert isinstance(console.file, io.StringIO)
    assert leaks(tmp_path / "out", told.getvalue(), console.file.getvalue()) == []
