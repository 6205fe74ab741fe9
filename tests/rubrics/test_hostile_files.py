"""Files by strangers: whatever is in one, two lines and exit status 2, within a second and 200 MB."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import pytest
from command_line import venire
from run_files import JURY, RUBRIC

from venire import VenireError, load_cases, load_jury, load_rubric
from venire.agents.clients.autogen import Component
from venire.agents.cost import load_prices
from venire.evals.calibration.saved import load_calibration
from venire.evals.ratings.preferences import load_preferences
from venire.evals.studies.study import load_study
from venire.personas.persona import load_persona
from venire.rubrics import InvalidFile
from venire.rubrics.files import nearest
from venire.rubrics.ratings import read_ratings
from venire.rubrics.yaml_files import load_yaml

MB = 2**20
SECONDS = 100
"""Of one thread, which takes one or two: a file that is read in a way that grows faster than itself takes hours."""
SHARED = ("alias bomb", "deep list", "many values")
"""What a reader of its own, beside the one that all share, would not refuse."""
Text = str | Callable[[], str]
"""A file's text; one that takes much memory is made when it is written."""
LETTERS = "abcdefghij"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in pairwise(LETTERS)
)

YAML: dict[str, tuple[Text, str]] = {
    "alias bomb": (BOMB, "aliases are written out"),
    "alias of a long text": (f'a: &a "{"x" * 900_000}"\nb: [{", ".join(["*a"] * 999)}]\n', "aliases are written out"),
    "list that contains itself": ("a: &a [*a]\n", "contains itself"),
    "mapping that contains itself": ("a: &a {b: *a}\n", "contains itself"),
    "chain of aliases": (
        "a: &a0 [1]\n" + "".join(f"b{n}: &a{n + 1} [*a{n}]\n" for n in range(3000)),
        "levels deep",
    ),
    "unknown tag": ("name: !!python/object/apply:os.system [ls]\n", "'!!python/object/apply:os.system'"),
    "local tag": ("name: !mine x\n", "'!mine'"),
    "set": ("name: !!set {a, b}\n", "'!!set'"),
    "binary": ("name: !!binary AAAA\n", "'!!binary'"),
    "list key": ("? [a, b]\n: c\n", "a key is a list"),
    "mapping key": ("{{a: b}: c}\n", "a key is a list or a mapping"),
    "merge loop": ("a: &a {<<: *a}\n", "merge key"),
    "merge": ("a: &a {b: 1}\nc: {<<: *a}\n", "merge key"),
    "bad int": ("version: !!int abc\n", "!!int"),
    "empty int": ('version: !!int ""\n', "!!int"),
    "bad bool": ("name: !!bool maybe\n", "!!bool"),
    "bad float": ("name: !!float x\n", "!!float"),
    "deep list": (f"a: {'[' * 100_000}", "levels deep"),
    "deep mapping": (f"a: {'{a: ' * 100_000}", "levels deep"),
    "deep block": ("- " * 100_000, "levels deep"),
    "long integer": (f"version: {'9' * 5000}\n", "more than 40 digits"),
    "long hexadecimal integer": (f"version: !!int 0x{'f' * 5000}\n", "more than 40 digits"),
    "many values": (f"a: [{'1,' * 400_000}]\n", "more than 20,000 values"),
    "many unknown keys": ("".join(f"k{n}: 1\n" for n in range(9000)), "unknown key 'k0'"),
    "many wrong items": (f"name: a\nattributes: [{'1,' * 15_000}]\n", "more mistakes after this one"),
    "bell": ("name: \a\n", "not valid YAML"),
    "100 MB line": (lambda: f"name: {'x' * 100 * MB}\n", "larger than"),
}  # fmt: skip

ROW = '{"id": "a", "output": "x", "more": '
JSONL: dict[str, tuple[Text, str]] = {
    "deep list": (ROW + "[" * 100_000 + "]" * 100_000 + "}", "levels deep"),
    "a little too deep": (ROW + '{"a": ' * 60 + "1" + "}" * 61, "levels deep"),
    "long integer": (f"{ROW}{'9' * 5000}}}", "more than 40 digits"),
    "long integer as id": (f'{{"id": {"9" * 4000}, "output": "x"}}', "more than 40 digits"),
    "half a surrogate pair": (ROW + '"\\ud800"}', "surrogate"),
    "100 MB line": (lambda: f'{ROW}"{"x" * 100 * MB}"}}', "bytes"),
    "many empty lists": (ROW + "[" + "[]," * 200_000 + "[]]}", "the id 'a' was already used"),
    "many keys": ("{" + ",".join(f'"outpu{n}": 1' for n in range(100_000)) + "}", "'id' is missing"),
}  # fmt: skip
CSV: dict[str, tuple[Text, str]] = {
    "100 MB line": (lambda: f"id,output\na,{'x' * 100 * MB}\n", "bytes"),
    "100 MB cell of many lines": (lambda: 'id,output\na,"' + f"{'x' * MB}\n" * 100 + '"\n', "bytes"),
    "many cells of many lines": (lambda: "id,output\n" + f'"{"x" * 1000}\n",' * 30_000 + "\n", "bytes"),
    "many columns": ("," * 1_000_000 + "\n", "columns"),
    "unclosed quote": ('id,output\na,"x\n' + "y\n" * (MB // 4), "not valid CSV"),
}


JSON: dict[str, Text] = {
    "deep list": "[" * 100_000,
    "deep object": '{"a":' * 100_000,
    "a little too deep": '[{"a": ' * 40 + "1" + "}]" * 40,
    "long integer": f'[{{"a": {"9" * 5000}}}]',
    "half a surrogate pair": '{"format": "\\ud800"}',
    "no number of this world": '{"made": NaN}',
    "many empty lists": "[" + "[]," * MB + "[]]",
    "100 MB line": lambda: f'{{"format": "{"x" * 100 * MB}"}}',
    "nothing": "null",
    "empty": "",
}


def made(text: Text) -> str:
    return text if isinstance(text, str) else text()


def load_component(path: Path) -> object:
    return load_yaml(path, Component)


def load_study_file(path: Path) -> object:
    return load_study(path)


OTHERS = (load_jury, load_persona, load_prices, load_component, load_study_file)


@pytest.mark.parametrize(
    ("load", "name"), [*((load_rubric, name) for name in YAML), *product(OTHERS, SHARED)]
)
def test_hostile_yaml_is_refused_in_two_lines_soon(
    tmp_path: Path, name: str, load: Callable[[Path], object]
) -> None:
    text, problem = YAML[name]
    path = tmp_path / "hostile.yaml"
    path.write_text(made(text))
    begun = time.thread_time()

    with pytest.raises(VenireError) as caught:
        load(path)

    assert time.thread_time() - begun < SECONDS
    said = str(caught.value)
    if load is load_rubric:
        assert problem in said
    if load is not load_study_file or "mistakes found, and nothing was spent" not in said:
        assert len(said.splitlines()) == 2
        assert len(said) < 1000
    # A study tells all that is wrong at once, as far as a person would read it.
    assert len(said.splitlines()) < 70


@pytest.mark.parametrize("name", JSON)
@pytest.mark.parametrize("load", [load_calibration, load_preferences])
def test_hostile_json_is_refused_in_two_lines_soon(
    tmp_path: Path, name: str, load: Callable[[Path], object]
) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(made(JSON[name]))
    begun = time.thread_time()

    with pytest.raises(InvalidFile) as caught:
        load(path)

    assert time.thread_time() - begun < SECONDS
    assert len(str(caught.value).splitlines()) == 2
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("suffix", "name"), [(kind, n) for kind, all in (("jsonl", JSONL), ("csv", CSV)) for n in all]
)
def test_hostile_rows_are_refused_in_two_lines_soon(tmp_path: Path, suffix: str, name: str) -> None:
    text, problem = (JSONL if suffix == "jsonl" else CSV)[name]
    path = tmp_path / f"hostile.{suffix}"
    path.write_text(made(text) + (f"\n{ROW}1}}\n" if suffix == "jsonl" else ""))
    begun = time.thread_time()

    with pytest.raises(InvalidFile) as caught:
        list(load_cases(path))
    with pytest.raises(InvalidFile):
        list(read_ratings(path))

    assert time.thread_time() - begun < SECONDS
    assert problem in caught.value.problem
    assert len(str(caught.value).splitlines()) == 2


LOADED = """
import resource, sys
from pathlib import Path
from venire import VenireError, load_cases, load_rubric
from venire.evals.calibration.saved import load_calibration
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
loads = {".yaml": load_rubric, ".json": load_calibration}
for name in sys.argv[1:]:
    path = Path(name)
    try:
        loads[path.suffix](path) if path.suffix in loads else list(load_cases(path))
    except VenireError:
        continue
    raise SystemExit(f"{name} was read")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_hostile_files_take_no_more_than_200_mb(tmp_path: Path) -> None:
    names = []
    json_files = {name: (text, "") for name, text in JSON.items()}
    kinds = (("yaml", YAML), ("json", json_files), ("jsonl", JSONL), ("csv", CSV))
    for suffix, files in kinds:
        for number, (text, _) in enumerate(files.values()):
            if len(whole := made(text)) > MB // 4:
                names.append(tmp_path / f"{number}.{suffix}")
                names[-1].write_text(whole + (f"\n{ROW}1}}\n" if suffix == "jsonl" else ""))
    ended = subprocess.run(
        [sys.executable, "-c", LOADED, *map(str, names)], capture_output=True, text=True, check=True
    )

    assert int(ended.stdout) < 200


@pytest.mark.parametrize(
    "ratings",
    [
        '{"case": "a", "rater": "r", "attribute": "x", "value": 1, "round": Infinity}',
        '{"case": "a", "rater": "r", "attribute": "x", "value": 1e999}',
        '{"case": "a", "rater": "r", "attribute": "x", "value": [1]}',
    ],
)
def test_a_rating_that_is_no_number_of_this_world(tmp_path: Path, ratings: str) -> None:
    path = tmp_path / "ratings.jsonl"
    path.write_text(ratings + "\n")

    with pytest.raises(InvalidFile):
        list(read_ratings(path))


def test_the_command_line_says_it_in_two_lines_whatever_the_file_holds(tmp_path: Path) -> None:
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    (tmp_path / "jury.yaml").write_text(JURY)
    (tmp_path / "keys.yaml").write_text('"a\\nb\\e[31m": {"c\\nd": 1}\n' + RUBRIC)
    (tmp_path / "long.yaml").write_text(f"{'k' * 500_000}: 1\n{RUBRIC}")
    (tmp_path / "ids.jsonl").write_text(json.dumps({"id": "\x1b[2J\n\x9b1m", "output": ""}) + "\n")
    (tmp_path / "device.yaml").symlink_to("/dev/zero")
    commands = [
        *(["rubrics", "check", f"{name}.yaml"] for name in ("keys", "long", "device")),
        ["run", "ids.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "out"],
        ["rubrics", "show", "\x1b[31m"],
        ["agreement", "x" * 5000],
    ]
    for command in commands:
        ended = venire(*command, cwd=tmp_path)

        assert ended.returncode == 2, command
        assert len(ended.stderr.splitlines()) == 2, ended.stderr
        assert len(ended.stderr) < 5000
        assert not set(ended.stderr) & {"\x1b", "\x9b", "\r"}


def test_only_a_few_of_many_known_names_are_listed() -> None:
    assert nearest("zzz", [f"case-{n}" for n in range(100_000)]).endswith("case-29 and 99,970 more")


def test_aliases_that_stay_small_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rubric.yaml"
    path.write_text(RUBRIC)
    plain = load_rubric(path)
    path.write_text(RUBRIC.replace("name: mine", "name: &name mine") + "description: *name\n")

    assert load_rubric(path) == plain.model_copy(update={"description": "mine"})
