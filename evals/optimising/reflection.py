"""Reflection: a model reads what went wrong under one text and writes another, which the guard reads before anybody uses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from ...agents.gateway import FillFailed, ModelGateway, Prompt
from ...agents.prompting import PROMPTS, Prompts, fence, form_of, nonce
from ...orchestration.verdict import Verdict
from ...rubrics.ballot import TEXT
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.scale import Scale, Value
from .rewards import Rewards, answer_credit
from .wording import Guard, Judge, Target

SEVERE = 0.5
"""The share of a scale from which on a verdict that is off people's value is a severe miss."""
SHOWN = 8
"""Cases that a reflecting model reads at once, those with the least reward first."""
_LONG = 1200
"""Characters of one text of a case that it reads."""

Remarks = Mapping[tuple[str, str], tuple[str, ...]]
"""What people wrote beside their values: by case and attribute, each one's words."""

_WORDS = Prompts(PROMPTS.folder / "optimising")


class Proposal(BaseModel):
    """What a reflecting model answers: first what went wrong, then the text."""

    model_config = ConfigDict(extra="forbid")

    diagnosis: TEXT
    text: TEXT


@dataclass(frozen=True, slots=True)
class Refused:
    """No text that may be used came back, and why."""

    why: str
    copied: bool
    """Whether the model wrote something that the guard refused, and did not simply fail."""


@dataclass(frozen=True)
class Reflector:
    """Asks for a better text in one place of a judge's words."""

    gateway: ModelGateway
    rewards: Rewards
    remarks: Remarks
    guard: Guard
    cases: dict[str, Case]

    async def propose(
        self, target: Target, judge: Judge, verdicts: Sequence[Verdict], *, attempt: int
    ) -> str | Refused:
        """A text for `target` in place of the judge's own, in answer to its verdicts.

        `attempt` counts the times that the same was asked before: each time the model answers anew.
        """
        current = target.text(judge)
        prompt = self._prompt(target, judge, current, verdicts)
        refusals: list[str] = []

        def check(proposal: Proposal) -> str | None:
            problem = self.guard.refusal(proposal.text, current)
            if problem is None:
                try:
                    target.put(judge, proposal.text)
                except VenireError as error:
                    problem = f"{error.problem}; {error.remedy}"
            if problem is not None:
                refusals.append(problem)
            return problem

        try:
            reply = await self.gateway.fill(prompt, Proposal, check=check, repeat=attempt)
        except FillFailed as failed:
            return Refused(refusals[-1] if refusals else str(failed.failure), copied=bool(refusals))
        return reply.value.text.strip()

    def _prompt(self, target: Target, judge: Judge, current: str, verdicts: Sequence[Verdict]) -> Prompt:
        cases = [self.cases[verdict.case] for verdict in verdicts]
        code = nonce([text for case in cases for text in (*case.source, case.output)])
        questions = "\n".join(
            f"- {name}: {judge.rubric.by_name[name].question}" for name in self.rewards.attributes
        )
        body = _WORDS.words(
            "proposal",
            kind=target.kind,
            current=fence("words", target.name, current or "(nothing yet)", code),
            questions=questions,
            feedback=feedback_text(
                self.cases, verdicts, self.rewards, self.remarks, self.guard.flagged, code
            ),
            max_words=self.guard.max_words,
            form=form_of(Proposal),
        )
        return Prompt(_WORDS.words("writer"), "", body, nonce=code)


def feedback_text(
    cases: Mapping[str, Case],
    verdicts: Sequence[Verdict],
    rewards: Rewards,
    remarks: Remarks,
    withheld: Mapping[str, tuple[str, ...]],
    code: str,
) -> str:
    """The cases on which a wording earned least, each with what was judged, what was said and what people say.

    Args:
        withheld: By case, passages in which its text gives orders: the text of such a case is not shown.
        code: Of the markers around everything that is not ours.
    """
    order = sorted(verdicts, key=lambda verdict: (_low(rewards.of_case(verdict)), verdict.case))
    parts = [
        _case_feedback(number, cases[verdict.case], verdict, rewards, remarks, verdict.case in withheld, code)
        for number, verdict in enumerate(order[:SHOWN], 1)
    ]
    agreeing = sum(rewards.of_case(verdict) >= rewards.best for verdict in verdicts)
    return f"{agreeing} of {len(verdicts)} cases were judged as people judge them.\n\n" + "\n\n".join(parts)


def _low(reward: float) -> float:
    return reward if reward == reward else float("-inf")


def _case_feedback(
    number: int, case: Case, verdict: Verdict, rewards: Rewards, remarks: Remarks, withheld: bool, code: str
) -> str:
    if withheld:
        texts = "Its text gives orders to whoever reads it, and is not shown."
    else:
        exhibits = rewards.rubric.exhibits(case)
        texts = "\n".join(fence("exhibit", f"case {number}: {e.name}", _cut(e.text), code) for e in exhibits)
    lines = [
        line
        for name in rewards.attributes
        for line in _question_feedback(name, verdict, rewards, remarks, withheld, code)
    ]
    return "\n".join([f"## Case {number}", texts, *lines])


def _question_feedback(
    name: str, verdict: Verdict, rewards: Rewards, remarks: Remarks, withheld: bool, code: str
) -> Iterator[str]:
    truth = rewards.truth.get((verdict.case, name))
    outcome = verdict.outcomes[name]
    if truth is None:
        return
    scale = rewards.rubric.scale_of(name)
    if outcome.status != "reached" or outcome.value is None:
        yield f"- {name}: people say {_plain(truth)}; the judge gave no answer ({outcome.status}: {fence('words', 'why', _cut(outcome.why), code) if outcome.why else 'no reason'})"
    else:
        yield f"- {name}: people say {_plain(truth)}; the judge says {_plain(outcome.value)}: {_mistake(scale, truth, outcome.value)}"
    if withheld:
        return
    votes = {juror: standing.vote for juror, standing in verdict.transcript.standing().get(name, {}).items()}
    reasons = [f"{juror}: {vote.rationale}" for juror, vote in votes.items()]
    if reasons:
        yield fence("words", f"reasons for {name}", _cut("\n".join(reasons)), code)
    if outcome.dissent:
        against = "\n".join(
            f"{dissent.juror} ({_plain(dissent.value)}): {dissent.reason}" for dissent in outcome.dissent
        )
        yield fence("words", f"dissent on {name}", _cut(against), code)
    if lost := [quote.text for vote in votes.values() for quote in vote.evidence if not quote.found]:
        yield fence("words", f"quotes for {name} that stand in no exhibit", _cut("\n".join(lost)), code)
    if comments := remarks.get((verdict.case, name)):
        yield fence("words", f"what people wrote on {name}", _cut("\n".join(comments)), code)


def _mistake(scale: Scale, truth: Value, answer: Value) -> str:
    """The kind of mistake in words: over-call, under-call or another answer, and whether it is severe."""
    earned = answer_credit(scale, truth, answer)
    if earned == 1:
        return "the same"
    severe = ", a severe miss" if 1 - earned >= SEVERE and len(scale.values) != 2 else ""
    if not scale.ordered or isinstance(truth, str) or isinstance(answer, str):
        return "another answer"
    return ("an over-call" if answer > truth else "an under-call") + severe


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]} [cut]"
