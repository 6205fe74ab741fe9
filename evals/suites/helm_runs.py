"""HELM's own result folders, read without helm: scores by case, outputs and tokens of every run.

A run folder holds `run_spec.json` and `per_instance_stats.json` or `stats.json`; outputs come from `scenario_state.json` or
`display_predictions.json` where one of them is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ...orchestration.record.private_files import write_atomically
from ...rubrics.errors import InvalidFile, count_words
from ...rubrics.files import nearest, read_text
from ..report.files import csv_text
from .score_table import Direction

LARGEST = 2**30
"""Bytes of one of HELM's files."""
SPLITS = ("test", "valid")
"""Those that HELM reports, the first that a run has."""
MAIN = (
    "medec_error_flag_accuracy", "ehr_sql_execution_accuracy", "mimiciv_billing_code_f1", "medcalc_bench_accuracy",
    "chain_of_thought_correctness", "final_acc", "ifeval_strict_accuracy", "wildbench_score_rescaled", "omni_math_accuracy",
    "exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match", "classification_macro_f1", "f1_score", "rouge_l", "BERTScore-F", "rouge_2", "bleu_4", "ndcg_10", "RR@10",
)  # fmt: skip
"""Metrics that HELM's own boards show, in the order in which they are looked for; before them a jury's, such as `aci_bench_accuracy`."""
MAIN_OF = {
    "narrative_qa": ("f1_score",),
    "natural_qa": ("f1_score",),
    "quac": ("f1_score",),
    "legalbench": ("quasi_exact_match",),
    "med_qa": ("quasi_exact_match",),
    "gsm": ("final_number_exact_match", "exact_match_indicator"),
    "math": ("math_equiv_chain_of_thought", "math_equiv"),
    "wmt_14": ("bleu_4",),
}
"""What HELM's boards show for scenarios whose runs have an exact match beside it, which says little of them."""
LOWER = (
    "perplexity",
    "bits_per_byte",
    "inference_runtime",
    "toxic_frac",
    "expected_max_toxicity",
    "ece_10_bin",
    "ece_1_bin",
)
"""Metrics of which less is better."""


@dataclass(frozen=True)
class HelmRun:
    """One model on one scenario."""

    folder: Path
    scenario: str
    system: str
    metric: str
    split: str
    scores: Mapping[str, float]
    """By instance; empty where only the mean is known."""
    mean: float
    """HELM's own, or the instances' where it gives none."""
    prompt_tokens: int | None
    completion_tokens: int | None
    max_tokens: int | None
    outputs: Mapping[str, str] = field(default_factory=dict)
    targets: Mapping[str, list[str]] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    other_split: int = 0
    """Instances of another split, which are left out."""


@dataclass(frozen=True)
class HelmImport:
    """All runs below a folder, and what was left out."""

    runs: tuple[HelmRun, ...]
    notes: tuple[str, ...]


def load_helm(folder: str | Path, metrics: Sequence[str] = ()) -> HelmImport:
    """Every run below `folder`, by the first of `metrics` that it has; without any, by HELM's main one.

    Raises:
        InvalidFile: There is no run, a file is broken, or a run has none of the metrics.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InvalidFile(f"{root}: no such folder", remedy="name the folder that holds HELM's runs")
    specs = sorted(root.rglob("run_spec.json"))
    if not specs:
        raise InvalidFile(
            f"{root}: the folder and its subfolders have no file run_spec.json",
            remedy="name a folder that HELM wrote, such as benchmark_output/runs/SUITE",
        )
    runs: dict[tuple[str, str], HelmRun] = {}
    notes: list[str] = []
    for spec in specs:
        run = _load_run(spec, metrics, notes)
        if run is None:
            continue
        if (run.scenario, run.system) in runs:
            notes.append(
                f"{run.folder.name}: {run.system} has an earlier run on {run.scenario}, so this run is left out"
            )
            continue
        runs[run.scenario, run.system] = run
        if run.other_split:
            notes.append(
                f"{run.folder.name}: {count_words(run.other_split, 'instance')} left out, as in HELM, because they are not of the split {run.split}"
            )
    if not runs:
        raise InvalidFile(
            f"{root}: no run in this folder has scores",
            remedy="; ".join(notes[:3]) or "check the files stats.json",
        )
    return HelmImport(tuple(runs.values()), tuple(notes))


def metric_direction(metric: str) -> Direction:
    """Whether more of a metric is better."""
    return "lower" if metric in LOWER else "higher"


def metric_scale(runs: Iterable[HelmRun]) -> tuple[float, float] | None:
    """0 to 1, or 1 to 5 for a jury's scores; None where the values are on neither."""
    values = [value for run in runs for value in (*run.scores.values(), run.mean)]
    if all(0 <= value <= 1 for value in values):
        return 0.0, 1.0
    return (1.0, 5.0) if all(1 <= value <= 5 for value in values) else None


def _load_run(spec: Path, metrics: Sequence[str], notes: list[str]) -> HelmRun | None:
    folder, document = spec.parent, _json(spec)
    adapter = _mapping(document.get("adapter_spec") if isinstance(document, Mapping) else None, spec)
    name, system = (
        str(document.get("name") or folder.name),
        str(adapter.get("model") or adapter.get("model_deployment") or ""),
    )
    if not system:
        raise InvalidFile(
            f"{spec}: no model is named", remedy="name the model under adapter_spec.model, as HELM does"
        )
    instances = _instances(folder)
    totals = [
        (_stat_name(stat), statistic_mean(stat)) for stat in _list(folder / "stats.json") if _is_plain(stat)
    ]
    means = {(metric, split): value for (metric, split), value in totals if value is not None}
    known_metrics = {metric for _, stats in instances for metric, _ in stats} or {
        metric for metric, _ in means
    }
    if not known_metrics:
        notes.append(
            f"{folder.name}: left out, because it has no per_instance_stats.json and no stats.json with a number in it"
        )
        return None
    metric = _metric(name, known_metrics, metrics)
    split = next((candidate for candidate in SPLITS if any((metric, candidate) in stats for _, stats in instances) or (metric, candidate) in means), "")  # fmt: skip
    scores = {
        case: stats[metric, split] for case, stats in _by_case(instances).items() if (metric, split) in stats
    }
    elsewhere = len({case for case, stats in instances if (metric, split) not in stats and any(name == metric for name, _ in stats)})  # fmt: skip
    if not scores and (metric, split) not in means:
        notes.append(f"{folder.name}: left out, because {metric} has no value")
        return None
    mean = sum(scores.values()) / len(scores) if scores else means[metric, split]
    if scores and abs(means.get((metric, split), mean) - mean) > 1e-6:
        notes.append(f"{folder.name}: HELM's own mean of {metric} is {means[metric, split]:.4f}, but the mean of its instances is {mean:.4f}; the latter is used")  # fmt: skip
    outputs, targets, inputs = _outputs(folder)
    max_tokens = adapter.get("max_tokens")
    return HelmRun(
        folder=folder,
        scenario=_scenario_name(name),
        system=system,
        metric=metric,
        split=split,
        scores=scores,
        mean=mean,
        prompt_tokens=_tokens(instances, split, ("num_prompt_tokens",)),
        completion_tokens=_tokens(instances, split, ("num_output_tokens", "num_completion_tokens")),
        max_tokens=max_tokens if isinstance(max_tokens, int) else None,
        outputs={case: text for case, text in outputs.items() if not scores or case in scores},
        targets=targets,
        inputs=inputs,
        other_split=elsewhere,
    )


_Stats = dict[tuple[str, str], float]
"""Values by metric and split."""


def _instances(folder: Path) -> list[tuple[str, _Stats]]:
    """Each instance and trial with its values; those of perturbed instances are left out."""
    instances = []
    for entry in _list(folder / "per_instance_stats.json"):
        if entry.get("perturbation") is not None:
            continue
        stats = {_stat_name(stat): value for stat in entry.get("stats") or () if _is_plain(stat) and (value := statistic_mean(stat)) is not None}  # fmt: skip
        instances.append((str(entry.get("instance_id") or ""), stats))
    return instances


def _by_case(instances: Iterable[tuple[str, _Stats]]) -> dict[str, _Stats]:
    """The mean of each value over an instance's trials."""
    trials: dict[str, dict[tuple[str, str], list[float]]] = {}
    for case, stats in instances:
        for key, value in stats.items():
            trials.setdefault(case, {}).setdefault(key, []).append(value)
    return {
        case: {key: sum(values) / len(values) for key, values in by.items()} for case, by in trials.items()
    }


def _metric(run: str, known_metrics: set[str], preferred: Sequence[str]) -> str:
    if preferred:
        metric = next((metric for metric in preferred if metric in known_metrics), None)
        if metric is None:
            raise InvalidFile(
                f"{run}: no metric {', '.join(preferred)} in this run",
                remedy=nearest(preferred[0], sorted(known_metrics)),
            )
        return metric
    graded = sorted(metric for metric in known_metrics if metric.endswith("_accuracy") and metric not in MAIN)
    defaults = MAIN_OF.get(run.partition(":")[0], ())
    metric = next((metric for metric in (*graded, *defaults, *MAIN) if metric in known_metrics), None)
    if metric is None:
        raise InvalidFile(
            f"{run}: the run has no metric that HELM's leaderboards show",
            remedy=f"choose one with --metric: {', '.join(sorted(known_metrics)[:12])}",
        )
    return metric


def _outputs(folder: Path) -> tuple[dict[str, str], dict[str, list[str]], dict[str, str]]:
    """What the model wrote, the references tagged as correct, and what was asked, by instance; the first trial's."""
    outputs: dict[str, str] = {}
    targets: dict[str, list[str]] = {}
    inputs: dict[str, str] = {}
    for state in _states(folder / "scenario_state.json"):
        instance = state.get("instance") or {}
        if instance.get("perturbation") is not None:
            continue
        case, replies = str(instance.get("id") or ""), (state.get("result") or {}).get("completions") or ()
        if case and replies and case not in outputs:
            choices = state.get("output_mapping") or {}
            answer = str(replies[0].get("text") or "")
            # Where the model chose a letter, what it stands for: references are in words too.
            outputs[case] = str(choices.get(answer.strip(), answer))
            question = str((instance.get("input") or {}).get("text") or "")
            inputs[case] = "\n".join([question, *(f"{letter}. {text}" for letter, text in choices.items())])
            targets[case] = [str((reference.get("output") or {}).get("text") or "") for reference in instance.get("references") or () if "correct" in (reference.get("tags") or ())]  # fmt: skip
    if not outputs:
        for entry in _list(folder / "display_predictions.json"):
            if entry.get("perturbation") is None:
                outputs.setdefault(
                    str(entry.get("instance_id") or ""), str(entry.get("predicted_text") or "")
                )
    return outputs, targets, inputs


def _states(file: Path) -> Iterator[Mapping[str, Any]]:
    document = _json(file) if file.is_file() else {}
    states = document.get("request_states") if isinstance(document, Mapping) else None
    yield from (state for state in states or () if isinstance(state, Mapping))


def _tokens(instances: Iterable[tuple[str, _Stats]], split: str, names: Sequence[str]) -> int | None:
    """The sum over a split's instances of the first of these counts; None where some instance has none."""
    of_split = [stats for _, stats in instances if any(stat_split == split for _, stat_split in stats)]
    for name in names:
        values = [stats.get((name, split)) for stats in of_split]
        if values and all(value is not None for value in values):
            return round(sum(value or 0.0 for value in values))
    return None


def _scenario_name(run: str) -> str:
    """A run's name without the model: `mmlu:subject=philosophy`."""
    name, _, arguments = run.partition(":")
    arguments_kept = [
        argument
        for argument in arguments.split(",")
        if argument and not argument.startswith(("model=", "model_deployment="))
    ]
    return f"{name}:{','.join(arguments_kept)}" if arguments_kept else name


def _stat_name(stat: Mapping[str, Any]) -> tuple[str, str]:
    name = stat.get("name") or {}
    return str(name.get("name") or ""), str(name.get("split") or "")


def _is_plain(stat: Any) -> bool:
    """Whether a value is of the instances as they are: no perturbation, and no part of a split."""
    name = stat.get("name") if isinstance(stat, Mapping) else None
    return isinstance(name, Mapping) and name.get("perturbation") is None and name.get("sub_split") is None


def statistic_mean(stat: Mapping[str, Any]) -> float | None:
    """The mean of a statistic, or its sum by its count; None where the file gives neither."""
    count, total, mean = (stat.get(name) for name in ("count", "sum", "mean"))
    if not isinstance(count, int | float) or not count:
        return None
    if mean is None and isinstance(total, int | float):
        mean = total / count
    return float(mean) if isinstance(mean, int | float) else None


def _list(file: Path) -> list[Mapping[str, Any]]:
    """The objects in a file; none where it is not there."""
    if not file.is_file():
        return []
    document = _json(file)
    if not isinstance(document, list):
        raise InvalidFile(
            f"{file}: this is not a JSON list", remedy="name a folder with HELM's files, unchanged"
        )
    return [entry for entry in document if isinstance(entry, Mapping)]


def _mapping(adapter: Any, file: Path) -> Mapping[str, Any]:
    if not isinstance(adapter, Mapping):
        raise InvalidFile(
            f"{file}: the key adapter_spec is missing", remedy="name a folder with HELM's files, unchanged"
        )
    return adapter


def _json(file: Path) -> Any:
    try:
        return json.loads(read_text(file, largest=LARGEST))
    except ValueError as error:
        raise InvalidFile(
            f"{file}: this is not valid JSON: {error}",
            remedy="copy the folder again: the file may have been cut off",
        ) from None


def helm_tables(imported: HelmImport) -> dict[str, pd.DataFrame]:
    """`scores` and `columns` as `suite table` reads them, and `tokens`."""
    scores, columns, tokens = [], [], []
    by_scenario: dict[str, list[HelmRun]] = {}
    for run in imported.runs:
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
    integer_columns = ["prompt_tokens", "completion_tokens", "max_tokens", "calls"]
    return {
        "scores": pd.DataFrame(scores),
        "columns": pd.DataFrame(columns, columns=["scenario", "category", "direction", "low", "high"]),
        "tokens": pd.DataFrame(tokens).astype(dict.fromkeys(integer_columns, "Int64")),
    }


def write_helm(imported: HelmImport, folder: Path) -> Mapping[str, Path]:
    """Write `scores.csv`, `columns.csv`, `tokens.csv` and `outputs.jsonl`; their paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, table in helm_tables(imported).items():
        paths[name] = folder / f"{name}.csv"
        write_atomically(paths[name], csv_text(table))
    lines = [json.dumps(row) for run in imported.runs for row in _output_rows(run)]
    paths["outputs"] = folder / "outputs.jsonl"
    write_atomically(paths["outputs"], "".join(f"{line}\n" for line in lines))
    return paths


def _output_rows(run: HelmRun) -> list[dict[str, Any]]:
    return [
        {"scenario": run.scenario, "case": case, "system": run.system, "output": text, "target": run.targets.get(case, [])}
        for case, text in run.outputs.items()
    ]  # fmt: skip
