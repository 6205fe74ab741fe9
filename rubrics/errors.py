"""What is meant for the person at the keyboard: deliberate errors, and words of models and files that no terminal obeys."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable


class VenireError(Exception):
    """Base of every deliberate error. Anything else that escapes is a bug and keeps its traceback."""

    errors: tuple[VenireError, ...] = ()
    """Where it stands for several at once: each of them."""

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(f"{problem}\n  -> {remedy}")
        self.problem = problem
        self.remedy = remedy


class InvalidFile(VenireError):
    """A file that a user wrote cannot be used as it stands."""


class ModelNotNamed(VenireError):
    """A seat that is to be asked names no model."""


class ModelUnreachable(VenireError):
    """A model that a jury names cannot be asked: no key, a dead address, a refused key, an unknown name."""


class MissingExtra(VenireError):
    """Something needs a package that the core does not install."""


def count_words(number: int, noun: str) -> str:
    """How many of what, with the right plural: "1 case", "2 cases"."""
    return f"{number} {noun if number == 1 else noun + 's'}"


def listed_words(words: Iterable[object]) -> str:
    """The words as a list in a sentence: "a", "a and b", "a, b and c"."""
    *before, last = map(str, words)
    return f"{', '.join(before)} and {last}" if before else last


def files_remedy(otherwise: str, error: OSError | None = None) -> str:
    """The remedy for what could not be opened: `otherwise`, unless there was no file descriptor to open it with.

    Without `error`, whether one is left is tried.
    """
    try:
        if error is not None:
            raise error
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as problem:
        if problem.errno in (errno.EMFILE, errno.ENFILE):
            return "too many files and connections are open: raise the limit with `ulimit -n`, or lower --in-flight, and run again"
    return otherwise


_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_LONGEST = 2000
WORD_JOINER = "\N{WORD JOINER}"
"""Breaks what could pass for a special token in a prompt, and is not seen: a model that quotes from the prompt may repeat it."""


def without_controls(text: str) -> str:
    """The text with control, invisible and bidi characters replaced: no terminal obeys what is left."""
    text = text.replace("\r\n", "\n").replace("\t", " ").replace(WORD_JOINER, "")
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def safe(text: str) -> str:
    """`without_controls`, and very long texts cut."""
    printable = without_controls(text)
    return (
        printable
        if len(printable) <= _LONGEST
        else f"{printable[:_LONGEST]} [... {len(printable) - _LONGEST} more characters]"
    )
