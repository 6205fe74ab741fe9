"""The house rules: which room may import which, where third parties live, what names say, what an import costs.

Each test collects every offender before it fails.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest
from checkout import ROOT

TESTS = ROOT / "tests"
ORDER = ["rubrics", "personas", "agents", "orchestration", "evals", "web", "commands"]
ROOMS = [
    "statistics",
    "report",
    "ratings",
    "metrics",
    "agreement",
    "claims",
    "calibration",
    "inference",
    "audits",
    "comparison",
    "causes",
    "studies",
    "transcripts",
    "suites",
    "optimising",
    "training",
    "exchange",
    "plugins",
    "service",
    "rating",
]
"""The rooms of `evals/` from the ground up: each may use those before it."""
HOMES = {
    "litellm": ["agents/clients/"],
    "aiohttp": ["agents/clients/endpoint.py", "evals/service/", "evals/rating/", "web/"],
    "yarl": ["agents/clients/endpoint.py"],
    "python_calamine": ["rubrics/workbook_process.py"],
    "pyarrow": ["rubrics/rows.py", "orchestration/reading/"],
    "xllamacpp": ["agents/clients/"],
    "autogen_agentchat": ["agents/clients/", "orchestration/protocols/magentic", "orchestration/autogen"],
    "autogen_core": ["agents/clients/", "orchestration/protocols/magentic", "orchestration/autogen"],
    "autogen_ext": ["agents/clients/"],
    "agent_framework": [
        "agents/clients/",
        "orchestration/protocols/magentic",
        "orchestration/agent_framework",
    ],
    "agent_framework_orchestrations": ["orchestration/protocols/magentic"],
    "httpx": ["agents/clients/autogen.py", "agents/clients/httpx_replies.py"],
    "cryptography": ["orchestration/record/"],
    "networkx": ["orchestration/reading/graph"],
    "ray": ["orchestration/executors/ray"],
    # A verdict gives itself as a frame, where one is asked for.
    "pandas": ["evals/", "orchestration/verdict.py"],
    "scipy": ["evals/"],
    "sklearn": ["evals/calibration/curves.py"],
    "threadpoolctl": ["evals/", "agents/embedded/transformer.py"],
    "jiwer": ["evals/metrics/overlap.py"],
    "sacrebleu": ["evals/metrics/overlap.py"],
    "rouge_score": ["evals/metrics/overlap.py"],
    "mcp": ["evals/service/mcp.py"],
    "starlette": ["evals/service/mcp.py"],
    "uvicorn": ["evals/service/mcp.py"],
    "nltk": ["evals/metrics/overlap.py"],
    "tokenizers": ["agents/embedded/tokenizer.py", "evals/metrics/minilm.py"],
    "safetensors": ["evals/metrics/minilm.py", "evals/training/gguf_adapter.py"],
    "gguf": ["evals/training/gguf_adapter.py"],
    "resvg_py": ["evals/report/"],
    "optuna": ["evals/studies/search", "evals/training/training_run.py"],
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
"""Each third party and where it may be imported."""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def sources() -> list[Path]:
    return sorted(path for room in ORDER for path in (ROOT / room).rglob("*.py"))


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Every statement in a tree, without its expressions, which are nine tenths of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from statements(child)


@cache
def import_nodes(path: Path) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in statements(tree(path)) if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path: Path) -> list[tuple[int, str]]:
    """Each import as (level, module)."""
    modules: list[tuple[int, str]] = []
    for node in import_nodes(path):
        if isinstance(node, ast.ImportFrom):
            modules.append((node.level, node.module or ""))
        else:
            modules.extend((0, alias.name) for alias in node.names)
    return modules


@cache
def uses(path: Path) -> set[Path]:
    """The files and folders of the package that a module imports."""
    here = path.relative_to(ROOT).parent.parts
    targets: set[Path] = set()
    for node in import_nodes(path):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        parts = (*here[: len(here) - node.level + 1], *(node.module or "").split("."))
        base = ROOT.joinpath(*filter(None, parts))
        for alias in node.names:
            places = [base / f"{alias.name}.py", base / alias.name, base.with_suffix(".py"), base]
            targets.add(next(place for place in places if place.exists()))
    return targets


def test_imports_go_one_way() -> None:
    offenders = []
    for path in sources():
        inside = path.relative_to(ROOT)
        for level, module in imports(path):
            top = module.split(".")[0]
            if top == "venire":
                offenders.append(f"{inside} imports the root by name")
            if (
                level == len(inside.parts)
                and top in ORDER
                and ORDER.index(top) > ORDER.index(inside.parts[0])
            ):
                offenders.append(f"{inside} reaches up to {top}")
            if level == 0 and top in HOMES and not str(inside).startswith(tuple(HOMES[top])):
                offenders.append(f"{top} is not at home in {inside}")

    assert not offenders


def test_a_room_of_evals_uses_only_those_before_it() -> None:
    rooms = {path.parent.name for path in (ROOT / "evals").glob("*/__init__.py")}
    offenders = [f"evals/{room} has no place in the order" for room in rooms - set(ROOMS)]
    offenders += [
        f"evals/{path.name} is loose" for path in (ROOT / "evals").glob("*.py") if path.stem != "__init__"
    ]
    for path in (ROOT / "evals").glob("*/**/*.py"):
        room = path.relative_to(ROOT / "evals").parts[0]
        for target in uses(path):
            inside = target.relative_to(ROOT).parts
            if inside[0] == "evals" and len(inside) > 1 and ROOMS.index(inside[1]) > ROOMS.index(room):
                offenders.append(f"{path.relative_to(ROOT)} reaches down to {'/'.join(inside)}")

    assert not offenders


def test_no_circle_within_a_folder() -> None:
    """Files and folders that stand side by side, each folder taken as one, never import each other in a circle."""
    edges = [
        (path.relative_to(ROOT).parts, target.relative_to(ROOT).parts)
        for path in sources()
        if path.name != "__init__.py"
        for target in uses(path)
    ]
    circles = []
    for folder in sorted({(), *(path.relative_to(ROOT).parent.parts for path in sources())}):
        depth = len(folder)
        graph = nx.DiGraph(
            (user[depth], used[depth])
            for user, used in edges
            if user[:depth] == folder == used[:depth] and len(used) > depth and user[depth] != used[depth]
        )
        circles += [
            (folder, sorted(part)) for part in nx.strongly_connected_components(graph) if len(part) > 1
        ]

    assert not circles


def test_tests_stand_where_what_they_test_stands() -> None:
    """Each folder of tests is named for a room; helpers live in `support`, and no test file is imported."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py")} - {Path(), Path("support")}
    offenders = [str(folder) for folder in folders if not (ROOT / folder).is_dir()]
    offenders += [path.name for path in TESTS.glob("*.py") if not path.name.startswith(("test_", "conftest"))]
    offenders += [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in TESTS.rglob("*.py")
        for module in re.findall(
            r"^ *(?:from|import) (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    ]

    assert not offenders


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


def test_a_public_name_means_one_thing() -> None:
    """Commands aside, whose functions bear the name that users type, and files of a folder that are all alike."""
    homes: dict[str, set[str]] = {}
    for path in sources():
        inside = str(path.relative_to(ROOT))
        home = next((folder for folder in ALIKE if inside.startswith(folder)), inside)
        for node in tree(path).body if not inside.startswith("commands/") else ():
            kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            if isinstance(node, kinds) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(home)

    assert not {
        name: sorted(places) for name, places in homes.items() if len(places) > 1 and name not in SHARED
    }
    assert len(SHARED) <= 10


EMPTY_NAMES = re.compile(
    "begun|bound|broken|brought|built|caught|chosen|dealt|done|drawn|driven|fed|felt|found|given|gone|grown|heard|held|"
    "hidden|kept|known|laid|led|left|lent|lost|made|meant|met|paid|risen|said|seen|sent|shown|spent|spoken|struck|taken|"
    "thought|thrown|told|understood|withheld|written"
)
"""Participles that say nothing of what comes back; without those that are verbs too: cast, cut, put, read, split, spread."""
NOT_PARTICIPLES = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed"}
NAMED_SO = {"undefined": "an Estimate that is undefined, by the word for it everywhere"}
"""Functions with such a name all the same, and why."""


def is_bare_participle(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is named by one participle: no property, no predicate that answers yes or no."""
    word = node.name.strip("_")
    decorators = {name.id for name in node.decorator_list if isinstance(name, ast.Name)}
    is_predicate = isinstance(node.returns, ast.Name) and node.returns.id == "bool"
    if decorators & {"property", "cached_property"} or is_predicate:
        return False
    regular = word.endswith("ed") and word not in NOT_PARTICIPLES
    return "_" not in word and (regular or EMPTY_NAMES.fullmatch(word) is not None)


def test_functions_are_named_for_what_they_do_or_return() -> None:
    offenders = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sources()
        for node in statements(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_bare_participle(node)
        if node.name not in NAMED_SO
    ]

    assert not offenders


def test_every_package_is_listed() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    packages = {
        ".".join(("venire", *path.parent.relative_to(ROOT).parts))
        for room in ORDER
        for path in (ROOT / room).rglob("__init__.py")
    }

    assert listed == packages | {"venire"}


_HEAVY = {
    "litellm",
    "autogen_core",
    "autogen_agentchat",
    "agent_framework",
    "pandas",
    "scipy",
    "sklearn",
    "numpy",
}


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("venire", _HEAVY),
        ("venire.cli", {*_HEAVY, "pydantic", "yaml", "aiohttp", "rich", "jinja2"}),
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

    assert not [name for name in venire.__all__ if getattr(venire, name) is None]


def test_no_path_of_a_machine_is_in_the_tree() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False
    ).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout")
    needles = [f"/{name}/".encode() for name in ("work", "root", "farm")]
    texts = {name: (ROOT / name).read_bytes() for name in tracked if (ROOT / name).is_file()}

    assert not [name for name, text in texts.items() if any(needle in text for needle in needles)]
