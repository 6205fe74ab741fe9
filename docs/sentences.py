"""Every sentence that the program can print, on one page, to be read in one go: `python docs/sentences.py`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def sentences_page() -> str:
    """Every sentence that the program can print, by the file that it comes from; what is filled in stands in braces."""
    lines = ["# Sentences", "", "What the terminal, reports, the inspector and errors can print.", ""]
    for path, sentences in printed_sentences():
        lines += [f"## {path}", "", *(f"- `{sentence.replace('`', chr(39))}`" for sentence in sentences), ""]
    return "\n".join(lines)


def printed_sentences() -> Iterator[tuple[str, list[str]]]:
    """The texts of three words or more of each source file, docstrings and queries left out."""
    for room in ("rubrics", "personas", "agents", "orchestration", "evals", "web", "commands"):
        for path in sorted((ROOT / room).rglob("*.py")):
            sentences = list(dict.fromkeys(_texts(ast.parse(path.read_text(encoding="utf-8")))))
            if sentences:
                yield path.relative_to(ROOT).as_posix(), sentences


def _texts(tree: ast.Module) -> Iterator[str]:
    aside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    aside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in aside:
            continue
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        said = [
            part.value if isinstance(part, ast.Constant) else "{}"
            for part in parts
            if isinstance(part, (ast.Constant, ast.FormattedValue))
        ]
        text = " ".join("".join(map(str, said)).split())
        if len(re.findall(r"[A-Za-z']{2,}", text)) > 2 and not re.search(
            r"SELECT|INSERT|CREATE|DELETE|UPDATE|\\", text
        ):
            yield text


if __name__ == "__main__":
    print(sentences_page())
