"""`venire compare` of a run in which models could not be reached, so that nothing was decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from openai_server import Call, Fault, ProviderServer, jury_of
from run_files import CASES, write_run


@pytest.mark.parametrize("asked", [(), ("--json",)])
def test_a_comparison_of_nothing_but_unreached_verdicts_exits_4_until_they_are_asked_again(
    tmp_path: Path, asked: tuple[str, ...]
) -> None:
    answer = jury_of({"a": 3, "b": 3, "c": 3})
    down = True

    def answered(call: Call) -> Any:
        lost = down and call.model != "a" and "Note 0" not in call.prompt
        return Fault(status=401) if lost and "Note" in call.prompt else answer(call)

    # The first case is heard alone and must be answered, or the run stops there; people did not rate it.
    rows = [f"{case['id']},{rater},accurate,{place}" for place, case in enumerate(CASES) for rater in "xy"][
        2:
    ]
    (tmp_path / "people.csv").write_text("\n".join(["case,rater,attribute,value", *rows]))
    compare = ("compare", "out", "--human", "people.csv", "--quiet", *asked)
    with ProviderServer(answered) as server:
        command = write_run(tmp_path, server.url, protocol="panel", quorum=2)
        ran = venire(*command, cwd=tmp_path)
        lacking = venire(*compare, cwd=tmp_path)
        down = False
        venire(*command, "--retry", cwd=tmp_path)
        whole = venire(*compare, cwd=tmp_path)

    assert (ran.returncode, lacking.returncode) == (4, 4), (ran.stderr, lacking.stderr)
    assert lacking.stdout == "" and len(lacking.stderr.splitlines()) == 2
    assert "all 3 verdicts that people rated are hung" in lacking.stderr
    assert "run the command that made the run again with --retry" in lacking.stderr
    assert whole.returncode == 0, whole.stderr


def test_a_run_that_stopped_before_its_first_verdict_is_not_said_to_be_about_other_cases(
    tmp_path: Path,
) -> None:
    (tmp_path / "people.csv").write_text("case,rater,attribute,value\ncase-0,x,accurate,1\n")
    with ProviderServer(lambda call: Fault(status=401)) as server:
        ran = venire(*write_run(tmp_path, server.url, protocol="panel"), cwd=tmp_path)
    compared = venire("compare", "out", "--human", "people.csv", "--quiet", cwd=tmp_path)

    assert (ran.returncode, compared.returncode) == (2, 2)
    assert "the run has no verdict yet" in compared.stderr or "no run" in compared.stderr
