"""Calibration, ranking and the second panel on worlds whose truth is known, and on people's own labels.

    python benchmarks/calibration.py [planted|null|ranks|rescore|labels] [--simulations 300] [--shared DIR]

`planted`: jurors see a case's quality with noise, squeeze it and shift it; how near does calibration come, out of
fold, to the error that no curve could remove? `null`: scores that need no calibration; how often is an offset, or an
improvement, found? `ranks`: how often does a 95% rank interval hold the true rank? `rescore`: arm and panel equally
near; how often is one called nearer? `labels`: one person calibrated to the label that was agreed on. Prints Markdown.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from venire.evals.audits.ranking import ranking
from venire.evals.audits.rescoring import against_panel
from venire.evals.calibration.calibrator import (
    METHODS,
    CrossValidation,
    cross_validate,
    enough,
    learning_curve,
)
from venire.evals.calibration.changes import changes
from venire.evals.calibration.labelled_scores import labelled_scores
from venire.evals.calibration.section import by_juror
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.question import Question
from venire.evals.statistics.draws import Draws
from venire.rubrics.scale import Scale

Rng = np.random.Generator
Array = np.ndarray
SHIFT, SQUEEZE, NOISE = (-1.0, -0.6, 0.4), (0.6, 0.5, 0.7), 0.45
"""Of each of three jurors: how far off, how squeezed, how noisy."""
MANY = 400_000
MEASURES = ("offset", "rmse", "spearman", "kappa_quadratic")


def main() -> None:
    """Print the tables asked for."""
    options = argparse.ArgumentParser(description="Calibration where the truth is known.")
    options.add_argument("parts", nargs="*", default=["planted", "null", "ranks", "rescore"])
    options.add_argument("--simulations", type=int, default=300)
    options.add_argument("--shared", type=Path, help="A folder with wer-is-unaware and pandalm.")
    chosen = options.parse_args()
    if "planted" in chosen.parts:
        planted(chosen.simulations)
    if "null" in chosen.parts:
        null(chosen.simulations)
    if "ranks" in chosen.parts:
        ranks(chosen.simulations)
    if "rescore" in chosen.parts:
        rescore(chosen.simulations)
    if "labels" in chosen.parts:
        labels(chosen.shared)


def likert(low: int = 1, high: int = 5) -> Scale:
    return Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(low, high + 1)}})


def evidence(
    votes: dict[str, Array], people: Array, *, scale: Scale, groups: Array | None = None
) -> Evidence:
    """One arm, `jury`, whose verdict is the mean of its jurors; one attribute."""
    cases = [f"c{number}" for number in range(len(people))]
    ballots = pd.concat(
        [
            pd.DataFrame({"arm": "jury", "case": cases, "juror": name, "seat": name, "attribute": "quality", "value": values})
            for name, values in votes.items()
        ],
        ignore_index=True,
    )  # fmt: skip
    mean = np.nanmean(np.column_stack(list(votes.values())), axis=1)
    about = pd.DataFrame({"case": cases, "group": groups, "system": None})
    return Evidence(
        arms=pd.DataFrame({"case": cases, "rater": "jury", "attribute": "quality", "value": mean}),
        people=pd.DataFrame({"case": cases, "rater": "people", "attribute": "quality", "value": people}),
        questions={"quality": Question(scale, "high")},
        cases=about,
        costs=pd.DataFrame(),
        stops=pd.DataFrame(),
        kinds={"jury": "jury"},
        ballots=ballots,
    )


def draw(rng: Rng, n: int) -> tuple[dict[str, Array], Array]:
    """Three jurors who squeeze and shift what they see, and people who do not."""
    quality = rng.normal(3.2, 1.0, n)
    people = np.clip(np.rint(quality + rng.normal(0, 0.4, n)), 1, 5)
    votes = {
        f"juror {number}": np.clip(
            np.rint(3 + squeeze * (quality - 3) + shift + rng.normal(0, NOISE, n)), 1, 5
        )
        for number, (shift, squeeze) in enumerate(zip(SHIFT, SQUEEZE, strict=True), 1)
    }
    return votes, people


def expected(key: Array, people: Array) -> Array:
    """The mean label among cases with the same key."""
    _, code = np.unique(key, axis=0, return_inverse=True)
    return (np.bincount(code, weights=people) / np.bincount(code))[code]


def rmse(first: Array, second: Array) -> float:
    return float(np.sqrt(np.mean((first - second) ** 2)))


def planted(simulations: int) -> None:
    """Out-of-fold error over the error of the true curves."""
    votes, people = draw(np.random.default_rng(0), MANY)
    truths = {name: expected(values, people) for name, values in votes.items()}
    floor = {name: rmse(curve, people) for name, curve in truths.items()}
    floor["jury, juror by juror"] = rmse(np.mean(list(truths.values()), axis=0), people)
    every = np.column_stack(list(votes.values()))
    floor["jury, directly"] = rmse(expected(every.mean(axis=1), people), people)
    print(f"Knowing all three jurors' scores of a case: RMSE {rmse(expected(every, people), people):.3f}.\n")
    print(
        "| evaluator | method | cases | before | irreducible | out of fold | ratio | offset before | after |\n|---|---|---|---|---|---|---|---|---|"
    )
    for n in (100, 300):
        for method in METHODS:
            found: dict[str, list[tuple[float, ...]]] = {}
            for seed in range(simulations):
                votes, people = draw(np.random.default_rng(seed + 1), n)
                given = evidence(votes, people, scale=likert())
                for direct in (False, True):
                    done = cross_validate(
                        labelled_scores(given, "jury", direct=direct), method=method, seed=seed
                    )
                    name = "jury, directly" if direct else "jury, juror by juror"
                    found.setdefault(name, []).append(_errors(done.scores))
                    if not direct:
                        for juror, mine in by_juror(done).groupby("juror"):
                            found.setdefault(str(juror), []).append(_errors(mine))
            for name, rows in found.items():
                before, after, was, now = np.mean(rows, axis=0)
                print(
                    f"| {name} | {method} | {n} | {before:.3f} | {floor[name]:.3f} | {after:.3f} | {after / floor[name]:.3f} "
                    f"| {was:+.2f} | {now:+.3f} |",
                    flush=True,
                )


def _errors(scores: pd.DataFrame) -> tuple[float, ...]:
    people = scores["people"].to_numpy(float)
    sides = [scores[side].to_numpy(float) for side in ("before", "after")]
    return (*(rmse(side, people) for side in sides), *(float(np.mean(side - people)) for side in sides))


def null(simulations: int) -> None:
    """Scores that need no calibration: a juror's 2, 3 or 4 is people's in the mean."""
    print(
        "\n| method | cases | offset found | improvement claimed | worsening claimed | mean change in RMSE |\n|---|---|---|---|---|---|"
    )
    for n in (60, 240):
        for method in METHODS:
            found = np.zeros(4)
            for seed in range(simulations):
                rng = np.random.default_rng(seed)
                score = rng.integers(2, 5, n).astype(float)
                people = score + rng.choice([-1.0, 0.0, 1.0], n, p=[0.3, 0.4, 0.3])
                done = cross_validate(
                    labelled_scores(evidence({"one": score}, people, scale=likert()), "jury"),
                    method=method,
                    seed=seed,
                    resamples=500,
                )
                by = {
                    each.measure: each
                    for each in changes(done.scores, Draws(seed, 500), measures=("offset", "rmse"))
                }
                level, error = by["offset"].before, done.left_alone.get("quality", by["rmse"]).change
                found += [level.low > 0 or level.high < 0, error.high < 0, error.low > 0, error.value]
            shares = found / simulations
            print(
                f"| {method} | {n} | {shares[0]:.1%} | {shares[1]:.1%} | {shares[2]:.1%} | {shares[3]:+.4f} |",
                flush=True,
            )


def ranks(simulations: int) -> None:
    """Six systems a fifth of a point apart, judged on the same inputs; and six that are equal."""
    print("\n| systems | cases each | intervals that hold the true rank | mean width |\n|---|---|---|---|")
    for apart in (0.2, 0.0):
        for n in (20, 100):
            held, width = [], []
            for seed in range(simulations):
                rng = np.random.default_rng(seed)
                easy = np.repeat(rng.normal(0, 0.7, n), 6)
                number = np.tile(np.arange(6), n)
                score = 3 - apart * number + easy + rng.normal(0, 0.7, 6 * n)
                table = pd.DataFrame(
                    {"cluster": np.repeat(np.arange(n), 6), "system": [f"s{k}" for k in number]}
                )
                sides = table.assign(before=score, after=score, people=score)
                mine = (
                    ranking(sides, seed=seed, resamples=500).query("side == 'people'").sort_values("system")
                )
                truth = np.arange(1, 7) if apart else np.full(6, 3.5)
                held.append(((mine["low"] <= truth) & (truth <= mine["high"])).mean())
                width.append((mine["high"] - mine["low"]).mean())
            told = "0.2 apart" if apart else "equal"
            print(f"| {told} | {n} | {np.mean(held):.1%} | {np.mean(width):.1f} |", flush=True)


def rescore(simulations: int) -> None:
    """An arm and a second panel that see the same quality with the same noise."""
    print("\n| measure | called nearer, either way | mean win rate |\n|---|---|---|")
    found: dict[str, list[tuple[bool, float]]] = {}
    for seed in range(simulations):
        rng = np.random.default_rng(seed)
        quality = rng.normal(3.2, 1, 40)
        first, second, arm = (np.clip(np.rint(quality + rng.normal(0, 0.5, 40)), 1, 5) for _ in range(3))
        given = evidence({"one": arm}, first, scale=likert())
        rescored = given.people.assign(rater="second", value=second)
        table = given.arms.drop(columns="rater").rename(columns={"value": "before"})
        table = table.assign(after=np.nan, people=first, cluster=table["case"], fold=0)
        duels = against_panel(replace(given, rescored=rescored), "jury", table, Draws(seed, 500))
        for row in duels[duels["attribute"] == "quality"].to_dict("records"):
            found.setdefault(str(row["measure"]), []).append(
                (row["low"] > 0 or row["high"] < 0, row["win_rate"])
            )
    for measure, rows in found.items():
        called, rate = np.mean(np.array(rows, dtype=float), axis=0)
        print(f"| {measure} | {called:.1%} | {rate:.1%} |", flush=True)


def labels(shared: Path) -> None:
    """One person, or one model, calibrated to the label that people settled on."""
    print(
        "\n| data | evaluator | method | measure | before | after | change | n | enough |\n|---|---|---|---|---|---|---|---|---|"
    )
    clinicians = pd.read_csv(shared / "wer-is-unaware/primock_data_final_outcomes.csv")
    for rater in ("clinician_a", "clinician_b"):
        _labelled(
            "wer-is-unaware",
            rater,
            clinicians[rater],
            clinicians["final_outcome"],
            clinicians["call_id"],
            likert(0, 2),
        )
    pairs = pd.read_csv(shared / "pandalm/testset_v1_with_judges.csv")
    turned = {"1": 1.0, "2": -1.0, "0": 0.0, "Tie": 0.0}
    people = (
        pairs[["annotator1", "annotator2", "annotator3"]].astype(str).apply(lambda column: column.map(turned))
    )
    group = pairs["instruction"].fillna("") + pairs["input"].fillna("")
    for rater in ("annotator1", "gpt35", "pandalm7b"):
        given = pairs[rater].astype(str).map(turned)
        known = given.notna()
        _labelled("pandalm", rater, given[known], people.median(axis=1)[known], group[known], likert(-1, 1))


def _labelled(
    data: str, rater: str, given: pd.Series, label: pd.Series, group: pd.Series, scale: Scale
) -> None:
    values = given.to_numpy(float)
    people = evidence({rater: values}, label.to_numpy(float), scale=scale, groups=group.to_numpy(object))
    for method in METHODS:
        done: CrossValidation = cross_validate(labelled_scores(people, "jury"), method=method)
        few = enough(learning_curve(done, seed=0))
        for each in changes(done.scores, Draws(0, 1000)):
            between = f"{each.change.value:+.3f} [{each.change.low:+.3f}, {each.change.high:+.3f}]"
            print(
                f"| {data} | {rater} | {method} | {each.measure} | {each.before.value:.3f} | {each.after.value:.3f} "
                f"| {between} | {each.change.n} | {few} |",
                flush=True,
            )
        curve = done.calibrator.curves_[rater, "quality"]
        at = [float(value) for value in scale.values]
        told = ", ".join(f"{a:g} -> {b:.2f}" for a, b in zip(at, curve.predict(at), strict=True))
        print(f"<!-- {data} {rater} {method}: {told} -->", flush=True)


if __name__ == "__main__":
    main()
