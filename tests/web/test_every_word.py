"""The page of a case has who judged, and every message as it was sent and every reply as it came; a redacted run says what is not there."""

from __future__ import annotations

import html
from pathlib import Path

from checkout import ROOT
from click.testing import CliRunner
from inspector_server import InspectorServer

from venire import Store
from venire.cli import app

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

    assert len(calls) == len(keys) == 7
    for written in (page, ended.stdout):
        told = html.unescape(written)
        assert told.count('class="every-word"') == 7
        for call in calls.values():
            assert call.reply in told and all(text in told for _, text in call.messages)
    assert 'class="every-word"' not in bare.stdout
    assert "judged by scripted/" in overview and "judged by scripted/" in shown.stdout
    assert "(high, low, middle, orchestrator) · prompts " in page


def test_a_redacted_run_says_that_it_has_no_words(tmp_path: Path) -> None:
    with InspectorServer(make_run(tmp_path, "--redact")) as server:
        page = server.ask("case?id=visit-1").text

    assert 'class="every-word"' not in page
    assert "holds the words of 0 of 7 calls" in page
