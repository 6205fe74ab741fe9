"""A deliberation in the terminal: what deserves a look is said first, and nothing a model wrote steers the screen."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import venire
from planted_run import JURORS, ORDERLY, SCRIPTS, ballot_line, planted_case, planted_run
from rich.console import Console
from written_transcripts import written_run

from venire import Case, Rubric, VenireError
from venire.orchestration.reading.terminal import _known_case, show_case, show_summary
from venire.rubrics.ratings import Rating

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m \u202egnp.exe\u2066 [bold red]loud[/] [link=file:///etc/passwd]x[/link]"


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("premature", "! premature-consensus organized: all 3 jurors gave 5 at once"),
        ("premature", "! contradicted organized: all 3 jurors gave 5 at once; single gave 3"),
        (
            "persuaded",
            "! moved-towards accurate: high moved towards low after reading it: 5 to 2, with new evidence",
        ),
        ("fabricated", "! unsupported-evidence accurate: low quoted words that are not in the case"),
    ],
)
def test_each_planted_moment_is_said_before_the_deliberation(tmp_path: Path, case: str, told: str) -> None:
    planted_run(tmp_path)

    ended = venire("show", "run", case, "--arm", "stances", cwd=tmp_path)

    words = " ".join(ended.stdout.split())
    assert told in words
    assert words.index(told) < words.index("round 1")


def test_a_case_is_shown_by_the_arm_that_was_asked_for_or_by_all(tmp_path: Path) -> None:
    run = planted_run(tmp_path, {name: SCRIPTS[name] for name in ("calm", "premature")})

    for arm, arms in ((None, ["single", "stances"]), ("stances", ["stances"])):
        out = io.StringIO()
        show_case(run, "calm", arm, None, out)
        told = json.loads(out.getvalue())["cases"]
        assert sorted(each["arm"] for each in told) == arms and {each["case"] for each in told} == {"calm"}
        page, people = io.StringIO(), [Rating(case, case, "accurate", 4.0) for case in ("calm", "premature")]
        show_case(run, "CALM", arm, Console(file=page, width=200), page, people)
        # The single juror's verdict is of one vote.
        assert ("1 turn," in page.getvalue()) is (arm is None) and "3 turns," in page.getvalue()
        assert "calm says accurate 4" in page.getvalue() and "premature says" not in page.getvalue()
    with pytest.raises(VenireError, match="no arm named 'stance'"):
        show_case(run, "calm", "stance", None, io.StringIO())
    with pytest.raises(VenireError, match="no case 'clam'"):
        show_case(run, "clam", None, Console(file=io.StringIO()), io.StringIO())


@pytest.mark.parametrize(
    ("asked", "case"),
    [("ds-7", "DS-007"), ("DS-007", "DS-007"), ("DS-10", "DS-10"), ("DS-1", "DS-1"), ("DS-0", "DS-0"), ("x-3", "x-3")],
)  # fmt: skip
def test_a_case_may_be_named_without_leading_zeros_where_one_alone_fits(asked: str, case: str) -> None:
    names = ["DS-007", "DS-010", "DS-10", "DS-01", "DS-001", "DS-000", "DS-00", "X-03", "x-003"]
    store: Any = SimpleNamespace(case=lambda name: name if name in names else None, case_ids=lambda: names)
    assert _known_case(store, asked) == case


def test_an_undisturbed_deliberation_says_nothing_of_the_kind(tmp_path: Path) -> None:
    planted_run(tmp_path)

    assert "!" not in venire("show", "run", "calm", cwd=tmp_path).stdout


def test_a_change_is_marked_with_what_it_was(tmp_path: Path) -> None:
    planted_run(tmp_path)

    assert "5 -> 2" in venire("show", "run", "persuaded", "--arm", "stances", cwd=tmp_path).stdout


def test_the_summary_says_where_to_look_first(tmp_path: Path) -> None:
    planted_run(tmp_path)

    ended = venire("show", "run", "--summary", cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    after = ended.stdout.partition("read these first")[2].split()
    assert after.index("premature") < after.index("fabricated") < after.index("persuaded")
    assert after[after.index("premature") + 1 :][:4] == ["stances", "contradicted", "organized:", "all"]
    for topic in ("on which jurors differ", "harsh", "moved towards this juror", "moved to the majority"):
        assert topic in ended.stdout


def test_the_summary_counts_by_what_the_jurys_rule_learned_from_the_whole_run(
    tmp_path: Path, rubric: Rubric
) -> None:
    def both(**scores: int) -> dict[str, dict[str, int]]:
        return {juror: dict.fromkeys(rubric.names, score) for juror, score in scores.items()}

    # Of the other panel's four, b and d were outvoted on c1: over the run they weigh less, and on c2 alone as much as a and c.
    arms = {
        "other": {"c1": both(a=3, b=1, c=3, d=5, e=3), "c2": both(a=1, b=3, c=1, d=3)},
        "agreed": {"c1": both(a=3, b=2), "c2": both(a=5, b=5)},
    }
    cases = [Case(id=name, output=f"Text of {name}.") for name in ("c1", "c2")]
    run, out = written_run(tmp_path / "run", rubric, cases, arms, count="weighted"), io.StringIO()
    show_summary(run, Console(file=out, width=200))

    # On c1 a and c give the mean of the others, and b and d are 2.5 from it; on c2 all four are 4/3 from it.
    near, far = (1 + 1 - 4 / 3 / 4) / 2, (1 - 2.5 / 4 + 1 - 4 / 3 / 4) / 2
    weighed = (2 * near * 1 + 2 * far * 3) / (2 * near + 2 * far)
    assert weighed != pytest.approx(2)
    assert f"other gave {weighed:.2f}" in out.getvalue()


def test_the_summary_is_of_a_whole_run(tmp_path: Path) -> None:
    planted_run(tmp_path, {"calm": SCRIPTS["calm"]})

    assert venire("show", "run", "calm", "--summary", cwd=tmp_path).returncode == 2


def test_nothing_a_model_wrote_alters_the_terminal(tmp_path: Path) -> None:
    line = ballot_line(4, HOSTILE + "x" * 1_000_000, HOSTILE)
    script = {"seats": {name: [{"accurate": line, "organized": ORDERLY}] for name in JURORS}}
    run = planted_run(tmp_path, {"hostile": script}, {"hostile": planted_case(HOSTILE)})
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system="truecolor")

    show_case(run, HOSTILE, "stances", console, io.StringIO())
    show_summary(run, console)

    printed = out.getvalue()
    # What is left of escapes after rich's own colours were taken out must be nothing at all.
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", plain)
    assert "\x1b[31mred" not in printed
    assert "[bold red]loud[/]" in "".join(plain.split("\n")).replace("  ", "")
    assert len(printed) < 100_000
