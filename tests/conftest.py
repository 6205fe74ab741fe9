"""What most tests start from: a small rubric and a case."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from venire import Case, Rubric

SLOW = (
    "orchestration/executors/test_ray.py",
    "test_packaging.py",
    "evals/studies/test_design.py",
    "agents/clients/test_batch.py",
    "evals/comparison/test_compare.py",
    "evals/studies/test_kept_studies.py",
    "evals/plugins/test_mlflow.py",
    "evals/studies/test_run.py",
    "evals/optimising/test_optimise.py",
    "evals/plugins/test_inspect.py",
    "orchestration/record/test_crash.py",
    "agents/test_secrets.py",
    "orchestration/replay/test_replay.py",
    "orchestration/test_hostile_texts.py",
    "test_docs.py",
    "evals/service/test_serve.py",
    "rubrics/test_hostile_files.py",
    "agents/clients/test_local.py",
    "evals/studies/test_study_report.py",
    "test_action.py",
    "evals/studies/test_planted_truths.py",
    "evals/studies/test_objectives.py",
    "evals/studies/test_plan.py",
    "agents/test_budget.py",
    "agents/lenses/test_lenses.py",
    "web/test_browser.py",
    "evals/plugins/test_pytest.py",
    "evals/plugins/test_deepeval.py",
    "web/test_accessibility.py",
    "evals/rating/test_rating.py",
    "evals/rating/test_seat.py",
    "orchestration/test_odd_replies.py",
    "evals/audits/test_self_preference.py",
    "agents/embedded/test_merged_weights.py",
    "agents/embedded/test_drafting.py",
    "evals/service/test_mcp.py",
    "evals/statistics/test_oracles.py",
    "evals/ratings/test_published_data.py",
    "evals/ratings/test_split_people.py",
    "agents/clients/test_litellm_silence.py",
    "orchestration/test_faulty_provider.py",
)
"""The slowest files, the slowest first."""

# How long an example takes tells of the machine and its other work, not of what is tested.
settings.register_profile("no deadline", deadline=None, max_examples=40)
settings.load_profile("no deadline")
# Of a mutant that is killed nobody reads the smallest example, and most are killed by the first.
settings.register_profile(
    "mutants", settings.get_profile("ci"), phases=(Phase.explicit, Phase.generate), max_examples=20
)

for _proxy in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
    # Tests talk to loopback, and to nobody on the way there.
    os.environ.pop(_proxy, None)
    os.environ.pop(_proxy.upper(), None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """All tests begin with the slowest, which every worker would wait for at the end; a part of them with what answers soonest.

    Of a folder, its own files come before those of the folders within.
    """
    places = {Path(__file__).parent / name: place for place, name in enumerate(SLOW)}
    is_part = Path(__file__).parent not in (Path(argument).resolve() for argument in config.args)

    def order(item: pytest.Item) -> tuple[int, int]:
        place = places.get(item.path, len(SLOW))
        return (-place, len(item.path.parts)) if is_part else (place, 0)

    items.sort(key=order)


def pytest_collection_finish() -> None:
    # What all tests have imported is no garbage: looking at it takes a third of a second each time.
    gc.collect()
    gc.freeze()
    # Nor is it looked for after every 700 new objects: a tenth of the tests' time.
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `run`, a run with something of everything, `people.csv`, `cases.jsonl` and `rubric.yaml`: to be read only."""
    from wide_run import shared_wide_run

    base = tmp_path_factory.getbasetemp()
    return shared_wide_run((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "wide")


@pytest.fixture
def rubric() -> Rubric:
    return Rubric.model_validate(
        {
            "name": "tiny",
            "version": 1,
            "scales": {
                "agree5": {
                    "level": "ordinal",
                    "anchors": {1: "not at all", 2: "little", 3: "partly", 4: "mostly", 5: "wholly"},
                }
            },
            "attributes": [
                {"name": "accurate", "question": "Is it supported by the source?", "scale": "agree5"},
                {"name": "thorough", "question": "Is anything missing?", "scale": "agree5"},
            ],
        }
    )


@pytest.fixture
def case() -> Case:
    return Case(
        id="c1",
        source=("Seen on Monday with fever of 38.4. Started amoxicillin.", "Wednesday: fever gone."),
        output="Fever of 38.4 on Monday, treated with amoxicillin, resolved by Wednesday.",
    )
