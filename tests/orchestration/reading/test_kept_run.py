"""What `show --json` says of a run with something of everything."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import venire
from kept_figures import check_kept


def test_the_verdicts_of_the_wide_run_are_what_they_were(wide: Path) -> None:
    shown = venire("show", "run", "--json", cwd=wide)
    assert shown.returncode == 0, shown.stderr
    check_kept(Path(__file__).parent / "kept/show.json", json.loads(shown.stdout)["cases"])
