"""`venire calibrate`: what is kept can be read and applied, and what does not fit is refused."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from calibration_worlds import RUBRIC
from checkout import ROOT
from command_line import venire
from written_transcripts import written_run

from venire import Case, Store, VenireError
from venire.evals.calibration import Calibration, apply, calibrate, load_calibration
from venire.evals.calibration.labelled_scores import TooFewLabels
from venire.evals.ratings.evidence import gather
from venire.evals.ratings.people import load_ratings

LABELS = ROOT / "evals/demo/labels.csv"


@pytest.fixture(scope="module")
def run(lens_run: Path) -> Path:
    return lens_run


@pytest.fixture(scope="module")
def calibration(run: Path) -> Calibration:
    return calibrate(run, LABELS, resamples=20)


def test_a_calibration_is_kept_as_readable_json_with_where_it_comes_from(
    calibration: Calibration, tmp_path: Path
) -> None:
    found = calibration
    found.save(tmp_path / "c.json")
    text = (tmp_path / "c.json").read_text()
    kept = json.loads(text)

    assert load_calibration(tmp_path / "c.json") == found.saved
    assert kept["made"]["method"] == "isotonic" and kept["made"]["folds"] == 5
    assert len(kept["made"]["ratings_sha256"]) == 64 and str(LABELS) not in text
    arm = kept["arms"]["lens-jury"]
    assert arm["rubric"]["name"] == "clinical-note" and arm["labelled_cases"] == 24
    assert arm["curves"]["accurate"]["support"]["cases"] == 24
    assert all(line.count("[") == line.count("]") for line in text.splitlines() if '"score"' in line)


def test_applied_scores_are_the_curves_at_the_jurors_votes(run: Path, calibration: Calibration) -> None:
    found = calibration
    applied = found.apply(run)
    store = Store.read(run)
    try:
        votes = gather(store, load_ratings(LABELS)).ballots
    finally:
        store.release()
    mine = votes[
        (votes["arm"] == "lens-jury") & (votes["case"] == "demo-02") & (votes["attribute"] == "accurate")
    ]
    curves = found.crossed["lens-jury"].calibrator.curves_
    by_hand = np.mean(
        [curves[row["seat"], "accurate"].predict([row["value"]])[0] for row in mine.to_dict("records")]
    )
    scores = applied.scores.set_index(["arm", "case", "attribute"])["value"]

    assert scores["lens-jury", "demo-02", "accurate"] == pytest.approx(by_hand, abs=1e-5)
    assert all("stay as the jury counted" in note for note in applied.notes)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"rubric": {"version": 9}}, "clinical-note version 1, but the calibration was made for clinical-note version 9"),
        ({"rubric": {"hash": "0"}}, "with a different text"),
        ({"protocol": "debate"}, "the protocol is panel, but the calibration was made for debate"),
        ({"seats": {"support": {"hash": "0", "model": "openai/other"}}}, "the seat 'support' is lens/support"),
        ({"seats": {"support": {"hash": "0"}}}, "with other settings"),
        ({"seats": {"support": {"persona": "skeptic"}}}, "as skeptic"),
        ({"orchestrator": "openai/other"}, "the orchestrator is .*, but the calibration was made for openai/other"),
    ],
)  # fmt: skip
def test_a_calibration_of_something_else_is_refused(
    run: Path, calibration: Calibration, change: dict[str, object], told: str
) -> None:
    saved = calibration.saved
    arm = saved.arms["lens-jury"].model_dump()
    for key, value in change.items():
        arm[key] = _merged(arm[key], value) if isinstance(value, dict) else value
    other = type(saved).model_validate({**saved.model_dump(), "arms": {"lens-jury": arm}})

    with pytest.raises(VenireError, match=told):
        apply(other, run)


def _merged(kept: dict[str, object], new: dict[str, object]) -> dict[str, object]:
    return kept | {k: _merged(kept[k], v) if isinstance(v, dict) else v for k, v in new.items()}  # type: ignore[arg-type]


def test_what_was_left_alone_is_the_verdict_and_not_the_mean_of_the_jurors(
    run: Path, calibration: Calibration
) -> None:
    saved = calibration.saved
    arm = saved.arms["lens-jury"].model_dump()
    raised = {
        juror: curve | {"people": [5.0] * len(curve["people"])}
        for juror, curve in arm["curves"]["accurate"].items()
    }
    arm["curves"]["accurate"] = raised
    scores = {}
    for alone in ((), ("accurate",)):
        arm["left_alone"] = alone
        other = type(saved).model_validate({**saved.model_dump(), "arms": {"lens-jury": arm}})
        scores[alone] = apply(other, run).scores.set_index(["case", "attribute"])["value"]
    store = Store.read(run)
    try:
        verdicts = gather(store, load_ratings(LABELS)).arms
    finally:
        store.release()
    of_jury = (
        verdicts[verdicts["rater"] == "lens-jury"].set_index(["case", "attribute"])["value"].astype(float)
    )
    mine = of_jury.xs("accurate", level="attribute").sort_index()

    assert set(scores[()].xs("accurate", level="attribute")) == {5.0}
    assert scores["accurate",].xs("accurate", level="attribute").sort_index().to_dict() == pytest.approx(
        mine.to_dict()
    )


def test_what_is_hung_has_no_calibrated_score_whoever_voted(tmp_path: Path) -> None:
    """On the last case one juror of two voted, and on the one before it one alone on a part of the composite."""
    rng = np.random.default_rng(0)
    cases = [Case(id=f"c{number}", output="x") for number in range(16)]
    votes = {
        case.id: {
            seat: {name: int(value) for name, value in zip(RUBRIC.names, rng.integers(1, 6, 2), strict=True)}
            for seat in ("x", "y")
        }
        for case in cases
    }
    del votes["c14"]["y"]["risk"]
    votes["c15"]["y"] = {}
    run = written_run(tmp_path / "run", RUBRIC, cases, {"jury": votes}, quorum=2)
    rows = [(case.id, "ann", name, float(rng.integers(1, 6))) for case in cases for name in RUBRIC.names]
    human = pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])

    calibration = calibrate(run, human, folds=2, resamples=20)
    scores = calibration.apply(run).scores
    assert scores["value"].notna().all()
    found = scores.groupby("case")["attribute"].agg(set)
    assert found["c13"] == {"accurate", "risk", "safety", "quality"} and found["c14"] == {"accurate"}
    assert set(found.index) == {f"c{number}" for number in range(15)}
    arm = calibration.saved.arms["jury"].model_dump()
    del arm["curves"]["risk"]
    saved = type(calibration.saved).model_validate({**calibration.saved.model_dump(), "arms": {"jury": arm}})
    of_one = apply(saved, run)
    assert set(of_one.scores["attribute"]) == {"accurate"} and of_one.scores["value"].notna().all()
    assert any("they are not calibrated: risk" in note for note in of_one.notes)


def test_an_arms_scores_are_of_its_own_jurors_where_another_arm_seats_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    cases = [Case(id=f"c{number}", output="x") for number in range(16)]

    def votes() -> dict[str, dict[str, dict[str, int]]]:
        return {
            case.id: {seat: {name: int(rng.integers(1, 6)) for name in RUBRIC.names} for seat in ("x", "y")}
            for case in cases
        }

    arms = {"first": votes(), "second": votes()}
    both = written_run(tmp_path / "both", RUBRIC, cases, arms)
    rows = [(case.id, "ann", name, float(rng.integers(1, 6))) for case in cases for name in RUBRIC.names]
    human = pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])
    saved = calibrate(both, human, folds=2, resamples=20).saved
    together = apply(saved, both).scores.set_index(["arm", "case", "attribute"]).sort_index()
    for name in arms:
        alone = apply(saved, written_run(tmp_path / name, RUBRIC, cases, {name: arms[name]})).scores
        alone = alone.set_index(["arm", "case", "attribute"]).sort_index()
        pd.testing.assert_frame_equal(together.loc[[name]], alone)


def test_a_verdict_that_is_calibrated_itself_has_its_own_curve_and_its_counting_rule_and_jurors(
    tmp_path: Path,
) -> None:
    """Jurors' votes calibrated one by one may be counted by any rule; of two arms one has too few labels."""
    rng = np.random.default_rng(5)
    cases = [Case(id=f"c{number}", output="x") for number in range(24)]

    def votes(seats: str, labelled: int = 24) -> dict[str, dict[str, dict[str, int]]]:
        return {case.id: {seat: {name: int(rng.integers(1, 6)) for name in RUBRIC.names} if n < labelled else {} for seat in seats} for n, case in enumerate(cases)}  # fmt: skip

    heard = {"jury": votes("xy"), "few": votes("xy", 3)}
    run, mean = (written_run(tmp_path / count, RUBRIC, cases, heard, count=count) for count in ("median", "mean"))  # fmt: skip
    rows = [(case.id, who, name, float(rng.integers(1, 6))) for case in cases for who in ("ann", "bob", "cy") for name in RUBRIC.names]  # fmt: skip
    human = pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])
    whole, parts = (calibrate(run, human, folds=2, resamples=20, direct=direct) for direct in (True, False))

    assert list(whole.crossed) == ["jury"] and len(whole.refusals) == 1 and whole.arms["jury"].jury.count == "median"  # fmt: skip
    scores = whole.apply(run).scores.set_index(["case", "attribute"])["value"]
    for case in ("c0", "c7"):
        verdict = np.median([given["accurate"] for given in heard["jury"][case].values()])
        curve = whole.crossed["jury"].calibrator.curves_["jury", "accurate"]
        assert scores[case, "accurate"] == pytest.approx(curve.predict([verdict])[0], abs=1e-5)
    assert parts.apply(mean).scores["value"].notna().all()
    with pytest.raises(VenireError, match="the counting rule is mean, but the calibration was made for median"):  # fmt: skip
        whole.apply(mean)
    other = written_run(tmp_path / "other", RUBRIC, cases, {"jury": votes("xyz")})
    with pytest.raises(VenireError, match="no calibration exists for the juror 'z'"):
        whole.apply(other)
    assert any("'z' was never calibrated" in note for note in parts.apply(other).notes)
    strangers = written_run(tmp_path / "strangers", RUBRIC, cases, {"jury": votes("vw")})
    with pytest.raises(VenireError, match="no calibration exists for the juror 'v'"):
        parts.apply(strangers)
    with pytest.raises(TooFewLabels):
        calibrate(run, human, arm="few", folds=2)
    averaged = calibrate(run, human, folds=2, resamples=20, reference="mean", arm="jury")
    for found, rule in ((averaged, "mean"), (parts, "median")):
        rated = human[human["attribute"] == "accurate"].groupby("case")["value"].agg(rule)
        people = found.scores[found.scores["attribute"] == "accurate"].set_index("case")["people"]
        assert people.to_dict() == pytest.approx(rated.to_dict()), rule


def test_a_juror_without_a_calibration_is_left_out_and_named(run: Path, calibration: Calibration) -> None:
    saved = calibration.saved
    arm = saved.arms["lens-jury"].model_dump()
    del arm["seats"]["support"], arm["curves"]["accurate"]["support"]
    other = type(saved).model_validate({**saved.model_dump(), "arms": {"lens-jury": arm}})
    applied = apply(other, run)
    jurors = applied.scores.set_index(["case", "attribute"])["jurors"]

    assert any("'support' was never calibrated and is left out" in note for note in applied.notes)
    assert jurors["demo-01", "accurate"] == 1
    with pytest.raises(
        VenireError, match="the calibration is for elsewhere, but the run has the arms lens-jury, lens-single"
    ):
        apply(type(saved).model_validate({**saved.model_dump(), "arms": {"elsewhere": arm}}), run)


def test_the_command_fits_keeps_applies_and_prints_one_document(run: Path, tmp_path: Path) -> None:
    common = ("calibrate", run, "--human", LABELS, "--resamples", 20)
    made = venire(*common, "-o", "c.json", "--report", "c.html", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "lens-jury" in made.stdout and "out of fold" in made.stdout
    assert "<svg" in (tmp_path / "c.html").read_text()
    applied = venire("calibrate", "c.json", "--apply", run, "--scores", "s.csv", cwd=tmp_path)
    assert applied.returncode == 0, applied.stderr
    assert list(pd.read_csv(tmp_path / "s.csv").columns) == ["arm", "case", "attribute", "value", "jurors"]
    document = json.loads(
        venire(*common, "--method", "linear", "--direct", "--apply", run, "--json", cwd=tmp_path).stdout
    )
    assert document["made"]["method"] == "linear" and document["arms"]["lens-jury"]["direct"]
    assert document["changes"] and document["applied"]["scores"] and document["sentences"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("RUN",), "give --human RATINGS"),
        (("RUN", "--human", "labels.csv", "--scores", "s.csv"), "--scores needs --apply"),
        (("broken.json",), "can only be applied"),
        (("RUN", "--human", "few.csv"), "10 cases in two groups are needed"),
    ],
)
def test_a_mistake_is_two_lines(run: Path, tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    rows = LABELS.read_text().splitlines()
    (tmp_path / "few.csv").write_text("\n".join(itertools.islice(rows, 16)) + "\n")
    named = {"RUN": run}
    ended = venire("calibrate", *(named.get(word, word) for word in arguments), cwd=tmp_path)

    assert ended.returncode == 2 and not ended.stdout
    assert told in ended.stderr and len(ended.stderr.splitlines()) == 2


def test_what_is_no_calibration_is_not_read_as_one(run: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"format": "something else"}')

    with pytest.raises(VenireError, match="is not a calibration file"):
        load_calibration(tmp_path / "broken.json")
    with pytest.raises(VenireError, match="no such file"):
        load_calibration(tmp_path / "absent.json")
    with pytest.raises(VenireError, match="no arm named 'nobody'"):
        calibrate(run, LABELS, arm="nobody")
