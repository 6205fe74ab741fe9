"""A study of jurors who have answered already: no model, no run, the same question of which to seat."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from ...orchestration.record import Location
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.rubric import load_rubric
from ..datasets import Recording, llmbar, load_judgements, pandalm
from ..ratings.people import load_ratings
from ..selection import Composition, analyse
from .case_split import parts_of
from .errors import Wrongs, every_wrong
from .rating_checks import questions_of, strange_attributes
from .study import Study
from .study_run import Ran, default_folder, run_folder


@dataclass(frozen=True, slots=True)
class RecordedStudy:
    """Judgements, people's ratings, and what was asked; nothing is left to ask."""

    path: Path
    study: Study
    recording: Recording

    @property
    def jurors(self) -> list[str]:
        return list(dict.fromkeys(self.recording.judgements["juror"].astype(str)))

    def show(self, console: Console) -> None:
        table = self.recording.judgements
        console.print(
            f"{len(self.jurors)} recorded jurors, {len(table)} judgements of {table['case'].nunique()} cases: "
            "no call is made, and nothing is paid",
            highlight=False,
            soft_wrap=True,
        )

    def json(self) -> dict[str, Any]:
        table = self.recording.judgements
        return {
            "study": self.study.name,
            "jurors": self.jurors,
            "cases": int(table["case"].nunique()),
            "judgements": len(table),
            "total": {
                "calls": 0,
                "most_calls": 0,
                "tokens": 0,
                "most_tokens": 0,
                "usd": 0.0,
                "most_usd": 0.0,
            },
        }

    @property
    def folder(self) -> Path:
        """Where its report goes, unless it is said."""
        return default_folder(self.path)

    def run(self, folder: Location | None, console: Console, **pace: Any) -> Ran:
        """Nothing is left to run."""
        return Ran(run_folder(folder, self.path), heard=0, skipped=len(self.recording.judgements), limit=None)

    def analysed(self, *, resamples: int) -> Composition:
        """What compositions of these jurors are worth, on cases that did not choose them."""
        study, how = self.study, self.study.judgements
        assert how is not None
        people = self.recording.people
        test = None
        if "split" in study.model_fields_set:
            test = _test(self.recording, study)
        return analyse(
            self.recording.judgements,
            people,
            questions={name: self.recording.questions[name] for name in _scored(self.recording, study)},
            counting=how.counting,
            largest=how.largest,
            test=test,
            seed=study.seeds.statistics,
            resamples=resamples,
        )


def recorded_study(path: Path, study: Study) -> RecordedStudy:
    """The study with its tables read; everything that is wrong with them is told at once."""
    wrongs = Wrongs()
    recording = _read(path.parent, study, wrongs)
    if recording is not None:
        wrongs.add(*strange_attributes(study, recording.rubric))
        judged, rated = set(recording.judgements["case"]), set(recording.people["case"].astype(str))
        if not judged & rated:
            wrongs.add(
                VenireError(
                    "ratings: nobody rated a case that is judged",
                    remedy="check that both files use the same case ids",
                )
            )
    if wrongs.found or recording is None:
        raise every_wrong(path, wrongs.told())
    return RecordedStudy(path, study, recording)


def _read(beside: Path, study: Study, wrongs: Wrongs) -> Recording | None:
    how = study.judgements
    assert how is not None
    if how.llmbar is not None:
        return wrongs.tried(partial(llmbar, beside / how.llmbar, subset=how.subset or "LLMBar"))
    if how.pandalm is not None:
        return wrongs.tried(partial(pandalm, beside / how.pandalm))
    assert how.file is not None and study.rubric is not None and study.ratings is not None
    name = study.rubric
    judgements = wrongs.tried(partial(load_judgements, beside / how.file))
    rubric = wrongs.tried(partial(load_rubric, beside / name if name.endswith((".yaml", ".yml")) else name))
    people = wrongs.tried(partial(load_ratings, beside / study.ratings, wide=study.wide))
    if judgements is None or rubric is None or people is None:
        return None
    return Recording(study.name, rubric, (), judgements, people)


def _scored(recording: Recording, study: Study) -> list[str]:
    return list(questions_of(recording.rubric, study))


def _test(recording: Recording, study: Study) -> tuple[str, ...]:
    """The test cases; a recording need not hold the cases' texts, so that ids and groups are taken from the judgements."""
    table = recording.judgements.drop_duplicates("case")
    groups = table["group"] if "group" in table else [None] * len(table)
    cases = [
        Case(id=str(name), output="recorded", group=None if group is None else str(group))
        for name, group in zip(table["case"], groups, strict=True)
    ]
    return parts_of(cases, study.split, seed=study.seeds.split).test
