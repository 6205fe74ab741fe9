"""OpenAPI 3.1 description of the service, generated from the models that validate its requests and responses."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from pydantic import BaseModel

from ...orchestration.transcript import Stop
from ...orchestration.verdict import Outcome
from ...rubrics.rubric import Rubric
from .graders import GraderRun
from .judging import case_request

_REFS = "#/components/schemas/{model}"
_COUNT = {"type": "integer", "minimum": 0}
_WORDS = {"type": "string"}
MOST = 1000
"""Ids on one page."""
FARTHEST = 1_000_000_000
_PAGING = {"after": "How many ids to skip at the start.", "most": "Largest number of ids to return."}
_PROBLEMS = {
    400: "The body is not JSON.",
    401: "Missing or wrong token.",
    404: "No such deliberation, or no such address.",
    405: "This address does not accept this method.",
    408: "The body did not arrive in time.",
    413: "The body is larger than this server accepts.",
    415: "The body is not application/json, or is compressed.",
    421: "This server does not answer for the host that the request names.",
    422: "Invalid case or query parameter.",
    503: "Too many requests are waiting, or a budget is spent.",
}


def openapi_document(*, rubric: Rubric, jury: str) -> dict[str, Any]:
    """The OpenAPI document of the service."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "venire",
            "version": version("venire"),
            "description": f"Scores cases under the rubric {rubric.name} by the jury {jury}.",
        },
        "security": [{"token": []}],
        "paths": {
            "/v1/deliberations": {"post": _score(), "get": _list()},
            "/v1/deliberations/{case}": {"get": _fetch()},
            "/v1/status": {"get": _status()},
            "/v1/fine_tuning/alpha/graders/run": {"post": _grade()},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(case_request(rubric)),
        },
    }


def _score() -> dict[str, Any]:
    return {
        "operationId": "score",
        "summary": "Have the jury judge a case, and wait for the verdict",
        "description": (
            "A case that was judged before is answered from the record and costs nothing. If the connection or the server is "
            "lost, send the case again: finished calls of models are kept and not paid for again."
        ),
        "requestBody": {"required": True, "content": _json({"$ref": _REFS.format(model="Case")})},
        "responses": {"200": _deliberation_response("The deliberation and its verdict."), **_problems(400, 401, 408, 413, 415, 421, 422, 503)},
    }  # fmt: skip


def _grade() -> dict[str, Any]:
    return {
        "operationId": "grade",
        "summary": "OpenAI's graders API: judge a model's sample, and return a reward",
        "description": (
            "If the grader has the name of an attribute or composite, the reward is the score of that attribute or composite; otherwise the reward is the mean of the rubric's attributes. "
            "Rewards go from 0 (worst) to 1 (best), or over the range that the grader gives. If the jury is hung, the reward is null, never 0, and an error is flagged in the metadata."
        ),
        "requestBody": {"required": True, "content": _json({"$ref": _REFS.format(model="GraderRun")})},
        "responses": {
            "200": {
                "description": "The reward.",
                "content": _json({"$ref": _REFS.format(model="GraderAnswer")}),
            },
            **_problems(400, 401, 408, 413, 415, 421, 422, 503),
        },
    }


def _fetch() -> dict[str, Any]:
    parameter = {"name": "case", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    return {
        "operationId": "fetch",
        "summary": "Read a deliberation that is finished",
        "parameters": [parameter],
        "responses": {
            "200": _deliberation_response("The deliberation and its verdict."),
            **_problems(401, 404, 421),
        },
    }


def _list() -> dict[str, Any]:
    page = [
        _whole("after", least=0, greatest=FARTHEST, default=0),
        _whole("most", least=1, greatest=MOST, default=100),
    ]
    listed = {
        "type": "object",
        "required": ["cases", "total"],
        "properties": {"cases": {"type": "array", "items": _WORDS}, "total": _COUNT},
    }
    return {
        "operationId": "list",
        "summary": "The ids of the cases that were judged, in the order of their verdicts",
        "parameters": page,
        "responses": {
            "200": {"description": "One page of the ids of judged cases.", "content": _json(listed)},
            **_problems(401, 421, 422),
        },
    }


def _whole(name: str, *, least: int, greatest: int, default: int) -> dict[str, Any]:
    bounds = {"type": "integer", "minimum": least, "maximum": greatest, "default": default}
    return {"name": name, "in": "query", "schema": bounds, "description": _PAGING[name]}


def _status() -> dict[str, Any]:
    state = {
        "type": "object",
        "required": ["rubric", "jury", "hearing", "waiting", "heard"],
        "properties": {
            "rubric": _WORDS, "jury": _WORDS, "hearing": _COUNT, "waiting": _COUNT, "heard": _COUNT,
        },
    }  # fmt: skip
    return {
        "operationId": "status",
        "summary": "What this server is doing now",
        "responses": {
            "200": {"description": "The server's state.", "content": _json(state)},
            **_problems(401, 421),
        },
    }


def _deliberation_response(words: str) -> dict[str, Any]:
    return {"description": words, "content": _json({"$ref": _REFS.format(model="Deliberation")})}


def _problems(*statuses: int) -> dict[str, Any]:
    shape = _json({"$ref": _REFS.format(model="Problem")})
    return {str(status): {"description": _PROBLEMS[status], "content": shape} for status in statuses}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _schemas(case: type[BaseModel]) -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    for model in (case, GraderRun, Outcome, Stop):
        schema = model.model_json_schema(mode="validation", ref_template=_REFS)
        schemas |= schema.pop("$defs", {})
        schemas[str(schema["title"])] = schema
    schemas["Problem"] = {
        "type": "object",
        "required": ["problem", "remedy"],
        "properties": {"problem": _WORDS, "remedy": _WORDS},
    }
    schemas["GraderAnswer"] = {
        "type": "object",
        "required": ["reward", "sub_rewards", "metadata", "model_grader_token_usage_per_model"],
        "properties": {
            "reward": {"type": ["number", "null"], "description": "The reward is null if the jury is hung."},
            "sub_rewards": {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
            "metadata": {"type": "object", "required": ["errors", "name", "type", "scores"]},
            "model_grader_token_usage_per_model": {"type": "object"},
        },
    }
    rows = {"type": "array", "items": {"type": "object"}}
    tokens = {"type": "object", "properties": dict.fromkeys(("prompt", "completion", "cached"), _COUNT)}
    schemas["Deliberation"] = {
        "description": "The same content as `venire show --json` prints. A hung attribute has the value null, never a number.",
        "type": "object",
        "required": [
            "case",
            "arm",
            "protocol",
            "stop",
            "verdict",
            "derived",
            "ballots",
            "abstentions",
            "usd",
        ],
        "properties": {
            "case": _WORDS,
            "arm": _WORDS,
            "protocol": _WORDS,
            "stop": {"$ref": _REFS.format(model="Stop")},
            **dict.fromkeys(("rounds", "turns", "steps", "calls"), _COUNT),
            "tokens": tokens,
            "usd": {
                "type": ["number", "null"],
                "description": "The cost in US dollars; null if the price of a model is not known.",
            },
            "seconds": {"type": "number"},
            "verdict": {"type": "object", "additionalProperties": {"$ref": _REFS.format(model="Outcome")}},
            "derived": {"type": "object", "additionalProperties": {"type": "number"}},
            "ballots": rows,
            "abstentions": rows,
            "ledgers": rows,
            "decisions": rows,
            "flags": {"type": "array", "items": _WORDS},
        },
    }
    return schemas
