"""Juries and personas as their files say: every key, what follows from it, and what each wrong one is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from kept_figures import check_kept

from venire import Jury, VenireError, load_jury
from venire.personas.options import Limits, Shots
from venire.personas.persona import LIBRARY, load_persona

KEPT = Path(__file__).parent / "kept"
RULE = {
    "risk": 0.1, "delta": 0.2, "within": 1, "arm": "full",
    "judged_by": {"rubric": "r", "seats": {"ana": "h"}, "orchestrator": "o", "rest": "x", "prompts": "p"},
    "attributes": {"accurate": {"threshold": 0.7, "labels": 40, "errors": 1, "bound": 0.08}},
}  # fmt: skip
FULL: dict[str, Any] = {
    "name": "full",
    "description": "All of it",
    "protocol": "escalate",
    "limits": {"max_rounds": 4, "max_turns": 30, "max_stalls": 2, "max_replans": 1, "max_tokens": 9000, "max_usd": 2.5, "max_seconds": 60},
    "tolerance": 1,
    "quorum": 2,
    "count": "majority",
    "weights": {"ana": 2, "ben": 0.5},
    "stop": {"stable_rounds": 2, "ks": 0.1},
    "options": {
        "challenge": False,
        "escalation": {"repeats": 3, "repeat_range": 1, "confidence": "high", "panel_spread": 2},
        "shots": {"k": 2, "cases": "cases.jsonl", "ratings": "labels.csv", "seed": 4, "ids": ["c1", "c2"], "without": ["zoe"]},
    },
    "hearing": 2,
    "escalate_to": "people",
    "rule": "rule.json",
    "seats": [
        {"name": "ana", "persona": "view.yaml", "model": "openai/m", "base_url": "http://h/v1", "api_key_env": "K", "temperature": 0.5, "top_p": 0.9,
         "max_tokens": 300, "seed": 5, "params": {"reasoning_effort": "low"}, "timeout": 9, "context": 5000, "max_reply": 1000, "alternates": ["openai/n", "server/o"], "order": "both"},
        {"name": "ben", "persona": {"name": "own", "version": 2, "attends_to": "dates", "voice": "Dry."}, "model": "recorded/judgements.csv#ben", "confederate": True, "first_repeat": 4},
        {"name": "cy", "model": "person", "wait": "36h", "usd_per_hour": 30},
        {"name": "dot", "adapter": "a.gguf", "model": "local/base"},
        {"name": "eve"},
        {"name": "fay"},
    ],
    "orchestrator": {"model": "server/chair", "temperature": 0.1},
    "stance": "Be brief.",
}  # fmt: skip


def written(folder: Path, name: str, content: Any) -> Path:
    (folder / "view.yaml").write_text(
        yaml.safe_dump({"name": "view", "version": 1, "attends_to": "doses", "voice": "Strict."})
    )
    (folder / "rule.json").write_text(json.dumps(RULE))
    (folder / "judgements.csv").write_text("case,juror,attribute,value\n")
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def plain(value: Any, folder: Path) -> Any:
    """As JSON, the folder's path left out and no text with a space in it."""
    return json.loads(
        json.dumps(value, default=str, separators=(",", ":")).replace(str(folder), "FOLDER").replace(" ", "_")
    )


def facts(jury: Jury) -> dict[str, Any]:
    """What a jury holds and what follows from it."""
    return {
        "dump": jury.model_dump(mode="json"),
        "filled": [[seat.model, seat.base_url] for seat in (*jury.fill(model="server/x", base_url="http://y").seats, jury.fill(model="z").orchestrator)],
        "substitutes": [[each.model_dump() for each in seat.substitutes] for seat in jury.seats],
        "first repeats": list(jury.first_repeats),
        "waits": [seat.wait_seconds for seat in jury.seats],
        "people": [seat.is_person for seat in jury.seats],
        "again": [jury.heard_again(3).name, jury.heard_again(3).first_name, jury.first_name, jury.single_judge],
    }  # fmt: skip


def test_a_jury_with_every_key_is_what_its_file_says(tmp_path: Path) -> None:
    jury = load_jury(written(tmp_path, "full", FULL))
    same = Jury.model_validate(jury.model_dump(mode="json"), context={"options": "checked"})
    assert same == jury
    under = {name: jury.under(name).options for name in ("panel", "orchestrated")}
    check_kept(KEPT / "full.json", plain({**facts(jury), "under": under}, tmp_path))


def test_the_library_is_what_it_was() -> None:
    juries = {file.stem: facts(load_jury(file.stem)) for file in (LIBRARY.parent / "juries").glob("*.yaml")}
    personas = {file.stem: list(load_persona(file.stem).model_dump()) for file in LIBRARY.glob("*.yaml")}
    check_kept(KEPT / "library.json", {"juries": juries, "personas": personas}, without=r"voice|attends_to|description")  # fmt: skip


SMALL: dict[str, Any] = {"name": "small", "protocol": "panel", "seats": [{"name": "ana", "model": "m"}, {"name": "ben", "model": "m"}]}  # fmt: skip
SHOTS = {"n": 1, "cases": "c.jsonl", "ratings": "r.csv"}
WRONG: dict[str, dict[str, Any]] = {
    "no name": {"name": None},
    "a name in capitals": {"name": "Small"},
    "an unknown key": {"quorom": 2},
    "an unknown protocol": {"protocol": "pannel"},
    "an unknown rule": {"count": "meen"},
    "an unknown limit": {"limits": {"max_round": 2}},
    "no limit": {"limits": {"max_rounds": None}},
    "a limit of nothing": {"limits": {"max_turns": 0}},
    "new plans for nobody": {"limits": {"max_replans": 1}},
    "new plans without stalls": {"protocol": "orchestrated", "limits": {"max_replans": 1, "max_stalls": 0}},
    "new plans and no stalls": {"protocol": "orchestrated", "limits": {"max_replans": 1, "max_stalls": None}},
    "a negative tolerance": {"tolerance": -1},
    "a quorum of nobody": {"quorum": 0},
    "a quorum of more": {"quorum": 3},
    "a quorum of repeats": {"quorum": 5, "repeats": 2},
    "a weight of nobody": {"weights": {"zoe": 1}},
    "a negative weight": {"weights": {"ana": -1}},
    "an early stop of all": {"stop": {"ks": 1.5}},
    "an option of another": {"options": {"debate": {"high": "ana", "low": "ben"}}},
    "an option of another beside": {"debate": {"high": "ana", "low": "ben"}},
    "repeats of another": {"protocol": "delphi", "repeats": 2},
    "an option of nobody": {"options": {"tempo": 2}},
    "an option twice": {"repeats": 2, "options": {"repeats": 2}},
    "a wrong option": {"options": {"repeats": 0}},
    "a wrong option beside": {"repeats": 0},
    "a debate with itself": {"protocol": "debate", "debate": {"high": "ana", "low": "ana"}},
    "a debate of nobody": {"protocol": "debate", "debate": {"high": "ana", "low": "zoe"}},
    "examples counted twice": {"shots": {**SHOTS, "k": 1}},
    "examples not counted": {"shots": {"cases": "c", "ratings": "r"}},
    "other examples than named": {"shots": {**SHOTS, "ids": ["a", "b"]}},
    "claims against themselves": {"protocol": "decompose-verify", "claims": {"of": "source", "against": "source"}},
    "people without a rule": {"escalate_to": "people"},
    "a rule without people": {"rule": "rule.json"},
    "a rule that is none": {"rule": "view.yaml", "escalate_to": "people"},
    "a rule that is not there": {"rule": "none.json", "escalate_to": "people"},
    "no seats": {"seats": []},
    "seats that are one": {"seats": {"name": "ana"}},
    "seats of a name": {"seats": [{"name": "ana"}, {"name": "ana"}]},
    "a reserved seat": {"seats": [{"name": "clerk"}, {"name": "ana"}]},
    "a seat with a space": {"seats": [{"name": "an a"}]},
    "an unknown persona": {"seats": [{"name": "ana", "persona": "ward_nrse"}]},
    "a persona file that is not there": {"seats": [{"name": "ana", "persona": "none.yaml"}]},
    "an unknown key of a seat": {"seats": [{"name": "ana", "temprature": 1}]},
    "a cold seat": {"seats": [{"name": "ana", "temperature": -1}]},
    "a share of nothing": {"seats": [{"name": "ana", "top_p": 0}]},
    "no tokens": {"seats": [{"name": "ana", "max_tokens": 0}]},
    "no time": {"seats": [{"name": "ana", "timeout": 0}]},
    "a key in a file": {"seats": [{"name": "ana", "api_key_env": "sk-123"}]},
    "no address": {"seats": [{"name": "ana", "base_url": "localhost:8000"}]},
    "a reserved parameter": {"seats": [{"name": "ana", "params": {"model": "m"}}]},
    "a secret parameter": {"seats": [{"name": "ana", "params": {"api_key": "m"}}]},
    "a model that waits": {"seats": [{"name": "ana", "model": "m", "wait": "2d"}]},
    "a model that is paid": {"seats": [{"name": "ana", "model": "m", "usd_per_hour": 2}]},
    "a wait without a unit": {"seats": [{"name": "ana", "model": "person", "wait": "36"}]},
    "an unknown order": {"seats": [{"name": "ana", "order": "random"}]},
}  # fmt: skip


def kind(error: VenireError, folder: Path) -> str:
    """Where a mistake is and which names are told, without the sentences around them."""
    told = re.findall(
        r"yaml:\d+|'[^']*'|\b[a-z_]+(?:\.\w+)+|\d+",
        f"{error.problem} -> {error.remedy}".replace(f"{folder}/", ""),
    )
    return f"{type(error).__name__}:{','.join(told)}".replace(" ", "_")


def test_every_mistake_in_a_jury_file_is_told_at_its_place(tmp_path: Path) -> None:
    told: dict[str, str] = {}
    for name, fields in WRONG.items():
        given = {key: value for key, value in {**SMALL, **fields}.items() if value is not None}
        with pytest.raises(VenireError) as caught:
            load_jury(written(tmp_path, "wrong", given))
        told[name] = kind(caught.value, tmp_path)
    check_kept(KEPT / "wrong.json", told)


def test_what_is_right_is_not_refused(tmp_path: Path) -> None:
    for fields in (
        {"challenge": False}, {"quorum": 4, "repeats": 2}, {"limits": {"max_rounds": None, "max_turns": 4}}, {"limits": {"max_replans": 0}},
        {"protocol": "moderated", "limits": {"max_replans": 1}}, {"shots": {**SHOTS, "ids": ["a"]}},
    ):  # fmt: skip
        load_jury(written(tmp_path, "right", {**SMALL, **fields}))
    assert Limits().model_dump() == {"max_rounds": 3, "max_turns": None, "max_stalls": 1, "max_replans": 0, "max_tokens": None, "max_usd": None, "max_seconds": None}  # fmt: skip
    assert Shots.model_validate({"k": 2, "cases": "c", "ratings": "r"}).model_dump(mode="json") == {"n": 2, "cases": "c", "ratings": "r", "seed": 0}  # fmt: skip
