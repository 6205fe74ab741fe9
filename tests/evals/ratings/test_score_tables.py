"""Everybody's scores side by side, as they were given and from bad to good, laid out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from audit_worlds import LIKERT, SECOND_BETTER, evidence, ratings, votes

from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.question import Question
from venire.evals.ratings.score_tables import CONSTANT, SECOND, TIE, lay_marks, lay_out, scores, with_marks
from venire.rubrics.scale import Scale

NAN = float("nan")
RISK = Question(LIKERT.scale, "low")
TONE = Question(Scale.model_validate({"level": "nominal", "anchors": {"warm": "", "cold": ""}}), "high")
QUESTIONS = {"safe": LIKERT, "risk": RISK, "tone": TONE}
GIVEN = evidence(
    QUESTIONS,
    arms=[ratings("one", [2.0, 4.0, 5.0]), ratings("one", [1.0, 2.0, 2.5], "risk"), ratings("jury", [1.0, 1.0, 3.0]), ratings("jury", ["warm", "cold", "warm"], "tone")],
    people=[ratings("Ana", [1.0, 5.0, 3.0]), ratings("Ben", [2.0, 5.0, 4.0]), ratings("Ana", [1.0, 3.0, 2.0], "risk"), ratings("Ben", [4.0, 3.0, NAN], "risk").dropna(), ratings("Ana", ["warm", "cold", "cold"], "tone"), ratings("Ana", [1.0, 1.0, 1.0], "other")],
    groups=["g", "h", "g"],
)  # fmt: skip
WORLD = replace(GIVEN, kinds={"one": "single judge", "jury": "jury"})


def test_overall_turns_what_is_better_low_of_arms_people_the_reference_and_the_constant() -> None:
    """People's medians: safe 1.5, 5, 3.5; risk 2.5, 3, 2. Turned, 6 minus it; words are pooled with nothing."""
    sheet = lay_out(WORLD)

    assert (sheet.arms, sheet.people, sheet.floor, sheet.grouped) == (("jury", "one"), ("Ana", "Ben"), CONSTANT, True)  # fmt: skip
    assert set(sheet.rows["attribute"]) == {"safe", "risk", "tone"}
    rows = sheet.of(OVERALL).sort_values(["attribute", "case"], ascending=[False, True])
    wanted = {"one": [2, 4, 5, 5, 4, 3.5], "jury": [1, 1, 3, NAN, NAN, NAN], "Ana": [1, 5, 3, 5, 3, 4], "Ben": [2, 5, 4, 2, 3, NAN], CONSTANT: [5] * 6}  # fmt: skip
    for name, values in wanted.items():
        assert rows[name].tolist() == pytest.approx(values, nan_ok=True), name
    assert rows["cluster"].tolist() == ["group g", "group h", "group g"] * 2
    for without, values in {None: [1.5, 5, 3.5, 3.5, 3, 4], "Ana": [2, 5, 4, 2, 3, NAN]}.items():
        assert sheet.reference(OVERALL, without=without).loc[rows.index].tolist() == pytest.approx(values, nan_ok=True)  # fmt: skip
    risk = sheet.of("risk").set_index("case")
    assert risk["one"].tolist() == [1, 2, 2.5] and risk[CONSTANT].tolist() == [1, 1, 1]
    assert sorted(sheet.reference("risk")) == [2, 2.5, 3] and sorted(sheet.reference("tone")) == ["cold", "cold", "warm"]  # fmt: skip


def test_scores_are_numbers_of_arms_and_the_constant_and_words_have_none() -> None:
    found = scores(lay_out(WORLD), OVERALL)
    assert found is not None and scores(lay_out(WORLD), "tone") is None

    order = found.rows["attribute"] + found.rows["case"]
    assert dict(zip(order, found.people, strict=True)) == {"safec0": 1.5, "safec1": 5, "safec2": 3.5, "riskc0": 3.5, "riskc1": 3, "riskc2": 4}  # fmt: skip
    assert set(found.by_rater) == {"jury", "one", CONSTANT}
    assert len(found.pairs("one").cases) == 6 and len(found.pairs("jury").cases) == 3
    assert found.pairs("jury").clusters == 2
    words = evidence({"tone": TONE}, arms=[ratings("a", ["warm"], "tone")], people=[ratings("Ana", ["warm"], "tone")])  # fmt: skip
    assert scores(lay_out(words), OVERALL) is None


def test_the_constant_of_a_pair_is_a_tie_and_that_of_words_nothing() -> None:
    pair = replace(evidence({"safe": SECOND_BETTER}, arms=[ratings("a", [1.0])], people=[ratings("Ana", [0.0])]), questions={"safe": SECOND_BETTER._replace(pair=True)})  # fmt: skip
    sheet = lay_out(pair)
    assert sheet.floor == TIE and sheet.rows[TIE].tolist() == [0] and not sheet.grouped
    tones = lay_out(WORLD).of("tone")
    assert tones[CONSTANT].isna().all()


def test_marks_run_from_the_bad_end_to_the_good_one_and_a_seats_repeats_are_one_juror() -> None:
    """On the risk 1 is good: a mark of 1. A jury of one seat has no jurors; the second panel is one evaluator, its median."""
    cast = [
        votes("jury", "x", [1.0, 2.0]), votes("jury", "x", [3.0, 2.0], repeat=2), votes("jury", "x", [4.0], repeat=3), votes("jury", "y", [5.0, 1.0], attribute="risk"),
        votes("one", "x", [1.0, 1.0]), votes("one", "x", [1.0, 1.0], repeat=2),
    ]  # fmt: skip
    second = pd.concat([ratings("Cy", [1.0, 5.0], "risk"), ratings("Di", [3.0, 5.0], "risk")])
    marks = lay_marks(replace(WORLD, ballots=pd.concat(cast), rescored=second))

    table = {name: marks.table[name].unstack("case") for name in marks.table}
    assert table["one"].loc["risk"].tolist() == [1, 0.75, 0.625] and table["Ana"].loc["safe"].tolist() == [0, 1, 0.5]  # fmt: skip
    assert table["jury: x"].loc["safe"].tolist()[:2] == [0.5, 0.25]
    assert table["jury: y"].loc["risk"].tolist()[:2] == [0, 1]
    assert table[SECOND].loc["risk"].tolist()[:2] == [0.75, 0] and not table[SECOND].loc["safe"].notna().any()
    assert (marks.jurors, marks.people, set(marks.questions)) == ({"jury": ("jury: x", "jury: y")}, ("Ana", "Ben"), {"safe", "risk"})  # fmt: skip
    assert marks.kinds == {"one": "single judge", "jury": "jury", "jury: x": "juror", "jury: y": "juror", SECOND: "second panel", "Ana": "person", "Ben": "person"}  # fmt: skip
    assert {name: marks.answers[name] for name in ("one", "jury", "jury: x", "jury: y", SECOND)} == {"one": 2, "jury": 1.5, "jury: x": 2.5, "jury: y": 1, SECOND: 2}  # fmt: skip
    assert marks.clusters.to_dict() == {"c0": "group g", "c1": "group h", "c2": "group g"} and marks.grouped
    everyone, others = (marks.reference(without=without).unstack("case").loc["risk"] for without in ((), ("Ana",)))  # fmt: skip
    assert everyone.tolist() == [0.625, 0.5, 0.75] and others.tolist()[:2] == [0.25, 0.5]
    assert np.isnan(others["c2"]) and marks.attributes() == ["safe", "risk"]
    assert "because their values have no order: tone" in marks.notes[0]
    off = with_marks(ratings("a", [0.0, 6.0, "so"], "risk"), {"risk": RISK})
    assert off["mark"].tolist() == pytest.approx([1, 0, NAN], nan_ok=True)
