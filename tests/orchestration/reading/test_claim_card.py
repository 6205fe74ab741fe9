"""The case card: which words are lit and how, what is left out, and which figures are undefined; on a card written by hand."""

from __future__ import annotations

import io
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from venire import Rubric
from venire.orchestration.counting.claims import ClaimOutcome, claim_shares
from venire.orchestration.reading import claim_card as cards
from venire.orchestration.reading.claim_card import ClaimCard, LitText, card_json, lit_stretches, show_card
from venire.personas.options import ClaimOptions
from venire.rubrics import Case
from venire.rubrics.ballot import Quote
from venire.rubrics.claim import Check, Claim
from venire.rubrics.ratings import Rating

OUTPUT, REFERENCE = "Fever came. Rest helped. He ate.", "There was no fever. Rest was advised. He slept."


def outcome(name: str, verdict: Any, *quotes: str, start: int | None = None, end: int | None = None, **fields: Any) -> ClaimOutcome:  # fmt: skip
    of = "output" if name.startswith("c") else "reference"
    other = REFERENCE if of == "output" else OUTPUT
    evidence = tuple(Quote(text=text, exhibit="it" if text in other else None) for text in quotes)
    check = Check(claim=name, verdict=verdict, evidence=evidence, abstained=None if verdict else "refused")
    claim = Claim(id=name, of=of, text=f"Claim {name}.", start=start, end=end, quote=f"quote {name}", **fields)  # fmt: skip
    return ClaimOutcome(claim, verdict, {"v": check}, "" if verdict else "no majority")


CLAIMS = (
    outcome("c1", "not_supported", "no fever", start=0, end=11),
    outcome("c2", "supported", "Rest was", "cough", start=12, end=24, central=True),
    outcome("c3", None, start=25, end=32),
    outcome("c4", "supported"),
)
BACK = (
    outcome("r1", "not_supported", "Fever", start=0, end=19),
    outcome("r2", "supported", start=20, end=37),
    outcome("r3", "not_addressed"),
    outcome("r4", None),
)
PEOPLE = tuple(Rating(case, "ana", "accurate", 3.0, rationale="She says.") for case in ("x", "y"))
PEOPLE += (Rating("x", "ben", "accurate", 0.0), Rating("x", "cy", "accurate", None))


def card(monkeypatch: pytest.MonkeyPatch, case: Case | None = None, **options: Any) -> ClaimCard:
    """The card as it is made of a verdict whose claims are those above."""
    counted = ClaimOptions(**options)

    def findings(transcript: str, used: ClaimOptions, quorum: int) -> Any:
        assert (transcript, quorum) == ("heard", 2)
        of, against = ([(o.claim, o.verdict) for o in some] for some in (CLAIMS, BACK))
        shares = claim_shares(of), claim_shares(against) if used.both_ways else None
        return cards.ClaimFindings(*shares, used)

    monkeypatch.setattr(cards, "jury_findings", findings)
    verdict: Any = SimpleNamespace(case="x", arm="j", transcript="heard", claims=(*BACK, *CLAIMS))
    jury: Any = SimpleNamespace(claims=ClaimOptions(share="all", threshold=0.9), quorum=2)
    rubric = Rubric.model_validate({"name": "r", "version": 1, "scales": {"s": {"level": "binary", "anchors": {0: "no", 1: "yes"}}}, "attributes": [{"name": "accurate", "question": "Q?", "scale": "s"}], "reference": "shown"})  # fmt: skip
    return cards.claim_card(verdict, jury, rubric, case, options=counted if options else None, people=PEOPLE)


def test_a_card_is_of_its_case_counted_under_the_jurys_options_or_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Case(id="x", output=OUTPUT, reference=REFERENCE, source=("One note.", "Another."), question="Why?")
    mine, other = card(monkeypatch, case), card(monkeypatch, case, against="source", both_ways=True)

    assert (mine.options.share, other.options.share, mine.question) == ("all", "addressed", "Why?")
    assert [e.text for e in mine.texts] == [OUTPUT, REFERENCE]
    assert [e.text for e in other.texts] == [OUTPUT, "One note.\n\nAnother."], (
        "as claims have their places in it"
    )
    assert (mine.claims, mine.back, other.back) == (CLAIMS, BACK, ())
    assert [rating.rater for rating in mine.people] == ["ana", "ben", "cy"]
    bare = card(monkeypatch)
    assert (bare.texts, bare.question) == ((), "") and bare.claims == CLAIMS


@pytest.mark.parametrize(
    ("threshold", "decision"), [(2 / 3, True), (0.667, False), (0.0, True), (1.0, False)]
)
def test_a_case_is_decided_by_the_support_and_omissions_are_what_is_not_borne_out(
    monkeypatch: pytest.MonkeyPatch, threshold: float, decision: bool
) -> None:
    # Of the output's claims two are supported, one is not, and one has no verdict.
    made = card(monkeypatch, threshold=threshold, both_ways=True)
    told = card_json(made)

    assert made.decision is told["concordant"] is decision
    assert told["omissions"] == ["r1", "r3"] and [each["id"] for each in told["claims"]] == ["c1", "c2", "c3", "c4", "r1", "r2", "r3", "r4"]  # fmt: skip
    thirds = {"claims": 4, "undecided": 1, "supported": 2, "not_supported": 1, "not_addressed": 0, **dict.fromkeys(("addressed", "all", "uncontradicted"), pytest.approx(2 / 3))}  # fmt: skip
    assert told["shares"] == thirds
    back = {"addressed": 0.5, "all": pytest.approx(1 / 3), "uncontradicted": pytest.approx(2 / 3)}
    assert told["shares_back"] == {"claims": 4, "undecided": 1, "supported": 1, "not_supported": 1, "not_addressed": 1, **back}  # fmt: skip
    assert told["measures"]["recall"] == told["measures"]["coverage"] == pytest.approx(1 / 3)
    assert told["measures"]["f1"] == pytest.approx(2 * (2 / 3) * (1 / 3)) and told["why"] == {}
    assert told["people"] == [{"rater": name, "attribute": "accurate", "value": value} for name, value in (("ana", 3.0), ("ben", 0.0), ("cy", None))]  # fmt: skip


def test_what_was_not_checked_or_has_no_verdict_is_null_with_why(monkeypatch: pytest.MonkeyPatch) -> None:
    told = card_json(card(monkeypatch))
    assert told["shares_back"] is None
    # Not applicable is no number, and no gap that would need a reason.
    assert told["measures"]["recall"] is told["measures"]["f1"] is None and told["why"] == {}
    monkeypatch.setattr(f"{__name__}.CLAIMS", (CLAIMS[2],))
    hung = card(monkeypatch)
    told = card_json(hung)
    assert hung.decision is told["concordant"] is None and told["shares"]["all"] is None
    assert told["measures"]["support"] is None and "the only claim" in told["why"]["support"]


def test_words_are_lit_by_their_claims_verdict_and_by_what_was_quoted_of_them(monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    made = card(monkeypatch, Case(id="x", output=OUTPUT, reference=REFERENCE), both_ways=True)
    first, second = (made.lit_text(exhibit) for exhibit in made.texts)

    # `Fever` was quoted too, and the contradiction shows.
    assert first == [LitText("Fever came.", "not_supported"), LitText(" ", None), LitText("Rest helped.", "supported"), LitText(" ", None), LitText("He ate.", "undecided")]  # fmt: skip
    # The words that nobody's claim of the text covers are lit as quoted; `cough` stands nowhere.
    assert second == [LitText("There was no fever.", "not_supported"), LitText(" ", None), LitText("Rest was advised.", "supported"), LitText(" He slept.", None)]  # fmt: skip
    one_way = ClaimCard(made.case, made.arm, "", made.texts, made.options, made.findings, made.claims, ())
    assert one_way.lit_text(made.texts[1]) == [LitText("There was ", None), LitText("no fever", "cited"), LitText(". ", None), LitText("Rest was", "cited"), LitText(" advised. He slept.", None)]  # fmt: skip


@pytest.mark.parametrize(
    ("spans", "lights"),
    [
        ([], "....."),
        ([(0, 5, "cited"), (1, 3, "not_addressed")], "caacc"),
        ([(1, 3, "supported"), (0, 5, "not_addressed")], "assaa"),
        ([(0, 4, "supported"), (2, 5, "undecided"), (3, 4, "not_supported")], "ssunu"),
        ([(3, 9, "cited")], "...cc"),
    ],
)
def test_where_claims_share_words_the_gravest_verdict_shows(spans: Any, lights: str) -> None:
    letters = {None: ".", "cited": "c", "not_addressed": "a", "supported": "s", "undecided": "u", "not_supported": "n"}  # fmt: skip
    found = lit_stretches("abcde", spans)

    assert "".join(letters[each.light] * len(each.text) for each in found) == lights
    assert "".join(each.text for each in found) == "abcde"
    assert all(one.light != other.light for one, other in pairwise(found))
    assert lit_stretches("", []) == []


def test_the_card_in_the_terminal_says_what_its_json_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(made: ClaimCard) -> str:
        out = io.StringIO()
        show_card(made, Console(file=out, width=160))
        return " ".join(out.getvalue().split())

    case = Case(id="x", output=OUTPUT, reference=REFERENCE, question="Why?")
    both = told(card(monkeypatch, case, both_ways=True, threshold=0.6))
    assert both.startswith("question Why?") and "There was no fever." in both
    assert "c2 Claim c2. (central) supported v supported “Rest was” “cough” [not in the text]" in both
    assert "c3 Claim c3. no verdict v abstains (refused)" in both
    omitted = both.partition("omissions (claims of the reference")[2]
    assert "r1 Claim r1. “quote r1” not supported" in omitted and "r3 Claim r3." in omitted
    assert "r2" not in omitted and "r4" not in omitted
    assert (
        "addressed 0.667 <- used all 0.667 uncontradicted 0.667 precision 0.667 recall 0.333 f1 0.444" in both
    )
    assert "addressed is at or above the threshold 0.6" in both
    assert both.endswith("ana says accurate 3 She says. ben says accurate 0")
    below = told(card(monkeypatch))
    assert "all is below the threshold 0.9" in below and "recall" not in below and "precision" not in below
    monkeypatch.setattr(f"{__name__}.BACK", (BACK[1],))
    assert "no claim of the reference is left out of the output" in told(card(monkeypatch))
    monkeypatch.setattr(f"{__name__}.CLAIMS", ())
    none = told(card(monkeypatch))
    assert "no claims of the output" in none and "all undefined <- used" in none and "hung: " in none
