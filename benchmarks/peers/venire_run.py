"""venire: `venire run` from a case file to a finished record, everything included."""

from importlib import import_module
from pathlib import Path

from job import FOLDER, IN_FLIGHT, JOB, SEATS, URL, clocked
from rich.console import Console

from venire import Jury, load_rubric
from venire.orchestration.run_session import RunSession, run_session

# venire imports a road's or a protocol's library when it is first used; nobody else's imports are timed either.
import_module("venire.agents.clients.server" if JOB["road"] == "server" else "litellm")
if JOB["protocol"] == "magentic-one":
    import_module("venire.orchestration.protocols.magentic_team")
# LiteLLM wants a key, and looks for it in the environment.
key = {} if JOB["road"] == "server" else {"api_key_env": "VENIRE_BENCHMARK_KEY"}
seats = [
    {"name": seat, "persona": f"{seat}-scoring", "model": f"{JOB['road']}/{seat}", "base_url": URL, **key}
    for seat in SEATS
]
jury = Jury.model_validate(
    {
        "name": "bench",
        "protocol": JOB["protocol"],
        "limits": {"max_rounds": JOB["max_rounds"]},
        "seats": seats,
        "orchestrator": {"model": f"{JOB['road']}/boss", "base_url": URL, **key},
    }
)
session = RunSession(
    Path(JOB["case_file"]),
    load_rubric(JOB["rubric"]),
    [jury],
    FOLDER / "run",
    in_flight=IN_FLIGHT,
    at_once=JOB["at_once"],
)
with clocked(JOB["calls"]):
    run_session(session, Console(stderr=True), quiet=False)
