"""Faults of sentences: one left out, told out of order, said again or made up; each finds one place and says what to write there."""

from __future__ import annotations

import random
import re
from itertools import pairwise

from ...agents.lenses.words import stems
from .passages import Edit, Material, Passage, passages

_SUPPORT = 0.3
_ITEM = re.compile(r",\s+(?:and\s+)?[^,.;]{3,60}(?=[,.;]|\Z)")
_LEAST_LEFT = 3
_TRIED = 12


def find_omission(material: Material, rng: random.Random) -> Edit | None:
    text = material.text
    there = passages(text)
    runs = _runs(there)
    rng.shuffle(runs)
    run = next((run for run in runs[:_TRIED] if _is_lost(material, run)), None)
    if run is not None:
        start, end = run[0].start, run[-1].end
        # The white space after what goes, or before it at the end of the text.
        end += len(text[end:]) - len(text[end:].lstrip())
        if end == len(text):
            start = len(text[:start].rstrip())
        return Edit(start, end, "", points_for(text, text[:start] + text[end:]))
    items = [
        match
        for match in _ITEM.finditer(text)
        if stems(match.group())
        and material.truth.support(match.group()) >= _SUPPORT
        and not set(stems(match.group())) <= set(stems(text[: match.start()] + text[match.end() :]))
    ]
    if not items:
        return None
    item = rng.choice(items)
    return Edit(item.start(), item.end(), "", points_for(text, text[: item.start()] + text[item.end() :]))


def points_for(whole: str, remainder: str) -> int:
    """How grave it is that only `left` remains of `whole`: by the share of its content words that is gone."""
    before, after = stems(whole), set(stems(remainder))
    gone = sum(word not in after for word in before) / max(1, len(before))
    return 1 if gone < 0.12 else 2 if gone < 0.3 else 3 if gone < 0.6 else 4


def _runs(there: list[Passage]) -> list[list[Passage]]:
    """Stretches of sentences, up to all but one of them."""
    longest = max(1, len(there) - 1)
    return (
        [there[i : i + n] for n in range(1, longest + 1) for i in range(len(there) - n + 1)]
        if len(there) > 1
        else []
    )


def _is_lost(material: Material, run: list[Passage]) -> bool:
    gone = " ".join(p.text for p in run)
    remainder = material.text[: run[0].start] + material.text[run[-1].end :]
    words = set(stems(gone))
    return (
        len(words) > 1
        and len(stems(remainder)) >= _LEAST_LEFT
        and material.truth.support(gone) >= _SUPPORT
        and len(words & set(stems(remainder))) / len(words) < 0.7
    )


_FEWEST = 4
_MIXED = 6


def find_order(material: Material, rng: random.Random) -> Edit | None:
    there = [p for p in passages(material.text) if p.text[-1] in ".!?"]
    if len(there) < _FEWEST:
        return None
    before = [p.text for p in there]
    after = list(before)
    moves = rng.choice((1, 2, len(before)))
    if moves == len(before):
        after = after[::-1] if rng.random() < 0.5 else after[1::2] + after[::2]
    else:
        for _ in range(moves):
            moved = after.pop(rng.randrange(len(after)))
            far = [i for i in range(len(after) + 1) if abs(i - before.index(moved)) >= len(before) // 2]
            after.insert(rng.choice(far), moved)
    if after == before:
        return None
    misplaced = sum(old != new for old, new in zip(before, after, strict=True))
    points = 4 if moves == len(before) and len(before) >= _MIXED else 3 if moves == len(before) else moves
    text = material.text
    gaps = [text[a.end : b.start] for a, b in pairwise(there)]
    written = "".join(piece + gap for piece, gap in zip(after, [*gaps, ""], strict=True))
    return Edit(there[0].start, there[-1].end, written, points) if misplaced > 1 else None


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


INVENTED = (
    "She was admitted to hospital for pneumonia last winter.",
    "He had a stent placed in a coronary artery three years ago.",
    "There is a family history of colon cancer in a maternal uncle.",
    "An allergy to shellfish was recorded.",
    "The patient fainted twice in the waiting room.",
    "Blood cultures grew Staphylococcus aureus.",
    "Warfarin was started at 5 mg daily.",
    "A biopsy of the thyroid is planned for next month.",
    "The patient lost 12 kg over the summer.",
    "An X-ray showed a small fracture of the wrist.",
    "Kidney stones were treated with lithotripsy in the past.",
    "He was referred to a sleep clinic for suspected apnoea.",
    "She takes oral contraceptives.",
    "The platelet count fell to 60 during the stay.",
    "There was a seizure in childhood.",
    "An episode of atrial fibrillation was treated with amiodarone.",
    "A urinary infection was treated with nitrofurantoin.",
    "He has worn a hearing aid since the age of 40.",
    "Gabapentin was stopped because of drowsiness.",
    "The next visit is planned with a rheumatologist.",
    "She travelled to Brazil in the spring.",
    "He was transfused with two units of red cells.",
)
"""For cases that stand alone: our own words, of no patient."""
_MOST_SUPPORT = 0.34
_SHORTEST = 4


def find_fabrication(material: Material, rng: random.Random) -> Edit | None:
    there = passages(material.text)
    known_words = material.truth.vocabulary | frozenset(stems(material.text))
    candidates = [*rng.sample(material.foreign, min(12, len(material.foreign))), *rng.sample(INVENTED, 3)]
    for sentence in candidates:
        words = frozenset(stems(sentence))
        if len(words) < _SHORTEST - 1 or len(sentence.split()) < _SHORTEST or len(sentence) > 160:
            continue
        if len(words & known_words) / len(words) > _MOST_SUPPORT:
            continue
        written = sentence if sentence[-1] in ".!?" else f"{sentence.rstrip(' ;,')}."
        written = written[0].upper() + written[1:]
        breaks = [p.end for p in there if material.text[p.end - 1] in ".!?"] or [len(material.text)]
        place = rng.choice(breaks)
        lead = " " if re.search(r"[.!?]\s*\Z", material.text[:place]) else ". "
        return Edit(place, place, lead + written, 3)
    return None
