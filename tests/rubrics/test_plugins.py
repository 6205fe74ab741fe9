"""The look-up of plug-ins: unknown names, clashes, packages that cannot be imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from command_line import venire
from installed_packages import on_the_path, put_package

from venire import Jury, VenireError, load_persona
from venire.cli import app
from venire.orchestration.counting import counting_rule
from venire.orchestration.protocols import protocol
from venire.rubrics.plugins import BrokenPlugin, Plugin, _plugins, library, plugin_fault


def shown(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.parametrize(
    ("look_up", "noun", "near", "group"),
    [
        (lambda: protocol("pannel"), "protocol named 'pannel'", "panel", "venire.protocols"),
        (lambda: counting_rule("medain"), "counting rule named 'medain'", "median", "venire.counting"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest_one_and_the_group(look_up, noun, near, group) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(VenireError, match=f"no {noun}") as error:
        look_up()

    assert error.value.remedy.startswith(f"did you mean '{near}'?")
    assert group in error.value.remedy


def test_a_jury_tells_of_an_unknown_name_in_the_same_words() -> None:
    with pytest.raises(
        ValueError,
        match=r"did you mean 'panel'\? \(installed packages can add more, with the entry point group",
    ):
        Jury.model_validate({"name": "j", "protocol": "pannel", "seats": [{"name": "a"}]})


def test_two_packages_with_one_name_are_both_named_and_other_names_still_work(tmp_path: Path) -> None:
    for package in ("ayes", "noes"):
        put_package(
            tmp_path, package, {"venire.counting": {"split": f"{package}:rule"}}, **{package: "rule = 1"}
        )
    with on_the_path(tmp_path, "ayes", "noes"):
        with pytest.raises(BrokenPlugin, match="the packages ayes and noes both register 'split'") as error:
            counting_rule("split")
        assert counting_rule("median").summary

    assert error.value.remedy == "remove one of them: pip uninstall noes"


def test_a_name_of_venires_own_cannot_be_taken(tmp_path: Path) -> None:
    put_package(tmp_path, "usurper", {"venire.protocols": {"panel": "usurper:panel"}}, usurper="panel = 1")
    with (
        on_the_path(tmp_path, "usurper"),
        pytest.raises(BrokenPlugin, match="venire and usurper both") as error,
    ):
        protocol("panel")

    assert error.value.remedy.endswith("pip uninstall usurper")


def test_a_package_that_cannot_be_imported_is_two_lines_and_only_where_it_is_wanted(tmp_path: Path) -> None:
    put_package(
        tmp_path,
        "stale",
        {"venire.protocols": {"stale": "stale:way"}},
        stale="from venire import nothing_of_the_kind",
    )
    with on_the_path(tmp_path, "stale"):
        with pytest.raises(BrokenPlugin) as error:
            protocol("stale")
        listed = shown("protocols")
        described = shown("protocols", "show", "panel")

    assert error.value.problem.startswith(
        "'stale' (venire.protocols) of the package stale cannot be imported: ImportError: cannot import name"
    )
    assert "\n" not in error.value.problem and "pip uninstall stale" in error.value.remedy
    assert (
        listed[0] == 0 and "cannot be imported" in listed[1] and "the jurors vote independently" in listed[1]
    )
    assert described[0] == 0


def test_venires_own_file_comes_before_another_packages_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, names in {"abacus": "ax", "venire": "a", "zither": "axz"}.items():
        (tmp_path / package).mkdir()
        for name in names:
            (tmp_path / package / f"{name}.yaml").touch()
    folders = {package: tmp_path / package for package in ("zither", "abacus", "venire")}
    monkeypatch.setattr("venire.rubrics.plugins.load_all", lambda group: folders)

    files = {name: path.parent.name for name, path in library("venire.rubrics").items()}
    assert files == {"a": "venire", "x": "abacus", "z": "zither"}


def test_a_library_that_cannot_be_loaded_hides_no_other(tmp_path: Path) -> None:
    put_package(
        tmp_path, "texts", {"venire.personas": {"texts": "texts:FOLDER"}}, texts="raise OSError('gone')"
    )
    with on_the_path(tmp_path, "texts"):
        assert load_persona("skeptic").name == "skeptic"
        with pytest.raises(BrokenPlugin, match="of the package texts cannot be imported: OSError: gone"):
            load_persona("midwife")
        assert "cannot be imported: OSError: gone" in shown("personas")[1]


FAILING = """
from venire.plugin import Metric, Protocol, Rule
async def run(brief, bench):
    await bench.blind_round(bench.new_transcript(brief), brief)
    raise ZeroDivisionError("of the protocol\\nand more")
words = dict.fromkeys(("summary", "speaks", "sees", "ends", "calls", "steps"), "")
protocol = Protocol(run=run, count="median", orchestrator=False, **words)
def fail(*given):
    return given[99]
rule = Rule("fails", fail)
metric = Metric("fails", "fails", fail)
async def nothing(brief, bench):
    return None
silent = Protocol(run=nothing, count="median", orchestrator=False, **words)
text = lambda settings: "words"
short = Metric("fails", "fails", lambda pairs, progress: {"fails": []})
"""


@pytest.mark.parametrize(
    ("group", "thing", "command", "problem"),
    [
        ("protocols", "protocol", ("run", "c.jsonl", "--rubric", "pdsqi-9", "--jury", "way.yaml", "-o", "r"), "failing.run failed at line 5: ZeroDivisionError: of the protocol\n"),
        ("counting", "rule", ("run", "c.jsonl", "--rubric", "pdsqi-9", "--jury", "rule.yaml", "-o", "r"), "failing.fail failed at line 9: IndexError: tuple"),
        ("metrics", "metric", ("metrics", "c.jsonl"), "failing.fail failed at line 9: IndexError: tuple"),
        ("exports", "fail", ("export", "missing", "--to", "jsonl"), None),
    ],
)  # fmt: skip
def test_a_plug_in_that_fails_is_named_in_two_lines(
    tmp_path: Path, group: str, thing: str, command: tuple[str, ...], problem: str | None
) -> None:
    """The last one does not take part in the error: it is not blamed."""
    put_package(tmp_path, "of-others", {f"venire.{group}": {"fails": f"failing:{thing}"}}, failing=FAILING)
    (tmp_path / "c.jsonl").write_text('{"id": "a", "output": "Fever.", "reference": "Fever."}\n')
    for name, part in (("way", "protocol: fails"), ("rule", "protocol: panel\ncount: fails")):
        (tmp_path / f"{name}.yaml").write_text(f"name: j\n{part}\nseats: [{{name: a, model: scripted}}]\n")
    ended = venire(*command, cwd=tmp_path)

    assert ended.returncode == 2 and "Traceback" not in ended.stderr
    if problem is None:
        assert "of-others" not in ended.stderr
    else:
        assert f"the plug-in {problem}" in ended.stderr and "pip uninstall of-others" in ended.stderr


@pytest.mark.parametrize(
    ("group", "thing", "command", "problem"),
    [
        ("protocols", "silent", ("run", "c.jsonl", "--rubric", "pdsqi-9", "--jury", "way.yaml", "-o", "r"), "the protocol 'fails' returned a NoneType instead of a Transcript"),
        ("clients", "text", ("run", "c.jsonl", "--rubric", "pdsqi-9", "--jury", "single", "--model", "fails/x", "-o", "r"), "the plug-in for 'fails/x' returned a str instead of a ModelClient"),
        ("metrics", "short", ("metrics", "c.jsonl", "--metric", "fails"), "the metric 'fails' gave 0 values instead of 1"),
    ],
)  # fmt: skip
def test_a_plug_in_that_gives_the_wrong_thing_is_named_in_two_lines(
    tmp_path: Path, group: str, thing: str, command: tuple[str, ...], problem: str
) -> None:
    put_package(tmp_path, "of-others", {f"venire.{group}": {"fails": f"failing:{thing}"}}, failing=FAILING)
    (tmp_path / "c.jsonl").write_text('{"id": "a", "output": "Fever.", "reference": "Fever."}\n')
    (tmp_path / "way.yaml").write_text("name: j\nprotocol: fails\nseats: [{name: a, model: scripted}]\n")
    ended = venire(*command, cwd=tmp_path)

    assert ended.returncode == 2 and "Traceback" not in ended.stderr, ended.stderr
    assert problem in ended.stderr


def test_an_error_without_a_plug_in_is_nobody_elses() -> None:
    try:
        {}["missing"]
    except KeyError as error:
        assert plugin_fault(error) is None


class Package:
    """What is installed, as far as its entry points go."""

    def __init__(self, name: str, *modules: str) -> None:
        self.name = name
        self.entry_points = [Point(module, self) for module in modules]


class Point:
    """An entry point that raises when it is loaded."""

    group = "venire.counting"

    def __init__(
        self, module: str, dist: Package | None, error: Exception | None = None, name: str = "x"
    ) -> None:
        self.module, self.dist, self.error, self.name = module, dist, error, name

    def load(self) -> object:
        if self.error is not None:
            raise self.error
        return self.module


@pytest.mark.parametrize(
    ("package", "error", "told"),
    [
        ("other", KeyError("of theirs"), BrokenPlugin),
        ("venire", KeyError("of ours"), KeyError),
        ("other", VenireError("it needs a key", remedy="set it"), VenireError),
    ],
)
def test_a_bug_of_ours_keeps_its_traceback_and_a_deliberate_error_its_words(
    package: str, error: Exception, told: type[Exception]
) -> None:
    point: Any = Point("m", Package(package), error)

    with pytest.raises(Exception) as raised:
        Plugin("x", "venire.counting", {package: point}).load()
    assert type(raised.value) is told
    assert (raised.value is error) == (told is not BrokenPlugin)


def test_a_package_that_stands_on_the_path_twice_is_taken_where_it_stands_first() -> None:
    points: Any = [
        Point("first", Package("p")),
        Point("second", Package("p")),
        Point("own", Package("venire")),
    ]

    plugin = _plugins("venire.counting", points)["x"]

    assert list(plugin.points) == ["venire", "p"]
    assert plugin.points["p"].load() == "first"


def test_of_several_plug_ins_the_one_that_raised_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    inner: dict[str, Any] = {"__name__": "inner.deep"}
    exec("def fall():\n    raise ValueError('at the bottom\\nand more')\n", inner)
    outer: dict[str, Any] = {"__name__": "outer", "fall": inner["fall"]}
    exec("def call():\n\n    fall()\n", outer)
    packages = [Package("the-outer", "outer"), Package("the-inner", "inner.way"), Package("venire", "venire")]
    monkeypatch.setattr("venire.rubrics.plugins.distributions", lambda: packages)

    with pytest.raises(ValueError, match="at the bottom") as raised:
        outer["call"]()
    fault = plugin_fault(raised.value)

    assert fault is not None
    assert fault.problem == "the plug-in inner.deep.fall failed at line 2: ValueError: at the bottom"
    assert "the authors of the-inner" in fault.remedy and fault.remedy.count("the-inner") == 2
