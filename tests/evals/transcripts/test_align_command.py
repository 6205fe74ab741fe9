"""`venire align`: no key, a model that answers, one that does not, and what is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from openai_server import Call, Fault, ProviderServer

from venire.evals.transcripts.aligners import ask_model
from venire.evals.transcripts.alignment import Alignment, empty_alignment
from venire.evals.transcripts.refinement import refine
from venire.evals.transcripts.talk import Talk, Utterance
from venire.rubrics.errors import ModelUnreachable

SAID = ("Any pain since Monday?", "No, none at all.", "I am allergic to penicillin.")
HEARD = ("any pain since monday", "no none", "at all", "i am not allergic to penicillin")
RIGHT = {"groups": [{"said": [0], "heard": [0]}, {"said": [1], "heard": [1, 2]}, {"said": [2], "heard": [3]}]}


def talks() -> Alignment:
    said, heard = (Talk("call", tuple(Utterance(text=text) for text in side)) for side in (SAID, HEARD))
    return empty_alignment(said, heard)


def asked(answer: Any, record: Path | None = None) -> tuple[Alignment, ProviderServer]:
    def reply(call: Call) -> Any:
        return answer

    with ProviderServer(reply) as server:
        return ask_model(talks(), "server/aligner", server.url, record), server


def test_a_model_aligns_and_is_asked_once(tmp_path: Path) -> None:
    first, server = asked(RIGHT, tmp_path / "run")
    assert [(g.said, g.heard) for g in first.groups] == [((0,), (0,)), ((1,), (1, 2)), ((2,), (3,))]
    assert len(server.calls) == 1 and "i am not allergic" in server.calls[0].prompt

    def refuse(call: Call) -> Any:
        raise AssertionError("asked again")

    with ProviderServer(refuse):
        again = ask_model(talks(), "server/aligner", server.url, tmp_path / "run")
    assert again == first


@pytest.mark.parametrize(
    "answer",
    [
        "I would say they match quite well!",
        {"groups": [{"said": [0], "heard": [0]}, {"said": [1], "heard": [0]}]},
        {"groups": [{"said": [0], "heard": [9]}]},
        {"groups": [{"said": [0, 2], "heard": [0]}]},
        {"groups": [{"said": [1], "heard": [0]}, {"said": [0], "heard": [1]}]},
        {"groups": [{"said": [], "heard": [0]}]},
        Fault(status=400),
        "",
    ],
)
def test_a_model_that_gives_nothing_usable_abstains(answer: Any) -> None:
    found, _ = asked(answer)
    found = refine(found)

    assert found.abstention is not None and found.abstention.reason and found.abstention.detail
    assert (found.groups, found.missed, found.unused) == ((), (), ())


def test_from_two_files_to_cases_without_a_key(tmp_path: Path) -> None:
    for name, texts in (("said.jsonl", SAID), ("heard.jsonl", HEARD)):
        (tmp_path / name).write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (tmp_path / "gold.json").write_text(json.dumps(RIGHT))
    made = venire(
        "align", "said.jsonl", "heard.jsonl", "-o", "a.json", "--check", "gold.json", "--cases", "cases.jsonl",
        "--page", "a.html", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)

    assert document["accuracy"]["structural"]["accuracy"] == 1
    assert json.loads((tmp_path / "a.json").read_text())["groups"] == document["groups"]
    cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    assert cases[2]["reference"] == SAID[2] and cases[2]["output"] == HEARD[3] and cases[2]["group"] == "said"
    page = (tmp_path / "a.html").read_text()
    assert "<mark>not</mark>" in page and "Content-Security-Policy" in page


def test_mistakes_are_two_lines_and_a_dead_model_exits_4(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "hello", "speaker": "Patient"}\n')
    for options, problem in (
        (("--speaker", "Patent"), "no speaker 'Patent'"),
        (("--check", "nowhere.json"), "no such file"),
    ):
        made = venire("align", "a.jsonl", "a.jsonl", *options, cwd=tmp_path)
        assert made.returncode == 2 and problem in made.stderr and len(made.stderr.strip().splitlines()) == 2

    with ProviderServer(lambda call: Fault(status=401)) as server:
        made = venire(
            "align",
            "a.jsonl",
            "a.jsonl",
            "--model",
            "server/x",
            "--base-url",
            server.url,
            "--json",
            cwd=tmp_path,
        )
    assert made.returncode == 4, made.stderr
    document = json.loads(made.stdout)
    assert document["abstention"]["reason"] and document["missed"] == []


def test_a_model_that_cannot_be_reached_is_said_before_it_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ModelUnreachable, match="OPENAI_API_KEY"):
        ask_model(talks(), "openai/gpt-4o-mini", None, tmp_path / "run")
    with pytest.raises(ModelUnreachable, match="cannot be reached"):
        ask_model(talks(), "server/aligner", "http://127.0.0.1:9/v1", tmp_path / "run")
    assert not (tmp_path / "run").exists()
