"""Transcripts written by hand, step by step: for what is counted and measured of them, without a model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path

from venire import Case, Jury, Rubric, Store, Transcript
from venire.agents.cost import Receipt
from venire.orchestration.runner import case_fingerprint
from venire.orchestration.transcript import Abstained, AnyEntry, Cast, Purpose, Stop
from venire.rubrics.ballot import AbstainedAttribute, Abstention, AbstentionReason, Ballot, Quote, Vote
from venire.rubrics.scale import Value

IN_THE_SOURCE, IN_NO_TEXT = "source", None


def cast(
    juror: str,
    values: Mapping[str, Value],
    *,
    round: int = 1,
    purpose: Purpose = "blind",
    quotes: Mapping[str, str | None] | None = None,
    saw: tuple[str, ...] = (),
    rationale: str = "r",
    moved_by: str = "",
    abstained: tuple[str, ...] = (),
    spent: Receipt | None = None,
) -> Cast:
    """A ballot with these votes by attribute; `quotes` are cited for each, with the exhibit that they stand in or None."""
    evidence = tuple(Quote(text=text, exhibit=exhibit) for text, exhibit in (quotes or {}).items())
    votes = tuple(
        Vote(attribute=attribute, value=value, rationale=rationale, evidence=evidence, moved_by=moved_by)
        for attribute, value in values.items()
    )
    parts = tuple(
        AbstainedAttribute(attribute=name, reason="out_of_scale", detail="9 is not on it")
        for name in abstained
    )
    ballot = Ballot(
        juror=juror, round=round, votes=votes, asked=(*values, *abstained), saw=saw, abstained=parts
    )
    return Cast(round=round, purpose=purpose, ballot=ballot, spent=spent or Receipt())


def abstained(juror: str, *asked: str, round: int = 1, reason: AbstentionReason = "unavailable") -> Abstained:
    """A seat that gave no ballot."""
    return Abstained(
        round=round,
        purpose="blind" if round == 1 else "revision",
        abstention=Abstention(juror=juror, round=round, reason=reason, detail="down", asked=asked),
    )


def transcript_of(*steps: Iterable[AnyEntry], seats: tuple[str, ...] | None = None) -> Transcript:
    """The transcript of these steps, whose seats are all who speak in them unless they are named."""
    made = [tuple(step) for step in steps]
    everyone = tuple(dict.fromkeys(entry.speaker for step in made for entry in step))
    transcript = Transcript(case="c", arm="j", protocol="p", seats=everyone if seats is None else seats)
    for step in made:
        transcript = transcript.add(step)
    return transcript


Votes = Mapping[str, Mapping[str, Mapping[str, Value]]]
"""By case and juror, the votes by attribute; a juror without any abstains."""


def written_run(
    folder: Path,
    rubric: Rubric,
    cases: Iterable[Case],
    arms: Mapping[str, Votes],
    *,
    spent: Receipt | None = None,
    quorum: int = 1,
    count: str = "median",
    revised: Mapping[str, Votes] | None = None,
) -> Path:
    """A run in which panels cast these votes, each for what was `spent`, counted by the rule `count`, without a model or a process of its own.

    `revised` has, by arm, the votes that jurors cast in a second round.
    """

    async def write() -> None:
        store = Store.create(folder)
        for name, votes in arms.items():
            seats = list(dict.fromkeys(juror for cast_votes in votes.values() for juror in cast_votes))
            jury = Jury.model_validate(
                {
                    "name": name,
                    "protocol": "panel",
                    "quorum": quorum,
                    "count": count,
                    "seats": [{"name": seat, "model": "scripted/none"} for seat in seats],
                }
            )
            manifest = {"rubric": rubric.model_dump(mode="json"), "jury": jury.model_dump(mode="json")}
            arm = await store.add_arm(name, name, manifest)
            for position, case in enumerate(cases):
                step = [
                    cast(juror, values, spent=spent) if values else abstained(juror, *rubric.names)
                    for juror, values in votes[case.id].items()
                ]
                transcript = Transcript(case=case.id, arm=name, protocol="panel", seats=tuple(seats))
                again = (revised or {}).get(name, {}).get(case.id, {})
                moves = [cast(juror, values, round=2, purpose="revision") for juror, values in again.items()]
                heard = transcript.add(step).add(moves).with_stop(Stop(reason="complete"))
                await store.add(arm, case, case_fingerprint(case), heard, position=position)
        await store.close()

    asyncio.run(write())
    return folder
