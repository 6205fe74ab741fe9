"""Every sentence that the program can print, on one page, to be read in one go: `python docs/sentences.py`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
KINDS = {
    "Terminal": "What commands print, and the notes that a run keeps.",
    "Reports": "What reports, studies, suites and comparisons say.",
    "Inspector": "What the pages of the inspector and of the raters say.",
    "Errors": "What is wrong, and after the arrow what to do.",
    "Help": "What `--help` says of commands and options.",
    "Labels and parts": "Titles, column names, and parts of longer sentences, such as the reason why a call failed.",
}
_SENT_TO_MODELS = re.compile(
    r"agents/(embedded|lenses|instructions|prompting|answers)|evals/training|planting|clients/scripted|magentic_chat"
    r"|You are an advocate|You hold no|honest case against|moved_by is empty|tells the verifier|The jurors differ|exhibits"
    r"|argue against the score everyone gave|median \{middle\}|optimising/reflection|the voice of a judge|one line a level"
    r"|who presides over the jury|question that is asked about|Having weighed|held against it the text|Which text answers"
    r"|suite_run|Have a jury of language models|Why a case that was judged before"
)
_SAYS_PARTS = re.compile(
    r"rubrics/(?!sheet_)|personas/|agents/(?!pacing|providers|desk|clients/batch)|orchestration/protocols/"
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
    trees = {
        source.relative_to(ROOT).as_posix(): ast.parse(source.read_text(encoding="utf-8"))
        for room in ("rubrics", "personas", "agents", "orchestration", "evals", "web", "commands")
        for source in sorted((ROOT / room).rglob("*.py"))
    }
    texts = {path: _texts_by_name(tree) for path, tree in trees.items()}
    constants = {name: text for named in texts.values() for name, text in named.items()}
    for path, tree in trees.items():
        _Inline(constants | texts[path]).visit(tree)
        yield from ((path, kind, text) for kind, text in dict.fromkeys(_texts(tree, path)))


def _texts_by_name(scope: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.expr]:
    """What each name of a module or a function stands for, if it is given one text and nothing else."""
    nodes = list(ast.walk(scope))
    given = Counter(
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    inside = scope.body if isinstance(scope, ast.Module) else nodes
    return {
        node.targets[0].id: node.value
        for node in inside
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and given[node.targets[0].id] == 1
        and _text(node.value)
    }


class _Inline(ast.NodeTransformer):
    """Puts a text that has a name of its own into the sentence that the name stands in."""

    def __init__(self, texts: Mapping[str, ast.expr]) -> None:
        self._texts = texts

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        texts = _texts_by_name(node)
        if not texts:
            self.generic_visit(node)
            return node
        _Inline({**self._texts, **texts}).generic_visit(node)
        nodes = list(ast.walk(node))
        left = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
        for each in nodes:
            if (
                isinstance(each, ast.Assign)
                and each.value in texts.values()
                and ast.unparse(each.targets[0]) not in left
            ):
                each.value = ast.Constant(None)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self._texts:
            node.value = self._texts[node.value.id]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if any(keyword.arg == "remedy" for keyword in node.keywords):
            node.args = [self._text_of(each) for each in node.args]
            for keyword in node.keywords:
                keyword.value = self._text_of(keyword.value) if keyword.arg == "remedy" else keyword.value
        return node

    def _text_of(self, node: ast.expr) -> ast.expr:
        return self._texts.get(node.id, node) if isinstance(node, ast.Name) else node


def _texts(tree: ast.Module, path: str) -> Iterator[tuple[str, str]]:
    nodes = list(ast.walk(tree))
    aside = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    aside |= {id(node.msg) for node in nodes if isinstance(node, ast.Assert)}
    raised = {id(part) for node in nodes if isinstance(node, ast.Raise) for part in ast.walk(node)}
    for node in nodes:
        if id(node) in aside:
            continue
        if isinstance(node, (ast.JoinedStr, ast.BinOp, ast.Call, ast.FunctionDef)) and (text := _whole(node)):
            kind, sentence = text
            aside |= {id(part) for part in ast.walk(node)} if kind != "Help" else set()
        elif isinstance(node, (ast.JoinedStr, ast.BinOp, ast.Constant)) and (sentence := _text(node)):
            if id(node) in raised and "\n" in sentence:
                sentence = "{file}:{line}: {key}: " + sentence.replace("\n", " -> ")
            kind = _kind(path, sentence.strip(), raised=id(node) in raised)
            aside |= {id(part) for part in ast.walk(node)}
        elif isinstance(node, ast.keyword) and node.arg in ("help", "short_help"):
            kind, sentence = "Help", _text(node.value)
            aside |= {id(part) for part in ast.walk(node)}
        else:
            continue
        sentence = " ".join(sentence.split())
        if (
            len(re.findall(r"[A-Za-z']{2,}", re.sub(r"\{[^{} ]*\}", "", sentence))) < 3
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
        if (
            remedy is None
            and len(node.args) > 2
            and ast.unparse(node.func) in ("RequestError", "self._error")
        ):
            problem, remedy = _text(node.args[1]), node.args[2]
        if remedy is not None and problem:
            return "Errors", f"{problem} -> {_text(remedy) or _filled(remedy)}".removesuffix(" -> {value}")
    if isinstance(node, ast.FunctionDef) and any(
        "command" in ast.unparse(mark) for mark in node.decorator_list
    ):
        return "Help", (ast.get_docstring(node) or "").partition("\n\n")[0]
    return None


def _kind(path: str, sentence: str, *, raised: bool) -> str:
    if raised and (" -> " in sentence or path.startswith("commands/")):
        return "Errors"
    words = re.findall(r"[A-Za-z']{2,}", re.sub(r"\{[^}]*\}", "", sentence))
    if _PART.search(sentence) or (len(words) < 5 and not sentence.endswith((".", "?"))):
        return "Labels and parts"
    if path.startswith(("web/", "evals/rating/")):
        return "Inspector"
    if raised or _SAYS_PARTS.match(path):
        return "Labels and parts"
    return "Reports" if path.startswith("evals/") else "Terminal"


def _text(node: ast.AST) -> str:
    """What a string, an f-string, a sum of them or a choice between them prints; "" for anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) or _filled(part) for part in parts)
        case ast.FormattedValue(value=value):
            return _text(value)
        case ast.BinOp(left=first, op=ast.Add(), right=second) if _text(first) or _text(second):
            return "".join(_text(each) or _filled(each) for each in (first, second))
        case ast.IfExp(body=first, orelse=second):
            texts = [_text(first), _text(second)]
            empty = [isinstance(each, ast.Constant) and each.value == "" for each in (first, second)]
            if any(empty):
                return "".join(texts)
            return f"{{{' / '.join(texts)}}}" if all(texts) else ""
        case ast.Call(func=ast.Name(id="count_words"), args=[_, ast.Constant(value=noun)]):
            return f"{{number}} {noun}s"
        case ast.Call(func=ast.Name(id="near_column")):
            return "{did you mean NAME? If not, }"
        case ast.Call(func=ast.Name(id="nearest")):
            return "{did you mean NAME? / choose one of these: NAMES}"
        case ast.Call(func=ast.Name(id="files_remedy"), args=[remedy, *_]):
            return _text(remedy)
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
        case ast.Attribute(value=ast.Call(func=ast.Name(id="type")), attr="__name__"):
            return "type"
        case ast.Attribute(
            value=value, attr="name" | "id" | "title" | "iloc" | "value" | "values" | "words"
        ) if ast.unparse(value) not in ("self", "cls"):
            return _noun(value)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            name = name.strip("_").replace("_", " ")
            return {"store": "run", "strerror": "reason", "msg": "reason"}.get(name, name.lower())
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
            return key.strip("_").replace("_", " ") or _noun(value)
        case ast.Subscript(value=value):
            return _noun(value)
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
        case ast.Call(func=ast.Attribute(value=value)) if not isinstance(value, ast.Name | ast.Constant):
            return _noun(value)
        case ast.Call(args=[first, *_]) if not isinstance(first, ast.Constant):
            return _noun(first)
        case ast.Call(func=ast.Attribute(value=ast.Name() as value)):
            return _noun(value)
        case ast.Call(func=function):
            return _noun(function)
        case ast.GeneratorExp(generators=[first, *_]) | ast.ListComp(generators=[first, *_]):
            return _noun(first.iter)
        case ast.IfExp(body=body, orelse=orelse):
            return f"{_text(body) or _noun(body)} / {_text(orelse) or _noun(orelse)}"
        case ast.BinOp(left=ast.Constant(), right=side) | ast.BinOp(left=side):
            return _noun(side)
        case ast.BoolOp(values=[left, *_]) | ast.Compare(left=left):
            return _noun(left)
        case ast.JoinedStr():
            return _text(node).replace("{", "").replace("}", "")
    return "value"


if __name__ == "__main__":
    print(sentences_page())
