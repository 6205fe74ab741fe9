"""Coefficients as a registry: one object each, found by entry point, in the order that programs read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from venire.evals.agreement import coefficients
from venire.evals.agreement.coefficients import Coefficient, Setting, registered_coefficients
from venire.evals.agreement.rater_agreement import agreement
from venire.evals.statistics.estimate import Estimate


def ratings(seed: int) -> pd.DataFrame:
    """Three raters of twelve cases, from one to five."""
    values = np.random.default_rng(seed).integers(1, 6, (12, 3))
    rows = [(f"c{n}", f"r{m}", "clear", float(values[n, m])) for n in range(12) for m in range(3)]
    return pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])


@pytest.mark.parametrize("seed", range(4))
def test_every_value_lies_in_its_coefficients_range(seed: int) -> None:
    for name, each in agreement(ratings(seed), resamples=20).overall.items():
        low, high = registered_coefficients()[name].range
        assert not each.defined or low <= each.value <= high, name


class OwnPlugin:
    """What a package registers: a coefficient of its own."""

    def load(self) -> Coefficient:
        def spread(table: pd.DataFrame, setting: Setting) -> Estimate:
            value = float(table.groupby("case")["value"].std().mean())
            return Estimate(value, value, value, table["case"].nunique(), "mean SD within a case")

        return Coefficient("spread", spread, (0.0, float("inf")))


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One coefficient more is registered than venire brings itself."""
    known = dict(coefficients.registered_plugins(coefficients.GROUP))
    monkeypatch.setattr(coefficients, "registered_plugins", lambda group: {"spread": OwnPlugin(), **known})
    registered_coefficients.cache_clear()
    yield
    registered_coefficients.cache_clear()


@pytest.mark.usefixtures("own")
def test_a_registered_coefficient_comes_last_and_is_not_given_what_it_cannot_read() -> None:
    table = ratings(0)
    found = agreement(table, resamples=20).overall

    assert list(found)[-1] == "spread" and found["spread"].value > 0
    words = agreement(table.assign(value=["yes", "no", "no"] * 12), resamples=20).overall
    assert not words["spread"].defined and "nominal" in words["spread"].note
