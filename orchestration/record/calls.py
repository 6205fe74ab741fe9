"""Model calls as rows: the request, with texts that many share stored by hash, and the reply."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import lru_cache

from ...agents.model import Reply, Request, Usage, digest, json_text
from .database import Row, Write, without_password
from .redaction import address_of, seal, unseal

_COLUMNS = "finish, prompt, completion, cached, usd, seconds, estimated"
CALL = f"SELECT text, {_COLUMNS} FROM calls WHERE key = ?"
SEALED_CALL = f"SELECT words, {_COLUMNS} FROM calls JOIN sealed ON sealed.key = calls.key WHERE calls.key = ?"

_ADD_CALL = (
    f"INSERT INTO calls (key, request, text, {_COLUMNS}, made_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_ADD_TEXT = "INSERT INTO texts (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD_SEALED = "INSERT INTO sealed (key, words) VALUES (?, ?) ON CONFLICT DO NOTHING"


def texts_of(request: Request) -> dict[str, str]:
    """The texts that a request is made of, by hash: openings are shared by seats, bodies by cases."""
    return {
        text_hash(text): text
        for message in request.messages
        for text in (message.opening, message.body)
        if text
    }


def writes_of(
    key: str, request: Request, reply: Reply, texts: Mapping[str, str], *, redacted: bool
) -> list[Write]:
    """The writes that store a call; `texts` are those that may not be in the record yet, by hash."""
    parts = ", ".join(
        f'["{m.role}", "{text_hash(m.opening)}", "{text_hash(m.body)}"]' for m in request.messages
    )
    terms = _terms(request.model, request.settings.text, request.repeat)
    asked = f'{terms[:-1]}, "parts": [{parts}]}}'
    usage = reply.usage
    spent = (
        reply.finish,
        usage.prompt,
        usage.completion,
        usage.cached,
        reply.usd,
        reply.seconds,
        int(reply.estimated),
        time.time(),
    )
    if redacted:
        place = address_of(key)
        call = (_ADD_CALL, (place, asked, json.dumps(""), *spent))
        return [call, (_ADD_SEALED, (place, seal(reply.text, key)))]
    call = (_ADD_CALL, (key, asked, json.dumps(reply.text), *spent))
    return [*((_ADD_TEXT, (name, json_text(text))) for name, text in texts.items()), call]


def text_hash(text: str) -> str:
    """The content address of a text; empty for none."""
    return digest(text) if text else ""


def reply_of(row: Row, *, sealed_with: str | None = None) -> Reply:
    """The reply in a row of `CALL`, or of `SEALED_CALL` with the key that opens it."""
    text, finish, prompt, completion, cached, usd, seconds, estimated = row
    return Reply(
        text=json.loads(text) if sealed_with is None else unseal(text, sealed_with),
        usage=Usage(prompt, completion, cached),
        usd=usd,
        seconds=seconds,
        finish=finish,
        estimated=bool(estimated),
    )


@lru_cache(maxsize=256)
def _terms(model: str, settings: str, repeat: int) -> str:
    """Model, settings and repeat as JSON; a key in the base URL is masked."""
    shown = json.loads(settings)
    if "base_url" in shown:
        shown["base_url"] = without_password(shown["base_url"])
    return json.dumps({"model": model, "settings": shown, "repeat": repeat})
