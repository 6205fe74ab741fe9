"""A run with moments planted in it: real deliberations over written answers, each case with its own script."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from venire import Case, Court, Jury, Rubric, Store
from venire.orchestration.deliberate import hear
from venire.orchestration.runner import case_fingerprint

RUBRIC = Rubric.model_validate(
    {
        "name": "note",
        "version": 1,
        "scales": {
            "agree5": {
                "level": "ordinal",
                "anchors": {1: "not at all", 2: "little", 3: "partly", 4: "mostly", 5: "wholly"},
            }
        },
        "attributes": [
            {
                "name": "accurate",
                "question": "Is every statement supported by the source?",
                "scale": "agree5",
            },
            {"name": "organized", "question": "Are the events in order?", "scale": "agree5"},
        ],
    }
)
SOURCE = (
    "Monday: seen with fever of 38.4 and a cough. Chest X-ray clear. Started amoxicillin 500 mg three times a day.",
    "Wednesday: fever gone. Rash on both arms since Tuesday evening; amoxicillin stopped, given cetirizine.",
)
OUTPUT = (
    "Fever of 38.4 on Monday, treated with amoxicillin. The rash on both arms appeared before treatment began. "
    "Resolved by Wednesday."
)
JURORS = ("high", "low", "middle")


def ballot_line(score: Any, rationale: str, *evidence: str, moved_by: str = "") -> dict[str, Any]:
    """What a scripted juror says of one attribute."""
    line = {"score": score, "rationale": rationale, "evidence": list(evidence)}
    return {**line, "moved_by": moved_by} if moved_by else line


FEVER = "fever of 38.4"
RASH = "Rash on both arms since Tuesday evening"
SOUND = ballot_line(4, "One date is loose, the rest stands in the notes.", FEVER)
ORDERLY = ballot_line(4, "Events follow each other, with one slip.", "Resolved by Wednesday")
CALM = {"accurate": SOUND, "organized": ORDERLY}

SCRIPTS: dict[str, dict[str, Any]] = {
    "calm": {"seats": {name: [CALM] for name in JURORS}},
    "premature": {
        "seats": {
            "high": [{"accurate": SOUND, "organized": ballot_line(5, "The events are presented chronologically; easy to follow.")}],
            "low": [{"accurate": SOUND, "organized": ballot_line(5, "The summary is in chronological order. I award a 5 here.")}],
            "middle": [{"accurate": SOUND, "organized": ballot_line(5, "Both the order and the grouping are clear.")}],
        }
    },
    "persuaded": {
        "seats": {
            "high": [
                {"accurate": ballot_line(5, "Every value is in the notes.", FEVER), "organized": ORDERLY},
                {"accurate": ballot_line(2, "The rash came after treatment, so the summary has it wrong.", RASH,
                                  moved_by="low quotes the note: Rash on both arms since Tuesday evening")},
            ],
            "low": [{"accurate": ballot_line(2, "The rash is placed before the treatment; the note says Tuesday.", RASH), "organized": ORDERLY}],
            "middle": [
                {"accurate": ballot_line(5, "Nothing contradicts the notes.", FEVER), "organized": ORDERLY},
                {"accurate": ballot_line(2, "low is right about the rash.", RASH, moved_by=RASH)},
            ],
        }
    },
    "fabricated": {
        "seats": {
            "high": [CALM],
            "low": [{"accurate": ballot_line(4, "The notes allow it.", "patient denies any allergy to penicillin"), "organized": ORDERLY}],
            "middle": [CALM],
        }
    },
    "conformed": {
        "seats": {
            "high": [CALM],
            "low": [
                {"accurate": ballot_line(2, "The rash is out of place.", RASH), "organized": ORDERLY},
                {"accurate": ballot_line(4, "On reflection I join the others.", moved_by="the others agree with each other")},
            ],
            "middle": [CALM],
        }
    },
    "overruled": {
        "seats": {
            "high": [{"accurate": ballot_line(4, "Sound.", FEVER), "organized": ORDERLY}],
            "low": [{"accurate": ballot_line(2, "The rash is out of place.", RASH), "organized": ORDERLY}],
            "middle": [{"accurate": ballot_line(4, "Sound enough.", FEVER), "organized": ORDERLY}],
        },
        "orchestrator": {"accurate": ballot_line(2, "The note dates the rash to Tuesday; the summary contradicts it.")},
    },
}  # fmt: skip

SINGLE = {
    "seats": {
        "judge": [
            {
                "accurate": SOUND,
                "organized": ballot_line(
                    3, "Chronological, but one mis-timed event: the rash stands before the treatment.", RASH
                ),
            }
        ]
    }
}


def scripted_jury(folder: Path, script_name: str, script: dict[str, Any], **fields: Any) -> Jury:
    """Three scripted seats and a scripted orchestrator."""
    file = folder / f"{script_name}.yaml"
    file.write_text(yaml.safe_dump(script), encoding="utf-8")
    model = f"scripted/{file}"
    seats = fields.pop("seats", JURORS)
    return Jury.model_validate(
        {
            "name": "stances",
            "limits": {"max_rounds": 2},
            "challenge": False,
            "seats": [{"name": seat, "model": model, "context": 10_000_000} for seat in seats],
            "orchestrator": {"model": model, "context": 10_000_000},
            **fields,
        }
    )


def planted_case(name: str, *, output: str = OUTPUT, source: tuple[str, ...] = SOURCE) -> Case:
    """The case of the script with this name."""
    return Case(id=name, output=output, source=source, group="ward 3", system="model-x")


async def _planted(folder: Path, cases: dict[str, Case], scripts: dict[str, dict[str, Any]]) -> Path:
    run = folder / "run"
    store = Store.create(run)
    court = Court()
    try:
        first = scripted_jury(folder, "first", scripts[next(iter(scripts))])
        single = scripted_jury(folder, "single", SINGLE, name="single", protocol="single", seats=("judge",))
        arms = [
            await store.add_arm(sitting.name, sitting.name, {"rubric": RUBRIC.model_dump(mode="json"), "jury": sitting.model_dump(mode="json")})
            for sitting in (first, single)
        ]  # fmt: skip
        for position, (name, script) in enumerate(scripts.items()):
            case = cases[name]
            for arm, sitting in zip(arms, (scripted_jury(folder, name, script), single), strict=True):
                before, now = await store.last_hearing(arm, case.id), case_fingerprint(case)
                if before is not None and before.fingerprint == now:
                    continue
                transcript = await hear(case, RUBRIC, sitting, court)
                follows = before.number if before is not None else 0
                await store.add(arm, case, now, transcript, position=position, follows=follows)
    finally:
        await court.close()
        await store.close()
    return run


def planted_run(
    folder: Path, scripts: dict[str, dict[str, Any]] | None = None, cases: dict[str, Case] | None = None
) -> Path:
    """The run's directory: two arms, `stances` and `single`, over a case for each script."""
    scripts = scripts or SCRIPTS
    cases = cases or {name: planted_case(name) for name in scripts}
    # A thread of its own: a browser test has a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(_planted(folder, cases, scripts))).result()
