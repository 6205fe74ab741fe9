"""The metrics against the paper's table and against the programs that papers report."""

from __future__ import annotations

import math
import random
import warnings

import jiwer
import pytest
from nltk.translate.bleu_score import sentence_bleu
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import CHRF

from venire.evals.metrics.edit import cer, edit_counts, edit_steps, mer, wer, wil
from venire.evals.metrics.measuring import TextPair, measure
from venire.evals.metrics.metric import chosen_metrics
from venire.evals.metrics.ngrams import bleu, chrf, rouge_lcs, rouge_n
from venire.evals.metrics.normalisation import load_normalisation
from venire.rubrics.errors import MissingExtra

TWO = [
    TextPair(
        "A",
        "Not throat, but I can , yeah, I can I can definitely feel something in the lips, yeah.",
        "not so but i can i yeah i can i can definitely feel something in the lips yeah",
    ),
    TextPair("B", "Uh, no, no, been feeling fine actually.", "no no it's sitting fine actually"),
]
PUBLISHED = {
    "wer": (0.1176, 0.3333), "cer": (0.0875, 0.2500), "mer": (0.1111, 0.3333), "wil": (0.1634, 0.5556),
    "bleu1": (0.8889, 0.6667), "bleu2": (0.8245, 0.5164), "bleu3": (0.7760, 0), "bleu4": (0.7277, 0),
    "rouge1": (0.9143, 0.6667), "rouge2": (0.7879, 0.4000), "rougeL": (0.9143, 0.6667),
    "chrf": (0.8387, 0.5767), "chrf++": (0.8459, 0.5659), "minilm": (0.7402, 0.5003),
    "meteor": (0.9214, 0.6250),
}  # fmt: skip
WORDS = [
    "pain",
    "no",
    "the",
    "my",
    "b12",
    "21st",
    "1,000",
    "naïve",
    "痛み",
    "שלום",
    "café",
    "2.5",
    "-3",
    "(hi)",
    "don't",
    "a",
    "I",
    "ok",
    "...",
    "İstanbul",
]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_papers_two_examples(name: str) -> None:
    try:
        (found,) = measure(TWO, chosen_metrics([name]), normal=load_normalisation("asr-en"))
    except MissingExtra as missing:
        pytest.skip(missing.problem)
    assert [found.values[case] for case in "AB"] == pytest.approx(PUBLISHED[name], abs=5e-5)


def ragged_pair(rng: random.Random) -> tuple[str, str]:
    said = rng.choices(WORDS, k=rng.randint(0, 14))
    heard = list(said) if rng.random() < 0.5 else rng.choices(WORDS, k=rng.randint(0, 14))
    for _ in range(rng.randint(0, 4)):
        place = rng.randint(0, len(heard))
        heard[place : place + rng.randint(0, 1)] = rng.choices(WORDS, k=rng.randint(0, 1))
    return rng.choice([" ", "  "]).join(said), " ".join(heard)


def test_a_thousand_ragged_pairs_agree_with_other_programs() -> None:
    rng = random.Random(22)
    rouge, plain, words = RougeScorer(["rouge1", "rouge2", "rougeL"]), CHRF(), CHRF(word_order=2)
    for _ in range(1000):
        reference, output = ragged_pair(rng)
        mine = {
            "wer": wer(output, reference), "cer": cer(output, reference),
            "mer": mer(output, reference), "wil": wil(output, reference),
            **{n: bleu(output, reference, n) for n in (1, 2, 3, 4)},
            "rouge1": rouge_n(output, reference, 1), "rouge2": rouge_n(output, reference, 2),
            "rougeL": rouge_lcs(output, reference),
            "chrf": chrf(output, reference), "chrf++": chrf(output, reference, word_order=2),
        }  # fmt: skip
        if not reference:
            assert all(map(math.isnan, mine.values()))
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = {
                n: sentence_bleu([reference.split()], output.split(), [1 / n] * n) for n in (1, 2, 3, 4)
            }
        by_words, scored = jiwer.process_words(reference, output), rouge.score(reference, output)
        theirs |= {
            "wer": by_words.wer, "mer": by_words.mer, "wil": by_words.wil,
            "cer": jiwer.cer(" ".join(reference.split()), output),
            **{name: scored[name].fmeasure for name in ("rouge1", "rouge2", "rougeL")},
            "chrf": plain.sentence_score(output, [reference]).score / 100,
            "chrf++": words.sentence_score(output, [reference]).score / 100,
        }  # fmt: skip
        assert mine == pytest.approx(theirs, abs=1e-9), (reference, output)


def test_an_alignment_leads_from_one_text_to_the_other() -> None:
    rng = random.Random(5)
    for _ in range(200):
        said, heard = rng.choices("abcd", k=rng.randint(0, 9)), rng.choices("abcd", k=rng.randint(0, 9))
        steps = edit_steps(said, heard)
        assert [said[s.reference] for s in steps if s.operation != "insert"] == said
        assert [heard[s.output] for s in steps if s.operation != "delete"] == heard
        assert all(
            (said[s.reference] == heard[s.output]) == (s.operation == "equal")
            for s in steps
            if s.operation in ("equal", "substitute")
        )


def test_texts_of_thousands_of_words() -> None:
    said = [str(n % 97) for n in range(5000)]
    assert edit_counts(said, [word for n, word in enumerate(said) if n % 10]).deletions == 500
