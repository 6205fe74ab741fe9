"""Imported HELM runs as files that suites read: scores, their scales, outputs and tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ...orchestration.record.atomic_write import write_atomically
from ..ratings.csv_text import csv_text
from ..suites.helm_runs import HelmImport, HelmRun, metric_direction, metric_scale


def helm_tables(found: HelmImport) -> dict[str, pd.DataFrame]:
    """`scores` and `columns` as `suite table` reads them, and `tokens`."""
    scores, columns, tokens = [], [], []
    by_scenario: dict[str, list[HelmRun]] = {}
    for run in found.runs:
        by_scenario.setdefault(run.scenario, []).append(run)
        rows = run.scores.items() if run.scores else [("", run.mean)]
        scores += [{"system": run.system, "scenario": run.scenario, "case": case, "score": value, "metric": run.metric} for case, value in rows]  # fmt: skip
        tokens.append(
            {
                "system": run.system,
                "scenario": run.scenario,
                "prompt_tokens": run.prompt_tokens,
                "completion_tokens": run.completion_tokens,
                "max_tokens": run.max_tokens,
                "calls": len(run.scores) or None,
            }
        )
    for scenario, runs in by_scenario.items():
        scale = metric_scale(runs)
        low, high = ("", "") if scale is None else scale
        direction = (
            "none"
            if scale is None and metric_direction(runs[0].metric) == "higher"
            else metric_direction(runs[0].metric)
        )
        if scale is not None or direction == "none":
            columns.append({"scenario": scenario, "category": scenario.partition(":")[0], "direction": direction, "low": low, "high": high})  # fmt: skip
    whole = ["prompt_tokens", "completion_tokens", "max_tokens", "calls"]
    return {
        "scores": pd.DataFrame(scores),
        "columns": pd.DataFrame(columns, columns=["scenario", "category", "direction", "low", "high"]),
        "tokens": pd.DataFrame(tokens).astype(dict.fromkeys(whole, "Int64")),
    }


def write_helm(found: HelmImport, folder: Path) -> Mapping[str, Path]:
    """Write `scores.csv`, `columns.csv`, `tokens.csv` and `outputs.jsonl`; their paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, table in helm_tables(found).items():
        written[name] = folder / f"{name}.csv"
        write_atomically(written[name], csv_text(table))
    lines = [json.dumps(row) for run in found.runs for row in _output_rows(run)]
    written["outputs"] = folder / "outputs.jsonl"
    write_atomically(written["outputs"], "".join(f"{line}\n" for line in lines))
    return written


def _output_rows(run: HelmRun) -> list[dict[str, Any]]:
    return [
        {"scenario": run.scenario, "case": case, "system": run.system, "output": text, "target": run.targets.get(case, [])}
        for case, text in run.outputs.items()
    ]  # fmt: skip
