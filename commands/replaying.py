"""What if: replays of recorded deliberations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import (
    IN_FLIGHT,
    JSON,
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
)

if TYPE_CHECKING:
    from ..orchestration.replay.replay import ReplaySession


@click.command(short_help="A recorded deliberation with one thing changed.")
@RUN
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=location,
    metavar="CHILD",
    help="Where the replay is kept: a run of its own.",
)
@click.option(
    "--without", multiple=True, metavar="SEAT", help="Strike a seat: it has no vote, and nobody reads it."
)
@click.option(
    "--leaving", multiple=True, metavar="SEAT", help="A seat leaves at --from-round; what it voted stands."
)
@click.option(
    "--seat",
    "seats",
    multiple=True,
    metavar="SEAT=persona:NAME|model:M",
    help="Another persona or model in a seat.",
)
@click.option("--limits", multiple=True, metavar="max_rounds=1", help="Other limits; `none` takes one away.")
@click.option("--orchestrator", metavar="MODEL", help="Another model presides.")
@click.option("--advocates", nargs=2, metavar="HIGH LOW", help="Of a debate: who argues.")
@click.option(
    "--from-round", type=click.IntRange(min=1), default=1, help="Before this round everything is as it was."
)
@click.option(
    "--each-seat",
    is_flag=True,
    help="Strike every seat in turn: what each one's presence did to the verdicts.",
)
@click.option("--arm", help="Only this jury's deliberations.")
@click.option(
    "--base-url", help="The address of a model that is named here, or whose address holds a secret."
)
@click.option("--plan", "only_plan", is_flag=True, help="Say how many calls are new, and make none.")
@click.option("--max-usd", type=click.FloatRange(min=0, min_open=True), help="Stop when this much was spent.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Stop after this many tokens.")
@click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), help="Stop after this long.")
@IN_FLIGHT
@RPM
@TPM
@click.option("--prices", type=click.Path(path_type=Path), help="A file of prices.")
@RETRY
@QUIET
@JSON
def replay(run: Path | str, cases: tuple[str, ...], output: Path | str, **options: Any) -> None:
    """Hear deliberations of RUN again with one thing changed, and put both side by side.

    Questions that did not change are answered from RUN's record, which is only read. How many calls are new is said
    before any is made.
    """
    from ..orchestration.reading.status import unreached_at
    from ..orchestration.record import recorded_cost
    from ..orchestration.replay.replay import plan_replay, run_replay

    session = _session(run, cases, output, options)
    plan = plan_replay(session)
    say(str(plan), err=True)
    if options["only_plan"]:
        if options["as_json"]:
            print_json({"run": str(output), "parent": str(run), "plan": plan.to_json()})
        return
    before = recorded_cost(output).calls
    ended = run_replay(session, console(stderr=True), quiet=options["quiet"])
    made = recorded_cost(output).calls - before
    _report(session, {"plan": plan.to_json(), "calls_made": made}, as_json=options["as_json"])
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
    if options["each_seat"] and change.options:
        raise click.UsageError(f"--each-seat strikes every seat in turn: leave out {change.options}")
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
    say(f"{counted['calls_made']} calls were made", err=True)
