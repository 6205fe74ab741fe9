"""A figure as SVG: whole, for a file; or block by block, for a page that may be printed."""

from __future__ import annotations

from collections.abc import Mapping

from ..figures.drawing import INK, Figure, Picture, Shape
from .markup import Html, element

FONTS = "system-ui, Segoe UI, Noto Sans, DejaVu Sans, Liberation Sans, Arial, sans-serif"
"""Named ones too, for programs that do not know which font is meant by sans-serif."""


def svg(figure: Figure, attributes: Mapping[str, object] | None = None) -> Html:
    """The figure as one SVG; `attributes` are added to its outermost element."""
    if len(figure.blocks) == 1:
        return _svg(figure, figure.blocks[0].height, figure.blocks[0], attributes or {})
    parts, top = list[Html](), 0
    for block in figure.blocks:
        parts.append(_svg(figure, block.height, block, {"y": top}))
        top += round(block.height)
    return _svg(figure, top, parts, attributes or {})


def svg_blocks(figure: Figure) -> list[Html]:
    """The figure as an SVG for each block, all as wide as the widest: between them a printed page may end."""
    return [_svg(figure, block.height, block, {}) for block in figure.blocks]


def _svg(figure: Figure, height: float, content: Picture | list[Html], more: Mapping[str, object]) -> Html:
    size = f"{figure.width:.0f}", f"{height:.0f}"
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {size[0]} {size[1]}",
            "width": size[0],
            "height": size[1],
            "role": "img",
            "aria-label": figure.description or None,
            "font-family": FONTS,
            "font-size": 12,
            "fill": INK,
            **more,
        },
        element("title", None, figure.title) if figure.title else None,
        [_shape(each) for each in content.shapes] if isinstance(content, Picture) else content,
    )


def _shape(shape: Shape) -> Html:
    return element(
        shape.tag,
        shape.attributes,
        [_shape(each) if isinstance(each, Shape) else each for each in shape.children],
    )
