"""OpenAI's graders API: a grader's request as a case, and a judgement as its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...rubrics.rubric import Rubric
from ..plugins.judgement import Judgement, names_with_best, one_share
from .judging import RequestError, read_body

Document = dict[str, Any]
CASE_KEYS = ("source", "reference", "question", "audience", "group", "system")
"""Keys of an item that mean what they mean in a case; the others are kept as metadata."""
_ALIASES = {"reference_answer": "reference", "prompt": "question", "context": "source"}
"""What OpenAI's own examples call them."""
ERRORS: Document = {
    "formula_parse_error": False,
    "invalid_variable_error": False,
    "model_grader_parse_error": False,
    "model_grader_refusal_error": False,
    "model_grader_server_error": False,
    "model_grader_server_error_details": None,
    "other_error": False,
    "python_grader_runtime_error": False,
    "python_grader_runtime_error_details": None,
    "python_grader_server_error": False,
    "python_grader_server_error_type": None,
    "sample_parse_error": False,
    "truncated_observation_error": False,
    "unresponsive_reward_error": False,
}
_LARGEST = 1e9
_ABSTENTIONS = {
    "refused": "model_grader_refusal_error",
    "unparsable": "model_grader_parse_error",
    "unavailable": "model_grader_server_error",
}


class Grader(BaseModel):
    """A grader that asks a model for a score: here, the jury. Its prompt and its model are the jury's and the rubric's, not these."""

    model_config = ConfigDict(extra="allow", title="Grader")

    type: Literal["score_model"]
    name: str = Field(
        "",
        description="The attribute, reversed score or composite of the rubric whose score is the reward. With any other name, the reward is the mean of the rubric's attributes.",
    )
    range: Annotated[
        list[Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]], Field(min_length=2, max_length=2)
    ] = Field(
        default=[0.0, 1.0],
        description="The rewards for the worst and for the best score. With [1, 0], the worst score has the highest reward.",
        json_schema_extra={"uniqueItems": True},
    )


class GraderRun(BaseModel):
    """What `POST /v1/fine_tuning/alpha/graders/run` takes."""

    model_config = ConfigDict(extra="forbid", title="GraderRun")

    grader: Grader
    model_sample: str = Field(min_length=1, description="The text under judgement.")
    item: dict[str, Any] = Field(
        default_factory=dict,
        description="source, reference, question, audience, group and system as in a case; all other keys of the item are kept as metadata.",
    )


def read_grader_run(body: bytes) -> GraderRun:
    """The grader and what it grades.

    Raises:
        RequestError: 400 if the body is not JSON, 422 if it is no request for a grader of this kind.
    """
    run = read_body(
        GraderRun,
        body,
        "grader, model_sample and item",
        "a grader of the type score_model, a model_sample and an item, as GET /openapi.json describes them",
    )
    if len(set(run.grader.range)) == 1:
        raise RequestError(422, "grader.range: both ends are the same", "send [0, 1], or leave range out")
    return run


def rewarded_name(run: GraderRun, rubric: Rubric) -> str | None:
    """What the grader's name says is rewarded; None for the whole rubric.

    Raises:
        RequestError: It has no worse and better, so that there can be no reward. Nothing was paid for.
    """
    if rubric.compares:
        raise RequestError(
            422,
            "the rubric compares two outputs, but a grader sends one",
            "serve a rubric that scores single outputs",
        )
    name, rewardable = run.grader.name, names_with_best(rubric)
    is_named = name in (*rubric.names, *rubric.reversed_names, *rubric.composites)
    if not rewardable or (is_named and name not in rewardable):
        raise RequestError(
            422,
            f"{name if is_named else 'the rubric'} has no ordered scale, so there can be no reward",
            "name an attribute or a composite with an ordered scale",
        )
    return name if is_named else None


def case_document(run: GraderRun) -> bytes:
    """The case to be judged, as a request to `POST /v1/deliberations` has it.

    Samples of one item share its `id` as their group, unless it names one: each is a case of its own, known by its words.
    """
    parts: Document = {"output": run.model_sample}
    metadata: Document = {}
    for key, value in run.item.items():
        name = key if key in CASE_KEYS else _ALIASES.get(key, "")
        if name and name not in parts and value is not None and (name == key or name not in run.item):
            parts[name] = value if name == "source" and isinstance(value, list) else _text(value)
        elif key == "id" and value is not None:
            metadata["item"] = value
        else:
            metadata[key] = value
    if (item_id := run.item.get("id")) is not None:
        parts.setdefault("group", _text(item_id))
    return json.dumps({**parts, **({"metadata": metadata} if metadata else {})}).encode()


def grader_answer(run: GraderRun, judgement: Judgement) -> Document:
    """The judgement as OpenAI's answer.

    The reward is null, and an error is flagged, where it could not be reached: never 0, which would be the worst answer.
    """
    reply, marks = judgement.document, judgement.marks
    reward = one_share(judgement, rewarded_name(run, judgement.rubric))
    low, high = run.grader.range
    usage = {f"{name}_tokens": reply["tokens"].get(name, 0) for name in ("prompt", "completion", "cached")}
    total = usage["prompt_tokens"] + usage["completion_tokens"]

    def in_range(part: float | None) -> float | None:
        return None if part is None else round(low + part * (high - low), 6)

    return {
        "reward": in_range(reward),
        "sub_rewards": {name: in_range(mark.share) for name, mark in marks.items()},
        "metadata": {
            "name": run.grader.name or judgement.rubric.name,
            "type": run.grader.type,
            "errors": dict(ERRORS) if reward is not None else _errors(reply),
            "execution_time": reply["seconds"],
            "scores": {name: mark.value for name, mark in marks.items()},
            "token_usage": total,
            "sampled_model_name": None,
            "case": reply["case"],
            "hung": {name: mark.reason for name, mark in marks.items() if mark.status == "hung"},
        },
        "model_grader_token_usage_per_model": {reply["arm"]: {**usage, "total_tokens": total}},
    }


def _errors(document: Mapping[str, Any]) -> Document:
    """OpenAI's flags for a reward that could not be reached: why jurors gave no answer, as far as it has a word for it."""
    flags = {**ERRORS, "other_error": True, "unresponsive_reward_error": True}
    for abstention in document["abstentions"]:
        if (flag := _ABSTENTIONS.get(str(abstention["reason"]))) is not None:
            flags[flag] = True
    if flags["model_grader_server_error"]:
        details = [str(a["detail"]) for a in document["abstentions"] if a["reason"] == "unavailable"]
        flags["model_grader_server_error_details"] = "; ".join(dict.fromkeys(details))[:500]
    return flags


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
