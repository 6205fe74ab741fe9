"""The rubrics that examples ask by."""

from __future__ import annotations

import random
from typing import Any

from venire import Rubric
from venire.rubrics.rubric import load_rubric

WORDINGS = {
    "accurate": (
        ("accurate", "Is every statement in the output supported by the source?"), ("accuracy", "How accurate is the text, held against the source?"),
        ("faithful", "Does the text say only what the source bears out?"), ("factual", "Are the facts, numbers and findings right?"),
        ("correctness", "Does every statement agree with the source in fact and number?"), ("hallucination_free", "Is the text free of invented statements?"),
    ),
    "thorough": (
        ("thorough", "Does the output have everything from the source that matters?"), ("completeness", "Is anything important missing from the text?"),
        ("coverage", "How much of what matters in the source is included?"), ("complete", "Does the text include all that the reader needs?"),
    ),
    "succinct": (("succinct", "How much could be cut without loss?"), ("concise", "Is the text free of repetition and filler?"), ("brevity", "Is it as brief as it can be?")),
    "organized": (("organized", "Does the order help the reader?"), ("structure", "Is the text well ordered?"), ("organization", "Is every item in its place?")),
    "stigmatizing": (("stigmatizing", "Does any wording blame, label or belittle the patient?"), ("stigma", "Is there blaming or labelling language?")),
}  # fmt: skip
SCALES: tuple[dict[str, Any], ...] = (
    {"level": "ordinal", "anchors": {1: "Not at all", 2: "Slightly", 3: "Partly", 4: "Mostly", 5: "Completely"}},
    {"level": "ordinal", "anchors": {1: "Very poor", 2: "Poor", 3: "Fair", 4: "Good", 5: "Very good"}},
    {"level": "ordinal", "anchors": {1: "Not at all", 2: "Slightly", 3: "Somewhat", 4: "Mostly", 5: "Completely"}},
    {"level": "ordinal", "anchors": {1: "Strongly disagree", 2: "Disagree", 3: "Neither", 4: "Agree", 5: "Strongly agree"}},
    {"level": "ordinal", "anchors": {0: "Bad", 1: "Middling", 2: "Good"}},
    {"level": "ordinal", "anchors": {1: "Poor", 2: "Fair", 3: "Good", 4: "Excellent"}},
    {"level": "binary", "anchors": {0: "No", 1: "Yes"}},
)  # fmt: skip
PRESENT = {"level": "binary", "anchors": {0: "Absent", 1: "Present"}}
CLINICAL, PDSQI = load_rubric("clinical-note"), load_rubric("pdsqi-9")


def drawn_rubric(rng: random.Random) -> Rubric:
    """One of the shipped rubrics, or questions of the same kind in other words and on other scales."""
    draw = rng.random()
    if draw < 0.3:
        return CLINICAL
    if draw < 0.34:
        return PDSQI
    aspects = [a for a in WORDINGS if rng.random() < {"accurate": 0.9, "thorough": 0.8}.get(a, 0.25)] or [
        "accurate"
    ]
    attributes = []
    scales: dict[str, dict[str, Any]] = {"likert": rng.choice(SCALES), "present": PRESENT}
    for aspect in aspects:
        name, question = rng.choice(WORDINGS[aspect])
        turned = {"better": "low"} if aspect == "stigmatizing" else {}
        attributes.append(
            {"name": name, "question": question, "scale": "present" if turned else "likert", **turned}
        )
    named = rng.choice(("live", "notes", "summaries", "quality"))
    words = rng.choice(
        (
            "Questions about a short summary.",
            "Judges a summary against its source.",
            "Quality of a text made from notes.",
        )
    )
    return Rubric.model_validate(
        {"name": named, "version": 1, "description": words, "scales": scales, "attributes": attributes}
    )
