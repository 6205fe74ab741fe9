"""The fenced blocks of a document."""

from __future__ import annotations

import re

from checkout import ROOT

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(name: str) -> list[tuple[str, str]]:
    """Each fenced block of a document: its language and its text."""
    return [(kind, text) for kind, text in BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))]
