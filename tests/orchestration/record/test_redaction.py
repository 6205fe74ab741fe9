"""No key, and in a redacted run no word of a case or a juror, in any byte of any file or stream."""

from __future__ import annotations

import asyncio
import base64
import csv
import io
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from canary_run import KEY, SOURCE, WORDS, canary_answer, leaks, write_canary_run
from command_line import Started, venire
from openai_server import Call, ProviderServer, filled
from postgres_cluster import PASSWORD, Cluster
from rich.console import Console

from venire import Store, VenireError, load_jury, load_rubric
from venire.agents.model import Message, Reply, Request, Sampling
from venire.orchestration.reading.analysis import flags, influence
from venire.orchestration.reading.export import verdicts
from venire.orchestration.record.redaction import RedactedError, seal, unseal
from venire.orchestration.run_session import RunSession, run_session


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)


def test_a_redacted_run_holds_no_words_and_can_still_be_read(tmp_path: Path) -> None:
    with ProviderServer(canary_answer) as server:
        command = write_canary_run(tmp_path, server.url)
        plain = venire(*command[:-1], "plain", "--json", cwd=tmp_path)
        ended = venire(*command, "--redact", "--json", cwd=tmp_path)
        calls = len(server.calls)
        again = venire(*command, "--json", cwd=tmp_path)
        assert len(server.calls) == calls

    assert ended.returncode == 4, ended.stderr
    assert leaks(tmp_path / "plain")
    shown = venire("show", "out", "case-1", cwd=tmp_path)
    exported = [venire("export", "out", "--to", to, cwd=tmp_path) for to in ("jsonl", "csv", "graphml")]
    summary = venire("show", "out", "--summary", cwd=tmp_path)
    assert [one.returncode for one in (shown, *exported, summary)] == [0] * 5, shown.stderr
    streams = [text for one in (ended, again, shown, *exported, summary) for text in (one.stdout, one.stderr)]
    assert leaks(tmp_path / "out", *streams) == []

    assert "placeholders were stored" in shown.stdout
    assert "stays redacted" in again.stderr
    assert again.stdout == ended.stdout
    kept, words = json.loads(ended.stdout)["cases"], json.loads(plain.stdout)["cases"]
    for mine, theirs in zip(kept, words, strict=True):
        assert mine["stop"] == theirs["stop"]
        assert {n: o["value"] for n, o in mine["verdict"].items()} == {
            n: o["value"] for n, o in theirs["verdict"].items()
        }
        assert [(b["juror"], b["value"], b["evidence_found"]) for b in mine["ballots"]] == [
            (b["juror"], b["value"], b["evidence_found"]) for b in theirs["ballots"]
        ]
        assert [(a["juror"], a["reason"]) for a in mine["abstentions"]] == [
            (a["juror"], a["reason"]) for a in theirs["abstentions"]
        ]
        assert any(a["detail"] == "HTTP 400 (the rest is withheld)" for a in mine["abstentions"])
        assert {flag.partition(":")[0] for flag in mine["flags"]} <= {"source", "usage-implausible"}
        assert mine["tokens"] == theirs["tokens"]
    rows = csv.DictReader(io.StringIO(exported[1].stdout))
    assert {row["case"] for row in rows} == {"case-0", "case-1", "case-2"}


def test_a_redacted_run_leaves_no_words_in_any_file_of_a_database(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    database: Cluster = request.getfixturevalue("empty_cluster")
    with ProviderServer(canary_answer) as server:
        command = [*write_canary_run(tmp_path, server.url)[:-1], database.url("redacted")]
        ended = venire(*command, "--redact", "--json", cwd=tmp_path)
    database.stop("fast")
    database.start()

    assert ended.returncode == 4, ended.stderr
    assert len(json.loads(ended.stdout)["cases"]) == 3
    assert (
        leaks(database.folder / "data", ended.stdout.replace(PASSWORD, ""), ended.stderr, database.log())
        == []
    )


def moved(call: Call) -> Any:
    """A juror who comes over, naming a quote of the other's."""
    if call.model == "a":
        assert call.schema is not None
        score = 3 if "asks you" in call.prompt else 1
        return filled(
            call.schema, lambda _: score, rationale=WORDS, evidence=[], moved_by=f"the words {SOURCE}"
        )
    return canary_answer(call)


def test_analysis_tells_from_marks_what_it_tells_from_words(tmp_path: Path) -> None:
    with ProviderServer(moved) as server:
        command = write_canary_run(tmp_path, server.url)
        venire(*command[:-1], "plain", cwd=tmp_path)
        venire(*command, "--redact", cwd=tmp_path)

    found = []
    for run in ("plain", "out"):
        store = Store.read(tmp_path / run)
        told = [
            (flags(verdict, arm.rubric), influence(verdict.transcript)) for arm, verdict in verdicts(store)
        ]
        found.append(
            [
                ([flag[:-1] for flag in flagged], [(one.move.juror, bool(one.grounds)) for one in drawn])
                for flagged, drawn in told
            ]
        )
        store.release()
    assert found[0] == found[1]
    assert any(grounds for _, drawn in found[0] for _, grounds in drawn)


def test_a_redacted_run_that_was_killed_continues_without_paying_twice(tmp_path: Path) -> None:
    with ProviderServer(canary_answer, latency=0.1) as server:
        command = write_canary_run(tmp_path, server.url, cases=8)
        calm = venire(*command[:-1], "calm", "--json", cwd=tmp_path)
        server.calls.clear()
        killed = Started(*command, "--redact", "--in-flight", 2, cwd=tmp_path)
        while len(server.calls) < 12:
            time.sleep(0.01)
        killed.kill()
        killed.wait()
        assert leaks(tmp_path / "out") == []
        sent = sum(call.model != "fails" for call in server.calls)
        with closing(sqlite3.connect(tmp_path / "out/record.sqlite")) as record:
            (kept,) = record.execute("SELECT count(*) FROM calls").fetchone()
        assert kept > 0
        finished = venire(*command, "--redact", "--json", cwd=tmp_path)

    questions = [json.dumps(call.body) for call in server.calls if call.model != "fails"]
    assert len(questions) - len(set(questions)) <= sent - kept
    assert all(WORDS in call.prompt for call in server.calls if "disputed" in call.prompt), (
        "a mark reached a juror"
    )
    values = [
        [{n: o["value"] for n, o in case["verdict"].items()} for case in json.loads(one.stdout)["cases"]]
        for one in (calm, finished)
    ]
    assert values[0] == values[1]
    assert leaks(tmp_path / "out", finished.stdout, finished.stderr) == []


def test_a_run_with_words_in_it_cannot_be_redacted_afterwards(tmp_path: Path) -> None:
    with ProviderServer(canary_answer) as server:
        command = write_canary_run(tmp_path, server.url)
        venire(*command, cwd=tmp_path)
        ended = venire(*command, "--redact", cwd=tmp_path)

    assert ended.returncode == 2
    assert "was started without --redact" in ended.stderr
    assert len(ended.stderr.splitlines()) == 2


def test_a_bug_in_a_redacted_run_keeps_its_traceback_and_not_its_message(tmp_path: Path) -> None:
    with ProviderServer(canary_answer) as server:
        write_canary_run(tmp_path, server.url)
        session = RunSession(
            cases=tmp_path / "cases.jsonl",
            rubric=load_rubric(str(tmp_path / "rubric.yaml")),
            juries=[load_jury(str(tmp_path / "jury.yaml"))],
            folder=tmp_path / "out",
            redact=True,
        )

        def breaks(case: str, entry: Any) -> None:
            raise KeyError(f"{SOURCE} {KEY} {entry}")

        with pytest.raises(RedactedError) as caught:
            run_session(session, Console(stderr=True), quiet=True, listener=breaks)

    assert "KeyError (the error's message is withheld" in str(caught.value)
    assert leaks(tmp_path / "out", str(caught.getrepr(chain=True, style="native"))) == []
    assert any("breaks" in str(entry) for entry in caught.traceback)


def test_a_key_is_in_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that cannot be sent ends in an error of the HTTP library: its traceback must not show it."""
    monkeypatch.setenv("CANARY_KEY", f"{KEY}\nInjected: header")
    with ProviderServer(canary_answer) as server:
        ended = venire(*write_canary_run(tmp_path, server.url), cwd=tmp_path)

    assert KEY not in ended.stdout + ended.stderr
    assert not any(
        KEY.encode() in path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()
    )


def test_a_password_in_a_seats_address_is_not_kept(tmp_path: Path) -> None:
    with ProviderServer(canary_answer) as server:
        url = server.url.replace("http://", f"http://me:{KEY}@")
        ended = venire(*write_canary_run(tmp_path, url), "--json", cwd=tmp_path)

    assert KEY not in ended.stdout + ended.stderr
    assert not any(
        KEY.encode() in path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()
    )


def test_what_is_sealed_opens_only_with_its_own_key() -> None:
    one, two = "ab" * 32, "cd" * 32
    text = 'words "and" \x00 \ud800 \U0001f600'
    sealed = seal(text, one)

    assert unseal(sealed, one) == text
    assert unseal(seal("", one), one) == ""
    assert "words" not in base64.b64decode(sealed).decode(errors="replace")
    altered = [
        base64.b64encode(bytes(byte ^ (place == at) for place, byte in enumerate(base64.b64decode(sealed))))
        for at in (0, 11, 12, -1 % len(base64.b64decode(sealed)))
    ]
    for key, words in (
        (two, sealed),
        (one[:-1] + "0", sealed),
        (one, "AAAA"),
        *((one, a.decode()) for a in altered),
    ):
        with pytest.raises(VenireError, match="altered or moved"):
            unseal(words, key)


def test_every_reply_is_sealed_under_a_fresh_nonce() -> None:
    nonces = {base64.b64decode(seal("the same words", "ab" * 32))[:12] for _ in range(1000)}

    assert len(nonces) == 1000


def _sealed_run(folder: Path, replies: dict[str, str]) -> None:
    """A redacted run that was left with these replies, by key."""

    async def keep() -> None:
        store = Store.create(folder, redact=True)
        for key, text in replies.items():
            asked = Request("server/a", (Message("user", "?"),), None, Sampling(), 0, 1)
            await store.put(key, asked, Reply(text))
        await store.close()

    asyncio.run(keep())


def test_a_sealed_reply_that_was_moved_to_another_question_is_noticed(tmp_path: Path) -> None:
    one, two = "ab" * 32, "cd" * 32
    _sealed_run(tmp_path, {one: "yes", two: "no"})
    with closing(sqlite3.connect(tmp_path / "record.sqlite")) as record:
        (first, words), (second, others) = record.execute("SELECT key, words FROM sealed").fetchall()
        record.executemany("UPDATE sealed SET words = ? WHERE key = ?", [(others, first), (words, second)])
        record.commit()

    store = Store.read(tmp_path)
    for key in (one, two):
        with pytest.raises(VenireError, match="altered or moved"):
            asyncio.run(store.get(key))
    store.release()
    assert not any(
        key.encode() in path.read_bytes() or bytes.fromhex(key) in path.read_bytes()
        for key in (one, two)
        for path in tmp_path.iterdir()
    )


@pytest.mark.parametrize("opened", [Store.read, Store.create])
def test_a_run_sealed_in_another_way_is_refused_in_two_lines(
    tmp_path: Path, opened: Callable[[Path], Store]
) -> None:
    _sealed_run(tmp_path, {"ab" * 32: "yes"})
    with closing(sqlite3.connect(tmp_path / "record.sqlite")) as record:
        record.execute("UPDATE facts SET value = 'yes' WHERE name = 'redacted'")
        record.commit()

    with pytest.raises(VenireError, match="not encrypted by AES-256-GCM") as caught:
        opened(tmp_path)
    assert len(str(caught.value).splitlines()) == 2


def test_sealed_replies_go_when_the_run_is_complete(tmp_path: Path) -> None:
    with ProviderServer(canary_answer) as server:
        venire(*write_canary_run(tmp_path, server.url), "--redact", cwd=tmp_path)

    store = Store.read(tmp_path / "out")
    assert store._database.rows("SELECT count(*) FROM sealed") == [(0,)]
    assert store.cost().calls > 0
    case = store.case("case-0")
    assert case is not None
    assert case.output.startswith("[withheld ")
    assert case.metadata == {}
    store.release()
    asyncio.run(Store.create(tmp_path / "out").close())
