"""A deliberation in the terminal: what deserves a look is said first, and nothing a model wrote steers the screen."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from command_line import venire
from planted_run import JURORS, ORDERLY, SCRIPTS, ballot_line, planted_case, planted_run
from rich.console import Console
from written_transcripts import written_run

from venire import Case, Rubric
from venire.orchestration.reading.terminal import show_case, show_summary

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
