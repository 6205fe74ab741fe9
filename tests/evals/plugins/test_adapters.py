"""Plug-ins stay small and apart, and ask for their host by the extra that brings it."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
from checkout import ROOT

FOLDER = ROOT / "evals" / "plugins"
HOSTS = {
    "inspect_ai": "inspect",
    "deepeval": "deepeval",
    "mlflow": "mlflow",
    "pytest": "pytest",
    "helm": "helm",
    "pydantic_evals": "pydantic-evals",
    "dspy": "dspy",
    "gepa": "dspy",
    "langfuse": "langfuse",
    "phoenix": "phoenix",
}
SHARED = {"__init__.py", "sitting.py", "judgement.py", "samples.py"}
ADAPTERS = sorted(path for path in FOLDER.glob("*.py") if path.name not in SHARED)
TABLE = ROOT / "docs" / "plugins" / "hosts.md"
PAGES = sorted(page for page in TABLE.parent.glob("*.md") if page != TABLE)
LONGEST = 170
ALIKE = ("import ", "from ", "#", '"""', "def __init__(", "self,", "rubric: Any,", "jury: Any,")
TEN_LINES = [
    "inspect", "deepeval", "mlflow", "pydantic_evals", "dspy", "langsmith", "lm_eval", "langfuse", "phoenix",
]  # fmt: skip
LONGEST_EXAMPLE = 10
"""Lines of code that a newcomer has to write, blank lines and the docstring apart."""
BLOCK = 4


WITHOUT_HOSTS = f"""
import importlib, sys
from venire import Case, VenireError, deliberate_sync, load_jury, load_rubric

for host in {list(HOSTS)}:
    sys.modules[host] = None
    try:
        importlib.import_module("venire.evals.plugins." + host)
    except VenireError as error:
        print(host, type(error).__name__, *str(error).split("\\n"), sep="|")
try:
    deliberate_sync(Case(id="a", output="b"), load_rubric("clinical-note"), load_jury("single"), model="inspect/x")
except VenireError as error:
    print("seat", type(error).__name__, *str(error).split("\\n"), sep="|")
"""


def test_without_its_host_a_plug_in_and_a_seat_on_its_models_name_the_extra() -> None:
    ended = subprocess.run([sys.executable, "-c", WITHOUT_HOSTS], capture_output=True, text=True, check=True)

    told = dict(line.split("|", 1) for line in ended.stdout.splitlines())
    for host, extra in HOSTS.items():
        assert told[host].startswith(f"MissingExtra|this plug-in needs {host}")
        assert f"pip install 'venire[{extra}]'" in told[host]
    assert "pip install 'venire[inspect]'" in told["seat"]


def test_what_plug_ins_share_imports_no_host() -> None:
    code = (
        "import sys, venire, venire.cli, venire.orchestration, venire.evals, venire.evals.plugins.sitting\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert not set(HOSTS) & set(loaded.split())


def test_the_plug_in_that_everyone_loads_loads_nothing() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules)\n"
        "import venire.evals.plugins.pytest\n"
        "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert not {"pydantic", "yaml", "aiohttp", "rich", "numpy", "asyncio"} & set(loaded.split())


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.name)
def test_an_adapter_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize(
    "pair", list(combinations(ADAPTERS, 2)), ids=lambda pair: f"{pair[0].stem}-{pair[1].stem}"
)
def test_no_two_adapters_share_a_block(pair: tuple[Path, Path]) -> None:
    first, second = (_blocks(path) for path in pair)

    assert not first & second


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_code_that_compiles_and_an_example_that_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        compile(code, str(page), "exec")
    folders = re.findall(r"examples/plugins/\w+", text)

    assert folders and all((ROOT / folder).is_dir() for folder in folders)


@pytest.mark.parametrize("host", TEN_LINES)
def test_an_example_is_ten_lines(host: str) -> None:
    folder = ROOT / "examples" / "plugins" / host
    files = [path for path in folder.iterdir() if path.suffix in (".py", ".yaml")]
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    code = len([line for line in lines if line and not line.startswith(('"""', "#"))])

    assert 0 < code <= LONGEST_EXAMPLE


def test_every_page_of_a_host_is_in_the_table() -> None:
    table = TABLE.read_text(encoding="utf-8")
    assert not [page.name for page in PAGES if f"({page.name})" not in table]


def _blocks(path: Path) -> set[tuple[str, ...]]:
    """Every run of lines that do something; imports and first arguments, which are alike by need, are not among them."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    said = [line for line in lines if len(line) > 3 and not line.startswith(ALIKE)]
    return {tuple(said[n : n + BLOCK]) for n in range(len(said) - BLOCK + 1)}
