"""Progress of a run and of counted work: silent where it is short, lines with the time left where it is not."""

from __future__ import annotations

from contextlib import suppress
from io import StringIO

import pytest
from rich.console import Console
from written_transcripts import abstained, cast, transcript_of

from venire import VenireError
from venire.agents.cost import Cost, Usage
from venire.orchestration.reading import console as told
from venire.orchestration.reading.console import CountedProgress, RunProgress


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


def lines_of_a_run(
    clock: Clock, *, total: int = 10, quiet: bool = False, error: Exception | None = None
) -> list[str]:
    """What is said of a run with two deliberations done before, one left out, and three heard, each in 4 s and with one abstention."""
    said, spent = StringIO(), Cost()
    heard = transcript_of([cast("a", {"x": 1}), abstained("b", "x")])
    with (
        suppress(VenireError),
        RunProgress(
            total, Console(file=said, width=200), quiet=quiet, spent=lambda: spent, skipped=2
        ) as progress,
    ):
        progress.count_skipped("c", "j")
        for _ in range(3):
            clock.now += 4
            spent += Cost(calls=2, usage=Usage(prompt=10, completion=3), priced=2, known_usd=0.25)
            progress.count_finished(heard)
        if error is not None:
            raise error
    return said.getvalue().splitlines()


def test_a_runs_progress_counts_what_was_done_before_but_takes_its_pace_from_what_was_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    # A line after 5 s at the earliest, so with the second; at 4 s each, the five and four that are left take 20 and 16 s.
    assert lines_of_a_run(clock) == [
        "5/10 deliberations, 4 calls, 26 tokens, $0.5000, 3 done before, 2 abstentions, about 20 s left",
        "6/10 deliberations, 6 calls, 39 tokens, $0.7500, 3 done before, 3 abstentions, about 16 s left",
    ]
    assert lines_of_a_run(clock, total=6)[-1].endswith("3 done before, 3 abstentions")
    assert lines_of_a_run(clock, total=66)[-1].endswith("about 4 min 0 s left")
    assert lines_of_a_run(clock, quiet=True) == []
    assert len(lines_of_a_run(clock, error=VenireError("a mistake", remedy="mend it"))) == 1
