"""Export formats of graphs: `graphml`, `json` (node-link) and `dot`, every deliberation in one graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from . import graph
from .export_format import ExportedRun, ExportFormat


def _graph_format(text_of: Callable[[graph.Graph], str]) -> ExportFormat:
    def write(run: ExportedRun, out: TextIO) -> int:
        found = list(run.verdicts())
        out.write(text_of(graph.run_graph(found)))
        return len(found)

    return write


graphml = _graph_format(graph.graphml)
node_link = _graph_format(graph.node_link)
dot = _graph_format(graph.dot)
