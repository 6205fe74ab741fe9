"""The published JSON schemas: what venire ships is valid under them, a typo is not, and they are those of the models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from checkout import ROOT
from command_line import venire

from venire.commands.file_schemas import FILES, file_schema, schema_text

SAMPLES = {
    "jury": ("personas/juries/*.yaml", "examples/**/jury.yaml"),
    "persona": ("personas/library/*.yaml",),
    "rubric": ("rubrics/library/*.yaml", "examples/**/rubric.yaml"),
    "study": ("examples/**/study.yaml",),
}
WRITTEN = [
    (kind, path)
    for kind, patterns in SAMPLES.items()
    for pattern in patterns
    for path in sorted(ROOT.glob(pattern))
]


def as_an_editor_reads(path: Path) -> Any:
    """The file with every key a word, as JSON schemas know them."""

    def plain(node: Any) -> Any:
        if isinstance(node, dict):
            return {str(key): plain(value) for key, value in node.items()}
        return [plain(item) for item in node] if isinstance(node, list) else node

    return plain(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("kind", FILES)
def test_the_published_schema_is_that_of_the_model(kind: str) -> None:
    published = (ROOT / "docs" / "schemas" / f"{kind}.json").read_text(encoding="utf-8")
    assert published == schema_text(kind), "make it anew: venire schema -o docs/schemas"
    jsonschema.Draft202012Validator.check_schema(json.loads(published))


@pytest.mark.parametrize(("kind", "path"), WRITTEN, ids=lambda value: getattr(value, "stem", value))
def test_samples_are_valid_and_name_their_schema(kind: str, path: Path) -> None:
    jsonschema.validate(as_an_editor_reads(path), file_schema(kind))
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    named = first.partition("$schema=")[2]
    assert first.startswith("# yaml-language-server: ")
    assert (path.parent / named).resolve() == ROOT / "docs" / "schemas" / f"{kind}.json"


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("jury", {"protocl": "panel"}),
        ("jury", {"limits": {"max_round": 2}}),
        ("jury", {"seats": [{"name": "a", "modle": "local"}]}),
        ("jury", {"seats": []}),
        ("jury", {"quorum": 0}),
        ("rubric", {"verion": 2}),
        ("rubric", {"scales": {"a": {"level": "ordnal", "anchors": {"1": "x", "2": "y"}}}}),
        ("persona", {"voise": "x"}),
        ("study", {"seed": 1}),
        ("study", {"arms": [{"jury": "single", "modle": "local"}]}),
    ],
)
def test_a_typo_is_marked(kind: str, change: dict[str, Any]) -> None:
    path = next(path for known, path in WRITTEN if known == kind)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**as_an_editor_reads(path), **change}, file_schema(kind))


def test_shorter_forms_and_what_keys_mean_are_in_it() -> None:
    study = {
        "name": "s",
        "cases": "c.jsonl",
        "rubric": "r",
        "ratings": "p.csv",
        "arms": ["single"],
        "seeds": 3,
    }
    jsonschema.validate(study, file_schema("study"))
    assert file_schema("jury")["properties"]["quorum"]["description"].startswith("With fewer votes")


def test_the_command_prints_one_and_refuses_an_unknown_kind(tmp_path: Path) -> None:
    assert json.loads(venire("schema", "rubric", cwd=tmp_path).stdout)["title"] == "Rubric"
    wrong = venire("schema", "rubrik", cwd=tmp_path)
    assert wrong.returncode == 2 and "rubric" in wrong.stderr
