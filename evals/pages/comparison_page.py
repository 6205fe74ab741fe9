"""The report of a comparison: one page with the answer, then an appendix of what it rests on and how it was done."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..agreement.against_people import MEASURES
from ..comparison.comparison import Comparison
from ..comparison.contrasts import WORDS
from ..figures.drawing import Figure
from ..ratings.sheet import OVERALL
from .comparison_summary import comparison_summary, summary_section
from .markup import Child, Html, element, fragment
from .parts import (
    bounds,
    breakable,
    figure,
    items,
    methods_section,
    page,
    paragraph,
    scroll_table,
    section,
    subheading,
    table,
)
from .section_markup import section_part

HEADS = {
    "icc3k": "ICC(3,k)",
    "kappa_quadratic": "kappa, quadratic",
    "kappa": "kappa, plain",
    "alpha_ordinal": "alpha, ordinal",
    "ac2": "AC2",
    "spearman": "Spearman",
    "exact": "exact",
    "offset": "offset",
    "mae": "MAE",
    "rmse": "RMSE",
}
ICC_HEADS = {"arm": "arm", "attribute": "attribute", "icc3k": "ICC(3,k)", "f_low": "F low", "f_high": "F high",
             "bootstrap_low": "bootstrap low", "bootstrap_high": "bootstrap high", "n": "n", "note": ""}  # fmt: skip
BETWEEN = {"value": "difference", "low": "low", "high": "high"}
CAPTIONS = {
    "forest": "Agreement of each arm with the median of people, with 95% intervals. Each person stands against the others.",
    "confusion": "What each arm gave (rows) where people gave what (columns), on the attributes that overall pools; shade is the share of a column.",
    "gaps": "How far each arm stands above (right) or below (left) people, attribute by attribute; height is the share of scores, on one scale throughout.",
    "heatmap": "Quadratic kappa of every two raters, people first, on the attributes that overall pools.",
    "cost": "ICC(3,k) with people against what a case took.",
}


def comparison_page(comparison: Comparison, figures: Mapping[str, Figure]) -> str:
    """The whole page, with its figures by name."""
    drawn = {name: figure(figures[name], words) for name, words in CAPTIONS.items() if name in figures}
    arms = [arm for arm, kind in comparison.kinds.items() if kind in ("jury", "single judge")]
    attributes = list(comparison.agreement[arms[0]]) if arms else []
    said = comparison.sentences()
    body = [
        summary_section(comparison_summary(comparison)),
        element("p", {"class": "appendix"}, "Appendix: everything that the first page rests on"),
        section("What can be said", items(said, "said")),
        section(
            "Agreement with people",
            drawn.get("forest"),
            *(_attribute(comparison, name) for name in attributes),
            subheading("ICC(3,k) with its F interval and its bootstrap interval"),
            table("icc3k", comparison.icc3k, ICC_HEADS),
        ),
        section("Differences between arms", *_differences(comparison)),
        section(
            "Level: are scores higher or lower than people's?",
            drawn.get("gaps"),
            table(
                "signed_ranks",
                comparison.signed_ranks,
                {"arm": "arm", "attribute": "attribute", "median": "median difference", "q1": "first quartile",
                 "q3": "third quartile", "statistic": "signed-rank W", "p": "p", "n": "n", "note": ""},
            ),
        ),
        section("Confusion", drawn.get("confusion")),
        section("Among people", drawn.get("heatmap"), *_panels(comparison)),
        section("What moves the differences", *_effects(comparison)),
        *map(section_part, comparison.sections),
        section("Cost, failures, stops", drawn.get("cost"), *_costs(comparison)),
        methods_section(comparison.methods),
        section("Notes", items(comparison.notes, "notes") or paragraph("None.")),
    ]  # fmt: skip
    people = sum(kind == "person" for kind in comparison.kinds.values()) or 1
    under = f"{', '.join(arms)} against {people} {'person' if people == 1 else 'people'}; 95% intervals in brackets"
    return page("Arms against people", under, body)


def _attribute(comparison: Comparison, attribute: str) -> Html:
    """One attribute's coefficients, arms as rows; why something is undefined, or grey, stands below."""
    rows, why = [], dict[str, list[str]]()
    for arm, kind in comparison.kinds.items():
        found = comparison.agreement[arm][attribute]
        cells = []
        for name in MEASURES:
            each = found[name]
            keys = {"data-arm": arm, "data-attribute": attribute, "data-coefficient": name}
            kind_of = "number few" if each.few else "number"
            cells.append(element("td", {"class": kind_of, **keys}, bounds(each.value, each.low, each.high)))
            if each.few or not each.defined:
                why.setdefault(each.few or each.note, []).append(f"{arm} {HEADS[name]}")
        n = max(each.n for each in found.values())
        under = element("span", {"class": "between"}, f"{kind}, n = {n}")
        rows.append(element("tr", None, element("th", {"scope": "row"}, breakable(arm), under), cells))
    notes = [f"{note}: {_some(where)}" for note, where in why.items()]
    heads = ["arm", *(HEADS[name] for name in MEASURES)]
    return fragment(subheading(attribute), scroll_table(heads, rows), items(notes, "notes"))


def _some(where: list[str], most: int = 4) -> str:
    more = f" and {len(where) - most} more" if len(where) > most else ""
    return ", ".join(where[:most]) + more


def _differences(comparison: Comparison) -> list[Html]:
    heads = {"first": "first", "second": "second", "attribute": "attribute", "measure": "measure", **BETWEEN,
             "p": "p", "p_holm": "p, Holm", "n": "n", "note": ""}  # fmt: skip
    explained = (
        "The first arm minus the second, on the same cases. Nearer to people is a negative difference in "
        f"{WORDS['absolute error']} and a positive one in {WORDS['icc3k']}."
    )
    whole = comparison.differences["attribute"] == OVERALL
    return [
        paragraph(explained, "soft"),
        table("differences-overall", comparison.differences[whole], heads),
        subheading("By attribute"),
        table("differences-attributes", comparison.differences[~whole], heads),
    ]


def _panels(comparison: Comparison) -> list[Html]:
    if comparison.panels.empty:
        return [
            paragraph("An arm as one more rater, or in a person's place, needs two people or more.", "soft")
        ]
    heads = {"arm": "arm", "role": "role", "before": "ICC(3,k) before", "after": "after", "change": "change",
             "low": "low", "high": "high", "p": "p", "n": "n", "note": ""}  # fmt: skip
    return [
        subheading("As one more rater, and in each person's place"),
        table("panels", comparison.panels, heads),
    ]


def _effects(comparison: Comparison) -> list[Html]:
    if comparison.effects.empty:
        return [paragraph("No mixed model could be fitted; the notes say why.", "soft")]
    heads = {
        "arm": "arm",
        "term": "term",
        "value": "effect",
        "low": "low",
        "high": "high",
        "p": "p",
        "n": "n",
        "note": "",
    }
    return [
        paragraph("Points by which arm minus person changes; lengths per standard deviation.", "soft"),
        table("effects", comparison.effects, heads),
    ]


def _costs(comparison: Comparison) -> list[Child]:
    names = (
        "cases",
        "calls",
        "tokens",
        "usd",
        "seconds",
        "usd_per_case",
        "seconds_per_case",
        "abstentions",
        "hung",
        "not_applicable",
    )
    heads = {"arm": "arm", **{name: name.replace("_", " ") for name in names}}
    unknown = [str(row["arm"]) for row in comparison.costs.to_dict("records") if math.isnan(row["usd"])]
    return [
        table("costs", comparison.costs, heads),
        paragraph(f"A price is unknown for: {', '.join(unknown)}.", "soft") if unknown else None,
        subheading("Why deliberations stopped"),
        table(
            "stops", comparison.stops, {"arm": "arm", "reason": "reason", "limit": "limit", "cases": "cases"}
        ),
    ]
