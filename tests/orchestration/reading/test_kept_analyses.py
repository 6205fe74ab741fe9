"""What is read of finished deliberations, whole: flags, movement, census, graph, counts and exports of talks and of the wide run."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from kept_figures import check_kept
from openai_server import Refusal
from talk_traces import FOUR, ON_TOP, RICH, SPLIT, checked, hold, scripted

from venire import Rubric, Store, Verdict, load_rubric
from venire.orchestration.deliberate import blind_count, recount
from venire.orchestration.reading.analysis import (
    Census,
    conformity,
    convergence,
    flags,
    flags_across_arms,
    influence,
    instant_agreements,
    interest,
    moves,
    overrulings,
    turning_points,
    unsupported_quotes,
)
from venire.orchestration.reading.analysis.movement import chances
from venire.orchestration.reading.export import ExportedRun, case_json, export_format, learned_count, verdicts
from venire.orchestration.reading.graph import deliberation_graph, run_graph
from venire.orchestration.reading.graph_formats import dot
from venire.orchestration.reading.scores import ScoreCounts
from venire.orchestration.reading.status import status, status_json
from venire.orchestration.verdict import tallies
from venire.personas.jury import Jury

KEPT = Path(__file__).parent / "kept"
Judged = tuple[Verdict, Rubric, Jury]


@cache
def talks() -> dict[str, Judged]:
    """Deliberations in which jurors dispute, move, conform, are challenged and overruled, and misquote."""
    together = {"a": {**ON_TOP, "accurate": {"score": 5, "evidence": ["fever of 38.4", "no words of it"]}}}
    giving_way = {
        "a": [{"accurate": 5}, {"accurate": 3}],
        "b": {"accurate": 3},
        "c": {"accurate": 3, "thorough": 1},
        "boss": {},
    }
    late = {"b": [ON_TOP, {**ON_TOP, "accurate": {"score": 4, "evidence": ["well on Friday"]}}], "c": ON_TOP}
    claims = {"of": "output", "against": "source", "both_ways": True}
    verifiers = [{"name": "e", "extracts": True}, "v", "w", "x"]
    held = {
        "split": hold(scripted(SPLIT), FOUR, limits={"max_rounds": 4, "max_stalls": 2}),
        "conforming": hold(scripted(giving_way), ["a", "b", "c"], limits={"max_rounds": 2}),
        "challenged": hold(scripted({**together, **late}), ["a", "b", "c"], limits={"max_rounds": 3}),
        "nothing new": hold(scripted({"a": ON_TOP, "b": ON_TOP}), ["b", "a"]),
        "cut short": hold(scripted({"a": ON_TOP, "b": ON_TOP}), ["a", "b", "c"], protocol="panel", limits={"max_turns": 2}),
        "an alternate": hold(scripted({"a": Refusal(), "a2": {"accurate": 1}, "b": {}}), [{"name": "a", "alternates": ["server/a2"]}, "b"], protocol="panel"),
        "at once": hold(scripted({**together, "b": ON_TOP}), ["a", "b"], challenge=False),
        "debate": hold(scripted(SPLIT), FOUR, protocol="debate", limits={"max_rounds": 2}),
        "delphi": hold(scripted(SPLIT), FOUR, protocol="delphi", limits={"max_rounds": 3, "max_stalls": 3}),
        "escalated": hold(scripted({**SPLIT, "a": [{"thorough": 5}, {"thorough": 1}]}), FOUR, protocol="escalate", limits={"max_rounds": 2}),
        "claims": hold(checked, verifiers, protocol="decompose-verify", claims=claims, rubric=load_rubric("claims")),
    }  # fmt: skip
    return {
        name: (each.verdict, load_rubric("claims") if name == "claims" else RICH, each.jury)
        for name, each in held.items()
    }


@pytest.fixture(scope="module")
def wide_verdicts(wide: Path) -> list[Judged]:
    store = Store.read(wide / "run")
    found = [(verdict, arm.rubric, arm.jury) for arm, verdict in verdicts(store)]
    store.release()
    return found


def rows(found: Iterable[Any]) -> list[Any]:
    """Named tuples as mappings, so that each field is kept by its name; texts in one word, for their numbers vary with wording."""
    return [_row(each) for each in found]


def _row(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _row(part) for name, part in value._asdict().items() if name != "text"}
    if isinstance(value, tuple | list):
        return ",".join(str(_row(part)) for part in value)
    return value.replace(" ", "_") if isinstance(value, str) else value


def movements(judged: Judged) -> dict[str, Any]:
    verdict, rubric, _ = judged
    transcript = verdict.transcript
    return {
        "moves": rows(moves(transcript)),
        "influence": rows(influence(transcript)),
        "conformity": rows(conformity(transcript)),
        "chances": chances(transcript),
        "turning points": rows(turning_points(transcript)),
        "convergence": {
            name: [[p.round, p.spread, p.agreement, ",".join(f"{j}={v}" for j, v in p.values.items())] for p in points]
            for name, points in convergence(transcript).items()
        },
        "agreements": rows(instant_agreements(transcript, rubric)),
        "overrulings": rows(overrulings(verdict)),
        "misquotes": rows(unsupported_quotes(transcript)),
    }  # fmt: skip


def flagged(judged: Judged, others: Iterable[Verdict] = ()) -> dict[str, Any]:
    verdict, rubric, _ = judged
    found = flags_across_arms(verdict, rubric, list(others))
    return {"flags": rows(found), "interest": interest(flag.weight for flag in found)}


def test_the_movement_and_the_flags_of_single_talks_are_what_they_were() -> None:
    check_kept(
        KEPT / "talks.json",
        {name: movements(judged) | flagged(judged, [talks()["at once"][0]]) for name, judged in talks().items()},
    )  # fmt: skip


def test_the_graphs_and_documents_of_single_talks_are_what_they_were() -> None:
    made = {}
    for name, (verdict, _, _) in talks().items():
        graph = deliberation_graph(verdict.transcript, verdict)
        document = case_json(verdict)
        nodes = {node: _told(about) for node, about in graph.nodes(data=True)}
        edges = {key: _told(about) for _, _, key, about in graph.edges(keys=True, data=True)}
        made[name] = {"nodes": nodes, "edges": edges, "dot": len(dot(graph).splitlines()), "json": document}
    check_kept(KEPT / "documents.json", made, without=r"seconds\b|detail$|/note$")


def _told(about: dict[str, Any]) -> str:
    """What a node or an edge is known by, without sentences."""
    return ",".join(f"{name}={value}" for name, value in about.items() if " " not in str(value))


def test_the_movement_and_the_flags_of_the_wide_run_are_what_they_were(wide_verdicts: list[Judged]) -> None:
    by_case: dict[str, list[Verdict]] = {}
    for verdict, _, _ in wide_verdicts:
        by_case.setdefault(verdict.case, []).append(verdict)
    check_kept(
        KEPT / "wide.json",
        [
            {"arm": j[0].arm, **movements(j), **flagged(j, (v for v in by_case[j[0].case] if v.arm != j[0].arm))}
            for j in wide_verdicts
        ],
    )  # fmt: skip


def census_of(judged: Iterable[Judged]) -> dict[str, Any]:
    census = Census()
    for verdict, rubric, jury in judged:
        part = Census()
        part.add(verdict, rubric, jury, flags(verdict, rubric))
        census.merge(part)
    return {
        "sums": {"/".join(key): list(value) for key, value in census.sums.items() if key[1] != "seconds"},
        "splits": rows(census.splits()),
        "persuaders": rows(census.persuaders()),
        "conformers": rows(census.conformers()),
        "flows": rows(census.flows()),
        "leanings": {of: rows(census.leanings(of)) for of in ("juror", "persona", "model")},
        "curves": {name: [[at, *share] for at, share in census.curve(name)] for name in RICH.names},
        "flagged": [list(each) for each in census.counts("flagged")],
    }  # fmt: skip


def test_the_census_is_what_it_was(wide_verdicts: list[Judged]) -> None:
    arms = dict.fromkeys(verdict.arm for verdict, _, _ in wide_verdicts)
    census = {arm: census_of(each for each in wide_verdicts if each[0].arm == arm) for arm in arms}
    check_kept(KEPT / "census.json", {**census, "talks": census_of(talks().values())})


RULES = {
    "bench": ("median", "decision", "escalated", "dawid-skene"),
    "panel": ("mean", "trimmed", "mode", "weighted"),
    "single": ("median", "weighted", "dawid-skene"),
}


def test_the_counting_rules_make_of_the_wide_run_what_it_did(wide: Path) -> None:
    store = Store.read(wide / "run")
    counted: dict[str, Any] = {}
    for arm in store.arms():
        heard = list(store.transcripts(arm))
        for rule in RULES[arm.name]:
            learned = learned_count(store, arm, rule)
            outcomes = [recount(each, arm.rubric, arm.jury, rule, learned) for each in heard]
            counted[f"{arm.name} by {rule}"] = [_outcomes(each) for each in outcomes]
        blind = [blind_count(each, arm.rubric, arm.jury) for each in heard]
        counted[f"{arm.name} blind"] = [_outcomes(each) for each in blind if each is not None]
        cast = [tally.cast for each in heard for tally in tallies(each, arm.rubric, arm.jury)]
        counted[f"{arm.name} cast"] = [",".join(f"{j}={v}" for j, v in votes.items()) for votes in cast]
    counts = ScoreCounts()
    for arm, verdict in verdicts(store):
        judged = store.case(verdict.case)
        counts.add(arm.name, judged.system if judged else None, verdict)
    for arm in store.arms():
        for system in (None, *counts.systems()):
            counted[f"{arm.name} summary {system}"] = [_row(each) for each in counts.summaries(arm, system=system)]  # fmt: skip
    store.release()
    check_kept(KEPT / "counts.json", counted)


def _outcomes(verdict: Verdict) -> dict[str, Any]:
    return {
        **{n: [o.status, o.value, o.support, o.spread, o.votes, o.method, ",".join(d.juror for d in o.dissent)] for n, o in verdict.outcomes.items()},
        "derived": dict(verdict.derived),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["jsonl", "csv", "graphml", "json", "transcript"])
def test_an_export_of_the_wide_run_is_what_it_was(name: str, wide: Path) -> None:
    store, out = Store.read(wide / "run"), io.StringIO()
    some = {f"c{number}": ["reason"] for number in (7, 0, 21, 3)}
    number = export_format(name)(ExportedRun(store, picked=some), out)
    store.release()
    text = out.getvalue()
    if name in ("jsonl", "transcript"):
        told: Any = [json.loads(line) for line in text.splitlines()]
    elif name == "json":
        told = json.loads(text)
    elif name == "csv":
        told = [dict(enumerate(line.split(","))) for line in text.splitlines()]
    else:
        told = {"lines": len(text.splitlines()), "keys": [line.split("<key ")[1].split(">")[0].replace(" ", "|") for line in text.splitlines() if "<key " in line]}  # fmt: skip
    changing = r"seconds\b|/at\b|calls$|manifest|base_url|prompts|created|version|hash|fingerprint"
    check_kept(KEPT / f"export-{name}.json", {"number": number, "told": told}, without=changing)


def test_a_filtered_export_and_the_whole_graph_are_what_they_were(wide: Path) -> None:
    store = Store.read(wide / "run")
    made = {
        "one arm": [f"{v.case}/{v.arm}" for v in ExportedRun(store, arm="panel").verdicts()],
        "one case": [f"{v.case}/{v.arm}" for v in ExportedRun(store, case="c5").verdicts()],
        "by median": [_outcomes(v) for v in ExportedRun(store, case="c5", count="median").verdicts()],
    }
    whole = run_graph(ExportedRun(store, case="c5").verdicts())
    made["nodes"] = [f"{node}:{about['kind']}:{about['x']}:{about['y']}".replace(" ", "_") for node, about in whole.nodes(data=True)]  # fmt: skip
    found = status_json(status(wide / "run"))
    store.release()
    check_kept(KEPT / "status.json", {**made, "status": found}, without=r"second|activity|eta|/run$|pace|/at$|started|last|window|pid")  # fmt: skip
