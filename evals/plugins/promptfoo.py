"""promptfoo: `get_assert` for a Python assertion, its jury and rubric named in the assertion's `config`; and as a program, one worker for all of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from statistics import fmean
from threading import Lock
from typing import Any, TextIO

from ...agents.model import digest
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from .judgement import Judgement, Mark
from .sitting import KEPT, case_from_sample, convene

_PARTS = ("question", "source", "reference", "against")
"""What of a case `config` may say to be in which variable. Other variables are shown to nobody."""


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """The jury's judgement of `output` as promptfoo keeps it.

    `config` has `rubric`, `jury`, what a verdict must meet (`require`), what begins the names of scores (`prefix`: promptfoo averages those of one name), the variables of a case's parts, and options of
    a sitting (`model`, `base_url`, `record` ...). `against` names the variable with another output: a rubric of pairs then compares the
    two, 1 where this one is preferred, 0 where the other is. What is hung or does not apply has no score among the named ones.
    """
    config = dict(context.get("config") or {})
    parts = {part: config.pop(part, None) for part in _PARTS}
    required, prefix = config.pop("require", []), str(config.pop("prefix", ""))
    case = _case(output, context.get("vars") or {}, parts)
    try:
        sitting = convene(config.pop("rubric"), config.pop("jury"), **config)
    except (KeyError, TypeError) as error:
        raise VenireError(
            f"the assertion's config cannot be used: {error}",
            remedy="it has rubric and jury, and may have require, prefix, question, source, reference, against, model, base_url, record",
        ) from None
    return _result(sitting.hear_sync(case), required, prefix)


def _result(judgement: Judgement, required: list[str], prefix: str) -> dict[str, Any]:
    asked = [judgement.marks[name] for name in judgement.rubric.names]
    shares = {mark.name: mark.share for mark in judgement.marks.values() if mark.share is not None}
    misses = judgement.misses(*required) + [
        f"{mark.name}: hung" for mark in asked if mark.status == "hung" and not required
    ]
    return {
        "pass": not misses,
        # promptfoo wants a number: 0 beside `pass: false` is its way to say that there is none.
        "score": fmean([shares[mark.name] for mark in asked if mark.name in shares] or [0.0]),
        "reason": "; ".join(misses) or judgement.headline,
        "namedScores": {f"{prefix}{name}": share for name, share in shares.items()},
        "componentResults": [_part(mark) for mark in asked if mark.share is not None],
        "metadata": {"deliberation": judgement.document, "text": judgement.text, "prefix": prefix},
    }


def _part(mark: Mark) -> dict[str, Any]:
    return {"pass": True, "score": mark.share, "reason": f"{mark.name}: {mark.reason}"}


def _case(output: Any, variables: Mapping[str, Any], named: Mapping[str, str | None]) -> Case:
    unknown = [name for name in named.values() if name is not None and name not in variables]
    if unknown:
        raise VenireError(f"the test has no variable {unknown[0]!r}", remedy="name one of its vars")
    words = output if isinstance(output, str) else str(output)
    parts = {part: variables[name] for part, name in named.items() if name is not None}
    return case_from_sample(f"case-{digest(f'{words} {parts}')[:12]}", words, **parts)


def serve_assertions(requests: TextIO, answers: TextIO) -> None:
    """Answer each line `{"id", "output", "context"}` with `{"id", "result"}` as soon as it is judged, until there are no more."""

    one_at_a_time = Lock()

    def answer(line: str) -> None:
        asked = json.loads(line)
        try:
            result = get_assert(asked["output"], asked["context"])
        except Exception as error:
            # promptfoo waits for every answer: an error is one, and no score.
            result = {"pass": False, "score": 0, "reason": f"{type(error).__name__}: {error}"}
        with one_at_a_time:
            answers.write(f"{json.dumps({'id': asked['id'], 'result': result})}\n")
            answers.flush()

    with ThreadPoolExecutor(KEPT) as judging:
        for line in requests:
            judging.submit(answer, line)


if __name__ == "__main__":
    serve_assertions(sys.stdin, sys.stdout)
