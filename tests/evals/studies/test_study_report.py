"""Reports: the example that needs no key, its page, its JSON, and the inspector that shows it."""

from __future__ import annotations

import csv
import json
import re
import shutil
from html import escape
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from command_line import venire
from inspector_server import InspectorServer
from study_files import report_on

from venire import VenireError
from venire.evals.audits.independence import TITLE
from venire.evals.studies.plan import plan_study
from venire.evals.studies.study_plan import plan_json
from venire.evals.studies.study_tables import TABLES, table_description

EXAMPLE = ROOT / "examples/which-jury/study.yaml"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """The example's run, its report as JSON, and what was said on the way."""
    run = tmp_path_factory.mktemp("example") / "run"
    ended = venire("study", EXAMPLE, "-o", run, "--resamples", 20, "--json", cwd=run.parent)
    assert ended.returncode == 0, ended.stderr
    return run, json.loads(ended.stdout), ended.stderr


def test_a_study_file_alone_is_planned_run_and_reported(
    reported: tuple[Path, dict[str, Any], str],
) -> None:
    run, found, said = reported

    assert "13 arms on 24 cases" in said
    assert len(found["arms"]) == 13
    assert found["planned"]["calls"] <= found["paid"]["calls"] <= found["planned"]["most_calls"]
    assert found["paid"]["calls"] < found["alone"]
    assert found["recommended"] in found["advice"][0]
    assert json.loads((run / "report/report.json").read_text()) == found


def test_lenses_are_worth_more_than_guesses(reported: tuple[Path, dict[str, Any], str]) -> None:
    arms = {row["arm"]: row for row in reported[1]["arms"]}

    assert arms["lens-jury"]["low"] > arms["stances-panel"]["high"]
    assert {arm for arm, row in arms.items() if row["front"]} >= {"lens-single", "lens-jury"}


def test_a_calibrated_arm_asks_what_the_other_asks_and_scores_otherwise(
    reported: tuple[Path, dict[str, Any], str],
) -> None:
    arms = {row["arm"]: row for row in reported[1]["arms"]}
    plain, calibrated = arms["lens-jury"], arms["lens-jury-isotonic"]

    assert plain["calls"] == calibrated["calls"]
    assert plain["score"] != calibrated["score"]


def test_the_page_stands_alone_and_its_numbers_are_those_of_the_json(
    reported: tuple[Path, dict[str, Any], str],
) -> None:
    run, found, _ = reported
    page = (run / "report/report.html").read_text()
    assert " was judged by " in page
    with (run / "report/tables/arms.csv").open() as handle:
        rows = list(csv.DictReader(handle))

    assert "<script" not in page
    assert not re.search(r"(?:src|href)=\"[^#]", page)
    assert page.count("<svg") == 3
    first, _, appendix = page.partition("<main")[2].partition("Appendix: the details")
    assert re.findall(r"<h2>(.*?)</h2>", first) == ["What to use", "What agreement costs", "Who judged"]
    assert 1 < appendix.count('<details class="chapter">') == page.count('<details class="chapter">') <= 6
    for row, told in zip(found["arms"], rows, strict=True):
        assert f'<data value="{row["score"]!r}">' in page
        assert float(told["score"]) == row["score"]
    for sentence in found["advice"]:
        assert sentence.replace("&", "&amp;").split(" (")[0] in page


def test_what_its_juries_are_worth_in_independent_votes_is_said_for_the_cases_held_out(
    reported: tuple[Path, dict[str, Any], str],
) -> None:
    run, found, _ = reported
    section = found["sections"]["independence"]
    rows = section["tables"]["rounds"]

    assert section["title"] == TITLE and TITLE in (run / "report/report.html").read_text()
    # A calibrated arm's votes are those of the arm that it calibrates.
    juries = {row["arm"] for row in found["arms"] if row["seats"] > 1}
    assert {row["arm"] for row in rows} == juries - {"lens-jury-isotonic"}
    held_out = found["test"] or found["selection"]
    assert all(row["cases"] <= len(held_out) for row in rows)
    assert all({"kish", "eigenvalues", "independent", "right_to_wrong"} <= set(row) for row in rows)
    assert (run / "report/tables/independence_rounds.csv").exists()
    with InspectorServer(run) as server:
        text = server.ask("study").text
    assert TITLE in text
    assert text.count("<p>Agreement is the mean credit") == 1, "what two parts share is said once"


def test_a_report_can_be_made_again_from_the_run_alone(
    reported: tuple[Path, dict[str, Any], str], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "moved"
    shutil.copytree(reported[0], elsewhere)
    made = report_on(elsewhere, tmp_path / "out", resamples=20)

    assert made.document == reported[1]
    assert (tmp_path / "out/report.html").read_text() == (reported[0] / "report/report.html").read_text()


def test_the_inspector_shows_the_report_under_its_own_policy(
    reported: tuple[Path, dict[str, Any], str],
) -> None:
    with InspectorServer(reported[0]) as served:
        overview, shown = served.ask(), served.ask("study")
        figures = re.findall(r'<img src="\./(study-figure\?name=\w+\.svg)"', shown.text)
        drawn = [served.ask(address) for address in figures]
        refused = [
            served.ask(f"study-figure?name={name}") for name in ("../study.json", "..%2freport.json", "")
        ]

    assert 'href="./study"' in overview.text
    assert reported[1]["advice"][0].split(" (")[0] in shown.text
    assert "lens-jury-isotonic" in shown.text
    assert not re.search(r"\s(on\w+|style)=", shown.text)
    assert len(figures) == 3
    assert all(each.status == 200 and each.headers["Content-Type"].startswith("image/svg") for each in drawn)
    assert all("default-src 'none'" in each.headers["Content-Security-Policy"] for each in (shown, *drawn))
    assert [each.status for each in refused] == [404, 404, 404]


def test_page_and_inspector_call_tables_and_columns_alike(
    reported: tuple[Path, dict[str, Any], str],
) -> None:
    run, found, _ = reported
    page = (run / "report/report.html").read_text()
    with InspectorServer(run) as served:
        shown = served.ask("study").text
    assert 1 < shown.count('<details class="chapter">') <= 6
    tables = {"arms": found["arms"], **found["tables"]}

    for name, rows in tables.items():
        table = table_description(name)
        assert table is not None and set(table.heads) <= set(rows[0]), name
        assert escape(table.caption) in shown
    for name in ("arms", "noise", "jurors"):
        assert escape(TABLES[name].caption) in page
    for head in TABLES["arms"].heads.values():
        cell = f'<th scope="col">{head}</th>'
        assert (cell in page) == (cell in shown)


def test_a_run_without_a_report_says_how_to_make_one_and_one_without_a_study_shows_none(
    reported: tuple[Path, dict[str, Any], str], tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(reported[0], bare)
    shutil.rmtree(bare / "report")
    with InspectorServer(bare) as served:
        assert "Make one with venire study report RUN" in served.ask("study").text
        (bare / "report").mkdir()
        (bare / "report/report.json").write_text('{"arms": [1, {"arm": "<b>"}], "advice": 3, "figures": []}')
        assert "&lt;b&gt;" in served.ask("study").text
        (bare / "study.json").unlink()
        assert served.ask("study").status == 404
        assert 'href="./study"' not in served.ask().text


def test_a_report_of_what_was_never_run_says_so(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path / "study.yaml")
    with pytest.raises(VenireError, match="the study has no run"):
        report_on(tmp_path / "study.yaml", resamples=10)
    with pytest.raises(VenireError, match="no study was run in this folder"):
        report_on(tmp_path, resamples=10)


def test_recorded_jurors_need_no_model_and_no_run(tmp_path: Path) -> None:
    with (ROOT / "evals/demo/labels.csv").open() as handle:
        labels = list(csv.DictReader(handle))
    rows = [("case", "juror", "attribute", "value")]
    for row in labels:
        value, top = int(row["value"]), 1 if row["attribute"] == "stigmatizing" else 5
        rows += [
            (row["case"], "good", row["attribute"], str(value)),
            (row["case"], "fair", row["attribute"], str(value if int(row["case"][-1]) % 3 else top)),
            (row["case"], "lazy", row["attribute"], str(top)),
        ]
    (tmp_path / "judgements.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    study = {
        "name": "recorded",
        "judgements": "judgements.csv",
        "rubric": "clinical-note",
        "ratings": str(ROOT / "evals/demo/labels.csv"),
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    plan = plan_json(plan_study(tmp_path / "study.yaml"))
    found = report_on(tmp_path / "study.yaml", resamples=20).document

    assert plan["total"]["calls"] == 0
    assert plan["jurors"] == ["good", "fair", "lazy"]
    assert found["recommended"] == "good"
    assert (tmp_path / "study-run/report.html").is_file()
