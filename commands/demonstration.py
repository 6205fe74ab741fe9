"""`venire demo`: a deliberation replayed from its record, a study of recorded readers, and what to do next."""

from __future__ import annotations

import csv
import json
import math
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..agents.clients.weights import INSTALL, weights_path
from ..evals.comparison.comparison import Comparison, compare_evidence
from ..evals.ratings.evidence import gather
from ..evals.ratings.people import load_ratings
from ..evals.ratings.pooling import OVERALL
from ..evals.ratings.score_tables import CONSTANT
from ..evals.statistics.estimate import Estimate
from ..orchestration.deliberate import recount
from ..orchestration.reading.export import verdicts
from ..orchestration.reading.show import EntryRenderer, outcome_table
from ..orchestration.record import Store
from ..orchestration.run_session import RunSession, run_session
from ..orchestration.transcript import Entry, Transcript
from ..orchestration.verdict import Verdict
from ..personas.jury import Jury, load_jury
from ..personas.options import CHECKED
from ..rubrics.case import Case, load_cases
from ..rubrics.errors import VenireError
from ..rubrics.rubric import Rubric, load_rubric

FOLDER = Path(__file__).parents[1] / "evals" / "demo"
STAMP = "The jurors use a model of 135 million parameters that was trained to judge short notes. It is often right, but not reliable."
LIVE_SECONDS = 60
"""After which the live deliberation ends, on a machine that is slow or busy."""
BETWEEN_ENTRIES = 0.7
"""Seconds between two utterances of the replayed deliberation, on a terminal."""
RESAMPLES = 300
"""Enough to look at, and quick."""


def demonstrate(console: Console, *, quick: bool, live: bool, folder: Path | None, gguf: Path | None) -> Path:
    """The whole first minute; the run of the study comes back, for the inspector."""
    folder = folder or Path(tempfile.mkdtemp(prefix="venire-demo-"))
    _replay(console, pause=BETWEEN_ENTRIES if console.is_terminal and not quick else 0.0)
    if live:
        _live(console, folder / "live", gguf)
    _study(console, folder / "study")
    return folder / "study"


def _replay(console: Console, *, pause: float) -> None:
    """What venire is for: three readers, one of whom finds the wrong dose. As it stands in a record that comes along."""
    record = json.loads((FOLDER / "wrong-dose.json").read_text(encoding="utf-8"))
    rubric = Rubric.model_validate(record["rubric"])
    jury = Jury.model_validate(record["jury"], context=CHECKED)
    transcript = Transcript.model_validate(record["transcript"])
    console.rule("A deliberation")
    console.print(
        "This deliberation is replayed from a record. The case is invented, and so are the jurors' words.\n",
        style="dim",
    )
    _case(console, Case.model_validate(record["case"]))
    renderer = EntryRenderer()
    for entry in transcript.entries:
        time.sleep(pause)
        console.print(renderer.render(entry))
    time.sleep(pause)
    _end(console, recount(transcript, rubric, jury))


def _live(console: Console, folder: Path, gguf: Path | None) -> None:
    """One deliberation by a language model in this process, told as it happens."""
    if gguf is None and weights_path() is None:
        console.print(
            f"The live deliberation is left out, because its model is not installed. To see one, run {INSTALL!r} first.\n",
            style="dim",
        )
        return
    console.rule("A live deliberation")
    console.print(Text(STAMP if gguf is None else f"The jurors use the model in {gguf.name}.", "bold yellow"))
    _case(console, next(load_cases(FOLDER / "live.jsonl")))
    jury = load_jury("local-stances").fill(model=f"local/{gguf}" if gguf else None)
    limits = jury.limits.model_copy(update={"max_seconds": LIVE_SECONDS})
    jury = jury.model_copy(update={"limits": limits})
    renderer = EntryRenderer()

    def tell(_: str, entry: Entry) -> None:
        console.print(renderer.render(entry))

    session = RunSession(
        cases=FOLDER / "live.jsonl",
        rubric=load_rubric(FOLDER / "live.yaml"),
        juries=[jury],
        folder=folder,
        in_flight=1,
    )
    try:
        with console.status("three jurors are reading the case; their first answers take a little while"):
            run_session(session, console, quiet=True, listener=tell)
    except VenireError as error:
        console.print(Text(f"left out: {error.problem} -> {error.remedy}\n", "yellow"))
        return
    store = Store.read(folder)
    ((_, verdict),) = verdicts(store)
    store.release()
    _end(console, verdict)
    if verdict.stop.limit == "max_seconds":
        console.print(
            f"The deliberation was stopped unfinished at its limit of {LIVE_SECONDS} seconds: this machine is slow or busy.\n",
            style="dim",
        )


def _case(console: Console, case: Case) -> None:
    for name, text in (("source", "\n".join(case.source)), ("output", case.output)):
        console.print(Text(name, "dim"))
        console.print(Padding(Text(text), (0, 0, 0, 2)))


def _end(console: Console, verdict: Verdict) -> None:
    console.print(Text.assemble(("\nstopped: ", "dim"), (str(verdict.stop), "bold")))
    console.print(outcome_table(verdict))
    console.print()


def _study(console: Console, folder: Path) -> None:
    """A jury of language models against one of them, against lenses and against people: answered from a record."""
    with (FOLDER / "readers.csv").open(encoding="utf-8", newline="") as file:
        recorded = {row["case"] for row in csv.DictReader(file)}
    heard = [case for case in load_cases(FOLDER / "cases.jsonl") if case.id in recorded]
    console.rule("A study")
    console.print(
        f"The study has {len(heard)} invented hospital cases, with the scores of two invented doctors. A jury of three readers with different stances "
        "judged the cases, and so did a single reader. All readers use the language model that comes with venire; their answers were recorded in advance. "
        "The baseline is a jury of ten lenses: simple programs that only count words.\n",
        style="dim",
    )
    cases = folder.parent / "study-cases.jsonl"
    cases.parent.mkdir(parents=True, exist_ok=True)
    cases.write_text("".join(f"{case.model_dump_json()}\n" for case in heard), encoding="utf-8")
    juries = [
        _recorded_jury("reader-jury", "panel", "high", "low", "middle"),
        _recorded_jury("single-reader", "single", "judge"),
    ]
    juries.append(load_jury("lens-jury").fill(model=None))
    session = RunSession(cases=cases, rubric=load_rubric("clinical-note"), juries=juries, folder=folder)
    run_session(session, console, quiet=True)
    store = Store.read(folder)
    try:
        comparison = compare_evidence(gather(store, load_ratings(FOLDER / "people.csv")), resamples=RESAMPLES)
    finally:
        store.release()
    console.print(results_table(comparison))
    console.print()
    for words in comparison.sentences():
        if (
            "reader-jury" in words
            and "mean absolute error" in words
            and (CONSTANT in words or "single-reader" in words)
        ):
            console.print(Text(words, "bold green"))
    console.print(
        "\nUnless a jury is shown to beat a single judge and a constant score, there is no evidence that it adds anything. "
        "With this few cases, only large differences can be detected.\n",
        style="dim",
    )
    command = sys.argv[0] if Path(sys.argv[0]).name == "venire" else "venire"
    for purpose, line in (
        ("to read this study in the browser, run:", f"{command} inspect {folder}"),
        ("to start with your own spreadsheet, run:", f"{command} new FOLDER --from SHEET.xlsx"),
    ):
        console.print(Text(purpose, "dim"))
        console.print(Text(f"  {line}", "bold"), soft_wrap=True)


def _recorded_jury(name: str, protocol: str, *jurors: str) -> Jury:
    """A jury whose seats answer with what the embedded model said of these cases."""
    seats = [{"name": juror, "model": f"recorded/{FOLDER / 'readers.csv'}#{juror}"} for juror in jurors]
    return Jury.model_validate({"name": name, "protocol": protocol, "seats": seats}, context=CHECKED)


def results_table(comparison: Comparison) -> Table:
    """The arms and the constant that they must beat, in less than 80 columns."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("", "ICC(3,k)", "mean abs error", "exact", "calls"):
        table.add_column(column, no_wrap=True)
    calls = comparison.costs.set_index("arm")["calls"]
    for arm in (*calls.index, CONSTANT):
        overall = comparison.agreement[arm][OVERALL]
        table.add_row(
            str(arm),
            _with_interval(overall["icc3k"]),
            _with_interval(overall["mae"]),
            f"{overall['exact'].value:.0%}",
            f"{calls[arm]:.0f}" if arm in calls.index else "",
        )
    return table


def _with_interval(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return "-"
    value = f"{estimate.value:.2f}"
    return value if math.isnan(estimate.low) else f"{value} [{estimate.low:.2f}, {estimate.high:.2f}]"
