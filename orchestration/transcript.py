"""The transcript: what happened, in order, append-only, and why it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from ..agents.cost import Cost, Receipt
from ..agents.juror import Shown, Turn
from ..agents.orchestrator import Dispute, Finding
from ..rubrics.ballot import Abstention, AbstentionReason, Ballot, Vote
from ..rubrics.claim import Check, Claim
from ..rubrics.errors import count_words

STRUCK = "struck"
"""What the clerk's note is about by which a seat is struck off: the votes that it had cast stand no more."""
CLERK = "clerk"
"""Whose name code's own notes go under. The clerk is no seat: its notes cost no call and no step."""

UNASKED: tuple[AbstentionReason, ...] = ("limit", "not_called")
"""Why a seat has no turn: nobody asked it."""
UNREACHED: tuple[AbstentionReason, ...] = ("unavailable", "timeout")
"""Why a model said nothing where that tells of the way to it, and not of the model."""

Purpose = Literal[
    "blind", "revision", "challenge", "repeat", "argument", "vote", "extraction", "verification"
]

StopReason = Literal[
    "consensus", "complete", "stall", "stable", "turns", "rounds", "replans", "budget", "time", "orchestrator"
]

_REASONS: dict[str, StopReason] = {
    "max_turns": "turns",
    "max_rounds": "rounds",
    "max_stalls": "stall",
    "max_replans": "replans",
    "max_tokens": "budget",
    "max_usd": "budget",
    "max_seconds": "time",
    "stable_rounds": "stable",
    "ks": "stable",
}


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str = ""
    step: int = 0
    """Entries of one step were made at the same time; steps follow each other."""
    round: int
    spent: Receipt = Receipt()
    first: Shown | None = None
    """Of a pair: which output whoever speaks here was shown first."""
    failed: AbstentionReason | None = None
    """Why the orchestrator gave nothing usable here, or a verifier's model could not be reached for some claim;
    what else jurors fail at is an abstention."""


class Cast(_Entry):
    """A ballot, and what it was asked for."""

    kind: Literal["ballot"] = "ballot"
    purpose: Purpose
    ballot: Ballot

    @property
    def speaker(self) -> str:
        return self.ballot.juror


class Abstained(_Entry):
    kind: Literal["abstention"] = "abstention"
    purpose: Purpose
    abstention: Abstention

    @property
    def speaker(self) -> str:
        return self.abstention.juror


class Ledger(_Entry):
    """What is in dispute, between whom, and which question goes to whom."""

    kind: Literal["ledger"] = "ledger"
    disputes: tuple[Dispute, ...]
    author: Literal["orchestrator", "code"]
    """`code` when the orchestrator gave none and everyone concerned was asked instead."""
    replan: bool = False
    declared: tuple[str, ...] = ()
    """The attributes on which a moderator declared consensus and code found it so."""
    note: str = ""
    saw: tuple[str, ...] = ()
    """The entries put before whoever wrote it."""

    @property
    def speaker(self) -> str:
        return "orchestrator"


class Decided(_Entry):
    """The orchestrator's reasoned decision on what the jury left open."""

    kind: Literal["decision"] = "decision"
    findings: tuple[Finding, ...]
    saw: tuple[str, ...] = ()

    @property
    def speaker(self) -> str:
        return "orchestrator"


class Said(_Entry):
    """Words outside any ballot: a plan, a note, a moderator's turn, a failure of the orchestrator."""

    kind: Literal["said"] = "said"
    who: str
    about: str
    """What kind of words: `plan`, `facts`, `silence`, `consensus` ..."""
    text: str
    saw: tuple[str, ...] = ()

    @property
    def speaker(self) -> str:
        return self.who


class Extracted(_Entry):
    """The claims that a seat found in a text; none where the text makes none, or where it `failed`."""

    kind: Literal["claims"] = "claims"
    who: str
    """The seat, or the clerk for claims that a file gave."""
    of: str
    claims: tuple[Claim, ...]
    detail: str = ""
    """Why it failed, in words."""

    @property
    def speaker(self) -> str:
        return self.who

    @property
    def summary(self) -> str:
        """What was found, in a few words that are all this program's own."""
        if self.failed is not None:
            return f"could not list the claims of the {self.of} ({self.failed})"
        return f"lists {count_words(len(self.claims), 'claim')} of the {self.of}"

    @property
    def abstentions(self) -> list[Abstained]:
        """One, where it failed."""
        if self.failed is None:
            return []
        return [_abstention_entry(self, "extraction", self.failed, f"claims of the {self.of}: {self.detail}")]


class Checked(_Entry):
    """One verifier's checks of the claims of one text."""

    kind: Literal["checks"] = "checks"
    juror: str
    of: str
    """The text whose claims were checked."""
    against: str
    checks: tuple[Check, ...]

    @property
    def speaker(self) -> str:
        return self.juror

    @property
    def summary(self) -> str:
        """How many claims came out how, in a few words that are all this program's own."""
        found = Counter((check.verdict or "without a verdict").replace("_", " ") for check in self.checks)
        counts = ", ".join(f"{number} {word}" for word, number in found.most_common())
        return f"checks {count_words(len(self.checks), 'claim')} of the {self.of} against the {self.against}: {counts}"

    @property
    def abstentions(self) -> list[Abstained]:
        """One for each claim without a verdict; none of a seat that gave no verdict at all, which abstains as a whole."""
        if all(check.abstained for check in self.checks):
            return []
        return [
            _abstention_entry(self, "verification", check.abstained, check.detail)
            for check in self.checks
            if check.abstained
        ]


class Controlled(_Entry):
    """A juror's answer when it was asked again, for a control, about what it had revised. No vote: it counts nowhere."""

    kind: Literal["control"] = "control"
    juror: str
    of: str
    """The revision that it controls: an entry of the parent's transcript."""
    condition: str
    """What of the deliberation it was shown: `alone`, `scores`, `reasons`, `without SEAT`, `only SEAT`."""
    draw: int
    votes: tuple[Vote, ...] = ()
    """None where it abstained."""

    @property
    def speaker(self) -> str:
        return self.juror

    @property
    def summary(self) -> str:
        """What it gave, in a few words that are all this program's own."""
        given = (
            ", ".join(f"{vote.attribute} {vote.value}" for vote in self.votes) or f"abstains: {self.failed}"
        )
        return f"asked again about {self.of}, {self.condition}, draw {self.draw + 1}: {given}"


def _abstention_entry(
    entry: Extracted | Checked, purpose: Purpose, reason: AbstentionReason, detail: str
) -> Abstained:
    abstention = Abstention(
        juror=entry.speaker, round=entry.round, reason=reason, detail=detail, asked=(), saw=()
    )
    return Abstained(id=entry.id, step=entry.step, round=entry.round, purpose=purpose, abstention=abstention)


AnyEntry = Cast | Abstained | Ledger | Decided | Said | Extracted | Checked | Controlled
# By its own class's serializer: that of a union makes a dict of every entry first.
Entry = Annotated[AnyEntry, Field(discriminator="kind"), SerializeAsAny()]


class Stop(BaseModel):
    """Why the deliberation ended, and which limit ended it, if one did."""

    model_config = ConfigDict(frozen=True)

    reason: StopReason
    limit: str | None = None
    """The limit's name in the jury file."""
    value: float | None = None
    """What that limit was set to."""
    detail: str = ""

    @classmethod
    def at(cls, limit: str, value: float, detail: str = "") -> Stop:
        """The stop by a limit, under the limit's name in the jury file."""
        return cls(reason=_REASONS[limit], limit=limit, value=value, detail=detail)

    def __str__(self) -> str:
        limit = f" ({self.limit}={self.value:g})" if self.limit and self.value is not None else ""
        return f"{self.reason}{limit}" + (f": {self.detail}" if self.detail else "")


class Standing(NamedTuple):
    """A juror's last valid vote on an attribute, and the entry it was cast in."""

    entry: str
    juror: str
    vote: Vote


class Transcript(BaseModel):
    """Everything said over one case. `add` returns a new transcript; nothing is edited in place."""

    model_config = ConfigDict(frozen=True)

    case: str
    arm: str
    protocol: str
    seats: tuple[str, ...]
    entries: tuple[Entry, ...] = ()
    stop: Stop | None = None
    flags: tuple[str, ...] = ()
    """Passages in which the case seems to instruct the jury."""

    def add(self, entries: Iterable[AnyEntry]) -> Transcript:
        """The transcript with one more step, in which `entries` were made at the same time."""
        step = self.entries[-1].step + 1 if self.entries else 1
        spoken = Counter[str]()
        fresh: list[AnyEntry] = []
        for entry in entries:
            spoken[entry.speaker] += 1
            again = f"/{spoken[entry.speaker]}" if spoken[entry.speaker] > 1 else ""
            fresh.append(entry.model_copy(update={"step": step, "id": f"{step}/{entry.speaker}{again}"}))
        return self.model_copy(update={"entries": (*self.entries, *fresh)}) if fresh else self

    def with_stop(self, stop: Stop) -> Transcript:
        """The finished transcript: this one, with the reason why it ended."""
        return self.model_copy(update={"stop": stop})

    @property
    def compares(self) -> bool:
        """Whether it is of a pair: values are then preferences between output A and output B."""
        return any(entry.first is not None for entry in self.entries)

    @property
    def steps(self) -> int:
        """How many serial steps it took."""
        return len({entry.step for entry in self.entries if entry.speaker != CLERK})

    @property
    def rounds(self) -> int:
        return max((entry.round for entry in self.heard), default=0)

    @property
    def heard(self) -> tuple[Cast | Abstained, ...]:
        """What came from the jurors' seats."""
        return tuple(entry for entry in self.entries if isinstance(entry, (Cast, Abstained)))

    @property
    def turns(self) -> int:
        """How often a juror was asked. A seat that a limit kept from its turn, or that nobody called on, had none."""
        return sum(
            1 for entry in self.heard if isinstance(entry, Cast) or entry.abstention.reason not in UNASKED
        )

    @property
    def ballots(self) -> tuple[Cast, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, Cast))

    @property
    def abstentions(self) -> tuple[Abstained, ...]:
        """The seats that gave no ballot, and the single attributes and claims that they abstained on, in order.

        An attribute's abstention goes under the id of its ballot; a claim's, which its detail names, under that of the checks.
        """
        found: list[Abstained] = []
        for entry in self.entries:
            match entry:
                case Cast():
                    shared = {
                        "id": entry.id,
                        "step": entry.step,
                        "round": entry.round,
                        "purpose": entry.purpose,
                    }
                    found.extend(
                        Abstained.model_validate({**shared, "abstention": a})
                        for a in entry.ballot.abstentions
                    )
                case Abstained():
                    found.append(entry)
                case Extracted() | Checked():
                    found.extend(entry.abstentions)
                case _:
                    continue
        return tuple(found)

    @property
    def unreached(self) -> bool:
        """Whether a model, a juror's or the orchestrator's, could not be reached when it was asked."""
        return any(
            (entry.abstention.reason if isinstance(entry, Abstained) else entry.failed) in UNREACHED
            for entry in self.entries
        )

    def standing(self, *, before_round: int | None = None) -> Mapping[str, Mapping[str, Standing]]:
        """Each attribute's standing votes by juror: the last valid one of each, in seat order.

        A judge's repeats stand for as long as nobody else has voted: after that it has one vote like the rest.
        Of a seat that was struck off, no vote stands from then on.
        """
        last: dict[str, dict[str, tuple[str, Vote]]] = {}
        shared: set[str] = set()
        repeats: set[str] = set()
        for entry in self.entries:
            if before_round is not None and entry.round >= before_round:
                continue
            if isinstance(entry, Said) and entry.about == STRUCK and entry.who == CLERK:
                for by_juror in last.values():
                    by_juror.pop(entry.text, None)
            if not isinstance(entry, Cast):
                continue
            name, juror, repeated = entry.id, entry.speaker, entry.purpose == "repeat"
            if repeated and juror not in self.seats:
                repeats.add(juror)
            for vote in entry.ballot.votes:
                last.setdefault(vote.attribute, {})[juror] = (name, vote)
                if not repeated:
                    shared.add(vote.attribute)
        return {
            attribute: {
                juror: Standing(name, juror, vote)
                for juror, (name, vote) in by_juror.items()
                if juror not in repeats or attribute not in shared
            }
            for attribute, by_juror in last.items()
        }

    def blind(self) -> Transcript:
        """The first ballots that seats cast with nothing of the others in sight, and nothing else; empty where nobody did."""
        first = (
            entry
            for entry in self.heard
            if entry.purpose in ("blind", "repeat") and entry.round == 1 and not _saw(entry)
        )
        return self.model_copy(update={"entries": tuple(first), "stop": Stop(reason="complete")})

    @property
    def cost(self) -> Cost:
        """What the deliberation took; its seconds are the slowest entry of each step, one step after the other."""
        slowest: dict[int, float] = {}
        for entry in self.entries:
            slowest[entry.step] = max(slowest.get(entry.step, 0.0), entry.spent.seconds)
        return replace(Cost.total(entry.spent for entry in self.entries), seconds=sum(slowest.values()))


def _saw(entry: Cast | Abstained) -> tuple[str, ...]:
    return entry.ballot.saw if isinstance(entry, Cast) else entry.abstention.saw


def entry_of(turn: Turn, purpose: Purpose) -> Cast | Abstained:
    """A juror's turn as an entry of the transcript."""
    shared: dict[str, Any] = {"round": turn.answer.round, "purpose": purpose, "spent": turn.spent}
    if turn.first is not None:
        shared["first"] = turn.first
    if isinstance(turn.answer, Ballot):
        return Cast(ballot=turn.answer, **shared)
    return Abstained(abstention=turn.answer, **shared)
