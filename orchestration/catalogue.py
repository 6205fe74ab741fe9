"""What there is to choose from: rubrics, personas, juries and protocols, listed, shown and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from ..personas import jury as juries
from ..personas import persona as personas
from ..personas.jury import Jury, load_jury
from ..personas.persona import Persona, load_persona
from ..rubrics import rubric as rubrics
from ..rubrics.rubric import Rubric, load_rubric
from .protocols import Protocol, protocol, protocols

_LOADERS: dict[str, Any] = {
    "rubrics": (rubrics.LIBRARY, load_rubric),
    "personas": (personas.LIBRARY, load_persona),
    "juries": (juries.LIBRARY, load_jury),
}


def catalogue(plural: str) -> Table:
    """The library's entries, one line each."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    if plural == "protocols":
        for name, way in protocols().items():
            table.add_row(name, way.summary)
        return table
    folder, load = _LOADERS[plural]
    for path in sorted(folder.glob("*.yaml")):
        table.add_row(path.stem, _gist(load(path.stem)))
    return table


def described(plural: str, name: str) -> str:
    """One entry, whole: a file as it stands in the library, a protocol as it goes."""
    if plural == "protocols":
        return _way(name, protocol(name))
    folder, load = _LOADERS[plural]
    load(name)
    path = Path(name)
    return (
        (path if path.suffix in (".yaml", ".yml") else folder / f"{name}.yaml")
        .read_text(encoding="utf-8")
        .rstrip()
    )


def checked(plural: str, file: Path) -> str:
    """One line that says what the file holds; an error where it cannot be used."""
    _, load = _LOADERS[plural]
    found = load(file if file.suffix in (".yaml", ".yml") or file.exists() else Path(f"{file}"))
    return f"{file}: {found.name}: {_gist(found)}"


def _gist(found: Rubric | Persona | Jury) -> str:
    match found:
        case Rubric():
            return f"v{found.version}, {len(found.attributes)} attributes: {', '.join(found.names)}"
        case Persona():
            return found.attends_to
        case Jury():
            return f"{found.protocol}: {', '.join(found.seat_names)}" + (
                f". {found.description}" if found.description else ""
            )


def _way(name: str, way: Protocol) -> str:
    rows = {
        "speaks": way.speaks,
        "sees": way.sees,
        "ends": way.ends,
        "calls": f"{way.calls}   (N jurors, R rounds)",
        "serial steps": way.steps,
        "counts by": way.count,
    }
    width = max(map(len, rows))
    return "\n".join(
        [f"{name}: {way.summary}", *(f"  {label:<{width}}  {text}" for label, text in rows.items())]
    )
