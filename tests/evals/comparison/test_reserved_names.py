"""Rubrics that call an attribute or a composite `overall`, which in tables means all attributes together."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import venire
from recorded_run import RUBRIC, recorded_run

from venire.evals.ratings.evidence import gather, without_reserved_names
from venire.evals.ratings.people import load_ratings
from venire.orchestration.record import Store

OVERALL = (
    RUBRIC.replace("name: accurate", "name: overall")
    + """  - {name: brief, question: Is it brief?, scale: agree5, asked_if: {overall: 5}}
composites:
  both: {overall: 0.5, clear: 0.5}
"""
)


def run_with_an_overall(folder: Path) -> Path:
    recorded_run(folder, cases=24)
    for name in ("judgements.csv", "labels.csv"):
        (folder / name).write_text((folder / name).read_text().replace(",accurate,", ",overall,"))
    (folder / "rubric.yaml").write_text(OVERALL)
    made = venire(
        "run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "named", "--quiet", cwd=folder
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder / "named"


def test_an_attribute_called_overall_stands_beside_all_attributes_together(tmp_path: Path) -> None:
    run = run_with_an_overall(tmp_path)

    found = venire("compare", "named", "--human", "labels.csv", "--resamples", "40", "--json", cwd=tmp_path)

    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    jury = next(arm for arm, kind in document["kinds"].items() if kind == "jury")
    assert {"overall", "overall-attribute", "clear"} <= set(document["arms"][jury])
    together, alone = (document["arms"][jury][name]["mae"]["n"] for name in ("overall", "overall-attribute"))
    assert together == 2 * alone
    assert any("overall-attribute" in note for note in document["notes"])
    store = Store.read(run)
    evidence = without_reserved_names(gather(store, load_ratings(tmp_path / "labels.csv")))
    store.release()
    (rubric,) = evidence.rubrics.values()
    assert rubric.composites["both"] == {"overall-attribute": 0.5, "clear": 0.5}
    assert rubric.by_name["brief"].asked_if == {"overall-attribute": 5}


def test_a_composite_called_overall_is_calibrated_under_a_name_of_its_own(tmp_path: Path) -> None:
    recorded_run(tmp_path, cases=24)
    (tmp_path / "rubric.yaml").write_text(RUBRIC + "composites:\n  overall: {accurate: 0.5, clear: 0.5}\n")
    made = venire(
        "run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "named", "--quiet", cwd=tmp_path
    )  # fmt: skip
    assert made.returncode == 0, made.stderr

    found = venire("calibrate", "named", "--human", "labels.csv", "--resamples", "40", cwd=tmp_path)

    assert found.returncode == 0, found.stderr
    assert "overall-composite" in found.stdout
