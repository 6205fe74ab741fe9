"""What commands share: where a run is, and how things are printed."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from ..agents.clients.batch import BatchSettings
    from ..orchestration.reading.status import UnreachedModel
    from ..personas import Jury

Command = Callable[..., Any]

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
FULL = click.option("--full", is_flag=True, help="Print the whole report, not only its first page.")
REQUIRE = click.option(
    "--require",
    "required",
    multiple=True,
    metavar="NAME>=NUMBER",
    help="Lowest score that an arm or system may have; exit status 1 if one is below it.",
)
QUIET = click.option("--quiet", is_flag=True, help="Show no progress.")
BATCH = click.option(
    "--batch",
    is_flag=True,
    help="Send model calls in batches, which costs half as much but takes hours instead of minutes.",
)
POLL = click.option(
    "--poll",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="With --batch: seconds between two checks of a batch.",
)
MODEL = click.option(
    "--model", help="Model for every juror and orchestrator whose model the jury file does not name."
)
BASE_URL = click.option("--base-url", help="Address of the server that runs the model of --model.")
IN_FLIGHT = click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    help="Largest number of model calls at the same time.",
)
RPM = click.option(
    "--rpm", type=click.IntRange(min=1), help="Largest number of requests per minute to each provider."
)
TPM = click.option(
    "--tpm", type=click.IntRange(min=1), help="Largest number of tokens per minute to and from each provider."
)
MAX_USD = click.option(
    "--max-usd", type=click.FloatRange(min=0, min_open=True), help="Stop when this many US dollars are spent."
)
MAX_TOKENS = click.option("--max-tokens", type=click.IntRange(min=1), help="Stop after this many tokens.")
MAX_SECONDS = click.option(
    "--max-seconds", type=click.FloatRange(min=0, min_open=True), help="Stop after this many seconds."
)
PRICES = click.option(
    "--prices",
    type=click.Path(path_type=Path),
    help="File of prices, for models whose price is unknown or different.",
)
ARM = click.option("--arm", help="Only this jury's deliberations.")
RETRY = click.option(
    "--retry", is_flag=True, help="Judge again the cases for which a model could not be reached."
)
RESAMPLES = click.option(
    "--resamples",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Number of resamples or simulations.",
)
NO_RESAMPLES = click.option("--resamples", type=int, expose_value=False, hidden=True)
"""Accepted where nothing is resampled."""
METHOD = click.option(
    "--method",
    type=click.Choice(["jackknife", "f"]),
    default="jackknife",
    show_default=True,
    help="Kind of interval for the ICC. 'f' is the published F interval, which contains the true value in only 45 to 85% of studies if most scores are the best one.",
)
REFERENCE = click.option(
    "--reference",
    type=click.Choice(["mean", "median", "majority"]),
    help="How people's ratings become one reference (default: median; always the majority on nominal and binary scales).",
)

HARMFUL = click.option(
    "--harmful",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.25,
    show_default=True,
    help="A case is harmful if people's reference is within this share of the scale from its bad end.",
)
MARGIN = click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="A score counts as wrong if it differs from people's reference by this share of the scale or more.",
)


class Registered(click.Option):
    """An option that takes a name registered under an entry point group; its help lists those there are, plug-ins' among them."""

    def __init__(self, *names: Any, group: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.group = group
        self.begins = self.help or ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from ..rubrics.plugins import registered_plugins

        self.help = f"{self.begins}: {', '.join(registered_plugins(self.group))}."
        return super().get_help_record(ctx)


HOST = (
    click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at."),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=8642,
        show_default=True,
        help="Port to listen on; 0 takes any free one.",
    ),
    click.option(
        "--allow-host",
        multiple=True,
        metavar="NAME",
        help="A further host name to accept, such as a proxy's or a domain; repeatable.",
    ),
    click.option(
        "--tls-cert",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Serve HTTPS with this certificate chain (PEM).",
    ),
    click.option(
        "--tls-key",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The certificate's private key (PEM).",
    ),
)


def with_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """A decorator that gives a command these options."""
    return lambda command: reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def filled_juries(
    juries: Iterable[Jury], model: str | None = None, base_url: str | None = None
) -> list[Jury]:
    """The juries with `model` in every seat that names none; at a terminal, the embedded model is offered where there is no other."""
    filled = [jury.fill(model=model, base_url=base_url) for jury in juries]
    return [jury.fill(model="local") for jury in filled] if embedded_wanted(filled) else filled


def embedded_wanted(juries: Iterable[Jury]) -> bool:
    """Whether a person at the terminal, asked because one of the juries names no model, wants the embedded one."""
    from ..orchestration.deliberate import seats_without_model

    jury, unnamed = next(
        ((jury, seats) for jury in juries if (seats := seats_without_model(jury))), (None, ())
    )
    if jury is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say(f"the jury {jury.name!r} names no model for {', '.join(unnamed)}", err=True)
    question = "Judge with the small embedded model, which is for trying things out?"
    return click.confirm(question, default=False, err=True)


def location(run: str) -> Path | str:
    """A run's directory, or the address of its database."""
    return run if run.startswith(("postgresql://", "postgres://")) else Path(run)


RUN = click.argument("run", type=location)


def sheet_option(*tables: str) -> Callable[[Command], Command]:
    """`--sheet NAME` for a command that reads the files in these parameters: where one is a workbook, `FILE#NAME` takes its place.

    Without it the first sheet that is not hidden is read, and a line on stderr says which where there are several.
    """

    def with_sheet(command: Command) -> Command:
        @wraps(command)
        def read_sheet(*args: Any, sheet_name: str | None, **values: Any) -> Any:
            from ..rubrics.errors import VenireError
            from ..rubrics.files import is_workbook

            books = [name for name in tables if isinstance(values[name], Path) and is_workbook(values[name])]
            if sheet_name is not None and not books:
                raise VenireError(
                    f"--sheet {sheet_name} names a sheet, but no workbook was given",
                    remedy="leave out --sheet, or name a workbook",
                )
            for name in books:
                from ..rubrics.workbook import data_sheet

                if sheet_name is not None:
                    values[name] = Path(f"{values[name]}#{sheet_name}")
                    continue
                values[name], note = data_sheet(values[name])
                if note:
                    say(note, err=True)
            return command(*args, **values)

        option = click.option(
            "--sheet", "sheet_name", metavar="NAME", help="Sheet of a workbook (default: the first)."
        )
        return option(read_sheet)

    return with_sheet


def console(*, stderr: bool = False) -> Console:
    from ..orchestration.reading.console import SafeConsole

    return SafeConsole(stderr=stderr)


def say(words: str, *, err: bool = False) -> None:
    """Print a line; control characters in it, which may come from a file or a model, are replaced."""
    from ..rubrics.errors import without_controls

    click.echo(without_controls(words), err=err)


def say_unreached(models: Sequence[UnreachedModel]) -> None:
    """Say on stderr which models some cases lack, why, and how they are asked again."""
    for model in models:
        say(str(model), err=True)
    say(
        "some cases lack the ballots of these models; to ask the models again, run the same command with --retry",
        err=True,
    )


def exit_unless_met(required: Sequence[str], scores: Mapping[str, float]) -> None:
    """Exit with 1 where a score misses what is required of it, and say which."""
    from ..orchestration.reading.requirements import missed_bounds

    missed = missed_bounds(required, scores)
    for line in missed:
        say(f"requirement not met: {line}", err=True)
    if missed:
        raise SystemExit(1)


def say_who_waits(run: Path | str) -> None:
    """Name the people whose ballots the deliberations of `run` wait for, and the command with which they vote."""
    from ..agents.desk import seated_people

    for person in seated_people(run):
        if person.waiting:
            say(f"{person}: venire sit {run} --as {person.name}", err=True)


def say_sealed(run: Path | str) -> None:
    """Say how many cases are kept back until the people who hold a seat have voted blind on them."""
    from ..agents.desk import seated_people
    from ..orchestration.reading.export import sealed_note
    from ..orchestration.record import Store

    if seated_people(run):
        store = Store.read(run)
        try:
            note = sealed_note(store)
        finally:
            store.release()
        if note:
            say(note, err=True)


def exit_unless_whole(
    limit: str | None, unreached: Sequence[UnreachedModel] = (), *, remedy: str = "raise the limit, and "
) -> None:
    """Exit with 128 and the number of the signal that stopped it, with 3 at a limit of the budget, with 4 where cases lack a model."""
    if limit is not None and limit in signal.Signals.__members__:
        by = "Ctrl-C" if limit == "SIGINT" else limit
        say(f"stopped by {by}; run the same command again to resume", err=True)
        raise SystemExit(128 + signal.Signals[limit])
    if limit is not None:
        say(
            f"stopped: the limit {limit} was reached; {remedy}run the same command again to continue",
            err=True,
        )
        raise SystemExit(3)
    if unreached:
        say_unreached(unreached)
        raise SystemExit(4)


def batch_settings(batch: bool, poll: float) -> BatchSettings | None:
    """How batches are sent; None where calls are sent one by one."""
    if not batch:
        return None
    from ..agents.clients.batch import BatchSettings

    return BatchSettings(gather=min(2.0, 5 * poll), poll=poll, say=lambda line: say(line, err=True))


def print_json(document: Any) -> None:
    import json

    click.echo(json.dumps(document, allow_nan=False))


def report(folder: Path | str, *, as_json: bool, unreached: bool = True) -> None:
    from ..orchestration.reading.scores import report

    report(folder, None if as_json else console(), sys.stdout, unreached=unreached)
