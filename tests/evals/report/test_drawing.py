"""Numbers as figures and tables write them."""

from __future__ import annotations

import math

import pytest

from venire.evals.report.drawing import amount, chance, clip, decimal, tick_labels


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [
        (11_550.4, 4, "11,550"),
        (1_234_567.0, 4, "1,234,567"),
        (999.96, 4, "1,000"),
        (120.4, 2, "120"),
        (12.345, 4, "12.35"),
        (0.12, 2, "0.12"),
        (4.0, 4, "4"),
        (0.00001234, 4, "0.00001234"),
        (-1234.5, 3, "-1,234"),
        (0.0, 4, "0"),
        (math.nan, 4, "–"),
        (7, 4, "7"),
    ],
)
def test_an_amount_is_never_a_power_of_ten(value: float, digits: int, words: str) -> None:
    assert amount(value, digits) == words


@pytest.mark.parametrize(
    ("value", "places", "words"),
    [
        (0.5, 3, "0.500"), (0.4996, 2, "0.50"), (-0.0004, 3, "-0.0004"), (-0.004, 2, "0.00"), (12.0, 3, "12"), (9.0, 3, "9.000"), (0.00012, 3, "0.00012"),
        (0.00012, 2, "0.00"), (1e-12, 3, "0.000"), (math.nan, 3, "–"), (math.inf, 3, "∞"), (-math.inf, 3, "-∞"), (3, 3, "3"), ("x", 3, "x"),
    ],
)  # fmt: skip
def test_a_number_has_its_places_and_no_sign_at_zero(value: object, places: int, words: str) -> None:
    assert decimal(value, places) == words


def test_a_chance_below_a_thousandth_is_only_said_to_be_that_and_a_name_is_cut_to_its_room() -> None:
    assert [chance(p) for p in (0.0009, 0.001, 0.05)] == ["<0.001", "0.001", "0.050"]
    assert (clip("a" * 28), clip("a" * 29)) == ("a" * 28, "a" * 27 + "…")
    assert tick_labels([-0.5, 0.0, 1e-12, 0.25]) == ["-0.50", "0", "0", "0.25"]
