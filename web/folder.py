"""A folder of runs in the browser: a list of them, any one as the inspector shows it, any two side by side."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from aiohttp import web

from ..evals.report.markup import Child, Html, element, fragment, shorten
from ..orchestration.reading.analysis.movement import distance
from ..orchestration.reading.scores import ScoreSummary
from ..orchestration.reading.show import judges_words, prompts_words
from ..orchestration.record import Arm
from ..orchestration.record.store import run_exists
from ..rubrics.errors import VenireError, count_words
from ..rubrics.scale import Value
from .deliberation_reader import DeliberationRecord, NotThere, last_shown
from .loopback import guarded_app, static_handlers
from .pages.comparison import comparison_view
from .pages.frame import Page, heading, inspector_page, quiet
from .pages.reports import scrolling_table
from .reports import suite_folder
from .scales import score_words
from .search import CaseSearch
from .server import Inspector

MOST = 500
"""Cases that are listed of two runs, those furthest apart first."""
LINES, LINE = 4, 300
"""Lines of a headline, and letters of a line."""


def runs_in(folder: Path) -> list[Path]:
    """The runs in a folder and in folders of it; none where it is itself a run."""
    if not folder.is_dir() or run_exists(folder) or suite_folder(folder) == folder:
        return []
    records = sorted([*folder.glob("*/record.sqlite"), *folder.glob("*/*/record.sqlite")])
    return list(dict.fromkeys(suite_folder(record.parent) or record.parent for record in records))


def _last_written(inspector: Inspector) -> float | None:
    """When its last deliberation was written; None where none was."""
    progress = inspector.store.arm_progress(since=0.0)
    return max((arm.last or arm.started for arm in progress), default=None)


class Side(NamedTuple):
    """An arm of one of the runs."""

    number: str
    """The run's, in addresses."""
    name: str
    inspector: Inspector
    arm: Arm

    @property
    def key(self) -> str:
        return f"{self.number}/{self.arm.name}"

    def __str__(self) -> str:
        return f"{self.name}: {self.arm.name}"

    def judged_by(self) -> Html:
        """Which models judged, with the versions that their providers stated, temperatures and prompts."""
        words = judges_words(self.arm, self.inspector.index.versions().get(self.arm.id, {}))
        return element("p", {"class": "quiet"}, f"{self} was judged by {words}")

    def verdicts(self) -> dict[str, dict[str, Value]]:
        """By case and attribute what it reached, or in a word that it reached nothing, as far as they are read."""
        found: dict[str, dict[str, Value]] = {}
        for case, attribute, status, value in self.inspector.finder().verdicts(self.arm.id):
            found.setdefault(case, {})[attribute] = status if value is None else value
        return found

    def read(self, case: str) -> DeliberationRecord:
        """Its deliberation on a case, under the side's whole name."""
        found = self.inspector.reader.read(case, self.arm.name)
        return found._replace(verdict=found.verdict.model_copy(update={"arm": str(self)}))


class FolderInspector:
    """The web application that shows the runs of a folder, read-only."""

    def __init__(self, folder: Path) -> None:
        self.token = secrets.token_urlsafe(24)
        self._folder = folder
        self._inspectors: dict[str, Inspector] = {}
        self._names: dict[str, str] = {}
        self._unread: list[str] = []
        back = Page("runs", "Runs", "r", self._list, path="..")
        for number, run in enumerate(runs_in(folder), start=1):
            self._names[str(number)] = run.relative_to(folder).as_posix()
            try:
                self._inspectors[str(number)] = Inspector(run, token=self.token, around=(back,))
            except VenireError as refusal:
                self._unread.append(str(refusal))
        newest_first = sorted(self._inspectors.items(), key=lambda each: -(_last_written(each[1]) or 0.0))
        self._inspectors = dict(newest_first)
        self._static = static_handlers()

    def app(self) -> web.Application:
        app = guarded_app(self.token)
        app.router.add_get(f"/{self.token}/", self._runs_page)
        app.router.add_get(f"/{self.token}/beside", self._beside)
        for path, handler in self._static.items():
            app.router.add_get(f"/{self.token}/{path}", handler)
        app.router.add_get(f"/{self.token}/{{run}}/{{path:.*}}", self._in_run)
        return app

    def start(self) -> None:
        """Read the scores of every run, one after the other."""

        def read() -> None:
            for inspector in self._inspectors.values():
                inspector.index.catch_up()

        threading.Thread(target=read, name="venire-folder", daemon=True).start()

    def close(self) -> None:
        for inspector in self._inspectors.values():
            inspector.close()

    async def _in_run(self, request: web.Request) -> web.StreamResponse:
        inspector = self._inspectors.get(request.match_info["run"])
        handler = None if inspector is None else inspector.handlers.get(request.match_info["path"])
        if inspector is None or handler is None:
            raise NotThere("There is no such page.")
        inspector.start()
        return await handler(request)

    async def _runs_page(self, request: web.Request) -> web.Response:
        return self._page("Runs", "runs", *await self._list(request))

    async def _list(self, request: web.Request) -> Sequence[Child]:
        heads = ("run", "last written", "models and prompts", "juries", "cases", "cost", "headline")
        rows = [self._cells(number, inspector) for number, inspector in self._inspectors.items()]
        return (
            heading("Runs", quiet(f"{len(rows)} in {self._folder}"), level=1),
            self._choice(),
            element(
                "table",
                {"class": "list"},
                element("thead", None, element("tr", None, [element("th", {"scope": "col"}, head) for head in heads])),
                element("tbody", None, [
                    element("tr", None, element("th", {"scope": "row"}, name), [
                        element("td", {"data-label": head}, cell) for head, cell in zip(heads[1:], cells, strict=True)
                    ])
                    for name, *cells in rows
                ]),
            ),
            [element("p", {"class": "calm"}, f"not read: {words}") for words in self._unread],
        )  # fmt: skip

    def _cells(self, number: str, inspector: Inspector) -> Sequence[Child]:
        store, arms = inspector.store, inspector.store.arms()
        written = _last_written(inspector)
        models = [*inspector.models(), *([prompts_words(arms)] if arms else [])]
        return [
            element("a", {"href": f"./{number}/"}, shorten(self._names[number], 60)),
            element("time", None, f"{datetime.fromtimestamp(written):%Y-%m-%d %H:%M}") if written else "–",
            element("ul", None, [element("li", None, model) for model in models]),
            shorten(", ".join(arm.name for arm in arms), 80),
            f"{len(store.case_ids()):,}",
            store.cost().price,
            _lines(headline(inspector)),
        ]

    def _sides(self) -> dict[str, Side]:
        sides = [
            Side(number, self._names[number], inspector, arm)
            for number, inspector in self._inspectors.items()
            for arm in inspector.store.arms()
        ]
        return {side.key: side for side in sides}

    def _choice(self, *chosen: Side) -> Html | None:
        """Two lists of every run's juries to choose from; nothing where there is only one."""
        sides = self._sides()
        if len(sides) < 2:
            return None
        newest, *rest = sides.values()
        other = next((side for side in rest if side.number != newest.number), rest[0])
        picked = [side.key for side in chosen or (other, newest)]
        lists = [
            element("label", None, words, element("select", {"name": name}, [
                element("option", {"value": key, "selected": key == held}, str(side)) for key, side in sides.items()
            ]))
            for words, name, held in zip(("this jury", "and this jury"), "ab", picked, strict=True)
        ]  # fmt: skip
        button = element("button", {"type": "submit"}, "Side by side")
        return element("form", {"class": "filter", "action": "./beside", "method": "get"}, lists, button)

    async def _beside(self, request: web.Request) -> web.Response:
        sides, case = self._sides(), request.query.get("id")
        one, two = (sides.get(request.query.get(name, "")) for name in "ab")
        if one is None or two is None:
            raise NotThere("There is no such jury in these runs.")
        if case is None:
            return self._page("Side by side", "beside", *self._both(one, two))
        read = [side.read(case) for side in (one, two)]
        links = [
            element("a", {"href": f"./{side.number}/case?{urlencode({'id': case, 'in_arm': side.arm.name})}"}, f"read {side}")
            for side in (one, two)
        ]  # fmt: skip
        back = element("a", {"href": _address(one, two)}, "all cases")
        way = fragment(
            element("nav", {"class": "arms", "aria-label": "Runs"}, back, links),
            one.judged_by(),
            two.judged_by(),
        )
        verdicts = [(each.verdict, each.rubric) for each in read]
        main = comparison_view(CaseSearch(), (), one.inspector.store.case(case), verdicts, way=way)
        return self._page(case, "compare", main)

    def _both(self, one: Side, two: Side) -> Sequence[Child]:
        before, after = one.verdicts(), two.verdicts()
        apart = {
            case: {name: distance(score, after[case][name]) for name, score in before[case].items() if name in after[case]}
            for case in before
            if case in after
        }  # fmt: skip
        furthest = sorted(apart, key=lambda case: (-max(apart[case].values(), default=0.0), case))
        distances = [each for case in apart.values() for each in case.values()]
        told = f"{count_words(len(apart), 'case')} judged in both runs; {distances.count(0.0):,} of {len(distances):,} verdicts are the same"
        pair = one.arm.rubric.compares
        rows = [
            [
                element("a", {"href": _address(one, two, id=case)}, shorten(case, 60)),
                ", ".join(
                    f"{name} {score_words(before[case][name], pair=pair)} and {score_words(after[case][name], pair=pair)}"
                    for name, moved in apart[case].items()
                    if moved
                )
                or "the same",
            ]
            for case in furthest[:MOST]
        ]
        return (
            heading(f"{one} and {two}", level=1),
            self._choice(one, two),
            one.judged_by(),
            two.judged_by(),
            element("p", {"class": "quiet"}, told),
            scrolling_table("Side by side", ("case", "verdicts that differ"), rows),
            quiet(f"only the {MOST} cases that differ most are listed") if len(apart) > MOST else None,
        )

    def _page(self, title: str, here: str, *main: Child) -> web.Response:
        text = inspector_page(title, self._folder.resolve().name, "", here, None, None, (), *main)
        return web.Response(text=text, content_type="text/html")


def headline(inspector: Inspector) -> list[str]:
    """What a run found, in lines: a report's first sentence, or each arm's mean scores as far as they are read."""
    study, board = inspector.study.document() or {}, inspector.board.document() or {}
    if said := [*study.get("advice", ()), *board.get("sentences", ())]:
        return [str(said[0])]
    arms = inspector.store.arms()
    # Asked first: what is read between the two questions is not yet read, rather than missing.
    scored, _ = inspector.index.read_to
    counts = inspector.index.score_counts(arms)
    lines = []
    for arm in arms:
        found = [_result(each, arm) for each in counts.summaries(arm) if each.n]
        lines += [f"{arm.name}: {', '.join(found)}"] if found else []
    if lines:
        return lines
    last = last_shown(inspector.store)
    if not last:
        return ["no case has been judged yet"]
    return ["no verdict was reached" if scored >= last else "no scores have been loaded yet"]


def _lines(lines: Sequence[str]) -> Html:
    """The first lines as a list, each as far as its last whole figure that fits."""
    fitting = [
        line if len(line) <= LINE else f"{line[:LINE].rpartition(', ')[0]}, …" for line in lines[:LINES]
    ]
    more = [f"and {len(lines) - LINES} more"] if len(lines) > LINES else []
    return element("ul", None, [element("li", None, line) for line in (*fitting, *more)])


def _result(summary: ScoreSummary, arm: Arm) -> str:
    """The mean of an attribute; where its scale has none, how often each answer was given."""
    if summary.mean is not None:
        return f"{summary.attribute} {summary.mean:.2f}"
    answers = (
        f"{score_words(value, pair=arm.rubric.compares)} {times:,}"
        for value, times in summary.counts
        if times
    )
    return f"{summary.attribute} ({', '.join(answers)})"


def _address(one: Side, two: Side, **more: str) -> str:
    return f"./beside?{urlencode({'a': one.key, 'b': two.key, **more})}"
