"""Partial answers: what is legal in an answer of which some attribute is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from ..rubrics.ballot import AbstainedAttribute
from .answers import UnusableAnswer, read_answer
from .model import Message


def legal_attributes(
    fields: Mapping[str, Any],
    shapes: Mapping[str, type[BaseModel]],
    shown: Sequence[Message],
    check: Callable[[BaseModel], str | None] | None = None,
) -> tuple[list[BaseModel], tuple[AbstainedAttribute, ...]]:
    """The attributes of an illegal answer that are legal taken alone, each as its own shape, and those that are not."""
    legal: list[BaseModel] = []
    abstained: list[AbstainedAttribute] = []
    for attribute, shape in shapes.items():
        given = {attribute: fields[attribute]} if attribute in fields else {}
        try:
            part = read_answer(json.dumps(given), shape, shown)
        except UnusableAnswer as misread:
            failure = misread.failure
            abstained.append(
                AbstainedAttribute(attribute=attribute, reason=failure.reason, detail=failure.detail)
            )
            continue
        if check is not None and (problem := check(part)):
            abstained.append(AbstainedAttribute(attribute=attribute, reason="unparsable", detail=problem))
        else:
            legal.append(part)
    return legal, tuple(abstained)
