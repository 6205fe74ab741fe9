"""The orchestrator between a brief and its answer: what its prompt holds and fits into, and what each answer becomes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from venire import Case, Rubric
from venire.agents.budget import LimitReached
from venire.agents.cost import Receipt
from venire.agents.gateway import Filled, FillFailed
from venire.agents.model import Message, ModelFailure
from venire.agents.orchestrator import Decision, Dispute, Disputes, Finding, Moderation, Orchestrator, Silence
from venire.agents.prompting import Statement, brief, words
from venire.agents.tokens import Window, estimated_tokens
from venire.personas.jury import Seat
from venire.rubrics.ballot import Vote

SPENT = Receipt(calls=("k1", "k2"))
SEATS = (
    Seat.model_validate({"name": "a", "persona": {"name": "p", "version": 1, "attends_to": "doses", "voice": "You."}}),
    Seat(name="b"),
)  # fmt: skip
HEARD = (
    Statement("e1", "b", Vote(attribute="accurate", value=2, rationale="A dose is missing.")),
    Statement("e2", "a", Vote(attribute="accurate", value=5, rationale="All is there.")),
    Statement("e3", "b", Vote(attribute="thorough", value=4, rationale="Mostly.")),
    Statement("e4", "b", Vote(attribute="accurate", value=1, rationale="Still missing.")),
)


class Gateway:
    """Answers each form with `answer`, or raises it; notes the prompt and the form."""

    def __init__(self, answer: Any = None, window: Window = Window(None)) -> None:  # noqa: B008
        self.answer, self.window = answer, window
        self.prompts: list[Any] = []
        self.shapes: list[Any] = []

    async def fill(self, prompt: Any, shape: Any) -> Filled[Any]:
        self.prompts.append(prompt)
        self.shapes.append(shape)
        if isinstance(self.answer, Exception):
            raise self.answer
        return Filled(shape.model_validate(self.answer), SPENT)


def presiding(gateway: Gateway, stance: str = "") -> Orchestrator:
    return Orchestrator(gateway, SEATS, stance)  # type: ignore[arg-type]


PART = {"dispute": "d", "question": "q?", "to": ["a", "b"]}
EXCHANGE = {**PART, "finding": "disputed", "answering": "b"}
AGREED = {"dispute": "none", "question": "", "to": [], "finding": "consensus", "answering": ""}
WEIGHED = {"weighed": ["b", "a", "b"], "rationale": "why", "score": 3}


def test_each_attribute_has_its_dispute_its_question_and_those_who_should_answer(
    rubric: Rubric, case: Case
) -> None:
    gateway = Gateway({"accurate": PART, "thorough": {**PART, "to": ["b"]}})
    asked = presiding(gateway).name_disputes(brief(case, rubric), rubric.names, HEARD, round=2, replan=False)

    assert asyncio.run(asked) == Disputes(
        (
            Dispute(attribute="accurate", dispute="d", question="q?", to=("a", "b")),
            Dispute(attribute="thorough", dispute="d", question="q?", to=("b",)),
        ),
        SPENT,
    )
    subject = gateway.prompts[0].subject
    assert (subject.case, subject.seat, subject.asked) == ("c1", "orchestrator", rubric.names)
    assert (subject.round, subject.kind) == (2, "ledger")
    assert subject.context.heard == tuple((each.label, each.vote) for each in HEARD)
    assert subject.context.notes == ("- a: attends to doses", "- b")


def test_a_moderator_says_whose_argument_is_answered_and_declares_only_what_it_finds_agreed(
    rubric: Rubric, case: Case
) -> None:
    gateway = Gateway({"accurate": EXCHANGE, "thorough": AGREED})
    turn = asyncio.run(
        presiding(gateway).moderate(brief(case, rubric), rubric.names, HEARD, round=3, replan=False)
    )

    assert isinstance(turn, Moderation) and (turn.declared, turn.spent) == (("thorough",), SPENT)
    assert [(each.to, each.answering) for each in turn.disputes] == [(("a", "b"), "b"), ((), "")]
    assert (gateway.prompts[0].subject.round, gateway.prompts[0].subject.kind) == (3, "ledger")


def test_a_decision_may_weigh_only_who_voted_and_names_each_once(rubric: Rubric, case: Case) -> None:
    gateway = Gateway({"accurate": WEIGHED, "thorough": {**WEIGHED, "weighed": ["b"]}})
    decided = asyncio.run(
        presiding(gateway).decide(brief(case, rubric), rubric.names, HEARD, round=4, why="max_rounds")
    )

    assert decided == Decision(
        (
            Finding(attribute="accurate", value=3, rationale="why", weighed=("b", "a")),
            Finding(attribute="thorough", value=3, rationale="why", weighed=("b",)),
        ),
        SPENT,
    )
    (shape,) = gateway.shapes
    for refused in ({"weighed": ["a"]}, {"weighed": []}, {"weighed": ["b"], "score": 6}):
        with pytest.raises(ValueError, match="thorough"):
            shape.model_validate({"accurate": WEIGHED, "thorough": {**WEIGHED, **refused}})
    assert (gateway.prompts[0].subject.round, gateway.prompts[0].subject.kind) == (4, "decision")
    assert "max_rounds" in gateway.prompts[0].body


def test_of_a_decision_that_is_partly_legal_the_rest_is_an_abstention(rubric: Rubric, case: Case) -> None:
    def decided(fields: dict[str, Any]) -> Any:
        failed = FillFailed(ModelFailure("out_of_scale", "9"), SPENT, fields)
        asked = presiding(Gateway(failed)).decide(brief(case, rubric), rubric.names, HEARD, round=1, why="w")
        return asyncio.run(asked)

    bad = {**WEIGHED, "weighed": ["b"], "score": 9}
    partly = decided({"accurate": WEIGHED, "thorough": bad})
    assert isinstance(partly, Decision) and partly.spent == SPENT
    assert [(found.attribute, found.value) for found in partly.findings] == [("accurate", 3)]
    assert [(part.attribute, part.reason) for part in partly.abstained] == [("thorough", "out_of_scale")]
    assert decided({"accurate": bad, "thorough": bad}) == Silence("out_of_scale", "9", SPENT)


STEPS: dict[str, Callable[[Orchestrator, Any, tuple[str, ...], bool], Any]] = {
    "ledger": lambda boss, told, names, replan: boss.name_disputes(told, names, HEARD, round=2, replan=replan),
    "moderation": lambda boss, told, names, replan: boss.moderate(told, names, HEARD, round=2, replan=replan),
    "decision": lambda boss, told, names, _: boss.decide(told, names, HEARD, round=2, why="w"),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_no_answer_is_a_silence_with_its_reason_and_its_cost(step: str, rubric: Rubric, case: Case) -> None:
    def outcome(gateway: Gateway) -> Any:
        return asyncio.run(STEPS[step](presiding(gateway), brief(case, rubric), rubric.names, False))

    refused = outcome(Gateway(FillFailed(ModelFailure("refused", "no"), SPENT)))
    assert refused == Silence("refused", "no", SPENT)
    limit = outcome(Gateway(LimitReached("max_usd")))
    assert (limit.reason, limit.spent) == ("limit", Receipt()) and "max_usd" in limit.detail
    narrow = Gateway(window=Window(100, 10))
    too_long = outcome(narrow)
    assert (too_long.reason, too_long.spent, narrow.prompts) == ("too_long", Receipt(), [])


@pytest.mark.parametrize("step", STEPS)
def test_what_was_heard_is_shortened_to_what_the_rest_of_the_prompt_leaves(
    step: str, rubric: Rubric, case: Case
) -> None:
    told = brief(case, rubric)

    def prompt(tokens: int | None) -> Any:
        gateway = Gateway(LimitReached("max_usd"), Window(tokens, 100))
        asyncio.run(
            STEPS[step](presiding(gateway, "A stance of some length. " * 20), told, rubric.names, False)
        )
        return gateway.prompts[0] if gateway.prompts else None

    def size(made: Any) -> int:
        return sum(estimated_tokens(text) for text in (made.system, made.opening, made.body))

    whole = prompt(None)
    assert all(each.vote.rationale in whole.body for each in HEARD)
    assert prompt(size(whole) + 100).body == whole.body
    # One token less, and a reason is left out, where the answer, the stance and the case have taken their part.
    assert "left out" in prompt(size(whole) + 99).body
    narrower = [(tokens, prompt(tokens)) for tokens in range(size(whole) - 300, size(whole) + 100, 10)]
    assert all(made is None or size(made) + 100 <= tokens for tokens, made in narrower)
    assert narrower[0][1] is None and narrower[-1][1] is not None


def test_a_prompt_holds_the_stance_the_bench_and_after_questions_that_moved_nobody_says_so(
    rubric: Rubric, case: Case
) -> None:
    told, new_plan = brief(case, rubric), words("replan")
    for step, ask in STEPS.items():
        gateway = Gateway(LimitReached("max_usd"))
        boss = presiding(gateway, "  Be strict.\n")
        for replan in (False, True):
            asyncio.run(ask(boss, told, rubric.names, replan))
        plain, again = gateway.prompts
        assert plain.system.endswith("\n\nBe strict.") and (plain.opening, plain.nonce) == (
            told.text,
            told.nonce,
        )
        assert "- a: attends to doses\n- b" in plain.body and "accurate, thorough" in plain.body
        assert (new_plan in plain.body, new_plan in again.body) == (False, step != "decision")


def test_of_a_pair_the_lot_decides_which_output_it_reads_first() -> None:
    pair = Rubric.model_validate(
        {
            "name": "p",
            "version": 1,
            "kind": "pair",
            "scales": {"better": {"level": "ordinal", "anchors": {n: str(n) for n in range(-2, 3)}}},
            "attributes": [{"name": "x", "question": "?", "scale": "better"}],
        }
    )
    firsts = set()
    for number in range(8):
        told = brief(Case.from_row({"id": f"c{number}", "output_a": "Alpha.", "output_b": "Beta."}), pair)
        gateway = Gateway(LimitReached("max_usd"))
        asyncio.run(presiding(gateway).name_disputes(told, ("x",), (), round=1, replan=False))
        first = gateway.prompts[0].subject.context.first
        opening = gateway.prompts[0].opening
        assert (opening.index('"output A" begins') < opening.index('"output B" begins')) == (first == "A")
        firsts.add(first)
    assert firsts == {"A", "B"}


def test_the_room_beside_a_conversation_counts_every_message() -> None:
    messages = (Message("user", "abc"), Message("assistant", "abcd"))

    assert presiding(Gateway(window=Window(100, 10))).room(messages) == 100 - 10 - 1 - 2
    assert presiding(Gateway()).room(messages) is None
