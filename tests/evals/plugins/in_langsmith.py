"""Experiments inside LangSmith and a simulation inside openevals, read back from their results: a program of the environment of hosts."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

from langsmith import Client, aevaluate, evaluate, schemas
from langsmith.evaluation import evaluate_comparative
from openevals.simulators import run_multiturn_simulation
from plugin_hosts import CANARY, EXAMPLES, opposite_juries, run_example

from venire import load_rubric
from venire.evals.plugins.langsmith import JuryEvaluator, jury_preferences

SILENT = Client(api_url="http://127.0.0.1:9", tracing_sampling_rate=0.0)
"""Sends no trace, as `aevaluate` does by itself even where results are not uploaded."""


def results(experiment: Any) -> list[dict[str, Any]]:
    """Every score or value and its comment by key, of each row."""
    return [
        {one.key: [one.value if one.score is None else one.score, one.comment] for one in row["evaluation_results"]["results"]}
        for row in experiment
    ]  # fmt: skip


def judged(juries: list[Any], *outputs: Any) -> list[dict[str, Any]]:
    data = [
        schemas.Example(id=uuid4(), inputs={"n": n}, outputs={"good": CANARY}) for n in range(len(outputs))
    ]
    return results(
        evaluate(lambda inputs: outputs[inputs["n"]], data, evaluators=juries, upload_results=False)
    )


async def awaited(jury: JuryEvaluator) -> list[dict[str, Any]]:
    async def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"text": f"Awaited text {inputs['n']}."}

    data = [schemas.Example(id=uuid4(), inputs={"n": n}) for n in range(2)]
    found = await aevaluate(target, data, evaluators=[jury.acall], upload_results=False, client=SILENT)
    return results([row async for row in found])


AT = dict.fromkeys(("created_at", "modified_at", "start_time"), "2026-01-01") | {"tenant_id": str(uuid4())}
DATASET, *EXPERIMENTS = (str(uuid4()) for _ in range(3))
ROWS = [{**AT, "id": str(uuid4()), "dataset_id": DATASET, "inputs": {"q": n}} for n in range(5)]
ANSWERS = (
    ["Longer words.", "No.", "The same.", "The wrist.", " "],
    ["Brief.", "Not so.", "The same.", "A wrist.", ""],
)
SENT: list[dict[str, Any]] = []
"""The feedback that LangSmith sent."""


class Experiments(BaseHTTPRequestHandler):
    """What of LangSmith's service a comparison asks for: two experiments over one dataset, whose answers are `ANSWERS`."""

    def do_GET(self) -> None:
        project = {**AT, "id": self.path[10:46], "name": "e", "reference_dataset_id": DATASET}
        self._answer(ROWS if "/examples" in self.path else project if "/sessions/" in self.path else {})

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/runs/query":
            (experiment,) = sent["session"]
            answers = ANSWERS[EXPERIMENTS.index(experiment)]
            shared = {
                **AT,
                "name": "r",
                "run_type": "chain",
                "inputs": {},
                "trace_id": str(uuid4()),
                "session_id": experiment,
            }
            runs = [
                {
                    **shared,
                    "id": str(uuid4()),
                    "outputs": {"answer": text},
                    "reference_example_id": example["id"],
                }
                for text, example in zip(answers, ROWS, strict=True)
            ]
            self._answer({"runs": runs, "cursors": {}})
        else:
            SENT.extend([sent] if self.path == "/feedback" else [])
            self._answer({**AT, **sent})

    def _answer(self, document: Any) -> None:
        words = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is told to anybody."""


def compared(**local: str) -> dict[str, Any]:
    """The scores that LangSmith sent for each question of a comparison, the first experiment's first."""
    service = ThreadingHTTPServer(("127.0.0.1", 0), Experiments)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    client = Client(api_url=f"http://127.0.0.1:{service.server_port}", api_key="k", auto_batch_tracing=False)
    juries = jury_preferences("preference", EXAMPLES / "jury.yaml", prefix="jury.", **local)
    found = evaluate_comparative(tuple(EXPERIMENTS), evaluators=juries, client=client)
    results = {
        row["example"].inputs["q"]: row["evaluation_results"]["feedback.jury.preference"] for row in found
    }
    service.shutdown()
    return {
        "scores": [list(results[n].scores.values()) for n in range(5)],
        "comments": [results[n].comment for n in range(5)],
        "sent": sorted(one.get("score", -1) for one in SENT),
    }


def main(url: str) -> None:
    local = {"model": "server/juror", "base_url": url}
    rubric, seats = load_rubric(EXAMPLES / "rubric.yaml"), EXAMPLES / "jury.yaml"
    shown = rubric.model_copy(update={"reference": "shown"})
    jury = JuryEvaluator(rubric, seats, **local)
    both = [
        JuryEvaluator(rubric, seats, record="run", prefix="jury.", **local),
        JuryEvaluator(rubric, "single", record="run", prefix="single.", **local),
    ]
    talk = run_multiturn_simulation(
        app=lambda message, **_: {"role": "assistant", "content": "Rest the ankle."},
        user=["What shall I do?"], max_turns=1, trajectory_evaluators=[jury], thread_id="1",
    )  # fmt: skip
    print(json.dumps({
        "example": results(run_example("langsmith")["found"]),
        "hidden": judged([jury], "A hidden reference."),
        "shown": judged([JuryEvaluator(shown, seats, **local)], "A shown reference."),
        "odd": judged([jury], {"answer": "Fever.", "score": 1}, "   ", 7),
        "record": [judged(both, "Kept, with fever.", "Kept, of the wrist.") for _ in range(2)],
        "opposite": judged(opposite_juries(JuryEvaluator, url), "One text."),
        "compared": compared(**local),
        "awaited": asyncio.run(awaited(jury)),
        "talk": {one["key"]: [one["score"], one["value"]] for one in talk["evaluator_results"]},
    }))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
