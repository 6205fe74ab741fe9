"""The version comes from the tag, wherever the package is built from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

PERSON = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")


def run(*command: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT", "PYTHONPATH"))
    }
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=inherited | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def git(folder: Path, *words: str) -> str:
    ended = run("git", *PERSON, *words, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def commit(folder: Path, *tags: str) -> str:
    """A further commit, with these tags; its short name."""
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "A change")
    for tag in tags:
        git(folder, "tag", tag)
    return git(folder, "rev-parse", "--short", "HEAD")


def version(folder: Path, **environment: str) -> str:
    ended = run(sys.executable, "setup.py", "--version", cwd=folder, **environment)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def release(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `make dist` asks before it builds."""
    return run(sys.executable, ".ci/check_release.py", cwd=folder, **environment)


def write_changelog(folder: Path, *sections: str) -> None:
    (folder / "CHANGELOG.md").write_text(
        "# Changelog\n" + "".join(f"\n## {section}\n\n- A change.\n" for section in sections),
        encoding="utf-8",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What decides the version, in a folder that git does not know."""
    made = tmp_path / "project"
    (made / ".ci").mkdir(parents=True)
    for name in ("setup.py", ".ci/check_release.py"):
        shutil.copy(ROOT / name, made / name)
    write_changelog(made, "1.2.0 (2031-02-03)")
    (made / "CITATION.cff").write_text("title: A\nversion: 1.2.0\n", encoding="utf-8")
    return made


@pytest.fixture
def repository(folder: Path) -> Path:
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    return folder


def test_a_folder_without_git_is_a_development_version_of_what_the_changelog_plans(folder: Path) -> None:
    assert version(folder) == "1.2.0.dev0"
    assert version(folder, VENIRE_VERSION="") == "1.2.0.dev0"
    assert version(folder, VENIRE_VERSION="1.4.2") == "1.4.2"


def test_a_repository_around_the_folder_says_nothing_of_it(folder: Path) -> None:
    git(folder.parent, "init", "--quiet")
    commit(folder.parent, "v9.9.9")
    assert version(folder) == "1.2.0.dev0"


def test_an_sdist_keeps_the_version_that_it_was_made_with(folder: Path) -> None:
    (folder / "PKG-INFO").write_text(
        "Metadata-Version: 2.4\nName: venire\nVersion: 1.1.7\n\nWords.\n", encoding="utf-8"
    )
    assert version(folder) == "1.1.7"


def test_a_clone_without_tags_counts_its_commits(repository: Path) -> None:
    commit(repository)
    name = commit(repository, "nightly", "v2", "vague")
    assert version(repository) == f"1.2.0.dev2+g{name}"


def test_the_tagged_commit_is_the_release_and_the_next_one_is_not(repository: Path) -> None:
    commit(repository, "v1.2.0")
    assert version(repository) == "1.2.0"

    name = commit(repository)
    assert version(repository) == f"1.2.1.dev1+g{name}"
    write_changelog(repository, "1.3.0 (unreleased)", "1.2.0 (2031-02-03)")
    assert version(repository) == f"1.3.0.dev1+g{name}"


def test_changed_files_under_a_tag_are_not_the_release(repository: Path) -> None:
    name = commit(repository, "v1.2.0")
    (repository / "CITATION.cff").write_text("title: B\nversion: 1.2.0\n", encoding="utf-8")
    assert version(repository) == f"1.2.1.dev0+g{name}"
    assert release(repository).returncode == 1


def test_a_release_is_built_where_tag_changelog_and_citation_agree(repository: Path) -> None:
    commit(repository)
    assert "no tag here" in release(repository).stdout
    git(repository, "tag", "v1.2.0")
    assert release(repository).stdout == "1.2.0: the release of its tag\n"
    started = release(repository, GITHUB_REF_TYPE="tag", GITHUB_REF_NAME="v1.2.1")
    assert started.returncode == 1 and "1.2.0 is no release: the tag is v1.2.1" in started.stderr


@pytest.mark.parametrize(
    ("section", "cited", "fault"),
    [
        ("1.2.0 (unreleased)", "1.2.0", "CHANGELOG.md needs a section"),
        ("1.1.0 (2031-02-03)", "1.2.0", "CHANGELOG.md needs a section"),
        ("1.2.0 (2031-02-03)", "1.1.0", "CITATION.cff says another version"),
    ],
)
def test_a_tag_that_the_files_do_not_fit_is_refused(
    repository: Path, section: str, cited: str, fault: str
) -> None:
    write_changelog(repository, section)
    (repository / "CITATION.cff").write_text(f"title: A\nversion: {cited}\n", encoding="utf-8")
    git(repository, "add", ".")
    commit(repository, "v1.2.0")
    refused = release(repository)
    assert refused.returncode == 1 and fault in refused.stderr
