"""What pyproject.toml cannot say: the version, which is the tag's, and an editable install that type checkers can follow.

The repository's root is the package, so it must be on the path under the package's name. setuptools would do that with
an import hook, which mypy and pyright do not run; here it is a folder on the path that holds a link to the root.
"""

import os
import re
import subprocess
from email.parser import HeaderParser
from pathlib import Path

from setuptools import setup
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).parent


def version() -> str:
    """The version of what is built: the tag's at the tag `vX.Y.Z`, and a development version of the next one elsewhere.

    The next one is the changelog's newest section. An sdist keeps the version that it was made with, and whoever builds from neither
    a checkout nor an sdist (a container, a distribution) says it in `VENIRE_VERSION`.
    """
    if given := os.environ.get("VENIRE_VERSION"):
        return given
    kept = ROOT / "PKG-INFO"
    if kept.exists():
        return HeaderParser().parsestr(kept.read_text(encoding="utf-8"))["Version"]
    planned = re.search(
        r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    if planned is None:
        raise SystemExit("CHANGELOG.md has no section that begins with a version: ## X.Y.Z")
    commit = _git("rev-parse", "--short", "HEAD")
    if not commit:
        return f"{planned[1]}.dev0"
    described = _git("describe", "--tags", "--match", "v[0-9]*.[0-9]*.[0-9]*", "--long")
    found = re.fullmatch(r"v(.+)-(\d+)-g\w+", described)
    tag, since = found.groups() if found else ("", "")
    if tag and since == "0" and not _git("status", "--porcelain", "--untracked-files=no"):
        return tag
    commits = since or _git("rev-list", "--count", "HEAD")
    return f"{_after(tag, planned[1])}.dev{commits}+g{commit}"


def _after(tag: str, planned: str) -> str:
    """The planned version where it is later than the tag's, else the tag's next patch."""
    released = [int(part) for part in re.findall(r"\d+", tag)[:3]]
    if [int(part) for part in planned.split(".")] > released:
        return planned
    return ".".join(map(str, [*released[:2], released[2] + 1]))


def _git(*words: str) -> str:
    """What git says of this checkout; nothing where git is missing, says no, or knows only a repository around it."""
    try:
        ended = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return ended.stdout.strip() if (ROOT / ".git").exists() else ""


class EditableThroughLink(editable_wheel):
    """An editable wheel that puts `.editable` on the path, where `venire` is a link to this folder."""

    def finalize_options(self) -> None:
        link = ROOT / ".editable/venire"
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to("..", target_is_directory=True)
        self.distribution.package_dir = {"": link.parent.name}
        super().finalize_options()


# The name keeps this file itself out of the package.
setup(script_name="setup.py", version=version(), cmdclass={"editable_wheel": EditableThroughLink})
