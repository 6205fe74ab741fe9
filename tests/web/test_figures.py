"""Figures that a process of their own keeps up with the record while a run goes on."""

from __future__ import annotations

import io
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from venire.web import figures
from venire.web.figures import KeptFigure
from venire.web.server import Inspector


def test_figures_are_computed_anew_where_all_that_is_recorded_is_read_and_some_of_it_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At four looks: some of the record is not read yet; all is read, for the first time; nothing is new; two more deliberations are."""
    looks = [(2, 3), (3, 3), (3, 3), (5, 5)]
    kept, computed, at = {"first": 0}, list[tuple[int, str]](), {"look": 0}

    def keep(run: str, connection: object) -> None:
        kept["first"] = looks[at["look"]][0]
        computed.append((at["look"], run))

    def sleep(seconds: float) -> None:
        assert seconds >= 1
        at["look"] += 1
        if at["look"] == len(looks):
            raise StopIteration

    monkeypatch.setattr(pickle, "load", lambda questions: ("run", "index", {"first": keep}))
    monkeypatch.setattr(figures, "_end_with", lambda questions: None)
    monkeypatch.setattr(figures, "Store", SimpleNamespace(read=lambda run: "store"))
    monkeypatch.setattr(figures, "open_index", lambda index: "connection")
    monkeypatch.setattr(figures, "read_to", lambda connection: SimpleNamespace(scored=looks[at["look"]][0]))
    monkeypatch.setattr(figures, "last_shown", lambda store: looks[at["look"]][1])
    monkeypatch.setattr(
        figures, "kept_figure", lambda connection, name: KeptFigure(0, kept[name], {} if kept[name] else None)
    )
    monkeypatch.setattr(figures.time, "sleep", sleep)
    questions: Any = io.BytesIO()
    with pytest.raises(StopIteration):
        figures.keep_up(questions)
    assert computed == [(1, "run"), (3, "run")]


@pytest.mark.parametrize(
    ("ended", "told_of", "words"),
    [
        (None, 5, None),
        (None, 4, "More cases have been judged"),
        (None, 0, "is being computed"),
        (1, 0, "venire winrate RUN says why"),
        (0, 5, "venire winrate RUN says why"),
    ],
)
def test_a_page_says_why_figures_are_not_there_or_not_of_every_case(
    ended: int | None, told_of: int, words: str | None
) -> None:
    worker = object.__new__(figures.FiguresWorker)
    worker._process = SimpleNamespace(poll=lambda: ended)  # type: ignore[assignment]
    page: Any = SimpleNamespace(_figures_worker=worker, index=SimpleNamespace(read_to=SimpleNamespace(scored=5)))  # fmt: skip
    told = Inspector._figures_note(page, told_of, "The comparison", "venire winrate RUN")

    assert told is None if words is None else words in str(told)
    page._figures_worker = None
    assert (Inspector._figures_note(page, 5, "It", "venire winrate RUN") is None) and worker.failed is (ended is not None)  # fmt: skip
