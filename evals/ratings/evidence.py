"""What a comparison rests on: the run's scores, the people's, what was asked, and what the cases are like."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from ...orchestration.record import Store
from ...rubrics.rubric import Rubric
from ...rubrics.scale import Scale
from ..statistics.matrix import InvalidRatings
from .clusters import groups_in
from .flag_table import COLUMNS, ArmMoments
from .people import last_round
from .question import Question, rubric_questions
from .reference import Reference, Rule, reference
from .run_tables import ArmCosts, ArmRatings, ArmStops, JurorRatings, arm_tables

TextBaselines = Callable[[Sequence[tuple[str, str]]], tuple[pd.DataFrame, list[str]]]
"""Sets outputs beside their references: one row a pair, one column a measure; and what could not be measured."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything `compare_evidence` needs; the tables have the columns case, rater, attribute, value."""

    arms: pd.DataFrame
    people: pd.DataFrame
    questions: Mapping[str, Question]
    cases: pd.DataFrame
    """One row a case: `case`, `group`, `system`, `source_length`, `output_length` (words),."""
    costs: pd.DataFrame
    stops: pd.DataFrame
    kinds: Mapping[str, str]
    """By arm of the run: jury or single judge."""
    ballots: pd.DataFrame = field(default_factory=pd.DataFrame)
    """The jurors' own votes, as `JurorRatings` gives them; empty where only the arms' scores are known."""
    moments: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=COLUMNS))
    """What a reader should know of each deliberation, as `ArmMoments` gives it."""
    rubrics: Mapping[str, Rubric] = field(default_factory=dict)
    """By arm: what it was asked, with the composites that follow from it."""
    rescored: pd.DataFrame = field(default_factory=pd.DataFrame)
    """What a second panel gave some of the cases; its raters are not among `people`, who are the reference."""
    rule: Rule | None = None
    """How people's ratings of a question become its reference; None is the median, or the majority by the scale."""
    likeness: pd.DataFrame = field(default_factory=pd.DataFrame)
    """By case with a reference text, how like it the output is: a column for each text baseline that was asked for."""
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> pd.Series:
        """By case, its group, as far as it has one."""
        return groups_in(self.cases)

    def reference(self, *, without: Collection[str] = ()) -> Reference:
        """What people say of the cases that an arm scored, the raters in `without` left out."""
        heard = self.people["case"].astype(str).isin(set(self.arms["case"].astype(str)))
        return reference(self.people[heard], self.questions, rule=self.rule, without=without)


def gather(
    store: Store,
    human: pd.DataFrame,
    *,
    rescore: Sequence[str] = (),
    baselines: TextBaselines | None = None,
    rule: Rule | None = None,
) -> Evidence:
    """The run in `store` beside the ratings in `human`; the raters in `rescore` are a second panel.

    Args:
        baselines: Without them, which take their time over long texts, no case's text is set beside its reference.
        rule: How people's ratings of a question become its reference.
    """
    arms = store.arms()
    questions = rubric_questions(*(arm.rubric for arm in arms))
    kinds = {arm.name: "single judge" if arm.jury.single_judge else "jury" for arm in arms}
    first, second = two_panels(human, rescore)
    people, notes = valid_ratings(first, questions, taken=set(kinds))
    rescored, further = valid_ratings(second, questions, taken=set(kinds))
    ratings, ballots, costs, stops, moments = arm_tables(
        store, ArmRatings(), JurorRatings(), ArmCosts(), ArmStops(), ArmMoments()
    )
    cases, texts = _cases(store)
    likeness, unmeasured = _likeness(texts, baselines)
    return Evidence(
        arms=ratings,
        people=people,
        questions=questions,
        cases=cases,
        costs=costs,
        stops=stops,
        kinds=kinds,
        ballots=ballots,
        moments=moments,
        rubrics={arm.name: arm.rubric for arm in arms},
        rescored=rescored,
        likeness=likeness,
        rule=rule,
        notes=tuple(dict.fromkeys((*notes, *further, *unmeasured))),
    )


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
            f"no rater named {unknown[0]!r} to re-score",
            remedy=f"choose from {', '.join(sorted(set(raters)))}",
        )
    second = raters.isin(list(rescore))
    if second.all():
        raise InvalidRatings(
            "every rater is on the panel that re-scores", remedy="leave out those who are the reference"
        )
    return human[~second], human[second]


def valid_ratings(
    human: pd.DataFrame, questions: Mapping[str, Question], *, taken: set[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The people's last words on what was asked, and what was left out of them.

    Raises:
        InvalidRatings: A rating lies outside its scale, or a person rated a case twice in one round.
    """
    final = last_round(human).astype({"case": str, "rater": str, "attribute": str})
    final["rater"] = [f"{name} (person)" if name in taken else name for name in final["rater"]]
    notes = []
    strange = sorted(set(final["attribute"]) - set(questions))
    if strange:
        notes.append(f"rated by people but not asked of the juries, and left out: {', '.join(strange)}")
    final = final[final["attribute"].isin(list(questions))]
    twice = final.duplicated(["case", "rater", "attribute"])
    if twice.any():
        row = final[twice].iloc[0]
        raise InvalidRatings(
            f"rater {row['rater']!r} rated {row['attribute']!r} of case {row['case']!r} more than once",
            remedy="keep one rating for each case, rater and attribute, or tell them apart in a column `round`",
        )
    parts = [_legal(part, str(name), questions[str(name)].scale) for name, part in final.groupby("attribute")]
    kept = pd.concat(parts, ignore_index=True) if parts else final
    if len(kept) < len(final):
        notes.append(
            f"{len(final) - len(kept)} ratings that are no number on a scale of numbers were left out"
        )
    return kept[["case", "rater", "attribute", "value"]], tuple(notes)


def _legal(part: pd.DataFrame, name: str, scale: Scale) -> pd.DataFrame:
    if not scale.numeric:
        words = part.assign(value=part["value"].astype(str))
        strangers = sorted(set(words["value"]) - set(map(str, scale.values)))
        legal = f"use one of {list(scale.values)}"
    else:
        numbers = pd.to_numeric(part["value"], errors="coerce")
        words = part.assign(value=numbers).dropna(subset=["value"])
        low, high = (float(end) for end in scale.ends)
        strangers = [f"{v:g}" for v in words["value"] if not low <= v <= high]
        legal = f"its scale runs from {low:g} to {high:g}"
    if strangers:
        raise InvalidRatings(
            f"the ratings hold {strangers[0]} for {name!r}, which is not on its scale", remedy=legal
        )
    return words


def _cases(store: Store) -> tuple[pd.DataFrame, dict[str, tuple[str, str]]]:
    """What each case is like, and by case its output beside its reference text, where there is one."""
    rows: list[dict[str, object]] = []
    texts: dict[str, tuple[str, str]] = {}
    for name in store.case_ids():
        case = store.case(name)
        if case is None:
            continue
        worded = not store.redacted
        if worded and case.reference:
            texts[case.id] = (case.output, case.reference)
        rows.append(
            {
                "case": case.id,
                "group": case.group,
                "system": case.system,
                "source_length": sum(len(note.split()) for note in case.source) if worded else None,
                "output_length": len(case.output.split()) if worded else None,
            }
        )
    columns = ["case", "group", "system", "source_length", "output_length"]
    return pd.DataFrame(rows, columns=columns), texts


def _likeness(
    texts: Mapping[str, tuple[str, str]], baselines: TextBaselines | None
) -> tuple[pd.DataFrame, list[str]]:
    if baselines is None:
        return pd.DataFrame(index=list(texts)), []
    measured, notes = baselines(list(texts.values()))
    return measured.set_axis(list(texts), axis="index"), notes
