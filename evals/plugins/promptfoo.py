"""promptfoo: `get_assert` for a Python assertion and `call_api` for the grader of `select-best`, jury and rubric named in their `config`; and as a program, one worker for all assertions."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from statistics import fmean
from threading import Lock
from typing import Any, TextIO

from ...agents.cost import Cost
from ...agents.model import digest
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.scale import preferred_side
from .judgement import Judgement
from .samples import text_of
from .sitting import KEPT, Sitting, case_from_sample, convene

_PARTS = ("question", "source", "reference", "against")
"""What of a case `config` may say to be in which variable. Other variables are shown to nobody."""
_OWN = ("basePath", "pythonExecutable", "workers", "timeout")
"""What of a provider's `config` is promptfoo's."""


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """The jury's judgement of `output` as promptfoo keeps it.

    `config` has `rubric`, `jury`, what a verdict must meet (`require`), what begins the names of scores (`prefix`: promptfoo averages those of one name), the variables of a case's parts, and options of
    a sitting (`model`, `base_url`, `record` ...). `against` names the variable with another output: a rubric of pairs then compares the
    two, 1 where this one is preferred, 0 where the other is. What is hung or does not apply has no score among the named ones.
    """
    config = dict(context.get("config") or {})
    parts = {part: config.pop(part, None) for part in _PARTS}
    required, prefix = config.pop("require", []), str(config.pop("prefix", ""))
    try:
        _refuse_one_name(context.get("test") or {}, prefix)
        case = _case(text_of(output), context.get("vars") or {}, parts)
        return _result(_sitting(config).hear_sync(case), required, prefix)
    except VenireError as error:
        return _failure(str(error))


def _refuse_one_name(test: Mapping[str, Any], prefix: str) -> None:
    configs = [{**(asserted.get("config") or {}), "require": None} for asserted in test.get("assert") or ()]
    juries = [config for config in configs if "jury" in config and config.get("prefix", "") == prefix]
    if any(jury != juries[0] for jury in juries):
        problem = (
            f"two juries of this test have the prefix {prefix!r}, and promptfoo averages scores of one name"
        )
        raise VenireError(problem, remedy="give each jury its own prefix in config")


def _failure(problem: str) -> dict[str, Any]:
    # promptfoo wants a number: this one does not pass, and `venire import` reads no score from it.
    return {"pass": False, "score": 0, "reason": problem, "metadata": {"error": problem}}


def call_api(prompt: str, options: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """The number of the output that the jury prefers to each of the others, for a `select-best` whose `provider` is this file.

    `config` is that of `get_assert`, without `require`, `prefix` and `against`. Every two outputs are a case of a rubric of pairs, and `attribute` names
    the question that counts, if there are several. Where a tie, a hung pair or a circle leaves no such output, it is an error that says so: promptfoo then selects none.
    """
    config = {key: value for key, value in options["config"].items() if key not in _OWN}
    parts = {part: config.pop(part, None) for part in _PARTS if part != "against"}
    attribute, variables = config.pop("attribute", None), context["vars"]
    texts = [text_of(output) for output in variables["outputs"]]
    try:
        sitting = _sitting(config)
        names = sitting.rubric.names if sitting.rubric.compares else ()
        asked = names if attribute is None else [name for name in names if name == attribute]
        if len(asked) != 1:
            problem = f"select-best needs one attribute of a rubric with kind: pair, not {attribute!r} of {sitting.rubric.name}"
            raise VenireError(problem, remedy=nearest(str(attribute), names))
        pairs = {
            (one, other): sitting.hear_sync(_case(texts[one], variables, parts, against=texts[other]))
            for one, other in combinations(range(len(texts)), 2)
        }
    except VenireError as error:
        return {"error": str(error)}
    marks = {pair: judgement.marks[asked[0]] for pair, judgement in pairs.items()}
    sides = {pair: preferred_side(mark.value) for pair, mark in marks.items() if mark.value is not None}
    winners = [pair[side < 0] for pair, side in sides.items() if side]
    spent = [judgement.usd for judgement in pairs.values() if judgement.usd is not None]
    usage = {"tokenUsage": _tokens(*pairs.values())} | (
        {"cost": sum(spent)} if len(spent) == len(pairs) else {}
    )
    for number in range(len(texts)):
        if winners.count(number) == len(texts) - 1:
            return {"output": str(number), **usage}
    found = "; ".join(f"{one} against {other}: {mark.reason}" for (one, other), mark in marks.items())
    return {"error": f"no output is preferred to every other: {found}", **usage}


def _sitting(config: dict[str, Any]) -> Sitting:
    try:
        return convene(config.pop("rubric"), config.pop("jury"), **config)
    except (KeyError, TypeError) as error:
        raise VenireError(
            f"the assertion's config cannot be used: {error}",
            remedy="give rubric and jury, and optionally require, prefix, question, source, reference, against, model, base_url, record",
        ) from None


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
        "componentResults": [
            {"pass": True, "score": shares[mark.name], "reason": f"{mark.name}: {mark.reason}"}
            for mark in asked
            if mark.name in shares
        ],
        "tokensUsed": _tokens(judgement),
        "metadata": {"deliberation": judgement.document, "text": judgement.text}
        | {"prefix": prefix, "usd": judgement.usd},
    }


def _tokens(*judgements: Judgement) -> dict[str, int]:
    """What the jury used now, in promptfoo's words; what was found in the record is not used again."""
    heard = [judgement.verdict.transcript for judgement in judgements if judgement.fresh]
    cost = Cost.total(entry.spent for transcript in heard for entry in transcript.entries)
    counts = {name: getattr(cost.usage, name) for name in ("total", "prompt", "completion", "cached")}
    return {**counts, "numRequests": cost.calls}


def _case(words: str, variables: Mapping[str, Any], named: Mapping[str, str | None], **more: str) -> Case:
    unknown = [name for name in named.values() if name is not None and name not in variables]
    if unknown:
        raise VenireError(f"the test has no variable {unknown[0]!r}", remedy="name one of the test's vars")
    parts = {part: variables[name] for part, name in named.items() if name is not None} | more
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
            result = _failure(f"{type(error).__name__}: {error}")
        with one_at_a_time:
            answers.write(f"{json.dumps({'id': asked['id'], 'result': result})}\n")
            answers.flush()

    with ThreadPoolExecutor(KEPT) as judging:
        for line in requests:
            judging.submit(answer, line)


if __name__ == "__main__":
    serve_assertions(sys.stdin, sys.stdout)
