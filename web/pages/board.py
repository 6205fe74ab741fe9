"""The page of a suite's board: who leads, the heat maps, every scenario with its baselines and failures, what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...evals.pages.markup import Child, Html, element, fragment
from .frame import heading, quiet

STATUSES = ("unparsed", "failed", "hung", "unjudged")


def board_view(document: Mapping[str, Any] | None) -> Html:
    """The page's content; how to have a report, where none was made."""
    if document is None:
        told = "No report was made yet: venire suite report SUITE.yaml makes one, and it is shown here."
        return fragment(heading("Board", level=1), element("p", None, told))
    systems, scenarios = _by_name(document.get("systems")), _by_name(document.get("scenarios"))
    sentences = [str(said) for said in document.get("sentences") or ()]
    return fragment(
        heading(str(document.get("suite") or "Board"), level=1),
        element("ul", {"class": "advice"}, [element("li", None, said) for said in sentences]),
        heading("Systems"),
        _table(
            "Systems",
            ("system", "win rate", "SD", "macro", "SD ", "rank", "dollars"),
            [_system_cells(name, each) for name, each in systems.items()],
        ),
        [_figure(name, str(words)) for name, words in _by_name(document.get("figures")).items()],
        [_scenario(name, each) for name, each in scenarios.items() if each.get("scores")],
    )


def _system_cells(name: str, system: Mapping[str, Any]) -> Sequence[Child]:
    low, high = (*(system.get("rank") or ()), "", "")[:2]
    rank = f"{low}" if low == high else f"{low} to {high}"
    usd = system.get("usd")
    dollars = f"${usd:,.2f}" if isinstance(usd, int | float) else "unknown"
    numbers = [_number(system.get(key)) for key in ("win_rate", "win_sd", "macro", "sd")]
    return [name, *numbers, rank, dollars]


def _scenario(name: str, scenario: Mapping[str, Any]) -> Html:
    scores = _by_name(scenario.get("scores"))
    shown = [status for status in STATUSES if any(each.get(status) for each in scores.values())]
    rows: list[Sequence[Child]] = [
        [system, _number(each.get("score")), _interval(each), str(each.get("n", "")), *(str(each.get(status, 0)) for status in shown)]
        for system, each in scores.items()
    ]  # fmt: skip
    for label, key in (("always the same answer", "baseline"), ("a random answer", "random")):
        blank = [""] * (2 + len(shown))
        rows.append([quiet(label), _number(scenario.get(key)), *blank])
    mde = scenario.get("mde")
    told = f"scored by {scenario.get('scorer', '')}, {scenario.get('n', '')} cases"
    told += f"; shows differences from {mde:.3f}" if isinstance(mde, int | float) else ""
    return fragment(
        heading(name, quiet(told)), _table(name, ("system", "score", "interval", "n", *shown), rows)
    )


def _interval(score: Mapping[str, Any]) -> str:
    low, high = score.get("low"), score.get("high")
    known = isinstance(low, int | float) and isinstance(high, int | float)
    return f"{low:.3f} to {high:.3f}" if known else ""


def _figure(name: str, words: str) -> Html:
    image = element("img", {"src": f"./board-figure?name={name}.svg", "alt": words, "loading": "lazy"})
    return element("figure", {"class": "drawn"}, image, element("figcaption", {"class": "quiet"}, words))


def _table(label: str, heads: Sequence[str], rows: Sequence[Sequence[Child]]) -> Html:
    head = element("tr", None, [element("th", {"scope": "col"}, words) for words in heads])
    body = [
        element("tr", None, element("th", {"scope": "row"}, first), [element("td", {"class": "number"}, cell) for cell in rest])
        for first, *rest in rows
    ]  # fmt: skip
    return element(
        "div",
        {"class": "wide", "tabindex": "0", "role": "region", "aria-label": label},
        element("table", None, element("thead", None, head), element("tbody", None, body)),
    )


def _by_name(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else "undefined"
