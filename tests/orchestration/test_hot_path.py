"""What is made by hand or kept for speed must be what it would be without that."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import pickle
import time
from collections.abc import Sequence

import pytest
from openai_server import ProviderServer, jury_of
from server_juries import jury_at

from venire import Case, Jury, Rubric, deliberate_sync, load_rubric
from venire.agents.clients.server import chat_body, chat_reply
from venire.agents.model import CachedText, Message, Reply, Request, Sampling, digest
from venire.agents.prompting import brief
from venire.orchestration.bench import Court
from venire.orchestration.deliberate import hear
from venire.orchestration.record import database
from venire.orchestration.record.database import Batches, merge_statements
from venire.orchestration.run_session import infrequent_gc
from venire.rubrics.ballot import ballot_shape, inline

ODD = 'quotes " and \\ and \u2028, é, \U0001f600, a tab\t and a \x7f'


def request(*, schema: bool = True, opening: str = ODD, **settings: object) -> Request:
    return Request(
        model='server/odd " name',
        messages=(Message("system", ODD), Message("user", f"tail {ODD}", CachedText(opening))),
        schema=inline(ballot_shape(load_rubric("pdsqi-9"))) if schema else None,
        settings=Sampling(settings),
        repeat=2,
        timeout=1,
    )


@pytest.mark.parametrize("schema", [True, False])
def test_a_key_is_the_hash_of_the_request_as_json(schema: bool) -> None:
    asked = request(schema=schema, temperature=0.5, seed=7, base_url="http://127.0.0.1/v1")

    def sha(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    parts = [
        asked.model,
        [(m.role, sha(m.opening) if m.opening else "", m.body) for m in asked.messages],
        sha(json.dumps(asked.schema)) if asked.schema is not None else None,
        dict(asked.settings),
        asked.repeat,
    ]
    assert asked.key == sha(json.dumps(parts))


@pytest.mark.parametrize("settings", [{}, {"temperature": 0.5, "seed": 7, "base_url": "http://x/v1"}])
def test_a_body_is_the_request_as_json(settings: dict[str, object]) -> None:
    asked = request(**settings)

    named = {"name": "answer", "strict": True, "schema": asked.schema}
    expected = {
        "model": 'odd " name',
        "messages": [{"role": m.role, "content": m.content} for m in asked.messages],
        **({"temperature": 0.5, "seed": 9} if settings else {}),
        "response_format": {"type": "json_schema", "json_schema": named},
    }
    assert chat_body(asked, "json_schema") == json.dumps(expected).encode()


def test_an_answer_that_ends_in_half_a_character_is_still_read() -> None:
    raw = b'{"choices": [{"message": {"content": "cut \\ud83d"}, "finish_reason": "length"}]}'

    reply = chat_reply(raw, 0.1)

    assert reply is not None and reply.text == "cut \ud83d" and reply.finish == "length"


def test_lasting_words_travel_without_what_was_made_of_them() -> None:
    text = CachedText("x" * 5000)
    assert digest(text) == text.digest and text.json_text == json.dumps("x" * 5000)

    there = pickle.loads(pickle.dumps(text))

    assert there == text and not vars(there)


def test_rubrics_that_differ_in_one_word_have_shapes_and_words_of_their_own() -> None:
    case = Case(id="a", output="Something.")
    rubric = load_rubric("pdsqi-9")
    shorter = {**rubric.model_dump(), "attributes": rubric.attributes[:2], "composites": {}}
    other = Rubric.model_validate(shorter)

    assert hash(rubric) == hash(other)
    assert list(ballot_shape(other).model_fields) == list(rubric.names[:2])
    assert list(ballot_shape(rubric).model_fields) == list(rubric.names)
    assert brief(case, other).text != brief(case, rubric).text


def test_jobs_that_come_together_are_done_together_and_each_has_its_own_result() -> None:
    sizes: list[int] = []

    def double(jobs: list[int]) -> Sequence[int]:
        sizes.append(len(jobs))
        return [2 * job for job in jobs]

    async def main() -> list[int]:
        work = Batches(double, name="test")
        results = await asyncio.gather(*(work.submit(n) for n in range(100)))
        work.stop()
        return results

    assert asyncio.run(main()) == [2 * n for n in range(100)]
    assert sizes == [100]


def test_what_goes_wrong_with_a_batch_is_told_to_all_in_it_and_the_next_is_done() -> None:
    def fragile(jobs: list[int]) -> Sequence[int]:
        if 13 in jobs:
            raise ValueError("unlucky")
        return jobs

    async def main() -> tuple[list[object], int]:
        work = Batches(fragile, name="test")
        first = await asyncio.gather(work.submit(12), work.submit(13), return_exceptions=True)
        second = await work.submit(14)
        work.stop()
        return list(first), second

    first, second = asyncio.run(main())
    assert [str(error) for error in first] == ["unlucky", "unlucky"] and second == 14


def test_stopping_does_what_is_waiting() -> None:
    done: list[int] = []

    async def main() -> None:
        work = Batches(lambda jobs: [done.append(job) for job in jobs], name="test")
        waiting = asyncio.ensure_future(work.submit(1))
        await asyncio.sleep(0)
        work.stop()
        await waiting

    asyncio.run(main())
    assert done == [1]


def test_few_jobs_wait_for_nobody_and_many_are_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "GATHER", 20.0)
    at: list[float] = []

    def keep(jobs: list[int]) -> Sequence[int]:
        at.append(time.perf_counter())
        return jobs

    async def main() -> float:
        work = Batches(keep, name="test")
        started = time.perf_counter()
        for n in range(4):
            await work.submit(n)
        quiet = time.perf_counter() - started
        monkeypatch.setattr(database, "GATHER", 0.1)
        until = time.perf_counter() + 0.6
        while time.perf_counter() < until:
            await asyncio.gather(*(work.submit(n) for n in range(200)))
        work.stop()
        return quiet

    assert asyncio.run(main()) < 20
    assert sum(moment > at[-1] - 0.25 for moment in at) <= 4


class Distant:
    """A record whose look-ups are as old as they took: answered at once, they arrive later."""

    def __init__(self) -> None:
        self._replies: dict[str, Reply] = {}

    async def get(self, key: str) -> Reply | None:
        found = self._replies.get(key)
        await asyncio.sleep(0.1)
        return found

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        self._replies[key] = reply

    def forgo(self, key: str) -> None:
        return None


def test_what_is_committed_during_a_look_up_is_not_asked_again(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 3})) as server:
        jury = jury_at(server.url, "a", protocol="panel")

        async def main() -> None:
            court = Court(calls=Distant())
            first = asyncio.create_task(hear(case, rubric, jury, court))
            await asyncio.sleep(0.05)
            await asyncio.gather(first, hear(case, rubric, jury, court))
            await court.close()

        asyncio.run(main())
    assert len(server.calls) == 1


@pytest.mark.parametrize("repeats", [1, 2])
def test_seats_that_ask_the_very_same_are_samples_of_their_own(
    rubric: Rubric, case: Case, repeats: int
) -> None:
    with ProviderServer(jury_of({"a": 3, "b": 3})) as server:
        models = {"one": "server/a", "two": "server/a", "three": "server/b"}
        seats = [{"name": name, "model": model, "base_url": server.url} for name, model in models.items()]
        jury = Jury.model_validate({"name": "j", "protocol": "panel", "seats": seats, "repeats": repeats})
        verdict = deliberate_sync(case, rubric, jury)

    calls = [call for entry in verdict.transcript.ballots for call in entry.spent.calls]
    assert len(set(calls)) == len(server.calls) == 3 * repeats


@pytest.mark.parametrize("frozen", [False, True])
def test_garbage_is_looked_for_as_before_once_a_run_is_over(frozen: bool) -> None:
    before = gc.get_threshold()
    gc.freeze() if frozen else gc.unfreeze()
    try:
        with pytest.raises(ValueError, match="over"), infrequent_gc():
            assert gc.get_threshold()[0] > before[0] and gc.get_freeze_count() > 0
            raise ValueError("over")

        assert gc.get_threshold() == before and (gc.get_freeze_count() > 0) is frozen
    finally:
        gc.freeze()


def test_writes_of_many_become_few_statements_with_the_same_rows() -> None:
    insert = "INSERT INTO t (a, b) VALUES (?, ?) ON CONFLICT DO NOTHING"
    writes = [(insert, (n, str(n))) for n in range(21)] + [("DELETE FROM t", ())]

    few = merge_statements(writes)

    assert len(few) == 4
    assert [value for _, values in few for value in values] == [v for _, values in writes for v in values]
    assert (
        few[0][0] == "INSERT INTO t (a, b) VALUES " + ", ".join(["(?, ?)"] * 16) + " ON CONFLICT DO NOTHING"
    )


def test_what_inserts_nothing_is_merged_with_nothing_and_keeps_its_place() -> None:
    forget, keep = (
        "DELETE FROM unfinished WHERE arm = ? AND case_id = ?",
        "INSERT INTO unfinished VALUES (?, ?)",
    )
    writes = [(forget, (1, "a")), (keep, (1, "b")), (keep, (1, "c")), (forget, (1, "b")), (forget, (1, "c"))]

    assert merge_statements(writes) == [
        (forget, (1, "a")),
        (keep, (1, "b")),
        (keep, (1, "c")),
        (forget, (1, "b")),
        (forget, (1, "c")),
    ]
