"""Error rates of what was heard against what was said, by jiwer: WER, CER, MER, WIL.

References:
    Morris, Maier and Green (2004), "From WER and RIL to MER and WIL".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from .metric import Metric, packaged_metric


def _error_rate(name: Literal["wer", "cer", "mer", "wil"], place: int, most: float) -> Metric:
    def scorer(jiwer: Any) -> Callable[[str, str], float]:
        rate = getattr(jiwer, name)
        # Spaces of any kind part words, and one counts as a character.
        return lambda output, reference: rate(" ".join(reference.split()), " ".join(output.split()))

    return packaged_metric(
        name, name.upper(), place, "jiwer", scorer, family="edit", direction="low", bounds=(0.0, most)
    )


WER = _error_rate("wer", 10, math.inf)
CER = _error_rate("cer", 11, math.inf)
MER = _error_rate("mer", 12, 1.0)
WIL = _error_rate("wil", 13, 1.0)
