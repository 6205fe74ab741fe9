"""Which model judges is the user's to say: without one nothing is judged, by any road; the embedded one only when it is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from command_line import venire

from venire import Case, deliberate_sync
from venire.cli import app
from venire.commands import options
from venire.evals.plugins.sitting import Sitting
from venire.evals.studies.plan import plan_study
from venire.evals.suites.suite import load_suite
from venire.personas import load_jury
from venire.rubrics.errors import ModelNotNamed, VenireError

CASE = '{"id": "a", "output": "Fever."}\n'
STUDY = "name: s\ncases: cases.jsonl\nrubric: clinical-note\nratings: ratings.csv\narms: [{jury: stances}, {jury: single}]\n"
PRESSURE = (
    "cases: cases.jsonl\nrubric: clinical-note\njury: stances\ntruth: ratings.csv\nattribute: accurate\n"
)
OPTIMISE = "cases: cases.jsonl\nratings: ratings.csv\nrubric: clinical-note\njury: single\ncandidates: {'rubric:accurate.question': [Is it right?]}\nsplit: {val: 1, test: 1}\nreward: credit\nbudget: {max_calls: 99}\n"
SCENARIO = "task: medical-research/conducting-literature-research\ncases: cases.jsonl\nprompt: ask.md\nanswer: {kind: text, max_tokens: 9}\nscore: {jury: stances, rubric: clinical-note}\n"
RATINGS = "case,rater,accurate\na,Ana,4\na,Ben,5\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.jsonl").write_text(CASE)
    (tmp_path / "study.yaml").write_text(STUDY + "attributes: [accurate]\n")
    (tmp_path / "ratings.csv").write_text(RATINGS)
    (tmp_path / "pressure.yaml").write_text(PRESSURE)
    (tmp_path / "optimise.yaml").write_text(OPTIMISE)
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    (tmp_path / "ask.md").write_text("{output}")
    (tmp_path / "suite.yaml").write_text(
        "scenarios: [scenario.yaml]\nsystems: [{name: recorded, outputs: cases.jsonl, scenario: scenario, columns: {case: id}}]\n"
    )
    return tmp_path


def run(*arguments: str, **settings: Any) -> Result:
    return CliRunner().invoke(app, arguments, **settings)


ASKS = ("--rubric", "clinical-note", "--jury", "stances", "-o", "out")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "cases.jsonl", *ASKS),
        ("run", "cases.jsonl", *ASKS, "--executor", "ray"),
        (
            "run",
            "cases.jsonl",
            "--rubric",
            "clinical-note",
            "--jury",
            "lens-jury",
            "--jury",
            "single",
            "-o",
            "out",
        ),
        ("study", "study.yaml", "-o", "out"),
        ("study", "run", "study.yaml", "-o", "out"),
        ("serve", *ASKS, "--port", "0"),
        ("mcp", *ASKS),
        ("pressure", "pressure.yaml", "-o", "out"),
        ("optimise", "optimise.yaml", "-o", "out"),
        ("optimise", "optimise.yaml", "--dry-run"),
        ("suite", "plan", "suite.yaml"),
        ("suite", "run", "suite.yaml", "-o", "out"),
        ("suite", "gold", "suite.yaml", "--jury", "single", "-o", "out"),
    ],
)
def test_without_a_model_a_command_judges_nothing_and_names_three_ways(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    before = sorted(folder.iterdir())
    ended = venire(*arguments, cwd=folder)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "no model is named for" in ended.stderr
    assert all(way in ended.stderr for way in ("--model NAME", "model: NAME at the seat", "--model local"))
    assert sorted(folder.iterdir()) == before


def test_a_replay_or_pressure_whose_model_cannot_be_asked_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run("run", "cases.jsonl", "--rubric", "clinical-note", "--jury", "lens-jury", "-o", "heard")
    before = sorted(folder.iterdir())
    model = "openai/gpt-4o-mini"
    changed = venire("replay", "heard", "--seat", f"tone=model:{model}", "-o", "out", cwd=folder)
    pressed = venire("pressure", "pressure.yaml", "--model", model, "-o", "out", cwd=folder)

    assert (changed.returncode, pressed.returncode) == (2, 2)
    assert "OPENAI_API_KEY is not set" in changed.stderr and "1 call is new if" in changed.stderr
    assert sorted(folder.iterdir()) == before


def test_in_python_and_in_pytest_likewise(folder: Path) -> None:
    with pytest.raises(ModelNotNamed, match="the seat 'judge' of the jury 'single'"):
        deliberate_sync(Case(id="a", output="Fever."), "clinical-note", "single")
    with pytest.raises(ModelNotNamed, match="high, low, middle, orchestrator"):
        Sitting("clinical-note", "stances", record=folder / "out")
    (folder / "test_it.py").write_text('def test_it(jury):\n    jury("Fever.")\n')
    names = ["--venire-rubric", "clinical-note", "--venire-jury", "stances"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_it.py", *names],
        capture_output=True, text=True, cwd=folder, timeout=120,
    )  # fmt: skip

    assert ended.returncode == 2, ended.stdout
    assert "no model is named for the seats high, low, middle, orchestrator" in ended.stdout
    assert not (folder / "out").exists()


def test_a_jury_that_names_its_models_is_heard_and_they_are_said_before_it_starts(folder: Path) -> None:
    ended = run("run", "cases.jsonl", "--rubric", "clinical-note", "--jury", "lens-single", "-o", "out")

    assert ended.exit_code == 0, ended.stderr
    assert "models asked: lens/single\n" in ended.stderr


@pytest.mark.parametrize(("typed", "model"), [(True, "local"), (False, None)])
def test_at_a_terminal_the_embedded_model_is_offered(
    folder: Path, monkeypatch: pytest.MonkeyPatch, typed: bool, model: str | None
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.confirm", lambda *_, **__: typed)

    filled = options.filled_juries([load_jury("lens-single"), load_jury("single")])
    assert [jury.seats[0].model for jury in filled] == [load_jury("lens-single").seats[0].model, model]
    assert options.embedded_wanted(load_suite("suite.yaml").juries) is typed


@pytest.mark.parametrize("typed", [True, False])
def test_at_a_terminal_a_study_asks_once_for_all_its_arms(
    folder: Path, monkeypatch: pytest.MonkeyPatch, typed: bool
) -> None:
    questions: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.confirm", lambda question, **_: questions.append(question) or typed)
    ids = "abcd"
    (folder / "cases.jsonl").write_text("".join(CASE.replace('"a"', f'"{name}"') for name in ids))
    (folder / "ratings.csv").write_text(RATINGS + "".join(f"{name},Ana,4\n" for name in ids[1:]))
    asked: list[Any] = []

    def ask_models(juries: Any, *_: Any) -> None:
        asked.extend(seat.model for jury in juries for seat in jury.seats)

    if typed:
        plan_study(folder / "study.yaml", fill_juries=options.filled_juries, ask_models=ask_models)
    else:
        with pytest.raises(VenireError, match="no model is named"):
            plan_study(folder / "study.yaml", fill_juries=options.filled_juries, ask_models=ask_models)

    assert len(questions) == 1 and set(asked) == {"local" if typed else None}


def test_an_attribute_that_was_not_asked_names_the_near_one() -> None:
    verdict = deliberate_sync(Case(id="a", output="Fever."), "clinical-note", "lens-single")

    with pytest.raises(KeyError, match="did you mean 'accurate'"):
        verdict["accuracy"]
