"""The people in a sheet's header: whose scores a column holds, and of what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .sheet_scores import QUALITY, plain_name, without_aggregates, without_scale

RATER_NAMES = (
    "rater|who|rated by|reviewer|evaluator|evaluated by|coder|grader|username|user name|worker|worker id|workerid|participant|"
    "participant id|respondent|reader|reader name|reviewer name|rater name|annotator name|reviewer id|annotator id|rater email|"
    "initials|email address|email|reviewed by|annotator|assessor|clinician|scorer|rater id|judge|doctor|bewerter|bewerterin|pruferin|"
    "lehrer|lehrerin|korrektorin|expertin|gutachter|gutachterin|beurteiler|beurteilerin|prufer|arzt|arztin|arztin arzt|evaluateur|"
    "evaluatrice|relecteur|relectrice|correcteur|correctrice|examinateur|annotateur|juge|korrektor|lektor|expert|experte|linguist|"
    "marker|examiner|checker|teacher|tutor|nurse|physician|experto|experta|corrector|especialista|evaluador|evaluadora|revisor|"
    "anotador|avaliador|avaliadora|medico|medica|revisora|anotadora|correctora|corretor|corretora|examinador|examinadora|examinatrice|annotatrice|"
    "lektorin|linguistin|jueza|professor|professora|profesor|profesora|supervisor|supervisora|radiologist|pharmacist"
)
"""Names of a column that says who rated, in five languages."""
_BY_PERSON: Sequence[tuple[re.Pattern[str], int | None]] = (
    (re.compile(r"([^\s:]+@[^\s:]+)[ :-]+([^@]+)"), 0),
    (re.compile(r"([^@]+?)[ :_([-]+([^\s()\[\]]+@[^\s()\[\]]+)[)\]]?"), 1),
    (re.compile(r"([^:]+):([^:]+)"), 0),
    (re.compile(r"([^()\[\]]+)[(\[]([^()\[\]]+)[)\]]"), 1),
    (re.compile(r"(.+?) +[-–—/|] +(.+)"), None),
    (re.compile(r"([^/]+)/(\d+|[^/\d][^/]*)"), None),
    (re.compile(r"([^,;]+)[,;] *([^,;]+)"), None),
    (re.compile(r"(.+)['’]s +(.+)"), 0),
    (re.compile(r"(.+) +(?:by|von|par|por) +(.+)"), 1),
    (re.compile(r"([^_.]+)[_.]([^_.\s][^_.]*)"), None),
    (re.compile(r"(.+?) +((?:Dr|Prof|Mr|Mrs|Ms|Frau|Herr)\.? \S+)"), 1),
    (re.compile(r"((?:Dr|Prof|Mr|Mrs|Ms|Frau|Herr)\.? \S+) +(.+)"), 0),
    (re.compile(r"(.*[a-z])(?: |_)((?:[A-Z]\. ?){2,3}|[A-Z]{2,3})"), 1),
    (re.compile(r"([A-Z]?[a-z]+)([A-Z][a-z]+)"), None),
)
"""How a column's name may hold a person and an attribute, and which part is the person where the words do not tell."""
_NUMBERED = (
    re.compile(r"(.+)[ _.-]+([^\W\d_]+[ _.-]?(?:\d+|[A-Za-z]))"),
    re.compile(r"([^\W\d_]+[ _.-]?(?:\d+|[A-Za-z]))[ _.-]+(.+)"),
)
"""How a numbered rater may stand behind or before an attribute of several words."""
_PERSON = re.compile(
    r"\b(dr|prof|mr|mrs|ms|frau|herr|rater|reviewer|annotator|nurse|doctor|physician|clinician|expert|person|judge|arzt|medico)\b"
)
_NUMBERED_PERSON = re.compile(rf"({RATER_NAMES}) ?(\d+|[a-z])|[aejpruw] ?\d+")
"""`p01`, `prufer 2`, `reader a`."""
_ONE_LETTER = re.compile(r"[a-z]?[ _.-]?\d+", re.IGNORECASE)
_NOUN = re.compile(
    r"(ness|ility|ivity|tion|sion|ment|acy|ism|heit|keit|ung|tat|dade?|cao|cion|(il|al|ar|ic|os|iv|id)ite)$"
)
"""How nouns for qualities end, and names of people do not."""
_ADJECTIVE = re.compile(r"(ing|al|ful|ous|ive|able|ible|ic|ant|ent|ate|ed|lich|ig|isch)$")
_NAME = re.compile(r"[^\W\d_]+|[A-Z]\. ?[^\W\d_]+|[A-Z][^\W\d_]+ [A-Z][^\W\d_]+")
"""A word that may be a person's name, with the initial or the first name before it."""
_ITEM = re.compile(
    r"[qfikc]|items?|questions?|fragen?|preguntas?|perguntas?|criteri\w+|kriteri\w+|criteres?|aspe[ck]ts?|aspectos?|dimension\w*|kategorie|categor\w+|v\w+"
)
"""Heads of numbered attributes: `Q1`, `Item 2`."""
_TWO_WORDS = re.compile(r"(.+) [(\[]?([^\s()\[\]]+)[)\]]?")
OVERALL = "overall quality"
"""What is scored where columns are named by people alone."""


def scores_by_person(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """By column of scores, whose they are and of what, where all that have a second part say so: `Dr Lee: accurate`, `accurate (Dr Lee)`.

    A column that is named by a person alone holds scores of the whole. Empty where there are no two persons, or where it cannot be told
    which part is the person; a mean or consensus is no person.
    """
    names = without_aggregates(names)
    questions = _parts(names, _NUMBERED[1])
    if (
        len(names) > 1
        and not (_is_grid(questions) and 1 < len({person for person, _ in questions.values()}) < len(names))
        and all(_is_person(name) and not QUALITY.search(plain_name(name)) for name in names)
        and not all(re.match(r"[^r]\d", plain_name(name)) for name in names)
        and not any(form.fullmatch(name) for form, _ in _BY_PERSON[:5] for name in names)
    ):
        return {name: (name, OVERALL) for name in names}
    forms = [(_parts(names, form), usual) for form, usual in _BY_PERSON]
    for person, form in ((1, _NUMBERED[0]), (0, _NUMBERED[1])):
        parts = _parts(names, form)
        forms += [(parts, person)] if all(_is_person(part[person]) for part in parts.values()) else []
    for parts, usual in forms:
        side = _person_side(parts, usual)
        if side is not None:
            return {
                name: (part[side], part[1 - side] + name[len(without_scale(name)) :])
                for name, part in parts.items()
            }
    words = _parts(names, _TWO_WORDS)
    sides = [{plain_name(part[side]) for part in words.values()} for side in (0, 1)]
    rated = [[QUALITY.search(part) is not None for part in side] for side in sides]
    if len(sides[0]) == 1 < len(words) == len(names) and all(rated[0]) and all(map(_is_surname, (part[1] for part in words.values()))):  # fmt: skip
        return {name: (part[1], part[0] + name[len(without_scale(name)) :]) for name, part in words.items()}
    for person in (0, 1):
        subject = 1 - person
        numbered = all(map(_ONE_LETTER.fullmatch, sides[person]))
        if (
            _is_grid(words)
            and min(map(len, sides)) > 1
            and any(rated[subject])
            and not any(rated[person])
            and not numbered
        ):
            return {
                name: (part[person], part[subject] + name[len(without_scale(name)) :])
                for name, part in words.items()
            }
    return {}


def scores_of_people(names: Sequence[str], people: Sequence[str]) -> dict[str, tuple[str, str]]:
    """By column of scores, which of `people` it names and what is left of its name; a column that names none is left out."""
    scores = {}
    for name in names:
        plain = without_scale(name)
        for person in sorted(people, key=len, reverse=True):
            word = (
                rf"(?<![^\W_]){re.escape(person)}(?![^\W_])"
                if not person.isdigit()
                else rf"(?<!\d){person}(?!\d)"
            )
            match = re.search(rf"^(.*?)[^\w]*_*(?:{word})(?:['’]s\b)?_*[^\w]*(.*)$", plain)
            if match and not (match[1] and match[2]):
                scores[name] = (person, (match[1] or match[2] or OVERALL) + name[len(plain) :])
                break
    return scores


def unclear_persons(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Columns of scores in two parts of which either may be the person's; or, with an empty second part, named by words that may be people's names."""
    for form, usual in _BY_PERSON:
        parts = _parts(names, form)
        if _is_grid(parts) and _person_side(parts, usual) is None:
            sides = [{plain_name(part[side]) for part in parts.values()} for side in (0, 1)]
            varied = [side for side in sides if len(side) > 1]
            known = any(QUALITY.search(part) for side in varied for part in side)
            if not known or (usual is None and len(varied) > 1):
                return parts
    names = without_aggregates(names)
    words = _parts(names, _TWO_WORDS)
    heads, tails = ({plain_name(part[side]) for part in words.values()} for side in (0, 1))
    rated = [[QUALITY.search(part) is not None for part in side] for side in (heads, tails)]
    if _is_grid(words) and (
        any(
            len(people) > 1 and all(subject) and not any(person)
            for people, subject, person in ((heads, rated[1], rated[0]), (tails, rated[0], rated[1]))
        )
        or (len(tails) > 1 and all(_is_surname(tail) for _, tail in words.values()))
    ):
        return words
    if len(names) > 1 and all(map(_NAME.fullmatch, names)):
        plain = [*map(plain_name, names)]
        known = any(QUALITY.search(name) or _NOUN.search(name) for name in plain)
        return {} if known or all(map(_ADJECTIVE.search, plain)) else {name: (name, "") for name in names}
    numbered = _parts(names, re.compile(r"(.*[^\d\s_.-])[ _.-]?(\d{1,2})"))
    heads = {plain_name(head) for head, _ in numbered.values()}
    return numbered if _is_grid(numbered) and not any(_ITEM.fullmatch(head) for head in heads) else {}


def _parts(names: Sequence[str], form: re.Pattern[str]) -> dict[str, tuple[str, str]]:
    matches = {name: form.fullmatch(without_scale(name)) for name in names}
    parts = {name: (m[1].strip(), m[2].strip()) for name, m in matches.items() if m}
    # `(y/n)` is no place to part a name.
    return {name: pair for name, pair in parts.items() if pair[0].count("(") == pair[0].count(")")}


def _is_grid(parts: Mapping[str, tuple[str, str]]) -> bool:
    """Whether each of two heads or more goes with each of two tails or more, or one of them with several."""
    heads, tails = ({part[side] for part in parts.values()} for side in (0, 1))
    return len(parts) > 1 and len(set(parts.values())) == len(parts) == len(heads) * len(tails)


def _person_side(parts: Mapping[str, tuple[str, str]], usual: int | None) -> int | None:
    """Which part of the names is the person's: as words tell, or the one that varies, or as is usual."""
    sides = [list(dict.fromkeys(part[side] for part in parts.values())) for side in (0, 1)]
    heads, tails = map(len, sides)
    is_whole = _is_grid(parts)
    is_unique = len(set(parts.values())) == len(parts)
    # Somebody may not have rated everything.
    if not is_whole and not (is_unique and min(heads, tails) > 1 and max(heads, tails) < len(parts) and 2 * len(parts) >= heads * tails):  # fmt: skip
        return None
    named = [all(map(_is_person, side)) for side in sides]
    if named[0] != named[1]:
        side = 0 if named[0] else 1
        # Of `annotator_1` and `annotator_2`, the number may be the person's.
        numbered = all(re.fullmatch(r"\d+|[A-Za-z]", part) for part in sides[1 - side])
        return None if numbered and len(sides[side]) == 1 and sides[side][0].isalpha() else side
    rated = [any(map(QUALITY.search, map(plain_name, side))) for side in sides]
    if not any(rated) and usual is None and min(heads, tails) > 1:
        rated = [
            any(_NOUN.search(plain_name(part)) or _ADJECTIVE.search(plain_name(part)) for part in side)
            for side in sides
        ]
        if all(rated):
            return None
    if all(rated):
        rated = [all(map(QUALITY.search, map(plain_name, side))) for side in sides]
        if rated[0] == rated[1] or min(heads, tails) == 1:
            return None
    person = (1 if rated[0] else 0) if rated[0] != rated[1] else usual if is_whole else None
    if person is None and min(map(len, sides)) == 1 and not any(rated):
        return None
    if person is None or len(sides[person]) == 1 or all(map(_ONE_LETTER.fullmatch, sides[person])):
        return None
    return person


def is_name(title: str) -> bool:
    """Whether a title may be nothing but a person's name, initials or number."""
    return _is_person(title) or (
        re.fullmatch(rf"(?:{_NAME.pattern})", title) is not None and title[0].isupper()
    )


def _is_surname(word: str) -> bool:
    """Whether a word behind an attribute is written as a name or initials are, and does not end as words for qualities do."""
    plain = plain_name(word)
    return (
        re.fullmatch(r"[A-Z][^\W\d_A-Z]+(?:-[A-Z][^\W\d_]+)?|[A-Z]{2,3}", word) is not None
        and not (QUALITY.search(plain) or _NOUN.search(plain) or _ADJECTIVE.search(plain))
    )  # fmt: skip


def _is_person(part: str) -> bool:
    plain = plain_name(part)
    short = re.fullmatch(r"([a-z]{2,4}) ?\d+", plain)
    return (
        "@" in part
        or bool(_PERSON.search(plain) or _NUMBERED_PERSON.fullmatch(plain))
        or (short is not None and any(name.startswith(short[1]) for name in RATER_NAMES.split("|")))
    )
