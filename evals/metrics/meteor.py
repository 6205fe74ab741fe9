"""METEOR by nltk, where it and WordNet's data are installed.

nltk reads WordNet as its own downloader lays it out. Where that is missing, any folder of WordNet's database files does, such as Debian's.
"""

from __future__ import annotations

import io
import math
import os
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ...rubrics.errors import MissingExtra
from .metric import EXTRA, Metric, Progress, check_package

if TYPE_CHECKING:
    from nltk.corpus.reader import WordNetCorpusReader

FOLDER = "WNSEARCHDIR"
"""The environment variable by which WordNet's own programs find their database."""
DEBIAN = Path("/usr/share/wordnet")
LEXICOGRAPHER_FILES = 45
DATA = f"apt-get install wordnet-base, or python -m nltk.downloader wordnet, or set {FOLDER} to the folder of WordNet's files (data.noun, ...)"


def _meteor(pairs: Sequence[tuple[str, str]], progress: Progress | None) -> dict[str, list[float]]:
    """References: Banerjee and Lavie (2005), "METEOR: an automatic metric for MT evaluation"."""
    check_package("METEOR", "nltk", f"{EXTRA}; then {DATA}")
    from nltk.translate.meteor_score import single_meteor_score

    wordnet = _wordnet(os.environ.get(FOLDER, ""))
    return {
        "METEOR": [
            single_meteor_score(reference.split(), output.split(), wordnet=wordnet)
            if reference.split()
            else math.nan
            for output, reference in pairs
        ]
    }


def _wordnet(named: str) -> WordNetCorpusReader:
    """WordNet from the folder that is named, or else from nltk's data, or else from where Debian puts it.

    Raises:
        MissingExtra: It is in none of these, or not in the folder that is named.
    """
    from nltk.corpus import wordnet

    if named:
        if not (Path(named) / "data.noun").is_file():
            raise MissingExtra(f"{FOLDER} is {named}, which has no file data.noun of WordNet", remedy=DATA)
        return wordnet_folder(Path(named))
    try:
        wordnet.ensure_loaded()
    except LookupError:
        if not (DEBIAN / "data.noun").is_file():
            raise MissingExtra("METEOR needs the data of WordNet", remedy=DATA) from None
        return wordnet_folder(DEBIAN)
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
