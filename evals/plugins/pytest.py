"""pytest: a `jury` fixture, an assertion that fails with the deliberation in full, and a marker for repeats."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import host

with host("pytest", extra="pytest"):
    import pytest

if TYPE_CHECKING:
    # What deliberates is imported by the first test that asks for a jury: most who load this plug-in never do.
    from .judgement import Judgement
    from .sitting import Sitting

_OPTIONS = {
    "rubric": "the questions to the jury: a rubric file, or a name from `venire rubrics`",
    "jury": "the jury: a jury file, or a name from `venire juries`",
    "model": "the model of every juror whose model the jury file does not name",
    "base_url": "the address of the server that runs the model",
    "record": "the folder of a run that keeps every model call, so that no call is paid for twice",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("venire", "juries of language models")
    for name, description in _OPTIONS.items():
        group.addoption(f"--venire-{name.replace('_', '-')}", help=description)
        parser.addini(f"venire_{name}", description)


def pytest_configure(config: pytest.Config) -> None:
    marker = "jury(repeats=1, rubric=..., jury=..., ...): have this jury judge each case of the test as often as repeats says"
    config.addinivalue_line("markers", marker)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("jury")
    repeats = marker.kwargs.get("repeats", 1) if marker else 1
    if repeats < 1:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: repeats={repeats} would test nothing; write repeats=1 or more"
        )
    if repeats > 1 and "jury" in metafunc.fixturenames:
        ids = [f"hearing{number + 1}" for number in range(repeats)]
        metafunc.parametrize("jury", range(repeats), ids=ids, indirect=True)


@pytest.fixture
def jury(request: pytest.FixtureRequest) -> JuryBox:
    """The jury that the settings or the test's `jury` marker name."""
    from ...rubrics.errors import ModelNotNamed, VenireError
    from .sitting import convene

    marker = request.node.get_closest_marker("jury")
    options = _settings(request.config) | (marker.kwargs if marker else {})
    options.pop("repeats", None)
    if (worker := os.environ.get("PYTEST_XDIST_WORKER")) and "record" in options:
        # One process writes a run: each worker has its own.
        options["record"] = Path(options["record"]) / worker
    if not {"rubric", "jury"} <= options.keys():
        pytest.fail(
            "no rubric or jury is set: set venire_rubric and venire_jury, or use the marker jury on the test",
            pytrace=False,
        )
    try:
        return JuryBox(convene(**options), request.node, getattr(request, "param", 0))
    except ModelNotNamed as error:
        pytest.exit(str(error), returncode=2)
    except VenireError as error:
        pytest.fail(str(error), pytrace=False)


def _settings(config: pytest.Config) -> dict[str, Any]:
    """What the command line says, or else the settings file, whose paths start where it lies."""
    found: dict[str, Any] = {}
    for name in _OPTIONS:
        written = config.getini(f"venire_{name}")
        beside = config.rootpath / written
        path = beside if written and (name == "record" or beside.is_file()) else written
        found[name] = config.getoption(f"--venire-{name.replace('_', '-')}") or path
    return {name: value for name, value in found.items() if value}


@dataclass
class JuryBox:
    """What a test calls: texts in, a verdict out, its scores among the properties of the test's report."""

    sitting: Sitting
    node: pytest.Item
    again: int
    heard: int = 0

    def __call__(self, output: str, **texts: Any) -> Judgement:
        """The verdict on `output`, given `source`, `question`, `reference` and whatever else a case has."""
        from .sitting import case_from_sample

        self.heard += 1
        name = self.node.nodeid if self.heard == 1 else f"{self.node.nodeid}/{self.heard}"
        judgement = self.sitting.hear_sync(case_from_sample(name, output, **texts), again=self.again)
        for mark in judgement.marks.values():
            shown = mark.value if mark.status == "reached" else mark.status
            self.node.user_properties.append((f"venire.{mark.name}", shown))
        if judgement.usd is not None:
            self.node.user_properties.append(("venire.usd", judgement.usd))
        return judgement
