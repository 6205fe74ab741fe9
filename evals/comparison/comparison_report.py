"""The report of a comparison: one page with the answer, then an appendix of what it rests on; on disk, in the terminal and as JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Group
from rich.text import Text

from ..agreement.against_people import MEASURES
from ..ratings.pooling import OVERALL
from ..report.charts import confusion_figure, forest_figure, gaps_figure, heatmap_figure
from ..report.drawing import COLOURS, Figure, clip, series_colour
from ..report.files import check_png, write_folder
from ..report.html import figure, paragraph, report_page, section_figures
from ..report.markup import Html, element
from ..report.panel import Panel, number_axis
from ..report.section import Section, TableText, estimate_json, records, section_json
from ..report.terminal import estimate_words, plain_table
from ..statistics.estimate import Estimate
from .arm_tables import WORDS
from .comparison import Comparison, charged_unit
from .comparison_summary import Summary, comparison_first_page, comparison_summary

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
CAPTIONS = {
    "forest": "Agreement of each arm with the median of people, with 95% intervals. Each person is compared with the median of the other people.",
    "confusion": "Each arm's scores (rows) against people's scores (columns), on the attributes that 'overall' pools. The shade of a cell is its share of the column.",
    "gaps": "How far each arm scores above (right) or below (left) people, for each attribute. The height of a bar is the share of scores, on the same scale in every panel.",
    "heatmap": "Kappa with quadratic weights between every two raters (people first), on the attributes that 'overall' pools.",
    "cost": "Each arm's agreement with people, as ICC(3,k), against its cost per case.",
}
"""Of the figures, by name."""

CHAPTERS = {
    "Agreement with people": (
        "said",
        "agreement",
        "signed_ranks",
        "confusion",
        "panels",
        "classes",
        "yes_no",
    ),
    "Differences between arms and systems": ("differences", "effects", "ranking", "winrate"),
    "The jury itself": (
        "deliberation",
        "independence",
        "stand_in",
        "stability",
        "consistency",
        "self_preference",
    ),
    "Cost": ("costs",),
    "Using the scores, and further audits": ("calibration", "severe", "triage", "rescore", "detection"),
}
"""By title, the sections of each chapter after the first page; those of other audits stand in the last."""
NAME = 18
"""The width of an arm's name in a table: a longer one goes on below, broken at a space or a hyphen."""


def write_report(comparison: Comparison, folder: Path, *, pictures: bool = False) -> Path:
    """Write `report.html`, `comparison.json`, `tables/*.csv` and `figures/*.svg`; the page's path.

    With `pictures`, also `figures/*.png`, which needs an extra.
    """
    if pictures:
        check_png()
    drawn = comparison_figures(comparison)
    return write_folder(
        folder,
        comparison_page(comparison, drawn),
        comparison_json(comparison),
        comparison.tables,
        drawn,
        name="comparison",
        pictures=pictures,
        first=comparison_first_page(comparison, ""),
    )


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON; NaN is null, with a note beside it."""
    summary = comparison_summary(comparison)
    tables = {name: records(table) for name, table in comparison.main_tables.items() if name != "agreement"}
    return {
        "arms": {
            arm: {
                name: {key: estimate_json(e) for key, e in found.items()}
                for name, found in attributes.items()
            }
            for arm, attributes in comparison.agreement.items()
        },
        "kinds": dict(comparison.kinds),
        **tables,
        "summary": {name: getattr(summary, name) for name in ("question", "answer", "cost", "certainty")},
        "sentences": comparison.sentences(),
        "methods": list(comparison.methods),
        "notes": list(comparison.notes),
        "ratings": None if comparison.ratings is None else comparison.ratings.to_json(),
        "sections": {section.name: section_json(section) for section in comparison.sections},
    }


def comparison_tables(comparison: Comparison) -> Group:
    """Arms as rows: agreement and error with their intervals below them; then matches, failures and cost. 80 columns are enough."""
    near = plain_table("arm", "ICC(3,k)", "Spearman", "mean abs error", "offset")
    rest = plain_table("arm", "n", "exact", "hung", "calls", "cost")
    costs = comparison.costs.set_index("arm")
    for arm, attributes in comparison.agreement.items():
        overall = attributes[OVERALL]
        spent = costs.loc[arm] if arm in costs.index else None
        name = textwrap.fill(arm, NAME)
        near.add_row(name, *(_stacked_cell(overall[each]) for each in ("icc3k", "spearman", "mae", "offset")))
        rest.add_row(
            name,
            str(overall["mae"].n or overall["spearman"].n),
            _cell(overall["exact"], percent=True),
            "" if spent is None else f"{spent['hung']:.0f}",
            "" if spent is None else f"{spent['calls']:.0f}",
            "" if spent is None else "unknown" if pd.isna(spent["usd"]) else f"${spent['usd']:.4f}",
        )
    return Group(near, "", rest)


def _cell(estimate: Estimate, *, percent: bool = False) -> str | Text:
    if estimate.few:
        return Text(f"{estimate_words(estimate, percent=percent)} {estimate.few}", style="dim")
    return estimate_words(estimate, percent=percent) if estimate.defined else "-"


def _stacked_cell(estimate: Estimate) -> Text:
    """A value, its interval below it, and below that how few cases there are, where they are few."""
    words = estimate_words(estimate) if estimate.defined else "-"
    lines = [words.replace(" [", "\n["), *([estimate.few] if estimate.few else [])]
    return Text("\n".join(lines), style="dim" if estimate.few else "")


def comparison_page(comparison: Comparison, figures: Mapping[str, Figure]) -> str:
    """The whole page, with its figures by name."""
    arms = [arm for arm, kind in comparison.kinds.items() if kind in ("jury", "single judge")]
    people = sum(kind == "person" for kind in comparison.kinds.values()) or 1
    return report_page(
        "Arms against people",
        f"{', '.join(arms)} against {people} {'person' if people == 1 else 'people'}; 95% intervals in brackets",
        [
            *(
                paragraph(f"{arm} was judged by {models}.", "soft")
                for arm, models in comparison.judges.items()
            ),
            _summary_part(comparison_summary(comparison)),
        ],
        CHAPTERS,
        _sections(comparison, figures, list(comparison.agreement[arms[0]]) if arms else []),
        comparison.methods,
        comparison.notes,
    )


def _sections(
    comparison: Comparison, figures: Mapping[str, Figure], attributes: Sequence[str]
) -> list[Section]:
    """The appendix: the comparison's own tables and figures, and the sections of its audits before the costs."""
    whole = comparison.differences["attribute"] == OVERALL
    unknown = [str(row["arm"]) for row in comparison.costs.to_dict("records") if math.isnan(row["usd"])]
    coefficients = {f"agreement-{name}": _coefficients(comparison, name) for name in attributes}
    between = _heads(
        "first second attribute measure value low high p p_holm n note", value="difference", p_holm="p, Holm"
    )
    drawn = {name: {words: figures[name]} if name in figures else {} for name, words in CAPTIONS.items()}
    return [
        Section("said", "What can be said", tuple(comparison.sentences())),
        Section(
            "agreement", "Agreement with people", (),
            {name: table for name, (table, _) in coefficients.items()} | {"icc3k": comparison.icc3k}, drawn["forest"],
            texts={name: text for name, (_, text) in coefficients.items()} | {
                "icc3k": TableText(
                    "ICC(3,k)", "",
                    _heads("arm attribute icc3k low high n note", icc3k="ICC(3,k)"),
                )
            },
        ),
        Section(
            "differences", "Differences between arms", (),
            {"differences-overall": comparison.differences[whole], "differences-attributes": comparison.differences[~whole]},
            lead="Each difference is the first arm minus the second, on the same cases. The first arm is nearer to people if the difference is negative in "
            f"{WORDS['absolute error']}, or positive in {WORDS['icc3k']}.",
            texts={"differences-overall": TableText("", "", between), "differences-attributes": TableText("By attribute", "", between)},
        ),
        _one_table(
            "signed_ranks", "Level: are the arms' scores higher or lower than people's?", comparison.signed_ranks,
            _heads("arm attribute median q1 q3 statistic p n note", median="median difference", q1="first quartile", q3="third quartile", statistic="signed-rank W"),
            figures=drawn["gaps"],
        ),
        Section("confusion", "Confusion", (), figures=drawn["confusion"]),
        _one_table(
            "panels", "An arm among people", comparison.panels,
            _heads("arm role before after change low high p n note", before="ICC(3,k) before"),
            heading="Agreement among people if an arm is added as a rater, or replaces a person", figures=drawn["heatmap"],
            otherwise="Adding an arm as a rater, or replacing a person by it, can be tested only with two people or more.",
        ),
        _one_table(
            "effects", "What the differences between arm and person depend on", comparison.effects, _heads("arm term value low high p n note", value="effect"),
            lead="Points by which the difference 'arm minus person' changes with each term; lengths are per standard deviation.",
            otherwise="No mixed model could be fitted; the notes say why.",
        ),
        *comparison.sections,
        Section(
            "costs", "Cost, failures, stops", (), {"costs": comparison.costs, "stops": comparison.stops}, drawn["cost"],
            lead=f"Arms whose cost is unknown, because the price of a model is unknown: {', '.join(unknown)}." if unknown else "",
            texts={
                "costs": TableText("", "", _heads("arm cases calls tokens usd seconds usd_per_case seconds_per_case abstentions hung not_applicable")),
                "stops": TableText("Why deliberations stopped", "", _heads("arm reason limit cases")),
            },
        ),
    ]  # fmt: skip


def _heads(columns: str, **words: str) -> dict[str, str]:
    """The heads of the columns named, by their own names but for those that have other words; a note has none."""
    return {
        name: words.get(name, "" if name == "note" else name.replace("_", " ")) for name in columns.split()
    }


def _one_table(
    name: str,
    title: str,
    table: pd.DataFrame,
    heads: Mapping[str, str],
    *,
    heading: str = "",
    figures: Mapping[str, Figure] | None = None,
    lead: str = "",
    otherwise: str = "",
) -> Section:
    """A section of one table; one that is empty says why, where there is something to say."""
    if table.empty and otherwise:
        return Section(name, title, (), figures=figures or {}, lead=otherwise)
    texts = {name: TableText(heading, "", heads)}
    return Section(name, title, (), {name: table}, figures or {}, lead=lead, texts=texts)


def _coefficients(comparison: Comparison, attribute: str) -> tuple[pd.DataFrame, TableText]:
    """One attribute's coefficients, arms as rows; why something is undefined, or grey, stands below."""
    rows, reasons = [], dict[str, list[str]]()
    for arm, kind in comparison.kinds.items():
        estimates = comparison.agreement[arm][attribute]
        n = max(each.n for each in estimates.values())
        rows.append({"arm": arm, "kind": kind, "n": n, **{name: estimates[name] for name in MEASURES}})
        for name in MEASURES:
            each = estimates[name]
            if each.few or not each.defined:
                reasons.setdefault(each.few or each.note, []).append(f"{arm} {HEADS[name]}")
    notes = tuple(f"{note}: {_some(cells)}" for note, cells in reasons.items())
    heads = {"arm": "arm", "kind": "kind", "n": "n", **{name: HEADS[name] for name in MEASURES}}
    return pd.DataFrame(rows), TableText(attribute, "", heads, notes)


def _some(cells: list[str], most: int = 4) -> str:
    more = f" and {len(cells) - most} more" if len(cells) > most else ""
    return ", ".join(cells[:most]) + more


def _summary_part(summary: Summary) -> Html:
    """The first page as HTML; a printed report ends the page after it."""
    return element(
        "section",
        {"class": "summary", "id": "summary"},
        element("h2", None, "The question"),
        paragraph(summary.question),
        element("h2", None, "The answer"),
        paragraph(summary.answer, "answer"),
        figure(summary.figure, summary.caption) if summary.figure else None,
        element("h2", None, "What it cost"),
        paragraph(summary.cost),
        element("h2", None, "How certain this is"),
        paragraph(summary.certainty),
    )


def comparison_figures(comparison: Comparison) -> dict[str, Figure]:
    """Every figure that the comparison has something to draw for, by name."""
    found = {
        arm: {attribute: each["icc3k"] for attribute, each in attributes.items()}
        for arm, attributes in comparison.agreement.items()
        if comparison.kinds[arm] != "text overlap"
    }
    counts, apart = comparison.confusion, comparison.gaps
    drawn = {
        "forest": forest_figure(found, "ICC(3,k) with people"),
        "gaps": gaps_figure(apart[apart["arm"] != comparison.floor]),
        "confusion": confusion_figure(
            counts[(counts["attribute"] == OVERALL) & (counts["arm"] != comparison.floor)]
        ),
    }
    if len(comparison.pairs):
        drawn["heatmap"] = heatmap_figure(comparison.pairs)
    if len(comparison.costs):
        overall = {arm: attributes[OVERALL] for arm, attributes in found.items()}
        people = [each.value for arm, each in overall.items() if comparison.kinds[arm] == "person"]
        drawn["cost"] = cost_figure(comparison.costs, overall, people)
    return drawn | section_figures(comparison.sections)


UNITS = {"usd": "US dollars per case", "tokens": "tokens per case", "calls": "model calls per case"}


def cost_figure(costs: pd.DataFrame, agreement: Mapping[str, Estimate], people: Sequence[float]) -> Figure:
    """Along the axis dollars, or tokens where no price is known or nothing was charged, or calls without tokens.

    Args:
        costs: One row an arm: `arm`, `cases`, `usd`, `tokens`, `calls`.
        agreement: By arm.
        people: The same of each person against the rest.
    """
    unit = charged_unit(costs)
    spent = dict(zip(costs["arm"], costs[unit] / costs["cases"], strict=True))
    shown = {arm: agreement[arm] for arm in spent if agreement[arm].defined}
    lows = [each.value if math.isnan(each.low) else each.low for each in shown.values()]
    along = UNITS[unit] + ("; dashed: each person against the other people" if people else "")
    x = number_axis(0.0, max([*spent.values(), 1e-9]) * 1.15, title=along)
    low = max(-1.0, math.floor(min([0.0, *lows]) * 4) / 4)
    panel = Panel(x, number_axis(low, 1.0, title="ICC(3,k) with people", lines=True), 496, 276)
    for value in (value for value in people if not math.isnan(value)):
        panel.rule(y=value, colour=COLOURS[-1])
    for number, (arm, each) in enumerate(shown.items()):
        panel.whisker_upright(spent[arm], each.value, each.low, each.high, series_colour(number), radius=5)
        panel.words(spent[arm], each.value, clip(arm))
    return Figure("Cost against agreement", [panel.picture()])
