"""Files that are there whole, or not at all."""

from __future__ import annotations

from pathlib import Path


def written_whole(path: Path, text: str) -> None:
    """The text at `path`: a reader finds all of it, or what was there before."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
