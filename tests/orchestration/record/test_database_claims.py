"""Claims in a database: the same run there and in a folder gives the same claims, threshold, scores and export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from command_line import venire
from postgres_cluster import Cluster

JURY = """
name: lens
protocol: decompose-verify
claims: {both_ways: true}
seats:
  - {name: extractor, extracts: true, model: lens/claims}
  - {name: lens, model: lens/claims}
"""
PLANS = [
    "Start a statin.",
    "Give iron.",
    "Check the thyroid.",
    "Stop smoking.",
    "Repeat the lipids in 8 weeks.",
]


def written_files(folder: Path) -> None:
    """Cases in which more and more of the output stands in the reference, and one person's yes or no."""
    rows, ratings = [], ["case,rater,attribute,value"]
    for number in range(8):
        shared = number % 4 + 1
        output = " ".join([*PLANS[:shared], *(f"Order test {n}." for n in range(4 - shared))])
        rows.append({"id": f"k{number}", "output": output, "reference": " ".join(PLANS[:4])})
        ratings.append(f"k{number},ana,concordant,{int(shared > 2)}")
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "human.csv").write_text("\n".join(ratings) + "\n")
    (folder / "jury.yaml").write_text(JURY)


def test_a_run_in_a_database_is_read_like_one_in_a_folder(tmp_path: Path, cluster: Cluster) -> None:
    written_files(tmp_path)
    few = ("--human", "human.csv", "--resamples", 50, "--json")

    def read(run: str) -> tuple[Any, ...]:
        judged = ("cases.jsonl", "--rubric", "concordance-econsult", "--jury", "jury.yaml")
        assert venire("run", *judged, "-o", run, "--quiet", cwd=tmp_path).returncode == 0
        made = [
            json.loads(venire(*command, cwd=tmp_path).stdout)
            for command in (
                ("claims", run, *few),
                ("threshold", run, "--score", "all", *few),
                ("compare", run, *few),
            )
        ]
        table = venire("export", run, "--to", "csv", cwd=tmp_path).stdout
        return made[0]["arms"], made[1]["out_of_fold"], made[2]["arms"], table

    assert read(cluster.url("claims")) == read("folder")
