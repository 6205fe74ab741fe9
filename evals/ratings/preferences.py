"""Pairwise preferences as one long table: from any file that says who was preferred to whom, or from a run of pairs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ...orchestration.deliberate import blind_count, deliberates
from ...orchestration.reading.export import verdicts
from ...orchestration.record import Arm, Store
from ...orchestration.transcript import Decided, Transcript
from ...orchestration.verdict import Verdict
from ...rubrics.case import Case
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import near_column, read_json
from ...rubrics.ratings import Rating
from ...rubrics.rows import cell_number, read_rows
from ...rubrics.scale import NOT_APPLICABLE, Value, preferred_side

COLUMNS = ["case", "judge", "first", "second", "swapped", "share", "length"]
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
    `second` was shown first; `length` is by how many characters the first's output is longer, where AlpacaEval's `output_1` and
    `output_2` tell.

    A `preference` is 1 or 2 (also by name, or `first` and `second`), `tie` or, as AlpacaEval writes it, any number from 1
    to 2, which is one more than the probability of the second; or the column `probability` is that of the first.

    Raises:
        InvalidFile: Whatever is wrong with the file, with the line where it is wrong.
    """
    file = Path(path)
    rows, lost = [], 0
    for line, row in _rows(file):
        names = {name: _cell(row, name) for name in ALIASES}
        for name in ("first", "second"):
            if not names[name]:
                raise InvalidFile(
                    f"{file}:{line}: {name!r} is missing",
                    remedy=f"{near_column(name, row)}give the columns case, first, second, preference",
                )
        if names["first"] == names["second"]:
            raise InvalidFile(
                f"{file}:{line}: {names['first']!r} is compared with itself",
                remedy="name two different systems",
            )
        case = names["case"] or f"line {line}"
        if "turn" in row and "question_id" in row:
            case = f"{case}, turn {row['turn']}"
        for answer, swapped in _answers(row, file, line):
            share = _share(answer, names["first"], names["second"], file, line)
            if share is None:
                lost += 1
            else:
                rows.append(
                    (case, names["judge"], names["first"], names["second"], swapped, share, _longer_by(row))
                )
    if not rows:
        raise InvalidFile(
            f"{file}: no preferences were found",
            remedy="write one row per judgement: case, first, second, preference",
        )
    return pd.DataFrame(rows, columns=COLUMNS).astype({"share": float, "swapped": bool}), lost


def _rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a .csv or .jsonl file, or of a .json file that is one list."""
    if file.suffix.lower() != ".json":
        yield from read_rows(file)
        return
    listed = read_json(file)
    if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
        raise InvalidFile(
            f"{file}: this is not a list of JSON objects", remedy="write a list with one object per judgement"
        )
    yield from enumerate(listed, 1)


def _longer_by(row: Mapping[str, Any]) -> float:
    texts = (row.get("output_1"), row.get("output_2"))
    if not all(isinstance(text, str) for text in texts):
        return math.nan
    return float(len(str(texts[0])) - len(str(texts[1])))


def _cell(row: Mapping[str, Any], name: str) -> str:
    cell = next((row[alias] for alias in ALIASES[name] if alias in row), None)
    return "" if cell is None else str(cell).strip()


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
        f"{file}:{line}: the column 'preference' is missing",
        remedy=f"{near_column('preference', row)}add a column `preference` (1, 2 or tie) or `probability` (that the first output is preferred)",
    )


def _from_probability(cell: object, file: Path, line: int) -> object:
    """A probability of the first on the scale of preferences; what is blank stays."""
    if str(cell).strip().casefold() in ERRORS:
        return cell
    chance = cell_number(cell, f"{file}:{line}")
    if chance is None or not 0 <= chance <= 1:
        raise InvalidFile(
            f"{file}:{line}: the probability {cell!r} is not from 0 to 1",
            remedy="write the probability that the first output is preferred, as a number from 0 to 1",
        )
    return 2 - chance


def _share(answer: object, first_name: str, second_name: str, file: Path, line: int) -> float | None:
    """What the first won by an answer; None where it is not a preference."""
    word = str(answer).strip()
    if word in (first_name, second_name):
        return float(word == first_name)
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
            f"{file}:{line}: {word!r} is not a preference",
            remedy="write 1, 2, tie, a number from 1 to 2, or the preferred system's name",
        )
    return 2 - number


VERDICT = "verdict"
"""Whose preference a row of `pair_votes` is, where it is the jury's own."""
_VOTES = (
    *("arm", "attribute", "who", "stage", "case", "cluster", "question", "a", "b"),
    *("outcome", "shown", "length", "same", "contradicts"),
)
Heard = Mapping[tuple[str, str], int]
"""By arm and attribute, how many pairs were heard."""


def pair_votes(store: Store) -> tuple[pd.DataFrame, Heard]:
    """Every preference of a run of pairs, one row a seat, or the jury, and stage; and how many pairs were heard.

    `who` is a seat or `verdict`; `stage` is `final` for what stood at the end and, where seats hear each other, `blind` for ballots
    cast before they did (and for their count). `a` and `b` are the systems behind output A and output B, `outcome` 1 where A is preferred, -1 where B
    is, 0 for a tie; `shown` 1 where whoever decided saw A first, -1 where B, 0 where that cannot be said. `length` is by how many
    characters A is longer, `same` whether the two are one text, `cluster` the case's group or the case, `question` what cases with the same question and source share.
    A seat that was asked in both orders has a row for each; `contradicts` marks the first of two that differ. What is hung has no row.

    Raises:
        VenireError: No arm of the run compares outputs.
    """
    rows: list[tuple[object, ...]] = []
    arms = [arm for arm in store.arms() if arm.rubric.compares]
    if not arms:
        raise VenireError(
            f"{store.name}: no outputs were compared in this run",
            remedy="name a run made with --rubric preference, or a file of preferences",
        )
    heard: Counter[tuple[str, str]] = Counter()
    for arm in arms:
        for _, verdict in verdicts(store, arm=arm.name):
            case = store.case(verdict.case)
            if case is not None and case.output_b is not None:
                heard.update((arm.name, attribute) for attribute in verdict.outcomes)
                rows += _votes_on(arm, verdict, case, worded=not store.redacted)
    return pd.DataFrame(rows, columns=list(_VOTES)), heard


def _votes_on(arm: Arm, verdict: Verdict, case: Case, *, worded: bool) -> Iterator[tuple[object, ...]]:
    length = float(len(case.output) - len(case.output_b or "")) if worded else math.nan
    question = case.group or "\0".join((case.question or "", *case.source)) if worded else case.group or ""
    same = case.output == case.output_b
    about = (case.id, case.group or case.id, question, *case.sides)

    def row(
        attribute: str, who: str, stage: str, value: Value, shown: int, contradicts: bool = False
    ) -> tuple[object, ...]:
        outcome = -preferred_side(value)
        return (arm.name, attribute, who, stage, *about, outcome, shown, length, same, contradicts)

    decided = next((e for e in verdict.transcript.entries if isinstance(e, Decided)), None)
    first = blind_count(verdict.transcript, arm.rubric, arm.jury) if deliberates(arm.jury) else None
    stages: list[tuple[str, Verdict | None, Transcript]] = [("final", verdict, verdict.transcript)]
    if deliberates(arm.jury):
        stages.insert(0, ("blind", first, verdict.transcript.blind()))
    for stage, counted, transcript in stages:
        votes = list(_seat_votes(transcript))
        for attribute, outcome in counted.outcomes.items() if counted else ():
            if outcome.status == "reached" and outcome.value is not None:
                by_one = stage == "final" and decided is not None and outcome.method == "decision"
                orders = {_SHOWN.get(decided.first or "", 0)} if by_one and decided else {order for name, _, _, order, _ in votes if name == attribute}  # fmt: skip
                yield row(attribute, VERDICT, stage, outcome.value, orders.pop() if len(orders) == 1 else 0)
        for attribute, seat, value, shown, contradicts in votes:
            yield row(attribute, seat, stage, value, shown, contradicts)


_SHOWN = {"A": 1, "B": -1}


def _seat_votes(transcript: Transcript) -> Iterator[tuple[str, str, Value, int, bool]]:
    """Attribute, seat, preference and order of each standing vote, and whether it is the first of two that differ; both of a seat that was asked in either order."""
    orders = {entry.id: entry.first for entry in transcript.entries}
    for attribute, votes in transcript.standing().items():
        for juror, held in votes.items():
            seat = juror if juror in transcript.seats else juror.rsplit("#", 1)[0]
            given = held.vote.orders or (held.vote.value,)
            shown = (1, -1) if held.vote.orders else (_SHOWN.get(orders[held.entry] or "", 0),)
            for value, order in zip(given, shown, strict=True):
                if value != NOT_APPLICABLE:
                    yield attribute, seat, value, order, held.vote.contradicts_itself and order == 1


def people_in_numbers(human: pd.DataFrame, store: Store) -> pd.DataFrame:
    """People's preferences as numbers: the preferred system's name, `A`, `B` (as the cases' file has them) or `tie` become -1, 1 and 0."""
    attributes = _compared_attributes(store)
    if not attributes or "attribute" not in human or "value" not in human:
        return human
    mine = human["attribute"].astype(str).isin(attributes)
    cases = {name: store.case(name) for name in set(human.loc[mine, "case"].astype(str))}

    values = [
        preference_number(cases[str(case)], value) if is_mine else value
        for case, value, is_mine in zip(human["case"], human["value"], mine, strict=True)
    ]
    plain = human.assign(value=pd.Series(values, index=human.index, dtype=object))
    plain.attrs |= human.attrs
    return plain


def under_labels(ratings: Sequence[Rating], store: Store) -> list[Rating]:
    """People's ratings with each preference between the row's outputs as a number between output A and output B, as jurors give them."""
    attributes = _compared_attributes(store)

    def relabel(rating: Rating) -> Rating:
        # Most runs compare nothing, and a case is not read for each of their ratings.
        case = store.case(rating.case) if rating.attribute in attributes else None
        number = preference_number(case, rating.value)
        if case is None or not isinstance(number, int | float):
            return rating
        return replace(rating, value=case.under_labels(number))

    return [relabel(rating) for rating in ratings]


def _compared_attributes(store: Store) -> set[str]:
    return {name for arm in store.arms() if arm.rubric.compares for name in arm.rubric.names}


def preference_number(case: Case | None, value: object) -> object:
    """A person's preference between the row's outputs as a number, by the system's name or by a letter; any other value as it is."""
    word = str(value).strip()
    if case is not None and word in (case.system, case.system_b) and case.system != case.system_b:
        return case.under_labels(-1 if word == case.system else 1)
    return _IN_WORDS.get(word.casefold().replace(" ", "_"), value)


_IN_WORDS = {"a": -1, "output_a": -1, "b": 1, "output_b": 1, "tie": 0, "neither": 0, "same": 0}
