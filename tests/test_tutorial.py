"""docs/tutorial.md, executed as it is written: from a spreadsheet to a report."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from checkout import ROOT
from command_line import venire

COMMANDS = re.findall(
    r"```bash\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"), re.DOTALL
)


def test_the_tutorial_leads_from_a_spreadsheet_to_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ROOT / "examples" / "tutorial" / "summaries.xlsx", tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    folder, told = tmp_path, ""
    for line in "".join(COMMANDS).splitlines():
        program, *words = shlex.split(line)
        if program == "cd":
            folder /= words[0]
            continue
        assert program == "venire"
        ended = venire(*words, cwd=folder)
        assert ended.returncode == 0, ended.stderr
        told += ended.stdout

    assert "24 cases, 5 attributes, 240 ratings by 2 people" in told
    assert re.search(r"- Use \S+", told)
    report = (tmp_path / "discharge" / "report" / "report.html").read_text(encoding="utf-8")
    assert "Dr Abel" in report and "lens-jury" in report
    assert (tmp_path / "discharge" / "study-run" / "report" / "report.html").exists()
