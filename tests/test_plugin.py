"""The plug-in surface: its names, what the page says of them, and that it costs little to import."""

from __future__ import annotations

import inspect
import subprocess
import sys
import tomllib

import pytest
from checkout import ROOT

import venire.plugin

STABLE = [
    "NOT_APPLICABLE",
    "Abstention",
    "Attribute",
    "Audit",
    "AuditInput",
    "Ballot",
    "Bench",
    "Bootstrap",
    "Brief",
    "Case",
    "ClientFactory",
    "Coefficient",
    "Condition",
    "Count",
    "Counted",
    "Court",
    "Draws",
    "Entry",
    "Estimate",
    "Executor",
    "ExecutorFactory",
    "ExecutorJob",
    "ExportFormat",
    "ExportedRun",
    "FloatArray",
    "Juror",
    "Jury",
    "Limits",
    "Matrix",
    "Message",
    "Metric",
    "MissingExtra",
    "ModelClient",
    "ModelFailure",
    "ModelSettings",
    "Options",
    "Outcome",
    "Persona",
    "Price",
    "Prompts",
    "Protocol",
    "Reply",
    "Request",
    "Rubric",
    "Rule",
    "Scale",
    "Seat",
    "Section",
    "Setting",
    "Standing",
    "Statement",
    "Statistic",
    "Stop",
    "Subject",
    "Tally",
    "Transcript",
    "TransientFailure",
    "Turn",
    "Usage",
    "Value",
    "VenireError",
    "Verdict",
    "Vote",
    "all_of",
    "any_of",
    "consensus_reached",
    "deliberate_sync",
    "entry_of",
    "hard_limits",
    "hear",
    "limits_of",
    "matrix",
    "rounds",
    "stable",
    "statements",
    "together",
    "too_few",
    "turns",
    "undefined",
]
"""What plug-ins rely on. A name may be added; one that goes breaks somebody's package."""


def test_no_name_that_plug_ins_rely_on_is_gone() -> None:
    assert set(STABLE) <= set(venire.plugin.__all__)
    assert sorted(dir(venire.plugin)) == sorted(venire.plugin.__all__)


@pytest.mark.parametrize("name", venire.plugin.__all__)
def test_each_name_is_there_and_documented(name: str) -> None:
    found = getattr(venire.plugin, name)

    if inspect.isclass(found) or inspect.isfunction(found):
        assert inspect.getdoc(found), f"{name} has no docstring"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Protocool'"):
        _ = venire.plugin.Protocool


def test_the_table_has_every_group_that_venire_registers() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    groups = {group for group in points if group.startswith("venire.")}

    for group in groups:
        assert f"| `{group}` |" in (venire.plugin.__doc__ or ""), (
            f"{group} is missing from venire.plugin's table"
        )


def test_a_protocol_does_not_wait_for_pandas() -> None:
    names = "Protocol, Options, Prompts, Rule, ModelClient"
    asked = f"import sys; from venire.plugin import {names}; print('pandas' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout

    assert shown.strip() == "False"


def test_the_example_imports_nothing_else_of_venires() -> None:
    for path in (ROOT / "examples/plugin-package").rglob("*.py"):
        lines = [line.strip() for line in path.read_text().splitlines()]
        imports = [line for line in lines if line.startswith(("from venire", "import venire"))]
        assert all(line.startswith("from venire.plugin import") for line in imports), path
