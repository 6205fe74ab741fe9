"""Self-preference: whether jurors score the outputs of their own provider higher than the others do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..ratings.evidence import Evidence
from ..ratings.pooling import pooling, upright
from ..ratings.sheet import OVERALL
from ..statistics.crossed import MixedFit, mixed_model
from ..statistics.multiplicity import holm
from .families import family

ALL = "all jurors"
SAME = "same provider"
COLUMNS = [
    *("attribute", "juror", "value", "low", "high", "se", "p", "p_holm", "same", "n"),
    *("case_variance", "juror_variance", "residual_variance", "note"),
]


@dataclass(frozen=True, slots=True)
class Preference:
    """The effect of a shared provider, and what it rests on."""

    effects: pd.DataFrame
    """By attribute and juror (`all jurors` is one effect for everyone): points by which own outputs are favoured."""
    providers: pd.DataFrame
    """`name`, `role` (juror or system), `family` (empty where the name tells none), `cases`."""
    notes: tuple[str, ...] = ()
    why: str = ""
    """Why there is no effect to estimate, should there be none."""


def self_preference(evidence: Evidence, families: Mapping[str, str] | None = None) -> Preference:
    """A mixed model of each attribute's score on whether juror and system share a provider.

    A juror is a model: its seats, arms and repeats count as their mean, so that a model which sits thrice is not three
    jurors. Scores are points, turned so that higher is better. Random intercepts are by case and juror; the share of a
    case's jurors that are of its provider stands beside the effect, so that a provider whose outputs are better is
    not taken for one that is favoured.

    References:
        Mundlak (1978), Econometrica 46:69-85.
    """
    systems = evidence.cases.drop_duplicates("case").set_index("case")["system"].dropna().astype(str)
    votes = _votes(evidence, systems)
    producing = {name: family(name, families) for name in dict.fromkeys(systems)}
    judging = {name: family(name, families) for name in dict.fromkeys(votes["juror"])}
    providers = _providers(votes, systems, judging, producing)
    notes = []
    if nameless := sorted(name for name, of in judging.items() if not of):
        notes.append(f"jurors whose provider their name does not tell, and left out: {_some(nameless)}")
    if unknown := sorted(name for name, of in producing.items() if not of):
        notes.append(f"systems taken as no juror's own, as their names tell no provider: {_some(unknown)}")
    votes = votes[votes["juror"].map(judging) != ""]
    own = votes["juror"].map(judging) == votes["system"].map(producing)
    votes = votes.assign(same=own.to_numpy(float))
    if why := _why_not(votes, systems):
        return Preference(pd.DataFrame(columns=COLUMNS), providers, tuple(notes), why)
    shared = pooling(evidence.questions).names
    together = votes[votes["attribute"].isin(shared)]
    keys = ["case", "juror", "same"]
    rows = []
    if len(shared) > 1:
        rows += _effects(OVERALL, together.groupby(keys, sort=False)["value"].mean().reset_index())
    for attribute in (name for name in evidence.questions if name in set(votes["attribute"])):
        rows += _effects(attribute, votes[votes["attribute"] == attribute])
    table = pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "p_holm"])
    single = (table["juror"] == ALL) & ((table["attribute"] == OVERALL) | (len(shared) < 2))
    corrected = table.groupby(single)["p"].transform(lambda p: holm(p.tolist()))
    return Preference(table.assign(p_holm=corrected)[COLUMNS], providers, tuple(notes))


def _votes(evidence: Evidence, systems: pd.Series) -> pd.DataFrame:
    """One row for each case, model and attribute of an ordered scale: the mean score, turned, and the system."""
    votes = evidence.ballots
    columns = ["case", "juror", "attribute", "value", "system"]
    ordered = {name: asked for name, asked in evidence.questions.items() if asked.scale.ordered}
    if votes.empty or systems.empty:
        return pd.DataFrame(columns=columns)
    votes = votes[votes["attribute"].isin(list(ordered)) & votes["case"].isin(systems.index)]
    points = pd.to_numeric(votes["value"], errors="coerce").astype(float)
    good_high = upright(points, votes["attribute"], ordered)
    votes = votes.assign(value=good_high, juror=votes["model"]).dropna(subset=["value"])
    means = votes.groupby(["case", "juror", "attribute"], sort=False, as_index=False)["value"].mean()
    return means.assign(system=means["case"].map(systems))[columns]


def _why_not(votes: pd.DataFrame, systems: pd.Series) -> str:
    if systems.empty:
        return "no case says which `system` produced it"
    if votes.empty:
        return "no juror's vote with a provider that its model's name tells"
    by_case = votes.groupby("case")
    if not (by_case["same"].nunique() > 1).any():
        if not votes["same"].any():
            return "no juror shares a provider with a system it judged"
        return "no case was judged by a juror of its own provider and by one of another"
    if votes["juror"].nunique() < 2:
        return "one juror's model alone"
    return ""


def _effects(attribute: str, rows: pd.DataFrame) -> list[tuple[object, ...]]:
    """One effect for everyone and, where two jurors or more have an own provider among the systems, one for each."""
    rows = rows.reset_index(drop=True)
    own = {ALL: rows["same"]}
    found = [_row(attribute, own, rows)[0]]
    each = {
        str(juror): rows["same"].where(rows["juror"] == juror, 0.0)
        for juror in dict.fromkeys(rows["juror"])
        if rows.loc[rows["juror"] == juror, "same"].nunique() > 1
    }
    return found + (_row(attribute, each, rows) if len(each) > 1 else [])


def _row(attribute: str, own: Mapping[str, pd.Series], rows: pd.DataFrame) -> list[tuple[object, ...]]:
    fit = _model(own, rows)
    spread = [fit.spread.get(name, np.nan) ** 2 for name in ("case", "juror", "residual")]
    found = []
    for name, column in own.items():
        effect = fit.effects[name]
        told = (effect.value, effect.low, effect.high, effect.se, fit.p[name], int(column.sum()), effect.n)
        found.append((attribute, name, *told, *spread, fit.note))
    return found


def _model(own: Mapping[str, pd.Series], rows: pd.DataFrame) -> MixedFit:
    """The model; the shares of cases are left out where they do not vary."""
    fixed = pd.DataFrame({"intercept": 1.0, **own}, index=rows.index)
    for name, column in own.items():
        share = column.groupby(rows["case"]).transform("mean")
        wider = fixed.assign(**{f"share of {name}": share})
        if np.linalg.matrix_rank(wider.to_numpy(float)) == wider.shape[1]:
            fixed = wider
    return mixed_model(rows["value"].to_numpy(float), fixed, by=rows["case"], also=[rows["juror"]])


def _providers(
    votes: pd.DataFrame, systems: pd.Series, judging: Mapping[str, str], producing: Mapping[str, str]
) -> pd.DataFrame:
    judged = votes.groupby("juror")["case"].nunique()
    made = systems.value_counts()
    rows = [(name, "juror", of, int(judged[name])) for name, of in judging.items()]
    rows += [(name, "system", of, int(made[name])) for name, of in producing.items()]
    return pd.DataFrame(rows, columns=["name", "role", "family", "cases"])


def _some(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
