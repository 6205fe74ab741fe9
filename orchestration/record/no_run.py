"""The error for a place where no run is."""

from __future__ import annotations

from ...rubrics.errors import VenireError


def no_run(place: object) -> VenireError:
    """The error that names the place."""
    return VenireError(f"{place}: no run there", remedy="name the directory given to venire run -o")
