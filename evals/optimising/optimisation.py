"""Running an optimisation: the first words on the validation cases, a search, a choice, the test cases once at the end, and the files to use."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ...agents.budget import Budget
from ...agents.cost import Cost
from ...agents.providers import Providers
from ...orchestration.bench import Court
from ...orchestration.record import Store, recorded_cost
from ...orchestration.record.private_files import write_atomically
from ...orchestration.run_session import stop_gently
from ...orchestration.verdict import Verdict
from ...personas.persona import Persona
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import read_json
from ...rubrics.rubric import Rubric
from ..statistics.contrast import Contrast
from ..statistics.draws import Draws
from ..statistics.significance import interval_phrase
from .plan import OptimisationPlan
from .search import (
    Courtroom,
    Scene,
    SearchResult,
    WordingTrial,
    best_of,
    check_judge_models,
    try_alternatives,
    validation_front,
)
from .wording import Judge

STATE = "optimisation.json"
LINEAGE = "lineage.jsonl"
MARGIN = 1.1
"""How much more than the mean of so far is kept back for the test: an answer may need a repair."""


@dataclass(frozen=True)
class Optimised:
    """What an optimisation found: the words to use, and what they are worth on cases that nobody had read before."""

    plan: OptimisationPlan
    trials: Sequence[WordingTrial]
    front: Sequence[int]
    """The trials that no other is better than on every validation case."""
    first: Judge
    best: Judge
    """The best of the others on the validation cases; the first where no other came so far."""
    chosen: WordingTrial
    shown: bool
    """Whether the validation cases show that it is better."""
    why: str
    """Why, or why not."""
    rewards: tuple[float, float]
    """The measure on the test cases: of the first words, and of the best."""
    gain: Contrast | None
    """On the test cases; None where the best are the first words."""
    unanswered: tuple[int, int]
    """Questions of the test cases without a verdict, under the first words and the best."""
    spent: Cost
    """All calls that it used, whenever they were paid for."""
    search_calls: int
    """Those before the first test case was read."""

    @property
    def improved(self) -> bool:
        """Whether the best words are shown to be better, on the validation cases and on the test cases."""
        return self.shown and self.gain is not None and self.gain.shown > 0

    @property
    def returned(self) -> Judge:
        """The words to use: others than the first only where they are shown to be better."""
        return self.best if self.improved else self.first

    @property
    def sentence(self) -> str:
        """What was found, in one sentence that agrees with the interval."""
        n, measure = len(self.plan.parts.test), self.plan.rewards.words
        if self.gain is None:
            return f"No wording better than yours was found: {self.why}. Your wording is returned unchanged ({measure} {_three_places(self.rewards[0])} on {n} test cases)."
        gain = self.gain.difference
        before, after = map(_three_places, self.rewards)
        scores = f"{measure} {before} with your wording and {after} with the new wording on {n} held-out test cases"
        if np.isnan(self.gain.p):
            return f"It is not shown whether the new wording is better: {scores}; {gain.note}. {_KEPT}"
        interval = f"difference {gain.value:+.3f}, {interval_phrase(gain.low, gain.high, '+.3f')}"
        if not self.shown:
            return f"No wording better than yours was found: {self.why}; {scores} ({interval}). {_KEPT}"
        if self.gain.shown > 0:
            return f"The new wording is better: {scores} ({interval})."
        if self.gain.shown < 0:
            return f"The new wording is worse on the held-out test cases, though it was better on the validation cases: {scores} ({interval}). {_KEPT}"
        return f"The test cases do not show that the new wording is better than yours: {scores} ({interval}). {_KEPT}"


_KEPT = "Your wording is returned unchanged; the other wordings are in lineage.jsonl."


def optimise(plan: OptimisationPlan, folder: Path, tell: Callable[[str], None]) -> Optimised:
    """Run the plan on the record in `folder`, made if it is not there; what it holds is not paid for again.

    Raises:
        BudgetSpent: The budget, or Ctrl-C, ended it before the test cases were scored. Everything is kept.
    """
    _refuse_other(folder, plan)
    return asyncio.run(_optimise(plan, folder, tell))


def write_result(folder: Path, first: Judge, best: Judge) -> list[Path]:
    """Write what changed, each thing to a file of its own; the files, none where the first words are returned."""
    paths: list[Path] = []
    for first_seat, seat in zip(first.jury.seats, best.jury.seats, strict=True):
        if seat.persona is not None and seat.persona != first_seat.persona:
            path = folder / f"persona-{seat.persona.name}.yaml"
            if path not in paths:
                _write(path, _persona(seat.persona))
                paths.append(path)
    if best.rubric != first.rubric:
        path = folder / f"rubric-{best.rubric.name}.yaml"
        _write(path, _rubric(best.rubric))
        paths.append(path)
    if best.jury.stance != first.jury.stance:
        paths.append(folder / "stance.yaml")
        _write(paths[-1], {"stance": best.jury.stance})
    if best.jury.shots is not None and best.jury.shots != first.jury.shots:
        paths.append(folder / "shots.yaml")
        _write(paths[-1], {"shots": best.jury.shots.model_dump(mode="json", exclude_defaults=True)})
    return paths


async def _optimise(plan: OptimisationPlan, folder: Path, tell: Callable[[str], None]) -> Optimised:
    budget = plan.file.budget
    paid = recorded_cost(folder)
    providers = Providers(prices=plan.prices)
    limits = Budget(**budget.remaining(paid))
    # Models are asked before anything is written.
    court = Court(budget=limits, providers=providers)
    await check_judge_models(plan.judge, plan.file.reflection, court, begun=bool(paid.calls))
    store = Store.create(folder)
    if store.redacted:
        await store.close()
        raise redacted_error()
    room = Courtroom(store, limits, providers, seed=plan.file.seed, scored=plan.scored)
    with stop_gently(limits, providers.admit_all, tell):
        try:
            write_state(folder, plan)
            return await _search_and_test(plan, room, folder, tell)
        finally:
            await providers.close()
            await store.close()


async def _search_and_test(
    plan: OptimisationPlan, room: Courtroom, folder: Path, tell: Callable[[str], None]
) -> Optimised:
    parts, draws = plan.parts, Draws(plan.file.seed)
    scene = Scene(
        plan.judge, room, plan.rewards, parts.train, parts.validation, parts.cluster, draws,
        lambda: _room_for_more(plan, room), tell,
    )  # fmt: skip
    result = await _search(plan, scene)
    best, shown, reason = best_of(scene, result)
    search_calls = room.calls.used.calls
    _write_lineage(folder, result.trials)
    tell(
        f"{'your wording is kept' if best.trial.number == 0 else f'wording {best.trial.number}'}: {reason}; now scoring once on the {len(parts.test)} test cases"
    )
    write_state(folder, plan, test_read=True)
    first_verdicts = await room.verdicts(plan.judge, parts.test)
    verdicts = first_verdicts if best.judge == plan.judge else await room.verdicts(best.judge, parts.test)
    cluster = np.unique([parts.cluster[case.id] for case in parts.test], return_inverse=True)[1].astype(
        np.int64
    )
    return Optimised(
        plan=plan,
        trials=result.trials,
        front=validation_front(scene, result),
        first=plan.judge,
        best=best.judge,
        chosen=best.trial,
        shown=shown,
        why=reason,
        rewards=(plan.rewards.value(first_verdicts), plan.rewards.value(verdicts)),
        gain=None if best.judge == plan.judge else plan.rewards.contrast(verdicts, first_verdicts, cluster),
        unanswered=(_open_questions(plan, first_verdicts), _open_questions(plan, verdicts)),
        spent=room.calls.used,
        search_calls=search_calls,
    )


async def _search(plan: OptimisationPlan, scene: Scene) -> SearchResult:
    if plan.alternatives:
        return await try_alternatives(scene, plan.alternatives)
    # GEPA is an extra: only a reflecting model needs it.
    from .gepa_search import reflective_search
    from .reflection import Reflector

    assert plan.file.reflection is not None
    cases = {case.id: case for case in plan.parts.train}
    gateway = scene.room.gateway(plan.file.reflection)
    reflector = Reflector(gateway, plan.rewards, plan.remarks, plan.guard, cases)
    return await reflective_search(
        scene, plan.places, reflector, minibatch=plan.file.minibatch, seed=plan.file.seed
    )


def _room_for_more(plan: OptimisationPlan, room: Courtroom) -> bool:
    """Whether the budget has room for another proposal and for the test, at what a hearing has taken so far."""
    total, heard_cost, budget = room.calls.used, room.heard_cost, plan.file.budget
    if not room.hearings:
        return True
    hearings_ahead = (plan.proposal_hearings + MARGIN * plan.test_hearings) / room.hearings
    reflections = total.calls - heard_cost.calls
    for limit, spent, hearings, reflected in (
        (budget.max_calls, total.calls, heard_cost.calls, reflections),
        (budget.max_tokens, total.tokens, heard_cost.tokens, total.tokens - heard_cost.tokens),
        (budget.max_usd, total.known_usd, heard_cost.known_usd, total.known_usd - heard_cost.known_usd),
    ):
        # Each reflection may have to be repaired once.
        reflection = 2 * reflected / reflections if reflections else 0.0
        if limit is not None and spent + hearings_ahead * hearings + reflection > limit:
            return False
    return True


def _open_questions(plan: OptimisationPlan, verdicts: Sequence[Verdict]) -> int:
    return sum(map(plan.rewards.open_questions, verdicts))


def write_state(folder: Path, plan: OptimisationPlan, *, test_read: bool = False) -> None:
    """Write what the run is of, and whether its test cases have been read; once they have, that stays."""
    state = _read_state(folder)
    was_read = test_read or bool(state and state["test_read"])
    document = {
        "identity": plan.identity,
        "test_read": was_read,
        "train": [case.id for case in plan.parts.train],
        "validation": [case.id for case in plan.parts.validation],
        "test": [case.id for case in plan.parts.test],
    }
    write_atomically(folder / STATE, json.dumps(document, indent=1) + "\n")


def _read_state(folder: Path) -> dict[str, Any] | None:
    path = folder / STATE
    if not path.exists():
        return None
    state = read_json(path)
    if not isinstance(state, dict) or not {"identity", "test_read"} <= state.keys():
        raise InvalidFile(
            f"{path}: this file does not hold the state of an optimisation", remedy="name another folder"
        )
    return state


def _refuse_other(folder: Path, plan: OptimisationPlan) -> None:
    """An error where the folder's test cases were read for something else: to go on would be to choose after seeing them."""
    state = _read_state(folder)
    if state is None and (folder / "record.sqlite").exists():
        raise VenireError(f"{folder} is a run, not an optimisation", remedy="name another folder")
    if state is not None and state["test_read"] and state["identity"] != plan.identity:
        raise VenireError(
            f"{folder}: the test cases have been used, and the file, the cases or the budget changed since then",
            remedy="name another folder, and hold out other cases for the test",
        )


def _write_lineage(folder: Path, trials: Sequence[WordingTrial]) -> None:
    lines = "".join(json.dumps(trial.json(), allow_nan=False) + "\n" for trial in trials)
    write_atomically(folder / LINEAGE, lines)


def redacted_error() -> VenireError:
    return VenireError(
        "a redacted run cannot be optimised: texts of cases could get into a persona or a rubric",
        remedy="optimise on cases that may be kept, and then use the new wording with --redact",
    )


def _three_places(value: float) -> str:
    return "undefined" if np.isnan(value) else f"{value:.3f}"


def _persona(persona: Persona) -> dict[str, Any]:
    return {**persona.model_dump(mode="json"), "version": persona.version + 1}


def _rubric(rubric: Rubric) -> dict[str, Any]:
    document = rubric.model_dump(mode="python", exclude_defaults=True)
    document["attributes"] = [dict(attribute) for attribute in document["attributes"]]
    return {**document, "version": rubric.version + 1}


def _write(path: Path, document: dict[str, Any]) -> None:
    text = yaml.dump(document, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=100)
    write_atomically(path, text)


class _Readable(yaml.SafeDumper):
    """YAML as a person writes it: a text of several lines as a block."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)
_Readable.add_representer(tuple, lambda dumper, items: dumper.represent_list(list(items)))
