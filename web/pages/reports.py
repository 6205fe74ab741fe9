"""The pages of reports: a study's, a suite's board and its scenarios, systems compared, talks, controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from ...evals.report.drawing import amount, chance
from ...evals.report.markup import Child, Html, element, fragment, shorten
from ...evals.report.section import TableText
from ...evals.studies.study_tables import CHAPTERS, table_description, trial_rows
from ...evals.transcripts.alignment import Alignment
from ...evals.transcripts.alignment_page import alignment_sentences, alignment_view
from ...rubrics.errors import count_words
from ..search import PAGE
from .frame import heading, quiet

if TYPE_CHECKING:
    from ...evals.causes.controls import ControlsReport

MOST = 500
"""Rows of a table that are shown; the rest stand in its file."""


def study_view(document: Mapping[str, Any] | None) -> Html:
    """The page's content; how to have a report, where none was made."""
    if document is None:
        told = "There is no report yet. Make one with venire study report RUN, and it is shown here."
        return fragment(heading("Study", level=1), element("p", None, told))
    tables, sections = _by_name(document.get("tables")), _by_name(document.get("sections"))
    chapters: dict[str, list[Child]] = {title: [] for title in CHAPTERS}
    compared, _, seats, *_, further = chapters
    chapters[compared].append(_foldable("trials", trial_rows(_rows(document.get("trials")))))
    for name, rows in tables.items():
        chapters[compared if name.startswith("arms-") else seats].append(_foldable(name, _rows(rows)))
    for name, part in sections.items():
        home = next((title for title, names in CHAPTERS.items() if name in names), further)
        chapters[home].append(section_view(name, part))
    chapters["Methods and notes"] = [
        *(element("p", None, said) for said in dict.fromkeys(map(str, _list(document.get("methods"))))),
        element(
            "ul", {"class": "quiet"}, [element("li", None, said) for said in _list(document.get("notes"))]
        ),
    ]
    return fragment(
        heading(document.get("study", "Study"), level=1),
        element("p", {"class": "quiet"}, document.get("description")),
        element(
            "ul", {"class": "advice"}, [element("li", None, said) for said in _list(document.get("advice"))]
        ),
        [report_figure("study", name, words) for name, words in _by_name(document.get("figures")).items()],
        heading("Arms", quiet(f"cost is {document.get('unit', 'cost')}")),
        table_view("arms", _rows(document.get("arms"))),
        [
            element("details", {"class": "chapter"}, element("summary", None, title), parts)
            for title, parts in chapters.items()
            if any(parts)
        ],
    )


def section_view(name: str, part: object) -> Html:
    """A section of a report, as its JSON has it: what it says, then its tables, folded, and what could not be told."""
    given = _by_name(part)
    return element(
        "section",
        {"class": "audit"},
        heading(given.get("title", name)),
        element("ul", {"class": "advice"}, [element("li", None, said) for said in _list(given.get("sentences"))]),
        [_foldable(f"{name}_{table}", _rows(rows)) for table, rows in _by_name(given.get("tables")).items()],
        element("ul", {"class": "quiet"}, [element("li", None, said) for said in _list(given.get("notes"))]),
    )  # fmt: skip


def systems_view(document: Mapping[str, Any] | None, told: Child) -> Html:
    """Systems by systems for each arm and attribute that compares outputs; below each what its preferences lean on.

    `told` says of figures that are still computed that they are.
    """
    given = document or {"sections": [], "hung": []}
    lost = [
        f"{each['arm']}: {each['attribute']}: none of the pairs of outputs that the jury judged ({each['pairs']}) has a verdict on which output is better"
        for each in given["hung"]
    ]
    return fragment(
        heading("Systems compared", level=1),
        told,
        [
            element(
                "section",
                {"class": "audit"},
                heading(
                    part["title"],
                    quiet(
                        "Each number is the share of pairs that the row's system won against the column's system; a tie counts half."
                    ),
                ),
                table_view("matrix", part["matrix"]),
                element("ul", {"class": "advice"}, [element("li", None, said) for said in part["sentences"]]),
                [
                    _foldable(
                        "win rates" if name == part["title"] else name.removeprefix(f"{part['title']}: "),
                        rows,
                    )
                    for name, rows in part["tables"].items()
                ],
            )
            for part in given["sections"]
        ],
        element("ul", {"class": "quiet"}, [element("li", None, words) for words in lost]) if lost else None,
    )


_CAUSES = (
    "An exposure is a revision of a vote after reading others; each was asked again with less to read. Of the changes of score, instability is the share that "
    "also comes when the juror is merely asked again, conformity the share that the others' scores add, and persuasion the share that their reasons add. The "
    "three add up to 100%. The brackets hold 95% intervals, which may reach below 0% or above 100%."
)
_SOURCES = "Necessary: the share of moves that do not happen when this juror is not read. Sufficient: the share that also happen when only this juror is read."


def controls_view(report: ControlsReport) -> Html:
    """Why jurors moved: the shares of each arm and seat, who did it, and how far reasons could be told from scores."""
    shares, sources = report.share_rows(), report.source_rows()
    return fragment(
        heading("Why jurors moved", quiet(f"controls in {report.run}"), level=1),
        element("p", {"class": "quiet"}, _CAUSES),
        table_view("causes of the recorded changes of score, as shares", shares),
        [element("p", {"class": "quiet"}, _SOURCES), table_view("which juror caused the moves", sources)]
        if sources
        else None,
        element("ul", {"class": "quiet"}, [element("li", None, note) for note in report.notes]),
    )


def report_figure(page: str, name: str, words: str) -> Html:
    image = element("img", {"src": f"./{page}-figure?name={name}.svg", "alt": words, "loading": "lazy"})
    return element("figure", {"class": "drawn"}, image, element("figcaption", {"class": "quiet"}, words))


def _foldable(name: str, rows: Sequence[Mapping[str, Any]]) -> Html | None:
    """A table that opens when it is wanted; nothing where it has no row."""
    if not rows:
        return None
    summary = element(
        "summary",
        None,
        f"{_description(name, rows).title} ",
        quiet(count_words(len(rows), "row")),
    )
    return element("details", None, summary, table_view(name, rows))


def table_view(name: str, rows: Sequence[Mapping[str, Any]]) -> Html:
    """A table of a report under its caption."""
    description = _description(name, rows)
    heads = description.used_heads(rows)
    head = element("tr", None, [element("th", {"scope": "col"}, words) for words in heads.values()])
    body = [
        element("tr", None, [element("td", None, _cell(row.get(column))) for column in heads])
        for row in rows[:MOST]
    ]
    left = f"{len(rows) - MOST} more rows are in the report's folder" if len(rows) > MOST else None
    return element(
        "div",
        {"class": "wide", "tabindex": "0", "role": "region", "aria-label": description.title},
        description.caption and element("p", {"class": "quiet"}, description.caption),
        element("table", None, element("thead", None, head), element("tbody", None, body)),
        left and quiet(left),
    )


def _description(name: str, rows: Sequence[Mapping[str, Any]]) -> TableText:
    """What the report's page calls the table; of one that is not known, the names that its rows use."""
    columns = rows[0] if rows else {}
    unknown = TableText(name.replace("_", " "), "", {column: column.replace("_", " ") for column in columns})
    return table_description(name) or unknown


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return amount(value, 3)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_cell(each)}" for name, each in value.items())
    return str(value)


def _by_name(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in _list(value) if isinstance(row, dict)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


STATUSES = ("unparsed", "failed", "hung", "unjudged")


def board_view(document: Mapping[str, Any] | None) -> Html:
    """The page's content; how to have a report, where none was made."""
    if document is None:
        told = "There is no report yet. Make one with venire suite report SUITE.yaml, and it is shown here."
        return fragment(heading("Board", level=1), element("p", None, told))
    systems, scenarios = _by_name(document.get("systems")), _by_name(document.get("scenarios"))
    sentences = [str(said) for said in document.get("sentences") or ()]
    differences = _rows(document.get("differences"))
    return fragment(
        heading(str(document.get("suite") or "Board"), level=1),
        [element("p", {"class": "quiet"}, str(said)) for said in document.get("judges") or ()],
        element("ul", {"class": "advice"}, [element("li", None, said) for said in sentences]),
        heading("Systems"),
        scrolling_table(
            "Systems",
            ("system", "win rate", "SD", "macro", "SD ", "rank", "dollars"),
            [_system_cells(name, each) for name, each in systems.items()],
        ),
        _differences([each for each in differences if each.get("scenario") not in scenarios]),
        [
            report_figure("board", name, str(words))
            for name, words in _by_name(document.get("figures")).items()
        ],
        [
            _scenario(name, each, [row for row in differences if row.get("scenario") == name])
            for name, each in scenarios.items()
            if each.get("scores")
        ],
    )


def _differences(rows: Sequence[Mapping[str, Any]]) -> Html | None:
    """Each pair of systems on the same cases: the difference with its interval, and whether it holds after Holm's correction."""
    if not rows:
        return None
    cells: list[Sequence[Child]] = [
        [f"{row.get('first')} minus {row.get('second')}", _number(row.get("value"), "+.2f"), _interval(row), str(row.get("n", "")), _p_value(row.get("p_holm")),
         f"{row['ahead']} is ahead" if row.get("ahead") else "no difference shown"]
        for row in rows
    ]  # fmt: skip
    heads = ("pair", "difference", "95% interval", "n", "p (Holm)", "what it shows")
    title = f"Differences, {rows[0].get('scenario')}"
    return fragment(element("h3", None, title), scrolling_table(title, heads, cells))


def _p_value(value: Any) -> str:
    return chance(value) if isinstance(value, float) else ""


def _system_cells(name: str, system: Mapping[str, Any]) -> Sequence[Child]:
    low, high = (*(system.get("rank") or ()), "", "")[:2]
    rank = f"{low}" if low == high else f"{low} to {high}"
    usd = system.get("usd")
    dollars = f"${usd:,.2f}" if isinstance(usd, int | float) else "unknown"
    numbers = [_number(system.get(key)) for key in ("win_rate", "win_sd", "macro", "sd")]
    return [name, *numbers, rank, dollars]


def _scenario(name: str, scenario: Mapping[str, Any], differences: Sequence[Mapping[str, Any]]) -> Html:
    scores = _by_name(scenario.get("scores"))
    shown = [status for status in STATUSES if any(each.get(status) for each in scores.values())]
    rows: list[Sequence[Child]] = [
        [system, _scenario_link(name, system, _number(each.get("score"))), _interval(each), str(each.get("n", "")), *(str(each.get(status, 0)) for status in shown)]
        for system, each in scores.items()
    ]  # fmt: skip
    for label, key in (("always the same answer", "baseline"), ("a random answer", "random")):
        if scenario.get(key) is not None:
            rows.append([quiet(label), _number(scenario[key]), *[""] * (2 + len(shown))])
    mde = scenario.get("mde")
    told = f"scored by {scenario.get('scorer', '')}, {scenario.get('n', '')} cases"
    told += f"; differences of {mde:.2f} or more can be detected" if isinstance(mde, int | float) else ""
    low, high = (*_list(scenario.get("scale")), 0.0, 1.0)[:2]
    if (low, high) != (0.0, 1.0):
        told += f"; scores are from {low:g} to {high:g}, differences on a scale from 0 (worst) to 1 (best)"
    return fragment(
        heading(name, quiet(told), _scenario_link(name, "", "answers side by side")),
        scrolling_table(name, ("system", "score", "95% interval", "n", *shown), rows),
        _differences(differences),
    )


def _scenario_link(scenario: str, system: str, words: str) -> Html:
    query = {"name": scenario, **({"system": system} if system else {})}
    return element("a", {"href": f"./scenario?{urlencode(query)}"}, words)


ANSWER = 600
"""Characters of an answer that stand in its cell; the rest unfolds."""


def scenario_view(
    name: str,
    system: str,
    rows: Sequence[Mapping[str, Any]],
    page: int,
    place: Callable[[Mapping[str, Any]], str | None],
) -> Html:
    """The cases of a scenario, what the systems answered side by side; those where `system` is worst first. `place` leads to an answer's deliberation."""
    systems = list(dict.fromkeys(str(row["system"]) for row in rows))
    by_case: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        by_case.setdefault(str(row["case"]), {})[str(row["system"])] = row
    if system in systems:
        systems.sort(key=lambda each: each != system)
        by_case = dict(sorted(by_case.items(), key=lambda case: _worth(case[1].get(system))))
    shown = list(by_case.items())[(page - 1) * PAGE :][:PAGE]
    cells: list[Sequence[Child]] = [
        [case, *(_answer(answers.get(each), place) for each in systems)] for case, answers in shown
    ]
    order = f", the worst of {system} first" if system in systems else ""
    ways = [
        element(
            "a", {"href": f"./scenario?{urlencode({'name': name, 'system': system, 'page': number})}"}, words
        )
        for number, words in ((page - 1, "← back"), (page + 1, "next →"))
        if 1 <= number <= -(-len(by_case) // PAGE)
    ]
    return fragment(
        heading(name, quiet(f"{len(by_case):,} cases, {len(systems)} systems side by side{order}"), level=1),
        element("p", {"class": "quiet"}, "Sorted by a system: ", [(_scenario_link(name, each, each), " ") for each in systems]),
        scrolling_table(name, ("case", *systems), cells, kind="answers"),
        element("nav", {"class": "pager", "aria-label": "Pages"}, ways) if ways else None,
    )  # fmt: skip


def _worth(row: Mapping[str, Any] | None) -> tuple[bool, float]:
    score = row.get("score") if row else None
    return (True, 0.0) if score is None else (False, float(score))


def _answer(row: Mapping[str, Any] | None, place: Callable[[Mapping[str, Any]], str | None]) -> Html:
    if row is None:
        return quiet("not asked")
    words, address = (
        _number(row.get("score")) if row.get("score") is not None else str(row["status"]),
        place(row),
    )
    text = str(row["output"])
    whole = element("details", None, element("summary", None, "the whole answer"), element("p", {"dir": "auto"}, text)) if len(text) > ANSWER else None  # fmt: skip
    return fragment(
        element("a", {"class": "cell", "href": address}, words) if address else element("span", {"class": "cell"}, words),
        quiet(" ", row["why"]) if row.get("why") else None,
        element("p", {"class": "words", "dir": "auto"}, shorten(text, ANSWER)) if text else None,
        whole,
    )  # fmt: skip


def _interval(score: Mapping[str, Any]) -> str:
    low, high = score.get("low"), score.get("high")
    known = isinstance(low, int | float) and isinstance(high, int | float)
    return f"{low:.2f} to {high:.2f}" if known else ""


def scrolling_table(
    label: str, heads: Sequence[str], rows: Sequence[Sequence[Child]], *, kind: str = "number"
) -> Html:
    """A table whose first column heads the rows, in a region that scrolls by itself where it is too wide."""
    head = element("tr", None, [element("th", {"scope": "col"}, words) for words in heads])
    body = [
        element("tr", None, element("th", {"scope": "row"}, first), [element("td", {"class": kind}, cell) for cell in rest])
        for first, *rest in rows
    ]  # fmt: skip
    return element(
        "div",
        {"class": "wide", "tabindex": "0", "role": "region", "aria-label": label},
        element("table", None, element("thead", None, head), element("tbody", None, body)),
    )


def _number(value: Any, style: str = ".2f") -> str:
    return f"{round(value, 2) + 0.0:{style}}" if isinstance(value, int | float) else "undefined"


def talks_view(talks: Sequence[Alignment]) -> Html:
    """A section for each talk."""
    return fragment(*(_talk(talk) for talk in talks))


def _talk(talk: Alignment) -> Html:
    said = [element("p", None, sentence) for sentence in alignment_sentences(talk)]
    return element("section", {"class": "talk"}, heading(talk.name), *said, alignment_view(talk))
