"""Ways of deliberating: what a protocol is, and where it is found. Built-in ones are registered like any plug-in's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache

from ...agents.prompting import Brief, Prompts
from ...personas.jury import CountingRule, Jury
from ...personas.options import PROTOCOLS, Options
from ...rubrics.plugins import BrokenPlugin, load_all, plugged_in
from ...rubrics.rubric import Rubric
from ..bench import Bench
from ..transcript import Transcript


@dataclass(frozen=True, slots=True)
class Protocol:
    """Who speaks when and who sees what; ends with a transcript that says why it stopped."""

    run: Callable[[Brief, Bench], Awaitable[Transcript]]
    count: CountingRule
    """How its ballots become a verdict, unless the jury says otherwise."""
    orchestrator: bool
    """Whether an orchestrator presides."""
    summary: str
    speaks: str
    sees: str
    ends: str
    calls: str
    """How many model calls N jurors in R rounds make."""
    steps: str
    """How many of them follow each other."""
    replans: bool = False
    """Whether whoever presides puts the questions anew where `max_stalls` would stop, `max_replans` times."""
    framework: bool = False
    """Whether another library's team deliberates: its orchestrator is told what to do in that library's words, keeps one
    conversation, and answers in free text."""
    options: type[Options] = Options
    """What it may be told, under `options:` in a jury file; it reads them with `bench.jury.options_as`."""
    prompts: Prompts | None = None
    """Prompts of its own, for `Juror.ask`; their hash goes into the manifest."""
    check: Callable[[Jury], None] | None = None
    """Raises what a user must mend before this jury can sit; called before anything is written."""
    check_rubric: Callable[[Jury, Rubric], None] | None = None
    """The same, for what the rubric must be like."""
    inputs: Callable[[Jury], str] | None = None
    """A hash of the files that the jury's options name, for the manifest; empty where they name none."""
    judges: bool = True
    """False where nothing is judged: it is no way for a jury to deliberate, and is not listed among those."""
    drawing: str = ""
    """The order of turns, a line for each step."""
    most: Callable[[int, int], tuple[int, int]] | None = None
    """The most calls and serial steps for N jurors and R rounds, with the jury's other settings at their defaults,
    every answer usable at once, and no challenge."""


@cache
def protocol(name: str) -> Protocol:
    """The protocol registered under `name`."""
    way: Protocol = plugged_in(PROTOCOLS, name, "protocol")
    return way


def protocols() -> dict[str, Protocol | BrokenPlugin]:
    """Every registered protocol by which juries judge, by name; one that cannot be loaded is there as its error."""
    found: dict[str, Protocol | BrokenPlugin] = load_all(PROTOCOLS)
    return {name: way for name, way in found.items() if isinstance(way, BrokenPlugin) or way.judges}
