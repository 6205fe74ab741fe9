"""Personas: points of view, in words."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from ..rubrics.plugins import library_file
from ..rubrics.rubric import Name
from ..rubrics.yaml_files import load_yaml

LIBRARY = Path(__file__).parent / "library"
GROUP = "venire.personas"


class Persona(BaseModel):
    """Who is asked: what this reader attends to, and how they see it. Not a model, not a format."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    version: int
    attends_to: str = Field(min_length=1)
    voice: str = Field(min_length=1)


def load_persona(name_or_path: str | Path) -> Persona:
    """The persona in a file, or the library's persona of that name."""
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml"):
        return load_yaml(path, Persona)
    return load_yaml(library_file(GROUP, str(name_or_path), "persona"), Persona)
