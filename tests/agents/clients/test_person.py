"""`person/NAME`: what she is shown and asked, how long she is waited for, and what her time costs."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from venire import Case, Rubric
from venire.agents.clients import person
from venire.agents.clients.person import PersonClient, connect
from venire.agents.desk import Desk, DeskTask, Parked, seated_people
from venire.agents.model import Context, ModelFailure, Request, Sampling, Subject
from venire.agents.prompting import brief
from venire.personas.jury import ModelSettings
from venire.rubrics.ballot import Vote, ballot_shape, inline
from venire.rubrics.errors import VenireError

SETTINGS = ModelSettings(model="person/ann", wait="2h", usd_per_hour=36)


def task(desk: Desk, name: str, place: int = 0) -> DeskTask:
    found = desk.task(name, place)
    assert found is not None
    return found


def client_at(folder: Path, **changes: Any) -> PersonClient:
    client = connect(SETTINGS.model_copy(update=changes))
    client.folder = folder
    return client


def request_of(subject: Subject, **form: Any) -> Request:
    shape = ballot_shape(subject.rubric, subject.asked, **form)
    return Request("person/ann", (), inline(shape), Sampling(), 0, 60.0, subject)


def subject_of(case: Case, rubric: Rubric, **changes: Any) -> Subject:
    return replace(brief(case, rubric).subject("ann", ("accurate",), round=1), **changes)


def fill(folder: Path, place: int, score: int, seconds: float) -> None:
    desk = Desk(folder)
    try:
        at = task(desk, "ann", place)
        desk.save(at, f"s{place}", "accurate", "score", score, seconds=seconds)
        desk.save(at, f"r{place}", "accurate", "rationale", f"why {place}", seconds=0)
        desk.mark_done(at, True)
    finally:
        desk.close()


def test_a_person_is_asked_waited_for_and_paid_by_the_hour(
    tmp_path: Path, case: Case, rubric: Rubric
) -> None:
    async def answer() -> Any:
        client = client_at(tmp_path)
        try:
            return await client.complete(request_of(subject_of(case, rubric)))
        finally:
            await client.close()

    for _ in range(2):
        with pytest.raises(Parked):
            asyncio.run(answer())
    assert [seat.waiting for seat in seated_people(tmp_path)] == [1], "asked once"
    fill(tmp_path, 0, 4, 100)
    reply = asyncio.run(answer())

    assert json.loads(reply.text)["accurate"] == {"rationale": "why 0", "evidence": [], "score": 4}
    assert reply.usd == pytest.approx(1.0)


def test_who_would_hear_others_before_her_first_ballot_votes_blind_first(
    tmp_path: Path, case: Case, rubric: Rubric
) -> None:
    heard = (("b", Vote(attribute="accurate", value=1, rationale="r")),)
    subject = subject_of(case, rubric, round=2, context=Context(heard=heard))

    async def answer() -> Any:
        client = client_at(tmp_path)
        try:
            return await client.complete(request_of(subject))
        finally:
            await client.close()

    with pytest.raises(Parked):
        asyncio.run(answer())
    desk = Desk(tmp_path)
    assert desk.sheet(task(desk, "ann")).heard == ()
    fill(tmp_path, 0, 4, 60)
    with pytest.raises(Parked):
        asyncio.run(answer())
    second = desk.sheet(task(desk, "ann", 1))
    desk.close()
    assert [vote.value for vote in second.own] == [4] and [each.label for each in second.heard] == ["b"]
    fill(tmp_path, 1, 2, 40)

    reply = asyncio.run(answer())
    assert json.loads(reply.text)["accurate"]["score"] == 2
    assert reply.usd == pytest.approx(1.0), "both sheets were looked at"

    own = Vote(attribute="accurate", value=3, rationale="r")
    later = replace(subject, context=Context(own=(own,), heard=heard))
    client = client_at(tmp_path)
    with pytest.raises(Parked):
        asyncio.run(client.complete(request_of(later)))
    asyncio.run(client.close())
    desk = Desk(tmp_path)
    third = desk.sheet(task(desk, "ann", 2))
    desk.close()
    assert third.heard and third.own == (own,), "who has voted blind is not asked to again"


def test_a_person_whose_time_is_up_abstains_and_is_not_asked_about_the_same_texts_again(
    tmp_path: Path, case: Case, rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])

    async def answer(subject: Subject, **changes: Any) -> Any:
        client = client_at(tmp_path, **changes)
        try:
            return await client.complete(request_of(subject))
        finally:
            await client.close()

    first = subject_of(case, rubric)
    with pytest.raises(Parked):
        asyncio.run(answer(first))
    now[0] += 7199
    with pytest.raises(Parked):
        asyncio.run(answer(first))
    now[0] += 1
    with pytest.raises(Parked):
        asyncio.run(answer(first, wait=None))
    with pytest.raises(ModelFailure, match="no answer within 2h"):
        asyncio.run(answer(first))
    with pytest.raises(ModelFailure, match="no answer within 2h"):
        asyncio.run(answer(replace(first, round=2)))
    other = case.model_copy(update={"output": "Another text."})
    with pytest.raises(Parked):
        asyncio.run(answer(subject_of(other, rubric)))


def test_an_answer_belongs_to_all_that_was_shown(case: Case, rubric: Rubric) -> None:
    vote = Vote(attribute="accurate", value=1, rationale="r")
    plain = subject_of(case, rubric)
    addresses = [
        person._address(plain, 0), person._address(plain, 1), person._address(replace(plain, round=2), 0), person._address(replace(plain, case="z"), 0),
        person._address(replace(plain, asked=("thorough",)), 0), person._address(replace(plain, kind="decision"), 0), person._address(replace(plain, exhibits=()), 0),
        *(person._address(replace(plain, context=context), 0) for context in (
            Context(own=(vote,)), Context(own=(vote.model_copy(update={"value": 2}),)), Context(heard=(("b", vote),)), Context(heard=(("c", vote),)),
            Context(heard=(("b", vote.model_copy(update={"value": 2})),)), Context(first="B"))),
    ]  # fmt: skip

    assert len(set(addresses)) == len(addresses)
    other_words = Context(heard=(("b", vote.model_copy(update={"rationale": "s"})),))
    assert person._address(replace(plain, context=other_words), 0) == addresses[9], (
        "not by the words of a prompt"
    )
    second = vote.model_copy(update={"attribute": "thorough"})
    both, turned = (Context(own=order, heard=tuple(("b", each) for each in order)) for order in ((vote, second), (second, vote)))  # fmt: skip
    assert len({person._address(replace(plain, context=each), 0) for each in (both, turned)}) == 1
    for free in ("system", "notes"):
        assert person._address(replace(plain, context=Context(notes=(free,))), 0) == addresses[0]


def test_of_a_pair_only_the_outputs_change_places(tmp_path: Path) -> None:
    from venire import load_rubric

    case = Case.from_row({"id": "1", "output_a": "a", "output_b": "b", "question": "q", "source": "s"})
    subject = brief(case, load_rubric("preference")).subject("ann", ("preference",), round=1)
    parts = inline(ballot_shape(subject.rubric))["properties"]
    desk = Desk(tmp_path)

    def shown(first: Any) -> list[str]:
        sheet = person._sheet(desk, replace(subject, context=Context(first=first)), parts)
        return [exhibit.name for exhibit in sheet.exhibits]

    assert shown("A") == shown(None) == ["question", "source", "output A", "output B"]
    assert shown("B") == ["question", "source", "output B", "output A"]
    desk.close()


def test_a_seat_without_a_name_or_a_desk_is_refused(case: Case, rubric: Rubric) -> None:
    with pytest.raises(VenireError, match="lacks the name of a person"):
        connect(ModelSettings(model="person/"))
    with pytest.raises(VenireError, match="cannot ask people"):
        asyncio.run(connect(SETTINGS).complete(request_of(subject_of(case, rubric))))
    with pytest.raises(ModelFailure, match="can only fill in"):
        asyncio.run(connect(SETTINGS).complete(request_of(subject_of(case, rubric, kind="verification"))))


def test_what_is_not_asked_any_more_does_not_apply(rubric: Rubric) -> None:
    fields = rubric.model_dump()
    fields["attributes"] = [
        {"name": "a", "question": "?", "scale": "agree5"},
        {"name": "b", "question": "?", "scale": "agree5", "asked_if": {"a": 1}},
        {"name": "c", "question": "?", "scale": "agree5", "asked_if": {"b": 2}},
    ]
    asking = Rubric.model_validate(fields)
    case = Case(id="1", output="o")
    subject = brief(case, asking).subject("ann", ("a", "b"), round=1)
    form = inline(ballot_shape(asking, ("a", "b")))["properties"]
    for a, b in ((1, 4), (2, "not_applicable")):
        given = {"a": {"score": a, "rationale": "r"}, "b": {"score": 4, "rationale": "s"}}
        filled = person._ballot_answer(subject, form, given)
        assert filled["a"] == {"rationale": "r", "evidence": [], "score": a}
        assert filled["b"]["score"] == b and (filled["b"]["rationale"] == "s") is (b == 4)
