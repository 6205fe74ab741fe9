"""Refuses to build a release that its tag, changelog and citation do not agree on; a commit without a tag is built as it is."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    version = _said_by(sys.executable, "setup.py", "--version")
    tags = _tags()
    if not tags:
        print(f"{version}: no tag here, so a development version")
        return
    section = re.compile(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", re.MULTILINE)
    for fits, fault in (
        (
            f"v{version}" in tags,
            f"the tag is {', '.join(tags)}, and what is committed under it is the release",
        ),
        (section.search(_text("CHANGELOG.md")), f"CHANGELOG.md needs a section '## {version} (YYYY-MM-DD)'"),
        (f"\nversion: {version}\n" in _text("CITATION.cff"), "CITATION.cff says another version"),
    ):
        if not fits:
            sys.exit(f"{version} is no release: {fault}")
    print(f"{version}: the release of its tag")


def _tags() -> list[str]:
    """The tag that a workflow was started by, else those of this commit."""
    if os.environ.get("GITHUB_REF_TYPE") == "tag":
        return [os.environ["GITHUB_REF_NAME"]]
    if not (ROOT / ".git").exists():
        return []
    return _said_by("git", "tag", "--points-at", "HEAD", "--list", "v*").split()


def _said_by(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


main()
