"""Words of models and files as they may be shown in a terminal."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_LONGEST = 2000


def without_controls(text: str) -> str:
    """The text with control, invisible and bidi characters replaced: no terminal obeys what is left."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\t", " "))


def safe(text: str) -> str:
    """`without_controls`, and very long texts cut."""
    shown = without_controls(text)
    return (
        shown
        if len(shown) <= _LONGEST
        else f"{shown[:_LONGEST]} [... {len(shown) - _LONGEST} more characters]"
    )
