"""The model card of a judge trained here: what it was made from, how, and what was seen; what is not known is left to its owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def card_of(result: Mapping[str, Any]) -> str:
    """The card in Markdown."""
    counts = result["examples"]
    lines = [
        f"# {result['name']}",
        "",
        f"Base: `{result['base']['name']}`, SHA-256 of its weights `{result['base']['sha256']}`. Method: {result['method']}. Seed: {result['seed']}.",
        "",
        "## Data",
        "",
        f"{counts['sft']} ballots of {len(counts['reviewers'])} reviewers ({counts['sft_upsampled']} with reviewers up-sampled), {counts['dpo']} pairs; "
        f"{result['dev_cases']} cases were the dev split, by which training was stopped.",
        *(f"- left out: {count} {reason}" for reason, count in counts["dropped"].items()),
        "",
        "## Training",
        "",
    ]
    for stage, seen in result["stages"].items():
        settings = ", ".join(
            f"{key} {value}" for key, value in result["settings"][stage].items() if value is not None
        )
        lines += [
            f"{stage.upper()}: {settings}.",
            "",
            f"{seen['steps']} steps; {seen['ended']}. {_words(seen)}",
            "",
        ]
    lines += [
        f"{result['seconds']:.0f} seconds on {result['device']} in the last sitting.",
        "",
        "## To be filled in by its owner",
        "",
        "Licence of the data and of the model; energy or money; what it may be used for; how it agrees with people on cases that are neither in the",
        "training nor in the dev split (`venire compare`).",
        "",
    ]
    return "\n".join(lines)


def _words(seen: Mapping[str, Any]) -> str:
    first, last = (
        ", ".join(f"{k} {seen[end][k]:.4f}" for k in ("loss", "margin") if k in seen[end])
        for end in ("first", "last")
    )
    return f"First step: {first}; last: {last}."
