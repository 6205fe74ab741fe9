"""Juries: the models that the command line fills in, whose answers are whose, and what cannot sit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from venire import Jury, Limits, VenireError, load_jury
from venire.personas.jury import ModelSettings
from venire.personas.options import AcceptanceRule, ClaimOptions, Escalation, Shots

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


def seats_of(*seats: dict[str, Any], **fields: Any) -> Jury:
    made = [{"name": name, **seat} for name, seat in zip("abcdef", seats, strict=False)]
    return Jury.model_validate({"name": "j", "seats": made, **fields})


SAME: dict[str, Any] = {"model": "server/m"}


@pytest.mark.parametrize(
    ("seats", "fields", "starts"),
    [
        ((SAME, SAME, SAME), {"escalation": {"repeats": 1}}, (0, 1, 2)),
        ((SAME, SAME), {"protocol": "panel", "repeats": 5}, (0, 5)),
        ((SAME, SAME), {"escalation": {"repeats": 3}}, (0, 3)),
        ((SAME, {"model": "server/n"}, SAME), {}, (0, 0, 2)),
        ((SAME, {**SAME, "temperature": 0.5}), {}, (0, 0)),
        ((SAME, {**SAME, "persona": "skeptic"}), {}, (0, 0)),
        ((SAME, {**SAME, "seed": 1}), {}, (0, 0)),
        ((SAME, {**SAME, "order": "fixed"}), {}, (0, 2)),
        ((SAME, {**SAME, "first_repeat": 9}, SAME), {}, (0, 9, 4)),
    ],
)
def test_seats_alike_in_all_but_their_names_have_answers_of_their_own(
    seats: tuple[dict[str, Any], ...], fields: dict[str, Any], starts: tuple[int, ...]
) -> None:
    assert seats_of(*seats, **fields).first_repeats == starts


def test_a_copy_with_other_seats_counts_their_repeats_anew() -> None:
    open_seats = seats_of({}, SAME)
    assert open_seats.first_repeats == (0, 0)
    # Filled, both are the same model: they must not be given each other's answers.
    assert open_seats.fill(model="server/m").first_repeats == (0, 2)


def test_a_copy_takes_along_nothing_that_was_computed_of_the_original() -> None:
    jury = seats_of({**SAME, "alternates": ["openai/other"]})
    seat = jury.seats[0]
    assert (jury.seat_names, [each.model for each in seat.substitutes]) == ((seat.name,), ["openai/other"])

    renamed = seat.model_copy(update={"name": "z", "alternates": ("openai/third",)})

    assert jury.model_copy(update={"seats": (renamed,)}).seat_names == ("z",)
    assert [each.model for each in renamed.substitutes] == ["openai/third"]


def test_an_alternate_elsewhere_has_neither_the_address_nor_the_key_of_the_seats_model() -> None:
    settings = ModelSettings(
        model="server/m", base_url=HERE, api_key_env="KEY", context=9, temperature=0.5, alternates=("server/n", "openai/o")
    )  # fmt: skip
    near, far = settings.substitutes

    assert (near.model, near.base_url, near.api_key_env, near.context) == ("server/n", HERE, "KEY", 9)
    assert (far.model, far.base_url, far.api_key_env, far.context) == ("openai/o", None, None, None)
    assert near.temperature == far.temperature == 0.5 and near.alternates == far.alternates == ()


@pytest.mark.parametrize(("wait", "seconds"), [("90s", 90), ("2m", 120), ("36h", 129_600), ("2d", 172_800), ("1w", 604_800)])  # fmt: skip
def test_a_person_is_waited_for_as_long_as_it_says(wait: str, seconds: float) -> None:
    assert ModelSettings(model="person/ann", wait=wait).wait_seconds == seconds
    assert ModelSettings(model="person/ann").wait_seconds is None
    with pytest.raises(ValidationError, match="only a person's seat can have wait"):
        ModelSettings(model="server/m", wait=wait)


@pytest.mark.parametrize(
    ("limits", "ends"),
    [
        ({}, True),
        ({"max_rounds": None}, False),
        ({"max_rounds": None, "max_tokens": 9}, False),
        ({"max_rounds": None, "max_usd": 1}, False),
        ({"max_rounds": None, "max_stalls": 1}, False),
        ({"max_rounds": None, "max_turns": 1}, True),
        ({"max_rounds": None, "max_seconds": 1}, True),
    ],
)
def test_a_deliberation_that_nothing_ends_is_refused(limits: dict[str, Any], ends: bool) -> None:
    if ends:
        Limits.model_validate(limits)
    else:
        with pytest.raises(ValidationError, match="no limit ends the deliberation"):
            Limits.model_validate(limits)


@pytest.mark.parametrize(
    ("fields", "votes"),
    [
        ({}, 2),
        ({"protocol": "panel", "repeats": 3}, 6),
        ({"protocol": "single", "repeats": 3}, 6),
        ({"protocol": "orchestrated", "repeats": 3}, 2),
    ],
)
def test_a_quorum_can_be_no_more_than_the_votes_that_can_be_cast(fields: dict[str, Any], votes: int) -> None:
    assert seats_of(SAME, SAME, quorum=votes, **fields).quorum == votes
    with pytest.raises(ValidationError, match=f"only {votes} votes can be cast"):
        seats_of(SAME, SAME, quorum=votes + 1, **fields)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"seats": [{"name": "a"}, {"name": "a"}]}, "two seats are named"),
        ({"seats": [{"name": "orchestrator"}]}, "cannot be the name of a juror"),
        ({"seats": [{"name": "clerk"}]}, "cannot be the name of a juror"),
        ({"weights": {"z": 1}}, "no seat named 'z'"),
        ({"debate": {"high": "a", "low": "a"}}, "cannot argue for both sides"),
        ({"debate": {"high": "a", "low": "z"}}, "no seat named 'z'"),
        ({"escalate_to": "people"}, "every case"),
        ({"count": "best"}, "no counting rule named"),
        ({"protocol": "talk"}, "no protocol named"),
    ],
)
def test_a_jury_that_cannot_sit_is_refused(fields: dict[str, Any], problem: str) -> None:
    whole = {"name": "j", "seats": [{"name": "a"}, {"name": "b"}], **fields}
    with pytest.raises(ValidationError, match=problem):
        Jury.model_validate(whole)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"params": {"api_key": "k"}}, "'api_key' cannot be set"),
        ({"params": {"auth_token": "k"}}, "cannot be set"),
        ({"params": {"client_secret": "k"}}, "cannot be set"),
        ({"params": {"extra_headers": {}}}, "cannot be set"),
        ({"params": {"authorization": "k"}}, "cannot be set"),
        ({"params": {"temperature": 1}}, "cannot be set"),
        ({"api_key_env": "sk-12345"}, "not the name of an environment variable"),
        ({"api_key_env": "MY KEY"}, "not the name of an environment variable"),
        ({"base_url": "127.0.0.1:8000"}, "not an http address"),
        ({"base_url": "file:///x"}, "not an http address"),
        ({"top_p": 0}, "greater than 0"),
        ({"usd_per_hour": 1}, "only a person's seat can have wait"),
    ],
)
def test_settings_that_hold_a_key_or_mean_nothing_are_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        ModelSettings.model_validate({"model": "server/m", **fields})
    plain = {"reasoning_effort": "low", "max_completion_tokens": 9}
    assert ModelSettings(model="server/m", params=plain, api_key_env="MY_KEY").params == plain


def test_other_words_for_a_rule_a_person_and_a_file_beside_the_jury(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "p.yaml").write_text("name: mine\nversion: 1\nattends_to: x\nvoice: y\n")
    (tmp_path / "j.yaml").write_text(
        "name: j\ncount: majority\nprotocol: panel\nseats:\n  - {name: ann, model: person}\n"
        "  - {name: b, model: recorded/a.csv#b, persona: p.yaml}\n  - {name: c, model: recorded/none.csv#c}\n"
        "  - {name: d, model: local, adapter: x.gguf}\n  - {name: e, model: scripted/a.csv}\n"
    )
    jury = load_jury(tmp_path / "j.yaml")

    assert jury.count == "mode"
    assert [seat.model for seat in jury.seats] == ["person/ann", f"recorded/{tmp_path}/a.csv#b", "recorded/none.csv#c", "local", f"scripted/{tmp_path}/a.csv"]  # fmt: skip
    assert [seat.is_person for seat in jury.seats] == [True, False, False, False, False]
    assert jury.seats[1].persona is not None and jury.seats[1].persona.name == "mine"
    assert jury.seats[3].adapter == str(tmp_path / "x.gguf")


@pytest.mark.parametrize(
    ("model", "fields", "problem"),
    [
        (Shots, {"cases": "c", "ratings": "r", "ids": ("a", "b"), "n": 1}, "2 ids were given for 1"),
        (Shots, {"cases": "c", "ratings": "r", "ids": ("a", "b"), "k": 3}, "2 ids were given for 3"),
        (Shots, {"cases": "c", "ratings": "r", "n": 1, "k": 1}, "both give the number of examples"),
        *((ClaimOptions, {"of": text, "against": text}, "against itself") for text in ("output", "reference", "source")),
        (ClaimOptions, {"threshold": 1.1}, "less than or equal to 1"),
        (ClaimOptions, {"central_weight": 0}, "greater than 0"),
        (Escalation, {"confidence": "sure"}, "'low', 'medium' or 'high'"),
        (AcceptanceRule, {"risk": 0.1, "delta": 1, "arm": "a", "attributes": {}}, "less than 1"),
    ],
)  # fmt: skip
def test_options_that_contradict_themselves_are_refused(
    model: type[BaseModel], fields: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValidationError, match=problem):
        model.model_validate(fields)


def test_as_many_examples_are_shown_as_are_named_or_asked_for() -> None:
    files = {"cases": "c", "ratings": "r"}

    assert Shots.model_validate({**files, "ids": ("a", "b")}).n == 2
    assert Shots.model_validate({**files, "k": 3}).n == 3


RULE = {
    "risk": 0.1, "delta": 0.1, "arm": "j", "attributes": {},
    "judged_by": {"rubric": "r", "seats": {}, "orchestrator": "o", "rest": "x", "prompts": "p"},
}  # fmt: skip


@pytest.mark.parametrize("under", [False, True])
def test_files_are_looked_for_beside_the_jury_that_names_them(tmp_path: Path, under: bool) -> None:
    (tmp_path / "rule.json").write_text(json.dumps(RULE))
    options = {"claims": {"file": "c.json"}, "shots": {"n": 1, "cases": "c.jsonl", "ratings": "r.csv"}}

    def jury_of(protocol: str, option: str, **fields: Any) -> Jury:
        named = {option: options[option]}
        whole = {"name": "j", "protocol": protocol, "seats": [{"name": "a"}], **fields, **({"options": named} if under else named)}  # fmt: skip
        (tmp_path / "j.yaml").write_text(json.dumps(whole))
        return load_jury(tmp_path / "j.yaml")

    shown = jury_of("single", "shots", rule="rule.json", escalate_to="people")
    assert shown.shots is not None and shown.rule is not None
    assert (shown.shots.cases, shown.shots.ratings) == (tmp_path / "c.jsonl", tmp_path / "r.csv")
    assert shown.rule.arm == "j"
    assert jury_of("decompose-verify", "claims").claims.file == tmp_path / "c.json"
    with pytest.raises(VenireError, match="who judges the cases that the rule does not accept"):
        jury_of("single", "shots", rule="rule.json")


@pytest.mark.parametrize(
    ("settings", "later"),
    [
        (Shots(n=1, cases=Path("c"), ratings=Path("r")), {"ids": ("a",), "wide": True, "among": ("b",), "without": ("c",)}),
        (ModelSettings(model="person/a"), {"wait": "2d", "usd_per_hour": 3.0, "alternates": ("server/b",), "params": {"k": 1}, "max_reply": 9}),
    ],
)  # fmt: skip
def test_what_came_later_is_written_where_it_is_said_and_only_there(
    settings: BaseModel, later: dict[str, Any]
) -> None:
    assert not later.keys() & settings.model_dump().keys()
    for name, value in later.items():
        assert settings.model_copy(update={name: value}).model_dump()[name] == value


def test_a_jury_heard_again_is_named_for_it_and_known_by_its_first_name() -> None:
    jury = seats_of(SAME, SAME)
    again = jury.heard_again(3)

    assert (again.name, again.hearing, again.first_name, jury.first_name) == ("j-r3", 3, "j", "j")
    assert "hearing" not in jury.model_dump() and again.model_dump()["hearing"] == 3
    assert seats_of(SAME).single_judge and seats_of(SAME, SAME, protocol="single").single_judge
    assert not jury.single_judge
