"""Export formats of graphs: `graphml` and `dot`, a graph for each arm; `json` (node-link), all deliberations in one."""

from __future__ import annotations

from typing import TextIO

from . import graph
from .dot_language import dot
from .export_format import ExportedRun


def write_graphml(run: ExportedRun, out: TextIO) -> int:
    """One GraphML document with a graph for each arm."""
    found = list(run.verdicts())
    out.write(graph.graphml(*graph.arm_graphs(found)))
    return len(found)


def write_dot(run: ExportedRun, out: TextIO) -> int:
    """A digraph for each arm, one after the other."""
    found = list(run.verdicts())
    for each in graph.arm_graphs(found):
        out.write(dot(each))
    return len(found)


def write_node_link(run: ExportedRun, out: TextIO) -> int:
    """One graph in networkx's node-link form."""
    found = list(run.verdicts())
    out.write(graph.node_link(graph.run_graph(found)))
    return len(found)
