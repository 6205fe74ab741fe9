"""What a reader's hands do in a real browser: take tables along, each under a name of its own, and walk the graph by mouse and keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from csv import DictReader
from pathlib import Path
from typing import Any

import pytest
from inspector_server import InspectorServer
from rated_run import rated_people, rated_run
from real_browser import real_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with real_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InspectorServer]:
    with InspectorServer(rated_run(tmp_path_factory.mktemp("rated")), people=rated_people()) as server:
        yield server


_SHOWN = """table => {
  const words = (box) => box.innerText.replace(/\\s+/g, " ").trim();
  return Array.from(table.tBodies[0].rows, (row) => Array.from(row.cells, words));
}"""


@pytest.mark.parametrize("path", ["", "cases", "people", "case?id=persuaded&in_arm=stances"])
def test_every_table_is_taken_along_under_its_own_name(
    browser: Any, served: InspectorServer, tmp_path: Path, path: str
) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    try:
        page.goto(served.url + path)
        page.evaluate("document.querySelectorAll('main details').forEach((box) => { box.open = true; })")
        tables = page.locator("main table:has(thead)")
        bars = page.locator(".take")
        names = []
        assert tables.count() == bars.count() > 0
        for number in range(bars.count()):
            saved = {}
            for form in ("CSV", "JSON"):
                with page.expect_download() as download:
                    bars.nth(number).get_by_role("button", name=form).click()
                names.append(download.value.suggested_filename)
                saved[form] = tmp_path / f"{number}.{form}"
                download.value.save_as(saved[form])
            with saved["CSV"].open(newline="") as file:
                rows = list(DictReader(file))
            # A reader of tables takes an apostrophe away that keeps a spreadsheet from computing.
            plain = [[cell.removeprefix("'") for cell in row.values()] for row in rows]
            shown = tables.nth(number).evaluate(_SHOWN)
            assert plain == shown
            assert [list(row.values()) for row in json.loads(saved["JSON"].read_text())] == shown
        assert len(set(names)) == len(names), names
        assert all(name.endswith((".csv", ".json")) and "/" not in name for name in names)
    finally:
        page.close()


@pytest.mark.parametrize("width", [390, 800])
def test_the_graph_is_walked_by_keyboard_and_mouse(browser: Any, served: InspectorServer, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    try:
        page.goto(served.url + "graph?id=persuaded&in_arm=stances")
        graph, nodes = page.locator("div.graph"), page.locator("a.node")
        graph.focus()
        page.keyboard.press("ArrowRight")
        for _ in range(100):
            page.wait_for_timeout(50)
            if graph.evaluate("graph => graph.scrollLeft"):
                break
        assert graph.evaluate("graph => graph.scrollLeft") > 0
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.dataset.node")
        assert focused == nodes.first.get_attribute("data-node")
        lit = page.locator("path.edge.lit").evaluate_all("x => x.map(e => [e.dataset.from, e.dataset.to])")
        assert lit and all(focused in ends for ends in lit)
        assert len(lit) < page.locator("path.edge").count()
        box = graph.bounding_box()
        page.mouse.move(box["x"] + 250, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + 150, box["y"] + 60)
        page.mouse.up()
        assert page.evaluate("getSelection().toString()") == ""
        last = nodes.last
        last.focus()
        box, frame = last.bounding_box(), graph.bounding_box()
        assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
        page.keyboard.press("Enter")
        page.wait_for_url("**/case?*#a-organized")
        page.go_back()
        page.locator("a.node.ballot").first.click()
        page.wait_for_url("**/case?*#v-*")
        assert page.locator(".vote.reading").count() == 1
    finally:
        page.close()
