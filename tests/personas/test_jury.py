"""Juries: the models that the command line fills in, and only where the file left them open."""

from __future__ import annotations

import pytest

from venire import Jury

HERE, THERE = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"


def bench(orchestrator: dict[str, str] | None = None) -> Jury:
    return Jury.model_validate(
        {
            "name": "bench",
            "seats": [
                {"name": "open"},
                {"name": "served", "model": "server/own"},
                {"name": "placed", "model": "server/own", "base_url": THERE},
                {"name": "hosted", "model": "openai/gpt-4o-mini"},
            ],
            "orchestrator": orchestrator or {},
        }
    )


@pytest.mark.parametrize(
    ("model", "base_url", "seats"),
    [
        ("server/m", HERE, [("server/m", HERE), ("server/own", HERE), ("server/own", THERE), ("openai/gpt-4o-mini", None)]),
        ("openai/o", None, [("openai/o", None), ("server/own", None), ("server/own", THERE), ("openai/gpt-4o-mini", None)]),
        (None, None, [(None, None), ("server/own", None), ("server/own", THERE), ("openai/gpt-4o-mini", None)]),
        (None, HERE, [(None, HERE), ("server/own", HERE), ("server/own", THERE), ("openai/gpt-4o-mini", None)]),
    ],
)  # fmt: skip
def test_a_model_and_an_address_fill_what_a_seat_leaves_open_and_nothing_else(
    model: str | None, base_url: str | None, seats: list[tuple[str | None, str | None]]
) -> None:
    filled = bench().fill(model=model, base_url=base_url)

    assert [(seat.model, seat.base_url) for seat in filled.seats] == seats
    assert (filled.orchestrator.model, filled.orchestrator.base_url) == (model, base_url)


@pytest.mark.parametrize("own", ["server/boss", "openai/o3-mini"])
def test_the_orchestrators_own_model_stays(own: str) -> None:
    kept = bench({"model": own}).fill(model="server/m", base_url=HERE).orchestrator

    assert (kept.model, kept.base_url) == (own, HERE if own.startswith("server/") else None)
