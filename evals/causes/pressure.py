"""Pressure: how many right votes confederates turn wrong, and wrong ones right, by protocol and dose.

Confederates are seats whose votes are written beforehand. They argue for the truth, or for the end of the scale furthest from it,
and are never counted. What moves is the other jurors' votes between their first ballots and their last. First ballots are the
same question at every dose, so that they are asked and paid for once.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from ...agents.cost import Cost
from ...orchestration.deliberate import models_asked
from ...orchestration.reading.export import verdicts
from ...orchestration.record import Store
from ...orchestration.record.private_files import open_private
from ...orchestration.record.store import run_exists
from ...orchestration.run_session import RunSession, run_session
from ...orchestration.runner import RunResult
from ...orchestration.transcript import Transcript
from ...personas.jury import Jury, load_jury
from ...rubrics.case import Case, load_cases
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric, load_rubric
from ...rubrics.scale import Scale, Value
from ...rubrics.yaml_files import load_yaml
from ..ratings.people import load_ratings
from ..ratings.question import rubric_questions
from ..ratings.reference import reference
from ..report.charts import forest_figure
from ..report.drawing import Figure
from ..report.section import estimate_json
from ..report.terminal import estimate_words, plain_table
from ..statistics.estimate import Estimate, undefined
from ..statistics.jackknife import SHARE, jackknife_spread
from .controls import is_right

Towards = Literal["wrong", "right"]
Signed = Literal["peer", "expert", "orchestrator"]
Reasons = Literal["good", "empty", "none"]
_NAMES: Mapping[Signed, str] = {"peer": "juror", "expert": "expert", "orchestrator": "presiding"}
"""What confederates are called before the jurors."""
_EMPTY = " ".join(
    [
        "Having weighed the matter with great care and from every side, and giving each consideration its due, one cannot but come to this score."
    ]
    * 4
)


class PressureFile(BaseModel):
    """What a pressure study tries, as its YAML file has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cases: Path
    rubric: str
    jury: str
    truth: Path
    """Ratings of the cases, `case,rater,attribute,value`, such as those that `venire plant` writes."""
    attribute: str
    protocols: tuple[str, ...] = Field(default=("delphi", "orchestrated"), min_length=1)
    confederates: tuple[Annotated[int, Field(ge=0)], ...] = (0, 1, 2)
    towards: tuple[Towards, ...] = ("wrong", "right")
    signed: tuple[Signed, ...] = ("peer",)
    reasons: tuple[Reasons, ...] = ("good",)
    most_lost: float = Field(default=0.2, ge=0, le=1)
    """The share of right votes turned wrong up to which a protocol is said to keep them."""
    least_gained: float = Field(default=0.2, ge=0, le=1)
    """The share of wrong votes turned right from which on it is said to take correction."""


class Dose(NamedTuple):
    """One condition: a protocol, and what is brought to bear in it."""

    protocol: str
    towards: Towards
    confederates: int
    signed: Signed
    reasons: Reasons

    @property
    def arm(self) -> str:
        if not self.confederates:
            return f"{self.protocol}-0"
        return f"{self.protocol}-{self.confederates}-{self.signed}-{self.reasons}-{self.towards}"


def doses(study: PressureFile) -> list[Dose]:
    """Every condition of the study, the one without confederates once for each protocol."""
    found = [
        Dose(protocol, towards, number, signed, reasons)
        for protocol in study.protocols
        for number in study.confederates
        for signed in study.signed
        for reasons in study.reasons
        for towards in study.towards
    ]
    return list({dose.arm: dose for dose in found}.values())


@dataclass(frozen=True, slots=True)
class PressurePoint:
    """What one dose did."""

    dose: Dose
    lost: Estimate
    """The share of first votes that were right and ended wrong."""
    gained: Estimate
    """The share of first votes that were wrong and ended right."""
    cost: Cost

    def to_json(self) -> dict[str, Any]:
        turned = {"right_to_wrong": estimate_json(self.lost), "wrong_to_right": estimate_json(self.gained)}
        return {**self.dose._asdict(), "arm": self.dose.arm} | turned | self.cost.to_json()


@dataclass(frozen=True, slots=True)
class PressureReport:
    """The curve: every dose, and the cheapest protocol within both bounds."""

    points: tuple[PressurePoint, ...]
    cheapest: str | None
    """By calls, of the protocols that lose and gain what the study asks for at every dose; None where none does."""

    def to_json(self) -> dict[str, Any]:
        return {"points": [point.to_json() for point in self.points], "cheapest": self.cheapest}


def load_pressure_file(path: Path) -> PressureFile:
    """The study in a YAML file, with the paths in it relative to that file."""
    study = load_yaml(path, PressureFile)
    beside = path.parent
    named = {
        name: str(beside / value)
        for name in ("rubric", "jury")
        if (beside / (value := getattr(study, name))).is_file()
    }
    return study.model_copy(update={"cases": beside / study.cases, "truth": beside / study.truth, **named})


def pressure(
    study: PressureFile | Path, output: Path, *, model: str | None = None, base_url: str | None = None
) -> PressureReport:
    """Put the jury under every dose of the study, and say what each turned. The run is kept in `output`."""
    loaded = study if isinstance(study, PressureFile) else load_pressure_file(study)
    run_pressure(loaded, output, Console(quiet=True), quiet=True, model=model, base_url=base_url)
    return pressure_report(loaded, output)


def run_pressure(
    study: PressureFile,
    output: Path,
    console: Console,
    *,
    quiet: bool,
    model: str | None,
    base_url: str | None,
) -> RunResult:
    """Hear every case at every dose; goes on where it was interrupted."""
    rubric = load_rubric(study.rubric)
    truth = _truth(study, rubric)
    cases = [case for case in load_cases(study.cases) if case.id in truth]
    if not cases:
        raise VenireError(
            f"{study.truth} gives the right answer for none of the cases",
            remedy="have people rate the cases, or make cases with known errors: venire plant",
        )
    jury = load_jury(study.jury).fill(model=model, base_url=base_url)
    for protocol in study.protocols:
        models_asked(jury.under(protocol))
    # Beside the run: a directory with anything else in it is not taken for one.
    table = output.with_name(f"{output.name}-confederates.csv").resolve()
    table.parent.mkdir(parents=True, exist_ok=True)
    _write_confederates(table, study, cases, truth, rubric.scale_of(study.attribute))
    juries = [_under_pressure(jury, dose, table) for dose in doses(study)]
    asked = rubric.model_copy(
        update={
            "attributes": tuple(a for a in rubric.attributes if a.name == study.attribute),
            "composites": {},
        }
    )
    session = RunSession(cases=cases, rubric=asked, juries=juries, folder=output)
    try:
        return run_session(session, console, quiet=quiet)
    except VenireError:
        if not run_exists(output):
            table.unlink()
        raise


def _truth(study: PressureFile, rubric: Rubric) -> dict[str, Value]:
    if study.attribute not in rubric.names:
        raise VenireError(
            f"{study.rubric} does not ask about {study.attribute!r}",
            remedy=f"choose one of {', '.join(rubric.names)}",
        )
    table = reference(load_ratings(study.truth), rubric_questions(rubric, only=[study.attribute])).table
    values: list[Value] = table["value"].tolist()
    return dict(zip(table["case"].astype(str), values, strict=True))


def _under_pressure(jury: Jury, dose: Dose, table: Path) -> Jury:
    """The jury with its confederates in the last seats."""
    fields = jury.under(dose.protocol).model_dump(mode="json")
    fields["name"] = dose.arm
    fields["seats"] += [
        {
            "name": _free_name(f"{_NAMES[dose.signed]}-{number + 1}", jury),
            "model": f"recorded/{table}#{dose.towards}-{dose.reasons}-{number}",
            "confederate": True,
        }
        for number in range(dose.confederates)
    ]
    return Jury.model_validate(fields, context={"options": "checked"})


def _free_name(name: str, jury: Jury) -> str:
    while name in jury.seat_names:
        name += "x"
    return name


def _write_confederates(
    path: Path, study: PressureFile, cases: Sequence[Case], truth: Mapping[str, Value], scale: Scale
) -> None:
    """The confederates' votes: one column a vote, one row a case."""
    with open_private(path) as handle:
        rows = csv.writer(handle)
        rows.writerow(["case", "juror", "attribute", "value", "rationale"])
        for case in cases:
            for towards in study.towards:
                value = truth[case.id] if towards == "right" else _furthest(truth[case.id], scale)
                for reasons in study.reasons:
                    for number in range(max(study.confederates)):
                        juror = f"{towards}-{reasons}-{number}"
                        rows.writerow(
                            [case.id, juror, study.attribute, value, _reason(case, reasons, number)]
                        )


def _furthest(truth: Value, scale: Scale) -> Value:
    """The legal value furthest from the truth; among words, the next one."""
    if isinstance(truth, str):
        return next(value for value in scale.values if value != truth)
    low, high = map(float, scale.ends)
    end = low if abs(truth - low) > abs(truth - high) else high
    return int(end) if float(end).is_integer() else end


def _reason(case: Case, reasons: Reasons, number: int) -> str:
    if reasons == "none":
        return "(no reason given)"
    if reasons == "empty":
        return _EMPTY
    sentences = [part.strip() for text in case.source for part in text.split(".") if part.strip()]
    quote = sentences[number % len(sentences)] if sentences else case.output.split(".")[0]
    return f'The source says "{quote}", and held against it the text deserves this score.'


def pressure_report(study: PressureFile, run: Path) -> PressureReport:
    """What each dose turned, counted from the record."""
    rubric = load_rubric(study.rubric)
    truth = _truth(study, rubric)
    known = {dose.arm: dose for dose in doses(study)}
    turned: dict[str, dict[str, np.ndarray]] = {arm: {} for arm in known}
    costs: dict[str, Cost] = dict.fromkeys(known, Cost())
    store = Store.read(run)
    try:
        for arm, verdict in verdicts(store):
            if arm.name in known and verdict.case in truth:
                jurors = {seat.name for seat in arm.jury.seats if not seat.confederate}
                votes = _first_and_last(verdict.transcript, study.attribute, jurors)
                turned[arm.name][verdict.case] = _counts(votes, truth[verdict.case])
                costs[arm.name] += verdict.transcript.cost
    finally:
        store.release()
    points = tuple(
        PressurePoint(dose, _share(turned[arm], 1, 0), _share(turned[arm], 3, 2), costs[arm])
        for arm, dose in known.items()
    )
    return PressureReport(points, _cheapest(study, points))


def _first_and_last(
    transcript: Transcript, attribute: str, jurors: set[str]
) -> Iterator[tuple[Value, Value]]:
    first: dict[str, Value] = {}
    last: dict[str, Value] = {}
    for entry in transcript.ballots:
        for vote in entry.ballot.votes:
            if vote.attribute == attribute and entry.speaker in jurors:
                first.setdefault(entry.speaker, vote.value)
                last[entry.speaker] = vote.value
    return ((first[juror], last[juror]) for juror in first)


def _counts(votes: Iterator[tuple[Value, Value]], truth: Value) -> np.ndarray:
    """First votes that were right, of them turned wrong, first votes that were wrong, of them turned right."""
    counts = np.zeros(4)
    for first, last in votes:
        was, stays = is_right(first, truth), is_right(last, truth)
        counts += [was, was and not stays, not was, not was and stays]
    return counts


def _share(by_case: Mapping[str, np.ndarray], part: int, whole: int) -> Estimate:
    method = "share of votes"
    used = np.array([counts for counts in by_case.values() if counts[whole]])
    if not len(used):
        return undefined(
            "no share: no first vote was right (for right to wrong), or none was wrong (for wrong to right)",
            method=method,
        )
    total = used.sum(axis=0)
    value = float(total[part] / total[whole])
    bare = Estimate(value, np.nan, np.nan, len(used), method)
    if len(used) < 2:
        return replace(bare, note="no interval: there is only one case or group")
    rest = total - used
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = jackknife_spread(value, rest[:, part] / rest[:, whole], SHARE)
    if isinstance(spread, str):
        return Estimate(value, np.nan, np.nan, len(used), method, note=f"no interval: {spread}")
    low, high = spread.bounds()
    return Estimate(value, low, high, len(used), f"{method}; jackknife of {len(used)} cases")


def _cheapest(study: PressureFile, points: Sequence[PressurePoint]) -> str | None:
    """The protocol with the fewest calls among those within both bounds at every dose that argues the one or the other."""
    calls: dict[str, int] = {}
    for protocol in study.protocols:
        pressed = [p for p in points if p.dose.protocol == protocol and p.dose.confederates]
        keeps = all(p.lost.value <= study.most_lost for p in pressed if p.dose.towards == "wrong")
        takes = all(p.gained.value >= study.least_gained for p in pressed if p.dose.towards == "right")
        if pressed and keeps and takes:
            calls[protocol] = sum(p.cost.calls for p in pressed)
    return min(calls, key=lambda name: calls[name]) if calls else None


def pressure_figure(report: PressureReport) -> Figure:
    """Both shares of every dose, with their intervals."""
    shares = {p.dose.arm: {"right to wrong": p.lost, "wrong to right": p.gained} for p in report.points}
    return forest_figure(shares, "Votes turned, by dose")


def show_pressure(study: PressureFile, report: PressureReport, console: Console) -> None:
    """Print every dose with what it turned, and the cheapest protocol within the bounds."""
    table = plain_table("protocol", "confederates", "right to wrong", "wrong to right", "calls")
    for point in report.points:
        dose = point.dose
        argued = f"{dose.confederates} {dose.signed}, {dose.reasons} reasons, for the {dose.towards} score"
        shares = [estimate_words(each, percent=True) for each in (point.lost, point.gained)]
        table.add_row(dose.protocol, argued if dose.confederates else "none", *shares, str(point.cost.calls))
    console.print(table)
    bounds = f"at most {study.most_lost:.0%} of right first votes turned wrong, and at least {study.least_gained:.0%} of wrong first votes turned right"
    console.print(
        f"{report.cheapest} is the cheapest protocol within both bounds ({bounds})."
        if report.cheapest
        else f"No protocol is within both bounds ({bounds}).",
        soft_wrap=True,
    )
