"""Libraries kept quiet while they are used: what they log is heard by nobody, what the host program logs by whoever listened."""

from __future__ import annotations

import logging
import threading

import pytest

from venire.agents.clients.silence import silence_loggers, silence_package


@pytest.fixture(autouse=True)
def listening(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def say(name: str) -> None:
    logging.getLogger(name).warning(name)


def test_inside_the_named_loggers_and_those_of_http_say_nothing_and_all_others_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    names = ("noisy", "httpx", "openai._base_client", "hosts.own")
    with silence_loggers("noisy"):
        for name in names:
            say(name)
    assert caplog.messages == ["hosts.own"]
    caplog.clear()
    for name in names:
        say(name)
    assert caplog.messages == list(names)


def test_what_runs_beside_is_heard_and_an_inner_silence_ends_no_outer_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with silence_loggers("noisy"):
        beside = threading.Thread(target=say, args=("httpx",))
        beside.start()
        beside.join()
        with pytest.raises(ZeroDivisionError), silence_loggers("noisy"):
            raise ZeroDivisionError
        say("noisy")
    say("noisy")

    assert caplog.messages == ["httpx", "noisy"]


def test_of_a_package_every_logger_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    for name in ("packed", "packed.inner", "unpacked"):
        logging.getLogger(name)
    with silence_package("packed"):
        for name in ("packed", "packed.inner", "unpacked"):
            say(name)

    assert caplog.messages == ["unpacked"]
