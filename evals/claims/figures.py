"""A run's claims, recounted without a call, and in figures: shares a case and their means, how claims came out, whether word overlap does as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table
from rich.text import Text

from ...orchestration.counting.claims import BACKWARD, MEASURES, SHARE_NAMES, ClaimShares, claim_shares
from ...orchestration.reading.claim_card import ClaimCard, claim_card
from ...orchestration.reading.export import verdicts
from ...orchestration.record import Arm, Store
from ...orchestration.verdict import Verdict
from ...personas.options import ClaimOptions, ShareName
from ...rubrics.claim import CLAIM_VERDICTS, Claim, ClaimVerdict
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.ratings import Rating
from ..metrics.overlap import WORD
from ..ratings.folds import cluster_numbers
from ..report.section import estimate_json, estimate_phrase
from ..report.terminal import estimate_words
from ..statistics.alpha import krippendorff_alpha
from ..statistics.correlation import pearson_statistic
from ..statistics.estimate import Estimate
from ..statistics.jackknife import FISHER, RAW, SHARE, Jackknife, Transform
from ..statistics.matrix import FloatArray, Matrix
from ..statistics.weighted import Coefficient, OfSums, Statistic
from .labelled import LabelledClaims


@dataclass(frozen=True, slots=True)
class ClaimFigures:
    """What the claims of many cases amount to."""

    cases: int
    """With a claim that has a verdict."""
    hung: int
    """Without one, or without a text to check against: they are in no mean."""
    claims: int
    verdicts: Mapping[str, int]
    """How many claims came out how; `undecided` are those without a verdict."""
    shares: Mapping[ShareName, Estimate]
    """Means over cases; a case for which a share is undefined is not in its mean."""
    measures: Mapping[str, Estimate]
    """The same of precision, recall, F1 and contradiction, as far as they were measured."""

    @property
    def claims_per_case(self) -> float | None:
        """Claims of a case that has any."""
        return self.claims / self.cases if self.cases else None


def run_figures(cards: Sequence[ClaimCard], groups: Mapping[str, object]) -> ClaimFigures:
    """The figures of one arm's cards; groups of cases are left out whole."""
    two = any(card.findings.against is not None for card in cards)
    names = ("precision", "contradiction", "recall", "f1") if two else ("precision", "contradiction")
    return _figures(
        [card.case for card in cards],
        [card.findings.of for card in cards],
        Counter(outcome.verdict for card in cards for outcome in card.claims),
        {name: [_number(card.findings.measure(name).value) for card in cards] for name in names},
        groups,
    )


@dataclass(frozen=True, slots=True)
class VerifierFigures:
    """How one verifier stands among the others."""

    verifier: str
    claims: int
    """To which it gave a verdict."""
    agreement: Estimate
    """The share of the others' verdicts on the same claim that equal its own, averaged over claims."""
    alpha_without: Estimate
    """Krippendorff's alpha of the others, nominal: higher than that of all where it is the one that differs."""


def verifier_figures(
    cards: Sequence[ClaimCard], groups: Mapping[str, object]
) -> tuple[list[VerifierFigures], Estimate | None]:
    """Each verifier of one arm, and alpha of all of them; groups of cases are left out whole. Nothing where fewer than two gave a verdict."""
    rows = [
        {"case": f"{card.case} {outcome.claim.of} {outcome.claim.id}", "group": card.case, "rater": juror, "value": check.verdict}
        for card in cards
        for outcome in (*card.claims, *card.back)
        for juror, check in outcome.checks.items()
        if check.verdict is not None
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["case", "group", "rater", "value"])
    names = sorted(table["rater"].unique())
    if len(names) < 2:
        return [], None
    table["group"] = cluster_numbers(table["group"], groups)
    by_case = Jackknife(by="group")
    claims = {
        claim: dict(zip(part["rater"], part["value"], strict=True)) for claim, part in table.groupby("case")
    }
    cluster = table.drop_duplicates("case").set_index("case")["group"]

    def agreement(name: str) -> Estimate:
        shares = {
            claim: sum(other == verdicts[name] for other in verdicts.values()) - 1
            for claim, verdicts in claims.items()
            if name in verdicts and len(verdicts) > 1
        }
        values = np.array([same / (len(claims[claim]) - 1) for claim, same in shares.items()], dtype=float)
        _, codes = np.unique([cluster[claim] for claim in shares], return_inverse=True)
        grid = Matrix(values[:, None], tuple(shares), ("share",), codes.astype(np.int64))
        return Jackknife().estimate(
            _mean,
            grid,
            method="mean over claims",
            otherwise="no agreement: no other verifier checked the same claims",
            transform=SHARE,
        )

    alone = [
        VerifierFigures(
            name,
            sum(name in verdicts for verdicts in claims.values()),
            agreement(name),
            krippendorff_alpha(table[table["rater"] != name], level="nominal", jackknife=by_case),
        )
        for name in names
    ]
    return alone, krippendorff_alpha(table, level="nominal", jackknife=by_case)


def verifiers_table(verifiers: Sequence[VerifierFigures]) -> Table:
    """A row a verifier."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("verifier", "claims", "agreement with the others", "alpha without this verifier"):
        table.add_column(column)
    for each in verifiers:
        table.add_row(
            each.verifier,
            str(each.claims),
            estimate_words(each.agreement),
            estimate_words(each.alpha_without),
        )
    return table


def verifiers_json(verifiers: Sequence[VerifierFigures], alpha: Estimate | None) -> dict[str, Any]:
    """What `--json` has of them."""
    return {
        "alpha": None if alpha is None else estimate_json(alpha),
        "verifiers": {
            each.verifier: {
                "claims": each.claims,
                "agreement": estimate_json(each.agreement),
                "alpha_without": estimate_json(each.alpha_without),
            }
            for each in verifiers
        },
    }


def labelled_figures(labelled: LabelledClaims) -> ClaimFigures:
    """The figures of labelled claims, by the labels of the first person in the file."""
    person = next((check.juror for check in labelled.checks), "")
    verdicts = {(c.case, c.claim): c.verdict for c in labelled.checks if c.juror == person}
    claims: dict[str, list[tuple[Claim, ClaimVerdict | None]]] = {}
    for row in labelled.claims:
        claims.setdefault(row.case, []).append((row.claim, verdicts.get((row.case, row.claim.id))))
    return _figures(
        list(claims),
        [claim_shares(outcomes) for outcomes in claims.values()],
        Counter(verdict for outcomes in claims.values() for _, verdict in outcomes),
        {},
        {},
    )


def _figures(
    names: Sequence[str],
    shares: Sequence[ClaimShares],
    verdicts: Mapping[ClaimVerdict | None, int],
    values: Mapping[str, Sequence[float]],
    groups: Mapping[str, object],
) -> ClaimFigures:
    cluster = cluster_numbers(pd.Series(names, dtype=object), groups)

    def mean(case_values: Iterable[float]) -> Estimate:
        values = np.array(list(case_values), dtype=float)
        valid = ~np.isnan(values)
        _, codes = np.unique(cluster[valid], return_inverse=True)
        grid = Matrix(
            values[valid][:, None], tuple(range(int(valid.sum()))), ("share",), codes.astype(np.int64)
        )
        return Jackknife().estimate(
            _mean,
            grid,
            method="mean over cases",
            otherwise="no case has a value for this share",
            transform=SHARE,
        )

    decided = [s for s in shares if s.enough]
    return ClaimFigures(
        cases=len(decided),
        hung=len(shares) - len(decided),
        claims=sum(s.claims for s in decided),
        verdicts={word or "undecided": verdicts.get(word, 0) for word in (*CLAIM_VERDICTS, None)},
        shares={
            name: mean(_number(s.share(name)) if s.enough else np.nan for s in shares) for name in SHARE_NAMES
        },
        measures={name: mean(case_values) for name, case_values in values.items()},
    )


def _mean(values: FloatArray) -> OfSums:
    sums = np.column_stack([values[:, 0], np.ones(len(values))])
    return OfSums(sums, lambda totals: totals[:, 0] / np.maximum(totals[:, 1], 1))


def _number(value: object) -> float:
    """A measure as a number; NaN, which no mean takes in, where it is undefined or does not apply."""
    return float(value) if isinstance(value, int | float) else np.nan


LEAST = 4
"""Cases below which no correlation is given."""


@dataclass(frozen=True, slots=True)
class OverlapComparison:
    """How a measure of claims follows people's scores, and how plain word overlap does."""

    measure: str
    claims: Estimate
    """Pearson's r of the measure with the mean of people's scores."""
    words: Estimate
    """The same of the share of words that the two texts have in common."""
    difference: Estimate

    @property
    def sentence(self) -> str:
        """What may be said of the difference."""
        if not self.claims.defined:
            return f"{self.measure}: {self.claims.note}."
        own_words = (
            f"a correlation r of {estimate_phrase(self.claims)} with people's scores, n = {self.claims.n}"
        )
        if not self.difference.defined:
            return f"{self.measure}: scores from claims have {own_words}; word overlap cannot be compared with scores from claims ({self.words.note})."
        overlap_words = f"word overlap has a correlation of {estimate_phrase(self.words)}"
        gap = f"the difference (claims minus word overlap) is {estimate_phrase(self.difference, '+.3f', '+.2f')}"
        conclusion = (
            "scores from claims agree better with people"
            if self.difference.low > 0
            else "word overlap agrees better with people"
            if self.difference.high < 0
            else "neither is shown to agree better with people"
        )
        return f"{self.measure}: scores from claims have {own_words}; {overlap_words}; {gap}: {conclusion}."


def overlap_comparisons(cards: Sequence[ClaimCard], groups: Mapping[str, object]) -> list[OverlapComparison]:
    """Each measure that people scored under its name, in the cards' own ratings."""
    rated_names = {rating.attribute for card in cards for rating in card.people}
    return [_comparison(name, cards, groups) for name in MEASURES if name in rated_names]


def shared_words(card: ClaimCard, measure: str) -> float:
    """The words that both texts have, as a share of the text that the measure is of (of both, for F1); NaN without texts."""
    if len(card.texts) < 2:
        return np.nan
    output_words, source_words = (Counter(WORD.findall(text.text.casefold())) for text in card.texts)
    common = (output_words & source_words).total()
    if measure == "f1":
        size = (output_words.total() + source_words.total()) / 2
    else:
        size = (source_words if measure in BACKWARD else output_words).total()
    overlap = common / size if size else np.nan
    return 1 - overlap if measure == "contradiction" else overlap


def _comparison(name: str, cards: Sequence[ClaimCard], groups: Mapping[str, object]) -> OverlapComparison:
    rows = []
    for card in cards:
        value = card.findings.measure(name).value
        scores = [r.value for r in card.people if r.attribute == name and isinstance(r.value, int | float)]
        if isinstance(value, int | float) and scores:
            rows.append((card.case, float(value), shared_words(card, name), float(np.mean(scores))))
    table = pd.DataFrame(rows, columns=["case", "claims", "words", "people"])
    values = table[["claims", "words", "people"]].to_numpy(float)
    cluster = cluster_numbers(table["case"].astype(object), groups)

    def estimate(
        columns: Sequence[int], coefficient: Coefficient, method: str, transform: Transform
    ) -> Estimate:
        complete = ~np.isnan(values[:, list(columns)]).any(axis=1)
        if complete.sum() < LEAST:
            complete[:] = False
        _, clusters = np.unique(cluster[complete], return_inverse=True)
        cases = tuple(table["case"][complete])
        grid = Matrix(values[complete], cases, ("claims", "words", "people"), clusters.astype(np.int64))
        reason = f"fewer than {LEAST} cases have all the scores that are compared, or one of the scores never varies"
        return Jackknife().estimate(coefficient, grid, method=method, otherwise=reason, transform=transform)

    return OverlapComparison(
        name,
        estimate((0, 2), _with_people(0), "Pearson's r", FISHER),
        estimate((1, 2), _with_people(1), "Pearson's r", FISHER),
        estimate((0, 1, 2), _advantage, "difference of Pearson's r", RAW),
    )


def _with_people(column: int) -> Coefficient:
    return lambda values: pearson_statistic(values[:, column], values[:, 2])


def _advantage(values: FloatArray) -> Statistic:
    claims, words = _with_people(0)(values), _with_people(1)(values)
    return lambda weights: claims(weights) - words(weights)


_MEANINGS: dict[str, str] = {
    "addressed": "S/(S+NS)",
    "all": "S/all",
    "uncontradicted": "(S+NA)/all",
    "precision": "supported share of the claims of the text",
    "recall": "supported share of the claims of the other text",
    "contradiction": "NS/all",
    "f1": "F1 of precision and recall",
}


def figures_json(figures: ClaimFigures, used: ShareName) -> dict[str, Any]:
    """The figures as JSON; NaN is null, with a note."""
    return {
        "cases": figures.cases,
        "hung": figures.hung,
        "claims": figures.claims,
        "claims_per_case": figures.claims_per_case,
        "verdicts": dict(figures.verdicts),
        "share": used,
        "shares": {name: estimate_json(estimate) for name, estimate in figures.shares.items()},
        "measures": {name: estimate_json(estimate) for name, estimate in figures.measures.items()},
    }


def labelled_json(labelled: LabelledClaims, figures: ClaimFigures) -> dict[str, Any]:
    """What was imported, as JSON."""
    return {
        "responses": labelled.responses,
        "abstained": len(labelled.abstained),
        "without_claims": len(labelled.claimless),
        "unlabelled": labelled.unlabelled,
        "claims_per_response": figures.claims_per_case,
        **figures_json(figures, "all"),
    }


def overlap_json(found: OverlapComparison) -> dict[str, Any]:
    """A measure beside word overlap, as JSON."""
    return {
        "measure": found.measure,
        "claims": estimate_json(found.claims),
        "word_overlap": estimate_json(found.words),
        "difference": estimate_json(found.difference),
        "sentence": found.sentence,
    }


def figures_table(figures: ClaimFigures, used: ShareName) -> Table:
    """Each share and measure with its mean over cases and interval; the share in use is named."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("", "is", "mean", "95% interval", "cases", ""):
        table.add_column(column)
    for name, estimate in (*figures.shares.items(), *figures.measures.items()):
        mark = Text("<- used", "bold") if name == used else Text("")
        table.add_row(name, _MEANINGS[name], _value(estimate), _interval(estimate), str(estimate.n), mark)
    return table


def figures_line(figures: ClaimFigures) -> str:
    """How many claims there are, and how they came out."""
    per_case = f", {figures.claims_per_case:.1f} per case" if figures.claims_per_case is not None else ""
    total = sum(figures.verdicts.values())
    counts = ", ".join(
        f"{number} {word.replace('_', ' ')} ({number / total:.1%})"
        for word, number in figures.verdicts.items()
        if number
    )
    hung = f"; {figures.hung} hung cases are not in the means" if figures.hung else ""
    return f"{figures.cases} cases, {figures.claims} claims{per_case}: {counts or 'none'}{hung}"


def _value(estimate: Estimate) -> str:
    return f"{estimate.value:.3f}" if estimate.defined else f"undefined: {estimate.note}"


def _interval(estimate: Estimate) -> str:
    return f"{estimate.low:.3f} to {estimate.high:.3f}" if estimate.low == estimate.low else ""


def claim_arms(store: Store, arm: str | None = None) -> list[Arm]:
    """The arms of a run that checked claims, or the one that is named.

    Raises:
        VenireError: There is no such arm.
    """
    arms = [a for a in store.arms() if a.jury.protocol == "decompose-verify"]
    if not arms:
        raise VenireError(
            f"{store.name}: no jury of this run checked claims",
            remedy="run a jury with protocol: decompose-verify",
        )
    if arm is None:
        return arms
    matches = [a for a in arms if a.name == arm]
    if not matches:
        raise VenireError(
            f"no arm named {arm!r} in this run checked claims", remedy=nearest(arm, [a.name for a in arms])
        )
    return matches


def recounted_options(
    options: ClaimOptions,
    *,
    share: ShareName | None = None,
    threshold: float | None = None,
    central_weight: float | None = None,
) -> ClaimOptions:
    """The jury's options with what is to be counted otherwise."""
    overrides = {"share": share, "threshold": threshold, "central_weight": central_weight}
    return options.model_copy(update={name: value for name, value in overrides.items() if value is not None})


def cards(
    store: Store, arm: Arm, options: ClaimOptions, *, case: str | None = None, people: Iterable[Rating] = ()
) -> Iterator[tuple[Verdict, ClaimCard]]:
    """Each case of the arm with its card, in the order of the case file.

    Raises:
        VenireError: The run has no such case.
    """
    if case is not None and store.case(case) is None:
        raise VenireError(f"{store.name} has no case {case!r}", remedy=nearest(case, store.case_ids()))
    ratings = tuple(people)
    for _, verdict in verdicts(store, arm=arm.name, case=case):
        texts = None if store.redacted else store.case(verdict.case)
        yield verdict, claim_card(verdict, arm.jury, arm.rubric, texts, options=options, people=ratings)


def case_groups(store: Store) -> dict[str, object]:
    """The group of each case that has one."""
    cases = ((name, store.case(name)) for name in store.case_ids())
    return {name: case.group for name, case in cases if case is not None and case.group is not None}
