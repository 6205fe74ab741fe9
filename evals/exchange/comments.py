"""Free text beside ratings: which comment is the rationale of which rating."""

from __future__ import annotations

from collections.abc import Collection, Mapping

_ENDINGS = ("rationale", "reason", "comment", "comments", "explanation", "why", "justification")
_ALONE = (*_ENDINGS, "notes", "note", "feedback")


def rationale_name(attribute: str) -> str:
    """The name of the text in which venire's exports ask for an attribute's rationale."""
    return f"{attribute}_rationale"


def rationale_of(attribute: str, comments: Mapping[str, str], attributes: Collection[str]) -> str | None:
    """The comment on one rating: the one named for its attribute, or those that are named for none of `attributes`."""
    own = [text for name, text in comments.items() if _subject(name, attributes) == attribute]
    shared = [text for name, text in comments.items() if _subject(name, attributes) is None]
    return "\n".join(own or shared) or None


def is_comment_name(name: str) -> bool:
    """Whether a question is named as one that asks for words, such as `accurate_rationale` or `comments`."""
    last = name.casefold().replace("-", "_").rpartition("_")[2]
    return last in _ENDINGS or name.casefold() in _ALONE


def _subject(name: str, attributes: Collection[str]) -> str | None:
    """The attribute that a comment is named for: `accurate_rationale` is of `accurate`."""
    start, _, ending = name.replace("-", "_").rpartition("_")
    by_plain = {attribute.replace("-", "_"): attribute for attribute in attributes}
    return by_plain.get(start) if ending.casefold() in _ENDINGS else None
