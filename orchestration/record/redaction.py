"""Redaction: a record without anybody's words, that can still be continued and counted.

Texts become marks: keyed hashes, so that equal words of one case can be told to be equal and nothing else. While
a run is not complete, replies are kept sealed: each can be opened only with the hash of the very question it
answers, which is kept nowhere and which only those who have the case can make again. Errors keep their traceback and
lose their message, which could quote a case.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...rubrics.ballot import find_quote, fold_quote
from ...rubrics.case import Case, Exhibit
from ...rubrics.errors import VenireError
from ..transcript import CLERK, Transcript

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEPT = {
    "id", "case", "arm", "protocol", "seats", "kind", "purpose", "juror", "attribute", "value", "asked", "saw",
    "reason", "limit", "author", "declared", "who", "about", "to", "answering", "weighed", "exhibit", "confidence",
    "failed", "first", "orders", "of", "against", "claim", "verdict", "abstained", "versions",
}  # fmt: skip
"""The fields whose words are names of seats, attributes, entries and kinds. Every other text is withheld."""
_KEPT_OF_CASE = {"id", "group", "system", "system_b", "swapped"}
"""The fields of a case that a redacted record may hold: what a case has besides is withheld."""
_TELLING = {"limit", "not_called", "too_long", "timeout"}
"""The abstentions whose detail is this program's own words, never a model's or a provider's."""
_STATUS = re.compile(r"HTTP \d{3}\b|[A-Z]\w+Error\b")
SEALING = "AES-256-GCM"
"""How replies of redacted runs are sealed; the record names it."""
_NONCE = 12
"""Bytes."""
Mark = Callable[[str], str]


def redacted_case(case: Case) -> Case:
    """The case with hashes in place of texts, enough to say which changed. What `_KEPT_OF_CASE` names stays; metadata goes."""
    mark = _marker(f"case {case.id}")

    def hidden_form(name: str, value: Any) -> Any:
        if isinstance(value, str):
            return mark(value)
        if isinstance(value, tuple) and all(isinstance(part, str) for part in value):
            return tuple(map(mark, value))
        return type(case).model_fields[name].get_default(call_default_factory=True)

    hidden = {name: hidden_form(name, value) for name, value in case if name not in _KEPT_OF_CASE}
    return case.model_copy(update=hidden)


def redacted_transcript(transcript: Transcript, case: Case) -> Transcript:
    """The transcript with hashes in place of words; scores, names, reasons by category, evidence found and usage stay."""
    mark = _marker(case.model_dump_json(exclude={"metadata", "group", "system", "system_b", "swapped"}))
    quotes = {
        quote.text
        for entry in transcript.ballots
        for vote in entry.ballot.votes
        for quote in vote.evidence
        if quote.found
    }

    def mark_with_quotes(text: str) -> str:
        """The mark of a text, followed by those of the quotes it contains: influence can still be computed."""
        spoken = (Exhibit(name="words", text=text),)
        return " ".join([mark(text), *sorted(mark(q) for q in quotes if find_quote(q, spoken).found)])

    return Transcript.model_validate(
        _without_words(transcript.model_dump(mode="json"), "", mark, mark_with_quotes)
    )


def _without_words(node: Any, field: str, mark: Mark, mark_with_quotes: Mark) -> Any:
    if isinstance(node, list):
        return [_without_words(item, field, mark, mark_with_quotes) for item in node]
    if isinstance(node, dict):
        cleaned = {name: _without_words(value, name, mark, mark_with_quotes) for name, value in node.items()}
        return cleaned | _own_words(node)
    if not isinstance(node, str) or field in _KEPT or not node.strip():
        return node
    if field == "calls":
        return address_of(node)
    if field == "flags" and ": " in node:
        exhibit, _, passage = node.partition(": ")
        return f"{exhibit}: {mark(passage)}"
    return mark_with_quotes(node) if field in ("rationale", "moved_by") else mark(node)


def _own_words(node: dict[str, Any]) -> dict[str, str]:
    """What this program itself said in a part of a transcript: no case's words are in it."""
    if node.get("kind") == "said" and node["who"] == CLERK:
        return {"text": node["text"]}
    if "limit" in node and "detail" in node:
        return {"detail": node["detail"]}
    if "detail" in node and node.get("reason") in _TELLING:
        return {"detail": node["detail"]}
    if "detail" in node and (status := _STATUS.match(node["detail"])):
        return {"detail": f"{status.group()} (the rest is withheld)"}
    return {}


def _marker(secret: str) -> Mark:
    """Marks that can be told apart only by those who know `secret`."""
    key = hashlib.sha256(f"marks {secret}".encode("utf-8", "surrogatepass")).digest()

    def mark(text: str) -> str:
        words = fold_quote(text).encode("utf-8", "surrogatepass")
        return f"[withheld {hashlib.blake2b(words, key=key, digest_size=8).hexdigest()}]"

    return mark


def address_of(key: str) -> str:
    """The hash under which a redacted record stores the call with this key; the key itself would unseal the reply."""
    return hashlib.sha256(f"address {key}".encode()).hexdigest()


def seal(text: str, key: str) -> str:
    """`text` encrypted under the hash of its question, bound to the address under which the record stores it.

    AES-256-GCM with a subkey of each call's own, so that a subkey seals one reply, or a few where a commit is
    repeated; nonces of 96 random bits cannot be expected to repeat in so few.
    """
    nonce = os.urandom(_NONCE)
    words = _cipher(key).encrypt(nonce, text.encode("utf-8", "surrogatepass"), address_of(key).encode())
    return base64.b64encode(nonce + words).decode()


def unseal(sealed: str, key: str) -> str:
    """The text that `seal` encrypted under this key.

    Raises:
        VenireError: A byte was changed, the key is another, or the reply was moved to another address.
    """
    from cryptography.exceptions import InvalidTag

    raw = base64.b64decode(sealed)
    try:
        words = _cipher(key).decrypt(raw[:_NONCE], raw[_NONCE:], address_of(key).encode())
    except (InvalidTag, ValueError):
        raise VenireError(
            "the record is damaged: an encrypted reply was altered or moved",
            remedy="restore the run from a copy, or run its cases again in a new directory",
        ) from None
    return words.decode("utf-8", "surrogatepass")


def _cipher(key: str) -> AESGCM:
    # Imported late: only a redacted run needs it.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(hashlib.sha256(b"seal " + bytes.fromhex(key)).digest())


@contextmanager
def redact_errors(active: bool) -> Iterator[None]:
    """While `active`, exceptions leave the block as `RedactedError`; `VenireError` never quotes a case and passes."""
    try:
        yield
    except (VenireError, RedactedError):
        raise
    except Exception as error:
        if not active:
            raise
        redacted = f"{type(error).__name__} (the error's message is withheld, because this run is redacted)"
        raise RedactedError(redacted).with_traceback(error.__traceback__) from None


class RedactedError(RuntimeError):
    """An exception of a redacted run without its message, which could hold a patient's words."""


def print_redacted(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """asyncio exception handler: prints the type of an exception that nobody awaits, not its message."""
    print(f"{context['message']}: {type(context.get('exception')).__name__}", file=sys.stderr)
