"""`venire optimise` from a file to a report, against a server whose judge can be taught, or not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from openai_server import Call, ProviderServer, Refusal
from teachable_server import PHRASE, heard_cases, teachable, write_file, write_world

from venire import Store
from venire.evals.optimising.optimisation import Optimised, optimise, write_result
from venire.evals.optimising.plan import plan_optimisation
from venire.personas.persona import load_persona
from venire.rubrics.errors import VenireError


def run(path: Path, folder: Path, told: list[str] | None = None) -> Optimised:
    return optimise(plan_optimisation(path), folder, told.append if told is not None else lambda line: None)


def parts(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "optimisation.json").read_text(encoding="utf-8"))
    return found


def test_words_that_help_are_found_chosen_and_shown_to_be_better_on_untouched_cases(tmp_path: Path) -> None:
    write_world(tmp_path)
    with ProviderServer(teachable()) as server:
        write_file(tmp_path / "opt.yaml", server.url)
        done = venire("optimise", "opt.yaml", "-o", "out", "--json", cwd=tmp_path)
        again = len(server.calls)
        repeated = venire("optimise", "opt.yaml", "-o", "out", "--json", cwd=tmp_path)

    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["improved"] and found["test"]["low"] > 0
    assert found["calls"] == again <= 600
    assert PHRASE in load_persona(tmp_path / "out" / "persona-plain-judge.yaml").voice
    assert load_persona(tmp_path / "out" / "persona-plain-judge.yaml").version == 2
    assert (tmp_path / "out" / "report" / "report.html").exists()
    lineage = (tmp_path / "out" / "lineage.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["state"] for line in lineage] == ["first", "accepted"]
    assert repeated.stdout == done.stdout
    assert len(server.calls) == again, "the same command again asks nothing"


def test_the_test_cases_are_read_after_everything_else_and_no_group_is_on_two_sides(tmp_path: Path) -> None:
    write_world(tmp_path, per_group=2)
    with ProviderServer(teachable()) as server:
        write_file(tmp_path / "opt.yaml", server.url)
        found = run(tmp_path / "opt.yaml", tmp_path / "out")

    known = parts(tmp_path / "out")
    test, others = set(known["test"]), {*known["train"], *known["validation"]}
    assert not {int(c[1:]) // 2 for c in test} & {int(c[1:]) // 2 for c in others}
    assert not {int(c[1:]) // 2 for c in known["train"]} & {int(c[1:]) // 2 for c in known["validation"]}
    first = next(number for number, call in enumerate(server.calls) if test & set(heard_cases(call)))
    assert first == found.search_calls
    assert all(set(heard_cases(call)) <= test for call in server.calls[first:])


def test_where_no_words_help_the_first_are_returned_and_it_is_said(tmp_path: Path) -> None:
    write_world(tmp_path)
    number = iter(range(1000))
    with ProviderServer(
        teachable(helps=False, writes=lambda call: f"Be fair, way {next(number)}.")
    ) as server:
        write_file(tmp_path / "opt.yaml", server.url)
        found = run(tmp_path / "opt.yaml", tmp_path / "out")

    assert found.returned == found.first
    assert "Your wording is returned unchanged" in found.sentence
    assert "returned unchanged" in found.sentence
    assert len(server.calls) <= 600
    assert not write_result(tmp_path, found.first, found.returned)


def test_calls_never_pass_the_limit_and_a_budget_for_less_than_one_proposal_asks_nothing(
    tmp_path: Path,
) -> None:
    write_world(tmp_path)
    number = iter(range(1000))
    with ProviderServer(
        teachable(helps=False, writes=lambda call: f"Be fair, way {next(number)}.")
    ) as server:
        write_file(tmp_path / "opt.yaml", server.url, budget={"max_calls": 260})
        run(tmp_path / "opt.yaml", tmp_path / "out")
        assert len(server.calls) <= 260
        before = len(server.calls)
        write_file(tmp_path / "opt.yaml", server.url, budget={"max_calls": 184})
        with pytest.raises(VenireError, match="184 is not enough for one proposal: at least 185"):
            run(tmp_path / "opt.yaml", tmp_path / "small")
        assert len(server.calls) == before and not (tmp_path / "small").exists()


def test_a_stopped_search_goes_on_without_paying_twice_and_ends_as_one_that_was_not(tmp_path: Path) -> None:
    write_world(tmp_path)
    with ProviderServer(teachable()) as server:
        write_file(tmp_path / "opt.yaml", server.url)
        whole = run(tmp_path / "opt.yaml", tmp_path / "whole")
        calls = len(server.calls)
        seen: list[str] = []

        def stop_at_once(line: str) -> None:
            seen.append(line)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            optimise(plan_optimisation(tmp_path / "opt.yaml"), tmp_path / "cut", stop_at_once)
        cut = len(server.calls) - calls
        resumed = run(tmp_path / "opt.yaml", tmp_path / "cut")

    assert 0 < cut < calls and len(server.calls) == 2 * calls
    assert resumed.sentence == whole.sentence
    assert [trial.json() for trial in resumed.trials] == [trial.json() for trial in whole.trials]


def test_orders_in_a_case_reach_nobody_who_writes_and_are_refused_when_repeated(tmp_path: Path) -> None:
    write_world(tmp_path, orders=range(0, 110, 3))
    with ProviderServer(teachable(writes=lambda call: "Always score 2.")) as server:
        write_file(tmp_path / "opt.yaml", server.url, budget={"max_calls": 300})
        plan = plan_optimisation(tmp_path / "opt.yaml")
        found = optimise(plan, tmp_path / "out", lambda line: None)

    written = [call.prompt for call in server.calls if call.model == "writer"]
    assert written and not any("Write into the persona" in prompt for prompt in written)
    assert any("c000" in note and "gives instructions" in note for note in plan.notes)
    assert {trial.state for trial in found.trials} == {"first", "refused"}
    assert "fixes a score" in found.trials[1].why
    assert found.best == found.first


def test_no_five_words_of_a_case_come_back(tmp_path: Path) -> None:
    write_world(tmp_path)
    copied = "Mind whoever takes twelve tablets and sleeps badly."
    with ProviderServer(teachable(writes=lambda call: copied)) as server:
        write_file(tmp_path / "opt.yaml", server.url, budget={"max_calls": 300})
        found = run(tmp_path / "opt.yaml", tmp_path / "out")

    assert all("takes twelve tablets and sleeps" in t.why for t in found.trials if t.state == "refused")
    assert {trial.state for trial in found.trials} == {"first", "refused"}
    # Each refused proposal is sent back once with the reason.
    assert any("the text copies a case" in call.prompt for call in server.calls if call.model == "writer")


def test_anchors_are_reworded_level_by_level_by_the_costs_of_the_scale(tmp_path: Path) -> None:
    write_world(tmp_path)

    def writes(call: Call) -> str:
        return f"0: nothing lost\n1: {PHRASE}, little lost\n2: much lost"

    with ProviderServer(teachable(writes=writes)) as server:
        path = write_file(
            tmp_path / "opt.yaml",
            server.url,
            optimise=["rubric:impact.anchors"],
            reward={"costs": "impact"},
        )
        done = venire("optimise", path, "-o", "out", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["measure"] == "mean reward by the cost matrix"
    assert found["trials"][1]["state"] in ("accepted", "rejected")


def test_choosing_among_written_candidates_needs_no_writer(tmp_path: Path) -> None:
    write_world(tmp_path)
    with ProviderServer(teachable()) as server:
        write_file(
            tmp_path / "opt.yaml",
            server.url,
            optimise=None,
            reflection=None,
            candidates={"persona:plain-judge": ["Be quick.", f"{PHRASE}, then at style."]},
        )
        found = run(tmp_path / "opt.yaml", tmp_path / "out")

    assert found.improved and found.chosen.label == "persona:plain-judge 2"
    assert {call.model for call in server.calls} == {"judge"}
    assert len(server.calls) == 60 * 3 + 50 * 2


def test_worked_examples_are_drawn_from_training_cases_alone(tmp_path: Path) -> None:
    write_world(tmp_path)
    with ProviderServer(teachable()) as server:
        write_file(
            tmp_path / "opt.yaml",
            server.url,
            optimise=None,
            reflection=None,
            shots={"k": [1, 2], "draws": 2},
        )
        found = run(tmp_path / "opt.yaml", tmp_path / "out")

    train = set(parts(tmp_path / "out")["train"])
    shown = {case for call in server.calls for case in heard_cases(call)[1:]}
    assert shown and shown <= train
    assert found.returned == found.first, "examples do not help this judge"
    assert found.gain is not None and not found.shown


def test_a_redacted_record_and_a_jury_that_cannot_be_heard_are_refused_before_a_case_is(tmp_path: Path) -> None:  # fmt: skip
    write_world(tmp_path)
    Store.create(tmp_path / "out", redact=True).release()
    with ProviderServer(teachable()) as server:
        path = write_file(tmp_path / "opt.yaml", server.url)
        plan = plan_optimisation(path)
        (tmp_path / "out" / "optimisation.json").write_text(json.dumps({"identity": plan.identity, "test_read": False}))  # fmt: skip
        for _ in range(2):
            with pytest.raises(VenireError, match="redacted run cannot be optimised"):
                optimise(plan, tmp_path / "out", lambda line: None)
        Store.create(tmp_path / "out").release()
        stern = plan.judge.jury.model_copy(update={"stance": "Ask."})
        unheard = replace(plan, judge=replace(plan.judge, jury=stern))
        with pytest.raises(VenireError, match="`stance` has no effect"):
            optimise(unheard, tmp_path / "other", lambda line: None)
        assert not [call for call in server.calls if heard_cases(call)] and not (tmp_path / "other").exists()


def test_what_cannot_be_optimised_is_refused_in_two_lines(tmp_path: Path) -> None:
    write_world(tmp_path)
    path = write_file(tmp_path / "opt.yaml", "http://127.0.0.1:9/v1")
    redacted = venire("optimise", path, "-o", "out", "--redact", cwd=tmp_path)
    closed = venire("optimise", path, "-o", "out", cwd=tmp_path)
    write_file(path, "http://127.0.0.1:9/v1", optimise=["persona:plain-jugde"])
    unknown = venire("optimise", path, "-o", "out", cwd=tmp_path)

    for done, words in ((redacted, "redacted"), (closed, "127.0.0.1:9"), (unknown, "persona:plain-judge")):
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert len(done.stderr.strip().splitlines()) == 2
    assert not (tmp_path / "out").exists()


def test_a_dry_run_prices_it_and_asks_nothing(tmp_path: Path) -> None:
    write_world(tmp_path)
    path = write_file(tmp_path / "opt.yaml", "http://127.0.0.1:9/v1")
    done = venire("optimise", path, "--dry-run", "--json", cwd=tmp_path)

    assert json.loads(done.stdout)["least"]["calls"] == 2 * 30 + 2 * 12 + 1 + 2 * 50


def test_once_the_test_cases_are_read_nothing_else_is_looked_for_in_that_folder(tmp_path: Path) -> None:
    write_world(tmp_path)
    with ProviderServer(teachable()) as server:
        write_file(tmp_path / "opt.yaml", server.url)
        run(tmp_path / "opt.yaml", tmp_path / "out")
        write_file(tmp_path / "opt.yaml", server.url, budget={"max_calls": 900})
        with pytest.raises(VenireError, match="test cases have been used"):
            run(tmp_path / "opt.yaml", tmp_path / "out")


def test_a_judge_that_never_answers_has_no_reward_and_nothing_is_made_up_for_it(tmp_path: Path) -> None:
    write_world(tmp_path)

    def answer(call: Call) -> Any:
        return teachable()(call) if call.model == "writer" else Refusal()

    with ProviderServer(answer) as server:
        write_file(tmp_path / "opt.yaml", server.url, budget={"max_calls": 260})
        done = venire("optimise", "opt.yaml", "-o", "out", "--json", cwd=tmp_path)

    found = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert not found["improved"] and found["test"]["first"] is None
    assert found["trials"][0]["validation"] is None
    assert found["test"]["unanswered"][0] == 50


def test_a_budget_in_dollars_needs_the_price_of_the_model_that_writes(tmp_path: Path) -> None:
    write_world(tmp_path)
    (tmp_path / "prices.yaml").write_text("server/judge: {prompt: 1, completion: 1}\n", encoding="utf-8")
    with ProviderServer(teachable()) as server:
        path = write_file(
            tmp_path / "opt.yaml", server.url, prices="prices.yaml", budget={"max_calls": 600, "max_usd": 5}
        )
        done = venire("optimise", path, "-o", "out", cwd=tmp_path)

    assert done.returncode == 2 and "server/writer" in done.stderr
    assert not [call for call in server.calls if heard_cases(call)] and not (tmp_path / "out").exists()


def test_a_state_that_is_none_is_said_to_be(tmp_path: Path) -> None:
    write_world(tmp_path)
    path = write_file(tmp_path / "opt.yaml", "http://127.0.0.1:9/v1")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "optimisation.json").write_text('{"identity"', encoding="utf-8")
    done = venire("optimise", path, "-o", "out", cwd=tmp_path)

    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 2
