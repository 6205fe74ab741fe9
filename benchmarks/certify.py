"""How often `venire certify` promises too much: labels drawn again and again from cases whose labels are all known.

    python benchmarks/certify.py llmbar ../shared/data/llmbar --risk 0.2 --labels 200
    python benchmarks/certify.py pandalm ../shared/data/pandalm --risk 0.3 --labels 300
    python benchmarks/certify.py simulated --risk 0.1 --labels 150 --groups 3

A world is a table of verdicts with a confidence each, and whether it is wrong. Labels are drawn from it with replacement (whole
groups where there are groups), a threshold is certified, and the promise is broken where the error among all of the
world's verdicts above the threshold exceeds the risk.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from venire.evals.inference.certificate import certificate
from venire.evals.ratings.published_data import Recording, llmbar, pandalm
from venire.evals.ratings.reference import reference
from venire.orchestration.acceptance import confidence


class World(NamedTuple):
    confidence: np.ndarray
    wrong: np.ndarray
    cluster: np.ndarray


def recorded_world(found: Recording, jurors: list[str] | None) -> World:
    """The majority of some recorded jurors; where there is none the verdict is hung, and not in the world."""
    votes = found.judgements
    if jurors is not None:
        votes = votes[votes["juror"].isin(jurors) & (votes.get("repeat", 0) == 0)]
    wide = votes.pivot(index="case", columns="juror", values="value").astype(float)
    labels = reference(found.people, found.questions).table.set_index("case")["value"].astype(float)
    wide = wide[wide.index.isin(labels.index)]
    rows = []
    groups = dict(zip(votes["case"], votes["group"], strict=True)) if "group" in votes else {}
    for case, row in zip(wide.index, wide.to_numpy(), strict=True):
        values, counts = np.unique(row[~np.isnan(row)], return_counts=True)
        if len(values) and (counts == counts.max()).sum() == 1:
            share, voted = counts.max() / counts.sum(), counts.sum() / len(row)
            sure = confidence({"support": share, "turnout": voted})
            rows.append((sure, values[counts.argmax()] != labels[case], groups.get(case, case)))
    table = pd.DataFrame(rows, columns=["confidence", "wrong", "group"]).sort_values("group", kind="stable")
    return World(
        table["confidence"].to_numpy(float), table["wrong"].to_numpy(bool), pd.factorize(table["group"])[0]
    )


def simulated_world(rng: np.random.Generator, cases: int, jurors: int, size: int) -> World:
    """Jurors of unequal accuracy on cases of unequal difficulty, which groups share in part."""
    cluster = np.repeat(np.arange(cases // size), size)
    ease = rng.normal(1.2, 1, cluster.max() + 1)[cluster] * 0.6 + rng.normal(0.5, 1, len(cluster))
    chance = 1 / (1 + np.exp(-(ease[:, None] + rng.normal(0.5, 0.5, jurors))))
    right = (rng.random(chance.shape) < chance).sum(axis=1)
    support = np.maximum(right, jurors - right) / jurors
    sure = np.array([confidence({"support": share, "turnout": 1.0}) for share in support])
    return World(sure, right < jurors - right, cluster)


def draw(world: World, labels: int, rng: np.random.Generator) -> World:
    """Labelled verdicts: whole groups, each time they are drawn a group of their own. The world stands in groups' order."""
    sizes = np.bincount(world.cluster)
    picked = rng.integers(0, len(sizes), max(1, round(labels * len(sizes) / len(world.cluster))))
    starts = np.cumsum(sizes) - sizes
    rows = np.concatenate([np.arange(starts[group], starts[group] + sizes[group]) for group in picked])
    return World(world.confidence[rows], world.wrong[rows], np.repeat(np.arange(len(picked)), sizes[picked]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("world", choices=["llmbar", "pandalm", "simulated"])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--strategy", default="Vanilla")
    parser.add_argument("--risk", type=float, default=0.1)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--labels", type=int, default=150)
    parser.add_argument("--groups", type=int, default=1, help="cases a group, where simulated")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    rng = np.random.default_rng(told.seed)
    if told.world == "llmbar":
        found = llmbar(told.folder)
        jurors = sorted(name for name in set(found.judgements["juror"]) if name.endswith(f"/{told.strategy}"))
        world = recorded_world(found, jurors)
    elif told.world == "pandalm":
        world = recorded_world(pandalm(told.folder), None)
    else:
        world = simulated_world(rng, 30_000, 5, told.groups)
    broken, certified, share = 0, 0, []
    for _ in range(told.draws):
        labelled = draw(world, told.labels, rng)
        made = certificate(*labelled, risk=told.risk, delta=told.delta, rng=rng)
        accepted = (
            world.confidence >= made.threshold
            if made.threshold is not None
            else np.zeros(len(world.wrong), bool)
        )
        certified += made.threshold is not None
        broken += bool(accepted.any() and world.wrong[accepted].mean() > told.risk)
        share.append(accepted.mean())
    print(
        f"{told.world}: {len(world.wrong)} verdicts, {world.wrong.mean():.3f} wrong; risk {told.risk:g}, delta {told.delta:g}, "
        f"{told.labels} labels: broken in {broken / told.draws:.3f} of {told.draws}, something certified in "
        f"{certified / told.draws:.3f}, accepted share {np.mean(share):.3f}"
    )


if __name__ == "__main__":
    main()
