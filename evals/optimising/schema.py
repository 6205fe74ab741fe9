"""The schema of an optimisation file: what may change, on which cases, for which reward, within which budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import ConfigDict, Field, field_validator, model_validator

from ...personas.jury import ModelSettings
from ...rubrics.yaml_files import or_written_as
from ..ratings.reference import Rule
from ..studies.schema import StrictModel, StudyBudget

MeasureName = Literal["icc3k", "kappa_quadratic", "credit", "f1"]


class ThreeWaySplit(StrictModel):
    """How many cases, or which share of them, are kept to choose on and to score on; the others are learned from."""

    val: Annotated[float, Field(gt=0)]
    test: Annotated[float, Field(gt=0)]
    by: Literal["group"] = "group"
    """Cases of one group are never parted; a case without a group is one of its own."""


class Reward(StrictModel):
    """What a verdict earns beside people's value."""

    model_config = ConfigDict(json_schema_extra=or_written_as({"enum": list(get_args(MeasureName))}))

    measure: MeasureName | None = None
    costs: str | None = None
    """The attribute whose scale has a cost matrix: the reward of a verdict is its cell."""
    abstention: float | None = None
    """What a question without a verdict earns. Without it such a question counts nowhere, and words under which
    more questions go unanswered are not accepted; with `costs`, the scale's own."""

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {"measure": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.measure is None) == (self.costs is None):
            raise ValueError(
                "a reward needs either a measure or costs\nwrite reward: credit, or reward: {costs: ATTRIBUTE}"
            )
        return self


class ShotChoice(StrictModel):
    """Which worked examples to try: some sizes, and so many draws of each from the training cases."""

    k: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(1, 3, 5), min_length=1)
    draws: int = Field(default=3, ge=1)


class OptimisationFile(StrictModel):
    """An optimisation file. Paths are relative to it."""

    cases: Path
    ratings: Path
    wide: bool = False
    """Not needed any more: the form of the ratings is recognised."""
    rubric: str
    jury: str
    model: str | None = None
    """Of every seat that names none."""
    base_url: str | None = None
    optimise: tuple[str, ...] = ()
    """What a reflecting model may rewrite: `persona:NAME`, `rubric:ATTRIBUTE.question`, `rubric:ATTRIBUTE.anchors`, `jury:stance`."""
    reflection: ModelSettings | None = None
    """The model that reads what went wrong and writes new words."""
    candidates: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """In place of a reflecting model: by what may change, other words for it, or a persona's file."""
    shots: ShotChoice | None = None
    """Or: worked examples to choose among."""
    split: ThreeWaySplit
    reward: Reward
    reference: Rule | None = None
    budget: StudyBudget
    prices: Path | None = None
    minibatch: int = Field(default=12, ge=2)
    """Training cases on which new words are first held against the old."""
    max_words: int = Field(default=250, ge=20)
    """Of any text that is returned."""
    seed: int = 0

    @field_validator("reflection", mode="before", json_schema_input_type=ModelSettings | str | None)
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_way_to_search(self) -> Self:
        if self.reflection is not None and not self.optimise:
            raise ValueError(
                "reflection: it is not said which text the model may rewrite\nname a text under optimise, such as persona:plain-judge"
            )
        if self.reflection is not None and not self.reflection.model:
            raise ValueError("reflection: no model is named\nwrite reflection: NAME")
        if self.optimise and self.reflection is None:
            raise ValueError(
                "optimise needs a model that rewrites the texts\nname the model in the key reflection, or write the key candidates with a list of texts instead of optimise"
            )
        if self.optimise and (self.candidates or self.shots):
            raise ValueError(
                "optimise cannot be combined with candidates or shots\nkeep optimise and reflection, or candidates and shots"
            )
        if not (self.optimise or self.candidates or self.shots):
            raise ValueError(
                "the file does not say what may be changed\nname a text or examples under optimise, candidates or shots"
            )
        if len(set(self.optimise)) < len(self.optimise):
            raise ValueError("optimise names the same text twice\nname each text once")
        if self.budget.max_calls is None and self.budget.max_usd is None and self.budget.max_tokens is None:
            raise ValueError(
                "budget: there is no limit that ends the search\nset max_calls, max_usd or max_tokens"
            )
        return self
