"""Every view at the width of a phone and of a desk, in light and dark: nothing overflows, and axe-core finds no serious fault."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from inspector_server import InspectorServer
from known_jurors import WITNESS, KnownJurors, known_run
from openai_server import ProviderServer
from rated_run import rated_people, rated_run
from real_browser import real_browser

from venire import controls, replay
from venire.evals.report.drawing import INK, Figure, Picture, rect
from venire.evals.report.html import chapter, figure, page, section, table
from venire.orchestration.reading.side_by_side import controls_beside

axe = pytest.importorskip("axe_core_python.sync_playwright", reason="axe-core-python is not installed")

VIEWS = {
    "overview": "",
    "list": "cases",
    "filtered": "cases?flag=any&sort=score.accurate&up=1",
    "case": "case?id=persuaded&in_arm=stances",
    "hung": "case?id=silent&in_arm=stances",
    "compare": "compare?id=overruled&a=stances&b=single",
    "people": "people",
    "graph": "graph?id=persuaded&in_arm=stances",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InspectorServer]:
    with InspectorServer(rated_run(tmp_path_factory.mktemp("rated")), people=rated_people()) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with real_browser() as opened:
        yield opened


def serious_faults(page: Any) -> list[tuple[str, str]]:
    """What axe found; and each of its rules that ended in an error, which says nothing of the page."""
    told = axe.Axe().run(page, options={"resultTypes": ["violations"]})
    broken = [(rule["id"], str(rule["error"])) for rule in told["incomplete"] if "error" in rule]
    return broken + [
        (fault["id"], fault["nodes"][0]["html"])
        for fault in told["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


# A colour depends on the scheme, a place on the width: each of both is seen.
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_has_a_serious_fault(
    browser: Any, served: InspectorServer, view: str, width: int, scheme: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    try:
        assert page.goto(served.url + VIEWS[view]).status == 200
        if view == "case":
            page.keyboard.press("j")
            assert page.locator("mark.on").count(), "a lit quote is part of what is looked at"
        assert serious_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.close()


@pytest.fixture(scope="module")
def what_if(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, ten draws of its controls beside it, and a replay without the witness."""
    folder = tmp_path_factory.mktemp("what-if")
    # The browser's driver holds a loop in this thread.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_ask_what_if, folder).result()
    return folder


def _ask_what_if(folder: Path) -> None:
    with ProviderServer(KnownJurors(3)) as server:
        run = known_run(folder, server.url, "orchestrated", ("conforming", "persuadable", WITNESS), cases=3)
        controls(run, draws=10, output=folder / "run-controls")
        replay(run, without=WITNESS, output=folder / "child")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_a_move_has_its_controls_and_a_replay_its_parent(
    browser: Any, what_if: Path, width: int, scheme: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    run = what_if / "run"
    try:
        assert controls_beside(run) == what_if / "run-controls"
        with InspectorServer(run, controls=what_if / "run-controls") as server:
            page.goto(server.url + "case?id=c0")
            revision = page.locator(".vote", has=page.locator(".kind")).last
            assert revision.locator(".kind").inner_text().strip(" ·") == "persuasion (100%)"
            assert revision.locator(".draws").all_inner_texts() == ["○" * 10, "○" * 10, "●" * 10]
            assert (
                "when asked again, the juror changed its score 0 of 10 times alone"
                in page.locator(".why").first.inner_text()
            )
            command = revision.locator("[data-copy]").get_attribute("data-copy")
            replayed = f"venire replay {run} c0 --arm bench --without conforming -o {run}-without-conforming"
            assert command == replayed
            assert serious_faults(page) == []
            page.goto(server.url + "controls")
            assert "bench, persuadable" in page.locator("table").first.inner_text()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        with InspectorServer(what_if / "child") as server:
            page.goto(server.url + "case?id=c0")
            page.get_by_role("link", name="see this replay beside the original deliberation").click()
            assert "first difference: round 1, witness, accurate" in page.locator(".advice").inner_text()
            assert page.locator(".side .lanes").count() == 2
            assert serious_faults(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_a_reports_figures_and_tables_scroll_on_a_phone_and_its_contents_unfold_chapters(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    frame = pd.DataFrame({f"column {n}": [f"a long value {n}"] * 3 for n in range(12)})
    wide = Figure("Scores", [Picture(900, 60, [rect(0, 0, 800, 20, INK)])], "One bar.")
    whole = section("The board", figure(wide, "Scores."), table("t", frame, {name: name for name in frame}))
    folded = chapter("Audits", section("Ranks", "Who leads?"), section("Harm", "Who called harm safe?"))
    (tmp_path / "report.html").write_text(page("A report", "of a suite", [whole, folded]), encoding="utf-8")
    opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    try:
        opened.goto((tmp_path / "report.html").as_uri())
        assert serious_faults(opened) == []
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.evaluate("document.querySelector('svg').getBoundingClientRect().width") >= min(
            width, 600
        )
        assert opened.get_by_role("navigation").locator("li").all_inner_texts() == ["First page", "The board", "Audits", "Ranks", "Harm"]  # fmt: skip
        assert not opened.get_by_text("Who called harm safe?").is_visible()
        opened.get_by_role("link", name="Harm").click()
        assert opened.get_by_text("Who called harm safe?").is_visible()
    finally:
        opened.close()


def test_on_a_desk_text_source_and_reasons_are_read_without_a_click(
    browser: Any, served: InspectorServer
) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    try:
        page.goto(served.url + VIEWS["case"])
        for words in (
            "The rash came after treatment",
            "low is right about the rash",
            "Chest X-ray clear",
            "Resolved by Wednesday.",
        ):
            assert page.get_by_text(words).first.is_visible()
        assert page.get_by_text("Which reading do the exhibits bear out?").first.is_visible()
    finally:
        page.close()
