"""What a suite costs: prices, generation and jury apart, as paid and at the most; who is dominated. An unknown price stays unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ...agents.cost import MILLION, Price, load_prices
from ...agents.providers import Providers
from ...personas.jury import ModelSettings
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import near_column
from ...rubrics.rows import cell_number, read_rows, without_thousands

Kind = Literal["generation", "jury"]


@dataclass(frozen=True, slots=True)
class TokenCost:
    """Tokens and dollars; None where something of it is not known."""

    calls: int = 0
    prompt: int | None = 0
    completion: int | None = 0
    usd: float | None = 0.0
    upper_usd: float | None = 0.0
    """Prompt tokens, and the most tokens that an answer may have, at their price."""

    def __add__(self, other: TokenCost) -> TokenCost:
        return TokenCost(
            self.calls + other.calls,
            _sum(self.prompt, other.prompt),
            _sum(self.completion, other.completion),
            _sum(self.usd, other.usd),
            _sum(self.upper_usd, other.upper_usd),
        )

    @property
    def tokens(self) -> int | None:
        return _sum(self.prompt, self.completion)

    def json(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "usd": self.usd,
            "upper_usd": self.upper_usd,
        }


@dataclass(frozen=True, slots=True)
class SystemCost:
    """What one system's place on the board cost."""

    generation: TokenCost = TokenCost()
    jury: TokenCost = TokenCost()

    @property
    def total(self) -> TokenCost:
        return self.generation + self.jury

    def plus(self, kind: Kind, cost: TokenCost) -> SystemCost:
        return replace(self, **{kind: getattr(self, kind) + cost})

    def json(self) -> dict[str, Any]:
        return {"generation": self.generation.json(), "jury": self.jury.json()}


def token_cost(
    prompt: int | None, completion: int | None, price: Price | None, *, most: int | None = None, calls: int = 1
) -> TokenCost:  # fmt: skip
    """The cost of so many tokens at a price; at the most, with `most` tokens in each of the calls' answers."""
    priced = price is not None and prompt is not None and completion is not None
    usd = (prompt * price.prompt + completion * price.completion) / MILLION if priced else None  # type: ignore[operator,union-attr]
    bounded = price is not None and prompt is not None and most is not None
    upper = (prompt * price.prompt + most * calls * price.completion) / MILLION if bounded else None  # type: ignore[operator,union-attr]
    return TokenCost(calls, prompt, completion, usd, upper)


def load_token_costs(path: str | Path, prices: Mapping[str, Price]) -> dict[str, SystemCost]:
    """The costs in a table of tokens: `system,prompt_tokens,completion_tokens`, and optionally `kind` (generation or jury), `model`
    (whose price holds, the system's own name without it), `max_tokens` (the most that one answer may have), `calls`.

    Raises:
        InvalidFile: Whatever is wrong with a row.
    """
    file = Path(path)
    cost_by_system: dict[str, SystemCost] = {}
    for line, row in read_rows(file, required=("system", "prompt_tokens", "completion_tokens")):
        place = f"{file}:{line}"
        system = str(row.get("system") or "").strip()
        if not system:
            raise InvalidFile(
                f"{place}: the system is missing",
                remedy=f"{near_column('system', row)}name a system in every row",
            )
        kind = str(row.get("kind") or "generation").strip().lower()
        if kind not in ("generation", "jury"):
            raise InvalidFile(f"{place}: {kind!r} is not a kind of cost", remedy="write generation or jury")
        numbers = {
            name: _whole(place, row, name)
            for name in ("prompt_tokens", "completion_tokens", "max_tokens", "calls")
        }
        price = prices.get(str(row.get("model") or system).strip())
        cost = token_cost(
            numbers["prompt_tokens"],
            numbers["completion_tokens"],
            price,
            most=numbers["max_tokens"],
            calls=1 if numbers["calls"] is None else numbers["calls"],
        )
        cost_by_system[system] = cost_by_system.get(system, SystemCost()).plus(
            "jury" if kind == "jury" else "generation", cost
        )
    if not cost_by_system:
        raise InvalidFile(
            f"{file}: the table has no rows",
            remedy="write a table with the columns system,prompt_tokens,completion_tokens",
        )
    return cost_by_system


def load_price_list(path: str | Path) -> Mapping[str, Price]:
    """Prices for a million tokens by model: a YAML file as runs read it, or a table `model,prompt,completion`."""
    file = Path(path)
    if file.suffix in (".yaml", ".yml"):
        return load_prices(file)
    price_by_model: dict[str, Price] = {}
    for line, row in read_rows(file, required=("model", "prompt", "completion")):
        dollars = {name: cell_number(row.get(name), f"{file}:{line}") for name in ("prompt", "completion")}
        try:
            price_by_model[str(row["model"]).strip()] = Price.model_validate(dollars)
        except ValueError:
            raise InvalidFile(
                f"{file}:{line}: the row has no price",
                remedy="give dollars per million tokens in the columns prompt and completion",
            ) from None
    return price_by_model


def dominated_by(costs: Mapping[str, float | None], worth: Mapping[str, float]) -> dict[str, str]:
    """Each system that another beats: no dearer and no worse, and better in one of the two; by the best such one.

    A system of unknown cost or worth neither dominates nor is dominated.
    """
    known_costs = {
        name: usd
        for name, usd in costs.items()
        if usd is not None and not math.isnan(worth.get(name, math.nan))
    }
    dominated = {}
    for name, usd in known_costs.items():
        rivals = [
            rival
            for rival, paid in known_costs.items()
            if paid <= usd and worth[rival] >= worth[name] and (paid < usd or worth[rival] > worth[name])
        ]
        if rivals:
            dominated[name] = max(rivals, key=lambda rival: (worth[rival], -known_costs[rival]))
    return dominated


def total_cost(costs: Iterable[SystemCost]) -> SystemCost:
    """The sum of systems' costs."""
    total = SystemCost()
    for cost in costs:
        total = SystemCost(total.generation + cost.generation, total.jury + cost.jury)
    return total


def _sum(addend: Any, augend: Any) -> Any:
    return None if addend is None or augend is None else addend + augend


def _whole(place: str, row: Mapping[str, Any], name: str) -> int | None:
    cell = row.get(name)
    if cell is None or not str(cell).strip():
        return None
    try:
        number = float(without_thousands(str(cell)))
    except ValueError:
        number = -1.0
    if not (number.is_integer() and number >= 0):
        raise InvalidFile(
            f"{place}: {cell!r} is not a number of {name}",
            remedy="write a whole number, or leave the cell blank",
        )
    return int(number)


class SuitePrices:
    """Prices by a seat's settings: the suite's file, else what the model's client knows."""

    def __init__(self, given: Mapping[str, Price]) -> None:
        self.given = given
        self._providers = Providers(prices=given, needs_keys=False)

    def of(self, settings: ModelSettings) -> Price | None:
        model = settings.model or "local"
        if model in self.given:
            return self.given[model]
        try:
            return self._providers.get(settings).price(model)
        except VenireError:
            # A client that cannot be opened here, such as one of a package that is not installed, knows no price.
            return None
