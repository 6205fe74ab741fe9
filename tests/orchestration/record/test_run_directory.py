"""A run in a directory, in this process: what is stored of calls, cases and deliberations, and what is read of it again."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from written_transcripts import abstained, cast, transcript_of

from venire import Case, Jury, Rubric, Store, VenireError
from venire.agents.cost import Cost, Price, Receipt
from venire.agents.model import FailedTry, Message, Reply, Request, Sampling, Usage, digest
from venire.agents.prompting import PAIR_PROMPTS, PROMPTS
from venire.orchestration.record import merging as merging_module
from venire.orchestration.record import reader as reader_module
from venire.orchestration.record import store as store_module
from venire.orchestration.record.database import NoRun
from venire.orchestration.record.manifest import (
    arm_fingerprint,
    arm_manifest,
    case_changes,
    case_fingerprint,
    manifest_changes,
)
from venire.orchestration.record.merging import merge_runs
from venire.orchestration.record.redaction import address_of
from venire.orchestration.record.sqlite import SqliteDatabase
from venire.orchestration.record.store import KeyFilter, recorded_cost, run_exists
from venire.orchestration.transcript import Stop
from venire.orchestration.worked_examples import ScoredCases

TRY = FailedTry(at=1.0, seconds=2.0, reason="timeout", detail="no answer in 2 s")
CASE = Case(id="c1", output="The canary sings.", audience="nurses", system="model-x", metadata={"ward": "3"})
REPLIES = [
    Reply("one", Usage(7, 5, 3), usd=0.25, seconds=1.5, finish="length", estimated="missing"),
    Reply("two", Usage(1, 2, 0), usd=None, seconds=0.5, finish="refusal", estimated="implausible"),
    Reply("three", Usage(11, 13, 2), usd=0.0, version="v-2024 fp_1"),
    Reply("four", failures=(TRY, TRY)),
]


def asked(body: str, opening: str = "", **settings: Any) -> Request:
    messages = (Message("system", "Be fair."), Message("user", body, opening))
    return Request(
        model="server/a", messages=messages, schema=None, settings=Sampling(settings), repeat=4, timeout=1
    )


def in_run(folder: Path | str, work: Callable[[Store], Awaitable[Any]], **options: Any) -> Any:
    """What `work` gives back of the run, which is written and closed as by a process of its own."""

    async def go() -> Any:
        store = Store.create(folder, **options)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(go())


def rows(folder: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(folder / "record.sqlite")) as record:
        return record.execute(sql).fetchall()


async def put(store: Store, *replies: Reply) -> None:
    for number, reply in enumerate(replies):
        request = asked(f"question {number}", "the case")
        await store.put(request.key, request, reply)


async def sit(store: Store, rubric: Rubric, cases: int | None = 3, **fields: Any) -> int:
    jury = Jury.model_validate(
        {"name": "j", "protocol": "panel", "seats": [{"name": "a", "model": "server/a"}], **fields}
    )
    manifest = arm_manifest(rubric, jury, seed=0, scored=ScoredCases(), prices={})
    return await store.add_arm("j", arm_fingerprint(manifest), manifest, cases=cases)


def heard(case: Case = CASE, value: int = 4, rationale: str = "It sings.") -> Any:
    told = transcript_of([cast("a", {"accurate": value}, rationale=rationale)])
    return told.model_copy(update={"case": case.id, "stop": Stop(reason="complete")})


@pytest.mark.parametrize("redact", [False, True])
def test_every_part_of_a_reply_comes_back_in_this_session_and_the_next(tmp_path: Path, redact: bool) -> None:
    requests = [asked(f"question {number}", "the case") for number in range(len(REPLIES))]

    async def again(store: Store) -> list[Reply | None]:
        assert await store.get(asked("another question").key) is None
        return [await store.get(request.key) for request in requests]

    async def first(store: Store) -> list[Reply | None]:
        await put(store, *REPLIES)
        return await again(store)

    assert in_run(tmp_path, first, redact=redact) == REPLIES
    assert in_run(tmp_path, again) == REPLIES
    cost = recorded_cost(tmp_path)
    assert cost == Cost(4, Usage(19, 20, 5), priced=2, known_usd=0.25, estimated=2)


def test_a_call_is_stored_with_its_terms_and_each_text_once(tmp_path: Path) -> None:
    address = "https://u:hunter2@h/v1?api_key=k"

    async def work(store: Store) -> None:
        for body, reply in (
            ("one", Reply("answer", version="v2", failures=(TRY,))),
            ("two", Reply("answer")),
        ):
            request = asked(body, "the case", temperature=0.5, base_url=address)
            await store.put(request.key, request, reply)

    in_run(tmp_path, work)
    stored = [
        json.loads(request) for (request,) in rows(tmp_path, "SELECT request FROM calls ORDER BY rowid")
    ]
    assert stored[1].keys() == {"model", "settings", "repeat", "parts"}
    assert stored[0] == {
        "model": "server/a",
        "settings": {"temperature": 0.5, "base_url": "https://***@h/v1?api_key=***"},
        "repeat": 4,
        "parts": [["system", "", digest("Be fair.")], ["user", digest("the case"), digest("one")]],
        "came_with": {"version": "v2", "failures": [TRY.model_dump()]},
    }
    texts = {name: json.loads(text) for name, text in rows(tmp_path, "SELECT hash, text FROM texts")}
    assert texts == {digest(text): text for text in ("Be fair.", "the case", "one", "two")}
    key = asked("one", "the case", temperature=0.5, base_url=address).key
    store = Store.read(tmp_path)
    (call,) = store.recorded_calls([key]).values()
    assert call.messages == (("system", "Be fair."), ("user", "the caseone"))
    assert (call.model, call.reply, call.version) == ("server/a", "answer", "v2")
    store.release()


def test_a_redacted_record_holds_no_word_and_opens_only_to_who_asks_the_same(tmp_path: Path) -> None:
    request = asked("canary question", "the canary case")

    async def work(store: Store) -> None:
        await store.put(request.key, request, Reply("canary answer"))

    in_run(tmp_path, work, redact=True)
    assert b"canary" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert rows(tmp_path, "SELECT key, text FROM calls") == [(address_of(request.key), '""')]
    assert rows(tmp_path, "SELECT count(*) FROM texts") == [(0,)]
    assert rows(tmp_path, "SELECT key FROM sealed") == [(address_of(request.key),)]

    in_run(tmp_path, lambda store: store.complete())
    assert rows(tmp_path, "SELECT count(*) FROM sealed") == [(0,)]
    assert rows(tmp_path, "SELECT count(*) FROM calls") == [(1,)]


def test_a_run_stays_as_it_was_begun_redacted_or_not(tmp_path: Path, rubric: Rubric) -> None:
    plain, sealed = tmp_path / "plain", tmp_path / "sealed"
    in_run(plain, lambda store: sit(store, rubric))
    with pytest.raises(VenireError, match="started without --redact") as refused:
        Store.create(plain, redact=True)
    assert refused.value.remedy
    # The refusal let go of the lock.
    assert in_run(plain, redacted) is False
    in_run(sealed, lambda store: sit(store, rubric), redact=True)
    assert in_run(sealed, redacted) is True
    assert in_run(sealed, redacted, redact=True) is True
    # Before anybody has sat, a run may still become redacted.
    in_run(tmp_path / "empty", redacted)
    assert in_run(tmp_path / "empty", redacted, redact=True) is True
    with closing(sqlite3.connect(sealed / "record.sqlite")) as record:
        record.execute("UPDATE facts SET value = 'ROT13' WHERE name = 'redacted'")
        record.commit()
    for opened in (Store.create, Store.read, Store.create):
        with pytest.raises(VenireError, match="not encrypted by AES-256-GCM") as refused:
            opened(sealed)
        assert refused.value.remedy


async def redacted(store: Store) -> bool:
    return store.redacted


@pytest.mark.parametrize("redact", [False, True])
def test_cases_and_deliberations_are_stored_in_the_form_of_the_run(
    tmp_path: Path, rubric: Rubric, redact: bool
) -> None:
    other = Case(id="c2", output="Another canary.")

    async def work(store: Store) -> None:
        number = await sit(store, rubric)
        assert await store.last_hearing(number, "c1") is None
        for case in (CASE, other):
            await store.keep_unfinished(
                number, case, case_fingerprint(case), heard(case, rationale="A canary.")
            )
        # Whoever looks on reads the case that is being heard.
        assert store.case("c2", case_fingerprint(other)) == store.stored_form(other)
        await store.add(number, CASE, case_fingerprint(CASE), heard(rationale="A canary."), position=5)
        assert [u.case for u in store.unfinished_deliberations(9)] == ["c2"]
        assert await store.last_hearing(number, "c1") == (1, case_fingerprint(CASE))
        assert await store.last_hearing(number, "c2") is None
        assert await store.last_hearing(number + 1, "c1") is None
        changed = CASE.model_copy(update={"output": "It sleeps."})
        await store.add(number, changed, "changed", heard(value=2), position=5, follows=1)
        assert await store.last_hearing(number, "c1") == (2, "changed")
        assert store.stored_form(CASE) == store.case("c1", case_fingerprint(CASE))
        assert (store.stored_form(CASE) == CASE) is not redact
        (arm,) = store.arms()
        assert [t.ballots[0].ballot.votes[0].value for t in store.transcripts(arm)] == [2]
        assert [t.ballots[0].ballot.votes[0].value for t in store.transcripts(arm, "c1")] == [2]
        # Heard twice, it is one case still.
        (progress,) = store.arm_progress(since=0)
        assert (progress.done, progress.cases, progress.recent) == (1, 3, 2)
        await store.forget_unfinished()
        assert store.unfinished_deliberations(9) == []

    in_run(tmp_path, work, redact=redact)
    # A later session asks the record, as it knows of no key.
    assert in_run(tmp_path, lambda store: store.last_hearing(1, "c2")) is None
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert (b"canary" in stored, b"nurses" in stored) == (not redact, not redact)
    assert rows(tmp_path, "SELECT arm, case_id, position, follows FROM transcripts ORDER BY id") == [
        (1, "c1", 5, 0),
        (1, "c1", 5, 1),
    ]
    assert all(moment > 1e9 for (moment,) in rows(tmp_path, "SELECT finished_at FROM transcripts"))


def test_an_arm_is_known_by_its_manifest_and_every_session_of_it_is_noted(
    tmp_path: Path, rubric: Rubric
) -> None:
    async def work(store: Store) -> list[int]:
        return [await sit(store, rubric, *args) for args in ((3,), (None,))] + [
            await sit(store, rubric, tolerance=1)
        ]

    first, again, other = in_run(tmp_path, work)
    assert first == again != other
    assert rows(tmp_path, "SELECT arm, cases FROM sittings ORDER BY id") == [
        (first, 3),
        (first, None),
        (other, 3),
    ]
    assert len({key for (key,) in rows(tmp_path, "SELECT key FROM sittings")}) == 3
    ((stored,),) = rows(tmp_path, f"SELECT manifest FROM arms WHERE id = {other}")
    assert json.loads(stored)["jury"]["tolerance"] == 1


def test_what_a_run_says_of_itself_it_goes_on_saying(tmp_path: Path) -> None:
    async def work(store: Store) -> bytes:
        store.add_fact("of", "first")
        await store.note("of", "second")
        await store.note("other", "noted")
        assert (store.fact("of"), store.fact("other"), store.fact("nothing")) == ("first", "noted", None)
        assert store.facts("o") == {"of": "first", "other": "noted"}
        assert store.trace_salt() == store.trace_salt()
        return store.trace_salt()

    async def salt(store: Store) -> bytes:
        return store.trace_salt()

    first = in_run(tmp_path / "a", work)
    assert len(first) == 16
    assert in_run(tmp_path / "a", salt) == first != in_run(tmp_path / "b", salt)


@pytest.fixture
def threads() -> Callable[[], set[str]]:
    """The record's threads that the test has begun and that still run."""
    before = set(threading.enumerate())
    return lambda: {
        each.name for each in threading.enumerate() if each not in before and each.name.startswith("venire-")
    }


def test_a_directory_is_its_one_writers_own(tmp_path: Path, threads: Callable[[], set[str]]) -> None:
    async def work(store: Store) -> None:
        assert not store.shared and threads() == {"venire-record"}
        assert await store.lease(1, "c") and await store.lease(1, "c")
        await store.end_lease(1, "c")
        store.forgo("0" * 64)

    in_run(tmp_path, work)
    reader = Store.read(tmp_path)
    assert threads() == set()
    request = asked("one")
    with pytest.raises(AssertionError, match="opened for reading"):
        asyncio.run(reader.put(request.key, request, Reply("x")))
    in_run(tmp_path, lambda store: store.put(request.key, request, Reply("x")))
    assert asyncio.run(reader.get(request.key)) == Reply("x"), "written since it was opened"
    reader.release()
    store = Store.create(tmp_path)
    store.close_sync()
    in_run(tmp_path, redacted)


class Distant(SqliteDatabase):
    """A directory behind an address, as a database on another machine is: others may write it, so cases are leased."""

    distant = True

    def __init__(self, address: str, *, write: bool) -> None:
        super().__init__(Path(address.partition("://")[2]), write=write)
        self.leases = {"1 taken"}

    def lease(self, name: str) -> bool:
        free = name not in self.leases
        self.leases.add(name)
        return free

    def end_lease(self, name: str) -> None:
        self.leases.remove(name)


def test_a_run_at_an_address_is_asked_beside_the_loop_and_its_cases_are_leased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: Callable[[], set[str]]
) -> None:
    monkeypatch.setitem(
        sys.modules, "venire.orchestration.record.postgres", SimpleNamespace(PostgresDatabase=Distant)
    )
    place = f"postgresql://{tmp_path / 'run'}"
    request = asked("one")

    async def work(store: Store) -> None:
        assert store.shared and threads() == {"venire-record", "venire-look-up"}
        # Another process may have stored what this one has not.
        assert await store.get(request.key) is None
        await store.put(request.key, request, Reply("x"))
        assert await store.get(request.key) == Reply("x")
        assert await store.lease(1, "c") and not await store.lease(1, "c")
        assert not await store.lease(1, "taken")
        await store.end_lease(1, "c")
        assert await store.lease(1, "c")

    assert not run_exists(place)
    in_run(place, work)
    assert run_exists(place) and recorded_cost(place).calls == 1


def test_where_there_is_no_run_nothing_is_found_and_nothing_is_made(tmp_path: Path) -> None:
    place = tmp_path / "run"
    assert not run_exists(place) and recorded_cost(place) == Cost() and not place.exists()
    with pytest.raises(NoRun):
        Store.read(place)
    place.mkdir()
    # A database without tables, as one that was being made when the power went, is no run yet.
    with closing(sqlite3.connect(place / "record.sqlite")) as record:
        record.execute("CREATE TABLE t (x)")
    assert not run_exists(place)
    with pytest.raises(NoRun, match=str(place)):
        Store.read(place)
    with closing(sqlite3.connect(place / "record.sqlite")) as record:
        record.execute("PRAGMA user_version = 1")
    with pytest.raises(VenireError, match="has version 1"):
        recorded_cost(place)
    in_run(tmp_path / "other", redacted)
    assert run_exists(tmp_path / "other") and recorded_cost(tmp_path / "other") == Cost()


def test_texts_that_are_known_to_be_stored_are_few_and_all_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_TEXTS", 3)
    written: list[str] = []

    async def work(store: Store) -> None:
        commit = store._database.commit

        def noting(writes: Any) -> None:
            written.extend(values[0] for sql, values in writes if "INTO texts" in sql)
            commit(writes)

        monkeypatch.setattr(store._database, "commit", noting)
        for body in ("one", "one ", "two", "one"):
            request = asked(body, "the case")
            await store.put(request.key, request, Reply("x"))
            assert len(store._texts) == 3

    in_run(tmp_path, work)
    stored = {json.loads(text) for (text,) in rows(tmp_path, "SELECT text FROM texts")}
    assert stored == {"Be fair.", "the case", "one", "one ", "two"}
    # The opening that all share was written again only once it was forgotten.
    assert [written.count(digest(text)) for text in ("one ", "two")] == [1, 1]
    assert len(written) < 4 * 3


def test_a_filter_never_misses_a_key_and_spares_a_new_run_its_queries(tmp_path: Path) -> None:
    fresh, old = KeyFilter(since_empty=True), KeyFilter(since_empty=False)
    for key in ("a", (1, "c")):
        assert not fresh.may_contain(key) and old.may_contain(key)
        fresh.add(key)
        old.add(key)
        assert fresh.may_contain(key) and old.may_contain(key)

    async def queries(store: Store) -> int:
        asked_for: list[str] = []
        rows_of = store._database.rows
        store._database.rows = lambda sql, values=(): asked_for.append(sql) or rows_of(sql, values)  # type: ignore[assignment,func-returns-value,method-assign]
        request = asked("one")
        assert await store.get(request.key) is None
        await store.put(request.key, request, Reply("x"))
        assert await store.get(request.key) == Reply("x")
        return len(asked_for)

    async def look_up(store: Store) -> Reply | None:
        return await store.get(asked("one").key)

    assert in_run(tmp_path, queries) == 1
    assert in_run(tmp_path, look_up) == Reply("x")


async def hold(store: Store, rubric: Rubric, *cases: str, value: int = 4, **jury: Any) -> None:
    """The cases heard in this order, each with a call of its own, the first of them changed and heard again."""
    number = await sit(store, rubric, len(cases), **jury)
    for position, name in enumerate(cases):
        case = Case(id=name, output=f"Output {name}.")
        request = asked(f"About {name}", "the rubric")
        await store.put(request.key, request, Reply(f"{name} {value}", usd=0.5))
        await store.add(number, case, case_fingerprint(case), heard(case, value), position=position)
    first = Case(id=cases[0], output="Changed.")
    last = await store.last_hearing(number, cases[0])
    assert last is not None
    await store.add(number, first, case_fingerprint(first), heard(first, 5), position=0, follows=last.number)


def test_a_merged_run_holds_every_case_once_in_the_order_of_the_runs(tmp_path: Path, rubric: Rubric) -> None:
    in_run(tmp_path / "one", lambda store: hold(store, rubric, "a", "b"))
    in_run(tmp_path / "two", lambda store: hold(store, rubric, "c", "b", "d", value=2))

    merged = merge_runs([tmp_path / "one", tmp_path / "two"], tmp_path / "both")

    # b is in both: the first run's deliberation is kept, and its call, which was the same question.
    assert merged == (4, 4, 1)
    store = Store.read(tmp_path / "both")
    (arm,) = store.arms()
    found = {t.case: t.ballots[0].ballot.votes[0].value for t in store.transcripts(arm)}
    assert list(found.items()) == [("a", 5), ("b", 4), ("c", 5), ("d", 2)]
    assert (store.case("a"), store.case("b")) == (
        Case(id="a", output="Changed."),
        Case(id="b", output="Output b."),
    )
    assert store.cost().calls == 4 and store.cost().known_usd == 2.0
    (progress,) = store.arm_progress(since=0)
    assert (progress.done, progress.cases) == (4, 4)
    store.release()
    positions = rows(tmp_path / "both", "SELECT case_id, position FROM transcripts ORDER BY position")
    assert positions == [("a", 0), ("b", 1), ("c", 2), ("d", 4)]
    assert rows(tmp_path / "both", "SELECT count(*) FROM sittings") == [(2,)]
    assert len(rows(tmp_path / "both", "SELECT hash FROM texts")) == 2 + 4
    with pytest.raises(VenireError, match="there is already a run here"):
        merge_runs([tmp_path / "one"], tmp_path / "both")
    in_run(tmp_path / "three", lambda store: hold(store, rubric, "e"))
    sources = [tmp_path / name for name in ("one", "both", "two", "three")]
    assert merge_runs(sources, tmp_path / "all") == (5, 5, 2 + 3)
    positions = rows(tmp_path / "all", "SELECT case_id, position FROM transcripts ORDER BY position")
    assert positions == [("a", 0), ("b", 1), ("c", 2 + 2), ("d", 2 + 4), ("e", 2 + 5 + 3)]


def test_runs_that_differ_in_kind_or_jury_are_not_merged(tmp_path: Path, rubric: Rubric) -> None:
    in_run(tmp_path / "plain", lambda store: hold(store, rubric, "a"))
    in_run(tmp_path / "sealed", lambda store: hold(store, rubric, "b"), redact=True)
    in_run(tmp_path / "sealed2", lambda store: hold(store, rubric, "c"), redact=True)
    in_run(tmp_path / "other", lambda store: hold(store, rubric, "d", tolerance=1))

    async def replayed(store: Store) -> None:
        await hold(store, rubric, "e")
        store.add_fact("parent", "x")
        store.trace_salt()

    async def salted(store: Store) -> None:
        await hold(store, rubric, "f")
        store.trace_salt()
        store.add_fact("batch 1", "sent")

    in_run(tmp_path / "replay", replayed)
    in_run(tmp_path / "salted", salted)
    for others in (("plain", "sealed"), ("sealed", "plain"), ("replay",), ("plain", "other")):
        with pytest.raises(VenireError):
            merge_runs([tmp_path / name for name in others], tmp_path / "out")
        assert not run_exists(tmp_path / "out")
    assert merge_runs([tmp_path / "sealed", tmp_path / "sealed2"], tmp_path / "out").deliberations == 2
    assert merge_runs([tmp_path / "plain", tmp_path / "salted"], tmp_path / "out2").deliberations == 2
    assert in_run(tmp_path / "out", redacted) is True


TEXTS = Case(
    id="c", output="o", source=("s",), reference="r", question="q", audience="a",
    metadata={"label": 1}, group="g", system="x",
)  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value", "another"),
    [
        ("output", "O", True),
        ("source", ("s", "t"), True),
        ("reference", "R", True),
        ("question", "Q", True),
        ("audience", "A", True),
        ("id", "d", True),
        ("metadata", {}, False),
        ("group", "G", False),
        ("system", "X", False),
    ],
)
def test_a_case_is_another_by_what_jurors_could_read_and_not_by_its_labels(
    field: str, value: object, another: bool
) -> None:
    now = TEXTS.model_copy(update={field: value})

    assert (case_fingerprint(now) != case_fingerprint(TEXTS)) is another
    assert case_changes(TEXTS, now) == (field if another and field != "id" else "its form")


@pytest.mark.parametrize(
    ("part", "value", "another"),
    [
        ("venire", "9", True),
        ("prompts", "p", True),
        ("examples", "e", True),
        ("seed", 9, True),
        ("inputs", "i", True),
        ("jury", {"name": "k", "seats": []}, True),
        ("made_with", {"python": "9"}, False),
        ("prices", {"m": {}}, False),
    ],
)
def test_an_arm_is_another_by_what_can_change_an_answer(
    rubric: Rubric, part: str, value: object, another: bool
) -> None:
    jury = Jury.model_validate(
        {"name": "j", "protocol": "panel", "seats": [{"name": "a", "model": "server/a"}]}
    )
    made = arm_manifest(rubric, jury, seed=0, scored=ScoredCases(), prices={})
    now = {**made, part: value}

    assert (arm_fingerprint(now) != arm_fingerprint(made)) is another
    assert bool(manifest_changes(made, now)) is another
    assert manifest_changes(made, made) == []


def test_a_manifest_has_everything_that_was_decided(rubric: Rubric) -> None:
    jury = Jury.model_validate(
        {"name": "j", "protocol": "panel", "seats": [{"name": "a", "model": "server/a"}]}
    )
    prices = {"server/a": Price(prompt=1, completion=2)}
    made = arm_manifest(rubric, jury, seed=7, scored=ScoredCases(), prices=prices)
    pairs = arm_manifest(rubric.as_pairs(), jury, seed=7, scored=ScoredCases(), prices={})

    assert (made["seed"], made["prompts"], made["examples"]) == (7, PROMPTS.hash, "")
    assert Rubric.model_validate(made["rubric"]) == rubric and Jury.model_validate(made["jury"]) == jury
    assert made["prices"] == {"server/a": {"prompt": 1, "completion": 2, "cached": None}}
    assert "pair_prompts" not in made and pairs["pair_prompts"] == PAIR_PROMPTS.hash
    assert made["rubric_hash"] != pairs["rubric_hash"] and "python" in made["made_with"]
    fields = rubric.model_dump()
    fields["scales"]["agree5"]["costs"] = {"abstention": -1, **{true: {given: -abs(true - given) for given in range(1, 6)} for true in range(1, 6)}}  # fmt: skip
    worth = arm_manifest(Rubric.model_validate(fields), jury, seed=7, scored=ScoredCases(), prices=prices)
    assert worth["rubric"] != made["rubric"] and arm_fingerprint(worth) == arm_fingerprint(made)


def test_no_key_in_an_address_is_part_of_what_is_stored_of_an_arm(tmp_path: Path, rubric: Rubric) -> None:
    secret = "https://me:hunter2@h/v1?api_key=swordfish&x=1"
    fields = {
        "seats": [{"name": "a", "model": "server/a", "base_url": secret}, {"name": "b", "model": "server/b"}],
        "orchestrator": {"model": "server/c", "base_url": secret},
    }
    in_run(tmp_path, lambda store: sit(store, rubric, **fields))

    ((stored,),) = rows(tmp_path, "SELECT manifest FROM arms")
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"hunter2" not in kept and b"swordfish" not in kept
    jury = json.loads(stored)["jury"]
    masked = "https://***@h/v1?api_key=***&x=1"
    assert [seat["base_url"] for seat in jury["seats"]] == [masked, None]
    assert jury["orchestrator"]["base_url"] == masked


def test_a_try_that_timed_out_and_was_answered_after_all_is_no_model_out_of_reach(
    tmp_path: Path, rubric: Rubric
) -> None:
    retried = cast("a", {"accurate": 4}, spent=Receipt(calls=("k",)).with_failures([TRY]))
    told = {
        "retried": [retried],
        "gone": [abstained("a", "accurate", reason="timeout")],
        "well": [cast("a", {})],
    }

    async def work(store: Store) -> list[str]:
        number = await sit(store, rubric)
        for position, (name, entries) in enumerate(told.items()):
            case = Case(id=name, output="x")
            transcript = heard(case).model_copy(update={"entries": transcript_of(entries).entries})
            await store.add(number, case, case_fingerprint(case), transcript, position=position)
        (arm,) = store.arms()
        return [transcript.case for transcript in store.transcripts_without_a_model(arm)]

    assert in_run(tmp_path, work) == ["gone"]


def test_however_many_deliberations_there_are_each_is_read_once_and_the_latest(
    tmp_path: Path, rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "_PAGE", 2)
    cases = [Case(id=f"c{n}", output="It sings.") for n in range(4)]

    async def write(store: Store) -> None:
        arm = await sit(store, rubric)
        for position, case in enumerate(cases):
            await store.add(arm, case, case_fingerprint(case), heard(case), position=position)
        changed = cases[1].model_copy(update={"output": "It does not."})
        first = await store.last_hearing(arm, "c1")
        assert first is not None
        await store.add(arm, changed, case_fingerprint(changed), heard(changed, value=1), position=1, follows=first.number)  # fmt: skip

    in_run(tmp_path, write)
    store = Store.read(tmp_path)
    try:
        (arm,) = store.arms()
        values = {t.case: t.ballots[0].ballot.votes[0].value for t in store.transcripts(arm)}
        assert values == {"c0": 4, "c1": 1, "c2": 4, "c3": 4} and list(values) == ["c0", "c1", "c2", "c3"]
        assert [next(store.transcripts(arm, "c1")).ballots[0].ballot.votes[0].value] == [1]
        assert [each.case for each in store.finished_deliberations(after=0, most=9)] == [
            "c0",
            "c2",
            "c3",
            "c1",
        ]
        assert [each.case for each in store.finished_deliberations(after=1, most=2, last=4)] == ["c2", "c3"]
        assert (store.heard_cases(arm.id), store.last_finished(), store.case_ids()) == (4, 5, ["c0", "c1", "c2", "c3"])  # fmt: skip
        assert store.first_numbers() == store.first_numbers(arm) == {"c0": 1, "c1": 2, "c2": 3, "c3": 4}
        latest, before = store.case("c1"), store.case("c1", case_fingerprint(cases[1]))
        assert latest is not None and before is not None
        assert (latest.output, before.output, store.case("z")) == ("It does not.", "It sings.", None)
        assert store.unfinished_deliberations(9) == [], "nobody writes it"
    finally:
        store.release()


def test_what_calls_cost_is_summed_since_a_moment_and_an_unknown_price_is_none(tmp_path: Path) -> None:
    in_run(tmp_path, lambda store: put(store, *REPLIES))
    with closing(sqlite3.connect(tmp_path / "record.sqlite")) as record:
        record.execute("UPDATE calls SET made_at = 100 WHERE prompt = 7")
        record.commit()
    store = Store.read(tmp_path)
    try:
        whole, late = store.cost(), store.cost(since=101)
        assert (whole.calls, whole.usage, whole.priced, whole.known_usd) == (4, Usage(19, 20, 5), 2, 0.25)
        assert whole.estimated == 2 and whole.usd is None
        assert (late.calls, late.usage.prompt, late.estimated) == (3, 12, 1)
        assert store.cost(since=100).calls == 4
    finally:
        store.release()


def test_only_what_runs_say_of_their_kind_has_to_be_the_same(
    tmp_path: Path, rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(store: Store) -> None:
        await store.note(f"batch {store.name}", "{}")
        store.trace_salt()
        arm = await sit(store, rubric)
        for text in ("It sings.", "It does not."):
            case = CASE.model_copy(update={"output": text})
            hearing = await store.last_hearing(arm, case.id)
            await store.add(arm, case, case_fingerprint(case), heard(case), position=0, follows=hearing.number if hearing else 0)  # fmt: skip

    for name in ("x", "y"):
        in_run(tmp_path / name, write)
    # Page by page, both forms of a case that was changed are copied.
    monkeypatch.setattr(merging_module, "_PAGE", 1)
    merge_runs([tmp_path / "x", tmp_path / "y"], tmp_path / "both")
    store = Store.read(tmp_path / "both")
    assert store.facts("batch ") == {} and store.fact("trace_salt") is None
    assert len(rows(tmp_path / "both", "SELECT * FROM cases")) == 2 and store.last_finished() == 1
    assert rows(tmp_path / "both", "SELECT DISTINCT cases FROM sittings") == [(1,)]
    store.release()
