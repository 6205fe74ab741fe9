"""Calibration of a jury: planted habits are removed out of fold, nothing leaks, and what cannot be done is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from calibration_worlds import KIND, LIKERT, RUBRIC, harsh_jury, jury_evidence
from shared_data import shared_file

from venire.evals.calibration.calibrator import (
    METHODS,
    CrossValidation,
    cross_validate,
    enough,
    learning_curve,
)
from venire.evals.calibration.changes import changes
from venire.evals.calibration.curves import Curve
from venire.evals.calibration.labelled_scores import TooFewLabels, composites, labelled_scores, plain_scores
from venire.evals.calibration.section import calibration_section, changes_table, direct_sentence
from venire.evals.comparison.comparison import comparison_sections as sections
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.folds import fold_numbers
from venire.evals.ratings.question import Question
from venire.evals.statistics.chance import cohen_kappa
from venire.evals.statistics.correlation import spearman
from venire.evals.statistics.draws import Draws
from venire.evals.statistics.estimate import Estimate
from venire.evals.statistics.matrix import FloatArray
from venire.rubrics.scale import Scale


def rmse(first: object, second: object) -> float:
    return float(np.sqrt(np.mean((np.asarray(first) - np.asarray(second)) ** 2)))


def expected(key: np.ndarray, people: np.ndarray) -> np.ndarray:
    _, code = np.unique(key, return_inverse=True)
    return (np.bincount(code, weights=people) / np.bincount(code))[code]


# What is learned from


def test_what_can_be_learned_from_is_the_arms_own_verdicts_and_votes_of_labelled_cases() -> None:
    """Of twelve cases ten have a label, and the first two are one group; `ana` was asked twice and `ben` said nothing of c0."""
    ana, ben = np.tile([1.0, 2.0, 4.0], 4), np.array([np.nan, *[3.0] * 11])
    people = {"accurate": np.array([2.0] * 10 + [np.nan] * 2), "risk": np.array([5.0] * 9 + [np.nan] * 3)}
    votes = {"accurate": {"ana": ana, "ana#2": ana + 1, "ben": ben}, "risk": {"ana": ana, "ben": ben}}
    groups = ["g", "g", *(f"g{n}" for n in range(10))]
    world = jury_evidence(votes, people, groups=groups, rubric=RUBRIC)
    doubled = replace(world, arms=pd.concat([world.arms.assign(rater="other", value=5.0), world.arms]), ballots=pd.concat([world.ballots.assign(arm="other", value=5.0), world.ballots]))  # fmt: skip
    strange = doubled.ballots.assign(value="illegible", case="c4").iloc[-1:].assign(attribute="accurate")
    doubled = replace(doubled, ballots=pd.concat([doubled.ballots.astype({"value": object}), strange]))
    found = labelled_scores(doubled, "jury")

    assert list(found.questions) == ["accurate"] and found.ends == {"accurate": (1.0, 5.0)}
    assert any("'risk' of 9 cases" in note for note in found.notes)
    before = found.verdicts.set_index("case")["before"]
    assert before.to_dict() == {"c0": 1.5, **{f"c{n}": (2 * ana[n] + 4) / 3 for n in range(1, 10)}}
    cluster = found.verdicts.set_index("case")["cluster"]
    assert cluster["c0"] == cluster["c1"] and cluster.nunique() == 9
    cast = found.votes.groupby(["case", "juror"])["value"].agg(list).to_dict()
    assert (cast["c0", "ana"], cast["c2", "ana"], cast["c2", "ben"]) == ([1, 2], [4, 5], [3])
    assert (
        cast["c4", "ben"] == [3]
        and ("c0", "ben") not in cast
        and len(cast) == 19
        and set(found.votes["people"]) == {2.0}
    )
    direct = labelled_scores(doubled, "jury", direct=True)
    assert direct.direct and set(direct.votes["juror"]) == {"jury"} and not found.direct
    assert dict(zip(direct.votes["case"], direct.votes["value"], strict=True)) == before.to_dict()

    hung = replace(world, arms=world.arms[world.arms["case"] != "c3"])
    with pytest.raises(TooFewLabels, match="'accurate' of 9 cases"):
        labelled_scores(hung, "jury")
    with pytest.raises(TooFewLabels, match="10 cases in two groups"):
        labelled_scores(jury_evidence(votes, people, groups=["g"] * 12), "jury")


def test_a_composite_is_taken_of_each_side_by_the_rubric_and_only_where_every_part_is_known() -> None:
    """Quality is 0.6 times accurate and 0.4 times 6 less risk; people did not rate the risk of c1."""
    votes = {"accurate": {"ana": np.array([5.0, 3.0])}, "risk": {"ana": np.array([2.0, 1.0])}}
    people = {"accurate": np.array([4.0, 3.0]), "risk": np.array([1.0, np.nan])}
    world = jury_evidence(votes, people, rubric=RUBRIC)
    world = replace(world, arms=pd.concat([world.arms.assign(rater="other", value=1.0), world.arms]))
    found = plain_scores(world, "jury").drop(columns="after")
    assert found[found["attribute"].isin(list(votes))]["before"].tolist() == [5, 3, 2]
    quality = composites(found.assign(after=found["before"]).iloc[:3], RUBRIC)
    assert quality["case"].tolist() == ["c0"] and quality["before"].item() == pytest.approx(0.6 * 5 + 0.4 * 4)
    assert quality["people"].item() == pytest.approx(0.6 * 4 + 0.4 * 5)


# What is planted is removed


@pytest.mark.parametrize("method", METHODS)
def test_planted_offset_and_compression_are_removed_to_within_five_percent_of_what_no_curve_removes(
    method: str,
) -> None:
    votes, people = harsh_jury(0, 200_000)
    truths = [expected(values, people) for values in votes.values()]
    floor = rmse(np.mean(truths, axis=0), people)
    before, after, offsets = [], [], []
    for seed in range(1, 6):
        votes, people = harsh_jury(seed, 250)
        done = cross_validate(
            labelled_scores(jury_evidence({"accurate": votes}, {"accurate": people}), "jury"),
            method=method,
            seed=seed,
        )
        before.append(rmse(done.scores["before"], done.scores["people"]))
        after.append(rmse(done.scores["after"], done.scores["people"]))
        offsets.append(float((done.scores["after"] - done.scores["people"]).mean()))

    assert np.mean(before) > 1.15 * floor
    assert np.mean(after) < 1.05 * floor
    assert abs(np.mean(offsets)) < 0.02


def test_of_scores_that_need_no_calibration_an_improvement_is_claimed_no_more_often_than_by_chance() -> None:
    improved, level = 0, 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        score = rng.integers(2, 5, 100).astype(float)
        people = score + rng.choice([-1.0, 0.0, 1.0], 100, p=[0.3, 0.4, 0.3])
        done = cross_validate(
            labelled_scores(jury_evidence({"accurate": {"ana": score}}, {"accurate": people}), "jury"),
            seed=seed,
        )
        found = {each.measure: each for each in changes(done.scores, measures=("offset", "rmse"))}
        improved += found["rmse"].change.high < 0
        level += found["offset"].before.low > 0 or found["offset"].before.high < 0

    assert improved <= 2
    assert level <= 3


# Nothing leaks


def sealed_groups() -> Evidence:
    """Each group has a score of its own and a label of its own that the score says nothing about.

    Who has seen another case of the group knows the label; who has not can only guess at the mean.
    """
    rng = np.random.default_rng(11)
    group = np.repeat(np.arange(60), 5)
    score = np.linspace(1, 5, 60)[rng.permutation(60)][group]
    label = np.where(rng.permutation(60) % 2, 4.0, 2.0)[group]
    fine = Question(
        LIKERT.model_copy(update={"level": "interval", "anchors": {}, "minimum": 1, "maximum": 5}), "high"
    )
    return jury_evidence(
        {"accurate": {"ana": score}}, {"accurate": label}, groups=[f"g{g}" for g in group], questions={"accurate": fine}
    )  # fmt: skip


def ignoring_groups(groups: list[str], folds: int, rng: np.random.Generator) -> np.ndarray:
    return fold_numbers([str(number) for number in range(len(groups))], folds, rng)


class Eager(Curve):
    """A juror's curve that remembers the label of every score it saw."""

    def _points(self, scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        seen = np.unique(scores)
        return seen, np.array([labels[scores == x].mean() for x in seen])

    def predict(self, scores: object) -> np.ndarray:
        known = dict(zip(self.x_.tolist(), self.y_.tolist(), strict=True))
        return np.array([known.get(float(x), 3.0) for x in np.asarray(scores, float)])


def test_a_case_is_never_scored_by_curves_that_saw_it_or_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """The labels of a group can be known from its other cases alone; whoever predicts them has seen one."""
    monkeypatch.setitem(METHODS, "eager", Eager)  # type: ignore[arg-type]
    sealed = labelled_scores(sealed_groups(), "jury")
    honest = cross_validate(sealed, method="eager").scores
    leaking = cross_validate(sealed, method="eager", split=ignoring_groups).scores

    assert rmse(honest["after"], honest["people"]) == pytest.approx(1.0)
    assert rmse(leaking["after"], leaking["people"]) < 0.1, "the plant is not worth finding"


def test_no_fold_learns_from_a_group_it_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    from venire.evals.calibration.calibrator import JuryCalibrator

    seen: list[tuple[set[str], set[str]]] = []
    learned: dict[int, set[str]] = {}
    fit, predict = JuryCalibrator.fit, JuryCalibrator.predict

    def noting_fit(self: JuryCalibrator, votes: pd.DataFrame, labels: object) -> JuryCalibrator:
        learned[id(self)] = set(votes["cluster"])
        return fit(self, votes, labels)

    def noting_predict(self: JuryCalibrator, votes: pd.DataFrame) -> np.ndarray:
        seen.append((learned[id(self)], set(votes["cluster"])))
        return predict(self, votes)

    monkeypatch.setattr(JuryCalibrator, "fit", noting_fit)
    monkeypatch.setattr(JuryCalibrator, "predict", noting_predict)
    cross_validate(labelled_scores(sealed_groups(), "jury"))

    assert len(seen) == 5
    assert not any(taught & asked for taught, asked in seen)


def test_the_learning_curve_learns_from_outside_the_fold_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "eager", Eager)  # type: ignore[arg-type]
    done = cross_validate(labelled_scores(sealed_groups(), "jury"), method="eager")

    assert (learning_curve(done, seed=1, repeats=2)["rmse"] > 0.99).all()


# What the numbers are


def jury_of_three(seed: int = 1, n: int = 120, **more: object) -> CrossValidation:
    votes, people = harsh_jury(seed, n)
    return cross_validate(
        labelled_scores(jury_evidence({"accurate": votes}, {"accurate": people}, **more), "jury")
    )  # type: ignore[arg-type]


def test_the_jurys_calibrated_score_is_the_mean_of_its_calibrated_jurors() -> None:
    done = jury_of_three()
    mean = done.votes.groupby("case")["after"].mean()

    np.testing.assert_allclose(done.scores["after"], mean[list(done.scores["case"])])
    assert done.scores["after"].between(1, 5).all()


def test_a_juror_with_its_jurys_name_is_told_from_the_verdict() -> None:
    votes, people = harsh_jury(0, 40)
    evidence = jury_evidence({"accurate": votes}, {"accurate": people}, arm="ana")
    table = changes_table(cross_validate(labelled_scores(evidence, "ana")), jurors=True)

    assert set(table["evaluator"]) == {"ana", "ana (juror)", "ben", "cy"}
    assert not table.duplicated(["evaluator", "attribute", "measure"]).any()


def test_before_is_what_compare_measures() -> None:
    done = jury_of_three(groups=[f"g{number // 3}" for number in range(120)])
    one = replace(done, scores=done.scores.assign(fold=0)).scores
    found = {each.measure: each.before for each in changes(one)}
    sides = {"arm": one["before"], "people": one["people"]}
    long = pd.concat([pd.DataFrame({"case": one["case"], "rater": k, "value": v}) for k, v in sides.items()])

    def theirs(function: object, **options: object) -> Estimate:
        return function(long, raters=("arm", "people"), **options)  # type: ignore[operator]

    assert found["kappa_quadratic"].value == pytest.approx(theirs(cohen_kappa, weighting="quadratic").value)
    assert found["spearman"].value == pytest.approx(theirs(spearman).value)
    assert found["rmse"].value == pytest.approx(rmse(one["before"], one["people"]))


def test_a_curve_that_rises_leaves_the_rank_correlation_as_it_was() -> None:
    """Equal scores of different folds get different curves; ranks within folds do not notice."""
    votes, people = harsh_jury(5, 200)
    world = jury_evidence({"accurate": {"ana": votes["ana"]}}, {"accurate": people})
    done = cross_validate(labelled_scores(world, "jury"), method="ordinal")
    found = {each.measure: each for each in changes(done.scores)}

    assert found["spearman"].change.value == pytest.approx(0, abs=1e-12)


def test_composites_are_recomputed_from_calibrated_scores_with_risks_reversed() -> None:
    votes, people = harsh_jury(3, 80)
    risk = {name: 6 - values for name, values in votes.items()}
    world = jury_evidence(
        {"accurate": votes, "risk": risk}, {"accurate": people, "risk": 6 - people}, rubric=RUBRIC
    )
    done = cross_validate(labelled_scores(world, "jury"))
    by = done.scores.pivot(index="case", columns="attribute", values="after")

    assert done.composites == ("quality",)
    np.testing.assert_allclose(by["quality"], 0.6 * by["accurate"] + 0.4 * (6 - by["risk"]))


def test_an_abstention_is_never_filled_in() -> None:
    votes, people = harsh_jury(4, 90)
    votes["ben"][::3] = np.nan
    done = cross_validate(labelled_scores(jury_evidence({"accurate": votes}, {"accurate": people}), "jury"))

    assert len(done.votes) == 90 * 3 - 30
    first = done.votes[done.votes["case"] == "c0"]
    assert list(first["juror"]) == ["ana", "cy"]
    assert done.scores.set_index("case").loc["c0", "after"] == pytest.approx(first["after"].mean())


def test_a_hung_case_stays_without_a_score() -> None:
    votes, people = harsh_jury(4, 60)
    world = jury_evidence({"accurate": votes}, {"accurate": people})
    world = replace(world, arms=world.arms[world.arms["case"] != "c7"])
    done = cross_validate(labelled_scores(world, "jury"))

    assert "c7" not in set(done.votes["case"]) | set(done.scores["case"])


def test_repeats_of_a_judge_share_one_curve() -> None:
    votes, people = harsh_jury(6, 60)
    repeats = {f"judge#{number}": values for number, values in enumerate(votes.values(), 1)}
    done = cross_validate(labelled_scores(jury_evidence({"accurate": repeats}, {"accurate": people}), "jury"))

    assert set(done.calibrator.curves_) == {("judge", "accurate")}
    assert done.calibrator.cases_["judge", "accurate"] == 60


def test_more_labels_lower_the_error_and_enough_is_said() -> None:
    done = jury_of_three(2, 200)
    curve = learning_curve(done, seed=0, repeats=6)

    assert curve["rmse"].iloc[-1] == pytest.approx(rmse(done.scores["after"], done.scores["people"]))
    assert curve["rmse"].iloc[0] > curve["rmse"].iloc[-1]
    assert 10 < (enough(curve) or 0) < 160


def test_a_learning_curve_ends_at_the_cases_that_every_fold_has_outside_it() -> None:
    """Of 61 cases one fold holds thirteen and the others twelve."""
    assert learning_curve(jury_of_three(2, 61), seed=0, repeats=2)["cases"].iloc[-1] == 48


def test_in_the_learning_curve_a_juror_counts_once_however_often_it_was_asked() -> None:
    votes, people = harsh_jury(6, 60)
    first, second, third = votes.values()
    cast = {"judge#1": first, "judge#2": second, "ana": third}
    done = cross_validate(labelled_scores(jury_evidence({"accurate": cast}, {"accurate": people}), "jury"))

    error = learning_curve(done, seed=0, repeats=2)["rmse"].iloc[-1]
    assert error == pytest.approx(rmse(done.scores["after"], done.scores["people"]))


def test_in_the_learning_curve_an_error_counts_by_the_length_of_its_own_scale() -> None:
    """On 1 to 9 everybody gives twice as many points less one: of two scales that say the same, the first's error stays."""
    votes, people = harsh_jury(6, 60)
    nine = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 10)}})
    asked = {"accurate": Question(LIKERT, "high"), "fine": Question(nine, "high")}
    cast = {"accurate": votes, "fine": {name: 2 * given - 1 for name, given in votes.items()}}
    seen = {"accurate": people, "fine": 2 * people - 1}
    one, two = (
        learning_curve(cross_validate(labelled_scores(jury_evidence({name: cast[name] for name in names}, {name: seen[name] for name in names}, questions={name: asked[name] for name in names}), "jury")), seed=0, repeats=2)["rmse"].tolist()
        for names in (["accurate"], ["accurate", "fine"])
    )  # fmt: skip
    assert two == pytest.approx(one)


@pytest.mark.parametrize(
    ("errors", "cases"),
    [((1.5, 1.02, 1.01, 1.0), 15), ((1.5, 1.01, 1.3, 1.0), None), ((1.5, 1.3, 1.03, 1.0), None), ((0.9, 0.95, 1.0, 1.0), 10)],
)  # fmt: skip
def test_labels_are_enough_from_where_the_error_stays_near_that_of_all(errors: tuple[float, ...], cases: int | None) -> None:  # fmt: skip
    assert enough(pd.DataFrame({"cases": [10, 15, 22, 30], "rmse": errors})) == cases


def test_the_same_seed_gives_the_same_numbers() -> None:
    votes, people = harsh_jury(1, 60)
    world = jury_evidence({"accurate": votes}, {"accurate": people})
    first, second = (sections(world, Draws(3, 50)) for _ in range(2))

    for one, other in zip(first, second, strict=True):
        assert one.sentences == other.sentences
        for name, table in one.tables.items():
            pd.testing.assert_frame_equal(table, other.tables[name])


# What cannot be done is said


def nine_labels() -> Evidence:
    votes, people = harsh_jury(1, 9)
    return jury_evidence({"accurate": votes}, {"accurate": people})


def no_overlap() -> Evidence:
    votes, people = harsh_jury(1, 40)
    world = jury_evidence({"accurate": votes}, {"accurate": people})
    return replace(world, people=world.people.assign(case="elsewhere-" + world.people["case"]))


def one_group() -> Evidence:
    votes, people = harsh_jury(1, 40)
    return jury_evidence({"accurate": votes}, {"accurate": people}, groups=["ward"] * 40)


@pytest.mark.parametrize(
    ("world", "told"),
    [
        (nine_labels, "of 9 cases; 10 cases"),
        (no_overlap, "shares no scored case"),
        (one_group, "in two groups"),
    ],
)
def test_too_little_to_learn_from_is_one_clear_sentence(world: object, told: str) -> None:
    given = world()  # type: ignore[operator]
    with pytest.raises(TooFewLabels, match=told):
        labelled_scores(given, "jury")
    (section, *_) = sections(given, Draws(0, 20))

    assert told in section.sentences[0] and not section.figures


def test_attributes_without_order_or_labels_are_left_out_with_a_note() -> None:
    votes, people = harsh_jury(1, 40)
    words = np.array(["red", "blue"] * 20, dtype=object)
    world = jury_evidence(
        {"accurate": votes, "colour": {"ana": words}, "thorough": votes},
        {"accurate": people, "colour": words},
        questions={"accurate": Question(LIKERT, "high"), "colour": Question(KIND, "high"), "thorough": Question(LIKERT, "high")},
    )  # fmt: skip
    (section, *_) = sections(world, Draws(0, 20))

    assert set(section.tables["changes"]["attribute"]) == {"overall", "accurate"}
    assert any("'colour' is not calibrated, because its values are words" in note for note in section.notes)
    assert any(
        "'thorough' is not calibrated, because people did not rate it" in note for note in section.notes
    )


def test_a_juror_with_one_score_a_late_one_and_a_backward_one_are_noted() -> None:
    votes, people = harsh_jury(1, 60)
    votes["ana"] = np.full(60, 2.0)
    votes["ben"][6:] = np.nan
    votes["cy"] = 6 - people
    (section, *_) = sections(jury_evidence({"accurate": votes}, {"accurate": people}), Draws(0, 20))

    assert any("ana gave every case the same score" in note for note in section.notes)
    assert any("ben is left out" in note and "it has 6 labelled cases" in note for note in section.notes)
    assert any("cy's scores of 'accurate' do not rise" in note for note in section.notes)
    assert set(section.tables["curves"]["juror"]) == {"ana", "cy"}


def test_fewer_groups_than_folds_make_fewer_folds() -> None:
    votes, people = harsh_jury(1, 30)
    world = jury_evidence(
        {"accurate": votes}, {"accurate": people}, groups=[f"ward {n % 3}" for n in range(30)]
    )
    done = cross_validate(labelled_scores(world, "jury"))

    assert done.folds == 3
    assert any("3 folds are used instead of 5" in note for note in done.notes)


def test_an_arm_whose_votes_are_not_known_is_calibrated_directly() -> None:
    votes, people = harsh_jury(1, 40)
    world = replace(jury_evidence({"accurate": votes}, {"accurate": people}), ballots=pd.DataFrame())
    (section, *_) = sections(world, Draws(0, 20))

    assert any("verdicts were calibrated instead" in note for note in section.notes)


@pytest.mark.parametrize("method", METHODS)
def test_verdicts_are_calibrated_directly_by_the_method_that_jurors_are(method: str) -> None:
    votes, people = harsh_jury(1, 60)
    labelled = labelled_scores(jury_evidence({"accurate": votes}, {"accurate": people}), "jury")
    done = cross_validate(labelled, method=method, folds=4, seed=3)
    alone = cross_validate(labelled.directly(), method=method, folds=4, seed=3).scores
    section = calibration_section({"jury": done}, [], Draws(3, 20))
    direct = section.tables["direct"]
    rows = direct.set_index("measure")

    said = [words for words in section.sentences if "verdict itself" in words]
    assert said == [direct_sentence("jury", row) for row in direct.to_dict("records") if row["measure"] == "rmse"]  # fmt: skip
    assert rows.loc["rmse", "directly"] == pytest.approx(rmse(alone["after"], alone["people"]))
    assert rows.loc["rmse", "by_juror"] == pytest.approx(rmse(done.scores["after"], done.scores["people"]))


@pytest.mark.parametrize(
    ("change", "p", "said"),
    [(-0.2, 0.01, "brings it nearer to people than"), (0.2, 0.01, "leaves it further from people than"), (0.2, 0.06, "is not shown to make a difference"), (0.2, np.nan, "It cannot be tested")],
)  # fmt: skip
def test_which_way_of_calibrating_is_nearer_is_claimed_where_p_is_small(change: float, p: float, said: str) -> None:  # fmt: skip
    row = {"change": change, "low": change - 0.1, "high": change + 0.1, "p": p, "n": 40, "note": "few"}
    sentence = direct_sentence("jury", row)
    assert said in sentence and (np.isnan(p) or f"RMSE {change:+.2f}, 95% interval {change - 0.1:+.2f} to {change + 0.1:+.2f}, n = 40" in sentence)  # fmt: skip


# People's own labels


def test_a_clinician_calibrated_to_the_agreed_label() -> None:
    """Clinician B overlooks harm: half a point is taken off the error, and no rank is changed."""
    rows = pd.read_csv(shared_file("wer-is-unaware/primock_data_final_outcomes.csv"))
    scale = LIKERT.model_copy(update={"anchors": {0: "none", 1: "minimal", 2: "significant"}})
    world = jury_evidence(
        {"harm": {"b": rows["clinician_b"].to_numpy(float)}},
        {"harm": rows["final_outcome"].to_numpy(float)},
        groups=rows["call_id"].tolist(),
        questions={"harm": Question(scale, "low")},
    )
    done = cross_validate(labelled_scores(world, "jury"))
    found = {each.measure: each for each in changes(done.scores)}

    assert len(done.scores) == 175 and done.votes["cluster"].nunique() == 21
    assert found["offset"].before.value == pytest.approx(-0.171, abs=5e-4)
    assert found["rmse"].before.value == pytest.approx(0.535, abs=5e-4)
    assert abs(found["offset"].after.value) < 0.03
    assert 0.47 < found["rmse"].after.value < 0.52
    assert found["rmse"].change.high < 0
