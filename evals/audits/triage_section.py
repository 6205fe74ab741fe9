"""Triage as a part of a comparison."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from ..figures.section import Section
from ..figures.triage import triage_figure
from ..ratings.evidence import Evidence
from ..ratings.marks import Marks
from ..statistics.draws import Draws
from ..statistics.significance import LEVEL, interval_phrase, p_words
from .audit import Audit
from .review import TRIAGED, areas, by_score, errors, gains, score_and_error
from .severity import Severity
from .triage import RULE, triage

TITLE = "Triage: which cases a person should see first"


def triage_section(
    evidence: Evidence,
    marks: Marks,
    severity: Severity,
    draws: Draws,
    *,
    arms: tuple[str, ...] = (),
) -> Section:
    """How much sooner a person who follows the triage meets the errors, arm by arm."""
    sentences: list[str] = []
    parts: dict[str, list[pd.DataFrame]] = {"areas": [], "by_score": [], "curve": [], "cases": []}
    for arm in arms or marks.arms:
        wrong = errors(marks, arm, severity)
        docket = triage(evidence, marks, arm, severity, wrong=wrong)
        found = areas(docket, wrong, marks, draws)
        parts["areas"].append(found)
        parts["by_score"].append(by_score(marks, arm, wrong))
        parts["curve"].append(gains(docket, wrong))
        parts["cases"].append(
            docket.cases.assign(reasons=["; ".join(words) for words in docket.cases["reasons"]])
        )
        sentences.append(_area_sentence(found[found["order"] == TRIAGED].iloc[0].to_dict()))
        rho, p = score_and_error(marks, arm, wrong, draws)
        if rho.defined and not math.isnan(p):
            sentences.append(_score_sentence(arm, rho.value, rho.low, rho.high, p))
    tables = {name: pd.concat(each, ignore_index=True) for name, each in parts.items()}
    caption = (
        "Left, the share of errors found against the share of cases reviewed, in triage's order (dashed: random order). "
        "Right, the probability of an error by the case's mean score, from the bad end of the scale to the good one, with "
        "Wilson's intervals."
    )
    drawn = {caption: triage_figure(tables["curve"], tables["by_score"])} if len(tables["curve"]) else {}
    methods = (
        f"Triage: {RULE} An error is a verdict off people's reference by {severity.margin:.0%} of the scale or more, either way, "
        f"on any attribute. The area under the curve of errors found against cases reviewed is 0.5 in random order; its "
        f"interval is from {draws.resamples} resamples of cases or their groups, the order held, seed {draws.seed}.",
    )
    return Section("triage", TITLE, tuple(sentences), tables, drawn, methods, marks.notes)


def _area_sentence(row: dict[Any, Any]) -> str:
    if math.isnan(row["area"]):
        return f"{row['arm']}: a triage cannot be checked ({row['note']}; {row['errors']} of {row['n']} cases are errors)."
    size = (
        f"area {row['area']:.2f} ({interval_phrase(row['low'], row['high'])}; 0.50 in random order, at best "
        f"{row['best']:.2f}; {row['errors']} errors in {row['n']} cases, {p_words(row['p'])})"
    )
    if not row["p"] < LEVEL:
        return (
            f"Reviewing {row['arm']} by triage is not shown to find errors sooner than random order: {size}."
        )
    verb = "sooner" if row["area"] > 0.5 else "later"
    return f"Reviewing {row['arm']} by triage finds errors {verb} than random order: {size}."


def _score_sentence(arm: str, rho: float, low: float, high: float, p: float) -> str:
    size = f"rho {rho:+.2f}, {interval_phrase(low, high, '+.2f')}, {p_words(p)}"
    if not p < LEVEL:
        return f"Whether people disagree with {arm} is not shown to depend on how it scores a case ({size})."
    return f"People disagree with {arm} more often where it scores {'low' if rho < 0 else 'high'} ({size})."


TRIAGE = Audit(
    "triage", lambda given, draws: triage_section(given.evidence, given.marks, given.severity, draws), 40
)
