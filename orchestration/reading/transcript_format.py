"""Deliberations as documents, one a line: what `export --to transcript` writes and `import transcript` reads, other programs' too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, WithJsonSchema

from ...personas.jury import Jury, Seat
from ...rubrics.ballot import Legal
from ...rubrics.case import Case
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.rows import read_rows
from ...rubrics.rubric import Attribute, Rubric
from ...rubrics.scale import Scale
from ..record import Store
from ..record.manifest import arm_fingerprint, case_fingerprint
from ..record.store import run_exists
from ..transcript import Abstained, Cast, Stop, Transcript
from .export import ExportedRun

FORMAT: Literal["venire-transcript"] = "venire-transcript"
VERSION: Literal[1] = 1
_OBJECT = WithJsonSchema({"type": ["object", "null"]})
_SCHEMA = "see docs/schemas/transcript.json for all keys"
_NO_QUESTION = Rubric(
    name="discussion",
    version=1,
    description="A discussion that was recorded elsewhere. Nobody was asked for a score.",
    scales={"conclusion": Scale(level="binary", anchors={0: "no", 1: "yes"})},
    attributes=[
        Attribute(name="conclusion", question="Did the discussion conclude with yes?", scale="conclusion")
    ],
)
"""Of a deliberation that names no rubric. It is hung, since nobody voted."""


class SavedDeliberation(BaseModel):
    """One deliberation: the case, what was said over it and why it stopped."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["venire-transcript"]
    version: Literal[1]
    """Changes when a document of an earlier version can no longer be read as one of this."""
    case: dict[str, Any]
    """The case, as a line of a cases file has it."""
    transcript: Transcript
    """Who said what, in order. An entry's `kind` says what else it holds."""
    rubric: Annotated[Rubric | None, _OBJECT] = None
    """What was asked, as a rubric file has it; left out where no one was asked for a score."""
    jury: Annotated[Jury | None, _OBJECT] = None
    """Who sat, as a jury file has it; without it, the transcript's seats."""
    manifest: dict[str, Any] = {}
    """What else a run's manifest has: versions, hashes of prompts, the seed, prices."""

    @property
    def judged(self) -> Case:
        """The case itself."""
        return Case.from_row(self.case)

    @property
    def arm_manifest(self) -> dict[str, Any]:
        """The manifest of the arm that heard it."""
        seats = [Seat(name=name, model="unknown") for name in self.transcript.seats]
        jury = self.jury or Jury(name=self.transcript.arm, protocol="panel", seats=seats)
        rubric = (self.rubric or _NO_QUESTION).model_dump(mode="json")
        return {**self.manifest, "rubric": rubric, "jury": jury.model_dump(mode="json")}


def write_transcripts(run: ExportedRun, out: TextIO) -> int:
    """A `SavedDeliberation` a line; a redacted run's without anybody's words."""
    arms = {arm.name: arm for arm in run.arms()}
    count = 0
    for verdict in run.verdicts():
        case = run.store.case(verdict.case)
        manifest = dict(arms[verdict.arm].manifest)
        document = {
            "format": FORMAT,
            "version": VERSION,
            "case": case.as_row() if case is not None else {"id": verdict.case},
            "rubric": manifest.pop("rubric"),
            "jury": manifest.pop("jury"),
            "transcript": verdict.transcript.model_dump(mode="json"),
            "manifest": manifest,
        }
        out.write(json.dumps(document, ensure_ascii=False) + "\n")
        count += 1
    return count


def read_transcripts(path: Path) -> list[SavedDeliberation]:
    """The deliberations in a file.

    Raises:
        InvalidFile: One of them is not of this format; with the line, the key and what is wrong.
    """
    return [_deliberation(f"{path}:{line}", document) for line, document in read_rows(path)]


def _deliberation(place: str, document: dict[str, Any]) -> SavedDeliberation:
    if document.get("format") != FORMAT:
        raise InvalidFile(
            f"{place}: this is not a transcript in the format {FORMAT}",
            remedy=f'write "format": "{FORMAT}"; {_SCHEMA}',
        )
    if document.get("version") != VERSION:
        raise InvalidFile(
            f"{place}: version {document.get('version')!r}, but this venire reads version {VERSION}",
            remedy="update venire, or export the transcript again",
        )
    try:
        saved = SavedDeliberation.model_validate(document)
        case = saved.judged
        manifest = saved.arm_manifest
    except ValidationError as error:
        detail = error.errors()[0]
        key = ".".join(map(str, detail["loc"]))
        problem = f"{place}: {key}: {detail['msg'].removeprefix('Value error, ')}"
        raise InvalidFile(problem, remedy=_SCHEMA) from None
    except VenireError as error:
        raise InvalidFile(f"{place}: {error.problem}", remedy=error.remedy) from None
    if case.id != saved.transcript.case:
        raise InvalidFile(
            f"{place}: the transcript names the case {saved.transcript.case!r}, but the case beside it has the id {case.id!r}",
            remedy="give both the same id",
        )
    _check_entries(place, saved.transcript, Rubric.model_validate(manifest["rubric"]))
    return saved


def _check_entries(place: str, transcript: Transcript, rubric: Rubric) -> None:
    """Raises InvalidFile for an id that is missing or used twice, for words that were seen before they were said, and for votes off the rubric."""
    said: set[str] = set()
    for entry in transcript.entries:
        answer = entry.ballot if isinstance(entry, Cast) else entry.abstention if isinstance(entry, Abstained) else entry  # fmt: skip
        unknown = [name for name in getattr(answer, "saw", ()) if name not in said]
        if not entry.id or entry.id in said:
            raise InvalidFile(
                f"{place}: two entries have the id {entry.id!r}"
                if entry.id
                else f"{place}: an entry has no id",
                remedy="give each entry an id of its own, such as 1/ana",
            )
        if unknown:
            raise InvalidFile(
                f"{place}: entry {entry.id!r} saw {unknown[0]!r}, but no entry before it has that id",
                remedy="put entries in the order in which they were made",
            )
        said.add(entry.id)
        for vote in entry.ballot.votes if isinstance(entry, Cast) else ():
            _check_vote(f"{place}: entry {entry.id!r}", vote.attribute, vote.value, rubric)


def _check_vote(place: str, attribute: str, value: Any, rubric: Rubric) -> None:
    if attribute not in rubric.names:
        raise InvalidFile(
            f"{place} votes on {attribute!r}, which is not an attribute of the rubric {rubric.name!r}",
            remedy=f"use one of {', '.join(rubric.names)}",
        )
    try:
        TypeAdapter(Legal.of(rubric, attribute).score).validate_python(value)
    except ValidationError:
        raise InvalidFile(
            f"{place} gives {attribute} the value {value!r}, which is not on its scale",
            remedy="correct the vote, or the rubric",
        ) from None


def save_run(deliberations: Sequence[SavedDeliberation], run: Path) -> None:
    """Write the deliberations as a new run, which every command that reads one shows.

    Raises:
        VenireError: There is a run already, or one arm heard a case twice.
    """
    if run_exists(run):
        raise VenireError(f"{run}: there is already a run here", remedy="name a new directory with -o")
    heard: set[tuple[str, str]] = set()
    for saved in deliberations:
        key = (saved.transcript.arm, saved.transcript.case)
        if key in heard:
            raise VenireError(
                f"{key[0]} judged the case {key[1]!r} twice",
                remedy="import the two deliberations into two runs",
            )
        heard.add(key)
    asyncio.run(_save(deliberations, run))


async def _save(deliberations: Iterable[SavedDeliberation], run: Path) -> None:
    store = Store.create(run)
    try:
        arms: dict[str, int] = {}
        for position, saved in enumerate(deliberations):
            manifest, case = saved.arm_manifest, saved.judged
            mark = arm_fingerprint(manifest)
            if mark not in arms:
                arms[mark] = await store.add_arm(saved.transcript.arm, mark, manifest)
            transcript = saved.transcript
            if transcript.stop is None:
                transcript = transcript.with_stop(
                    Stop(
                        reason="complete", detail="the imported file does not say why the deliberation ended"
                    )
                )
            await store.add(arms[mark], case, case_fingerprint(case), transcript, position=position)
    finally:
        await store.close()
