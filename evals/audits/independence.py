"""How many independent jurors a jury is worth, and what an independent jury of the same members would get right.

Jurors who err together add agreement, not information. From who was right on which case follow two counts of
independent votes: Kish's, from the mean correlation between two jurors, and the participation ratio of the correlations'
eigenvalues, which also sees that some jurors go together and others do not. Condorcet's null is the accuracy of a majority
whose members are each as good as these but err apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rubrics.errors import count_words
from ..ratings.question import Question, half_step
from ..ratings.reference import KEYS, codes
from ..report.section import Section
from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray, InvalidRatings
from .audit import Audit, AuditInput

LEAST = 3
"""Rows that two columns must share for their correlation to be taken: of two, it is 1 or -1 whatever they hold."""
TITLE = "How many independent votes is the jury worth?"
COLUMNS = ["arm", "attribute", "jurors", "round", "kish", "eigenvalues", "correlation", "majority", "independent", "right_to_wrong", "wrong_to_right", "cases", "note"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class EffectiveVotes:
    """What a jury is worth in independent votes, with the accuracies that it rests on."""

    jurors: int
    cases: int
    kish: float
    """k / (1 + (k - 1) r), r being the mean correlation of two jurors' being right; NaN where it cannot be told."""
    eigenvalues: float
    """The square of the sum of the correlations' eigenvalues over the sum of their squares."""
    correlation: float
    accuracy: dict[str, float]
    """By juror, the share of the cases it was asked about that it got right; an abstention counts as wrong."""
    majority: float
    """The share that the majority got right, a tie being half right."""
    independent: float
    """What the majority would get right if jurors erred apart."""
    note: str = ""


def effective_votes(votes: pd.DataFrame, labels: pd.Series) -> EffectiveVotes:
    """The effective votes of a jury whose answers are right or wrong.

    Args:
        votes: `case`, `juror`, `value`, one row each. A blank value is an abstention; without a row the juror was not asked,
            and the case has no part in its accuracy and correlations.
        labels: By case, the right answer; cases without one are left out.
    """
    labelled = labels.dropna()
    labelled_votes = votes[votes["case"].isin(labelled.index)]
    jurors = pd.Index(dict.fromkeys(votes["juror"]))
    row, cases = pd.factorize(labelled_votes["case"], sort=True)
    cell = row, jurors.get_indexer(labelled_votes["juror"])
    if len(np.unique(row * len(jurors) + cell[1])) < len(row):
        raise InvalidRatings(
            "a juror voted on a case more than once", remedy="give only each juror's final vote on a case"
        )
    values = labelled_votes["value"].to_numpy()
    wide = np.full((len(cases), len(jurors)), np.nan, dtype=object if values.dtype == object else float)
    wide[cell] = values
    is_asked = np.zeros(wide.shape, dtype=bool)
    is_asked[cell] = True
    truth = labelled.reindex(cases).to_numpy()[:, None]
    is_right = np.where(is_asked, (wide == truth) & pd.notna(wide), np.nan)
    names = list(map(str, jurors))
    vote_counts = (~np.isnan(is_right)).sum(axis=0)
    accuracy = np.divide(
        np.nansum(is_right, axis=0), vote_counts, out=np.full(len(names), np.nan), where=vote_counts > 0
    )
    rhos, note = _correlations(is_right)
    number = effective_number(rhos)
    if not note and np.isnan(number.kish):
        note = "the jurors' errors are so different that no number of independent votes is as good"
    elif not note and number.kish > len(names):
        note = f"the jurors are worth more independent votes than there are jurors, because their being right is negatively correlated ({number.correlation:.2f})"
    return EffectiveVotes(
        len(names),
        len(wide),
        number.kish,
        number.participation,
        number.correlation,
        dict(zip(names, map(float, accuracy), strict=True)),
        _majority(wide, truth),
        independent_majority(accuracy),
        note,
    )


def votes_by_round(votes: pd.DataFrame, labels: pd.Series) -> pd.DataFrame:
    """One row a round: the effective votes of where jurors stood after it, and who changed from right to wrong or back.

    Does deliberation add information or only agreement? Where rounds raise the correlation more than the accuracy, it is
    agreement. A juror who was not heard again stands where they stood.

    Args:
        votes: `case`, `juror`, `value`, `round`; a blank value is an abstention, which takes back no earlier vote.
        labels: By case, the right answer.

    Returns:
        `round`, `kish`, `eigenvalues`, `correlation`, `majority`, `independent`, `right_to_wrong`, `wrong_to_right`
        (counts of votes since the round before), `cases`, `note`.
    """
    rows: list[dict[str, object]] = []
    previous: pd.DataFrame | None = None
    for number in sorted(votes["round"].unique()):
        heard = votes[votes["round"] <= number]
        heard = heard.assign(voted=heard["value"].notna()).sort_values(["voted", "round"], kind="stable")
        standing = heard.drop_duplicates(["case", "juror"], keep="last")
        effective = effective_votes(standing, labels)
        lost, won = (0, 0) if previous is None else _changed_votes(previous, standing, labels)
        rows.append(
            {
                "round": number,
                "kish": effective.kish,
                "eigenvalues": effective.eigenvalues,
                "correlation": effective.correlation,
                "majority": effective.majority,
                "independent": effective.independent,
                "right_to_wrong": lost,
                "wrong_to_right": won,
                "cases": effective.cases,
                "note": effective.note,
            }
        )
        previous = standing
    return pd.DataFrame(rows)


def _changed_votes(earlier: pd.DataFrame, later: pd.DataFrame, labels: pd.Series) -> tuple[int, int]:
    """How many votes went from right to wrong and from wrong to right, of jurors who stood somewhere before and after."""
    merged = earlier.merge(later, on=["case", "juror"], suffixes=("_before", "_after"))
    truth = labels.reindex(merged["case"]).to_numpy()
    was_right, is_right = ((merged[name] == truth).to_numpy(bool) for name in ("value_before", "value_after"))
    return int((was_right & ~is_right).sum()), int((~was_right & is_right).sum())


def independent_majority(accuracy: FloatArray) -> float:
    """How often a majority of jurors who err apart is right, by the distribution of how many of them are; a tie is half right."""
    if np.isnan(accuracy).any():
        return np.nan
    chance = np.ones(1)
    for share in accuracy:
        chance = np.convolve(chance, [1 - share, share])
    twice = 2 * np.arange(len(chance))
    k = len(accuracy)
    return float(chance[twice > k].sum() + chance[twice == k].sum() / 2)


def _majority(wide: npt.NDArray[Any], truth: npt.NDArray[Any]) -> float:
    """The share of cases on which the commonest answer is right, divided among answers that are as common.

    A case on which nobody voted has no majority, and is left out.
    """
    options = pd.unique(wide[pd.notna(wide)])
    if not len(options):
        return np.nan
    counts = np.column_stack([(wide == option).sum(axis=1) for option in options])
    voted = counts.any(axis=1)
    top = (counts == counts.max(axis=1, keepdims=True))[voted]
    return float(np.mean((top & (options == truth[voted])).sum(axis=1) / top.sum(axis=1)))


def _correlations(is_right: FloatArray) -> tuple[FloatArray, str]:
    """The correlations of being right, and what is to be said of them; those of a juror who is always right, or never, are not known."""
    cases, k = is_right.shape
    rhos = correlation_matrix(is_right)
    if cases < LEAST:
        return (
            rhos,
            f"{count_words(cases, 'case')} with a label: too few to estimate how many independent votes the jurors are worth",
        )
    is_constant = np.array([len(set(column[~np.isnan(column)])) == 1 for column in is_right.T], dtype=bool)
    pairs = np.triu_indices(k, 1)
    unknown_pairs = int((np.isnan(rhos) & ~is_constant & ~is_constant[:, None])[pairs].sum())
    notes = []
    if is_constant.any():
        notes.append(
            f"{count_words(int(is_constant.sum()), 'juror')} left out, because a juror who is right on all cases or on none has no errors to compare"
        )
    if unknown_pairs:
        notes.append(
            f"{count_words(unknown_pairs, 'pair')} of jurors left out, because there are too few cases on which both vary"
        )
    return rhos, "; ".join(notes)


def independence_table(
    rounds: pd.DataFrame, truth: pd.DataFrame, questions: Mapping[str, Question]
) -> pd.DataFrame:
    """One row an arm, attribute and round: what the jury is worth in independent votes where people's reference is known.

    On a scale of three points or more a vote is right within half a step of the reference, and the majority is right where
    most jurors are.

    Args:
        rounds: The votes, as `RoundVotes` gives them.
        truth: `case`, `attribute`, `value`: people's reference.
    """
    parts: list[pd.DataFrame] = []
    if rounds.empty or truth.empty:
        return pd.DataFrame(columns=COLUMNS)
    graded = rounds.assign(**_right_or_wrong(rounds, truth, questions))
    for (arm, attribute), group_votes in graded.groupby(["arm", "attribute"], sort=False):
        jurors = group_votes["juror"].nunique()
        labelled = group_votes[group_votes["labelled"]]
        if jurors < 2 or labelled.empty:
            continue
        table = votes_by_round(labelled, pd.Series(1, index=labelled["case"].unique()))
        parts.append(table.assign(arm=str(arm), attribute=str(attribute), jurors=jurors))
    return pd.concat(parts, ignore_index=True)[COLUMNS] if parts else pd.DataFrame(columns=COLUMNS)


def independence_section(
    rounds: pd.DataFrame, truth: pd.DataFrame, questions: Mapping[str, Question], *, most: int | None = None
) -> Section | None:
    """The effective votes of every jury, as `compare`, `study` and the inspector show them; None where no jury of two seats
    or more has labels.

    Args:
        most: Sentences to say, the first arms' first; the table has every arm.
    """
    table = independence_table(rounds, truth, questions)
    if table.empty:
        return None
    sentences = [
        _sentence(str(arm), str(attribute), rows)
        for (arm, attribute), rows in table.groupby(["arm", "attribute"], sort=False)
    ]
    if most is not None and len(sentences) > most:
        sentences = [
            *sentences[:most],
            f"Number of further juries and attributes whose results are only in the table: {len(sentences) - most}.",
        ]
    return Section(
        name="independence",
        title=TITLE,
        sentences=tuple(sentences),
        tables={"rounds": table},
        methods=(
            "The number of independent votes is computed from how strongly jurors correlate in being right or wrong: by Kish's formula, and as the participation ratio of the eigenvalues of these correlations. "
            "How often the majority is right is compared with how often it would be right if equally good jurors erred independently (Condorcet).",
        ),
        notes=tuple(f"{row['arm']}, {row['attribute']}, round {row['round']}: {row['note']}" for row in table.to_dict("records") if row["note"]),
    )  # fmt: skip


def _sentence(arm: str, attribute: str, rows: pd.DataFrame) -> str:
    first_round, last_round = rows.iloc[0], rows.iloc[-1]
    alike = (
        ", because they tend to be right on the same cases"
        if round(last_round["kish"], 1) < last_round["jurors"]
        else ""
    )
    sentence = (
        f"{arm}, {attribute}: {last_round['jurors']} jurors are worth {_votes(last_round['kish'])} independent votes{alike} (by Kish's formula; {_votes(last_round['eigenvalues'])} by eigenvalues). The "
        f"majority is right in {_share(last_round['majority'])} of {last_round['cases']} cases; with independent jurors it would be right in {_share(last_round['independent'])}."
    )
    if len(rows) == 1:
        return sentence
    right_to_wrong, wrong_to_right = int(rows["right_to_wrong"].sum()), int(rows["wrong_to_right"].sum())
    return (
        f"{sentence} After the first round they were worth {_votes(first_round['kish'])} independent votes, and the majority was right in {_share(first_round['majority'])} of cases. In later rounds {wrong_to_right} {'vote' if wrong_to_right == 1 else 'votes'} went from wrong "
        f"to right and {right_to_wrong} from right to wrong."
    )


def _votes(number: float) -> str:
    return "an unknown number of" if math.isnan(number) else f"{number:.1f}"


def _share(value: float) -> str:
    return "an unknown share" if math.isnan(value) else f"{value:.0%}"


def _right_or_wrong(
    votes: pd.DataFrame, truth: pd.DataFrame, questions: Mapping[str, Question]
) -> dict[str, np.ndarray]:
    """Vote by vote whether its case is `labelled`, and as its `value` 1 for right, 0 for wrong; a blank one stays blank."""
    references = truth[truth["attribute"].isin(votes["attribute"])]
    place = pd.MultiIndex.from_frame(references[KEYS]).get_indexer(pd.MultiIndex.from_frame(votes[KEYS]))
    labelled = place >= 0
    labelled_votes, is_right = votes[labelled], np.full(len(votes), np.nan)
    if len(labelled_votes):
        targets = codes(references, questions).to_numpy(float)[place[labelled]]
        scales = {name: questions[str(name)].scale for name in dict.fromkeys(labelled_votes["attribute"])}
        limits = {name: half_step(scale) or 0.0 if scale.ordered else 0.0 for name, scale in scales.items()}
        gaps = np.abs(codes(labelled_votes, questions).to_numpy(float) - targets)
        is_near = gaps <= labelled_votes["attribute"].map(limits).to_numpy(float) + 1e-9
        is_right[labelled] = np.where(np.isnan(gaps), np.nan, is_near)
    return {"labelled": labelled, "value": is_right}


def _audit(inputs: AuditInput, draws: Draws) -> Section | None:
    evidence = inputs.evidence
    return independence_section(evidence.rounds, evidence.reference().table, evidence.questions)


class EffectiveNumber(NamedTuple):
    """What k correlated columns are worth. Pairs whose correlation is unknown have no part in it."""

    kish: float
    """k / (1 + (k - 1) r), r being the mean correlation: the design effect; NaN where 1 + (k - 1) r is not above 0."""
    participation: float
    """k / (1 + (k - 1) r2), r2 being the mean squared correlation: the square of the sum of the correlations'
    eigenvalues over the sum of their squares."""
    correlation: float
    """The mean correlation of two columns; NaN where none is known."""
    unknown: int
    """Pairs without a correlation."""


def effective_number(correlations: FloatArray) -> EffectiveNumber:
    """The effective number of the columns whose correlations these are; NaN is an unknown correlation.

    References:
        Kish (1965), "Survey Sampling", section 5.4.
    """
    k = len(correlations)
    pairs = correlations[np.triu_indices(k, 1)]
    known_pairs = pairs[~np.isnan(pairs)]
    unknown = len(pairs) - len(known_pairs)
    if not len(known_pairs):
        lone = 1.0 if k == 1 else np.nan
        return EffectiveNumber(lone, lone, np.nan, unknown)
    mean = float(known_pairs.mean())
    share = 1 + (k - 1) * mean
    return EffectiveNumber(
        k / share if share > 1e-12 else np.nan,
        k / (1 + (k - 1) * float((known_pairs**2).mean())),
        mean,
        unknown,
    )


def correlation_matrix(values: FloatArray) -> FloatArray:
    """Pearson correlations of pairs of columns, each over the rows that both have; NaN where one never varies on them."""
    return PairSums.of(values).correlations


@dataclass(frozen=True, slots=True)
class PairSums:
    """What the correlations of columns are made of, so that some rows can be taken off: (column, column) each."""

    n: FloatArray
    """The rows that both have."""
    first: FloatArray
    """The sum of the first column over them."""
    square: FloatArray
    product: FloatArray
    centre: FloatArray
    """What was taken off each column beforehand, for precision."""

    @classmethod
    def of(cls, values: FloatArray, centre: FloatArray | None = None) -> PairSums:
        """The sums over the rows of `values`, NaN being missing; about each column's mean, or about `centre`."""
        is_known = ~np.isnan(values)
        if centre is None:
            centre = np.where(is_known, values, 0.0).sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
        gaps, ones = np.where(is_known, values - centre, 0.0), is_known.astype(float)
        return cls(ones.T @ ones, gaps.T @ ones, (gaps**2).T @ ones, gaps.T @ gaps, centre)

    def less(self, other: PairSums) -> PairSums:
        """The sums without the rows that `other` is of."""
        return PairSums(
            self.n - other.n,
            self.first - other.first,
            self.square - other.square,
            self.product - other.product,
            self.centre,
        )

    @property
    def correlations(self) -> FloatArray:
        """Pearson's, NaN where fewer than `LEAST` rows are shared or a column never varies on them."""
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = self.square - self.first**2 / self.n
            spread[(spread <= 1e-9 * np.maximum(self.square, 1e-9)) | (self.n < LEAST)] = np.nan
            return (self.product - self.first * self.first.T / self.n) / np.sqrt(spread * spread.T)


INDEPENDENCE = Audit("independence", _audit, 80)
