"""Every coefficient that fits a ratings table, by attribute and overall; in the terminal and as a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd
from rich.table import Table

from ...rubrics.scale import Scale
from ..ratings.people import last_round
from ..ratings.pooling import OVERALL, table_pooling
from ..ratings.question import Question, assumed_question
from ..ratings.reference import Rule, reference
from ..report.html import items, page, paragraph, section, table
from ..report.section import estimate_json
from ..report.terminal import estimate_words, interval_words, plain_table
from ..statistics.alpha import Level, rater_outliers
from ..statistics.estimate import Estimate, undefined
from ..statistics.icc import Interval
from ..statistics.jackknife import Jackknife
from ..statistics.matrix import InvalidRatings, Value
from .coefficients import (
    LEVELS,
    MANY_VALUES,
    Choice,
    Setting,
    assumed_level,
    band,
    beside_refused,
    coefficient_choice,
    is_text,
    registered_coefficients,
)

Estimates = dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far raters agree."""

    attributes: dict[str, Estimates]
    overall: Estimates
    raters: pd.DataFrame
    """By attribute, each rater's harshness and whether the others would agree better without them."""
    notes: tuple[str, ...] = ()
    """Where the raters have no reference among them, for want of a majority."""
    report: Mapping[str, Choice] = field(default_factory=dict)
    """By attribute, which coefficient to report for its design, and why."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """By attribute, and overall, its level: as declared, or as its values look."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per attribute and coefficient, with the band that its whole interval falls in; `overall` comes last."""
        estimates_by_name = {**self.attributes, "overall": self.overall}
        return pd.DataFrame(
            [
                {"attribute": name, "coefficient": coefficient, **cells(coefficient, estimate)}
                for name, estimates in estimates_by_name.items()
                for coefficient, estimate in estimates.items()
            ]
        )

    def to_json(self) -> dict[str, object]:
        """The shape that other programs read; NaN is None, with a note."""
        return {
            "attributes": {name: _estimates_json(estimates) for name, estimates in self.attributes.items()},
            "overall": _estimates_json(self.overall),
            "report": {name: choice._asdict() for name, choice in self.report.items()},
            "notes": list(self.notes),
        }


def agreement(
    ratings: pd.DataFrame,
    *,
    questions: Mapping[str, Question] | None = None,
    levels: Mapping[str, str] | None = None,
    categories: Mapping[str, Sequence[Value]] | None = None,
    reference: Rule | None = None,
    method: Interval = "jackknife",
    seed: int = 0,
    resamples: int = 0,
) -> Agreement:
    """The coefficients of a ratings table, with intervals, by attribute and overall.

    A coefficient that does not fit an attribute's level is NaN with a note. Where the level is not declared,
    text is nominal and numbers get every coefficient that numbers allow. Of several rounds the last counts.
    "Overall" pools the attributes that share one scale, a case's attributes being left out together, and is NaN
    with a note where no two do; those that are better low are turned, should others be better high.

    Args:
        ratings: Columns `case`, `rater`, `attribute`, `value`, and perhaps `round`.
        questions: By attribute, what was asked: its level, its values, and which end is the good one.
        levels: By attribute that is not among `questions`: nominal, binary, ordinal, interval or ratio.
        categories: Likewise, the values of its scale, used or not; AC1 and AC2 depend on them.
        reference: What the raters' scores of a question become as a reference; here it decides only what is noted.
        method: `f` for the published F intervals of the ICC, which assume normal scores and independent cases.
        seed: As every analysis takes it; nothing is drawn here, and `resamples` has no use either.
    """
    forms = questions or {}
    table = last_round(ratings)
    parts = {str(name): table[table["attribute"] == name] for name in dict.fromkeys(table["attribute"])}
    level_by_name = {
        name: forms[name].scale.level if name in forms else _declared_level(name, levels) for name in parts
    }
    scales: dict[str, Sequence[Value]] = {**(categories or {})}
    between = {
        name: _between(parts[name]["value"], form.scale) for name, form in forms.items() if name in parts
    }
    scales |= {name: _steps(form.scale, between.get(name, ())) for name, form in forms.items()}
    attributes = {
        name: _coefficients(part, level_by_name[name], scales.get(name), method, by="case")
        for name, part in parts.items()
    }
    outliers = [
        rater_outliers(part, level=_outlier_level(part["value"], level_by_name[name])).assign(attribute=name)
        for name, part in parts.items()
    ]
    raters = (
        pd.concat(outliers, ignore_index=True) if outliers else pd.DataFrame(columns=["attribute", "rater"])
    )
    overall = _overall(parts, attributes, forms, level_by_name, scales, method)
    report = {
        name: coefficient_choice(part, level_by_name[name], attributes[name]) for name, part in parts.items()
    }
    notes = (*_notes(parts, forms, level_by_name, scales, reference), *_between_notes(between))
    likely = {name: level_by_name[name] or assumed_level(part["value"]) for name, part in parts.items()}
    pooled = set(likely.values())
    likely |= {OVERALL: pooled.pop()} if len(pooled) == 1 else {}
    return Agreement(attributes, overall, raters, notes, report, likely)


def _between(values: pd.Series, scale: Scale) -> list[float]:
    """The numbers that were given between the steps of a scale: half points."""
    if scale.level != "ordinal" or not scale.numeric or is_text(values):
        return []
    low, high = map(float, scale.ends)
    given = set(values.dropna().astype(float)) - set(map(float, scale.values))
    return sorted(number for number in given if low < number < high)


def _steps(scale: Scale, between: Sequence[float]) -> Sequence[Value]:
    return sorted({*map(float, scale.values), *between}) if between else scale.values


def _between_notes(between: Mapping[str, Sequence[float]]) -> Iterator[str]:
    for name, given in between.items():
        if given:
            yield f"{name}: some ratings lie between the steps of the scale ({', '.join(f'{number:g}' for number in given)}); AC1 and AC2 count these as steps too"


def _notes(
    parts: Mapping[str, pd.DataFrame],
    forms: Mapping[str, Question],
    levels: Mapping[str, str | None],
    scales: Mapping[str, Sequence[Value]],
    rule: Rule | None,
) -> tuple[str, ...]:
    """Where the raters have no majority, so that nothing else could be held against them."""
    assumed = {
        name: forms.get(name) or assumed_question(part["value"], levels[name], scales.get(name) or ())
        for name, part in parts.items()
    }
    known_questions = {name: question for name, question in assumed.items() if question is not None}
    rows = [parts[name] for name in known_questions]
    return reference(pd.concat(rows), known_questions, rule=rule).notes if rows else ()


def _overall(
    parts: Mapping[str, pd.DataFrame],
    attributes: dict[str, Estimates],
    questions: Mapping[str, Question],
    level_by_name: dict[str, str | None],
    scales: Mapping[str, Sequence[Value]],
    method: Interval,
) -> Estimates:
    if len(attributes) == 1:
        return next(iter(attributes.values()))
    pooled, note = table_pooling(parts, questions, level_by_name, scales)
    if not pooled.names:
        return {name: undefined(note, method=name) for name in registered_coefficients()}
    lead = pooled.names[0]
    table = pooled.rows(pd.concat([parts[name] for name in pooled.names]))
    unit = table["case"].astype(str) + "\x1f" + table["attribute"].astype(str)
    rows = table.assign(cluster=table["case"], case=unit)
    steps = scales.get(lead) or None
    if lead in questions:
        scale = questions[lead].scale
        steps = _steps(scale, _between(rows["value"], scale)) or None
    estimates = _coefficients(rows, level_by_name[lead], steps, method, by="cluster")
    return {
        name: replace(estimate, note="; ".join(filter(None, (estimate.note, note))))
        for name, estimate in estimates.items()
    }


def _coefficients(
    ratings: pd.DataFrame, level: str | None, scale: Sequence[Value] | None, method: Interval, by: str
) -> Estimates:
    values = ratings["value"]
    level = "nominal" if level is None and is_text(values) else level
    cases = int(ratings["case"].nunique())
    estimates = {}
    for name, coefficient in registered_coefficients().items():
        unfit = coefficient.unfit(values, level, scale)
        if unfit:
            estimates[name] = undefined(unfit, method=name, n=cases)
        else:
            setting = Setting(Jackknife(by=by), scale, method)
            estimates[name] = coefficient.estimate(ratings, setting).out_of(cases)
    return beside_refused(estimates)


def _declared_level(name: str, levels: Mapping[str, str] | None) -> str | None:
    level = (levels or {}).get(name)
    if level is not None and level not in LEVELS:
        raise InvalidRatings(
            f"{name!r} has the unknown level of measurement {level!r}", remedy=f"use one of {list(LEVELS)}"
        )
    return level


def _outlier_level(values: pd.Series, level: str | None) -> Level:
    if is_text(values) or level in ("nominal", "binary"):
        return "nominal"
    many_values = values.nunique() > MANY_VALUES
    return "interval" if level in ("interval", "ratio") or many_values else "ordinal"


def cells(coefficient: str, estimate: Estimate) -> dict[str, object]:
    """An estimate as the cells of a row, with the band that its whole interval falls in."""
    reading = band(coefficient, estimate)
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "few": estimate.few,
        "band": reading.word if reading else "",
        "band_source": reading.source if reading else "",
        "method": estimate.method,
        "note": estimate.note,
    }


def _estimates_json(estimates: Estimates) -> dict[str, dict[str, object]]:
    return {name: estimate_json(estimate) for name, estimate in estimates.items()}


HEADS = {
    "coefficient": "coefficient", "value": "value", "low": "low", "high": "high", "n": "n",
    "band": "interpretation", "band_source": "according to", "method": "method", "note": "",
}  # fmt: skip


def agreement_page(agreement: Agreement) -> str:
    """The whole page: overall first, then attribute by attribute, then the raters."""
    rows = agreement.table
    names = ["overall", *agreement.attributes]
    raters = agreement.raters
    columns = {"attribute": "attribute", "rater": "rater", "n": "ratings", "severity": "severity", "rise": "rise in alpha if the rater is left out",
               "low": "low", "high": "high", "outlier": "outlier", "note": ""}  # fmt: skip
    outliers = [f"{row['rater']} ({row['attribute']})" for row in raters.to_dict("records") if row["outlier"]]
    verdict = (
        f"Outliers: {', '.join(outliers)}." if outliers else "No rater is an outlier by the rule given below."
    )
    rule = (
        "Severity is how far a rater's scores are, on average, above those of the other raters on the same cases. A rater is an outlier if leaving the "
        "rater out raises Krippendorff's alpha by 0.05 or more, and the interval of this rise is above zero."
    )
    body = [section("What to report", items(report_lines(agreement), "said"))]
    body += [
        section(name, table(f"agreement-{name}", rows[rows["attribute"] == name], HEADS)) for name in names
    ]
    body.append(
        section("raters", paragraph(verdict), paragraph(rule, "soft"), table("raters", raters, columns))
    )
    if agreement.notes:
        body.append(section("notes", items(agreement.notes, "notes")))
    cases = max((e.n for e in agreement.overall.values() if not math.isnan(e.value)), default=0)
    subtitle = f"Based on up to {cases} rated cases, with 95% intervals. A coefficient is called good, moderate and so on only if its whole interval lies in that band."
    return page("Agreement of raters", subtitle, body)


def agreement_table(agreement: Agreement, *, every: bool = False) -> Table:
    """Each attribute's coefficients that fit its level (or `every` one) as far as they are defined, with the band that the whole interval falls in; grey, with how
    few cases there are, where they are few."""
    table = plain_table("attribute", "coefficient", "value", "n", "interpretation")
    for name, estimates in {**agreement.attributes, OVERALL: agreement.overall}.items():
        level = agreement.levels.get(name, "")
        chosen = {choice.coefficient for at, choice in agreement.report.items() if at == name}
        for coefficient, estimate in estimates.items():
            fits = level not in LEVELS or level in registered_coefficients()[coefficient].fits
            if estimate.defined and (every or fits or coefficient in chosen):
                reads = band(coefficient, estimate)
                reading = f"{reads.word}, {reads.source}" if reads else ""
                table.add_row(
                    name,
                    coefficient,
                    estimate_words(estimate),
                    str(estimate.n),
                    estimate.few or reading,
                    style="dim" if estimate.few else None,
                )
        if not any(estimate.defined for estimate in estimates.values()):
            table.add_row(name, "all", "undefined", "", next(iter(estimates.values())).note)
        table.add_section()
    return table


def report_lines(agreement: Agreement) -> list[str]:
    """Which coefficient to report for each attribute, with its value, and why; attributes of one design together."""
    names_by_choice: dict[Choice, list[str]] = {}
    for name, choice in agreement.report.items():
        names_by_choice.setdefault(choice, []).append(name)
    lines = []
    for choice, names in names_by_choice.items():
        if choice.coefficient is None:
            lines.append(f"{', '.join(names)}: no coefficient to report: {choice.why}")
            continue
        values = ", ".join(
            f"{name} {estimate_words(agreement.attributes[name][choice.coefficient])}" for name in names
        )
        lines.append(f"report {choice.coefficient}: {values}")
        lines.append(f"  why: {choice.why}")
    return lines


def raters_table(agreement: Agreement) -> Table:
    """Each rater's harshness, and how much alpha would rise without them."""
    table = plain_table(
        "attribute", "rater", "ratings", "severity", "rise in alpha if the rater is left out", "outlier"
    )
    for row in agreement.raters.to_dict("records"):
        rise = (
            interval_words(row["rise"], row["low"], row["high"])
            if not math.isnan(row["rise"])
            else row["note"]
        )
        severity = "" if math.isnan(row["severity"]) else f"{row['severity']:+.2f}"
        table.add_row(
            row["attribute"], row["rater"], str(row["n"]), severity, rise, "outlier" if row["outlier"] else ""
        )
    return table
