"""Keys: which variable they are read from, in which forms they may be repeated, and what is shown in their place."""

from __future__ import annotations

from typing import Any

import pytest

from venire import VenireError
from venire.agents.clients.keys import (
    address_without_secrets,
    environment_secrets,
    key_from,
    key_in,
    redact_secrets,
    refuse_in_address,
    secret_forms,
    sent_secrets,
)
from venire.personas.jury import ModelSettings


def test_a_version_in_the_query_is_no_secret() -> None:
    secrets = sent_secrets("http://h/v1?api-version=2024-02-01&api-key=0123456789", None)

    assert redact_secrets("on 2024-02-01: 0123456789", secrets) == "on 2024-02-01: [key]"


def test_short_words_are_not_taken_for_secrets() -> None:
    assert redact_secrets("all is well", sent_secrets("http://all:is@h/v1", "well")) == "all is well"


def test_of_two_secrets_the_longer_is_taken_out_first_and_in_every_form() -> None:
    secrets = secret_forms(["hunter2", "hunter2/and more"])
    for told in ("hunter2/and more", "hunter2%2Fand%20more", "hunter2%2Fand+more", "hunter2"):
        assert redact_secrets(f"<{told}>", secrets) == "<[key]>"


@pytest.mark.parametrize(
    ("address", "sent"),
    [
        ("http://token99@h/v1", ["token99", "dG9rZW45OTo="]),
        ("http://user99:pass99@h/v1", ["pass99", "user99:pass99", "dXNlcjk5OnBhc3M5OQ=="]),
        ("http://h/v1?api_key=query99&x=plain99", ["query99"]),
        ("http://us%40er:pa%40ss@h/v1", ["pa@ss", "pa%40ss", "us@er:pa@ss"]),
    ],
)
def test_all_that_an_address_holds_in_secret_is_known_as_it_may_be_repeated(
    address: str, sent: list[str]
) -> None:
    text = " ".join([*sent, "plain99"])
    told = redact_secrets(text, sent_secrets(address, "the-key"))

    assert [word for word in told.split() if word != "[key]"] == [
        word for word in text.split() if word == "plain99" or len(word) < 6
    ]
    assert "the-key" in sent_secrets(None, "the-key")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://u:p@h:8/v1?key=k", "https://h:8/v1"),
        ("http://[::1]:9/v1", "http://[::1]:9/v1"),
        ("http://h/v1", "http://h/v1"),
    ],
)
def test_an_address_is_shown_without_credentials_and_query(address: str, shown: str) -> None:
    assert address_without_secrets(address) == shown


def test_keys_in_the_environment_are_those_with_a_keys_name_and_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"A_KEY": "x" * 12, "B_TOKEN": "y" * 12, "C_KEY": "z" * 11, "KEYS": "w" * 12}.items():
        monkeypatch.setenv(name, value)
    found = environment_secrets()

    assert {"x" * 12, "y" * 12} <= set(found) and not {"z" * 11, "w" * 12} & set(found)
    monkeypatch.setenv("BLANK", " ")
    assert (key_in("A_KEY"), key_in("BLANK"), key_in("NOT_SET_AT_ALL")) == ("x" * 12, None, None)
    with pytest.raises(VenireError, match="NOT_SET_AT_ALL is not set"):
        key_from(ModelSettings(model="server/a", api_key_env="NOT_SET_AT_ALL"))
    monkeypatch.setenv("A_KEY", "line\nbreak")
    with pytest.raises(VenireError) as error:
        key_in("A_KEY")
    assert "break" not in str(error.value).replace("line break", "")


@pytest.mark.parametrize("key", ["sk-canary\n", "sk-\u2019canary", "sk-canary\x00"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr("os.environ", {"MY_KEY": key})

    with pytest.raises(
        VenireError, match="the key in MY_KEY holds a line break or another character"
    ) as error:
        key_in("MY_KEY")
    assert "canary" not in str(error.value)


@pytest.mark.parametrize(
    ("address", "parts", "refused"),
    [
        ("https://h/v1?key=canary", ("query", "username"), "query"),
        ("https://canary@h/v1", ("query", "username"), "username"),
        ("https://canary@h/v1", ("query",), None),
        ("https://h/v1", ("query", "username"), None),
        (None, ("query", "username"), None),
    ],
)
def test_an_address_with_a_part_that_a_library_would_lose_is_refused(
    address: str | None, parts: tuple[Any, ...], refused: str | None
) -> None:
    settings = ModelSettings(model="openai/m", base_url=address)
    if refused is None:
        refuse_in_address(settings, *parts)
    else:
        with pytest.raises(VenireError, match=f"an address that has a {refused}") as error:
            refuse_in_address(settings, *parts)
        assert "canary" not in str(error.value)
