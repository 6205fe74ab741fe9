"""The error for a place where no run is."""

from __future__ import annotations

from ...rubrics.errors import VenireError


class NoRun(VenireError):
    """There is no run at a place that was named."""


def no_run(place: object, *, remedy: str = "name the directory given to venire run -o") -> NoRun:
    """The error that names the place."""
    return NoRun(f"{place}: no run there", remedy=remedy)
