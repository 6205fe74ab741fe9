"""The deliberation as a graph, drawn from the record: who spoke, who had seen what, who changed their mind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

import networkx as nx

from ..transcript import Abstained, AnyEntry, Cast, Checked, Decided, Extracted, Ledger, Said, Transcript
from ..verdict import Verdict
from .analysis.movement import moves

Graph: TypeAlias = nx.MultiDiGraph
CASE = "case"
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
    return graph


def run_graph(verdicts: Iterable[Verdict]) -> Graph:
    """Many deliberations in one graph, their nodes abstention apart by arm and case."""
    whole: Graph = nx.MultiDiGraph()
    for verdict in verdicts:
        graph = deliberation_graph(verdict.transcript, verdict)
        prefix = f"{_plain(verdict.arm)}/{_plain(verdict.case)}/"
        whole.add_nodes_from((prefix + name, node) for name, node in graph.nodes(data=True))
        whole.add_edges_from(
            (prefix + start, prefix + end, prefix + key, edge)
            for start, end, key, edge in graph.edges(keys=True, data=True)
        )
    return whole


def graphml(graph: Graph) -> str:
    """The graph as GraphML; `networkx.read_graphml` gives back equal nodes, edges and attributes."""
    return "\n".join(nx.generate_graphml(graph, named_key_ids=False)) + "\n"


def node_link(graph: Graph) -> str:
    """The graph as JSON, in networkx's node-link form."""
    return json.dumps(nx.node_link_data(graph, edges="edges"), ensure_ascii=False) + "\n"


def dot(graph: Graph) -> str:
    """The graph in the DOT language of Graphviz, with short labels."""
    lines = ["digraph deliberation {", '  rankdir="LR";', '  node [fontname="Helvetica", shape="box"];']
    for name, node in graph.nodes(data=True):
        label = f"{node['kind']}: {node.get('label', name)}"
        lines.append(
            f"  {_dot_string(name)} [label={_dot_string(label)}, class={_dot_string(node['kind'])}];"
        )
    for start, end, edge in graph.edges(data=True):
        change = f" {edge['attribute']} {edge['before']} to {edge['after']}" if "before" in edge else ""
        label = f"{edge['kind']}{change}"
        lines.append(f"  {_dot_string(start)} -> {_dot_string(end)} [label={_dot_string(label)}];")
    return "\n".join((*lines, "}")) + "\n"


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
            label = ", ".join(f"{vote.attribute} {vote.value}" for vote in entry.ballot.votes)
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
                label=f"abstains: {abstention.reason}",
                text=abstention.detail,
                **shared,
            )
        case Ledger():
            asked = {f"question {d.attribute}": f"{d.dispute} {d.question}" for d in entry.disputes}
            label = "disputed: " + ", ".join(dispute.attribute for dispute in entry.disputes)
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
            label = ", ".join(f"{f.attribute} {f.value}" for f in entry.findings)
            _node(graph, entry.id, "utterance", about="decision", label=label, **shared, **found, **reasons)
        case Said():
            _node(
                graph, entry.id, "utterance", about=entry.about, label=entry.about, text=entry.text, **shared
            )
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
        case Decided() | Said():
            return entry.saw
        case Ledger() | Extracted() | Checked():
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
        finding.attribute: entry.id
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
            _edge(graph, decisions[attribute], node, "decided", attribute, attribute=attribute)
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


def _dot_string(text: str) -> str:
    short = text if len(text) <= 80 else f"{text[:79]}…"
    escaped = short.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
