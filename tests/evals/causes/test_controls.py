"""Controls: jurors of known make are told apart, whatever the protocol, and the arithmetic adds up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from known_jurors import WITNESS, KnownJurors, known_run
from openai_server import ProviderServer

from venire import VenireError
from venire.evals.causes.controls import Controls, controls, decomposition, gives_away_score
from venire.orchestration.replay.controls import CONDITIONS


def jurors_of(make: str) -> tuple[str, ...]:
    return (f"{make}-1", f"{make}-2", WITNESS)


@pytest.mark.parametrize("protocol", ["delphi", "orchestrated", "moderated"])
@pytest.mark.parametrize(
    ("make", "kind"),
    [("restless", "instability"), ("conforming", "conformity"), ("persuadable", "persuasion")],
)
def test_a_juror_of_known_make_is_recognised(tmp_path: Path, protocol: str, make: str, kind: str) -> None:
    with ProviderServer(KnownJurors()) as server:
        run = known_run(tmp_path, server.url, protocol, jurors_of(make))
        before = (run / "record.sqlite").read_bytes()
        report = controls(run, draws=2)
    shares = report.groups[0].shares

    assert report.groups[0].moves > 5
    assert {name: estimate.value for name, estimate in shares.items()} == {
        name: float(name == kind) for name in ("instability", "conformity", "persuasion")
    }
    assert all(estimate.low < estimate.high for estimate in shares.values())
    assert (run / "record.sqlite").read_bytes() == before


def test_who_did_it_is_named(tmp_path: Path) -> None:
    """Only the witness quotes, and the others move for quotes alone."""
    with ProviderServer(KnownJurors()) as server:
        run = known_run(tmp_path, server.url, "orchestrated", jurors_of("persuadable"))
        report = controls(run, draws=1, who=True)
    first, *others = report.sources

    assert (first.name, first.necessary.value, first.sufficient.value) == (WITNESS, 1.0, 1.0)
    assert all(each.necessary.value == each.sufficient.value == 0.0 for each in others)


def test_the_command_plans_and_goes_on_with_more_draws(tmp_path: Path) -> None:
    with ProviderServer(KnownJurors()) as server:
        known_run(tmp_path, server.url, "delphi", jurors_of("restless"))
        made = len(server.calls)
        asked = ["replay", "run", "--controls", "-o", "child", "--json"]
        first = json.loads(venire(*asked, "--draws", 1, cwd=tmp_path).stdout)
        assert len(server.calls) - made == first["plan"]["new"] == 3 * first["exposures"]
        more = json.loads(venire(*asked, "--draws", 2, cwd=tmp_path).stdout)
        shown = venire("show", "child", cwd=tmp_path)

    assert more["plan"]["new"] == more["calls_made"] == first["plan"]["new"]
    assert [len(values) for values in more["revisions"][0]["draws"].values()] == [2, 2, 2]
    assert "instability" in shown.stdout, shown.stderr


@pytest.mark.parametrize(
    ("seat", "why"), [({"temperature": 0}, "temperature is 0"), ({"seed": 7}, "seed is 7")]
)
def test_draws_that_would_all_be_equal_are_refused(tmp_path: Path, seat: dict[str, Any], why: str) -> None:
    with ProviderServer(KnownJurors()) as server:
        run = known_run(tmp_path, server.url, "delphi", jurors_of("restless"), **seat)
        with pytest.raises(VenireError, match=why):
            controls(run, draws=3)
        assert controls(run, draws=1).groups[0].moves


def test_a_run_without_revisions_has_nothing_to_control(tmp_path: Path) -> None:
    with ProviderServer(KnownJurors()) as server:
        run = known_run(tmp_path, server.url, "panel", jurors_of("restless"))
        with pytest.raises(VenireError, match="no juror revised"):
            controls(run, draws=1)


def _exposure(case: str, after: int, alone: int, scores: int, reasons: int, draws: int = 1) -> Controls:
    """A juror that held 1 and moved to 2 as often as the numbers, out of `draws`, say."""
    values = [tuple([2] * moved + [1] * (draws - moved)) for moved in (alone, scores, reasons)]
    by_condition = dict(zip(CONDITIONS, values, strict=True))
    return Controls(case, "arm", "a", "accurate", 2, "2/a", 1, after, by_condition, truth=1)


def test_the_shares_are_those_of_the_formulae() -> None:
    """F = 4, A = 1, B = 3, C = 2: 1/4, ((3-1)+(4-2))/2/4 = 1/2, ((2-1)+(4-3))/2/4 = 1/4."""
    rows = [
        _exposure("c1", 2, 1, 1, 1),
        _exposure("c2", 2, 0, 1, 1),
        _exposure("c3", 2, 0, 1, 0),
        _exposure("c4", 2, 0, 0, 0),
    ]
    found = decomposition(rows)
    wrong = decomposition(rows, direction="right to wrong")
    right = decomposition(rows, direction="wrong to right")

    assert [estimate.value for estimate in found.shares.values()] == [0.25, 0.5, 0.25]
    assert [estimate.value for estimate in wrong.shares.values()] == [0.25, 0.5, 0.25]
    assert right.moves == 0 and not right.shares["persuasion"].defined


def test_one_move_has_a_word_from_ten_draws_on() -> None:
    assert _exposure("c", 2, 0, 0, 10, draws=10).label == "persuasion (100%)"
    assert _exposure("c", 2, 9, 10, 9, draws=10).label == "instability (90%)"
    assert _exposure("c", 2, 0, 5, 5, draws=10).label == "mixed"
    assert _exposure("c", 2, 0, 0, 9, draws=9).label == ""
    assert _exposure("c", 1, 0, 0, 10, draws=10).label == ""


@pytest.mark.parametrize(
    ("reason", "value", "gives"),
    [
        ("I give it a 4.", 4, True),
        ("four of five", 4, True),
        ("40 mg", 4, False),
        ("4.5 mg", 4, False),
        ("It is wrong.", 1, False),
    ],
)
def test_reasons_that_say_their_score_are_counted(reason: str, value: int, gives: bool) -> None:
    assert gives_away_score(reason, value) is gives
