"""Refusals in words: an answer in which the model declines to judge."""

from __future__ import annotations

import re

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
