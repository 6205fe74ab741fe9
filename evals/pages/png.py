"""Figures as PNG, for programs that take no SVG: black ink on white, at twice the size."""

from __future__ import annotations

from importlib.util import find_spec

from ...rubrics.errors import MissingExtra, VenireError
from ..figures.drawing import Figure, Picture, text
from .svg import svg

ZOOM = 2
PAPER = "#ffffff"


def check_png() -> None:
    """Make sure that figures, their words among them, can be drawn here.

    Raises:
        MissingExtra: The package that draws is not installed.
        VenireError: The system has no font, so that figures would be without words.
    """
    if find_spec("resvg_py") is None:
        raise MissingExtra("PNG figures need resvg", remedy="pip install 'venire[png]'")
    blank, word = (Figure("", [Picture(20, 20, shapes)]) for shapes in ([], [text(0, 16, "x")]))
    if png(word) == png(blank):
        raise VenireError(
            "no font was found to write the figures' words with",
            remedy="install one (Debian: apt install fonts-dejavu-core), or use the SVG figures",
        )


def png(figure: Figure) -> bytes:
    """The figure as PNG; what takes the page's colour is black."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg(figure), background=PAPER, zoom=ZOOM))
