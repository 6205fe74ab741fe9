"""What LiteLLM's lists say of a model before anything is asked of it: whether it is known, its keys, its price."""

from __future__ import annotations

from collections.abc import Mapping

from ...personas.jury import ModelSettings
from ...rubrics.errors import VenireError
from ..prices import Price
from ..providers import prefix_of
from .litellm import _litellm

FREE = ("lens", "local", "recorded", "scripted")
"""Roads along which nothing is paid."""
_MILLION = 1_000_000


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The price of a model string: as the user says, else what its road takes; None where nobody knows."""
    if model in prices:
        return prices[model]
    road = prefix_of(model)
    if road in FREE:
        return Price(prompt=0, completion=0)
    return _listed(model) if road == "litellm" else None


def refuse_unknown(settings: ModelSettings) -> None:
    """An error for a model string that leads nowhere: LiteLLM knows no provider for it."""
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


def _listed(model: str) -> Price | None:
    """LiteLLM's own entry. Nothing and free look alike there, so zero is not known."""
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
