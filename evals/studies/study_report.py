"""The report of a study: its findings as sections of tables and figures; on a page, on disk, in the terminal and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from ...rubrics.errors import count_words
from ..comparison.deliberation import NAME as DELIBERATION
from ..comparison.deliberation import effect_cells, effects_in_short
from ..report.drawing import COLOURS, INK, Figure, amount, below, caption, clip, decimal, legend, text_width
from ..report.files import write_folder
from ..report.html import report_page, section_figures, section_part
from ..report.panel import DASHED, Look, Panel, Tick, name_axis, number_axis, padded_range
from ..report.section import Section, records, section_json
from ..report.terminal import interval_words, show_first_page, show_section
from ..statistics.significance import interval_phrase
from .advice import price_words
from .candidates import DIFFERENCE, Composition
from .findings import Findings, RecordedFindings, RunFindings
from .judgements import UNITS
from .study_files import REPORT
from .study_tables import CHAPTERS, TABLES, trial_rows

CAPTIONS = {
    "frontier": "Agreement with people on cases that the arm was not chosen on, against its cost per case. "
    "The dashed line is the frontier: no arm beats an arm on it in both agreement and cost. Intervals are 95%.",
    "growth": "Agreement with people against the number of seats, for juries made of the seats' own blind ballots. Bands are 95% intervals of the agreement.",
    "contributions": "What each seat adds to agreement with people, on average over all juries that these seats could make.",
}
"""Of the figures of a run."""
RECORDED_CAPTIONS = {
    "frontier": "Agreement with people against cost. The dashed line is the frontier: no arm beats an arm on it in both agreement and cost. Intervals are 95%.",
    "growth": "Agreement with people against the size of the jury. Bands are 95% intervals: how far the agreement might differ on a new sample of cases.",
    "contributions": "What each juror adds to agreement with people, on average over all possible juries.",
}
SECTIONS: Sequence[tuple[tuple[str, ...], str]] = (
    (("choices", "measures"), ""),
    (("answers",), ""),
    (("frontier", "noise"), "frontier"),
    (("jurors",), "contributions"),
    (("growth",), "growth"),
    (("independence", "correlations"), ""),
    (("selection",), ""),
    (("position",), ""),
    (("power",), ""),
)
"""Of recorded jurors: the tables of each section, which is titled as the first is, and its figure."""
MOST_CORRELATED = 12
"""Pairs of jurors that are listed, those whose errors correlate most."""


@dataclass(frozen=True, slots=True)
class StudyReport:
    """A report that was written, its page at `page`."""

    page: Path
    document: Mapping[str, Any]
    """What `--json` prints."""
    first: Section
    """The first page."""
    sections: tuple[Section, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    """By arm, what it is chosen by."""

    def show(self, console: Console, *, full: bool = False) -> None:
        """The first page; in `full`, then all that is advised, every section and every note."""
        show_first_page(self.first, console)
        if not full:
            return
        console.print("\nAdvice", style="bold")
        for sentence in self.document["advice"]:
            console.print(f"- {sentence}", highlight=False, markup=False, soft_wrap=True)
        for part in self.sections:
            show_section(part, console)
        for note in self.document["notes"]:
            console.print(f"  note: {note}", highlight=False, markup=False, soft_wrap=True)


AGREEMENT, MEAN_CREDIT = "agreement with people", "mean credit with people"
UNIT_HEADS = {"US dollars per case": "US dollars", "tokens per case": "tokens", "model calls per case": "calls", "votes per case": "votes"}  # fmt: skip


def study_first_page(
    name: str, composition: Composition, sections: Sequence[Section], page: Path, doubts: Sequence[str] = ()
) -> Section:
    """The question, the answer in three sentences, one row an arm, what is uncertain, and where the rest is."""
    deliberation = next((part for part in sections if part.name == DELIBERATION), None)
    effects = effect_cells(deliberation)
    front = composition.frontier
    used = front["arm"].isin([composition.recommended])
    order = front.assign(used=~used, off=~front["front"].astype(bool)).sort_values(["used", "off"], kind="stable")  # fmt: skip
    rows = [
        {
            "arm": f"{'> ' if row['arm'] == composition.recommended else ''}{row['arm']}",
            "kind": row["kind"],
            composition.measure.removesuffix(" with people"): interval_words(row["score"], row["low"], row["high"]),
            "deliberation": effects.get(str(row["arm"]), ""),
            UNIT_HEADS.get(composition.unit, "cost"): amount(row["cost"]),
            "seconds": "" if pd.isna(row["seconds"]) else amount(row["seconds"], 2),
        }
        for row in order.to_dict("records")
    ]  # fmt: skip
    short = [_use_in_short(composition), _juries_in_short(composition)]
    if deliberation is not None:
        short.append(effects_in_short(deliberation))
    measure = MEAN_CREDIT if composition.measure == AGREEMENT else composition.measure
    return Section(
        "summary",
        f"{name}: which of {len(front)} arms to use, by {measure}? (cost and time are per case)",
        tuple(short),
        {"arms": pd.DataFrame(rows)},
        notes=(*_uncertain(composition), *doubts),
        lead=f"The full report is in {page}; --full prints it here.",
    )


def _use_in_short(composition: Composition) -> str:
    """What to use, from the rows that say so."""
    apart = composition.choices
    if composition.chosen_apart and len(apart):
        together: dict[str, list[str]] = {}
        for row in apart.to_dict("records"):
            together.setdefault(str(row["use"]), []).append(str(row["attribute"]))
        arms_by_attribute = "; ".join(
            f"{arm} for {', '.join(names)}" for arm, names in list(together.items())[:4]
        )
        more = f"; {len(together) - 4} more arms with --full" if len(together) > 4 else ""
        return f"Use {arms_by_attribute}{more}: on its attributes, each is the cheapest arm that is not shown to be worse than the best."
    name = composition.recommended
    if not composition.noise["p"].notna().any():
        return f"No arm can be recommended yet: {name} scored best, but {composition.noise['note'].iloc[0]}."
    arm = composition.frontier[composition.frontier["arm"] == name].to_dict("records")[0]
    return f"Use {name}: it is the cheapest arm that is not shown to be worse than the best ({interval_words(arm['score'], arm['low'], arm['high'])}, {price_words(arm['cost'], composition.unit)})."


def _juries_in_short(composition: Composition) -> str:
    """Whether a jury pays, from the row of the difference, or for each attribute from its own."""
    if composition.chosen_apart and len(composition.choices):
        paying = composition.choices[composition.choices["pays"].astype(bool)]["attribute"].tolist()
        return (
            f"A jury is worth using on {', '.join(paying)}."
            if paying
            else "No jury is shown to be worth using on any attribute."
        )
    found = composition.answers[composition.answers["what"] == DIFFERENCE].to_dict("records")
    if not found or math.isnan(found[0]["p"]):
        return "It is not shown whether a jury is worth using."
    row = found[0]
    gain = interval_words(row["value"], row["low"], row["high"])
    return (
        f"A jury is worth using: in agreement with people, the best jury's gain over the best single judge, both chosen on other cases, is {gain}."
        if composition.pays
        else f"No jury is shown to be worth using: in agreement with people, the best jury's gain over the best single judge, both chosen on other cases, is {gain}."
    )


def _uncertain(composition: Composition) -> list[str]:
    """What so many cases cannot tell, and how much was noted."""
    said = []
    for row in composition.power.head(1).to_dict("records"):
        if not math.isnan(row["detectable"]):
            said.append(
                f"With {row['n']} cases (or groups), a true difference in score between {row['first']} and {row['second']} below {row['detectable']:.3f} is missed in more than one study in five."
            )
    if composition.notes:
        said.append(
            f"The report's notes say what was left out or could not be computed ({count_words(len(composition.notes), 'note')})."
        )
    return said


def write_study_report(found: Findings, output: Path | None = None) -> StudyReport:
    """The report of a run beside it, where the inspector finds it, and in `output`; that of recorded judgements in
    `output`, or in the study's own folder."""
    if isinstance(found, RecordedFindings):
        folder = output or found.folder
        first = study_first_page(found.study, found.jurors, found.sections, folder / "report.html")
        page = write_composition(found.jurors, folder, found.sections, first)
        document = {"study": found.study, **composition_json(found.jurors, found.sections)}
        return StudyReport(page, document, first, found.sections, _scores(found.jurors))
    figures = _run_figures(found)
    tables = {"arms": found.table, "trials": found.trials}
    for prefix, composition in (("arms", found.arms), ("jurors", found.jurors)):
        if composition is not None:
            tables |= {f"{prefix}-{name}": table for name, table in composition.tables.items()}
    document = _document(found, tables, figures)
    page_text = _run_page(found, figures)
    folders = [folder for folder in (found.folder / REPORT, output) if folder]
    first = study_first_page(
        found.study.name,
        found.arms,
        found.sections,
        folders[-1] / "report.html",
        (found.registration.sentence, found.paid_sentence),
    )
    written = [
        write_folder(
            folder,
            page_text,
            document,
            tables | _section_tables(found.sections),
            figures | section_figures(found.sections),
            first=first,
        )
        for folder in folders
    ]
    return StudyReport(written[-1], document, first, found.sections, _scores(found.arms))


def _scores(composition: Composition) -> dict[str, float]:
    front = composition.frontier
    return dict(zip(map(str, front["arm"]), map(float, front["score"]), strict=True))


def write_composition(
    composition: Composition, folder: Path, sections: tuple[Section, ...] = (), first: Section | None = None
) -> Path:
    """Write `report.html`, `report.json`, `tables/*.csv` and `figures/*.svg`, with a `first` page `report.md`; the page's path."""
    figures = composition_figures(composition)
    return write_folder(
        folder,
        composition_page(composition, figures, sections),
        composition_json(composition, sections),
        {**composition.tables, **_section_tables(sections)},
        figures,
        first=first,
    )


def composition_page(
    composition: Composition, figures: Mapping[str, Figure], sections: tuple[Section, ...] = ()
) -> str:
    """The page of juries made of recorded jurors, with its figures by name: the advice, then what it rests on."""
    tables = dict(composition.tables)
    if "correlations" in tables:
        known = tables["correlations"].dropna()
        tables["correlations"] = known.sort_values("correlation", ascending=False).head(MOST_CORRELATED)
    parts = [
        _tables_section(names, tables, {RECORDED_CAPTIONS[drawn]: figures[drawn]} if drawn in figures else {})
        for names, drawn in SECTIONS
        if names[0] in tables
    ]
    first = [
        Section("advice", "What to do", tuple(composition.sentences())),
        *(part for part in parts if part.name == "frontier"),
    ]
    further = [part for part in (*parts, *sections) if part.name != "frontier"]
    methods = [*composition.methods, *(sentence for part in sections for sentence in part.methods)]
    under = f"{len(composition.frontier)} arms; agreement with people from 0 to 1; cost in {composition.unit}"
    return report_page(
        "Which jury to use",
        under,
        map(section_part, first),
        CHAPTERS,
        further,
        methods,
        composition.notes,
    )


def composition_json(composition: Composition, sections: tuple[Section, ...] = ()) -> dict[str, Any]:
    """What other programs read; NaN is null."""
    return {
        "recommended": composition.recommended,
        "advice": composition.sentences(),
        "measure": composition.measure,
        "unit": composition.unit,
        "tables": {name: records(table) for name, table in composition.tables.items()},
        "sections": {part.name: section_json(part) for part in sections},
        "methods": [*composition.methods, *(sentence for part in sections for sentence in part.methods)],
        "notes": list(composition.notes),
    }


def _run_page(found: RunFindings, figures: Mapping[str, Figure]) -> str:
    """What to use, the frontier, every arm, what each seat adds, and how it was done."""
    study = found.study
    held_out = f"{len(study.test)} test cases" if study.test else "every case, each held out in turn"
    drawn = {CAPTIONS[name]: figure for name, figure in figures.items()}
    frontier = {words: figure for words, figure in drawn.items() if words == CAPTIONS["frontier"]}
    first = [
        Section("use", "What to use", (*found.sentences(), found.registration.sentence)),
        _tables_section(
            ("arms",),
            {"arms": found.table},
            frontier,
            title="What agreement costs",
            lead=f"Cost is in {found.arms.unit}. Arms were chosen on {len(study.selection)} cases and scored on {held_out}.",
        ),
        Section(
            "judges",
            "Who judged",
            tuple(f"{row['arm']} was judged by {row['models']}." for row in records(found.judges)),
        ),
    ]
    parts = [
        _seats_section(
            found.jurors, {words: figure for words, figure in drawn.items() if words not in frontier}
        ),
        _tables_section(("noise", "answers", "power"), vars(found.arms)),
    ]
    if len(found.trials):
        trials = pd.DataFrame(trial_rows(records(found.trials)))
        parts.append(_tables_section(("trials",), {"trials": trials}))
    under = study.description or f"{len(found.table)} arms against people"
    return report_page(
        f"Study: {study.name}",
        under,
        map(section_part, first),
        CHAPTERS,
        [*parts, *found.sections],
        found.methods,
        found.notes,
    )


def _seats_section(jurors: Composition | None, figures: Mapping[str, Figure]) -> Section:
    title = "What each seat adds"
    if jurors is None:
        return Section(
            "seats", title, ("Too few seats voted blind to compute what each seat adds; the notes say why.",)
        )
    lead = "Each seat's own blind ballot is counted in every jury that these seats could make, whether or not that jury was run."
    names = ("jurors", "independence", "growth")
    sentences = tuple(
        f"The errors of any two of these {row['jurors']} seats correlate by {decimal(float(row['correlation']), 2)} on average: "
        f"all seats together are worth {decimal(float(row['effective']), 1)} independent jurors (Kish; "
        f"{interval_phrase(row['low'], row['high'], '.1f')})."
        for row in jurors.independence.to_dict("records")
        if row["jury"] == "all jurors" and not math.isnan(row["effective"])
    )
    return _tables_section(names, jurors.tables, figures, title=title, lead=lead, sentences=sentences)


def _tables_section(
    names: Sequence[str],
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, Figure] | None = None,
    *,
    title: str = "",
    lead: str = "",
    sentences: tuple[str, ...] = (),
) -> Section:
    """A section of those of `names` that are there, described as `study_tables` has them; titled as the first is, without a title."""
    present = [name for name in names if name in tables]
    texts = {name: TABLES[name]._replace(title="") if name == names[0] else TABLES[name] for name in present}
    shown = {name: tables[name] for name in present}
    return Section(
        names[0], title or TABLES[names[0]].title, sentences, shown, figures or {}, lead=lead, texts=texts
    )


def _section_tables(sections: Sequence[Section]) -> dict[str, pd.DataFrame]:
    return {f"{part.name}_{name}": table for part in sections for name, table in part.tables.items()}


def _document(
    found: RunFindings, tables: Mapping[str, pd.DataFrame], figures: Mapping[str, Figure]
) -> dict[str, Any]:
    study, paid = found.study, found.paid
    return {
        "study": study.name,
        "description": study.description,
        "registration": found.registration.to_json(),
        "recommended": found.arms.recommended,
        "advice": found.sentences(),
        "measure": found.arms.measure,
        "unit": UNITS[study.unit],
        "arms": records(found.table),
        "selection": list(study.selection),
        "test": list(study.test),
        "planned": dict(study.planned),
        "paid": {"calls": paid.calls, "tokens": paid.tokens, "usd": paid.usd},
        "alone": found.alone,
        "trials": records(found.trials),
        "tables": {name: records(table) for name, table in tables.items() if name not in ("arms", "trials")},
        "sections": {part.name: section_json(part) for part in found.sections},
        "figures": {name: CAPTIONS[name] for name in figures},
        "methods": list(found.methods),
        "notes": list(found.notes),
    }


def _run_figures(found: RunFindings) -> dict[str, Figure]:
    """The frontier of the arms, and what there is to draw of the seats."""
    seats = {} if found.jurors is None else composition_figures(found.jurors)
    return {"frontier": composition_figures(found.arms)["frontier"]} | {
        name: figure for name, figure in seats.items() if name != "frontier"
    }


def composition_figures(composition: Composition) -> dict[str, Figure]:
    """Every figure that there is something to draw for, by name."""
    drawn = {
        "frontier": pareto_figure(
            composition.frontier,
            recommended=composition.recommended,
            unit=composition.unit,
            measure=composition.measure,
        )
    }
    if len(composition.jurors):
        drawn["contributions"] = contributions_figure(composition.jurors)
    if len(composition.growth):
        drawn["growth"] = growth_figure(composition.growth, composition.measure)
    return drawn


MOST = 30
"""Of more jurors, those who add most and least are drawn."""
ROW = 18
EXPLAINED = "bar: Shapley value with 95% interval; dot: agreement lost when the juror leaves the whole pool; bold: in the jury"


def contributions_figure(table: pd.DataFrame) -> Figure:
    """Bars of Shapley values with intervals, a dot for leaving the juror out of everybody; seated jurors in bold.

    Args:
        table: One row a juror: `juror`, `shapley`, `shapley_low`, `shapley_high`, `leave_one_out`, `in_jury`.
    """
    columns = ["juror", "in_jury", "shapley", "shapley_low", "shapley_high", "leave_one_out"]
    rows = list(_most_and_least(table)[columns].itertuples(index=False, name=None))
    if len(rows) < len(table):
        rows.insert(MOST // 2, (f"{len(table) - len(rows)} more", None, *[math.nan] * 4))
    low, high = padded_range([0.0, *(value for row in rows for value in row[2:])], share=0.05, least=0.01)
    looks: dict[bool | None, Look] = {True: "bold", False: "plain", None: "soft"}
    names = name_axis(Tick(0, clip(str(juror)), looks[seated]) for juror, seated, *_ in rows)
    panel = Panel(number_axis(low, high, about=6, lines=True), names, 460, len(rows) * ROW, title="What each juror adds to agreement")  # fmt: skip
    for number, (_, _, value, worst, best, alone) in enumerate(rows):
        if not math.isnan(value):
            panel.bar(number, value, COLOURS[0] if value >= 0 else COLOURS[1])
        panel.interval((worst, number), (best, number), INK, width=1.5)
        if not math.isnan(alone):
            panel.point(alone, number, COLOURS[2], radius=2.5)
    return Figure("What each juror adds", [below([panel.picture(), caption(EXPLAINED)])])


def _most_and_least(table: pd.DataFrame) -> pd.DataFrame:
    return table if len(table) <= MOST else pd.concat([table.head(MOST // 2), table.tail(MOST // 2 - 1)])


WAYS = {
    "chosen": "the jury chosen on other cases",
    "random": "juries drawn at random (dashed: 5th and 95th percentile)",
}


def growth_figure(table: pd.DataFrame, measure: str) -> Figure:
    """A line for each way, its interval as a band; thin lines for the weakest and strongest of random juries.

    Args:
        table: Columns `how` (chosen or random), `size`, `score`, `low`, `high`, `weakest`, `strongest`.
        measure: What `score` is, in words.
    """
    sizes = sorted(set(table["size"]))
    edges = ["score", "low", "high", "weakest", "strongest"]
    low, high = padded_range(table[edges].to_numpy(float).ravel(), share=0.06)
    y = number_axis(max(0.0, low), min(1.0, high), about=6, title=measure, lines=True)
    panel = Panel(name_axis([Tick(0, str(size)) for size in sizes], title="jurors"), y, 536, 306)
    for way, colour in zip(WAYS, COLOURS, strict=False):
        rows = (
            table[table["how"] == way].sort_values("size").assign(place=lambda t: t["size"].map(sizes.index))
        )
        ends = rows.dropna(subset=["low", "high"])
        panel.band(list(zip(ends["place"], ends["low"], ends["high"], strict=True)), colour)
        for edge in ("weakest", "strongest"):
            known = rows.dropna(subset=[edge])
            panel.line(zip(known["place"], known[edge], strict=True), colour, width=0.8, dashes=DASHED)
        panel.line(zip(rows["place"], rows["score"], strict=True), colour)
        for place, score in zip(rows["place"], rows["score"], strict=True):
            panel.point(place, score, colour)
    return Figure(
        "Agreement by the size of the jury", [below([panel.picture(), legend(list(WAYS.values()))])]
    )


KINDS = {"single judge": COLOURS[1], "jury": COLOURS[0]}
FEW = 8
"""Of a kind of arm with no more than these, all are named."""
FAR = 30.0
"""From this ratio of costs on, the axis is logarithmic."""


def pareto_figure(arms: pd.DataFrame, *, recommended: str, unit: str, measure: str) -> Figure:
    """Cost along, agreement up; names and intervals of the front, of the arm advised and of few arms, the rest as dots.

    Args:
        arms: Columns `arm`, `kind`, `cost`, `score`, `low`, `high`, `front`.
        unit: What `cost` counts, and `measure` what `score` is, in words.
    """
    table = arms.dropna(subset=["score", "cost"])
    few = table["kind"].map(table["kind"].value_counts()) <= FEW
    named = table[table["front"] | (table["arm"] == recommended) | few]
    low, high = padded_range([*table["score"], *named["low"], *named["high"]])
    inside = measure != AGREEMENT
    y = number_axis(low if inside else max(0.0, low), high if inside else min(1.0, high), about=6, title=measure, lines=True)  # fmt: skip
    least, most, log = _ends(table["cost"].tolist())
    panel = Panel(number_axis(least, most, about=6, title=unit, log=log), y, 536, 306)
    front = named[named["front"]].sort_values("cost")
    for (left, before), (right, after) in pairwise(zip(front["cost"], front["score"], strict=True)):
        panel.line([(left, before), (right, before), (right, after)], INK, width=1, dashes=DASHED)
    for row in table.drop(named.index).to_dict("records"):
        panel.point(row["cost"], row["score"], KINDS.get(str(row["kind"]), COLOURS[2]), radius=3)
    for row in named.to_dict("records"):
        colour = KINDS.get(str(row["kind"]), COLOURS[2])
        panel.whisker_upright(row["cost"], row["score"], row["low"], row["high"], colour, radius=5)
    _name_arms(panel, named)
    return Figure(
        "Cost against agreement", [below([panel.picture(), legend(list(KINDS), list(KINDS.values()))])]
    )


def _ends(costs: list[float]) -> tuple[float, float, bool]:
    """From where to where the axis of costs goes, and whether it is logarithmic."""
    least, most = min(costs), max(costs)
    if least > 0 and most / least > FAR:
        room = (most / least) ** 0.08
        return least / room, most * room, True
    room = (most - least) * 0.08 or 1.0
    return least - room if least > room else 0.0, most + room, False


def _name_arms(panel: Panel, named: pd.DataFrame) -> None:
    """Names above their points, moved down where they would stand on each other."""
    taken = list[tuple[float, float, float]]()
    for row in named.sort_values("score", ascending=False).to_dict("records"):
        words, drop = clip(str(row["arm"])), -7
        left, level = panel.at(row["cost"], row["score"])
        right = left + text_width(words) + 7
        while any(
            left < end and start < right and abs(level + drop - height) < 14 for start, end, height in taken
        ):
            drop += 14
        taken.append((left, right, level + drop))
        panel.words(row["cost"], row["score"], words, shift=(7, drop))
