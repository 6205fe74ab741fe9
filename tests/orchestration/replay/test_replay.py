"""Replays: what is asked again, that the plan says it, and that the changed jury finds what it would have found by itself."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import Started, venire
from openai_server import Call, ProviderServer, filled
from planted_run import RUBRIC, SCRIPTS, planted_case, planted_run
from postgres_cluster import PASSWORD, Cluster
from rich.console import Console
from written_transcripts import written_run

from venire import Case, Jury, Limits, Rubric, Store, Transcript, VenireError, replay
from venire.agents.model import Reply
from venire.orchestration.reading.export import verdicts
from venire.orchestration.record import Arm, Location
from venire.orchestration.replay import replay as replaying
from venire.orchestration.replay.change import Change, SeatChange, changed_jury, parse_limits
from venire.orchestration.replay.planning import _legal_value
from venire.orchestration.replay.replay import (
    LayeredCalls,
    Parent,
    ReplayedArm,
    ReplaySession,
    open_parent,
    plan_replay,
    run_replay,
)
from venire.orchestration.run_session import RunSession, run_session
from venire.orchestration.worked_examples import ScoredCases
from venire.personas.options import Shots

QUIET = Console(quiet=True)
CASES = [
    Case(id=f"c{number}", source=(f"Note {number}: fever.",), output=f"Summary {number}.")
    for number in range(6)
]


@pytest.fixture
def rubric() -> Rubric:
    return Rubric.model_validate(
        {
            "name": "mine",
            "version": 1,
            "scales": {"agree": {"level": "ordinal", "anchors": {1: "no", 2: "partly", 3: "yes"}}},
            "attributes": [{"name": "accurate", "question": "Is it true?", "scale": "agree"}],
        }
    )


def steady(call: Call) -> Any:
    """Every juror keeps its score, which hangs on its model, its stance and the case."""
    found = re.search(r"Summary (\d+)\.", call.prompt)
    stance = re.search(r"You attend to: (.*)", call.prompt)
    seed = f"{call.model}{stance.group(1) if stance else ''}{found.group(1) if found else ''}"
    score = 1 + int(hashlib.sha256(seed.encode()).hexdigest(), 16) % 3
    assert call.schema is not None
    return filled(call.schema, lambda _: score, moved_by="a quote", finding="disputed")


def jury_of(url: str, protocol: str, size: int, **fields: Any) -> Jury:
    return Jury.model_validate(
        {
            "name": "bench",
            "protocol": protocol,
            "limits": {"max_rounds": 2},
            "seats": [{"name": n, "model": f"server/{n}", "base_url": url} for n in "abcde"[:size]],
            "orchestrator": {"model": "server/boss", "base_url": url},
            **fields,
        }
    )


def hear(folder: Location, rubric: Rubric, jury: Jury) -> None:
    run_session(RunSession(cases=CASES, rubric=rubric, juries=[jury], folder=folder), QUIET, quiet=True)


def outcomes(folder: Location) -> dict[str, Any]:
    store = Store.read(folder)
    try:
        return {v.case: {n: o.model_dump() for n, o in v.outcomes.items()} for _, v in verdicts(store)}
    finally:
        store.release()


def votes(folder: Location, seat: str, round: int = 1) -> dict[str, Any]:
    store = Store.read(folder)
    try:
        return {
            v.case: entry.ballot.votes[0].value
            for _, v in verdicts(store)
            for entry in v.transcript.ballots
            if (entry.speaker, entry.round) == (seat, round)
        }
    finally:
        store.release()


def replayed(run: Location, child: Location, change: Change) -> int:
    """Replay; the number of new calls that the plan named."""
    session = ReplaySession(run=run, folder=child, changes=(change,))
    plan = plan_replay(session)
    run_replay(session, QUIET, quiet=True)
    return plan.new


@pytest.mark.parametrize(
    ("protocol", "seats"),
    [
        ("panel", 3),
        ("delphi", 5),
        ("orchestrated", 3),
        ("orchestrated", 5),
        ("moderated", 3),
        ("debate", 3),
        ("escalate", 5),
    ],
)
@pytest.mark.parametrize(
    "change", [Change(), Change(without=("c",)), Change(limits={"max_rounds": 1})], ids=str
)
def test_a_replay_makes_the_planned_calls_and_finds_what_the_changed_jury_finds(
    tmp_path: Path, rubric: Rubric, protocol: str, seats: int, change: Change
) -> None:
    parent, child, fresh = (tmp_path / name for name in ("parent", "child", "fresh"))
    with ProviderServer(steady) as server:
        jury = jury_of(server.url, protocol, seats)
        hear(parent, rubric, jury)
        written, made = (parent / "record.sqlite").read_bytes(), len(server.calls)
        planned = replayed(parent, child, change)
        asked = len(server.calls) - made
        hear(fresh, rubric, changed_jury(jury, change))

    assert asked == planned
    assert outcomes(child) == outcomes(fresh)
    assert (parent / "record.sqlite").read_bytes() == written
    if change == Change():
        assert planned == 0
        assert outcomes(child) == outcomes(parent)


def test_of_seats_alike_the_one_that_is_named_is_struck(tmp_path: Path, rubric: Rubric) -> None:
    """They share a model and a prompt, so their answers are told apart by a repeat number alone."""

    def by_turn(call: Call) -> Any:
        assert call.schema is not None
        return filled(call.schema, lambda _: 1 + call.number % 3, moved_by="a quote")

    parent = tmp_path / "parent"
    with ProviderServer(by_turn) as server:
        same = {"model": "server/same", "base_url": server.url}
        seats = [{"name": name, **same} for name in ("a", "b", "c")]
        hear(parent, rubric, jury_of(server.url, "panel", 3, seats=seats))
        before, made = {name: votes(parent, name) for name in "abc"}, len(server.calls)
        for gone in "abc":
            assert replayed(parent, tmp_path / gone, Change(without=(gone,))) == 0
            for name in set("abc") - {gone}:
                assert votes(tmp_path / gone, name) == before[name]
        assert len(server.calls) == made
        # A seat that becomes like another is still a juror of its own.
        jury = jury_of(server.url, "panel", 3, seats=[*seats[:2], {**seats[2], "persona": "skeptic"}])
        other = changed_jury(jury, Change(seats=(SeatChange("a", "persona", "skeptic"),)))

    assert other.first_repeats[0] != other.first_repeats[2]
    assert other.first_repeats[1:] == jury.first_repeats[1:]


@pytest.mark.parametrize("protocol", ["delphi", "orchestrated", "moderated"])
def test_who_leaves_keeps_its_vote_and_who_is_struck_does_not(
    tmp_path: Path, rubric: Rubric, protocol: str
) -> None:
    with ProviderServer(steady) as server:
        hear(tmp_path / "parent", rubric, jury_of(server.url, protocol, 5))
        made = len(server.calls)
        planned = replayed(tmp_path / "parent", tmp_path / "left", Change(leaving=("c",), from_round=2))
        assert len(server.calls) - made == planned
        replayed(tmp_path / "parent", tmp_path / "struck", Change(without=("c",), from_round=2))
    store = Store.read(tmp_path / "left")
    left = {v.case: v for _, v in verdicts(store)}
    store.release()
    store = Store.read(tmp_path / "struck")
    struck = {v.case: v for _, v in verdicts(store)}
    store.release()
    deliberated = [case for case, verdict in left.items() if verdict.transcript.rounds > 1]

    assert deliberated
    for case in deliberated:
        for verdict in (left[case], struck[case]):
            assert {e.round for e in verdict.transcript.ballots if e.speaker == "c"} == {1}
        assert "c" in left[case].transcript.standing()["accurate"]
        assert "c" not in struck[case].transcript.standing()["accurate"]
        assert left[case]["accurate"].votes == struck[case]["accurate"].votes + 1


@pytest.mark.parametrize("protocol", ["delphi", "orchestrated"])
@pytest.mark.parametrize("persuades", [False, True])
def test_with_another_persona_the_plan_is_a_forecast(
    tmp_path: Path, rubric: Rubric, protocol: str, persuades: bool
) -> None:
    """It holds where the new juror gives the old one's scores in other words; a verdict is always the changed jury's."""

    def answer(call: Call) -> Any:
        plain = re.sub(r"You attend to: .*", "", call.prompt) if not persuades else call.prompt
        body = {**call.body, "messages": [{"content": plain}]}
        words = hashlib.sha256(call.prompt.encode()).hexdigest()
        given = steady(Call(call.model, body, call.headers, call.number))
        return {
            name: {**part, "rationale": words} if "rationale" in part else part
            for name, part in given.items()
        }

    change = Change(seats=(SeatChange("b", "persona", "skeptic"),))
    session = ReplaySession(run=tmp_path / "parent", folder=tmp_path / "child", changes=(change,))
    with ProviderServer(answer) as server:
        jury = jury_of(server.url, protocol, 3)
        hear(tmp_path / "parent", rubric, jury)
        made, plan = len(server.calls), plan_replay(session)
        run_replay(session, QUIET, quiet=True)
        asked = len(server.calls) - made
        hear(tmp_path / "fresh", rubric, changed_jury(jury, change))

    assert plan.changed_seats == ("b",)
    assert "this is a forecast: it is unknown what b will say" in str(plan)
    assert persuades or asked == plan.new_in_other_words
    assert outcomes(tmp_path / "child") == outcomes(tmp_path / "fresh")


def test_before_the_round_everything_is_as_it_was(tmp_path: Path, rubric: Rubric) -> None:
    change = Change(seats=(SeatChange("b", "persona", "skeptic"),), from_round=2)
    with ProviderServer(steady) as server:
        hear(tmp_path / "parent", rubric, jury_of(server.url, "delphi", 3))
        replayed(tmp_path / "parent", tmp_path / "child", change)
        asked = [call for call in server.calls if call.model == "b" and "You attend to" in call.prompt]

    assert votes(tmp_path / "child", "b") == votes(tmp_path / "parent", "b")
    assert all("This is round" in call.prompt for call in asked)


def test_what_was_spent_before_the_round_counts_against_the_limits_of_the_replay(
    tmp_path: Path, rubric: Rubric
) -> None:
    """Else a deliberation that is replayed from a round on could spend all of its tokens a second time."""

    def answer(call: Call) -> Any:
        assert call.schema is not None
        return filled(call.schema, lambda _: {"a": 1, "b": 2, "c": 3}[call.model], moved_by="a quote")

    def heard(folder: Path) -> Transcript:
        store = Store.read(folder)
        try:
            return next(verdict.transcript for _, verdict in verdicts(store))
        finally:
            store.release()

    def hear_one(folder: Path, **limits: int) -> Transcript:
        jury = jury_of(server.url, "delphi", 3, limits=limits)
        run_session(
            RunSession(cases=CASES[:1], rubric=rubric, juries=[jury], folder=folder), QUIET, quiet=True
        )
        return heard(folder)

    change = Change(seats=(SeatChange("b", "persona", "skeptic"),), from_round=2)
    with ProviderServer(answer) as server:
        of_two_rounds = hear_one(tmp_path / "two", max_rounds=2).cost.tokens
        parent = hear_one(tmp_path / "parent", max_rounds=3, max_tokens=of_two_rounds)
        replayed(tmp_path / "parent", tmp_path / "child", change)
    child = heard(tmp_path / "child")

    assert (parent.rounds, parent.stop.limit) == (child.rounds, child.stop.limit) == (2, "max_tokens")


def test_python_gives_both_verdicts(tmp_path: Path, rubric: Rubric) -> None:
    with ProviderServer(steady) as server:
        hear(tmp_path / "parent", rubric, jury_of(server.url, "delphi", 3))
        (pair,) = replay(tmp_path / "parent", "c1", without="c")

    assert pair.before.case == pair.after.case == "c1"
    first = pair.differences()[0]
    assert (first.round, first.who, first.after) == (1, "c", None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Change(without=("z",)), "no seat 'z'"),
        (Change(without=("a", "b", "c")), "no juror would be left"),
        (Change(leaving=("c",)), "before its first vote"),
        (Change(limits={"max_rounds": 1}, from_round=2), "whole deliberation"),
        (Change(limits={"max_rounds": 0}), "greater than or equal to 1"),
        (Change(limits={"max_round": 2}), "max_round"),
        (Change(without=("a",)), "argues in the debate"),
        (Change(without=("a",), advocates=("a", "b")), "argues in the debate"),
        (Change(without=("a",), advocates=("b", "c"), from_round=2), "argues in the debate"),
    ],
    ids=str,
)
def test_what_cannot_be_replayed_is_refused(change: Change, words: str) -> None:
    with pytest.raises(VenireError, match=re.escape(words)):
        changed_jury(jury_of("http://127.0.0.1:1/v1", "debate", 3), change)


def test_who_is_struck_takes_its_weight_along_and_seats_keep_the_numbers_of_their_answers() -> None:
    seats = [{"name": name, "model": "server/same"} for name in "abc"]
    jury = Jury.model_validate(
        {"name": "j", "protocol": "panel", "repeats": 2, "seats": seats, "count": "weighted", "weights": {"a": 1, "b": 2, "c": 3}}
    )  # fmt: skip
    after = changed_jury(jury, Change(without=("b",)))
    assert (after.weights, after.seat_names) == ({"a": 1, "c": 3}, ("a", "c"))
    assert (jury.first_repeats, after.first_repeats) == ((0, 2, 4), (0, 4))
    # Made like the other two, a changed seat draws beyond them; made like nobody, from the beginning.
    odd = jury.model_copy(
        update={"seats": (jury.seats[0].model_copy(update={"model": "server/odd"}), *jury.seats[1:])}
    )
    assert odd.first_repeats == (0, 0, 2)
    # The order in which a pair is shown makes no other juror.
    turned = odd.model_copy(
        update={"seats": (odd.seats[0], odd.seats[1].model_copy(update={"order": "fixed"}))}
    )
    change = Change(seats=(SeatChange("a", "model", "server/same"),))
    assert changed_jury(turned.model_copy(update={"weights": {}}), change).first_repeats == (2, 0)
    assert changed_jury(odd, Change(seats=(SeatChange("a", "model", "server/same"),))).first_repeats == (
        4,
        0,
        2,
    )
    assert changed_jury(odd, Change(seats=(SeatChange("b", "model", "server/new"),))).first_repeats == (
        0,
        0,
        2,
    )
    assert changed_jury(jury, Change()) is jury
    own = jury.model_copy(update={"limits": Limits(max_rounds=3, max_turns=11, max_stalls=1)})
    assert changed_jury(own, Change(limits={"max_rounds": 7})).limits == Limits(
        max_rounds=7, max_turns=11, max_stalls=1
    )


def test_only_what_every_arm_has_heard_is_replayed(tmp_path: Path) -> None:
    run = planted_run(tmp_path, {name: SCRIPTS[name] for name in ("calm", "premature")})

    async def more() -> None:
        store = Store.create(run)
        arm = store.arms()[0]
        extra = next(store.transcripts(arm)).model_copy(update={"case": "extra"})
        await store.add(arm.id, planted_case("extra"), "print", extra, position=2)
        await store.close()

    asyncio.run(more())

    def cases(**fields: Any) -> list[str]:
        with open_parent(ReplaySession(run=run, folder=tmp_path / "child", **fields)) as parent:
            return [case.id for case in parent.cases]

    assert cases() == ["calm", "premature"]
    assert cases(arm="stances") == ["calm", "premature", "extra"]
    assert cases(cases=("premature",)) == ["premature"]
    with pytest.raises(VenireError, match="no case 'extra' was judged"):
        cases(cases=("extra",))


def test_a_childs_own_answer_comes_before_its_parents_and_a_forecast_writes_nothing() -> None:
    class Answers:
        def __init__(self, **known: str) -> None:
            self.known = {key: Reply(text) for key, text in known.items()}

        async def get(self, key: str) -> Reply | None:
            return self.known.get(key)

        async def put(self, key: str, request: Any, reply: Reply) -> None:
            self.known[key] = reply

    async def texts(calls: LayeredCalls) -> list[str | None]:
        found = [await calls.get(key) for key in ("both", "parent", "child", "none")]
        await calls.put("none", None, Reply("new"))  # type: ignore[arg-type]
        return [reply and reply.text for reply in found]

    for forecast in (False, True):
        parent, child = Answers(both="p", parent="p"), Answers(both="c", child="c")
        calls = LayeredCalls(parent, child, forecast=forecast)  # type: ignore[arg-type]
        assert asyncio.run(texts(calls)) == ["c", "p", "c", None]
        assert calls.answered == {"both", "parent", "child"}
        assert ("none" in child.known, "none" in parent.known) == (not forecast, False)


def test_a_debate_goes_on_with_two_who_are_named() -> None:
    jury = jury_of("http://127.0.0.1:1/v1", "debate", 4)
    after = changed_jury(jury, Change(without=("a",), advocates=("c", "b")))

    assert after.debate is not None
    assert (after.debate.high, after.debate.low, after.seat_names) == ("c", "b", ("b", "c", "d"))
    assert parse_limits(["max_rounds=1, max_usd=0.5 ", "max_turns=none"]) == {
        "max_rounds": 1,
        "max_usd": 0.5,
        "max_turns": None,
    }


@pytest.mark.parametrize("given", [None, "http://127.0.0.1:2/v1"])
def test_a_model_named_anew_is_asked_at_the_address_given_and_only_a_servers_at_the_one_before(
    given: str | None,
) -> None:
    before = "http://127.0.0.1:1/v1"
    seats = (SeatChange("a", "model", "server/z"), SeatChange("b", "model", "openai/o"))
    changed = Change(seats=seats, orchestrator="anthropic/x", base_url=given)
    after = changed_jury(jury_of(before, "orchestrated", 3), changed)

    assert [seat.base_url for seat in after.seats] == [given or before, given, before]
    assert after.orchestrator.base_url == given
    kept = changed_jury(jury_of(before, "orchestrated", 3), Change(orchestrator="server/y", base_url=given))
    assert kept.orchestrator.base_url == (given or before)


def test_the_whole_jury_of_magentic_one_only(rubric: Rubric) -> None:
    with pytest.raises(VenireError, match="replayed as a whole"):
        changed_jury(
            jury_of("http://127.0.0.1:1/v1", "magentic-one", 3), Change(leaving=("c",), from_round=2)
        )


def test_a_redacted_run_and_a_run_of_somebody_else_are_refused(tmp_path: Path, rubric: Rubric) -> None:
    with ProviderServer(steady) as server:
        jury = jury_of(server.url, "panel", 3)
        run_session(
            RunSession(cases=CASES, rubric=rubric, juries=[jury], folder=tmp_path / "dark", redact=True),
            QUIET,
            quiet=True,
        )
        hear(tmp_path / "plain", rubric, jury)
        hear(tmp_path / "other", rubric, jury)
        replayed(tmp_path / "plain", tmp_path / "child", Change())
    for run, child, words in (
        ("dark", "new", "does not hold the texts"),
        ("plain", "plain", "not a replay"),
        ("plain", "other", "not a replay"),
        ("other", "child", "replay of"),
    ):
        with pytest.raises(VenireError, match=words):
            replayed(tmp_path / run, tmp_path / child, Change(without=("a",)))


def test_the_command_plans_replays_and_shows_both(tmp_path: Path, rubric: Rubric) -> None:
    with ProviderServer(steady) as server:
        hear(tmp_path / "parent", rubric, jury_of(server.url, "delphi", 3))
        asked = ["replay", "parent", "-o", "child", "--without", "c", "--json"]
        plan = json.loads(venire(*asked, "--plan", cwd=tmp_path).stdout)
        assert not (tmp_path / "child").exists()
        made = len(server.calls)
        heard = venire(*asked, cwd=tmp_path)
        asked_again = len(server.calls) - made
    document = json.loads(heard.stdout)
    shown = venire("show", "child", "c1", cwd=tmp_path).stdout

    assert document["plan"] == plan["plan"]
    assert plan["plan"]["new"] == document["calls_made"] == asked_again
    assert {case["case"] for case in document["cases"]} == {case.id for case in CASES}
    assert document["cases"][0]["replay"]["first_difference"]["who"] == "c"
    assert "first difference: round 1, c, accurate" in shown
    assert "without c" in shown


def test_killed_and_resumed(tmp_path: Path, rubric: Rubric) -> None:
    command = ["replay", "parent", "-o", "child", "--without", "c"]
    with ProviderServer(steady, latency=0.02) as server:
        hear(tmp_path / "parent", rubric, jury_of(server.url, "orchestrated", 4))
        planned = plan_replay(
            ReplaySession(
                run=tmp_path / "parent", folder=tmp_path / "child", changes=(Change(without=("c",)),)
            )
        ).new
        made = len(server.calls)
        process = Started(*command, "--in-flight", 1, cwd=tmp_path)
        while len(server.calls) < made + 4:
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert venire(*command, cwd=tmp_path).returncode == 0
        # What was in flight when it was killed is asked again, and an answer that had come and was not yet committed.
        assert planned <= len(server.calls) - made <= planned + 2
        hear(
            tmp_path / "fresh",
            rubric,
            changed_jury(jury_of(server.url, "orchestrated", 4), Change(without=("c",))),
        )

    assert outcomes(tmp_path / "child") == outcomes(tmp_path / "fresh")


def test_in_postgresql(cluster: Cluster, rubric: Rubric, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    parent, child = cluster.url("parent"), cluster.url("child")
    with ProviderServer(steady) as server:
        jury = jury_of(server.url, "delphi", 3)
        hear(parent, rubric, jury)
        made = len(server.calls)
        planned = replayed(parent, child, Change(without=("c",)))
        assert len(server.calls) - made == planned
        hear(cluster.url("fresh"), rubric, changed_jury(jury, Change(without=("c",))))

    assert outcomes(child) == outcomes(cluster.url("fresh"))


def test_each_seat_is_struck_in_turn(tmp_path: Path, rubric: Rubric) -> None:
    with ProviderServer(steady) as server:
        hear(tmp_path / "parent", rubric, jury_of(server.url, "panel", 3))
        asked = venire("replay", "parent", "-o", "child", "--each-seat", "--json", cwd=tmp_path)
    seats = {row["seat"]: row for row in json.loads(asked.stdout)["seats"]}
    first = {name: votes(tmp_path / "parent", name) for name in "abc"}
    # The mean of three less the mean of the other two.
    gaps = [sum(first[n][c] for n in "abc") / 3 - (first["b"][c] + first["c"][c]) / 2 for c in first["a"]]

    assert seats.keys() == set("abc")
    assert seats["a"]["effect"]["value"] == pytest.approx(sum(gaps) / len(gaps))
    assert seats["a"]["effect"]["low"] < seats["a"]["effect"]["value"] < seats["a"]["effect"]["high"]
    assert seats["a"]["credited"] == 0


@pytest.mark.parametrize(
    ("node", "value", "legal"),
    [
        ({"enum": [1, 2, 3]}, 2, 2), ({"enum": [1, 2, 3]}, 9, 1), ({"const": "a"}, "b", "a"), ({"type": "string"}, "w", "w"), ({"type": "string"}, None, "as recorded"),
        ({"type": "number", "minimum": 1}, 4.5, 4.5), ({"type": "number", "minimum": 1}, None, 1), ({"type": "integer"}, None, 0), ({"type": "number", "minimum": -1}, 0, 0),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["b", "z"], ["b"]), ({"type": "array", "items": {"enum": ["a", "b"]}}, ["z"], ["a", "b"]),
        ({"type": "array", "items": {"type": "string"}}, ["q"], ["q"]), ({"anyOf": [{"enum": [1]}, {"const": "not_applicable"}]}, "not_applicable", "not_applicable"),
        ({"anyOf": [{"enum": [1]}, {"const": "not_applicable"}]}, None, 1),
    ],
)  # fmt: skip
def test_a_forecast_answers_as_recorded_where_that_is_legal(
    node: dict[str, Any], value: Any, legal: Any
) -> None:
    assert _legal_value(node, value) == legal


def parent_of(*arms: Arm, **session: Any) -> Parent:
    """A recorded run of these arms, as far as it is opened."""
    parent = Parent.__new__(Parent)
    parent.session = ReplaySession(run="run", folder="child", **session)
    parent.store = SimpleNamespace(name="run", arms=lambda: list(arms), case_ids=lambda: ["c1", "c2"])  # type: ignore[assignment]
    return parent


def arm_of(name: str, jury: Jury, number: int = 1, manifest: Any = None) -> Arm:
    return Arm(number, name, RUBRIC, jury.model_copy(update={"name": name}), manifest or {})


def test_a_change_is_made_in_every_arm_that_it_concerns_or_in_the_one_that_is_named(rubric: Rubric) -> None:
    wide, narrow = arm_of("wide", jury_of("http://h/v1", "orchestrated", 3)), arm_of("narrow", jury_of("http://h/v1", "panel", 1), 2)  # fmt: skip
    b, c, chair = Change(without=("b",)), Change(without=("c",)), Change(orchestrator="server/z")

    def sitting(**session: Any) -> list[tuple[str, tuple[str, ...]]]:
        return [(each.jury.name, each.jury.seat_names) for each in parent_of(narrow, wide, **session)._arms()]

    assert sitting() == [("narrow", ("a",)), ("wide", ("a", "b", "c"))]
    assert sitting(changes=(c, b)) == [("wide-without-c", ("a", "b")), ("wide-without-b", ("a", "c"))]
    assert sitting(changes=(chair,)) == [("wide-orchestrator-server-z", ("a", "b", "c"))]
    assert str(Change(leaving=("c",), from_round=2)) == "c leaving, from round 2"
    assert str(Change(from_round=2)) == "nothing changed" and Change(seats=(SeatChange("a", "model", "m"),), orchestrator="m").changed_seats == {"a", "orchestrator"}  # fmt: skip
    assert [name for name, _ in sitting(each_seat=True)] == [f"wide-without-{name}" for name in "abc"]
    for words, session in (
        ("no arm named 'wise'", {"arm": "wise"}), ("arm has only one", {"arm": "narrow", "each_seat": True}), ("narrow has no seat 'c'", {"arm": "narrow", "changes": (c,)}),
        ("wide has no seat 'z'", {"changes": (Change(without=("z",)),)}),
    ):  # fmt: skip
        with pytest.raises(VenireError, match=words):
            sitting(**session)
    with pytest.raises(VenireError, match="no arm of run has an orchestrator"):
        parent_of(narrow, changes=(chair,))._arms()


def test_the_address_given_takes_the_place_of_those_whose_secrets_were_masked_and_of_no_other() -> None:
    jury = jury_of("http://***@h/v1", "orchestrated", 2)
    plain = jury.seats[1].model_copy(update={"base_url": "http://plain/v1"})
    mixed = jury.model_copy(update={"seats": (jury.seats[0], plain)})
    kept = mixed.seats[0].model_copy(update={"base_url": None})
    (found,) = parent_of(arm_of("j", mixed), base_url="http://key@h/v1")._arms()

    assert [seat.base_url for seat in (*found.jury.seats, found.jury.orchestrator)] == ["http://key@h/v1", "http://plain/v1", "http://key@h/v1"]  # fmt: skip
    for masked in (mixed, mixed.model_copy(update={"seats": (kept, plain)})):
        with pytest.raises(VenireError, match="holds a secret that is not in the record"):
            parent_of(arm_of("j", masked))._arms()


def test_what_changed_since_a_run_is_said_once_an_arm_and_arms_of_two_rubrics_are_no_one_replay(
    monkeypatch: pytest.MonkeyPatch, rubric: Rubric
) -> None:
    panel = jury_of("http://h/v1", "panel", 3)
    manifest = {"rubric": {"name": "r", "version": 1}, "jury": {"name": "j", "seats": []}, "seed": 0, "prompts": "old"}  # fmt: skip
    one, two = (
        arm_of("one", panel, 1, manifest),
        arm_of("two", panel, 2, manifest)._replace(rubric=rubric),
    )
    monkeypatch.setattr(Parent, "_manifest", lambda self, arm: {**manifest, "prompts": arm.name if arm.name == "one" else "old"})  # fmt: skip
    parent = parent_of(one, two, each_seat=True)
    parent.arms = parent._arms()

    assert [note.partition(" since ")[0] for note in parent.notes()] == ["one: the prompts changed"]
    assert not parent.scored.ids
    with pytest.raises(VenireError, match="two was judged with another rubric") as refused:
        parent._rubric()
    assert refused.value.remedy.endswith("--arm two")
    shots = Shots.model_validate({"n": 1, "cases": "pool.jsonl", "ratings": "r.csv"})
    parent.arms = [ReplayedArm(one._replace(jury=panel.model_copy(update={"shots": shots})), Change(), panel)]
    assert parent.scored.ids == {"c1", "c2"}


def test_what_a_replay_may_spend_and_how_fast_it_asks_reach_its_session(
    monkeypatch: pytest.MonkeyPatch, rubric: Rubric
) -> None:
    ran = list[RunSession]()
    monkeypatch.setattr(replaying, "run_session", lambda session, console, *, quiet: ran.append(session))
    asked: dict[str, Any] = {"max_usd": 1.5, "max_tokens": 7, "max_seconds": 9.0, "in_flight": 3, "rpm": 4, "tpm": 5, "prices": {"m": 1}, "retry": True}  # fmt: skip
    panel, scored = jury_of("http://h/v1", "panel", 3), ScoredCases(frozenset({"c9"}))
    arms = [SimpleNamespace(arm=SimpleNamespace(manifest={"seed": seed})) for seed in (6, 8)]
    parent: Any = SimpleNamespace(cases=CASES, rubric=rubric, scored=scored, arms=arms, notes=lambda: ["a [note]"])  # fmt: skip
    start: Any = object()
    out = io.StringIO()
    session = ReplaySession(run="run", folder="child", **asked)
    replaying.hear_into(session, parent, [panel], start, Console(file=out), quiet=True)

    (found,) = ran
    assert {name: getattr(found, name) for name in asked} == asked
    assert (found.cases, found.rubric, [*found.juries], found.folder) == (CASES, rubric, [panel], "child")
    assert (found.seed, found.scored, found.replay, out.getvalue()) == (6, scored, start, "a [note]\n")


def test_verdicts_are_held_beside_those_of_the_arm_that_they_replay_as_far_as_that_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rubric: Rubric
) -> None:
    def votes(*scores: int) -> dict[str, Any]:
        return {case.id: {"a": {"accurate": score}} for case, score in zip(CASES, scores, strict=False)}

    before = written_run(tmp_path / "parent", rubric, CASES[:3], {"other": votes(3, 3, 3), "mine": votes(1, 2, 3)})  # fmt: skip
    child = written_run(tmp_path / "child", rubric, CASES[:2], {"mine-without-b": votes(2, 2), "mine-again": votes(1, 1)})  # fmt: skip
    store = Store.read(before)
    changes = {"mine-without-b": Change(without=("b",)), "mine-again": Change()}
    arms = [SimpleNamespace(arm=SimpleNamespace(name="mine"), jury=SimpleNamespace(name=name), change=change) for name, change in changes.items()]  # fmt: skip

    @contextmanager
    def opened(session: ReplaySession) -> Iterator[Any]:
        yield SimpleNamespace(store=store, cases=CASES[1:], arms=arms)

    monkeypatch.setattr(replaying, "open_parent", opened)
    pairs = replaying.replayed_cases(ReplaySession(run=before, folder=child))
    store.release()

    assert [(pair.arm, pair.change, pair.before.case, pair.before["accurate"].value, pair.after["accurate"].value) for pair in pairs] == [
        ("mine", "without b", "c1", 2, 2), ("mine", "nothing changed", "c1", 2, 1),
    ]  # fmt: skip
