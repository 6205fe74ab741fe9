"""What a comparison rests on: the run's scores, the people's, what was asked, and what the cases are like."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from ...orchestration.deliberate import deliberates
from ...orchestration.reading.export import sealed_note
from ...orchestration.record import Arm, Store
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ..statistics.matrix import InvalidRatings
from .folds import groups_in, shared_group_note
from .people import RatingCheck, check_ratings
from .pooling import OVERALL
from .preferences import people_in_numbers
from .question import Question, rubric_questions
from .reference import Reference, Rule, reference
from .run_tables import (
    COLUMNS,
    ArmAbstentions,
    ArmCosts,
    ArmJudges,
    ArmMoments,
    ArmRatings,
    ArmStops,
    BlindCounts,
    JurorRatings,
    RoundVotes,
    VoteChanges,
    arm_tables,
)

SPLIT = "split"
"""The metadata column in which a case may say which part of a split it is in."""

TextBaselines = Callable[[Sequence[tuple[str, str]]], tuple[pd.DataFrame, list[str]]]
"""Sets outputs beside their references: one row a pair, one column a measure; and what could not be measured."""
ATTRIBUTE = f"{OVERALL}-attribute"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything `compare_evidence` needs; the tables have the columns case, rater, attribute, value."""

    arms: pd.DataFrame
    people: pd.DataFrame
    questions: Mapping[str, Question]
    cases: pd.DataFrame
    """One row a case: `case`, `group`, `system`, `source_length`, `output_length` (words), and the metadata asked for."""
    costs: pd.DataFrame
    stops: pd.DataFrame
    kinds: Mapping[str, str]
    """By arm of the run: jury or single judge."""
    judges: Mapping[str, str] = field(default_factory=dict)
    """By arm of the run: the models that judged, with the versions that their providers stated."""
    calibrated: Collection[str] = ()
    """Arms whose scores are calibrated already, out of fold: to learn from them again would be to learn from the case held out."""
    ballots: pd.DataFrame = field(default_factory=pd.DataFrame)
    """The jurors' own votes, as `JurorRatings` gives them; empty where only the arms' scores are known."""
    moments: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=COLUMNS))
    """What a reader should know of each deliberation, as `ArmMoments` gives it."""
    rounds: pd.DataFrame = field(default_factory=pd.DataFrame)
    """The votes of juries of two seats or more, round by round, as `RoundVotes` gives them."""
    blind: pd.DataFrame = field(default_factory=pd.DataFrame)
    """What deliberating arms found beside the count of their blind ballots, as `BlindCounts` gives it."""
    changes: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Each seat's blind vote and its last one, as `VoteChanges` gives them."""
    rubrics: Mapping[str, Rubric] = field(default_factory=dict)
    """By arm: what it was asked, with the composites that follow from it."""
    rescored: pd.DataFrame = field(default_factory=pd.DataFrame)
    """What a second panel gave some of the cases; its raters are not among `people`, who are the reference."""
    rule: Rule | None = None
    """How people's ratings of a question become its reference; None is the median, or the majority by the scale."""
    likeness: pd.DataFrame = field(default_factory=pd.DataFrame)
    """By case with a reference text, how like it the output is: a column for each text baseline that was asked for."""
    ratings: RatingCheck | None = None
    """What became of the people's ratings: how many are used, and why the others are not."""
    abstentions: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=["case", "rater", "attribute", "why", "unreached"])
    )
    """What each arm was asked and gave no value: its verdict hung, as `ArmAbstentions` gives it."""
    notes: tuple[str, ...] = ()
    _references: dict[frozenset[str], Reference] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """By the raters left out, what the others say: every arm is held against the same."""

    @property
    def groups(self) -> pd.Series:
        """By case, its group, as far as it has one."""
        return groups_in(self.cases)

    def of_cases(self, cases: Collection[str]) -> Evidence:
        """What concerns these cases alone. What arms took and why they stopped stays of all they heard."""
        ids = set(map(str, cases))

        def mine(table: pd.DataFrame) -> pd.DataFrame:
            return table[table["case"].astype(str).isin(ids)] if "case" in table else table

        return replace(
            self,
            arms=mine(self.arms),
            people=mine(self.people),
            cases=mine(self.cases),
            ballots=mine(self.ballots),
            moments=mine(self.moments),
            rounds=mine(self.rounds),
            blind=mine(self.blind),
            changes=mine(self.changes),
            rescored=mine(self.rescored),
            abstentions=mine(self.abstentions),
            likeness=self.likeness[self.likeness.index.isin(ids)],
        )

    def of_arms(self, arms: Collection[str]) -> Evidence:
        """What concerns these arms alone."""

        def mine(table: pd.DataFrame, column: str = "arm") -> pd.DataFrame:
            return table[table[column].isin(list(arms))] if column in table else table

        return replace(
            self,
            arms=mine(self.arms, "rater"),
            abstentions=mine(self.abstentions, "rater"),
            costs=mine(self.costs),
            stops=mine(self.stops),
            ballots=mine(self.ballots),
            moments=mine(self.moments),
            rounds=mine(self.rounds),
            blind=mine(self.blind),
            changes=mine(self.changes),
            kinds={name: kind for name, kind in self.kinds.items() if name in arms},
        )

    def reference(self, *, without: Collection[str] = ()) -> Reference:
        """What people say of the cases that an arm scored, the raters in `without` left out."""
        key = frozenset(without)
        if key not in self._references:
            judged = self.people["case"].astype(str).isin(set(self.arms["case"].astype(str)))
            reading = reference(self.people[judged], self.questions, rule=self.rule, without=without)
            self._references[key] = reading
        return self._references[key]


def gather(
    store: Store,
    human: pd.DataFrame,
    *,
    rescore: Sequence[str] = (),
    baselines: TextBaselines | None = None,
    rule: Rule | None = None,
    columns: Sequence[str] = (),
    rated_only: bool = False,
) -> Evidence:
    """The run in `store` beside the ratings in `human`; the raters in `rescore` are a second panel.

    Args:
        baselines: Without them, which take their time over long texts, no case's text is set beside its reference.
        rule: How people's ratings of a question become its reference.
        columns: Metadata of the cases to keep beside what is known of each.
        rated_only: Keep the rows of cases that people rated; costs and stops are of all cases either way.
    """
    arms = store.arms()
    questions = rubric_questions(*(arm.rubric for arm in arms))
    kinds = {arm.name: "single judge" if arm.jury.single_judge else "jury" for arm in arms}
    first_panel, second_panel = two_panels(people_in_numbers(human, store), rescore)
    unfinished = is_unfinished(store)
    people, check = check_ratings(
        first_panel, questions, taken=set(kinds), cases=store.case_ids(), more_to_come=unfinished
    )
    rescored, further = check_ratings(second_panel, questions, taken=set(kinds))
    rated = {*people["case"].astype(str), *rescored["case"].astype(str)} if rated_only else None
    ratings, ballots, moments, abstentions, rounds, blind, changes, costs, stops, judges = arm_tables(
        store,
        ArmRatings(),
        JurorRatings(),
        ArmMoments(),
        ArmAbstentions(),
        RoundVotes(),
        BlindCounts(),
        VoteChanges(),
        totals=(ArmCosts(), ArmStops(), ArmJudges()),
        cases=rated,
    )
    seated, said_of_seated = _seated_people(arms, ballots, changes, set(people["rater"]))
    ratings = pd.concat([ratings, seated], ignore_index=True) if len(seated) else ratings
    rubrics = {arm.name: arm.rubric for arm in arms}
    for name in dict.fromkeys(seated["rater"]):
        kinds[name], rubrics[name] = "seated person", arms[0].rubric
    cases, texts, parts = _cases(store, columns, rated)
    torn = shared_group_note(parts, groups_in(cases), SPLIT)
    likeness, unmeasured = _likeness(texts, baselines)
    return Evidence(
        arms=ratings,
        people=people,
        questions=questions,
        cases=cases,
        costs=costs,
        stops=stops,
        judges=dict(zip(judges["arm"], judges["models"], strict=True)),
        kinds=kinds,
        ballots=ballots,
        moments=moments,
        rounds=rounds,
        blind=blind,
        changes=changes,
        rubrics=rubrics,
        rescored=rescored,
        likeness=likeness,
        rule=rule,
        ratings=check,
        abstentions=abstentions,
        notes=tuple(
            dict.fromkeys(
                filter(
                    None,
                    (sealed_note(store), *said_of_seated, *check.notes, *further.notes, *unmeasured, torn),
                )
            )
        ),
    )


def _seated_people(
    arms: Sequence[Arm], ballots: pd.DataFrame, changes: pd.DataFrame, raters: Collection[str]
) -> tuple[pd.DataFrame, list[str]]:
    """The blind votes of people who hold a seat, as of raters of their own, never their revised ones; and what has to be said."""
    parts, notes = [pd.DataFrame(columns=["case", "rater", "attribute", "value"])], []
    for arm in arms:
        for seat in arm.jury.seats:
            if not seat.is_person:
                continue
            person = (seat.model or "").partition("/")[2]
            if deliberates(arm.jury):
                votes = changes[(changes["arm"] == arm.name) & (changes["juror"] == seat.name)]
                blind = votes.rename(columns={"first": "value"})
            else:
                blind = ballots[(ballots["arm"] == arm.name) & (ballots["seat"] == seat.name)]
            parts.append(blind.assign(rater=f"{person}, blind")[["case", "rater", "attribute", "value"]])
            if {person, f"{person} (person)"}.intersection(raters):
                notes.append(
                    f"{person} was a juror in {arm.name}, and is among the people that {arm.name} is compared with, so agreement with people may be too high"
                )
            if blind.empty:
                notes.append(
                    f"{person} read what the other jurors wrote before voting in {arm.name}, so there are no blind votes to use as a baseline"
                )
            else:
                notes.append(
                    f"{person} was a juror in {arm.name}: the baseline '{person}, blind' has only this person's blind votes, not the revised ones"
                )
    table = pd.concat(parts, ignore_index=True).drop_duplicates(["case", "rater", "attribute"])
    return table, notes


def two_panels(human: pd.DataFrame, rescore: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The ratings of the people who are the reference, and those of the raters in `rescore`.

    Raises:
        InvalidRatings: A name in `rescore` rated nothing, or nobody else did.
    """
    if not rescore:
        return human, human.iloc[:0]
    raters = human["rater"].astype(str)
    unknown = sorted(set(rescore) - set(raters))
    if unknown:
        raise InvalidRatings(
            f"the second panel names {unknown[0]!r}, but no rater has this name",
            remedy=f"choose from {', '.join(sorted(set(raters)))}",
        )
    in_second = raters.isin(list(rescore))
    if in_second.all():
        raise InvalidRatings(
            "every rater is on the second panel, so nobody is left for the reference",
            remedy="remove some raters from the second panel",
        )
    return human[~in_second], human[in_second]


def is_unfinished(store: Store) -> bool:
    """Whether an arm of the run has cases left to hear."""
    progress = store.arm_progress(since=time.time())
    return any(arm.cases is not None and arm.done < arm.cases for arm in progress)


def _cases(
    store: Store, further: Sequence[str], only: Collection[str] | None
) -> tuple[pd.DataFrame, dict[str, tuple[str, str]], dict[str, str]]:
    """What each case is like; by case its output beside its reference text, where there is one; and its part of a split, where it names one."""
    rows: list[dict[str, object]] = []
    texts: dict[str, tuple[str, str]] = {}
    parts: dict[str, str] = {}
    for name in store.case_ids():
        case = store.case(name) if only is None or name in only else None
        if case is None:
            continue
        has_texts, pair = not store.redacted, case.output_b is not None
        if has_texts and case.reference and not pair:
            texts[case.id] = (case.output, case.reference)
        if case.metadata.get(SPLIT) not in (None, ""):
            parts[case.id] = str(case.metadata[SPLIT])
        rows.append(
            {
                "case": case.id,
                "group": case.group,
                "system": None if pair else case.system,
                "source_length": sum(len(note.split()) for note in case.source) if has_texts else None,
                "output_length": _output_length(case) if has_texts else None,
                **{name: case.metadata.get(name) for name in further},
            }
        )
    columns = ["case", "group", "system", "source_length", "output_length", *further]
    return _numbers_as_numbers(pd.DataFrame(rows, columns=columns), further), texts, parts


def _numbers_as_numbers(cases: pd.DataFrame, further: Sequence[str]) -> pd.DataFrame:
    """The table with the metadata that is numbers throughout as numbers, blank cells as missing; the rest as words."""
    for name in further:
        filled_cells = cases[name].where(cases[name].notna() & (cases[name].astype(str).str.strip() != ""))
        numbers = pd.to_numeric(filled_cells, errors="coerce")
        words = filled_cells.map(lambda value: value if pd.isna(value) else str(value))
        cases[name] = numbers.astype(float) if numbers.notna().equals(filled_cells.notna()) else words
    return cases


def _likeness(
    texts: Mapping[str, tuple[str, str]], baselines: TextBaselines | None
) -> tuple[pd.DataFrame, list[str]]:
    if baselines is None:
        return pd.DataFrame(index=list(texts)), []
    table, notes = baselines(list(texts.values()))
    return table.set_axis(list(texts), axis="index"), notes


def _output_length(case: Case) -> float:
    """The output's words; of a pair, by how many the row's `output_b` is longer: a preference for it is a high one."""
    words = len(case.output.split())
    return words if case.output_b is None else case.under_labels(len(case.output_b.split()) - words)


def composite_label(name: str) -> str:
    """What a composite is called in tables."""
    return f"{OVERALL}-composite" if name == OVERALL else name


def attribute_label(name: str) -> str:
    """What an attribute is called in tables."""
    return ATTRIBUTE if name == OVERALL else name


def without_reserved_names(evidence: Evidence) -> Evidence:
    """The evidence with an attribute called `overall` renamed throughout; unchanged where there is none."""
    if OVERALL not in evidence.questions:
        return evidence

    def with_label(table: pd.DataFrame) -> pd.DataFrame:
        if "attribute" not in table:
            return table
        return table.assign(attribute=table["attribute"].replace(OVERALL, ATTRIBUTE))

    return replace(
        evidence,
        arms=with_label(evidence.arms),
        people=with_label(evidence.people),
        questions={attribute_label(name): question for name, question in evidence.questions.items()},
        ballots=with_label(evidence.ballots),
        moments=with_label(evidence.moments),
        rounds=with_label(evidence.rounds),
        blind=with_label(evidence.blind),
        changes=with_label(evidence.changes),
        rubrics={arm: _renamed_rubric(rubric) for arm, rubric in evidence.rubrics.items()},
        rescored=with_label(evidence.rescored),
        abstentions=with_label(evidence.abstentions),
        notes=(
            *evidence.notes,
            f"the attribute {OVERALL!r} is shown as {ATTRIBUTE!r}, because {OVERALL!r} means all attributes together",
        ),
    )


def _renamed_rubric(rubric: Rubric) -> Rubric:
    document = rubric.model_dump()
    for attribute in document["attributes"]:
        attribute["name"] = attribute_label(attribute["name"])
        if "asked_if" in attribute:
            attribute["asked_if"] = _with_labels(attribute["asked_if"])
    document["composites"] = {name: _with_labels(parts) for name, parts in document["composites"].items()}
    return Rubric.model_validate(document)


def _with_labels(by_name: dict[str, Any]) -> dict[str, Any]:
    return {attribute_label(name): value for name, value in by_name.items()}
