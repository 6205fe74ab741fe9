"""What is built is whole: the wheel and the sdist install outside the checkout, and the demo runs from them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT


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
    run(sys.executable, "-m", "build", "--outdir", folder / "dist", folder / "checkout", cwd=folder)
    return folder


def test_the_wheel_holds_every_module_and_data_file(built: Path) -> None:
    (wheel,) = (built / "dist").glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    rooms = ("rubrics/", "personas/", "agents/", "orchestration/", "evals/", "web/", "commands/")
    wanted = {f"venire/{name}" for name in tracked() if name.startswith(rooms) and (ROOT / name).is_file()}

    assert wanted - held == set()
    assert {"venire/cli.py", "venire/py.typed"} <= held


def test_the_demo_runs_from_the_wheel_and_from_the_sdist_outside_the_checkout(built: Path) -> None:
    python = built / "venv/bin/python"
    run(sys.executable, "-m", "venv", built / "venv", cwd=built)
    (wheel,), (sdist,) = (built / "dist").glob("*.whl"), (built / "dist").glob("*.tar.gz")
    uv = shutil.which("uv")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python] if uv else pip
    run(*install, wheel, cwd=built)

    shown = run(python.parent / "venire", "demo", "--quick", cwd=built)
    assert "Against the labels" in shown.stdout
    assert "lens-jury" in shown.stdout
    for name in ("agents", "evals", "rubrics", "personas", "orchestration", "web", "commands", "cli"):
        found = run(python, "-c", f"import importlib.util as u; print(u.find_spec({name!r}))", cwd=built)
        assert found.stdout.strip() == "None"

    run(*install, "--force-reinstall", "--no-deps", sdist, cwd=built)
    assert "Against the labels" in run(python.parent / "venire", "demo", "--quick", cwd=built).stdout
