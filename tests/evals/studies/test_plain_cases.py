"""A study of cases without a group, and of so little that some of its tables have no row."""

from __future__ import annotations

import json
from pathlib import Path

from openai_server import ProviderServer
from study_files import CASES, report_on, run_quietly, steady_ballot, study_file


def test_cases_without_a_group_are_studied_to_the_end_and_empty_tables_keep_their_header(
    tmp_path: Path,
) -> None:
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    (tmp_path / "cases.jsonl").write_text(
        "\n".join(json.dumps({key: value for key, value in case.items() if key != "group"}) for case in cases)
    )
    with ProviderServer(steady_ballot) as server:
        seats = [
            {"name": name, "model": f"server/{name}", "base_url": server.url} for name in ("a", "b", "c")
        ]
        arms = [
            {"jury": {"name": "panel", "protocol": "panel", "seats": seats}},
            {"jury": {"name": "one", "protocol": "panel", "seats": seats[:1]}},
        ]
        file = study_file(tmp_path, cases="cases.jsonl", arms=arms)
        run_quietly(file)
    found = report_on(file, resamples=100).document

    assert {row["arm"]: row["kind"] for row in found["arms"]} == {"panel": "jury", "one": "single judge"}
    assert any(name.startswith("jurors-") for name in found["tables"])
    tables = tmp_path / "study-run" / "report" / "tables"
    assert (tables / "trials.csv").read_text().startswith("number,arm,")
    assert all(table.read_text().strip() for table in tables.glob("*.csv"))
