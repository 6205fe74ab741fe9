"""Reflection: a model reads what went wrong under one text and writes another, which the guard reads before anybody uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from ...agents.gateway import FillFailed, ModelGateway, Prompt
from ...agents.prompting import PROMPTS, Prompts, fence, form_of, nonce
from ...orchestration.verdict import Verdict
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.shapes import TEXT
from .feedback import Remarks, feedback_text
from .guards import Guard
from .rewards import Rewards
from .wording import Judge, Target

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
            filled = await self.gateway.fill(prompt, Proposal, check=check, repeat=attempt)
        except FillFailed as failed:
            return Refused(refusals[-1] if refusals else str(failed.failure), copied=bool(refusals))
        return filled.value.text.strip()

    def _prompt(self, target: Target, judge: Judge, current: str, verdicts: Sequence[Verdict]) -> Prompt:
        shown = [self.cases[verdict.case] for verdict in verdicts]
        code = nonce([text for case in shown for text in (*case.source, case.output)])
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
