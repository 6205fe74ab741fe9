"""The result of a selection: tables, and the advice that they allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd


@dataclass(frozen=True)
class Composition:
    """Every table of a study; those that its evidence has nothing for are empty."""

    advice: tuple[str, ...]
    """What to use, what cannot be told, what to try next."""
    recommended: str
    """The arm that the advice names first; where cases are too few for advice, the one that scored best."""
    answers: pd.DataFrame
    """`what`, `value`, `low`, `high`, `n`, `p`, `method`, `note`: the jury and the single judge on cases they were not
    chosen on, their difference, and how far the naive figures flatter."""
    frontier: pd.DataFrame
    """`arm`, `kind`, `size`, `score`, `low`, `high`, `answered`, `cost`, `seconds`, `front`: what agreement costs."""
    noise: pd.DataFrame
    """`arm`, `arms`, `cost`, `value`, `low`, `high`, `n`, `p`, `within`, `note`: the best of all minus the best at each price, both
    chosen on other cases, and whether that can be told from nothing."""
    power: pd.DataFrame
    """`first`, `second`, `n`, `difference`, `sd`, `detectable`, `cases_for_0.05`, `cases_for_0.02`."""
    selection: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`fold`, `size`, `jurors`, `chosen_on`, `held_out` and the same of the single judge: what each fold chose."""
    jurors: pd.DataFrame = field(default_factory=pd.DataFrame)
    """One row a juror: `score`, what it adds (`leave_one_out`, `shapley`, with error bars), what it costs."""
    correlations: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`first`, `second`, `correlation`, `n`: of their errors."""
    independence: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`jury`, `jurors`, `correlation`, `effective`, `low`, `high`, `participation`, `note`."""
    growth: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`how` (random or chosen), `size`, `score`, `low`, `high`, `weakest`, `strongest`, `juries`."""
    choices: pd.DataFrame = field(default_factory=pd.DataFrame)
    """For each attribute, or all: what to seat by the study's objective, held out, against the best single judge, with what
    the jury gains, and whether a cheaper one is shown to be within the margin."""
    measures: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`attribute`, `arm`, `who`, and Spearman, ICC, kappa of the arms that `choices` names, held out."""
    position: pd.DataFrame = field(default_factory=pd.DataFrame)
    """One row a juror with both orders: `consistent`, `first`, `low`, `high`, `n`."""
    unit: str = "votes a case"
    """What `cost` counts."""
    measure: str = "agreement with people"
    methods: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Every table that has rows, by name."""
        names = (
            "choices", "measures", "answers", "frontier", "noise", "selection", "jurors", "independence",
            "correlations", "growth", "position", "power",
        )  # fmt: skip
        found = {name: getattr(self, name) for name in names}
        return {name: table for name, table in found.items() if len(table)}

    def sentences(self) -> list[str]:
        """The advice, in words."""
        return list(self.advice)
