"""Listings: the benchmarks that a published suite is made of, whether or not anybody here may read their data."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, RootModel

from ...rubrics.yaml_files import load_yaml

FILE = Path(__file__).parent / "taxonomies" / "medhelm-listings.yml"


class Listing(BaseModel):
    """One benchmark of a suite, by its place in the taxonomy and who may have its data."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    task: str = ""
    """The category, or category/subcategory where that is known."""
    access: Literal["public", "gated", "private"]
    about: str = ""
    made: Literal["existing", "reformulated", "new"] | None = None


class _Listings(RootModel[dict[str, Listing]]):
    """A file of listings by name."""


@cache
def load_listings() -> dict[str, Listing]:
    """MedHELM's 35 benchmarks by name."""
    return {
        name: each.model_copy(update={"name": name}) for name, each in load_yaml(FILE, _Listings).root.items()
    }
