"""What was sent as a secret is in nothing that is kept or shown, however a server repeats it."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from command_line import venire
from openai_server import Call, Fault, ProviderServer, filled
from run_files import RUBRIC

from venire.agents.clients.keys import redact_secrets, sent_secrets

CANARY = "sk-CANARY+KEY/0123456789="
BASIC = b64encode(f"me:{CANARY}".encode()).decode()
ENCODED = quote(CANARY, safe="")


def echo(call: Call) -> Any:
    """Repeats what it was sent: in a ballot, an error, a redirect, or something that is no completion."""
    said = f"{call.headers.get('Authorization')} {CANARY} {ENCODED} {BASIC}"
    if call.model == "error":
        return Fault(status=400, body=f"{'x' * 270} {said}")
    if call.model == "redirect":
        return Fault(status=307, headers={"Location": f"http://elsewhere/{ENCODED}/{BASIC}?key={ENCODED}"})
    if call.model == "garbage":
        return Fault(status=200, body=said)
    if call.model == "prose":
        return said
    assert call.schema is not None
    return filled(call.schema, lambda _: 2, rationale=said, evidence=[said])


@pytest.mark.parametrize("way", ["env", "userinfo", "user alone", "query"])
def test_a_canary_key_is_found_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setenv("HIDDEN_KEY", CANARY)
    with ProviderServer(echo) as server:
        url = {
            "env": server.url,
            "userinfo": server.url.replace("//", f"//me:{ENCODED}@"),
            "user alone": server.url.replace("//", f"//{ENCODED}@"),
            "query": f"{server.url}?api-key={ENCODED}&api-version=2024-02-01",
        }[way]
        more = {"api_key_env": "HIDDEN_KEY"} if way == "env" else {}
        names = ("ballot", "error", "redirect", "garbage", "prose")
        seats = [{"name": n, "model": f"server/{n}", "base_url": url, "timeout": 5, **more} for n in names]
        jury = {"name": "bench", "protocol": "panel", "count": "median", "seats": seats}
        (tmp_path / "jury.yaml").write_text(json.dumps(jury))
        (tmp_path / "rubric.yaml").write_text(RUBRIC)
        (tmp_path / "cases.jsonl").write_text('{"id": "a", "output": "Summary.", "source": "Note."}\n')
        options = ("--rubric", "rubric.yaml", "--jury", "jury.yaml", "--trace", "trace.jsonl", "-o", "out")
        ended = venire("run", "cases.jsonl", *options, "--json", cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert {call.model for call in server.calls} == set(names)
    (case,) = json.loads(ended.stdout)["cases"]
    assert [ballot["juror"] for ballot in case["ballots"]] == ["ballot"]
    shown = [venire("show", "out", "a", cwd=tmp_path)]
    shown += [venire("export", "out", "--to", to, cwd=tmp_path) for to in ("jsonl", "csv", "html", "graphml")]
    streams = [stream for one in (ended, *shown) for stream in (one.stdout, one.stderr)]
    (tmp_path / "jury.yaml").unlink()
    kept = [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert [
        text[:300] for text in (*streams, *kept) if "CANARY" in text or (BASIC in text and way == "userinfo")
    ] == []


def test_a_version_in_the_query_is_no_secret() -> None:
    secrets = sent_secrets("http://h/v1?api-version=2024-02-01&api-key=0123456789", None)

    assert redact_secrets("on 2024-02-01: 0123456789", secrets) == "on 2024-02-01: [key]"


def test_short_words_are_not_taken_for_secrets() -> None:
    assert redact_secrets("all is well", sent_secrets("http://all:is@h/v1", "well")) == "all is well"
