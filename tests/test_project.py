"""The project's own files: workflows that run what the Makefile has, a site whose pages are all in its contents."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from checkout import ROOT

from venire import load_rubric
from venire.commands.serving import serve
from venire.personas.jury import load_jury

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", text, flags=re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_the_makefile_has(path: Path) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    for job in document["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for step in job["steps"]:
            command = step.get("run", "make").removeprefix("sudo --preserve-env=PATH ")
            if command == ".ci/run":
                continue
            program, *words = command.split(maxsplit=1)
            assert program == "make", command
            named = " ".join(words).replace("${{ matrix.target }}", " ".join(matrix.get("target", ())))
            assert set(named.split()) <= targets(), command


def test_the_tests_run_on_every_python_and_machine_that_is_promised() -> None:
    matrix = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]["test"]
    assert matrix["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert len(matrix["strategy"]["matrix"]["machine"]) == 2


def test_every_page_of_docs_is_in_the_site() -> None:
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert not {page for page in pages if f"- {page}\n" not in contents}


def test_the_tests_of_every_python_that_the_package_claims_are_run() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    matrix = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]["test"]
    assert claimed and set(claimed) <= set(matrix["strategy"]["matrix"]["python"])


def test_the_citation_is_of_the_newest_version_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, flags=re.MULTILINE)
    assert newest is not None
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == newest[1]


def test_the_container_is_nobody_special() -> None:
    assert "\nUSER venire\n" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    jury = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["jury"]
    assert jury["read_only"] is True and jury["cap_drop"] == ["ALL"]


def test_the_container_serves_what_there_is_where_it_says() -> None:
    jury = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["jury"]
    said = re.sub(r"\$\{\w+:-([\w-]+)\}", r"\1", jury["command"])
    command, *words = shlex.split(said)
    assert command == "serve"
    given = serve.make_context("serve", words, resilient_parsing=True).params
    assert load_rubric(given["rubric"]) and load_jury(given["jury"])
    assert jury["ports"] == [f"127.0.0.1:{given['port']}:{given['port']}"]
    assert f"\nEXPOSE {given['port']}\n" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
