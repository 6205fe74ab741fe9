"""What a reader of a run should know of each deliberation, beside its scores, as one table."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ..orchestration.analysis import contradictions, flags, instant_agreements
from ..orchestration.export import verdicts
from ..orchestration.store import Store
from ..rubrics.scale import Value

KINDS = (
    *("hung", "overruled", "unsupported-evidence", "contradicted", "premature-consensus"),
    *("instruction", "abstention"),
)
"""The flags that bear on whether a person should look."""
COLUMNS = ["arm", "case", "kind", "attribute", "text"]


def arm_moments(store: Store, ratings: pd.DataFrame) -> pd.DataFrame:
    """One row for each flag of each deliberation: `arm`, `case`, `kind`, `attribute`, `text`.

    `ratings` are the arms' scores, as `arm_ratings` gives them: what other arms found of the same case.
    """
    reached: dict[str, dict[str, dict[str, Value]]] = {}
    for case, arm, attribute, value in ratings[["case", "rater", "attribute", "value"]].itertuples(
        index=False
    ):
        reached.setdefault(str(case), {}).setdefault(str(arm), {})[str(attribute)] = value
    rows = []
    for arm, verdict in verdicts(store):
        others: Mapping[str, Mapping[str, Value]] = reached.get(verdict.case, {})
        agreements = instant_agreements(verdict.transcript, arm.rubric)
        found = [*flags(verdict, arm.rubric)]
        for other, values in others.items():
            if other != arm.name and agreements:
                found += contradictions(agreements, other, values)
        rows += [
            (arm.name, verdict.case, flag.kind, flag.attribute, flag.text)
            for flag in found
            if flag.kind in KINDS
        ]
    return pd.DataFrame(rows, columns=COLUMNS)
