"""Every option of a command reaches what the command calls, under its own name; and what a command makes of how that ended."""

from __future__ import annotations

import importlib
import inspect
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from pandas import DataFrame

from venire.agents.budget import BudgetSpent
from venire.agents.cost import Price
from venire.agents.desk import FILE as DESK_FILE
from venire.agents.desk import SeatedPerson
from venire.cli import app
from venire.commands.certifying import _pair
from venire.commands.claiming import _costs
from venire.commands.improving import _shares
from venire.commands.options import (
    batch_settings,
    exit_unless_met,
    exit_unless_whole,
    filled_juries,
    location,
    print_json,
    say,
    say_sealed,
    say_who_waits,
    sheet_option,
)
from venire.commands.replaying import _report
from venire.evals.audits import Severity
from venire.evals.claims.threshold import Costs
from venire.evals.statistics.draws import Draws
from venire.evals.statistics.estimate import Estimate
from venire.orchestration.executors import Cluster
from venire.orchestration.reading.status import UnreachedModel
from venire.orchestration.replay.change import Change, SeatChange
from venire.orchestration.runner import RunResult
from venire.personas.jury import load_jury
from venire.rubrics.errors import VenireError


class Reached(Exception):
    """A stub was called: what it would have been told, by the names of its parameters."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__("reached")
        self.told = told


LOADERS: dict[str, Callable[..., Any]] = {
    "venire.evals.load_ratings": lambda path: f"ratings {path}",
    "venire.evals.ratings.people.load_ratings": lambda path: f"ratings {path}",
    "venire.evals.inference.labelling.load_draw": lambda path: f"draw {path}",
    "venire.evals.ratings.people.usable_ratings": lambda ratings, _: (ratings, ()),
    "venire.evals.suites.suite.load_suite": lambda suite, data: f"suite {suite} {data}",
    "venire.evals.suites.score_table.load_scores": lambda scores, columns: f"scores {scores} {columns}",
    "venire.evals.ratings.preferences.load_preferences": lambda path: (f"preferences {path}", 0),
    "venire.evals.audits.self_preference.load_families": lambda path: f"families {path}",
    "venire.personas.options.load_acceptance": lambda path: f"rule {path}",
    "venire.rubrics.case.load_cases": lambda path: [f"case {path}"],
    "venire.evals.causes.pressure.load_pressure_file": lambda path: f"study {path}",
    "venire.evals.training.settings.load_train_file": lambda path: f"train {path}",
    "venire.orchestration.reading.side_by_side.controlled_run": lambda run: None,
    "venire.orchestration.reading.side_by_side.controls_beside": lambda run: None,
    "venire.rubrics.ratings.read_ratings": lambda path: [f"ratings {path}"],
    "venire.evals.transcripts.alignment.read_alignment": lambda path: f"talk {path}",
    "venire.orchestration.record.Store.read": lambda run: SimpleNamespace(release=lambda: None),
    "venire.evals.claims.threshold.labelled_cases": lambda store, ratings, score, arm, attribute: (
        SimpleNamespace(
            scores=f"{score} {arm} {attribute}", truth=ratings, cluster="groups", fixed=0.5, notes=()
        )
    ),
    "venire.evals.suites.helm_runs.load_helm": lambda folder, metrics: SimpleNamespace(runs=()),
    "venire.evals.suites.helm_runs.write_helm": lambda imported, folder: {"scores": "s", "columns": "c"},
    "venire.evals.studies.plan.plan_study": lambda study, **asked: f"plan {study}",
}
"""What reads files, each by a stub that says which."""
PACE = "--in-flight 3 --rpm 4 --tpm 5 --retry --quiet"
PACED = {"in_flight": 3, "rpm": 4, "tpm": 5, "retry": True, "quiet": True}
SERVED = "--host h --port 1 --allow-host x --allow-host y --tls-cert c --tls-key k --max-connections 8"

CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("triage run --human h.csv --arm a --harmful 0.3 --margin 0.4 --reference mean", "venire.evals.audits.triage_review.run_triage",
     {"run": Path("run"), "human": "ratings h.csv", "arm": "a", "severity": Severity(0.3, 0.4), "reference": "mean"}),
    ("estimate run --human h.csv --draw d.csv --arm a --attribute x --quantile 0.5 --quantile 0.9 --slope l --systems p,q --against b --reference median",
     "venire.evals.inference.estimates.run_estimates",
     {"run": Path("run"), "human": "ratings h.csv", "draw": "draw d.csv", "arm": "a", "attribute": "x", "quantiles": (0.5, 0.9), "slopes": ("l",),
      "systems": ("p", "q"), "against": "b", "reference": "median"}),
    ("certify run --human h.csv --draw d.csv --risk 0.2 --delta 0.01 --within 1.5 --arm a --attribute x --reference mean --seed 6",
     "venire.evals.inference.run_certificate.run_certificate",
     {"run": Path("run"), "human": "ratings h.csv", "draw": "draw d.csv", "risk": 0.2, "delta": 0.01, "within": 1.5, "arm": "a", "attribute": "x",
      "reference": "mean", "seed": 6}),
    ("certify run --apply r.json --arm a --seed 6", "venire.evals.inference.run_certificate.apply_rule",
     {"run": Path("run"), "rule": "rule r.json", "arm": "a", "seed": 6}),
    ("calibrate run --human h.csv --arm a --method linear --direct --folds 7 --reference mean --seed 6 --resamples 9", "venire.evals.calibration.calibrate",
     {"run": Path("run"), "human": Path("h.csv"), "arm": "a", "method": "linear", "direct": True, "folds": 7, "reference": "mean", "seed": 6, "resamples": 9}),
    ("compare run --human h.csv --reference mean --seed 6 --resamples 9 --harmful 0.3 --margin 0.4 --families f --rescore p --rescore q --metric wer --method f --quiet",
     "venire.evals.compare",
     {"run": Path("run"), "human": Path("h.csv"), "reference": "mean", "seed": 6, "resamples": 9, "severity": Severity(0.3, 0.4), "families": "families f",
      "rescore": ("p", "q"), "metrics": ["wer"], "method": "f"}),
    ("compare run --against old", "venire.evals.inference.shift.run_shift", {"now": Path("run"), "before": Path("old")}),
    ("agreement h.csv --reference mean --method f", "venire.evals.agreement.rater_agreement.agreement",
     {"ratings": "ratings h.csv", "reference": "mean", "method": "f", "questions": None}),
    ("winrate p.csv --ties drop", "venire.evals.audits.win_rates.win_rates", {"preferences": "preferences p.csv", "ties": "drop"}),
    ("winrate postgresql://h/d --ties separate", "venire.evals.audits.pair_bias.compared_systems", {"run": "postgresql://h/d", "ties": "separate"}),
    ("dstudy run --arm a --attribute x", "venire.evals.inference.dstudy.run_dstudy", {"run": Path("run"), "arm": "a", "attribute": "x"}),
    ("facets run --arm a --human h.csv --stage first --model partial-credit", "venire.evals.inference.facets.run_facets",
     {"run": Path("run"), "arm": "a", "human": "ratings h.csv", "stage": "first", "model": "partial-credit"}),
    ("suite table s.csv --columns c --ties wins --seed 6 --resamples 9", "venire.evals.suites.board.board",
     {"table": "scores s.csv c", "ties": "wins", "draws": Draws(6, 9)}),
    (f"suite run s.yaml -o out --data d --model m --base-url u --executor ray --workers 2 --ray-address r {PACE}", "venire.evals.suites.suite_run.run_suite",
     {"suite": "suite s.yaml d", "session": {**PACED, "folder": Path("out"), "model": "m", "base_url": "u", "executor": "ray", "cluster": Cluster("r", 2)}}),
    ("suite plan s.yaml -o out --data d --model m --base-url u", "venire.evals.suites.suite_plan.plan_suite",
     {"suite": "suite s.yaml d", "session": {"folder": Path("out"), "model": "m", "base_url": "u"}}),
    ("suite report s.yaml -o out --ties strict --seed 6 --resamples 9", "venire.evals.suites.suite_results.suite_results",
     {"suite": "suite s.yaml None", "folder": Path("out"), "ties": "strict", "draws": Draws(6, 9)}),
    ("suite import-helm d --metric m --metric n", "venire.evals.suites.helm_runs.load_helm", {"folder": Path("d"), "metrics": ("m", "n")}),
    ("suite import-helm d --ties wins --seed 6 --resamples 9", "venire.evals.suites.board.board", {"table": "scores s c", "ties": "wins", "draws": Draws(6, 9)}),
    ("suite gold s.yaml -o out --data d --jury single --seed 6 --resamples 9", "venire.evals.suites.suite_results.suite_results",
     {"suite": "suite s.yaml d", "folder": Path("out"), "draws": Draws(6, 9)}),
    ("threshold run --human h.csv --score s --attribute x --arm a --maximise f1 --fixed 0.7 --folds 7 --seed 6 --resamples 9",
     "venire.evals.claims.threshold.threshold_report",
     {"scores": "s a x", "truth": "ratings h.csv", "cluster": "groups", "score": "s", "aim": "f1", "costs": None, "fixed": 0.7, "number": 7, "draws": Draws(6, 9)}),
    ("threshold run --human h.csv --score s --costs 1,5", "venire.evals.claims.threshold.threshold_report",
     {"costs": Costs(1, 5), "fixed": 0.5, "number": 10, "draws": Draws()}),
    (f"study run 004.yaml -o out {PACE}", "venire.evals.studies.study_run.run_plan", {"session": {**PACED, "folder": Path("out"), "batch": None}}),
    (f"study 004.yaml -o out {PACE}", "venire.evals.studies.study_run.run_plan", {"session": {**PACED, "folder": Path("out")}}),
    ("plant c.jsonl -o out --faults 'number, order' --seed 6 --split train=0.8,test=0.2", "venire.evals.training.planting.planted_cases",
     {"cases": ["case c.jsonl"], "kinds": ("number", "order"), "seed": 6, "shares": {"train": 0.8, "test": 0.2}}),
    ("train t.yaml -o out", "venire.evals.training.training_run.train_judge", {"file": "train t.yaml", "folder": Path("out")}),
    ("pressure s.yaml -o out --model m --base-url u --quiet", "venire.evals.causes.pressure.run_pressure",
     {"study": "study s.yaml", "output": Path("out"), "model": "m", "base_url": "u", "quiet": True}),
    ("merge a b c -o out", "venire.orchestration.record.merging.merge_runs", {"runs": (Path("a"), Path("b"), Path("c")), "output": Path("out")}),
    ("export run --to csv -o f --count mean --case c --arm a --no-prompts", "venire.orchestration.reading.terminal.export_run",
     {"folder": Path("run"), "to": "csv", "output": Path("f"), "count": "mean", "case": "c", "arm": "a", "prompts": False}),
    ("export run --to site -o d --no-prompts", "venire.web.standalone.write_site", {"run": Path("run"), "folder": Path("d"), "prompts": False}),
    ("show run c --arm a --human h.csv", "venire.orchestration.reading.terminal.show_case",
     {"folder": Path("run"), "case": "c", "arm": "a", "people": ["ratings h.csv"], "reword": None}),
    ("inspect run --port 1 --no-open --human h.csv --alignment t --controls k", "venire.web.server.inspect",
     {"run": Path("run"), "port": 1, "opened": False, "ratings": ["ratings h.csv"], "talks": ["talk t"], "controls": Path("k")}),
    ("demo --quick --no-live -o d --gguf g", "venire.commands.demonstration.demonstrate", {"quick": True, "live": False, "folder": Path("d"), "gguf": Path("g")}),
    (f"serve --rubric clinical-note --jury single -o out --model m --token-env T --max-body 9 --in-flight 3 --at-once 4 --most-waiting 5 --max-usd 1.5 --max-tokens 7 --prices p --redact {SERVED}",
     "venire.evals.service.server.serve",
     {"record": Path("out"), "config": {"host": "h", "port": 1, "allow_host": ("x", "y"), "tls_cert": Path("c"), "tls_key": Path("k"), "max_connections": 8,
      "token_env": "T", "max_body": 9, "in_flight": 3, "at_once": 4, "most_waiting": 5, "max_usd": 1.5, "max_tokens": 7, "prices": Path("p"), "redact": True}}),
    (f"mcp --http --rubric clinical-note --jury single -o out --in-flight 3 {SERVED}", "venire.evals.service.mcp.serve_mcp",
     {"http": True, "record": Path("out"), "config": {"in_flight": 3, "redact": False}}),
    ("rate c.jsonl --rubric r -o out --only l.csv --not-blind", "venire.evals.rating.ratings_desk.rated_cases",
     {"cases": Path("c.jsonl"), "rubric": "r", "only": Path("l.csv"), "blind": False}),
    ("replay run c d -o out --without s --leaving t --seat u=model:server/m --limits max_rounds=1,max_turns=none --orchestrator o --advocates p q --from-round 2 "
     f"--base-url b --arm a --max-usd 1.5 --max-tokens 7 --max-seconds 9 {PACE}", "venire.orchestration.replay.replay.plan_replay",
     {"session": {"run": Path("run"), "folder": Path("out"), "cases": ("c", "d"), "arm": "a", "base_url": "b", "max_usd": 1.5, "max_tokens": 7, "max_seconds": 9,
      "in_flight": 3, "rpm": 4, "tpm": 5, "retry": True, "each_seat": False,
      "changes": (Change(("s",), ("t",), (SeatChange("u", "model", "server/m"),), {"max_rounds": 1, "max_turns": None}, "o", "b", ("p", "q"), 2),)}}),
    ("replay run -o out --each-seat", "venire.orchestration.replay.replay.plan_replay", {"session": {"each_seat": True, "changes": (Change(),)}}),
    ("replay run -o out --controls --draws 7 --who", "venire.orchestration.replay.controls.plan_controls", {"draws": 7, "who": True}),
    (f"run c.jsonl --rubric clinical-note --jury single -o out --protocol panel --max-usd 1.5 --max-tokens 7 --max-seconds 9 --trace t --seed 6 --redact {PACE}",
     "venire.orchestration.run_session.run_session",
     {"quiet": True, "session": {"cases": Path("c.jsonl"), "folder": Path("out"), "max_usd": 1.5, "max_tokens": 7, "max_seconds": 9, "in_flight": 3, "rpm": 4, "tpm": 5,
      "retry": True, "trace": Path("t"), "seed": 6, "redact": True, "executor": "local", "batch": None, "prices": {}}}),
    ("import promptfoo f.json -o c.jsonl --column output=x --column id=y", "venire.evals.exchange.importing.import_records",
     {"kind": "promptfoo", "path": Path("f.json"), "columns": ("output=x", "id=y"), "rubric": None}),
]  # fmt: skip


def reached(command: str, target: str, *, loaders: bool = True) -> dict[str, Any]:
    module, _, name = target.rpartition(".")
    signature = inspect.signature(getattr(importlib.import_module(module), name))

    def stop(*args: Any, **options: Any) -> None:
        raise Reached(dict(signature.bind(*args, **options).arguments))

    with pytest.MonkeyPatch.context() as patch:
        for stubbed, stub in {**(LOADERS if loaders else {}), target: stop}.items():
            patch.setattr(stubbed, stub)
        ended = CliRunner().invoke(app, shlex.split(command))
    assert isinstance(ended.exception, Reached), (ended.exception, ended.output)
    return ended.exception.told


@pytest.mark.parametrize(("command", "target", "told"), CALLS, ids=[command.split(" -")[0] for command, _, _ in CALLS])  # fmt: skip
def test_each_option_reaches_what_is_called(command: str, target: str, told: dict[str, Any]) -> None:
    found = reached(command, target)

    for name, value in told.items():
        if isinstance(value, dict) and not isinstance(found[name], dict):
            assert {field: getattr(found[name], field) for field in value} == value
        else:
            assert found[name] == value


def test_a_draw_is_that_of_the_seed_and_of_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = SimpleNamespace(name="a", rubric=SimpleNamespace(names=("x",)))
    verdicts = SimpleNamespace(
        arm=lambda name: arm, attributes=lambda arm, name: [name], of=lambda arm, question: (arm, question)
    )
    monkeypatch.setattr(
        "venire.orchestration.record.Store.read", lambda run: SimpleNamespace(release=lambda: None)
    )
    monkeypatch.setattr(
        "venire.evals.inference.labelled_verdicts.labelled_verdicts", lambda store, human: verdicts
    )
    told = reached(
        "triage run --for estimate -n 5 --design active --attribute y --seed 6",
        "venire.evals.inference.labelling.draw_labels",
    )

    assert told["rng"].integers(1 << 30, size=4).tolist() == Draws(6).rng().integers(1 << 30, size=4).tolist()
    assert (told["verdicts"], told["number"], told["design"]) == (("a", "y"), 5, "active")


@pytest.mark.parametrize(
    ("options", "most"),
    [("", None), ("--most 3", 3), ("--to label-studio -o f", 20), ("--to label-studio -o f --most 3", 3)],
)
def test_of_the_cases_json_lists_all_unless_a_number_is_named_or_some_are_written(
    monkeypatch: pytest.MonkeyPatch, options: str, most: int | None
) -> None:
    monkeypatch.setattr(
        "venire.evals.audits.triage_review.run_triage", lambda *args, **named: ("docket", "review")
    )
    monkeypatch.setattr("venire.commands.triaging._export_first", lambda *args, **named: None)

    assert (
        reached(f"triage run --json {options}", "venire.evals.audits.triage_review.docket_json")["most"]
        == most
    )


def test_a_run_judges_the_cases_with_the_juries_and_prices_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("openai/x: {prompt: 1, completion: 2}\n")
    (tmp_path / "c.jsonl").write_text(
        "".join(json.dumps({"id": f"{s}{n}", "output": "o", "question": f"q{n}", "system": s}) + "\n" for n in (1, 2) for s in "xyz")
    )  # fmt: skip

    def session(*options: str) -> Any:
        command = f"run {tmp_path}/c.jsonl --rubric clinical-note -o {tmp_path}/out {' '.join(options)}"
        return reached(command, "venire.orchestration.run_session.run_session", loaders=False)["session"]  # fmt: skip

    plain = session("--jury single --jury lens-jury --model openai/x --prices", f"{tmp_path}/p.yaml")
    assert [jury.name for jury in plain.juries] == ["single", "lens-jury"]
    assert plain.juries[0].seats[0].model == "openai/x"
    assert plain.juries[1].seats == load_jury("lens-jury").seats
    assert plain.prices == {"openai/x": Price(prompt=1, completion=2)}
    under = session("--jury single --protocol panel --gguf m.gguf --model openai/x")
    assert [(jury.name, jury.protocol) for jury in under.juries] == [("single-panel", "panel")]
    assert under.juries[0].seats[0].model == "local/m.gguf"
    assert session("--jury single --protocol single").juries[0].name == "single"
    pairs = session("--jury single --pairs --against y --as-pairs --batch --poll 0.1")
    assert [set(case.sides) for case in pairs.cases] == [{"x", "y"}, {"y", "z"}] * 2
    assert pairs.rubric.compares and (pairs.batch.poll, pairs.batch.gather) == (0.1, 0.5)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("run c --rubric clinical-note --jury single -o o --against x", "--against works only with --pairs"),
        (
            "run c --rubric clinical-note --jury single -o o --pairs --by-turn",
            "--pairs and --by-turn cannot be used together",
        ),
        ("run c --rubric clinical-note --jury single -o o --workers 2", "work only with --executor ray"),
        ("run c --rubric clinical-note --jury single -o o --ray-address r", "work only with --executor ray"),
        ("merge a -o b", "two runs or more"),
        ("compare run", "either --human or --against"),
        ("compare run --human h --against b", "either --human or --against"),
        ("compare run --human h --png", "--png needs a folder"),
        ("certify run", "either people's ratings or a saved rule"),
        ("certify run --human h --apply r", "either people's ratings or a saved rule"),
        ("certify run --apply r --draw d", "--draw has no effect"),
        ("estimate run --human h --systems p,p", "does not name two systems"),
        ("calibrate run", "needs people's ratings"),
        ("calibrate c.json --human h --apply r", "can only be applied"),
        ("calibrate run --human h --scores s", "--scores needs --apply"),
        ("triage run --for estimate --to csv", "give --for or --to"),
        ("replay run -o o --controls --without s", "cannot be combined with options that change the jury"),
        ("replay run -o o --each-seat --without s", "removes every seat"),
        ("export run --to site", "writes the whole run"),
        ("export run --to site -o d --arm a", "writes the whole run"),
        ("show run c --summary", "describes the whole run"),
        ("import promptfoo f", "name a file for the cases"),
        ("align a b --model m --proposal p", "cannot be used together"),
        ("plant c -o o --split a=0.5", "do not add up to 1"),
        ("schema nothing", "no schema named"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    monkeypatch: pytest.MonkeyPatch, command: str, problem: str
) -> None:
    monkeypatch.setattr("venire.orchestration.reading.side_by_side.controlled_run", lambda run: None)
    monkeypatch.setattr("venire.evals.load_ratings", lambda path: None)
    ended = CliRunner().invoke(app, shlex.split(command))

    assert ended.exit_code != 0
    assert problem in (f"{ended.exception}{ended.output}")


def ended_with(command: Callable[[], None]) -> tuple[int, str]:
    ended: Result = CliRunner().invoke(click.Command("c", callback=command))
    return ended.exit_code, ended.stderr


DOWN = UnreachedModel("a", "m", ("s",), 2, "HTTP 500")


@pytest.mark.parametrize(
    ("limit", "unreached", "code", "words"),
    [
        (None, (), 0, ""),
        ("max_usd", (), 3, "max_usd was reached"),
        ("max_usd", (DOWN,), 3, "max_usd was reached"),
        ("SIGINT", (), 130, "stopped by Ctrl-C"),
        ("SIGTERM", (DOWN,), 143, "stopped by SIGTERM"),
        (None, (DOWN,), 4, "2 cases: HTTP 500"),
    ],
)
def test_how_a_run_ended_is_its_exit_status(
    limit: str | None, unreached: tuple[UnreachedModel, ...], code: int, words: str
) -> None:
    status, printed = ended_with(lambda: exit_unless_whole(limit, unreached))

    assert status == code and words in printed


def test_a_score_below_what_is_required_is_exit_status_1() -> None:
    assert ended_with(lambda: exit_unless_met(["a>=0.5"], {"a": 0.5}))[0] == 0
    status, printed = ended_with(lambda: exit_unless_met(["a>=0.5", "b>=0.5"], {"a": 0.4, "b": 0.6}))
    assert status == 1 and printed.count("requirement not met") == 1


def test_what_is_printed_holds_no_control_character_and_json_no_nan() -> None:
    printed = ended_with(lambda: say("a\x1b[2Jb\u202ec", err=True))[1]
    assert not {"\x1b", "\u202e"} & set(printed) and {"a", "b", "c"} <= set(printed)
    with pytest.raises(ValueError, match="Out of range"):
        print_json({"x": float("nan")})


@pytest.mark.parametrize(("poll", "gather"), [(30.0, 2.0), (0.4, 2.0), (0.1, 0.5)])
def test_a_batch_is_gathered_for_no_longer_than_two_seconds(poll: float, gather: float) -> None:
    batch = batch_settings(True, poll)

    assert batch is not None and (batch.poll, batch.gather) == (poll, gather)
    assert batch_settings(False, poll) is None


def test_an_address_is_no_path_and_a_jury_without_a_model_is_left_as_it_is() -> None:
    assert [location(run) for run in ("postgres://h/d", "postgresql://h", "runs/a")] == ["postgres://h/d", "postgresql://h", Path("runs/a")]  # fmt: skip
    jury = load_jury("single")
    assert filled_juries([jury]) == [jury]
    assert [one.seats[0].model for one in filled_juries([jury, jury], "openai/x")] == ["openai/x"] * 2


@pytest.mark.parametrize(("text", "shares"), [("train=0.8,test=0.2", {"train": 0.8, "test": 0.2}), ("a=1", {"a": 1.0}),
                                              ("a=0.8,b=0.3", None), ("a=nan,b=1", None), ("a=1.5,b=-0.5", None), ("a", None), ("cases=1", None), ("a b=1", None)])  # fmt: skip
def test_shares_add_up_and_have_plain_names(text: str, shares: dict[str, float] | None) -> None:
    if shares is None:
        with pytest.raises(VenireError, match="--split"):
            _shares(text)
    else:
        assert _shares(text) == shares


@pytest.mark.parametrize(("text", "costs"), [("1,5", Costs(1, 5)), ("0,1", Costs(0, 1)), ("0,0", None), ("1", None), ("-1,2", None), ("1,inf", None), ("1,nan", None), ("1,2,3", None), ("a,b", None)])  # fmt: skip
def test_costs_are_of_a_wrong_yes_and_a_wrong_no(text: str, costs: Costs | None) -> None:
    if costs is None:
        with pytest.raises(VenireError, match="--costs"):
            _costs(text)
    else:
        assert _costs(text) == costs
    assert _costs(None) is None and _pair(None) is None and _pair(" p , q ") == ("p", "q")


@pytest.mark.parametrize(
    ("results", "options", "times"),
    [
        ([RunResult(1, 0, None, 1), RunResult(1, 0, None, 0)], "--watch", 2),
        ([RunResult(1, 0, "max_usd", 1)], "--watch", 1),
        ([RunResult(1, 0, None, 1)], "", 1),
    ],
)
def test_people_are_waited_for_only_where_that_is_asked_and_nothing_stopped_the_run(
    monkeypatch: pytest.MonkeyPatch, results: list[RunResult], options: str, times: int
) -> None:
    left, waited = list(results), []
    monkeypatch.setattr("venire.orchestration.run_session.run_session", lambda *_, **__: left.pop(0))
    monkeypatch.setattr("venire.agents.desk.await_answers", lambda run, given: waited.append(given))
    monkeypatch.setattr("venire.commands.running.report", lambda *_, **__: None)
    monkeypatch.setattr("venire.orchestration.reading.status.unreached_at", lambda run: ())
    ended = CliRunner().invoke(app, shlex.split(f"run c --rubric clinical-note --jury single -o o {options}"))

    assert (len(results) - len(left), len(waited)) == (times, times - 1), ended.output
    assert ended.exit_code == (3 if results[-1].limit else 0)


class Calls(list[tuple[Any, ...]]):
    """What was called in place of what commands call, in order."""

    def stub(self, patch: pytest.MonkeyPatch, **stubs: Any) -> None:
        """In place of each target, written with `__` for a dot, what gives this; of several, one after the other."""
        for target, given in stubs.items():
            path = "venire." + target.replace("__", ".")
            patch.setattr(path, self._noting(path.rpartition(".")[2], given))

    def _noting(self, name: str, given: Any) -> Callable[..., Any]:
        left = list(given) if isinstance(given, list) else None

        def called(*args: Any, **options: Any) -> Any:
            self.append((name, args, options))
            return given if left is None else left.pop(0)

        return called

    def of(self, name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        return [(args, options) for called, args, options in self if called == name]


SEEN = ("report", (Path("o"),), {"as_json": False, "unreached": False})


@pytest.mark.parametrize(
    ("result", "options", "missed", "unreached", "calls", "code"),
    [
        (RunResult(2, 0, None), "", (0, 0), (), [SEEN], 0),
        (RunResult(2, 0, None), "", (0, 0), (DOWN,), [SEEN], 4),
        (RunResult(2, 0, "max_usd"), "", (0, 0), (DOWN,), [SEEN], 3),
        (RunResult(2, 0, "SIGINT"), "", (0, 0), (), [], 130),
        (RunResult(2, 0, "SIGINT"), "--json", (0, 0), (), [("report", (Path("o"),), {"as_json": True, "unreached": False})], 130),
        (RunResult(0, 4, None), "", (0, 0), (), [], 0),
        (RunResult(0, 3, None), "", (0, 0), (), [SEEN], 0),
        (RunResult(1, 4, None), "", (0, 0), (), [SEEN], 0),
        (RunResult(1, 0, None, 2), "", (0, 0), (), [SEEN, ("say_who_waits", (Path("o"),), {})], 0),
        (RunResult(2, 0, None), "--require accurate>=3", (1, 2), (), [SEEN], 1),
        (RunResult(2, 0, None), "--require accurate>=3", (0, 2), (), [SEEN], 0),
        (RunResult(2, 0, None), "--require accurate>=3 --junit j.xml", (1, 2), (DOWN,), [SEEN], 4),
    ],
)  # fmt: skip
def test_what_a_run_shows_and_exits_with_goes_by_how_it_ended(
    monkeypatch: pytest.MonkeyPatch, result: RunResult, options: str, missed: Any, unreached: Any, calls: Any, code: int
) -> None:  # fmt: skip
    made = Calls()
    monkeypatch.setattr("venire.commands.running._MANY", 3)
    made.stub(
        monkeypatch,
        orchestration__run_session__run_session=result,
        orchestration__reading__status__unreached_at=unreached,
        orchestration__reading__requirements__write_junit=missed,
        commands__running__report=None,
        commands__running__say_who_waits=None,
    )
    ended = CliRunner().invoke(app, shlex.split(f"run c --rubric clinical-note --jury single -o o {options}"))

    assert ended.exit_code == code, (ended.exception, ended.output)
    assert [call for call in made if call[0] in ("report", "say_who_waits")] == calls
    written = made.of("write_junit")
    assert len(written) == ("--require" in options)
    for (run, required, junit), _ in written:
        assert (run, [(each.name, each.sign, each.bound) for each in required]) == (
            Path("o"),
            [("accurate", ">=", 3)],
        )
        assert junit == (Path("j.xml") if "--junit" in options else None)
    assert ("venire show o" in ended.output) is (not calls)
    assert len(made.of("unreached_at")) == (result.limit is None)


@pytest.mark.parametrize(
    ("limit", "unreached", "code"), [(None, (), 0), (None, (DOWN,), 4), ("max_usd", (), 3), ("SIGINT", (DOWN,), 130)]
)  # fmt: skip
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_a_study_is_reported_once_it_is_whole_and_exits_with_how_it_ended(
    monkeypatch: pytest.MonkeyPatch, limit: str | None, unreached: Any, code: int, as_json: bool, whole: bool
) -> None:
    made, shown = Calls(), list[dict[str, Any]]()
    ended_so = SimpleNamespace(folder=Path("out"), limit=limit, unreached=unreached, json=lambda: {"ran": 1})
    written = SimpleNamespace(document={"j": 1}, page="p.html", scores={"a": 0.5}, show=lambda to, **how: shown.append(how))  # fmt: skip
    made.stub(
        monkeypatch,
        evals__studies__plan__plan_study="plan",
        evals__studies__study_plan__show_plan=None,
        evals__studies__study_run__run_plan=ended_so,
        evals__studies__findings__plan_findings="found",
        evals__studies__findings__findings_at="found",
        evals__studies__study_report__write_study_report=written,
    )
    words = f"study {'' if whole else 'run '}004.yaml -o out {'--json' if as_json else ''} {'--full --resamples 9' if whole else ''}"
    ended = CliRunner().invoke(app, shlex.split(words))

    assert ended.exit_code == code, (ended.exception, ended.output)
    reported = whole and limit is None
    assert made.of("plan_findings") == ([(("plan", Path("out")), {"resamples": 9})] if reported else [])
    assert [args for args, _ in made.of("write_study_report")] == ([("found",)] if reported else [])
    assert shown == ([{"full": True}] if reported and not as_json else [])
    printed = ({"j": 1} if reported else None) if whole else {"ran": 1}
    assert (json.loads(ended.stdout) if ended.stdout else None) == (printed if as_json else None)
    assert len(made.of("show_plan")) == whole
    for bound, missed in ((0.5, 0), (0.6, 1)):
        report = f"study report 004.yaml -o d --require 'a>={bound}'"
        assert CliRunner().invoke(app, shlex.split(report)).exit_code == missed
        assert made[-1][:2] == ("write_study_report", ("found", Path("d"))) and shown[-1] == {"full": False}


ANSWERS: list[tuple[str, str, dict[str, Any], str]] = [
    ("estimate run --human h.csv", "evals.inference.estimates", {"run_estimates": 1, "estimates_json": {"j": 1}, "estimates_answer": 1}, "evals.report.terminal.show_answer"),
    ("facets run", "evals.inference.facets", {"run_facets": 1, "facets_json": {"j": 1}, "facets_answer": 1}, "evals.report.terminal.show_answer"),
    ("dstudy run", "evals.inference.dstudy", {"run_dstudy": 1, "dstudy_json": {"j": 1}, "dstudy_answer": 1}, "evals.report.terminal.show_answer"),
    ("winrate p.csv", "evals.audits.win_rates", {"win_rates": 1, "win_rates_json": {"j": 1}, "win_rates_answer": 1}, "evals.report.terminal.show_answer"),
    ("status run", "orchestration.reading.status", {"status": 1, "status_json": {"j": 1}}, "orchestration.reading.status.show_status"),
    ("doctor", "agents.doctor", {"diagnose": {"j": 1}}, "agents.doctor.diagnosis_table"),
    ("study plan 004.yaml", "evals.studies.study_plan", {"plan_json": {"j": 1}}, "evals.studies.study_plan.show_plan"),
    ("optimise o.yaml --dry-run", "evals.optimising.plan", {"plan_optimisation": SimpleNamespace(json=lambda: {"j": 1})}, "commands.improving._show_plan"),
    ("suite check s.yaml", "evals.suites.suite_plan", {"check_json": {"j": 1}, "check_table": 1, "check_sentences": ()}, "commands.suites.show_board"),
    ("suite plan s.yaml", "evals.suites.suite_plan", {"plan_suite": 1, "suite_plan_json": {"j": 1}, "plan_table": 1, "plan_sentences": ()}, "commands.suites.show_board"),
    ("suite coverage", "evals.suites.suite_plan", {"coverage_json": {"j": 1}, "coverage_table": 1, "coverage_sentences": ()}, "commands.suites.show_board"),
    ("suite table s.csv", "evals.suites.suite_tables", {"board_json": {"j": 1}, "board_tables": [()], "board_sentences": ()}, "commands.suites.show_board"),
]  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(("command", "module", "stubs", "show"), ANSWERS, ids=[row[0].split(" -")[0] for row in ANSWERS])  # fmt: skip
def test_an_answer_is_shown_or_is_one_json_document(
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    module: str,
    stubs: dict[str, Any],
    show: str,
    as_json: bool,
) -> None:
    made = Calls()
    for stubbed, stub in LOADERS.items():
        monkeypatch.setattr(stubbed, stub)
    given = {f"{module}.{name}": each for name, each in stubs.items()} | {show: None}
    if command == "suite table s.csv":
        given |= {"evals.suites.board.board": 1, "evals.suites.suite_tables.cost_sentences": ()}
    made.stub(monkeypatch, **{name.replace(".", "__"): each for name, each in given.items()})
    ended = CliRunner().invoke(app, shlex.split(f"{command} {'--json' if as_json else ''}"))

    assert ended.exit_code == 0, ended.exception
    assert len(made.of(show.rpartition(".")[2])) == (not as_json)
    if as_json:
        assert json.loads(ended.stdout) == {"j": 1}


@pytest.mark.parametrize("changes", [(), ("a model changed",)])
def test_two_runs_are_shown_by_attribute_and_less_the_shift_only_where_something_changed(
    monkeypatch: pytest.MonkeyPatch, changes: tuple[str, ...]
) -> None:
    rows = [("clear", 3.0, 3.5, 0.5, 0.1), ("risk", 2.0, 1.0, -1.0, None)]
    means = DataFrame(rows, columns=["attribute", "before", "now", "difference", "corrected"])
    shift = SimpleNamespace(arm="a", changes=changes, anchors=9, shifts={"clear": Estimate(0.4, 0.3, 0.5, 9, "m")}, means=means, sentences=("One.",))  # fmt: skip
    monkeypatch.setattr("venire.evals.inference.shift.run_shift", lambda now, before: shift)
    shown = CliRunner().invoke(app, shlex.split("compare run --against old"))
    assert shown.exit_code == 0, shown.exception
    less = "; without the shift +0.100" if changes else ""
    assert [line.strip() for line in shown.stdout.splitlines()] == ["- One.", f"clear: 3.000 before, 3.500 now, +0.500{less}", "risk: 2.000 before, 1.000 now, -1.000"]  # fmt: skip
    told = json.loads(CliRunner().invoke(app, shlex.split("compare run --against old --json")).stdout)
    assert (told["run"], told["against"], told["changes"], told["anchors"], told["shifts"]["clear"]["value"]) == ("run", "old", [*changes], 9, 0.4)  # fmt: skip
    assert [row["corrected"] for row in told["means"]] == [0.1, None]


def test_agreement_is_shown_with_its_notes_and_written_where_that_is_named(tmp_path: Path) -> None:
    rows = [
        f"c{n},{rater},clear,{1 + (n + (rater == 'b' and n == 3)) % 5}" for n in range(12) for rater in "ab"
    ]
    (tmp_path / "r.csv").write_text("\n".join(["case,rater,attribute,value", *rows]))
    command = f"agreement {tmp_path / 'r.csv'}"
    shown = CliRunner().invoke(app, shlex.split(command))
    assert shown.exit_code == 0 and "clear" in shown.stdout and not shown.stderr, shown.exception
    page = tmp_path / "a.html"
    written = CliRunner().invoke(app, shlex.split(f"{command} -o {page} --json"))
    assert f"written: {page}" in written.stderr and "clear" in page.read_text()
    assert json.loads(written.stdout)


class Planned:
    def to_json(self) -> dict[str, int]:
        return {"new": 4}


@pytest.mark.parametrize("controls", [False, True])
@pytest.mark.parametrize(
    ("result", "unreached", "code"),
    [
        (RunResult(1, 0, None), (), 0),
        (RunResult(1, 0, None, 1), (DOWN,), 4),
        (RunResult(1, 0, "max_usd"), (), 3),
    ],
)
def test_a_replay_counts_the_calls_that_it_made_itself(
    monkeypatch: pytest.MonkeyPatch, controls: bool, result: RunResult, unreached: Any, code: int
) -> None:
    made = Calls()
    kind = "controls" if controls else "replay"
    made.stub(
        monkeypatch,
        orchestration__record__recorded_cost=[type("C", (), {"calls": n}) for n in (5, 9)],
        orchestration__reading__status__unreached_at=unreached,
        commands__replaying__say_who_waits=None,
        commands__replaying___report=None,
        commands__replaying___report_controls=None,
        **{f"orchestration__replay__{kind}__plan_{kind}": Planned(), f"orchestration__replay__{kind}__run_{kind}": result},
    )  # fmt: skip
    command = f"replay run -o out --draws 7 {'--controls --who' if controls else ''}"
    plan = CliRunner().invoke(app, shlex.split(f"{command} --plan --json"))
    assert plan.exit_code == 0 and not made.of(f"run_{kind}") and not made.of("recorded_cost")
    assert json.loads(plan.stdout) == {"run": "out", "parent": "run", "plan": {"new": 4}}

    ended = CliRunner().invoke(app, shlex.split(command))
    assert ended.exit_code == code, (ended.exception, ended.output)
    ((_, told),) = [(args, options) for args, options in made.of(f"run_{kind}")]
    assert told == ({"quiet": False, "who": True} if controls else {"quiet": False})
    ((shown, _),) = made.of("_report_controls" if controls else "_report")
    counted = shown[2] if controls else shown[1]
    assert counted == {"plan": {"new": 4}, "calls_made": 4}
    assert [args for args, _ in made.of("recorded_cost")] == [(Path("out"),), (Path("out"),)]
    assert made.of("say_who_waits") == ([((Path("out"),), {})] if result.parked else [])


class DeskStub:
    def __init__(self, *asked: str) -> None:
        self.asked, self.did = asked, list[str]()

    def counts(self) -> dict[str, int]:
        return dict.fromkeys(self.asked, 1)

    def revoke_links(self) -> None:
        self.did.append("revoke")

    def close(self) -> None:
        self.did.append("close")


@pytest.mark.parametrize(
    ("options", "known", "served", "did"),
    [
        ("--raters ' abel, , boyd,'", (), ["abel", "boyd"], ["close"]),
        ("", ("abel", "cole"), ["abel", "cole"], ["close"]),
        ("", (), None, ["close"]),
        ("--close", ("abel",), None, ["revoke", "close"]),
    ],
)
def test_raters_are_served_at_the_address_that_is_named(
    monkeypatch: pytest.MonkeyPatch, options: str, known: tuple[str, ...], served: Any, did: list[str]
) -> None:
    made, desk = Calls(), DeskStub(*known)
    made.stub(
        monkeypatch,
        evals__rating__ratings_desk__rated_cases=("cases", "rubric", "notes"),
        evals__rating__ratings_desk__open_ratings=desk,
        evals__rating__ratings_desk__file_ratings="r.csv",
        evals__rating__server__serve_desk=None,
    )
    command = f"rate c.jsonl --rubric r -o out --overlap 2:40 --seed 6 --host h --port 9 {options}"
    ended = CliRunner().invoke(app, shlex.split(command))

    assert desk.did == did
    ((args, opened),) = made.of("open_ratings")
    assert args == (Path("out"), "cases", "rubric", ["abel", "boyd"] if "boyd" in options else [])
    overlap = opened["overlap"]
    assert (opened["seed"], opened["notes"], overlap) == (6, "notes", type(overlap).parse("2:40"))
    calls = made.of("serve_desk")
    assert [call[0][1] for call in calls] == ([served] if served else [])
    for call, told in calls:
        assert call[0] is desk and (call[2].host, call[2].port, told) == ("h", 9, {"rating": True})
    assert ended.stdout == "" and ("written: r.csv" in ended.stderr) is ("--close" in options)
    assert (len(made.of("file_ratings")), ended.exit_code != 0) == (
        int("--close" in options),
        did == ["close"] and not served,
    )


@pytest.mark.parametrize(
    ("options", "served", "did"),
    [
        ("--as ann --as bob", ["ann", "bob"], ["close"]),
        ("--as zoe", None, ["close"]),
        ("--as ann --close", None, ["revoke", "close"]),
    ],
)
def test_only_who_was_asked_can_sit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: str, served: Any, did: list[str]
) -> None:
    made, desk = Calls(), DeskStub("ann", "bob")
    made.stub(monkeypatch, agents__desk__Desk=desk, evals__rating__server__serve_desk=None)
    command = f"sit {tmp_path} {options} --host h --port 9"
    absent = CliRunner().invoke(app, shlex.split(command))
    assert isinstance(absent.exception, VenireError) and not made
    (tmp_path / DESK_FILE).write_text("")
    ended = CliRunner().invoke(app, shlex.split(command))

    assert desk.did == did and made.of("Desk") == [((tmp_path,), {})]
    assert [call[0][1] for call in made.of("serve_desk")] == ([served] if served else [])
    for call, told in made.of("serve_desk"):
        assert (call[2].host, call[2].port, told) == ("h", 9, {"rating": False, "only": True})
    assert isinstance(ended.exception, VenireError) is ("zoe" in options)


@pytest.mark.parametrize(
    ("options", "controlled", "beside", "calls"),
    [
        ("", None, None, [("report", (Path("run"),), {"as_json": False})]),
        ("--json", None, "kids", [("report", (Path("run"),), {"as_json": True})]),
        ("c --json", "parent", None, [("show_control_run", (Path("run"),), {"as_json": True, "case": "c"})]),
        ("c --summary", "parent", None, [("show_control_run", (Path("run"),), {"as_json": False, "case": None})]),
        ("--summary", None, "kids", ["show_summary", ("show_control_run", ("kids",), {"as_json": False})]),
        ("--summary --controls k", None, "kids", ["show_summary", ("show_control_run", (Path("k"),), {"as_json": False})]),
        ("--summary", None, None, ["show_summary"]),
        ("c", None, None, ["show_case"]),
        ("c --json", None, "kids", ["show_case"]),
    ],
)  # fmt: skip
def test_what_is_shown_of_a_run_goes_by_what_is_named(
    monkeypatch: pytest.MonkeyPatch, options: str, controlled: Any, beside: Any, calls: list[Any]
) -> None:
    made = Calls()
    made.stub(
        monkeypatch,
        orchestration__reading__side_by_side__controlled_run=controlled,
        orchestration__reading__side_by_side__controls_beside=beside,
        orchestration__reading__terminal__show_case=None,
        orchestration__reading__terminal__show_summary=None,
        commands__reading__report=None,
        commands__reading__show_control_run=None,
    )
    ended = CliRunner().invoke(app, shlex.split(f"show run {options}"))

    assert ended.exit_code == 0, ended.exception
    shown = [call for call in made if call[0] not in ("controlled_run", "controls_beside")]
    assert [
        call if isinstance(want, tuple) else call[0] for call, want in zip(shown, calls, strict=True)
    ] == calls
    for name, args, _ in shown:
        if name == "show_summary":
            assert args[0] == Path("run") and (args[2] is None) is (beside is None)
        if name == "show_case":
            run, case, arm, console, _, people, reword = args
            assert (run, case, arm, tuple(people)) == (Path("run"), "c", None, ())
            assert ((console is None), (reword is None)) == ("--json" in options, beside is None)


@pytest.mark.parametrize("output", [None, "f"])
def test_an_export_says_how_much_it_wrote_and_what_is_kept_back(
    monkeypatch: pytest.MonkeyPatch, output: str | None
) -> None:
    made = Calls()
    made.stub(monkeypatch, orchestration__reading__terminal__export_run=3, web__standalone__write_site=5, commands__reading__say_sealed=None)  # fmt: skip
    ended = CliRunner().invoke(app, shlex.split(f"export run --to csv {f'-o {output}' if output else ''}"))
    assert ended.exit_code == 0 and ended.stdout == ""
    assert ("3 deliberations written to f" in ended.stderr) is (output is not None)
    assert made.of("say_sealed") == [((Path("run"),), {})]
    ended = CliRunner().invoke(app, shlex.split("export run --to site -o d"))
    assert "5 pages written to d" in ended.stderr and len(made.of("say_sealed")) == 2
    assert len(made.of("export_run")) == len(made.of("write_site")) == 1


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    ("number", "each_seat", "shown"),
    [
        (1, False, "replay_view"),
        (2, False, "summary_table"),
        (0, False, "summary_table"),
        (2, True, "show_presences"),
    ],
)
def test_a_replay_is_shown_whole_or_as_a_table_or_by_seat(
    monkeypatch: pytest.MonkeyPatch, as_json: bool, number: int, each_seat: bool, shown: str
) -> None:
    class Found:
        after = "after"

        def to_json(self) -> dict[str, int]:
            return {"moved": 1}

    made, printed = Calls(), list[Any]()
    made.stub(
        monkeypatch,
        orchestration__replay__replay__replayed_cases=[[Found()] * number],
        orchestration__reading__export__case_json={"case": "c"},
        orchestration__reading__side_by_side__replay_view="one",
        orchestration__reading__side_by_side__summary_table="many",
        evals__causes__presence__presences=[[Found()]],
        evals__causes__presence__show_presences=None,
    )
    monkeypatch.setattr("venire.commands.replaying.print_json", printed.append)
    session: Any = SimpleNamespace(run=Path("run"), folder=Path("out"), each_seat=each_seat)
    _report(session, {"calls_made": 4}, as_json=as_json)

    views = {"replay_view", "summary_table", "show_presences"}
    assert [call[0] for call in made if call[0] in views] == ([] if as_json else [shown])
    whole = {"run": "out", "parent": "run", "calls_made": 4}
    seen = (
        {"seats": [{"moved": 1}]}
        if each_seat
        else {"cases": [{"case": "c", "replay": {"moved": 1}}] * number}
    )
    assert printed == ([{**whole, **seen}] if as_json else [])


@pytest.mark.parametrize("as_json", [False, True])
def test_an_import_writes_what_is_named_and_lists_what_was_left_out(
    monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    imported: Any = SimpleNamespace(
        cases=["c"] * 3, ratings=["r"] * 2, notes=["a line is odd"], to_json=lambda: {"cases": 3}
    )
    made = Calls()
    made.stub(
        monkeypatch,
        **{
            f"evals__exchange__importing__{name}": given
            for name, given in {
                "check_target": None, "import_deliberations": 7, "import_records": imported,
                "write_cases_file": None, "write_ratings_file": None,
            }.items()
        },
    )  # fmt: skip
    more = "--json" if as_json else ""

    def ran(options: str) -> tuple[Result, list[tuple[Any, ...]]]:
        made.clear()
        return CliRunner().invoke(app, shlex.split(f"import promptfoo f.json {options} {more}")), [
            call[:2] for call in made
        ]

    ended, calls = ran("-o run")
    assert calls == [("import_deliberations", ("promptfoo", Path("f.json"), Path("run")))]
    assert "7 deliberations" in ended.stderr and (
        json.loads(ended.stdout)["deliberations"] == 7 if as_json else not ended.stdout
    )
    for options, written in (
        ("-o c.jsonl", [("write_cases_file", (["c"] * 3, Path("c.jsonl")))]),
        ("--ratings r.csv", [("write_ratings_file", (["r"] * 2, Path("r.csv")))]),
        ("-o run --ratings r.csv", [("write_cases_file", (["c"] * 3, Path("run"))), ("write_ratings_file", (["r"] * 2, Path("r.csv")))]),
    ):  # fmt: skip
        ended, calls = ran(options)
        assert [call for call in calls if call[0].startswith("write")] == written
        assert [call[1] for call in calls if call[0] == "check_target"] == [(call[1][1],) for call in written]
        assert "- a line is odd" in ended.stderr
        assert (
            (json.loads(ended.stdout) == {"format": "promptfoo", "file": "f.json", "cases": 3})
            if as_json
            else not ended.stdout
        )


def test_a_merge_says_how_much_it_holds_and_what_was_there_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Calls()
    merged = [SimpleNamespace(deliberations=5, calls=1, doubled=doubled) for doubled in (0, 3)]
    made.stub(monkeypatch, orchestration__record__merging__merge_runs=merged)
    once, twice = (CliRunner().invoke(app, ["merge", "a", "b", "-o", "out"]).stdout for _ in range(2))
    assert "5 deliberations and 1 call" in once and len(once.splitlines()) == 1
    assert len(twice.splitlines()) == 2 and "3 deliberations" in twice


WRITES = {
    "orchestration__record__private_files__write_atomically": None,
    "evals__report__terminal__show_answer": None,
}


def ran(command: str) -> Result:
    ended = CliRunner().invoke(app, shlex.split(command))
    assert ended.exit_code == 0, (ended.exception, ended.output)
    return ended


def test_triage_writes_the_first_cases_of_the_jury_with_what_people_said_or_a_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = DataFrame({"case": [7, "b", "c"], "reasons": [["r"], ["s", "t"], []]})
    docket, made = SimpleNamespace(arm="a", cases=[0] * 5, first=rows.head), Calls()
    made.stub(
        monkeypatch, **WRITES, evals__audits__triage_review__run_triage=(docket, "review"), evals__load_ratings="ratings",
        evals__audits__triage_review__triage_page="page", evals__audits__triage_review__docket_answer="answer", evals__audits__triage_review__docket_json={"d": 1},
        orchestration__reading__terminal__export_run=2,
    )  # fmt: skip
    monkeypatch.setattr("venire.rubrics.ratings.read_ratings", lambda path: [f"rated {path}"])

    ended = ran("triage run --human h --to csv -o f --most 2")
    ((args, named),) = made.of("export_run")
    assert args[:3] == (Path("run"), "csv", Path("f")) and args[4] is None
    assert named == {"arm": "a", "picked": {"7": ["r"], "b": ["s", "t"]}, "ratings": ["rated h"]}
    assert "2 of 5 cases written to f" in ended.stderr and not made.of("show_answer") and not ended.stdout
    ran("triage run --to csv")
    assert made.of("export_run")[-1][1] == {
        "arm": "a",
        "picked": {"7": ["r"], "b": ["s", "t"], "c": []},
        "ratings": [],
    }
    assert CliRunner().invoke(app, shlex.split("triage run --to csv --json")).exit_code == 2
    made.clear()
    ran("triage run -o p.html")
    assert made.of("triage_page") == [((docket, "review", None), {})] and made.of("write_atomically") == [((Path("p.html"), "page"), {})]  # fmt: skip
    assert (
        made.of("docket_answer") == [((docket, "review", 20), {})]
        and made.of("show_answer")[0][0][0] == "answer"
    )
    made.clear()
    assert json.loads(ran("triage run -o p.html --most 3 --json").stdout) == {"d": 1} and not made.of(
        "show_answer"
    )
    assert made.of("triage_page") == [((docket, "review", 3), {})] and made.of("docket_json") == [(("run", docket, "review", 3), {})]  # fmt: skip


def test_a_draw_is_written_where_it_is_wanted_or_else_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = SimpleNamespace(name="a", rubric=SimpleNamespace(names=("x", "y")))
    verdicts = SimpleNamespace(arm=lambda name: arm, attributes=lambda arm, name: [name], of=lambda *asked: [asked] * 5)  # fmt: skip
    made, draw = Calls(), DataFrame({"case": ["a", "b"], "probability": [0.5, 0.25]})
    made.stub(monkeypatch, **WRITES, orchestration__record__Store__read=SimpleNamespace(release=lambda: None),
              evals__inference__labelled_verdicts__labelled_verdicts=verdicts, evals__inference__labelling__draw_labels=draw)  # fmt: skip
    text = "case,probability\na,0.5\nb,0.25\n"

    assert ran("triage run --for estimate").stdout == text and not made.of("write_atomically")
    ((args, _),) = made.of("draw_labels")
    assert args[:3] == ([("a", "x")] * 5, 150, "stratified")
    kept = ran("triage run --for estimate -o d.csv")
    assert made.of("write_atomically") == [((Path("d.csv"), text), {})]
    assert "2 of 5 cases" in kept.output and "--draw d.csv" in kept.output
    told = json.loads(ran("triage run --for estimate --design random --json").stdout)
    assert told == {"run": "run", "design": "random", "cases": [{"case": "a", "probability": 0.5}, {"case": "b", "probability": 0.25}]}  # fmt: skip


def test_a_certificate_is_saved_written_and_shown_as_it_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(rule=SimpleNamespace(model_dump_json=lambda indent: "RULE"), verdicts=DataFrame({"case": ["a"]}))  # fmt: skip
    made = Calls()
    made.stub(monkeypatch, **WRITES, evals__load_ratings="ratings", evals__inference__run_certificate__run_certificate=found,
              evals__inference__run_certificate__certificate_answer="answer", evals__inference__run_certificate__certificate_json={"c": 1})  # fmt: skip

    ended = ran("certify run --human h --save r.json -o v.csv")
    assert [args for args, _ in made.of("write_atomically")] == [(Path("r.json"), "RULE\n"), (Path("v.csv"), "case\na\n")]  # fmt: skip
    assert "written: r.json" in ended.stderr and "written: v.csv" in ended.stderr
    assert made.of("certificate_answer") == [((found,), {})] and made.of("show_answer")[0][0][0] == "answer"
    made.clear()
    assert json.loads(ran("certify run --human h --json").stdout) == {"c": 1}
    assert made.of("certificate_json") == [(("run", found), {})]
    assert not made.of("show_answer") and not made.of("write_atomically")


def test_a_calibration_is_saved_reported_and_applied_or_one_that_was_saved_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, saves = Calls(), list[Path]()
    learned = SimpleNamespace(saved="curves", save=saves.append)
    applied = SimpleNamespace(scores=DataFrame({"score": [2.5]}))
    made.stub(
        monkeypatch, **WRITES, evals__calibration__calibrate=learned, evals__calibration__load_calibration="kept curves", evals__calibration__apply=applied,
        evals__calibration__calibrating__calibration_page="page", evals__calibration__calibrating__calibration_answer="learned",
        evals__calibration__calibrating__applied_answer="applied", evals__calibration__calibrating__calibration_json={"c": 1},
    )  # fmt: skip

    ran("calibrate run --human h -o c.json --report p.html --apply t --scores s.csv")
    assert made.of("apply") == [(("curves", Path("t")), {})] and saves == [Path("c.json")]
    assert [args for args, _ in made.of("write_atomically")] == [(Path("p.html"), "page"), (Path("s.csv"), "score\n2.5\n")]  # fmt: skip
    assert made.of("calibration_page") == [((learned,), {})] and [args[0] for args, _ in made.of("show_answer")] == ["learned", "applied"]  # fmt: skip
    made.clear()
    ran("calibrate c.json --apply t")
    assert made.of("load_calibration") == [((Path("c.json"),), {})] and made.of("apply") == [(("kept curves", Path("t")), {})]  # fmt: skip
    assert [args[0] for args, _ in made.of("show_answer")] == ["applied"] and not made.of("calibrate")
    made.clear()
    ran("calibrate run --human h --json")
    assert made.of("calibration_json") == [(("run", learned, None), {})]
    assert not made.of("apply") and not made.of("show_answer") and not made.of("write_atomically")


def test_metrics_measure_the_pairs_that_are_left_and_are_held_against_people_and_other_scores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, pairs = Calls(), tuple(SimpleNamespace(case=name) for name in "abc")
    for name in (
        "venire.evals.ratings.people.load_ratings",
        "venire.evals.transcripts.alignment.read_alignment",
    ):
        monkeypatch.setattr(name, LOADERS[name])
    measuring = {"read_pairs": pairs, "text_pairs": pairs[2:], "differing_pairs": pairs[:2], "people_labels": "labels", "measure": ("m",), "track": "tracked",
                 "risk_table": "risk", "read_scores": (("given",), ("a note",))}  # fmt: skip
    made.stub(
        monkeypatch, **{f"evals__metrics__measuring__{name}": given for name, given in measuring.items()},
        evals__metrics__metric_tables__metrics_json={"j": 1}, evals__metrics__metric_tables__write_metrics="p.html",
        evals__transcripts__alignment__alignment_cases=("row",),
    )  # fmt: skip
    ran("metrics c.jsonl --differing --human h --attribute x --rubric clinical-note --reference mean --metric wer --normal asr-en --scores s.csv --pair a b -o out --json")  # fmt: skip

    ((differing, _),) = made.of("differing_pairs")
    assert differing[0] is pairs and differing[1].name == "asr-en" and made.of("read_pairs") == [((Path("c.jsonl"),), {})]  # fmt: skip
    ((args, named),) = made.of("people_labels")
    assert (args, named.pop("rubric").name) == (("ratings h",), "clinical-note")
    assert named == {"attribute": "x", "rule": "mean", "cases": ["a", "b"]}
    ((measured, how),) = made.of("measure")
    assert measured[0] == pairs[:2] and [metric.name for metric in measured[1]] == ["wer"] and how["normal"].name == "asr-en"  # fmt: skip
    assert made.of("read_scores") == [((Path("s.csv"), ["a", "b"], ["wer"]), {})]
    assert made.of("track") == [((["m", "given"], pairs[:2], "labels"), {})]
    assert made.of("risk_table") == [((["m", "given"], "a", "b"), {})]
    ((written, _),), (((report,), _),) = made.of("write_metrics"), made.of("metrics_json")
    assert written == (report, Path("out")) and (report.pairs, report.risk) == (pairs[:2], "risk")
    assert report.notes[0] == "a note" and report.notes[1].endswith("word for word: 1")
    made.clear()
    ran("metrics a.json --metric wer --json")
    assert made.of("text_pairs")[0][0][0] == Path("a.json") and [*made.of("text_pairs")[0][0][1]] == [
        (1, "row")
    ]
    assert not any(made.of(name) for name in ("read_pairs", "differing_pairs", "people_labels", "track", "risk_table", "write_metrics"))  # fmt: skip


class Aligned(SimpleNamespace):
    def model_copy(self, *, update: dict[str, Any]) -> Aligned:
        return Aligned(**{**vars(self), **update})

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name}


@pytest.mark.parametrize("abstention", [None, "no answer"])
def test_an_alignment_is_proposed_refined_checked_and_written_as_it_was_asked(
    monkeypatch: pytest.MonkeyPatch, abstention: str | None
) -> None:
    talk = SimpleNamespace(speakers=("dr", "pt"), places=lambda name: [0] if name == "dr" else [])
    begun = Aligned(name="file", groups="none", said=[1, 2], heard=[1, 2, 3], abstention=abstention)
    made, prefix = Calls(), "evals__transcripts__"
    made.stub(
        monkeypatch, **WRITES,
        **{f"{prefix}talk__read_talk": talk, f"{prefix}alignment__read_groups": "gold", f"{prefix}alignment__empty_alignment": begun,
           f"{prefix}alignment__alignment_cases": ({"id": 1}, {"id": 2}), f"{prefix}alignment__write_alignment": None,
           f"{prefix}accuracy__alignment_accuracy": SimpleNamespace(to_json=lambda: {"right": 1}), f"{prefix}alignment_page__write_alignment_page": None},
    )  # fmt: skip
    for module, name in (
        ("aligners", "lexical_alignment"),
        ("aligners", "ask_model"),
        ("refinement", "refine"),
    ):

        def changed(alignment: Aligned, *args: Any, name: str = name) -> Aligned:
            made.append((name, args, {}))
            return alignment.model_copy(update={"groups": f"{alignment.groups}+{name}"})

        monkeypatch.setattr(f"venire.evals.transcripts.{module}.{name}", changed)

    def align(options: str) -> Result:
        made.clear()
        ended = CliRunner().invoke(app, shlex.split(f"align s h {options} --json"))
        assert ended.exit_code == (4 if abstention else 0), ended.output
        return ended

    ended = align("--speaker dr --name n --check g --cases c.jsonl --differing -o a.json --page p.html")
    assert json.loads(ended.stdout) == (
        {"name": "n"} if abstention else {"name": "n", "accuracy": {"right": 1}}
    )
    assert made.of("empty_alignment") == [((talk, talk, "dr"), {})]
    assert [args for args, _ in made.of("read_talk")] == [(Path("s"),), (Path("h"),)]
    ((written, _),) = made.of("write_alignment")
    assert (written[0], written[1].groups, written[1].name) == (Path("a.json"), "none+lexical_alignment+refine", "n")  # fmt: skip
    assert made.of("alignment_accuracy") == ([] if abstention else [(("none+lexical_alignment+refine", "gold"), {"said": 2, "heard": 3})])  # fmt: skip
    assert [named for _, named in made.of("alignment_cases")] == [{"differing": True}]
    assert made.of("write_atomically") == [((Path("c.jsonl"), '{"id": 1}\n{"id": 2}\n'), {})]
    assert made.of("write_alignment_page")[0][0][1] == Path("p.html")
    align("--model m --base-url u --record r --raw -o a.json")
    assert made.of("ask_model") == [(("m", "u", Path("r")), {})] and made.of("write_alignment")[0][0][1].groups == "none+ask_model"  # fmt: skip
    align("--proposal p.csv -o a.json")
    assert made.of("write_alignment")[0][0][1].groups == "gold+refine" and not made.of("lexical_alignment")
    assert made.of("write_alignment")[0][0][1].aligner == "p.csv" and not made.of("alignment_cases")
    refused = CliRunner().invoke(app, shlex.split("align s h --speaker nurse"))
    assert isinstance(refused.exception, VenireError) and "no speaker 'nurse'" in str(refused.exception)


def suite_stubs(made: Calls, monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
    for name in ("venire.evals.suites.suite.load_suite", "venire.evals.ratings.people.load_ratings", "venire.evals.suites.score_table.load_scores"):  # fmt: skip
        monkeypatch.setattr(name, LOADERS[name])
    standing = SimpleNamespace(system="a", macro=0.5, win_rate=0.9)
    results = SimpleNamespace(judged="judged", board=SimpleNamespace(standings=(standing,)))
    named = {"suite_results__suite_results": results, **more}
    made.stub(monkeypatch, commands__suites__show_board=None, **{f"evals__suites__{name}": given for name, given in named.items()})  # fmt: skip


def test_a_suites_report_has_people_where_they_rated_and_holds_macro_scores_against_what_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, people = Calls(), SimpleNamespace(notes=("a note",))
    suite_stubs(
        made, monkeypatch, clinicians__agreement_with_people=people, clinicians__people_table="people", suite_report__write_suite_report=("page", {"d": 1}),
        suite_report__suite_terminal=("board",), suite_report__suite_sentences=("A sentence.",),
    )  # fmt: skip
    ran("suite report s.yaml -o out --data d --to dir --human h --require a>=0.5")

    assert made.of("agreement_with_people") == [(("judged", "ratings h"), {})]
    ((report, _),) = made.of("write_suite_report")
    assert report[1:] == (Path("dir"), people)
    assert made.of("show_board") == [((["board", "people"], ["A sentence.", "a note"]), {})]
    assert CliRunner().invoke(app, shlex.split("suite report s.yaml -o out --require a>=0.6")).exit_code == 1
    assert made.of("show_board")[1] == ((["board"], ["A sentence."]), {}) and made.of("write_suite_report")[1][0][1:] == (None, None)  # fmt: skip
    assert json.loads(ran("suite report s.yaml -o out --json").stdout) == {"d": 1} and len(made.of("show_board")) == 2  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "unreached", "code"), [(None, (), 0), ("max_usd", (), 3), (None, (DOWN,), 4)]
)
def test_references_are_judged_and_filtered_in_the_scenarios_that_are_named(
    monkeypatch: pytest.MonkeyPatch, limit: str | None, unreached: Any, code: int
) -> None:
    made, parts = Calls(), tuple(SimpleNamespace(name=name) for name in "pq")
    suite_stubs(
        made, monkeypatch, gold__gold_rubric=("questions", "right"), gold__run_gold=SimpleNamespace(limit=limit, unreached=unreached), gold__gold_parts=parts,
        gold__recorded_gold=["of p", "of q"], gold__gold_filter="filtered", gold__gold_json={"g": 1},
    )  # fmt: skip
    made.stub(monkeypatch, personas__load_jury=SimpleNamespace(name="j"))
    command = "suite gold s.yaml -o out --data d --jury j.yaml --rubric r --scenario p --scenario q --seed 6 --resamples 9 --model m --json"
    ended = CliRunner().invoke(app, shlex.split(command))

    assert ended.exit_code == code and json.loads(ended.stdout) == {"g": 1}, ended.output
    ((asked, _),) = made.of("run_gold")
    assert asked[0] == "suite s.yaml d" and (asked[1].folder, asked[1].model) == (Path("out"), "m")
    assert asked[2].name == "j" and asked[3:] == ("questions", ("p", "q"))
    assert made.of("gold_rubric") == [(("r",), {})] and made.of("gold_parts") == [(("suite s.yaml d", ("p", "q")), {})]  # fmt: skip
    assert [args for args, _ in made.of("recorded_gold")] == [
        (Path("out"), part, "j", "right") for part in parts
    ]
    ((_, verdicts), how) = made.of("gold_filter")[0]
    assert verdicts == {"p": "of p", "q": "of q"} and how == {"draws": Draws(6, 9)}
    assert ("raise it in s.yaml" in ended.stderr) is (limit is not None)


def test_a_table_of_scores_is_ranked_with_what_its_tokens_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Calls()
    suite_stubs(
        made, monkeypatch, board__board="standings", suite_cost__load_price_list="prices", suite_cost__load_token_costs={"a": 1},
        suite_tables__board_json={"j": 1}, suite_tables__board_sentences=("One.",), suite_tables__cost_sentences=("Two.",), suite_tables__board_tables=("board",),
        suite_tables__costs_table="costs", suite_report__write_board="page",
    )  # fmt: skip
    ran("suite table s.csv --columns c --tokens t --prices p -o out")
    assert made.of("load_token_costs") == [((Path("t"), "prices"), {})] and made.of("load_price_list") == [((Path("p"),), {})]  # fmt: skip
    assert made.of("board_json") == [(("s.csv", "standings", {"a": 1}), {})]
    assert made.of("cost_sentences") == [(("standings", {"a": 1}), {})]
    assert made.of("write_board") == [(("standings", {"j": 1}, ["One.", "Two."], Path("out")), {})]
    assert made.of("show_board") == [((["board", "costs"], ["One.", "Two."]), {})]
    made.clear()
    ran("suite table s.csv --tokens t")
    assert made.of("load_token_costs") == [((Path("t"), {}), {})]
    ran("suite table s.csv")
    assert len(made.of("load_token_costs")) == 1 and made.of("show_board")[-1][0][0] == ["board"]


@pytest.mark.parametrize(
    ("options", "wanted", "model"),
    [("--model m", True, "m"), ("", True, "local"), ("", False, None)],
)
def test_a_suite_runs_the_embedded_model_only_where_none_is_named_and_somebody_wants_it(
    monkeypatch: pytest.MonkeyPatch, options: str, wanted: bool, model: str | None
) -> None:
    made = Calls()
    ended = SimpleNamespace(
        limit=None, unreached=(), not_run={"q": "no data"}, heard=3, skipped=4, folder="out"
    )
    monkeypatch.setattr("venire.evals.suites.suite.load_suite", lambda suite, data: SimpleNamespace(juries=("j",)))  # fmt: skip
    made.stub(
        monkeypatch, evals__suites__suite_run__run_suite=ended, commands__suites__embedded_wanted=wanted
    )
    shown = ran(f"suite run s.yaml -o out {options}")

    ((_, session), _) = made.of("run_suite")[0]
    assert session.model == model
    assert (
        "q was skipped: no data" in shown.stderr
        and "now: 3;" in shown.stderr
        and "before: 4;" in shown.stderr
    )


def test_faults_that_found_no_place_are_counted_by_kind_and_nothing_is_planted_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = Calls()
    planted = tuple(SimpleNamespace(case=SimpleNamespace(id=name)) for name in ("a", "b", "c", "a~number", "b~number", "a~order"))  # fmt: skip
    made.stub(monkeypatch, evals__training__planting__planted_cases=planted, evals__training__planting__write_planted=[{"cases": 6, "clean": 3} for _ in range(2)])  # fmt: skip
    monkeypatch.setattr("venire.rubrics.case.load_cases", lambda path: iter("abc"))
    command = f"plant c.jsonl -o {tmp_path} --faults number,order"
    told = json.loads(ran(f"{command} --json").stdout)
    assert told == {"cases": 6, "clean": 3, "no_place": {"number": 1, "order": 2}}
    words = " ".join(ran(command).stdout.split())
    assert (
        "number: 2; not planted in 1 of 3 texts" in words and "order: 1; not planted in 2 of 3 texts" in words
    )
    assert made.of("write_planted")[0][0] == ([*planted], tmp_path)
    (tmp_path / "cases.jsonl").write_text("")
    refused = CliRunner().invoke(app, shlex.split(command))
    assert "already holds planted cases" in str(refused.exception) and len(made.of("write_planted")) == 2


def test_a_search_for_words_is_planned_run_and_written_or_says_what_stopped_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, result = Calls(), SimpleNamespace(first="first", returned="returned")
    stubs = {"plan__plan_optimisation": "plan", "optimisation__optimise": result, "optimisation__write_result": "files",
             "optimisation_page__write_optimisation": "page", "optimisation_page__optimisation_json": {"o": 1}, "optimisation_page__show_optimisation": None}  # fmt: skip
    made.stub(monkeypatch, **{f"evals__optimising__{name}": given for name, given in stubs.items()})

    assert "written: page" in ran("optimise o.yaml -o out").stderr
    ((args, _),) = made.of("optimise")
    assert args[:2] == ("plan", Path("out")) and made.of("write_result") == [
        ((Path("out"), "first", "returned"), {})
    ]
    assert made.of("write_optimisation") == [((result, Path("out"), "files"), {})] and len(made.of("show_optimisation")) == 1  # fmt: skip
    assert json.loads(ran("optimise o.yaml -o out --json").stdout) == {"o": 1} and len(made.of("show_optimisation")) == 1  # fmt: skip
    made.clear()
    for options, words in (("--redact -o out", "redact"), ("", "no folder for the results")):
        assert words in str(CliRunner().invoke(app, shlex.split(f"optimise o.yaml {options}")).exception)
    assert not made.of("optimise")

    def spent(*args: Any) -> None:
        raise BudgetSpent("max_usd")

    monkeypatch.setattr("venire.evals.optimising.optimisation.optimise", spent)
    stopped = CliRunner().invoke(app, shlex.split("optimise o.yaml -o out"))
    assert stopped.exit_code == 3 and "the test cases are not scored yet" in stopped.stderr
    assert not made.of("write_result")


def test_examples_alone_are_written_without_a_training(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"sft": 4, "sft_upsampled": 6, "dpo": 2, "dropped": {"too long": 3}}
    made, examples = Calls(), SimpleNamespace(summary=lambda: counts)
    monkeypatch.setattr("venire.evals.training.settings.load_train_file", lambda path: "settings")
    made.stub(monkeypatch, evals__training__examples__examples_from=examples, evals__training__examples__write_examples=None, evals__training__training_run__train_judge=None)  # fmt: skip
    assert json.loads(ran("train t.yaml -o out --examples-only --json").stdout) == counts
    told = " ".join(ran("train t.yaml -o out --examples-only").stdout.split())
    assert "4 ballots (6 after" in told and "2 pairs" in told and "left out: 3 too long" in told
    assert made.of("write_examples") == [((examples, Path("out")), {})] * 2 and not made.of("train_judge")


def test_who_waits_and_what_is_kept_back_is_said_on_stderr_only_where_somebody_holds_a_seat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Calls()
    people = [SeatedPerson("ann", 1, 2, 60.0), SeatedPerson("bob", 0, 3, 60.0), SeatedPerson("cy", 2, 0, 0.0)]
    made.stub(monkeypatch, agents__desk__seated_people=tuple(people), orchestration__record__Store__read=SimpleNamespace(release=lambda: None), orchestration__reading__export__sealed_note="2 cases are left out")  # fmt: skip
    assert ended_with(lambda: say_who_waits("run"))[1].splitlines() == [
        "1 ballot waits for ann; 2 given in 1 min: venire sit run --as ann", "2 ballots wait for cy: venire sit run --as cy",
    ]  # fmt: skip
    assert ended_with(lambda: say_sealed(Path("run")))[1] == "2 cases are left out\n"
    assert made.of("sealed_note") and made.of("read") == [((Path("run"),), {})]
    made.clear()
    made.stub(monkeypatch, agents__desk__seated_people=())
    assert ended_with(lambda: say_sealed("run"))[1] == "" and not made.of("read")


@pytest.mark.parametrize(
    ("stdin", "stderr", "model", "answer", "filled"),
    [
        (True, True, None, True, ["local"]), (True, True, None, False, [None]), (True, True, "openai/x", None, ["openai/x"]),
        (False, True, None, None, [None]), (True, False, None, None, [None]),
    ],
)  # fmt: skip
def test_the_embedded_model_is_offered_only_to_somebody_at_a_terminal_who_named_none(
    monkeypatch: pytest.MonkeyPatch, stdin: bool, stderr: bool, model: str | None, answer: bool | None, filled: list[str | None]
) -> None:  # fmt: skip
    asked = list[str]()
    monkeypatch.setattr("venire.commands.options.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: stdin), stderr=SimpleNamespace(isatty=lambda: stderr)))  # fmt: skip

    def confirm(question: str, **options: Any) -> bool:
        asked.append(question)
        assert options == {"default": False, "err": True}
        return bool(answer)

    monkeypatch.setattr(click, "confirm", confirm)
    assert [jury.seats[0].model for jury in filled_juries([load_jury("single")], model)] == filled
    assert len(asked) == (answer is not None)


def test_a_sheet_that_is_named_is_read_of_every_workbook_and_of_no_other_file(monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr("venire.rubrics.workbook.data_sheet", lambda path: (Path(f"{path}#First"), f"{path}: the first of two"))  # fmt: skip
    given = list[Any]()
    command = click.Command("c", params=[click.Option(["--one"], type=Path), click.Option(["--two"], type=Path), click.Option(["--run"])],
                            callback=sheet_option("one", "two", "run")(lambda **values: given.append(values)))  # fmt: skip
    command.params += command.callback.__click_params__  # type: ignore[union-attr]

    def read(options: str) -> Result:
        return CliRunner().invoke(command, shlex.split(options))

    told = read("--one a.xlsx --two b.ods --run r.xlsx")
    assert given.pop() == {"one": Path("a.xlsx#First"), "two": Path("b.ods#First"), "run": "r.xlsx"}
    assert told.stderr.splitlines() == ["a.xlsx: the first of two", "b.ods: the first of two"]
    assert read("--one a.xlsx --two b.csv --sheet Mine").stderr == ""
    assert given.pop() == {"one": Path("a.xlsx#Mine"), "two": Path("b.csv"), "run": None}
    refused = read("--two b.csv --sheet Mine")
    assert "no workbook was given" in str(refused.exception) and not given


def test_a_suite_covers_its_own_scenarios_and_without_one_those_that_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    made = Calls()
    suite_stubs(
        made, monkeypatch, taxonomy__load_taxonomy="named places", taxonomy__load_listings={"l": "listed"}, taxonomy__load_survey="survey",
        taxonomy__taxonomy_coverage="coverage", suite_plan__coverage_json={"c": 1}, suite_plan__coverage_table="table", suite_plan__coverage_sentences=("One.",),
        suite_plan__survey_table="sorted",
    )  # fmt: skip
    own = SimpleNamespace(taxonomy="own places", listed={"o": "its own"})
    monkeypatch.setattr("venire.evals.suites.suite.load_suite", lambda suite, data: own)

    def covered(options: str) -> tuple[Any, list[Any]]:
        made.clear()
        ran(f"suite coverage {options}")
        ((asked, _),) = made.of("taxonomy_coverage")
        return (asked[0], [*asked[1]]), [args for args, _ in made.of("load_taxonomy")]

    assert covered("") == (("named places", ["listed"]), [("medhelm",)])
    assert covered("s.yaml") == (("own places", ["its own"]), [])
    assert covered("s.yaml --taxonomy t --survey f") == (("named places", ["its own"]), [("t",)])
    assert made.of("load_survey") == [((Path("f"), "named places"), {})]
    assert made.of("show_board") == [((["table", "sorted"], ("One.",)), {})]
