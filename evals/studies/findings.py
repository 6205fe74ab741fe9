"""What a study found: the arms on the frontier, what each seat adds, what was paid, and which arm to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ...agents.cost import Cost
from ...orchestration.record import Store
from ...rubrics.errors import VenireError
from ...rubrics.scale import NOT_APPLICABLE
from ..audits.classes import classes_section
from ..audits.independence import independence_section
from ..comparison.comparison import Comparison, compare_evidence
from ..comparison.deliberation import deliberation_section
from ..comparison.objectives import OBJECTIVES
from ..inference.dstudy import repeats_section
from ..ratings.evidence import gather, two_panels
from ..ratings.people import check_ratings
from ..ratings.question import Question, rubric_questions
from ..ratings.reference import Rule, reference
from ..ratings.run_tables import ArmJudges, BlindCounts, RoundVotes, VoteChanges, arm_tables
from ..report.section import Section
from ..statistics.draws import Draws
from ..studies.deliberated_arms import weigh
from ..studies.recorded_jurors import analyse
from .candidates import Composition
from .choices import Goal
from .design_sections import design_sections, gather_design
from .judgements import UNITS, blind_ballots, credit_table, groups_of
from .juror_pool import legal_judgements
from .plan import RecordedPlan, StudyPlan, plan_recorded, task_folder
from .registration import Registration, registration
from .study import load_study
from .study_files import default_folder
from .study_record import StudyRecord, read_record, recorded_ratings, trials_table

MOST_SENTENCES = 4
"""Juries and attributes whose effective votes are said in words; the table has all."""


@dataclass(frozen=True, slots=True)
class RunFindings:
    """What a run of models found, as tables and sentences."""

    study: StudyRecord
    folder: Path
    arms: Composition
    """The arms that sat on the test cases, chosen on the others."""
    jurors: Composition | None
    """Juries made of the seats' own first ballots; None where there is not enough for any."""
    table: pd.DataFrame
    """One row for each arm, cheapest first: how it is made, what it earned on either part of the cases, what it took."""
    judges: pd.DataFrame
    """By `arm` the `models` that judged, with the versions that their providers stated."""
    trials: pd.DataFrame
    paid: Cost
    """What was really paid, for all arms together."""
    alone: int
    """The calls that all arms, those given up early among them, would have made each in a run of its own."""
    notes: tuple[str, ...]
    registration: Registration
    """Whether it was registered, and what has changed since."""
    sections: tuple[Section, ...] = ()
    """The tables that the study's design asks for, and what its juries are worth in independent votes."""

    def sentences(self) -> list[str]:
        """Which arm to use, and what was paid to know it."""
        return [*self.arms.sentences(), self.paid_sentence]

    @property
    def methods(self) -> tuple[str, ...]:
        further = (sentence for section in self.sections for sentence in section.methods)
        return (*self.arms.methods, *(self.jurors.methods if self.jurors else ()), *further)

    @property
    def paid_sentence(self) -> str:
        dollars = "an unknown price" if self.paid.usd is None else f"${self.paid.usd:.4f}"
        return (
            f"The study made {self.paid.calls} calls ({self.paid.tokens} tokens, {dollars}); "
            f"if every arm were run alone, the study would have made {self.alone} calls."
        )


@dataclass(frozen=True, slots=True)
class RecordedFindings:
    """What recorded judgements show: which of their jurors to seat."""

    study: str
    folder: Path
    """Where the report goes, unless another is named."""
    jurors: Composition
    sections: tuple[Section, ...] = ()


Findings = RunFindings | RecordedFindings


def findings_at(path: Path, *, resamples: int = 1000) -> Findings:
    """The findings of the study in a file, or of the run in a directory. Makes no model call."""
    if path.is_dir():
        return run_findings(path, resamples=resamples)
    study, _ = load_study(path)
    folder = default_folder(path)
    if study.judgements is not None:
        return recorded_findings(plan_recorded(path, study), folder, resamples=resamples)
    if not folder.is_dir():
        raise VenireError(
            f"{path}: the study has no run in {folder}",
            remedy=f"run the study: venire study run {path}; or, if the run is elsewhere, name its folder",
        )
    return replace(
        (found := run_findings(folder, resamples=resamples)),
        registration=registration(path, found.study.document),
    )


def plan_findings(plan: StudyPlan, folder: Path, *, resamples: int = 1000) -> Findings:
    """The findings of a plan that was just run into `folder`."""
    if isinstance(plan, RecordedPlan):
        return recorded_findings(plan, folder, resamples=resamples)
    found = run_findings(folder, resamples=resamples)
    return replace(found, registration=registration(plan.path, found.study.document))


def recorded_findings(plan: RecordedPlan, folder: Path, *, resamples: int) -> RecordedFindings:
    """What juries of recorded jurors are worth, on cases that did not choose them."""
    how = plan.study.judgements
    assert how is not None
    judged = tuple(dict.fromkeys(plan.recording.judgements["case"].astype(str)))
    people, check = check_ratings(
        plan.recording.people, plan.recording.questions, cases=judged, more_to_come=True
    )
    jurors = analyse(
        plan.recording.judgements,
        people,
        questions=plan.questions,
        counting=how.counting,
        largest=how.largest,
        test=plan.test,
        reference=plan.study.reference,
        seed=plan.study.seeds.statistics,
        resamples=resamples,
        goal=plan.study.goal,
    )
    return RecordedFindings(
        plan.study.name,
        folder,
        replace(jurors, notes=(*check.notes, *jurors.notes)),
        _recorded_independence(plan, people, jurors),
    )


def _recorded_independence(
    plan: RecordedPlan, people: pd.DataFrame, jurors: Composition
) -> tuple[Section, ...]:
    """What all recorded jurors together are worth in independent votes: each one's first answer to each question."""
    given, asked = plan.recording.judgements, plan.questions
    given = given.astype({"case": str, "juror": str, "attribute": str})
    votes = given[
        given["attribute"].isin(list(asked))
        & given["juror"].isin(jurors.jurors["juror"])
        & given["value"].ne(NOT_APPLICABLE)
        & (given["case"].isin(list(plan.test)) if plan.test else True)
    ]
    if "repeat" in votes:
        votes = votes.sort_values("repeat", kind="stable", na_position="first")
    votes, _ = legal_judgements(votes.drop_duplicates(["case", "juror", "attribute"]), asked)
    section = independence_section(
        votes.assign(arm="all jurors", round=1),
        reference(people, asked, rule=plan.study.reference).table,
        asked,
        most=MOST_SENTENCES,
    )
    return (section,) if section else ()


def run_findings(folder: Path, *, resamples: int) -> RunFindings:
    """What the study that was run in `folder` found, from its record alone."""
    study, everyone = read_record(folder), recorded_ratings(folder)
    people, _ = two_panels(everyone, study.design.people.rescore)
    store = Store.read(folder)
    try:
        found = _findings(study, folder, store, people, resamples)
        asked_for = _sections(study, folder, store, everyone, resamples)
        held = (
            _deliberation(store, study, people),
            repeats_section(store, set(study.hearings.values())),
            *asked_for,
            *_independence(store, study, people, found),
        )
        return replace(found, sections=tuple(filter(None, held)))
    finally:
        store.release()


def _sections(
    study: StudyRecord, folder: Path, store: Store, everyone: pd.DataFrame, resamples: int
) -> tuple[Section, ...]:
    """The tables that the design asks for; and where a scale has costs, what answers earn by them, beside constants and people."""
    design, draws = study.design, Draws(study.seed, resamples)
    costed = any(question.scale.costs for question in _questions(store, study).values())
    if not design.tables and not costed:
        return ()
    given = gather_design(store, everyone, design, study.arms, study.test, rule=study.reference, draws=draws)
    wanted = design.tasks if "tasks" in design.tables else ()
    tasks = {name: _task_comparison(task_folder(folder, name), study.reference, draws) for name in wanted}
    sections = design_sections(given, tasks) if design.tables else ()
    if not costed or "classes" in design.tables:
        return sections
    rewards = classes_section(given.scored)
    return sections if rewards is None else (*sections, rewards)


def _deliberation(store: Store, study: StudyRecord, people: pd.DataFrame) -> Section | None:
    """What deliberation did to each arm, on all cases that it heard: nothing here was chosen on any of them."""
    questions = _questions(store, study)
    rated, _ = check_ratings(people[people["attribute"].astype(str).isin(list(questions))], questions)
    blind, changes = arm_tables(store, BlindCounts(), VoteChanges())
    goal = study.goal or Goal(OBJECTIVES["credit"])
    blind, changes = (
        table.assign(arm=table["arm"].replace(dict(study.hearings))) for table in (blind, changes)
    )
    return deliberation_section(
        blind[blind["arm"].isin(list(study.arms))],
        changes[changes["arm"].isin(list(study.arms))],
        reference(rated, questions, rule=study.reference).table,
        questions,
        groups_of(store, store.case_ids()),
        objective=goal.objective,
        margin=goal.margin,
        unit=study.unit,
    )


def _independence(
    store: Store, study: StudyRecord, people: pd.DataFrame, found: RunFindings
) -> tuple[Section, ...]:
    """What each jury is worth in independent votes on the cases held out, the arm to use first."""
    questions = _questions(store, study)
    rated, _ = check_ratings(people[people["attribute"].astype(str).isin(list(questions))], questions)
    (rounds,) = arm_tables(store, RoundVotes())
    plain = [name for name, how in study.arms.items() if how == "none"]
    rounds = rounds[rounds["arm"].isin(plain) & rounds["attribute"].isin(list(questions))]
    if study.test:
        rounds = rounds[rounds["case"].isin(list(study.test))]
    order = rounds["arm"].ne(found.arms.recommended)
    section = independence_section(
        rounds.loc[order.sort_values(kind="stable").index],
        reference(rated, questions, rule=study.reference).table,
        questions,
        most=MOST_SENTENCES,
    )
    return (section,) if section else ()


def _questions(store: Store, study: StudyRecord) -> dict[str, Question]:
    """What the study's arms were asked, as far as the study is about it."""
    rubrics = (arm.rubric for arm in store.arms() if arm.name in study.arms)
    return rubric_questions(*rubrics, only=study.attributes)


def _task_comparison(folder: Path, rule: Rule | None, draws: Draws) -> Comparison:
    store = Store.read(folder)
    try:
        evidence = gather(store, recorded_ratings(folder), rule=rule)
    finally:
        store.release()
    return compare_evidence(evidence, seed=draws.seed, resamples=draws.resamples)


def _findings(
    study: StudyRecord, folder: Path, store: Store, people: pd.DataFrame, resamples: int
) -> RunFindings:
    both = (*study.selection, *study.test)
    table, notes = credit_table(
        store,
        study.arms,
        both,
        people,
        attributes=study.attributes,
        rule=study.reference,
        unit=study.unit,
        seed=study.seed,
        hearings=study.hearings,
    )
    questions = _questions(store, study)
    heard = table.dropna(subset=["credit"]).groupby("arm")["case"].agg(set)
    choosable = study.arms if study.chosen_from is None else study.chosen_from
    tested = [
        arm
        for arm, cases in heard.items()
        if arm in choosable and (not study.test or cases & set(study.test))
    ]
    apart = [
        f"{arm} judged only {len(heard.get(arm, ()))} {'test ' if study.test else ''}cases, so it is in the tables but not among the arms to choose from"
        for arm in study.arms
        if arm not in choosable
    ]
    if not tested:
        raise VenireError(
            f"{folder}: no arm of the study has judged a {'test ' if study.test else ''}case that people rated",
            remedy="run the study to its end: venire study run",
        )
    found = weigh(
        table[table["arm"].isin(tested)],
        test=study.test or None,
        reference=study.reference,
        seed=study.seed,
        resamples=resamples,
        unit=UNITS[study.unit],
        questions=questions,
        goal=study.goal,
    )
    jurors: Composition | None = None
    try:
        jurors = _jurors(store, study, people, questions, resamples)
        further = [f"About the seats' own ballots: {note}" for note in jurors.notes if note not in notes]
    except VenireError as error:
        further = [f"What each seat adds cannot be estimated: {error.problem}."]
    return RunFindings(
        study=study,
        folder=folder,
        arms=found,
        jurors=jurors,
        table=_arms_table(store, study, found),
        judges=arm_tables(store, ArmJudges())[0],
        trials=trials_table(folder),
        paid=store.cost(),
        alone=sum(each.cost.calls for arm in store.arms() for each in store.transcripts(arm)),
        notes=(*notes, *apart, *found.notes, *further),
        registration=registration(None, study.document),
    )


def _jurors(
    store: Store, study: StudyRecord, people: pd.DataFrame, questions: Mapping[str, Question], resamples: int
) -> Composition:
    """What the seats add to each other, as far as they voted blind; raises `VenireError` where too few did."""
    ballots = blind_ballots(store, study.arms, study.unit)
    rated, _ = check_ratings(people[people["attribute"].astype(str).isin(list(questions))], questions)
    ballots["group"] = ballots["case"].map(groups_of(store, [*study.selection, *study.test]))
    if study.search is not None:
        # Only what was chosen heard the test cases: all seats can be held against each other on the others alone.
        ballots = ballots[ballots["case"].isin(list(study.selection))]
    test = set(study.test) & set(ballots["case"])
    return analyse(
        ballots,
        rated,
        questions=questions,
        test=test or None,
        reference=study.reference,
        seed=study.seed,
        resamples=resamples,
        goal=study.goal,
    )


def _arms_table(store: Store, study: StudyRecord, found: Composition) -> pd.DataFrame:
    """The frontier with how each arm is made, and what it earned on the cases it was chosen on."""
    made: dict[str, dict[str, Any]] = {
        arm.name: {
            "seats": len(arm.jury.seats),
            "protocol": arm.jury.protocol,
            "count": arm.jury.count or "",
            "calibration": study.arms[arm.name],
            "calls": 0,
        }
        for arm in store.arms()
        if arm.name in study.arms
    }
    for arm in store.arms():
        if arm.jury.first_name in made:
            made[arm.jury.first_name]["calls"] += sum(t.cost.calls for t in store.transcripts(arm))
    rows = found.frontier.drop(columns=["size", "jurors"])
    for column in ("seats", "protocol", "count", "calibration", "calls"):
        rows[column] = [made[arm][column] for arm in rows["arm"]]
    order = [
        "arm",
        "kind",
        "seats",
        "protocol",
        "count",
        "calibration",
        "front",
        "selection",
        "score",
        "low",
        "high",
    ]
    return rows[[*order, "n", "answered", "cost", "seconds", "calls"]]
