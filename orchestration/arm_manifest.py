"""The manifest of an arm, with what its protocol adds to it: worked examples, files that its options name, prompts of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..agents.clients.adapters import adapter_hashes
from ..agents.prices import Price
from ..personas.jury import Jury
from ..rubrics.rubric import Rubric
from .protocols import protocol
from .record.manifest import manifest
from .worked_examples import ScoredCases, worked_examples


def arm_manifest(
    rubric: Rubric, jury: Jury, *, seed: int, scored: ScoredCases, prices: Mapping[str, Price]
) -> dict[str, Any]:
    """Everything that decides what the jury will ask; `scored` are the cases that may not be worked examples."""
    way = protocol(jury.protocol)
    made = manifest(
        rubric,
        jury,
        seed=seed,
        examples=worked_examples(jury.shots, rubric, scored),
        protocol_prompts=None if way.prompts is None else way.prompts.hash,
        prices=prices,
        adapters=adapter_hashes(jury, presided=way.orchestrator),
    )
    inputs = way.inputs(jury) if way.inputs is not None else ""
    return {**made, "inputs": inputs} if inputs else made
