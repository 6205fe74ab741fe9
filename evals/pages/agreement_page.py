"""The agreement of a ratings table as a page."""

from __future__ import annotations

import math

from ..agreement.rater_agreement import Agreement
from .parts import items, page, paragraph, section, table
from .terminal_tables import report_lines

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
    under = f"up to {cases} rated units; 95% intervals; bands are conventions, read the interval first"
    return page("Agreement of raters", under, body)
