"""Feedback in words: where a judge's verdicts and people's values part, and what the deliberation says about why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...agents.prompting import fence
from ...orchestration.verdict import Verdict
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ...rubrics.scale import Scale, Value
from .rewards import Rewards, answer_credit

SEVERE = 0.5
"""The share of a scale from which on a verdict that is off people's value is a severe miss."""
SHOWN = 8
"""Cases that a reflecting model reads at once, those with the least reward first."""
_LONG = 1200
"""Characters of one text of a case that it reads."""


@dataclass(frozen=True, slots=True)
class Remarks:
    """What people wrote beside their values: by case and attribute, each one's words."""

    by_question: Mapping[tuple[str, str], tuple[str, ...]]


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
    right = sum(rewards.of_case(verdict) >= rewards.best for verdict in verdicts)
    return f"{right} of {len(verdicts)} cases were judged as people judge them.\n\n" + "\n\n".join(parts)


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
    found = [
        line
        for name in rewards.attributes
        for line in _question_feedback(name, verdict, rewards, remarks, withheld, code)
    ]
    return "\n".join([f"## Case {number}", texts, *found])


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
        yield f"- {name}: people say {_plain(truth)}; the judge says {_plain(outcome.value)}: {_kind(scale, rewards.rubric, name, truth, outcome.value)}"
    if withheld:
        return
    reasons = [f"{said.juror}: {said.rationale}" for said in _rationales(verdict, name)]
    if reasons:
        yield fence("words", f"reasons for {name}", _cut("\n".join(reasons)), code)
    if outcome.dissent:
        against = "\n".join(f"{each.juror} ({_plain(each.value)}): {each.reason}" for each in outcome.dissent)
        yield fence("words", f"dissent on {name}", _cut(against), code)
    if lost := _quotes_not_found(verdict, name):
        yield fence("words", f"quotes for {name} that stand in no exhibit", _cut("\n".join(lost)), code)
    if said := remarks.by_question.get((verdict.case, name)):
        yield fence("words", f"what people wrote on {name}", _cut("\n".join(said)), code)


def _kind(scale: Scale, rubric: Rubric, name: str, truth: Value, given: Value) -> str:
    """The kind of mistake in words: over-call, under-call or another answer, and whether it is severe."""
    earned = answer_credit(scale, truth, given)
    if earned == 1:
        return "the same"
    severe = ", a severe miss" if 1 - earned >= SEVERE and len(scale.values) != 2 else ""
    if not scale.ordered or isinstance(truth, str) or isinstance(given, str):
        return "another answer"
    return ("an over-call" if given > truth else "an under-call") + severe


@dataclass(frozen=True, slots=True)
class _Rationale:
    juror: str
    rationale: str


def _rationales(verdict: Verdict, name: str) -> list[_Rationale]:
    """Each juror's last words on an attribute; where one presided and decided, the decision's too."""
    held = verdict.transcript.standing().get(name, {})
    return [_Rationale(juror, standing.vote.rationale) for juror, standing in held.items()]


def _quotes_not_found(verdict: Verdict, name: str) -> list[str]:
    held = verdict.transcript.standing().get(name, {})
    return [quote.text for standing in held.values() for quote in standing.vote.evidence if not quote.found]


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]} [cut]"
