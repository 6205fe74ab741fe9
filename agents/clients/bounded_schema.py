"""JSON schemas with bounds under which a small model's answer must end, and the longest answer that one admits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

TEXT = 160
QUOTE = 80
QUOTES = 2
FORMS = 12


def tighten(
    schema: Mapping[str, Any],
    *,
    text: int = TEXT,
    quote: int = QUOTE,
    quotes: int = QUOTES,
    forms: int = FORMS,
) -> dict[str, Any]:
    """The schema with bounds under which a small model's answer must end; it admits nothing that `schema` does not.

    Words get at most `text` characters, lists of words at most `quotes` entries of `quote` characters, lists of forms (claims,
    checks of claims) at most `forms` entries; a list of choices, as many entries as there are choices.
    """

    def limit(node: Any, longest: int) -> Any:
        if not isinstance(node, Mapping):
            return node
        bounded = dict(node)
        for key in ("anyOf", "oneOf", "allOf"):
            if key in node:
                bounded[key] = [limit(choice, longest) for choice in node[key]]
        if node.get("type") == "string" and not _choices(node):
            bounded["maxLength"] = _upper_bound(node, "minLength", "maxLength", longest)
        elif node.get("type") == "array":
            entry = node.get("items", {})
            most = len(_choices(entry)) or (forms if "properties" in entry else quotes)
            bounded["items"] = limit(entry, quote)
            bounded["maxItems"] = _upper_bound(node, "minItems", "maxItems", most)
        elif "properties" in node:
            bounded["properties"] = {name: limit(part, text) for name, part in node["properties"].items()}
        return bounded

    return limit(schema, text)


def _upper_bound(node: Mapping[str, Any], least: str, most: str, limit: int) -> int:
    return max(int(node.get(least, 0)), min(limit, int(node.get(most, limit))))


def _choices(node: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(node.get("enum", ())) or ((node["const"],) if "const" in node else ())


def longest_answer(node: Mapping[str, Any]) -> int:
    """The most characters that an answer to a tighten schema can have, give or take its punctuation."""
    if chosen := _choices(node):
        return max(len(json.dumps(choice)) for choice in chosen)
    if options := [*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())]:
        return max(longest_answer(option) for option in options)
    match node.get("type"):
        case "object":
            return sum(
                len(name) + 8 + longest_answer(part) for name, part in node.get("properties", {}).items()
            )
        case "array":
            return int(node["maxItems"]) * (4 + longest_answer(node["items"]))
        case "string":
            return int(node["maxLength"])
        case _:
            return 24


def has_open_number(node: Any) -> bool:
    """Whether a number without a list of choices is asked for: nothing but a penalty on repeats ends its decimals."""
    if isinstance(node, Mapping):
        is_open = node.get("type") == "number" and not _choices(node)
        return is_open or any(map(has_open_number, node.values()))
    return isinstance(node, list) and any(map(has_open_number, node))
