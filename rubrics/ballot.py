"""Ballots and abstentions, the two things that can come out of a seat: votes with their quotes, and the JSON shape in which a model fills them in."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, create_model

from .case import Exhibit
from .errors import WORD_JOINER
from .rubric import Rubric
from .scale import NOT_APPLICABLE, Value

AbstentionReason = Literal[
    "unparsable",
    "out_of_scale",
    "refused",
    "timeout",
    "unavailable",
    "no_record",
    "no_evidence",
    "limit",
    "too_long",
    "not_called",
    "no_answer",
]
"""`not_called`: whoever presides was satisfied before the seat was called on. `no_answer`: a person did not answer in time."""


class Quote(BaseModel):
    """Words a juror cites, and the exhibit they stand in; `None` when they stand in none."""

    model_config = ConfigDict(frozen=True)

    text: str
    exhibit: str | None

    @property
    def found(self) -> bool:
        return self.exhibit is not None


class Vote(BaseModel):
    """One seat's answer to one question."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    value: Value
    """A legal value of the attribute's scale, or `not_applicable`."""
    rationale: str
    evidence: tuple[Quote, ...] = ()
    moved_by: str = ""
    """In a revision that changes the value: the reason or quote that changed it."""
    confidence: Literal["low", "medium", "high"] | None = None
    """How sure the juror says it is, where the protocol asks."""
    orders: tuple[Value, ...] = ()
    """Of a pair that a seat was shown in both orders: what it gave with output A first, and with output B first."""

    @property
    def contradicts_itself(self) -> bool:
        """Whether the two orders brought different preferences: `value` is a tie then."""
        return bool(self.orders) and self.value == 0 and self.orders != (0, 0)


class AbstainedAttribute(BaseModel):
    """An attribute whose answer in a ballot was illegal even after the one repair, and why."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    reason: AbstentionReason
    detail: str


class Ballot(BaseModel):
    """One seat's answers in one round, and what it had seen when it gave them."""

    model_config = ConfigDict(frozen=True)

    juror: str
    round: int
    votes: tuple[Vote, ...]
    asked: tuple[str, ...]
    """The attributes it was asked about; those with neither a vote nor an abstention, it had no opinion on."""
    saw: tuple[str, ...] = ()
    """The ids of the transcript's entries that were in its prompt."""
    abstained: tuple[AbstainedAttribute, ...] = ()

    @property
    def silent_on(self) -> tuple[str, ...]:
        answered_names = {vote.attribute for vote in self.votes} | {part.attribute for part in self.abstained}
        return tuple(name for name in self.asked if name not in answered_names)

    @property
    def abstentions(self) -> tuple[Abstention, ...]:
        """One abstention for each attribute that it abstained on."""
        return tuple(
            Abstention(
                juror=self.juror,
                round=self.round,
                reason=part.reason,
                detail=part.detail,
                asked=(part.attribute,),
                saw=self.saw,
                attribute=part.attribute,
            )
            for part in self.abstained
        )


class Abstention(BaseModel):
    """A seat, or one attribute of its ballot, that failed, refused or could not be understood, and why. Never a number."""

    model_config = ConfigDict(frozen=True)

    juror: str
    round: int
    reason: AbstentionReason
    detail: str
    asked: tuple[str, ...]
    saw: tuple[str, ...] = ()
    attribute: str | None = None
    """The one attribute it is about; None where the seat gave no ballot at all."""


TEXT_LIMIT = 4000
QUOTE_LIMIT = 1000
QUOTES_LIMIT = 8
_VOTES = TypeAdapter(tuple[Vote, ...])
STRICT = ConfigDict(extra="forbid", strict=True)
_SPACE = re.compile(r"\s+")
_EDGES = " \t\n\"'“”‘’«»….,;:"


def at_most(limit: int, keyword: str = "maxLength") -> Any:
    """A bound for the decoder alone: a long reason from a model that is not bound by it is still a reason."""
    return Field(json_schema_extra={keyword: limit})


TEXT = Annotated[str, Field(min_length=1), at_most(TEXT_LIMIT)]
"""Words that must be there."""


class Legal(NamedTuple):
    """The legal scores of one attribute, in a form that can key a cache."""

    values: tuple[Value, ...]
    bounds: tuple[Value, Value] | None
    may_not_apply: bool

    @classmethod
    def of(cls, rubric: Rubric, attribute: str) -> Legal:
        scale = rubric.scale_of(attribute)
        return cls(scale.values, None if scale.anchors else scale.ends, rubric.by_name[attribute].optional)

    @property
    def score(self) -> Any:
        """The type that admits these scores and no others."""
        if self.bounds is None:
            legal = (*self.values, NOT_APPLICABLE) if self.may_not_apply else self.values
            return Annotated[Literal[legal], BeforeValidator(_not_a_boolean)]  # type: ignore[valid-type]
        low, high = self.bounds
        number: Any = Annotated[float, Field(ge=low, le=high, strict=False)]  # type: ignore[arg-type]
        either: Any = number | Literal["not_applicable"] if self.may_not_apply else number
        return Annotated[either, BeforeValidator(_not_a_boolean)]


def ballot_shape(
    rubric: Rubric,
    attributes: Sequence[str] | None = None,
    *,
    revision: bool = False,
    confidence: bool = False,
) -> type[BaseModel]:
    """The pydantic class of a ballot on `attributes` (all, unless named).

    A `revision` must also say what moved it; with `confidence` each score says how sure it is.
    """
    names = tuple(attributes) if attributes else rubric.names
    return _shape_for(rubric, names, revision, confidence)


def ballot_schema(rubric: Rubric, attributes: Sequence[str] | None = None, **options: bool) -> dict[str, Any]:
    """The JSON schema of a ballot, with nothing left to look up by reference."""
    return inline(ballot_shape(rubric, attributes, **options))


@lru_cache(maxsize=1024)
def unchecked_shape(shape: type[BaseModel]) -> type[BaseModel]:
    """A shape with the same fields, each of which may be anything or missing: to read an answer of which a part is illegal."""
    return answer_model("Unchecked", dict.fromkeys(shape.model_fields, (Any, None)))


def answer_model(name: str, fields: Mapping[str, Any]) -> type[BaseModel]:
    """The pydantic class of an answer with a field for each attribute, which may be named as a method of every model: `register`, `copy`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Field name .* shadows an attribute", UserWarning)
        return create_model(name, __config__=STRICT, **fields)


def votes_from(filled: BaseModel, exhibits: Sequence[Exhibit]) -> tuple[Vote, ...]:
    """The votes in a filled ballot, each quote checked against the exhibits."""
    votes: list[dict[str, Any]] = []
    for attribute, answer in vars(filled).items():
        fields = vars(answer)
        votes.append(
            {
                "attribute": attribute,
                "value": fields["score"],
                "rationale": fields["rationale"],
                "evidence": [find_quote(text, exhibits) for text in fields["evidence"] if has_words(text)],
                "moved_by": fields.get("moved_by", ""),
                "confidence": fields.get("confidence"),
            }
        )
    return _VOTES.validate_python(votes)


def has_words(text: str) -> bool:
    """Whether there is a word or a number in it: dots and dashes are neither a quote nor a reason."""
    return any(character.isalnum() for character in text)


class Schema(dict[str, Any]):
    """A JSON schema, whose text is made once however often it is sent."""

    @cached_property
    def text(self) -> str:
        return json.dumps(self)


@lru_cache(maxsize=512)
def inline(shape: type[BaseModel]) -> Schema:
    """The JSON schema of `shape` with every reference written out, titles dropped."""
    schema = shape.model_json_schema()
    definitions = schema.pop("$defs", {})

    def written_out(node: Any) -> Any:
        if isinstance(node, list):
            return [written_out(child_node) for child_node in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return written_out(definitions[node["$ref"].rpartition("/")[2]])
        return {
            key: {name: written_out(child) for name, child in value.items()}
            if key == "properties"
            else written_out(value)
            for key, value in node.items()
            if key != "title"
        }

    return Schema(written_out(schema))


def find_quote(text: str, exhibits: Iterable[Exhibit]) -> Quote:
    """`text` and the exhibit it stands in, compared with white space and case folded and quotation marks at its ends ignored."""
    if folded := fold_quote(text):
        for exhibit in exhibits:
            if folded in _fold_exhibit(exhibit.text):
                return Quote(text=text, exhibit=exhibit.name)
    return Quote(text=text, exhibit=None)


def fold_quote(text: str) -> str:
    """What two quotes of the same words have in common: white space and case folded, no quotation marks at the ends."""
    return _fold(text).strip(_EDGES)


def find_span(quote: str, text: str) -> tuple[int, int] | None:
    """Where `quote` stands in `text`, as start and end in characters, compared as `find_quote` does; None where it does not."""
    stripped = quote.strip(_EDGES)
    if not stripped:
        return None
    if (at := text.find(stripped)) != -1:
        return at, at + len(stripped)
    words = (re.escape(word) for word in stripped.replace(WORD_JOINER, "").split())
    match = re.search(r"\s+".join(words), text, re.IGNORECASE)
    return match.span() if match else None


def _fold(text: str) -> str:
    return _SPACE.sub(" ", text.replace(WORD_JOINER, "")).casefold()


@lru_cache(maxsize=512)
def _fold_exhibit(text: str) -> str:
    """`_fold`, cached: every quote of a ballot is looked up in the same exhibits."""
    return _fold(text)


@lru_cache(maxsize=1024)
def _shape_for(rubric: Rubric, names: tuple[str, ...], revision: bool, confidence: bool) -> type[BaseModel]:
    return _shape(tuple((name, Legal.of(rubric, name)) for name in names), revision, confidence)


@lru_cache(maxsize=1024)
def _shape(questions: tuple[tuple[str, Legal], ...], revision: bool, confidence: bool) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, legal in questions:
        parts: dict[str, Any] = {
            # The rationale comes first, so that the model reasons before it commits.
            "rationale": TEXT,
            "evidence": Annotated[
                list[Annotated[str, at_most(QUOTE_LIMIT)]], at_most(QUOTES_LIMIT, "maxItems")
            ],
        }
        if revision:
            parts["moved_by"] = Annotated[str, at_most(TEXT_LIMIT)]
        if confidence:
            parts["confidence"] = Literal["low", "medium", "high"]
        parts["score"] = legal.score
        typed_fields: dict[str, Any] = {part: (kind, ...) for part, kind in parts.items()}
        vote = create_model(f"Vote_{name}", __config__=STRICT, **typed_fields)
        fields[name] = (vote, ...)
    return answer_model("Ballot", fields)


def _not_a_boolean(value: Any) -> Any:
    # In Python True equals 1: without this, a model that answers `true` would be given the lowest score.
    if isinstance(value, bool):
        raise ValueError("a score is not true or false")
    return value
