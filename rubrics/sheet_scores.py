"""Scores in a person's own sheet: which columns hold them, what a cell says, and on which scale."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

QUALITY = re.compile(
    r"accura|correct|factual|faithful|hallucin|thorough|complet|cover|clear|clarity|readab|understand|comprehensib|useful|helpful|relevan|concis|succinct|coheren|consisten|"
    r"organi|fluen|usab|agree|trust|satisf|appropriat|naturalness|engag|brevity|grounded|persuas|credib|plausib|toxic|profession|respect|adheren|tone|empath|polite|safe|\bharm|risk|quality|overall|synthes|stigma|score|rating|grade|\bmarks?\b|\bpoints?\b|\bstars?\b|punkte|"
    r"genau|korrekt|richtig|vollstand|verstand|nutz|klar|qualitat|wertung|beurteil|note$|exact|precis|clair\b|clarte|utile|qualite|complet|"
    r"claridad|fidel|adequa|adakvat|calidad|util|puntua|calific|evalua[ct]i|avaliac|pontuac|seguri|qualidade|clareza|nota$|content|style|structur|grammar|language|detail|clinical|medical",
    re.IGNORECASE,
)
"""Stems of what is commonly rated, in five languages."""
_RANGE = r"(?:(?:scale|likert|skala|escala|échelle)?:?\s*)?(-?\d+)\s*(?:-|–|\.\.|to|bis|à|a|/)\s*\+?(\d+)"
_STEP = r"-?\d+[ :–-]\s*[^\W\d][^)\],;]*"
_SCALE_NOTE = re.compile(
    rf"\s*[(\[]\s*(?:{_RANGE}(?:\s*[,;:][^)\]]*)?|{_STEP}(?:[,;/]\s*{_STEP})+|y(?:es)?\s*/\s*no?|likert[^)\]]*|-?\d+\s*=[^)\]]*|%|/\s*\d+)\s*[)\]]\s*$"
    r"|\s*(?:/|out of)\s*\d+\s*$",
    re.IGNORECASE,
)
"""What stands behind a name and says the scale, as `(1-5)`, `(1-5, 5 = good)`, `(1 = poor, 5 = good)` or `[0 none, 1 minor, 2 major]`."""
_YES_NO: Mapping[str, float] = {
    **dict.fromkeys(("yes", "y", "ja", "oui", "si", "sim", "true", "wahr", "vrai", "verdadero"), 1.0),
    **dict.fromkeys(("no", "n", "nein", "non", "nao", "false", "falsch", "faux", "falso"), 0.0),
}
_PASS_FAIL: Mapping[str, float] = {
    **dict.fromkeys(("pass", "passed", "correct", "acceptable", "bestanden", "korrekt", "richtig"), 1.0),
    **dict.fromkeys(
        ("fail", "failed", "incorrect", "wrong", "unacceptable", "not acceptable", "nicht bestanden"), 0.0
    ),
}
"""Answers that are scores under any name."""
_MISSING = re.compile(
    r"|n a|na|nan|none|null|missing|not applicable|unknown|not rated|k a|keine angabe|entfallt|nicht zutreffend|non applicable|sans objet|"
    r"n d|s d|no aplica|sin dato|nao se aplica|99|999"
)
"""What people write where there is no score, without its signs: `n/a`, `k.A.`, `-`, `?`, `-99`."""
COUNTED = re.compile(
    r"\b(age|visits?|weeks?|days?|months?|years?|sessions?|turns?|words?|tokens?|len|length|count|order|pages?|seed|minutes|seconds|duration|time|"
    r"attempts?|trials?|experience|rank|ranking|position|worter|mots|palabras|palavras|alter|woche|tag|jahre?|edad|semana|visita|idade)\b"
)
"""Small numbers that nobody gave as a score."""
MEASURED = re.compile(
    r"\b(bleu|sacrebleu|rouge\w*|bert ?score|meteor|chrf|bleurt|comet|wer|cer|perplexity|cosine|logprobs?|probability|latency|cost|price|preis|prix|precio|preco|temperature|flesch|kincaid)\b"
)
"""What a program measured."""
AGGREGATE = re.compile(
    r"(grand )?(mean|average|avg|median|sums?|totals?|sd|std|standard deviation|consensus|adjudicated|final|mittelwert|durchschnitt|summe|"
    r"gesamtsumme|konsens|moyenne|mediane|somme|media|promedio|mediana|suma|consenso|soma)"
)
"""What stands in a person's place over scores worked out from the others, or before a row of them."""
_MONTHS = (
    " january february march april may june july august september october november december januar februar marz mrz mai juni juli oktober dezember "
    "janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre enero febrero marzo abril mayo junio julio agosto septiembre "
    "octubre noviembre diciembre janeiro fevereiro marco maio junho julho setembro outubro novembro dezembro"
)
"""In five languages: a spreadsheet makes a date of a cell such as `4-5`, and writes it as `4-May`."""
_LONGEST = 50
"""Characters of a cell that may be a score with its label."""
_MOST_SCORE = 10
_MOST_PERCENT = 100


class Bounds(NamedTuple):
    """The ends of a scale, and whether any number between them is a score."""

    low: int
    high: int
    any_number: bool = False


def is_scores(column: str, cells: Sequence[str]) -> bool:
    """Whether the cells are numbers of a small scale, as people give scores, but for a few; all alike only under a name of a quality."""
    texts = [cell for cell in cells if not is_missing(cell)]
    scores = [score for cell in texts if (score := score_of(cell, *_limits(column, texts))) is not None]
    stray = len(texts) - len(scores)
    if MEASURED.search(plain_name(column)):
        return False
    quality = QUALITY.search(plain_name(column)) is not None
    counted, answers = COUNTED.search(plain_name(column)), is_yes_no(texts)
    asked = "?" in column and (answers or not counted)
    if (answers or counted) and not (quality or asked):
        return False
    varied = len(set(scores)) > 1 or (bool(scores) and quality)
    return varied and stray <= max(1, len(texts) // 4) and len(scores) > stray


def is_yes_no(cells: Sequence[str]) -> bool:
    return any(len(cell) <= _LONGEST and plain_name(cell) in _YES_NO for cell in cells)


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no score."""
    return len(cell) <= _LONGEST and _MISSING.fullmatch(plain_name(cell)) is not None


def score_of(cell: str, most: float = _MOST_SCORE, least: float = 0) -> float | None:
    """The score that a cell holds: a number from `least` to `most`, with a decimal point or comma, its label behind it as in `4 - good`; 1 or 0
    for yes or no; None for anything else."""
    if len(cell) > _LONGEST:
        return None
    word = plain_name(cell)
    if (answer := _YES_NO.get(word, _PASS_FAIL.get(word))) is not None:
        return answer
    number = re.fullmatch(
        r"(-?\d{1,3}(?:\.\d+|,\d{1,2}|,\d{4,})?)(?:\s*[-–:=(]\s*([^\W\d].{0,30})|\s*%)?", cell
    )
    if number is None or (cell.endswith("%") and most < _MOST_PERCENT) or _is_month(number[2] or ""):
        return None
    score = float(number[1].replace(",", "."))
    return score if least <= score <= most else None


def _is_month(label: str) -> bool:
    """Whether the words behind a number are a month's name or the beginning of one, with or without a year."""
    name = re.sub(r"[ \d]+$", "", plain_name(label))
    return len(name) > 2 and f" {name}" in _MONTHS


def _limits(column: str, cells: Sequence[str], *, rated: bool = False) -> tuple[float, float]:
    """How high and how low a score of a column may be: 100 where it is `rated`, or named as a quality, and more than a few are above 10, or are
    percentages; below zero only where the name says so."""
    large = [cell for cell in cells if score_of(cell) is None and score_of(cell, _MOST_PERCENT) is not None]
    if ends := noted_scale(column):
        return ends[1], min(0, ends[0])
    # People give percentages in fives; programs do not.
    rounded = all(cell.endswith("%") and score_of(cell, _MOST_PERCENT) % 5 == 0 for cell in large)  # type: ignore[operator]
    is_quality = rated or rounded or QUALITY.search(plain_name(column)) is not None
    return (_MOST_PERCENT if is_quality and len(large) > max(1, len(cells) // 4) else _MOST_SCORE), 0


def noted_scale(column: str) -> tuple[int, int] | None:
    """The ends of the scale that stands behind a column's name, as in `Clarity (1-5)` or `Harm (0 = none, 3 = severe)`."""
    note = column[len(without_scale(column)) :]
    if whole := re.match(rf"\s*[(\[]\s*{_RANGE}(?=\s*[)\],;:])", note, re.IGNORECASE):
        return (int(whole[1]), int(whole[2])) if int(whole[1]) < int(whole[2]) else None
    numbers = re.findall(r"-?\d+(?=\s*=)" if "=" in note else r"(?<=[(\[])-\d+|\d+", note)
    ends = [int(number) for number in numbers]
    ends += [0] if re.search(r"(?:/|out of)\s*\d+\s*\W?$", note) and len(ends) == 1 else []
    return (min(ends), max(ends)) if len(set(ends)) > 1 else None


def noted_steps(column: str) -> dict[int, str]:
    """What the steps of the scale behind a column's name mean, as in `Tone (1 = rude, 2 = neutral, 3 = kind)`; those that it does not
    name are their numbers. Empty where it names none."""
    ends, note = noted_scale(column), column[len(without_scale(column)) :].strip(" ()[]")
    parts = [
        re.fullmatch(r"(-?\d+)\s*[=: –-]\s*([^\W\d].*)", part.strip()) for part in re.split("[,;/]", note)
    ]
    named = {int(part[1]): part[2].strip() for part in parts if part}
    if not named or ends is None or ends[1] - ends[0] > _MOST_SCORE:
        return {}
    return {step: named.get(step, str(step)) for step in range(ends[0], ends[1] + 1)}


def scale_bounds(column: str, cells: Iterable[str]) -> Bounds:
    """The scale behind a column's name, or the smallest usual one that has all these scores."""
    scores = [score for cell in cells if (score := score_of(cell.strip(), _MOST_PERCENT)) is not None]
    if ends := noted_scale(column):
        return Bounds(*ends, any_number=ends[1] > _MOST_SCORE)
    if not scores:
        return Bounds(1, 5)
    low, high = min(scores), max(scores)
    if high <= 1:
        return Bounds(0, 1, any_number=any(score % 1 for score in scores))
    if high > _MOST_SCORE:
        return Bounds(0, 100, any_number=True)
    if low < 1:
        return Bounds(0, math.ceil(high) if high <= 5 else 10)
    return Bounds(1, next(top for top in (5, 7, 10) if high <= top))


def scales_of(columns: Mapping[str, Sequence[str]]) -> dict[str, Bounds]:
    """The scale of each column of scores; one whose highest score nobody gave has that of another, where one holds its scores; where one goes from 0 to 10, none goes from 1."""
    scales = {name: scale_bounds(name, cells) for name, cells in columns.items()}
    open_ends = {
        name: top for name, cells in columns.items() if (top := _open_end(name, cells, scales[name]))
    }
    reached = sorted({scales[name] for name in columns if name not in open_ends and any(columns[name])})
    for name, top in open_ends.items():
        low = scales[name].low
        fitting = [
            scale
            for scale in reached
            if scale.low <= low and top <= scale.high <= _MOST_SCORE and not scale.any_number
        ]
        scales[name] = min(fitting, key=lambda scale: scale.high, default=scales[name])
    from_nought = next(
        (scale for scale in scales.values() if (scale.low, scale.high) == (0, _MOST_SCORE)), None
    )
    for name, scale in scales.items():
        if from_nought and (scale.low, scale.high) == (1, _MOST_SCORE) and noted_scale(name) is None:
            scales[name] = from_nought
    return scales


def doubtful_scales(
    columns: Mapping[str, Sequence[str]],
) -> list[tuple[tuple[str, ...], Bounds, float]]:
    """Columns whose highest score nobody gave in any of them, with the scale that is assumed and the highest that was given."""
    scales = scales_of(columns)
    names_by_scale: dict[Bounds, list[str]] = {}
    for name, cells in columns.items():
        if _open_end(name, cells, scales[name]):
            names_by_scale.setdefault(scales[name], []).append(name)
    reached = {scales[name] for name in columns if not _open_end(name, columns[name], scales[name])}
    return [
        (tuple(names), scale, max(float(cell) for name in names for cell in columns[name] if cell))
        for scale, names in names_by_scale.items() if scale not in reached
    ]  # fmt: skip


def _open_end(column: str, cells: Sequence[str], scale: Bounds) -> float:
    """The highest score, where the scale goes on above it and nobody said so; 0 where it does not."""
    top = max((score for cell in cells if (score := score_of(cell)) is not None), default=0.0)
    return top if top < scale.high and not scale.any_number and noted_scale(column) is None else 0.0


_ENDS = r"\b(\d{1,3})\s*(?:\([^)]*\)\s*)?(?:-|–|to|bis|a|à)\s*(\d{1,3})\b(?![-/.]\d)"
_TOLD_SCALE = re.compile(
    r"\b(?:scales?|scor\w+|rat(?:e|ed|ing|ings)|likert|marks?|points?|skala|punkte?|noten?|bewert\w+|echelle|notee?s?|not(?:er|ez)|evalu\w+|escala|puntu\w+|calific\w+|avali\w+|pontu\w+|notas?)\b"
    rf"[^\d]{{0,60}}?{_ENDS}",
    re.IGNORECASE,
)


def told_scale(lines: Iterable[str], form: re.Pattern[str] = _TOLD_SCALE) -> tuple[int, int] | None:
    """The one scale that lines beside a table tell, as `Scale: 1-4` or `1 = poor, 4 = good` does."""
    scales = set()
    for line in lines:
        plain = (
            unicodedata.normalize("NFKD", line).encode("ascii", "ignore").decode()
            if "–" not in line
            else line
        )
        ends = [int(number) for number in re.findall(r"\b(\d{1,3})\s*=\s*[^\W\d]", line)]
        ends = ends if len(set(ends)) > 1 else [int(end) for match in form.findall(plain) for end in match]
        if ends and min(ends) < max(ends) <= _MOST_PERCENT:
            scales.add((min(ends), max(ends)))
    return scales.pop() if len(scales) == 1 else None


def scale_told_of(column: str, lines: Iterable[str]) -> tuple[int, int] | None:
    """The one scale that lines beside a table tell of a column by its name or a part of it, as `clear: 1 (not at all) to 7 (very)`."""
    heads = {line: plain_name(re.split(r"[:=(\d]", line, maxsplit=1)[0]) for line in lines}
    words = f" {plain_name(column)} "
    return told_scale((line for line, head in heads.items() if head and f" {head} " in words), re.compile(_ENDS))  # fmt: skip


_NAMED_STEP = re.compile(r"\b(\d{1,2})\s*=\s*([^\W\d].*?)\s*(?=[,;/|.=(]|\W+\d|\b(?:to|bis|a|à)\s+\d|$)")


def told_steps(beside: Iterable[Sequence[str]]) -> dict[int, str]:
    """What lines beside a table say of single steps, as `1 = poor, 5 = excellent` or rows of a number and a word; empty where they differ."""
    pairs = (
        pair
        for cells in beside
        for pair in (
            [(cells[0], cells[1])] if len(cells) == 2 and re.fullmatch(r"\d{1,2}", cells[0])
            else _NAMED_STEP.findall(" ".join(cells))
        )
    )  # fmt: skip
    steps = {(int(number), re.sub(r"[()\[\],;/.]+|\s\d*$", " ", word).strip()) for number, word in pairs}
    words = dict(sorted(steps))
    return {number: word for number, word in words.items() if word} if len(words) == len(steps) else {}


def legend_scale(beside: Iterable[Sequence[str]]) -> tuple[int, int] | None:
    """The one scale whose steps stand beside a table, each in a row with few words: `1 | poor`, `2 | fair`, `3 | good`."""
    steps = [
        int(cells[0]) for cells in beside
        if len(cells) == 2 and re.fullmatch(r"\d{1,2}", cells[0]) and 0 < len(cells[1].split()) < 5 and score_of(cells[1]) is None
    ]  # fmt: skip
    first = steps[0] if steps else 0
    return (first, steps[-1]) if len(steps) > 2 and steps == list(range(first, first + len(steps))) else None


def odd_score(column: str, columns: Mapping[str, Sequence[str]]) -> str | None:
    """The score of a column that alone widens its scale, such as a 9 or a 0 among scores from 1 to 5; it may be a code for no answer."""
    cells = [cell for cell in columns[column] if cell]
    scores = {cell: float(cell) for cell in cells}
    if len(scores) < 2 or noted_scale(column):
        return None
    for end in (max(scores, key=scores.__getitem__), min(scores, key=scores.__getitem__)):
        rest = [cell for cell in cells if cell != end]
        low, high, _ = scale_bounds(column, rest)
        far = scores[end] - max(float(cell) for cell in rest) > 2
        shared = any(
            cell and not low <= float(cell) <= high
            for name, others in columns.items() if name != column for cell in others
        )  # fmt: skip
        outside = scores[end] < low or scores[end] > max(high, 5)
        if scores[end] % 1:
            continue  # No code for a missing answer has half a point.
        if scores[end] == 0 and high == _MOST_SCORE and min(float(cell) for cell in rest) < 2:
            continue  # Scales to ten begin at 0 as often as at 1.
        if len(rest) > 7 and outside and not shared and (far or cells.count(end) == 1):
            return end
    return None


def clear_stray_scores(rows: Sequence[tuple[int, dict[str, str]]], columns: Sequence[str]) -> list[str]:
    """Blanks the cells of ratings that hold no score, such as `n/a` or `4-5`; a note for each, and how many scores are left."""
    notes = []
    for column in columns:
        given = [(line, row) for line, row in rows if row.get(column, "").strip()]
        most, _ = _limits(column, [row[column].strip() for _, row in given], rated=True)
        ends = noted_scale(column)
        stray = 0
        for line, row in given:
            cell = row[column].strip()
            score = score_of(cell, _MOST_PERCENT, -_MOST_PERCENT) if ends else score_of(cell, most)
            if score is None or (ends and not ends[0] <= score <= ends[1]):
                why = (
                    f"it is outside the scale from {ends[0]} to {ends[1]}" if ends and score is not None
                    else "it is not a number" if not cell.lstrip("-+−")[:1].isdigit()
                    else "it is not a single score on a small scale"
                )  # fmt: skip
                notes.append(f"line {line}, {column!r}: {cell!r} is left out: {why}")
                score, stray = None, stray + 1
            row[column] = "" if score is None else f"{score:g}"
        if stray:
            notes.append(f"{column!r}: {len(given) - stray} of {len(given)} scores can be used")
    return notes


def is_form_status(column: str, cells: Sequence[str]) -> bool:
    """Whether a column is the one that REDCap adds for every form, `FORM_complete`: 0, 1 or 2, or these in words."""
    states = {"0", "1", "2", "", "incomplete", "unverified", "complete"}
    return re.fullmatch(r".+_complete|complete\?", column.casefold()) is not None and states.issuperset(
        map(str.casefold, cells)
    )


def without_aggregates(columns: Sequence[str]) -> list[str]:
    """The columns without those worked out from the others; all of them where there are no others, as in a sheet with one `Final score`."""
    return [column for column in columns if not is_aggregate(column)] or list(columns)


def is_aggregate(column: str) -> bool:
    """Whether a column holds what was worked out from others: `Mean`, `accuracy (mean)`, `accuracy_consensus`."""
    plain = plain_name(column)
    return any(
        AGGREGATE.fullmatch(part) for part in (plain, *plain.rsplit(" ", 1)[1:], plain.partition(" ")[0])
    )


def without_scale(column: str) -> str:
    """A column's name without the scale that stands behind it: `Clarity` for `Clarity (1-5)`."""
    return _SCALE_NOTE.sub("", column).strip() or column


@lru_cache(maxsize=1024)
def plain_name(column: str) -> str:
    letters = (
        unicodedata.normalize("NFKD", without_scale(column).casefold()).encode("ascii", "ignore").decode()
    )
    return " ".join(re.sub(r"[^a-z0-9]+", " ", letters).split())
