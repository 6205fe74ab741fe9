"""What there is to choose from: each entry in a line, whole, and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

from venire import Rubric, VenireError, load_jury, load_persona
from venire.orchestration.reading import catalogue as module
from venire.orchestration.reading.catalogue import catalogue, check_file, description
from venire.personas import jury as juries
from venire.personas import persona as personas
from venire.rubrics import rubric as rubrics
from venire.rubrics.plugins import BrokenPlugin, library


def rows(table: Table) -> dict[str, str]:
    names, words = (list(map(str, column.cells)) for column in table.columns)
    assert len(set(names)) == len(names)
    return dict(zip(names, words, strict=True))


def test_every_entry_of_a_library_has_its_line_and_so_has_a_plug_in_that_does_not_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for plural, group in (("rubrics", rubrics.GROUP), ("personas", personas.GROUP), ("juries", juries.GROUP)):
        assert list(rows(catalogue(plural))) == sorted(library(group))
    assert rows(catalogue("rubrics"))["preference"] == "v1, 1 attribute: preference"
    assert rows(catalogue("personas"))["skeptic"] == load_persona("skeptic").attends_to
    stances = load_jury("stances")
    assert rows(catalogue("juries"))["stances"] == f"orchestrated: {', '.join(stances.seat_names)}. {stances.description}"  # fmt: skip
    monkeypatch.setattr(module, "load_all", lambda group: {"whole": object(), "odd": broken})
    monkeypatch.setattr(module, "protocols", lambda: {"odd": broken})
    broken = BrokenPlugin("odd cannot be used", remedy="install it again")
    assert rows(catalogue("rubrics"))["odd"] == broken.problem and "whole" not in rows(catalogue("rubrics"))
    assert rows(catalogue("protocols")) == {"odd": broken.problem}


@pytest.mark.parametrize(("name", "most"), [("single", "1 call in 1 serial step"), ("panel", "3 calls in 1 serial step"), ("delphi", "6 calls in 2 serial steps")])  # fmt: skip
def test_a_protocol_says_what_three_jurors_and_two_rounds_cost_at_most(name: str, most: str) -> None:
    words = description("protocols", name)
    assert f"N=3, R=2      at most {most}" in words and words.startswith(f"{name}: {rows(catalogue('protocols'))[name]}")  # fmt: skip


def test_an_entry_is_shown_as_its_file_has_it_and_a_file_is_summed_up_or_refused(tmp_path: Path, rubric: Rubric) -> None:  # fmt: skip
    text = library(juries.GROUP)["stances"].read_text(encoding="utf-8")
    assert description("juries", "stances") == text.rstrip()
    file = tmp_path / "mine.yaml"
    file.write_text(f"{rubric.model_dump_json()}\n\n")
    assert description("rubrics", str(file)) == rubric.model_dump_json()
    assert check_file("rubrics", file) == f"{file}: tiny: v1, 2 attributes: accurate, thorough"
    for ask in (lambda: description("juries", "stancs"), lambda: check_file("personas", file), lambda: description("rubrics", str(tmp_path / "none.yaml"))):  # fmt: skip
        with pytest.raises(VenireError):
            ask()
    file.write_text("name: odd\n")
    broken: Any = (lambda: check_file("rubrics", file), lambda: description("rubrics", str(file)))
    for ask in broken:
        with pytest.raises(VenireError):
            ask()
