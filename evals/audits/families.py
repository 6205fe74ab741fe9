"""Provider families: whose model a name names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from ...rubrics.errors import InvalidFile
from ...rubrics.files import read_text
from ...rubrics.yaml_nodes import plain_yaml

FAMILIES = {
    "openai": ("gpt*", "chatgpt*", "o1*", "o3*", "o4*", "davinci*", "text-davinci*", "openai*"),
    "anthropic": ("claude*", "opus*", "sonnet*", "haiku*", "anthropic*"),
    "google": ("gemini*", "gemma*", "medgemma*", "palm*", "bard*", "google*", "vertex_ai*"),
    "meta": ("llama*", "meta-llama*", "codellama*", "meta", "facebook"),
    "mistral": ("mistral*", "mixtral*", "ministral*", "magistral*", "codestral*", "pixtral*"),
    "alibaba": ("qwen*", "qwq*", "alibaba*"),
    "deepseek": ("deepseek*",),
    "xai": ("grok*", "xai*", "x-ai*"),
    "cohere": ("command*", "cohere*", "aya*"),
    "microsoft": ("phi-*", "phi3*", "phi4*", "wizardlm*", "microsoft*"),
    "amazon": ("nova-*", "titan*", "amazon*"),
    "nvidia": ("nemotron*", "nvidia*"),
    "moonshot": ("kimi*", "moonshot*"),
    "zhipu": ("glm*", "zhipu*", "z-ai*"),
    "01-ai": ("yi-*", "01-ai*"),
    "ai2": ("olmo*", "tulu*", "allenai*"),
}
"""By family, what its names look like, in lower case; the parts of a name between slashes are tried from the last."""


def family(name: str, own: Mapping[str, str] | None = None) -> str:
    """The provider of a model or system; nothing where the name tells none.

    `own` comes first: names or patterns (`ward-*`) with the family of each, in whatever case.
    """
    whole = re.sub(r"\s+", "-", name.strip().casefold())
    parts = [whole, *reversed(whole.split("/"))]
    for pattern, named in (own or {}).items():
        wanted = re.sub(r"\s+", "-", pattern.strip().casefold())
        if any(fnmatchcase(part, wanted) for part in parts):
            return named
    for part in parts[1:]:
        for named, patterns in FAMILIES.items():
            if any(fnmatchcase(part, pattern) for pattern in patterns):
                return named
    return ""


def load_families(path: Path) -> dict[str, str]:
    """The names and patterns of a YAML file, each with its family: `ward-*: people`."""
    found, _ = plain_yaml(read_text(path), path)
    if not isinstance(found, dict) or not all(isinstance(each, str | int) for each in found.values()):
        raise InvalidFile(
            f"{path}: not a mapping of names to families",
            remedy="write one `name or pattern: family` a line, such as `house-model-*: openai`",
        )
    return {str(name): str(each) for name, each in found.items()}
