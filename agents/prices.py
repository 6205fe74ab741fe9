"""Prices: what tokens cost, where the user says so. What nobody says stays unknown, and unknown is never 0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, RootModel

from ..rubrics.yaml_files import load_yaml
from .model import Usage

MILLION = 1_000_000


class Price(BaseModel):
    """USD for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of the part of the prompt that the provider had in its cache; the prompt's price, unless it is said."""

    def usd(self, usage: Usage) -> float | None:
        """What a call cost; None where the provider counted no tokens."""
        if not usage.total:
            return None
        cached = self.prompt if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        return (fresh * self.prompt + usage.cached * cached + usage.completion * self.completion) / MILLION

    def most_usd(self, prompt: int, completion: int) -> float:
        """What a call with so many tokens costs at the most, whatever of the prompt turns out to be cached."""
        dearest = max(self.prompt, self.cached or 0.0)
        return (prompt * dearest + completion * self.completion) / MILLION


FREE = Price(prompt=0, completion=0)


class _PriceList(RootModel[dict[str, Price]]):
    """A file of prices: each model string with its own."""


def load_prices(path: Path) -> Mapping[str, Price]:
    """The prices in a YAML file, by model string as a jury has it."""
    return load_yaml(path, _PriceList).root
