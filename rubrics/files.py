"""Text and JSON files of a bounded size, a workbook's path, and the nearest name to a misspelt one; errors name the file, the line and the remedy."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from .errors import InvalidFile, files_remedy

LARGEST_TEXT = 2**20
"""Bytes of a file that is read whole: thousands of times what a person writes by hand."""
LARGEST_JSON = 16 * 2**20
"""Bytes of a JSON file that a program wrote."""
MOST_VALUES = 500_000
"""Values in such a file: more would not fit into memory beside everything else."""
DEEPEST = 50
"""Levels of lists and mappings inside each other."""
LONGEST_INTEGER = 40
"""Digits."""
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""Endings of workbooks."""
_WITH_SHEET = re.compile(
    rf"(?P<file>.*(?:{'|'.join(map(re.escape, WORKBOOKS))}))#(?P<sheet>.+)", re.IGNORECASE
)
_COMPARED = 1000
"""Names among which the nearest is looked for."""
_LISTED = 30
"""Names that an error lists."""


def read_text(path: Path, *, largest: int = LARGEST_TEXT) -> str:
    """The text of a UTF-8 file that must exist and say something."""
    with open_file(path, "name a file in it") as handle:
        raw = handle.read(largest + 1)
    if len(raw) > largest:
        raise InvalidFile(
            f"{path}: the file is larger than the limit of {largest:,} bytes",
            remedy="check that you named the right file: this must be a short file of settings, not a file of data",
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise broken_utf8(path, error.object[: error.start].count(b"\n") + 1) from None
    if not text.strip():
        raise InvalidFile(f"{path}: the file is empty", remedy="write the file first, or name another file")
    return text


@contextmanager
def open_file(path: Path, in_a_directory: str) -> Iterator[BinaryIO]:
    """The file's bytes; `in_a_directory` is what to do where the path is a directory's."""
    try:
        with path.open("rb") as handle:
            yield handle
    except FileNotFoundError:
        raise InvalidFile(f"{path}: no such file", remedy="check the path") from None
    except IsADirectoryError:
        raise InvalidFile(f"{path}: this is a directory, not a file", remedy=in_a_directory) from None
    except OSError as error:
        raise InvalidFile(
            f"{path}: the file cannot be read: {error.strerror}", remedy=files_remedy("check the path", error)
        ) from None


def broken_utf8(path: Path, line: int) -> InvalidFile:
    """The error of a file whose bytes are no UTF-8 at that line."""
    return InvalidFile(
        f"{path}:{line}: the text is not valid UTF-8",
        remedy="save the file as UTF-8 (for example with iconv -t utf-8)",
    )


def split_sheet(path: Path) -> tuple[Path, str]:
    """A workbook's path and the sheet in it that `FILE.xlsx#SHEET` names; for any other path, the path and an empty name."""
    match = _WITH_SHEET.fullmatch(str(path))
    return (Path(match["file"]), match["sheet"]) if match and not path.exists() else (path, "")


def modified_at(path: Path) -> int:
    """When a file was last written, in nanoseconds: by it, what was read of a file that has not changed need not be read again. 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def is_workbook(path: Path) -> bool:
    """Whether a path's ending is a workbook's, no sheet being named behind it."""
    return path.suffix.lower() in WORKBOOKS


def read_json(path: Path) -> Any:
    """What a JSON file holds, which is of a size and depth that can be kept in memory."""
    text = read_text(path, largest=LARGEST_JSON)
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        raise InvalidFile(
            f"{path}: the file has more than {MOST_VALUES:,} values",
            remedy="write fewer values into one file",
        )
    return json_value(text, str(path), "check how the file was written")


def json_value(text: str, where: str, remedy: str) -> Any:
    """What a JSON text says; an error at `where` for one that is broken, too deep, or has half a character in it."""
    try:
        value = json.loads(text, parse_int=_integer, object_pairs_hook=_unique_keys)
        if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
            raise RecursionError
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        problem = f"{error.msg} at {line}column {error.colno}"
    except RecursionError:
        problem, remedy = f"the values are nested more than {DEEPEST} levels deep", "nest them less deeply"
    except UnicodeEncodeError:
        problem, remedy = (
            "half of a surrogate pair",
            "write every character itself in UTF-8, not as an escape such as \\ud83d",
        )
    except _RepeatedKey as error:
        problem, remedy = (
            f"the key {str(error)[:60]!r} appears more than once in one object",
            "keep one of them",
        )
    except ValueError as error:
        problem, remedy = str(error), "write a smaller number, or put the number in quotes"
    else:
        return value
    raise InvalidFile(f"{where}: this is not valid JSON: {problem}", remedy=remedy) from None


class _RepeatedKey(Exception):
    """A key that stands in one object twice: the last would be taken, and nobody told."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _RepeatedKey(next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1))
    return members


def _integer(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER:
        raise ValueError(f"a number of more than {LONGEST_INTEGER} digits")
    return int(digits)


def _depth(value: Any) -> int:
    """How many lists and objects stand inside each other."""
    deep, level = 0, [value]
    while level:
        deep += 1
        parts = chain.from_iterable(part.values() if isinstance(part, dict) else part for part in level)
        level = [part for part in parts if part and isinstance(part, list | dict)]
    return deep


def near_column(column: str, found: Iterable[str]) -> str:
    """'did you mean ...? If not, ' when a column with nearly that name stands in the file; otherwise nothing."""
    names = [name for name in islice(found, _COMPARED) if isinstance(name, str) and name != column]
    close = difflib.get_close_matches(column, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}? If not, " if close else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """'did you mean ...', or the list of what is known when nothing is near."""
    known = list(known)
    close = difflib.get_close_matches(word, known[:_COMPARED], n=1, cutoff=0.5)
    and_more = f" and {len(known) - _LISTED:,} more" if len(known) > _LISTED else ""
    return (
        f"did you mean {close[0]!r}?"
        if close
        else f"choose one of these: {', '.join(known[:_LISTED])}{and_more}"
    )
