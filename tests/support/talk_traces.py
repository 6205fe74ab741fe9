"""A deliberation over a local server, and all of it that does not depend on wording: who was sent what, who said what, and what it took.

Whatever is said is a mark of its own (`zq-a-2-accurate`: model a, its third request, that attribute), so that it is seen in whose prompt it
stands, and where. Requests go out one at a time, and the server counts tokens by their numbers.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from claim_server import asked_ids, checks
from openai_server import Call, Fault, ProviderServer, Refusal

from venire import Case, Court, Jury, Rubric, Transcript, Verdict
from venire.agents.cost import Price
from venire.agents.gateway import Calls
from venire.agents.providers import Providers
from venire.orchestration.deliberate import hear, ready, recount
from venire.orchestration.transcript import AnyEntry, Cast

Script = Mapping[str, Any]
"""By model, what each of its requests is answered with, the last one again and again: scores by attribute, or with the other parts of
the answer; a `Fault`, a `Refusal` or words as they are; or a function of the call."""
USUAL: dict[str, Any] = {"accurate": 4, "thorough": 3, "risk": 2, "usable": 1, "tone": "plain", "plan": 3, "follow": 2}  # fmt: skip
QUOTES = {"a": ["fever of 38.4"], "b": ["zq no such words"]}
RICH = Rubric.model_validate(
    {
        "name": "rich",
        "version": 3,
        "description": "zq-description",
        "scales": {
            "agree5": {"level": "ordinal", "anchors": {n: f"zq-level-{n}" for n in range(1, 6)}},
            "yes": {"level": "binary", "anchors": {0: "zq-no", 1: "zq-yes"}},
            "kind": {"level": "nominal", "anchors": {"plain": "zq-plain", "odd": "zq-odd", "empty": "zq-empty"}},
        },
        "attributes": [
            {"name": "accurate", "question": "zq-question-accurate", "scale": "agree5"},
            {"name": "thorough", "question": "zq-question-thorough", "scale": "agree5"},
            {"name": "risk", "question": "zq-question-risk", "scale": "agree5", "better": "low", "reverse_as": "safety"},
            {"name": "usable", "question": "zq-question-usable", "scale": "yes"},
            {"name": "tone", "question": "zq-question-tone", "scale": "kind"},
            {"name": "plan", "question": "zq-question-plan", "scale": "agree5", "may_not_apply": True},
            {"name": "follow", "question": "zq-question-follow", "scale": "agree5", "asked_if": {"usable": 1}},
        ],
        "composites": {"overall": {"accurate": 0.5, "thorough": 0.2, "safety": 0.3}},
    }
)  # fmt: skip
CASE = Case(
    id="c1",
    question="zq-case-question: what happened?",
    audience="zq-audience: a nurse.",
    source=("zq-note-1: fever of 38.4 on Monday.", "zq-note-2: well on Friday."),
    reference="zq-reference",
    output="zq-output: fever on Monday, then well.",
    group="zq-group",
    system="zq-system",
    metadata={"label": "zq-label"},
)


NEW = {"evidence": ["well on Friday"]}
SPLIT: dict[str, Any] = {
    # Moves at once, and once more.
    "a": [{"accurate": 5, "thorough": 5, "plan": "not_applicable"}, {"accurate": 3, "thorough": 5}, {"accurate": 2}],
    # Keeps its scores, with a new quote in the second round.
    "b": [{"accurate": 2, "thorough": 2, "tone": "odd"}, {"accurate": {"score": 2, **NEW}, "thorough": 2, "tone": "odd"}],
    # Off the scale, also after the repair; then words, twice; then legal.
    "c": [{"accurate": 9, "usable": 0}, {"accurate": 9, "usable": 0}, "I would say four.", "Four.", {"accurate": 4, "usable": 0}],
    "d": [{"thorough": 1}, {"thorough": 1}],
    "boss": [{}, {"accurate": {"to": ["a", "b"]}, "thorough": {"to": []}}, {"accurate": {"score": 3, "weighed": ["a"]}}],
}  # fmt: skip
TOGETHER: dict[str, Any] = {"a": {}, "b": {}, "c": {}, "boss": {}}
ON_TOP = {"accurate": 5, "risk": 1}
FOUR = ("a", "b", "c", "d")


class CountingServer(ProviderServer):
    """A provider whose token counts tell which request they are of, and nothing of its length."""

    def completion(self, call: Call, answer: str | dict[str, Any] | Refusal) -> dict[str, Any]:
        made = super().completion(call, answer)
        made["usage"] = {
            "prompt_tokens": 3000 + 10 * call.number,
            "completion_tokens": 900 + call.number,
            "prompt_tokens_details": {"cached_tokens": 100 + call.number},
        }
        return made


def scripted(script: Script) -> Callable[[Call], Any]:
    """A server's answers by a script."""

    def answer(call: Call) -> Any:
        said = script.get(call.model, {})
        if isinstance(said, list):
            said = said[min(call.number, len(said) - 1)]
        if callable(said):
            return said(call)
        if isinstance(said, str | Fault | Refusal):
            return said
        if call.schema is None:
            return f"zq-{call.model}-{call.number}"
        return spoken(call, said)

    return answer


def spoken(call: Call, said: Mapping[str, Any]) -> dict[str, Any]:
    """An answer of the asked form: the given scores or parts, the usual scores, and for words the marks of their place."""
    assert call.schema is not None
    answers: dict[str, Any] = {}
    for name, node in call.schema["properties"].items():
        given = said.get(name, {})
        given = given if isinstance(given, dict) else {"score": given}
        answers[name] = {
            part: given.get(part, _usual(call, name, part, form)) for part, form in node["properties"].items()
        }
    return answers


def _usual(call: Call, name: str, part: str, form: dict[str, Any]) -> Any:
    if part == "score":
        return USUAL.get(name, 0)
    if part == "evidence":
        return QUOTES.get(call.model, [])
    if part == "confidence":
        return "high"
    if part == "answering":
        return ""
    if form.get("type") == "array":
        return form["items"].get("enum", [form["items"].get("const")])
    if "enum" in form:
        return form["enum"][0]
    return f"zq-{call.model}-{call.number}-{name}" + ("" if part == "rationale" else f"-{part}")


def jury_on(url: str, seats: Sequence[str | dict[str, Any]], **fields: Any) -> Jury:
    """A jury whose seats are models of the server with their names, the orchestrator's `boss`; each with a point of view of its own."""
    made = []
    for seat in seats:
        given = seat if isinstance(seat, dict) else {"name": seat}
        view = {
            "name": "view",
            "version": 1,
            "attends_to": f"zq-view-{given['name']}",
            "voice": f"zq-voice-{given['name']}",
        }
        made.append(
            {"model": f"server/{given['name']}", "base_url": url, "persona": view, **given}
            | ({"alternates": tuple(given["alternates"])} if "alternates" in given else {})
        )
    boss = {"model": "server/boss", "base_url": url, **fields.pop("orchestrator", {})}
    return Jury.model_validate({"name": "bench", "seats": made, "orchestrator": boss, **fields})


class Talk(NamedTuple):
    """A deliberation as it was held."""

    calls: list[Call]
    verdict: Verdict
    jury: Jury


def hold(
    answer: Callable[[Call], Any],
    seats: Sequence[str | dict[str, Any]],
    *,
    case: Case = CASE,
    rubric: Rubric = RICH,
    calls: Calls | None = None,
    **fields: Any,
) -> Talk:
    """The deliberation of a jury of these seats on the case."""
    with CountingServer(answer) as server:
        jury = jury_on(server.url, seats, **fields)
        price = Price(prompt=1, completion=2, cached=0.5)
        models = (jury.orchestrator, *jury.seats)
        prices = {str(name): price for settings in models for name in (settings.model, *settings.alternates)}

        async def deliberate() -> Transcript:
            court = Court(providers=Providers(1, prices=prices), seed=1, calls=calls)
            try:
                ready(jury, court, rubric)
                return await hear(case, rubric, jury, court)
            finally:
                await court.close()

        transcript = asyncio.run(deliberate())
        return Talk(server.calls, recount(transcript, rubric, jury), jury)


def talk(
    answer: Callable[[Call], Any], seats: Sequence[str | dict[str, Any]], **fields: Any
) -> dict[str, Any]:
    """What a jury of these seats did with the case: its calls, its entries, its stop, its verdict and its costs."""
    calls, verdict, _ = hold(answer, seats, **fields)
    transcript, cost = verdict.transcript, verdict.transcript.cost
    return {
        "calls": {f"{call.model}-{call.number}": call_trace(call) for call in calls},
        "order": _joined(call.model for call in calls),
        "entries": {entry.id: entry_trace(entry) for entry in transcript.entries},
        "notes": [entry.text for entry in transcript.entries if entry.kind == "said" and entry.who == "clerk"],
        "stop": [verdict.stop.reason, verdict.stop.limit, verdict.stop.value],
        "stop detail": _joined(re.findall(rf"{'|'.join(USUAL)}|max_\w+|unparsable|refused|out_of_scale|\d+|; ", verdict.stop.detail)).replace(" ", ""),
        "counts": [transcript.steps, transcript.rounds, transcript.turns],
        "cost": [cost.calls, cost.usage.prompt, cost.usage.completion, cost.usage.cached, cost.priced, cost.known_usd],
        "verdict": {name: _outcome(each) for name, each in verdict.outcomes.items()},
        "derived": verdict.derived,
        "claims": [_joined((each.claim.id, each.claim.central, each.verdict, *each.votes.values())) for each in verdict.claims],
    }  # fmt: skip


def call_trace(call: Call) -> str:
    """A request's parts in their order: headings, fences, who gave what, and the marks of what was said; then its form and settings."""
    shown: list[str] = []
    for message in call.body["messages"]:
        opening, seat, rest = _opening(message["content"])
        shown.append(
            f"{message['role']}({_digest(marks(opening)) + ':' if opening else ''}{marks(seat + rest)})"
        )
    schema = call.schema or {}
    form = ",".join(schema.get("properties", {}))
    settings = {k: v for k, v in call.body.items() if k not in ("messages", "model", "response_format")}
    parts = f"{form}|{_digest(json.dumps(schema, sort_keys=True))}" if schema else "words"
    return _plain(f"{''.join(shown)}->{parts}{settings or ''}")


def _opening(text: str) -> tuple[str, str, str]:
    """What opens every prompt on the case, and the rest."""
    found = re.search(r"^# (?:Your seat|The jury|The claims|Your answer)$", text, re.MULTILINE)
    return (text[: found.start()], "", text[found.start() :]) if found else ("", "", text)


def marks(text: str) -> str:
    pattern = (
        r"^#+ .+$|\[\[(?:exhibit|words) \"[^\"]*\" begins|^[^\n]{1,40} gave \S+|\bzq-[\w-]+"
        r"|^(?:Judge|Judge again|Check): .+$|This is round \d+|^- [\w-]+: |not_applicable|Scores: .+$|^\d+ gave .+$|median .+$"
    )
    found = (match.group() for match in re.finditer(pattern, text, re.MULTILINE))
    return " ".join(
        re.sub(r"\[\[(\w+) \"(.*)\" begins", r"[\1:\2]", re.sub(r"^(#+) ", r"\1", each)) for each in found
    )


def entry_trace(entry: AnyEntry) -> str:
    """An entry's facts, without words of the program's own."""
    spent = entry.spent
    usd = "?" if spent.usd is None else f"{spent.usd:.6f}"
    facts: list[Any] = [entry.kind, f"round {entry.round}", entry.speaker, getattr(entry, "purpose", "")]
    facts += [
        f"saw {_joined(entry.saw)}" if hasattr(entry, "saw") else "",
        f"first {entry.first}" if entry.first else "",
        f"failed {entry.failed}" if entry.failed else "",
    ]
    facts += [
        f"{len(spent.calls)} calls {spent.prompt}+{spent.completion}({spent.cached}) {usd} by {spent.by}"
    ]
    if isinstance(entry, Cast):
        ballot = entry.ballot
        facts += [f"saw {_joined(ballot.saw)}", f"asked {_joined(ballot.asked)}"]
        facts += [
            f"{v.attribute}={v.value} {v.confidence or ''} {_joined(q.exhibit for q in v.evidence)} {marks(v.moved_by)} {_joined(v.orders)}"
            for v in ballot.votes
        ]
        facts += [f"{part.attribute} {part.reason}" for part in ballot.abstained]
    for name in ("author", "replan", "declared", "about", "who", "of", "against", "juror"):
        if hasattr(entry, name):
            facts.append(f"{name} {getattr(entry, name)}")
    for dispute in getattr(entry, "disputes", ()):
        facts.append(f"{dispute.attribute} to {_joined(dispute.to)} answering {dispute.answering}")
    for finding in getattr(entry, "findings", ()):
        facts.append(f"{finding.attribute}={finding.value} of {_joined(finding.weighed)}")
    if hasattr(entry, "abstention"):
        abstention = entry.abstention
        facts.append(
            f"{abstention.reason} asked {_joined(abstention.asked)} saw {_joined(abstention.saw)} {abstention.attribute}"
        )
    for claim in getattr(entry, "claims", ()):
        facts.append(f"{claim.id} {claim.start}-{claim.end} {claim.central}")
    for check in getattr(entry, "checks", ()):
        facts.append(f"{check.claim} {check.verdict} {check.abstained} {len(check.evidence)}")
    return _plain(";".join(map(str, filter(None, facts))))


def _outcome(outcome: Any) -> list[Any]:
    dissent = _joined(f"{each.juror}={each.value}" for each in outcome.dissent)
    return [
        outcome.status,
        outcome.value,
        outcome.support,
        outcome.spread,
        outcome.votes,
        outcome.method,
        dissent,
        outcome.why,
    ]


def _joined(values: Any) -> str:
    return ",".join(map(str, values))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def _plain(text: str) -> str:
    """In one word: of sentences only numbers are kept."""
    everything = f"(?:{', +'.join(USUAL)}|{','.join(USUAL)})"
    return re.sub(r"\s+", "_", re.sub(everything, "all", text))


CLAIMS = [
    {"text": "zq-claim-fever", "quote": "fever on Monday", "central": True},
    {"text": "zq-claim-well", "quote": "then well", "central": False},
    {"text": "zq-claim-none", "quote": "nowhere said", "central": False},
]
BACK = [{"text": "zq-claim-back", "quote": "well on Friday", "central": True}, {"text": "zq-claim-more", "quote": "", "central": False}]  # fmt: skip
VERDICTS = {
    "v": {"c1": "supported", "c2": "not_addressed", "c3": "supported", "s1": "supported", "s2": "not_addressed"},
    "w": {"c1": "supported", "c2": "not_supported", "c3": "not_supported", "s1": "not_addressed", "s2": "not_addressed"},
    "x": {"c1": "not_supported", "c2": "not_supported", "c3": "maybe", "s1": "supported", "s2": "supported"},
}  # fmt: skip


YES_OR_NO = Rubric.model_validate(
    {**RICH.model_dump(), "attributes": [RICH.by_name["usable"]], "composites": {}}
)


def checked(call: Call) -> Any:
    """Lists the claims of either text; quotes what stands in the other, and what does not."""
    ids = asked_ids(call)
    if not ids:
        return {"claims": CLAIMS if "zq-output" in call.prompt else BACK}
    quotes = {"v": "fever of 38.4", "w": "no such words", "x": ""}
    made = [checks({name: VERDICTS[call.model][name]}, quotes[call.model]) for name in ids]
    return {"checks": [each for part in made for each in part["checks"]]}
