"""Every sentence that the program can print, on one page, to be read in one go: `python docs/sentences.py`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
KINDS = {
    "Terminal": "What commands print, and the notes that a run keeps.",
    "Reports": "What reports, studies, suites and comparisons say.",
    "Inspector": "What the pages of the inspector and of the raters say.",
    "Errors": "What is wrong, and after the arrow what to do.",
    "Help": "What `--help` says of commands and options.",
    "Labels and parts": "Titles, column names and parts that stand within a longer sentence.",
}
_SENT_TO_MODELS = re.compile(
    r"agents/(embedded|lenses|instructions|prompting|answers)|evals/training|planting|clients/scripted|magentic_chat"
    r"|You are an advocate|You hold no|honest case against|moved_by is empty|tells the verifier|The jurors differ|exhibits"
    r"|argue against the score everyone gave|median \{middle\}|optimising/reflection|the voice of a judge|one line a level"
    r"|who presides over the jury|question that is asked about|Having weighed|held against it the text|Which text answers"
    r"|suite_run|Have a jury of language models|Why a case that was judged before"
)
_NOT_WORDS = re.compile(
    r"SELECT|INSERT|CREATE|DELETE|UPDATE|PRAGMA|PRIMARY KEY|WHERE |IS NULL| = \?|SET \w+ |prompt, completion, cached"
    r"|\\|<[a-z]+[ >]|\w/\w+;|device-width|default-src|sans-serif|fontname|\w=\"|\": \"|low high|p n note|usd_per_case|^import |\w\|\w"
)
_PART = re.compile(
    r"^[^\w{\"'(]|^(and|or|of|in|but|with|which) |( the| of| a| and| or| on|,|:|\()$|^1 .* (\+--|count|code) "
)


def sentences_page() -> str:
    """Every sentence that the program can print, by kind and by file; what is filled in stands in braces."""
    chapters: dict[str, dict[str, list[str]]] = {kind: {} for kind in KINDS}
    for path, kind, sentence in printed_sentences():
        chapters[kind].setdefault(path, []).append(sentence)
    lines = [
        "# Sentences",
        "",
        "Everything that the program can print. What is filled in stands in braces.",
        "",
    ]
    for kind, files in chapters.items():
        lines += [f"## {kind}", "", KINDS[kind], ""]
        for path, sentences in files.items():
            lines += [f"### {path}", "", *(f"- `{text.replace('`', chr(39))}`" for text in sentences), ""]
    return "\n".join(lines)


def printed_sentences() -> Iterator[tuple[str, str, str]]:
    """File, kind and text of everything of three words or more that is printed, each once a file."""
    for room in ("rubrics", "personas", "agents", "orchestration", "evals", "web", "commands"):
        for source in sorted((ROOT / room).rglob("*.py")):
            path = source.relative_to(ROOT).as_posix()
            texts = dict.fromkeys(_texts(ast.parse(source.read_text(encoding="utf-8")), path))
            yield from ((path, kind, text) for kind, text in texts)


def _texts(tree: ast.Module, path: str) -> Iterator[tuple[str, str]]:
    aside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    aside |= {id(node.msg) for node in ast.walk(tree) if isinstance(node, ast.Assert)}
    raised = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in aside:
            continue
        if isinstance(node, (ast.JoinedStr, ast.BinOp, ast.Call, ast.FunctionDef)) and (text := _whole(node)):
            kind, sentence = text
            aside |= {id(part) for part in ast.walk(node)} if kind != "Help" else set()
        elif isinstance(node, (ast.JoinedStr, ast.BinOp, ast.Constant)) and (sentence := _text(node)):
            sentence = sentence.replace("\n", " -> ") if id(node) in raised else sentence
            kind = "Errors" if id(node) in raised else _kind(path, sentence.strip())
            aside |= {id(part) for part in ast.walk(node)}
        elif isinstance(node, ast.keyword) and node.arg in ("help", "short_help"):
            kind, sentence = "Help", _text(node.value)
            aside |= {id(part) for part in ast.walk(node)}
        else:
            continue
        sentence = " ".join(sentence.split())
        if (
            len(re.findall(r"[A-Za-z']{2,}", sentence)) < 3
            or " " not in sentence
            or _NOT_WORDS.search(sentence)
        ):
            continue
        if kind in ("Errors", "Help") or not _SENT_TO_MODELS.search(f"{path}: {sentence}"):
            yield kind, sentence


def _whole(node: ast.AST) -> tuple[str, str] | None:
    """An error with its remedy, or a command's help: texts that are printed together."""
    if isinstance(node, ast.Call) and node.args:
        remedy = next((keyword.value for keyword in node.keywords if keyword.arg == "remedy"), None)
        problem = _text(node.args[0])
        if remedy is not None and problem:
            return "Errors", f"{problem} -> {_text(remedy) or _filled(remedy)}"
    if isinstance(node, ast.FunctionDef) and any(
        "command" in ast.unparse(mark) for mark in node.decorator_list
    ):
        return "Help", (ast.get_docstring(node) or "").partition("\n\n")[0]
    return None


def _kind(path: str, sentence: str) -> str:
    words = re.findall(r"[A-Za-z']{2,}", re.sub(r"\{[^}]*\}", "", sentence))
    if _PART.search(sentence) or (len(words) < 5 and not sentence.endswith((".", "?"))):
        return "Labels and parts"
    if path.startswith(("web/", "evals/rating/")):
        return "Inspector"
    return "Reports" if path.startswith("evals/") else "Terminal"


def _text(node: ast.AST) -> str:
    """What a string, an f-string or a sum of them prints; "" for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _text(part) if isinstance(part, ast.Constant) else _filled(part) for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return (left or _filled(node.left)) + (right or _filled(node.right)) if left or right else ""
    return ""


def _filled(node: ast.AST) -> str:
    """What is filled in, in braces, by the name that the code has for it."""
    return f"{{{_noun(node)}}}"


def _noun(node: ast.AST) -> str:
    match node:
        case ast.FormattedValue(value=value) | ast.Starred(value=value) | ast.Await(value=value):
            return _noun(value)
        case ast.Constant(value=value):
            return str(value) or "value"
        case ast.Attribute(value=thing, attr="iloc" | "value" | "values" | "words") if _noun(thing) != "self":
            return _noun(thing)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.strip("_").replace("_", " ")
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
            return key.strip("_").replace("_", " ") or _noun(value)
        case ast.Subscript(value=value):
            return _noun(value)
        case ast.Call(func=ast.Name(id="count_words"), args=[_, noun]):
            return f"number of {_noun(noun)}s"
        case ast.Call(func=ast.Name(id="near_column" | "nearest")):
            return "did you mean the nearest name?"
        case ast.Call(func=ast.Name(id="len" | "sum"), args=[things, *_]):
            return f"number of {_noun(things)}"
        case ast.Call(func=ast.Attribute(value=things, attr="nunique" | "sum" | "count")):
            return f"number of {_noun(things)}"
        case ast.Call(
            func=ast.Attribute(value=thing, attr="partition" | "removeprefix" | "strip" | "replace" | "upper")
        ):
            return _noun(thing)
        case ast.Call(func=ast.Name(id="map" | "filter"), args=[_, things, *_]):
            return _noun(things)
        case ast.Call(func=ast.Attribute(attr="join" | "get"), args=[first, *_]):
            return _noun(first)
        case ast.Call(args=[first, *_]) if not isinstance(first, ast.Constant):
            return _noun(first)
        case ast.Call(func=function):
            return _noun(function)
        case ast.GeneratorExp(generators=[first, *_]) | ast.ListComp(generators=[first, *_]):
            return _noun(first.iter)
        case ast.IfExp(body=body, orelse=orelse):
            return f"{_text(body) or _noun(body)} / {_text(orelse) or _noun(orelse)}"
        case ast.BinOp(left=left) | ast.BoolOp(values=[left, *_]) | ast.Compare(left=left):
            return _noun(left)
        case ast.JoinedStr():
            return _text(node).replace("{", "").replace("}", "")
    return "value"


if __name__ == "__main__":
    print(sentences_page())
