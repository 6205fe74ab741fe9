"""Numbers as figures and tables write them."""

from __future__ import annotations

import math

import pytest

from venire.evals.report.drawing import amount


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
