"""A sentence that nothing in the source bears out, put between those that are there."""

from __future__ import annotations

import random
import re

from ....agents.lenses.words import stems
from ..passages import passages
from .fault import Edit, Material

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
    known = material.truth.vocabulary | frozenset(stems(material.text))
    candidates = [*rng.sample(material.foreign, min(12, len(material.foreign))), *rng.sample(INVENTED, 3)]
    for sentence in candidates:
        words = frozenset(stems(sentence))
        if len(words) < _SHORTEST - 1 or len(sentence.split()) < _SHORTEST or len(sentence) > 160:
            continue
        if len(words & known) / len(words) > _MOST_SUPPORT:
            continue
        written = sentence if sentence[-1] in ".!?" else f"{sentence.rstrip(' ;,')}."
        written = written[0].upper() + written[1:]
        breaks = [p.end for p in there if material.text[p.end - 1] in ".!?"] or [len(material.text)]
        place = rng.choice(breaks)
        lead = " " if re.search(r"[.!?]\s*\Z", material.text[:place]) else ". "
        return Edit(place, place, lead + written, 3)
    return None
