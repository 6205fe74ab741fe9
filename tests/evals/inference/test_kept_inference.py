"""Figures of whole results of this room, kept: estimates, draws, certificates, shifts, variance components, facets and fair averages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from kept_figures import check_kept
from written_transcripts import Votes, written_run

from venire import Case, Jury, Rubric
from venire.agents.cost import Receipt
from venire.evals import load_ratings
from venire.evals.inference.certificate import certificate
from venire.evals.inference.dstudy import (
    REPEATS,
    _repeats_sentence,
    _shares_row,
    _vote_variances,
    dstudy_answer,
    dstudy_json,
    run_dstudy,
    study,
    verdict_variances,
)
from venire.evals.inference.estimates import estimates_answer, estimates_json, run_estimates
from venire.evals.inference.facets import facets_answer, facets_json, facets_page, rating_facets, run_facets
from venire.evals.inference.fair_count import learn_severities
from venire.evals.inference.labelled_verdicts import labelled_verdicts
from venire.evals.inference.labelling import Labelling, draw_labels, even_draw, labelling_of, load_draw
from venire.evals.inference.prediction_powered import (
    Rectified,
    rectified_difference,
    rectified_mean,
    rectified_quantile,
    rectified_slopes,
)
from venire.evals.inference.run_certificate import (
    apply_rule,
    certificate_answer,
    certificate_json,
    run_certificate,
)
from venire.evals.inference.shift import run_shift, shift_test
from venire.evals.report.section import Section, records
from venire.orchestration.counting.rule import Tally
from venire.orchestration.record import Store

KEPT = Path(__file__).parent / "kept"


@contextmanager
def reading(run: Path) -> Iterator[Store]:
    store = Store.read(run)
    yield store
    store.release()


def section(found: Section) -> dict[str, Any]:
    tables = {name: records(table) for name, table in found.tables.items()}
    return {"sentences": found.sentences, "tables": tables, "notes": found.notes, "methods": found.methods}


def rectified(found: Rectified) -> dict[str, Any]:
    return {**asdict(found), "worth": found.worth}


def test_estimates(wide: Path, tmp_path: Path) -> None:
    """Labels of half the cases, as at random and as drawn by strata and by doubt; hung verdicts with and without a label."""
    people = load_ratings(wide / "people.csv")
    some = people[people["case"].isin([f"c{number}" for number in range(40) if number % 5 not in (1, 3)])]
    with reading(wide / "run") as store:
        verdicts = labelled_verdicts(store, None).of("bench", "thorough")
    draws = {}
    for design in ("random", "stratified", "active"):
        drawn = draw_labels(verdicts, 22, design, np.random.default_rng(3))
        drawn.to_csv(tmp_path / f"{design}.csv", index=False)
        draws[design] = load_draw(tmp_path / f"{design}.csv")
    with reading(wide / "run") as store:
        results = {
            "means": run_estimates(store, some),
            **{design: run_estimates(store, some, arm="bench", draw=draw) for design, draw in draws.items()},
            "along": run_estimates(store, some, attribute="risk", quantiles=[0.25, 0.9], slopes=["output_length"]),
            "systems": run_estimates(store, some, arm="panel", systems=("x", "z"), reference="mean"),
            "arms": run_estimates(store, some, against="single"),
        }  # fmt: skip
    check_kept(
        KEPT / "estimates.json",
        {
            "draws": {name: records(draw) for name, draw in draws.items()},
            **{name: estimates_json("run", found) for name, found in results.items()},
            "shown": section(estimates_answer(results["means"])),
        },
    )


def test_the_verdicts_that_labels_are_held_against(wide: Path) -> None:
    with reading(wide / "run") as store:
        found = labelled_verdicts(store, load_ratings(wide / "people.csv"), rule="majority")
    check_kept(
        KEPT / "labelled_verdicts.json",
        {
            "notes": found.notes,
            "all": found.table,
            **{f"{arm}, {name}": found.of(arm, name) for arm in ("bench", "panel", "single") for name in ("plan", "tone")},
        },
    )  # fmt: skip


def test_means_quantiles_and_slopes_of_tables() -> None:
    """Sixty cases in groups of one to four, three strata of unequal chances, scores that are biased and now and then missing."""
    rng = np.random.default_rng(11)
    n = 60
    truth = rng.integers(1, 6, n).astype(float)
    scores = np.clip(truth + rng.normal(0.4, 0.8, n), 1, 5).round(1)
    scores[rng.random(n) < 0.1] = np.nan
    cluster = np.repeat(np.arange(n), rng.integers(1, 5, n))[:n]
    stratum = rng.integers(0, 3, n)
    chance = np.array([0.3, 0.5, 0.9])[stratum]
    known = rng.random(n) < chance
    labels = np.where(known, truth, np.nan)
    designs = {
        "random": Labelling.random(known),
        "groups": Labelling.random(known, cluster),
        "strata": Labelling(known, 1 / chance, stratum, cluster),
        "active": Labelling(known, 1 / rng.uniform(0.2, 1, n), np.zeros(n, dtype=np.int64), np.arange(n)),
    }
    left, right = stratum != 1, (stratum == 1) | (rng.random(n) < 0.2)
    numbers = {}
    for name, design in designs.items():
        numbers[name] = {
            "design": design.design,
            "mean": rectified(rectified_mean(labels, scores, design)),
            "on a scale": rectified(rectified_mean(labels, scores, design, ends=(1, 5), confidence=0.8)),
            "at an end": rectified(rectified_mean(labels * 0 + 5, scores, design, ends=(1, 5))),
            "full power": rectified(rectified_mean(labels, scores, design, power=1.0, normal=True)),
            "clipped": rectified(rectified_mean(labels, -scores, design, clip=(-0.6, 1))),
            "difference": rectified(rectified_difference(labels, scores, design, left, right, confidence=0.9)),
            "quantile": rectified(rectified_quantile(labels, scores, design, 0.3)),
            "median": rectified(rectified_quantile(labels, scores, design, 0.5, power=0.5, normal=True)),
        }  # fmt: skip
    columns = np.column_stack([np.ones(n), rng.normal(0, 1, n), rng.normal(3, 1, n)])
    for name in ("random", "groups"):
        settings: list[dict[str, Any]] = [
            {},
            {"power": 0.7, "normal": True},
            {"coordinate": 2, "confidence": 0.8},
        ]
        numbers[name]["slopes"] = [[rectified(one) for one in rectified_slopes(labels, scores, columns, designs[name], **each)] for each in settings]  # fmt: skip
    few = Labelling.random(np.arange(n) < 4)
    numbers["few"] = [rectified(rectified_mean(labels, scores, few)), *map(rectified, rectified_slopes(labels, scores, columns, few))]  # fmt: skip
    check_kept(KEPT / "prediction_powered.json", numbers)


RUBRIC = Rubric.model_validate(
    {
        "name": "note",
        "version": 1,
        "scales": {
            "agree5": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
            "kind": {"level": "nominal", "anchors": {"plain": "a", "odd": "b"}},
        },
        "attributes": [
            {"name": "accurate", "question": "Is it?", "scale": "agree5"},
            {"name": "risk", "question": "Is it?", "scale": "agree5", "better": "low"},
            {"name": "tone", "question": "Which?", "scale": "kind"},
        ],
    }
)


def panel_run(folder: Path, seats: str, size: int, *, shift: float = 0.0, grouped: bool = False, anew: int = 0) -> Path:  # fmt: skip
    """Votes about the truth of a case, `number % 5 + 1`, by every third case with much noise. Some say nothing."""
    rng = np.random.default_rng(size)
    cases = [
        Case(id=f"c{n}", output=f"Text {n}{' anew' if n < anew else ''}.", system="xyz"[n % 3], group=f"g{n * 2 // 3}" if grouped else None)
        for n in range(size)
    ]  # fmt: skip
    votes: Votes = {}
    for n in range(size):
        noise = 0.1 if n % 3 else 1.1
        drawn = {seat: rng.normal(n % 5 + 1 + shift, noise, 3) for seat in seats}
        votes[f"c{n}"] = {
            seat: {"accurate": int(np.clip(round(a), 1, 5)), "risk": int(np.clip(round(6 - b), 1, 5)), "tone": "odd" if c > 3 else "plain"}
            if n % 19 or seat == "a" else {}
            for seat, (a, b, c) in drawn.items()
        }  # fmt: skip
    return written_run(folder, RUBRIC, cases, {"jury": votes}, quorum=2)


def moved_run(folder: Path) -> Path:
    """Three jurors on thirty cases, two of whom may come nearer to each other in a second round; each ballot has a price. A judge stands before the jury."""
    rng = np.random.default_rng(12)
    cases = [Case(id=f"c{n}", output=f"Text {n}.", group=f"g{n // 2}") for n in range(30)]
    first: Votes = {
        f"c{n}": {seat: {"accurate": int(rng.integers(1, 6)), "risk": 1 + n % 5, "tone": "odd"} for seat in "abc"}
        for n in range(30)
    }  # fmt: skip
    second: Votes = {
        f"c{n}": {seat: {"accurate": int(np.clip(n % 5 + 1 + rng.integers(-1, 2), 1, 5))} for seat in "ab"}
        for n in range(30) if n % 3
    }  # fmt: skip
    judge: Votes = {f"c{n}": {"j": {"accurate": 3, "risk": 1 + n % 4, "tone": "plain"}} for n in range(30)}
    spent = Receipt(calls=("k",), prompt=90, completion=10, usd=0.25)
    return written_run(folder, RUBRIC, cases, {"judge": judge, "jury": first}, spent=spent, revised={"jury": second})  # fmt: skip


def panel_people(size: int, step: int = 1) -> pd.DataFrame:
    rows = [
        (f"c{n}", rater, name, value)
        for n in range(0, size, step)
        for rater in ("ana", "ben")
        for name, value in (("accurate", n % 5 + 1), ("risk", 5 - n % 5), ("tone", "odd" if n % 5 > 1 else "plain"))
        if rater == "ana" or n % 2
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])


def test_certificates(tmp_path: Path) -> None:
    plain = panel_run(tmp_path / "plain", "abc", 100)
    grouped = panel_run(tmp_path / "grouped", "abc", 102, grouped=True)
    people = panel_people(102)
    others = panel_people(100, 2)
    with reading(plain) as store:
        verdicts = labelled_verdicts(store, None).of("jury", "accurate")
        drawn = {design: draw_labels(verdicts, 60, design, np.random.default_rng(5)) for design in ("stratified", "active")}  # fmt: skip
    results = {
        "all": run_certificate(plain, panel_people(100), risk=0.1),
        "half": run_certificate(plain, others, risk=0.15, delta=0.2, attribute="accurate"),
        "within": run_certificate(plain, others, risk=0.1, within=1.0, attribute="risk", reference="mean"),
        "grouped": run_certificate(grouped, people, risk=0.3, delta=0.1, attribute="accurate", seed=4),
        
        **{design: run_certificate(plain, panel_people(100), risk=0.2, draw=draw, attribute="accurate", seed=2) for design, draw in drawn.items()},
    }  # fmt: skip
    later = panel_run(tmp_path / "later", "abc", 40, shift=0.4)
    results["applied"] = apply_rule(later, results["all"].rule, seed=3)
    results["applied to itself"] = apply_rule(plain, results["half"].rule, arm="jury")
    check_kept(
        KEPT / "certificates.json",
        {
            name: {**certificate_json("run", found), "rule": found.rule.model_dump(mode="json"), "shown": section(certificate_answer(found))}
            for name, found in results.items()
        },
        without="judged_by",
    )  # fmt: skip


def test_certificates_of_tables() -> None:
    """Tied confidences, more than forty levels, groups; errors the more often the less sure."""
    rng = np.random.default_rng(2)
    n = 300
    sure = rng.random(n)
    wrong = rng.random(n) < 0.3 * (1 - sure) ** 2
    cluster = np.repeat(np.arange(n), rng.integers(1, 4, n))[:n]
    results = [
        certificate(confidence, wrong, groups, risk=risk, delta=delta, rng=np.random.default_rng(1))
        for confidence in (sure, sure.round(1))
        for groups in (np.arange(n), cluster)
        for risk in (0.02, 0.03, 0.05, 0.1, 0.3)
        for delta in (0.05, 0.2)
    ]
    check_kept(
        KEPT / "certificate_tables.json", [{**asdict(each), "fewest": each.fewest} for each in results]
    )


def test_shifts_between_runs_and_samples(tmp_path: Path) -> None:
    before = panel_run(tmp_path / "before", "abc", 40, grouped=True)
    now = panel_run(tmp_path / "now", "abd", 34, shift=0.5, anew=5, grouped=True)
    shift = run_shift(now, before)
    same = run_shift(before, before, arm="jury")
    rng = np.random.default_rng(8)
    old = {"score": rng.normal(0, 1, 40), "words": rng.choice(["a", "b", "c"], 40), "gap": np.where(rng.random(40) < 0.2, np.nan, 1.0)}  # fmt: skip
    new = {"score": rng.normal(0.6, 1, 25), "words": rng.choice(["a", "b", "d"], 25), "gap": np.where(rng.random(25) < 0.4, np.nan, 1.0)}  # fmt: skip
    samples = [
        shift_test({name: old[name] for name in names}, new, np.arange(40) // size, np.arange(25) // size, np.random.default_rng(4))
        for names in (["score"], ["words"], ["gap"], ["score", "words", "gap"])
        for size in (1, 3)
    ]  # fmt: skip
    check_kept(
        KEPT / "shifts.json",
        {
            "runs": [{**asdict(each), "sentences": each.sentences} for each in (shift, same)],
            "samples": [{**asdict(each), "sentence": each.sentence} for each in samples],
        },
    )


def test_jurors_who_move(tmp_path: Path) -> None:
    """First ballots and last ones apart: how verdicts came about, variances with what a ballot costs, harshness, and a rule kept for one of two arms."""
    folder = moved_run(tmp_path / "run")
    with reading(folder) as store:
        verdicts = labelled_verdicts(store, None)
        studies = [run_dstudy(store), run_dstudy(store, arm="jury", attribute="accurate"), run_dstudy(store, arm="judge")]  # fmt: skip
        facets = {stage: run_facets(store, stage=stage) for stage in ("first", "final")}  # type: ignore[arg-type]
        rule = run_certificate(store, panel_people(30), risk=0.5, delta=0.4, arm="jury").rule
        again = {arm: apply_rule(store, rule, arm=arm) for arm in (None, "jury")}
    check_kept(
        KEPT / "moved.json",
        {
            "verdicts": verdicts.table,
            "dstudy": [dstudy_json("run", found) for found in studies],
            "facets": {stage: facets_json("run", found) for stage, found in facets.items()},
            "rule": rule.model_dump(mode="json"),
            "applied": {str(arm): certificate_json("run", found) for arm, found in again.items()},
        },
        without="judged_by",
    )


def test_variance_components(wide: Path) -> None:
    """Of a run's arms, and of deliberations repeated unequally often."""
    with reading(wide / "run") as store:
        studies = [run_dstudy(store), run_dstudy(store, arm="panel", attribute="risk"), run_dstudy(store, arm="single")]  # fmt: skip
    rng = np.random.default_rng(6)
    rows = [
        (case, juror, repeat, float(np.round(4 * quality + harsh + rng.normal())))
        for case, quality in enumerate(rng.random(14))
        for juror, harsh in zip("abc", (-1, 0, 1.5), strict=True)
        for repeat in range(1 + case % 3)
    ]
    votes = pd.DataFrame(rows, columns=["case", "juror", "repeat", "value"])
    shares = {
        "votes": _shares_row(votes, _vote_variances),
        "verdicts": _shares_row(votes[votes["juror"] == "a"], verdict_variances),
    }
    whole = votes[votes["repeat"] == 0]
    check_kept(
        KEPT / "variance_components.json",
        {
            "runs": [dstudy_json("run", found) for found in studies],
            "shown": [section(dstudy_answer(found)) for found in studies],
            "ragged": asdict(study(votes, "accurate", "final", 0.02)),
            "balanced": asdict(study(whole, "accurate", "first")),
            "said": study(votes, "accurate", "final", 0.02).sentence,
            "shares": shares,
            "sentence": _repeats_sentence("jury", "accurate", shares["verdicts"]),
            "repeats": REPEATS,
        },
    )


def test_facets(wide: Path) -> None:
    """Jurors, jurors among people, people alone; blind ballots; steps of each attribute and of all."""
    people = load_ratings(wide / "people.csv")
    with reading(wide / "run") as store:
        results = {
            "bench": run_facets(store),
            "panel among people": run_facets(store, arm="panel", human=people, model="partial-credit"),
            "blind": run_facets(store, arm="bench", stage="first"),
        }
    results["people"] = rating_facets(people)
    page = facets_page("run", results["bench"])
    check_kept(
        KEPT / "facets.json",
        {
            **{name: facets_json("run", found) for name, found in results.items()},
            "shown": section(facets_answer(results["bench"])),
            "page": page[page.index("<svg") :],
        },
    )


def test_fair_averages() -> None:
    """Three jurors of unequal harshness, one of them asked twice, some of the votes missing; one attribute is too small to learn from."""
    rng = np.random.default_rng(9)
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "quorum": 2, "seats": [{"name": name, "model": "scripted/none"} for name in "abc"]})  # fmt: skip
    tallies = []
    for attribute, size in (("accurate", 24), ("risk", 7), ("tone", 12)):
        scale = RUBRIC.scale_of(attribute)
        for case in range(size):
            drawn = {juror: round(float(np.clip(case % 5 + 1 + bias + rng.normal(0, 0.7), 1, 5))) for juror, bias in (("a", 0.8), ("b", -0.9), ("c", 0.0), ("a#2", 0.8))}  # fmt: skip
            cast = {juror: vote if scale.ordered else "odd" for juror, vote in drawn.items() if rng.random() < 0.8 or juror == "b"}  # fmt: skip
            tallies.append(Tally(f"c{case}", attribute, scale, cast, None, jury))
    count = learn_severities(tallies)
    check_kept(KEPT / "fair_averages.json", [count(tally)._asdict() for tally in tallies])


def test_draws_and_what_they_weigh(wide: Path) -> None:
    with reading(wide / "run") as store:
        verdicts = labelled_verdicts(store, load_ratings(wide / "people.csv"))
    table = verdicts.of("bench", "plan")
    ways = table.set_index("case")["way"]
    results: dict[str, Any] = {}
    for design in ("random", "stratified", "active"):
        for number in (3, 15, 40):
            draw = draw_labels(table, number, design, np.random.default_rng(number))
            even, words = even_draw(draw, 40, np.random.default_rng(1))
            labelling, notes = labelling_of(table, draw.iloc[: number - 1], ways)
            weights = {"labelled": labelling.labelled.tolist(), "weight": labelling.weight.tolist(), "stratum": labelling.stratum.tolist(), "cluster": labelling.cluster.tolist()}  # fmt: skip
            results[f"{design}, {number}"] = [draw, sorted(even), words, weights, notes, labelling.design]
    check_kept(KEPT / "draws.json", results)
