"""What a jury file says beside its seats: limits, the protocol's options, and the rule by which verdicts may stand unseen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from ..rubrics.errors import InvalidFile, VenireError
from ..rubrics.files import read_json
from ..rubrics.plugins import BrokenPlugin, load_all, registered_plugins
from ..rubrics.yaml_files import inner_errors, wrong

PROTOCOLS = "venire.protocols"
TOP_LEVEL = ("challenge", "repeats", "shots", "escalation", "debate", "claims")
"""Options that a `Jury` holds as fields of its own, and that a jury file may write beside `protocol` as well."""
CHECKED = {"options": "checked"}
"""Validation context for a jury that was checked when it was written: its options are taken as they are."""
SeatName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
Repeats = Annotated[int, Field(ge=1)]


class Limits(BaseModel):
    """Where a deliberation ends, whatever has been reached. Each means what it says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_rounds: int | None = Field(default=3, ge=1)
    max_turns: int | None = Field(default=None, ge=1)
    """The exact number of juror turns."""
    max_stalls: int | None = Field(default=1, ge=0)
    """Consecutive rounds without movement or new evidence before it stops."""
    max_replans: int | None = Field(default=0, ge=0)
    """How often whoever presides puts the questions anew where `max_stalls` would stop; null for no limit."""
    max_tokens: int | None = Field(default=None, ge=1)
    max_usd: float | None = Field(default=None, gt=0)
    max_seconds: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _ends(self) -> Self:
        # Jurors may go back and forth for ever, and a free model never spends a token or a dollar.
        if self.max_rounds is None and self.max_turns is None and self.max_seconds is None:
            raise ValueError("no limit ends the deliberation\nset max_rounds, max_turns or max_seconds")
        return self


class EarlyStop(BaseModel):
    """Further reasons to stop before a limit does: that going on would change nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stable_rounds: int | None = Field(default=None, ge=1)
    """Stop when no vote changed in this many rounds in a row, even if new evidence was quoted."""
    ks: float | None = Field(default=None, gt=0, le=1)
    """Stop when the votes of two rounds in a row are distributed alike: their Kolmogorov-Smirnov statistic, on
    the attribute where it is largest, lies below this. 0.1 is strict."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AttributeRule(_Part):
    """From which confidence on the verdicts on one attribute may stand unseen, and what that rests on."""

    threshold: float | None
    """None where no verdict on the attribute may."""
    labels: int
    """Labelled verdicts at or above the threshold."""
    errors: int
    """How many of these people did not share."""
    bound: float | None
    """What the error among accepted verdicts is at most, with probability 1 - delta."""


class JudgedBy(_Part):
    """Hashes of what a jury answers by; where a seat's server stands is not among it."""

    rubric: str
    seats: dict[str, str]
    orchestrator: str
    rest: str
    """Protocol, limits, options, counting rule."""
    prompts: str
    adapters: str = ""


class SignalSample(_Part):
    """The labelled verdicts on one attribute, as far as new ones can be held against them."""

    clusters: tuple[int, ...]
    signals: dict[str, tuple[float | None, ...]]
    """By signal, one number a verdict; null where it is not known."""
    systems: tuple[str, ...] = ()
    """Who produced the text of each verdict's case, blank where that is not known; none in rules saved before it was kept."""


class AcceptanceRule(_Part):
    """What `venire certify --save` writes."""

    format: Literal["venire acceptance 1"] = "venire acceptance 1"
    risk: float = Field(gt=0, lt=1)
    delta: float = Field(gt=0, lt=1)
    within: float = Field(default=0, ge=0)
    """How far a verdict may lie from people's reference without being an error."""
    arm: str
    judged_by: JudgedBy
    attributes: dict[str, AttributeRule]
    labelled: dict[str, SignalSample] = {}


def load_acceptance(path: Path | str) -> AcceptanceRule:
    """The rule in a file that `venire certify --save` wrote."""
    try:
        return AcceptanceRule.model_validate(read_json(Path(path)))
    except ValidationError as error:
        detail = error.errors()[0]
        place = ".".join(map(str, detail["loc"])) or "the file"
        raise InvalidFile(
            f"{path}: this is not an acceptance rule: {place}: {detail['msg']}",
            remedy="give a file that `venire certify RUN --human RATINGS --save FILE` wrote",
        ) from None


class Options(BaseModel):
    """What a protocol may be told: a subclass has a field for each option. A key that is no field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


AnyOptions = TypeVar("AnyOptions", bound=Options)


class Debaters(Options):
    """Who argues in the `debate` protocol."""

    high: SeatName
    low: SeatName


def _with_k(schema: dict[str, Any]) -> None:
    """The schema of `Shots` as a file writes it: `k` for `n`, neither where cases are named."""
    schema["properties"]["k"] = schema["properties"]["n"]
    schema["required"].remove("n")


class Shots(Options):
    """Worked examples: cases people have already scored, drawn by seed or named. In a file, `n` may be written `k`."""

    model_config = ConfigDict(json_schema_extra=_with_k)

    n: int = Field(ge=1)
    cases: Path
    ratings: Path
    seed: int = 0
    ids: tuple[str, ...] = ()
    """The cases that are shown, in this order; without any, `n` are drawn."""
    wide: bool = False
    """Not needed any more: the form of the ratings is recognised."""
    among: tuple[str, ...] = ()
    """Cases that may be shown though the run judges them: never to themselves, nor to another case of their group."""
    without: tuple[str, ...] = ()
    """Raters whose scores are no part of an example's label, such as a second panel."""

    @model_validator(mode="before")
    @classmethod
    def _count_of_examples(cls, value: Any) -> Any:
        """`k` for `n`, which named cases need not say."""
        if not isinstance(value, Mapping):
            return value
        fields = dict(value)
        if "k" in fields:
            if "n" in fields:
                raise ValueError("k and n both give the number of examples\nkeep one of them")
            fields["n"] = fields.pop("k")
        id_count = len(fields.get("ids") or ())
        if id_count and fields.setdefault("n", id_count) != id_count:
            raise ValueError(
                f"{id_count} ids were given for {fields['n']} examples\nleave k out, or give it the number of ids"
            )
        return fields

    @field_validator("cases", "ratings")
    @classmethod
    def _beside_the_file(cls, value: Path, info: ValidationInfo) -> Path:
        folder = (info.context or {}).get("beside")
        return value if folder is None else Path(folder) / value

    @model_serializer(mode="wrap")
    def _as_before_ids(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As it was before cases could be named, where none is: a record knows its juries by this."""
        fields: dict[str, Any] = handler(self)
        return {
            name: value
            for name, value in fields.items()
            if name not in ("ids", "wide", "among", "without") or value
        }


class Escalation(Options):
    """When one judge is not enough: the stated rules of the `escalate` protocol."""

    repeats: int = Field(default=2, ge=1)
    """How often the first judge is asked."""
    repeat_range: float = Field(default=0, ge=0)
    """The judge is unsure when its own answers lie further apart than this."""
    confidence: Literal["low", "medium", "high"] = "medium"
    """The judge is unsure when it says that its confidence is lower than this."""
    panel_spread: float = Field(default=1, ge=0)
    """The panel is split when its answers lie further apart than this."""


ClaimText = Literal["output", "reference", "source"]
ShareName = Literal["addressed", "all", "uncontradicted"]


class ClaimOptions(Options):
    """Which text is taken apart into claims, what they are checked against, and how the checks are counted."""

    of: ClaimText = "output"
    """The text whose claims are listed."""
    against: ClaimText = "reference"
    """The text that each claim is checked against."""
    both_ways: bool = False
    """Whether the other text's claims are also checked against the first: coverage, omissions and F1."""
    share: ShareName = "addressed"
    """Which share of the claims is the support: of S supported, NS not supported and NA not addressed claims
    `addressed` is S/(S+NS), `all` S/(S+NS+NA), `uncontradicted` (S+NA)/(S+NS+NA)."""
    threshold: float = Field(default=0.8, ge=0, le=1)
    """The support from which on an attribute of two values is given the higher one."""
    batch: int = Field(default=1, ge=1)
    """Claims that a verifier is asked about in one call."""
    require_evidence: bool = False
    """Whether `supported` without a quote that stands in the text is an abstention."""
    central_weight: float = Field(default=1, gt=0)
    """How much a claim that is marked central weighs; every other weighs 1."""
    file: Path | None = None
    """Claims in a file, in place of those that a seat would extract."""

    @field_validator("file")
    @classmethod
    def _relative_to_the_jury(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        return value and (info.context or {}).get("beside", Path()) / value

    @model_validator(mode="after")
    def _two_texts(self) -> Self:
        if self.of == self.against:
            raise ValueError(f"{self.of} cannot be checked against itself\nname another text in against:")
        return self


class _Optioned(Protocol):
    """A registered protocol, as far as it concerns a jury's options and limits."""

    options: type[Options]
    replans: bool


def options_model(protocol: str) -> type[Options]:
    """The model that a protocol declares for its options; one without options where there is no such protocol."""
    plugin = registered_plugins(PROTOCOLS).get(protocol)
    if plugin is None:
        return Options
    protocol_class: _Optioned = plugin.load()
    return protocol_class.options


def default_options(protocol: str) -> dict[str, Any]:
    """The options of a protocol that a `Jury` holds under `options`, each at its default."""
    try:
        return _own(options_model(protocol)())
    except ValidationError as error:
        missing = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors())
        raise VenireError(
            f"the protocol {protocol!r} has options that must be set: {missing}",
            remedy=f"write protocol: {protocol} and its options: in a jury file",
        ) from None


def with_options(jury: Mapping[str, Any], protocol: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a jury with its options checked, those in `TOP_LEVEL` moved to the jury's own fields.

    Raises:
        ValidationError: An option is unknown, wrong, or written in both places; its place is the file's.
    """
    try:
        model = options_model(protocol)
    except VenireError as error:
        raise wrong(f"{error.problem}\n{error.remedy}", "protocol") from None
    raw_options = jury.get("options", {})
    if not isinstance(raw_options, Mapping):
        return dict(jury)
    top_level = {name: jury[name] for name in TOP_LEVEL if name in jury and name in model.model_fields}
    for name in raw_options:
        if name in jury and name in TOP_LEVEL:
            raise wrong("the key is written both here and under options\nkeep the one under options", name)
        if name not in model.model_fields and (protocols := _protocols_with(name)):
            raise wrong(refusal(name, protocol, protocols), "options", name)
    try:
        options = model.model_validate({**top_level, **raw_options}, context=dict(context))
    except ValidationError as error:
        raise inner_errors(
            error, model, lambda at: at if at and at[0] in top_level else ("options", *at)
        ) from None
    promoted = {name: getattr(options, name) for name in TOP_LEVEL if name in raw_options}
    return {**jury, **promoted, "options": _own(options)}


def refuse_unused(name: str, protocol: str) -> None:
    """An error if `protocol` has no option `name`, which a jury sets in a field of its own.

    Raises:
        ValidationError: Its place is the field.
    """
    if problem := unused_option(name, protocol):
        raise wrong(problem, name)


def refuse_unused_replans(limits: Limits, protocol: str) -> None:
    """An error if `limits` asks for new plans that can never be made.

    Raises:
        ValidationError: Its place is the limit.
    """
    if not limits.max_replans or protocol not in registered_plugins(PROTOCOLS):
        return
    found: _Optioned = registered_plugins(PROTOCOLS)[protocol].load()
    if not found.replans:
        why = f"under the protocol {protocol}, no orchestrator asks new questions"
    elif not limits.max_stalls:
        why = (
            "max_replans asks new questions when max_stalls would stop the jury, but max_stalls is 0, which stops it after round one"
            if limits.max_stalls == 0
            else "max_replans asks new questions when max_stalls would stop the jury, but max_stalls is not set"
        )
    else:
        return
    raise wrong(f"the limit has no effect: {why}\nremove it, or set it to 0", "limits", "max_replans")


def unused_option(name: str, protocol: str) -> str:
    """The problem and the remedy where `protocol` has no option `name`; empty where it has."""
    if protocol not in registered_plugins(PROTOCOLS) or name in options_model(protocol).model_fields:
        return ""
    return refusal(name, protocol, _protocols_with(name))


def refusal(name: str, protocol: str, others: list[str]) -> str:
    """The problem and the remedy where a jury sets an option that its protocol would ignore."""
    takers = ", ".join(others)
    return f"{protocol} has no option {name!r}\nremove {name}, or choose a protocol that has it: {takers}"


def _protocols_with(option: str) -> list[str]:
    """The protocols that have an option of this name, as far as they can be loaded."""
    return [
        name
        for name, loaded in load_all(PROTOCOLS).items()
        if not isinstance(loaded, BrokenPlugin) and option in loaded.options.model_fields
    ]


def _own(options: Options) -> dict[str, Any]:
    return options.model_dump(mode="json", exclude=set(TOP_LEVEL))
