"""The plan of a replay: the calls that its record does not answer, found by holding it with nobody at the other end.

A changed question is taken to be answered as the same seat answered in the same round of the parent; a seat that is itself
another one, with the same score in other words. Where an answer is another one, the rounds that follow may be more or
fewer: there the plan is a forecast, and elsewhere exact. A second number takes every new answer to be in other words, so
that whoever reads it is asked something new too, as with models that never say the same twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...agents.model import ModelFailure, Reply, Request, Subject
from ...agents.model_client import ModelClient
from ...agents.orchestrator import NAME
from ...agents.providers import Providers, RateLimitedClient
from ...personas.jury import ModelSettings
from ...rubrics.ballot import Vote
from ...rubrics.errors import count_words
from ..transcript import Abstained, Cast, Checked, Decided, Extracted, Ledger, Said, Transcript

_AS_BEFORE = "as recorded"
_NEXT_SPEAKER = "next_speaker"
"""The field by which a progress ledger of Magentic-One is known."""


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What a replay will ask before anything is paid."""

    deliberations: int
    reused: int
    """Calls that a record answers."""
    new: int
    """Calls that have to be made, if whoever did not change answers other questions as it answered those of the parent."""
    new_in_other_words: int
    """The same, if every new answer has the score of the one before it, in other words."""
    changed_seats: tuple[str, ...] = ()
    """Those that answer as somebody else, the scores of whom nobody knows yet: with them, both numbers are a forecast."""
    left_out: tuple[str, ...] = ()
    """People whose revisions have no controls: asked the same again, they would remember."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        total = self.reused + self.new
        share = f" ({self.reused / total:.0%})" if total else ""
        more = self.new_in_other_words
        worded = (
            f", or {count_words(more, 'call')} if those jurors give the same scores with other reasons"
            if more != self.new
            else ""
        )
        who = " and ".join(self.changed_seats)
        unknown = f"; this is a forecast: it is unknown what {who} will say, and the jury may agree earlier or later than before"
        people = "".join(f"; {name} is a person, and is not asked again" for name in self.left_out)
        return (
            f"{count_words(self.deliberations, 'deliberation')}: {self.reused} of {total} calls are answered from the record{share}; "
            f"{count_words(self.new, 'call')} {'is' if self.new == 1 else 'are'} new if jurors answer as they did before{worded}{unknown if who else ''}{people}"
        )


class ForecastProviders(Providers):
    """The clients of a run, none of which sends anything: each answers as `transcript` has it, and is noted in `asked`.

    `answered` holds the keys of the calls that a record has answered; `reworded` says of a seat whether it speaks in other words.
    """

    def __init__(
        self,
        providers: Providers,
        transcript: Transcript | None,
        asked: set[str],
        answered: Collection[str],
        reworded: Callable[[str], bool],
    ) -> None:
        super().__init__(prices=providers.prices)
        self._real = providers
        self._answers = _RecordedAnswers(transcript, answered, reworded)
        self._asked = asked
        self._clients: dict[ModelSettings, RateLimitedClient] = {}

    def get(self, settings: ModelSettings) -> RateLimitedClient:
        if settings not in self._clients:
            client = _ForecastClient(self._real.get(settings).client, self._answers, self._asked)
            self._clients[settings] = RateLimitedClient(client, 1000)
        return self._clients[settings]


class _ForecastClient(ModelClient):
    """Stands for `client` towards a seat, and sends nothing."""

    def __init__(self, client: ModelClient, answers: _RecordedAnswers, asked: set[str]) -> None:
        self._client = client
        self._answers = answers
        self._asked = asked
        self.context_window = client.context_window
        self.votes_only = client.votes_only
        self.reports_cost = client.reports_cost

    def answers_for(self, subject: Subject) -> tuple[str, ...]:
        return self._client.answers_for(subject)

    async def complete(self, request: Request) -> Reply:
        self._asked.add(request.key)
        return Reply(text=self._answers.answer(request), usd=0.0)


class _RecordedAnswers:
    """What the seats of one deliberation said, as answers to other questions of the same round."""

    def __init__(
        self, transcript: Transcript | None, answered: Collection[str], reworded: Callable[[str], bool]
    ) -> None:
        self._reworded = reworded
        self._entries = transcript.entries if transcript else ()
        self._answered = answered
        chair = [entry for entry in self._entries if isinstance(entry, Said) and entry.who == NAME]
        self._ledgers = [entry for entry in chair if entry.about == "ledger"]
        self._plans = [entry for entry in chair if entry.about in ("facts", "plan", "replan")]

    def answer(self, request: Request) -> str:
        """The answer in words or JSON.

        Raises:
            ModelFailure: The seat abstained in that round.
        """
        subject, schema = request.subject, request.schema
        seat = subject.seat if subject is not None else NAME
        words = f"{_AS_BEFORE} {request.key[:12]}" if self._reworded(seat) else ""
        if subject is None:
            return self._conversation(schema, words)
        fields = schema["properties"] if schema is not None else {}
        match subject.kind:
            case "extraction" | "verification":
                return json.dumps(self._claims(subject))
            case "ballot":
                part = self._votes(subject, words)
            case "ledger":
                part = self._disputes(subject, words)
            case "decision":
                part = self._findings()
        return json.dumps(
            {name: _legal_part(form["properties"], part.get(name, {})) for name, form in fields.items()}
        )

    def _votes(self, subject: Subject, words: str) -> Mapping[str, Mapping[str, Any]]:
        votes: dict[str, Vote] = {}
        silence: Abstained | None = None
        for entry in self._entries:
            # A seat's later votes stand in where it has none as early as this.
            if isinstance(entry, Cast) and entry.speaker == subject.seat:
                early = entry.round <= subject.round
                votes |= {v.attribute: v for v in entry.ballot.votes if early or v.attribute not in votes}
            if isinstance(entry, Abstained) and (entry.speaker, entry.round) == (subject.seat, subject.round):
                silence = entry
        if silence is not None:
            raise ModelFailure(silence.abstention.reason, silence.abstention.detail)
        return {
            name: {
                "rationale": words or vote.rationale,
                "evidence": [quote.text for quote in vote.evidence],
                "score": vote.value,
                "moved_by": vote.moved_by or _AS_BEFORE,
                "confidence": vote.confidence or "low",
            }
            for name, vote in votes.items()
        }

    def _disputes(self, subject: Subject, words: str) -> Mapping[str, Mapping[str, Any]]:
        parts: dict[str, Mapping[str, Any]] = {}
        for entry in self._entries:
            if isinstance(entry, Ledger) and entry.round == subject.round + 1:
                parts |= {
                    d.attribute: {**d.model_dump(), "question": words or d.question, "finding": "disputed"}
                    for d in entry.disputes
                }
                parts |= {name: {"finding": "consensus"} for name in entry.declared}
        return parts

    def _findings(self) -> Mapping[str, Mapping[str, Any]]:
        return {
            finding.attribute: {
                "score": finding.value,
                "rationale": finding.rationale,
                "weighed": finding.weighed,
            }
            for entry in self._entries
            if isinstance(entry, Decided)
            for finding in entry.findings
        }

    def _claims(self, subject: Subject) -> dict[str, Any]:
        if subject.kind == "extraction":
            listed = [
                {"text": claim.text, "quote": claim.quote, "central": claim.central}
                for entry in self._entries
                if isinstance(entry, Extracted) and subject.exhibits[0].name.startswith(entry.of)
                for claim in entry.claims
            ]
            return {"claims": listed}
        verdicts = {
            check.claim: check.verdict
            for entry in self._entries
            if isinstance(entry, Checked) and entry.juror == subject.seat
            for check in entry.checks
        }
        return {
            "checks": [
                {
                    "claim": claim.id,
                    "reason": _AS_BEFORE,
                    "evidence": "",
                    "verdict": verdicts.get(claim.id) or "not_addressed",
                }
                for claim in subject.claims
            ]
        }

    def _conversation(self, schema: Mapping[str, Any] | None, words: str) -> str:
        """Whoever presides over Magentic-One: its ledgers in order, those who left passed over, then its last words."""
        # What the record has answered is not said twice.
        self._plans = [entry for entry in self._plans if not self._answered_before(entry)]
        self._ledgers = [entry for entry in self._ledgers if not self._answered_before(entry)]
        if schema is None and self._plans:
            return f"{self._plans.pop(0).text}{words}"
        if schema is None or _NEXT_SPEAKER not in schema["properties"]:
            findings = self._findings().items()
            return json.dumps(
                {name: {"rationale": part["rationale"], "score": part["score"]} for name, part in findings}
            )
        seated = schema["properties"][_NEXT_SPEAKER]["properties"]["answer"]["enum"]
        while self._ledgers:
            ledger = json.loads(self._ledgers.pop(0).text)
            if ledger["is_request_satisfied"]["answer"] or ledger[_NEXT_SPEAKER]["answer"] in seated:
                ledger["instruction_or_question"]["answer"] += words
                return json.dumps(ledger)
        spoken = (_NEXT_SPEAKER, "instruction_or_question")
        return json.dumps(
            {
                name: {"reason": _AS_BEFORE, "answer": seated[0] if name in spoken else True}
                for name in schema["properties"]
            }
        )

    def _answered_before(self, entry: Said) -> bool:
        return all(key in self._answered for key in entry.spent.calls)


def _legal_part(form: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """One attribute's part of an answer: what was recorded where that is legal, else the first that is."""
    return {name: _legal_value(node, part.get(name)) for name, node in form.items()}


def _legal_value(node: Mapping[str, Any], value: Any) -> Any:
    if node.get("type") == "array":
        legal = _values(node["items"])
        chosen = [each for each in value or () if not legal or each in legal]
        return chosen or legal
    if legal := _values(node):
        return value if value in legal else legal[0]
    if "anyOf" in node:
        return value if value is not None else _legal_value(node["anyOf"][0], None)
    if node.get("type") in ("number", "integer"):
        return node.get("minimum", 0) if value is None else value
    return value or _AS_BEFORE


def _values(node: Mapping[str, Any]) -> list[Any]:
    return [node["const"]] if "const" in node else list(node.get("enum", ()))
