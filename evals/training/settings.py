"""How a judge is trained: the settings of supervised fine-tuning and of preferences, with the published ones as recipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


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
