"""What is built is whole: it installs outside the checkout, runs there on the core alone, and shows its types."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT

from venire import Store


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    ended = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return listed.stdout.split("\n")[:-1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the sdist of the files that git knows."""
    if not tracked():
        pytest.skip("not a git checkout")
    folder = tmp_path_factory.mktemp("built")
    for name in tracked():
        if (ROOT / name).is_file():
            target = folder / "checkout" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    # What the build asks for is found by the editable install below, which is built apart.
    build = [sys.executable, "-m", "build", "--no-isolation"]
    run(*build, "--outdir", folder / "dist", folder / "checkout", cwd=folder)
    return folder


def test_the_wheel_holds_every_module_and_data_file(built: Path) -> None:
    (wheel,) = (built / "dist").glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    rooms = ("rubrics/", "personas/", "agents/", "orchestration/", "evals/", "web/", "commands/")
    wanted = {f"venire/{name}" for name in tracked() if name.startswith(rooms) and (ROOT / name).is_file()}

    assert wanted - held == set()
    assert {"venire/cli.py", "venire/plugin.py", "venire/py.typed"} <= held


@pytest.fixture(scope="module")
def environment(built: Path) -> Path:
    """A virtual environment outside the checkout, with the wheel and what it needs."""
    run(sys.executable, "-m", "venv", "--without-pip", built / "venv", cwd=built)
    install(built / "venv", *(built / "dist").glob("*.whl"))
    return built / "venv"


def install(environment: Path, *what: object) -> None:
    python = environment / "bin/python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    uv = shutil.which("uv")
    command = [uv, "pip", "install", "--quiet", "--python", python] if uv else pip
    run(*command, *what, cwd=environment)


ROOMS = "agents evals rubrics personas orchestration web commands cli plugin setup"


@pytest.fixture(scope="module")
def demo(environment: Path) -> tuple[str, Path]:
    """What the demo says at 80 columns, from the wheel, which is built from the sdist, and the folder that it keeps."""
    folder = environment.parent / "shown"
    folder.mkdir()
    program = environment / "bin/venire"
    shown = run("/usr/bin/env", "COLUMNS=80", program, "demo", "--quick", "-o", "kept", cwd=folder)
    return shown.stdout.replace(str(program), "venire"), folder / "kept"


def test_the_demo_fits_80_columns_and_breaks_no_word(demo: tuple[str, Path]) -> None:
    shown, kept = demo
    lines = [line.rstrip() for line in shown.splitlines()]

    assert max(map(len, lines)) <= 80
    for row in ("reader-jury ", "single-reader ", "lens-jury ", "always the best score "):
        assert any(line.startswith(row) for line in lines)
    said = " ".join(shown.split())
    assert "accurate 5 -> 2 The dose is wrong, and acting on it would under-treat." in said
    assert "their answers were recorded in advance" in said
    for other in ("single-reader", "always the best score"):
        assert f"reader-jury is not shown to differ from {other}: difference in mean absolute error" in said
    assert said.index("A deliberation") < said.index("A study") < said.index("inspect kept/study")
    store = Store.read(kept / "study")
    assert store.arms()
    store.release()


def test_the_package_knows_its_version_without_git_and_shows_no_room(
    environment: Path, tmp_path: Path
) -> None:
    said = run("/usr/bin/env", "PATH=", environment / "bin/venire", "--version", cwd=tmp_path)

    assert re.fullmatch(r"venire, version \d+\.\d+\.\d+\.dev0\n", said.stdout)
    assert leaked(environment, tmp_path) == set()


def leaked(environment: Path, folder: Path) -> set[str]:
    """The rooms of the package that can be imported without its name."""
    asked = f"import importlib.util as u; print(*(name for name in {ROOMS!r}.split() if u.find_spec(name)))"
    return set(run(environment / "bin/python", "-c", asked, cwd=folder).stdout.split())


def test_calibrating_needs_no_more_than_the_core(environment: Path, tmp_path: Path) -> None:
    demo = ROOT / "evals/demo"
    asked = "import importlib.util as u; print(*map(u.find_spec, ('sklearn', 'statsmodels', 'autogen_core', 'xllamacpp')))"
    venire = environment / "bin/venire"
    arms = ("--rubric", "clinical-note", "--jury", "lens-single")
    run(venire, "run", demo / "cases.jsonl", *arms, "-o", "run", cwd=tmp_path)
    calibrated = run(venire, "calibrate", "run", "--human", demo / "labels.csv", "--json", cwd=tmp_path)

    assert run(environment / "bin/python", "-c", asked, cwd=tmp_path).stdout.split() == ["None"] * 4
    assert json.loads(calibrated.stdout)


EXAMPLES = """
from typing import reveal_type
from venire import Attribute, Persona, Scale, Seat

low = Persona(name="low", version=1, attends_to="harm", voice="strict")
seat = Seat(name="high", persona="high-scoring")
jury = Jury(name="two", protocol="panel", seats=[seat, Seat(name="low", persona=low), Seat(name="any")])
yes_no = Scale(level="binary", anchors={0: "No", 1: "Yes"})
asked = Attribute(name="accurate", question="Is it accurate?", scale="yes-no")
rubric = Rubric(name="short", version=1, scales={"yes-no": yes_no}, attributes=[asked])
Case(id="one", output="A note.", source="One source.")

reveal_type(case.source)
reveal_type(seat.persona)
reveal_type(jury.seats)
reveal_type(rubric.attributes)
reveal_type(verdict["accurate"].value)
reveal_type(found)
"""
REVEALED = [
    "tuple[str, ...]",
    "Persona | None",
    "tuple[Seat, ...]",
    "tuple[Attribute, ...]",
    "int | float | str | None",
    "Comparison",
]
WRONG = """
from venire import Case, Jury, Seat
Case(id="one", output="A note.", source=[1])
Jury(name="one", seats=["high"])
Seat(name="high", persona=3)
Seat(name="high").persona.name
"""


def checked(checker: str, environment: Path, folder: Path) -> list[str]:
    """What a type checker that knows nothing of pydantic says of scripts, with venire as it is installed there."""
    python = environment / "bin/python"
    options = {
        "mypy": ["--strict", "--no-pretty", "--cache-dir", "cache", "--python-executable", python],
        "pyright": ["--pythonpath", python],
    }
    ended = subprocess.run(
        [sys.executable, "-m", checker, *map(str, options[checker]), "right.py", "wrong.py"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ended.stdout.splitlines()


@pytest.mark.parametrize(("checker", "kind"), [("pyright", "wheel"), ("mypy", "editable")])
def test_type_checkers_see_our_types_and_take_the_documented_examples(
    environment: Path, checker: str, kind: str, tmp_path: Path
) -> None:
    if kind == "editable":
        install(environment, "--force-reinstall", "--no-deps", "-e", environment.parent / "checkout")
        assert leaked(environment, tmp_path) == set()
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    documented = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "right.py").write_text("\n".join(["# pyright: strict", *documented, EXAMPLES]))
    (tmp_path / "wrong.py").write_text(WRONG)

    said = checked(checker, environment, tmp_path)
    revealed = re.findall(r' is "([^"]+)"$', "\n".join(said), re.MULTILINE)
    errors = re.findall(r"(\w+)\.py:(\d+).* error:", "\n".join(said))

    assert [re.sub(r"venire(\.\w+)*\.", "", name) for name in revealed] == REVEALED
    assert sorted(set(errors)) == [("wrong", str(line)) for line in (3, 4, 5, 6)], said


def test_the_example_plug_in_passes_its_own_tests(environment: Path) -> None:
    package = environment.parent / "checkout/examples/plugin-package"
    install(environment, package, "pytest")

    tested = run(environment / "bin/python", "-m", "pytest", "-q", package, cwd=package)

    assert re.search(r"^\d+ passed", tested.stdout, re.MULTILINE), tested.stdout
