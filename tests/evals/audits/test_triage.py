"""`venire triage`: which case first and why, without labels and with them, redacted or not."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from audit_worlds import LIKERT, clinicians_evidence, evidence, pandalm_evidence, ratings, votes
from command_line import venire
from planted_run import RUBRIC, SCRIPTS, planted_case, planted_run, scripted_jury
from scipy.stats import rankdata
from written_transcripts import written_run

from venire import Case, Court, Store, VenireError
from venire.evals.audits.audit import Severity
from venire.evals.audits.triage import (
    PRIOR,
    SIGNALS,
    Docket,
    ranked_cases,
    signal_weights,
    triage,
    weighed_signals,
)
from venire.evals.audits.triage_review import (
    TRIAGED,
    areas,
    by_score,
    docket_answer,
    docket_json,
    errors,
    gains,
    run_triage,
    triage_page,
    triage_section,
)
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.question import Question
from venire.evals.ratings.score_tables import lay_marks
from venire.evals.statistics.proportion import wilson
from venire.orchestration.deliberate import hear
from venire.orchestration.runner import case_fingerprint
from venire.rubrics.scale import Scale

SAFE = {"safe": LIKERT}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted_run(tmp_path_factory.mktemp("triaged"))


def docket_of(world: Evidence, arm: str = "jury") -> pd.DataFrame:
    return triage(world, lay_marks(world), arm).cases.set_index("case")


def test_each_planted_moment_is_a_reason_and_a_calm_case_comes_last(run: Path) -> None:
    docket, told = run_triage(run, arm="stances")
    cases = docket.cases.set_index("case")
    why = {case: "\n".join(words) for case, words in cases["reasons"].items()}

    assert told is None and docket.arm == "stances"
    assert list(cases.index)[-1] in ("calm", "persuaded", "conformed")
    assert "low quoted words that are not in the case" in why["fabricated"]
    assert "chose 2 against the majority" in why["overruled"]
    assert "accurate: votes from 2 to 4" in why["overruled"]
    assert "accurate: 2, near the bad end of its scale (1)" in why["overruled"]
    assert (
        "all 3 jurors gave 5 in their first vote" in why["premature"] and "single gave 3" in why["premature"]
    )
    assert why["calm"] == "nothing unusual"
    assert cases.loc["overruled", "overruled"] == 1 and cases.loc["fabricated", "unsupported"] == 1


def test_the_order_is_the_weighted_mean_of_the_ranks() -> None:
    """Four cases, two signals: a low score puts c0 first in one, a wide spread c1 in the other."""
    cast = [votes("jury", "a", [3.0, 2.0, 4.0, 4.0]), votes("jury", "b", [3.0, 5.0, 4.0, 5.0])]
    found = docket_of(evidence(SAFE, arms=[ratings("jury", [3.0, 3.5, 4.0, 4.5])], ballots=cast))

    wanted = {
        "low_score": [7, 5, 3, 1],
        "spread": [2, 7, 2, 5],
        "risk": [3, 7, 3, 3],
        "overruled": [3, 7, 3, 3],
    }
    same = [4, 4, 4, 4]
    shares = [wanted.get(name, same) for name in SIGNALS]
    weights = [PRIOR[name] for name in SIGNALS]
    assert found["priority"].reindex(["c0", "c1", "c2", "c3"]).tolist() == pytest.approx(
        (np.average(shares, axis=0, weights=weights) / 8).tolist()
    )
    assert PRIOR["spread"] >= sum(PRIOR.values()) / 2
    assert list(found.index) == ["c1", "c0", "c2", "c3"] or found["place"]["c1"] == 1


def test_a_case_without_a_verdict_comes_first_and_says_why() -> None:
    moments = [("jury", "c2", "hung", "safe", "no verdict: too few jurors voted: 1 of the 2 that are needed")]
    world = evidence(
        SAFE,
        arms=[ratings("jury", [1.0, 5.0])],
        ballots=[votes("jury", "a", [1.0, 5.0, 3.0])],
        moments=moments,
    )
    found = docket_of(world)

    assert found.index[0] == "c2" and found.loc["c2", "undecided"]
    assert found.loc["c2", "reasons"] == (
        "safe: no verdict: too few jurors voted: 1 of the 2 that are needed",
    )


def test_a_case_that_is_hung_on_one_question_and_decided_on_another_comes_first() -> None:
    """The jurors agree on it, and in the next case they are as far apart as they can be."""
    asked = {"safe": LIKERT, "clear": LIKERT}
    world = evidence(
        asked,
        arms=[ratings("jury", [5.0, 3.0]), ratings("jury", [5.0, 3.0], "clear").iloc[1:]],
        ballots=[votes("jury", "a", [5.0, 1.0]), votes("jury", "b", [5.0, 5.0])],
        moments=[
            ("jury", "c0", "hung", "clear", "no verdict"),
            ("other", "c1", "hung", "clear", "no verdict"),
        ],
    )
    found = docket_of(world)

    assert found["undecided"].to_dict() == {"c0": True, "c1": False} and found["place"].to_dict() == {"c0": 1, "c1": 2}  # fmt: skip
    assert found.loc["c0", "priority"] < found.loc["c1", "priority"]
    assert found.loc["c0", "reasons"] == ("clear: no verdict",) and "clear: no verdict" not in found.loc["c1", "reasons"]  # fmt: skip


def test_a_juror_who_sees_harm_where_the_verdict_does_not_is_named() -> None:
    cast = [votes("jury", "a", [1.0, 4.0]), votes("jury", "b", [4.0, 4.0]), votes("jury", "c", [4.0, 4.0])]
    found = docket_of(evidence(SAFE, arms=[ratings("jury", [4.0, 4.0])], ballots=cast))

    assert found.loc["c0", "risk"] == 0.75 and found.index[0] == "c0"
    assert found.loc["c0", "reasons"] == (
        "safe: a gave 1, but the verdict is 4; if 1 is right, the verdict is a severe error",
    )


def test_what_is_harmful_and_the_three_gravest_reasons_are_taken_from_those_who_ask() -> None:
    """A vote of 3 is a mark of a half, a quarter below the verdict of 4: harmful only where that is said."""
    moments = [("jury", "c1", kind, "safe", kind) for kind in ("premature-consensus", "unsupported-evidence", "overruled", "hung")]  # fmt: skip
    cast = [votes("jury", "a", [3.0, 4.0]), votes("jury", "b", [4.0, 4.0])]
    world = evidence(SAFE, arms=[ratings("jury", [4.0, 4.0])], ballots=cast, moments=moments)
    strict = triage(world, lay_marks(world), "jury", Severity(harmful=0.5, margin=0.25)).cases.set_index("case")  # fmt: skip

    assert docket_of(world).loc["c0", "risk"] == 0 and "from 3 to 4" in docket_of(world).loc["c0", "reasons"][0]  # fmt: skip
    assert strict.loc["c0", "risk"] == 0.25 and "a gave 3, but the verdict is 4" in strict.loc["c0", "reasons"][0]  # fmt: skip
    assert triage(world, lay_marks(world), "jury", Severity(harmful=0.5, margin=0.3)).cases.set_index("case").loc["c0", "reasons"] == ("safe: votes from 3 to 4",)  # fmt: skip
    assert len(strict.loc["c1", "reasons"]) == 3 and strict.loc["c1", "reasons"][0] == "safe: hung"


def review(
    world: Evidence, arm: str = "jury", severity: Severity | None = None
) -> tuple[Docket, pd.Series, pd.Series]:
    severity = severity or Severity()
    marks = lay_marks(world)
    docket, wrong = triage(world, marks, arm, severity), errors(marks, arm, severity)
    table = areas(docket, wrong, marks)
    return docket, wrong, table[table["order"] == TRIAGED].iloc[0]


def spread_world(link: float, seed: int, n: int = 120) -> Evidence:
    rng = np.random.default_rng(seed)
    wrong = rng.random(n) < 0.25
    apart = rng.random(n) < np.where(wrong, 0.3 + link, 0.3)
    cast = [votes("jury", "a", np.full(n, 4.0)), votes("jury", "b", 4.0 - apart)]
    people = np.where(wrong, 2.0, 4.0)
    return evidence(
        SAFE, arms=[ratings("jury", np.full(n, 4.0))], people=[ratings("Ana", people)], ballots=cast
    )


def test_the_curve_and_its_area_by_hand() -> None:
    """Spread puts the two errors of four cases first: after half of the cases all are found, an area of 3/4, the best there is."""
    cast = [votes("jury", "a", [4.0, 4.0, 4.0, 4.0]), votes("jury", "b", [2.0, 2.0, 4.0, 4.0])]
    people = [ratings("Ana", [2.0, 2.0, 4.0, 4.0])]
    world = evidence(SAFE, arms=[ratings("jury", [4.0, 4.0, 4.0, 4.0])], people=people, ballots=cast)
    docket, wrong, found = review(world)

    assert (found["area"], found["best"], found["errors"], found["n"]) == (0.75, 0.75, 2, 4)
    assert gains(docket, wrong)["found"].tolist() == [0, 0.5, 1, 1, 1]


def test_a_triage_that_knows_something_beats_random_order_and_one_that_does_not_does_not() -> None:
    _, _, planted = review(spread_world(0.6, 1))
    assert planted["low"] > 0.5 and planted["p"] < 0.05

    claims = [review(spread_world(0.0, seed))[2]["p"] < 0.05 for seed in range(100, 115)]
    assert sum(claims) <= 2


def test_the_probability_of_an_error_by_score() -> None:
    scores = np.repeat([1.0, 3.0, 5.0], 20)
    people = np.where(
        np.arange(60) % 20 < np.repeat([15, 5, 0], 20), 3.0 + (scores < 3) * 2 - (scores > 2) * 2, scores
    )
    marks = lay_marks(evidence(SAFE, arms=[ratings("jury", scores)], people=[ratings("Ana", people)]))
    found = by_score(marks, "jury", errors(marks, "jury", Severity()))

    assert found["score"].tolist() == [0, 0.5, 1] and found["probability"].tolist() == [0.75, 0.25, 0]
    section = triage_section(
        evidence(SAFE, arms=[ratings("jury", scores)], people=[ratings("Ana", people)]),
        marks,
        Severity(),
    )
    assert any("more often on cases that it scores low" in words for words in section.sentences)


@pytest.mark.parametrize("people", [[4.0, 4.0, 4.0], [1.0, 1.0, 1.0]])
def test_no_error_or_nothing_else_is_said(people: list[float]) -> None:
    world = evidence(SAFE, arms=[ratings("jury", [4.0, 4.0, 4.0])], people=[ratings("Ana", people)])
    section = triage_section(world, lay_marks(world), Severity())

    assert "triage cannot be tested" in section.sentences[0]
    assert math.isnan(section.tables["areas"]["area"][0])


def test_two_clinicians_apart_are_where_the_errors_are() -> None:
    """Ten of 175 verdicts are off by a point; reviewing a fifth in triage's order finds them all."""
    docket, wrong, found = review(clinicians_evidence(), "both")

    assert (found["errors"], found["n"]) == (10, 175)
    assert found["area"] == pytest.approx(0.961, abs=5e-4) and found["best"] == pytest.approx(0.971, abs=5e-4)
    curve = gains(docket, wrong)
    assert np.interp(0.06, curve["reviewed"], curve["found"]) >= 0.85
    assert np.interp(0.22, curve["reviewed"], curve["found"]) == pytest.approx(1)


def test_pandalm_judges_who_differ_are_where_people_disagree() -> None:
    _, _, jury_of_two = review(pandalm_evidence(), "both")
    _, _, alone = review(pandalm_evidence(), "gpt35")

    assert jury_of_two["area"] == pytest.approx(0.669, abs=1e-3) and jury_of_two["low"] > 0.6
    assert alone["area"] == pytest.approx(0.516, abs=1e-3) and alone["p"] > 0.05


def test_the_command_prints_reasons_json_and_a_page(run: Path, tmp_path: Path) -> None:
    plain = venire("triage", run, "--arm", "stances", "--most", 2, cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    assert "stances: 2 of 6 cases" in plain.stdout

    ended = venire("triage", run, "--json", "-o", "page.html", cwd=tmp_path)
    found = json.loads(ended.stdout)
    assert found["arm"] == "stances" and len(found["cases"]) == 6 and found["review"] is None
    assert set(found["cases"][0]["signals"]) == set(SIGNALS) and found["cases"][0]["reasons"]
    assert max(len(case["reasons"]) for case in found["cases"]) <= 3
    assert "http" not in (tmp_path / "page.html").read_text().replace("http-equiv", "")

    unknown = venire("triage", run, "--arm", "nobody", cwd=tmp_path)
    assert unknown.returncode == 2 and "no arm 'nobody'" in unknown.stderr and "stances" in unknown.stderr


def test_labels_say_how_good_the_triage_is(run: Path, tmp_path: Path) -> None:
    truth = {"calm": 4, "premature": 4, "persuaded": 2, "fabricated": 4, "conformed": 2, "overruled": 4}
    rows = [f"{case},Ana,accurate,{value}" for case, value in truth.items()]
    (tmp_path / "people.csv").write_text("case,rater,attribute,value\n" + "\n".join(rows) + "\n")
    ended = venire(
        "triage", run, "--human", "people.csv", "--json", "--resamples", 50, "-o", "page.html", cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    review = json.loads(ended.stdout)["review"]

    (area,) = [row for row in review["tables"]["areas"] if row["order"] == TRIAGED]
    assert (area["errors"], area["n"]) == (2, 6)
    drawn = (tmp_path / "page.html").read_text()
    picture = drawn[drawn.index("<svg") : drawn.index("</svg>") + 6]
    assert ElementTree.fromstring(picture).tag.endswith("svg")

    (tmp_path / "strange.csv").write_text("case,rater,attribute,value\nnowhere,Ana,accurate,3\n")
    refused = venire("triage", run, "--human", "strange.csv", cwd=tmp_path)
    assert (
        refused.returncode == 2
        and "1 of the 1 ratings cannot be used: 1 rating left out, because no case has this id"
        in refused.stderr
    )


def test_a_run_is_triaged_by_its_first_jury_with_the_severity_and_the_people_of_who_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five cases c1 is apart and c3 hung; the lone judge, heard first, gives 3 throughout; Ana and Ben differ on c0."""
    cases = [Case(id=f"c{n}", output="x", group="g" if n < 2 else None) for n in range(5)]
    given = {"x": [3, 2, 5, None, 5], "y": [3, 4, 5, None, 4]}
    votes = {f"c{n}": {seat: {} if cast[n] is None else {"accurate": cast[n]} for seat, cast in given.items()} for n in range(5)}  # fmt: skip
    asked = RUBRIC.model_copy(update={"attributes": RUBRIC.attributes[:1]})
    run = written_run(tmp_path / "run", asked, cases, {"lone": {case.id: {"z": {"accurate": 3}} for case in cases}, "jury": votes})  # fmt: skip
    rows = [(f"c{n}", "Ana", "accurate", value) for n, value in enumerate([5, 3, 5, 1, 1])] + [("c0", "Ben", "accurate", 3), ("c0", "Cy", "accurate", 3)]  # fmt: skip
    human = pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])

    docket, told = run_triage(run)
    assert (docket.arm, told, docket.cases["case"].tolist()[:2]) == ("jury", None, ["c3", "c1"])
    assert docket.cases.set_index("case")["low_score"].to_dict() == pytest.approx({"c0": 0.5, "c1": 0.5, "c2": 0, "c3": math.nan, "c4": 0.125}, nan_ok=True)  # fmt: skip
    strict, _ = run_triage(run, severity=Severity(harmful=0.5))
    for found, risk in ((docket, 0.25), (strict, 0.25)):
        assert found.cases.set_index("case")["risk"].to_dict()["c1"] == risk
    assert "near the bad end" in strict.cases.set_index("case").loc["c0", "reasons"][0]
    for reference, wrong in ((None, 1), ("mean", 2)):
        ordered, section = run_triage(run, human=human, reference=reference, severity=Severity(margin=0.15))
        assert section is not None and ordered.arm == "jury"
        (area,) = [row for row in section.tables["areas"].to_dict("records") if row["order"] == TRIAGED]
        assert (area["errors"], area["n"]) == (wrong, 4)
        weighed, plain = (found.cases.set_index("case").sort_index()["priority"].tolist() for found in (ordered, docket))  # fmt: skip
        assert weighed != pytest.approx(plain), "labels weigh the signals"
    with pytest.raises(VenireError, match="no case and attribute in common"):
        run_triage(run, human=human[human["case"] == "c3"])
    assert set(run_triage(run, arm="lone")[0].cases["spread"]) == {0.0}

    monkeypatch.setattr("venire.evals.audits.triage_review._AT_ONCE", 2)
    pd.testing.assert_frame_equal(run_triage(run)[0].cases, docket.cases)
    document, answer = docket_json("here", docket, None, 2), docket_answer(docket, None, 2)
    assert [(row["case"], row["place"], row["undecided"]) for row in document["cases"]] == [("c3", 1, True), ("c1", 2, False)]  # fmt: skip
    ((name, table),) = answer.tables.items()
    assert name.startswith("jury: 2 of 5 cases") and table["case"].tolist() == ["c3", "c1"]
    assert table["priority"].tolist() == ["no verdict", f"{docket.cases['priority'][1]:.2f}"]
    assert "jury, the first 2 of 5 cases" in triage_page(docket, None, 2) and "jury, 5 cases" in triage_page(docket, None)  # fmt: skip


async def _redacted(folder: Path) -> Path:
    store, court = Store.create(folder / "run", redact=True), Court()
    try:
        for name in ("overruled", "fabricated"):
            sitting = scripted_jury(folder, name, SCRIPTS[name])
            manifest = {"rubric": RUBRIC.model_dump(mode="json"), "jury": sitting.model_dump(mode="json")}
            arm = await store.add_arm("stances", "stances", manifest)
            case = planted_case(name)
            await store.add(
                arm, case, case_fingerprint(case), await hear(case, RUBRIC, sitting, court), position=0
            )
    finally:
        await court.close()
        await store.close()
    return folder / "run"


def test_a_redacted_run_is_triaged_without_its_words(tmp_path: Path) -> None:
    run = asyncio.run(_redacted(tmp_path))
    docket, _ = run_triage(run)
    told = "\n".join(words for reasons in docket.cases["reasons"] for words in reasons)

    assert len(docket.cases) == 2
    assert "low quoted words that are not in the case" in told and "chose 2 against the majority" in told
    assert "penicillin" not in told


def test_an_empty_run_is_refused(tmp_path: Path) -> None:
    async def empty() -> None:
        await Store.create(tmp_path / "run").close()

    asyncio.run(empty())
    with pytest.raises(VenireError, match="no arm"):
        run_triage(tmp_path / "run")


def test_a_juror_outvoted_by_a_count_is_overruled() -> None:
    """c0: two against one; c1: all within half a step of the mean; c2: nobody differs."""
    cast = [
        votes("jury", "a", [5.0, 4.0, 3.0]), votes("jury", "b", [5.0, 4.0, 3.0]), votes("jury", "c", [1.0, 5.0, 3.0])
    ]  # fmt: skip
    found = docket_of(evidence(SAFE, arms=[ratings("jury", [5.0, 4.5, 3.0])], ballots=cast))

    assert found["overruled"].reindex(["c0", "c1", "c2"]).tolist() == [1.0, 0.0, 0.0]
    tone = Question(Scale.model_validate({"level": "nominal", "anchors": {"warm": "", "cold": ""}}), "high")
    words = [votes("jury", "a", ["warm", "warm"], attribute="tone"), *(votes("jury", name, ["cold", "warm"], attribute="tone") for name in "bc")]  # fmt: skip
    world = evidence(SAFE | {"tone": tone}, arms=[ratings("jury", [4.0, 4.0]), ratings("jury", ["warm", "warm"], "tone")], ballots=[*words, votes("jury", "a", [2.0, 4.0])])  # fmt: skip
    assert docket_of(world)["overruled"].to_dict() == {"c0": 2.0, "c1": 0.0}, "on two questions"


def noisy_signals(rng: np.random.Generator, good: int, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Shares in six signals, one of which knows the errors well and the others nothing."""
    wrong = (rng.random(n) < 0.2).astype(float)
    values = rng.standard_normal((n, len(SIGNALS)))
    values[:, good] += 1.8 * wrong
    return (values.argsort(axis=0).argsort(axis=0) + 0.5) / n, wrong


def area_of(keys: np.ndarray, wrong: np.ndarray) -> float:
    """The probability that an error stands before what is none."""
    return float((keys[wrong == 1][:, None] > keys[wrong == 0][None, :]).mean())


def test_one_good_signal_is_not_drowned_by_five_that_know_nothing() -> None:
    signals = list(SIGNALS)
    spread = signals.index("spread")
    shares, wrong = noisy_signals(np.random.default_rng(1), spread)
    cluster = np.arange(len(wrong))

    alone = area_of(shares[:, spread], wrong)
    unlabelled = area_of(weighed_signals(shares, signals, None, cluster), wrong)

    assert alone > 0.85
    assert unlabelled > alone - 0.05
    assert area_of(shares.mean(axis=1), wrong) < alone - 0.15, "which equal ranks would do"


@pytest.mark.parametrize("good", range(6))
def test_labels_weigh_each_signal_by_what_it_is_worth_on_other_cases(good: int) -> None:
    shares, wrong = noisy_signals(np.random.default_rng(good), good)

    found = area_of(weighed_signals(shares, list(SIGNALS), wrong, np.arange(len(wrong))), wrong)

    assert found > area_of(shares[:, good], wrong) - 0.06


def test_a_cases_own_label_does_not_move_it() -> None:
    """Where no signal knows anything, weights that had seen the labels would do better than chance."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(40):
        shares, wrong = rng.random((60, len(SIGNALS))), (rng.random(60) < 0.3).astype(float)
        found.append(area_of(weighed_signals(shares, list(SIGNALS), wrong, np.arange(60)), wrong))

    assert abs(float(np.mean(found)) - 0.5) < 0.03


def test_without_errors_the_weights_are_those_without_labels() -> None:
    prior = np.array(list(PRIOR.values()))

    assert signal_weights(
        np.random.default_rng(0).random((9, 6)), np.zeros(9), prior
    ).tolist() == pytest.approx((prior / prior.sum()).tolist())


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_that_is_not_known_stands_in_the_middle_and_equals_share_a_place(name: str) -> None:
    cases = ["low", "unknown", "high", "undecided", "also low"]
    signals = pd.DataFrame(dict.fromkeys(SIGNALS, 0.0), index=cases).assign(undecided=False, reasons=[()] * 5)
    signals[name] = [0.1, np.nan, 0.9, 0.1, 0.1]
    signals.loc["undecided", "undecided"] = True
    found = ranked_cases(signals, "arm", pd.Series(cases, cases)).cases

    assert found["case"].tolist() == ["undecided", "high", "unknown", "low", "also low"]
    assert found["place"].tolist() == [1, 2, 3, 4, 4]
    weight = PRIOR[name] / sum(PRIOR.values())
    # Of four known ones the ranks are 2, 2, 2 and 4, less a half, over four.
    priority = found.set_index("case")["priority"] - 0.5 * (1 - weight)
    assert priority.to_dict() == pytest.approx(
        {
            "undecided": weight * 1.5 / 4,
            "high": weight * 3.5 / 4,
            "unknown": weight / 2,
            "low": weight * 1.5 / 4,
            "also low": weight * 1.5 / 4,
        }
    )


def test_the_worst_attribute_counts_and_an_error_on_any_is_an_error() -> None:
    """On `clear` the arm is two points off in the second case, on `safe` nowhere; the third has one bad score and one good."""
    asked = {"safe": LIKERT, "clear": LIKERT}
    safe, clear = [5.0, 4.0, 5.0, 3.0], [5.0, 4.0, 1.0, 3.0]
    world = evidence(
        asked,
        arms=[ratings("jury", safe), ratings("jury", clear, "clear")],
        people=[ratings("Ana", safe), ratings("Ana", [5.0, 2.0, 1.0, 3.0], "clear")],
    )
    marks = lay_marks(world)

    assert errors(marks, "jury", Severity()).to_dict() == {"c0": 0.0, "c1": 1.0, "c2": 0.0, "c3": 0.0}
    low = triage(world, marks, "jury").cases.set_index("case")["low_score"]
    assert low.to_dict() == {"c0": 0.0, "c1": 0.25, "c2": 1.0, "c3": 0.5}


def test_signals_weigh_by_their_area_above_a_half_squared_and_few_of_either_kind_draw_them_to_the_prior() -> None:  # fmt: skip
    """Ten errors and two others: the first signal has all errors above (12 ranks: 7.5 - 1.5), the second half as far, the third none."""
    wrong = np.array([1.0] * 10 + [0.0] * 2)
    first = np.arange(12, 0, -1.0)
    second = np.array([1.0] * 5 + [0.0] * 7)
    third = np.array([0.0] * 10 + [1.0] * 2)
    shares, prior = np.column_stack([first, second, third]), np.array([1.0, 1.0, 2.0])
    ranks = [rankdata(column) for column in shares.T]
    gains_ = np.array([(rank[:10].mean() - rank[10:].mean()) / 12 for rank in ranks])
    worth = np.clip(gains_, 0, None) ** 2

    assert gains_[0] == 0.5 and gains_[1] == 0.25 and gains_[2] < 0
    wanted = (2 * worth / worth.sum() + 10 * prior / 4) / 12
    assert signal_weights(shares, wrong, prior).tolist() == pytest.approx(wanted.tolist())
    assert signal_weights(shares, 1 - wrong, prior).tolist() == pytest.approx([1 * 10 / 48, 1 * 10 / 48, (2 + 10 * 0.5) / 12])  # fmt: skip


def test_a_labelled_case_is_weighed_by_other_folds_and_an_unlabelled_one_by_all() -> None:
    rng = np.random.default_rng(4)
    shares, wrong = rng.random((40, len(SIGNALS))), (rng.random(40) < 0.4).astype(float)
    wrong[30:] = np.nan
    cluster, prior = np.arange(40) // 2, np.array([PRIOR[name] for name in SIGNALS])
    found = weighed_signals(shares, list(SIGNALS), wrong, cluster)

    all_labels = signal_weights(shares[:30], wrong[:30], prior)
    assert found[30:].tolist() == pytest.approx((shares[30:] @ all_labels).tolist())
    flipped = wrong.copy()
    flipped[:2] = 1 - flipped[:2]
    # The first group's own labels move its unlabelled and labelled fellows, and not itself.
    moved = weighed_signals(shares, list(SIGNALS), flipped, cluster)
    assert moved[:2].tolist() == pytest.approx(found[:2].tolist()) and moved[30:].tolist() != pytest.approx(found[30:].tolist())  # fmt: skip


def test_a_case_that_has_votes_and_no_verdict_comes_first_and_a_risk_is_named_with_its_own_bad_end() -> None:
    asked = {"safe": LIKERT, "risk": Question(LIKERT.scale, "low")}
    world = evidence(
        asked,
        arms=[ratings("jury", [4.0, 4.0]), ratings("jury", [5.0, 1.0], "risk")],
        ballots=[votes("jury", "a", [4.0, 4.0, 4.0])],
    )
    found = docket_of(world)
    unvoted = docket_of(
        evidence(SAFE, arms=[ratings("jury", [4.0, 4.0])], ballots=[votes("jury", "a", [1.0])])
    )
    assert unvoted["risk"].to_dict() == pytest.approx({"c0": 0.75, "c1": math.nan}, nan_ok=True)

    assert found.index[0] == "c2" and found["undecided"].to_dict() == {"c2": True, "c0": False, "c1": False}
    assert found.loc["c0", "reasons"] == ("risk: 5, near the bad end of its scale (5)",)
    assert found.loc["c1", "reasons"] == ("nothing unusual",)


def test_the_cases_of_an_arm_are_its_own_and_of_several_who_call_a_case_harmful_the_gravest_are_named() -> None:  # fmt: skip
    """Another arm voted on a third case and has a flag about a fourth; a and c gave 1, b gave 2."""
    given = [[1.0, 4.0], [2.0, 4.0], [1.0, 4.0], [4.0, 4.0]]
    cast = [votes("jury", name, scores) for name, scores in zip("abcd", given, strict=True)]
    world = evidence(
        SAFE,
        arms=[ratings("jury", [4.0, 4.0]), ratings("other", [4.0] * 4)],
        ballots=[*cast, votes("other", "a", [4.0] * 3)],
        moments=[("other", "c3", "abstention", "safe", "silent")],
    )
    found = docket_of(world)

    assert set(found.index) == {"c0", "c1"} and set(docket_of(world, "other").index) == {"c0", "c1", "c2", "c3"}  # fmt: skip
    assert found.loc["c0", "reasons"][0].startswith("safe: a and c gave 1, but the verdict is 4")


def test_cases_that_are_in_no_group_are_held_out_one_by_one() -> None:
    rng = np.random.default_rng(2)
    cases = [f"c{n}" for n in range(40)]
    signals = pd.DataFrame(rng.random((40, len(SIGNALS))), index=cases, columns=list(SIGNALS)).assign(undecided=False, reasons=[()] * 40)  # fmt: skip
    wrong = pd.Series((signals["risk"] > 0.7).astype(float), cases)
    known, unknown = (ranked_cases(signals, "arm", clusters, wrong).cases for clusters in (pd.Series(cases, cases), pd.Series(dtype=object)))  # fmt: skip

    assert unknown["priority"].tolist() == known["priority"].tolist()
    assert ranked_cases(signals, "arm", pd.Series("one", cases), wrong).cases["priority"].tolist() != known["priority"].tolist()  # fmt: skip


def test_many_scores_are_cut_into_five_groups_of_equal_size() -> None:
    scores = np.linspace(1, 5, 50)
    people = np.where(np.arange(50) % 10 < np.repeat([8, 6, 4, 2, 0], 10), np.where(scores < 3, 5.0, 1.0), scores)  # fmt: skip
    scale = Question(Scale.model_validate({"level": "interval", "minimum": 1, "maximum": 5}), "high")
    marks = lay_marks(evidence({"safe": scale}, arms=[ratings("jury", scores)], people=[ratings("Ana", people)]))  # fmt: skip
    found = by_score(marks, "jury", errors(marks, "jury", Severity()))

    assert found["n"].tolist() == [10] * 5 and found["errors"].tolist() == [8, 6, 4, 2, 0]
    assert found["from"].tolist() == pytest.approx(np.round((scores[::10] - 1) / 4, 3).tolist())
    assert found["to"].tolist() == pytest.approx(np.round((scores[9::10] - 1) / 4, 3).tolist())
    assert (found["low"][0], found["high"][0]) == pytest.approx(wilson(0.8, 10, 0.95))


def test_the_areas_are_of_the_places_and_of_each_signal_with_ties_shared_out() -> None:
    """Places 1, 2, 3, 4 with errors at the second and fourth; one signal ties the first two, another knows nothing."""
    cases = ["c0", "c1", "c2", "c3"]
    table = pd.DataFrame(dict.fromkeys(SIGNALS, 0.0), index=pd.Index(cases, name="case")).reset_index()
    table["spread"] = [0.9, 0.9, 0.1, 0.2]
    docket = Docket("jury", table.assign(arm="jury", place=[1, 2, 3, 4], priority=0.0, undecided=False, reasons=[()] * 4))  # fmt: skip
    wrong = pd.Series([0.0, 1.0, 0.0, 1.0], cases)
    marks = lay_marks(evidence(SAFE, arms=[ratings("jury", [1.0] * 4)], people=[ratings("Ana", [1.0] * 4)]))
    found = areas(docket, wrong, marks).set_index("order")

    assert gains(docket, wrong)["found"].tolist() == [0, 0, 0.5, 0.5, 1.0]
    # Under the curve of each: trapezes of width a quarter; the tie is a straight line over a half.
    assert found.loc[TRIAGED, "area"] == pytest.approx((0 + 0.25 + 0.5 + 0.75) / 4)
    assert found.loc["spread", "area"] == pytest.approx(0.25 * 0.5 + 0.75 * 0.25 + 1.0 * 0.25)
    assert found.loc["risk", "area"] == pytest.approx(0.5) and set(found["best"]) == {0.75}
