"""The lenses, each on a fault planted for it and on a clean text; the demonstration set's consistency."""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import venire
from venire.agents.lenses import LENSES, MOST_RELEVANT, SINGLE, LensReading, place, reading_for
from venire.agents.lenses.numbers import Date, NumberInText, dates, figures
from venire.agents.lenses.order import inversions
from venire.agents.lenses.words import split_sentences, stems
from venire.personas.jury import load_jury

DEMO = Path(venire.__path__[0]) / "evals" / "demo"

NOTES = (
    (
        "Admission, 28 December. A 70-year-old man with pneumonia. Saturation 89% on air. "
        "Started amoxicillin 500 mg three times daily."
    ),
    (
        "Discharge, 3 January. Saturation 96% on air, walking well. Stop amoxicillin on 5 January. "
        "Chest film booked for 10 February."
    ),
)
CLEAN = (
    "A 70-year-old man was admitted on 28 December with pneumonia, saturation 89% on air, and started "
    "amoxicillin 500 mg three times daily. By 3 January saturation was 96% on air and he was walking well. "
    "Amoxicillin stops on 5 January; a chest film is booked for 10 February."
)

# one text per lens, with the words that its quotes must contain
PLANTED = {
    "coverage": ("A man was admitted.", "Saturation 89% on air."),
    "plan": ("A 70-year-old man with pneumonia, saturation 89% on air.", "Stop amoxicillin on 5 January."),
    "support": (
        CLEAN + " Overnight a seizure frightened relatives.",
        "Overnight a seizure frightened relatives",
    ),
    "numbers": (CLEAN.replace("500 mg", "250 mg"), "250 mg"),
    "length": (f"{CLEAN} {CLEAN}", ""),
    "repetition": (
        CLEAN + " The man with pneumonia, saturation 89% on air, was walking on air.",
        "was walking on air",
    ),
    "order": (
        "A chest film is booked for 10 February. He left on 3 January. He came on 28 December.",
        "He came on 28 December.",
    ),
    "sequence": (
        "A chest film was booked at discharge. He was walking well. On admission he had pneumonia.",
        "On admission he had pneumonia.",
    ),
    "loaded": (CLEAN + " He is a frequent\u2011flyer.", "frequent\u2011flyer"),
    "tone": (CLEAN + " He insists that he slept badly.", "insists that"),
}


def read(name: str, output: str, source: tuple[str, ...] = NOTES) -> LensReading:
    reading = LENSES[name].reads(source, output)
    assert reading is not None
    return reading


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / "cases.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def labels() -> list[dict[str, str]]:
    with (DEMO / "labels.csv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_every_lens_has_a_planted_fault() -> None:
    assert PLANTED.keys() == LENSES.keys()


@pytest.mark.parametrize("name", LENSES)
def test_finds_what_was_planted(name: str) -> None:
    output, quoted = PLANTED[name]
    reading = read(name, output)
    assert reading.merit <= 0.75
    assert any(quoted in quote for quote in reading.quotes) or not quoted


@pytest.mark.parametrize("name", sorted(set(LENSES) - {"length"}))
def test_is_quiet_on_a_clean_text(name: str) -> None:
    assert read(name, CLEAN).merit == 1.0


def test_length_has_no_complaint_of_half_and_full_complaint_of_the_whole() -> None:
    notes = ("alpha beta gamma delta epsilon zeta eta theta",)
    assert read("length", "alpha beta gamma delta", notes).merit == 1.0
    assert read("length", "alpha beta gamma delta epsilon zeta", notes).merit == pytest.approx(0.5)
    assert read("length", notes[0] * 2, notes).merit == 0.0


@pytest.mark.parametrize("name", LENSES)
def test_says_that_it_is_no_language_model(name: str) -> None:
    assert LENSES[name].name == name
    assert "not a language model" in LENSES[name].claims


@pytest.mark.parametrize("name", LENSES)
def test_quotes_are_verbatim_and_readings_repeat(name: str, cases: list[dict[str, Any]]) -> None:
    for case in cases:
        reading = LENSES[name].reads(case["source"], case["output"])
        assert reading == LENSES[name].reads(tuple(case["source"]), case["output"])
        if reading is not None:
            texts = [case["output"], *case["source"]]
            assert all(any(quote in text for text in texts) for quote in reading.quotes)
            assert reading.rationale.endswith(".")


@pytest.mark.parametrize("name", LENSES)
@pytest.mark.parametrize(
    "source",
    [
        (),
        ("",),
        ("  \n ", "\t"),
        ("...",),
        ("日本語の記録。", "été Straße İstanbul ﬁ ½ ² \uff15 mg \ud800"),
        NOTES,
    ],
)
@pytest.mark.parametrize(
    "output", ["", " \n ", "?!", "…", "患者は退院した。", "É́té ² ½ \uff15 mg — '\u2019' 1,,2..3//4", CLEAN]
)
def test_bears_any_text(name: str, source: tuple[str, ...], output: str) -> None:
    reading = LENSES[name].reads(source, output)
    assert reading is None or 0.0 <= reading.merit <= 1.0


@pytest.mark.parametrize(
    "name", ["support", "numbers", "length", "repetition", "order", "sequence", "loaded", "tone"]
)
def test_has_no_opinion_of_an_empty_output(name: str) -> None:
    assert LENSES[name].reads(NOTES, "") is None


@pytest.mark.parametrize("name", ["coverage", "plan"])
def test_an_empty_output_carries_nothing(name: str) -> None:
    assert read(name, "").merit == 0.0


@pytest.mark.parametrize("name", ["coverage", "plan", "support", "numbers", "length", "sequence"])
def test_has_no_opinion_without_a_source(name: str) -> None:
    assert LENSES[name].reads((), CLEAN) is None


@pytest.mark.parametrize("name", LENSES)
@pytest.mark.parametrize("text", ["word{} on 3 May. ", "non-", " ", "x, "])
def test_reads_a_long_text_in_good_time(name: str, text: str) -> None:
    words = max(1, len(text.split()))
    long = "".join(text.format(number) for number in range(15_000 // words))
    began = time.process_time()
    LENSES[name].reads([long, long], long)
    assert time.process_time() - began < 60


def test_a_reading_has_a_merit_between_nought_and_one() -> None:
    with pytest.raises(ValueError, match="outside"):
        LensReading(1.5, "Too good.")


def test_january_follows_december_when_the_story_starts_in_december() -> None:
    assert read("order", CLEAN).merit == 1.0
    assert read("order", "Seen on 3 January. Admitted on 28 December.").merit == 0.0
    backwards = "Seen again on 2 October. First seen on 5 March."
    noted = ("5 March: first visit. 1 May and 7 July: doing well. 2 October: seen again.",)
    assert read("order", backwards, noted).merit == 0.0


def test_a_number_with_another_unit_is_another_number() -> None:
    assert read("numbers", "Amoxicillin 500 micrograms.").merit == 0.5
    assert read("numbers", "Amoxicillin 500 MG, 3 times daily.").merit == 1.0


@pytest.mark.parametrize(
    "text", ["alcoholic liver disease", "demand ischaemia", "resistant organisms", "diabetic foot"]
)
def test_clinical_terms_are_not_judgements(text: str) -> None:
    assert read("loaded", f"She has {text}.").merit == 1.0
    assert read("tone", f"She has {text}.").merit == 1.0


def test_a_clause_with_a_new_number_is_not_repetition() -> None:
    assert read("repetition", "Creatinine was 164 umol/L. Later creatinine was 138 umol/L.").merit == 1.0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("4 to 6 weeks", [NumberInText("4", "week", "4"), NumberInText("6", "week", "6 weeks")]),
        (
            "rose to 131 and is stable. On 5 March",
            [NumberInText("131", "", "131"), NumberInText("5", "month 3", "5 March")],
        ),
        ("20,000 units", [NumberInText("20000", "unit", "20,000 units")]),
        (
            "three doses of 3.0 mg",
            [NumberInText("3", "dose", "three doses"), NumberInText("3", "mg", "3.0 mg")],
        ),
        ("HbA1c, T4 and one stick", []),
        ("162/104 at 09:50", [NumberInText("162/104", "", "162/104"), NumberInText("09:50", "", "09:50")]),
    ],
)
def test_figures(text: str, found: list[NumberInText]) -> None:
    assert list(figures(text)) == found


def test_dates() -> None:
    told = "2024-03-05, 6 March, March 7 and 8 Sept; not 9 lives, 45 March, 12/3 or 3 may."
    assert [(date.month, date.day) for date in dates(told)] == [(3, 5), (3, 6), (3, 7), (9, 8)]
    assert next(dates("Seen 6 March.")) == Date(3, 6, "6 March")


def test_sentences_keep_decimals_and_initials_whole() -> None:
    text = "Dose 2.5 mg given. E. coli grew.  Home today?\nLine two"
    assert split_sentences(text) == ["Dose 2.5 mg given.", "E. coli grew.", "Home today?", "Line two"]


def test_stems_join_inflections_accents_and_number_words() -> None:
    assert stems("Walks, walked, WALKING") == ["walk"] * 3
    assert stems("six naïve patients") == stems("6 naive patient")


def test_inversions() -> None:
    # pairs: 3>1, 3>2 fall; 1<2 rises; the two 2s are a tie
    assert inversions([3, 1, 2, 2]) == (3, 5)


@pytest.mark.parametrize(
    ("merit", "value"), [(1.0, 5), (0.9, 5), (0.875, 4), (0.5, 3), (0.25, 2), (0.125, 1), (0.0, 1)]
)
def test_place_on_five_values(merit: float, value: int) -> None:
    assert place(merit, [1, 2, 3, 4, 5]) == value
    assert place(merit, [1, 2, 3, 4, 5], better="low") == 6 - value


def test_place_on_other_scales() -> None:
    assert place(1.0, [0, 1], better="low") == 0
    assert place(0.5, [0, 1], better="low") == 1
    assert place(0.3, ["only"]) == "only"
    with pytest.raises(ValueError, match="no values"):
        place(0.3, [])


def test_reading_for_keeps_to_what_a_lens_speaks_to() -> None:
    assert reading_for("numbers", "accurate", NOTES, CLEAN) == read("numbers", CLEAN)
    assert reading_for("numbers", "factual_accuracy", NOTES, CLEAN) == read("numbers", CLEAN)
    assert reading_for("numbers", "thorough", NOTES, CLEAN) is None
    with pytest.raises(KeyError):
        reading_for("nobody", "accurate", NOTES, CLEAN)


def test_the_single_judge_asks_the_most_relevant_lens() -> None:
    for attribute, lens in MOST_RELEVANT.items():
        assert attribute in LENSES[lens].speaks_to
        assert reading_for(SINGLE, attribute, NOTES, CLEAN) == read(lens, CLEAN)
    assert reading_for(SINGLE, "useful", NOTES, CLEAN) is None


@pytest.mark.parametrize("attribute", ["accurate", "thorough", "succinct", "organized", "stigmatizing"])
def test_two_lenses_speak_to_each_attribute(attribute: str) -> None:
    assert sum(attribute in lens.speaks_to for lens in LENSES.values()) >= 2


def test_the_lens_juries_seat_every_lens() -> None:
    jury, single = load_jury("lens-jury"), load_jury("lens-single")
    assert [seat.model for seat in jury.seats] == [f"lens/{name}" for name in LENSES]
    assert [seat.model for seat in single.seats] == ["lens/single"]


LOWERS = {
    "omission": "thorough",
    "fabrication": "accurate",
    "wrong_number": "accurate",
    "wrong_order": "organized",
    "bloat": "succinct",
}
POINTS = {"mild": 1, "moderate": 2, "marked": 3, "severe": 4}


def by_construction(faults: list[dict[str, str]]) -> dict[str, int]:
    """The labels that the rule in evals/demo/README.md gives."""
    scores = {"accurate": 5, "thorough": 5, "succinct": 5, "organized": 5, "stigmatizing": 0}
    for fault in faults:
        if fault["kind"] == "stigmatising":
            scores["stigmatizing"] = 1
        else:
            attribute = LOWERS[fault["kind"]]
            scores[attribute] = max(1, scores[attribute] - POINTS[fault["severity"]])
    return scores


def test_labels_follow_from_the_planted_faults(
    cases: list[dict[str, Any]], labels: list[dict[str, str]]
) -> None:
    expected = [
        {"case": case["id"], "rater": "construction", "attribute": attribute, "value": str(value)}
        for case in cases
        for attribute, value in by_construction(case["metadata"]["faults"]).items()
    ]
    assert labels == expected


def test_the_cases_are_whole_invented_and_neutrally_named(cases: list[dict[str, Any]]) -> None:
    assert [case["id"] for case in cases] == [f"demo-{number:02d}" for number in range(1, 25)]
    for case in cases:
        assert case["metadata"]["invented"] is True
        assert set(case) == {"id", "source", "output", "reference", "audience", "group", "system", "metadata"}
        assert 2 <= len(case["source"]) <= 4
        assert all(60 <= len(note.split()) <= 150 for note in case["source"])
        bloated = "bloat" in case["metadata"]["fault"]
        assert 50 <= len(case["output"].split()) <= (200 if bloated else 150)
        assert case["output"] != case["reference"]


def test_every_fault_is_planted_three_times_and_some_cases_are_good(cases: list[dict[str, Any]]) -> None:
    kinds = Counter(fault["kind"] for case in cases for fault in case["metadata"]["faults"])
    assert set(kinds) == {*LOWERS, "stigmatising"}
    assert min(kinds.values()) >= 3
    assert sum(not case["metadata"]["faults"] for case in cases) == 6
    assert set(Counter(case["system"] for case in cases).values()) == {8}


def test_labels_spread_over_the_scale(labels: list[dict[str, str]]) -> None:
    scores = {row["value"] for row in labels if row["attribute"] != "stigmatizing"}
    assert scores == {"1", "2", "3", "4", "5"}


def test_the_readme_says_that_no_patient_exists() -> None:
    assert "Every case is invented; no patient exists." in (DEMO / "README.md").read_text(encoding="utf-8")
