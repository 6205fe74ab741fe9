"""`numbers`: the share of a reference's numbers that stand in the output."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from venire.plugin import Metric

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def share_of_numbers(
    pairs: Sequence[tuple[str, str]], progress: Callable[[int, int], None] | None
) -> dict[str, list[float]]:
    """A value for each pair of output and reference; NaN where the reference has no number, which is not 0."""
    return {"numbers": [_share(output, reference) for output, reference in pairs]}


def _share(output: str, reference: str) -> float:
    wanted = set(NUMBER.findall(reference))
    return len(wanted & set(NUMBER.findall(output))) / len(wanted) if wanted else math.nan


numbers = Metric("numbers", "numbers kept", share_of_numbers)
