"""Any jury as an AutoGen team: something to `run`, to stream, or to seat in a team of your own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from ..agents.model import digest
from ..personas.jury import Jury
from ..rubrics.case import Case
from ..rubrics.errors import MissingExtra, VenireError
from ..rubrics.rubric import Rubric
from .bench import Court
from .deliberate import hear, ready, recount, suited_jury
from .transcript import Abstained, Cast, Checked, Controlled, Decided, Entry, Extracted, Ledger, Said, Stop
from .verdict import Outcome, Verdict
from .worked_examples import ScoredCases

try:
    from autogen_agentchat.agents import BaseChatAgent
    from autogen_agentchat.base import Response
    from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, StructuredMessage, TextMessage
    from autogen_core import CancellationToken
except ModuleNotFoundError as missing:
    raise MissingExtra(
        f"a jury as an AutoGen team needs AutoGen ({missing.name} is not installed)",
        remedy="pip install 'venire[autogen]'",
    ) from None


class VerdictMessage(BaseModel):
    """A verdict as AutoGen carries it: what became of each attribute, and why the jury stopped."""

    model_config = ConfigDict(frozen=True)

    case: str
    stop: Stop
    outcomes: Mapping[str, Outcome]
    derived: Mapping[str, float]


def case_of(messages: Sequence[BaseChatMessage]) -> Case:
    """What the messages put before the jury: a `Case`, or a text with those before it as its source."""
    if not messages:
        raise VenireError("there is nothing to judge", remedy="give the team a task")
    last = messages[-1]
    if isinstance(last, StructuredMessage) and isinstance(last.content, Case):
        return last.content
    *source, output = (message.to_model_text() for message in messages)
    return Case(id=digest("\0".join([*source, output]))[:12], source=tuple(source), output=output)


def jury_team(
    jury: Jury,
    rubric: Rubric,
    *,
    model: str | None = None,
    base_url: str | None = None,
    as_case: Callable[[Sequence[BaseChatMessage]], Case] = case_of,
    as_text: bool = False,
) -> JuryAgent:
    """The jury with AutoGen's `run` and `run_stream`; it answers a task with a `StructuredMessage[VerdictMessage]`.

    `model` and `base_url` fill seats that name none. With `as_text` it answers in JSON text, for teams such as
    MagenticOneGroupChat that take no structured messages.
    """
    return JuryAgent(suited_jury(jury.fill(model=model, base_url=base_url), rubric), rubric, as_case, as_text)


class JuryAgent(BaseChatAgent):
    """A whole jury in one seat. It remembers nothing: every task is a case of its own."""

    def __init__(
        self, jury: Jury, rubric: Rubric, as_case: Callable[[Sequence[BaseChatMessage]], Case], as_text: bool
    ) -> None:
        described = (
            jury.description or f"a jury of {len(jury.seats)} that judges a text by the rubric {rubric.name}"
        )
        super().__init__(jury.name.replace("-", "_"), described)
        self._jury = jury
        self._rubric = rubric
        self._as_case = as_case
        self._as_text = as_text

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,) if self._as_text else (StructuredMessage[VerdictMessage],)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        async for said in self.on_messages_stream(messages, cancellation_token):
            if isinstance(said, Response):
                return said
        raise AssertionError("unreachable")

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """What is said in the jury room, as it is said; then the verdict."""
        spoken: asyncio.Queue[Entry | None] = asyncio.Queue()
        deliberation = asyncio.ensure_future(self._deliberate(self._as_case(messages), spoken))
        cancellation_token.link_future(deliberation)
        said: list[BaseAgentEvent | BaseChatMessage] = []
        try:
            while (entry := await spoken.get()) is not None:
                said.append(TextMessage(content=entry_text(entry), source=entry.speaker))
                yield said[-1]
            verdict = await deliberation
        finally:
            deliberation.cancel()
        yield Response(chat_message=self._answer(verdict), inner_messages=said)

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """There is nothing to forget."""

    async def _deliberate(self, case: Case, spoken: asyncio.Queue[Entry | None]) -> Verdict:
        court = Court(scored=ScoredCases.of([case]), listener=lambda _, entry: spoken.put_nowait(entry))
        try:
            await asyncio.to_thread(ready, self._jury, court, self._rubric)
            return recount(await hear(case, self._rubric, self._jury, court), self._rubric, self._jury)
        finally:
            await court.close()
            spoken.put_nowait(None)

    def _answer(self, verdict: Verdict) -> BaseChatMessage:
        found = VerdictMessage(
            case=verdict.case, stop=verdict.stop, outcomes=verdict.outcomes, derived=verdict.derived
        )
        if self._as_text:
            return TextMessage(content=found.model_dump_json(), source=self.name)
        return StructuredMessage[VerdictMessage](content=found, source=self.name)


def entry_text(entry: Entry) -> str:
    """An entry of the transcript as text."""
    match entry:
        case Cast():
            ballot = entry.ballot
            given = [f"{v.attribute}: {v.value}. {v.rationale}" for v in ballot.votes]
            return "\n".join((*given, *(f"{a.attribute}: abstains ({a.reason})" for a in ballot.abstained)))
        case Abstained():
            return f"abstains ({entry.abstention.reason}: {entry.abstention.detail})"
        case Ledger():
            return "\n".join(f"{d.attribute}: {d.dispute} {d.question}" for d in entry.disputes)
        case Decided():
            return "\n".join(f"{f.attribute}: {f.value}. {f.rationale}" for f in entry.findings)
        case Said():
            return entry.text
        case Extracted() | Checked() | Controlled():
            return entry.summary
