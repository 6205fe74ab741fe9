"""Controls: jurors of known make are told apart, whatever the protocol, and the arithmetic adds up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import venire
from known_jurors import WITNESS, KnownJurors, known_run
from openai_server import ProviderServer
from planted_run import RUBRIC as PLANTED
from written_transcripts import cast, transcript_of

from venire import Jury, Stop, VenireError
from venire.evals.causes.controls import (
    Controls,
    controls,
    controls_report,
    decomposition,
    gives_away_score,
    is_right,
    sources,
    with_controls,
)
from venire.evals.causes.presence import presences
from venire.orchestration.reading.analysis import Flag
from venire.orchestration.reading.side_by_side import SideBySide
from venire.orchestration.replay.controls import CONDITIONS
from venire.orchestration.verdict import verdict


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
    ten = _exposure("c", 2, 0, 0, 10, draws=10)
    for condition in CONDITIONS:
        assert ten._replace(draws={**ten.draws, condition: ten.draws[condition][:9]}).label == ""


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


@pytest.mark.parametrize(
    ("value", "truth", "right"),
    [(3, 3.0, True), (3, 3.5, True), (4, 3.5, True), (3, 3.6, False), (2, 3.0, False), ("a", "a", True), ("a", "b", False), (3, None, False)],
)  # fmt: skip
def test_a_score_is_right_where_it_is_peoples_or_next_to_their_middle(value: Any, truth: Any, right: bool) -> None:  # fmt: skip
    assert is_right(value, truth) is right


def test_an_exposure_without_an_answer_to_some_condition_is_in_no_sum() -> None:
    rows = [_exposure("c1", 2, 1, 1, 1), _exposure("c2", 2, 0, 1, 1), _exposure("c3", 1, 0, 0, 0)]
    silent = rows[0]._replace(case="c4", draws={**rows[0].draws, CONDITIONS[1]: ()})
    found, without = decomposition([*rows, silent]), decomposition(rows)

    assert (found.exposures, found.moves) == (3, 2) and found.shares == without.shares
    assert np.isnan(silent.moves(CONDITIONS[1])) and silent.moves(CONDITIONS[0]) == 1.0
    unknown = rows[0]._replace(truth=None)
    assert decomposition([unknown], direction="right to wrong").exposures == 0


def test_shares_have_the_jackknifes_interval_over_cases() -> None:
    rows = [_exposure(f"c{n}", 2, n % 2, 1, n % 3 // 2) for n in range(9)]
    found = decomposition(rows).shares["instability"]
    moved = np.array([n % 2 for n in range(9)], dtype=float)
    left_out = (moved.sum() - moved) / 8
    error = np.sqrt(8 / 9 * ((left_out - left_out.mean()) ** 2).sum())

    assert (found.value, found.n) == (pytest.approx(4 / 9), 9) and found.se == pytest.approx(error)
    assert found.low < found.value < found.high
    two_each = decomposition([row._replace(case=f"c{n // 3}") for n, row in enumerate(rows)]).shares["instability"]  # fmt: skip
    assert two_each.n == 3 and two_each.value == found.value


def test_who_is_necessary_and_who_is_sufficient_by_hand() -> None:
    """Of four moves after reading `w`, one is made without it; with it alone all four are, and one when asked alone."""

    def row(case: str, after: int, without: int, only: int, alone: int) -> Controls:
        plain = _exposure(case, after, alone, 0, 0)
        return plain._replace(draws={**plain.draws, "without w": (without,), "only w": (only,)})

    rows = [row("c1", 2, 2, 2, 1), row("c2", 2, 1, 2, 0), row("c3", 2, 1, 2, 0), row("c4", 2, 1, 2, 0), row("c5", 1, 1, 1, 0)]  # fmt: skip
    (found,) = sources(rows)

    assert (found.name, found.exposures) == ("w", 5)
    assert found.necessary.value == pytest.approx(3 / 4) and found.sufficient.value == pytest.approx(3 / 4)
    moved, without = np.array([1, 1, 1, 1, 0]), np.array([1, 0, 0, 0, 0])
    left_out = ((4 - moved) - (1 - without)) / (4 - moved)
    error = np.sqrt(4 / 5 * ((left_out - left_out.mean()) ** 2).sum())
    assert found.necessary.se == pytest.approx(error)
    (none,) = sources([row("c1", 1, 1, 1, 0)])
    assert not none.necessary.defined and none.exposures == 1


def test_a_juror_counts_as_read_where_it_was_both_left_out_and_shown_alone_and_the_most_necessary_comes_first() -> None:  # fmt: skip
    def row(case: str, **draws: int) -> Controls:
        plain = _exposure(case, 2, 0, 0, 0)
        named = {name.replace("_", " "): (value,) for name, value in draws.items()}
        return plain._replace(draws={**plain.draws, **named})

    rows = [
        row("c1", without_b=2, only_b=1, without_a=1, only_a=2), row("c2", without_b=2, only_b=1, without_a=1, only_a=2),
        row("c3", without_a=1), row("c4", only_b=2), row("c5", without_c=2, only_c=1)._replace(after=1),
    ]  # fmt: skip
    found = sources(rows)

    assert [(each.name, each.exposures) for each in found] == [("a", 2), ("b", 2), ("c", 1)]
    assert [(each.necessary.value, each.sufficient.value) for each in found[:2]] == [(1, 1), (0, 0)]
    silent = rows[0]._replace(draws={**rows[0].draws, CONDITIONS[0]: ()})
    assert sources([silent]) == []


def test_a_report_counts_what_no_condition_answered_and_tells_right_moves_from_wrong_ones_where_people_say_which(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = [_exposure("c1", 2, 0, 1, 0), _exposure("c2", 2, 1, 0, 0)._replace(juror="b", arm="other")]
    silent = whole[0]._replace(case="c3", draws={**whole[0].draws, CONDITIONS[2]: ()})
    monkeypatch.setattr("venire.evals.causes.controls._rows", lambda run, truth: ([*whole, silent], 0.25))
    plain, told = controls_report("run"), controls_report("run", {("c1", "accurate"): 1})

    assert [(group.of, group.exposures) for group in plain.groups] == [("arm", 1), ("arm, a", 1), ("other", 1), ("other, b", 1)]  # fmt: skip
    assert [group.of for group in told.groups[:4]] == ["arm", "arm, right to wrong", "arm, wrong to right", "arm, a"]  # fmt: skip
    assert [group.moves for group in told.groups[:3]] == [1, 1, 0]
    assert plain.left_out == 1 and plain.notes[-2:] == [
        "25% of the reasons shown state the juror's score; in these, conformity and persuasion cannot be separated",
        "left out, because one of the conditions has no answer: 1 exposures",
    ]
    document = plain.to_json("c2")
    assert (document["exposures"], document["left_out"], document["reasons_that_give_away_their_score"]) == (3, 1, 0.25)  # fmt: skip
    assert [each["case"] for each in document["revisions"]] == ["c2"] and len(plain.to_json()["revisions"]) == 3  # fmt: skip
    assert plain._replace(given_away=np.nan).to_json()["reasons_that_give_away_their_score"] is None


def test_only_flags_about_a_move_that_was_controlled_say_what_came_of_it() -> None:
    row = _exposure("c", 2, 0, 1, 10, draws=10)
    moves = {("arm", "2/a", "accurate"): row}

    def words(kind: Any, arm: str = "arm", attribute: str = "accurate", entries: tuple[str, ...] = ("2/a",)) -> str:  # fmt: skip
        (flag,) = with_controls(arm, [Flag(kind, 1, attribute, ("a",), entries, 2, "told")], moves)
        return flag.text

    again = "told; when asked again, the juror changed its score 0 of 10 times alone, 1 of 10 with the scores, 10 of 10 with the reasons: persuasion (95%)"
    assert words("moved-towards") == words("conformity") == again
    assert {words("overruled"), words("conformity", "other"), words("conformity", attribute="clear"), words("conformity", entries=("2/b",)), words("conformity", entries=())} == {"told"}  # fmt: skip


def test_what_a_jurors_presence_did_is_the_mean_of_the_verdicts_with_it_less_those_without() -> None:
    """In every second case `x` moves to what `z` gave, having read it; without `z` nobody moves."""
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "count": "mean", "seats": [{"name": name, "model": "scripted/none"} for name in "xyz"]})  # fmt: skip
    pairs = []
    gaps = []
    for number in range(6):
        first = [cast("x", {"accurate": 1, "organized": 3}), cast("y", {"accurate": 2, "organized": 3}), cast("z", {"accurate": 4 + number % 2, "organized": 3})]  # fmt: skip
        moves = [cast("x", {"accurate": 4}, round=2, purpose="revision", saw=("1/z",))] if number % 2 else []
        with_z = transcript_of(first, moves, seats=("x", "y", "z")).with_stop(Stop(reason="complete"))
        without = transcript_of(first[:2], seats=("x", "y")).with_stop(Stop(reason="complete"))
        two = jury.model_copy(update={"seats": jury.seats[:2]})
        pairs.append(
            SideBySide(
                "j",
                "without z",
                verdict(with_z, PLANTED, jury, count="mean"),
                verdict(without, PLANTED, two, count="mean"),
            )
        )
        gaps.append(((4 if number % 2 else 1) + 2 + 4 + number % 2) / 3 - 1.5)
    accurate, organized = presences(pairs)

    assert (accurate.seat, accurate.attribute, organized.attribute) == ("z", "accurate", "organized")
    assert accurate.effect.value == pytest.approx(np.mean(gaps)) and accurate.effect.n == 6
    assert accurate.effect.se == pytest.approx(np.std(gaps, ddof=1) / np.sqrt(6))
    assert (accurate.changed, accurate.cases, accurate.credited) == (6, 6, 3.0)
    assert (organized.changed, organized.effect.value, organized.credited) == (0, 0.0, 0.0)
    assert presences(pairs[:1])[0].effect.note and np.isnan(presences(pairs[:1])[0].effect.low)
