"""Words of strangers in a terminal and in a spreadsheet: shown, never obeyed."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
from pathlib import Path

import pytest
from command_line import Started, venire
from openai_server import ProviderServer, jury_of
from rich.table import Table
from rich.text import Text
from run_files import write_run

from venire.orchestration.reading.console import SafeConsole
from venire.rubrics.rows import csv_cell, from_csv_cell

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
CONTROLS = {"\x1b]", "\x1b[2J", "\x07", "\x9b", "\u202e"}


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run whose ids, texts and answers are made of escapes, markup and formulas."""
    folder = tmp_path_factory.mktemp("hostile")
    with ProviderServer(jury_of({"a": 3, "b": 1, "c": 2, "boss": 2})) as server:
        write_run(folder, server.url, protocol="panel", count="median")
        rows = [
            {"id": f"{start}{ESCAPE}[/red]{n}", "output": f"{ESCAPE} words"}
            for n, start in enumerate(("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\tx", "plain "))
        ]
        (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        command = ("run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "out")
        ended = venire(*command, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert not [mark for mark in CONTROLS if mark in ended.stdout + ended.stderr]
    return folder


def in_terminal(*arguments: str, cwd: Path) -> str:
    """What `venire` writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    process = Started(*arguments, cwd=cwd, stdout=theirs, stderr=theirs, TERM="xterm")
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        written += part
    process.wait()
    os.close(ours)
    return written.decode("utf-8", "replace")


@pytest.mark.parametrize(
    "command",
    [
        ("show", "out"),
        ("show", "out", "--summary"),
        ("show", "out", f"plain {ESCAPE}[/red]5"),
        ("show", "out", f"nowhere{ESCAPE}"),
        ("status", "out"),
        ("triage", "out"),
        ("export", "out", "--to", "csv"),
        ("export", "out", "--to", "dot"),
        ("export", "out", "--to", "html"),
    ],
)
def test_no_escape_of_a_file_reaches_a_terminal(hostile_run: Path, command: tuple[str, ...]) -> None:
    shown = in_terminal(*command, cwd=hostile_run)

    assert shown
    assert not [mark for mark in CONTROLS if mark in shown]
    assert "Traceback" not in shown


def test_the_console_replaces_controls_wherever_they_stand() -> None:
    page = io.StringIO()
    console = SafeConsole(file=page, width=80, force_terminal=True)
    table = Table(title=ESCAPE)
    table.add_column(ESCAPE)
    table.add_row(f"[/red]{ESCAPE}")
    console.print(table, ESCAPE, Text(ESCAPE, "bold"))

    assert not [mark for mark in CONTROLS if mark in page.getvalue()]
    assert "[/red]" in page.getvalue()


def test_no_cell_of_an_export_is_a_formula(hostile_run: Path) -> None:
    exported = venire("export", "out", "--to", "csv", cwd=hostile_run).stdout
    cases = {row["case"] for row in csv.DictReader(io.StringIO(exported, newline=""))}

    assert sum(case.startswith("'") for case in cases) == 5
    assert not [case for case in cases if case[0] in "=+-@\t"]


@pytest.mark.parametrize(
    "text", ["=1", "+x", "-x", "@x", "\tx", "\rx", "'=1", "''-", "-1+1", "\uff1d1", "\n=1"]
)
def test_a_formula_becomes_text_and_can_be_read_back(text: str) -> None:
    assert csv_cell(text).startswith("'")
    assert from_csv_cell(csv_cell(text)) == text


@pytest.mark.parametrize("value", [-0.5, -3, "-0.5", "+2", "-1e-7", "'quoted'", "a=b", "", None])
def test_numbers_and_plain_words_stay_as_they_are(value: object) -> None:
    assert csv_cell(value) is value
    assert from_csv_cell(value) is value
