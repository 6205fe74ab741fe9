"""What `venire study` calls: a study file planned, run and reported, whether models answer or a table does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from ...orchestration.record import Location
from ...rubrics.errors import VenireError
from ..studies.plan import Plan, plan_study
from ..studies.recorded_study import RecordedStudy, recorded_study
from ..studies.study import load_study
from ..studies.study_run import Ran, default_folder, run_folder, run_plan
from ..studies.study_session import Sitting
from .study_plan import plan_json, show_plan
from .study_report import StudyReport, report_recorded, report_run


class Planned(Protocol):
    """A study that can be run."""

    def show(self, console: Console) -> None: ...

    def json(self) -> dict[str, Any]: ...

    def run(self, folder: Location | None, console: Console, **pace: Any) -> Ran: ...


@dataclass(frozen=True, slots=True)
class Asking:
    """A study whose arms ask models."""

    plan: Plan

    def show(self, console: Console) -> None:
        show_plan(self.plan, console)

    def json(self) -> dict[str, Any]:
        return plan_json(self.plan)

    def run(self, folder: Location | None, console: Console, **pace: Any) -> Ran:
        sitting = Sitting(run_folder(folder, self.plan.path), console, **pace)
        ended = run_plan(self.plan, sitting)
        return Ran(sitting.folder, ended.heard, ended.skipped, ended.limit)


def made_plan(path: Path) -> Planned:
    """The study in a file, planned; everything that is wrong with it is told at once."""
    study, _ = load_study(path)
    if study.judgements is not None:
        return recorded_study(path, study)
    return Asking(plan_study(path))


def report_of(planned: Planned, folder: Path, *, resamples: int) -> StudyReport:
    """The report of a study that has just been run into `folder`."""
    if isinstance(planned, RecordedStudy):
        return report_recorded(planned, folder, resamples=resamples)
    return report_run(folder, None, resamples=resamples)


def made_report(path: Path, output: Path | None, *, resamples: int) -> StudyReport:
    """The report of the study in a file, or of the run in a directory; written where it says, or beside the run."""
    if path.is_dir():
        return report_run(path, output, resamples=resamples)
    study, _ = load_study(path)
    if study.judgements is not None:
        return report_recorded(recorded_study(path, study), output, resamples=resamples)
    folder = default_folder(path)
    if not folder.is_dir():
        raise VenireError(
            f"{path}: there is no run of it at {folder}",
            remedy=f"venire study run {path}; or, if it was kept elsewhere, name the run",
        )
    return report_run(folder, output, resamples=resamples)
