"""Figures of whole results of this room, kept: rewards by every measure, plans and their parts, what a reflecting model reads, searches to their end."""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from kept_figures import check_kept
from openai_server import Call, ProviderServer, filled
from teachable_server import write_file, write_world
from written_transcripts import abstained, cast, transcript_of

from venire import Case, Jury, Rubric, Stop, Store, Verdict
from venire.agents.budget import Budget
from venire.agents.providers import Providers
from venire.evals.optimising.optimisation import Optimised, optimise
from venire.evals.optimising.plan import plan_optimisation, three_parts
from venire.evals.optimising.reflection import feedback_text
from venire.evals.optimising.rewards import Rewards, rewards
from venire.evals.optimising.schema import Reward, ThreeWaySplit
from venire.evals.optimising.search import Courtroom, Scene
from venire.evals.optimising.wording import Judge
from venire.evals.statistics.draws import Draws
from venire.orchestration.verdict import verdict
from venire.orchestration.worked_examples import ScoredCases

KEPT = Path(__file__).parent / "kept"
COSTS = {0: {0: 2, 1: 0, 2: -3}, 1: {0: 0, 1: 1, 2: -1}, 2: {0: -4, 1: 0, 2: 3}, "abstention": -0.5}
RUBRIC = Rubric.model_validate(
    {
        "name": "mine", "version": 1,
        "scales": {
            "agree5": {"level": "ordinal", "anchors": {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}},
            "three": {"level": "ordinal", "anchors": {0: "a", 1: "b", 2: "c"}, "costs": COSTS},
            "yes": {"level": "binary", "anchors": {0: "no", 1: "yes"}},
            "kind": {"level": "nominal", "anchors": {"plain": "a", "odd": "b"}},
        },
        "attributes": [
            {"name": "good", "question": "Is it good?", "scale": "agree5"},
            {"name": "impact", "question": "Does it matter?", "scale": "three"},
            {"name": "usable", "question": "Can it be used?", "scale": "yes"},
            {"name": "tone", "question": "Which?", "scale": "kind", "may_not_apply": True},
        ],
    }
)  # fmt: skip
CASES = [Case(id=f"c{n}", output=f"Text {n} of a patient.", source=("A note.",), group=f"g{n * 2 // 5}" if n % 4 else None) for n in range(26)]  # fmt: skip


def chance(*parts: Any) -> float:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=7).digest(), "big") / 2**56


def said(case: int, name: str, who: str, noise: float) -> Any:
    value = chance("truth", case, name) + noise * (chance(who, case, name) - 0.5)
    levels = list(RUBRIC.scale_of(name).values)
    return levels[min(len(levels) - 1, max(0, int(value * len(levels))))]


def verdicts(who: str, noise: float, silent: float) -> list[Verdict]:
    """Two jurors' means; of some cases one attribute, or all, without a verdict."""
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "count": "mean", "quorum": 2, "seats": [{"name": name, "model": "scripted/none"} for name in "ab"]})  # fmt: skip
    made = []
    for number, case in enumerate(CASES):
        steps = []
        for seat in "ab":
            votes = {name: said(number, name, who + seat, noise) for name in RUBRIC.names if chance(who, seat, number, name) > silent}  # fmt: skip
            steps.append(cast(seat, votes, rationale=f"Reason {number}.", quotes={"a fever": None if number % 3 else "source"}) if votes else abstained(seat, *RUBRIC.names))  # fmt: skip
        heard = transcript_of(steps, seats=("a", "b")).model_copy(update={"case": case.id})
        made.append(verdict(heard.with_stop(Stop(reason="complete")), RUBRIC, jury, count="mean"))
    return made


def ratings() -> pd.DataFrame:
    rows = [
        (f"c{case}", rater, name, said(case, name, rater, 0.5))
        for case in range(len(CASES)) for rater in ("ana", "ben", "cy") for name in RUBRIC.names
        if chance("asked", case, rater, name) < 0.7
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])


def measured(earned: Rewards, first: list[Verdict], second: list[Verdict]) -> dict[str, Any]:
    cluster = np.array([0 if case.group is None else 1 + int(case.group[1:]) for case in CASES])
    cluster = np.where(cluster == 0, 100 + np.arange(len(CASES)), cluster)
    gain = earned.contrast(second, first, cluster)
    scene = Scene(None, None, earned, (), (), {case.id: int(at) for case, at in zip(CASES, cluster, strict=True)}, Draws(3), lambda: True, print)  # type: ignore[arg-type]  # fmt: skip
    return {
        "attributes": earned.attributes,
        "truth": sorted([case, name, str(value)] for (case, name), value in earned.truth.items()),
        "words": earned.words,
        "values": [earned.value(part) for part in (first, second)],
        "gain": {**asdict(gain.difference), "p": gain.p, "shown": gain.shown},
        "cases": [[earned.of_case(one) for one in part] for part in (first, second)],
        "open": [[earned.open_questions(one) for one in part] for part in (first, second)],
        "ends": [earned.best, earned.worst],
        "scene": [scene.gain_p(first, second), scene.mean_reward(second), scene.leaves_more_open(second, first)],
        "feedback": feedback_text({case.id: case for case in CASES}, first[:12], earned, {("c1", "good"): ("It has 3 faults.",)}, {"c2": ("x",)}, "code").splitlines(),
    }  # fmt: skip


def test_rewards_of_verdicts() -> None:
    first, second = verdicts("one", 0.9, 0.1), verdicts("two", 0.4, 0.04)
    ordered = RUBRIC.model_copy(update={"attributes": RUBRIC.attributes[:3]})
    results = {
        "credit": (Reward(measure="credit"), RUBRIC, None),
        "credit by the mean, paying for silence": (Reward(measure="credit", abstention=0.2), RUBRIC, "mean"),
        "f1": (Reward(measure="f1"), RUBRIC, None),
        "icc3k": (Reward(measure="icc3k"), ordered, "mean"),
        "kappa": (Reward(measure="kappa_quadratic"), ordered, None),
        "costs": (Reward(costs="impact"), RUBRIC, None),
        "costs, silence dearer": (Reward(costs="impact", abstention=-2.0), RUBRIC, "mean"),
    }
    check_kept(
        KEPT / "rewards.json",
        {
            name: measured(rewards(reward, rubric, ratings(), rule), first, second)  # type: ignore[arg-type]
            for name, (reward, rubric, rule) in results.items()
        },
    )


def test_parts_of_the_cases() -> None:
    """By numbers and by shares, whole groups, by more than one seed."""
    splits = [(0.2, 0.3), (4, 9), (0.4, 2), (7, 0.5)]
    parts = {
        f"{val}, {test}, {seed}": three_parts(CASES, ThreeWaySplit(val=val, test=test), seed=seed)
        for val, test in splits for seed in (0, 5)
    }  # fmt: skip
    check_kept(
        KEPT / "parts.json",
        {name: [*([case.id for case in side] for side in (found.train, found.validation, found.test)), found.cluster] for name, found in parts.items()},
    )  # fmt: skip


def test_plans(tmp_path: Path) -> None:
    write_world(tmp_path, cases=30, per_group=2, orders=range(0, 30, 9))
    (tmp_path / "prices.yaml").write_text(yaml.safe_dump({"server/judge": {"prompt": 3, "completion": 9}, "server/writer": {"prompt": 30, "completion": 90}}))  # fmt: skip
    url = "http://127.0.0.1:9/v1"
    split = {"val": 8, "test": 0.3}
    ways: dict[str, dict[str, Any]] = {
        "reflecting": {"minibatch": 5, "prices": "prices.yaml", "budget": {"max_usd": 50}, "seed": 3},
        "unpriced": {"budget": {"max_tokens": 900_000}},
        "candidates": {"optimise": None, "reflection": None, "candidates": {"persona:plain-judge": ["Look at the dose.", "Be stern."]}, "prices": "prices.yaml"},
        "examples": {"optimise": None, "reflection": None, "shots": {"k": [1, 2], "draws": 2}, "reward": {"costs": "impact"}},
    }  # fmt: skip
    found = {}
    for name, changes in ways.items():
        plan = plan_optimisation(write_file(tmp_path / "opt.yaml", url, split=split, **changes))
        numbers = [plan.first_hearings, plan.proposal_hearings, plan.test_hearings]
        parts = [
            [case.id for case in side] for side in (plan.parts.train, plan.parts.validation, plan.parts.test)
        ]
        hearing = {
            "least": plan.hearing.least.to_json(),
            "further": plan.hearing.further and plan.hearing.further.to_json(),
        }
        found[name] = {
            **plan.json(),
            "hearings": numbers,
            "parts": parts,
            "hearing": hearing,
            "cost": plan.least.to_json(),
            "alternatives": [each.label for each in plan.alternatives],
            "flagged": sorted(plan.guard.flagged),
        }
    check_kept(KEPT / "plans.json", found, without="seconds|budget/max_seconds")


def optimised(found: Optimised) -> dict[str, Any]:
    gain = None if found.gain is None else {**asdict(found.gain.difference), "p": found.gain.p}
    return {
        "trials": [trial.json() for trial in found.trials],
        "front": found.front,
        "shown": found.shown,
        "why": found.why,
        "rewards": found.rewards,
        "gain": gain,
        "unanswered": found.unanswered,
        "calls": [found.spent.calls, found.search_calls],
        "improved": found.improved,
        "sentence": found.sentence,
    }


def wavering(call: Call) -> Any:
    """A judge who is right the more often the more of the idea its words hold, and at times cannot be read; a writer who writes three things."""
    if call.model == "writer":
        return {"diagnosis": "see", "text": ["Look first at doses.", "Be careful with doses and with names.", "Always score 2."][call.number % 3]}  # fmt: skip
    assert call.schema is not None
    found = re.search(r"Patient (\d+) takes tablets, level (\d)", call.prompt)
    assert found is not None
    number, truth = int(found.group(1)), int(found.group(2))
    voice = call.prompt.partition("# Your seat")[2].partition("# Your answer")[0]
    known = 0.3 + 0.3 * ("dose" in voice) + 0.35 * ("first" in voice)
    if chance("mute", number, "dose" in voice) < 0.05:
        return "Nothing."
    value = truth if chance("knows", number) < known else int(chance("guess", number, len(voice)) * 3)
    return filled(call.schema, lambda name: value, rationale="as it seems")


def test_searches_to_their_end(tmp_path: Path) -> None:
    write_world(tmp_path, cases=54, per_group=2)
    found = {}
    with ProviderServer(wavering) as server:
        ways: dict[str, dict[str, Any]] = {
            "candidates": {"optimise": None, "reflection": None, "candidates": {"persona:plain-judge": ["Mind each dose.", "Mind each dose first.", "Be stern."]}},
            "reflecting": {"minibatch": 8, "budget": {"max_calls": 150}, "reward": "f1", "seed": 2},
        }  # fmt: skip
        for name, changes in ways.items():
            path = write_file(tmp_path / "opt.yaml", server.url, split={"val": 14, "test": 20}, **changes)
            found[name] = optimised(optimise(plan_optimisation(path), tmp_path / name, lambda line: None))
    check_kept(KEPT / "searches.json", found)


def test_a_rule_that_learns_learns_from_the_cases_that_are_counted_together(tmp_path: Path) -> None:
    """Weights are how near each juror was to the mean of the others: a 0.375, b 0.6875, c 0.3125 over both cases; on one alone they are others."""
    votes = {"one": {"a": 4, "b": 4, "c": 1}, "two": {"a": 1, "b": 4, "c": 5}}
    weights = {"a": 0.375, "b": 0.6875, "c": 0.3125}
    rubric = RUBRIC.model_copy(update={"attributes": RUBRIC.attributes[:1]})
    cases = [Case(id=name, output=f"Written by {name}.") for name in votes]

    def answer(call: Call) -> Any:
        assert call.schema is not None
        score = votes["two" if "by two" in call.prompt else "one"][call.model]
        return filled(call.schema, lambda name: score)

    async def heard(jury: Jury) -> list[list[Verdict]]:
        store, providers = Store.create(tmp_path / "run"), Providers()
        room = Courtroom(store, Budget(), providers, seed=0, scored=ScoredCases.of(()))
        judge = Judge(jury, rubric)
        both = await room.verdicts(judge, cases)
        asked = len(server.calls)
        alone = await room.verdicts(judge, cases[:1])
        again = await room.verdicts(judge, cases)
        assert len(server.calls) == asked, "what was heard is not asked again"
        await providers.close()
        await store.close()
        return [both, alone, again]

    with ProviderServer(answer) as server:
        seats = [{"name": name, "model": f"server/{name}", "base_url": server.url} for name in weights]
        jury = Jury.model_validate(
            {"name": "three", "protocol": "panel", "count": "weighted", "seats": seats}
        )
        both, alone, again = asyncio.run(heard(jury))
    for found, (name, given) in zip(both, votes.items(), strict=True):
        mean = sum(weights[seat] * vote for seat, vote in given.items()) / sum(weights.values())
        assert found.case == name and found["good"].value == pytest.approx(mean)
    assert [one["good"].value for one in again] == [one["good"].value for one in both]
    assert alone[0]["good"].value != pytest.approx(both[0]["good"].value)
