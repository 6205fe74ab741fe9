"""Scores that people give otherwise than as plain numbers: words of a scale, stars, `4/5`, steps below zero; each as a number, with the scale behind the column's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from .sheet_people import scores_by_person
from .sheet_scores import QUALITY, is_missing, plain_name, score_of, without_scale
from .sheet_texts import TEXT_NAMES

_OPINIONS = """
strongly disagree | disagree, somewhat disagree | ~neutral, neither, neither agree nor disagree, undecided, unsure, not sure | agree, somewhat agree | strongly agree
strongly disagree | disagree | somewhat disagree, slightly disagree | ~neutral, neither, neither agree nor disagree | somewhat agree, slightly agree | agree | strongly agree
disagree | ~neutral, neither | agree
poor, bad | fair, ok, okay, average, acceptable | good | excellent
poor, bad | fair, ok, okay, average, acceptable | good | very good
poor, bad | fair, ok, okay, average, acceptable | good | very good | excellent
very poor, very bad, terrible | poor, bad | ~fair, ok, okay, average, acceptable, neutral | good | very good, excellent
poor, bad | fair, ok, okay, average, acceptable, medium | good
unsatisfactory | satisfactory | good | excellent, outstanding
very dissatisfied | dissatisfied | ~neutral, neither | satisfied | very satisfied
useless | somewhat useful | useful | very useful
incorrect, wrong | partly correct, partially correct | correct
fail | borderline | pass
no | partly, partially, partial, somewhat, in part | mostly | yes
no | partly, partially, partial, somewhat, in part, mostly | yes
stimme gar nicht zu, stimme uberhaupt nicht zu | stimme eher nicht zu, stimme nicht zu | ~neutral, weder noch, teils teils, unentschieden | stimme eher zu, stimme zu | stimme voll zu, stimme vollig zu, stimme voll und ganz zu
stimme nicht zu | stimme eher nicht zu | ~neutral, weder noch, teils teils | stimme eher zu | stimme zu
trifft nicht zu, trifft gar nicht zu, trifft uberhaupt nicht zu | trifft eher nicht zu | ~neutral, weder noch, teils teils | trifft eher zu | trifft zu, trifft voll zu, trifft vollig zu, trifft voll und ganz zu
sehr schlecht | schlecht | ~mittel, mittelmassig, durchschnittlich, neutral, teils teils | gut | sehr gut
schlecht | mittel, mittelmassig | gut | sehr gut
schlecht | mittel, mittelmassig | gut
mangelhaft | ausreichend | befriedigend | gut | sehr gut
ungenugend | mangelhaft | ausreichend | befriedigend | gut | sehr gut
falsch | teilweise richtig, teils richtig | richtig
nein | teilweise, zum teil, teils | ja
pas du tout d accord, tout a fait en desaccord | pas d accord, plutot pas d accord, en desaccord, plutot en desaccord | ~neutre, ni d accord ni pas d accord, ni d accord ni en desaccord | d accord, plutot d accord | tout a fait d accord
tres mauvais, tres mauvaise | mauvais, mauvaise | ~moyen, moyenne, passable, neutre | bon, bonne | tres bon, tres bonne, excellent, excellente
mauvais, mauvaise | moyen, moyenne, passable | bon, bonne | excellent, excellente, tres bon, tres bonne
mauvais, mauvaise | moyen, moyenne, passable | bon, bonne
insuffisant | moyen, passable | bien | tres bien
insuffisant | passable | assez bien | bien | tres bien
non | partiellement, en partie | oui
totalmente en desacuerdo, muy en desacuerdo | en desacuerdo | ~neutral, ni de acuerdo ni en desacuerdo, indiferente | de acuerdo | totalmente de acuerdo, muy de acuerdo
muy malo, muy mala, pesimo | malo, mala | ~regular, aceptable, neutral | bueno, buena | muy bueno, muy buena, excelente
malo, mala | regular, aceptable | bueno, buena | excelente, muy bueno, muy buena
malo, mala | regular, aceptable | bueno, buena
no | parcialmente, en parte | si
discordo totalmente, discordo fortemente | discordo, discordo parcialmente | ~neutro, indiferente, nao concordo nem discordo | concordo, concordo parcialmente | concordo totalmente, concordo plenamente
muito mau, muito ma, muito ruim, pessimo, pessima | mau, ma, ruim | ~regular, razoavel, aceitavel, medio | bom, boa | muito bom, muito boa, otimo, otima, excelente
mau, ma, ruim | regular, razoavel, aceitavel | bom, boa | otimo, otima, excelente, muito bom, muito boa
mau, ma, ruim | regular, razoavel, aceitavel | bom, boa
insuficiente | suficiente | bom, boa | muito bom, muito boa | excelente
nao | parcialmente, em parte | sim
-- | - | ~o, 0, ±, +/- | + | ++
"""
_AMOUNTS = """
very low | low | medium, moderate | high | very high
low | medium, moderate | high
none, no | mild, minor, slight, low | moderate, medium | severe, major, serious, high
never | rarely, seldom | sometimes | often | always
not at all | slightly, a little | moderately, somewhat | very | extremely
sehr niedrig, sehr gering | niedrig, gering | mittel | hoch | sehr hoch
niedrig, gering | mittel | hoch
keine, kein | leicht, gering | mittel, massig | schwer, hoch
nie | selten | manchmal | oft | immer
faible | moyen, moyenne | eleve, elevee, fort
aucun, aucune | leger, legere | modere, moderee, moyen | grave, severe
jamais | rarement | parfois | souvent | toujours
bajo, baja | medio, media | alto, alta
ninguno, ninguna | leve | moderado, moderada | grave
nunca | raramente, rara vez | a veces | a menudo | siempre
baixo, baixa | medio, media | alto, alta
nenhum, nenhuma | leve | moderado, moderada | grave
"""
"""Scales of common words, in five languages, from the lowest step; a middle with ~ may be wanting. Opinions are scores under any name,
amounts only under that of a quality."""
_STARS = re.compile(r"[★⭐✭*]{0,10}[☆✩]{0,10}")
_FRACTION = re.compile(r"(\d{1,3})\s*(?:/|out of|von|sur|de)\s*(\d{1,3})")
_BETWEEN = re.compile(r" *(?:/|-|–| or | to ) *")
"""What stands between two words of a scale in a cell that is left out: both are steps all the same."""
_SIGNED = re.compile(r"[-−+]?\d")

_Steps = tuple[frozenset[str], ...]
_Read = tuple[str, Mapping[str, int], str]
"""A column, the number of each of its marks, and the scale."""


def _scales(table: str) -> list[_Steps]:
    scales = []
    for line in table.strip().splitlines():
        steps = [step.strip() for step in line.split("|")]
        scales.append(steps)
        if any(step.startswith("~") for step in steps):
            scales.append([step for step in steps if not step.startswith("~")])
    return [tuple(frozenset(step.lstrip("~").split(", ")) for step in steps) for steps in scales]


_OPINION_SCALES, _AMOUNT_SCALES = _scales(_OPINIONS), _scales(_AMOUNTS)
_OPINION_WORDS = frozenset(word for scale in _OPINION_SCALES for step in scale for word in step)
_WORDS = _OPINION_WORDS | {word for scale in _AMOUNT_SCALES for step in scale for word in step}


def is_graded(cells: Sequence[str]) -> bool:
    """Whether all cells that say something are words of a common scale of opinions, as `good` or `agree`."""
    words = {_word(cell) for cell in cells if cell}
    return bool(words) and _OPINION_WORDS.issuperset(words)


def read_marks(rows: Sequence[dict[str, str]]) -> dict[str, str]:
    """Makes numbers of the scores that are none yet, under columns that have nothing else; by column, its name with the scale."""
    columns = dict.fromkeys(name for row in rows for name in row)
    cells = {name: [row.get(name, "").strip() for row in rows] for name in columns}
    read = [*_words(cells), *_signed_steps(cells), *_stars(cells), *_fractions(cells)]
    for name, numbers, _ in read:
        for row in rows:
            cell = row.get(name, "").strip()
            row[name] = str(numbers.get(cell, cell))
    return {name: f"{without_scale(name)} ({scale})" for name, _, scale in read}


def _mostly(cells: Mapping[str, Sequence[str]], mark: Callable[[str], object]) -> dict[str, set[str]]:
    """The marks of the columns that hold almost nothing but such."""
    found = {}
    for name, column in cells.items():
        marks = [cell for cell in column if cell and mark(cell)]
        if not marks:
            continue
        stray = sum(bool(cell) and not is_missing(cell) and not mark(cell) for cell in column)
        if stray < len(marks) and stray <= max(1, len(marks) // 4):
            found[name] = set(marks)
    return found


def _stars(cells: Mapping[str, Sequence[str]]) -> Iterator[_Read]:
    found = {name: marks for name, marks in _mostly(cells, _STARS.fullmatch).items() if len(marks) > 1}
    most = max((len(mark) for marks in found.values() for mark in marks), default=5)
    for name, marks in found.items():
        yield name, {mark: len(mark.rstrip("☆✩")) for mark in marks}, f"1-{max(5, most)}"


def _fractions(cells: Mapping[str, Sequence[str]]) -> Iterator[_Read]:
    """Columns of `4/5` or `4 out of 5`, each of one total."""
    found: dict[str, dict[str, int]] = {}
    totals = {}
    for name, marks in _mostly(cells, _FRACTION.fullmatch).items():
        parts = {mark: part for mark in marks if (part := _FRACTION.fullmatch(mark))}
        wholes = {int(part[2]) for part in parts.values()}
        if len(wholes) == 1 and all(int(part[1]) <= max(wholes) for part in parts.values()):
            found[name] = {mark: int(part[1]) for mark, part in parts.items()}
            totals[name] = wholes.pop()
    for name, numbers in found.items():
        alike = [found[other] for other in found if totals[other] == totals[name]]
        low = 0 if totals[name] > 10 or any(0 in other.values() for other in alike) else 1
        yield name, numbers, f"{low}-{totals[name]}"


def _word(cell: str) -> str:
    return plain_name(cell[:50]) or cell


def _words(cells: Mapping[str, Sequence[str]]) -> Iterator[_Read]:
    """Columns of words of a scale: the shortest whose every step was given in the sheet, or else the first that has all the words."""
    given = {
        name: frozenset(map(_word, marks))
        for name, marks in _mostly(cells, lambda cell: _word(cell) in _WORDS).items() if plain_name(name) not in TEXT_NAMES
    }  # fmt: skip
    words = {name: found for name, found in given.items() if any(score_of(word) is None for word in found)}
    # Who answered yes and no alone had the scale of those who also answered partly.
    attributes = {name: attribute for name, (_, attribute) in scores_by_person([*given]).items()}
    shared = {attributes[name] for name in words if name in attributes}
    words |= {name: found for name, found in given.items() if attributes.get(name) in shared}
    parts = (_word(part) for name in words for cell in cells[name] for part in _BETWEEN.split(cell))
    between = frozenset(part for part in parts if part in _WORDS)
    scales: dict[str, _Steps] = {}
    for name, found in sorted(words.items(), key=lambda each: -len(each[1])):
        known = _OPINION_SCALES + (_AMOUNT_SCALES if QUALITY.search(plain_name(name)) else [])
        used = [scale for scale in scales.values() if scale in known and found <= _all(scale)]
        fitting = [scale for scale in known if found <= _all(scale)] if len(found) > 1 else []
        fitting = [scale for scale in fitting if found | between <= _all(scale)] or fitting
        whole = [
            scale for scale in fitting
            if all(step & _all([other for other in words.values() if other <= _all(scale)]) for step in scale)
        ]  # fmt: skip
        if used or fitting:
            scales[name] = (used or sorted(whole, key=len) or fitting)[0]
    for name, scale in scales.items():
        said = _all([words[other] for other in scales if scales[other] == scale]) | between
        steps = [min(step & said or step, key=len) for step in scale]
        numbers = {cell: place for cell in set(cells[name]) for place, step in enumerate(scale, 1) if _word(cell) in step}  # fmt: skip
        yield name, numbers, ", ".join(f"{place} = {step}" for place, step in enumerate(steps, 1))


def _all(words: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*words)


def _signed_steps(cells: Mapping[str, Sequence[str]]) -> Iterator[_Read]:
    """Columns of small whole numbers on both sides of zero, and those of such numbers beside them; one below zero alone may be a code."""
    steps = {
        name: {mark: int(mark.replace("−", "-")) for mark in marks}
        for name, marks in _mostly(cells, _SIGNED.fullmatch).items()
    }
    signed = {
        name: high for name, numbers in steps.items()
        if (low := min(numbers.values())) < 0 < (high := max(map(abs, numbers.values()))) <= 5
        and max(numbers.values()) > 0 and (low < -1 or max(numbers.values()) == 1)
    }  # fmt: skip
    most = max(signed.values(), default=0)
    for before, after in (*pairwise(cells), *pairwise(list(cells)[::-1])):
        if before in signed and after in steps and max(steps[after].values()) <= most and min(steps[after].values()) >= -most:  # fmt: skip
            signed[after] = most
    for name in signed:
        yield name, steps[name], f"-{most} to {most}"
