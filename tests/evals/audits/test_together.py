"""Whether jurors fail together: the chance of common failures."""

from __future__ import annotations

import pytest
from scipy import stats

from venire.evals.audits.together import _chance_of_overlap


@pytest.mark.parametrize(
    ("both", "n", "k", "m"), [(0, 10, 4, 5), (3, 10, 4, 5), (4, 5, 4, 5), (30, 400, 90, 100)]
)
def test_the_chance_of_common_failures_is_hypergeometric(both, n, k, m) -> None:
    assert _chance_of_overlap(both, n, k, m) == pytest.approx(
        stats.hypergeom.sf(both - 1, n, k, m), abs=1e-12
    )
