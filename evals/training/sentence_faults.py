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
    sentences = passages(text)
    runs = _runs(sentences)
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
    hit = rng.choice(items)
    return Edit(hit.start(), hit.end(), "", points_for(text, text[: hit.start()] + text[hit.end() :]))


def points_for(whole: str, remainder: str) -> int:
    """How grave it is that only `remainder` is left of `whole`: by the share of its content words that is gone."""
    all_stems, kept_stems = stems(whole), set(stems(remainder))
    lost_share = sum(word not in kept_stems for word in all_stems) / max(1, len(all_stems))
    return 1 if lost_share < 0.12 else 2 if lost_share < 0.3 else 3 if lost_share < 0.6 else 4


def _runs(sentences: list[Passage]) -> list[list[Passage]]:
    """Stretches of sentences, up to all but one of them."""
    longest = max(1, len(sentences) - 1)
    return (
        [sentences[i : i + n] for n in range(1, longest + 1) for i in range(len(sentences) - n + 1)]
        if len(sentences) > 1
        else []
    )


def _is_lost(material: Material, run: list[Passage]) -> bool:
    lost_text = " ".join(p.text for p in run)
    remainder = material.text[: run[0].start] + material.text[run[-1].end :]
    words = set(stems(lost_text))
    return (
        len(words) > 1
        and len(stems(remainder)) >= _LEAST_LEFT
        and material.truth.support(lost_text) >= _SUPPORT
        and len(words & set(stems(remainder))) / len(words) < 0.7
    )


_FEWEST = 4
_MIXED = 6


def find_order(material: Material, rng: random.Random) -> Edit | None:
    sentences = [p for p in passages(material.text) if p.text[-1] in ".!?"]
    if len(sentences) < _FEWEST:
        return None
    texts = [p.text for p in sentences]
    mixed = list(texts)
    moves = rng.choice((1, 2, len(texts)))
    if moves == len(texts):
        mixed = mixed[::-1] if rng.random() < 0.5 else mixed[1::2] + mixed[::2]
    else:
        for _ in range(moves):
            passage = mixed.pop(rng.randrange(len(mixed)))
            at = [i for i in range(len(mixed) + 1) if abs(i - texts.index(passage)) >= len(texts) // 2]
            mixed.insert(rng.choice(at), passage)
    if mixed == texts:
        return None
    misplaced = sum(old != new for old, new in zip(texts, mixed, strict=True))
    points = 4 if moves == len(texts) and len(texts) >= _MIXED else 3 if moves == len(texts) else moves
    text = material.text
    gaps = [text[a.end : b.start] for a, b in pairwise(sentences)]
    rewritten = "".join(piece + gap for piece, gap in zip(mixed, [*gaps, ""], strict=True))
    return Edit(sentences[0].start, sentences[-1].end, rewritten, points) if misplaced > 1 else None


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
    sentences = [p for p in passages(text) if len(p.text.split()) > 2 and p.text[-1] in ".!?"]
    if not sentences:
        return None
    share = rng.choice((0.1, 0.2, 0.4, 0.7, 1.0))
    pieces: list[str] = []
    while not pieces or (sum(map(len, pieces)) < share * len(text) and len(pieces) < 8):
        repeated = rng.choice(sentences).text
        piece = rng.choice((repeated, rng.choice(EMPTY), f"Again, {repeated[0].lower()}{repeated[1:]}"))
        if piece not in pieces:
            pieces.append(piece)
        elif len(pieces) > 5:
            break
    place = rng.choice(sentences).end if len(pieces) == 1 else sentences[-1].end
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
    sentences = passages(material.text)
    known_words = material.truth.vocabulary | frozenset(stems(material.text))
    candidates = [*rng.sample(material.foreign, min(12, len(material.foreign))), *rng.sample(INVENTED, 3)]
    for sentence in candidates:
        words = frozenset(stems(sentence))
        if len(words) < _SHORTEST - 1 or len(sentence.split()) < _SHORTEST or len(sentence) > 160:
            continue
        if len(words & known_words) / len(words) > _MOST_SUPPORT:
            continue
        addition = sentence if sentence[-1] in ".!?" else f"{sentence.rstrip(' ;,')}."
        addition = addition[0].upper() + addition[1:]
        breaks = [p.end for p in sentences if material.text[p.end - 1] in ".!?"] or [len(material.text)]
        place = rng.choice(breaks)
        lead = " " if re.search(r"[.!?]\s*\Z", material.text[:place]) else ". "
        return Edit(place, place, lead + addition, 3)
    return None
