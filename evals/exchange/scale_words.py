"""From what a person clicked to a value of a scale: anchors' words, numbers written as text, `n/a`."""

from __future__ import annotations

import re

from ...rubrics.rubric import Attribute
from ...rubrics.scale import NOT_APPLICABLE, Scale, Value

_INAPPLICABLE = {NOT_APPLICABLE, "not applicable", "n/a", "na", "does not apply"}
_NUMBERED = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*(?:[:.)=–-]\s*|\()(.*?)\)?\s*", re.DOTALL)
"""`4: Mostly`, `4 - Mostly`, `4 (Mostly)`."""


def scale_value(said: Value, scale: Scale, attribute: Attribute) -> Value:
    """`said` as a value of the scale, where it is one of its values or of its anchors' words; otherwise as it was said."""
    if not isinstance(said, str):
        return said
    plain = _plain(said)
    if attribute.optional and plain in _INAPPLICABLE:
        return NOT_APPLICABLE
    legal = {_plain(_value_text(value)): value for value in scale.values}
    if plain in legal:
        return legal[plain]
    anchored = [value for value, words in scale.anchors.items() if _plain(words) == plain]
    if len(anchored) == 1:
        return anchored[0]
    numbered = _NUMBERED.fullmatch(said)
    if numbered and _plain(scale.anchors.get(legal.get(numbered[1], ""), "")) == _plain(numbered[2]) != "":
        return legal[numbered[1]]
    return said


def value_label(value: Value, words: str) -> str:
    """A value as a person reads it beside the others: `4: Mostly`."""
    text = _value_text(value)
    return text if words.strip() in ("", text) else f"{text}: {words}"


def _value_text(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(words: str) -> str:
    return " ".join(words.casefold().split())
