"""Parameters of the provider: sent as they are, part of the call's address, never a way to send a key."""

from __future__ import annotations

from typing import Any

import pytest
from openai_server import ProviderServer, jury_of
from pydantic import ValidationError
from server_juries import jury_at

from venire import Case, Jury, Rubric, deliberate_sync
from venire.agents.gateway import sampling
from venire.agents.model import Message, Request, Sampling, Subject
from venire.personas.jury import ModelSettings
from venire.rubrics.ballot import Schema


def with_params(jury: Jury, **params: object) -> Jury:
    seats = tuple(seat.model_copy(update={"params": params}) for seat in jury.seats)
    return jury.model_copy(update={"seats": seats})


def test_params_reach_the_provider_as_they_are(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4})) as server:
        jury = with_params(jury_at(server.url, "a", protocol="single"), reasoning_effort="low", top_k=5)
        deliberate_sync(case, rubric, jury)

    assert (server.calls[0].body["reasoning_effort"], server.calls[0].body["top_k"]) == ("low", 5)


def test_params_are_part_of_the_address_and_absent_ones_change_nothing() -> None:
    plain, low = ModelSettings(model="m"), ModelSettings(model="m", params={"reasoning_effort": "low"})

    assert sampling(plain).text != sampling(low).text
    assert "params" not in plain.model_dump()
    assert ModelSettings.model_validate(low.model_dump()) == low


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 0.0),
        ("top_p", 0.5),
        ("max_tokens", 9),
        ("seed", 0),
        ("base_url", "http://127.0.0.1:9"),
    ],
)
def test_every_setting_that_can_change_an_answer_is_part_of_its_address(name: str, value: object) -> None:
    plain, other = ModelSettings(model="m"), ModelSettings.model_validate({"model": "m", name: value})

    assert sampling(other)[name] == value and sampling(other).text != sampling(plain).text
    assert name not in sampling(plain)


@pytest.mark.parametrize("name", ["api_key", "messages", "temperature", "extra_headers", "authorization"])
def test_what_has_its_own_place_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="cannot be set in params"):
        ModelSettings(params={name: "x"})


def asked(model: str = "server/a", **fields: Any) -> Request:
    parts: dict[str, Any] = {
        "messages": (Message("system", "Be fair."), Message("user", "Score it.", "The case.")),
        "schema": None, "settings": Sampling(), "repeat": 0, "timeout": 1,
    }  # fmt: skip
    return Request(model=model, **{**parts, **fields})


@pytest.mark.parametrize(
    ("fields", "another"),
    [
        ({"model": "server/b"}, True),
        ({"repeat": 1}, True),
        ({"settings": Sampling({"seed": 1})}, True),
        ({"schema": Schema({"type": "object"})}, True),
        ({"messages": (Message("system", "Be fair."), Message("user", "Score it!", "The case."))}, True),
        ({"messages": (Message("system", "Be fair."), Message("user", "Score it.", "Another."))}, True),
        ({"messages": (Message("user", "Be fair."), Message("user", "Score it.", "The case."))}, True),
        ({"timeout": 9}, False),
        ({"max_reply": 9}, False),
    ],
)
def test_a_question_is_another_by_what_can_change_its_answer(fields: dict[str, Any], another: bool) -> None:
    assert (asked(**fields).key != asked().key) is another


@pytest.mark.parametrize(
    ("model", "by_case"), [("recorded/t.csv#a", True), ("person/ann", True), ("server/a", False)]
)
def test_who_is_asked_by_case_and_seat_is_not_given_the_answer_to_another_of_the_same_words(
    rubric: Rubric, model: str, by_case: bool
) -> None:
    def key(case: str, seat: str) -> str:
        return asked(model, subject=Subject(case, seat, rubric, (), rubric.names, 1)).key

    assert (key("c1", "a") != key("c2", "a")) is (key("c1", "a") != key("c1", "b")) is by_case
