"""Cost: calls, tokens, dollars and seconds as one value that can be added up, and the prices that dollars come from.

What nobody says of a price stays unknown, and unknown is never 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from ..rubrics.errors import VenireError
from ..rubrics.yaml_files import load_yaml
from .model import FailedTry, Reply, Usage

MILLION = 1_000_000


class Price(BaseModel):
    """USD for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of the part of the prompt that the provider had in its cache; the prompt's price, unless it is said."""

    def usd(self, usage: Usage) -> float | None:
        """What a call cost; None where the provider counted no tokens."""
        if not usage.total:
            return None
        cached = self.prompt if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        return (fresh * self.prompt + usage.cached * cached + usage.completion * self.completion) / MILLION

    @property
    def in_batches(self) -> Price:
        """Half of it, as OpenAI and Anthropic have it."""
        cached = None if self.cached is None else self.cached / 2
        return Price(prompt=self.prompt / 2, completion=self.completion / 2, cached=cached)

    def most_usd(self, prompt: int, completion: int) -> float:
        """What a call with so many tokens costs at the most, whatever of the prompt turns out to be cached."""
        dearest = max(self.prompt, self.cached or 0.0)
        return (prompt * dearest + completion * self.completion) / MILLION


FREE = Price(prompt=0, completion=0)


class _PriceList(RootModel[dict[str, Price]]):
    """A file of prices: each model string with its own."""


Prices = str | Path | Mapping[str, Price | Mapping[str, float]]
"""A YAML file of prices, or what stands in one."""


def load_prices(source: Prices) -> Mapping[str, Price]:
    """The prices in a YAML file, or in a mapping like it, by model string as a jury has it."""
    if isinstance(source, str | Path):
        return load_yaml(Path(source), _PriceList).root
    try:
        return _PriceList.model_validate(source).root
    except ValidationError as error:
        first = error.errors()[0]
        raise VenireError(
            f"prices: {': '.join(map(str, first['loc']))}: {first['msg']}",
            remedy='give US dollars per million tokens for each model, such as {"server/llama": {"prompt": 1.25, "completion": 5}}',
        ) from None


CostUnit = Literal["usd", "tokens", "calls"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What calls to models took: of one call, a deliberation, an arm or a run."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    priced: int = 0
    """Calls whose price is known."""
    known_usd: float = 0.0
    """Dollars of the priced calls."""
    seconds: float = 0.0
    """Of a deliberation, the length of its critical path; added up, the sum of those."""
    estimated: int = 0
    """Calls whose tokens are our own estimate: the provider's counts were missing or impossible."""

    @classmethod
    def of(cls, reply: Reply) -> Cost:
        """The cost of one call."""
        priced = int(reply.usd is not None)
        return cls(1, reply.usage, priced, reply.usd or 0.0, reply.seconds, int(bool(reply.estimated)))

    @classmethod
    def total(cls, receipts: Iterable[Receipt]) -> Cost:
        """The cost of all calls of some receipts; of one with a price unknown, none counts as known."""
        calls = prompt = completion = cached = priced = estimated = 0
        known_usd = seconds = 0.0
        for spent in receipts:
            calls += len(spent.calls)
            prompt += spent.prompt
            completion += spent.completion
            cached += spent.cached
            estimated += spent.estimated
            seconds += spent.seconds
            if spent.usd is not None:
                priced += len(spent.calls)
                known_usd += spent.usd
        return cls(calls, Usage(prompt, completion, cached), priced, known_usd, seconds, estimated)

    @property
    def tokens(self) -> int:
        return self.usage.total

    @property
    def usd(self) -> float | None:
        """Dollars; None where the price of any call is unknown."""
        return self.known_usd if self.priced == self.calls else None

    @property
    def price(self) -> str:
        """Dollars as text; where the price of some calls is unknown, those that are known."""
        if self.usd is not None:
            return f"${self.usd:.4f}"
        return f"price partly unknown, ${self.known_usd:.4f} known" if self.priced else "price unknown"

    def amount(self, unit: CostUnit) -> float:
        """The cost as a number; NaN for unknown dollars."""
        if unit == "usd":
            return math.nan if self.usd is None else self.usd
        return float(self.tokens if unit == "tokens" else self.calls)

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.calls + other.calls,
            self.usage + other.usage,
            self.priced + other.priced,
            self.known_usd + other.known_usd,
            self.seconds + other.seconds,
            self.estimated + other.estimated,
        )

    def to_json(self) -> dict[str, Any]:
        """The cost as `run --json` and `show --json` print it."""
        usage = self.usage
        return {
            "calls": self.calls,
            "tokens": {"prompt": usage.prompt, "completion": usage.completion, "cached": usage.cached},
            "estimated_calls": self.estimated,
            "usd": self.usd,
            "seconds": self.seconds,
        }


class Receipt(BaseModel):
    """The calls made for one answer, repairs included, and their cost; stored in this form in a transcript."""

    model_config = ConfigDict(frozen=True)

    calls: tuple[str, ...] = ()
    """The keys of the calls in the record."""
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    usd: float | None = 0.0
    """None where the price of any call is unknown."""
    seconds: float = 0.0
    estimated: int = 0
    """Calls whose tokens are our own estimate."""
    implausible: int = 0
    """Those of them for which the provider had stated what cannot be right."""
    by: str = ""
    """The alternate model that gave the answer; empty for the seat's own."""
    versions: tuple[str, ...] = ()
    """The model as the provider stated it, where that says more than its name; several where it changed."""
    failures: tuple[FailedTry, ...] = ()
    """The tries that brought no reply."""

    @model_serializer(mode="wrap")
    def _without_empty_parts(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        for name in ("by", "versions", "failures"):
            if not fields[name]:
                del fields[name]
        return fields

    def then(self, later: Receipt) -> Receipt:
        """The receipt of both, one after the other; the answer is the later one's."""
        return self.beside(later).model_copy(update={"seconds": self.seconds + later.seconds, "by": later.by})

    def with_failures(self, failures: Iterable[FailedTry]) -> Receipt:
        """The receipt with tries that brought no reply."""
        return self.model_copy(update={"failures": (*self.failures, *failures)})

    def plus(self, key: str, reply: Reply) -> Receipt:
        """The receipt with one more call."""
        usage = reply.usage
        return Receipt(
            calls=(*self.calls, key),
            prompt=self.prompt + usage.prompt,
            completion=self.completion + usage.completion,
            cached=self.cached + usage.cached,
            usd=None if self.usd is None or reply.usd is None else self.usd + reply.usd,
            seconds=self.seconds + reply.seconds,
            estimated=self.estimated + bool(reply.estimated),
            implausible=self.implausible + (reply.estimated == "implausible"),
            versions=_once((*self.versions, reply.version)),
            failures=(*self.failures, *reply.failures),
        )

    def beside(self, other: Receipt) -> Receipt:
        """The receipt of both, made at the same time: the longer of their seconds."""
        return Receipt(
            calls=(*self.calls, *other.calls),
            prompt=self.prompt + other.prompt,
            completion=self.completion + other.completion,
            cached=self.cached + other.cached,
            usd=None if self.usd is None or other.usd is None else self.usd + other.usd,
            seconds=max(self.seconds, other.seconds),
            estimated=self.estimated + other.estimated,
            implausible=self.implausible + other.implausible,
            versions=_once((*self.versions, *other.versions)),
            failures=(*self.failures, *other.failures),
        )

    @property
    def cost(self) -> Cost:
        """The sum of its calls; with one price unknown, none counts as known."""
        return Cost.total([self])


def _once(versions: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, versions)))
