"""The scorer in MLflow itself: feedback with its reasons, as its own store gives it back."""

from __future__ import annotations

import json
from pathlib import Path

from plugin_hosts import CANARY, assert_never_mixed, local_jurors, needs, run_in_hosts, seated_examples

pytestmark = needs("mlflow")


def test_the_example_leaves_feedback_in_mlflows_store(tmp_path: Path) -> None:
    with local_jurors() as server:
        seated_examples(tmp_path, server)
        ended = run_in_hosts(
            "python", Path(__file__).parent / "in_mlflow.py", server.url, cwd=tmp_path,
            MLFLOW_TRACKING_URI=f"sqlite:///{tmp_path / 'store.db'}",
        )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])

    reached = found["example"]["Fever of 38.4, amoxicillin started, better by Wednesday."]
    assert {name: one["value"] for name, one in reached.items()} == {
        "accurate": 4,
        "thorough": 5,
        "overall": 4.4,
        "hung": 0,
        "abstentions": 0,
    }
    assert {one["error"] for one in reached.values()} == {None}
    assert reached["accurate"]["rationale"] == "4 by median, 100% of 3 votes for it"
    assert reached["accurate"]["source"] == "venire/three-readers"
    assert len(reached["accurate"]["deliberation"]["ballots"]) == 6

    hung = found["example"]["Left wrist sprain, no fracture on film. Splint for a week."]
    assert (hung.pop("hung")["value"], hung.pop("abstentions")["value"]) == (2, 2)
    assert {one["value"] for one in hung.values()} == {None}
    assert {one["error"][0] for one in hung.values()} == {"HUNG"}
    assert "too few jurors voted: 1 of the 2 that are needed" in hung["accurate"]["error"][1]
    assert {told["juror"] for told in hung["accurate"]["deliberation"]["abstentions"]} == {"low", "middle"}
    # What is hung is in no average; an answer that cannot be read is sent back once.
    assert "'accurate/mean': np.float64(4.0)" in ended.stdout
    assert sum("for the patient's file" in call.prompt for call in server.calls) == 3 + (3 + 2) * 2
    part = found["example"]["Right ankle sprain from football, bears weight. Ice and rest."]
    assert (part["accurate"]["value"], part["thorough"]["value"]) == (None, 5)

    structured = next(feedback for output, feedback in found["odd"].items() if "answer" in output)
    assert structured["accurate"]["value"] == 4
    blank = found["odd"]["   "]["jury"]
    assert blank["value"] is None
    assert "output: is blank" in blank["error"][1]
    assert found["metrics"]["accurate/mean"] == 4.0

    assert_never_mixed(found["opposite"])
    assert {name.split("/")[0] for name in found["means"] if "silent" in name} == {
        "silent.hung",
        "silent.abstentions",
    }
    assert set(found["costs"]) == {"low.accurate", "high.accurate", "silent.accurate"}, (
        "each deliberation's cost stands once"
    )
    assert all(float(cost) > 0 for cost in found["costs"].values())

    prompts = {
        name: [c.prompt for c in server.calls if f"A {name} reference." in c.prompt]
        for name in ("hidden", "shown")
    }
    assert prompts["hidden"] and not any(CANARY in prompt for prompt in prompts["hidden"])
    assert prompts["shown"] and all(CANARY in prompt for prompt in prompts["shown"])
    assert not any("Left wrist sprain after a fall" in call.prompt for call in server.calls)
