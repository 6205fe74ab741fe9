"""Pages of the site that are made when it is built: the commands, the keys of files, the plug-in names, and the repository's own texts."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
from sentences import sentences_page

ROOT = Path(__file__).parent.parent
TEXTS = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
_UP = re.compile(r"\]\(((?:\.\./)+)([^)#\s]+)(#[^)\s]*)?\)")
_BESIDE = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of `docs/`, those made here, and whatever of the repository they point at."""
    made = {
        "index.md": _from_root((ROOT / "README.md").read_text(encoding="utf-8"), ""),
        "reference/commands.md": commands_page(),
        "reference/files.md": files_page(),
        "reference/python.md": names_page("venire"),
        "reference/evals.md": names_page("venire.evals"),
        "reference/plugin.md": names_page("venire.plugin"),
        "reference/sentences.md": sentences_page(),
    }
    made |= {
        f"repository/{name}": _from_root((ROOT / name).read_text(encoding="utf-8"), "../") for name in TEXTS
    }
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    for page in list(files.documentation_pages()):
        if page.abs_src_path is not None:
            text = Path(page.abs_src_path).read_text(encoding="utf-8")
            for up, target, _ in _UP.findall(text):
                _add_repository_file(files, config, page.src_uri, up, target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links that leave `docs/` go to the copy of what they point at."""
    depth = page.file.src_uri.count("/")

    def inside(found: re.Match[str]) -> str:
        up, target, anchor = found.groups()
        if up.count("../") <= depth:
            return found.group()
        return f"]({'../' * depth}{_copy_of(target)}{anchor or ''})"

    return _UP.sub(inside, markdown)


def _add_repository_file(files: Files, config: MkDocsConfig, page: str, up: str, target: str) -> None:
    source = ROOT / target
    where = _copy_of(target)
    if up.count("../") <= page.count("/") or files.get_file_from_path(where) is not None:
        return
    shown = source / "README.md" if source.is_dir() else source
    if shown.suffix == ".md":
        files.append(File.generated(config, where, content=_without_links(shown.read_text(encoding="utf-8"))))
    elif shown.suffix == ".py":
        text = f"# {target}\n\n```python\n{shown.read_text(encoding='utf-8')}```\n"
        files.append(File.generated(config, where, content=text))
    else:
        files.append(File.generated(config, where, abs_src_path=str(shown)))


def _copy_of(target: str) -> str:
    """Where the site has a file or folder of the repository."""
    source = ROOT / target
    if target in TEXTS:
        return f"repository/{target}"
    name = target.strip("/").replace("/", "-")
    if source.is_dir():
        return f"repository/{name}.md"
    return f"repository/{name}.md" if source.suffix == ".py" else f"repository/{name}"


def _from_root(text: str, up: str) -> str:
    """A text of the repository's root as the site has it: its links to `docs/` are links within the site."""

    def inside(found: re.Match[str]) -> str:
        target, anchor = found.group(1), found.group(2) or ""
        if target.startswith("docs/"):
            return f"]({up}{target.removeprefix('docs/')}{anchor})"
        if target in TEXTS:
            return f"]({up}repository/{target}{anchor})"
        return f"]({up}{target}{anchor})" if (ROOT / "docs" / target).exists() else "]"

    return _outside_code(text, lambda words: _unlinked(_BESIDE.sub(inside, words)))


def _without_links(text: str) -> str:
    return _outside_code(text, lambda words: _unlinked(_BESIDE.sub("]", words)))


def _unlinked(text: str) -> str:
    """`[words]` left over from a link that leads nowhere on the site, as plain words."""
    return re.sub(r"(?<!!)\[([^\]\[]+)\](?![\(\[:])", r"\1", text)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with its prose changed: brackets of a transcript or of code stay as they are."""
    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def commands_page() -> str:
    """Every command with its help, as the command line prints it."""
    from venire.cli import GROUPS, app

    lines = ["# Commands", "", "What each command takes, as `--help` prints it.", ""]
    for title, commands in GROUPS.items():
        lines += [f"## {title}", ""]
        for word in commands:
            command = app.get_command(click.Context(app), word)
            assert command is not None
            lines += [
                part
                for name, text in _helps(command, f"venire {word}")
                for part in (f"### `{name}`", "", "```text", text, "```", "")
            ]
    return "\n".join(lines)


def _helps(command: click.Command, name: str) -> list[tuple[str, str]]:
    context = click.Context(command, info_name=name, max_content_width=100)
    found = [(name, command.get_help(context))]
    if isinstance(command, click.Group):
        for word, inner in command.commands.items():
            if not inner.hidden:
                found += _helps(inner, f"{name} {word}")
    return found


def files_page() -> str:
    """The keys of every file that users write, from the published schemas."""
    from venire.commands.file_schemas import FILES, file_schema

    lines = [
        "# Keys of files",
        "",
        "An editor that reads JSON schemas completes and checks these files. `venire schema -o .schemas` writes the schemas; the first line of a file names one:",
        "",
        "```yaml",
        "# yaml-language-server: $schema=.schemas/jury.json",
        "```",
        "",
    ]
    for kind in FILES:
        schema = file_schema(kind)
        lines += [f"## {kind}", ""]
        for title, part in [(kind, schema), *sorted(schema.get("$defs", {}).items())]:
            whole = next((each for each in part.get("anyOf", [part]) if "properties" in each), part)
            if "properties" in whole:
                lines += [
                    *([f"### {title} of a {kind} file", ""] if title != kind else []),
                    *_key_rows(whole),
                ]
    return "\n".join(lines)


def _key_rows(schema: dict[str, Any]) -> list[str]:
    rows = ["| key | meaning |", "|---|---|"]
    needed = schema.get("required", [])
    for name, part in schema["properties"].items():
        words = part.get("description", "").replace("|", "\\|").replace("\n", " ")
        rows.append(f"| `{name}`{' (required)' if name in needed else ''} | {words} |")
    return [*rows, ""]


def names_page(module_name: str) -> str:
    """The names that a module exports, each with its signature and docstring; of a class its public methods too."""
    module = import_module(module_name)
    lines = [f"# {module_name}", "", inspect.getdoc(module) or "", ""]
    for name in sorted(module.__all__):
        thing = getattr(module, name)
        lines += [f"## `{name}`", "", *_description(name, thing)]
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            shown = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            if not member.startswith(("_", "model_")) and isinstance(shown, FunctionType | property):
                lines += [f"### `{name}.{member}`", "", *_description(f"{name}.{member}", shown)]
    return "\n".join(lines)


def _description(name: str, thing: object) -> list[str]:
    return [
        "```python",
        f"{name}{_signature(thing)}",
        "```",
        "",
        "```text",
        inspect.getdoc(thing) or "",
        "```",
        "",
    ]


def _signature(thing: object) -> str:
    """The parameters as they are written in the code; of a model its fields, an ellipsis for a default that an address in memory would stand for."""
    if inspect.isclass(thing) and hasattr(thing, "model_fields"):
        written = {
            name: words
            for each in reversed(thing.__mro__)
            for name, words in getattr(each, "__annotations__", {}).items()
        }
        fields = [
            f"{name}: {written.get(name, 'Any')}{'' if field.is_required() else ' = ...'}"
            for name, field in thing.model_fields.items()
        ]
        return f"(*, {', '.join(fields)})"
    try:
        signature = str(inspect.signature(thing)) if callable(thing) else ""
    except ValueError:
        return ""
    unquoted = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
    return re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", "...", unquoted)
