"""People rate in a real browser: nothing is lost or counted twice, and a link opens nothing but its own desk."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rating_desk import DeskProcess
from real_browser import real_browser

from venire.cli import app
from venire.rubrics import load_rubric

axe = pytest.importorskip("axe_core_python.sync_playwright", reason="axe-core-python is not installed")

HOSTILE = "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'></div></textarea>\"' \u202egnp"
RUBRIC = """
name: notes
version: 1
scales:
  agree5: {level: ordinal, anchors: {1: Not at all, 2: Slightly, 3: Somewhat, 4: Mostly, 5: Completely}}
  kind: {level: nominal, anchors: {dose: A wrong dose, other: Another fault}}
attributes:
  - {name: accurate, question: Is every statement supported?, scale: agree5}
  - {name: thorough, question: Is all of it there?, scale: agree5, may_not_apply: true}
  - {name: fault, question: Which fault is it?, scale: kind, asked_if: {accurate: 1}}
"""
RATERS = ("abel", "boyd", "cole")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with real_browser() as opened:
        yield opened


@pytest.fixture(autouse=True)
def _no_server_is_left() -> Iterator[None]:
    yield
    for desk in DeskProcess.started:
        desk.kill()
    DeskProcess.started.clear()


def write_project(folder: Path, cases: int) -> None:
    (folder / "rubric.yaml").write_text(RUBRIC)
    rows = [
        {"id": f"c{i:02}", "question": "Sum up the visit.", "source": f"Fever of 39.{i} since Monday.", "output": f"He had fever. {HOSTILE} {i}", "system": "secret-system"}
        for i in range(cases)
    ]  # fmt: skip
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def start(folder: Path, *more: object) -> DeskProcess:
    command = ("rate", "cases.jsonl", "--rubric", "rubric.yaml", "-o", "ratings", "--port", 0)
    return DeskProcess(*command, "--raters", ",".join(RATERS), *more, people=4, folder=folder)


def case_on(page: Any) -> str:
    """The id of the case on the page, by its words alone, once the page listens to keys."""
    page.locator(".question.now").wait_for()
    return f"c{int(page.locator('.output .words').inner_text().rsplit(' ', 1)[1]):02}"


def rate_case(page: Any, number: int, clicks: dict[tuple[str, str, str], str], rater: str) -> None:
    """Rate the case on the page by keys alone, and go on; `clicks` is what was pressed, by the words on the page."""
    case = case_on(page)
    keys = {"accurate": str(1 + number % 5), "thorough": "x" if number % 7 == 0 else str(1 + number % 4)}
    # From the first question, though a case that was left in the middle opens at the next.
    for key in ("k", *keys.values()):
        page.keyboard.press(key)
    if keys["accurate"] == "1":
        page.keyboard.press("2")
        keys["fault"] = "other"
    for name, key in keys.items():
        clicks[case, rater, name] = "not_applicable" if key == "x" else key
    place = page.evaluate("document.body.dataset.place")
    page.keyboard.press("Enter")
    page.wait_for_function("place => document.body.dataset.place !== place", arg=place)


def test_three_raters_a_closed_window_and_a_killed_server(browser: Any, tmp_path: Path) -> None:
    cases = int(os.environ.get("VENIRE_RATED_CASES", "4"))
    write_project(tmp_path, cases)
    desk = start(tmp_path)
    clicks: dict[tuple[str, str, str], str] = {}
    size = {"width": 390, "height": 844}
    browsers = {name: browser.new_context(viewport=size if name == "boyd" else {"width": 1440, "height": 900}) for name in RATERS}  # fmt: skip
    pages = {name: context.new_page() for name, context in browsers.items()}
    faults: list[str] = []
    for page in pages.values():
        page.on("pageerror", lambda error: faults.append(str(error)))
    half = cases // 2
    for name in ("abel", "boyd"):
        pages[name].goto(desk.links[name])
    for number in range(half):
        for name in ("abel", "boyd"):
            rate_case(pages[name], number, clicks, name)

    # Closed in the middle of a case, right after a click.
    case_on(pages["abel"])
    pages["abel"].keyboard.press("5")
    pages["abel"].close(run_before_unload=False)
    port = desk.port
    desk.kill()
    # A click while nobody listens is kept by the page and sent when the server is back.
    clicks[case_on(pages["boyd"]), "boyd", "accurate"] = "3"
    pages["boyd"].keyboard.press("3")
    pages["boyd"].locator(".saved.wrong").wait_for()
    (tmp_path / "ratings" / "ratings.csv").unlink(missing_ok=True)
    desk = start(tmp_path, "--port", port)
    pages["boyd"].get_by_text("saved", exact=True).wait_for()
    pages["abel"] = browsers["abel"].new_page()
    for name in ("abel", "cole"):
        pages[name].goto(desk.links[name])
    pages["abel"].locator("input[value='5']:checked").wait_for()
    for name, first in (("abel", half), ("boyd", half), ("cole", 0)):
        for number in range(first, cases - 1):
            rate_case(pages[name], number, clicks, name)
        case = case_on(pages[name])
        # The first question anew: where an answer stands already, it is changed.
        pages[name].keyboard.press("k")
        for key in ("4", "2"):
            pages[name].keyboard.press(key)
        clicks |= {(case, name, "accurate"): "4", (case, name, "thorough"): "2"}
        clicks.pop((case, name, "fault"), None)
        pages[name].keyboard.press("Enter")
        pages[name].get_by_text("cases are rated").wait_for()

    # A second window changes one part and leaves the other as it is.
    window, other = browser.new_page(), browser.new_page()
    for each in (window, other):
        each.goto(desk.links["cole"] + "?at=1")
    case = case_on(window)
    window.keyboard.press("k")
    window.keyboard.press("2")
    window.get_by_text("saved", exact=True).wait_for()
    clicks[case, "cole", "accurate"] = "2"
    clicks.pop((case, "cole", "fault"), None)
    other.locator("#q-thorough summary").click()
    other.locator("#q-thorough textarea").fill(HOSTILE)
    other.get_by_text("saved", exact=True).wait_for()
    # Evidence is marked with the mouse.
    other.locator("#q-accurate legend").click()
    box = other.locator("[aria-label=source] .words").bounding_box()
    other.mouse.move(box["x"] + 2, box["y"] + 10)
    other.mouse.down()
    other.mouse.move(box["x"] + 120, box["y"] + 12, steps=4)
    other.mouse.up()
    other.locator(".offer").click()
    other.get_by_text("saved", exact=True).wait_for()
    quoted = other.locator("[aria-label=source] mark").inner_text()
    other.reload()
    assert other.locator("#q-accurate .quotes q").all_inner_texts() == [quoted]
    assert other.locator("#q-thorough textarea").input_value() == HOSTILE.replace("\u202e", "\ufffd")
    assert other.evaluate("window.ran") is None
    coordinator = browser.new_page()
    coordinator.goto(desk.links["coordinator"])
    coordinator.locator("h2", has_text="Agreement so far").wait_for(timeout=120_000)
    assert f"{3 * cases} of {3 * cases} ballots are complete" in coordinator.locator("h1").inner_text()
    for opened in (*browsers.values(), window, other, coordinator):
        opened.close()
    said = desk.stop()

    assert "written: ratings/ratings.csv" in said
    with (tmp_path / "ratings" / "ratings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    filed = {(row["case"], row["rater"], row["attribute"]): row["value"] for row in rows}
    assert len(rows) == len(filed)
    assert filed == clicks
    assert sum(attribute != "fault" for _, _, attribute in filed) == 3 * cases * 2
    noted = next(row for row in rows if row["rationale"])
    assert (noted["case"], noted["rater"]) == (case, "cole")
    evidence = next(row for row in rows if row["evidence"])
    assert evidence["evidence"] == quoted
    assert faults == []
    answer = CliRunner().invoke(app, ["agreement", str(tmp_path / "ratings" / "ratings.csv"), "--json"])
    assert set(json.loads(answer.stdout)["attributes"]) == {"accurate", "thorough", "fault"}


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
def test_no_page_has_a_fault_that_axe_finds(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    write_project(tmp_path, 2)
    cases = tmp_path / "cases.jsonl"
    cases.write_text(cases.read_text().replace("Fever of", "Seen again. " * 400))
    desk = start(tmp_path)
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    try:
        for link in (desk.links["abel"], desk.links["coordinator"]):
            page.goto(link)
            if "q-accurate" in page.content():
                page.locator(".question.now").wait_for()
                page.keyboard.press("4")
                page.keyboard.press("n")
                page.locator(".saved", has_text="saved").wait_for()
            assert [
                fault["id"]
                for fault in axe.Axe().run(page, options={"resultTypes": ["violations"]})["violations"]
            ] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert "secret-system" not in page.content()
    finally:
        page.close()
        desk.stop()


def test_a_link_opens_its_own_desk_and_nothing_else(tmp_path: Path) -> None:
    write_project(tmp_path, 3)
    desk = start(tmp_path)
    home = f"http://127.0.0.1:{desk.port}"
    abel, boyd = (desk.links[name].removeprefix(home) for name in ("abel", "boyd"))
    status, html, headers = desk.ask(abel)
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "<script>window" not in html
    task, token = re.findall(r'data-(?:task|token)="(\w+)"', html)
    click = {"click": "0123456789abcdef", "task": int(task), "attribute": "accurate", "part": "score", "value": 4, "seconds": 1}  # fmt: skip
    sent = {"Origin": home, "X_Desk_Token": token, "Content_Type": "application/json"}

    def post(where: str = abel, message: object = click, **changed: str) -> int:
        given = {name: value for name, value in (sent | changed).items() if value}
        return desk.ask(f"{where}save", method="POST", body=message, **given)[0]

    refused = {
        "no origin": post(Origin=""),
        "another origin": post(Origin="http://evil.example"),
        "an origin that begins like ours": post(Origin=f"{home}.evil.example"),
        "null origin": post(Origin="null"),
        "another port of this machine": post(Origin="http://127.0.0.1:1"),
        "localhost, which is not what was asked": post(Origin=f"http://localhost:{desk.port}"),
        "no token": post(X_Desk_Token=""),
        "another's token": post(where=boyd),
        "a form": post(Content_Type="application/x-www-form-urlencoded"),
        "another host": desk.ask(abel, Host="evil.example")[0],
        "no link": desk.ask("/")[0],
        "a wrong link": desk.ask(f"/{abel[1:-2]}{'y' if abel[-2] == 'x' else 'x'}/")[0],
        "a path": desk.ask(f"{abel}static/..%2f..%2fserver.py")[0],
        "dots": desk.ask(f"{abel}../../etc/passwd")[0],
        "another method": desk.ask(abel, method="DELETE")[0],
        "a case that is not there": desk.ask(f"{abel}?at=4")[0],
        "off the scale": post(message=click | {"value": 6}),
        "a boolean": post(message=click | {"value": True}),
        "no such question": post(message=click | {"attribute": "constructor"}),
        "too much": post(message=click | {"part": "rationale", "value": "x" * 70_000}),
        "no JSON": post(message=b"{"),
    }
    assert {name: status for name, status in refused.items() if not 400 <= status < 500} == {}
    other = re.search(r'data-token="(\w+)"', desk.ask(boyd)[1])
    assert other is not None
    assert post(where=boyd, X_Desk_Token=other[1]) == 404, "another rater's task"
    assert post() == 200
    assert post() == 200, "sent again, it is the same click"
    desk.stop()
    with (tmp_path / "ratings" / "revisions.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 1

    command = ["rate", tmp_path / "cases.jsonl", "--rubric", tmp_path / "rubric.yaml", "-o", tmp_path / "ratings"]  # fmt: skip
    closed = CliRunner().invoke(app, [*map(str, command), "--close"])
    assert closed.exit_code == 0, closed.output
    again = start(tmp_path)
    assert again.ask(abel)[0] == 403
    assert again.ask(again.links["abel"].removeprefix(f"http://127.0.0.1:{again.port}"))[0] == 200
    again.stop()


def test_pairs_are_filed_under_the_systems_of_their_row(browser: Any, tmp_path: Path) -> None:
    rows = [{"id": f"p{i}", "source": "Notes.", "output_a": "left", "output_b": "right", "system_a": "zeta", "system_b": "theta"} for i in range(6)]  # fmt: skip
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shutil.copy(Path(load_rubric.__code__.co_filename).parent / "library" / "preference.yaml", tmp_path / "rubric.yaml")  # fmt: skip
    desk = start(tmp_path)
    page = browser.new_page()
    page.goto(desk.links["abel"])
    for number in range(6):
        assert "zeta" not in page.content().split("<main", 1)[1]
        side = "A" if page.locator('[data-exhibit="output A"]').inner_text() == "left" else "B"
        page.locator(".question").first.locator(".choice", has_text=f"Output {side} ").first.click()
        page.locator(".saved", has_text="saved").wait_for()
        page.goto(f"{desk.links['abel']}?at={min(6, number + 2)}")
    page.close()
    desk.stop()

    with (tmp_path / "ratings" / "ratings.csv").open(newline="") as file:
        values = [float(row["value"]) for row in csv.DictReader(file)]
    assert len(values) == 6
    assert all(value < 0 for value in values), "always the row's output_a, whatever the page called it"
