"""A scorer: what a system's answer is worth, by a program or by a jury; looked up by entry point."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...rubrics.plugins import plugged_in, registered_plugins

if TYPE_CHECKING:
    from ...orchestration.verdict import Verdict
    from ...personas.jury import Jury
    from ...rubrics.rubric import Rubric

GROUP = "venire.scorers"

ScoreStatus = Literal["scored", "unparsed", "undefined", "failed", "hung", "unjudged"]
"""`undefined`: the case does not say what is right; `failed`: the system gave no answer; `hung`: the jury reached no verdict;
`unjudged`: it was not put before the jury, or not yet."""


class ScorerOptions(BaseModel):
    """What a scorer may be told: a subclass has a field for each option. A key that is no field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AnswerForm(BaseModel):
    """What an answer looks like: `answer:` of a scenario."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["text", "choice", "number", "labels", "sql"] = "text"
    of: tuple[str, ...] = ()
    """The answers to choose from, where they are the same for every case."""
    options: str = "options"
    """The column of a case's own choices: a list of texts, or an object from letter to text."""
    max_tokens: int | None = Field(default=None, ge=1)


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """One case's answer, as a scorer is given it."""

    case: str
    output: str
    target: Any
    """What is right; None where the case does not say."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """The case's other columns."""


@dataclass(frozen=True, slots=True)
class CaseScore:
    """What one answer is worth. An answer that cannot be read is `unparsed`, never one of the classes."""

    status: ScoreStatus
    value: float | None = None
    """On the scenario's scale where it is `scored`."""
    weight: float = 1.0
    """How much it counts in the scenario's score: sum of weight times value over the sum of weights."""
    answer: str = ""
    """What was read."""
    why: str = ""
    """Why it was not scored."""
    ratings: int = 0
    """Of a jury: the ratings behind the score."""
    lost: int = 0
    """Of a jury: the ratings that it should have had besides."""

    def points(self, lowest: float = 0.0) -> float:
        """What it adds to a mean: the scale's lowest where it is unparsed, NaN where it has no score."""
        if self.status == "unparsed":
            return lowest
        return math.nan if self.value is None else self.value


def unparsed_score(why: str) -> CaseScore:
    """The score of an answer that cannot be read or run."""
    return CaseScore("unparsed", why=why)


NO_TARGET = CaseScore("undefined", why="the case has no target (the right answer)")


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores the answers of one system on one scenario."""

    name: str
    summary: str
    score: Callable[[Sequence[GradedAnswer], AnswerForm, Any], Sequence[CaseScore]]
    """From the answers, their form and the options to one score each, in order."""
    options: type[ScorerOptions] = ScorerOptions
    shorthand: str = ""
    """The option that `score: {NAME: value}` and `score: NAME value` set."""


@dataclass(frozen=True, slots=True)
class Seating:
    """Who judges the answers of a scenario, by what, and what they read beside them."""

    jury: Jury
    rubric: Rubric
    source: str | None = None
    """The column that is shown as the source; without one, the prompt that the system was asked with."""
    against: str | None = None
    """The system whose answer stands beside every other's, where answers are judged in pairs: a score is a win rate."""

    @property
    def scale(self) -> tuple[float, float]:
        """The scale that all attributes share; 0 to 1 where they differ, and where answers are judged in pairs."""
        if self.against is not None:
            return 0.0, 1.0
        ends = {self.rubric.scale_of(name).ends for name in self.rubric.names}
        (low, high) = ends.pop() if len(ends) == 1 else (0, 1)
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class JudgedScorer:
    """Scores answers by what a jury finds of them: the run asks the jury, the scorer reads its verdicts."""

    name: str
    summary: str
    seating: Callable[[Any], Seating]
    """From the options to the jury that sits."""
    score: Callable[[Verdict, Seating, tuple[float, float]], CaseScore]
    """From one verdict to a score on the scenario's scale."""
    options: type[ScorerOptions] = ScorerOptions
    shorthand: str = ""


AnyScorer = Scorer | JudgedScorer


def scorer(name: str) -> AnyScorer:
    """The scorer registered under `name`; an error that names the nearest one when there is none."""
    plugin: AnyScorer = plugged_in(GROUP, name, "scorer")
    return plugin


def scorer_names() -> list[str]:
    """Every scorer that is registered."""
    return sorted(registered_plugins(GROUP))


def final_text(output: str) -> str:
    """An answer without its reasoning block, in one Unicode form, without Markdown's emphasis."""
    text = unicodedata.normalize("NFKC", output).rsplit("</think>", 1)[-1]
    return re.sub(r"[*`]+|(?<!\w)_+|_+(?!\w)", "", text).strip()


def folded_text(text: str) -> str:
    """Text for comparing: case, white space and the punctuation around it aside."""
    return " ".join(text.casefold().split()).strip(" .,;:!?'\"()[]")
