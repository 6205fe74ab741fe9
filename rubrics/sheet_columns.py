"""What the columns of a person's own sheet hold: guessed from their names and cells, to be shown and confirmed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

from .sheet_marks import is_graded
from .sheet_people import RATER_NAMES, scores_by_person
from .sheet_scores import (
    COUNTED,
    MEASURED,
    QUALITY,
    is_aggregate,
    is_form_status,
    is_scores,
    is_yes_no,
    plain_name,
    score_of,
    without_aggregates,
    without_scale,
)
from .sheet_texts import are_texts, free_texts, guess_texts, is_code, text_kind

Role = Literal[
    "id",
    "output",
    "source",
    "reference",
    "question",
    "audience",
    "group",
    "system",
    "rater",
    "rating",
    "kept",
    "left out",
]
ROLES: tuple[Role, ...] = get_args(Role)
ONCE: tuple[Role, ...] = ("id", "output", "reference", "question", "audience", "group", "system", "rater")
"""Roles that one column has at the most; several may be sources, ratings or kept as they are."""
MEANING: Mapping[Role, str] = {
    "id": "the case's id",
    "output": "the text that is judged",
    "source": "what the text was made from",
    "reference": "a known good text",
    "question": "what was asked for",
    "audience": "the readers of the text",
    "group": "cases that belong together, such as a patient's",
    "system": "who or what wrote the text",
    "rater": "the person who rated",
    "rating": "people's scores of one attribute",
    "kept": "not shown to jurors",
    "left out": "not used",
}
NAMES: Mapping[Role, str] = {
    "id": "case|id|case id|case no|case number|record id|note id|item|item id|nr|no|number|key|uid|uuid|ref|ticket|sample|fall|fallnummer|fall nr|"
    "fall id|lfd nr|aktenzeichen|kennung|cas|numero|identifiant|codigo|code|caso|numero de caso|id caso",
    "audience": "audience|readers|for whom|zielgruppe|publico",
    "group": "group|patient|patient id|mrn|medical record number|hospital number|encounter|ward|site|hospital|clinic|document id|cluster|subject|"
    "gruppe|patientin|groupe|grupo|paciente",
    "system": "system|model|llm|translator|ubersetzer|ubersetzerin|traducteur|traductrice|traductor|traductora|tradutor|tradutora|written by|author|generator|produced by|writer|version|source model|engine|bot|assistant|vendor|modell|systeme|"
    "modele|sistema|modelo",
    "rater": RATER_NAMES,
}
_FEMININE = re.compile(r"\((?:a|e|in|ne|trice)\)|[/:*]in\b")
"""What stands behind `Avaliador(a)` or `Gutachter/in`."""
_RATED_BY = re.compile(
    r"\b(rated|scored|graded|marked|checked|assessed|evaluated|reviewed|judged|annotated|coded|corrected|bewertet|beurteilt|gepruft|geprueft|korrigiert|"
    r"evaluee?|notee?|relue?|corrigee?|evaluad[oa]|revisad[oa]|puntuad[oa]|calificad[oa]|corregid[oa]|avaliad[oa]|corrigid[oa]) (by|von|durch|par|por)\b|"
    r"^(your|rater s|reviewer s) name$"
)
_ID_ENDINGS = ("id", "no", "nr", "number", "code", "key", "ref")
_SHORT_ENDINGS: Sequence[tuple[Role, Sequence[str]]] = (
    ("rater", ("rater", "reviewer", "annotator", "evaluator", "assessor", "grader", "initials", "username")),
    ("system", ("system", "model", "bot", "assistant", "engine", "vendor", "author", "writer")),
)
"""Names of short cells with which a longer name may end, such as `Ticket No.` or `Which bot?`."""
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
_TITLED = re.compile(r"(dr|prof|mr|mrs|ms|mme|frau|herr|sra?|dra)\b\.?\s|[^@\s]+@[^@\s]+$", re.IGNORECASE)
"""How a person's name with a title begins; or an address."""
_NAMED = re.compile(r"[A-Z][^\W\d_]+( [A-Z][^\W\d_]+){0,2}|([A-Z]\.? ?){2,3}")
"""A name or initials, by their capitals."""
_BY = re.compile(r"\b(by|von|durch|par|por|initials|signature|kurzel|unterschrift)$")
_MARKS = re.compile(r"( ?[A-F][+-]?)+|( ?[^\w\s]{1,5})+|(?=(.* )?[-−]\d)[-−+]?\d( [-−+]?\d)*")
"""A school's grades, stars or ticks, or small numbers of which some are below zero, with spaces between them."""
_ATTRIBUTE = "attribute|criterion|criteria|dimension|aspect|metric|kriterium|merkmal|aspekt|critere|criterio|aspecto|atributo"
"""Names of a column that says what each row's score is of."""
_HAS_DIGIT = re.compile(r"\d").search
_NUMBER = re.compile(r"(\d+([.,]\d+)?)?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")


@dataclass(frozen=True, slots=True)
class SheetColumns:
    """The role of every column."""

    roles: Mapping[str, Role]

    def of(self, role: Role) -> tuple[str, ...]:
        """The columns with this role, in the sheet's order."""
        return tuple(name for name, column_role in self.roles.items() if column_role == role)

    def one(self, role: Role) -> str | None:
        return next(iter(self.of(role)), None)

    def with_role(self, column: str, role: Role) -> SheetColumns:
        """The columns with another role for one; whichever had it before, where only one can, is kept as it is."""
        roles: dict[str, Role] = {
            name: "kept" if role in ONCE and used == role else used for name, used in self.roles.items()
        }
        return replace(self, roles={**roles, column: role})


def guess_columns(
    columns: Sequence[str], rows: Sequence[Mapping[str, str]], *, attributes: Collection[str] = ()
) -> SheetColumns:
    """What each column seems to hold; columns named as one of `attributes` hold ratings.

    Where `competing_texts` names several, the first of them is the output.
    """
    cells = _cells(columns, rows)
    roles: dict[str, Role] = {c: "rating" for c in columns if attribute_name(c) in attributes}
    for role in NAMES:
        match = column_named(role, [c for c in columns if c not in roles])
        if match and role != "id" and not (are_texts(cells[match], 60) or _are_sentences(cells[match])):
            roles[match] = role
    scored = [c for c in _score_columns(cells) if c not in roles]
    scored += _beside_sliders(columns, cells, scored)
    scored += _same_score([c for c in columns if c not in (*roles, *scored)], cells, scored)
    several = "rater" not in roles.values() and bool(scores_by_person(scored))
    wordy = {c: cells[c] for c in columns if c not in roles and not _holds_keys(c, cells[c])}
    roles |= guess_texts(wordy, scored, several).roles
    texts = next((cells[c] for c, role in roles.items() if role == "output"), [])
    systems = next((cells[c] for c, role in roles.items() if role == "system"), [""] * len(rows))
    short = [c for c in columns if not (are_texts(cells[c]) or _are_dates(cells[c]))]
    if key := _guess_id([c for c in short if c not in roles], cells, texts, systems):
        raters = next((cells[c] for c, role in roles.items() if role == "rater"), [])
        by_rater = len(set(zip(texts, raters, strict=False))) == len(rows) > len(set(texts))
        if not (by_rater and len(set(cells[key])) == len(rows)):  # Else it counts the ratings, not the texts.
            roles[key] = "id"
    for role, endings in _SHORT_ENDINGS:
        free = [c for c in short if c not in roles]
        if role not in roles.values() and (
            match := next((c for c in free if _ends_with(c, endings) and _recurs(cells[c])), None)
        ):
            roles[match] = role
    judged = next((columns.index(c) for c, role in roles.items() if role == "output"), len(columns))
    before = [c for c in short if columns.index(c) < judged]
    if "id" not in roles.values() and (key := _first_key(before, roles, cells, texts, systems)):
        roles[key] = "id"
    if "rater" not in roles.values() and (
        match := _guess_rater([c for c in short if c not in roles], cells, texts, scored)
    ):
        roles[match] = "rater"
    if not attributes:
        rater = next((cells[c] for c, role in roles.items() if role == "rater"), [])
        scores = [c for c in scored if c not in roles and not _is_of_raters(c, cells[c], rater)]
        roles |= dict.fromkeys(_behind_text(without_aggregates(scores), columns, roles), "rating")
        roles |= dict.fromkeys(_checklist(columns, cells, roles, texts), "rating")
    return SheetColumns({c: roles.get(c, "kept") for c in columns})


def _checklist(
    columns: Sequence[str],
    cells: Mapping[str, Sequence[str]],
    roles: Mapping[str, Role],
    texts: Sequence[str],
) -> list[str]:
    """Columns of yes and no behind the judged text that are scores, whatever their names: raters differ in them, or there are several
    side by side and no other scores but such."""
    judged = next((columns.index(c) for c, role in roles.items() if role == "output"), len(columns))
    raters = next((cells[c] for c, role in roles.items() if role == "rater"), [])
    behind = [
        c for c in columns[judged + 1 :] if c not in roles and is_yes_no(cells[c]) and is_scores(f"{c}?", cells[c])
    ]  # fmt: skip
    scored = [c for c, role in roles.items() if role == "rating"]
    differing = [
        c for c in behind
        if raters and len({pair for pair in zip(texts, cells[c], strict=True) if all(pair)}) > len(set(filter(None, texts)))
    ]  # fmt: skip
    by_person = scores_by_person([*scored, *behind]) if behind and not raters else {}
    answers = [c for c in columns if c in behind or (c in scored and is_yes_no(cells[c]))]
    run = [c for pair in pairwise(columns) if set(pair) <= set(answers) for c in pair]
    if differing or by_person:
        return [c for c in behind if c in differing or c in by_person or (differing and c in run)]
    return [c for c in behind if c in run] if set(scored) <= set(answers) else []


def _cells(columns: Iterable[str], rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    return {column: [row.get(column, "").strip() for row in rows] for column in columns}


def _score_columns(cells: Mapping[str, Sequence[str]]) -> list[str]:
    """The columns of scores; neither keys, running numbers nor a form's status."""
    return [
        c for c in cells
        if is_scores(c, cells[c]) and not (_is_key(c) or _is_running(cells[c]) or is_form_status(c, cells[c]))
    ]  # fmt: skip


def _is_running(cells: Sequence[str]) -> bool:
    """Whether the cells number six rows or more: 1, 2, 3 and so on."""
    return len(cells) > 5 and list(cells) == [str(place) for place in range(1, len(cells) + 1)]


def _beside_sliders(
    columns: Sequence[str], cells: Mapping[str, Sequence[str]], scored: Sequence[str]
) -> list[str]:
    """Columns of numbers up to 100, over most of that range, that stand beside scores up to 100."""

    def numbers(column: str) -> list[float]:
        return [score for cell in cells[column] if (score := score_of(cell, 100)) is not None]

    sliders = [c for c in scored if max(numbers(c)) > 10]
    for before, after in (*pairwise(columns), *pairwise(columns[::-1])):
        if (
            before in sliders
            and after not in (*scored, *sliders)
            and not (COUNTED.search(plain_name(after)) or _is_key(after))
            and is_scores(f"{after} score", cells[after])
            and max(numbers(after)) - min(numbers(after)) > 50
        ):
            sliders.append(after)
    return [c for c in sliders if c not in scored]


def _same_score(free: Sequence[str], cells: Mapping[str, Sequence[str]], scored: Sequence[str]) -> list[str]:
    """Columns of one number alone, which are scores where their names and those of `scored` are of people and attributes."""
    same = [
        c for c in free
        if is_scores(f"{c} score", cells[c]) and not (COUNTED.search(plain_name(c)) or _is_key(c) or is_scores(c, cells[c]))
    ]  # fmt: skip
    by_person = scores_by_person([*scored, *same]) if same else {}
    return [c for c in same if c in by_person]


def _behind_text(scores: Sequence[str], columns: Sequence[str], roles: Mapping[str, Role]) -> list[str]:
    """The columns of scores without small numbers before the judged text, such as a level or a ward, unless they are all or named as a quality."""
    judged = next((columns.index(c) for c, role in roles.items() if role == "output"), -1)
    behind = [c for c in scores if columns.index(c) > judged or QUALITY.search(plain_name(c))]
    return behind or list(scores)


def _guess_id(
    free: Sequence[str], cells: Mapping[str, Sequence[str]], texts: Sequence[str], systems: Sequence[str]
) -> str | None:
    """The column of ids: one so named, the first that has one id for each text, or for each text of a system."""
    spellings = NAMES["id"].split("|")
    exact = sorted(
        (c for c in free if plain_name(c) in spellings), key=lambda c: spellings.index(plain_name(c))
    )
    ending = [c for c in free if _is_key(c)]
    ids = {
        c: [f"{name} {system}" for name, system in zip(cells[c], systems, strict=True)]
        for c in (*exact, *ending)
    }
    apart = [c for c in ids if any(cells[c]) and _tells_apart(ids[c], texts)]
    matches = [c for c in apart if len(set(ids[c])) == len(set(zip(texts, systems, strict=False)))]
    distinct = len(set(filter(None, texts)))
    # One id may have been given twice by mistake.
    nearly = [c for c in ids if 5 <= 0.8 * distinct <= len(set(filter(None, cells[c]))) <= distinct]
    return next(iter((*matches, *exact, *apart, *nearly)), None)


def _first_key(
    short: Sequence[str], roles: Mapping[str, Role], cells: Mapping[str, Sequence[str]], texts: Sequence[str], systems: Sequence[str]
) -> str | None:  # fmt: skip
    """Where no name tells the ids: what names the groups, if each has one text; or the first column that counts or names the texts, or else
    what several systems wrote of."""
    group = next((c for c in short if roles.get(c) == "group"), None)
    if group is not None and _tells_apart(cells[group], texts):
        return group
    rated = "rater" in roles.values()
    free = [c for c in short if c not in roles]
    given = next((cells[c] for c, role in roles.items() if role in ("source", "question")), texts)
    shared = [
        c for c in free
        if len(set(cells[c])) == len(set(given)) == len(set(zip(cells[c], given, strict=True))) < len(set(texts))
        and _tells_apart([" ".join(pair) for pair in zip(cells[c], systems, strict=True)], texts)
    ]  # fmt: skip
    distinct = len(set(filter(None, texts)))
    # The first column of keys, of which one may have been given twice by mistake.
    nearly = [
        c for c in free[:1]
        if not rated and is_code(cells[c]) and all(re.search(r"[^\W\d].*\d", cell) for cell in cells[c])
        and len(set(cells[c])) == len(cells[c]) - 1 == distinct - 1 > 8
    ]  # fmt: skip
    return next(iter([*(c for c in free if _names_texts(c, cells[c], texts, rated)), *shared, *nearly]), None)


def _guess_rater(
    free: Sequence[str], cells: Mapping[str, Sequence[str]], texts: Sequence[str], scored: Sequence[str]
) -> str | None:
    """The column of raters: one that says who rated, or holds e-mail addresses, each in several rows, or the only one of short words that tells apart the rows of one text (and attribute)."""
    named = [
        c for c in free
        if c not in scored and (_RATED_BY.search(plain_name(c)) or (_recurs(cells[c]) and all(map(_ADDRESS.fullmatch, cells[c]))))
    ]  # fmt: skip
    if named or not texts or len(set(texts)) == len(texts):
        return next(iter(named), None)
    subject = attribute_column([c for c in free if c not in scored], cells)
    subjects = cells[subject] if subject else [""] * len(texts)
    telling = [
        c for c in free
        if c not in (subject, *scored) and _recurs(cells[c]) and all(cells[c]) and not is_code(cells[c])
        and len(set(zip(texts, subjects, cells[c], strict=True))) == len(texts)
    ]  # fmt: skip
    return telling[0] if len(telling) == 1 else None


def attribute_column(columns: Sequence[str], cells: Mapping[str, Sequence[str]]) -> str | None:
    """The column that says what each row's score is of: by its name, or because it holds names of qualities, each in several rows."""
    named = [c for c in columns if plain_name(c) in _ATTRIBUTE.split("|")]
    qualities = [
        c for c in columns
        if 1 < len(names := set(map(plain_name, cells[c]))) < len(cells[c]) / 2 and all(names)
        and 2 * sum(QUALITY.search(name) is not None for name in names) >= len(names)
    ]  # fmt: skip
    matches = named or qualities
    return matches[0] if len(matches) == 1 else None


def competing_texts(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The columns of texts any of which may be the one that is judged; none where names or places tell."""
    cells = _cells(columns.roles, rows)
    free = {c: cells[c] for c, role in columns.roles.items() if role in ("output", "kept", "rating")}
    scored = [c for c in _score_columns(free) if columns.roles[c] == "rating"]
    several = columns.one("rater") is None and bool(scores_by_person(scored))
    candidates = guess_texts(free, scored, several).candidates
    return candidates if len(candidates) > 1 else ()


def texts_by_place(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The sources and questions that only their place before the judged text tells."""
    cells = _cells(columns.roles, rows)
    by_place = guess_texts(cells, columns.of("rating")).by_place
    return tuple(c for c in by_place if columns.roles[c] in ("source", "question"))


def unplaced_people(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Columns of short words, each in several rows, that may name who rated: they stand between the judged text and the scores, or hold names
    behind it, or are named or titled so."""
    output, scores = columns.one("output"), columns.of("rating")
    if output is None or not scores or columns.one("rater") is not None or scores_by_person(scores):
        return ()
    names, cells = list(columns.roles), _cells(columns.roles, rows)
    behind = names[names.index(output) :]
    between = behind[: behind.index(scores[0])] if scores[0] in behind else []
    return tuple(
        c for c in columns.of("kept")
        if not (are_texts(cells[c]) or is_code(cells[c]) or _are_dates(cells[c]) or is_yes_no(cells[c]) or is_graded(cells[c]))
        and 2 * len(set(cells[c])) <= len(cells[c]) + 1
        and (
            c in between
            or _BY.search(plain_name(c))
            or all(_TITLED.match(cell) for cell in cells[c] if cell)
            or (c in behind and all(_NAMED.fullmatch(cell) for cell in cells[c] if cell))
        )
    )  # fmt: skip


def unplaced_texts(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Columns of texts of which neither name nor place tells what they are: jurors may have to see them, or must not."""
    cells = _cells(columns.roles, rows)
    return tuple(c for c in free_texts(cells, columns.of("rating")) if columns.roles[c] == "kept")


def unread_scores(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Columns named as a quality, or as a level of a scale, or of words and marks of a scale, whose cells are filled and no score that can be read."""

    def seems_scored(column: str) -> bool:
        name, cells = plain_name(column), [row.get(column, "").strip() for row in rows]
        if (
            not any(cells)
            or are_texts(cells)
            or _are_dates(cells)
            or text_kind(column) == "comment"
            or is_form_status(column, cells)
        ):
            return False
        if _is_key(column) or MEASURED.search(name) or (is_aggregate(column) and columns.of("rating")):
            return False
        is_behind = column in behind
        languages = r"(?:[A-Za-z]{2}(?:[-_][A-Za-z]{2})?)?" if is_behind else r"(?:[^\W\d].*)?"
        if name.endswith("language") and not is_graded(cells) and all(re.fullmatch(languages, cell) for cell in cells):  # fmt: skip
            return False
        filled = list(filter(None, cells))
        is_marked = len(set(filled)) > 1 and _MARKS.fullmatch(" ".join(filled)) is not None
        is_marked = is_marked and not (columns.of("rating") and filled[0][0].isalpha())
        is_slider = (
            not COUNTED.search(name) and is_scores(f"{column} score", cells) and not is_scores(column, cells)
        )
        is_label = 1 < len(set(filled)) <= len(filled) / 2 and all(cell[0].isalpha() for cell in filled)
        of_rater = columns.one("rater") is not None and not columns.of("rating")
        is_label = is_label and (
            of_rater or any(row.get(c) in filled for c in behind if c != column for row in rows)
        )
        scores = [score for cell in filled if (score := score_of(cell)) is not None]
        # Numbers of any size beside each other count something; scores have words, ranges or marks among them.
        is_half_scored = len(set(scores)) > 1 and len(filled) < 2 * len(scores) and not (
            COUNTED.search(name) or all(map(_NUMBER.fullmatch, filled))
        )  # fmt: skip
        return (
            bool(QUALITY.search(name)) or name.isdigit() or is_graded(cells) or column in of_people
            or (is_behind and (is_marked or is_label or ((is_slider or is_half_scored) and not is_yes_no(cells))))
        )  # fmt: skip

    names, output = list(columns.roles), columns.one("output")
    behind = names[names.index(output) :] if output else []
    numbers = [
        c for c in columns.of("kept")
        if c in behind and not COUNTED.search(plain_name(c)) and all(_NUMBER.fullmatch(row.get(c, "").strip()) for row in rows)
    ]  # fmt: skip
    # Of whatever size: `Part 1 (Ana)` beside `Part 1 (Ben)`.
    of_people = scores_by_person(numbers) if len(numbers) > 1 else {}
    return tuple(filter(seems_scored, columns.of("kept")))


def yes_no_answers(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Columns of yes and no behind the judged text whose names do not tell whether they are scores."""
    names = list(columns.roles)
    behind = names[names.index(output) + 1 :] if (output := columns.one("output")) else []
    cells = _cells(behind, rows)
    return tuple(
        c
        for c in behind
        if columns.roles[c] == "kept" and is_yes_no(cells[c]) and is_scores(f"{c}?", cells[c])
    )


def column_named(role: Role, columns: Sequence[str]) -> str | None:
    """The column whose name is one of those that a role commonly has."""
    spellings = {plain_name(_FEMININE.sub("", column)): column for column in reversed(columns)}
    return next((spellings[name] for name in NAMES[role].split("|") if name in spellings), None)


def attribute_name(column: str) -> str:
    """A column's name as the name of an attribute: `Clinically useful?` is `clinically_useful`; empty where no letter fits."""
    plain = unicodedata.normalize("NFKD", without_scale(column).casefold()).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    return f"a_{name}" if name[:1].isdigit() else name


def attribute_names(columns: Sequence[str]) -> dict[str, str]:
    """By column, a name that no other has; those that cannot be written in plain letters are numbered."""
    names: dict[str, str] = {}
    for place, column in enumerate(columns, 1):
        name = attribute_name(column) or f"attribute_{place}"
        while name in names.values():
            name = f"{name}_{place}"
        names[column] = name
    return names


def _ends_with(column: str, words: Sequence[str]) -> bool:
    return plain_name(column).rpartition(" ")[2] in words


def _is_key(column: str) -> bool:
    """Whether a name ends as that of an id or a running number."""
    return _ends_with(column, _ID_ENDINGS) and not plain_name(column).endswith("yes no")


def _holds_keys(column: str, cells: Sequence[str]) -> bool:
    """Whether a column is named as ids are, and holds no texts."""
    named = _is_key(column) or plain_name(column) in NAMES["id"].split("|")
    return named and text_kind(column) is None and not are_texts(cells)


def _tells_apart(ids: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether there are two ids or more, and no two texts have the same."""
    pairs = {pair for pair in zip(ids, texts or ids, strict=True) if all(pair)}
    return len(pairs) > 1 and len({name for name, _ in pairs}) == len(pairs)


def _recurs(cells: Sequence[str]) -> bool:
    """Whether a name is in several cells, as that of a system."""
    texts = [cell for cell in cells if cell]
    return bool(texts) and (len(set(texts)) < len(texts) or len(texts) == 1)


def _is_of_raters(column: str, cells: Sequence[str], raters: Sequence[str]) -> bool:
    """Whether a number says something of the raters, as their years of work do: it differs between them and never for one."""
    pairs = set(zip(raters, cells, strict=False))
    people = {rater for rater, _ in pairs}
    return 1 < len(people) == len(pairs) < len(cells) / 2 and not QUALITY.search(plain_name(column))


def _names_texts(column: str, cells: Sequence[str], texts: Sequence[str], rated: bool) -> bool:
    """Whether each text has a short name of its own, and no two the same; small numbers that may be scores name them only where they count up or none recurs.

    Where a column names the raters, rows that are counted are ratings."""
    named = [(cell, text) for cell, text in zip(cells, texts or cells, strict=True) if text]
    names = list(dict.fromkeys(cell for cell, _ in named))
    counts = [int(name) for name in names if name.isascii() and name.isdigit()]
    counted = len(counts) == len(names) > 2 and all(before < after for before, after in pairwise(counts))
    return (
        all(names)
        and len(names) == len(set(named))
        and (
            len(names) == len({text for _, text in named})
            or (not rated and len(names) == len(named) and (counted or all(map(_HAS_DIGIT, names))))
        )
        and (
            not is_scores(column, cells)
            or (counted and _is_running(cells))
            or ((counted or len(names) == len(cells) > 5) and not QUALITY.search(plain_name(column)))
        )
    )


def _are_sentences(cells: Sequence[str]) -> bool:
    return are_texts(cells) and sum(len(cell.split()) for cell in cells) >= 4 * sum(map(bool, cells))


def _are_dates(cells: Sequence[str]) -> bool:
    return any(map(_DATE.match, cells))
