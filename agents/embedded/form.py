"""A form: the JSON texts that a schema admits, told byte by byte, in the one spelling that `json.dumps` has.

What is still to come is a row of rules, the nearest first (`Rest`). A form has every such row that what was written leaves open: several where
choices begin alike. Taking a byte gives a new form, so that any continuation can be tried without harm.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Protocol

Rest = tuple["FormRule", "Rest"] | None
"""The rules still to come; None where the text may end."""


class FormRule(Protocol):
    """A part of a text."""

    def open(self, rest: Rest) -> Iterable[Rest]:
        """The rows that begin here, each with a rule in front that takes bytes; what may be empty opens `rest` too."""
        ...

    def take(self, byte: int, rest: Rest) -> Iterable[Rest]:
        """The rows after one byte; none where it does not belong."""
        ...


class Form:
    """What may still be written."""

    def __init__(self, rows: tuple[Rest, ...]) -> None:
        self._rows = rows

    @classmethod
    def of(cls, rules: Iterable[FormRule]) -> Form:
        return cls(tuple(_open(follow(rules, None))))

    def after(self, text: bytes) -> Form | None:
        """The form once `text` is written; None where it does not fit."""
        rows = self._rows
        for byte in text:
            rows = tuple(new for row in rows if row is not None for new in row[0].take(byte, row[1]))
            if not rows:
                return None
            if len(rows) > 1:
                rows = tuple(dict.fromkeys(rows))
        return Form(rows)

    @property
    def may_end(self) -> bool:
        return None in self._rows

    @property
    def is_over(self) -> bool:
        """Whether nothing can be added."""
        return self._rows == (None,)

    @property
    def only_text(self) -> bytes:
        """What must be written next in any case, as far as that is certain."""
        found, form = bytearray(), self
        while (byte := form._only_byte()) is not None:
            found.append(byte)
            following = form.after(bytes([byte]))
            assert following is not None
            form = following
        return bytes(found)

    def _only_byte(self) -> int | None:
        fronts = [None if row is None else row[0] for row in self._rows]
        following = {front.text[0] if isinstance(front, Fixed) else None for front in fronts}
        return following.pop() if len(following) == 1 else None


def follow(rules: Iterable[FormRule], rest: Rest) -> Rest:
    """The row in which these rules come before the rest."""
    for rule in reversed(tuple(rules)):
        rest = (rule, rest)
    return rest


def _open(row: Rest) -> Iterable[Rest]:
    return (None,) if row is None else row[0].open(row[1])


@dataclass(frozen=True, slots=True)
class Fixed:
    """These bytes, of which there is at least one."""

    text: bytes

    def open(self, rest: Rest) -> Iterable[Rest]:
        return ((self, rest),)

    def take(self, byte: int, rest: Rest) -> Iterable[Rest]:
        if byte != self.text[0]:
            return ()
        return ((Fixed(self.text[1:]), rest),) if len(self.text) > 1 else _open(rest)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several sequences of rules."""

    options: tuple[tuple[FormRule, ...], ...]

    def open(self, rest: Rest) -> Iterator[Rest]:
        for option in self.options:
            yield from _open(follow(option, rest))

    def take(self, byte: int, rest: Rest) -> Iterable[Rest]:
        return ()


@dataclass(frozen=True, slots=True)
class Items:
    """The inside of a list."""

    item: tuple[FormRule, ...]
    at_least: int
    at_most: int
    count: int = 0

    def open(self, rest: Rest) -> Iterator[Rest]:
        if self.count >= self.at_least:
            yield from _open(rest)
        if self.count < self.at_most:
            more = Items(self.item, self.at_least, self.at_most, self.count + 1)
            comma = (Fixed(b", "),) if self.count else ()
            yield from _open(follow((*comma, *self.item, more), rest))

    def take(self, byte: int, rest: Rest) -> Iterable[Rest]:
        return ()


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object: its name with quotes and colon, its value, and whether it must be there."""

    name: bytes
    value: tuple[FormRule, ...]
    required: bool


@dataclass(frozen=True, slots=True)
class Members:
    """The inside of an object, in the order of its schema."""

    members: tuple[Member, ...]
    is_first: bool = True

    def open(self, rest: Rest) -> Iterator[Rest]:
        if not self.members:
            yield from _open(rest)
            return
        member, *others = self.members
        name = Fixed(member.name if self.is_first else b", " + member.name)
        after = Members(tuple(others), is_first=False)
        yield from _open(follow((name, *member.value, after), rest))
        if not member.required:
            yield from Members(tuple(others), self.is_first).open(rest)

    def take(self, byte: int, rest: Rest) -> Iterable[Rest]:
        return ()


@dataclass(frozen=True, slots=True)
class Characters:
    """The inside of a string: UTF-8, with JSON's escapes, each counted as one."""

    at_least: int
    at_most: int

    def open(self, rest: Rest) -> Iterator[Rest]:
        if self.at_most > 0:
            yield (self, rest)
        if self.at_least <= 0:
            yield from _open(rest)

    def take(self, byte: int, rest: Rest) -> Iterable[Rest]:
        more: Rest = (Characters(self.at_least - 1, self.at_most - 1), rest)
        if byte == ord("\\"):
            return ((_Escape(), more),)
        if 0x20 <= byte < 0x7F and byte != ord('"'):
            return _open(more)
        if (tail := _TAILS.get(byte)) is not None:
            return (follow((_Between(*span) for span in tail), more),)
        return ()


@dataclass(frozen=True, slots=True)
class _Between:
    """One byte from a span."""

    low: int
    high: int

    def open(self, rest: Rest) -> Iterable[Rest]:
        return ((self, rest),)

    def take(self, byte: int, rest: Rest) -> Iterable[Rest]:
        return _open(rest) if self.low <= byte <= self.high else ()


_ANY = (0x80, 0xBF)
_TAILS: dict[int, tuple[tuple[int, int], ...]] = {
    **dict.fromkeys(range(0xC2, 0xE0), (_ANY,)),
    **dict.fromkeys(range(0xE0, 0xF0), (_ANY, _ANY)),
    **dict.fromkeys(range(0xF0, 0xF5), (_ANY, _ANY, _ANY)),
    0xE0: ((0xA0, 0xBF), _ANY),
    0xED: ((0x80, 0x9F), _ANY),
    0xF0: ((0x90, 0xBF), _ANY, _ANY),
    0xF4: ((0x80, 0x8F), _ANY, _ANY),
}
"""The bytes that follow the first of a character, in UTF-8."""


@dataclass(frozen=True, slots=True)
class _Escape:
    """What follows a backslash."""

    def open(self, rest: Rest) -> Iterable[Rest]:
        return ((self, rest),)

    def take(self, byte: int, rest: Rest) -> Iterable[Rest]:
        if byte == ord("u"):
            return ((_HexDigits(), rest),)
        return _open(rest) if byte in b'"\\/bfnrt' else ()


@dataclass(frozen=True, slots=True)
class _HexDigits:
    """The four digits of an escaped character, which is no half of a pair."""

    digits: str = ""

    def open(self, rest: Rest) -> Iterable[Rest]:
        return ((self, rest),)

    def take(self, byte: int, rest: Rest) -> Iterable[Rest]:
        digits = self.digits + chr(byte).lower()
        if digits[-1] not in "0123456789abcdef" or "d8" <= digits[:2] <= "df":
            return ()
        return _open(rest) if len(digits) == 4 else ((_HexDigits(digits), rest),)


@dataclass(frozen=True, slots=True)
class Number:
    """A number within bounds, with so many decimals at the most and no exponent."""

    low: Decimal
    high: Decimal
    decimals: int
    text: str = ""

    @classmethod
    def between(cls, low: Decimal, high: Decimal, decimals: int) -> Number:
        """Bounds brought to the nearest numbers inside them that can be written; a `ValueError` where there are none."""
        step = Decimal(1).scaleb(-decimals)
        low, high = low.quantize(step, ROUND_CEILING), high.quantize(step, ROUND_FLOOR)
        if low > high:
            raise ValueError(f"no number with {decimals} decimals is within the bounds")
        return cls(low, high, decimals)

    def open(self, rest: Rest) -> Iterator[Rest]:
        yield (self, rest)
        if self.text[-1:].isdigit() and self.low <= Decimal(self.text) <= self.high:
            yield from _open(rest)

    def take(self, byte: int, rest: Rest) -> Iterable[Rest]:
        longer = Number(self.low, self.high, self.decimals, self.text + chr(byte))
        return longer.open(rest) if longer._can_be_completed() else ()

    def _can_be_completed(self) -> bool:
        whole, point, fraction = self.text.removeprefix("-").partition(".")
        if not (
            (whole + fraction).isascii()
            and (whole + fraction).isdigit() | (self.text == "-")
            and (whole == "0" or not whole.startswith("0"))
            and (not point or (whole and self.decimals))
            and len(fraction) <= self.decimals
        ):
            return False
        low, high = (-self.high, -self.low) if self.text.startswith("-") else (self.low, self.high)
        return any(least <= high and most >= low for least, most in self._reach(whole, point, fraction))

    def _reach(self, whole: str, point: str, fraction: str) -> Iterator[tuple[Decimal, Decimal]]:
        """The least and the most, signs aside, that the text can become: with a point, with none, with one digit more, two, ..."""
        step = Decimal(1).scaleb(-self.decimals)
        if point:
            value = Decimal(f"{whole}.{fraction}")
            yield value, value + Decimal(1).scaleb(-len(fraction)) - step
        elif not whole:
            yield Decimal(0), max(abs(self.low), abs(self.high))
        else:
            longest = len(str(int(max(abs(self.low), abs(self.high)))))
            more = range(longest - len(whole) + 1) if whole != "0" else range(1)
            for digits in more:
                yield Decimal(whole).scaleb(digits), (Decimal(whole) + 1).scaleb(digits) - step


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
