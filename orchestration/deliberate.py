"""From a case to a verdict: the straight line, in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..agents.budget import Budget
from ..agents.cost import Prices, load_prices
from ..agents.prompting import brief
from ..agents.providers import Preflight, Providers
from ..personas.jury import CountingRule, Jury, ModelSettings, load_jury
from ..personas.options import unused_option
from ..rubrics.case import Case
from ..rubrics.errors import ModelNotNamed, ModelUnreachable, VenireError
from ..rubrics.plugins import BrokenPlugin
from ..rubrics.rubric import Rubric, load_rubric
from ..rubrics.scale import Value
from .acceptance import judged_by, refuse_other_jury
from .bench import Court
from .counting import Count, counting_rule
from .protocols import protocol
from .transcript import UNREACHED, Abstained, Transcript
from .verdict import Verdict, tallies, verdict
from .worked_examples import ScoredCases

if TYPE_CHECKING:
    from ..agents.tracing import DeliberationSpan

Result = TypeVar("Result")


async def deliberate(
    case: Case,
    rubric: Rubric | str | Path,
    jury: Jury | str | Path,
    *,
    model: str | None = None,
    base_url: str | None = None,
    prices: Prices | None = None,
) -> Verdict:
    """The verdict of `jury` on `case`; `model` fills seats that name none.

    `rubric` and `jury` are each the thing itself, a file, or a name from the library. `prices` (a file, or
    `{model: {"prompt": USD, "completion": USD}}` for a million tokens) are for models that have none.

    Raises:
        ModelNotNamed: A seat names no model, and none is given.
        ModelUnreachable: A model cannot be reached, which is asked first; or not one seat could be when the case was heard.
    """
    refuse_text(case)
    rubric = rubric if isinstance(rubric, Rubric) else load_rubric(rubric)
    jury = (jury if isinstance(jury, Jury) else load_jury(jury)).fill(model=model, base_url=base_url)
    jury = suited_jury(jury, rubric)
    check_protocol(jury, rubric)
    await Preflight().check(models_asked(jury))
    providers = Providers(prices=load_prices(prices or {}))
    court = Court(budget=Budget(ends_at_refusal=False), scored=ScoredCases.of([case]), providers=providers)
    try:
        # A client may import for seconds before it can be used, and the caller's loop has other things to do.
        await asyncio.to_thread(ready, jury, court, rubric)
        refuse_unreadable([case], rubric, jury, court)
        transcript = await hear(case, rubric, jury, court)
        refuse_unreached(transcript)
        return recount(transcript, rubric, jury)
    finally:
        await court.close()


def deliberate_sync(
    case: Case,
    rubric: Rubric | str | Path,
    jury: Jury | str | Path,
    *,
    model: str | None = None,
    base_url: str | None = None,
    prices: Prices | None = None,
) -> Verdict:
    """`deliberate`, for code that is not async; in a notebook too, where an event loop is running already."""
    hearing = deliberate(case, rubric, jury, model=model, base_url=base_url, prices=prices)
    loop = None
    with suppress(RuntimeError):
        loop = asyncio.get_running_loop()
    if loop is None:
        return asyncio.run(hearing)
    with ThreadPoolExecutor(1, "venire-deliberate") as thread:
        return thread.submit(copy_context().run, asyncio.run, hearing).result()


async def hear(case: Case, rubric: Rubric, jury: Jury, court: Court, *, again: int = 0) -> Transcript:
    """What `jury` says of `case`, under its own protocol, in `court`.

    `again` counts the times it has heard the same words before: each time, its answers are drawn anew.
    """
    way = protocol(jury.protocol)
    bench = court.bench(jury, case.id, orchestrated=way.orchestrator, again=again)
    with court.span(case.id, jury) as span:
        transcript = await way.run(brief(case, rubric), bench)
        if not isinstance(transcript, Transcript):
            raise BrokenPlugin(
                f"the protocol {jury.protocol!r} returned a {type(transcript).__name__} instead of a Transcript",
                remedy="report this to the authors of the protocol's package; all answers that were paid for are in the record",
            )
        if span is not None and way.judges:
            trace_verdict(span, case, recount(transcript, rubric, jury), jury)
        return transcript


def trace_verdict(span: DeliberationSpan, case: Case, found: Verdict, jury: Jury) -> None:
    """Add to a span how the deliberation ended, and emit its votes and, for each attribute, the evaluation's result.

    A result is below the span that the case's metadata names as its `traceparent`, where it names one.
    """
    # Imported late: few runs are traced.
    from ..agents.tracing import BALLOT, RESULT, provider_and_model

    transcript, judged = found.transcript, case.metadata.get("traceparent")
    spreads = [outcome.spread for outcome in found.outcomes.values() if outcome.spread is not None]
    span.add(
        {
            "venire.rounds": transcript.rounds,
            "venire.turns": transcript.turns,
            "venire.stop.reason": found.stop.reason,
            "venire.stop.limit": found.stop.limit,
            "venire.spread": max(spreads, default=None),
        }
    )
    models = {seat.name: seat.model or "local" for seat in jury.seats}
    for entry in transcript.ballots:
        model = entry.spent.by or models.get(entry.speaker.partition("#")[0], "local")
        voter = {"venire.juror": entry.speaker, "venire.round": entry.round, **provider_and_model(model)}
        for vote in entry.ballot.votes:
            span.emit(BALLOT, {**voter, "gen_ai.evaluation.name": vote.attribute, **_score(vote.value)})
    for name, outcome in found.outcomes.items():
        support = "" if outcome.support is None else f", {outcome.support:.0%} agree"
        result = {
            "gen_ai.evaluation.name": name,
            "gen_ai.evaluation.score.label": outcome.status,
            **(_score(outcome.value) if outcome.value is not None else {}),
            "gen_ai.evaluation.explanation": f"{outcome.status} by {outcome.method}: {outcome.votes} votes{support}",
            "venire.spread": outcome.spread,
            "venire.support": outcome.support,
        }
        span.emit(RESULT, result, of=judged if isinstance(judged, str) else None)


def _score(value: Value) -> dict[str, float | str]:
    if isinstance(value, str):
        return {"gen_ai.evaluation.score.label": value}
    return {"gen_ai.evaluation.score.value": float(value)}


def recount(
    transcript: Transcript,
    rubric: Rubric,
    jury: Jury,
    count: CountingRule | None = None,
    learned: Count | None = None,
) -> Verdict:
    """The verdict that a transcript implies: by `count`, or the jury's rule, or the protocol's.

    `learned` is what a rule that learns has learned from the run that the transcript belongs to.
    """
    return verdict(transcript, rubric, jury, count=rule_of(jury, count), learned=learned)


def learned_from(
    heard: Iterable[Transcript], rubric: Rubric, jury: Jury, count: CountingRule | None = None
) -> Count | None:
    """The counting function that a rule which learns fits to these deliberations together; None for other rules."""
    rule = counting_rule(rule_of(jury, count))
    if rule.fit is None:
        return None
    return rule.fit([tally for transcript in heard for tally in tallies(transcript, rubric, jury)])


def suited_jury(jury: Jury, rubric: Rubric) -> Jury:
    """The jury as it hears `rubric`: where two outputs are compared, what its file does not say follows from that.

    Of three levels two are ends, so that every unanimous preference would be challenged: none is. Votes are counted by majority,
    as a mean of preferences is none.
    """
    if not rubric.compares:
        return jury
    said: dict[str, object] = {}
    if "challenge" not in jury.model_fields_set:
        said["challenge"] = False
    if jury.count is None and counting_rule(protocol(jury.protocol).count).plain:
        said["count"] = "mode"
    return jury.model_copy(update=said)


def rule_of(jury: Jury, count: CountingRule | None = None) -> CountingRule:
    """The name of the rule that a jury's votes are counted by, unless `count` names another."""
    return count or jury.count or protocol(jury.protocol).count


INDEPENDENT = ("single", "panel", "decompose-verify")
"""Protocols under which no seat hears another."""


def deliberates(jury: Jury) -> bool:
    """Whether seats of the jury may hear each other before they are counted."""
    return not jury.single_judge and jury.protocol not in INDEPENDENT


def blind_rule(jury: Jury) -> CountingRule:
    """The plain rule that a jury's blind ballots are counted by: its own where that is plain, else the median."""
    rule = rule_of(jury)
    return rule if counting_rule(rule).plain else "median"


def blind_count(transcript: Transcript, rubric: Rubric, jury: Jury) -> Verdict | None:
    """The verdict that the seats' blind first ballots alone imply, by `blind_rule`; None where nobody voted blind.

    Its `transcript` has those ballots only, so that its cost is what the count would have taken.
    """
    first = transcript.blind()
    return verdict(first, rubric, jury, count=blind_rule(jury)) if first.ballots else None


class FirstCaseGate:
    """Admits cases of one jury: the first alone, unless its models are known to answer, then any number at once.

    Access refused to a model that has not answered yet is a `ModelUnreachable` error; the next hearing is alone again then.
    """

    def __init__(self, *, sure: bool) -> None:
        self._sure = sure
        self._alone = asyncio.Lock()

    async def run(
        self, hear: Callable[[], Awaitable[Result]], proves: Callable[[Result], bool] = lambda _: True
    ) -> Result:
        """What `hear` returns; `proves` says whether models were asked for it, or it was on record."""
        if not self._sure:
            async with self._alone:
                # The case before this one may have reached the models in the meantime.
                if not self._sure:
                    result = await hear()
                    self._sure = proves(result)
                    return result
        return await hear()


def models_asked(jury: Jury) -> list[ModelSettings]:
    """The settings of every seat that a jury asks, its orchestrator's where one presides.

    Raises:
        ModelNotNamed: A seat names no model. Which model judges is the user's to say: none is chosen for it.
    """
    if unnamed := seats_without_model(jury):
        seats = f"the seat {unnamed[0]!r}" if len(unnamed) == 1 else f"the seats {', '.join(unnamed)}"
        raise ModelNotNamed(f"no model is named for {seats} of the jury {jury.name!r}", remedy=NAME_A_MODEL)
    return list(asked_seats(jury).values())


NAME_A_MODEL = (
    "give --model NAME (model= in Python, --venire-model in pytest, model: in a study or optimisation file), "
    "or write model: NAME at the seat in the jury file; to try things out, use the small embedded model: --model local, or in a file model: local"
)


def seats_without_model(jury: Jury) -> list[str]:
    """The names of the seats that a jury asks and that name no model."""
    return [name for name, settings in asked_seats(jury).items() if not settings.model]


def models_line(juries: Iterable[Jury]) -> str:
    """One line that says which models are asked."""
    models = dict.fromkeys(str(settings.model) for jury in juries for settings in models_asked(jury))
    names = [
        f"{name} (the small embedded model, for trying things out)" if name == "local" else name
        for name in models
    ]
    return f"models asked: {', '.join(names)}"


def asked_seats(jury: Jury) -> dict[str, ModelSettings]:
    """By name, the seats that a jury asks, its orchestrator's where one presides."""
    presiding = {"orchestrator": jury.orchestrator} if protocol(jury.protocol).orchestrator else {}
    return {**{seat.name: seat for seat in jury.seats}, **presiding}


def ready(jury: Jury, court: Court, rubric: Rubric) -> None:
    """Refuse a jury that cannot answer `rubric`: its protocol, its models or its orchestrator's seat need mending first."""
    check_protocol(jury, rubric)
    court.check(jury, orchestrated=protocol(jury.protocol).orchestrator)


def check_protocol(jury: Jury, rubric: Rubric) -> None:
    """Refuse a jury with a seat that names no model, or whose protocol cannot be followed as it stands or cannot answer `rubric`."""
    way = protocol(jury.protocol)
    models_asked(jury)
    if way.prompts is not None and not way.prompts.names:
        raise VenireError(
            f"the protocol {jury.protocol!r} was installed without its prompts ({way.prompts.folder} has no .md file)",
            remedy="install the protocol's package again, with its data files",
        )
    for name in ("shots", "repeats"):
        if getattr(jury, name) != Jury.model_fields[name].default and (
            why := unused_option(name, jury.protocol)
        ):
            problem, _, remedy = why.partition("\n")
            raise VenireError(f"{jury.name}: {problem}", remedy=remedy)
    if jury.rule is not None:
        refuse_other_jury(jury.rule, judged_by(jury, rubric), presided=way.orchestrator)
    if jury.stance and (not way.orchestrator or way.framework):
        raise VenireError(
            f"{jury.name}: `stance` has no effect with protocol: {jury.protocol}",
            remedy="remove stance, or choose a protocol with an orchestrator that follows it, such as orchestrated",
        )
    unasked = [jury.orchestrator] if way.framework else jury.seats if not way.judges else ()
    if any(settings.alternates for settings in unasked):
        raise VenireError(
            f"{jury.name}: `alternates` has no effect with protocol: {jury.protocol}, which needs free text",
            remedy="remove alternates, or choose a protocol whose answers are not free text, such as orchestrated",
        )
    if way.check is not None:
        way.check(jury)
    if way.check_rubric is not None:
        way.check_rubric(jury, rubric)


def refuse_unreadable(cases: Iterable[Case], rubric: Rubric, jury: Jury, court: Court) -> None:
    """Raises VenireError, before any call is made, if no case fits any seat's context window.

    A case that is too long among others that are not is no error: the seats that cannot read it abstain.
    """
    why = ""
    for case in cases:
        words = brief(case, rubric)
        jurors = court.bench(jury, case.id, orchestrated=False).jurors.values()
        found = {juror.name: juror.overflow(words) for juror in jurors}
        if None in found.values():
            return
        why = (
            why
            or f"{jury.name}: no juror's model can read the case {case.id!r}: {next(iter(found.values()))}"
        )
    if why:
        raise VenireError(
            why,
            remedy="shorten the case, choose models that read longer texts, or write context: TOKENS at a seat",
        )


def refuse_unreached(transcript: Transcript, *, quoted: bool = True) -> None:
    """An error if not one seat could be reached: there is no verdict to give, not even a hung one.

    `quoted`: whether the provider may be quoted, who may repeat a case.
    """
    failures = [entry.abstention for entry in transcript.heard if isinstance(entry, Abstained)]
    if transcript.ballots or not failures or any(each.reason not in UNREACHED for each in failures):
        return
    why = failures[0].detail if quoted else failures[0].detail.partition(":")[0]
    raise ModelUnreachable(
        f"no seat of {transcript.arm!r} could be reached: {failures[0].juror}: {why}",
        remedy="check the models, addresses and keys of the jury, and run again",
    )


def refuse_text(case: object) -> None:
    """An error for a text or a row in place of a case."""
    if not isinstance(case, Case):
        raise VenireError(
            f"this is a {type(case).__name__}, not a case",
            remedy="give a Case(id=..., output=...), or what load_cases returns",
        )
