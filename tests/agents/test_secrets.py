"""What was sent as a secret is in nothing that is kept or shown, however a server repeats it."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from client_prefixes import AUTOGEN, LITELLM, seats_by
from command_line import venire
from openai_server import Call, Fault, ProviderServer, filled
from run_files import RUBRIC

from venire import Case, Jury, Rubric, VenireError, deliberate_sync

CANARY = "sk-CANARY+KEY/0123456789="
BASIC = b64encode(f"me:{CANARY}".encode()).decode()
ENCODED = quote(CANARY, safe="")


def echo(call: Call) -> Any:
    """Repeats what it was sent: in a ballot, an error, a redirect, or something that is no completion."""
    basic = "" if call.model.endswith(("-named", "-own")) else BASIC
    said = f"{call.headers.get('Authorization')} {CANARY} {ENCODED} {basic}"
    kind = call.model.partition("-")[0]
    if kind == "error":
        return Fault(status=400, body=f"{'x' * 270} {said}")
    if kind == "redirect":
        return Fault(status=307, headers={"Location": f"http://elsewhere/{ENCODED}/{basic}?key={ENCODED}"})
    if kind == "garbage":
        return Fault(status=200, body=said)
    if kind == "prose":
        return said
    if kind == "finish":
        answer = {
            "choices": [{"message": {"content": "{}", "role": said}, "finish_reason": said}],
            "usage": said,
        }
        return Fault(status=200, headers={"Content-Type": "application/json"}, body=json.dumps(answer))
    return ballot(call.schema, said)


def ballot(schema: Any, said: str) -> dict[str, Any]:
    """A ballot with these words in it; AutoGen's client sends no schema."""
    if schema is None:
        return {"accurate": {"rationale": said, "evidence": [said], "score": 2}}
    return filled(schema, lambda _: 2, rationale=said, evidence=[said])


NAMES = ("ballot", "error", "redirect", "garbage", "prose", "finish")


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
        seats = [{"name": n, "model": f"server/{n}", "base_url": url, **more} for n in NAMES]
        jurors = run_and_search(tmp_path, seats, server, BASIC if way == "userinfo" else CANARY)

    assert jurors == {"ballot"}


@pytest.mark.parametrize("prefix", [LITELLM, AUTOGEN])
def test_a_canary_key_is_found_nowhere_by_other_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    """The key is named by the seat, found in the environment or a file by the library itself, or in the address."""
    monkeypatch.setenv("HIDDEN_KEY", CANARY)
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with ProviderServer(echo) as server:
        seats = []
        # LiteLLM sends no user and password of an address, and is refused one.
        ways = ("named", "own", "userinfo") if prefix == "autogen" else ("named", "own")
        for way in ways:
            url = server.url.replace("//", f"//me:{ENCODED}@") if way == "userinfo" else server.url
            more = {"api_key_env": "HIDDEN_KEY"} if way == "named" else {}
            names = [f"{name}-{way}" for name in NAMES]
            seats += seats_by(prefix, url, names, tmp_path, key=CANARY, **more)
        jurors = run_and_search(tmp_path, seats, server, BASIC)

    assert jurors == {f"ballot-{way}" for way in ways}


@pytest.mark.parametrize("prefix", [LITELLM, AUTOGEN])
def test_an_address_is_refused_of_which_a_library_would_make_another(
    tmp_path: Path, rubric: Rubric, case: Case, prefix: str
) -> None:
    addresses = [f"http://127.0.0.1:9/v1?api-key={ENCODED}", f"http://me:{ENCODED}@127.0.0.1:9/v1"]
    for address in addresses if prefix == "openai" else addresses[:1]:
        seats = seats_by(prefix, address, "a", tmp_path)
        jury = Jury.model_validate({"name": "bench", "protocol": "panel", "seats": seats})

        with pytest.raises(VenireError, match=r"an address that has a (query|username)") as refused:
            deliberate_sync(case, rubric, jury)

        assert "CANARY" not in str(refused.value)


def run_and_search(folder: Path, seats: list[dict[str, Any]], server: ProviderServer, pair: str) -> set[str]:
    """Run, show and export with these seats; the jurors who cast a ballot. No file or stream may hold the key or `pair`."""
    jury = {"name": "bench", "protocol": "panel", "count": "median", "seats": seats}
    (folder / "jury.yaml").write_text(json.dumps(jury))
    (folder / "rubric.yaml").write_text(RUBRIC)
    (folder / "cases.jsonl").write_text('{"id": "a", "output": "Summary.", "source": "Note."}\n')
    options = ("--rubric", "rubric.yaml", "--jury", "jury.yaml", "--trace", "trace.jsonl", "-o", "out")
    ended = venire("run", "cases.jsonl", *options, "--json", cwd=folder)
    assert ended.returncode in (0, 4), ended.stderr
    assert {call.model for call in server.calls} == {seat["name"] for seat in seats}
    shown = [venire("show", "out", "a", cwd=folder)]
    shown += [venire("export", "out", "--to", to, cwd=folder) for to in ("jsonl", "csv", "html", "graphml")]
    streams = [stream for one in (ended, *shown) for stream in (one.stdout, one.stderr)]
    for written in ("jury.yaml", *(f"{seat['name']}.json" for seat in seats)):
        (folder / written).unlink(missing_ok=True)
    kept = [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]
    assert [text[:300] for text in (*streams, *kept) if "CANARY" in text or pair in text] == []
    (case,) = json.loads(ended.stdout)["cases"]
    return {ballot["juror"] for ballot in case["ballots"]}
