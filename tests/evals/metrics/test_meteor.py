"""METEOR: where WordNet is looked for, and what is said where it is missing."""

from __future__ import annotations

from pathlib import Path

import nltk.corpus
import pytest

from venire.evals.metrics import overlap
from venire.evals.metrics.measuring import TextPair, measure
from venire.evals.metrics.metric import chosen_metrics
from venire.evals.metrics.normalisation import load_normalisation
from venire.rubrics.errors import MissingExtra


class NoData:
    """nltk's WordNet where nothing was downloaded."""

    def ensure_loaded(self) -> None:
        raise LookupError


@pytest.fixture
def no_wordnet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nltk.corpus, "wordnet", NoData())
    monkeypatch.setattr(overlap, "DEBIAN_WORDNET", tmp_path / "nowhere")
    monkeypatch.delenv(overlap.WORDNET_VARIABLE, raising=False)


def write_wordnet(folder: Path) -> Path:
    """A WordNet of one meaning, laid out as Debian does it: without the file lexnames."""
    folder.mkdir()
    for part in ("noun", "verb", "adj", "adv"):
        for name in (f"data.{part}", f"index.{part}", f"{part}.exc"):
            (folder / name).write_text("")
    (folder / "data.noun").write_text("00000000 06 n 02 physician 0 doctor 0 000 | a licensed practitioner\n")
    (folder / "index.noun").write_text("doctor n 1 0 1 0 00000000\nphysician n 1 0 1 0 00000000\n")
    return folder


def meteor_of(said: str, heard: str) -> float:
    (found,) = measure(
        [TextPair("a", said, heard)], chosen_metrics(["meteor"]), normal=load_normalisation("plain")
    )
    return found.values["a"]


@pytest.mark.usefixtures("no_wordnet")
def test_a_plain_folder_of_wordnet_gives_synonyms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(overlap.WORDNET_VARIABLE, str(write_wordnet(tmp_path / "dict")))

    # All three words match in one chunk: the penalty is half of (1/3) to the third.
    assert meteor_of("see the doctor", "see the physicians") == pytest.approx(1 - 0.5 / 27)
    assert meteor_of("see the doctor", "see the nurse") < 0.7


@pytest.mark.usefixtures("no_wordnet")
def test_debians_folder_is_found_unasked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(overlap, "DEBIAN_WORDNET", write_wordnet(tmp_path / "dict"))

    assert meteor_of("the doctor", "the physician") == pytest.approx(1 - 0.5 / 8)


@pytest.mark.usefixtures("no_wordnet")
def test_without_wordnet_the_remedies_are_named() -> None:
    with pytest.raises(MissingExtra, match="data of WordNet") as missing:
        meteor_of("a", "a")

    assert all(
        way in missing.value.remedy
        for way in ("apt-get install wordnet-base", "nltk.downloader", "WNSEARCHDIR")
    )


@pytest.mark.usefixtures("no_wordnet")
def test_a_folder_without_wordnet_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(overlap.WORDNET_VARIABLE, str(tmp_path))

    with pytest.raises(MissingExtra, match="which has no file"):
        meteor_of("a", "a")
