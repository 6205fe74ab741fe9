"""A suite's check, plan and coverage, in the terminal and as JSON."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from ..report.section import estimate_json
from ..report.terminal import estimate_words
from .suite import LoadedSuite
from .suite_plan import SuitePlan
from .suite_tables import simple_table
from .taxonomy import Coverage, Survey


def check_table(suite: LoadedSuite) -> Table:
    """Every scenario of the suite, run or skipped: its access, cases and scorer."""
    table = simple_table("scenario", "access", "cases", "scored by", "category")
    parts = {part.name: part for part in suite.parts}
    for name, listing in suite.listed.items():
        part = parts.get(name)
        category = suite.taxonomy.category_name(listing.task)
        if part is None:
            table.add_row(name, listing.access, "skipped", "", category)
            continue
        whole = len(part.cases) == part.of
        cases = str(part.of) if whole else f"{len(part.cases)} of {part.of}"
        table.add_row(name, listing.access, cases, part.scenario.scorer.name, category)
    return table


def check_sentences(suite: LoadedSuite) -> list[str]:
    """The systems, and why scenarios are skipped."""
    sentences = [f"{len(suite.systems)} systems: {', '.join(suite.systems)}."]
    sentences += [f"{name} is skipped: {why}." for name, why in suite.skipped.items()]
    return [*sentences, *suite.notes]


def check_json(suite: LoadedSuite) -> dict[str, Any]:
    parts = {part.name: part for part in suite.parts}
    return {
        "suite": suite.name,
        "systems": list(suite.systems),
        "scenarios": {
            name: {
                "task": listing.task,
                "access": listing.access,
                "cases": len(parts[name].cases) if name in parts else None,
                "of": parts[name].of if name in parts else None,
                "scorer": parts[name].scenario.scorer.name if name in parts else None,
                "skipped": suite.skipped.get(name),
            }
            for name, listing in suite.listed.items()
        },
        "notes": list(suite.notes),
    }


def plan_table(plan: SuitePlan) -> Table:
    """Calls to systems and juries by scenario, what they may cost, and how long the embedded model would take."""
    table = simple_table("scenario", "cases", "calls", "recorded", "judged", "jury calls", "at most", "about")
    for part in plan.parts:
        upper = (part.generation + part.jury).upper_usd
        table.add_row(
            part.scenario,
            str(part.cases),
            str(part.calls),
            str(part.recorded_calls),
            str(part.judged),
            str(part.jury_calls),
            "unknown" if upper is None else f"${upper:,.2f}",
            duration_words(part.seconds) if part.local_calls else "",
        )
    return table


def plan_sentences(plan: SuitePlan) -> list[str]:
    upper = plan.upper_usd
    sentences = [
        f"{plan.calls} calls are left to make, at the most ${upper:,.2f}."
        if upper is not None
        else f"{plan.calls} calls are left to make; what they cost at the most is not known: a price or the length of answers is missing."
    ]
    if local := sum(part.local_calls for part in plan.parts):
        sentences.append(
            f"{local} of them go to the embedded model: by the length of what it reads about {duration_words(plan.seconds)} on two idle cores, an "
            "estimate that another processor may halve or double. judged: N in the suite has a jury hear a sample."
        )
    sentences += [f"{name} will be skipped: {why}." for name, why in plan.suite.skipped.items()]
    return [*sentences, *plan.suite.notes]


def suite_plan_json(plan: SuitePlan) -> dict[str, Any]:
    return {
        "suite": plan.suite.name,
        "run": str(plan.folder),
        "calls": plan.calls,
        "upper_usd": plan.upper_usd,
        "seconds": plan.seconds,
        "scenarios": {
            part.scenario: {
                "cases": part.cases,
                "of": part.of,
                "scorer": part.scorer,
                "calls": part.calls,
                "recorded": part.recorded_calls,
                "judged": part.judged,
                "jury_calls": part.jury_calls,
                "local_calls": part.local_calls,
                "seconds": part.seconds,
                "generation": part.generation.json(),
                "jury": part.jury.json(),
            }
            for part in plan.parts
        },
        "not_run": dict(plan.suite.skipped),
    }


def duration_words(seconds: float) -> str:
    """A length of time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def coverage_table(coverage: Coverage) -> Table:
    """Categories and subcategories, with the scenarios that cover them."""
    table = simple_table("place", "tasks", "scenarios")
    for place in coverage.places:
        scenarios = ", ".join(f"{name} ({access})" for name, access in place.scenarios.items())
        within = f"{len(place.within)} more in its subcategories" if place.within else ""
        covered = scenarios or within or "none"
        table.add_row(f"{'  ' if '/' in place.place else ''}{place.name}", str(place.tasks or ""), covered)
    return table


def coverage_sentences(coverage: Coverage) -> list[str]:
    subs = [place for place in coverage.places if "/" in place.place]
    covered = [place for place in subs if place.scenarios]
    categories = [place for place in coverage.places if "/" not in place.place]
    sentences = [
        f"{coverage.taxonomy}: {len(categories)} categories, {len(subs)} subcategories; {coverage.scenarios} scenarios ({', '.join(f'{number} {access}' for access, number in coverage.access.items())}).",
        f"{len(covered)} of {len(subs)} subcategories and {sum(bool(place.scenarios or place.within) for place in categories)} of {len(categories)} categories have a scenario.",
    ]
    if coverage.unplaced:
        sentences.append(f"Without a place in the taxonomy: {', '.join(coverage.unplaced)}.")
    return sentences


def coverage_json(coverage: Coverage, survey: Survey | None) -> dict[str, Any]:
    return {
        "taxonomy": coverage.taxonomy,
        "scenarios": coverage.scenarios,
        "access": dict(coverage.access),
        "places": {
            place.place: {"name": place.name, "tasks": place.tasks, "scenarios": dict(place.scenarios)}
            for place in coverage.places
        },
        "unplaced": list(coverage.unplaced),
        "survey": None if survey is None else survey_json(survey),
    }


def survey_json(survey: Survey) -> dict[str, Any]:
    return {
        "people": survey.people,
        "overall": estimate_json(survey.overall),
        "nodes": {
            node.node: {"parent": node.parent, **estimate_json(node.share), "elsewhere": dict(node.elsewhere)}
            for node in survey.nodes
        },
        "unasked": list(survey.unasked),
    }


def survey_table(survey: Survey) -> Table:
    """Nodes with the share of people who put each under its parent."""
    table = simple_table("node", "parent", "share", "people", "elsewhere")
    for node in survey.nodes:
        elsewhere = ", ".join(f"{name} {number}" for name, number in node.elsewhere.items())
        table.add_row(node.node, node.parent, estimate_words(node.share), str(node.share.n), elsewhere)
    table.add_row("all", "", estimate_words(survey.overall), str(survey.overall.n), f"{survey.people} people")
    return table
