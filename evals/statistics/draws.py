"""How often cases are resampled, and from which seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .bootstrap import Bootstrap, Kind


@dataclass(frozen=True, slots=True)
class Draws:
    """The seed and the number of resamples that every interval of one analysis shares."""

    seed: int = 0
    resamples: int = 1000

    def rng(self) -> np.random.Generator:
        """A source of chance that starts at the seed: two of them give the same numbers."""
        return np.random.default_rng(self.seed)

    def bootstrap(
        self, *, by: str = "case", kind: Kind = "holding", levels: tuple[float, ...] | None = None
    ) -> Bootstrap:
        """A bootstrap that starts at the seed, so that everything it is made for sees the same resamples.

        Args:
            by: The column whose equal values are drawn together.
            levels: The values of the scale, used or not, where they are known.
        """
        return Bootstrap(self.rng(), self.resamples, by=by, kind=kind, levels=levels)
