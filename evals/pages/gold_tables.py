"""The gold filter and a suite's agreement with people, in the terminal and as JSON."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from ..suites.clinicians import PeopleAgreement
from ..suites.gold import GoldFilter
from .json_documents import estimate_json
from .suite_tables import four_decimals, plain_number, simple_table
from .terminal_tables import estimate_words


def gold_tables(found: GoldFilter) -> list[Table]:
    """References by scenario with the means of either side; the ranking before and after."""
    table = simple_table("scenario", "reasonable", "not", "undecided", "mean", "mean, not", "difference")
    for each in found.scenarios:
        table.add_row(
            each.scenario, str(each.reasonable), str(each.unreasonable), str(each.undecided), four_decimals(each.kept_mean),
            four_decimals(each.other_mean), estimate_words(each.difference),
        )  # fmt: skip
    ranking = simple_table("every case", "win rate", "reasonable references", "win rate ")
    for (before, rate), (after, later) in zip(found.before, found.after, strict=True):
        ranking.add_row(before, four_decimals(rate), after, four_decimals(later))
    return [table, ranking]


def gold_sentences(found: GoldFilter) -> list[str]:
    moved = found.moved
    told = [
        f"The ranking changes: {', '.join(moved)} stand(s) elsewhere."
        if moved
        else "The ranking is the same with and without."
    ]
    told += [
        f"{each.scenario}: {each.difference.note}: the difference is undefined."
        for each in found.scenarios
        if not each.difference.defined
    ]
    return [*told, *found.notes]


def gold_json(found: GoldFilter) -> dict[str, Any]:
    return {
        "scenarios": {
            each.scenario: {
                "reasonable": each.reasonable,
                "unreasonable": each.unreasonable,
                "undecided": each.undecided,
                "mean_reasonable": plain_number(each.kept_mean),
                "mean_unreasonable": plain_number(each.other_mean),
                "difference": estimate_json(each.difference),
                "systems": {
                    name: {"reasonable": plain_number(yes), "unreasonable": plain_number(no)}
                    for name, (yes, no) in each.systems.items()
                },
            }
            for each in found.scenarios
        },
        "ranking": {
            "all": [{"system": name, "win_rate": plain_number(rate)} for name, rate in found.before],
            "reasonable": [{"system": name, "win_rate": plain_number(rate)} for name, rate in found.after],
            "moved": found.moved,
        },
        "notes": list(found.notes),
    }


def people_table(found: PeopleAgreement) -> Table:
    """One row a set and measure: ICC(3,k) after z-scoring, with its interval."""
    table = simple_table("set", "measure", "ICC(3,k), z-scored", "answers")
    for row in found.rows:
        table.add_row(row.set, row.measure, estimate_words(row.estimate), str(row.estimate.n))
    return table


def people_json(found: PeopleAgreement) -> dict[str, Any]:
    sets: dict[str, dict[str, Any]] = {}
    for row in found.rows:
        sets.setdefault(row.set, {})[row.measure] = estimate_json(row.estimate)
    return {"sets": sets, "rated": dict(found.rated), "notes": list(found.notes)}
