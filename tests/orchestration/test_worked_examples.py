"""Worked examples: who is shown them, with which labels, and what may never be one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from openai_server import ProviderServer, jury_of
from server_juries import jury_at

from venire import Case, Limits, Rubric, deliberate_sync, load_rubric
from venire.orchestration.worked_examples import ScoredCases, label, worked_examples
from venire.personas.jury import Jury, load_jury
from venire.personas.options import Shots
from venire.rubrics.errors import VenireError
from venire.rubrics.scale import Scale


def write_pool(folder: Path, ratings: str = "") -> Shots:
    """Four labelled cases of two patients, and how they are drawn."""
    folder.mkdir(exist_ok=True)
    cases = [{"id": f"e{n}", "output": f"EXAMPLE-{n}", "group": "p1" if n < 3 else "p2"} for n in range(1, 5)]
    (folder / "pool.jsonl").write_text("\n".join(json.dumps(case) for case in cases))
    rows = ratings or "".join(
        f"e{n},{rater},{name},{value}\n"
        for n in range(1, 5)
        for rater, value in (("ana", 3), ("ben", 4))
        for name in ("accurate", "thorough")
    )
    (folder / "labels.csv").write_text(f"case,rater,attribute,value\n{rows}")
    return Shots(n=2, cases=folder / "pool.jsonl", ratings=folder / "labels.csv")


@pytest.mark.parametrize("way", ["panel", "orchestrated", "moderated", "delphi", "escalate", "magentic-one"])
def test_every_juror_is_shown_the_examples_before_its_first_ballot(
    tmp_path: Path, rubric: Rubric, case: Case, way: str
) -> None:
    answers = {"a": 4, "b": 4, "boss": 4}
    if way == "magentic-one":
        pytest.importorskip("autogen_agentchat", reason="the magentic-one protocol needs venire[autogen]")
        from magentic_scripts import boss, in_turn

        answers["boss"] = boss(in_turn("a", "b", rounds=1))  # type: ignore[assignment]
    with ProviderServer(jury_of(answers)) as server:
        jury = jury_at(server.url, "a", "b", protocol=way, challenge=False, shots=write_pool(tmp_path))
        deliberate_sync(case, rubric, jury)

    first = {call.model: call.prompt for call in reversed(server.calls) if call.model != "boss"}
    assert all(prompt.count("## Example") == 2 for prompt in first.values())


def test_a_protocol_without_examples_refuses_them(tmp_path: Path, rubric: Rubric, case: Case) -> None:
    jury = jury_at("http://127.0.0.1:9/v1", "a", "b", protocol="debate", shots=write_pool(tmp_path))

    with pytest.raises(VenireError, match="debate has no option 'shots'"):
        deliberate_sync(case, rubric, jury)


def test_repeats_of_a_panel_are_each_seats_own_samples(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": [1, 2, 3], "b": [5, 5, 5]})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", protocol="panel", repeats=3))

    assert len(server.calls) == 6
    assert [cast.speaker for cast in verdict.transcript.ballots] == ["a", "b", "a#2", "b#2", "a#3", "b#3"]
    assert verdict["accurate"].value == 3.5
    assert verdict["accurate"].votes == 6


def test_a_turn_limit_cuts_the_last_repeats_and_says_so(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 4})) as server:
        jury = jury_at(server.url, "a", "b", protocol="panel", repeats=2, limits=Limits(max_turns=3))
        verdict = deliberate_sync(case, rubric, jury)

    assert len(server.calls) == 3
    assert verdict.stop.limit == "max_turns"


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    write_pool(tmp_path / "lab")
    file = tmp_path / "lab" / "jury.yaml"
    shots = {"k": 2, "cases": "pool.jsonl", "ratings": "labels.csv"}
    file.write_text(
        yaml.safe_dump({"name": "j", "protocol": "single", "shots": shots, "seats": [{"name": "a"}]})
    )

    found = load_jury(file).shots

    assert found is not None
    assert (found.cases, found.ratings, found.n) == (
        tmp_path / "lab" / "pool.jsonl", tmp_path / "lab" / "labels.csv", 2,
    )  # fmt: skip
    again = Jury.model_validate_json(load_jury(file).model_dump_json())
    assert again.shots == found, "what was read from a record stays where it is"


def test_no_example_is_of_a_scored_cases_group(tmp_path: Path, rubric: Rubric) -> None:
    shots = write_pool(tmp_path)
    judged = ScoredCases.of([Case(id="x", output="text", group="p1")])

    told = worked_examples(shots, rubric, judged)

    assert "EXAMPLE-1" not in told
    assert "EXAMPLE-2" not in told
    assert "EXAMPLE-3" in told
    assert "EXAMPLE-4" in told
    both = ScoredCases.of([Case(id="x", output="text", group="p1"), Case(id="e3", output="text")])
    with pytest.raises(VenireError, match="1 labelled cases that are neither judged"):
        worked_examples(shots, rubric, both)


def test_named_examples_are_shown_in_order_and_never_scored_ones(tmp_path: Path, rubric: Rubric) -> None:
    drawn = write_pool(tmp_path)
    shots = Shots.model_validate(
        {"ids": ["e4", "e3"], "cases": str(drawn.cases), "ratings": str(drawn.ratings)}
    )

    told = worked_examples(shots, rubric, ScoredCases())

    assert told.index("EXAMPLE-4") < told.index("EXAMPLE-3")
    with pytest.raises(VenireError, match="'e3' is one of the cases to be judged"):
        worked_examples(shots, rubric, ScoredCases.of([Case(id="e3", output="text")]))
    in_group = shots.model_copy(update={"ids": ("e4", "e1")})
    with pytest.raises(VenireError, match="'e1' is one of the cases to be judged, or in the same group"):
        worked_examples(in_group, rubric, ScoredCases.of([Case(id="x", output="text", group="p1")]))


def test_an_examples_label_is_a_legal_value(tmp_path: Path, rubric: Rubric) -> None:
    told = worked_examples(write_pool(tmp_path), rubric, ScoredCases())

    assert "accurate 3, thorough 3" in told
    assert "3.5" not in told


def test_labels_of_words_halves_and_what_does_not_apply() -> None:
    words = Scale(level="nominal", anchors={"red": "r", "green": "g"})
    five = Scale(level="ordinal", anchors={n: str(n) for n in range(1, 6)})

    assert label(["green", "red", "green"], words) == "green"
    assert label([2, 3, 5, 5], five) == 3
    assert label([4, "not_applicable", "not_applicable"], five) == "not_applicable"


def test_a_rating_between_two_steps_is_taken_to_the_nearer_legal_one(tmp_path: Path, rubric: Rubric) -> None:
    rows = "".join(
        f"e{n},ana,{name},{value}\n" for n in (1, 2) for name, value in (("accurate", 3.5), ("thorough", 4.8))
    )

    told = worked_examples(write_pool(tmp_path, rows), rubric, ScoredCases())

    assert "accurate 3, thorough 5" in told


def test_a_case_is_shown_no_example_of_itself_nor_of_its_group(tmp_path: Path, rubric: Rubric) -> None:
    drawn = write_pool(tmp_path)
    among = Shots.model_validate({**drawn.model_dump(), "n": 2, "among": ["e1", "e2", "e3", "e4"]})

    def shown(case: str) -> set[str]:
        return set(re.findall(r"EXAMPLE-\d", worked_examples(among, rubric, ScoredCases(), case=case)))

    # The first two are of one group.
    assert shown("e1") == shown("e2") == {"EXAMPLE-3", "EXAMPLE-4"}
    for case in ("e3", "e4", "elsewhere"):
        assert len(shown(case)) == 2 and f"EXAMPLE-{case[1]}" not in shown(case)
    drawn.cases.write_text(
        "\n".join(json.dumps({"id": f"e{n}", "output": f"EXAMPLE-{n}"}) for n in range(1, 5))
    )
    for seed in range(6):
        alone = among.model_copy(update={"n": 3, "seed": seed})
        assert "EXAMPLE-2" not in worked_examples(alone, rubric, ScoredCases(), case="e2"), "of no group, it is itself"  # fmt: skip
    write_pool(tmp_path)
    few = among.model_copy(update={"among": ("e1", "e2", "e3")})
    with pytest.raises(VenireError, match="1 labelled cases of other groups may be shown with e1"):
        worked_examples(few, rubric, ScoredCases(), case="e1")


def test_a_case_without_a_group_keeps_no_other_from_being_shown(tmp_path: Path, rubric: Rubric) -> None:
    scored = ScoredCases.of([Case(id="x", output="text"), Case(id="y", output="text", group="p9")])

    assert scored.groups == {"p9"} and Case(id="z", output="t") not in scored
    assert Case(id="x", output="t") in scored and Case(id="z", output="t", group="p9") in scored


def test_of_several_rounds_the_last_is_the_label_and_a_second_panel_is_left_out(
    tmp_path: Path, rubric: Rubric
) -> None:
    shots = write_pool(tmp_path)
    lines = ["case,rater,attribute,value,round"]
    for name in rubric.names:
        lines += [f"e1,ana,{name},5,2", f"e1,ana,{name},1,1", f"e1,ben,{name},5,1", f"e1,cy,{name},1,1", f"e1,di,{name},1,1"]  # fmt: skip
    shots.ratings.write_text("\n".join(lines) + "\n")
    one = shots.model_copy(update={"n": 1, "seed": 77, "without": ("cy", "di")})

    assert "accurate 5, thorough 5" in worked_examples(one, rubric, ScoredCases())
    assert "accurate 1, thorough 1" in worked_examples(one.model_copy(update={"without": ()}), rubric, ScoredCases())  # fmt: skip


@pytest.mark.parametrize(
    ("votes", "scale_label"),
    [([4, "not_applicable"], 4), (["not_applicable"], "not_applicable"), ([1, 5], 1), ([1, 2, 5], 2)],
)
def test_what_half_of_people_find_does_not_apply_has_the_others_label(
    votes: list[Any], scale_label: Any
) -> None:
    assert label(votes, Scale(level="ordinal", anchors={n: str(n) for n in range(1, 6)})) == scale_label


@pytest.mark.parametrize("name", ["p1", "p2", "p3", "p4"])
def test_an_examples_preference_is_told_under_the_labels_that_are_shown(tmp_path: Path, name: str) -> None:
    rubric = load_rubric("preference")
    (tmp_path / "pool.jsonl").write_text(json.dumps({"id": name, "output_a": "NORTH", "output_b": "SOUTH"}))
    (tmp_path / "labels.csv").write_text(f"case,rater,attribute,value\n{name},ana,preference,1\n")
    shots = Shots(n=1, cases=tmp_path / "pool.jsonl", ratings=tmp_path / "labels.csv")

    told = worked_examples(shots, rubric, ScoredCases())
    # People prefer the row's second output, SOUTH, which jurors may know as output A.
    assert f"preference {1 if told.index('NORTH') < told.index('SOUTH') else -1}" in told


def test_a_label_of_nought_is_one_and_ratings_of_what_is_not_asked_are_none(tmp_path: Path) -> None:
    yes_no = {"level": "binary", "anchors": {0: "no", 1: "yes"}}
    colours = {"level": "nominal", "anchors": {"red": "r", "green": "g"}}
    asked = [
        {"name": "safe", "question": "Safe?", "scale": "yn"},
        {"name": "hue", "question": "Hue?", "scale": "hue"},
    ]
    rubric = Rubric.model_validate(
        {"name": "r", "version": 1, "scales": {"yn": yes_no, "hue": colours}, "attributes": asked}
    )
    rows = "e1,ana,safe,0\ne1,ben,safe,0.0\ne1,cy,safe,1\ne1,ana,hue,red\ne1,ben,hue,2\ne1,ana,charm,5\ne2,ana,safe,1\ne2,ana,hue,blue\n"
    shots = write_pool(tmp_path, rows).model_copy(update={"n": 1})

    # e2 has no legal colour, so e1 alone is labelled.
    assert "EXAMPLE-1" in worked_examples(shots, rubric, ScoredCases())
    assert "Scores: safe 0, hue red" in worked_examples(shots, rubric, ScoredCases())
    with pytest.raises(VenireError, match="has only 1 labelled cases"):
        worked_examples(shots.model_copy(update={"n": 2}), rubric, ScoredCases())
