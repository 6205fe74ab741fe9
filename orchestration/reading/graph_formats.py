"""Export formats of graphs: `graphml` and `dot`, a graph for each arm; `json` (node-link), all deliberations in one."""

from __future__ import annotations

from typing import TextIO

from . import graph
from .export import ExportedRun
from .graph import Graph

_BACKWARDS = {"saw", "replied-to", "revised", "weighed"}
"""Edges that point from what came later to what came before."""


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


def dot(graph: Graph) -> str:
    """The graph in the DOT language of Graphviz: time from left to right, a frame around each deliberation."""
    lines = [
        f"digraph {_dot_string(str(graph.graph.get('arm', 'deliberation')))} {{",
        '  rankdir="LR";',
        '  node [fontname="Helvetica", shape="box"];',
        '  edge [fontname="Helvetica", fontsize="9"];',
    ]
    frames: dict[str, list[str]] = {}
    for name in graph.nodes:
        frames.setdefault(graph.nodes[name].get("deliberation", ""), []).append(name)
    for number, (frame, names) in enumerate(frames.items()):
        lines += _dot_frame(graph, number, frame, names)
    for start, end, edge in graph.edges(data=True):
        change = f" {edge['attribute']} {edge['before']} to {edge['after']}" if "before" in edge else ""
        style = [f"label={_dot_string(edge['kind'] + change)}"]
        if edge["kind"] in _BACKWARDS:
            # Written from the earlier to the later, so that time goes one way; the arrow still points back.
            start, end = end, start
            style.append('dir="back"')
        if edge["kind"] == "cited-evidence":
            style.append('constraint="false"')
        lines.append(
            f"  {_dot_string(start, short=False)} -> {_dot_string(end, short=False)} [{', '.join(style)}];"
        )
    return "\n".join((*lines, "}")) + "\n"


def _dot_frame(graph: Graph, number: int, frame: str, names: list[str]) -> list[str]:
    inside = "    " if frame else "  "
    lines = [f"  subgraph cluster_{number} {{", f"    label={_dot_string(frame)};"] if frame else []
    columns: dict[float, list[str]] = {}
    for name in names:
        node = graph.nodes[name]
        label = f"{node['kind']}: {node.get('label', name)}"
        shown = f"label={_dot_string(label)}, class={_dot_string(node['kind'])}"
        lines.append(f"{inside}{_dot_string(name, short=False)} [{shown}];")
        columns.setdefault(node["x"], []).append(_dot_string(name, short=False))
    lines += [
        f'{inside}{{ rank="same"; {"; ".join(column)}; }}' for column in columns.values() if len(column) > 1
    ]
    return [*lines, "  }"] if frame else lines


def _dot_string(text: str, *, short: bool = True) -> str:
    """A quoted string; a label is cut to what fits a box, a name is not."""
    cut = text if len(text) <= 80 or not short else f"{text[:79]}…"
    escaped = cut.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
