"""Arms against people: who comes nearer, by how much, and whether the difference can be told from chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from ...orchestration.record import Store
from ...rubrics.errors import VenireError
from ..agreement.icc_intervals import METHODS as ICC_METHODS
from ..agreement.rater_agreement import cells
from ..audits import Severity
from ..figures.section import Section
from ..metrics.normalisation import Normalisation
from ..ratings.evidence import Evidence, gather
from ..ratings.people import load_ratings
from ..ratings.rating_check import RatingCheck
from ..ratings.reference import Rule
from ..ratings.reserved_names import without_reserved_names
from ..ratings.sheet import CONSTANT, lay_out
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate
from .analyses import comparison_sections
from .arm_agreement import arm_agreement
from .arm_tables import (
    confusion_table,
    gaps_table,
    icc3k_table,
    kappa_table,
    numeric_pairs,
    signed_ranks_table,
)
from .contrasts import contrasts, resamples_note, sentences
from .effects import INTERCEPTS, effects
from .method_sentences import comparison_methods
from .panels import panels
from .text_baselines import text_baselines

Found = Mapping[str, Mapping[str, Mapping[str, Estimate]]]


@dataclass(frozen=True)
class Comparison:
    """Each arm against the reference of the people who rated the same cases, as tables."""

    agreement: Found
    """By arm, attribute (`overall` pools those that share a scale) and coefficient."""
    kinds: Mapping[str, str]
    """By arm: jury, single judge, person, floor or text overlap."""
    icc3k: pd.DataFrame
    """By arm and attribute: ICC(3,k) with its F interval and its bootstrap interval."""
    signed_ranks: pd.DataFrame
    """By arm and attribute: Wilcoxon's test, the median difference from people and its quartiles."""
    differences: pd.DataFrame
    """For each two arms, what `contrasts` finds."""
    panels: pd.DataFrame
    effects: pd.DataFrame
    costs: pd.DataFrame
    stops: pd.DataFrame
    confusion: pd.DataFrame
    """By arm and attribute: how often the arm gave `arm_value` where people gave `people_value`."""
    gaps: pd.DataFrame
    """By arm and attribute: how often the arm stood how far above people."""
    pairs: pd.DataFrame
    """Quadratic kappa of every two raters, on the attributes that `overall` pools."""
    methods: tuple[str, ...]
    """Every choice made, as sentences for a paper."""
    notes: tuple[str, ...]
    """What could not be done, and why."""
    sections: tuple[Section, ...] = ()
    """Severe errors, triage, and whatever else was looked into; each with sentences, tables and figures."""
    ratings: RatingCheck | None = None
    """What became of the people's ratings: how many are used, and why the others are not."""

    @cached_property
    def table(self) -> pd.DataFrame:
        """`agreement` as one row for each arm, attribute and coefficient, with the band its value falls in."""
        rows = [
            {
                "arm": arm,
                "kind": self.kinds[arm],
                "attribute": attribute,
                "coefficient": name,
                **cells(name, each),
            }
            for arm, attributes in self.agreement.items()
            for attribute, found in attributes.items()
            for name, each in found.items()
        ]
        return pd.DataFrame(rows)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table by name, as the CSV files hold them; those of a section start with its name."""
        return self.main_tables | {
            f"{section.name}_{name}": table
            for section in self.sections
            for name, table in section.tables.items()
        }

    @property
    def main_tables(self) -> dict[str, pd.DataFrame]:
        """The tables of the comparison itself, by name."""
        return {
            "agreement": self.table,
            "icc3k": self.icc3k,
            "differences": self.differences,
            "signed_ranks": self.signed_ranks,
            "panels": self.panels,
            "effects": self.effects,
            "costs": self.costs,
            "stops": self.stops,
            "confusion": self.confusion,
            "gaps": self.gaps,
            "pairs": self.pairs,
        }

    def sentences(self) -> list[str]:
        """What the paired differences allow to be said, and what they do not."""
        return sentences(self.differences)


def compare(
    run: Store | Path | str,
    human: pd.DataFrame | Path | str,
    *,
    wide: bool = False,
    reference: Rule | None = None,
    seed: int = 0,
    resamples: int = 1000,
    severity: Severity | None = None,
    families: Mapping[str, str] | None = None,
    rescore: Sequence[str] = (),
    metrics: Sequence[str] = (),
    normal: Normalisation | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """The arms of `run` against the ratings in `human`; resamples cases or their groups, never ratings.

    Args:
        reference: How people's ratings of a question become one: mean, median or majority.
        severity: What counts as harmful, and by what margin it is called safe.
        families: Names or patterns of models and systems with the provider of each, before those that are known.
        rescore: Raters who are a second panel: held against the others, and no part of the reference.
        metrics: Names of metrics that stand beside the arms, by how they order the cases.
        normal: How both texts are normalised for those.
        progress: Told how many tokens of the cases' texts MiniLM has read, of how many.
    """
    ratings = human if isinstance(human, pd.DataFrame) else load_ratings(human, wide=wide)
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        baselines = partial(text_baselines, progress=progress, more=metrics, normal=normal)
        evidence = gather(store, ratings, rescore=rescore, baselines=baselines, rule=reference)
    finally:
        if store is not run:
            store.release()
    return compare_evidence(evidence, seed=seed, resamples=resamples, severity=severity, families=families)


def compare_evidence(
    evidence: Evidence,
    *,
    seed: int = 0,
    resamples: int = 1000,
    severity: Severity | None = None,
    families: Mapping[str, str] | None = None,
    predictors: Sequence[str] = (),
    intercepts: Sequence[str] = INTERCEPTS,
    jurors: bool = False,
) -> Comparison:
    """`compare`, of what was read from the run and the ratings.

    Args:
        predictors: Columns of the cases, beside those that are always looked at, that may explain differences from people.
        intercepts: What differs at random in that model.
        jurors: Whether calibration is told of each juror attribute by attribute, too.
    """
    if _on_rated_cases(evidence.arms, evidence.people).empty:
        raise _nothing_to_compare(evidence)
    evidence = without_reserved_names(evidence)
    # Products here are too small to be shared out among threads, which only spin and wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        return _comparison(
            evidence, Draws(seed, resamples), severity, families, predictors, intercepts, jurors
        )


def _comparison(
    evidence: Evidence,
    draws: Draws,
    severity: Severity | None,
    families: Mapping[str, str] | None,
    predictors: Sequence[str],
    intercepts: Sequence[str],
    jurors: bool,
) -> Comparison:
    sheet = lay_out(evidence)
    numeric = numeric_pairs(sheet)
    seated, alone = panels(sheet, draws)
    moved, told = effects(sheet, evidence.cases, predictors, intercepts=intercepts)
    parts = comparison_sections(evidence, draws, severity=severity, families=families, jurors=jurors)
    kinds = {
        **{arm: evidence.kinds[arm] for arm in sheet.arms},
        **(dict.fromkeys(sheet.people, "person") if len(sheet.people) > 1 else {}),
        CONSTANT: "floor",
        **dict.fromkeys(sheet.overlap.columns, "text overlap"),
    }
    differences = contrasts(sheet, draws)
    return Comparison(
        agreement={arm: arm_agreement(sheet, arm, kind, draws) for arm, kind in kinds.items()},
        kinds=kinds,
        icc3k=icc3k_table(numeric, draws),
        signed_ranks=signed_ranks_table(numeric),
        differences=differences,
        panels=seated,
        effects=moved,
        costs=evidence.costs,
        stops=evidence.stops,
        confusion=confusion_table(sheet, numeric),
        gaps=gaps_table(numeric),
        pairs=kappa_table(sheet),
        methods=(
            *comparison_methods(sheet, draws),
            ICC_METHODS,
            *(sentence for part in parts for sentence in part.methods),
        ),
        ratings=evidence.ratings,
        notes=(
            *evidence.notes,
            *evidence.reference().notes,
            *filter(None, [alone, resamples_note(differences, draws.resamples)]),
            *dict.fromkeys(told),
        ),
        sections=parts,
    )


class EverythingHung(VenireError):
    """Every verdict that people rated is hung, so that there is nothing to compare."""

    def __init__(self, problem: str, *, remedy: str, unreached: bool) -> None:
        super().__init__(problem, remedy=remedy)
        self.unreached = unreached
        """Whether that is because a model could not be reached."""


def _on_rated_cases(table: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """The rows of `table` on a case and attribute that people rated."""
    keys = ["case", "attribute"]
    rated = people[keys].astype(str).drop_duplicates()
    return table.astype(dict.fromkeys(keys, str)).merge(rated, on=keys)


def _nothing_to_compare(evidence: Evidence) -> VenireError:
    """Why the run and the ratings share no score: none was reached, all is hung, or they are about other cases."""
    if evidence.arms.empty and evidence.abstentions.empty:
        return VenireError(
            "the run has no verdict yet", remedy="the command that made the run goes on where it stopped"
        )
    hung = _on_rated_cases(evidence.abstentions, evidence.people)
    if hung.empty:
        return VenireError(
            "the run and the ratings have no case and attribute in common",
            remedy="check that the ratings use the run's case ids and the rubric's attribute names",
        )
    unreached = bool(hung["unreached"].any())
    return EverythingHung(
        f"nothing to compare: all {len(hung)} verdicts that people rated are hung; the first, because {hung['why'].iloc[0]}",
        remedy="the command that made the run, with --retry, asks again"
        if unreached
        else f"venire show RUN {hung['case'].iloc[0]} says what was answered; change the jury or its models, and run again",
        unreached=unreached,
    )
