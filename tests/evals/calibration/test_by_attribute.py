"""Calibration attribute by attribute: what is hurt is left alone, and attributes' means are no agreement."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from calibration_worlds import RUBRIC, jury_evidence
from command_line import venire

from venire.evals.audits.rescoring import against_panel
from venire.evals.calibration.calibrator import CrossValidation, cross_validate
from venire.evals.calibration.changes import changes
from venire.evals.calibration.labelled_scores import labelled_scores
from venire.evals.calibration.section import change_sentences, changes_table
from venire.evals.comparison.comparison import comparison_sections
from venire.evals.ratings.evidence import Evidence
from venire.evals.statistics.chance import concordance_statistic
from venire.evals.statistics.draws import Draws


def balanced_pair(seed: int, n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Two jurors who miss people's score by one in opposite directions: their mean is right, each alone is not."""
    rng = np.random.default_rng(seed)
    people = rng.integers(2, 5, n).astype(float)
    miss = rng.choice([-1.0, 1.0], n)
    return {"ana": people + miss, "ben": people - miss}, people


def helped_and_hurt(n: int = 80) -> Evidence:
    """Of `accurate` the jury is a point too harsh; of `risk` its verdict is people's, and calibrated jurors are not."""
    rng = np.random.default_rng(1)
    truth = rng.integers(3, 6, n).astype(float)
    harsh = {
        name: np.clip(truth - 2 + rng.choice([0.0, 1.0], n, p=[0.8, 0.2]), 1, 5) for name in ("ana", "ben")
    }
    risk, people_risk = balanced_pair(2, n)
    return jury_evidence(
        {"accurate": harsh, "risk": risk}, {"accurate": truth, "risk": people_risk}, rubric=RUBRIC
    )


def shifted_attributes(n: int = 150) -> Evidence:
    """Two attributes that people rate two points apart and the jury alike; within each it knows a little."""
    rng = np.random.default_rng(5)
    levels = {"accurate": 2.0, "thorough": 4.0}
    people = {name: level + rng.choice([-1.0, 0.0, 1.0], n) for name, level in levels.items()}
    votes = {
        name: {"ana": np.clip(np.rint(3 + 0.5 * (values - levels[name]) + rng.normal(0, 0.8, n)), 1, 5)}
        for name, values in people.items()
    }
    return jury_evidence(votes, people)


def crossed_arm(world: Evidence) -> CrossValidation:
    return cross_validate(labelled_scores(world, "jury"))


def of_arm(crossed: CrossValidation, measure: str) -> pd.DataFrame:
    table = changes_table(crossed, jurors=False)
    mine = table[(table["evaluator"] == "jury") & (table["measure"] == measure)]
    return mine.set_index("attribute")


def test_an_attribute_that_calibration_hurts_is_left_alone_and_the_other_is_not() -> None:
    crossed = crossed_arm(helped_and_hurt())

    assert set(crossed.left_alone) == {"risk"}
    assert crossed.left_alone["risk"].change.low > 0
    risk = crossed.scores[crossed.scores["attribute"] == "risk"]
    np.testing.assert_array_equal(risk["after"], risk["before"])
    cast = crossed.votes[crossed.votes["attribute"] == "risk"]
    np.testing.assert_array_equal(cast["after"], cast["value"])
    accurate = of_arm(crossed, "rmse").loc["accurate"]
    assert accurate["high"] < 0
    for calibrator in (crossed.calibrator, *crossed.by_fold):
        np.testing.assert_allclose(calibrator.curves_["ana", "risk"].predict([1, 2.5, 5]), [1, 2.5, 5])
        assert calibrator.curves_["ana", "accurate"].predict([2])[0] > 3
    quality = crossed.scores.pivot(index="case", columns="attribute", values="after")
    np.testing.assert_allclose(quality["quality"], 0.6 * quality["accurate"] + 0.4 * (6 - quality["risk"]))


def test_an_attribute_whose_error_grows_by_no_more_than_chance_is_calibrated_all_the_same() -> None:
    """A juror who is off by chance alone: out of fold a curve makes the error larger, though not for certain."""
    rng = np.random.default_rng(2)
    people = rng.integers(1, 6, 24).astype(float)
    votes = {"ana": np.clip(people + rng.choice([-1.0, 0.0, 0.0, 1.0], 24), 1, 5)}
    crossed = crossed_arm(jury_evidence({"accurate": votes}, {"accurate": people}))
    (error,) = changes(crossed.scores, measures=["rmse"])

    assert error.change.low < 0 < 0.1 < error.change.value, "the plant is not worth finding"
    assert not crossed.left_alone
    told, *_ = change_sentences(changes_table(crossed, jurors=False), crossed)
    assert told.startswith("Calibration is not shown to change jury's error on accurate")


@pytest.mark.parametrize(("told_low", "is_shut"), [(4.0, True), (5.0, False)])
def test_scores_and_people_depart_each_from_its_own_commonest_value(told_low: float, is_shut: bool) -> None:
    """Scores are mostly 4 and people's values 5; where people say 3, the score is one that occurs ten times or more."""
    score = np.repeat([4.0, 5.0, 3.0], [20, 10, 10])
    people = np.full(40, 5.0)
    people[np.flatnonzero(score == told_low)[:10]] = 3.0
    table = pd.DataFrame({"cluster": np.arange(40), "fold": 0, "attribute": "a", "before": score, "after": score, "people": people})  # fmt: skip
    (found,) = changes(table, measures=["kappa_quadratic"])

    for side in (found.before, found.after):
        assert ("the same case in only 0 of 40 cases" in side.note) == is_shut


def test_sentences_go_attribute_by_attribute() -> None:
    (section, *_) = comparison_sections(helped_and_hurt(), Draws(0, 200))
    nearer = [said for said in section.sentences if "brings jury nearer to people" in said]

    assert any("accurate (RMSE" in said for said in nearer)
    assert not any("risk" in said for said in nearer)
    assert any(
        "further from people on risk" in said and "So risk is not calibrated" in said
        for said in section.sentences
    )
    assert any("'risk' is not calibrated" in note for note in section.notes)


def test_a_jury_that_needs_nothing_at_all_is_left_alone_throughout() -> None:
    votes, people = balanced_pair(4, 60)
    (section, *_) = comparison_sections(
        jury_evidence({"accurate": votes}, {"accurate": people}), Draws(0, 200)
    )

    assert any("So accurate is not calibrated" in said for said in section.sentences)
    assert not any("brings" in said for said in section.sentences)
    assert section.tables["learning"].empty


@pytest.mark.parametrize("measure", ["spearman", "kappa_quadratic"])
def test_a_pooled_figure_is_of_agreement_within_attributes(measure: str) -> None:
    crossed = crossed_arm(shifted_attributes())
    found = of_arm(crossed, measure)
    apart = found.loc[["accurate", "thorough"]]

    for column in ("before", "after"):
        assert apart[column].min() - 0.02 <= found.loc["overall", column] <= apart[column].max() + 0.02
    assert apart["change"].min() - 0.02 <= found.loc["overall", "change"] <= apart["change"].max() + 0.02
    mixed = crossed.scores[["before", "after", "people"]].corr("spearman")["people"]
    assert mixed["after"] - mixed["before"] > 0.2, "the plant is not worth finding"


def test_a_second_panel_is_compared_within_attributes_too() -> None:
    world = shifted_attributes()
    rescored = world.people.assign(rater="second")
    found = against_panel(replace(world, rescored=rescored), "jury", crossed_arm(world).scores, Draws(0, 50))
    mine = found[(found["side"] == "after") & (found["measure"] == "spearman")].set_index("attribute")[
        "of_arm"
    ]

    assert mine["overall"] <= mine[["accurate", "thorough"]].max() + 0.02


def test_concordance_within_one_stratum_is_concordance() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(3, 1, 50), rng.normal(3, 1, 50)
    whole, ones = concordance_statistic(x, y), np.ones((1, 50))

    assert whole(ones) == pytest.approx(
        2 * np.cov(x, y, bias=True)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)
    )
    assert concordance_statistic(x, y, np.zeros(50, int))(ones) == pytest.approx(whole(ones))
    two = np.repeat([0, 1], 25)
    assert concordance_statistic(x + 9 * two, y + 9 * two, two)(ones) == pytest.approx(
        concordance_statistic(x, y, two)(ones)
    )


RUBRIC_FILE = """name: note
version: 1
scales:
  agree5: {level: ordinal, anchors: {1: a, 2: b, 3: c, 4: d, 5: e}}
attributes:
  - {name: accurate, question: Is it true?, scale: agree5}
  - {name: risk, question: Could it harm?, scale: agree5}
"""


def test_the_kept_calibration_leaves_it_alone_when_it_is_applied(tmp_path: Path) -> None:
    world = helped_and_hurt()
    votes = world.ballots[["case", "juror", "attribute", "value"]].astype({"value": int})
    votes.to_csv(tmp_path / "judgements.csv", index=False)
    world.people[["case", "rater", "attribute", "value"]].to_csv(tmp_path / "people.csv", index=False)
    cases = [{"id": name, "source": "A note.", "output": f"Text {name}."} for name in votes["case"].unique()]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (tmp_path / "rubric.yaml").write_text(RUBRIC_FILE)
    seats = [{"name": name, "model": f"recorded/judgements.csv#{name}"} for name in ("ana", "ben")]
    (tmp_path / "jury.yaml").write_text(
        json.dumps({"name": "pair", "protocol": "panel", "count": "mean", "seats": seats})
    )
    ran = venire(
        "run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "out", cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    made = venire(
        "calibrate", "out", "--human", "people.csv", "-o", "c.json", "--resamples", 100, cwd=tmp_path
    )
    assert made.returncode == 0, made.stderr
    assert "So risk is not calibrated" in " ".join(made.stdout.split())
    kept = json.loads((tmp_path / "c.json").read_text())["arms"]["pair"]
    assert kept["left_alone"] == ["risk"]
    for curve in kept["curves"]["risk"].values():
        assert curve["score"] == curve["people"]
    assert kept["curves"]["accurate"]["ana"]["score"] != kept["curves"]["accurate"]["ana"]["people"]

    applied = venire("calibrate", "c.json", "--apply", "out", "--json", cwd=tmp_path)
    document = json.loads(applied.stdout)["applied"]
    risk = {row["case"]: row["value"] for row in document["scores"] if row["attribute"] == "risk"}
    people = world.people[world.people["attribute"] == "risk"].set_index("case")["value"]
    assert risk == people.to_dict()
    assert (
        "pair: attributes that are not calibrated, and whose scores stay as the jury counted them: risk"
        in document["notes"]
    )
