"""Atomic file writes: a reader finds the whole new file or the whole old one."""

from __future__ import annotations

from pathlib import Path

from .private_files import open_private


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to a temporary file beside `path`, readable by its owner only, then rename it into place."""
    beside = path.with_name(f".{path.name}.new")
    with open_private(beside, named=path) as handle:
        handle.write(text)
    beside.replace(path)
