"""A term that the source uses, swapped for another of its kind that the source does not use."""

from __future__ import annotations

import random
import re

from ....agents.lenses.words import stems
from .fault import Edit, Material

_KINDS = """
left|right
upper|lower
mother|father|brother|sister|grandmother|grandfather|aunt|uncle
son|daughter|nephew|niece
wife|husband|boyfriend|girlfriend|roommate
male|female
man|woman
boy|girl
increased|decreased
increase|decrease
higher|lower
mild|moderate|severe
acute|chronic
daily|weekly|monthly
morning|evening|afternoon|night
once|twice
Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday
January|February|March|April|June|July|August|September|October|November|December
single|married|divorced|widowed
constant|intermittent
sharp|dull|burning|throbbing
anterior|posterior
start|stop
started|stopped
cough|wheeze|dizziness|vomiting|diarrhea|constipation|headache|nausea|fever|chills|rash|itching|fatigue|numbness|tingling|palpitations|insomnia
chest|back|neck|abdomen|head|hip
arm|leg|hand|foot|knee|shoulder|elbow|wrist|ankle
eye|ear|nose|throat
finger|toe|thumb
heart|lung|kidney|liver|bladder|stomach|brain|spine
hypertension|diabetes|asthma|hypothyroidism|arthritis|depression|anxiety|cancer|stroke|epilepsy|migraine|gout|anemia|pneumonia|osteoporosis|COPD|angina|psoriasis
breast|prostate|colon|lung|ovarian
aspirin|ibuprofen|Tylenol|Advil|naproxen|morphine|codeine|Vicodin
penicillin|amoxicillin|sulfa|codeine|latex|erythromycin|doxycycline
metformin|insulin|glipizide
lisinopril|atenolol|metoprolol|amlodipine|ramipril|bisoprolol|losartan
warfarin|Coumadin|heparin|apixaban|clopidogrel
Lasix|furosemide|spironolactone|bumetanide
Zoloft|Prozac|Lexapro|Paxil|Celexa|sertraline|citalopram
Synthroid|prednisone|Lipitor|simvastatin|Nexium|Prilosec|albuterol|omeprazole|gabapentin
tonsillectomy|appendectomy|hysterectomy|cholecystectomy|vasectomy|mastectomy
appendix|gallbladder|tonsils|uterus|thyroid|spleen
MRI|CT|ultrasound|X-ray|mammogram|EKG|echocardiogram
blood|urine|stool|sputum
alcohol|tobacco|marijuana|cocaine|caffeine
smoking|drinking
cigarettes|cigars
beer|wine|whiskey
teacher|nurse|engineer|accountant|mechanic|truck driver|secretary|carpenter|lawyer|student|farmer
cardiology|neurology|orthopedics|psychiatry|oncology|urology|dermatology
cardiologist|neurologist|psychiatrist|urologist|dermatologist|surgeon|oncologist
sitting|standing|walking|lying
dogs|cats|birds
hot|cold
swelling|bleeding|bruising|stiffness
fracture|sprain|laceration|burn|dislocation
tablet|capsule|injection|inhaler|cream
oral|intravenous
weakness|numbness|pain
hours|days|weeks|months|years
"""  # fmt: skip
_GROUPS = [line.split("|") for line in _KINDS.strip().splitlines()]
_GROUP_OF = {term.lower(): group for group in _GROUPS for term in group}
TERM = re.compile(
    r"\b(?:"
    + "|".join(sorted(map(re.escape, _GROUP_OF), key=len, reverse=True))
    + r")\b(?! (?:pressure|rate|sugar|count))",
    re.IGNORECASE,
)
_SMALL = {"morning", "evening", "afternoon", "night", "dogs", "cats", "birds", "hot", "cold"}


def find_term(material: Material, rng: random.Random) -> Edit | None:
    places = list(TERM.finditer(material.text))
    rng.shuffle(places)
    known = material.truth.vocabulary
    for place in places:
        before = place.group()
        if not set(stems(before)) <= known:
            continue
        others = [term for term in terms_like(before) if not set(stems(term)) & known]
        if others:
            after = rng.choice(others)
            if before[0].isupper():
                after = after[0].upper() + after[1:]
            return Edit(place.start(), place.end(), after, 2 if before.lower() in _SMALL else 3)
    return None


def terms_like(term: str) -> list[str]:
    """The other terms of its kind."""
    return [other for other in _GROUP_OF[term.lower()] if other.lower() != term.lower()]
