"""The arms that a study file lists: what each is made of, what it hears, what sets it apart; and the split beneath them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from venire import Case, VenireError
from venire.evals.studies.arms import (
    CaseSplit,
    LeftOut,
    StudyArm,
    duplicate_names,
    listed_arms,
    split_cases,
    study_split,
)
from venire.evals.studies.schema import Split
from venire.evals.studies.study import load_study
from venire.personas.jury import Jury

SPLIT = CaseSplit(selection=("c", "a"), test=("b", "d"), scored=2)
SEATS = [{"name": "first"}, {"name": "second", "model": "server/named"}, {"name": "third", "model": "local/small"}]  # fmt: skip
PANEL: dict[str, Any] = {"name": "panel", "protocol": "panel", "seats": SEATS}
DEBATE = {**PANEL, "name": "debate", "protocol": "debate"}


def listed(
    folder: Path, *arms: object, split: CaseSplit | None = SPLIT, **keys: object
) -> list[StudyArm | LeftOut | VenireError]:
    """The arms of a study file in `folder/studies`."""
    path = folder / "studies" / "study.yaml"
    path.parent.mkdir(exist_ok=True)
    whole = {"name": "s", "cases": "c.jsonl", "ratings": "r.csv", "rubric": "clinical-note", "arms": list(arms), **keys}  # fmt: skip
    path.write_text(json.dumps(whole))
    study, written = load_study(path)
    return list(listed_arms(study, written, split))


def one(folder: Path, entry: object, **keys: Any) -> StudyArm:
    (arm,) = listed(folder, entry, **keys)
    assert isinstance(arm, StudyArm), arm
    return arm


def test_examples_are_drawn_from_the_cases_that_arms_are_chosen_on(tmp_path: Path) -> None:
    entry, people = {"jury": PANEL, "shots": {"k": 3, "seed": 7}}, {"rescore": ["second", "again"]}
    shots = one(tmp_path, entry, people=people).jury.shots

    assert shots is not None
    assert shots.among == ("a", "c")
    assert shots.without == ("again", "second")
    assert (shots.n, shots.seed) == (3, 7)
    beside = tmp_path / "studies"
    assert (shots.cases, shots.ratings) == (beside / "c.jsonl", beside / "r.csv")
    whole = one(tmp_path, entry, split=None).jury.shots
    assert whole is not None and whole.among == () and whole.without == ()


def test_an_arm_hears_all_cases_the_test_cases_or_so_many_of_these() -> None:
    cases = [Case(id=name, output="Text.") for name in "dcba"]
    none_held_out = CaseSplit(selection=("c", "a", "b"), test=(), scored=3)
    jury = _jury()

    def heard(on: Any, split: CaseSplit | None) -> str:
        return "".join(case.id for case in StudyArm(jury, on=on).hears(cases, split))

    assert [heard("all", SPLIT), heard("test", SPLIT), heard(1, SPLIT), heard(9, SPLIT)] == ["dcba", "db", "d", "db"]  # fmt: skip
    assert [heard("test", None), heard(2, None)] == ["dcba", "dcba"]
    assert [heard("test", none_held_out), heard(2, none_held_out)] == ["cba", "cb"]


def _jury() -> Jury:
    return Jury.model_validate(PANEL)


def test_what_an_entry_says_goes_before_what_the_study_says(tmp_path: Path) -> None:
    study = {"model": "server/studys", "base_url": "http://127.0.0.1:1/v1"}
    entry = {"jury": PANEL, "model": "server/own", "base_url": "http://127.0.0.1:2/v1", "name": "renamed", "count": "median", "calibration": "linear"}  # fmt: skip
    own, plain = one(tmp_path, entry, **study), one(tmp_path, {"jury": PANEL}, **study)

    assert (own.name, own.jury.count, own.calibration) == ("renamed", "median", "linear")
    assert (plain.name, plain.jury.count, plain.calibration) == ("panel", None, "none")
    assert [seat.model for seat in own.jury.seats] == ["server/own", "server/named", "local/small"]
    assert [seat.base_url for seat in own.jury.seats] == ["http://127.0.0.1:2/v1"] * 2 + [None]
    assert [seat.model for seat in plain.jury.seats] == ["server/studys", "server/named", "local/small"]
    assert [seat.base_url for seat in plain.jury.seats] == ["http://127.0.0.1:1/v1"] * 2 + [None]
    assert one(tmp_path, {"jury": PANEL, "protocol": "delphi"}).jury.protocol == "delphi"


def test_an_adapter_is_of_the_seats_that_the_embedded_runtime_answers_for(tmp_path: Path) -> None:
    entry = {"jury": PANEL, "adapter": "tuned"}
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "tuned").mkdir()
    arm = one(tmp_path, entry, model="local")

    beside = str(tmp_path / "studies" / "tuned")
    assert [seat.adapter for seat in arm.jury.seats] == [beside, None, beside]
    away = {**entry, "adapter": "away", "name": "lost"}
    left, kept, asked = listed(
        tmp_path, {**away, "optional": True}, {**entry, "optional": True}, away, model="local"
    )
    assert isinstance(left, LeftOut) and "lost" in left.note
    assert isinstance(kept, StudyArm) and isinstance(asked, StudyArm)


def test_seats_are_repeated_where_the_protocol_can_and_deliberations_are_held_again(tmp_path: Path) -> None:
    (panel,) = listed(tmp_path, {"jury": PANEL, "repeats": 3, "on": "test", "calibration": "linear"})
    first, second, third = listed(tmp_path, {"jury": DEBATE, "repeats": 3, "on": 1})
    once = one(tmp_path, {"jury": DEBATE, "repeats": 1, "calibration": "linear"})
    (refused,) = listed(tmp_path, {"jury": DEBATE, "repeats": 2, "calibration": "linear"})

    assert isinstance(panel, StudyArm)
    assert (panel.jury.repeats, panel.hearings, panel.on, panel.calibration) == (3, 1, "test", "linear")
    for arm, name, hearing in (
        (first, "debate", 1),
        (second, "debate-r2", 2),
        (third, "debate-r3", 3),
    ):
        assert isinstance(arm, StudyArm)
        assert (arm.name, arm.jury.hearing, arm.jury.first_name, arm.on) == (name, hearing, "debate", 1)
    assert (once.hearings, once.calibration) == (1, "linear")
    assert isinstance(refused, VenireError)


def test_only_arms_that_have_test_cases_to_hear_may_ask_for_them(tmp_path: Path) -> None:
    entry, none_held_out = {"jury": PANEL, "on": "test"}, replace(SPLIT, test=())
    search = {"trials": 2}
    grid = {"personas": {"a": ["none"]}, "models": {"m": "server/m"}}

    assert isinstance(listed(tmp_path, entry, split=none_held_out)[0], VenireError)
    assert isinstance(listed(tmp_path, {**entry, "on": 2}, split=none_held_out)[0], StudyArm)
    assert isinstance(listed(tmp_path, entry, split=None)[0], StudyArm)
    assert isinstance(listed(tmp_path, entry, search=search, grid=grid)[0], VenireError)
    assert isinstance(listed(tmp_path, {"jury": PANEL}, search=search, grid=grid)[0], StudyArm)


def test_arms_are_one_where_names_alone_differ_and_ask_alike_where_only_counting_does() -> None:
    arm = StudyArm(_jury())

    def changed(**fields: Any) -> StudyArm:
        return StudyArm(arm.jury.model_copy(update=fields))

    assert changed(name="other", description="Else.").identity == arm.identity
    for counted in (changed(count="median"), changed(weights={"first": 2.0})):
        assert counted.asks == arm.asks and counted.identity != arm.identity
    assert changed(repeats=2).asks != arm.asks
    assert replace(arm, calibration="linear").identity != arm.identity
    assert replace(arm, hearings=2).identity != arm.identity
    assert replace(arm, on="test").identity == arm.identity


def test_every_name_that_more_than_one_arm_has_is_an_error_once(tmp_path: Path) -> None:
    arms = [StudyArm(_jury().model_copy(update={"name": name})) for name in "abcab"]
    listed(tmp_path, {"jury": PANEL})
    _, written = load_study(tmp_path / "studies" / "study.yaml")

    assert [error.problem.split(": ")[-1] for error in duplicate_names(arms, written)] == ["2 arms are named 'a'", "2 arms are named 'b'"]  # fmt: skip


def test_arms_are_scored_on_the_groups_of_the_test_part_or_on_all() -> None:
    cases = [f"c{n}" for n in range(12)]
    groups = {f"c{n}": "g" for n in range(6)}
    named = split_cases(cases, groups, Split(test=("c7", "c6", "c11")), seed=3)
    grouped = split_cases(cases, groups, Split(groups=("g",)), seed=3)
    none = split_cases(cases, groups, Split(test=0), seed=3)

    assert (named.test, named.scored) == (("c6", "c7", "c11"), 3)
    assert (grouped.test, grouped.scored) == (tuple(cases[:6]), 1)
    assert (none.test, none.scored) == ((), 6 + 1)
    assert sorted(none.selection) == sorted(cases) and list(none.selection) != cases
    assert none.selection != split_cases(cases, groups, Split(test=0), seed=4).selection
    assert [bool(replace(none, scored=number).notes) for number in (6, 7)] == [True, False]
    with pytest.raises(VenireError, match="every case into the test part"):
        split_cases(cases, groups, Split(test=tuple(cases)), seed=0)
    with pytest.raises(VenireError, match="'c99' and 1 more"):
        split_cases(cases, groups, Split(test=("c1", "c99", "c98")), seed=0)
    with pytest.raises(VenireError, match=r"too few cases .*, 3:"):
        split_cases(cases[4:8], groups, Split(test=0), seed=0)


def test_a_group_goes_in_where_that_brings_the_part_nearer_to_its_size() -> None:
    """Of one group of nine and three cases alone, a quarter is three cases: the nine never go in, the three always."""
    cases = [f"c{n:02d}" for n in range(12)]
    groups = dict.fromkeys(cases[:9], "nine")

    assert {split_cases(cases, groups, Split(test=0.25), seed=seed).test for seed in range(12)} == {tuple(cases[9:])}  # fmt: skip
    # Six of twelve: the nine would be three too many, as many as the three alone are too few.
    assert all(len(split_cases(cases, groups, Split(test=0.5), seed=seed).test) in (3, 9) for seed in range(12))  # fmt: skip


def test_a_split_may_be_stratified_by_the_system() -> None:
    cases = [Case(id=f"c{n:02d}", output="Text.", system="one" if n < 4 else "two") for n in range(16)]
    for seed in range(8):
        test = study_split(cases, Split(test=0.5, stratify=("system",)), seed=seed).test
        assert (sum(case < "c04" for case in test), len(test)) == (2, 8)
