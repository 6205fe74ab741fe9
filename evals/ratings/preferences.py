"""Pairwise preferences: any table of who was preferred to whom, as one long table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ...rubrics.errors import InvalidFile
from ...rubrics.files import near_column, read_json
from ...rubrics.rows import cell_number, read_rows

COLUMNS = ["case", "judge", "first", "second", "swapped", "share"]
ALIASES = {
    "case": ("case", "instruction", "question_id"),
    "first": ("first", "generator_1", "model_1"),
    "second": ("second", "generator_2", "model_2"),
    "judge": ("judge", "annotator"),
}
"""Each column by our name, then AlpacaEval's and MT-bench's."""
TIES = ("tie", "draw", "0", "0.0", "1.5")
ERRORS = ("", "error", "none", "null", "nan")
"""Answers that are no preference; they are counted and left out."""
GAMES = ("g1_winner", "g2_winner")
"""MT-bench's two games of one line, the second with the answers swapped."""


def load_preferences(path: str | Path) -> tuple[pd.DataFrame, int]:
    """The preferences in `path`, one row a judgement, and how many rows hold none.

    `share` is what `first` won: 1, 0, 0.5 for a tie, or the probability that it is preferred. `swapped` says that
    `second` was shown first.

    A `preference` is 1 or 2 (also by name, or `first` and `second`), `tie` or, as AlpacaEval writes it, any number from 1
    to 2, which is one more than the probability of the second; or the column `probability` is that of the first.

    Raises:
        InvalidFile: Whatever is wrong with the file, with the line where it is wrong.
    """
    file = Path(path)
    rows, lost = [], 0
    for line, row in _rows(file):
        names = {ours: _cell(row, ours) for ours in ALIASES}
        for name in ("first", "second"):
            if not names[name]:
                raise InvalidFile(
                    f"{file}:{line}: no {name!r}",
                    remedy=f"{near_column(name, row)}give the columns case, first, second, preference",
                )
        if names["first"] == names["second"]:
            raise InvalidFile(
                f"{file}:{line}: {names['first']!r} is compared with itself", remedy="name two systems"
            )
        case = names["case"] or f"line {line}"
        if "turn" in row and "question_id" in row:
            case = f"{case}, turn {row['turn']}"
        for answer, swapped in _answers(row, file, line):
            share = _share(answer, names["first"], names["second"], file, line)
            if share is None:
                lost += 1
            else:
                rows.append((case, names["judge"], names["first"], names["second"], swapped, share))
    if not rows:
        raise InvalidFile(
            f"{file}: no preference in it", remedy="give one row a judgement: case, first, second, preference"
        )
    return pd.DataFrame(rows, columns=COLUMNS).astype({"share": float, "swapped": bool}), lost


def _rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a .csv or .jsonl file, or of a .json file that is one list."""
    if file.suffix.lower() != ".json":
        yield from read_rows(file)
        return
    listed = read_json(file)
    if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
        raise InvalidFile(f"{file}: not a list of objects", remedy="write one object a judgement, in a list")
    yield from enumerate(listed, 1)


def _cell(row: Mapping[str, Any], name: str) -> str:
    given = next((row[alias] for alias in ALIASES[name] if alias in row), None)
    return "" if given is None else str(given).strip()


def _answers(row: Mapping[str, Any], file: Path, line: int) -> list[tuple[object, bool]]:
    """Each answer of a row, and whether the second was shown first when it was given."""
    if all(game in row for game in GAMES):
        games = [(row[game], swapped) for game, swapped in zip(GAMES, (False, True), strict=True)]
        # As in MT-bench, an error in one game voids both.
        void = [game for game in games if str(game[0]).strip().casefold() in ERRORS]
        return void[:1] or games
    swapped = str(row.get("order") or "1").strip().casefold() in ("2", "swapped", "second", "ba")
    if "preference" in row:
        return [(row["preference"], swapped)]
    if "probability" in row:
        return [(_from_probability(row["probability"], file, line), swapped)]
    raise InvalidFile(
        f"{file}:{line}: no column 'preference'",
        remedy=f"{near_column('preference', row)}give `preference` (1, 2 or tie) or `probability` (of the first)",
    )


def _from_probability(given: object, file: Path, line: int) -> object:
    """A probability of the first on the scale of preferences; what is blank stays."""
    if str(given).strip().casefold() in ERRORS:
        return given
    chance = cell_number(given, f"{file}:{line}")
    if chance is None or not 0 <= chance <= 1:
        raise InvalidFile(
            f"{file}:{line}: the probability {given!r} is not from 0 to 1", remedy="give that of the first"
        )
    return 2 - chance


def _share(answer: object, first: str, second: str, file: Path, line: int) -> float | None:
    """What the first won by an answer; None where it is no preference."""
    word = str(answer).strip()
    if word in (first, second):
        return float(word == first)
    plain = word.casefold()
    if plain in ERRORS:
        return None
    if plain in TIES:
        return 0.5
    if plain in ("first", "model_1", "second", "model_2"):
        return float(plain in ("first", "model_1"))
    number = cell_number(plain, f"{file}:{line}")
    if number is None or not 1 <= number <= 2:
        raise InvalidFile(
            f"{file}:{line}: {word!r} is no preference",
            remedy="write 1, 2, tie, a number from 1 to 2, or the preferred system's name",
        )
    return 2 - number
