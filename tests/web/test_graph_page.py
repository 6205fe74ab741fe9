"""The graph page shows the nodes and edges of the GraphML export, neither more nor fewer."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from pathlib import Path

import networkx as nx
import pytest
import yaml
from click.testing import CliRunner
from inspector_server import InspectorServer

from venire.cli import app


@pytest.mark.parametrize("protocol", ["orchestrated", "magentic-one"])
def test_nodes_and_edges_are_those_of_the_graphml_export(tmp_path: Path, protocol: str) -> None:
    seats = [{"name": name, "model": "scripted"} for name in "abcde"]
    limits = {"max_rounds": 4, "max_stalls": None}
    jury = {
        "name": "five",
        "protocol": protocol,
        "limits": limits,
        "quorum": 2,
        "seats": seats,
        "orchestrator": {"model": "scripted"},
    }
    (tmp_path / "jury.yaml").write_text(yaml.safe_dump(jury))
    (tmp_path / "cases.jsonl").write_text(
        '{"id": "c1", "output": "Fever since Monday.", "source": "Fever."}\n'
    )
    run, graphml = tmp_path / "run", tmp_path / "g.graphml"
    command = [
        "run",
        str(tmp_path / "cases.jsonl"),
        "--rubric",
        "clinical-note",
        "--jury",
        str(tmp_path / "jury.yaml"),
        "-o",
        str(run),
    ]
    ended = CliRunner().invoke(app, command)
    assert ended.exit_code == 0, ended.output
    assert CliRunner().invoke(app, ["export", str(run), "--to", "graphml", "-o", str(graphml)]).exit_code == 0

    with InspectorServer(run) as server:
        page = unescape(server.ask("graph?id=c1").text)
        case = server.ask("case?id=c1").text

    exported = nx.read_graphml(graphml)
    names, edges = set(exported), Counter(exported.edges(data="kind"))
    drawn = Counter(re.findall(r'data-from="(.*?)" data-to="(.*?)" data-kind="(.*?)"', page))
    assert set(re.findall(r'data-node="(.*?)"', page)) == names and len(names) > 10
    assert drawn == edges and len(edges) > 20
    assert "graph?" in case
