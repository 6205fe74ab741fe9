"""Forms: what a schema admits is accepted byte by byte, what it does not is refused at the first wrong one."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from venire import Rubric
from venire.agents.claims import ClaimsAnswer, checks_shape
from venire.agents.clients.local_engine import tighten
from venire.agents.embedded.form import Form, UnknownForm, form_of_schema
from venire.agents.orchestrator import _decision_shape, _ledger_shape, _moderation_shape
from venire.evals.optimising.reflection import Proposal
from venire.evals.transcripts.aligners import AlignmentAnswer
from venire.orchestration.protocols.magentic_chat import ledger_schema
from venire.orchestration.protocols.magentic_one import final_shape
from venire.rubrics.ballot import Legal, ballot_schema, inline


def form(**schema: Any) -> Form:
    return form_of_schema(schema)


def accepts(schema_form: Form, text: str) -> bool:
    """Whether a text is a whole answer."""
    end = schema_form.after(text.encode())
    return end is not None and end.may_end


def first_wrong(schema_form: Form, text: str) -> str:
    """What of a text is taken before the first byte that is refused."""
    whole = text.encode()
    for end in range(len(whole)):
        if schema_form.after(whole[: end + 1]) is None:
            return whole[:end].decode("utf-8", "ignore")
    return text


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "boolean"}, ["true", "false"], ["True", "1", "truefalse", "tru"]),
        ({"type": "null"}, ["null"], ["nil", ""]),
        ({"enum": [1, 10, "a", None, 2.5]}, ["1", "10", '"a"', "null", "2.5"], ["2", "100", "a", '"b"']),
        ({"const": "\u00e9", "type": "string"}, ['"\u00e9"'], ['"e"', '"\u00e8"']),
        ({"type": "integer"}, ["0", "-5", "123"], ["01", "1.0", "+1", "1e3", "-", "", "12345678901"]),
        ({"type": "integer", "minimum": 7, "maximum": 25}, ["7", "12", "25"], ["6", "26", "3", "70", "-7"]),
        ({"type": "integer", "minimum": -12, "maximum": -3}, ["-3", "-12"], ["-2", "-13", "3", "0"]),
        ({"type": "number", "minimum": 0, "maximum": 1}, ["0", "1", "0.25", "1.0"], ["1.1", "2", "-0.1", "0."]),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}, ["0.5", "0.0001"], ["0", "0.0", "0.6"]),
        ({"type": "number", "minimum": 9.5, "maximum": 10.25}, ["9.5", "10", "10.25"], ["9", "9.4", "10.3", "8"]),
        ({"type": "number"}, ["3.1416", "-0.5"], ["3.14159", ".5"]),
        ({"anyOf": [{"type": "number", "maximum": 3}, {"const": "na"}]}, ["2", '"na"'], ["4", '"no"']),
        ({"type": "string"}, ['""', '"a b"', '"\\n\\u00e9\\""'], ["a", '"\n"', '"\\x"', '"\\ud800"', '"a']),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ['"ab"', '"\u65e5\U0001f600x"'], ['"a"', '"abcd"']),
        ({"type": "array", "items": {"const": 1}}, ["[]", "[1]", "[1, 1]"], ["[1,1]", "[, 1]", "[1, ]", "[2]"]),
        (
            {"type": "array", "items": {"enum": [1, 2]}, "minItems": 1, "maxItems": 2},
            ["[1]", "[2, 1]"],
            ["[]", "[1, 1, 1]"],
        ),
        (
            {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["b"]},
            ['{"a": 1, "b": 2}', '{"b": 2}'],
            ['{"a": 1}', "{}", '{"b": 2, "a": 1}', '{"a":1, "b": 2}', '{"c": 1, "b": 2}', '{, "b": 2}'],
        ),
        ({"type": "object", "properties": {"a": {"const": 1}}}, ["{}", '{"a": 1}'], ['{"a": 1, }']),
    ],
    ids=str,
)  # fmt: skip
def test_what_a_schema_admits_and_nothing_else(schema: Any, right: list[str], wrong: list[str]) -> None:
    made = form_of_schema(schema)

    assert [text for text in right if not accepts(made, text)] == []
    assert [text for text in wrong if accepts(made, text)] == []


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string", "pattern": "a+"},
        {"type": "string", "format": "date"},
        {"type": "number", "multipleOf": 2},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {}, "required": ["a"]},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"allOf": [{"type": "string"}]},
        {"$ref": "#/$defs/a"},
        {"type": "any"},
        {"type": ["string", "null"]},
        {"enum": []},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"anyOf": [{"type": "string"}], "type": "string"},
    ],
    ids=str,
)
def test_what_is_not_known_is_refused(schema: Any) -> None:
    with pytest.raises(UnknownForm):
        form_of_schema({"type": "object", "properties": {"x": schema}, "required": ["x"]})


def test_a_wrong_byte_is_refused_where_it_stands() -> None:
    made = form(type="object", properties={"score": {"enum": [1, 2]}}, required=["score"])

    assert first_wrong(made, '{"score": 3}') == '{"score": '
    assert first_wrong(made, '{"scare"') == '{"sc'


def test_a_character_may_come_in_pieces_but_only_a_whole_one_fits() -> None:
    made = form(type="string", maxLength=1)
    half = made.after(b'"\xc3')

    assert half is not None
    assert half.after(b'"') is None
    assert half.after(b'\xa9"') is not None
    for broken in (b'"\xff', b'"\x80', b'"\xc0\x80', b'"\xed\xa0', b'"\xf4\x90', b'"\xe0\x80'):
        assert made.after(broken) is None, broken


def test_choices_that_admit_the_same_do_not_multiply() -> None:
    either = {"anyOf": [{"type": "string"}, {"const": "na"}]}
    made = form(type="array", items=either, maxItems=40)
    end = made.after(json.dumps(["na"] * 40).encode())

    assert end is not None
    assert end.is_over


def test_what_is_certain_is_told_up_to_the_first_choice() -> None:
    why = {"type": "string", "minLength": 1}
    made = form(
        type="object", properties={"why": why, "on": {"enum": ["low", "loud"]}}, required=["why", "on"]
    )

    assert made.only_text == b'{"why": "'
    written = made.after(b'{"why": "so')
    assert written is not None
    assert written.only_text == b""
    closed = written.after(b'"')
    assert closed is not None
    assert closed.only_text == b', "on": "lo'
    last = closed.after(b', "on": "low')
    assert last is not None
    assert last.only_text == b'"}'
    end = last.after(b'"}')
    assert end is not None
    assert end.is_over


def example(schema: Any, rng: random.Random) -> Any:
    """Any answer that a schema admits."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return example(rng.choice(schema["anyOf"]), rng)
    match schema["type"]:
        case "object":
            return {name: example(part, rng) for name, part in schema["properties"].items()}
        case "array":
            most = min(schema.get("maxItems", 3), 3)
            return [
                example(schema["items"], rng) for _ in range(rng.randint(schema.get("minItems", 0), most))
            ]
        case "string":
            letters = 'ab \u00e9\u65e5\U0001f600"\\\n/'
            return "".join(rng.choice(letters) for _ in range(rng.randint(schema.get("minLength", 0), 9)))
        case "boolean":
            return rng.random() < 0.5
        case "integer":
            return rng.randint(0, 99)
        case kind:
            assert kind == "number"
            return round(rng.uniform(schema["minimum"], schema["maximum"]), rng.randint(0, 4))


def project_schemas(rubric: Rubric) -> dict[str, Any]:
    """Every schema that venire sends to a model."""
    names, seats = tuple(rubric.names), ("ana", "ben")
    legal = {"levels": Legal((1, 2, 3), None, True), "line": Legal((), (0, 10), True)}
    return {
        "ballot": ballot_schema(rubric),
        "revision": ballot_schema(rubric, revision=True, confidence=True),
        "ledger": inline(_ledger_shape(names, seats)),
        "moderation": inline(_moderation_shape(names, seats)),
        "decision": inline(_decision_shape(tuple((name, each, seats) for name, each in legal.items()))),
        "claims": inline(ClaimsAnswer),
        "checks": inline(checks_shape(("c1", "c2"))),
        "progress": ledger_schema(seats),
        "final": inline(final_shape(rubric)),
        "alignment": inline(AlignmentAnswer),
        "proposal": inline(Proposal),
    }


def test_every_schema_that_is_sent_has_a_form_that_takes_its_answers(rubric: Rubric) -> None:
    rng = random.Random(4)
    for name, schema in project_schemas(rubric).items():
        tightened = tighten(schema)
        made = form_of_schema(tightened)
        for _ in range(20):
            answer = example(tightened, rng)
            end = made.after(json.dumps(answer, ensure_ascii=False).encode())
            assert end is not None and end.is_over, (name, answer)
            assert accepts(made, json.dumps(answer)) or any(ord(c) > 0xFFFF for c in str(answer))
