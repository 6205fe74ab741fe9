"""What an arm can be calibrated on: its jurors' votes and its verdicts, beside what people gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from ...rubrics.errors import VenireError, count_words
from ...rubrics.rubric import Rubric
from ..ratings.evidence import Evidence, composite_label
from ..ratings.folds import clusters
from ..ratings.question import Question
from ..ratings.reference import Rule

Ends = tuple[float, float]
LEAST = 10
"""Labelled cases below which neither an attribute nor a juror is calibrated."""


class TooFewLabels(VenireError):
    """People scored too little of what an arm scored for a curve to be learned."""


@dataclass(frozen=True, slots=True)
class LabelledScores:
    """One arm's scores of what people scored too, as far as it can be calibrated."""

    arm: str
    votes: pd.DataFrame
    """One row a vote: `case`, `cluster`, `juror`, `attribute`, `value`, `people`. Directly: one a verdict."""
    verdicts: pd.DataFrame
    """One row a verdict: `case`, `cluster`, `attribute`, `before`, `people`."""
    questions: Mapping[str, Question]
    """The attributes that can be calibrated."""
    rubric: Rubric | None
    rule: Rule | None
    """How people's ratings became the label."""
    direct: bool
    """Whether the verdict is calibrated as it is, not juror by juror."""
    notes: tuple[str, ...]

    @property
    def ends(self) -> dict[str, Ends]:
        """By attribute that can be calibrated, the ends of its scale."""
        return {name: _ends(question) for name, question in self.questions.items()}

    def directly(self) -> LabelledScores:
        """The same verdicts, to be calibrated as they are."""
        verdict_votes = self.verdicts.rename(columns={"before": "value"}).assign(juror=self.arm)
        return replace(self, votes=verdict_votes, direct=True)


def labelled_scores(evidence: Evidence, arm: str, *, direct: bool = False) -> LabelledScores:
    """The arm's scores that have a label: the reference of the people who rated the same.

    A vote counts where a verdict was reached; what is hung stays hung. Repeats of a single judge share one curve.

    Raises:
        TooFewLabels: No attribute has `LEAST` labelled cases in two groups.
    """
    questions, notes = calibrable(evidence)
    verdicts = _with_labels(evidence, evidence.arms[evidence.arms["rater"] == arm], questions)
    verdicts = verdicts.rename(columns={"value": "before"}).drop(columns="rater")
    enough = _enough(verdicts, "attribute")
    names_by_count: dict[int, list[str]] = {}
    for name, count in verdicts.groupby("attribute")["case"].nunique().items():
        if name not in enough:
            names_by_count.setdefault(int(count), []).append(repr(name))
    notes += [
        f"{arm} and people both scored {', '.join(names)} of {count_words(count, 'case')}; {LEAST} cases in two groups are needed to calibrate"
        for count, names in names_by_count.items()
    ]
    questions = {name: question for name, question in questions.items() if name in enough}
    verdicts = verdicts[verdicts["attribute"].isin(list(questions))]
    if verdicts.empty:
        lost = evidence.ratings.notes if evidence.ratings else ()
        raise TooFewLabels(
            f"{arm} cannot be calibrated: {'; '.join([*notes, *lost]) or 'it shares no scored case with people'}",
            remedy=f"have people score {LEAST} cases or more of the run, with the rubric's attribute names",
        )
    votes = verdicts.iloc[:0] if direct else _votes(evidence, arm, verdicts)
    if votes.empty and not direct:
        notes.append(
            f"the votes of {arm}'s jurors are not known, so the jury's verdicts were calibrated instead of the jurors' scores"
        )
    rubric = evidence.rubrics.get(arm)
    labelled = LabelledScores(arm, votes, verdicts, questions, rubric, evidence.rule, False, tuple(notes))
    return labelled.directly() if votes.empty else labelled


def calibrable(evidence: Evidence) -> tuple[dict[str, Question], list[str]]:
    """The attributes whose values have an order and which people rated, and why the others are left out."""
    questions: dict[str, Question] = {}
    notes = []
    rated_names = set(evidence.people["attribute"])
    for name, question in evidence.questions.items():
        if not question.scale.ordered:
            notes.append(f"{name!r} is not calibrated, because its values are words without an order")
        elif name not in rated_names:
            notes.append(f"{name!r} is not calibrated, because people did not rate it")
        else:
            questions[name] = question
    return questions, notes


def _votes(evidence: Evidence, arm: str, verdicts: pd.DataFrame) -> pd.DataFrame:
    """The jurors' votes where there is a verdict and a label, each under its seat's name."""
    if evidence.ballots.empty:
        return evidence.ballots
    cast = evidence.ballots[evidence.ballots["arm"] == arm].astype({"case": str})
    votes = cast[["case", "seat", "attribute", "value"]].rename(columns={"seat": "juror"})
    votes = votes.merge(verdicts.drop(columns="before"), on=["case", "attribute"])
    return votes.assign(value=pd.to_numeric(votes["value"], errors="coerce")).dropna(subset=["value"])


def _with_labels(evidence: Evidence, scores: pd.DataFrame, questions: Mapping[str, Question]) -> pd.DataFrame:
    """The scores of `questions` with people's reference beside them, and what is drawn together."""
    label = evidence.reference().table.rename(columns={"value": "people"})
    label = label[label["attribute"].isin(list(questions))].astype({"people": float})
    rows = scores.astype({"case": str}).merge(label, on=["case", "attribute"])
    rows = rows.assign(value=pd.to_numeric(rows["value"], errors="coerce")).dropna()
    return rows.assign(cluster=clusters(rows["case"], evidence.groups))


def _enough(rows: pd.DataFrame, by: str) -> set[str]:
    counts = rows.groupby(by).agg(cases=("case", "nunique"), groups=("cluster", "nunique"))
    return set(counts.index[(counts["cases"] >= LEAST) & (counts["groups"] >= 2)])


def plain_scores(evidence: Evidence, arm: str) -> pd.DataFrame:
    """The arm's verdicts beside people's, in the shape of `CrossValidation.scores` with nothing under `after`."""
    questions, _ = calibrable(evidence)
    rows = _with_labels(evidence, evidence.arms[evidence.arms["rater"] == arm], questions)
    rows = rows.rename(columns={"value": "before"}).assign(fold=0, after=float("nan"))
    rows = rows[["case", "cluster", "fold", "attribute", "before", "after", "people"]]
    return pd.concat([rows, composites(rows, evidence.rubrics.get(arm))], ignore_index=True)


def composites(scores: pd.DataFrame, rubric: Rubric | None) -> pd.DataFrame:
    """The rubric's composites of each case, from the attributes' scores before and after and from people's.

    A composite with a part missing on any of the three sides is left out.
    """
    rows = []
    sides = ["before", "after", "people"]
    if rubric is not None and rubric.composites:
        for case, part in scores.groupby("case", sort=False):
            derived = {
                side: rubric.derived_scores(dict(zip(part["attribute"], part[side], strict=True)))
                for side in sides
            }
            for name in rubric.composites:
                if all(name in values for values in derived.values()):
                    start = {"case": case, "cluster": part["cluster"].iloc[0], "fold": part["fold"].iloc[0]}
                    values = {side: derived[side][name] for side in sides}
                    rows.append({**start, "attribute": composite_label(name), **values})
    return pd.DataFrame(rows, columns=list(scores.columns)) if rows else scores.iloc[:0]


def _ends(question: Question) -> Ends:
    low, high = map(float, question.scale.ends)
    return low, high
