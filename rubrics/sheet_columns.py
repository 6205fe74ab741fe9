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
NAMES: Mapping[Role, str] = {
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
        for name in NAMES[role].split("|")
    ),
    key=lambda each: -len(each[0]),
)
"""Names of texts with which a longer name may end, such as `AI discharge summary`; the longest first."""
_SHORT_ENDINGS: Sequence[tuple[Role, Sequence[str]]] = (
    ("id", ("id", "no", "nr", "number", "code", "key")),
    ("system", ("system", "model", "bot", "assistant", "engine", "vendor", "author", "writer")),
)
"""Names of short cells with which a longer name may end, such as `Ticket No.` or `Which bot?`."""
QUALITY = re.compile(
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
AGGREGATE = re.compile(
    r"(grand )?(mean|average|avg|median|sums?|totals?|sd|std|standard deviation|consensus|adjudicated|final|mittelwert|durchschnitt|summe|"
    r"gesamtsumme|konsens|moyenne|mediane|somme|media|promedio|mediana|suma|consenso|soma)"
)
"""What stands in a person's place over scores worked out from the others, or before a row of them."""
_COUNTED = re.compile(
    r"\b(age|visit|week|day|month|year|session|turn|words?|tokens?|length|count|order|page|seed|minutes|seconds|duration|time|attempt|trial|"
    r"worter|mots|palabras|palavras|alter|woche|tag|jahr|edad|semana|visita|idade)\b"
)
"""Small numbers that nobody gave as a score."""
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
    for role in NAMES:
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
        roles |= dict.fromkeys(without_aggregates(scored), "rating")
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
    if output is None or plain_name(output) in ("output", "ai summary", "model output", "generated text"):
        return ()
    texts = [
        name for name, role in columns.roles.items()
        if role in ("output", "kept") and _is_text([row.get(name, "").strip() for row in rows])
        and not _COMMENT.search(plain_name(name))
    ]  # fmt: skip
    if _is_output_name(output):
        texts = [name for name in texts if _is_output_name(name)]
    return tuple(texts) if len(texts) > 1 else ()


def unread_scores(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Columns named as a quality, or as a level of a scale, whose cells are filled and no score that can be read."""

    def seems_scored(column: str) -> bool:
        name, cells = plain_name(column), [row.get(column, "").strip() for row in rows]
        if not any(cells) or _is_text(cells) or _COMMENT.search(name):
            return False
        if _is_aggregate(column) and columns.of("rating"):
            return False
        return QUALITY.search(name) is not None or name.isdigit()

    return tuple(filter(seems_scored, columns.of("kept")))


def column_named(role: Role, columns: Sequence[str]) -> str | None:
    """The column whose name is one of those that a role commonly has."""
    spellings = {plain_name(column): column for column in reversed(columns)}
    return next((spellings[name] for name in NAMES[role].split("|") if name in spellings), None)


def without_aggregates(columns: Sequence[str]) -> list[str]:
    """The columns without those worked out from the others; all of them where there are no others, as in a sheet with one `Final score`."""
    return [column for column in columns if not _is_aggregate(column)] or list(columns)


def _is_aggregate(column: str) -> bool:
    """Whether a column holds what was worked out from others: `Mean`, `accuracy (mean)`, `accuracy_consensus`."""
    plain = plain_name(column)
    return any(
        AGGREGATE.fullmatch(part) for part in (plain, *plain.rsplit(" ", 1)[1:], plain.partition(" ")[0])
    )


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


def plain_name(column: str) -> str:
    letters = (
        unicodedata.normalize("NFKD", without_scale(column).casefold()).encode("ascii", "ignore").decode()
    )
    return " ".join(re.sub(r"[^a-z0-9]+", " ", letters).split())


def _ending_role(column: str) -> Role | None:
    return next((role for name, role in _ENDINGS if plain_name(column).endswith(f" {name}")), None)


def _is_output_name(column: str) -> bool:
    return plain_name(column) in NAMES["output"].split("|") or _ending_role(column) == "output"


def _ends_with(column: str, words: Sequence[str]) -> bool:
    return plain_name(column).rpartition(" ")[2] in words


def _may_be(role: Role, cells: Sequence[str]) -> bool:
    """Whether cells tell every row apart, as an id must, or not every one, as the name of a system."""
    texts = [cell for cell in cells if cell]
    distinct = len(set(texts)) == len(texts)
    return bool(texts) and (distinct and len(texts) > 1 if role == "id" else not distinct or len(texts) == 1)


def _counts_rows(column: str, cells: Sequence[str]) -> bool:
    """Whether cells count the rows, as a first column without a name or `#` does."""
    counts = [int(cell) for cell in cells if cell.isascii() and cell.isdigit()]
    steps = {after - before for before, after in pairwise(counts)}
    return len(counts) == len(cells) > 2 and steps == {1} and not QUALITY.search(plain_name(column))


def _is_text(cells: Sequence[str]) -> bool:
    texts = [cell for cell in cells if cell]
    return bool(texts) and sum(map(len, texts)) >= _TEXT * len(texts)


def score_of(cell: str) -> float | None:
    """The score that a cell holds: a number of a small scale, with a decimal point or comma, its label behind it as in `4 - good`; 1 or 0
    for yes or no; None for anything else."""
    if (answer := _YES_NO.get(plain_name(cell))) is not None:
        return answer
    number = re.fullmatch(r"(\d{1,2}(?:[.,]\d+)?)(?:\s*[-–:=(]\s*[^\W\d].*)?", cell)
    if number is None:
        return None
    score = float(number[1].replace(",", "."))
    return score if score <= _MOST_SCORE else None


def _is_scores(column: str, cells: Sequence[str]) -> bool:
    """Whether the cells are numbers of a small scale, as people give scores, but for a few; all alike only under a name of a quality."""
    texts = [cell for cell in cells if not _MISSING.fullmatch(plain_name(cell))]
    scores = [score for cell in texts if (score := score_of(cell)) is not None]
    stray = len(texts) - len(scores)
    quality = QUALITY.search(plain_name(column)) is not None
    if (
        any(plain_name(cell) in _YES_NO for cell in texts) or _COUNTED.search(plain_name(column))
    ) and not quality:
        return False
    varied = len(set(scores)) > 1 or (bool(scores) and quality)
    return varied and stray <= max(1, len(texts) // 4) and len(scores) > stray
