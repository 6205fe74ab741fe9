"""Request bodies: a case as JSON, validated."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...rubrics.case import Case

Text = Annotated[str, Field(min_length=1, pattern=r"[^\s\x1c-\x1f]")]
"""Words, of which at least one character can be seen."""


class RequestError(Exception):
    """A request that is answered with an error: HTTP status, problem, remedy and headers."""

    def __init__(self, status: int, problem: str, remedy: str, **headers: str) -> None:
        super().__init__(problem)
        self.status, self.problem, self.remedy, self.headers = status, problem, remedy, headers


class CaseRequest(BaseModel):
    """A case to be judged. Only `output` is required; jurors see `reference` only if the rubric asks for it."""

    model_config = ConfigDict(extra="forbid", strict=True, title="Case")

    output: Text = Field(description="The text under judgement.")
    id: Annotated[str, Field(max_length=512)] | None = Field(
        None,
        pattern=r"^[A-Za-z0-9._:#-]+$",
        description="Under which it is kept; without one, a hash of the case's words.",
    )
    source: Annotated[str, Field()] | list[str] | None = Field(
        None, description="What the output was made from: a text, or a list of them."
    )
    reference: str | None = None
    question: str | None = None
    audience: str | None = None
    group: str | None = None
    system: str | None = Field(None, description="Who produced the output. Jurors never see it.")
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="Kept with the case, never shown to a juror."
    )

    def case(self) -> Case:
        """The case; without an id, the same words get the same one."""
        parts = {name: part for name, part in self.model_dump(exclude={"id"}).items() if part}
        words = self.model_dump_json(exclude={"id", "metadata"}).encode()
        return Case(id=self.id or f"case-{hashlib.sha256(words).hexdigest()[:16]}", **parts)


def read_case(body: bytes) -> Case:
    """The case in a request's body.

    Raises:
        RequestError: 400 if the body is not JSON, 422 if it is not a valid case.
    """
    try:
        return CaseRequest.model_validate_json(body).case()
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise RequestError(400, "the body is no JSON", "send a JSON object with the key output") from None
        where = ".".join(map(str, first["loc"])) or "the body"
        raise RequestError(
            422, f"{where}: {first['msg']}", "send a case as GET /openapi.json has it"
        ) from None
