"""Having juries sit: demo, run, status."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from .options import (
    BASE_URL,
    BATCH,
    IN_FLIGHT,
    JSON,
    MAX_SECONDS,
    MAX_TOKENS,
    MAX_USD,
    MODEL,
    POLL,
    PRICES,
    QUIET,
    RETRY,
    RPM,
    RUN,
    TPM,
    Registered,
    batch_settings,
    console,
    exit_unless_whole,
    filled_juries,
    location,
    print_json,
    report,
    say,
    say_who_waits,
    sheet_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..orchestration.executors import Cluster
    from ..orchestration.reading.requirements import Requirement
    from ..personas import Jury
    from ..rubrics import Rubric


@click.command()
@click.option("--open", "opened", is_flag=True, help="Open the study in the browser at the end.")
@click.option("--quick", is_flag=True, help="Replay the deliberation without pauses.")
@click.option(
    "--live/--no-live",
    default=True,
    show_default=True,
    help="Also run a live deliberation of the embedded juror, for at most a minute.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Directory for the run.")
@click.option(
    "--gguf",
    type=click.Path(path_type=Path),
    help="A model file (GGUF) of your own for the live deliberation.",
)
def demo(opened: bool, quick: bool, live: bool, output: Path | None, gguf: Path | None) -> None:
    """Show a deliberation and a study, without a key or network."""
    from .demonstration import demonstrate

    run = demonstrate(console(), quick=quick, live=live, folder=output, gguf=gguf)
    if opened:
        from ..web.server import inspect

        inspect(run, port=0, opened=True, say=partial(say, err=True))


_MANY = 20_000
"""Deliberations that are not counted again for their scores to be printed where none of them is new: that takes a minute or more."""


@click.command()
@click.argument("cases", type=click.Path(path_type=Path))
@click.option("--rubric", required=True, help="A rubric file, or a name from `venire rubrics`.")
@click.option(
    "--jury",
    "juries",
    required=True,
    multiple=True,
    help="A jury file or name; repeatable. Each jury is one arm of the run.",
)
@click.option(
    "--pairs",
    is_flag=True,
    help="Make a case of every two outputs that different systems gave to the same question and source.",
)
@click.option("--against", metavar="SYSTEM", help="With --pairs: only pairs that include this system.")
@click.option(
    "--by-turn", is_flag=True, help="Judge each turn of the assistant in a conversation as a case of its own."
)
@click.option(
    "--as-pairs",
    is_flag=True,
    help="For pairs: ask which output does better on each attribute, instead of asking for scores.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=location,
    metavar="RUN",
    help="The run's directory, or postgresql://HOST/DATABASE?run=NAME.",
)
@click.option("--redact", is_flag=True, help="Keep the words of cases and jurors out of the record.")
@MODEL
@BASE_URL
@click.option(
    "--gguf", type=click.Path(path_type=Path), help="A model file of your own, run in this process."
)
@click.option("--protocol", help="Deliberate under this protocol instead of the jury's own.")
@MAX_USD
@MAX_TOKENS
@MAX_SECONDS
@IN_FLIGHT
@BATCH
@POLL
@RPM
@TPM
@PRICES
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="CONDITION",
    help="A requirement for every verdict, such as 'accurate>=4'; exit status 1 if one fails.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a JUnit report for a build server.",
)
@click.option("--trace", type=click.Path(path_type=Path), help="Write OpenTelemetry spans to this file.")
@RETRY
@click.option(
    "--watch", is_flag=True, help="Wait for people who are jurors, and continue after each of their ballots."
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--executor",
    default="local",
    show_default=True,
    cls=Registered,
    group="venire.executors",
    help="Where the cases are judged; local is this process",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="On Ray: number of worker processes (default: the number of CPUs).",
)
@click.option(
    "--ray-address",
    help="Address of an existing Ray cluster (default: RAY_ADDRESS; without it, a cluster is started).",
)
@QUIET
@JSON
@sheet_option("cases")
def run(cases: Path, rubric: str, juries: tuple[str, ...], output: Path | str, **options: Any) -> None:
    """Have juries deliberate over CASES; resumes where RUN left off."""
    from ..agents.cost import load_prices
    from ..agents.desk import answers_given, await_answers
    from ..orchestration.reading.status import unreached_at
    from ..orchestration.run_session import RunSession, run_session
    from ..personas import load_jury
    from ..rubrics import load_cases, load_rubric
    from ..rubrics.case import pairs_among, turn_cases
    from ..rubrics.errors import VenireError

    asked = load_rubric(rubric).as_pairs() if options["as_pairs"] else load_rubric(rubric)
    if options["against"] and not options["pairs"]:
        raise VenireError("--against works only with --pairs", remedy="add --pairs")
    if options["by_turn"] and options["pairs"]:
        raise VenireError("--pairs and --by-turn cannot be used together", remedy="leave out one of the two")
    required = _requirements(options["required"], asked)
    model, base_url, gguf = options["model"], options["base_url"], options["gguf"]
    if gguf is not None:
        model = f"local/{gguf}"
    filled = filled_juries((_under(load_jury(name), options["protocol"]) for name in juries), model, base_url)
    given: Any = cases
    if options["pairs"]:
        given = pairs_among(load_cases(cases), against=options["against"])
    elif options["by_turn"]:
        given = list(turn_cases(load_cases(cases)))
    session = RunSession(
        cases=given,
        rubric=asked,
        juries=filled,
        folder=output,
        max_usd=options["max_usd"],
        max_tokens=options["max_tokens"],
        max_seconds=options["max_seconds"],
        in_flight=options["in_flight"],
        rpm=options["rpm"],
        tpm=options["tpm"],
        prices=load_prices(options["prices"]) if options["prices"] else {},
        trace=options["trace"],
        seed=options["seed"],
        redact=options["redact"],
        retry=options["retry"],
        executor=options["executor"],
        batch=batch_settings(options["batch"], options["poll"]),
        cluster=cluster_of(options["executor"], options["ray_address"], options["workers"]),
    )
    while True:
        answered = answers_given(output)
        ended = run_session(session, console(stderr=True), quiet=options["quiet"])
        if not options["watch"] or not ended.parked or ended.limit:
            break
        await_answers(output, answered)
    stopped = ended.limit is not None and ended.limit in signal.Signals.__members__
    if stopped and not options["as_json"]:
        say(f"to see the scores so far, run: venire show {quote(str(output))}")
    elif not ended.heard and ended.skipped > _MANY and not options["as_json"]:
        say(
            f"all cases were judged before ({ended.skipped} deliberations); to see their scores, run: venire show {quote(str(output))}"
        )
    else:
        # The models that were not reached are named on stderr, below.
        report(output, as_json=options["as_json"], unreached=False)
    if ended.parked:
        say_who_waits(output)
    missed = heard = 0
    if required or options["junit"]:
        from ..orchestration.reading.requirements import write_junit

        missed, heard = write_junit(output, required, options["junit"])
    exit_unless_whole(ended.limit, () if ended.limit else unreached_at(output), remedy="")
    if missed:
        say(f"{missed} of {heard} deliberations do not meet the requirements", err=True)
        raise SystemExit(1)


@click.command()
@RUN
@JSON
def status(run: Path | str, as_json: bool) -> None:
    """Show how far RUN has come, also while it is running."""
    from ..orchestration.reading.status import show_status, status_json
    from ..orchestration.reading.status import status as found

    if as_json:
        print_json(status_json(found(run)))
    else:
        show_status(found(run), console())


@click.command()
@click.argument("runs", type=location, nargs=-1, required=True, metavar="RUN RUN...")
@click.option(
    "-o", "--output", required=True, type=location, metavar="RUN", help="Directory for the merged run."
)
def merge(runs: tuple[Path | str, ...], output: Path | str) -> None:
    """Merge runs of one study into one run. Makes no model call."""
    from ..orchestration.record.merging import merge_runs
    from ..rubrics.errors import VenireError, count_words

    if len(runs) < 2:
        raise VenireError("merging needs two runs or more", remedy="name two runs or more")
    merged = merge_runs(runs, output)
    say(
        f"{len(runs)} runs were merged into {output}: {count_words(merged.deliberations, 'deliberation')} and {count_words(merged.calls, 'call')}"
    )
    if merged.doubled:
        say(
            f"{merged.doubled} deliberations were in two runs; the copy from the run that you named first is kept"
        )


def _requirements(written: Sequence[str], rubric: Rubric) -> list[Requirement]:
    if not written:
        return []
    from ..orchestration.reading.requirements import Requirement

    return [Requirement.parse(each, rubric) for each in written]


def cluster_of(executor: str, address: str | None, workers: int | None) -> Cluster:
    """The cluster that an executor is to use; an error where options are given that it has no use for."""
    from ..orchestration.executors import Cluster
    from ..rubrics.errors import VenireError

    if executor == "local" and (address is not None or workers is not None):
        raise VenireError(
            "--workers and --ray-address work only with --executor ray", remedy="add --executor ray"
        )
    return Cluster(address, workers)


def _under(jury: Jury, protocol: str | None) -> Jury:
    if protocol is None or protocol == jury.protocol:
        return jury
    return jury.under(protocol).model_copy(update={"name": f"{jury.name}-{protocol}"})
