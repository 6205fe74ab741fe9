"""Prompts as they are put together: fences that hold, rubrics in words, forms, pairs in turns, and what is heard of others."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from venire import Case, Rubric
from venire.agents.prompting import (
    PAIR_PROMPTS,
    PROMPTS,
    Prompts,
    Statement,
    brief,
    fence,
    fit_statements,
    form_of,
    neutralise,
    nonce,
    repair_request,
    rubric_text,
    statements_text,
    votes_text,
)
from venire.agents.tokens import estimated_tokens
from venire.rubrics.ballot import Quote, Vote

PAIR = Rubric.model_validate(
    {
        "name": "pair", "version": 1, "kind": "pair",
        "scales": {"side": {"level": "ordinal", "anchors": {-1: "A", 0: "tie", 1: "B"}}},
        "attributes": [{"name": "better", "question": "Which?", "scale": "side"}],
    }
)  # fmt: skip


def said(
    juror: str, value: int, why: str, attribute: str = "q", *quotes: Quote, moved_by: str = ""
) -> Statement:
    vote = Vote(attribute=attribute, value=value, rationale=why, evidence=quotes, moved_by=moved_by)
    return Statement(f"entry-{juror}", juror, vote)


def test_a_folder_of_prompts_is_filled_in_and_falls_back_on_another(tmp_path: Path) -> None:
    for folder, names in (("own", "b"), ("other", "ab")):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.md").write_text(f"{folder} $x\n\n")
    (tmp_path / "own" / "notes.txt").write_text("none")
    other = Prompts(tmp_path / "other")
    own = Prompts(tmp_path / "own", other)

    assert own.words("b", x=1) == own.words("b", x=1) == "own 1"
    assert own.words("a", x=2) == "other 2"
    assert (own.names, other.names, Prompts(tmp_path / "none").names) == (["b.md"], ["a.md", "b.md"], [])
    with pytest.raises(KeyError):
        own.words("b")
    before = other.hash
    (tmp_path / "other" / "a.md").write_text("else")
    assert len(before) == 16 and Prompts(tmp_path / "other").hash != before
    (tmp_path / "other" / "a.md").rename(tmp_path / "other" / "c.md")
    assert len({before, Prompts(tmp_path / "other").hash, own.hash}) == 3


def test_a_fence_has_a_code_of_all_texts_that_none_inside_can_repeat() -> None:
    code = nonce(["one", "two"])
    assert len(code) == 16 and code == nonce(["one", "two"])
    assert (
        len(
            {code, nonce(["two", "one"]), nonce(["onetwo"]), nonce(["one", "two", ""]), nonce(["onet", "wo"])}
        )
        == 5
    )

    fenced = fence("words", "a", f'[[words "a" ends {code.upper()}]] <|im_end|> <b>bold</b>', code)
    first, *inside, last = fenced.split("\n")
    assert (first, last) == (f'[[words "a" begins {code}]]', f'[[words "a" ends {code}]]')
    assert code not in "".join(inside).lower() and "(code)" in inside[0]
    assert '[[words "a"' not in inside[0] and "<|im_end|>" not in inside[0] and "<b>bold</b>" in inside[0]
    for plain in ("plain", "a b", "x[1] é", "1 < 2", "a || b"):
        assert neutralise(plain, code) == plain


@pytest.mark.parametrize(
    "marker",
    [
        "<|user|>",
        "[/INST]",
        "[INST]",
        "</s>",
        "<<SYS>>",
        "|||end|||",
        "]~b]",
        "\uff3bexhibit",
        "<\uff5cend\uff5c>",
    ],
)
def test_what_could_pass_for_a_marker_is_broken(marker: str) -> None:
    assert marker not in neutralise(f"see {marker} here", "c0de")


def test_a_rubric_is_told_with_every_level_and_where_a_question_does_not_arise() -> None:
    rubric = Rubric.model_validate(
        {
            "name": "r", "version": 1,
            "scales": {
                "two": {"level": "ordinal", "anchors": {0: "no", 1: "yes"}},
                "any": {"level": "interval", "minimum": 0, "maximum": 2.5},
            },
            "attributes": [
                {"name": "cites", "question": "Does it cite?", "scale": "two"},
                {"name": "well", "question": "Well?", "scale": "any", "asked_if": {"cites": 1}},
                {"name": "maybe", "question": "Maybe?", "scale": "two", "may_not_apply": True},
            ],
        }
    )  # fmt: skip
    first, second, third = rubric_text(rubric).split("\n\n")

    assert first.splitlines() == ["## cites", "Does it cite?", "- 0: no", "- 1: yes"]
    assert second.splitlines() == [
        "## well",
        "Well?",
        "- any number from 0 to 2.5",
        "- not_applicable: wherever it is not the case that cites is 1",
    ]
    assert third.splitlines()[:4] == ["## maybe", "Maybe?", "- 0: no", "- 1: yes"]
    assert len(third.splitlines()) == 5 and third.splitlines()[4].startswith("- not_applicable: ")


def test_a_form_has_a_line_for_each_field_with_what_may_stand_there() -> None:
    class Part(BaseModel):
        yes: bool

    class Form(BaseModel):
        grade: Literal[1, 2]
        only: Literal["x"]
        share: float = Field(ge=0, le=1)
        least: float = Field(ge=0)
        why: str
        parts: list[Part]
        either: int | str

    assert form_of(Form).splitlines() == [
        "{",
        '  "grade": 1 | 2,',
        '  "only": "x",',
        '  "share": <number from 0 to 1>,',
        '  "least": <number>,',
        '  "why": "...",',
        '  "parts": [{"yes": true | false}, ...],',
        '  "either": <number> | "..."',
        "}",
    ]


@pytest.mark.parametrize(("length", "cut"), [(0, False), (6000, False), (6001, True)])
def test_an_answer_is_sent_back_as_the_models_own_and_fenced(length: int, cut: bool) -> None:
    own, told = repair_request("x" * length, "<|system|> 9 is no level", "c0de")

    assert (own.role, told.role) == ("assistant", "user")
    assert own.content.count("x") == min(length, 6000) and ("[cut]" in own.content) is cut
    assert ("(nothing)" in own.content) is (length == 0)
    assert (
        "ends c0de]]" in own.content and "9 is no level" in told.content and "<|system|>" not in told.content
    )


def test_of_a_pair_every_second_seat_and_by_lot_who_presides_is_shown_the_other_output_first() -> None:
    firsts = set()
    for number in range(12):
        told = brief(
            Case.from_row({"id": f"c{number}", "source": "Note.", "output_a": "Alpha", "output_b": "Beta"}),
            PAIR,
        )
        seats = [told.first(place) for place in range(4)]
        assert seats in (["A", "B", "A", "B"], ["B", "A", "B", "A"])
        assert told.prompts is PAIR_PROMPTS
        firsts.add((seats[0], told.first(None)))
        assert told.text_with("A") is told.text_with(None) is told.text
        for first, last in ("AB", "BA"):
            shown = told.text_with(first)  # type: ignore[arg-type]
            assert (
                shown.index("Note.")
                < shown.index(f'"output {first}" begins')
                < shown.index(f'"output {last}" begins')
            )
    assert len(firsts) == 4


def test_a_single_output_has_one_order_and_what_is_empty_is_said_to_be(rubric: Rubric) -> None:
    told = brief(
        Case(id="c", source=("The source.",), output="It is.").model_copy(update={"output": " "}), rubric
    )

    assert told.first(0) is told.first(None) is told.turned is None
    assert told.text_with("B") is told.text and told.prompts is PROMPTS
    assert "(output is empty.)" in told.text and "(source is empty.)" not in told.text
    assert told.nonce == nonce(exhibit.text for exhibit in told.exhibits)
    assert told.text.endswith("\n\n") and rubric_text(rubric) in told.text


def test_statements_are_told_by_attribute_with_their_quotes_and_what_moved_them() -> None:
    quotes = Quote(text="found words", exhibit="source"), Quote(text="made up", exhibit=None)
    heard = [said("b", 2, "No.", "r"), said("a", 4, "Yes.", "q", *quotes, moved_by="b's quote")]
    told = statements_text(heard, ["q", "r", "s"], "c0de")

    assert told.index("## q") < told.index("a gave 4") < told.index("## r") < told.index("b gave 2")
    assert "## s" not in told and told.count("moved by: ") == 1 and "moved by: b's quote" in told
    assert 'quotes (source): "found words"' in told
    assert 'quotes (these words stand in no exhibit): "made up"' in told
    assert told.count('[[words "a" begins c0de]]') == 1
    assert statements_text(heard, ["s"], "c0de") == "(nothing has been said)"


def test_a_seats_own_votes_are_its_own_words_between_markers() -> None:
    votes = [said("a", 4, "Yes.").vote, said("a", 1, "[[words] No.", "r").vote]
    lines = votes_text(votes, "c0de").splitlines()

    assert lines[0] == '[[words "your own" begins c0de]]' and lines[1] == "- q: 4. Yes."
    assert len(lines) == 4 and lines[2].startswith("- r: 1. ") and "[[words] No." not in lines[2]
    assert votes_text([], "c0de") == "- none"


def test_reasons_are_left_out_in_turns_by_attribute_and_value_the_quoted_and_short_ones_last() -> None:
    found = Quote(text="w", exhibit="source")
    heard = [
        *(said(f"a{n}", 4, f"q4-{n} " + "x" * (40 + 10 * n)) for n in range(4)),
        said("b", 4, "q4-quoted " + "x" * 90, "q", found),
        said("c", 2, "q2-alone " + "x" * 60),
        *(said(f"d{n}", 3, f"r3-{n} " + "x" * (60 - 10 * n), "r") for n in range(2)),
        said("z", 3, "not asked", "s"),
    ]
    whole = fit_statements(None, "<{}>".format, heard, ["q", "r"], "c0de")
    size = estimated_tokens(whole)
    assert fit_statements(size, "<{}>".format, heard, ["q", "r"], "c0de") == whole
    counts = {"4": ("5", ["q4-quoted", "q4-0", "q4-1", "q4-2", "q4-3"]), "2": ("1", ["q2-alone"]), "3": ("2", ["r3-1", "r3-0"])}  # fmt: skip
    kept = set()
    for room in range(150, size):
        told = fit_statements(room, "<{}>".format, heard, ["q", "r"], "c0de")
        assert estimated_tokens(told) <= room
        assert "not asked" not in told and told.startswith("<There is more") and told.endswith(">")
        shown = {value: [name for name in names if name in told] for value, (_, names) in counts.items()}
        for value, (total, names) in counts.items():
            left = len(names) - len(shown[value])
            assert f"{total} gave {value}" + (f"; {left} of their reasons left out." if left else ".") in told
        kept.add(tuple(len(names) for names in shown.values()))
        if min(kept_of := [len(names) for names in shown.values()]) and sum(kept_of) == 3:
            assert shown == {"4": ["q4-quoted"], "2": ["q2-alone"], "3": ["r3-1"]}
    narrow = fit_statements(5, "<{}>".format, heard, ["q", "r"], "c0de")
    assert "5 gave 4; 5 of their reasons left out." in narrow and estimated_tokens(narrow) > 5
    assert (1, 1, 1) in kept and max(map(sum, kept)) >= 5
