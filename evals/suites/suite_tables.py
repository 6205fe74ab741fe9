"""Boards and scored scenarios in the terminal, as JSON and as a table of scores."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table

from ...rubrics.errors import count_words
from ..report.section import Section, estimate_json
from ..report.terminal import estimate_words, interval_words
from ..statistics.significance import signed_number
from .board import TARGETS, Board, DetectableEffect
from .differences import MACRO
from .scored_systems import COUNTED, ScoredScenario
from .suite_cost import SystemCost, dominated_by

MOST_DIFFERENCES, MOST_ROWS = 6, 30
"""Differences on the macro average, and by scenario, that the terminal prints."""
_TIES = {
    "half": "a tie counts as half a win",
    "strict": "a tie counts for neither side",
    "wins": "a tie counts as a win for both sides",
}


def board_tables(board: Board) -> list[Table]:
    """Systems by win rate; their means by category; what each scenario can show, where its cases are known."""
    systems = simple_table("system", "win rate", "SD", "macro", "SD", "rank", "scenarios")
    for standing in board.standings:
        systems.add_row(
            standing.system, four_decimals(standing.win_rate), four_decimals(standing.win_sd), four_decimals(standing.macro), four_decimals(standing.sd),
            _rank(standing.rank), str(standing.scenarios),
        )  # fmt: skip
    tables = [systems]
    categories = list(board.standings[0].categories) if board.standings else []
    if categories:
        means = simple_table("system", *categories, wrapped=True)
        for standing in board.standings:
            means.add_row(standing.system, *(four_decimals(standing.categories[name]) for name in categories))
        tables.append(means)
    if board.effects:
        effects = simple_table("scenario", "cases", "MDE", *(f"cases for {effect:g}" for effect in TARGETS))
        for name, effect in board.effects.items():
            sizes = (effect.cases_needed(target) for target in TARGETS)
            effects.add_row(
                name, str(effect.n), _effect_words(effect), *("–" if n is None else f"{n:,}" for n in sizes)
            )
        if board.effect is not None:
            effects.add_row("macro average", str(board.effect.n), _effect_words(board.effect), "", "")
        tables.append(effects)
    by_scenario = [each for each in board.differences if each.scenario != MACRO]
    if 0 < len(by_scenario) <= MOST_ROWS:
        differences = simple_table("scenario", "pair", "difference", "95% interval", "p (Holm)")
        for each in by_scenario:
            found = each.estimate
            interval = "" if math.isnan(found.low) else f"{found.low:.3f} to {found.high:.3f}"
            p = _p_cell(each.p_holm)
            pair = f"{each.first} - {each.second}"
            differences.add_row(each.scenario, pair, signed_number(found.value, 3), interval, p)
        tables.append(differences)
    return tables


def board_sentences(board: Board) -> list[str]:
    """Who leads, how ties count, and what was left out."""
    sentences = [_leader_words(board)]
    macro = [each for each in board.differences if each.scenario == MACRO]
    sentences += [f"{each}." for each in macro[:MOST_DIFFERENCES]]
    if len(macro) > MOST_DIFFERENCES:
        sentences.append(
            f"{len(macro) - MOST_DIFFERENCES} more differences between systems are in the report's table and the JSON."
        )
    if macro:
        sentences.append(
            "Each difference is computed over the cases that both systems answered. Intervals say how far a difference might change on new cases of the same scenarios. The p values are Holm-corrected over all pairs of systems."
        )
    sentences.append(
        f"{count_words(len(board.scenarios), 'scenario')} compared; in {board.complete} of them, every system has a score; {_TIES[board.ties]}."
    )
    sentences += [f"{name} is not compared: {reason}." for name, reason in board.skipped.items()]
    if board.not_averaged:
        sentences.append(
            f"Scenarios left out of the macro average, because their scores are not from 0 to 1 and --columns gives no scale: {', '.join(board.not_averaged)}."
        )
    if board.effects:
        sentences.append(
            "MDE is the smallest difference between two systems that a scenario detects with 80% power at a significance level of 0.05. The mean and SD of the MDE are over all pairs of systems whose difference is not the same in every case."
        )
    return sentences


def _leader_words(board: Board) -> str:
    if board.leader is None:
        return "No system is shown to lead: the table gives the ranks that each system may have."
    if board.leader == board.rank_leader:
        return f"{board.leader} leads: no other system can be first."
    return f"{board.leader} leads on the macro average of these scenarios; there are too few scenarios for ranks."


def differences_table(board: Board) -> pd.DataFrame:
    """One row a pair and scenario, the macro average first."""
    return pd.DataFrame(
        [
            {"scenario": each.scenario, "first": each.first, "second": each.second, "difference": each.estimate.value, "low": each.estimate.low,
             "high": each.estimate.high, "n": each.estimate.n, "p": each.estimate.p, "p_holm": each.p_holm, "note": each.estimate.note}
            for each in board.differences
        ],
        columns=["scenario", "first", "second", "difference", "low", "high", "n", "p", "p_holm", "note"],
    )  # fmt: skip


def board_page(board: Board, name: str, sentences: tuple[str, ...]) -> Section:
    """The board as a first page: one row a system, then every difference with its interval."""
    systems = [
        {
            "system": each.system,
            "win rate": four_decimals(each.win_rate),
            "macro average": four_decimals(each.macro),
            "rank": _rank(each.rank),
        }
        for each in board.standings
    ]
    differences = [
        {
            "scenario": each.scenario,
            "difference": f"{each.first} - {each.second}",
            "value [95% interval]": interval_words(each.estimate.value, each.estimate.low, each.estimate.high, places=3),
            "p (Holm)": _p_cell(each.p_holm),
        }
        for each in board.differences
    ]  # fmt: skip
    tables = {"systems": pd.DataFrame(systems), "differences": pd.DataFrame(differences)}
    return Section("board", f"{name}: which system?", sentences, tables)


def costs_table(costs: Mapping[str, SystemCost]) -> Table:
    """Dollars of every system, generation and jury apart."""
    table = simple_table("system", "generation", "jury", "total", "at most")
    for name, cost in costs.items():
        parts = (cost.generation.usd, cost.jury.usd, cost.total.usd, cost.total.upper_usd)
        table.add_row(name, *("unknown" if usd is None else f"${usd:,.2f}" for usd in parts))
    return table


def cost_sentences(board: Board, costs: Mapping[str, SystemCost]) -> list[str]:
    """Which systems another beats in both win rate and cost, and whose cost is not known."""
    rates = {standing.system: standing.win_rate for standing in board.standings}
    beaten = dominated_by({name: cost.total.usd for name, cost in costs.items()}, rates)
    sentences = [
        f"{name} is dominated: {rival} costs no more and scores no lower." for name, rival in beaten.items()
    ]
    if unknown := [name for name, cost in costs.items() if cost.total.usd is None]:
        sentences.append(f"The cost of {', '.join(unknown)} is unknown: a price or a token count is missing.")
    if lone := [name for name in costs if name not in rates]:
        sentences.append(f"Systems with a cost but no score: {', '.join(lone)}.")
    return sentences


def board_json(file: str, board: Board, costs: Mapping[str, SystemCost] | None = None) -> dict[str, Any]:
    """The board; undefined numbers and unknown costs are null."""
    paid = costs or {}
    return {
        "file": file,
        "ties": board.ties,
        "leader": board.leader,
        "systems": {
            standing.system: {
                "win_rate": plain_number(standing.win_rate),
                "win_sd": plain_number(standing.win_sd),
                "macro": plain_number(standing.macro),
                "sd": plain_number(standing.sd),
                "rank": list(standing.rank),
                "usd": paid[standing.system].total.usd if standing.system in paid else None,
                **({"cost": paid[standing.system].json()} if standing.system in paid else {}),
                "scenarios": standing.scenarios,
                "categories": {name: plain_number(mean) for name, mean in standing.categories.items()},
                "complete": {
                    "win_rate": plain_number(standing.complete_win_rate),
                    "macro": plain_number(standing.complete_macro),
                },
            }
            for standing in board.standings
        },
        "scenarios": {
            name: {"n": board.cases.get(name), "baseline": None, "hung": None, "unparsed": None}
            | _effect_json(board.effects.get(name))
            for name in (*board.scenarios, *board.skipped)
        },
        "board": _effect_json(board.effect),
        "differences": [
            {"scenario": each.scenario, "first": each.first, "second": each.second, "ahead": each.ahead}
            | estimate_json(each.estimate)
            | {"p": plain_number(each.estimate.p), "p_holm": plain_number(each.p_holm)}
            for each in board.differences
        ],
        "complete_scenarios": board.complete,
        "skipped": dict(board.skipped),
        "not_averaged": list(board.not_averaged),
    }


def scored_table(scored: ScoredScenario) -> Table:
    """Systems and baselines by score, with what could not be read in a column of its own."""
    table = simple_table("system", "score", "if parsed", "cases", "unparsed", "no target", "missing")
    for system in scored.systems:
        table.add_row(
            system.system,
            estimate_words(system.score),
            four_decimals(system.parsed),
            str(system.score.n),
            str(system.count("unparsed")),
            str(system.count("undefined")),
            str(system.missing),
        )
    for name, value in scored.baselines.items():
        table.add_row(f"({name})", four_decimals(value), "", "", "", "", "")
    return table


def scored_sentences(scored: ScoredScenario) -> list[str]:
    """How answers were scored, and what was left out."""
    scenario = scored.scenario
    sentences = [
        f"{scenario.name}: {scored.cases} cases, scored by {scenario.scorer.name}: {scenario.scorer.summary}."
    ]
    sentences.append(f"The baseline (constant) answers {scored.constant[:60]!r} to every case.")
    unread = sum(system.count("unparsed") for system in scored.systems)
    if unread:
        sentences.append(f"Unreadable answers, which count as wrong: {count_words(unread, 'answer')}.")
    if missing := sum(system.missing for system in scored.systems):
        sentences.append(
            f"Cases without a system's output, which are left out of its score: {count_words(missing, 'case')}."
        )
    outputs = scored.outputs
    if outputs is None:
        return sentences
    if outputs.unknown:
        sentences.append(
            f"{count_words(len(outputs.unknown), 'output')} left out, because their case is not in the scenario: {', '.join(outputs.unknown[:5])}."
        )
    if outputs.other:
        sentences.append(
            f"Outputs left out because they belong to other scenarios: {count_words(outputs.other, 'output')}."
        )
    return sentences


def scored_json(scored: ScoredScenario) -> dict[str, Any]:
    """Every system's score, and every case's."""
    return {
        "scenario": scored.scenario.name,
        "scorer": scored.scenario.scorer.name,
        "n": scored.cases,
        "baseline": {name: plain_number(value) for name, value in scored.baselines.items()}
        | {"answer": scored.constant},
        "systems": {
            system.system: {
                "score": estimate_json(system.score),
                "parsed": plain_number(system.parsed),
                "unparsed": system.count("unparsed"),
                "undefined": system.count("undefined"),
                "missing": system.missing,
                "cases": {
                    case: {
                        "status": score.status,
                        "score": plain_number(score.points(scored.scenario.ends[0])),
                        "answer": score.answer,
                        "why": score.why,
                    }
                    for case, score in system.cases.items()
                },
            }
            for system in scored.systems
        },
        "unknown_cases": [] if scored.outputs is None else list(scored.outputs.unknown),
        "other_scenarios": 0 if scored.outputs is None else scored.outputs.other,
    }


def write_scores(scored: ScoredScenario, path: Path) -> None:
    """The scores as a long table that `venire suite table` reads; an unparsed answer earns the lowest, an undefined one is left out."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["system", "scenario", "case", "score", "status"])
        for system in scored.systems:
            for case, score in system.cases.items():
                if score.status in COUNTED:
                    value = score.points(scored.scenario.ends[0])
                    writer.writerow([system.system, scored.scenario.name, case, value, score.status])


def simple_table(*columns: str, wrapped: bool = False) -> Table:
    """A table without lines, its first column free to wrap; with `wrapped`, the heads of all of them too."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for number, column in enumerate(columns):
        table.add_column(
            column, overflow="fold", no_wrap=number > 0 and not wrapped, min_width=None if number else 9
        )
    return table


def _effect_json(effect: DetectableEffect | None) -> dict[str, Any]:
    if effect is None:
        return {"mde": None, "mde_sd": None, "cases_needed": None, "pairs": []}
    return {
        "mde": plain_number(effect.mean),
        "mde_sd": plain_number(effect.sd),
        "cases_needed": {f"{target:g}": effect.cases_needed(target) for target in TARGETS},
        "pairs": [
            {"first": system, "second": rival, "mde": plain_number(value)}
            for (system, rival), value in effect.pairs.items()
        ],
    }


def _effect_words(effect: DetectableEffect) -> str:
    if math.isnan(effect.mean):
        return "–"
    return f"{effect.mean:.4f}" + ("" if math.isnan(effect.sd) else f" +- {effect.sd:.4f}")


def _rank(rank: tuple[int, int]) -> str:
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}"


def four_decimals(value: float) -> str:
    """Four decimals, or that it is undefined."""
    return "undefined" if math.isnan(value) else f"{value:.4f}"


def plain_number(value: float) -> float | None:
    """A number for JSON: None where it is undefined."""
    return None if math.isnan(value) else float(value)


def _p_cell(p: float) -> str:
    """Blank where there is none; never 0.000."""
    return "" if math.isnan(p) else "<0.001" if p < 0.0005 else f"{p:.3f}"
