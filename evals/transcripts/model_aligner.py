"""A model as the aligner: one seat, asked once through the gateway, so that its answer is recorded, cached and repaired as any other."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from ...agents.budget import LimitReached, Meter
from ...agents.gateway import FillFailed, ModelGateway, Prompt
from ...agents.prompting import Prompts, fence, form_of
from ...agents.providers import Preflight
from ...orchestration.bench import Court
from ...orchestration.record import Store
from ...orchestration.record.store import run_exists
from ...personas.jury import ModelSettings
from ...personas.options import Limits
from ...rubrics.ballot import STRICT
from ...rubrics.errors import ModelUnreachable
from .alignment import AlignedGroup, AlignerAbstention, Alignment
from .talk import Utterance

PROMPTS = Prompts(Path(__file__).parent / "prompts")


class _GroupAnswer(BaseModel):
    model_config = STRICT

    said: list[int]
    heard: list[int]


class AlignmentAnswer(BaseModel):
    """The form that an aligner fills in."""

    model_config = STRICT

    groups: list[_GroupAnswer]


async def model_alignment(alignment: Alignment, settings: ModelSettings, court: Court) -> Alignment:
    """The alignment with the groups that the model gives; an abstention where it gives none that can be used.

    An answer with a place that does not exist or appears twice, or out of order, is sent back once.
    """
    name = settings.model or "local"
    gateway = ModelGateway(
        court.providers.get(settings),
        settings,
        calls=court.calls,
        meter=Meter(Limits(), court.budget),
        rng=court.rng,
    )
    try:
        reply = await gateway.fill(
            _prompt(alignment), AlignmentAnswer, check=lambda answer: _problem(answer, alignment)
        )
    except FillFailed as failed:
        abstention = AlignerAbstention(reason=failed.failure.reason, detail=failed.failure.detail)
    except LimitReached as reached:
        abstention = AlignerAbstention(reason="limit", detail=f"{reached.limit} is reached")
    except ModelUnreachable as lost:
        abstention = AlignerAbstention(reason="unavailable", detail=lost.problem)
    else:
        groups = tuple(AlignedGroup(said=tuple(g.said), heard=tuple(g.heard)) for g in reply.value.groups)
        return alignment.model_copy(update={"groups": groups, "aligner": name})
    return alignment.model_copy(update={"groups": (), "aligner": name, "abstention": abstention})


def _prompt(alignment: Alignment) -> Prompt:
    said, heard = _numbered_lines(alignment.said), _numbered_lines(alignment.heard)
    code = hashlib.sha256(f"{said}\0{heard}".encode()).hexdigest()[:8]
    texts = "\n\n".join((fence("transcript", "said", said, code), fence("transcript", "heard", heard, code)))
    task = PROMPTS.words("task", form=form_of(AlignmentAnswer))
    return Prompt(PROMPTS.words("align"), texts, f"\n\n{task}", nonce=code)


def _numbered_lines(utterances: Sequence[Utterance]) -> str:
    lines = []
    for place, utterance in enumerate(utterances):
        when = f" [{utterance.start:.1f} s]" if utterance.start is not None else ""
        lines.append(f"{place}{when}: {' '.join(utterance.text.split())}")
    return "\n".join(lines)


def _problem(answer: AlignmentAnswer, alignment: Alignment) -> str | None:
    """What is wrong with an answer; None for one that can be used."""
    for side, count in (("said", len(alignment.said)), ("heard", len(alignment.heard))):
        last_place = -1
        for group in answer.groups:
            places: list[int] = getattr(group, side)
            if not places:
                return f"a group without a number under {side!r}"
            for earlier, place in zip([None, *places[:-1]], places, strict=True):
                if not 0 <= place < count:
                    return f"{side} has no number {place}: they run from 0 to {count - 1}"
                if place <= last_place:
                    return f"{side} {place} appears twice, or out of order"
                if earlier is not None and place != earlier + 1:
                    return f"{side} {earlier} and {place} are in one group, but not consecutive"
                last_place = place
    return None


def ask_model(alignment: Alignment, model: str, base_url: str | None, record: Path | None) -> Alignment:
    """`model_alignment` by a model string; with `record`, its calls are kept there and answered from there.

    Raises:
        ModelUnreachable: The model cannot be reached, and there is no record yet that may hold its answer.
    """
    settings = ModelSettings(model=model, base_url=base_url, temperature=0)

    async def ask() -> Alignment:
        try:
            await Preflight().check([settings])
        except ModelUnreachable:
            if record is None or not run_exists(record):
                raise
        store = Store.create(record) if record else None
        court = Court(calls=store)
        try:
            return await model_alignment(alignment, settings, court)
        finally:
            await court.close()
            if store is not None:
                await store.close()

    return asyncio.run(ask())
