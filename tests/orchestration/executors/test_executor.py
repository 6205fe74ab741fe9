"""Executors are looked up by entry point: venire's own, and those of other packages."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from installed_packages import on_the_path, put_package
from planted_run import RUBRIC, SCRIPTS, planted_case, scripted_jury
from rich.console import Console

from venire import VenireError
from venire.orchestration.executors.executor import GROUP, executor_factory
from venire.orchestration.run_session import RunSession, run_session
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
