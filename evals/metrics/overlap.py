"""Overlap with a reference: BLEU-1 to 4 and chrF by sacrebleu, ROUGE by rouge-score, and the ROUGE-L that a judge has to beat.

BLEU is not smoothed and splits at spaces; ROUGE does not stem. All are from 0 to 1 and NaN without a reference.

References:
    Papineni et al. (2002), "BLEU: a method for automatic evaluation of machine translation".
    Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries".
    Popovic (2015), "chrF: character n-gram F-score for automatic MT evaluation".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from .metric import Metric, packaged_metric

WORD = re.compile(r"\w+")


def rouge_l(output: str, reference: str) -> float:
    """The F1 of the longest common subsequence of words in any script, case aside; NaN without a reference."""
    heard, said = (WORD.findall(text.casefold()) for text in (output, reference))
    return _subsequence_f1(heard, said) if said else math.nan


def _subsequence_f1(heard: list[str], said: list[str]) -> float:
    """Twice the longest common subsequence over both lengths, a whole row of its table in one integer.

    References:
        Hyyro (2004), "Bit-parallel LCS-length computation revisited".
    """
    places: dict[str, int] = {}
    for position, word in enumerate(said):
        places[word] = places.get(word, 0) | 1 << position
    full = (1 << len(said)) - 1
    row = full
    for word in heard:
        hit = row & places.get(word, 0)
        row = (row + hit | row - hit) & full
    return 2 * (len(said) - row.bit_count()) / (len(heard) + len(said)) if heard or said else 0.0


def _bleu(order: int) -> Metric:
    def scorer(sacrebleu: Any) -> Callable[[str, str], float]:
        bleu = sacrebleu.BLEU(max_ngram_order=order, tokenize="none", smooth_method="none", force=True)
        return lambda output, reference: (
            bleu.corpus_score([" ".join(output.split())], [[" ".join(reference.split())]]).score / 100
        )

    return packaged_metric(f"bleu{order}", f"BLEU-{order}", 19 + order, "sacrebleu", scorer)


def _chrf(name: str, title: str, place: int, word_order: int) -> Metric:
    def scorer(sacrebleu: Any) -> Callable[[str, str], float]:
        chrf = sacrebleu.CHRF(word_order=word_order)
        return lambda output, reference: chrf.sentence_score(output, [reference]).score / 100

    return packaged_metric(name, title, place, "sacrebleu", scorer)


def _rouge(name: str, title: str, place: int, scorer: Callable[[Any], Callable[[str, str], float]]) -> Metric:
    return packaged_metric(name, title, place, "rouge_score", scorer, note=_rouge_note)


def _rouge_n(n: int) -> Metric:
    def scorer(package: Any) -> Callable[[str, str], float]:
        from rouge_score.rouge_scorer import RougeScorer

        rouge = RougeScorer([f"rouge{n}"])
        return lambda output, reference: rouge.score(reference, output)[f"rouge{n}"].fmeasure

    return _rouge(f"rouge{n}", f"ROUGE-{n}", 23 + n, scorer)


def _rouge_lcs(package: Any) -> Callable[[str, str], float]:
    """Over rouge-score's words; its own table takes a minute and 800 MB for two texts of ten thousand of them."""
    from rouge_score.tokenize import tokenize

    return lambda output, reference: _subsequence_f1(tokenize(output, None), tokenize(reference, None))


def _rouge_note(output: str, reference: str) -> str:
    if re.search("[a-z0-9]", reference.lower()) or not reference.strip():
        return ""
    return "ROUGE knows only the letters a-z and digits, and the reference has none: 0 says nothing here"


ROUGE_L = Metric(
    "rouge-l",
    "ROUGE-L",
    lambda pairs, progress: {"ROUGE-L": [rouge_l(*pair) for pair in pairs]},
    1,
    family=None,
)
BLEU1, BLEU2, BLEU3, BLEU4 = map(_bleu, (1, 2, 3, 4))
ROUGE1, ROUGE2 = map(_rouge_n, (1, 2))
ROUGE_LCS = _rouge("rougeL", "ROUGE-L", 26, _rouge_lcs)
CHRF = _chrf("chrf", "chrF", 27, word_order=0)
CHRF_WORDS = _chrf("chrf++", "chrF++", 28, word_order=2)
