"""What verdicts on claims add up to: majorities, shares, measures, and a reason wherever there is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venire import Jury, Rubric, Stop, Transcript, VenireError
from venire.orchestration.counting.claims import (
    ClaimFindings,
    ClaimShares,
    by_claim,
    claim_outcomes,
    claim_shares,
    count_claims,
    jury_findings,
    omissions,
    require_countable,
    seat_findings,
    why_nothing,
)
from venire.orchestration.counting.rule import Counted, Tally
from venire.orchestration.transcript import Checked, Extracted
from venire.personas.options import ClaimOptions
from venire.rubrics.claim import Check, Claim
from venire.rubrics.scale import Scale

S, NS, NA = "supported", "not_supported", "not_addressed"
SHARE = {"level": "interval", "minimum": 0, "maximum": 1}
YES = {"level": "binary", "anchors": {0: "no", 1: "yes"}}


def rubric(*names: str, scale: dict[str, Any] = SHARE, **fields: object) -> Rubric:
    asked = [{"name": name, "question": "?", "scale": "share"} for name in names]
    return Rubric.model_validate({"name": "r", "version": 1, "scales": {"share": scale}, "attributes": asked, "reference": "shown", **fields})  # fmt: skip


def check(claim: str, verdict: str | None) -> Check:
    return Check.model_validate(
        {
            "claim": claim,
            "verdict": verdict,
            **({} if verdict else {"abstained": "unparsable", "detail": "?"}),
        }
    )


def heard(
    votes: dict[str, list[str | None]],
    *,
    of: str = "output",
    other: list[str] | None = None,
    central: int = 0,
) -> Transcript:
    """Claims `of` a text, the first ones `central`, with the verifiers' verdicts in their order; with `other`, as many of the reference, all found so by `a`."""
    number = len(next(iter(votes.values()), []))
    claims = tuple(Claim(id=f"{of}-{n}", text=f"claim {n}", central=n < central) for n in range(number))
    made = Transcript(case="c", arm="j", protocol="decompose-verify", seats=tuple(votes))
    made = made.add([Extracted(round=1, who="x", of=of, claims=claims)])
    if other is not None:
        back = tuple(Claim(id=f"reference-{n}", text=f"other {n}") for n in range(len(other)))
        made = made.add([Extracted(round=1, who="x", of="reference", claims=back)])
        checks = tuple(check(claim.id, verdict) for claim, verdict in zip(back, other, strict=True))
        made = made.add([Checked(round=1, juror="a", of="reference", against=of, checks=checks)])
    for juror, given_verdicts in votes.items():
        checks = tuple(check(c.id, v) for c, v in zip(claims, given_verdicts, strict=True))
        made = made.add([Checked(round=1, juror=juror, of=of, against="reference", checks=checks)])
    return made.with_stop(Stop(reason="complete"))


def test_a_claims_verdict_is_that_of_more_than_half_of_those_who_gave_one() -> None:
    transcript = heard({"a": [S, S, S, None], "b": [S, NS, NS, None], "c": [NS, NS, None, None]})
    found = claim_outcomes(transcript)

    assert [each.verdict for each in found] == [S, NS, None, None]
    assert [each.claim.id for each in found] == ["output-0", "output-1", "output-2", "output-3"]
    assert [each.why for each in found] == ["", "", "no verdict has a majority", "too few verifiers gave a verdict on this claim: 0 of the 1 that are needed"]  # fmt: skip
    assert found[0].dissent == ("c",) and found[0].votes == {"a": S, "b": S, "c": NS}
    assert found[2].dissent == ("a", "b") and list(found[3].checks) == ["a", "b", "c"]
    assert [each.verdict for each in claim_outcomes(transcript, quorum=3)] == [S, NS, None, None]
    assert (
        claim_outcomes(transcript, quorum=3)[2].why
        == "too few verifiers gave a verdict on this claim: 2 of the 3 that are needed"
    )
    assert [each.verdict for each in claim_outcomes(transcript, quorum=2)][2:] == [None, None]


@given(st.lists(st.sampled_from([S, NS, NA]), min_size=1, max_size=5), st.integers(0, 5), st.integers(1, 3))
def test_who_abstains_on_a_claim_neither_makes_nor_breaks_its_majority(
    given_verdicts: list[str], abstaining: int, quorum: int
) -> None:
    voters = {f"v{n}": [verdict] for n, verdict in enumerate(given_verdicts)}
    silent: dict[str, list[str | None]] = {f"s{n}": [None] for n in range(abstaining)}
    (alone,), (among,) = (
        claim_outcomes(heard(found), quorum=quorum) for found in (voters, {**voters, **silent})
    )

    assert (among.verdict, among.why, among.dissent, among.votes) == (
        alone.verdict,
        alone.why,
        alone.dissent,
        alone.votes,
    )


def test_claims_of_one_text_or_of_all_in_order() -> None:
    transcript = heard({"a": [S]}, other=[NA, S, NS])
    assert [each.claim.id for each in claim_outcomes(transcript)] == ["output-0", "reference-0", "reference-1", "reference-2"]  # fmt: skip
    assert [each.claim.id for each in claim_outcomes(transcript, "output")] == ["output-0"]
    assert [each.claim.id for each in omissions(claim_outcomes(transcript))] == ["reference-0", "reference-2"]


def test_shares_by_hand() -> None:
    claims = [Claim(id=str(n), text="t", central=n == 0) for n in range(7)]
    verdicts = [S, S, S, NS, NA, NA, None]
    plain = claim_shares(zip(claims, verdicts, strict=True))  # type: ignore[arg-type]
    heavy = claim_shares(zip(claims, verdicts, strict=True), central_weight=3)  # type: ignore[arg-type]

    assert (plain.supported, plain.not_supported, plain.not_addressed, plain.claims, plain.undecided) == (3, 1, 2, 7, 1)  # fmt: skip
    assert (plain.addressed, plain.all, plain.uncontradicted, plain.contradicted) == (
        3 / 4,
        3 / 6,
        5 / 6,
        1 / 6,
    )
    assert heavy.supported == 5 and heavy.total == 8
    assert [plain.share(name) for name in ("addressed", "all", "uncontradicted")] == [3 / 4, 3 / 6, 5 / 6]
    assert str(plain) == (
        "7 claims: 3 supported, 1 not supported, 2 not addressed, 1 without a verdict; "
        "shares: addressed 0.750, all 0.500, uncontradicted 0.833"
    )
    nothing = ClaimShares()
    assert (nothing.addressed, nothing.all, nothing.contradicted, nothing.enough) == (None, None, None, False)
    assert str(nothing) == (
        "0 claims: 0 supported, 0 not supported, 0 not addressed; "
        "shares: addressed undefined, all undefined, uncontradicted undefined"
    )


@given(st.lists(st.sampled_from([S, NS, NA, None]), max_size=12))
def test_counts_add_up_and_what_has_no_verdict_is_in_no_share(verdicts: list[str | None]) -> None:
    claims = [Claim(id=str(n), text="t") for n in range(len(verdicts))]
    found = claim_shares(zip(claims, verdicts, strict=True))  # type: ignore[arg-type]
    decided = [each for each in verdicts if each]
    again = claim_shares((Claim(id="x", text="t"), each) for each in decided)  # type: ignore[misc]

    assert found.total + found.undecided == found.claims == len(verdicts)
    assert (found.addressed, found.all, found.uncontradicted) == (
        again.addressed,
        again.all,
        again.uncontradicted,
    )
    assert found.enough is (bool(verdicts) and 2 * len(decided) >= len(verdicts))
    if found.all is not None and found.contradicted is not None and found.uncontradicted is not None:
        assert found.uncontradicted + found.contradicted == pytest.approx(1)
        assert found.all <= found.uncontradicted


def measured(transcript: Transcript, name: str, **options: object) -> Counted:
    return jury_findings(transcript, ClaimOptions.model_validate(options)).measure(name)


def test_measures_of_both_ways() -> None:
    transcript = heard({"a": [S, S, NS, NA]}, other=[S, NA])
    two = {"both_ways": True, "against": "reference"}

    assert measured(transcript, "support", **two)[:2] == (2 / 3, "claims")
    assert measured(transcript, "support", share="all", **two).value == 2 / 4
    assert measured(transcript, "precision", **two).value == 2 / 4
    assert measured(transcript, "contradiction", **two).value == 1 / 4
    assert (
        measured(transcript, "recall", **two).value == measured(transcript, "coverage", **two).value == 1 / 2
    )
    f1 = measured(transcript, "f1", **two)
    assert f1 == (pytest.approx(2 * 0.5 * 0.5 / 1), "claims", "precision 0.500, recall 0.500")
    uneven = heard({"a": [S, S, S, NS]}, other=[S, NA])
    assert measured(uneven, "f1", **two).value == pytest.approx(2 * 0.75 * 0.5 / 1.25)
    nothing = heard({"a": [NS]}, other=[NS])
    assert measured(nothing, "f1", **two).value == 0.0
    assert measured(transcript, "support", **two).why.startswith("4 claims: 2 supported, 1 not supported")
    assert measured(transcript, "recall", **two).why.startswith("2 claims: 1 supported, 0 not supported")


def test_one_way_there_is_no_recall() -> None:
    transcript = heard({"a": [S]})
    for name in ("recall", "coverage", "f1"):
        assert measured(transcript, name) == (
            "not_applicable",
            "claims",
            "the claims of the output were checked against the reference, but the claims of the reference were not checked against the output",
        )


def test_too_few_verdicts_make_no_number_and_half_do() -> None:
    half, fewer = heard({"a": [S, None]}), heard({"a": [S, None, None]})
    assert measured(half, "support").value == 1.0
    found = measured(fewer, "support")
    assert found == (None, "none", "2 of the 3 claims of the output have no verdict")
    back = heard({"a": [S]}, other=[S])
    two = ClaimOptions(both_ways=True, against="reference")
    undecided = ClaimFindings(ClaimShares(1, claims=1), ClaimShares(1, claims=3, undecided=2), two)
    assert undecided.measure("recall") == (
        None,
        "none",
        "2 of the 3 claims of the reference have no verdict",
    )
    assert undecided.measure("f1").value is None
    assert jury_findings(back, two).measure("recall").value == 1.0
    silent = measured(heard({"a": [NA, NA]}), "support", against="reference")
    assert silent == (None, "none", "the reference does not address any of the 2 claims")
    only = [measured(heard({"a": [verdict]}), "support", against="reference").why for verdict in (NA, None)]
    assert only == [
        "the reference does not address the only claim",
        "the only claim of the output has no verdict",
    ]
    turned = ClaimFindings(ClaimShares(1, claims=3, undecided=2), ClaimShares(1, claims=1), two)
    assert turned.measure("f1") == turned.measure("precision") and turned.measure("f1").value is None


def test_why_there_is_nothing_to_count() -> None:
    empty = Transcript(case="c", arm="j", protocol="decompose-verify", seats=())
    assert why_nothing(empty, "output") == "the claims of the output were not extracted"
    assert why_nothing(empty.with_stop(Stop(reason="budget", detail="spent")), "output") == "spent"
    none = empty.add([Extracted(round=1, who="x", of="output", claims=())])
    assert why_nothing(none, "output") == "the output makes no claim that can be checked"
    failed = empty.add([Extracted(round=1, who="x", of="output", claims=(), failed="refused", detail="no")])
    assert why_nothing(failed, "output") == "no claims of the output: refused: no"
    assert why_nothing(none, "reference") == "the claims of the reference were not extracted"
    assert why_nothing(heard({"a": [S]}), "output") == ""
    assert measured(none, "support") == (None, "none", "the output makes no claim that can be checked")
    two = {"both_ways": True, "against": "reference"}
    assert measured(none, "recall", **two).why == "the output makes no claim that can be checked"
    forward = heard({"a": [S]})
    assert measured(forward, "recall", **two) == (
        None,
        "none",
        "the claims of the reference were not extracted",
    )
    assert measured(forward, "precision", **two).value == 1.0


@pytest.mark.parametrize(("threshold", "value"), [(0.75, 1), (0.76, 0), (0.8, 0), (0.1, 1)])
def test_two_values_are_parted_by_the_threshold(threshold: float, value: int) -> None:
    jury = Jury.model_validate(
        {"name": "j", "seats": [{"name": "a"}], "claims": {"threshold": threshold}, "quorum": 1}
    )
    found = count_claims(heard({"a": [S, S, S, NS]}), rubric("concordant", scale=YES), jury)["concordant"]

    assert found[:2] == (value, "claims")
    assert found.why == f"addressed 0.750, threshold {threshold:g}"


def test_a_transcript_of_another_protocol_has_no_claims_to_count() -> None:
    jury = Jury.model_validate({"name": "j", "seats": [{"name": "a"}, {"name": "b"}], "quorum": 2})
    transcript = heard({"a": [S], "b": [S]})
    assert count_claims(transcript, rubric("precision", "support"), jury)["precision"].value == 1.0
    assert list(count_claims(transcript, rubric("precision", "support"), jury)) == ["precision", "support"]
    assert count_claims(heard({"a": [S]}), rubric("precision"), jury)["precision"].value is None
    assert count_claims(transcript.model_copy(update={"protocol": "panel"}), rubric("precision"), jury) == {}
    hung = count_claims(heard({"a": [None]}), rubric("concordant", scale=YES), jury)["concordant"]
    assert (hung.value, hung.method) == (None, "none")


def test_one_seat_is_counted_by_its_own_checks() -> None:
    transcript = heard({"a": [S, S], "b": [NS, S], "c": [NS, None]}, other=[S], central=1)
    options = ClaimOptions(central_weight=2)
    assert [seat_findings(transcript, options, juror).measure("precision").value for juror in "abc"] == [
        1,
        1 / 3,
        0,
    ]
    assert seat_findings(transcript, options, "nobody").measure("precision").value is None
    together = jury_findings(transcript, options).of
    assert (together.claims, together.not_supported, together.supported) == (2, 2, 1)
    unheard = transcript.model_copy(update={"entries": transcript.entries[:1]})
    assert [dict(each.checks) for each in claim_outcomes(unheard)] == [{}, {}], "nobody has checked yet"


def test_what_cannot_be_counted_is_refused() -> None:
    options = ClaimOptions(against="source")
    require_countable(rubric("support", "f1"), options)
    require_countable(rubric("anything", scale=YES), options)
    with pytest.raises(VenireError, match=r"cannot answer the question 'style'[^$]*support, precision"):
        require_countable(rubric("support", "style"), options)
    two = {"share": SHARE, "yes": YES}
    mixed = [{"name": name, "question": "?", "scale": scale} for name, scale in (("concordant", "yes"), ("style", "share"))]  # fmt: skip
    with pytest.raises(VenireError, match="cannot answer the question 'style'"):
        require_countable(rubric(scales=two, attributes=mixed), options)
    with pytest.raises(VenireError, match=r"'support' of the rubric 'r' is a share[^$]*level: interval"):
        require_countable(rubric("support", scale={**SHARE, "maximum": 5}), options)
    with pytest.raises(VenireError, match="is a share"):
        require_countable(
            rubric("support", scale={"level": "ordinal", "anchors": {0: "", 1: "", 2: ""}}), options
        )
    with pytest.raises(VenireError, match="hides the reference"):
        require_countable(rubric("support", reference="hidden"), ClaimOptions(against="reference"))
    require_countable(rubric("support", reference="hidden"), options)


def test_without_claims_ballots_are_counted_by_their_median() -> None:
    jury = Jury.model_validate({"name": "j", "seats": [{"name": "a"}], "quorum": 1})
    scale = Scale.model_validate(SHARE)
    tally = Tally("c", "x", scale, {"a": 0.25, "b": 0.75}, None, jury)
    assert by_claim(tally).value == 0.5
    given_by_claims = Counted(0.9, "claims")
    assert by_claim(Tally("c", "x", scale, {"a": 0.1}, None, jury, given_by_claims)) is given_by_claims
