"""JSON schemas of the files that users write, for editors that complete and check them."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

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
        from ..evals.training.train_file import TrainFile

        return TrainFile

    return {make.__name__: make for make in (jury, optimisation, persona, rubric, study, train)}


def file_schema(kind: str) -> dict[str, Any]:
    """The JSON schema of one kind of file, as it may be written: shorter forms too, and what each key means."""
    made = file_schemas()[kind]().model_json_schema(schema_generator=_Described)
    return {"$schema": DIALECT, "$id": f"{kind}.json", **made}


def schema_text(kind: str) -> str:
    """The schema as a file has it."""
    return json.dumps(file_schema(kind), indent=1) + "\n"


class _Described(GenerateJsonSchema):
    """Schemas whose keys are described by the docstrings under the fields."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        made = super().model_schema(schema)
        for name, words in field_docstrings(schema["cls"]).items():
            for part in made.get("anyOf", [made]):
                if name in part.get("properties", {}):
                    part["properties"][name].setdefault("description", words)
        return made


@cache
def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """By field of the model, or of one that it inherits from, the text that stands under it in the source."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel and each.__module__.startswith("venire."):
            body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
            assert isinstance(body, ast.ClassDef)
            found |= _texts_under_fields(body.body)
    return found


def _texts_under_fields(body: list[ast.stmt]) -> dict[str, str]:
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }
