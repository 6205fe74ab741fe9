"""The GitHub Action, by running its own steps: the report, the comment and its update, the site, the failure."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkout import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
STUDY = """name: pull-request
cases: cases.jsonl
rubric: clinical-note
ratings: labels.csv
arms: [lens-single, {jury: stances, name: guess, protocol: delphi, model: scripted}]
cost: calls
split: {test: 0}
"""


class Comments:
    """The comments of a pull request, as GitHub's API keeps them."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.tokens: set[str | None] = set()
        comments = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                comments.tokens.add(self.headers["Authorization"])
                length = int(self.headers["Content-Length"] or 0)
                given: Any = json.loads(self.rfile.read(length)) if length else None
                if self.command == "POST" and self.path == "/repos/o/r/issues/7/comments":
                    comments.bodies.append(given["body"])
                elif self.command == "PATCH" and (
                    found := re.fullmatch(r"/repos/o/r/issues/comments/(\d+)", self.path)
                ):
                    comments.bodies[int(found[1])] = given["body"]
                elif self.command != "GET" or not self.path.startswith("/repos/o/r/issues/7/comments?"):
                    self.send_error(404)
                    return
                self.send_response(200)
                self.end_headers()
                listed = [{"id": at, "body": body} for at, body in enumerate(comments.bodies)]
                self.wfile.write(json.dumps(listed).encode())

            do_GET = do_POST = do_PATCH = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def github() -> Iterator[Comments]:
    comments = Comments()
    thread = threading.Thread(target=comments.server.serve_forever, daemon=True)
    thread.start()
    yield comments
    comments.server.shutdown()
    thread.join()
    comments.server.server_close()


def run_step(
    name: str, values: dict[str, str], cwd: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """A step as a runner has it: the expressions in its `env` filled in, its script in bash."""
    step = STEPS[name]
    filled = {
        key: re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda found: values[found[1]], str(value))
        for key, value in step.get("env", {}).items()
    }
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(
        shell, cwd=cwd, env=environment | filled, capture_output=True, text=True, check=False
    )


def test_the_action_reports_comments_once_and_fails_where_a_score_is_too_low(
    tmp_path: Path, github: Comments
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "study.yaml").write_text(STUDY)
    demo = ROOT / "evals/demo"
    cases = (demo / "cases.jsonl").read_text().splitlines(keepends=True)[:16]
    (project / "cases.jsonl").write_text("".join(cases))
    known = {json.loads(case)["id"] for case in cases} | {"case"}
    rows = (demo / "labels.csv").read_text().splitlines(keepends=True)
    (project / "labels.csv").write_text("".join(row for row in rows if row.split(",")[0] in known))
    environment = {
        **{key: os.environ[key] for key in ("HOME",) if key in os.environ},
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server.server_port}",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }
    values = {
        "inputs.study": "study.yaml",
        "inputs.suite": "",
        "inputs.require": "lens-single>=0.2\n\nguess>=0.99\n",
        "inputs.token": "TOKEN",
        "runner.temp": str(tmp_path),
        "github.event.pull_request.number": "7",
    }

    ended = run_step("Run and report", values, project, environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    for _ in range(2):
        commented = run_step("Comment", values, project, environment)
        assert commented.returncode == 0 and "warning" not in commented.stdout, commented.stderr
    last = run_step("Required", {"steps.run.outputs.status": outputs["status"]}, project, environment)

    assert last.returncode == 1
    [comment] = github.bodies
    assert comment.startswith("<!-- venire study.yaml -->\n### pull-request: which of")
    assert re.search(r"lens-single \| single judge \| 0\.\d\d \\\[0\.\d\d, 0\.\d\d\\\] \|", comment)
    assert re.search(
        r"\| guess \| jury \| .* \| [+-]0\.\d\d .*(helped|harmed|not shown|no difference)", comment
    )
    assert comment.rstrip().endswith("**Required and not met**: see the log.")
    assert "requirement not met: guess>=0.99" in ended.stderr and "lens-single>=" not in ended.stderr
    assert github.tokens == {"Bearer TOKEN"}
    assert (Path(outputs["site"]) / "index.html").exists() and (
        Path(outputs["report"]) / "report.html"
    ).exists()
    unwritten = run_step("Comment", values, project, environment | {"GITHUB_API_URL": "http://127.0.0.1:9"})
    assert "::warning::" in unwritten.stdout


def test_a_suite_of_recorded_outputs_is_reported_without_a_site(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps({"id": str(n), "q": "?", "target": "A"}) + "\n" for n in range(8)))  # fmt: skip
    (tmp_path / "q.md").write_text("{q}\n")
    scenario = "task: medical-research/conducting-literature-research\naccess: public\ncases: cases.jsonl\nprompt: q.md\nscore: exact\nscale: [0, 1]\n"
    (tmp_path / "easy.yaml").write_text(scenario)
    rows = [{"scenario": "easy", "case": str(n), "system": system, "output": word} for n in range(8) for system, word in (("one", "A"), ("other", "B"))]  # fmt: skip
    (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "suite.yaml").write_text("name: s\nscenarios: [easy.yaml]\nsystems: [{outputs: outputs.jsonl}]\n")  # fmt: skip
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}  # fmt: skip
    values = {"inputs.study": "", "inputs.suite": "suite.yaml", "inputs.require": "one>=0.5", "runner.temp": str(tmp_path)}  # fmt: skip

    ended = run_step("Run and report", values, tmp_path, environment)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "::warning::there is no site" in ended.stdout
    assert "status=0" in (tmp_path / "output").read_text()
    assert "| one | " in (tmp_path / "summary").read_text()


def test_an_action_without_a_file_says_so_and_no_input_is_pasted_into_a_script(tmp_path: Path) -> None:
    values = {"inputs.study": "", "inputs.suite": "", "inputs.require": "", "runner.temp": str(tmp_path)}
    ended = run_step("Run and report", values, tmp_path, {"PATH": "/usr/bin:/bin"})

    assert ended.returncode == 2 and "name a study or a suite" in ended.stdout
    assert not any("${{" in step["run"] for step in STEPS.values())
