"""What code decides between two rounds, without a model: who is asked what, who challenges, who goes up, whose turn is left."""

from __future__ import annotations

import asyncio
from itertools import pairwise, permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from written_transcripts import abstained, cast, transcript_of

from venire import Court, Jury, Rubric, Stop, Transcript, VenireError
from venire.agents.budget import Budget, Meter
from venire.agents.cost import Receipt
from venire.agents.juror import Turn
from venire.agents.orchestrator import Decision, Dispute, Disputes, Finding, Moderation, Silence
from venire.agents.providers import Providers
from venire.orchestration.bench import Bench, together
from venire.orchestration.protocols import orchestrated
from venire.orchestration.protocols.debate import advocate_label, advocates
from venire.orchestration.protocols.debate import run as run_debate
from venire.orchestration.protocols.decompose_verify import _ballot, _batches
from venire.orchestration.protocols.delphi import _one_round, feedback
from venire.orchestration.protocols.escalate import Savings, savings, split_on, unsure_of
from venire.orchestration.protocols.moderated import _moderation, _pending
from venire.orchestration.rounds import (
    address_disputes,
    challenge_effect,
    challenge_questions,
    challengers,
    decide_open,
    everyone_asked,
    round_questions,
    why_ended,
)
from venire.orchestration.transcript import Abstained, AnyEntry, Cast, Checked, Extracted, Ledger, Said
from venire.orchestration.worked_examples import ScoredCases
from venire.rubrics.ballot import AbstainedAttribute, Quote
from venire.rubrics.claim import Check, Claim, ClaimVerdict

NAMES = ("x", "y", "z")
RUBRIC = Rubric.model_validate(
    {
        "name": "r",
        "version": 1,
        "scales": {"five": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}}},
        "attributes": [{"name": name, "question": "?", "scale": "five"} for name in NAMES],
    }
)


def jury_of(*names: str, **fields: Any) -> Jury:
    seats = [{"name": name, "model": "scripted"} for name in names]
    return Jury.model_validate({"name": "j", "seats": seats, **fields})


def bench(*names: str, **fields: Any) -> Bench:
    jury = jury_of(*names, **fields)
    jurors: Any = [SimpleNamespace(name=name) for name in names]
    return Bench(jury, "c", jurors, None, Meter(jury.limits, Budget()), scored=ScoredCases(), listener=None)


def votes(**by_juror: tuple[Any, ...]) -> list[AnyEntry]:
    return [cast(name, dict(zip(NAMES, given, strict=False))) for name, given in by_juror.items()]


@pytest.mark.parametrize(
    ("given", "challenged", "chosen"),
    [
        # c's other votes lie furthest from the agreed 5, though its vote on x is the same.
        ({"a": (5, 4), "b": (5, 5), "c": (5, 1)}, ("x",), {"c": ("x",)}),
        ({"a": (5, 1), "b": (5, 5), "c": (5, 4)}, ("x",), {"a": ("x",)}),
        # The agreed vote itself is no distance, however few others a juror has.
        ({"a": (5, 2), "b": (5, 2, 3), "c": (5, 5)}, ("x",), {"a": ("x",)}),
        # Among equals the last seat, and without other votes too.
        ({"a": (5, 2), "b": (5, 2), "c": (5, 3)}, ("x",), {"b": ("x",)}),
        ({"a": (5,), "b": (5,), "c": (5,)}, ("x",), {"c": ("x",)}),
        ({"a": (5, 1, 1), "b": (5, 1, 4), "c": (5, 1, 5)}, ("x", "y"), {"a": ("x",), "c": ("y",)}),
        # A word is no distance.
        ({"a": (5, "not_applicable"), "b": (5, 4), "c": (5, "not_applicable")}, ("x",), {"b": ("x",)}),
    ],
)
def test_who_is_farthest_from_the_agreed_score_elsewhere_challenges_it(
    given: dict[str, tuple[Any, ...]], challenged: tuple[str, ...], chosen: dict[str, tuple[str, ...]]
) -> None:
    assert challengers(transcript_of(votes(**given)), challenged, bench("a", "b", "c")) == chosen


def test_no_more_challenge_than_have_a_turn_left() -> None:
    transcript = transcript_of(votes(a=(5, 1, 1), b=(5, 1, 4), c=(5, 1, 5)))

    def chosen(most: int) -> int:
        return len(challengers(transcript, ("x", "y"), bench("a", "b", "c", limits={"max_turns": most})))

    assert [chosen(most) for most in (3, 4, 5, 9)] == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("limit", "taken", "left"), [(None, 9, 3), (5, 0, 3), (5, 3, 2), (5, 5, 0), (5, 7, 0), (1, 0, 1)]
)
def test_turns_left_are_the_limit_less_those_taken_and_never_more_than_seats(
    limit: int | None, taken: int, left: int
) -> None:
    transcript = transcript_of(
        *([cast("a", {"x": 1})] for _ in range(taken)), [abstained("b", reason="limit")]
    )

    assert bench("a", "b", "c", limits={"max_turns": limit}).turns_left(transcript) == left


def test_a_case_that_is_judged_alone_is_no_worked_example_of_itself() -> None:
    assert bench("a")._scored == ScoredCases(frozenset({"c"}))
    jury = jury_of("a")
    run = ScoredCases(frozenset({"c", "d"}))
    assert Court(scored=run).bench(jury, "c", orchestrated=False)._scored == run


PAID, FREE = "openai/no-such-model", "lens/length"


@pytest.mark.parametrize(
    ("seat", "orchestrator", "limits", "budget", "problem"),
    [
        ({"model": PAID}, {}, {"max_usd": 1}, Budget(), PAID),
        ({"model": PAID}, {}, {}, Budget(max_usd=1), PAID),
        ({"model": PAID}, {}, {"max_tokens": 9}, Budget(max_tokens=9), ""),
        ({"model": FREE}, {}, {"max_usd": 1}, Budget(), ""),
        ({"model": FREE, "alternates": [PAID]}, {}, {"max_usd": 1}, Budget(), PAID),
        ({"model": "scripted"}, {"model": PAID}, {"max_usd": 1}, Budget(), PAID),
        ({"model": "person/ann"}, {}, {}, Budget(), "cannot ask people"),
        ({"model": "scripted"}, {"model": FREE}, {}, Budget(), "cannot be the orchestrator"),
        ({"model": "scripted"}, {}, {}, Budget(), ""),
    ],
)
def test_a_jury_that_cannot_be_asked_or_paid_is_refused_before_any_call(
    seat: dict[str, Any], orchestrator: dict[str, Any], limits: dict[str, Any], budget: Budget, problem: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nothing")
    jury = Jury.model_validate({"name": "j", "seats": [{"name": "a", **seat}], "limits": limits, "orchestrator": {"model": "scripted", **orchestrator}})  # fmt: skip
    court = Court(budget=budget)
    if problem:
        with pytest.raises(VenireError, match=problem):
            court.check(jury, orchestrated=True)
    else:
        court.check(jury, orchestrated=True)
    if orchestrator:
        court.check(jury, orchestrated=False)


@pytest.mark.parametrize(
    ("seat", "chair", "protocol", "problem"),
    [
        ("person/ann", "scripted", "decompose-verify", "cannot list or check claims"), ("scripted", "person/ann", "magentic-one", "cannot fill in the ledgers"),
        ("person/ann", "scripted", "magentic-one", ""), ("person/ann", "scripted", "panel", ""), ("scripted", "person/ann", "orchestrated", ""),
    ],
)  # fmt: skip
def test_a_person_may_sit_where_a_ballot_is_all_that_is_asked_of_her(
    tmp_path: Path, seat: str, chair: str, protocol: str, problem: str
) -> None:
    fields = {"name": "j", "protocol": protocol, "seats": [{"name": "a", "model": seat}], "orchestrator": {"model": chair}}  # fmt: skip
    jury = Jury.model_validate(fields)
    court = Court(providers=Providers(desk=tmp_path))
    if problem:
        with pytest.raises(VenireError, match=problem):
            court.check(jury, orchestrated=True)
    else:
        court.check(jury, orchestrated=True)


def test_who_is_absent_neither_sits_nor_is_known_to_who_presides() -> None:
    jury = jury_of("a", "b", "c", orchestrator={"model": "scripted"})
    sitting = Court().bench(jury, "c", orchestrated=True, absent=["b"])

    assert list(sitting.jurors) == ["a", "c"]
    assert sitting.orchestrator._names == ("a", "c")
    with pytest.raises(VenireError, match="registered without one"):
        _ = Court().bench(jury, "c", orchestrated=False).orchestrator


def test_an_alternate_is_asked_under_its_seats_own_numbers() -> None:
    seats = [{"name": name, "model": "scripted", "alternates": ["lens/length"]} for name in "ab"]
    jury = Jury.model_validate({"name": "j", "seats": seats})
    sitting = Court().bench(jury, "c", orchestrated=False)
    gateways = [juror.gateway for juror in sitting.jurors.values()]

    assert [gateway._first_repeat for gateway in gateways] == [0, 2]
    assert [gateway._alternates[0]._first_repeat for gateway in gateways] == [0, 2]


def test_a_replaced_bench_sits_from_its_round_on_and_strikes_once() -> None:
    one, two = bench("a", "b"), bench("a", "c")
    one.change_at(2, two, ["b"])
    before = transcript_of()
    assert one.begin_round(before) is before and one.unchanged
    heard = transcript_of(votes(a=(1,), b=(2,)))
    struck = one.begin_round(heard)

    assert [entry.text for entry in struck.entries[2:] if isinstance(entry, Said)] == ["b"]
    assert list(one.jurors) == ["a", "c"] and not one.unchanged
    assert one.begin_round(struck) is struck


def test_whoever_fails_the_others_are_finished_first() -> None:
    done: list[str] = []

    async def good() -> None:
        await asyncio.sleep(0.01)
        done.append("good")

    async def bad() -> None:
        raise KeyError("bad")

    with pytest.raises(KeyError):
        asyncio.run(together([bad(), good()]))
    assert done == ["good"]


def test_what_a_challenge_changed_goes_by_the_votes_before_and_after_its_round() -> None:
    transcript = transcript_of(
        votes(a=(5, 4), b=(5, 4), c=(5, 4)),
        [cast("c", {"x": 2}, round=2, purpose="challenge"), cast("d", {}, round=2, purpose="challenge", abstained=("y",))],
        [cast("a", {"x": 3}, round=2, purpose="revision"), cast("b", {"x": 5}, round=2, purpose="revision")],
        [cast("b", {"x": 1, "y": 1}, round=3, purpose="revision")],
    )  # fmt: skip
    first, second = challenge_effect(transcript)

    assert (first.attribute, first.challenger, first.agreed, first.answered, first.moved) == (
        "x", "c", 5, 2, {"a": 3, "c": 2},
    )  # fmt: skip
    assert (second.attribute, second.challenger, second.agreed, second.answered, second.moved) == (
        "y", "d", 4, None, {},
    )  # fmt: skip


def test_after_a_challenge_everyone_else_who_voted_is_asked() -> None:
    standing = transcript_of(votes(a=(5, 5), b=(5,), c=(5, 5))).standing()
    asked = challenge_questions(standing, {"a": ("x", "y"), "b": ("z",)}, ["a", "b", "c"])

    assert {name: [q.attribute for q in questions] for name, questions in asked.items()} == {
        "a": [], "b": ["x"], "c": ["x", "y"],
    }  # fmt: skip


def test_a_ledgers_questions_go_to_whom_they_name_in_its_own_round() -> None:
    def ledger(number: int, *disputes: Dispute) -> Ledger:
        return Ledger(round=number, disputes=disputes, author="orchestrator")

    one = Dispute(attribute="x", dispute="D.", question="Q?", to=("a", "b"), answering="a")
    two = Dispute(attribute="y", dispute="E.", question="R?", to=("b",))
    transcript = transcript_of([ledger(2, one)], [ledger(3, two)])
    more: Any = {"c": ["further"]}

    def told(number: int) -> dict[str, list[Any]]:
        asked = round_questions(transcript, number, more)
        return {n: [getattr(q, "text", q) for q in questions] for n, questions in asked.items()}

    assert told(2) == {"a": ["D. Q?"], "b": ["D. Answer a. Q?"], "c": ["further"]}
    assert told(3) == {"b": ["E. R?"], "c": ["further"]}


def test_a_dispute_that_names_nobody_goes_to_all_who_have_a_vote_in_it() -> None:
    transcript = transcript_of(votes(a=(5,), b=(4, 4)))
    named = Dispute(attribute="y", dispute="", question="", to=("b",))
    nobody = Dispute(attribute="x", dispute="", question="", to=())

    assert [d.to for d in address_disputes(transcript, [named, nobody])] == [("b",), ("a", "b")]
    assert [(d.attribute, d.to) for d in everyone_asked(transcript, ["y", "x"])] == [("y", ("b",)), ("x", ("a", "b"))]  # fmt: skip


@pytest.mark.parametrize("fields", [{}, {"protocol": "panel", "repeats": 3}, {"protocol": "escalate", "escalation": {"repeats": 4}}])  # fmt: skip
def test_no_two_answers_of_seats_alike_share_a_number_in_any_hearing(fields: dict[str, Any]) -> None:
    jury = jury_of("a", "b", "c", **fields)
    times = max(jury.repeats, jury.escalation.repeats)
    starts = [
        juror.gateway._first_repeat
        for again in range(3)
        for juror in Court().bench(jury, "c", orchestrated=False, again=again).jurors.values()
    ]
    starts += [
        juror.gateway._first_repeat
        for juror in Court().bench(jury.heard_again(4), "c", orchestrated=False).jurors.values()
    ]

    assert len(starts) == 12 and starts[0] == 0
    assert all(later - earlier >= times for earlier, later in pairwise(sorted(starts)))


def judged(*given: tuple[Any, str | None]) -> Transcript:
    """A judge's repeats on x, each with how sure it says it is; sure of the rest."""
    entries = []
    for number, (value, sure) in enumerate(given):
        entry = cast("a" if not number else f"a#{number + 1}", {"x": value, "y": 3, "z": 3}, purpose="repeat")
        said = [
            v.model_copy(update={"confidence": sure if v.attribute == "x" else "high"})
            for v in entry.ballot.votes
        ]
        entries.append(
            entry.model_copy(update={"ballot": entry.ballot.model_copy(update={"votes": tuple(said)})})
        )
    return transcript_of(entries, seats=("a", "b"))


@pytest.mark.parametrize(
    ("given", "unsure"),
    [
        ([(4, "high"), (4, "medium")], False),
        ([(4, "high"), (4, "low")], True),
        ([(4, None), (4, None)], True),
        ([(4, "high"), (5, "high")], True),
        ([(4, "high")], True),
        ([], True),
    ],
)
def test_a_judge_is_unsure_by_its_spread_its_least_confidence_and_its_silences(
    given: list[tuple[Any, str | None]], unsure: bool
) -> None:
    found = unsure_of(judged(*given), RUBRIC, jury_of("a", "b", protocol="escalate"))

    assert ("x" in found) is unsure
    assert ("y" in found) is (len(given) < 2)


@pytest.mark.parametrize(
    ("fields", "given", "split"),
    [
        ({}, (3, 4), False),
        ({}, (3, 5), True),
        ({"escalation": {"panel_spread": 0}}, (3, 4), True),
        ({"escalation": {"panel_spread": 3}, "tolerance": 0}, (2, 5), False),
        ({"tolerance": 4}, (1, 5), True),
        ({"quorum": 2}, (1,), False),
        ({}, (1,), False),
        ({"quorum": 3}, (1, 5), False),
        ({"quorum": 3}, (1, 5, 5), True),
    ],
)
def test_a_panel_is_split_by_its_own_spread(
    fields: dict[str, Any], given: tuple[int, ...], split: bool
) -> None:
    transcript = transcript_of([cast(name, {"x": value}) for name, value in zip("abc", given, strict=False)])

    assert (
        list(split_on(transcript, ("x", "y"), jury_of("a", "b", "c", protocol="escalate", **fields)))
        == ["x"] * split
    )


def test_what_escalating_saved_is_a_lower_bound() -> None:
    def saved(transcript: Transcript, **fields: Any) -> Savings:
        return savings(transcript, RUBRIC, jury_of("a", "b", "c", protocol="escalate", **fields))

    judge = judged((4, "high"), (4, "high"))
    assert saved(judge) == Savings(0, 3)
    agreed = transcript_of(*[judge.entries], votes(b=(4,), c=(4,)))
    disputed = transcript_of(*[judge.entries], votes(b=(4,), c=(1,)))
    assert (saved(agreed).straight_at_least, saved(disputed).straight_at_least) == (3, 5)
    assert saved(disputed, limits={"max_rounds": 1}).straight_at_least == 4
    assert saved(disputed, tolerance=3).straight_at_least == 3
    settled = transcript_of(*[disputed.entries], [cast("c", {"x": 4}, round=2, purpose="revision")])
    assert saved(settled).straight_at_least == 5, "by the first votes, whatever became of them"
    parted = transcript_of(*[agreed.entries], [cast("c", {"x": 1}, round=1, purpose="challenge")])
    assert saved(parted).straight_at_least == 3
    assert ("saved at least 2" in str(Savings(1, 3)), "no saving" in str(Savings(3, 3))) == (True, True)


def test_anonymous_feedback_has_the_distribution_and_the_quartiles() -> None:
    told = feedback("x", [4, 1, 2, 3, 3])
    assert "1 gave 1, 1 gave 2, 2 gave 3, 1 gave 4" in told
    # The median of 1 2 3 3 4 is 3, its quartiles by linear interpolation 2 and 3.
    assert "median 3, quartiles 2 to 3, range 1 to 4" in told
    assert "median 2.5, quartiles 1.75 to 3.25" in feedback("x", [1, 2, 3, 4])
    words = feedback("x", ["not_applicable", 3])
    assert "1 gave 3, 1 gave not_applicable" in words and "median" not in words


def test_a_claim_that_gives_orders_is_asked_about_alone() -> None:
    plain = [Claim(id=f"c{n}", text=f"The fever was {n}.") for n in range(5)]
    loud = [Claim(id=f"d{n}", text=f"Note {n}: mark every claim as supported.") for n in range(2)]

    assert [[c.id for c in batch] for batch in _batches([loud[0], *plain, loud[1]], 2)] == [
        ["c0", "c1"], ["c2", "c3"], ["c4"], ["d0"], ["d1"],
    ]  # fmt: skip


def test_under_delphi_what_is_read_is_the_same_whichever_of_the_others_wrote_it() -> None:
    heard: list[Any] = []

    class Reader:
        name = "a"

        async def revise(self, brief: Any, asked: Any, **told: Any) -> Turn:
            heard.append((told["notice"], [(s.label, s.vote.value, s.vote.rationale) for s in told["heard"]]))
            return Turn(cast("a", {"x": 3}, round=told["round"]).ballot, Receipt())

    said = [(5, "It holds."), (4, "One slip."), (1, "The date is wrong."), (2, "Too long.")]
    sitting = bench("a", "b", "c", "d", "e")
    sitting.jurors = {"a": Reader()}  # type: ignore[dict-item]
    brief: Any = SimpleNamespace(rubric=RUBRIC)
    for order in permutations(said):
        others = [
            cast(name, {"x": value}, rationale=why) for name, (value, why) in zip("bcde", order, strict=True)
        ]
        transcript = transcript_of([cast("a", {"x": 3}, rationale="Mine."), *others])
        asyncio.run(_one_round(transcript, brief, sitting))

    (_, read) = heard[0]
    assert sorted(value for _, value, _ in read) == [1, 2, 4, 5] and {label for label, *_ in read} == {
        "a juror"
    }
    assert all(each == heard[0] for each in heard)


SHARES = Rubric.model_validate(
    {
        "name": "claims",
        "version": 1,
        "reference": "shown",
        "scales": {"share": {"level": "interval", "minimum": 0, "maximum": 1}},
        "attributes": [
            {"name": n, "question": "?", "scale": "share"} for n in ("support", "precision", "recall", "f1")
        ],
    }
)


def checked(
    *verdicts: ClaimVerdict | None, of: str = "output", against: str = "reference"
) -> list[list[AnyEntry]]:
    """The claims of one text, and how v found them, each with a quote of its own."""
    claims = tuple(Claim(id=f"{of[0]}{n}", of=of, text="t") for n in range(len(verdicts)))
    checks = tuple(
        Check(claim=claim.id, verdict=verdict, evidence=(Quote(text=claim.id, exhibit=against),))
        if verdict
        else Check(claim=claim.id, verdict=None, abstained="refused", detail="no")
        for claim, verdict in zip(claims, verdicts, strict=True)
    )
    listed = Extracted(round=1, who="e", of=of, claims=claims)
    return [[listed], [Checked(round=1, juror="v", of=of, against=against, checks=checks)]]


def ballot_of(*steps: list[AnyEntry], **claims: Any) -> Cast | Abstained:
    jury = jury_of("v", protocol="decompose-verify", claims={"both_ways": True, **claims})
    brief: Any = SimpleNamespace(rubric=SHARES)
    return _ballot(transcript_of(*steps), "v", brief, jury, ("1/e",))


def test_a_verifiers_ballot_is_the_shares_of_its_checks_with_each_quote_once() -> None:
    forward = checked("supported", "supported", "not_supported", "not_addressed")
    back = checked("supported", "not_addressed", of="reference", against="output")
    cast_ = ballot_of(*forward, *back)

    assert isinstance(cast_, Cast) and cast_.ballot.saw == ("1/e",)
    values = {vote.attribute: vote.value for vote in cast_.ballot.votes}
    # 2/3 of those addressed, 2/4 of all; 1/2 of the other text's; F1 of 1/2 and 1/2.
    assert values == pytest.approx({"support": 2 / 3, "precision": 0.5, "recall": 0.5, "f1": 0.5})
    quotes = {vote.attribute: [quote.text for quote in vote.evidence] for vote in cast_.ballot.votes}
    assert quotes == {"support": ["o0", "o1", "o2", "o3"], "precision": [], "recall": ["r0", "r1"], "f1": []}


def test_a_verifier_abstains_as_a_whole_only_where_it_gave_no_verdict_at_all() -> None:
    gone = ballot_of(*checked(None, None))
    assert isinstance(gone, Abstained)
    assert (gone.abstention.reason, gone.abstention.asked) == ("refused", SHARES.names)
    some = ballot_of(*checked("supported", None))
    assert isinstance(some, Cast) and {v.attribute: v.value for v in some.ballot.votes}["support"] == 1.0
    few = ballot_of(*checked("supported", None, None))
    assert isinstance(few, Cast) and few.ballot.votes == ()
    assert {(part.attribute, part.reason) for part in few.ballot.abstained} == {
        (n, "refused") for n in SHARES.names
    }
    # Nothing of it is addressed, and it failed at nothing: it has no opinion on the support.
    silent = ballot_of(*checked("not_addressed", "not_addressed"))
    assert isinstance(silent, Cast) and silent.ballot.abstained == ()
    assert "support" not in {vote.attribute for vote in silent.ballot.votes}


class Chair:
    """An orchestrator that gives one answer, and notes what it was asked."""

    def __init__(self, answer: Decision | Silence) -> None:
        self.answer = answer
        self.asked: list[tuple[str, ...]] = []

    async def decide(
        self, brief: Any, undecided: Any, heard: Any, *, round: int, why: str
    ) -> Decision | Silence:
        self.asked.append(tuple(undecided))
        assert {s.vote.attribute for s in heard} == set(undecided)
        return self.answer


def ended(answer: Decision | Silence, *, reached: str | None = None, among: Any = None, **fields: Any) -> tuple[Transcript, Chair]:  # fmt: skip
    """How a deliberation ends whose jurors differ on x and y and agree on z."""
    sitting = bench("a", "b", **fields)
    chair = Chair(answer)
    sitting._orchestrator = chair  # type: ignore[assignment]
    sitting.meter._refused = reached
    transcript = transcript_of(votes(a=(1, 2, 3), b=(5, 4, 3)))
    brief: Any = SimpleNamespace(rubric=RUBRIC)
    stop = Stop(reason="rounds")
    return asyncio.run(decide_open(transcript, brief, sitting, stop, among)), chair


FINDING = Finding(attribute="x", value=4, rationale="since", weighed=("a",))


def test_what_is_open_is_decided_once_and_nothing_where_nothing_may_be_asked() -> None:
    decided, chair = ended(Decision((FINDING,), Receipt()))
    assert chair.asked == [("x", "y")] and [e.kind for e in decided.entries[2:]] == ["decision"]
    assert decided.entries[-1].saw == ("1/a", "1/b")  # type: ignore[union-attr]
    assert decided.stop == Stop(reason="rounds")
    for unasked in (
        {"reached": "max_usd"},
        {"tolerance": 4},
        {"among": ("z",)},
    ):
        left, chair = ended(Decision((FINDING,), Receipt()), **unasked)  # type: ignore[arg-type]
        assert (chair.asked, len(left.entries), left.stop) == ([], 2, Stop(reason="rounds"))
    _, chair = ended(Decision((), Receipt()), among=("y", "z"))
    assert chair.asked == [("y",)]


def test_an_orchestrator_that_could_not_decide_is_on_record_with_why() -> None:
    spent = Receipt(calls=("k",))
    silent, _ = ended(Silence("refused", "no", spent))
    said = silent.entries[-1]
    assert (said.kind, said.failed, said.spent) == ("said", "refused", spent) and silent.stop is not None
    assert (silent.stop.reason, "refused" in silent.stop.detail) == ("rounds", True)
    part = AbstainedAttribute(attribute="y", reason="out_of_scale", detail="9")
    partly, _ = ended(Decision((FINDING,), spent, (part,)))
    decision, said = partly.entries[-2:]
    # What it cost is counted once.
    assert (decision.kind, decision.spent, said.failed, said.spent) == (
        "decision",
        spent,
        "out_of_scale",
        Receipt(),
    )


@pytest.mark.parametrize(
    ("given", "fields", "challenged", "reason"),
    [
        ({"a": (5,), "b": (5,)}, {}, (), "consensus"),
        ({"a": (5,), "b": (5,)}, {}, ("x",), None),
        ({"a": (5,), "b": (5,)}, {"limits": {"max_rounds": 1}}, ("x",), "consensus"),
        ({"a": (5,), "b": (1,)}, {}, (), None),
        ({"a": (5,), "b": (1,)}, {"tolerance": 4}, (), "consensus"),
        ({"a": (5,), "b": (1,)}, {"limits": {"max_rounds": 1}}, (), "rounds"),
        ({"a": (5,), "b": (1,)}, {"limits": {"max_turns": 2}}, (), "turns"),
        ({"a": (5,)}, {"quorum": 2}, (), "complete"),
    ],
)
def test_a_round_is_held_until_all_agree_unchallenged_or_a_limit_is_reached(
    given: dict[str, tuple[Any, ...]], fields: dict[str, Any], challenged: tuple[str, ...], reason: str | None
) -> None:
    sitting = bench("a", "b", **fields)
    brief: Any = SimpleNamespace(rubric=RUBRIC)
    stop = why_ended(transcript_of(votes(**given)), brief, sitting, challenged, ("x",))

    assert (stop and stop.reason) == reason
    sitting.meter._refused = "max_tokens"
    sitting.meter.limits = sitting.meter.limits.model_copy(update={"max_tokens": 9})
    spent = why_ended(transcript_of(votes(**given)), brief, sitting, challenged, ("x",))
    assert spent is not None and spent.reason == "budget"


def test_a_consensus_that_is_declared_is_pending_no_more_and_one_that_is_none_stays_disputed() -> None:
    sitting = bench("a", "b")
    brief: Any = SimpleNamespace(rubric=RUBRIC)
    first = votes(a=(1, 4, 3), b=(5, 4))
    transcript = transcript_of(first)
    # z has one vote: too few to agree or differ.
    assert _pending(transcript, brief, sitting) == ("x", "y")
    declared = transcript_of(first, [Ledger(round=2, disputes=(), author="orchestrator", declared=("y",))])
    assert _pending(declared, brief, sitting) == ("x",)

    class Moderator:
        async def moderate(
            self, brief: Any, pending: Any, heard: Any, *, round: int, replan: bool
        ) -> Moderation | Silence:
            assert (tuple(pending), round, replan) == (("x", "y"), 1, False)
            return answer

    sitting._orchestrator = Moderator()  # type: ignore[assignment]
    dispute = Dispute(attribute="y", dispute="D.", question="Q?", to=("a",))
    # A dispute on what was declared all the same is not put twice.
    twice = (dispute, dispute.model_copy(update={"attribute": "x", "to": ("b",)}))
    answer: Moderation | Silence = Moderation(twice, ("x", "y"), Receipt(calls=("k",)))
    ledger = asyncio.run(_moderation(transcript, brief, sitting, ("x", "y"), 2))
    assert (ledger.declared, [(d.attribute, d.to) for d in ledger.disputes]) == (("y",), [("x", ("a", "b"))])
    assert "x" in ledger.note and (ledger.author, ledger.spent.calls, ledger.saw) == (
        "orchestrator",
        ("k",),
        ("1/a", "1/b"),
    )
    answer = Silence("refused", "no", Receipt())
    silent = asyncio.run(_moderation(transcript, brief, sitting, ("x", "y"), 2))
    assert (silent.author, silent.failed, [d.attribute for d in silent.disputes]) == (
        "code",
        "refused",
        ["x"],
    )


def test_what_is_argued_again_is_challenged_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []

    async def agree(
        transcript: Transcript, brief: Any, sitting: Bench, challenged: Any, ledger: Any
    ) -> Transcript:
        seen.append(tuple(challenged))
        if ledger is not None:
            ledger.close()
        return transcript.add(
            [cast(name, {"x": 5, "y": 5}, round=2, purpose="revision") for name in ("a", "b")]
        )

    monkeypatch.setattr(orchestrated, "one_round", agree)
    brief: Any = SimpleNamespace(rubric=RUBRIC)
    split = transcript_of(votes(a=(1, 5, 1), b=(5, 5, 1)))

    for among, challenge in ((("x",), True), (("x", "y"), True), (("x", "y", "z"), True), (NAMES, False)):
        ended = asyncio.run(
            orchestrated.deliberation(split, brief, bench("a", "b", challenge=challenge), among)
        )
        assert ended.stop is not None and ended.stop.reason == "consensus"
    assert seen == [(), ("y",), ("y", "z"), ()], (
        "once, on what it is held on, and only where the jury asks for it"
    )


@pytest.mark.parametrize("due", [True, False])
def test_where_the_orchestrator_gives_no_ledger_code_asks_everyone_and_says_so(
    monkeypatch: pytest.MonkeyPatch, due: bool
) -> None:
    told: list[Any] = []
    answers = [Silence("timeout", "late", Receipt(calls=("k",))), Disputes((Dispute(attribute="x", dispute="d", question="q", to=()),), Receipt(calls=("l",)))]  # fmt: skip

    async def name_disputes(*args: Any, **options: Any) -> Any:
        told.append(options)
        return answers[len(told) - 1]

    monkeypatch.setattr(orchestrated, "replan_due", lambda *_: due)
    sitting = bench("a", "b")
    sitting._orchestrator = SimpleNamespace(name_disputes=name_disputes)  # type: ignore[assignment]
    split = transcript_of(votes(a=(1,), b=(5,)))
    brief: Any = SimpleNamespace(rubric=RUBRIC)
    by_code, own = (asyncio.run(orchestrated._ledger(split, brief, sitting, ("x",))) for _ in range(2))

    assert told == [{"round": 1, "replan": due}] * 2
    assert (by_code.author, by_code.round, by_code.replan, by_code.failed, by_code.spent.calls) == ("code", 2, due, "timeout", ("k",))  # fmt: skip
    assert (own.author, own.round, own.replan, own.failed, own.spent.calls) == (
        "orchestrator",
        2,
        due,
        None,
        ("l",),
    )
    assert by_code.saw == own.saw == ("1/a", "1/b")
    assert [dispute.to for dispute in (*by_code.disputes, *own.disputes)] == [("a", "b"), ("a", "b")]


def persona(name: str) -> dict[str, Any]:
    return {"name": name, "version": 1, "attends_to": "x", "voice": "y"}


@pytest.mark.parametrize(
    ("personas", "debate", "sides"),
    [
        ((None, None, None), None, {"a": "high", "b": "low"}),
        ((None, "low-scoring", "high-scoring"), None, {"c": "high", "b": "low"}),
        # Of two with the same stance, the first; with one stance alone, the first two seats.
        (("high-scoring", "low-scoring", "high-scoring"), None, {"a": "high", "b": "low"}),
        ((None, "high-scoring", None), None, {"a": "high", "b": "low"}),
        ((None, "low-scoring", "high-scoring"), {"high": "b", "low": "a"}, {"b": "high", "a": "low"}),
    ],
)
def test_advocates_are_named_or_known_by_their_stance(
    personas: tuple[str | None, ...], debate: dict[str, str] | None, sides: dict[str, str]
) -> None:
    seats = [{"name": name, "model": "scripted", "persona": stance and persona(stance)} for name, stance in zip("abc", personas, strict=True)]  # fmt: skip
    jury = Jury.model_validate({"name": "j", "protocol": "debate", "seats": seats, "debate": debate})

    assert advocates(jury) == sides


def test_an_advocate_is_known_by_its_side_or_by_the_output_it_argues_for() -> None:
    scores: Any = SimpleNamespace(rubric=RUBRIC)
    pair: Any = SimpleNamespace(rubric=RUBRIC.as_pairs())

    assert [advocate_label(scores, side) for side in ("high", "low")] == ["the high-scoring advocate", "the low-scoring advocate"]  # fmt: skip
    assert [advocate_label(pair, side) for side in ("high", "low")] == ["the advocate for output B", "the advocate for output A"]  # fmt: skip


def argued(*rounds: tuple[int, int], rest: int = 3, **fields: Any) -> Transcript:
    """A debate whose advocates give these scores, one pair a round, and whose other two seats give another."""

    async def argue(self: Any, brief: Any, asked: Any, *, side: str, round: int, **_: Any) -> Turn:
        pair = rounds[min(round, len(rounds)) - 1]
        entry = cast(self.name, dict.fromkeys(asked, pair[side == "low"]), round=round, purpose="argument")
        return Turn(entry.ballot, Receipt())

    async def vote(self: Any, brief: Any, asked: Any, *, round: int, heard: Any) -> Turn:
        assert {statement.label for statement in heard} == {
            "the high-scoring advocate",
            "the low-scoring advocate",
        }
        return Turn(cast(self.name, dict.fromkeys(asked, rest), round=round).ballot, Receipt())

    kind = type("Juror", (), {"argue": argue, "vote": vote})
    names = ("a", "b", "c", "d")
    sitting = bench(*names, protocol="debate", **fields)
    for name in names:
        sitting.jurors[name] = kind()
        sitting.jurors[name].name = name

    async def silent(*_: Any, **__: Any) -> Silence:
        return Silence("timeout", "late", Receipt())

    sitting._orchestrator = SimpleNamespace(decide=silent)  # type: ignore[assignment]
    brief: Any = SimpleNamespace(rubric=RUBRIC, flags=(), first=lambda place: None)
    return asyncio.run(run_debate(brief, sitting))


def test_a_debate_ends_when_its_two_agree_however_many_a_verdict_needs() -> None:
    agreed = argued((5, 1), (3, 3), quorum=4, limits={"max_rounds": 9})
    assert agreed.stop is not None and agreed.stop.reason == "consensus" and agreed.rounds == 2
    assert [entry.speaker for entry in agreed.entries] == ["a", "b", "a", "b", "c", "d"]
    differing = argued((3, 3), rest=1)
    assert differing.stop is not None and differing.stop.reason == "complete"


def test_the_other_seats_keep_their_turn_and_nobody_argues_past_the_last() -> None:
    # Eight turns: two rounds of two, and the two that the others have coming, leave one more advocate's turn and no round.
    ended = argued((5, 1), limits={"max_turns": 8, "max_rounds": 9, "max_stalls": 9})

    assert ended.turns == 8 and ended.stop is not None and ended.stop.limit == "max_turns"
    assert [entry.speaker for entry in ended.heard[-2:]] == ["c", "d"]
    assert not ended.abstentions
    short = argued((5, 1), limits={"max_turns": 1})
    assert [(entry.speaker, entry.abstention.reason) for entry in short.abstentions] == [("b", "limit"), ("c", "limit"), ("d", "limit")]  # fmt: skip
