"""One question to the model that aligns, outside a run: its record is opened, used and closed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ...agents.preflight import Preflight
from ...orchestration.bench import Court
from ...orchestration.record import Store
from ...orchestration.record.opening import run_exists
from ...personas.jury import ModelSettings
from ...rubrics.errors import ModelUnreachable
from .alignment import Alignment
from .model_aligner import model_alignment


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
