"""A juror's way from a brief to a ballot, with a gateway that fills forms from a list: orders of a pair, partial answers, what moved it."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from written_transcripts import cast

from venire import Case, Rubric
from venire.agents.budget import LimitReached
from venire.agents.cost import Receipt
from venire.agents.gateway import Filled, FillFailed
from venire.agents.juror import Juror, OrchestratorQuestion, Turn, in_both_orders
from venire.agents.model import ModelFailure
from venire.agents.prompting import Statement, brief
from venire.agents.tokens import Window, estimated_tokens
from venire.personas.jury import PairOrder
from venire.rubrics.ballot import Abstention, Ballot, Vote

PAIR = Rubric.model_validate(
    {
        "name": "p",
        "version": 1,
        "kind": "pair",
        "scales": {"better": {"level": "ordinal", "anchors": {n: str(n) for n in range(-2, 3)}}},
        "attributes": [{"name": name, "question": "?", "scale": "better"} for name in ("x", "y")],
    }
)
PAIRED = Case.from_row({"id": "c", "output_a": "Alpha.", "output_b": "Beta.", "source": "Note."})


class Gateway:
    """Fills in what `answer` says of each attribute, or raises it; notes every prompt."""

    def __init__(self, answer: Any = 4, *, window: Window | None = None, able: tuple[str, ...] | None = None) -> None:  # fmt: skip
        self.answer, self.able = answer, able
        self.window = window or Window(None)
        self.reads_prompts = True
        self.prompts: list[Any] = []
        self.repeats: list[int] = []

    def answers_for(self, subject: Any) -> tuple[str, ...]:
        return subject.asked if self.able is None else self.able

    async def fill(self, prompt: Any, shape: Any, *, check: Any = None, repeat: int = 0) -> Filled[Any]:
        self.prompts.append(prompt)
        self.repeats.append(repeat)
        answer = self.answer(prompt) if callable(self.answer) else self.answer
        if isinstance(answer, Exception):
            raise answer
        given = {}
        for name, vote in shape.model_fields.items():
            parts = {"rationale": "r", "evidence": ["fever", "made up"], "moved_by": "b", "confidence": "high", "score": answer}  # fmt: skip
            given[name] = {part: parts[part] for part in vote.annotation.model_fields}
        filled = shape.model_validate(given)
        assert check is None or check(filled) is None
        return Filled(filled, Receipt(calls=(f"k{len(self.prompts)}",), seconds=float(len(self.prompts))))


def juror(gateway: Gateway, name: str = "a", **fields: Any) -> Juror:
    return Juror(name, None, gateway, **fields)  # type: ignore[arg-type]


def asked_of(rubric: Rubric, case: Case, gateway: Gateway, **options: Any) -> Turn:
    return asyncio.run(juror(gateway).cast(brief(case, rubric), rubric.names, **options))


def test_a_ballot_has_the_seats_name_what_it_was_asked_and_its_quotes_looked_up(
    rubric: Rubric, case: Case
) -> None:
    told = case.model_copy(update={"source": ("Seen with fever.",)})
    turn = asked_of(rubric, told, gateway := Gateway(), repeat=2, name="a#3")

    answer = turn.answer
    assert isinstance(answer, Ballot) and (answer.juror, answer.round, answer.asked) == (
        "a#3",
        1,
        rubric.names,
    )
    assert [vote.attribute for vote in answer.votes] == list(rubric.names) and answer.saw == ()
    assert [(q.text, q.found) for q in answer.votes[0].evidence] == [("fever", True), ("made up", False)]
    assert gateway.repeats == [2] and turn.spent.calls == ("k1",) and turn.first is None


def test_a_seat_without_an_opinion_is_not_asked_and_one_with_some_is_asked_those(
    rubric: Rubric, case: Case
) -> None:
    none = asked_of(rubric, case, gateway := Gateway(able=()))
    assert (
        isinstance(none.answer, Ballot) and none.answer.votes == () and none.answer.silent_on == rubric.names
    )
    assert gateway.prompts == [] and none.spent == Receipt()
    one = asked_of(rubric, case, Gateway(able=rubric.names[:1]))
    assert isinstance(one.answer, Ballot)
    assert ([v.attribute for v in one.answer.votes], one.answer.asked) == ([rubric.names[0]], rubric.names)


def test_what_a_model_cannot_read_or_may_not_be_asked_is_an_abstention(rubric: Rubric, case: Case) -> None:
    small = Gateway(window=Window(100, 10))
    assert juror(small).overflow(brief(case, rubric)) is not None and small.prompts == []
    assert juror(Gateway()).overflow(brief(case, rubric)) is None
    cases = [
        (small, "too_long", ()),
        (Gateway(LimitReached("max_usd")), "limit", ()),
        (Gateway(FillFailed(ModelFailure("refused", "no"), Receipt(calls=("k",)))), "refused", ("k",)),
    ]
    for gateway, reason, calls in cases:
        turn = asked_of(rubric, case, gateway)
        assert isinstance(turn.answer, Abstention) and (turn.answer.reason, turn.answer.asked) == (reason, rubric.names)  # fmt: skip
        assert turn.spent.calls == calls


def test_a_case_is_read_where_its_whole_prompt_and_the_answer_fit_and_not_with_a_token_less(
    rubric: Rubric, case: Case
) -> None:
    asked_of(rubric, case, free := Gateway())
    (prompt,) = free.prompts
    size = sum(estimated_tokens(text) for text in (prompt.system, prompt.opening, prompt.body))
    for missing in (0, 1):
        gateway = Gateway(window=Window(size + 10 - missing, 10))
        assert (juror(gateway).overflow(brief(case, rubric)) is None) is (missing == 0)
        assert isinstance(asked_of(rubric, case, gateway).answer, Abstention) is (missing == 1)


def test_who_fails_after_hearing_others_has_still_seen_them(rubric: Rubric, case: Case) -> None:
    (name, *_) = rubric.names
    heard = [Statement(entry, entry, Vote(attribute=name, value=2, rationale="r")) for entry in ("e1", "e2", "e1")]  # fmt: skip
    own = {name: Vote(attribute=name, value=4, rationale="r")}
    failed = FillFailed(ModelFailure("refused", "no"), Receipt(calls=("k",)))
    turn = asyncio.run(
        juror(Gateway(failed)).revise(brief(case, rubric), (name,), round=2, own=own, heard=heard)
    )
    assert isinstance(turn.answer, Abstention) and turn.spent.calls == ("k",)
    assert (turn.answer.saw, turn.answer.round, turn.answer.asked) == (("e1", "e2"), 2, (name,))


def test_of_an_answer_that_is_partly_legal_the_rest_abstains(rubric: Rubric, case: Case) -> None:
    first, second = rubric.names[:2]
    legal = {"rationale": "r", "evidence": [], "score": 4}
    fields = {name: {**legal, "score": 9} if name == first else legal for name in rubric.names}
    failed = FillFailed(ModelFailure("out_of_scale", "9"), Receipt(calls=("k1", "k2")), fields)
    turn = asked_of(rubric, case, Gateway(failed))

    assert isinstance(turn.answer, Ballot) and second in {v.attribute for v in turn.answer.votes}
    assert [(part.attribute, part.reason) for part in turn.answer.abstained] == [(first, "out_of_scale")]
    assert turn.spent.calls == ("k1", "k2")


def test_a_changed_score_without_what_moved_it_is_sent_back(rubric: Rubric, case: Case) -> None:
    (name, *_) = rubric.names
    own = {name: cast("a", {name: 2}).ballot.votes[0]}
    heard = [Statement("1/b", "b", cast("b", {name: 5}, rationale="Reasons of b.").ballot.votes[0])] * 2

    class Checking(Gateway):
        async def fill(self, prompt: Any, shape: Any, *, check: Any = None, repeat: int = 0) -> Filled[Any]:
            def told(score: int, moved_by: str) -> str | None:
                vote = {"rationale": "r", "evidence": [], "moved_by": moved_by, "score": score}
                return check(shape.model_validate({name: vote}))  # type: ignore[no-any-return]

            assert told(2, "") is told(2, "...") is told(5, "b's quote") is None
            for empty in ("", " ", "...", "—"):
                assert f"{name} changed from 2 to 5" in (told(5, empty) or "")
            return await super().fill(prompt, shape, repeat=repeat)

    question = OrchestratorQuestion(name, "Which?")
    turn = asyncio.run(
        juror(gateway := Checking()).revise(
            brief(case, rubric),
            [name],
            round=2,
            own=own,
            heard=heard,
            questions=[question],
            notice="Counted.",
        )
    )
    assert isinstance(turn.answer, Ballot) and (turn.answer.round, turn.answer.saw) == (2, ("1/b",))
    body = gateway.prompts[0].body
    for words in ("Reasons of b.", "Which?", "Counted.", f"{name}: 2"):
        assert words in body


def test_of_a_partly_illegal_revision_no_change_counts_that_names_nothing_or_stands_in_the_case(
    rubric: Rubric, case: Case
) -> None:
    given = {
        "illegal": (9, "b's quote"),
        "unmoved": (4, "..."),
        "quoted": (5, "b's quote"),
        "moved": (4, "b's quote"),
        "kept": (2, ""),
    }
    asked = [{"name": name, "question": "?", "scale": "agree5"} for name in given]
    rubric = Rubric.model_validate({**rubric.model_dump(), "attributes": asked})
    own = {name: cast("a", {name: 2}).ballot.votes[0] for name in given}
    heard = [Statement("1/b", "b", cast("b", {name: 5}).ballot.votes[0]) for name in given]
    fields = {
        name: {"rationale": "r", "evidence": [], "moved_by": moved_by, "score": score}
        for name, (score, moved_by) in given.items()
    }
    quoting = case.model_copy(update={"output": f"The juror said: {json.dumps(fields['quoted'])}"})
    failed = FillFailed(ModelFailure("out_of_scale", "9"), Receipt(calls=("k1", "k2")), fields)
    seat = juror(Gateway(failed))
    answer = asyncio.run(
        seat.revise(brief(quoting, rubric), rubric.names, round=2, own=own, heard=heard)
    ).answer

    assert isinstance(answer, Ballot)
    assert {vote.attribute: vote.value for vote in answer.votes} == {"moved": 4, "kept": 2}
    assert {part.attribute: part.reason for part in answer.abstained} == {
        "illegal": "out_of_scale",
        "unmoved": "unparsable",
        "quoted": "unparsable",
    }
    assert (answer.asked, set(answer.saw), answer.round) == (rubric.names, {"1/b"}, 2)


def first_shown(prompt: Any) -> str:
    outputs = re.findall(r'exhibit "output (A|B)" begins', prompt.opening)
    return str(outputs[0])


@pytest.mark.parametrize("order", ["balanced", "fixed"])
def test_neighbours_and_repeats_are_shown_a_pair_in_turns_unless_it_is_fixed(order: PairOrder) -> None:
    words = brief(PAIRED, PAIR)

    def shown(place: int, repeat: int = 0) -> str:
        seat = juror(gateway := Gateway(1), place=place, order=order)
        turn = asyncio.run(seat.cast(words, PAIR.names, repeat=repeat))
        assert turn.first == first_shown(gateway.prompts[0])
        return str(turn.first)

    seats, repeats = [shown(place) for place in range(4)], [shown(0, number) for number in range(4)]
    if order == "fixed":
        assert seats == repeats == ["A"] * 4
    else:
        assert seats == repeats and set(seats[:2]) == {"A", "B"} and seats[:2] == seats[2:]


def test_a_seat_asked_in_both_orders_is_shown_each_first_once() -> None:
    answers = {"A": -2, "B": -1}
    seat = juror(gateway := Gateway(lambda prompt: answers[first_shown(prompt)]), order="both")
    turn = asyncio.run(seat.cast(brief(PAIRED, PAIR), PAIR.names))

    assert isinstance(turn.answer, Ballot) and turn.first == "both"
    assert sorted(map(first_shown, gateway.prompts)) == ["A", "B"]
    assert [(v.value, v.orders) for v in turn.answer.votes] == [(-1, (-2, -1))] * 2
    assert len(turn.spent.calls) == 2 and turn.spent.seconds == 2.0


def turn_of(value: Any, **fields: Any) -> Turn:
    return Turn(cast("a", {"x": value}, **fields).ballot, Receipt(calls=("k",), usd=0.5, seconds=1.0))


@pytest.mark.parametrize(
    ("a_first", "b_first", "held", "contradicts"),
    [
        (2, 2, 2, False),
        (2, 1, 1, False),
        (-1, -2, -1, False),
        (1, -1, 0, True),
        (-2, 1, 0, True),
        (0, 2, 0, True),
        (0, 0, 0, False),
        ("not_applicable", "not_applicable", "not_applicable", False),
        ("not_applicable", 1, 0, True),
    ],
)
def test_a_preference_holds_in_both_orders_or_is_a_tie(a_first: Any, b_first: Any, held: Any, contradicts: bool) -> None:  # fmt: skip
    turn = in_both_orders(turn_of(a_first), turn_of(b_first))
    assert isinstance(turn.answer, Ballot)
    (vote,) = turn.answer.votes

    assert (vote.value, vote.orders, vote.contradicts_itself) == (held, (a_first, b_first), contradicts)
    assert (turn.spent.usd, turn.spent.seconds, len(turn.spent.calls)) == (1.0, 1.0, 2)


def test_both_orders_keep_reasons_quotes_and_abstentions_of_both_and_need_both() -> None:
    one = turn_of(1, rationale="First.", quotes={"q": "source", "r": None}, moved_by="m", abstained=("y",))
    two = turn_of(
        2, rationale="Second.", quotes={"q": "source", "s": "output A"}, moved_by="m", abstained=("z",)
    )
    both = in_both_orders(one, two).answer
    assert isinstance(both, Ballot)
    (vote,) = both.votes
    assert isinstance(vote, Vote) and "First." in vote.rationale and "Second." in vote.rationale
    assert ([q.text for q in vote.evidence], vote.moved_by) == (["q", "r", "s"], "m")
    assert {part.attribute for part in both.abstained} == {"y", "z"}
    gone = Turn(
        Abstention(juror="a", round=1, reason="refused", detail="no", asked=("x",)), Receipt(calls=("g",))
    )
    for pair in ((gone, one), (one, gone)):
        turn = in_both_orders(*pair)
        assert isinstance(turn.answer, Abstention) and turn.first == "both" and len(turn.spent.calls) == 2
    other = Turn(cast("a", {"w": 1}).ballot, Receipt())
    assert in_both_orders(one, other).answer.votes == ()  # type: ignore[union-attr]


def test_who_argues_is_told_its_side_of_the_scale_or_of_the_pair(rubric: Rubric, case: Case) -> None:
    def told(questions: Rubric, judged: Case, side: Any) -> str:
        gateway = Gateway(1)
        words = brief(judged, questions)
        asyncio.run(juror(gateway).argue(words, questions.names, side=side, round=1, own={}, heard=[]))
        (note,) = gateway.prompts[0].subject.context.notes
        against = {"high": ("better", "too severe"), "low": ("worse", "too lenient")}[side]
        assert questions is PAIR or all(word in gateway.prompts[0].body for word in against)
        return str(note)

    assert "the text is better than" in told(rubric, case, "high") and "too severe" in told(
        rubric, case, "high"
    )
    assert "the text is worse than" in told(rubric, case, "low") and "too lenient" in told(
        rubric, case, "low"
    )
    # Of a pair, the low side is output A and the high one output B.
    assert "case for output B, and against output A" in told(PAIR, PAIRED, "high")
    assert "case for output A, and against output B" in told(PAIR, PAIRED, "low")


@pytest.mark.parametrize("way", ["join", "vote"])
def test_a_first_ballot_after_others_spoke_is_cast_in_sight_of_them(
    way: str, rubric: Rubric, case: Case
) -> None:
    heard = [Statement("2/b", "b", Vote(attribute="accurate", value=2, rationale="Because of the dose."))]
    gateway = Gateway()
    seat, words = juror(gateway), brief(case, rubric)
    if way == "join":
        ask = seat.join(words, rubric.names, round=3, heard=heard, notice="You are called on.", repeat=2)
    else:
        ask = seat.vote(words, rubric.names, round=3, heard=heard)
    turn = asyncio.run(ask)

    (prompt,) = gateway.prompts
    assert (turn.answer.round, turn.answer.saw, turn.answer.juror) == (3, ("2/b",), "a")
    assert gateway.repeats == [2 if way == "join" else 0]
    assert prompt.subject.context.heard == (("b", heard[0].vote),) and prompt.subject.context.own == ()
    assert "Because of the dose." in prompt.body and prompt.subject.round == 3
    assert way == "vote" or any("You are called on." in note for note in prompt.subject.context.notes)
