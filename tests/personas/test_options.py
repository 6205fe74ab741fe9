"""A protocol's options: one model each, two spellings for the older five, and no option ignored in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from installed_packages import on_the_path, put_package

from venire import Jury, VenireError, load_jury
from venire.orchestration.protocols import protocol, protocols
from venire.orchestration.protocols.single import SingleOptions
from venire.orchestration.record.manifest import fingerprint
from venire.personas.options import CHECKED, TOP_LEVEL, Limits
from venire.rubrics.plugins import registered_plugins

SEATS = [{"name": "a", "model": "scripted"}, {"name": "b", "model": "scripted"}]
SHOTS = {"n": 2, "cases": "c.jsonl", "ratings": "r.csv"}

SAME = [
    ("single", {"repeats": 3}, "4dd15bcf50e7d8cb", (0, 3)),
    ("single", {"shots": SHOTS}, "aa16f3c4eefca6fa", (0, 2)),
    ("orchestrated", {"challenge": False}, "8b5ff10c3bbffd95", (0, 2)),
    ("escalate", {"escalation": {"repeats": 3, "panel_spread": 2}}, "4db1aae4e5085c5d", (0, 3)),
    ("debate", {"debate": {"high": "b", "low": "a"}}, "b03380f92f767ed0", (0, 2)),
    ("panel", {}, "1d059a670a62a696", (0, 2)),
]
"""Each with the hash by which records knew the jury before there was `options:`, when one new plan was the default, and where its repeats start."""

DEEP = """
from pydantic import Field
from venire.orchestration.protocols import Protocol
from venire.personas.options import Options

class DeepOptions(Options):
    depth: int = Field(ge=1)
    tone: str = "plain"

async def run(brief, bench): ...

deep = Protocol(run=run, count="mean", orchestrator=False, summary="", speaks="", sees="", ends="", calls="", steps="",
                options=DeepOptions)
"""


def jury_file(folder: Path, **fields: Any) -> Path:
    file = folder / "j.yaml"
    file.write_text(yaml.safe_dump({"name": "j", **fields, "seats": SEATS}, sort_keys=False))
    return file


@pytest.mark.parametrize(("way", "options", "known_as", "first_repeats"), SAME)
def test_both_spellings_are_the_jury_that_records_know(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    options: dict[str, Any],
    known_as: str,
    first_repeats: tuple[int, ...],
) -> None:
    monkeypatch.chdir(tmp_path)  # where a jury's paths have always been relative to its file
    above = load_jury(jury_file(Path(), protocol=way, **options))
    under = load_jury(jury_file(Path(), protocol=way, options=options))

    assert above == under
    as_recorded = under.model_copy(update={"limits": Limits(max_replans=1)})
    assert fingerprint(as_recorded.model_dump(mode="json"))[:16] == known_as
    assert under.first_repeats == first_repeats


def test_a_protocol_reads_its_options_whichever_way_they_were_given() -> None:
    for given in ({"repeats": 3}, {"options": {"repeats": 3}}):
        jury = Jury.model_validate({"name": "j", "protocol": "single", "seats": SEATS, **given})
        assert jury.options_as(SingleOptions) == SingleOptions(repeats=3)


def test_a_default_stands_the_same_in_the_jury_and_in_every_protocol() -> None:
    for name in registered_plugins("venire.protocols"):
        for option, field in protocol(name).options.model_fields.items():
            assert option in TOP_LEVEL
            assert field.default == Jury.model_fields[option].default


@pytest.mark.parametrize(
    ("fields", "problem", "remedy"),
    [
        (
            {"protocol": "single", "options": {"repeets": 3}},
            "j.yaml:4: unknown key 'repeets' in options",
            "did you mean 'repeats'?",
        ),
        (
            {"protocol": "single", "options": {"repeats": 0}},
            "j.yaml:4: options.repeats: Input should be greater",
            "",
        ),
        ({"protocol": "single", "repeats": 0}, "j.yaml:3: repeats: Input should be greater", ""),
        (
            {"protocol": "escalate", "options": {"escalation": {"spread": 2}}},
            "j.yaml:5: unknown key 'spread' in options.escalation",
            "did you mean 'panel_spread'?",
        ),
        (
            {"protocol": "escalate", "escalation": {"spread": 2}},
            "j.yaml:4: unknown key 'spread' in escalation",
            "did you mean 'panel_spread'?",
        ),
        (
            {"protocol": "single", "repeats": 3, "options": {"repeats": 3}},
            "j.yaml:3: repeats: the key is written both here and under options",
            "keep the one under options",
        ),
        (
            {"protocol": "delphi", "options": {"repeats": 3}},
            "j.yaml:4: options.repeats: delphi has no option 'repeats'",
            "or choose a protocol that has it: panel, single",
        ),
        (
            {"protocol": "orchestrated", "repeats": 3},
            "j.yaml:3: repeats: orchestrated has no option 'repeats'",
            "or choose a protocol that has it: panel, single",
        ),
        (
            {"protocol": "debate", "shots": SHOTS},
            "j.yaml:3: shots: debate has no option 'shots'",
            "or choose a protocol that has it: ",
        ),
        ({"protocol": "single", "options": [1]}, "j.yaml:3: options: Input should be a valid dictionary", ""),
        (
            {"protocol": "pannel", "options": {"repeats": 3}},
            "j.yaml:2: protocol: no protocol named 'pannel'",
            "",
        ),
    ],
)
def test_what_is_wrong_with_an_option_is_said_at_its_line(
    tmp_path: Path, fields: dict[str, Any], problem: str, remedy: str
) -> None:
    with pytest.raises(VenireError) as error:
        load_jury(jury_file(tmp_path, **fields))

    assert error.value.problem.startswith(f"{tmp_path}/{problem}")
    assert remedy in error.value.remedy


def test_what_asks_for_nothing_is_not_refused(tmp_path: Path) -> None:
    jury = load_jury(
        jury_file(tmp_path, protocol="panel", repeats=1, challenge=False, escalation={"repeats": 2})
    )

    assert jury.protocol == "panel"


def test_another_protocol_sets_the_options_of_the_first_aside() -> None:
    jury = load_jury("single-7").under("panel")

    assert (jury.protocol, jury.repeats, jury.options) == ("panel", 7, {})


def test_an_old_record_with_an_option_that_was_ignored_still_opens() -> None:
    recorded = {**load_jury("single-7").model_dump(mode="json"), "protocol": "panel", "quorum": 1}

    assert Jury.model_validate(recorded, context=CHECKED).repeats == 7


def test_a_plug_ins_options_are_held_against_its_own_model(tmp_path: Path) -> None:
    put_package(tmp_path, "deep", {"venire.protocols": {"deep": "deep:deep"}}, deep=DEEP)
    with on_the_path(tmp_path, "deep"):
        jury = load_jury(jury_file(tmp_path, protocol="deep", options={"depth": 2}))
        assert jury.options == {"depth": 2, "tone": "plain"}
        assert jury.options_as(protocol("deep").options).model_dump() == jury.options
        assert jury.model_dump()["options"] == jury.options
        assert Jury.model_validate_json(jury.model_dump_json()) == jury

        for options, problem, remedy in [
            ({"dept": 2}, "j.yaml:4: unknown key 'dept' in options", "did you mean 'depth'?"),
            ({"depth": 0}, "j.yaml:4: options.depth: Input should be greater", "correct options.depth"),
            ({}, "j.yaml:3: options.depth: the key is missing", "add 'depth'"),
            ({"depth": 1, "repeats": 2}, "j.yaml:5: options.repeats: deep has no option 'repeats'", "single"),
        ]:
            with pytest.raises(VenireError) as error:
                load_jury(jury_file(tmp_path, protocol="deep", options=options))
            assert error.value.problem.startswith(f"{tmp_path}/{problem}")
            assert remedy in error.value.remedy
        with pytest.raises(VenireError, match="has options that must be set: depth"):
            load_jury("stances").under("deep")
        assert set(protocols()) > {"deep", "panel"}


@pytest.mark.parametrize(
    ("way", "limits", "why"),
    [
        ("delphi", {"max_replans": 2}, "under the protocol delphi, no orchestrator asks new questions"),
        ("panel", {"max_replans": 1}, "under the protocol panel, no orchestrator asks new questions"),
        ("orchestrated", {"max_stalls": 0, "max_replans": 1}, "stops it after round one"),
        ("moderated", {"max_stalls": None, "max_replans": 1}, "is not set"),
        ("orchestrated", {"max_stalls": 1, "max_replans": 1}, ""),
        ("delphi", {"max_replans": 0}, ""),
    ],
)
def test_new_plans_that_could_never_be_made_are_refused(
    tmp_path: Path, way: str, limits: dict[str, Any], why: str
) -> None:
    file = jury_file(tmp_path, protocol=way, limits=limits)
    if not why:
        assert load_jury(file).limits.max_replans == limits["max_replans"]
        return
    with pytest.raises(VenireError, match=why):
        load_jury(file)
