"""The pytest plug-in, in pytest itself: scores in its report, failures that can be read, repeats, several workers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from openai_server import ProviderServer
from plugin_hosts import CANARY, assert_reference_is_hidden_unless_shown, run_program, show_reference

from venire import Store

FAILING = """
import pytest

def test_hung(jury):
    jury("The wrist is sprained.").expect("accurate>=4", "overall>=4")

def test_too_low(jury):
    jury("Fever.", source=["Fever since Monday."]).expect("accurate>=5", "thorough>=5")

def test_misspelt(jury):
    jury("Fever.").expect("acurate>=5")

@pytest.mark.jury(rubric="no-such-rubric")
def test_unknown(jury):
    jury("Fever.")
"""


@pytest.fixture
def folder(examples: Path) -> Path:
    return examples / "pytest"


def run_tests(folder: Path, server: ProviderServer, *options: str) -> subprocess.CompletedProcess[str]:
    apart = [
        part
        for name in ("hypothesispytest", "schemathesis", "cacheprovider")
        for part in ("-p", f"no:{name}")
    ]
    apart += ["--junitxml", "report.xml"]
    jurors = ["--venire-model", "server/juror", "--venire-base-url", server.url]
    return run_program(sys.executable, "-m", "pytest", *apart, *jurors, *options, cwd=folder)


def report(folder: Path) -> dict[str, dict[str, str]]:
    """The properties of each test in pytest's own report."""
    cases = ElementTree.parse(folder / "report.xml").iter("testcase")
    return {
        case.attrib["name"]: {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
        for case in cases
    }


def test_the_example_passes_with_its_scores_in_the_report_and_each_repeat_is_heard_anew(
    folder: Path, server: ProviderServer
) -> None:
    before = len(server.calls)
    ended = run_tests(folder, server, "--venire-record", "run")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    scores = {"venire.accurate": "4", "venire.thorough": "5", "venire.overall": "4.4"}
    repeats = [f"test_the_jury_says_so_each_time[hearing{number}]" for number in (1, 2, 3)]
    assert report(folder) == dict.fromkeys(["test_the_summary_is_accurate", *repeats], scores)
    assert len(server.calls) == before + 4 * 3

    again = run_tests(folder, server, "--venire-record", "run")
    assert again.returncode == 0
    assert len(server.calls) == before + 4 * 3


MARKED = f"""
import pytest

def test_all(jury):
    jury("Fever.").expect("accurate>=4")

@pytest.mark.jury(jury="one.yaml")
def test_one(jury):
    jury("Fever.").expect("accurate>=4")

def test_hidden(jury):
    jury("A hidden reference.", reference="{CANARY}").expect("accurate>=4")

@pytest.mark.jury(rubric="shown.yaml")
def test_shown(jury):
    jury("A shown reference.", reference="{CANARY}").expect("accurate>=4")
"""


def test_a_marker_names_another_jury_or_rubric_and_all_keep_the_record_of_the_settings(
    folder: Path, server: ProviderServer
) -> None:
    (folder / "one.yaml").write_text("name: one\nprotocol: panel\nquorum: 1\nseats: [{name: a}]\n")
    show_reference(shutil.copy(folder.parent / "rubric.yaml", folder / "shown.yaml"))
    (folder / "test_two.py").write_text(MARKED)
    settings = folder / "pytest.ini"
    settings.write_text(settings.read_text() + "\nvenire_record = kept\n")
    for _ in range(2):
        ended = run_tests(folder, server, "test_two.py")
        assert ended.returncode == 0, ended.stdout + ended.stderr
    asked = [call for call in server.calls if "Fever." in call.prompt]

    assert_reference_is_hidden_unless_shown(server)
    store = Store.read(folder / "kept")
    assert sorted(arm.name for arm in store.arms()) == ["one", "three-readers"]
    store.release()
    assert len(asked) == 3 + 1


def test_it_works_in_several_workers(folder: Path, server: ProviderServer) -> None:
    ended = run_tests(folder, server, "-n", "2", "--venire-record", "run")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(report(folder)) == 4
    assert {path.name for path in (folder / "run").iterdir()} <= {"gw0", "gw1"}


def test_a_failure_can_be_read(folder: Path, server: ProviderServer) -> None:
    (folder / "test_summaries.py").write_text(FAILING)
    ended = run_tests(folder, server)

    assert ended.returncode == 1
    said = ended.stdout
    assert "accurate>=4: hung, too few jurors voted: 1 of the 2 that are needed" in said
    assert "low abstains unparsable" in said
    assert "accurate>=5: it is 4" in said
    assert "thorough>=5" not in said.partition("accurate>=5: it is 4")[2].partition("\n\n")[0]
    assert "attribute  verdict  support" in said
    assert "does not ask about 'acurate'" in said
    assert "no rubric named 'no-such-rubric'" in said
    assert "raise AssertionError" not in said
    assert report(folder)["test_hung"] == {
        "venire.accurate": "hung", "venire.thorough": "hung", "venire.overall": "hung",
    }  # fmt: skip


def test_without_settings_it_says_what_is_missing(folder: Path, server: ProviderServer) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n")
    ended = run_tests(folder, server)

    assert "set venire_rubric and venire_jury, or use the marker jury" in ended.stdout
