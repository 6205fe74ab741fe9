"""The HELM plug-in, in HELM itself: what its own files hold."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from openai_server import ProviderServer
from plugin_hosts import CANARY, OPPOSITES, assert_never_mixed, prompts_read, run_program, show_reference

HELM = Path(os.environ.get("VENIRE_HELM", ROOT / ".venvs" / "helm"))
"""An environment of HELM's own: it needs torch."""
pytestmark = pytest.mark.skipif(
    not (HELM / "bin" / "helm-run").exists(), reason=f"HELM is not in {HELM}: make helm"
)


@pytest.fixture
def example(examples: Path) -> Path:
    return examples / "helm" / "summaries.py"


def run_helm(example: Path, server: ProviderServer) -> Path:
    """Run the example on HELM's own model for tutorials; the folder with HELM's files."""
    out = example.parent
    command = [
        HELM / "bin" / "helm-run",
        "--plugins",
        example,
        "--run-entries",
        "summaries:model=simple/model1",
    ]
    ended = run_program(
        *command, "--suite", "s", "--max-eval-instances", "10", "--output-path", out, "--local-path", out / "local",
        cwd=out, JUROR="server/juror", JUROR_URL=server.url, HF_HUB_OFFLINE="1",
    )  # fmt: skip
    found = list(out.glob("runs/s/summaries*"))
    assert found, ended.stdout + ended.stderr
    return found[0]


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / f"{name}.json").read_text())


def test_scores_arrive_in_helms_own_files_and_a_hung_case_has_none(
    example: Path, server: ProviderServer
) -> None:
    folder = run_helm(example, server)

    fever, wrist = (
        {stat["name"]["name"]: stat["mean"] for stat in instance["stats"]}
        for instance in read(folder, "per_instance_stats")
    )
    assert (fever["venire_accurate"], fever["venire_thorough"], fever["venire_accurate_hung"]) == (4, 5, 0)
    assert "venire_accurate" not in wrist
    assert (wrist["venire_accurate_hung"], wrist["venire_abstentions"]) == (1, 2)
    overall = {
        stat["name"]["name"]: stat for stat in read(folder, "stats") if "perturbation" not in stat["name"]
    }
    assert (overall["venire_accurate"]["mean"], overall["venire_accurate"]["count"]) == (4, 1)
    assert overall["venire_accurate_hung"]["mean"] == 0.5
    states = read(folder, "scenario_state")["request_states"]
    assert states[1]["annotations"]["venire"]["deliberation"]["verdict"]["accurate"]["value"] is None


def test_juries_of_opposite_scores_are_never_mixed(example: Path, server: ProviderServer) -> None:
    before, _, after = example.read_text().partition("    annotators, metrics = jury_specs(")
    juries = f"""    annotators, metrics = [], []
    for name in {[*OPPOSITES]}:
        rubric, jury = (str(HERE.parent / file) for file in ("rubric.yaml", "jury.yaml"))
        parts = jury_specs(rubric, jury, name=name, model=f"server/{{name}}", base_url=os.environ["JUROR_URL"])
        annotators, metrics = annotators + parts[0], metrics + parts[1]
"""
    example.write_text(before + juries + after[after.index("    return RunSpec(") :])

    folder = run_helm(example, server)

    stats = {stat["name"]["name"]: stat["mean"] for stat in read(folder, "stats")}
    assert_never_mixed({name.replace("_", ".", 1): value for name, value in stats.items()})
    assert (stats["silent_accurate_hung"], stats["silent_abstentions"]) == (1, 3)


def test_a_correct_reference_reaches_a_juror_only_if_the_rubric_shows_it(
    example: Path, server: ProviderServer
) -> None:
    example.write_text(example.read_text().replace("Fever of 38.4 with cough", CANARY))

    run_helm(example, server)
    assert CANARY not in prompts_read(server)
    shutil.rmtree(example.parent / "runs")
    show_reference(example.parent.parent / "rubric.yaml")
    run_helm(example, server)
    assert CANARY in prompts_read(server)
