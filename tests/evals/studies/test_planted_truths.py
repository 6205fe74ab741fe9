"""The shipped studies, heard by judges behind a local server whose faults are planted: their tables say which fault is whose."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import venire
from openai_server import ProviderServer
from planted_studies import Fault, PlantedCase, judges, planted_cases, write_study

from venire import load_rubric

NINE = list(load_rubric("pdsqi-9").names)
FOUR = ["dx", "ddx", "reasoning", "risk"]


def slip(case: PlantedCase, name: str, rng: random.Random) -> int:
    return rng.choice([-1, 0, 0, 0, 0, 0, 0, 1])


def guess(case: PlantedCase, name: str, rng: random.Random) -> int:
    return rng.randint(1, 5) - case.truth[name]


def good(name: str) -> int:
    """Which way a higher score is better: a risk's is worse."""
    return -1 if name == "risk" else 1


def study_sections(path: Path) -> dict[str, Any]:
    """The report's sections after the study was run by the command line."""
    ran = venire("study", "run", path.name, "--quiet", cwd=path.parent)
    assert ran.returncode == 0, ran.stderr
    told = venire("study", "report", path.name, "--resamples", "20", "--json", cwd=path.parent)
    assert told.returncode == 0, told.stderr
    sections: dict[str, Any] = json.loads(told.stdout)["sections"]
    return sections


def keep_arms(path: Path, names: set[str], *further: dict[str, Any]) -> None:
    document = yaml.safe_load(path.read_text())
    document["arms"] = [arm for arm in document["arms"] if arm.get("name") in names] + list(further)
    path.write_text(yaml.safe_dump(document))


def test_004_finds_an_offset_a_patient_effect_a_specialty_and_a_judge_who_guesses(tmp_path: Path) -> None:
    cases = planted_cases(28, NINE, ("alder", "brook", "cairn"), seed=1)
    faults: dict[str, Fault] = {
        "zero-shot": lambda case, name, rng: -1,
        "three-shot": lambda case, name, rng: 1 if case.patient // 3 % 2 else -1,
        "five-shot": guess,
        "stances": lambda case, name, rng: -1 if case.specialty == "Surgical Care" else 0,
    }
    with ProviderServer(judges(cases, faults)) as server:
        path = write_study(
            tmp_path, "004.yaml", cases, ["ann", "bo", "cy"], server.url,
            tasks=None, tables=["agreement", "effects", "strata"], split={"test": 0.5},
        )  # fmt: skip
        stances = {"jury": "stances", "model": "server/stances", "base_url": server.url}
        keep_arms(path, {"zero-shot", "three-shot", "five-shot"}, stances)
        found = study_sections(path)

    agreement = {row["arm"]: row for row in found["agreement"]["tables"]["overall"]}
    assert {agreement["zero-shot"][name] for name in ("q1", "median_difference", "q3")} == {-1}
    assert agreement["stances"]["median_difference"] == 0
    # An offset does not lower ICC(3,k); guessing does.
    assert agreement["zero-shot"]["icc3k"] > 0.85 and agreement["five-shot"]["icc3k"] < 0.4
    patient = {
        row["arm"]: row["value"]
        for row in found["effects"]["tables"]["table"]
        if row["term"] == "SD of group"
    }
    assert patient["three-shot"] > 0.7 and patient["zero-shot"] < 0.2
    strata = {(row["arm"], row["level"]): row["offset"] for row in found["strata"]["tables"]["table"]}
    assert strata["stances", "Surgical Care"] == pytest.approx(-1, abs=0.2)
    assert strata["stances", "Primary Care"] == pytest.approx(0, abs=0.2)


def test_000_finds_an_offset_a_self_preference_and_a_juror_who_guesses(tmp_path: Path) -> None:
    cases = planted_cases(24, FOUR, ("alder-1", "brook-1", "cairn-1", "dune-1"), seed=2)
    faults: dict[str, Fault] = {
        "alder-9": lambda case, name, rng: (
            good(name) * case.system.startswith("alder") + slip(case, name, rng)
        ),
        "brook-9": lambda case, name, rng: -good(name),
        "cairn-9": guess,
    }
    with ProviderServer(judges(cases, faults)) as server:
        path = write_study(
            tmp_path, "000.yaml", cases, ["panel", "second-panel"], server.url,
            tables=["evaluators", "self_preference"],
        )  # fmt: skip
        keep_arms(path, {"jury", "alder-alone"})
        found = study_sections(path)

    offset = {
        row["evaluator"]: row["value"]
        for row in found["evaluators"]["tables"]["against_people"]
        if row["measure"] == "offset" and row["attribute"] == "overall"
    }
    assert offset["jury: brook"] == pytest.approx(-1, abs=0.1)
    assert any("jury: cairn agrees worst" in sentence for sentence in found["evaluators"]["sentences"])
    favour = {
        row["juror"]: row
        for row in found["self_preference"]["tables"]["effects"]
        if row["attribute"] == "overall"
    }
    alder = favour["server/alder-9"]
    assert alder["low"] > 0 and alder["value"] == pytest.approx(1, abs=0.4)
    assert all(
        favour[name]["low"] < 0 < favour[name]["high"] for name in ("server/brook-9", "server/cairn-9")
    )
