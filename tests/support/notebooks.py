"""Notebooks run as Jupyter runs them: cell by cell, in one namespace, inside a running event loop."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
from pathlib import Path
from typing import Any


def run_notebook(path: Path) -> dict[str, Any]:
    """The namespace after the last cell; `_` holds what the last cell shows."""
    cells = [
        cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"
    ]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    asyncio.run(_run_cells([("".join(cell["source"]), cell["id"]) for cell in cells], namespace))
    return namespace


async def _run_cells(cells: list[tuple[str, str]], namespace: dict[str, Any]) -> None:
    for source, name in cells:
        tree = ast.parse(source, name)
        shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        await _run(compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), namespace)
        if shown is not None:
            assert isinstance(shown, ast.Expr)
            expression = ast.Expression(shown.value)
            code = compile(expression, name, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            namespace["_"] = await _run(code, namespace)


async def _run(code: Any, namespace: dict[str, Any]) -> Any:
    result = eval(code, namespace)
    return await result if inspect.iscoroutine(result) else result
