"""Words held against a reference: BLEU-1 to 4 and chrF by sacrebleu, ROUGE by rouge-score, WER, CER, MER and WIL by jiwer, METEOR by
nltk, and the ROUGE-L that a judge has to beat.

BLEU is not smoothed and splits at spaces; ROUGE does not stem. Overlaps are from 0 to 1; all are NaN without a reference.
nltk reads WordNet as its own downloader lays it out; where that is missing, any folder of WordNet's database files does, such as Debian's.

References:
    Papineni et al. (2002), "BLEU: a method for automatic evaluation of machine translation".
    Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries".
    Popovic (2015), "chrF: character n-gram F-score for automatic MT evaluation".
    Morris, Maier and Green (2004), "From WER and RIL to MER and WIL".
"""

from __future__ import annotations

import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

from ...rubrics.errors import MissingExtra
from .metric import EXTRA, Metric, Progress, check_package, packaged_metric

if TYPE_CHECKING:
    from nltk.corpus.reader import WordNetCorpusReader

WORD = re.compile(r"\w+")


def rouge_l(output: str, reference: str) -> float:
    """The F1 of the longest common subsequence of words in any script, case aside; NaN without a reference."""
    output_words, reference_words = (WORD.findall(text.casefold()) for text in (output, reference))
    return _subsequence_f1(output_words, reference_words) if reference_words else math.nan


def _subsequence_f1(words: list[str], ref: list[str]) -> float:
    """Twice the longest common subsequence over both lengths, a whole row of its table in one integer.

    References:
        Hyyro (2004), "Bit-parallel LCS-length computation revisited".
    """
    places: dict[str, int] = {}
    for position, word in enumerate(ref):
        places[word] = places.get(word, 0) | 1 << position
    mask = (1 << len(ref)) - 1
    row = mask
    for word in words:
        hit = row & places.get(word, 0)
        row = (row + hit | row - hit) & mask
    return 2 * (len(ref) - row.bit_count()) / (len(words) + len(ref)) if words or ref else 0.0


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
    return "ROUGE reads only the letters a-z and digits, and the reference has none, so a ROUGE of 0 is meaningless here"


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


def _error_rate(name: Literal["wer", "cer", "mer", "wil"], place: int, upper: float) -> Metric:
    def scorer(jiwer: Any) -> Callable[[str, str], float]:
        rate = getattr(jiwer, name)
        # Spaces of any kind part words, and one counts as a character.
        return lambda output, reference: rate(" ".join(reference.split()), " ".join(output.split()))

    return packaged_metric(
        name, name.upper(), place, "jiwer", scorer, family="edit", direction="low", bounds=(0.0, upper)
    )


WER = _error_rate("wer", 10, math.inf)
CER = _error_rate("cer", 11, math.inf)
MER = _error_rate("mer", 12, 1.0)
WIL = _error_rate("wil", 13, 1.0)


class CorpusErrors(NamedTuple):
    """The word errors of many texts together, by jiwer's alignment of each."""

    substitutions: int
    deletions: int
    insertions: int
    hits: int
    cases: int

    @property
    def words(self) -> int:
        """Of the references."""
        return self.substitutions + self.deletions + self.hits

    @property
    def rate(self) -> float:
        """The word error rate of the corpus: long texts weigh more than in the mean of the cases' rates."""
        return (self.substitutions + self.deletions + self.insertions) / self.words


def corpus_errors(pairs: Iterable[tuple[str, str]]) -> CorpusErrors | None:
    """The word errors of all outputs beside those references that have words; None where none has."""
    worded = [(" ".join(output.split()), " ".join(reference.split())) for output, reference in pairs]
    worded = [pair for pair in worded if pair[1]]
    if not worded:
        return None
    check_package("WER", "jiwer")
    from jiwer import process_words

    outputs, references = map(list, zip(*worded, strict=True))
    found = process_words(references, outputs)
    return CorpusErrors(found.substitutions, found.deletions, found.insertions, found.hits, len(worded))


WORDNET_VARIABLE = "WNSEARCHDIR"
"""The environment variable by which WordNet's own programs find their database."""
DEBIAN_WORDNET = Path("/usr/share/wordnet")
LEXICOGRAPHER_FILES = 45
WORDNET_REMEDY = f"apt-get install wordnet-base, or python -m nltk.downloader wordnet, or set {WORDNET_VARIABLE} to the folder of WordNet's files (data.noun, ...)"


def _meteor(pairs: Sequence[tuple[str, str]], progress: Progress | None) -> dict[str, list[float]]:
    """References: Banerjee and Lavie (2005), "METEOR: an automatic metric for MT evaluation"."""
    check_package("METEOR", "nltk", f"{EXTRA}; then {WORDNET_REMEDY}")
    from nltk.translate.meteor_score import single_meteor_score

    wordnet = _wordnet(os.environ.get(WORDNET_VARIABLE, ""))
    return {
        "METEOR": [
            single_meteor_score(reference.split(), output.split(), wordnet=wordnet)
            if reference.split()
            else math.nan
            for output, reference in pairs
        ]
    }


def _wordnet(folder: str) -> WordNetCorpusReader:
    """WordNet from the folder that is named, or else from nltk's data, or else from where Debian puts it.

    Raises:
        MissingExtra: It is in none of these, or not in the folder that is named.
    """
    from nltk.corpus import wordnet

    if folder:
        if not (Path(folder) / "data.noun").is_file():
            raise MissingExtra(
                f"{WORDNET_VARIABLE} is {folder}, which has no file data.noun of WordNet",
                remedy=WORDNET_REMEDY,
            )
        return wordnet_folder(Path(folder))
    try:
        wordnet.ensure_loaded()
    except LookupError:
        if not (DEBIAN_WORDNET / "data.noun").is_file():
            raise MissingExtra("METEOR needs the data of WordNet", remedy=WORDNET_REMEDY) from None
        return wordnet_folder(DEBIAN_WORDNET)
    return wordnet


@cache
def wordnet_folder(folder: Path) -> WordNetCorpusReader:
    """nltk's reader of English WordNet over a folder of database files that its downloader did not make."""
    import nltk.data
    from nltk.corpus.reader import WordNetCorpusReader

    class PlainFolder(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> IO[str]:
            # Debian leaves out this file, whose names METEOR does not use.
            if file == "lexnames" and not (folder / file).exists():
                return io.StringIO(
                    "".join(f"{number:02d} file-{number:02d} 0\n" for number in range(LEXICOGRAPHER_FILES))
                )
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """No table to other WordNets: nltk would look for its own data, and uses it for other languages only."""

    root = str(folder.resolve())
    # nltk reads nothing outside its registered folders.
    if root not in nltk.data.path:
        nltk.data.path.append(root)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The multilingual functions")
        return PlainFolder(root, None)


METEOR = Metric("meteor", "METEOR", _meteor, 29, baseline=False)
