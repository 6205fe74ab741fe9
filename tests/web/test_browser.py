"""The inspector in a real browser: read a ballot, compare two arms, use the keyboard; and nothing hostile runs."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from csv import DictReader
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from inspector_server import InspectorServer
from planted_run import FEVER, JURORS, RASH, SCRIPTS, ballot_line, planted_case, planted_run
from real_browser import real_browser

from venire.orchestration.reading.terminal import export_run
from venire.rubrics.errors import VenireError
from venire.web.standalone import write_site

SIZES = {"wide": (1440, 950), "narrow": (390, 844)}

HOSTILE = (
    "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'><svg onload=\"window.ran = 3\">"
    '<a href="javascript:window.ran = 4">x</a>[click](javascript:window.ran=5) </textarea></title></script>'
    "{{7*7}} \x1b[31m \u202egnp.exe\u2066 &lt;b&gt; \"' onfocus=window.ran=6 autofocus "
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with real_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InspectorServer]:
    with InspectorServer(planted_run(tmp_path_factory.mktemp("planted"))) as server:
        yield server


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    yield from _page(browser, "wide")


def _page(browser: Any, size: str, **options: Any) -> Iterator[Any]:
    width, height = SIZES[size]
    opened = browser.new_page(viewport={"width": width, "height": height}, **options)
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    yield opened
    opened.close()
    assert wrong == []


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = os.environ.get("VENIRE_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_a_reader_gets_from_the_overview_to_the_moment_in_one_click(
    page: Any, served: InspectorServer
) -> None:
    page.goto(served.url)
    page.locator(".look li").first.locator("a").click()
    page.wait_for_url("**/case?*")

    section = page.locator("#a-organized")
    assert section.is_visible()
    assert "all 3 jurors gave 5 in their first vote; single gave 3" in section.inner_text()
    assert section.locator(".at-once").count() == 1


def test_filter_open_and_read_a_ballot_with_its_evidence(page: Any, served: InspectorServer) -> None:
    page.goto(served.url + "cases")
    page.get_by_label("flag").select_option("moved-towards")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**/cases?*flag=moved-towards*")
    assert page.locator("a.open").all_inner_texts() == ["persuaded"]
    page.locator("a.open").first.click()
    page.wait_for_url("**/case?*")

    page.get_by_role("link", name="low, round 1, accurate 2").click()

    vote = page.locator(".vote.reading")
    assert "The rash is placed before the treatment" in vote.inner_text()
    assert page.locator("mark.on").all_inner_texts() == [RASH]
    page.get_by_role("link", name="high, round 1, accurate 5").click()
    assert page.locator("mark.on").all_inner_texts() == [FEVER]
    assert page.locator(".vote.reading").count() == 1


def test_a_marked_passage_leads_back_to_the_ballot(page: Any, served: InspectorServer) -> None:
    page.goto(served.url + "case?id=persuaded&in_arm=stances")
    page.locator("mark", has_text=RASH).click()

    assert page.locator(".vote.reading .who").inner_text() == "low"


# What a reader's hands do within one task: the browser tells of an unfolded box and of a new address only after it.
_HANDS = """
  const vote = (n) => document.getElementById(ballots[n]);
  const key = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const click = (one) => one.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
  const dot = (n) => click(document.querySelector(`.dot[data-vote="${ballots[n]}"]`));
  const mark = (n) => click(document.querySelector(`mark[data-votes~="${ballots[n]}"]`));
  const fold = (n) => vote(n).querySelector("summary").click();
  const link = (n) => document.querySelector(`a[href="#${ballots[n]}"]:not(.dot)`).click();
"""
_ALL_TOLD = """() => new Promise((told) => {
  const box = document.body.appendChild(document.createElement("details"));
  box.addEventListener("toggle", () => { box.remove(); told(); });
  box.open = true;
})"""


def _told(page: Any) -> list[str]:
    """The ballots lit once the browser has told of everything that happened so far."""
    page.evaluate(_ALL_TOLD)
    lit = page.locator(".dot.on").evaluate_all("dots => dots.map(dot => dot.dataset.vote)")
    assert lit == page.locator(".vote.reading").evaluate_all("votes => votes.map(vote => vote.id)")
    return lit


# On the page ballots 0, 2 and 4 are folded, 1, 3 and 5 unfolded.
@pytest.mark.parametrize(
    ("acts", "lit"),
    [
        ("key('j'); key('j')", 1),
        ("key('j'); key('j'); key('j')", 2),
        ("dot(5); key('k'); key('k')", 3),
        ("dot(0); dot(1)", 1),
        ("dot(2); dot(0); dot(2)", 2),
        ("location.hash = ballots[2]; key('j')", 3),
        ("location.hash = ballots[2]; mark(0)", 0),
        ("mark(2); key('j')", 3),
        ("link(1); key('j')", 2),
        ("link(1); key('j'); link(1)", 1),
        ("fold(2); key('j')", 3),
        ("fold(2)", 2),
        ("key('j'); key('j'); fold(0)", 1),
        ("dot(1); fold(1); fold(1); key('j')", 2),
        ("dot(0); fold(0); dot(1)", 1),
        ("vote(2).open = true", 2),
        ("dot(0); key('Escape')", None),
    ],
)
def test_late_news_of_an_unfolded_box_lights_no_other_ballot(
    page: Any, served: InspectorServer, acts: str, lit: int | None
) -> None:
    page.goto(served.url + "case?id=persuaded&in_arm=stances")
    ballots = page.locator(".dot").evaluate_all("dots => dots.map(dot => dot.dataset.vote)")
    assert _told(page) == []

    page.evaluate(f"(ballots) => {{ {_HANDS} {acts} }}", ballots)

    assert _told(page) == ([] if lit is None else [ballots[lit]])


def test_an_address_lights_the_ballot_it_names(page: Any, served: InspectorServer) -> None:
    address = served.url + "case?id=persuaded&in_arm=stances"
    page.goto(address)
    for ballot in page.locator(".dot").evaluate_all("dots => dots.map(dot => dot.dataset.vote)"):
        page.goto("about:blank")
        page.goto(f"{address}#{ballot}")

        assert _told(page) == [ballot]


def test_compare_two_arms(page: Any, served: InspectorServer) -> None:
    page.goto(served.url + "case?id=premature&in_arm=stances")
    page.get_by_role("link", name="compare side by side").click()

    pair = page.locator(".pair.differs").first
    assert "5 and 3, 2 apart" in pair.inner_text()
    assert "I award a 5 here" in pair.inner_text()
    assert "one mis-timed event" in pair.inner_text()


def test_the_keyboard_reaches_everything(page: Any, served: InspectorServer) -> None:
    page.goto(served.url)
    page.keyboard.press("?")
    assert page.locator("dialog#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog#help").is_visible()
    page.keyboard.press("/")
    page.keyboard.type("persuaded")
    page.keyboard.press("Enter")
    page.wait_for_url("**/cases?q=persuaded")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/case?*")
    page.keyboard.press("j")
    assert "round 1" in page.locator(".vote.reading").inner_text()
    first = page.locator(".dot.on").get_attribute("data-vote")
    page.keyboard.press("j")
    assert page.locator(".dot.on").get_attribute("data-vote") != first
    page.keyboard.press("k")
    assert page.locator(".dot.on").get_attribute("data-vote") == first
    page.keyboard.press("c")
    page.wait_for_url("**/compare?*")
    page.keyboard.press("l")
    page.wait_for_url("**/cases")
    page.keyboard.press("o")
    page.wait_for_url(served.url)


def test_arrows_go_from_case_to_case_as_the_list_orders_them(page: Any, served: InspectorServer) -> None:
    page.goto(served.url + "cases?arm=stances&sort=case")
    page.locator("a.open").first.click()
    page.wait_for_url("**/case?*")
    names = [page.locator("h1").inner_text()]
    for name in sorted(SCRIPTS)[1:3]:
        page.keyboard.press("ArrowRight")
        page.wait_for_url(f"**id={name}*")
        names.append(page.locator("h1").inner_text())
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**id={names[1]}*")

    assert names == sorted(SCRIPTS)[:3]


def test_light_and_dark_are_the_readers_choice_and_are_kept(browser: Any, served: InspectorServer) -> None:
    for page in _page(browser, "wide", color_scheme="dark"):
        page.goto(served.url)
        ground = "getComputedStyle(document.documentElement).backgroundColor"
        dark = page.evaluate(ground)
        page.get_by_role("button", name="Light or dark").click()
        light = page.evaluate(ground)
        page.reload()
        assert page.evaluate(ground) == light != dark


def test_every_control_has_a_name_and_every_page_its_landmarks(page: Any, served: InspectorServer) -> None:
    for path in ("", "cases", "case?id=persuaded&in_arm=stances", "compare?id=premature"):
        page.goto(served.url + path)
        assert page.get_by_role("main").count() == 1
        assert page.get_by_role("banner").count() == 1
        assert page.get_by_role("search").count() == 1
        assert page.locator("h1").count() == 1
        nameless = page.evaluate(
            "[...document.querySelectorAll('a, button, input, select, svg[role]')].filter(e => "
            "!(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"
        )
        assert nameless == 0
        repeated = page.evaluate(
            "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(e => e.id))"
        )
        assert repeated == 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_and_are_photographed(
    browser: Any, served: InspectorServer, shots: Path, size: str, scheme: str
) -> None:
    pages = {
        "overview": "",
        "cases": "cases",
        "premature": "case?id=premature&in_arm=stances#a-organized",
        "persuaded": "case?id=persuaded&in_arm=stances",
        "compare": "compare?id=premature&a=stances&b=single",
    }
    for page in _page(browser, size, color_scheme=scheme):
        for name, path in pages.items():
            page.goto(served.url + path)
            page.screenshot(
                path=shots / f"{name}-{size}-{scheme}.png", full_page=name in ("overview", "compare")
            )
            assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0], name


def test_a_list_renews_itself_while_the_run_goes_on(browser: Any, tmp_path: Path) -> None:
    run = planted_run(tmp_path, {"calm": SCRIPTS["calm"]})
    with InspectorServer(run) as server:
        for page in _page(browser, "wide"):
            page.goto(server.url)
            assert "No deliberation was flagged" in page.inner_text("main")
            planted_run(tmp_path, {"calm": SCRIPTS["calm"], "premature": SCRIPTS["premature"]})
            page.wait_for_selector(".look a.case", timeout=60_000)

            assert page.locator(".look a.case").inner_text() == "premature"


def test_nothing_a_model_or_a_file_wrote_runs(browser: Any, tmp_path: Path, shots: Path) -> None:
    long = HOSTILE + "A" * 5_000
    line = ballot_line(4, long, HOSTILE, "B" * 5_000)
    script = {
        "seats": {
            name: [{"accurate": line, "organized": ballot_line(2, HOSTILE, HOSTILE)}] for name in JURORS
        }
    }
    case = planted_case(HOSTILE, output=long, source=(HOSTILE, "C" * 5_000))
    run = planted_run(tmp_path, {"hostile": script}, {"hostile": case})
    with InspectorServer(run) as server:
        for size in SIZES:
            for page in _page(browser, size):
                asked: list[str] = []
                page.on("request", lambda request, asked=asked: asked.append(request.url))
                page.on("dialog", lambda dialog: pytest.fail("a dialog opened"))
                page.goto(server.url)
                page.locator(".look a.case").first.click()
                page.wait_for_url("**/case?*")
                page.locator(".dot").first.click()
                page.screenshot(path=shots / f"hostile-{size}.png")
                assert page.locator(".vote.reading").is_visible()
                assert "<script>window.ran" in page.locator(".vote.reading").inner_text()
                assert page.locator("mark.on").count() >= 1
                assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
                assert "\u202e" not in page.content()
                page.goto(server.url + "cases")
                page.locator("a.open").last.click()
                page.wait_for_url("**/case?*")
                page.keyboard.press("c")
                page.wait_for_url("**/compare?*")
                assert page.evaluate("window.ran") is None
                assert all(url.startswith(server.url) for url in asked)


def test_the_exported_page_opens_from_disk_and_asks_for_nothing(
    browser: Any, served: InspectorServer, tmp_path: Path, shots: Path
) -> None:
    run = planted_run(tmp_path)
    file = tmp_path / "run.html"
    export_run(run, "html", file, sys.stdout, None)
    for page in _page(browser, "wide"):
        asked: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(file.as_uri())
        article = page.locator("article", has_text="persuaded").filter(has=page.locator(".seen")).first
        article.locator(".dot").first.click()
        page.screenshot(path=shots / "exported.png")

        assert page.locator("mark.on").count() >= 1
        assert asked == [file.as_uri()]
        assert page.evaluate(
            "new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size"
        ) == page.evaluate("document.querySelectorAll('[id]').length")


def test_the_site_is_read_from_a_plain_file_server_and_its_tables_are_taken_along(
    browser: Any, tmp_path: Path, shots: Path
) -> None:
    run, site = planted_run(tmp_path), tmp_path / "site"
    # A thread of its own: the browser has a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(write_site, run, site).result() == len(list(site.glob("*.html")))
    with pytest.raises(VenireError, match="not an empty folder"):
        write_site(run, site)
    files = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}/"
        for page in _page(browser, "wide"):
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(root)
            page.locator(".look a.case").first.click()
            page.wait_for_url("**/case-*.html*")
            page.locator(".dot").first.click()
            assert page.locator(".vote.reading").is_visible()
            page.get_by_role("link", name="graph").click()
            page.wait_for_url("**/graph-*.html")
            page.set_viewport_size({"width": 500, "height": 900})
            box = page.locator("div.graph").bounding_box()
            page.mouse.move(box["x"] + 300, box["y"] + 10)
            page.mouse.down()
            page.mouse.move(box["x"] + 200, box["y"] + 10)
            page.mouse.up()
            assert page.locator("div.graph").evaluate("graph => graph.scrollLeft") == 100
            page.get_by_role("link", name="Cases", exact=True).click()
            with page.expect_download() as csv:
                page.get_by_role("button", name="CSV").click()
            with page.expect_download() as document:
                page.get_by_role("button", name="JSON").click()
            page.evaluate(
                "document.querySelectorAll('thead th')[4].textContent = document.querySelectorAll('thead th')[3].innerText"
            )
            with page.expect_download() as doubled:
                page.get_by_role("button", name="JSON").click()
            doubled.value.save_as(tmp_path / "doubled.json")
            csv.value.save_as(tmp_path / "cases.csv")
            document.value.save_as(tmp_path / "cases.json")
            page.screenshot(path=shots / "site-cases.png")
            assert page.locator("form.filter, #q, thead a[href]").count() == 0
            assert all(url.startswith((root, f"blob:{root}")) for url in asked)
        server.shutdown()
    with (tmp_path / "cases.csv").open(newline="") as table:
        rows = list(DictReader(table))
    assert rows == json.loads((tmp_path / "cases.json").read_text()) and len(rows) == 2 * len(SCRIPTS)
    renamed = json.loads((tmp_path / "doubled.json").read_text())
    name = list(rows[0])[3]
    assert list(renamed[0])[3:5] == [name, f"{name} 2"]
    assert [list(row.values()) for row in renamed] == [list(row.values()) for row in rows]
    links = {
        link
        for file in site.glob("*.html")
        for link in re.findall(r'(?:href|src)="\./([^"#]*)', file.read_text())
    }
    assert all((site / link).is_file() for link in links)
