"""Mutation testing of the modules where a silent fault would cost most, with mutmut, each against its own fast tests.

    make mutants                                       every module of .ci/mutants.toml
    make mutants MODULE=orchestration/verdict.py       one of them, or several
    make mutants-changed                               only the lines that a change touches, within three minutes

mutmut wants a package beside its tests. Here the root is the package, so each module gets a tree of its own under `build/mutants`, with
the package as `venire/`: what a run has found out stays there, and an interrupted run goes on where it stopped. Sentences are not mutated:
a test that breaks with every comma is worth nothing.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TREES = ROOT / "build/mutants"
PAGE = ROOT / "docs/benchmarks.md"
SURVIVORS = ROOT / ".ci/survivors.csv"
PACKAGES = ("rubrics", "personas", "agents", "orchestration", "evals", "web", "commands")
COLUMNS = ["module", "function", "was", "becomes", "why"]
HEADER = "| module | mutants | killed | survived | not viable | seconds | killed of viable |"
FLOOR = 0.85
CHILDREN = 2
NOT_VIABLE = {2, 4, -11, -9}
"""Exit codes of a mutant with which the tests could not even be collected, or Python itself fell."""
TESTED: dict[str, list[str]] = tomllib.loads((ROOT / ".ci/mutants.toml").read_text(encoding="utf-8"))
"""By module, the test files that are its own."""


class Outcome(NamedTuple):
    """What became of a module's mutants."""

    mutants: int
    killed: int
    survived: int
    not_viable: int
    seconds: float
    survivors: list[dict[str, str]]

    @property
    def share(self) -> float:
        """Killed, of those that are viable; 1 where there is none."""
        viable = self.killed + self.survived
        return self.killed / viable if viable else 1.0


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("modules", nargs="*", help="of .ci/mutants.toml; all, unless named")
    asked.add_argument("--changed", action="store_true", help="only the lines that differ from --base")
    asked.add_argument(
        "--base", default="", help="a commit; the merge base with main, else the commit before"
    )
    asked.add_argument("--seconds", type=float, default=170, help="with --changed, for all modules together")
    asked.add_argument("--survivors", action="store_true", help="only what survived the last run, once more")
    asked.add_argument("--in-tree", help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.in_tree:
        run_in_tree(json.loads(options.in_tree))
        return
    modules = options.modules or list(TESTED)
    if unknown := [module for module in modules if module not in TESTED]:
        sys.exit(f"{', '.join(unknown)}: not in .ci/mutants.toml, which lists {', '.join(TESTED)}")
    if options.changed:
        sys.exit(report_changes(modules, options.base, options.seconds))
    low = []
    for module in modules:
        outcome = run_mutants(module, only_survivors=options.survivors)
        print(table_row(module, outcome), flush=True)
        write_table({module: outcome})
        write_survivors(module, outcome.survivors)
        low += [module] * (outcome.share < FLOOR)
    if low:
        sys.exit(f"below {FLOOR:.0%}: {', '.join(low)}")


def run_mutants(module: str, *, only_survivors: bool = False, **limits: Any) -> Outcome:
    """Runs the mutants of a module that have no outcome yet, and counts all of them.

    Raises:
        RuntimeError: Its tests fail without a mutant, or time was up before the first.
    """
    began = time.monotonic()
    tree = make_tree(module, fresh=bool(limits))
    spent = tree / "seconds"
    task = {"module": module, "only_survivors": only_survivors, **limits}
    command = [sys.executable, __file__, "--in-tree", json.dumps(task)]
    with (tree / "mutmut.log").open("w") as log:
        ended = subprocess.run(command, cwd=tree, stdout=log, stderr=log, check=False)
    meta = tree / f"mutants/venire/{module}.meta"
    if ended.returncode or not meta.exists():
        lines = (tree / "mutmut.log").read_text(errors="replace").replace("\r", "\n").splitlines()
        raise RuntimeError(f"{module}: no mutant was run\n" + "\n".join(lines[-15:]))
    before = float(spent.read_text()) if spent.exists() else 0.0
    seconds = before + time.monotonic() - began
    spent.write_text(f"{seconds:.1f}")
    codes = {name: code for name, code in json.loads(meta.read_text())["exit_code_by_key"].items() if code is not None}  # fmt: skip
    survivors = json.loads((tree / "survivors.json").read_text())
    not_viable = sum(code in NOT_VIABLE for code in codes.values())
    killed = len(codes) - len(survivors) - not_viable
    return Outcome(len(codes), killed, len(survivors), not_viable, seconds, survivors)


def make_tree(module: str, *, fresh: bool) -> Path:
    """The package as `venire/` beside its tests; begun anew where the module or a test that it has has changed."""
    tree = TREES / ("changed" if fresh else "") / module.replace("/", ".").removesuffix(".py")
    files = sorted([ROOT / module, *(ROOT / "tests/support").glob("*.py"), *(ROOT / name for name in TESTED[module])])  # fmt: skip
    made_of = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    stamp = tree / "made_of"
    same = stamp.exists() and stamp.read_text() == made_of
    if fresh or not (same or "--survivors" in sys.argv):
        shutil.rmtree(tree, ignore_errors=True)
    leave = shutil.ignore_patterns("__pycache__", "*.gguf")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tree / "venire" / name, ignore=leave, dirs_exist_ok=True)
    for name in ("__init__.py", "cli.py", "plugin.py"):
        shutil.copy2(ROOT / name, tree / "venire" / name)
    shutil.copytree(ROOT / "tests", tree / "tests", ignore=leave, dirs_exist_ok=True)
    shutil.copytree(ROOT / "docs", tree / "docs", dirs_exist_ok=True)
    settings = {
        "source_paths": ["venire"],
        "only_mutate": [f"venire/{module}"],
        "also_copy": ["docs"],
        "pytest_add_cli_args_test_selection": TESTED[module],
        # Every run draws the same examples, so that the table can be made again.
        "pytest_add_cli_args": ["-p", "no:cacheprovider", "--hypothesis-profile=mutants"],
        # Seconds beside those of the tests: on a busy machine it takes as long to begin, and that is no endless loop.
        "timeout_constant": 5.0,
        "timeout_multiplier": 8.0,
        "use_git_change_detection": False,
    }
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tree / "pyproject.toml").write_text(f"{text}\n[tool.mutmut]\n{lines}\n", encoding="utf-8")
    stamp.write_text(made_of)
    return tree


def run_in_tree(task: Mapping[str, Any]) -> None:
    """Runs mutmut in the tree that is the working directory."""
    import libcst
    import pytest
    from mutmut import __main__ as mutmut
    from mutmut.mutation import mutators
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.state import state

    path = f"venire/{task['module']}"

    def words_of_code(node: libcst.BaseString) -> Iterator[libcst.CSTNode]:
        if isinstance(node, libcst.SimpleString) and " " not in node.value:
            yield from mutators.operator_string(node)

    at = mutators.mutation_operators.index((libcst.BaseString, mutators.operator_string))
    mutators.mutation_operators[at] = (libcst.BaseString, words_of_code)
    # mutmut 3.8 asks for a field that pytest 9.1 has no more.
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]
    # In an order that is drawn, what is reached before time is up is a fair sample of all.
    mutmut.estimated_worst_case_time = lambda name: random.Random(name).random()
    if task.get("lines"):
        state()._covered_lines = {str(Path("mutants", path).absolute()): set(task["lines"])}
    if task.get("seconds"):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.alarm(max(1, int(task["seconds"])))
    meta = Path(f"mutants/{path}.meta")
    again: list[str] = []
    if task["only_survivors"] and meta.exists():
        again = [
            name for name, code in json.loads(meta.read_text())["exit_code_by_key"].items() if code in (0, 33)
        ]
        Path("mutants/mutmut-stats.json").unlink(missing_ok=True)
    mutmut._run(again, CHILDREN)
    signal.alarm(0)
    codes = json.loads(meta.read_text())["exit_code_by_key"]
    rows = []
    for name in (name for name, code in codes.items() if code in (0, 33)):
        diff = [line for line in get_diff_for_mutant(name, path=path).splitlines()[2:] if line[:1] in "+-"]
        was, becomes = (" ".join(line[1:].strip() for line in diff if line[0] == sign) for sign in "-+")
        function = re.sub(r"__mutmut_\d+$", "", name.rpartition(".")[2]).removeprefix("x_").strip("xǁ").replace("ǁ", ".")  # fmt: skip
        rows.append({"module": task["module"], "function": function, "was": was, "becomes": becomes})
    Path("survivors.json").write_text(json.dumps(rows))


def report_changes(modules: Sequence[str], base: str, seconds: float) -> int:
    """Prints what survives on changed lines; the exit code is 1 where chance would rarely kill so few of a sample at the floor."""
    until = time.monotonic() + seconds
    base = base or _merge_base()
    if not base:
        print("mutants: skipped, as there is no commit to compare with")
        return 0
    lines = {module: changed for module in modules if (changed := _changed_lines(base, module))}
    if not lines:
        print(f"mutants: skipped, as no listed module has changed since {base[:12]}")
        return 0
    explained = {key for key, why in _reasons().items() if why}
    killed, survivors = 0, []
    for place, (module, changed) in enumerate(lines.items()):
        share = (until - time.monotonic()) / (len(lines) - place)
        try:
            outcome = run_mutants(module, lines=changed, seconds=share)
        except RuntimeError as error:
            print(f"{error}\n{module}: left out")
            continue
        fresh = [row for row in outcome.survivors if _key(row) not in explained]
        print(f"{module}: {outcome.mutants} mutants on {len(changed)} lines, {outcome.killed} killed, {len(fresh)} survived")  # fmt: skip
        killed, survivors = killed + outcome.killed, survivors + fresh
    for row in survivors:
        print(f"  {row['module']} {row['function']}\n  - {row['was']}\n  + {row['becomes']}")
    low = _chance_of_so_few(killed, killed + len(survivors)) < 0.05
    print(f"mutants: {killed} of {killed + len(survivors)} killed" + (f", below {FLOOR:.0%}" if low else ""))
    return int(low)


def _chance_of_so_few(killed: int, run: int) -> float:
    """How likely as few or fewer are killed of so many that were run, where the floor holds: the exact binomial test's p."""
    return sum(math.comb(run, few) * FLOOR**few * (1 - FLOOR) ** (run - few) for few in range(killed + 1))


def _merge_base() -> str:
    """The commit at which this branch left main; on main itself, the one before; empty where git knows neither."""
    head = _git("rev-parse", "HEAD").strip()
    for main_branch in ("origin/main", "main"):
        base = _git("merge-base", "HEAD", main_branch).strip()
        if base and base != head:
            return base
    return _git("rev-parse", "--verify", "--quiet", "HEAD~1").strip()


def _changed_lines(base: str, module: str) -> list[int]:
    if _git("ls-files", "--others", "--", module):
        # Not yet in git, so that no diff shows it: all of it is new.
        return list(range(1, 1 + len((ROOT / module).read_text(encoding="utf-8").splitlines())))
    diff = _git("diff", "-U0", base, "--", module)
    spans = [(int(start), int(many or 1)) for start, many in re.findall(r"^@@ .*\+(\d+)(?:,(\d+))? @@", diff, re.MULTILINE)]  # fmt: skip
    return [line for start, many in spans for line in range(start, start + many)]


def _git(*words: str) -> str:
    try:
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def table_row(module: str, outcome: Outcome) -> str:
    counts = (outcome.mutants, outcome.killed, outcome.survived, outcome.not_viable, round(outcome.seconds))
    return f"| `{module}` | {' | '.join(map(str, counts))} | {outcome.share:.0%} |"


def write_table(outcomes: Mapping[str, Outcome]) -> None:
    """Puts the rows of these modules into the table of the benchmarks page, in the order of mutants.toml."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(HEADER + "\n")
    rule, *rows = rest.partition("\n\n")[0].splitlines()
    by_module = {row.split("`")[1]: row for row in rows}
    by_module |= {module: table_row(module, outcome) for module, outcome in outcomes.items()}
    kept = [by_module[module] for module in TESTED if module in by_module]
    page = "\n".join([before + HEADER, rule, *kept]) + "\n\n" + rest.partition("\n\n")[2]
    PAGE.write_text(page.rstrip("\n") + "\n", encoding="utf-8")


def write_survivors(module: str, survivors: Sequence[Mapping[str, str]]) -> None:
    """Lists what survived in a module, with the reason that was given for the same mutant before, if one was."""
    reasons = _reasons()
    rows = [row for row in _listed() if row["module"] != module and row["module"] in TESTED]
    rows += [{**row, "why": reasons.get(_key(row)) or _plain_reason(row)} for row in survivors]
    order = list(TESTED)
    rows.sort(key=lambda row: (order.index(row["module"]), row["function"], row["was"], row["becomes"]))
    with SURVIVORS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _plain_reason(row: Mapping[str, str]) -> str:
    """Why a mutant changes nothing, where that can be seen from its text."""
    was, becomes = (re.sub(r"(, strict=\w+)?,? ?(?=\))", "", row[name]) for name in ("was", "becomes"))
    return "strict guards zip against a bug: both sides are always as long" if was == becomes else ""


def _listed() -> list[dict[str, str]]:
    if not SURVIVORS.exists():
        return []
    with SURVIVORS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _reasons() -> dict[tuple[str, ...], str]:
    return {_key(row): row["why"] for row in _listed()}


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in COLUMNS[:4])


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
