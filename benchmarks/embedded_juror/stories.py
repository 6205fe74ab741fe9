"""Invented clinical cases: several notes of one stay, and a faithful summary of them. No patient exists.

Every story is put together from parts written for this purpose, with names of drugs, findings, numbers and dates drawn
by seed, so that thousands of them share little but their kind.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from conditions import CONDITIONS, SIDE

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


@dataclass(frozen=True)
class Story:
    """A case: its notes, and a summary with nothing wrong in it."""

    notes: tuple[str, ...]
    summary: str


LONG = 0.75
"""Share of the stays whose notes are as long and as full of small things as real ones."""
HOMES = (
    "Lives alone in a second-floor flat|lives alone", "Lives with {their} partner|lives with {their} partner", "Carers come twice a day|carers visit twice a day",
    "Works as a bus driver|works as a bus driver", "Looks after a disabled son|looks after a disabled son", "Allergic to penicillin|allergic to penicillin",
    "No known allergies|no known allergies", "Allergic to latex|allergic to latex", "Smokes ten a day|smokes ten a day", "Does not smoke|does not smoke",
)  # fmt: skip


ROUTINE = (
    "Pulse {p1} and regular.", "Blood pressure {sys}/{dia}.", "Respiratory rate {rr}.", "Temperature {t1} C.", "Saturation {sat}% on air.", "Heart sounds normal.", "Chest clear.", "Abdomen soft.",
    "No ankle swelling.", "Weight {kg} kg.", "Height {cm} cm.", "Pupils equal.", "No rash.", "Throat normal.", "Calves soft.", "Urine dip clear.", "Platelets {plt}.", "Sodium {na} mmol/L.",
    "Haemoglobin {hgb} g/L.", "Albumin {alb} g/L.", "Calcium {ca} mmol/L.", "Liver tests normal.", "Clotting normal.", "Magnesium normal.", "Blood cultures sent.", "Cannula in the left forearm.",
    "Cannula re-sited.", "Fluid chart started.", "Observations every four hours.", "Diet and fluids as tolerated.", "Eating about half of meals.", "Slept {hrs} hours.", "Pain {pain} out of 10 at rest.",
    "Bowels opened.", "Passing urine.", "Washed with help of one.", "Pressure areas intact.", "Stockings on.", "Seen by the dietitian.", "Seen by the physiotherapist.", "Seen by the pharmacist; chart checked.",
    "Family visited and were updated.", "Interpreter not needed.", "Asked about parking for visitors.", "Television not working; reported.", "Moved to bay {bay}.", "Side room until swabs are back.",
    "Swabs negative.", "Consent form filed.", "Next of kin is {kin}.", "Telephone number checked.", "Glasses and hearing aid with the patient.", "Property list signed.", "Taxi booked for {clock}.",
    "Cannula removed.", "Copy of this letter given.", "Tablets explained by the nurse.", "Transport not needed.", "Key safe number on file.", "Questionnaire handed out.", "Student nurse present throughout.",
    "Chaperone present.", "Handed over at {clock}.", "Reviewed with the consultant.", "Bed manager informed.", "Mood bright.", "Orientated.", "Mouth care given.", "Ate breakfast.", "Afebrile.",
    "Repeat bloods tomorrow.", "No change to the plan.", "Continue as charted.", "Nothing further overnight.", "Comfortable.",
)  # fmt: skip
"""What notes say and no summary needs to."""


def story(rng: random.Random) -> Story:
    """One invented case."""
    return _diary(rng) if rng.random() < 0.2 else _stay(rng)


def _stay(rng: random.Random) -> Story:
    about = rng.choice(CONDITIONS)
    woman = rng.random() < 0.5
    day, month = rng.randint(2, 18), rng.choice(MONTHS)
    days = [day - 1, day, day + rng.randint(1, 3)]
    days += [days[2] + rng.randint(1, 3)]
    days += [days[3] + rng.randint(1, 4)]
    date = [f"{d} {month}" for d in days]
    slots = {
        "n": rng.randint(2, 9), "m": rng.choice((10, 15, 20, 30, 40)), "m2": rng.choice(("two", "three", "four", "five")), "side": rng.choice(SIDE), "h": rng.choice((3, 4, 5)),
        "d0": date[0], "d1": date[2], "d2": date[3], "d3": f"{rng.randint(1, 28)} {MONTHS[(MONTHS.index(month) + 1) % 12]}",
        "low": rng.randint(95, 150), "bladder": rng.choice((540, 680, 720, 860, 910)), "hb": rng.randint(71, 109), "ef": rng.choice((32, 38, 41, 45, 52, 58)), "pf": rng.randint(310, 480),
        "k": rng.choice(("2.9", "3.1", "3.3")), "lowg": rng.choice(("2.8", "3.1", "3.4")), "mm": rng.randint(4, 36), "temp": rng.choice(("38.2", "38.6", "38.9")),
        "score": rng.randint(6, 13), "score2": rng.choice(("2.1", "2.6", "3.0")), "alt": rng.randint(88, 190),
        "them": "her" if woman else "him", "their": "her" if woman else "his",
    }  # fmt: skip

    def both(choices: tuple[str, ...], count: int = 1) -> list[tuple[str, str]]:
        pairs = []
        for chosen in rng.sample(choices, min(count, len(choices))):
            drawn = {**slots, "n": rng.randint(2, 9)}
            first, _, second = chosen.partition("|")
            pairs.append((first.format(**drawn), (second or first).format(**drawn)))
        return pairs

    age = rng.randint(*about.ages)
    kind = ("girl" if woman else "boy") if age < 16 else ("woman" if woman else "man")
    who = f"{age}-year-old {kind}"
    article = "An" if age in (8, 11, 18) or 80 <= age <= 89 else "A"
    pronoun = "She" if woman else "He"
    past = rng.sample(about.past, rng.randint(1, 2))
    past_text = " and ".join(each.format(**slots) for each in past)
    symptoms = both(about.symptoms, 2)
    labs = [
        (name, f"{rng.uniform(low, high):.{places}f}", unit)
        for name, low, high, places, unit in rng.sample(about.labs, rng.randint(2, len(about.labs)))
    ]
    finding, course, snag = (
        both(about.finding)[0],
        both(about.course)[0],
        both(about.snag)[0] if rng.random() < 0.7 else None,
    )
    plans = both(about.plan, rng.randint(2, 3))
    home = both(HOMES)[0] if rng.random() < 0.6 else None
    first = [
        (d, rng.choice(doses), often.format(**slots))
        for d, doses, often in rng.sample(about.first, rng.randint(1, 2))
    ]
    later = [(d, rng.choice(doses), often.format(**slots)) for d, doses, often in rng.sample(about.later, 1)]

    def level(lab: tuple[str, str, str]) -> str:
        name, value, unit = lab
        return f"{name} {value}" + (unit if unit.startswith("%") else f" {unit}" if unit else "")

    def dose(drug: tuple[str, str, str]) -> str:
        return " ".join(drug)

    lab_text = ", ".join(map(level, labs))
    note1 = [
        f"{about.place}, {date[1]}. {article} {who} with {past_text}, seen for {symptoms[0][0]}; {symptoms[1][0]}.",
        f"{lab_text[0].upper()}{lab_text[1:]}.",
        f"{finding[0]}.",
        f"{_capital(' and '.join(map(dose, first)))} started.",
    ]
    if home:
        note1.append(f"{home[0]}.")
    note2 = [f"{rng.choice(('Review', 'Ward round', 'Progress note'))}, {date[3]}. {course[0]}."] + (
        [f"{snag[0]}."] if snag else []
    )
    note3 = [
        f"{rng.choice(('Discharge', 'Letter', 'Plan'))}, {date[4]}.",
        f"Continues {' and '.join(map(dose, later))}.",
        *(f"{plan[0]}." for plan in plans),
    ]
    shown = rng.sample(labs, min(len(labs), 2)) if rng.random() < 0.5 else labs
    lines = [
        f"{article} {who} with {past_text} was seen on {date[1]} with {about.name}: {symptoms[0][1]}, {symptoms[1][1]}.",
        f"{_capital(' and '.join(map(level, shown)))}; {finding[1]}.",
        rng.choice(
            (
                f"Treatment began with {' and '.join(map(dose, first))}.",
                f"{_capital(' and '.join(map(dose, first)))} {'was' if len(first) == 1 else 'were'} started.",
            )
        ),
        f"{_capital(course[1])}{f'; {snag[1]}' if snag else ''}.",
        rng.choice(
            (
                f"{pronoun} left on {date[4]} on {' and '.join(map(dose, later))}.",
                f"On {date[4]} {pronoun.lower()} went home with {' and '.join(map(dose, later))}.",
            )
        ),
        f"{rng.choice(('Plan: ', 'To follow: ', 'Please note: '))}{'; '.join(plan[1] for plan in plans)}.",
    ]
    if home:
        lines.insert(
            rng.choice((1, len(lines) - 1)),
            f"{pronoun} {home[1]}."
            if home[1].split()[0] in ("lives", "works", "looks", "smokes", "does")
            else f"{_capital(home[1])}.",
        )
    if rng.random() < LONG:
        note1, note2, note3 = (
            _with_routine(note, rng.randint(*span), rng)
            for note, span in ((note1, (3, 8)), (note2, (3, 9)), (note3, (1, 5)))
        )
    notes = [" ".join(note1), " ".join(note2), " ".join(note3)]
    if rng.random() < 0.25:
        notes = [notes[0], f"{notes[1]} {notes[2]}"]
    return Story(tuple(notes), " ".join(lines))


_AILMENTS = (
    ("sore throat", ("penicillin V 500 mg four times a day", "ibuprofen 400 mg three times a day"), "throat swab"),
    ("painful ear", ("amoxicillin 500 mg three times a day", "paracetamol 1 g four times a day"), "hearing test"),
    ("burning on passing urine", ("nitrofurantoin 100 mg twice a day", "trimethoprim 200 mg twice a day"), "urine culture"),
    ("back pain after lifting", ("naproxen 250 mg twice a day", "codeine 30 mg four times a day"), "MRI of the spine"),
    ("itchy rash on both arms", ("cetirizine 10 mg once a day", "hydrocortisone 1% cream twice a day"), "patch test"),
    ("swollen big toe", ("colchicine 500 micrograms twice a day", "naproxen 500 mg twice a day"), "uric acid level"),
    ("cough and wheeze", ("prednisolone 30 mg once a day", "salbutamol two puffs four times a day"), "chest film"),
    ("loose stools", ("loperamide 2 mg as needed", "oral rehydration sachets after each stool"), "stool sample"),
    ("red eye", ("chloramphenicol drops four times a day", "sodium cromoglicate drops four times a day"), "eye clinic visit"),
    ("dizziness on turning over", ("prochlorperazine 5 mg three times a day", "betahistine 16 mg three times a day"), "balance clinic visit"),
)  # fmt: skip
_FIRST = ("No allergies.", "Allergic to aspirin.", "Blood pressure 124/78.", "No fever.", "Temperature 37.8.", "Has had it once before.", "Not pregnant.", "Works shifts.")  # fmt: skip
_LATER = (
    "Much better.",
    "A little better.",
    "No better yet.",
    "Sleeping well again.",
    "Back at work.",
    "Appetite has returned.",
)


def _diary(rng: random.Random) -> Story:
    """Two or three short entries and a few lines that sum them up."""
    start = rng.randrange(4)
    days = DAYS[start], DAYS[start + rng.randint(1, 2)]
    ailment, drugs, test = rng.choice(_AILMENTS)
    drug, length, weeks = (
        rng.choice(drugs),
        rng.randint(2, 9),
        rng.choice(("one week", "two weeks", "three weeks", "ten days")),
    )
    facts, later = rng.sample(_FIRST, 2), rng.choice(_LATER)
    notes = (
        f"{days[0]}: {ailment} for {length} days. {_capital(drug)} started. {' '.join(facts)}",
        f"{days[1]}: {later} Finish the course. {_capital(test)} if not well in {weeks}.",
    )
    lines = [
        f"{_capital(ailment)} for {length} days.",
        f"{_capital(drug)} was started on {days[0]}.",
        facts[0],
        facts[1],
        f"By {days[1]}: {later[0].lower()}{later[1:]}",
        f"The course is to be finished; {test} if not well in {weeks}.",
    ]
    return Story(notes, " ".join(lines))


def _with_routine(note: list[str], count: int, rng: random.Random) -> list[str]:
    """A note with what is always written down too, here and there; its heading stays first."""
    slots = {
        "p1": rng.randint(58, 108), "sys": rng.randint(98, 168), "dia": rng.randint(54, 94), "rr": rng.randint(12, 24), "t1": f"{rng.uniform(36.1, 38.4):.1f}", "sat": rng.randint(92, 99),
        "kg": rng.randint(44, 112), "cm": rng.randint(148, 192), "plt": rng.randint(148, 412), "na": rng.randint(132, 145), "hgb": rng.randint(102, 158), "alb": rng.randint(24, 46),
        "ca": f"{rng.uniform(2.1, 2.6):.2f}", "hrs": rng.choice(("four", "five", "six", "seven")), "pain": rng.randint(0, 6), "bay": rng.choice("ABCDE"),
        "kin": rng.choice(("a sister", "a son", "a neighbour", "a daughter", "a brother", "the partner")), "clock": f"{rng.randint(7, 19)}:{rng.choice(('00', '15', '30', '45'))}",
    }  # fmt: skip
    written = list(note)
    for line in rng.sample(ROUTINE, count):
        written.insert(rng.randint(1, len(written)), line.format(**slots))
    return written


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
