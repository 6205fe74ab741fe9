"""LiteLLM's catalogue: whether it knows a model's provider, which keys that needs, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping

from ...personas.jury import ModelSettings
from ...rubrics.errors import VenireError
from ..prices import Price
from .client_factory import prefix_of
from .litellm import _litellm

FREE = ("lens", "local", "recorded", "scripted")
"""Clients that cost nothing."""
_MILLION = 1_000_000


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The price of a model string: as the user says, else what its client charges; None where nobody knows."""
    if model in prices:
        return prices[model]
    client = prefix_of(model)
    if client in FREE:
        return Price(prompt=0, completion=0)
    return _list_price(model) if client == "litellm" else None


def check_provider_known(settings: ModelSettings) -> None:
    """Raise an error for a model string whose provider LiteLLM does not know."""
    model = settings.model or "local"
    if prefix_of(model) != "litellm" or settings.base_url is not None:
        return
    litellm = _litellm()
    try:
        litellm.get_llm_provider(model)
    except litellm.exceptions.BadRequestError:
        raise VenireError(
            f"the model {model!r} is of no provider that LiteLLM knows",
            remedy="write it as PROVIDER/NAME, for example openai/gpt-4o-mini; or server/NAME with base_url",
        ) from None


def missing_keys(settings: ModelSettings) -> tuple[str, ...]:
    """The variables that LiteLLM will look for and not find."""
    model = settings.model or "local"
    if prefix_of(model) != "litellm" or settings.api_key_env is not None or settings.base_url is not None:
        return ()
    return tuple(_litellm().validate_environment(model).get("missing_keys", ()))


def _list_price(model: str) -> Price | None:
    """LiteLLM's own entry, None where it has none. Unknown and free look alike there, so zero is unknown."""
    try:
        told = _litellm().get_model_info(model)
    except Exception:
        # For a model it has no entry for, LiteLLM raises whatever its version raises, a bare Exception included.
        return None
    prompt, completion = told.get("input_cost_per_token"), told.get("output_cost_per_token")
    if not prompt or not completion:
        return None
    cached = told.get("cache_read_input_token_cost")
    return Price(
        prompt=prompt * _MILLION,
        completion=completion * _MILLION,
        cached=None if cached is None else cached * _MILLION,
    )
