"""Export formats: looked up by entry point, venire's own and those of other packages; and what a run is in each."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import networkx as nx
import pytest
from command_line import venire
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


def test_a_run_exports_as_one_graph(tmp_path: Path) -> None:
    planted_run(tmp_path)
    for form in ("graphml", "json", "dot"):
        ended = venire("export", "run", "--to", form, "-o", f"out.{form}", cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
    one = venire("export", "run", "--to", "graphml", "--case", "calm", "--arm", "stances", cwd=tmp_path)

    whole = nx.read_graphml(tmp_path / "out.graphml", force_multigraph=True)
    single = nx.parse_graphml(one.stdout, force_multigraph=True)
    assert sum(node["kind"] == "case" for _, node in whole.nodes(data=True)) == len(SCRIPTS)
    assert (tmp_path / "out.graphml").read_text().count("<graph ") == 2
    assert "stances/persuaded/verdict/accurate" in whole
    assert sum(node["kind"] == "case" for _, node in single.nodes(data=True)) == 1
    drawing = (tmp_path / "out.dot").read_text()
    assert re.findall(r"^digraph (.*) {$", drawing, re.M) == ['"stances"', '"single"']
    assert drawing.count("subgraph cluster_") == 2 * len(SCRIPTS)


def test_lines_hold_ledgers_and_decisions(tmp_path: Path) -> None:
    planted_run(tmp_path)
    ended = venire("export", "run", "--to", "jsonl", "--arm", "stances", cwd=tmp_path)
    found = {line["case"]: line for line in map(json.loads, ended.stdout.splitlines())}["overruled"]

    assert found["ledgers"][0]["saw"] == ["1/high", "1/low", "1/middle"]
    assert found["ledgers"][0]["disputes"][0]["attribute"] == "accurate"
    (finding,) = found["decisions"][-1]["findings"]
    ballots = {ballot["entry"] for ballot in found["ballots"]}
    assert set(finding["weighed_entries"]) <= ballots
    assert (
        {entry.partition("/")[2] for entry in finding["weighed_entries"]}
        == set(finding["weighed"])
        == {"high", "low", "middle"}
    )


def test_parquet_holds_an_outcome_a_row(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="an extra")
    import pandas as pd

    planted_run(tmp_path)
    ended = venire("export", "run", "--to", "parquet", "-o", "out.parquet", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    found = pd.read_parquet(tmp_path / "out.parquet")

    assert set(found["arm"]) == {"stances", "single"}
    assert found.loc[found["status"] == "hung", "value"].isna().all()
    assert found["value"].dtype == float


def test_an_unknown_case_or_format_is_two_lines_and_status_two(tmp_path: Path) -> None:
    planted_run(tmp_path, {"calm": SCRIPTS["calm"]})
    for options in (
        ("--to", "graphml", "--case", "clam"),
        ("--to", "docx"),
        ("--to", "html", "--case", "clam"),
    ):
        ended = venire("export", "run", *options, cwd=tmp_path)
        assert ended.returncode == 2
        assert len(ended.stderr.strip().splitlines()) == 2
