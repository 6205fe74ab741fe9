"""The graph: drawn from the record, and the same graph again in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path

import networkx as nx
import pytest
from command_line import venire
from planted_run import RUBRIC, SCRIPTS, ballot_line, planted_case, planted_run, scripted_jury

from venire import deliberate_sync
from venire.orchestration import deliberation_graph
from venire.orchestration.reading.graph import graphml, node_link
from venire.orchestration.reading.graph_formats import dot

WEIGHED = {"high", "low", "middle"}
"""Whom the decision on the planted case `overruled` says it weighed."""
HOSTILE = "<script>alert(1)</script> \x1b[2J \u202e & ]]> \r\n \x00 end"


def drawn(folder: Path, name: str = "persuaded", **fields: object) -> nx.MultiDiGraph:
    verdict = deliberate_sync(
        planted_case(name), RUBRIC, scripted_jury(folder, name, SCRIPTS[name], **fields)
    )
    return deliberation_graph(verdict.transcript, verdict)


def same(one: nx.MultiDiGraph, other: nx.MultiDiGraph) -> bool:
    edges = [sorted(graph.edges(keys=True, data=True), key=lambda e: e[:3]) for graph in (one, other)]
    return dict(one.nodes(data=True)) == dict(other.nodes(data=True)) and edges[0] == edges[1]


def edges(graph: nx.MultiDiGraph, kind: str) -> list[tuple[str, str, dict[str, object]]]:
    return [(a, b, edge) for a, b, edge in graph.edges(data=True) if edge["kind"] == kind]


def test_every_kind_of_node_and_edge_is_there(tmp_path: Path) -> None:
    graph = drawn(tmp_path, "overruled")

    assert {node["kind"] for _, node in graph.nodes(data=True)} == {
        "case", "seat", "ballot", "ledger", "utterance", "verdict",
    }  # fmt: skip
    moved = drawn(tmp_path)
    found = {edge["kind"] for g in (graph, moved) for *_, edge in g.edges(data=True)}
    assert found == {"spoke", "saw", "replied-to", "revised", "cited-evidence", "weighed", "decided"}


def test_a_revision_carries_its_change(tmp_path: Path) -> None:
    revised = edges(drawn(tmp_path), "revised")

    assert {(a, b, e["attribute"], e["before"], e["after"]) for a, b, e in revised} == {
        ("3/high", "1/high", "accurate", 5, 2),
        ("3/middle", "1/middle", "accurate", 5, 2),
    }


def test_who_saw_what_and_who_answered_whom(tmp_path: Path) -> None:
    graph = drawn(tmp_path)

    assert {(a, b) for a, b, _ in edges(graph, "saw") if a == "3/high"} == {
        ("3/high", "1/low"),
        ("3/high", "1/middle"),
    }
    assert ("3/high", "2/orchestrator") in {(a, b) for a, b, _ in edges(graph, "replied-to")}
    assert all(e["found"] for *_, e in edges(graph, "cited-evidence"))


def test_a_fabricated_quote_is_an_edge_that_says_so(tmp_path: Path) -> None:
    false = [e for *_, e in edges(drawn(tmp_path, "fabricated"), "cited-evidence") if not e["found"]]

    assert [e["quote"] for e in false] == ["patient denies any allergy to penicillin"]
    assert "exhibit" not in false[0]


def test_what_a_verdict_rests_on(tmp_path: Path) -> None:
    decided = {(a, b) for a, b, _ in edges(drawn(tmp_path, "overruled"), "decided")}

    assert ("6/orchestrator", "verdict/accurate") in decided or any(
        a.endswith("/orchestrator") and b == "verdict/accurate" for a, b in decided
    )
    assert {a for a, b in decided if b == "verdict/organized"} == {"1/high", "1/low", "1/middle"}


def test_what_a_ledger_saw_and_a_decision_weighed(tmp_path: Path) -> None:
    graph = drawn(tmp_path, "overruled")
    ledgers = [name for name, node in graph.nodes(data=True) if node["kind"] == "ledger"]
    weighed = edges(graph, "weighed")

    assert {b for a, b, _ in edges(graph, "saw") if a == ledgers[0]} == {"1/high", "1/low", "1/middle"}
    assert {edge["attribute"] for *_, edge in weighed} == {"accurate"}
    # The decision says which jurors it weighed: an edge to each one's standing ballot, and to no other.
    assert {graph.nodes[b]["speaker"] for _, b, _ in weighed} == WEIGHED
    ballot = graph.nodes["1/high"]["label"]
    assert ballot.startswith("high, round 1: ")
    steps = [(node["step"], node["x"]) for _, node in graph.nodes(data=True) if "step" in node]
    assert sorted(steps) == sorted(steps, key=lambda each: each[1])


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_graphml_gives_back_an_equal_graph(tmp_path: Path, name: str) -> None:
    graph = drawn(tmp_path, name, challenge=True)

    assert same(graph, nx.parse_graphml(graphml(graph), force_multigraph=True))


def test_graphml_holds_whatever_a_model_wrote(tmp_path: Path) -> None:
    script = {
        "seats": {
            name: [{"accurate": ballot_line(4, HOSTILE, HOSTILE), "organized": 4}] for name in ("a", "b")
        }
    }
    verdict = deliberate_sync(
        planted_case("x"), RUBRIC, scripted_jury(tmp_path, "x", script, seats=("a", "b"))
    )
    graph = deliberation_graph(verdict.transcript, verdict)

    assert same(graph, nx.parse_graphml(graphml(graph), force_multigraph=True))


def test_node_link_gives_back_an_equal_graph(tmp_path: Path) -> None:
    graph = drawn(tmp_path)

    assert same(graph, nx.node_link_graph(json.loads(node_link(graph)), edges="edges"))


def test_edge_keys_are_the_only_ones_of_their_name(tmp_path: Path) -> None:
    keys = [key for *_, key in drawn(tmp_path, "overruled").edges(keys=True)]

    assert len(keys) == len(set(keys))


def test_dot_quotes_what_would_end_a_string(tmp_path: Path) -> None:
    script = {"seats": {name: [{"accurate": 4, "organized": 4}] for name in ("a", "b")}}
    verdict = deliberate_sync(
        planted_case('q"; evil'), RUBRIC, scripted_jury(tmp_path, "x", script, seats=("a", "b"))
    )

    assert 'label="case: q\\"; evil"' in dot(deliberation_graph(verdict.transcript, verdict))


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
    assert (
        re.findall(r"^digraph (.*) {$", drawing, re.M) == ['"stances"', '"single"']
        or drawing.count("digraph ") == 2
    )
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
        == WEIGHED
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
