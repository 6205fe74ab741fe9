"""The file that says what a juror is to be taught from: TRAIN.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from ...agents.model_client import DEFAULT_CONTEXT
from ...rubrics.files import load_yaml
from ...rubrics.rubric import Name


class TrainFile(BaseModel):
    """What the examples are made from, and who is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    cases: Path
    """The cases that were rated; paths are relative to the file."""
    ratings: Path
    """What reviewers said of them, in long form, or with `wide: true` one column an attribute."""
    wide: bool = False
    rubric: str
    """A rubric of the library, or a file."""
    persona: str | None = None
    """Whose point of view the prompt gives; without one, no stance."""
    seed: int = 0
    context: int = Field(default=DEFAULT_CONTEXT, gt=0)
    """Tokens that the model to be trained reads: a longer prompt is left out, and counted."""

    @field_validator("cases", "ratings")
    @classmethod
    def _beside_the_file(cls, value: Path, info: ValidationInfo) -> Path:
        return _beside(info) / value.expanduser()

    @field_validator("rubric", "persona")
    @classmethod
    def _library_or_file(cls, value: str | None, info: ValidationInfo) -> Any:
        is_file = value is not None and value.endswith((".yaml", ".yml"))
        return str(_beside(info) / str(value)) if is_file else value


def _beside(info: ValidationInfo) -> Path:
    return (info.context or {}).get("beside", Path())


def load_train_file(path: Path) -> TrainFile:
    """The file at `path`; what is wrong with it is said with its line."""
    return load_yaml(path, TrainFile)
