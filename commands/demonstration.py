"""`venire demo`: one live deliberation by the embedded model, then a study whose labels are known."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..evals.comparison.comparison import Comparison, compare
from ..evals.comparison.text_baselines import ROUGE_L
from ..evals.pages.terminal_tables import comparison_table, estimate_words
from ..evals.ratings.sheet import OVERALL
from ..orchestration.reading.export import verdicts
from ..orchestration.reading.show import EntryRenderer, outcome_table, show
from ..orchestration.record import Store
from ..orchestration.run_session import RunSession, run_session
from ..orchestration.transcript import Entry
from ..personas.jury import load_jury
from ..rubrics.case import load_cases
from ..rubrics.errors import VenireError
from ..rubrics.rubric import load_rubric

FOLDER = Path(__file__).parents[1] / "evals" / "demo"
STAMP = "135M model: the mechanics are real, its judgement is not"
EXCERPT = "demo-07"


def demonstrate(console: Console, *, quick: bool, folder: Path | None, gguf: Path | None) -> None:
    """The whole first minute: a deliberation to read, a study to look at, and where to go on."""
    folder = folder or Path(tempfile.mkdtemp(prefix="venire-demo-"))
    console.print("Every case here is invented; no patient exists.\n", style="dim")
    if not quick:
        _live(console, folder / "live", gguf)
    _study(console, folder / "study")


def _live(console: Console, folder: Path, gguf: Path | None) -> None:
    """One deliberation by a language model in this process, told as it happens."""
    console.rule("A live deliberation")
    console.print(Text(STAMP if gguf is None else f"the model in {gguf.name}", "bold yellow"))
    case = next(load_cases(FOLDER / "live.jsonl"))
    console.print(Text.assemble(("source  ", "dim"), " ".join(case.source)))
    console.print(Text.assemble(("output  ", "dim"), case.output, "\n"))
    jury = load_jury("local-stances").fill(model=f"local/{gguf}" if gguf else None)
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
        with console.status("three jurors read the case; the first words take a little while"):
            run_session(session, console, quiet=True, listener=tell)
    except VenireError as error:
        console.print(Text(f"left out: {error.problem} -> {error.remedy}\n", "yellow"))
        return
    store = Store.read(folder)
    ((_, verdict),) = verdicts(store)
    store.release()
    console.print(Text.assemble(("\nstopped: ", "dim"), (str(verdict.stop), "bold")))
    console.print(outcome_table(verdict))
    console.print(Text(f"{STAMP if gguf is None else ''}\n", "bold yellow"))


def _study(console: Console, folder: Path) -> None:
    """Two arms that need no model, against labels known by construction."""
    console.rule("A study: 24 invented summaries with planted faults")
    rubric = load_rubric("clinical-note")
    juries = [load_jury(name).fill(model=None) for name in ("lens-jury", "lens-single")]
    session = RunSession(cases=FOLDER / "cases.jsonl", rubric=rubric, juries=juries, folder=folder)
    run_session(session, console, quiet=False)
    store = Store.read(folder)
    try:
        (excerpt,) = [v for _, v in verdicts(store, arm="lens-jury", case=EXCERPT)]
        show(excerpt, console)
        comparison = compare(store, FOLDER / "labels.csv")
    finally:
        store.release()
    console.rule("Against the labels")
    console.print(comparison_table(comparison))
    console.print(Text(_overlap_line(comparison), "dim"))
    for sentence in comparison.sentences():
        # Nobody rated these cases: their labels follow from what was planted.
        console.print(f"- {sentence.replace('with people', 'with the labels')}")
    console.print(
        "\nLenses count words; they are the floor that a jury of language models must beat. A jury that does not beat\n"
        "a constant, or a single judge, has added nothing, and the table says so.\n"
    )
    command = sys.argv[0] if Path(sys.argv[0]).name == "venire" else "venire"
    for what, rest in (
        ("read one", f"show {folder} {EXCERPT}"),
        ("in the browser", f"inspect {folder}"),
        ("a report", f"compare {folder} --human {FOLDER / 'labels.csv'} -o REPORT"),
        ("as a table", f"export {folder} --to csv"),
        ("your own", "run CASES.jsonl --rubric clinical-note --jury stances --model MODEL -o RUN"),
    ):
        console.print(f"{what + ':':<16}{command} {rest}", soft_wrap=True)


def _overlap_line(comparison: Comparison) -> str:
    """How the order of the cases by overlap with a good summary goes with the order by their labels."""
    found = comparison.agreement[ROUGE_L][OVERALL]["spearman"]
    return (
        f"{ROUGE_L} with a good summary gives no scores, only an order: Spearman with the mean label "
        f"{estimate_words(found)}, n = {found.n}"
    )
