"""What the columns of a person's own sheet hold: guessed from their names and cells, to be shown and confirmed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

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
_NAMES: Mapping[Role, str] = {
    "id": "case|id|case id|case no|case number|record id|note id|item|item id|nr|no|number|key|fall|fallnummer|fall nr|fall id|kennung|cas|numero|"
    "identifiant|codigo|code|caso|numero de caso|id caso",
    "output": "output|summary|ai summary|answer|response|reply|completion|generated text|generated summary|model output|candidate|draft|"
    "text|generated note|ai note|letter|report|zusammenfassung|antwort|ausgabe|resume|reponse|sortie|texte|resumen|respuesta|salida|texto|"
    "resumo|resposta|saida",
    "source": "source|sources|notes|note|patient notes|clinical notes|transcript|conversation|document|context|input|original|"
    "chart|record|source text|passage|article|dialogue|dialog|quelle|quelltext|notizen|transkript|gesprach|dokument|original text|"
    "texte source|compte rendu|texto original|notes cliniques|transcription|fuente|texto fuente|notas|transcripcion|documento|fonte|texto fonte|transcricao",
    "reference": "reference|gold|gold standard|expected|expected output|ideal|target|human summary|reference summary|ground truth|"
    "referenz|musterantwort|musterlosung|reponse attendue|referencia",
    "question": "question|prompt|query|task|instruction|instructions|request|asked|frage|aufgabe|anfrage|consigne|pregunta|tarea|pergunta|tarefa",
    "audience": "audience|reader|for whom|zielgruppe|publico",
    "group": "group|patient|patient id|mrn|medical record number|hospital number|encounter|ward|site|hospital|clinic|document id|cluster|subject|"
    "gruppe|patientin|groupe|grupo|paciente",
    "system": "system|model|written by|author|generator|produced by|writer|version|source model|engine|bot|assistant|vendor|modell|systeme|"
    "modele|sistema|modelo",
    "rater": "rater|rated by|reviewer|reviewer name|rater name|annotator name|reviewer id|annotator id|rater email|initials|email address|email|reviewed by|annotator|assessor|clinician|scorer|rater id|judge|doctor|bewerter|bewerterin|gutachter|prufer|"
    "arzt|evaluateur|evaluatrice|annotateur|juge|evaluador|evaluadora|revisor|anotador|avaliador|avaliadora|medico",
}
_ENDINGS: Sequence[tuple[str, Role]] = sorted(
    (
        (name, role)
        for role in ("output", "source", "reference", "question")
        for name in _NAMES[role].split("|")
    ),
    key=lambda each: -len(each[0]),
)
"""Names of texts with which a longer name may end, such as `AI discharge summary`; the longest first."""
_SHORT_ENDINGS: Sequence[tuple[Role, Sequence[str]]] = (
    ("id", ("id", "no", "nr", "number", "code", "key")),
    ("system", ("system", "model", "bot", "assistant", "engine", "vendor", "author", "writer")),
)
"""Names of short cells with which a longer name may end, such as `Ticket No.` or `Which bot?`."""
_BY_PERSON: Sequence[tuple[re.Pattern[str], int | None]] = (
    (re.compile(r"([^:]+):([^:]+)"), 0),
    (re.compile(r"([^()\[\]]+)[(\[]([^()\[\]]+)[)\]]"), 1),
    (re.compile(r"(.+?) +[-–—/|] +(.+)"), None),
    (re.compile(r"([^_.]+)[_.]([^_.]+)"), None),
    (re.compile(r"(.+)[ _.-]+((?:r|rater|reviewer|annotator|expert|judge)[ _.-]?\d+)", re.IGNORECASE), 1),
    (re.compile(r"((?:r|rater|reviewer|annotator|expert|judge)[ _.-]?\d+)[ _.-]+(.+)", re.IGNORECASE), 0),
)
"""How a column's name may hold a person and an attribute, and which part is the person where the words do not tell."""
_PERSON = re.compile(
    r"\b(dr|prof|mr|mrs|ms|frau|herr|rater|reviewer|annotator|nurse|doctor|physician|clinician|expert|person|judge|arzt|medico)\b|"
    r"^(r|rater|reviewer|annotator|expert|judge|reader|dr)[ ._-]?\d+$",
    re.IGNORECASE,
)
_QUALITY = re.compile(
    r"accura|correct|factual|faithful|hallucin|thorough|complet|cover|clear|clarity|readab|useful|helpful|relevan|concis|succinct|coheren|consisten|"
    r"organi|fluen|tone|empath|polite|safe|harm|risk|quality|overall|synthes|stigma|score|rating|grade|"
    r"genau|korrekt|richtig|vollstand|verstand|nutz|klar|qualitat|bewertung|note$|exact|precis|clair|utile|qualite|complet|"
    r"claridad|calidad|util|puntua|seguri|qualidade|clareza|nota$|content|style|structur|grammar|language|detail|clinical|medical",
    re.IGNORECASE,
)
"""Stems of what is commonly rated, in five languages."""
_SCALE_NOTE = re.compile(
    r"\s*[(\[]\s*(?:\d+\s*(?:-|–|to|bis|à|a|/)\s*\d+|y(?:es)?\s*/\s*no?|likert[^)\]]*|\d+\s*=[^)\]]*|%)\s*[)\]]\s*$",
    re.IGNORECASE,
)
"""What stands behind a name and says the scale, as `(1-5)` or `(1 = poor, 5 = good)`."""
_YES_NO: Mapping[str, float] = {
    **dict.fromkeys(("yes", "y", "ja", "oui", "si", "sim", "true", "wahr", "vrai", "verdadero"), 1.0),
    **dict.fromkeys(("no", "n", "nein", "non", "nao", "false", "falsch", "faux", "falso"), 0.0),
}
_MISSING = re.compile(
    r"|n a|na|nan|none|null|missing|not applicable|unknown|not rated|k a|keine angabe|entfallt|nicht zutreffend|non applicable|sans objet|"
    r"n d|s d|no aplica|sin dato|nao se aplica|99|999"
)
"""What people write where there is no score, without its signs: `n/a`, `k.A.`, `-`, `?`, `-99`."""
_AGGREGATE = re.compile(
    r"(grand )?(mean|average|avg|median|sums?|totals?|sd|std|standard deviation|consensus|adjudicated|final|mittelwert|durchschnitt|summe|"
    r"gesamtsumme|konsens|moyenne|mediane|somme|media|promedio|mediana|suma|consenso|soma)"
)
"""What stands in a person's place over scores worked out from the others, or before a row of them."""
_COUNTED = re.compile(
    r"\b(age|visit|week|day|month|year|session|turn|words?|tokens?|length|count|order|page|seed|minutes|seconds|duration|time|attempt|trial|"
    r"worter|mots|palabras|palavras|alter|woche|tag|jahr|edad|semana|visita|idade)\b"
)
"""Small numbers that nobody gave as a score."""
_ATTRIBUTE = "attribute|criterion|criteria|dimension|aspect|metric|kriterium|merkmal|aspekt|critere|criterio|aspecto|atributo"
"""Names of a column that says what each row's score is of."""
OVERALL = "overall quality"
"""What is scored where columns are named by people alone."""
_TEXT = 20
"""Characters of a cell, on average, from which on a column holds texts."""
_MOST_SCORE = 10
_TEXT_ROLES: tuple[Role, ...] = ("output", "source", "reference", "question")
_COMMENT = re.compile(
    r"\b(comments?|remarks?|notes?|rationale|reasons?|kommentar|bemerkung|commentaires?|comentarios?)\b"
)


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


Grid = Sequence[tuple[int, Sequence[str]]]


def sheet_table(grid: Grid, *, delimited: bool = False) -> tuple[list[tuple[int, dict[str, str]]], list[str]]:
    """The rows under a sheet's header, with their lines, and notes of what was passed over: a title, a header of two rows, empty columns.

    Raises:
        ValueError: Two columns have one name; or, in a `delimited` text, a row has more cells than there are columns.
    """
    if not grid:
        return [], []
    width = max(len(cells) for _, cells in grid)
    rows = [(line, [*cells, *[""] * (width - len(cells))]) for line, cells in grid]
    filled = [sum(map(bool, cells)) for _, cells in rows]
    usual = sorted(filled)[len(filled) // 2]
    top = next(
        place for place, number in enumerate(filled) if number >= min(2, usual) and 2 * number >= usual
    )
    notes = [
        f"line {line}: skipped, because it is above the header: {' '.join(filter(None, cells))[:60]}"
        for line, cells in rows[:top]
    ]
    (_, names), body = rows[top], rows[top + 1 :]
    if top and len(set(filter(None, names))) < sum(map(bool, names)) and any(rows[top - 1][1]):
        names = _joined_header(rows[top - 1][1], names)
        notes[-1] = f"the header has two rows: {', '.join(name for name in names if _JOINT in name)}"
    if body and _is_second_header(names, body[0][1], [cells for _, cells in body[1:4]]):
        names, body = _joined_header(names, body[0][1]), body[1:]
        notes.append(f"the header has two rows: {', '.join(name for name in names if _JOINT in name)}")
    named = max(place for place, name in enumerate(names) if name) + 1
    for line, cells in body if delimited else ():
        if any(cells[named:]):
            raise ValueError(
                f"line {line}: {sum(map(bool, cells[named:])) + named} cells under {named} columns: quote cells with a separator in them"
            )
    _refuse_second_table(names, body)
    body, left_out = _without_totals(body)
    notes += left_out
    used = [place for place in range(width) if names[place] or any(cells[place] for _, cells in body)]
    titles = {place: names[place] or f"column {place + 1}" for place in used}
    twice = [name for name in titles.values() if list(titles.values()).count(name) > 1]
    if twice:
        raise ValueError(f"two columns are named {twice[0]!r}")
    return [(line, {titles[place]: cells[place] for place in used}) for line, cells in body], notes


def _refuse_second_table(names: Sequence[str], body: Grid) -> None:
    """Raises ValueError where, below an empty row, a row of names of columns stands over others."""
    known = {name for spellings in _NAMES.values() for name in spellings.split("|")} | set(map(_plain, names))
    for (above, _), (line, cells) in pairwise(body):
        words = [_plain(cell) for cell in cells if cell]
        if line > above + 1 and len(words) > 1 and sum(word in known for word in words) > 1:
            raise ValueError(f"line {line}: a second table begins; put it into a sheet of its own")


def _without_totals(
    body: list[tuple[int, list[str]]],
) -> tuple[list[tuple[int, list[str]]], list[str]]:
    """The rows without those at the end that hold means or totals, and a note for each."""
    notes: list[str] = []
    rows = list(body)
    while rows:
        line, cells = rows[-1]
        words = [cell for cell in cells if cell and score_of(cell) is None and _number(cell) is None]
        if not words or not all(_AGGREGATE.fullmatch(_plain(word)) for word in words):
            break
        rows.pop()
        notes.append(
            f"line {line}: left out, because it is computed from the rows above: {' '.join(filter(None, cells))[:60]}"
        )
    return rows, notes[::-1]


def _number(cell: str) -> float | None:
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None


_JOINT = " - "


def _is_second_header(names: Sequence[str], below: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the row below the header names parts of columns that the header names together."""
    spanned = [place for place, name in enumerate(below) if name and not names[place]]
    parts = [name for name in below if name]
    return (
        bool(spanned)
        and all(any(names[:place]) for place in spanned)
        and all(len(name) < 40 and score_of(name) is None for name in parts)
        and any(score_of(cells[place]) is not None for cells in body for place in spanned)
    )


def _joined_header(names: Sequence[str], below: Sequence[str]) -> list[str]:
    joined, span = [], ""
    for name, part in zip(names, below, strict=True):
        span = name or span
        joined.append(f"{span}{_JOINT}{part}" if span and part else name or part)
    return joined


def guess_columns(
    columns: Sequence[str], rows: Sequence[Mapping[str, str]], *, attributes: Collection[str] = ()
) -> SheetColumns:
    """What each column seems to hold; columns named as one of `attributes` hold ratings.

    No column is the output where `competing_texts` names several.
    """
    roles: dict[str, Role] = {}
    cells = {column: [row.get(column, "").strip() for row in rows] for column in columns}
    for column in columns:
        if attribute_name(column) in attributes:
            roles[column] = "rating"
    for role in _NAMES:
        match = column_named(role, [column for column in columns if column not in roles])
        if match is not None and not (role in _TEXT_ROLES and _is_scores(match, cells[match])):
            roles[match] = role
    for column in (name for name in columns if name not in roles and _is_text(cells[name])):
        ending = _ending_role(column)
        if ending is not None and (ending == "source" or ending not in roles.values()):
            roles[column] = ending
    for role, endings in _SHORT_ENDINGS:
        free = [name for name in columns if name not in roles and not _is_text(cells[name])]
        if role not in roles.values() and (
            match := next((c for c in free if _ends_with(c, endings) and _may_be(role, cells[c])), None)
        ):
            roles[match] = role
    if "id" not in roles.values() and columns:
        group, first = next((c for c in columns if roles.get(c) == "group"), None), columns[0]
        if group is not None and _ends_with(group, ("id",)) and _may_be("id", cells[group]):
            roles[group] = "id"
        elif first not in roles and _counts_rows(first, cells[first]):
            roles[first] = "id"
    if not attributes:
        scored = [c for c in columns if c not in roles and _is_scores(c, cells[c])]
        roles |= dict.fromkeys(_without_aggregates(scored), "rating")
    if "output" not in roles.values():
        longest = max(
            (column for column in columns if column not in roles and any(cells[column])),
            key=lambda column: sum(map(len, cells[column])),
            default=None,
        )
        if longest is not None:
            roles[longest] = "output"
    return SheetColumns({column: roles.get(column, "kept") for column in columns})


def competing_texts(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The columns of texts any of which may be the one that is judged; none where the names tell."""
    output = columns.one("output")
    if output is None or _plain(output) in ("output", "ai summary", "model output", "generated text"):
        return ()
    texts = [
        name for name, role in columns.roles.items()
        if role in ("output", "kept") and _is_text([row.get(name, "").strip() for row in rows])
        and not _COMMENT.search(_plain(name))
    ]  # fmt: skip
    if _is_output_name(output):
        texts = [name for name in texts if _is_output_name(name)]
    return tuple(texts) if len(texts) > 1 else ()


def unread_scores(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Columns named as a quality, or as a level of a scale, whose cells are filled and no score that can be read."""

    def seems_scored(column: str) -> bool:
        name, cells = _plain(column), [row.get(column, "").strip() for row in rows]
        if not any(cells) or _is_text(cells) or _COMMENT.search(name):
            return False
        if _is_aggregate(column) and columns.of("rating"):
            return False
        return _QUALITY.search(name) is not None or name.isdigit()

    return tuple(filter(seems_scored, columns.of("kept")))


def column_named(role: Role, columns: Sequence[str]) -> str | None:
    """The column whose name is one of those that a role commonly has."""
    spellings = {_plain(column): column for column in reversed(columns)}
    return next((spellings[name] for name in _NAMES[role].split("|") if name in spellings), None)


def scores_by_person(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """By column of scores, whose they are and of what, where all that have a second part say so: `Dr Lee: accurate`, `accurate (Dr Lee)`.

    A column that is named by a person alone holds scores of the whole. Empty where there are no two persons, or where it cannot be told
    which part is the person; a mean or consensus is no person.
    """
    names = _without_aggregates(names)
    if (
        len(names) > 1
        and all(_PERSON.search(name) and not _QUALITY.search(_plain(name)) for name in names)
        and not any(form.fullmatch(name) for form, _ in _BY_PERSON[:3] for name in names)
    ):
        return {name: (name, OVERALL) for name in names}
    for form, usual in _BY_PERSON:
        parts = _parts(names, form)
        side = _person_side(parts, usual)
        if side is not None:
            return {name: (part[side], part[1 - side]) for name, part in parts.items()}
    return {}


def unclear_persons(names: Sequence[str]) -> tuple[str, ...]:
    """Columns of scores in two parts of which either may be the person's."""
    for form, usual in _BY_PERSON:
        parts = _parts(names, form)
        if usual is None and _is_grid(parts) and _person_side(parts, usual) is None:
            return tuple(parts)
    names = _without_aggregates(names)
    words = _parts(names, re.compile(r"(.+) (\S+)"))
    heads, tails = ({_plain(part[side]) for part in words.values()} for side in (0, 1))
    if (
        _is_grid(words)
        and len(heads) > 1
        and all(map(_QUALITY.search, tails))
        and not any(map(_QUALITY.search, heads))
    ):
        return tuple(words)
    numbered = _parts(names, re.compile(r"(.*[^\d\s_.-])[ _.-]?(\d{1,2})"))
    return (
        tuple(numbered)
        if _is_grid(numbered) and all(_QUALITY.search(_plain(head)) for head, _ in numbered.values())
        else ()
    )


def _without_aggregates(columns: Sequence[str]) -> list[str]:
    """The columns without those worked out from the others; all of them where there are no others, as in a sheet with one `Final score`."""
    return [column for column in columns if not _is_aggregate(column)] or list(columns)


def _is_aggregate(column: str) -> bool:
    """Whether a column holds what was worked out from others: `Mean`, `accuracy (mean)`, `accuracy_consensus`."""
    plain = _plain(column)
    return any(
        _AGGREGATE.fullmatch(part) for part in (plain, *plain.rsplit(" ", 1)[1:], plain.partition(" ")[0])
    )


def _parts(names: Sequence[str], form: re.Pattern[str]) -> dict[str, tuple[str, str]]:
    matches = {name: form.fullmatch(_SCALE_NOTE.sub("", name).strip()) for name in names}
    return {name: (m[1].strip(), m[2].strip()) for name, m in matches.items() if m}


def _is_grid(parts: Mapping[str, tuple[str, str]]) -> bool:
    """Whether each of two heads or more goes with each of two tails or more, or one of them with several."""
    heads, tails = ({part[side] for part in parts.values()} for side in (0, 1))
    return len(parts) > 1 and len(set(parts.values())) == len(parts) == len(heads) * len(tails)


def _person_side(parts: Mapping[str, tuple[str, str]], usual: int | None) -> int | None:
    """Which part of the names is the person's: as words tell, or the one that varies, or as is usual."""
    if not _is_grid(parts):
        return None
    sides = [list(dict.fromkeys(part[side] for part in parts.values())) for side in (0, 1)]
    named = [all(map(_PERSON.search, side)) for side in sides]
    if named[0] != named[1]:
        return 0 if named[0] else 1
    rated = [any(map(_QUALITY.search, map(_plain, side))) for side in sides]
    if all(rated):
        return None
    person = (1 if rated[0] else 0) if rated[0] != rated[1] else usual
    if person is None and min(map(len, sides)) == 1 and not any(rated):
        return None
    return person if person is not None and len(sides[person]) > 1 else None


def rows_by_person(
    rows: Sequence[Mapping[str, str]], columns: SheetColumns, scores: Mapping[str, tuple[str, str]]
) -> tuple[list[dict[str, str]], SheetColumns]:
    """Each row once for each person, with the person under `rater` and that person's scores under what they are of."""
    people = dict.fromkeys(person for person, _ in scores.values())
    roles = {name: role for name, role in columns.roles.items() if name not in scores}
    roles |= {"rater": "rater", **{subject: "rating" for _, subject in scores.values()}}
    unpivoted = [
        {
            **{name: cell for name, cell in row.items() if name not in scores},
            "rater": person,
            **{subject: row.get(name, "") for name, (judge, subject) in scores.items() if judge == person},
        }
        for row in rows
        for person in people
    ]
    return unpivoted, SheetColumns(roles)


def rows_by_attribute(
    rows: Sequence[Mapping[str, str]], columns: SheetColumns
) -> tuple[list[dict[str, str]], SheetColumns] | None:
    """One row a case and person, with a column for each attribute, of rows that name what their one score is of; else None."""
    named = [name for name in columns.of("kept") if _plain(name) in _ATTRIBUTE.split("|")]
    scores = columns.of("rating")
    if len(named) != 1 or len(scores) != 1:
        return None
    (subject,), (score,) = named, scores
    telling = [name for name, role in columns.roles.items() if role not in ("rating", "kept", "left out")]
    pivoted: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        kept = {name: cell for name, cell in row.items() if name not in (subject, score)}
        whole = pivoted.setdefault(tuple(row.get(name, "").strip() for name in telling), kept)
        attribute = row.get(subject, "").strip()
        if not attribute or attribute in whole:
            return None
        whole[attribute] = row.get(score, "")
    if len(pivoted) == len(rows):
        return None
    attributes = dict.fromkeys(row[subject].strip() for row in rows)
    roles = {name: role for name, role in columns.roles.items() if name not in (subject, score)}
    filled = [{**dict.fromkeys(attributes, ""), **row} for row in pivoted.values()]
    return filled, SheetColumns({**roles, **dict.fromkeys(attributes, "rating")})


def ids_by_system(
    rows: Sequence[Mapping[str, str]], columns: SheetColumns
) -> tuple[list[dict[str, str]], SheetColumns] | None:
    """Rows with an id for each text where systems share ids, which become the groups; None where ids tell the texts apart."""
    name, system, text = columns.one("id"), columns.one("system"), columns.one("output")
    if name is None or system is None or text is None:
        return None
    texts = {(row.get(name, ""), row.get(system, ""), row.get(text, "")) for row in rows if row.get(text)}
    by_id, by_both = ({key[:size] for key in texts} for size in (1, 2))
    if len(by_id) == len(by_both) or len(by_both) < len(texts):
        return None
    split = [
        {**row, name: f"{row.get(name, '')}-{row.get(system, '')}", "shared id": row.get(name, "")}
        for row in rows
    ]
    role: Role = "group" if columns.one("group") is None else "kept"
    return split, SheetColumns({**columns.roles, "shared id": role})


def clear_stray_scores(rows: Sequence[tuple[int, dict[str, str]]], columns: SheetColumns) -> list[str]:
    """Blanks the cells of ratings that hold no score, such as `n/a` or `4-5`; a note for each, and how many scores are left."""
    notes = []
    for column in columns.of("rating"):
        given = [(line, row) for line, row in rows if row.get(column, "").strip()]
        stray = [(line, row) for line, row in given if score_of(row[column].strip()) is None]
        for line, row in stray:
            why = (
                "not a number"
                if not row[column].strip().lstrip("-+−")[:1].isdigit()
                else "not a single score on a small scale"
            )
            notes.append(f"line {line}, {column!r}: {row[column].strip()!r} is left out: {why}")
            row[column] = ""
        for _, row in given:
            score = score_of(row[column].strip())
            row[column] = "" if score is None else f"{score:g}"
        if stray:
            notes.append(f"{column!r}: {len(given) - len(stray)} of {len(given)} scores can be used")
    return notes


def carry_merged(rows: Sequence[dict[str, str]], columns: SheetColumns) -> int:
    """Gives rows that have ratings but neither id nor text those of the row above, as merged cells mean them; how many."""
    text, name = columns.one("output"), columns.one("id")
    own = [*columns.of("rating"), *columns.of("rater")]
    shared = [
        column
        for column, role in columns.roles.items()
        if role not in ("rating", "rater", "kept", "left out")
    ]
    carried = 0
    if name is None and columns.one("rater") is None:
        return 0
    for above, row in pairwise(rows):
        if (
            text
            and above.get(text)
            and not row.get(text)
            and not (name and row.get(name))
            and any(row.get(c) for c in own)
        ):
            row.update({column: row.get(column) or above.get(column, "") for column in shared})
            carried += 1
    return carried


def attribute_name(column: str) -> str:
    """A column's name as the name of an attribute: `Clinically useful?` is `clinically_useful`; empty where no letter fits."""
    plain = unicodedata.normalize("NFKD", without_scale(column).casefold()).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    return f"a_{name}" if name[:1].isdigit() else name


def attribute_names(columns: Sequence[str]) -> dict[str, str]:
    """By column, a name that no other has; those that cannot be written in plain letters are numbered."""
    names: dict[str, str] = {}
    for place, column in enumerate(columns, 1):
        name = attribute_name(column)
        names[column] = name if name and name not in names.values() else f"{name or 'attribute'}_{place}"
    return names


def without_scale(column: str) -> str:
    """A column's name without the scale that stands behind it: `Clarity` for `Clarity (1-5)`."""
    return _SCALE_NOTE.sub("", column).strip() or column


def _plain(column: str) -> str:
    letters = (
        unicodedata.normalize("NFKD", without_scale(column).casefold()).encode("ascii", "ignore").decode()
    )
    return " ".join(re.sub(r"[^a-z0-9]+", " ", letters).split())


def _ending_role(column: str) -> Role | None:
    return next((role for name, role in _ENDINGS if _plain(column).endswith(f" {name}")), None)


def _is_output_name(column: str) -> bool:
    return _plain(column) in _NAMES["output"].split("|") or _ending_role(column) == "output"


def _ends_with(column: str, words: Sequence[str]) -> bool:
    return _plain(column).rpartition(" ")[2] in words


def _may_be(role: Role, cells: Sequence[str]) -> bool:
    """Whether cells tell every row apart, as an id must, or not every one, as the name of a system."""
    texts = [cell for cell in cells if cell]
    distinct = len(set(texts)) == len(texts)
    return bool(texts) and (distinct and len(texts) > 1 if role == "id" else not distinct or len(texts) == 1)


def _counts_rows(column: str, cells: Sequence[str]) -> bool:
    """Whether cells count the rows, as a first column without a name or `#` does."""
    counts = [int(cell) for cell in cells if cell.isascii() and cell.isdigit()]
    steps = {after - before for before, after in pairwise(counts)}
    return len(counts) == len(cells) > 2 and steps == {1} and not _QUALITY.search(_plain(column))


def _is_text(cells: Sequence[str]) -> bool:
    texts = [cell for cell in cells if cell]
    return bool(texts) and sum(map(len, texts)) >= _TEXT * len(texts)


def score_of(cell: str) -> float | None:
    """The score that a cell holds: a number of a small scale, with a decimal point or comma, its label behind it as in `4 - good`; 1 or 0
    for yes or no; None for anything else."""
    if (answer := _YES_NO.get(_plain(cell))) is not None:
        return answer
    number = re.fullmatch(r"(\d{1,2}(?:[.,]\d+)?)(?:\s*[-–:=(]\s*[^\W\d].*)?", cell)
    if number is None:
        return None
    score = float(number[1].replace(",", "."))
    return score if score <= _MOST_SCORE else None


def _is_scores(column: str, cells: Sequence[str]) -> bool:
    """Whether the cells are numbers of a small scale, as people give scores, but for a few; all alike only under a name of a quality."""
    texts = [cell for cell in cells if not _MISSING.fullmatch(_plain(cell))]
    scores = [score for cell in texts if (score := score_of(cell)) is not None]
    stray = len(texts) - len(scores)
    quality = _QUALITY.search(_plain(column)) is not None
    if (any(_plain(cell) in _YES_NO for cell in texts) or _COUNTED.search(_plain(column))) and not quality:
        return False
    varied = len(set(scores)) > 1 or (bool(scores) and quality)
    return varied and stray <= max(1, len(texts) // 4) and len(scores) > stray
