"""A run in a build: which verdicts must hold, what the build server is shown, and how the command ends."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from openai_server import ProviderServer, jury_of
from run_files import write_run
from written_transcripts import cast, transcript_of, written_run

from venire import Rubric, VenireError, Verdict
from venire.agents.cost import Receipt
from venire.orchestration.reading import requirements
from venire.orchestration.reading.requirements import Requirement, missed_bounds, write_junit
from venire.orchestration.transcript import Stop
from venire.orchestration.verdict import Outcome


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


def verdict(stop: str = "complete", seconds: float = 0.0, **found: Any) -> Verdict:
    """A verdict in which each attribute has this value, or ended in this way."""
    outcomes = {
        name: Outcome(status=value if isinstance(value, str) else "reached", value=None if isinstance(value, str) else value, method="median",
                      votes=1, support=None, spread=None, why="no votes" if value == "hung" else "")
        for name, value in found.items() if name != "whole"
    }  # fmt: skip
    heard = transcript_of([cast("a", {"accurate": 1}, spent=Receipt(calls=("k",), seconds=seconds))])
    derived = {"whole": found["whole"]} if "whole" in found else {}
    return Verdict(
        case="c", arm="j", outcomes=outcomes, derived=derived, stop=Stop(reason=stop), transcript=heard
    )  # type: ignore[arg-type]


@pytest.fixture
def scored(rubric: Rubric) -> Rubric:
    halves = dict.fromkeys(rubric.names, 0.5)
    return rubric.model_copy(update={"composites": {"whole": halves}})


@pytest.mark.parametrize(
    ("written", "met", "missed"),
    [
        ("accurate>=3", (3, 4), (2.5, 0)), ("accurate > 3", (3.5,), (3, 0)), ("accurate<=3", (3, 0), (3.5,)), ("accurate<3", (2, 0), (3,)),
        ("accurate==0", (0, 0.0), (1,)), ("accurate<0.5", (0,), (1,)),
    ],
)  # fmt: skip
def test_a_score_meets_what_is_required_from_its_bound_on_or_beyond_it(
    scored: Rubric, written: str, met: tuple[float, ...], missed: tuple[float, ...]
) -> None:
    required = Requirement.parse(written, scored)
    plain = written.replace(" ", "")

    assert [required.miss(verdict(accurate=value, thorough=9)) for value in met] == [None] * len(met)
    assert [required.miss(verdict(accurate=value, thorough=9)) for value in missed] == [f"{plain}: it is {value:g}" for value in missed]  # fmt: skip
    assert required.miss(verdict(accurate="not_applicable")) is None
    assert required.miss(verdict(accurate="hung")) == f"{plain}: hung, no votes"


def test_what_follows_from_scores_is_held_against_its_bound_too_and_words_are_compared_as_words(
    scored: Rubric,
) -> None:
    whole = Requirement.parse("whole>=2", scored)
    assert whole.miss(verdict(accurate=1, whole=2.0)) is None and whole.miss(verdict(accurate=5, whole=0.0))
    assert "there is no score" in str(whole.miss(verdict(accurate=5)))
    words = {"level": "nominal", "anchors": {"red": "r", "green": "g"}}
    coloured = Rubric.model_validate({"name": "c", "version": 1, "scales": {"hue": words}, "attributes": [{"name": "hue", "question": "Which?", "scale": "hue"}]})  # fmt: skip
    red = Requirement.parse("hue==red", coloured)
    told = Verdict(case="c", arm="j", outcomes={}, derived={}, stop=Stop(reason="complete"), transcript=transcript_of())  # fmt: skip
    hue = {name: Outcome(status="reached", value=name, method="mode", votes=1, support=None, spread=None) for name in ("red", "green")}  # fmt: skip
    assert [red.miss(told.model_copy(update={"outcomes": {"hue": hue[name]}})) for name in ("red", "green")] == [None, "hue==red: it is green"]  # fmt: skip
    with pytest.raises(VenireError, match="is not a number"):
        Requirement.parse("hue>=red", coloured)


def test_named_scores_are_held_against_their_bounds_and_what_is_undefined_reaches_none() -> None:
    scores = {"a": 0.5, "b": 0.0, "n": math.nan}

    assert missed_bounds(["a>=0.5", "b>=0", "b<=0", "a<0.6"], scores) == []
    assert missed_bounds(["a>0.5", "b>=0.1", "a>=0.4", "n>=0", "n<1"], scores) == ["a>0.5: it is 0.5", "b>=0.1: it is 0", "n>=0: it is nan", "n<1: it is nan"]  # fmt: skip
    for written, words in (("a==0.5", "not a requirement"), ("a>=x", "not a requirement"), ("z>=1", "nothing named 'z'")):  # fmt: skip
        with pytest.raises(VenireError, match=words):
            missed_bounds([written], scores)


def test_a_report_counts_every_deliberation_once_as_met_missed_or_silent(
    tmp_path: Path, scored: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_run(tmp_path / "run", scored, [], {})
    found = [
        verdict(accurate=4, thorough="hung", seconds=1.5),  # met, as nothing is required of the other
        verdict(accurate=2, thorough="hung", seconds=0.25, whole=3.0),
        verdict(accurate="not_applicable", thorough="hung"),  # nothing reached, nothing missed
        verdict(accurate="hung", thorough="hung"),
    ]
    monkeypatch.setattr(requirements, "verdicts", lambda store, written: ((None, each) for each in found))
    required = [Requirement.parse("accurate>=3", scored), Requirement.parse("accurate<9", scored)]

    assert write_junit(tmp_path / "run", required, tmp_path / "junit.xml") == (2, 4)
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    assert [suite.get(name) for name in ("tests", "failures", "skipped", "time")] == ["4", "2", "1", "1.750"]
    assert [[part.tag for part in case][1:] for case in suite] == [[], ["failure"], ["skipped"], ["failure"]]
    assert [case.get("time") for case in suite] == ["1.500", "0.250", "0.000", "0.000"]
    assert suite[3][1].get("message") == "accurate>=3: hung, no votes; accurate<9: hung, no votes"
    assert suite[2][1].get("message") == "accurate: not_applicable; thorough: no votes"
    kept = {each.get("name"): each.get("value") for each in suite[1][0]}
    assert kept == {"accurate": "2", "thorough": "hung", "whole": "3", "stop": "complete"}
    assert write_junit(tmp_path / "run", [], None) == (0, 4)
