"""The lens on claims: content words, numbers and negation; and what it is worth against people."""

from __future__ import annotations

import csv
import statistics

import pytest
from shared_data import shared_file

from venire.agents.lenses.claims import check_claim, clauses

TEXT = "Start atorvastatin 20 mg daily. She has no chest pain. The non-contributory history was reviewed."


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("Atorvastatin was started.", "supported"),
        ("Start atorvastatin 40 mg.", "not_supported"),
        ("Chest pain.", "not_supported"),
        ("She denies chest pain.", "supported"),
        ("Noncontributory.", "supported"),
        ("Refer to a surgeon.", "not_addressed"),
        ("and the", "not_addressed"),
    ],
)
def test_a_claim_is_checked_by_its_words_numbers_and_negation(claim: str, verdict: str) -> None:
    found = check_claim(claim, TEXT)

    assert found.verdict == verdict
    assert not found.quote or found.quote in TEXT


def test_clauses_are_stretches_of_the_text_that_say_something() -> None:
    text = "Fever, cough and chills; the\n\nplan: rest."

    assert [text[start:end] for start, end in clauses(text)] == ["Fever", "cough", "chills", "plan", "rest."]
    assert clauses("") == clauses("   \n") == []


def test_the_number_of_an_item_is_no_claim_of_its_own() -> None:
    text = "1. Hypertension. 2. Aspirin 81 mg daily, 3 tablets."

    claims = [text[start:end] for start, end in clauses(text)]

    assert [claim for claim in claims if not any(map(str.isalpha, claim))] == []
    assert "Aspirin 81 mg daily" in " ".join(claims)


def test_its_coverage_follows_peoples_factual_recall_better_than_unigram_recall() -> None:
    with shared_file("mts_dialog/human_scored_summaries.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    covered = []
    for row in rows:
        claims = [row["reference"][start:end] for start, end in clauses(row["reference"])]
        found = [check_claim(claim, row["summary"]).verdict for claim in claims]
        covered.append(found.count("supported") / len(found))

    assert statistics.correlation(covered, [float(row["factual_recall"]) for row in rows]) > 0.53
