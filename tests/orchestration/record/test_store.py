"""The record: one suite over SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from postgres_cluster import PASSWORD, Cluster
from server_juries import jury_at

from venire import Case, Rubric, Store, Transcript, VenireError
from venire.agents.model import Message, Reply, Request, Sampling, Usage
from venire.orchestration.record import without_password
from venire.orchestration.record.database import LAYOUT
from venire.orchestration.record.manifest import arm_fingerprint, arm_manifest, case_fingerprint
from venire.orchestration.transcript import Said, Stop
from venire.orchestration.worked_examples import ScoredCases


@pytest.fixture(params=["sqlite", "postgresql"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """A place for a run that does not exist yet."""
    if request.param == "sqlite":
        return tmp_path / "run"
    return request.getfixturevalue("cluster").url(f"r{time.time_ns()}")


def request(body: str, opening: str = "") -> Request:
    messages = (Message("system", "Be fair."), Message("user", body, opening))
    return Request(model="server/a", messages=messages, schema=None, settings=Sampling(), repeat=0, timeout=1)


def transcript(case: str = "c1", **fields: Any) -> Transcript:
    return Transcript(
        case=case, arm="bench", protocol="panel", seats=("a",), stop=Stop(reason="complete"), **fields
    )


def arm(rubric: Rubric, **fields: Any) -> dict[str, Any]:
    return arm_manifest(
        rubric, jury_at("http://127.0.0.1:9/v1", "a", **fields), seed=0, scored=ScoredCases(), prices={}
    )


async def seated(store: Store, rubric: Rubric, **fields: Any) -> int:
    made = arm(rubric, **fields)
    return await store.add_arm("bench", arm_fingerprint(made), made, cases=3)


async def kept(store: Store, number: int, case: Case, told: Transcript, **fields: Any) -> None:
    await store.add(number, case, case_fingerprint(case), told, **{"position": 0, **fields})


AWKWARD = 'quotes " and \\ and \x00 and \ud800 and émoji \U0001f600'


def test_a_reply_comes_back_as_it_was_put_from_this_process_and_the_next(run: Path | str) -> None:
    asked = [request(f"{AWKWARD} {number}", f"opening {number % 3} \x00") for number in range(150)]
    replies = [
        Reply(f"{AWKWARD} {number}", Usage(number, 2, 1), usd=None if number % 2 else 0.25, seconds=1.5)
        for number in range(150)
    ]

    async def first() -> None:
        store = Store.create(run)
        await asyncio.gather(*(store.put(a.key, a, reply) for a, reply in zip(asked, replies, strict=True)))
        assert await asyncio.gather(*(store.get(a.key) for a in asked)) == replies
        assert await store.get("0" * 64) is None
        await store.close()

    async def second() -> None:
        store = Store.create(run)
        assert await asyncio.gather(*(store.get(a.key) for a in asked)) == replies
        assert store.cost().calls == 150
        assert store.cost().priced == 75
        assert store.cost().known_usd == pytest.approx(75 * 0.25)
        await store.close()

    asyncio.run(first())
    asyncio.run(second())


def test_a_call_that_is_put_twice_is_kept_once_as_it_was_first(run: Path | str) -> None:
    async def go() -> None:
        store = Store.create(run)
        asked = request("one")
        await asyncio.gather(*(store.put(asked.key, asked, Reply(str(n))) for n in range(3)))
        await store.put(asked.key, asked, Reply("later"))
        assert await store.get(asked.key) == Reply("0")
        assert store.cost().calls == 1
        await store.close()

    asyncio.run(go())


def test_deliberations_come_back_in_the_order_of_the_case_file(run: Path | str, rubric: Rubric) -> None:
    async def go() -> None:
        store = Store.create(run)
        number = await seated(store, rubric)
        for position in (2, 0, 1, *range(3, 450)):
            case = Case(id=f"c{position}", output="x")
            await kept(store, number, case, transcript(case.id), position=position)
        await store.close()

    asyncio.run(go())
    store = Store.read(run)
    (sat,) = store.arms()
    assert [t.case for t in store.transcripts(sat)] == [f"c{n}" for n in range(450)]
    assert [t.case for t in store.transcripts(sat, "c7")] == ["c7"]
    assert [f.case for f in store.finished_deliberations(after=0, most=3)] == ["c2", "c0", "c1"]
    assert store.finished_deliberations(after=store.last_finished(), most=3) == []
    assert len(store.case_ids()) == 450
    assert store.case("c7") == Case(id="c7", output="x")
    assert store.case("nobody") is None
    (progress,) = store.arm_progress(since=0)
    assert (progress.done, progress.cases, progress.recent) == (450, 3, 450)
    store.release()


def test_of_a_case_that_was_changed_and_changed_back_the_last_hearing_counts(
    run: Path | str, rubric: Rubric
) -> None:
    one, two = Case(id="c1", output="one"), Case(id="c1", output="two")

    async def go() -> None:
        store = Store.create(run)
        number = await seated(store, rubric)
        for case in (one, two, one):
            heard = await store.last_hearing(number, "c1")
            follows = heard.number if heard else 0
            for _ in range(2):  # in doubt, a write is made again
                await kept(store, number, case, transcript(flags=(case.output,)), follows=follows)
        heard = await store.last_hearing(number, "c1")
        assert heard is not None
        assert heard.fingerprint == case_fingerprint(one)
        assert store.case("c1") == one
        assert store.case("c1", case_fingerprint(two)) == two
        (sat,) = store.arms()
        assert [t.flags for t in store.transcripts(sat)] == [("one",)]
        assert [f.transcript.flags for f in store.finished_deliberations(after=0, most=9)] == [("one",)]
        assert store.last_finished() - store.finished_deliberations(after=0, most=9)[0].number == 0
        await store.close()

    asyncio.run(go())


def test_of_arms_with_one_name_the_one_that_sat_last_is_read(run: Path | str, rubric: Rubric) -> None:
    async def go() -> None:
        store = Store.create(run)
        first = await seated(store, rubric, tolerance=0)
        second = await seated(store, rubric, tolerance=1)
        assert [sat.jury.tolerance for sat in store.arms()] == [1]
        assert await seated(store, rubric, tolerance=0) == first != second
        assert [sat.jury.tolerance for sat in store.arms()] == [0]
        await store.close()

    asyncio.run(go())


def test_one_process_writes_a_directory_and_several_a_database_with_leases(run: Path | str) -> None:
    async def go() -> None:
        first = Store.create(run)
        reader = Store.read(run)
        assert reader.writing()
        if isinstance(run, Path):
            with pytest.raises(VenireError, match="another process is writing this run"):
                Store.create(run)
        else:
            second = Store.create(run)
            assert await first.lease(1, "c")
            assert not await second.lease(1, "c")
            await first.end_lease(1, "c")
            assert await second.lease(1, "c")
            await second.close()
        await first.close()
        assert not reader.writing()
        reader.release()
        await Store.create(run).close()

    asyncio.run(go())


def test_a_run_that_is_not_there_is_an_error(run: Path | str) -> None:
    with pytest.raises(VenireError, match="there is no run"):
        Store.read(run)


@pytest.mark.parametrize("version", [LAYOUT - 1, LAYOUT + 1])
@pytest.mark.parametrize("opened", [Store.read, Store.create])
def test_a_record_of_another_layout_is_refused_in_two_lines(
    tmp_path: Path, version: int, opened: Callable[[Path], Store]
) -> None:
    asyncio.run(Store.create(tmp_path).close())
    with closing(sqlite3.connect(tmp_path / "record.sqlite")) as record:
        record.execute(f"PRAGMA user_version = {version}")

    with pytest.raises(
        VenireError, match=f"record has version {version}, but this venire reads version {LAYOUT}"
    ) as caught:
        opened(tmp_path)
    assert len(str(caught.value).splitlines()) == 2


def test_a_place_that_holds_something_else_is_left_alone(tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(VenireError, match="not empty, and holds no run"):
        Store.create(tmp_path)

    from venire.orchestration.record.postgres import PostgresSession, address

    session = PostgresSession(address(cluster.url("theirs")))
    session.script("CREATE SCHEMA theirs; CREATE TABLE theirs.work (id int)")
    session.close()
    with pytest.raises(VenireError, match="not empty, and holds no run"):
        Store.create(cluster.url("theirs"))


@pytest.mark.parametrize("redact", [False, True])
def test_what_goes_on_can_be_read_until_it_is_finished(
    run: Path | str, rubric: Rubric, case: Case, redact: bool
) -> None:
    async def go() -> None:
        store = Store.create(run, redact=redact)
        number = await seated(store, rubric)
        await store.keep_unfinished(number, case, "print", transcript(case.id).add([]))
        said = Said(round=1, who="a", about="note", text="canary words")
        await store.keep_unfinished(number, case, "print", transcript(case.id).add([said]))
        reader = Store.read(run)
        (going,) = reader.unfinished_deliberations(9)
        assert (going.arm, going.case, len(going.transcript.entries)) == (number, case.id, 1)
        assert ("canary" in going.transcript.model_dump_json()) is not redact
        shown = reader.case(case.id, going.fingerprint)
        assert shown is not None and (shown.output == case.output) is not redact
        await kept(store, number, case, transcript(case.id))
        assert reader.unfinished_deliberations(9) == []
        await store.keep_unfinished(number, case, "print", transcript(case.id))
        await store.forget_unfinished()
        assert reader.unfinished_deliberations(9) == []
        reader.release()
        await store.close()

    asyncio.run(go())


def test_a_server_that_is_not_there_is_two_lines_without_the_password() -> None:
    pytest.importorskip("pg8000")
    with pytest.raises(VenireError) as caught:
        Store.create("postgresql://me:hunter2@127.0.0.1:1/db?run=x")

    assert "cannot be reached" in caught.value.problem
    assert "hunter2" not in str(caught.value)
    assert "postgresql://me:***@127.0.0.1:1/db?run=x" in caught.value.problem


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("postgresql://me:hunter2@h/db?run=Bad-Name", "cannot be the name of a run"),
        ("postgresql://me:hunter2@h/db?run=pg_catalog", "cannot be the name of a run"),
        ("postgresql://me:hunter2@h/db?nur=x", "'nur' is not a known option"),
        ("postgresql://me:hunter2@h:port/db", "not an address"),
        ("postgresql://me:hunter2@h/db?sslmode=maybe", "'maybe' is not a value of sslmode"),
    ],
)
def test_a_wrong_address_is_named_without_its_password(address: str, problem: str) -> None:
    pytest.importorskip("pg8000")
    with pytest.raises(VenireError) as caught:
        Store.read(address)

    assert problem in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_wrong_password_is_not_repeated(cluster: Cluster) -> None:
    with pytest.raises(VenireError) as caught:
        Store.create(cluster.url("x").replace(PASSWORD, "hunter2"))

    assert "password authentication failed" in caught.value.problem
    assert "hunter2" not in str(caught.value)


def test_a_server_can_be_reached_by_its_socket(cluster: Cluster) -> None:
    store = Store.create(cluster.local_url("by_socket"))
    asyncio.run(store.close())

    assert PASSWORD not in store.name


def test_runs_in_one_database_are_told_apart(cluster: Cluster) -> None:
    async def go() -> None:
        one, two = Store.create(cluster.url("apart_one")), Store.create(cluster.url("apart_two"))
        asked = request("one")
        await one.put(asked.key, asked, Reply("mine"))
        assert await two.get(asked.key) is None
        await one.close()
        await two.close()

    asyncio.run(go())


def test_keys_in_addresses_are_masked() -> None:
    assert without_password("https://u:p@h/v1?api_key=k&x=1") == "https://***@h/v1?api_key=***&x=1"
    assert without_password("http://127.0.0.1:9/v1") == "http://127.0.0.1:9/v1"
    assert without_password("https://token@h/v1") == "https://***@h/v1"
