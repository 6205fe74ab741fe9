"""Which coefficient is to be reported, for designs of every kind."""

import numpy as np
import pandas as pd
import pytest

from venire.evals.agreement.rater_agreement import agreement, report_lines


def ratings(raters: int, values: list[object], *, gaps: bool = False, noise: float = 0.3) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = []
    for case in range(40):
        true = rng.integers(len(values))
        for rater in range(raters):
            if gaps and (case + rater) % 4 == 0:
                continue
            seen = true if rng.random() > noise else rng.integers(len(values))
            rows.append((f"c{case}", f"r{rater}", "a", values[seen]))
    return pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])


@pytest.mark.parametrize(
    ("table", "level", "reported"),
    [
        (ratings(2, ["yes", "no"]), None, "kappa"),
        (ratings(4, ["a", "b", "c"]), None, "fleiss"),
        (ratings(4, ["a", "b", "c"], gaps=True), None, "alpha_nominal"),
        (ratings(2, [1, 2, 3, 4, 5]), "ordinal", "kappa_quadratic"),
        (ratings(7, [1, 2, 3, 4, 5]), "ordinal", "alpha_ordinal"),
        (ratings(7, [1, 2, 3, 4, 5], gaps=True), "ordinal", "alpha_ordinal"),
        (ratings(3, [5, 5, 5, 5, 5, 5, 5, 4]), "ordinal", "ac2"),
        (ratings(3, [0, 0, 0, 0, 0, 1], noise=0.1), "binary", "ac1"),
        (ratings(3, list(np.linspace(0, 100, 60))), "interval", "icc2"),
        (ratings(3, list(np.linspace(0, 100, 60)), gaps=True), "interval", "alpha_interval"),
        (ratings(1, [1, 2, 3]), "ordinal", None),
        (ratings(3, [4]), "ordinal", None),
    ],
)
def test_the_design_says_which_coefficient_to_report(table, level, reported):
    found = agreement(table, levels={"a": level} if level else None, resamples=20)

    assert found.report["a"].coefficient == reported
    assert found.report["a"].why
    first = report_lines(found)[0]
    assert first.startswith(f"report {reported}: a ") if reported else "no coefficient to report" in first
    assert found.to_json()["report"]["a"]["coefficient"] == reported
