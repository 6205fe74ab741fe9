"""Overlap of word and character n-grams with a reference: BLEU-1 to 4, ROUGE-1, 2 and L, chrF, chrF++.

Each follows the program that papers report: BLEU nltk's, without smoothing; ROUGE rouge-score's, without stemming; chrF sacrebleu's.
All are from 0 to 1 and NaN without a reference.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from .metric import Metric
from .overlap import common_subsequence

ROUGE_WORD = re.compile("[a-z0-9]+")
CHARACTER_ORDER, WORD_ORDER, BETA = 6, 2, 2
PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def ngrams(items: Sequence[Hashable], n: int) -> Counter[tuple[Hashable, ...]]:
    """How often each run of n items occurs."""
    return Counter(tuple(items[place : place + n]) for place in range(len(items) - n + 1))


def bleu(output: str, reference: str, order: int) -> float:
    """The geometric mean of n-gram precisions up to `order`, times a penalty for brevity; 0 where one precision is 0.

    References:
        Papineni et al. (2002), "BLEU: a method for automatic evaluation of machine translation".
    """
    given, wanted = output.split(), reference.split()
    if not wanted:
        return math.nan
    logs = 0.0
    for n in range(1, order + 1):
        mine = ngrams(given, n)
        shared = (mine & ngrams(wanted, n)).total()
        if not shared:
            return 0.0
        logs += math.log(shared / mine.total())
    brevity = min(0.0, 1 - len(wanted) / len(given))
    return math.exp(brevity + logs / order)


def rouge_n(output: str, reference: str, n: int) -> float:
    """The F1 of shared n-grams of words; a word is a run of a-z and 0-9, whatever its case.

    References:
        Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries".
    """
    given, wanted = (ngrams(_rouge_words(text), n) for text in (output, reference))
    return _f1((given & wanted).total(), given.total(), wanted.total()) if reference.strip() else math.nan


def rouge_lcs(output: str, reference: str) -> float:
    """The F1 of the longest common subsequence of words, as in `rouge_n`."""
    given, wanted = _rouge_words(output), _rouge_words(reference)
    if not reference.strip():
        return math.nan
    return _f1(common_subsequence(given, wanted), len(given), len(wanted)) if given and wanted else 0.0


def chrf(output: str, reference: str, *, word_order: int = 0) -> float:
    """The F-score of character n-grams up to 6, spaces left out, recall counted twice; with words too, chrF++.

    References:
        Popovic (2015), "chrF: character n-gram F-score for automatic MT evaluation".
    """
    if not reference.strip():
        return math.nan
    sides = [(1 + n, "".join(output.split()), "".join(reference.split())) for n in range(CHARACTER_ORDER)]
    words = [(1 + n, _chrf_words(output), _chrf_words(reference)) for n in range(word_order)]
    precisions, recalls = [], []
    for n, mine, theirs in (*sides, *words):
        given, wanted = ngrams(mine, n), ngrams(theirs, n)
        if given and wanted:
            shared = (given & wanted).total()
            precisions.append(shared / given.total())
            recalls.append(shared / wanted.total())
    if not any(precisions):
        return 0.0
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def _rouge_words(text: str) -> list[str]:
    return ROUGE_WORD.findall(text.lower())


def _chrf_words(text: str) -> list[str]:
    """The words, one mark of punctuation at the end or else at the start of a word set apart."""
    words: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


def _f1(shared: int, given: int, wanted: int) -> float:
    return 2 * shared / (given + wanted) if given and wanted else 0.0


def _rouge_note(output: str, reference: str) -> str:
    if _rouge_words(reference) or not reference.strip():
        return ""
    return "ROUGE knows only the letters a-z and digits, and the reference has none: 0 says nothing here"


def _overlap(
    name: str,
    title: str,
    place: int,
    measure: Callable[[str, str], float],
    note: Callable[[str, str], str] | None = None,
) -> Metric:
    return Metric(
        name,
        title,
        lambda pairs, progress: {title: [measure(*pair) for pair in pairs]},
        place,
        baseline=False,
        note=note,
    )


BLEU1 = _overlap("bleu1", "BLEU-1", 20, lambda output, reference: bleu(output, reference, 1))
BLEU2 = _overlap("bleu2", "BLEU-2", 21, lambda output, reference: bleu(output, reference, 2))
BLEU3 = _overlap("bleu3", "BLEU-3", 22, lambda output, reference: bleu(output, reference, 3))
BLEU4 = _overlap("bleu4", "BLEU-4", 23, lambda output, reference: bleu(output, reference, 4))
ROUGE1 = _overlap(
    "rouge1", "ROUGE-1", 24, lambda output, reference: rouge_n(output, reference, 1), _rouge_note
)
ROUGE2 = _overlap(
    "rouge2", "ROUGE-2", 25, lambda output, reference: rouge_n(output, reference, 2), _rouge_note
)
ROUGE_LCS = _overlap("rougeL", "ROUGE-L", 26, rouge_lcs, _rouge_note)
CHRF = _overlap("chrf", "chrF", 27, chrf)
CHRF_WORDS = _overlap(
    "chrf++", "chrF++", 28, lambda output, reference: chrf(output, reference, word_order=WORD_ORDER)
)
