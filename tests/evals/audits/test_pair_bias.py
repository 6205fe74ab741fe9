"""Preferences and what they lean on: planted log-odds come back, from estimates that other programs give too."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from inspector_server import InspectorServer
from openai_server import Answer, Call, ProviderServer, filled
from rich.console import Console
from scipy.optimize import minimize
from scipy.special import expit
from server_juries import jury_at
from statsmodels.genmod.families import Binomial, Poisson
from statsmodels.genmod.generalized_linear_model import GLM

from venire import Case, Limits, Store, VenireError, load_rubric
from venire.cli import app
from venire.evals import compare
from venire.evals.audits.pair_bias import (
    Bias,
    Circles,
    biases,
    circles,
    pair_reports,
    pair_section,
    pair_sentences,
    run_preferences,
    system_matrix,
)
from venire.evals.ratings.preferences import pair_votes
from venire.evals.statistics.bradley_terry import davidson, length_controlled
from venire.evals.statistics.estimate import Estimate, undefined
from venire.orchestration.run_session import RunSession, run_session
from venire.rubrics.ratings import Rating
from venire.web.people import people_of_run

STRENGTH = {"north": 0.8, "east": 0.0, "south": -0.8}
POSITION, LABEL, TIE = 0.6, 0.3, -0.5
SYSTEMS = tuple(STRENGTH)


def chance(*parts: object) -> float:
    return int(hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:13], 16) / 16**13


def planted(call: Call) -> Any:
    """A juror whose preferences have known log-odds for system, position, label and ties."""
    first = re.search(r'\[\[exhibit "output ([AB])" begins', call.prompt)
    writer = {
        label: re.search(rf'\[\[exhibit "output {label}" begins \w+\]\]\n(\w+) writes', call.prompt)
        for label in "AB"
    }
    assert first and writer["A"] and writer["B"] and call.schema
    ahead = STRENGTH[writer["A"][1]] - STRENGTH[writer["B"][1]] + LABEL
    ahead += POSITION if first[1] == "A" else -POSITION
    odds = [math.exp(ahead / 2), math.exp(TIE), math.exp(-ahead / 2)]
    drawn = chance("planted", call.model, call.prompt) * sum(odds)
    score = -1 if drawn < odds[0] else 0 if drawn < odds[0] + odds[1] else 1
    return filled(call.schema, lambda _: score, moved_by="a quote")


def pairs(many: int) -> list[Case]:
    found = []
    for number in range(many):
        one, other = ((0, 1), (0, 2), (1, 2))[number % 3]
        row = {"id": f"{number}", "question": f"question {number // 3}"}
        for side, place in (("a", one), ("b", other)):
            length = 20 + int(100 * chance(number, side))
            row |= {
                f"system_{side}": SYSTEMS[place],
                f"output_{side}": f"{SYSTEMS[place]} writes {number} {'w' * length}",
            }
        found.append(Case.from_row(row))
    return found


def run(
    folder: Path, many: int, answer: Answer = planted, order: str = "balanced", **jury: Any
) -> dict[str, Any]:
    """What `venire winrate` says of a run of pairs."""
    with ProviderServer(answer) as server:
        seated = jury_at(server.url, "a", "b", "c", limits=Limits(max_rounds=2), **jury)
        seats = tuple(seat.model_copy(update={"order": order}) for seat in seated.seats)
        session = RunSession(
            cases=pairs(many), rubric=load_rubric("preference"), juries=[seated.model_copy(update={"seats": seats})], folder=folder
        )  # fmt: skip
        run_session(session, Console(quiet=True), quiet=True)
    result = CliRunner().invoke(app, ["winrate", str(folder), "--json"], catch_exceptions=False)
    (found,) = json.loads(result.stdout)["comparisons"]
    return found


def holds(estimate: dict[str, Any], truth: float) -> bool:
    return estimate["low"] <= truth <= estimate["high"]


def test_a_panels_planted_biases_are_recovered(tmp_path: Path) -> None:
    found = run(tmp_path / "run", 300, protocol="panel")

    seats = next(bias for bias in found["bias"] if bias["who"] == "all seats")
    votes, _ = pair_votes(Store.read(tmp_path / "run"))
    written = {(case.id, name): len(text) for case in pairs(300) for name, text in zip(case.sides, (case.output, case.output_b), strict=True) if text}  # fmt: skip
    assert all(
        row.length == written[row.case, row.a] - written[row.case, row.b] for row in votes.itertuples()
    )
    assert holds(seats["position"], POSITION) and seats["position"]["p"] < 1e-6
    assert holds(seats["label"], LABEL) and holds(seats["log_nu"], TIE) and holds(seats["length"], 0)
    assert all(holds(seats["strengths"][name], strength) for name, strength in STRENGTH.items())
    verdict = next(bias for bias in found["bias"] if bias["who"] == "verdict")
    assert verdict["position"]["value"] is None and "not identifiable" in verdict["position"]["note"]
    assert [*found["systems"]] == ["north", "east", "south"]
    assert {bias["stage"] for bias in found["bias"]} == {"final"}
    assert found["triples"] > 0
    raw = [bias["label"]["p"] for bias in found["bias"]]
    assert min(bias["label_p_holm"] for bias in found["bias"]) == pytest.approx(min(raw) * len(raw))


def test_the_inspector_has_a_matrix_of_systems_that_no_request_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(tmp_path / "run", 30, stronger, protocol="panel")

    served = InspectorServer(tmp_path / "run")
    monkeypatch.delattr("venire.evals.audits.pair_bias.compared_systems")
    with served as server:
        assert "Systems</a>" in server.ask("").text
        page = server.ask("systems").text
    rows = [re.sub("<[^>]+>", "|", row) for row in re.findall("<tr>.*?</tr>", page, re.DOTALL)]
    assert found["systems"]["north"]["win_rate"]["value"] == 1
    matrix = [[cell for cell in row.split("|") if cell.strip()] for row in rows[:4]]
    assert matrix == [
        ["system", "all others", "north", "east", "south"],
        ["north", "100% of 20", "100% of 10", "100% of 10"],
        ["east", "50% of 20", "0% of 10", "100% of 10"],
        ["south", "0% of 20", "0% of 10", "0% of 10"],
    ]


def test_before_and_after_deliberation_are_told_apart(tmp_path: Path) -> None:
    found = run(tmp_path / "run", 60, protocol="orchestrated")

    assert [(b["who"], b["stage"]) for b in found["bias"]] == [
        (who, stage) for who in ("a", "b", "c", "all seats", "verdict") for stage in ("blind", "final")
    ]
    decided = found["bias"][-1]
    assert decided["position"]["value"] is not None


def test_with_a_fixed_order_position_is_not_identifiable(tmp_path: Path) -> None:
    found = run(tmp_path / "run", 30, order="fixed", protocol="panel")

    for bias in found["bias"]:
        assert bias["position"]["value"] is None and bias["label"]["value"] is None, bias["who"]
        assert "position and label cannot be separated" in bias["position"]["note"]
    printed = CliRunner().invoke(app, ["winrate", str(tmp_path / "run")], catch_exceptions=False).output
    assert "not identifiable" in printed


def test_both_orders_show_contradictions(tmp_path: Path) -> None:
    found = run(tmp_path / "run", 30, order="both", protocol="panel")

    assert all(bias["contradictions"] > 0 for bias in found["bias"] if bias["who"] in "abc")
    assert found["bias"][0]["position"]["value"] is not None


def stronger(call: Call) -> Any:
    """A juror who always prefers the stronger system's output."""
    writer = {
        label: re.search(rf'\[\[exhibit "output {label}" begins \w+\]\]\n(\w+) writes', call.prompt)
        for label in "AB"
    }
    assert writer["A"] and writer["B"] and call.schema
    score = -1 if STRENGTH[writer["A"][1]] > STRENGTH[writer["B"][1]] else 1
    return filled(call.schema, lambda _: score, moved_by="a quote")


@pytest.mark.parametrize("words", ["systems", "letters", "numbers"])
def test_peoples_preferences_meet_the_jurys_under_whatever_labels(tmp_path: Path, words: str) -> None:
    run(tmp_path / "run", 24, stronger, protocol="panel")
    cases = pairs(24)
    assert {case.swapped for case in cases} == {True, False}
    rows = []
    for number, case in enumerate(cases):
        system = case.preferred_system(case.under_labels(-1))
        value = {"systems": system, "letters": "A", "numbers": -1}[words]
        # The row's first output is the stronger system's; every sixth person sees a tie.
        rows += [(case.id, "ana", "preference", "tie" if number % 6 == 0 and words != "numbers" else value)]
    people = pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])

    found = compare(tmp_path / "run", people)

    mine = found.confusion[
        (found.confusion["arm"] == "bench") & (found.confusion["attribute"] == "preference")
    ]
    counts = {
        (row["arm_value"], row["people_value"]): row["count"]
        for row in mine.to_dict("records")
        if row["count"]
    }
    assert found.kinds["always a tie"] == "floor" and "always a tie" in found.agreement
    shown = people_of_run(tmp_path / "run", [Rating(*row) for row in rows])
    assert [shown.median(case.id, "preference") for case in cases[1:6]] == [
        case.under_labels(-1) for case in cases[1:6]
    ]
    assert counts == ({(-1, -1): 24} if words == "numbers" else {(-1, -1): 20, (-1, 0): 4})


def comparisons(many: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, many)
    second = (first + rng.integers(1, 4, many)) % 4
    shown = rng.choice([-1.0, 1.0], many)
    ahead = np.array([0.6, 0.1, -0.2, -0.5])[first] - np.array([0.6, 0.1, -0.2, -0.5])[second] + 0.4 * shown
    odds = np.column_stack([np.exp(ahead / 2), np.full(many, 0.7), np.exp(-ahead / 2)])
    drawn = rng.random(many) * odds.sum(1)
    outcome = np.where(drawn < odds[:, 0], 1, np.where(drawn < odds[:, :2].sum(1), 0, -1))
    return first, second, outcome, shown


@pytest.mark.parametrize("seed", range(5))
def test_davidsons_estimates_and_errors_are_those_of_a_log_linear_model(seed: int) -> None:
    """As a Poisson regression with an intercept for each comparison, whose robust errors are clustered by comparison."""
    first, second, outcome, shown = comparisons(120, seed)

    found = davidson(first, second, outcome, np.arange(120), players=4, effects=shown[:, None])

    rows, counts, groups = [], [], []
    for number in range(120):
        difference = np.zeros(4)
        difference[first[number]], difference[second[number]] = 0.5, -0.5
        for result in (1, 0, -1):
            one = np.zeros(120)
            one[number] = 1
            rows.append([*(result * difference)[:3], result * shown[number] / 2, result == 0, *one])
            counts.append(outcome[number] == result)
            groups.append(number)
    fitted = GLM(np.array(counts, float), np.array(rows, float), family=Poisson()).fit(
        tol=1e-13, cov_type="cluster", cov_kwds={"groups": np.array(groups), "use_correction": False}
    )
    strengths = np.array([*fitted.params[:3], 0.0])
    assert [each.value for each in found.strengths] == pytest.approx(strengths - strengths.mean(), abs=1e-6)
    assert found.effects[0].value == pytest.approx(fitted.params[3], abs=1e-6)
    assert found.ties.value == pytest.approx(fitted.params[4], abs=1e-6)
    assert found.effects[0].se == pytest.approx(fitted.bse[3] * math.sqrt(120 / 119), rel=1e-4)


def test_two_systems_in_closed_form() -> None:
    """30 won, 20 tied, 10 lost: the log-odds of the decided ones, and ties over the geometric mean of the rest."""
    outcome = np.array([1] * 30 + [0] * 20 + [-1] * 10)
    found = davidson(np.zeros(60, int), np.ones(60, int), outcome, np.arange(60), players=2)

    assert found.strengths[0].value - found.strengths[1].value == pytest.approx(math.log(3), abs=1e-6)
    assert found.ties.value == pytest.approx(math.log(20 / math.sqrt(30 * 10)), abs=1e-6)


@pytest.mark.parametrize("outcome", [[1] * 10, [0] * 10, [1] * 9 + [0]])
def test_what_has_no_finite_value_says_so(outcome: list[int]) -> None:
    found = davidson(np.zeros(10, int), np.ones(10, int), np.array(outcome), np.arange(10), players=2)

    for estimate in (*found.strengths, found.ties):
        assert math.isfinite(estimate.value) or estimate.note


@pytest.mark.parametrize("seed", range(5))
def test_the_length_controlled_win_rate_is_that_of_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.normal(200, 600, 150)
    shares = (
        rng.uniform(0, 1, 150) if seed % 2 else (rng.random(150) < expit(0.4 + lengths / 900)).astype(float)
    )

    found = length_controlled(shares, lengths, np.arange(150))

    design = np.column_stack([np.ones(150), np.tanh(lengths / lengths.std(ddof=1))])
    fitted = GLM(shares, design, family=Binomial()).fit(tol=1e-13)
    assert found.value == pytest.approx(float(expit(fitted.params[0])), abs=1e-6)


def test_alpacaevals_rows_give_a_length_controlled_rate(tmp_path: Path) -> None:
    """By AlpacaEval's own two terms, minimised without a library for regressions."""
    rng = np.random.default_rng(2)
    rows = [
        {
            "instruction": f"q{number}",
            "output_1": "w" * int(rng.integers(50, 900)),
            "output_2": "w" * int(rng.integers(50, 1500)),
            "generator_1": "base",
            "generator_2": "model",
            "preference": float(np.round(rng.uniform(1, 2), 3)),
        }
        for number in range(80)
    ]
    (tmp_path / "annotations.json").write_text(json.dumps(rows))

    told = CliRunner().invoke(
        app, ["winrate", str(tmp_path / "annotations.json"), "--json"], catch_exceptions=False
    )

    longer = np.array([len(row["output_2"]) - len(row["output_1"]) for row in rows], float)  # type: ignore[arg-type]
    given = np.array([row["preference"] for row in rows], float) - 1

    def loss(at: np.ndarray) -> float:
        predicted = expit(at[0] + at[1] * np.tanh(longer / longer.std(ddof=1)))
        return float(-(given * np.log(predicted) + (1 - given) * np.log(1 - predicted)).sum())

    best = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-10})
    rate = json.loads(told.stdout)["systems"]["model"]["length_controlled"]["value"]
    assert rate == pytest.approx(float(expit(best.x[0])), abs=1e-6)


def test_circles_of_three_are_counted() -> None:
    def verdict(question: str, a: str, b: str, outcome: int) -> dict[str, Any]:
        return {"who": "verdict", "stage": "final", "question": question, "a": a, "b": b, "outcome": outcome}

    rows = [
        *(verdict("q1", a, b, 1) for a, b in (("x", "y"), ("y", "z"), ("z", "x"))),
        *(verdict("q2", a, b, 1) for a, b in (("x", "y"), ("y", "z"), ("x", "z"))),
        *(verdict("q3", a, b, value) for a, b, value in (("x", "y", 1), ("y", "z", 0), ("z", "x", 1))),
    ]
    found = circles(pd.DataFrame(rows))

    assert (found.circles, found.triples) == (1, 2)


def test_of_the_pairs_heard_those_without_a_verdict_are_hung_and_the_preferred_output_won() -> None:
    """Seven pairs of p and q were heard and five have a verdict: A, which p wrote, won three of them and tied one."""
    rows = [
        {"arm": "j", "attribute": "x", "who": who, "stage": stage, "case": f"c{n}", "cluster": f"c{n}", "question": "", "a": "p", "b": "q", "outcome": outcome, "shown": 1 if n % 2 else -1, "length": float(n - 2), "same": n == 4, "contradicts": False}
        for n, outcome in enumerate((1, 1, 1, 0, -1))
        for who, stage in (("verdict", "final"), ("verdict", "blind"), ("s", "final"))
    ]  # fmt: skip
    votes = pd.DataFrame(rows)
    (found,) = pair_reports(votes, {("j", "x"): 7})

    assert (found.hung, found.equal, found.rates.comparisons) == (2, 1, 5)
    rates = {record.system: (record.rate.value, record.wins, record.ties, record.losses) for record in found.rates.systems}  # fmt: skip
    assert rates == {"p": (0.7, 3, 1, 1), "q": (pytest.approx(0.3), 1, 1, 3)}
    assert run_preferences(votes)["share"].tolist() == [1.0, 1.0, 1.0, 0.5, 0.0]
    grouped = votes.assign(cluster=votes["case"].replace({"c1": "c0", "c3": "c0"}))
    assert run_preferences(grouped)["cluster"].tolist() == ["c0", "c0", "c2", "c0", "c4"]
    matrix = system_matrix(found).set_index("system")
    assert (
        matrix.loc["p", "q"] == "70% of 5"
        and matrix.loc["q", "p"] == "30% of 5"
        and matrix.loc["p", "p"] == ""
    )


def test_what_leans_on_place_or_label_is_said_of_all_seats_and_of_the_verdict_where_holms_p_is_small() -> (
    None
):
    rows = [
        {"arm": "j", "attribute": "x", "who": "verdict", "stage": "final", "case": f"c{n}", "cluster": f"c{n}", "question": "", "a": "p", "b": "q", "outcome": 1 - 2 * (n % 2), "shown": 1 if n % 3 else -1, "length": float(n), "same": n < 2, "contradicts": False}
        for n in range(12)
    ]  # fmt: skip
    (report,) = pair_reports(pd.DataFrame(rows), {("j", "x"): 12})
    strong, weak = (Estimate(value, 0.5, 1.7, 12, "m", 0.95) for value in (math.log(3), 0.6))
    none = undefined("never both orders", method="m", n=0)

    def bias(who: str, place: Estimate, label: Estimate, p_place: float, p_label: float, contradictions: int = 0) -> Bias:  # fmt: skip
        return replace(report.biases[0], who=who, position=place, label=label, length=weak, contradictions=contradictions, p_holm={"position": p_place, "label": p_label, "length": 0.5})  # fmt: skip

    given = [bias("all seats", strong, strong, 0.01, 0.06), bias("s", strong, strong, 0.01, 0.01, 3), bias("verdict", none, strong, math.nan, 0.04)]  # fmt: skip
    report = replace(report, biases=given, circles=Circles(1, 4))
    _, *told = pair_sentences(report)

    assert [sentence.split(" judgements")[0] for sentence in told[:2]] == [
        "all seats (final): between two equally good outputs, the output shown first is preferred in 75% of the",
        "verdict (final): between two equally good outputs, the output called A is preferred in 75% of the",
    ]
    assert told[2] == "verdict, position: never both orders." and told[3].startswith("1 of 4 triples")
    assert told[4].startswith("2 pairs consist of two identical outputs") and len(told) == 5
    biases = list(pair_section(report).tables.values())[2].set_index("who")
    assert biases["contradictions"].tolist() == ["", 3, ""] and biases.loc["verdict", "shown first"] == "-"
    assert biases.loc["s", "shown first":"longer"].tolist() == ["1.10 [0.50, 1.70], p 0.010", "1.10 [0.50, 1.70], p 0.010", "0.60 [0.50, 1.70], p 0.500"]  # fmt: skip


@pytest.mark.parametrize("side", [1, -1])
def test_where_one_label_is_always_shown_first_neither_place_nor_label_is_told(side: int) -> None:
    rows = [
        {"arm": "j", "attribute": "x", "who": "s", "stage": "final", "case": f"c{n}", "cluster": f"c{n}", "question": "", "a": "pq"[n % 2], "b": "qp"[n % 2], "outcome": 1 - 2 * (n % 3 == 0), "shown": side, "length": 0.0, "same": False, "contradicts": n == 2}
        for n in range(12)
    ]  # fmt: skip
    (found,) = biases(pd.DataFrame(rows))

    assert "not identifiable" in found.position.note and not found.position.defined and not found.label.defined  # fmt: skip
    assert not found.length.defined and found.contradictions == 1
    swapped = [{**row, "shown": -side} if number % 4 > 1 else row for number, row in enumerate(rows)]
    (told,) = biases(pd.DataFrame(swapped))
    assert told.position.defined and told.label.defined
    (hidden,) = biases(pd.DataFrame(rows).assign(shown=0))
    assert "different orders" in hidden.position.note and hidden.label.defined
    twice = pd.concat(
        [pd.DataFrame(swapped), pd.DataFrame(swapped).assign(case=[f"d{n}" for n in range(12)])]
    )
    (grouped,) = biases(twice)
    assert (grouped.label.value, grouped.label.se) == pytest.approx((told.label.value, told.label.se)), "a group that is heard twice is one group"  # fmt: skip


def test_arms_whose_every_comparison_is_hung_are_said_to_be(tmp_path: Path) -> None:
    """A lens measures one output, so that all of them abstain."""
    cases, run = tmp_path / "p.jsonl", str(tmp_path / "run")
    cases.write_text(json.dumps({"id": "a", "output_a": "x", "output_b": "y"}))
    run_cli = CliRunner().invoke
    run_cli(app, ["run", str(cases), "--rubric", "preference", "--jury", "lens-jury", "-o", run])

    told = run_cli(app, ["winrate", run])

    assert isinstance(told.exception, VenireError) and "no comparison has a verdict" in str(told.exception)

    jury = tmp_path / "jury.yaml"
    jury.write_text("name: heard\nprotocol: panel\nseats: [{name: a, model: scripted}]")
    run_cli(app, ["run", str(cases), "--rubric", "preference", "--jury", str(jury), "-o", run])
    assert (
        "lens-jury: preference: none of the pairs of outputs that the jury judged (1)"
        in run_cli(app, ["winrate", run]).output
    )
    found = json.loads(run_cli(app, ["winrate", run, "--json"]).stdout)
    assert found["without_preference"] == [{"arm": "lens-jury", "attribute": "preference", "pairs": 1}]


def test_repeats_that_differ_are_no_contradictions(tmp_path: Path) -> None:
    found = run(tmp_path / "run", 12, protocol="single", repeats=4)

    assert all(bias["contradictions"] == 0 for bias in found["bias"])
