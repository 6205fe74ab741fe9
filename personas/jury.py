"""Juries: who sits, on which model, and under which rules they deliberate. One file, readable and diffable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from ..rubrics.errors import VenireError, count_words
from ..rubrics.files import nearest
from ..rubrics.plugins import library_file, registered_plugins, unknown
from ..rubrics.rubric import Name
from ..rubrics.yaml_files import Converted, load_yaml, wrong
from .options import (
    PROTOCOLS,
    TOP_LEVEL,
    AcceptanceRule,
    AnyOptions,
    ClaimOptions,
    Debaters,
    EarlyStop,
    Escalation,
    Limits,
    Repeats,
    SeatName,
    Shots,
    default_options,
    load_acceptance,
    refuse_unused,
    refuse_unused_replans,
    with_options,
)
from .persona import Persona, load_persona

LIBRARY = Path(__file__).parent / "juries"
GROUP = "venire.juries"

CountingRule = str
"""The name that a counting rule is registered under: `mean`, `median`, `decision` ..."""
COUNTING = "venire.counting"
COUNTING_SYNONYMS = {"majority": "mode"}
"""Other words for a counting rule, which a file or a command may use."""


PairOrder = Literal["balanced", "both", "fixed"]
LATER_FIELDS = (
    "max_reply",
    "wait",
    "usd_per_hour",
    "alternates",
    "extracts",
    "adapter",
    "params",
    "first_repeat",
    "confederate",
    "order",
)
"""Fields of a seat that came after the first records."""
RESERVED = frozenset(
    ("model", "messages", "stream", "response_format", "n", "temperature", "top_p", "max_tokens", "seed", "base_url", "timeout")
)  # fmt: skip
"""What a request has already: no name for one of `params`."""


class _Recomputed(BaseModel):
    """A model whose copy takes the fields along, and not what was computed of them once: with other fields, that is wrong."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        copied = super().model_copy(update=update, deep=deep)
        for name in vars(copied).keys() - type(self).model_fields.keys():
            del vars(copied)[name]
        return copied


class ModelSettings(_Recomputed):
    """Which model answers, and how it is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str | None = None
    """A model string; without one, `--model` fills the seat, or the embedded model."""
    base_url: str | None = None
    api_key_env: str | None = None
    """The name of the environment variable that holds the key; the key itself is never written down."""
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, gt=0)
    seed: int | None = None
    adapter: str | None = None
    """A GGUF adapter for a `local` model; in a jury file, a path relative to it."""
    params: dict[str, Any] = {}
    """Further parameters of the provider, such as `reasoning_effort`: sent as they are, and part of the call's address."""
    timeout: float = Field(default=120, gt=0)
    """Seconds to wait for one answer."""
    context: int | None = Field(default=None, gt=0)
    """The model's context window in tokens, where it is not known from its name."""
    max_reply: int = Field(default=2_000_000, gt=0)
    """Bytes of one reply at the most; a longer one is an abstention."""
    wait: str | None = Field(default=None, pattern=r"^[1-9][0-9]*[smhdw]$")
    """Of a person: how long she is waited for, such as 36h or 2d; then the seat abstains. Without it, for ever."""
    usd_per_hour: float | None = Field(default=None, ge=0)
    """Of a person: what an hour of her time costs."""
    alternates: tuple[str, ...] = ()
    """Model strings, asked in turn for a case that the model fails: it refuses, cannot be reached or read."""

    @cached_property
    def substitutes(self) -> tuple[ModelSettings, ...]:
        """The settings of each alternate; address and key are the model's own where both have the same prefix, such as `server/`."""
        prefix = (self.model or "local").partition("/")[0]
        elsewhere = {"base_url": None, "api_key_env": None, "adapter": None, "context": None}
        return tuple(
            self.model_copy(
                update={
                    "model": model,
                    "alternates": (),
                    **({} if model.partition("/")[0] == prefix else elsewhere),
                }
            )
            for model in self.alternates
        )

    @model_serializer(mode="wrap")
    def _without_later_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As it was before there were `LATER_FIELDS`, where they are at their defaults: a record knows its juries by this."""
        fields: dict[str, Any] = handler(self)
        for name in LATER_FIELDS:
            if name in fields and getattr(self, name) == type(self).model_fields[name].default:
                del fields[name]
        return fields

    @model_validator(mode="after")
    def _waits_for_people_only(self) -> Self:
        for name in ("wait", "usd_per_hour"):
            if getattr(self, name) is not None and not self.is_person:
                raise wrong(
                    "only a person's seat can have wait and usd_per_hour\nwrite model: person/NAME, or remove them",
                    name,
                )
        return self

    @property
    def is_person(self) -> bool:
        """Whether a person answers, and no model."""
        return (self.model or "").partition("/")[0] == "person"

    @property
    def wait_seconds(self) -> float | None:
        """How long a person is waited for; None for ever."""
        if self.wait is None:
            return None
        return float(self.wait[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[self.wait[-1]]

    def __hash__(self) -> int:
        """So that what is made of a seat's settings can be kept by them, at little cost."""
        return hash((self.model, self.base_url))

    @field_validator("params")
    @classmethod
    def _further_ones(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if name in RESERVED or re.search(r"key|token$|secret|authorization|headers", name):
                raise ValueError(
                    f"{name!r} cannot be set in params\nremove it from params: venire sets it, or a key of the seat does"
                )
        return value

    @field_validator("api_key_env")
    @classmethod
    def _a_name_not_a_key(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
            raise ValueError(
                "this is not the name of an environment variable\nwrite the name of the variable that holds the key, never the key itself"
            )
        return value

    @field_validator("model")
    @classmethod
    def _file_beside(cls, value: str | None, info: ValidationInfo) -> str | None:
        folder: Path | None = (info.context or {}).get("beside")
        return value if value is None or folder is None else model_beside(value, folder)

    @field_validator("adapter")
    @classmethod
    def _beside_the_file(cls, value: str | None, info: ValidationInfo) -> str | None:
        folder: Path | None = (info.context or {}).get("beside")
        return value if value is None or folder is None else str(folder / Path(value).expanduser())

    @field_validator("base_url")
    @classmethod
    def _an_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("this is not an http address\nwrite it as http://HOST:PORT/v1")
        return value


class Seat(ModelSettings):
    """One place on the jury: a point of view on a model."""

    name: SeatName
    persona: Converted[Persona | None, Persona | str | None] = Field(default=None, validate_default=True)
    """Named from the library, or a file beside the jury's, or written out; without one the seat has no stance."""
    extracts: bool = False
    """Under `decompose-verify`: whether this seat lists the claims; the others check them."""
    first_repeat: int | None = Field(default=None, ge=0)
    """Where its repeats start (default: after those of the seats before it that are alike). A replay pins it."""

    order: PairOrder = "balanced"
    """How it is shown a pair: `balanced` shows every other seat, and every other case, output B first; `both` asks it twice, and
    a preference that does not hold in both orders is a tie; `fixed` shows output A first."""
    confederate: bool = False
    """Whether its votes are scripted to put the others under pressure: they are read and argued with, and never counted."""

    @model_validator(mode="before")
    @classmethod
    def _named_person(cls, fields: Any) -> Any:
        """`model: person` alone is the person that the seat is named for."""
        if isinstance(fields, Mapping) and fields.get("model") == "person" and fields.get("name"):
            return {**fields, "model": f"person/{fields['name']}"}
        return fields

    @field_validator("persona", mode="before", json_schema_input_type=Persona | str | None)
    @classmethod
    def _by_name(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str):
            return value
        folder = (info.context or {}).get("beside", Path())
        try:
            return load_persona(folder / value if value.endswith((".yaml", ".yml")) else value)
        except VenireError as error:
            raise _refusal(error) from None


class Jury(_Recomputed):
    """The seats, the orchestrator's seat, the protocol and its limits. Not a running thing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    description: str = ""
    protocol: str = "orchestrated"
    limits: Limits = Limits()
    tolerance: float = Field(default=0, ge=0)
    """An attribute is settled when every juror who did not abstain is within this of every other."""
    quorum: int = Field(default=1, ge=1)
    """With fewer votes than this an attribute is hung."""
    count: CountingRule | None = None
    """How votes become a value; without it, the protocol's own rule. `majority` is `mode`."""
    weights: dict[SeatName, Annotated[float, Field(ge=0)]] = {}
    """For `count: weighted`: how much each juror counts; without any, its agreement with the others over the run."""
    stop: EarlyStop = EarlyStop()
    options: dict[str, Any] = {}
    """What the protocol is told, as its own model has it. In a file, the next six may be written here as well."""
    challenge: bool = True
    """Whether an instant unanimous score at the end of its scale is challenged once."""
    repeats: Repeats = 1
    """How often a single judge, or each seat of a panel, is asked."""
    hearing: int = Field(default=1, ge=1)
    """Which of a study's repeats of the whole deliberation it is: each has answers, and seeds, of its own."""
    shots: Shots | None = None
    """The worked examples that jurors are shown before their first ballot."""
    escalation: Escalation = Escalation()
    """When `escalate` asks more than one judge."""
    debate: Debaters | None = None
    """The advocates; without it the seats with the high-scoring and the low-scoring persona, else the first two."""
    claims: ClaimOptions = ClaimOptions()
    """Under `decompose-verify`: which claims are checked against what, and how they are counted."""
    escalate_to: Literal["people"] | None = None
    """To whom verdicts go that may not stand unseen by the `rule`."""
    rule: Converted[AcceptanceRule | None, AcceptanceRule | str | Path | None] = Field(
        default=None, validate_default=True
    )
    """What `venire certify --save` wrote: in a jury file, a path relative to it."""
    seats: Converted[tuple[Seat, ...], Sequence[Seat]] = Field(min_length=1)
    orchestrator: ModelSettings = ModelSettings()
    stance: str = ""
    """How the orchestrator presides, in words that are added to what every orchestrator is told."""

    @model_validator(mode="before")
    @classmethod
    def _options_checked(cls, fields: Any, info: ValidationInfo) -> Any:
        context = info.context or {}
        if not isinstance(fields, Mapping) or context.get("options") == "checked":
            return fields
        # What is wrong with the protocol's name is said of the name.
        protocol = str(fields.get("protocol", cls.model_fields["protocol"].default))
        return (
            with_options(fields, protocol, context) if protocol in registered_plugins(PROTOCOLS) else fields
        )

    @field_validator("protocol")
    @classmethod
    def _a_known_protocol(cls, value: str) -> str:
        if value not in registered_plugins(PROTOCOLS):
            raise _refusal(unknown(PROTOCOLS, value, "protocol"))
        return value

    @field_validator("count")
    @classmethod
    def _a_known_rule(cls, value: str | None) -> str | None:
        if value is None:
            return None
        rule = COUNTING_SYNONYMS.get(value, value)
        if rule not in registered_plugins(COUNTING):
            raise _refusal(unknown(COUNTING, value, "counting rule"))
        return rule

    @field_validator("rule", mode="before", json_schema_input_type=str | None)
    @classmethod
    def _rule_in_a_file(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str | Path):
            return value
        try:
            return load_acceptance((info.context or {}).get("beside", Path()) / Path(value).expanduser())
        except VenireError as error:
            raise _refusal(error) from None

    @model_validator(mode="after")
    def _escalates_by_a_rule(self) -> Self:
        if self.escalate_to is not None and self.rule is None:
            raise wrong(
                "without a rule, people would get every case\nname the rule that `venire certify --save` wrote: rule: FILE.json",
                "escalate_to",
            )
        if self.rule is not None and self.escalate_to is None:
            raise wrong(
                "it is not said who judges the cases that the rule does not accept\nadd escalate_to: people",
                "rule",
            )
        return self

    @model_validator(mode="after")
    def _seats_fit(self) -> Self:
        names = [seat.name for seat in self.seats]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise wrong(f"two seats are named {name!r}\ngive every seat its own name", "seats", number)
            if name in ("orchestrator", "clerk"):
                raise wrong(
                    f"{name!r} is reserved and cannot be the name of a juror\nrename the seat",
                    "seats",
                    number,
                )
        for name in self.weights:
            if name not in names:
                raise wrong(f"no seat named {name!r}\n{nearest(name, names)}", "weights")
        if self.debate is not None:
            for name in (self.debate.high, self.debate.low):
                if name not in names:
                    raise wrong(f"no seat named {name!r}\n{nearest(name, names)}", "debate")
            if self.debate.high == self.debate.low:
                raise wrong(
                    f"{self.debate.high!r} cannot argue for both sides of the debate\nname two different seats",
                    "debate",
                )
        repeated = self.protocol in ("single", "panel")
        seated = len(names) * (self.repeats if repeated else 1)
        if self.quorum > seated:
            raise wrong(
                f"a quorum of {self.quorum} votes can never be reached, because only {count_words(seated, 'vote')} can be cast\nlower the quorum",
                "quorum",
            )
        return self

    @model_validator(mode="after")
    def _no_option_is_ignored(self, info: ValidationInfo) -> Self:
        context = info.context or {}
        # In Python a jury may be made first and its protocol chosen later; a file says what it means.
        if "beside" not in context or context.get("options") == "checked":
            return self
        for name in TOP_LEVEL:
            # Where nothing is ever challenged, `challenge: false` holds.
            if name != "challenge" and getattr(self, name) != type(self).model_fields[name].default:
                refuse_unused(name, self.protocol)
        refuse_unused_replans(self.limits, self.protocol)
        return self

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As it was before there were options, claims and a stance, where there are none: a record knows its juries by this."""
        fields: dict[str, Any] = handler(self)
        for name in ("options", "stance"):
            if not getattr(self, name):
                fields.pop(name, None)
        if self.claims == ClaimOptions():
            fields.pop("claims", None)
        if self.hearing == 1:
            fields.pop("hearing", None)
        if self.rule is None:
            for name in ("escalate_to", "rule"):
                fields.pop(name, None)
        return fields

    @cached_property
    def seat_names(self) -> tuple[str, ...]:
        return tuple(seat.name for seat in self.seats)

    def heard_again(self, hearing: int) -> Jury:
        """The jury as it hears the same cases another time, under a name that says so."""
        return self.model_copy(update={"name": f"{self.name}-r{hearing}", "hearing": hearing})

    @property
    def first_name(self) -> str:
        """The name under which it first heard its cases."""
        return self.name if self.hearing == 1 else self.name.removesuffix(f"-r{self.hearing}")

    @property
    def single_judge(self) -> bool:
        """Whether one judge answers: under `single`, or because nobody else has a seat."""
        return self.protocol == "single" or len(self.seats) == 1

    @cached_property
    def first_repeats(self) -> tuple[int, ...]:
        """Where each seat's repeats start, so that seats alike in all but their names give answers of their own."""
        alike: list[tuple[object, ...]] = []
        starts: list[int] = []
        for seat in self.seats:
            kind = tuple(value for name, value in seat if name not in ("name", "first_repeat", "order"))
            first_repeat = alike.count(kind) * max(self.repeats, self.escalation.repeats)
            starts.append(first_repeat if seat.first_repeat is None else seat.first_repeat)
            alike.append(kind)
        return tuple(starts)

    def options_as(self, model: type[AnyOptions]) -> AnyOptions:
        """The options of the jury's protocol, as the model that the protocol declares."""
        known = model.model_fields
        fields = {name: getattr(self, name) for name in TOP_LEVEL if name in known}
        return model.model_validate({**fields, **self.options})

    def under(self, protocol: str) -> Jury:
        """The jury under another protocol. Options that the other does not have are left unused, its own are at
        their defaults."""
        if protocol == self.protocol:
            return self
        return self.model_copy(update={"protocol": protocol, "options": default_options(protocol)})

    def fill(self, *, model: str | None, base_url: str | None = None) -> Jury:
        """The jury with `model`, where there is one, in every seat that names none, the orchestrator's included.

        `base_url` goes with it, and to every `server/` seat that names no address.
        """

        def model_of(settings: ModelSettings) -> dict[str, str | None]:
            if settings.model and not settings.model.startswith("server/"):
                return {}
            return {
                "model": settings.model or model,
                "base_url": settings.base_url or base_url,
            }

        return self.model_copy(
            update={
                "seats": tuple(seat.model_copy(update=model_of(seat)) for seat in self.seats),
                "orchestrator": self.orchestrator.model_copy(update=model_of(self.orchestrator)),
            }
        )


def model_beside(model: str, beside: Path) -> str:
    """The model string with a recorded or scripted file that stands `beside` named by its whole path."""
    client, slash, target = model.partition("/")
    name, mark, juror = target.partition("#")
    if client not in ("recorded", "scripted") or not name or not (beside / name).is_file():
        return model
    return f"{client}{slash}{beside / name}{mark}{juror}"


def _refusal(error: VenireError) -> ValueError:
    """`error` as a validator raises it, so that the file and the line are said with it."""
    return ValueError(f"{error.problem}\n{error.remedy}")


def load_jury(name_or_path: str | Path) -> Jury:
    """The jury in a file, or the library's jury of that name, with its personas."""
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml") and not path.exists():
        path = library_file(GROUP, str(name_or_path), "jury")
    return load_yaml(path, Jury)
