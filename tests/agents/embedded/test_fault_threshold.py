"""The odds at which a reason may find fault."""

from __future__ import annotations

import json

import numpy as np
import pytest

from venire.agents.embedded.sampling import KEY, FaultThreshold, Reasons, read_thresholds

WORDS = ["Right", "Wrong", "Invented", "Brief", "other"]
ACCURACY = FaultThreshold(
    fine="Right",
    faults=("Wrong", "Invented"),
    odds=2.0,
)
BEGUN = b'{"accurate": {"rationale": "'


def _reasons(*thresholds: FaultThreshold) -> Reasons:
    return Reasons(thresholds, lambda word: [WORDS.index(word)])


def _logits(**odds: float) -> np.ndarray:
    return np.array([odds.get(word, -20.0) for word in WORDS], np.float32)


def _first_word(logits: np.ndarray, text: bytes = BEGUN) -> str:
    return WORDS[int(_reasons(ACCURACY).weighed_logits(logits, text).argmax())]


@pytest.mark.parametrize(
    ("wrong", "first"), [(-3.0, "Right"), (0.5, "Right"), (1.9, "Right"), (2.1, "Wrong"), (9.0, "Wrong")]
)
def test_a_fault_is_found_only_at_odds_above_the_threshold(wrong, first):
    assert _first_word(_logits(Right=0.0, Wrong=wrong)) == first


def test_faults_of_every_kind_count_together():
    # Each alone has odds of 1.5, both have 2.2.
    assert _first_word(_logits(Right=0.0, Wrong=1.5, Invented=1.4)) == "Wrong"


def test_elsewhere_nothing_is_moved():
    logits = _logits(Right=0.0, Wrong=1.0)
    for text in (b"", BEGUN + b"W", b'{"accurate": {"rationale": "Wrong", "evidence": ["'):
        assert _first_word(logits, text) == "Wrong"


def test_a_reason_on_another_matter_is_left_alone():
    logits = _logits(Brief=5.0, Wrong=1.0, Right=0.0)
    assert (_reasons(ACCURACY).weighed_logits(logits, BEGUN) == logits).all()


def test_of_several_thresholds_the_one_whose_words_are_likely_is_used():
    brevity = FaultThreshold(fine="Brief", faults=("other",), odds=3.0)
    reasons = _reasons(ACCURACY, brevity)
    assert WORDS[int(reasons.weighed_logits(_logits(Brief=0.0, other=2.5), BEGUN).argmax())] == "Brief"
    assert WORDS[int(reasons.weighed_logits(_logits(Right=0.0, Wrong=2.5), BEGUN).argmax())] == "Wrong"


def test_the_logits_that_are_given_stay_as_they_are():
    logits = _logits(Right=0.0, Wrong=1.0)
    _reasons(ACCURACY).weighed_logits(logits, BEGUN)
    assert logits[1] == 1.0


def test_a_header_names_its_thresholds():
    header = {KEY: json.dumps([ACCURACY.model_dump()])}
    assert read_thresholds(header) == (ACCURACY,)
    assert read_thresholds({}) == ()
    assert read_thresholds(
        {KEY: json.dumps([{**ACCURACY.model_dump(), "endings": [" A small error."]}])}
    ) == (ACCURACY,)


EASIER = '[{"fine": "Right", "faults": ["Wrong"], "odds": -1}]'


@pytest.mark.parametrize("entry", ["{", "3", '[{"fine": "Right"}]', '[{"unknown": 1}]', EASIER, 7])
def test_a_header_that_cannot_be_read_is_refused(entry):
    with pytest.raises(ValueError, match="cannot be read"):
        read_thresholds({KEY: entry})
