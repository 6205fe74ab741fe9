"""A deliberation in progress, looked at in the inspector while a slow server answers."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from command_line import Started
from inspector_server import InspectorServer
from openai_server import Call, ProviderServer, filled
from real_browser import real_browser

RUBRIC = """\
name: notes
version: 1
scales: {agree5: {level: ordinal, anchors: {1: No, 2: Hardly, 3: Partly, 4: Mostly, 5: Yes}}}
attributes: [{name: accurate, question: Is it true?, scale: agree5}]
"""
JURY = """\
name: bench
protocol: orchestrated
limits: {{max_rounds: 2}}
seats: [{{name: high, model: server/high, base_url: {url}}}, {{name: low, model: server/low, base_url: {url}}}]
orchestrator: {{model: server/boss, base_url: {url}}}
"""
FIRST_HEADS = """() => Array.from(document.querySelectorAll("h1, h2"), (head) => head.innerText).slice(0, 2).join() === "run,In progress" """
"""The page loads itself anew while it is read: what is looked for is looked for again."""
BLIND = 2
"""Calls of the first round; the orchestrator's is held after them."""


def answer(call: Call) -> Any:
    if call.model == "boss":
        return {
            "disputes": [
                {"attribute": "accurate", "dispute": "The dose.", "question": "Which dose?", "to": ["high"]}
            ]
        }
    assert call.schema is not None
    return filled(call.schema, lambda _: 5 if call.model == "high" else 2, rationale="Because of the dose.")


def test_a_deliberation_is_seen_as_it_goes_and_then_as_it_ended(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(json.dumps({"id": "dose", "output": "5 mg daily"}) + "\n")
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    models = ("high", "low", "boss")
    with ProviderServer(answer, hold_from=BLIND + 1, models=models) as server:
        (tmp_path / "jury.yaml").write_text(JURY.format(url=server.url))
        command = [
            "run",
            "cases.jsonl",
            "--rubric",
            "rubric.yaml",
            "--jury",
            "jury.yaml",
            "-o",
            "run",
            "--quiet",
        ]
        running = Started(*command, cwd=tmp_path)
        try:
            while not (tmp_path / "run").exists() or len(server.calls) <= BLIND:
                assert running.poll() is None
                time.sleep(0.1)
            with InspectorServer(tmp_path / "run") as inspector, real_browser() as browser:
                page = browser.new_page(viewport={"width": 390, "height": 844})
                wrong: list[str] = []
                page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
                page.goto(inspector.url)
                assert "still running: 0 of 1 finished" in page.locator("#reach").inner_text()
                page.wait_for_function(FIRST_HEADS, timeout=60_000)
                page.locator(".progress a", has_text="dose").click(timeout=60_000)
                told = page.locator(".progress-told", has_text="2 juror turns").inner_text()
                votes = page.locator("table tbody tr").first.inner_text().split()
                server.release()
                page.wait_for_selector("main.case", timeout=60_000)
                page.wait_for_load_state()
                ended = page.inner_text("main")
            assert running.wait(60) == 0
        finally:
            running.kill()
            running.wait()

    assert "round 1, 2 juror turns" in told
    assert votes == ["accurate", "5", "2"]
    assert "stopped" in ended and "2 rounds" in ended
    assert wrong == []
