"""What the columns of a person's own sheet hold: guessed from their names and cells, to be shown and confirmed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

from .sheet_scores import MEASURED, QUALITY, is_form_status, is_scores, plain_name, without_scale

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
    "output": "output|summary|ai summary|answer|response|reply|completion|generated text|generated summary|model output|candidate|draft|"
    "generated note|ai note|translation|paraphrase|zusammenfassung|antwort|ausgabe|entwurf|ubersetzung|resume|reponse|sortie|traduction|"
    "resumen|respuesta|salida|traduccion|resumo|resposta|saida|traducao",
    "source": "source|sources|patient notes|clinical notes|progress notes|transcript|conversation|document|context|input|original|"
    "chart|source text|source note|passage|article|dialogue|dialog|findings|quelle|quelltext|ausgangstext|originaltext|transkript|gesprach|"
    "dokument|artikel|original text|texte source|texte original|compte rendu|texto original|notes cliniques|transcription|fuente|texto fuente|"
    "texto de origen|transcripcion|conversacion|dialogo|documento|articulo|fonte|texto fonte|texto de origem|transcricao|artigo",
    "reference": "reference|gold|gold standard|expected|expected output|ideal|target|human summary|reference summary|ground truth|"
    "referenz|musterantwort|musterlosung|reponse attendue|referencia",
    "question": "question|prompt|query|task|instruction|instructions|request|asked|inquiry|user message|user input|customer message|frage|aufgabe|anfrage|consigne|pregunta|tarea|pergunta|tarefa",
    "audience": "audience|readers|for whom|zielgruppe|publico",
    "group": "group|patient|patient id|mrn|medical record number|hospital number|encounter|ward|site|hospital|clinic|document id|cluster|subject|"
    "gruppe|patientin|groupe|grupo|paciente",
    "system": "system|model|written by|author|generator|produced by|writer|version|source model|engine|bot|assistant|vendor|modell|systeme|"
    "modele|sistema|modelo",
    "rater": "rater|rated by|reviewer|evaluator|evaluated by|coder|grader|username|user name|worker|worker id|workerid|participant|participant id|respondent|reader|reader name|reviewer name|rater name|annotator name|reviewer id|annotator id|rater email|initials|email address|email|reviewed by|annotator|assessor|clinician|scorer|rater id|judge|doctor|bewerter|bewerterin|gutachter|gutachterin|beurteiler|beurteilerin|prufer|"
    "arzt|arztin|arztin arzt|evaluateur|evaluatrice|annotateur|juge|evaluador|evaluadora|revisor|anotador|avaliador|avaliadora|medico",
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
_EITHER = (
    "note|notes|letter|report|text|record|message|email|story|brief|bericht|notiz|notizen|befund|texte|lettre|rapport|texto|carta|informe|"
    "nota|notas|relatorio"
)
"""Names of texts that are judged where no other is, and else what the judged text was made from."""
_NOTES = ("note", "notes", "notizen", "notas")
_MADE = re.compile(
    r"\b(ai|generated|gpt|chatgpt|llm|model|bots?|chatbot|assistant|candidate|draft|machine|mt|predicted|ki|ia|entwurf|genere|generado|gerado)\b"
)
"""Words in the name of a text that a system wrote."""
_FEMININE = re.compile(r"\((?:a|e|in|trice)\)|[/:*]in\b")
"""What stands behind `Avaliador(a)` or `Gutachter/in`."""
_HEAD = re.compile(r" (?:of|for|to|from|by|des|der|du|de|do|da|von|vom) ")
_COMPOUNDS: Sequence[tuple[str, Role]] = (
    ("frage", "question"),
    ("antwort", "output"),
    ("zusammenfassung", "output"),
)
_COMPOUND = re.compile(r"(brief|bericht|text|notiz|befund|protokoll)$")
_KNOWN_GOOD = re.compile(r"\b(reference|gold|expected|ideal|ground truth|target|referenz|referencia)\b")
_ID_ENDINGS = ("id", "no", "nr", "number", "code", "key")
_SHORT_ENDINGS: Sequence[tuple[Role, Sequence[str]]] = (
    ("rater", ("rater", "reviewer", "annotator", "evaluator", "assessor", "grader", "initials", "username")),
    ("system", ("system", "model", "bot", "assistant", "engine", "vendor", "author", "writer")),
)
"""Names of short cells with which a longer name may end, such as `Ticket No.` or `Which bot?`."""
AGGREGATE = re.compile(
    r"(grand )?(mean|average|avg|median|sums?|totals?|sd|std|standard deviation|consensus|adjudicated|final|mittelwert|durchschnitt|summe|"
    r"gesamtsumme|konsens|moyenne|mediane|somme|media|promedio|mediana|suma|consenso|soma)"
)
"""What stands in a person's place over scores worked out from the others, or before a row of them."""
_TEXT = 20
"""Characters of a cell, on average, from which on a column holds texts."""
_TEXT_ROLES: tuple[Role, ...] = ("output", "source", "reference", "question")
_COMMENT = re.compile(
    r"\b(comments?|remarks?|rationale|reason(s|ing)?|feedback|explanations?|justification|why|kommentare?|bemerkung(en)?|anmerkung(en)?|begrundung|"
    r"commentaires?|remarques?|comentarios?|observaciones|observacoes|justificacion|justificativa)\b|"
    r"\b(rater|reviewer|annotator|evaluator|assessor|judge)s?\b.*\bnotes?\b"
)
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_CODE = re.compile(r"https?://\S+|\S+@\S+|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.{0,24}|[\w-]*\d[\w-]*")
"""A date, an address or a key: long, but no text."""


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
        if match and role not in (*_TEXT_ROLES, "id") and not _is_text(cells[match], 3 * _TEXT):
            roles[match] = role
    roles |= _guess_texts({column: cells[column] for column in columns if column not in roles})
    texts = next((cells[column] for column, role in roles.items() if role == "output"), [])
    system = next((cells[column] for column, role in roles.items() if role == "system"), [""] * len(rows))
    free = [name for name in columns if name not in roles]
    if key := _guess_id(free, cells, texts, system):
        roles[key] = "id"
    for role, endings in _SHORT_ENDINGS:
        free = [name for name in columns if name not in roles and not _is_text(cells[name])]
        if role not in roles.values() and (
            match := next((c for c in free if _ends_with(c, endings) and _recurs(cells[c])), None)
        ):
            roles[match] = role
    if "id" not in roles.values() and columns:
        group, first = next((c for c in columns if roles.get(c) == "group"), None), columns[0]
        if group is not None and _ends_with(group, ("id",)) and _tells_apart(cells[group], texts):
            roles[group] = "id"
        elif first not in roles and (
            _counts_rows(first, cells[first]) or _names_rows(first, cells[first], texts)
        ):
            roles[first] = "id"
    if not attributes:
        scored = [
            c for c in columns
            if c not in roles and is_scores(c, cells[c]) and not _is_key(c) and not is_form_status(c, cells[c])
        ]  # fmt: skip
        rater = next((cells[column] for column, role in roles.items() if role == "rater"), [])
        scored = [c for c in scored if not _is_of_raters(c, cells[c], rater)]
        roles |= dict.fromkeys(without_aggregates(scored), "rating")
    return SheetColumns({column: roles.get(column, "kept") for column in columns})


def _guess_texts(cells: Mapping[str, Sequence[str]]) -> dict[str, Role]:
    """The roles of texts: by their names, where a note or letter beside a summary is its source; a sheet's only text is judged."""
    scored = [column for column in cells if is_scores(column, cells[column]) and not _is_key(column)]
    behind = list(cells)[list(cells).index(scored[0]) :] if scored else []
    """Notes behind scores are a rater's."""
    kinds = {
        column: _text_kind(column)
        for column in cells
        if not is_scores(column, cells[column]) and not (column in behind and plain_name(column) in _NOTES)
    }
    long = [column for column in kinds if _is_text(cells[column]) and not _COMMENT.search(plain_name(column))]
    named = [column for column, kind in kinds.items() if kind and (column in long or _is_exact(column))]
    by_kind = {
        kind: sorted((c for c in named if kinds[c] == kind), key=lambda c: not _is_exact(c))
        for kind in (*_TEXT_ROLES, "either")
    }
    unknown = sorted((c for c in long if kinds[c] is None), key=lambda c: -sum(map(len, cells[c])))
    others = [c for c in named if kinds[c] not in ("output", "either")]
    short = sorted((c for c in kinds if any(cells[c])), key=lambda c: -sum(map(len, cells[c])))
    judged = (*by_kind["output"], *by_kind["either"], *unknown, *(others if len(others) == 1 else ()))
    judged = judged or (() if others else tuple(short[:1]))
    roles: dict[str, Role] = dict.fromkeys(by_kind["source"], "source")
    roles |= {by_kind[role][0]: role for role in ("reference", "question") if by_kind[role]}
    if by_kind["output"] and not by_kind["source"]:
        roles |= dict.fromkeys(by_kind["either"], "source")
    return {**roles, **dict.fromkeys(judged[:1], "output")}


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
    return next(iter((*matches, *exact, *apart)), None)


def competing_texts(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The columns of texts any of which may be the one that is judged; none where the names tell."""
    output = columns.one("output")
    if output is None or plain_name(output) in ("output", "ai summary", "model output", "generated text"):
        return ()
    rivals = ("output",) if _text_kind(output) == "output" else (None, "either")
    texts = [name for name in _free_texts(columns, rows) if name == output or _text_kind(name) in rivals]
    return tuple(texts) if len(texts) > 1 else ()


def unplaced_texts(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Columns of texts whose names say nothing, in a sheet without a source: jurors may have to see them, or must not."""
    if columns.of("source"):
        return ()
    return tuple(
        name for name in _free_texts(columns, rows, least=2 * _TEXT)
        if columns.roles[name] == "kept" and _text_kind(name) is None
    )  # fmt: skip


def _free_texts(columns: SheetColumns, rows: Sequence[Mapping[str, str]], least: int = _TEXT) -> list[str]:
    """The judged text, and those that have no role and are no comments."""
    return [
        name for name, role in columns.roles.items()
        if role in ("output", "kept") and _is_text([row.get(name, "").strip() for row in rows], least)
        and not _COMMENT.search(plain_name(name))
    ]  # fmt: skip


def unread_scores(columns: SheetColumns, rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Columns named as a quality, or as a level of a scale, whose cells are filled and no score that can be read."""

    def seems_scored(column: str) -> bool:
        name, cells = plain_name(column), [row.get(column, "").strip() for row in rows]
        if not any(cells) or _is_text(cells) or _COMMENT.search(name) or is_form_status(column, cells):
            return False
        if _is_key(column) or MEASURED.search(name) or (_is_aggregate(column) and columns.of("rating")):
            return False
        if name.endswith("language") and all(
            re.fullmatch(r"(?:[A-Za-z]{2}(?:[-_][A-Za-z]{2})?)?", cell) for cell in cells
        ):
            return False
        return QUALITY.search(name) is not None or name.isdigit()

    return tuple(filter(seems_scored, columns.of("kept")))


def column_named(role: Role, columns: Sequence[str]) -> str | None:
    """The column whose name is one of those that a role commonly has."""
    spellings = {plain_name(_FEMININE.sub("", column)): column for column in reversed(columns)}
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


def _text_kind(column: str) -> Role | Literal["either"] | None:
    """What a column of texts holds by its name; None where that does not tell. Of `Summary of the talk` or `Source (EN)` the first part tells."""
    whole = plain_name(column)
    name = _HEAD.split(plain_name(column.partition("(")[0]) or whole)[0]
    if name in _EITHER.split("|"):
        return "output" if _MADE.search(whole) else "either"
    exact = next((role for spelling, role in _ENDINGS if spelling == name), None)
    if exact or _KNOWN_GOOD.search(whole):
        return exact or "reference"
    ending = next((role for spelling, role in _ENDINGS if name.endswith(f" {spelling}")), None)
    if ending is None and _MADE.search(whole):
        return "output"
    start = next((role for spelling, role in _ENDINGS if name.startswith(f"{spelling} ")), None)
    if ending or start:
        return ending or start
    if compound := next((role for end, role in _COMPOUNDS if name.endswith(end)), None):
        return compound
    words = _EITHER.split("|")
    return (
        "either" if {name.split(" ")[0], name.split(" ")[-1]} & set(words) or _COMPOUND.search(name) else None
    )


def _is_exact(column: str) -> bool:
    name = plain_name(column)
    return name in _EITHER.split("|") or any(name == spelling for spelling, _ in _ENDINGS)


def _ends_with(column: str, words: Sequence[str]) -> bool:
    return plain_name(column).rpartition(" ")[2] in words


def _is_key(column: str) -> bool:
    """Whether a name ends as that of an id or a running number."""
    return _ends_with(column, _ID_ENDINGS) and not plain_name(column).endswith("yes no")


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


def _names_rows(column: str, cells: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether each cell is a short name of its own, as in a first column."""
    distinct = len(set(cells)) == len(cells) > 1 and all(cells)
    return (
        distinct
        and _tells_apart(cells, texts)
        and not (_is_text(cells) or is_scores(column, cells) or any(map(_DATE.match, cells)))
    )


def _counts_rows(column: str, cells: Sequence[str]) -> bool:
    """Whether cells count the rows, as a first column without a name or `#` does."""
    counts = [int(cell) for cell in cells if cell.isascii() and cell.isdigit()]
    steps = {after - before for before, after in pairwise(counts)}
    return len(counts) == len(cells) > 2 and steps == {1} and not QUALITY.search(plain_name(column))


def _is_text(cells: Sequence[str], least: int = _TEXT) -> bool:
    texts = [cell for cell in cells if cell]
    return bool(texts) and sum(map(len, texts)) >= least * len(texts) and not all(map(_CODE.fullmatch, texts))
