"""`person/NAME`: a person holds the seat. What she is asked goes to the desk beside the record, and the deliberation is parked."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...personas.jury import ModelSettings
from ...rubrics.ballot import ballot_schema, ballot_shape, votes_from
from ...rubrics.errors import VenireError
from ...rubrics.scale import NOT_APPLICABLE
from ..cost import FREE, Price
from ..desk import Answers, Desk, DeskTask, HeardVote, Parked, TaskSheet, asked_now
from ..model import Context, ModelFailure, Reply, Request, Subject, digest
from ..model_client import ClientFactory, ModelClient

_UNASKED = "This question was not asked, because its condition is not met."


def connect(settings: ModelSettings) -> PersonClient:
    name = (settings.model or "").partition("/")[2]
    if not name:
        raise VenireError("the model person/ lacks the name of a person", remedy="write model: person/NAME")
    return PersonClient(name, settings)


class PersonClient(ModelClient):
    """A person, asked by her desk. Her answer is there, or she is waited for, or her time is up."""

    context_window = None

    def __init__(self, name: str, settings: ModelSettings) -> None:
        self.name = name
        self.folder: Path | None = None
        """The run's directory, with the people's desk; None where nobody can be asked."""
        self._settings = settings
        self._desk: Desk | None = None

    async def complete(self, request: Request) -> Reply:
        """What she answered.

        Raises:
            Parked: She has not answered yet.
            ModelFailure: `no_answer`: she did not within the seat's `wait`.
        """
        subject = request.subject
        if subject is None or request.schema is None or subject.kind not in ("ballot", "ledger", "decision"):
            raise ModelFailure(
                "refused", f"{self.name} is a person, who can only fill in ballots, disputes and decisions"
            )
        desk, properties = self._open_desk(), request.schema["properties"]
        seconds = 0.0
        if subject.kind == "ballot" and subject.context.heard and not subject.context.own:
            # Under this protocol she hears others before her first ballot: she votes blind all the same, for herself.
            alone = replace(subject, round=1, context=Context(first=subject.context.first))
            shape = ballot_shape(subject.rubric, subject.asked)
            form = ballot_schema(subject.rubric, subject.asked)["properties"]
            task = self._sent_task(desk, alone, form, request.repeat)
            blind = shape.model_validate(_ballot_answer(alone, form, desk.answers(task)))
            own = votes_from(blind, subject.exhibits)
            subject, seconds = replace(subject, context=replace(subject.context, own=own)), desk.seconds(task)
        task = self._sent_task(desk, subject, properties, request.repeat)
        usd = (self._settings.usd_per_hour or 0.0) * (seconds + desk.seconds(task)) / 3600
        return Reply(text=json.dumps(_ballot_answer(subject, properties, desk.answers(task))), usd=usd)

    def _sent_task(self, desk: Desk, subject: Subject, properties: dict[str, Any], repeat: int) -> DeskTask:
        """The task of what she is asked, which she has sent."""
        address = _address(subject, repeat)
        task = desk.task_at(self.name, address)
        if task is None:
            sheet = _sheet(desk, subject, properties)
            if desk.has_lapsed(self.name, sheet):
                raise self._no_answer()
            desk.add_tasks(self.name, [(address, subject.case, desk.keep(sheet.model_dump_json()))])
            raise Parked(self.name)
        if task.done_at is None:
            wait = self._settings.wait_seconds
            if task.withdrawn_at is None and (wait is None or time.time() < desk.asked_at(task) + wait):
                raise Parked(self.name)
            desk.withdraw(task)
            raise self._no_answer()
        return task

    def _no_answer(self) -> ModelFailure:
        return ModelFailure("no_answer", f"{self.name} gave no answer within {self._settings.wait}")

    async def close(self) -> None:
        if self._desk is not None:
            self._desk.close()

    def list_price(self, model: str) -> Price:
        return FREE

    def _open_desk(self) -> Desk:
        if self.folder is None:
            raise VenireError(
                f"{self.name} is a person on the jury, but this kind of run cannot ask people",
                remedy="run the cases with venire run -o DIRECTORY",
            )
        if self._desk is None:
            self._desk = Desk(self.folder)
        return self._desk


def _address(subject: Subject, repeat: int) -> str:
    """Where her answer is kept: by the case, what is asked, the round and the votes that she heard, not by the words of a prompt."""
    context = subject.context
    heard = sorted((label, vote.attribute, str(vote.value)) for label, vote in context.heard)
    own = sorted((vote.attribute, str(vote.value)) for vote in context.own)
    texts = [(exhibit.name, exhibit.text) for exhibit in subject.exhibits]
    parts = [subject.case, texts, subject.kind, subject.asked, subject.round, repeat, context.first, own, heard]  # fmt: skip
    return digest(json.dumps(parts))


def _sheet(desk: Desk, subject: Subject, properties: dict[str, Any]) -> TaskSheet:
    context, exhibits = subject.context, list(subject.exhibits)
    if context.first == "B":
        exhibits[-2:] = reversed(exhibits[-2:])
    return TaskSheet(
        case=subject.case,
        rubric=desk.keep(subject.rubric.model_dump_json()),
        exhibits=tuple(exhibits),
        asked=subject.asked,
        parts={name: properties[name]["properties"] for name in subject.asked},
        notes=context.notes,
        seat=subject.seat,
        kind=subject.kind,
        round=subject.round,
        own=context.own,
        heard=tuple(HeardVote(label=label, vote=vote) for label, vote in context.heard),
    )


def _ballot_answer(subject: Subject, properties: dict[str, Any], answers: Answers) -> dict[str, Any]:
    """Her answers in the form of a model's; what a condition kept from being asked does not apply."""
    asked = asked_now(subject.rubric, subject.asked, answers)
    filled: dict[str, Any] = {}
    for name in subject.asked:
        parts = properties[name]["properties"]
        form = answers.get(name, {}) if name in asked else {"score": NOT_APPLICABLE, "rationale": _UNASKED}
        filled[name] = {
            part: form.get(part, [] if schema.get("type") == "array" else "")
            for part, schema in parts.items()
        }
    return filled


client_factory = ClientFactory(connect=connect, per_model=True)
