"""The page of a study: what to use, the frontier, every arm, what each seat adds, and how it was done."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ..figures.drawing import decimal
from .composition_page import HEADS
from .markup import Html
from .parts import figure, items, page, paragraph, section, table

if TYPE_CHECKING:
    from ..selection import Composition
    from ..studies.findings import Report

CAPTIONS = {
    "frontier": "Agreement with people on cases that did not choose the arm, against what a case takes of it alone. "
    "Dashed: the front, where more agreement costs more. Intervals are 95%.",
    "growth": "Agreement against the number of seats: juries made of the seats' own blind ballots. Bands are 95% intervals.",
    "contributions": "What each seat adds, on average over all juries that these seats could make.",
}
_ARMS = {
    "arm": "arm",
    "kind": "kind",
    "seats": "seats",
    "protocol": "protocol",
    "count": "count",
    "calibration": "calibration",
    "on_front": "frontier",
    "selection": "agreement, chosen on",
    "score": "agreement, held out",
    "low": "low",
    "high": "high",
    "answered": "answered",
    "cost": "cost",
    "seconds": "seconds",
    "calls": "calls, alone",
}
_TRIALS = {
    "number": "trial",
    "arm": "arm",
    "state": "state",
    "seats": "seats",
    "protocol": "protocol",
    "cases": "cases",
    "agreement": "agreement",
    "cost": "cost",
    "latency": "seconds",
    "note": "",
}


def study_page(found: Report, drawn: Mapping[str, str]) -> str:
    """The whole page; `drawn` are figures as SVG by name."""
    study = found.study
    shown = {name: figure(svg, CAPTIONS.get(name, name)) for name, svg in drawn.items()}
    arms = found.table.assign(on_front=["yes" if each else "" for each in found.table["front"]])
    scored = f"{len(study.test)} test cases" if study.test else "every case, held out in turn"
    body = [
        section("What to use", items(found.sentences(), "said")),
        section(
            "What agreement costs",
            shown.pop("frontier", None),
            paragraph(
                f"Cost is in {found.arms.unit}, of an arm alone: what it shares with others is counted in full. "
                f"Chosen on {len(study.selection)} cases; held out: {scored}.",
                "soft",
            ),
            table("arms", arms, {name: head for name, head in _ARMS.items() if _says(arms, name)}),
        ),
        section("What each seat adds", *_seats(found, shown)),
        section("Can the best be told from the rest?", *_told_apart(found.arms)),
        *([section("Trials", table("trials", _trials(found.trials), _TRIALS))] if len(found.trials) else []),
        section(
            "Methods",
            paragraph(" ".join([*found.arms.methods, *(found.jurors.methods if found.jurors else ())])),
        ),
        section("Notes", items(found.notes, "notes") or paragraph("None.")),
    ]
    return page(f"Study: {study.name}", study.description or f"{len(arms)} arms against people", body)


def _says(arms: pd.DataFrame, column: str) -> bool:
    """Whether a column tells anything: one that is blank or `none` throughout does not."""
    return not set(arms[column]) <= {"", "none"}


def _seats(found: Report, shown: Mapping[str, Html]) -> list[Html]:
    if found.jurors is None:
        return [paragraph("Too few seats voted blind for this to be told; the notes say why.", "soft")]
    explained = "Each seat's own blind ballot, counted in every jury that these seats could make, whether it sat or not."
    tables = [
        table(name, found.jurors.tables[name], HEADS[name])
        for name in ("jurors", "independence", "growth")
        if name in found.jurors.tables
    ]
    return [paragraph(explained, "soft"), *shown.values(), *_worth(found.jurors), *tables]


def _worth(jurors: Composition) -> list[Html]:
    """How many independent jurors all seats together amount to."""
    whole = jurors.independence[jurors.independence["jury"] == "all jurors"].to_dict("records")
    if not whole or math.isnan(whole[0]["effective"]):
        return []
    row = whole[0]
    return [
        paragraph(
            f"The errors of two of these {row['jurors']} seats correlate by {decimal(float(row['correlation']), 2)} on average: "
            f"together they are worth {decimal(float(row['effective']), 1)} independent jurors "
            f"(95% interval {decimal(float(row['low']), 1)} to {decimal(float(row['high']), 1)})."
        )
    ]


def _told_apart(found: Composition) -> list[Html]:
    return [
        paragraph("The best arm minus the best at each price, all as other cases would choose them.", "soft"),
        table("noise", found.noise, HEADS["noise"]),
        table("answers", found.answers, HEADS["answers"]),
        table("power", found.power, HEADS["power"]),
    ]


def _trials(trials: pd.DataFrame) -> pd.DataFrame:
    """One column for each objective; a trial that was never scored has none."""
    values = pd.DataFrame([dict(each) for each in trials["values"]], index=trials.index)
    values = values.reindex(columns=["agreement", "cost", "latency"]).astype(float)
    return pd.concat([trials.drop(columns=["values", "params"]), values], axis=1)
