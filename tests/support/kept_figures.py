"""Numbers of a whole result, held against those that were kept of it: a change of any figure is seen, whichever step of the way made it.

They stand beside tests by published numbers and by hand, which say that a figure is right; these say that it is still the same. Where a
change means to move figures, `VENIRE_KEEP=1` before the tests' command writes them anew, and the commit says why they moved.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

WHOLE = 8
"""So many values of one field are kept one by one; of more, how many there are, their sum, and their sum weighted by position."""
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?![\w])")


def check_kept(file: Path, result: Any, *, without: str = r"/seconds\b") -> None:
    """Fails unless the figures of `result` are those kept in `file`.

    Args:
        file: A JSON file in a folder `kept` beside the test.
        result: What JSON can say, and data frames. Of sentences only the numbers count, so that words may change.
        without: What matches in a field's place is left out: what differs from one run to the next.
    """
    fields: dict[str, list[Any]] = defaultdict(list)
    for place, value in _values(result):
        if not re.search(without, place):
            fields[place].append(value)
    figures = {place: _kept(values) for place, values in fields.items()}
    if os.environ.get("VENIRE_KEEP"):
        file.parent.mkdir(exist_ok=True)
        lines = (f"{json.dumps(place)}: {json.dumps(value)}" for place, value in figures.items())
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    kept = json.loads(file.read_text(encoding="utf-8"))
    changes = [
        f"{place}: {kept.get(place, 'nothing')} was kept, now {figures.get(place, 'nothing')}"
        for place in dict.fromkeys([*kept, *figures])
        if place not in kept or place not in figures or not _alike(kept[place], figures[place])
    ]
    if changes:
        shown = "\n".join(changes[:12])
        pytest.fail(
            f"{len(changes)} of {len(kept)} figures in {file.name} are others:\n{shown}", pytrace=False
        )


def _alike(kept: Any, now: Any) -> bool:
    if isinstance(kept, list) and isinstance(now, list):
        return len(kept) == len(now) and all(map(_alike, kept, now))
    if isinstance(kept, float) and isinstance(now, float):
        return math.isclose(kept, now, rel_tol=1e-5, abs_tol=1e-9)
    return type(kept) is type(now) and bool(kept == now)


def _kept(values: Sequence[Any]) -> Any:
    """The values of a field, whole where they are few; else counts, sums and a digest of the words."""
    if len(values) == 1:
        return values[0]
    if len(values) <= WHOLE:
        return list(values)
    numbers = [(at, float(value)) for at, value in enumerate(values, 1) if isinstance(value, int | float)]
    words = [str(value) for value in values if not isinstance(value, int | float)]
    sums = [
        _rounded(sum(number for _, number in numbers)),
        _rounded(sum(at * number for at, number in numbers)),
    ]
    digest = hashlib.blake2b("\n".join(words).encode(), digest_size=4).hexdigest() if words else ""
    return [len(values), *sums, digest]


def _values(result: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """By field, what is a number, a flag or a word; of several words, the numbers among them. Members of a list share their fields."""
    if isinstance(result, pd.DataFrame):
        result = result.reset_index(drop=True).to_dict(orient="list")
    if isinstance(result, Mapping):
        for key, value in result.items():
            yield from _values(value, f"{place}/{key}")
    elif isinstance(result, list | tuple):
        yield f"{place}/length", len(result)
        for value in result:
            yield from _values(value, place)
    elif isinstance(result, str):
        yield place, " ".join(_NUMBER.findall(result)) if re.search(r"\s", result) else result
    else:
        number = result.item() if hasattr(result, "item") else result
        yield (
            place,
            _rounded(number)
            if isinstance(number, float)
            else number
            if isinstance(number, int | None)
            else str(number),
        )


def _rounded(number: float) -> float | None:
    """As JSON has it: NaN is null, nine digits."""
    return float(f"{number:.9g}") if math.isfinite(number) else None
