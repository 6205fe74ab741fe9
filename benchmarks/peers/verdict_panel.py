"""Verdict: a layer of three judges for every case, each answer checked by instructor, its own log kept."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from job import FOLDER, IN_FLIGHT, JOB, SEATS, URL, clocked  # Verdict logs beside the working directory
from verdict import (
    Layer,
    Pipeline,
    config,
)
from verdict.core.primitive import Unit
from verdict.model import vLLMModel
from verdict.schema import Schema

config.state.rate_limiter_disabled = True
assert FOLDER.exists()


def judge(seat: str) -> Unit:
    """One juror, who gives a reason and a score for each attribute."""
    parts = {}
    for name in JOB["attributes"]:
        parts[f"{name}_rationale"] = str
        parts[f"{name}_score"] = int

    class Juror(Unit):
        ResponseSchema = Schema.infer(**parts)

    told = f"@system\n{JOB['system']}\n@user\n{{source.brief}}"
    return Juror(name=seat).prompt(told).via(vLLMModel(seat, URL, "none"), retries=1)


cases = [Schema.of(brief=case["brief"] + JOB["tails"][SEATS[0]]) for case in JOB["cases"]]
pipeline = Pipeline("bench") >> Layer([judge(seat) for seat in SEATS])
with clocked(JOB["calls"]):
    pipeline.run_from_list(cases, max_workers=IN_FLIGHT)
