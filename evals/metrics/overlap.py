"""Text overlap with a reference: the baselines that a judge has to beat."""

import math
import re
from collections import Counter

from .metric import Metric

WORD = re.compile(r"\w+")


def rouge_l(output: str, reference: str) -> float:
    """The F1 of the longest common subsequence of words, case aside; NaN without a reference.

    References:
        Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries".
    """
    given, wanted = _words(output), _words(reference)
    if not wanted:
        return math.nan
    return 2 * common_subsequence(given, wanted) / (len(given) + len(wanted))


def token_f1(output: str, reference: str) -> float:
    """The F1 of shared words, counted as often as both hold them; NaN without a reference.

    References:
        Rajpurkar et al. (2016), "SQuAD", section 6.1.
    """
    given, wanted = _words(output), _words(reference)
    if not wanted:
        return math.nan
    return 2 * (Counter(given) & Counter(wanted)).total() / (len(given) + len(wanted))


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def common_subsequence(given: list[str], wanted: list[str]) -> int:
    """The length of the longest common subsequence, a whole row of the table in one integer.

    References:
        Hyyro (2004), "Bit-parallel LCS-length computation revisited".
    """
    places: dict[str, int] = {}
    for position, word in enumerate(wanted):
        places[word] = places.get(word, 0) | 1 << position
    full = (1 << len(wanted)) - 1
    row = full
    for word in given:
        hit = row & places.get(word, 0)
        row = (row + hit | row - hit) & full
    return len(wanted) - row.bit_count()


ROUGE_L = Metric(
    "rouge-l",
    "ROUGE-L",
    lambda pairs, progress: {"ROUGE-L": [rouge_l(*pair) for pair in pairs]},
    1,
    family=None,
)
