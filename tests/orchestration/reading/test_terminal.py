"""A deliberation in the terminal: what deserves a look is said first, and nothing a model wrote steers the screen."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import venire
from planted_run import JURORS, ORDERLY, SCRIPTS, ballot_line, planted_case, planted_run
from rich.console import Console
from written_transcripts import abstained, cast, transcript_of, written_run

from venire import Case, Rubric, Store, VenireError, Verdict, load_rubric
from venire.agents.cost import Receipt
from venire.agents.orchestrator import Dispute, Finding
from venire.orchestration.reading import scores
from venire.orchestration.reading import show as show_module
from venire.orchestration.reading.scores import report
from venire.orchestration.reading.terminal import _known_case, show_case, show_summary
from venire.orchestration.record import Arm
from venire.orchestration.transcript import Decided, Ledger, Stop
from venire.orchestration.verdict import Dissent, Outcome
from venire.rubrics.ratings import Rating

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m \u202egnp.exe\u2066 [bold red]loud[/] [link=file:///etc/passwd]x[/link]"


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("premature", "! premature-consensus organized: all 3 jurors gave 5 in their first vote"),
        ("premature", "! contradicted organized: all 3 jurors gave 5 in their first vote; single gave 3"),
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


def lines_of(run: Path, **options: bool) -> list[list[str]]:
    """The words of each line that a run ends with."""
    out = io.StringIO()
    report(run, Console(file=out, width=200), out, **options)
    return [line.split() for line in out.getvalue().splitlines()]


def test_a_run_ends_with_its_scores_by_arm_and_system_its_arms_and_what_was_not_reached(
    tmp_path: Path, rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [Case(id=name, output=f"Text of {name}.", system=system) for name, system in (("c1", "x"), ("c2", "y"), ("c3", None))]  # fmt: skip
    arms: Any = {
        "mine": {"c1": {"a": {"accurate": 2}, "b": {"accurate": 4}}, "c2": {"a": {"accurate": 5}, "b": {"accurate": 5}}, "c3": {"a": {}, "b": {"accurate": 1}}},
        "other": {name: {"a": {"accurate": 4, "thorough": 2}} for name in ("c1", "c2", "c3")},
    }  # fmt: skip
    spent = Receipt(calls=("k",), prompt=30, completion=4, usd=0.002)
    run = written_run(tmp_path / "run", rubric, cases, arms, spent=spent)
    plain = scores.verdicts

    def reviewed(store: Store) -> Iterator[tuple[Arm, Verdict]]:
        for arm, verdict in plain(store):
            why = "unsure" if (arm.name, verdict.case) == ("other", "c2") else None
            escalated = verdict["thorough"].model_copy(update={"escalated": why})
            yield arm, verdict.model_copy(update={"outcomes": {**verdict.outcomes, "thorough": escalated}})

    monkeypatch.setattr(scores, "verdicts", reviewed)
    monkeypatch.setattr(scores, "sealed_note", lambda store: "2 cases are left out")
    told = lines_of(run)
    first = told.index(["mine"])
    assert told[first : first + 13] == [
        ["mine"], ["accurate", "3.00", "█", "█", "█", "3", "1"], ["thorough", "0", "3", "1"],
        ["x"], ["accurate", "3.00", "█", "1"], ["thorough", "0", "1"], ["y"], ["accurate", "5.00", "█", "1"], ["thorough", "0", "1"],
        ["other"], ["accurate", "4.00", "█", "3"], ["thorough", "2.00", "█", "3"], ["x"],
    ]  # fmt: skip
    assert ["mine", "3", "3", "3", "0", "1", "complete", "3", "5", "170", "$0.0100"] in told
    assert ["other", "3", "6", "0", "0", "0", "complete", "3", "3", "102", "$0.0060"] in told
    words = [" ".join(line) for line in told]
    assert [line for line in words if "rule accepts" in line] == ["other: verdicts that the jury's rule accepts without review: 0; verdicts that people must review: 1"]  # fmt: skip
    assert (
        "2 cases are left out" in words
        and words[-1] == f"to read one deliberation, run: venire show {run} c1"
    )
    assert sum("(a of mine) could not be reached for 1 case: down" in line for line in words) == 1
    assert not any("could not be reached" in " ".join(line) for line in lines_of(run, unreached=False))
    # Two systems of two arms are four.
    monkeypatch.setattr(scores, "MOST_SYSTEMS", 3)
    assert ["x"] not in lines_of(run)


def test_of_pairs_a_run_ends_with_preferences_that_have_no_mean_and_no_system(tmp_path: Path) -> None:
    rows = [{"id": f"p{n}", "output_a": "North.", "output_b": "South.", "system_a": f"s{n}", "system_b": "t"} for n in (1, 2)]  # fmt: skip
    votes = {f"p{n}": {"a": {"preference": value}} for n, value in ((1, -1), (2, 1))}
    run = written_run(tmp_path / "run", load_rubric("preference"), [Case.from_row(row) for row in rows], {"mine": votes})  # fmt: skip
    told = lines_of(run)

    assert [line for line in told if line[:1] == ["preference"]] == [["preference", "█", "█", "2"]]
    assert any(line[-2:] == ["winrate", str(run)] for line in told)


def test_who_judged_is_told_by_model_with_versions_and_temperature_and_no_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seats = {"a": ("server/x", None), "b": ("server/x", 0.5), "c": ("server/x", None), "d": ("local/home/me/w.gguf", None), "e": ("person/ann", None), "f": ("recorded/home/r.csv", None)}  # fmt: skip
    monkeypatch.setattr(show_module, "asked_seats", lambda jury: {name: SimpleNamespace(model=model, temperature=temperature) for name, (model, temperature) in seats.items()})  # fmt: skip
    arm: Any = SimpleNamespace(jury=None, manifest={"prompts": "0123456789abcdef"})
    heard = transcript_of(
        [cast("a", {"x": 1}, spent=Receipt(versions=("x-2",))), cast("b", {"x": 1}, spent=Receipt(versions=("x-1",))), cast("a#2", {"x": 1}, spent=Receipt(versions=("x-1",))),
         cast("c", {"x": 1}, spent=Receipt(versions=("y-9",), by="server/y"))],
    )  # fmt: skip

    assert show_module.versions_of(heard) == {"a": {"x-1", "x-2"}, "b": {"x-1"}}, "an alternate's is not its seat's"  # fmt: skip
    assert show_module.judges_line(arm, heard) == (
        "judged by server/x (2 versions: x-1 and x-2), temperature not set (a, c); server/x (x-1), temperature 0.5 (b); "
        "local/w.gguf, temperature 0 (d); person/ann (e); recorded/r.csv (f) · prompts 0123456789ab"
    )
    assert (
        show_module.prompts_words([arm, arm, SimpleNamespace(manifest={})]) == "prompts 0123456789ab, unknown"
    )  # type: ignore[list-item]


def told_whole(verdict: Any, *, found: Any = (), exhibits: Any = (), pair: Case | None = None) -> str:
    out = io.StringIO()
    show_module.show(verdict, Console(file=out, width=160), found, exhibits, pair)
    return " ".join(out.getvalue().split())


def reached(value: Any, method: str = "median", **fields: Any) -> Outcome:
    status = "hung" if value is None else "reached"
    return Outcome.model_validate({"status": status, "value": value, "method": method, "votes": 2, "support": None, "spread": None, **fields})  # fmt: skip


def test_a_deliberation_is_told_round_by_round_with_what_changed_who_answered_and_who_dissents() -> None:
    silent = cast("c", {"x": 3})
    silent = silent.model_copy(update={"ballot": silent.ballot.model_copy(update={"asked": ("x", "y")})})
    dispute = Dispute(attribute="x", dispute="The dose.", question="Which?", to=("a", "b"))
    heard = transcript_of(
        [cast("a", {"x": 4}, quotes={"fever": "source", "frost": None}), cast("b", {"x": 2}, abstained=("y",)), silent],
        [Ledger(round=2, disputes=(dispute,), author="orchestrator", replan=True, declared=("y",), note="A note.")],
        [cast("a", {"x": 2}, round=2, purpose="revision", moved_by="b's date", spent=Receipt(by="server/z")), cast("b", {"x": 2}, round=2, purpose="challenge"), abstained("c", "x", round=2)],
        [Decided(round=2, findings=(Finding(attribute="x", value=2, rationale="Sound.", weighed=()),))],
    )  # fmt: skip
    against = (Dissent(juror="c", value=3, reason="too short"),)
    outcomes = {"x": reached(2, "consensus", dissent=against), "w": reached(2, "mean", dissent=against), "y": reached(None, why="too few", dissent=against)}  # fmt: skip
    verdict: Any = SimpleNamespace(case="c1", arm="j", transcript=heard, outcomes=outcomes, derived={"whole": 2.5}, stop=Stop(reason="complete"))  # fmt: skip
    told = told_whole(verdict)

    assert told.count("round 1") == told.count("round 2 ") == 1 and told.index("round 1") < told.index(
        "round 2 "
    )
    assert (
        "“fever” [source] “frost” [not found in any text of the case]" in told and "no opinion on y" in told
    )
    assert "y abstains out_of_scale: 9 is not on it" in told and told.count(" -> ") == 1
    assert "orchestrator names what is disputed (asks new questions) A note. declares consensus on y x: The dose. to a, b: Which?" in told  # fmt: skip
    assert "a answers (answered by its alternate server/z) x 4 -> 2 r moved by: b's date" in told
    assert "b argues against the agreement x 2" in told and "c abstains unavailable: down" in told
    assert "orchestrator decides x: 2 (weighed no ballot) Sound." in told
    assert (
        told.count("dissent:") == 1
        and "x, dissent: c gave 3. too short" in told
        and "y is hung: too few" in told
    )
    assert "whole 2.5 derived" in told


def test_of_a_pair_sides_and_systems_are_named_and_the_order_in_which_each_saw_them() -> None:
    pair = Case.from_row({"id": "p", "output_a": "It rained.", "output_b": "It rained.", "system_a": "north", "system_b": "south"})  # fmt: skip
    heard = transcript_of([cast(name, {"preference": value}, quotes={"rained": "output A"}) for name, value in (("a", -1), ("b", 1), ("c", 0))])  # fmt: skip
    entries = tuple(entry.model_copy(update={"first": first}) for entry, first in zip(heard.entries, ("A", "both", "B"), strict=True))  # fmt: skip
    verdict: Any = SimpleNamespace(
        case="p", arm="j", transcript=heard.model_copy(update={"entries": entries}), derived={}, stop=Stop(reason="complete"),
        outcomes={"preference": reached(-1), "tone": reached(0)},
    )  # fmt: skip
    exhibits = load_rubric("preference").exhibits(pair)
    told = told_whole(verdict, exhibits=exhibits, pair=pair)

    assert "a (output A first) preference A" in told and "b (in both orders) preference B" in told and "c (output B first) preference tie" in told  # fmt: skip
    assert f"preference A ({pair.sides[0]})" in told and "tone tie median" in told
    assert "the two outputs are the same text" in told
    assert told.endswith(f"output A is by {pair.sides[0]}, output B is by {pair.sides[1]}")
    lit = [[span.style for span in text.spans if "bold green" in str(span.style)] for text in (
        cell for column in next(each for each in show_module._texts(verdict, exhibits, compared=True).renderables if hasattr(each, "columns")).columns for cell in column.cells
    )]  # fmt: skip
    assert [len(spans) for spans in lit] == [1, 0], "what was quoted of one output is lit in it alone"
