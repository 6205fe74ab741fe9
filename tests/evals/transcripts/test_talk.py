"""Readers of transcripts: every format, and what is odd in each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from venire.evals.transcripts.talk import read_talk
from venire.rubrics import InvalidFile

GRID = """File type = "ooTextFile"
Object class = "TextGrid"
xmin = 0
xmax = 4
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "Doctor"
        xmin = 0
        xmax = 4
        intervals: size = 2
        intervals [1]:
            xmin = 0
            xmax = 1.5
            text = "Any ""pain""?"
        intervals [2]:
            xmin = 1.5
            xmax = 4
            text = ""
    item [2]:
        class = "IntervalTier"
        name = "Patient"
        xmin = 0
        xmax = 4
        intervals: size = 1
        intervals [1]:
            xmin = 1.2
            xmax = 3
            text = "No,
none."
"""


def read(folder: Path, name: str, text: str | bytes) -> list[tuple[str, float | None, float | None, str]]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [(each.speaker, each.start, each.end, each.text) for each in read_talk(path).utterances]


def test_jsonl_with_a_mark_at_its_start_and_windows_lines(tmp_path: Path) -> None:
    text = '\ufeff{"id": 1, "text": "Hello."}\r\n\r\n{"speaker": "B", "start": 2, "end": 1.5, "text": "", "confidence": 0.5}\r\n'
    assert read(tmp_path, "t.jsonl", text) == [("", None, None, "Hello."), ("B", 2.0, 1.5, "")]


@pytest.mark.parametrize("coding", ["utf-8", "utf-16"])
def test_textgrid(tmp_path: Path, coding: str) -> None:
    assert read(tmp_path, "t.TextGrid", GRID.encode(coding)) == [
        ("Doctor", 0.0, 1.5, 'Any "pain"?'),
        ("Patient", 1.2, 3.0, "No, none."),
    ]


def test_srt_and_vtt(tmp_path: Path) -> None:
    srt = "1\r\n00:00:01,500 --> 00:00:02,000\r\nHello\r\n<i>there</i>\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n\r\n"
    assert read(tmp_path, "t.srt", srt) == [("", 1.5, 2.0, "Hello there"), ("", 3.0, 4.0, "")]
    vtt = "WEBVTT\n\n00:01.000 --> 00:02.250 align:start\n<v Dr Ann>Any pain?</v>\n"
    assert read(tmp_path, "t.vtt", vtt) == [("Dr Ann", 1.0, 2.25, "Any pain?")]
    indented = "WEBVTT\n\nq7 \n00:01.000 --> 00:02.000\n  <v.loud Ann > Any</v>\n  <b>pain?</b> \n\n00:02.000 --> 00:03.000\na < b\n"
    assert read(tmp_path, "i.vtt", indented) == [("Ann", 1.0, 2.0, "Any pain?"), ("", 2.0, 3.0, "a < b")]
    assert [each.id for each in read_talk(tmp_path / "i.vtt").utterances] == ["q7", ""]


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [("00:00:01,5", 1.5), ("00:00:01,05", 1.05), ("01:02:03,250", 3723.25), ("02:03.004", 123.004), ("10:00:00", 36000.0), ("00:59.999", 59.999)],
)  # fmt: skip
def test_a_clock_is_in_seconds(tmp_path: Path, clock: str, seconds: float) -> None:
    ((_, start, end, _),) = read(tmp_path, "t.srt", f"1\n{clock} --> 20:00:00.000\nHello\n")
    assert (start, end) == (pytest.approx(seconds), 72000.0)


def test_tiers_are_one_talk_in_order_of_time_and_points_are_no_words(tmp_path: Path) -> None:
    def tier(name: str, kind: str, *rows: tuple[float, float, str]) -> str:
        intervals = "".join(f'intervals [{n}]:\nxmin = {low}\nxmax = {high}\ntext = "{text}"\n' for n, (low, high, text) in enumerate(rows, 1))  # fmt: skip
        return f'item [1]:\nclass = "{kind}"\nname = "{name}"\nxmin = 0\nxmax = 9\n{intervals}'

    late = tier("Late", "IntervalTier", (5, 6, "third"), (7, 8, " "), (8, 9, "fourth"))
    grid = late + tier("Marks", "TextTier", (1, 1, "cough")) + tier("Early", "IntervalTier", (0.5, 1, "first"), (2, 3, "second"))  # fmt: skip
    assert read(tmp_path, "t.TextGrid", grid) == [
        ("Early", 0.5, 1.0, "first"),
        ("Early", 2.0, 3.0, "second"),
        ("Late", 5.0, 6.0, "third"),
        ("Late", 8.0, 9.0, "fourth"),
    ]


def test_a_talks_speakers_and_their_places(tmp_path: Path) -> None:
    rows = [{"id": "u1", "speaker": "Ann", "text": "a", "confidence": 0.5}, {"speaker": "", "text": "b", "start": "nan"}, {"speaker": "Ben", "text": "c"}, {"speaker": "ANN", "text": "d"}]  # fmt: skip
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    talk = read_talk(tmp_path / "t.jsonl")

    assert talk.speakers == ("Ann", "Ben", "ANN") and talk.name == "t"
    assert (talk.places("ann"), talk.places("Ben"), talk.places("Cy"), talk.places(None)) == ((0, 3), (2,), (), (0, 1, 2, 3))  # fmt: skip
    assert (talk.utterances[0].id, talk.utterances[0].confidence, talk.utterances[1].start) == ("u1", 0.5, None)  # fmt: skip
    (tmp_path / "n.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    assert read_talk(tmp_path / "n.jsonl").places("Ann") == (0, 1), "a file that names nobody is anybody's"


def test_whisper_and_deepgram(tmp_path: Path) -> None:
    whisper = {"text": "x", "segments": [{"id": 0, "start": 0.0, "end": 1.0, "text": " Hello."}]}
    assert read(tmp_path, "w.json", json.dumps(whisper)) == [("", 0.0, 1.0, " Hello.")]
    utterances = {
        "results": {
            "utterances": [{"start": 1, "end": 2, "transcript": "hi", "speaker": 0, "confidence": 0.9}]
        }
    }
    assert read(tmp_path, "d.json", json.dumps(utterances)) == [("speaker 0", 1.0, 2.0, "hi")]
    whole = {"results": {"channels": [{"alternatives": [{"transcript": "hi there", "confidence": 0.9, "words": [{"start": 1.0, "end": 1.2}, {"start": 1.3, "end": 1.9}]}]}]}}  # fmt: skip
    assert read(tmp_path, "e.json", json.dumps(whole)) == [("", 1.0, 1.9, "hi there")]
    spoken = [{"speaker": 1, "sentences": [{"text": "One.", "start": 1, "end": 2}, {"text": "Two.", "start": 2, "end": 3}]}, {"speaker": 0, "sentences": [{"text": "Three.", "start": 4, "end": 5}]}]  # fmt: skip
    parts = {"results": {"channels": [{"alternatives": [{"transcript": "x", "paragraphs": {"paragraphs": spoken}}]}]}}  # fmt: skip
    assert read(tmp_path, "p.json", json.dumps(parts)) == [
        ("speaker 1", 1.0, 2.0, "One."),
        ("speaker 1", 2.0, 3.0, "Two."),
        ("speaker 0", 4.0, 5.0, "Three."),
    ]


def test_the_released_files(tmp_path: Path) -> None:
    golden = {"call_id": "c1", "transcript_golden_anonymized": "[00:01] Doctor: Hello?\n[00:03] Patient: Hi: it's me.\nStill me.\n[01:00:04] Doctor: Bye."}  # fmt: skip
    assert read(tmp_path, "g.json", json.dumps(golden)) == [
        ("Doctor", 1.0, 3.0, "Hello?"),
        ("Patient", 3.0, 3604.0, "Hi: it's me. Still me."),
        ("Doctor", 3604.0, None, "Bye."),
    ]
    assert read_talk(tmp_path / "g.json").speaker == "Patient"
    at_once = {"transcript_golden_anonymized": "[01:30] A: One.\n[01:30] B: Two.\n[01:00] A: Three."}
    assert [row[1:3] for row in read(tmp_path, "o.json", json.dumps(at_once))] == [(90.0, None), (90.0, None), (60.0, None)]  # fmt: skip
    assert read_talk(tmp_path / "o.json").speaker is None and read_talk(tmp_path / "o.json").name == "o"
    heard = [
        {"id": "a", "text": "hi", "startedAt": "2024-01-01T00:00:01Z", "endedAt": "2024-01-01T00:00:02.5Z"}
    ]
    ((_, start, end, text),) = read(tmp_path, "h.json", json.dumps(heard))
    assert (text, end - start if start and end else None) == ("hi", 1.5)


@pytest.mark.parametrize("name", ["t.jsonl", "t.srt", "t.vtt", "t.TextGrid", "t.json"])
def test_an_empty_file_is_an_empty_talk(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, name, "") == []


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("t.txt", "words", "not a known transcript format"),
        ("t.json", '{"a": 1}', "not a known kind of transcript"),
        ("t.json", "[1]", "item 0: each utterance must be a JSON object, not int"),
        ("t.jsonl", '{"id": "a"}', r"t\.jsonl:1: 'text' is missing"),
        ("t.jsonl", '{"text": "a", "start": "soon"}', r"t\.jsonl:1: start"),
        ("t.srt", "1\n00:00 -> 00:01\nx\n\n2\n0:1 --> x\ny", r"t\.srt:6: the time cannot be read"),
        ("t.TextGrid", "words", "no interval tier"),
        ("t.srt", b"\xff\xff\xfa", "not valid UTF-8"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, text: str | bytes, problem: str) -> None:
    with pytest.raises(InvalidFile, match=problem):
        read(tmp_path, name, text)
