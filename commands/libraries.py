"""What venire comes with, and what works here: rubrics, personas, juries, protocols, schema, model, doctor."""

from __future__ import annotations

from pathlib import Path

import click

from .options import JSON, console, print_json, say


def _library(noun: str, plural: str) -> click.Group:
    @click.group(name=plural, invoke_without_command=True, help=f"List, show and check {plural}.")
    @click.pass_context
    def group(context: click.Context) -> None:
        if context.invoked_subcommand is None:
            context.invoke(list_all)

    @group.command(name="list", help=f"List the library's {plural}.")
    def list_all() -> None:
        from ..orchestration.reading.catalogue import catalogue

        console().print(catalogue(plural))

    @group.command(name="show", help=f"Print one {noun}.")
    @click.argument("name")
    def show_one(name: str) -> None:
        from ..orchestration.reading.catalogue import description

        say(description(plural, name))

    return group


def _with_files(noun: str, plural: str) -> click.Group:
    group = _library(noun, plural)

    @group.command(name="check", help=f"Check whether FILE can be used as a {noun}.")
    @click.argument("file", type=click.Path(path_type=Path))
    def check(file: Path) -> None:
        from ..orchestration.reading.catalogue import check_file

        say(check_file(plural, file))

    return group


rubrics = _with_files("rubric", "rubrics")
personas = _with_files("persona", "personas")
juries = _with_files("jury", "juries")
protocols = _library("protocol", "protocols")


@click.command(short_help="Print the JSON schemas of the files that you write, for your editor.")
@click.argument("kind", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write all schemas to this folder.",
)
def schema(kind: str | None, output: Path | None) -> None:
    """Print the JSON schema of one KIND of file, or write all with -o, so that an editor completes and checks your files."""
    from ..rubrics.errors import VenireError
    from ..rubrics.files import nearest
    from .file_schemas import FILES, schema_text

    kinds = list(FILES)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for name in kinds:
            (output / f"{name}.json").write_text(schema_text(name), encoding="utf-8")
        say(
            f"{len(kinds)} schemas written to {output}; to check a jury file in your editor, begin it with: # yaml-language-server: $schema={output}/jury.json"
        )
    elif kind in kinds:
        click.echo(schema_text(kind), nl=False)
    elif kind is None:
        say("\n".join(kinds))
    else:
        raise VenireError(f"no schema named {kind!r}", remedy=nearest(kind, kinds))


@click.group()
def model() -> None:
    """Install or check the embedded model's weights."""


@model.command()
def install() -> None:
    """Install the weights of the embedded model and check their hash."""
    from ..agents.clients.weights import install_weights

    say(f"installed and checked: {install_weights().path.name}")


@model.command(name="check")
def check_model() -> None:
    """Check that the weights of the embedded model are installed and intact."""
    from ..agents.clients.weights import INSTALL, check_weights
    from ..rubrics.errors import VenireError

    weights = check_weights()
    if not weights.intact:
        raise VenireError(f"{weights.path.name} is damaged or of another version", remedy=f"run: {INSTALL}")
    say(f"whole: {weights.path.name}")


@click.command(short_help="Check what is installed, which keys are set and what works.")
@JSON
def doctor(as_json: bool) -> None:
    """Check what is installed, which keys are set (their values are never printed) and what works."""
    from ..agents.doctor import diagnose, diagnosis_table

    diagnosis = diagnose()
    if as_json:
        print_json(diagnosis)
    else:
        console().print(diagnosis_table(diagnosis))
