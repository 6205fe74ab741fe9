"""Planted truth: every fault is one, the clean stays clean, and the same seed gives the same bytes."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from command_line import venire

from venire import Case
from venire.evals.training import planting
from venire.evals.training.faults import _runs, other_number, points_for
from venire.evals.training.passages import Edit, Truth, numbers_in, passages
from venire.evals.training.planting import (
    KINDS,
    Fault,
    PlantedText,
    foreign_sentences,
    plant,
    planted_cases,
    split_of,
    truth_of,
)
from venire.rubrics.rubric import load_rubric

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
SOURCE = (
    "Doctor: How old are you? Patient: I am seventy six. Doctor: Any fever? Patient: No fever, but I have had a cough for three weeks. "
    "Doctor: I will start amoxicillin 500 mg three times daily. You live with your daughter? Patient: Yes, with my daughter. "
    "Doctor: Your left knee is swollen. We will take an X-ray of it on Monday. Patient: I stopped smoking in 1995."
)
NOTE = (
    "The patient is a 76-year-old woman with a cough for three weeks. She denies any fever. Amoxicillin 500 mg three times daily was started. "
    "She lives with her daughter. The left knee is swollen. An X-ray is planned on Monday. She stopped smoking in 1995."
)
CASE = Case(id="a", source=SOURCE, output=NOTE)
OTHERS = tuple(
    Case(id=name, source=text, output=text)
    for name, text in (
        ("b", "He broke his wrist while skiing in Norway. A plaster cast was applied in theatre."),
        ("c", "Her gallbladder was removed through a keyhole. The wound healed within ten days."),
    )
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(25))
def test_a_fault_is_where_it_says_and_changes_the_text(kind: str, seed: int) -> None:
    planted = plant(
        NOTE,
        truth_of(CASE),
        [kind],
        random.Random(seed),
        foreign=[p.text for c in OTHERS for p in passages(c.output)],
    )

    assert planted is not None
    (fault,) = planted.faults
    assert planted.output[fault.start : fault.end] == fault.after
    restored = planted.output[: fault.start] + fault.before + planted.output[fault.end :]
    assert restored == NOTE != planted.output
    lowered = {
        name for name, score in planted.scores.items() if score != PlantedText(output=NOTE).scores[name]
    }
    assert lowered == {fault.attribute}


@pytest.mark.parametrize("seed", range(40))
def test_a_planted_number_is_not_one_that_the_source_gives(seed: int) -> None:
    planted = plant(NOTE, truth_of(CASE), ["number"], random.Random(seed))

    assert planted is not None
    assert not numbers_in(planted.faults[0].after) & numbers_in(SOURCE)


@pytest.mark.parametrize("seed", range(40))
def test_a_swapped_term_is_not_one_that_the_source_uses(seed: int) -> None:
    planted = plant(NOTE, truth_of(CASE), ["term"], random.Random(seed))

    assert planted is not None
    assert planted.faults[0].after.lower() not in SOURCE.lower().split()


def test_what_is_said_twice_is_not_lost_when_it_is_left_out_once() -> None:
    twice = "The left knee is swollen. The left knee is swollen."

    assert plant(twice, Truth((SOURCE,)), ["omission"], random.Random(1)) is None


def test_a_text_without_a_place_for_a_fault_gets_none() -> None:
    assert plant("Asthma.", Truth(("Patient: I have asthma.",)), ["number"], random.Random(0)) is None
    assert plant("Asthma.", Truth(("Patient: I have asthma.",)), ["order"], random.Random(0)) is None


@pytest.mark.parametrize(
    ("edit", "apart"),
    [((0, 4), True), ((0, 6), False), ((7, 9), False), ((5, 12), False), ((10, 20), False), ((12, 20), True), ((5, 5), False), ((4, 5), False)],
)  # fmt: skip
def test_a_fault_stands_neither_within_nor_across_nor_right_before_another(edit: tuple[int, int], apart: bool) -> None:  # fmt: skip
    fault = Fault(kind="term", attribute="accurate", points=3, start=5, end=12, before="x", after="y")
    assert planting._overlap(Edit(*edit, "", 1), fault) is not apart
    assert not planting._overlap(Edit(*edit, "", 1), fault.model_copy(update={"kind": "order"}))


def test_several_faults_do_not_overlap() -> None:
    for seed in range(20):
        planted = plant(
            NOTE, truth_of(CASE), ["number", "negation", "term", "fabrication"], random.Random(seed)
        )
        if planted is None:
            continue
        assert all(planted.output[f.start : f.end] == f.after for f in planted.faults)
        assert planted.scores["accurate"] == 1


def test_a_fault_within_another_moves_that_ones_end() -> None:
    """The order of all sentences, and then a number in one of them: the first still spans the whole text."""
    seen = 0
    for seed in range(30):
        planted = plant(NOTE, truth_of(CASE), ["number", "order"], random.Random(seed))
        if planted is not None:
            order, number = planted.faults
            assert (order.kind, order.start, order.end) == ("order", 0, len(planted.output))
            assert planted.output[number.start : number.end] == number.after
            seen += len(number.after) != len(number.before)
    assert seen


@pytest.mark.parametrize(
    ("lost", "points"), [(0, 1), (11, 1), (12, 2), (29, 2), (30, 3), (59, 3), (60, 4), (100, 4)]
)
def test_what_is_lost_weighs_by_its_share_of_the_words(lost: int, points: int) -> None:
    words = [f"wor{chr(97 + n // 26)}{chr(97 + n % 26)}x" for n in range(100)]
    assert points_for(" ".join(words), " ".join(words[lost:])) == points


@pytest.mark.parametrize(
    ("faults", "scores"),
    [
        ([], (5, 5, 5, 5, 0)),
        ([("accurate", 3), ("thorough", 1)], (2, 4, 5, 5, 0)),
        ([("accurate", 3), ("accurate", 3), ("stigmatizing", 1), ("stigmatizing", 1)], (1, 5, 5, 5, 1)),
        ([("organized", 4), ("succinct", 2)], (5, 5, 1, 3, 0)),
    ],
)
def test_the_right_scores_are_the_best_less_the_points(faults: list[tuple[str, int]], scores: tuple[int, ...]) -> None:  # fmt: skip
    made = [Fault(kind="x", attribute=name, points=points, start=0, end=1, before="", after="") for name, points in faults]  # fmt: skip
    found = PlantedText(output="x", faults=tuple(made)).scores
    assert tuple(found[name] for name in ("accurate", "thorough", "organized", "succinct", "stigmatizing")) == scores  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_another_number_has_its_form_and_is_neither_near_nor_taken(seed: int) -> None:
    for before in ("500", "7.5", "3", "Three", "twelve", "38.4"):
        taken = numbers_in("500 7.5 3 12 38.4 40 1000 250 four")
        after = other_number(before, taken, random.Random(seed))
        assert after is not None and not numbers_in(after) & taken
        if before[0].isdigit():
            assert len(after.partition(".")[2]) == len(before.partition(".")[2]) and float(after) > 0
            assert abs(float(after) - float(before)) > 0.08 * float(before)
        else:
            assert after[0].isupper() == before[0].isupper() and after.lower() != before.lower()
    assert other_number("two", numbers_in("two three four five six seven eight nine ten twelve fourteen"), random.Random(seed)) is None  # fmt: skip


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("seventy six", {"76"}), ("two thousand eight", {"2008"}), ("nineteen ninety five", {"1995"}), ("one hundred M G", {"100"}),
        ("7.50 mg", {"7.5"}), ("a hundred and twenty", set()), ("", set()),
    ],
)  # fmt: skip
def test_numbers_are_read_in_figures_and_in_words(words: str, numbers: set[str]) -> None:
    assert numbers <= numbers_in(words)


def test_a_document_stays_on_one_side_of_a_split() -> None:
    shares = {"train": 0.5, "test": 0.5}
    found = list(planted_cases([CASE, *OTHERS], seed=3, shares=shares))
    sides: dict[str | None, set[str]] = {}
    for each in found:
        sides.setdefault(each.case.group, set()).add(each.split)

    assert all(len(splits) == 1 for splits in sides.values())
    twins = [Case(id=f"d{n}", group=f"g{n // 2}", output=NOTE) for n in range(24)]
    split = {each.case.id: each.split for each in planted_cases(twins, ["number"], seed=1, shares=shares)}
    assert all(
        split[f"d{n}"] == split[f"d{n}~number"] == split_of(f"g{n // 2}", 1, shares) for n in range(24)
    )
    assert set(split.values()) == {"train", "test"} != {split_of("g0", 1, None)} == {"all"}
    parts = Counter(split_of(str(n), 0, {"train": 0.7, "dev": 0.1, "test": 0.2}) for n in range(2000))
    assert {name: round(count / 200) for name, count in parts.items()} == {"train": 7, "dev": 1, "test": 2}
    assert [split_of(str(n), 0, shares) for n in range(40)] != [split_of(str(n), 1, shares) for n in range(40)]  # fmt: skip


def test_what_is_made_up_of_a_case_comes_from_other_documents() -> None:
    same = Case(id="e", group="b", output="Her sister lives in Norway.")
    mine, theirs = Case(id="f", group="f", output="One."), OTHERS[0].model_copy(update={"group": "b"})
    assert foreign_sentences([mine, same, theirs], theirs) == ["One."]
    assert len(foreign_sentences([mine, same, theirs], mine)) == 3


def test_each_case_is_planted_from_documents_that_are_not_its_own_and_a_wrong_number_is_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert plant("She is 40 years old.", Truth(("She is well.",)), ["number"], random.Random(0)) is None
    given: dict[str, list[str]] = {}

    def noted(text: str, truth: Truth, kinds: list[str], rng: random.Random, *, foreign: list[str]) -> None:
        given[text] = foreign

    monkeypatch.setattr(planting, "plant", noted)
    same = Case(id="e", group="b", output="Her sister lives in Norway.")
    mine, theirs = Case(id="f", group="f", output="One."), Case(id="b", group="b", output="Two.")
    clean = list(planted_cases([mine, same, theirs], ["fabrication"]))
    assert given == {"One.": ["Her sister lives in Norway.", "Two."], "Her sister lives in Norway.": ["One."], "Two.": ["One."]}  # fmt: skip
    assert [each.case.id for each in clean] == ["f", "e", "b"]


def test_the_right_ballot_names_the_fault_and_quotes_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS / "embedded_juror"))
    RightVotes = import_module("right_ballots").RightVotes
    rubric = load_rubric("clinical-note")
    planted = PlantedText.model_validate(
        {
            "output": NOTE.replace("500 mg", "50 mg"),
            "faults": [
                {"kind": "number", "attribute": "accurate", "points": 3, "start": NOTE.index("500"), "end": NOTE.index("500") + 2,
                 "before": "500", "after": "50"}
            ],
        }
    )  # fmt: skip
    shown = CASE.model_copy(update={"output": planted.output})
    right = RightVotes(NOTE, planted, truth_of(CASE), rubric, rubric.exhibits(shown))

    vote = right.vote("accurate")

    assert vote is not None and vote.value == 2
    assert "50 mg" in vote.rationale and "500 mg" in vote.rationale
    assert all(quote.found for quote in vote.evidence)
    assert [right.vote("accurate", lean=lean).value for lean in (-1, 0, 1)] == [3, 2, 1]
    clean = right.vote("thorough")
    assert clean is not None and clean.value == 5 and not clean.evidence


# The command


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "clean.jsonl"
    path.write_text(
        "".join(
            json.dumps(case.model_dump(mode="json", exclude_none=True)) + "\n" for case in (CASE, *OTHERS)
        )
    )
    return path


def test_plant_writes_cases_and_right_scores_and_says_what_found_no_place(
    cases: Path, tmp_path: Path
) -> None:
    done = venire("plant", str(cases), "-o", str(tmp_path / "out"), "--seed", "7", "--json", cwd=tmp_path)

    told = json.loads(done.stdout)
    rows = [json.loads(line) for line in (tmp_path / "out" / "cases.jsonl").read_text().splitlines()]
    with (tmp_path / "out" / "labels.csv").open(newline="") as file:
        labels = list(csv.DictReader(file))
    assert done.returncode == 0 and told["cases"] == len(rows) and told["clean"] == 3
    assert len(labels) == 5 * len(rows) and {row["rater"] for row in labels} == {"construction"}
    assert all(told["planted"].get(kind, 0) + told["no_place"].get(kind, 0) == 3 for kind in KINDS)
    assert {row["id"] for row in rows if not row["metadata"]["faults"]} == {"a", "b", "c"}


def test_the_same_seed_gives_the_same_bytes(cases: Path, tmp_path: Path) -> None:
    for name, seed in (("one", "7"), ("two", "7"), ("three", "8")):
        venire("plant", str(cases), "-o", str(tmp_path / name), "--seed", seed, cwd=tmp_path)
    one, two, three = ((tmp_path / name / "cases.jsonl").read_bytes() for name in ("one", "two", "three"))

    assert one == two != three


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--faults", "numbr"), "no kind of fault named 'numbr'"),
        (("--faults", ","), "no kind of fault is named"),
        (("--split", "train=0.5"), "do not add up to 1"),
        (("--split", "train"), "is not NAME=SHARE"),
    ],
)
def test_bad_options_are_two_lines_and_nothing_is_written(
    cases: Path, tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    done = venire("plant", str(cases), "-o", str(tmp_path / "out"), *options, cwd=tmp_path)

    assert done.returncode == 2 and problem in done.stderr and len(done.stderr.strip().splitlines()) == 2
    assert not (tmp_path / "out").exists()


def test_the_nearest_passage_has_most_of_the_words_by_the_root_of_its_length_and_six() -> None:
    """Two words of a passage of four are 2 / sqrt(10) or 0.632, three of one of fifteen 3 / sqrt(21) or 0.655."""
    short = "Aspirin relieved headache yesterday."
    long = "Aspirin relieved nausea after breakfast although headache, dizziness, fatigue, fever, cough, rash, sweating, tremor persisted throughout Monday."
    truth = Truth((f"{short} {long}",))

    assert [len(words) for _, words in truth._words] == [4, 15]
    assert truth.nearest_passage("Aspirin headache nausea") == long
    assert truth.nearest_passage("Aspirin headache") == short


def test_a_number_spelt_out_in_the_source_bears_out_its_figure() -> None:
    truth = Truth(("She is seventy six years old.",))

    assert truth.support("She is 76 years old.") == 1.0
    assert truth.support("She is 77 years old.") == pytest.approx(2 / 3)


def test_a_short_text_said_again_in_one_piece_is_no_mild_fault_where_it_is_a_third_of_the_whole() -> None:
    """One piece that is less than 34% of the text is worth one point, and more of it two or three."""
    text = "The knee is swollen."
    for seed in range(30):
        planted = plant(text, Truth((text,)), ["repetition"], random.Random(seed))
        assert planted is not None
        (fault,) = planted.faults
        share = (len(fault.after) - 1) / (len(text) + len(fault.after) - 1)
        assert fault.points >= (3 if share >= 0.5 else 2 if share >= 0.35 else 1), (fault, share)


def test_what_stands_right_behind_an_edit_moves_with_it() -> None:
    fault = Fault(kind="order", attribute="organized", points=1, start=5, end=8, before="x", after="fgh")
    moved = planting._with_fault(PlantedText(output="abcdefghij", faults=(fault,)), "number", Edit(3, 5, "xyz", 2))  # fmt: skip

    assert moved.output == "abcxyzfghij" and (moved.faults[0].start, moved.faults[0].end) == (6, 9)
    assert moved.output[6:9] == fault.after and (moved.faults[1].start, moved.faults[1].end) == (3, 6)


def test_what_may_be_left_out_is_every_stretch_of_sentences_but_never_all_of_them() -> None:
    def stretches(text: str) -> list[str]:
        return [" ".join(each.text for each in run) for run in _runs(passages(text))]

    one, two, three = "He slept well.", "He ate little.", "He went home."
    assert stretches(one) == [] and stretches(f"{one} {two}") == [one, two]
    assert stretches(f"{one} {two} {three}") == [one, two, three, f"{one} {two}", f"{two} {three}"]
