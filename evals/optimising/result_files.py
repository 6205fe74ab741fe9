"""What an optimisation leaves to use: the new persona, rubric or jury as YAML, its version bumped, to be read and diffed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ...orchestration.record.atomic_write import write_atomically
from ...personas.persona import Persona
from ...rubrics.rubric import Rubric
from .wording import Judge


def write_result(folder: Path, first: Judge, best: Judge) -> list[Path]:
    """Write what changed, each thing to a file of its own; the files, none where the first words are returned."""
    written: list[Path] = []
    for before, after in zip(first.jury.seats, best.jury.seats, strict=True):
        if after.persona is not None and after.persona != before.persona:
            path = folder / f"persona-{after.persona.name}.yaml"
            if path not in written:
                _write(path, _persona(after.persona))
                written.append(path)
    if best.rubric != first.rubric:
        path = folder / f"rubric-{best.rubric.name}.yaml"
        _write(path, _rubric(best.rubric))
        written.append(path)
    if best.jury.stance != first.jury.stance:
        written.append(folder / "stance.yaml")
        _write(written[-1], {"stance": best.jury.stance})
    if best.jury.shots is not None and best.jury.shots != first.jury.shots:
        written.append(folder / "shots.yaml")
        _write(written[-1], {"shots": best.jury.shots.model_dump(mode="json", exclude_defaults=True)})
    return written


def _persona(persona: Persona) -> dict[str, Any]:
    return {**persona.model_dump(mode="json"), "version": persona.version + 1}


def _rubric(rubric: Rubric) -> dict[str, Any]:
    document = rubric.model_dump(mode="python", exclude_defaults=True)
    document["attributes"] = [dict(each) for each in document["attributes"]]
    return {**document, "version": rubric.version + 1}


def _write(path: Path, document: dict[str, Any]) -> None:
    text = yaml.dump(document, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=100)
    write_atomically(path, text)


class _Readable(yaml.SafeDumper):
    """YAML as a person writes it: a text of several lines as a block."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)
_Readable.add_representer(tuple, lambda dumper, items: dumper.represent_list(list(items)))
