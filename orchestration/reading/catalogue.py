"""What there is to choose from: rubrics, personas, juries and protocols, listed, shown and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from ...personas import jury as juries
from ...personas import persona as personas
from ...personas.jury import Jury, load_jury
from ...personas.persona import Persona, load_persona
from ...rubrics import rubric as rubrics
from ...rubrics.errors import count_words
from ...rubrics.plugins import BrokenPlugin, library, load_all
from ...rubrics.rubric import Rubric, load_rubric
from ..protocols import Protocol, protocol, protocols

_LOADERS: dict[str, Any] = {
    "rubrics": (rubrics.GROUP, load_rubric),
    "personas": (personas.GROUP, load_persona),
    "juries": (juries.GROUP, load_jury),
}


def catalogue(plural: str) -> Table:
    """The library's entries, one line each."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    if plural == "protocols":
        for name, way in protocols().items():
            table.add_row(name, way.problem if isinstance(way, BrokenPlugin) else way.summary)
        return table
    group, load = _LOADERS[plural]
    for name, path in sorted(library(group).items()):
        table.add_row(name, _gist(load(path)))
    for name, folder in load_all(group).items():
        if isinstance(folder, BrokenPlugin):
            table.add_row(name, folder.problem)
    return table


def description(plural: str, name: str) -> str:
    """The text of one entry: the library's file, or a protocol's steps and costs."""
    if plural == "protocols":
        return _protocol_text(name, protocol(name))
    group, load = _LOADERS[plural]
    load(name)
    path = Path(name)
    return (
        (path if path.suffix in (".yaml", ".yml") else library(group)[name])
        .read_text(encoding="utf-8")
        .rstrip()
    )


def check_file(plural: str, file: Path) -> str:
    """One line that summarises the file; an error where it is not valid."""
    _, load = _LOADERS[plural]
    found = load(file if file.suffix in (".yaml", ".yml") or file.exists() else Path(f"{file}"))
    return f"{file}: {found.name}: {_gist(found)}"


def _gist(found: Rubric | Persona | Jury) -> str:
    match found:
        case Rubric():
            return f"v{found.version}, {count_words(len(found.attributes), 'attribute')}: {', '.join(found.names)}"
        case Persona():
            return found.attends_to
        case Jury():
            return f"{found.protocol}: {', '.join(found.seat_names)}" + (
                f". {found.description}" if found.description else ""
            )


def _protocol_text(name: str, way: Protocol) -> str:
    """The protocol drawn step by step, and what N jurors and R rounds of it cost."""
    rows = {
        "speaks": way.speaks,
        "sees": way.sees,
        "ends": way.ends,
        "counts by": way.count,
        "options": ", ".join(way.options.model_fields) or "none",
        "calls": way.calls,
        "serial steps": way.steps,
    }
    if way.most is not None:
        calls, steps = way.most(3, 2)
        rows["N=3, R=2"] = f"at most {count_words(calls, 'call')} in {count_words(steps, 'serial step')}"
    width = max(map(len, rows))
    drawn = [f"  {line}" for line in way.drawing.strip("\n").splitlines()]
    facts = [f"  {label:<{width}}  {text}" for label, text in rows.items()]
    return "\n".join(filter(None, [f"{name}: {way.summary}", "\n".join(drawn), "\n".join(facts)]))
