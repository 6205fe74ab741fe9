"""Where scores' variance comes from, and how many jurors and repeats make them dependable: generalisability theory.

A score is the sum of its case's level, its juror's harshness, how this juror takes this case, and chance. Of a balanced table
the variances come from mean squares; of a ragged one from restricted maximum likelihood.

References:
    Brennan (2001), Generalizability Theory. Springer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...orchestration.record import Arm, Store
from ...orchestration.verdict import Verdict
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.scale import NOT_APPLICABLE
from ..ratings.run_tables import arm_tables
from ..report.section import Section, answer_json, records
from ..statistics.jackknife import RAW, jackknife_spread
from ..statistics.matrix import FloatArray
from ..statistics.mixed import mixed_model

STAGES = ("first", "final")
"""Ballots before anybody was heard, and those that stand in the end: rounds are not exchangeable, so each is analysed apart."""
JURORS, REPEATS = (1, 2, 3, 4, 5, 7, 9, 12, 15, 20), (1, 2, 3)
ENOUGH = 0.8


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of cases, jurors, and what is left; a negative one is shown as it came out, and counts as 0."""

    case: float
    juror: float
    interaction: float
    """Of how jurors take cases; without repeats it is not told apart from chance, and holds both."""
    repeat: float
    """Of one juror's answers to the same case; NaN without repeats."""
    cases: int
    jurors: int
    repeats: float
    """Answers of a juror to a case; the harmonic mean where they differ."""
    method: str
    note: str = ""

    def relative_error(self, jurors: float, repeats: float = 1.0) -> float:
        """The variance of a mean over so many jurors that moves cases against each other."""
        repeat_error = 0.0 if math.isnan(self.repeat) else max(0.0, self.repeat) / (jurors * repeats)
        return max(0.0, self.interaction) / jurors + repeat_error

    def absolute_error(self, jurors: float, repeats: float = 1.0) -> float:
        """The variance of a mean over so many jurors about the case's own level: harshness counts too."""
        return self.relative_error(jurors, repeats) + max(0.0, self.juror) / jurors

    def relative(self, jurors: float, repeats: float = 1.0) -> float:
        """The generalisability coefficient: how far the order of cases would be the same with other jurors."""
        return _share(max(0.0, self.case), self.relative_error(jurors, repeats))

    def absolute(self, jurors: float, repeats: float = 1.0) -> float:
        """The index of dependability: how far the scores themselves would be the same."""
        return _share(max(0.0, self.case), self.absolute_error(jurors, repeats))

    def round_robin(self, repeats: float = 1.0) -> float:
        """The coefficient where each case is judged by one juror in turn: harshness moves cases against each other."""
        return self.absolute(1, repeats)


def variance_components(votes: pd.DataFrame) -> Components:
    """The components of `votes`: one row each, with `case`, `juror`, `repeat` and a numeric `value`, none of them blank.

    Returns:
        NaN throughout, with a note, where there are not two cases and two jurors who share some.
    """
    cells = votes.groupby(["case", "juror"])["value"].agg(["mean", "var", "count"])
    wide = cells["mean"].unstack("juror")
    n, k = wide.shape
    counts = cells["count"]
    repeats = float(len(counts) / (1 / counts).sum()) if len(counts) else math.nan
    repeat_variance = _within(cells)
    if n < 2 or k < 2 or wide.notna().sum(axis=1).max() < 2:
        reason = "at least two jurors must have judged at least two cases in common"
        return Components(math.nan, math.nan, math.nan, math.nan, n, k, repeats, "none", reason)
    complete = not wide.isna().to_numpy().any() and counts.nunique() == 1
    if complete:
        case, juror, residual = _mean_squares(wide.to_numpy(float))
        method = "analysis of variance"
        note = ""
    else:
        case, juror, residual, note = _likelihood_components(wide)
        method = "restricted maximum likelihood"
    interaction = residual if math.isnan(repeat_variance) else residual - repeat_variance / repeats
    return Components(case, juror, interaction, repeat_variance, n, k, repeats, method, note)


def _mean_squares(values: FloatArray) -> tuple[float, float, float]:
    """By mean squares: cases, jurors, and both together."""
    n, k = values.shape
    grand = values.mean()
    by_case, by_juror = values.mean(axis=1), values.mean(axis=0)
    residuals = values - by_case[:, None] - by_juror + grand
    of_case = k * ((by_case - grand) ** 2).sum() / (n - 1)
    of_juror = n * ((by_juror - grand) ** 2).sum() / (k - 1)
    residual = (residuals**2).sum() / ((n - 1) * (k - 1))
    return float((of_case - residual) / k), float((of_juror - residual) / n), float(residual)


def _likelihood_components(wide: pd.DataFrame) -> tuple[float, float, float, str]:
    rows = wide.rename_axis("juror", axis=1).reset_index().melt("case", value_name="value").dropna()
    fit = mixed_model(
        rows["value"].to_numpy(float),
        pd.DataFrame({"intercept": np.ones(len(rows))}),
        by=rows["case"].astype(str).rename("case"),
        also=[rows["juror"].astype(str).rename("juror")],
    )
    if not fit.spread:
        return math.nan, math.nan, math.nan, fit.note
    return fit.spread["case"] ** 2, fit.spread["juror"] ** 2, fit.spread["residual"] ** 2, fit.note


def _within(cells: pd.DataFrame) -> float:
    """The variance of a juror's answers to the same case, over all that were given more than once."""
    several = cells[cells["count"] > 1]
    freedom = float((several["count"] - 1).sum())
    return float((several["var"] * (several["count"] - 1)).sum() / freedom) if freedom else math.nan


def _share(signal: float, error: float) -> float:
    return signal / (signal + error) if signal + error > 0 else math.nan


@dataclass(frozen=True, slots=True)
class DStudy:
    """The components of one attribute at one stage, and the coefficients of designs."""

    attribute: str
    stage: str
    components: Components
    designs: pd.DataFrame
    """`jurors`, `repeats`, `design`, `relative`, `absolute`, `calls` and `usd` a case (NaN: price not known)."""

    @property
    def sentence(self) -> str:
        """What varies, and how many jurors would do."""
        of = self.components
        if math.isnan(of.case):
            return f"{self.attribute}, {self.stage} ballots: the reliability cannot be estimated: {of.note}."
        crossed = self.designs[(self.designs["design"] == "crossed") & (self.designs["repeats"] == 1)]
        enough = crossed[crossed["absolute"] >= ENOUGH]
        jurors_needed = (
            f"{enough['jurors'].iloc[0]} jurors would reach an absolute reliability of {ENOUGH:g}"
            if len(enough)
            else f"not even {crossed['jurors'].max()} jurors would reach an absolute reliability of {ENOUGH:g}"
        )
        relative, absolute = of.relative(of.jurors, of.repeats), of.absolute(of.jurors, of.repeats)
        return (
            f"{self.attribute}, {self.stage} ballots: {of.jurors} jurors have a reliability of {relative:.3f} for the order of cases (relative) "
            f"and of {absolute:.3f} for the scores themselves (absolute); {jurors_needed}. These are estimates from {of.cases} cases, without an interval."
        )


@dataclass(frozen=True, slots=True)
class RunDStudy:
    """The studies of one arm."""

    arm: str
    studies: tuple[DStudy, ...]
    notes: tuple[str, ...]


class BallotTable:
    """One row for each numeric vote, first and final: `arm`, `case`, `juror`, `repeat`, `attribute`, `stage`, `value`."""

    def __init__(self) -> None:
        self._rows: list[tuple[object, ...]] = []

    def add(self, arm: Arm, verdict: Verdict) -> None:
        transcript = verdict.transcript
        first_votes: dict[tuple[str, str], object] = {}
        for entry in transcript.ballots:
            for vote in entry.ballot.votes:
                first_votes.setdefault((vote.attribute, entry.speaker), vote.value)
        final_votes: dict[tuple[str, str], object] = {
            (attribute, juror): ballot.vote.value
            for attribute, votes in transcript.standing().items()
            for juror, ballot in votes.items()
        }
        for stage, values in (("first", first_votes), ("final", final_votes)):
            for (attribute, juror), value in values.items():
                if arm.rubric.scale_of(attribute).ordered and value != NOT_APPLICABLE:
                    seat, _, hearing = juror.partition("#")
                    repeat = hearing or str(arm.jury.hearing)
                    self._rows.append((arm.jury.first_name, verdict.case, seat, repeat, attribute, stage, value))  # fmt: skip

    def table(self) -> pd.DataFrame:
        columns = ["arm", "case", "juror", "repeat", "attribute", "stage", "value"]
        votes = pd.DataFrame(self._rows, columns=columns)
        return votes.assign(value=pd.to_numeric(votes["value"]))


def run_dstudy(run: Store | Path | str, *, arm: str | None = None, attribute: str | None = None) -> RunDStudy:
    """The generalisability study of an arm of a run, attribute by attribute, first ballots and final ones apart.

    Raises:
        VenireError: There is no such arm or attribute, or no vote on an ordered scale.
    """
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        arms = {a.name: a for a in store.arms() if a.jury.hearing == 1}
        if arm is not None and arm not in arms:
            raise VenireError(f"no arm named {arm!r} in this run", remedy=nearest(arm, arms))
        (votes,) = arm_tables(store, BallotTable())
        cost = {a.name: _price(store, a) for a in arms.values()}
    finally:
        if store is not run:
            store.release()
    several = [name for name, a in arms.items() if len(a.jury.seats) > 1]
    arm_name = arm or next(iter(several), next(iter(arms), ""))
    rated = votes[votes["arm"] == arm_name]
    names = list(dict.fromkeys(rated["attribute"]))
    if attribute is not None and attribute not in names:
        raise VenireError(
            f"{arm_name} has no vote on {attribute!r}, or the values of {attribute!r} have no order",
            remedy=nearest(attribute, names),
        )
    if not names:
        raise VenireError(
            f"{arm_name or store.name}: no juror voted on a scale with an order",
            remedy="use a run whose rubric has an attribute on a scale with an order",
        )
    studies = [
        study(rated[(rated["attribute"] == name) & (rated["stage"] == stage)], name, stage, cost[arm_name])
        for name in names
        if attribute in (None, name)
        for stage in STAGES
    ]
    shown_studies = [s for s in studies if s.stage == "final"] if _unmoved(rated) else studies
    notes = ("first and final ballots are the same, because no juror voted twice",) if _unmoved(rated) else ()
    return RunDStudy(arm_name, tuple(shown_studies), notes)


def study(votes: pd.DataFrame, attribute: str, stage: str, usd: float = math.nan) -> DStudy:
    """The components of votes on one attribute, and what designs of other sizes would give.

    Args:
        usd: What one ballot costs.
    """
    components = variance_components(votes)
    rows: list[Mapping[str, object]] = []
    for repeats in REPEATS if not math.isnan(components.repeat) else (1,):
        for jurors in dict.fromkeys(sorted({*JURORS, components.jurors})):
            rows.append(
                {
                    "design": "crossed",
                    "jurors": jurors,
                    "repeats": repeats,
                    "relative": components.relative(jurors, repeats),
                    "absolute": components.absolute(jurors, repeats),
                    "calls": jurors * repeats,
                    "usd": usd * jurors * repeats,
                }
            )
        rows.append(
            {
                "design": "round robin",
                "jurors": components.jurors,
                "repeats": repeats,
                "relative": components.round_robin(repeats),
                "absolute": components.round_robin(repeats),
                "calls": repeats,
                "usd": usd * repeats,
            }
        )
    return DStudy(attribute, stage, components, pd.DataFrame(rows))


REPEATS_NAME = "repeats"
SHARES = ("case", "seat", "case_seat", "repeat")


class RepeatedVerdicts:
    """One row for each verdict with a number: `arm` (under its first name), `case`, `repeat` (of the deliberation), `attribute`, `value`."""

    def __init__(self) -> None:
        self._rows: list[tuple[object, ...]] = []

    def add(self, arm: Arm, verdict: Verdict) -> None:
        self._rows += [
            (arm.jury.first_name, verdict.case, arm.jury.hearing, name, outcome.value)
            for name, outcome in verdict.outcomes.items()
            if outcome.status == "reached" and arm.rubric.scale_of(name).ordered
        ]

    def table(self) -> pd.DataFrame:
        votes = pd.DataFrame(self._rows, columns=["arm", "case", "repeat", "attribute", "value"])
        return votes.assign(value=pd.to_numeric(votes["value"]))


def repeats_section(store: Store, arms: Collection[str]) -> Section | None:
    """Where the variance of verdicts and votes comes from in arms whose deliberations were repeated, and whether one run is enough.

    One row for each arm, attribute and what varies (the verdict; the seats' votes before and after deliberation): the variances, and each one's
    share with its interval. None where no deliberation was repeated.
    """
    if not arms:
        return None
    verdicts, votes = arm_tables(store, RepeatedVerdicts(), BallotTable())
    rows, sentences = [], []
    for (arm, attribute), group_verdicts in verdicts[verdicts["arm"].isin(list(arms))].groupby(["arm", "attribute"], sort=False):  # fmt: skip
        variance_row = _shares_row(group_verdicts, verdict_variances)
        rows.append({"arm": arm, "attribute": attribute, "of": "verdict", **variance_row})
        for stage, words in (("first", "votes, first round"), ("final", "votes, last round")):
            cast = votes[(votes["arm"] == arm) & (votes["attribute"] == attribute) & (votes["stage"] == stage)]  # fmt: skip
            rows.append({"arm": arm, "attribute": attribute, "of": words, **_shares_row(cast, _vote_variances)})  # fmt: skip
        sentences.append(_repeats_sentence(str(arm), str(attribute), variance_row))
    return Section(
        REPEATS_NAME,
        "Is one run of a deliberation enough?",
        tuple(sentences),
        {"variances": pd.DataFrame(rows)},
        methods=(
            "Repeats of deliberations: verdicts vary between cases and between repeats of one case; votes also vary between jurors. Variances are "
            "estimated from mean squares (Brennan 2001), and each share of the variance has a jackknife interval over cases. An arm's verdict is the median of its repeats, or their majority.",
        ),
    )  # fmt: skip


def verdict_variances(verdicts: pd.DataFrame) -> dict[str, float]:
    """The variance of verdicts between cases, and between repeats of one case; NaN with fewer than two cases or no repeat."""
    cells = verdicts.groupby("case")["value"].agg(["mean", "var", "count"])
    repeat_variance = _within(cells)
    if len(cells) < 2 or math.isnan(repeat_variance):
        return {"case": math.nan, "repeat": math.nan}
    times = float(len(cells) / (1 / cells["count"]).sum())
    return {"case": float(cells["mean"].var()) - repeat_variance / times, "repeat": repeat_variance}


def _vote_variances(votes: pd.DataFrame) -> dict[str, float]:
    of = variance_components(votes)
    return {"case": of.case, "seat": of.juror, "case_seat": of.interaction, "repeat": of.repeat}


def _shares_row(table: pd.DataFrame, variances: Callable[[pd.DataFrame], dict[str, float]]) -> dict[str, Any]:
    """The variances, and what share of their sum each is; a negative one counts as 0 there."""
    estimates = variances(table)
    cases = list(dict.fromkeys(table["case"]))
    jackknifed = [_variance_shares(variances(table[table["case"] != case])) for case in cases]
    shares = _variance_shares(estimates)
    row: dict[str, Any] = {"cases": len(cases), "repeats": int(table["repeat"].nunique())}
    for name in SHARES:
        row[name] = estimates.get(name, math.nan)
        spread = jackknife_spread(shares[name], np.array([shares_without[name] for shares_without in jackknifed]), RAW) if name in estimates and len(cases) > 2 else ""  # fmt: skip
        low, high = (math.nan, math.nan) if isinstance(spread, str) else spread.bounds()
        low, high = np.clip([low, high], 0.0, 1.0).tolist()
        row |= {f"{name}_share": shares[name], f"{name}_low": low, f"{name}_high": high}
    return row


def _variance_shares(estimates: Mapping[str, float]) -> dict[str, float]:
    raw = {name: max(0.0, value) if not math.isnan(value) else math.nan for name, value in estimates.items()}
    total = sum(raw.values())
    return {name: raw.get(name, math.nan) / total if total > 0 else math.nan for name in SHARES}


def _repeats_sentence(arm: str, attribute: str, row: Mapping[str, Any]) -> str:
    if math.isnan(row["repeat"]) or math.isnan(row["repeat_share"]):
        return f"{arm}, {attribute}: whether one run of the deliberation is enough cannot be estimated: verdicts do not vary, or no deliberation was repeated."
    single_run = 1 - row["repeat_share"]
    several = _share(max(0.0, row["case"]), row["repeat"] / row["repeats"])
    interval = "" if math.isnan(row["repeat_high"]) else f" (95% interval {1 - row['repeat_high']:.2f} to {1 - row['repeat_low']:.2f})"  # fmt: skip
    answer = (
        "one run of the deliberation is enough"
        if single_run >= ENOUGH
        else "one run of the deliberation is not enough"
    )
    return f"{arm}, {attribute}: {answer}. The share of the variance of verdicts that comes from differences between cases is {single_run:.2f}{interval} with one run and {several:.2f} with {row['repeats']} runs. A share of {ENOUGH:g} or more is enough."


def _unmoved(votes: pd.DataFrame) -> bool:
    """Whether every final vote is the first."""
    keys = ["case", "juror", "repeat", "attribute"]
    votes_1, votes_2 = (votes[votes["stage"] == stage].set_index(keys)["value"] for stage in STAGES)
    return len(votes_1) == len(votes_2) and bool((votes_1.reindex(votes_2.index) == votes_2).all())


def _price(store: Store, arm: Arm) -> float:
    """What a juror's turn costs; NaN where a price is not known."""
    turns, spent = 0, 0.0
    for transcript in store.transcripts(arm):
        turns += transcript.turns
        spent += transcript.cost.amount("usd")
    return spent / turns if turns else math.nan


def dstudy_json(run: str, found: RunDStudy) -> dict[str, Any]:
    """The study as JSON; NaN is null."""
    sentences = [s.sentence for s in found.studies]
    return answer_json(
        run, found.arm, "studies", list(map(_study_json, found.studies)), sentences, found.notes
    )


def dstudy_answer(found: RunDStudy) -> Section:
    """Where the variance comes from, a row for each attribute and stage, negative components as they came out; then the
    designs of other sizes for each, with their coefficients and what they cost."""
    components = []
    tables = {"": pd.DataFrame()}
    for study in found.studies:
        of = study.components
        components.append(
            {
                "attribute": study.attribute,
                "ballots": study.stage,
                "cases": _cell(of.case, 4),
                "jurors": _cell(of.juror, 4),
                "case x juror": _cell(of.interaction, 4),
                "repeats": _cell(of.repeat, 4),
                "relative": _cell(of.relative(of.jurors, of.repeats)),
                "absolute": _cell(of.absolute(of.jurors, of.repeats)),
            }
        )
        designs = study.designs
        tables[f"{study.attribute}, {study.stage} ballots"] = pd.DataFrame(
            {
                **{name: designs[name] for name in ("design", "jurors", "repeats")},
                "relative": designs["relative"].map(_cell),
                "absolute": designs["absolute"].map(_cell),
                "calls per case": designs["calls"],
                "cost per case": ["unknown" if math.isnan(usd) else f"${usd:.5f}" for usd in designs["usd"]],
            }
        )
    tables[""] = pd.DataFrame(components)
    notes = [
        f"{study.attribute}, {study.stage} ballots: {study.components.note}"
        for study in found.studies
        if study.components.note
    ]
    sentences = tuple(study.sentence for study in found.studies)
    return Section("dstudy", "How many jurors are enough", sentences, tables, notes=(*notes, *found.notes))


def _study_json(dstudy: DStudy) -> dict[str, Any]:
    of = dstudy.components
    numbers = {"case": of.case, "juror": of.juror, "interaction": of.interaction, "repeat": of.repeat}
    return {
        "attribute": dstudy.attribute,
        "stage": dstudy.stage,
        "components": {name: None if math.isnan(value) else value for name, value in numbers.items()},
        "cases": of.cases,
        "jurors": of.jurors,
        "repeats": None if math.isnan(of.repeats) else of.repeats,
        "method": of.method,
        "note": of.note,
        "designs": records(dstudy.designs),
    }


def _cell(value: float, places: int = 3) -> str:
    return "" if math.isnan(value) else f"{value:.{places}f}"
