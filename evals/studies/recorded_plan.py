"""The plan of a study whose jurors have answered already: their judgements are read, and no model is asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...rubrics.errors import VenireError
from ..datasets import Recording, llmbar, load_judgements, pandalm
from ..ratings.clusters import groups_in
from ..ratings.people import load_ratings
from ..ratings.question import Question, rubric_questions
from .case_split import split_cases
from .errors import ErrorList
from .rating_checks import rubric_errors
from .study import Study, named_rubric


@dataclass(frozen=True, slots=True)
class RecordedPlan:
    """Judgements, people's ratings, and what was asked; nothing is left to ask."""

    path: Path
    study: Study
    recording: Recording

    @property
    def jurors(self) -> list[str]:
        return list(dict.fromkeys(self.recording.judgements["juror"].astype(str)))

    @property
    def questions(self) -> dict[str, Question]:
        """What juries are scored on: the attributes that the study names, or all."""
        return rubric_questions(self.recording.rubric, only=self.study.attributes or None)

    @property
    def test(self) -> tuple[str, ...] | None:
        """The test cases; None where the study names none, so that each case is held out in turn."""
        if "split" not in self.study.model_fields_set:
            return None
        judgements = self.recording.judgements.astype({"case": str})
        cases = list(dict.fromkeys(judgements["case"]))
        groups = {str(case): str(group) for case, group in groups_in(judgements).items()}
        return split_cases(cases, groups, self.study.split, seed=self.study.seeds.split).test or None


def plan_recorded(path: Path, study: Study) -> RecordedPlan:
    """The study with its tables read; everything that is wrong with them is raised at once."""
    errors = ErrorList()
    recording = _read(path.parent, study, errors)
    if recording is not None:
        errors.add(*rubric_errors(study, recording.rubric))
        judged, rated = set(recording.judgements["case"]), set(recording.people["case"].astype(str))
        if not judged & rated:
            errors.add(
                VenireError(
                    "ratings: nobody rated a case that is judged",
                    remedy="check that both files use the same case ids",
                )
            )
    if errors or recording is None:
        raise errors.as_one(path)
    return RecordedPlan(path, study, recording)


def _read(beside: Path, study: Study, errors: ErrorList) -> Recording | None:
    source = study.judgements
    assert source is not None
    if source.llmbar is not None:
        return errors.attempt(partial(llmbar, beside / source.llmbar, subset=source.subset or "LLMBar"))
    if source.pandalm is not None:
        return errors.attempt(partial(pandalm, beside / source.pandalm))
    assert source.file is not None and study.rubric is not None and study.ratings is not None
    judgements = errors.attempt(partial(load_judgements, beside / source.file))
    rubric = errors.attempt(partial(named_rubric, study.rubric, beside))
    people = errors.attempt(partial(load_ratings, beside / study.ratings, wide=study.wide))
    if judgements is None or rubric is None or people is None:
        return None
    return Recording(study.name, rubric, (), judgements, people)
