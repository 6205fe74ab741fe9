"""A task's metrics in lm-evaluation-harness, as its own files of results and samples give them back."""

from __future__ import annotations

from pathlib import Path

import pytest
from openai_server import ProviderServer
from plugin_hosts import (
    OPPOSITES,
    VISITS,
    WHY_HUNG,
    assert_never_mixed,
    assert_reference_is_hidden_unless_shown,
    found_by,
    needs,
    own_words,
)

pytestmark = needs("lm_eval")


def test_results_have_means_of_what_was_reached(server: ProviderServer, tmp_path: Path) -> None:
    found = found_by("lm_eval", tmp_path, server, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "hf"))

    example = found["example"]
    reached = [{name: value for name, value in row.items() if value != "hung"} for row in VISITS.values()]
    assert [
        {name: value for name, value in row.items() if name not in ("why", "doc")}
        for row in example["samples"]
    ] == [row | {"judged": 1} for row in reached]
    assert example["means"]["accurate,none"] == 4
    assert example["means"]["thorough,none"] == 5
    assert example["means"]["hung,none"] == 1
    assert example["means"]["abstentions,none"] == pytest.approx(4 / 3)
    assert WHY_HUNG in example["samples"][1]["why"]["accurate"]

    assert found["hidden"]["means"]["judged,none"] == 0.5
    assert found["hidden"]["samples"][1]["why"] == {
        "blank": "The output is blank: there is nothing to judge."
    }
    jury, single, jury_again, single_again = found["record"]
    assert (jury["means"], single["means"]) == (jury_again["means"], single_again["means"])
    assert [row["why"]["usd"] for row in jury_again["samples"]] == [0, 0]
    assert len(own_words(server, "Kept, with fever.")) == 3 + 1
    (opposite,) = found["opposite"]["samples"]
    assert_never_mixed(opposite)
    assert [opposite["doc"][f"{name}.jury"]["usd"] > 0 for name in OPPOSITES] == [True] * 3
    assert WHY_HUNG.replace("1 of", "0 of") in opposite["doc"]["silent.jury"]["accurate"]
    assert_reference_is_hidden_unless_shown(server)
