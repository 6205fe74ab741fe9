"""A deliberation as a graph: nodes and edges as the record has them and as the GraphML export writes them, with a legend."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap
from typing import NamedTuple

from ...evals.report.markup import Html, element, fragment, shorten
from ...orchestration.reading.graph import TALL, WIDE, Graph, deliberation_graph, node_prefix
from ...orchestration.verdict import Verdict
from ..lanes import vote_id
from ..search import CaseSearch
from .frame import arm_words, heading, quiet

_BOX = 170
"""A box's width."""
_LETTERS = 24
"""That fit into a line of a box."""
_LINE = 17
_LINES = 3
"""Lines of a label that is not made of scores."""
_MARGIN = 30


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


class _Box(NamedTuple):
    """Where a node stands, and its label in lines."""

    x: int
    y: int
    lines: list[str]

    @property
    def height(self) -> int:
        return 27 + _LINE * len(self.lines)

    @property
    def middle(self) -> tuple[int, int]:
        return self.x + _BOX // 2, self.y + self.height // 2


def _drawing(graph: Graph, back: str, prefix: str) -> Html:
    """The graph; `prefix` begins the name of a node in an export."""
    boxes = _boxes(graph)
    width = max(box.x for box in boxes.values()) + _BOX + _MARGIN
    height = max(box.y + box.height for box in boxes.values()) + _MARGIN
    between = Counter[tuple[str, str]]()
    lines = []
    for start, end, about in graph.edges(data=True):
        between[start, end] += 1
        lines.append(_line(start, end, about, boxes, prefix, bend=12 * between[start, end]))
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
        [_node(name, about, boxes[name], back, prefix) for name, about in graph.nodes(data=True)],
    )


def _boxes(graph: Graph) -> dict[str, _Box]:
    """Every node in its place, rows as far apart as the tallest box needs; moved down where another stands already."""
    lines = {name: _label_lines(name, about) for name, about in graph.nodes(data=True)}
    row = max(TALL, max(_Box(0, 0, each).height for each in lines.values()) + _MARGIN)
    boxes: dict[str, _Box] = {}
    taken = set[tuple[int, int]]()
    for name, about in graph.nodes(data=True):
        x, y = _MARGIN + int(about["x"]), _MARGIN + row + int(about["y"]) * row // TALL
        while (x, y) in taken:
            y += row
        taken.add((x, y))
        boxes[name] = _Box(x, y, lines[name])
    return boxes


def _label_lines(name: str, about: dict[str, object]) -> list[str]:
    """A node's label as lines of its box. No score is left out, or parted from its attribute."""
    label = str(about.get("label", name))
    scores = [(key.removeprefix("score "), value) for key, value in about.items() if key.startswith("score ")]
    if about["kind"] == "verdict":
        attribute = str(about["attribute"])
        scores, label = [(attribute, label.removeprefix(f"{attribute} "))], ""
    lines = wrap(label.partition(": ")[0] if scores else label, _LETTERS)
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], _cut(" ".join(lines[_LINES - 1 :]), _LETTERS)]
    packed: list[str] = []
    for attribute, value in scores:
        words = f"{_cut(attribute, max(6, _LETTERS - 1 - len(str(value))))} {value}"
        if packed and len(packed[-1]) + 2 + len(words) <= _LETTERS:
            packed[-1] += f", {words}"
        else:
            packed.append(words)
    return lines + packed


def _cut(words: str, letters: int) -> str:
    return words if len(words) <= letters else f"{words[: letters - 1]}…"


def _line(
    start: str,
    end: str,
    about: dict[str, object],
    boxes: dict[str, _Box],
    prefix: str,
    *,
    bend: int,
) -> Html:
    (x1, y1), (x2, y2) = boxes[start].middle, boxes[end].middle
    middle = (x1 + x2) // 2, (y1 + y2) // 2 - bend - (WIDE // 6 if y1 == y2 else 0)
    change = f": {about['attribute']} {about['before']} to {about['after']}" if "before" in about else ""
    return element(
        "path",
        {"class": f"edge {about['kind']}", "d": f"M{x1} {y1} Q{middle[0]} {middle[1]} {x2} {y2}", "fill": "none",
         "data-from": prefix + start, "data-to": prefix + end, "data-kind": about["kind"]},
        element("title", None, f"{start} {about['kind']} {end}{change}"),
    )  # fmt: skip


def _node(name: str, about: dict[str, object], box: _Box, back: str, prefix: str) -> Html:
    label = str(about.get("label", name))
    anchor = f"#a-{about['attribute']}" if about["kind"] == "verdict" and "attribute" in about else ""
    scored = next((key.removeprefix("score ") for key in about if key.startswith("score ")), None)
    if about["kind"] == "ballot" and scored is not None:
        anchor = f"#{vote_id(name, scored, '')}"
    lines = [str(about["kind"]), *box.lines]
    return element(
        "a",
        {"href": f"{back}{anchor}", "class": f"node {about['kind']}", "data-node": prefix + name},
        element("title", None, f"{about['kind']}: {label}"),
        element("rect", {"x": box.x, "y": box.y, "width": _BOX, "height": box.height, "rx": 6}),
        [
            element("text", {"x": box.x + 8, "y": box.y + 18 + _LINE * at}, words)
            for at, words in enumerate(lines)
        ],
    )
