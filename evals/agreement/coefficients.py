"""The registry of coefficients: each is a function of `statistics/` with its range, its bands and what it asks of a scale; which fit a scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, NamedTuple

import pandas as pd

from ...rubrics.plugins import registered_plugins
from ..statistics.alpha import Level, krippendorff_alpha
from ..statistics.chance import Weighting, cohen_kappa, fleiss_kappa, gwet_ac, percent_agreement
from ..statistics.correlation import kendall, pearson, spearman
from ..statistics.error import mae, offset, rmse
from ..statistics.estimate import Estimate
from ..statistics.icc import Form, Interval, icc
from ..statistics.jackknife import Jackknife
from ..statistics.matrix import Value


class Band(NamedTuple):
    """What a value is called, and by whom."""

    word: str
    source: str


class Bands(NamedTuple):
    """Whose words, and from which value up each of them holds, the highest first."""

    source: str
    floors: tuple[tuple[float, str], ...]
    shown: Callable[[float], float] = float
    """What of a value is held against the floors: all of it, unless its size or its first decimals only."""

    def band(self, estimate: Estimate) -> Band | None:
        """The one word for everything that the interval holds; None where it holds several, or there is no interval."""
        low, high = estimate.low, estimate.high
        if math.isnan(low) or math.isnan(estimate.value):
            return None
        # Of sizes, an interval about zero holds the smallest too.
        words = {self._word(value) for value in (low, estimate.value, high, min(max(0.0, low), high))}
        return Band(words.pop(), self.source) if len(words) == 1 else None

    def _word(self, value: float) -> str:
        rounded = self.shown(value)
        return next(word for floor, word in self.floors if rounded >= floor)


LANDIS_KOCH = Bands(
    "Landis and Koch (1977)",
    (
        (0.81, "almost perfect"),
        (0.61, "substantial"),
        (0.41, "moderate"),
        (0.21, "fair"),
        (0.0, "slight"),
        (-math.inf, "poor"),
    ),
    # They print two decimals: 0.20 is slight, 0.21 fair.
    shown=lambda value: round(value, 2),
)
KOO_LI = Bands(
    "Koo and Li (2016)", ((0.9, "excellent"), (0.75, "good"), (0.5, "moderate"), (-math.inf, "poor"))
)
KRIPPENDORFF = Bands(
    "Krippendorff (2004)", ((0.8, "reliable"), (0.667, "tentative"), (-math.inf, "unreliable"))
)
SCHOBER = Bands(
    "Schober, Boer and Schwarte (2018)",
    ((0.9, "very strong"), (0.7, "strong"), (0.4, "moderate"), (0.1, "weak"), (0.0, "negligible")),
    # The size of a correlation is banded, whatever its sign.
    shown=abs,
)


GROUP = "venire.coefficients"
MANY_VALUES = 100
"""Distinct values beyond which nothing is told by how often each occurs."""


class Setting(NamedTuple):
    """How a coefficient is to be computed."""

    jackknife: Jackknife
    """What its interval leaves out as a whole."""
    categories: Sequence[Value] | None
    """The values of the scale, used or not, where they are declared."""
    icc_interval: Interval = "jackknife"
    """`f` where published F intervals of the ICC are asked for."""


LEVELS = ("nominal", "binary", "ordinal", "interval", "ratio")
_CLASSES, _ORDINAL, _ORDERED, _NUMBERS = LEVELS[:2], LEVELS[2:3], LEVELS[2:], LEVELS[3:]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement, as `venire agreement` names it."""

    name: str
    estimate: Callable[[pd.DataFrame, Setting], Estimate]
    """From a ratings table (`case`, `rater`, `value` and what is left out together) to the value with its interval."""
    range: tuple[float, float]
    """The lowest and the highest value that it can have."""
    place: int = 1000
    """Where it stands among the others: the lowest first, equals by name."""
    level: Literal["nominal", "ordinal", "ratio"] = "ordinal"
    """The least that ratings must be: labels, numbers with an order, or numbers with a true zero."""
    counts_values: bool = False
    """Whether it counts how often each value occurs, and so needs values that recur."""
    orders_words: bool = False
    """Whether words will do in place of numbers where the values are declared in order."""
    bands: Bands | None = None
    """What its values are called, and by whom."""
    fits: tuple[str, ...] = LEVELS
    """The levels of ratings at which it is printed unasked."""

    def unfit(self, values: pd.Series, level: str | None, categories: Sequence[Value] | None) -> str:
        """Why it does not fit ratings of this level, or nothing."""
        words = is_text(values)
        if level in ("nominal", "binary") and self.level != "nominal":
            return f"this coefficient needs a higher level of measurement than {level}"
        if words and self.level != "nominal":
            fits = self.orders_words and categories is not None
            return "" if fits else "this coefficient needs numbers, but the values are text"
        if self.level == "ratio" and level in ("ordinal", "interval"):
            return f"this coefficient needs a true zero, which the {level} level does not have"
        if self.level == "ratio" and (values.astype(float) < 0).any():
            return "this coefficient needs values of zero or more"
        distinct = int(values.nunique())
        if self.counts_values and distinct > MANY_VALUES:
            return f"this coefficient counts how often each value occurs, but the ratings have {distinct} different values, too many to count"
        return ""


def is_text(values: pd.Series) -> bool:
    """Whether any of the values is not a number."""
    return bool(pd.to_numeric(values, errors="coerce").isna().any())


@cache
def registered_coefficients() -> dict[str, Coefficient]:
    """Every coefficient that is registered, by name, in the order in which they are shown."""
    everyone: list[Coefficient] = [plugin.load() for plugin in registered_plugins(GROUP).values()]
    return {c.name: c for c in sorted(everyone, key=lambda c: (c.place, c.name))}


def band(coefficient: str, estimate: Estimate) -> Band | None:
    """What a coefficient is called where its whole interval bears the word; None where nobody has words for it."""
    registered = registered_coefficients().get(coefficient)
    return None if registered is None or registered.bands is None else registered.bands.band(estimate)


DOMINANT = 0.75
"""From this share of all ratings on, one value leaves so little to agree on beyond chance that kappa and alpha collapse."""
SHORT = 12
"""Numbers of so few distinct values are taken for an ordinal scale where no level is declared."""


STANDS_IN = {"ac2": "AC2", "ac1": "AC1", "percent": "percent agreement", "exact": "exact agreement"}
"""What is told beside a coefficient that has no interval, the first that has one."""


class Choice(NamedTuple):
    """The coefficient to report, and why this one; no coefficient where there is nothing to report."""

    coefficient: str | None
    why: str


def assumed_level(values: pd.Series) -> str:
    """The level of values whose scale nobody declared: words are nominal, a few numbers ordinal, others an interval."""
    if is_text(values.dropna()):
        return "nominal"
    return "ordinal" if values.nunique() <= SHORT else "interval"


def coefficient_choice(ratings: pd.DataFrame, level: str | None, found: dict[str, Estimate]) -> Choice:
    """The coefficient that fits the design, of those that are defined.

    Args:
        ratings: Columns `case`, `rater`, `value`, of one attribute.
        level: As declared; None where it is not.
        found: The coefficients of these ratings.
    """
    rated = ratings.dropna(subset=["value"])
    raters, cases = rated["rater"].nunique(), rated["case"].nunique()
    if raters < 2 or not rated["case"].duplicated().any():
        return Choice(None, "no case has the ratings of two raters")
    share = float(rated["value"].value_counts(normalize=True).iloc[0])
    if share == 1:
        return Choice(
            None,
            "all raters gave the same value to every case: report that, because no coefficient of agreement can be computed",
        )
    complete = len(rated) == raters * cases
    words = is_text(rated["value"])
    unordered = level in ("nominal", "binary") or (level is None and words)
    short = level == "ordinal" or (level is None and rated["value"].nunique() <= SHORT)
    design = f"{raters} raters of {cases} cases" + ("" if complete else ", not all of whom rated every case")
    for name, reason in _candidates(unordered, short, complete, raters, share):
        if name in found and found[name].defined:
            return Choice(name, f"{design}; {reason}")
    return Choice(
        None,
        "none of the agreement coefficients that fit these ratings can be computed; the table says why for each",
    )


def beside_refused(estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    """The estimates, those whose raters depart together too seldom for an interval with one beside them that has its own."""
    sure = next(
        (name for name in STANDS_IN if name in estimates and estimates[name].low < estimates[name].high), None
    )
    if sure is None:
        return estimates
    substitute = estimates[sure]
    words = f"{STANDS_IN[sure]} is {substitute.value:.2f} [{substitute.low:.2f}, {substitute.high:.2f}]"
    return {
        name: replace(e, note=f"{e.note}; {words}") if "most common value on the same case" in e.note else e
        for name, e in estimates.items()
    }


def _candidates(
    unordered: bool, short: bool, complete: bool, raters: int, share: float
) -> list[tuple[str, str]]:
    """Coefficients that fit, best first, each with the reason."""
    candidates: list[tuple[str, str]] = []
    if share >= DOMINANT and (unordered or short):
        name = "ac1" if unordered else "ac2"
        candidates.append((name, f"one value makes up {share:.0%} of all ratings; kappa and alpha can then be near zero although raters agree; {name.upper()} does not have this flaw"))  # fmt: skip
    if unordered:
        if complete and raters == 2:
            candidates.append(("kappa", "the values are categories without an order; kappa is the agreement beyond chance, given how often each rater uses each category"))  # fmt: skip
        if complete and raters > 2:
            candidates.append(
                ("fleiss", "the values are categories without an order, and there are more than two raters")
            )
        return [
            *candidates,
            (
                "alpha_nominal",
                "the values are categories without an order; alpha allows any number of raters and missing ratings",
            ),
        ]
    if short:
        if complete and raters == 2:
            candidates.append(("kappa_quadratic", "the scale is ordered; a difference of two steps counts four times as much as a difference of one step"))  # fmt: skip
        return [*candidates, ("alpha_ordinal", "the scale is ordered, but its steps need not be equal; alpha allows any number of raters and missing ratings")]  # fmt: skip
    if complete:
        candidates.append(("icc2", "the values are numbers with equal steps; icc2 is the absolute agreement of single ratings and treats the raters as a sample of all raters. If you use the mean of the ratings, report icc2k too"))  # fmt: skip
    return [
        *candidates,
        ("alpha_interval", "the values are numbers with equal steps; alpha allows missing ratings"),
    ]


_SIGNED = (-1.0, 1.0)
_UP_TO_ONE = (-math.inf, 1.0)


def _icc(form: Form, place: int, fits: tuple[str, ...] = ()) -> Coefficient:
    def estimate(ratings: pd.DataFrame, setting: Setting) -> Estimate:
        return icc(ratings, form=form, interval=setting.icc_interval, jackknife=setting.jackknife)

    return Coefficient(form, estimate, _UP_TO_ONE, place, bands=KOO_LI, fits=fits)


def _alpha(
    level: Level,
    place: int,
    fits: tuple[str, ...],
    *,
    needs: Literal["nominal", "ordinal", "ratio"],
    counts_values: bool = False,
) -> Coefficient:
    def estimate(ratings: pd.DataFrame, setting: Setting) -> Estimate:
        return krippendorff_alpha(ratings, level=level, jackknife=setting.jackknife)

    return Coefficient(
        f"alpha_{level}",
        estimate,
        _UP_TO_ONE,
        place,
        level=needs,
        counts_values=counts_values,
        bands=KRIPPENDORFF,
        fits=fits,
    )


def _ac1(ratings: pd.DataFrame, setting: Setting) -> Estimate:
    return gwet_ac(ratings, categories=setting.categories, jackknife=setting.jackknife)


def _ac2(ratings: pd.DataFrame, setting: Setting) -> Estimate:
    return gwet_ac(ratings, weighting="quadratic", categories=setting.categories, jackknife=setting.jackknife)


def _cohen(ratings: pd.DataFrame, setting: Setting, weighting: Weighting) -> Estimate:
    return cohen_kappa(
        ratings, weighting=weighting, categories=setting.categories, jackknife=setting.jackknife
    )


def _weighted_kappa(
    weighting: Literal["linear", "quadratic"], place: int, fits: tuple[str, ...]
) -> Coefficient:
    return Coefficient(
        f"kappa_{weighting}",
        lambda ratings, setting: _cohen(ratings, setting, weighting),
        _SIGNED,
        place,
        counts_values=True,
        orders_words=True,
        bands=LANDIS_KOCH,
        fits=fits,
    )


def _plain(measure: Callable[..., Estimate]) -> Callable[[pd.DataFrame, Setting], Estimate]:
    """A measure that asks for nothing but ratings and how to take its interval."""
    return lambda ratings, setting: measure(ratings, jackknife=setting.jackknife)


ICC1 = _icc("icc1", 10)
ICC2 = _icc("icc2", 11, _ORDERED)
ICC3 = _icc("icc3", 12)
ICC1K = _icc("icc1k", 13)
ICC2K = _icc("icc2k", 14, _NUMBERS)
ICC3K = _icc("icc3k", 15, _ORDERED)
ALPHA_NOMINAL = _alpha("nominal", 20, _CLASSES, needs="nominal", counts_values=True)
ALPHA_ORDINAL = _alpha("ordinal", 21, _ORDINAL, needs="ordinal")
ALPHA_INTERVAL = _alpha("interval", 22, _NUMBERS, needs="ordinal")
ALPHA_RATIO = _alpha("ratio", 23, LEVELS[4:], needs="ratio", counts_values=True)
AC1 = Coefficient(
    "ac1", _ac1, _SIGNED, 30, level="nominal", counts_values=True, bands=LANDIS_KOCH, fits=_CLASSES
)
AC2 = Coefficient(
    "ac2", _ac2, _SIGNED, 31, counts_values=True, orders_words=True, bands=LANDIS_KOCH, fits=_ORDINAL
)
KAPPA = Coefficient(
    "kappa",
    lambda ratings, setting: _cohen(ratings, setting, "identity"),
    _SIGNED,
    40,
    level="nominal",
    counts_values=True,
    bands=LANDIS_KOCH,
    fits=_CLASSES,
)
KAPPA_LINEAR = _weighted_kappa("linear", 41, ())
KAPPA_QUADRATIC = _weighted_kappa("quadratic", 42, _ORDINAL)
FLEISS = Coefficient(
    "fleiss",
    _plain(fleiss_kappa),
    _SIGNED,
    43,
    level="nominal",
    counts_values=True,
    bands=LANDIS_KOCH,
    fits=_CLASSES,
)
PERCENT = Coefficient(
    "percent", _plain(percent_agreement), (0.0, 1.0), 50, level="nominal", counts_values=True
)
SPEARMAN = Coefficient("spearman", _plain(spearman), _SIGNED, 60, bands=SCHOBER, fits=_ORDERED)
KENDALL = Coefficient("kendall", _plain(kendall), _SIGNED, 61, bands=SCHOBER, fits=_ORDINAL)
PEARSON = Coefficient("pearson", _plain(pearson), _SIGNED, 62, bands=SCHOBER, fits=_NUMBERS)
OFFSET = Coefficient("offset", _plain(offset), (-math.inf, math.inf), 70, fits=_ORDERED)
RMSE = Coefficient("rmse", _plain(rmse), (0.0, math.inf), 71, fits=_NUMBERS)
MAE = Coefficient("mae", _plain(mae), (0.0, math.inf), 72, fits=_ORDERED)
