"""Rubrics: the questions, their scales, and the exact shape of an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from .case import Case, Exhibit
from .conversation import conversation_text
from .errors import VenireError
from .files import nearest
from .plugins import library_file
from .scale import Anchors, Scale, Value
from .yaml_files import Converted, load_yaml, wrong

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$")]


class Attribute(BaseModel):
    """One question put to the jury."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    question: str = Field(min_length=1)
    scale: str
    anchors: Anchors = {}
    """Words for this attribute's levels, in place of the scale's own."""
    better: Literal["high", "low"] = "high"
    may_not_apply: bool = False
    reverse_as: Name | None = None
    """The name of the reversed score (lowest + highest - value): a risk of 2 on 1-5 is a safety of 4."""
    asked_if: dict[str, Value] = {}
    """The attributes, and the value of each, on which this one is asked; elsewhere it is not applicable."""

    @model_serializer(mode="wrap")
    def _without_empty_condition(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As it was before there were conditions, where there is none: a record knows its rubrics by this."""
        fields: dict[str, Any] = handler(self)
        if not self.asked_if:
            fields.pop("asked_if", None)
        return fields

    @property
    def optional(self) -> bool:
        """Whether a juror may answer that it does not apply."""
        return self.may_not_apply or bool(self.asked_if)


class Rubric(BaseModel):
    """An ordered set of attributes and the scales they use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    version: int
    """Bumped whenever a word of the rubric changes."""
    description: str = ""
    origin: str = ""
    kind: Literal["scores", "pair"] = "scores"
    """Whether one output is scored, or two are compared: below 0 for output A, 0 for a tie, above 0 for output B."""
    reference: Literal["hidden", "shown"] = "hidden"
    """Whether jurors read the case's reference text."""
    scales: dict[str, Scale] = Field(min_length=1)
    attributes: Converted[tuple[Attribute, ...], Sequence[Attribute]] = Field(min_length=1)
    composites: dict[Name, dict[str, float]] = {}

    @model_validator(mode="after")
    def _attributes_fit(self) -> Self:
        names: set[str] = set()
        for number, attribute in enumerate(self.attributes):
            at = ("attributes", number)
            for name in filter(None, (attribute.name, attribute.reverse_as)):
                if name in names:
                    raise wrong(f"the name {name!r} is used twice\ngive every attribute its own name", *at)
                names.add(name)
            if attribute.scale not in self.scales:
                message = f"scale {attribute.scale!r} is not defined\n{nearest(attribute.scale, self.scales)}"
                raise wrong(message, *at, "scale")
            scale = self.scales[attribute.scale]
            if attribute.anchors and list(attribute.anchors) != list(scale.anchors):
                raise wrong(
                    f"{list(attribute.anchors)} are not the values {list(scale.anchors)} of scale "
                    f"{attribute.scale!r}\nuse the scale's values, in order",
                    *at,
                    "anchors",
                )
            for condition, value in attribute.asked_if.items():
                self._check_condition(attribute, condition, value, (*at, "asked_if", condition))
            if attribute.reverse_as and not scale.ordered:
                raise wrong("a scale without order cannot be reversed\nremove reverse_as", *at, "reverse_as")
        return self

    def _check_condition(
        self, attribute: Attribute, condition: str, value: Value, at: tuple[str | int, ...]
    ) -> None:
        """Raises where a condition names no attribute before this one, or a value that it cannot have."""
        names = [a.name for a in self.attributes]
        earlier = names[: names.index(attribute.name)]
        if condition not in earlier:
            raise wrong(
                f"{condition!r} is not the name of an attribute that comes before {attribute.name!r}\n{nearest(condition, earlier)}",
                *at,
            )
        legal = self.scales[next(a.scale for a in self.attributes if a.name == condition)].values
        if value not in legal:
            raise wrong(f"{value!r} is not a value of {condition!r}\nuse one of {list(legal)}", *at)

    @model_validator(mode="after")
    def _compares(self) -> Self:
        """Of a pair, every scale is ordinal and runs from output A over a tie to output B in equal steps."""
        if self.kind == "pair":
            for name, scale in self.scales.items():
                if scale.level != "ordinal" or scale.values not in PAIR_SCALES:
                    raise wrong(
                        "a rubric that compares two outputs needs an ordinal scale with a tie in the middle\n"
                        "write level: ordinal and anchors for -1, 0, 1 (or from -2 to 2, or -3 to 3)",
                        *("scales", name),
                    )
        return self

    @model_serializer(mode="wrap")
    def _without_default_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As it was before there were pairs, where it asks for scores: a record knows its rubrics by this."""
        fields: dict[str, Any] = handler(self)
        if self.kind == "scores":
            fields.pop("kind", None)
        return fields

    @model_validator(mode="after")
    def _composites_add_up(self) -> Self:
        names = [*self.by_name, *self.reversed_names]
        for composite, weights in self.composites.items():
            at = ("composites", composite)
            for part in weights:
                if part not in names:
                    raise wrong(f"{part!r} is not an attribute\n{nearest(part, names)}", *at, part)
            if not math.isclose(total := sum(weights.values()), 1.0, abs_tol=1e-9):
                raise wrong(f"the weights of the composite sum to {total:g}\nmake them sum to 1", *at)
            if composite in names:
                raise wrong("the composite has the same name as an attribute\nrename the composite", *at)
        return self

    def __hash__(self) -> int:
        """So that what is made of a rubric can be kept by it; rubrics that are equal have the same name and version."""
        return hash((self.name, self.version))

    @cached_property
    def by_name(self) -> Mapping[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.by_name)

    @cached_property
    def reversed_names(self) -> Mapping[str, str]:
        """Each reversed name and the attribute it reverses."""
        return {a.reverse_as: a.name for a in self.attributes if a.reverse_as}

    def scale_of(self, attribute: str) -> Scale:
        """The attribute's scale, with the attribute's own words for its levels where it has them."""
        return self._worded_scales[attribute]

    @cached_property
    def _worded_scales(self) -> Mapping[str, Scale]:
        return {
            a.name: self.scales[a.scale].model_copy(update={"anchors": a.anchors})
            if a.anchors
            else self.scales[a.scale]
            for a in self.attributes
        }

    @cached_property
    def scale_lengths(self) -> Mapping[str, float | None]:
        """By attribute, from the lowest value of its scale to the highest; None where its values have no order."""
        return {name: _length(scale) for name, scale in self._worded_scales.items()}

    @property
    def compares(self) -> bool:
        """Whether it asks which of two outputs is better."""
        return self.kind == "pair"

    def refuse_other_kind(self, case: Case) -> None:
        """Raises VenireError where a pair is to be scored, or a single output to be compared."""
        if self.compares == (case.output_b is not None):
            return
        if self.compares:
            raise VenireError(
                f"case {case.id!r} has one output, but the rubric {self.name!r} compares two",
                remedy="give each case output_a and output_b, or let --pairs make pairs from a file with a column system",
            )
        raise VenireError(
            f"case {case.id!r} has two outputs, but the rubric {self.name!r} scores one",
            remedy="compare the two outputs with --rubric preference, or ask the rubric's questions about both with --as-pairs",
        )

    def as_pairs(self) -> Rubric:
        """The same attributes, each asked of two outputs: which of them does better on it?"""
        if self.compares:
            return self
        attributes = [
            Attribute(
                name=attribute.name,
                question=_WHICH.format(question=attribute.question, ends=_ends(self, attribute)),
                scale="preference",
                may_not_apply=attribute.optional,
            )
            for attribute in self.attributes
        ]
        return Rubric(
            name=f"{self.name}-pairs",
            version=self.version,
            description=self.description,
            origin=self.origin,
            kind="pair",
            reference=self.reference,
            scales={"preference": PREFERENCE},
            attributes=attributes,
        )

    def exhibits(self, case: Case) -> tuple[Exhibit, ...]:
        """The texts of `case` that a juror may read, the one under judgement last; of a pair, output A and output B.

        The reference only if the rubric shows it; the system, the group and the metadata never.
        """
        exhibits: list[Exhibit] = []
        if case.question:
            exhibits.append(Exhibit(name="question", text=case.question))
        if case.audience:
            exhibits.append(Exhibit(name="audience", text=case.audience))
        single = len(case.source) == 1
        for number, note in enumerate(case.source, 1):
            exhibits.append(Exhibit(name="source" if single else f"source {number}", text=note))
        if self.reference == "shown" and case.reference:
            exhibits.append(Exhibit(name="reference", text=case.reference))
        if case.messages and not case.is_conversation:
            exhibits.append(Exhibit(name="conversation", text=conversation_text(case.messages)))
        if case.output_b is None:
            exhibits.append(Exhibit(name="output", text=case.output))
        else:
            exhibits += [
                Exhibit(name="output A", text=case.output),
                Exhibit(name="output B", text=case.output_b),
            ]
        return tuple(exhibits)

    def derived_scores(self, values: Mapping[str, Value]) -> dict[str, float]:
        """Reversed scores and composites that `values` suffice for; a composite with a part missing is left out."""
        scores: dict[str, float] = {
            name: float(value) for name, value in values.items() if not isinstance(value, str)
        }
        results: dict[str, float] = {}
        for reversed_name, name in self.reversed_names.items():
            if name in scores:
                low, high = self.scale_of(name).ends
                results[reversed_name] = float(low) + float(high) - scores[name]
        scores |= results
        for composite, weights in self.composites.items():
            parts = {part: weight for part, weight in weights.items() if weight}
            if parts.keys() <= scores.keys():
                results[composite] = sum(weight * scores[part] for part, weight in parts.items())
        return results


PAIR_SCALES = tuple(tuple(range(-steps, steps + 1)) for steps in (1, 2, 3))
PREFERENCE = Scale(
    level="ordinal", anchors={-1: "Output A is better.", 0: "Neither is better.", 1: "Output B is better."}
)
_WHICH = "Which output does better on this question? {question}{ends}"


def _ends(rubric: Rubric, attribute: Attribute) -> str:
    """What is worst and best of an attribute, in the words of its scale; nothing where its answers have no order."""
    scale = rubric.scale_of(attribute.name)
    if not scale.ordered or not scale.anchors:
        return ""
    low, high = (scale.anchors[end] for end in scale.ends)
    worst, best = (low, high) if attribute.better == "high" else (high, low)
    return f" (At worst: {worst} At best: {best})"


LIBRARY = Path(__file__).parent / "library"
GROUP = "venire.rubrics"


def load_rubric(name_or_path: str | Path) -> Rubric:
    """The rubric in a file, or the library's rubric of that name."""
    path = Path(name_or_path)
    if not (path.suffix in (".yaml", ".yml") or path.exists()):
        path = library_file(GROUP, str(name_or_path), "rubric")
    return _first_equal(load_yaml(path, Rubric))


@lru_cache(maxsize=64)
def _first_equal(rubric: Rubric) -> Rubric:
    """The rubric as it was first loaded: what is cached by a rubric is then found without comparing two of them."""
    return rubric


def _length(scale: Scale) -> float | None:
    if not scale.ordered:
        return None
    low, high = scale.ends
    return float(high) - float(low)
