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
    if result["search"]:
        lines += [
            "The settings are the best of those tried, SFT by its loss on the dev split and DPO by its margin there; so the figures of the chosen",
            "ones flatter them.",
            "",
            "| stage | rank | alpha | rate | beta | dev loss | dev margin | chosen |",
            "|---|---|---|---|---|---|---|---|",
            *map(_trial_row, result["search"]),
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


def _trial_row(trial: Mapping[str, Any]) -> str:
    stage, settings = list(trial["settings"].items())[-1]
    margin = trial["dev"].get("margin")
    cells = [
        stage, settings["rank"], f"{settings['alpha']:g}", f"{settings['rate']:.3g}", f"{settings['beta']:.3g}" if "beta" in settings else "",
        f"{trial['dev']['loss']:.4f}", "" if margin is None else f"{margin:.4f}", "yes" if trial["chosen"] else "",
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _words(seen: Mapping[str, Any]) -> str:
    first, last = (
        ", ".join(f"{k} {seen[end][k]:.4f}" for k in ("loss", "margin") if k in seen[end])
        for end in ("first", "last")
    )
    return f"First step: {first}; last: {last}."
