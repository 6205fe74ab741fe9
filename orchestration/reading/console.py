"""The console of every command, on which what models and files say is shown and never obeyed; and progress of long work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.live import Live
from rich.segment import Segment
from rich.text import Text

from ...agents.cost import Cost
from ...rubrics.errors import VenireError, count_words, without_controls
from ..transcript import Transcript

_EVERY = 5.0
"""Seconds between two lines in a pipe."""
_PATIENCE = 3.0
"""Seconds before counted work shows any progress."""


class SafeConsole(Console):
    """A console that reads no markup and replaces control characters in whatever is printed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=without_controls(segment.text))


class SafeStream:
    """A terminal to write a whole document to, with its control characters replaced."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        return self._terminal.write(without_controls(text))


class RunProgress:
    """Progress of a run: deliberations, calls, tokens, dollars, time left."""

    def __init__(
        self, total: int, console: Console, *, quiet: bool, spent: Callable[[], Cost], skipped: int = 0
    ) -> None:
        """`spent` is what the record holds at the moment: the number that `venire status` shows; `skipped` were done before."""
        self._spent = spent
        self._total = total
        self._console = console
        self._quiet = quiet
        self._live = (
            Live(console=console, auto_refresh=False, transient=True)
            if console.is_terminal and not quiet
            else None
        )
        self._started = time.monotonic()
        self._shown_at = self._started
        self._heard = self._abstentions = 0
        self._skipped = skipped

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        # A mistake by the user is two lines, and none of them this.
        if not self._quiet and not isinstance(error, VenireError):
            self._console.print(self._line(), highlight=False)

    def count_skipped(self, case: str, arm: str) -> None:
        self._skipped += 1

    def count_finished(self, transcript: Transcript) -> None:
        self._heard += 1
        self._abstentions += len(transcript.abstentions)
        now = time.monotonic()
        if self._live is not None and now - self._shown_at > 0.1:
            self._shown_at = now
            self._live.update(Text(self._line()), refresh=True)
        elif self._live is None and not self._quiet and now - self._shown_at > _EVERY:
            self._shown_at = now
            self._console.print(self._line(), highlight=False)

    def _line(self) -> str:
        done, spent = self._heard + self._skipped, self._spent()
        parts = [
            f"{done}/{self._total} deliberations",
            count_words(spent.calls, "call"),
            count_words(spent.tokens, "token"),
            spent.price,
        ]
        if self._skipped:
            parts.append(f"{self._skipped} done before")
        if self._abstentions:
            parts.append(count_words(self._abstentions, "abstention"))
        if self._heard and done < self._total:
            left = (time.monotonic() - self._started) / self._heard * (self._total - done)
            parts.append(f"about {_clock(left)} left")
        return ", ".join(parts)


class CountedProgress:
    """Progress of counted work; shows nothing for work of a few seconds."""

    def __init__(self, what: str, console: Console, *, quiet: bool) -> None:
        self._what = what
        self._console = console
        self._quiet = quiet
        self._live: Live | None = None
        self._started: float | None = None
        self._shown_at: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` is done; the first call, with nothing done, starts the clock."""
        now = time.monotonic()
        self._started = self._started or now
        took = now - self._started
        if self._quiet or took < _PATIENCE:
            return
        if done >= total:
            self._stop()
            self._console.print(f"{total} {self._what} in {_clock(took)}", highlight=False)
            return
        line = f"{done}/{total} {self._what}, about {_clock(took / done * (total - done))} left"
        if self._console.is_terminal:
            self._refresh(line)
        elif self._shown_at is None or now - self._shown_at > _EVERY:
            self._shown_at = now
            self._console.print(line, highlight=False)

    def _refresh(self, line: str) -> None:
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(Text(line), refresh=True)

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
