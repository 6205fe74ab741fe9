"""The page of a case has who judged, and every message as it was sent and every reply as it came; a redacted run says what is not there."""

from __future__ import annotations

import html
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from click.testing import CliRunner
from inspector_server import InspectorServer
from openai_server import Call, Fault, ProviderServer
from run_files import write_run

from venire import Store
from venire.agents.cost import Receipt
from venire.cli import app
from venire.web.standalone import write_site

EXAMPLE = ROOT / "examples" / "wrong-dose"


def make_run(folder: Path, *options: str) -> Path:
    files = [
        "--rubric",
        str(EXAMPLE / "rubric.yaml"),
        "--jury",
        str(EXAMPLE / "jury.yaml"),
        "-o",
        str(folder / "run"),
    ]
    ended = CliRunner().invoke(app, ["run", str(EXAMPLE / "cases.jsonl"), *files, *options])
    assert ended.exit_code == 0, ended.output
    return folder / "run"


def test_every_message_and_reply_is_on_the_page_and_in_the_export(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    store = Store.read(run)
    (arm,) = store.arms()
    (transcript,) = store.transcripts(arm)
    keys = [key for entry in transcript.entries for key in entry.spent.calls]
    calls = store.recorded_calls(keys)
    store.release()
    with InspectorServer(run) as server:
        page = server.ask("case?id=visit-1").text
        overview = server.ask().text
    ended = CliRunner().invoke(app, ["export", str(run), "--to", "html"])
    shown = CliRunner().invoke(app, ["show", str(run), "VISIT-001"])
    bare = CliRunner().invoke(app, ["export", str(run), "--to", "html", "--no-prompts"])
    pages = {}
    for prompts in (True, False):
        write_site(run, tmp_path / str(prompts), prompts=prompts)
        pages[prompts] = "".join(file.read_text() for file in (tmp_path / str(prompts)).glob("*.html"))

    assert len(calls) == len(keys) == 7
    for written in (page, ended.stdout):
        told = html.unescape(written)
        assert told.count('class="every-word"') == 7
        for call in calls.values():
            assert call.reply in told and all(text in told for _, text in call.messages)
    assert pages[True].count('class="every-word"') == 7
    assert 'class="every-word"' not in bare.stdout + pages[False]
    assert "left out of this page (--no-prompts)" in bare.stdout and "--no-prompts" not in page
    assert "judged by scripted/" in overview and "judged by scripted/" in shown.stdout
    assert "(high, low, middle, orchestrator) · prompts " in page
    copied = re.findall(r'data-copy="(.*?)"', html.unescape(page.partition("<h1>")[0].replace("&quot;", "'")))
    assert copied[0] == f"venire show {run} visit-1 --arm {arm.name}" and "'id':'visit-1'" in copied[1]
    assert "data-copy-link" in page


def test_a_redacted_run_says_that_it_has_no_words(tmp_path: Path) -> None:
    with InspectorServer(make_run(tmp_path, "--redact")) as server:
        page = server.ask("case?id=visit-1").text

    assert 'class="every-word"' not in page
    assert "holds the full text of 0 of 7 model calls" in page


BUSY = Fault(status=500, headers={"Retry-After": "0"}, body="SECRET-BODY")
DATED = {"a": "a-2024-08-06", "b": "b-0"}


class VersionedServer(ProviderServer):
    """A provider that states which model answered: of `b` another from its second answer on, of others no more than was asked for."""

    def completion(self, call: Call, answer: Any) -> dict[str, Any]:
        model = "b-1" if call.model == "b" and call.number else DATED.get(call.model, call.model)
        return {**super().completion(call, answer), "model": model, "system_fingerprint": "said in words"}


def answer(call: Call) -> Any:
    """Model `a` fails twice before it answers, `c` always."""
    if call.model == "c" or (call.model == "a" and call.number < 2):
        return BUSY
    return {"accurate": {"rationale": "So.", "evidence": [], "score": 2}}


def receipts(run: Path) -> dict[tuple[str, str], Receipt]:
    store = Store.read(run)
    (arm,) = store.arms()
    found = {
        (heard.case, entry.speaker): entry.spent
        for heard in store.transcripts(arm)
        for entry in heard.entries
    }
    store.release()
    return found


@pytest.mark.parametrize("redacted", [False, True])
def test_versions_and_failed_tries_are_recorded_and_shown(tmp_path: Path, redacted: bool) -> None:
    with VersionedServer(answer) as server:
        names = write_run(tmp_path, server.url, protocol="panel", count="median")
        files = [str(tmp_path / name) if "." in str(name) or name == "out" else str(name) for name in names]
        command = [*files, "--quiet", "--in-flight", "1", *(["--redact"] if redacted else [])]
        ended = CliRunner().invoke(app, command)
        assert ended.exit_code == 4, ended.output
        first = receipts(tmp_path / "out")
        if not redacted:
            with sqlite3.connect(tmp_path / "out" / "record.sqlite") as record:
                record.execute("DELETE FROM transcripts")
            CliRunner().invoke(app, command)
            again = receipts(tmp_path / "out")
            assert {key: again[key] for key in again if key[1] != "c"} == {
                key: first[key] for key in first if key[1] != "c"
            }, "a reply from the record brings its version and the tries before it"

    busy = [spent for (_, seat), spent in first.items() if seat == "a" and spent.failures]
    assert [(each.reason, each.detail[:8]) for each in busy[0].failures] == [("unavailable", "HTTP 500")] * 2
    assert all(each.seconds >= 0 and each.at > 1.7e9 for each in busy[0].failures) and len(busy) == 1
    assert {spent.versions for (_, seat), spent in first.items() if seat == "a"} == {("a-2024-08-06",)}
    assert {spent.versions for (_, seat), spent in first.items() if seat == "b"} == {("b-0",), ("b-1",)}
    down = [spent for (_, seat), spent in first.items() if seat == "c"]
    assert all(spent.failures and not spent.versions and not spent.calls for spent in down)
    assert b"SECRET-BODY" not in (tmp_path / "out" / "record.sqlite").read_bytes() or not redacted
    busy_case = next(case for (case, seat), spent in first.items() if seat == "a" and spent.failures)
    with InspectorServer(tmp_path / "out") as inspector:
        overview, page = inspector.ask().text, inspector.ask(f"case?id={busy_case}").text
    exported = CliRunner().invoke(app, ["export", str(tmp_path / "out"), "--to", "html"]).stdout
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "out"), busy_case]).stdout
    for model in ("server/a (a-2024-08-06)", "server/b (2 versions: b-0 and b-1)", "server/c"):
        assert f"{model}, temperature not set" in overview, (
            "the whole of each model is in the head, folded or not"
        )
    assert "server/c (" not in overview and "said in words" not in page
    for words in (page, exported, " ".join(shown.split())):
        assert "server/a (a-2024-08-06), temperature not set (a)" in words
    for words in (page, exported):
        assert "2 tries without a reply" in words and "unavailable: HTTP 500" in words
        assert words.count("server/a (a-2024-08-06) · ") == (
            0 if redacted else words.count("server/a (a-2024-08-06), temperature not set (a)")
        )
