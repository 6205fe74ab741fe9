"""The plan of a suite: what will be asked, how long it may take and what it may cost at the most. Asks nothing. Its tables, and those of `check` and `coverage`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from ...agents.cost import Price
from ...orchestration.protocols import protocol
from ...orchestration.record import Store
from ...orchestration.record.store import run_exists
from ...personas.jury import Jury
from ...rubrics.rubric import Rubric
from ..report.section import estimate_json
from ..report.terminal import estimate_words
from ..studies.dry_run import BYTES_PER_TOKEN
from . import ANSWERS, VERDICTS
from .suite import LoadedSuite, SuitePart, arm_name
from .suite_cost import SuitePrices, TokenCost, token_cost
from .suite_run import SuiteSession, SystemAnswer, all_answers, judged_id, seated_jury, system_jury
from .suite_tables import simple_table
from .taxonomy import Coverage, Survey

READ_A_SECOND, WRITTEN_A_SECOND = 200.0, 30.0
"""Tokens that the embedded model reads and writes in a second, as was seen on two cores of an ARM server: docs/benchmarks.md."""
FORM_TOKENS, ATTRIBUTE_TOKENS = 600, 60
"""About what instructions, persona and form add to what a juror reads, and what it writes for one attribute."""
ANSWER_TOKENS = 200
"""About the length of an answer that is neither known nor bounded."""


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """One scenario: what is asked of systems and of its jury, and what of it is recorded already."""

    scenario: str
    cases: int
    of: int
    scorer: str
    calls: int
    """To systems, not counting those that are recorded."""
    recorded_calls: int
    judged: int
    """Answers that the jury will hear, recorded or not."""
    jury_calls: int
    """At the most, not counting answers that were judged already."""
    generation: TokenCost
    jury: TokenCost
    local_calls: int
    """Of all these, to the embedded model: each takes seconds."""
    seconds: float
    """About what those take."""


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """All parts of a suite, and what is skipped."""

    suite: LoadedSuite
    folder: Path
    parts: tuple[PlannedPart, ...]

    @property
    def calls(self) -> int:
        return sum(part.calls + part.jury_calls for part in self.parts)

    @property
    def seconds(self) -> float:
        return sum(part.seconds for part in self.parts)

    @property
    def upper_usd(self) -> float | None:
        """What it costs at the most; None where a price or the length of answers is not known."""
        total = TokenCost()
        for part in self.parts:
            total += part.generation + part.jury
        return total.upper_usd


def plan_suite(suite: LoadedSuite, session: SuiteSession) -> SuitePlan:
    """The plan, from the files and from what the run's records hold already."""
    prices = SuitePrices(suite.prices)
    answers = Store.read(session.folder / ANSWERS) if run_exists(session.folder / ANSWERS) else None
    verdicts = Store.read(session.folder / VERDICTS) if run_exists(session.folder / VERDICTS) else None
    try:
        return SuitePlan(
            suite,
            session.folder,
            tuple(_plan_part(suite, part, session, prices, answers, verdicts) for part in suite.parts),
        )
    finally:
        for store in (answers, verdicts):
            if store is not None:
                store.release()


def _plan_part(
    suite: LoadedSuite,
    part: SuitePart,
    session: SuiteSession,
    prices: SuitePrices,
    answers_store: Store | None,
    verdicts_store: Store | None,
) -> PlannedPart:
    answers = all_answers(suite, part, answers_store)
    generation, local, seconds, recorded, calls = TokenCost(), 0, 0.0, 0, 0
    for system in suite.asked:
        (seat,) = system_jury(system, part).seats
        price = prices.of(seat)
        answered = answers.get(system.title, {})
        for case, prompt in part.prompts.items():
            if case in answered:
                recorded += 1
                continue
            calls += 1
            generation += token_cost(_tokens(prompt), 0, price, most=_most_tokens(seat.max_tokens, price))
            if _is_local(seat.model):
                answer_tokens = part.scenario.answer.max_tokens or ANSWER_TOKENS
                local, seconds = local + 1, seconds + _local_seconds(_tokens(prompt), answer_tokens)
    jury_cost, jury_calls, judged_count = TokenCost(), 0, 0
    if (seated := seated_jury(part, session)) is not None:
        jury, rubric = seated
        against = part.scenario.seating.against if part.scenario.seating else None
        compared = {*(system.title for system in suite.asked), *part.recorded} - {against}
        judged_count = len(part.judged) * len(compared)
        judged_before = set() if verdicts_store is None else _judged_already(verdicts_store, part, jury)
        waiting = [
            (case, system)
            for case in part.judged
            for system in compared
            if judged_id(part, case, system) not in judged_before
        ]
        remaining = len(waiting)
        each_case = _most_calls(jury, rubric)
        jury_calls = remaining * each_case
        words = max((len(prompt) for prompt in part.prompts.values()), default=0) // BYTES_PER_TOKEN
        answer = (part.scenario.answer.max_tokens or 0) * _outputs(rubric)
        for seat in jury.seats:
            price = prices.of(seat)
            share = remaining * each_case // len(jury.seats)
            if share:
                jury_cost += token_cost(
                    (words + answer + 600) * share,
                    0,
                    price,
                    most=_most_tokens(seat.max_tokens, price),
                    calls=share,
                )
            if _is_local(seat.model):
                local += share
                seconds += each_case / len(jury.seats) * _ballot_seconds(part, rubric, waiting, answers)
    return PlannedPart(
        part.name, len(part.cases), part.of, part.scenario.scorer.name, calls, recorded, judged_count, jury_calls, generation, jury_cost, local, seconds
    )  # fmt: skip


def _ballot_seconds(
    part: SuitePart,
    rubric: Rubric,
    waiting: Sequence[tuple[str, str]],
    answers: Mapping[str, Mapping[str, SystemAnswer]],
) -> float:
    """About what the embedded model takes for one ballot on each answer that waits, by the length of what it reads."""
    seconds = 0.0
    for case, system in waiting:
        given_answer = answers.get(system, {}).get(case)
        answer = (
            _tokens(given_answer.text) if given_answer else part.scenario.answer.max_tokens or ANSWER_TOKENS
        )
        read = FORM_TOKENS + _tokens(part.prompts.get(case, "")) + answer * _outputs(rubric)
        seconds += _local_seconds(read, ATTRIBUTE_TOKENS * len(rubric.names))
    return seconds


def _local_seconds(prompt_tokens: int, answer_tokens: int) -> float:
    return prompt_tokens / READ_A_SECOND + answer_tokens / WRITTEN_A_SECOND


def _judged_already(store: Store, part: SuitePart, jury: Jury) -> set[str]:
    arm = (
        next(
            (arm for arm in store.arms() if arm.name == arm_name(part.name, part.scenario.seating.jury.name)),
            None,
        )
        if part.scenario.seating
        else None
    )
    return set() if arm is None else {transcript.case for transcript in store.transcripts(arm)}


def _outputs(rubric: Rubric) -> int:
    """The answers that a juror reads at once; about as long as each other."""
    return 2 if rubric.compares else 1


def _most_calls(jury: Jury, rubric: Rubric) -> int:
    """The most calls on one answer, where the protocol says; else one a seat and round."""
    bound = protocol(jury.protocol).most
    rounds = jury.limits.max_rounds or 1
    repeats = jury.repeats if jury.protocol in ("single", "panel") else 1
    if rubric.compares and any(seat.order == "both" for seat in jury.seats):
        repeats *= 2
    return (bound(len(jury.seats), rounds)[0] if bound is not None else len(jury.seats) * rounds) * repeats


def _most_tokens(limit: int | None, price: Price | None) -> int | None:
    """The most tokens of an answer; those that cost nothing need no bound."""
    free = price is not None and not price.prompt and not price.completion
    return 0 if limit is None and free else limit


def _is_local(model: str | None) -> bool:
    return model is None or model == "local" or model.startswith("local/")


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


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
        complete = len(part.cases) == part.of
        cases = str(part.of) if complete else f"{len(part.cases)} of {part.of}"
        table.add_row(name, listing.access, cases, part.scenario.scorer.name, category)
    return table


def check_sentences(suite: LoadedSuite) -> list[str]:
    """The systems, and why scenarios are skipped."""
    sentences = [f"{len(suite.systems)} systems: {', '.join(suite.systems)}."]
    sentences += [f"{name} is skipped: {reason}." for name, reason in suite.skipped.items()]
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
        f"{plan.calls} calls are left to make, for at most ${upper:,.2f}."
        if upper is not None
        else f"{plan.calls} calls are left to make; their maximum cost is unknown, because a price or the length of answers is missing."
    ]
    if local := sum(part.local_calls for part in plan.parts):
        sentences.append(
            f"{local} of these calls go to the embedded model. Estimated from the length of the prompts, they take about {duration_words(plan.seconds)} on two idle cores; "
            "another processor may take half or twice as long. To have a jury judge only a sample, write `judged: N` in the suite file."
        )
    sentences += [f"{name} will be skipped: {reason}." for name, reason in plan.suite.skipped.items()]
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
    """Categories and subcategories, with how many scenarios of each access stand at them; the sentences name them."""
    table = simple_table("place", "tasks", *coverage.access, "below")
    for place in coverage.places:
        count = Counter(place.scenarios.values())
        table.add_row(
            f"{'  ' if '/' in place.place else ''}{place.name}",
            str(place.tasks or ""),
            *(str(count[access] or "") for access in coverage.access),
            str(len(place.within) or ""),
        )
    return table


def coverage_sentences(coverage: Coverage) -> list[str]:
    subs = [place for place in coverage.places if "/" in place.place]
    covered = [place for place in subs if place.scenarios]
    categories = [place for place in coverage.places if "/" not in place.place]
    sentences = [
        f"{coverage.taxonomy}: {len(categories)} categories, {len(subs)} subcategories; {coverage.scenarios} scenarios ({', '.join(f'{number} {access}' for access, number in coverage.access.items())}).",
        f"{len(covered)} of {len(subs)} subcategories and {sum(bool(place.scenarios or place.within) for place in categories)} of {len(categories)} categories have a scenario.",
    ]
    sentences += [
        f"{place.name}: {', '.join(place.scenarios)}." for place in coverage.places if place.scenarios
    ]
    if coverage.unplaced:
        sentences.append(f"Scenarios that are not in the taxonomy: {', '.join(coverage.unplaced)}.")
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
