"""Notebooks run by a Jupyter kernel of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient


def run_notebook(path: Path, folder: Path) -> dict[str, str]:
    """What each code cell shows, by its id: text, and HTML where it has any. It runs in `folder`; a cell that fails is an error."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources=resources).execute()
    return _outputs(notebook)


def saved_outputs(path: Path) -> dict[str, str]:
    """What each code cell showed when the notebook was saved, as `run_notebook` gives it."""
    return _outputs(nbformat.read(path, as_version=4))


def _outputs(notebook: Any) -> dict[str, str]:
    return {
        cell.id: "".join(map(_shown, cell.outputs)) for cell in notebook.cells if cell.cell_type == "code"
    }


def _shown(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return str(output.data.get("image/svg+xml") or output.data.get("text/html") or output.data["text/plain"])
