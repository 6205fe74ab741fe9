"""Normalisation: named steps that make two texts alike where a difference is no error, listed in a file."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.yaml_files import load_yaml, wrong
from .number_words import number_words

LIBRARY = Path(__file__).parent / "normal"
PLAIN = "plain"

Change = Callable[[str], str]


@cache
def _punctuation() -> dict[int, None]:
    """Every character that Unicode calls punctuation, to be deleted."""
    return {
        code: None for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("P")
    }


def _spaces(text: str) -> str:
    return " ".join(text.split())


def _without_punctuation(text: str) -> str:
    return text.translate(_punctuation())


STEPS: dict[str, Change] = {
    "numbers-en-gb": number_words,
    "lower": str.lower,
    "hyphens-to-spaces": lambda text: re.sub("[-\u2010-\u2015]", " ", text),
    "delete-punctuation": _without_punctuation,
    "spaces": _spaces,
    "nfkc": lambda text: unicodedata.normalize("NFKC", text),
}
"""Steps that take nothing. `drop-words` takes a list of words."""
DROP = "drop-words"


class Normalisation(BaseModel):
    """A list of steps, done in order to both texts of a pair."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: int = 1
    description: str = ""
    steps: tuple[str | dict[str, tuple[str, ...]], ...] = Field(min_length=1)
    """The name of a step, or `drop-words: [um, uh]`."""

    @field_validator("steps", mode="after")
    @classmethod
    def _check_steps(cls, steps: tuple[Any, ...]) -> tuple[Any, ...]:
        for place, step in enumerate(steps):
            names = [step] if isinstance(step, str) else list(step)
            legal = list(STEPS) if isinstance(step, str) else [DROP]
            for name in names:
                if name not in legal:
                    raise wrong(f"no step named {name!r}\n{nearest(name, [*STEPS, DROP])}", place)
        return steps

    def __call__(self, text: str) -> str:
        """The text after every step."""
        for step in self.steps:
            if isinstance(step, str):
                text = STEPS[step](text)
            else:
                dropped = frozenset(step[DROP])
                text = " ".join(word for word in text.split() if word not in dropped)
        return text

    @property
    def short_names(self) -> list[str]:
        """The steps without the words that they take."""
        return [s if isinstance(s, str) else f"{DROP} ({len(s[DROP])} words)" for s in self.steps]

    @property
    def step_names(self) -> list[str]:
        """The steps as a report prints them."""
        return [s if isinstance(s, str) else f"{DROP} ({', '.join(s[DROP])})" for s in self.steps]


def load_normalisation(name_or_path: str | Path) -> Normalisation:
    """The normalisation in a file, or the library's of that name."""
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml"):
        return load_yaml(path, Normalisation)
    known = sorted(each.stem for each in LIBRARY.glob("*.yaml"))
    if str(name_or_path) not in known:
        raise VenireError(
            f"no normalisation named {str(name_or_path)!r}", remedy=nearest(str(name_or_path), known)
        )
    return load_yaml(LIBRARY / f"{name_or_path}.yaml", Normalisation)
