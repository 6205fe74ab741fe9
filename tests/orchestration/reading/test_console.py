"""Progress of counted work: silent where it is short, lines with the time left where it is not."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from venire.orchestration.reading import console as told
from venire.orchestration.reading.console import CountedProgress


class Clock:
    """Time that goes on only when it is moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(told, "time", self)

    def monotonic(self) -> float:
        return self.now


def counted(clock: Clock, *, quiet: bool = False, step: float = 2.0, terminal: bool = False) -> str:
    """What is said of ten pieces of work that take `step` seconds each."""
    said = StringIO()
    console = Console(file=said, force_terminal=terminal, width=100)
    with CountedProgress("texts read", console, quiet=quiet) as progress:
        for done in range(11):
            progress(done, 10)
            clock.now += step
    return said.getvalue()


def test_long_work_tells_what_is_left_and_ends_with_what_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = counted(Clock(monkeypatch)).splitlines()

    assert lines == [
        "2/10 texts read, about 16 s left",
        "5/10 texts read, about 10 s left",
        "8/10 texts read, about 4 s left",
        "10 texts read in 20 s",
    ]


def test_short_or_quiet_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)

    assert counted(clock, step=0.2) == "" and counted(clock, quiet=True) == ""


def test_on_a_terminal_one_line_changes_and_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    said = counted(Clock(monkeypatch), terminal=True)

    assert "9/10 texts read, about 2 s left" in said
    assert said.endswith("10 texts read in 20 s\n") and said.count("\x1b[?25h") == 1
