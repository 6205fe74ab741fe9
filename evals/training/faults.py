"""Faults of words (a number, a negation or a term changed, wording that blames) and of sentences (one left out, told out of order, said again or made up).

Each finds one place in a text and says what to write there.
"""

from __future__ import annotations

import random
import re
from itertools import pairwise

from ...agents.lenses.words import stems
from .passages import Edit, Material, Passage, numbers_in, passages

_FIGURE = re.compile(
    r"(?<![\w.,/-])\d+(?:\.\d+)?(?![\w/]|[.,]\d)|(?<![\w.,/])\d+(?=-(?:year|month|week|day|pound|mg|hour)s?\b)"
)
_SPELT = re.compile(
    r"\b(two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen)(?=[ -](?:year|month|week|day|hour|minute|time|"
    r"tablet|puff|pack|children|sons|daughters|brothers|sisters|episode|night|cigarette|beer|drink|cycle|dose)s?\b)",
    re.IGNORECASE,
)
_SPELLING = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "fourteen")
_GRAVE = re.compile(r"\s?(?:mg|mcg|micrograms?|ml|units?|g|times|tablets?|puffs?|mmol|%|kg|L)\b")
_YEAR = re.compile(r"(?:19|20)\d\d")


def find_number(material: Material, rng: random.Random) -> Edit | None:
    text, truth = material.text, material.truth
    places = [m for pattern in (_FIGURE, _SPELT) for m in pattern.finditer(text)]
    rng.shuffle(places)
    numbers_used = truth.numbers | numbers_in(text)
    for place in places:
        if not numbers_in(place.group()) <= truth.numbers:
            continue
        replacement = other_number(place.group(), numbers_used, rng)
        if replacement is not None:
            grave = _GRAVE.match(text, place.end()) is not None
            return Edit(place.start(), place.end(), replacement, 3 if grave else 2)
    return None


def other_number(before: str, numbers_used: frozenset[str], rng: random.Random) -> str | None:
    """A number unlike `before` and those taken, in its form; None where there is none."""
    if before.lower() in _SPELLING:
        words = [word for word in _SPELLING if not numbers_in(word) & numbers_used]
        number_word = rng.choice(words) if words else None
        return number_word.capitalize() if number_word and before[0].isupper() else number_word
    decimals = len(before.partition(".")[2])
    value = float(before)
    step = 10.0**-decimals
    if _YEAR.fullmatch(before):
        choices = [value + years for years in (-9, -6, -4, -3, -2, 2, 3, 4, 6)]
    else:
        neighbours = [value + step * k for k in (-23, -17, -11, -7, -4, -3, -2, 2, 3, 4, 6, 9, 12, 18, 26)]
        choices = [*neighbours, value * 2, value * 3, value * 10, value / 2, value * 1.5]
    numerals = [
        f"{choice:.{decimals}f}" for choice in choices if choice > 0 and abs(choice - value) > value * 0.08
    ]
    free = [
        figure
        for figure in numerals
        if figure != before and not numbers_in(figure) & numbers_used and float(figure) > 0
    ]
    return rng.choice(free) if free else None


_NEGATIONS = (
    (r"\b(denies|denied)(?: having| any)?\b", {"denies": "reports", "denied": "reported"}),
    (r"\b(has|had|have|with|shows|showed|took|takes|takes|is|are|was|were) no\b(?! longer)", r"\1"),
    (r"\bwithout\b", "with"),
    (r"\b(negative)(?= for\b|\.)", "positive"),
    (r"\b(Negative)(?= for\b|\.)", "Positive"),
    (r"\b(positive)(?= for\b)", "negative"),
    (r"\b(Positive)(?= for\b)", "Negative"),
    (r"\b(is|was|were|are|does|did|has|had|have|will|can|could|should|would) not (?!only|yet|sure)", r"\1 "),
    (r"\b(is|was|were|are) (?=(?:allergic|taking|given|started|seen|admitted|able|tender|present|noted|found|treated|discharged|smoking|married|working|sexually|currently|well|pregnant|diagnosed|followed|on)\b)", r"\1 not "),
    (r"\b[Nn]o (?=known|history|family|prior|previous|significant|evidence|signs?|recent|other)", {"No ": "A ", "no ": "a "}),
    (r"(?:(?<=\. )|(?<=\A))No (?=[a-z]+(?: [a-z]+)?[.,])", "Some "),
    (r"\b(reports|complains of|reported|complained of|endorses|admits to)\b(?! that| no| to| her| his)", {
        "reports": "denies", "complains of": "denies", "reported": "denied", "complained of": "denied", "endorses": "denies",
        "admits to": "denies"}),
    (r"\b(has|had) (?=an? (?:history|allergy|fever|cough|rash|headache|pain|fall|stroke|surgery|family|mild|severe))", r"\1 not had "),
    (r"\b(smokes|drinks|works|exercises|lives|uses|takes|needs|wants)\b(?= (?!no\b))", {
        "smokes": "does not smoke", "drinks": "does not drink", "works": "does not work", "exercises": "does not exercise",
        "lives": "does not live", "uses": "does not use", "takes": "does not take", "needs": "does not need", "wants": "does not want"}),
    (r"\bnormal\b", "abnormal"),
    (r"\babnormal\b", "normal"),
    (r"\bunremarkable\b", "abnormal"),
    (r"\bNoncontributory\b", "Significant"),
    (r"\bnoncontributory\b", "significant"),
    (r"\b(resolved|improved|improving|better)\b", {"resolved": "worsened", "improved": "worsened", "improving": "worsening", "better": "worse"}),
    (r"\b(worsened|worsening|worse)\b", {"worsened": "improved", "worsening": "improving", "worse": "better"}),
    (r"\b(never)\b(?= (?:smoked|had|been|used|drank|married))", "often"),
    (r"\b[Nn]one\b(?=\.)", {"None": "Several", "none": "several"}),
)  # fmt: skip
_NEGATED = tuple((re.compile(pattern), replacement) for pattern, replacement in _NEGATIONS)
_SUPPORT = 0.3


def find_negation(material: Material, rng: random.Random) -> Edit | None:
    places = [(match, swap) for pattern, swap in _NEGATED for match in pattern.finditer(material.text)]
    rng.shuffle(places)
    for match, swap in places:
        sentence = _sentence_at(material.text, match.start())
        if len(sentence.split()) > 1 and material.truth.support(sentence) < _SUPPORT:
            continue
        if isinstance(swap, dict):
            negated = swap[match.group(1) if match.re.groups and match.group(1) in swap else match.group()]
        else:
            negated = match.expand(swap)
        return Edit(match.start(), match.end(), negated, 3)
    return None


def _sentence_at(text: str, place: int) -> str:
    return next((p.text for p in passages(text) if p.start <= place < p.end), text)


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
    vocabulary = material.truth.vocabulary
    for place in places:
        term = place.group()
        if not set(stems(term)) <= vocabulary:
            continue
        terms = [term for term in terms_like(term) if not set(stems(term)) & vocabulary]
        if terms:
            replacement = rng.choice(terms)
            if term[0].isupper():
                replacement = replacement[0].upper() + replacement[1:]
            return Edit(place.start(), place.end(), replacement, 2 if term.lower() in _SMALL else 3)
    return None


def terms_like(term: str) -> list[str]:
    """The other terms of its kind."""
    return [alternative for alternative in _GROUP_OF[term.lower()] if alternative.lower() != term.lower()]


_STIGMATIZING = (
    (r"\b(?:The|This) patient\b", ("This noncompliant patient", "This difficult patient", "This drug-seeking patient", "The so-called patient",
     "This demanding patient", "This uncooperative patient", "This frequent flyer")),
    (r"\b(?:the|this) patient\b", ("this difficult patient", "the frequent flyer", "this noncompliant patient", "this needy patient")),
    (r"\b(?:states|reports|says|stated|reported|said)\b(?! no)", ("claims", "alleges", "insists")),
    (r"\bcomplains of\b", ("whines about", "keeps complaining bitterly of", "claims to suffer from")),
    (r"\b(?:denies|denied)\b", ("refuses to admit to", "will not own up to")),
    (r"\b[Ss]mokes\b", ("cannot be bothered to stop smoking and smokes",)),
    (r"\b(?:drinks|alcohol use)\b", ("drinks like an alcoholic", "alcohol abuse")),
    (r"\b(?:did|does|was|is) not (?=take|attend|come|keep|able|taking)", ("could not be bothered and did not ", "as usual failed and did not ")),
    (r"\b(?:A|An|This is an?|The patient is an?) (?=\d+-year-old\b)", ("A poor historian, this is a ", "This is an unreliable and difficult ", "A self-pitying ")),
    (r"\b(?:man|male|gentleman)\b", ("addict", "malingerer", "drunk")),
    (r"\b(?:woman|female|lady)\b", ("hysterical woman", "attention seeker", "demanding woman")),
    (r"\b(?:She|He) (?=was|is|has|had|left|came|returned)", ("The malingerer ", "The addict ", "This manipulative patient ")),
)  # fmt: skip
_STIGMATIZED = tuple((re.compile(pattern), replacement) for pattern, replacement in _STIGMATIZING)


def find_stigma(material: Material, rng: random.Random) -> Edit | None:
    places = [(match, swaps) for pattern, swaps in _STIGMATIZED for match in pattern.finditer(material.text)]
    if not places:
        return None
    match, swaps = rng.choice(places)
    replacement = rng.choice(swaps)
    return Edit(match.start(), match.end(), replacement, 1)


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
