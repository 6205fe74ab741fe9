"""What a suite costs: generation and jury apart, as paid and at the most; who is dominated. An unknown price stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ...agents.prices import MILLION, Price, load_prices
from ...rubrics.csv_cells import cell_number, without_thousands
from ...rubrics.errors import InvalidFile
from ...rubrics.files import near_column
from ...rubrics.rows import read_rows

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
    known = price is not None and prompt is not None and completion is not None
    usd = (prompt * price.prompt + completion * price.completion) / MILLION if known else None  # type: ignore[operator,union-attr]
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
    found: dict[str, SystemCost] = {}
    for line, row in read_rows(file, required=("system", "prompt_tokens", "completion_tokens")):
        where = f"{file}:{line}"
        system = str(row.get("system") or "").strip()
        if not system:
            raise InvalidFile(
                f"{where}: no system", remedy=f"{near_column('system', row)}name one in every row"
            )
        kind = str(row.get("kind") or "generation").strip().lower()
        if kind not in ("generation", "jury"):
            raise InvalidFile(f"{where}: {kind!r} is no kind of cost", remedy="write generation or jury")
        numbers = {
            name: _whole(where, row, name)
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
        found[system] = found.get(system, SystemCost()).plus("jury" if kind == "jury" else "generation", cost)
    if not found:
        raise InvalidFile(f"{file}: no row in it", remedy="give system,prompt_tokens,completion_tokens")
    return found


def load_price_list(path: str | Path) -> Mapping[str, Price]:
    """Prices for a million tokens by model: a YAML file as runs read it, or a table `model,prompt,completion`."""
    file = Path(path)
    if file.suffix in (".yaml", ".yml"):
        return load_prices(file)
    found: dict[str, Price] = {}
    for line, row in read_rows(file, required=("model", "prompt", "completion")):
        given = {name: cell_number(row.get(name), f"{file}:{line}") for name in ("prompt", "completion")}
        try:
            found[str(row["model"]).strip()] = Price.model_validate(given)
        except ValueError:
            raise InvalidFile(
                f"{file}:{line}: no price in it",
                remedy="give dollars for a million tokens, prompt and completion",
            ) from None
    return found


def dominated_by(costs: Mapping[str, float | None], worth: Mapping[str, float]) -> dict[str, str]:
    """Each system that another beats: no dearer and no worse, and better in one of the two; by the best such one.

    A system of unknown cost neither dominates nor is dominated.
    """
    known = {
        name: usd for name, usd in costs.items() if usd is not None and worth.get(name) == worth.get(name)
    }
    found = {}
    for name, usd in known.items():
        better = [
            other
            for other, paid in known.items()
            if paid <= usd and worth[other] >= worth[name] and (paid < usd or worth[other] > worth[name])
        ]
        if better:
            found[name] = max(better, key=lambda other: (worth[other], -known[other]))
    return found


def total_cost(costs: Iterable[SystemCost]) -> SystemCost:
    """The sum of systems' costs."""
    whole = SystemCost()
    for each in costs:
        whole = SystemCost(whole.generation + each.generation, whole.jury + each.jury)
    return whole


def _sum(first: Any, second: Any) -> Any:
    return None if first is None or second is None else first + second


def _whole(where: str, row: Mapping[str, Any], name: str) -> int | None:
    given = row.get(name)
    if given is None or not str(given).strip():
        return None
    try:
        number = float(without_thousands(str(given)))
    except ValueError:
        number = -1.0
    if number < 0 or number != int(number):
        raise InvalidFile(
            f"{where}: {given!r} is no number of {name}", remedy="give a whole number, or leave it blank"
        )
    return int(number)
