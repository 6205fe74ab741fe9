"""Arms against people: who comes nearer, by how much, and whether the difference can be told from chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from ...agents.cost import CostUnit
from ...orchestration.record import Store
from ...rubrics.errors import VenireError
from ..agreement.rater_agreement import cells
from ..audits.audit import AuditInput, Severity, run_audits
from ..calibration.labelled_scores import plain_scores
from ..calibration.section import calibration_section, cross_validate_arms
from ..metrics.normalisation import Normalisation
from ..ratings.evidence import Evidence, gather, without_reserved_names
from ..ratings.people import RatingCheck, load_ratings
from ..ratings.reference import Rule, rule_words
from ..ratings.score_tables import Sheet, lay_out
from ..report.section import Section
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate
from ..statistics.icc import Interval
from .arm_tables import (
    arm_agreement,
    confusion_table,
    contrasts,
    gaps_table,
    icc3k_table,
    kappa_table,
    numeric_pairs,
    panels,
    sentences,
    signed_ranks_table,
    text_baselines,
)
from .deliberation import deliberation_section
from .effects import INTERCEPTS, effects
from .objectives import MARGIN, OBJECTIVES


def comparison_sections(
    evidence: Evidence,
    draws: Draws,
    *,
    severity: Severity | None = None,
    families: Mapping[str, str] | None = None,
    jurors: bool = False,
) -> tuple[Section, ...]:
    """What calibration does to each arm, then every audit.

    Args:
        severity: What counts as harmful, and by what margin it is called safe.
        families: Names or patterns of models and systems with the provider of each, before those that are known.
        jurors: Whether calibration is told of each juror attribute by attribute, too.
        method: As for `compare`.
    """
    found, refusals = cross_validate_arms(evidence, draws)
    scores = {
        arm: found[arm].scores if arm in found else plain_scores(evidence, arm) for arm in evidence.kinds
    }
    given = AuditInput(evidence, severity or Severity(), families, scores)
    return calibration_section(found, refusals, draws, jurors=jurors), *run_audits(given, draws)


def comparison_methods(sheet: Sheet, draws: Draws) -> tuple[str, ...]:
    """Sentences for a paper."""
    cases = sheet.rows["case"].nunique()
    people = len(sheet.people)
    pooled = sheet.pooling.names
    pooled_names = ", ".join(filter(None, (*pooled, sheet.pooling.note)))
    overlaps = " and ".join(map(repr, sheet.overlap.columns))
    apart = [name for name in sheet.questions if name not in pooled]
    clusters = sheet.rows["cluster"].nunique()
    drawn = (
        f"groups of cases ({clusters} groups, each left out as a whole; a case without a group counts as a group)"
        if sheet.grouped
        else f"{clusters} cases"
    )
    found = [
        f"{cases} cases were scored by {', '.join(sheet.arms)} and by {people} {'person' if people == 1 else 'people'}.",
        "An arm's score is its verdict, recounted from its ballots by its jury's own rule. A single judge's score is counted from "
        "its repeats. Hung and not applicable verdicts have no score and are counted separately.",
        f"The reference is the {rule_words(sheet.rule)}."
        if people > 1
        else "The reference is the rating of the only person who rated.",
        "Each person is compared with the reference of the other people." if people > 1 else "",
        f"Baselines are '{sheet.floor}', which does not read the cases, and {overlaps} with the case's reference text, which gives an order of the cases but no scores."
        if overlaps
        else f"The baseline '{sheet.floor}' does not read the cases.",
        f"'Overall' pools the attributes that share one scale ({pooled_names})"
        + (f"; {', '.join(apart)} {'is' if len(apart) == 1 else 'are'} not pooled." if apart else "."),
        "ICC(3,k) is computed from two raters, the arm and the people's reference (k = 2), as in Croxford et al. (2025). Kappa is given with quadratic "
        "weights and without weights. Krippendorff's alpha is ordinal. AC2 has quadratic weights over all "
        "values of the rubric's scale. For exact agreement, unweighted kappa, AC2 and the confusion matrices, a value between two "
        "levels counts as the nearer one, or as the lower one if it is in the middle.",
        f"Intervals are 95%, by the jackknife over {drawn}. They are computed on Fisher's z scale (errors on the log scale, shares by Wilson), with Student's t. Its degrees of freedom "
        "come from the kurtosis of the jackknife values (Miller 1974; Efron and Stein 1981). There is no interval if arm and people both depart from their most common value on fewer "
        "than five cases; AC2, exact agreement and errors do not need such cases. Other random draws use the seed "
        f"{draws.seed}.",
        "Differences between arms are paired, on the scores that both arms and people gave. Interval and two-sided p come from the jackknife of the difference with one "
        "Student's t. p is Holm-corrected "
        "over all pairs of arms and both measures; 'overall' is one family of tests, the single attributes are another. A difference is claimed if "
        "the corrected p is below 0.05. If no difference is claimed, the arms are not thereby shown to be equal.",
        "Wilcoxon's signed-rank test drops equal scores and treats the scores of one case as independent. For that reason, its p in the row 'overall' "
        "is too small; the interval of the offset (mean of arm minus people) does not have this flaw.",
    ]
    if people > 1:
        found.append(
            "'In place of' a person is the change in people's ICC(3,k) if the arm replaces that person, on the scores that everyone gave. 'Extra rater' is the "
            "change in ICC(3,k) if the arm is added to the people. Both intervals are by the jackknife of the change."
        )
    found.append(
        "The mixed model explains the difference between an arm's and a person's score (arm minus person). Fixed effects: group, system and lengths (in words, per standard deviation), as far "
        "as they vary. Random intercepts: person, attribute and case, crossed (REML; Student's t, degrees of freedom: cases minus terms). "
        "Without the random intercept of the case, effects of the case's properties would look more certain than they are. "
        "If the table is too large for the model, a linear regression on each case's mean difference is used."
    )
    return tuple(filter(None, found))


Found = Mapping[str, Mapping[str, Mapping[str, Estimate]]]


@dataclass(frozen=True)
class Comparison:
    """Each arm against the reference of the people who rated the same cases, as tables."""

    agreement: Found
    """By arm, attribute (`overall` pools those that share a scale) and coefficient."""
    kinds: Mapping[str, str]
    """By arm: jury, single judge, person, floor or text overlap."""
    icc3k: pd.DataFrame
    """By arm and attribute: ICC(3,k) with its interval."""
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
    judges: Mapping[str, str] = field(default_factory=dict)
    """By arm: the models that judged, with the versions that their providers stated."""
    sections: tuple[Section, ...] = ()
    """Severe errors, triage, and whatever else was looked into; each with sentences, tables and figures."""
    ratings: RatingCheck | None = None
    """What became of the people's ratings: how many are used, and why the others are not."""

    @property
    def floor(self) -> str:
        """The name of the constant that reads nothing."""
        return next(arm for arm, kind in self.kinds.items() if kind == "floor")

    @cached_property
    def table(self) -> pd.DataFrame:
        """`agreement` as one row for each arm, attribute and coefficient, with the band that its whole interval falls in."""
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
    reference: Rule | None = None,
    seed: int = 0,
    resamples: int = 1000,
    severity: Severity | None = None,
    families: Mapping[str, str] | None = None,
    rescore: Sequence[str] = (),
    metrics: Sequence[str] = (),
    normal: Normalisation | None = None,
    progress: Callable[[int, int], None] | None = None,
    method: Interval = "jackknife",
) -> Comparison:
    """The arms of `run` against the ratings in `human`; leaves out or resamples cases or their groups, never ratings.

    Args:
        reference: How people's ratings of a question become one: mean, median or majority.
        severity: What counts as harmful, and by what margin it is called safe.
        families: Names or patterns of models and systems with the provider of each, before those that are known.
        rescore: Raters who are a second panel: held against the others, and no part of the reference.
        metrics: Names of metrics that stand beside the arms, by how they order the cases.
        normal: How both texts are normalised for those.
        progress: Told how many tokens of the cases' texts MiniLM has read, of how many.
        method: `f` for published F intervals in the table of ICC(3,k), with a warning.
    """
    ratings = human if isinstance(human, pd.DataFrame) else load_ratings(human)
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        baselines = partial(text_baselines, progress=progress, more=metrics, normal=normal)
        evidence = gather(
            store, ratings, rescore=rescore, baselines=baselines, rule=reference, rated_only=True
        )
    finally:
        if store is not run:
            store.release()
    return compare_evidence(
        evidence, seed=seed, resamples=resamples, severity=severity, families=families, method=method
    )


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
    method: Interval = "jackknife",
) -> Comparison:
    """`compare`, of what was read from the run and the ratings.

    Args:
        predictors: Columns of the cases, beside those that are always looked at, that may explain differences from people.
        intercepts: What differs at random in that model.
        jurors: Whether calibration is told of each juror attribute by attribute, too.
        method: As for `compare`.
    """
    if _on_rated_cases(evidence.arms, evidence.people).empty:
        raise _nothing_to_compare(evidence)
    evidence = without_reserved_names(evidence)
    # Products here are too small to be shared out among threads, which only spin and wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        return _comparison(
            evidence, Draws(seed, resamples), severity, families, predictors, intercepts, jurors, method
        )


def _comparison(
    evidence: Evidence,
    draws: Draws,
    severity: Severity | None,
    families: Mapping[str, str] | None,
    predictors: Sequence[str],
    intercepts: Sequence[str],
    jurors: bool,
    method: Interval,
) -> Comparison:
    sheet = lay_out(evidence)
    numeric = numeric_pairs(sheet)
    seated, alone = panels(sheet)
    moved, told = effects(sheet, evidence.cases, predictors, intercepts=intercepts)
    deliberation = deliberation_section(
        evidence.blind,
        evidence.changes,
        evidence.reference().table,
        evidence.questions,
        evidence.groups,
        objective=OBJECTIVES["credit"],
        margin=MARGIN,
        unit=charged_unit(evidence.costs),
    )
    parts = (
        *([deliberation] if deliberation else ()),
        *comparison_sections(evidence, draws, severity=severity, families=families, jurors=jurors),
    )
    kinds = {
        **{arm: evidence.kinds[arm] for arm in sheet.arms},
        **(dict.fromkeys(sheet.people, "person") if len(sheet.people) > 1 else {}),
        sheet.floor: "floor",
        **dict.fromkeys(sheet.overlap.columns, "text overlap"),
    }
    differences = contrasts(sheet)
    return Comparison(
        agreement={arm: arm_agreement(sheet, arm, kind) for arm, kind in kinds.items()},
        kinds=kinds,
        icc3k=icc3k_table(numeric, method),
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
            *(sentence for part in parts for sentence in part.methods),
        ),
        ratings=evidence.ratings,
        notes=(
            *evidence.notes,
            *evidence.reference().notes,
            *filter(None, [alone]),
            *dict.fromkeys(told),
        ),
        judges=evidence.judges,
        sections=parts,
    )


def charged_unit(costs: pd.DataFrame) -> CostUnit:
    """What costs are told in: dollars where every price is known and something was charged, else tokens, else calls."""
    units: tuple[CostUnit, ...] = ("usd", "tokens", "calls")
    return next((name for name in units if costs[name].notna().all() and (costs[name] > 0).any()), "calls")


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
    if not evidence.costs["cases"].sum():
        return VenireError(
            "the run has no verdict yet", remedy="run the command that made the run again: it resumes"
        )
    hung = _on_rated_cases(evidence.abstentions, evidence.people)
    if hung.empty:
        return VenireError(
            "the run and the ratings have no case and attribute in common",
            remedy="check that the ratings use the run's case ids and the rubric's attribute names",
        )
    unreached = bool(hung["unreached"].any())
    return EverythingHung(
        f"there is nothing to compare: all {len(hung)} verdicts that people rated are hung; the first is hung because {hung['why'].iloc[0]}",
        remedy="run the command that made the run again with --retry"
        if unreached
        else f"read the answers with venire show RUN {hung['case'].iloc[0]}, change the jury or its models, and run again",
        unreached=unreached,
    )
