"""People at the table: rate (people rate cases in the browser) and sit (a person in a seat of a jury)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from .options import HOST, location, say, with_options

_SERVED = (
    *HOST,
    click.option(
        "--max-connections",
        type=click.IntRange(min=1),
        default=2048,
        show_default=True,
        help="Largest number of open connections.",
    ),
)


@click.command(short_help="Let people rate cases in the browser, each by a personal link.")
@click.argument("cases", type=location)
@click.option("--rubric", help="A rubric file or name (default for a run: its own).")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="RATINGS",
    help="Folder for the ratings; unfinished ratings there resume.",
)
@click.option("--raters", metavar="NAMES", help="Names of the raters: abel,boyd. Each gets a link.")
@click.option(
    "--overlap",
    metavar="N[:CASES]",
    help="Number of raters for each case (default: all). 2:40 means two raters for 40 cases and one for each of the others.",
)
@click.option(
    "--blind/--not-blind",
    default=True,
    show_default=True,
    help="Hide the system and a run's verdicts from the raters. They never see each other's ratings.",
)
@click.option(
    "--only",
    type=click.Path(path_type=Path),
    metavar="LIST.csv",
    help="File that lists the cases to rate: from `venire triage --for estimate -o` or `venire certify -o`, or any table with a column case.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of the random choice of who rates which case, and in which order.",
)
@click.option(
    "--close",
    is_flag=True,
    help="Close the collection: write the ratings files and make all raters' links invalid.",
)
@with_options(*_SERVED)
def rate(cases: Path | str, output: Path, **options: Any) -> None:
    """Have people rate CASES, a file or a run, in the browser, until Ctrl-C.

    RATINGS/ratings.csv is the file that compare, agreement and other commands read; revisions.csv has every click and its time.
    """
    from ..evals.rating.ratings_desk import Overlap, file_ratings, open_ratings, rated_cases
    from ..evals.rating.server import serve_desk
    from ..rubrics.errors import VenireError

    found, rubric, notes = rated_cases(cases, options["rubric"], options["only"], blind=options["blind"])
    raters = [name.strip() for name in (options["raters"] or "").split(",") if name.strip()]
    overlap = Overlap.parse(options["overlap"]) if options["overlap"] else None
    desk = open_ratings(output, found, rubric, raters, overlap=overlap, seed=options["seed"], notes=notes)
    try:
        if options["close"]:
            desk.revoke_links()
            say(f"closed; written: {file_ratings(desk)}", err=True)
            return
        people = raters or list(desk.counts())
        if not people:
            raise VenireError("no rater is named", remedy="name the raters: --raters abel,boyd")
        serve_desk(desk, people, _address(options), partial(say, err=True), rating=True)
    finally:
        desk.close()


@click.command(short_help="Let people who are jurors fill in the ballots that wait for them.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--as",
    "people",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Name of a person who is a juror; repeatable.",
)
@click.option(
    "--close", is_flag=True, help="Make the links of all people who are jurors of this run invalid."
)
@with_options(*_SERVED)
def sit(run: Path, people: tuple[str, ...], close: bool, **options: Any) -> None:
    """Serve the ballots of RUN that wait for a person, until Ctrl-C. `venire run` continues with the answers."""
    from ..agents.desk import FILE, Desk
    from ..evals.rating.server import serve_desk
    from ..rubrics.errors import VenireError
    from ..rubrics.files import nearest

    if not (run / FILE).exists():
        raise VenireError(
            f"no person is on the jury of {run}, or no case has reached a person's turn yet",
            remedy="in the jury file, write model: person/NAME at a seat, and run the jury first",
        )
    desk = Desk(run)
    try:
        asked = desk.counts()
        for name in people:
            if name not in asked:
                raise VenireError(
                    f"no question was asked of a person named {name!r}", remedy=nearest(name, asked)
                )
        if close:
            desk.revoke_links()
            say("closed: the links of all people on the jury are now invalid", err=True)
            return
        serve_desk(desk, list(people), _address(options), partial(say, err=True), rating=False, only=True)
    finally:
        desk.close()


def _address(options: dict[str, Any]) -> Any:
    from ..evals.rating.server import DeskAddress

    names = ("host", "port", "allow_host", "tls_cert", "tls_key", "max_connections")
    return DeskAddress(**{name: options[name] for name in names})
