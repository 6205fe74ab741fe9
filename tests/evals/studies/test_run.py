"""A study of forty arms, killed in the middle: what they share is paid for once, and the plan said how often."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from openai_server import ProviderServer
from study_files import (
    first_cases,
    report_on,
    run_quietly,
    server_models,
    steady_ballot,
    study_file,
)

from venire import Store
from venire.evals.studies.plan import Plan, plan_study
from venire.evals.studies.study_plan import plan_json
from venire.evals.studies.study_run import StudyRun

GROUPS = {
    "stances": ["high-scoring", "low-scoring", "middle-scoring"],
    "four": ["high-scoring", "low-scoring", "middle-scoring", "skeptic"],
    "pair": ["high-scoring", "low-scoring"],
    "severe": ["low-scoring", "skeptic"],
    "middle": ["middle-scoring", "skeptic"],
    "mild": ["high-scoring", "middle-scoring"],
    "odd": ["high-scoring", "middle-scoring", "skeptic"],
    "even": ["low-scoring", "middle-scoring", "skeptic"],
}


N = 12
"""How many of the demonstration's cases the forty arms hear."""


@dataclass
class Forty:
    """What was seen of the study: by its plan, by the server, in its record and in its report."""

    plan: dict[str, Any]
    sent_before: int
    """When the process was killed."""
    kept_before: int
    """Of them, answers that were committed."""
    questions: list[str]
    run: Path
    ended: StudyRun
    again: StudyRun
    """The same once more, when all was done."""
    report: dict[str, Any]


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> Forty:
    folder = tmp_path_factory.mktemp("forty")
    with ProviderServer(steady_ballot, latency=0.05) as server:
        study_file(
            folder,
            **first_cases(folder, N),
            grid={
                "personas": GROUPS,
                "models": server_models(server.url, "a", "b"),
                "count": ["mean", "median"],
            },
        )
        plan = plan_json(plan_study(folder / "study.yaml"))
        command = [
            sys.executable,
            "-m",
            "venire.cli",
            "study",
            "run",
            "study.yaml",
            "--in-flight",
            "8",
            "--quiet",
        ]
        killed = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
        while len(server.calls) < 35:
            time.sleep(0.005)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        time.sleep(0.3)  # What was on its way has arrived.
        sent, kept = len(server.calls), committed(folder / "study-run")
        ended = run_quietly(folder / "study.yaml")
        again = run_quietly(folder / "study.yaml")
        questions = [json.dumps(call.body, sort_keys=True) for call in server.calls]
    report = report_on(folder / "study.yaml", resamples=20).document
    return Forty(plan, sent, kept, questions, folder / "study-run", ended, again, report)


def committed(run: Path) -> int:
    with closing(sqlite3.connect(run / "record.sqlite")) as record:
        (number,) = record.execute("SELECT count(*) FROM calls").fetchone()
    return int(number)


def test_forty_arms_pay_for_what_they_share_once_and_the_plan_is_exact(forty: Forty) -> None:
    assert len(forty.plan["arms"]) == 40
    assert forty.plan["total"]["calls"] == forty.plan["total"]["most_calls"] == 4 * 2 * N
    assert len(set(forty.questions)) == forty.plan["total"]["calls"]
    assert committed(forty.run) == forty.plan["total"]["calls"]
    assert forty.plan["alone"] == N * (2 * 2 * (3 + 4 + 2 + 2 + 2 + 2 + 3 + 3) + 4 * 2) == 1104


def test_killed_it_goes_on_and_asks_nothing_again_that_was_committed(forty: Forty) -> None:
    assert 0 < forty.kept_before <= forty.sent_before < forty.plan["total"]["calls"]
    # What was in flight when the process died is asked again; nothing else is.
    again = len(forty.questions) - len(set(forty.questions))
    assert again == forty.sent_before - forty.kept_before
    assert forty.ended.heard + forty.ended.skipped == 40 * N
    assert forty.ended.limit is None


def test_an_arms_cost_is_what_it_would_take_alone_and_what_was_paid_stands_beside_it(forty: Forty) -> None:
    arms = {row["arm"]: row for row in forty.report["arms"]}
    parts = [arms[f"single-{name}-scoring-a"]["cost"] for name in ("high", "low", "middle")]

    assert arms["stances-a-mean"]["cost"] == pytest.approx(sum(parts))
    assert forty.report["paid"]["calls"] == 4 * 2 * N
    assert forty.report["alone"] == 1104


def test_arms_that_differ_in_their_counting_alone_differ_in_nothing_else(forty: Forty) -> None:
    arms = {row["arm"]: row for row in forty.report["arms"]}
    mean, median = arms["odd-b-mean"], arms["odd-b-median"]

    assert (mean["cost"], mean["seconds"], mean["calls"]) == (
        median["cost"],
        median["seconds"],
        median["calls"],
    )
    assert mean["score"] != median["score"]


def test_run_again_it_asks_nothing(forty: Forty) -> None:
    assert (forty.again.heard, forty.again.skipped) == (0, 40 * N)


def test_a_seat_is_one_whatever_its_jury_is_called_and_however_it_deliberates(tmp_path: Path) -> None:
    with ProviderServer(steady_ballot) as server:
        model = server_models(server.url, "a")["a"]
        who = {"one": "high-scoring", "two": "skeptic"}
        seats = [{"name": name, "persona": persona, **model} for name, persona in who.items()]
        other = [{**seat, "name": f"other-{seat['name']}"} for seat in reversed(seats)]
        shared = {"orchestrator": model, "limits": {"max_rounds": 2}}
        path = study_file(
            tmp_path,
            arms=[
                {"jury": {"name": "panel", "protocol": "panel", "seats": seats}},
                {"jury": {"name": "talk", "protocol": "delphi", "seats": other, **shared}},
                {"jury": {"name": "court", "protocol": "orchestrated", "seats": seats, **shared}},
                {"jury": {"name": "alone", "protocol": "single", "seats": other[:1]}},
            ],
        )
        plan = plan_study(path)
        assert isinstance(plan, Plan)
        run_quietly(path, tmp_path / "run")
        sent = len(server.calls)
    store = Store.read(tmp_path / "run")
    first = [
        call
        for arm in store.arms()
        for transcript in store.transcripts(arm)
        for entry in transcript.ballots
        if entry.step == 1
        for call in entry.spent.calls
    ]
    store.release()

    assert len(first) == 24 * (2 + 2 + 2 + 1)
    assert len(set(first)) == plan.total.least.calls == 24 * 2
    assert sent == committed(tmp_path / "run")
    assert plan.total.least.calls < sent <= plan.total.most.calls


def test_the_budget_is_of_the_whole_study(tmp_path: Path) -> None:
    with ProviderServer(steady_ballot) as server:
        grid = {"personas": {"pair": ["high-scoring", "skeptic"]}, "models": server_models(server.url, "a")}
        sessions = []
        for most in (48, 48, 60):
            path = study_file(tmp_path, grid={**grid, "protocol": "delphi"}, budget={"max_calls": most})
            ended = run_quietly(path, tmp_path / "run", in_flight=1)
            sessions.append((ended.limit, len(server.calls)))

    assert sessions == [("max_calls", 48), ("max_calls", 48), ("max_calls", 60)]


def test_what_further_tasks_cost_is_taken_off_the_same_budget(tmp_path: Path) -> None:
    few = first_cases(tmp_path, 4)
    task = {"rubric": "clinical-note", **few}
    with ProviderServer(steady_ballot) as server:
        grid = {"personas": {"pair": ["high-scoring", "skeptic"]}, "models": server_models(server.url, "a")}
        path = study_file(tmp_path, **few, grid={**grid, "protocol": "delphi"}, tasks={"second": task, "third": task}, split={"test": 0}, budget={"max_calls": 24})  # fmt: skip
        sessions = [(run_quietly(path, in_flight=1).limit, len(server.calls)) for _ in range(2)]
    # First rounds alone are two calls a case, of the study and of each task.
    assert sessions == [("max_calls", 24)] * 2


@pytest.mark.parametrize("way", ["orchestrated", "debate"])
def test_a_repeated_deliberation_is_paid_for_once_each_time_and_is_one_arm(tmp_path: Path, way: str) -> None:
    few = first_cases(tmp_path, 8)
    paid = {}
    for times in (1, 3):
        folder = tmp_path / str(times)
        folder.mkdir()
        with ProviderServer(steady_ballot) as server:
            model = {"model": "server/a", "base_url": server.url}
            seats = [{"name": name, "persona": f"{name}-scoring", **model} for name in ("high", "low")]
            jury = {"name": "jury", "protocol": way, "seats": seats, "orchestrator": model}
            single = {"name": "one", "protocol": "single", "seats": [{"name": "judge", **model}]}
            file = study_file(
                folder,
                **few,
                arms=[{"jury": jury, "repeats": times}, {"jury": single}],
                split={"test": 0},
            )
            run_quietly(file)
            paid[times] = len(server.calls)
            run_quietly(file)
            assert len(server.calls) == paid[times], "what was heard is not asked again"
    # The single judge's eight calls are made once, whatever is repeated.
    assert paid[3] - 8 == 3 * (paid[1] - 8) > 0
    report = report_on(file, resamples=20).document
    assert [row["arm"] for row in report["arms"]].count("jury") == 1
    (row,) = [row for row in report["sections"]["repeats"]["tables"]["variances"] if row["of"] == "verdict"][
        :1
    ]
    assert (row["arm"], row["repeats"], row["cases"]) == ("jury", 3, 8)
