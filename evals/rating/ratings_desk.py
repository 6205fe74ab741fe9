"""Who rates which case in which order, and the files that come out of it."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

from ...agents.desk import Answers, Desk, TaskSheet, asked_now
from ...agents.model import digest
from ...orchestration.reading.export import verdicts
from ...orchestration.record import Location, Store
from ...orchestration.record.manifest import case_fingerprint
from ...orchestration.record.private_files import write_atomically
from ...orchestration.record.store import run_exists
from ...rubrics.ballot import ballot_schema
from ...rubrics.case import Case, load_cases
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rows import csv_cell, read_rows
from ...rubrics.rubric import Rubric, load_rubric
from ...rubrics.scale import NOT_APPLICABLE, Value

RATINGS, REVISIONS = "ratings.csv", "revisions.csv"
_LONGEST_NAME = 60


class Overlap(NamedTuple):
    """How many raters share a case: `raters` on `cases` of them drawn by seed, one on each of the rest (None: on all)."""

    raters: int
    cases: int | None = None

    @classmethod
    def parse(cls, text: str) -> Overlap:
        """`3`, or `3:40` for three raters on 40 of the cases."""
        raters, _, cases = text.partition(":")
        if not raters.isdigit() or int(raters) < 1 or (":" in text and not cases.isdigit()):
            raise VenireError(
                f"--overlap {text!r} is not a number of raters",
                remedy="write 2 for two raters on every case, or 2:40 for two raters on 40 cases",
            )
        return cls(int(raters), int(cases) if cases else None)


def rated_cases(
    cases: Location, rubric: str | None, only: Path | None, *, blind: bool
) -> tuple[list[Case], Rubric, dict[str, tuple[str, ...]]]:
    """The cases to rate, of a file or of a run, under which rubric; and where nobody is blind, what is known of each.

    Raises:
        VenireError: The run keeps no words, a case of `only` is not there, or the rubric is for another kind of case.
    """
    known: dict[str, tuple[str, ...]] = {}
    if isinstance(cases, str) or run_exists(cases):
        asked = load_rubric(rubric) if rubric else None
        found, asked, known = _cases_of_run(cases, asked)
    elif rubric is None:
        raise VenireError("no rubric is given", remedy="add --rubric RUBRIC, or name a run")
    else:
        found, asked = list(load_cases(cases)), load_rubric(rubric)
    if only is not None:
        listed = _listed_cases(only)
        by_id = {case.id: case for case in found}
        for name in listed:
            if name not in by_id:
                raise VenireError(f"{only}: there is no case {name!r} to rate", remedy=nearest(name, by_id))
        found = [by_id[name] for name in listed]
    for case in found:
        asked.refuse_other_kind(case)
    if blind:
        return found, asked, {}
    systems = {case.id: tuple(filter(None, (case.system, case.system_b))) for case in found}
    return (
        found,
        asked,
        {
            case: (*(["System: " + " and ".join(names)] if names else []), *known.get(case, ()))
            for case, names in systems.items()
        },
    )


def _cases_of_run(
    run: Location, rubric: Rubric | None
) -> tuple[list[Case], Rubric, dict[str, tuple[str, ...]]]:
    store = Store.read(run)
    try:
        if store.redacted:
            raise VenireError(
                f"{run} does not store the texts of its cases, so they cannot be rated",
                remedy="name the file of the cases instead of the run",
            )
        arms = store.arms()
        cases = [case for name in store.case_ids() if (case := store.case(name)) is not None]
        known: dict[str, tuple[str, ...]] = {}
        for arm, verdict in verdicts(store):
            values = ", ".join(
                f"{name} {outcome.status if outcome.value is None else outcome.value}"
                for name, outcome in verdict.outcomes.items()
            )
            known[verdict.case] = (*known.get(verdict.case, ()), f"{arm.name}: {values}")
        return cases, rubric or arms[0].rubric, known
    finally:
        store.release()


def _listed_cases(path: Path) -> list[str]:
    """The cases that a list names, in its order; of `venire certify`'s, those that it does not accept."""
    cases: dict[str, None] = {}
    for line, row in read_rows(path):
        case = row.get("case", row.get("id"))
        if case is None:
            raise VenireError(
                f"{path}:{line}: the column 'case' is missing",
                remedy="add a column case or id with the ids of the cases",
            )
        if "why" not in row or row["why"]:
            cases[str(case)] = None
    return list(cases)


def rating_sheet(case: Case, rubric: Rubric, rubric_key: str, notes: tuple[str, ...] = ()) -> TaskSheet:
    """What a rater is shown of a case: what a juror may read, and a ballot's form."""
    parts = ballot_schema(rubric)["properties"]
    return TaskSheet(
        case=case.id,
        rubric=rubric_key,
        exhibits=rubric.exhibits(case),
        asked=rubric.names,
        parts={name: parts[name]["properties"] for name in rubric.names},
        notes=notes,
    )


def open_ratings(
    folder: Path,
    cases: Sequence[Case],
    rubric: Rubric,
    raters: Sequence[str],
    *,
    overlap: Overlap | None,
    seed: int,
    notes: Mapping[str, tuple[str, ...]],
) -> Desk:
    """The desk of a folder, with a task for every case of every rater; what was begun there goes on.

    Raises:
        VenireError: It was begun with another rubric, or a case has changed since.
    """
    _check_names(raters)
    desk = Desk(folder)
    try:
        key = desk.keep(rubric.model_dump_json())
        if desk.fact("rubric") not in (None, key):
            raise VenireError(
                f"{folder} holds ratings under another rubric, or under another version of this rubric",
                remedy="name another folder, because a folder can hold ratings under one rubric only",
            )
        desk.set_fact("rubric", key)
        kept_cases: dict[str, str] = dict(desk.rows("SELECT name, value FROM facts WHERE name LIKE 'case:%'"))
        for case in cases:
            if kept_cases.get(f"case:{case.id}", mark := case_fingerprint(case)) != mark:
                raise VenireError(
                    f"case {case.id!r} has changed since the first rating session",
                    remedy="give the changed case an id of its own, or name another folder",
                )
        desk.rows("BEGIN IMMEDIATE")
        for case in cases:
            desk.set_fact(f"case:{case.id}", case_fingerprint(case))
            desk.set_fact(f"content:{case.id}", desk.keep(case.model_dump_json()))
        desk.rows("COMMIT")
        _assign(desk, cases, rubric, key, raters, overlap, seed, notes)
    except BaseException:
        desk.close()
        raise
    return desk


def _check_names(raters: Sequence[str]) -> None:
    for name in raters:
        if not name or len(name) > _LONGEST_NAME or not name.isprintable() or csv_cell(name) != name:
            raise VenireError(
                f"{name[:40]!r} is not a valid name for a rater",
                remedy="use plain words, such as --raters abel,boyd",
            )
        if name.casefold() == "coordinator":
            raise VenireError(
                f"the name {name!r} is reserved and cannot be the name of a rater",
                remedy="give the rater another name",
            )
        if [normalize("NFKC", other).casefold() for other in raters].count(
            normalize("NFKC", name).casefold()
        ) > 1:
            raise VenireError(f"two raters are named {name!r}", remedy="give every rater a different name")


def _assign(
    desk: Desk,
    cases: Sequence[Case],
    rubric: Rubric,
    rubric_key: str,
    raters: Sequence[str],
    overlap: Overlap | None,
    seed: int,
    notes: Mapping[str, tuple[str, ...]],
) -> None:
    """Give every case to as many raters as are to share it, whoever has fewest first, ties by lot; each in an order of her own."""
    raters_by_case: dict[str, set[str]] = {}
    for person, case in desk.rows("SELECT person, case_id FROM tasks"):
        raters_by_case.setdefault(case, set()).add(person)
    load = Counter(dict.fromkeys(raters, 0))
    load.update(person for people in raters_by_case.values() for person in people if person in load)
    rng = random.Random(f"{seed}\0cases")
    drawn = rng.sample(list(cases), len(cases))
    mine: dict[str, list[Case]] = {name: [] for name in raters}
    for number, case in enumerate(drawn):
        people = raters_by_case.get(case.id, set())
        shared = overlap is None or overlap.cases is None or number < overlap.cases
        wanted = len(raters) if overlap is None else min(overlap.raters if shared else 1, len(raters))
        # Everybody's case is everybody's, whoever had it before; another keeps the raters that it has.
        free = [name for name in raters if name not in people]
        rng.shuffle(free)
        more = len(free) if wanted == len(raters) else max(0, wanted - len(people))
        for name in sorted(free, key=load.__getitem__)[:more]:
            load[name] += 1
            mine[name].append(case)
    tasks = {
        case.id: (
            digest(f"{case.id}\0{case_fingerprint(case)}"),
            case.id,
            desk.keep(rating_sheet(case, rubric, rubric_key, notes.get(case.id, ())).model_dump_json()),
        )
        for case in cases
    }
    for name in raters:
        random.Random(f"{seed}\0{name}").shuffle(mine[name])
        desk.add_tasks(name, [tasks[case.id] for case in mine[name]])


class Rated(NamedTuple):
    """What one rater says of one attribute of one case."""

    case: str
    rater: str
    attribute: str
    value: Value
    """As the page has it; of a pair, between output A and output B."""
    rationale: str
    evidence: tuple[str, ...]
    revisions: int
    """How often the score was changed after it was first given."""
    seconds: float
    """Time in view until the last change of this attribute's answer, from the change before it."""
    made_at: float


def ratings_of(desk: Desk, rubric: Rubric) -> list[Rated]:
    """What stands on every form: a rating for each question that is asked and answered, in the order of the first clicks."""
    answers: dict[tuple[str, str], Answers] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    seconds: Counter[tuple[str, str, str]] = Counter()
    moments: dict[tuple[str, str, str], float] = {}
    for click in desk.clicks():
        key = (click.case, click.person, click.attribute)
        form = answers.setdefault(key[:2], {}).setdefault(click.attribute, {})
        seconds[key] += click.seconds  # type: ignore[assignment]
        if click.part == "score" and form.get("score") != click.value:
            counts[key] += form.get("score") is not None
            moments[key] = click.made_at
        form[click.part] = click.value
    return [
        Rated(
            *(case, person, name, form[name]["score"]),
            form[name].get("rationale", ""),
            tuple(form[name].get("evidence", ())),
            *(counts[case, person, name], float(seconds[case, person, name]), moments[case, person, name]),
        )
        for (case, person), form in answers.items()
        for name in asked_now(rubric, rubric.names, form)
        if form.get(name, {}).get("score") is not None
    ]


def file_ratings(desk: Desk) -> Path:
    """Write the ratings, as every command reads them, and beside them every click with its time; return the ratings' file."""
    rubric = Rubric.model_validate_json(desk.content(desk.fact("rubric") or ""))
    case_of = cache(lambda name: Case.model_validate_json(desk.content(desk.fact(f"content:{name}") or "")))
    columns = ["case", "rater", "attribute", "value", "rationale", "evidence", "revisions", "seconds", "at"]
    ratings = [
        [
            *(rated.case, rated.rater, rated.attribute, _file_value(rubric, rated, case_of)),
            *(csv_cell(rated.rationale), csv_cell(_cell(rated.evidence)), rated.revisions),
            *(f"{rated.seconds:.1f}", _clock(rated.made_at)),
        ]
        for rated in ratings_of(desk, rubric)
    ]
    clicks = [
        [
            *(click.case, click.person, click.attribute, click.part, csv_cell(_cell(click.value))),
            *(f"{click.seconds:.1f}", _clock(click.made_at)),
        ]
        for click in desk.clicks()
    ]
    file = desk.folder / RATINGS
    write_atomically(file, _csv(columns, ratings))
    heading = ["case", "rater", "attribute", "part", "value", "seconds", "at"]
    write_atomically(desk.folder / REVISIONS, _csv(heading, clicks))
    return file


def _file_value(rubric: Rubric, rated: Rated, case_of: Callable[[str], Case]) -> Any:
    """A value as the file has it: of a pair, between the row's `output_a` and `output_b`, whatever the page called them."""
    if not rubric.compares or rated.value == NOT_APPLICABLE:
        return rated.value
    side = case_of(rated.case).under_labels(float(rated.value))
    return int(side) if side.is_integer() else side


def _cell(value: Any) -> Any:
    return " | ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _clock(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
