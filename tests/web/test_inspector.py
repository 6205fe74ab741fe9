"""The inspector over HTTP: what it shows, what it refuses, and that the index only ever follows the record."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from pathlib import Path

import pytest
from inspector_server import InspectorServer
from planted_run import SCRIPTS, planted_case, planted_run

from venire import Store
from venire.web.index import FILE, Index
from venire.web.pages.texts import Citation, locate, mark_quotes
from venire.web.search import CaseSearch


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted_run(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def served(run: Path) -> object:
    with InspectorServer(run) as server:
        yield server


def cases_in(text: str) -> list[str]:
    return re.findall(r'class="open">([^<]+)</a>.*?data-label="arm">([^<]+)<', text)


# What it shows


def test_the_overview_says_where_to_look_first(served: InspectorServer) -> None:
    text = served.ask().text

    looks = text.partition("Look here first")[2]
    assert looks.index("premature") < looks.index("fabricated") < looks.index("persuaded")
    assert "all 3 jurors gave 5 in their first vote; single gave 3" in looks


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("flag=premature-consensus", [("premature", "stances")]),
        ("flag=unsupported-evidence", [("fabricated", "stances")]),
        ("flag=moved-towards", [("persuaded", "stances")]),
        ("flag=none&arm=stances", [("calm", "stances")]),
        ("q=prem&arm=single", [("premature", "single")]),
        ("attribute=organized&value=5", [("premature", "stances")]),
        ("stop=rounds", [("overruled", "stances")]),
        ("q=chronologically", [("premature", "stances")]),
        ("q=%25", []),
        ("q=nowhere", []),
    ],
)
def test_filters_find_what_they_say(
    served: InspectorServer, query: str, found: list[tuple[str, str]]
) -> None:
    assert cases_in(served.ask(f"cases?{query}").text) == found


def test_lists_come_in_the_order_asked_for(served: InspectorServer) -> None:
    names = [case for case, arm in cases_in(served.ask("cases?sort=case&arm=stances").text)]

    assert names == sorted(SCRIPTS)


def test_a_search_that_makes_no_sense_is_no_error(served: InspectorServer) -> None:
    assert served.ask("cases?page=-1&sort=;drop&flag='--&attribute=x&value=%00").status == 200
    assert served.ask("cases?page=999999999999999999999").status == 200


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("premature", "agreed at once"),
        ("persuaded", "moved towards"),
        ("fabricated", "quote not in the case"),
        ("conformed", "conformed"),
        ("overruled", "overruled"),
    ],
)
def test_each_planted_moment_is_on_its_page(served: InspectorServer, case: str, told: str) -> None:
    text = served.ask(f"case?id={case}&in_arm=stances").text

    assert told in text.partition('class="flags"')[2].partition("</section>")[0]


def test_an_undisturbed_deliberation_says_so(served: InspectorServer) -> None:
    text = served.ask("case?id=calm&in_arm=stances").text

    assert "Nothing unusual" in text
    assert 'class="badge' not in text


def test_two_arms_side_by_side(served: InspectorServer) -> None:
    text = served.ask("compare?id=premature&a=stances&b=single").text

    assert "5 and 3, 2 apart" in text
    assert text.index("<h2>organized") < text.index("<h2>accurate")


def test_what_is_not_there_is_a_404(served: InspectorServer) -> None:
    for path in ("case?id=nowhere", "case?id=calm&in_arm=nobody", "case", "nothing", "static/nothing.js"):
        assert served.ask(path).status == 404
    page, deeper = served.ask("nothing").text, served.ask("static/nothing.js").text
    assert 'href="./static/mark.svg"' in page and "<title>404 · venire</title>" in page
    assert 'href="./../static/mark.svg"' in deeper and 'href="./../"' in deeper


# What it refuses


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}"],
)
def test_a_foreign_host_is_refused(served: InspectorServer, host: str) -> None:
    assert served.ask(Host=host.format(port=served.port)).status == 403


def test_localhost_is_this_machine(served: InspectorServer) -> None:
    assert served.ask(Host=f"localhost:{served.port}").status == 200


@pytest.mark.parametrize("path", ["", "cases", "static/inspector.css", "wrong-token/", "live"])
def test_without_the_token_nothing_is_shown(served: InspectorServer, path: str) -> None:
    answer = served.ask(path, token=False)

    assert answer.status == 403
    assert "premature" not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "static/../server.py",
        "static/..%2fserver.py",
        "static/%2e%2e/%2e%2e/pyproject.toml",
        "static/....//server.py",
        "../../../../etc/passwd",
        "static/%00",
        "static/..\\server.py",
    ],
)
def test_a_path_that_climbs_out_is_refused(served: InspectorServer, path: str) -> None:
    answer = served.ask(path)

    assert answer.status in (400, 403, 404)
    assert "import" not in answer.text
    assert "root:" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_a_write_verb_is_refused(served: InspectorServer, method: str) -> None:
    assert served.ask("cases", method=method).status == 405


def test_head_is_allowed(served: InspectorServer) -> None:
    assert served.ask("cases", method="HEAD").status == 200


def test_every_answer_carries_the_policy(served: InspectorServer) -> None:
    for answer in (served.ask(), served.ask("live"), served.ask("nothing"), served.ask("", token=False)):
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_pages_hold_no_inline_code_and_no_address_elsewhere(served: InspectorServer) -> None:
    for path in ("", "cases", "case?id=persuaded&in_arm=stances", "compare?id=premature"):
        text = served.ask(path).text
        assert not re.search(r"<script(?![^>]*src=)", text)
        assert not re.search(r"\s(on\w+|style)=", text)
        assert not re.search(r"(href|src|action)=\"(?!\./|#|\?)", text)


def test_it_listens_on_loopback_only(served: InspectorServer) -> None:
    assert served.url.startswith("http://127.0.0.1:")


def test_the_record_is_not_written_to(run: Path, served: InspectorServer) -> None:
    before = (run / "record.sqlite").read_bytes()
    for path in ("", "cases", "case?id=calm", "compare?id=calm"):
        served.ask(path)

    assert (run / "record.sqlite").read_bytes() == before


# The index


def test_the_index_follows_a_run_that_goes_on(tmp_path: Path) -> None:
    run = planted_run(tmp_path, {"calm": SCRIPTS["calm"]})
    with InspectorServer(run, caught_up=False) as server:
        _until(lambda: json.loads(server.ask("live").text)["read"] == 2)
        planted_run(tmp_path, {"calm": SCRIPTS["calm"], "premature": SCRIPTS["premature"]})
        _until(lambda: json.loads(server.ask("live").text)["read"] == 4)

        assert "premature" in server.ask().text.partition("Look here first")[2]


def test_a_deleted_index_is_made_again_the_same(tmp_path: Path) -> None:
    run = planted_run(tmp_path)
    seen = []
    for _ in range(2):
        with InspectorServer(run) as server:
            seen.append(
                (server.ask("cases").text.partition("<main")[2], server.ask().text.partition("<main")[2])
            )
        for path in run.glob(f"{FILE}*"):
            path.unlink()

    assert seen[0] == seen[1]


@pytest.mark.parametrize("python", [sys.executable, "/bin/false", "/nowhere/python"])
def test_an_index_made_by_workers_is_the_one_made_alone(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    alone, together = (shutil.copytree(run, tmp_path / name) for name in ("alone", "together"))
    index = Index(alone)
    index.catch_up()
    wanted = _rows_of(index)
    index.close()
    monkeypatch.setattr("venire.web.index._MANY", 1)
    monkeypatch.setattr("venire.web.index._BATCH", 3)
    monkeypatch.setattr(sys, "executable", python)
    index = Index(together)
    store = Store.read(together)
    last = store.last_finished()
    store.release()
    index.start()
    until = time.monotonic() + 60
    while index.read_to.flagged < last and time.monotonic() < until:
        time.sleep(0.02)

    assert _rows_of(index) == wanted
    index.close()


def _rows_of(index: Index) -> list[object]:
    tables = ("about", "deliberations", "flags", "outcomes", "agreements", "sums")
    return [index.reading.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def test_a_case_that_was_changed_and_rerun_is_counted_once(tmp_path: Path) -> None:
    run = planted_run(tmp_path, {"x": SCRIPTS["calm"]}, {"x": planted_case("x")})
    index = Index(run)
    index.catch_up()
    planted_run(tmp_path, {"x": SCRIPTS["premature"]}, {"x": planted_case("x", output="Another text.")})
    index.catch_up()
    store = Store.read(run)
    census = index.censuses(store.arms())["stances"]

    assert census.number("cases") == 1
    assert census.number("flagged", "premature-consensus") == 1
    index.close()
    store.release()


def test_a_run_that_cannot_be_written_beside_is_indexed_elsewhere(tmp_path: Path) -> None:
    run = planted_run(tmp_path, {"calm": SCRIPTS["calm"]})
    (run / FILE).mkdir()
    index = Index(run)

    assert index.path.parent != run
    index.catch_up()
    assert index.read_to == (2, 2)
    index.close()
    assert not index.path.exists()
    shutil.rmtree(run)


def test_an_address_carries_its_search_and_nothing_that_is_default() -> None:
    assert CaseSearch(q="a b", flag="hung").address("cases", page=2) == "./cases?q=a+b&flag=hung&page=2"
    assert CaseSearch().address("case", id="x/y&z") == "./case?id=x%2Fy%26z"


# Passages


def test_a_quote_is_found_whatever_its_case_and_spacing() -> None:
    text = "Seen with\n  FEVER of 38.4 (today)."

    assert text[slice(*(locate("“fever of  38.4 (today)”", text) or ()))] == "FEVER of 38.4 (today)"
    assert locate("no such words", text) is None


def test_overlapping_quotes_keep_both_their_votes() -> None:
    made = mark_quotes("one two three", [Citation("a", "one two"), Citation("b", "two three")])

    assert made == (
        '<mark data-votes="a">one </mark><mark data-votes="a b">two</mark><mark data-votes="b"> three</mark>'
    )


def test_a_long_text_is_shown_where_it_is_quoted() -> None:
    text = "x" * 500_000 + " the quoted words " + "y" * 500_000
    made = mark_quotes(text, [Citation("v", "the quoted words")])

    assert '<mark data-votes="v">the quoted words</mark>' in made
    assert len(made) < 12_000


def _until(true: object, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)
