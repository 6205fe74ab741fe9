"""Boards: HELM's own vectors, medagents_bench, directions, scales, missing cells, and what ranks are worth."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import venire
from scipy.stats import norm, t, ttest_1samp, ttest_ind
from shared_data import shared_file

from venire import VenireError
from venire.evals.statistics.draws import Draws
from venire.evals.statistics.estimate import Estimate
from venire.evals.suites.board import (
    Board,
    DetectableEffect,
    _mean_rates,
    _moderated_errors,
    _resampled_means,
    _small_sample_factor,
    board,
    board_effect,
    rank_intervals,
    scenario_effect,
    scenario_win_rates,
)
from venire.evals.suites.differences import MACRO, SystemDifference, macro_leader, system_differences
from venire.evals.suites.score_table import load_scores
from venire.evals.suites.suite_cost import SystemCost, TokenCost
from venire.evals.suites.suite_tables import (
    board_json,
    board_page,
    board_sentences,
    board_tables,
    cost_sentences,
    costs_table,
    differences_table,
)

HELM = {"one": [1, 2, 3, 4, 5], "two": [3, 1, 2, 5, 4]}


def written(folder: Path, text: str, name: str = "scores.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


def wide(folder: Path, columns: dict[str, list[object]]) -> Path:
    table = pd.DataFrame({"system": list("abcde")[: len(next(iter(columns.values())))], **columns})
    table.to_csv(folder / "scores.csv", index=False)
    return folder / "scores.csv"


def rates(found: Board) -> dict[str, float]:
    return {each.system: each.win_rate for each in found.standings}


def test_win_rates_are_helms_own(tmp_path: Path) -> None:
    found = rates(board(load_scores(wide(tmp_path, HELM))))
    assert found == {"a": 0.25, "b": 0.125, "c": 0.375, "d": 0.875, "e": 0.875}

    missing = {**HELM, "two": [3, 1, None, None, None]}
    found = rates(board(load_scores(wide(tmp_path, missing))))
    assert found == {"a": 0.5, "b": 0.125, "c": 0.5, "d": 0.75, "e": 1.0}


def test_a_column_with_one_value_or_no_direction_is_skipped_and_said(tmp_path: Path) -> None:
    scores = wide(tmp_path, {"one": [0.1, 0.2, 0.3], "lone": [0.9, None, None], "size": [7, 8, 9]})
    columns = written(tmp_path, "scenario,direction\nsize,none\n", "columns.csv")
    found = board(load_scores(scores, columns))

    assert set(found.skipped) == {"lone", "size"}
    assert rates(found) == {"a": 0.0, "b": 0.5, "c": 1.0}
    assert {each.system: each.macro for each in found.standings} == pytest.approx({"a": (0.1 + 0.9) / 2, "b": 0.2, "c": 0.3})  # fmt: skip
    shown = venire("suite", "table", str(scores), "--columns", str(columns), cwd=tmp_path).stdout
    assert "lone is not compared: one system has a score" in shown
    assert "size is not compared: no direction (higher or lower is better) is given" in shown


def test_directions_scales_and_categories(tmp_path: Path) -> None:
    scores = written(tmp_path, "system,jury,wer,acc\na,4.2,0.3,0.5\nb,3,0.1,0.7\n")
    columns = written(
        tmp_path,
        "scenario,category,direction,low,high\njury,notes,higher,1,5\nwer,speech,lower,,\n",
        "columns.csv",
    )
    a, b = sorted(board(load_scores(scores, columns)).standings, key=lambda each: each.system)

    assert a.categories == pytest.approx({"notes": 0.8, "speech": 0.7})
    assert a.macro == pytest.approx((0.8 + 0.7 + 0.5) / 3)
    assert a.sd == pytest.approx(np.std([0.8, 0.7, 0.5], ddof=1))
    assert (a.win_rate, b.win_rate) == pytest.approx((1 / 3, 2 / 3))
    assert a.win_sd == 0.0


@pytest.mark.parametrize(("ties", "rate"), [("half", 0.5), ("strict", 0.0), ("wins", 1.0)])
def test_ties(tmp_path: Path, ties: str, rate: float) -> None:
    found = board(load_scores(wide(tmp_path, {"one": [0.5, 0.5], "two": [0.1, 0.1]})), ties=ties)  # type: ignore[arg-type]

    assert rates(found) == {"a": rate, "b": rate}
    assert found.leader is None


def test_complete_and_available_cells_are_told_apart(tmp_path: Path) -> None:
    found = board(load_scores(wide(tmp_path, {"one": [0.9, 0.5, 0.1], "two": [0.2, 0.4, None]})))
    first = {each.system: each for each in found.standings}["a"]

    assert found.complete == 1
    assert (first.win_rate, first.complete_win_rate) == (0.5, 1.0)
    assert (first.macro, first.complete_macro) == pytest.approx((0.55, 0.9))


def test_scores_may_have_a_decimal_comma(tmp_path: Path) -> None:
    assert load_scores(written(tmp_path, "system;one\na;0,5\n")).means.loc["a", "one"] == 0.5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty|no row"),
        ("system\na\n", "no column for a scenario"),
        ("name,one\na,1\n", "the column 'system' is missing"),
        ("system,one\na,high\n", "is not a score"),
        ("system,one\na,inf\n", "is not a score"),
        ("system;one\na;1,250\n", r"scores\.csv:2: '1,250' is ambiguous: its comma could be a decimal comma"),
        ("system,one\na,1\na,2\n", "twice"),
        ("system,scenario,score\na,s,1\na,s,0\n", "two scores"),
        ("system,scenario,score\n,s,1\n", "the system is missing"),
    ],
)
def test_what_is_no_table_of_scores_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(VenireError, match=problem):
        load_scores(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("scenario,direction\none,sideways\n", "not a direction"),
        ("scenario,low,high\none,5,1\n", "low is 5, which is not below high"),
        ("scenario\nother\n", "no scenario 'other'"),
        ("scenario,low,high\none,0.3,1\n", "not on the scale"),
    ],
)
def test_columns_that_do_not_fit_the_table_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    scores = wide(tmp_path, {"one": [0.1, 0.2]})
    with pytest.raises(VenireError, match=problem):
        load_scores(scores, written(tmp_path, text, "columns.csv"))


def test_one_system_and_one_scenario_give_a_board_without_a_leader(tmp_path: Path) -> None:
    found = board(load_scores(written(tmp_path, "system,one\na,0.5\n")))

    assert math.isnan(found.standings[0].win_rate)
    assert found.leader is None
    document = json.loads(venire("suite", "table", "scores.csv", "--json", "-o", "out", cwd=tmp_path).stdout)
    assert document["systems"]["a"]["win_rate"] is None
    assert json.loads((tmp_path / "out/report.json").read_text()) == document
    assert (tmp_path / "out/tables/board.csv").read_text().splitlines()[1].startswith("a,")
    assert "Differences" in (tmp_path / "out/report.html").read_text()
    assert document["systems"]["a"]["macro"] == 0.5


@pytest.fixture(scope="module")
def medagents() -> pd.DataFrame:
    rows = pd.read_csv(shared_file("medagents_bench/predictions.csv"), dtype=str)
    rows = rows.drop_duplicates(["dataset", "realidx", "model", "method"])
    right = rows["predicted_answer"].fillna("").str.strip() == rows["answer_idx"].str.strip()
    return pd.DataFrame(
        {
            "system": rows["model"] + "/" + rows["method"],
            "scenario": rows["dataset"],
            "case": rows["realidx"],
            "score": right.astype(float),
        }
    )


def test_forty_arms_on_seven_sets(medagents: pd.DataFrame, tmp_path: Path) -> None:
    medagents.to_csv(tmp_path / "scores.csv", index=False)
    table = load_scores(tmp_path / "scores.csv")
    by_rule = {ties: board(table, ties=ties, draws=Draws(resamples=2)) for ties in ("half", "wins")}  # type: ignore[arg-type]
    half, wins = ({each.system: each for each in found.standings} for found in by_rule.values())

    assert len(half) == 40
    aflow, r1 = half["gpt-4o/aflow"], half["DeepSeek-R1/zero_shot"]
    assert (aflow.win_rate, r1.win_rate) == pytest.approx((0.8993, 0.8352), abs=5e-5)
    assert (aflow.macro, r1.macro) == pytest.approx((0.3362, 0.3472), abs=5e-5)
    found = (wins["gpt-4o/aflow"].win_rate, wins["DeepSeek-R1/zero_shot"].win_rate)
    assert found == pytest.approx((0.9194, 0.8498), abs=5e-5)


def test_detectable_effects_of_ten_zero_shot_models(medagents: pd.DataFrame, tmp_path: Path) -> None:
    medagents[medagents["system"].str.endswith("/zero_shot")].to_csv(tmp_path / "scores.csv", index=False)
    ended = venire("suite", "table", "scores.csv", "--resamples", "50", "--json", cwd=tmp_path)
    scenarios = json.loads(ended.stdout)["scenarios"]

    found = {name: (scenarios[name]["mde"], scenarios[name]["mde_sd"]) for name in ("medqa", "pubmedqa")}
    assert found["medqa"] == pytest.approx((0.1627, 0.0198), abs=5e-5)
    assert found["pubmedqa"] == pytest.approx((0.1184, 0.0145), abs=5e-5)
    assert scenarios["afrimedqa"]["mde"] == pytest.approx(0.2370, abs=5e-5)
    assert len(scenarios["medqa"]["pairs"]) == 45
    needed = scenarios["medqa"]["cases_needed"]
    assert needed["0.05"] == math.ceil(100 * (scenarios["medqa"]["mde"] / 0.05) ** 2)


def test_systems_that_never_differ_do_not_show_what_could_be_detected(tmp_path: Path) -> None:
    lines = ["scenario,case,system,score"]
    for case in range(10):
        right = case % 3 > 0
        lines += [f"alike,{case},{system},{int(right)}" for system in ("a", "b")]
        lines += [f"apart,{case},a,{int(right)}", f"apart,{case},b,{case % 2}"]
    (tmp_path / "scores.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shown = venire("suite", "table", "scores.csv", "--resamples", "50", cwd=tmp_path).stdout
    told = json.loads(
        venire("suite", "table", "scores.csv", "--resamples", "50", "--json", cwd=tmp_path).stdout
    )

    alike = told["scenarios"]["alike"]
    assert alike["mde"] is None and alike["cases_needed"] == {"0.05": None, "0.02": None}
    assert alike["pairs"] == [{"first": "a", "second": "b", "mde": None}]
    assert told["scenarios"]["apart"]["mde"] > 0.3
    rows = {
        line.split()[0]: line.split()[1:] for line in reversed(shown.splitlines()) if line.startswith("a")
    }
    assert rows["alike"] == ["10", "–", "–", "–"]
    assert "nan" not in shown


def test_a_board_of_nine_by_thirty_five_is_the_one_counted_by_hand(tmp_path: Path) -> None:
    scores = np.random.default_rng(3).random((9, 35))
    table = pd.DataFrame(scores, columns=[f"s{n}" for n in range(35)])
    table.insert(0, "system", [f"m{n}" for n in range(9)])
    table.to_csv(tmp_path / "scores.csv", index=False)
    found = board(load_scores(tmp_path / "scores.csv"))

    wins = (scores[:, None] > scores[None]).sum(axis=1) / 8
    assert [rates(found)[f"m{n}"] for n in range(9)] == pytest.approx(wins.mean(axis=1))
    against = (scores[:, None] > scores[None]).mean(axis=2)
    expected = [np.delete(against[n], n).std() for n in range(9)]
    assert {each.system: each.win_sd for each in found.standings} == pytest.approx(
        {f"m{n}": expected[n] for n in range(9)}
    )


@pytest.mark.parametrize("ability", [np.zeros(6), np.linspace(-0.8, 0.8, 6)], ids=["equal", "unequal"])
def test_rank_intervals_hold_the_truth(ability: np.ndarray) -> None:
    """All of a board's intervals at once, in 92 of 100 boards at least: `docs/suites.md` has the larger simulation."""
    rng = np.random.default_rng(5)
    held = 0
    for number in range(100):
        chance = 1 / (1 + np.exp(-(ability[:, None] + rng.normal(0, 0.5, 20) + rng.normal(0, 0.3, (6, 20)))))
        scores = rng.binomial(60, chance) / 60
        found = rank_intervals(scores, [None] * 20, "half", Draws(number, 200))
        best = 1 + (ability[None] > ability[:, None]).sum(axis=1)
        worst = 6 - (ability[None] < ability[:, None]).sum(axis=1)
        held += all(low <= b and w <= high for (low, high), b, w in zip(found, best, worst, strict=True))

    assert held >= 92


def test_a_published_leaderboard_is_read_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "board.csv"
    file.write_text(
        "Model,Organization,Size,Mean win rate,MedQA,PubMedQA,EHRSQL\n"
        "GPT-4o (May),OpenAI,,0.81,84.2%,0.61 ± 0.02,0.30\nClaude,Anthropic,?,0.75,80.1%,0.66 ± 0.02,-\n"
        "Llama 3,Meta,70B,0.2,70%,0.5,0.2 (0.01)\n"
    )
    found = board(load_scores(file))

    by_name = {standing.system: standing for standing in found.standings}
    assert by_name["GPT-4o (May)"].macro == pytest.approx((0.842 + 0.61 + 0.3) / 3)
    assert by_name["Claude"].scenarios == 2 and by_name["Llama 3"].macro == pytest.approx(
        (0.7 + 0.5 + 0.2) / 3
    )
    assert [*found.skipped] == ["Organization", "Size", "Mean win rate"] and found.differences == ()


def test_a_long_table_may_call_the_system_a_model_and_a_wide_one_of_ones_own_may_have_a_mean(tmp_path: Path) -> None:  # fmt: skip
    long = written(tmp_path, "Model,scenario,case,score,rank\na,one,1,0.5,2\na,one,2,0.7,2\nb,one,1,0.9,1\n")
    table = load_scores(long)
    assert table.means["one"].to_dict() == pytest.approx({"a": 0.6, "b": 0.9}) and table.left_out == {}
    own = load_scores(written(tmp_path, "system,one,Mean\na,0.5,0.7\n", "own.csv"))
    assert [*own.means.columns] == ["one", "Mean"] and own.left_out == {}
    theirs = load_scores(written(tmp_path, "Model,one,Mean\na,0.5,0.7\n", "theirs.csv"))
    assert [*theirs.means.columns] == ["one"] and [*theirs.left_out] == ["Mean"]


def world(tmp_path: Path, ahead: float, seed: int = 0, systems: str = "ab") -> Board:
    """Three scenarios of 60 cases on which the first system is right more often, by so much; the others are alike."""
    rng = np.random.default_rng(seed)
    lines = ["system,scenario,case,score"]
    for scenario in ("one", "two", "three"):
        for case in range(60):
            hard = rng.normal() * 0.1
            for system in systems:
                right = rng.random() < 0.45 + hard + ahead * (system == "a")
                lines.append(f"{system},{scenario},{case},{int(right)}")
    (tmp_path / "scores.csv").write_text("\n".join(lines))
    return board(load_scores(tmp_path / "scores.csv"), draws=Draws(0, 50))


def test_differences_have_intervals_and_the_macro_average_names_the_leader(tmp_path: Path) -> None:
    found = world(tmp_path, 0.35)
    macro, *by_scenario = found.differences

    assert found.rank_leader is None and found.leader == "a"
    assert "a leads on the macro average" in board_sentences(found)[0]
    assert macro.estimate.low < 0.35 < macro.estimate.high and macro.p_holm < 0.001
    assert [each.scenario for each in by_scenario] == ["one", "two", "three"]
    cases = load_scores(tmp_path / "scores.csv").cases
    for each in by_scenario:
        gaps = cases[each.scenario]["a"] - cases[each.scenario]["b"]
        theirs = ttest_1samp(gaps, 0)
        assert each.estimate.p == pytest.approx(theirs.pvalue)
        assert (each.estimate.low, each.estimate.high) == pytest.approx(tuple(theirs.confidence_interval()))
    standing = {each.system: each.macro for each in found.standings}
    assert macro.estimate.value == pytest.approx(standing["a"] - standing["b"])


def test_equal_systems_are_rarely_parted(tmp_path: Path) -> None:
    leaders = [world(tmp_path, 0.0, seed, "abc").leader for seed in range(30)]

    assert sum(leader is not None for leader in leaders) <= 3


def test_a_system_without_a_rate_stands_last(tmp_path: Path) -> None:
    found = board(load_scores(wide(tmp_path, {"one": [None, 0.2, 0.7], "two": [None, 0.3, 0.1]})))

    assert [each.system for each in found.standings][-1] == "a" and math.isnan(found.standings[-1].win_rate)


def test_a_pair_is_compared_on_average_only_where_both_have_every_scenario() -> None:
    rng = np.random.default_rng(0)
    cases = {name: pd.DataFrame(rng.random((8, 3)), columns=["x", "y", "z"]) for name in ("one", "two")}
    cases["two"]["z"] = np.nan
    found = system_differences(cases, whole=True)

    assert [(each.first, each.second) for each in found if each.scenario == MACRO] == [("x", "y")]
    assert {(each.scenario, each.first, each.second) for each in found if each.scenario != MACRO} == {
        ("one", "x", "y"), ("one", "x", "z"), ("one", "y", "z"), ("two", "x", "y"),
    }  # fmt: skip
    assert not [each for each in system_differences(cases, whole=False) if each.scenario == MACRO]


def test_the_detectable_effect_rests_on_the_cases_that_a_pair_shares() -> None:
    rng = np.random.default_rng(1)
    cases = pd.DataFrame(rng.random((20, 3)), columns=["x", "y", "z"])
    cases.loc[5:, "z"] = np.nan
    found = scenario_effect(cases)
    assert found is not None and found.n == 5 and len(found.pairs) == 3
    for (one, two), effect in found.pairs.items():
        gaps = (cases[one] - cases[two]).dropna()
        assert effect == pytest.approx(found.pairs["x", "y"] / (cases["x"] - cases["y"]).sem() * gaps.sem())
    assert found.mean == pytest.approx(np.mean(list(found.pairs.values())))
    assert found.cases_needed(found.mean) == 5 and found.cases_needed(found.mean / 2) == 20

    both = board_effect({"one": found, "two": found})
    assert both is not None and both.n == 10 and both.mean == pytest.approx(found.mean / math.sqrt(2))
    assert scenario_effect(cases[["x"]]) is None and board_effect({}) is None


def test_gaps_that_are_all_the_same_are_equal_only_where_they_are_nothing() -> None:
    cases = pd.DataFrame({"a": [0.75, 0.5], "b": [0.5, 0.25], "c": [0.75, 0.5]})
    same, nothing, one = (
        system_differences({"one": frame}, whole=False)[0].estimate
        for frame in (cases[["a", "b"]], cases[["a", "c"]], cases[["a", "c"]][:1])
    )
    assert (same.value, nothing.value) == (0.25, 0.0) and "by the same amount" in same.note
    assert math.isnan(same.p) and nothing.p == 1.0 and math.isnan(one.p) and "only one case" in one.note


def test_a_difference_is_the_paired_t_and_on_the_macro_average_welchs() -> None:
    """The mean of two scenarios' gaps is half the difference of the one's and the other's turned round."""
    rng = np.random.default_rng(4)
    sizes = {"long": 40, "short": 7}
    cases = {name: pd.DataFrame({"a": rng.random(n), "b": rng.random(n) * 0.8}) for name, n in sizes.items()}
    macro, *parts = system_differences(cases, whole=True)
    gaps = [frame["a"] - frame["b"] for frame in cases.values()]

    for part, gap in zip(parts, gaps, strict=True):
        theirs = ttest_1samp(gap, 0)
        low, high = theirs.confidence_interval(0.95)
        found = part.estimate
        assert (found.value, found.p, found.low, found.high) == pytest.approx((gap.mean(), theirs.pvalue, low, high))  # fmt: skip
    welch = ttest_ind(gaps[0], -gaps[1], equal_var=False)
    low, high = welch.confidence_interval(0.95)
    assert macro.estimate.p == pytest.approx(welch.pvalue)
    assert (macro.estimate.low, macro.estimate.high) == pytest.approx((low / 2, high / 2))
    assert macro.estimate.value == pytest.approx((gaps[0].mean() + gaps[1].mean()) / 2)
    assert macro.p_holm == macro.estimate.p


def test_a_macro_difference_has_an_interval_where_cases_of_a_scenario_differ_and_no_scenario_has_one_case() -> None:  # fmt: skip
    apart, alike = pd.DataFrame({"a": [0.9, 0.5, 0.4], "b": [0.2, 0.3, 0.1]}), pd.DataFrame({"a": [0.75, 0.5], "b": [0.5, 0.25]})  # fmt: skip
    (macro, *_) = system_differences({"one": apart, "two": alike}, whole=True)
    theirs = ttest_1samp(apart["a"] - apart["b"], 0)
    # Half of the one scenario's error, on its degrees of freedom; the other has none.
    half = (theirs.confidence_interval().high - theirs.confidence_interval().low) / 4
    assert macro.estimate.high - macro.estimate.value == pytest.approx(half)
    for cases in ({"one": alike, "two": alike}, {"one": apart, "two": alike[:1]}):
        macro, *_ = system_differences(cases, whole=True)
        assert math.isnan(macro.estimate.low) and math.isnan(macro.estimate.p) and macro.ahead is None
        assert "differ in too few cases" in macro.estimate.note


def test_the_leader_is_ahead_of_every_other_and_not_of_some() -> None:
    def ahead(*pairs: tuple[str, str, float, float]) -> str | None:
        found = [SystemDifference(MACRO, first, second, Estimate(value, value, value, 9, "t"), p) for first, second, value, p in pairs]  # fmt: skip
        elsewhere = SystemDifference("one", "c", "a", Estimate(1.0, 1.0, 1.0, 9, "t"), 0.001)
        return macro_leader((*found, elsewhere))

    assert ahead(("a", "b", -0.2, 0.01), ("a", "c", 0.1, 0.01), ("b", "c", 0.3, 0.01)) == "b"
    assert ahead(("a", "b", 0.2, 0.01), ("a", "c", 0.1, 0.2), ("b", "c", 0.3, 0.01)) is None
    assert ahead(("a", "b", 0.2, 0.01), ("a", "c", -0.1, 0.01), ("b", "c", 0.3, 0.01)) is None
    assert ahead() is None


def test_a_missing_rate_is_in_no_mean_of_resampled_scenarios() -> None:
    rates = np.array([[1.0, np.nan, 0.5], [0.0, 0.4, np.nan]])
    counts = np.array([[1.0, 1, 1], [2, 5, 1], [0, 3, 0]])
    expected = [[0.75, 0.2], [2.5 / 3, 2 / 7], [np.nan, 0.4]]

    assert _mean_rates(rates, counts) == pytest.approx(np.array(expected), nan_ok=True)
    assert _mean_rates(np.repeat(rates[None], 3, axis=0), counts) == pytest.approx(np.array(expected), nan_ok=True)  # fmt: skip


def test_cases_are_resampled_for_all_systems_at_once_and_a_missing_score_is_in_no_mean() -> None:
    cases = np.array([[0.0, 0.25], [1.0, np.nan], [0.5, 0.75]])
    found = _resampled_means(cases, 4000, np.random.default_rng(0))

    assert found.shape == (4000, 2) and found[:, 0].mean() == pytest.approx(0.5, abs=0.02)
    # The error of a mean of three, and of two of three: neither is that of the spread itself.
    assert found[:, 0].std() == pytest.approx(np.sqrt(1 / 6 / 3), abs=0.01)
    assert np.nanmin(found[:, 1]) == 0.25 and np.nanmax(found[:, 1]) == 0.75
    both = cases[:, [0, 0]]
    assert (np.diff(_resampled_means(both, 50, np.random.default_rng(1))) == 0).all()


def test_errors_of_differences_are_drawn_to_the_mean_of_all_with_eight_degrees() -> None:
    noise = np.zeros((2, 3, 3))
    for (a, b), spread in {(0, 1): 1.0, (0, 2): 2.0, (1, 2): 3.0}.items():
        noise[:, a, b] = noise[:, b, a] = [spread, -spread]
    variances = np.array([1.0, 4.0, 9.0]) * 7 / 6
    found = _moderated_errors(noise, 7)

    assert found[[0, 0, 1], [1, 2, 2]] == pytest.approx(np.sqrt((6 * variances + 8 * variances.mean()) / 14))
    assert _small_sample_factor(10, 3, 0.95) == pytest.approx(
        t.ppf(1 - 0.05 / 6, 10) / norm.ppf(1 - 0.05 / 6)
    )


def test_who_is_better_everywhere_is_first_and_who_is_worse_everywhere_is_last(tmp_path: Path) -> None:
    found = board(load_scores(wide(tmp_path, {f"s{n}": [0.5, 0.9, 0.1] for n in range(6)})))
    assert (found.rank_leader, found.leader) == ("b", "b")
    assert [(each.system, each.win_rate, each.macro, each.sd, each.win_sd) for each in found.standings] == [("b", 1.0, pytest.approx(0.9), pytest.approx(0), 0.0), ("a", 0.5, 0.5, 0.0, 0.5), ("c", 0.0, pytest.approx(0.1), pytest.approx(0), 0.0)]  # fmt: skip
    scores = np.array([[0.9] * 6, [0.5] * 6, [0.1] * 6])
    ranks = rank_intervals(scores, [None] * 6, "half", Draws(0, 100))
    assert ranks == [(1, 1), (2, 2), (3, 3)]
    assert rank_intervals(scores[:, :4], [None] * 4, "half", Draws(0, 100)) == [(1, 3)] * 3
    assert len(set(rank_intervals(scores[:, :5], [None] * 5, "half", Draws(0, 100)))) == 3
    assert rank_intervals(np.full((3, 6), 0.5), [None] * 6, "half", Draws(0, 100)) == [(1, 3)] * 3


@pytest.mark.parametrize(("ties", "tied"), [("half", 0.5), ("strict", 0.0), ("wins", 1.0)])
def test_a_win_rate_is_the_share_of_the_others_that_have_a_score(ties: str, tied: float) -> None:
    scores = np.array([[0.9, 0.5, np.nan], [0.4, 0.5, 0.2], [0.1, np.nan, np.nan]])
    expected = [[1.0, tied, np.nan], [0.5, tied, np.nan], [0.0, np.nan, np.nan]]
    assert scenario_win_rates(scores, ties) == pytest.approx(np.array(expected), nan_ok=True)  # type: ignore[arg-type]


def test_the_effect_on_an_average_is_that_of_independent_scenarios() -> None:
    one, two = (DetectableEffect(0.0, 0.0, pairs, n) for pairs, n in (({("a", "b"): 0.3, ("a", "c"): 0.1}, 20), ({("a", "b"): 0.4}, 30)))  # fmt: skip
    found = board_effect({"one": one, "two": two})

    assert found is not None and found.pairs == {("a", "b"): pytest.approx(0.25)} and found.n == 50
    assert (found.mean, found.cases_needed(0.125)) == (pytest.approx(0.25), 200) and math.isnan(found.sd)
    assert board_effect({}) is None
    assert board_effect({"one": one, "none": DetectableEffect(0.0, 0.0, {("b", "c"): 0.1}, 5)}) is None


def cells(table: object) -> list[tuple[str, ...]]:
    return list(zip(*([str(cell) for cell in column.cells] for column in table.columns), strict=True))  # type: ignore[attr-defined]  # fmt: skip


def test_terminal_page_table_and_document_have_the_boards_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = [f"{system},{scenario},c{case},{min(1, max(0, rng.normal(mean, 0.2))):.3f}" for scenario in ("one", "two") for system, mean in (("a", 0.7), ("b", 0.4), ("c", 0.38)) for case in range(12)]  # fmt: skip
    scores = written(tmp_path, "\n".join(["system,scenario,case,score", *rows, "a,lone,c1,0.5"]))
    columns = written(tmp_path, "scenario,category,direction\none,notes,higher\ntwo,speech,lower\n", "columns.csv")  # fmt: skip
    found = board(load_scores(scores, columns))
    costs = {"a": SystemCost(TokenCost(1, 10, 5, 3.0, 4.0), TokenCost(1, 1, 1, 0.5, 0.5)), "b": SystemCost(TokenCost(1, 1, 1, 1234.5, 2000.0)), "c": SystemCost(TokenCost(1, 1, 1, None, None))}  # fmt: skip
    document = board_json("here", found, costs)
    systems, categories, effects, differences = map(cells, board_tables(found))
    page = board_page(found, "s", ()).tables

    by_name = {each.system: each for each in found.standings}
    assert [row[0] for row in systems] == [row[0] for row in categories] == page["systems"]["system"].tolist() == list(document["systems"]) == list(by_name)  # fmt: skip
    for row, means in zip(systems, categories, strict=True):
        each, told = by_name[row[0]], document["systems"][row[0]]
        assert row[1:5] == tuple(
            f"{value:.4f}" for value in (each.win_rate, each.win_sd, each.macro, each.sd)
        )
        assert [told[name] for name in ("win_rate", "win_sd", "macro", "sd", "scenarios")] == [each.win_rate, each.win_sd, each.macro, each.sd, each.scenarios]  # fmt: skip
        assert (tuple(told["rank"]), row[6]) == (each.rank, str(each.scenarios))
        assert told["complete"] == {"win_rate": each.complete_win_rate, "macro": each.complete_macro}
        assert means[1:] == tuple(f"{told['categories'][name]:.4f}" for name in ("notes", "speech"))
        assert told["usd"] == costs[row[0]].total.usd
    assert document["skipped"].keys() == {"lone"} and document["complete_scenarios"] == 2
    for name, cases, mde, *needed in effects[:2]:
        told = document["scenarios"][name]
        assert (int(cases), told["n"]) == (12, 12) and mde == f"{told['mde']:.4f} +- {told['mde_sd']:.4f}"
        assert [number.replace(",", "") for number in needed] == [str(told["cases_needed"][at]) for at in ("0.05", "0.02")]  # fmt: skip
        assert told["cases_needed"]["0.05"] == math.ceil(12 * (told["mde"] / 0.05) ** 2)
        assert told["pairs"][0]["mde"] == found.effects[name].pairs[("a", "b")]
    table = differences_table(found).to_dict("records")
    for each, told, row in zip(found.differences, document["differences"], table, strict=True):
        value = each.estimate
        assert (told["value"], told["low"], told["high"], told["p"], told["p_holm"], told["ahead"]) == (value.value, value.low, value.high, value.p, each.p_holm, each.ahead)  # fmt: skip
        assert (row["difference"], row["low"], row["high"], row["p_holm"], row["n"]) == (value.value, value.low, value.high, each.p_holm, value.n)  # fmt: skip
    scenario, pair, gap, interval, p = differences[0]
    first = next(each for each in found.differences if each.scenario == scenario)
    assert (pair, gap, interval) == (f"{first.first} - {first.second}", f"{first.estimate.value:+.3f}", f"{first.estimate.low:.3f} to {first.estimate.high:.3f}")  # fmt: skip
    assert p == (f"{first.p_holm:.3f}" if first.p_holm >= 0.0005 else "<0.001")
    assert cells(costs_table(costs)) == [("a", "$3.00", "$0.50", "$3.50", "$4.50"), ("b", "$1,234.50", "$0.00", "$1,234.50", "$2,000.00"), ("c", "unknown", "$0.00", "unknown", "unknown")]  # fmt: skip
    said = cost_sentences(found, costs)
    assert "cost of c is unknown" in said[-1] and ("b is dominated: a" in said[0]) == (by_name["a"].win_rate >= by_name["b"].win_rate)  # fmt: skip


def test_a_system_without_a_score_neither_dominates_nor_is_dominated(tmp_path: Path) -> None:
    """`lone` costs less than any other, and nobody knows what it is worth; of the others b costs no more than c and scores higher."""
    found = board(load_scores(wide(tmp_path, {"one": [0.9, 0.5, 0.1]})))
    costs = {name: SystemCost(TokenCost(usd=usd)) for name, usd in (("a", 3.0), ("b", 1.0), ("c", 1.0), ("lone", 0.5))}  # fmt: skip

    sentences = cost_sentences(found, costs)
    assert sentences[0].startswith("c is dominated: b ") and len(sentences) == 2
    assert sentences[1] == "Systems with a cost but no score: lone."
