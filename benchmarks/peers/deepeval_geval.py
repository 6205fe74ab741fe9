"""DeepEval: one `GEval` measure for every juror call, its steps given, so that each costs one call."""

import os

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
os.environ["DEEPEVAL_DISABLE_DOTENV"] = "1"
os.environ["DEEPEVAL_UPDATE_WARNING_OPT_IN"] = "0"
os.environ["ERROR_REPORTING"] = "NO"

import asyncio

from deepeval.metrics import GEval
from deepeval.models import LocalModel
from deepeval.test_case import LLMTestCase, LLMTestCaseParams
from job import IN_FLIGHT, JOB, SEATS, URL, at_once, clocked, questions


async def main() -> None:
    models = {seat: LocalModel(model=seat, base_url=URL, api_key="none") for seat in SEATS}

    async def call(question: tuple[str, str, str]) -> None:
        seat, system, user = question
        metric = GEval(
            name="quality",
            evaluation_steps=[system],
            evaluation_params=[LLMTestCaseParams.INPUT, LLMTestCaseParams.ACTUAL_OUTPUT],
            model=models[seat],
            async_mode=True,
        )
        await metric.a_measure(LLMTestCase(input=user, actual_output="As above."), _show_indicator=False)
        assert metric.score is not None

    with clocked(JOB["calls"]):
        await at_once(call, questions(), IN_FLIGHT)


asyncio.run(main())
