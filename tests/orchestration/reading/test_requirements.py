"""A run in a build: which verdicts must hold, what the build server is shown, and how the command ends."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from command_line import venire
from openai_server import ProviderServer, jury_of
from run_files import write_run


def run(
    tmp_path: Path, *more: object, answers: dict[str, object] | None = None
) -> tuple[int, str, ElementTree.Element]:
    with ProviderServer(jury_of(answers or {"a": 3, "b": 3, "c": 2})) as server:
        command = write_run(tmp_path, server.url, protocol="panel", count="median")
        ended = venire(*command, "--quiet", "--junit", "junit.xml", *more, cwd=tmp_path)
    return ended.returncode, ended.stderr, ElementTree.parse(tmp_path / "junit.xml").getroot()


def test_a_build_passes_where_every_verdict_meets_what_is_required(tmp_path: Path) -> None:
    code, _, report = run(tmp_path, "--require", "accurate>=3")

    assert code == 0
    suite = report[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "0", "0")
    first = suite[0]
    assert (first.get("classname"), first.get("name")) == ("bench", "case-0")
    assert {p.get("name"): p.get("value") for p in first[0]}["accurate"] == "3"


def test_a_build_fails_with_status_1_and_names_the_requirement(tmp_path: Path) -> None:
    code, said, report = run(tmp_path, "--require", "accurate > 3")

    assert code == 1
    assert "4 of 4 deliberations do not meet the requirements" in said
    failure = report[0][0].find("failure")
    assert failure is not None
    assert failure.get("message") == "accurate>3: it is 3"


def test_a_hung_case_misses_a_requirement_and_is_never_a_pass(tmp_path: Path) -> None:
    broken = dict.fromkeys("abc", "garbage")

    code, _, report = run(tmp_path, answers=broken)
    assert code == 0
    assert report[0].get("skipped") == "4"
    assert "no juror voted" in str(report[0][0].find("skipped").get("message"))  # type: ignore[union-attr]

    code, _, report = run(tmp_path, "--require", "accurate>=1", answers=broken)
    assert code == 1
    assert "hung" in str(report[0][0].find("failure").get("message"))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("written", "remedy"),
    [("acurate>=3", "accurate"), ("accurate", "NAME>=NUMBER"), ("accurate>=good", "number")],
)
def test_a_requirement_that_cannot_be_checked_is_refused_before_anything_runs(
    tmp_path: Path, written: str, remedy: str
) -> None:
    ended = venire(*write_run(tmp_path, "http://127.0.0.1:9"), "--require", written, cwd=tmp_path)

    assert ended.returncode == 2
    assert remedy in ended.stderr
    assert not (tmp_path / "out").exists()
