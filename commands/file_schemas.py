"""The JSON schemas of the files that people write, made from the models that those files are read as."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from ..evals.optimising.schema import OptimisationFile
from ..evals.studies.study import Study
from ..evals.training.settings import TrainFile
from ..orchestration.reading.transcript_format import SavedDeliberation
from ..personas.jury import Jury
from ..personas.persona import Persona
from ..rubrics.rubric import Rubric

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILES: Mapping[str, type[BaseModel]] = {
    "jury": Jury,
    "optimisation": OptimisationFile,
    "persona": Persona,
    "rubric": Rubric,
    "study": Study,
    "train": TrainFile,
    "transcript": SavedDeliberation,
}
"""By kind of file, the model that it is read as."""


def file_schema(kind: str) -> dict[str, Any]:
    """The JSON schema of one kind of file, as it may be written: shorter forms too, and what each key means."""
    schema = FILES[kind].model_json_schema(schema_generator=_Described)
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
