"""Recorded judgements: published figures reproduced, any long table read, and recorded jurors on a real panel."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from command_line import venire
from doc_blocks import blocks
from juror_worlds import GOOD, judgement_tables, planted_votes
from rich.console import Console
from shared_data import SHARED

from venire import Jury, VenireError
from venire.evals import Recording, analyse, compare, llmbar, load_judgements, pandalm
from venire.evals.ratings.preferences import pair_votes
from venire.evals.ratings.published_data import READERS, as_pairs, choice
from venire.evals.studies.juror_pool import pool_of
from venire.evals.studies.juror_tables import position_bias
from venire.evals.studies.jury_search import VoteCounter
from venire.orchestration.record import Store
from venire.orchestration.run_session import RunSession, run_session
from venire.rubrics.case import Case

LLMBAR = pytest.mark.skipif(
    not (SHARED / "llmbar").is_dir(), reason="the published judgements of LLMBar are not here"
)
PANDALM = pytest.mark.skipif(not (SHARED / "pandalm").is_dir(), reason="PandaLM's test set is not here")


def accuracies(recording: Recording) -> dict[str, float]:
    laid = pool_of(recording.judgements, recording.people, recording.questions, "median")
    return dict(zip(laid.jurors, VoteCounter(laid).scores(np.eye(len(laid.jurors), dtype=bool)), strict=True))


def percent(words: str) -> float:
    return float(re.search(r"([\d.]+)%$", words).group(1)) / 100  # type: ignore[union-attr]


@LLMBAR
def test_single_judges_are_as_accurate_as_published_and_as_steady_over_both_orders() -> None:
    published = pd.DataFrame(json.loads((SHARED / "llmbar/published_statistics.json").read_text()))
    recording = llmbar(SHARED / "llmbar", subset=None)
    subsets = recording.judgements["case"].str.rsplit("/", n=1).str[0]
    met = 0
    for subset, rows in published.groupby("dataset"):
        part = replace(recording, judgements=recording.judgements[subsets == subset])
        found = accuracies(part)
        steady = position_bias(part.judgements).set_index("juror")
        for row in rows.to_dict("records"):
            juror = f"{row['model']}/{row['strategy']}"
            assert found[juror] == pytest.approx(percent(row["correct_average"]), abs=1e-12)
            assert steady.loc[juror, "consistent"] == pytest.approx(percent(row["equal"]), abs=1e-12)
            met += 1

    assert met == 499


@LLMBAR
def test_all_recorded_evaluators_are_searched_and_the_answer_is_on_items_held_out() -> None:
    recording = llmbar(SHARED / "llmbar")
    found = analyse(
        recording.judgements,
        recording.people,
        questions=recording.questions,
        rounds=1,
        orders=20,
        resamples=200,
    )
    (difference,) = found.answers[found.answers["what"] == "jury minus single judge, held out"].to_dict(
        "records"
    )

    assert len(found.jurors) == 65 and len(recording.cases) == 419
    assert found.selection["n"].sum() == difference["n"] == 838
    assert difference["low"] < difference["value"] < difference["high"]
    assert abs(difference["value"]) < 0.03
    (optimism,) = found.answers[found.answers["what"] == "optimism of the jury's naive figure"]["value"]
    assert optimism > 0
    assert "single judge" in found.sentences()[1]


@PANDALM
def test_pandalm_has_the_published_labels_and_accuracies() -> None:
    recording = pandalm(SHARED / "pandalm", unreadable="tie")
    laid = pool_of(recording.judgements, recording.people, recording.questions, "median")

    assert pd.Series(laid.truth).value_counts().to_dict() == {2: 472, 1: 422, 0: 105}
    assert {name: round(value, 4) for name, value in accuracies(recording).items()} == {
        "gpt-3.5": 0.7107,
        "pandalm-7b": 0.6677,
    }
    assert len(np.unique(laid.cluster)) == 170


@PANDALM
def test_an_answer_that_could_not_be_read_is_an_abstention_unless_a_tie_is_asked_for() -> None:
    blank = (
        pandalm(SHARED / "pandalm").judgements.groupby("juror")["value"].apply(lambda each: each.isna().sum())
    )

    assert blank.to_dict() == {"gpt-3.5": 25, "pandalm-7b": 0}


def hear_recorded(recording: Recording, jurors: list[str], folder: Path, repeats: int = 1) -> Path:
    """A run in which recorded jurors compare the recording's pairs."""
    recording.write(folder)
    seats = [
        {"name": f"s{number}", "model": f"recorded/{folder}/judgements.csv#{name}"}
        for number, name in enumerate(jurors)
    ]
    jury = Jury.model_validate({"name": "jury", "protocol": "panel", "repeats": repeats, "seats": seats})
    session = RunSession(
        cases=folder / "cases.jsonl", rubric=recording.rubric, juries=[jury], folder=folder / "run"
    )
    run_session(session, Console(quiet=True), quiet=True)
    return folder / "run"


@LLMBAR
@pytest.mark.parametrize("subset", ["Natural", *(f"Adversarial/{name}" for name in ("Neighbor", "GPTInst", "GPTOut", "Manual"))])  # fmt: skip
def test_recorded_evaluators_are_as_accurate_as_seats_of_a_pairwise_jury(subset: str, tmp_path: Path) -> None:
    subset, jurors = f"LLMBar/{subset}", ["GPT-4/Vanilla", "ChatGPT/Vanilla", "PaLM2/Vanilla"]
    recording = as_pairs(llmbar(SHARED / "llmbar", subset=subset))
    store = Store.read(hear_recorded(recording, jurors, tmp_path, repeats=2))
    votes, _ = pair_votes(store)
    right = recording.people.set_index("case")["value"]
    labels = {
        name: case.under_labels(float(right[name])) for name in right.index if (case := store.case(name))
    }
    store.release()

    published = pd.DataFrame(json.loads((SHARED / "llmbar/published_statistics.json").read_text()))
    published = published[published["dataset"] == subset].set_index(["model", "strategy"])
    for number, juror in enumerate(jurors):
        mine = votes[votes["who"] == f"s{number}"]
        correct = sum(-vote == labels[case] for case, vote in zip(mine["case"], mine["outcome"], strict=True))
        expected = percent(published.loc[tuple(juror.split("/")), "correct_average"])  # type: ignore[index]
        assert correct / (2 * len(labels)) == pytest.approx(expected, abs=1e-12)
    assert not votes["shown"].any()


@PANDALM
def test_three_people_agree_on_pairs_as_published(tmp_path: Path) -> None:
    recording = as_pairs(pandalm(SHARED / "pandalm", unreadable="tie"))
    run = hear_recorded(recording, ["gpt-3.5", "pandalm-7b"], tmp_path)
    found = compare(run, tmp_path / "people.csv", resamples=20)

    kappas = found.pairs.set_index(["first", "second"])["kappa"]
    assert [round(kappas["annotator1", other], 4) for other in ("annotator2", "annotator3")] == [
        0.8520,
        0.8789,
    ]
    assert round(kappas["annotator2", "annotator3"], 4) == 0.8617
    jury = found.confusion[
        (found.confusion["arm"] == "jury") & (found.confusion["attribute"] == "preference")
    ]
    assert jury.groupby("people_value")["count"].sum().to_dict() == {-1.0: 422, 0.0: 105, 1.0: 472}
    assert not any(section.name == "severe" for section in found.sections)


def test_llmbars_tables_are_read_in_both_orders_and_run_as_pairs(tmp_path: Path) -> None:
    """Two data sets; of the item 2 of the first, the judge's answer could not be read in the given order."""
    (tmp_path / "judgements.csv").write_text(
        "dataset,item,label,model,strategy,winner_noswap,winner_swap\n"
        "L/N,1,1,G,V,1,2\nL/N,2,2,G,V,,2\nL/N,1,1,G,W,2,2\nLX,1,2,G,V,1,1\nL,7,2,G,V,2,2\n"
    )
    items = [{"dataset": d, "item": n, "input": f"{d}?", "output_1": f"{d}{n}", "output_2": "b"} for d, n in (("L/N", 1), ("L/N", 2), ("LX", 1))]  # fmt: skip
    (tmp_path / "items.json").write_text(json.dumps(items))
    found = llmbar(tmp_path, subset="L")
    given = [tuple(row) for row in found.judgements.astype(object).where(found.judgements.notna(), None).to_numpy()]  # fmt: skip
    assert given == [
        ("L/N/1", "G/V", "better", 1, 0, "given"), ("L/N/2", "G/V", "better", None, 0, "given"), ("L/N/1", "G/W", "better", 2, 0, "given"), ("L/7", "G/V", "better", 2, 0, "given"),
        ("L/N/1", "G/V", "better", 2, 1, "swapped"), ("L/N/2", "G/V", "better", 2, 1, "swapped"), ("L/N/1", "G/W", "better", 2, 1, "swapped"), ("L/7", "G/V", "better", 2, 1, "swapped"),
    ]  # fmt: skip
    assert found.people.to_numpy().tolist() == [["L/N/1", "label", "better", 1], ["L/N/2", "label", "better", 2], ["L/7", "label", "better", 2]]  # fmt: skip
    assert [(case.id, case.question, case.output) for case in found.cases] == [("L/N/1", "L/N?", "Text 1:\nL/N1\n\nText 2:\nb"), ("L/N/2", "L/N?", "Text 1:\nL/N2\n\nText 2:\nb")]  # fmt: skip
    assert found.rubric.scale_of("better").level == "binary" and len(llmbar(tmp_path, subset=None).people) == 4  # fmt: skip
    assert llmbar(tmp_path, subset="LX").people["case"].tolist() == ["LX/1"]

    paired = as_pairs(found)
    assert paired.judgements["value"].isna().tolist() == [False, True] + [False] * 6
    assert paired.judgements["value"].dropna().tolist() == [-1, 1, 1, 1, 1, 1, 1]
    assert paired.people["value"].tolist() == [-1, 1, 1] and set(paired.judgements["attribute"]) == {"preference"}  # fmt: skip
    assert [case.as_row() for case in paired.cases] == [{"id": f"L/N/{n}", "question": "L/N?", "output_a": f"L/N{n}", "output_b": "b"} for n in (1, 2)]  # fmt: skip


def test_pandalms_table_groups_answers_to_one_instruction_and_counts_the_unreadable_only_if_asked(
    tmp_path: Path,
) -> None:
    (tmp_path / "testset_v1_with_judges.csv").write_text(
        "idx,instruction,input,response1,response2,annotator1,annotator2,annotator3,gpt35,gpt35_reason,pandalm7b,pandalm_reason\n"
        "0,do,it,one,two,1,0,2,1,why,2,for\n1,do,,three,four,2,2,2,garbage,,Tie,\n2,do,it,five,six,0,0,0,0,,1,\n"
    )
    for unreadable, read in (("abstain", None), ("tie", 0)):
        found = pandalm(tmp_path, unreadable=unreadable)  # type: ignore[arg-type]
        values = found.judgements["value"].astype(object).where(found.judgements["value"].notna(), None)
        assert values.tolist() == [1, read, 0, 2, 0, 1]
    assert found.judgements["juror"].tolist() == ["gpt-3.5"] * 3 + ["pandalm-7b"] * 3
    assert found.judgements["rationale"].tolist()[::3] == ["why", "for"]
    assert [case.group for case in found.cases] == ["0", "1", "0"] == found.judgements["group"].tolist()[:3]
    assert [case.question for case in found.cases] == ["do\n\nit", "do", "do\n\nit"]
    rated = found.people.set_index(["case", "rater"])["value"]
    assert [rated["0", f"annotator{n}"] for n in (1, 2, 3)] == [1, 0, 2] and len(rated) == 9
    paired = as_pairs(found)
    assert paired.judgements["value"].tolist() == [-1, 0, 0, 1, 0, -1]
    assert [(case.group, case.output_b is not None) for case in paired.cases] == [("0", True), ("1", True), ("0", True)]  # fmt: skip
    assert paired.cases[0].as_row()["output_b"] == "two"


@pytest.mark.parametrize(
    ("reader", "name", "text", "rows"),
    [
        ("pubmedqa", "q.json", '{"7": {"QUESTION": "Q", "CONTEXTS": ["a", "b"], "final_decision": "no"}}', [{"id": "7", "question": "Q", "context": "a\n\nb", "target": "no"}]),
        ("medec", "m.csv", "Text ID,Text,Error Flag\nt1,good,0\n,,\nt2,bad,1\n", [{"id": "t1", "text": "good", "target": "correct"}, {"id": "t2", "text": "bad", "target": "error"}]),
        ("aci-bench", "a.json", '{"data": [{"file": "3-aci-x", "src": "d", "tgt": "n"}]}', [{"id": "3", "dialogue": "d", "target": "n", "setting": "aci-x"}]),
        ("mts-dialog", "d.csv", "ID,section_header,section_text,dialogue\n4,CC,note,talk\n", [{"id": "4", "section": "CC", "dialogue": "talk", "target": "note"}]),
        ("medagents", "s.json", json.dumps([{"dataset": part, "qid": 5, "question": " q ", "options": {"A": "x"}, "answer_idx": "A"} for part in ("other", "part")]), [{"id": "5", "question": "q", "options": {"A": "x"}, "target": "A"}]),
    ],
)  # fmt: skip
def test_a_benchmarks_file_becomes_rows_with_what_is_right(tmp_path: Path, reader: str, name: str, text: str, rows: list[dict[str, Any]]) -> None:  # fmt: skip
    (tmp_path / name).write_text(text)
    assert [*READERS[reader](tmp_path / name, "part")] == rows
    if reader == "pubmedqa":
        (tmp_path / "test_ground_truth.json").write_text('{"8": "yes"}')
        assert not [*READERS[reader](tmp_path / name, "")]


def test_a_folder_without_the_files_is_named(tmp_path: Path) -> None:
    for read in (llmbar, pandalm):
        with pytest.raises(VenireError, match="no such file"):
            read(tmp_path)


def test_any_long_table_is_read_with_its_blanks_and_its_costs(tmp_path: Path) -> None:
    file = tmp_path / "judgements.csv"
    file.write_text(
        "case,juror,attribute,value,repeat,cost,rationale\n"
        "1,ana,clear,4,,0.01,plain\n1,ana,clear,5,1,0.01,\n1,ben,clear,,0,,\n1,ben,tone,kind,0,0.5,\n"
    )
    table = load_judgements(file)

    assert table["value"].tolist()[:2] == [4, 5] and table["value"].tolist()[3] == "kind"
    assert pd.isna(table["value"][2]) and pd.isna(table["cost"][2])
    assert table["repeat"].tolist() == [0, 1, 0, 0] and table["cost"].sum() == pytest.approx(0.52)


def test_decimal_commas_of_a_table_are_numbers(tmp_path: Path) -> None:
    file = tmp_path / "judgements.csv"
    file.write_text(
        "case;juror;attribute;value;cost\n1;ana;clear;4,5;0,02\n2;ana;clear;3;\n1;ana;tone;a, b;\n"
    )
    table = load_judgements(file)

    assert table["value"].tolist() == [4.5, 3, "a, b"] and table["cost"][0] == 0.02


def test_a_truth_value_is_a_word_and_a_case_without_a_group_has_none(tmp_path: Path) -> None:
    """Numbers are numbers only where all of an attribute's values are; a blank one is no word."""
    file = tmp_path / "judgements.jsonl"
    given = [("1", "yes", True, "g"), ("2", "yes", 0, ""), ("1", "clear", "3", "g"), ("2", "clear", "", ""), ("1", "mixed", 4, ""), ("2", "mixed", "x", "")]  # fmt: skip
    rows = [{"case": case, "juror": "j", "attribute": name, "value": value, "group": group, "seconds": "1,5"} for case, name, value, group in given]  # fmt: skip
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = load_judgements(file)

    assert table["value"].astype(object).where(table["value"].notna(), None).tolist() == ["true", 0, 3, None, 4, "x"]  # fmt: skip
    assert table["group"].notna().tolist() == [True, False] * 2 + [False] * 2 and set(table["seconds"]) == {
        1.5
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("case,jurer,attribute,value\n1,a,b,2\n", "the column 'juror' is missing"),
        ("case,juror,attribute,value\n1,a,b,2\n1,a,b,3\n", ":3: a judged b of 1 already on line 2"),
        ("case,juror,attribute,value,cost\n1,a,b,2,cheap\n", ":2: cost is 'cheap'"),
        (
            'case,juror,attribute,value\n1,a,b,"1,250"\n',
            ":2: '1,250' is ambiguous: its comma could be a decimal comma",
        ),
        ("case,juror,attribute,value\n", "no judgements were found"),
    ],
)
def test_what_is_wrong_with_a_table_is_told_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "judgements.csv"
    file.write_text(text)

    with pytest.raises(VenireError) as caught:
        load_judgements(file)
    assert words in caught.value.problem


def test_recorded_jurors_sit_on_a_panel_and_give_the_verdicts_that_were_searched(tmp_path: Path) -> None:
    votes, truth = planted_votes(np.random.default_rng(1), 12)
    votes = {name: votes[name].astype(float) + 1 for name in GOOD}
    votes["good-1"][3] = np.nan
    judged, people = judgement_tables(votes, truth + 1, attribute="better", cost=dict.fromkeys(GOOD, 0.25))
    recording = Recording(
        name="planted",
        rubric=choice("planted", {1: "the first", 2: "the second"}, binary=True),
        cases=tuple(Case(id=f"c{number}", output="two texts") for number in range(12)),
        judgements=judged.assign(rationale="as seen"),
        people=people.assign(rater="p"),
    )
    recording.write(tmp_path)
    seats = [{"name": name, "model": f"recorded/judgements.csv#{name}"} for name in GOOD]
    (tmp_path / "jury.yaml").write_text(
        yaml.safe_dump({"name": "three", "protocol": "panel", "count": "median", "seats": seats})
    )
    made = venire(
        "run",
        "cases.jsonl",
        "--rubric",
        "rubric.yaml",
        "--jury",
        "jury.yaml",
        "-o",
        "run",
        "--json",
        cwd=tmp_path,
    )
    laid = pool_of(
        load_judgements(tmp_path / "judgements.csv"), recording.people, recording.questions, "median"
    )
    searched = dict(
        zip(laid.questions["case"], VoteCounter(laid).answers(np.ones((1, 3), dtype=bool))[0], strict=True)
    )

    assert made.returncode == 0, made.stderr
    heard = {case["case"]: case for case in json.loads(made.stdout)["cases"]}
    assert len(heard) == 12
    for name, case in heard.items():
        told = case["verdict"]["better"]
        assert (told["status"] == "hung") == np.isnan(searched[name])
        assert told["value"] is None or told["value"] == searched[name]
    assert [abstained["juror"] for abstained in heard["c3"]["abstentions"]] == ["good-1"]
    assert heard["c1"]["usd"] == pytest.approx(0.75)


def test_the_page_on_compositions_runs_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes, truth = planted_votes(np.random.default_rng(1), 60)
    judged, people = judgement_tables(votes, truth + 0, attribute="better")
    Recording(
        name="planted",
        rubric=choice("planted", {0: "the first", 1: "the second"}, binary=True),
        cases=(Case(id="c0", output="two texts"),),
        judgements=judged,
        people=people.assign(rater="p"),
    ).write(tmp_path)
    monkeypatch.chdir(tmp_path)
    first, second = [text for kind, text in blocks("docs/compositions.md") if kind == "python"]
    names: dict[str, Any] = {}
    exec(compile(first, "docs/compositions.md", "exec"), names)
    assert names["found"].sentences() and set(names["found"].tables) >= {"frontier", "jurors", "growth"}

    frame = pd.DataFrame(
        {"case": [f"c{n}" for n in range(20)], "attribute": "a", "credit": np.linspace(0, 1, 20)}
    )
    arms = [frame.assign(arm=name, kind=name) for name in ("jury", "single judge")]
    exec(compile(second, "docs/compositions.md", "exec"), names | {"arms": pd.concat(arms)})


def test_a_cost_that_is_no_number_is_told_when_the_juror_is_called(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("case,juror,attribute,value,cost\nc0,ana,better,1,dear\n")
    recording = Recording("x", choice("x", {1: "a", 2: "b"}, binary=True), (Case(id="c0", output="o"),), pd.DataFrame(), pd.DataFrame())  # fmt: skip
    recording.write(tmp_path)
    (tmp_path / "jury.yaml").write_text(
        "name: x\nprotocol: panel\nseats: [{name: a, model: 'recorded/table.csv#ana'}]\n"
    )
    made = venire(
        "run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "run", cwd=tmp_path
    )

    assert made.returncode == 2
    assert "table.csv:2: cost is 'dear'" in made.stderr
