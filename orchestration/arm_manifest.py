"""The manifest of an arm, with what its protocol adds to it: worked examples, and prompts of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..agents.prices import Price
from ..personas.jury import Jury
from ..rubrics.rubric import Rubric
from .protocols import protocol
from .protocols.examples import worked_examples
from .record.manifest import manifest


def arm_manifest(
    rubric: Rubric, jury: Jury, *, seed: int, scored: frozenset[str], prices: Mapping[str, Price]
) -> dict[str, Any]:
    """Everything that decides what the jury will ask; `scored` are the cases that may not be worked examples."""
    prompts = protocol(jury.protocol).prompts
    return manifest(
        rubric,
        jury,
        seed=seed,
        examples=worked_examples(jury.shots, rubric, scored),
        protocol_prompts=None if prompts is None else prompts.hash,
        prices=prices,
    )
