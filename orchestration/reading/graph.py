"""The deliberation as a graph, drawn from the record: who spoke, who had seen what, who changed their mind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

from ...rubrics.errors import MissingExtra

try:
    import networkx as nx
except ImportError:
    raise MissingExtra(
        "a graph needs networkx, which is not installed", remedy="pip install networkx"
    ) from None

from ..transcript import (
    Abstained,
    AnyEntry,
    Cast,
    Checked,
    Controlled,
    Decided,
    Extracted,
    Ledger,
    Said,
    Transcript,
)
from ..verdict import Verdict
from .analysis.movement import moves

Graph: TypeAlias = nx.MultiDiGraph
CASE = "case"
WIDE, TALL = 240, 90
"""Between two steps, and between two seats, in a drawing."""
_NOT_XML = re.compile("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def deliberation_graph(transcript: Transcript, verdict: Verdict) -> Graph:
    """One deliberation: nodes case, seat, utterance, ballot, ledger, claim, verdict, each with its `kind`.

    Edges, by `kind`: `spoke` (seat to what it said), `saw` and `replied-to` (from the later entry to the earlier),
    `revised` (new ballot to old, with the change), `extracted` (a list of claims to each claim), `checked` (a verifier's
    checks to each claim, with the verdict), `cited-evidence` (ballot or checks to case), `decided` (what a verdict
    rests on, to the verdict). Every attribute is a word, a number or a truth value, so that any format can hold it.
    """
    graph: Graph = nx.MultiDiGraph(
        case=_plain(transcript.case), arm=transcript.arm, protocol=transcript.protocol
    )
    _node(graph, CASE, "case", label=transcript.case, arm=transcript.arm, protocol=transcript.protocol)
    for seat in transcript.seats:
        _node(graph, _seat(seat), "seat", label=seat)
    for entry in transcript.entries:
        if _seat(entry.speaker) not in graph:
            _node(graph, _seat(entry.speaker), "seat", label=entry.speaker)
        _add_entry(graph, entry)
        _edge(graph, _seat(entry.speaker), entry.id, "spoke", round=entry.round)
    for entry in transcript.entries:
        for seen in _saw(entry):
            if seen in graph and seen != entry.id:
                _edge(graph, entry.id, seen, "saw")
    _add_replies(graph, transcript)
    for move in moves(transcript):
        _edge(
            graph,
            move.entry,
            move.prior,
            "revised",
            move.attribute,
            attribute=move.attribute,
            before=move.before,
            after=move.after,
            ordered=move.under_orders,
        )
    _add_verdict(graph, transcript, verdict)
    _place(graph)
    return graph


def arm_graphs(verdicts: Iterable[Verdict]) -> list[Graph]:
    """A graph for each arm, in the order of the record, with all its deliberations."""
    by_arm: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_arm.setdefault(verdict.arm, []).append(verdict)
    graphs = []
    for arm, its in by_arm.items():
        graph = run_graph(its)
        graph.graph.update(id=_plain(arm), arm=_plain(arm))
        graphs.append(graph)
    return graphs


def run_graph(verdicts: Iterable[Verdict]) -> Graph:
    """Many deliberations in one graph, their nodes kept apart by arm and case."""
    whole: Graph = nx.MultiDiGraph()
    for verdict in verdicts:
        graph = deliberation_graph(verdict.transcript, verdict)
        prefix = node_prefix(verdict)
        frame = {"deliberation": _plain(verdict.case)}
        whole.add_nodes_from((prefix + name, node | frame) for name, node in graph.nodes(data=True))
        whole.add_edges_from(
            (prefix + start, prefix + end, prefix + key, edge)
            for start, end, key, edge in graph.edges(keys=True, data=True)
        )
    return whole


def node_prefix(verdict: Verdict) -> str:
    """What the name of each node of a deliberation begins with in the graph of a run."""
    return f"{_plain(verdict.arm)}/{_plain(verdict.case)}/"


def graphml(*graphs: Graph) -> str:
    """The graphs as one GraphML document; `networkx.read_graphml` gives back equal nodes, edges and attributes of the first."""
    writer = nx.readwrite.graphml.GraphMLWriter(prettyprint=True)
    writer.add_graphs(graphs)
    return f"{writer}\n"


def node_link(graph: Graph) -> str:
    """The graph as JSON, in networkx's node-link form."""
    return json.dumps(nx.node_link_data(graph, edges="edges"), ensure_ascii=False) + "\n"


def _add_entry(graph: Graph, entry: AnyEntry) -> None:
    shared: dict[str, Any] = {"round": entry.round, "step": entry.step, "speaker": entry.speaker}
    match entry:
        case Cast():
            scores = {f"score {vote.attribute}": vote.value for vote in entry.ballot.votes}
            reasons = {f"reason {vote.attribute}": vote.rationale for vote in entry.ballot.votes}
            moved = {f"moved by {vote.attribute}": vote.moved_by for vote in entry.ballot.votes}
            abstained = {
                f"abstained {part.attribute}": f"{part.reason}: {part.detail}"
                for part in entry.ballot.abstained
            }
            votes = ", ".join(f"{vote.attribute} {vote.value}" for vote in entry.ballot.votes)
            label = f"{entry.speaker}, round {entry.round}: {votes}"
            _node(
                graph,
                entry.id,
                "ballot",
                label=label,
                purpose=entry.purpose,
                **shared,
                **scores,
                **reasons,
                **moved,
                **abstained,
            )
            for vote in entry.ballot.votes:
                for number, quote in enumerate(vote.evidence, 1):
                    _edge(
                        graph,
                        entry.id,
                        CASE,
                        "cited-evidence",
                        f"{vote.attribute}/{number}",
                        attribute=vote.attribute,
                        quote=quote.text,
                        exhibit=quote.exhibit or "",
                        found=quote.found,
                    )
        case Abstained():
            abstention = entry.abstention
            _node(
                graph,
                entry.id,
                "utterance",
                about="abstention",
                label=f"{entry.speaker}, round {entry.round}: abstains, {abstention.reason}",
                text=abstention.detail,
                **shared,
            )
        case Ledger():
            asked = {f"question {d.attribute}": f"{d.dispute} {d.question}" for d in entry.disputes}
            disputed = ", ".join(dispute.attribute for dispute in entry.disputes) or "nothing"
            label = f"{entry.speaker}, round {entry.round}: disputed {disputed}"
            _node(
                graph,
                entry.id,
                "ledger",
                label=label,
                author=entry.author,
                replan=entry.replan,
                note=entry.note,
                **shared,
                **asked,
            )
        case Decided():
            found = {f"score {f.attribute}": f.value for f in entry.findings}
            reasons = {f"reason {f.attribute}": f.rationale for f in entry.findings}
            decided = ", ".join(f"{f.attribute} {f.value}" for f in entry.findings)
            label = f"{entry.speaker}, round {entry.round}: decides {decided}"
            _node(graph, entry.id, "utterance", about="decision", label=label, **shared, **found, **reasons)
        case Said():
            label = f"{entry.speaker}, round {entry.round}: {entry.about}"
            _node(graph, entry.id, "utterance", about=entry.about, label=label, text=entry.text, **shared)
        case Extracted():
            _add_claims(graph, entry, shared)
        case Checked():
            _add_checks(graph, entry, shared)


def _add_claims(graph: Graph, entry: Extracted, shared: dict[str, Any]) -> None:
    _node(graph, entry.id, "utterance", about="claims", label=entry.summary, text=entry.detail, **shared)
    for claim in entry.claims:
        node = _claim(claim.id)
        _node(
            graph,
            node,
            "claim",
            label=claim.text,
            of=claim.of,
            quote=claim.quote,
            start=claim.start,
            end=claim.end,
            central=claim.central,
        )
        _edge(graph, entry.id, node, "extracted", claim.id)


def _add_checks(graph: Graph, entry: Checked, shared: dict[str, Any]) -> None:
    _node(graph, entry.id, "utterance", about="checks", label=entry.summary, **shared)
    for check in entry.checks:
        verdict = check.verdict or f"abstained: {check.abstained}"
        _edge(
            graph,
            entry.id,
            _claim(check.claim),
            "checked",
            check.claim,
            claim=check.claim,
            verdict=verdict,
            reason=check.rationale or check.detail,
        )
        for number, quote in enumerate(check.evidence, 1):
            _edge(
                graph,
                entry.id,
                CASE,
                "cited-evidence",
                f"{check.claim}/{number}",
                claim=check.claim,
                quote=quote.text,
                exhibit=quote.exhibit or "",
                found=quote.found,
            )


def _saw(entry: AnyEntry) -> tuple[str, ...]:
    match entry:
        case Cast():
            return entry.ballot.saw
        case Abstained():
            return entry.abstention.saw
        case Decided() | Said() | Ledger():
            return entry.saw
        case Extracted() | Checked() | Controlled():
            return ()


def _add_replies(graph: Graph, transcript: Transcript) -> None:
    """A ballot replies to the ledger that put a question to it, and to a challenge it had to answer."""
    asked: list[tuple[int, str, dict[str, set[str]]]] = []
    for entry in transcript.entries:
        if isinstance(entry, Ledger):
            to = {dispute.attribute: set(dispute.to) for dispute in entry.disputes}
            asked.append((entry.step, entry.id, to))
        elif isinstance(entry, Cast):
            for step, question, to in asked:
                answered = [a for a in entry.ballot.asked if entry.speaker in to.get(a, set())]
                last = step == max((s for s, _, _ in asked if s < entry.step), default=-1)
                if last and answered and entry.purpose == "revision":
                    _edge(graph, entry.id, question, "replied-to", attributes=", ".join(answered))
            if entry.purpose == "challenge":
                everyone = {a: set(transcript.seats) - {entry.speaker} for a in entry.ballot.asked}
                asked.append((entry.step, entry.id, everyone))


def _add_verdict(graph: Graph, transcript: Transcript, verdict: Verdict) -> None:
    standing = transcript.standing()
    decisions = {
        finding.attribute: (entry.id, finding.weighed)
        for entry in transcript.entries
        if isinstance(entry, Decided)
        for finding in entry.findings
    }
    for attribute, outcome in verdict.outcomes.items():
        node = f"verdict/{attribute}"
        label = f"{attribute} {outcome.status if outcome.value is None else outcome.value}"
        _node(
            graph,
            node,
            "verdict",
            label=label,
            attribute=attribute,
            status=outcome.status,
            value=outcome.value,
            method=outcome.method,
            support=outcome.support,
            spread=outcome.spread,
            why=outcome.why,
        )
        if outcome.method == "decision" and attribute in decisions:
            decision, weighed = decisions[attribute]
            _edge(graph, decision, node, "decided", attribute, attribute=attribute)
            for juror, held in standing.get(attribute, {}).items():
                if juror in weighed:
                    about = {"attribute": attribute, "value": held.vote.value}
                    _edge(graph, decision, held.entry, "weighed", attribute, **about)
            continue
        against = {dissent.juror for dissent in outcome.dissent}
        for juror, held in standing.get(attribute, {}).items():
            _edge(
                graph,
                held.entry,
                node,
                "decided",
                attribute,
                attribute=attribute,
                value=held.vote.value,
                agrees=juror not in against,
            )


def _place(graph: Graph) -> None:
    """Give every node `x` by time and `y` by who speaks: seats first, then step by step, verdicts last."""
    steps = sorted({node["step"] for _, node in graph.nodes(data=True) if "step" in node})
    seats = [name for name, node in graph.nodes(data=True) if node["kind"] == "seat"]
    verdicts = [name for name, node in graph.nodes(data=True) if node["kind"] == "verdict"]
    for name, node in graph.nodes(data=True):
        if "step" in node:
            column, row = 1 + steps.index(node["step"]), seats.index(_seat(node["speaker"]))
        elif node["kind"] == "verdict":
            column, row = 1 + len(steps), verdicts.index(name)
        else:
            column, row = 0, seats.index(name) if node["kind"] == "seat" else -1
        node.update(x=column * WIDE, y=row * TALL)


def _seat(name: str) -> str:
    return f"seat/{name}"


def _claim(name: str) -> str:
    return f"claim/{name}"


def _node(graph: Graph, name: str, kind: str, **about: Any) -> None:
    graph.add_node(name, kind=kind, **_known_attributes(about))


def _edge(graph: Graph, start: str, end: str, kind: str, which: str = "", **about: Any) -> None:
    # Unlike networkx, other readers of GraphML want an edge's key to be the only one of its name.
    key = f"{start} {kind} {end} {which}".rstrip()
    graph.add_edge(start, end, key=key, kind=kind, **_known_attributes(about))


def _known_attributes(about: dict[str, Any]) -> dict[str, Any]:
    """What is known: an attribute without a value is left out, as formats differ on how to write nothing."""
    known = {name: _plain(value) if isinstance(value, str) else value for name, value in about.items()}
    return {name: value for name, value in known.items() if value is not None and value != ""}


def _plain(text: str) -> str:
    """The text without what XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))
