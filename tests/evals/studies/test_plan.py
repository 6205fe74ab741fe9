"""Plans: which arms, exactly how many calls, what they cost, and everything that is wrong at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from command_line import venire
from study_files import CASES, LABELS, first_cases, run_quietly, server_models, study_file

from venire import Case, Jury, VenireError, load_cases
from venire.evals.studies.arms import CaseSplit, StudyArm, split_cases, study_split
from venire.evals.studies.plan import Plan, _plan_task, plan_study
from venire.evals.studies.schema import Split, Task
from venire.evals.studies.study import StudyCannotRun, load_study

NOWHERE = "http://127.0.0.1:9/v1"
GROUPS = {"stances": ["high-scoring", "low-scoring", "middle-scoring"], "pair": ["high-scoring", "skeptic"]}


def planned(folder: Path, **keys: object) -> Plan:
    plan = plan_study(study_file(folder, **keys))
    assert isinstance(plan, Plan)
    return plan


def grid(**keys: object) -> dict[str, object]:
    return {"personas": GROUPS, "models": server_models(NOWHERE, "a", "b"), **keys}


def test_a_grid_is_every_combination_and_every_seat_alone(tmp_path: Path) -> None:
    plan = planned(tmp_path, grid=grid(count=["mean", "median"]))

    names = [arm.name for arm in plan.arms]
    assert names[:4] == ["stances-a-mean", "stances-a-median", "stances-b-mean", "stances-b-median"]
    assert len(names) == 2 * 2 * 2 + 4 * 2
    assert names[-1] == "single-skeptic-b"


def test_what_arms_have_in_common_is_counted_once(tmp_path: Path) -> None:
    plan = planned(tmp_path, grid=grid(count=["mean", "median"]))

    # Four personas on two models and 24 cases, whoever sits with whom and however votes are counted.
    assert plan.total.least.calls == plan.total.most.calls == 4 * 2 * 24
    assert plan.costs["stances-a-mean"].least.calls == 3 * 24
    assert plan.alone == 24 * (2 * 2 * (3 + 2) + 4 * 2)


def test_rounds_of_arms_that_count_differently_are_paid_for_once(tmp_path: Path) -> None:
    seats = {"personas": {"stances": GROUPS["stances"]}, "models": server_models(NOWHERE, "a")}
    ways = {"protocol": "delphi", "limits": {"max_rounds": 3}, "singles": False}
    one, both = (
        planned(tmp_path, grid={**seats, **ways, "count": count}) for count in (["mean"], ["mean", "median"])
    )

    assert len(both.arms) == 2 * len(one.arms)
    assert both.total.most.calls == one.total.most.calls == 3 * 3 * 24
    assert both.total.least.calls == one.total.least.calls


def test_seats_that_are_alike_answer_for_themselves(tmp_path: Path) -> None:
    thrice = {"personas": {"thrice": ["none", "none", "none"]}, "models": server_models(NOWHERE, "a")}

    assert planned(tmp_path, grid=thrice).total.least.calls == 3 * 24


def test_lenses_without_an_opinion_make_no_call_and_read_no_tokens(tmp_path: Path) -> None:
    plan = planned(tmp_path, arms=["lens-jury", "lens-single"])

    assert 0 < plan.total.least.calls < 11 * 24
    assert plan.total.least.tokens == 0
    assert plan.total.least.usd == 0
    assert plan.unit == "calls"


def test_a_deliberation_has_a_least_and_a_most(tmp_path: Path) -> None:
    plan = planned(tmp_path, grid=grid(protocol="delphi", limits={"max_rounds": [2, 3]}, singles=False))
    short, long = plan.costs["stances-a-r2"], plan.costs["stances-a-r3"]

    assert (short.least.calls, short.most.calls) == (3 * 24, 2 * 3 * 24)
    assert (long.least.calls, long.most.calls) == (3 * 24, 3 * 3 * 24)
    assert plan.total.least.calls == 4 * 2 * 24
    assert plan.total.most.calls == plan.total.least.calls + 24 * 2 * ((3 + 6) + (2 + 4))


def test_limits_that_cannot_matter_make_no_further_arms(tmp_path: Path) -> None:
    plan = planned(
        tmp_path, grid=grid(protocol=["panel", "delphi"], limits={"max_rounds": [2, 3]}, singles=False)
    )

    assert sum(arm.jury.protocol == "panel" for arm in plan.arms) == 4
    assert sum(arm.jury.protocol == "delphi" for arm in plan.arms) == 8


@pytest.mark.parametrize(
    ("way", "limits", "kept"),
    [
        ("delphi", {"max_rounds": [3], "max_stalls": [1, 2, 3]}, ["s1", "s2"]),
        ("delphi", {"max_rounds": [2], "max_turns": [5, 8, 9, 12]}, ["t5", "t8", "t9"]),
        ("delphi", {"max_rounds": [3], "max_stalls": [1], "max_replans": [0, 1]}, [""]),
        ("orchestrated", {"max_rounds": [4], "max_stalls": [1], "max_replans": [0, 1, 2, 3]}, ["p0", "p1", "p2"]),
        ("orchestrated", {"max_rounds": [1], "max_stalls": [0, 1], "max_replans": [0, 1]}, [""]),
        ("panel", {"max_rounds": [2, 3], "max_replans": [0, 1]}, [""]),
    ],
)  # fmt: skip
def test_arms_that_a_limit_cannot_change_are_one(
    tmp_path: Path, way: str, limits: dict[str, list[int]], kept: list[str]
) -> None:
    seats = {"personas": {"stances": GROUPS["stances"]}, "models": server_models(NOWHERE, "a")}
    plan = planned(tmp_path, grid={**seats, "protocol": way, "limits": limits, "singles": False})

    assert [arm.name for arm in plan.arms] == ["-".join(filter(None, ("stances", each))) for each in kept]


@pytest.mark.parametrize(
    ("way", "turns", "most"),
    [
        ("orchestrated", 4, 4 + 2),
        ("orchestrated", 3, 3 + 1),
        ("delphi", 5, 5),
        ("debate", 4, 4 + 1),
        ("delphi", 99, 9),
    ],
)
def test_the_most_calls_know_max_turns(tmp_path: Path, way: str, turns: int, most: int) -> None:
    seats = {"personas": {"stances": GROUPS["stances"]}, "models": server_models(NOWHERE, "a")}
    limits = {"max_rounds": 3, "max_turns": turns}
    plan = planned(tmp_path, grid={**seats, "protocol": way, "limits": limits, "singles": False})

    assert plan.costs["stances"].most.calls == most * 24


def test_a_grid_takes_the_studys_address(tmp_path: Path) -> None:
    personas = {"pair": GROUPS["pair"]}
    models = {
        "a": "server/a",
        "own": {"model": "server/b", "base_url": "http://127.0.0.1:8/v1"},
        "other": "local",
    }
    plan = planned(
        tmp_path, base_url=NOWHERE, grid={"personas": personas, "models": models, "singles": False}
    )

    asked = {arm.name: {seat.base_url for seat in arm.jury.seats} for arm in plan.arms}
    assert asked == {"pair-a": {NOWHERE}, "pair-own": {"http://127.0.0.1:8/v1"}, "pair-other": {None}}


def test_a_split_has_its_share_of_every_stratum_and_parts_no_group() -> None:
    cases = [
        Case(
            id=f"c{n}", output="Text.", group=f"g{n // 2}", metadata={"ward": "north" if n < 60 else "south"}
        )
        for n in range(80)
    ]
    for seed in range(5):
        found = study_split(cases, Split(test=0.2, stratify=("ward",)), seed=seed)
        drawn = [case for case in cases if case.id in found.test]
        assert [case.metadata["ward"] for case in drawn].count("north") == 12 and len(drawn) == 16
        assert len({case.group for case in drawn}) == 8
    assert found.test != study_split(cases, Split(test=0.2, stratify=("ward",)), seed=9).test
    with pytest.raises(VenireError, match="no case has 'wart'"):
        study_split(cases, Split(test=0.2, stratify=("wart",)), seed=0)


def test_models_may_be_dealt_to_the_seats_in_turn(tmp_path: Path) -> None:
    models = server_models(NOWHERE, "a", "b")
    plan = planned(
        tmp_path, grid={"personas": GROUPS, "models": {**models, "both": [models["a"], models["b"]]}}
    )
    (mixed,) = [arm.jury for arm in plan.arms if arm.name == "stances-both"]

    assert [seat.model for seat in mixed.seats] == ["server/a", "server/b", "server/a"]
    # Every seat of the mixed jury sits in another as well: it adds no call.
    assert plan.total.least.calls == 4 * 2 * 24


def test_prices_come_from_a_file_and_what_nobody_knows_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("server/a: {prompt: 1.0, completion: 4.0}\n")
    some = planned(tmp_path, grid=grid(), prices="prices.yaml")

    assert some.unpriced == ("server/b",)
    assert some.total.least.usd is None
    assert some.unit == "tokens"
    cheap = some.costs["stances-a"].least.usd
    assert cheap is not None and 0.1 < cheap < 1.0


def test_models_that_litellm_lists_have_their_price_and_others_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plan = planned(tmp_path, arms=[{"jury": "single", "model": "openai/gpt-4o-mini"}], split={"test": 0})

    assert plan.unit == "usd"
    assert plan.total.least.usd is not None
    # 0.15 and 0.60 dollars a million, on 24 prompts of some two thousand tokens.
    assert 0.15e-6 * 24 * 1000 < plan.total.least.usd < 0.60e-6 * 24 * 5000
    assert plan.notes == (
        "openai/gpt-4o-mini: the environment variable OPENAI_API_KEY is not set, and the run will need it",
    )
    with pytest.raises(VenireError, match="'opnai/gpt-4o' names no provider"):
        planned(tmp_path, arms=[{"jury": "single", "model": "opnai/gpt-4o"}])


def test_everything_that_is_wrong_is_listed_at_once(tmp_path: Path) -> None:
    (tmp_path / "half.csv").write_text("\n".join(LABELS.read_text().splitlines()[:40]) + "\n")
    tiny = {
        "name": "tiny",
        "protocol": "debate",
        "seats": [{"name": "a", "model": "scripted"}],
        "orchestrator": {"model": "scripted"},
    }
    path = study_file(
        tmp_path,
        ratings="half.csv",
        attributes=["accurate", "thorogh"],
        arms=["stancess", {"jury": "single", "protocol": "panle"}, {"jury": "nowhere.yaml"}, {"jury": tiny}],
        grid={
            "personas": {
                "one": ["high-scoring", "low-scorin"],
                "two": ["skeptic"],
                "three": ["skeptic", "none"],
            },
            "models": {"lens": "lens/nolens", "free": "scripted"},
            "protocol": ["panel", "panle"],
            "count": ["mean", "medain"],
            "quorum": [1, 2],
        },
        split={"test": ["demo-01", "demo-99"]},
        budget={"max_calls": 10},
    )
    with pytest.raises(StudyCannotRun) as caught:
        plan_study(path)

    told = [wrong.problem for wrong in caught.value.errors]
    for words in (
        "no persona named 'low-scorin'",
        "no protocol named 'panle'",
        "no counting rule named 'medain'",
        "no jury named 'stancess'",
        "nowhere.yaml: no such file",
        "the arm 'two-free-q2' cannot be built: quorum: a quorum of 2 votes can never be reached, because only 1 vote can be cast",
        "arm tiny: the jury 'tiny' has one seat, but a debate needs two sides",
        "no lens named 'nolens'",
        "'demo-99', which the cases do not have",
        "has no attribute 'thorogh'",
        "16 of the 24 cases have no rating",
        "max_calls is 10, but the plan needs",
    ):
        assert any(words in problem for problem in told), words
    assert all(wrong.remedy for wrong in caught.value.errors)


def test_the_command_lists_them_and_spends_nothing(tmp_path: Path) -> None:
    path = study_file(tmp_path, arms=["stancess", "lens-jury"], split={"test": ["demo-99"]})
    ended = venire("study", path, cwd=tmp_path)

    assert ended.returncode == 2
    assert "2 mistakes found, and nothing was spent" in ended.stderr
    assert ended.stderr.count("\n  -> ") == 2
    assert [file.name for file in tmp_path.iterdir()] == ["study.yaml"]


@pytest.mark.parametrize(
    ("text", "line", "problem", "remedy"),
    [
        ("name: x\ncasse: c.jsonl\nrubric: r\nratings: r.csv\narms: [single]\n", 2, "unknown key 'casse'", "cases"),
        ("name: x\ncases: c\nrubric: r\nratings: r\ngrid:\n  persona: {a: [none]}\n", 6, "unknown key 'persona' in grid", "personas"),
        ("name: x\ncases: c\nrubric: r\nratings: r\ngrid:\n  personas: {a: [none]}\n  models:\n    m: {modle: x}\n", 8, "unknown key 'modle'", "model"),
        ("name: x\ncases: c\nrubric: r\nratings: r\n", 1, "the study has no arm", "grid"),
        ("name: x\ncases: c\nrubric: r\nratings: r\narms: {a: {jury: single}}\n", 5, "arms: this is not a list", "one arm per line"),
        ("name: x\ncases: c\nrubric: r\nratings: r\narms: single\n", 5, "arms: this is not a list", "one arm per line"),
        ("name: x\ncases: c\nrubric: r\narms: [single]\n", 1, "ratings: the key is missing", "ratings"),
        ("name: x\ncases: c\nrubric: r\nratings: r\narms: [single]\nbudget: {max_usd: 0}\n", 6, "max_usd", "max_usd"),
        ("name: x\ncases: c\nrubric: r\nratings: r\narms: [single]\nsplit: {test: 2.0}\n", 6, "not a share", "below 1"),
        ("name: x\njudgements: j.csv\nrubric: r\nratings: r\narms: [single]\n", 1, "no model is asked", "remove arms"),
    ],
)  # fmt: skip
def test_a_wrong_study_file_names_line_problem_and_remedy(
    tmp_path: Path, text: str, line: int, problem: str, remedy: str
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(VenireError) as caught:
        plan_study(path)

    first = (caught.value.errors or (caught.value,))[0]
    assert first.problem.startswith(f"{path}:{line}: ")
    assert problem in first.problem
    assert remedy in first.remedy


def test_a_limit_in_dollars_needs_every_price(tmp_path: Path) -> None:
    with pytest.raises(VenireError, match="the price of server/a, server/b is not known"):
        planned(tmp_path, grid=grid(), budget={"max_usd": 1.0})


def test_a_budget_that_may_not_do_is_a_note_and_no_error(tmp_path: Path) -> None:
    plan = planned(tmp_path, grid=grid(protocol="delphi"), budget={"max_calls": 200}, split={"test": 0})

    assert plan.notes == (
        "the limit max_calls may end the study early; you can then resume it with a larger limit",
    )


def test_too_few_groups_to_score_on_are_named_before_anything_is_paid(tmp_path: Path) -> None:
    few = planned(tmp_path, arms=["lens-single", "lens-jury"], split={"test": 0.5})
    enough = planned(tmp_path, arms=["lens-single", "lens-jury"], split={"test": 0})

    assert few.notes[0].startswith("The 6 cases or groups of the test part are too few to compare arms")
    assert enough.notes == ()


def test_groups_are_never_parted() -> None:
    groups = {f"c{n}": f"g{n // 3}" for n in range(30)}

    def split(seed: int = 0, some: int = 30, **keys: Any) -> CaseSplit:
        return split_cases(list(groups)[:some], groups, Split(**keys), seed=seed)

    for seed in range(20):
        parts = split(seed, test=0.4)
        assert not {groups[case] for case in parts.test} & {groups[case] for case in parts.selection}
        assert len(parts.test) == 12
    assert split(1, test=0.4) == split(1, test=0.4)
    assert split(1, test=0.4) != split(2, test=0.4)
    assert split(groups=("g1",)).test == ("c3", "c4", "c5")
    with pytest.raises(VenireError, match="'g1' are in both parts of the split"):
        split(test=("c3",))
    with pytest.raises(VenireError, match=r"too few cases .*, 3:"):
        split(some=9, test=0.4)


def test_a_study_does_not_run_in_a_database(tmp_path: Path) -> None:
    with pytest.raises(VenireError, match="a study writes files beside its record"):
        run_quietly(study_file(tmp_path, arms=["lens-single"]), "postgresql://x/y")


def test_the_selection_and_the_test_cases_are_all_cases(tmp_path: Path) -> None:
    plan = planned(tmp_path, arms=["lens-jury", "lens-single"])

    assert sorted((*plan.split.selection, *plan.split.test)) == [case.id for case in load_cases(CASES)]


def test_the_file_in_the_document_can_be_read(tmp_path: Path) -> None:
    text = (ROOT / "docs/study-file.md").read_text(encoding="utf-8")
    whole, search, judgements, objective = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    path = tmp_path / "study.yaml"
    path.write_text(whole + search + objective)
    study, _ = load_study(path)
    path.write_text(f"name: x\nrubric: r\nratings: r.csv\n{judgements}")
    recorded, _ = load_study(path)

    assert study.search is not None and study.search.trials == 40
    assert (study.objective, study.choose, study.margin) == ("spearman", "per-attribute", 0.02)
    assert recorded.judgements is not None and str(recorded.judgements.file) == "judgements.csv"


def test_the_most_of_a_presided_arm_is_bounded_by_its_dearest_seat(tmp_path: Path) -> None:
    """A cheap orchestrator over dear jurors, and the other way round: the bound is the dear ones' price."""
    pytest.importorskip("autogen_agentchat", reason="the magentic-one protocol needs venire[autogen]")
    (tmp_path / "prices.yaml").write_text(
        "server/dear: {prompt: 40.0, completion: 80.0}\nserver/cheap: {prompt: 0.1, completion: 0.2}\n"
    )
    cheap, dear = ({"model": f"server/{name}", "base_url": NOWHERE} for name in ("cheap", "dear"))
    arms = [
        {"jury": {"name": f"{way}-{name}", "protocol": way, "orchestrator": chair,
                  "limits": {"max_rounds": 2},
                  "seats": [{"name": "a", **seat}, {"name": "b", **seat}]}}
        for way in ("magentic-one", "orchestrated")
        for name, chair, seat in (("low", cheap, dear), ("high", dear, cheap))
    ]  # fmt: skip
    plan = planned(tmp_path, arms=arms, prices="prices.yaml")

    for arm in plan.arms:
        most, least = plan.costs[arm.name].most, plan.costs[arm.name].least
        assert most is not None
        calls = most.calls - least.calls
        prompt = (most.usage.prompt - least.usage.prompt) / calls
        assert most.usd is not None and most.usd > calls * prompt * 40.0 / 1e6
        assert prompt > 2000, "a later question is no shorter than a juror's first"


def test_new_plans_without_a_limit_have_no_most(tmp_path: Path) -> None:
    pytest.importorskip("autogen_agentchat", reason="the magentic-one protocol needs venire[autogen]")
    seats = [{"name": "a", "model": "server/a", "base_url": NOWHERE}]
    orchestrator = {"model": "server/b", "base_url": NOWHERE}
    jury = {"name": "m", "protocol": "magentic-one", "seats": seats, "orchestrator": orchestrator}
    arms = [
        {"jury": {**jury, "limits": {"max_replans": None}}},
        {"jury": {**jury, "name": "m4", "limits": {"max_replans": 4}}},
    ]
    plan = planned(tmp_path, arms=arms)

    assert plan.costs["m"].most is None
    assert plan.costs["m4"].most.calls == 24 * (2 * 3 + 6 + 3 * 3)


def test_a_panel_of_one_seat_is_a_single_judge(tmp_path: Path) -> None:
    seats = [{"name": "a", "model": "server/a", "base_url": NOWHERE}]
    two = [*seats, {"name": "b", "model": "server/b", "base_url": NOWHERE}]
    plan = planned(
        tmp_path,
        arms=[{"jury": {"name": name, "protocol": "panel", "seats": sits}} for name, sits in (("one", seats), ("two", two))],
    )  # fmt: skip

    assert [arm.kind for arm in plan.arms] == ["single judge", "jury"]


def test_how_seats_are_asked_are_axes_too(tmp_path: Path) -> None:
    chairs = [{"model": f"server/{name}", "base_url": NOWHERE} for name in ("a", "b")]
    shots = {"k": 1, "cases": str(CASES), "ratings": str(LABELS)}
    plan = plan_study(
        study_file(
            tmp_path,
            **_without_first_group(tmp_path),
            grid={
                "personas": {"pair": ["high-scoring", "low-scoring"]}, "models": server_models(NOWHERE, "a"),
                "protocol": ["panel", "orchestrated"], "orchestrator": chairs, "repeats": [1, 3], "shots": [None, shots],
                "temperature": [0, 1], "params": [{}, {"reasoning_effort": "low"}], "singles": False,
            },
        )
    )  # fmt: skip
    assert isinstance(plan, Plan)

    panels = [arm.jury for arm in plan.arms if arm.jury.protocol == "panel"]
    presided = [arm.jury for arm in plan.arms if arm.jury.protocol == "orchestrated"]
    assert len(panels) == 2 * 2 * 2 * 2, "repeats, shots, temperature, params"
    assert len(presided) == 2 * 2 * 2 * 2 * (1 + 3), (
        "orchestrator, shots, temperature, params; each repeat is a hearing"
    )
    assert {jury.orchestrator.model for jury in presided} == {"server/a", "server/b"}
    assert {jury.repeats for jury in panels} == {1, 3}
    assert {jury.seats[0].temperature for jury in panels} == {0, 1}
    assert {str(jury.seats[0].params) for jury in panels} == {"{}", "{'reasoning_effort': 'low'}"}
    assert sum(jury.shots is not None for jury in panels) == 8


def _without_first_group(folder: Path) -> dict[str, str]:
    """Some of the demonstration's cases without those of its first group, which is left for examples."""
    few = first_cases(folder, 8)
    cases = list(load_cases(Path(few["cases"])))
    kept = [case for case in cases if case.group != cases[0].group]
    Path(few["cases"]).write_text("\n".join(case.model_dump_json(exclude_none=True) for case in kept))
    return few


def test_a_temperature_may_be_left_to_the_model_beside_others(tmp_path: Path) -> None:
    plan = planned(tmp_path, grid={"personas": {"pair": GROUPS["pair"]}, "models": server_models(NOWHERE, "a"), "temperature": [None, 0.5], "singles": False})  # fmt: skip

    assert {arm.name: {seat.temperature for seat in arm.jury.seats} for arm in plan.arms} == {"pair-tnone": {None}, "pair-t0_5": {0.5}}  # fmt: skip


def test_a_task_is_judged_by_the_arms_it_names_or_by_those_that_hear_every_case_with_examples_of_its_own(
    tmp_path: Path,
) -> None:
    seats = [{"name": "a", "model": "scripted/none"}]
    own = {"n": 2, "cases": str(CASES), "ratings": str(LABELS)}
    juries = {name: Jury.model_validate({"name": name, "protocol": "panel", "seats": seats, **({"shots": shots} if shots else {})}) for name, shots in (("plain", None), ("own", own), ("shown", {**own, "among": ("b", "a")}))}  # fmt: skip
    arms = [StudyArm(jury, "linear") for jury in juries.values()]
    few = [StudyArm(juries["plain"].model_copy(update={"name": str(on)}), on=on) for on in ("test", 2)]
    paths: dict[str, Any] = {"cases": Path("c.jsonl"), "ratings": Path("r.csv"), "rubric": "clinical-note"}
    (tmp_path / "c.jsonl").write_text(CASES.read_text())
    (tmp_path / "r.csv").write_text(LABELS.read_text())
    planned = _plan_task("t", Task(**paths), tmp_path, [*arms, *few])

    assert [(arm.name, arm.on, arm.calibration) for arm in planned.arms] == [(name, "all", "none") for name in juries]  # fmt: skip
    plain, named, shown = (arm.jury.shots for arm in planned.arms)
    assert plain is None and named == juries["own"].shots and shown is not None
    assert (shown.cases, shown.ratings) == (tmp_path / "c.jsonl", tmp_path / "r.csv")
    assert shown.among == tuple(sorted(case.id for case in load_cases(CASES))) and len(planned.cases) == len(shown.among)  # fmt: skip
    some = _plan_task("t", Task(**paths, arms=("2", "own")), tmp_path, [*arms, *few])
    assert [(arm.name, arm.on) for arm in some.arms] == [("2", "all"), ("own", "all")]
    with pytest.raises(VenireError, match="the task t names 'own', which is not an arm"):
        _plan_task("t", Task(**paths, arms=("own",)), tmp_path, few)
