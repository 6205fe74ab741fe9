"""The agreement of a ratings table in the terminal and as a page."""

from __future__ import annotations

import math

from rich.table import Table

from ..ratings.pooling import OVERALL
from ..report.html import items, page, paragraph, section, table
from ..report.terminal import estimate_words, interval_words, plain_table
from .choice import Choice
from .coefficient import band
from .rater_agreement import Agreement

HEADS = {
    "coefficient": "coefficient", "value": "value", "low": "low", "high": "high", "n": "n",
    "band": "reads as", "band_source": "says", "method": "method", "note": "",
}  # fmt: skip


def agreement_page(agreement: Agreement) -> str:
    """The whole page: overall first, then attribute by attribute, then the raters."""
    found = agreement.table
    names = ["overall", *agreement.attributes]
    raters = agreement.raters
    columns = {"attribute": "attribute", "rater": "rater", "n": "ratings", "severity": "severity", "rise": "alpha would rise by",
               "low": "low", "high": "high", "outlier": "outlier", "note": ""}  # fmt: skip
    outliers = [f"{row['rater']} ({row['attribute']})" for row in raters.to_dict("records") if row["outlier"]]
    named = f"Outliers: {', '.join(outliers)}." if outliers else "No rater is an outlier by this rule."
    rule = (
        "Severity is the mean distance above the others on the same cases. An outlier is a rater without whom "
        "Krippendorff's alpha would rise by 0.05 or more, with an interval above zero."
    )
    body = [section("What to report", items(report_lines(agreement), "said"))]
    body += [
        section(name, table(f"agreement-{name}", found[found["attribute"] == name], HEADS)) for name in names
    ]
    body.append(
        section("raters", paragraph(named), paragraph(rule, "soft"), table("raters", raters, columns))
    )
    if agreement.notes:
        body.append(section("notes", items(agreement.notes, "notes")))
    cases = max((each.n for each in agreement.overall.values() if not math.isnan(each.value)), default=0)
    under = f"up to {cases} rated units; 95% intervals; a coefficient reads as a band where its whole interval does"
    return page("Agreement of raters", under, body)


ANY_LEVEL = ("percent",)
FITTING = {
    "nominal": ("alpha_nominal", "ac1", "kappa", "fleiss"),
    "binary": ("alpha_nominal", "ac1", "kappa", "fleiss"),
    "ordinal": ("alpha_ordinal", "ac2", "kappa_quadratic", "spearman", "kendall", "icc2", "icc3k", "offset", "mae"),
    "interval": ("alpha_interval", "icc2", "icc2k", "icc3k", "pearson", "spearman", "offset", "mae", "rmse"),
    "ratio": ("alpha_ratio", "alpha_interval", "icc2", "icc2k", "icc3k", "pearson", "spearman", "offset", "mae", "rmse"),
}  # fmt: skip
"""By level, the coefficients that fit it."""
SHIPPED = frozenset(
    [
        "icc1",
        "icc2",
        "icc3",
        "icc1k",
        "icc2k",
        "icc3k",
        "alpha_nominal",
        "alpha_ordinal",
        "alpha_interval",
        "alpha_ratio",
        "ac1",
        "ac2",
        "kappa",
        "kappa_linear",
        "kappa_quadratic",
        "fleiss",
        "percent",
        "spearman",
        "kendall",
        "pearson",
        "offset",
        "rmse",
        "mae",
    ]
)
"""Those that need to fit; a plug-in's says itself what it is of."""


def agreement_table(agreement: Agreement, *, every: bool = False) -> Table:
    """Each attribute's coefficients that fit its level (or `every` one) as far as they are defined, with the band that the whole interval falls in; grey, with how
    few cases there are, where they are few."""
    table = plain_table("attribute", "coefficient", "value", "n", "reads as")
    for name, found in {**agreement.attributes, OVERALL: agreement.overall}.items():
        level = agreement.levels.get(name, "")
        fit = {*FITTING.get(level, found), *ANY_LEVEL}
        fit |= {
            choice.coefficient for at, choice in agreement.report.items() if at == name and choice.coefficient
        }
        for coefficient, estimate in found.items():
            if estimate.defined and (every or coefficient in fit or coefficient not in SHIPPED):
                reads = band(coefficient, estimate)
                told = f"{reads.word}, {reads.source}" if reads else ""
                table.add_row(
                    name,
                    coefficient,
                    estimate_words(estimate),
                    str(estimate.n),
                    estimate.few or told,
                    style="dim" if estimate.few else None,
                )
        if not any(estimate.defined for estimate in found.values()):
            table.add_row(name, "all", "undefined", "", next(iter(found.values())).note)
        table.add_section()
    return table


def report_lines(agreement: Agreement) -> list[str]:
    """Which coefficient to report for each attribute, with its value, and why; attributes of one design together."""
    together: dict[Choice, list[str]] = {}
    for name, choice in agreement.report.items():
        together.setdefault(choice, []).append(name)
    lines = []
    for choice, names in together.items():
        if choice.coefficient is None:
            lines.append(f"{', '.join(names)}: nothing to report: {choice.why}")
            continue
        values = ", ".join(
            f"{name} {estimate_words(agreement.attributes[name][choice.coefficient])}" for name in names
        )
        lines.append(f"report {choice.coefficient}: {values}")
        lines.append(f"  why: {choice.why}")
    return lines


def raters_table(agreement: Agreement) -> Table:
    """Each rater's harshness, and how much alpha would rise without them."""
    table = plain_table("attribute", "rater", "ratings", "severity", "alpha would rise by", "outlier")
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
