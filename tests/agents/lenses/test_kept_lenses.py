"""Every lens on texts with something for each of them to count: its merit, its sentence's numbers and its quotes, as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kept_figures import check_kept

from venire.agents.lenses import LENSES, MOST_RELEVANT, place, reading_for
from venire.agents.lenses.claims import check_claim, clauses
from venire.agents.lenses.numbers import dates, figures
from venire.agents.lenses.order import inversions
from venire.agents.lenses.words import content, merit_after, sentence_spans, split_sentences, stem

KEPT = Path(__file__).parent / "kept"
NOTES = (
    "12 November: seen with fever of 38.4 and a cough for 4 to 6 weeks. Started amoxicillin 500 mg three times a day. Chest X-ray clear.",
    "3 December: fever gone. Rash on both arms; amoxicillin stopped, given cetirizine 10 mg. Weight 72. Review in 2 weeks.",
    "15 January: well. Discharged. No follow-up needed. Platelets 1,250 and potassium 4.10 mmol/l.",
)
TEXTS: dict[str, tuple[tuple[str, ...], str]] = {
    "faithful": (NOTES, "Fever of 38.4 with cough from 12 November, treated with amoxicillin 500 mg three times a day. Rash by 3 December, amoxicillin stopped. Discharged well on 15 January."),
    "invented": (NOTES, "Fever of 39.4. Underwent emergency laparoscopic appendectomy. Weight 72 kg, potassium 4.1 mmol, platelets 1250 units, amoxicillin 500 g. Severe allergic shock occurred."),
    "turned round": (NOTES, "Discharged on 15 January. Cetirizine was given for a rash on 3 December. A chest X-ray was clear on 12 November, before amoxicillin."),
    "repeating": (NOTES, "The fever went away. Fever had gone away by then, and the fever was gone. The rash, which was a rash on both arms; arms had a rash."),
    "loaded": (NOTES, "This known diabetic who is a drug-seeking frequent flyer claims that he took it, refused treatment and was non-compliant; yet again back. He did not care. She was hysterical."),
    "as long": (NOTES, " ".join(NOTES)),
    "empty": (NOTES, " "),
    "without notes": ((), "Fever of 38.4 on 12 November and on 3 November."),
    "nothing to count": (("The and of.",), "It is what it was."),
    "three words": (NOTES, "Fever after planned knee surgery was gone. Broken ribs healed. Two words, fever."),
    "one note": ((NOTES[1],), "Weight 72 to 74 kg. Review in two weeks."),
}  # fmt: skip


def test_what_each_lens_reads_is_what_it_was() -> None:
    made: dict[str, Any] = {}
    for name, (source, output) in TEXTS.items():
        for lens, each in LENSES.items():
            reading = each.reads(source, output)
            made[f"{name} {lens}"] = reading and [reading.merit, reading.rationale, *(quote.replace(" ", "_") for quote in reading.quotes)]  # fmt: skip
        made[f"{name} single"] = {attribute: (reading.merit if (reading := reading_for("single", attribute, source, output)) else None) for attribute in MOST_RELEVANT}  # fmt: skip
    check_kept(KEPT / "lenses.json", made)


def test_what_is_found_in_a_text_is_what_it_was() -> None:
    text = (
        " ".join(NOTES)
        + " “Well.” he said. e.g. this\nT4 was 2.50; HbA1c 6,5 at 10:30 on 2026-02-31 or May 5, twenty pills and 50% of one."
    )
    made: dict[str, Any] = {
        "figures": [f"{each.value}|{each.unit}|{each.text}".replace(" ", "_") for each in figures(text)],
        "dates": [f"{each.month}/{each.day}" for each in dates(text)],
        "sentences": [sentence.replace(" ", "_") for sentence in split_sentences(text)],
        "spans": [f"{start}-{end}" for start, end in sentence_spans(text)],
        "stems": ",".join(word.stem for word in content(text)),
        "clauses": [f"{start}-{end}" for start, end in clauses(text)],
        "stem": [stem(word) for word in ("treatments", "studies", "studied", "is", "using", "vaccinations", "twenty", "1,250", "patient's")],
        "inversions": [list(inversions(each)) for each in ([1, 2, 3], [3, 2, 1], [1, 1, 2], [2, 1, 2, 1], [])],
        "after": [merit_after(number) for number in range(4)],
        "placed": [place(merit / 8, (1, 2, 3, 4, 5), better) for better in ("high", "low") for merit in range(9)] + [place(merit, (0, 1)) for merit in (0, 0.5, 0.51, 1)],
    }  # fmt: skip
    claims = (
        "Fever of 38.4",
        "Fever of 38.5",
        "No fever in January",
        "Rash on arms",
        "No rash on arms",
        "Surgery was planned",
        "follow-up not needed",
        "The",
        "hypertensive cough fever",
    )
    for claim in claims:
        check = check_claim(claim, " ".join(NOTES))
        made[f"claim {claim}"] = [check.verdict, check.reason, check.quote[:20].replace(" ", "_")]
    check_kept(KEPT / "words.json", made)  # fmt: skip
