"""The texts in a person's own sheet: which one is judged, and what the others are to it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from .sheet_scores import plain_name

TextRole = Literal["output", "source", "reference", "question"]
_Kind = TextRole | Literal["either", "comment"]
_NOUNS: Mapping[_Kind, str] = {
    "output": "output|outputs|hyp|pred|prediction|summary|summaries|answer|answers|response|reply|completion|candidate|draft|translation|paraphrase|rewrite|simplification|"
    "suggestion|hypothesis|synopsis|tldr|answered|replied|said|zusammenfassung|kurzfassung|antwort|ausgabe|entwurf|ubersetzung|resume|synthese|reponse|sortie|"
    "traduction|resumen|sintesis|respuesta|salida|traduccion|resumo|sintese|resposta|saida|traducao",
    "source": "source|data|daten|donnees|datos|dados|sources|src|transcript|conversation|document|context|input|original|chart|passage|article|dialogue|dialog|findings|code|snippet|diff|"
    "clause|policy|excerpt|extract|specification|attributes|auszug|extrait|extracto|excerto|"
    "quelle|vorlage|transkript|gesprach|dokument|artikel|protokoll|compte rendu|transcription|fuente|transcripcion|conversacion|dialogo|documento|articulo|"
    "fonte|transcricao|artigo|partida|depart",
    "question": "question|questions|prompt|query|task|instruction|instructions|request|asked|ask|inquiry|enquiry|frage|aufgabe|anfrage|consigne|demande|"
    "pregunta|tarea|consulta|solicitud|pergunta|tarefa|pedido",
    "reference": "reference|ref|gold|expected|ideal|target|musterantwort|musterlosung|referenz|referencia",
    "either": "note|notes|letter|report|text|record|message|email|mail|story|brief|bericht|notiz|notizen|befund|nachricht|texte|lettre|rapport|message|"
    "texto|carta|informe|nota|notas|mensaje|relatorio|mensagem",
}
"""Nouns for texts, in five languages; of `either`, one is judged where no other is, and is else what the judged text was made from."""
OUTPUT_NAMES = frozenset(_NOUNS["output"].split("|"))
TEXT_NAMES = frozenset(
    noun for kind, nouns in _NOUNS.items() if kind != "either" for noun in nouns.split("|")
)
_NOUN_KINDS: Mapping[str, _Kind] = {noun: kind for kind, nouns in _NOUNS.items() for noun in nouns.split("|")}
_MADE = re.compile(
    r"\b(ai|generated|gpt|gpt4\w*|gpt3\w*|chatgpt|copilot|deepl|claude|gemini|llama|mistral|llm|model|bots?|chatbots?|assistant|candidate|machine|mt|predicted|"
    r"system|ki|ia|automatic\w*|automatisch\w*|automatique|generiert\w*|erzeugt\w*|modell|assistent|genere\w*|modele|generad\w|modelo|asistente|gerad\w|assistente)\b"
)
"""Words in the name of a text that a system wrote."""
_REWRITTEN = re.compile(
    r"\b((notes?|messages?|letters?|explanations?) (to|for) (the )?(patients?|parents?|relatives|family|families|carers?)|patients? (letters?|explanations?|versions?|leaflets?)|plain|lay|friendly|versions?|simplified|simpler|easy|rewritten|shortened|einfach\w*|leichte\w*|vereinfacht\w*|gekurzt\w*|simplifie\w*|vulgarise\w*|sencill\w|simplificad\w)\b"
)
"""Words in the name of a text that was made from another."""
_BY_SYSTEM = re.compile(rf"\b(by|from|von|par|por) (the |le |la |el |o |a )?{_MADE.pattern}")
_GIVEN = re.compile(
    r"\b(source|original\w*|input|quell\w*|ausgangs\w*|origine|origen|origem|fuente|fonte)\b|^original"
)
_USERS = re.compile(
    r"\b(users?|customers?|clients?|kund\w*|nutzer\w*|utilisateur|usager|clientes?|usuari\w|utilizador)\b"
)
_KNOWN_GOOD = re.compile(
    r"\b(reference|gold|golden|expected|ideal|ground truth|human|referenz\w*|muster\w*|attendue?|esperad\w|referencia)\b"
)
_COMMENT = re.compile(
    r"\b(comments?|remarks?|rationale|reason(s|ing)?|feedback|explanations?|justification|why|thoughts|kommentare?|bemerkung(en)?|anmerkung(en)?|begrundung|"
    r"commentaires?|remarques?|comentarios?|observaciones|observacoes|justificacion|justificativa)\b|"
    r"\b(rater|reviewer|annotator|evaluator|assessor|judge)s?\b.*\bnotes?\b"
)
_HEAD = re.compile(
    r" (?:of|on|about|sur|sobre|zu|zum|zur|uber|for|to|from|by|des|der|du|de|del|do|da|von|vom|par|por) "
)
_REPLY = re.compile(r"answer|repl(y|ied)|response|antwort|reponse|respuesta|resposta|chatbot|\bbot\b")
_NEVER_KEYS = ("output", "answer", "response", "reply", "completion", "prediction")
"""Names under which `4` or `A3` is an answer."""
_TEXT = 20
"""Characters of a cell, on average, from which on a column holds texts."""
_CODE = re.compile(r"https?://\S+|\S+@\S+|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.{0,24}|[\w/.#-]*\d[\w/.#-]*")
"""A date, an address or a key: long, but no text."""


class Texts(NamedTuple):
    """What the columns of texts are."""

    roles: Mapping[str, TextRole]
    candidates: tuple[str, ...]
    """Those that may be judged; where there are several, neither names nor places tell which."""
    by_place: tuple[str, ...]
    """Those whose names say nothing, taken as source or question because they stand before the judged text."""


def guess_texts(cells: Mapping[str, Sequence[str]], scored: Collection[str], several: bool = False) -> Texts:
    """What each column of texts is: by its name, by its question marks, and by where it stands; a sheet's only text is judged.

    `several`: each row holds the scores of several people.
    """
    kinds = _kinds(cells, scored, several)
    candidates = _candidates({name: cells[name] for name in cells if name not in scored}, kinds)
    of_kind = {kind: [c for c in kinds if kinds[c] == kind] for kind in ("source", "question", "reference")}
    roles: dict[str, TextRole] = dict.fromkeys((*of_kind["source"], *of_kind["question"][1:]), "source")
    roles |= {of_kind[role][0]: role for role in ("question", "reference") if of_kind[role]}  # type: ignore[misc]
    by_place = []
    if len(candidates) == 1:
        judged, order = candidates[0], list(cells)
        for name, kind in kinds.items():
            before = order.index(name) < order.index(judged)
            if name == judged or not (kind == "either" or (kind is None and before)):
                continue
            words = plain_name(name).split()
            shares_word = bool({words[0], words[-1]} & set(plain_name(judged).split()))
            is_made = _REWRITTEN.search(plain_name(judged)) and _head(name) != _head(judged)
            if shares_word and (of_kind["source"] or (kind == "either" and len(words) > 1 and not is_made)):
                continue  # Beside an `AI note`, a `doctor's note` may be what is hoped for, or another that could be judged.
            is_question = _asks(cells[name]) or (before and _REPLY.search(plain_name(judged)) is not None)
            roles[name] = "question" if is_question and "question" not in roles.values() else "source"
            by_place += [name] if kind is None else []
    return Texts({**roles, **dict.fromkeys(candidates[:1], "output")}, candidates, tuple(by_place))


def free_texts(cells: Mapping[str, Sequence[str]], scored: Collection[str]) -> tuple[str, ...]:
    """Columns of texts that may be anything, by their names: source, reference, another output."""
    kinds = _kinds(cells, scored)
    return tuple(name for name, kind in kinds.items() if kind in (None, "output", "either") and are_texts(cells[name], 2 * _TEXT))  # fmt: skip


def _kinds(
    cells: Mapping[str, Sequence[str]], scored: Collection[str], several: bool = False
) -> dict[str, _Kind | None]:
    """What the columns of texts hold by their names; those behind the scores that no name tells, or that are notes, are comments.

    One so named that stands in every row before the scores may be judged itself, as a reviewer's comment on code is: it is no rater's own where
    all who rated a text share it.
    """
    kinds = {
        name: text_kind(name)
        for name in cells
        if name not in scored
        and (
            are_texts(cells[name])
            or _names_short_texts(name, cells[name])
            or (text_kind(name) and _are_phrases(cells[name]))
        )
    }
    order = list(cells)
    first_text = min(map(order.index, kinds), default=len(order))
    # Small numbers before the first text count the rows.
    places = [order.index(name) for name in scored if name in order]
    first_score = min((place for place in places if place > first_text), default=len(order))
    if any(order.index(name) < first_score and kind != "comment" for name, kind in kinds.items()):
        kinds |= {
            name: "comment"
            for name, kind in kinds.items()
            if order.index(name) > first_score
            and (kind in (None, "either") or _COMMENT.search(plain_name(name)))
        }
    others = [name for name, kind in kinds.items() if kind != "comment"]
    unnamed = [name for name in others if kinds[name] is None]
    is_output_told = any(kinds[name] == "output" for name in others)
    for name in [name for name, kind in kinds.items() if kind == "comment" and others]:
        if order.index(name) > first_score or not all(cells[name]):
            continue
        given = list(zip(*(cells[other] for other in others), strict=True))
        is_one_each = len(set(zip(given, cells[name], strict=True))) == len(set(given))
        if several or (is_one_each and len(set(given)) < len(given)):
            kinds[name] = "output"
        elif not is_output_told and (is_one_each or not unnamed):
            kinds |= dict.fromkeys((others[-1], name), None)
    about = [name for name in others if _may_be_about(name)]
    is_told = any(kinds[name] in ("output", "either") for name in others)
    if all(name in about for name in others if kinds[name] == "output"):
        places = [place for place, name in enumerate(others) if kinds[name] in (None, "either")]
        for name in about:
            place = others.index(name)
            is_before = kinds[name] == "output" and place < max(places, default=0)
            if is_before or (kinds[name] == "source" and not is_told and place > min(places, default=place)):
                kinds[name] = None
    return {name: kind for name, kind in kinds.items() if kind != "comment"}


def _candidates(cells: Mapping[str, Sequence[str]], kinds: Mapping[str, _Kind | None]) -> tuple[str, ...]:
    """The columns any of which may be the text that is judged."""
    outputs = [name for name, kind in kinds.items() if kind == "output"]
    exact = [name for name in outputs if plain_name(name) == "output"]
    made = [name for name in outputs if _MADE.search(plain_name(name))]
    if outputs:
        return tuple(next((part for part in (exact, made) if len(part) == 1), outputs))
    open_texts = [name for name, kind in kinds.items() if kind in (None, "either")]
    given = [name for name in open_texts if not _asks(cells[name])] or open_texts
    if given:
        distinct = [len(set(cells[name])) for name in given]
        """Where texts stand in several rows, another was made from them in each."""
        return tuple(
            name for name, number in zip(given, distinct, strict=True) if 3 * number > 2 * max(distinct)
        )
    targets = [name for name in kinds if plain_name(name).partition(" ")[0] == "target"]
    if targets or len(kinds) == 1:
        return tuple(targets or kinds)
    short = sorted((name for name in cells if any(cells[name])), key=lambda name: -sum(map(len, cells[name])))
    return () if kinds else tuple(short[:1])


def _may_be_about(column: str) -> bool:
    """Whether a text's name ends in a word that tells nothing: a `code review` is no code, and an `answer key` no answer."""
    head = plain_name(column.partition("(")[0])
    is_told = any(words.search(head) for words in (_GIVEN, _MADE, _REWRITTEN, _BY_SYSTEM))
    return not is_told and re.search(r"[a-z]{3,}$", head) is not None and _noun_kind(head.split()[-1]) is None


def text_kind(column: str) -> _Kind | None:
    """What a column of texts holds by its name; None where that does not tell. Of `Summary of the talk` or `Source (EN)` the first part tells."""
    whole = plain_name(column)
    head = _head(column)
    if _COMMENT.search(whole) and not (
        _MADE.search(head) or _BY_SYSTEM.search(whole) or _USERS.search(whole) or _REWRITTEN.search(whole)
    ):
        return "comment"
    if _KNOWN_GOOD.search(whole):
        return "reference"
    nouns = [kind for word in head.split() if (kind := _noun_kind(word))] or [
        kind for phrase, kind in _NOUN_KINDS.items() if " " in phrase and phrase in head
    ]
    telling = [kind for kind in nouns if kind != "either"]
    if "question" in telling and "output" not in telling:
        return "question"
    bracket = plain_name(column.partition("(")[2])
    if (_GIVEN.search(head) and not _USERS.search(head)) or (
        _GIVEN.match(bracket) and len(bracket.split()) < 3
    ):
        return "source"
    if (_MADE.search(whole) or _REWRITTEN.search(whole)) and telling[-1:] != ["source"]:
        return "output"
    if _USERS.search(whole) and "output" not in telling:
        return "question"
    return (telling or nouns or [None])[-1]


def _head(column: str) -> str:
    """What a name begins with: `Summary` of `Summary of the talk` and of `Summary (EN)`."""
    return _HEAD.split(plain_name(column.partition("(")[0]) or plain_name(column))[0]


def _noun_kind(word: str) -> _Kind | None:
    """The kind of a noun, or of the last part of a German compound."""
    compound = re.search(
        r"(frage|antwort|zusammenfassung|fassung|ubersetzung|brief|bericht|text|notiz|befund|protokoll)$",
        word,
    )
    if word in _NOUN_KINDS or compound is None:
        return _NOUN_KINDS.get(word)
    return _NOUN_KINDS.get(compound[1], "output")


def _names_short_texts(column: str, cells: Sequence[str]) -> bool:
    """Whether a name is nothing but a text's, so that short cells are texts too; keys under `note` or `candidate` are not."""
    name = plain_name(column)
    is_noun = name in _NOUN_KINDS or name in ("ai summary", "model output", "generated text", "source text")
    return is_noun and any(cells) and (name in _NEVER_KEYS or not is_code(cells))


def _are_phrases(cells: Sequence[str]) -> bool:
    """Whether cells are of three words and more, on average, and hardly recur."""
    texts = [cell for cell in cells if cell]
    words = sum(len(text.split()) for text in texts)
    return words >= 3 * len(texts) and 3 < len(set(texts)) >= len(texts) / 6


def _asks(cells: Sequence[str]) -> bool:
    texts = [cell for cell in cells if cell]
    return sum("?" in text for text in texts) > 0.6 * len(texts)


def are_texts(cells: Sequence[str], least: int = _TEXT) -> bool:
    """Whether cells are texts of `least` characters or more, on average, and no dates, addresses or keys."""
    texts = [cell for cell in cells if cell]
    return sum(map(len, texts)) >= least * len(texts) and not is_code(cells)


def is_code(cells: Sequence[str]) -> bool:
    """Whether there are but keys, dates and addresses in the cells, or nothing."""
    return all(_CODE.fullmatch(cell) for cell in cells if cell)
