"""Arms against people: who comes nearer, by how much, and whether the difference can be told from chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ...orchestration.record import Store
from ...rubrics.errors import VenireError
from ..agreement.against_people import coefficients, nothing
from ..agreement.icc_intervals import COLUMNS as ICC_COLUMNS
from ..agreement.icc_intervals import METHODS as ICC_METHODS
from ..agreement.icc_intervals import icc3k_intervals
from ..agreement.rater_agreement import cells
from ..audits import Severity
from ..figures.section import Section
from ..metrics.normalisation import Normalisation
from ..ratings.evidence import Evidence, gather
from ..ratings.people import load_ratings
from ..ratings.pooling import pooling
from ..ratings.rating_check import RatingCheck
from ..ratings.reference import Rule
from ..ratings.reserved_names import without_reserved_names
from ..ratings.sheet import ARM, CONSTANT, OVERALL, PEOPLE, Sheet, lay_out, nearest_legal, pairs, scores
from ..statistics.correlation import spearman
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate
from ..statistics.kappa import cohen_kappa
from ..statistics.signed_rank import differences, wilcoxon_signed_rank
from .analyses import comparison_sections
from .contrasts import contrasts, resamples_note, sentences
from .effects import INTERCEPTS, effects
from .method_sentences import comparison_methods
from .panels import panels
from .text_baselines import text_baselines

Found = Mapping[str, Mapping[str, Mapping[str, Estimate]]]
Numeric = list[tuple[str, str, pd.DataFrame]]


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
    numeric = _numeric(sheet)
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
        agreement={arm: _against_people(sheet, arm, kind, draws) for arm, kind in kinds.items()},
        kinds=kinds,
        icc3k=_icc3k(numeric, draws),
        signed_ranks=_signed_ranks(numeric),
        differences=differences,
        panels=seated,
        effects=moved,
        costs=evidence.costs,
        stops=evidence.stops,
        confusion=_confusion(sheet, numeric),
        gaps=_gaps(numeric),
        pairs=_pairs(sheet),
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


def _against_people(sheet: Sheet, arm: str, kind: str, draws: Draws) -> dict[str, dict[str, Estimate]]:
    found = {}
    for attribute in (OVERALL, *sheet.questions):
        rows, asked = sheet.of(attribute), sheet.scale_question(attribute)
        if asked is None or rows.empty:
            found[attribute] = nothing("nobody rated it")
        elif kind == "text overlap":
            found[attribute] = _by_overlap(sheet, arm, rows, attribute, draws)
        else:
            people = sheet.reference(attribute, without=arm if kind == "person" else None)
            table = pairs(rows, rows[arm], people)
            estimates = coefficients(table, asked.scale, draws)
            found[attribute] = {name: each.out_of(len(rows)) for name, each in estimates.items()}
    return found


def _by_overlap(
    sheet: Sheet, arm: str, rows: pd.DataFrame, attribute: str, draws: Draws
) -> dict[str, Estimate]:
    """Overlap gives an order and no scores: of cases by an attribute, or by the mean of all, good being high."""
    found = nothing("text overlap gives an order, not scores on the scale")
    people = pd.to_numeric(sheet.references[None].loc[rows.index], errors="coerce")
    if attribute == OVERALL:
        upright = pooling(sheet.questions, sheet.pooling.names, good_is_high=True)
        people = upright.turn(people, rows["attribute"])
        mean = people.groupby(rows["case"]).mean()
        rows = rows.drop_duplicates("case").set_index("case", drop=False)
        people = mean.reindex(rows.index)
    overlap = rows["case"].map(sheet.overlap[arm])
    table = pairs(rows, overlap, people)
    if table.empty:
        return nothing("no case has both a reference text and people's scores")
    return found | {
        "spearman": spearman(table, bootstrap=draws.bootstrap(by="cluster"), raters=(ARM, PEOPLE))
    }


def _numeric(sheet: Sheet) -> Numeric:
    """Each arm of the run with each attribute that holds numbers, and their pairs with people."""
    numbers = {attribute: scores(sheet, attribute) for attribute in (OVERALL, *sheet.questions)}
    return [
        (arm, attribute, given.pairs(arm))
        for arm in (*sheet.arms, CONSTANT)
        for attribute, given in numbers.items()
        if given is not None
    ]


def _icc3k(numeric: Numeric, draws: Draws) -> pd.DataFrame:
    rows = [
        {"arm": arm, "attribute": attribute, **icc3k_intervals(table, draws)}
        for arm, attribute, table in numeric
        if arm != CONSTANT
    ]
    return pd.DataFrame(rows, columns=["arm", "attribute", *ICC_COLUMNS])


def _signed_ranks(numeric: Numeric) -> pd.DataFrame:
    columns = ["arm", "attribute", "median", "q1", "q3", "statistic", "p", "n", "note"]
    rows: list[tuple[object, ...]] = []
    for arm, attribute, table in numeric:
        if table.empty:
            rows.append(
                (arm, attribute, *[np.nan] * 5, 0, "no case has both the arm's score and one of people")
            )
            continue
        found = wilcoxon_signed_rank(table, raters=(ARM, PEOPLE))
        tested = (found.median.value, *found.quartiles, found.statistic, found.p)
        rows.append((arm, attribute, *tested, found.n, found.note))
    return pd.DataFrame(rows, columns=columns)


def _gaps(numeric: Numeric) -> pd.DataFrame:
    parts = [
        differences(table, raters=(ARM, PEOPLE)).assign(arm=arm, attribute=attribute)
        for arm, attribute, table in numeric
        if len(table)
    ]
    columns = ["arm", "attribute", "difference", "count", "share"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _confusion(sheet: Sheet, numeric: Numeric) -> pd.DataFrame:
    """Counts of legal values; a score between two values counts as the nearest."""
    parts = []
    for arm, attribute, table in numeric:
        asked = sheet.scale_question(attribute)
        if asked is None or not asked.scale.values or table.empty:
            continue
        legal = [float(value) for value in asked.scale.values]
        half = len(table) // 2
        values = nearest_legal(table["value"].to_numpy(float), legal)
        met = Counter(zip(values[:half].tolist(), values[half:].tolist(), strict=True))
        parts += [(arm, attribute, mine, theirs, met[mine, theirs]) for mine in legal for theirs in legal]
    columns = ["arm", "attribute", "arm_value", "people_value", "count"]
    return pd.DataFrame(parts, columns=columns)


def _pairs(sheet: Sheet) -> pd.DataFrame:
    rows = sheet.of(OVERALL)
    found = []
    for first, second in combinations((*sheet.people, *sheet.arms), 2):
        table = pairs(
            rows, pd.to_numeric(rows[first], errors="coerce"), pd.to_numeric(rows[second], errors="coerce")
        )
        boot = Draws(resamples=1).bootstrap(by="cluster")
        kappa = (
            cohen_kappa(table, weighting="quadratic", bootstrap=boot, raters=(ARM, PEOPLE))
            if len(table)
            else None
        )
        found.append(
            {
                "first": first,
                "second": second,
                "kappa_quadratic": kappa.value if kappa else np.nan,
                "n": len(table) // 2,
                "note": kappa.note if kappa and not kappa.defined else "" if kappa else "no score in common",
            }
        )
    return pd.DataFrame(found, columns=["first", "second", "kappa_quadratic", "n", "note"])
