"""Normalisation: named steps, the released normal forms byte for byte, and numbers as words."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from shared_data import shared_file

from venire.evals.metrics.normalisation import load_normalisation
from venire.evals.metrics.overlap import WER
from venire.rubrics import InvalidFile, VenireError

SPOKEN = load_normalisation("asr-en")
VERBATIM = load_normalisation("asr-en-verbatim")


def test_the_released_normal_forms_and_word_error_rates() -> None:
    path = shared_file("wer-is-unaware/primock_data_final_outcomes.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    pairs = [(VERBATIM(row["patient_hypothesis"]), VERBATIM(row["patient_ground_truth"])) for row in rows]

    assert [said for _, said in pairs] == [row["norm_ground_truth"] for row in rows]
    published = [float(row["old_wer"]) for row in rows]
    assert WER.measure(pairs, None)["WER"] == pytest.approx(published, abs=1e-9)
    assert (len(rows), sum(not heard for heard, _ in pairs)) == (175, 19)


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("b12", "b twelve"),
        ("21st", "twenty first"),
        ("1,000", "one thousand"),
        ("1,234,567", "one million two hundred and thirty four thousand five hundred and sixty seven"),
        ("101 and 1005", "one hundred and one and one thousand and five"),
        ("1,099 and 1,100", "one thousand and ninety nine and one thousand one hundred"),
        ("2,000,100", "two million one hundred"),
        ("9" + "0" * 20, "nine hundred quintillion"),
        ("1" + "0" * 21, " ".join(["one", *["zero"] * 21])),
        ("it is -3 today", "it is minus three today"),
        ("a-3, 10-20", "a three ten twenty"),
        ("2.50 mg", "two point five zero mg"),
        ("£5.50, £1, £0.20 and 50p", "five pounds fifty one pound twenty pence and fifty pence"),
        ("$0.05, €0.99 and $1.10", "five cents ninety nine cents and one dollar ten"),
        ("£2.5, £3.00 and £1.125", "two point five pounds three pounds and one point one two five pounds"),
        ("10%", "ten per cent"),
        ("007", "zero zero seven"),
        ("in 1973", "in one thousand nine hundred and seventy three"),
        ("3rd 12th 20th 100th", "third twelfth twentieth one hundredth"),
        ("1" * 30, " ".join(["one"] * 30)),
        ("Um, it's a twenty-five–year thing… uh.", "its a twenty five year thing"),
        ("１２ ١٢", "１２ ١٢"),
        ("", ""),
        ("Um. Uh!", ""),
    ],
)
def test_speech_in_words(written: str, spoken: str) -> None:
    assert SPOKEN(written) == spoken
    assert SPOKEN(spoken) == spoken


def test_a_list_of_ones_own_and_its_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nsteps:\n  - lower\n  - drop-words: [like]\n")
    mine = load_normalisation(path)
    assert (mine("Like THAT"), mine.step_names) == ("that", ["lower", "drop-words (like)"])

    path.write_text("name: mine\nsteps:\n  - lower\n  - delete-punctuations\n")
    with pytest.raises(
        InvalidFile, match=r"mine\.yaml:4: .*no step named.*\n  -> did you mean 'delete-punctuation'"
    ):
        load_normalisation(path)
    with pytest.raises(VenireError, match="no normalisation named 'asr-eng'"):
        load_normalisation("asr-eng")
