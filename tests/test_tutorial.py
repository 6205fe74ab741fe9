"""docs/tutorial.md, executed as it is written: from a spreadsheet to a report."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from checkout import ROOT

COMMANDS = re.findall(
    r"```bash\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"), re.DOTALL
)


def test_the_tutorial_leads_from_a_spreadsheet_to_a_report(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "tutorial" / "summaries.xlsx", tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    told = subprocess.run(
        ["bash", "-euc", "\n".join(COMMANDS)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 0, told.stderr
    assert "24 cases, 5 attributes, 240 ratings by 2 people" in told.stdout
    assert re.search(r"- Use \S+", told.stdout)
    report = (tmp_path / "discharge" / "report" / "report.html").read_text(encoding="utf-8")
    assert "Dr Abel" in report and "lens-jury" in report
    assert (tmp_path / "discharge" / "study-run" / "report" / "report.html").exists()
