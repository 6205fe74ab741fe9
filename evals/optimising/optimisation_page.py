"""An optimisation in the terminal, as JSON and as a page: what was gained, the words that changed, and every trial."""

from __future__ import annotations

import difflib
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from ...rubrics.errors import safe
from ..report.files import write_folder
from ..report.html import items, page, paragraph, section, subheading, table
from ..report.markup import Html, element, fragment
from .optimisation import Optimised

_HEADS = {
    "number": "",
    "label": "what changed",
    "state": "result",
    "before": "minibatch before",
    "after": "minibatch after",
    "p": "p",
    "validation": "validation",
    "front": "on the frontier",
    "calls": "calls so far",
    "why": "why",
}


def wordings_table(result: Optimised) -> pd.DataFrame:
    """One row a wording that was tried, in the order in which they were."""
    return pd.DataFrame(
        [
            {
                "number": trial.number,
                "label": trial.label,
                "state": "returned" if trial is result.chosen and result.improved else trial.state,
                "before": _or_nan(trial.minibatch.get("before")),
                "after": _or_nan(trial.minibatch.get("after")),
                "p": _or_nan(trial.minibatch.get("p")),
                "validation": _or_nan(trial.validation),
                "front": "yes" if trial.number in result.front else "",
                "calls": trial.calls,
                "why": trial.why,
            }
            for trial in result.trials
        ],
        columns=list(_HEADS),
    )


def show_optimisation(result: Optimised, files: list[Path], console: Console) -> None:
    """The answer first, then the words that changed and what it took."""
    console.print(safe(result.sentence), highlight=False, markup=False)
    for name, (old_text, new_text) in changed_texts(result).items():
        console.print(f"\n{safe(name)}", style="bold", highlight=False)
        for line in difflib.unified_diff(old_text.splitlines(), new_text.splitlines(), lineterm="", n=1):
            if not line.startswith(("---", "+++", "@@")):
                style = {"+": "green", "-": "red"}.get(line[:1])
                console.print(safe(line), style=style, highlight=False, markup=False)
    for note in notes(result):
        console.print(f"note: {safe(note)}", style="dim", highlight=False, markup=False)
    for path in files:
        console.print(f"written: {path}", highlight=False, markup=False, soft_wrap=True)


def notes(result: Optimised) -> list[str]:
    """What a reader must know beside the answer."""
    plan, spent = result.plan, result.spent
    tried_count = sum(trial.state in ("accepted", "rejected") for trial in result.trials)
    refused = [trial for trial in result.trials if trial.state == "refused"]
    sentences = [
        f"{tried_count} wordings were tried, and {len(refused)} were refused without a trial. The optimisation took {spent.calls} calls ({spent.price}), {result.search_calls} of them before "
        f"the first test case was read. Cases: {len(plan.parts.train)} for training, {len(plan.parts.validation)} for choosing the best wording, "
        f"{len(plan.parts.test)} held out for the final score. No group is in two of these parts."
    ]
    if any(result.unanswered):
        sentences.append(
            f"Questions on test cases that got no verdict: {result.unanswered[0]} with your wording, {result.unanswered[1]} with the best new wording."
        )
    return [*sentences, *plan.notes]


def changed_texts(result: Optimised) -> dict[str, tuple[str, str]]:
    """By target, the text before and after, of those in which the best words are other than the first, returned or not."""
    texts = {
        name: (target.text(result.first), target.text(result.best))
        for name, target in result.plan.places.items()
    }
    if result.best.jury.shots != result.first.jury.shots and result.best.jury.shots is not None:
        texts["jury:shots"] = ("", "\n".join(result.best.jury.shots.ids))
    return {name: pair for name, pair in texts.items() if pair[0] != pair[1]}


def optimisation_json(result: Optimised, files: list[Path]) -> dict[str, Any]:
    gain = result.gain
    return {
        "improved": result.improved,
        "sentence": result.sentence,
        "returned": result.chosen.number if result.improved else 0,
        "best": result.chosen.number,
        "why": result.why,
        "measure": result.plan.rewards.words,
        "test": {
            "n": len(result.plan.parts.test),
            "first": _number(result.rewards[0]),
            "best": _number(result.rewards[1]),
            "difference": None if gain is None else _number(gain.difference.value),
            "low": None if gain is None else _number(gain.difference.low),
            "high": None if gain is None else _number(gain.difference.high),
            "p": None if gain is None else _number(gain.p),
            "method": "" if gain is None else gain.difference.method,
            "note": "" if gain is None else gain.difference.note,
            "unanswered": list(result.unanswered),
        },
        "calls": result.spent.calls,
        "search_calls": result.search_calls,
        "usd": result.spent.usd,
        "trials": [trial.json() for trial in result.trials],
        "front": list(result.front),
        "files": [str(path) for path in files],
        "notes": notes(result),
    }


def write_optimisation(result: Optimised, folder: Path, files: list[Path]) -> Path:
    """Write the report's folder; the page's path."""
    listed = wordings_table(result)
    words = [
        fragment(subheading(name), _word_diff(old_text, new_text))
        for name, (old_text, new_text) in changed_texts(result).items()
    ]
    body = [
        section("What was gained", paragraph(result.sentence, "said")),
        section(
            "The wording that changed" if result.improved else "The best new wording, which was not adopted",
            *(words or [paragraph("None.")]),
        ),
        section("What was tried", table("trials", listed, _HEADS)),
        section("Notes", items(notes(result), "notes")),
    ]
    subtitle = f"{result.plan.rewards.words} with people, {len(result.plan.parts.test)} test cases"
    return write_folder(
        folder / "report",
        page("Optimised words", subtitle, body),
        optimisation_json(result, files),
        {"trials": listed},
        {},
    )


def _word_diff(old_text: str, new_text: str) -> Html:
    """The new text with what went struck out and what came underlined."""
    old_words, new_words = (re.findall(r"\s+|\S+", text) for text in (old_text, new_text))
    parts: list[Any] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append("".join(old_words[a:b]))
            continue
        if a < b:
            parts.append(element("del", None, "".join(old_words[a:b])))
        if c < d:
            parts.append(element("ins", None, "".join(new_words[c:d])))
    return element("pre", {"class": "words"}, parts)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
