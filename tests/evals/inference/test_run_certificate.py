"""A run's certificate in process: what counts as an error, which labels count, what each attribute's part of delta is, what is accepted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from written_transcripts import Votes, abstained, cast, transcript_of, written_run

from venire import Case, Jury, Rubric, Stop, Transcript, VenireError
from venire.evals.inference.certificate import Certificate
from venire.evals.inference.labelled_verdicts import deliberation_way
from venire.evals.inference.labelling import even_draw
from venire.evals.inference.run_certificate import (
    _why_nothing,
    apply_rule,
    certificate_answer,
    certificate_json,
    run_certificate,
    verdict_errors,
)
from venire.evals.statistics.draws import Draws
from venire.orchestration.verdict import verdict
from venire.rubrics.scale import Scale

FIVE = {"level": "ordinal", "anchors": {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}}
RUBRIC = Rubric.model_validate(
    {
        "name": "mine",
        "version": 1,
        "scales": {"five": FIVE},
        "attributes": [
            {"name": "clear", "question": "Is it clear?", "scale": "five"},
            {"name": "true", "question": "Is it true?", "scale": "five"},
        ],
    }
)
N = 150
HUNG = 5


def cases(n: int = N, start: int = 0) -> list[Case]:
    return [Case(id=f"c{k}", output="x", system="ab"[k % 2]) for k in range(start, start + n)]


def votes(n: int = N, start: int = 0) -> Votes:
    """Unanimous 3 on the first hundred cases, split from 1 to 3 on the others; the last five are hung."""
    return {
        f"c{k}": {
            juror: {}
            if k - start >= n - HUNG
            else dict.fromkeys(("clear", "true"), value if k - start >= 100 else 3)
            for juror, value in (("x", 1), ("y", 2), ("z", 3))
        }
        for k in range(start, start + n)
    }


def people(wrong: tuple[int, ...] = (), names: tuple[str, ...] = ("clear",), among: range = range(N)) -> pd.DataFrame:  # fmt: skip
    """Right of the unanimous but for `wrong`, one step off; two off on all that is split."""
    rows = [(f"c{k}", "ana", name, float(4 if k in wrong or k >= 100 else 3)) for name in names for k in among]  # fmt: skip
    return pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])


def numbers(sentence: str) -> list[str]:
    return re.findall(r"[\d.]*\d%?", sentence)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_run(tmp_path_factory.mktemp("certificate") / "run", RUBRIC, cases(), {"jury": votes()})


@pytest.mark.parametrize(
    ("scale", "within", "gaps", "wrong"),
    [
        (FIVE, 0.0, [0, 0.4, 0.5, 0.6, 1, -0.5, -1], [0, 0, 0, 1, 1, 0, 1]),
        (FIVE, 1.0, [0, 0.5, 1, 1.1, 2, -1, -2], [0, 0, 0, 1, 1, 0, 1]),
        ({"level": "binary", "anchors": {0: "no", 1: "yes"}}, 0.0, [0, 1, -1, 0, 1, 0, 0], [0, 1, 1, 0, 1, 0, 0]),
        ({"level": "interval", "minimum": 0, "maximum": 10}, 0.3, [0, 0.3, 0.31, -0.3, -0.4, 5, 0.1], [0, 0, 1, 0, 1, 1, 0]),
        ({"level": "nominal", "anchors": {"b": "", "a": ""}}, 0.0, [0, 1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1, 0]),
    ],
)  # fmt: skip
def test_an_error_is_further_off_than_half_a_step_or_than_is_allowed(
    scale: dict[str, object], within: float, gaps: list[float], wrong: list[int]
) -> None:
    table = pd.DataFrame({"score": np.array(gaps) + 3.0, "reference": 3.0})

    assert verdict_errors(table, Scale.model_validate(scale), within).tolist() == [bool(each) for each in wrong]  # fmt: skip


def test_a_continuous_scale_needs_a_distance() -> None:
    table = pd.DataFrame({"score": [1.0], "reference": [1.0]})
    with pytest.raises(VenireError, match="on a continuous scale"):
        verdict_errors(table, Scale.model_validate({"level": "interval", "minimum": 0, "maximum": 10}), 0.0)


def test_only_reached_verdicts_with_a_label_count_and_the_unsure_go_to_people(run: Path) -> None:
    found = run_certificate(run, people(wrong=(7,)), risk=0.1)
    certificate = found.certificates["clear"]

    assert set(found.certificates) == {"clear"} and certificate.delta == 0.05
    assert (certificate.labels, certificate.accepted, certificate.errors) == (N - HUNG, 100, 1)
    assert (len(found.verdicts), len(found.accepted), len(found.for_people)) == (N, 100, 50)
    assert found.verdicts["labelled"].all() and set(found.accepted["case"]) == {f"c{k}" for k in range(100)}
    rule = found.rule.attributes["clear"]
    assert (rule.labels, rule.errors, rule.threshold) == (100, 1, certificate.threshold)
    # Clopper and Pearson's bound of one in a hundred, as scipy's beta has it.
    assert rule.bound == pytest.approx(0.046559, abs=1e-5)
    document = certificate_json("here", found)
    assert (document["accepted"], document["to_people"], document["accepted_share"]) == (100, 50, pytest.approx(2 / 3))  # fmt: skip
    clear = document["attributes"]["clear"]
    assert (clear["accepted"], clear["verdicts"], clear["labelled"], clear["tried"]) == (100, N, 145, {"labels": 100, "errors": 1})  # fmt: skip
    assert sum(row["accepted"] for row in document["verdicts"]) == 100
    (row,) = certificate_answer(found).tables[""].to_dict("records")
    assert (row["accepted unseen"], row["to people"], row["wrong among these"]) == ("100 of 150 (67%)", 50, 1)
    assert (row["labels at or above the minimum confidence"], row["error at most"]) == (100, "4.7%")
    assert any("5 verdicts are hung" in line for line in document["sentences"])
    guaranteed, _, counted, *_ = document["sentences"]
    assert numbers(guaranteed) == ["10.0%", "95.0%"] and document["guarantee"] == guaranteed
    assert numbers(counted) == ["100", "145", f"{rule.threshold:.3f}", "1", "150", "100", "100"]


def test_several_attributes_share_delta_and_each_has_errors_of_its_own(run: Path) -> None:
    labels = pd.concat([people(wrong=(7,)), people(names=("true",))])
    found = run_certificate(run, labels, risk=0.1, delta=0.08)

    assert [(c.delta, c.errors) for c in found.certificates.values()] == [(0.04, 1), (0.04, 0)]
    alone = run_certificate(run, labels, risk=0.1, delta=0.08, attribute="true")
    assert list(alone.certificates) == ["true"] and alone.certificates["true"].delta == 0.08
    assert len(alone.verdicts) == N
    # Without an error, 29 labels show 0.1 at 0.05, and 36 at half of it.
    few = pd.concat([people(names=("clear", "true"), among=range(30))])
    assert run_certificate(run, few, risk=0.1, attribute="clear").certificates["clear"].threshold is not None
    with pytest.raises(VenireError, match=r"30 labelled verdicts are too few.*\n.*at least 36"):
        run_certificate(run, few, risk=0.1)


def test_errors_among_the_surest_leave_nothing_to_accept(run: Path) -> None:
    found = run_certificate(run, people(wrong=tuple(range(0, 100, 4))), risk=0.1)

    assert found.rule.attributes["clear"].threshold is None and found.accepted.empty
    assert (found.rule.attributes["clear"].labels, found.rule.attributes["clear"].bound) == (0, None)
    assert "No verdict may be accepted without review" in certificate_json("here", found)["guarantee"]
    allowed = run_certificate(run, people(wrong=tuple(range(0, 100, 4))), risk=0.1, within=2)
    assert len(allowed.accepted) == N - HUNG


@pytest.mark.parametrize(
    ("labels", "needed", "said"),
    [(20, 29, ["20", "29"]), (60, None, ["1", "40", "10.0%"]), (60, 90, ["1", "40", "90", "10.0%"]), (60, 50, ["1", "40", "61", "10.0%"])],
)  # fmt: skip
def test_where_nothing_is_shown_the_labels_it_would_take_are_said(
    labels: int, needed: int | None, said: list[str]
) -> None:
    assert numbers(_why_nothing(Certificate(None, 0.1, 0.05, labels, 40, 1, np.nan, False, needed))) == said


def test_of_a_draw_only_drawn_labels_count(run: Path) -> None:
    drawn = [f"c{k}" for k in range(20, 120)]
    draw = pd.DataFrame({"case": drawn, "probability": 0.5, "stratum": "all", "design": "random", "arm": "", "attribute": ""})  # fmt: skip
    labels = people(among=range(110))
    found = run_certificate(run, labels, risk=0.1, draw=draw)

    assert found.certificates["clear"].labels == 90 and found.verdicts["labelled"].sum() == 90
    assert (
        "20 labelled cases are left out, because they are not in the file of drawn cases (--draw)"
        in found.notes
    )
    assert "10 drawn cases have no label; their labels are assumed to be missing at random" in found.notes
    assert "according to the file of drawn cases" in found.drawn
    with pytest.raises(VenireError, match="none of the cases in the file of --draw has a label"):
        run_certificate(run, people(among=range(10)), risk=0.1, draw=draw)


@pytest.mark.parametrize("design", ["stratified", "active"])
def test_of_an_unequal_draw_only_the_labels_that_thinning_keeps_count(run: Path, design: str) -> None:
    draw = pd.DataFrame({"case": [f"c{k}" for k in range(100)], "probability": [0.45] * 50 + [0.9] * 50, "stratum": "all", "design": design, "arm": "", "attribute": ""})  # fmt: skip
    kept, words = even_draw(draw, N, Draws(3).rng())
    found = run_certificate(run, people(among=range(100)), risk=0.1, draw=draw, seed=3)

    assert 40 < len(kept) < 90 and found.drawn == words
    assert set(found.verdicts.loc[found.verdicts["labelled"], "case"]) == kept
    assert found.certificates["clear"].labels == len(kept)
    assert not any("left out" in note for note in found.notes), "a case that is thinned away was drawn"


def test_without_a_draw_labels_that_follow_one_another_are_said_to(run: Path) -> None:
    assert "The 60 labelled cases follow one another" in run_certificate(run, people(among=range(20, 80)), risk=0.1).drawn  # fmt: skip
    scattered = run_certificate(run, people(among=range(0, 150, 2)), risk=0.1)
    assert "follow one another" not in scattered.drawn
    assert "follow one another" not in run_certificate(run, people(), risk=0.1).drawn


def test_a_saved_rule_accepts_of_another_run_what_is_as_sure(run: Path, tmp_path: Path) -> None:
    rule = run_certificate(run, people(), risk=0.1).rule
    other = written_run(tmp_path / "other", RUBRIC, cases(110, 500), {"jury": votes(110, 500)})
    found = apply_rule(other, rule)

    assert len(found.verdicts) == 110 and len(found.accepted) == 100 and not found.verdicts["labelled"].any()
    assert found.certificates == {} and found.rule is rule and found.shifts["clear"].found
    alike = apply_rule(written_run(tmp_path / "alike", RUBRIC, cases(N, 500), {"jury": votes(N, 500)}), rule)
    assert not alike.shifts["clear"].found and len(alike.accepted) == 100
    sample = rule.labelled["clear"]
    assert (
        sample.clusters == tuple(range(N - HUNG))
        and len(sample.systems) == N - HUNG
        and set(sample.systems) == {"a", "b"}
    )
    assert sample.signals["score"].count(3.0) == 100 and sample.signals["score"].count(2.0) == 45
    changed = {case: {**cast, "w": {"clear": 3, "true": 3}} for case, cast in votes(110, 500).items()}
    stranger = written_run(tmp_path / "stranger", RUBRIC, cases(110, 500), {"jury": changed})
    with pytest.raises(VenireError, match="another jury: seat w changed"):
        apply_rule(stranger, rule)


def heard(*rounds: dict[str, object]) -> Transcript:
    """By round, what each juror gave `clear`; None is an abstention."""
    steps = [
        [abstained(juror, "clear", round=number) if value is None else cast(juror, {"clear": value}, round=number, purpose="blind" if number == 1 else "revision") for juror, value in by_juror.items()]
        for number, by_juror in enumerate(rounds, 1)
    ]  # fmt: skip
    return transcript_of(*steps, seats=("x", "y")).with_stop(Stop(reason="complete"))


@pytest.mark.parametrize(
    ("rounds", "tolerance", "way"),
    [
        ([{"x": 3, "y": 3}], 0.0, "unanimous at once"),
        ([{"x": 3, "y": 4}], 0.0, "split"),
        ([{"x": 3, "y": 4}], 1.0, "unanimous at once"),
        ([{"x": 3, "y": 5}, {"y": 3}], 0.0, "converged"),
        ([{"x": 3, "y": 3}, {"y": 5}], 0.0, "split"),
        ([{"x": 3, "y": 3}, {"y": 5}, {"y": 3}], 0.0, "unanimous at once"),
        ([{"x": None, "y": None}], 0.0, "hung"),
    ],
)
def test_how_a_deliberation_went_is_told_by_first_votes_and_last(
    rounds: list[dict[str, object]], tolerance: float, way: str
) -> None:
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "quorum": 1, "seats": [{"name": name, "model": "scripted/none"} for name in "xy"]})  # fmt: skip
    transcript = heard(*rounds)
    outcome = verdict(transcript, RUBRIC, jury, count="median").outcomes["clear"]

    assert deliberation_way(transcript, "clear", outcome, tolerance) == way
