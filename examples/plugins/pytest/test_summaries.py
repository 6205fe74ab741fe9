"""A program's output held to a jury's verdict: see docs/plugins/pytest.md."""

import pytest

NOTES = "Monday: fever 38.4, cough for five days. Amoxicillin started. Wednesday: fever gone."


def summarise(notes: str) -> str:
    """Stands for the program under test."""
    return "Fever of 38.4, amoxicillin started, better by Wednesday."


def test_the_summary_is_accurate(jury):
    verdict = jury(summarise(NOTES), source=NOTES, question="Summarise for the patient's file.")

    verdict.expect("accurate>=4", "thorough>=3")


@pytest.mark.jury(repeats=3)
def test_the_jury_says_so_each_time(jury):
    jury(summarise(NOTES), source=NOTES).expect("overall>=3.5")
