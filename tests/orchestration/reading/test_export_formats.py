"""Export formats: looked up by entry point, venire's own and those of other packages; and what a run is in each."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest
from command_line import venire
from installed_packages import on_the_path, put_package
from planted_run import SCRIPTS, SINGLE, planted_case, planted_run, scripted_jury
from rich.console import Console
from written_transcripts import cast, transcript_of, written_run

from venire import Case, Rubric, Store, VenireError, load_rubric
from venire.agents.cost import Receipt
from venire.agents.desk import Desk
from venire.agents.orchestrator import Finding
from venire.orchestration.deliberate import recount
from venire.orchestration.reading import export, table_formats
from venire.orchestration.reading.export import (
    GROUP,
    ExportedRun,
    case_json,
    export_format,
    sealed_cases,
    sealed_note,
    systems_json,
    verdicts,
    write_json,
)
from venire.orchestration.reading.status import UnreachedModel
from venire.orchestration.reading.table_formats import _row
from venire.orchestration.reading.terminal import export_run, show_case, show_summary
from venire.orchestration.record.private_files import write_atomically
from venire.orchestration.transcript import Decided, Stop
from venire.rubrics.case import is_swapped
from venire.rubrics.plugins import registered_plugins

TALLY = """
def tally(run, out):
    found = list(run.verdicts())
    out.write("".join(f"{verdict.case} {verdict.arm}\\n" for verdict in found))
    return len(found)
"""


@pytest.mark.parametrize("name", ["jsonl", "csv", "graphml", "json", "dot", "html"])
def test_venires_own_formats_are_registered_and_write_every_deliberation(name: str, tmp_path: Path) -> None:
    run, out = planted_run(tmp_path, {"calm": SCRIPTS["calm"]}), io.StringIO()

    assert name in registered_plugins(GROUP)
    assert export_run(run, name, None, out, None) == 2
    assert "calm" in out.getvalue()


@pytest.mark.parametrize("name", ["jsonl", "csv", "transcript", "graphml", "json"])
def test_only_the_cases_that_were_picked_are_written_in_their_order(name: str, tmp_path: Path) -> None:
    run, out = planted_run(tmp_path, {name: SCRIPTS[name] for name in ("calm", "premature", "persuaded")}), io.StringIO()  # fmt: skip

    assert export_run(run, name, None, out, None, arm="stances", picked={"premature": [], "calm": []}) == 2
    text = out.getvalue()
    assert "persuaded" not in text and 0 < text.index("premature") < text.index("calm")


def test_a_table_has_what_was_reached_what_was_not_and_what_follows(
    tmp_path: Path, rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = rubric.model_copy(
        update={"composites": {"whole": dict.fromkeys(rubric.names, 1 / len(rubric.names))}}
    )
    names, cases = rubric.names, [Case(id=name, output="It is so.") for name in ("c1", "c2")]
    votes = {"c1": {"a": dict.fromkeys(names, 2), "b": dict.fromkeys(names, 5)}, "c2": {"a": {names[0]: 4}}}
    run, out = written_run(tmp_path / "run", scored, cases, {"panel": votes}), io.StringIO()

    assert export_run(run, "csv", None, out, None) == 2
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    told = [tuple(row[name] for name in ("case", "attribute", "status", "value", "spread", "votes", "method", "stop")) for row in rows]  # fmt: skip
    assert told == [
        *(("c1", name, "reached", "3.5", "3.0", "2", "median", "complete") for name in names),
        ("c1", "whole", "derived", "3.5", "", "", "derived", "complete"),
        ("c2", names[0], "reached", "4", "0.0", "1", "median", "complete"),
        *(("c2", name, "hung", "", "", "0", "none", "complete") for name in names[1:]),
    ]
    out = io.StringIO()
    assert export_run(run, "csv", None, out, "mean", case="c2") == 1 and ",mean," in out.getvalue()

    tables: list[tuple[str, list[dict[str, Any]]]] = []

    def table_bytes(rows: list[dict[str, Any]], columns: dict[str, str], kind: str) -> bytes:
        tables.append((kind, [{name: row.get(name) for name in columns} for row in rows]))
        return b"table"

    monkeypatch.setattr(table_formats, "table_bytes", table_bytes)
    for kind in ("parquet", "arrow"):
        binary = io.TextIOWrapper(io.BytesIO())
        assert export_run(run, kind, None, binary, None) == 2 and binary.buffer.getvalue() == b"table"  # type: ignore[attr-defined]
    (one, found), (other, same) = tables
    assert (one, other) == ("parquet", "arrow") and found == same
    # What a text table leaves empty is missing here, and never a number.
    told = [tuple(row[name] for name in ("case", "attribute", "status", "answer", "value", "support", "spread", "votes")) for row in found]  # fmt: skip
    assert told == [
        *(("c1", name, "reached", "3.5", 3.5, 0.0, 3.0, 2) for name in names),
        ("c1", "whole", "derived", "3.5", 3.5, None, None, None),
        ("c2", names[0], "reached", "4", 4.0, 1.0, 0.0, 1),
        *(("c2", name, "hung", None, None, None, None, 0) for name in names[1:]),
    ]
    assert {(row["arm"], row["protocol"], row["stop"]) for row in found} == {("panel", "panel", "complete")}
    assert _row({**found[0], "value": "mild"}, "panel").items() >= {"answer": "mild", "value": None}.items()


def test_a_format_of_another_package_gets_the_deliberations_that_were_asked_for(tmp_path: Path) -> None:
    run, out = planted_run(tmp_path, {"calm": SCRIPTS["calm"]}), io.StringIO()
    put_package(tmp_path, "tallies", {GROUP: {"tally": "tallies:tally"}}, tallies=TALLY)
    with on_the_path(tmp_path, "tallies"):
        assert export_run(run, "tally", None, out, None, arm="stances") == 1

    assert out.getvalue() == "calm stances\n"


def test_no_vote_is_shown_on_a_case_that_a_person_has_yet_to_vote_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = planted_run(tmp_path, {name: SCRIPTS[name] for name in ("calm", "premature", "overruled")})
    person = scripted_jury(tmp_path, "single", SINGLE, name="ward", protocol="panel", seats=("judge",))
    fields = person.model_dump(mode="json") | {"seats": [{"name": "ann", "model": "person/ann"}]}
    heard = transcript_of([cast("ann", {"accurate": 4, "organized": 4})]).model_copy(
        update={"case": "calm", "stop": Stop(reason="complete")}
    )

    async def sit() -> None:
        store = Store.create(run)
        rubric = store.arms()[0].rubric.model_dump(mode="json")
        number = await store.add_arm("ward", "ward", {"rubric": rubric, "jury": fields})
        await store.add(number, planted_case("calm"), "print", heard, position=0)
        await store.close()

    asyncio.run(sit())
    desk = Desk(run)
    desk.add_tasks("ann", [(name, name, "sheet") for name in ("calm", "premature")])

    def left() -> tuple[dict[str, int], set[str], str]:
        store = Store.read(run)
        try:
            shown = {verdict.case for arm, verdict in verdicts(store) if arm.name == "stances"}
            return sealed_cases(store), shown, sealed_note(store)
        finally:
            store.release()

    # Nobody asked her about the third, and the run is over.
    sealed, shown, note = left()
    assert list(sealed) == ["premature"] and shown == {"calm", "overruled"} and note.startswith("1 case is")
    down = UnreachedModel("single", "openai/x", ("judge",), 2, "HTTP 500")
    monkeypatch.setattr(export, "unreached_models", lambda store: [down])
    store, out = Store.read(run), io.StringIO()
    write_json(store, out)
    store.release()
    told = json.loads(out.getvalue())
    assert told["unreached"] == [down.json()]
    assert told["sealed"] == ["premature"] and {each["case"] for each in told["cases"]} == {
        "calm",
        "overruled",
    }
    assert told["spent"].keys() >= {"calls", "tokens", "usd"} and "seconds" not in told["spent"]
    page = io.StringIO()
    console = Console(file=page, width=200)
    for refused in (
        lambda: show_case(run, "premature", None, console, page),
        lambda: show_case(run, "premature", "single", None, page),
        lambda: export_run(run, "csv", None, page, None, case="premature"),
    ):
        with pytest.raises(VenireError, match="has not cast the first, blind vote"):
            refused()
    assert page.getvalue() == ""
    show_summary(run, console)
    assert "overruled" in page.getvalue() and "premature" not in page.getvalue()
    assert "arm stances  2 cases" in page.getvalue() and note in page.getvalue()
    task = desk.task_at("ann", "premature")
    assert task is not None
    desk.mark_done(task, True)
    desk.close()
    assert left() == ({}, {"calm", "premature", "overruled"}, "")
    show_case(run, "premature", "single", None, out := io.StringIO())
    assert "sealed" not in json.loads(out.getvalue())
    show_case(run, "premature", None, console, page)
    assert "premature-consensus" in page.getvalue()


ANN = {"ann": {"a": True, "b": False, "d": False}}


@pytest.mark.parametrize(
    ("writing", "people", "asked", "sealed"),
    [
        (False, ["ann"], ANN, {"b": 2}),
        (True, ["ann"], ANN, {"b": 2, "c": 3}),
        (True, ["ann", "bob"], ANN, {"a": 1, "b": 2, "c": 3, "d": 4}),
        (False, ["ann", "bob"], {"ann": {"b": False}, "bob": {"a": False, "gone": False}, "eve": {"c": False}}, {"a": 1, "b": 2}),
        (True, ["ann", "bob"], {"ann": {"a": True, "b": True}, "bob": {"c": True, "d": True}}, {"a": 1, "b": 2, "c": 3}),
        (False, [], ANN, {}),
        (True, ["ann"], {}, {"a": 1, "b": 2, "c": 3}), (False, ["ann"], {}, {}), (True, [], {}, {}),
    ],
)  # fmt: skip
def test_while_a_run_goes_on_what_a_person_will_still_be_asked_is_hidden_too(
    monkeypatch: pytest.MonkeyPatch, writing: bool, people: list[str], asked: Any, sealed: dict[str, int]
) -> None:
    """Each person sits beside a model in an arm of her name; a panel of models has heard three cases, and ann's arm a fourth."""

    def arm(name: str, *models: str) -> Any:
        seats = [SimpleNamespace(model=model, is_person=model.startswith("person/")) for model in models]
        return SimpleNamespace(name=name, jury=SimpleNamespace(seats=seats))

    heard = {"panel": {"a": 1, "b": 2, "c": 3}, "ann": {"d": 4}, "bob": {}}
    arms = [*(arm(name, "openai/x", f"person/{name}") for name in people), arm("panel", "openai/x")]
    numbers = {case: number for by_case in heard.values() for case, number in by_case.items()}
    store: Any = SimpleNamespace(
        name="run", writing=lambda: writing, arms=lambda: arms, first_numbers=lambda of=None: heard[of.name] if of else numbers
    )  # fmt: skip
    monkeypatch.setattr(export, "cases_asked", lambda run: asked)

    assert sealed_cases(store) == sealed
    store.name = "postgresql://h/d"
    assert sealed_cases(store) == {}


def test_a_run_is_recounted_by_its_own_rule_or_another_and_learned_from_all_cases_of_one_arm(
    tmp_path: Path, rubric: Rubric
) -> None:
    def both(**scores: int) -> dict[str, dict[str, int]]:
        return {juror: dict.fromkeys(rubric.names, score) for juror, score in scores.items()}

    arms = {
        "far-b": {"c1": both(a=3, b=5, c=3), "c2": both(a=1, b=3)},
        "far-a": {"c1": both(a=5, b=3, c=3), "c2": both(a=1, b=3)},
    }
    cases = [Case(id=name, output=f"Text of {name}.") for name in ("c1", "c2")]
    store = Store.read(written_run(tmp_path / "run", rubric, cases, arms))

    def values(count: str | None, only: str | None = None) -> dict[tuple[str, str], float]:
        found = verdicts(store, case=only, count=count)  # type: ignore[arg-type]
        return {(arm.name, told.case): told["accurate"].value for arm, told in found}  # type: ignore[misc]

    # In c1 who is far is half the scale's length from the mean of the others, and they are a quarter; in c2 both are half
    # of it apart. So who was near in c1 weighs (0.75 + 0.5) / 2 = 0.625, who was far 0.5, and c, not heard on c2, 0.75.
    first, second = (3 * 0.625 + 5 * 0.5 + 3 * 0.75) / 1.875, {"far-b": (0.625 + 3 * 0.5) / 1.125, "far-a": (0.5 + 3 * 0.625) / 1.125}  # fmt: skip
    learned = {(arm, case): first if case == "c1" else second[arm] for arm in arms for case in ("c1", "c2")}
    try:
        assert values(None) == {(arm, case): 3 if case == "c1" else 2 for arm, case in learned}
        assert values("mean") == {
            (arm, case): pytest.approx(11 / 3) if case == "c1" else 2 for arm, case in learned
        }
        assert values("weighted") == pytest.approx(learned)
        assert values("weighted", "c2") == pytest.approx(
            {key: value for key, value in learned.items() if "c2" in key}
        )
    finally:
        store.release()


def test_a_deliberation_as_json_tells_evidence_abstentions_and_cost(tmp_path: Path, rubric: Rubric) -> None:
    spent = Receipt(calls=("k1", "k2"), prompt=7, completion=5, cached=3, usd=0.5, seconds=2.0, by="server/b")
    ballots = [
        cast(
            "high",
            {"accurate": 4},
            quotes={"q": "source", "r": "output"},
            spent=spent,
            moved_by="m",
            saw=("0/x",),
        ),
        cast("low", {"accurate": 4}, quotes={"q": "source", "r": None}, abstained=("thorough",)),
        cast("middle", {"accurate": 5}),
    ]
    jury = scripted_jury(tmp_path, "x", SCRIPTS["calm"])
    transcript = transcript_of(ballots).model_copy(update={"stop": Stop(reason="complete"), "flags": ("f",)})
    told = case_json(recount(transcript, rubric, jury, "median"))

    assert [(b["juror"], b["value"], b["evidence_found"], b["alternate"]) for b in told["ballots"]] == [
        ("high", 4, True, "server/b"),
        ("low", 4, False, None),
        ("middle", 5, None, None),
    ]
    first = told["ballots"][0]
    assert (first["round"], first["attribute"], first["rationale"], first["moved_by"]) == (
        1,
        "accurate",
        "r",
        "m",
    )
    assert (first["purpose"], first["entry"], first["saw"]) == ("blind", "1/high", ["0/x"])
    assert [quote["found"] for quote in told["ballots"][1]["evidence"]] == [True, False]
    assert [(a["juror"], a["attribute"], a["reason"]) for a in told["abstentions"]] == [
        ("low", "thorough", "out_of_scale")
    ]
    assert (told["calls"], told["usd"], told["seconds"]) == (2, 0.5, 2.0)
    assert told["tokens"] == {"prompt": 7, "completion": 5, "cached": 3}
    assert (told["rounds"], told["turns"], told["steps"], told["flags"]) == (1, 3, 1, ["f"])
    assert told["verdict"]["accurate"]["value"] == 4 and told["stop"]["reason"] == "complete"
    assert told["ledgers"] == told["decisions"] == [] and "claims" not in told


def test_of_a_pair_the_systems_are_told_under_the_labels_that_were_shown_and_to_people_as_the_file_has_them(
    tmp_path: Path, rubric: Rubric
) -> None:
    ids = [next(f"{name}{n}" for n in range(99) if is_swapped(f"{name}{n}") is turned) for name, turned in (("kept", False), ("turned", True), ("tie", True))]  # fmt: skip
    rows = [{"id": each, "output_a": "North.", "output_b": "South.", "system_a": "north", "system_b": "south"} for each in ids]  # fmt: skip
    votes = {each: {"ann": {"preference": value}} for each, value in zip(ids, (-1, -1, 0), strict=True)}
    asked = load_rubric("preference")
    run, out = (
        written_run(
            tmp_path / "run", asked, [Case.from_row(row) for row in rows], {"panel": votes, "other": votes}
        ),
        io.StringIO(),
    )

    store = Store.read(run)
    try:
        plain, people = ({verdict.case: verdict["preference"].value for arm, verdict in verdicts(store, written=written) if arm.name == "panel"} for written in (False, True))  # fmt: skip
        assert list(plain.values()) == [-1, -1, 0] and list(people.values()) == [-1, 1, 0]
        assert [arm.name for arm in ExportedRun(store, arm="other").arms()] == ["other"]
        (_, verdict), *_ = verdicts(store)
        assert systems_json(store, rubric, verdict) == {}, "nobody was asked to compare"
    finally:
        store.release()
    export_run(run, "jsonl", None, out, None, arm="panel")
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    behind = {"north": {"A": "north", "B": "south"}, "south": {"A": "south", "B": "north"}}
    assert [(each["systems"], each["preferred"]) for each in told] == [
        (behind["north"], {"preference": "north"}), (behind["south"], {"preference": "south"}), (behind["south"], {"preference": "tie"}),
    ]  # fmt: skip


def test_a_decision_names_the_ballots_that_it_weighed_and_a_bill_that_cannot_be_is_flagged(
    tmp_path: Path, rubric: Rubric
) -> None:
    finding = Finding(attribute="accurate", value=4, rationale="r", weighed=("high",))
    odd = Receipt(calls=("k",), implausible=True)
    transcript = transcript_of(
        [cast("high", {"accurate": 4}), cast("low", {"accurate": 2}, spent=odd)],
        [cast("high", {"accurate": 5}, round=2, purpose="revision")],
        [Decided(round=2, findings=(finding,), saw=("1/low",), spent=Receipt(by="server/b"))],
    ).model_copy(update={"stop": Stop(reason="complete")})
    told = case_json(recount(transcript, rubric, scripted_jury(tmp_path, "x", SCRIPTS["calm"]), "median"))

    (decision,) = told["decisions"]
    assert decision["findings"][0]["weighed_entries"] == ["2/high"], "what stands, of her whom it weighed"
    assert (decision["saw"], decision["alternate"], told["flags"]) == (["1/low"], "server/b", ["usage-implausible"])  # fmt: skip


def test_a_file_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    run, nowhere = planted_run(tmp_path, {"calm": SCRIPTS["calm"]}), tmp_path / "nowhere" / "verdicts.csv"

    with pytest.raises(VenireError) as refused:
        export_run(run, "csv", nowhere, io.StringIO(), None)
    assert str(nowhere) in str(refused.value)
    with pytest.raises(VenireError) as refused:
        write_atomically(nowhere, "")
    assert "verdicts.csv: No such file" in str(refused.value)


def test_an_unknown_format_is_told_with_the_nearest_one() -> None:
    with pytest.raises(VenireError, match="no export format named 'jsnol'") as error:
        export_format("jsnol")

    assert error.value.remedy.startswith("did you mean 'jsonl'?")


def test_a_run_exports_as_one_graph(tmp_path: Path) -> None:
    planted_run(tmp_path)
    for form in ("graphml", "json", "dot"):
        ended = venire("export", "run", "--to", form, "-o", f"out.{form}", cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
    one = venire("export", "run", "--to", "graphml", "--case", "calm", "--arm", "stances", cwd=tmp_path)

    whole = nx.read_graphml(tmp_path / "out.graphml", force_multigraph=True)
    single = nx.parse_graphml(one.stdout, force_multigraph=True)
    assert sum(node["kind"] == "case" for _, node in whole.nodes(data=True)) == len(SCRIPTS)
    assert (tmp_path / "out.graphml").read_text().count("<graph ") == 2
    assert "stances/persuaded/verdict/accurate" in whole
    assert sum(node["kind"] == "case" for _, node in single.nodes(data=True)) == 1
    drawing = (tmp_path / "out.dot").read_text()
    assert re.findall(r"^digraph (.*) {$", drawing, re.M) == ['"stances"', '"single"']
    assert drawing.count("subgraph cluster_") == 2 * len(SCRIPTS)


def test_lines_hold_ledgers_and_decisions(tmp_path: Path) -> None:
    planted_run(tmp_path)
    ended = venire("export", "run", "--to", "jsonl", "--arm", "stances", cwd=tmp_path)
    found = {line["case"]: line for line in map(json.loads, ended.stdout.splitlines())}["overruled"]

    assert found["ledgers"][0]["saw"] == ["1/high", "1/low", "1/middle"]
    assert found["ledgers"][0]["disputes"][0]["attribute"] == "accurate"
    (finding,) = found["decisions"][-1]["findings"]
    ballots = {ballot["entry"] for ballot in found["ballots"]}
    assert set(finding["weighed_entries"]) <= ballots
    assert (
        {entry.partition("/")[2] for entry in finding["weighed_entries"]}
        == set(finding["weighed"])
        == {"high", "low", "middle"}
    )


def test_parquet_holds_an_outcome_a_row(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="an extra")
    import pandas as pd

    planted_run(tmp_path)
    ended = venire("export", "run", "--to", "parquet", "-o", "out.parquet", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    found = pd.read_parquet(tmp_path / "out.parquet")

    assert set(found["arm"]) == {"stances", "single"}
    assert found.loc[found["status"] == "hung", "value"].isna().all()
    assert found["value"].dtype == float


def test_an_unknown_case_or_format_is_two_lines_and_status_two(tmp_path: Path) -> None:
    planted_run(tmp_path, {"calm": SCRIPTS["calm"]})
    for options in (
        ("--to", "graphml", "--case", "clam"),
        ("--to", "docx"),
        ("--to", "html", "--case", "clam"),
    ):
        ended = venire("export", "run", *options, cwd=tmp_path)
        assert ended.returncode == 2
        assert len(ended.stderr.strip().splitlines()) == 2
