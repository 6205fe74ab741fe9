"""Win rates: AlpacaEval's and MT-bench's counts, Bradley and Terry's strengths, and the command that prints them."""

from __future__ import annotations

import csv
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM

from venire import VenireError
from venire.cli import app
from venire.evals.audits.win_rates import (
    merge_swapped,
    win_rates,
    win_rates_answer,
    win_rates_json,
    win_rates_sentences,
)
from venire.evals.ratings.preferences import load_preferences
from venire.evals.statistics.bradley_terry import DAVIDSON, bradley_terry, length_controlled
from venire.evals.statistics.proportion import win_rate


def table(path: Path, rows: list[dict[str, object]]) -> Path:
    if path.suffix == ".csv":
        with path.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def alpaca(preferences: list[float]) -> list[dict[str, object]]:
    """Rows as AlpacaEval writes its annotations."""
    return [
        {
            "instruction": f"q{number}",
            "generator_1": "reference",
            "generator_2": "model",
            "annotator": "judge",
            "preference": preference,
        }
        for number, preference in enumerate(preferences)
    ]


def told(file: Path, *options: str) -> dict:
    result = CliRunner().invoke(app, ["winrate", str(file), "--json", *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv"])
def test_alpacaevals_win_rate_and_standard_error(tmp_path: Path, suffix: str) -> None:
    """Its definition: the mean of preference - 1, its standard error the sample's SD over the root of n; 0 is a tie too."""
    preferences = [*np.round(np.random.default_rng(3).uniform(1, 2, 60), 4), 1.5, 0, 1, 2]
    scores = pd.Series(preferences).replace({0: 1.5}) - 1

    model = told(table(tmp_path / f"annotations{suffix}", alpaca(preferences)))["systems"]["model"]

    assert model["win_rate"]["value"] == pytest.approx(scores.mean())
    assert model["win_rate"]["se"] == pytest.approx(scores.sem())
    assert (model["wins"], model["ties"], model["losses"]) == (
        (scores > 0.5).sum(),
        (scores == 0.5).sum(),
        (scores < 0.5).sum(),
    )


def test_a_published_line_of_forty_four_wins_in_a_hundred(tmp_path: Path) -> None:
    """AlpacaEval printed 44.0 and 4.988876515698589 for 44 wins, 56 losses."""
    model = told(table(tmp_path / "a.json", alpaca([2.0] * 44 + [1.0] * 56)))["systems"]["model"]

    assert 100 * model["win_rate"]["value"] == pytest.approx(44.0)
    assert 100 * model["win_rate"]["se"] == pytest.approx(4.988876515698589)
    assert model["win_rate"]["low"] < 0.44 < model["win_rate"]["high"]


def test_mt_benchs_counts(tmp_path: Path) -> None:
    """Its rule: a tie unless both games have one winner; lines with an error are left out."""
    games = [
        ("model_1", "model_1"),
        ("model_1", "model_2"),
        ("model_1", "tie"),
        ("tie", "tie"),
        ("model_2", "model_2"),
        ("model_1", "model_1"),
        ("error", "model_1"),
    ]
    rows = [
        {"question_id": n, "turn": 1, "model_1": "a", "model_2": "b", "g1_winner": one, "g2_winner": two}
        for n, (one, two) in enumerate(games)
    ]
    file = table(tmp_path / "pairs.jsonl", rows)

    half, separate = told(file), told(file, "--ties", "separate")

    assert {key: half["systems"]["a"][key] for key in ("wins", "ties", "losses")} == {
        "wins": 2,
        "ties": 3,
        "losses": 1,
    }
    assert half["systems"]["a"]["win_rate"]["value"] == pytest.approx((2 + 1.5) / 6)
    assert separate["systems"]["a"]["win_rate"]["value"] == pytest.approx(2 / 6)
    assert separate["systems"]["b"]["win_rate"]["value"] == pytest.approx(1 / 6)
    assert told(file, "--ties", "drop")["systems"]["a"]["win_rate"]["value"] == pytest.approx(2 / 3)
    assert (half["merged"], half["without_preference"]) == (6, 1)


def test_swapped_rows_are_merged_by_name_or_by_order() -> None:
    rows = [
        ("c1", "j", "a", "b", False, 1.0), ("c1", "j", "b", "a", False, 0.0),
        ("c2", "j", "a", "b", False, 0.9), ("c2", "j", "a", "b", True, 0.4),
        ("c3", "j", "b", "a", False, 1.0), ("c3", "other", "a", "b", False, 1.0),
    ]  # fmt: skip
    found, merged = merge_swapped(
        pd.DataFrame(rows, columns=["case", "judge", "first", "second", "swapped", "share"])
    )

    assert merged == 2
    assert found.set_index(["case", "judge"])["share"].to_dict() == {
        ("c1", "j"): 1.0, ("c2", "j"): pytest.approx(0.65), ("c3", "j"): 0.0, ("c3", "other"): 1.0,
    }  # fmt: skip


def test_an_interval_has_a_width_where_every_comparison_was_won() -> None:
    found = win_rate(np.ones(20), np.arange(20))

    assert found.se == 0 and found.high == 1 and 0.8 < found.low < 0.9


def test_several_judges_of_one_case_are_not_so_many_cases() -> None:
    shares = np.repeat(np.random.default_rng(0).integers(0, 2, 30).astype(float), 4)

    one, four = win_rate(shares[::4], np.arange(30)), win_rate(shares, np.repeat(np.arange(30), 4))

    assert four.se == pytest.approx(one.se)


def test_two_players_have_half_their_log_odds() -> None:
    first, second = np.zeros(50, dtype=np.int64), np.ones(50, dtype=np.int64)
    shares = np.repeat([1.0, 0.0], [35, 15])

    one, other = bradley_terry(first, second, shares, np.arange(50), players=2)

    assert one.value == pytest.approx(math.log(35 / 15) / 2)
    assert other.value == pytest.approx(-one.value)
    assert one.se == pytest.approx(math.sqrt(1 / (49 * 0.7 * 0.3)) / 2)


def test_five_players_are_where_a_generic_optimiser_puts_them() -> None:
    rng = np.random.default_rng(6)
    first, second = np.array([rng.choice(5, 2, replace=False) for _ in range(400)]).T
    truth = np.array([1.0, 0.5, 0.0, -0.5, -1.0])
    shares = np.where(rng.random(400) < 0.15, 0.5, rng.random(400) < expit(truth[first] - truth[second]))

    def loss(strength: np.ndarray) -> float:
        gap = strength[first] - strength[second]
        return float(np.logaddexp(0, gap).sum() - (shares * gap).sum() + strength.sum() ** 2)

    best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-8}).x
    found = bradley_terry(first, second, shares, np.arange(400), players=5)

    assert [each.value for each in found] == pytest.approx(list(best), abs=1e-4)
    assert all(each.low < each.value < each.high for each in found)


@pytest.mark.parametrize("seed", range(12))
def test_strengths_and_their_errors_are_those_of_a_logistic_regression(seed: int) -> None:
    """Statsmodels' robust to cases. Its information says nothing of all strengths rising together, at whatever rounding."""
    rng = np.random.default_rng(seed)
    players, cases = int(rng.integers(2, 7)), int(rng.integers(20, 120))
    pairs = np.array([(i, j) for i in range(players) for j in range(i + 1, players)])
    first, second = np.tile(pairs, (cases, 1)).T
    cluster = np.repeat(np.arange(cases), len(pairs))
    truth = np.linspace(-0.6, 0.6, players)
    won = (rng.random(len(first)) < expit(truth[first] - truth[second])).astype(float)
    shares = np.where(rng.random(len(first)) < 0.3, 0.5, won)

    found = bradley_terry(first, second, shares, cluster, players=players)
    design = np.eye(players)[first] - np.eye(players)[second]
    kwds = {"groups": cluster, "use_correction": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Shares are no counts.
        fit = GLM(shares, design[:, 1:], family=Binomial()).fit(cov_type="cluster", cov_kwds=kwds)
    centred = (np.eye(players) - 1 / players)[:, 1:]
    errors = np.sqrt(np.diag(centred @ fit.cov_params() @ centred.T) * cases / (cases - 1))

    assert [each.value for each in found] == pytest.approx(centred @ fit.params, abs=1e-6)
    assert [each.se for each in found] == pytest.approx(errors, rel=1e-5)
    reach = stats.t(cases - 1).ppf(0.975) * errors
    assert [each.high - each.value for each in found] == pytest.approx(reach, rel=1e-5)


def test_ties_alone_do_not_show_how_far_others_would_lie_apart() -> None:
    first, second, case = np.zeros(8, int), np.ones(8, int), np.arange(8)
    for shares, cluster, why in (
        (
            np.full(8, 0.5),
            case,
            "no interval: comparisons of the same two systems always have the same result",
        ),
        (np.tile([1.0, 0.0], 4), np.zeros(8, int), "no interval: all comparisons are of one case"),
    ):
        found = bradley_terry(first, second, shares, cluster, players=2)
        assert [each.value for each in found] == pytest.approx([0, 0])
        assert all(np.isnan(each.low) and np.isnan(each.high) and each.note == why for each in found)


def test_who_never_lost_has_no_finite_strength() -> None:
    found = bradley_terry(np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3), np.arange(3), players=3)

    assert all(math.isnan(each.value) and "never lost" in each.note for each in found)


def test_the_terminal_prints_percentages_and_what_was_left_out(tmp_path: Path) -> None:
    rows = [
        {"case": "1", "first": "x", "second": "y", "preference": "tie"},
        {"case": "2", "first": "x", "second": "y", "preference": "x"},
        {"case": "3", "first": "x", "second": "y", "preference": "2"},
        {"case": "4", "first": "x", "second": "y", "preference": ""},
    ]

    printed = CliRunner().invoke(app, ["winrate", str(table(tmp_path / "p.csv", rows))]).output

    assert "50.00%" in printed and "28.87" in printed
    assert "3 comparisons; a tie counts as half a win." in printed
    assert "because no preference was recorded: 1 judgement" in printed


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"case": 1, "first": "x", "second": "y", "preference": 3}, "'3' is not a preference"),
        ({"case": 1, "first": "x", "second": "y", "probability": 1.2}, "is not from 0 to 1"),
        ({"case": 1, "first": "x", "preference": 1}, "'second' is missing"),
        ({"case": 1, "first": "x", "second": "x", "preference": 1}, "compared with itself"),
        ({"case": 1, "first": "x", "second": "y", "preferred": 1}, "the column 'preference' is missing"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, row: dict[str, object], problem: str) -> None:
    with pytest.raises(VenireError, match=problem) as raised:
        load_preferences(table(tmp_path / "bad.jsonl", [row]))

    assert raised.value.remedy


@pytest.mark.parametrize("probability", [0.8, "0,8"])
def test_a_probability_is_that_of_the_first(tmp_path: Path, probability: float | str) -> None:
    file = table(tmp_path / "p.jsonl", [{"case": 1, "first": "x", "second": "y", "probability": probability}])

    assert load_preferences(file)[0]["share"].tolist() == pytest.approx([0.8])


def test_a_file_without_a_preference_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text("")

    with pytest.raises(VenireError, match="no preference"):
        load_preferences(file)


def test_judges_of_one_case_add_no_cases_to_any_interval(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    outcomes = [
        {
            "case": str(case),
            "first": first,
            "second": second,
            "length_first": 100 + case,
            "length_second": 100,
        }
        | {"preference": str(rng.choice(["1", "2", "tie"]))}
        for case in range(24)
        for first, second in (("a", "b"), ("b", "c"), ("c", "a"))
    ]
    one = told(table(tmp_path / "one.jsonl", [{**row, "judge": "j"} for row in outcomes]))
    many = told(table(tmp_path / "many.jsonl", [{**row, "judge": j} for row in outcomes for j in "jkl"]))

    assert many["comparisons"] == 3 * one["comparisons"] == 3 * 72
    assert list(one["systems"]) == sorted(
        one["systems"], key=lambda name: -one["systems"][name]["win_rate"]["value"]
    )
    for name, record in one["systems"].items():
        for measure in ("win_rate", "bradley_terry", "davidson"):
            assert many["systems"][name][measure]["se"] == pytest.approx(record[measure]["se"], rel=1e-3)
        assert [many["systems"][name][key] for key in ("wins", "ties", "losses")] == [
            3 * record[key] for key in ("wins", "ties", "losses")
        ]
    assert {(pair["system"], pair["against"]) for pair in one["pairs"]} == {
        (x, y) for x in "abc" for y in "abc" if x != y
    }
    for pair in one["pairs"]:
        (other,) = [
            each
            for each in one["pairs"]
            if (each["system"], each["against"]) == (pair["against"], pair["system"])
        ]
        assert (pair["wins"], pair["ties"]) == (other["losses"], other["ties"])
        assert pair["win_rate"]["value"] == pytest.approx(1 - other["win_rate"]["value"])


def test_dropped_ties_are_counted_and_probabilities_have_none_to_model(tmp_path: Path) -> None:
    rows = [
        {"case": n, "first": "x", "second": "y", "preference": p}
        for n, p in enumerate(["tie", "1", "1", "2"])
    ]
    dropped = told(table(tmp_path / "p.jsonl", rows), "--ties", "drop")
    assert (dropped["dropped"], dropped["comparisons"]) == (1, 4)
    assert dropped["systems"]["x"]["win_rate"]["value"] == pytest.approx(2 / 3)

    likely = [{"case": n, "first": "x", "second": "y", "probability": 0.1 + 0.2 * n} for n in range(4)]
    found = told(table(tmp_path / "q.jsonl", likely))
    assert (
        found["dropped"] == 0
        and found["log_nu"]["value"] is None
        and "no ties to model" in found["log_nu"]["note"]
    )


def random_preferences(seed: int, systems: str = "abc") -> pd.DataFrame:
    """Both orders of some comparisons, one of others, named either way round; ties, and cases of one group."""
    rng = np.random.default_rng(seed)
    rows = []
    for case in range(16):
        for judge in "jk":
            one, two = rng.permutation(list(systems))[:2]
            for swapped in [False, True] if rng.random() < 0.5 else [bool(rng.random() < 0.5)]:
                share, length = float(rng.choice([0, 0.5, 1])), float(rng.integers(-9, 9))
                rows.append((f"c{case}", judge, one, two, swapped, share, length, f"g{case // 2}"))
    columns = ["case", "judge", "first", "second", "swapped", "share", "length", "cluster"]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.parametrize("ties", ["half", "drop", "separate"])
@pytest.mark.parametrize("seed", range(4))
def test_every_record_is_what_counting_one_comparison_after_another_gives(seed: int, ties: str) -> None:
    table = random_preferences(seed)
    outcomes: dict[tuple[str, str], list[tuple[float, str, float]]] = {}
    comparisons = merged = dropped = 0
    for (_, _, one, two), rows in table.groupby(["case", "judge", "first", "second"]):
        shares = set(rows["share"])
        share = shares.pop() if len(shares) == 1 else 0.5
        comparisons += 1
        merged += len(rows) > 1
        if ties == "drop" and share == 0.5:
            dropped += 1
            continue
        group, length = rows["cluster"].iloc[0], rows["length"].mean()
        outcomes.setdefault((one, two), []).append((share, group, length))
        outcomes.setdefault((two, one), []).append((1 - share, group, -length))

    found = win_rates(table, ties=ties)  # type: ignore[arg-type]

    assert (found.comparisons, found.merged, found.dropped) == (comparisons, merged, dropped)
    assert {(pair.system, pair.against) for pair in found.pairs} == set(outcomes)
    for record in (*found.systems, *found.pairs):
        mine = [each for (one, two), rows in outcomes.items() for each in rows if one == record.system and record.against in ("", two)]  # fmt: skip
        shares = np.array([share for share, _, _ in mine])
        assert (record.wins, record.ties, record.losses) == tuple(
            (shares == each).sum() for each in (1, 0.5, 0)
        )
        counted = (shares == 1).astype(float) if ties == "separate" else shares
        cluster = np.unique([group for _, group, _ in mine], return_inverse=True)[1]
        wanted = win_rate(counted, cluster)
        equal = length_controlled(shares, np.array([length for _, _, length in mine]), cluster)
        assert record.controlled.value == pytest.approx(equal.value, nan_ok=True)
        assert (record.rate.value, record.rate.se, record.rate.n) == pytest.approx(
            (wanted.value, wanted.se, wanted.n), nan_ok=True
        )
    rates = [record.rate.value for record in found.systems]
    assert rates == sorted(rates, reverse=True) and len(rates) == 3


def test_the_table_the_sentences_and_the_document_say_the_same() -> None:
    table = random_preferences(1)
    found = win_rates(table)
    shown, strengths = win_rates_answer(found, 2).tables.values()
    document = win_rates_json("f.csv", found, 2)

    assert list(shown.columns) == ["system", "against", "win rate", "SE", "95% interval", "won", "tied", "lost", "at equal length"]  # fmt: skip
    assert len(shown) == 3 + 6 and list(shown["system"][shown["against"] == "all"]) == [r.system for r in found.systems]  # fmt: skip
    for row in shown.to_dict("records"):
        kept = document["systems"][row["system"]] if row["against"] == "all" else next(p for p in document["pairs"] if (p["system"], p["against"]) == (row["system"], row["against"]))  # fmt: skip
        rate = kept["win_rate"]
        assert row["win rate"] == f"{100 * rate['value']:.2f}%" and row["SE"] == f"{100 * rate['se']:.2f}"
        assert row["95% interval"] == f"{100 * rate['low']:.2f} to {100 * rate['high']:.2f}"
        assert [row[name] for name in ("won", "tied", "lost")] == [str(kept[name]) for name in ("wins", "ties", "losses")]  # fmt: skip
        equal = kept["length_controlled"]["value"]
        assert row["at equal length"] == ("" if equal is None else f"{100 * equal:.2f}%")
    assert list(strengths["system"]) == [record.system for record in found.systems]
    for row in strengths.to_dict("records"):
        assert row["Bradley-Terry"].startswith(f"{found.strengths[row['system']].value:.2f}")
        assert row["Davidson"].startswith(f"{found.davidson[row['system']].value:.2f}")
    for name, record in document["systems"].items():
        assert record["bradley_terry"]["value"] == found.strengths[name].value
        assert record["davidson"]["value"] == found.davidson[name].value
    assert (document["file"], document["ties"], document["without_preference"]) == ("f.csv", "half", 2)
    assert document["log_nu"]["value"] == found.tie_odds.value and document["merged"] == found.merged

    told = " ".join(win_rates_sentences(found, 2))
    even = math.exp(found.tie_odds.value)
    assert f"{found.comparisons} comparisons; a tie counts as half a win." in told
    assert (
        f"{found.merged} of these comparisons combine two judgements" in told
        and "no preference was recorded: 2 judgements." in told
    )
    assert f"tie {even / (2 + even):.0%} of the time" in told
    plain = win_rates(table[~table["swapped"]].drop_duplicates(["case", "judge"]).drop(columns="length"))
    assert "no preference" not in " ".join(win_rates_sentences(plain, 0)) and not plain.merged
    assert "at equal length" not in win_rates_answer(plain, 0).tables[""]


def test_two_systems_have_one_row_each_and_a_half_is_a_tie_but_for_rounding() -> None:
    rows = random_preferences(2, "xy")
    shown = win_rates_answer(win_rates(rows), 0).tables[""]
    assert list(shown["against"]) == ["all", "all"]

    once = rows.drop_duplicates(["case", "judge"])
    found = win_rates(once)
    (x,) = [record for record in found.systems if record.system == "x"]
    apart = found.davidson["x"].value - found.davidson["y"].value
    assert apart == pytest.approx(math.log(x.wins / x.losses), abs=1e-5)
    nu = x.ties / math.sqrt(x.wins * x.losses)
    assert found.tie_odds.value == pytest.approx(math.log(nu), abs=1e-5)
    nearly = once.assign(share=once["share"].where(once["share"] != 0.5, 0.5 + 1e-14))
    assert win_rates(nearly, ties="drop").dropped == win_rates(once, ties="drop").dropped > 0
    likely = rows.assign(share=0.6)
    assert [record.wins + record.losses for record in win_rates(likely).systems] == [win_rates(likely).comparisons] * 2  # fmt: skip
    without_ties = [*win_rates(likely).davidson.values(), win_rates(likely).tie_odds]
    assert all("no ties to model" in each.note for each in without_ties)
    assert {(each.method, each.n) for each in without_ties} == {(DAVIDSON, win_rates(likely).comparisons)}
    tied = once.head(1).assign(case="q", first="a", second="b", share=0.5)
    last = win_rates(pd.concat([once, tied]), ties="drop").systems[2:]
    assert [(each.system, each.rate.defined) for each in last] == [("a", False), ("b", False)]


def test_turned_rows_turn_their_share_and_their_length_and_a_verdict_beside_a_probability_is_averaged() -> (
    None
):
    rows = pd.DataFrame(
        [("q1", "x", "y", 1.0, 30.0), ("q2", "y", "x", 1.0, 30.0), ("q3", "y", "x", 0.5, -4.0)],
        columns=["case", "first", "second", "share", "length"],
    ).assign(judge="j", swapped=False)
    found, merged = merge_swapped(rows)

    assert merged == 0 and set(found["first"]) == {"x"}
    assert found["share"].tolist() == [1.0, 0.0, 0.5] and found["length"].tolist() == [30.0, -30.0, 4.0]
    both = pd.DataFrame({"case": "q", "judge": "j", "first": "x", "second": "y", "swapped": [False, True], "share": [0.0, 0.7]})  # fmt: skip
    for shares, share in (([0.0, 0.7], 0.35), ([0.7, 1.0], 0.85), ([0.5, 1.0], 0.5), ([0.0, 1.0], 0.5), ([0.2, 0.4], 0.3), ([1.0, 1.0], 1.0)):  # fmt: skip
        (row,), (count,) = merge_swapped(both.assign(share=shares))[0]["share"], [merge_swapped(both)[1]]
        assert row == pytest.approx(share) and count == 1


@pytest.mark.parametrize(("ties", "told"), [("half", "2 comparisons; a tie counts as half a win."), ("drop", "2 comparisons; left out: 1 tie."), ("separate", "2 comparisons; a tie is neither won nor lost.")])  # fmt: skip
def test_the_rule_for_ties_is_said(ties: str, told: str) -> None:
    rows = pd.DataFrame({"case": ["q1", "q2"], "judge": "j", "first": "x", "second": "y", "swapped": False, "share": [1.0, 0.5]})  # fmt: skip

    assert win_rates_sentences(win_rates(rows, ties=ties), 0)[0] == told  # type: ignore[arg-type]


def test_one_case_has_a_rate_and_blanks_where_it_has_no_error() -> None:
    rows = pd.DataFrame({"case": "q1", "judge": ["i", "j"], "first": "x", "second": "y", "swapped": False, "share": [1.0, 0.5]})  # fmt: skip
    section = win_rates_answer(win_rates(rows), 0)

    assert section.name == "winrate" and section.title == "Win rates"
    first = section.tables[""].iloc[0]
    assert (first["system"], first["win rate"], first["SE"], first["95% interval"]) == ("x", "75.00%", "", "")
    assert any(sentence.startswith("No interval: all comparisons are of one case") for sentence in section.sentences)  # fmt: skip
