"""venire from Python: sittings, notebooks, frames, and strings where a file is meant."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pandas as pd
import pytest
from checkout import ROOT
from mixed_rubric import RUBRIC, agreeing_server
from openai_server import Call, Fault, ProviderServer, filled
from server_juries import jury_at

from venire import Case, Sitting, Store, VenireError, deliberate_sync, load_cases, to_frame
from venire.orchestration.verdict import SCREEN
from venire.rubrics.errors import ModelUnreachable

CASE = Case(id="one", output="Fever gone.", source="Fever 38.4.")


@pytest.mark.parametrize("name", ["two-juries", "sheet-to-figure"])
def test_a_notebook_shows_what_was_saved_in_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ipykernel", reason="the test extra brings a Jupyter kernel")
    from notebooks import run_notebook, saved_outputs

    # The kernel's own files go here, and not into a home directory.
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "notebook"
    folder.mkdir()
    (tmp_path / "tutorial").symlink_to(ROOT / "examples/tutorial")
    shown = run_notebook(ROOT / f"examples/notebook/{name}.ipynb", folder)

    assert shown == saved_outputs(ROOT / f"examples/notebook/{name}.ipynb")
    assert any(output.startswith("<svg") for output in shown.values())
    if name == "sheet-to-figure":
        assert "24 cases, 5 attributes, 240 ratings by 2 people" in shown["cell-3"]
        return
    printed, table, frame = shown["cell-3"], shown["cell-4"], shown["cell-8"]
    assert printed.startswith("visit-7 by lens-jury") and len(printed.splitlines()) <= SCREEN[1]
    assert "<caption>visit-7 by lens-jury" in table
    assert all(name in frame for name in ("lens-jury", "lens-single", "visit-7", "visit-8"))
    store = Store.read(folder / "runs/notebook")
    assert sorted(arm.name for arm in store.arms()) == ["lens-jury", "lens-single"]
    store.release()


def test_two_juries_write_one_record_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    cases = [Case(id=str(n), output=f"Text {n}.") for n in range(5)]
    with agreeing_server("a", "b") as server:
        juries = [jury_at(server.url, name, protocol="panel") for name in ("a", "b")]
        juries[1] = juries[1].model_copy(update={"name": "other"})
        for _ in range(2):
            with Sitting(RUBRIC, juries[0], record=tmp_path / "run") as first:
                with Sitting(RUBRIC, juries[1], record=str(tmp_path / "run")) as second:
                    verdicts = [*first.deliberate_all_sync(cases), *second.deliberate_all_sync(cases)]
                first.deliberate_sync(cases[0])
        assert len(server.calls) == 10

    assert [verdict.case for verdict in verdicts] == [case.id for case in cases] * 2
    store = Store.read(tmp_path / "run")
    assert [len(list(store.transcripts(arm))) for arm in store.arms()] == [5, 5]
    store.release()


def test_a_sitting_serves_async_code_and_ends_with_its_block(tmp_path: Path) -> None:
    async def heard() -> list[str]:
        async with Sitting("clinical-note", "lens-jury", record=tmp_path / "run") as sitting:
            verdicts = await sitting.deliberate_all([CASE])
            # The synchronous form, where an event loop is running.
            assert sitting.deliberate_sync(CASE).outcomes == verdicts[0].outcomes
            assert deliberate_sync(CASE, "clinical-note", "lens-jury").outcomes == verdicts[0].outcomes
        return [verdict.case for verdict in verdicts]

    assert asyncio.run(heard()) == ["one"]
    Store.create(tmp_path / "run").close_sync()


def test_a_record_cannot_be_redacted_for_one_jury_alone(tmp_path: Path) -> None:
    with Sitting("clinical-note", "lens-jury", record=tmp_path / "run"):  # noqa: SIM117
        with pytest.raises(VenireError, match="stores texts in this record"):
            Sitting("clinical-note", "lens-single", record=tmp_path / "run", redact=True)


def test_a_sitting_that_is_closed_twice_is_closed(tmp_path: Path) -> None:
    sitting = Sitting("clinical-note", "lens-jury", record=tmp_path / "run")
    sitting.close()
    sitting.close()


def test_a_verdict_is_a_frame_a_page_and_a_screenful() -> None:
    verdict = deliberate_sync(CASE, "clinical-note", "lens-jury")
    frame = verdict.to_frame()

    assert list(frame["attribute"]) == [*verdict.outcomes, *verdict.derived]
    assert frame.equals(to_frame([verdict]))
    lines = str(verdict).splitlines()
    assert len(lines) <= SCREEN[1] and max(map(len, lines)) <= SCREEN[0]
    assert "one by lens-jury" in lines[0]
    hostile = verdict.model_copy(update={"case": "<script>alert(1)</script>"})
    assert "<script>" not in hostile._repr_html_()


def test_cases_from_a_frame_and_from_rows() -> None:
    rows = [
        {"id": 1, "output": "Text.", "source": "Note.", "group": None, "site": "A"},
        {"id": 2, "output": "Text.", "source": float("nan"), "group": "g", "site": "B"},
    ]
    from_rows = list(load_cases(rows))
    from_frame = list(load_cases(pd.DataFrame(rows)))

    assert from_rows == from_frame
    assert (from_rows[0].id, from_rows[0].metadata, from_rows[1].source) == ("1", {"site": "A"}, ())


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "no cases"),
        ([{"id": 1}], "row 1: 'output' is missing"),
        ([{"id": 1, "output": "a"}, {"id": 1, "output": "b"}], "row 2: the id '1' was already used in row 1"),
        (["text"], "row 1 is a str"),
        ("nowhere.jsonl", "nowhere.jsonl: no such file"),
    ],
)
def test_rows_that_are_no_cases_are_refused(rows: object, problem: str) -> None:
    with pytest.raises(VenireError, match=problem):
        list(load_cases(rows))  # type: ignore[arg-type]


def test_a_text_in_place_of_a_case_is_refused_with_the_remedy() -> None:
    with pytest.raises(VenireError, match=r"this is a str, not a case\n.*Case\(id="):
        deliberate_sync("Fever gone.", "clinical-note", "lens-jury")  # type: ignore[arg-type]
    with pytest.raises(VenireError, match="no rubric named 'clinical-nota'"):
        deliberate_sync(CASE, "clinical-nota", "lens-jury")


def test_where_a_model_cannot_be_asked_for_free_the_first_case_is_heard_alone() -> None:
    cases = [Case(id=str(n), output=f"Text {n}.") for n in range(6)]

    def answer(call: Call) -> object:
        return Fault(status=401) if call.number == 0 else filled(call.schema or {}, lambda _: 4)

    with (
        ProviderServer(answer, latency=0.05) as server,
        Sitting(RUBRIC, jury_at(server.url, "a", protocol="panel")) as sitting,
    ):
        with pytest.raises(ModelUnreachable, match="'server/a' cannot be used"):
            sitting.deliberate_sync(cases[0])
        assert (len(server.calls), server.most_in_flight) == (1, 1)
        sitting.deliberate_sync(cases[0])
        verdicts = sitting.deliberate_all_sync(cases)

    assert len(verdicts) == len(cases) and server.most_in_flight > 1
