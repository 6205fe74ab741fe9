"""The house: which room may call which, where third parties and tests live, and what an import costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import networkx as nx
import pytest
from checkout import ROOT

TESTS = ROOT / "tests"
ORDER = ["rubrics", "personas", "agents", "orchestration", "evals", "web", "commands"]
ROOMS = [
    "statistics",
    "figures",
    "ratings",
    "datasets",
    "metrics",
    "agreement",
    "claims",
    "calibration",
    "inference",
    "audits",
    "comparison",
    "selection",
    "studies",
    "transcripts",
    "suites",
    "optimising",
    "training",
    "exchange",
    "pages",
    "plugins",
    "service",
]
"""The rooms of `evals/` from the ground up: each may use those before it."""
HOMES = {
    "litellm": ["agents/clients/"],
    "httptools": ["agents/clients/endpoint.py"],
    "pyarrow": ["rubrics/tables.py", "orchestration/reading/"],
    "xllamacpp": ["agents/clients/"],
    "autogen_agentchat": ["agents/clients/", "orchestration/protocols/magentic", "orchestration/autogen"],
    "autogen_core": ["agents/clients/", "orchestration/protocols/magentic", "orchestration/autogen"],
    "autogen_ext": ["agents/clients/"],
    "httpx": ["agents/clients/autogen_model.py", "agents/clients/httpx_replies.py"],
    "networkx": ["orchestration/reading/graph"],
    "ray": ["orchestration/executors/ray"],
    # A verdict gives itself as a frame, where one is asked for.
    "pandas": ["evals/", "orchestration/verdict.py"],
    "scipy": ["evals/"],
    "sklearn": ["evals/calibration/estimator.py"],
    "threadpoolctl": ["evals/", "agents/embedded/blas_threads.py"],
    "nltk": ["evals/metrics/meteor.py"],
    "tokenizers": ["evals/metrics/embeddings"],
    "safetensors": ["evals/metrics/embeddings", "evals/training/gguf_adapter.py"],
    "gguf": ["evals/training/gguf_adapter.py"],
    "resvg_py": ["evals/pages/png"],
    "optuna": ["evals/studies/search", "evals/training/setting_search.py"],
    "torch": ["evals/training/torch_trainer.py"],
    "transformers": ["evals/training/torch_trainer.py"],
    "peft": ["evals/training/torch_trainer.py"],
    "gepa": ["evals/optimising/gepa_search.py", "evals/plugins/gepa.py"],
    "inspect_ai": ["evals/plugins/inspect_"],
    "deepeval": ["evals/plugins/deepeval"],
    "mlflow": ["evals/plugins/mlflow"],
    "pytest": ["evals/plugins/pytest"],
    "helm": ["evals/plugins/helm"],
    "pydantic_evals": ["evals/plugins/pydantic_evals"],
    "dspy": ["evals/plugins/dspy"],
    "langsmith": [],
    "lm_eval": [],
    "langfuse": ["evals/plugins/langfuse"],
    "phoenix": ["evals/plugins/phoenix"],
}


def sources() -> list[Path]:
    return sorted(path for room in ORDER for path in (ROOT / room).rglob("*.py"))


def imports(path: Path) -> list[tuple[int, str]]:
    """Each import as (level, module); a relative one names the module it goes up to."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or ""))
        elif isinstance(node, ast.Import):
            found.extend((0, alias.name) for alias in node.names)
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    inside = path.relative_to(ROOT)
    room = ORDER.index(inside.parts[0])
    for level, module in imports(path):
        top = module.split(".")[0]
        assert top != "venire", f"{inside} imports the root by name"
        if level == len(inside.parts) and top in ORDER:
            assert ORDER.index(top) <= room, f"{inside} reaches up to {top}"
        if level == 0 and top in HOMES:
            assert str(inside).startswith(tuple(HOMES[top])), f"{top} is not at home in {inside}"


def uses(path: Path) -> set[Path]:
    """The modules of ours that a module imports, as paths of what is there."""
    here = path.relative_to(ROOT).parent.parts
    there: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        parts = (*here[: len(here) - node.level + 1], *(node.module or "").split("."))
        target = ROOT.joinpath(*filter(None, parts))
        for alias in node.names:
            found = [target / f"{alias.name}.py", target / alias.name, target.with_suffix(".py"), target]
            there.add(next(place for place in found if place.exists()))
    return there


def test_every_room_of_evals_has_its_place_in_the_order() -> None:
    rooms = {path.parent.name for path in (ROOT / "evals").glob("*/__init__.py")}

    assert not rooms - set(ROOMS)
    assert [path.name for path in (ROOT / "evals").glob("*.py")] == ["__init__.py"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "evals").glob("*/**/*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_a_room_of_evals_uses_only_those_before_it(path: Path) -> None:
    room = path.relative_to(ROOT / "evals").parts[0]
    for target in uses(path):
        inside = target.relative_to(ROOT).parts
        if inside[0] == "evals" and len(inside) > 1:
            assert ROOMS.index(inside[1]) <= ROOMS.index(room), f"{path} reaches down to {'/'.join(inside)}"


@pytest.mark.parametrize(
    "folder",
    sorted({ROOT, *(p.parent for p in sources())}),
    ids=lambda folder: str(folder.relative_to(ROOT)),
)
def test_no_circle_within_a_folder(folder: Path) -> None:
    """Files and folders that stand side by side, each folder taken as one, never import each other in a circle."""
    graph = nx.DiGraph()
    for path in sources():
        if path.is_relative_to(folder) and path.name != "__init__.py":
            mine = path.relative_to(folder).parts[0]
            for target in uses(path):
                if target.is_relative_to(folder) and target != folder:
                    theirs = target.relative_to(folder).parts[0]
                    if mine != theirs:
                        graph.add_edge(mine, theirs)

    assert not [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]


def test_folders_of_tests_are_rooms() -> None:
    """Each folder of tests is named for the room that it tests, the rooms of `evals/` included; `support` helps them all."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py")} - {Path(), Path("support")}

    assert not {folder.parts[0] for folder in folders} - set(ORDER)
    assert not [path.name for path in TESTS.glob("*.py") if not path.name.startswith(("test_", "conftest"))]
    assert not [str(folder) for folder in folders if not (ROOT / folder).is_dir()]


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_nothing_is_imported_from_a_test_file(path: Path) -> None:
    from_tests = [module for _, module in imports(path) if module.startswith("test_")]

    assert not from_tests, "shared helpers live in tests/support"


ALIKE = (
    "agents/clients/",
    "orchestration/protocols/",
    "orchestration/counting/",
    "orchestration/executors/",
    "evals/plugins/",
)
"""Folders whose files implement one interface each, under the same names."""
SHARED = {
    "convergence": "of votes over the rounds, and of their scatter over repeats: the word of both trades",
    "leave_one_out": "jurors out of a jury, and cases out of a table: the method's name",
    "sections": "of the audits, and of the whole report that holds them",
}
"""Public names that are defined in several places all the same, and why. At most ten."""


def public_names(path: Path) -> set[str]:
    """The classes and functions that a module defines for others."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in body if isinstance(node, kinds) and not node.name.startswith("_")}


def test_a_public_name_means_one_thing() -> None:
    """Commands aside, whose functions bear the name that users type, and files of a folder that are all alike."""
    homes: dict[str, set[str]] = {}
    for path in sources():
        inside = str(path.relative_to(ROOT))
        home = next((folder for folder in ALIKE if inside.startswith(folder)), inside)
        for name in public_names(path) if not inside.startswith("commands/") else ():
            homes.setdefault(name, set()).add(home)
    twice = {name: sorted(found) for name, found in homes.items() if len(found) > 1 and name not in SHARED}

    assert not twice
    assert len(SHARED) <= 10


IRREGULAR = re.compile(
    "begun|bound|broken|brought|built|caught|chosen|dealt|done|drawn|driven|fed|felt|found|given|gone|grown|heard|held|"
    "hidden|kept|known|laid|led|left|lent|lost|made|meant|met|paid|risen|said|seen|sent|shown|spent|spoken|struck|taken|"
    "thought|thrown|told|understood|withheld|written"
)
"""Without those that are verbs too: cast, cut, put, read, split, spread."""
NOT_PARTICIPLES = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed"}
NAMED_SO = {"undefined": "an Estimate that is undefined, by the word for it everywhere"}
"""Functions with such a name all the same, and why."""


def is_bare_participle(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is named by one participle: no property, no predicate that answers yes or no."""
    word = node.name.strip("_")
    decorators = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    if decorators & {"property", "cached_property"} or (
        isinstance(node.returns, ast.Name) and node.returns.id == "bool"
    ):
        return False
    regular = word.endswith("ed") and word not in NOT_PARTICIPLES
    return "_" not in word and (regular or IRREGULAR.fullmatch(word) is not None)


def test_functions_are_named_for_what_they_do_or_return() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_bare_participle(node)
        if node.name not in NAMED_SO
    ]

    assert not found


def test_every_package_is_listed() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    there = {
        ".".join(("venire", *path.parent.relative_to(ROOT).parts))
        for room in ORDER
        for path in (ROOT / room).rglob("__init__.py")
    }

    assert listed == there | {"venire"}


_HEAVY = {"litellm", "autogen_core", "autogen_agentchat", "pandas", "scipy", "sklearn", "numpy"}


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("venire", _HEAVY),
        ("venire.orchestration", {*_HEAVY, "networkx"}),
        ("venire.web.server", _HEAVY),
    ],
)
def test_what_many_commands_start_with_loads_nothing_heavy(module: str, heavy: set[str]) -> None:
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not heavy & set(loaded)


def test_every_public_name_is_there() -> None:
    import venire

    for name in venire.__all__:
        assert getattr(venire, name) is not None


def test_no_path_of_a_machine_is_in_the_tree() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False
    ).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout")
    needles = [f"/{name}/" for name in ("work", "root", "farm")]
    for name in tracked:
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace") if (ROOT / name).is_file() else ""
        assert not any(needle in text for needle in needles), name
