"""Who rates which case, and what is filed of their clicks: without a server or a browser."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from written_transcripts import written_run

from venire import VenireError
from venire.agents.desk import Desk
from venire.evals.rating.ratings_desk import (
    Overlap,
    Rated,
    file_ratings,
    open_ratings,
    rated_cases,
    ratings_of,
)
from venire.rubrics import Case, Rubric, load_rubric

RATERS = ("abel", "boyd", "cole")
NOTES = Rubric.model_validate(
    {
        "name": "notes",
        "version": 1,
        "scales": {
            "agree5": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
            "kind": {"level": "nominal", "anchors": {"dose": "A wrong dose", "other": "Another fault"}},
        },
        "attributes": [
            {"name": "accurate", "question": "Is it?", "scale": "agree5"},
            {"name": "thorough", "question": "Is it?", "scale": "agree5", "may_not_apply": True},
            {"name": "fault", "question": "Which?", "scale": "kind", "asked_if": {"accurate": 1}},
        ],
    }
)


def desk_of(folder: Path, cases: list[Case], rubric: Rubric = NOTES, *raters: str) -> Desk:
    return open_ratings(folder, cases, rubric, raters or RATERS, overlap=None, seed=1, notes={"c0": ("System: x",)})  # fmt: skip


def click(desk: Desk, person: str, case: str, *parts: tuple[str, str, Any, float]) -> None:
    """Answers of one person to one case: attribute, part, value, and how long it was in view."""
    ((place,),) = desk.rows("SELECT place FROM tasks WHERE person = ? AND case_id = ?", person, case)
    task = desk.task(person, place)
    assert task is not None
    for number, (attribute, part, value, seconds) in enumerate(parts):
        desk.save(task, f"{person} {case} {number} {attribute} {part}", attribute, part, value, seconds=seconds)  # fmt: skip


def test_what_stands_last_is_filed_with_how_often_it_changed_and_how_long_it_took(tmp_path: Path) -> None:
    desk = desk_of(tmp_path / "desk", [Case(id=f"c{n}", output="Text.") for n in range(2)])
    click(
        desk, "abel", "c1",
        ("accurate", "score", 1, 4.0), ("fault", "score", "dose", 2.0), ("accurate", "rationale", "=SUM(1)", 3.0), ("accurate", "score", 1, 1.0),
        ("accurate", "score", 4, 5.0), ("accurate", "score", 2, 1.5), ("accurate", "evidence", ["one", "two"], 0.5), ("thorough", "score", "not_applicable", 2.0),
    )  # fmt: skip
    click(desk, "boyd", "c0", ("accurate", "score", 1, 1.0), ("fault", "score", "other", 1.0), ("thorough", "rationale", "no score yet", 9.0))  # fmt: skip
    found = {(each.case, each.rater, each.attribute): each for each in ratings_of(desk, NOTES)}

    assert list(found) == [("c1", "abel", "accurate"), ("c1", "abel", "thorough"), ("c0", "boyd", "accurate"), ("c0", "boyd", "fault")]  # fmt: skip
    first: Rated = found["c1", "abel", "accurate"]
    assert (first.value, first.rationale, first.evidence, first.revisions, first.seconds) == (2, "=SUM(1)", ("one", "two"), 2, 15.0)  # fmt: skip
    assert found["c0", "boyd", "accurate"].revisions == 0
    rows = list(csv.DictReader(file_ratings(desk).read_text().splitlines()))
    assert [(row["case"], row["rater"], row["attribute"], row["value"]) for row in rows] == [("c1", "abel", "accurate", "2"), ("c1", "abel", "thorough", "not_applicable"), ("c0", "boyd", "accurate", "1"), ("c0", "boyd", "fault", "other")]  # fmt: skip
    assert rows[0]["rationale"] == "'=SUM(1)" and rows[0]["evidence"] == "one | two" and rows[0]["seconds"] == "15.0"  # fmt: skip
    clicks = list(csv.DictReader((tmp_path / "desk/revisions.csv").read_text().splitlines()))
    assert len(clicks) == 11 and clicks[5]["value"] == "2" and clicks[1]["part"] == "score"
    desk.close()


def test_a_preference_is_filed_between_the_outputs_of_the_row(tmp_path: Path) -> None:
    rubric = load_rubric("preference")
    cases = [Case.from_row({"id": f"p{n}", "output_a": "one", "output_b": "two"}) for n in range(8)]
    desk = desk_of(tmp_path / "desk", cases, rubric, "abel")
    for case in cases:
        click(desk, "abel", case.id, (rubric.names[0], "score", -1, 1.0))
    filed = {
        row["case"]: int(row["value"]) for row in csv.DictReader(file_ratings(desk).read_text().splitlines())
    }

    assert {case.swapped for case in cases} == {True, False}
    assert filed == {case.id: 1 if case.swapped else -1 for case in cases}
    desk.close()


def test_what_was_begun_goes_on_with_the_same_rubric_and_cases(tmp_path: Path) -> None:
    cases = [Case(id="c0", output="Text."), Case(id="c1", output="Text.")]
    desk_of(tmp_path / "desk", cases).close()
    desk = desk_of(tmp_path / "desk", [*cases, Case(id="c2", output="Text.")])
    assert desk.counts() == dict.fromkeys(RATERS, (0, 3))
    task = desk.task("abel", 0)
    assert task is not None
    assert {desk.sheet(each).notes for place in range(3) if (each := desk.task("abel", place))} == {("System: x",), ()}  # fmt: skip
    desk.close()
    with pytest.raises(VenireError, match="another rubric"):
        desk_of(tmp_path / "desk", cases, NOTES.model_copy(update={"version": 2}))
    with pytest.raises(VenireError, match="case 'c1' has changed"):
        desk_of(tmp_path / "desk", [cases[0], Case(id="c1", output="Other.")])


@pytest.mark.parametrize(
    ("names", "problem"),
    [(["abel", "ABEL"], "two raters are named"), ([""], "not a valid name"), (["=abel"], "not a valid name"), (["x" * 61], "not a valid name"), (["Coordinator"], "is reserved"), (["a\nb"], "not a valid name")],
)  # fmt: skip
def test_names_that_will_not_do(tmp_path: Path, names: list[str], problem: str) -> None:
    with pytest.raises(VenireError, match=problem):
        desk_of(tmp_path / "desk", [Case(id="c0", output="Text.")], NOTES, *names)


@pytest.mark.parametrize(("text", "found"), [("3", (3, None)), ("2:40", (2, 40)), ("1:0", (1, 0))])
def test_an_overlap_is_raters_and_cases(text: str, found: tuple[int, int | None]) -> None:
    assert Overlap.parse(text) == found
    for wrong in ("0", "", "-1", "2:", "x", "2:x"):
        with pytest.raises(VenireError, match="not a number of raters"):
            Overlap.parse(wrong)


def test_a_list_says_which_cases_are_rated_and_in_which_order(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("".join(f'{{"id": "c{n}", "output": "Text {n}.", "system": "s{n}"}}\n' for n in range(4)))  # fmt: skip
    (tmp_path / "list.csv").write_text("case,why\nc3,unsure\nc1,\nc0,split\nc3,again\n")
    cases, rubric, known = rated_cases(tmp_path / "cases.jsonl", "clinical-note", tmp_path / "list.csv", blind=False)  # fmt: skip

    assert [case.id for case in cases] == ["c3", "c0"] and rubric.name == "clinical-note"
    assert known == {"c3": ("System: s3",), "c0": ("System: s0",)}
    assert rated_cases(tmp_path / "cases.jsonl", "clinical-note", None, blind=True)[2] == {}
    (tmp_path / "list.csv").write_text("id\nc2\nc9\n")
    with pytest.raises(VenireError, match="there is no case 'c9' to rate"):
        rated_cases(tmp_path / "cases.jsonl", "clinical-note", tmp_path / "list.csv", blind=True)


def test_the_cases_of_a_run_are_rated_blind_or_beside_what_its_juries_found(tmp_path: Path) -> None:
    cases = [Case(id="c0", output="Text.", system="s"), Case(id="c1", output="Text.")]
    said = {"accurate": 4, "thorough": "not_applicable", "fault": "not_applicable"}
    votes = {"one": {"c0": {"a": said}, "c1": {"a": {**said, "accurate": 1, "fault": "dose"}}}, "two": {"c0": {"a": {**said, "accurate": 2}}, "c1": {"a": {}}}}  # fmt: skip
    run = written_run(tmp_path / "run", NOTES, cases, votes)  # type: ignore[arg-type]
    found, rubric, known = rated_cases(run, None, None, blind=False)
    assert found == cases and rubric == NOTES
    assert known["c0"] == ("System: s", "one: accurate 4, thorough not_applicable, fault not_applicable", "two: accurate 2, thorough not_applicable, fault not_applicable")  # fmt: skip
    assert known["c1"][0] == "one: accurate 1, thorough not_applicable, fault dose"
    assert known["c1"][1].startswith("two: accurate hung, thorough hung")
    blind, other, nothing = rated_cases(run, "clinical-note", None, blind=True)
    assert (blind, other.name, nothing) == (cases, "clinical-note", {})
    with pytest.raises(VenireError, match="no rubric is given"):
        rated_cases(tmp_path / "cases.jsonl", None, None, blind=True)
    pair = Case.from_row({"id": "p", "output_a": "One.", "output_b": "Two."})
    tied = written_run(
        tmp_path / "pairs", load_rubric("preference"), [pair], {"j": {"p": {"x": {"preference": 0}}}}
    )
    assert rated_cases(tied, None, None, blind=False)[2] == {"p": ("j: preference 0",)}, "0 is a value"


def test_who_rates_what_is_balanced_seeded_and_kept(tmp_path: Path) -> None:
    cases = [Case(id=f"c{i}", output="x") for i in range(40)]

    def assigned(folder: str, seed: int, overlap: str, count: int = 40) -> dict[str, list[str]]:
        desk = open_ratings(tmp_path / folder, cases[:count], NOTES, [*RATERS, "dean"], overlap=Overlap.parse(overlap), seed=seed, notes={})  # fmt: skip
        try:
            return {
                name: [case for (case,) in desk.rows("SELECT case_id FROM tasks WHERE person = ? ORDER BY place", name)]
                for name in (*RATERS, "dean")
            }  # fmt: skip
        finally:
            desk.close()

    two = assigned("two", 1, "2")
    assert {len(mine) for mine in two.values()} == {20}
    assert sorted(case for mine in two.values() for case in mine) == sorted(2 * [c.id for c in cases])
    assert assigned("again", 1, "2") == two
    assert assigned("other", 2, "2") != two
    assert assigned("two", 1, "2") == two, "begun again, nothing moves"
    everyone = assigned("everyone", 1, "4")
    assert len(set(map(tuple, everyone.values()))) == 4, "each in an order of her own"
    some = assigned("some", 1, "4:10")
    assert sum(map(len, some.values())) == 4 * 10 + 30
    first = assigned("grown", 1, "2", count=30)
    grown = assigned("grown", 1, "2")
    assert all(grown[name][: len(mine)] == mine for name, mine in first.items())
    assert sum(map(len, grown.values())) == 80


def test_whoever_has_fewest_cases_gets_the_next_and_lots_decide_between_equals(tmp_path: Path) -> None:
    cases = [Case(id=f"c{i}", output="x") for i in range(60)]

    def assigned(
        folder: str, raters: tuple[str, ...], overlap: str, count: int, seed: int = 1
    ) -> dict[str, set[str]]:
        desk = open_ratings(tmp_path / folder, cases[:count], NOTES, raters, overlap=Overlap.parse(overlap), seed=seed, notes={})  # fmt: skip
        try:
            return {name: {case for (case,) in desk.rows("SELECT case_id FROM tasks WHERE person = ?", name)} for name in raters}  # fmt: skip
        finally:
            desk.close()

    first = assigned("grown", ("abel", "boyd"), "1", 24)
    later = assigned("grown", RATERS, "1", 36)
    assert [len(mine) for mine in first.values()] == [12, 12]
    assert later == {**first, "cole": {f"c{i}" for i in range(24, 36)}}, "who came later catches up"

    two = assigned("two", (*RATERS, "dean"), "2", 60)
    pairs = Counter(tuple(name for name, mine in two.items() if case.id in mine) for case in cases)
    assert len(pairs) == 6 and max(pairs.values()) < 25, "everyone shares cases with everyone"

    shared = [assigned(f"shared-{seed}", RATERS, "3:10", 60, seed) for seed in (1, 2)]
    common = [each["abel"] & each["boyd"] & each["cole"] for each in shared]
    assert [len(each) for each in common] == [10, 10] and common[0] != common[1]
