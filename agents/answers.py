"""Reading a model's answer: the one JSON object in it that fits the shape, or what is wrong with it.

Also what is legal in an answer of which some attribute is not, and refusals in words. Every answer is read here, whoever gave it and by whichever client it came. Reading takes time in proportion to the
answer's length, whatever stands in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from ..rubrics.ballot import AbstainedAttribute
from .instructions import fold_tight
from .model import Message, ModelFailure

_START = 300
"""The characters at the beginning of an answer in which a refusal is looked for."""
_CANNOT = (
    r"(?:can(?:'|’)?t|cannot|can not|won(?:'|’)?t|will not|am unable|am not able|must decline|decline|refuse)"
)
_ELSEWHERE = (
    r"(?:es )?tut mir leid|ich (?:kann|werde|darf)(?: \w+){0,3} nicht"
    r"|je suis désolée?|désolée?,|je ne (?:peux|vais|puis) pas"
    r"|lo siento|no (?:puedo|voy a)|很?抱歉|对不起|我(?:不能|无法|不会)"
)
_REFUSAL = re.compile(
    rf"\W*+(?:i(?:'|’)?m (?:very |so )?sorry|sorry,|i am sorry|i {_CANNOT}"
    rf"|(?:as an ai\b.*?)?i(?:'|’)?m (?:unable|not able)|{_ELSEWHERE})",
    re.IGNORECASE,
)
_DEED = (
    r"(?:follow|comply|obey|help|assist|judge|evaluate|assess|rate|score|grade|answer|respond|provide|give|do|continue"
    r"|complete|participate|engage|fulfil|act|process|review|vote|cast|fill)"
)
_REFUSED_DEED = re.compile(
    rf"\b(?:i {_CANNOT}|i(?:'|’)?m (?:unable|not able))(?: to)?(?: \w+)? {_DEED}\b|^\W*(?:{_ELSEWHERE})",
    re.IGNORECASE,
)
"""A refusal that names what it will not do: with braces behind it, "I cannot find a fault" may open a ballot."""
_FIRST_SENTENCE = re.compile(r"[^.\n{]*")


def refuses(text: str) -> bool:
    """Whether the answer is a refusal in words, which it may be with JSON in it: quoted, or given all the same."""
    start = text.lstrip()[:_START]
    if "{" not in text:
        return _REFUSAL.match(start) is not None
    sentence = _FIRST_SENTENCE.match(start)
    return sentence is not None and _REFUSED_DEED.search(sentence.group()) is not None


Shape = TypeVar("Shape", bound=BaseModel)

QUOTED = "the JSON object stands in what the jury was shown: a quotation is no answer"
_SHORT = 8_000
"""Answers up to this length are not asked how many values they hold."""
_VALUES = 2_000
"""The JSON values in an answer at the most: many times what any form has."""
_OPENING = re.compile(r'\{\s*+"')
_OPENINGS = 64
"""How many places are tried at which an object could begin, in an answer that is not one object as it stands."""
_PASSES = 4
"""How often the length of an answer may be read in trying them."""
_SCORE_ERRORS = {"literal_error", "greater_than_equal", "less_than_equal", "value_error"}


class UnusableAnswer(Exception):
    """An answer that cannot be used."""

    def __init__(self, failure: ModelFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def read_answer(text: str, shape: type[Shape], asked: Sequence[Message]) -> Shape:
    """The answer in `text`, which may stand between other words or in a code fence.

    An object that stands in what was `asked`, the case and other jurors' words included, is a quotation and no
    answer. Two different objects that both fit are as bad as none: nobody can say which was meant. A refusal is
    one, whatever it quotes.

    Raises:
        UnusableAnswer: Nothing in it can be used; says why.
    """
    if len(text) > _SHORT and _value_count(text) > _VALUES:
        raise _unparsable(f"the answer holds more than {_VALUES} values")
    if (whole := _whole_object(text)) is not None:
        candidates: Iterator[_Object] = iter((whole,))
    elif refuses(words := without_thinking(text)):
        raise UnusableAnswer(ModelFailure("refused", words.strip()[:300]))
    else:
        candidates = _objects(words)
    fits: list[tuple[Shape, _Object]] = []
    misfit: ValidationError | None = None
    for found in candidates:
        try:
            filled = shape.model_validate_json(found.source)
        except ValidationError as error:
            misfit = error
        else:
            if all(filled != other for other, _ in fits):
                fits.append((filled, found))
    if not fits:
        raise UnusableAnswer(_describe(misfit, text))
    if len(fits) > 1:
        raise _unparsable("more than one JSON object fits; give exactly one")
    answer, found = fits[0]
    if _stands_in(found, asked):
        raise _unparsable(f"{QUOTED}; give an answer of your own")
    return answer


def without_thinking(text: str) -> str:
    """`text` without what stands between `<think>` and `</think>`; either tag may be missing at its end of the text."""
    opened, closed = text.find("<think>"), text.find("</think>")
    if closed == -1 and opened == -1:
        return text
    kept: list[str] = []
    at = closed + len("</think>") if closed != -1 and not -1 < opened < closed else 0
    while (opened := text.find("<think>", at)) != -1:
        kept.append(text[at:opened])
        closed = text.find("</think>", opened)
        at = closed + len("</think>") if closed != -1 else len(text)
    return "".join((*kept, text[at:]))


class _Object(NamedTuple):
    """A JSON object in an answer."""

    source: str
    value: dict[str, Any]
    end: int


def _objects(text: str) -> Iterator[_Object]:
    """Every outermost JSON object in the text, in time proportional to its length."""
    at = read = 0
    for _ in range(_OPENINGS):
        if (opening := _OPENING.search(text, at)) is None:
            return
        start = opening.start()
        try:
            found = _object_at(text, start)
        except ValueError as error:
            at = opening.end()
            read += _end_of_reading(error, text) - start
            if read > _PASSES * len(text):
                break
        else:
            at = found.end
            yield found
    if _OPENING.search(text, at) is not None:
        raise _unparsable("too much in the answer looks like JSON and is none")


def _object_at(text: str, start: int) -> _Object:
    """The JSON object that begins at `start`; `ValueError` where none does."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise _unparsable("the answer is nested too deeply") from None
    return _Object(text[start:end], value, end)


def _whole_object(text: str) -> _Object | None:
    """The object that the text is, and nothing besides; None where it is something else."""
    start = len(text) - len(text.lstrip())
    if not text.startswith("{", start):
        return None
    try:
        found = _object_at(text, start)
    except ValueError:
        return None
    return None if text[found.end :].strip() else found


def _end_of_reading(error: ValueError, text: str) -> int:
    """How far the text was read, at the most, before it turned out not to be JSON."""
    # A number with too many digits has no place, and a string without an end only that of its beginning.
    if not isinstance(error, json.JSONDecodeError) or error.msg.startswith("Unterminated"):
        return len(text)
    return error.pos


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise _unparsable(f"the key {twice[:60]!r} stands in one object more than once")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys)


def _value_count(text: str) -> int:
    """The JSON values in a text, or a few more."""
    outside_strings = text.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    bare = "".join(outside_strings)
    return bare.count(",") + bare.count("{") + bare.count("[")


def _stands_in(found: _Object, asked: Sequence[Message]) -> bool:
    """Whether the object, or an object that is part of it, stands in what was asked, however it is spaced or escaped."""
    shown = [
        part
        for message in asked
        if message.role != "assistant"
        for part in (message.opening, message.body)
        # What is not ours stands between markers; a form of ours is no ballot.
        if "[[" in part and ("{" in part or "\uff5b" in part)
    ]
    if not shown:
        return False
    folded = [_fold_shown(text) for text in shown]
    parts = [part for part in found.value.values() if isinstance(part, dict)] or [found.value]
    whole = fold_tight(found.source)
    if any(whole in text for text in folded):
        return True
    for part in parts:
        # What an object says at most length stands there if the object does, and is cheaper to look for.
        said = fold_tight(_longest_words(part))
        likely = [text for text in folded if said in text]
        if likely:
            spelling = fold_tight(json.dumps(part, ensure_ascii=False))
            if any(spelling in text for text in likely):
                return True
    return False


def _longest_words(part: dict[str, Any]) -> str:
    return max((value for value in part.values() if isinstance(value, str)), key=len, default="")


@lru_cache(maxsize=64)
def _fold_shown(text: str) -> str:
    """`fold_tight`, cached: every seat answers to the same case."""
    return fold_tight(text)


def _unparsable(problem: str) -> UnusableAnswer:
    return UnusableAnswer(ModelFailure("unparsable", problem))


def _describe(misfit: ValidationError | None, text: str) -> ModelFailure:
    details = [] if misfit is None else misfit.errors(include_url=False)
    if not details or details[0]["type"] == "json_invalid":
        start = " ".join(text[:2_000].split())[:200]
        return ModelFailure("unparsable", f"no JSON object of the required form; the answer began: {start!r}")
    said = "; ".join(f"{'.'.join(map(str, d['loc']))[:200]}: {d['msg']}{_input_note(d)}" for d in details[:6])
    if all("score" in d["loc"] and d["type"] in _SCORE_ERRORS for d in details):
        return ModelFailure("out_of_scale", said)
    return ModelFailure("unparsable", said)


def _input_note(detail: Any) -> str:
    value = detail.get("input")
    if isinstance(value, int) and value.bit_length() > 200:
        return ""
    return (
        f" (given {value!r})"
        if isinstance(value, int | float | bool) or (isinstance(value, str) and len(value) < 60)
        else ""
    )


def legal_attributes(
    fields: Mapping[str, Any],
    shapes: Mapping[str, type[BaseModel]],
    shown: Sequence[Message],
    check: Callable[[BaseModel], str | None] | None = None,
) -> tuple[list[BaseModel], tuple[AbstainedAttribute, ...]]:
    """The attributes of an illegal answer that are legal taken alone, each as its own shape, and those that are not."""
    legal: list[BaseModel] = []
    abstained: list[AbstainedAttribute] = []
    for attribute, shape in shapes.items():
        given = {attribute: fields[attribute]} if attribute in fields else {}
        try:
            part = read_answer(json.dumps(given), shape, shown)
        except UnusableAnswer as misread:
            failure = misread.failure
            abstained.append(
                AbstainedAttribute(attribute=attribute, reason=failure.reason, detail=failure.detail)
            )
            continue
        if check is not None and (problem := check(part)):
            abstained.append(AbstainedAttribute(attribute=attribute, reason="unparsable", detail=problem))
        else:
            legal.append(part)
    return legal, tuple(abstained)
