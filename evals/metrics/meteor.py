"""METEOR by nltk, where it and WordNet's data are installed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec

from ...rubrics.errors import MissingExtra
from .metric import Metric, Progress

REMEDY = "pip install 'venire[metrics]' && python -m nltk.downloader wordnet"


def _meteor(pairs: Sequence[tuple[str, str]], progress: Progress | None) -> dict[str, list[float]]:
    """References: Banerjee and Lavie (2005), "METEOR: an automatic metric for MT evaluation"."""
    if find_spec("nltk") is None:
        raise MissingExtra("METEOR needs nltk", remedy=REMEDY)
    from nltk.corpus import wordnet
    from nltk.translate.meteor_score import single_meteor_score

    try:
        wordnet.ensure_loaded()
    except LookupError:
        raise MissingExtra("METEOR needs the data of WordNet", remedy=REMEDY) from None
    return {
        "METEOR": [
            single_meteor_score(reference.split(), output.split()) if reference.split() else math.nan
            for output, reference in pairs
        ]
    }


METEOR = Metric("meteor", "METEOR", _meteor, 29, needs="nltk and WordNet", baseline=False)
