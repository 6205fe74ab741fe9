"""The form of a JSON schema: what venire's own shapes use of JSON Schema, and a little more. What is not known is refused, never ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from .form import Characters, Fixed, Form, FormRule, Items, Member, Members, Number, OneOf

Schema = Mapping[str, Any]

_DECIMALS = 4
"""Of a number without a list of choices: a small model would go on writing them."""
_LARGEST = Decimal(10**9)
"""Bounds of a number that has none."""
_LONGEST = 4096
"""Characters of a string, and entries of a list, that have no bound."""
_WORDS = {"title", "description", "default", "examples", "deprecated"}
"""Keywords that tell people something and admit everything."""
_KEYWORDS = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"minLength", "maxLength"},
    "integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "boolean": set[str](),
    "null": set[str](),
}


class UnknownForm(ValueError):
    """A schema that an answer cannot be held to here."""


def form_of_schema(schema: Schema) -> Form:
    """What an answer to this schema may be.

    Raises:
        UnknownForm: The schema says something that is not known here, or admits nothing.
    """
    return Form.of(_rules(schema))


def _rules(schema: Schema) -> tuple[FormRule, ...]:
    if "enum" in schema or "const" in schema:
        return _choices(schema)
    for combined in ("anyOf", "oneOf"):
        if combined in schema:
            _refuse_others(schema, {combined, "discriminator"})
            return (OneOf(tuple(_rules(option) for option in schema[combined])),)
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        raise UnknownForm(f"the type {kind!r} of {json.dumps(schema)[:100]}")
    _refuse_others(schema, {"type", *_KEYWORDS[kind]})
    match kind:
        case "object":
            return (Fixed(b"{"), Members(_members(schema)), Fixed(b"}"))
        case "array":
            items = Items(
                _rules(schema.get("items", {})), schema.get("minItems", 0), schema.get("maxItems", _LONGEST)
            )
            return (Fixed(b"["), items, Fixed(b"]"))
        case "string":
            inside = Characters(schema.get("minLength", 0), schema.get("maxLength", _LONGEST))
            return (Fixed(b'"'), inside, Fixed(b'"'))
        case "integer" | "number":
            return (_number(schema, _DECIMALS if kind == "number" else 0),)
        case "boolean":
            return (OneOf(((Fixed(b"true"),), (Fixed(b"false"),))),)
        case _:
            return (Fixed(b"null"),)


def _choices(schema: Schema) -> tuple[FormRule, ...]:
    _refuse_others(schema, {"enum", "const", "type"})
    values = schema["enum"] if "enum" in schema else [schema["const"]]
    if not values:
        raise UnknownForm("a list of no choices")
    return (OneOf(tuple((Fixed(_spelled_out(value)),) for value in values)),)


def _members(schema: Schema) -> tuple[Member, ...]:
    if isinstance(schema.get("additionalProperties"), Mapping):
        raise UnknownForm("an object with names of its own")
    required = set(schema.get("required", ()))
    properties = schema.get("properties", {})
    if missing := required - properties.keys():
        raise UnknownForm(f"required members that are not described: {', '.join(sorted(missing))}")
    return tuple(
        Member(_spelled_out(name) + b": ", _rules(part), name in required)
        for name, part in properties.items()
    )


def _number(schema: Schema, decimals: int) -> Number:
    step = Decimal(1).scaleb(-decimals)
    low = [Decimal(str(schema["minimum"]))] if "minimum" in schema else []
    high = [Decimal(str(schema["maximum"]))] if "maximum" in schema else []
    if "exclusiveMinimum" in schema:
        low.append(Decimal(str(schema["exclusiveMinimum"])) + step)
    if "exclusiveMaximum" in schema:
        high.append(Decimal(str(schema["exclusiveMaximum"])) - step)
    try:
        return Number.between(max(low, default=-_LARGEST), min(high, default=_LARGEST), decimals)
    except ValueError as error:
        raise UnknownForm(str(error)) from None


def _spelled_out(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _refuse_others(schema: Schema, known: set[str]) -> None:
    if others := schema.keys() - known - _WORDS:
        raise UnknownForm(f"the keyword {min(others)!r}")
