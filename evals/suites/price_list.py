"""Prices of a suite's models: its own file's, else what each model's client knows."""

from __future__ import annotations

from collections.abc import Mapping

from ...agents.prices import Price
from ...agents.providers import Providers
from ...personas.jury import ModelSettings
from ...rubrics.errors import VenireError


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
