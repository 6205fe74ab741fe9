"""The report of a suite: the board, heat maps, costs and failures, on a page, as tables and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table

from ...orchestration.record.private_files import write_atomically
from ...rubrics.errors import count_words
from ..report.charts import score_heatmap
from ..report.drawing import COLOURS, INK, Figure, clip
from ..report.files import write_folder
from ..report.html import appendix, collapsible, figure, items, page, paragraph, section, table
from ..report.markup import Child
from ..report.panel import DASHED, Panel, number_axis, padded_range
from . import CASES, REPORT
from .board import Board, SystemStanding
from .clinicians import PeopleAgreement, people_json
from .score_table import ScoreTable
from .suite import arm_name
from .suite_results import SuiteResults
from .suite_run import judged_id, question_id
from .suite_tables import (
    board_json,
    board_page,
    board_sentences,
    board_tables,
    differences_table,
    plain_number,
    simple_table,
)


def system_costs_figure(systems: pd.DataFrame) -> Figure:
    """Dollars along, win rate up; hollow where another system is no dearer and no worse.

    Args:
        systems: Columns `system`, `usd`, `win_rate`, `dominated`; every number known.
    """
    low, high = padded_range(systems["win_rate"].tolist())
    limit = systems["usd"].max() * 1.25 or 1.0
    y = number_axis(max(0.0, low), high, about=6, title="win rate", lines=True)
    panel = Panel(number_axis(0.0, limit, about=6, title="dollars"), y, 500, 280)
    front = systems[~systems["dominated"]].sort_values("usd")
    for (usd, rate), (next_usd, next_rate) in pairwise(zip(front["usd"], front["win_rate"], strict=True)):
        panel.line([(usd, rate), (next_usd, rate), (next_usd, next_rate)], INK, width=1, dashes=DASHED)
    for row in systems.to_dict("records"):
        panel.point(row["usd"], row["win_rate"], COLOURS[0], radius=5, hollow=bool(row["dominated"]))
        panel.words(row["usd"], row["win_rate"], clip(str(row["system"]), 24), shift=(8, -6))
    return Figure("Cost against win rate", [panel.picture()])


STATUSES = ("unparsed", "failed", "hung", "unjudged")
"""What became of answers that have no score."""
CAPTIONS = {
    "scenarios": "Every system's score on every scenario, from 0 (worst) to 1 (best).",
    "categories": "Each system's mean score in each category of the taxonomy.",
    "cost": "Each system's cost (of its answers and of judging them) against its win rate. A hollow dot means that another system costs no more and scores no lower.",
}


BOARD_HEADS = {"system": "system", "win_rate": "win rate", "win_sd": "SD", "macro": "macro", "sd": "SD", "rank": "rank", "scenarios": "scenarios", "complete_win_rate": "win rate, complete", "complete_macro": "macro, complete"}  # fmt: skip
DIFFERENCE_HEADS = {"scenario": "scenario", "first": "first", "second": "minus", "difference": "difference", "low": "low", "high": "high", "n": "n", "p_holm": "p (Holm)", "note": ""}  # fmt: skip


def suite_json(results: SuiteResults) -> dict[str, Any]:
    """The results as `suite report --json` prints them; undefined numbers are null."""
    document = board_json(str(results.suite.file), results.board)
    for name, cost in results.costs.items():
        if name in document["systems"]:
            document["systems"][name] |= {
                "usd": cost.total.usd,
                "upper_usd": cost.total.upper_usd,
                "cost": cost.json(),
            }
    for scenario in results.scored:
        entry = document["scenarios"].setdefault(scenario.scenario.name, {"mde": None, "n": scenario.cases})
        entry |= {
            "n": scenario.cases,
            "scorer": scenario.scenario.scorer.name,
            "against": scenario.scenario.seating.against if scenario.scenario.seating else None,
            "scale": list(scenario.scenario.ends),
            "baseline": plain_number(scenario.baselines["constant"]),
            "random": plain_number(scenario.baselines["random"]),
            "constant_answer": scenario.constant,
            **{
                status: scenario.count(status)
                for status in ("hung", "unparsed", "failed", "undefined", "unjudged")
            },
            "missing": sum(system.missing for system in scenario.systems),
            "ratings_lost": sum(score.lost for system in scenario.systems for score in system.cases.values()),
            "scores": {
                system.system: {
                    "score": plain_number(system.score.value),
                    "low": plain_number(system.score.low),
                    "high": plain_number(system.score.high),
                    "n": system.score.n,
                    "note": system.score.note,
                    **{status: system.count(status) for status in ("hung", "unparsed", "failed", "unjudged")},
                    "ratings_lost": sum(score.lost for score in system.cases.values()),
                }
                for system in scenario.systems
            },
        }
    return {
        "suite": results.suite.suite.name,
        "run": str(results.folder),
        **document,
        "baselines": {name: plain_number(value) for name, value in results.baselines.items()},
        "not_run": dict(results.suite.skipped),
        "dominated": results.dominated,
        "judges": list(results.judges),
        "notes": list(results.notes),
    }


def suite_sentences(results: SuiteResults) -> list[str]:
    """Who leads, what was skipped and lost, who is dominated."""
    sentences = board_sentences(results.board)
    sentences += [f"{name} was skipped: {reason}." for name, reason in results.suite.skipped.items()]
    sentences += [
        f"{scored.scenario.name}: a score is the win rate against {seating.against}, judged in pairs by {seating.jury.name} with the rubric "
        f"{seating.rubric.name}; a tie counts half, a hung pair is left out, and {seating.against} itself scores half by definition."
        for scored in results.scored
        if (seating := scored.scenario.seating) is not None and seating.against is not None
    ]
    sentences += _failures(results)
    constant, chance = results.baselines["constant"], results.baselines["random"]
    if not math.isnan(constant):
        sentences.append(
            f"Baselines that do not read the cases have a macro average of {constant:.2f} (always the same answer) or {chance:.2f} (a random answer), on the scenarios that are scored without a jury."
        )
    sentences += [
        f"{name} is dominated: {rival} costs no more and scores no lower."
        for name, rival in results.dominated.items()
    ]
    unknown = [name for name, cost in results.costs.items() if cost.total.usd is None]
    if unknown:
        sentences.append(f"The cost of {', '.join(unknown)} is unknown: a price or a token count is missing.")
    return [*sentences, *results.notes]


def _failures(results: SuiteResults) -> list[str]:
    words = {
        "unparsed": "Answers that could not be read, and count as wrong",
        "failed": "Answers left out, because the system could not be reached (--retry asks again)",
        "hung": "Answers without a score, because the jury is hung",
        "unjudged": "Answers without a score, because the jury did not judge them",
    }
    sentences = []
    for status, meaning in words.items():
        by = {result.scenario.name: result.count(status) for result in results.scored if result.count(status)}
        if by:
            counts = ", ".join(f"{name} {number}" for name, number in by.items())
            sentences.append(f"{meaning}: {sum(by.values())} ({counts}).")
    lost = sum(
        score.lost
        for result in results.scored
        for system in result.systems
        for score in system.cases.values()
    )
    if lost:
        sentences.append(
            f"{count_words(lost, 'rating')} by jurors failed. Scores are means of the ratings that did not fail."
        )
    return sentences


def scenario_table(results: SuiteResults) -> pd.DataFrame:
    """One row a scenario and system, baselines among them: the score, and what has none."""
    rows = []
    for scenario in results.scored:
        for system in scenario.systems:
            rows.append(
                {
                    "scenario": scenario.scenario.name,
                    "system": system.system,
                    "score": system.score.value,
                    "low": system.score.low,
                    "high": system.score.high,
                    "n": system.score.n,
                    **{status: system.count(status) for status in STATUSES},
                    "lost": sum(score.lost for score in system.cases.values()),
                    "note": system.score.note,
                }
            )
        for name, value in scenario.baselines.items():
            zeros = dict.fromkeys((*STATUSES, "lost"), 0)
            note = (
                "not available: this figure needs an exact scorer, and a jury scored this scenario"
                if math.isnan(value)
                else scenario.constant[:40]
                if name == "constant"
                else ""
            )
            rows.append(
                {
                    "scenario": scenario.scenario.name,
                    "system": f"({name})",
                    "score": value,
                    "low": math.nan,
                    "high": math.nan,
                    "n": scenario.cases,
                    **zeros,
                    "note": note,
                }
            )
    return pd.DataFrame(rows)


def cost_table(results: SuiteResults) -> pd.DataFrame:
    """One row a system: tokens and dollars, generation and jury apart, as paid and at the most."""
    rows = []
    for name, cost in results.costs.items():
        row: dict[str, Any] = {"system": name}
        for kind, part in (("generation", cost.generation), ("jury", cost.jury), ("total", cost.total)):
            row |= {
                f"{kind}_tokens": "unknown" if part.tokens is None else f"{part.tokens:,}",
                f"{kind}_usd": _dollars(part.usd),
                f"{kind}_upper": _dollars(part.upper_usd),
            }
        rows.append({**row, "dominated": results.dominated.get(name, "")})
    return pd.DataFrame(rows)


def _dollars(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:,.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.6f}"


def suite_terminal(results: SuiteResults) -> list[Table]:
    """The board, then every scenario's systems and baselines, then costs."""
    tables = board_tables(results.board)
    rows = scenario_table(results)
    for name, scenario_rows in rows.groupby("scenario", sort=False):
        statuses = [status for status in (*STATUSES, "lost") if scenario_rows[status].any()]
        scores = simple_table(f"{name}: system", "score", "interval", "n", *statuses)
        for row in scenario_rows.to_dict("records"):
            interval = "" if math.isnan(row["low"]) else f"{row['low']:.3f} to {row['high']:.3f}"
            score = "undefined" if math.isnan(row["score"]) else f"{row['score']:.4f}"
            scores.add_row(
                row["system"], score, interval, str(row["n"]), *(str(row[status]) for status in statuses)
            )
        tables.append(scores)
    costs = simple_table("system", "generation", "at most", "jury", "at most", "total")
    for row in cost_table(results).to_dict("records"):
        costs.add_row(
            row["system"],
            row["generation_usd"],
            row["generation_upper"],
            row["jury_usd"],
            row["jury_upper"],
            row["total_usd"],
        )
    return [*tables, costs]


def suite_figures(results: SuiteResults) -> dict[str, Figure]:
    """Heat maps by scenario and category, and cost against win rate where costs are known."""
    shares = table_shares(results.table).loc[[standing.system for standing in results.board.standings]]
    figures = {"scenarios": score_heatmap(shares, title="Scores by scenario")}
    categories = pd.DataFrame(
        {standing.system: dict(standing.categories) for standing in results.board.standings}
    ).T
    if len(categories.columns):
        figures["categories"] = score_heatmap(categories, title="Scores by category")
    priced = [
        {
            "system": standing.system,
            "usd": usd,
            "win_rate": standing.win_rate,
            "dominated": standing.system in results.dominated,
        }
        for standing in results.board.standings
        if (usd := results.costs[standing.system].total.usd) is not None and not math.isnan(standing.win_rate)
    ]
    if len(priced) > 1:
        figures["cost"] = system_costs_figure(pd.DataFrame(priced))
    return figures


def table_shares(table: ScoreTable) -> pd.DataFrame:
    """The scores from worst (0) to best (1)."""
    return pd.DataFrame(
        {name: table.means[name].map(column.share) for name, column in table.columns.items() if column.direction != "none"},
        index=table.means.index,
    )  # fmt: skip


def board_frame(standings: Iterable[SystemStanding]) -> pd.DataFrame:
    """The board as a table, best first."""
    return pd.DataFrame(
        {
            "system": standing.system,
            "win_rate": standing.win_rate,
            "win_sd": standing.win_sd,
            "macro": standing.macro,
            "sd": standing.sd,
            "rank": f"{standing.rank[0]} to {standing.rank[1]}"
            if standing.rank[0] != standing.rank[1]
            else str(standing.rank[0]),
            "scenarios": standing.scenarios,
            "complete_win_rate": standing.complete_win_rate,
            "complete_macro": standing.complete_macro,
        }
        for standing in standings
    )


def write_board(board: Board, document: Mapping[str, Any], sentences: Iterable[str], folder: Path) -> Path:
    """Write the board of a table of scores as a page, its JSON and its tables; the page's path."""
    tables = {"board": board_frame(board.standings), "differences": differences_table(board)}
    body = [
        section("What can be said", items(sentences, "said")),
        section("The board", table("board", tables["board"], BOARD_HEADS)),
        appendix(
            {
                "Differences between systems": [
                    section("Differences", table("differences", tables["differences"], DIFFERENCE_HEADS))
                ]
            }
        ),
    ]
    subtitle = f"{len(board.standings)} systems on {count_words(len(board.scenarios), 'scenario')}"
    return write_folder(folder, page("Board of systems", subtitle, body), document, tables, {})


def write_suite_report(
    results: SuiteResults, output: Path | None = None, people: PeopleAgreement | None = None
) -> tuple[Path, dict[str, Any]]:
    """Write the report beside the run, where the inspector finds it, and in `output`; the page's path, and the JSON."""
    figures, document = suite_figures(results), suite_json(results)
    tables = {
        "board": board_frame(results.board.standings),
        "scenarios": scenario_table(results),
        "costs": cost_table(results),
        "differences": differences_table(results.board),
        "effects": effect_table(results),
        "cases": case_table(results),
    }
    document |= {"sentences": suite_sentences(results), "figures": {name: CAPTIONS[name] for name in figures}}
    if people is not None:
        document["people"] = people_json(people)
        tables["people"] = people_frame(people)
    html = suite_page(results, figures, tables)
    lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in case_rows(results))
    (results.folder / REPORT).mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(results.folder / REPORT / CASES, lines)
    folders = [folder for folder in (results.folder / REPORT, output) if folder is not None]
    first = board_page(results.board, results.suite.name, tuple(suite_sentences(results)))
    pages = [write_folder(folder, html, document, tables, figures, first=first) for folder in folders]
    return pages[-1], document


def effect_table(results: SuiteResults) -> pd.DataFrame:
    """The minimum detectable effect of every pair on every scenario."""
    rows = [
        {"scenario": name, "first": system, "second": rival, "mde": value}
        for name, effect in results.board.effects.items()
        for (system, rival), value in effect.pairs.items()
    ]
    return pd.DataFrame(rows, columns=["scenario", "first", "second", "mde"])


def case_table(results: SuiteResults) -> pd.DataFrame:
    """Every case's score; the columns that `venire suite table` reads, and why there is none."""
    rows = [
        {"system": system.system, "scenario": scenario.scenario.name, "case": case, "score": score.points(scenario.scenario.ends[0]), "status": score.status, "answer": score.answer[:200], "why": score.why[:200], "ratings": score.ratings, "lost": score.lost}
        for scenario in results.scored
        for system in scenario.systems
        for case, score in system.cases.items()
    ]  # fmt: skip
    return pd.DataFrame(
        rows, columns=["system", "scenario", "case", "score", "status", "answer", "why", "ratings", "lost"]
    )


def case_rows(results: SuiteResults) -> Iterator[dict[str, Any]]:
    """Every answer in full with its score, and where the run's records have it: by its jury's id, and by the question's id and the system's arm."""
    for part, scored in zip(results.suite.parts, results.scored, strict=True):
        for system in scored.systems:
            answers = results.answers[part.name].get(system.system, {})
            for case, score in system.cases.items():
                yield {
                    "scenario": part.name, "case": case, "system": system.system, "status": score.status, "score": plain_number(score.points(part.scenario.ends[0])),
                    "why": score.why, "output": answers[case].text if case in answers else "", "judged": judged_id(part, case, system.system),
                    "asked": question_id(part, case), "arm": arm_name(part.name, system.system),
                }  # fmt: skip


def suite_page(
    results: SuiteResults, figures: Mapping[str, Figure], tables: Mapping[str, pd.DataFrame]
) -> str:
    """The whole page."""
    charts: dict[str, Child] = {name: figure(drawing, CAPTIONS[name]) for name, drawing in figures.items()}
    suite = results.suite
    score_heads = {"scenario": "scenario", "system": "system", "score": "score", "low": "low", "high": "high", "n": "n", "unparsed": "unparsed", "failed": "failed", "hung": "hung", "unjudged": "unjudged", "lost": "ratings lost", "note": ""}  # fmt: skip
    cost_heads = {"system": "system", "generation_usd": "generation", "generation_upper": "at most", "jury_usd": "jury", "jury_upper": "at most ", "total_usd": "total", "total_upper": "at most  ", "dominated": "dominated by"}  # fmt: skip
    differences: list[Child] = [
        section(
            "Differences",
            paragraph(
                "Each difference is computed over the cases that both systems answered, on a scale from 0 (worst) to 1 (best). The p values of the macro average are Holm-corrected "
                "over all pairs of systems; all other p values are corrected over all pairs and scenarios.",
                "soft",
            ),
            table("differences", tables["differences"], DIFFERENCE_HEADS),
        ),
        section(
            "What a scenario can show",
            paragraph(
                "The smallest difference between two systems that a scenario detects with 80% power at a significance level of 0.05.",
                "soft",
            ),
            collapsible(
                f"{len(tables['effects'])} pairs",
                table(
                    "effects",
                    tables["effects"],
                    {"scenario": "scenario", "first": "first", "second": "second", "mde": "MDE"},
                ),
            ),
        ),
    ]
    scores: list[Child] = [
        section("By scenario", charts.get("scenarios"), table("scenarios", tables["scenarios"], score_heads)),
        *_people_section(tables),
        section(
            "Skipped",
            items([f"{name}: {reason}" for name, reason in suite.skipped.items()], "notes")
            if suite.skipped
            else paragraph("Nothing."),
        ),
    ]
    costs = [section("Cost", charts.get("cost"), table("costs", tables["costs"], cost_heads))]
    body: list[Child] = [
        *(paragraph(sentence, "soft") for sentence in results.judges),
        section("What can be said", items(suite_sentences(results), "said")),
        section("The board", table("board", tables["board"], BOARD_HEADS)),
        section(
            "By category",
            charts.get("categories")
            or paragraph("No scenario belongs to a category of the taxonomy.", "soft"),
        ),
        appendix({"Differences between systems": differences, "Scenarios": scores, "Cost per system": costs}),
    ]
    subtitle = suite.suite.description or f"{len(results.costs)} systems on {len(results.scored)} scenarios"
    return page(f"Suite: {suite.name}", subtitle, body)


def people_frame(people: PeopleAgreement) -> pd.DataFrame:
    """One row a set and measure."""
    return pd.DataFrame(
        {
            "set": row.set,
            "measure": row.measure,
            "value": row.estimate.value,
            "low": row.estimate.low,
            "high": row.estimate.high,
            "n": row.estimate.n,
            "note": row.estimate.note,
        }
        for row in people.rows
    )


def _people_section(tables: Mapping[str, pd.DataFrame]) -> list[Child]:
    if "people" not in tables:
        return []
    heads = {"set": "set", "measure": "measure", "value": "ICC(3,k), z-scored", "low": "low", "high": "high", "n": "answers", "note": ""}  # fmt: skip
    return [section("Against people", table("people", tables["people"], heads))]
