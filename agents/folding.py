"""Folding: a text as a reader sees it, with disguises taken off, so that words can be looked for in it."""

from __future__ import annotations

import html
import re
import unicodedata

_CYRILLIC = str.maketrans("аеорсухіѕјԁһԛԝӏкмтвнг", "aeopcyxisjdhqwlkmtbhr")
_GREEK = str.maketrans("αειοκνρτυχωη", "aeiokvptuxwn")
_LETTERS = {**_CYRILLIC, **_GREEK, **str.maketrans("ıɑɡʟɪɴᴏʀ", "iaglinor")}
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
"""Invisible characters that spell ASCII, one each."""
_SPACED = re.compile(r"(?<!\w)(?:\w[ .*_-]){5,}\w(?!\w)")
_SPACED_PART = re.compile(r"[ .*_-]\w" * 4 + "[ .*_-]")
"""Stands in whatever is spaced out, and is found faster."""
_KINDS = {code: "w" if chr(code).isalnum() else " " if chr(code) in " .*-" else "," for code in range(128)}
"""Letters, what may part them, and the rest: in a text of ASCII without `_`, which is both, the part above is then `_PART`."""
_PART = " w w w w "


def fold(text: str) -> str:
    """`text` in small letters without accents, compatibility forms, look-alike letters or invisible characters.

    Invisible characters that spell words are those words. Takes time in proportion to the text.
    """
    if "&" in text:
        text = html.unescape(text)
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.translate(_TAGS)).casefold()
    return "".join(filter(_visible, apart)).translate(_LETTERS)


def fold_spaced(text: str) -> str:
    """A folded text with words that were s p a c e d o u t closed up; empty where none were."""
    if text.isascii() and "_" not in text:
        if _PART not in text.translate(_KINDS):
            return ""
    elif _SPACED_PART.search(text) is None:
        return ""
    return "\n".join(re.sub(r"[\W_]", "", found.group()) for found in _SPACED.finditer(text))


def fold_tight(text: str) -> str:
    """`text` folded, without white space, quotation marks and escapes: two spellings of one JSON value are alike."""
    if "\\u" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), text)
    folded = "".join(fold(text).split())
    for mark in "\\\"'`" if folded.isascii() else "\\\"'`“”„‟‘’‚‛«»‹›":
        folded = folded.replace(mark, "")
    return folded


_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


def _visible(character: str) -> bool:
    # Letters and marks are by far the most: what is ASCII needs no look into the tables.
    return character < "\x80" or unicodedata.category(character) not in ("Mn", "Me", "Cf")
