"""A folder of runs in the browser: the list of them, each to open, any two juries side by side."""

from __future__ import annotations

import re
import time
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner
from inspector_server import InspectorServer
from planted_run import planted_run
from rated_run import rated_run

from venire.cli import app
from venire.web.folder import runs_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, make in (("monday", planted_run), ("tuesday", rated_run)):
        (tmp_path / name).mkdir()
        make(tmp_path / name)
    return tmp_path


def test_lists_opens_and_holds_side_by_side(folder: Path) -> None:
    broken = folder / "broken"
    broken.mkdir()
    (broken / "record.sqlite").write_bytes(b"not a record")
    with InspectorServer(folder) as server:
        deadline = time.monotonic() + 10
        while (
            "no scores have been loaded yet" in (listed := unescape(server.ask().text))
            and time.monotonic() < deadline
        ):
            time.sleep(0.1)
        sides = dict(re.findall(r'<option value="(\d/\w+)"[^>]*>(.*?)</option>', listed))
        runs = dict(re.findall(r'<a href="\./(\d)/">(.*?)</a>', listed))
        opened = [
            server.ask(f"{number}/{path}")
            for number in runs
            for path in ("", "cases", "static/inspector.css")
        ]
        one, two = [key for key, words in sides.items() if words.endswith("stances")]
        beside = unescape(server.ask(f"beside?a={one}&b={two}").text)
        case = server.ask(f"beside?a={one}&b={two}&id=persuaded")
        away = [server.ask(path).status for path in ("9/", "1/../2/nothing", f"beside?a={one}&b=9/x", f"beside?a={one}&b={two}&id=x")]  # fmt: skip

    assert list(runs.values()) == ["tuesday/run", "monday/run"] and listed.count("<li>prompts ") == 2
    assert "not read: " in listed and "stances: accurate " in listed
    assert all(answer.status == 200 for answer in opened)
    assert 'href="./.."' in opened[0].text
    assert "6 cases judged in both runs; 12 of 12 verdicts are the same" in beside
    assert all(page.count(" was judged by scripted") == 2 for page in (beside, unescape(case.text)))
    assert case.status == 200 and "differ on 0 of 2 attributes" in case.text
    assert away == [404] * 4


def test_a_run_is_no_folder_of_runs_and_options_of_one_run_are_refused(folder: Path) -> None:
    assert all(not runs_in(run) for run in runs_in(folder)) and len(runs_in(folder)) == 2
    ended = CliRunner().invoke(app, ["inspect", str(folder), "--controls", "x"])
    assert ended.exit_code == 2 and "work with one run only" in ended.output
