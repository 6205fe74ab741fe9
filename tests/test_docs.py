"""What the documents show is run: Python examples, files and the commands printed beside them."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path
from unittest.mock import MagicMock

import click
import pytest
from checkout import ROOT
from command_line import venire
from doc_blocks import blocks

from venire.cli import FILES, app


def test_the_python_page_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = ROOT / "evals/demo"
    made = venire(
        "run", demo / "cases.jsonl", "--rubric", "clinical-note", "--jury", "lens-jury", "--jury", "lens-single",
        "-o", "runs/monday", cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    (tmp_path / "ratings.csv").write_bytes((demo / "labels.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for kind, text in blocks("docs/python.md"):
        if kind == "python":
            exec(compile(text, "docs/python.md", "exec"), namespace)

    assert namespace["verdict"]
    assert namespace["found"]


def test_the_page_on_comparing_does_and_says_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evals").symlink_to(ROOT / "evals")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    printed = ""
    for kind, text in blocks("docs/compare.md"):
        for line in text.splitlines() if kind == "sh" else []:
            ended = venire(*shlex.split(line.removeprefix("venire ")), cwd=tmp_path)
            assert ended.returncode == 0, ended.stderr
            printed += ended.stdout
        if kind == "python":
            exec(compile(text, "docs/compare.md", "exec"), namespace)

    page = (ROOT / "docs/compare.md").read_text(encoding="utf-8")
    quoted = [" ".join(said.split()) for said in re.findall(r"^- (lens-jury .*?\.)$", page, re.M | re.S)]
    assert len(quoted) == 2
    for sentence in quoted:
        assert sentence in printed
    assert (tmp_path / "report/report.html").exists() and namespace["found"]


def test_the_page_on_pairs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seats = ", ".join(f"{{name: {name}, model: scripted}}" for name in "abc")
    (tmp_path / "jury.yaml").write_text(f"name: three\nprotocol: panel\nseats: [{seats}]")
    monkeypatch.chdir(tmp_path)
    printed, namespace = "", dict[str, object]()
    for kind, text in blocks("docs/pairs.md"):
        if kind == "json":
            (tmp_path / "pairs.jsonl").write_text(text)
        for line in text.splitlines() if kind == "sh" else []:
            ended = venire(*shlex.split(line.removeprefix("venire ")), cwd=tmp_path)
            assert ended.returncode == 0, ended.stderr
            printed += ended.stdout
        if kind == "python":
            exec(compile(text, "docs/pairs.md", "exec"), namespace)

    assert "north" in printed and "south" in printed and namespace["verdict"]


def test_the_page_on_statistics_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ratings.csv").write_bytes((ROOT / "evals/demo/labels.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for kind, text in blocks("docs/statistics.md"):
        if kind == "python":
            exec(compile(text, "docs/statistics.md", "exec"), namespace)

    columns = re.findall(r"^found\.(\w+)  # (.+)$", (ROOT / "docs/statistics.md").read_text(), re.M)
    assert [name for name, _ in columns] == ["table", "raters"]
    for name, listed in columns:
        assert set(listed.split(", ")) == set(getattr(namespace["found"], name).columns)


@pytest.mark.parametrize("page", ["docs/rubrics.md", "docs/juries.md", "docs/personas.md"])
def test_files_and_commands_of_a_page_do_what_it_says(tmp_path: Path, page: str) -> None:
    files = 0
    for kind, text in blocks(page):
        if kind == "yaml":
            name = text.partition("\n")[0].removeprefix("# ")
            (tmp_path / name).write_text(text)
            plural = Path(page).stem
            assert venire(plural, "check", name, cwd=tmp_path).returncode == 0, text
            files += 1
        if kind == "console":
            command, _, printed = text.partition("\n")
            ended = venire(*shlex.split(command.removeprefix("$ venire ")), cwd=tmp_path)
            assert ended.stdout == printed
    assert files


def test_the_excerpt_in_the_readme_is_what_show_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    shutil.copytree(ROOT / "examples/wrong-dose", tmp_path, dirs_exist_ok=True)
    made = venire(
        "run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "run", cwd=tmp_path
    )
    assert made.returncode == 0, made.stderr
    shown = venire("show", "run", "visit-1", cwd=tmp_path).stdout
    (excerpt,) = [text for kind, text in blocks("README.md") if kind == "text"]

    printed = iter([line.rstrip() for line in shown.splitlines()])
    assert all(line in printed for line in excerpt.rstrip().splitlines())  # each of them, in this order
    (command, *told), *_ = [text.splitlines() for kind, text in blocks("README.md") if kind == "console"]
    replayed = venire(*shlex.split(command.removeprefix("$ venire ")), cwd=tmp_path)
    assert told == [line for line in replayed.stdout.splitlines() if line.startswith(("first", "verdict "))]
    assert "0 calls are new" in replayed.stderr


def test_the_page_on_replays_does_and_says_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples/wrong-dose", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    printed: list[str] = []
    for kind, text in blocks("docs/what-if.md"):
        for line in text.splitlines() if kind == "sh" else []:
            ended = venire(*shlex.split(line.removeprefix("venire ")), cwd=tmp_path)
            assert ended.returncode == 0, ended.stderr
            printed += [shown.rstrip() for shown in ended.stdout.splitlines()]
        if kind == "text":
            assert set(text.splitlines()) <= set(printed)
    for page in ("docs/what-if.md", "docs/controls.md"):
        for kind, text in blocks(page):
            if kind == "python":
                exec(compile(text, page, "exec"), {})


def test_the_readme_names_both_commands_on_its_first_screen() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:25])

    assert "make demo" in first_screen
    assert "make test" in first_screen


def test_no_sentence_that_can_be_printed_leaves_its_plural_to_the_reader() -> None:
    page = runpy.run_path(str(ROOT / "docs/sentences.py"))["sentences_page"]()
    sentences = [line for line in page.splitlines() if line.startswith("- ")]

    assert len(sentences) > 2000
    assert (
        "- `{file}:{line}: {key}: the weights of the composite sum to {total} -> make them sum to 1`"
        in sentences
    )
    assert not [sentence for sentence in sentences if "{}" in sentence]
    assert not [sentence for sentence in sentences if re.search(r"[a-z]\(s\)", sentence)]
    assert not [sentence for sentence in sentences if _repeats_itself(sentence.lower().split())]


def _repeats_itself(words: list[str]) -> bool:
    """Whether two words or more, letters alone, stand twice in a row."""
    return any(
        words[start : start + length] == words[start + length : start + 2 * length]
        and all(map(str.isalpha, words[start : start + length]))
        for length in range(2, 5)
        for start in range(len(words) - 2 * length + 1)
    )


def test_every_command_in_the_documents_and_its_options_are_ones_that_the_program_takes() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    pages += [page for folder in ("docs", "examples") for page in sorted((ROOT / folder).rglob("*.md"))]
    mistakes, checked = [], 0
    for page in pages:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        fenced = "\n".join(re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL))
        lines = re.findall(r"^(?:\$ )?venire ([^\n#]+)", fenced, re.MULTILINE)
        for line in [*lines, *re.findall(r"`venire ([^`\n]+)`", text)]:
            command, options = _command_of(line)
            mistakes += [
                f"{page.name}: venire {line}: {option}" for option in options if option not in command
            ]
            checked += 1

    assert checked > 200
    assert not mistakes


def _command_of(line: str) -> tuple[set[str], list[str]]:
    """Every option that a command and those below it take, and the options that the line has."""
    words, command = line.split(), app
    while (
        words
        and isinstance(command, click.Group)
        and (inner := command.get_command(click.Context(command), words[0]))
    ):
        command, words = inner, words[1:]
    below = command.commands.values() if isinstance(command, click.Group) and command is not app else []
    known = {
        name
        for each in (command, *below)
        for option in each.params
        for name in (*option.opts, *option.secondary_opts)
    }
    unquoted = re.sub(r"'[^']*'", "", " ".join(words))
    options = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", unquoted)
    return known | {"--help"}, [line.split()[0], *options] if command is app else options


def test_the_page_of_commands_has_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config.defaults", "structure.files", "structure.pages"):
        monkeypatch.setitem(sys.modules, f"mkdocs.{name}", MagicMock())
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    page = runpy.run_path(str(ROOT / "docs/site_pages.py"))["commands_page"]()
    assert [name for name in FILES if f"### `venire {name}`" not in page] == []
