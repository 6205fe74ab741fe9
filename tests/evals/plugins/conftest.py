"""What the tests of plug-ins start from: jurors on loopback, and a copy of the examples to run and to change."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai_server import ProviderServer
from plugin_hosts import EXAMPLES, local_jurors


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with local_jurors() as serving:
        yield serving


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES, tmp_path / "plugins"))
