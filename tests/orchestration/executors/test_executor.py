"""Executors are looked up by entry point: venire's own, and those of other packages."""

from __future__ import annotations

import asyncio
import io
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from installed_packages import on_the_path, put_package
from planted_run import RUBRIC, SCRIPTS, planted_case, scripted_jury
from rich.console import Console

from venire import VenireError
from venire.orchestration.executors import ray as on_ray
from venire.orchestration.executors.executor import GROUP, executor_factory
from venire.orchestration.executors.worker import WorkerConfig
from venire.orchestration.run_session import RunSession, run_session
from venire.orchestration.worked_examples import ScoredCases
from venire.rubrics.plugins import registered_plugins

COUNTING = """
from venire.orchestration.executors import LocalExecutor

heard = []


class CountingExecutor(LocalExecutor):
    async def hear(self, case, jury):
        heard.append(case.id)
        return await super().hear(case, jury)


async def start(job):
    return CountingExecutor(job.rubric, job.court)
"""


def test_a_run_is_heard_by_the_executor_of_another_package(tmp_path: Path) -> None:
    put_package(
        tmp_path,
        "counting_executor",
        {GROUP: {"counting": "counting_executor:start"}},
        counting_executor=COUNTING,
    )
    jury = scripted_jury(tmp_path, "calm", SCRIPTS["calm"])
    session = RunSession([planted_case("calm")], RUBRIC, [jury], tmp_path / "run", executor="counting")
    with on_the_path(tmp_path, "counting_executor"):
        ended = run_session(session, Console(file=io.StringIO()), quiet=True)
        import counting_executor  # type: ignore[import-not-found]

        assert counting_executor.heard == ["calm"]

    assert ended.heard == 1


def test_an_unknown_executor_is_told_with_the_nearest_one_before_anything_is_written(tmp_path: Path) -> None:
    assert set(registered_plugins(GROUP)) >= {"local", "ray"}
    session = RunSession([], RUBRIC, [], tmp_path / "run", executor="rya")
    with pytest.raises(VenireError, match="no executor named 'rya'") as error:
        run_session(session, Console(file=io.StringIO()), quiet=True)

    assert error.value.remedy.startswith("did you mean 'ray'?")
    assert not (tmp_path / "run").exists()
    assert executor_factory("local")


@pytest.mark.parametrize(("ready", "ends_after"), [(True, None), (False, on_ray.STARTS)])
def test_only_a_worker_that_is_lost_before_it_is_ready_many_times_in_a_row_ends_a_run(
    monkeypatch: pytest.MonkeyPatch, ready: bool, ends_after: int | None
) -> None:
    """A worker that was ready and is lost after some cases is replaced as often as that happens."""
    begun, pauses = list[bool](), list[float]()

    class Lost:
        host = "n1"

        def __init__(self, *_: object, **__: object) -> None:
            self.cases = 0

        async def begin(self, config: WorkerConfig, number: int) -> None:
            begun.append(config.asks_models)
            if not ready:
                raise on_ray.WorkerLost(None)

        async def serve(self) -> None:
            if len(begun) == 3 * on_ray.STARTS:
                raise asyncio.CancelledError
            raise on_ray.WorkerLost(None)

        def end(self) -> None:
            pass

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def supervise() -> None:
        court: Any = SimpleNamespace(calls=None, budget=None, listener=None, providers=None)
        config = WorkerConfig(RUBRIC, (), ScoredCases(), 0, {}, 1, ".", listening=False)
        executor = on_ray.RayExecutor(None, court, config, at_once=1, say=lambda _: None, close=ExitStack())
        await executor._supervise(0)

    monkeypatch.setattr(on_ray, "RemoteWorker", Lost)
    monkeypatch.setattr(on_ray.asyncio, "sleep", pause)
    with pytest.raises(VenireError if ends_after else asyncio.CancelledError):
        asyncio.run(supervise())
    # Whoever comes after one that was ready need not look for the models again.
    assert begun == ([True] * ends_after if ends_after else [True, *[False] * (3 * on_ray.STARTS - 1)])
    assert pauses == (list(range(1, ends_after)) if ends_after else [0] * (3 * on_ray.STARTS - 1))
