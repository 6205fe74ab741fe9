"""A run as a JUnit report: a test for each deliberation, so that a build server shows which ones did not pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from ...rubrics.safe_text import safe
from ..record import Location, Store
from ..verdict import Verdict
from .export import verdicts
from .requirements import Requirement


class Held(NamedTuple):
    """How many deliberations missed what was required, of how many."""

    missed: int
    heard: int


def write_junit(folder: Location, required: Sequence[Requirement], file: Path | None) -> Held:
    """Hold every verdict of the run against what is `required`, and write that to `file` if one is named.

    A deliberation fails when it misses a requirement; one that reached no score and of which nothing was required
    is skipped, with the reason: it is not a pass.
    """
    store = Store.read(folder)
    cases: list[str] = []
    heard = missed = skipped = 0
    seconds = 0.0
    try:
        for _, verdict in verdicts(store):
            misses = [why for each in required if (why := each.miss(verdict))]
            silent = not misses and not any(o.status == "reached" for o in verdict.outcomes.values())
            heard, missed, skipped = heard + 1, missed + bool(misses), skipped + silent
            seconds += verdict.transcript.cost.seconds
            if file is not None:
                cases.append(_case(verdict, misses, silent))
        name = store.name
    finally:
        store.release()
    if file is not None:
        counts = f'tests="{heard}" failures="{missed}" errors="0" skipped="{skipped}" time="{seconds:.3f}"'
        body = "".join(cases)
        file.write_text(
            f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites {counts}>\n'
            f"<testsuite name={_attribute(name)} {counts}>\n{body}</testsuite>\n</testsuites>\n",
            encoding="utf-8",
        )
    return Held(missed, heard)


def _case(verdict: Verdict, misses: Sequence[str], silent: bool) -> str:
    scores = {name: o.status if o.value is None else str(o.value) for name, o in verdict.outcomes.items()}
    scores |= {name: f"{value:g}" for name, value in verdict.derived.items()}
    scores["stop"] = str(verdict.stop)
    kept = "".join(f"<property name={_attribute(k)} value={_attribute(v)}/>" for k, v in scores.items())
    end = ""
    if misses:
        end = f"<failure message={_attribute('; '.join(misses))}/>"
    elif silent:
        why = "; ".join(f"{name}: {o.why or o.status}" for name, o in verdict.outcomes.items())
        end = f"<skipped message={_attribute(why)}/>"
    return (
        f"<testcase classname={_attribute(verdict.arm)} name={_attribute(verdict.case)} "
        f'time="{verdict.transcript.cost.seconds:.3f}"><properties>{kept}</properties>{end}</testcase>\n'
    )


def _attribute(words: str) -> str:
    """Words as XML holds them: what no XML may hold is shown as its code."""
    return quoteattr(safe(words), {"\n": "&#10;"})
