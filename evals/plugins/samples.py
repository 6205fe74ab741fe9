"""A row of a host's data as a case: its inputs, its output and what was expected, of whatever type they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from ...agents.model import digest
from ...rubrics.case import Case
from .sitting import case_from_sample, field_of

BLANK = "The output is blank: there is nothing to judge."


def case_from_row(
    inputs: Any,
    output: Any,
    expected: Any = None,
    *,
    source: str | None = None,
    against: str | None = None,
    name: object = None,
) -> Case:
    """The case of one row; without a name, its id is a digest of what went in and came out.

    `source` names the input that holds what the output was made from, `against` the one that holds another output, to be compared with this
    one; the other inputs are the question. `expected` is the reference, which jurors read only if the rubric shows it.
    """
    given = inputs if isinstance(inputs, Mapping) else {} if inputs is None else {"input": inputs}
    asked = {key: value for key, value in given.items() if key not in (source, against)}
    return case_from_sample(
        digest(json.dumps(_jsonable([inputs, output]), sort_keys=True))[:12] if name is None else name,
        text_of(output),
        against=None if against is None else text_of(field_of(given, against)),
        source=field_of(given, source),
        question=text_of(sole_value(asked)),
        reference=text_of(expected),
    )


def sole_value(fields: Mapping[str, Any]) -> Any:
    """The value of the only field; all of them where there are several, None where there is none."""
    return next(iter(fields.values())) if len(fields) == 1 else dict(fields) or None


def text_of(value: Any) -> str:
    """A text as it is, anything else as JSON; nothing for None."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(_jsonable(value), ensure_ascii=False)


def _jsonable(value: Any) -> Any:
    return to_jsonable_python(value, fallback=str, bytes_mode="base64")
