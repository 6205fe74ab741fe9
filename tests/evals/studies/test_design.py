"""The tables of a study's design: what each says of planted data, and what is refused before anything is spent."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import venire
from scipy.stats import chi2_contingency, ttest_ind, ttest_rel
from statsmodels.formula.api import mixedlm

from venire.evals.agreement.against_people import icc3k_cells
from venire.evals.audits.detection import detection_section, outside_label
from venire.evals.comparison.effects import strata_sentences
from venire.evals.comparison.evaluators import evaluators_section
from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.question import Question
from venire.evals.ratings.score_tables import SECOND, Marks
from venire.evals.statistics.classical_tests import chi_square_p, welch_p
from venire.evals.statistics.draws import Draws
from venire.evals.statistics.estimate import Estimate
from venire.evals.statistics.icc import icc
from venire.evals.statistics.matrix import matrix
from venire.evals.statistics.mixed import collinear
from venire.evals.studies.design_sections import (
    NOTHING,
    PERSON,
    _detection,
    _effects,
    _tasks,
    agreement_section,
    corpus_section,
    cost_section,
)
from venire.evals.studies.plan import Plan, plan_study
from venire.evals.studies.schema import PeopleSettings
from venire.evals.studies.study import StudyCannotRun
from venire.evals.studies.study_files import LIBRARY
from venire.orchestration.worked_examples import ScoredCases, worked_examples
from venire.personas.options import Shots
from venire.rubrics.errors import VenireError
from venire.rubrics.rubric import Rubric, load_rubric
from venire.rubrics.scale import Scale

FIVE = Scale(level="ordinal", anchors={n: str(n) for n in range(1, 6)})
DRAWS = Draws(0, 200)


def marks(table: pd.DataFrame, **columns: Any) -> Marks:
    """Marks of one attribute, by case; `kinds` names the columns that are not people."""
    kinds: dict[str, str] = columns["kinds"]
    index = pd.MultiIndex.from_product([table.index.astype(str), ["risk"]], names=["case", "attribute"])
    cases = table.index.astype(str)
    return Marks(
        table=table.set_axis(index),
        arms=tuple(name for name, kind in kinds.items() if kind in ("jury", "single judge")),
        jurors=columns.get("jurors", {}),
        people=tuple(name for name, kind in kinds.items() if kind == "person"),
        kinds=kinds,
        questions={"risk": Question(FIVE, "high")},
        clusters=pd.Series(cases, index=cases),
    )


def test_the_split_is_tested_as_scipy_does() -> None:
    rng = np.random.default_rng(0)
    one, two, counts = (
        rng.normal(0, 1, 20),
        rng.normal(0.5, 2, 14),
        np.array([[8.0, 3.0], [5.0, 9.0], [4.0, 4.0]]),
    )

    assert welch_p(one, two) == pytest.approx(ttest_ind(one, two, equal_var=False).pvalue)
    assert chi_square_p(counts) == pytest.approx(chi2_contingency(counts, correction=False).pvalue)
    assert np.isnan(welch_p(one[:1], two)) and np.isnan(chi_square_p(counts[:1]))


def test_the_corpus_names_what_a_split_parted_unevenly() -> None:
    cases = pd.DataFrame(
        {"case": [f"c{n}" for n in range(40)], "group": [f"p{n // 2}" for n in range(40)], "system": ["a", "b"] * 20,
         "source_length": [100.0] * 20 + [400.0, 420.0, 430.0, 430.0] * 5, "output_length": np.arange(40.0) % 7, "specialty": ["x"] * 40}
    )  # fmt: skip

    section = corpus_section(cases, ["specialty"], [f"c{n}" for n in range(20, 40)])

    assert "length of notes" in section.sentences[0] and "output" not in section.sentences[0]
    table = section.tables["table"]
    assert table.iloc[0]["development"] == "20" and table.iloc[1]["test"] == "10"
    assert "No case is held out" in corpus_section(cases, [], []).sentences[0]


def test_icc3k_has_the_published_f_interval_and_a_bootstrap_of_clusters() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(3, 1, 30)
    table = pd.DataFrame(
        {"case": [*range(30)] * 2, "cluster": [n // 3 for n in range(30)] * 2, "rater": ["arm"] * 30 + ["people"] * 30,
         "value": [*(truth + rng.normal(0, 0.5, 30)), *truth]}
    )  # fmt: skip

    grid = matrix(table, by="cluster")
    by_rule, by_f = icc3k_cells(grid, "jackknife"), icc3k_cells(grid, "f")
    published = icc(table, form="icc3k", interval="f")

    assert (by_f["icc3k"], by_f["low"], by_f["high"]) == (published.value, published.low, published.high)
    assert np.isnan(by_rule["low"]) and "10 groups of cases, and 12 are needed" in by_rule["note"]


def test_an_arm_that_never_departs_has_no_interval() -> None:
    table = pd.DataFrame(
        {"case": [*range(12)] * 2, "rater": ["arm"] * 12 + ["people"] * 12, "value": [5.0] * 12 + [1.0, 2.0, 3.0, 4.0] * 3}
    )  # fmt: skip

    found = icc3k_cells(matrix(table), "jackknife")

    assert found["icc3k"] == pytest.approx(0) and np.isnan(found["low"])
    assert "depart from their most common value on the same case in only 0 of 12 cases" in str(found["note"])


def test_strata_of_too_few_cases_are_not_said_to_be_alike() -> None:
    row = {
        "arm": "few",
        "column": "system",
        "mae": 1.0,
        "cases": 1,
        "score_p_holm": np.nan,
        "people_p_holm": np.nan,
    }
    rows = [{**row, "level": level, "p_holm": np.nan, "offset_p_holm": np.nan} for level in "ab"]
    rows += [{**row, "arm": "many", "level": level, "p_holm": 0.6, "offset_p_holm": 0.6} for level in "ab"]

    assert strata_sentences(pd.DataFrame(rows)) == [
        "few: there are too few cases to test whether the distance from people's scores depends on system.",
        "many: the distance from people's scores is not shown to depend on system.",
    ]


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    """The sections of a study of 000's layout, what its jurors gave and what people did: four systems' diagnoses of each patient, three
    jurors of three of the makers, the first of whom gives its own system 0.6 more than the others do; spreads are 000's."""
    tmp_path = tmp_path_factory.mktemp("crossed")
    rng = np.random.default_rng(1)
    systems, jurors = ("alder-1", "brook-1", "cairn-1", "dune-1"), ("alder-9", "brook-9", "cairn-9")
    spreads = {"dx": 0.75, "ddx": 0.32, "reasoning": 0.87, "risk": 0.66}
    cases, people, judged = [], ["case,rater,attribute,value"], ["case,juror,attribute,value"]
    for patient in range(40):
        base = {name: 3.3 + rng.normal(0, spread**0.5) for name, spread in spreads.items()}
        for number, system in enumerate(systems):
            case = f"p{patient:02d}-{system}"
            cases.append(
                json.dumps(
                    {"id": case, "group": f"p{patient:02d}", "system": system, "output": "A diagnosis."}
                )
            )
            for name, level in base.items():
                quality = level + rng.normal(0, 0.25)

                def point(value: float, name: str = name) -> int:
                    return int(np.clip(round(6 - value if name == "risk" else value), 1, 5))

                people.append(f"{case},panel,{name},{point(quality + rng.normal(0, 0.45))}")
                for juror in jurors:
                    extra = 0.6 * (juror == "alder-9") * (number == 0)
                    judged.append(f"{case},{juror},{name},{point(quality + extra + rng.normal(0, 0.3))}")
    for name, lines in (("cases.jsonl", cases), ("people.csv", people), ("judges.csv", judged)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    seats = [{"name": juror, "model": f"recorded/judges.csv#{juror}"} for juror in jurors]
    study = {
        "name": "crossed", "cases": "cases.jsonl", "rubric": "valid-diagnosis", "ratings": "people.csv", "split": {"test": 0}, "cost": "calls",
        "arms": [{"jury": {"name": "jury", "protocol": "panel", "count": "mean", "seats": seats}}],
        "tables": ["strata", "severe", "self_preference"], "strata": ["system"],
        "severity": {"attribute": "risk", "harmful": 0.25, "margin": 0.25},
        "families": {f"*{maker}*": maker for maker in ("alder", "brook", "cairn", "dune")},
    }  # fmt: skip
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    ended = venire("study", "study.yaml", "--quiet", "--resamples", "20", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    report = json.loads((tmp_path / "study-run" / "report" / "report.json").read_text())
    return report["sections"], pd.read_csv(tmp_path / "judges.csv"), pd.read_csv(tmp_path / "people.csv")


def test_systems_crossed_with_patients_are_compared_within_them(
    crossed: tuple[dict[str, Any], pd.DataFrame, pd.DataFrame],
) -> None:
    sections, votes, panel = crossed
    strata = pd.DataFrame(sections["strata"]["tables"]["table"]).set_index("level")
    given = votes.groupby(["case", "attribute"])["value"].mean().rename("jury").reset_index()
    both = given.merge(panel, on=["case", "attribute"])
    turn = np.where(both["attribute"] == "risk", -1, 1)
    both["gap"] = turn * (both["jury"] - both["value"])
    both[["patient", "system"]] = both["case"].str.split("-", n=1, expand=True)
    both["score"] = turn * both["jury"]
    row = strata.loc["alder-1"]
    for prefix, column in (("offset_", "gap"), ("score_", "score")):
        mine = both[both["system"] == "alder-1"].groupby("patient")[column].mean()
        others = both[both["system"] != "alder-1"].groupby("patient")[column].mean()
        assert row[f"{prefix}p"] == pytest.approx(ttest_rel(mine, others).pvalue)
        assert row[f"{prefix}difference"] == pytest.approx((mine - others).mean())
    assert row["score_p_holm"] < 0.01 and row["test"] == "paired within groups"
    assert any(
        each.startswith("On cases with system alder-1, jury") for each in sections["strata"]["sentences"]
    )
    risk = both[both["attribute"] == "risk"]
    harmful = risk[6 - risk["value"] <= 2]
    missed = ((harmful["value"] - harmful["jury"]) >= 1).sum()
    said = sections["severe"]["sentences"][0]
    assert (
        said.startswith(
            f"Of {len(harmful)} cases that people call harmful on risk, jury called {missed} safe"
        )
        and missed > 0
    )


def test_a_juror_that_favours_its_own_maker_is_named_by_000s_model_and_by_ours(
    crossed: tuple[dict[str, Any], pd.DataFrame, pd.DataFrame],
) -> None:
    section = crossed[0]["self_preference"]
    said = [sentence for sentence in section["sentences"] if "favours its own" in sentence]
    assert [
        sentence
        for sentence in said
        if sentence.startswith(
            "By the mixed model of Rouillard, Bassett et al. (cases as random effects, jurors as fixed effects): alder-9 favours"
        )
    ]
    within = [sentence for sentence in said if sentence.startswith("By the model of differences")]
    assert "alder-9 favours" in within[0]
    rows = pd.DataFrame(section["tables"]["fixed_jurors"]).set_index(["model", "attribute", "juror"])
    row = rows.loc[("published model", "dx", "all jurors")]
    votes = crossed[1].query("attribute == 'dx'").reset_index(drop=True)
    votes[["patient", "system"]] = votes["case"].str.split("-", n=1, expand=True)
    votes["same"] = (votes["juror"].str.split("-").str[0] == votes["system"].str.split("-").str[0]).astype(
        float
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = mixedlm("value ~ same + C(juror)", votes, groups=votes["patient"]).fit()
    assert row["value"] == pytest.approx(theirs.params["same"], abs=1e-4)
    assert row["se"] == pytest.approx(theirs.bse["same"], rel=0.02)
    assert row["case_variance"] == pytest.approx(theirs.cov_re.iloc[0, 0], rel=0.01)


def test_a_model_that_failed_is_said_to_have_failed_and_names_what_was_collinear() -> None:
    design = pd.DataFrame(
        {
            "intercept": 1.0,
            "length": np.arange(9.0),
            "notes": 3 + 2 * np.arange(9.0),
            "age": np.arange(9.0) ** 2,
        }
    )

    assert (
        collinear(design) == ["intercept", "length", "notes"]
        and collinear(design.drop(columns="notes")) == []
    )


def test_a_persons_time_and_pay_stand_beside_the_arms() -> None:
    costs = pd.DataFrame(
        {
            "arm": ["seven", "recorded"],
            "cases": [40, 40],
            "usd_per_case": [0.35, 0.0],
            "seconds_per_case": [154.0, 0.0],
        }
    )

    table = (
        cost_section(costs, {"seven": 7}, PeopleSettings(minutes=10, wage=300))
        .tables["table"]
        .set_index("judge")
    )

    assert (table.loc[PERSON, "seconds"], table.loc[PERSON, "usd"]) == (600, 50)
    assert table.loc["seven", "usd_per_answer"] == pytest.approx(0.05)
    assert table.loc["seven", "saved"] == pytest.approx(1 - 154 / 600)
    assert np.isnan(table.loc["recorded", "seconds"])
    missing = cost_section(costs, {}, PeopleSettings())
    assert "minutes" in missing.notes[0] and "wage" in missing.notes[0]


def compared(**icc3k: float) -> Any:
    """A comparison of arms on one attribute and overall, whose ICC(3,k) is known or not."""
    cells = [(arm, name) for arm in icc3k for name in (OVERALL, "risk")]
    agreed = [{"arm": arm, "attribute": name, "icc3k": icc3k[arm], "low": icc3k[arm] - 0.1, "high": icc3k[arm] + 0.1, "note": "too few" if np.isnan(icc3k[arm]) else ""} for arm, name in cells]  # fmt: skip
    ranks = [{"arm": arm, "attribute": name, "median": -1.0, "q1": -2.0, "q3": 0.0, "p": 0.04, "note": ""} for arm, name in cells]  # fmt: skip
    found = {arm: {name: {"alpha_ordinal": Estimate(0.5, 0.4, 0.6, 9, "x"), "ac2": Estimate(0.7, 0.6, 0.8, 9, "x")} for name in (OVERALL, "risk")} for arm in icc3k}  # fmt: skip
    return SimpleNamespace(icc3k=pd.DataFrame(agreed), signed_ranks=pd.DataFrame(ranks), agreement=found, kinds=dict.fromkeys(icc3k, "jury"))  # fmt: skip


def test_an_arm_whose_agreement_is_undefined_is_noted_and_every_other_is_told() -> None:
    section = agreement_section(compared(one=0.8, two=np.nan), "agreement", "Agreement")
    (said,) = section.sentences
    assert said.startswith("one against people: ICC(3,k) 0.800 (95% interval 0.700 to 0.900), median difference (arm minus people) -1 (quartiles -2, 0)")  # fmt: skip
    assert section.notes == ("two: ICC(3,k) is undefined (ICC: too few)",)
    assert [*section.tables["overall"]["arm"]] == ["one", "two"] == [*section.tables["attributes"]["arm"]]
    row = section.tables["attributes"].iloc[0]
    assert (row["alpha"], row["alpha_low"], row["ac2"], row["ac2_high"], row["wilcoxon_p"]) == (0.5, 0.4, 0.7, 0.8, 0.04)  # fmt: skip
    assert agreement_section(compared(two=np.nan), "agreement", "x").sentences == (NOTHING,)


def test_other_tasks_are_told_beside_this_study_for_the_arms_that_they_share() -> None:
    section = _tasks(compared(one=0.8, here=0.7), {"ward": compared(one=0.6), "clinic": compared(one=np.nan)})
    assert [*zip(section.tables["table"]["task"], section.tables["table"]["arm"], section.tables["table"]["icc3k"].fillna(0), strict=True)] == [("this study", "one", 0.8), ("ward", "one", 0.6), ("clinic", "one", 0.0)]  # fmt: skip
    assert [each.split(":")[:2] for each in section.sentences] == [["ward", " one against people"], ["clinic", f" {NOTHING}".split(":")[0]]]  # fmt: skip
    assert section.notes == ("clinic: one: ICC(3,k) is undefined (ICC: too few)",)
    alone = _tasks(compared(one=0.8), {})
    assert not alone.tables and "no other task" in alone.sentences[0]
    unlabelled = _detection(SimpleNamespace(design=SimpleNamespace(label=None)))  # type: ignore[arg-type]
    assert not unlabelled.tables and "No label is named" in unlabelled.sentences[0]


def test_what_moves_a_difference_is_a_level_or_a_standard_deviation_of_a_number() -> None:
    def term(arm: str, name: str, value: float, p: float, note: str = "") -> dict[str, Any]:
        return {"arm": arm, "term": name, "value": value, "low": value - 0.1, "high": value + 0.1, "p": p, "note": note}  # fmt: skip

    rows = [term("one", "intercept", 9.0, 0.001), term("one", "specialty: surgery", 0.4, 0.01), term("one", "source_length", -0.3, 0.02), term("one", "age", 0.5, 0.6), term("one", "SD of group", 0.25, 0.001), term("two", "age", np.nan, np.nan, "collinear"), term("three", "age", 0.5, 0.01, "it did not converge")]  # fmt: skip
    told = _effects(SimpleNamespace(effects=pd.DataFrame(rows), notes=("mixed model: a", "other"))).sentences  # type: ignore[arg-type]
    assert [each.partition(" by ")[0].partition(" (")[0] for each in told] == [
        "one: specialty: surgery changes the difference 'arm minus person'",
        "one: an increase of one standard deviation in source length changes the difference 'arm minus person'",
        "one: the difference 'arm minus person' varies between groups of cases, with an SD of 0.25 points.",
        "two: the mixed model could not be fitted",
        "three: the mixed model could not be fitted",
    ]
    assert "+0.40 points" in told[0] and "-0.30 points" in told[1]
    still = _effects(SimpleNamespace(effects=pd.DataFrame(rows[3:5]), notes=()))  # type: ignore[arg-type]
    assert still.sentences[0].startswith("No predictor is shown") and len(still.sentences) == 2
    unfit = _effects(SimpleNamespace(effects=pd.DataFrame(rows[5:]), notes=()))  # type: ignore[arg-type]
    assert len(unfit.sentences) == 2 and not any("No predictor" in each for each in unfit.sentences)
    none = _effects(SimpleNamespace(effects=pd.DataFrame(), notes=("mixed model: few", "other")))  # type: ignore[arg-type]
    assert none.sentences == ("mixed model: few",)


def test_low_scores_that_find_every_wrong_case_first_save_the_rest_of_the_work() -> None:
    # Two outputs of each of 20 ward cases; the five wrong ones score lowest of all.
    ward = [f"w{n // 2:02d}" for n in range(40)]
    wrong = [int(n // 2 < 5) for n in range(40)]
    cases = pd.DataFrame({"case": [f"c{n:02d}" for n in range(40)], "wrong": wrong, "ward": ward})
    score = np.array([0.1 if bad else 0.6 + 0.01 * (n % 7) for n, bad in enumerate(wrong)])
    given = marks(pd.DataFrame({"jury": score}, index=cases["case"]), kinds={"jury": "jury"})

    label = outside_label(cases, "wrong", wrong=(1,), pool="ward")
    section = detection_section(given, label, DRAWS)

    area = section.tables["areas"].iloc[0]
    assert (area["n"], area["wrong"], area["outputs"]) == (20, 5, 40)
    heard = marks(
        pd.DataFrame({"jury": np.where(np.arange(40) < 6, score, np.nan)}, index=cases["case"]),
        kinds={"jury": "jury"},
    )
    assert detection_section(heard, label, DRAWS).tables["areas"].iloc[0]["outputs"] == 6
    assert area["area"] == pytest.approx(1 - 5 / 20 / 2)
    saved = section.tables["saved"].set_index("found")
    assert saved.loc[1.0, "reviewed"] == pytest.approx(0.25) and saved.loc[1.0, "saved"] == pytest.approx(
        0.75
    )
    assert "sooner than random order" in section.sentences[0]


def test_a_label_may_be_written_as_a_word_and_outputs_of_one_case_share_it() -> None:
    cases = pd.DataFrame({"case": ["a", "b", "c"], "ward": ["w", "w", None], "bad": ["Yes", "yes", None]})

    label = outside_label(cases, "bad", wrong=("yes", True), pool="ward")

    assert label.wrong.tolist()[:2] == [1, 1] and np.isnan(label.wrong["c"]) and label.pooled["c"] == "c"
    with pytest.raises(VenireError, match="different labels"):
        outside_label(cases.assign(bad=["yes", "no", None]), "bad", wrong=("yes",), pool="ward")


def test_evaluators_name_a_planted_offset_and_a_planted_bad_juror() -> None:
    rng = np.random.default_rng(3)
    truth = np.clip(rng.normal(0.5, 0.25, 60), 0, 1)
    scored = {
        "jury": truth - 0.2, "jury: good": truth - 0.2, "jury: fair": truth - 0.2 + rng.normal(0, 0.1, 60),
        "jury: bad": rng.random(60), SECOND: truth + rng.normal(0, 0.05, 60), "panel": truth,
    }  # fmt: skip
    kinds = {
        "jury": "jury",
        **dict.fromkeys(list(scored)[1:4], "juror"),
        SECOND: "second panel",
        "panel": "person",
    }
    given = marks(
        pd.DataFrame(scored, index=[f"c{n}" for n in range(60)]),
        kinds=kinds,
        jurors={"jury": tuple(list(scored)[1:4])},
    )

    section = evaluators_section(given)

    table = section.tables["against_people"].set_index(["evaluator", "attribute", "measure"])
    assert table.loc[("jury", "overall", "offset"), "value"] == pytest.approx(-0.8)
    assert any("jury: bad agrees worst" in sentence for sentence in section.sentences)
    groups = section.tables["pairs"].groupby("group")["kappa_quadratic"].count()
    assert set(groups.index) == {"panels", "panel and juror", "jurors"}


def test_a_case_is_shown_no_example_of_its_own_group(tmp_path: Path) -> None:
    rubric = load_rubric("pdsqi-9")
    shots = Shots(
        n=3, cases=LIBRARY / "004-cases.jsonl", ratings=LIBRARY / "004-people.csv", wide=True,
        among=tuple(f"a{n:02d}" for n in range(1, 41)),
    )  # fmt: skip
    cases = [json.loads(line) for line in (LIBRARY / "004-cases.jsonl").read_text().splitlines()]
    scored = ScoredCases(frozenset(case["id"] for case in cases))

    for case in cases:
        shown = worked_examples(shots, rubric, scored, case=case["id"])
        own = [each for each in cases if each["group"] == case["group"]]
        assert shown.count("## Example") == 3
        assert not any(each["output"] in shown for each in own)


def test_examples_are_labelled_by_the_first_panel_alone(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(json.dumps({"id": "a", "output": "A text."}) + "\n")
    rows = ["case,rater,attribute,value", "a,panel,clear,5", "a,second,clear,1", "a,third,clear,1"]
    (tmp_path / "people.csv").write_text("\n".join(rows))
    rubric = Rubric.model_validate(
        {"name": "r", "version": 1, "scales": {"five": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}}},
         "attributes": [{"name": "clear", "question": "Is it clear?", "scale": "five"}]}
    )  # fmt: skip
    shots = Shots(n=1, cases=tmp_path / "cases.jsonl", ratings=tmp_path / "people.csv")
    first = shots.model_copy(update={"without": ("second", "third")})
    assert "Scores: clear 1" in worked_examples(shots, rubric, ScoredCases())
    assert "Scores: clear 5" in worked_examples(first, rubric, ScoredCases())
    assert "without" not in shots.model_dump() and first.model_dump()["without"] == ("second", "third")

    study = copy_of(tmp_path, "000", ids("000")[:24])
    text = study.read_text().replace(
        "  - name: alder-alone\n", "  - name: alder-alone\n    shots: {k: 1}\n", 1
    )
    study.write_text(text)
    (arm,) = (arm for arm in plan_study(study).arms if arm.jury.shots)
    assert arm.jury.shots is not None and arm.jury.shots.without == ("second-panel",)


def copy_of(tmp_path: Path, name: str, cases: list[str]) -> Path:
    """A shipped study's arms of recorded judges, on some of its cases, in `tmp_path`."""
    for path in LIBRARY.glob(f"{name}-*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    for path in (f"{name}-cases.jsonl", f"{name}-people.csv"):
        lines = (tmp_path / path).read_text().splitlines(keepends=True)
        kept = [
            line
            for number, line in enumerate(lines)
            if (path.endswith("csv") and (number == 0 or line.split(",")[0] in cases))
            or (path.endswith("jsonl") and json.loads(line)["id"] in cases)
        ]
        (tmp_path / path).write_text("".join(kept))
    text = (LIBRARY / f"{name}.yaml").read_text()
    start, end = (text.index(words) for words in STRETCH[name])
    study = tmp_path / "study.yaml"
    study.write_text((text[:start] + text[end:]).replace("arms: [zero-shot, five-shot]", "arms: [zero-shot]"))
    return study


STRETCH = {"004": ("  - {jury: single-7, name: one-shot", "split:"), "000": ("  - name: embedded", "split:")}
"""From where to where a shipped file has arms that a test has no time for."""


def ids(name: str) -> list[str]:
    return [json.loads(line)["id"] for line in (LIBRARY / f"{name}-cases.jsonl").read_text().splitlines()]


def test_everything_that_tables_lack_is_said_at_once(tmp_path: Path) -> None:
    study = copy_of(tmp_path, "000", ids("000")[:40])
    text = study.read_text()
    changed = text.replace("ward_case, attributes: [risk]", "ward, attributes: [safe]").replace(
        "tables: [", "tables: [panels, strata, "
    )
    study.write_text(changed)
    with pytest.raises(StudyCannotRun) as refused:
        plan_study(study)
    problems = " ".join(error.problem for error in refused.value.errors)
    for words in (
        "no case has 'ward'",
        "has no attribute 'safe'",
        "1 person rated",
        "strata needs the key strata",
    ):
        assert words in problems

    study.write_text(text.replace("rescore: [second-panel]", "rescore: [third]"))
    with pytest.raises(VenireError, match="third"):
        plan_study(study)


def test_data_without_people_are_refused_with_what_is_missing(tmp_path: Path) -> None:
    study = copy_of(tmp_path, "004", ids("004"))
    (tmp_path / "004-people.csv").write_text("case,rater,cited\n")
    refused = venire("study", "study.yaml", cwd=tmp_path)
    assert refused.returncode == 2 and "004-people.csv" in refused.stderr
    study.write_text(study.read_text().replace("ratings: 004-people.csv", "# no ratings"))
    refused = venire("study", "study.yaml", cwd=tmp_path)
    assert refused.returncode == 2 and "ratings: the key is missing" in refused.stderr
    assert not (tmp_path / "study-run").exists()


def test_a_shipped_study_is_named_like_a_jury_and_optional_arms_are_left_out(tmp_path: Path) -> None:
    planned = venire("study", "plan", "004", cwd=tmp_path)

    assert planned.returncode == 0, planned.stderr
    assert "the arm sft is left out" in planned.stdout.replace("\n", " ")
    unknown = venire("study", "plan", "005.yaml", cwd=tmp_path)
    assert unknown.returncode == 2 and "no study named '005'" in unknown.stderr


def test_an_arm_that_hears_few_cases_is_planned_for_those(tmp_path: Path) -> None:
    study = copy_of(tmp_path, "004", ids("004")[:20])
    text = study.read_text()
    study.write_text(text.replace("split:", "  - {jury: lens-jury, name: few, on: 2}\nsplit:"))
    plan = plan_study(study)
    assert isinstance(plan, Plan)
    few = next(arm for arm in plan.arms if arm.name == "few")
    assert len(few.hears(plan.cases, plan.split)) == 2 and plan.costs["few"].least.calls <= 20
    study.write_text(text.replace("split: {test: 0.4}", "  - {jury: lens-jury, on: test}\nsplit: {test: 0}"))
    with pytest.raises(VenireError, match="the split has none"):
        plan_study(study)


@pytest.mark.parametrize(("name", "cases"), [("004", 16), ("000", 16)])
def test_the_shipped_studies_print_every_table_they_name(tmp_path: Path, name: str, cases: int) -> None:
    copy_of(tmp_path, name, ids(name)[:cases])

    ended = venire("study", "study.yaml", "--quiet", "--resamples", "20", "--full", cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    first, _, _ = ended.stdout.partition("\nAdvice\n")
    assert len(first.splitlines()) <= 45
    report = json.loads((tmp_path / "study-run" / "report" / "report.json").read_text())
    wanted = next(
        line for line in (tmp_path / "study.yaml").read_text().splitlines() if line.startswith("tables:")
    )
    named = wanted.removeprefix("tables: [").rstrip("]").split(", ")
    assert [
        section for section in report["sections"] if section not in ("independence", "deliberation")
    ] == named
    for section in report["sections"].values():
        assert section["title"] in ended.stdout and section["tables"], section
    if name == "004":
        tables = report["sections"]["agreement"]["tables"]
        assert all(row["note"] for row in tables["attributes"] if row["icc3k"] is None or row["low"] is None)
        assert "nan" not in ended.stdout
        row = tables["overall"][0]
        assert row["note"] if row["low"] is None else row["low"] < row["icc3k"] < row["high"]
        assert (tmp_path / "study-run" / "tasks" / "probsum" / "record.sqlite").exists()
    else:
        jurors = {row["juror"] for row in report["sections"]["self_preference"]["tables"]["effects"]}
        assert jurors <= {"all jurors", "alder-9", "brook-9", "cairn-9"}
