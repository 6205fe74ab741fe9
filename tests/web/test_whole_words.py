"""Pages cut no score and no answer, and say what a number, a hearing or a missing text is."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from checkout import ROOT
from click.testing import CliRunner
from inspector_server import InspectorServer
from mixed_rubric import RUBRIC
from planted_run import planted_run
from written_transcripts import cast, transcript_of, written_run

from venire import Case
from venire.cli import app
from venire.orchestration.transcript import Cast, Purpose
from venire.web.pages.graph import _label_lines
from venire.web.pages.votes import _purpose

CASES = [Case(id=name, output=f"Text {name}.", source="Fever.") for name in ("one", "two")]
VOTES: dict[str, Any] = {"accurate": 4, "risk": 2, "tone": "plain", "plan": 3}


def odd_run(folder: Path, **changed: Any) -> Path:
    """Two cases and two seats; of the second case the verdict is another where it is `changed`."""
    folder.mkdir(parents=True)
    votes = {"one": {"a": VOTES, "b": VOTES}, "two": {"a": {**VOTES, **changed}, "b": {**VOTES, **changed}}}
    return written_run(folder / "run", RUBRIC, CASES, {"panel": votes})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tone": "odd"}, "tone plain and odd"),
        ({"plan": "not_applicable"}, "plan 3 and n/a"),
        ({"accurate": 2}, "accurate 4 and 2"),
    ],
)
def test_runs_side_by_side_differ_in_answers_of_every_kind(
    tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    odd_run(tmp_path / "both" / "old")
    odd_run(tmp_path / "both" / "new", **changed)
    with InspectorServer(tmp_path / "both") as server:
        listed = ""
        while "no scores have been loaded yet" in (listed or "no scores have been loaded yet"):
            listed = unescape(server.ask().text)
        sides = re.findall(r'<option value="(\d/panel)"[^>]*>(old|new)', listed)
        keys = {name: key for key, name in sides}
        page = unescape(server.ask(f"beside?a={keys['old']}&b={keys['new']}").text)

    assert "2 cases judged in both runs; 7 of 8 verdicts are the same" in page
    assert words in page and page.count("the same</td>") == 1
    headline = re.findall(r"<li>(panel: .*?)</li>", listed)
    assert len(headline) == 2 and all(line.endswith(("3.00", "4.00", "3.50")) for line in headline)


def test_categories_have_no_distance_and_stand_whole_in_the_figure(tmp_path: Path) -> None:
    votes = {"one": {"a": VOTES}, "two": {"a": VOTES}}
    others = {"one": {"a": {**VOTES, "tone": "odd", "accurate": 2}}, "two": {"a": VOTES}}
    run = written_run(tmp_path / "run", RUBRIC, CASES, {"mild": votes, "harsh": others})
    with InspectorServer(run) as server:
        beside = unescape(server.ask("compare?id=one&a=mild&b=harsh").text)
        case = server.ask("case?id=one&in_arm=mild").text

    assert ">plain and odd<" in beside and ">4 and 2, 2 apart<" in beside
    dots = re.findall(r'<text class="value[^"]*"[^>]*>(.*?)</text>', case)
    assert dots == ["4", "2", "plain", "3"]
    assert "pla<" not in case


def test_only_one_of_several_hearings_is_numbered() -> None:
    def hearing(*jurors: str, purpose: Purpose = "repeat") -> list[str]:
        entries = [cast(juror, {"accurate": 4}, purpose=purpose) for juror in jurors]
        transcript = transcript_of(entries)
        return [
            _purpose(transcript, SimpleNamespace(purpose=entry.purpose, entry=entry.id))  # type: ignore[arg-type]
            for entry in transcript.entries
            if isinstance(entry, Cast)
        ]

    assert hearing("judge") == [""]
    assert hearing("judge", "judge#2") == ["hearing 1 of 2", "hearing 2 of 2"]
    assert hearing("low", purpose="argument") == ["argues a side"]


def test_a_box_of_the_graph_has_every_score_whole() -> None:
    names = ["accurate", "thorough", "a-very-long-name-of-an-attribute", "tone", "plan"]
    scores: dict[str, object] = {f"score {name}": value for name, value in zip(names, (5, 3, 4, "plain", "not_applicable"), strict=True)}  # fmt: skip
    label = "judge, round 1: " + ", ".join(f"{name} {scores[f'score {name}']}" for name in names)

    lines = _label_lines("1/judge", {"kind": "ballot", "label": label, **scores})

    assert lines == ["judge, round 1", "accurate 5, thorough 3", "a-very-long-name-of-a… 4", "tone plain", "plan not_applicable"]  # fmt: skip
    assert all(len(line) <= 24 for line in lines)
    assert _label_lines("verdict/tone", {"kind": "verdict", "attribute": "tone", "label": "tone plain"}) == ["tone plain"]  # fmt: skip
    claims = _label_lines("claim/1", {"kind": "claim", "label": "The patient had a fever on Monday and a cough on Friday, and went home well."})  # fmt: skip
    assert len(claims) == 3 and claims[-1].endswith("…") and all(len(line) <= 24 for line in claims)


@pytest.mark.parametrize("path", ["", "cases", "case?id=visit-1", "graph?id=visit-1"])
def test_every_page_of_a_redacted_run_says_so(tmp_path: Path, path: str) -> None:
    dose = ROOT / "examples" / "wrong-dose"
    command = ["run", dose / "cases.jsonl", "--rubric", dose / "rubric.yaml", "--jury", dose / "jury.yaml", "-o", tmp_path / "run", "--redact"]  # fmt: skip
    ended = CliRunner().invoke(app, list(map(str, command)))
    assert ended.exit_code == 0, ended.output
    with InspectorServer(tmp_path / "run") as server:
        page = server.ask(path).text

    assert page.count("This run was made with --redact") == 1
    assert "Copy the case" not in page and 'class="revision"' not in page


def test_a_run_with_its_texts_has_no_such_note(tmp_path: Path) -> None:
    with InspectorServer(planted_run(tmp_path)) as server:
        page = server.ask("case?id=persuaded&in_arm=stances").text

    assert "--redact" not in page and "Copy the case" in page
    assert "commands that ask this juror again" in page
