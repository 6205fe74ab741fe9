"""Generalisability: a textbook's data, restricted likelihood on ragged tables, negative components, repeats, too little data."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from mixed_rubric import RUBRIC as MIXED
from scipy import stats
from written_transcripts import cast, transcript_of

from venire import Jury, Rubric, Stop
from venire.evals.inference.dstudy import (
    BallotTable,
    RepeatedVerdicts,
    RunDStudy,
    _repeats_sentence,
    _shares_row,
    dstudy_answer,
    dstudy_json,
    repeats_section,
    study,
    variance_components,
    verdict_variances,
)
from venire.orchestration.record import Arm
from venire.orchestration.verdict import verdict

# Brennan (2001), Table 2.2: synthetic data set no. 1, ten persons by twelve items.
BRENNAN = [
    "101000000000",
    "111001000000",
    "111110000000",
    "110110010000",
    "111110100000",
    "111011100000",
    "111111100000",
    "111101111100",
    "111111111110",
    "111111111111",
]


def long(values: np.ndarray) -> pd.DataFrame:
    cases, jurors = np.indices(values.shape)
    table = pd.DataFrame(
        {"case": cases.ravel(), "juror": jurors.ravel(), "repeat": 1, "value": values.ravel()}
    )
    return table.dropna()


def test_each_arms_verdicts_and_votes_of_each_stage_have_variances_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of three arms two were heard three times; their verdicts, first votes and last differ, and so do the two attributes."""
    rng = np.random.default_rng(2)
    keys = pd.MultiIndex.from_product([["a", "b", "once"], ["c0", "c1", "c2", "c3"], [1, 2, 3], ["safe", "clear"]], names=["arm", "case", "repeat", "attribute"])  # fmt: skip
    verdicts = keys.to_frame(index=False).assign(value=rng.normal(size=len(keys)))
    votes = pd.concat([verdicts.assign(juror=juror, stage=stage, value=rng.normal(size=len(keys))) for juror in "xy" for stage in ("first", "final")])  # fmt: skip
    monkeypatch.setattr("venire.evals.inference.dstudy.arm_tables", lambda store, *asked: [verdicts, votes])
    section = repeats_section(None, ["a", "b"])  # type: ignore[arg-type]
    assert section is not None and repeats_section(None, []) is None  # type: ignore[arg-type]

    table = section.tables["variances"].set_index(["arm", "attribute", "of"])
    assert len(table) == 2 * 2 * 3 and len(section.sentences) == 4
    for (arm, attribute, of), row in table.iterrows():  # type: ignore[misc]
        whole, stage = (verdicts, None) if of == "verdict" else (votes, "first" if "first" in of else "final")
        mine = whole[(whole["arm"] == arm) & (whole["attribute"] == attribute)]
        mine = mine if stage is None else mine[mine["stage"] == stage]
        wanted = verdict_variances(mine)["repeat"] if stage is None else variance_components(mine).repeat
        assert row["repeat"] == pytest.approx(wanted) and (row["cases"], row["repeats"]) == (4, 3)


def test_the_textbooks_components_and_coefficients() -> None:
    found = variance_components(long(np.array([list(map(float, row)) for row in BRENNAN])))

    assert (found.case, found.juror, found.interaction) == pytest.approx((0.0574, 0.0754, 0.1269), abs=5e-5)
    assert found.relative(12) == pytest.approx(0.844, abs=5e-4) and found.absolute(12) == pytest.approx(
        0.773, abs=5e-4
    )
    # The book goes on from components rounded to four places.
    assert [found.relative(k) for k in (5, 10, 15, 20)] == pytest.approx(
        [0.693, 0.819, 0.871, 0.901], abs=1e-3
    )
    assert found.method == "analysis of variance" and math.isnan(found.repeat)


def test_ragged_tables_agree_with_restricted_likelihood_elsewhere() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0, 1, (60, 1)) + rng.normal(0, 0.6, 5) + rng.normal(0, 0.8, (60, 5))
    values[rng.random(values.shape) < 0.3] = np.nan
    table = long(values)
    found = variance_components(table)
    fit = smf.mixedlm("value ~ 1", table.assign(all=1), groups="all", re_formula="0", vc_formula={"case": "0 + C(case)", "juror": "0 + C(juror)"}).fit(reml=True)  # fmt: skip

    named = dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))
    assert found.method == "restricted maximum likelihood"
    assert (found.case, found.juror, found.interaction) == pytest.approx(
        (named["case"], named["juror"], fit.scale), rel=5e-3
    )


def test_repeats_are_told_apart_and_a_negative_component_is_shown() -> None:
    rng = np.random.default_rng(1)
    cells = rng.normal(0, 1, (200, 1)) + rng.normal(0, 0.5, 4) + rng.normal(0, 0.5, (200, 4))
    rows = [long(cells + rng.normal(0, 0.7, cells.shape)).assign(repeat=again) for again in range(3)]
    found = variance_components(pd.concat(rows))
    assert found.repeat == pytest.approx(0.49, rel=0.1) and found.interaction == pytest.approx(0.25, rel=0.25)
    assert found.relative(4, 3) > found.relative(4, 1)

    alike = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    below = variance_components(long(alike))
    assert below.case < 0 and below.relative(2) == 0.0


def test_the_variance_of_repeated_verdicts_is_parted_as_it_was_planted() -> None:
    rng = np.random.default_rng(3)
    value = rng.normal(0, 1, (400, 1)) + rng.normal(0, 0.5, (400, 3))
    verdicts = pd.DataFrame(
        {"case": np.repeat(np.arange(400), 3), "repeat": np.tile([1, 2, 3], 400), "value": value.ravel()}
    )
    found = verdict_variances(verdicts)
    assert found["case"] == pytest.approx(1, rel=0.15) and found["repeat"] == pytest.approx(0.25, rel=0.1)
    assert math.isnan(verdict_variances(verdicts[verdicts["repeat"] == 1])["repeat"])


def arm_of(rubric: Rubric, *, hearing: int = 1) -> Arm:
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "seats": [{"name": name, "model": "scripted/none"} for name in "ab"]})  # fmt: skip
    return Arm(1, "j", rubric, jury.model_copy(update={"hearing": hearing}), {})


def test_first_and_final_votes_of_a_deliberation_with_repeats_and_without_what_has_no_number() -> None:
    """`a` gives 2 and revises to 5; `b` 3, and 4 when asked again; words, and what does not apply, are no votes here."""
    arm = arm_of(MIXED)
    steps = (
        [cast("a", {"accurate": 2, "tone": "plain", "plan": "not_applicable"}), cast("b", {"accurate": 3, "plan": 1}), cast("b#2", {"accurate": 4})],
        [cast("a", {"accurate": 5}, round=2, purpose="revision")],
    )  # fmt: skip
    heard = transcript_of(*steps).with_stop(Stop(reason="complete"))
    table = BallotTable()
    table.add(arm, verdict(heard, MIXED, arm.jury, count="median"))
    rows = table.table()

    votes = {(row.stage, row.juror, row.repeat, row.attribute): row.value for row in rows.itertuples()}
    both = {("b", "1", "accurate"): 3, ("b", "1", "plan"): 1, ("b", "2", "accurate"): 4}
    assert votes == {
        ("first", "a", "1", "accurate"): 2,
        ("final", "a", "1", "accurate"): 5,
        **{(stage, *key): value for stage in ("first", "final") for key, value in both.items()},
    }
    assert set(rows["case"]) == {"c"} and set(rows["arm"]) == {"j"}
    again = arm_of(MIXED, hearing=3)
    table.add(again, verdict(heard, MIXED, again.jury, count="median"))
    assert set(table.table()["repeat"].iloc[len(rows) :]) == {"2", "3"}

    verdicts = RepeatedVerdicts()
    verdicts.add(again, verdict(heard, MIXED, again.jury, count="median"))
    told = verdicts.table()
    assert told[["repeat", "attribute"]].to_numpy().tolist() == [[3, name] for name in told["attribute"]]
    assert "tone" not in set(told["attribute"]) and told.set_index("attribute")["value"]["accurate"] == 4


def test_components_of_repeats_by_hand() -> None:
    """Cell means 1, 3 / 5, 9, each of two answers one apart from its mean: within 2, interaction 1 - 2 / 2, and so on."""
    means = np.array([[1.0, 3.0], [5.0, 9.0]])
    table = pd.concat([long(means - 1), long(means + 1).assign(repeat=2)])
    found = variance_components(table)

    # Mean squares: cases 2 * (2.5^2 * 2) = 25, jurors 9, both together 1.
    assert (found.case, found.juror, found.repeat) == (12.0, 4.0, 2.0) and found.interaction == pytest.approx(0.0)  # fmt: skip
    assert (found.cases, found.jurors, found.repeats) == (2, 2, 2.0)
    assert found.relative_error(2, 1) == pytest.approx(1.0) and found.relative_error(2, 4) == pytest.approx(0.25)  # fmt: skip
    assert found.absolute_error(2, 1) == pytest.approx(3.0)
    assert found.relative(2, 1) == pytest.approx(12 / 13) and found.absolute(2, 1) == pytest.approx(12 / 15)
    assert found.round_robin(2) == pytest.approx(12 / (12 + 4 + 1))
    designs = study(table, "x", "final", usd=0.5).designs.set_index(["design", "jurors", "repeats"])
    assert designs.loc[("crossed", 4, 3), "absolute"] == pytest.approx(found.absolute(4, 3))
    assert (designs.loc[("crossed", 4, 3), "calls"], designs.loc[("crossed", 4, 3), "usd"]) == (12, 6.0)
    assert (designs.loc[("round robin", 2, 3), "calls"], designs.loc[("round robin", 2, 3), "usd"]) == (3, 1.5)  # fmt: skip


def test_unequal_repeats_weigh_by_their_freedom_and_number_by_their_harmonic_mean() -> None:
    """One cell of three answers with a variance of 1, one of two with 8, two of one: within (2 * 1 + 8) / 3."""
    cells = {("a", "x"): [1, 2, 3], ("a", "y"): [0, 4], ("b", "x"): [5], ("b", "y"): [7]}
    rows = [(case, juror, n, float(value)) for (case, juror), values in cells.items() for n, value in enumerate(values)]  # fmt: skip
    found = variance_components(pd.DataFrame(rows, columns=["case", "juror", "repeat", "value"]))

    assert found.repeat == pytest.approx(10 / 3)
    assert found.repeats == pytest.approx(4 / (1 / 3 + 1 / 2 + 1 + 1))


def test_designs_of_a_round_robin_and_of_too_little() -> None:
    made = study(long(np.array([list(map(float, row)) for row in BRENNAN])), "x", "final", usd=0.01)
    turn = made.designs[made.designs["design"] == "round robin"].iloc[0]
    assert turn["relative"] == turn["absolute"] < made.designs["relative"].iloc[0]
    assert turn["usd"] == 0.01 and "jurors would reach an absolute reliability of 0.8" in made.sentence
    assert "dependable" not in made.sentence and "10 cases, without an interval" in made.sentence
    alone = study(long(np.array([[1.0], [2.0]])), "x", "final")
    assert "at least two jurors must" in alone.sentence


def test_sentence_table_and_document_have_the_studys_numbers_and_what_a_ballot_costs() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 1, (30, 1)) + rng.normal(0, 0.3, (1, 3)) + rng.normal(0, 0.6, (30, 3))
    repeated = pd.concat([long(values), long(values + rng.normal(0, 0.2, values.shape)).assign(repeat=2)])
    found = study(repeated, "clear", "final", 0.002)
    of, designs = found.components, found.designs
    section = dstudy_answer(RunDStudy("a", (found,), ("n",)))
    document = dstudy_json("here", RunDStudy("a", (found,), ("n",)))["studies"][0]

    crossed = designs[designs["design"] == "crossed"].set_index(["jurors", "repeats"])
    assert (crossed.loc[(3, 1), "calls"], crossed.loc[(3, 1), "usd"]) == (3, pytest.approx(0.006))
    robin = designs[designs["design"] == "round robin"]
    assert (robin["usd"] == 0.002 * robin["repeats"]).all() and (robin["calls"] == robin["repeats"]).all()
    for (jurors, repeats), row in crossed.iterrows():  # type: ignore[misc]
        assert row["usd"] == pytest.approx(0.002 * jurors * repeats)
        assert (row["relative"], row["absolute"]) == (
            of.relative(jurors, repeats),
            of.absolute(jurors, repeats),
        )
    (row,) = section.tables[""].to_dict("records")
    shown = [row[name] for name in ("cases", "jurors", "case x juror", "repeats")]
    assert shown == [f"{value:.4f}" for value in (of.case, of.juror, of.interaction, of.repeat)]
    assert (row["relative"], row["absolute"]) == (f"{of.relative(3, 2):.3f}", f"{of.absolute(3, 2):.3f}")
    assert document["components"] == {"case": of.case, "juror": of.juror, "interaction": of.interaction, "repeat": of.repeat}  # fmt: skip
    assert (document["cases"], document["jurors"], document["repeats"]) == (30, 3, 2)
    assert [each["usd"] for each in document["designs"]] == designs["usd"].tolist()
    costs = section.tables["clear, final ballots"]
    assert costs["cost per case"].tolist() == [f"${usd:.5f}" for usd in designs["usd"]]
    enough = min(jurors for jurors, repeats in crossed.index if repeats == 1 and of.absolute(jurors) >= 0.8)
    assert f"{enough} jurors would reach" in found.sentence and f"of {of.relative(3, 2):.3f} for the order" in found.sentence  # fmt: skip
    assert set(study(repeated, "clear", "final").designs["usd"].isna()) == {True}


def test_shares_of_variance_are_jackknifed_over_cases_and_say_whether_one_run_is_enough() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(0, 1, (12, 1)) + rng.normal(0, 0.3, (12, 3))
    table = long(values).rename(columns={"juror": "repeat", "repeat": "juror"})
    row = _shares_row(table, verdict_variances)
    of = verdict_variances(table)

    def share(rows: pd.DataFrame) -> float:
        each = verdict_variances(rows)
        return each["repeat"] / (each["case"] + each["repeat"])

    assert (row["cases"], row["repeats"], row["case"], row["repeat"]) == (12, 3, of["case"], of["repeat"])
    assert row["repeat_share"] == pytest.approx(share(table)) == pytest.approx(1 - row["case_share"])
    left_out = [share(table[table["case"] != case]) for case in range(12)]
    error = np.sqrt(11 / 12 * ((left_out - np.mean(left_out)) ** 2).sum())
    assert row["repeat_low"] < row["repeat_share"] < row["repeat_high"]
    reach = (min(row["repeat_high"], 1) - row["repeat_share"]) / error
    assert stats.t.ppf(0.975, 11) <= reach + 1e-9 and math.isnan(row["seat"])
    told = _repeats_sentence("a", "clear", row)
    several = of["case"] / (of["case"] + of["repeat"] / 3)
    assert (
        "is enough" in told
        and f"{1 - row['repeat_share']:.2f}" in told
        and f"{several:.2f} with 3 runs" in told
    )
    noisy = _repeats_sentence("a", "clear", row | {"repeat_share": 0.5})
    assert "is not enough" in noisy
