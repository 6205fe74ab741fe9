"""Searches: every trial kept, weak ones given up early, nothing chosen on a test case, and continued for nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from openai_server import Call, ProviderServer, filled
from scipy.stats import spearmanr
from study_files import CASES, TRUTH, report_on, run_quietly, server_models, steady_ballot, study_file

from venire import Store, load_cases
from venire.evals.comparison.objectives import OBJECTIVES, AnswerScale
from venire.evals.studies.arms import StudyArm
from venire.evals.studies.grid import (
    Axes,
    SearchSpace,
    _shots_label,
    grid_arms,
    limits_label,
    limits_of_use,
)
from venire.evals.studies.plan import plan_study
from venire.evals.studies.search import Score, arm_scores, beaten_by, pareto_front
from venire.evals.studies.study_record import recorded_trials
from venire.evals.studies.study_run import StudyRun
from venire.personas.persona import load_persona
from venire.rubrics.errors import MissingExtra
from venire.rubrics.scale import Scale

WORDS = {case.output[:80]: case.id for case in load_cases(CASES)}


def knowing(call: Call) -> dict[str, Any]:
    """`good` knows the labels, with one score in five wrong; every other model guesses."""
    guess = steady_ballot(call)
    if call.model != "good":
        return guess
    assert call.schema is not None
    case = next(name for words, name in WORDS.items() if words in call.prompt)
    wrong = int(case[-2:]) % 5
    return filled(
        call.schema,
        lambda name: guess[name]["score"] if len(name) % 5 == wrong else TRUTH[case, name],
        moved_by="it",
    )


def searched(folder: Path, server: ProviderServer, **keys: Any) -> StudyRun:
    path = study_file(
        folder,
        grid={
            "personas": {"some": ["high-scoring", "skeptic", "none"]},
            "models": server_models(server.url, "good", "bad"),
        },
        search={"trials": 8, "max_seats": 3, "first": 0.5},
        **keys,
    )
    return run_quietly(path)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A search that nobody disturbed: its run, and how many questions it asked."""
    folder = tmp_path_factory.mktemp("calm")
    with ProviderServer(knowing) as server:
        ended = searched(folder, server)
        assert ended.limit is None
        return ended.folder, len(server.calls)


def test_every_trial_is_kept_with_what_became_of_it(calm: tuple[Path, int]) -> None:
    trials = list(recorded_trials(calm[0]))

    assert [trial["number"] for trial in trials] == list(range(8))
    assert {trial["state"] for trial in trials} <= {"complete", "pruned", "repeated"}
    for trial in trials:
        if trial["state"] == "complete":
            assert trial["cases"] == 12
            assert set(trial["values"]) == {"agreement", "cost"}


def test_weak_juries_are_given_up_early_by_one_that_costs_no_more(calm: tuple[Path, int]) -> None:
    pruned = [trial for trial in recorded_trials(calm[0]) if trial["state"] == "pruned"]

    assert pruned
    for trial in pruned:
        assert trial["cases"] == 6
        assert "@bad" in trial["seats"]
        assert "agrees better with people on these 6 cases" in trial["note"]


def test_only_what_was_chosen_ever_hears_a_test_case(calm: tuple[Path, int]) -> None:
    kept = json.loads((calm[0] / "study.json").read_text())
    test = set(kept["test"])
    store = Store.read(calm[0])
    tested = {arm.name for arm in store.arms() if any(each.case in test for each in store.transcripts(arm))}
    every = {arm.name for arm in store.arms()}
    best = max(
        (trial for trial in recorded_trials(calm[0]) if trial["state"] == "complete"),
        key=lambda trial: trial["values"]["agreement"],
    )
    store.release()

    assert tested < every
    assert best["arm"] in tested
    assert any(name.startswith("single-") and name.endswith("-good") for name in tested)
    assert not any(trial["arm"] in tested for trial in recorded_trials(calm[0]) if trial["state"] == "pruned")


def test_a_search_that_the_budget_stopped_goes_on_to_the_same_end(
    tmp_path: Path, calm: tuple[Path, int]
) -> None:
    with ProviderServer(knowing) as server:
        stopped = searched(tmp_path, server, budget={"max_calls": 80})
        assert stopped.limit == "max_calls"
        assert 80 <= len(server.calls) < calm[1]
        finished = searched(tmp_path, server)
        asked = len(server.calls)

    assert finished.limit is None
    # Nothing was sent twice: the two sittings together asked what one alone asks.
    assert asked == calm[1]
    # The addresses differ, and with them nothing that was drawn or scored.
    assert [_plain(trial) for trial in recorded_trials(finished.folder)] == [
        _plain(trial) for trial in recorded_trials(calm[0])
    ]


def _plain(trial: dict[str, Any]) -> dict[str, Any]:
    return {key: trial[key] for key in ("arm", "params", "state", "seats", "cases", "values")}


def score(agreement: np.ndarray, cost: float = 1.0, latency: float = 1.0) -> Score:
    return Score(float(agreement.mean()), cost, latency, {f"c{n}": float(v) for n, v in enumerate(agreement)})


def test_an_arm_is_given_up_only_for_one_that_is_no_dearer_and_surely_better() -> None:
    rng = np.random.default_rng(0)
    weak = rng.uniform(0.2, 0.4, 10)
    strong = score(weak + rng.uniform(0.2, 0.3, 10))

    assert beaten_by(score(weak), {"strong": strong}, ["agreement", "cost"]) == "strong"
    assert beaten_by(score(weak, cost=0.5), {"strong": strong}, ["agreement", "cost"]) is None
    assert beaten_by(score(weak, latency=0.5), {"strong": strong}, ["agreement", "cost"]) == "strong"
    assert beaten_by(score(weak, latency=0.5), {"strong": strong}, ["agreement", "cost", "latency"]) is None
    assert beaten_by(score(weak[:2]), {"strong": strong}, ["agreement"]) is None


def test_equal_arms_are_rarely_given_up_however_many_they_are_held_against() -> None:
    rng = np.random.default_rng(1)
    given_up = sum(
        beaten_by(
            score(rng.normal(size=8)), {f"a{n}": score(rng.normal(size=8)) for n in range(10)}, ["agreement"]
        )
        is not None
        for _ in range(200)
    )

    assert given_up / 200 < 0.08


def test_the_front_holds_what_nothing_beats() -> None:
    found = {
        "cheap": score(np.array([0.5]), cost=1),
        "good": score(np.array([0.9]), cost=3),
        "dear": score(np.array([0.8]), cost=4),
        "unpriced": score(np.array([1.0]), cost=float("nan")),
    }

    assert pareto_front(found, ["agreement", "cost"]) == ["good", "cheap"]
    assert pareto_front(found, ["agreement"])[0] == "unpriced"


def test_the_report_of_a_search_holds_what_was_chosen_and_every_trial(calm: tuple[Path, int]) -> None:
    found = report_on(calm[0], resamples=20).document
    page = (calm[0] / "report/report.html").read_text()

    assert len(found["trials"]) == 8
    assert "good" in found["recommended"] or "good" in found["advice"][0]
    assert {row["kind"] for row in found["arms"]} == {"jury", "single judge"}
    assert all(
        f"trial-{number:03d}" in page for number in range(8) if found["trials"][number]["state"] != "repeated"
    )
    assert found["paid"]["calls"] == calm[1]


def test_a_search_without_optuna_is_refused_at_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("venire.evals.studies.plan.find_spec", lambda name: None)
    path = study_file(
        tmp_path, grid={"personas": {"a": ["none"]}, "models": {"m": "scripted"}}, search={"trials": 2}
    )
    with pytest.raises(MissingExtra) as caught:
        plan_study(path)

    assert caught.value.remedy == "pip install 'venire[search]'"


A, B = ({"model": f"server/{name}", "base_url": "http://127.0.0.1:9/v1"} for name in "ab")


def space(folder: Path, **changed: object) -> SearchSpace:
    axes = Axes(
        groups={"g": (None,)}, models={"a": (A,), "both": (A, B)}, protocols=("single", "panel", "debate"), limits=({},),
        counts=("mean", "median"), tolerances=(0.0, 0.5), quorums=(1, 3), calibrations=("none",), orchestrators=(None,), singles=False,
    )  # fmt: skip
    return SearchSpace(replace(axes, **changed), 3, folder / "study.yaml")  # type: ignore[arg-type]


@pytest.mark.parametrize(("way", "models"), [("panel", ["server/a", "server/b"]), ("debate", ["server/b", "server/a"])])  # fmt: skip
def test_a_jury_is_composed_as_chosen_and_only_where_it_matters_in_that_order(tmp_path: Path, way: str, models: list[str]) -> None:  # fmt: skip
    chosen = {"seats": "2", "seat 1": "none@both-2", "seat 2": "none@a", "protocol": way, "count": "median", "tolerance": "0.5", "quorum": "3"}  # fmt: skip
    asked: dict[str, list[str]] = {}

    def choose(what: str, among: Sequence[str]) -> str:
        asked[what] = list(among)
        return chosen[what]

    arm = space(tmp_path).compose("mine", choose)
    jury = arm.jury
    assert asked["seats"] == ["1", "2", "3"] and asked["protocol"] == ["panel", "debate"]
    assert asked["seat 1"] == asked["seat 2"] == ["none@a", "none@both-2"]
    assert [seat.model for seat in jury.seats] == models and [seat.name for seat in jury.seats] == ["none-1", "none-2"]  # fmt: skip
    assert (jury.name, jury.protocol, jury.count, jury.tolerance, jury.quorum) == (
        "mine",
        way,
        "median",
        0.5,
        2,
    )
    assert jury.orchestrator.model == models[0]


def test_one_seat_is_a_single_judge_and_the_largest_has_every_seat_that_may_be(tmp_path: Path) -> None:
    alone = space(tmp_path).compose("one", lambda what, among: among[0])
    assert (alone.jury.protocol, len(alone.jury.seats), alone.jury.seats[0].model) == (
        "single",
        1,
        "server/a",
    )
    assert len(space(tmp_path, singles=True).compose("two", lambda what, among: among[0]).jury.seats) == 2
    largest = space(tmp_path).largest("debate").jury
    assert (largest.protocol, len(largest.seats)) == ("debate", 3)
    assert {seat.model for seat in largest.seats} == {"server/a", "server/b"}
    presided = space(tmp_path, orchestrators=(B,)).compose("two", lambda what, among: among[min(1, len(among) - 1)])  # fmt: skip
    assert presided.jury.orchestrator.model == "server/b"


def test_an_arm_of_a_grid_asks_as_its_own_axes_say_and_seats_judge_alone_once_on_each_model(
    tmp_path: Path,
) -> None:
    """Two personas, on a model alone and on two dealt in turn; a panel has no chair, and only a panel repeats its seats."""
    seated = tuple(map(load_persona, ("skeptic", "plain-judge")))
    own = {**A, "params": {"penalty": 1, "further": 3}}
    axes = Axes(
        groups={"two": seated}, models={"a": (own,), "both": (own, B)}, protocols=("panel", "orchestrated"), limits=({},),
        counts=(None,), tolerances=(0.0, 0.5), quorums=(1, 2), calibrations=("none", "linear"), orchestrators=(None, B), singles=True,
        repeats=(1, 2), temperatures=(None, 0.5), params=({}, {"penalty": 0.5}),
    )  # fmt: skip
    written: Any = SimpleNamespace(path=tmp_path / "study.yaml", line=lambda *keys: 3)
    found = list(grid_arms(axes, written))
    assert all(isinstance(arm, StudyArm) for arm in found)
    arms = {arm.name: arm for arm in found if isinstance(arm, StudyArm)}

    # Models, tolerances, quorums, calibrations, temperatures and parameters; then repeats, and chairs who preside.
    shared = 2 * 2 * 2 * 2 * 2 * 2
    singles = [name for name in arms if name.startswith("single")]
    assert len(found) == len(arms) == shared * 2 + shared * (1 + 2) * 2 + len(singles)
    assert singles == [f"single-{who}-{how}" for who in ("skeptic-a", "plain-judge-a", "plain-judge-both-2") for how in ("none", "linear")]  # fmt: skip
    assert [arms[f"single-{who}-none"].jury.seats[0].model for who in ("skeptic-a", "plain-judge-both-2")] == ["server/a", "server/b"]  # fmt: skip

    panel = arms["two-both-panel-tol0_5-q2-linear-x2-t0_5-params2"]
    assert (panel.calibration, panel.hearings) == ("linear", 1)
    assert (panel.jury.tolerance, panel.jury.quorum, panel.jury.repeats) == (0.5, 2, 2)
    assert [(seat.model, seat.temperature, seat.params) for seat in panel.jury.seats] == [("server/a", 0.5, {"penalty": 0.5, "further": 3}), ("server/b", 0.5, {"penalty": 0.5})]  # fmt: skip
    first, again = (arms[f"two-a-orchestrated-tol0-q1-none-chair1-x2-tnone-params1{more}"] for more in ("", "-r2"))  # fmt: skip
    assert (first.hearings, first.jury.repeats, first.jury.hearing, again.jury.hearing) == (2, 1, 1, 2)
    assert (first.jury.orchestrator.model, first.jury.orchestrator.params) == ("server/a", own["params"])
    assert first.jury.seats[0].temperature is None and first.jury.seats[0].params == own["params"]
    warm = arms["two-both-orchestrated-tol0-q1-none-chair1-x1-t0_5-params2"].jury
    assert (warm.orchestrator.temperature, warm.orchestrator.params["penalty"]) == (0.5, 0.5)
    chaired = arms["two-a-orchestrated-tol0-q1-none-chair2-x1-t0_5-params1"].jury
    assert (chaired.orchestrator.model, chaired.orchestrator.temperature) == ("server/b", None)

    alone = replace(axes, protocols=("single",), singles=False, repeats=(1,))
    refused = list(grid_arms(alone, written))
    assert len(refused) == shared and all("the protocol single has one seat, but 'two' has 2" in str(each) for each in refused)  # fmt: skip


def test_examples_and_limits_are_named_in_short_and_limits_that_others_always_come_before_are_one() -> None:
    assert [_shots_label(examples, 1) for examples in (None, {"k": 3, "n": 9}, {"n": 2}, {"ids": ["a", "b"]})] == ["zero-shot", "3-shot-1", "2-shot-1", "2-shot-1"]  # fmt: skip
    limits = [{"max_rounds": 2, "max_usd": 0.5}, {"max_rounds": 2, "max_usd": None}]
    assert [limits_label(each, limits) for each in limits] == ["usd0_5", "usdnone"]

    def kept(way: str, *tried: dict[str, int | None], seats: int = 3) -> list[Any]:
        return limits_of_use(tried, way, seats)

    # Three seats, two rounds and a challenge are nine turns at the most.
    turns: list[dict[str, int | None]] = [{"max_rounds": 2, "max_turns": n} for n in (8, 9, 10)]
    assert kept("delphi", *turns) == turns[:2] and kept("delphi", *turns, seats=2) == turns[:1]
    stalls: list[dict[str, int | None]] = [{"max_rounds": 4, "max_stalls": n} for n in (0, 2, 3, 4)]
    assert kept("orchestrated", *stalls) == stalls[:3]
    plans: list[dict[str, int | None]] = [{"max_rounds": 6, "max_stalls": 2, "max_replans": n} for n in (0, 1, 2, 3)]  # fmt: skip
    assert kept("orchestrated", *plans) == plans[:3], (
        "four rounds of two stalls each are left for two new plans"
    )
    odd: list[dict[str, int | None]] = [
        {"max_rounds": 5, "max_stalls": 2, "max_replans": n} for n in (0, 1, 2)
    ]
    assert kept("orchestrated", *odd) == odd[:2], "three rounds are left for one"
    none: list[dict[str, int | None]] = [{"max_rounds": 6, "max_stalls": 0, "max_replans": n} for n in (0, 1)]
    assert kept("orchestrated", *none) == [{"max_rounds": 6, "max_stalls": 0}]
    assert kept("panel", {"max_rounds": 2}, {"max_rounds": 3, "max_stalls": 1}) == [{}]


def test_by_an_objective_an_arm_has_its_value_and_jackknife_pseudo_values_of_whole_groups() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 18).astype(float)
    rows = []
    for arm, noise in (("near", 1), ("far", 3), ("flat", 0)):
        values = (
            np.full(18, 3.0) if arm == "flat" else np.clip(truth + rng.integers(-noise, noise + 1, 18), 1, 5)
        )
        rows += [{"arm": arm, "case": f"c{n}", "group": f"g{n // 2}", "attribute": "good", "value": value, "truth": truth[n], "credit": 0.5, "cost": 0.2, "seconds": 3.0} for n, value in enumerate(values)]  # fmt: skip
        rows += [{**rows[-1], "case": f"c{n}", "group": f"g{n // 2}", "attribute": "tone", "value": 0.0, "truth": 1.0} for n in range(18)]  # fmt: skip
    rows.append({**rows[0], "case": "c0", "credit": np.nan, "value": 1.0, "truth": 5.0})
    five = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}})
    kind = Scale.model_validate({"level": "nominal", "anchors": {"plain": "a", "odd": "b"}})
    scales = {"good": AnswerScale.of(five), "tone": AnswerScale.of(kind)}
    table = pd.DataFrame(rows)
    found = arm_scores(table, OBJECTIVES["spearman"], scales)

    assert [*found] == ["near", "far"], "of an arm that never varies there is no correlation"
    for arm, score in found.items():
        mine = table[(table["arm"] == arm) & (table["attribute"] == "good") & table["credit"].notna()]
        whole = spearmanr(mine["value"], mine["truth"]).statistic
        assert (score.agreement, score.cost, score.latency) == (pytest.approx(whole), 0.2, 3.0)
        left_out = {group: spearmanr(*mine[mine["group"] != group][["value", "truth"]].T.to_numpy()).statistic for group in mine["group"].unique()}  # fmt: skip
        assert len(score.by_cluster) == 9
        assert sorted(score.by_cluster.values()) == pytest.approx(sorted(9 * whole - 8 * each for each in left_out.values()))  # fmt: skip
    # Less is better of an error: its score is turned round, and of equal groups each has its own mean.
    errors = arm_scores(table, OBJECTIVES["mae"], scales)["near"]
    apart = (table["value"] - table["truth"]).abs()[(table["arm"] == "near") & (table["attribute"] == "good") & table["credit"].notna()]  # fmt: skip
    assert errors.agreement == pytest.approx(-apart.mean()), "in points of the scale"
    assert sorted(errors.by_cluster.values()) == pytest.approx(sorted(-apart.to_numpy().reshape(9, 2).mean(axis=1)))  # fmt: skip
    assert {arm: score.agreement for arm, score in arm_scores(table).items()} == {"near": 0.5, "far": 0.5, "flat": 0.5}  # fmt: skip
