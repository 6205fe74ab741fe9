"""What if: replays of recorded deliberations, and juries under pressure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import (
    ARM,
    BASE_URL,
    IN_FLIGHT,
    JSON,
    MAX_SECONDS,
    MAX_TOKENS,
    MAX_USD,
    MODEL,
    PRICES,
    QUIET,
    RETRY,
    RPM,
    RUN,
    TPM,
    console,
    exit_unless_whole,
    location,
    print_json,
    say,
    say_who_waits,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..orchestration.reading.side_by_side import SideBySide
    from ..orchestration.replay.replay import ReplaySession


@click.command(short_help="Replay a recorded deliberation with one thing changed.")
@RUN
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=location,
    metavar="CHILD",
    help="Directory for the replay, which is a new run.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="SEAT",
    help="Remove a juror, which then has no vote and is not read by the others.",
)
@click.option(
    "--leaving",
    multiple=True,
    metavar="SEAT",
    help="Juror that leaves at --from-round; its earlier votes remain.",
)
@click.option(
    "--seat",
    "seats",
    multiple=True,
    metavar="SEAT=persona:NAME|model:M",
    help="Give a juror another persona or another model.",
)
@click.option(
    "--limits",
    multiple=True,
    metavar="max_rounds=1",
    help="Change a limit of the jury; the value `none` removes it.",
)
@click.option("--orchestrator", metavar="MODEL", help="Use another model as the orchestrator.")
@click.option(
    "--advocates",
    nargs=2,
    metavar="HIGH LOW",
    help="In a debate: the two jurors that argue, for a high and for a low score.",
)
@click.option(
    "--from-round",
    type=click.IntRange(min=1),
    default=1,
    help="Keep everything before this round as recorded.",
)
@click.option(
    "--each-seat",
    is_flag=True,
    help="Remove each juror in turn, and report what its presence changed.",
)
@click.option(
    "--controls", is_flag=True, help="Ask jurors again about their revisions, to find out why they moved."
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How often each control question is asked. More cases help more than more repeats.",
)
@click.option(
    "--who",
    is_flag=True,
    help="With --controls: also ask with each juror's words left out, and with that juror's words alone.",
)
@click.option(
    "--human",
    type=click.Path(path_type=Path),
    help="With --controls: people's ratings, to separate right moves from wrong ones.",
)
@ARM
@click.option(
    "--base-url",
    help="Server address of the model that these options name, or of a recorded model whose address was not stored because it holds a secret.",
)
@click.option("--plan", "only_plan", is_flag=True, help="Print how many calls would be new, and make none.")
@MAX_USD
@MAX_TOKENS
@MAX_SECONDS
@IN_FLIGHT
@RPM
@TPM
@PRICES
@RETRY
@QUIET
@JSON
def replay(run: Path | str, cases: tuple[str, ...], output: Path | str, **options: Any) -> None:
    """Replay deliberations of RUN with one thing changed, and show both side by side.

    Questions that did not change are answered from RUN's record, which stays unchanged. The number of new calls is
    printed before any is made.
    """
    from ..orchestration.reading.status import unreached_at
    from ..orchestration.record import recorded_cost
    from ..orchestration.replay.controls import plan_controls, run_controls
    from ..orchestration.replay.replay import plan_replay, run_replay

    session = _session(run, cases, output, options)
    controls, draws, who = options["controls"], options["draws"], options["who"]
    plan = plan_controls(session, draws, who=who) if controls else plan_replay(session)
    say(str(plan), err=True)
    if options["only_plan"]:
        if options["as_json"]:
            print_json({"run": str(output), "parent": str(run), "plan": plan.to_json()})
        return
    before = recorded_cost(output).calls
    progress, quiet = console(stderr=True), options["quiet"]
    if controls:
        ended = run_controls(session, draws, progress, quiet=quiet, who=who)
    else:
        ended = run_replay(session, progress, quiet=quiet)
    if ended.parked:
        say_who_waits(output)
    counted = {"plan": plan.to_json(), "calls_made": recorded_cost(output).calls - before}
    if controls:
        _report_controls(output, options, counted)
    else:
        _report(session, counted, as_json=options["as_json"])
    exit_unless_whole(ended.limit, unreached_at(output))


def _session(
    run: Path | str, cases: tuple[str, ...], output: Path | str, options: dict[str, Any]
) -> ReplaySession:
    from ..agents.cost import load_prices
    from ..orchestration.replay.change import Change, SeatChange, parse_limits
    from ..orchestration.replay.replay import ReplaySession

    change = Change(
        without=options["without"],
        leaving=options["leaving"],
        seats=tuple(SeatChange.parse(text) for text in options["seats"]),
        limits=parse_limits(options["limits"]),
        orchestrator=options["orchestrator"],
        base_url=options["base_url"],
        advocates=options["advocates"],
        from_round=options["from_round"],
    )
    if options["controls"] and (change.options or options["each_seat"]):
        raise click.UsageError(
            "--controls cannot be combined with options that change the jury: leave them out"
        )
    if options["each_seat"] and change.options:
        raise click.UsageError(f"--each-seat removes every seat in turn: leave out {change.options}")
    spending = (
        "max_usd",
        "max_tokens",
        "max_seconds",
        "in_flight",
        "rpm",
        "tpm",
        "retry",
        "arm",
        "base_url",
        "each_seat",
    )
    return ReplaySession(
        run=run,
        folder=output,
        changes=(change,),
        cases=cases,
        prices=load_prices(options["prices"]) if options["prices"] else {},
        **{name: options[name] for name in spending},
    )


def _report(session: ReplaySession, counted: dict[str, Any], *, as_json: bool) -> None:
    from ..orchestration.reading.export import case_json
    from ..orchestration.reading.side_by_side import replay_view, summary_table
    from ..orchestration.replay.replay import replayed_cases

    pairs = replayed_cases(session)
    if session.each_seat:
        _report_seats(session, pairs, counted, as_json=as_json)
        return
    if as_json:
        document = {
            "run": str(session.folder),
            "parent": str(session.run),
            **counted,
            "cases": [{**case_json(pair.after), "replay": pair.to_json()} for pair in pairs],
        }
        print_json(document)
        return
    out = console()
    if len(pairs) == 1:
        out.print(replay_view(pairs[0]))
    else:
        out.print(summary_table(pairs))
    made = counted["calls_made"]
    say("1 call was made" if made == 1 else f"{made} calls were made", err=True)


def _report_seats(
    session: ReplaySession, pairs: Sequence[SideBySide], counted: dict[str, Any], *, as_json: bool
) -> None:
    from ..evals.causes.presence import presences, show_presences

    found = presences(pairs)
    if as_json:
        run = {"run": str(session.folder), "parent": str(session.run)}
        print_json({**run, **counted, "seats": [each.to_json() for each in found]})
    else:
        show_presences(found, console())


def _report_controls(output: Path | str, options: dict[str, Any], counted: dict[str, Any]) -> None:
    from ..evals.causes.controls import people_truth

    truth = people_truth(output, options["human"]) if options["human"] else None
    show_control_run(output, as_json=options["as_json"], truth=truth, more=counted)


def show_control_run(
    run: Path | str,
    *,
    as_json: bool,
    case: str | None = None,
    truth: Mapping[tuple[str, str], Any] | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Print what the controls of a run show, or each revision of one case; as JSON, with `more` beside it."""
    from ..evals.causes.controls import controls_report, show_controls, show_revisions

    report = controls_report(run, truth)
    if as_json:
        print_json({**report.to_json(case), **(more or {})})
    elif case is not None:
        show_revisions(report, case, console())
    else:
        show_controls(report, console())


@click.command(short_help="Measure how much pressure changes a jury's votes.")
@click.argument("study", type=click.Path(path_type=Path), metavar="STUDY.yaml")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="The run's directory.",
)
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    metavar="FILE.svg",
    help="Write a figure of all conditions, with intervals, to this file.",
)
@MODEL
@BASE_URL
@QUIET
@JSON
def pressure(
    study: Path,
    output: Path,
    figure: Path | None,
    model: str | None,
    base_url: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Add confederates who argue for wrong or right scores to a jury, and count how many votes they change."""
    from ..evals.causes.pressure import (
        load_pressure_file,
        pressure_figure,
        pressure_report,
        run_pressure,
        show_pressure,
    )
    from ..evals.report.html import svg
    from ..orchestration.reading.status import unreached_at

    loaded = load_pressure_file(study)
    ended = run_pressure(loaded, output, console(stderr=True), quiet=quiet, model=model, base_url=base_url)
    report = pressure_report(loaded, output)
    if figure is not None:
        figure.write_text(str(svg(pressure_figure(report))), encoding="utf-8")
    if as_json:
        print_json({"run": str(output), **report.to_json()})
    else:
        show_pressure(loaded, report, console())
    exit_unless_whole(ended.limit, unreached_at(output))
