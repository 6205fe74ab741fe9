"""A deliberation as a graph: nodes and edges as the record has them and as the GraphML export writes them, with a legend."""

from __future__ import annotations

from collections import Counter

from ...evals.report.markup import Html, element, fragment, shorten
from ...orchestration.reading.graph import TALL, WIDE, Graph, deliberation_graph, node_prefix
from ...orchestration.verdict import Verdict
from ..lanes import vote_id
from ..search import CaseSearch
from .frame import arm_words, heading, quiet

_BOX = (170, 44)
_MARGIN = 30
_LETTERS = 24
"""That fit into a box."""


def graph_view(search: CaseSearch, verdict: Verdict, judges: str) -> Html:
    """The whole graph, wider than the page where it must be: it scrolls, and every node leads to its place on the case's page."""
    graph = deliberation_graph(verdict.transcript, verdict)
    nodes, edges = (
        Counter(about["kind"] for *_, about in part)
        for part in (graph.nodes(data=True), graph.edges(data=True))
    )
    back = search.address("case", id=verdict.case, in_arm=verdict.arm)
    return fragment(
        element(
            "div",
            {"class": "head"},
            element("h1", None, shorten(verdict.case, 120)),
            element("p", {"class": "quiet"}, arm_words(verdict.arm, verdict.transcript.protocol), " · ",
                    element("a", {"href": back}, "read the deliberation")),
            element("p", {"class": "quiet judges"}, judges),
        ),
        heading("The deliberation as a graph", quiet(f"{len(graph)} nodes, {graph.number_of_edges()} edges; time runs from left to right")),
        element("ul", {"class": "graph-legend"},
                [element("li", {"class": f"node {kind}"}, f"{kind} ({number})") for kind, number in nodes.items()],
                [element("li", {"class": f"edge {kind}"}, f"{kind} ({number})") for kind, number in edges.items()]),
        element("div", {"class": "wide graph", "tabindex": "0", "role": "region", "aria-label": "The graph, which scrolls"}, _drawing(graph, back, node_prefix(verdict))),
    )  # fmt: skip


def _drawing(graph: Graph, back: str, prefix: str) -> Html:
    """The graph; `prefix` begins the name of a node in an export."""
    places = _places(graph)
    width, height = (max(place[side] for place in places.values()) + _BOX[side] + _MARGIN for side in (0, 1))
    between = Counter[tuple[str, str]]()
    lines = []
    for start, end, about in graph.edges(data=True):
        between[start, end] += 1
        lines.append(_line(start, end, about, places, prefix, bend=12 * between[start, end]))
    return element(
        "svg",
        {
            "viewBox": f"0 0 {width} {height}",
            "width": width,
            "height": height,
            "role": "group",
            "aria-label": "Graph",
        },
        lines,
        [_box(name, about, places[name], back, prefix) for name, about in graph.nodes(data=True)],
    )


def _places(graph: Graph) -> dict[str, tuple[int, int]]:
    """The upper left corner of every node, moved down where another stands already."""
    places: dict[str, tuple[int, int]] = {}
    for name, about in graph.nodes(data=True):
        x, y = _MARGIN + int(about["x"]), _MARGIN + TALL + int(about["y"])
        while (x, y) in places.values():
            y += TALL
        places[name] = (x, y)
    return places


def _line(
    start: str,
    end: str,
    about: dict[str, object],
    places: dict[str, tuple[int, int]],
    prefix: str,
    *,
    bend: int,
) -> Html:
    (x1, y1), (x2, y2) = ((x + _BOX[0] // 2, y + _BOX[1] // 2) for x, y in (places[start], places[end]))
    middle = (x1 + x2) // 2, (y1 + y2) // 2 - bend - (WIDE // 6 if y1 == y2 else 0)
    change = f": {about['attribute']} {about['before']} to {about['after']}" if "before" in about else ""
    return element(
        "path",
        {"class": f"edge {about['kind']}", "d": f"M{x1} {y1} Q{middle[0]} {middle[1]} {x2} {y2}", "fill": "none",
         "data-from": prefix + start, "data-to": prefix + end, "data-kind": about["kind"]},
        element("title", None, f"{start} {about['kind']} {end}{change}"),
    )  # fmt: skip


def _box(name: str, about: dict[str, object], place: tuple[int, int], back: str, prefix: str) -> Html:
    x, y = place
    label = str(about.get("label", name))
    anchor = f"#a-{about['attribute']}" if about["kind"] == "verdict" and "attribute" in about else ""
    scored = next((key.removeprefix("score ") for key in about if key.startswith("score ")), None)
    if about["kind"] == "ballot" and scored is not None:
        anchor = f"#{vote_id(name, scored, '')}"
    return element(
        "a",
        {"href": f"{back}{anchor}", "class": f"node {about['kind']}", "data-node": prefix + name},
        element("title", None, f"{about['kind']}: {label}"),
        element("rect", {"x": x, "y": y, "width": _BOX[0], "height": _BOX[1], "rx": 6}),
        element("text", {"x": x + 8, "y": y + 18}, str(about["kind"])),
        element(
            "text",
            {"x": x + 8, "y": y + 35},
            label if len(label) <= _LETTERS else f"{label[: _LETTERS - 1]}…",
        ),
    )
