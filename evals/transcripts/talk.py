"""A talk: its utterances, and the readers of its transcript.

JSONL, CSV, Praat TextGrid, SRT, WebVTT, Whisper's and Deepgram's JSON, and the released files of WER is Unaware.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from ...rubrics.errors import InvalidFile
from ...rubrics.files import broken_utf8, read_json
from ...rubrics.rows import read_rows


class Utterance(BaseModel):
    """A stretch of speech as text. Only the text is required."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    id: str = ""
    speaker: str = ""
    start: float | None = None
    """Seconds; from the talk's beginning or any other moment, as long as it is one for the file."""
    end: float | None = None
    text: str = ""
    confidence: float | None = None

    @field_validator("start", "end", "confidence")
    @classmethod
    def _is_finite(cls, value: float | None) -> float | None:
        return None if value is None or not math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Talk:
    """One side of a recording: its utterances in order."""

    name: str
    utterances: tuple[Utterance, ...]
    speaker: str | None = None
    """The speaker whose utterances are meant, where the format says so; the others are context."""

    @property
    def speakers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(utterance.speaker for utterance in self.utterances if utterance.speaker))

    def places(self, speaker: str | None) -> tuple[int, ...]:
        """The places of one speaker's utterances; of all, where none is named or the file names nobody."""
        if speaker is None or not self.speakers:
            return tuple(range(len(self.utterances)))
        name = speaker.casefold()
        return tuple(n for n, utterance in enumerate(self.utterances) if utterance.speaker.casefold() == name)


LARGEST = 16 * 2**20
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?")
_CUE = re.compile(rf"^\s*({_CLOCK.pattern})\s+-->\s+({_CLOCK.pattern})")
_VOICE = re.compile(r"^<v(?:\.[^ >]*)?\s+([^>]+)>")
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_TURN = re.compile(r"^\[(\d+):(\d{2})(?::(\d{2}))?\]\s*([^:]+):\s?(.*)$")
_GRID_ITEM = re.compile(
    r'class\s*=\s*"(?P<kind>IntervalTier|TextTier)"|name\s*=\s*"(?P<name>(?:[^"]|"")*)"'
    r"|intervals\s*\[\d+\]:?|xmin\s*=\s*(?P<low>[-\d.eE+]+)|xmax\s*=\s*(?P<high>[-\d.eE+]+)"
    r'|text\s*=\s*"(?P<text>(?:[^"]|"")*)"'
)
_REMEDY = "write .jsonl (id, speaker, start, end, text, confidence), .TextGrid, .srt, .vtt, or JSON of Whisper or Deepgram"


def read_talk(path: Path) -> Talk:
    """The talk in a file, by its ending and, of JSON, by what is in it. A file without speech is an empty talk.

    Raises:
        InvalidFile: The file cannot be read as any of the formats; with the line, where there is one.
    """
    match path.suffix.lower():
        case ".jsonl" | ".ndjson" | ".csv":
            return Talk(path.stem, tuple(_rows(path)))
        case ".textgrid":
            return Talk(path.stem, tuple(_textgrid(path)))
        case ".srt" | ".vtt":
            return Talk(path.stem, tuple(_captions(path)))
        case ".json":
            return _json(path)
    raise InvalidFile(f"{path}: this is not a known transcript format", remedy=_REMEDY)


def _text_of(path: Path) -> str:
    """The text of a file, which may be empty, in UTF-8 or, as Praat writes, UTF-16."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InvalidFile(
            f"{path}: {(error.strerror or 'cannot be read').lower()}", remedy="check the path"
        ) from None
    if len(raw) > LARGEST:
        raise InvalidFile(f"{path}: the file is larger than {LARGEST:,} bytes", remedy="split the file")
    coding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return raw.decode(coding)
    except UnicodeDecodeError as error:
        raise broken_utf8(path, raw[: error.start].count(b"\n") + 1) from None


def _rows(path: Path) -> Iterator[Utterance]:
    if not _text_of(path).strip():
        return
    for line, row in read_rows(path, required=("text",)):
        yield _utterance(row, f"{path}:{line}")


def _utterance(row: dict[str, Any], place: str) -> Utterance:
    fields = {name: row.get(name) for name in Utterance.model_fields if row.get(name) not in (None, "")}
    if "text" not in row:
        raise InvalidFile(
            f"{place}: 'text' is missing", remedy="give every utterance a text, which may be empty"
        )
    try:
        return Utterance.model_validate(fields)
    except ValidationError as error:
        detail = error.errors()[0]
        name = str(detail["loc"][0])
        raise InvalidFile(
            f"{place}: {name}: {detail['msg']}", remedy=f"correct {name}, or leave it out"
        ) from None


def _captions(path: Path) -> Iterator[Utterance]:
    """Cues of SRT or WebVTT; a voice tag, or a name and a colon that begin a cue in capitals, is the speaker."""
    lines = _text_of(path).splitlines()
    number = 0
    while number < len(lines):
        cue = _CUE.match(lines[number])
        if cue is None:
            if "-->" in lines[number]:
                raise InvalidFile(
                    f"{path}:{number + 1}: the time cannot be read",
                    remedy="write times as 00:00:01,000 --> 00:00:02,000",
                )
            number += 1
            continue
        start, end = _seconds(cue[1]), _seconds(cue[6])
        cue_name = lines[number - 1].strip() if number else ""
        number += 1
        words: list[str] = []
        while number < len(lines) and lines[number].strip():
            words.append(lines[number].strip())
            number += 1
        text = " ".join(words)
        voice = _VOICE.match(text)
        yield Utterance(
            id="" if cue_name.startswith("WEBVTT") else cue_name,
            speaker=voice[1].strip() if voice else "",
            start=start,
            end=end,
            text=_TAG.sub("", _VOICE.sub("", text)).strip(),
        )


def _seconds(clock: str) -> float:
    match = _CLOCK.fullmatch(clock)
    assert match is not None
    hours, minutes, seconds, part = match.groups()
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{part or 0}")


def _textgrid(path: Path) -> Iterator[Utterance]:
    """The intervals with words, a tier a speaker, in order of time."""
    text = _text_of(path)
    if not text.strip():
        return
    if "IntervalTier" not in text:
        raise InvalidFile(
            f"{path}: the file has no interval tier", remedy="save the file from Praat as a text file"
        )
    utterances: list[Utterance] = []
    tier, low, high, inside = "", None, None, False
    for match in _GRID_ITEM.finditer(text):
        if match["kind"]:
            inside = match["kind"] == "IntervalTier"
        elif match["name"] is not None:
            tier = match["name"].replace('""', '"')
        elif match["low"]:
            low = float(match["low"])
        elif match["high"]:
            high = float(match["high"])
        elif match["text"] is not None and inside and match["text"].strip():
            words = " ".join(match["text"].replace('""', '"').split())
            utterances.append(Utterance(speaker=tier, start=low, end=high, text=words))
    if not utterances and "text =" not in text:
        raise InvalidFile(
            f"{path}: this is Praat's short text format",
            remedy="save the file in Praat's long format (Save as text file)",
        )
    yield from sorted(utterances, key=lambda utterance: utterance.start or 0.0)


def _json(path: Path) -> Talk:
    if not _text_of(path).strip():
        return Talk(path.stem, ())
    document = read_json(path)
    name = path.stem
    if isinstance(document, dict):
        for key, reader in _DOCUMENTS.items():
            if key in document:
                return reader(document, name, str(path))
    if isinstance(document, list):
        return Talk(
            name, tuple(_listed_utterance(entry, f"{path}: item {n}") for n, entry in enumerate(document))
        )
    raise InvalidFile(f"{path}: this JSON file is not a known kind of transcript", remedy=_REMEDY)


def _listed_utterance(entry: Any, place: str) -> Utterance:
    """One of a list of results, as the released recogniser's files and many others have them."""
    if not isinstance(entry, dict):
        raise InvalidFile(
            f"{place}: each utterance must be a JSON object, not {type(entry).__name__}",
            remedy="write objects with the key text",
        )
    row = dict(entry)
    for name, alias in (("start", "startedAt"), ("end", "endedAt"), ("text", "transcript")):
        if name not in row and alias in row:
            row[name] = row[alias]
    for name in ("start", "end"):
        row[name] = _moment(row.get(name), place)
    return _utterance(row, place)


def _moment(value: Any, place: str) -> float | None:
    """Seconds, from a number or from a date and time."""
    if value is None or isinstance(value, int | float):
        return value
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp()
    except ValueError:
        raise InvalidFile(
            f"{place}: {value!r} is not a time", remedy="write seconds, or an ISO date and time"
        ) from None


def _golden(document: dict[str, Any], name: str, path: str) -> Talk:
    """The released gold transcripts: `[mm:ss] Speaker: text`, a turn lasting until the next one; the patient's are meant."""
    turns: list[tuple[float, str, str]] = []
    for line in str(document["transcript_golden_anonymized"] or "").splitlines():
        turn = _TURN.match(line.strip())
        if turn:
            clock_1, clock_2, clock_3, speaker, text = turn.groups()
            clock = int(clock_1) * 60 + int(clock_2)
            turns.append((clock * 60 + int(clock_3) if clock_3 else clock, speaker.strip(), text.strip()))
        elif line.strip() and turns:
            start, speaker, text = turns[-1]
            turns[-1] = (start, speaker, f"{text} {line.strip()}")
    ends = [*(start for start, _, _ in turns[1:]), None]
    utterances = tuple(
        Utterance(speaker=speaker, start=start, end=end if end is None or end > start else None, text=text)
        for (start, speaker, text), end in zip(turns, ends, strict=True)
    )
    speakers = {speaker for _, speaker, _ in turns}
    return Talk(
        str(document.get("call_id") or name), utterances, "Patient" if "Patient" in speakers else None
    )


def _segments(document: dict[str, Any], name: str, path: str) -> Talk:
    """Whisper's `segments`."""
    rows = document["segments"]
    if not isinstance(rows, list):
        raise InvalidFile(f"{path}: 'segments' is not a list", remedy=_REMEDY)
    return Talk(name, tuple(_listed_utterance(row, f"{path}: segment {n}") for n, row in enumerate(rows)))


def _deepgram(document: dict[str, Any], name: str, path: str) -> Talk:
    """Deepgram's `results`: its utterances or, without them, its paragraphs or whole channels."""
    results = document["results"] or {}
    if results.get("utterances"):
        rows = [{**row, "text": row.get("transcript", "")} for row in results["utterances"]]
    else:
        alternatives = [c["alternatives"][0] for c in results.get("channels", []) if c.get("alternatives")]
        rows = [sentence for row in alternatives for sentence in _deepgram_rows(row)]
    for row in rows:
        if isinstance(row.get("speaker"), int):
            row["speaker"] = f"speaker {row['speaker']}"
    return Talk(name, tuple(_listed_utterance(row, f"{path}: utterance {n}") for n, row in enumerate(rows)))


def _deepgram_rows(alternative: dict[str, Any]) -> list[dict[str, Any]]:
    paragraphs = (alternative.get("paragraphs") or {}).get("paragraphs") or []
    if paragraphs:
        return [
            {"speaker": paragraph.get("speaker"), **sentence}
            for paragraph in paragraphs
            for sentence in paragraph.get("sentences", [])
        ]
    words = alternative.get("words") or [{}]
    times = {"start": words[0].get("start"), "end": words[-1].get("end")}
    return [{"text": alternative.get("transcript", ""), "confidence": alternative.get("confidence"), **times}]


_DOCUMENTS: dict[str, Callable[[dict[str, Any], str, str], Talk]] = {
    "transcript_golden_anonymized": _golden,
    "segments": _segments,
    "results": _deepgram,
}
"""The readers of JSON objects, by the key that tells them apart."""
