"""Words that could be cut: a sentence said again, or sentences that say nothing."""

from __future__ import annotations

import random

from ..passages import passages
from .fault import Edit, Material

EMPTY = (
    "It should be noted that the above was taken into account.",
    "All of this is of importance and should be borne in mind by the reader.",
    "The above has been documented here for completeness.",
    "As has already been mentioned, the details are as given above.",
    "This note is intended to summarise the relevant information that is summarised here.",
    "Overall, the situation was considered as a whole.",
    "The information in this document is provided for information.",
    "As one would expect, matters took the course that they took.",
    "Thank you for taking the time to read this summary of the events summarised in it.",
    "In conclusion, it can be said that the foregoing concludes the account.",
)
"""Sentences that add length and no fact."""


def find_repetition(material: Material, rng: random.Random) -> Edit | None:
    text = material.text
    there = [p for p in passages(text) if len(p.text.split()) > 2 and p.text[-1] in ".!?"]
    if not there:
        return None
    share = rng.choice((0.1, 0.2, 0.4, 0.7, 1.0))
    pieces: list[str] = []
    while not pieces or (sum(map(len, pieces)) < share * len(text) and len(pieces) < 8):
        again = rng.choice(there).text
        piece = rng.choice((again, rng.choice(EMPTY), f"Again, {again[0].lower()}{again[1:]}"))
        if piece not in pieces:
            pieces.append(piece)
        elif len(pieces) > 5:
            break
    place = rng.choice(there).end if len(pieces) == 1 else there[-1].end
    added = sum(map(len, pieces)) / (len(text) + sum(map(len, pieces)))
    points = 1 if len(pieces) == 1 and added < 0.34 else 2 if added < 0.34 else 3 if added < 0.5 else 4
    return Edit(place, place, "".join(f" {piece}" for piece in pieces), points)
