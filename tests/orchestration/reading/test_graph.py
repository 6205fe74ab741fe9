"""The graph: drawn from the record, and the same graph again in every format."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from planted_run import RUBRIC, SCRIPTS, ballot_line, planted_case, scripted_jury
from written_transcripts import abstained, cast, transcript_of

from venire import Transcript, deliberate_sync
from venire.agents.orchestrator import Dispute, Finding
from venire.orchestration import deliberation_graph
from venire.orchestration.reading.graph import arm_graphs, graphml, node_link, run_graph
from venire.orchestration.reading.graph_formats import dot
from venire.orchestration.transcript import Checked, Decided, Extracted, Ledger, Said, Stop
from venire.orchestration.verdict import Dissent, Outcome, Verdict
from venire.rubrics.ballot import Quote
from venire.rubrics.claim import Check, Claim

WEIGHED = {"high", "low", "middle"}
"""Whom the decision on the planted case `overruled` says it weighed."""
HOSTILE = "<script>alert(1)</script> \x1b[2J \u202e & ]]> \r\n \x00 end"


def drawn(folder: Path, name: str = "persuaded", **fields: object) -> nx.MultiDiGraph:
    verdict = deliberate_sync(
        planted_case(name), RUBRIC, scripted_jury(folder, name, SCRIPTS[name], **fields)
    )
    return deliberation_graph(verdict.transcript, verdict)


def same(one: nx.MultiDiGraph, other: nx.MultiDiGraph) -> bool:
    edges = [sorted(graph.edges(keys=True, data=True), key=lambda e: e[:3]) for graph in (one, other)]
    return dict(one.nodes(data=True)) == dict(other.nodes(data=True)) and edges[0] == edges[1]


def edges(graph: nx.MultiDiGraph, kind: str) -> list[tuple[str, str, dict[str, object]]]:
    return [(a, b, edge) for a, b, edge in graph.edges(data=True) if edge["kind"] == kind]


def test_every_kind_of_node_and_edge_is_there(tmp_path: Path) -> None:
    graph = drawn(tmp_path, "overruled")

    assert {node["kind"] for _, node in graph.nodes(data=True)} == {
        "case", "seat", "ballot", "ledger", "utterance", "verdict",
    }  # fmt: skip
    moved = drawn(tmp_path)
    found = {edge["kind"] for g in (graph, moved) for *_, edge in g.edges(data=True)}
    assert found == {"spoke", "saw", "replied-to", "revised", "cited-evidence", "weighed", "decided"}


def test_a_revision_carries_its_change(tmp_path: Path) -> None:
    revised = edges(drawn(tmp_path), "revised")

    assert {(a, b, e["attribute"], e["before"], e["after"]) for a, b, e in revised} == {
        ("3/high", "1/high", "accurate", 5, 2),
        ("3/middle", "1/middle", "accurate", 5, 2),
    }


def test_who_saw_what_and_who_answered_whom(tmp_path: Path) -> None:
    graph = drawn(tmp_path)

    assert {(a, b) for a, b, _ in edges(graph, "saw") if a == "3/high"} == {
        ("3/high", "1/low"),
        ("3/high", "1/middle"),
    }
    assert ("3/high", "2/orchestrator") in {(a, b) for a, b, _ in edges(graph, "replied-to")}
    assert all(e["found"] for *_, e in edges(graph, "cited-evidence"))


def test_a_fabricated_quote_is_an_edge_that_says_so(tmp_path: Path) -> None:
    false = [e for *_, e in edges(drawn(tmp_path, "fabricated"), "cited-evidence") if not e["found"]]

    assert [e["quote"] for e in false] == ["patient denies any allergy to penicillin"]
    assert "exhibit" not in false[0]


def test_what_a_verdict_rests_on(tmp_path: Path) -> None:
    decided = {(a, b) for a, b, _ in edges(drawn(tmp_path, "overruled"), "decided")}

    assert {a.partition("/")[2] for a, b in decided if b == "verdict/accurate"} == {"orchestrator"}
    assert {a for a, b in decided if b == "verdict/organized"} == {"1/high", "1/low", "1/middle"}


def test_what_a_ledger_saw_and_a_decision_weighed(tmp_path: Path) -> None:
    graph = drawn(tmp_path, "overruled")
    ledgers = [name for name, node in graph.nodes(data=True) if node["kind"] == "ledger"]
    weighed = edges(graph, "weighed")

    assert {b for a, b, _ in edges(graph, "saw") if a == ledgers[0]} == {"1/high", "1/low", "1/middle"}
    assert {edge["attribute"] for *_, edge in weighed} == {"accurate"}
    # The decision says which jurors it weighed: an edge to each one's standing ballot, and to no other.
    assert {graph.nodes[b]["speaker"] for _, b, _ in weighed} == WEIGHED
    ballot = graph.nodes["1/high"]["label"]
    assert ballot.startswith("high, round 1: ")
    steps = [(node["step"], node["x"]) for _, node in graph.nodes(data=True) if "step" in node]
    assert sorted(steps) == sorted(steps, key=lambda each: each[1])


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_graphml_gives_back_an_equal_graph(tmp_path: Path, name: str) -> None:
    graph = drawn(tmp_path, name, challenge=True)

    assert same(graph, nx.parse_graphml(graphml(graph), force_multigraph=True))


def test_graphml_holds_whatever_a_model_wrote(tmp_path: Path) -> None:
    script = {
        "seats": {
            name: [{"accurate": ballot_line(4, HOSTILE, HOSTILE), "organized": 4}] for name in ("a", "b")
        }
    }
    verdict = deliberate_sync(
        planted_case("x"), RUBRIC, scripted_jury(tmp_path, "x", script, seats=("a", "b"))
    )
    graph = deliberation_graph(verdict.transcript, verdict)

    assert same(graph, nx.parse_graphml(graphml(graph), force_multigraph=True))


def test_node_link_gives_back_an_equal_graph(tmp_path: Path) -> None:
    graph = drawn(tmp_path)

    assert same(graph, nx.node_link_graph(json.loads(node_link(graph)), edges="edges"))


def test_edge_keys_are_the_only_ones_of_their_name(tmp_path: Path) -> None:
    keys = [key for *_, key in drawn(tmp_path, "overruled").edges(keys=True)]

    assert len(keys) == len(set(keys))


def test_dot_quotes_what_would_end_a_string(tmp_path: Path) -> None:
    script = {"seats": {name: [{"accurate": 4, "organized": 4}] for name in ("a", "b")}}
    verdict = deliberate_sync(
        planted_case('q"; evil'), RUBRIC, scripted_jury(tmp_path, "x", script, seats=("a", "b"))
    )

    assert 'label="case: q\\"; evil"' in dot(deliberation_graph(verdict.transcript, verdict))


def worked() -> Verdict:
    """A deliberation with every kind of entry: a blind round, a challenge beside a ledger, two answers, a decision."""
    dispute = Dispute(attribute="x", dispute="They differ.", question="Which?", to=("a", "gone"))
    transcript = transcript_of(
        [
            cast("a", {"x": 5, "y": 1}, quotes={"q1": "source", "q2": None}),
            cast("b", {"x": 5}, abstained=("y",)),
            abstained("c", "x", "y", reason="refused"),
        ],
        [
            cast("b", {"x": 4}, round=2, purpose="challenge", saw=("1/a", "1/b", "lost"), moved_by="a"),
            Ledger(round=2, disputes=(dispute,), author="code", note="why", replan=True, saw=("1/a", "1/b")),
        ],
        [
            cast("a", {"x": 2}, round=2, purpose="revision", saw=("2/b", "3/a"), moved_by="b\r\nsaid\rso"),
            cast("b", {"x": 4}, round=2, purpose="revision"),
        ],
        [
            Decided(round=2, findings=(Finding(attribute="x", value=2, rationale="so", weighed=("a",)),), saw=("3/a",)),
            Said(round=2, who="clerk", about="note", text="words", saw=("3/b",)),
        ],
        seats=("a", "b", "c"),
    )  # fmt: skip
    decided = Outcome(
        status="reached", value=2, support=0.5, spread=2.0, votes=2, method="decision", why="so"
    )
    counted = Outcome(
        status="hung", value=None, support=None, spread=0.0, votes=1, method="none", why="no",
        dissent=(Dissent(juror="a", value=1, reason="r"),),
    )  # fmt: skip
    unheard = Outcome(status="hung", value=None, support=None, spread=None, votes=0, method="none")
    return told(transcript, x=decided, y=counted, z=unheard)


def told(transcript: Transcript, **outcomes: Outcome) -> Verdict:
    stop = Stop(reason="complete")
    return Verdict(
        case=transcript.case, arm=transcript.arm, outcomes=outcomes, derived={}, stop=stop, transcript=transcript
    )  # fmt: skip


def test_every_node_of_a_worked_deliberation() -> None:
    verdict = worked()
    nodes = dict(deliberation_graph(verdict.transcript, verdict).nodes(data=True))

    one, two, three, four = (240 * column for column in (1, 2, 3, 4))
    assert nodes == {
        "case": {"kind": "case", "label": "c", "arm": "j", "protocol": "p", "x": 0, "y": -90},
        "seat/a": {"kind": "seat", "label": "a", "x": 0, "y": 0},
        "seat/b": {"kind": "seat", "label": "b", "x": 0, "y": 90},
        "seat/c": {"kind": "seat", "label": "c", "x": 0, "y": 180},
        "seat/orchestrator": {"kind": "seat", "label": "orchestrator", "x": 0, "y": 270},
        "seat/clerk": {"kind": "seat", "label": "clerk", "x": 0, "y": 360},
        "1/a": {
            "kind": "ballot", "label": "a, round 1: x 5, y 1", "purpose": "blind", "round": 1, "step": 1, "speaker": "a",
            "score x": 5, "score y": 1, "reason x": "r", "reason y": "r", "x": one, "y": 0,
        },
        "1/b": {
            "kind": "ballot", "label": "b, round 1: x 5", "purpose": "blind", "round": 1, "step": 1, "speaker": "b",
            "score x": 5, "reason x": "r", "abstained y": "out_of_scale: 9 is not on it", "x": one, "y": 90,
        },
        "1/c": {
            "kind": "utterance", "about": "abstention", "label": "c, round 1: abstains, refused", "text": "down",
            "round": 1, "step": 1, "speaker": "c", "x": one, "y": 180,
        },
        "2/b": {
            "kind": "ballot", "label": "b, round 2: x 4", "purpose": "challenge", "round": 2, "step": 2, "speaker": "b",
            "score x": 4, "reason x": "r", "moved by x": "a", "x": two, "y": 90,
        },
        "2/orchestrator": {
            "kind": "ledger", "label": "orchestrator, round 2: disputed x", "author": "code", "replan": True, "note": "why",
            "question x": "They differ. Which?", "round": 2, "step": 2, "speaker": "orchestrator", "x": two, "y": 270,
        },
        "3/a": {
            "kind": "ballot", "label": "a, round 2: x 2", "purpose": "revision", "round": 2, "step": 3, "speaker": "a",
            "score x": 2, "reason x": "r", "moved by x": "b\nsaid\nso", "x": three, "y": 0,
        },
        "3/b": {
            "kind": "ballot", "label": "b, round 2: x 4", "purpose": "revision", "round": 2, "step": 3, "speaker": "b",
            "score x": 4, "reason x": "r", "x": three, "y": 90,
        },
        "4/orchestrator": {
            "kind": "utterance", "about": "decision", "label": "orchestrator, round 2: decides x 2", "score x": 2,
            "reason x": "so", "round": 2, "step": 4, "speaker": "orchestrator", "x": four, "y": 270,
        },
        "4/clerk": {
            "kind": "utterance", "about": "note", "label": "clerk, round 2: note", "text": "words",
            "round": 2, "step": 4, "speaker": "clerk", "x": four, "y": 360,
        },
        "verdict/x": {
            "kind": "verdict", "label": "x 2", "attribute": "x", "status": "reached", "value": 2, "method": "decision",
            "support": 0.5, "spread": 2.0, "why": "so", "x": four + 240, "y": 0,
        },
        "verdict/y": {
            "kind": "verdict", "label": "y hung", "attribute": "y", "status": "hung", "method": "none", "spread": 0.0,
            "why": "no", "x": four + 240, "y": 90,
        },
        "verdict/z": {
            "kind": "verdict", "label": "z hung", "attribute": "z", "status": "hung", "method": "none",
            "x": four + 240, "y": 180,
        },
    }  # fmt: skip


def test_every_edge_of_a_worked_deliberation() -> None:
    verdict = worked()
    graph = deliberation_graph(verdict.transcript, verdict)
    found = {(a, edge.pop("kind"), b): edge for a, b, edge in graph.edges(data=True)}
    assert graph.number_of_edges() == len(found) + 3  # two quotes for each of two attributes

    assert {key: edge for key, edge in found.items() if key[1] not in ("spoke", "cited-evidence")} == {
        ("2/b", "saw", "1/a"): {},
        ("2/b", "saw", "1/b"): {},
        ("2/orchestrator", "saw", "1/a"): {},
        ("2/orchestrator", "saw", "1/b"): {},
        ("3/a", "saw", "2/b"): {},
        ("4/orchestrator", "saw", "3/a"): {},
        ("4/clerk", "saw", "3/b"): {},
        # b is asked by neither: the ledger names others, and the challenge is its own.
        ("3/a", "replied-to", "2/b"): {"attributes": "x"},
        ("3/a", "replied-to", "2/orchestrator"): {"attributes": "x"},
        ("2/b", "revised", "1/b"): {"attribute": "x", "before": 5, "after": 4, "ordered": True},
        ("3/a", "revised", "1/a"): {"attribute": "x", "before": 5, "after": 2, "ordered": False},
        ("4/orchestrator", "decided", "verdict/x"): {"attribute": "x"},
        ("4/orchestrator", "weighed", "3/a"): {"attribute": "x", "value": 2},
        ("1/a", "decided", "verdict/y"): {"attribute": "y", "value": 1, "agrees": False},
    }
    assert {(a, b, edge["round"]) for (a, kind, b), edge in found.items() if kind == "spoke"} == {
        (f"seat/{entry.speaker}", entry.id, entry.round) for entry in verdict.transcript.entries
    }
    keys = {key for *_, key in graph.edges(keys=True)}
    assert {
        "3/a revised 1/a x",
        "4/orchestrator decided verdict/x x",
        "4/orchestrator weighed 3/a x",
        "1/a decided verdict/y y",
    } <= keys
    # Where votes were counted all the same, the verdict rests on them.
    by_votes = verdict["x"].model_copy(update={"method": "median"})
    counted = deliberation_graph(verdict.transcript, told(verdict.transcript, x=by_votes))
    assert {a for a, _, _ in edges(counted, "decided")} == {"3/a", "3/b"} and not edges(counted, "weighed")
    cited = {key: edge for *_, key, edge in graph.edges(keys=True, data=True) if "quote" in edge}
    assert cited == {
        f"1/a cited-evidence case {attribute}/{number}": {
            "attribute": attribute,
            "quote": quote,
            "found": there,
        }
        | ({"exhibit": "source"} if there else {})
        for attribute in ("x", "y")
        for number, quote, there in ((1, "q1", True), (2, "q2", False))
    }


def test_a_later_round_is_no_reply_to_an_earlier_question() -> None:
    def ledger(number: int, *to: str) -> Ledger:
        dispute = Dispute(attribute="x", dispute="", question="?", to=to)
        return Ledger(round=number, disputes=(dispute,), author="orchestrator")

    def answer(juror: str, number: int) -> object:
        return cast(juror, {"x": 1, "y": 1}, round=number, purpose="revision")

    transcript = transcript_of(
        [cast("a", {"x": 1}), cast("b", {"x": 2})],
        [ledger(2, "a", "b")],
        [answer("a", 2), answer("b", 2)],
        [ledger(3, "b")],
        [answer("a", 3), answer("b", 3)],  # type: ignore[list-item]
    )
    graph = deliberation_graph(transcript, told(transcript))

    assert {(a, b) for a, b, _ in edges(graph, "replied-to")} == {
        ("3/a", "2/orchestrator"), ("3/b", "2/orchestrator"), ("5/b", "4/orchestrator"),
    }  # fmt: skip
    assert "disputed nothing" in deliberation_label(Ledger(round=1, disputes=(), author="code"))


def deliberation_label(ledger: Ledger) -> str:
    transcript = transcript_of([ledger])
    return str(deliberation_graph(transcript, told(transcript)).nodes["1/orchestrator"]["label"])


def test_claims_are_nodes_and_checks_are_edges() -> None:
    claim = Claim(id="c1", of="output", text="Fever.", quote="fever", start=3, end=8, central=True)
    checks = (
        Check(claim="c1", verdict="supported", rationale="it says so", evidence=(Quote(text="hot", exhibit="source"), Quote(text="cold", exhibit=None))),
        Check(claim="c2", verdict=None, abstained="refused", detail="no"),
    )  # fmt: skip
    transcript = transcript_of(
        [Extracted(round=1, who="e", of="output", claims=(claim, Claim(id="c2", text="Cough.")), detail="told")],
        [Checked(round=1, juror="v", of="output", against="source", checks=checks)],
    )  # fmt: skip
    graph = deliberation_graph(transcript, told(transcript))

    assert {name: node for name, node in graph.nodes(data=True) if node["kind"] == "claim"} == {
        "claim/c1": {
            "kind": "claim", "label": "Fever.", "of": "output", "quote": "fever", "start": 3, "end": 8, "central": True,
            "x": 0, "y": -90,
        },
        "claim/c2": {"kind": "claim", "label": "Cough.", "of": "output", "central": False, "x": 0, "y": -90},
    }  # fmt: skip
    lists, checked = graph.nodes["1/e"], graph.nodes["2/v"]
    assert (lists["kind"], lists["about"], lists["text"], lists["speaker"], lists["label"]) == (
        "utterance", "claims", "told", "e", "lists 2 claims of the output",
    )  # fmt: skip
    assert (checked["kind"], checked["about"], checked["step"]) == ("utterance", "checks", 2)
    assert checked["label"].startswith("checks 2 claims of the output against the source")
    found = {key: edge for *_, key, edge in graph.edges(keys=True, data=True) if edge["kind"] != "spoke"}
    assert found == {
        "1/e extracted claim/c1 c1": {"kind": "extracted"},
        "1/e extracted claim/c2 c2": {"kind": "extracted"},
        "2/v checked claim/c1 c1": {"kind": "checked", "claim": "c1", "verdict": "supported", "reason": "it says so"},
        "2/v checked claim/c2 c2": {"kind": "checked", "claim": "c2", "verdict": "abstained: refused", "reason": "no"},
        "2/v cited-evidence case c1/1": {"kind": "cited-evidence", "claim": "c1", "quote": "hot", "exhibit": "source", "found": True},
        "2/v cited-evidence case c1/2": {"kind": "cited-evidence", "claim": "c1", "quote": "cold", "found": False},
    }  # fmt: skip


def test_deliberations_are_kept_apart_by_arm_and_case() -> None:
    def heard(arm: str, case: str) -> Verdict:
        transcript = transcript_of([cast("a", {"x": 1})]).model_copy(update={"arm": arm, "case": case})
        return told(transcript)

    verdicts = [heard("j", "c\x00"), heard("k", "c\x00"), heard("j", "d")]
    whole = run_graph(verdicts)
    assert {name: node["deliberation"] for name, node in whole.nodes(data=True)} == {
        f"{arm}/{case}/{name}": case
        for arm, case in (("j", "c\ufffd"), ("k", "c\ufffd"), ("j", "d"))
        for name in ("case", "seat/a", "1/a")
    }
    assert {(a, b, key, edge["round"]) for a, b, key, edge in whole.edges(keys=True, data=True)} == {
        (f"{of}/seat/a", f"{of}/1/a", f"{of}/seat/a spoke 1/a", 1) for of in ("j/c\ufffd", "k/c\ufffd", "j/d")
    }
    assert [(graph.graph, len(graph)) for graph in arm_graphs(verdicts)] == [
        ({"id": "j", "arm": "j"}, 6), ({"id": "k", "arm": "k"}, 3),
    ]  # fmt: skip
    assert deliberation_graph(verdicts[0].transcript, verdicts[0]).graph == {"case": "c\ufffd", "arm": "j", "protocol": "p"}  # fmt: skip
    assert graphml(*arm_graphs(verdicts)).count("<graph ") == 2
    assert json.loads(node_link(whole))["edges"] and "\ufffd" in node_link(whole)
