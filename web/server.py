"""The inspector of a run: its pages, and the addresses they answer at."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from aiohttp import web

from ..agents.desk import seated_people
from ..evals import suites
from ..evals.report.markup import Child, Html, element, fragment
from ..evals.transcripts.alignment import Alignment
from ..orchestration.reading.analysis import Flag
from ..orchestration.reading.show import judges_line, models_of, prompts_words
from ..orchestration.reading.side_by_side import beside_parent, controlled_run, controls_beside
from ..orchestration.reading.status import going_words
from ..orchestration.record import Location, Store
from ..rubrics.ratings import Rating
from .deliberation_reader import DeliberationReader, DeliberationRecord, NotThere, last_shown, run_name
from .figures import SYSTEMS, FiguresWorker, Keep, KeptFigure, keep_systems, kept_figure
from .index import Index
from .index_writer import open_index
from .loopback import Handler, guarded_app, serve_until_interrupted, static_handlers
from .pages.cases import FilterValues, cases_view
from .pages.comparison import comparison_view, replay_section
from .pages.deliberation import arm_choice, copy_buttons, deliberation_view, neighbours, side_by_side
from .pages.frame import Page, Reach, inspector_page, quiet
from .pages.overview import overview
from .pages.people import SHOWN, people_search, people_view
from .pages.proceedings import progress_section, progress_view
from .pages.reports import (
    board_view,
    controls_view,
    scenario_view,
    section_view,
    study_view,
    systems_view,
    talks_view,
)
from .pages.votes import Revisions
from .people import KeptDifferences, People, keep_differences, people_of_run
from .reports import ReportReader, record_of, study_report, suite_folder, suite_report
from .search import CaseSearch, Finder

SOUGHT = 1_000
"""Deliberations in progress among which a case is looked for."""
GOING = 12
"""Deliberations in progress that the overview names."""


class Inspector:
    """The web application that shows one run, read-only: no request changes anything."""

    def __init__(
        self,
        run: Location,
        *,
        token: str | None = None,
        people: People | None = None,
        talks: Sequence[Alignment] = (),
        controls: Location | None = None,
        around: Sequence[Page] = (),
        still: bool = False,
        prompts: bool = True,
    ) -> None:
        """`around`: pages beyond this run that its menu leads to. `still`: pages that ask no server for anything.

        `prompts`: whether the page of a case has what models were sent and replied.
        """
        self._still, self._prompts = still, prompts
        self.people = people
        self._around = around
        self._controls = controls
        self.talks = tuple(talks)
        self.token = token or secrets.token_urlsafe(24)
        self.board = suite_report(run)
        run = record_of(run)
        self._location = run
        self.store = Store.read(run)
        self.index = Index(run)
        self.differences = KeptDifferences(self.index.reading, people.digest) if people else None
        self._figures_worker: FiguresWorker | None = None
        self.run = self.store.name
        self.reader = DeliberationReader(self.store)
        self._name = suite.name if (suite := suite_folder(run)) else run_name(self.store)
        self.study = study_report(run)
        self._pages = self._registered_pages()
        self.handlers: dict[str, Handler] = {
            **{page.name if page.path is None else page.path: self._handler(page) for page in self._pages},
            "case": self._case,
            "compare": self._compare,
            "graph": self._graph,
            "scenario": self._scenario,
            "parent": self._beside_parent,
            "study-figure": _figure_handler(self.study),
            "board-figure": _figure_handler(self.board),
            "live": self._live,
            **static_handlers(),
        }
        """By path, below the run's own address, what answers there."""

    def app(self) -> web.Application:
        app = guarded_app(self.token)
        for path, handler in self.handlers.items():
            app.router.add_get(f"/{self.token}/{path}", handler)
        return app

    def start(self) -> None:
        """Follow the record from now on; what follows it already goes on."""
        self.index.start()
        if self._figures_worker is None and not self._still and (figures := self._figures()):
            self._figures_worker = FiguresWorker(self._location, self.index.path, figures)

    def catch_up(self) -> None:
        """Read everything that the record holds now and compute its figures, before returning."""
        self.index.catch_up()
        with closing(open_index(self.index.path)) as connection:
            for keep in self._figures().values():
                keep(self._location, connection)

    def _figures(self) -> dict[str, Keep]:
        """By name, what computes the figures that take too long for a request."""
        figures: dict[str, Keep] = {}
        if self.people is not None:
            figures[self.people.digest] = partial(keep_differences, people=self.people)
        if self._compares():
            figures[SYSTEMS] = keep_systems
        return figures

    def _compares(self) -> bool:
        return any(arm.rubric.compares for arm in self.reader.arms())

    def close(self) -> None:
        if self._figures_worker is not None:
            self._figures_worker.close()
        self.index.close()
        self.store.release()

    def _registered_pages(self) -> tuple[Page, ...]:
        """The parts of the inspector, in the menu's order. A new one is a line here. A suite opens on its board."""
        suite = self.board.there
        board = Page("board", "Board", "b", _document_view(self.board, board_view), path="")
        words = "Systems asked" if str(self._location).endswith(suites.ANSWERS) else "Juries"
        overview = Page(
            "overview", words if suite else "Overview", "o", self._overview, path="overview" if suite else ""
        )
        return (
            *([board, overview] if suite else [overview]),
            Page("list", "Answers" if suite else "Cases", "l", self._cases, path="cases"),
            Page(
                "people",
                "People",
                "p",
                self._people,
                there=lambda: self.people is not None,
                absent="Start the inspector with --human RATINGS to see people's ratings.",
            ),
            Page(
                "study",
                "Study",
                "s",
                _document_view(self.study, study_view),
                there=lambda: self.study.there,
                absent="This run does not belong to a study.",
            ),
            Page(
                "systems",
                "Systems",
                "y",
                self._systems,
                there=self._compares,
                absent="No outputs were compared in this run.",
            ),
            Page(
                "talks",
                "Said and heard",
                "h",
                self._talks,
                there=lambda: bool(self.talks),
                absent="To compare what was said with its transcript, start the inspector with --alignment A.json, the file that `venire align` writes.",
            ),
            Page(
                "controls",
                "Controls",
                "w",
                self._why_they_moved,
                there=lambda: self._controls is not None,
                absent="Start the inspector with --controls RUN to see why jurors moved.",
            ),
        )

    def _handler(self, page: Page) -> Handler:
        async def show(request: web.Request) -> web.Response:
            if not page.there():
                raise NotThere(page.absent)
            search = CaseSearch.of(request.query) if page.name == "list" else CaseSearch()
            return self._page(page.title, page.name, search, *await page.main(request))

        return show

    async def _overview(self, request: web.Request) -> Sequence[Child]:
        arms, finder = self.reader.arms(), self.finder()
        looks, _ = finder.find(CaseSearch(flag="any"))
        counts, censuses = self.index.score_counts(arms), self.index.censuses(arms)
        reach = self._reach()
        differences = self.differences.largest(SHOWN) if self.differences else None
        effects, working = self._deliberation_effects()
        going = progress_section(self.store.unfinished_deliberations(GOING), arms)
        main = overview(
            self._name,
            arms,
            censuses,
            counts,
            looks[:12],
            reach,
            differences,
            effects,
            working=working,
            going=going,
        )
        waiting = [person for person in seated_people(self._location) if person.waiting]
        notes = [element("p", {"class": "waiting"}, str(person)) for person in waiting]
        return fragment(notes), main

    async def _cases(self, request: web.Request) -> Sequence[Child]:
        search, finder = CaseSearch.of(request.query), self.finder()
        rows, total = finder.find(search)
        offered = FilterValues(
            finder.values_of("system"), finder.values_of("case_group"), finder.values_of("stop")
        )
        arms, reach = self.reader.arms(), self._reach()
        return (cases_view(search, arms, rows, total, offered, reach, filtered=not self._still),)

    async def _case(self, request: web.Request) -> web.Response:
        search, case = CaseSearch.of(request.query), request.query.get("id", "")
        finder = self.finder()
        wanted = request.query.get("in_arm")
        if (shown := self._case_in_progress(search, case, wanted)) is not None:
            return shown
        arms = self.reader.arms_of(case)
        arm = wanted or arms[0]
        read = self.reader.read(case, arm)
        before, after = finder.neighbours(search, case, arm)
        way = fragment(
            neighbours(search, before, after),
            arm_choice(search, case, arm, arms),
            copy_buttons(
                self.store.name, read.verdict, None if self.store.redacted else self.store.case(case)
            ),
        )
        rated = None if self.people is None else self.people.of(case)
        pair = beside_parent(self.store, read.verdict)
        beside = fragment(
            None if pair is None else replay_section(search, pair),
            side_by_side(search, [read.verdict, *read.others], read.rubric, rated),
        )
        said = () if self.people is None else self.people.ratings_of(case)
        flags, revisions = self._revisions(read)
        main = deliberation_view(
            read.verdict,
            read.rubric,
            self.store.case(case),
            flags,
            way=way,
            beside=beside,
            people=said,
            revisions=revisions,
            judges=judges_line(read.arm, read.verdict.transcript),
            calls=self.reader.calls(read.verdict) if self._prompts else None,
        )
        return self._page(case, "case", search, main)

    def _revisions(self, read: DeliberationRecord) -> tuple[tuple[Flag, ...], Revisions]:
        """The flags of a deliberation and what is known of its revisions, both with their controls where there are any."""
        run = None if self.store.redacted else self.store.name
        if self._controls is None:
            return read.flags, Revisions(read.verdict, run)
        from ..evals.causes.controls import controlled_moves, with_controls

        moves = controlled_moves(self._controls, read.verdict.case)
        return with_controls(read.verdict.arm, read.flags, moves), Revisions(read.verdict, run, moves)

    async def _beside_parent(self, request: web.Request) -> web.Response:
        search, case = CaseSearch.of(request.query), request.query.get("id", "")
        read = self.reader.read(case, request.query.get("in_arm", ""))
        pair = beside_parent(self.store, read.verdict)
        if pair is None:
            raise NotThere("This deliberation is not a replay, or the run that it replays is gone.")
        sides = [(pair.before, read.rubric), (pair.after, read.rubric)]
        main = comparison_view(search, (), self.store.case(case), sides, pair)
        return self._page(f"{case}: {pair.change}", "compare", search, main)

    async def _why_they_moved(self, request: web.Request) -> Sequence[Child]:
        from ..evals.causes.controls import controls_report

        assert self._controls is not None
        return (controls_view(await asyncio.to_thread(controls_report, self._controls)),)

    def _case_in_progress(self, search: CaseSearch, case: str, arm: str | None) -> web.Response | None:
        """The page of a deliberation that goes on now; None where the arm has finished the case, or has not begun it."""
        for going in self.store.unfinished_deliberations(SOUGHT):
            mine = next((each for each in self.reader.arms() if each.id == going.arm), None)
            if going.case == case and mine is not None and arm in (None, mine.name):
                words = self.store.case(case, going.fingerprint)
                main = progress_view(going, mine, words)
                return self._page(case, "progress", search, main)
        return None

    async def _compare(self, request: web.Request) -> web.Response:
        search, case = CaseSearch.of(request.query), request.query.get("id", "")
        arms = self.reader.arms_of(case)
        one = request.query.get("a") or arms[0]
        two = request.query.get("b") or next((name for name in arms if name != one), one)
        sides = [
            (read.verdict, read.rubric) for read in (self.reader.read(case, name) for name in (one, two))
        ]
        return self._page(
            f"{case}: {one} and {two}",
            "compare",
            search,
            comparison_view(search, arms, self.store.case(case), sides),
        )

    async def _graph(self, request: web.Request) -> web.Response:
        from .pages.graph import graph_view

        search, case = CaseSearch.of(request.query), request.query.get("id", "")
        arm = request.query.get("in_arm") or self.reader.arms_of(case)[0]
        read = self.reader.read(case, arm)
        return self._page(
            f"{case}: graph",
            "graph",
            search,
            graph_view(search, read.verdict, judges_line(read.arm, read.verdict.transcript)),
        )

    async def _scenario(self, request: web.Request) -> web.Response:
        name, search = request.query.get("name", ""), CaseSearch.of(request.query)
        rows = [row for row in self.board.rows(suites.CASES) if row["scenario"] == name]
        if not rows:
            raise NotThere(
                "The board has no such scenario. Make the report again: venire suite report SUITE.yaml."
            )

        finder = self.finder()

        def place(row: Mapping[str, Any]) -> str | None:
            heard = finder.arms_by_case((row["judged"], row["asked"]))
            for case, arms in (
                (row["judged"], heard.get(row["judged"], [])),
                (row["asked"], heard.get(row["asked"], [])),
            ):
                arm = (
                    row["arm"]
                    if row["arm"] in arms
                    else next(iter(arms), None)
                    if case == row["judged"]
                    else None
                )
                if arm is not None:
                    return CaseSearch().address("case", id=case, in_arm=arm)
            return None

        main = scenario_view(name, search.system, rows, search.page, place)
        return self._page(f"{name}: answers", "scenario", CaseSearch(), main)

    async def _people(self, request: web.Request) -> Sequence[Child]:
        people, kept = self.people, self.differences
        assert people is not None and kept is not None
        search, known, scored = people_search(request.query), kept.statistics(), self.index.read_to.scored
        rows, counts = kept.find(search)
        main = people_view(search, self.reader.arms(), rows, counts, people, reading=known.scored < scored)
        told = self._figures_note(
            known.told_of,
            "The number of independent votes that each jury is worth",
            "venire compare RUN --human RATINGS",
        )
        return element("section", {"data-live": "people"}, main), element(
            "section",
            {"data-live": "worth"},
            told,
            section_view("independence", known.worth) if known.worth else None,
        )

    async def _systems(self, request: web.Request) -> Sequence[Child]:
        known = self._kept_systems()
        told = self._figures_note(known.told_of, "The comparison of the systems", "venire winrate RUN")
        return (element("section", {"data-live": SYSTEMS}, systems_view(known.content, told)),)

    def _kept_systems(self) -> KeptFigure:
        return kept_figure(self.index.reading, SYSTEMS)

    def _figures_note(self, told_of: int, what: str, command: str) -> Html | None:
        """Says why figures are not there or are not of every case; None of figures that are."""
        if self._figures_worker is not None and self._figures_worker.failed:
            return quiet(f"{what} could not be computed. The command {command} says why.")
        if not told_of:
            return quiet(f"{what} is being computed, and appears here when it is ready.")
        if told_of < self.index.read_to.scored:
            return quiet(
                "More cases have been judged since the figures below were computed. The figures are being computed again."
            )
        return None

    async def _talks(self, request: web.Request) -> Sequence[Child]:
        return (talks_view(self.talks),)

    async def _live(self, request: web.Request) -> web.Response:
        reach = self._reach()
        going = self.store.unfinished_deliberations(1)
        moment = going[0].changed_at if going else 0.0
        return web.json_response(
            {
                "scored": reach.scored,
                "read": reach.flagged,
                "last": reach.last,
                "told": reach.told,
                "figures": reach.figures,
                "moment": moment,
            }
        )

    def _deliberation_effects(self) -> tuple[Sequence[str] | None, bool]:
        """What deliberation did, of the study's report or of people's ratings, and whether differences from people are still to come.

        None while that is computed.
        """
        known = self.differences.statistics() if self.differences else None
        section = (self.study.document() or {}).get("sections", {}).get("deliberation")
        if section is not None:
            effects = section.get("sentences", [])
        else:
            effects = [] if known is None else known.effects if known.told_of else None
        return effects, known is not None and known.scored < self.index.read_to.scored

    def models(self) -> list[str]:
        """The models that judged, each once, with the versions that their providers stated."""
        versions = self.index.versions()
        found = (model for arm in self.store.arms() for model in models_of(arm, versions.get(arm.id, {})))
        return list(dict.fromkeys(found))

    def finder(self) -> Finder:
        return Finder(self.index.reading, (arm.id for arm in self.reader.arms()))

    def _reach(self) -> Reach:
        known = self.differences.statistics() if self.differences else None
        figures = self._kept_systems().told_of + (known.scored + known.told_of if known else 0)
        return Reach(*self.index.read_to, last_shown(self.store), going_words(self.store), figures)

    def _page(self, title: str, here: str, search: CaseSearch, *main: Child) -> web.Response:
        pages = [*self._around, *(page for page in self._pages if page.there())]
        verb = "answered" if str(self._location).endswith(suites.ANSWERS) else "judged"
        models, arms = self.models(), self.store.arms()
        judges = f"{verb} by {'; '.join(models)} · {prompts_words(arms)}" if models else ""
        news = (None, None) if self._still else (search, self._reach())
        text = inspector_page(
            title, self._name, judges, here, *news, pages, redaction_note(self.store), *main
        )
        return web.Response(text=text, content_type="text/html")


def redaction_note(store: Store) -> Html | None:
    """A paragraph that says the run is redacted; None for any other."""
    told = (
        "This run was made with --redact: placeholders were stored instead of the texts of cases and jurors."
    )
    return element("p", {"class": "quiet"}, told) if store.redacted else None


def _document_view(
    report: ReportReader, view: Callable[[dict[str, Any] | None], Html]
) -> Callable[[web.Request], Awaitable[Sequence[Child]]]:
    async def main(request: web.Request) -> Sequence[Child]:
        return (view(report.document()),)

    return main


def _figure_handler(report: ReportReader) -> Handler:
    async def figure(request: web.Request) -> web.Response:
        drawing = report.figure(request.query.get("name", ""))
        if drawing is None:
            raise NotThere("no such figure")
        return web.Response(body=drawing, content_type="image/svg+xml", charset="utf-8")

    return figure


def inspect(
    run: Location,
    *,
    port: int,
    opened: bool,
    say: Callable[[str], None],
    ratings: Iterable[Rating] | None = None,
    talks: Sequence[Alignment] = (),
    controls: Location | None = None,
) -> None:
    """Show the run, beside people's ratings and alignments of talks where there are any, until interrupted.

    Of controls, and of a run that has some beside it, the moves say what came of them.
    """
    if (parent := controlled_run(record_of(run))) is not None:
        run, controls = parent, run
    people = None if ratings is None else people_of_run(run, list(ratings))
    for note in people.notes if people else ():
        say(f"note: {note}")
    controls = controls or controls_beside(record_of(run))
    inspector = Inspector(run, people=people, talks=talks, controls=controls)
    serve_until_interrupted(inspector, inspector.run, port=port, opened=opened, say=say)
