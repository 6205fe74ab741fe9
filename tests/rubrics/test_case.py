"""Cases: rows as they are written, pairs and their labels, conversations as one text, and files of claims and checks about them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venire import Case, Rubric, load_cases, load_rubric
from venire.rubrics.case import coin, count_cases, is_swapped, pairs_among, turn_cases
from venire.rubrics.claim import CheckRow, claim_verdict, claims_of_no_case, load_claims, read_check_rows
from venire.rubrics.conversation import SpokenMessage, conversation_text, turn_spans, without_indent
from venire.rubrics.errors import InvalidFile, VenireError
from venire.rubrics.scale import value_words


def test_a_rows_columns_are_the_cases_fields_and_all_others_its_metadata() -> None:
    row = {"id": 7, "output": "o", "source": "s", "reference": "", "group": None, "system": "x", "label": 3, "metadata": {"a": 1, "label": 2}}  # fmt: skip
    case = Case.from_row(row)

    assert (case.id, case.output, case.source, case.reference, case.group, case.system) == ("7", "o", ("s",), None, None, "x")  # fmt: skip
    assert case.metadata == {"a": 1, "label": 3}
    assert Case.from_row({"id": "1", "output": "o", "metadata": "m"}).metadata == {"metadata": "m"}
    assert Case.from_row({"id": "1", "output": "o", "output_a": "a"}).metadata == {"output_a": "a"}
    assert Case.from_row({"id": "1", "output": "o", "messages": "[no list"}).metadata == {
        "messages": "[no list"
    }


@given(st.text(min_size=1, max_size=8).filter(str.strip), st.booleans())
def test_a_pair_is_labelled_by_lot_and_preferences_find_their_way_back(name: str, systems: bool) -> None:
    row = {"id": name, "output_a": "north", "output_b": "south"}
    case = Case.from_row(row | ({"system_a": "n", "system_b": "s"} if systems else {}))
    north, south = ("n", "s") if systems else ("output_a", "output_b")

    assert case.swapped == is_swapped(name)
    assert (case.output, case.output_b) == (("south", "north") if case.swapped else ("north", "south"))
    assert case.preferred_system(case.under_labels(-1)) == north
    assert case.preferred_system(case.under_labels(2)) == south
    assert case.preferred_system(0) == "tie"
    assert case.under_labels(case.under_labels(-0.5)) == -0.5
    assert Case.from_row(case.as_row()) == case


def test_a_coin_is_fair_and_one_for_each_purpose() -> None:
    thrown = [(coin(f"c{n}", "label"), coin(f"c{n}", "seats")) for n in range(2000)]

    for side in zip(*thrown, strict=True):
        assert 900 < sum(side) < 1100
    assert 900 < sum(one == other for one, other in thrown) < 1100


def outputs(*systems: str, questions: int = 2) -> list[Case]:
    return [
        Case(
            id=f"{system}-{number}",
            output=f"{system} says {number}",
            question=f"question {number}",
            system=system,
        )
        for number in range(questions)
        for system in systems
    ]


def test_pairs_are_made_of_systems_on_one_question() -> None:
    cases = outputs("x", "y", "z")

    made = pairs_among(cases)

    assert {frozenset(case.sides) for case in made} == {frozenset(two) for two in ("xy", "xz", "yz")}
    assert [case.group for case in made] == ["x-0"] * 3 + ["x-1"] * 3
    assert [case.question for case in made] == ["question 0"] * 3 + ["question 1"] * 3
    assert [case.id for case in pairs_among(reversed(cases[:3]))] == [case.id for case in made[:3]]
    for case in made:
        assert case.output.startswith(case.sides[0]) and str(case.output_b).startswith(case.sides[1])
    assert [set(case.sides) for case in pairs_among(cases, against="y")] == [{"x", "y"}, {"y", "z"}] * 2
    own = [case.model_copy(update={"group": "g"}) for case in cases]
    assert {case.group for case in pairs_among(own)} == {"g"}


@pytest.mark.parametrize(
    ("cases", "against", "problem"),
    [
        ([*outputs("x"), *outputs("x", questions=1)], None, "both by the system 'x'"),
        (outputs("x"), None, "no two systems"),
        (outputs("x", "y"), "w", "no case was written by the system 'w'"),
        ([Case(id="1", output="o", system="x")], None, "no question"),
        ([Case(id="1", output="o", question="q")], None, "no system"),
    ],
)
def test_what_makes_no_pairs_says_why(cases: list[Case], against: str | None, problem: str) -> None:
    with pytest.raises(VenireError, match=problem):
        pairs_among(cases, against=against)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"id": "1", "output_a": "", "output_b": " "}], "both outputs are blank"),
        ([{"id": "1", "output_a": "x", "outputb": "y"}], "'output_b' is missing"),
        ([{"id": "1", "source": "x"}], "'output' is missing"),
        ([{"id": "1", "output": " "}], "is blank"),
        ([{"id": " ", "output": "x"}], "is blank"),
        (
            [{"id": "1", "output": "x"}, {"id": 1, "output": "y"}],
            "row 2: the id '1' was already used in row 1",
        ),
        ([], "no cases were found"),
        ([{"id": "1", "output": "x"}, "y"], "row 2 is a str"),
    ],
)
def test_a_row_that_is_no_case_says_so(rows: list[Any], problem: str) -> None:
    with pytest.raises(InvalidFile, match=problem):
        list(load_cases(rows))


def test_rows_in_memory_may_have_gaps_and_a_file_is_counted_whole(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": 1, "output": "x", "group": float("nan"), "k": None}, {"id": 2, "output_a": None, "output_b": "y"}]  # fmt: skip
    one, two = load_cases(rows)
    (tmp_path / "c.jsonl").write_text(
        "".join(json.dumps({"id": n, "output": "x"}) + "\n\n" for n in range(3))
    )

    assert (one.group, one.metadata) == (None, {})
    assert {two.output, two.output_b} == {"", "y"}
    assert count_cases(tmp_path / "c.jsonl") == 3


def spoken(*messages: dict[str, Any]) -> tuple[SpokenMessage, ...]:
    return tuple(map(SpokenMessage.model_validate, messages))


CALL = {"id": "a1", "function": {"name": "look up\nnow", "arguments": {"order": 7}}}
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Order 7\ncame broken.", "name": "Ana"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a1", "content": "{}"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Sorry."}, {"type": "image"}],
        "refusal": "No.",
    },
    {"role": "assistant", "content": ""},
]


def test_a_conversation_is_one_text_with_each_turn_under_its_heading() -> None:
    text = conversation_text(spoken(*TALK), first=3)
    turns = [(turn.heading, without_indent(text[turn.start : turn.end])) for turn in turn_spans(text)]

    assert turns == [
        ("Turn 3, user Ana", "Order 7\ncame broken."),
        ("Turn 4, assistant calls look up now", '{"order": 7}'),
        ("Turn 5, tool look up now", "{}"),
        ("Turn 6, assistant", "Sorry.\n(image, not shown)\nNo."),
        ("Turn 7, assistant", "(nothing)"),
    ]


def test_older_and_custom_calls_are_told_with_what_they_were_given() -> None:
    grep = {"id": "z", "custom": {"name": "grep", "input": "é    e"}}
    find = {"id": "y", "function": {"name": "f" * 90, "arguments": {"stadt": "Köln"}}}
    text = conversation_text(
        spoken(
            {"role": "function", "name": "old", "content": "5"},
            {
                "role": "assistant",
                "content": "Wait.",
                "function_call": {"name": "old", "arguments": '{"q": 1}'},
                "tool_calls": [grep],
            },
            {"role": "tool", "tool_call_id": "z", "content": [{"type": "refusal", "refusal": "Denied."}]},
            {"role": "tool", "tool_call_id": "z", "name": "mine", "content": "x"},
            {"role": "assistant", "tool_calls": [find, {"id": "w", "function": {"name": "stop"}}]},
        )
    )

    assert [(turn.heading, without_indent(text[turn.start : turn.end])) for turn in turn_spans(text)] == [
        ("Turn 1, function old", "5"),
        ("Turn 2, assistant", "Wait."),
        ("Turn 2, assistant calls old", '{"q": 1}'),
        ("Turn 2, assistant calls grep", "é    e"),
        ("Turn 3, tool grep", "Denied."),
        ("Turn 4, tool mine", "x"),
        (f"Turn 5, assistant calls {'f' * 80}", '{"stadt": "Köln"}'),
        ("Turn 5, assistant calls stop", "(nothing)"),
    ]


@given(
    st.lists(
        st.text("ab:\n\u2028\u0085\rTurn 1,user").map(lambda text: f"{text}."),
        min_size=1,
        max_size=4,
    )
)
def test_no_words_can_pass_for_a_turn(texts: list[str]) -> None:
    text = conversation_text(spoken(*({"role": "user", "content": each} for each in texts)))

    assert [turn.heading for turn in turn_spans(text)] == [
        f"Turn {n}, user" for n in range(1, len(texts) + 1)
    ]
    for turn, said in zip(turn_spans(text), texts, strict=True):
        assert without_indent(text[turn.start : turn.end]).splitlines() == said.splitlines()


def test_each_turn_of_the_assistant_is_a_case_after_what_came_before_it() -> None:
    whole = Case.from_row({"id": "t", "messages": TALK, "group": None})
    cases = list(turn_cases([whole]))

    assert whole.is_conversation and whole.output == conversation_text(spoken(*TALK))
    assert [(case.id, case.group, len(case.messages)) for case in cases] == [
        ("t~turn-2", "t", 1), ("t~turn-4", "t", 3), ("t~turn-5", "t", 4),
    ]  # fmt: skip
    assert cases[1].output.startswith("Turn 4, assistant:") and not cases[1].is_conversation
    assert next(iter(turn_cases([whole.model_copy(update={"group": "g"})]))).group == "g"
    for silent in (Case(id="s", output="x"), Case.from_row({"id": "s", "messages": TALK[:1]})):
        with pytest.raises(VenireError, match="no message of the assistant"):
            list(turn_cases([silent]))


def test_jurors_read_what_the_rubric_shows_and_the_judged_text_last() -> None:
    def names(reference: str = "hidden", **fields: Any) -> list[str]:
        asked = Rubric.model_validate(load_rubric("clinical-note").model_dump() | {"reference": reference})
        case = Case.from_row(
            {"id": "1", "output": "o", "reference": "r", "group": "g", "system": "y", **fields}
        )
        return [exhibit.name for exhibit in asked.exhibits(case)]

    assert names() == ["output"]
    assert names("shown", question="q", audience="a", source=["s"]) == ["question", "audience", "source", "reference", "output"]  # fmt: skip
    assert names(source=["s", "t"]) == ["source 1", "source 2", "output"]
    assert names(messages=TALK) == ["conversation", "output"]
    assert names(messages=TALK, output="") == ["output"]
    pair = Case.from_row({"id": "1", "output_a": "a", "output_b": "b"})
    exhibits = load_rubric("preference").exhibits(pair)
    assert [(e.name, e.text) for e in exhibits] == [("output A", pair.output), ("output B", pair.output_b)]


DERIVING = {
    "name": "d",
    "version": 1,
    "scales": {"s": {"level": "ordinal", "anchors": {1: "a", 2: "b", 3: "c", 5: "d"}}},
    "attributes": [
        {"name": "risk", "question": "?", "scale": "s", "reverse_as": "safety"},
        {"name": "use", "question": "?", "scale": "s"},
        {"name": "tone", "question": "?", "scale": "s"},
    ],
    "composites": {"whole": {"safety": 0.75, "use": 0.25, "tone": 0.0}},
}


@pytest.mark.parametrize(
    ("values", "derived"),
    [
        ({"risk": 2, "use": 3}, {"safety": 4, "whole": 3.75}),
        ({"risk": 1}, {"safety": 5}),
        ({"use": 3, "tone": 1}, {}),
        ({"risk": "not_applicable", "use": 3}, {}),
        ({"risk": 2, "use": "not_applicable"}, {"safety": 4}),
    ],
)
def test_reversed_scores_and_composites_are_derived_from_all_of_their_parts(
    values: dict[str, Any], derived: dict[str, float]
) -> None:
    assert Rubric.model_validate(DERIVING).derived_scores(values) == derived


@pytest.mark.parametrize(
    ("value", "pair", "words"),
    [
        (-1, True, "A"), (1, True, "B"), (0, True, "tie"), (0.5, True, "tie"), (-0.6, True, "A"), (2, True, "B 2"), (-3, True, "A 3"),
        (3.14159, False, "3.14"), (4, False, "4"), ("good", True, "good"), (None, True, "None"),
    ],
)  # fmt: skip
def test_a_value_in_words(value: Any, pair: bool, words: str) -> None:
    assert value_words(value, pair=pair) == words


def test_claims_are_read_by_case_with_ids_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "claims.csv"
    file.write_text("case,id,of,text,quote,start,end,central\n1,,,A.,q,3,5,yes\n1,,reference,B.,,,,no\n1,z,output,C.,,,,\n2,,,D.,,,,TRUE\n")  # fmt: skip
    claims = load_claims(file)

    assert {case: [(c.id, c.of, c.text, c.central) for c in found] for case, found in claims.items()} == {
        "1": [("c1", "output", "A.", True), ("r2", "reference", "B.", False), ("z", "output", "C.", False)],
        "2": [("c1", "output", "D.", True)],
    }
    first = claims["1"][0]
    assert (first.quote, first.start, first.end) == ("q", 3, 5)
    assert claims["1"][1].start is None
    assert claims_of_no_case(file, ["1", "2", "3"]) == ""
    note = claims_of_no_case(file, ["2"])
    assert note.startswith("claims.csv") and re.findall(r"\d+", note) == ["3", "1"], "three claims, of case 1"
    with pytest.raises(InvalidFile, match="none of the claims"):
        claims_of_no_case(file, ["3"])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1,c1,A.,", "two claims with the id 'c1'"), (",,A.,", "'case' is missing"), ("1,, ,", "'text' is missing"),
        ("1,,A.,-2", "start is '-2'"), ("1,,A.,x", "start is 'x'"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_claim_is_named(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "claims.csv").write_text(f"case,id,text,start\n1,c1,A.,0\n{line}\n")

    with pytest.raises(InvalidFile, match=rf"claims.csv:3: .*{problem}"):
        load_claims(tmp_path / "claims.csv")


def test_checks_are_read_with_an_abstention_where_no_verdict_stands(tmp_path: Path) -> None:
    file = tmp_path / "checks.csv"
    file.write_text("case,claim,juror,verdict,evidence,reason\n1,c1,a,Not supported,'=x,why\n1,c1,b,,,\n")

    assert list(read_check_rows(file)) == [
        CheckRow("1", "c1", "a", "not_supported", "=x", "why"),
        CheckRow("1", "c1", "b", None, "", ""),
    ]
    for line, problem in (("1,c1,a,supported,,", "twice"), ("1,c2,a,maybe,,", "'maybe' is unknown")):
        file.write_text(f"case,claim,juror,verdict,evidence,reason\n1,c1,a,supported,,\n{line}\n")
        with pytest.raises(InvalidFile, match=problem):
            list(read_check_rows(file))


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("supported", "supported"), ("NOT-SUPPORTED", "not_supported"), ("not addressed.", "not_addressed"),
        ("unsupported", None), ("supported not", None), ("", None),
    ],
)  # fmt: skip
def test_a_verdict_is_known_in_any_case_and_spacing_and_no_other_word_is_one(
    word: str, verdict: str | None
) -> None:
    assert claim_verdict(word) == verdict


def test_what_pandas_has_for_nothing_is_nothing() -> None:
    missing = [type(name, (), {})() for name in ("NAType", "NaTType")]
    (case,) = load_cases([{"id": 1, "output": "x", "group": missing[0], "seen": missing[1], "k": 0}])

    assert (case.group, case.metadata) == (None, {"k": 0})


def test_messages_that_are_none_are_metadata_and_those_before_an_output_are_not_judged() -> None:
    cells: list[Any] = ["[]", "[oops", [], "hello"]
    cases = list(load_cases([{"id": n, "output": "x", "messages": cell} for n, cell in enumerate(cells)]))
    assert [(case.messages, case.metadata["messages"]) for case in cases] == [((), cell) for cell in cells]
    with pytest.raises(InvalidFile, match="'output' is missing"):
        list(load_cases([{"id": 1, "messages": []}]))

    before = Case.from_row({"id": "t", "output": "x", "messages": json.dumps(TALK)})
    assert len(before.messages) == len(TALK) and before.output == "x"
    with pytest.raises(VenireError, match="no message of the assistant"):
        list(turn_cases([before]))


def test_a_pair_has_all_that_its_outputs_were_made_from_and_comes_back_from_a_record_as_it_was() -> None:
    shared = {"source": ("s", "t"), "reference": "r", "question": "q", "audience": "a"}
    made = pairs_among(Case(id=f"{name}", output=name, system=name, **shared) for name in "uvwxyz")  # type: ignore[arg-type]

    assert {case.swapped for case in made} == {False, True}
    for case in made:
        assert {name: getattr(case, name) for name in shared} == shared
        assert Case.model_validate(case.model_dump(mode="json")) == case == Case.from_row(case.as_row())


def test_zero_is_an_output_the_name_of_a_system_and_the_id_of_a_claim(tmp_path: Path) -> None:
    (case,) = load_cases([{"id": 0, "output_a": 0, "output_b": 1, "system_a": 0, "system_b": ""}])
    (tmp_path / "claims.jsonl").write_text(
        "".join(json.dumps({"case": 0, "id": number, "text": "It rains."}) + "\n" for number in (0, "", 1))
    )

    assert dict(zip(case.sides, (case.output, case.output_b), strict=True)) == {"0": "0", "output_b": "1"}
    assert [claim.id for claim in load_claims(tmp_path / "claims.jsonl")["0"]] == ["0", "c2", "1"]
