"""Files that only their owner can read: a record, its exports and reports may hold patients' words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ...rubrics.errors import VenireError, files_remedy

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def open_private(path: Path, *, named: Path | None = None) -> TextIO:
    """The file opened for writing from its beginning; one that is made is its owner's only.

    Raises:
        VenireError: It cannot be written: the folder is not there, say. `named` is the file that the user meant.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    except OSError as error:
        raise VenireError(
            f"{named or path}: {error.strerror}",
            remedy=files_remedy("name a file in a folder that exists and can be written to", error),
        ) from None
    return os.fdopen(handle, "w", encoding="utf-8", newline="")


@contextmanager
def replaced_whole(path: Path) -> Iterator[TextIO]:
    """A temporary file beside `path`, readable by its owner only, renamed into place at the end of the `with` block.

    Where the block fails, what was there stays. What is no file, such as a pipe, is written to as it is.
    """
    if path.exists() and not path.is_file():
        with open_private(path) as handle:
            yield handle
        return
    beside = path.with_name(f".{path.name}.new")
    try:
        with open_private(beside, named=path) as handle:
            yield handle
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    beside.replace(path)


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path`, all of it or nothing."""
    with replaced_whole(path) as handle:
        handle.write(text)
