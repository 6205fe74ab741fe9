"""Writes the invented data of the two shipped studies, `004.yaml` and `000.yaml`: `python benchmarks/invented_studies.py`.

Nobody in them exists and no model made them: patients, summaries, diagnoses, people's ratings and the recorded judges are drawn from a
seed by the rules below. The truth is planted, so that a reader can see whether a table finds it:

004  the judges score Surgical Care 0.8 points lower than people do; the five-shot judge is nearer to people than the zero-shot one;
     faults in the summaries (a wrong number, an omission, bloat) lower people's scores.
000  every juror scores 0.7 points lower than the panel, alder-9 favours systems of its own maker by 0.6 points, cairn-9 is noise; where
     the ward's diagnosis was wrong, what systems say is scored lower against it.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent.parent / "evals" / "studies" / "library"
NINE = (
    "cited",
    "accurate",
    "thorough",
    "useful",
    "organized",
    "comprehensible",
    "succinct",
    "synthesized",
    "stigmatizing",
)
SIX = ("accuracy", "hallucination", "omission", "relevance", "specificity", "abstraction")
FOUR = ("dx", "ddx", "reasoning", "risk")
SPECIALTIES = ("Primary Care", "Surgical Care", "Emergency Care")
SYSTEMS = ("alder", "brook", "cairn")
PROBLEMS = (
    ("type 2 diabetes", "HbA1c 8.9%", "metformin raised to 1000 mg twice daily", "HbA1c again in three months"),
    ("atrial fibrillation", "pulse 118 irregular", "apixaban 5 mg twice daily started", "echocardiogram in two weeks"),
    ("community-acquired pneumonia", "CRP 142 mg/L", "amoxicillin 500 mg three times daily for 5 days", "chest film in six weeks"),
    ("asthma", "peak flow 260 L/min", "budesonide-formoterol twice daily", "inhaler technique review in one month"),
    ("iron deficiency anaemia", "haemoglobin 84 g/L", "ferrous sulfate 200 mg daily", "colonoscopy within two weeks"),
    ("gallstones", "bilirubin 21 umol/L", "laparoscopic cholecystectomy listed", "pre-operative clinic on the 12th"),
    ("chronic kidney disease", "eGFR 38 mL/min", "ramipril reduced to 2.5 mg", "potassium again in ten days"),
    ("hip osteoarthritis", "walks 200 metres", "naproxen stopped, paracetamol 1 g four times daily", "orthopaedic clinic in May"),
)  # fmt: skip
DIAGNOSES = (
    ("tuberculous meningitis", "bacterial meningitis, cryptococcal meningitis"),
    ("pulmonary embolism", "pneumonia, heart failure"),
    ("acute rheumatic fever", "septic arthritis, lupus"),
    ("severe malaria", "typhoid, viral hepatitis"),
    ("pericardial tuberculosis", "viral pericarditis, heart failure"),
    ("diabetic ketoacidosis", "sepsis, pancreatitis"),
)


def main() -> None:
    _write_004(np.random.default_rng(4))
    _write_000(np.random.default_rng(1))


def _legal(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 1, 5).astype(int)


def _write_004(rng: np.random.Generator) -> None:
    cases, truths = [], {}
    for number in range(40):
        # Four patients have two summaries each.
        patient = number if number < 36 else number - 36
        first, second = (PROBLEMS[(patient * 3 + step) % len(PROBLEMS)] for step in (0, 1))
        age = 41 + patient
        notes = [
            f"Visit one. {age}-year-old with {first[0]}. {first[1]}. Plan: {first[2]}; {first[3]}.",
            f"Visit two. Also {second[0]}. {second[1]}. Plan: {second[2]}; {second[3]}.",
            f"Visit three. Feels better. {first[0].capitalize()} under control. Lives alone; neighbour helps with shopping.",
        ][: 2 + patient % 2]
        faults = {
            name: int(rng.integers(0, 4)) if rng.random() < 0.5 else 0
            for name in ("accurate", "thorough", "succinct")
        }
        finding = (
            first[1]
            if not faults["accurate"]
            else first[1].translate(str.maketrans("0123456789", "9876543210"))
        )
        rest = "" if faults["thorough"] > 1 else f" Also {second[0]}: {second[2]} [2]."
        bloat = (
            " It should be noted that the patient was seen and that the visit took place as planned."
            * faults["succinct"]
        )
        case = f"a{number + 1:02d}"
        cases.append({
            "id": case, "source": notes, "group": f"patient-{patient + 1:02d}", "system": SYSTEMS[number % 3],
            "output": f"{age}-year-old with {first[0]}, {finding} [1]. {first[2].capitalize()}; {first[3]} [1].{rest}{bloat}",
            "audience": SPECIALTIES[(number // 3) % 3], "metadata": {"specialty": SPECIALTIES[(number // 3) % 3], "notes": len(notes)},
        })  # fmt: skip
        quality = rng.normal(4.2 - 0.3 * sum(map(bool, faults.values())), 0.7)
        truths[case] = np.array([quality + rng.normal(0, 0.4) - faults.get(name, 0) * 0.8 for name in NINE])
    people = [
        [case, f"rater-{letter}", *_legal(truth + lean + rng.normal(0, 0.6, 9))[:8], int(rng.random() < 0.05)]
        for letter, lean in zip("abcdefg", rng.normal(0, 0.2, 7), strict=True)
        for case, truth in truths.items()
    ]
    judges = []
    for juror, noise in (("zero-shot", 0.9), ("one-shot", 0.8), ("three-shot", 0.7), ("five-shot", 0.45)):
        for case in cases:
            harsh = -0.8 if case["metadata"]["specialty"] == "Surgical Care" else 0.0
            seen = truths[case["id"]] + harsh + rng.normal(0, noise, 9)
            for repeat in range(7):
                given = [*_legal(seen + rng.normal(0, 0.35, 9))[:8], int(rng.random() < 0.05)]
                judges += [
                    (case["id"], juror, repeat, name, value) for name, value in zip(NINE, given, strict=True)
                ]
    problems, more, ratings = _problem_lists(rng)
    _jsonl("004-cases.jsonl", cases)
    _csv("004-people.csv", ["case", "rater", *NINE], people)
    _jsonl("004-probsum-cases.jsonl", problems)
    _csv("004-probsum-people.csv", ["case", "rater", *SIX], ratings)
    _csv("004-judges.csv", ["case", "juror", "repeat", "attribute", "value"], [*judges, *more])


def _problem_lists(
    rng: np.random.Generator,
) -> tuple[list[dict[str, object]], list[tuple[object, ...]], list[list[object]]]:
    """Twelve lists of problems, the five-shot and zero-shot judges' scores of them, and three people's."""
    cases: list[dict[str, object]] = []
    judged: list[tuple[object, ...]] = []
    people: list[list[object]] = []
    for number in range(12):
        first, second = PROBLEMS[number % len(PROBLEMS)], PROBLEMS[(number + 3) % len(PROBLEMS)]
        missing = number % 3 == 0
        case = f"p{number + 1:02d}"
        cases.append({
            "id": case, "group": f"stay-{number + 1:02d}", "system": SYSTEMS[number % 3],
            "source": [f"Day two. {first[1]}. {second[1]}. {first[2].capitalize()}. {second[2].capitalize()}."],
            "output": first[0] if missing else f"{first[0]}; {second[0]}", "reference": f"{first[0]}; {second[0]}",
        })  # fmt: skip
        good = rng.normal(4.0, 0.8) - 1.2 * missing
        truth = np.array([good, 5.5 - good, 1.5 + 2.0 * missing + rng.normal(0, 0.4), good, good - 0.3])
        for letter in "abc":
            people.append([case, f"rater-{letter}", *_legal(truth + rng.normal(0, 0.5, 5)), int(good > 3.5)])
        for juror, noise in (("zero-shot", 0.8), ("five-shot", 0.5)):
            seen = truth + rng.normal(0, noise, 5)
            for repeat in range(7):
                given = [*_legal(seen + rng.normal(0, 0.3, 5)), int(good + rng.normal(0, 0.6) > 3.5)]
                judged += [(case, juror, repeat, name, value) for name, value in zip(SIX, given, strict=True)]
    return cases, judged, people


def _write_000(rng: np.random.Generator) -> None:
    systems = ("alder-1", "alder-2", "brook-1", "brook-2", "cairn-1", "dune-1")
    skill = dict(zip(systems, (0.5, 0.1, 0.3, -0.2, -0.4, -0.6), strict=True))
    cases, truths = [], {}
    for number in range(30):
        dx, ddx = DIAGNOSES[number % len(DIAGNOSES)]
        wrong = int(rng.random() < 0.3)
        ease = rng.normal(3.6 - 1.3 * wrong, 0.5)
        for step in range(4):
            system = (
                systems[(number + step * 2 + number // 6) % len(systems)]
                if step < 3
                else systems[(number + 1) % len(systems)]
            )
            case = f"w{number + 1:02d}-{system}"
            if case in truths:
                continue
            good = ease + skill[system]
            truths[case] = np.array([good, good - 0.4, good, 6 - good]) + rng.normal(0, 0.5, 4)
            named = dx if truths[case][0] > 3 else DIAGNOSES[(number + 2) % len(DIAGNOSES)][0]
            cases.append({
                "id": case, "group": f"w{number + 1:02d}", "system": system, "metadata": {"ward_case": f"w{number + 1:02d}", "panel_disagrees": wrong},
                "output": f"Diagnosis: {named}. Differential: {ddx.split(', ')[step % 2]}. Reasoning: course and examination fit {named}.",
                "reference": f"Diagnosis: {dx}. Differential: {ddx}. Reasoning: course, examination and tests fit {dx}.",
            })  # fmt: skip
    people = [[case, "panel", *_legal(truth + rng.normal(0, 0.4, 4))] for case, truth in truths.items()]
    again = [case for case in truths if rng.random() < 0.4]
    people += [[case, "second-panel", *_legal(truths[case] + rng.normal(0, 1.0, 4))] for case in again]
    judges = []
    for juror, noise in (("alder-9", 0.5), ("brook-9", 0.6), ("cairn-9", 3.0)):
        for case in cases:
            favour = 0.6 if juror == "alder-9" and str(case["system"]).startswith("alder") else 0.0
            # A risk that is scored higher is a worse score: what lowers the others raises it.
            seen = (
                truths[str(case["id"])] + np.array([1, 1, 1, -1]) * (favour - 0.7) + rng.normal(0, noise, 4)
            )
            for repeat in range(3):
                given = _legal(seen + rng.normal(0, 0.3, 4))
                judges += [
                    (case["id"], juror, repeat, name, value) for name, value in zip(FOUR, given, strict=True)
                ]
    _jsonl("000-cases.jsonl", cases)
    _csv("000-people.csv", ["case", "rater", *FOUR], people)
    _csv("000-judges.csv", ["case", "juror", "repeat", "attribute", "value"], judges)


def _jsonl(name: str, rows: list[dict[str, object]]) -> None:
    (FOLDER / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _csv(name: str, head: list[str], rows: list[object]) -> None:
    with (FOLDER / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
