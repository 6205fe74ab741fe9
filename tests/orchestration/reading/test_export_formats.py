"""Export formats are looked up by entry point: venire's own, and those of other packages."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from installed_packages import on_the_path, put_package
from planted_run import SCRIPTS, planted_run

from venire import VenireError
from venire.orchestration.reading.export import GROUP, export_format
from venire.orchestration.reading.terminal import export_run
from venire.orchestration.record.private_files import write_atomically
from venire.rubrics.plugins import registered_plugins

TALLY = """
def tally(run, out):
    found = list(run.verdicts())
    out.write("".join(f"{verdict.case} {verdict.arm}\\n" for verdict in found))
    return len(found)
"""


@pytest.mark.parametrize("name", ["jsonl", "csv", "graphml", "json", "dot", "html"])
def test_venires_own_formats_are_registered_and_write_every_deliberation(name: str, tmp_path: Path) -> None:
    run, out = planted_run(tmp_path, {"calm": SCRIPTS["calm"]}), io.StringIO()

    assert name in registered_plugins(GROUP)
    assert export_run(run, name, None, out, None) == 2
    assert "calm" in out.getvalue()


def test_a_format_of_another_package_gets_the_deliberations_that_were_asked_for(tmp_path: Path) -> None:
    run, out = planted_run(tmp_path, {"calm": SCRIPTS["calm"]}), io.StringIO()
    put_package(tmp_path, "tallies", {GROUP: {"tally": "tallies:tally"}}, tallies=TALLY)
    with on_the_path(tmp_path, "tallies"):
        assert export_run(run, "tally", None, out, None, arm="stances") == 1

    assert out.getvalue() == "calm stances\n"


def test_a_file_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    run, nowhere = planted_run(tmp_path, {"calm": SCRIPTS["calm"]}), tmp_path / "nowhere" / "verdicts.csv"

    with pytest.raises(VenireError) as refused:
        export_run(run, "csv", nowhere, io.StringIO(), None)
    assert str(nowhere) in str(refused.value)
    with pytest.raises(VenireError) as refused:
        write_atomically(nowhere, "")
    assert "verdicts.csv: No such file" in str(refused.value)


def test_an_unknown_format_is_told_with_the_nearest_one() -> None:
    with pytest.raises(VenireError, match="no export format named 'jsnol'") as error:
        export_format("jsnol")

    assert error.value.remedy.startswith("did you mean 'jsonl'?")
