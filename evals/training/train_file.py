"""The file that says what a juror is to be taught from: TRAIN.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from ...agents.model_client import DEFAULT_CONTEXT
from ...rubrics.rubric import Name
from ...rubrics.yaml_files import load_yaml
from .settings import RECIPES, DPOSettings, Recipe, SearchSettings, SFTSettings


class TrainFile(BaseModel):
    """What the examples are made from, who is asked, and how the model is trained on them."""

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
    base: Path | None = None
    """The model to be trained: a Hugging Face folder, or a GGUF file whose weights are unpacked. Not needed for examples only."""
    gguf: Path | None = None
    """The same weights as llama.cpp will load them, where `base` is a folder: the adapter is then written for them as well."""
    recipe: str = "small"
    method: Literal["lora", "qlora", "full"] | None = None
    """Low-rank weights, the same on a base in four bits (needs a GPU and bitsandbytes), or all weights; the recipe's, if not said."""
    sft: SFTSettings | None = None
    """Instead of the recipe's."""
    dpo: DPOSettings | Literal[False] | None = None
    """Instead of the recipe's; `false` for supervised fine-tuning alone."""
    dev: float = Field(default=0.2, ge=0, lt=0.9)
    """The share of the cases, whole groups of them, by which training is stopped and settings are chosen."""
    search: SearchSettings | None = None

    @field_validator("recipe")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value not in RECIPES:
            raise ValueError(f"no recipe named {value!r}; there are {', '.join(RECIPES)}")
        return value

    @property
    def settings(self) -> Recipe:
        """The recipe with what the file says instead of it."""
        own = {"method": self.method, "sft": self.sft, "dpo": self.dpo or None}
        return RECIPES[self.recipe].model_copy(update={k: v for k, v in own.items() if v is not None})

    @field_validator("cases", "ratings", "base", "gguf")
    @classmethod
    def _beside_the_file(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        return value if value is None else _beside(info) / value.expanduser()

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
