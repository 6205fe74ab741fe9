"""A person in a seat: her deliberations are parked and replayed, and come to what they would have if she had answered at once."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from command_line import Started, venire
from inspector_server import InspectorServer
from rating_desk import DeskProcess
from real_browser import real_browser

from venire.agents.desk import Desk, cases_asked
from venire.cli import app
from venire.evals.rating.server import missing_answers
from venire.orchestration.record import Store

CASES = int(os.environ.get("VENIRE_SEAT_CASES", "4"))
LINES = [
    {"accurate": {"score": 2, "rationale": "The dose is wrong.", "evidence": ["He had fever."]}, "thorough": {"score": 3, "rationale": "Much of it."}},
    {"accurate": {"score": 3, "rationale": "The others read it rightly.", "moved_by": "the quote of the source"}, "thorough": {"score": 3, "rationale": "Much of it.", "moved_by": "nothing"}},
]  # fmt: skip
"""What ada says in her first round, and after it."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    rubric = {
        "name": "notes",
        "version": 1,
        "scales": {"agree5": {"level": "ordinal", "anchors": {n: f"level {n}" for n in range(1, 6)}}},
        "attributes": [
            {"name": name, "question": f"Is it {name}?", "scale": "agree5"}
            for name in ("accurate", "thorough")
        ],
    }
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(rubric))
    rows = [{"id": f"c{i:02}", "source": f"Fever of 39.{i}.", "output": f"He had fever. <script>window.ran=1</script> {i}"} for i in range(CASES)]  # fmt: skip
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "ada.yaml").write_text(yaml.safe_dump({"seats": {"ada": LINES}}))
    return tmp_path


def write_jury(folder: Path, protocol: str, ada: dict[str, Any], **more: Any) -> Path:
    limits = {"max_rounds": 2, **({"max_replans": 0} if protocol.startswith("magentic") else {})}
    seats = [{"name": "one", "model": "scripted"}, {"name": "two", "model": "scripted"}, {"name": "ada", **ada}]  # fmt: skip
    jury = {"name": "bench", "protocol": protocol, "limits": limits, "seats": seats, "orchestrator": {"model": "scripted"}, **more}  # fmt: skip
    file = folder / f"{protocol}-{ada['model'].partition('/')[0]}.yaml"
    file.write_text(yaml.safe_dump(jury))
    return file


def run(folder: Path, jury: Path, output: str, *more: str) -> Result:
    command = ["run", folder / "cases.jsonl", "--rubric", folder / "rubric.yaml", "--jury", jury, "-o", folder / output, "--quiet"]  # fmt: skip
    result = CliRunner().invoke(app, [*map(str, command), *more], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def answer_all(folder: Path) -> int:
    """Ada answers whatever waits for her, by her lines; how many ballots that were."""
    desk = Desk(folder)
    answered = 0
    try:
        while (place := desk.open_place("ada")) is not None:
            task = desk.task("ada", place)
            assert task is not None
            sheet = desk.sheet(task)
            assert sheet.own or not sheet.heard, "no other vote on her page before hers"
            line = LINES[min(sheet.round, len(LINES)) - 1]
            for name in sheet.asked:
                for part in sheet.parts[name]:
                    if part in line[name]:
                        desk.save(task, f"{task.id}-{name}-{part}", name, part, line[name][part], seconds=30)
            assert missing_answers(desk.rubric(sheet), sheet, desk.answers(task)) == []
            desk.mark_done(task, True)
            answered += 1
    finally:
        desk.close()
    return answered


def told(run: Path) -> dict[str, Any]:
    """Every transcript without what it cost: the words, the votes, who saw what, and why it ended."""
    store = Store.read(run)
    try:
        found = {
            each.case: each.transcript.model_dump()
            for each in store.finished_deliberations(after=0, most=10_000)
        }
    finally:
        store.release()
    return {case: _without_cost(transcript) for case, transcript in found.items()}


def _without_cost(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_cost(each) for key, each in value.items() if key != "spent"}
    return [_without_cost(each) for each in value] if isinstance(value, list | tuple) else value


def calls(run: Path) -> int:
    store = Store.read(run)
    try:
        return store.cost().calls
    finally:
        store.release()


@pytest.mark.parametrize(
    "protocol", ["orchestrated", "delphi", "moderated", "debate", "magentic-one", "panel"]
)
def test_a_parked_deliberation_ends_as_one_that_never_waited(project: Path, protocol: str) -> None:
    at_once = run(project, write_jury(project, protocol, {"model": f"scripted/{project / 'ada.yaml'}"}), "at-once")  # fmt: skip
    jury = write_jury(project, protocol, {"model": "person", "usd_per_hour": 120})
    visits = 0
    parked = run(project, jury, "parked")
    assert f"{CASES} ballots wait for ada" in parked.stderr
    assert told(project / "parked") == {}
    while "for ada" in parked.stderr:
        assert answer_all(project / "parked")
        parked = run(project, jury, "parked")
        visits += 1

    assert told(project / "parked") == told(project / "at-once")
    assert len(told(project / "at-once")) == CASES
    assert calls(project / "parked") == calls(project / "at-once")
    assert visits <= 3
    assert at_once.stderr.count("ada") == 0
    status = json.loads(CliRunner().invoke(app, ["status", str(project / "parked"), "--json"]).stdout)
    (ada,) = status["people"]
    assert ada["waiting"] == 0
    assert status["known_usd"] == pytest.approx(120 * ada["seconds"] / 3600)


def test_her_blind_vote_is_a_baseline_and_her_revised_one_is_not(project: Path) -> None:
    jury = write_jury(project, "orchestrated", {"model": "person/ada"})
    run(project, jury, "sat")
    while answer_all(project / "sat"):
        run(project, jury, "sat")
    rows = [f"c{i:02},{rater},{name},{value}" for i in range(CASES) for rater, value in (("ada", 4), ("dr", 2), ("mo", 2)) for name in ("accurate", "thorough")]  # fmt: skip
    (project / "human.csv").write_text("case,rater,attribute,value\n" + "\n".join(rows) + "\n")
    found = CliRunner().invoke(app, ["compare", str(project / "sat"), "--human", str(project / "human.csv"), "--json", "--quiet"], catch_exceptions=False)  # fmt: skip
    report = json.loads(found.stdout)

    shown = CliRunner().invoke(app, ["compare", str(project / "sat"), "--human", str(project / "human.csv"), "--quiet", "--full"], catch_exceptions=False)  # fmt: skip
    assert "ada, blind" in shown.stdout
    error = report["arms"]["ada, blind"]["accurate"]["mae"]["value"]
    assert error == 0, "she gave 2 blind, as people do; her revised 3 is not held against anybody"
    assert (
        "ada was a juror in bench, and is among the people that bench is compared with, so agreement with people may be too high"
        in report["notes"]
    )
    assert "ada was a juror in bench: the baseline 'ada, blind' has only this person's blind votes, not the revised ones" in report["notes"]  # fmt: skip

    def replay(*options: object) -> Result:
        command = ["replay", project / "sat", "-o", project / f"child{options[0]}", *options]
        return CliRunner().invoke(app, [*map(str, command), "--quiet"], catch_exceptions=False)

    controls = replay("--controls", "--draws", 1)
    assert "ada is a person, and is not asked again" in controls.stderr
    assert "bench, one" in controls.stdout and "bench, ada" not in controls.stdout
    assert f"{CASES} ballots wait for ada" in replay("--without", "two").stderr


def test_a_person_presides(project: Path) -> None:
    jury = write_jury(project, "orchestrated", {"model": "scripted"}, orchestrator={"model": "person/bea"})
    assert "for bea" in run(project, jury, "led").stderr
    desk = Desk(project / "led")
    for _ in range(8):
        while (place := desk.open_place("bea")) is not None:
            task = desk.task("bea", place)
            assert task is not None
            sheet = desk.sheet(task)
            for name in sheet.asked:
                for part, schema in sheet.parts[name].items():
                    legal = schema.get("items", schema).get("enum") or [
                        schema.get("items", schema).get("const")
                    ]
                    value = legal[:1] if schema.get("type") == "array" else legal[0] or "Because of the dose."
                    desk.save(task, f"{task.id}-{name}-{part}", name, part, value, seconds=1)
            assert missing_answers(desk.rubric(sheet), sheet, desk.answers(task)) == []
            desk.mark_done(task, True)
        if "for bea" not in run(project, jury, "led").stderr:
            break
    desk.close()

    assert len(told(project / "led")) == CASES
    wrong = write_jury(project, "magentic-one", {"model": "scripted"}, orchestrator={"model": "person/bea"})
    command = ["run", project / "cases.jsonl", "--rubric", project / "rubric.yaml", "--jury", wrong, "-o", project / "m"]  # fmt: skip
    refused = CliRunner().invoke(app, [*map(str, command)])
    assert "cannot fill in the ledgers" in str(refused.exception)


def test_a_seat_that_never_answers_abstains_and_holds_nobody_up(project: Path) -> None:
    rows = [{"id": f"other{i:03}", "output": f"Text {i}."} for i in range(60)]
    (project / "others.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    both = (project / "cases.jsonl").read_text() + (project / "others.jsonl").read_text()
    # Two arms: one with ada, one without. The second finishes though the first waits.
    (project / "cases.jsonl").write_text(both)
    jury = write_jury(project, "orchestrated", {"model": "person/ada", "wait": "2s"}, quorum=3)
    free = yaml.safe_load(jury.read_text()) | {"name": "free", "quorum": 1}
    free["seats"].pop()
    (project / "free.yaml").write_text(yaml.safe_dump(free))
    parked = run(project, jury, "both", "--jury", str(project / "free.yaml"))
    assert f"{60 + CASES} ballots wait for ada" in parked.stderr
    store = Store.read(project / "both")
    done = {arm.arm: arm.done for arm in store.arm_progress(since=0)}
    store.release()
    assert done == {"bench": 0, "free": 60 + CASES}
    with InspectorServer(project / "both") as inspector:
        assert inspector.ask("case?id=c00&in_arm=free").status == 404
        assert "c00" not in inspector.ask("cases").text, "another jury's votes wait for hers too"
    note = f"{60 + CASES} cases are left out, because votes stay hidden until every person on the jury has cast a first, blind vote"
    assert note in parked.stdout
    assert_sealed(project, "c00", "free", note)
    time.sleep(2.2)
    settled = Desk(project / "both")
    task = settled.task("ada", 0)
    assert task is not None
    settled.withdraw(task)
    sheet = settled.sheet(task)
    changed = (sheet.exhibits[0].model_copy(update={"text": "Other words."}), *sheet.exhibits[1:])
    assert settled.has_lapsed("ada", sheet.model_copy(update={"asked": ("accurate",), "round": 2}))
    assert not settled.has_lapsed("ada", sheet.model_copy(update={"exhibits": changed}))
    assert not settled.has_lapsed("bea", sheet)
    settled.close()

    again = run(project, jury, "both", "--jury", str(project / "free.yaml"))

    assert "for ada" not in again.stderr
    with InspectorServer(project / "both") as inspector:
        assert inspector.ask("case?id=c00&in_arm=free").status == 200
        assert "c00" in inspector.ask("cases").text
    assert "left out" not in again.stdout
    shown = json.loads(CliRunner().invoke(app, ["show", str(project / "both"), "c00", "--arm", "bench", "--json"]).stdout)  # fmt: skip
    (case,) = shown["cases"]
    assert "sealed" not in shown
    assert {(each["juror"], each["reason"]) for each in case["abstentions"]} == {("ada", "no_answer")}
    assert {verdict["status"] for verdict in case["verdict"].values()} == {"hung"}, "two of a quorum of three"
    desk = Desk(project / "both")
    assert desk.open_place("ada") is None, "nobody asks her any more"
    desk.close()


def assert_sealed(project: Path, case: str, arm: str, note: str) -> None:
    """No command shows a vote of a jury on a case that waits for a person's blind one, and each says so."""

    def said(*command: str) -> Result:
        return CliRunner().invoke(app, [command[0], str(project / "both"), *command[1:]])

    for command in (
        ["show", case, "--arm", arm],
        ["show", case, "--json"],
        ["export", "--to", "csv", "--case", case],
    ):
        refused = said(*command)
        assert refused.stdout == ""
        assert f"{case}: a person on the jury has not cast the first, blind vote yet" in str(
            refused.exception
        )
    for form in ("csv", "transcript", "html", "graphml"):
        exported = said("export", "--to", form)
        assert case not in exported.stdout, form
        assert note in exported.stderr
        assert exported.exit_code == 0
    site = said("export", "--to", "site", "-o", str(project / "site"))
    assert note in site.stderr
    assert not any(case in page.read_text() for page in (project / "site").glob("*.html"))
    assert note in said("show", "--summary").stdout
    listed = json.loads(said("show", "--json").stdout)
    assert listed["cases"] == [] and case in listed["sealed"]


def test_killed_between_her_blind_vote_and_her_revision(project: Path) -> None:
    jury = write_jury(project, "orchestrated", {"model": "person/ada"})
    run(
        project, write_jury(project, "orchestrated", {"model": f"scripted/{project / 'ada.yaml'}"}), "at-once"
    )
    command = ["run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", str(jury), "-o", "killed", "--quiet", "--watch"]  # fmt: skip
    watching = Started(*command, cwd=project)
    _until(lambda: (project / "killed" / "desk.sqlite").exists() and _waiting(project) == CASES)
    answer_all(project / "killed")
    _until(lambda: _waiting(project) > 0)
    watching.kill()
    watching.wait()
    while answer_all(project / "killed"):
        run(project, jury, "killed")

    assert told(project / "killed") == told(project / "at-once")
    assert calls(project / "killed") == calls(project / "at-once")


def _waiting(project: Path) -> int:
    desk = Desk(project / "killed")
    try:
        return sum(person.waiting for person in desk.seats())
    finally:
        desk.close()


def _until(condition: Any) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_she_votes_and_revises_in_the_browser(project: Path) -> None:
    jury = write_jury(project, "orchestrated", {"model": "person/ada"})
    run(project, jury, "sat")
    desk = DeskProcess("sit", "sat", "--as", "ada", "--port", 0, people=1, folder=project)
    try:
        with real_browser() as browser:
            page = browser.new_page()
            page.goto(desk.links["ada"])
            page.locator(".question.now").wait_for()
            assert "What has been said" not in page.content()
            for key in ("1", "j", "1"):
                page.keyboard.press(key)
            page.locator(".send").click()
            page.get_by_text("Still open: accurate, thorough").wait_for()
            assert page.locator(".left").inner_text() == "2 questions open"
            for name in ("accurate", "thorough"):
                page.locator(f"#q-{name} textarea[data-part=rationale]").fill(f"The {name} dose. <b>x</b>")
            page.locator(".send").click()
            page.locator("body[data-place='1'] .question.now").wait_for()
            # The case goes on by itself in the other process; the rest waits.
            went_on = ["run", project / "cases.jsonl", "--rubric", project / "rubric.yaml", "--jury", jury, "-o", project / "sat", "--quiet"]  # fmt: skip
            done = venire(*went_on, cwd=project)
            assert "for ada" in done.stderr
            waiting = Desk(project / "sat")
            task = waiting.task("ada", CASES)
            waiting.close()
            assert task is not None, "her first case came back to her"
            page.goto(f"{desk.links['ada']}?at={CASES + 1}")
            said = page.locator(".others").inner_text()
            assert "You 1" in said
            assert "one " in said
            assert page.evaluate("window.ran") is None
            assert (
                page.locator("#q-accurate .moved_by").is_hidden() or page.locator("#q-accurate").count() == 0
            )
            name = page.locator(".question").first.get_attribute("data-attribute")
            page.keyboard.press("1")
            reason = page.locator(f"#q-{name} textarea[data-part=rationale]")
            assert reason.input_value() == f"The {name} dose. <b>x</b>", (
                "a vote that is kept keeps its reason"
            )
            page.keyboard.press("4")
            assert reason.input_value() == ""
            moved = page.locator(f"#q-{name} textarea[data-part=moved_by]")
            assert moved.is_visible()
            reason.fill("I see.")
            page.locator(".send").click()
            page.get_by_text(re.compile("Still open")).wait_for()
    finally:
        desk.stop()


def test_the_last_click_stands_once_however_often_it_is_sent_and_what_was_withdrawn_waits_for_nobody(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    sheet = desk.keep("{}")
    for _ in range(2):  # asked again, nothing is on the desk twice
        desk.add_tasks("ann", [(f"address {number}", f"c{number}", sheet) for number in range(3)])
    desk.add_tasks("bea", [("address 0", "c0", sheet)])
    first, second = desk.task("ann", 0), desk.task("ann", 1)
    assert first is not None and second is not None and desk.task("ann", 3) is None
    for click, value, seconds in (("k1", 2, 5.0), ("k2", 4, 3.0), ("k1", 2, 5.0)):
        answers = desk.save(first, click, "accurate", "score", value, seconds=seconds)
    assert answers == {"accurate": {"score": 4}} and desk.seconds(first) == 8
    assert [(click.value, click.person) for click in desk.clicks()] == [(2, "ann"), (4, "ann")]

    assert desk.open_place("ann") == 0
    desk.mark_done(first, True)
    assert desk.open_place("ann") == 1
    desk.withdraw(second)
    assert desk.open_place("ann") == desk.open_place("ann", after=2) == 2
    assert desk.seats() == [("ann", 1, 1, 8.0), ("bea", 1, 0, 0)]
    assert desk.counts() == {"ann": (1, 2), "bea": (0, 1)}
    assert cases_asked(tmp_path) == {"ann": {"c0": True, "c1": True, "c2": False}, "bea": {"c0": False}}
    desk.close()
