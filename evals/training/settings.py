"""How a judge is trained: TRAIN.yaml, the settings of both stages (SFT, then DPO), and the published ones as recipes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from ...agents.model_client import DEFAULT_CONTEXT
from ...rubrics.rubric import Name
from ...rubrics.yaml_files import load_yaml


class StageSettings(BaseModel):
    """What both stages have: steps of AdamW over batches, with a low-rank change or on all weights."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int = Field(default=16, ge=1)
    alpha: float = Field(default=32, gt=0)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    rate: float = Field(default=2e-4, gt=0)
    """Learning rate after 5% of warm-up; it falls to nothing along a cosine."""
    batch: int = Field(default=8, ge=1)
    epochs: int = Field(default=3, ge=1)
    steps: int | None = Field(default=None, ge=1)
    """This many steps instead of epochs."""
    patience: int = Field(default=3, ge=1)
    """Looks at the dev split without an improvement (one an epoch, or each tenth of `steps`) after which it stops."""


class SFTSettings(StageSettings):
    """Supervised fine-tuning: imitate the reviewers' ballots."""


class DPOSettings(StageSettings):
    """Preferences: the reviewers' median over a more lenient ballot, measured against the model that the first stage made."""

    rank: int = Field(default=8, ge=1)
    alpha: float = Field(default=16, gt=0)
    rate: float = Field(default=5e-6, gt=0)
    beta: float = Field(default=0.1, gt=0)
    epochs: int = Field(default=1, ge=1)


class Recipe(BaseModel):
    """Settings of both stages under a name."""

    model_config = ConfigDict(frozen=True)

    method: Literal["lora", "qlora", "full"]
    sft: SFTSettings
    dpo: DPOSettings


RECIPES: Mapping[str, Recipe] = {
    "small": Recipe(method="lora", sft=SFTSettings(), dpo=DPOSettings()),
    # Croxford et al., "LLM-as-a-Judge for clinical summaries", Tables 5 and 6.
    "llama-3.1-8b": Recipe(
        method="qlora",
        sft=SFTSettings(rank=64, alpha=256, dropout=0.0, rate=1e-4, batch=32),
        dpo=DPOSettings(rank=8, alpha=8, dropout=0.1, rate=1e-7, batch=1, beta=0.5),
    ),
    "mixtral-8x22b": Recipe(
        method="qlora",
        sft=SFTSettings(rank=8, alpha=8, dropout=0.1, rate=1e-7, batch=16),
        dpo=DPOSettings(rank=8, alpha=8, dropout=0.1, rate=1e-7, batch=1, beta=0.7),
    ),
}


class SearchSettings(BaseModel):
    """A search over rank, alpha and rate (SFT, by dev loss), then rate and beta (DPO, by dev margin), before the training."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trials: int = Field(default=8, ge=1)
    ranks: tuple[int, ...] = (8, 16, 32, 64)
    rates: tuple[float, float] = (1e-5, 1e-3)
    """Of SFT; those of DPO lie a hundredth of it lower."""
    betas: tuple[float, float] = (0.05, 0.7)


class TrainFile(BaseModel):
    """What the examples are made from, who is asked, and how the model is trained on them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    cases: Path
    """The cases that were rated; paths are relative to the file."""
    ratings: Path
    """What reviewers said of them, one a row or one column an attribute."""
    wide: bool = False
    """Not needed any more: the form of the ratings is recognised."""
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
            raise ValueError(f"no recipe named {value!r}\nuse one of {', '.join(RECIPES)}")
        return value

    @property
    def settings(self) -> Recipe:
        """The recipe with what the file says instead of it."""
        overrides = {"method": self.method, "sft": self.sft, "dpo": self.dpo or None}
        return RECIPES[self.recipe].model_copy(update={k: v for k, v in overrides.items() if v is not None})

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
