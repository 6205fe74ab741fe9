"""One part of a comparison's report: what was found, drawn, and said in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from .drawing import Figure


@dataclass(frozen=True, slots=True)
class Section:
    """An analysis as `venire compare` shows it: in the terminal its sentences, in the report all of it."""

    name: str
    """The key in `--json`, and the start of the names of its tables and figures on disk."""
    title: str
    sentences: tuple[str, ...]
    """What it means, for somebody who reads nothing else. Never empty: what could not be told is said too."""
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """By caption."""
    methods: tuple[str, ...] = ()
    """The choices made, for the methods paragraph."""
    notes: tuple[str, ...] = ()
    """What could not be done, and why."""
